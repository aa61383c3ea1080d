"""`muster simulate`: runs scenario files in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli.config import config_option, settings_of

if TYPE_CHECKING:
    from muster.sim.scenario.file import Scenario
    from muster.sim.scenario.run import Result


def _seconds(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    from muster.sim.scenario.times import parse_seconds

    try:
        plain = value is not None and value.replace(".", "", 1).isdigit()
        return None if value is None else parse_seconds(float(value) if plain else value)
    except ValueError:
        raise click.BadParameter(f"'{value}' is not a time: write 5s, 1m30s or 2h") from None


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@config_option
@click.option(
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="A timeline and tables for people, or the same as JSON.",
)
@click.option(
    "--journal",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what the scheduler was told and decided to this file, for `muster replay`.",
)
@click.option("--until", callback=_seconds, metavar="TIME", help="Stop after this much virtual time, like 90s or 5m.")
def simulate(
    files: tuple[Path, ...], config: Path | None, output: str, journal: Path | None, until: float | None
) -> int:
    """Run scenarios in virtual time and check what they expect.

    A scenario is a YAML file: a cluster, what happens to it and when, and what is expected to be seen.  The
    scheduler that decides is the real one; only the cluster and the clock are made up, so hours take
    milliseconds and every run gives the same result.

    \b
    Examples:
      muster simulate scenarios/demo.yaml
      muster simulate scenarios/*.yaml --output json
      muster simulate my-scenario.yaml --config my-plugins.yaml
    """
    from muster.sim.scenario.file import load

    if journal is not None and len(files) > 1:
        raise click.UsageError("--journal takes one FILE, since a journal is of one run")
    read = files if config is None else (*files, config)
    if journal is not None and journal.exists() and any(file.exists() and journal.samefile(file) for file in read):
        raise click.UsageError("--journal would overwrite what is read")
    # all are read before any is run: a mistake in the last file is told at once
    settings = settings_of(config)
    scenarios = [load(path, parts=() if settings is None else settings.parts) for path in files]
    results = [_run(scenario, journal, until) for scenario in scenarios]
    if output == "json":
        _print_json(results)
    else:
        from muster.cli.render import Printer

        Printer().results(results)
    return 0 if all(result.held for result in results) else 1


def _run(scenario: Scenario, journal: Path | None, until: float | None) -> Result:
    from muster.base.errors import JournalError
    from muster.sim.scenario.run import run

    if journal is None:
        return run(scenario, until=until)
    try:
        with journal.open("wb") as file:
            return run(scenario, until=until, journal=file.write)
    except OSError as error:
        raise JournalError(f"{journal} cannot be written: {error.strerror}") from error


def _print_json(results: list[Result]) -> None:
    import msgspec

    held = all(result.held for result in results)
    data = msgspec.json.encode({"held": held, "scenarios": results})
    click.echo(msgspec.json.format(data, indent=2))
