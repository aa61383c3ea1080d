"""The `muster` command.  Commands have no logic of their own and import what they need when they run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from muster import __version__
from muster.base.errors import KubeconfigError, KubeError, MusterError
from muster.cli.convert import convert
from muster.cli.demo import demo
from muster.cli.install import install
from muster.cli.node import node
from muster.cli.replay import replay
from muster.cli.run import run
from muster.cli.simulate import simulate
from muster.cli.up import up

FAILED = 1
"""Exit status: what was asked for did not come out as it should."""
BAD_INPUT = 2
"""Exit status: the input cannot be used."""
INTERRUPTED = 130


class _Command(click.Group):
    """Says what is wrong with the input in one line on standard error."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        extra["standalone_mode"] = False
        try:
            status = super().main(args, *rest, **extra)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "muster"
            message = error.format_message().removesuffix(".")
            _leave(f"{message} (see {command} --help)")
        except click.ClickException as error:
            _leave(error.format_message())
        except MusterError as error:
            refused = isinstance(error, KubeError) and not isinstance(error, KubeconfigError)
            _leave(str(error), FAILED if refused else BAD_INPUT)
        except click.Abort:
            sys.exit(INTERRUPTED)
        sys.exit(status if isinstance(status, int) else 0)


def _leave(message: str, status: int = BAD_INPUT) -> NoReturn:
    click.echo(f"muster: {' '.join(message.split())}", err=True)
    sys.exit(status)


@click.group(
    "muster",
    cls=_Command,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start here: muster demo",
)
@click.version_option(__version__, prog_name="muster", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Muster schedules gangs on Kubernetes: groups of pods that start whole or not at all.

    \b
    Exit status:
      0  everything went as it should
      1  it did not: an expectation failed, a replay decided otherwise, a manifest cannot be converted,
         a cluster refused or cannot be reached
      2  the input cannot be used; one line on standard error says why
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


main.add_command(demo)
main.add_command(up)
main.add_command(node)
main.add_command(run)
main.add_command(install)
main.add_command(convert)
main.add_command(simulate)
main.add_command(replay)
