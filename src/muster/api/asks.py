"""What pods and groups ask for that a scheduler must not overlook in silence.

An ask is honoured by one of upstream's plugins.  Which of them a profile has, and what becomes of an ask that none of
them honours, is the profile's matter.  Not here: whatever needs no plugin, and what a profile cannot do without.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from muster.api.wire import PodAffinity, PodSpec

__all__ = ["Ask", "asks_of"]


class Ask(msgspec.Struct, frozen=True, gc=False):
    """One thing that an object asks for."""

    field: str
    """Where its user wrote it."""
    plugin: str
    """Upstream's name of the plugin that honours it."""
    hard: bool = True
    """False for a preference: the object may be placed without it."""


_INTER_POD = "InterPodAffinity"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

_CLAIM = Ask("spec.volumes[].persistentVolumeClaim", "VolumeBinding")
_EPHEMERAL = Ask("spec.volumes[].ephemeral", "VolumeBinding")
_DEVICES = Ask("spec.resourceClaims", "DynamicResources")
_SPREAD = Ask("spec.topologySpreadConstraints[] with whenUnsatisfiable: DoNotSchedule", "PodTopologySpread")
_SPREAD_SOFTLY = Ask(
    "spec.topologySpreadConstraints[] with whenUnsatisfiable: ScheduleAnyway", "PodTopologySpread", hard=False
)
_TOGETHER = (
    Ask(f"spec.affinity.podAffinity.{_REQUIRED}", _INTER_POD),
    Ask(f"spec.affinity.podAffinity.{_PREFERRED}", _INTER_POD, hard=False),
)
_APART = (
    Ask(f"spec.affinity.podAntiAffinity.{_REQUIRED}", _INTER_POD),
    Ask(f"spec.affinity.podAntiAffinity.{_PREFERRED}", _INTER_POD, hard=False),
)


def asks_of(spec: PodSpec) -> tuple[Ask, ...]:
    """What the pod asks for, each thing once, in a fixed order; equal answers are one object, most are empty."""
    found: set[Ask] = set()
    # nearly every pod has a volume, its token; this loop is all that such a pod costs
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None:
            found.add(_CLAIM)
        elif volume.ephemeral is not None:
            found.add(_EPHEMERAL)
    if spec.affinity is not None:
        if spec.affinity.pod_affinity is not None:
            found |= _between_pods(spec.affinity.pod_affinity, _TOGETHER)
        if spec.affinity.pod_anti_affinity is not None:
            found |= _between_pods(spec.affinity.pod_anti_affinity, _APART)
    for spread in spec.topology_spread_constraints:
        found.add(_SPREAD_SOFTLY if spread.when_unsatisfiable == "ScheduleAnyway" else _SPREAD)
    if spec.resource_claims:
        found.add(_DEVICES)
    return _interned(frozenset(found)) if found else ()


def _between_pods(affinity: PodAffinity, asks: tuple[Ask, Ask]) -> set[Ask]:
    terms = (affinity.required, affinity.preferred)
    return {ask for ask, listed in zip(asks, terms, strict=True) if listed}


# nine asks: no more than 512 sets of them
@lru_cache(maxsize=512)
def _interned(asks: frozenset[Ask]) -> tuple[Ask, ...]:
    return tuple(sorted(asks, key=lambda ask: ask.field))
