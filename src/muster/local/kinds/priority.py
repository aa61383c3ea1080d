"""PriorityClass (scheduling.k8s.io/v1), and which priority a pod or a pod group gets of the classes that there are."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from muster.local.checks.fields import FieldError, forbidden, not_supported, required
from muster.local.checks.metadata import unchanged
from muster.local.codec.values import Object
from muster.local.kinds.kind import Strategy

PREEMPT = "PreemptLowerPriority"
POLICIES = (PREEMPT, "Never")
HIGHEST = 1_000_000_000
"""That users may define."""
_SYSTEM_PREFIX = "system-"
_SYSTEM_VALUES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
SYSTEM: tuple[Object, ...] = (
    {
        "metadata": {"name": "system-node-critical"},
        "value": _SYSTEM_VALUES["system-node-critical"],
        "description": "Used for system critical pods that must not be moved from their current node.",
        "preemptionPolicy": PREEMPT,
    },
    {
        "metadata": {"name": "system-cluster-critical"},
        "value": _SYSTEM_VALUES["system-cluster-critical"],
        "description": "Used for system critical pods that must run in the cluster, but can be moved to another node "
        "if necessary.",
        "preemptionPolicy": PREEMPT,
    },
)
"""Classes that every cluster has from its start, and that nobody can delete."""
CANNOT_DELETE = "this is a system priority class and cannot be deleted"


class Priority(msgspec.Struct, frozen=True):
    """What a pod or a pod group gets."""

    class_name: str
    value: int
    policy: str
    """Whether it preempts."""


Classes = Mapping[str, Object]
"""PriorityClass objects by name."""


def resolve(class_name: str, classes: Classes) -> Priority | str:
    """The priority of the class that is named, else of the one that is the default, else none; or why there is none."""
    if not class_name:
        default = default_class(classes)
        return Priority("", 0, PREEMPT) if default is None else _priority(default)
    if class_name not in classes:
        return f"no PriorityClass with name {class_name} was found"
    return _priority(classes[class_name])


def resolve_pod(spec: Object, classes: Classes) -> Priority | str:
    """The priority of a pod, or why its spec cannot have it."""
    found = resolve(spec.get("priorityClassName", ""), classes)
    if isinstance(found, str):
        return found
    given, policy = spec.get("priority"), spec.get("preemptionPolicy")
    computed = "priority admission controller computed {} from the given PriorityClass name"
    if given not in (None, found.value):
        words = f"the integer value of priority ({given}) must not be provided in pod spec; "
        return words + computed.format(found.value)
    if policy not in (None, found.policy):
        words = f"the string value of PreemptionPolicy ({policy}) must not be provided in pod spec; "
        return words + computed.format(found.policy)
    return found


def resolve_group(spec: Object, classes: Classes, *, called: str = "pod group") -> Priority | str:
    """The priority of a pod group, or why its spec cannot have it."""
    found = resolve(spec.get("priorityClassName", ""), classes)
    if isinstance(found, str):
        return found
    given, policy = spec.get("priority"), spec.get("preemptionPolicy")
    if given not in (None, found.value):
        return (
            f"priority set in the {called} ({given}) must match the priority computed ({found.value}) "
            "based on the priority class set in the spec"
        )
    if policy not in (None, found.policy):
        return (
            f"the string value of PreemptionPolicy ({policy}) must not be provided in {called} spec; "
            f"priority admission controller computed {found.policy} from the given PriorityClass name"
        )
    return found


def default_class(classes: Classes) -> Object | None:
    """The class for those that name none; of several, which only a race can make, the lowest."""
    defaults = [one for one in classes.values() if one.get("globalDefault")]
    return min(defaults, key=lambda one: (one.get("value", 0), one["metadata"]["name"]), default=None)


def second_default(given: Object, classes: Classes, *, updating: bool) -> str:
    """Why a class cannot be the default beside the one that is; "" if it can."""
    found = default_class(classes)
    if not given.get("globalDefault") or found is None:
        return ""
    name = found["metadata"]["name"]
    if updating and name == given["metadata"]["name"]:
        return ""
    return f"PriorityClass {name} is already marked as default. Only one default can exist"


def default(given: Object) -> None:
    given.setdefault("preemptionPolicy", PREEMPT)


def prepare_create(given: Object) -> None:
    given["metadata"]["generation"] = 1


def validate(given: Object) -> list[FieldError]:
    errors = []
    name, value = given["metadata"].get("name", ""), given.get("value", 0)
    if name.startswith(_SYSTEM_PREFIX):
        if problem := _system_problem(name, value, is_default=given.get("globalDefault", False)):
            words = f"priority class names with '{_SYSTEM_PREFIX}' prefix are reserved for system use only. error: "
            errors.append(forbidden("metadata.name", words + problem))
    elif value > HIGHEST:
        errors.append(forbidden("value", f"maximum allowed value of a user defined priority is {HIGHEST}"))
    policy = given.get("preemptionPolicy", PREEMPT)
    if not policy:
        errors.append(required("preemptionPolicy"))
    elif policy not in POLICIES:
        errors.append(not_supported("preemptionPolicy", policy, POLICIES))
    return errors


def validate_update(new: Object, old: Object) -> list[FieldError]:
    errors = []
    if new.get("value", 0) != old.get("value", 0):
        errors.append(forbidden("value", "may not be changed in an update."))
    return errors + unchanged(new.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy")


def _priority(found: Object) -> Priority:
    return Priority(found["metadata"]["name"], found.get("value", 0), found.get("preemptionPolicy", PREEMPT))


def _system_problem(name: str, value: int, *, is_default: bool) -> str:
    if name not in _SYSTEM_VALUES:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM_VALUES[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM_VALUES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


STRATEGY = Strategy(
    default=default,
    prepare_create=prepare_create,
    validate=validate,
    validate_update=validate_update,
    permanent={one["metadata"]["name"]: CANNOT_DELETE for one in SYSTEM},
)
