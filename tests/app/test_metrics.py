"""What Prometheus is told, from small worlds whose figures can be counted by hand."""

import math
import re
from pathlib import Path
from typing import get_args

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from muster.app.metrics import KINDS, Metrics
from muster.engine.changes import BindFailed, Bound, Failure, PodGone, PodSeen
from muster.engine.decisions import Decision, Event, Evict, GangCondition, Loss, Lost, PodRef, Release
from muster.kube.outbox import Outbox
from tests.builders import cluster, only, pod

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"


class Measured:
    """A world that is measured as the driver does it, a clock that is set by hand, and what is told of them."""

    def __init__(self, world, **given):
        self.world = world
        self.seconds = 100.0
        self.registry = CollectorRegistry()
        given = {"engine": lambda: world.engine, "profile": "muster", "host": "api:6443"} | given
        self.metrics = Metrics(self.registry, clock=lambda: self.seconds, **given)

    def decide(self, *, after=0.0, took=0.0):
        decisions = self.world.decide(after=after)
        self.seconds += after + took
        self.metrics.decided(took, decisions)
        return decisions

    def bind(self, *names, took=0.0):
        """The binds of these pods are acknowledged so long after they were sent."""
        for name in names:
            uid = f"uid-{name}"
            change = Bound(uid, self.world.engine.cluster.pods[uid].node, self.world.now)
            self.answer(change, took=took)

    def answer(self, change, *, took=0.0):
        self.seconds += took
        self.metrics.bound(change, took)
        self.world.apply(change)

    def value(self, name, /, **labels):
        """One sample; None if there is none."""
        return self.registry.get_sample_value(name, labels)

    def values(self, name):
        """All samples of a metric that are not 0, by their labels' values."""
        return {
            tuple(sample.labels.values()): sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == name and sample.value
        }


def fits(*, pods=0, **facts):
    """One node with room for two, and lone pods p0, p1, ..."""
    world = cluster(nodes=1, cpu=2)
    for number in range(pods):
        world.pod(f"p{number}", cpu=1, **facts)
    return Measured(world)


# --- requests ---------------------------------------------------------------------------------------


def test_requests_are_counted_by_code_and_method():
    seen = fits()
    for code in (201, 201, 409):
        seen.metrics.observe_request("POST", code, 0.01)
    assert seen.value("rest_client_requests_total", code="201", method="POST", host="api:6443") == 2
    assert seen.value("rest_client_requests_total", code="409", method="POST", host="api:6443") == 1
    assert seen.value("rest_client_request_duration_seconds_count", verb="POST", host="api:6443") == 3
    assert seen.value("rest_client_request_duration_seconds_sum", verb="POST", host="api:6443") == pytest.approx(0.03)


def test_a_request_without_an_answer_is_called_an_error_as_client_go_does():
    seen = fits()
    seen.metrics.observe_request("GET", 0, 30.0)
    assert seen.value("rest_client_requests_total", code="<error>", method="GET", host="api:6443") == 1


def test_a_watch_is_counted_as_a_get_and_its_length_is_no_latency():
    seen = fits()
    seen.metrics.observe_request("WATCH", 200, 420.0)
    assert seen.value("rest_client_requests_total", code="200", method="GET", host="api:6443") == 1
    assert seen.values("rest_client_request_duration_seconds_count") == {}


# --- attempts ---------------------------------------------------------------------------------------


def attempts(seen, result):
    return seen.value("scheduler_schedule_attempts_total", result=result, profile="muster")


def gang_attempts(seen, result):
    return seen.value("scheduler_podgroup_schedule_attempts_total", result=result, profile="muster")


def test_a_pod_is_scheduled_when_its_bind_is_acknowledged_and_not_before():
    seen = fits(pods=1)
    seen.decide()
    assert attempts(seen, "scheduled") == 0
    seen.bind("p0")
    assert attempts(seen, "scheduled") == 1


