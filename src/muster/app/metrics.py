"""What Prometheus is told.  docs/metrics.md explains every name.

A metric has upstream's name where it counts what upstream counts.  Counters and times are noted as things happen; what
can be read from the engine, the outbox and the lease is read when somebody asks.
"""

from __future__ import annotations

import time
from collections import Counter as Count
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, GCCollector, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from muster import __version__
from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState, Stage
from muster.engine.changes import BindFailed, Bound, Change, Failure, PodGone, PodSeen
from muster.engine.decisions import (
    Bind,
    CallOff,
    Consult,
    Decision,
    Event,
    Evict,
    GangCondition,
    Loss,
    Lost,
    MarkStarted,
    PodCondition,
    Prepare,
    Release,
    Reread,
    TakeBack,
    TellBound,
    Withdraw,
)
from muster.engine.engine import Engine
from muster.engine.life import Phase
from muster.engine.unit import GangUnit, Unit
from muster.gangs.model import Aspect
from muster.kube.lease import Lease
from muster.kube.outbox import Outbox

__all__ = ["WATCH", "Metrics"]

WATCH = "WATCH"
"""As the method of a request: a GET that lasts until the server or the network ends it."""

# client-go says so where there was no answer at all
_NO_ANSWER = "<error>"

# upstream's, so that quantiles of both can be compared
_ATTEMPT_SECONDS = tuple(0.001 * 2**n for n in range(15))
_REQUEST_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)

# fine where it matters: a call is meant to take up to 20 ms and must not take more than 50
_DECIDE_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 2.0)
_BIND_SECONDS = tuple(0.001 * 2**n for n in range(16))
# creation times are whole seconds: nothing finer can be told from them
_WAIT_SECONDS = tuple(float(2**n) for n in range(18))

# upstream's as well
_PODS_VICTIMS = tuple(float(2**n) for n in range(7))
_GANGS_VICTIMS = tuple(float(2**n) for n in range(11))

KINDS = {Bind: "bind", Release: "release", Evict: "evict", CallOff: "call_off", Lost: "lost"}
KINDS |= {PodCondition: "pod_condition", GangCondition: "gang_condition", Event: "event"}
KINDS |= {Reread: "reread", MarkStarted: "mark_started", Prepare: "prepare", TakeBack: "take_back"}
KINDS |= {Consult: "consult", Withdraw: "withdraw", TellBound: "tell_bound"}
_FAILURES = {failure: failure.value.replace("-", "_") for failure in Failure}
_LOSSES = {loss: loss.value.replace(" ", "_") for loss in Loss}

_ACTIVE, _BACKOFF, _UNSCHEDULABLE = "active", "backoff", "unschedulable"
_GATED, _INCOMPLETE = "gated", "incomplete"
_QUEUES = (_ACTIVE, _BACKOFF, _UNSCHEDULABLE, _GATED, _INCOMPLETE)
_UNDECLARED, _MISSING = "undeclared", "members_missing"
_HELD = (_UNDECLARED, _MISSING, _GATED)
_QUEUE = {
    # seen only while members that just came have not been looked at
    Phase.GONE: _ACTIVE,
    Phase.SETTLED: _ACTIVE,
    Phase.READY: _ACTIVE,
    Phase.TRYING: _ACTIVE,
    Phase.BACKING_OFF: _BACKOFF,
    Phase.WAITING: _UNSCHEDULABLE,
    Phase.RESERVING: _UNSCHEDULABLE,
    Phase.ASSEMBLING: _GATED,
}


class _Follower:
    """A counter that follows a number which only grows; where it falls, the counter stays."""

    __slots__ = ("_counter", "_reached")

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._reached = 0

    def reach(self, number: int) -> None:
        if number > self._reached:
            self._counter.inc(number - self._reached)
            self._reached = number


