"""The gang cycle: all that must be placed and as many more as fit, or nothing."""

import pytest

from muster.cluster.gangs import GangState
from muster.engine.answers import Budget
from muster.engine.cycle import GangCycle
from muster.engine.decisions import Bind
from muster.engine.explain import Explainer
from muster.engine.ground import Ground
from muster.engine.requirement import Requirement
from muster.engine.search import Search
from muster.engine.verdicts import Outcome
from muster.framework.profile import Profiles
from muster.framework.views import Views
from muster.gangs.model import Gang, Subset
from muster.plugins.defaults import default_profile
from tests.builders import cluster, only, placements, pod


def placed(world):
    return set(placements(world.decide()))


def names(gang, *numbers):
    return {f"{gang}-{number}" for number in numbers}


# --- the minimum ----------------------------------------------------------------------------------


def test_a_gang_that_fits_is_bound_whole_in_one_decision():
    world = cluster(2, cpu=4).gang("g", members=4, cpu=2)
    (bind,) = only(Bind, world.decide())
    assert bind.unit == "team/g"
    assert {placement.pod for placement in bind.pods} == {f"team/g-{number}" for number in range(4)}


def test_nothing_is_bound_below_the_minimum():
    assert placed(cluster(2, cpu=4).gang("g", members=5, cpu=2)) == set()


def test_a_refused_gang_leaves_the_room_to_others():
    world = cluster(2, cpu=4).gang("g", members=5, cpu=2, priority=9).pod("p", cpu=4)
    assert placed(world) == {"p"}


def test_as_many_more_than_the_minimum_are_bound_as_fit():
    assert placed(cluster(2, cpu=4).gang("g", members=6, minimum=2, cpu=2)) == names("g", 0, 1, 2, 3)


def test_the_rest_of_a_started_gang_is_bound_when_room_comes():
    world = cluster(2, cpu=4).gang("g", members=6, minimum=2, cpu=2).run()
    assert placed(world.node("n2", cpu=4)) == names("g", 4, 5)


def test_one_more_member_of_a_started_gang_is_bound_alone():
    world = cluster(1, cpu=4).gang("g", members=2, cpu=1).run().members("g", 2, cpu=1)
    assert placed(world) == names("g", 2)


def test_members_that_ended_count_for_the_minimum():
    world = cluster(1, cpu=4).group("g", 3).members("g", 0, 1, cpu=1, on="n0", phase="Succeeded")
    assert placed(world.members("g", 2, cpu=1)) == names("g", 2)


def test_members_that_failed_do_not():
    world = cluster(1, cpu=4).group("g", 3).members("g", 0, on="n0", phase="Failed").members("g", 1, 2, cpu=1)
    assert placed(world) == set()


def test_who_gets_the_last_places_is_decided_by_priority_and_then_by_name():
    world = cluster(1, cpu=3).group("g", 1)
    world.members("g", 0, 1, 2, cpu=1).members("g", 3, 4, cpu=1, priority=5)
    assert placed(world) == names("g", 0, 3, 4)


def test_names_are_compared_as_text():
    world = cluster(1, cpu=2).group("g", 1).members("g", 10, 9, 2, cpu=1)
    assert placed(world) == names("g", 10, 2)


# --- mixed shapes ---------------------------------------------------------------------------------


def test_larger_members_get_their_places_first():
    world = cluster(1, cpu=4).node("big", cpu=8).group("g", 3)
    world.members("g", 0, 1, cpu=2).members("g", 2, cpu=8)
    assert placements(world.decide()) == {"g-0": "n0", "g-1": "n0", "g-2": "big"}


def test_higher_priority_comes_before_size():
    world = cluster(1, cpu=4).group("g", 1).members("g", 0, cpu=4).members("g", 1, 2, cpu=2, priority=1)
    assert placed(world) == names("g", 1, 2)


def test_members_of_different_classes_fill_up_the_minimum_together():
    world = cluster(2, cpu=4).group("g", 4).members("g", 0, 1, cpu=3).members("g", 2, 3, cpu=1)
    assert placed(world) == names("g", 0, 1, 2, 3)


def test_members_of_one_gang_never_share_a_place():
    world = cluster(2, cpu=4).group("g", 3).members("g", 0, cpu=3).members("g", 1, cpu=2).members("g", 2, cpu=1)
    world.run()
    free = world.engine.cluster.nodes.usage.free
    assert (free >= 0).all()
    assert len(world.where) == 3


