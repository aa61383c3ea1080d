"""What the objects of each dialect say of their members, from how many of them are where."""

import pytest
from msgspec.structs import replace

from muster.api.wire import read
from muster.gangs.dialects import DIALECTS
from muster.gangs.tally import NOBODY, Tally

COSCHEDULING, VOLCANO, SUBSETS = (
    next(dialect for dialect in DIALECTS if dialect.name == name) for name in ("coscheduling", "volcano", "subsets")
)


def found(dialect, *, status=None, **spec):
    return read(dialect.kind, {"metadata": {"name": "g", "namespace": "team"}, "spec": spec, "status": status or {}})


def said(dialect, tally, *, minimum=3, **status):
    return dialect.status(found(dialect, minMember=minimum, status=status), tally)


def test_a_dialect_either_counts_or_has_nothing_to_say():
    assert [dialect.name for dialect in DIALECTS if dialect.counts] == ["subsets", "coscheduling", "volcano"]
    for dialect in DIALECTS:
        if not dialect.counts:
            assert dialect.status(None, NOBODY) == {}


# --- Coscheduling: the phases that scheduler-plugins' controller arrives at ---


@pytest.mark.parametrize(
    ("tally", "phase"),
    [
        (Tally(), "Pending"),
        (Tally(total=2, bound=2, running=2), "Pending"),
        (Tally(total=3), "Scheduling"),
        (Tally(total=3, bound=3), "Scheduling"),
        (Tally(total=3, bound=3, running=2), "Scheduling"),
        (Tally(total=3, bound=3, running=3), "Running"),
        (Tally(total=4, bound=3, running=3), "Running"),
        (Tally(total=3, bound=1, running=1, succeeded=2), "Running"),
        (Tally(total=3, succeeded=2, failed=1), "Failed"),
        (Tally(total=3, bound=1, running=1, succeeded=1, failed=1), "Failed"),
        (Tally(total=3, bound=1, failed=1), "Scheduling"),
        (Tally(total=4, succeeded=3, failed=1), "Finished"),
        (Tally(total=3, succeeded=3), "Finished"),
    ],
)
@pytest.mark.parametrize("before", ["", "Pending", "Scheduling", "Running", "Unknown", "PreScheduling", "Scheduled"])
def test_the_phase_of_coscheduling_follows_from_the_pods_whatever_it_was(tally, phase, before):
    assert said(COSCHEDULING, tally, phase=before)["phase"] == phase


@pytest.mark.parametrize("phase", ["Finished", "Failed"])
def test_what_is_over_for_coscheduling_is_never_looked_at_again(phase):
    assert said(COSCHEDULING, Tally(total=3, bound=3, running=3), phase=phase) == {}


def test_coscheduling_counts_who_runs_and_who_has_ended():
    now = said(COSCHEDULING, Tally(total=6, bound=3, running=2, succeeded=1, failed=2), minimum=9)
    assert {name: now[name] for name in ("running", "succeeded", "failed")} == {
        "running": 2,
        "succeeded": 1,
        "failed": 2,
    }


def test_coscheduling_says_who_occupies_a_group_once_its_minimum_exists_and_stays_with_it():
    by_job = Tally(total=3, owners="team/job")
    assert "occupiedBy" not in said(COSCHEDULING, replace(by_job, total=2))
    assert said(COSCHEDULING, by_job)["occupiedBy"] == "team/job"
    assert said(COSCHEDULING, by_job, occupiedBy="team/other")["occupiedBy"] == "team/other"
    assert "occupiedBy" not in said(COSCHEDULING, Tally(total=3))


def test_coscheduling_says_once_since_when_pods_have_nodes():
    bound = Tally(total=3, bound=1, first_bound_at=1_800_000_000.9)
    assert said(COSCHEDULING, bound)["scheduleStartTime"] == "2027-01-15T08:00:00Z"
    assert "scheduleStartTime" not in said(COSCHEDULING, bound, scheduleStartTime="2027-01-15T07:00:00Z")
    assert "scheduleStartTime" not in said(COSCHEDULING, Tally(total=3))


def test_a_count_that_todays_definition_drops_is_tried_once():
    bound = Tally(total=3, bound=2, succeeded=1)
    assert said(COSCHEDULING, bound)["scheduled"] == 3
    assert "scheduled" not in said(COSCHEDULING, bound, phase="Pending")
    assert said(COSCHEDULING, bound, phase="Pending", scheduled=0)["scheduled"] == 3


@pytest.mark.parametrize("dialect", [COSCHEDULING, VOLCANO], ids=lambda dialect: dialect.name)
def test_a_group_that_asks_for_nobody_has_nobody_running(dialect):
    assert said(dialect, NOBODY, minimum=0)["phase"] in ("Pending", "Inqueue")


# --- Volcano ---


@pytest.mark.parametrize(
    ("tally", "phase"),
    [
        (Tally(), "Inqueue"),
        (Tally(total=3), "Inqueue"),
        (Tally(total=3, bound=2), "Inqueue"),
        (Tally(total=3, bound=2, running=1), "Unknown"),
        (Tally(total=3, bound=2, running=2, failed=1), "Unknown"),
        (Tally(total=3, bound=3), "Running"),
        (Tally(total=3, bound=3, running=3), "Running"),
        (Tally(total=3, bound=2, running=2, succeeded=1), "Running"),
        (Tally(total=3, bound=1, succeeded=1, failed=1), "Running"),
        (Tally(total=3, succeeded=2, failed=1), "Completed"),
        (Tally(total=3, failed=3), "Completed"),
        (Tally(total=4, succeeded=3), "Completed"),
    ],
)
@pytest.mark.parametrize("before", ["", "Pending", "Inqueue", "Running", "Unknown"])
def test_the_phase_of_volcano_follows_from_the_pods_and_is_never_pending(tally, phase, before):
    assert said(VOLCANO, tally, phase=before) == {
        "phase": phase,
        "running": tally.running,
        "succeeded": tally.succeeded,
        "failed": tally.failed,
    }


def test_a_volcano_group_whose_pods_were_cleaned_up_stays_completed():
    assert said(VOLCANO, NOBODY, phase="Completed", succeeded=3) == {}
    assert said(VOLCANO, Tally(total=1), phase="Completed")["phase"] == "Inqueue"


# --- subsets ---


def test_a_subset_counts_by_the_reasons_of_its_pods():
    reasons = {"CoschedulingNotMeetMinMember": 2, "Unschedulable": 1, "SchedulerError": 1}
    worker = Tally(total=9, bound=3, running=2, succeeded=1, failed=1, reasons=reasons)
    group = found(SUBSETS, subsets=[{"name": "leader", "minMember": 1}, {"name": "worker", "minMember": 8}])
    assert SUBSETS.status(group, replace(worker, subsets={"worker": worker, "odd": worker})) == {
        "subsets": [
            {"name": "leader", "total": 0, "scheduledAvailable": 0, "scheduledUnavailable": 0, "running": 0},
            {"name": "worker", "total": 7, "scheduledAvailable": 2, "scheduledUnavailable": 1, "running": 2},
        ]
    }


def test_a_group_without_subsets_counts_as_one_without_a_name():
    (only,) = SUBSETS.status(found(SUBSETS), Tally(total=1, subsets={"": Tally(total=1)}))["subsets"]
    assert (only["name"], only["total"]) == ("", 1)
