"""Replays one world, or runs many.

python -m tests.system 1234 --story     tells the story of one world
python -m tests.system 1234 --shrink    the same with as few events as still break the rule
python -m tests.system --minutes 30     runs worlds that nobody has seen before, on all cores
python -m tests.system 1 2 3 --digest   prints a digest of each story
"""

import argparse
import sys

from tests.system.many import run_many
from tests.system.run import run, shrunk


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m tests.system", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seeds", type=int, nargs="*", help="worlds to replay")
    parser.add_argument("--story", action="store_true", help="tell what happened, even if no rule was broken")
    parser.add_argument("--shrink", action="store_true", help="leave out what is not needed to break the rule")
    parser.add_argument("--digest", action="store_true", help="print a digest of each story, nothing else")
    parser.add_argument("--minutes", type=float, help="run worlds for so long")
    parser.add_argument("--first", type=int, help="seed of the first of them; by default one by the clock")
    parser.add_argument("--jobs", type=int, help="processes to use; all cores by default")
    given = parser.parse_args(arguments)
    if given.minutes is not None:
        return run_many(given.minutes, first=given.first, jobs=given.jobs)
    if not given.seeds:
        parser.error("name a seed, or say --minutes")
    return max([_one(seed, given) for seed in given.seeds])


def _one(seed, given):
    outcome = shrunk(seed) if given.shrink else run(seed)
    if given.digest:
        print(outcome.digest)
        return 0
    if given.story or given.shrink or outcome.violation:
        print("\n".join(outcome.story))
    for name, number in sorted(outcome.seen.items()):
        print(f"{number:10,}  {name}")
    print(f"seed {seed}: {outcome.violation or 'no rule is broken'}")
    return 1 if outcome.violation else 0


if __name__ == "__main__":
    sys.exit(main())
