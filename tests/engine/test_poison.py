"""Units that keep failing, and plugins that raise: one unit's trouble is nobody else's."""

import numpy as np
import pytest

from muster.engine.changes import Failure
from muster.engine.decisions import GangCondition, PodCondition
from muster.engine.verdicts import Outcome
from muster.framework.contract import PodGate, RoomFilter, RoomScore, RuleFilter, RuleScore, VictimRule
from muster.framework.profile import Fairness, Profile
from muster.gangs.dialects.v1beta1 import GROUP_LABEL
from muster.plugins.defaults import default_plugins
from muster.plugins.gang_scheduling import GangScheduling
from muster.plugins.node_ports import NodePorts, PortState
from muster.plugins.node_resources_fit import NodeResourcesFit
from muster.plugins.priority_sort import PrioritySort
from muster.plugins.registry import ProfileParts, make_profile
from tests.builders import World, cluster, evicted, nominations, only, placements, pod, told

POISON_MILLI = 3333
BOOM = "the scheduler failed: RuntimeError: boom"


class Moody:
    """What the plugins below share: whether they raise when they see poison."""

    raises = True

    def look_at(self, lines):
        if self.raises and (lines.need == POISON_MILLI).any():
            raise RuntimeError("boom")

    def look_at_rules(self, rules):
        if self.raises and ("poison", "yes") in rules.selector:
            raise RuntimeError("boom")


class FiltersByRoom(Moody, RoomFilter):
    name = "FiltersByRoom"

    def copies(self, lines, room):
        self.look_at(lines)

    def refusals(self, pod_class, room):
        return []


class ScoresByRoom(Moody, RoomScore):
    name = "ScoresByRoom"

    def score(self, lines, room):
        self.look_at(lines)
        return 0


class FiltersByRules(Moody, RuleFilter):
    name = "FiltersByRules"
    reason = "node(s) were moody"

    def admits(self, rules, nodes, rows):
        self.look_at_rules(rules)
        return np.ones(nodes.capacity if rows is None else len(rows), np.bool_)


class ScoresByRules(Moody, RuleScore):
    name = "ScoresByRules"
    reverse = False

    def raw(self, rules, nodes, rows):
        self.look_at_rules(rules)


PLUGINS = [FiltersByRoom, ScoresByRoom, FiltersByRules, ScoresByRules]
every_plugin = pytest.mark.parametrize("kind", PLUGINS, ids=[kind.__name__ for kind in PLUGINS])


def world_with(*plugins, nodes=2, **settings):
    profile = Profile([*default_plugins(), *((plugin, 1) for plugin in plugins)], **settings)
    world = World(profile)
    for number in range(nodes):
        world.node(f"n{number}", cpu=8, labels={"poison": "yes"})
    return world


def poison(**facts):
    return {"cpu": f"{POISON_MILLI}m", "selector": {"poison": "yes"}} | facts


# --- plugins that raise ---------------------------------------------------------------------------


@every_plugin
def test_a_plugin_that_raises_stops_nobody_else(kind):
    world = world_with(kind()).pod("bad", **poison(priority=9))
    for number in range(5):
        world.pod(f"good{number}", cpu=1)
    assert set(placements(world.decide())) == {f"good{number}" for number in range(5)}


@every_plugin
def test_a_pod_with_which_a_plugin_raises_says_so(kind):
    world = world_with(kind()).pod("bad", **poison()).pod("good", cpu=1)
    (said,) = only(PodCondition, world.decide())
    assert [ref.pod for ref in said.pods] == ["team/bad"]
    assert (said.reason, said.message) == ("SchedulerError", BOOM)
    assert world.attempts("bad") == [Outcome.ERROR]


@every_plugin
def test_a_gang_with_which_a_plugin_raises_says_so(kind):
    world = world_with(kind()).gang("bad", members=2, **poison())
    decisions = world.decide()
    (said,) = only(GangCondition, decisions)
    assert (said.gang, said.holds, said.reason, said.message) == ("team/bad", False, "SchedulerError", BOOM)
    assert {ref.pod for d in only(PodCondition, decisions) for ref in d.pods} == {"team/bad-0", "team/bad-1"}


@every_plugin
def test_a_gang_with_one_poisoned_member_fails_alone(kind):
    world = world_with(kind()).group("bad", 2).members("bad", 0, cpu=1).members("bad", 1, **poison())
    world.gang("good", members=2, cpu=1)
    assert set(placements(world.decide())) == {"good-0", "good-1"}


