"""How long a new process takes until it has read a full cluster and bound its first pod."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time

import msgspec

from benchmarks.kube.contestants import Muster
from benchmarks.report import machine
from controlplane.nodes import make_nodes
from controlplane.plane import ControlPlane
from muster import __version__
from muster.api.resources import PODS
from muster.api.wire import Pod
from muster.kube.client import Client
from muster.kube.connection import load

_NAMESPACE = "default"
_IN_FLIGHT = 16


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kube.start_up", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(machine())
    with ControlPlane(gates=["GenericWorkload"], fairness=False) as plane:
        nodes = make_nodes(plane, options.nodes, cpu="32", memory="128Gi")
        asyncio.run(_measure(plane, nodes, pods=options.pods, rounds=options.rounds))


async def _measure(plane: ControlPlane, nodes: list[str], *, pods: int, rounds: int) -> None:
    async with Client(load(kubeconfig=str(plane.kubeconfig())), user_agent=f"muster-bench/{__version__}") as client:
        left = list(range(pods))

        async def fill() -> None:
            while left:
                number = left.pop()
                await _create(client, f"old-{number}", node=nodes[number % len(nodes)])

        await asyncio.gather(*(fill() for _ in range(_IN_FLIGHT)))
        seconds, peaks = [], []
        for number in range(rounds):
            await _create(client, f"new-{number}")
            muster, began = Muster(), time.monotonic()
            async with muster.alive(plane):
                while not (await _read(client, f"new-{number}")).spec.node_name:
                    await asyncio.sleep(0.02)
                seconds.append(time.monotonic() - began)
                used = muster.used()
                assert used is not None
                peaks.append(used.peak_mb)
    print(
        f"{len(nodes)} nodes, {pods} pods: from starting the process to its first bind "
        f"{statistics.median(seconds):.2f} s (of {', '.join(f'{one:.2f}' for one in seconds)}), "
        f"at most {max(peaks):.0f} MB"
    )


async def _create(client: Client, name: str, node: str = "") -> None:
    requests = {"cpu": "100m", "memory": "100Mi"}
    spec: dict[str, object] = {
        "schedulerName": "muster",
        "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}],
    }
    if node:
        spec["nodeName"] = node
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    await client.request("POST", PODS.path(_NAMESPACE), body=msgspec.json.encode(document))


async def _read(client: Client, name: str) -> Pod:
    return msgspec.json.decode(await client.request("GET", PODS.path(_NAMESPACE, name)), type=Pod)


if __name__ == "__main__":
    main()
