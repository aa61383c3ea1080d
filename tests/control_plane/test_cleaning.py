"""What is deleted, protected, budgeted and lost ends alike under Muster's controllers and under Kubernetes' own."""

import os
import random
import re
import time

import pytest

from controlplane import plane as control_plane
from controlplane.plane import ControlPlane
from muster.api.calls import Document
from muster.base.errors import ApiError
from muster.controllers.manager import attach_all, attach_kubelets, suffixes
from muster.local.kubelets import node_document
from tests.control_plane.controlling import controlling
from tests.control_plane.embedded import embedded
from tests.control_plane.job_cases import MERGE, differences

pytestmark = pytest.mark.skipif(
    os.environ.get("MUSTER_SLOW") != "1",
    reason="kube-controller-manager waits for minutes before it gives a node up: MUSTER_SLOW=1 make test-kube",
)

CORE = "/api/v1/namespaces/{}"
KINDS = {
    "pods": CORE + "/pods",
    "configmaps": CORE + "/configmaps",
    "serviceaccounts": CORE + "/serviceaccounts",
    "jobs": "/apis/batch/v1/namespaces/{}/jobs",
    "workloads": "/apis/scheduling.k8s.io/v1beta1/namespaces/{}/workloads",
    "podgroups": "/apis/scheduling.k8s.io/v1beta1/namespaces/{}/podgroups",
    "poddisruptionbudgets": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
}
UNREACHABLE = "node.kubernetes.io/unreachable"