def test_an_attempt_lasts_from_the_first_look_at_the_pod_to_the_answer_to_its_bind():
    seen = fits(pods=2)
    seen.decide(took=0.25)
    seen.bind("p0", took=0.5)
    seen.bind("p1", took=0.5)
    labels = {"result": "scheduled", "profile": "muster"}
    assert seen.value("scheduler_scheduling_attempt_duration_seconds_sum", **labels) == 0.75 + 1.25
    assert seen.value("scheduler_scheduling_attempt_duration_seconds_count", **labels) == 2


def test_every_refusal_counts_even_one_that_people_are_not_told_again():
    seen = fits(pods=3)
    seen.decide()
    again = seen.decide(after=120.0)
    assert again == []
    assert attempts(seen, "unschedulable") == 2


def test_the_members_of_a_refused_gang_count_each_and_the_gang_once():
    seen = Measured(cluster(nodes=1, cpu=2).gang("train", members=3, cpu=1))
    seen.decide()
    assert attempts(seen, "unschedulable") == 3
    assert (gang_attempts(seen, "scheduled"), gang_attempts(seen, "unschedulable")) == (0, 1)


def test_a_placed_gang_counts_once_however_many_members_it_has():
    seen = Measured(cluster(nodes=2, cpu=2).gang("train", members=3, cpu=1))
    seen.decide()
    assert (gang_attempts(seen, "scheduled"), gang_attempts(seen, "unschedulable")) == (1, 0)
    assert seen.value("muster_placements_total") == 3


# --- binds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (BindFailed("uid-p0", "n0", Failure.TRANSIENT), "transient"),
        (BindFailed("uid-p0", "n0", Failure.REJECTED), "rejected"),
        (BindFailed("uid-p0", "n0", Failure.DENIED), "denied"),
        (BindFailed("uid-p0", "n0", Failure.POD_GONE), "pod_gone"),
        (PodGone("uid-p0"), "pod_gone"),
        (PodSeen(pod("p0", cpu=1, on="n9")), "elsewhere"),
    ],
)
def test_a_bind_that_failed_is_an_error_and_its_kind_is_told(answer, result):
    seen = fits(pods=1)
    seen.decide()
    seen.answer(answer, took=0.5)
    assert attempts(seen, "error") == 1
    assert seen.values("muster_binds_total") == {(result,): 1}
    assert seen.values("scheduler_scheduling_attempt_duration_seconds_sum") == {("error", "muster"): 0.5}


def test_a_bind_that_is_sent_again_is_an_attempt_of_its_own():
    seen = fits(pods=1)
    seen.decide()
    seen.answer(BindFailed("uid-p0", "n0", Failure.TRANSIENT), took=0.5)
    assert any(seen.decide(after=1.0) for _ in range(10))
    seen.bind("p0", took=0.25)
    assert seen.values("muster_binds_total") == {("bound",): 1, ("transient",): 1}
    assert seen.values("scheduler_scheduling_attempt_duration_seconds_sum") == {
        ("error", "muster"): 0.5,
        ("scheduled", "muster"): 0.25,
    }
    assert seen.value("muster_bind_duration_seconds_sum") == 0.75


def test_an_answer_to_what_this_process_did_not_decide_has_no_duration():
    seen = fits(pods=1)
    seen.decide()
    seen.bind("p0", took=0.5)
    seen.bind("p0", took=0.5)
    assert attempts(seen, "scheduled") == 2
    assert seen.values("scheduler_scheduling_attempt_duration_seconds_count") == {("scheduled", "muster"): 1}


# --- waits ------------------------------------------------------------------------------------------


def test_a_pod_waits_from_its_creation_to_the_answer_to_its_bind():
    seen = fits(pods=1, created=10.0)
    seen.decide(after=40.0)
    seen.bind("p0", took=2.0)
    assert seen.values("muster_pod_wait_seconds_sum") == {("pod",): 32.0}


def test_members_of_gangs_wait_apart_from_lone_pods():
    seen = Measured(cluster(nodes=2, cpu=2).gang("train", members=2, cpu=1))
    seen.decide(after=5.0)
    seen.bind("train-0", "train-1")
    assert seen.values("muster_pod_wait_seconds_sum") == {("gang",): 10.0}


