"""One world from its seed to its end."""

from __future__ import annotations

import hashlib
import traceback
from collections import Counter
from collections.abc import Container
from random import Random
from typing import NamedTuple

import msgspec

from muster.engine.decisions import Decision
from muster.sim.chaos.events import Events
from muster.sim.chaos.recipe import Mood, Recipe, Step, recipe
from muster.sim.chaos.world import START, ChaosFaults, ChaosWorld
from muster.sim.invariants import BrokenRuleError
from muster.sim.recount import compare_views

# longer than any time-out, backoff and run time together
_REST_SECONDS = 110.0


class Variation(NamedTuple):
    """How a run differs from the plain one of its seed."""

    only: Container[int] | None = None
    """Steps to do; others are left out."""
    without: Container[str] = ()
    """Kinds of events to leave out."""
    shuffle: int = 0
    """Another number, another order in which a restarted scheduler reads the objects."""
    rebuild_before: int | None = None
    """The scheduler restarts before this step, or the next one that the world is quiet at."""
    crash_at: int | None = None
    """The scheduler dies at this point, counted over the whole run."""
    as_first: bool = False
    """Without the troubles that worlds were given later."""
    but: Mood = frozenset()
    """Troubles that the world does not have, whatever its seed says."""
    recount: bool = True
    """Looks into the engine too: counters against a recount, lives against the table; else at objects alone."""

    def does(self, step: Step) -> bool:
        return (self.only is None or step.number in self.only) and step.kind not in self.without


_PLAIN = Variation()


def dying_at(point: int) -> Variation:
    """The scheduler dies once, at this point of the run, and at no other."""
    return Variation(without=("crash", "restart"), crash_at=point)


class Outcome(NamedTuple):
    """What became of one world."""

    seed: int
    violation: str
    """Empty if there was none."""
    rule: str
    """Which rule was broken."""
    seen: Counter[str]
    world: ChaosWorld
    story: list[tuple[float, str]]

    def digest(self, *kinds: type) -> str:
        """Of all decisions, or of those of some kinds: equal for worlds that decided the same."""
        hasher = hashlib.sha256()
        for at, what in self.world.history:
            if isinstance(what, kinds or Decision):
                hasher.update(msgspec.json.encode((at, what)))
        return hasher.hexdigest()


def run(seed: int, variation: Variation = _PLAIN) -> Outcome:
    """Runs the world of `seed`; whatever goes wrong in it is in the outcome."""
    planned = recipe(seed, as_first=variation.as_first, but=variation.but)
    faults = ChaosFaults(seed, planned.mood, shuffle=variation.shuffle)
    world = ChaosWorld(faults, planned.mood, recount=variation.recount)
    world.crash_in = variation.crash_at
    life = _Life(planned, world, variation)
    rule = violation = ""
    try:
        life.live()
    except BrokenRuleError as broken:
        rule, violation = broken.rule, str(broken)
    except Exception as error:  # whatever breaks in the engine is a finding
        where = traceback.extract_tb(error.__traceback__)[-1]
        rule = f"{type(error).__name__} at {where.filename}:{where.lineno}"
        violation = f"{rule}: {error}"
    seen = life.seen
    for counted in (faults.seen, world.seen, world.watched):
        seen.update(counted)
    return Outcome(seed, violation, rule, seen, world, life.story)


def run_worlds(seeds: range) -> tuple[Counter[str], list[str]]:
    """What the worlds of these seeds saw, and a line for each that broke a rule."""
    seen: Counter[str] = Counter()
    failures = []
    for seed in seeds:
        outcome = run(seed)
        seen.update(outcome.seen)
        if outcome.violation:
            failures.append(
                f"seed {seed} failed: {outcome.violation}; replay: .venv/bin/python -m muster.sim.chaos {seed}"
            )
    return seen, failures


def shrunk(seed: int, variation: Variation = _PLAIN) -> Outcome:
    """The world of a failing seed, without the steps that the failure does not need."""
    outcome = run(seed, variation)
    kept = [step.number for step in recipe(seed, as_first=variation.as_first, but=variation.but).plan]
    size = max(1, len(kept) // 2)
    while size:
        for start in range(0, len(kept), size):
            fewer = kept[:start] + kept[start + size :]
            tried = run(seed, variation._replace(only=frozenset(fewer)))
            if tried.rule == outcome.rule:
                outcome, kept = tried, fewer
                break
        else:
            size //= 2
    return outcome


class _Life:
    """A world on its way through its plan."""

    def __init__(self, planned: Recipe, world: ChaosWorld, variation: Variation) -> None:
        self._recipe = planned
        self._world = world
        self._variation = variation
        self.story: list[tuple[float, str]] = []
        self.seen: Counter[str] = Counter()

    def live(self) -> None:
        world = self._world
        events = Events(world, self._recipe)
        for node in self._recipe.nodes:
            world.put_node(node)
        at = START
        for step in self._recipe.plan:
            if self._variation.does(step):
                at += step.delay_seconds
                if step.delay_seconds:
                    world.run(at)  # else both happen before the scheduler looks
                    self._rebuild(step)
                self._do(step, events)
        world.end_trouble()
        world.run(at + _REST_SECONDS)
        world.at_rest()
        compare_views(world.engine)
        self.seen["worlds"] += 1

    def _do(self, step: Step, events: Events) -> None:
        happened = events.do(step, Random(f"{self._recipe.seed}/{step.number}"))
        if happened:
            self.story.append((self._world.now, f"[{step.number}] {happened}"))
            self.seen[f"events: {step.kind}"] += 1
            self.seen["events"] += 1

    def _rebuild(self, step: Step) -> None:
        first = self._variation.rebuild_before
        if first is not None and step.number >= first and not self.seen["rebuilt"] and self._world.quiet:
            self._world.restart()
            self.seen["rebuilt"] += 1
