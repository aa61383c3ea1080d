"""Many worlds, on every core, until the time is over."""

import os
from collections import Counter, deque
from itertools import count, islice
from multiprocessing import Pool
from time import monotonic, time

from tests.system.run import run_worlds
from tests.system.world import recipe

_CHUNK = 10
# more than all cores get through in a second, so that no two runs by the clock see the same worlds
_SEEDS_PER_SECOND = 1000


def run_many(minutes, *, first=None, jobs=None):
    """Runs worlds that nobody has seen before and prints what they saw; 1 if there was one that broke a rule."""
    first = int(time()) * _SEEDS_PER_SECOND if first is None else first
    print(f"worlds from seed {first} on, for {minutes:g} minutes; Ctrl-C ends it early", flush=True)
    seen, failed, jobs = Counter(), 0, jobs or os.cpu_count()
    chunks = _chunks(first, monotonic() + 60 * minutes)
    with Pool(jobs) as pool:
        # none is begun much before it is wanted
        running = deque(pool.apply_async(run_chunk, (chunk,)) for chunk in islice(chunks, 2 * jobs))
        try:
            while running:
                more, failures = running.popleft().get()
                running.extend(pool.apply_async(run_chunk, (chunk,)) for chunk in islice(chunks, 1))
                seen.update(more)
                failed += len(failures)
                for line in failures:
                    print(line, flush=True)
        except KeyboardInterrupt:
            print("ended early")
    report(seen, failed)
    return 1 if failed else 0


def _chunks(first, until):
    for start in count(first, _CHUNK):
        if monotonic() >= until:
            return
        yield range(start, start + _CHUNK)


def run_chunk(seeds):
    seen, failures = run_worlds(seeds)
    seen.update(f"worlds with trouble: {trouble}" for seed in seeds for trouble in recipe(seed).mood)
    return seen, failures


def report(seen, failed):
    for name, number in sorted(seen.items()):
        print(f"{number:10,}  {name}")
    print(f"{failed:10,}  worlds with a violation", flush=True)
