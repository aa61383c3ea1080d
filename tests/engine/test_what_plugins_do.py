"""What plugins by users can do at each point, and what becomes of their mistakes."""

import sys
from typing import ClassVar

import msgspec
import numpy as np
import pytest

from muster.engine.changes import BindFailed, Failure, PodGone
from muster.engine.decisions import GangCondition, PodCondition
from muster.engine.engine import WORK
from muster.framework.by_users import points, roles
from muster.framework.plugin import Plugin
from muster.framework.profile import Profile
from muster.plugins.defaults import default_plugins
from muster.plugins.priority_sort import PrioritySort
from tests.builders import World, evicted, only, placements, pod


def world_with(*kinds, nodes=2, cpu=8, without=()):
    mine = [(role, 1) for kind in kinds for role in roles(kind({}), points(kind))]
    world = World(Profile([*(one for one in default_plugins() if not isinstance(one[0], without)), *mine]))
    for number in range(nodes):
        world.node(f"n{number}", cpu=cpu, labels={"name": f"n{number}", "zone": "ab"[number % 2]})
    return world


def said(decisions):
    return {ref.pod.removeprefix("team/"): one.message for one in only(PodCondition, decisions) for ref in one.pods}


# --- each point -----------------------------------------------------------------------------------


class OnlyByName(Plugin):
    def pre_filter(self, pod):
        return pod.metadata.labels.get("to")

    def filter(self, to, node):
        return None if node.name == to else "node(s) were not the one"


def test_a_filter_refuses_nodes_and_its_reason_is_told():
    world = world_with(OnlyByName).pod("a", labels={"to": "n1"}).pod("b", labels={"to": "n9"}).pod("c")
    decisions = world.decide()
    assert placements(decisions)["a"] == "n1"
    assert set(placements(decisions)) == {"a", "c"}
    assert "2 node(s) were not the one" in said(decisions)["b"]


def test_pods_of_equal_traits_are_one_class():
    world = world_with(OnlyByName)
    world.pod("a", labels={"to": "n1", "index": "0"}).pod("b", labels={"to": "n1", "index": "1"}).pod("c")
    classes = {state.key: state.pod_class for state in world.see().engine.cluster.pods.values()}
    assert classes["team/a"] is classes["team/b"]
    assert classes["team/a"] is not classes["team/c"]


def test_who_waits_for_a_node_of_its_liking_starts_when_one_comes():
    world = world_with(OnlyByName).pod("b", labels={"to": "n9"})
    assert placements(world.decide()) == {}
    assert placements(world.node("n9").decide()) == {"b": "n9"}


class LikesTheSecond(Plugin):
    def score(self, trait, node, prepared):
        return 100 if node.name == "n1" else 0


def test_a_score_is_added_to_the_others():
    assert placements(world_with(LikesTheSecond).pod("a", cpu=1).decide()) == {"a": "n1"}


class LikesTheNewest(Plugin):
    """Compares nodes with each other."""

    def pre_score(self, trait, nodes):
        return max(int(node.labels["generation"]) for node in nodes)

    def score(self, trait, node, newest):
        return 100 * int(node.labels["generation"]) // newest


def test_who_compares_nodes_sees_all_that_could_take_the_pod():
    world = world_with(LikesTheNewest, nodes=0)
    world.node("n0", cpu=1, labels={"generation": "8"}).node("n1", cpu=8, labels={"generation": "2"})
    world.node("n2", cpu=64, labels={"generation": "1"})
    assert placements(world.pod("full", cpu=1).decide()) == {"full": "n0"}
    # of the two that are left one is twice as new, which is more than room is worth
    assert placements(world.pod("a", cpu=1).decide()) == {"a": "n1"}
    # a node that comes later is compared with all, not with itself
    world.node("n3", cpu=8, labels={"generation": "1"})
    assert placements(world.pod("b", cpu=1).decide()) == {"b": "n1"}


class OfficeHours(Plugin):
    open = False

    def pre_enqueue(self, pod):
        return None if self.open or pod.priority > 5 else "the office is closed"


def test_a_gate_holds_pods_until_it_opens():
    OfficeHours.open = False
    world = world_with(OfficeHours).pod("late", cpu=1).pod("urgent", cpu=1, priority=9)
    decisions = world.decide()
    assert list(placements(decisions)) == ["urgent"]
    assert said(decisions) == {"late": "OfficeHours: the office is closed"}
    OfficeHours.open = True
    assert placements(world.decide(after=1.0)) == {}
    assert list(placements(world.decide(after=6.0))) == ["late"]


