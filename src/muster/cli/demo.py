"""`muster demo`: half a minute of gang scheduling, on a cluster that is gone afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from muster.app.demo import Chapter, Gang, Stage, View

_COLOURS = ("red", "blue", "magenta", "yellow", "green", "cyan")
_NEXT = """\
What to try next:

  muster up                     a cluster like this one, to keep
  kubectl get podgroups -w      in another terminal, with the kubeconfig that it names
  muster simulate scenarios/    the same stories and many more, in virtual time
  muster run                    on a real cluster
"""


@click.command()
def demo() -> int:
    """Watch gangs being scheduled on a little cluster, for half a minute.

    The cluster is the one of `muster up`: a real API server and the real scheduler; only the containers are not real.
    """
    import asyncio
    import tempfile
    from pathlib import Path

    from muster.app import logs

    logs.configure(level="error")
    with tempfile.TemporaryDirectory(prefix="muster-demo-") as folder:
        try:
            return asyncio.run(_demo(Path(folder)))
        except KeyboardInterrupt:
            return 130


async def _demo(folder: Path) -> int:
    import asyncio
    from contextlib import AsyncExitStack

    from muster.app.demo import NODE_COUNT, NODE_CPU, STORY, Stage
    from muster.app.up import Wanted, up
    from muster.kube.client import Client
    from muster.kube.connection import load

    wanted = Wanted(folder=folder, port=0, nodes=NODE_COUNT, node_cpu=str(NODE_CPU), ephemeral=True)
    screen = _screen()
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(up(wanted, say=screen.progress))
        client = Client(load(kubeconfig=str(cluster.kubeconfig)), user_agent="muster-demo")
        stage = Stage(await stack.enter_async_context(client))
        watching = asyncio.create_task(stage.watch())
        stack.callback(watching.cancel)
        with screen.live(stage):
            for chapter in STORY:
                await screen.tell(stage, chapter)
    click.echo(f"\n{_NEXT}")
    return 0


def _screen() -> _Screen:
    import sys

    return _Terminal() if sys.stdout.isatty() else _Screen()


class _Screen:
    """Plain lines, for logs and pipes."""

    def progress(self, words: str) -> None:
        click.echo(f"{words} ...")

    def live(self, stage: Stage) -> _Screen:
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    async def tell(self, stage: Stage, chapter: Chapter) -> None:
        click.echo(f"\n{chapter.words}")
        await stage.tell(chapter)
        for gang in stage.view().gangs:
            click.echo(f"  {gang.name}: {_state(gang)}" + (f"; {gang.says}" if gang.says and not gang.started else ""))
        if chapter.then:
            click.echo(chapter.then)


class _Terminal(_Screen):
    """A picture that changes as the cluster does."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(highlight=False, markup=False, emoji=False)
        self._words: list[str] = []

    def live(self, stage: Stage) -> _Terminal:
        from rich.live import Live

        self._live = Live(console=self._console, refresh_per_second=10, get_renderable=lambda: self._picture(stage))
        return self

    def __enter__(self) -> None:
        self._live.__enter__()

    def __exit__(self, *_: object) -> None:
        self._live.__exit__(None, None, None)

    async def tell(self, stage: Stage, chapter: Chapter) -> None:
        import asyncio

        self._words = [chapter.words]
        await stage.tell(chapter)
        self._words.append(chapter.then)
        await asyncio.sleep(chapter.rest_seconds)

    def _picture(self, stage: Stage) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        view = stage.view()
        return Group(_nodes(view), Text(), _gangs(view), Text(), *(Text(words) for words in self._words), Text())


def _nodes(view: View) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for name, cpus in view.nodes:
        bar = Text()
        for gang in cpus:
            bar.append("■ " if gang else "· ", style=_colour(view, gang) if gang else "dim")
        table.add_row(name, bar)
    return table


def _gangs(view: View) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for gang in view.gangs:
        says = gang.says if not gang.started else ""
        table.add_row(Text(gang.name, style=_colour(view, gang.name)), _state(gang), Text(says, style="dim"))
    return table


def _state(gang: Gang) -> str:
    if not gang.pods:
        # a PodGroup comes before its pods
        return "evicted, none of its pods is left" if gang.has_run else "has no pods yet"
    if gang.ended and not gang.bound:
        return f"done, {gang.ended} pods"
    if gang.bound:
        return f"{gang.running} of {gang.minimum} running"
    return f"waits, 0 of {gang.minimum} bound"


def _colour(view: View, gang: str) -> str:
    if gang in _COLOURS:
        return gang
    names = [one.name for one in view.gangs if one.name not in _COLOURS]
    return _COLOURS[2 + names.index(gang) % 4] if gang in names else "white"
