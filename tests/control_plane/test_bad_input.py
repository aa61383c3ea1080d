"""`muster run` with input that cannot be used, or a cluster that cannot: one line for a person, and soon.

Exit status 2: the input is at fault; 1: the cluster refused, or cannot be reached.
"""

import base64
import contextlib
import datetime
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from controlplane.certificates import Authority
from muster.app.install import load
from tests.control_plane.muster_process import MusterProcess

DEPLOY = Path(__file__).parents[2] / "deploy"
BAD_INPUT = 2
REFUSED = 1
_SECONDS = 15.0


def refusal(*arguments):
    """Exit status, and the one line without `muster: `; nothing else may be on standard error but the log."""
    command = [sys.executable, "-m", "muster", "run", "--no-leader-elect", "--listen=127.0.0.1:0", "--log-format=json"]
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    said = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("{")]
    assert [line[:8] for line in said] == ["muster: "], done.stderr
    return done.returncode, said[0][8:]


# --- kubeconfigs that cannot be used ----------------------------------------------------------


@pytest.fixture
def write(tmp_path):
    """`write("name", text or document)` gives the path of a file."""

    def write(name, content):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    return write


def kubeconfig(server, user=None, *, authority=None, **fields):
    cluster = {"server": server}
    if authority is not None:
        cluster["certificate-authority-data"] = _base64(authority)
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "there", "cluster": cluster}],
        "users": [{"name": "me", "user": user or {}}],
        "contexts": [{"name": "dev", "context": {"cluster": "there", "user": "me"}}],
        "current-context": "dev",
        **fields,
    }


def _base64(data):
    return base64.b64encode(data).decode()


def test_a_kubeconfig_that_is_not_there(tmp_path):
    missing = tmp_path / "missing"
    assert refusal(f"--kubeconfig={missing}") == (
        BAD_INPUT,
        f"there is no such kubeconfig (file='{missing}'); correct --kubeconfig or $KUBECONFIG",
    )


def test_a_kubeconfig_that_is_no_yaml(write):
    path = write("config", "clusters: [")
    assert refusal(f"--kubeconfig={path}") == (
        BAD_INPUT,
        f"kubeconfig is not valid YAML (file='{path}', line=2, column=1); "
        "compare with what `kubectl config view` prints",
    )


def test_a_kubeconfig_that_is_something_else(write):
    path = write("config", {"apiVersion": "v1", "kind": "Pod"})
    assert refusal(f"--kubeconfig={path}") == (
        BAD_INPUT,
        f"not a kubeconfig: its kind is not Config (file='{path}'); give the file that kubectl uses",
    )


def test_a_kubeconfig_without_a_current_context(write):
    path = write("config", kubeconfig("https://127.0.0.1:1", **{"current-context": ""}))
    assert refusal(f"--kubeconfig={path}") == (
        BAD_INPUT,
        f"kubeconfig has no current-context (file='{path}'); choose one with --context (there are: dev)",
    )


def test_a_context_that_is_not_there(write):
    path = write("config", kubeconfig("https://127.0.0.1:1"))
    assert refusal(f"--kubeconfig={path}", "--context=prod") == (
        BAD_INPUT,
        f"there is no context 'prod' (file='{path}'); choose one with --context (there are: dev)",
    )


def test_a_client_certificate_that_has_expired(stock, write):
    pair = stock.authority.client("admin", ("system:masters",), valid=datetime.timedelta(days=-1))
    user = {"client-certificate-data": _base64(pair.certificate), "client-key-data": _base64(pair.key)}
    path = write("config", kubeconfig(stock.server, user, authority=stock.authority.certificate))
    status, said = refusal(f"--kubeconfig={path}")
    assert status == BAD_INPUT
    assert said.startswith(f"client certificate has expired (file='{path}', expired='")
    assert said.endswith("get a new one, then start again")


# --- clusters that refuse ---------------------------------------------------------------------


def test_a_server_of_another_authority(stock, write):
    path = write("config", kubeconfig(stock.server, {"token": "t"}, authority=Authority().certificate))
    assert refusal(f"--kubeconfig={path}") == (
        REFUSED,
        f"the certificate of {stock.server} cannot be trusted: unable to get local issuer certificate; "
        "check certificate-authority and the address in the kubeconfig",
    )


def test_a_token_that_nobody_gave_out(stock):
    assert refusal(f"--kubeconfig={stock.kubeconfig_for_token('invalid')}") == (
        REFUSED,
        "the API server does not accept our credentials; "
        "they may have expired: log in again, or name another kubeconfig with --kubeconfig",
    )


