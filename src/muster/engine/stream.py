"""Many small units decided at once, exactly as if one after another.

Deciding a pod changes one node, and a class must be rated anew on every changed node before its next pod.  With
classes taking turns that is one evaluation a pod.  Instead a whole window of pods gets places first, each
the best node that no other in the window has; then every class is rated once on all those nodes as they
would be, and the window holds as far as no pod would have preferred a node that an earlier one changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice, takewhile
from typing import NamedTuple

import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.pods import PodState
from muster.cluster.room import Room
from muster.cluster.usage import Ints
from muster.engine.unit import Unit
from muster.framework.views import ClassView, Views

LARGEST_GANG = 16
_LARGEST_WINDOW = 256
_FIRST_WINDOW = 8
# a window that holds for fewer pods does not pay; so many units are then decided one by one before the next
_TOO_FEW = 2
_PAUSE = 4
_RATED_ALONG = 128


class Small(NamedTuple):
    """A lone pod, or a gang of one class that is decided whole; its pods in the order of choice."""

    unit: Unit
    pod_class: PodClass
    pods: list[PodState]
    alike: PodClass
    """The class whose view serves."""


class Stream:
    """Places small units in windows that grow while they hold."""

    def __init__(self, cluster: Cluster, views: Views) -> None:
        self._nodes = cluster.nodes
        self._views = views
        self._size = _FIRST_WINDOW
        self._pause = 0

    @property
    def window(self) -> int:
        """How many pods are worth collecting for the next window; 1 while windows do not pay."""
        return 1 if self._pause else self._size

    def skip(self) -> None:
        """A unit was decided without a window."""
        self._pause = max(0, self._pause - 1)

    def place(self, units: Sequence[Small]) -> list[list[int]]:
        """Takes the room for the first of `units`, as many as can be told at once; their rows, unit by unit."""
        asked = {c: self._views.of(c) for c in dict.fromkeys(unit.pod_class for unit in units)}
        if unforeseeable := {c for c, view in asked.items() if not self._is_foreseeable(view, c)}:
            units = list(takewhile(lambda unit: unit.pod_class not in unforeseeable, units))
        if not units:
            return []
        wanted = [unit.pod_class for unit in units for _ in unit.pods]
        # classes that were used lately will be used again: rated along, they cost next to nothing
        views = list(filter(_foreseeable, self._views.with_others(asked.values(), _RATED_ALONG)))
        window = _Window([asked[pod_class].pod_class for pod_class in wanted], views)
        window.choose(self._views.keys(views))
        if window.rows:
            window.rate(self._room_after(window), self._views)
        decided = _whole_units(units, window.holding())
        placed = sum(len(unit.pods) for unit in decided)
        self._adapt(len(wanted), placed)
        if not decided:
            return []
        self._nodes.usage.add_each(window.rows[:placed], window.takes[:placed])
        for row, pod_class in zip(window.rows, wanted[:placed], strict=False) if any(c.ties for c in asked) else ():
            if pod_class.ties is not None:
                self._nodes.usage.census.add(row, pod_class.ties)
        window.tell_views(placed, self._views)
        rows = iter(window.rows)
        return [list(islice(rows, len(unit.pods))) for unit in decided]

    def _is_foreseeable(self, view: ClassView, pod_class: PodClass) -> bool:
        return _foreseeable(view) and not self._views.is_wide(pod_class)

    def _room_after(self, window: _Window) -> Room:
        """The chosen rows with their pods in place."""
        nodes = self._nodes
        room = Room(nodes, nodes.usage, np.array(window.rows, np.intp))
        window.takes = window.taken_by(len(nodes.resources))
        taken = window.takes.T[:, None]
        room.free -= taken[: len(taken) // 2]
        room.scored -= taken[len(taken) // 2 :]
        return room

    def _adapt(self, asked: int, placed: int) -> None:
        if placed == asked:
            self._size = min(_LARGEST_WINDOW, 2 * self._size)
        else:
            self._size = max(_FIRST_WINDOW, placed)
            self._pause = _PAUSE if placed < _TOO_FEW else 0


class _Window:
    """One window: which row each pod gets, and how every class rates those rows afterwards."""

    def __init__(self, wanted: list[PodClass], views: list[ClassView]) -> None:
        self._views = views
        numbers = {view.pod_class: number for number, view in enumerate(views)}
        self._numbers = [numbers[pod_class] for pod_class in wanted]
        """For each pod, which of the views is its class's."""
        self.rows: list[int] = []
        """For each pod its row, as far as there was a node that no pod before it has."""
        self._before: list[int] = []
        """The pods' keys for these rows."""
        self.takes: Ints = np.zeros((0, 0), np.int64)
        """(pods × resources twice): what each takes of its row, as Usage's block has it."""
        self._copies: Ints = np.zeros((len(views), 0), np.int64)
        self._after: Ints = self._copies
        """(classes × rows): copies and keys when all pods are in place."""

    def choose(self, keys: Ints) -> None:
        """Every pod takes the best row that is left, by `keys` (classes × nodes), which are used up."""
        for number in self._numbers if keys.size else ():
            offers = keys[number]
            row = int(offers.argmax())
            key = int(offers[row])
            if not key:
                break
            self.rows.append(row)
            self._before.append(key)
            keys[:, row] = 0

    def taken_by(self, resources: int) -> Ints:
        numbers = self._numbers[: len(self.rows)]
        lines = {number: line for line, number in enumerate(dict.fromkeys(numbers))}
        by_class = np.array([_takes(self._views[number].pod_class, resources) for number in lines], np.int64)
        found: Ints = by_class[[lines[number] for number in numbers]]
        return found

    def rate(self, after: Room, views: Views) -> None:
        groups: dict[tuple[object, ...], list[int]] = {}
        for number, view in enumerate(self._views):
            groups.setdefault((id(view.rules), *view.pod_class.shape), []).append(number)
        if len(groups) == 1:
            self._copies, self._after = views.evaluate(self._views, after)
            return
        shape = (len(self._views), len(self.rows))
        self._copies, self._after = np.empty(shape, np.int64), np.empty(shape, np.int64)
        for alike in groups.values():
            found = views.evaluate([self._views[number] for number in alike], after)
            self._copies[alike], self._after[alike] = found

    def holding(self) -> int:
        """How many pods from the start prefer their row to all rows that pods before them changed."""
        if len(self.rows) < 2:
            return len(self.rows)
        # the best that changed rows offer to each class, just before each pod's turn
        rivals = np.maximum.accumulate(self._after, axis=1)
        turns = np.arange(1, len(self.rows))
        beaten = rivals[self._numbers[1 : len(self.rows)], turns - 1] > np.array(self._before[1:])
        return 1 + int(beaten.argmax()) if beaten.any() else len(self.rows)

    def tell_views(self, placed: int, views: Views) -> None:
        """The views need no repair: what they would find is known."""
        rows = np.array(self.rows[:placed], np.intp)
        views.foresee(self._views, rows, copies=self._copies[:, :placed], keys=self._after[:, :placed])


def _foreseeable(view: ClassView) -> bool:
    """Whether a pod of the class changes nothing but the room on its own node, in anybody's eyes."""
    return view.adds_up and not view.rules.raw


@lru_cache(maxsize=4096)
def _takes(pod_class: PodClass, resources: int) -> list[int]:
    """What one copy takes of every resource, as filters and then as scores count it."""
    filtered = [0] * resources
    for resource, amount in pod_class.takes:
        filtered[resource] = amount
    scored = filtered.copy()
    for resource, amount in pod_class.extra:
        scored[resource] += amount
    return filtered + scored


def _whole_units(units: Sequence[Small], pods: int) -> list[Small]:
    """The first units that the first `pods` pods make up whole."""
    whole: list[Small] = []
    for unit in units:
        pods -= len(unit.pods)
        if pods < 0:
            break
        whole.append(unit)
    return whole
