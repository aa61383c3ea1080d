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
from muster.sim.chaos.recipe import Recipe, recipe
from muster.sim.chaos.world import START, ChaosFaults, ChaosWorld
from muster.sim.invariants import Violation
from muster.sim.recount import compare_views

# longer than any time-out, backoff and run time together; shorter than the 300 s after which the engine
# tries everybody again, which would hide a wake-up that was forgotten
_REST_SECONDS = 110.0


class Outcome(NamedTuple):
    """What became of one world."""

    seed: int
    violation: str
    """Empty if there was none."""
    seen: Counter[str]
    world: ChaosWorld
    story: list[tuple[float, str]]

    @property
    def rule(self) -> str:
        """Which rule was broken."""
        return self.violation.partition(":")[0] if "(/" not in self.violation else self.violation.rpartition("(")[2]

    def digest(self, *kinds: type) -> str:
        """Of all decisions, or of those of some kinds: equal for worlds that decided the same."""
        hasher = hashlib.sha256()
        for at, what in self.world.history:
            if isinstance(what, kinds or Decision):
                hasher.update(msgspec.json.encode((at, what)))
        return hasher.hexdigest()


def run(
    seed: int,
    *,
    shuffle: int = 0,
    only: Container[int] | None = None,
    rebuild_after: int | None = None,
    planned: Recipe | None = None,
) -> Outcome:
    """Runs the world of `seed`.

    `shuffle` changes the order in which a restarted scheduler reads the objects, `only` leaves out steps,
    `rebuild_after` restarts the scheduler after that step, if nothing is in flight there.
    """
    given = planned or recipe(seed)
    faults = ChaosFaults(seed, given.mood, shuffle=shuffle)
    world = ChaosWorld(faults, hurry="hurry" in given.mood)
    story: list[tuple[float, str]] = []
    seen: Counter[str] = Counter()
    violation = ""
    try:
        _live(world, given, story, seen, only=only, rebuild_after=rebuild_after)
    except Violation as broken:
        violation = str(broken)
    except Exception as error:  # whatever breaks in the engine is a finding, with this seed
        where = traceback.extract_tb(error.__traceback__)[-1]
        violation = f"exception: {type(error).__name__}: {error} ({where.filename}:{where.lineno})"
    for counted in (faults.seen, world.seen, world.invariants.seen):
        seen.update({name: count for name, count in counted.items() if count})
    return Outcome(seed, violation, seen, world, story)


def _live(
    world: ChaosWorld,
    given: Recipe,
    story: list[tuple[float, str]],
    seen: Counter[str],
    *,
    only: Container[int] | None,
    rebuild_after: int | None,
) -> None:
    events = Events(world, given)
    for node in given.nodes:
        world.put_node(node)
    at = START
    for step in given.plan:
        if only is not None and step.number not in only:
            continue
        at += step.delay_seconds
        if step.delay_seconds:
            world.run(at)  # else both happen before the scheduler looks
        happened = events.do(step, Random(f"{given.seed}/{step.number}"))
        if happened:
            story.append((world.now, f"[{step.number}] {happened}"))
            seen[f"events: {step.kind}"] += 1
            seen["events"] += 1
        if rebuild_after == step.number:
            world.run(at)
            if not world.in_flight and not world.invariants.open:
                world.restart()
    assert isinstance(world.faults, ChaosFaults)
    world.faults.calm = True
    world.crash_in = None
    world.run(at + _REST_SECONDS)
    world.invariants.at_rest()
    compare_views(world)
    seen["worlds"] += 1
