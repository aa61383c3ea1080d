"""Binds that somebody's policy denies: tried there and elsewhere, and final after five seconds."""

from itertools import pairwise

import pytest

from muster.engine.changes import BindFailed, Failure
from muster.engine.decisions import Bind, Event, GangCondition, Release
from tests.builders import cluster, evicted, group, only, placements

QUOTA = 'admission webhook "quota" denied the request'


class Gate:
    """A world whose API server denies some binds and acknowledges all others, at once."""

    def __init__(self, world, denies):
        self.world = world
        self.denies = denies
        """(pod, node, time) → whether the bind is denied"""
        self.tries = []
        """(time, pod, node) of each bind that was denied"""
        self.decisions = []

    def run(self, until):
        """Lets the time pass, with everything that comes of it."""
        world = self.world
        while True:
            self.answer(world.decide())
            due = world.engine.next_decide_at
            if due is None or due > until:
                break
            world.now = max(due, world.now)
        world.now = until
        return self

    def answer(self, decisions):
        while decisions:
            self.decisions += decisions
            for name, node in placements(decisions).items():
                if self.denies(name, node, self.world.now):
                    self.tries.append((self.world.now, name, node))
                    self.world.apply(BindFailed(f"uid-{name}", node, Failure.DENIED, QUOTA))
                else:
                    self.world.bound(name)
            decisions = self.world.decide()

    @property
    def released(self):
        return [ref.pod.partition("/")[2] for release in only(Release, self.decisions) for ref in release.pods]


def always(*names):
    return lambda name, node, now: name in names


def on_node(node):
    return lambda name, where, now: where == node


def until(moment):
    return lambda name, node, now: now < moment


def gang_of_two(denies, *, nodes=3, minimum=2):
    return Gate(cluster(nodes, cpu=4).gang("g", members=2, minimum=minimum, cpu=4), denies)


# --- there and elsewhere --------------------------------------------------------------------------


def test_a_denied_bind_is_tried_again_on_the_same_node():
    gate = gang_of_two(always("g-1")).run(0.6)
    (first, *_), (second, *_) = gate.tries[:2]
    assert [node for _, _, node in gate.tries[:2]] == ["n1", "n1"]
    assert second - first == pytest.approx(0.5)


def test_a_bind_that_is_denied_twice_on_a_node_is_tried_elsewhere():
    gate = gang_of_two(on_node("n1")).run(1.0)
    assert gate.world.where == {"g-0": "n0", "g-1": "n2"}


def test_a_lone_pod_is_tried_elsewhere_too():
    gate = Gate(cluster(2).pod("p", cpu=1), on_node("n0")).run(2.0)
    assert gate.world.where == {"p": "n1"}


def test_a_bind_that_is_denied_everywhere_is_tried_on_every_node():
    gate = Gate(cluster(3).pod("p", cpu=1), always("p")).run(60.0)
    assert {node for _, _, node in gate.tries} == {"n0", "n1", "n2"}


def test_a_bind_that_is_denied_on_the_only_node_is_tried_there_again():
    gate = Gate(cluster(1).pod("p", cpu=1), until(3.0)).run(60.0)
    assert gate.world.where == {"p": "n0"}


def test_the_room_is_kept_between_two_tries_on_a_node():
    gate = gang_of_two(always("g-1"), nodes=2).run(0.1)
    gate.world.pod("q", cpu=4)
    assert placements(gate.world.decide()) == {}


def test_a_denial_is_told():
    gate = gang_of_two(on_node("n1")).run(1.0)
    notes = [event.note for event in only(Event, gate.decisions) if event.action == "Binding" and event.warning]
    assert notes == [f"binding to n1 was refused: {QUOTA}"]


# --- a denial that ends ---------------------------------------------------------------------------


@pytest.mark.parametrize("moment", [0.3, 1.0, 2.0, 4.0])
def test_a_denial_that_ends_within_five_seconds_is_survived(moment):
    gate = gang_of_two(lambda name, node, now: name == "g-1" and now < moment).run(20.0)
    assert gate.released == []
    assert set(gate.world.where) == {"g-0", "g-1"}


