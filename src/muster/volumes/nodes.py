"""Which nodes meet a need.

A need falls into *parts*, values that each look at a few labels of a node, its name, or what is migrated there.  Parts
of many needs are equal, and nodes alike in what a part looks at get the same answer (masks.py).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from muster.api.volumes import TopologyTerm
from muster.base.selectors import NodeSelector, Requirement
from muster.base.selectors import matches as labels_match
from muster.volumes.in_tree import BETA_REGION, BETA_ZONE, REGION, ZONE
from muster.volumes.needs import Need, Reach, Zone

NOT_WITHIN_REACH = "node(s) didn't match PersistentVolume's node affinity"
NO_SUCH_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
WRONG_ZONE = "node(s) had no available volume zone"

_NEWER = {BETA_ZONE: ZONE, BETA_REGION: REGION}


class Site(NamedTuple):
    """What parts look at of a node."""

    name: str
    labels: Mapping[str, str]
    migrated: frozenset[str] = frozenset()
    """In-tree plugins that are served by CSI drivers there (storage.migrated_on)."""


Hints = tuple[tuple[str, str], ...] | None


class Part(msgspec.Struct, frozen=True, gc=False):
    """One condition on nodes; hashable, so that answers can be kept."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The labels that it looks at."""
        return ()

    @property
    def hints(self) -> Hints:
        """Labels of which every node that it admits has one; None if there is no telling."""
        return None

    def other(self, site: Site) -> Hashable:
        """What it looks at beside labels."""
        return None

    def admits(self, site: Site) -> bool:
        raise NotImplementedError


class Selected(Part, frozen=True):
    """Terms of which one must hold.  Volumes know labels only: a node has no name here, as for kube-scheduler."""

    selector: NodeSelector

    @property
    def keys(self) -> tuple[str, ...]:
        terms = self.selector.node_selector_terms
        return _sorted(each.key for term in terms for each in term.match_expressions)

    @property
    def hints(self) -> Hints:
        return hints_of(self.selector)

    def admits(self, site: Site) -> bool:
        return self.selector.matches(site.labels, "")


class SelectedWhereMigrated(Part, frozen=True):
    """One selector where the plugin is migrated, another where it is not; None holds everywhere."""

    plugin: str
    migrated: NodeSelector | None
    otherwise: NodeSelector | None

    @property
    def keys(self) -> tuple[str, ...]:
        both = (each for each in (self.migrated, self.otherwise) if each is not None)
        return _sorted(key for each in both for key in Selected(each).keys)

    def other(self, site: Site) -> Hashable:
        return self.plugin in site.migrated

    def admits(self, site: Site) -> bool:
        selector = self.migrated if self.plugin in site.migrated else self.otherwise
        return selector is None or selector.matches(site.labels, "")


class InZone(Part, frozen=True):
    """Nodes without any zone label are in every zone."""

    zones: tuple[Zone, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return (BETA_REGION, BETA_ZONE, REGION, ZONE)

    def admits(self, site: Site) -> bool:
        if all(key not in site.labels for key in self.keys):
            return True
        return all(_in_zone(zone, site.labels) for zone in self.zones)


class Named(Part, frozen=True):
    node: str

    def other(self, site: Site) -> Hashable:
        return site.name == self.node

    def admits(self, site: Site) -> bool:
        return site.name == self.node


class InTopology(Part, frozen=True):
    """Where a class lets volumes be made: one of the terms holds."""

    terms: tuple[TopologyTerm, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return _sorted(each.key for term in self.terms for each in term.match_label_expressions)

    def admits(self, site: Site) -> bool:
        return any(_holds(term, site.labels) for term in self.terms)


class Labelled(Part, frozen=True):
    """All requirements hold; without any, everywhere."""

    requirements: tuple[Requirement, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return _sorted(each.key for each in self.requirements)

    def admits(self, site: Site) -> bool:
        return labels_match(self.requirements, site.labels)


class Nowhere(Part, frozen=True):
    def admits(self, site: Site) -> bool:
        return False


def hints_of(selector: NodeSelector) -> Hints:
    """Local volumes name one host each: with ten thousand of them nobody should ask each node about each."""
    found: list[tuple[str, str]] = []
    for term in selector.node_selector_terms:
        sure = next((each for each in term.match_expressions if each.operator == "In"), None)
        if sure is None:
            return None
        found += ((sure.key, value) for value in sure.values)
    return tuple(found)


class Condition(NamedTuple):
    """A part with what is said of nodes that it does not admit, and by which of kube-scheduler's plugins."""

    part: Part
    reason: str
    plugin: str = "VolumeBinding"


def conditions(need: Need) -> tuple[Condition, ...]:
    """What volumes that the pod has ask of every node, in the order in which kube-scheduler looks.

    Of VolumeBinding's only the first that fails is said.  Volumes to come are a matter of choice.py.
    """
    reached = tuple(each for reach in need.reaches if (each := _reach(reach)) is not None)
    zones = (Condition(InZone(need.zones), WRONG_ZONE, "VolumeZone"),) if need.zones else ()
    return (*reached, *zones)


def reach_refusal(need: Need, site: Site) -> str:
    """What VolumeBinding says of the volumes that the pod has; "" if nothing."""
    found = (each.reason for each in map(_reach, need.reaches) if each is not None and not each.part.admits(site))
    return next(found, "")


def zone_refusal(need: Need, site: Site) -> str:
    return "" if InZone(need.zones).admits(site) else WRONG_ZONE


# --- parts of parts ---


def _reach(reach: Reach) -> Condition | None:
    if reach.is_missing:
        return Condition(Nowhere(), NO_SUCH_VOLUME)
    if reach.migrated != reach.required:
        return Condition(SelectedWhereMigrated(reach.plugin, reach.migrated, reach.required), NOT_WITHIN_REACH)
    return None if reach.required is None else Condition(Selected(reach.required), NOT_WITHIN_REACH)


def _in_zone(zone: Zone, labels: Mapping[str, str]) -> bool:
    there = labels.get(zone.key)
    if there is None:
        there = labels.get(_NEWER.get(zone.key, zone.key))
    return there in zone.values


def _holds(term: TopologyTerm, labels: Mapping[str, str]) -> bool:
    listed = term.match_label_expressions
    return bool(listed) and all(Requirement(each.key, "In", each.values).matches(labels) for each in listed)


def _sorted(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(keys)))
