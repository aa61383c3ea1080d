"""An event loop in virtual time: nothing waits, the clock jumps to whatever comes next."""

import asyncio
import heapq
from contextvars import ContextVar

current = ContextVar("current", default=None)
"""The link of the process whose task this is; None for the world around them."""


# at one instant; the busiest of worlds takes a few thousand
_MOST_STEPS = 100_000


class NothingToDoError(RuntimeError):
    """All tasks wait for something that will never happen."""


class GoesInCirclesError(RuntimeError):
    """There is always something to do, and time never passes."""


class VirtualLoop(asyncio.base_events.BaseEventLoop):
    """Time begins at 0 and passes only while nobody has anything to do.  No sockets, no threads, no signals.

    What a process has to do while it is frozen waits until it is not.
    """

    def __init__(self):
        super().__init__()
        self.now = 0.0
        self.steps = 0
        """Since time last passed."""

    def time(self):
        return self.now

    def call_at(self, when, callback, *args, context=None):
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        timer._scheduled = True
        # numbers compare far more quickly than timers do
        heapq.heappush(self._scheduled, (when, timer))
        return timer

    def _run_once(self):
        timers, ready = self._scheduled, self._ready
        while timers and timers[0][1]._cancelled:
            heapq.heappop(timers)[1]._scheduled = False
        if not ready and not self._stopping:
            if not timers:
                raise NothingToDoError(f"nothing will ever happen after {self.now:g} s")
            self.now = max(self.now, timers[0][0])
            self.steps = 0
        while timers and timers[0][0] <= self.now:
            _, timer = heapq.heappop(timers)
            timer._scheduled = False
            ready.append(timer)
        self.steps += len(ready)
        if self.steps > _MOST_STEPS:
            raise GoesInCirclesError(f"time does not pass after {self.now:g} s")
        for _ in range(len(ready)):
            handle = ready.popleft()
            if handle._cancelled:
                continue
            link = handle._context.get(current)
            if link is not None and link.frozen is not None:
                link.frozen.append(handle)
            else:
                handle._run()

    def thaw(self, link):
        """The process goes on with what it could not do."""
        handles, link.frozen = link.frozen or (), None
        self._ready.extend(handles)

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        pass