def test_a_server_whose_clock_is_ahead_makes_no_wait_negative():
    seen = fits(pods=1, created=10.0)
    seen.decide(after=4.0)
    seen.bind("p0")
    assert seen.value("muster_pod_wait_seconds_sum", unit="pod") == 0
    assert seen.value("muster_pod_wait_seconds_count", unit="pod") == 1


def test_a_pod_that_is_gone_when_its_bind_is_acknowledged_has_no_wait():
    seen = fits(pods=1)
    seen.decide()
    seen.world.pod_gone("p0")
    seen.metrics.bound(Bound("uid-p0", "n0", 1.0), 0.0)
    assert seen.values("muster_pod_wait_seconds_count") == {}
    assert attempts(seen, "scheduled") == 1


def test_a_gang_waits_until_its_minimum_is_bound():
    seen = Measured(cluster(nodes=2, cpu=2).gang("train", members=3, minimum=2, cpu=1, created=10.0))
    seen.decide(after=30.0)
    seen.bind("train-0")
    seen.decide(after=5.0)
    assert seen.value("muster_gang_wait_seconds_count") == 0
    seen.bind("train-1")
    seen.decide(after=7.0)
    assert seen.value("muster_gang_wait_seconds_count") == 1
    assert seen.value("muster_gang_wait_seconds_sum") == 25.0


def test_a_gang_that_started_before_we_did_waited_only_until_then():
    world = cluster(nodes=2, cpu=2).group("train", 2, created=10.0)
    for number, at in ((0, 40.0), (1, 50.0), (2, 90.0)):
        world.pod(f"train-{number}", gang="train", cpu=1, on="n0", bound_at=at)
    seen = Measured(world)
    assert only(GangCondition, seen.decide(after=1000.0))[0].holds
    assert seen.value("muster_gang_wait_seconds_sum") == 40.0


def test_members_that_are_on_their_way_out_did_not_start_the_gang():
    world = cluster(nodes=2, cpu=2).group("train", 1, created=10.0)
    world.pod("train-0", gang="train", cpu=1, on="n0", bound_at=20.0, leaving=True)
    world.pod("train-1", gang="train", cpu=1, on="n0", bound_at=50.0)
    seen = Measured(world)
    seen.decide(after=1000.0)
    assert seen.value("muster_gang_wait_seconds_sum") == 40.0


def test_a_gang_of_which_too_few_members_say_when_they_were_bound_has_no_wait():
    world = cluster(nodes=1, cpu=2).group("train", 2)
    world.pod("train-0", gang="train", cpu=1, on="n0").pod("train-1", gang="train", cpu=1, on="n0", bound_at=5.0)
    seen = Measured(world)
    assert only(GangCondition, seen.decide(after=1000.0))[0].holds
    assert seen.value("muster_gang_wait_seconds_count") == 0


# --- decisions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", get_args(Decision))
def test_every_kind_of_decision_can_be_counted(kind):
    """One that has no name would end the scheduler."""
    assert kind in KINDS


def test_decisions_are_counted_by_kind_and_calls_by_how_long_they_took():
    seen = fits(pods=3)
    seen.decide(took=0.03)
    assert seen.values("muster_decisions_total") == {("bind",): 2, ("pod_condition",): 1, ("event",): 1}
    assert seen.value("muster_decide_duration_seconds_bucket", le="0.03") == 1
    assert seen.value("muster_decide_duration_seconds_bucket", le="0.02") == 0


def test_pods_of_a_gang_that_is_undone_are_counted():
    seen = Measured(cluster(nodes=2, cpu=2).gang("train", members=3, cpu=1))
    seen.decide()
    seen.bind("train-0", "train-1")
    seen.answer(BindFailed("uid-train-2", seen.world.where["train-2"], Failure.REJECTED))
    seen.world.node("n0", cpu=2, cordoned=True).node("n1", cpu=2, cordoned=True)
    for _ in range(10):
        seen.decide(after=100.0)
    assert seen.values("muster_released_pods_total") == {("Timeout",): 2}
    assert seen.value("muster_decisions_total", kind="release") == 1


