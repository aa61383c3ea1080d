"""Small work must not pass a big gang for ever.

A gang that waits, and would fit if running pods ended, is passed by so many units behind it in the queue and no more:
units that started on nodes that it could use.  After that, those nodes are held for it: nobody behind it gets room
there until it starts, goes, or can no longer fit.  A gang that can never fit holds nothing.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable

import msgspec
import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState, Stage
from muster.cluster.usage import Usage
from muster.engine.queue import Order, Unit
from muster.framework.contract import Bools
from muster.framework.profile import Profile
from muster.framework.views import Views

# about 10 ms with 1,000 nodes
_CLASSES_AT_ONCE = 256
_CLASSES_KEPT = 4_096
_ANY_NUMBER = 2**31


_Version = tuple[int, int]
"""Changes with the nodes' facts, and with the pods that belong to their node."""
_NEVER = -1, -1


class Overtaken(msgspec.Struct, gc=False, eq=False):
    """A gang that waits and is passed."""

    unit: Unit
    order: Order
    classes: tuple[PodClass, ...]
    needed: int
    limit: int
    passed: int = 0
    holds: Bools | None = None
    """The nodes that are held for it."""
    fits: bool = False
    """It would fit if running pods ended, as of `version`."""
    version: _Version = _NEVER

    @property
    def held(self) -> bool:
        return self.holds is not None


