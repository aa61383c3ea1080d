"""What plugins by users can do at each point, and what becomes of their mistakes."""

import numpy as np
import pytest

from muster.engine.changes import BindFailed, Failure, PodGone
from muster.engine.decisions import GangCondition, PodCondition
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
    assert "plugin Licences did not reserve" in word.message
    assert "no licence is left" in word.message
    assert len(placements(world.gang("small", members=2, cpu=1).decide())) == 2


def test_what_was_reserved_is_given_back_when_a_bind_fails_or_the_pod_goes():
    world = world_with(Licences).pod("a", cpu=1).pod("b", cpu=1)
    where = placements(world.decide())
    assert Licences.last.taken == set(where.items())
    world.engine.apply([BindFailed("uid-a", where["a"], Failure.REJECTED, "no"), PodGone("uid-b")])
    world.decide()
    assert {name for name, _ in Licences.last.taken} <= {"a"}
    assert placements(world.pod("c", cpu=1).decide(after=30.0))


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


class ReserveRaises(_Bad):
    def reserve(self, pod, node):
        if pod.trait:
            raise RuntimeError("books are closed")


class GateRaises(_Bad):
    def pre_enqueue(self, pod):
        if pod.trait:
            raise RuntimeError("no key")


MISTAKES = {
    FilterRaises: "plugin FilterRaises failed in filter: KeyError: 'zone' (test_what_plugins_do.py:",
    FilterGivesFalse: "plugin FilterGivesFalse failed in filter: gave False, which is not a reason or None",
    FilterOfTheWrongLength: "plugin FilterOfTheWrongLength failed in filter_nodes: gave ('too short', array([False]))",
    ScoreTooHigh: "plugin ScoreTooHigh failed in score: gave 101, which is not a whole number from 0 to 100",
    ScoreIsNoNumber: "plugin ScoreIsNoNumber failed in score_nodes: gave array([",
    LooksAtPodsUnasked: "plugin LooksAtPodsUnasked failed in filter: RuntimeError: which pods are where",
    ReadsWrongly: "plugin ReadsWrongly failed in pre_filter: KeyError: 'app' (test_what_plugins_do.py:",
    GivesAList: "plugin GivesAList failed in pre_filter: gave ['x'], which is no text, number or tuple of such",
    ReserveRaises: "plugin ReserveRaises failed in reserve: RuntimeError: books are closed",
    GateRaises: "plugin GateRaises failed in pre_enqueue: RuntimeError: no key",
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
    assert set(placements(decisions)) == {"b", "g-0", "g-1"}
    assert said(decisions)["a"].startswith(MISTAKES[kind.__mro__[1]])


@pytest.mark.parametrize("watches", [False, True], ids=["by node", "by pods"])
@pytest.mark.parametrize("kind", MISTAKES, ids=lambda kind: kind.__name__)
def test_a_running_pod_with_which_a_plugin_fails_keeps_its_room(kind, watches):
    kind = type(kind.__name__, (kind,), {"watches_pods": watches})
    world = world_with(kind, nodes=1, cpu=4)
    world.see(pod("old", cpu=3, on="n0", phase="Running", labels={"bad": "yes"}))
    assert placements(world.pod("b", cpu=1).pod("c", cpu=1).decide()) == {"b": "n0"}
