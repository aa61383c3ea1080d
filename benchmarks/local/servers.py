"""The servers that are compared, each in processes of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from benchmarks.local.load import Order
from controlplane import build
from controlplane.plane import ControlPlane
from muster.local.process.identity import Identity


class Serving(msgspec.Struct):
    """A server that runs."""

    name: str
    kubeconfig: Path
    pids: tuple[int, ...]

    def memory_mb(self) -> float:
        """What its processes hold now."""
        lines = [line for pid in self.pids for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


@contextmanager
def embedded() -> Iterator[Serving]:
    """With its log on disk, as `muster up` has it."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        command = [sys.executable, "-m", "muster.local", folder, "--port", "0"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                port = int(process.stdout.readline())
                yield Serving("embedded", Identity(Path(folder)).write_kubeconfig(port), (process.pid,))
            finally:
                process.stdin.close()
                process.wait(30)


@contextmanager
def real() -> Iterator[Serving]:
    with ControlPlane(gates=["GenericWorkload"], fairness=False) as plane:
        yield Serving("kube-apiserver", plane.kubeconfig(), (plane.apiserver.pid, plane.etcd.pid))


def real_is_there() -> bool:
    return not build.missing(["etcd", "kube-apiserver", "kubectl"], build.KUBERNETES)


class Client:
    """A process that puts load on a server."""

    def __init__(self, serving: Serving) -> None:
        command = [sys.executable, "-m", "benchmarks.local.load", str(serving.kubeconfig)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def seconds(self, do: str, count: int = 0, prefix: str = "") -> float:
        """How long it took."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(Order(do, count, prefix)) + b"\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())
