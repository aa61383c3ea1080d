"""Pods that do not say how they are to be spread are spread among those of their Services and their owner."""

from random import Random

import pytest
from msgspec.structs import replace

from muster.api.wire import (
    Identity,
    LabelsToHave,
    LabelsToMatch,
    OwnerReference,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from muster.base.selectors import LabelSelector, Requirement
from muster.engine.changes import BindFailed, FactGone, FactSeen, Failure, PodGone, PodSeen
from muster.engine.engine import Engine
from muster.engine.life import Cause
from muster.plugins.default_spread import BySelectors, DefaultConstraint
from muster.plugins.registry import ProfileParts, SpreadArgs, default_parts, make_profile
from tests.builders import HOSTNAME, NAMESPACE, World, evenly, evicted, node, placements, pod

ZONE = "topology.kubernetes.io/zone"
KINDS = {"services", "replicationcontrollers", "replicasets.apps", "statefulsets.apps"}


def listed(*constraints, name="muster"):
    """A profile with these constraints by default."""
    args = {"PodTopologySpread": SpreadArgs(constraints=constraints)}
    parts = tuple(replace(part, args=args.get(part.name)) for part in default_parts())
    return make_profile(ProfileParts(plugins=parts, scheduler_names=(name,)))


def zones(profile=None, **zones):
    """Nodes with their zones."""
    world = World(profile)
    return world.see(*(node(name, cpu=100, labels={HOSTNAME: name, ZONE: zone}) for name, zone in zones.items()))


def meta(name):
    return Identity(name=name, namespace=NAMESPACE, uid=f"uid-{name}")


def service(name="web", **selector):
    return Service(metadata=meta(name), spec=LabelsToHave(selector=selector or {"app": name}))


def replica_set(name="web", *, kind=ReplicaSet, **labels):
    return kind(metadata=meta(name), spec=LabelsToMatch(selector=LabelSelector(match_labels=labels or {"app": name})))


def member(name, *, of=None, app="web", **facts):
    found = pod(name, cpu=facts.pop("cpu", 1), labels={"app": app}, **facts)
    if of is None:
        return found
    version, kind = of
    owner = OwnerReference(api_version=version, kind=kind, name="web", uid="uid-web", controller=True)
    return replace(found, metadata=replace(found.metadata, owner_references=(owner,)))


def spread_of(world, name):
    """The constraints of a pod, as the engine has them."""
    ties = world.engine.cluster.pods[f"uid-{name}"].pod_class.ties
    return () if ties is None else ties.rules.spread


def about(world, name):
    """Whom a pod is spread among: the requirements on their labels."""
    found = {constraint.selection.requirements for constraint in spread_of(world, name)}
    assert len(found) < 2
    return {(one.key, one.operator, one.values) for one in next(iter(found), ())}


APP = {("app", "In", ("web",))}


def test_pods_of_a_service_are_spread_though_nobody_asks():
    """Node a is emptier, and it has one of them already."""
    world = zones(a="x", b="y").see(member("old", on="a", cpu=1), pod("big", cpu=20, on="b"))
    without = placements(
        zones(a="x", b="y").see(member("old", on="a"), pod("big", cpu=20, on="b"), member("p")).decide()
    )
    assert without == {"p": "a"}
    assert placements(world.see(service(), member("p")).decide()) == {"p": "b"}


@pytest.mark.parametrize(
    ("owner", "of"),
    [
        (replica_set(), ("apps/v1", "ReplicaSet")),
        (replica_set(kind=StatefulSet), ("apps/v1", "StatefulSet")),
        (
            ReplicationController(metadata=meta("web"), spec=LabelsToHave(selector={"app": "web"})),
            ("v1", "ReplicationController"),
        ),
    ],
)
def test_pods_of_an_owner_are_spread_though_nobody_asks(owner, of):
    world = zones(a="x", b="y").see(member("old", on="a"), pod("big", cpu=20, on="b"), owner)
    world.see(member("p", of=of))
    assert about(world, "p") == APP
    assert placements(world.decide()) == {"p": "b"}


def test_who_says_how_it_is_to_be_spread_is_spread_like_that():
    world = zones(a="x").see(service(), member("p", spread=[evenly("web", key=ZONE)]))
    assert [(one.topology_key, one.hard) for one in spread_of(world, "p")] == [(ZONE, True)]


@pytest.mark.parametrize(
    "found",
    [
        member("p", on="a"),
        member("p", scheduler="other"),
        member("p", app="other"),
        member("p", of=("batch/v1", "Job"), app="other"),
    ],
    ids=["it has a node", "another scheduler's", "no Service chooses it", "of an owner that does not count"],
)
def test_others_are_not_spread(found):
    assert spread_of(zones(a="x").see(service(), replica_set(), found), "p") == ()


@pytest.mark.parametrize(
    "selector",
    [None, LabelSelector(), LabelSelector(match_expressions=(Requirement("app", "Perhaps"),))],
    ids=["none", "empty", "unreadable"],
)
def test_an_owner_whose_selector_says_nothing_says_nothing(selector):
    owner = ReplicaSet(metadata=meta("web"), spec=LabelsToMatch(selector=selector))
    world = zones(a="x").see(owner, member("p", of=("apps/v1", "ReplicaSet")))
    assert spread_of(world, "p") == ()
    assert about(world.see(service()), "p") == APP


def test_selectors_of_services_and_owner_count_together():
    owner = replica_set(**{"pod-template-hash": "1"})
    found = member("p", of=("apps/v1", "ReplicaSet"))
    found = replace(found, metadata=replace(found.metadata, labels={"app": "web", "side": "left"}))
    world = zones(a="x").see(service(), service("left", side="left"), service("right", side="right"), owner, found)
    assert about(world, "p") == APP | {("side", "In", ("left",)), ("pod-template-hash", "In", ("1",))}


def test_a_replication_controller_has_the_last_word_on_a_label():
    """As upstream has it, who replaces the one by the other instead of asking for both."""
    owner = ReplicationController(metadata=meta("web"), spec=LabelsToHave(selector={"app": "other"}))
    world = zones(a="x").see(service(), owner, member("p", of=("v1", "ReplicationController")))
    assert about(world, "p") == {("app", "In", ("other",))}


# --- what changes while pods wait ---


def hard(key=ZONE):
    return DefaultConstraint(topology_key=key, max_skew=1, hard=True)


def test_who_waits_is_asked_about_when_a_service_comes_changes_or_goes():
    world = zones(a="x").see(member("p", cpu=200), member("q", cpu=200, app="db"))
    world.decide()
    assert about(world.see(service()), "p") == APP
    assert about(world.see(service("web", app="db")), "p") == set()
    assert about(world, "q") == {("app", "In", ("db",))}
    assert about(world.apply(FactGone("services", f"{NAMESPACE}/web")), "q") == set()


def test_who_waits_is_asked_about_when_its_owner_comes_changes_or_goes():
    world = zones(a="x").see(member("p", cpu=200, of=("apps/v1", "ReplicaSet")))
    world.decide()
    assert about(world.see(replica_set()), "p") == APP
    assert about(world.see(replica_set(**{"tier": "1"})), "p") == {("tier", "In", ("1",))}
    assert about(world.apply(FactGone("replicasets.apps", f"{NAMESPACE}/web")), "p") == set()


def test_who_waits_is_asked_about_when_its_labels_change():
    world = zones(a="x").see(service(), member("p", cpu=200, app="other"))
    world.decide()
    assert about(world.see(member("p", cpu=200)), "p") == APP


def test_a_service_that_goes_lets_somebody_go_who_was_kept_off_for_it():
    """And what woke it is known."""
    world = zones(listed(hard()), a="x", b="y").see(service(), member("old", on="a"), pod("big", cpu=100, on="b"))
    assert placements(world.see(member("p")).decide()) == {}
    assert placements(world.apply(FactGone("services", f"{NAMESPACE}/web")).decide()) == {"p": "a"}
    assert world.engine.audit.story(f"{NAMESPACE}/p")[-1].cause is Cause.MEMBER_CHANGED


def test_a_service_that_comes_keeps_somebody_off_who_has_no_node():
    world = zones(listed(hard()), a="x", b="y").see(member("old", on="a"), pod("big", cpu=100, on="b"))
    world.see(member("p")).see(service())
    assert placements(world.decide()) == {}


def test_who_comes_back_from_a_bind_that_failed_is_spread_as_is_right_then():
    world = zones(a="x").see(member("p"))
    assert placements(world.decide()) == {"p": "a"}
    world.see(service()).apply(BindFailed("uid-p", "a", Failure.REJECTED))
    world.decide()
    assert about(world, "p") == APP


def test_whoever_was_bound_keeps_what_it_was_bound_with():
    """Else its room would be given back for a moment, for all who wait."""
    world = zones(a="x").see(service(), member("p"))
    world.decide()
    before = world.engine.cluster.pods["uid-p"].pod_class
    world.see(member("p", on="a"))
    assert world.engine.cluster.pods["uid-p"].pod_class is before
    world.apply(FactGone("services", f"{NAMESPACE}/web")).see(member("p", on="a", phase="Running"))
    assert world.engine.cluster.pods["uid-p"].pod_class is before


@pytest.mark.parametrize("again", [False, True])
def test_room_that_is_reserved_is_kept_when_a_service_makes_a_wish(again):
    """Others were evicted for it."""
    world = zones(a="x").see(pod("low", cpu=100, on="a", phase="Running"))
    urgent = member("p", priority=10)
    assert evicted(world.see(urgent).decide()) == ["low"]
    world.see(pod("low", cpu=100, on="a", phase="Running", leaving=30.0))
    world.apply(FactSeen(service()), *([PodSeen(urgent)] if again else []))
    assert about(world, "p") == APP
    world.decide()
    assert world.engine.cluster.pods["uid-p"].reserved == "a"
    assert placements(world.pod_gone("low").decide()) == {"p": "a"}


def test_room_that_is_reserved_is_given_up_when_a_service_keeps_the_pod_off():
    world = zones(listed(hard()), a="x", b="y").see(pod("low", cpu=100, on="a", phase="Running"))
    world.see(member("old", on="b", priority=10), pod("other", cpu=99, on="b", priority=10))
    assert evicted(world.see(member("p", priority=10)).decide()) == ["low"]
    world.see(pod("low", cpu=100, on="a", phase="Running", leaving=30.0))
    assert world.engine.cluster.pods["uid-p"].reserved == "a"
    world.see(service())
    assert world.engine.cluster.pods["uid-p"].reserved == ""


def test_whoever_is_there_counts_though_nobody_read_its_labels_when_it_came():
    world = zones(a="x", b="y").see(member("old", on="a"), pod("big", cpu=20, on="b"))
    world.decide()
    assert placements(world.see(member("p")).see(service()).decide()) == {"p": "b"}


def test_where_pods_are_not_spread_by_default_nothing_is_read():
    assert not KINDS & {kind.name for kind in listed().may_read}
    assert spread_of(zones(listed(), a="x").see(service(), member("p")), "p") == ()


def test_constraints_that_may_keep_pods_off_must_be_known():
    assert {kind.name for kind in listed(hard()).reads} > KINDS
    soft = DefaultConstraint(topology_key=ZONE, max_skew=1)
    assert {kind.name for kind in listed(soft).may_read} > KINDS


def test_each_profile_has_its_own():
    world = World()
    world.engine = Engine(listed(hard()), listed(hard(HOSTNAME), name="other"), listed(name="none"))
    names = ("muster", "other", "none", "somebody")
    world.see(*(member(name, scheduler=name) for name in names)).see(service())
    found = {name: [constraint.topology_key for constraint in spread_of(world, name)] for name in names}
    assert found == {"muster": [ZONE], "other": [HOSTNAME], "none": [], "somebody": []}
    world.apply(FactGone("services", f"{NAMESPACE}/web"))
    assert [spread_of(world, name) for name in names] == [()] * 4
    assert world.engine.profiles.reads[1:] == listed(hard()).reads[1:]


def test_a_plugin_that_fails_keeps_nobody_waiting_and_is_asked_again(monkeypatch):
    asked, of = [], BySelectors.of

    def failing(self, *args):
        asked.append(args)
        if len(asked) <= 3:
            raise ValueError("a bug")
        return of(self, *args)

    monkeypatch.setattr(BySelectors, "of", failing)
    world = zones(a="x").see(service(), member("p", cpu=200), member("q", app="other"))
    assert placements(world.decide()) == {"q": "a"}
    assert [trouble.unit for trouble in world.engine.troubles.told] == [f"{NAMESPACE}/{name}" for name in "pqp"]
    assert about(world.apply(), "p") == APP
    world.decide()
    assert world.engine.troubles.counts.total() == 3


def test_a_plugin_that_fails_to_listen_is_told_of(monkeypatch):
    monkeypatch.setattr(BySelectors, "_service_changed", lambda *_: 1 / 0)
    world = zones(a="x").see(service(), member("p"))
    assert placements(world.decide()) == {"p": "a"}
    assert [trouble.unit for trouble in world.engine.troubles.told] == [f"{NAMESPACE}/web"]


def draw_fact(rng):
    name = rng.choice("xyz")
    labels = {key: rng.choice("12") for key in rng.sample("abc", rng.randint(0, 2))}
    match rng.randrange(4):
        case 0 | 1:
            return service(name, **labels) if labels else Service(metadata=meta(name))
        case 2:
            return replica_set(name, **labels) if labels else ReplicaSet(metadata=meta(name))
    return ReplicationController(metadata=meta(name), spec=LabelsToHave(selector=labels))


def draw_pod(rng, name):
    found = pod(name, cpu=1, labels={key: rng.choice("12") for key in "abc" if rng.random() < 0.7})
    kind = rng.choice((("apps/v1", "ReplicaSet"), ("v1", "ReplicationController"), None))
    if kind is None:
        return found
    owner = OwnerReference(api_version=kind[0], kind=kind[1], name=rng.choice("xyz"), controller=True)
    return replace(found, metadata=replace(found.metadata, owner_references=(owner,)))


@pytest.mark.parametrize("seed", range(40))
def test_it_does_not_matter_who_came_first(seed):
    rng, world = Random(seed), World()
    facts, pods = {}, {}
    for _ in range(60):
        if rng.random() < 0.5:
            fact = draw_fact(rng)
            change, key = FactSeen(fact), (type(fact), fact.metadata.name)
            if rng.random() < 0.3:
                kind = {Service: "services", ReplicaSet: "replicasets.apps"}.get(type(fact), "replicationcontrollers")
                change, fact = FactGone(kind, f"{NAMESPACE}/{fact.metadata.name}"), None
            facts[key] = fact
        else:
            found = draw_pod(rng, f"p{rng.randrange(8)}")
            gone = rng.random() < 0.2
            change = PodGone(found.metadata.uid) if gone else PodSeen(found)
            pods[found.metadata.name] = None if gone else found
        world.apply(change)
    fresh = World().see(*filter(None, facts.values()), *filter(None, pods.values()))
    there = [name for name, found in pods.items() if found is not None]
    assert {name: about(world, name) for name in there} == {name: about(fresh, name) for name in there}