def test_a_denial_for_one_node_alone_does_no_harm():
    gate = gang_of_two(on_node("n0")).run(20.0)
    assert gate.released == []
    assert set(gate.world.where.values()) == {"n1", "n2"}


# --- a denial that stays --------------------------------------------------------------------------


def test_a_gang_that_cannot_reach_its_minimum_is_released_after_five_seconds():
    gate = gang_of_two(always("g-1"))
    assert gate.run(4.9).released == []
    assert gate.run(6.0).released == ["g-0"]


def test_a_release_says_who_may_not_be_bound_and_why():
    gate = gang_of_two(always("g-1")).run(10.0)
    (release,) = only(Release, gate.decisions)
    assert release.reason == "SchedulerError"
    assert release.message == f"team/g-1 may not be bound: {QUOTA}"


def test_the_group_says_so_too():
    gate = gang_of_two(always("g-1")).run(10.0)
    said = [(d.holds, d.reason, d.message) for d in only(GangCondition, gate.decisions)]
    assert (False, "SchedulerError", f"team/g-1 may not be bound: {QUOTA}") in said


def test_an_answer_that_comes_after_five_seconds_is_final_at_once():
    world = cluster(3, cpu=4).gang("g", members=2, cpu=4)
    world.decide()
    world.bound("g-0").apply(BindFailed("uid-g-1", "n1", Failure.DENIED, QUOTA)).decide()
    world.decide(after=0.5)
    world.decide(after=5.0)
    world.apply(BindFailed("uid-g-1", "n1", Failure.DENIED, QUOTA))
    assert len(only(Release, world.decide())) == 1


def test_a_gang_of_which_nothing_is_bound_has_nothing_to_release():
    gate = gang_of_two(always("g-0", "g-1")).run(20.0)
    assert gate.released == []


def test_a_gang_with_enough_others_is_not_released():
    gate = gang_of_two(always("g-1"), minimum=1).run(60.0)
    assert gate.released == []
    assert gate.world.where["g-0"] == "n0"


def test_a_member_that_can_stand_in_for_the_denied_one_saves_the_gang():
    gate = Gate(cluster(4, cpu=4).gang("g", members=3, minimum=2, cpu=4), always("g-0")).run(20.0)
    assert gate.released == []
    assert {"g-1", "g-2"} <= set(gate.world.where)


def slow_third(*, minimum, denies, nodes=5):
    """A gang of three, the third of which gets no answer yet."""
    gate = Gate(cluster(nodes, cpu=4).gang("g", members=3, minimum=minimum, cpu=4), denies)
    (bind,) = only(Bind, gate.world.decide())
    gate.answer([Bind(bind.unit, tuple(placed for placed in bind.pods if placed.pod != "team/g-2"))])
    return gate


def test_a_gang_whose_others_are_still_being_bound_is_not_released():
    gate = slow_third(minimum=2, denies=always("g-0"))
    assert gate.run(8.0).released == []
    gate.world.bound("g-2")
    assert gate.run(60.0).released == []
    assert {"g-1", "g-2"} <= set(gate.world.where)


def test_a_gang_of_which_nothing_runs_is_not_undone_before_all_binds_are_answered():
    gate = slow_third(minimum=3, denies=always("g-0", "g-1")).run(20.0)
    assert gate.released == []
    gate.world.bound("g-2")
    assert gate.run(21.0).released == ["g-2"]


def test_a_gang_with_a_denied_member_is_undone_when_it_loses_the_one_that_could_stand_in():
    gate = slow_third(minimum=2, denies=always("g-0"))
    assert gate.run(8.0).released == []
    gate.world.pod_gone("g-2")
    assert gate.run(8.1).released == ["g-1"]


def test_a_release_does_not_name_who_was_denied_and_waits_to_be_tried_again():
    gate = slow_third(minimum=3, denies=always("g-1", "g-2")).run(4.8)
    gate.world.bind_failed("g-2", Failure.DENIED)
    assert gate.run(5.1).released == ["g-0"]


