"""Services that choose a pod are found by an index, and are those that asking all of them finds."""

from hypothesis import given
from hypothesis import strategies as st

from muster.api.wire import Identity, LabelsToHave, LabelsToMatch, ReplicaSet, Service
from muster.base.selectors import LabelSelector
from muster.cluster.facts import Facts
from muster.plugins import default_spread
from muster.plugins.default_spread import SYSTEM, BySelectors, _Selectors

LABELS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("12"), max_size=3)


def service(name, selector, namespace="team"):
    return Service(metadata=Identity(name=name, namespace=namespace), spec=LabelsToHave(selector=selector))


def chosen(spread):
    return {one for constraint in spread for one in constraint.selection.requirements}


@given(st.lists(st.tuples(st.sampled_from("vwxyz"), st.none() | LABELS), max_size=25), LABELS)
def test_they_are_those_that_asking_all_finds(steps, labels):
    facts, there = Facts(), {}
    spread = BySelectors(facts, SYSTEM)
    for name, selector in steps:
        if selector is None:
            facts.remove("services", f"team/{name}")
            there.pop(name, None)
        else:
            facts.put(service(name, selector))
            there[name] = selector
    wanted = [found for found in there.values() if found.items() <= labels.items()]
    found = chosen(spread.of("team", labels, None))
    assert {(one.key, one.values[0]) for one in found} == {item for one in wanted for item in one.items()}
    assert spread.of("other", labels, None) == ()


def test_equal_answers_are_the_same_object():
    facts = Facts()
    spread = BySelectors(facts, SYSTEM)
    facts.put(service("web", {"app": "web"}))
    one, other = (spread.of("team", {"app": "web", "index": index}, None) for index in "12")
    assert one is other


def test_services_that_come_and_go_leave_little_behind(monkeypatch):
    """A namespace may see a Service for each of its Jobs, for years."""
    monkeypatch.setattr(default_spread, "_MOST_PER_OWNER", 10)
    facts = Facts()
    spread = BySelectors(facts, SYSTEM)
    for number in range(100):
        facts.put(service(f"job-{number}", {"job": str(number)}))
        (one, *_) = chosen(spread.of("team", {"job": str(number)}, None))
        assert one.values == (str(number),)
        facts.remove("services", f"team/job-{number}")
    assert sum(map(len, spread._answers.values())) <= 10


def test_a_pod_is_asked_of_few_services_though_all_have_a_label_in_common():
    """Else each arrival would cost as much as there are Services."""
    selectors = _Selectors()
    for number in range(1000):
        selectors.add((("shard", str(number)), ("team", "a")))
    assert max(map(len, selectors._by_mark.values())) <= 2
    assert selectors.choosing({"team": "a", "shard": "7"}) == ((("shard", "7"), ("team", "a")),)


def test_nobody_is_asked_anew_for_an_owner_that_nobody_has():
    """ReplicaSets come all the time, mostly before the pods that they make."""
    facts = Facts()
    spread = BySelectors(facts, SYSTEM)
    owner = ReplicaSet(
        metadata=Identity(name="web", namespace="team"), spec=LabelsToMatch(selector=LabelSelector({"app": "web"}))
    )
    facts.put(owner)
    assert spread.news == set()
    address = ("replicasets.apps", "team/web")
    assert len(spread.of("team", {}, address)) == 2
    facts.remove(*address)
    assert spread.news == {"team"}
    assert spread.of("team", {}, address) == ()