def test_a_gate_holds_a_gang_as_a_whole():
    OfficeHours.open = False
    world = world_with(OfficeHours).gang("g", members=3, cpu=1)
    assert placements(world.decide(after=3.0)) == {}
    OfficeHours.open = True
    assert len(placements(world.decide(after=6.0))) == 3


class ByName(Plugin):
    def queue_sort(self, unit):
        return int(unit.name.endswith("-last")), unit.created


def test_an_order_of_ones_own_takes_the_place_of_priorities():
    world = world_with(ByName, nodes=1, cpu=1, without=PrioritySort)
    world.pod("a-last", cpu=1, created=0.0).pod("b", cpu=1, created=9.0)
    assert list(placements(world.decide())) == ["b"]


class Crowded(Plugin):
    """Asked node by node about where pods are."""

    watches_pods = True
    seen: ClassVar = {}

    def pre_filter(self, pod):
        return pod.metadata.labels.get("app")

    def filter(self, app, node):
        here, anywhere = node.pods, node.pods_anywhere
        known = here[app], here["z"], here.get("z"), app in here, "z" in here, [] in here
        Crowded.seen[node.name] = (
            known,
            dict(here),
            dict(node.pods_in("zone")),
            list(anywhere.items()),
            anywhere.total(),
        )


def test_pods_are_counted_by_trait():
    world = world_with(Crowded, nodes=3)
    for number, (app, on) in enumerate([("x", "n0"), ("x", "n2"), ("y", "n1"), ("y", "n1")]):
        world.see(pod(f"old{number}", cpu=1, on=on, phase="Running", labels={"app": app}))
    world.pod("a", cpu=1, labels={"app": "x"}).decide()
    known, here, zone, anywhere, total = Crowded.seen["n0"]
    assert known == (1, 0, 0, True, False, False)
    assert (here, zone, anywhere, total) == ({"x": 1}, {"x": 2}, [("x", 2), ("y", 2)], 4)


@pytest.mark.parametrize("watches", [False, True], ids=["by node", "by pods"])
def test_who_is_asked_node_by_node_takes_work_that_others_wait_for(watches):
    kind = type("Slow", (OnlyByName,), {"watches_pods": watches, "filter": lambda self, to, node: None})
    world, quick = world_with(kind, nodes=300), world_with(nodes=300)
    for number in range(60):
        for one in (world, quick):
            one.pod(f"p{number}", cpu="10m", labels={"to": str(number)})
    assert len(placements(quick.decide(budget=WORK))) == 60
    in_turns = [len(placements(world.decide(budget=WORK))) for _ in range(20)]
    assert sum(in_turns) == 60
    assert max(in_turns) <= 40


class Precious(Plugin):
    def pre_filter(self, pod):
        return "precious" if "precious" in pod.metadata.labels else None

    def may_evict(self, victim, *, priority):
        return all(pod.trait != "precious" for pod in victim.pods)


def test_who_may_be_evicted_is_asked():
    world = world_with(Precious, nodes=2, cpu=1)
    world.see(pod("x", cpu=1, on="n0", phase="Running", labels={"precious": "yes"}, priority=0))
    world.see(pod("y", cpu=1, on="n1", phase="Running", priority=3)).pod("new", cpu=1, priority=9)
    assert evicted(world.decide()) == ["y"]


class SparesByNumpy(Precious):
    def may_evict(self, victim, *, priority):
        return np.bool_(super().may_evict(victim, priority=priority))


def test_a_truth_of_numpy_is_one():
    world = world_with(SparesByNumpy, nodes=1, cpu=1)
    world.see(pod("x", cpu=1, on="n0", phase="Running", labels={"precious": "yes"}, priority=0))
    assert evicted(world.pod("new", cpu=1, priority=9).decide()) == []


class Licences(Plugin):
    """Two in all, counted outside."""

    def __init__(self, args):
        super().__init__(args)
        self.taken = set()
        Licences.last = self

    def reserve(self, pod, node):
        if len(self.taken) == 2:
            return "no licence is left"
        self.taken.add((pod.name, node))
        return None

    def unreserve(self, pod, node):
        self.taken.discard((pod.name, node))


