"""The class of every pod: made when the pod comes, and anew when something else changes on which it depends."""

from __future__ import annotations

from collections.abc import Mapping

from muster.cluster.classes import PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.pods import BINDING, PENDING, PodState
from muster.cluster.ties import Spread
from muster.engine.defaults import Defaults
from muster.engine.gates import Gates
from muster.engine.life import Cause
from muster.engine.noted import Noted
from muster.engine.supplies import Supplies
from muster.framework.profile import Profiles


class Classing:
    """Gives pods their classes, and another one where they stand otherwise to others or need something else."""

    def __init__(self, cluster: Cluster, profiles: Profiles, supplies: Supplies, *, gates: Gates, noted: Noted) -> None:
        self._cluster = cluster
        self._supplies = supplies
        self._gates = gates
        self._noted = noted
        self._defaults = Defaults(cluster, profiles, supplies)
        self._pods_in: dict[str, dict[str, PodState]] = {}
        """All pods, by namespace and UID."""
        self.of = self._defaults.class_of

    def came(self, state: PodState) -> None:
        """The pod, which has its class, gets another one when it has to."""
        beside = self._pods_in.get(namespace := _namespace(state))
        if beside is None:
            beside = self._pods_in[namespace] = {}
        beside[state.uid] = state

    def gone(self, state: PodState) -> None:
        beside = self._pods_in[namespace := _namespace(state)]
        del beside[state.uid]
        if not beside:
            del self._pods_in[namespace]

    @property
    def is_unsure(self) -> bool:
        """A plugin failed to say how some pods are spread, and was not asked again."""
        return self._defaults.is_unsure

    def renew(self) -> None:
        """What has changed is done for all pods whom it concerns."""
        # mostly one pod comes at a time, and none of this has anything to do
        if self._defaults.is_unsure:
            self._defaults.forgive()
        self.spread_anew()
        if self._cluster.classes.has_news:
            self._look_anew(self._cluster.classes.take_news())
        if self._supplies.has_news:
            self.supplied_anew()
        for troubles in (self._cluster.facts.troubles, self._defaults.troubles, self._supplies.troubles):
            if troubles:
                self._noted.troubles += troubles
                troubles.clear()

    def spread_anew(self) -> None:
        """Pods that do not say how they are to be spread, and have no node, may be spread otherwise than before."""
        if not self._defaults.has_news:
            return
        for namespace in self._defaults.take_news():
            for state in self._pods_in.get(namespace, {}).values():
                if state.stage is PENDING or state.stage is BINDING:
                    self._default_anew(state)

    def _default_anew(self, state: PodState) -> None:
        pod_class = self._defaults.class_anew(state)
        if _limits(pod_class) != _limits(state.pod_class):
            # where room is reserved for it may not be where it may go
            self._cluster.lose_reservation(state)
        self._retie(state, pod_class)

    def supplied_anew(self) -> None:
        """What pods bring may need other nodes than before, or may have been made ready; nodes may have more of it."""
        for node, more in self._supplies.take_touched():
            self._cluster.touch(node, more=more)
        self._cluster.returning_to = self._supplies.returning_to()
        for uid in self._supplies.take_news():
            state = self._cluster.pods.get(uid)
            if state is None:
                continue
            self._noted.supplied.append(uid)
            pod_class = self._cluster.classes.needing(state.pod_class, self._supplies.needs(uid))
            if pod_class is not state.pod_class:
                self._reclass(state, pod_class)
            if state.stage is PENDING and self._gates.why(state) != (state.gated_by, state.gated_as):
                self._gates.look_at(state)

    def _reclass(self, state: PodState, pod_class: PodClass) -> None:
        """The pod needs something else than it did."""
        gang, node = self._cluster.gang_of(state), state.node
        if gang is not None:
            gang.uncount(state)
        self._cluster.lose_reservation(state)
        if state.takes_room:
            self._cluster.vacate(state)
        state.pod_class = pod_class
        if state.takes_room:
            self._cluster.occupy(state, node)
        if gang is not None:
            gang.count(state)
        self._noted.changed(state, gang, Cause.MEMBER_CHANGED)

    def _look_anew(self, news: Mapping[str | None, set[str] | None]) -> None:
        """Rules of pods read labels that none did before: pods that were alike may not be."""
        for namespace in self._pods_in if None in news else [where for where in news if where is not None]:
            read = [news[where] for where in (namespace, None) if where in news]
            for state in self._pods_in.get(namespace, {}).values():
                if any(keys is None or not keys.isdisjoint(state.labels) for keys in read):
                    self._retie(state, self._cluster.classes.seen_anew(state.pod_class, namespace, state.labels))

    def _retie(self, state: PodState, pod_class: PodClass) -> None:
        """The pod stands otherwise to others than it did, and needs the same room."""
        if pod_class is state.pod_class:
            return
        gang = self._cluster.gang_of(state)
        if gang is not None:
            gang.uncount(state)
        self._cluster.retie(state, pod_class)
        if gang is not None:
            gang.count(state)
        if state.candidate:
            self._noted.changed(state, gang, Cause.MEMBER_CHANGED)

    def resources_came(self, names: tuple[str, ...]) -> None:
        """Pods that ask for resources that no node had before may now fit."""
        for state in self._cluster.pods.values():
            if not state.pod_class.uncounted or not set(names) & set(state.pod_class.uncounted):
                continue
            self._reclass(state, self._cluster.classes.learn(state.pod_class))


def _namespace(state: PodState) -> str:
    key = state.key
    return key[: key.index("/")]


def _limits(pod_class: PodClass) -> tuple[Spread, ...]:
    """What keeps pods of the class off nodes for the sake of an even spread."""
    ties = pod_class.ties
    return () if ties is None or not ties.rules.spread else tuple(one for one in ties.rules.spread if one.hard)
