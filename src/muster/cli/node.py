"""`muster node`: what befalls the nodes of an embedded cluster."""

from __future__ import annotations

from pathlib import Path

import click

_FOLDER = click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("~/.muster"),
    help="The cluster's folder, as for `muster up`.  [default: ~/.muster]",
)


@click.group()
def node() -> None:
    """Take a node of `muster up` down, or bring it back."""


@node.command()
@click.argument("name")
@_FOLDER
def down(name: str, folder: Path) -> int:
    """Let a node die: no sign of life, its pods are lost after a while."""
    return _set_down(name, folder, is_down=True)


@node.command()
@click.argument("name")
@_FOLDER
def up(name: str, folder: Path) -> int:
    """Bring a node back."""
    return _set_down(name, folder, is_down=False)


def _set_down(name: str, folder: Path, *, is_down: bool) -> int:
    import asyncio

    from muster.app.up import set_down

    asyncio.run(set_down(folder.expanduser(), name, is_down=is_down))
    click.echo(f"{name} is {'down' if is_down else 'up again'}.")
    return 0
