"""Plugins by users that are asked on a pod's way to its node: in the role that the engine knows, and for its driver."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from muster.base.errors import PluginError
from muster.cluster.classes import PodClass
from muster.cluster.pods import PodState
from muster.cluster.traits import trait_of
from muster.framework.asking import Asked, has, told
from muster.framework.contract import Attendant
from muster.framework.plugin import Plugin, PodInfo
from muster.framework.questions import Step

__all__ = ["Attends", "undoes_outside"]

UNDO = "unreserve"


def undoes_outside(kind: type[Plugin]) -> bool:
    """Whether the plugin is told by the driver, not by the engine, who is not bound after all."""
    return has(kind, UNDO) and iscoroutinefunction(getattr(kind, UNDO))


class Attends(Attendant):
    """One plugin, and how to ask it where it may wait."""

    def __init__(self, asked: Asked, steps: frozenset[Step], *, undoes: bool) -> None:
        self.name = asked.name
        self.wait_seconds = float(asked.plugin.wait_seconds)
        self.steps = steps
        self.undoes = undoes
        """It is told, as a coroutine, who is not bound after all."""
        self._asked = asked
        self._reads = has(type(asked.plugin), "pre_filter")

    def concerns(self, pod_class: PodClass) -> bool:
        # one that it could not read is its business: it is told so when it is asked
        return not self._reads or trait_of(pod_class.traits, self.name) is not None

    def info(self, pod: PodState) -> PodInfo:
        """The pod as the plugin is told of it; PluginError if it could not read it."""
        return self._asked.info(pod)

    async def why_not(self, step: Step, pod: PodInfo, node: str, *, in_thread: _InThread) -> str | None:
        """What it says to a question; PluginError if that is no answer."""
        return self._asked.checked(step, await self.ask(step, pod, node, in_thread=in_thread))

    async def has_bound(self, pod: PodInfo, node: str, annotations: dict[str, str], *, in_thread: _InThread) -> bool:
        """Whether it has bound the pod; PluginError if it failed to."""
        answer = await self.ask(Step.BIND, pod, node, annotations, in_thread=in_thread)
        if not isinstance(answer, bool):
            raise self._asked.wrong(Step.BIND, answer, "True or False")
        return answer

    async def ask(self, method: str, *given: object, in_thread: _InThread) -> Any:
        """What the method gives; one that is no coroutine is called `in_thread`."""
        asked = getattr(self._asked.plugin, method)
        try:
            if iscoroutinefunction(asked):
                return await asked(*given)
            answer = await in_thread(lambda: asked(*given))
            return await answer if isawaitable(answer) else answer
        except (Exception, SystemExit) as error:
            raise self._asked.failed(method, told(error)) from error

    def failed(self, method: str, why: str) -> PluginError:
        return self._asked.failed(method, why)


_InThread = Callable[[Callable[[], object]], Awaitable[Any]]
