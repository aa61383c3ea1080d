"""The engine alone makes room: from the arrival of units of high priority to the decision that binds them.

Victims leave in two steps, as a watch tells of them: all are being deleted, then they are gone, a few hundred at once.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.calls import Calls, placements
from benchmarks.crowds import BUDGETS, NOW, Crowd, gangs_everywhere, lone_pods_everywhere
from benchmarks.report import line, title
from benchmarks.shapes import group, leaving, pod
from muster.engine.changes import Change, PodGone
from muster.engine.decisions import Decision, Evict

_REPEATS = 3
_HIGH = 1_000
_ARRIVED = NOW + 10
_AT_ONCE = 200
"""So many deletions a watch tells of together."""


class Course(NamedTuple):
    """What one crowd took; times in seconds."""

    planning: float
    """Until the last victim was named."""
    spent: float
    """In all calls."""
    longest: float
    """The longest call of `decide`."""
    victims: int
    bound: int


def gang_preemption() -> None:
    title("a gang of higher priority, 2,000 full nodes, 700 candidate gangs of 4 to 40 pods, half of which go whole")
    _compare("400 × 16 cpu", lambda: gangs_everywhere(2_000, gangs=700), _gang("high", (400, 16)))
    _compare(
        "120 × 16 cpu, 120 × 8, 160 × 4",
        lambda: gangs_everywhere(2_000, gangs=700),
        _gang("high", (120, 16), (120, 8), (160, 4)),
    )
    _compare(
        f"400 × 16 cpu, {BUDGETS} budgets",
        lambda: gangs_everywhere(2_000, gangs=700, budgets=True),
        _gang("high", (400, 16)),
    )
    ten = [change for number in range(10) for change in _gang(f"high-{number}", (40, 16))]
    _compare("10 gangs at once, 40 × 16 cpu each", lambda: gangs_everywhere(2_000, gangs=700), ten)
    _compare("in vain: 10,000 × 16 cpu", lambda: gangs_everywhere(2_000, gangs=700), _gang("high", (10_000, 16)))


def pod_preemption() -> None:
    title("lone pods of higher priority, 3 cpu each: 5,000 nodes of 4 cpu, 20,000 pods of 0.9 cpu")
    for count in (1, 500):
        _compare(f"{count:,} at once", lambda: lone_pods_everywhere(5_000, each=4), _lone(count, cpu_milli=3_000))
    title("lone pods of higher priority, 8 cpu each: 2,000 full nodes, 700 gangs, half of which go whole")
    _compare("200 at once", lambda: gangs_everywhere(2_000, gangs=700), _lone(200, cpu_milli=8_000))
    _compare(
        f"200 at once, {BUDGETS} budgets",
        lambda: gangs_everywhere(2_000, gangs=700, budgets=True),
        _lone(200, cpu_milli=8_000),
    )


def _lone(count: int, *, cpu_milli: int) -> list[Change]:
    return [pod(f"high-{i}", cpu_milli=cpu_milli, memory_gib=0.5, index=i, priority=_HIGH) for i in range(count)]


def _gang(name: str, *shapes: tuple[int, int]) -> list[Change]:
    """A gang of so many members with so many cpus each."""
    changes: list[Change] = [group(name, sum(count for count, _ in shapes), created=_ARRIVED, priority=_HIGH)]
    for count, cpus in shapes:
        changes += [
            pod(f"{name}-{cpus}-{i:05d}", cpu_milli=1000 * cpus, memory_gib=4, index=i, gang=name, priority=_HIGH)
            for i in range(count)
        ]
    return changes


def _compare(shape: str, crowd: Callable[[], Crowd], arriving: Sequence[Change]) -> None:
    runs = [_run(crowd(), arriving) for _ in range(_REPEATS)]
    first = runs[0]
    assert all((run.victims, run.bound) == (first.victims, first.bound) for run in runs)
    line(
        shape,
        f"planned in {min(run.planning for run in runs) * 1000:7.1f} ms",
        f"all calls {min(run.spent for run in runs) * 1000:7.1f} ms",
        f"longest decide {min(run.longest for run in runs) * 1000:7.1f} ms",
        f"{first.victims:,} victims, {first.bound:,} bound",
    )


def _run(crowd: Crowd, arriving: Sequence[Change]) -> Course:
    gc.collect()
    gc.freeze()
    now, calls = _ARRIVED, Calls(crowd.engine)
    calls.apply(arriving)
    decisions = calls.decide(now)
    planning = calls.spent
    victims = _victims(decisions)
    going = [leaving(crowd.pods[uid], now) for uid in victims]
    gone = [PodGone(uid) for uid in victims]
    for news in (going, gone):
        for first in range(0, len(news), _AT_ONCE):
            now += 0.1
            calls.apply(news[first : first + _AT_ONCE])
            decisions += calls.decide(now)
    assert len(_victims(decisions)) == len(victims), "more were evicted while the first were leaving"
    return Course(planning, calls.spent, calls.longest, len(victims), len(placements(decisions)))


def _victims(decisions: Sequence[Decision]) -> list[str]:
    return [pod.uid for decision in decisions if isinstance(decision, Evict) for pod in decision.pods]


BENCHMARKS: dict[str, Callable[[], None]] = {
    "gang-preemption": gang_preemption,
    "pod-preemption": pod_preemption,
}
