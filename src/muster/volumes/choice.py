"""Which volumes a pod gets on a node for claims that have none: volumes there are, else such as can be made.

As kube-scheduler: the claims in ascending order of what they ask for, each takes the smallest volume that is left; what
gets none is to be made.  Where that ends in a refusal though another distribution exists, that one is found: a refusal
is a proof.  Equal sizes go by name, since kube-scheduler's order there is chance.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec

from muster.api.volumes import CSIStorageCapacity, PersistentVolume
from muster.base.quantity import whole
from muster.base.selectors import NodeSelector, Requirement
from muster.base.selectors import matches as labels_match
from muster.volumes.needs import Ask, Provisioning, fits_at_all, requirements
from muster.volumes.nodes import InTopology, Labelled, Selected, Site, hints_of
from muster.volumes.storage import Stock, bytes_of

NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"

_AVAILABLE = "Available"
_MANY = 10
"""Of more claims that could be provisioned not every subset is tried."""


class Offer(msgspec.Struct, frozen=True, gc=False):
    """A volume that would do for an ask, on nodes within its reach."""

    volume: str
    capacity_bytes: int
    storage_class: str
    required: NodeSelector | None = None


class Offers:
    """All that would do for one ask, the best first; those of a node are found by its labels."""

    def __init__(self, offers: Iterable[Offer]) -> None:
        self.all = tuple(offers)
        self._anywhere: list[int] = []
        self._labelled: dict[str, dict[str, list[int]]] = {}
        """By key and value, numbers of offers that may be in reach of nodes with that label."""
        for number, offer in enumerate(self.all):
            hints = None if offer.required is None else hints_of(offer.required)
            if hints is None:
                self._anywhere.append(number)
            for key, value in hints or ():
                self._labelled.setdefault(key, {}).setdefault(value, []).append(number)

    def on(self, site: Site) -> list[Offer]:
        """Those within reach of the node."""
        numbers = set(self._anywhere)
        for key, by_value in self._labelled.items():
            numbers.update(by_value.get(site.labels.get(key, ""), ()))
        return [offer for number in sorted(numbers) if is_within_reach(offer := self.all[number], site)]


class Pool(msgspec.Struct, frozen=True, gc=False):
    """Storage of a class that some nodes reach, and of which volumes can be made."""

    key: str
    storage_class: str
    nodes: Labelled
    largest_bytes: int
    """No volume may be larger."""
    capacity_bytes: int | None
    """All that there is, if that is told."""


class Bound(msgspec.Struct, frozen=True, gc=False):
    """The ask of this number gets a volume that there is."""

    ask: int
    offer: Offer


class Made(msgspec.Struct, frozen=True, gc=False):
    """The ask of this number gets one to be made, out of the pool if one was looked for."""

    ask: int
    pool: Pool | None = None


class Choice(msgspec.Struct, frozen=True, gc=False):
    """What all asks get on one node."""

    bound: tuple[Bound, ...] = ()
    made: tuple[Made, ...] = ()


class Refused(msgspec.Struct, frozen=True, gc=False):
    reason: str


class Market(msgspec.Struct, frozen=True, gc=False):
    """What there is to choose from, and what is promised already to others of the same trial."""

    offers: Callable[[Ask], Offers]
    """`offers_for` of a stock; whoever asks often keeps the answers."""
    pools: Callable[[str], Sequence[Pool]]
    """Of a class, the largest first."""
    taken: Collection[str] = frozenset()
    """Names of volumes."""
    promised: Mapping[str, int] | None = None
    """Bytes by pool.  None: as kube-scheduler, every claim is held against what there is alone.  Else what claims of a
    pod take from one pool is summed up, with what is promised; a refusal is then no proof where a node has several."""
    settled: Mapping[str, Offer | str] = {}
    """By key, what shared claims got: a volume, or the node where one is to be made."""


def offers_for(ask: Ask, stock: Stock) -> Offers:
    """Volumes that would do, whatever the node: the smallest first, then by name."""
    if ask.selected_node is not None:
        return Offers(())
    if ask.reserved:
        kept = stock.get(ask.reserved)
        return Offers(() if kept is None else (_offer(kept),))
    return Offers(_offer(each) for each in stock.of_class(ask.storage_class) if _fits(ask, each))


def pools_of(capacities: Mapping[str, CSIStorageCapacity], storage_class: str) -> tuple[Pool, ...]:
    """The largest first, then by key."""
    of_class = ((key, each) for key, each in capacities.items() if each.storage_class_name == storage_class)
    pools = [pool for key, each in of_class if (pool := _pool(key, each)) is not None]
    return tuple(sorted(pools, key=lambda pool: (-(pool.capacity_bytes or 0), pool.key)))


def market(stock: Stock, capacities: Mapping[str, CSIStorageCapacity]) -> Market:
    """All that there is."""
    return Market(lambda ask: offers_for(ask, stock), lambda name: pools_of(capacities, name))


def choose(asks: Sequence[Ask], site: Site, there: Market) -> Choice | Refused:
    """What the asks get on the node, or why they cannot all have something.

    Those settled before get nothing more, and must be possible here.
    """
    if any(ask.selected_node not in (None, site.name) for ask in asks):
        return Refused(NO_VOLUME)
    settled = [number for number, ask in enumerate(asks) if ask.shared in there.settled]
    if not all(_is_here(asks[number], there.settled[asks[number].shared], site) for number in settled):
        return Refused(NO_VOLUME)
    order = [number for number in range(len(asks)) if number not in settled]
    order.sort(key=lambda number: asks[number].request_bytes or 0)
    offers = {number: _on_node(asks[number], site, there) for number in order}
    bound = _greedily(order, offers)
    selected = sorted(number for number in order if asks[number].selected_node is not None)
    rest = [number for number in order if number not in bound and number not in selected]
    made = _make([*selected, *rest], asks, site, there)
    if not isinstance(made, Refused):
        return _choice(bound, made)
    return _otherwise(asks, site, there, offers) or made


def provisioning_refusal(ask: Ask, site: Site, there: Market) -> str:
    """Why no volume can be made for this ask alone on the node; "" if one can."""
    found = _make([0], [ask], site, there)
    return found.reason if isinstance(found, Refused) else ""


# --- volumes there are ---


def _fits(ask: Ask, volume: PersistentVolume) -> bool:
    return (
        volume.spec.claim_ref is None
        and volume.status.phase == _AVAILABLE
        and fits_at_all(ask, volume)
        and set(ask.access_modes) <= set(volume.spec.access_modes)
        and (ask.selector is None or labels_match(ask.selector, volume.metadata.labels))
    )


def _offer(volume: PersistentVolume) -> Offer:
    affinity = volume.spec.node_affinity
    required = None if affinity is None else affinity.required
    size = bytes_of(volume.spec.capacity) or 0
    return Offer(volume.metadata.name, size, volume.spec.storage_class_name, required)


def _is_here(ask: Ask, settled: Offer | str, site: Site) -> bool:
    """Whether a pod here can share what the claim got for another.

    A volume to be made for many nodes is expected to be within reach of all where the class lets it be made.
    """
    if not isinstance(settled, str):
        return is_within_reach(settled, site)
    if settled == site.name:
        return True
    way = ask.provisioning
    return ask.is_for_many_nodes and way is not None and _lets_make(way, site)


def _lets_make(way: Provisioning, site: Site) -> bool:
    return not way.topologies or InTopology(way.topologies).admits(site)


def is_within_reach(offer: Offer, site: Site) -> bool:
    return offer.required is None or Selected(offer.required).admits(site)


def _on_node(ask: Ask, site: Site, there: Market) -> list[Offer]:
    return [each for each in there.offers(ask).on(site) if each.volume not in there.taken]


def _greedily(order: Sequence[int], offers: Mapping[int, Sequence[Offer]]) -> dict[int, Offer]:
    found: dict[int, Offer] = {}
    gone: set[str] = set()
    for number in order:
        best = next((each for each in offers[number] if each.volume not in gone), None)
        if best is not None:
            found[number] = best
            gone.add(best.volume)
    return found


def _otherwise(asks: Sequence[Ask], site: Site, there: Market, offers: Mapping[int, Sequence[Offer]]) -> Choice | None:
    """A distribution that leaves nobody without, with as few volumes to be made as can be; None if there is none."""
    can_be_made = [number for number in offers if not isinstance(_make([number], asks, site, there), Refused)]
    for made in _subsets(can_be_made):
        pools = _make(made, asks, site, there)
        if not isinstance(pools, Refused):
            bound = _matched([number for number in offers if number not in made], offers)
            if bound is not None:
                return _choice(bound, pools)
    return None


def _subsets(numbers: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Small ones first."""
    if len(numbers) > _MANY:
        return iter(((), tuple(numbers)))
    sizes = range(len(numbers) + 1)
    return itertools.chain.from_iterable(itertools.combinations(numbers, size) for size in sizes)