class Play:
    """One run through everything, in namespaces and on nodes of its own."""

    def __init__(self, plane, prefix):
        self.plane = plane
        self.prefix = prefix
        self.found: dict[str, object] = {}

    # small words

    def post(self, path, body):
        return self.plane.request("POST", path, body)

    def get(self, path):
        try:
            return self.plane.request("GET", path)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def patch(self, path, body):
        self.plane.request("PATCH", path, body, content_type=MERGE)

    def delete(self, path, how=None, **options):
        self.plane.request("DELETE", path, options | ({"propagationPolicy": how} if how else {}))

    def until(self, true, *, seconds=60.0, what=""):
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline, f"{self.prefix}: waited in vain: {what}"
            time.sleep(0.2)

    def namespace(self, name):
        full = f"{self.prefix}-{name}"
        self.post("/api/v1/namespaces", {"metadata": {"name": full}})
        self.until(lambda: self.get(f"{CORE.format(full)}/serviceaccounts/default"), what="the account")
        return full

    def config(self, namespace, name, *owners, blocks=None, finalizers=()):
        references = []
        for owner in owners:
            references.append(owner if isinstance(owner, dict) else self.reference(namespace, owner, blocks=blocks))
        meta = {"name": name, "ownerReferences": references, "finalizers": list(finalizers)}
        return self.post(KINDS["configmaps"].format(namespace), {"metadata": meta})

    def reference(self, namespace, name, *, blocks=None):
        uid = self.get(f"{KINDS['configmaps'].format(namespace)}/{name}")["metadata"]["uid"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}
        return reference if blocks is None else {**reference, "blockOwnerDeletion": blocks}

    def pod(self, namespace, name, *, node=None, **spec):
        body = {
            "metadata": {"name": name, "labels": {"app": name.rstrip("0123456789")}},
            "spec": {"nodeName": node or self.nodes[0], "containers": [{"name": "c", "image": "i"}], **spec},
        }
        self.post(KINDS["pods"].format(namespace), body)

    def job(self, namespace, name, *, seconds=None, **spec):
        words = {} if seconds is None else {"muster.dev/run-seconds": str(seconds)}
        inner = {"restartPolicy": "Never", "nodeName": self.nodes[0], "containers": [{"name": "c", "image": "i"}]}
        template = {"metadata": {"annotations": words}, "spec": inner}
        self.post(KINDS["jobs"].format(namespace), {"metadata": {"name": name}, "spec": {**spec, "template": template}})

    def running(self, namespace, prefix, count):
        pods = self.plane.request("GET", KINDS["pods"].format(namespace))["items"]
        mine = [pod for pod in pods if pod["metadata"]["name"].startswith(prefix)]
        return len([pod for pod in mine if pod["status"]["phase"] == "Running"]) == count

    def quiet(self, namespace, *, seconds=4.0):
        """Waits until nothing changes any more, and gives what is there."""
        before, since = None, time.monotonic()
        deadline = time.monotonic() + 90
        while time.monotonic() - since < seconds:
            now = {kind: self.plane.request("GET", path.format(namespace))["items"] for kind, path in KINDS.items()}
            if now != before:
                before, since = now, time.monotonic()
            assert time.monotonic() < deadline
            time.sleep(0.3)
        # somebody else's work
        before["configmaps"] = [one for one in before["configmaps"] if one["metadata"]["name"] != "kube-root-ca.crt"]
        return {kind: sorted(map(self.short, items), key=str) for kind, items in before.items()}

    def short(self, thing) -> Document:
        meta = thing["metadata"]
        said: Document = {
            "name": re.sub(r"-[bcdfghjklmnpqrstvwxz2456789]{4,10}(?=-|$)", "-X", meta["name"]),
            "owners": sorted(owner["kind"] for owner in meta.get("ownerReferences", ())),
            "finalizers": sorted(meta.get("finalizers", ())),
            "going": "deletionTimestamp" in meta,
        }
        if "conditions" in thing.get("status", {}) and "disruptionsAllowed" in thing["status"]:
            said["status"] = _clean(thing["status"])
        if "phase" in thing.get("status", {}):
            said["phase"] = thing["status"]["phase"]
        return said

    # the play

    def run(self):
        self.nodes = [f"{self.prefix}-{number}" for number in range(3)]
        for name in self.nodes:
            self.post("/api/v1/nodes", node_document(name, cpu="64", now=time.time()))
        self.until(lambda: all(not self.taints(name) for name in self.nodes), what="nodes without taints")
        lost = self.lose_a_node()
        self.jobs()
        self.configs()
        self.groups_and_accounts()
        self.budgets()
        self.namespaces()
        self.find_a_node(*lost)
        return self.found

    def jobs(self):
        space = self.namespace("jobs")
        for name in ("background", "foreground", "orphan", "default"):
            self.job(space, name, parallelism=2, completions=2)
        self.job(space, "ttl", seconds=1, ttlSecondsAfterFinished=1)
        for name in ("background", "foreground", "orphan", "default"):
            self.until(lambda name=name: self.running(space, f"{name}-", 2), what=name)
        for name, how in (
            ("background", "Background"),
            ("foreground", "Foreground"),
            ("orphan", "Orphan"),
            ("default", None),
        ):
            self.delete(f"{KINDS['jobs'].format(space)}/{name}", how)
        self.until(lambda: self.get(f"{KINDS['jobs'].format(space)}/ttl") is None, what="the end of its time to live")
        self.found["jobs"] = self.quiet(space)

    def configs(self):
        space, other = self.namespace("configs"), self.namespace("other")
        path = KINDS["configmaps"].format(space)
        # a chain in the foreground, of which the last is held
        self.config(space, "chain-1")
        self.config(space, "chain-2", "chain-1", blocks=True)
        self.config(space, "chain-3", "chain-2", blocks=True, finalizers=["example.com/wait"])
        # two owners, of which one goes
        self.config(space, "left")
        self.config(space, "right")
        self.config(space, "child", "left", "right", blocks=True)
        # owners that are not there, of another namespace, of a kind that nobody serves
        ghost = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "ghost",
            "uid": "11111111-2222-3333-4444-555555555555",
        }
        self.config(space, "of-a-ghost", ghost)
        self.config(other, "far")
        self.config(space, "of-the-far", self.reference(other, "far"))
        self.config(space, "of-the-unheard", {**ghost, "apiVersion": "example.com/v1", "kind": "Unheard"})
        # orphans
        self.config(space, "parent")
        self.config(space, "orphaned", "parent", "right")
        # one that does not block
        self.config(space, "impatient")
        self.config(space, "slow", "impatient", finalizers=["example.com/wait"])
        time.sleep(1)
        self.delete(f"{path}/chain-1", "Foreground")
        self.delete(f"{path}/left", "Foreground")
        self.delete(f"{path}/parent", "Orphan")
        self.delete(f"{path}/impatient", "Foreground")
        self.found["configs"] = self.quiet(space)
        self.patch(f"{path}/chain-3", {"metadata": {"finalizers": None}})
        self.until(lambda: self.get(f"{path}/chain-1") is None, what="the chain")
        self.found["configs later"] = self.quiet(space)

    def groups_and_accounts(self):
        space = self.namespace("groups")
        path = KINDS["podgroups"].format(space)
        for name in ("used", "free"):
            self.post(path, {"metadata": {"name": name}, "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}}})
        self.pod(space, "user", schedulingGroup={"podGroupName": "used"}, restartPolicy="Never")
        self.until(lambda: self.running(space, "user", 1), what="the pod of the group")
        self.delete(f"{path}/used")
        self.delete(f"{path}/free")
        self.delete(f"{KINDS['serviceaccounts'].format(space)}/default")
        self.found["groups"] = self.quiet(space)
        words = {"muster.dev/run-seconds": "0"}
        self.patch(f"{KINDS['pods'].format(space)}/user", {"metadata": {"annotations": words}})
        self.found["groups later"] = self.quiet(space)

    def budgets(self):
        space = self.namespace("budgets")
        self.job(space, "work", parallelism=3, completions=3)
        for number in range(3):
            self.pod(space, f"lone{number}")
        for name, spec in {
            "least": {"minAvailable": 2},
            "least-share": {"minAvailable": "50%"},
            "most": {"maxUnavailable": 1},
            "most-share": {"maxUnavailable": "34%"},
        }.items():
            for what, labels in (("job", {"job-name": "work"}), ("lone", {"app": "lone"}), ("none", {"app": "nobody"})):
                body = {"metadata": {"name": f"{what}-{name}"}, "spec": {"selector": {"matchLabels": labels}, **spec}}
                self.post(KINDS["poddisruptionbudgets"].format(space), body)
        self.found["budgets"] = self.quiet(space)
        # one goes by eviction, and is gone
        evict = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "lone0", "namespace": space}}
        for name in ("least-share", "most", "most-share"):
            self.delete(f"{KINDS['poddisruptionbudgets'].format(space)}/lone-{name}")
        self.post(f"{KINDS['pods'].format(space)}/lone0/eviction", evict)
        self.found["budgets later"] = self.quiet(space)

    def namespaces(self):
        space = self.namespace("dying")
        self.config(space, "held", finalizers=["example.com/wait"])
        self.config(space, "free")
        self.pod(space, "lone")
        self.job(space, "work", parallelism=2, completions=2)
        self.until(lambda: self.running(space, "", 3), what="pods in the namespace")
        path = CORE.format(space)
        self.delete(path)

        def says():
            # all that can go has gone
            found = (self.get(path) or {}).get("status", {}).get("conditions", ())
            return any(one["message"].endswith("remaining: configmaps. has 1 resource instances") for one in found)

        self.until(says, what="conditions of the namespace")
        found = self.get(path)
        self.found["dying"] = _clean(found["status"])
        self.found["dying content"] = self.quiet(space, seconds=2.0)
        self.patch(f"{KINDS['configmaps'].format(space)}/held", {"metadata": {"finalizers": None}})
        self.until(lambda: self.get(path) is None, what="the end of the namespace")

    # nodes

    def taints(self, name):
        found = self.get(f"/api/v1/nodes/{name}")["spec"].get("taints", ())
        return sorted((one["key"], one["effect"]) for one in found)

    def lose_a_node(self):
        space = self.namespace("nodes")
        name = self.nodes[2]
        short = [{"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}]
        self.pod(space, "hasty", node=name, tolerations=short)
        self.pod(space, "patient", node=name)
        self.pod(space, "elsewhere", node=self.nodes[1])
        self.until(lambda: self.running(space, "", 3), what="pods on the node")
        self.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {"muster.dev/down": ""}}})
        return space, name

    def find_a_node(self, space, name):
        pods = KINDS["pods"].format(space)
        self.until(lambda: len(self.taints(name)) == 2, seconds=90, what="taints of the silent node")
        self.until(
            lambda: "deletionTimestamp" in self.get(f"{pods}/hasty")["metadata"], seconds=30, what="the eviction"
        )
        self.found["silent node"] = self.node(name)
        self.found["silent pods"] = {one: self.pod_says(pods, one) for one in ("hasty", "patient", "elsewhere")}
        self.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {"muster.dev/down": None}}})
        self.until(lambda: not self.taints(name), what="the node without taints")
        self.until(lambda: self.get(f"{pods}/hasty") is None, what="the end of the pod")
        self.found["node again"] = self.node(name)
        self.found["pods again"] = {one: self.pod_says(pods, one) for one in ("patient", "elsewhere")}
        # a node that is gone takes its pods with it
        self.delete(f"/api/v1/nodes/{name}")
        self.until(lambda: self.get(f"{pods}/patient") is None, seconds=120, what="the collection of the pod")
        self.found["pods at last"] = self.quiet(space)

    def node(self, name):
        found = self.get(f"/api/v1/nodes/{name}")
        conditions = sorted(found["status"]["conditions"], key=lambda one: one["type"])
        return {"taints": self.taints(name), "conditions": _clean(conditions)}

    def pod_says(self, pods, name):
        found = self.get(f"{pods}/{name}")
        conditions = {
            one["type"]: (one["status"], one.get("reason"), one.get("message")) for one in found["status"]["conditions"]
        }
        return {"phase": found["status"]["phase"], "going": "deletionTimestamp" in found["metadata"], **conditions}


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def _clean(thing):
    if isinstance(thing, dict):
        return {key: _clean(value) for key, value in thing.items()}
    if isinstance(thing, list):
        return [_clean(one) for one in thing]
    return _TIME.sub("TIME", thing) if isinstance(thing, str) else thing