def test_an_account_without_rights(stock):
    path = stock.kubeconfig_for_token(stock.token("default", "default"))
    status, said = refusal(f"--kubeconfig={path}")
    assert status == REFUSED
    assert said.startswith("the API server refuses: ")
    assert 'is forbidden: User "system:serviceaccount:default:default" cannot list resource' in said
    assert said.endswith("Muster needs the rights in deploy/base/rbac.yaml; `muster install --apply` grants them")


def _without_budgets(rules):
    return [rule for rule in rules if rule["apiGroups"] != ["policy"]]


def _without_protection_of_native_groups(rules):
    patching = {"resources": ["podgroups"], "verbs": ["patch"]}
    return [
        rule | {"apiGroups": [group for group in rule["apiGroups"] if group != "scheduling.k8s.io"]}
        if rule.items() >= patching.items()
        else rule
        for rule in rules
    ]


@pytest.mark.parametrize(
    ("older", "words"),
    [
        (_without_budgets, "the API server refuses: poddisruptionbudgets.policy is forbidden: "),
        (
            _without_protection_of_native_groups,
            "the API server refuses to let us patch podgroups.scheduling.k8s.io; ",
        ),
    ],
)
def test_an_account_of_an_older_install_is_told_what_it_lacks(stock, older, words):
    (role,) = [one for one in load(DEPLOY / "base") if one["kind"] == "ClusterRole"]
    rules = older(role["rules"])
    assert rules != role["rules"]
    name, rbac = "older-install", "/apis/rbac.authorization.k8s.io/v1"
    granted = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    account = {"kind": "ServiceAccount", "name": "default", "namespace": "kube-public"}
    stock.request("POST", f"{rbac}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    stock.request(
        "POST", f"{rbac}/clusterrolebindings", {"metadata": {"name": name}, "roleRef": granted, "subjects": [account]}
    )
    try:
        status, said = refusal(f"--kubeconfig={stock.kubeconfig_for_token(stock.token('kube-public', 'default'))}")
    finally:
        for kind in ("clusterrolebindings", "clusterroles"):
            stock.request("DELETE", f"{rbac}/{kind}/{name}")
    assert status == REFUSED
    assert said.startswith(words)
    assert said.endswith("Muster needs the rights in deploy/base/rbac.yaml; `muster install --apply` grants them")


def test_an_account_that_may_not_have_the_lease(stock):
    path = stock.kubeconfig_for_token(stock.token("default", "default"))
    status, said = refusal(f"--kubeconfig={path}", "--leader-elect")
    assert status == REFUSED
    assert said.startswith("the lease kube-system/muster cannot be used: ")
    assert said.endswith("--no-leader-elect does without, for a single replica")


def test_a_leader_whose_rights_are_taken_away_says_what_it_was_refused(breakable, tmp_path):
    install = [sys.executable, "-m", "muster", "install", "--apply", f"--kubeconfig={breakable.kubeconfig()}"]
    subprocess.run(install, check=True, capture_output=True)
    token = breakable.token("muster-system", "muster")
    with MusterProcess(breakable.kubeconfig_for_token(token), tmp_path) as process:
        process.wait_for("leading")
        breakable.kubectl("delete", "rolebinding", "muster-lease", "-n", "muster-system")
        assert process.wait() == REFUSED
        [said] = process.words()
    assert said.startswith("muster: the lease muster-system/muster is lost: ")
    assert 'leases.coordination.k8s.io "muster" is forbidden' in said


# --- servers that are none --------------------------------------------------------------------


def test_a_server_that_does_not_run(write):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        path = write("config", kubeconfig(f"https://127.0.0.1:{port}"))
        assert refusal(f"--kubeconfig={path}") == (
            REFUSED,
            f"cannot connect to https://127.0.0.1:{port}: Connection refused; is the API server running?",
        )


def test_a_host_that_has_no_address(write):
    path = write("config", kubeconfig("https://nowhere.invalid:6443"))
    status, said = refusal(f"--kubeconfig={path}")
    assert status == REFUSED
    assert said.startswith("cannot connect to https://nowhere.invalid:6443: ")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_never_answers(write, scheme):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}"
        path = write("config", kubeconfig(server))
        assert refusal(f"--kubeconfig={path}") == (
            REFUSED,
            f"{server} did not answer in time; is it overloaded, or behind a firewall?",
        )


STRANGE = "does not answer as a Kubernetes API server does; check the address in"