@every_plugin
def test_no_room_is_lost_to_a_unit_with_which_a_plugin_raises(kind):
    world = world_with(kind(), nodes=1).pod("bad", **poison(priority=9))
    world.decide()
    assert placements(world.pod("whole", cpu=8).decide()) == {"whole": "n0"}


@every_plugin
def test_a_unit_starts_when_its_plugin_no_longer_raises(kind):
    plugin = kind()
    world = world_with(plugin).pod("bad", **poison())
    world.decide()
    plugin.raises = False
    assert list(placements(world.decide(after=20.0))) == ["bad"]


def test_a_unit_that_failed_is_tried_again_with_growing_delay():
    world = world_with(FiltersByRoom()).pod("bad", **poison())
    pauses = []
    for _ in range(5):
        world.decide()
        pauses.append(world.engine.next_decide_at - world.now)
        world.now = world.engine.next_decide_at
    assert pauses == sorted(pauses)
    assert pauses[-1] == 10.0


def test_an_error_is_told_once():
    world = world_with(FiltersByRoom()).pod("bad", **poison())
    world.decide()
    assert world.decide(after=100.0) == []


class RaisesOverVictims(VictimRule):
    name = "RaisesOverVictims"

    def may_evict(self, victim, *, priority):
        raise RuntimeError("boom")

    def importance(self, victim):
        raise RuntimeError("boom")


def test_a_plugin_that_raises_over_victims_evicts_nobody_and_stops_nobody():
    world = world_with(RaisesOverVictims(), nodes=1).pod("low", cpu=8, on="n0").pod("high", cpu=8, priority=5)
    world.node("n1", cpu=1).pod("good", cpu=1)
    decisions = world.decide()
    assert evicted(decisions) == []
    assert placements(decisions) == {"good": "n1"}


class RaisesAtTheGate(PodGate):
    name = "RaisesAtTheGate"

    def holds(self, found):
        if found.key == "team/bad":
            raise RuntimeError("boom")


def test_a_gate_that_raises_stops_nobody():
    world = world_with(RaisesAtTheGate()).see(pod("bad", cpu=1), pod("good", cpu=1))
    assert "good" in placements(world.decide())


class RaisesForOne(PodGate):
    name = "RaisesForOne"

    def holds(self, found):
        if found.key == "team/g-0":
            raise RuntimeError("boom")


def test_a_gate_that_raises_again_and_again_keeps_no_other_member_silent():
    world = world_with(RaisesForOne()).group("g", 2).members("g", 0, 1, cpu=1)
    decisions = world.decide()
    for _ in range(8):
        decisions += world.decide(after=0.5)
    assert "g-1" in told(decisions)


class RaisesOnce(FiltersByRules):
    raises = False

    def look_at_rules(self, rules):
        if self.raises:
            self.raises = False
            raise RuntimeError("boom")


def test_a_node_that_lets_a_pod_in_wakes_it_although_a_plugin_raised_when_it_was_looked_at_before():
    plugin = RaisesOnce()
    world = world_with(plugin, nodes=8)
    for number in range(8):
        world.node(f"n{number}", cordoned=True)
    world.pod("p", cpu=1).decide()
    plugin.raises = True
    assert not placements(world.node("n0", cordoned=True, labels={"new": "yes"}).decide())
    assert not plugin.raises
    assert placements(world.node("n0").decide()) == {"p": "n0"}


# --- units that keep failing ----------------------------------------------------------------------


def test_a_gate_that_raises_is_asked_no_more_often_for_a_pod_that_changed_often():
    gate, asked = RaisesAtTheGate(), []
    gate.holds = lambda found: asked.append(found) or RaisesAtTheGate.holds(gate, found)
    world = world_with(gate)
    for number in range(100):
        world.pod("bad", **poison(labels={"number": str(number)})).decide(after=0.005)
    asked.clear()
    for _ in range(50):
        world.decide(after=0.1)
    assert len(asked) <= 5


class Raves(RaisesAtTheGate):
    def holds(self, found):
        return np.zeros(3) if found.key == "team/bad" else None


def test_a_gate_that_answers_nonsense_stops_nobody():
    world = world_with(Raves()).members("bad", 0, 1, cpu=1).see(pod("bad", gang="bad"), pod("good", cpu=1))
    assert placements(world.decide()) == {"good": "n0"}


def test_a_unit_with_which_a_plugin_raises_says_nothing_of_room_on_a_node_that_is_gone():
    plugin = FiltersByRoom()
    plugin.raises = False
    world = world_with(plugin, nodes=1).pod("low", cpu=8, on="n0").pod("bad", **poison(priority=9))
    assert nominations(world.decide()) == {"bad": "n0"}
    plugin.raises = True
    assert nominations(world.node_gone("n0").node("n1", cpu=1, labels={"poison": "yes"}).decide()) == {"bad": ""}


