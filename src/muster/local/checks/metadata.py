"""What may stand in an object's metadata, for all kinds alike, and in labels, selectors and conditions anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from muster.base.caching import remembered
from muster.local.checks import names
from muster.local.checks.fields import FieldError, duplicate, forbidden, invalid, not_supported, required, too_long
from muster.local.codec.values import Object, take

IMMUTABLE = "field is immutable"
NOT_NEGATIVE = "must be greater than or equal to 0"

LARGEST_ANNOTATIONS = 256 * 1024
LONGEST_MANAGER = 128
LONGEST_SUBRESOURCE = 256
LONGEST_REASON = 1024
LONGEST_MESSAGE = 32 * 1024

_ORPHAN = "orphan"
_FOREGROUND = "foregroundDeletion"
_STANDARD_FINALIZERS = frozenset({"kubernetes", _ORPHAN, _FOREGROUND})
_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid")
_NEVER_CHANGE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_TEXTS = frozenset({"name", "namespace", "uid"})

NameProblems = Callable[[str, bool], list[str]]


@remembered(4096)
def _key_problems(key: str) -> tuple[str, ...]:
    # the same few keys come with every object
    return tuple(names.qualified_problems(key))


@remembered(4096)
def _value_problems(value: str) -> tuple[str, ...]:
    return tuple(names.label_value_problems(value))


@remembered(1024)
def _namespace_problems(namespace: str) -> tuple[str, ...]:
    return tuple(names.label_problems(namespace))


def validate(
    metadata: Object, *, namespaced: bool, name_problems: NameProblems, standard_finalizers: bool = True
) -> list[FieldError]:
    """All that is wrong with the metadata of a new object, whose name was generated already if it had to be.

    Built-in kinds take a finalizer without a prefix only if Kubernetes knows it; custom kinds and
    CustomResourceDefinitions take any (`standard_finalizers=False`).
    """
    errors = _name_errors(metadata, name_problems) + _common_errors(metadata, namespaced)
    return distinct(errors + (unknown_finalizers(metadata) if standard_finalizers else []))


def validate_update(
    new: Object, old: Object, *, namespaced: bool, standard_finalizers: bool = True
) -> list[FieldError]:
    """All that is wrong with changed metadata; of the name no more than that it changed or cannot stand in a path."""
    errors = _name_errors(new, names.path_segment_problems) + _common_errors(new, namespaced)
    errors += _change_errors(new, old)
    return distinct(errors + (unknown_finalizers(new) if standard_finalizers else []))


def keep_for_status(new: Object, old: Object) -> None:
    """Takes the metadata of the stored object, for kinds whose status alone may be written through /status."""
    take(new, old, "labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")


def distinct(errors: Iterable[FieldError]) -> list[FieldError]:
    """Each error once: Kubernetes checks some things more than once, and says so once."""
    return list(dict.fromkeys(errors))


def label_errors(labels: Mapping[str, str] | None, field: str) -> list[FieldError]:
    """Of labels, by key; Kubernetes names the map, not the key, as the field."""
    errors = []
    for key, value in sorted((labels or {}).items()):
        errors += [invalid(field, key, problem) for problem in _key_problems(key)]
        errors += [invalid(field, value, problem) for problem in _value_problems(value)]
    return errors


def annotation_errors(annotations: Mapping[str, str] | None, field: str) -> list[FieldError]:
    given = annotations or {}
    errors = [invalid(field, key, what) for key in sorted(given) for what in _key_problems(key.lower())]
    if sum(len(key.encode()) + len(value.encode()) for key, value in given.items()) > LARGEST_ANNOTATIONS:
        errors.append(too_long(field, LARGEST_ANNOTATIONS))
    return errors


def selector_errors(selector: Object | None, field: str) -> list[FieldError]:
    """Of a label selector."""
    if selector is None:
        return []
    errors = label_errors(selector.get("matchLabels"), f"{field}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        errors += _requirement_errors(requirement, f"{field}.matchExpressions[{index}]")
    return errors


def condition_errors(conditions: Iterable[Object], field: str) -> list[FieldError]:
    """Of conditions of the common form, at most one of a type."""
    errors: list[FieldError] = []
    seen = set()
    for index, condition in enumerate(conditions):
        kind = condition.get("type", "")
        if kind in seen:
            errors.append(duplicate(f"{field}[{index}]", kind))
        seen.add(kind)
        errors += _one_condition_errors(condition, f"{field}[{index}]")
    return errors


def not_negative(value: int | None, field: str) -> list[FieldError]:
    return [invalid(field, value, NOT_NEGATIVE)] if value is not None and value < 0 else []


def unchanged(new: Any, old: Any, field: str) -> list[FieldError]:
    """Of a field that may not change."""
    return [] if new == old else [invalid(field, new, IMMUTABLE)]


def finalizer_name_errors(name: str, field: str) -> list[FieldError]:
    return [invalid(field, name, problem) for problem in _key_problems(name)]


def unknown_finalizer_errors(name: str, field: str) -> list[FieldError]:
    """Of a finalizer of a built-in kind: one without a prefix must be one that Kubernetes knows."""
    if "/" in name or name in _STANDARD_FINALIZERS:
        return []
    return [invalid(field, name, "name is neither a standard finalizer name nor is it fully qualified")]


def _name_errors(metadata: Object, name_problems: NameProblems) -> list[FieldError]:
    prefix, name = metadata.get("generateName", ""), metadata.get("name", "")
    errors = []
    if prefix:
        errors += [invalid("metadata.generateName", prefix, problem) for problem in name_problems(prefix, True)]
    if not name:
        return [*errors, required("metadata.name", "name or generateName is required")]
    return errors + [invalid("metadata.name", name, problem) for problem in name_problems(name, False)]


def _common_errors(metadata: Object, namespaced: bool) -> list[FieldError]:
    return [
        *_namespace_errors(metadata.get("namespace", ""), namespaced),
        *not_negative(metadata.get("generation"), "metadata.generation"),
        *label_errors(metadata.get("labels"), "metadata.labels"),
        *annotation_errors(metadata.get("annotations"), "metadata.annotations"),
        *_owner_errors(metadata.get("ownerReferences") or (), "metadata.ownerReferences"),
        *_finalizer_errors(metadata.get("finalizers") or (), "metadata.finalizers"),
        *_managed_fields_errors(metadata.get("managedFields") or (), "metadata.managedFields"),
    ]


def _namespace_errors(namespace: str, namespaced: bool) -> list[FieldError]:
    field = "metadata.namespace"
    if not namespaced:
        return [forbidden(field, "not allowed on this type")] if namespace else []
    if not namespace:
        return [required(field)]
    return [invalid(field, namespace, problem) for problem in _namespace_problems(namespace)]


def _owner_errors(owners: Sequence[Object], field: str) -> list[FieldError]:
    errors = [error for index, owner in enumerate(owners) for error in _one_owner_errors(owner, f"{field}[{index}]")]
    controllers = [f"{owner.get('kind', '')}/{owner.get('name', '')}" for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        words = "Only one reference can have Controller set to true. Found several:"
        errors.append(invalid(field, list(owners), f"{words} {', '.join(controllers)}"))
    return errors


def _one_owner_errors(owner: Object, field: str) -> list[FieldError]:
    api_version, kind = owner.get("apiVersion", ""), owner.get("kind", "")
    _, _, version = api_version.rpartition("/")
    errors = [required(f"{field}.{part}", "must not be empty") for part in _OWNER_FIELDS if not owner.get(part)]
    if api_version and (not version or api_version.count("/") > 1):
        errors.append(invalid(f"{field}.apiVersion", api_version, "must be <group>/<version> or <version>"))
    if (api_version, kind) == ("v1", "Event"):
        errors.append(invalid(field, owner, "/v1, Kind=Event is disallowed from being an owner"))
    return errors


def _finalizer_errors(finalizers: Sequence[str], field: str) -> list[FieldError]:
    errors = [error for name in finalizers for error in finalizer_name_errors(name, field)]
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        words = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        errors.append(invalid(field, list(finalizers), words))
    return errors


def unknown_finalizers(metadata: Object) -> list[FieldError]:
    """Of all finalizers in the metadata."""
    finalizers = enumerate(metadata.get("finalizers") or ())
    return [error for i, name in finalizers for error in unknown_finalizer_errors(name, f"metadata.finalizers[{i}]")]


def _managed_fields_errors(entries: Iterable[Object], field: str) -> list[FieldError]:
    errors = []
    for index, entry in enumerate(entries):
        at = f"{field}[{index}]"
        operation = entry.get("operation", "")
        if not operation:
            errors.append(required(f"{at}.operation", "must not be empty"))
        elif operation not in ("Apply", "Update"):
            errors.append(not_supported(f"{at}.operation", operation, ("Apply", "Update")))
        if entry.get("fieldsType", "FieldsV1") not in ("", "FieldsV1"):
            errors.append(invalid(f"{at}.fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
        errors += manager_errors(entry.get("manager", ""), f"{at}.manager")
        if len(entry.get("subresource", "").encode()) > LONGEST_SUBRESOURCE:
            errors.append(too_long(f"{at}.subresource", LONGEST_SUBRESOURCE))
    return errors


def manager_errors(manager: str, field: str) -> list[FieldError]:
    """Of a field manager's name, here and in a request's fieldManager."""
    errors = [too_long(field, LONGEST_MANAGER)] if len(manager.encode()) > LONGEST_MANAGER else []
    return errors if manager.isprintable() else [*errors, invalid(field, manager, "must be printable")]


def _change_errors(new: Object, old: Object) -> list[FieldError]:
    errors = []
    added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
    if old.get("deletionTimestamp") and added:
        words = "no new finalizers can be added if the object is being deleted, found new finalizers"
        errors.append(forbidden("metadata.finalizers", f"{words} {', '.join(added)}"))
    if not new.get("resourceVersion"):
        errors.append(invalid("metadata.resourceVersion", "", "must be specified for an update"))
    if new.get("generation", 0) < old.get("generation", 0):
        errors.append(invalid("metadata.generation", new.get("generation", 0), "must not be decremented"))
    for part in _NEVER_CHANGE:
        nothing = "" if part in _TEXTS else None
        errors += unchanged(new.get(part, nothing), old.get(part, nothing), f"metadata.{part}")
    return errors


def _requirement_errors(requirement: Object, field: str) -> list[FieldError]:
    key, values = requirement.get("key", ""), requirement.get("values") or ()
    errors = operator_errors(requirement, field)
    errors += [invalid(f"{field}.key", key, problem) for problem in _key_problems(key)]
    for index, value in enumerate(values):
        errors += [invalid(f"{field}.values[{index}]", value, what) for what in _value_problems(value)]
    return errors


def operator_errors(requirement: Object, field: str, *, others: Sequence[str] = ()) -> list[FieldError]:
    """Whether a requirement has values as its operator wants them; `others` are operators that compare with one."""
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        words = "must be specified when `operator` is 'In' or 'NotIn'"
        return [] if values else [required(f"{field}.values", words)]
    if operator in ("Exists", "DoesNotExist"):
        words = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [forbidden(f"{field}.values", words)] if values else []
    if operator in others:
        words = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        return [] if len(values) == 1 else [required(f"{field}.values", words)]
    return [invalid(f"{field}.operator", operator, "not a valid selector operator")]


def _one_condition_errors(condition: Object, field: str) -> list[FieldError]:
    errors = []
    kind, status, reason = (condition.get(part, "") for part in ("type", "status", "reason"))
    if not kind:
        errors.append(required(f"{field}.type", "is required"))
    else:
        errors += [invalid(f"{field}.type", kind, problem) for problem in names.qualified_problems(kind)]
    if not status:
        errors.append(required(f"{field}.status"))
    elif status not in ("True", "False", "Unknown"):
        errors.append(not_supported(f"{field}.status", status, ("False", "True", "Unknown")))
    if condition.get("observedGeneration", 0) < 0:
        words = "must be greater than or equal to zero"
        errors.append(invalid(f"{field}.observedGeneration", condition["observedGeneration"], words))
    if not condition.get("lastTransitionTime"):
        errors.append(required(f"{field}.lastTransitionTime"))
    if not reason:
        errors.append(required(f"{field}.reason"))
    else:
        errors += [invalid(f"{field}.reason", reason, what) for what in names.condition_reason_problems(reason)]
        errors += [too_long(f"{field}.reason", LONGEST_REASON)] if len(reason.encode()) > LONGEST_REASON else []
    if len(condition.get("message", "").encode()) > LONGEST_MESSAGE:
        errors.append(too_long(f"{field}.message", LONGEST_MESSAGE))
    return errors
