"""Small work must not pass a big gang for ever.

A gang that waits, and would fit if running pods ended, is passed by so many units behind it in the queue and no more:
units that started on nodes that it could use.  After that, those nodes are held for it: nobody behind it gets room
there until it starts, goes, or can no longer fit.  A gang that can never fit holds nothing.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from contextlib import suppress
from heapq import merge

import msgspec
import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.nodes import Rows
from muster.cluster.pods import PodState, Stage
from muster.cluster.usage import Ints, Usage
from muster.engine.answers import Budget, Placed
from muster.engine.ground import Ground
from muster.engine.search import Search
from muster.engine.unit import GangUnit, Order, Unit
from muster.framework.contract import Bools, Capacity
from muster.framework.profile import Profiles
from muster.framework.views import Views

# about 10 ms with 1,000 nodes
_CLASSES_AT_ONCE = 256
_CLASSES_KEPT = 4_096
# so many may hold the same nodes, each against those who take what it needs there
_HOLDERS = 16
_ANY_NUMBER = 2**31


_Version = tuple[int, int]
"""Changes with the nodes' facts, and with the pods that belong to their node."""
_NEVER = -1, -1


Demand = tuple[tuple[PodClass, int], ...]
"""What a unit would place, by class."""


class Starving(msgspec.Struct, gc=False, eq=False):
    """A gang that waits and is passed."""

    unit: GangUnit
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
    declared_by: str = ""
    """UID of the gang's object: of one that is made anew nobody has passed the gang yet."""

    @property
    def is_anew(self) -> bool:
        declared = self.unit.gang.declared
        return declared is not None and declared.uid != self.declared_by

    @property
    def held(self) -> bool:
        return self.holds is not None