def test_a_gang_of_which_one_member_cannot_be_reserved_is_not_bound_at_all():
    world = world_with(Licences).gang("g", members=3, cpu=1)
    decisions = world.decide()
    assert placements(decisions) == {}
    assert Licences.last.taken == set()
    (word,) = only(GangCondition, decisions)
    assert word.reason == "Unschedulable"
    assert "plugin Licences did not reserve" in word.message
    assert "no licence is left" in word.message
    assert world.engine.troubles.counts == {}
    assert (world.engine.tally.gangs_refused, world.engine.tally.pods_refused) == (1, 3)
    assert len(placements(world.gang("small", members=2, cpu=1).decide())) == 2


def test_what_was_reserved_is_given_back_when_a_bind_fails_or_the_pod_goes():
    world = world_with(Licences).pod("a", cpu=1).pod("b", cpu=1)
    where = placements(world.decide())
    assert Licences.last.taken == set(where.items())
    world.engine.apply([BindFailed("uid-a", where["a"], Failure.REJECTED, "no"), PodGone("uid-b")])
    world.decide()
    assert {name for name, _ in Licences.last.taken} <= {"a"}
    assert placements(world.pod("c", cpu=1).decide(after=30.0))


class Quotas(Plugin):
    """Keeps books by team; pods of some teams cannot be read."""

    def __init__(self, args):
        super().__init__(args)
        self.books = []
        Quotas.last = self

    def pre_filter(self, pod):
        return {"a": "of a", "b": "of b"}[pod.metadata.labels["team"]]

    def reserve(self, pod, node):
        self.books.append(("+", pod.name, pod.trait, node))

    def unreserve(self, pod, node):
        self.books.append(("-", pod.name, pod.trait, node))


@pytest.mark.parametrize("team", ["b", "of nobody"])
def test_what_is_given_back_is_what_was_reserved_though_the_pod_has_changed(team):
    world = world_with(Quotas, nodes=1).pod("x", cpu=1, labels={"team": "a"})
    world.decide()
    world.see(pod("x", cpu=1, labels={"team": team})).pod_gone("x").decide()
    assert Quotas.last.books == [("+", "x", "of a", "n0"), ("-", "x", "of a", "n0")]


def test_who_must_leave_its_node_gives_it_back_before_another_is_reserved_for_it():
    world = world_with(Quotas, nodes=1).pod("x", cpu=1, labels={"team": "a"})
    world.decide()
    world.bind_failed("x", Failure.TRANSIENT).decide()
    world.node("n1", cpu=8).node_gone("n0").decide()
    world.decide(after=60)
    assert [(sign, node) for sign, _, _, node in Quotas.last.books] == [("+", "n0"), ("-", "n0"), ("+", "n1")]


def test_who_makes_way_before_it_is_bound_gives_back_before_another_reserves():
    world = world_with(Quotas, nodes=1).pod("low", cpu=8, labels={"team": "a"})
    world.decide()
    world.bind_failed("low", Failure.DENIED).decide()
    assert placements(world.pod("high", cpu=8, labels={"team": "b"}, priority=9).decide()) == {"high": "n0"}
    assert [(sign, name) for sign, name, _, _ in Quotas.last.books] == [("+", "low"), ("-", "low"), ("+", "high")]


def test_of_pods_that_are_bound_nothing_is_kept():
    world = world_with(Quotas).pod("a", cpu=1, labels={"team": "a"}).pod("b", cpu=1, labels={"team": "b"})
    where = placements(world.decide())
    world.bound("a").see(pod("b", cpu=1, labels={"team": "b"}, on=where["b"])).decide()
    (reserver,) = world.engine.profiles.first.reservers
    assert reserver._given == {}


# --- mistakes -------------------------------------------------------------------------------------


class _Bad(Plugin):
    def pre_filter(self, pod):
        return pod.metadata.labels.get("bad")


class FilterRaises(_Bad):
    def filter(self, trait, node):
        return {}["zone"]


class FilterGivesFalse(_Bad):
    def filter(self, trait, node):
        return False


class FilterOfTheWrongLength(_Bad):
    def filter_nodes(self, trait, nodes):
        return [("too short", np.zeros(1, np.bool_))]


class ScoreTooHigh(_Bad):
    def score(self, trait, node, prepared):
        return 101