def test_small_members_go_first_where_the_large_one_would_take_the_room_of_enough():
    world = cluster(1, cpu=8).group("g", 2).members("g", 0, cpu=8).members("g", 1, 2, cpu=4)
    assert set(placements(world.decide())) == {"g-1", "g-2"}


def test_the_most_constrained_members_go_first_where_others_would_take_their_only_node():
    world = cluster(1, cpu=4).node("special", cpu=8, labels={"disk": "ssd"})
    world.group("g", 2).members("g", 0, cpu=4).members("g", 1, cpu=3, memory="1Gi", selector={"disk": "ssd"})
    world.pod("filler", cpu=4, on="special")
    assert placements(world.decide()) == {"g-0": "n0", "g-1": "special"}


def test_what_greed_misses_is_said_to_be_no_proof():
    world = cluster(2, cpu=5).group("g", 3).members("g", 0, cpu=4).members("g", 1, 2, cpu=3)
    world.decide()
    assert world.attempts("g") == [Outcome.NOT_FOUND]


def test_small_members_make_up_the_minimum_where_large_ones_do_not_fit():
    world = cluster(1, cpu=8).group("g", 4)
    world.members("g", 0, 1, 2, 3, cpu=4).members("g", 4, 5, 6, 7, cpu=1)
    assert placed(world) == names("g", 0, 4, 5, 6, 7)


def test_of_several_shapes_those_start_that_fit_together():
    world = cluster(1, cpu=4).group("g", 2).members("g", 0, cpu=4).members("g", 1, cpu=1, ports=[80])
    world.members("g", 2, cpu=4, ports=[80]).members("g", 3, cpu="500m")
    assert placed(world) == names("g", 1, 3)


def test_small_members_of_lower_priority_make_up_the_minimum_too():
    world = cluster(1, cpu=4).group("g", 2)
    world.members("g", 0, 1, cpu=4, priority=5).members("g", 2, 3, cpu=1, priority=1)
    assert placed(world) == names("g", 2, 3)


def test_the_more_important_of_the_small_members_make_up_the_minimum():
    world = cluster(1, cpu=2).group("g", 2).members("g", 0, cpu=2, priority=5)
    world.members("g", 1, 2, cpu=1, priority=5).members("g", 3, 4, cpu="500m", priority=1)
    assert placed(world) == names("g", 1, 2)


def trials(monkeypatch, world):
    """How often the cycle tries the gang until all is decided."""
    tries, fill = [], GangCycle.fill
    monkeypatch.setattr(GangCycle, "fill", lambda *args: tries.append(1) or fill(*args))
    world.decide()
    return len(tries)


def many_shapes(**facts):
    """Twenty shapes, of which five fill two nodes only if they are packed well."""
    world = cluster(2, cpu=10, **facts).group("g", 20)
    for number, cpu in enumerate([6, 4, 4, 3, 3]):
        world.members("g", number, cpu=cpu, memory=f"{number + 1}Mi")
    return world.see(*(pod(f"g-{number}", gang="g", memory=f"{number}Mi") for number in range(5, 20)))


def test_many_shapes_are_packed_before_many_orders_are_tried(monkeypatch):
    world = many_shapes()
    assert trials(monkeypatch, world) == 1
    assert len(world.where) == 20


def test_few_orders_of_many_shapes_are_tried_in_vain(monkeypatch):
    assert trials(monkeypatch, many_shapes(pods=9)) < 8


# --- basic groups ---------------------------------------------------------------------------------


def test_a_basic_group_starts_with_whatever_fits():
    world = cluster(1, cpu=3).group("b", None).members("b", 0, 1, 2, 3, cpu=1)
    assert placed(world) == names("b", 0, 1, 2)


def test_a_basic_group_does_not_wait_for_members():
    assert placed(cluster(1).group("b", None).members("b", 0, cpu=1)) == names("b", 0)


def test_a_basic_group_without_room_waits():
    world = cluster(1, cpu=1).group("b", None).members("b", 0, 1, cpu=2)
    assert placed(world) == set()
    assert world.attempts("b") == [Outcome.IMPOSSIBLE]


# --- subsets --------------------------------------------------------------------------------------


