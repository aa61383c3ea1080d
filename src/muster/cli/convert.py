"""`muster convert`: rewrites manifests of any dialect."""

from __future__ import annotations

import click

_FAILED = 1


@click.command()
@click.option(
    "-f",
    "--filename",
    "names",
    multiple=True,
    required=True,
    metavar="FILE",
    help="A file, a folder of *.yaml, *.yml and *.json, or - for standard input; may be given several times.",
)
@click.option(
    "--to",
    "target",
    type=click.Choice(["v1beta1", "muster"]),
    default="v1beta1",
    show_default=True,
    help="scheduling.k8s.io/v1beta1, named by a field of pods; or muster.dev/v1beta1, named by a label.",
)
def convert(names: tuple[str, ...], target: str) -> int:
    """Rewrite the gangs in manifests to v1beta1.

    Reads the PodGroups and Workloads of Kubernetes 1.35 to 1.37, Coscheduling, Volcano, KAI and Muster, pods and the
    pod templates of any kind, and prints them as YAML with every gang as v1beta1 has it.  All else stays as it is, in
    its order; comments are lost.  Lines on standard error say what is lost or means something else.

    \b
    Exit status: 1 if something cannot be converted; then nothing is printed but why.

    \b
    Examples:
      muster convert -f old.yaml > new.yaml
      helm template training | muster convert --to muster -f -
    """
    from muster.app.convert import TARGETS
    from muster.app.convert import convert as converted
    from muster.app.manifests import read, to_yaml

    found = converted(read(names), target=TARGETS[target])
    for line in found.errors or found.notes:
        click.echo(f"muster: {line}", err=True)
    if found.errors:
        return _FAILED
    click.echo(to_yaml(found.manifests), nl=False)
    return 0