class ScoreIsNoNumber(_Bad):
    def score_nodes(self, trait, nodes, takes):
        return np.full(len(nodes), np.nan)


class LooksAtPodsUnasked(_Bad):
    def filter(self, trait, node):
        return "full" if node.pods else None


class ReadsWrongly(Plugin):
    def pre_filter(self, pod):
        return pod.metadata.labels["app"] if "bad" in pod.metadata.labels else None

    def filter(self, trait, node):
        return None


class GivesAList(Plugin):
    def pre_filter(self, pod):
        return ["x"] if "bad" in pod.metadata.labels else None

    def filter(self, trait, node):
        return None


class FilterRaisesLate(_Bad):
    def filter_nodes(self, trait, nodes):
        yield "node(s) were bad", np.zeros(len(nodes), np.bool_)
        raise KeyError("late")


class FilterGivesNothing(_Bad):
    def filter_nodes(self, trait, nodes):
        return None


class FilterGivesOnePair(_Bad):
    def filter_nodes(self, trait, nodes):
        return "node(s) were bad", np.zeros(len(nodes), np.bool_)


class FilterLeaves(_Bad):
    def filter(self, trait, node):
        sys.exit(3)


class FilterOfTooFew(_Bad):
    def filter(self, trait):
        return None


class ScoreWritesWhereItReads(_Bad):
    def score_nodes(self, trait, nodes, takes):
        takes[:] = False
        return np.zeros(len(nodes), np.int64)


class ScoreIsNegative(_Bad):
    def score_nodes(self, trait, nodes, takes):
        return np.full(len(nodes), -1)


class GateSaysNothing(_Bad):
    def pre_enqueue(self, pod):
        return "" if pod.trait else None


class _GivesTrait(Plugin):
    def pre_filter(self, pod):
        return self.trait if "bad" in pod.metadata.labels else None

    def filter(self, trait, node):
        return None


class GivesTextOfNumpy(_GivesTrait):
    trait = np.str_("x")


class GivesNoNumber(_GivesTrait):
    trait = ("x", float("nan"))


class GivesTooBigANumber(_GivesTrait):
    trait = 10**30


class GivesHalfACharacter(_GivesTrait):
    trait = "\ud800"


class _Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class _Unseen:
    def __repr__(self):
        raise _Unspeakable


class GivesWhatCannotBeShown(_GivesTrait):
    trait = _Unseen()


class ReadingRaisesWhatCannotBeSaid(_GivesTrait):
    def pre_filter(self, pod):
        if "bad" in pod.metadata.labels:
            raise _Unspeakable


class ReadingRaisesHalfACharacter(_GivesTrait):
    def pre_filter(self, pod):
        if "bad" in pod.metadata.labels:
            raise FileNotFoundError("/etc/\udcff")


class FilterRaisesHalfACharacter(_Bad):
    def filter(self, trait, node):
        if trait:
            raise FileNotFoundError("/etc/\udcff")


class ScoreCannotBeShown(_Bad):
    def score(self, trait, node, prepared):
        return _Unseen() if trait else 0


class ReserveRaises(_Bad):
    def reserve(self, pod, node):
        if pod.trait:
            raise RuntimeError("books are closed")


class GateRaises(_Bad):
    def pre_enqueue(self, pod):
        if pod.trait:
            raise RuntimeError("no key")


