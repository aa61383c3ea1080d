"""`--config` of commands that have no log of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from muster.app.settings import Settings

config_option = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A KubeSchedulerConfiguration file: which plugins decide, and how.",
)


def settings_of(config: Path | None) -> Settings | None:
    """What the file says, None without one; what has no effect of it is told on standard error."""
    from muster.app.configuration import load

    if config is None:
        return None
    found = load(config)
    for note in found.notes:
        click.echo(f"muster: {note}", err=True)
    return found.settings
