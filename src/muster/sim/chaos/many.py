"""Many worlds, one after another on every core, until there were enough of them or the time is over."""

from __future__ import annotations

import signal
from collections import Counter, deque
from collections.abc import Iterator
from itertools import count, islice
from multiprocessing import Pool, TimeoutError
from time import monotonic
from typing import NamedTuple

from muster.sim.chaos.recipe import recipe
from muster.sim.chaos.run import run_worlds

# a second or two, so that a failing world is told soon
_CHUNK = 20
_REPORT_SECONDS = 300.0
# hundreds of times what so many worlds take
_STUCK_SECONDS = 300.0

_INTERRUPTS = (signal.SIGINT,)

_Seen = tuple[Counter[str], list[str]]


class Bounds(NamedTuple):
    """When to stop, whichever comes first; None for never."""

    worlds: int | None = None
    minutes: float | None = None


def run_many(first: int, bounds: Bounds, *, jobs: int) -> int:
    """Runs worlds from the first seed on and prints what they saw; 1 if there was one that broke a rule, else 0.

    A failing world is told as soon as it is known, and others follow.  Ctrl-C ends it early.
    """
    begun = monotonic()
    total, failed = Counter[str](), 0
    report_at = begun + _REPORT_SECONDS
    try:
        if bounds.minutes is not None:
            print(f"worlds from seed {first} on, for {bounds.minutes:g} minutes; Ctrl-C ends it early", flush=True)
        for seen, failures in _results(_chunks(first, bounds, begun), jobs):
            total.update(seen)
            failed += len(failures)
            for line in failures:
                print(line, flush=True)
            if bounds.minutes is not None and monotonic() >= report_at:
                report_at += _REPORT_SECONDS
                print(f"after {(monotonic() - begun) / 60:.0f} minutes:")
                _report(total, failed)
    except KeyboardInterrupt:
        print("ended early")
    _report(total, failed)
    return 1 if failed else 0


def _report(total: Counter[str], failed: int) -> None:
    for name, number in sorted(total.items()):
        print(f"{number:10,}  {name}")
    print(f"{failed:10,}  worlds with a violation", flush=True)


def _chunks(first: int, bounds: Bounds, begun: float) -> Iterator[range]:
    """Seeds, a few at a time, as long as there is time and they are not enough."""
    end = None if bounds.worlds is None else first + bounds.worlds
    for start in count(first, _CHUNK):
        stop = start + _CHUNK if end is None else min(start + _CHUNK, end)
        late = bounds.minutes is not None and monotonic() >= begun + 60 * bounds.minutes
        if late or start >= stop:
            return
        yield range(start, stop)


def _results(chunks: Iterator[range], jobs: int) -> Iterator[_Seen]:
    """What came of each chunk, in order; none is begun much before it is wanted."""
    if jobs <= 1:
        yield from map(_run_chunk, chunks)
        return
    # Ctrl-C is for us alone, and not before all are there whom we have to end then
    signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    with Pool(jobs) as pool:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        running = deque((chunk, pool.apply_async(_run_chunk, (chunk,))) for chunk in islice(chunks, 2 * jobs))
        while running:
            chunk, result = running.popleft()
            try:
                found = result.get(_STUCK_SECONDS)
            except TimeoutError:
                yield Counter(), [f"one of the seeds {chunk.start} to {chunk.stop - 1} does not end"]
                return
            running.extend((chunk, pool.apply_async(_run_chunk, (chunk,))) for chunk in islice(chunks, 1))
            yield found


def _run_chunk(seeds: range) -> _Seen:
    """What these worlds saw, with the troubles that they had, and a line for each that broke a rule."""
    seen, failures = run_worlds(seeds)
    seen.update(f"worlds with trouble: {trouble}" for seed in seeds for trouble in recipe(seed).mood)
    return seen, failures
