"""Runs the benchmarks named on the command line, or all of them."""

from __future__ import annotations

import sys

from benchmarks.engine import BENCHMARKS
from benchmarks.report import machine


def main() -> None:
    wanted = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in wanted if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no such benchmark: {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}")
    print(machine())
    for name in wanted:
        BENCHMARKS[name]()


if __name__ == "__main__":
    main()
