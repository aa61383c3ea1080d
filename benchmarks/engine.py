"""The engine alone: taking in, verdicts, decisions and audit included; binds are decided, not carried out."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Sequence
from time import perf_counter

from benchmarks.calls import Calls, placements
from benchmarks.report import line, title
from benchmarks.shapes import foreign, full_cluster, group, partly_filled, pod
from muster.engine.changes import Change, GroupGone, PodGone, PodSeen
from muster.engine.decisions import Bind
from muster.engine.engine import Engine
from muster.framework.profile import Fairness
from muster.plugins.registry import ProfileParts, default_parts, make_profile

_REPEATS = 5


def big_gang() -> None:
    title("one gang, members arriving one by one, 1,000 nodes (1 cpu, 2 GiB each)")
    for members in (2_500, 5_000, 10_000):
        arrivals, decisions = [], []
        for _ in range(_REPEATS):
            engine = partly_filled(1_000)
            changes: list[Change] = [group("big", members)]
            changes += [pod(f"big-{i:05d}", cpu_milli=1000, memory_gib=2, index=i, gang="big") for i in range(members)]
            start = perf_counter()
            for change in changes[:-1]:
                engine.apply([change])
                engine.decide(1.0)
            arrived = perf_counter()
            engine.apply(changes[-1:])
            bound = sum(len(d.pods) for d in engine.decide(1.0) if isinstance(d, Bind))
            decided = perf_counter()
            assert bound == members, bound
            arrivals.append(arrived - start)
            decisions.append(decided - arrived)
        line(
            f"{members:,} members",
            f"arrivals {min(arrivals) * 1000:7.1f} ms ({min(arrivals) / members * 1e6:.1f} µs each)",
            f"decision {min(decisions) * 1000:6.1f} ms",
        )


def lone_pods() -> None:
    title("32,000 lone pods (0.5 to 1.5 cpu, 1 to 4 GiB) in shuffled arrival, 1,000 nodes")
    for classes in (10, 100):
        rates = []
        for _ in range(_REPEATS):
            rng = random.Random(7)
            engine = partly_filled(1_000)
            changes = _lone_pods(32_000, classes, rng)
            rates.append(32_000 / _drain(engine, changes, 32_000, batch=1_000))
        line(f"{classes} classes", f"{max(rates):9,.0f} pods/s", f"{1e6 / max(rates):.1f} µs/pod")


def small_gangs() -> None:
    title("many small gangs, one class each gang, 10 classes in all (0.5 to 1.4 cpu, 2 GiB)")
    for gangs, size, nodes in ((500, 20, 1_000), (3_000, 3, 5_000)):
        rates = []
        for _ in range(_REPEATS):
            engine = partly_filled(nodes)
            changes: list[Change] = []
            for g in range(gangs):
                changes.append(group(f"g-{g:05d}", size, created=g))
                cpu = 500 + 100 * (g % 10)
                changes += [
                    pod(f"g-{g:05d}-{i}", cpu_milli=cpu, memory_gib=2, index=i, gang=f"g-{g:05d}") for i in range(size)
                ]
            rates.append(gangs * size / _drain(engine, changes, gangs * size, batch=1_000))
        line(
            f"{gangs:,} gangs × {size} on {nodes:,} nodes",
            f"{max(rates):9,.0f} pods/s",
            f"{1e6 / max(rates):.1f} µs/pod",
        )


def deep_queue() -> None:
    """A full cluster; every 0.1 s ten pods end and others take their room.  Once a second a gang comes that waits
    until what ends next makes room for it, and may pass all others."""
    gangs, rounds = 10_000, 200
    title(
        f"{gangs:,} waiting gangs of distinct classes, 1,000 full nodes, 100 pods ending per second, and one that fits"
    )
    queue = _DeepQueue(gangs, Fairness(passes_per_member=None))
    line(
        "first refusal of all of them",
        f"{queue.calls.spent:.2f} s",
        f"longest decide {queue.calls.longest * 1000:.1f} ms",
    )
    calls, waits = queue.run(rounds)
    assert len(waits) == rounds, len(waits)
    waits.sort()
    line(
        "the one that fits starts, after the room is there, within",
        f"median {waits[len(waits) // 2] * 1000:.1f} ms",
        f"99 % {waits[len(waits) * 99 // 100] * 1000:.1f} ms",
    )
    _decide_line(calls)


def overtaken() -> None:
    """The same, but no gang is passed for ever: soon all nodes are held, and the ones that would fit wait too."""
    gangs, rounds = 10_000, 20
    title(f"{gangs:,} waiting gangs of distinct classes that others may pass four times")
    calls, waits = _DeepQueue(gangs, Fairness()).run(rounds)
    line(f"{rounds} gangs that would fit", f"{len(waits)} start")
    _decide_line(calls)


def _decide_line(calls: Calls) -> None:
    seconds = sorted(calls.seconds)
    line("decide calls", f"median {seconds[len(seconds) // 2] * 1000:.2f} ms", f"longest {seconds[-1] * 1000:.1f} ms")


class _DeepQueue:
    """Gangs of two that wait on 1,000 full nodes; `calls` has their first refusals."""

    def __init__(self, gangs: int, fairness: Fairness) -> None:
        profile = make_profile(ProfileParts(plugins=default_parts(), fairness=fairness))
        self._engine, self._running = full_cluster(1_000, pods_per_node=20, profile=profile)
        changes: list[Change] = []
        for g in range(gangs):
            name = f"w-{g:05d}"
            changes.append(group(name, 2))
            changes += [pod(f"{name}-{i}", cpu_milli=4_000 + g, memory_gib=1, index=i, gang=name) for i in range(2)]
        self.calls = Calls(self._engine)
        self.calls.apply(changes)
        gc.freeze()  # as a driver does once it has read the cluster: what is there now is there to stay
        self.calls.decide(1.0)
        assert len(self._engine.audit.story("bench/w-00000")) == 1
        gc.freeze()

    def run(self, rounds: int) -> tuple[Calls, list[float]]:
        """The calls, and how long each gang that started took once there was room."""
        rng, engine, running = random.Random(3), self._engine, self._running
        calls, waits, now = Calls(engine), [], 1.0
        for number in range(rounds):
            name = f"fits-{number}"
            engine.apply([group(name, 4, created=now)])
            engine.apply([pod(f"{name}-{i}", cpu_milli=900, memory_gib=1, index=i, gang=name) for i in range(4)])
            assert not placements(calls.decide(now))
            for tenth in range(10):
                now += 0.1
                nodes = rng.sample(sorted(running), 10)
                engine.apply([PodGone(running[node].pop()) for node in nodes])
                start = perf_counter()
                starts = placements(calls.decide(now))
                if starts:
                    waits.append(perf_counter() - start)
                    engine.apply([PodGone(placed.uid) for placed in starts])
                    engine.apply([GroupGone(f"bench/{name}")])
                refill = [foreign(f"r-{number}-{tenth}-{node}", node, cpu_milli=1_000, memory_gib=1) for node in nodes]
                for node, change in zip(nodes, refill, strict=True):
                    running[node].append(change.pod.metadata.uid)
                engine.apply(refill)
        return calls, waits


def cluster_size() -> None:
    title("cost per pod by cluster size: 8,000 lone pods of 10 classes")
    costs = {}
    for nodes in (1_000, 10_000):
        times = []
        for _ in range(_REPEATS):
            rng = random.Random(7)
            engine = partly_filled(nodes)
            changes = _lone_pods(8_000, 10, rng)
            times.append(_drain(engine, changes, 8_000, batch=1_000))
        costs[nodes] = min(times) / 8_000
        line(f"{nodes:,} nodes", f"{costs[nodes] * 1e6:7.1f} µs/pod")
    line("10,000 against 1,000", f"{costs[10_000] / costs[1_000]:7.2f} ×")


def _lone_pods(count: int, classes: int, rng: random.Random) -> list[PodSeen]:
    """Pods of 0.5 to 1.5 cpu with 1 to 4 GiB, in a shuffled order of arrival and of age."""
    shapes = [(500 + 1000 * k // classes, 1 + 3 * k / classes) for k in range(classes)]
    pods = [
        pod(f"p-{i:05d}", cpu_milli=cpu, memory_gib=memory, index=i)
        for i, (cpu, memory) in enumerate(rng.choices(shapes, k=count))
    ]
    rng.shuffle(pods)
    return pods


def _drain(engine: Engine, changes: Sequence[Change], pods: int, *, batch: int) -> float:
    """Seconds from the first change to the last bind decision, taken in `batch` at a time."""
    bound = 0
    gc.collect()
    start = perf_counter()
    for first in range(0, len(changes), batch):
        engine.apply(changes[first : first + batch])
        while True:
            bound += sum(len(d.pods) for d in engine.decide(1.0) if isinstance(d, Bind))
            if engine.next_decide_at != 1.0:
                break
    seconds = perf_counter() - start
    assert bound == pods, f"{bound} of {pods} bound"
    return seconds


BENCHMARKS: dict[str, Callable[[], None]] = {
    "big-gang": big_gang,
    "lone-pods": lone_pods,
    "small-gangs": small_gangs,
    "deep-queue": deep_queue,
    "overtaken": overtaken,
    "cluster-size": cluster_size,
}
