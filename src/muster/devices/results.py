"""What a search found, as the API wants it written."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from muster.api.devices import (
    AllocatedConfig,
    AllocatedDevices,
    Allocation,
    DeviceConfig,
    DeviceResult,
)
from muster.base.selectors import NodeSelector, NodeSelectorTerm, Requirement
from muster.devices.allocator import Found
from muster.devices.capacity import spell
from muster.devices.inventory import Seen
from muster.devices.needs import Ask, Need
from muster.devices.picks import Pick
from muster.devices.pools import Placed


def allocations(
    found: Found, needs: Sequence[Need], seen: Seen, *, node: str, claim_uids: Sequence[str]
) -> tuple[Allocation, ...]:
    """One for each need, without the time; equal to what was found on another node but for names."""
    devices = [device for pool in seen.supply.pools for device in pool.devices]
    numbers = [number for number, pool in enumerate(seen.supply.pools) for _ in pool.devices]
    given = []
    for number, need in enumerate(needs):
        picks = [pick for pick in found.picks if pick.need == number]
        results = tuple(
            _result(
                pick, need, devices[pick.at], pool=seen.keys[numbers[pick.at]][1], share=f"{claim_uids[number]}/{n}"
            )
            for n, pick in enumerate(picks)
        )
        given.append(
            Allocation(
                devices=AllocatedDevices(results=results, config=_config(need, _chosen(need, picks))),
                node_selector=node_selector_of([devices[pick.at] for pick in picks], node),
            )
        )
    return tuple(given)


def _result(pick: Pick, need: Need, device: Placed, *, pool: str, share: str) -> DeviceResult:
    ask, facts = need.requests[pick.request][pick.way], device.facts
    shared = pick.parts is not None
    return DeviceResult(
        request=ask.name,
        driver=facts.driver,
        pool=pool,
        device=device.name,
        admin_access=True if ask.is_admin else None,
        tolerations=ask.tolerations,
        binding_conditions=facts.binding_conditions,
        binding_failure_conditions=facts.binding_failure_conditions,
        share_id=share_id(f"{share}/{facts.driver}/{pool}/{device.name}") if shared else None,
        consumed_capacity=_consumed(pick, ask, device),
    )


def _consumed(pick: Pick, ask: Ask, device: Placed) -> dict[str, str | int | float]:
    spelled = {one.name: one.spelled for one in device.facts.capacity}
    return {name: spell(amount, ask.spelled.get(name, spelled[name])) for name, amount in pick.parts or ()}


def share_id(seed: str) -> str:
    """A UUID that is the same for the same share: nothing is left to chance, and a claim is written once only.

    It has the form of a random one.
    """
    digits = hashlib.sha256(seed.encode()).hexdigest()
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def _chosen(need: Need, picks: Sequence[Pick]) -> list[Ask]:
    """Of each request the way that was taken; the first of a request that asks for no device."""
    ways = {pick.request: pick.way for pick in picks}
    return [asks[ways.get(place, 0)] for place, asks in enumerate(need.requests)]


def _config(need: Need, chosen: Sequence[Ask]) -> tuple[AllocatedConfig, ...]:
    by_class: dict[str, list[str]] = {}
    for ask in chosen:
        by_class.setdefault(ask.class_name, []).append(ask.name)
    names = {ask.name for ask in chosen} | {request.name for request in need.spec.requests}
    pairs: list[tuple[str, tuple[str, ...], DeviceConfig]] = [
        ("FromClass", tuple(requests), one)
        for class_name, requests in by_class.items()
        for one in need.class_configs[class_name]
    ]
    pairs += [
        ("FromClaim", one.requests, one)
        for one in need.spec.config
        if not one.requests or not names.isdisjoint(one.requests)
    ]
    return tuple(
        AllocatedConfig(
            source=source, requests=() if _covers_all(requests, need, chosen) else requests, opaque=one.opaque
        )
        for source, requests, one in pairs
    )


def _covers_all(requests: tuple[str, ...], need: Need, chosen: Sequence[Ask]) -> bool:
    return all(
        request.name in requests or ask.name in requests
        for request, ask in zip(need.spec.requests, chosen, strict=True)
    )


def node_selector_of(devices: Sequence[Placed], node: str) -> NodeSelector | None:
    """The nodes that can use all of the devices; None: all nodes."""
    if any(device.is_local or device.facts.binds_to_node for device in devices):
        here = Requirement("metadata.name", "In", (node,))
        return NodeSelector((NodeSelectorTerm(match_fields=(here,)),))
    fields: list[Requirement] = []
    labels: list[Requirement] = []
    for device in devices:
        for term in () if device.selector is None else device.selector.node_selector_terms[:1]:
            _add(fields, term.match_fields)
            _add(labels, term.match_expressions)
    if not fields and not labels:
        return None
    return NodeSelector((NodeSelectorTerm(match_expressions=tuple(labels), match_fields=tuple(fields)),))


def _add(found: list[Requirement], more: Sequence[Requirement]) -> None:
    for one in more:
        if not any(
            one.key == other.key and one.operator == other.operator and set(one.values) == set(other.values)
            for other in found
        ):
            found.append(one)
