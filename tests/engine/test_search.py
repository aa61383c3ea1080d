"""The one door to search: a requirement, a ground and a budget go in; a placement, a proof or neither comes out."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis.strategies import integers, lists, tuples

from muster.engine.answers import Budget, Impossible, NotFound, Placed, count_bound, prove
from muster.engine.cycle import GangCycle
from muster.engine.ground import Exclusion, Ground
from muster.engine.requirement import Requirement
from muster.engine.search import Search
from muster.framework.views import Views
from muster.plugins.defaults import default_profile
from tests.builders import cluster, pod

PROFILE = default_profile()


def find(world, requirement, *, budget=None, excluded=()):
    nodes = world.engine.cluster.nodes
    search = Search(nodes, Views(PROFILE, nodes))
    return search.find(requirement, Ground(nodes.usage, excluded), budget or Budget())


def gang(world, name="g"):
    return Requirement.of_gang(world.engine.cluster.gangs[f"team/{name}"], PROFILE.gang_rule)


def lone(world, name, **facts):
    world.see(pod(name, **facts))
    return Requirement.of_pod(world.engine.cluster.pods[f"uid-{name}"])


def except_for(world, *names):
    """All nodes but these are excluded."""
    nodes = world.engine.cluster.nodes
    rows = np.ones(nodes.capacity, np.bool_)
    rows[[nodes.rows[name] for name in names]] = False
    return (Exclusion(rows, "node(s) were not asked about"),)


def counts(proof):
    """How many copies of each class fit, by what one of them asks for of the cpu."""
    return {dict(pod_class.requests.amounts)["cpu"]: fits for pod_class, fits in proof.fits.items()}


# --- answers --------------------------------------------------------------------------------------


def test_a_unit_that_fits_is_answered_with_its_places():
    world = cluster(2, cpu=4).gang("g", members=4, cpu=2)
    answer = find(world, gang(world))
    assert isinstance(answer, Placed)
    assert answer.trial.placed == 4


def test_a_unit_for_which_counting_is_enough_is_answered_with_a_proof():
    world = cluster(2, cpu=4).gang("g", members=5, cpu=2)
    answer = find(world, gang(world))
    assert isinstance(answer, Impossible)
    assert counts(answer.proof) == {2000: 4}
    assert (answer.proof.at_most, answer.proof.needed) == (4, 5)
    # what came closest
    assert answer.trial.placed == 4


def test_a_proof_counts_each_class_alone():
    world = cluster(1, cpu=4).group("g", 4).members("g", 0, 1, 2, cpu=3).members("g", 3, cpu=1)
    answer = find(world, gang(world))
    assert isinstance(answer, Impossible)
    assert counts(answer.proof) == {3000: 1, 1000: 4}
    assert (answer.proof.at_most, answer.proof.needed) == (2, 4)


def test_a_mix_that_counting_does_not_exclude_is_not_found_and_says_how_often_it_was_tried():
    world = cluster(2, cpu=5).group("g", 3).members("g", 0, cpu=4).members("g", 1, 2, cpu=3)
    answer = find(world, gang(world))
    assert isinstance(answer, NotFound)
    assert answer.tried > 1
    assert answer.trial.lacking == 1


def test_a_lone_pod_is_a_gang_of_one():
    world = cluster(2, cpu=4)
    requirement = lone(world, "small", cpu=4)
    assert (requirement.must, requirement.needed) == ({"": 1}, 1)
    assert isinstance(find(world, requirement), Placed)
    answer = find(world, lone(world, "large", cpu=5))
    assert isinstance(answer, Impossible)
    assert (answer.proof.at_most, answer.proof.needed) == (0, 1)


def test_nothing_is_proven_where_there_is_just_enough():
    world = cluster(2, cpu=4).gang("g", members=4, cpu=2)
    requirement = gang(world)
    ((pod_class, members),) = requirement.wants.items()
    assert count_bound(requirement.wants, {pod_class: members}, members) is None
    assert count_bound(requirement.wants, {pod_class: members - 1}, members) is not None


# --- the ground -----------------------------------------------------------------------------------


def test_what_is_excluded_has_no_place_for_anybody():
    world = cluster(3, cpu=4).gang("g", members=4, cpu=2)
    requirement = gang(world)
    answer = find(world, requirement, excluded=except_for(world, "n1"))
    assert isinstance(answer, Impossible)
    assert counts(answer.proof) == {2000: 2}
    answer = find(world, requirement, excluded=except_for(world, "n0", "n2"))
    assert {row for _, row in answer.trial.places} == {world.engine.cluster.nodes.rows[name] for name in ("n0", "n2")}


def test_exclusions_for_several_reasons_add_up():
    world = cluster(3, cpu=4)
    requirement = lone(world, "p", cpu=4)
    excluded = except_for(world, "n0", "n1") + except_for(world, "n1", "n2")
    answer = find(world, requirement, excluded=excluded)
    assert [row for _, row in answer.trial.places] == [world.engine.cluster.nodes.rows["n1"]]
    excluded += except_for(world, "n0")
    assert isinstance(find(world, requirement, excluded=excluded), Impossible)


# --- the budget -----------------------------------------------------------------------------------


def mixed():
    """Four members that fill two nodes only if the larger ones go first, which have lower priority."""
    world = cluster(2, cpu=6).group("g", 4)
    return world.members("g", 0, 1, cpu=2, priority=5).members("g", 2, 3, cpu=4, priority=1)


def test_a_search_counts_its_work():
    world, budget = mixed(), Budget()
    find(world, gang(world), budget=budget)
    assert 0 < budget.spent == budget.news()
    assert budget.news() == 0


def test_an_empty_budget_buys_the_first_attempt_and_no_more(monkeypatch):
    tries, fill = [], GangCycle.fill
    monkeypatch.setattr(GangCycle, "fill", lambda *args: tries.append(1) or fill(*args))
    world = cluster(2, cpu=5).group("g", 3).members("g", 0, cpu=4).members("g", 1, 2, cpu=3)
    assert find(world, gang(world), budget=Budget(0)).tried == len(tries) == 1
    assert isinstance(find(world, gang(world), budget=Budget(0)), NotFound)


def test_a_search_ends_when_its_budget_is_spent():
    world = cluster(2, cpu=5).group("g", 3).members("g", 0, cpu=4).members("g", 1, 2, cpu=3)
    most = find(world, gang(world)).tried
    once = Budget(0)
    find(world, gang(world), budget=once)
    assert 1 < find(world, gang(world), budget=Budget(once.spent + 1)).tried < most


def test_the_members_of_a_requirement_are_the_same_after_a_search():
    world = mixed()
    requirement = gang(world)
    find(world, requirement)
    assert all(batch.rows == [] for batch in requirement.batches)
    assert isinstance(find(world, requirement), Placed)


# --- weighing -------------------------------------------------------------------------------------


def test_a_mix_that_needs_more_of_a_resource_than_there_is_is_answered_with_a_proof():
    world = cluster(1, cpu=4).group("g", 2).members("g", 0, cpu=3).members("g", 1, cpu=2)
    answer = find(world, gang(world))
    assert isinstance(answer, Impossible)
    assert (answer.proof.at_most, answer.proof.needed) == (4000, 5000)


def test_a_node_gives_no_more_than_any_mix_can_take_of_it():
    """Two nodes of 7 have 14 cpu, and the members need 14; but all take even numbers, so a node gives 6."""
    world = cluster(2, cpu=7).group("g", 4).members("g", 0, 1, cpu=4).members("g", 2, 3, 4, cpu=2)
    requirement = gang(world)
    assert isinstance(find(world, requirement), Placed)
    world.group("g", 5)
    answer = find(world, gang(world))
    assert isinstance(answer, Impossible)
    assert (answer.proof.at_most, answer.proof.needed) == (12000, 14000)


def test_where_not_all_are_needed_the_smallest_are_weighed():
    world = cluster(1, cpu=4).group("g", 2).members("g", 0, cpu=4).members("g", 1, 2, cpu=2)
    assert isinstance(find(world, gang(world)), Placed)


def test_nothing_else_is_tried_where_nothing_can_help():
    world = cluster(1, cpu=4).group("g", 2).members("g", 0, cpu=3).members("g", 1, cpu=2)
    budget = Budget()
    find(world, gang(world), budget=budget)
    first = Budget(0)
    find(world, gang(world), budget=first)
    assert budget.spent == first.spent


def test_a_thousand_shapes_that_each_take_petabytes_are_weighed_beyond_64_bits():
    world = cluster(0).node("n0", resources={"ephemeral-storage": "8Pi"}).group("g", 1)
    for number in range(1100):
        world.members("g", number, requests={"ephemeral-storage": 2**53 - 2 - number})
    nodes, requirement = world.engine.cluster.nodes, gang(world)
    views = Views(PROFILE, nodes)
    copies = {pod_class: views.copies_on(pod_class, nodes.usage) for pod_class in requirement.wants}
    assert prove(requirement.wants, requirement.needed, copies, nodes.usage.free) is None


@settings(deadline=None)
@given(
    nodes=lists(tuples(integers(0, 8), integers(0, 8)), min_size=1, max_size=4),
    kinds=lists(
        tuples(integers(1, 3), integers(0, 5), integers(0, 5)), min_size=2, max_size=3, unique_by=lambda k: k[1:]
    ),
    spare=integers(0, 2),
)
def test_a_proof_is_never_given_for_what_has_a_place(nodes, kinds, spare):
    world = cluster(0)
    for number, (cpu, memory) in enumerate(nodes):
        world.node(f"n{number}", cpu=cpu, memory=f"{memory}Gi")
    members = [shape for count, *shape in kinds for _ in range(count)]
    needed = max(1, len(members) - spare)
    world.group("g", needed)
    for number, (cpu, memory) in enumerate(members):
        world.members("g", number, cpu=cpu, memory=f"{memory}Gi")
    if isinstance(find(world, gang(world)), Impossible):
        assert not any(has_place(nodes, some) for some in combinations(members, needed))


def has_place(nodes, members):
    """Tries all that there is to try."""
    if not members:
        return True
    (cpu, memory), *others = members
    return any(
        has_place([*nodes[:at], (c - cpu, m - memory), *nodes[at + 1 :]], others)
        for at, (c, m) in enumerate(nodes)
        if c >= cpu and m >= memory
    )
