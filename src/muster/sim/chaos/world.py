"""A world that goes wrong: binds that fail, crawl or vanish, a scheduler that dies between any two calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from muster.api.wire import Pod
from muster.engine.changes import Change, Failure
from muster.engine.decisions import Decision, Placement
from muster.engine.engine import WORK, Engine
from muster.plugins.defaults import default_profile
from muster.sim.chaos.recipe import Mood
from muster.sim.invariants import BrokenRuleError, Invariants
from muster.sim.recount import recount
from muster.sim.world import BindFate, Faults, World

START = 1_700_000_000.0
_STUBBORN_SECONDS = 150.0
# calls of decide at one instant; more than a few dozen are never needed
_MOST_CALLS = 300


class ChaosFaults(Faults):
    """Fates by the pod's name and the number of the try, so that they do not depend on the order of calls."""

    def __init__(self, seed: int, mood: Mood, *, shuffle: int = 0) -> None:
        self.seen: Counter[str] = Counter()
        self.calm = False
        self._seed = seed
        self._mood = mood
        self._shuffle = shuffle
        self._tries: Counter[str] = Counter()
        self._relists = 0

    def bind(self, placement: Placement, now: float) -> BindFate:
        self._tries[placement.uid] += 1
        if self.calm:
            return BindFate()
        rng = self._rng("bind", placement)
        delay = rng.choice((0.0, 0.0, 0.4, 2.0, 6.5)) if "slow" in self._mood else 0.0
        failure = self._stubbornness(placement.node, now)
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

    def relist(self, changes: list[Change]) -> list[Change]:
        self._relists += 1
        changes = list(changes)
        Random(f"{self._seed}/relist/{self._relists}/{self._shuffle}").shuffle(changes)
        return changes

    def _stubbornness(self, node: str, now: float) -> Failure | None:
        """Some nodes fail every bind for a while, whoever asks: an admission plugin gone wrong, a partition."""
        if "stubborn" not in self._mood or now > START + _STUBBORN_SECONDS:
            return None
        return Random(f"{self._seed}/{node}").choice((Failure.REJECTED, Failure.TRANSIENT, None, None))

    def _rng(self, what: str, placement: Placement) -> Random:
        return Random(f"{self._seed}/{what}/{placement.pod}/{self._tries[placement.uid]}")


class SchedulerDiedError(Exception):
    """Stops the driver in the middle of its work; never leaves this module."""


class ChaosEngine(Engine):
    """Shows its decisions to the invariants before anybody carries them out."""

    def __init__(self, *, budget: int, show: Callable[[list[Decision], float], None]) -> None:
        super().__init__(default_profile())
        self._budget = budget
        self._show = show

    def decide(self, now: float, budget: int = WORK) -> list[Decision]:
        decisions = super().decide(now, min(budget, self._budget))
        self._show(decisions, now)
        return decisions


class ChaosWorld(World):
    """`crash_in` counts down at every point where a scheduler can die: before each decision, around each bind."""

    def __init__(self, faults: ChaosFaults, *, hurry: bool = False, recount: bool = True) -> None:
        self._chaos = faults
        self._recount = recount
        self.invariants = Invariants(self)
        self.seen: Counter[str] = Counter()
        self.crash_in: int | None = None
        self.points = 0
        self._calls = (0.0, 0)
        self._last_step = (0.0, 0)
        budget = 1 if hurry else WORK
        super().__init__(lambda: ChaosEngine(budget=budget, show=self._shown), start=START, faults=faults)

    @property
    def quiet(self) -> bool:
        """No bind is open, nobody is in backoff: all that the engine knows stands in the objects."""
        return not self.in_flight and not self.invariants.troubled

    def end_trouble(self) -> None:
        """From now on binds succeed and the scheduler lives."""
        self._chaos.calm = True
        self.crash_in = None

    def waits(self, pod: Pod) -> bool:
        """Ours, unbound, and no bind of it is open."""
        return self.invariants.waits(pod)

    def bind_by_hand(self, pod: Pod, node: str) -> None:
        self._land(Placement(pod.metadata.uid, f"{pod.metadata.namespace}/{pod.metadata.name}", node))

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
            self.invariants.after()
            if self._recount:
                recount(self)

    def _shown(self, decisions: list[Decision], now: float) -> None:
        self._calls = (now, self._calls[1] + 1 if self._calls[0] == now else 1)
        if self._calls[1] > _MOST_CALLS:
            raise BrokenRuleError("livelock", f"{_MOST_CALLS} calls of decide at one instant")
        if errors := self.engine.tally.errors:
            raise BrokenRuleError("engine error", f"{errors} attempts failed: {_last_error(self.engine)}")
        self.invariants.before(decisions)
        self.seen.update(f"decisions: {type(decision).__name__}" for decision in decisions)

    def _carry_out(self, decision: Decision) -> None:
        self._point()
        super()._carry_out(decision)

    def _send(self, placement: Placement) -> None:
        self._point()
        super()._send(placement)
        self._point()

    def _point(self) -> None:
        self.points += 1
        if self.crash_in is not None:
            self.crash_in -= 1
            if self.crash_in <= 0:
                self.crash_in = None
                raise SchedulerDiedError

    def _tell(self, change: Change) -> None:
        super()._tell(change)
        self.invariants.told(change)


def _last_error(engine: Engine) -> str:
    return next((attempt.verdict.error for attempt in reversed(list(engine.audit)) if attempt.verdict.error), "")
