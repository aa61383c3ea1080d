"""Replays one world, or runs many.

python -m muster.sim.chaos 1234               tells the story of one world
python -m muster.sim.chaos 1234 --shrink      the same with as few events as still break the rule
python -m muster.sim.chaos --worlds 20000     runs many and prints what they saw
python -m muster.sim.chaos --minutes 30       runs worlds that nobody has seen before, for so long
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from muster.sim.chaos.many import Bounds, run_many
from muster.sim.chaos.run import Variation, dying_at, run, shrunk
from muster.sim.chaos.story import tell

# more than all cores get through in a second, so that no two runs by the clock see the same worlds
_SEEDS_PER_SECOND = 1000


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m muster.sim.chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seeds", type=int, nargs="*", help="worlds to tell the story of")
    parser.add_argument("--shrink", action="store_true", help="leave out what is not needed to break the rule")
    parser.add_argument("--die-at", type=int, help="the scheduler dies at this point, and at no other")
    parser.add_argument("--worlds", type=int, help="run so many worlds")
    parser.add_argument("--minutes", type=float, help="run worlds for so long, and say every few minutes what they saw")
    parser.add_argument("--first", type=int, help="seed of the first of them; 0, or with --minutes one by the clock")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes to use; all cores by default")
    parser.add_argument("--digest", action="store_true", help="print a digest of all decisions, nothing else")
    given = parser.parse_args(arguments)
    if not given.seeds and given.worlds is None and given.minutes is None:
        parser.error("name a seed, or say --worlds or --minutes")
    if given.digest:
        for seed in given.seeds:
            print(run(seed).digest())
        return 0
    if given.seeds:
        variation = Variation() if given.die_at is None else dying_at(given.die_at)
        return max(_one(seed, variation, shrink=given.shrink) for seed in given.seeds)
    first = given.first
    if first is None:
        first = 0 if given.minutes is None else int(time.time()) * _SEEDS_PER_SECOND
    return run_many(first, Bounds(worlds=given.worlds, minutes=given.minutes), jobs=given.jobs)


def _one(seed: int, variation: Variation, *, shrink: bool) -> int:
    outcome = run(seed, variation)
    if shrink and outcome.violation:
        outcome = shrunk(seed, variation)
    print(tell(outcome))
    return 1 if outcome.violation else 0


if __name__ == "__main__":
    sys.exit(main())