def test_what_was_denied_before_its_group_was_made_anew_is_bound_for_the_new_one_or_not_at_all():
    world = cluster(3, cpu=1).gang("g", members=3, cpu=1)
    gate = Gate(world, lambda name, node, now: now < 0.1 or name == "g-2")
    gate.answer(world.decide())
    world.see(group("g", 3, uid="anew"))
    gate.run(until=20.0)
    # a part of it that nobody may release would be left
    assert {bind.pods[0].bound_for.uid for bind in only(Bind, gate.decisions[1:])} == {"anew"}
    assert gate.released == ["g-0", "g-1"]


def test_a_gang_that_has_started_is_not_released_for_a_denied_newcomer():
    gate = gang_of_two(always("g-2")).run(1.0)
    gate.world.members("g", 2, cpu=4)
    assert gate.run(60.0).released == []


def test_a_lone_pod_that_is_denied_for_ever_is_never_deleted():
    gate = Gate(cluster(1).pod("p", cpu=1), always("p")).run(100.0)
    assert only(Release, gate.decisions) == []


def test_the_gang_is_tried_again_when_its_pods_are_back():
    gate = gang_of_two(lambda name, node, now: name == "g-1" and now < 6.0).run(6.0)
    gate.world.pod_gone("g-0").members("g", 0, cpu=4)
    gate.run(30.0)
    assert set(gate.world.where) == {"g-0", "g-1"}


def test_a_gang_that_is_tried_again_has_the_patience_of_the_first_time_for_all_members():
    gate = Gate(cluster(5, cpu=4).gang("g", members=3, cpu=4), always("g-0", "g-1")).run(6.0)
    assert gate.released == ["g-2"]
    gate.world.pod_gone("g-2").members("g", 2, cpu=4)
    while gate.tries[-1][0] <= 6.0:
        gate.run(gate.world.now + 0.5)
    again = min(time for time, _, _ in gate.tries if time > 6.0)
    assert gate.run(again + 4.9).released == ["g-2"]
    assert gate.run(again + 6.0).released == ["g-2", "g-2"]


# --- not for ever ---------------------------------------------------------------------------------


def test_the_tries_of_a_pod_that_is_denied_for_ever_grow_apart():
    gate = Gate(cluster(1).pod("p", cpu=1), always("p")).run(300.0)
    times = [time for time, _, _ in gate.tries]
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert pauses[-1] >= 10.0
    assert len(times) < 50


def test_a_gang_that_was_undone_waits_longer_than_between_the_tries_before():
    gate = gang_of_two(always("g-1"), nodes=2).run(6.0)
    times = [time for time, _, _ in gate.tries]
    gate.world.pod_gone("g-0").members("g", 0, cpu=4)
    again = gate.run(60.0).tries[len(times)][0]
    assert again - 5.0 > max(later - earlier for earlier, later in pairwise(times))


def test_a_unit_that_is_denied_does_not_keep_room_from_others():
    # peers C9: who could never be bound won every time
    gate = Gate(cluster(1, cpu=4).pod("denied", cpu=4, priority=9), always("denied")).run(20.0)
    gate.world.pod("next", cpu=4)
    assert gate.run(40.0).world.where.get("next") == "n0"


def test_nobody_is_evicted_for_a_gang_that_cannot_be_bound():
    world = cluster(2, cpu=4).pod("low", cpu=4, on="n1").gang("g", members=1, cpu=4, priority=5)
    gate = Gate(world, always("g-0")).run(30.0)
    world.pod("foreign", cpu=4, on="n0", priority=9, scheduler="other")
    assert evicted(gate.run(300.0).decisions) == []


def test_no_bind_is_told_to_have_succeeded_that_was_denied():
    gate = Gate(cluster(1).pod("p", cpu=1), always("p")).run(60.0)
    assert [event for event in only(Event, gate.decisions) if event.reason == "Scheduled"] == []
