"""Replays one world, or runs many.

python -m muster.sim.chaos 1234               tells the story of one world
python -m muster.sim.chaos 1234 --shrink      the same with as few events as still break the rule
python -m muster.sim.chaos --worlds 20000     runs many and prints what they saw
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from multiprocessing import Pool

from muster.sim.chaos.run import Variation, dying_at, run, run_worlds, shrunk
from muster.sim.chaos.story import tell

_CHUNK = 50


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m muster.sim.chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seeds", type=int, nargs="*", help="worlds to tell the story of")
    parser.add_argument("--shrink", action="store_true", help="leave out what is not needed to break the rule")
    parser.add_argument("--die-at", type=int, help="the scheduler dies at this point, and at no other")
    parser.add_argument("--worlds", type=int, default=0, help="run so many worlds")
    parser.add_argument("--first", type=int, default=0, help="seed of the first of them")
    parser.add_argument("--jobs", type=int, default=2, help="processes to use")
    parser.add_argument("--digest", action="store_true", help="print a digest of all decisions, nothing else")
    given = parser.parse_args(arguments)
    if not given.seeds and not given.worlds:
        parser.error("name a seed, or say --worlds")
    if given.digest:
        for seed in given.seeds:
            print(run(seed).digest())
        return 0
    if given.seeds:
        variation = Variation() if given.die_at is None else dying_at(given.die_at)
        return max(_one(seed, variation, shrink=given.shrink) for seed in given.seeds)
    return _many(given.first, given.worlds, jobs=given.jobs)


def _one(seed: int, variation: Variation, *, shrink: bool) -> int:
    outcome = run(seed, variation)
    if shrink and outcome.violation:
        outcome = shrunk(seed, variation)
    print(tell(outcome))
    return 1 if outcome.violation else 0


def _many(first: int, worlds: int, *, jobs: int) -> int:
    seeds = range(first, first + worlds)
    chunks = [seeds[start : start + _CHUNK] for start in range(0, worlds, _CHUNK)]
    total: Counter[str] = Counter()
    failed = 0
    for seen, failures in _results(chunks, jobs):
        total.update(seen)
        failed += len(failures)
        for line in failures:
            print(line, flush=True)
    for name, count in sorted(total.items()):
        print(f"{count:10,}  {name}")
    print(f"{failed:10,}  worlds with a violation")
    return 1 if failed else 0


def _results(chunks: list[range], jobs: int) -> Iterator[tuple[Counter[str], list[str]]]:
    if jobs <= 1:
        yield from map(run_worlds, chunks)
        return
    with Pool(jobs) as pool:
        yield from pool.imap(run_worlds, chunks)


if __name__ == "__main__":
    sys.exit(main())