# --- preemption -------------------------------------------------------------------------------------


def evict(unit, *names):
    refs = tuple(PodRef(f"uid-{name}", f"team/{name}") for name in names)
    return Evict(f"team/{unit}", refs, "PreemptionByScheduler", "preempting")


def test_victims_are_counted_apart_for_pods_and_for_gangs():
    seen = Measured(cluster(nodes=1, cpu=2).gang("train", members=2, cpu=9).pod("lone", cpu=9))
    seen.metrics.decided(0.0, [evict("lone", "a"), evict("train", "b", "c", "d"), evict("train", "e")])
    assert seen.value("scheduler_preemption_victims_count") == 1
    assert seen.value("scheduler_preemption_victims_sum") == 1
    assert seen.value("scheduler_workload_preemption_victims_count") == 2
    assert seen.value("scheduler_workload_preemption_victims_sum") == 4
    assert seen.value("muster_decisions_total", kind="evict") == 3


def test_every_look_for_victims_is_an_attempt_whether_any_were_found_or_not():
    seen = Measured(cluster(nodes=1, cpu=2).gang("train", members=2, cpu=9))
    tally = seen.world.engine.tally
    tally.pods_sought_victims, tally.gangs_sought_victims = 4, 3
    seen.metrics.decided(0.0, [evict("train", "a"), evict("lone", "b")])
    seen.metrics.decided(0.0, [])
    assert seen.value("scheduler_preemption_attempts_total") == 4
    assert seen.values("scheduler_workload_preemption_attempts_total") == {("Success",): 1, ("Unschedulable",): 2}


def test_a_gang_that_waits_for_its_victims_is_neither_scheduled_nor_unschedulable():
    seen = fits()
    seen.world.engine.tally.gangs_waiting = 2
    seen.metrics.decided(0.0, [])
    assert seen.values("scheduler_podgroup_schedule_attempts_total") == {("waiting_on_preemption", "muster"): 2}


def test_errors_of_the_engine_are_counted_by_the_plugin_that_made_them():
    seen = fits()
    seen.world.engine.troubles.counts.update({"": 1, "OnePerRack": 3})
    seen.metrics.decided(0.0, [])
    assert seen.values("muster_decide_errors_total") == {("",): 1, ("OnePerRack",): 3}


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        (Loss.NODE, "node_lost"),
        (Loss.FOREIGN, "foreign_bind"),
        (Loss.PREEMPTOR, "preemptor_changed"),
        (Loss.PRIORITY, "higher_priority"),
        (Loss.VICTIMS, "victims_stay"),
    ],
)
def test_evictions_in_vain_are_counted_by_what_made_them_so(why, reason):
    seen = fits()
    seen.metrics.decided(0.0, [Lost("team/train", why, "so it was")])
    assert seen.values("muster_preemptions_lost_total") == {(reason,): 1}


def test_a_gang_that_lost_members_is_below_its_minimum_until_it_has_it_again():
    seen = Measured(cluster(nodes=2, cpu=2).gang("train", members=3, cpu=1).gang("other", members=1, cpu=1))
    seen.decide()
    seen.bind("train-0", "train-1", "train-2", "other-0")
    seen.decide()
    assert seen.value("muster_gangs_below_minimum") == 0
    seen.world.pod_gone("train-1")
    seen.decide()
    seen.decide(after=10.0)
    assert seen.value("muster_gangs_below_minimum") == 1
    seen.world.members("train", 3, cpu=1)
    seen.decide()
    seen.bind("train-3")
    seen.decide()
    assert seen.value("muster_gangs_below_minimum") == 0


# --- queues -----------------------------------------------------------------------------------------