class Metrics:
    """Everything one replica measures.  One object a registry.

    `profile` and `host` are the label values of that name: a scheduler's name, and host and port of the API server.
    `engine`, `outbox` and `lease` give None while there is none, as on a replica that stands by.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        *,
        profile: str,
        host: str,
        lease_name: str = "",
        engine: Callable[[], Engine | None] = lambda: None,
        outbox: Callable[[], Outbox | None] = lambda: None,
        lease: Callable[[], Lease | None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # they would double the number of series and tell nothing that `up` does not
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._engine = engine
        self._clock = clock
        self._decided_at: dict[str, float] = {}
        """By UID: since when a bind that is not answered yet has been in the making."""
        self._register_requests(registry, host)
        self._register_attempts(registry, profile)
        self._register_preemption(registry)
        self._register_own(registry)
        registry.register(_Figures(lease_name, engine=engine, outbox=outbox, lease=lease))
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)

    # Children are kept: looking one up by its labels costs more than counting with it.

    def _register_requests(self, registry: CollectorRegistry, host: str) -> None:
        self._host = host
        self._requests = Counter(
            "rest_client_requests",
            "Requests to the API server, by status code, method and host.",
            ("code", "method", "host"),
            registry=registry,
        )
        self._request_seconds = Histogram(
            "rest_client_request_duration_seconds",
            "How long requests took, by method and host; watches are left out.",
            ("verb", "host"),
            buckets=_REQUEST_SECONDS,
            registry=registry,
        )
        self._by_answer: dict[tuple[str, int], Counter] = {}
        self._by_method: dict[str, Histogram] = {}

    def _register_attempts(self, registry: CollectorRegistry, profile: str) -> None:
        seconds = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "From when a pod's place began to be looked for until its bind was answered.",
            ("result", "profile"),
            buckets=_ATTEMPT_SECONDS,
            registry=registry,
        )
        attempts = Counter(
            "scheduler_schedule_attempts",
            "Attempts to schedule pods; those that found no room are unschedulable, those whose bind failed errors.",
            ("result", "profile"),
            registry=registry,
        )
        self._scheduled = attempts.labels("scheduled", profile), seconds.labels("scheduled", profile)
        self._failed = attempts.labels("error", profile), seconds.labels("error", profile)
        self._pods_refused = _Follower(attempts.labels("unschedulable", profile))
        gangs = Counter(
            "scheduler_podgroup_schedule_attempts",
            "Attempts to find places for gangs.",
            ("result", "profile"),
            registry=registry,
        )
        self._gangs_placed = _Follower(gangs.labels("scheduled", profile))
        self._gangs_refused = _Follower(gangs.labels("unschedulable", profile))
        self._gangs_waiting = _Follower(gangs.labels("waiting_on_preemption", profile))

    def _register_preemption(self, registry: CollectorRegistry) -> None:
        self._pods_sought = _Follower(
            Counter(
                "scheduler_preemption_attempts",
                "Times that a pod found no room and somebody who could make some was looked for.",
                registry=registry,
            )
        )
        attempts = Counter(
            "scheduler_workload_preemption_attempts",
            "The same for gangs; those for which nobody was evicted are unschedulable.",
            ("result",),
            registry=registry,
        )
        self._gangs_evicting = attempts.labels("Success")
        self._gangs_sought_in_vain = _Follower(attempts.labels("Unschedulable"))
        self._evictions = 0
        """For gangs."""
        self._pods_victims = Histogram(
            "scheduler_preemption_victims",
            "Pods evicted for one pod.",
            buckets=_PODS_VICTIMS,
            registry=registry,
        )
        self._gangs_victims = Histogram(
            "scheduler_workload_preemption_victims",
            "Pods evicted for one gang.",
            buckets=_GANGS_VICTIMS,
            registry=registry,
        )
        lost = Counter(
            "muster_preemptions_lost",
            "Times that pods were evicted and whom it was for did not get their room.",
            ("reason",),
            registry=registry,
        )
        self._lost = {loss: lost.labels(name) for loss, name in _LOSSES.items()}

    def _register_own(self, registry: CollectorRegistry) -> None:
        self._decide_seconds = Histogram(
            "muster_decide_duration_seconds",
            "How long one call of the engine took; it decides many units.",
            buckets=_DECIDE_SECONDS,
            registry=registry,
        )
        self._errors = Counter(
            "muster_decide_errors",
            "Attempts that failed in a way that nobody foresaw, by plugin of users; without one it was Muster itself.",
            ("plugin",),
            registry=registry,
        )
        self._errors_of = {"": _Follower(self._errors.labels(""))}
        decisions = Counter("muster_decisions", "What the engine wanted done.", ("kind",), registry=registry)
        self._decisions = {kind: decisions.labels(name) for kind, name in KINDS.items()}
        self._placements = Counter("muster_placements", "Pods for which the engine found a node.", registry=registry)
        self._released = Counter(
            "muster_released_pods",
            "Bound pods deleted because their gang could not start, or go on, with them.",
            ("reason",),
            registry=registry,
        )
        binds = Counter("muster_binds", "Binds that were answered.", ("result",), registry=registry)
        self._bound = binds.labels("bound")
        self._bind_failed = {failure: binds.labels(name) for failure, name in _FAILURES.items()}
        self._bound_elsewhere = binds.labels("elsewhere")
        self._bind_seconds = Histogram(
            "muster_bind_duration_seconds",
            "From when a bind was sent until it was answered.",
            buckets=_BIND_SECONDS,
            registry=registry,
        )
        waits = Histogram(
            "muster_pod_wait_seconds",
            "From the creation of a pod until it was bound; lone pods, and members of gangs.",
            ("unit",),
            buckets=_WAIT_SECONDS,
            registry=registry,
        )
        self._pod_wait, self._member_wait = waits.labels("pod"), waits.labels("gang")
        self._gang_wait = Histogram(
            "muster_gang_wait_seconds",
            "From the creation of a gang's object until as many members were bound as it needs.",
            buckets=_WAIT_SECONDS,
            registry=registry,
        )

    # --- what happened ---

    def observe_request(self, method: str, code: int, seconds: float) -> None:
        """A request was answered, or not (code 0)."""
        counter = self._by_answer.get((method, code))
        if counter is None:
            labels = str(code) if code else _NO_ANSWER, "GET" if method == WATCH else method, self._host
            counter = self._by_answer[method, code] = self._requests.labels(*labels)
        counter.inc()
        if method == WATCH:
            return
        histogram = self._by_method.get(method)
        if histogram is None:
            histogram = self._by_method[method] = self._request_seconds.labels(method, self._host)
        histogram.observe(seconds)

    def decided(self, seconds: float, decisions: Iterable[Decision]) -> None:
        """The engine was asked, took so long and decided this."""
        self._decide_seconds.observe(seconds)
        began = self._clock() - seconds
        for decision in decisions:
            self._decisions[type(decision)].inc()
            match decision:
                case Bind():
                    self._placements.inc(len(decision.pods))
                    for placement in decision.pods:
                        self._decided_at[placement.uid] = began
                case Release():
                    self._released.labels(decision.reason).inc(len(decision.pods))
                case Evict():
                    self._evicted(decision)
                case Lost():
                    self._lost[decision.why].inc()
                case GangCondition(aspect=Aspect.STARTED, holds=True):
                    self._gang_started(decision.gang)
        # evictions must have been counted: who looked for victims and found none is the rest
        self._follow_tally()

    def bound(self, change: Change, seconds: float) -> None:
        """A bind was answered after so long, and this is what the engine is told of it."""
        self._bind_seconds.observe(seconds)
        match change:
            case Bound(uid):
                self._bound.inc()
                self._attempted(uid, self._scheduled)
                self._pod_waited(uid, change.at + seconds)
            case BindFailed(uid):
                self._bind_failed[change.failure].inc()
                self._attempted(uid, self._failed)
            case PodGone(uid):
                self._bind_failed[Failure.POD_GONE].inc()
                self._attempted(uid, self._failed)
            case PodSeen(pod):
                self._bound_elsewhere.inc()
                self._attempted(pod.metadata.uid, self._failed)

    def _follow_tally(self) -> None:
        """Decisions do not tell how often a unit was refused: people are told only what is new."""
        engine = self._engine()
        if engine is None:
            return
        tally = engine.tally
        self._pods_refused.reach(tally.pods_refused)
        self._gangs_placed.reach(tally.gangs_placed)
        self._gangs_refused.reach(tally.gangs_refused)
        self._gangs_waiting.reach(tally.gangs_waiting)
        self._pods_sought.reach(tally.pods_sought_victims)
        self._gangs_sought_in_vain.reach(tally.gangs_sought_victims - self._evictions)
        for plugin, count in engine.troubles.counts.items():
            if plugin not in self._errors_of:
                self._errors_of[plugin] = _Follower(self._errors.labels(plugin))
            self._errors_of[plugin].reach(count)

    def _attempted(self, uid: str, result: tuple[Counter, Histogram]) -> None:
        attempts, seconds = result
        attempts.inc()
        began = self._decided_at.pop(uid, None)
        if began is not None:
            seconds.observe(self._clock() - began)

    def _pod_waited(self, uid: str, until: float) -> None:
        engine = self._engine()
        pod = None if engine is None else engine.cluster.pods.get(uid)
        if pod is not None:
            wait = self._pod_wait if pod.gang is None else self._member_wait
            # the server's clock may be ahead of ours
            wait.observe(max(0.0, until - pod.created))

    def _evicted(self, decision: Evict) -> None:
        engine = self._engine()
        if engine is None or decision.unit not in engine.cluster.gangs:
            self._pods_victims.observe(len(decision.pods))
            return
        self._gangs_victims.observe(len(decision.pods))
        self._gangs_evicting.inc()
        self._evictions += 1

    def _gang_started(self, key: str) -> None:
        engine = self._engine()
        gang = None if engine is None else engine.cluster.gangs.get(key)
        if gang is not None and (wait := _wait_of(gang)) is not None:
            self._gang_wait.observe(max(0.0, wait))


class _Figures(Collector):
    """What can be read at any time, read when somebody asks."""

    def __init__(
        self,
        lease_name: str,
        *,
        engine: Callable[[], Engine | None],
        outbox: Callable[[], Outbox | None],
        lease: Callable[[], Lease | None],
    ) -> None:
        self._lease_name = lease_name
        self._engine = engine
        self._outbox = outbox
        self._lease = lease

    def collect(self) -> Iterator[Metric]:
        build = GaugeMetricFamily("muster_build_info", "Always 1; the version is the label.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        if (lease := self._lease()) is not None:
            leads = GaugeMetricFamily(
                "leader_election_master_status", "1 on the replica that leads, 0 on others.", labels=["name"]
            )
            leads.add_metric([self._lease_name], lease.held())
            yield leads
        if (engine := self._engine()) is not None:
            yield from _queues(engine.units)
            yield GaugeMetricFamily(
                "muster_gangs_below_minimum",
                "Gangs that say that they have started and are below their minimum.",
                sum(gang.below_said is not None and gang.below_said[0] for gang in engine.cluster.gangs.values()),
            )
        if (outbox := self._outbox()) is not None:
            yield from _sending(outbox)


def _queues(units: Collection[Unit]) -> Iterator[Metric]:
    """Where units are, in upstream's words; 100,000 of them take about 10 ms."""
    pods = Count(dict.fromkeys(_QUEUES, 0))
    entities: Count[tuple[str, ...]] = Count(
        {(queue, kind): 0 for queue in _QUEUES if queue != _INCOMPLETE for kind in ("pod", "podgroup")}
    )
    held = Count(dict.fromkeys(_HELD, 0))
    for phase, count in Count(unit.phase for unit in units if not unit.is_gang).items():
        pods[_QUEUE[phase]] += count
        entities[_QUEUE[phase], "pod"] += count
    for unit in units:
        if not isinstance(unit, GangUnit):
            continue
        gang = unit.gang
        if unit.phase is Phase.ASSEMBLING:
            held[_why_gated(gang)] += 1
        left = len(gang.candidates)
        if not left:
            continue
        if gang.declared is None:
            # upstream has no entity for a group that it has not seen
            pods[_INCOMPLETE] += left
            continue
        queue = _GATED if gang.gated == left else _QUEUE[unit.phase]
        pods[_GATED] += gang.gated
        pods[queue] += left - gang.gated
        entities[queue, "podgroup"] += 1
    yield _gauge("scheduler_pending_pods", "Pods that wait, by queue.", labels=["queue"], values=_keyed(pods))
    about = "Gangs, and pods that are in none, that wait, by queue."
    yield _gauge("scheduler_queued_entities", about, labels=["queue", "type"], values=entities)
    about = "Gangs that are not even tried, by what they wait for."
    yield _gauge("muster_gangs_held", about, labels=["why"], values=_keyed(held))