@contextlib.contextmanager
def web_page(status=200):
    """A plain HTTP server that shows a page."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            body = b"<html><body>Welcome</body></html>"
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("status", [200, 302, 404])
def test_a_server_of_web_pages(write, status):
    with web_page(status) as port:
        server = f"http://127.0.0.1:{port}"
        path = write("config", kubeconfig(server))
        assert refusal(f"--kubeconfig={path}") == (REFUSED, f"{server} {STRANGE} context dev of {path}")


def test_https_to_a_server_that_speaks_http(write):
    with web_page() as port:
        server = f"https://127.0.0.1:{port}"
        status, said = refusal(f"--kubeconfig={write('config', kubeconfig(server))}")
    assert status == REFUSED
    assert said.startswith(f"no TLS connection to {server}: ")
    assert said.endswith("is it a Kubernetes API server, and is https right?")


def test_http_to_a_server_that_speaks_https(stock, write):
    server = stock.server.replace("https", "http")
    path = write("config", kubeconfig(server))
    assert refusal(f"--kubeconfig={path}") == (REFUSED, f"{server} {STRANGE} context dev of {path}")


# --- settings ---------------------------------------------------------------------------------

KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def test_a_configuration_that_is_not_there(stock, tmp_path):
    missing = tmp_path / "missing"
    assert refusal(f"--kubeconfig={stock.kubeconfig()}", f"--config={missing}") == (
        BAD_INPUT,
        f"{missing} cannot be read: No such file or directory",
    )


CONFIGURATIONS = {
    "a field that does not exist": (
        {"leaderElektion": {}},
        ": leaderElektion: unknown field; did you mean leaderElection?",
    ),
    "a lease shorter than its renewal": (
        {"leaderElection": {"leaseDuration": "5s", "renewDeadline": "10s"}},
        ": leaderElection: leaseDuration (5s) must be longer than renewDeadline (10s)",
    ),
    "a plugin that does not exist": (
        {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "NodeMagic"}]}}}]},
        ": profiles[0].plugins.filter.enabled[0].name: there is no plugin NodeMagic; one of yours is written as ",
    ),
    "an extender": (
        {"extenders": [{"urlPrefix": "http://x"}]},
        ": extenders: not supported: Muster calls no extenders; leave it out",
    ),
}


@pytest.mark.parametrize("case", CONFIGURATIONS)
def test_a_configuration_with(stock, write, case):
    fields, line = CONFIGURATIONS[case]
    path = write("muster.yaml", KIND | fields)
    status, said = refusal(f"--kubeconfig={stock.kubeconfig()}", f"--config={path}")
    assert status == BAD_INPUT
    assert said.startswith(f"{path}{line}")


def test_a_port_that_is_taken(stock):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        status, said = refusal(f"--kubeconfig={stock.kubeconfig()}", f"--listen={address}")
    assert status == BAD_INPUT
    assert said.startswith(f"cannot listen on {address}: ")
    assert said.endswith("Address already in use; choose another with --listen")


def test_an_address_that_is_not_ours(stock):
    status, said = refusal(f"--kubeconfig={stock.kubeconfig()}", "--listen=192.0.2.1:1")
    assert status == BAD_INPUT
    assert said.startswith("cannot listen on 192.0.2.1:1: ")


def test_an_address_that_is_none(stock):
    assert refusal(f"--kubeconfig={stock.kubeconfig()}", "--listen=here") == (
        BAD_INPUT,
        "'here' is no address to listen on; write it like 127.0.0.1:10261",
    )


def test_a_journal_in_a_folder_that_is_not_there(stock, tmp_path):
    path = tmp_path / "missing" / "journal"
    assert refusal(f"--kubeconfig={stock.kubeconfig()}", f"--journal={path}") == (
        BAD_INPUT,
        f"{path} cannot be written: No such file or directory",
    )


def test_a_replica_that_cannot_write_its_journal_leaves_the_lease_to_others(breakable, tmp_path):
    refusal(f"--kubeconfig={breakable.kubeconfig()}", f"--journal={tmp_path / 'missing' / 'journal'}", "--leader-elect")
    leases = breakable.request("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases")["items"]
    assert [lease["spec"]["holderIdentity"] for lease in leases if lease["metadata"]["name"] == "muster"] in ([], [""])


def test_a_server_that_is_overloaded_is_not_called_a_stranger(write):
    with web_page(503) as port:
        path = write("config", kubeconfig(f"http://127.0.0.1:{port}"))
        status, said = refusal(f"--kubeconfig={path}")
    assert status == REFUSED
    assert "503" in said


def test_a_feature_gate_that_does_not_exist():
    assert refusal("--feature-gates=GenericWorkloads=true") == (
        BAD_INPUT,
        "--feature-gates: there is no gate 'GenericWorkloads'; known are GenericWorkload, GangScheduling, "
        "WorkloadAwarePreemption, DelayedPreemption, PodGroup, WorkloadBasicPolicyDesiredCount",
    )


def test_an_option_that_does_not_exist():
    assert refusal("--schedule-name=x") == (
        BAD_INPUT,
        "No such option '--schedule-name'. Did you mean '--scheduler-name'? (see python -m muster run --help)",
    )
