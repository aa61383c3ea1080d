"""What tests of faults play on: a plane that may be hurt, a namespace of it, replicas that may be killed.

The API server keeps a record of what replicas ask for, and can be made to deny some of it.
"""

import contextlib
import datetime
import functools
import http.client
import itertools
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from controlplane.kubelet import RUN_SECONDS, STOP_SECONDS, Kubelets
from controlplane.plane import ControlPlane
from muster.base.errors import ApiError
from tests.control_plane.checks import History, check, group_says, until, until_group_says
from tests.control_plane.conftest import VERSION
from tests.control_plane.muster_process import MusterProcess

DEPLOY = Path(__file__).parents[2] / "deploy" / "base"
REPLICAS = "muster-replicas"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases/muster"
SHORT = (6, 5, 1)
"""Seconds of a lease that a test waits for the end of: duration, deadline of its renewal, time between tries."""
LONG = (120, 90, 2)
"""That of one that outlives the API server, however long it takes to come back."""
BELOW = "PodGroupBelowMinimum"
PRIORITIES = {"high": 100, "low": -100}
GRACE_SECONDS = 60
_WRITTEN_BY_OPERATORS = [
    {"group": group, "resources": ["podgroups"]} for group in ("scheduling.x-k8s.io", "scheduling.volcano.sh")
]
_RECORDED = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "verbs": ["create"], "resources": [{"group": "", "resources": ["pods/binding"]}]},
        {"level": "Metadata", "verbs": ["delete"], "resources": [{"group": "", "resources": ["pods"]}]},
        {
            "level": "Request",
            "verbs": ["patch"],
            "userGroups": [REPLICAS],
            "resources": [
                {"group": "", "resources": ["pods/status"]},
                {"group": "scheduling.k8s.io", "resources": ["podgroups/status"]},
            ],
        },
        {"level": "Metadata", "verbs": ["update"], "resources": _WRITTEN_BY_OPERATORS},
        {"level": "None"},
    ],
}
_numbers = itertools.count(1)


@contextlib.contextmanager
def fragile_plane(folder, *, gates=True):
    """With kubelets, priority classes, and rights for replicas: those of deploy/base/rbac.yaml and no more."""
    policy, record = folder / "policy.yaml", folder / "record.log"
    policy.write_text(yaml.safe_dump(_RECORDED))
    flags = [f"--audit-policy-file={policy}", f"--audit-log-path={record}"]
    with ControlPlane(version=VERSION, gates=gates, controllers=True, extra_apiserver_flags=flags) as plane:
        for name in ("namespace", "rbac"):
            plane.kubectl("apply", "-f", str(DEPLOY / f"{name}.yaml"))
        group = f"--group={REPLICAS}"
        plane.kubectl("create", "clusterrolebinding", REPLICAS, "--clusterrole=muster", group)
        plane.kubectl("create", "rolebinding", REPLICAS, "-n", "muster-system", "--role=muster-lease", group)
        for name, value in PRIORITIES.items():
            plane.kubectl("create", "priorityclass", name, f"--value={value}")
        plane.record = record
        with Kubelets(plane):
            yield plane


