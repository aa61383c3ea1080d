"""Kinds that are data: what the real API server was seen to do to their objects (`make schema`), and no more.

Their objects can be made, changed, watched and deleted like all others; nobody here acts on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from muster.local.checks import names
from muster.local.checks.fields import FieldError, forbidden, invalid
from muster.local.checks.metadata import distinct, keep_for_status
from muster.local.codec.values import Object
from muster.local.kinds.jobs.spec import matches
from muster.local.kinds.kind import Strategy
from muster.local.kinds.pods.spec import DEFAULTS
from muster.local.kinds.pods.validation import template_errors
from muster.local.kinds.rules import Book, Rules
from muster.local.schema import load, structs
from muster.local.schema.load import Frozen, Resource

_TEMPLATE = "io.k8s.api.core.v1.PodTemplateSpec"


def strategy(resource: Resource) -> Strategy:
    """What the data say of a kind, as the server asks for it."""
    shape, has_status = load.shapes()[resource.type_name], "status" in resource.subresources

    def default(given: Object) -> None:
        DEFAULTS.fill(given, resource.type_name)

    def prepare_create(given: Object) -> None:
        if has_status:
            given["status"] = structs.zero(shape.fields["status"].shape)
            DEFAULTS.fill(given["status"], shape.fields["status"].shape.name)

    def prepare_status(new: Object, old: Object) -> None:
        if not resource.labels_with_status:
            keep_for_status(new["metadata"], old["metadata"])

    def validate(given: Object) -> list[FieldError]:
        return distinct(_SEEN.errors(given, resource.type_name, ""))

    def validate_update(new: Object, old: Object) -> list[FieldError]:
        frozen = [error for rule in resource.frozen if (error := _frozen_error(rule, new, old)) is not None]
        return distinct(frozen + validate(new))

    return Strategy(
        default=default,
        prepare_create=prepare_create,
        prepare_status=prepare_status,
        validate=validate,
        validate_update=validate_update,
        has_generation=resource.has_generation,
        needs_version=resource.needs_version,
        creates_on_update=resource.creates_on_update,
        returns_deleted=resource.returns_deleted,
        orphans=resource.orphans,
        name_problems=names.path_segment_problems if resource.any_name else names.subdomain_problems,
    )


# --- what is wrong ---


def _selects_its_pods(spec: Object, path: str) -> Iterator[FieldError]:
    """Pods that are made of the template must be those that the selector finds."""
    labels = (spec.get("template", {}).get("metadata") or {}).get("labels")
    if "template" in spec and matches(spec.get("selector"), labels or {}) is False:
        words = "`selector` does not match template `labels`"
        yield invalid(f"{path}.template.metadata.labels", labels, words)


_SEEN = Book(
    {
        _TEMPLATE: Rules(closed=True, code=(template_errors,)),
        **{
            f"apps.v1.{kind}Spec": Rules(code=(_selects_its_pods,))
            for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
        },
    },
    as_seen=True,
)

_REASONS: dict[str, Callable[[str, Any, str], FieldError]] = {
    "FieldValueForbidden": lambda field, _value, words: forbidden(field, words),
    "FieldValueInvalid": invalid,
}


def _frozen_error(rule: Frozen, new: Object, old: Object) -> FieldError | None:
    """What an update is refused for that changes what may not change."""
    for path in rule.paths:
        value = _looked_up(new, path)
        if _but(value, path, rule.but) != _but(_looked_up(old, path), path, rule.but):
            return _REASONS[rule.reason](rule.field, value, rule.words)
    return None


def _looked_up(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = (value or {}).get(name)
    return value


def _but(value: Any, path: str, but: tuple[str, ...]) -> Any:
    """The struct without those of its fields that may change."""
    if not isinstance(value, dict):
        return value
    free = {name.removeprefix(f"{path}.") for name in but}
    return {name: inner for name, inner in value.items() if name not in free}