def _sending(outbox: Outbox) -> Iterator[Metric]:
    yield GaugeMetricFamily("muster_requests_waiting", "What is to be sent and waits.", outbox.waiting)
    yield GaugeMetricFamily("muster_requests_under_way", "What was sent and is not answered.", outbox.under_way)
    yield GaugeMetricFamily(
        "muster_request_limit",
        "How many may be under way at once; falls when the server pushes back.",
        outbox.limit.now,
    )
    yield CounterMetricFamily(
        "muster_events_dropped", "Events that were never sent, because too many waited.", outbox.dropped_events
    )


def _gauge(name: str, about: str, *, labels: list[str], values: Mapping[tuple[str, ...], int]) -> Metric:
    family = GaugeMetricFamily(name, about, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _keyed(counts: Count[str]) -> dict[tuple[str, ...], int]:
    return {(key,): value for key, value in counts.items()}


def _why_gated(gang: GangState) -> str:
    if gang.declared is None:
        return _UNDECLARED
    return _MISSING if gang.missing else _GATED


def _wait_of(gang: GangState) -> float | None:
    """From the creation of its object until its minimum was bound, by what the members say; None if they do not.

    What they say outlives a restart: a gang that started before is not said to have waited until now.
    """
    if gang.declared is None:
        return None
    times = sorted(pod.bound_at for pod in gang.members.values() if pod.bound_at is not None and _counts(pod))
    minimum = gang.declared.minimum
    return times[minimum - 1] - gang.declared.created if 0 < minimum <= len(times) else None


def _counts(pod: PodState) -> bool:
    return not pod.leaving and pod.stage in (Stage.BOUND, Stage.SUCCEEDED)