def attach_ours(driver):
    attach_all(driver, names=suffixes(random.Random(1)))


@pytest.fixture(scope="module")
def plays():
    """What is left under Kubernetes' own controllers, and under ours."""
    # all of them: our kubelets renew the leases that some of them want to see
    unwanted, control_plane._UNWANTED_CONTROLLERS = (
        control_plane._UNWANTED_CONTROLLERS,
        ("bootstrap-signer-controller",),
    )
    try:
        with ControlPlane(gates=True, controllers=True) as plane, controlling(plane, attach_kubelets):
            theirs = Play(plane, "theirs").run()
            plane.controller_manager.kill()
            with controlling(plane, attach_ours):
                ours = Play(plane, "ours").run()
            yield theirs, ours
    finally:
        control_plane._UNWANTED_CONTROLLERS = unwanted


@pytest.fixture(scope="module")
def embedded_play():
    """What is left on the embedded server."""
    with embedded() as plane, controlling(plane, attach_kubelets, attach_ours):
        yield Play(plane, "here").run()


PARTS = (
    "jobs",
    "configs",
    "configs later",
    "groups",
    "groups later",
    "budgets",
    "budgets later",
    "dying",
    "dying content",
    "silent node",
    "silent pods",
    "node again",
    "pods again",
    "pods at last",
)


@pytest.mark.parametrize("what", PARTS)
def test_the_same_is_left_under_both(what, plays):
    theirs, ours = plays
    assert differences(ours[what], theirs[what]) == []


@pytest.mark.parametrize("what", PARTS)
def test_the_same_is_left_on_the_embedded_server(what, plays, embedded_play):
    theirs, _ = plays
    assert differences(embedded_play[what], theirs[what]) == []