class RaisingPorts(PortState):
    """Raises whenever it is told of a pod with ports; what it is copied to does not."""

    def add(self, row, pod_class):
        if pod_class.ports:
            raise RuntimeError("boom")

    remove = add

    def clear(self, row):
        raise RuntimeError("boom")

    def copy(self):
        return PortState()


class RaisesWhenTold(NodePorts):
    name = "RaisesWhenTold"

    def new_state(self):
        return RaisingPorts()

    def copies(self, lines, room):
        return None


def test_a_state_that_raises_when_a_pod_is_placed_leaks_no_room_and_stops_nobody():
    world = world_with(RaisesWhenTold(), nodes=1).pod("bad", cpu=4, ports=[80])
    assert placements(world.pod("good", cpu=4).decide()) == {"bad": "n0", "good": "n0"}
    assert world.engine.troubles.counts[""] > 0
    assert placements(world.bound().pod_gone("bad").pod("next", cpu=4).decide()) == {"next": "n0"}


def test_a_state_that_raises_when_it_is_told_what_runs_stops_nobody():
    world = world_with(RaisesWhenTold(), nodes=1).pod("bad", cpu=4, ports=[80], on="n0").pod("good", cpu=4)
    assert placements(world.decide()) == {"good": "n0"}
    assert placements(world.pod("more", cpu=1).decide()) == {}


class Unordered(PrioritySort):
    answer: object = None

    def key(self, *, priority, created, uid, name):
        return self.answer if "bad" in uid else super().key(priority=priority, created=created, uid=uid, name=name)


@pytest.mark.parametrize("answer", [None, (), ("a", 1.0, "b"), (1, float("nan"), "b"), (np.zeros(2), 1.0, "b")])
def test_a_queue_order_that_answers_nonsense_stops_nobody(answer):
    order = Unordered()
    order.answer = answer
    plugins = [(order if isinstance(plugin, PrioritySort) else plugin, weight) for plugin, weight in default_plugins()]
    world = World(Profile(plugins)).node("n0", cpu=4).gang("bad", members=2, cpu=1).gang("good", members=2, cpu=1)
    placed = placements(world.see(pod("bad", cpu=1), pod("p", cpu=1), pod("q", cpu=1)).decide())
    placed |= placements(world.decide(after=60.0))
    assert set(placed) == {"good-0", "good-1", "p", "q"}


def test_a_pod_that_joins_a_gang_after_a_plugin_failed_with_it_alone_goes_with_the_gang():
    order = Unordered()
    plugins = [(order if isinstance(plugin, PrioritySort) else plugin, weight) for plugin, weight in default_plugins()]
    world = World(Profile(plugins)).node("n0", cpu=4).group("g", 2).pod("bad", cpu=1)
    assert placements(world.decide()) == {}
    order.answer = 0, 0.0, "bad"
    world.pod("bad", cpu=1, labels={GROUP_LABEL: "g"})
    assert placements(world.decide(after=60.0)) == {}
    assert set(placements(world.members("g", 0, cpu=1).decide())) == {"bad", "g-0"}


class WaitsInVain(GangScheduling):
    asked = 0

    def waits_for(self, gang):
        self.asked += 1
        raise RuntimeError("boom")


def test_a_rule_that_raises_is_asked_no_more_often_for_a_gang_that_changed_often():
    rule = WaitsInVain()
    plugins = [(rule if isinstance(plugin, GangScheduling) else plugin, weight) for plugin, weight in default_plugins()]
    world = World(Profile(plugins)).node("n0").group("bad", 2)
    for number in range(100):
        world.members("bad", 0, cpu=1, labels={"number": str(number)}).decide(after=0.005)
    rule.asked = 0
    for _ in range(200):
        world.decide(after=0.1)
    assert rule.asked <= 3


class Boasts(GangScheduling):
    """Answers more than was placed; or, below zero, less than nothing."""

    more = 5

    def usable(self, gang, placed):
        return {subset: count + self.more for subset, count in placed.items()}


def boasting(more):
    rule = Boasts()
    rule.more = more
    plugins = [(rule if isinstance(plugin, GangScheduling) else plugin, weight) for plugin, weight in default_plugins()]
    return World(Profile(plugins))


def test_a_rule_that_answers_more_than_was_placed_lets_no_part_of_a_gang_go():
    world = boasting(5).node("n0", cpu=4).node("n1", cpu=4)
    assert placements(world.gang("g", members=3, cpu=4).decide()) == {}
    assert world.attempts("g") == [Outcome.IMPOSSIBLE]
    assert len(placements(world.node("n2", cpu=4).decide())) == 3


