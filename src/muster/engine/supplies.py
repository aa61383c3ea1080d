"""All that pods bring, from all plugins that supply: what it needs of nodes, and what is granted with a node."""

from __future__ import annotations

from collections.abc import Iterable

from muster.api.wire import Node, Pod
from muster.cluster.classes import Needs
from muster.cluster.facts import Facts
from muster.cluster.nodes import NodeTable
from muster.framework.contract import READY, Progress, Supply
from muster.framework.grants import Grant
from muster.framework.profile import Profiles


class Supplies:
    """The supplies of one cluster; false if no plugin supplies anything.

    Profiles share them: a volume that a pod of one has is not to be had by a pod of another.
    """

    def __init__(self, profiles: Profiles, facts: Facts, nodes: NodeTable) -> None:
        self._by_plugin: dict[str, Supply] = {}
        self._failed: dict[str, Progress] = {}
        """By UID: pods with which a plugin failed instead of granting."""
        self.troubles: list[tuple[str, Exception]] = []
        """What plugins raised, and with which pod; to be emptied."""
        for profile in profiles.all:
            for supplier in profile.suppliers:
                if supplier.name not in self._by_plugin:
                    self._by_plugin[supplier.name] = supplier.supply(facts, nodes)
        self._all = tuple(self._by_plugin.values())

    def __bool__(self) -> bool:
        return bool(self._by_plugin)

    @property
    def has_news(self) -> bool:
        """Whether any answer may be another than it was."""
        return any(supply.has_news for supply in self._all)

    def take_news(self) -> list[str]:
        """UIDs of pods for whom an answer may be another than it was."""
        news = sorted({uid for supply in self._by_plugin.values() for uid in supply.news})
        for supply in self._by_plugin.values():
            supply.news.clear()
        return news

    def take_touched(self) -> list[tuple[str, bool]]:
        """Nodes that have other things to give than before, by name, and whether they may have more."""
        touched: dict[str, bool] = {}
        for supply in self._by_plugin.values():
            for node, more in supply.take_touched().items():
                touched[node] = more or touched.get(node, False)
        return sorted(touched.items())

    def returning_to(self) -> frozenset[str]:
        """Nodes that will have more to give, since pods are gone that had it."""
        return frozenset(node for supply in self._by_plugin.values() for node in supply.returning_to)

    def seen(self, pod: Pod) -> Needs:
        """What the pod, as it is now, needs."""
        for supply in self._by_plugin.values():
            supply.seen(pod)
        return self.needs(pod.metadata.uid)

    def gone(self, uid: str) -> None:
        for supply in self._by_plugin.values():
            supply.gone(uid)

    def needs(self, uid: str) -> Needs:
        found = ((plugin, supply.need(uid)) for plugin, supply in self._by_plugin.items())
        return tuple((plugin, need) for plugin, need in found if need is not None)

    def holds(self, uid: str) -> str | None:
        """Why no node will do for the pod before something else happens."""
        return next((why for supply in self._by_plugin.values() if (why := supply.holds(uid)) is not None), None)

    # --- grants ---

    def grant(self, places: Iterable[tuple[str, Node]]) -> tuple[Grant, ...]:
        """Pods are to be bound to these nodes; what several of them share is granted once."""
        granted = (grant for uid, node in places for grant in self._grant(uid, node))
        return tuple({grant.subject: grant for grant in granted}.values())

    def _grant(self, uid: str, node: Node) -> list[Grant]:
        granted: list[Grant] = []
        self._failed.pop(uid, None)
        for plugin, supply in self._by_plugin.items():
            try:
                granted += supply.grant(uid, node)
            except Exception as error:  # a plugin's bug is this pod's trouble, nobody else's
                self._failed[uid] = self._trouble(plugin, uid, error)
        return granted

    def _trouble(self, plugin: str, uid: str, error: Exception) -> Progress:
        self.troubles.append((uid, error))
        return Progress(failed=f"{plugin} failed: {type(error).__name__}: {error}")

    def failed(self, grant: Grant, message: str) -> None:
        """A grant could not be written."""
        for supply in self._by_plugin.values():
            supply.failed(grant, message)

    def progress(self, uid: str) -> Progress:
        """What was granted to the pod and failed; else what of it is not ready."""
        if (failed := self._failed.get(uid)) is not None:
            return failed
        found = [self._progress(plugin, uid) for plugin in self._by_plugin]
        troubled = [one for one in found if one.failed] or [one for one in found if one.waits_for]
        return troubled[0] if troubled else READY

    def _progress(self, plugin: str, uid: str) -> Progress:
        try:
            return self._by_plugin[plugin].progress(uid)
        except Exception as error:
            return self._trouble(plugin, uid, error)

    def take_back(self, uids: Iterable[str]) -> tuple[Grant, ...]:
        """Pods are not bound after all: what is to be undone of their grants."""
        uids = list(uids)
        for uid in uids:
            self._failed.pop(uid, None)
        taken = (grant for uid in uids for supply in self._by_plugin.values() for grant in supply.take_back(uid))
        return tuple({grant.subject: grant for grant in taken}.values())

    def let_go(self, uids: frozenset[str]) -> tuple[Grant, ...]:
        """Members of a unit have no place: what is to be undone of grants that they have from before."""
        return tuple(grant for supply in self._by_plugin.values() for grant in supply.let_go(uids))

    def bound(self, uid: str) -> None:
        for supply in self._by_plugin.values():
            supply.bound(uid)
