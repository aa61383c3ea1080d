"""Runs the benchmarks named on the command line, or all of them, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys

from benchmarks import company, devices, engine, plugins, preemption
from benchmarks.local import gang, server
from benchmarks.report import machine

BENCHMARKS = {
    **engine.BENCHMARKS,
    **company.BENCHMARKS,
    **preemption.BENCHMARKS,
    **plugins.BENCHMARKS,
    **devices.BENCHMARKS,
    **server.BENCHMARKS,
    **gang.BENCHMARKS,
}


def main() -> None:
    wanted = sys.argv[1:] or list(BENCHMARKS)
    if wanted[0] == "--here":
        BENCHMARKS[wanted[1]]()
        return
    unknown = [name for name in wanted if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no such benchmark: {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}")
    print(machine(), flush=True)
    for name in wanted:
        # what one leaves behind in memory slowed the next by a tenth
        subprocess.run([sys.executable, "-m", "benchmarks", "--here", name], check=True)


if __name__ == "__main__":
    main()