class Subsets:
    """A gang with subsets, tried by the cycle itself: no dialect declares such a one yet."""

    def __init__(self, world, **minimums):
        self.world = world
        self.gang = GangState("team/g")
        listed = tuple(Subset(name, minimum) for name, minimum in minimums.items())
        self.gang.declared = Gang(key="team/g", uid="u", created=0.0, subsets=listed)

    def members(self, subset, *numbers, **facts):
        for number in numbers:
            self.world.see(pod(f"{subset}-{number}", **facts))
            state = self.world.engine.cluster.pods[f"uid-{subset}-{number}"]
            state.subset = subset
            self.gang.add(state)
        return self

    def tried(self):
        """Names of the members that would be placed, and how many are lacking."""
        trial = self._answer().trial
        found = {member.key.partition("/")[2] for batch in trial.batches for member in batch.placed}
        return found, trial.lacking

    def refusals(self):
        """Why no node takes one more, class by class."""
        cluster, profile = self.world.engine.cluster, default_profile()
        explainer = Explainer(cluster, Profiles(profile), Views(profile, cluster.nodes))
        ground = Ground(cluster.nodes.usage)
        verdict = explainer.verdict("team/g", self._requirement(), self._answer(), ground=ground)
        return [[refusal.reason for refusal in need.refusals] for need in verdict.needs]

    def _answer(self):
        """What the cycle's own, first attempt gives."""
        nodes = self.world.engine.cluster.nodes
        search = Search(nodes, Views(default_profile(), nodes))
        return search.find(self._requirement(), Ground(nodes.usage), Budget(0))

    def _requirement(self):
        return Requirement.of_gang(self.gang, default_profile().gang_rule)


def test_every_subset_reaches_its_minimum():
    gang = Subsets(cluster(3, cpu=1), leader=1, worker=2)
    gang.members("leader", 0, cpu=1).members("worker", 0, 1, cpu=1)
    assert gang.tried() == ({"leader-0", "worker-0", "worker-1"}, 0)


def test_a_subset_that_lacks_a_member_cannot_be_made_up_for_by_another():
    gang = Subsets(cluster(3, cpu=1), leader=1, worker=2)
    gang.members("leader", 0, cpu=9).members("worker", 0, 1, 2, cpu=1)
    assert gang.tried()[1] == 1


def test_spare_members_of_one_subset_do_not_take_the_room_that_another_must_have():
    # the leaders are larger and come first: all three would leave nothing for the workers
    gang = Subsets(cluster(1, cpu=6), leader=1, worker=2)
    gang.members("leader", 0, 1, 2, cpu=2).members("worker", 0, 1, cpu=1)
    found, lacking = gang.tried()
    assert lacking == 0
    assert found >= {"worker-0", "worker-1"}
    assert len(found) == 4


def test_spare_members_of_a_subset_that_has_its_minimum_bound_come_last_too():
    world = cluster(1, cpu=4)
    gang = Subsets(world, leader=1, worker=2)
    gang.members("leader", 0, cpu=1, on="n0").members("leader", 1, 2, cpu=2).members("worker", 0, 1, cpu=1)
    found, lacking = gang.tried()
    assert lacking == 0
    assert found == {"worker-0", "worker-1"}


def test_spare_members_of_a_subset_without_a_minimum_come_last_too():
    gang = Subsets(cluster(1, cpu=3), extra=0, worker=2)
    gang.members("extra", 0, 1, cpu=2).members("worker", 0, 1, cpu=1)
    found, lacking = gang.tried()
    assert lacking == 0
    assert found == {"worker-0", "worker-1"}


def test_a_subset_of_several_shapes_takes_its_minimum_once_before_others_have_theirs():
    gang = Subsets(cluster(1, cpu=5), worker=2, leader=1)
    gang.members("worker", 0, 1, cpu=2).members("worker", 2, 3, cpu=1, memory="1Gi").members("leader", 0, cpu=1)
    assert gang.tried() == ({"worker-0", "worker-1", "leader-0"}, 0)


def test_members_are_counted_once_in_the_reasons_that_nodes_give():
    # 2 + 4 × 1 cpu are taken, and 5 of 8 places: what is short is cpu alone
    gang = Subsets(cluster(1, cpu=6, pods=8), leader=1, worker=5)
    gang.members("leader", 0, cpu=2).members("worker", 0, 1, 2, 3, 4, cpu=1)
    assert gang.tried()[1] == 1
    assert gang.refusals() == [["Insufficient cpu"], ["Insufficient cpu"]]


@pytest.mark.parametrize("cpu", [2, 3, 4, 5, 6])
def test_spare_members_of_all_subsets_get_what_is_left(cpu):
    gang = Subsets(cluster(1, cpu=cpu), leader=1, worker=1)
    gang.members("leader", 0, 1, cpu=1).members("worker", 0, 1, 2, cpu=1)
    found, lacking = gang.tried()
    assert lacking == 0
    assert len(found) == min(cpu, 5)
    assert found >= {"leader-0", "worker-0"}
