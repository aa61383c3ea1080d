"""A gang's counters, and that counting never needs recounting."""

from random import Random

import pytest

from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState, Stage
from muster.gangs.dialects import declare
from muster.gangs.model import Gang, Subset
from muster.gangs.record import BoundFor
from tests.builders import bound_for, group, pod

CLASSES = [Cluster(states={}).classes.of(pod("p", cpu=cpu)) for cpu in (1, 2)]


def member(name, **facts):
    plain = {
        "uid": f"uid-{name}",
        "key": f"team/{name}",
        "created": 0.0,
        "priority": 0,
        "pod_class": CLASSES[0],
        "gang": "team/g",
        "subset": "",
        "ours": True,
        "gates": (),
        "gated_by": None,
        "leaving": False,
        "stage": Stage.PENDING,
        "node": "",
        "bound_at": None,
        "said": None,
        "record": bound_for("g", 2) if facts.get("stage", Stage.PENDING) else None,
    }
    return PodState(**(plain | facts))


def gang(minimum, *members, **facts):
    state = GangState("team/g")
    state.declare(declare(group("g", minimum, **facts)))
    for found in members:
        state.add(found)
    return state


@pytest.mark.parametrize(
    ("facts", "present", "binding", "bound", "candidates"),
    [
        ({}, 1, 0, 0, 1),
        ({"gated_by": "why"}, 1, 0, 0, 1),
        ({"ours": False}, 0, 0, 0, 0),
        ({"ours": False, "stage": Stage.BOUND}, 1, 0, 1, 0),
        ({"stage": Stage.BINDING}, 1, 1, 0, 0),
        ({"stage": Stage.BOUND}, 1, 0, 1, 0),
        ({"stage": Stage.SUCCEEDED}, 1, 0, 1, 0),
        ({"stage": Stage.FAILED}, 0, 0, 0, 0),
        ({"leaving": True}, 0, 0, 0, 0),
        ({"leaving": True, "stage": Stage.BOUND}, 0, 0, 0, 0),
    ],
)
def test_a_member_is_counted_by_where_it_is_in_its_life(facts, present, binding, bound, candidates):
    state = gang(1, member("a", **facts))
    assert (state.present, state.binding, state.bound, len(state.candidates)) == (
        present,
        binding,
        bound,
        candidates,
    )


def test_a_pod_that_names_another_scheduler_is_a_stranger_until_that_one_binds_it():
    found = member("a", ours=False)
    state = gang(1, found)
    assert state.strangers == 1
    state.uncount(found)
    found.stage = Stage.BOUND
    state.count(found)
    assert (state.strangers, state.bound) == (0, 1)


def test_missing_members_are_counted_by_subset():
    state = GangState("team/g")
    subsets = (Subset("leader", 1), Subset("worker", 3))
    state.declared = Gang(key="team/g", uid="u", created=0.0, subsets=subsets)
    for name in "abcde":
        state.add(member(name, subset="worker"))
    assert state.missing == 1


def test_a_basic_group_misses_nobody():
    assert gang(None).missing == 0


@pytest.mark.parametrize(
    ("bound", "started", "partial"), [(0, False, False), (1, False, True), (2, True, False), (3, True, False)]
)
def test_a_gang_has_started_once_its_minimum_is_bound(bound, started, partial):
    state = gang(2, *(member(f"p{n}", stage=Stage.BOUND if n < bound else Stage.PENDING) for n in range(3)))
    assert (state.started, state.partial) == (started, partial)


def test_members_on_their_way_do_not_start_a_gang():
    state = gang(2, *(member(f"p{n}", stage=Stage.BINDING) for n in range(2)))
    assert not state.started


def test_the_first_bind_is_the_earliest_of_those_that_are_left():
    early, late = (member(name, stage=Stage.BOUND, bound_at=at) for name, at in (("a", 5.0), ("b", 9.0)))
    state = gang(3, late, early)
    assert state.first_bound == 5.0
    state.remove(early)
    assert state.first_bound == 9.0
    state.remove(late)
    assert state.first_bound is None


def test_priority_is_the_groups_or_else_the_lowest_of_the_members():
    members = [member("a", priority=7), member("b", priority=3), member("c", priority=1, stage=Stage.FAILED)]
    assert gang(2, *members).priority == 3
    assert gang(2, *members, priority=5).priority == 5
    assert gang(2).priority == 0


@pytest.mark.parametrize("seed", range(20))
def test_counters_kept_through_any_life_equal_counters_of_a_new_gang(seed):
    rng = Random(seed)
    members = [
        member(f"p{n}", pod_class=rng.choice(CLASSES), priority=rng.choice([0, 5]), controller=rng.choice(["", "job"]))
        for n in range(8)
    ]
    state = gang(4, *members)
    for _ in range(60):
        found = rng.choice(members)
        if found.uid not in state.members:
            state.add(found)
            continue
        if rng.random() < 0.2:
            state.remove(found)
            continue
        if rng.random() < 0.2 and state.candidates:
            free = [pod for pod in state.candidates.values() if pod.gated_by is None]
            setting_out = rng.sample(free, rng.randint(0, len(free)))
            for pod_ in setting_out:
                pod_.record = BoundFor(gang=state.key, run=rng.randint(0, 1))
            state.set_out(setting_out)
            assert facts(state) == facts(gang(4, *state.members.values()))
            continue
        state.uncount(found)
        found.stage = rng.choice(list(Stage))
        found.bound_at = float(rng.randint(1, 9)) if found.stage is Stage.BOUND else None
        found.gated_by = rng.choice([None, "why"])
        found.leaving = rng.random() < 0.2
        state.count(found)
        assert facts(state) == facts(gang(4, *state.members.values()))


def facts(state):
    return (
        state.present,
        state.binding,
        state.bound,
        state.missing,
        state.gated,
        dict(state.classes),
        set(state.candidates),
        state.priority,
        state.highest_placed,
        state.run,
        state.next_run,
        state.first_bound,
    )