def _matched(numbers: Sequence[int], offers: Mapping[int, Sequence[Offer]]) -> dict[int, Offer] | None:
    """An offer for each, no volume twice; None if that cannot be (augmenting paths: a proof)."""
    holder: dict[str, int] = {}
    held: dict[int, Offer] = {}

    def seat(number: int, tried: set[str]) -> bool:
        for each in offers[number]:
            if each.volume not in tried:
                tried.add(each.volume)
                other = holder.get(each.volume)
                if other is None or seat(other, tried):
                    holder[each.volume], held[number] = number, each
                    return True
        return False

    return held if all(seat(number, set()) for number in numbers) else None


# --- volumes to be made ---


def _make(numbers: Sequence[int], asks: Sequence[Ask], site: Site, there: Market) -> list[Made] | Refused:
    """For each of these, in order; the first that cannot be made says why."""
    promised = None if there.promised is None else dict(there.promised)
    found = []
    for number in numbers:
        one = _make_one(number, asks[number], site, there, promised)
        if isinstance(one, Refused):
            return one
        found.append(one)
    return found


def _make_one(number: int, ask: Ask, site: Site, there: Market, promised: dict[str, int] | None) -> Made | Refused:
    way = ask.provisioning
    if way is None or not _lets_make(way, site):
        return Refused(NO_VOLUME)
    if not way.checks_capacity or ask.request_bytes is None:
        return Made(number)
    for pool in there.pools(ask.storage_class):
        if pool.largest_bytes >= ask.request_bytes and pool.nodes.admits(site):
            if promised is None:
                return Made(number, pool)
            total = promised.get(pool.key, 0) + ask.request_bytes
            if pool.capacity_bytes is None or total <= pool.capacity_bytes:
                promised[pool.key] = total
                return Made(number, pool)
    return Refused(NO_SPACE)


def _pool(key: str, told: CSIStorageCapacity) -> Pool | None:
    """None for storage that no node reaches, or of which nothing is told."""
    limit = told.maximum_volume_size if told.maximum_volume_size is not None else told.capacity
    if told.node_topology is None or limit is None:
        return None
    capacity = None if told.capacity is None else whole(told.capacity)
    return Pool(key, told.storage_class_name, _labelled(requirements(told.node_topology)), whole(limit), capacity)


@lru_cache(maxsize=1 << 12)
def _labelled(listed: tuple[Requirement, ...]) -> Labelled:
    return Labelled(listed)


def _choice(bound: Mapping[int, Offer], made: Sequence[Made]) -> Choice:
    return Choice(tuple(Bound(number, offer) for number, offer in sorted(bound.items())), tuple(made))
