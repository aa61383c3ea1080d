"""What may change in a pod that exists: images, a nearer deadline, more tolerations, fewer gates; while it is gated,
also closer node selectors."""

from __future__ import annotations

from muster.local.checks.fields import FieldError, forbidden, invalid, required
from muster.local.codec.values import Object, take
from muster.local.kinds.pods.formats import LARGEST_INT32
from muster.local.kinds.pods.validation import APP_ARMOR, MIRROR, annotation_errors, image_edges, pod_errors
from muster.local.kinds.rules import Errors

_CHANGEABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def update_errors(new: Object, old: Object) -> list[FieldError]:
    """Of a changed pod, its metadata aside."""
    errors = pod_errors(new)
    errors += annotation_changes(new, old)
    new_spec, old_spec = new["spec"], old["spec"]
    for kind in ("containers", "initContainers"):
        found, counts_differ = _containers(new_spec.get(kind) or [], old_spec.get(kind) or [], f"spec.{kind}")
        errors += found
        if counts_differ:
            return errors
    deadline, stops = _deadline(new_spec.get("activeDeadlineSeconds"), old_spec.get("activeDeadlineSeconds"))
    errors += deadline
    if not stops:
        errors += _tolerations(new_spec.get("tolerations", []), old_spec.get("tolerations", []))
        errors += _gates(new_spec.get("schedulingGates", []), old_spec.get("schedulingGates", []))
        errors += _others(new_spec, old_spec)
    return errors


def annotation_changes(new: Object, old: Object) -> Errors:
    """Some annotations are made by the kubelet, or read once: they stay."""
    before = old["metadata"].get("annotations", {})
    after = new["metadata"].get("annotations", {})
    for words, keys in (
        ("remove or update", [key for key in before if after.get(key) != before[key]]),
        ("add", [key for key in after if key not in before]),
    ):
        for key in keys:
            if key.startswith(APP_ARMOR):
                yield forbidden(f"metadata.annotations[{key}]", f"may not {words} AppArmor annotations")
            if key == MIRROR:
                yield forbidden(f"metadata.annotations[{key}]", f"may not {words} mirror pod annotation")
    yield from annotation_errors(after, new["spec"], "metadata.annotations")


def _containers(new: list[Object], old: list[Object], path: str) -> tuple[list[FieldError], bool]:
    if len(new) != len(old):
        return [forbidden(path, "pod updates may not add or remove containers")], True
    errors: list[FieldError] = []
    for index, container in enumerate(new):
        if not container.get("image"):
            errors.append(required(f"{path}[{index}].image"))
        errors += image_edges(container, f"{path}[{index}]")
    return errors, False


def _deadline(new: int | None, old: int | None) -> tuple[list[FieldError], bool]:
    """It may be set, and come nearer; the flag says that nothing else is looked at."""
    path = "spec.activeDeadlineSeconds"
    if new is None:
        words = "must not update from a positive integer to nil value"
        return ([] if old is None else [invalid(path, None, words)]), False
    if not 0 <= new <= LARGEST_INT32:
        return [invalid(path, new, f"must be between 0 and {LARGEST_INT32}, inclusive")], True
    if old is not None and old < new:
        return [invalid(path, new, "must be less than or equal to previous value")], True
    return [], False


def _tolerations(new: list[Object], old: list[Object]) -> Errors:
    """None goes and none changes, but for how long it lasts."""
    kept = [_timeless(one) for one in new]
    if any(_timeless(one) not in kept for one in old):
        words = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden("spec.tolerations", words)


def _timeless(toleration: Object) -> Object:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _gates(new: list[Object], old: list[Object]) -> Errors:
    known = {one.get("name", "") for one in old}
    for index, one in enumerate(new):
        if one.get("name", "") not in known:
            words = f"only deletion is allowed, but found new scheduling gate '{one.get('name', '')}'"
            yield forbidden(f"spec.schedulingGates[{index}].name", words)


def _others(new: Object, old: Object) -> Errors:
    """Nothing else changes."""
    if new == old:
        return
    compared = _as_before(new, old)
    if old.get("schedulingGates"):
        yield from _selectors(compared, old)
    if compared != old:
        changed = sorted(key for key in {**compared, **old} if compared.get(key) != old.get(key))
        words = f"pod updates may not change fields other than {_CHANGEABLE}; changed: {', '.join(changed)}"
        yield forbidden("spec", words)


def _as_before(new: Object, old: Object) -> Object:
    """The new spec with all that may change taken from the old one."""
    compared = dict(new)
    for kind in ("containers", "initContainers"):
        if new.get(kind):
            pairs = zip(new[kind], old[kind], strict=True)
            compared[kind] = [{**after, "image": before.get("image", "")} for after, before in pairs]
    take(compared, old, "activeDeadlineSeconds", "schedulingGates", "tolerations")
    if old.get("terminationGracePeriodSeconds", 0) < 0 and new.get("terminationGracePeriodSeconds") == 1:
        take(compared, old, "terminationGracePeriodSeconds")
    return compared


def _selectors(compared: Object, old: Object) -> Errors:
    """Of a gated pod: its choice of nodes may become narrower; what may change is then taken from the old spec."""
    before, after = old.get("nodeSelector", {}), compared.get("nodeSelector", {})
    if not before.items() <= after.items():
        words = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid("spec.nodeSelector", dict(sorted(after.items())) or None, words)
    take(compared, old, "nodeSelector")
    nodes_before = old.get("affinity", {}).get("nodeAffinity")
    nodes_after = compared.get("affinity", {}).get("nodeAffinity")
    if nodes_before != nodes_after:
        yield from _node_affinity(nodes_after or {}, nodes_before or {})
        take_node_affinity(compared, old)


def take_node_affinity(target: Object, source: Object) -> None:
    """Makes where the pods of a spec may go, by their affinity, what it is in another."""
    affinity = dict(target.get("affinity", {}))
    take(affinity, source.get("affinity", {}), "nodeAffinity")
    if affinity or "affinity" in source:
        target["affinity"] = affinity
    else:
        target.pop("affinity", None)


def _node_affinity(new: Object, old: Object) -> Errors:
    """Requirements may be added to the terms that there are."""
    if _REQUIRED not in old:
        return
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    before = old[_REQUIRED].get("nodeSelectorTerms") or []
    after = new.get(_REQUIRED, {}).get("nodeSelectorTerms") or []
    if before and len(before) != len(after):
        words = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield invalid(path, after, words)
        return
    for index, (term, was) in enumerate(zip(after, before, strict=False)):
        if not _only_adds(term, was):
            words = "only additions are allowed (no mutations or deletions)"
            yield invalid(f"{path}[{index}]", term, words)


def _only_adds(new: Object, old: Object) -> bool:
    if not old:
        # a term without requirements matches nothing: with some it would match more
        return not new
    return all(new.get(key, [])[: len(one)] == one for key, one in old.items())
