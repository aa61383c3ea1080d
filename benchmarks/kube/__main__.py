"""Runs the contestants in turns, one alive at a time, and prints the medians side by side."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
from collections.abc import Callable

from benchmarks.kube.contestants import Contestant, KubeScheduler, Loop, Muster
from benchmarks.kube.course import Course, Run, Shape
from benchmarks.report import machine
from controlplane.nodes import make_nodes
from controlplane.plane import ControlPlane
from muster import __version__
from muster.kube.client import Client
from muster.kube.connection import load

SHAPES = (Shape(50, 20), Shape(10, 100), Shape(1, 1000), Shape(1, 2000), Shape(1, 4000))
WARM_UP = Shape(1, 20)
CONTESTANTS: dict[str, Callable[[], Contestant]] = {"loop": Loop, "muster": Muster, "kube-scheduler": KubeScheduler}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kube", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each shape is run by each; default 5")
    parser.add_argument("--shapes", default=",".join(f"{s.gangs}x{s.size}" for s in SHAPES), help="gangs x size, ...")
    parser.add_argument("--only", default=",".join(CONTESTANTS), help=f"of {', '.join(CONTESTANTS)}")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument(
        "--fairness", action="store_true", help="keep API priority and fairness on, as clusters have it"
    )
    options = parser.parse_args()
    shapes = [Shape(*map(int, shape.split("x"))) for shape in options.shapes.split(",")]
    contestants = [CONTESTANTS[name]() for name in options.only.split(",")]
    print(machine())
    print(
        f"{options.nodes} nodes, pods of 100m cpu, Kubernetes with gate GenericWorkload, etcd without fsync, "
        f"API priority and fairness {'on' if options.fairness else 'off, 1,000 mutating requests in flight'}; "
        "kube-scheduler with 5,000 requests/s; everything on this machine; medians"
    )
    with ControlPlane(gates=["GenericWorkload"], fairness=options.fairness) as plane:
        nodes = make_nodes(plane, options.nodes, cpu="32", memory="128Gi")
        asyncio.run(_compete(plane, nodes, shapes, contestants, options.rounds))


async def _compete(
    plane: ControlPlane, nodes: list[str], shapes: list[Shape], contestants: list[Contestant], rounds: int
) -> None:
    connection = load(kubeconfig=str(plane.kubeconfig()))
    async with Client(connection, user_agent=f"muster-bench/{__version__}") as client:
        course = Course(plane, client, nodes)
        watching = asyncio.create_task(course.watch())
        for shape in shapes:
            runs: dict[str, list[Run]] = {contestant.name: [] for contestant in contestants}
            for number in range(rounds):
                for contestant in contestants:
                    async with contestant.alive(plane):
                        await course.run(contestant, WARM_UP)
                        runs[contestant.name].append(await course.run(contestant, shape))
                    if sys.stderr.isatty():
                        print(f"  {shape}: round {number + 1} of {rounds}, {contestant.name}", file=sys.stderr)
            _print(shape, runs)
        watching.cancel()


def _print(shape: Shape, runs: dict[str, list[Run]]) -> None:
    print(f"\n{shape} pods")
    columns = ("last created → last bind", "first created → last bind", "first bind", "calls/pod", "cpu s", "peak MB")
    print(f"  {'':16}" + "".join(f"{name:>27}" if "→" in name else f"{name:>12}" for name in columns))
    bare = _median(runs.get("bare loop", []), "from_last")
    for name, measured in runs.items():
        last = _median(measured, "from_last")
        ratio = f" ({last / bare:.2f}×)" if bare and name != "bare loop" else ""
        print(
            f"  {name:16}"
            f"{f'{last:.2f} s{ratio}':>27}"
            f"{_show(_median(measured, 'from_first'), 's'):>27}"
            f"{_show(_median(measured, 'first_bind'), 's'):>12}"
            f"{_show(_median(measured, 'calls_per_pod')):>12}"
            f"{_show(_median(measured, 'cpu_seconds')):>12}"
            f"{_show(_median(measured, 'peak_mb')):>12}",
            flush=True,
        )


def _median(runs: list[Run], field: str) -> float:
    values = [value for run in runs if (value := getattr(run, field)) is not None]
    return statistics.median(values) if values else 0.0


def _show(value: float, unit: str = "") -> str:
    return f"{value:.2f} {unit}".strip() if value else "-"


if __name__ == "__main__":
    main()
