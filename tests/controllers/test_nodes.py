"""Nodes whose kubelets are silent, what it means for their pods, and how all comes back."""

import pytest

from muster.api.calls import Lost, Refused
from muster.api.resources import LEASES, NODES, PODS
from muster.controllers.nodes import NodeLifecycle
from muster.controllers.objects import Lease, Node, Pod
from muster.controllers.pod_garbage import PodGarbage
from muster.controllers.taints import TaintEvictions
from muster.local import kubelets
from tests.controllers.world import World

TOLERATIONS = [
    {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for what in ("not-ready", "unreachable")
]
"""As the API server gives them to each pod."""


class Place(World):
    """Nodes with kubelets, and the controllers that watch over them."""

    def __init__(self, nodes=2):
        super().__init__()
        self.kubelets = kubelets.Kubelets()
        self.attach(self.kubelets, {NODES: kubelets.Node, PODS: kubelets.Pod})
        self.lifecycle = self.attach(NodeLifecycle(), {NODES: Node, LEASES: Lease, PODS: Pod})
        self.attach(TaintEvictions(), {NODES: Node, PODS: Pod})
        self.attach(PodGarbage(), {NODES: Node, PODS: Pod})
        for number in range(nodes):
            self.create(NODES, kubelets.node_document(f"n{number}", now=self.now))

    def pod(self, name="p", *, node="n0", tolerations=TOLERATIONS, **metadata):
        spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}], "tolerations": tolerations}
        self.create(PODS, {"metadata": {"name": name, **metadata}, "spec": spec})
        return self

    def down(self, name="n0"):
        self.patch(NODES, name, {"metadata": {"annotations": {"muster.dev/down": ""}}})
        return self

    def up(self, name="n0"):
        self.patch(NODES, name, {"metadata": {"annotations": {"muster.dev/down": None}}})
        return self

    def taint(self, *taints, name="n0"):
        self.patch(NODES, name, {"spec": {"taints": list(taints)}})
        return self

    def taints(self, name="n0"):
        return {f"{one['key']}:{one['effect']}" for one in self.get(NODES, name).get("spec", {}).get("taints", ())}

    def ready(self, name="n0"):
        return _condition(self.get(NODES, name), "Ready")

    def pod_ready(self, name="p"):
        return _condition(self.get(PODS, name), "Ready")


def _condition(document, kind):
    [found] = [one for one in document["status"]["conditions"] if one["type"] == kind]
    return found["status"]


UNREACHABLE = "node.kubernetes.io/unreachable"


# --- silence ---


def test_nodes_that_renew_their_leases_stay_ready():
    place = Place().run(3600)
    assert (place.ready("n0"), place.ready("n1")) == ("True", "True")
    assert place.taints() == set()


def test_a_node_that_is_silent_for_forty_seconds_is_unknown_and_tainted():
    place = Place().pod().run(1)
    place.down().run(38)
    assert place.ready() == "True"
    place.run(15)
    assert place.ready() == "Unknown"
    assert place.taints() == {f"{UNREACHABLE}:NoSchedule", f"{UNREACHABLE}:NoExecute"}
    assert place.taints("n1") == set()
    assert ("NodeNotReady", "Node n0 status is now: NodeNotReady") in place.events
    ready = place.get(NODES, "n0")["status"]["conditions"][3]
    assert (ready["reason"], ready["message"]) == ("NodeStatusUnknown", "Kubelet stopped posting node status.")


def test_pods_of_a_silent_node_are_not_ready():
    place = Place().pod().pod("elsewhere", node="n1").run(1)
    place.down().run(60)
    assert (place.pod_ready(), place.pod_ready("elsewhere")) == ("False", "True")
    assert ("NodeNotReady", "Node is not ready") in place.events


def test_a_node_that_is_back_is_as_before():
    place = Place().pod().run(1)
    place.down().run(100)
    place.up().run(2)
    assert place.ready() == "True"
    assert place.taints() == set()
    assert place.pod_ready() == "True"
    assert ("TaintManagerEviction", "Cancelling deletion of Pod team/p") in place.events
    assert place.run(1000).get(PODS, "p") is not None


