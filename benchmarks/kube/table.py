"""Medians of several runs, side by side."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence


def median(runs: Iterable[object], field: str) -> float:
    """Of a field; 0 where nobody measured it."""
    values = [value for run in runs if (value := getattr(run, field)) is not None]
    return statistics.median(values) if values else 0.0


def show(value: float, unit: str = "") -> str:
    return f"{value:.2f} {unit}".strip() if value else "-"


def against(seconds: float, bare: float) -> str:
    """With the ratio to what the bare loop took, if it ran."""
    return f"{seconds:.2f} s" + (f" ({seconds / bare:.2f}×)" if bare else "")


def print_table(title: str, columns: Sequence[str], lines: Mapping[str, Sequence[str]]) -> None:
    print(f"\n{title}")
    print(f"  {'':16}" + "".join(f"{name:>{_width(name)}}" for name in columns))
    for name, cells in lines.items():
        print(
            f"  {name:16}" + "".join(f"{cell:>{_width(c)}}" for cell, c in zip(cells, columns, strict=True)), flush=True
        )


def _width(column: str) -> int:
    return max(12, len(column) + 2)
