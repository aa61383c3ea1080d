"""What became of scenarios, for people: coloured and wrapped on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

import click
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from muster.sim.scenario.run import Checked, Result, UnitReport
from muster.sim.scenario.story import Line
from muster.sim.scenario.times import show_seconds

# Text is hard to read in longer lines; in files nothing else is wrapped, for people search in them.
_WIDEST_TEXT = 100
_UNWRAPPED = 10_000

_STYLES = {
    # of lines in the timeline
    "starts": "green",
    "grows": "green",
    "ends": "blue",
    "waits": "yellow",
    "partial": "yellow",
    "loses": "red",
    "is out of time": "red",
    "fails": "red",
    # of states in the table
    "running": "green",
    "ended": "blue",
    "waiting": "yellow",
    "short": "red",
}


class Printer:
    """Writes to standard output."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False, emoji=False)
        if not self._console.is_terminal:
            self._console.width = _UNWRAPPED

    def results(self, results: list[Result]) -> None:
        """One scenario in full; of many what failed."""
        if len(results) == 1:
            self._whole(results[0])
            return
        for result in results:
            self._brief(result)
        failed = sum(not result.held for result in results)
        if failed:
            self._line(f"{failed} of {len(results)} scenarios failed.", "bold red")
        else:
            self._line(f"All {len(results)} scenarios held.", "bold green")

    def _whole(self, result: Result) -> None:
        self._line(result.name, "bold")
        if result.about:
            self._show(Text(result.about), width=min(self._console.width, _WIDEST_TEXT))
        self._line(f"\nCluster: {result.nodes}\n")
        self._show(_timeline(result.timeline))
        self._line()
        self._show(_units(result.units))
        self._line()
        for checks in _by_subject(result.expectations):
            self._checks(checks)
        self._too_late(result)
        self._line(*_summary(result))

    def _brief(self, result: Result) -> None:
        self._marked(result.held, f"{result.file}: {result.name}")
        for check in result.expectations:
            if not check.held:
                self._line(f"    {check}", "red")
        self._too_late(result)

    def _checks(self, checks: list[Checked]) -> None:
        if held := [f"{check.aspect} {check.wanted}" for check in checks if check.held]:
            self._marked(True, f"{checks[0].when}, {checks[0].subject}: {', '.join(held)}")
        for check in checks:
            if not check.held:
                self._marked(False, str(check))

    def _too_late(self, result: Result) -> None:
        if result.not_reached:
            self._line(f"{_expectations(result.not_reached)} not checked: later than --until.", "yellow")

    def _marked(self, held: bool, text: str) -> None:
        grid = Table.grid(padding=(0, 1))
        grid.add_row(Text("✓", "green") if held else Text("✗", "red"), Text(text))
        self._show(grid)

    def _line(self, text: str = "", style: str = "") -> None:
        self._show(Text(text, style))

    def _show(self, what: RenderableType, width: int | None = None) -> None:
        if self._console.is_terminal:
            self._console.print(what, width=width)
            return
        # tables pad their last column, which shows when lines are compared
        with self._console.capture() as captured:
            self._console.print(what, width=width)
        for line in captured.get().splitlines():
            click.echo(line.rstrip())


def _timeline(lines: Iterable[Line]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right", min_width=6, no_wrap=True)
    grid.add_column(overflow="fold")
    before = ""
    for line in lines:
        time = show_seconds(line.at)
        grid.add_row(Text(time if time != before else "", "bold"), Text(line.text, _STYLES.get(line.kind, "")))
        before = time
    return grid


def _units(units: Iterable[UnitReport]) -> Table:
    rows = [
        (
            unit.name if unit.gang else f"{unit.name} (no gang)",
            str(unit.members),
            "-" if unit.min is None else str(unit.min),
            unit.state.value,
            show_seconds(unit.waited),
            _moment(unit.started),
            _moment(unit.ended),
            unit.why,
        )
        for unit in units
    ]
    names = ("name", "pods", "min", "state", "waited", "started", "ended")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, name in enumerate(names):
        # without a minimum a long reason would squeeze these columns to nothing
        width = max(len(name), *(len(row[number]) for row in rows), 0)
        table.add_column(name, justify="right" if name in ("pods", "min") else "left", min_width=width)
    if any(row[-1] for row in rows):
        # on a terminal one line is enough: the timeline has told it in full
        table.add_column("why it waits", overflow="ellipsis", no_wrap=True)
    for *cells, why in rows:
        shown = [Text(cell, _STYLES.get(cell, "") if cell == cells[3] else "") for cell in cells]
        table.add_row(*shown, *([why] if why else []))
    return table


def _moment(at: float | None) -> str:
    return "-" if at is None else show_seconds(at)


def _by_subject(checks: Iterable[Checked]) -> list[list[Checked]]:
    """Expectations of the same time and subject share a line."""
    groups: dict[tuple[str, str], list[Checked]] = {}
    for check in checks:
        groups.setdefault((check.when, check.subject), []).append(check)
    return list(groups.values())


def _summary(result: Result) -> tuple[str, str]:
    total = len(result.expectations)
    missed = sum(not check.held for check in result.expectations)
    if missed:
        return f"{missed} of {_expectations(total)} did not hold.", "bold red"
    if not total:
        return "Nothing was checked.", "bold"
    return ("The expectation held." if total == 1 else f"All {_expectations(total)} held."), "bold green"


def _expectations(count: int) -> str:
    return "1 expectation" if count == 1 else f"{count} expectations"
