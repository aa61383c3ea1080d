"""`muster up`: a whole little cluster, until Ctrl-C."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muster.cli.config import config_option, settings_of

if TYPE_CHECKING:
    from muster.app.up import Cluster, Wanted

_FOLDER = Path("~/.muster")
_MOST_DEVICES = 128
"""In a slice."""


@click.command()
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=_FOLDER,
    help="Where its data, its log and its kubeconfig are.  [default: ~/.muster]",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Of the API server.  [default: 7443, or any if it is taken]"
)
@click.option("--nodes", type=click.IntRange(0, 5000), default=3, show_default=True, help="How many nodes.")
@click.option("--node-cpu", default="8", show_default=True, metavar="QUANTITY", help="Of each node.")
@click.option("--node-memory", default="32Gi", show_default=True, metavar="QUANTITY", help="Of each node.")
@click.option("--node-gpu", type=click.IntRange(0), default=0, show_default=True, help="nvidia.com/gpu of each node.")
@click.option("--node-label", "node_labels", multiple=True, metavar="K=V", help="On each node; may be given again.")
@click.option(
    "--node-devices",
    "node_devices",
    multiple=True,
    metavar="DRIVER=N",
    help="Devices of each node, as gpu.muster.dev=8; may be given again (docs/local.md).",
)
@click.option(
    "--dialect",
    "dialects",
    multiple=True,
    metavar="NAME",
    help="Serve the kinds of another way to write gangs, as coscheduling; may be given again (docs/dialects.md).",
)
@config_option
@click.option("--ephemeral", is_flag=True, help="Keep everything in memory.")
@click.option(
    "--no-scheduler", is_flag=True, help="Without Muster: pods stay where they are until somebody binds them."
)
@click.option(
    "--feature-gates",
    multiple=True,
    metavar="NAME=true|false,...",
    help="Switch features on or off, as for Kubernetes: GenericWorkload, GangScheduling, WorkloadAwarePreemption, "
    "DelayedPreemption, PodGroup, WorkloadBasicPolicyDesiredCount.  [default: on]",
)
@click.option("--no-kubelets", is_flag=True, help="Without nodes: register your own, and play their kubelets.")
def up(**flags: Any) -> int:
    """Start a whole little cluster: API server, nodes, controllers and the scheduler.

    It speaks the Kubernetes API, listens on this machine only, and runs no containers: pods are simulated.
    Ctrl-C stops it; the next `muster up` finds everything as it was.

    \b
    Examples:
      muster up
      muster up --nodes 20 --node-gpu 8 --node-label pool=train
      muster up --node-devices gpu.muster.dev=8
      muster up --dialect coscheduling --dialect volcano
      muster up --ephemeral --dir /tmp/try
      muster up --config my-plugins.yaml
    """
    import asyncio

    from muster.app import logs

    logs.configure(level="warning")
    return asyncio.run(_run(_wanted(flags)))


def _wanted(flags: dict[str, Any]) -> Wanted:
    from muster.app.dialects import chosen
    from muster.app.gates import read_gates
    from muster.app.settings import Settings
    from muster.app.up import Wanted

    for name in ("node_cpu", "node_memory"):
        _check_quantity(flags[name], hint=f"--{name.replace('_', '-')}")
    return Wanted(
        settings=settings_of(flags["config"]) or Settings(),
        folder=flags["folder"].expanduser(),
        port=flags["port"],
        nodes=flags["nodes"],
        node_cpu=flags["node_cpu"],
        node_memory=flags["node_memory"],
        node_gpu=flags["node_gpu"],
        node_labels=dict(map(_label, flags["node_labels"])),
        node_devices=dict(map(_devices, flags["node_devices"])),
        dialects=chosen(flags["dialects"]),
        ephemeral=flags["ephemeral"],
        scheduler=not flags["no_scheduler"],
        kubelets=not flags["no_kubelets"],
        gates=read_gates(flags["feature_gates"]),
    )


def _check_quantity(text: str, *, hint: str) -> None:
    from muster.base.errors import QuantityError
    from muster.base.quantity import nanos

    try:
        if nanos(text) < 0:
            raise click.BadParameter(f"'{text}' is less than nothing", param_hint=hint)
    except QuantityError as error:
        raise click.BadParameter(str(error), param_hint=hint) from error


def _devices(text: str) -> tuple[str, int]:
    from muster.local.checks.names import subdomain_problems

    driver, _, count = text.partition("=")
    if not count.isdecimal() or not 0 < int(count) <= _MOST_DEVICES:
        words = f"'{text}' is not DRIVER=N, with N from 1 to {_MOST_DEVICES}"
        raise click.BadParameter(words, param_hint="--node-devices")
    if "." not in driver or len(driver) > 63 or subdomain_problems(driver):
        raise click.BadParameter(f"'{driver}' is no name of a driver, as gpu.muster.dev", param_hint="--node-devices")
    return driver, int(count)


def _label(text: str) -> tuple[str, str]:
    from muster.local.checks.names import label_value_problems, qualified_problems

    key, equals, value = text.partition("=")
    if not key or not equals:
        raise click.BadParameter(f"'{text}' is not KEY=VALUE", param_hint="--node-label")
    if problems := qualified_problems(key) or label_value_problems(value):
        raise click.BadParameter(f"'{text}': {problems[0]}", param_hint="--node-label")
    return key, value


async def _run(wanted: Wanted) -> int:
    import asyncio
    import signal

    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    running = asyncio.ensure_future(_stay_up(wanted))
    stopping: asyncio.Future[Any] = asyncio.ensure_future(stop.wait())
    await asyncio.wait([stopping, running], return_when=asyncio.FIRST_COMPLETED)
    if not running.done():
        click.echo("stopping ...", err=True)
    for task in (stopping, running):
        # it may be starting still
        task.cancel()
    await asyncio.wait([running])
    if not running.cancelled():
        running.result()
    return 0


async def _stay_up(wanted: Wanted) -> None:
    """Until it is cancelled, or a part of the cluster fails."""
    from muster.app.up import up

    async with up(wanted, say=lambda words: click.echo(f"{words} ...", err=True)) as cluster:
        _tell(cluster)
        await cluster.failed


def _tell(cluster: Cluster) -> None:
    nodes = f"{cluster.nodes} node{'' if cluster.nodes == 1 else 's'}"
    click.echo(f"Muster is up: {nodes}, Kubernetes API on https://127.0.0.1:{cluster.port}. Ctrl-C stops it.")
    click.echo("\nIn another terminal:\n")
    click.echo(f"  export KUBECONFIG={cluster.kubeconfig}")
    click.echo("  kubectl get nodes")
