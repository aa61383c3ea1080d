"""DefaultPreemption: who may be evicted for whom, and who is spared first."""

import pytest

from muster.cluster.victims import Victim
from muster.framework.profile import PreemptionSettings
from muster.plugins.default_preemption import DefaultPreemption
from muster.plugins.registry import PLUGINS, Part, ProfileParts, default_parts, from_journal, make_profile, to_journal

HOUR = 3600.0


def victim(*, priority=1, pods=1, in_gang=False, started=HOUR):
    gang = "team/g" if in_gang else ""
    return Victim(key="team/v", pods=[None] * pods, priority=priority, gang=gang, started=started)


@pytest.mark.parametrize(("priority", "may"), [(2, True), (1, False), (0, False)])
def test_only_a_lower_priority_may_be_evicted(priority, may):
    assert DefaultPreemption().may_evict(victim(priority=1), priority=priority) is may


MORE_IMPORTANT = [
    ("higher priority", victim(priority=2), victim(priority=1, in_gang=True, pods=9, started=0.0)),
    ("a gang", victim(in_gang=True), victim(started=0.0)),
    ("more pods", victim(in_gang=True, pods=3), victim(in_gang=True, pods=2, started=0.0)),
    ("started earlier", victim(started=1 * HOUR), victim(started=2 * HOUR)),
    ("started at all", victim(started=9 * HOUR), victim(started=float("inf"))),
]


@pytest.mark.parametrize(("more", "less"), [row[1:] for row in MORE_IMPORTANT], ids=[row[0] for row in MORE_IMPORTANT])
def test_the_more_important_victim_is_spared_first(more, less):
    importance = DefaultPreemption().importance
    assert importance(more) > importance(less)


def test_a_pod_of_a_gang_that_goes_pod_by_pod_ranks_as_a_gang_does():
    importance = DefaultPreemption().importance
    assert importance(victim(in_gang=True, pods=1)) > importance(victim(in_gang=False, pods=1))


# --- in a profile ---------------------------------------------------------------------------------


def test_it_is_one_of_the_default_plugins_at_postfilter():
    assert "DefaultPreemption" in [part.name for part in default_parts()]
    assert PLUGINS["DefaultPreemption"].points == {"postFilter"}


def test_a_profile_asks_it_who_may_go():
    assert [rule.name for rule in make_profile(ProfileParts()).victims] == ["DefaultPreemption"]


def test_a_profile_without_it_asks_nobody():
    parts = tuple(part for part in default_parts() if part.name != "DefaultPreemption")
    assert make_profile(ProfileParts(plugins=parts)).victims == []


def test_it_does_not_score():
    assert [part for part in default_parts() if part.name == "DefaultPreemption"] == [Part(name="DefaultPreemption")]


def test_a_journal_keeps_how_units_preempt():
    settings = PreemptionSettings(gangs=False, rounds=7, patience_seconds=5.0)
    assert from_journal(to_journal(ProfileParts(preemption=settings)))[0].preemption == settings
