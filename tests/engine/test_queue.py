"""Who is decided first, who is held, and who has to wait a while."""

import pytest

from muster.engine.changes import Failure
from muster.engine.decisions import Bind
from muster.engine.verdicts import Outcome
from tests.builders import cluster, only, placements


def order(world):
    """Units in the order in which they were bound."""
    return [bind.unit.partition("/")[2] for bind in only(Bind, world.decide())]


def test_higher_priority_is_decided_first():
    world = cluster(4).pod("low", priority=-1).pod("mid").pod("high", priority=10)
    assert order(world) == ["high", "mid", "low"]


def test_among_equals_the_older_is_decided_first():
    world = cluster(4).pod("young", created=20.0).pod("old", created=10.0)
    assert order(world) == ["old", "young"]


def test_among_pods_of_one_second_the_uid_decides():
    assert order(cluster(4).pod("b").pod("c").pod("a")) == ["a", "b", "c"]


def test_a_gang_takes_part_with_the_age_and_priority_of_its_group():
    world = cluster(4).pod("p", created=5.0, priority=3)
    world.group("g", 1, created=9.0, priority=7).members("g", 0, created=0.0)
    world.group("h", 1, created=1.0, priority=3).members("h", 0, created=99.0)
    assert order(world) == ["g", "h", "p"]


def test_a_group_without_priority_has_the_lowest_of_its_members():
    world = cluster(4).pod("p", priority=5).group("g", 2).members("g", 0, priority=9).members("g", 1, priority=4)
    assert order(world) == ["p", "g"]


def test_a_half_bound_gang_comes_before_others_of_its_priority():
    world = cluster(1, cpu=3).pod("p", cpu=1, created=-1.0)
    world.group("g", 2).members("g", 0, cpu=1, on="n0", bound_at=1.0).members("g", 1, cpu=1)
    assert order(world) == ["g", "p"]


def test_a_half_bound_gang_comes_before_one_that_lost_members():
    world = cluster(3, cpu=2).group("g", 2, created=5.0).members("g", 0, cpu=1, on="n0", bound_at=1.0)
    world.runs("h", "n0", minimum=2, cpu=1).members("g", 1, cpu=1).members("h", 7, cpu=1)
    assert order(world) == ["g", "h"]


def test_what_is_more_important_comes_before_a_half_bound_gang():
    world = cluster(1, cpu=3).pod("p", cpu=1, priority=100)
    world.group("g", 2).members("g", 0, cpu=1, on="n0", bound_at=1.0).members("g", 1, cpu=1)
    assert order(world) == ["p", "g"]


def test_a_unit_whose_priority_rises_moves_ahead():
    world = cluster(4).group("g", 2).members("g", 0, priority=0).members("g", 1, priority=5).pod("p", priority=3)
    world.pod_gone("g-0").members("g", 2, priority=5)
    assert order(world) == ["g", "p"]


def test_age_is_kept_across_refusals():
    world = cluster(1, cpu=2).pod("r", cpu=2, on="n0").pod("old", cpu=2, created=1.0)
    world.decide()
    world.pod("young", cpu=2, created=2.0)
    world.decide()
    assert order(world.pod_gone("r")) == ["old"]


# --- held -----------------------------------------------------------------------------------------


def test_a_gated_pod_is_not_decided_until_its_gates_are_gone():
    world = cluster(1).pod("p", gates=["quota"])
    assert order(world) == []
    assert world.attempts("p") == []
    assert order(world.pod("p")) == ["p"]


def test_one_gated_member_holds_a_gang_that_has_not_started():
    world = cluster(1).group("g", 2).members("g", 0, 1).members("g", 2, gates=["quota"])
    assert order(world) == []
    assert order(world.members("g", 2)) == ["g"]


def test_a_gated_member_does_not_hold_the_others_once_the_gang_has_started():
    world = cluster(1).gang("g", members=2).run().members("g", 2, gates=["quota"]).members("g", 3)
    assert placements(world.decide()) == {"g-3": "n0"}


def test_a_gang_is_held_until_its_group_is_known():
    world = cluster(1).members("g", 0, 1)
    assert order(world) == []
    assert order(world.group("g", 2)) == ["g"]


