"""How many copies of every waiting class the cluster takes, kept up to date one changed node at a time.

Growing room is booked before anybody is decided; shrinking room may be booked late, so a total is never too low.
"""

from __future__ import annotations

from collections import Counter, OrderedDict

import numpy as np
from numpy.typing import NDArray

from muster.base.arrays import grown
from muster.cluster.classes import NodeRules, PodClass
from muster.cluster.nodes import NodeTable
from muster.cluster.resources import PODS
from muster.cluster.usage import Ints
from muster.framework.contract import Bools
from muster.framework.views import Views

Floats = NDArray[np.float64]

# finite, so that vacant slots can be added and subtracted like all others
_PLENTY = 1e12


class WantColumns:
    """One column entry per waiting class; floats, since their division is four times as fast."""

    def __init__(self) -> None:
        self.need: Floats = np.ones((0, 0))
        """(resources × classes); 1 where the class asks for none, see `idle`."""
        self.idle: Floats = np.zeros((0, 0))
        """Added to what a resource allows: plenty where the class asks for none."""
        self.rules: NDArray[np.intp] = np.zeros(0, np.intp)
        self.total: Floats = np.zeros(0)
        self.least: Floats = np.zeros(0)
        """The fewest copies that help anybody who waits with the class."""
        self.growth: Ints = np.zeros(0, np.int64)
        self.touchy: Bools = np.zeros(0, np.bool_)
        """Any room that is freed may help: the class depends on more than resources, or some wait with another, too."""

    def grow(self, slots: int, resources: int) -> None:
        more = slots - len(self.total)
        self.fit(resources)
        self.need = grown(self.need, 0, more, fill=1)
        self.idle = grown(self.idle, 0, more, fill=_PLENTY)
        self.rules = grown(self.rules, more)
        self.total = grown(self.total, more)
        self.least = grown(self.least, more, fill=np.inf)
        self.growth = grown(self.growth, more)
        self.touchy = grown(self.touchy, more)

    def fit(self, resources: int) -> None:
        more = resources - len(self.need)
        if not more:
            return
        self.need = grown(self.need, more, 0, fill=1)
        self.idle = grown(self.idle, more, 0, fill=_PLENTY)

    def put(self, slot: int, pod_class: PodClass, *, rules: int, touchy: bool) -> None:
        self.need[:, slot], self.idle[:, slot] = 1, _PLENTY
        for resource, amount in pod_class.room:
            self.need[resource, slot], self.idle[resource, slot] = amount, 0
        if pod_class.unknown:
            self.need[PODS, slot] = _PLENTY
        self.rules[slot] = rules
        self.least[slot] = np.inf
        self.touchy[slot] = touchy

    def copies(self, free: Floats) -> Floats:
        """How many of each class a node with this much free room takes."""
        quotients = free[:, None] / self.need
        np.floor(quotients, out=quotients)
        quotients += self.idle
        fewest: Floats = np.minimum.reduce(quotients)
        np.maximum(fewest, 0, out=fewest)
        return fewest


