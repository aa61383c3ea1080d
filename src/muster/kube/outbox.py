"""What is to be sent to the API server: most urgent first, no more at once than the server takes."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Coroutine
from enum import IntEnum
from typing import Any

import structlog

from muster.base.backoff import backoff_seconds
from muster.base.errors import ApiError, KubeError, Unreachable
from muster.kube.limits import Limit, Rate

_log = structlog.get_logger()

_MOST_EVENTS = 5_000
# what is less urgent than binds waits for them, but not for ever: then it gets a place of its own
_PATIENCE_SECONDS = 2.0
_FIRST_BACKOFF_SECONDS = 0.2
_LAST_BACKOFF_SECONDS = 10.0
_TRIES = 6
_ASK_AGAIN_SECONDS = 0.1
_SHORTEST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 30.0


def _now() -> float:
    return asyncio.get_running_loop().time()


class Urgency(IntEnum):
    BIND = 0
    NOMINATION = 1
    """Before the deletions that it is about: a leader that comes after them must know for whom they were."""
    RELEASE = 2
    GROUP = 3
    POD = 4
    EVENT = 5


class Errand:
    """One thing to be sent.

    Of the same `subject` one is under way at a time, and a newer one replaces one that still waits.
    `send` raises KubeError; `lasting` ones are repeated until they are done, others a few times.
    """

    __slots__ = ("lasting", "replaced", "send", "subject", "tries", "urgency", "waits_since")

    def __init__(
        self,
        urgency: Urgency,
        send: Callable[[], Coroutine[Any, Any, None]],
        *,
        subject: str = "",
        lasting: bool = False,
    ) -> None:
        self.urgency = urgency
        self.send = send
        self.subject = subject
        self.lasting = lasting
        self.tries = 0
        self.waits_since = 0.0
        self.replaced = False


class Outbox:
    """Sends errands.

        put → waiting → under way → done | waiting again (busy server, no answer) | given up

    Binds go before everything else.  `may_send` is asked before each send; while it says no, nothing leaves.
    Events are dropped, oldest first, when too many wait.
    """

    def __init__(
        self, *, may_send: Callable[[], bool] = lambda: True, limit: Limit | None = None, rate: Rate | None = None
    ) -> None:
        self.limit = limit or Limit()
        self.dropped_events = 0
        self.may_send = may_send
        self._rate = rate
        self._waiting: tuple[deque[Errand], ...] = tuple(deque() for _ in Urgency)
        self._latest: dict[str, Errand] = {}
        """By subject: the errand that waits."""
        self._busy: set[str] = set()
        """Subjects under way."""
        self._under_way: dict[asyncio.Task[None], Errand] = {}
        self._later: dict[Errand, asyncio.TimerHandle] = {}
        """Errands that failed and wait for their next try."""
        self._paused_until = 0.0
        self._pump_at: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False

    def put(self, errand: Errand) -> None:
        if self._closed:
            return
        self._idle.clear()
        if errand.subject:
            if (older := self._latest.get(errand.subject)) is not None:
                older.replaced = True
            self._latest[errand.subject] = errand
            if errand.subject in self._busy:
                return
        self._enqueue(errand)
        self._pump_soon()

    @property
    def waiting(self) -> int:
        return sum(map(len, self._waiting)) + len(self._later)

    @property
    def under_way(self) -> int:
        return len(self._under_way)

    def under_way_of(self, up_to: Urgency) -> int:
        """How many that are at least so urgent are under way."""
        return sum(errand.urgency <= up_to for errand in self._under_way.values())

    async def done(self, *, up_to: Urgency = Urgency.EVENT) -> None:
        """Returns when nothing that is at least so urgent waits or is under way."""
        while not self.is_done(up_to):
            self._idle.clear()
            await self._idle.wait()

    def is_done(self, up_to: Urgency) -> bool:
        # those that wait behind a busy subject are in `_latest` alone
        elsewhere = (*self._under_way.values(), *self._later, *self._latest.values())
        queued = (errand for queue in self._waiting[: up_to + 1] for errand in queue)
        return not any(
            errand.urgency <= up_to and not errand.replaced for errands in (elsewhere, queued) for errand in errands
        )

    async def close(self) -> None:
        """Stops at once; what waits is forgotten, what is under way is cut off."""
        self._closed = True
        for queue in self._waiting:
            queue.clear()
        for handle in self._later.values():
            handle.cancel()
        self._later.clear()
        self._latest.clear()
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        self._idle.set()

    # --- sending ---

    def _enqueue(self, errand: Errand, *, front: bool = False) -> None:
        errand.waits_since = _now()
        queue = self._waiting[errand.urgency]
        if front:
            queue.appendleft(errand)
        else:
            queue.append(errand)
        if errand.urgency is Urgency.EVENT and len(queue) > _MOST_EVENTS:
            queue.popleft()
            self.dropped_events += 1

    def _pump_soon(self, seconds: float = 0.0) -> None:
        loop = asyncio.get_running_loop()
        at = loop.time() + seconds
        if self._pump_at is not None:
            if self._pump_at.when() <= at:
                return
            self._pump_at.cancel()
        self._pump_at = loop.call_at(at, self._pump)

    def _pump(self) -> None:
        """Sends as much as may be sent now."""
        self._pump_at = None
        while not self._closed and len(self._under_way) < self.limit.now:
            now = _now()
            if now < self._paused_until:
                self._pump_soon(self._paused_until - now)
                return
            errand = self._next(now)
            if errand is None:
                self._idle.set()
                return
            if not self.may_send():
                self._waiting[errand.urgency].appendleft(errand)
                self._pump_soon(_ASK_AGAIN_SECONDS)
                return
            if self._rate is not None and (wait := self._rate.wait(now)) > 0:
                self._waiting[errand.urgency].appendleft(errand)
                self._pump_soon(wait)
                return
            self._start(errand)

    def _next(self, now: float) -> Errand | None:
        for queue in self._waiting:
            while queue and queue[0].replaced:
                queue.popleft()
        order: list[deque[Errand]] = [queue for queue in self._waiting if queue]
        if not order:
            return None
        binding = order[0][0].urgency is Urgency.BIND or self._binds_under_way()
        lesser = next((queue for queue in order if queue[0].urgency is not Urgency.BIND), None)
        if not binding or lesser is None:
            return order[0].popleft()
        # binds have the server for themselves, but for one that has waited long; events wait until all binds are sent
        first, binds_wait = lesser[0], order[0][0].urgency is Urgency.BIND
        long = now - first.waits_since > _PATIENCE_SECONDS and not (binds_wait and first.urgency is Urgency.EVENT)
        if long and not self._lesser_under_way():
            return lesser.popleft()
        if binds_wait:
            return order[0].popleft()
        self._pump_soon(_PATIENCE_SECONDS)
        return None

    def _binds_under_way(self) -> bool:
        return any(errand.urgency is Urgency.BIND for errand in self._under_way.values())

    def _lesser_under_way(self) -> bool:
        return any(errand.urgency is not Urgency.BIND for errand in self._under_way.values())

    def _start(self, errand: Errand) -> None:
        if errand.subject:
            self._latest.pop(errand.subject, None)
            self._busy.add(errand.subject)
        task = asyncio.get_running_loop().create_task(errand.send())
        self._under_way[task] = errand
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        under_way = len(self._under_way)
        errand = self._under_way.pop(task)
        newer = None
        if errand.subject:
            self._busy.discard(errand.subject)
            newer = self._latest.get(errand.subject)
        if not task.cancelled():
            error = task.exception()
            if error is None:
                self.limit.kept_up(under_way)
            else:
                self._failed(errand, error, under_way, replaced=newer is not None)
        if newer is not None:
            self._enqueue(newer)
        if self.waiting or self._under_way:
            self._pump_soon()
        self._idle.set()

    def _failed(self, errand: Errand, error: BaseException, under_way: int, *, replaced: bool) -> None:
        if not isinstance(error, KubeError):
            _log.error("a bug: an errand failed in an unforeseen way", subject=errand.subject, exc_info=error)
            return
        pushed_back = isinstance(error, ApiError) and error.code == 429
        lost = isinstance(error, Unreachable) or (isinstance(error, ApiError) and error.code >= 500)
        # a server that has just started may not know our rights yet; a conflict is over once others have written
        for_now = isinstance(error, ApiError) and error.code in (401, 403, 409)
        if pushed_back or lost:
            self.limit.pushed_back(under_way)
        else:
            self.limit.kept_up(under_way)
        asked = getattr(error, "retry_after", None) or 0.0
        pause = min(_LONGEST_PAUSE_SECONDS, max(_SHORTEST_PAUSE_SECONDS, asked))
        if pushed_back and under_way == 1:
            # the server takes not even one: all wait; else this one alone, since others are being served
            self._paused_until = max(self._paused_until, _now() + pause)
        errand.tries += 1
        if replaced or self._closed:
            return
        if pushed_back:
            self._again(errand, pause)
        elif errand.lasting or ((lost or for_now) and errand.tries < _TRIES):
            seconds = backoff_seconds(
                errand.tries, initial=_FIRST_BACKOFF_SECONDS, maximum=_LAST_BACKOFF_SECONDS
            ) * random.uniform(1, 1.5)
            if errand.lasting and (errand.tries in (3, 10) or errand.tries % 50 == 0):
                _log.warning("still not done", subject=errand.subject, tries=errand.tries, error=str(error))
            self._again(errand, seconds)
        else:
            _log.warning("given up", what=errand.urgency.name.lower(), subject=errand.subject, error=str(error))

    def _again(self, errand: Errand, seconds: float) -> None:
        if errand.subject:
            self._latest[errand.subject] = errand

        def back() -> None:
            del self._later[errand]
            # it has waited longer than those that came meanwhile
            self._enqueue(errand, front=True)
            self._pump_soon()

        self._later[errand] = asyncio.get_running_loop().call_later(seconds, back)
