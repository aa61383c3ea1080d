"""The journal: what the engine was told and what it decided, line by line, so that it can decide again.

One JSON document a line: a header, then `apply` and `decide` records in the order of the calls.  Everything an
engine depends on is in there, so deciding again must give the same; the first difference is a bug, or a
change of the code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from muster.api.kinds import NAMESPACES
from muster.api.wire import Namespace
from muster.base.errors import JournalError
from muster.cluster.cluster import Cluster
from muster.engine.changes import Change, FactGone, FactSeen
from muster.engine.decisions import Decision
from muster.engine.engine import WORK, Engine
from muster.engine.troubles import Troubles

FORMAT = 1


class _NamespaceSeen(msgspec.Struct, frozen=True, tag_field="change", tag="namespace"):
    """As versions wrote it that knew no other kind beside what they schedule."""

    namespace: Namespace


class _NamespaceGone(msgspec.Struct, frozen=True, tag_field="change", tag="namespace-gone"):
    name: str


_Written = Change | _NamespaceSeen | _NamespaceGone


class Header(msgspec.Struct, frozen=True, tag="muster-journal", tag_field="record"):
    format: int
    settings: dict[str, str]
    """What the engine was made with; see the driver that wrote it."""


class Applied(msgspec.Struct, frozen=True, tag="apply", tag_field="record"):
    changes: tuple[_Written, ...]


class Decided(msgspec.Struct, frozen=True, tag="decide", tag_field="record"):
    now: float
    budget: int
    decisions: tuple[Decision, ...]


Record = Header | Applied | Decided


class Recorder:
    """An engine that writes down what it is told and what it decides; `write` takes one line at a time."""

    def __init__(self, engine: Engine, write: Callable[[bytes], object], *, settings: dict[str, str]) -> None:
        self.engine = engine
        self._write = write
        self._encoder = msgspec.json.Encoder()
        self._line(Header(FORMAT, settings))

    def apply(self, changes: Iterable[Change]) -> None:
        told = tuple(changes)
        if told:
            self._line(Applied(told))
        self.engine.apply(told)

    def decide(self, now: float, budget: int = WORK) -> list[Decision]:
        decisions = self.engine.decide(now, budget)
        self._line(Decided(now, budget, tuple(decisions)))
        return decisions

    @property
    def next_decide_at(self) -> float | None:
        return self.engine.next_decide_at

    @property
    def cluster(self) -> Cluster:
        return self.engine.cluster

    @property
    def troubles(self) -> Troubles:
        return self.engine.troubles

    def _line(self, record: Record) -> None:
        self._write(self._encoder.encode(record) + b"\n")


class Difference(msgspec.Struct, frozen=True):
    """Where deciding again gave something else."""

    line: int
    now: float
    recorded: Decision | None
    decided: Decision | None


class Replay(msgspec.Struct, frozen=True):
    """What came of deciding again."""

    calls: int
    decisions: int
    difference: Difference | None


def replay(lines: Iterable[bytes], make_engine: Callable[[dict[str, str]], Engine]) -> Replay:
    """Decides again what a journal has, up to the first difference; a new header starts a new engine."""
    engine: Engine | None = None
    calls = decisions = 0
    for number, record in _records(lines):
        if isinstance(record, Header):
            if record.format != FORMAT:
                raise JournalError("journal of another format", line=number, format=record.format, known=FORMAT)
            engine = make_engine(record.settings)
        elif engine is None:
            raise JournalError("a journal starts with a header", line=number)
        elif isinstance(record, Applied):
            engine.apply([_as_now(change) for change in record.changes])
        else:
            decided = engine.decide(record.now, record.budget)
            calls += 1
            decisions += len(decided)
            if (difference := _difference(number, record, decided)) is not None:
                return Replay(calls, decisions, difference)
    if engine is None:
        raise JournalError("the journal is empty")
    return Replay(calls, decisions, None)


def _records(lines: Iterable[bytes]) -> Iterable[tuple[int, Record]]:
    decoder = msgspec.json.Decoder(Record)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield number, decoder.decode(line)
        except msgspec.DecodeError as error:
            raise JournalError(f"not a journal record: {error}", line=number) from error


def _as_now(change: _Written) -> Change:
    match change:
        case _NamespaceSeen(namespace):
            return FactSeen(namespace)
        case _NamespaceGone(name):
            return FactGone(NAMESPACES.name, name)
        case _:
            return change


def _difference(line: int, record: Decided, decided: Sequence[Decision]) -> Difference | None:
    for number in range(max(len(record.decisions), len(decided))):
        before = record.decisions[number] if number < len(record.decisions) else None
        now = decided[number] if number < len(decided) else None
        if before != now:
            return Difference(line, record.now, before, now)
    return None
