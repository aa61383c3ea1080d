"""PrioritySort, SchedulingGates and GangScheduling: who is decided when, and what is enough."""

import pytest

from muster.cluster.cluster import Cluster
from muster.cluster.pods import PodState, Stage
from muster.gangs.dialects import declare
from muster.gangs.model import Gang, Subset
from muster.plugins.gang_scheduling import GangScheduling
from muster.plugins.priority_sort import PrioritySort
from muster.plugins.scheduling_gates import SchedulingGates
from tests.builders import group, pod


def member(name, *, subset="", stage=Stage.PENDING, gates=()):
    return PodState(
        uid=f"uid-{name}",
        key=f"team/{name}",
        created=0.0,
        priority=0,
        pod_class=Cluster(states={}).classes.of(pod(name)),
        gang="team/train",
        subset=subset,
        ours=True,
        gates=gates,
        gated_by=None,
        leaving=False,
        stage=stage,
        node="",
        bound_at=None,
        said=None,
    )


def gang(declared, *members):
    state = Cluster(states={}).gang("team/train")
    state.declared = declared
    for found in members:
        state.add(found)
    return state


def test_units_are_ordered_by_priority_then_age_then_uid():
    key = PrioritySort().key
    ordered = [
        key(priority=9, created=9.0, uid="z", name="team/x"),
        key(priority=1, created=1.0, uid="z", name="team/x"),
        key(priority=1, created=2.0, uid="a", name="team/x"),
        key(priority=1, created=2.0, uid="b", name="team/x"),
        key(priority=-1, created=0.0, uid="a", name="team/x"),
    ]
    assert sorted(ordered) == ordered


def test_a_pod_with_gates_is_held_and_the_gates_are_named():
    assert SchedulingGates().holds(member("p", gates=("a", "b"))) == "waiting for scheduling gates: a, b"
    assert SchedulingGates().holds(member("p")) is None


WAITS = [
    ("no group yet", None, 4, 'waiting for pods\'s pod group "train" to appear in scheduling queue'),
    (
        "too few members",
        declare(group("train", 3)),
        2,
        "waiting for minCount pods from a gang to appear in scheduling queue",
    ),
    ("enough members", declare(group("train", 3)), 3, None),
    ("more than enough", declare(group("train", 3)), 4, None),
    ("a basic group waits for nobody", declare(group("train", None)), 0, None),
]


@pytest.mark.parametrize(("declared", "members", "text"), [row[1:] for row in WAITS], ids=[row[0] for row in WAITS])
def test_a_gang_waits_for_its_group_and_its_members(declared, members, text):
    state = gang(declared, *(member(f"p{number}") for number in range(members)))
    assert GangScheduling().waits_for(state) == text


def test_bound_and_ended_members_count_as_there():
    state = gang(
        declare(group("train", 3)),
        member("a", stage=Stage.BOUND),
        member("b", stage=Stage.SUCCEEDED),
        member("c"),
    )
    assert GangScheduling().waits_for(state) is None


def test_a_failed_member_does_not_count():
    state = gang(declare(group("train", 2)), member("a", stage=Stage.FAILED), member("b"))
    assert GangScheduling().waits_for(state) is not None


SHORTFALLS = [
    ("nothing yet", {}, 0, {"": 3}),
    ("some placed", {"": 1}, 0, {"": 2}),
    ("enough placed", {"": 3}, 0, {}),
    ("more than enough", {"": 5}, 0, {}),
    ("some bound", {"": 1}, 1, {"": 1}),
    ("enough bound", {}, 3, {}),
]


@pytest.mark.parametrize(
    ("placed", "bound", "lacking"), [row[1:] for row in SHORTFALLS], ids=[row[0] for row in SHORTFALLS]
)
def test_what_is_placed_is_enough_with_the_minimum(placed, bound, lacking):
    members = [member(f"p{n}", stage=Stage.BOUND if n < bound else Stage.PENDING) for n in range(6)]
    assert GangScheduling().shortfall(gang(declare(group("train", 3)), *members), placed) == lacking


def test_members_on_their_way_count_for_the_minimum():
    state = gang(declare(group("train", 2)), member("a", stage=Stage.BINDING), member("b"))
    assert GangScheduling().shortfall(state, {}) == {"": 1}


def test_every_subset_must_reach_its_own_minimum():
    declared = Gang(
        key="team/train",
        uid="u",
        created=0.0,
        subsets=(Subset("leader", 1), Subset("worker", 2)),
    )
    state = gang(declared, member("l", subset="leader"), *(member(f"w{n}", subset="worker") for n in range(5)))
    rule = GangScheduling()
    assert rule.shortfall(state, {}) == {"leader": 1, "worker": 2}
    assert rule.shortfall(state, {"worker": 5}) == {"leader": 1}
    assert rule.shortfall(state, {"leader": 1, "worker": 2}) == {}


def test_a_gang_that_has_started_lacks_nobody():
    declared = Gang(key="team/train", uid="u", created=0.0, subsets=(Subset(minimum=3),), started=True)
    assert GangScheduling().shortfall(gang(declared, member("a")), {}) == {}