def test_lone_pods_are_in_the_queue_that_upstream_would_name():
    seen = fits(pods=3)
    seen.world.pod("gated", gates=("hold",)).pod("more", cpu=1)
    seen.decide()
    assert seen.values("scheduler_pending_pods") == {("unschedulable",): 2, ("gated",): 1}
    assert seen.values("scheduler_queued_entities") == {("unschedulable", "pod"): 2, ("gated", "pod"): 1}


def test_what_the_engine_has_not_come_to_is_active():
    world = cluster(nodes=1, cpu=2).gang("big", members=2, cpu=1).pod("small", cpu=1)
    seen = Measured(world)
    world.decide(budget=0)
    assert seen.values("scheduler_pending_pods") == {("active",): 3}
    assert seen.values("scheduler_queued_entities") == {("active", "podgroup"): 1, ("active", "pod"): 1}


def test_a_unit_whose_binds_are_refused_again_and_again_backs_off():
    seen = fits(pods=1)
    for _ in range(2):
        seen.decide()
        seen.answer(BindFailed("uid-p0", "n0", Failure.REJECTED))
    seen.decide()
    assert seen.values("scheduler_pending_pods") == {("backoff",): 1}
    assert seen.values("scheduler_queued_entities") == {("backoff", "pod"): 1}


def test_a_gang_that_does_not_fit_is_one_entity_and_as_many_pods_as_it_has():
    seen = Measured(cluster(nodes=1, cpu=2).gang("train", members=3, cpu=1))
    seen.decide()
    assert seen.values("scheduler_pending_pods") == {("unschedulable",): 3}
    assert seen.values("scheduler_queued_entities") == {("unschedulable", "podgroup"): 1}
    assert seen.values("muster_gangs_held") == {}


def test_members_without_a_group_are_incomplete_and_no_entity():
    seen = Measured(cluster(nodes=1, cpu=2).members("train", 0, 1, cpu=1))
    seen.decide()
    assert seen.values("scheduler_pending_pods") == {("incomplete",): 2}
    assert seen.values("scheduler_queued_entities") == {}
    assert seen.values("muster_gangs_held") == {("undeclared",): 1}


def test_a_gang_with_too_few_members_is_gated_as_upstream_has_it_and_we_say_why():
    seen = Measured(cluster(nodes=1, cpu=2).group("train", 3).members("train", 0, 1, cpu=1).group("empty", 2))
    seen.decide()
    assert seen.values("scheduler_pending_pods") == {("gated",): 2}
    assert seen.values("scheduler_queued_entities") == {("gated", "podgroup"): 1}
    assert seen.values("muster_gangs_held") == {("members_missing",): 2}


def test_one_gated_member_gates_the_gang():
    world = cluster(nodes=1, cpu=2).group("train", 2).members("train", 0, cpu=1).members("train", 1, gates=("hold",))
    seen = Measured(world)
    seen.decide()
    assert seen.values("scheduler_pending_pods") == {("gated",): 2}
    assert seen.values("muster_gangs_held") == {("gated",): 1}


def test_a_gated_pod_that_joins_a_running_gang_is_gated_alone():
    seen = Measured(cluster(nodes=1, cpu=2).gang("train", members=2, cpu=1))
    seen.decide()
    seen.bind("train-0", "train-1")
    seen.decide()
    seen.world.members("train", 2, cpu=1, gates=("hold",)).members("train", 3, cpu=1)
    seen.decide()
    assert seen.values("scheduler_pending_pods") == {("gated",): 1, ("unschedulable",): 1}
    assert seen.values("scheduler_queued_entities") == {("unschedulable", "podgroup"): 1}


def test_a_running_gang_that_only_gated_pods_join_is_gated():
    seen = Measured(cluster(nodes=1, cpu=2).gang("train", members=2, cpu=1))
    seen.decide()
    seen.bind("train-0", "train-1")
    seen.decide()
    seen.world.members("train", 2, cpu=1, gates=("hold",))
    seen.decide()
    assert seen.values("scheduler_pending_pods") == {("gated",): 1}
    assert seen.values("scheduler_queued_entities") == {("gated", "podgroup"): 1}
    assert seen.values("muster_gangs_held") == {}


