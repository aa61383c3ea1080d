"""`muster replay`: decides a journal again and compares."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
def replay(file: Path) -> int:
    """Decide again what a journal recorded, and compare.

    A journal holds everything that the scheduler was told and decided; `muster run --journal FILE` and
    `muster simulate --journal FILE` write one.  The same input must give the same decisions: exit status 1 and the
    first difference if it does not.
    """
    import msgspec

    from muster.app.settings import make_engine
    from muster.base.errors import JournalError
    from muster.engine import journal

    try:
        with file.open("rb") as lines:
            result = journal.replay(lines, make_engine)
    except JournalError as error:
        raise JournalError(f"{file}: {error}") from error
    except OSError as error:
        raise JournalError(f"{file} cannot be read: {error.strerror}") from error
    difference = result.difference
    if difference is None:
        click.echo(f"decided the same: {result.decisions} decisions in {result.calls} calls")
        return 0

    def show(decision: object) -> str:
        return "nothing" if decision is None else msgspec.json.encode(decision).decode()

    click.echo(f"decided otherwise in line {difference.line} of {file}:")
    click.echo(f"  recorded: {show(difference.recorded)}")
    click.echo(f"  now:      {show(difference.decided)}")
    return 1
