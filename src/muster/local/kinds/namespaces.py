"""Namespace (core/v1): it goes in two steps, the second when it is empty and `finalize` took its finalizer."""

from __future__ import annotations

from muster.local.checks import names
from muster.local.checks.fields import FieldError, invalid
from muster.local.checks.metadata import distinct, finalizer_name_errors, unknown_finalizer_errors
from muster.local.codec.values import Object, take
from muster.local.kinds.kind import Strategy

FINALIZER = "kubernetes"
NAME_LABEL = "kubernetes.io/metadata.name"
ACTIVE, TERMINATING = "Active", "Terminating"


def default(namespace: Object) -> None:
    metadata = namespace["metadata"]
    if metadata.get("name"):
        metadata.setdefault("labels", {})[NAME_LABEL] = metadata["name"]
    namespace.setdefault("status", {}).setdefault("phase", ACTIVE)


def prepare_create(namespace: Object) -> None:
    namespace["status"] = {"phase": ACTIVE}
    finalizers = namespace.setdefault("spec", {}).setdefault("finalizers", [])
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)


def validate(namespace: Object) -> list[FieldError]:
    return _finalizer_errors(namespace, "spec.finalizers")


def prepare_update(new: Object, old: Object) -> None:
    new["spec"] = dict(new.get("spec") or {})
    take(new["spec"], old.get("spec", {}), "finalizers")


def validate_update(new: Object, _old: Object) -> list[FieldError]:
    errors = [invalid("metadata.name", new["metadata"]["name"], what) for what in _name_problems(new)]
    return distinct(errors + validate(new))


def validate_status(new: Object, _old: Object) -> list[FieldError]:
    phase = new.get("status", {}).get("phase", "")
    if "deletionTimestamp" in new["metadata"]:
        wanted, words = TERMINATING, "may only be 'Terminating' if `deletionTimestamp` is not empty"
    else:
        wanted, words = ACTIVE, "may only be 'Active' if `deletionTimestamp` is empty"
    return [] if phase == wanted else [invalid("status.Phase", phase, words)]


def validate_finalize(new: Object, _old: Object) -> list[FieldError]:
    return _finalizer_errors(new, "spec.finalizers[{}]")


def selectable(namespace: Object) -> dict[str, str]:
    # "name" is a slip of Kubernetes that clients came to use
    return {"status.phase": namespace.get("status", {}).get("phase", ""), "name": namespace["metadata"]["name"]}


def _name_problems(namespace: Object) -> list[str]:
    return names.label_problems(namespace["metadata"]["name"])


def _finalizer_errors(namespace: Object, field: str) -> list[FieldError]:
    errors = []
    for index, name in enumerate(namespace.get("spec", {}).get("finalizers") or ()):
        at = field.format(index)
        errors += finalizer_name_errors(name, at) + unknown_finalizer_errors(name, at)
    return distinct(errors)


STRATEGY = Strategy(
    default=default,
    prepare_create=prepare_create,
    validate=validate,
    prepare_update=prepare_update,
    validate_update=validate_update,
    validate_status=validate_status,
    name_problems=names.label_problems,
    selectable=selectable,
    contains=True,
    one_by_one=True,
    permanent=dict.fromkeys(("default", "kube-system", "kube-public"), "this namespace may not be deleted"),
    is_held=lambda namespace: bool(namespace["spec"].get("finalizers")),
    terminate=lambda namespace: namespace.setdefault("status", {}).update(phase=TERMINATING),
)
