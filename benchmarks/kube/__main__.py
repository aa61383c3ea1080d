"""Runs the contestants in turns, one alive at a time, and prints the medians side by side."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from benchmarks.kube import lone, preemption
from benchmarks.kube.cluster import Cluster
from benchmarks.kube.contestants import Contestant, KubeScheduler, Loop, Muster
from benchmarks.kube.course import Course, Run, Shape
from benchmarks.kube.table import against, median, print_table, show
from benchmarks.report import machine
from controlplane.nodes import make_nodes
from controlplane.plane import ControlPlane
from muster import __version__
from muster.kube.client import Client
from muster.kube.connection import load

SHAPES = (Shape(50, 20), Shape(10, 100), Shape(1, 1000), Shape(1, 2000), Shape(1, 4000))
WARM_UP = Shape(1, 20)
CONTESTANTS: dict[str, Callable[[], Contestant]] = {
    "loop": Loop,
    "telling-loop": partial(Loop, tells=True),
    "muster": Muster,
    "kube-scheduler": KubeScheduler,
}
USUAL = ("loop", "muster", "kube-scheduler")
COURSES = ("starting", "cold", "preemption", "lone")
LONE = {shape.name: shape for shape in lone.SHAPES}
"""They can be asked for one by one."""
COLD = Shape(1, 1000)


def main() -> None:
    options = _options()
    print(machine())
    print(
        "Kubernetes with gate GenericWorkload, etcd without fsync, "
        f"API priority and fairness {'on' if options.fairness else 'off, 1,000 mutating requests in flight'}; "
        "kube-scheduler with 5,000 requests/s; everything on this machine; medians"
    )
    if "starting" in options.courses:
        print(f"\n{options.nodes} nodes of 32 cpu, pods of 100m cpu")
        with ControlPlane(gates=["GenericWorkload"], fairness=options.fairness) as plane:
            nodes = make_nodes(plane, options.nodes, cpu="32", memory="128Gi")
            asyncio.run(_starting(plane, nodes, options))
    if "cold" in options.courses:
        print(f"\n{options.nodes} nodes of 32 cpu, pods of 100m cpu; the first gang after a start, and the next")
        with ControlPlane(gates=["GenericWorkload"], fairness=options.fairness) as plane:
            nodes = make_nodes(plane, options.nodes, cpu="32", memory="128Gi")
            asyncio.run(_cold(plane, nodes, options))
    if "preemption" in options.courses:
        print(f"\n{preemption.NODES} nodes of 4 cpu; who is evicted is gone {_after(options.stop_seconds)}")
        with ControlPlane(gates=["GenericWorkload"], fairness=options.fairness) as plane:
            nodes = make_nodes(plane, preemption.NODES, cpu="4", memory="32Gi", pods=110)
            asyncio.run(_preemption(plane, nodes, options))
    if shapes := [shape for name, shape in LONE.items() if {"lone", name} & {*options.courses}]:
        print(f"\n{lone.NODES} nodes of 4 cpu, pods of 100m cpu; the bare loop binds each as soon as it is there")
        with ControlPlane(gates=["GenericWorkload"], fairness=options.fairness) as plane:
            nodes = make_nodes(plane, lone.NODES, cpu="4", memory="32Gi", labels=lone.labels)
            asyncio.run(_lone(plane, nodes, shapes, options))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kube", description=__doc__)
    parser.add_argument("courses", nargs="*", default=COURSES, help=f"of {', '.join((*COURSES, *LONE))}; default: all")
    parser.add_argument(
        "--rounds", type=int, help="how often each shape is run by each; default 5, for preemption and lone 3"
    )
    parser.add_argument(
        "--contestants", help=f"of {', '.join(CONTESTANTS)}; default: all but telling-loop, for lone all"
    )
    parser.add_argument(
        "--fairness", action="store_true", help="keep API priority and fairness on, as clusters have it"
    )
    starting = parser.add_argument_group("starting")
    starting.add_argument("--shapes", default=",".join(f"{s.gangs}x{s.size}" for s in SHAPES), help="gangs x size, ...")
    starting.add_argument("--nodes", type=int, default=1000)
    making_room = parser.add_argument_group("preemption")
    making_room.add_argument(
        "--stop-seconds", type=float, default=0.0, help="how long pods that are evicted take to stop; default: no time"
    )
    options = parser.parse_args()
    unknown = [name for name in options.courses if name not in (*COURSES, *LONE)]
    if unknown:
        parser.error(f"no such course: {', '.join(unknown)}; there are: {', '.join((*COURSES, *LONE))}")
    return options


def _after(seconds: float) -> str:
    return f"after {seconds} s" if seconds else "at once"


def _contestants(options: argparse.Namespace, usual: Iterable[str] = USUAL) -> list[Contestant]:
    return [CONTESTANTS[name]() for name in (options.contestants.split(",") if options.contestants else usual)]


async def _starting(plane: ControlPlane, nodes: list[str], options: argparse.Namespace) -> None:
    async with _client(plane) as client:
        cluster = Cluster(client)
        course = Course(cluster, nodes)
        watching = asyncio.create_task(cluster.watch())
        for shape in [Shape(*map(int, text.split("x"))) for text in options.shapes.split(",")]:
            runs: dict[str, list[Run]] = {}
            for contestant in _in_turns(_contestants(options), options.rounds or 5, str(shape)):
                async with contestant.alive(plane):
                    await course.run(contestant, WARM_UP)
                    runs.setdefault(contestant.name, []).append(await course.run(contestant, shape))
            _print(shape, runs)
        watching.cancel()


async def _cold(plane: ControlPlane, nodes: list[str], options: argparse.Namespace) -> None:
    """Two gangs each, without a warm-up."""
    async with _client(plane) as client:
        cluster = Cluster(client)
        course = Course(cluster, nodes)
        watching = asyncio.create_task(cluster.watch())
        cold: dict[str, list[Run]] = {}
        warm: dict[str, list[Run]] = {}
        for contestant in _in_turns(_contestants(options), options.rounds or 5, str(COLD)):
            async with contestant.alive(plane):
                for runs in (cold, warm):
                    runs.setdefault(contestant.name, []).append(await course.run(contestant, COLD))
        # against a loop that has all its connections
        bare = median(warm.get("bare loop", []), "from_last")
        _print(COLD, cold, when=", cold", bare=bare)
        _print(COLD, warm, when=", warm", bare=bare)
        watching.cancel()


async def _preemption(plane: ControlPlane, nodes: list[str], options: argparse.Namespace) -> None:
    async with _client(plane) as client:
        cluster = Cluster(client, stop_seconds=options.stop_seconds or None)
        course = preemption.Course(cluster, nodes, stop_seconds=options.stop_seconds)
        watching = asyncio.create_task(cluster.watch())
        await course.prepare()
        for shape in preemption.SHAPES:
            runs: dict[str, list[preemption.Run]] = {}
            for contestant in _in_turns(_contestants(options), options.rounds or 3, str(shape)):
                async with contestant.alive(plane):
                    await course.run(contestant, preemption.WARM_UP)
                    runs.setdefault(contestant.name, []).append(await course.run(contestant, shape))
            preemption.print_runs(shape, runs)
        watching.cancel()


async def _lone(
    plane: ControlPlane, nodes: list[str], shapes: Sequence[lone.Shape], options: argparse.Namespace
) -> None:
    async with _client(plane) as client:
        cluster = Cluster(client)
        course = lone.Course(cluster, nodes)
        watching = asyncio.create_task(cluster.watch())
        for shape in shapes:
            runs: dict[str, list[lone.Run]] = {}
            for contestant in _in_turns(_contestants(options, CONTESTANTS), options.rounds or 3, str(shape)):
                async with contestant.alive(plane):
                    await course.run(contestant, lone.WARM_UP)
                    runs.setdefault(contestant.name, []).append(await course.run(contestant, shape))
            lone.print_runs(shape, runs)
        watching.cancel()


def _client(plane: ControlPlane) -> Client:
    return Client(load(kubeconfig=str(plane.kubeconfig())), user_agent=f"muster-bench/{__version__}")


def _in_turns(contestants: Sequence[Contestant], rounds: int, shape: str) -> Iterator[Contestant]:
    for number in range(rounds):
        for contestant in contestants:
            yield contestant
            if sys.stderr.isatty():
                print(f"  {shape}: round {number + 1} of {rounds}, {contestant.name}", file=sys.stderr)


def _print(shape: Shape, runs: dict[str, list[Run]], *, when: str = "", bare: float | None = None) -> None:
    columns = ("last created → last bind", "first created → last bind", "first bind", "calls/pod", "cpu s", "peak MB")
    if bare is None:
        bare = median(runs.get("bare loop", []), "from_last")
    lines = {
        name: [
            against(median(measured, "from_last"), bare),
            show(median(measured, "from_first"), "s"),
            show(median(measured, "first_bind"), "s"),
            show(median(measured, "calls_per_pod")),
            show(median(measured, "cpu_seconds")),
            show(median(measured, "peak_mb")),
        ]
        for name, measured in runs.items()
    }
    print_table(f"{shape} pods{when}", columns, lines)


if __name__ == "__main__":
    main()
