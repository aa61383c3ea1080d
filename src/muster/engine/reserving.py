"""Plugins that keep books of their own are asked before a unit is bound, all or none of it, and told what was not."""

from __future__ import annotations

from collections.abc import Sequence

from muster.cluster.pods import PodState
from muster.framework.contract import Reserver
from muster.framework.profile import Profiles

Places = Sequence[tuple[PodState, str]]


class Reserving:
    """Asks all reservers about every member; false if there are none."""

    def __init__(self, profiles: Profiles) -> None:
        self._profiles = profiles
        self._any = any(profile.reservers for profile in profiles.all)

    def __bool__(self) -> bool:
        return self._any

    def reserve(self, places: Places) -> str | None:
        """None if every member may be bound to its node; else what was reserved is given back: who may not, and why."""
        asked: list[tuple[Reserver, PodState, str]] = []
        try:
            refused = self._ask(places, asked)
        except Exception:
            _give_all_back(asked)
            raise
        if refused is not None:
            _give_all_back(asked)
        return refused

    def _ask(self, places: Places, asked: list[tuple[Reserver, PodState, str]]) -> str | None:
        """The first refusal; who has reserved before it is put among those `asked`."""
        for pod, node in places:
            for reserver in self._of(pod):
                why = reserver.reserve(pod, node)
                if why is not None:
                    return f"plugin {reserver.name} did not reserve {node} for {pod.key}: {why}"
                asked.append((reserver, pod, node))
        return None

    def unreserve(self, pod: PodState, node: str) -> None:
        """The pod is not bound there after all.  One plugin's trouble keeps no other from being told; it raises."""
        failed = [_give_back(reserver, pod, node) for reserver in reversed(self._of(pod))]
        for error in failed:
            if error is not None:
                raise error

    def bound(self, pod: PodState) -> None:
        """The pod is bound where it was reserved."""
        for reserver in self._of(pod):
            reserver.bound(pod)

    def _of(self, pod: PodState) -> Sequence[Reserver]:
        return self._profiles.of(pod.pod_class).reservers


def _give_all_back(asked: Sequence[tuple[Reserver, PodState, str]]) -> None:
    for reserver, pod, node in reversed(asked):
        _give_back(reserver, pod, node)


def _give_back(reserver: Reserver, pod: PodState, node: str) -> Exception | None:
    try:
        reserver.unreserve(pod, node)
    except Exception as error:
        return error
    return None
