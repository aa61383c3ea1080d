"""What belongs to the class of a pod although the pod does not say it: how it is spread by default, what it brings.

Only a pod of ours that has no node is asked about: where it may go is still to be decided.  What it was bound with it
keeps; nobody else looks at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from muster.api.kinds import Address
from muster.api.wire import Pod
from muster.cluster.classes import PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.facts import Facts
from muster.cluster.pods import PodState
from muster.cluster.ties import Spread
from muster.engine.supplies import Supplies
from muster.framework.contract import DefaultSpread
from muster.framework.profile import Profile, Profiles


class Defaults:
    """Makes classes of pods, with what is so by default in the profile of their scheduler name."""

    def __init__(self, cluster: Cluster, profiles: Profiles, supplies: Supplies) -> None:
        self._classes = cluster.classes
        self._supplies = supplies
        self._is_supplied = bool(supplies)
        self._by_profile = [_made(profile, cluster.facts) for profile in profiles.all]
        """None for profiles that spread only pods that ask for it."""
        self._by_name = {
            name: spread
            for profile, spread in zip(profiles.all, self._by_profile, strict=True)
            if spread is not None
            for name in profile.scheduler_names
        }
        self._all = [spread for spread in self._by_profile if spread is not None]
        self._failed: dict[tuple[DefaultSpread, str], None] = {}
        """Plugins that failed with pods of a namespace."""
        self.troubles: list[tuple[str, Exception]] = []
        """What a plugin raised instead of answering, and about whom; to be emptied."""

    @property
    def has_news(self) -> bool:
        """Some pods may be spread otherwise than before: see `take_news`."""
        # asked after every pod: any() takes 0.5 µs, this 0.1
        for spread in self._all:  # noqa: SIM110
            if spread.news:
                return True
        return False

    @property
    def is_unsure(self) -> bool:
        """A plugin failed with some pods, and was not asked again."""
        return bool(self._failed)

    def take_news(self) -> Iterable[str]:
        """Namespaces whose pods are to be asked about anew."""
        news = sorted({namespace for spread in self._all for namespace in spread.news})
        for spread in self._all:
            spread.news.clear()
        return news

    def forgive(self) -> None:
        """Plugins that failed are to be asked again."""
        failed, self._failed = self._failed, {}
        for spread, namespace in failed:
            spread.news.add(namespace)

    def class_of(self, pod: Pod, owner: Address | None, known: PodState | None = None) -> PodClass:
        """The class of a pod with this owner, which perhaps is known already."""
        spec, meta = pod.spec, pod.metadata
        needs = self._supplies.seen(pod) if self._is_supplied and (spec.volumes or spec.resource_claims) else ()
        spread = self._by_name.get(spec.scheduler_name)
        if spread is None or spec.topology_spread_constraints:
            return self._classes.of(pod, needs=needs)
        if spec.node_name:
            return self._classes.of(pod, () if known is None else _spread_of(known.pod_class), needs)
        return self._classes.of(pod, self._ask(spread, meta.namespace, meta.name, meta.labels, owner), needs)

    def class_anew(self, state: PodState) -> PodClass:
        """The class of a pod that has no node, after there was news."""
        spread = self._by_profile[state.pod_class.rules.profile]
        if spread is None or state.spreads or not state.ours:
            return state.pod_class
        namespace, _, name = state.key.partition("/")
        found = self._ask(spread, namespace, name, state.labels, state.owner)
        if found == _spread_of(state.pod_class):
            return state.pod_class
        return self._classes.seen_anew(state.pod_class, namespace, state.labels, found)

    def _ask(
        self, spread: DefaultSpread, namespace: str, name: str, labels: Mapping[str, str], owner: Address | None
    ) -> tuple[Spread, ...]:
        try:
            return spread.of(namespace, labels, owner)
        except Exception as error:  # a plugin's bug keeps nobody from being placed
            self.troubles.append((f"{namespace}/{name}", error))
            self._failed[spread, namespace] = None
            return ()


def _made(profile: Profile, facts: Facts) -> DefaultSpread | None:
    made = (spreader.by_default(facts) for spreader in profile.spreaders)
    return next((spread for spread in made if spread is not None), None)


def _spread_of(pod_class: PodClass) -> tuple[Spread, ...]:
    return () if pod_class.ties is None else pod_class.ties.rules.spread
