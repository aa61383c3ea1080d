"""Where pods stand that others look at: for each rule that somebody reads, how many pods it is about on each row.

The base fact is how many pods of each `Ties` a row has.  From it come *lines*, one count per row: of the pods that some
selections all choose, or of those that bear a term of their own.  A line is counted when it is first asked for, and
kept in step with every pod that comes or goes; it may be forgotten at any time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from muster.base.arrays import grown
from muster.cluster.ties import Look, Namespaces, Selection, Term, Ties
from muster.cluster.traits import Trait, trait_of

Ints = NDArray[np.int64]

_LINE_BYTES = 16 * 1024 * 1024
_LOOKS_KEPT = 10_000
_MOST_STALE = 64

_Key = TypeVar("_Key")
_Entry = TypeVar("_Entry")


class Bearing(Enum):
    """As what a pod has a term."""

    TOGETHER = 0
    APART = 1
    PREFERRED = 2


class Borne(NamedTuple):
    """A term that pods have who are there."""

    bearing: Bearing
    term: Term
    weight: int = 0
    """Of a preference."""


class Aside(Enum):
    """Pods that do not count for everybody."""

    LEAVING = 0
    """They are on their way out."""
    AWAITED = 1
    """Room is reserved for them, and they are not there."""


class Chosen(NamedTuple):
    """Pods that all of these selections choose."""

    selections: tuple[Selection, ...]
    without: tuple[Aside, ...] = ()


class Bearers(NamedTuple):
    """Pods that have this term."""

    term: Borne
    without: tuple[Aside, ...] = ()


class Showing(NamedTuple):
    """Pods of which a plugin by users read this."""

    plugin: str
    trait: Trait


_Line = Chosen | Bearers | Showing


class Census:
    """Counts pods by what they show and ask.  A copy changes on its own, and shares what neither changes."""

    def __init__(self, namespaces: Namespaces, *, capacity: int = 0) -> None:
        self.namespaces = namespaces
        self._there: dict[Ties, dict[int, int]] = {}
        """How many stand on which row."""
        self._aside: dict[tuple[Aside, Ties], dict[int, int]] = {}
        """How many of those stand aside."""
        self._own_there: set[Ties] = set()
        self._own_aside: set[tuple[Aside, Ties]] = set()
        """Entries that no copy shares."""
        self._lines: OrderedDict[_Line, Ints] = OrderedDict()
        """Least recently used first."""
        self._own_lines: set[_Line] = set()
        self._read_by: dict[Ties, list[_Line]] = {}
        """The lines that count pods of the ties, each as often as it does."""
        self._index = _Index()
        """Of those who really are there; copies read it."""
        self._newcomers: dict[Ties, None] | None = None
        """Of a copy: who is not in the index, or perhaps is not."""
        self._capacity = capacity
        self._stirred: dict[Ties, None] = {}
        """Of whom some came, went or began to; who reads of them may look again."""
        self._all_stirred = False

    # --- who comes and goes ---

    def add(self, row: int, ties: Ties, count: int = 1) -> None:
        """So many pods came to the row, or went from it."""
        if ties not in self._there:
            self._appear(ties)
        _change(self._there, self._own_there, row, ties, count)
        self._stirred[ties] = None
        for line in self._read_by[ties]:
            self._writable(line)[row] += count
        if not self._there[ties]:
            self._vanish(ties)

    def move(self, row: int, ties: Ties, aside: Aside | None, by: int) -> None:
        """A pod that perhaps stands aside came (1) or went (-1)."""
        if by > 0:
            self.add(row, ties, by)
        if aside is not None:
            self.set_aside(row, ties, aside, by)
        if by < 0:
            self.add(row, ties, by)

    def set_aside(self, row: int, ties: Ties, aside: Aside, count: int = 1) -> None:
        """So many of the pods on the row stand aside, or no longer do."""
        which = aside, ties
        _change(self._aside, self._own_aside, row, which, count)
        self._stirred[ties] = None
        for line in self._read_by[ties]:
            if not isinstance(line, Showing) and aside in line.without:
                self._writable(line)[row] -= count
        if not self._aside[which]:
            del self._aside[which]
            self._own_aside.discard(which)

    def clear(self, row: int) -> None:
        """Nobody is on the row."""
        for aside, ties in [which for which, rows in self._aside.items() if row in rows]:
            self.set_aside(row, ties, aside, -self._aside[aside, ties][row])
        for ties in [ties for ties, rows in self._there.items() if row in rows]:
            self.add(row, ties, -self._there[ties][row])

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        self._lines = OrderedDict((line, grown(counts, capacity - len(counts))) for line, counts in self._lines.items())
        self._own_lines = set(self._lines)

    def copy(self) -> Self:
        twin = type(self)(self.namespaces, capacity=self._capacity)
        twin._there, twin._aside = self._there.copy(), self._aside.copy()
        twin._lines, twin._read_by = self._lines.copy(), self._read_by.copy()
        twin._index = self._index
        twin._newcomers = (self._newcomers or {}).copy()
        self._own_there.clear()
        self._own_aside.clear()
        self._own_lines.clear()
        return twin

    def forget(self) -> None:
        """Namespaces have other labels: everything is counted anew."""
        self._lines.clear()
        self._own_lines.clear()
        self._read_by = {ties: [] for ties in self._there}
        self._index.forget()
        self._all_stirred = True

    @property
    def awaits(self) -> bool:
        """Room is reserved for somebody."""
        return any(aside is Aside.AWAITED for aside, _ in self._aside)

    @property
    def is_stirred(self) -> bool:
        """Somebody came or went since `take_stirred` was last asked."""
        return bool(self._stirred) or self._all_stirred

    def take_stirred(self) -> list[Ties] | None:
        """Of whom some came or went since this was last asked; None if that may be anybody."""
        stirred, self._stirred = list(self._stirred), {}
        everybody, self._all_stirred = self._all_stirred, False
        return None if everybody else stirred

    # --- what is asked ---

    def count(self, line: _Line) -> Ints:
        """Pods by row; not to be changed."""
        found = self._lines.get(line)
        if found is None:
            found = self._lines[line] = self._counted(line)
            self._own_lines.add(line)
            while len(self._lines) > max(64, _LINE_BYTES // (8 * max(1, self._capacity))):
                self._drop(next(iter(self._lines)))
        else:
            self._lines.move_to_end(line)
        return found

    def about(self, look: Look) -> tuple[Borne, ...]:
        """Terms of pods that are there by which they look at a pod that looks like this."""
        there = self._there
        known = tuple(
            one for one in self._index.about(look, self.namespaces) if any(t in there for t in self._index.bearers(one))
        )
        new = {one: None for ties in self._newcomers or () for one in borne(ties) if one not in known}
        return (*known, *(one for one in new if self.namespaces.selects(one.term.selection, look))) if new else known

    def traits(self, plugin: str) -> list[Trait]:
        """What the plugin read of pods that are there; in no order that means anything."""
        there = self._there
        known = (trait for trait, ties in self._index.showing(plugin) if any(one in there for one in ties))
        new = (trait_of(ties.look.traits, plugin) for ties in self._newcomers or () if ties in there)
        return list(dict.fromkeys((*known, *(trait for trait in new if trait is not None))))

    # --- counting ---

    def _counted(self, line: _Line) -> Ints:
        counts = np.zeros(self._capacity, np.int64)
        for ties in dict.fromkeys((*self._index.perhaps(line), *(self._newcomers or ()))):
            times = self._times(line, ties) if ties in self._there else 0
            if not times:
                continue
            self._read_by[ties] = [*self._read_by[ties], *[line] * times]
            for row, count in self._there[ties].items():
                counts[row] += count * times
            for aside in () if isinstance(line, Showing) else line.without:
                for row, count in self._aside.get((aside, ties), {}).items():
                    counts[row] -= count * times
        return counts

    def _times(self, line: _Line, ties: Ties) -> int:
        """How often the line counts a pod of the ties: it may bear a term twice."""
        if isinstance(line, Bearers):
            return list(borne(ties)).count(line.term)
        if isinstance(line, Showing):
            return int(line in ties.look.traits)
        return int(all(self.namespaces.selects(selection, ties.look) for selection in line.selections))

    def _drop(self, line: _Line) -> None:
        del self._lines[line]
        self._own_lines.discard(line)
        for ties, lines in self._read_by.items():
            if line in lines:
                self._read_by[ties] = [one for one in lines if one != line]

    def _writable(self, line: _Line) -> Ints:
        if line not in self._own_lines:
            self._lines[line] = self._lines[line].copy()
            self._own_lines.add(line)
        return self._lines[line]

    def _appear(self, ties: Ties) -> None:
        self._read_by[ties] = [line for line in self._lines for _ in range(self._times(line, ties))]
        if self._newcomers is None:
            self._index.add(ties)
        else:
            self._newcomers[ties] = None

    def _vanish(self, ties: Ties) -> None:
        del self._there[ties], self._read_by[ties]
        self._own_there.discard(ties)
        if self._newcomers is None:
            self._index.remove(ties)


def _change(counts: dict[_Key, dict[int, int]], own: set[_Key], row: int, key: _Key, count: int) -> None:
    if key not in own:
        counts[key] = counts.get(key, {}).copy()
        own.add(key)
    rows = counts[key]
    now = rows.get(row, 0) + count
    assert now >= 0, f"fewer than none of {key} on row {row}"
    if now:
        rows[row] = now
    else:
        rows.pop(row, None)


def concerns(one: Ties, other: Ties, namespaces: Namespaces) -> bool:
    """Whether it may matter to pods of the first where those of the second are."""
    if any(plugin == seen for plugin, _ in one.look.traits for seen, _ in other.look.traits):
        return True
    reads = any(namespaces.selects(selection, other.look) for selection in one.rules.selections)
    return reads or any(namespaces.selects(each.term.selection, one.look) for each in borne(other))


def borne(ties: Ties) -> Iterable[Borne]:
    """The terms that pods of these ties have."""
    rules = ties.rules
    yield from (Borne(Bearing.TOGETHER, term) for term in rules.together)
    yield from (Borne(Bearing.APART, term) for term in rules.apart)
    yield from (Borne(Bearing.PREFERRED, term, weight) for weight, term in rules.preferred)


_Mark = tuple[str, str]


class _Index:
    """Finds those that may match without asking all: a cluster has thousands of each, and most rules name a label."""

    def __init__(self) -> None:
        self._by_label: dict[_Mark, dict[Ties, None]] = {}
        self._bearers: dict[Borne, dict[Ties, None]] = {}
        self._terms: dict[_Mark | None, dict[Borne, None]] = {}
        """Terms that are borne, by a label that whoever matches has; under None those without one."""
        self._all: dict[Ties, None] = {}
        self._stale: dict[Ties, None] = {}
        """Of whom nobody is left: forgotten when they are many, since copies may still have some."""
        self._about: dict[Look, tuple[Borne, ...]] = {}
        self._showing: dict[str, dict[Trait, dict[Ties, None]]] = {}
        """By plugin and trait."""

    def add(self, ties: Ties) -> None:
        self._stale.pop(ties, None)
        if ties in self._all:
            return
        self._all[ties] = None
        for mark in ties.look.labels:
            self._by_label.setdefault(mark, {})[ties] = None
        for plugin, shown in ties.look.traits:
            self._showing.setdefault(plugin, {}).setdefault(shown, {})[ties] = None
        for one in borne(ties):
            if one not in self._bearers:
                self._terms.setdefault(_mark(one.term.selection), {})[one] = None
                self._about.clear()
            self._bearers.setdefault(one, {})[ties] = None

    def remove(self, ties: Ties) -> None:
        self._stale[ties] = None
        if len(self._stale) > _MOST_STALE + len(self._all) // 2:
            stale, self._stale = self._stale, {}
            for one in stale:
                self._forget(one)

    def _forget(self, ties: Ties) -> None:
        del self._all[ties]
        for mark in ties.look.labels:
            _take(self._by_label, mark, ties)
        for plugin, shown in ties.look.traits:
            _take(self._showing[plugin], shown, ties)
        for one in set(borne(ties)):
            _take(self._bearers, one, ties)
            if one not in self._bearers:
                _take(self._terms, _mark(one.term.selection), one)
                self._about.clear()

    def perhaps(self, line: _Line) -> list[Ties]:
        """All that the line counts, and perhaps others."""
        if isinstance(line, Bearers):
            return list(self._bearers.get(line.term, ()))
        if isinstance(line, Showing):
            return list(self._showing.get(line.plugin, {}).get(line.trait, ()))
        if any(selection.requirements is None for selection in line.selections):
            return []
        marks = [mark for selection in line.selections if (mark := _mark(selection)) is not None]
        found: list[dict[Ties, None]] = [self._by_label.get(mark, {}) for mark in marks] or [self._all]
        return min(map(list, found), key=len)

    def showing(self, plugin: str) -> Iterable[tuple[Trait, Iterable[Ties]]]:
        """What the plugin read of pods, and of which."""
        return self._showing.get(plugin, {}).items()

    def bearers(self, one: Borne) -> Iterable[Ties]:
        return self._bearers.get(one, ())

    def about(self, look: Look, namespaces: Namespaces) -> tuple[Borne, ...]:
        known = self._about.get(look)
        if known is None:
            if len(self._about) >= _LOOKS_KEPT:
                self._about.clear()
            asked = [one for mark in (*look.labels, None) for one in self._terms.get(mark, ())]
            known = tuple(one for one in asked if namespaces.selects(one.term.selection, look))
            self._about[look] = known
        return known

    def forget(self) -> None:
        self._about.clear()


def _mark(selection: Selection) -> _Mark | None:
    """A label that every pod has which the selection chooses."""
    for one in selection.requirements or ():
        if one.operator == "In" and len(one.values) == 1:
            return one.key, one.values[0]
    return None


def _take(index: dict[_Key, dict[_Entry, None]], key: _Key, entry: _Entry) -> None:
    index[key].pop(entry, None)
    if not index[key]:
        del index[key]