def test_taints_of_others_stay():
    place = Place().run(1)
    place.taint({"key": "gpu", "value": "yes", "effect": "NoSchedule"})
    place.down().run(60)
    assert place.taints() == {"gpu:NoSchedule", f"{UNREACHABLE}:NoSchedule", f"{UNREACHABLE}:NoExecute"}
    place.up().run(2)
    assert place.get(NODES, "n0")["spec"]["taints"] == [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]


def test_conditions_become_taints():
    place = Place().run(1)
    said = {"status": {"conditions": [{"type": "MemoryPressure", "status": "True"}]}}
    place.patch(NODES, "n0", said, subresource="status", strategic=True)
    place.run(1)
    assert place.taints() == {"node.kubernetes.io/memory-pressure:NoSchedule"}


def test_a_node_that_is_cordoned_is_tainted():
    place = Place().run(1)
    place.patch(NODES, "n0", {"spec": {"unschedulable": True}})
    assert place.run(1).taints() == {"node.kubernetes.io/unschedulable:NoSchedule"}
    place.patch(NODES, "n0", {"spec": {"unschedulable": None}})
    assert place.run(1).taints() == set()


def test_when_all_nodes_are_silent_nobody_is_driven_away():
    place = Place().pod().run(1)
    place.down("n0").down("n1").run(1000)
    assert place.taints() == place.taints("n1") == {f"{UNREACHABLE}:NoSchedule"}
    assert "deletionTimestamp" not in place.get(PODS, "p")["metadata"]
    place.up("n1").run(2)
    assert f"{UNREACHABLE}:NoExecute" in place.taints()


def test_a_lease_that_the_watch_missed_saves_a_node():
    place = Place().run(1)
    # leases are renewed, but nobody tells the controller
    place.cores = [
        (core, reads if core is not place.lifecycle else {NODES.path(): Node}) for core, reads in place.cores
    ]
    assert place.run(200).ready() == "True"


@pytest.mark.parametrize("answer", [Lost(), Refused(code=500)])
def test_a_node_is_not_lost_because_the_server_is(answer):
    place = Place().run(1)
    place.answer = lambda call: answer if "/leases/" in call.path else None
    place.run(100)
    assert place.ready() == "True"


def test_a_node_whose_kubelet_never_spoke_has_a_minute():
    place = Place()
    place.forget(place.kubelets)
    place.create(NODES, {"metadata": {"name": "mute"}, "spec": {}, "status": {}})
    place.run(55)
    assert "conditions" not in place.get(NODES, "mute")["status"]
    place.run(10)
    ready = place.get(NODES, "mute")["status"]["conditions"][0]
    assert (ready["status"], ready["reason"]) == ("Unknown", "NodeStatusNeverUpdated")
    assert ready["message"] == "Kubelet never posted node status."


def test_new_nodes_are_introduced():
    place = Place(nodes=1).run(1)
    assert ("RegisteredNode", "Node n0 event: Registered Node n0 in Controller") in place.events


# --- driven away ---


def test_pods_are_driven_away_when_their_patience_is_over():
    place = Place().pod().run(1)
    place.down().run(60)
    seen = place.now
    while "deletionTimestamp" not in place.get(PODS, "p")["metadata"]:
        place.run(1)
    assert 270 < place.now - seen < 310
    assert ("TaintManagerEviction", "Marking for deletion Pod team/p") in place.events
    said = [one for one in place.get(PODS, "p")["status"]["conditions"] if one["type"] == "DisruptionTarget"]
    assert (said[0]["reason"], said[0]["message"]) == (
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    )
    assert place.run(1000).get(PODS, "p") is not None, "only a kubelet takes it out"
    assert place.up().run(2).get(PODS, "p") is None


