"""Which volume a claim gets that waits for no pod: upstream's choice, on plain values."""

from __future__ import annotations

from collections.abc import Iterable

from muster.controllers.volume_objects import Claim, Volume, same_attributes, same_mode


def best(claim: Claim, volumes: Iterable[Volume], *, delayed: bool) -> Volume | None:
    """The volume that is kept for the claim; else the best free one, unless the choice is a scheduler's.

    Of the free ones that do, those with the fewest access modes come first, then the smallest, then the first by name.
    One that is kept for the claim is looked for in the same order of modes, and is taken whatever its class and labels.
    """
    modes = set(claim.spec.access_modes)
    usable = [one for one in volumes if modes <= set(one.spec.access_modes) and _is_usable(one, claim)]
    usable.sort(
        key=lambda one: (len(one.spec.access_modes), sorted(one.spec.access_modes), one.size, one.metadata.name)
    )
    groups: dict[tuple[str, ...], list[Volume]] = {}
    for volume in usable:
        groups.setdefault(tuple(sorted(volume.spec.access_modes)), []).append(volume)
    for group in groups.values():
        kept = next((one for one in group if one.is_for(claim)), None)
        if kept is not None:
            return kept
        free = next((one for one in group if _is_free(one, claim)), None)
        if free is not None and not delayed:
            return free
    return None


def mismatch(claim: Claim, volume: Volume) -> str:
    """Why a volume that a claim names cannot be its own; "" if it can."""
    if volume.metadata.deletion_timestamp is not None:
        return f'the volume is marked for deletion "{volume.metadata.name}"'
    if volume.size < claim.size:
        return "requested PV is too small"
    if volume.class_name != claim.class_name:
        return "storageClassName does not match"
    if not same_attributes(claim, volume):
        return "volumeAttributesClassName does not match"
    if not same_mode(claim, volume):
        return "incompatible volumeMode"
    return "" if set(claim.spec.access_modes) <= set(volume.spec.access_modes) else "incompatible accessMode"


def _is_usable(volume: Volume, claim: Claim) -> bool:
    return (
        (volume.spec.claim_ref is None or volume.is_for(claim))
        and volume.size >= claim.size
        and same_mode(claim, volume)
        and same_attributes(claim, volume)
        and volume.metadata.deletion_timestamp is None
    )


def _is_free(volume: Volume, claim: Claim) -> bool:
    selector = claim.spec.selector
    return (
        volume.status.phase == "Available"
        and (selector is None or selector.matches(volume.metadata.labels))
        and volume.class_name == claim.class_name
    )
