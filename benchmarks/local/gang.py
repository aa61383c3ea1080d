"""A large gang on a whole embedded cluster: from the last creation to the last bind."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.kube.cluster import Cluster, pod
from benchmarks.report import line, title
from muster.kube.client import Client
from muster.kube.connection import load
from muster.local.process.identity import KUBECONFIG

_SIZE, _NODES, _CPU = 2_000, 100, 32
_ROUNDS = 3


def gang() -> None:
    title(f"muster up: one gang of {_SIZE:,} pods on {_NODES} nodes of {_CPU} cpu, kubelets and controllers at work")
    with _up() as kubeconfig:
        runs = asyncio.run(_runs(kubeconfig))
    last, first = ([one[number] for one in runs] for number in (0, 1))
    line(
        f"median of {_ROUNDS}",
        f"{statistics.median(last):.2f} s from the last creation to the last bind",
        f"{statistics.median(first):.2f} s from the first creation",
    )


@contextmanager
def _up() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        command = [sys.executable, "-m", "muster", "up", "--dir", folder, "--port", "0"]
        command += ["--nodes", str(_NODES), "--node-cpu", str(_CPU), "--node-memory", "256Gi"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            try:
                process.stdout.readline()
                yield Path(folder) / KUBECONFIG
            finally:
                process.terminate()


async def _runs(kubeconfig: Path) -> list[tuple[float, float]]:
    async with Client(load(kubeconfig=str(kubeconfig)), user_agent="muster-bench") as client:
        cluster = Cluster(client)
        watching = asyncio.create_task(cluster.watch())
        try:
            return [await _run(cluster, number) for number in range(_ROUNDS)]
        finally:
            watching.cancel()


async def _run(cluster: Cluster, number: int) -> tuple[float, float]:
    group = f"gang{number}"
    first = time.monotonic()
    await cluster.create_group(group, _SIZE)
    created = await cluster.create_pods(
        pod(f"{group}-{member}", "muster", cpu="1", group=group, grace_seconds=0) for member in range(_SIZE)
    )
    last = time.monotonic()
    uids = {one.metadata.uid for one in created}
    await cluster.until(lambda: cluster.bound.keys() >= uids)
    end = max(cluster.bound[uid] for uid in uids)
    await cluster.clear()
    return end - last, end - first


BENCHMARKS = {"embedded-gang": gang}