DRAIN = {"key": "drain", "value": "now", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([], 0),
        ([{"operator": "Exists"}], None),
        ([{"key": "drain", "operator": "Exists", "tolerationSeconds": 60}], 60),
        ([{"key": "drain", "value": "now", "tolerationSeconds": 0}], 0),
        ([{"key": "drain", "value": "later"}], 0),
        ([{"key": "drain", "operator": "Exists", "tolerationSeconds": 60}, {"operator": "Exists"}], 60),
        (
            [
                {"key": "drain", "operator": "Exists", "tolerationSeconds": 60},
                {"key": "drain", "operator": "Exists", "tolerationSeconds": 20},
            ],
            20,
        ),
        ([{"key": "drain", "operator": "Exists", "tolerationSeconds": -5}], 0),
    ],
)
def test_patience_is_that_of_the_tolerations(tolerations, seconds):
    place = Place().pod(tolerations=tolerations).run(1)
    place.taint(DRAIN)
    if seconds is None:
        assert place.run(10_000).get(PODS, "p") is not None
        return
    if seconds:
        assert place.run(seconds - 1).get(PODS, "p") is not None
    assert place.run(2).get(PODS, "p") is None


def test_all_taints_must_be_tolerated():
    place = Place().pod(tolerations=[{"key": "drain", "operator": "Exists"}]).run(1)
    place.taint(DRAIN, {"key": "other", "effect": "NoExecute"})
    assert place.run(1).get(PODS, "p") is None


def test_a_taint_that_goes_in_time_spares_the_pod():
    place = Place().pod(tolerations=[{"key": "drain", "operator": "Exists", "tolerationSeconds": 60}]).run(1)
    place.taint(DRAIN).run(50)
    place.taint()
    assert place.run(1000).get(PODS, "p") is not None


def test_a_pod_that_comes_to_a_tainted_node_is_driven_away_too():
    place = Place().run(1)
    place.taint(DRAIN)
    place.pod(tolerations=[{"key": "drain", "operator": "Exists", "tolerationSeconds": 30}]).run(20)
    assert place.get(PODS, "p") is not None
    assert place.run(15).get(PODS, "p") is None


# --- pods that nobody will take out ---


def test_pods_of_a_node_that_is_gone_fail_and_go():
    place = Place().pod(finalizers=["example.com/look"]).run(1)
    place.delete(NODES, "n0")
    place.run(39)
    assert place.get(PODS, "p")["status"]["phase"] == "Running"
    place.run(3)
    pod = place.get(PODS, "p")
    assert pod["status"]["phase"] == "Failed"
    said = [one for one in pod["status"]["conditions"] if one["type"] == "DisruptionTarget"]
    assert (said[0]["reason"], said[0]["message"]) == ("DeletionByPodGC", "PodGC: node no longer exists")
    assert "deletionTimestamp" in pod["metadata"]


def test_a_node_that_comes_back_in_time_keeps_its_pods():
    place = Place().pod().run(1)
    place.delete(NODES, "n0")
    place.run(30)
    place.create(NODES, kubelets.node_document("n0", now=place.now))
    assert place.run(1000).get(PODS, "p")["status"]["phase"] == "Running"


def test_the_server_is_asked_before_a_pod_is_given_up():
    place = Place().pod().run(1)
    place.answer = lambda call: Refused(code=500) if call.path == "/api/v1/nodes/n0" else None
    place.delete(NODES, "n0")
    assert place.run(200).get(PODS, "p")["status"]["phase"] == "Running"


def test_a_pod_that_was_never_bound_goes_when_it_is_asked_to():
    place = Place().pod(node="", finalizers=["example.com/look"]).run(1)
    place.delete(PODS, "p")
    place.run(1)
    assert place.get(PODS, "p")["status"]["phase"] == "Failed"
    place.patch(PODS, "p", {"metadata": {"finalizers": None}})
    assert place.get(PODS, "p") is None


def test_pods_of_a_node_out_of_service_go_without_its_word():
    place = Place().pod().run(1)
    place.down().run(60)
    place.delete(PODS, "p")
    assert place.run(10).get(PODS, "p") is not None
    document = place.get(NODES, "n0")
    given_up = {"key": "node.kubernetes.io/out-of-service", "value": "x", "effect": "NoExecute"}
    place.taint(*document["spec"]["taints"], given_up)
    assert place.run(1).get(PODS, "p") is None