class Starvation:
    """Counts who passes whom, and says which nodes are held.

    Thousands may wait, and all of them may have been passed too often at once.  So whether one would fit is proven in
    order, and only as long as there are nodes left that nobody before it holds.
    """

    def __init__(
        self,
        cluster: Cluster,
        profiles: Profiles,
        views: Views,
        *,
        search: Search,
    ) -> None:
        self._cluster = cluster
        profile = self._profile = profiles.first
        self._profiles = profiles
        self._views = views
        self._search = search
        self._factor = profile.fairness.passes_per_member
        self.waiting: dict[str, Starving] = {}
        self._in_order: list[Starving] = []
        self._due: list[Starving] = []
        """Those who were passed as often as they may be, in order."""
        self._holding: list[Starving] | None = []
        """Those of them who hold nodes, in order; None if to be found out."""
        self._copies: dict[PodClass, Ints] = {}
        """How many of a class each node could take, as of `_version`."""
        self._version = _NEVER
        self._blocked: dict[tuple[Demand, int], Bools | None] = {}
        """Rows held from units with a demand by the first so many who hold nodes, as of `_blocked_at`."""
        self._blocked_at = -1
        self._proven_at = _NEVER
        self._empty: tuple[_Version, Usage] | None = None
        self._reached: dict[str, None] = {}
        """Gangs for which nodes are held since this was last asked."""
        self._passers: list[tuple[Order, float, list[int]]] = []
        """What ran when this scheduler came: order, bound when, on which rows."""

    def __len__(self) -> int:
        """How many may hold nodes."""
        return len(self._due)

    def of(self, key: str) -> Starving | None:
        return self.waiting.get(key)

    def begin(self) -> None:
        """All that ran before this scheduler came is known."""
        if self._factor is not None:
            with suppress(Exception):  # a plugin's bug: nobody was passed then, as far as is known
                self._passers = list(self._find_passers())

    # --- gangs that wait ---

    def waits(self, unit: Unit, classes: Iterable[PodClass], needed: int) -> None:
        """The gang lacks so many; whether it would fit if running pods ended is looked into when it matters."""
        factor = self._factor
        if factor is None or not isinstance(unit, GangUnit):
            return
        gang = unit.gang
        known = self.waiting.get(unit.key)
        limit = max(1, int(factor * gang.present))
        if known is not None and known.held:
            # whoever joins does not take back what is held
            limit = min(limit, known.passed)
        kinds = tuple(sorted(classes, key=lambda c: c.order))
        by = "" if gang.declared is None else gang.declared.uid
        entry = Starving(unit, unit.order, kinds, needed, limit, declared_by=by)
        if known is not None and _same(known, entry):
            return
        holds = None
        if known is not None:
            holds = known.holds
            # it may need less than it did, and others may stand before it now
            self._release(holds, None)
            self._forget(known)
        if gang.passed is None:
            gang.passed = self._passed_before(entry, gang)
        entry.passed = gang.passed
        self._put(entry, holds)

    def is_up_to_date(self, unit: Unit, needed: int) -> bool:
        """Whether what the gang holds, if anything, is what it would hold if it were refused now."""
        entry = self.waiting.get(unit.key)
        if entry is None or not entry.held:
            return True
        return entry.needed == needed and entry.classes == tuple(sorted(unit.classes, key=lambda c: c.order))

    def moves(self, unit: Unit) -> None:
        """Its place in the queue may be another: who was behind it perhaps stands before it now."""
        entry = self.waiting.get(unit.key)
        if entry is not None and entry.is_anew:
            self.leaves(unit.key)
        elif entry is not None and entry.order != unit.order:
            self._forget(entry)
            entry.order = unit.order
            self._release(entry.holds, None)
            self._put(entry, entry.holds)

    def leaves(self, key: str) -> None:
        """It is being bound, went, or may not be decided: it holds nothing."""
        entry = self.waiting.get(key)
        if entry is not None:
            self._forget(entry)
            self._release(entry.holds, None)

    def _put(self, entry: Starving, holds: Bools | None) -> None:
        """It held these nodes until now."""
        self.waiting[entry.unit.key] = entry
        insort(self._in_order, entry, key=_order)
        if entry.passed >= entry.limit:
            insort(self._due, entry, key=_order)
            self._forget_holds()
            entry.holds = holds
        else:
            self._release(holds, None)

    def _forget(self, entry: Starving) -> None:
        if not entry.is_anew:
            # it may be refused again before it has started
            entry.unit.gang.passed = entry.passed
        del self.waiting[entry.unit.key]
        del self._in_order[bisect_left(self._in_order, entry.order, key=_order)]
        if entry.passed >= entry.limit:
            del self._due[bisect_left(self._due, entry.order, key=_order)]
            self._forget_holds()

    # --- those who pass ---

    @property
    def slack(self) -> int:
        """So many units may be decided at once before anybody has been passed too often."""
        return min((entry.limit - entry.passed for entry in self.waiting.values()), default=_ANY_NUMBER)

    def passes(self, order: Order, demand: Demand, rows: Iterable[int]) -> None:
        """A unit has taken room on these rows: all who wait before it and could have used that were passed."""
        before = bisect_left(self._in_order, order, key=_order)
        if not before:
            return
        taken: Rows = np.array(list(dict.fromkeys(rows)), np.intp)
        free = self._cluster.nodes.usage.free[:, taken]
        useful: dict[tuple[PodClass, ...], bool] = {}
        left, due = _CLASSES_AT_ONCE, []
        for entry in self._in_order[:before]:
            classes = entry.classes
            if entry.passed >= entry.limit:
                continue
            if classes not in useful:
                left -= sum(c not in self._copies for c in classes)
                # with so many that it would take long, being passed too seldom is what must not happen
                useful[classes] = left < 0 or bool(self._needed_by(classes, demand, free, taken).any())
            if useful[classes]:
                entry.passed += 1
                if entry.passed >= entry.limit:
                    due.append(entry)
        if due:
            # thousands may be at once
            self._due = list(merge(self._due, due, key=_order))
            self._forget_holds()

    def reached(self) -> list[Unit]:
        """Gangs for which nodes are held since this was last asked; they want to be told."""
        if self._holding is None:
            self._prove()
        reached, self._reached = self._reached, {}
        return [self.waiting[key].unit for key in reached if key in self.waiting]

    def is_held(self, row: int) -> bool:
        """Whether the row is held for anybody."""
        return any(entry.holds is not None and entry.holds[row] for entry in self._holding or ())

    def blocked(self, unit: Unit) -> Bools | None:
        """Rows that the unit may not use, since they are held for others before it."""
        if not self._due:
            return None
        if unit.mends or unit.belongs_to_node:
            # what runs of it may never end without it; and what belongs to a node is no competition
            return None
        holding = self._holding if self._holding is not None else self._prove()
        before = bisect_left(holding, unit.order, key=_order)
        return self._held_from(demand_of(unit), holding[:before]) if before else None

    def _held_from(self, demand: Demand, holding: list[Starving]) -> Bools | None:
        """Rows where a unit with this demand would take what one of those needs who hold them."""
        usage = self._cluster.nodes.usage
        if self._blocked_at != usage.log.end:
            self._blocked.clear()
            self._blocked_at = usage.log.end
        key = demand, len(holding)
        if key not in self._blocked:
            found = np.zeros(self._cluster.nodes.capacity, np.bool_)
            free = usage.free.copy()
            for resource, amount in _taken(demand):
                free[resource] -= amount
            for entry in holding:
                if entry.holds is not None:
                    found |= entry.holds & self._needed_by(entry.classes, demand, free, slice(None))
            self._blocked[key] = found if found.any() else None
        return self._blocked[key]

    def _needed_by(self, classes: tuple[PodClass, ...], demand: Demand, free: Ints, rows: Rows | slice) -> Bools:
        """Which of the rows, with so much free once the demand is met there, could use what it takes."""
        taken = {resource for resource, _ in _taken(demand)}
        found = np.zeros(free.shape[1], np.bool_)
        touchy = any(self._touchy(pod_class) for pod_class, _ in demand)
        for pod_class in classes:
            copies = self._copies_of(pod_class)[rows]
            if touchy or self._touchy(pod_class):
                found |= copies > 0
                continue
            for resource, amount in pod_class.room:
                if resource in taken:
                    found |= (copies > 0) & (free[resource] < amount * copies)
        return found

    def _touchy(self, pod_class: PodClass) -> bool:
        try:
            return self._views.capacity(pod_class) is not Capacity.EXACT
        except Exception:  # a plugin's bug: what cannot be told apart may matter
            return True

    def prove_again(self) -> None:
        """Something changed with who waits that may let it hold nodes."""
        self._forget_holds()

    def _forget_holds(self) -> None:
        self._holding = None
        self._blocked.clear()

    def look_again(self) -> None:
        """Who can no longer fit, since nodes changed, or cannot be bound, holds nothing."""
        if not self._due:
            return
        if self._proven_at != self._now or any(entry.held and entry.unit.efforts.unbindable for entry in self._due):
            self._prove()

    def _prove(self) -> list[Starving]:
        """Finds out who holds nodes."""
        holding: list[Starving] = []
        left = self._cluster.nodes.precedence > 0
        sought = True
        for entry in self._due:
            held = sought and not entry.unit.efforts.unbindable and self._fits(entry)
            usable = self._could_use(entry.classes) if held else None
            if usable is not None:
                holding.append(entry)
                left = left & ~usable
                sought = len(holding) < _HOLDERS or bool(left.any())
                if not entry.held:
                    self._reached[entry.unit.key] = None
            before, entry.holds = entry.holds, usable
            # on other nodes it may need less than before even where it holds them still
            if before is not None:
                self._release(before, usable if self._proven_at == self._now else None)
        self._forget_holds()
        self._holding, self._proven_at = holding, self._now
        return holding

    def _fits(self, entry: Starving) -> bool:
        version, gang = self._now, entry.unit.gang
        if gang.declared is None:
            # its object is gone, and it will be too
            return False
        if entry.version != version:
            try:
                requirement = entry.unit.requirement(self._profile.gang_rule)
                answer = self._search.find(requirement, Ground(self._lasting_beside(gang)), Budget())
                entry.fits, entry.version = isinstance(answer, Placed), version
            except Exception:  # a plugin's bug: nothing is held without a proof
                return False
        return entry.fits

    def _release(self, before: Bools | None, after: Bools | None) -> None:
        """Who was kept from nodes and no longer is looks at them as if all their room had just been freed."""
        if before is None or before is after:
            return
        rows = np.flatnonzero(before).tolist()
        self._cluster.nodes.usage.open_up(row for row in rows if after is None or not after[row])

    # --- nodes ---

    @property
    def _now(self) -> _Version:
        return self._cluster.nodes.described.end, self._cluster.lasting_version

    def _could_use(self, classes: tuple[PodClass, ...]) -> Bools:
        """Rows that take one of the classes if nothing runs there but what belongs to the node."""
        found = np.zeros(self._cluster.nodes.capacity, np.bool_)
        for pod_class in classes:
            found |= self._copies_of(pod_class) > 0
        return found

    def _copies_of(self, pod_class: PodClass) -> Ints:
        """How many of the class each row takes if nothing runs there but what belongs to the node."""
        version = self._now
        if version != self._version or len(self._copies) > _CLASSES_KEPT:
            self._copies.clear()
            self._version = version
        found = self._copies.get(pod_class)
        if found is None:
            try:
                found = self._copies[pod_class] = self._views.copies_on(pod_class, self._lasting())
            except Exception:  # a plugin's bug: no node is of use to the class, as far as is known
                return np.zeros(self._cluster.nodes.capacity, np.int64)
        return found

    def _lasting(self) -> Usage:
        """The room there is if all pods ended that can; not to be changed."""
        nodes, version = self._cluster.nodes, self._now
        if self._empty is not None and self._empty[0] == version:
            return self._empty[1]
        states = self._profiles.new_states()
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

    def _passed_before(self, entry: Starving, gang: GangState) -> int:
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
                order = key(priority=gang.priority, created=created, uid=uid, name=gang.key)
            else:
                pod = pods[0]
                order = key(priority=pod.priority, created=pod.created, uid=pod.uid, name=pod.key)
            at = min((pod.bound_at for pod in pods if pod.bound_at is not None), default=0.0)
            yield order, at, [cluster.nodes.rows[pod.node] for pod in pods]


def demand_of(unit: Unit) -> Demand:
    return tuple(sorted(unit.classes.items(), key=lambda counted: counted[0].order))


def _taken(demand: Demand) -> Iterable[tuple[int, int]]:
    """All of it on one node."""
    total: dict[int, int] = {}
    for pod_class, count in demand:
        for resource, amount in pod_class.takes:
            total[resource] = total.get(resource, 0) + amount * count
    return total.items()


def _order(entry: Starving) -> Order:
    return entry.order


def _same(one: Starving, other: Starving) -> bool:
    return (one.order, one.classes, one.needed, one.limit) == (other.order, other.classes, other.needed, other.limit)