class Stage:
    """A namespace with its pods' history, and the replicas that a test starts."""

    def __init__(self, plane, namespace, folder):
        self.plane = plane
        self.namespace = namespace
        self.folder = folder
        self.history = History(plane, namespace)
        self.minima = {}
        self.replicas = []

    def __enter__(self):
        self.history.__enter__()
        return self

    def __exit__(self, *_):
        for replica in self.replicas:
            replica.kill()
            # shown if the test has failed
            print(replica.tail())
        self.history.__exit__()
        self.plane.kubectl("delete", "lease", "muster", "-n", "muster-system", "--ignore-not-found")

    # --- what a test does ---

    def muster(self, *, through=None, **options):
        """Starts a replica; each is a user of its own, so that the record tells them apart."""
        name = f"muster-{next(_numbers)}"
        kubeconfig = self.plane.kubeconfig(name, (REPLICAS,))
        if through is not None:
            kubeconfig = through.kubeconfig(kubeconfig, self.folder / f"{name}-kubeconfig.yaml")
        self.replicas.append(MusterProcess(kubeconfig, self.folder, name=name, **options))
        return self.replicas[-1]

    def leader(self, **options):
        """Starts a replica and waits until it leads."""
        replica = self.muster(**options)
        replica.wait_for("leading")
        return replica

    def group(self, name, minimum, *, priority=None, whole=False, timeout=None, **annotations):
        """`whole`: evicted as one; annotations are `muster.dev/`'s, with _ for -."""
        if timeout is not None:
            annotations["schedule_timeout_seconds"] = timeout
        named = {f"muster.dev/{key.replace('_', '-')}": str(value) for key, value in annotations.items()}
        spec = {"schedulingPolicy": {"gang": {"minCount": minimum}}}
        if priority is not None:
            spec["priorityClassName"] = priority
        if whole:
            spec["disruptionMode"] = {"all": {}}
        self.minima[name] = minimum
        version = self.group_path().removeprefix("/apis/").partition("/namespaces")[0]
        body = {"apiVersion": version, "kind": "PodGroup", "metadata": {"name": name, "annotations": named}}
        self.plane.request("POST", self.group_path(), {**body, "spec": spec})

    def gang(self, name, members, *, cpu="1", priority=None, shape=None, **options):
        """A gang that needs all its members; `shape` is what else `pod` may be told of them."""
        self.group(name, members, priority=priority, **options)
        member = functools.partial(pod, gang=name, cpu=cpu, priority=priority, **(shape or {}))
        self.pods([member(f"{name}-{number}") for number in range(members)])

    def pods(self, pods):
        many(self.plane, [("POST", f"/api/v1/namespaces/{self.namespace}/pods", each) for each in pods])

    def remove(self, gang):
        """Asks the pods of a gang to go."""
        many(self.plane, [("DELETE", self.path(life.name), None) for life in self.history.of(gang)])

    def let_go(self, *names):
        """The pods are gone, whatever they still had to do."""
        at_once = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        many(self.plane, [("DELETE", self.path(name), at_once) for name in names])

    def place(self, name, node):
        """Binds a pod as another scheduler would."""
        self.plane.request(
            "POST", f"{self.path(name)}/binding", {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
        )

    # --- what it waits for ---

    def started(self, *gangs):
        """Waits until all members of the gangs are bound and their groups say so."""
        for gang in gangs:
            self.history.until_bound(gang, self.minima[gang])
        for gang in gangs:
            self.says(gang, "Scheduled", status="True")

    def run(self, *names):
        """Waits until these pods run."""
        self.history.until(lambda: all(self.life(name).phase == "Running" for name in names), f"{names} to run")

    def next_second(self):
        """Waits until what is made is younger than what is there: ages are in whole seconds."""
        now = int(time.time())
        until(lambda: int(time.time()) > now, "the next second", 2)

    def wait(self, *names):
        """Waits until these pods say that they do."""
        said = {"status": "False", "reason": "Unschedulable"}

        def wait():
            conditions = [self.life(name).condition("PodScheduled") or {} for name in names]
            return all(said.items() <= each.items() for each in conditions)

        self.history.until(wait, f"{names} to wait")

    def says(self, gang, reason, *, status="False", kind="PodGroupInitiallyScheduled"):
        """Waits until the group's condition says so; its message."""
        return until_group_says(self.plane, self.group_path(gang), status=status, reason=reason, kind=kind)

    def says_now(self, gang, kind="PodGroupInitiallyScheduled"):
        """(status, reason, message), or None."""
        return group_says(self.plane, self.group_path(gang), kind)

    def check(self, **options):
        check(self.history, self.minima, **options)
        for replica in self.replicas:
            assert not [line for line in replica.words() if "Traceback" in line], replica.tail(60)

    # --- what it knows ---

    def path(self, name):
        return f"/api/v1/namespaces/{self.namespace}/pods/{name}"

    def group_path(self, name=""):
        groups = f"/apis/scheduling.k8s.io/v1beta1/namespaces/{self.namespace}/podgroups"
        return f"{groups}/{name}" if name else groups

    def life(self, name):
        """The newest pod of that name; waits until it was seen."""
        found = []

        def seen():
            found[:] = [life for life in list(self.history.lives.values()) if life.name == name]
            return found

        self.history.until(seen, name)
        return found[-1]

    @property
    def evicted(self):
        """Names of the pods that replicas have asked to go, whether they are there or not."""
        lives = list(self.history.lives.values())
        return {life.name for life in lives if life.is_leaving and life.condition("DisruptionTarget")}

    @property
    def leaving(self):
        """Those of them that are still there."""
        return {name for name in self.evicted if not self.life(name).gone}

    def unbound(self, gang):
        """The members that have no node, by what the server says now."""
        pods = self.plane.request("GET", f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        mine = [each for each in pods if each["spec"].get("schedulingGroup", {}).get("podGroupName") == gang]
        return [each["metadata"]["name"] for each in mine if "nodeName" not in each["spec"]]

    # --- the record ---

    def record(self, verb, resource):
        """What was asked about objects of the namespace, in the order of the answers."""
        # the last line may be half written
        lines = self.plane.record.read_text().rpartition("\n")[0].splitlines()
        asked = [Asked.of(json.loads(line)) for line in lines]
        wanted = verb, resource, self.namespace
        return [each for each in asked if (each.verb, each.resource, each.namespace) == wanted]

    def bindings(self):
        return self.record("create", "pods/binding")

    def deletions(self):
        """Those that replicas asked for, and that were not refused."""
        return [each for each in self.record("delete", "pods") if each.code < 400 and each.user.startswith("muster-")]

    def nominations(self):
        """Writes that say of a pod where room is kept for it; (write, node) each."""
        asked = [each for each in self.record("patch", "pods/status") if each.code < 400]
        nodes = [each.body.get("status", {}).get("nominatedNodeName") for each in asked]
        return [(each, node) for each, node in zip(asked, nodes, strict=True) if node]

    def said(self, gang):
        """All that replicas ever wrote of a group: (type, status, reason, message)."""
        asked = [each for each in self.record("patch", "podgroups/status") if each.name == gang and each.code < 400]
        conditions = [condition for each in asked for condition in each.body["status"]["conditions"]]
        return [tuple(each[key] for key in ("type", "status", "reason", "message")) for each in conditions]


class Asked(NamedTuple):
    """One request, as the API server has it on record."""

    verb: str
    resource: str
    namespace: str
    name: str
    user: str
    code: int
    came: datetime.datetime
    answered: datetime.datetime
    body: Any

    @classmethod
    def of(cls, event):
        about = event["objectRef"]
        subresource = f"/{about['subresource']}" if "subresource" in about else ""
        return cls(
            event["verb"],
            about["resource"] + subresource,
            about.get("namespace", ""),
            about.get("name", ""),
            event["user"]["username"],
            event["responseStatus"]["code"],
            datetime.datetime.fromisoformat(event["requestReceivedTimestamp"]),
            datetime.datetime.fromisoformat(event["stageTimestamp"]),
            event.get("requestObject"),
        )


def pod(name, *, gang=None, cpu="1", scheduler="muster", priority=None, runs=None, stops=0, labels=None, **spec):
    """`runs`: seconds until it ends by itself; `stops`: seconds that it takes to stop when it is asked to."""
    annotations = {STOP_SECONDS: str(stops)} | ({} if runs is None else {RUN_SECONDS: str(runs)})
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    if gang is not None:
        spec["schedulingGroup"] = {"podGroupName": gang}
    if priority is not None:
        spec["priorityClassName"] = priority
    # kubelets that are asked need not wait
    spec = {"terminationGracePeriodSeconds": GRACE_SECONDS if stops else 0, **spec}
    spec = {"schedulerName": scheduler, "restartPolicy": "Never", "containers": [container], **spec}
    return {"metadata": {"name": name, "annotations": annotations, "labels": labels or {}}, "spec": spec}


def many(plane, calls):
    """Many requests at once, each thread on a connection of its own; what is gone need not be deleted."""
    waiting, lock, context = iter(calls), threading.Lock(), plane.ssl_context()

    def work(_):
        with _connected(plane, context) as connection:
            while True:
                with lock:
                    call = next(waiting, None)
                if call is None:
                    return
                method, path, body = call
                status, text = _exchange(connection, method, path, body)
                if status >= 400 and not (method == "DELETE" and status == 404):
                    raise ApiError(text, code=status)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


# --- denials ----------------------------------------------------------------------------------

_POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
_POLICY_BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
UNLUCKY = "this pod is unlucky"


class _Deed(NamedTuple):
    """Something that replicas do to pods or groups, and how to ask whether they may."""

    operation: str
    resource: str
    method: str
    suffix: str = ""
    body: Any = None
    content_type: str = "application/json"
    group: str = ""


_STATUS = {"status": {"conditions": [{"type": "Probe", "status": "False"}]}}
_MERGE = "application/merge-patch+json"
_DEEDS = {
    "bind": _Deed("CREATE", "pods/binding", "POST", "/binding", {"target": {"kind": "Node", "name": "n0"}}),
    "delete": _Deed("DELETE", "pods", "DELETE"),
    "describe": _Deed("UPDATE", "pods/status", "PATCH", "/status", _STATUS, "application/strategic-merge-patch+json"),
    "say": _Deed("UPDATE", "podgroups/status", "PATCH", "/status", {"status": {}}, _MERGE, "scheduling.k8s.io"),
}


@contextlib.contextmanager
def denied(stage, deed, prefix):
    """While it lasts, replicas may not bind, delete or describe pods, or say things of groups, whose names begin so."""
    does, plane = _DEEDS[deed], stage.plane
    rule = {"apiGroups": [does.group], "apiVersions": ["*"], "operations": [does.operation]}
    rule["resources"] = [does.resource]
    # only replicas: kubelets, and tests that clean up, do the same things
    about = f"'{REPLICAS}' in request.userInfo.groups && request.namespace == '{stage.namespace}'"
    validation = {"expression": f"!({about} && request.name.startsWith('{prefix}'))", "message": UNLUCKY}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [validation], "failurePolicy": "Fail"}
    name, probe = f"{stage.namespace}-{deed}", f"{prefix}-probe"
    if does.group:
        stage.group(probe, 1)
    else:
        stage.pods([pod(probe, scheduler="nobody")])
    plane.request("POST", _POLICIES, {"metadata": {"name": name}, "spec": spec})
    binding = {"policyName": name, "validationActions": ["Deny"]}
    plane.request("POST", _POLICY_BINDINGS, {"metadata": {"name": name}, "spec": binding})
    try:
        until(lambda: not _allowed(stage, does, probe), "the policy")
        yield
    finally:
        plane.request("DELETE", f"{_POLICY_BINDINGS}/{name}")
        plane.request("DELETE", f"{_POLICIES}/{name}")
    until(lambda: _allowed(stage, does, probe), "the end of the policy")
    if not does.group:
        stage.let_go(probe)


def _allowed(stage, does, name):
    """Asks the server to try, as a replica would; nothing is done."""
    path = stage.group_path(name) if does.group else stage.path(name)
    path = f"{path}{does.suffix}?dryRun=All"
    body = {"metadata": {"name": name}, **does.body} if does.body else None
    with _connected(stage.plane, stage.plane.ssl_context("probe", (REPLICAS,))) as connection:
        status, text = _exchange(connection, does.method, path, body, does.content_type)
    assert status < 400 or UNLUCKY in text, text
    return status < 400


@contextlib.contextmanager
def _connected(plane, context):
    port = int(plane.server.rsplit(":", 1)[1])
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
    with contextlib.closing(connection):
        yield connection


def _exchange(connection, method, path, body, content_type="application/json"):
    payload = None if body is None else json.dumps(body)
    connection.request(method, path, body=payload, headers={"Content-Type": content_type})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()
