"""`muster run`: schedules a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option("--kubeconfig", type=_FILE, help="Where the cluster is and who we are; the usual places if not given.")
@click.option("--context", help="A context of the kubeconfig other than its current one.")
@click.option("--config", type=_FILE, help="A KubeSchedulerConfiguration file; flags override it.")
@click.option(
    "--scheduler-name",
    "scheduler_names",
    multiple=True,
    metavar="NAME",
    help="Schedule pods that name this scheduler; may be given more than once.  [default: muster]",
)
@click.option(
    "--feature-gates",
    multiple=True,
    metavar="NAME=true|false,...",
    help="Switch features on or off, as for kube-scheduler: GenericWorkload, GangScheduling, WorkloadAwarePreemption, "
    "DelayedPreemption, PodGroup, WorkloadBasicPolicyDesiredCount.  [default: on]",
)
@click.option("--leader-elect/--no-leader-elect", default=None, help="Whether replicas agree on one that acts.")
@click.option(
    "--listen", metavar="HOST:PORT", help="Where /healthz, /readyz and /metrics are.  [default: 127.0.0.1:10261]"
)
@click.option("--journal", type=_FILE, help="Append what is told and decided to this file, for `muster replay`.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default=None, help="How log lines look.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default=None,
    help="The least that is logged.",
)
@click.option(
    "--insecure-skip-tls-verify",
    "insecure",
    is_flag=True,
    default=None,
    help="Let the kubeconfig skip the check of TLS.",
)
def run(
    config: Path | None,
    leader_elect: bool | None,
    scheduler_names: tuple[str, ...],
    feature_gates: tuple[str, ...],
    **flags: Any,
) -> int:
    """Schedule the pods of a Kubernetes cluster.

    Pods that name the scheduler `muster` are placed by it, beside any other scheduler.  Replicas elect a leader;
    the others stand by.  Ctrl-C or SIGTERM ends it when what was decided is done.

    \b
    Examples:
      muster run
      muster run --kubeconfig dev.yaml --scheduler-name muster --scheduler-name default-scheduler
    """
    import asyncio

    from muster.app import logs
    from muster.app.configuration import load
    from muster.app.gates import read_gates, with_gates
    from muster.app.settings import Settings, override

    settings = Settings()
    notes: tuple[str, ...] = ()
    if config is not None:
        configuration = load(config)
        settings, notes = configuration.settings, configuration.notes
    settings = override(settings, scheduler_names=scheduler_names or None, **flags)
    settings = with_gates(settings, read_gates(feature_gates))
    if leader_elect is not None:
        import msgspec

        election = msgspec.structs.replace(settings.leader_election, enabled=leader_elect)
        settings = override(settings, leader_election=election)
    logs.configure(form=settings.log_format, level=settings.log_level)
    return asyncio.run(_serve(settings, notes))


async def _serve(settings: Any, notes: Any) -> int:
    import asyncio
    import signal

    import structlog

    from muster.app.run import Muster

    log = structlog.get_logger()
    for note in notes:
        log.warning(note)
    muster = Muster(settings)
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        """The first asks, the second does not."""
        loop.remove_signal_handler(number)
        muster.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    await muster.run()
    return 0
