"""`muster install`: puts Muster into a cluster."""

from __future__ import annotations

import click


@click.command()
@click.option("--second", "role", flag_value="second", default="second", help="Beside the default scheduler (default).")
@click.option("--replace-default", "role", flag_value="replacement", help="In place of the default scheduler.")
@click.option(
    "--crds",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Install muster.dev PodGroups: auto asks the cluster whether it has PodGroups of its own.",
)
@click.option(
    "--dialect",
    "dialects",
    multiple=True,
    metavar="NAME",
    help="Install the kinds of another way to write gangs, as coscheduling; may be given again (docs/dialects.md).",
)
@click.option("--image", metavar="IMAGE", help="Muster's image, like registry.example.com/muster:0.1.0.")
@click.option("--namespace", default="muster-system", show_default=True, metavar="NAME", help="Where Muster runs.")
@click.option("--kubeconfig", metavar="FILE", help="Which cluster, as with kubectl.")
@click.option("--context", metavar="NAME", help="Which context of the kubeconfig.")
@click.option("--insecure-skip-tls-verify", "insecure", is_flag=True, help="Let the kubeconfig skip the check of TLS.")
@click.option("--dry-run", is_flag=True, help="Print the manifests; change nothing.")
@click.option("--apply", "apply_", is_flag=True, help="Apply the manifests to the cluster.")
def install(
    *,
    role: str,
    crds: str,
    dialects: tuple[str, ...],
    image: str | None,
    namespace: str,
    kubeconfig: str | None,
    context: str | None,
    insecure: bool,
    dry_run: bool,
    apply_: bool,
) -> None:
    """Install Muster into a cluster, or print what would be installed.

    The manifests are those of deploy/ in the source.  Applying them again changes only what differs.

    \b
    Examples:
      muster install --dry-run --crds always > muster.yaml
      muster install --apply --image registry.example.com/muster:0.1.0
      muster install --apply --dialect coscheduling --dialect subsets
    """
    import asyncio

    from muster.app.dialects import chosen
    from muster.app.install import Plan, carry_out

    if dry_run == apply_:
        raise click.UsageError("say either --dry-run to print the manifests or --apply to apply them")
    plan = Plan(
        replace_default=role == "replacement",
        crds=None if crds == "auto" else crds == "always",
        dialects=chosen(dialects),
        image=image,
        namespace=namespace,
    )
    asyncio.run(
        carry_out(
            plan,
            apply_them=apply_,
            kubeconfig=kubeconfig,
            context=context,
            insecure=insecure,
            tell=click.echo,
        )
    )
