"""Units waiting to be decided, best first; and the timers that bring some of them back."""

from __future__ import annotations

import heapq
from enum import IntEnum
from typing import NamedTuple

import msgspec

from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState

Order = tuple[int, float, str]
"""What the profile's QueueOrder says."""


class Where(IntEnum):
    """Where a unit is.  It is in one place only.

    HELD → READY → (decided) → NOWHERE | WAITING | BACKOFF;  WAITING → READY when a change can help;
    BACKOFF → READY when its time is over.
    """

    NOWHERE = 0
    """Nothing to decide: all members are bound or on their way."""
    HELD = 1
    """Incomplete or gated."""
    READY = 2
    BACKOFF = 3
    """Not before its time, whatever changes."""
    WAITING = 4
    """Until something changes that can help."""


class Unit(msgspec.Struct, gc=False, eq=False):
    """A gang or a lone pod, as the queue sees it."""

    key: str
    gang: GangState | None
    pod: PodState | None
    order: Order
    where: Where = Where.NOWHERE
    failures: int = 0
    """Attempts in a row that failed for another reason than room, or whose binds were rejected."""
    needed: int = 1
    """How many members it needed when it was last tried."""
    changes: int = 0
    """How often something of its gang changed."""
    told_kept: bool = False
    """It has said that it waits for others to leave."""
    had_started: bool = False
    """It had started when it was last tried."""
    was_on_its_way: bool = False
    """Its minimum was bound or being bound when it was last tried."""
    hopeful: bool = False
    """Others might have been evicted for it when it was last tried."""
    tried_at: float = 0.0
    changed_at: float = 0.0
    """When something of a held gang changed last."""
    to_be_told: bool = False
    """A timer is set to tell why it is held."""
    ticket: int = 0
    """New whenever the unit moves, and never the same twice: older heap entries and timers are void."""

    @property
    def name(self) -> str:
        """How people know it; the queue knows a lone pod by its UID."""
        return self.pod.key if self.pod else self.key

    @property
    def mends(self) -> bool:
        """It is part of a gang the rest of which runs."""
        gang = self.gang
        return gang is not None and (gang.partial or gang.below_minimum)

    @property
    def rounds(self) -> int:
        """How often others were evicted for it since it last started."""
        return (self.gang or self._the_pod).rounds

    @property
    def rests_until(self) -> float:
        return (self.gang or self._the_pod).rests_until

    @property
    def unbindable(self) -> bool:
        """Attempts to bind it were refused, and not by chance: nobody makes room for it."""
        return (self.gang or self._the_pod).refusals > 1

    def evicts(self, now: float) -> None:
        state = self.gang or self._the_pod
        state.rounds, state.last_round = state.rounds + 1, now

    def is_refused(self, now: float, *, times: int = 1) -> None:
        state = self.gang or self._the_pod
        state.refusals, state.refused_at = state.refusals + times, now

    def forgets(self, now: float, *, after: float) -> bool:
        """What was in vain long ago does not count; whether there was anything to forget."""
        state = self.gang or self._the_pod
        rounds = state.rounds > 0 and now >= state.last_round + after
        refusals = state.refusals > 0 and now >= state.refused_at + after
        if rounds:
            state.rounds = 0
        if refusals:
            state.refusals = 0
        return rounds or refusals

    def forgets_at(self, *, after: float) -> float:
        """When the first of what was in vain will not count any more; 0 if nothing was."""
        state = self.gang or self._the_pod
        counted = ((state.rounds, state.last_round), (state.refusals, state.refused_at))
        return min((at + after for times, at in counted if times), default=0.0)

    @property
    def bind_error(self) -> str:
        """What a refused bind of its pods was answered; "" if none was."""
        pods = self.gang.candidates.values() if self.gang is not None else [self._the_pod]
        return min((pod.bind_error for pod in pods if pod.bind_error), default="")

    @property
    def _the_pod(self) -> PodState:
        assert self.pod is not None
        return self.pod

    @property
    def priority(self) -> int:
        if self.pod is not None:
            return self.pod.priority
        assert self.gang is not None
        return self.gang.priority


class Queue:
    """The ready units, in order.  Entries of units that moved away are skipped when they surface."""

    def __init__(self) -> None:
        self._heap: list[tuple[Order, int, Unit]] = []
        self._ready = 0
        self._moves = 0

    def __len__(self) -> int:
        return self._ready

    def push(self, unit: Unit) -> None:
        self.move(unit, Where.READY)
        heapq.heappush(self._heap, (unit.order, unit.ticket, unit))

    @property
    def best(self) -> Unit | None:
        """The best ready unit."""
        while self._heap:
            _, ticket, unit = self._heap[0]
            if unit.ticket == ticket and unit.where is Where.READY:
                return unit
            heapq.heappop(self._heap)
        return None

    def pop(self) -> Unit | None:
        """The best ready unit; it is nowhere until it is put somewhere."""
        unit = self.best
        if unit is not None:
            heapq.heappop(self._heap)
            self.move(unit, Where.NOWHERE)
        return unit

    def move(self, unit: Unit, where: Where) -> None:
        self._ready += (where is Where.READY) - (unit.where is Where.READY)
        unit.where = where
        self._moves += 1
        unit.ticket = self._moves


class Share:
    """How much of the work went into units that keep failing; what is long past counts less and less."""

    def __init__(self, most: float) -> None:
        self._most = most
        self._all = self._failing = 0.0

    def spend_in_vain(self, work: int) -> None:
        self._failing += work

    def spend(self, work: int) -> None:
        """All of it, what was in vain too."""
        self._all += work
        if self._all > _REMEMBERED_WORK:
            self._all /= 2
            self._failing /= 2

    @property
    def left(self) -> bool:
        """Whether units that keep failing may be tried although others are ready."""
        return self._failing <= self._most * self._all


# some seconds of deciding
_REMEMBERED_WORK = 5_000_000


class Timer(NamedTuple):
    at: float
    number: int
    """Orders timers of the same instant as they were set."""
    purpose: str
    key: str
    ticket: int


class Timers:
    """What is to be looked at again later, soonest first."""

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._count = 0

    def set(self, at: float, purpose: str, *, key: str, ticket: int = 0) -> None:
        self._count += 1
        heapq.heappush(self._heap, Timer(at, self._count, purpose, key, ticket))

    def due(self, now: float, *, most: int) -> list[Timer]:
        """Timers whose time has come, up to `most` of them."""
        found: list[Timer] = []
        while len(found) < most and self._heap and self._heap[0].at <= now:
            found.append(heapq.heappop(self._heap))
        return found

    @property
    def next(self) -> float | None:
        return self._heap[0].at if self._heap else None