def test_a_rule_that_answers_less_than_nothing_lets_nobody_go():
    world = boasting(-3).node("n0", cpu=8).runs("g", "n0", cpu=1).members("g", 1, 2, cpu=1)
    assert placements(world.decide()) == {}


def good_units_in(world, *, calls, budget=6000):
    """Small units come all the time, more than a call's budget is enough for; how many get a place."""
    placed = 0
    for _ in range(calls):
        world.now += 15.0
        for number in range(400):
            world.pod(f"good{world.now:g}-{number}", cpu="1m", created=world.now)
        placed += sum(name.startswith("good") for name in placements(world.decide(budget=budget)))
        world.bound()
    return placed


def spare_world(bad=0, **settings):
    """A world with room for everybody, and so many units that always fail, of the highest priority."""
    world = world_with(FiltersByRoom(), nodes=0, **settings)
    for number in range(50):
        world.node(f"n{number}", cpu=8, pods=1000, labels={"poison": "yes"})
    for number in range(bad):
        world.pod(f"bad{number}", **poison(priority=9))
    world.decide()
    return world


def test_units_that_keep_failing_take_no_more_than_their_share_of_the_work():
    alone = good_units_in(spare_world(), calls=20)
    poisoned = spare_world(bad=300)
    # what was spent on them at first is no longer in the count
    good_units_in(poisoned, calls=20)
    assert good_units_in(poisoned, calls=20) > 0.75 * alone


def test_units_that_keep_failing_take_all_the_work_where_their_share_is_all():
    assert good_units_in(spare_world(bad=300, fairness=Fairness(failing_share=1.0)), calls=10) == 0


def test_units_that_keep_failing_are_tried_in_full_where_nobody_else_is_ready():
    world = spare_world(bad=300)
    world.decide(after=20.0)
    assert all(len(world.attempts(f"bad{number}")) == 2 for number in range(300))


def test_units_that_keep_failing_are_still_tried_while_others_come_all_the_time():
    world = spare_world(bad=1)
    good_units_in(world, calls=10)
    assert len(world.attempts("bad0")) > 2


def placed_beside_mixed_gangs(share):
    """A pod comes each second and ends at once, which wakes twenty gangs for which no place is found."""
    world = (
        World(make_profile(ProfileParts(fairness=Fairness(failing_share=share)))).node("n0", cpu=5).node("n1", cpu=5)
    )
    for number in range(20):
        world.group(f"mixed{number}", 3, priority=9)
        world.members(f"mixed{number}", 0, cpu=4).members(f"mixed{number}", 1, 2, cpu=3)
    world.decide()
    placed = 0
    for call in range(40):
        world.pod(f"good{call}", cpu=1)
        placed += f"good{call}" in placements(world.decide(after=1.0, budget=1_500))
        world.bound().pod_gone(f"good{call}")
    return placed


def test_mixed_gangs_for_which_no_place_is_found_do_not_hold_up_others():
    assert placed_beside_mixed_gangs(share=0.2) > 20
    assert placed_beside_mixed_gangs(share=1.0) < 10


def test_mixed_gangs_that_surely_have_no_place_are_not_even_tried():
    world = cluster(2, cpu=4).group("mixed", 3, priority=9).members("mixed", 0, cpu=4).members("mixed", 1, 2, cpu=3)
    for call in range(10):
        world.pod(f"good{call}", cpu=1).decide(after=1.0)
        world.bound().pod_gone(f"good{call}")
    assert world.attempts("mixed") == [Outcome.IMPOSSIBLE]
    world.node("n2", cpu=4).decide()
    assert world.attempts("mixed") == [Outcome.IMPOSSIBLE, Outcome.PLACED]


def test_a_unit_whose_binds_are_refused_again_and_again_does_not_hold_up_others():
    # peers C9
    world = cluster(1, cpu=4).pod("bad", cpu=4, priority=9)
    for _ in range(5):
        world.decide(after=20.0)
        world.bind_failed("bad", Failure.REJECTED)
    assert placements(world.pod("good", cpu=4).decide()) == {"good": "n0"}


def test_who_was_evicted_leaves_although_a_plugin_fails_afterwards(monkeypatch):
    def boom(plugin, pod_class, room):
        raise RuntimeError("boom")

    world = cluster(1, cpu=4).pod("low", cpu=4, on="n0").run()
    monkeypatch.setattr(NodeResourcesFit, "refusals", boom)
    assert evicted(world.pod("high", cpu=4, priority=5).decide()) == ["low"]