def test_a_gang_is_held_until_enough_members_exist():
    world = cluster(1).group("g", 3).members("g", 0, 1)
    assert order(world) == []
    assert order(world.members("g", 2)) == ["g"]


def test_a_gang_is_held_again_when_a_member_goes():
    world = cluster(1, cpu=1).gang("g", members=3, cpu=1)
    world.decide()
    world.pod_gone("g-2").node("n1").node("n2")
    assert order(world) == []


def test_a_gang_is_held_when_its_group_goes_and_ready_when_it_returns():
    world = cluster(1).group("g", 2).members("g", 0, 1).group_gone("g")
    assert order(world) == []
    assert order(world.group("g", 2)) == ["g"]


def test_pods_of_another_scheduler_are_never_decided():
    assert order(cluster(1).pod("p", scheduler="default-scheduler")) == []


@pytest.mark.parametrize("facts", [{"on": "n0"}, {"phase": "Succeeded"}, {"phase": "Failed"}, {"leaving": True}])
def test_pods_that_need_no_place_are_never_decided(facts):
    assert order(cluster(1).pod("p", **facts)) == []


# --- backoff --------------------------------------------------------------------------------------


def rejected(world, name):
    """The pod's bind is refused; whether it is bound again at once."""
    world.bind_failed(name, Failure.REJECTED)
    return bool(placements(world.decide()))


def test_after_the_first_rejected_bind_a_pod_is_tried_at_once_and_later_with_growing_delay():
    world = cluster(1).pod("p")
    world.decide()
    assert rejected(world, "p")
    for delay in (1.0, 2.0, 4.0, 8.0, 10.0, 10.0):
        assert not rejected(world, "p")
        assert not placements(world.decide(after=delay - 0.01))
        assert placements(world.decide(after=0.01))


def test_the_engine_says_when_a_backoff_is_over():
    world = cluster(1).pod("p")
    world.decide()
    rejected(world, "p")
    rejected(world, "p")
    assert world.engine.next_decide_at == world.now + 1.0


def test_the_ceiling_of_the_delay_grows_with_the_root_of_the_gangs_size():
    world = cluster(4).gang("g", members=4)
    world.decide()
    for _ in range(20):
        for number in range(4):
            world.bind_failed(f"g-{number}", Failure.REJECTED)
        world.decide()
        world.decide(after=100.0)
    for number in range(4):
        world.bind_failed(f"g-{number}", Failure.REJECTED)
    assert not placements(world.decide())
    assert not placements(world.decide(after=19.99))
    assert len(placements(world.decide(after=0.01))) == 4


def test_a_batch_of_rejected_binds_is_one_failure_of_the_gang():
    world = cluster(4).gang("g", members=4)
    world.decide()
    for number in range(4):
        world.bind_failed(f"g-{number}", Failure.REJECTED)
    assert len(placements(world.decide())) == 4


def test_a_unit_that_backs_off_is_not_tried_earlier_whatever_changes():
    world = cluster(1).pod("p")
    world.decide()
    rejected(world, "p")
    rejected(world, "p")
    assert not placements(world.node("n1").pod("p").decide())


def test_a_gang_whose_priority_rises_while_it_backs_off_comes_back_with_the_new_one():
    world = cluster(1, cpu=1).group("g", 1).members("g", 0, cpu=1, priority=9).members("g", 1, cpu=2, priority=0)
    world.decide()
    rejected(world, "g-0")
    rejected(world, "g-0")
    world.pod_gone("g-1").decide()
    world.now += 1.0
    assert order(world.pod("p", cpu=1, priority=5)) == ["g"]


def test_a_waiting_unit_is_tried_again_within_two_minutes_even_if_nothing_helps():
    world = cluster(1, cpu=1).pod("p", cpu=2)
    world.decide()
    world.decide(after=59.0)
    assert world.attempts("p") == [Outcome.IMPOSSIBLE]
    world.decide(after=61.0)
    assert world.attempts("p") == [Outcome.IMPOSSIBLE] * 2


def test_nothing_is_to_be_decided_when_nothing_waits():
    assert cluster(1).pod("p").run().engine.next_decide_at is None
