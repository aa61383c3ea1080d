"""What the server itself says of a CustomResourceDefinition: the names that it accepts, and conditions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import deepcopy
from urllib.parse import urlsplit

from muster.api.times import stamp
from muster.local.codec.values import Object
from muster.local.kinds.definitions import schema as definition_schema

NAMES_ACCEPTED, ESTABLISHED, TERMINATING = "NamesAccepted", "Established", "Terminating"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
APPROVED = "api-approved.kubernetes.io"

_ACCEPTED = {
    "status": "True",
    "reason": "InitialNamesAccepted",
    "message": "the initial names have been accepted",
}
_NOT_ACCEPTED = {"status": "False", "reason": "NotAccepted", "message": "not all names are accepted"}
_DELETING = {
    "status": "True",
    "reason": "InstanceDeletionInProgress",
    "message": "CustomResource deletion is in progress",
}
_CONFORMANT = "KubernetesAPIApprovalPolicyConformant"
_WORDS = f'protected groups must have approval annotation "{APPROVED}"'
_WHERE = "see https://github.com/kubernetes/enhancements/pull/1111"


def settled(definition: Object, others: Iterable[Object], *, now: float) -> Object:
    """The definition with its names accepted, as far as no other of its group has them, and its conditions set."""
    result = _copied(definition)
    _set_approval(result, now)
    wanted, accepted = result["spec"]["names"], result["status"].get("acceptedNames") or {}
    if wanted != accepted:
        conflict = _accept(wanted, accepted, others, group=result["spec"]["group"])
        result["status"]["acceptedNames"] = {"plural": "", "kind": "", **conflict.pop("names")}
        _set_condition(result, NAMES_ACCEPTED, conflict, now)
    if why := problem(result):
        _set_condition(result, ESTABLISHED, {"status": "False", "reason": "SchemaNotRead", "message": why}, now)
    elif condition(result, ESTABLISHED).get("status") != "True":
        fine = condition(result, NAMES_ACCEPTED).get("status") == "True"
        _set_condition(result, ESTABLISHED, _ACCEPTED if fine else _NOT_ACCEPTED, now)
    return result


def facts(definition: Object) -> tuple[Object, ...]:
    """All on which it depends what is served of a definition."""
    conditions = {kind: condition(definition, kind).get("status") for kind in (ESTABLISHED, TERMINATING)}
    return definition["spec"], definition["status"].get("acceptedNames") or {}, conditions


def problem(definition: Object) -> str:
    """Why the kind cannot be served, whatever else is in order: other versions of Muster took other schemas."""
    for version in definition["spec"].get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if why := definition_schema.too_deep(schema or {}):
            return f"the schema of {version['name']} {why}"
    return ""


def deleting(definition: Object, *, now: float) -> Object:
    """The definition while objects of its kind hold it."""
    result = _copied(definition)
    _set_condition(result, TERMINATING, _DELETING, now)
    return result


def terminating(definition: Object, *, now: float) -> Object:
    """The definition as it is from its deletion until its objects are gone."""
    result = _copied(definition)
    finalizers = result["metadata"].setdefault("finalizers", [])
    finalizers += [] if CLEANUP in finalizers else [CLEANUP]
    facts = {
        "status": "True",
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }
    _set_condition(result, TERMINATING, facts, now)
    return result


def _copied(definition: Object) -> Object:
    """A copy in which metadata and status may be changed."""
    return {
        **definition,
        "metadata": deepcopy(definition["metadata"]),
        "status": deepcopy(definition.get("status") or {}),
    }


def _accept(wanted: Object, accepted: Object, others: Iterable[Object], *, group: str) -> Object:
    """The names that the definition may have, and the condition that says so; of several conflicts the last."""
    resources, kinds = _taken(others, group)
    result = dict(accepted)
    condition = {"status": "True", "reason": "NoConflicts", "message": "no conflicts found"}
    for part, reason, taken in (
        ("plural", "PluralConflict", resources),
        ("singular", "SingularConflict", resources),
        ("shortNames", "ShortNamesConflict", resources),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ):
        asked, had = (_listed(one.get(part)) for one in (wanted, accepted))
        used = [f"{json.dumps(name)} is already in use" for name in asked if name not in had and name in taken]
        if used:
            message = used[0] if len(used) == 1 else f"[{', '.join(used)}]"
            condition = {"status": "False", "reason": reason, "message": message}
        elif part in wanted:
            result[part] = wanted[part]
        else:
            result.pop(part, None)
    result.pop("categories", None)
    if wanted.get("categories"):
        result["categories"] = wanted["categories"]
    return {**condition, "names": result}


def _taken(others: Iterable[Object], group: str) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        if other["spec"]["group"] == group:
            given = other.get("status", {}).get("acceptedNames") or {}
            for part in ("plural", "singular", "shortNames"):
                resources.update(_listed(given.get(part)))
            for part in ("kind", "listKind"):
                kinds.update(_listed(given.get(part)))
    return resources, kinds


def _listed(given: str | list[str] | None) -> list[str]:
    return [given] if isinstance(given, str) and given else list(given or ())


def _set_approval(definition: Object, now: float) -> None:
    """In groups of Kubernetes itself, whether the community agreed to the kind."""
    if not is_protected(definition["spec"]["group"]):
        return
    given = (definition["metadata"].get("annotations") or {}).get(APPROVED, "")
    if not given:
        facts = {"status": "False", "reason": "MissingAnnotation", "message": missing_approval()}
    elif given.startswith("unapproved"):
        message = f"not approved: {json.dumps(given)}"
        facts = {"status": "False", "reason": "UnapprovedAnnotation", "message": message}
    else:
        facts = {"status": "True", "reason": "ApprovedAnnotation", "message": f"approved in {given}"}
    _set_condition(definition, _CONFORMANT, facts, now)


def condition(definition: Object, kind: str) -> Object:
    """Of that type; empty if there is none."""
    conditions = definition.get("status", {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == kind), {})


def _set_condition(definition: Object, kind: str, facts: Object, now: float) -> None:
    status = definition["status"]
    conditions = status["conditions"] = status.get("conditions") or []
    old = condition(definition, kind)
    if not old:
        conditions.append({"type": kind, "lastTransitionTime": stamp(now), **facts})
        return
    if old["status"] != facts["status"]:
        old["lastTransitionTime"] = stamp(now)
    old.update(facts)


# --- groups of Kubernetes itself ---


def is_protected(group: str) -> bool:
    return group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))


def approval(given: str) -> str:
    """What an annotation says of the community's approval: missing, bypassed, approved, invalid."""
    if not given:
        return "missing"
    if given.startswith("unapproved"):
        return "bypassed"
    parts = urlsplit(given)
    return "approved" if parts.scheme and parts.netloc else "invalid"


def missing_approval() -> str:
    return f"{_WORDS}, {_WHERE}"


def wrong_approval() -> str:
    return f'{_WORDS} with either a URL or a reason starting with "unapproved", {_WHERE}'
