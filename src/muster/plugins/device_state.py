"""Devices that placements take, beside those that claims have: copied with every trial.

A pod that is placed takes devices as if it were granted them; who is taken off a trial gives back what it holds.  What
the cluster's own pods hold is in the book, since claims say it: of them the state has only those who were placed and
are not granted anything yet, and those for whom room is reserved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from muster.api.wire import Node
from muster.base.selectors import NodeSelector
from muster.cluster.classes import PodClass
from muster.cluster.nodes import NodeTable
from muster.cluster.usage import Ints
from muster.devices.allocator import Found, Refused
from muster.devices.capacity import Parts
from muster.devices.inventory import Seen
from muster.devices.needs import Need
from muster.devices.pools import Placed
from muster.devices.results import node_selector_of
from muster.devices.taken import FREE, PoolKey, Taken, parts_of
from muster.plugins.device_book import PLENTY, Asked, Book, DeviceNeed, HeldDevice, need_in

_Piece = tuple[PoolKey, str, Parts | None]
"""A device, or a part of one."""


class _Entry(NamedTuple):
    """A pod that was placed."""

    need: DeviceNeed
    pieces: tuple[_Piece, ...] | None
    """What it takes for itself; None if there was nothing to be had."""
    is_granted: bool = False
    """What it got is in the book."""


class _Met(NamedTuple):
    """A claim that several pods use, and one of them has had met."""

    pieces: tuple[_Piece, ...]
    reach: NodeSelector | None
    """Nodes that can use it; None: all."""
    users: int


class DeviceState:
    """Rows, and what those take who were placed there."""

    def __init__(self, book: Book | None = None) -> None:
        self.book = book
        """The cluster's, shared by all copies; None before there is a supply."""
        self.is_trial = False
        self.is_emptied = False
        """What the book has as taken is not."""
        self._entries: dict[int, tuple[_Entry, ...]] = {}
        self._met: dict[str, _Met] = {}
        """By the key of the claim."""
        self._more: dict[PoolKey, tuple[_Piece, ...]] = {}
        """What is taken beside the book, by pool."""
        self._less: dict[PoolKey, tuple[_Piece, ...]] = {}
        """What is not, though the book has it: its holders are off."""

    def copy(self) -> Self:
        twin = type(self)(self.book)
        twin.is_trial, twin.is_emptied = True, self.is_emptied
        twin._entries, twin._met = self._entries.copy(), self._met.copy()
        twin._more, twin._less = self._more.copy(), self._less.copy()
        return twin

    def emptied(self) -> Self:
        """As it would be if nobody had any device."""
        twin = type(self)(self.book)
        twin.is_trial = twin.is_emptied = True
        return twin

    # --- who comes and goes ---

    def add(self, row: int, pod_class: PodClass) -> None:
        need = need_in(pod_class.rules)
        if need is None or self.book is None:
            return
        if need.asks:
            entries = self._entries.get(row, ())
            self._entries[row] = (*entries, _Entry(need, self._take(row, need)))
        elif need.held and self.is_trial:
            self._put_back(row, need.held)

    def remove(self, row: int, pod_class: PodClass) -> None:
        need = need_in(pod_class.rules)
        if need is None or self.book is None:
            return
        if need.asks:
            self._drop(row, need)
        elif need.held and self.is_trial:
            self._take_off(row, need.held)

    def clear(self, row: int) -> None:
        for entry in self._entries.pop(row, ()):
            self._free(entry)

    def settle(self) -> None:
        assert self.book is not None
        for results in self.book.returning.values():
            for one in results:
                key = one.driver, one.pool
                self._less[key] = (*self._less.get(key, ()), (key, one.device, parts_of(one)))

    def granted(self, row: int, need: DeviceNeed) -> None:
        """One of those who were placed there gets what it takes from the book from now on."""
        entries = list(self._entries.get(row, ()))
        for place in reversed(range(len(entries))):
            entry = entries[place]
            if entry.need == need and not entry.is_granted:
                self._free(entry)
                for ask in need.asks:
                    self._unmeet(ask.shared)
                entries[place] = _Entry(need, (), is_granted=True)
                self._entries[row] = tuple(entries)
                return

    def _drop(self, row: int, need: DeviceNeed) -> None:
        entries = list(self._entries.get(row, ()))
        # who was granted something goes first: it is of another class by now
        mine = sorted(
            (place for place, one in enumerate(entries) if one.need == need),
            key=lambda at: (not entries[at].is_granted, -at),
        )
        if not mine:
            return
        self._free(entries.pop(mine[0]))
        if entries:
            self._entries[row] = tuple(entries)
        else:
            del self._entries[row]

    # --- what they take ---

    def _take(self, row: int, need: DeviceNeed) -> tuple[_Piece, ...] | None:
        """Devices for a pod on the row; what claims get that others use, too, is kept by claim."""
        assert self.book is not None
        seen, missing = self._seen(row), self._missing(need)
        needs = self.book.needs_of(missing)
        found = self.book.search(needs, seen, self.taken(seen)) if missing else None
        if isinstance(found, Refused):
            return None
        for ask in need.asks:
            if (met := self._met.get(ask.shared)) is not None:
                self._met[ask.shared] = met._replace(users=met.users + 1)
        picked = [] if found is None else list(_picked(found, needs, seen))
        for number, ask in enumerate(missing):
            if ask.shared:
                own = [(piece, device) for at, piece, device in picked if at == number]
                reach = node_selector_of([device for _, device in own], self.book.nodes.names[row])
                self._met[ask.shared] = _Met(tuple(piece for piece, _ in own if piece is not None), reach, 1)
        for _, piece, _ in picked:
            if piece is not None:
                self._more[piece[0]] = (*self._more.get(piece[0], ()), piece)
        return tuple(piece for at, piece, _ in picked if piece is not None and not missing[at].shared)

    def _missing(self, need: DeviceNeed) -> list[Asked]:
        """Without claims that another who was placed has had met."""
        return [ask for ask in need.asks if ask.shared not in self._met]

    def _free(self, entry: _Entry) -> None:
        if entry.pieces is None or entry.is_granted:
            return
        for piece in entry.pieces:
            self._unbook(self._more, piece)
        for ask in entry.need.asks:
            met = self._met.get(ask.shared)
            if met is None:
                continue
            if met.users > 1:
                self._met[ask.shared] = met._replace(users=met.users - 1)
            else:
                self._unmeet(ask.shared)

    def _unmeet(self, claim: str) -> None:
        met = self._met.pop(claim, None)
        for piece in () if met is None else met.pieces:
            self._unbook(self._more, piece)

    def _unbook(self, books: dict[PoolKey, tuple[_Piece, ...]], piece: _Piece) -> None:
        left = list(books.get(piece[0], ()))
        if piece in left:
            left.remove(piece)
        if left:
            books[piece[0]] = tuple(left)
        else:
            books.pop(piece[0], None)

    def _take_off(self, row: int, held: tuple[HeldDevice, ...]) -> None:
        for piece in self._held(row, held):
            self._less[piece[0]] = (*self._less.get(piece[0], ()), piece)

    def _put_back(self, row: int, held: tuple[HeldDevice, ...]) -> None:
        for piece in self._held(row, held):
            self._unbook(self._less, piece)

    def _held(self, row: int, held: tuple[HeldDevice, ...]) -> Iterator[_Piece]:
        assert self.book is not None
        for one in held:
            yield (one.driver, one.pool or self.book.nodes.names[row]), one.device, one.parts

    # --- what is left ---

    def _seen(self, row: int) -> Seen:
        assert self.book is not None
        nodes = self.book.nodes
        return self.book.seen(nodes.nodes[row] if row < nodes.capacity else None)

    def taken(self, seen: Seen) -> tuple[Taken, ...]:
        """Of each pool that is seen."""
        return tuple(map(self._taken, seen.keys))

    def _taken(self, key: PoolKey) -> Taken:
        assert self.book is not None
        found = FREE if self.is_emptied else self.book.taken.get(key, FREE)
        for _, device, parts in self._less.get(key, ()):
            found = found.giving_back(device, parts)
        for _, device, parts in self._more.get(key, ()):
            found = found.taking(device, parts)
        return found

    def copies(self, need: DeviceNeed, nodes: NodeTable, rows: list[int], *, exact: bool) -> Ints:
        """How many pods with this need each of the rows takes; if not `exact`, devices that several nodes can use count
        as free, since who takes them elsewhere is not told here."""
        # 2 µs a row: a thousand rows are looked at once for each class, later only those that changed
        exact = exact or not need.is_wide
        return np.array([self._copies_on(need, nodes, row, exact) for row in rows], np.int64)

    def _copies_on(self, need: DeviceNeed, nodes: NodeTable, row: int, exact: bool) -> int:
        node = nodes.nodes[row]
        if node is None or self.book is None or need.is_placed:
            return 0
        if not all(one.matches(node.metadata.labels, node.metadata.name) for one in need.within):
            return 0
        if not need.asks:
            return PLENTY
        self._retry(row)
        if not self._is_reached(need, node):
            return 0
        missing = self._missing(need)
        if not missing:
            return PLENTY
        seen = self.book.seen(node)
        taken = self.taken(seen) if exact else (FREE,) * len(seen.keys)
        found = self.book.copies(self.book.needs_of(missing), seen, taken)
        own = [ask for ask in missing if not ask.shared]
        if not found or len(own) == len(missing):
            return found
        # an upper bound: what the first gets for all of them leaves less
        return self.book.copies(self.book.needs_of(own), seen, taken) if own else PLENTY

    def refusal(self, need: DeviceNeed, nodes: NodeTable, row: int) -> Refused | None:
        """Why devices cannot be had on the row; None if that is not what is missing."""
        node = nodes.nodes[row]
        if node is None or self.book is None or need.is_placed:
            return None
        seen, missing = self.book.seen(node), self._missing(need)
        found = self.book.search(self.book.needs_of(missing), seen, self.taken(seen)) if missing else None
        return found if isinstance(found, Refused) else None

    def _is_reached(self, need: DeviceNeed, node: Node) -> bool:
        """Whether the node can use what claims were given that others share."""
        met = (self._met[ask.shared].reach for ask in need.asks if ask.shared in self._met)
        return all(one is None or one.matches(node.metadata.labels, node.metadata.name) for one in met)

    def _retry(self, row: int) -> None:
        """Who got nothing when it was placed is served before anybody else is."""
        entries = self._entries.get(row, ())
        if all(entry.pieces is not None for entry in entries):
            return
        self._entries[row] = tuple(
            entry if entry.pieces is not None else _Entry(entry.need, self._take(row, entry.need)) for entry in entries
        )


def _picked(found: Found, needs: tuple[Need, ...], seen: Seen) -> Iterator[tuple[int, _Piece | None, Placed]]:
    """The number of the need, what is taken (nothing, for the sake of administration), and the device."""
    devices = [(key, one) for key, pool in zip(seen.keys, seen.supply.pools, strict=True) for one in pool.devices]
    for pick in found.picks:
        key, device = devices[pick.at]
        is_admin = needs[pick.need].requests[pick.request][pick.way].is_admin
        yield pick.need, None if is_admin else (key, device.name, pick.parts), device
