"""A world that goes wrong: binds that fail, crawl or vanish, a scheduler that dies between any two calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from random import Random

from msgspec.structs import replace

from muster.api.times import stamp
from muster.api.wire import Pod
from muster.engine.changes import Change, Failure, GroupRead, Spared
from muster.engine.decisions import CallOff, Decision, Evict, Lost, Placement, Reread
from muster.engine.engine import WORK, Engine
from muster.framework.profile import Backoff, PreemptionSettings, Profile
from muster.plugins.registry import ProfileParts, default_parts, make_profile
from muster.sim.chaos.faulty import Bugs, faulty_profile
from muster.sim.chaos.recipe import Mood
from muster.sim.faults import BindFate, Faults
from muster.sim.invariants import BrokenRuleError, Invariants
from muster.sim.reading import OURS
from muster.sim.recount import recount
from muster.sim.transitions import Transitions
from muster.sim.world import Happened, Seat, World

START = 1_700_000_000.0
OTHER = "other"
"""The name of the scheduler beside ours, where there is one."""
STUCK_SECONDS = "sim/stuck-seconds"
"""Annotation: for so long after it has stopped the pod does not go, since somebody's finalizer is on it."""
_STUBBORN_SECONDS = 150.0
_IMPATIENT = PreemptionSettings(patience_seconds=4.0)
# what was miscounted once mostly stays so
_RECOUNT_EVERY = 7
# calls of decide at one instant; more than a few dozen are never needed
_NEVER = 1e9
_MOST_CALLS = 300