MISTAKES = {
    FilterRaises: "filter: KeyError: 'zone' (test_what_plugins_do.py:",
    FilterGivesFalse: "filter: gave False, which is not a reason or None",
    FilterOfTheWrongLength: "filter_nodes: gave an array of 1 bool, which is not",
    FilterRaisesLate: "filter_nodes: KeyError: 'late' (test_what_plugins_do.py:",
    FilterGivesNothing: "filter_nodes: gave None, which is not a list of reasons",
    FilterGivesOnePair: "filter_nodes: gave 'node(s) were bad', which is not a list",
    FilterLeaves: "filter: SystemExit: 3 (test_what_plugins_do.py:",
    FilterOfTooFew: "filter: TypeError: FilterOfTooFew.filter() takes 2 positional",
    ScoreWritesWhereItReads: "score_nodes: ValueError: assignment destination is",
    ScoreIsNegative: "score_nodes: gave -1, which is not a whole number from 0 to 100",
    GateSaysNothing: "pre_enqueue: gave '', which is not a reason or None",
    GivesTextOfNumpy: "pre_filter: gave np.str_('x'), which is no text, number or tuple",
    GivesNoNumber: "pre_filter: gave ('x', nan), which is no text, number or tuple of such",
    GivesTooBigANumber: "pre_filter: gave a int that cannot be kept: ",
    GivesHalfACharacter: "pre_filter: gave a str that cannot be kept: ",
    ScoreTooHigh: "score: gave 101, which is not a whole number from 0 to 100",
    ScoreIsNoNumber: "score_nodes: gave an array of 64 float64, which is not an array",
    LooksAtPodsUnasked: "filter: RuntimeError: which pods are where",
    ReadsWrongly: "pre_filter: KeyError: 'app' (test_what_plugins_do.py:",
    GivesAList: "pre_filter: gave ['x'], which is no text, number or tuple of such",
    GivesWhatCannotBeShown: "pre_filter: gave a _Unseen that cannot be shown, which is no text",
    ReadingRaisesWhatCannotBeSaid: "pre_filter: _Unspeakable: a _Unspeakable that cannot be shown (",
    ReadingRaisesHalfACharacter: "pre_filter: FileNotFoundError: /etc/? (test_what_plugins_do.py:",
    FilterRaisesHalfACharacter: "filter: FileNotFoundError: /etc/? (test_what_plugins_do.py:",
    ScoreCannotBeShown: "score: gave a _Unseen that cannot be shown, which is not a whole number",
    ReserveRaises: "reserve: RuntimeError: books are closed",
    GateRaises: "pre_enqueue: RuntimeError: no key",
}


@pytest.mark.parametrize("watches", [False, True], ids=["by node", "by pods"])
@pytest.mark.parametrize("kind", MISTAKES, ids=lambda kind: kind.__name__)
def test_a_mistake_is_told_with_the_plugins_name_and_costs_others_nothing(kind, watches):
    if kind is LooksAtPodsUnasked and watches:
        pytest.skip("whoever watches pods may look at them")
    kind = type(kind.__name__, (kind,), {"watches_pods": watches})
    world = world_with(kind).pod("a", cpu=1, labels={"bad": "yes"}, priority=9).pod("b", cpu=1)
    world.gang("g", members=2, cpu=1)
    decisions = world.decide()
    assert msgspec.json.encode(decisions)
    assert set(placements(decisions)) == {"b", "g-0", "g-1"}
    assert said(decisions)["a"].startswith(f"plugin {kind.__name__} failed in {MISTAKES[kind.__mro__[1]]}")
    (trouble,) = world.engine.troubles.told
    assert (trouble.unit, trouble.plugin, str(trouble.error)) == ("team/a", kind.__name__, said(decisions)["a"])
    assert world.engine.troubles.counts == {kind.__name__: 1}
    assert world.decide() == []
    assert world.engine.troubles.told == []


class EvictRaises(Plugin):
    def may_evict(self, victim, *, priority):
        raise KeyError(victim.name)


class EvictSaysPerhaps(Plugin):
    def may_evict(self, victim, *, priority):
        return "perhaps"


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (EvictRaises, "KeyError: 'team/x' (test_what_plugins_do.py:"),
        (EvictSaysPerhaps, "gave 'perhaps', which is not True or False"),
    ],
)
def test_a_mistake_about_victims_evicts_nobody(kind, why):
    world = world_with(kind, nodes=1, cpu=1)
    world.see(pod("x", cpu=1, on="n0", phase="Running", priority=0))
    decisions = world.pod("urgent", cpu=1, priority=9).pod("tiny", priority=0).decide()
    assert evicted(decisions) == []
    assert list(placements(decisions)) == ["tiny"]
    assert said(decisions)["urgent"].startswith(f"plugin {kind.__name__} failed in may_evict: {why}")
    assert world.engine.troubles.counts == {kind.__name__: 1}


class OrderRaises(Plugin):
    def queue_sort(self, unit):
        if "bad" in unit.name:
            raise KeyError("place")
        return unit.priority, unit.created