class Ledger:
    """The nodes as the totals have counted them, and which of them changed since."""

    def __init__(self, nodes: NodeTable, views: Views) -> None:
        self._nodes = nodes
        self._views = views
        self._free: Floats = np.zeros((0, 0))
        self._admitted: list[Bools] = []
        self._guessed: dict[int, Bools] = {}
        """By slot of the rules: rows that count as admitted since a plugin failed with them."""
        self._rules: dict[NodeRules, int] = {}
        self._users: Counter[NodeRules] = Counter()
        self._vacant: list[int] = []
        self._grown: OrderedDict[int, Ints] = OrderedDict()
        """Rows whose room may have grown, with the room they had when somebody could last have been refused."""
        self._shrunk: OrderedDict[int, None] = OrderedDict()
        self._seen_log = self._seen_described = -1
        self.start_over()

    @property
    def grown_left(self) -> int:
        return len(self._grown)

    def start_over(self) -> None:
        """Nobody waits: the nodes count as they are now."""
        self._free = self._nodes.usage.free.astype(np.float64)
        self._rules, self._admitted, self._guessed = {}, [], {}
        self._users, self._vacant = Counter(), []
        self._grown, self._shrunk = OrderedDict(), OrderedDict()
        self._nodes.usage.take_freed()
        self._seen_log, self._seen_described = self._nodes.usage.log.end, self._nodes.described.end

    def collect(self) -> None:
        """Takes note of what changed since; nothing is booked yet."""
        nodes, usage = self._nodes, self._nodes.usage
        more = np.array(usage.free.shape) - self._free.shape
        if more.any():
            self._free = grown(self._free, *more)
            self._admitted = [grown(admitted, more[1]) for admitted in self._admitted]
            self._guessed = {slot: grown(guessed, more[1]) for slot, guessed in self._guessed.items()}
            for row, before in self._grown.items():
                self._grown[row] = grown(before, more[0])
        for row, before in usage.take_freed().items():
            # nobody is decided, so nobody refused, while rows are left to book: the first answer stands
            self._grown.setdefault(row, before)
        for row in _rows(nodes.described.since(self._seen_described), nodes.capacity):
            if row not in self._grown:
                self._grown[row] = usage.free[:, row].copy()
        for row in _rows(usage.log.since(self._seen_log), nodes.capacity):
            self._shrunk[row] = None
        self._seen_log, self._seen_described = usage.log.end, nodes.described.end

    def next_grown(self) -> tuple[int, Ints] | None:
        return self._grown.popitem(last=False) if self._grown else None

    def next_shrunk(self) -> int | None:
        return self._shrunk.popitem(last=False)[0] if self._shrunk else None

    def book(self, columns: WantColumns, row: int, before: Ints | None) -> NDArray[np.intp]:
        """Counts the row anew for all classes; returns the slots it may help, if its room grew from `before`."""
        allowed_before = np.array([admitted[row] for admitted in self._admitted])
        # whoever is refused is refused by what the plugins say when they do not fail
        known_before = allowed_before
        if self._guessed:
            guesses = (self._guessed.get(slot) for slot in range(len(self._admitted)))
            known_before = allowed_before & [guessed is None or not guessed[row] for guessed in guesses]
        for rules, slot in self._rules.items():
            admitted = self._admitted_by(rules)
            self._admitted[slot][row] = admitted is None or admitted[row]
            if admitted is None or slot in self._guessed:
                self._guess(slot)[row] = admitted is None
        allowed = np.array([admitted[row] for admitted in self._admitted])
        columns.fit(len(self._free))
        free = self._nodes.usage.free[:, row].astype(np.float64)
        here = columns.copies(free) * allowed[columns.rules]
        columns.total += here - columns.copies(self._free[:, row]) * allowed_before[columns.rules]
        self._free[:, row] = free
        self._shrunk.pop(row, None)
        if before is None:
            return _NOBODY
        refused = columns.copies(before.astype(np.float64)) * known_before[columns.rules]
        grown = (here > refused) | (columns.touchy & allowed[columns.rules])
        columns.growth += grown
        return np.flatnonzero(grown & (columns.total >= columns.least))

    def take_rules(self, rules: NodeRules) -> int:
        """The slot of these rules, which are in use once more."""
        self._users[rules] += 1
        slot = self._rules.get(rules)
        if slot is None:
            known = self._admitted_by(rules)
            admitted = np.ones(self._nodes.capacity, np.bool_) if known is None else known.copy()
            if self._vacant:
                slot = self._vacant.pop()
                self._admitted[slot] = admitted
            else:
                slot = len(self._admitted)
                self._admitted.append(admitted)
            self._rules[rules] = slot
            if known is None:
                self._guess(slot)[:] = True
        return slot

    def _admitted_by(self, rules: NodeRules) -> Bools | None:
        """None if a plugin fails with the rules: all rows count then, since a total is never too low."""
        try:
            return self._views.rules(rules).admitted
        except Exception:  # whoever waits with these rules finds out when it is tried
            return None

    def _guess(self, slot: int) -> Bools:
        return self._guessed.setdefault(slot, np.zeros(self._nodes.capacity, np.bool_))

    def leave_rules(self, rules: NodeRules) -> None:
        self._users[rules] -= 1
        if not self._users[rules]:
            del self._users[rules]
            slot = self._rules.pop(rules)
            self._guessed.pop(slot, None)
            self._vacant.append(slot)

    def count(self, pod_class: PodClass) -> float:
        """Copies of the class on all nodes, as far as changes have been booked."""
        if pod_class.unknown:
            return 0.0
        line = pod_class.line
        quotients = np.floor(self._free[line.need_rows] / line.need[:, 0])
        copies = np.maximum(np.minimum.reduce(quotients), 0)
        return float((copies * self._admitted[self._rules[pod_class.rules]]).sum())


_NOBODY: NDArray[np.intp] = np.zeros(0, np.intp)


def _rows(changed: list[int] | None, capacity: int) -> list[int] | range:
    """The log's answer; all rows where it reaches back no further."""
    return range(capacity) if changed is None else changed
