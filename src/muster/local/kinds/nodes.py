"""Nodes: what is particular to them among the kinds."""

from __future__ import annotations

from collections.abc import Iterable

from muster.local.checks.fields import FieldError, duplicate, forbidden, invalid, not_supported, required
from muster.local.codec.values import Object
from muster.local.kinds.kind import Strategy
from muster.local.kinds.pods.formats import (
    each,
    label_value,
    matching,
    network,
    objects_in,
    positive,
    qualified,
    too_many_families,
)
from muster.local.kinds.pods.resources import amount_problems
from muster.local.kinds.pods.spec import round_list
from muster.local.kinds.rules import Errors

_TAINTS = "scheduler.alpha.kubernetes.io/taints"
_FEATURE = matching(r"[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*")
_EFFECTS = ("NoExecute", "NoSchedule", "PreferNoSchedule")


def default(node: Object) -> None:
    spec, status = node["spec"], node.get("status", {})
    _sync_networks(spec)
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])
    round_list(status.get("capacity"))
    round_list(status.get("allocatable"))


def prepare_create(node: Object) -> None:
    """A node may be made with its status; what the real server has given up is taken out."""
    node["spec"].pop("configSource", None)
    node["spec"].pop("podPreemptionPolicy", None)
    node.get("status", {}).pop("config", None)


def prepare_update(new: Object, old: Object) -> None:
    for key in ("configSource", "podPreemptionPolicy"):
        if key not in old["spec"]:
            new["spec"].pop(key, None)


def prepare_status(new: Object, old: Object) -> None:
    if "config" not in old.get("status", {}):
        new.get("status", {}).pop("config", None)


def validate(node: Object) -> list[FieldError]:
    spec, status = node["spec"], node.get("status", {})
    errors = list(_annotations(node["metadata"].get("annotations", {})))
    # Kubernetes looks for them in the spec and names them in the metadata
    errors += _taints(spec.get("taints", []), "metadata.taints")
    errors += _status(status)
    swap = status.get("nodeInfo", {}).get("swap", {}).get("capacity")
    if swap is not None:
        errors += each("metadata.nodeSwapStatus.capacity", swap, positive(swap))
    errors += _features(status.get("declaredFeatures", ()))
    errors += _networks(spec.get("podCIDRs", []))
    return errors


def validate_update(new: Object, old: Object) -> list[FieldError]:
    return validate(new) + validate_status(new, old)


def validate_status(new: Object, old: Object) -> list[FieldError]:
    """Of a changed node, whatever it was that changed."""
    spec, status, before = new["spec"], new.get("status", {}), old["spec"]
    errors = list(_annotations(new["metadata"].get("annotations", {})))
    errors += _status(status)
    errors += _features(status.get("declaredFeatures", ()))
    errors += _addresses(status.get("addresses", ()))
    errors += _networks_stay(spec.get("podCIDRs", []), before.get("podCIDRs", []))
    errors += _provider_stays(spec.get("providerID", ""), before.get("providerID", ""))
    errors += _taints(spec.get("taints", []), "metadata.taints")
    if spec.get("externalID", "") != before.get("externalID", ""):
        errors.append(forbidden("spec.externalID", "may not be updated"))
    return errors


def selectable(node: Object) -> dict[str, str]:
    return {"spec.unschedulable": "true" if node["spec"].get("unschedulable") else "false"}


STRATEGY = Strategy(
    prepare_create=prepare_create,
    default=default,
    validate=validate,
    prepare_update=prepare_update,
    validate_update=validate_update,
    prepare_status=prepare_status,
    validate_status=validate_status,
    selectable=selectable,
)


def _sync_networks(spec: Object) -> None:
    """The first of a node's networks and their list say the same; where they do not, the single one is right."""
    single, listed = spec.get("podCIDR"), spec.get("podCIDRs")
    if single and (not listed or listed[0] != single):
        spec["podCIDRs"] = [single]
    elif listed and not single:
        spec["podCIDR"] = listed[0]


def _annotations(annotations: dict[str, str]) -> Errors:
    """Taints stood in an annotation once."""
    found = objects_in(annotations.get(_TAINTS) or "[]", "key", "value", "effect")
    if found is None:
        yield invalid("metadata.annotations", _TAINTS, "must be a list of taints")
    yield from _taints(found or [], f"metadata.annotations.{_TAINTS}")


def _taints(given: list[Object], path: str) -> Errors:
    seen: set[tuple[str, str]] = set()
    for index, one in enumerate(given):
        at, key, value, effect = f"{path}[{index}]", one.get("key", ""), one.get("value", ""), one.get("effect", "")
        yield from each(f"{at}.key", key, qualified(key))
        yield from each(f"{at}.value", value, label_value(value))
        if effect not in _EFFECTS:
            yield not_supported(f"{at}.effect", effect, _EFFECTS) if effect else required(f"{at}.effect")
        if (key, effect) in seen:
            yield duplicate(at, one)
        seen.add((key, effect))


def _status(status: Object) -> Errors:
    for kind in ("capacity", "allocatable"):
        for name, amount in status.get(kind, {}).items():
            yield from each(f"status.{kind}.{name}", amount, amount_problems(name, amount))


def _features(listed: Iterable[str]) -> Errors:
    """Sorted, each once."""
    before = ""
    for index, one in enumerate(listed):
        at = f"status.declaredFeatures[{index}]"
        if index and one == before:
            yield duplicate(at, one)
        elif one < before:
            yield invalid(at, one, "list must be sorted alphabetically")
        yield from each(at, one, _FEATURE(one))
        before = one


def _networks(listed: list[str]) -> Errors:
    for index, one in enumerate(listed):
        yield from each(f"spec.podCIDRs[{index}]", one, network(one))
    if too_many_families(listed):
        yield invalid("spec.podCIDRs", listed, "may specify no more than one CIDR for each IP family")


def _addresses(listed: Iterable[Object]) -> Errors:
    seen: set[tuple[str, str]] = set()
    for index, one in enumerate(listed):
        key = (one.get("type", ""), one.get("address", ""))
        if key in seen:
            yield duplicate(f"status.addresses[{index}]", one)
        seen.add(key)


def _networks_stay(new: list[str], old: list[str]) -> Errors:
    if old and new != old:
        yield forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')


def _provider_stays(new: str, old: str) -> Errors:
    if old and new != old:
        words = "field cannot be modified once set" if new else "field cannot be cleared once set"
        yield invalid("spec.providerID", None, words)
