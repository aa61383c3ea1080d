"""Asks plugins by users what may take its time, outside the engine's turns: may a pod go, prepare its node, bind it.

    asked → answered                       → bound: told
          ↘ withdrawn: what runs is cancelled, then undone

Coroutines run beside everything else; plain functions run in a thread each, so many at once of one plugin.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

import structlog

from muster.app.inbox import Sink
from muster.base.errors import PluginError
from muster.cluster.pods import PodState
from muster.engine.changes import Answered
from muster.engine.decisions import Consult, Placement, TellBound, Withdraw
from muster.framework.attending import UNDO, Attends
from muster.framework.plugin import PodInfo
from muster.framework.profile import Profiles
from muster.framework.questions import Question, Step

__all__ = ["Attendance"]

_log = structlog.get_logger()

# calls that hang keep their threads: more than so many of one plugin wait
_MOST_THREADS = 64
# who is cancelled may tidy up for so long before it is told that the pod is not bound
_LAST_WORDS_SECONDS = 10.0
_ASK_AGAIN_SECONDS = 0.1

_Troubled = Callable[[str, PluginError], None]


class _Visit:
    """One plugin is asked about one pod."""

    def __init__(self, attendant: Attends, info: PodInfo, node: str) -> None:
        self.attendant = attendant
        self.info = info
        self.node = node
        self.running: list[asyncio.Task[None]] = []
        self.is_over = False
        """Nobody waits for what it says any more."""


class Attendance:
    """Asks what the engine wants asked, and answers it.

    `pods` has the engine's pods, `may_ask` says whether this replica still leads; `troubled` is told of plugins that
    fail, and with which pod.
    """

    def __init__(
        self,
        profiles: Profiles,
        *,
        pods: Mapping[str, PodState],
        answer: Sink,
        may_ask: Callable[[], bool],
        troubled: _Troubled,
    ) -> None:
        self._profiles = profiles
        self._pods = pods
        self._answer = answer
        self._may_ask = may_ask
        self._troubled = troubled
        self._visits: dict[tuple[str, str], _Visit] = {}
        """By plugin and UID, of pods that are not bound yet."""
        self._undoing: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._telling: set[asyncio.Task[None]] = set()
        """Of these, those that tell what has happened."""
        self._threads: dict[str, asyncio.Semaphore] = {}

    def _of(self, pod: PodState, step: Step) -> list[Attends]:
        found = self._profiles.of(pod.pod_class).attending(pod.pod_class, step)
        return [one for one in found if isinstance(one, Attends)]

    # --- permit, pre_bind ---

    def consult(self, decision: Consult) -> None:
        _log.info("asking plugins", unit=decision.unit, questions=len(decision.questions))
        for question in decision.questions:
            self._visit(question)

    def _visit(self, question: Question) -> None:
        pod = self._pods.get(question.uid)
        listed = [] if pod is None else self._of(pod, question.step)
        attendant = next((one for one in listed if one.name == question.plugin), None)
        if pod is None or attendant is None:
            # it went, or changed, in this moment: that is withdrawn, or asked anew, as soon as the engine knows
            self._answer.put([Answered(question, no="the pod has changed")])
            return
        key = question.plugin, question.uid
        try:
            visit = self._visits.get(key) or _Visit(attendant, attendant.info(pod), question.node)
        except PluginError as error:
            self._answer.put([self._mistake(question, error)])
            return
        self._visits[key] = visit
        visit.running.append(self._start(self._ask(question, visit, after=self._undoing.get(key))))

    async def _ask(self, question: Question, visit: _Visit, *, after: asyncio.Task[None] | None) -> None:
        """Asks once what was undone before is undone."""
        if after is not None:
            await asyncio.wait([after])
        await self._lead()
        attendant = visit.attendant
        try:
            no = await attendant.why_not(question.step, visit.info, visit.node, in_thread=self._in_thread_of(attendant))
            answer = Answered(question, no=no or "")
        except PluginError as error:
            answer = self._mistake(question, error)
        except asyncio.CancelledError:
            if visit.is_over:
                raise
            # by itself, or by what it awaited
            answer = self._mistake(question, attendant.failed(question.step, "it was cancelled"))
        if not visit.is_over:
            self._answer.put([answer])

    def _mistake(self, question: Question, error: PluginError) -> Answered:
        self._troubled(question.pod, error)
        return Answered(question, no=str(error), mistake=True)

    def withdraw(self, decision: Withdraw) -> None:
        _log.info("not bound after all", unit=decision.unit, questions=len(decision.questions))
        for key in dict.fromkeys((question.plugin, question.uid) for question in decision.questions):
            visit = self._visits.pop(key, None)
            if visit is None:
                continue
            _end(visit)
            if visit.attendant.undoes:
                self._undoing[key] = undoing = self._start(self._undo(visit), tells=True)
                undoing.add_done_callback(partial(self._undone, key))

    async def _undo(self, visit: _Visit) -> None:
        """The plugin is told once nothing of it runs for the pod any more."""
        if visit.running:
            _, still = await asyncio.wait(visit.running, timeout=_LAST_WORDS_SECONDS)
            if still:
                _log.warning("a plugin does not let itself be cancelled", plugin=visit.attendant.name)
        await self._tell(UNDO, visit.attendant, visit.info, visit.node)

    def _undone(self, key: tuple[str, str], task: asyncio.Task[None]) -> None:
        if self._undoing.get(key) is task:
            del self._undoing[key]

    # --- bind, post_bind ---

    def binds(self, placement: Placement) -> bool:
        """Whether a plugin may bind the pod."""
        pod = self._pods.get(placement.uid)
        return pod is not None and bool(self._of(pod, Step.BIND))

    def bind(
        self,
        placement: Placement,
        annotations: Mapping[str, str],
        *,
        done: Callable[[str], None],
        otherwise: Callable[[], None],
        failed: Callable[[str], None],
    ) -> None:
        """Has plugins bind the pod, in their order: `done` is told who did, or it is done `otherwise`, or it `failed`,
        and why."""
        pod = self._pods.get(placement.uid)
        binders = [] if pod is None else self._of(pod, Step.BIND)

        async def bind() -> None:
            try:
                by = await self._bind(pod, placement.node, binders, annotations) if pod is not None else ""
            except PluginError as error:
                self._troubled(placement.pod, error)
                failed(str(error))
                return
            done(by) if by else otherwise()

        self._start(bind())

    async def _bind(self, pod: PodState, node: str, binders: list[Attends], annotations: Mapping[str, str]) -> str:
        """The plugin that has bound the pod; "" if none has."""
        for one in binders:
            await self._lead()
            try:
                # what a plugin raises itself is a PluginError
                async with asyncio.timeout(one.wait_seconds):
                    in_thread = self._in_thread_of(one)
                    if await one.has_bound(one.info(pod), node, dict(annotations), in_thread=in_thread):
                        return one.name
            except TimeoutError as error:
                raise one.failed(Step.BIND, f"gave no answer within {one.wait_seconds:g} s") from error
        return ""

    def tell_bound(self, decision: TellBound) -> None:
        pod, known = self._pods.get(decision.uid), dict[str, _Visit]()
        for key in [key for key in self._visits if key[1] == decision.uid]:
            known[key[0]] = visit = self._visits.pop(key)
            # somebody else has bound it there
            _end(visit)
        for one in [] if pod is None else self._of(pod, Step.POST_BIND):
            try:
                info = known[one.name].info if one.name in known else one.info(pod) if pod is not None else None
            except PluginError as error:
                self._troubled(decision.pod, error)
                continue
            assert info is not None
            self._start(self._tell(Step.POST_BIND, one, info, decision.node), tells=True)

    # --- how they are asked ---

    async def _tell(self, method: str, attendant: Attends, info: PodInfo, node: str) -> None:
        """What has happened; whatever comes of it."""
        try:
            async with asyncio.timeout(attendant.wait_seconds):
                await attendant.ask(method, info, node, in_thread=self._in_thread_of(attendant))
        except PluginError as error:
            self._troubled(f"{info.namespace}/{info.name}", error)
        except TimeoutError:
            late = attendant.failed(method, f"was not done within {attendant.wait_seconds:g} s")
            self._troubled(f"{info.namespace}/{info.name}", late)

    async def _lead(self) -> None:
        while not self._may_ask():
            await asyncio.sleep(_ASK_AGAIN_SECONDS)

    def _in_thread_of(self, attendant: Attends) -> Callable[[Callable[[], object]], Coroutine[Any, Any, object]]:
        places = self._threads.setdefault(attendant.name, asyncio.Semaphore(_MOST_THREADS))

        async def call(work: Callable[[], object]) -> object:
            await places.acquire()
            return await _in_thread(work, ended=places.release)

        return call

    def _start(self, work: Coroutine[Any, Any, None], *, tells: bool = False) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        for kept in (self._tasks, self._telling) if tells else (self._tasks,):
            kept.add(task)
            task.add_done_callback(kept.discard)
        task.add_done_callback(_log_bug)
        return task

    # --- ends ---

    async def told(self) -> None:
        """Returns when plugins know all that has happened."""
        while self._telling:
            await asyncio.wait(self._telling)

    async def close(self) -> None:
        """What runs is cancelled, and nobody is asked any more."""
        for visit in self._visits.values():
            visit.is_over = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_LAST_WORDS_SECONDS)


def _end(visit: _Visit) -> None:
    visit.is_over = True
    for task in visit.running:
        task.cancel()


def _log_bug(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("a bug: asking a plugin failed in an unforeseen way", exc_info=error)


async def _in_thread(work: Callable[[], object], *, ended: Callable[[], None]) -> object:
    """What the work gives.  The thread keeps no process alive: work that hangs cannot be ended otherwise."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[object] = loop.create_future()

    def give(answer: object, error: BaseException | None) -> None:
        ended()
        if result.done():
            return
        if error is None:
            result.set_result(answer)
        else:
            result.set_exception(error)

    def run() -> None:
        answer, failed = None, None
        try:
            answer = work()
        except BaseException as error:
            # what is no exception would end the loop
            failed = error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")
        if not loop.is_closed():
            loop.call_soon_threadsafe(give, answer, failed)

    threading.Thread(target=run, daemon=True, name="plugin").start()
    return await result
