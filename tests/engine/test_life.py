"""The life of a unit as the table has it: phase and strength."""

import pytest

from muster.cluster.gangs import GangState, Strength
from muster.engine.changes import Failure
from muster.engine.life import Cause, Phase, reachable
from muster.engine.verdicts import Outcome
from muster.sim.rules.broken import BrokenRuleError
from tests.builders import cluster
from tests.engine.gang_walks import Walk

G = "team/g"


def life(world):
    engine = world.engine
    return engine._units[G].phase, engine.cluster.gangs[G].strength


def two(**more):
    """A gang of two that wait for their first decision, on two nodes that hold one each."""
    return cluster(2, cpu=1).group("g", 2, **more).members("g", 0, 1, cpu=1)


def running(**more):
    world = two(**more)
    world.run()
    return world


def test_a_gang_that_lacks_a_member_is_assembling():
    world = cluster(1).group("g", 2).members("g", 0)
    world.decide()
    assert life(world) == (Phase.ASSEMBLING, Strength.NONE)


def test_a_gang_that_is_complete_and_not_tried_yet_is_ready():
    world = two()
    world.engine.decide(world.now, 0)
    assert life(world) == (Phase.READY, Strength.NONE)


def test_a_gang_that_found_no_place_waits():
    world = cluster(1, cpu=1).group("g", 2).members("g", 0, 1, cpu=1)
    world.decide()
    assert life(world) == (Phase.WAITING, Strength.NONE)


def test_a_gang_for_which_others_leave_is_reserving():
    world = cluster(2, cpu=1).pod("low", cpu=1, on="n0", priority=0).group("g", 2, priority=10)
    world.members("g", 0, 1, cpu=1).decide()
    assert life(world) == (Phase.RESERVING, Strength.NONE)


def test_a_gang_that_was_placed_is_binding_until_the_last_bind_it_needs_is_acknowledged():
    world = two()
    world.decide()
    assert life(world) == (Phase.SETTLED, Strength.BINDING)
    world.bound("g-0").decide()
    assert life(world) == (Phase.SETTLED, Strength.BINDING)
    world.bound("g-1").decide()
    assert life(world) == (Phase.SETTLED, Strength.WHOLE)


def test_a_gang_of_which_a_bind_is_refused_and_has_no_other_place_stands_in_part():
    world = two()
    world.decide()
    world.bound("g-0").node_gone("n1").bind_failed("g-1", Failure.REJECTED)
    world.decide()
    assert life(world)[1] is Strength.PART


def test_a_gang_whose_time_is_over_has_nothing_left_and_backs_off_or_assembles():
    world = two(timeout=10)
    world.decide()
    world.bound("g-0").node_gone("n1").bind_failed("g-1", Failure.REJECTED)
    world.decide()
    world.decide(after=20.0)
    assert life(world) in [(phase, Strength.NONE) for phase in (Phase.ASSEMBLING, Phase.BACKING_OFF)]


def test_a_gang_that_has_started_and_loses_a_member_is_below_its_minimum():
    world = running()
    world.pod_gone("g-1").decide()
    assert life(world) == (Phase.SETTLED, Strength.BELOW)


def test_a_gang_that_runs_may_have_a_member_that_waits():
    world = running()
    world.members("g", 2, cpu=1).decide()
    assert life(world) == (Phase.WAITING, Strength.WHOLE)


def test_a_gang_that_lost_all_and_has_a_new_member_has_fallen():
    world = running()
    world.pod_gone("g-0").pod_gone("g-1").decide()
    assert life(world) == (Phase.SETTLED, Strength.ENDED)
    world.members("g", 2, cpu=1).decide()
    assert life(world) == (Phase.ASSEMBLING, Strength.FALLEN)


def test_what_runs_of_a_gang_whose_object_was_made_anew_was_there_earlier():
    world = running()
    world.group("g", 3, uid="another").decide()
    assert life(world) == (Phase.ASSEMBLING, Strength.EARLIER)


def test_a_lone_pod_is_a_unit_until_it_has_a_place():
    world = cluster(1, cpu=1).pod("p", cpu=1).pod("q", cpu=1)
    world.decide()
    assert {unit.name: unit.phase for unit in world.engine.units} == {"team/q": Phase.WAITING}


def test_every_attempt_says_why_it_was_made_just_then():
    world = cluster(1, cpu=1).group("g", 2).members("g", 0, 1, cpu=1)
    world.decide()
    world.node("n1", cpu=1).decide()
    assert [(attempt.verdict.outcome, attempt.cause) for attempt in world.engine.audit.story(G)] == [
        (Outcome.IMPOSSIBLE, Cause.MEMBER_CAME),
        (Outcome.PLACED, Cause.ROOM_GREW),
    ]


def test_a_way_that_the_table_does_not_have_is_counted_and_taken():
    world = two()
    world.engine.decide(world.now, 0)
    unit = world.engine._units[G]
    world.engine._queue.rest(unit, Phase.SETTLED, Cause.STARVES)
    assert unit.phase is Phase.SETTLED
    assert world.engine._queue.unforeseen == {(Phase.READY, Cause.STARVES, Phase.SETTLED): 1}


def test_nobody_gets_anywhere_without_a_cause():
    assert all(reachable(state, set()) == {state} for state in (*Phase, *Strength))


def test_a_loss_takes_a_gang_that_runs_whole_below_its_minimum_but_never_back_before_its_start():
    lost = reachable(Strength.WHOLE, {Cause.MEMBER_LOST})
    assert Strength.BELOW in lost
    assert lost.isdisjoint({Strength.PART, Strength.BINDING, Strength.NONE})


def test_an_object_made_anew_undoes_nothing():
    causes = {Cause.OBJECT_REMADE, Cause.TIME_PASSED, Cause.ROOM_GREW}
    assert Strength.PART not in reachable(Strength.WHOLE, causes)


@pytest.mark.parametrize("part", range(4))
def test_whatever_happens_to_a_gang_its_strength_changes_along_the_table(part):
    for seed in range(60 * part, 60 * (part + 1)):
        walk = Walk(seed)
        for _ in range(60):
            walk.step()


def test_walks_see_a_strength_that_the_table_does_not_lead_to(monkeypatch):
    half = property(lambda self: self.once_started and not self.fallen and not self.lost)
    monkeypatch.setattr(GangState, "has_started", half)
    with pytest.raises(BrokenRuleError, match="went from"):
        test_whatever_happens_to_a_gang_its_strength_changes_along_the_table(0)
