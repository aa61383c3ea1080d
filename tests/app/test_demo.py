"""What the demo shows of a cluster."""

import msgspec
import pytest

from muster.api.wire import Node, Pod, PodGroup
from muster.app.demo import STORY, Stage
from muster.cli.demo import _state

NODE = {"metadata": {"name": "node-1"}}


def read(kind, document):
    return msgspec.convert(document, kind)


def group(name, minimum, message="", *, has_run=False):
    said = {"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    if has_run:
        said |= {"status": "True", "reason": "Scheduled"}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}},
        "status": {"conditions": [said] if message or has_run else []},
    }


def member(name, of, *, node="", phase="Pending", cpu="2"):
    containers = [{"resources": {"requests": {"cpu": cpu}}}]
    spec = {"nodeName": node, "schedulingGroup": {"podGroupName": of}, "containers": containers}
    return {"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": spec, "status": {"phase": phase}}


@pytest.fixture
def stage():
    made = Stage(None)
    made._take([read(Node, NODE)], made._nodes)
    return made


def shown(stage, *, groups=(), pods=()):
    stage._take([read(PodGroup, one) for one in groups], stage._groups)
    stage._take([read(Pod, one) for one in pods], stage._pods)
    return stage.view()


async def test_each_cpu_of_a_node_shows_whose_it_is(stage):
    view = shown(stage, groups=[group("red", 1)], pods=[member("red-0", "red", node="node-1", phase="Running")])
    assert view.nodes == (("node-1", ("red", "red", "", "", "", "", "", "")),)


async def test_a_gang_that_waits_says_why(stage):
    view = shown(stage, groups=[group("blue", 2, "needs more")], pods=[member("b", "blue"), member("c", "blue")])
    gang = view.gang("blue")
    assert (gang.bound, gang.started, gang.says) == (0, False, "needs more")
    assert _state(gang) == "waits, 0 of 2 bound"


@pytest.mark.parametrize(
    ("phases", "words"),
    [
        (("Running", "Running"), "2 of 2 running"),
        (("Succeeded", "Succeeded"), "done, 2 pods"),
        ((), "evicted, none of its pods is left"),
    ],
)
async def test_what_became_of_a_gang(stage, phases, words):
    pods = [member(f"p{number}", "g", node="node-1", phase=phase) for number, phase in enumerate(phases)]
    assert _state(shown(stage, groups=[group("g", 2, has_run=True)], pods=pods).gang("g")) == words


async def test_a_gang_whose_pods_are_still_to_come_was_not_evicted(stage):
    """The story begins with a PodGroup; its pods come a second later."""
    assert _state(shown(stage, groups=[group("red", 24)]).gang("red")) == "has no pods yet"


async def test_a_chapter_is_over_when_it_can_be_seen(stage):
    red = [member(f"red-{number}", "red", node="node-1", phase="Running", cpu="0") for number in range(24)]
    groups = [group("red", 24), group("blue", 24, "needs more")]
    assert not STORY[0].until(shown(stage, groups=groups))
    assert STORY[0].until(shown(stage, groups=groups, pods=red))
