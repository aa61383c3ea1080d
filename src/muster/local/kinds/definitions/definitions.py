"""CustomResourceDefinition (apiextensions.k8s.io/v1): defaults, and what is wrong with one.

definition_schema   what is wrong with a schema
definition_status   which names it gets, and its conditions
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

from muster.local.checks import names
from muster.local.checks.fields import FieldError, forbidden, invalid, not_supported, required
from muster.local.checks.metadata import unchanged
from muster.local.codec.values import Object
from muster.local.kinds.definitions import schema as definition_schema
from muster.local.kinds.definitions.status import (
    APPROVED,
    CLEANUP,
    ESTABLISHED,
    approval,
    condition,
    is_protected,
    missing_approval,
    settled,
    terminating,
    wrong_approval,
)
from muster.local.kinds.kind import Strategy

__all__ = ["CLEANUP", "STRATEGY", "settled", "terminating"]

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SHARED = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
"""What versions have in common is moved out of them before it is checked, under these names."""
_LONGEST_WARNING = 256


def default(definition: Object) -> None:
    spec = definition["spec"]
    given = spec["names"]
    given["singular"] = given.get("singular") or given.get("kind", "").lower()
    if given.get("kind"):
        given["listKind"] = given.get("listKind") or f"{given['kind']}List"
    spec.setdefault("conversion", {"strategy": "None"})
    service = (((spec["conversion"] or {}).get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)
    if (status := definition.get("status")) is not None and not status.get("storedVersions"):
        # whoever forgets them could take away the version of objects that are there
        status["storedVersions"] = _storage(spec) or None


def prepare_create(definition: Object) -> None:
    names_of_none = {"plural": "", "kind": ""}
    stored = _storage(definition["spec"]) or None
    definition["status"] = {"conditions": None, "acceptedNames": names_of_none, "storedVersions": stored}


def _storage(spec: Object) -> list[str]:
    """The version in which objects are stored; none if the definition forgets to say it."""
    return [version["name"] for version in spec.get("versions") or () if version.get("storage")][:1]


def validate(definition: Object) -> list[FieldError]:
    return _name_errors(definition) + _all_errors(definition) + _approval_errors(definition, None)


def prepare_update(new: Object, old: Object) -> None:
    new["status"] = deepcopy(old["status"])
    stored = new["status"]["storedVersions"] = new["status"].get("storedVersions") or []
    stored += [name for name in _storage(new["spec"]) if name not in stored]


def validate_update(new: Object, old: Object) -> list[FieldError]:
    errors = _spec_errors(new["spec"])
    spec, before = new["spec"], old["spec"]
    if condition(old, ESTABLISHED).get("status") == "True":
        errors += unchanged(spec.get("scope", ""), before.get("scope", ""), "spec.scope")
        errors += unchanged(spec["names"].get("kind", ""), before["names"].get("kind", ""), "spec.names.kind")
    errors += unchanged(spec.get("group", ""), before.get("group", ""), "spec.group")
    errors += unchanged(spec["names"].get("plural", ""), before["names"].get("plural", ""), "spec.names.plural")
    return errors + _status_errors(new) + _stored_errors(new) + _approval_errors(new, old)


def prepare_status(new: Object, old: Object) -> None:
    new["spec"] = old["spec"]


def validate_status(new: Object, _old: Object) -> list[FieldError]:
    return _status_errors(new)


def warnings(new: Object, old: Object | None) -> list[str]:
    """What the definition asks for, and nobody does here; said again only if that has changed."""
    said = [] if old is None else _undone(old["spec"])
    return [words for words in _undone(new["spec"]) if words not in said]


def _undone(spec: Object) -> list[str]:
    versions = spec.get("versions") or []
    found = []
    for index, version in enumerate(versions):
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        for at in definition_schema.rules_in(schema, f"spec.versions[{index}].schema.openAPIV3Schema"):
            found.append(f"{at}: rules in CEL are not evaluated, objects that break them are taken")
    if (spec.get("conversion") or {}).get("strategy") == "Webhook" and len(versions) > 1:
        kept = next((version["name"] for version in versions if version.get("storage")), "")
        words = f"objects are shown in all versions as they are stored, in {kept}, and written in that one only"
        found.append(f"spec.conversion: webhooks are not called: {words}")
    return found


# --- what is wrong with a definition ---


def _name_errors(definition: Object) -> list[FieldError]:
    spec, name = definition["spec"], definition["metadata"].get("name", "")
    if not name or name == f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
        return []
    return [invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]


def _all_errors(definition: Object) -> list[FieldError]:
    return _spec_errors(definition["spec"]) + _status_errors(definition) + _stored_errors(definition)


def _spec_errors(given: Object) -> list[FieldError]:
    spec = _hoisted(given)
    versions = spec["versions"]
    errors = _group_errors(spec.get("group", ""))
    errors += _choice_errors(spec.get("scope", ""), "spec.scope", ("Cluster", "Namespaced"))
    if not _has_schema(spec.get("validation")):
        for index, version in enumerate(versions):
            if not _has_schema(version.get("schema")):
                errors.append(required(f"spec.versions[{index}].schema.openAPIV3Schema"))
    for index, version in enumerate(versions):
        errors += _version_errors(version, f"spec.versions[{index}]", spec)
    errors += _versions_errors(versions, given.get("versions"))
    errors += _label_errors(versions[0].get("name", ""), "spec.version") if versions else []
    for part in ("plural", "singular", "kind", "listKind"):
        if not spec["names"].get(part):
            errors.append(required(f"spec.names.{part}"))
    errors += _names_errors(spec["names"], "spec.names")
    errors += definition_schema.errors(spec.get("validation"), "spec.validation", has_status=_any_status(spec))
    errors += _subresource_errors(spec.get("subresources"), "spec.subresources")
    errors += _column_errors(spec.get("additionalPrinterColumns"), "spec.additionalPrinterColumns")
    return errors + _conversion_errors(spec.get("conversion") or {})


def _hoisted(given: Object) -> Object:
    """The spec as it is inside: what all versions have alike stands beside them."""
    spec = {**given, "versions": [dict(version) for version in given.get("versions") or ()]}
    for part, outside in _SHARED.items():
        values = [version.get(part) for version in spec["versions"]]
        if values and all(value == values[0] for value in values):
            spec[outside] = values[0]
            for version in spec["versions"]:
                version.pop(part, None)
    return spec


def _has_schema(validation: Object | None) -> bool:
    return (validation or {}).get("openAPIV3Schema") is not None


def _any_status(spec: Object) -> bool:
    holders = [spec, *spec["versions"]]
    return any("status" in (holder.get("subresources") or {}) for holder in holders)


def _group_errors(group: str) -> list[FieldError]:
    if not group:
        return [required("spec.group")]
    problems = names.subdomain_problems(group)
    if problems:
        return [invalid("spec.group", group, ",".join(problems))]
    return [] if "." in group else [invalid("spec.group", group, "should be a domain with at least one dot")]


def _version_errors(version: Object, field: str, spec: Object) -> list[FieldError]:
    errors = _label_errors(version.get("name", ""), f"{field}.name")
    warning = version.get("deprecationWarning")
    for problem in _warning_problems(version, warning):
        errors.append(invalid(f"{field}.deprecationWarning", warning, problem))
    per_version = any("subresources" in one for one in spec["versions"])
    subresources = version.get("subresources") if per_version else spec.get("subresources")
    has_status = "status" in (subresources or {})
    errors += definition_schema.errors(version.get("schema"), f"{field}.schema", has_status=has_status)
    errors += _subresource_errors(version.get("subresources"), f"{field}.subresources")
    return errors + _column_errors(version.get("additionalPrinterColumns"), f"{field}.additionalPrinterColumns")


def _warning_problems(version: Object, warning: str | None) -> list[str]:
    if warning is None:
        return []
    if not version.get("deprecated"):
        return ["can only be set for deprecated versions"]
    problems = []
    if len(warning.encode()) > _LONGEST_WARNING:
        problems.append(f"must be <= {_LONGEST_WARNING} characters long")
    if not warning:
        problems.append("must not be an empty string")
    for mark in warning:
        if not mark.isprintable():
            at = len(warning.partition(mark)[0].encode())
            words = "must only contain printable UTF-8 characters; non-printable character found at index"
            problems.append(f"{words} {at}")
            break
    return problems


def _versions_errors(versions: list[Object], given: list[Object] | None) -> list[FieldError]:
    errors = []
    shown = versions or given
    if len({version.get("name") for version in versions}) < len(versions):
        errors.append(invalid("spec.versions", shown, "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        words = "must have exactly one version marked as storage version"
        errors.append(invalid("spec.versions", shown, words))
    return errors


def _names_errors(given: Object, field: str) -> list[FieldError]:
    errors = []
    for part in ("plural", "singular"):
        if given.get(part):
            errors += _label_errors(given[part], f"{field}.{part}")
    for part in ("kind", "listKind"):
        problems = names.dns1035_label_problems(given.get(part, "").lower())
        if given.get(part) and problems:
            words = f"may have mixed case, but should otherwise match: {','.join(problems)}"
            errors.append(invalid(f"{field}.{part}", given[part], words))
    for index, name in enumerate(given.get("shortNames") or ()):
        errors += _label_errors(name, f"{field}.shortNames[{index}]")
    if given.get("kind") and given["kind"] == given.get("listKind"):
        errors.append(invalid(f"{field}.listKind", given["listKind"], "kind and listKind may not be the same"))
    for index, name in enumerate(given.get("categories") or ()):
        errors += _label_errors(name, f"{field}.categories[{index}]")
    return errors


def _label_errors(name: str, field: str) -> list[FieldError]:
    problems = names.dns1035_label_problems(name)
    return [invalid(field, name, ",".join(problems))] if problems else []


def _subresource_errors(subresources: Object | None, field: str) -> list[FieldError]:
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    errors = []
    for part, roots in (("specReplicasPath", ("spec",)), ("statusReplicasPath", ("status",))):
        at = f"{field}.scale.{part}"
        errors += _path_errors(scale[part], at, roots) if scale.get(part) else [required(at)]
    if scale.get("labelSelectorPath"):
        errors += _path_errors(scale["labelSelectorPath"], f"{field}.scale.labelSelectorPath", ("spec", "status"))
    return errors


def _path_errors(path: str, field: str, roots: Sequence[str]) -> list[FieldError]:
    if not path.startswith("."):
        return [invalid(field, path, "must be a simple json path starting with .")]
    if roots and not path.startswith(tuple(f".{root}." for root in roots)):
        words = f"under .{roots[0]}" if len(roots) == 1 else f"under either .{roots[0]} or .{roots[1]}"
        return [invalid(field, path, f"should be a json path {words}")]
    return []


def _column_errors(columns: list[Object] | None, field: str) -> list[FieldError]:
    errors = []
    for index, column in enumerate(columns or ()):
        at = f"{field}[{index}]"
        if not column.get("name"):
            errors.append(required(f"{at}.name"))
        kind, form, path = (column.get(part, "") for part in ("type", "format", "jsonPath"))
        words = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not kind:
            errors.append(required(f"{at}.type", words))
        elif kind not in _COLUMN_TYPES:
            errors.append(invalid(f"{at}.type", kind, words))
        if form and form not in _COLUMN_FORMATS:
            errors.append(invalid(f"{at}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}"))
        errors += _path_errors(path, f"{at}.JSONPath", ()) if path else [required(f"{at}.JSONPath")]
    return errors


def _conversion_errors(conversion: Object) -> list[FieldError]:
    field, strategy = "spec.conversion", conversion.get("strategy", "")
    errors = _choice_errors(strategy, f"{field}.strategy", ("None", "Webhook"))
    webhook = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy != "Webhook":
        words = "should not be set when strategy is not set to Webhook"
        errors += [forbidden(f"{field}.webhookClientConfig", words)] if client is not None else []
        return errors + ([forbidden(f"{field}.conversionReviewVersions", words)] if versions else [])
    if client is None:
        errors.append(required(f"{field}.webhookClientConfig", "required when strategy is set to Webhook"))
    elif ("url" in client) == ("service" in client):
        errors.append(required(f"{field}.webhookClientConfig", "exactly one of url or service is required"))
    if not versions:
        errors.append(required(f"{field}.conversionReviewVersions"))
    elif not {"v1", "v1beta1"} & set(versions):
        words = "must include at least one of v1, v1beta1"
        errors.append(invalid(f"{field}.conversionReviewVersions", versions, words))
    return errors


def _status_errors(definition: Object) -> list[FieldError]:
    accepted = definition.get("status", {}).get("acceptedNames") or {}
    return _names_errors(accepted, "status.acceptedNames")


def _stored_errors(definition: Object) -> list[FieldError]:
    field, stored = "status.storedVersions", definition["status"].get("storedVersions")
    if not stored:
        return [invalid(field, stored, "must have at least one stored version")]
    errors = []
    versions = definition["spec"].get("versions") or []
    for version in versions:
        if version.get("storage") and version["name"] not in stored:
            errors.append(invalid(field, stored, f"must have the storage version {version['name']}"))
    known = {version["name"] for version in versions}
    for index, name in enumerate(stored):
        if name not in known:
            words = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            errors.append(invalid(f"{field}[{index}]", name, words))
    return errors


def _approval_errors(new: Object, old: Object | None) -> list[FieldError]:
    if not is_protected(new["spec"].get("group", "")):
        return []
    given, before = ((one["metadata"].get("annotations") or {}).get(APPROVED, "") for one in (new, old or new))
    if old is not None and approval(given) == approval(before):
        return []
    field = f"metadata.annotations[{APPROVED}]"
    if not given:
        return [required(field, missing_approval())]
    return [invalid(field, given, wrong_approval())] if approval(given) == "invalid" else []


def _choice_errors(value: str, field: str, supported: Sequence[str]) -> list[FieldError]:
    if not value:
        return [required(field)]
    return [] if value in supported else [not_supported(field, value, supported)]


STRATEGY = Strategy(
    default=default,
    prepare_create=prepare_create,
    validate=validate,
    prepare_update=prepare_update,
    validate_update=validate_update,
    prepare_status=prepare_status,
    validate_status=validate_status,
    prepare_delete=lambda definition, now: terminating(definition, now=now),
    warnings=warnings,
    has_generation=True,
    needs_version=True,
    any_finalizer=True,
)
