"""Keys to be looked at, and looks that wait for answers: what all controllers have in common, without I/O.

A look is a generator.  It yields calls that may be made at the same time, and goes on with their answers:

    def look(self, key):
        [made] = yield [Create(path=..., body=...)]
        yield [Patch(...), Patch(...)]

A refusal ends the look, and the key is looked at again after a while, longer each time; a call that was made with
`told` hands the refusal in instead.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from heapq import heappop, heappush
from math import inf

from muster.api.calls import Answer, Asked, Done, Say, is_fine
from muster.base.backoff import backoff_seconds

Look = Generator[Sequence[Asked], Sequence[Answer], None]


class Again(Exception):
    """Raised by a look that cannot go on: the key is looked at again, as after a refusal."""


class _Batch:
    """Calls of one look that are on their way."""

    __slots__ = ("answers", "calls", "key", "look", "missing")

    def __init__(self, key: str, look: Look, calls: Sequence[Asked]) -> None:
        self.key = key
        self.look = look
        self.calls = calls
        # nobody waits for what is only said
        self.answers: list[Answer | None] = [Done() if isinstance(call, Say) else None for call in calls]
        self.missing = self.answers.count(None)


class Desk:
    """Looks at each key when it is due, at one key once at a time.

        waiting → due → looking → (forgotten | waiting: it was added meanwhile, or refused)

    `now` is the time of the current turn.
    """

    def __init__(self, look: Callable[[str], Look], *, first: float = 0.005, last: float = 1000.0) -> None:
        self.now = 0.0
        self._look = look
        self._first = first
        self._last = last
        """Seconds before another look after a refusal: the first and the longest."""
        self._times: dict[str, float] = {}
        """When each key is to be looked at."""
        self._order: list[tuple[float, int, str]] = []
        """The same as a heap; what `_times` does not confirm is void."""
        self._added = 0
        self._looking: set[str] = set()
        self._failures: dict[str, int] = {}
        """Refusals in a row."""
        self._sent: dict[int, tuple[_Batch, int]] = {}
        """Calls on their way, by identity: the batch and the place in it."""
        self._answered: list[_Batch] = []
        """All of whose answers have come."""
        self._calls: list[Asked] = []
        """To be given out."""

    def add(self, key: str, *, at: float = 0.0) -> None:
        """Has a key looked at then; the earliest time counts.  While it is looked at, it waits for the end of that."""
        if at < self._times.get(key, inf):
            self._times[key] = at
            self._added += 1
            heappush(self._order, (at, self._added, key))

    def work(self, now: float) -> list[Asked]:
        """Looks at what is due, goes on where answers have come, and returns the calls to be made."""
        self.now = now
        # one at a time off the list: a bug in one look must not take the others with it
        while self._answered:
            self._go_on(self._answered.pop(0))
        while (key := self._next_due(now)) is not None:
            self._looking.add(key)
            self._advance(key, self._look(key), None)
        calls, self._calls = self._calls, []
        return calls

    def answered(self, call: Asked, answer: Answer) -> bool:
        """Takes in what came of a call; whether it was one of this desk's."""
        sent = self._sent.pop(id(call), None)
        if sent is None:
            return False
        batch, place = sent
        batch.answers[place] = answer
        batch.missing -= 1
        if not batch.missing:
            self._answered.append(batch)
        return True

    @property
    def next_at(self) -> float | None:
        """When there is something to do; 0 for now."""
        if self._answered or self._calls:
            return 0.0
        while self._order and (self._void(self._order[0]) or self._order[0][2] in self._looking):
            # a key that is looked at is put back when that is over
            heappop(self._order)
        return self._order[0][0] if self._order else None

    # --- inside ---

    def _void(self, entry: tuple[float, int, str]) -> bool:
        at, _, key = entry
        return self._times.get(key) != at

    def _next_due(self, now: float) -> str | None:
        while self._order and self._order[0][0] <= now:
            entry = heappop(self._order)
            key = entry[2]
            if not self._void(entry) and key not in self._looking:
                del self._times[key]
                return key
        return None

    def _go_on(self, batch: _Batch) -> None:
        answers = [answer for answer in batch.answers if answer is not None]
        refused = any(
            not isinstance(call, Say) and not call.told and not is_fine(call, answer)
            for call, answer in zip(batch.calls, answers, strict=True)
        )
        if refused:
            batch.look.close()
            self._over(batch.key, failed=True)
        else:
            self._advance(batch.key, batch.look, answers)

    def _advance(self, key: str, look: Look, answers: list[Answer] | None) -> None:
        """Goes on with a look until it has to wait."""
        try:
            calls = next(look) if answers is None else look.send(answers)
            while not (batch := _Batch(key, look, calls)).missing:
                self._calls += calls
                calls = look.send([Done()] * len(calls))
        except StopIteration:
            self._over(key, failed=False)
        except Again:
            self._over(key, failed=True)
        except Exception:
            self._over(key, failed=True)
            raise
        else:
            self._calls += calls
            self._sent |= {id(call): (batch, place) for place, call in enumerate(calls) if not isinstance(call, Say)}

    def _over(self, key: str, *, failed: bool) -> None:
        self._looking.discard(key)
        if key in self._times:
            # added while it was looked at: its place in the order may be gone
            self._added += 1
            heappush(self._order, (self._times[key], self._added, key))
        if not failed:
            self._failures.pop(key, None)
            return
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        self.add(key, at=self.now + backoff_seconds(failures, initial=self._first, maximum=self._last))


class AtDesks:
    """What a core that works at desks, and nowhere else, has in common with others like it."""

    def __init__(self, *desks: Desk) -> None:
        self._desks = desks

    def work(self, now: float) -> list[Asked]:
        """What is to be done now."""
        return [call for desk in self._desks for call in desk.work(now)]

    def answered(self, call: Asked, answer: Answer, now: float) -> None:
        """What came of a call."""
        any(desk.answered(call, answer) for desk in self._desks)

    @property
    def next_at(self) -> float | None:
        """When there is something to do although nothing happens; 0 for now."""
        return min((at for desk in self._desks if (at := desk.next_at) is not None), default=None)