class ChaosFaults(Faults):
    """Fates by the pod's name and the number of the try, so that they do not depend on the order of calls."""

    def __init__(self, seed: int, mood: Mood, *, shuffle: int = 0) -> None:
        self.seen: Counter[str] = Counter()
        self.calm = False
        self.seed = seed
        self._mood = mood
        self._shuffle = shuffle
        self._tries: Counter[str] = Counter()
        self._evictions: Counter[str] = Counter()
        self._relists = 0
        self._group_changes: Counter[str] = Counter()
        self._rereads: Counter[str] = Counter()

    def bind(self, placement: Placement, now: float) -> BindFate:
        self._tries[placement.uid] += 1
        if self.calm:
            return BindFate()
        rng = self._rng("bind", placement)
        delay = rng.choice((0.0, 0.0, 0.4, 2.0, 6.5)) if "slow" in self._mood else 0.0
        failure = self._stubbornness(placement.node, now) or self._denial(placement, now)
        if failure is None and "transient" in self._mood and rng.random() < 0.3:
            failure = Failure.TRANSIENT
        elif failure is None and "rejected" in self._mood and rng.random() < 0.3:
            failure = Failure.REJECTED
        landed = failure is Failure.TRANSIENT and "lost answers" in self._mood and rng.random() < 0.5
        self.seen["slow binds"] += delay > 0
        if failure:
            self.seen["binds whose answer was lost" if landed else f"{failure} binds"] += 1
        return BindFate(delay, failure, landed)

    def answers_first(self, placement: Placement) -> bool:
        first = "answers first" in self._mood and self._rng("first", placement).random() < 0.5
        self.seen["answers that overtook the watch"] += first
        return first

    def survives_restart(self, placement: Placement) -> bool:
        survives = self._rng("survives", placement).random() < 0.5
        self.seen["binds in flight at a restart: " + ("landed" if survives else "lost")] += 1
        return survives

    def evict(self, decision: Evict) -> float:
        self._evictions[decision.unit] += 1
        if self.calm or "late evictions" not in self._mood:
            return 0.0
        rng = Random(f"{self.seed}/evict/{decision.unit}/{self._evictions[decision.unit]}")
        delay = rng.choice((0.0, 0.3, 1.0, 3.0, 6.0))
        self.seen["late evictions"] += delay > 0
        return delay

    def calls_off(self, decision: CallOff) -> bool:
        rng = Random(f"{self.seed}/call off/{decision.unit}/{self._evictions[decision.unit]}/{decision.pods[0].pod}")
        spared = rng.random() < 0.75
        self.seen["evictions called off: " + ("spared" if spared else "too late")] += 1
        return spared

    def group_lag(self, key: str) -> float:
        self._group_changes[key] += 1
        if self.calm or "lagging groups" not in self._mood:
            return 0.0
        lag = Random(f"{self.seed}/lag/{key}/{self._group_changes[key]}").choice((0.0, 0.5, 2.0, 4.0))
        self.seen["changes of groups that were told late"] += lag > 0
        return lag

    def reread(self, decision: Reread) -> float:
        self._rereads[decision.gang] += 1
        self.seen["groups read again"] += 1
        if self.calm or "lagging groups" not in self._mood:
            return 0.0
        rng = Random(f"{self.seed}/reread/{decision.gang}/{self._rereads[decision.gang]}")
        return rng.choice((0.0, 0.0, 0.3, 2.0))

    def relist(self, changes: list[Change]) -> list[Change]:
        self._relists += 1
        changes = list(changes)
        Random(f"{self.seed}/relist/{self._relists}/{self._shuffle}").shuffle(changes)
        return changes

    def _stubbornness(self, node: str, now: float) -> Failure | None:
        """Some nodes fail every bind for a while, whoever asks: an admission plugin gone wrong, a partition."""
        if "stubborn" not in self._mood or now > START + _STUBBORN_SECONDS:
            return None
        return Random(f"{self.seed}/{node}").choice((Failure.REJECTED, Failure.TRANSIENT, None, None))

    def _denial(self, placement: Placement, now: float) -> Failure | None:
        """Somebody's policy denies some pods: for ever, for their first tries, until a time, or on some nodes."""
        if "denials" not in self._mood:
            return None
        rng = Random(f"{self.seed}/denied/{placement.pod}")
        how = rng.choice(("not", "not", "not", "not", "ever", "tries", "time", "nodes"))
        denied = {
            "not": False,
            "ever": True,
            "tries": self._tries[placement.uid] <= rng.randint(1, 4),
            "time": now < START + rng.choice((5, 20, 60)),
            "nodes": Random(f"{self.seed}/{placement.pod}/{placement.node}").random() < 0.6,
        }[how]
        return Failure.DENIED if denied else None

    def _rng(self, what: str, placement: Placement) -> Random:
        return Random(f"{self.seed}/{what}/{placement.pod}/{self._tries[placement.uid]}")


class SchedulerDiedError(Exception):
    """Stops the driver in the middle of its work; never leaves this module."""


