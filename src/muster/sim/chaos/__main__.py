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

from muster.sim.chaos.recipe import recipe
from muster.sim.chaos.run import Outcome, Variation, run
from muster.sim.chaos.story import tell

_CHUNK = 50


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m muster.sim.chaos", description=__doc__)
    parser.add_argument("seeds", type=int, nargs="*", help="worlds to tell the story of")
    parser.add_argument("--shrink", action="store_true", help="leave out what is not needed to break the rule")
    parser.add_argument("--worlds", type=int, default=0, help="run so many worlds")
    parser.add_argument("--first", type=int, default=0, help="seed of the first of them")
    parser.add_argument("--jobs", type=int, default=2, help="processes to use")
    parser.add_argument("--digest", action="store_true", help="print a digest of all decisions, nothing else")
    given = parser.parse_args(arguments)
    if given.digest:
        for seed in given.seeds:
            print(run(seed).digest())
        return 0
    if given.seeds:
        return max(_one(seed, shrink=given.shrink) for seed in given.seeds)
    return _many(given.first, given.worlds, jobs=given.jobs)


def _one(seed: int, *, shrink: bool) -> int:
    outcome = run(seed)
    if shrink and outcome.violation:
        outcome = shrunk(seed)
    print(tell(outcome))
    return 1 if outcome.violation else 0


def shrunk(seed: int) -> Outcome:
    """The world of a failing seed, without the steps that the failure does not need."""
    outcome = run(seed)
    kept = [step.number for step in recipe(seed).plan]
    size = max(1, len(kept) // 2)
    while size:
        for start in range(0, len(kept), size):
            fewer = kept[:start] + kept[start + size :]
            tried = run(seed, Variation(only=frozenset(fewer)))
            if tried.rule == outcome.rule:
                outcome, kept = tried, fewer
                break
        else:
            size //= 2
    return outcome


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


if __name__ == "__main__":
    sys.exit(main())