class Bypass:
    """Counts who passes whom, and says which nodes are held.

    Thousands may wait, and all of them may have been passed too often at once.  So whether one would fit is proven in
    order, and only as long as there are nodes left that nobody before it holds.
    """

    def __init__(
        self,
        cluster: Cluster,
        profile: Profile,
        views: Views,
        *,
        would_fit: Callable[[GangState, Usage], bool],
    ) -> None:
        """`would_fit` proves that a gang has a place on a usage."""
        self._cluster = cluster
        self._profile = profile
        self._views = views
        self._would_fit = would_fit
        self._factor = profile.fairness.passes_per_member
        self.waiting: dict[str, Overtaken] = {}
        self._in_order: list[Overtaken] = []
        self._due: list[Overtaken] = []
        """Those who were passed as often as they may be, in order."""
        self._holds: list[tuple[Order, Bools]] | None = []
        """For those of them who hold nodes: all nodes that are held from whoever is behind; None if to be found out."""
        self._usable: dict[tuple[PodClass, ...], Bools] = {}
        """The nodes that classes could use, as of `_version`."""
        self._version = _NEVER
        self._empty: tuple[_Version, Usage] | None = None
        self._reached: dict[str, None] = {}
        """Gangs for which nodes are held since this was last asked."""
        self._passers: list[tuple[Order, float, list[int]]] = []
        """What ran when this scheduler came: order, bound when, on which rows."""

    def __len__(self) -> int:
        """How many may hold nodes."""
        return len(self._due)

    def of(self, key: str) -> Overtaken | None:
        return self.waiting.get(key)

    def begin(self) -> None:
        """All that ran before this scheduler came is known."""
        if self._factor is not None:
            self._passers = list(self._find_passers())

    # --- gangs that wait ---

    def waits(self, unit: Unit, classes: Iterable[PodClass], needed: int) -> None:
        """The gang lacks so many; whether it would fit if running pods ended is looked into when it matters."""
        gang, factor = unit.gang, self._factor
        if gang is None or factor is None:
            return
        known = self.waiting.get(unit.key)
        limit = max(1, int(factor * gang.present))
        if known is not None and known.held:
            # whoever joins does not take back what is held
            limit = min(limit, known.passed)
        kinds = tuple(sorted(classes, key=lambda c: c.order))
        entry = Overtaken(unit, unit.order, kinds, needed, limit)
        if known is not None and _same(known, entry):
            return
        holds = None
        if known is not None:
            holds = known.holds
            self._forget(known)
        if gang.passed is None:
            gang.passed = self._passed_before(entry, gang)
        entry.passed = gang.passed
        self._put(entry, holds)

    def leaves(self, key: str) -> None:
        """It is being bound, went, or may not be decided: it holds nothing."""
        entry = self.waiting.get(key)
        if entry is not None:
            self._forget(entry)
            self._release(entry.holds, None)

    def _put(self, entry: Overtaken, holds: Bools | None) -> None:
        """It held these nodes until now."""
        self.waiting[entry.unit.key] = entry
        insort(self._in_order, entry, key=_order)
        self._count(entry, 0)
        if entry.passed >= entry.limit:
            entry.holds = holds
        else:
            self._release(holds, None)

    def _forget(self, entry: Overtaken) -> None:
        assert entry.unit.gang is not None
        # it may be refused again before it has started
        entry.unit.gang.passed = entry.passed
        del self.waiting[entry.unit.key]
        del self._in_order[bisect_left(self._in_order, entry.order, key=_order)]
        if entry.passed >= entry.limit:
            del self._due[bisect_left(self._due, entry.order, key=_order)]
            self._holds = None

    # --- those who pass ---

    @property
    def slack(self) -> int:
        """So many units may be decided at once before anybody has been passed too often."""
        return min((entry.limit - entry.passed for entry in self.waiting.values()), default=_ANY_NUMBER)

    def passes(self, order: Order, rows: Iterable[int]) -> None:
        """A unit started on these rows: all who wait before it and could have used one of them were passed."""
        before = bisect_left(self._in_order, order, key=_order)
        if not before:
            return
        taken = list(rows)
        useful: dict[tuple[PodClass, ...], bool] = {}
        left = _CLASSES_AT_ONCE
        for entry in self._in_order[:before]:
            classes = entry.classes
            if entry.passed >= entry.limit:
                continue
            if classes not in useful:
                known = classes in self._usable and self._version == self._now
                left -= not known
                # with so many that it would take long, being passed too seldom is what must not happen
                useful[classes] = left < 0 or bool(self._could_use(classes)[taken].any())
            if useful[classes]:
                self._count(entry, 1)

    def _count(self, entry: Overtaken, passes: int) -> None:
        entry.passed += passes
        if entry.passed >= entry.limit:
            insort(self._due, entry, key=_order)
            self._holds = None

    def reached(self) -> list[Unit]:
        """Gangs for which nodes are held since this was last asked; they want to be told."""
        if self._holds is None:
            self._prove()
        reached, self._reached = self._reached, {}
        return [self.waiting[key].unit for key in reached if key in self.waiting]

    def blocked(self, unit: Unit) -> Bools | None:
        """Rows that the unit may not use, since they are held for others before it."""
        if not self._due:
            return None
        if unit.mends:
            # what runs of it may never end without it
            return None
        own = self.waiting.get(unit.key)
        if own is not None and own.order != unit.order:
            self._forget(own)
            own.order = unit.order
            self._put(own, own.holds)
        holds = self._holds if self._holds is not None else self._prove()
        before = bisect_left(holds, unit.order, key=lambda hold: hold[0])
        return holds[before - 1][1] if before else None

    def prove_again(self) -> None:
        """Something changed with who waits that may let it hold nodes."""
        self._holds = None

    def look_again(self) -> None:
        """Who can no longer fit, since nodes changed, or cannot be bound, holds nothing."""
        if not self._due:
            return
        if self._version != self._now or any(entry.held and entry.unit.unbindable for entry in self._due):
            self._prove()

    def _prove(self) -> list[tuple[Order, Bools]]:
        """Finds out who holds nodes."""
        holds: list[tuple[Order, Bools]] = []
        left = self._cluster.nodes.precedence > 0
        for entry in self._due:
            held = bool(left.any()) and not entry.unit.unbindable and self._fits(entry)
            usable = self._could_use(entry.classes) if held else None
            if usable is not None:
                holds.append((entry.order, holds[-1][1] | usable if holds else usable))
                left = left & ~usable
                if not entry.held:
                    self._reached[entry.unit.key] = None
            before, entry.holds = entry.holds, usable
            self._release(before, usable)
        self._holds = holds
        return holds

    def _fits(self, entry: Overtaken) -> bool:
        version, gang = self._now, entry.unit.gang
        if gang is None or gang.declared is None:
            # its object is gone, and it will be too
            return False
        if entry.version != version:
            entry.fits, entry.version = self._would_fit(gang, self._lasting_beside(gang)), version
        return entry.fits

    def _release(self, before: Bools | None, after: Bools | None) -> None:
        """Who was kept from nodes and no longer is looks at them as if all their room had just been freed."""
        if before is None or before is after:
            return
        nothing = np.zeros(len(self._cluster.nodes.usage.free), np.int64)
        for row in np.flatnonzero(before).tolist():
            if after is None or not after[row]:
                self._cluster.nodes.usage.freed[row] = nothing

    # --- nodes ---

    @property
    def _now(self) -> _Version:
        return self._cluster.nodes.described.end, self._cluster.lasting_version

    def _could_use(self, classes: tuple[PodClass, ...]) -> Bools:
        """Rows that take one of the classes if nothing runs there but what belongs to the node."""
        version = self._now
        if version != self._version or len(self._usable) > _CLASSES_KEPT:
            self._usable.clear()
            self._version = version
        found = self._usable.get(classes)
        if found is None:
            lasting = self._lasting()
            found = np.zeros(self._cluster.nodes.capacity, np.bool_)
            for pod_class in classes:
                found |= self._views.copies_on(pod_class, lasting) > 0
            self._usable[classes] = found
        return found

    def _lasting(self) -> Usage:
        """The room there is if all pods ended that can; not to be changed."""
        nodes, version = self._cluster.nodes, self._now
        if self._empty is not None and self._empty[0] == version:
            return self._empty[1]
        states = {plugin.name: plugin.new_state() for plugin in self._profile.stateful}
        usage = Usage.of_empty_nodes(nodes.allocatable, states=states).copy()
        # it differs from the cluster's everywhere
        usage.log.mark_all(list(nodes.rows.values()))
        for pod in self._cluster.lasting.values():
            row = nodes.rows.get(pod.node)
            if row is not None:
                usage.add(row, pod.pod_class)
        self._empty = version, usage
        return usage

    def _lasting_beside(self, gang: GangState) -> Usage:
        """The same with what is bound of the gang: that must not end for it to start."""
        usage, rows = self._lasting(), self._cluster.nodes.rows
        own = [pod for pod in gang.members.values() if pod.takes_room and not pod.lasting and pod.node in rows]
        if own:
            usage = usage.copy()
            for pod in own:
                usage.add(rows[pod.node], pod.pod_class)
        return usage

    # --- what a scheduler before us saw ---

    def _passed_before(self, entry: Overtaken, gang: GangState) -> int:
        """Units behind the gang that run on nodes it could use, and were bound after it was created."""
        if not self._passers:
            return 0
        usable = self._could_use(entry.classes)
        return sum(
            order > entry.order and at > gang.age[0] and bool(usable[rows].any()) for order, at, rows in self._passers
        )

    def _find_passers(self) -> Iterable[tuple[Order, float, list[int]]]:
        cluster, key = self._cluster, self._profile.order.key
        units: dict[str, list[PodState]] = {}
        for pod in cluster.pods.values():
            if pod.ours and pod.stage is Stage.BOUND and pod.node in cluster.nodes.rows:
                units.setdefault(pod.gang or pod.uid, []).append(pod)
        for name, pods in units.items():
            gang = cluster.gangs.get(name)
            if gang is not None:
                created, uid = gang.age
                order = (1, *key(priority=gang.priority, created=created, uid=uid))
            else:
                order = (1, *key(priority=pods[0].priority, created=pods[0].created, uid=pods[0].uid))
            at = min((pod.bound_at for pod in pods if pod.bound_at is not None), default=0.0)
            yield order, at, [cluster.nodes.rows[pod.node] for pod in pods]


def _order(entry: Overtaken) -> Order:
    return entry.order


def _same(one: Overtaken, other: Overtaken) -> bool:
    return (one.order, one.classes, one.needed, one.limit) == (other.order, other.classes, other.needed, other.limit)
