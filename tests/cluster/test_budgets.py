"""Disruption budgets: who may still be disrupted, counted as pods are taken one after another."""

from msgspec.structs import replace

from muster.cluster.budgets import Budgets, Ruling
from muster.cluster.cluster import Cluster
from muster.cluster.pods import PodState, Stage
from tests.builders import budget, pod

DB = {"app": "db"}


def running(name, *, labels=None, namespace="team"):
    return PodState(
        uid=f"uid-{name}",
        key=f"{namespace}/{name}",
        created=0.0,
        priority=0,
        pod_class=Cluster(states={}).classes.of(pod(name)),
        gang=None,
        subset="",
        ours=True,
        gates=(),
        gated_by=None,
        leaving=False,
        stage=Stage.BOUND,
        node="n0",
        labels=DB if labels is None else labels,
    )


def account(*budgets):
    known = Budgets()
    for found in budgets:
        known.put(found)
    return known.account()


def test_a_budget_allows_so_many_and_no_more():
    found = account(budget("db", DB, allowed=2))
    assert [found.disrupts([running(name)]) for name in "abc"] == [False, False, True]


def test_a_budget_that_allows_none_forbids_the_first():
    assert account(budget("db", DB, allowed=0)).disrupts([running("a")])


def test_a_budget_that_is_used_up_is_told_from_one_that_allows_none():
    found = account(budget("db", DB, allowed=1), budget("web", {"app": "web"}, allowed=0))
    db = [found.disrupts([running(name)]) for name in "ab"]
    assert db == [Ruling.ALLOWED, Ruling.OVERDRAWN]
    assert found.disrupts([running("c", labels={"app": "web"})]) is Ruling.FORBIDDEN


def test_the_worst_of_several_rulings_counts():
    found = account(budget("all", {}, allowed=1), budget("db", DB, allowed=0))
    assert found.disrupts([running("a", labels={}), running("b"), running("c", labels={})]) is Ruling.FORBIDDEN


def test_pods_that_go_together_are_counted_together():
    assert account(budget("db", DB, allowed=1)).disrupts([running("a"), running("b")])


def test_each_account_starts_afresh():
    budgets = Budgets()
    budgets.put(budget("db", DB, allowed=1))
    budgets.account().disrupts([running("a")])
    assert not budgets.account().disrupts([running("b")])


def test_a_budget_is_about_the_pods_that_it_selects():
    assert not account(budget("db", DB, allowed=0)).disrupts([running("a", labels={"app": "web"})])


def test_a_budget_is_about_the_pods_of_its_namespace():
    assert not account(budget("db", DB, allowed=0)).disrupts([running("a", namespace="other")])


def test_a_pod_that_was_counted_already_costs_nothing():
    found = account(budget("db", DB, allowed=0, disrupted=["a"]))
    assert not found.disrupts([running("a")])
    assert found.disrupts([running("b")])


def test_of_several_budgets_each_must_allow_it():
    generous, strict = budget("all", {}, allowed=9), budget("db", DB, allowed=0)
    assert account(generous, strict).disrupts([running("a")])
    assert not account(generous, strict).disrupts([running("a", labels={"app": "web"})])


def test_an_empty_selector_selects_every_pod_of_the_namespace():
    assert account(budget("all", {}, allowed=0)).disrupts([running("a")])


def test_no_selector_selects_nobody():
    found = budget("none", {}, allowed=0)
    assert not account(replace(found, spec=replace(found.spec, selector=None))).disrupts([running("a")])


def test_a_budget_that_changed_counts_as_it_is_now():
    budgets = Budgets()
    budgets.put(budget("db", DB, allowed=1))
    budgets.put(budget("db", DB, allowed=0))
    assert budgets.account().disrupts([running("a")])


def test_a_budget_that_is_gone_forbids_nothing():
    budgets = Budgets()
    budgets.put(budget("db", DB, allowed=0))
    budgets.remove("team/db")
    assert not budgets.account().disrupts([running("a")])
    assert not budgets


def test_a_budget_that_was_never_there_can_go():
    Budgets().remove("team/db")
