"""Starts and stops a real control plane on loopback, for tests and benchmarks.

    with ControlPlane(controllers=True) as plane:
        plane.kubectl("create", "namespace", "team-a")
        plane.apiserver.kill()

etcd, kube-apiserver and, when asked for, kube-controller-manager and kube-scheduler, as processes that no other machine
can reach.  RBAC is on.  There are no kubelets: `controlplane.kubelet` has a stand-in.  etcd does not wait for the disk:
what is written survives the death of a process, not of the machine.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from controlplane import build
from controlplane.certificates import Authority, Wallet, service_account_key
from controlplane.process import POLL_SECONDS, START_SECONDS, Guardian, PlaneError, PortTaken, Process
from muster.base.errors import ApiError, Unreachable

__all__ = ["ADMINS", "ControlPlane", "PlaneError", "Process"]

ADMINS = ("system:masters",)

_GATES = {
    "1.35": ("GenericWorkload", "GangScheduling"),
    "1.36": (
        "GenericWorkload",
        "GangScheduling",
        "WorkloadAwarePreemption",
        "TopologyAwareWorkloadScheduling",
        "WorkloadWithJob",
    ),
    "1.37": (
        "GenericWorkload",
        "TopologyAwareWorkloadScheduling",
        "CompositePodGroup",
        "PodGroupPreemptionPolicy",
        "WorkloadWithJob",
    ),
}
_SERVED = {"1.35": ("v1alpha1",), "1.36": ("v1alpha2",), "1.37": ("v1beta1", "v1alpha3")}

# two of them empty nodes which have no kubelet; the third says that no pod may be disrupted, none being ready, and
# takes back what old timestamps say
_UNWANTED_CONTROLLERS = ("node-lifecycle-controller", "taint-eviction-controller", "disruption-controller")
_PORT_TRIES = 5
_REQUEST_SECONDS = 30


class ControlPlane:
    """A control plane of its own, from `with` to the end of the block.

    gates            True: gang scheduling as far as the version has it, alpha parts included.  False: a stock cluster.
                     Names: these feature gates only.
    fairness         API priority and fairness, as people's clusters have it.  False, with high limits on requests in
                     flight, is for speed runs only.
    controllers      kube-controller-manager, without the controllers that want nodes to have kubelets.
                     Without it nobody makes service accounts, so pods are admitted without one.
    folder           where data, logs and kubeconfigs go; stays.  Default: a temporary one, gone at the end.
    keep             leave the temporary folder as well.

    One thread at a time may start and stop things; `request`, `kubectl` and the kubeconfigs are free for all.
    """

    server: str
    """https://127.0.0.1:port; the same for the whole life of the plane."""
    etcd: Process
    apiserver: Process
    controller_manager: Process | None
    scheduler: Process | None

    def __init__(
        self,
        *,
        version: str = build.KUBERNETES,
        gates: bool | Sequence[str] = True,
        fairness: bool = True,
        controllers: bool = False,
        folder: Path | None = None,
        keep: bool = False,
        extra_apiserver_flags: Sequence[str] = (),
    ) -> None:
        self.version = version
        self.gates = _gates(version, gates)
        self.fairness = fairness
        self.controllers = controllers
        self.extra_apiserver_flags = tuple(extra_apiserver_flags)
        self.controller_manager = None
        self.scheduler = None
        self._chosen_folder = folder
        self._keep = keep or folder is not None
        self._ending = contextlib.ExitStack()
        self._ports: dict[str, int] = {}
        """Where components serve their health and metrics, by name."""

    def __enter__(self) -> ControlPlane:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Start everything and wait until it can be worked with."""
        needed = ["etcd", "kube-apiserver", "kubectl"] + ["kube-controller-manager"] * self.controllers
        _check_programs(needed, self.version)
        try:
            self._prepare()
            self.etcd = self._launch(self._new_etcd)
            self.apiserver = self._launch(self._new_apiserver)
            if self.controllers:
                self.controller_manager = self._launch(self._new_controller_manager)
                self.wait_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End everything; no harm if it has ended."""
        self._ending.close()
        self.controller_manager = self.scheduler = None

    def wait_ready(self) -> None:
        """Until the API answers, and with controllers until pods can be made in the default namespace."""
        for process in (self.etcd, self.apiserver, self.controller_manager):
            if process is not None:
                process.wait_ready()
        self.wait_for_service_account("default")

    def wait_for_service_account(self, namespace: str) -> None:
        """Until pods can be made in a namespace; at once without controllers, where they need no account."""
        if self.controllers:
            path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
            _until(lambda: self._exists(path), what=f"the service account of namespace {namespace}")

    def start_scheduler(
        self,
        config: Mapping[str, object] | None = None,
        *,
        name: str = "default-scheduler",
        rate: int = 5000,
        verbosity: int = 0,
    ) -> Process:
        """kube-scheduler with the plane's gates, at `rate` requests a second; its kind of leader election is off.

        `config` has fields of a KubeSchedulerConfiguration, over ours; `name` is the scheduler's name in ours.  From
        `verbosity` 3 on its log says which nodes and pods it has seen, at 10 what each plugin scored.
        """
        if self.scheduler is not None:
            raise PlaneError("kube-scheduler runs already", hint="stop_scheduler() first")
        _check_programs(["kube-scheduler"], self.version)
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {
                "kubeconfig": str(self.kubeconfig("system:kube-scheduler", ())),
                "qps": rate,
                "burst": rate,
            },
            "leaderElection": {"leaderElect": False},
            "profiles": [{"schedulerName": name}],
            **(config or {}),
        }
        path = self.folder / "kube-scheduler.yaml"
        path.write_text(yaml.safe_dump(document))
        flags = [f"--config={path}", f"--v={verbosity}"]
        self.scheduler = self._launch(
            lambda: self._new_component("kube-scheduler", user="system:kube-scheduler", flags=flags)
        )
        return self.scheduler

    def scheduler_metrics(self) -> str:
        """What kube-scheduler counts, as Prometheus reads it."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._ports["kube-scheduler"], timeout=_REQUEST_SECONDS, context=self._admin_context
        )
        status, data = _exchange(connection, "GET", "/metrics", None, {})
        if status != 200:
            raise PlaneError(
                f"kube-scheduler gave out no metrics: {data.decode(errors='replace').strip()}", code=status
            )
        return data.decode()

    def stop_scheduler(self) -> None:
        if self.scheduler is not None:
            self.scheduler.kill()
            self.scheduler = None

    # --- ways in ------------------------------------------------------------------------------

    def kubeconfig(self, user: str = "admin", groups: Sequence[str] = ADMINS) -> Path:
        """A kubeconfig with a client certificate for this user; only its owner may read the file."""
        return self._wallet.kubeconfig(self.server, user, groups)

    def kubeconfig_for_token(self, token: str) -> Path:
        return self._wallet.kubeconfig_for_token(self.server, token)

    def token(self, namespace: str, service_account: str) -> str:
        """A token of a service account that exists, good for an hour."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token"
        answer = self.request("POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"})
        return str(answer["status"]["token"])

    def ssl_context(self, user: str = "admin", groups: Sequence[str] = ADMINS) -> ssl.SSLContext:
        """Trusts the plane's authority only, and shows a client certificate for this user."""
        return self._wallet.context(user, groups)

    def kubectl(self, *arguments: str, input: str | None = None) -> str:
        """What kubectl prints, as the admin; PlaneError with its complaint when it fails."""
        program = str(build.program("kubectl", self.version))
        # a cache of its own: kubectl keeps discovery by host and port, and ports are used again
        options = [f"--kubeconfig={self.kubeconfig()}", f"--cache-dir={self.folder / 'kubectl-cache'}"]
        done = subprocess.run(
            [program, *options, *arguments],
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "KUBERC": "off"},
        )
        if done.returncode:
            raise PlaneError(f"kubectl {' '.join(arguments)} failed: {done.stderr.strip()}", code=done.returncode)
        return done.stdout

    def request(self, method: str, path: str, body: object = None, *, content_type: str = "application/json") -> Any:
        """One request as the admin, answered as decoded JSON.  Raises ApiError, or Unreachable."""
        status, answer = self.exchange(method, path, body, content_type=content_type)
        if status < 400:
            return answer
        if isinstance(answer, dict):
            raise ApiError(str(answer.get("message")), code=status, reason=str(answer.get("reason")))
        raise ApiError(answer.strip(), code=status)

    def exchange(
        self, method: str, path: str, body: object = None, *, content_type: str = "application/json", accept: str = ""
    ) -> tuple[int, Any]:
        """The same, with whatever the code is; raises Unreachable."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=_REQUEST_SECONDS, context=self._admin_context
        )
        try:
            headers = {"Content-Type": content_type} | ({"Accept": accept} if accept else {})
            status, data = _exchange(connection, method, path, body, headers)
        except OSError as error:
            raise Unreachable(f"the API server gave no answer: {error}", server=self.server) from error
        return status, json.loads(data) if data.startswith(b"{") else data.decode(errors="replace")

    def compact_etcd(self) -> int:
        """Make etcd forget all history before now; gives the oldest revision left, whose own change is still known.

        An API server keeps history of its own in its watch cache, so on its own this changes nothing for its clients:
        watches, lists at an exact version and continued lists from before go on.  What answers 410 (seen on 1.37.1):

            then `apiserver.restart()`                  watches: HTTP 200 and an ERROR event with code 410;
                                                        exact and continued lists: HTTP 410
            `--watch-cache-sizes=pods#0` at the start   the same at once, for pods only
            `apiserver.restart()` without compaction    watches only: the new cache begins where etcd is now
        """
        now = int(self._etcd_call("/v3/kv/range", {"key": base64.b64encode(b"\0").decode()})["header"]["revision"])
        self._etcd_call("/v3/kv/compaction", {"revision": now, "physical": True})
        return now

    # --- parts --------------------------------------------------------------------------------

    def _prepare(self) -> None:
        if self._chosen_folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="control-plane-"))
        else:
            self.folder = self._chosen_folder.absolute()
            self.folder.mkdir(parents=True, exist_ok=True)
        self._guardian = self._ending.enter_context(Guardian(remove=None if self._keep else self.folder))
        pki = self.folder / "pki"
        pki.mkdir(mode=0o700, exist_ok=True)
        self.authority = Authority()
        self._wallet = Wallet(self.authority, pki)
        serving = self.authority.server()
        self._ca_file = self._wallet.put("ca.crt", self.authority.certificate)
        self._serving_file = self._wallet.put("serving.crt", serving.certificate)
        self._serving_key_file = self._wallet.put("serving.key", serving.key)
        self._token_key_file = self._wallet.put("service-account.key", service_account_key())
        self._admin_context = self.ssl_context()

    def _launch(self, new: Callable[[], Process]) -> Process:
        """A new process on ports that were free a moment ago; on others when somebody was quicker."""
        for tries_left in reversed(range(_PORT_TRIES)):
            process = new()
            try:
                process.start()
            except PortTaken:
                if tries_left:
                    continue
                raise
            self._ending.callback(process.kill)
            return process
        raise AssertionError("unreachable")

    def _new_etcd(self) -> Process:
        client, peer = _free_ports(2)
        self._etcd_port = client
        peer_url = f"http://127.0.0.1:{peer}"
        return self._process(
            "etcd",
            flags=[
                f"--data-dir={self.folder / 'etcd'}",
                f"--listen-client-urls=http://127.0.0.1:{client}",
                f"--advertise-client-urls=http://127.0.0.1:{client}",
                f"--listen-peer-urls={peer_url}",
                f"--initial-advertise-peer-urls={peer_url}",
                f"--initial-cluster=default={peer_url}",
                "--unsafe-no-fsync",
                f"--quota-backend-bytes={4 << 30}",
                "--log-level=warn",
            ],
            ready=lambda: _healthy(http.client.HTTPConnection("127.0.0.1", client, timeout=1), "/health"),
        )

    def _new_apiserver(self) -> Process:
        [self._port] = _free_ports(1)
        self.server = f"https://127.0.0.1:{self._port}"
        # no node lifecycle controller ever runs here, so nobody would take the taint of a new node off again
        unwanted = ["TaintNodesByCondition"] + ["ServiceAccount"] * (not self.controllers)
        flags = [
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            f"--tls-cert-file={self._serving_file}",
            f"--tls-private-key-file={self._serving_key_file}",
            f"--client-ca-file={self._ca_file}",
            f"--service-account-key-file={self._token_key_file}",
            f"--service-account-signing-key-file={self._token_key_file}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/24",
            # an endpoint on loopback is not allowed, and nobody looks for one
            "--endpoint-reconciler-type=none",
            "--authorization-mode=RBAC",
            # nobody comes through a front proxy, but the others wait for its authority to be published
            f"--requestheader-client-ca-file={self._ca_file}",
            "--requestheader-allowed-names=front-proxy",
            f"--disable-admission-plugins={','.join(unwanted)}",
            *self._gate_flags(),
        ]
        served = _SERVED.get(_minor(self.version), ()) if self.gates else ()
        if served:
            flags.append("--runtime-config=" + ",".join(f"scheduling.k8s.io/{name}=true" for name in served))
        if not self.fairness:
            flags += [
                "--enable-priority-and-fairness=false",
                "--max-requests-inflight=2000",
                "--max-mutating-requests-inflight=1000",
            ]
        return self._process(
            "kube-apiserver",
            flags=[*flags, *self.extra_apiserver_flags],
            ready=lambda: self._tls_healthy(self._port, "/readyz"),
        )

    def _new_controller_manager(self) -> Process:
        user = "system:kube-controller-manager"
        return self._new_component(
            "kube-controller-manager",
            user=user,
            flags=[
                f"--kubeconfig={self.kubeconfig(user, ())}",
                f"--controllers=*,-{',-'.join(_UNWANTED_CONTROLLERS)}",
                "--use-service-account-credentials",
                f"--service-account-private-key-file={self._token_key_file}",
                f"--root-ca-file={self._ca_file}",
                "--leader-elect=false",
                # the default of 20 requests a second makes every test of a large Job slow
                "--kube-api-qps=1000",
                "--kube-api-burst=2000",
            ],
        )

    def _new_component(self, name: str, *, user: str, flags: Sequence[str]) -> Process:
        """A client of the API server that serves its health on a port of its own."""
        [port] = _free_ports(1)
        self._ports[name] = port
        kubeconfig = self.kubeconfig(user, ())
        shared = [
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--tls-cert-file={self._serving_file}",
            f"--tls-private-key-file={self._serving_key_file}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            *self._gate_flags(),
        ]
        # the scheduler is healthy long before it has read the cluster, which it calls ready
        path = "/readyz" if name == "kube-scheduler" else "/healthz"
        return self._process(name, flags=[*shared, *flags], ready=lambda: self._tls_healthy(port, path))

    def _process(self, name: str, *, flags: Sequence[str], ready: Callable[[], bool]) -> Process:
        command = [str(build.program(name, self.version)), *flags]
        return Process(command, log=self.folder / f"{name}.log", ready=ready, guardian=self._guardian)

    def _gate_flags(self) -> list[str]:
        return ["--feature-gates=" + ",".join(f"{name}=true" for name in self.gates)] if self.gates else []

    def _exists(self, path: str) -> bool:
        try:
            self.request("GET", path)
        except ApiError as error:
            if error.code != 404:
                raise
            return False
        return True

    def _tls_healthy(self, port: int, path: str) -> bool:
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=1, context=self._admin_context)
        return _healthy(connection, path)

    def _etcd_call(self, path: str, body: object) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._etcd_port, timeout=_REQUEST_SECONDS)
        status, data = _exchange(connection, "POST", path, body, {"Content-Type": "application/json"})
        if status != 200:
            raise PlaneError(f"etcd refused {path}: {data.decode(errors='replace').strip()}", code=status)
        return json.loads(data)


def _gates(version: str, asked: bool | Sequence[str]) -> tuple[str, ...]:
    if not isinstance(asked, bool):
        return tuple(asked)
    if not asked:
        return ()
    if int(version.split(".")[1]) < 35:
        # it had nothing of the kind
        return ()
    if _minor(version) not in _GATES:
        known = ", ".join(_GATES)
        raise PlaneError(
            f"Kubernetes {version} has no gang scheduling known here", hint=f"take a stock cluster, or one of {known}"
        )
    return _GATES[_minor(version)]


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _check_programs(names: Sequence[str], version: str) -> None:
    if lacking := build.missing(names, version):
        raise PlaneError(f"no {', '.join(lacking)} of Kubernetes {version}", hint="run: make control-plane")


def _until(true: Callable[[], bool], *, what: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not true():
        if time.monotonic() > deadline:
            raise PlaneError(f"waited {START_SECONDS} s in vain for {what}")
        time.sleep(POLL_SECONDS)


def _free_ports(count: int) -> list[int]:
    """Ports on loopback that are free now, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _exchange(
    connection: http.client.HTTPConnection, method: str, path: str, body: object, headers: Mapping[str, str]
) -> tuple[int, bytes]:
    try:
        payload = None if body is None else json.dumps(body)
        connection.request(method, path, body=payload, headers=headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def _healthy(connection: http.client.HTTPConnection, path: str) -> bool:
    try:
        return _exchange(connection, "GET", path, None, {})[0] == 200
    except (OSError, http.client.HTTPException):
        return False
