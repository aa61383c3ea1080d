"""Gangs on `muster up --nodes 20`, made and read with kubectl, while a watch records what is bound when."""

import itertools
import json
import re
import threading

import pytest

from tests.control_plane.conftest import needs_native_groups
from tests.control_plane.kubectl.client import Kubectl
from tests.local.processes import Up, until

pytestmark = needs_native_groups

NODES, CPU, SIZE = 20, 8, 100
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gangs")
    flags = ["--ephemeral", "--port", "0", "--nodes", str(NODES), "--node-cpu", str(CPU)]
    with Up(folder / "cluster", *flags) as up:
        yield up


@pytest.fixture
def kubectl(up):
    name = f"gangs-{next(_numbers)}"
    anywhere = Kubectl(up.kubeconfig, up.folder.parent)
    anywhere("create", "namespace", name)
    yield anywhere.within(name)
    # the room is for the next test
    anywhere("delete", "namespace", name)


class Record:
    """What a watch on all pods of a namespace told: in order, (name, node, deleted)."""

    def __init__(self, up, namespace):
        self.moments = []
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._api = up.api()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._started = threading.Event()

    def __enter__(self):
        self._thread.start()
        assert self._started.wait(60)
        return self

    def __exit__(self, *_):
        self._watch.socket.shutdown(2)
        self._thread.join()
        self._api.close()

    def _listen(self):
        with self._api.watch(self._path) as self._watch:
            self._started.set()
            for event in self._watch:
                pod = event["object"]
                node = pod["spec"].get("nodeName", "")
                self.moments.append((pod["metadata"]["name"], node, event["type"] == "DELETED"))

    def bound(self, gang):
        """How many of its pods were bound, after each thing that happened."""
        return [sum(name.startswith(f"{gang}-") for name in names) for names in self._bound()]

    def fullest(self):
        """The most pods that were bound to one node at any time."""
        return max(max(map(list(nodes.values()).count, nodes.values()), default=0) for nodes in self._bound())

    def _bound(self):
        bound = {}
        for name, node, deleted in list(self.moments):
            if deleted:
                bound.pop(name, None)
            elif node:
                bound[name] = node
            yield dict(bound)


def group(name):
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"schedulingPolicy": {"gang": {"minCount": SIZE}}},
    }


def member(gang, number, *, cpu):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{gang}-{number}", "labels": {"gang": gang}},
        "spec": {
            "schedulingGroup": {"podGroupName": gang},
            "containers": [{"name": "main", "image": "app", "resources": {"requests": {"cpu": str(cpu)}}}],
        },
    }


def node(name):
    has = {"cpu": str(CPU), "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"capacity": has, "allocatable": has},
    }


def bound(kubectl, gang):
    text = kubectl("get", "pods", "-l", f"gang={gang}", "-o", "jsonpath={.items[*].spec.nodeName}")
    return len(text.split())


def running(kubectl, gang):
    # not `wait`: kubectl takes 0.1 s for each pod that it waits for
    return kubectl("get", "pods", "-l", f"gang={gang}", "-o", "jsonpath={.items[*].status.phase}").count("Running")


def test_a_gang_of_100_binds_whole(up, kubectl):
    with Record(up, kubectl.namespace) as record:
        kubectl.create(group("train"), *(member("train", number, cpu=1) for number in range(SIZE)))
        until(lambda: running(kubectl, "train") == SIZE, "not all run")
        until(lambda: record.bound("train")[-1] == SIZE, "not all are bound")
    kubectl("wait", "--for=condition=PodGroupInitiallyScheduled", "podgroup/train", "--timeout=60s")
    assert record.fullest() <= CPU
    # nothing was bound before the last pod was there
    made = [name for name, _, _ in record.moments].index(f"train-{SIZE - 1}")
    assert not any(record.bound("train")[:made])


def test_a_gang_that_does_not_fit_says_what_is_missing_and_starts_when_it_is_there(up, kubectl):
    with Record(up, kubectl.namespace) as record:
        kubectl.create(group("wide"), *(member("wide", number, cpu=2) for number in range(SIZE)))
        sentence = until(lambda: _message(kubectl, "podgroup", "wide"), "the group says nothing")
        assert sentence == (
            "needs 100 × 2 cpu, 20 nodes have room for 80 even if nothing else ran; 20 more are missing; "
            "5 nodes of 8 cpu would do"
        )
        told = until(lambda: _failed(kubectl("describe", "pod", "wide-0")), "the pod says nothing")
        assert told == f"pod group is unschedulable, {sentence}"
        # others are not held up
        kubectl("run", "lone", "--image=nginx")
        kubectl("wait", "--for=condition=Ready", "pod/lone", "--timeout=60s")
        assert bound(kubectl, "wide") == 0
        assert not any(record.bound("wide"))
        more = [f"more-{number}" for number in range(5)]
        kubectl.create(*map(node, more))
        until(lambda: running(kubectl, "wide") == SIZE, "not all run")
        assert bound(kubectl, "wide") == SIZE
    kubectl("delete", "pods", "--all", "--now", "--wait=false")
    until(lambda: not kubectl("get", "pods", "-o", "name"), "some stay")
    kubectl("delete", "node", *more)


def test_of_two_gangs_with_room_for_one_no_part_of_the_second_starts(up, kubectl):
    with Record(up, kubectl.namespace) as record:
        pairs = [(member("red", number, cpu=1), member("blue", number, cpu=1)) for number in range(SIZE)]
        kubectl.create(group("red"), group("blue"), *itertools.chain(*pairs))
        until(lambda: SIZE in (bound(kubectl, "red"), bound(kubectl, "blue")), "none has started")
        first, second = ("red", "blue") if bound(kubectl, "red") else ("blue", "red")
        until(lambda: _message(kubectl, "podgroup", second), "the second says nothing")
        assert bound(kubectl, second) == 0
        assert not any(record.bound(second))
        kubectl("delete", "pods", "-l", f"gang={first}", "--wait=false")
        until(lambda: running(kubectl, second) == SIZE, "not all run")
        until(lambda: record.bound(second)[-1] == SIZE, "not all are bound")
    of_first, of_second = record.bound(first), record.bound(second)
    started = next(place for place, count in enumerate(of_second) if count)
    # by then, so many of the first had gone that all of the second had room
    assert of_first[started] <= NODES * CPU - SIZE
    assert sorted(of_second) == of_second
    assert record.fullest() <= CPU


def _message(kubectl, kind, name):
    """What `describe` says of a condition that does not hold."""
    conditions = json.loads(kubectl("get", kind, name, "-o", "json")).get("status", {}).get("conditions", [])
    false = [one["message"] for one in conditions if one["status"] == "False"]
    # describe folds nothing: a sentence is one line
    return false[0] if false and false[0] in kubectl("describe", kind, name) else ""


def _failed(told):
    found = re.search(r"FailedScheduling +\S+ +\S+ +(.*)", told)
    return found and found[1]