class ChaosEngine(Engine):
    """Shows its decisions to the invariants before anybody carries them out."""

    def __init__(
        self,
        profile: Profile,
        *,
        budget: int,
        show: Callable[[ChaosEngine, list[Decision], float], None],
        seen: Counter[str],
    ) -> None:
        super().__init__(profile)
        self._budget = budget
        self._show = show
        self.transitions = Transitions(self, seen)

    def apply(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self.transitions.tell(change, super().apply)

    def decide(self, now: float, budget: int = WORK) -> list[Decision]:
        decisions = super().decide(now, min(budget, self._budget))
        self._show(self, decisions, now)
        return decisions


class ChaosWorld(World):
    """`crash_in` counts down at every point where a scheduler can die: before each decision, around each bind.

    In `crash_at_eviction` stands how many evictions it carries out before it dies.  What is in `after_eviction` is
    done so many seconds after the next eviction, and then forgotten.
    """

    def __init__(self, faults: ChaosFaults, mood: Mood, *, recount: bool = True) -> None:
        self._chaos = faults
        self._recount = recount
        self._bugs = Bugs(faults.seed) if "bugs" in mood else None
        self._budget = 1 if "hurry" in mood else WORK
        self._preemption = _IMPATIENT if "impatient" in mood else PreemptionSettings()
        self.seen: Counter[str] = Counter()
        self.crash_in: int | None = None
        self.crash_at_eviction: int | None = None
        self.after_eviction: list[tuple[float, Callable[[], None]]] = []
        self.thief: Callable[[Pod], bool] | None = None
        """Is told of pods that are gone, until it has what it wants."""
        self.points = 0
        self._calls: Counter[Engine] = Counter()
        self._called_at = 0.0
        self._last_step = (0.0, 0)
        self._stuck: set[str] = set()
        self._watches: dict[str, Invariants] = {}
        super().__init__(lambda: self._engine(OURS), start=START, faults=faults)
        names = (OURS, OTHER) if "beside" in mood else (OURS,)
        for name in names:
            self._watches[name] = Invariants(
                self,
                scheduler=name,
                alone="beside" not in mood,
                preemption=self._preemption,
                sound="bugs" not in mood,
            )
        self.invariants = self._watches[OURS]
        self._engines = {name: self.beside(lambda: self._engine(OTHER)) for name in names if name != OURS}

    def _engine(self, name: str) -> ChaosEngine:
        # without the safety net, which would hide a wake-up that was forgotten
        backoff = Backoff(flush=_NEVER)
        # somebody asks for what nobody honours
        plugins = tuple(part for part in default_parts() if part.name != "DynamicResources")
        parts = ProfileParts(scheduler_names=(name,), plugins=plugins, preemption=self._preemption, backoff=backoff)
        profile = make_profile(parts) if self._bugs is None else faulty_profile(parts, self._bugs)
        return ChaosEngine(
            profile,
            budget=self._budget,
            show=lambda engine, decisions, now: self._shown(name, engine, decisions, now),
            seen=self.seen,
        )

    @property
    def quiet(self) -> bool:
        """No bind is open, nobody is in backoff: all that the engine knows stands in the objects."""
        evicting = any(seat.evicting for seat in self._seats)
        return not self.in_flight and not evicting and not any(watch.troubled for watch in self._watches.values())

    def end_trouble(self) -> None:
        """From now on binds succeed, plugins answer, and the scheduler lives."""
        self._chaos.calm = True
        if self._bugs is not None:
            self._bugs.calm = True
            self.seen["bugs of plugins"] += self._bugs.raised
        self.crash_in = self.crash_at_eviction = None
        self.after_eviction.clear()
        self.thief = None

    def waits(self, pod: Pod) -> bool:
        """Ours, unbound, and no bind of it is open."""
        return self.invariants.waits(pod)

    def bind_by_hand(self, pod: Pod, node: str) -> None:
        self._land(pod.metadata.uid, node, None)

    def restart(self) -> None:
        super().restart()
        self.seen["restarts"] += 1
        self.invariants.restarted()

    def _schedule(self) -> None:
        while True:
            try:
                super()._schedule()
                break
            except SchedulerDiedError:
                self.seen["restarts in the middle of a batch"] += 1
                self.restart()
        step = (self.now, len(self.history))
        if step != self._last_step:
            self._last_step = step
            self.seen["steps"] += 1
            for watch in self._watches.values():
                watch.after()
            if self._recount and self.seen["steps"] % _RECOUNT_EVERY == 0:
                self._count_again()

    def _count_again(self) -> None:
        for seat, engine in zip(self._seats, (self.engine, *self._engines.values()), strict=True):
            recount(self, engine, condemned=seat.evicting)

    def at_rest(self) -> None:
        if self._recount:
            self._count_again()
        for watch in self._watches.values():
            watch.at_rest()

    @property
    def watched(self) -> Counter[str]:
        """What the invariants have seen."""
        return sum((watch.seen for watch in self._watches.values()), Counter[str]())

    def _shown(self, name: str, engine: ChaosEngine, decisions: list[Decision], now: float) -> None:
        if now != self._called_at:
            self._called_at = now
            self._calls.clear()
        self._calls[engine] += 1
        if self._calls[engine] > _MOST_CALLS:
            raise BrokenRuleError("livelock", f"{_MOST_CALLS} calls of decide at one instant")
        if (errors := engine.troubles.counts.total()) and self._bugs is None:
            raise BrokenRuleError("engine error", f"{errors} attempts failed: {_last_error(engine)}")
        try:
            if self._recount and self._bugs is None:
                engine.transitions.decided(decisions)
            self._watches[name].before(decisions)
        except BrokenRuleError:
            # nobody carries them out, but the story tells them
            self.history += [Happened(now, decision) for decision in decisions]
            raise
        self.seen.update(f"decisions: {type(decision).__name__}" for decision in decisions)
        self.seen.update(f"lost: {decision.why}" for decision in decisions if isinstance(decision, Lost))

    def _carry_out(self, decision: Decision) -> None:
        self._point()
        if isinstance(decision, Evict) and self._acts_first and self.crash_at_eviction is not None:
            self.crash_at_eviction -= 1
            if self.crash_at_eviction < 0:
                self._die()
        super()._carry_out(decision)
        if isinstance(decision, Evict):
            planned, self.after_eviction = self.after_eviction, []
            for delay, action in planned:
                self.at(self.now + delay, action)
            if self._acts_first and self.crash_at_eviction == 0:
                self._die()

    def _send(self, placement: Placement) -> None:
        self._point()
        super()._send(placement)
        self._point()

    def _point(self) -> None:
        if not self._acts_first:
            return  # only ours dies
        self.points += 1
        if self.crash_in is not None:
            self.crash_in -= 1
            if self.crash_in <= 0:
                self._die()

    def _die(self) -> None:
        self.crash_in = self.crash_at_eviction = None
        raise SchedulerDiedError

    @property
    def _acts_first(self) -> bool:
        """It is our scheduler's turn, not that of the one beside it."""
        return self._acting is self._seats[0]

    def _tell(self, change: Change) -> None:
        super()._tell(change)
        for watch in self._watches.values():
            watch.told(change)

    def _let_go(self, seat: Seat, decision: Evict) -> None:
        waiting = [ref for ref in decision.pods if seat.evicting.get(ref.uid) is decision]
        self._watch_of(seat).goes(waiting, decision.unit)
        super()._let_go(seat, decision)

    def _spare(self, seat: Seat, change: Spared) -> None:
        super()._spare(seat, change)
        self._watch_of(seat).told(change)

    def _read(self, seat: Seat, change: GroupRead) -> None:
        super()._read(seat, change)
        self._watch_of(seat).told(change)

    def _watch_of(self, seat: Seat) -> Invariants:
        """The rules that this scheduler is held to."""
        return self._watches[OURS if seat is self._seats[0] else OTHER]

    def _remove_pod(self, uid: str) -> None:
        """A pod that is stuck goes later, unless its node is gone."""
        pod = self.pods.get(uid)
        if pod is None:
            return
        stuck = float(pod.metadata.annotations.get(STUCK_SECONDS, "0"))
        if not stuck or uid in self._stuck or pod.spec.node_name not in self.nodes:
            if uid not in self._stuck or pod.spec.node_name not in self.nodes:
                self._gone(uid)
            return
        self._stuck.add(uid)
        self.seen["pods stuck"] += 1
        if pod.metadata.deletion_timestamp is None:
            self._put_pod(replace(pod, metadata=replace(pod.metadata, deletion_timestamp=stamp(self.now))))
        self.at(self.now + stuck, lambda: self._gone(uid))

    def _gone(self, uid: str) -> None:
        pod = self.pods.get(uid)
        super()._remove_pod(uid)
        if self.thief is not None and pod is not None and self.thief(pod):
            self.seen["room taken by another scheduler while it was kept"] += 1
            self.thief = None


def _last_error(engine: Engine) -> str:
    return next((attempt.verdict.error for attempt in reversed(list(engine.audit)) if attempt.verdict.error), "")