class OrderIsText(OrderRaises):
    def queue_sort(self, unit):
        return "first" if "bad" in unit.name else (0, 0.0)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (OrderRaises, "KeyError: 'place' (test_what_plugins_do.py:"),
        (OrderIsText, "gave 'first', which is not a whole number and a number"),
    ],
)
def test_a_mistake_about_the_queue_costs_others_nothing(kind, why):
    world = world_with(kind, without=PrioritySort).pod("bad", cpu=1).pod("good", cpu=1).gang("g", members=2, cpu=1)
    decisions = world.decide()
    assert set(placements(decisions)) == {"good", "g-0", "g-1"}
    assert said(decisions)["bad"].startswith(f"plugin {kind.__name__} failed in queue_sort: {why}")


class Fickle(Plugin):
    """Refuses each node once."""

    def __init__(self, args):
        super().__init__(args)
        self.refused = set()

    def filter(self, trait, node):
        before = node.name in self.refused
        self.refused.add(node.name)
        return None if before else "node(s) were new"


def test_who_answers_otherwise_when_asked_again_is_found_out():
    decisions = world_with(Fickle).gang("g", members=2, cpu=1).decide()
    (word,) = only(GangCondition, decisions)
    assert "none of 2 nodes may be used (a plugin refused nodes and, asked for its reasons, does not)" in word.message
    (alone,) = said(world_with(Fickle).pod("a", cpu=1).decide()).values()
    assert alone == "0/2 nodes are available: a plugin refused nodes and, asked for its reasons, does not."


class Verbose(Plugin):
    def filter(self, trait, node):
        return f"{node.name} was\n  not {'very ' * 100}good"


class VerboseNodes(Verbose):
    filter = Plugin.filter

    def filter_nodes(self, trait, nodes):
        rows = np.arange(len(nodes))
        return [(Verbose.filter(self, trait, node), rows == row) for row, node in nodes.each()]


@pytest.mark.parametrize("kind", [Verbose, VerboseNodes])
def test_reasons_are_one_line_and_few(kind):
    (message,) = said(world_with(kind, nodes=50).pod("a", cpu=1).decide()).values()
    assert "n0 was not very very" in message
    assert "node(s) were refused by Verbose" in message
    assert message.count("…") == 20
    assert "\n" not in message


class SpeaksInHalves(Plugin):
    def filter(self, trait, node):
        return "node(s) had /etc/\udcff"


def test_a_reason_can_be_written_whatever_is_in_it():
    decisions = world_with(SpeaksInHalves).pod("a").decide()
    assert msgspec.json.encode(decisions)
    assert "2 node(s) had /etc/?" in said(decisions)["a"]


class _Rack:
    """Shown by where it is in memory."""


class RaisesARack(Plugin):
    def filter(self, trait, node):
        raise ValueError([_Rack() for _ in range(3)])


class GivesARack(Plugin):
    def filter(self, trait, node):
        return _Rack()


class ReadsARack(Plugin):
    def pre_filter(self, pod):
        return _Rack()

    def filter(self, trait, node):
        return None


class StumblesOverARack(ReadsARack):
    def pre_filter(self, pod):
        raise ValueError(_Rack())


@pytest.mark.parametrize("kind", [RaisesARack, GivesARack, ReadsARack, StumblesOverARack])
def test_one_mistake_is_told_in_the_same_words_each_time(kind):
    world = world_with(kind).pod("a").pod("b")
    first = said(world.decide())
    assert "_Rack object>" in first["a"]
    assert first["a"] == first["b"]
    assert said(world.decide(after=30.0)) == {}
    assert len({state.pod_class for state in world.engine.cluster.pods.values()}) == 1


class LikesByNumpy(Plugin):
    def score(self, trait, node, prepared):
        return np.int64(100 if node.name == "n1" else 0)


def test_a_whole_number_of_numpy_is_a_score():
    assert placements(world_with(LikesByNumpy).pod("a", cpu=1).decide()) == {"a": "n1"}


@pytest.mark.parametrize("watches", [False, True], ids=["by node", "by pods"])
@pytest.mark.parametrize("kind", MISTAKES, ids=lambda kind: kind.__name__)
def test_a_running_pod_with_which_a_plugin_fails_keeps_its_room(kind, watches):
    kind = type(kind.__name__, (kind,), {"watches_pods": watches})
    world = world_with(kind, nodes=1, cpu=4)
    world.see(pod("old", cpu=3, on="n0", phase="Running", labels={"bad": "yes"}))
    assert placements(world.pod("b", cpu=1).pod("c", cpu=1).decide()) == {"b": "n0"}