def test_what_is_bound_or_being_bound_is_in_no_queue():
    seen = Measured(cluster(nodes=2, cpu=2).gang("train", members=2, cpu=1).pod("lone", cpu=1))
    seen.decide()
    assert seen.values("scheduler_pending_pods") == {}
    seen.bind("train-0", "train-1", "lone")
    seen.decide()
    assert seen.values("scheduler_pending_pods") == {}
    assert seen.values("scheduler_queued_entities") == {}


# --- what is read when asked ------------------------------------------------------------------------


def test_the_outbox_is_read_when_asked():
    outbox = Outbox()
    outbox.dropped_events = 7
    seen = Measured(cluster(), outbox=lambda: outbox)
    assert seen.value("muster_request_limit") == outbox.limit.now
    assert (seen.value("muster_requests_under_way"), seen.value("muster_requests_waiting")) == (0, 0)
    assert seen.value("muster_events_dropped_total") == 7


class FakeLease:
    def __init__(self, held):
        self.held = lambda: held


@pytest.mark.parametrize("held", [True, False])
def test_a_replica_tells_whether_it_leads(held):
    seen = Measured(cluster(), lease=lambda: FakeLease(held), lease_name="muster")
    assert seen.value("leader_election_master_status", name="muster") == held


def test_a_replica_that_stands_by_says_nothing_of_queues_and_requests_it_does_not_have():
    seen = Measured(cluster(), engine=lambda: None)
    told = generate_latest(seen.registry).decode()
    assert "scheduler_pending_pods" not in told
    assert "muster_request_limit" not in told
    assert "leader_election_master_status" not in told
    assert "process_resident_memory_bytes" in told


def test_decisions_and_binds_without_an_engine_are_counted_all_the_same():
    seen = Measured(cluster(), engine=lambda: None)
    seen.metrics.decided(0.0, [GangCondition("team/train", True, "Scheduled", ""), Event("Scheduled", "", "Binding")])
    seen.metrics.bound(Bound("uid-p0", "n0", 1.0), 0.0)
    assert seen.values("muster_decisions_total") == {("gang_condition",): 1, ("event",): 1}
    assert attempts(seen, "scheduled") == 1


# --- as a whole -------------------------------------------------------------------------------------


def whole():
    """Everything that can be told is told."""
    seen = Measured(cluster(nodes=1, cpu=2).pod("a", cpu=1), outbox=Outbox, lease=lambda: FakeLease(True))
    seen.decide()
    seen.bind("a")
    seen.metrics.decided(0.0, [Release("team/train", (), "Timeout", "")])
    seen.metrics.observe_request("GET", 200, 0.1)
    return list(text_string_to_metric_families(generate_latest(seen.registry).decode()))


def test_the_docs_have_every_metric_with_its_labels_and_no_other():
    rows = re.findall(r"^\| `([a-z_]+)` \| (\w+) \|([^|]*)\|", DOCS.read_text(), re.MULTILINE)
    documented = {name: (kind, frozenset(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}
    served = {}
    for family in whole():
        labels = frozenset(label for sample in family.samples for label in sample.labels) - {"le"}
        name = f"{family.name}_total" if family.type == "counter" else family.name
        served[name] = (family.type, labels)
    collectors = ("process_", "python_")
    assert {name: said for name, said in served.items() if not name.startswith(collectors)} == documented


def test_no_series_is_told_twice_and_all_are_numbers():
    samples = [sample for family in whole() for sample in family.samples]
    assert len({(sample.name, *sample.labels.items()) for sample in samples}) == len(samples)
    assert all(math.isfinite(sample.value) for sample in samples)


def test_no_series_tells_only_when_another_was_created():
    assert not [s.name for family in whole() for s in family.samples if s.name.endswith("_created")]


def test_two_replicas_in_one_process_do_not_share_figures():
    one, other = fits(pods=1), fits(pods=1)
    one.decide()
    one.bind("p0")
    assert (attempts(one, "scheduled"), attempts(other, "scheduled")) == (1, 0)
