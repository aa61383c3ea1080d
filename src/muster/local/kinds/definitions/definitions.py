"""CustomResourceDefinition (apiextensions.k8s.io/v1): defaults, and what is wrong with one.

schema   what is wrong with a schema
status   which names it gets, and its conditions
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy

import msgspec

from muster.local.checks import names
from muster.local.checks.fields import FieldError, Why, forbidden, invalid, required
from muster.local.checks.metadata import distinct, unchanged
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
from muster.local.kinds.rules import Book, Errors, Rules

__all__ = ["CLEANUP", "STRATEGY", "settled", "terminating"]

_V1 = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResource"
_SHARED = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
}
"""What all versions have alike is named as if it stood beside them, under these names."""
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
        for at in definition_schema.not_evaluated(schema, f"spec.versions[{index}].schema.openAPIV3Schema"):
            found.append(f"{at}: this rule in CEL is not evaluated, objects that break it are taken")
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


def _spec_errors(spec: Object) -> list[FieldError]:
    versions = spec.get("versions") or []
    errors = _DEFINITION.errors(spec, f"{_V1}DefinitionSpec", "spec")
    has_status = ["status" in (version.get("subresources") or {}) for version in versions]
    for index, version in enumerate(versions):
        alike = all(one.get("schema") == version.get("schema") for one in versions)
        status = any(has_status) if alike else has_status[index]
        errors += definition_schema.errors(version.get("schema"), f"spec.versions[{index}].schema", has_status=status)
    for part, outside in _SHARED.items():
        if all(version.get(part) == versions[0].get(part) for version in versions):
            inside = re.compile(rf"spec\.versions\[\d+\]\.{part}\b")
            errors = [
                msgspec.structs.replace(error, field=inside.sub(f"spec.{outside}", error.field)) for error in errors
            ]
    for index, version in enumerate(versions):
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            errors.append(required(f"spec.versions[{index}].schema.openAPIV3Schema"))
    if versions and _label(versions[0].get("name", "")):
        errors.append(invalid("spec.version", versions[0].get("name", ""), _label(versions[0].get("name", ""))[0]))
    return distinct(errors)


def _group_problems(group: str) -> list[str]:
    return names.subdomain_problems(group) or ([] if "." in group else ["should be a domain with at least one dot"])


def _label(name: str) -> list[str]:
    return names.dns1035_label_problems(name)


def _kind_problems(kind: str) -> list[str]:
    """May have mixed case, but should otherwise be a label."""
    return names.dns1035_label_problems(kind.lower())


def _path_problems(*roots: str) -> Callable[[str], list[str]]:
    """Of a simple path, under one of the roots if there are any."""
    under = tuple(f".{root}." for root in roots) or (".",)
    words = [f"should be a json path under {' or '.join(root.rstrip('.') or '.' for root in under)}"]
    return lambda path: [] if not path or path.startswith(under) else words


def _among(*known: str) -> Callable[[str], list[str]]:
    return lambda given: [] if given in known else [f"must be one of {','.join(known)}"]


def _one_storage(spec: Object, path: str) -> Errors:
    versions = spec.get("versions") or []
    given = [version.get("name", "") for version in versions]
    if len(set(given)) < len(given):
        yield invalid(f"{path}.versions", given, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid(f"{path}.versions", given, "must have exactly one version marked as storage version")


def _two_kinds(given: Object, path: str) -> Errors:
    if given.get("kind") and given["kind"] == given.get("listKind"):
        yield invalid(f"{path}.listKind", given["listKind"], "kind and listKind may not be the same")


def _deprecation(version: Object, path: str) -> Errors:
    at, warning = f"{path}.deprecationWarning", version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield invalid(at, warning, "can only be set for deprecated versions")
    elif not warning or len(warning.encode()) > _LONGEST_WARNING or not warning.isprintable():
        yield invalid(at, warning, f"must be 1 to {_LONGEST_WARNING} printable characters")


def _webhook(conversion: Object, path: str) -> Errors:
    webhook = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    at_client, at_versions = f"{path}.webhookClientConfig", f"{path}.conversionReviewVersions"
    if conversion.get("strategy") != "Webhook":
        words = "should not be set when strategy is not set to Webhook"
        yield from [forbidden(at_client, words)] if client is not None else []
        yield from [forbidden(at_versions, words)] if versions else []
        return
    if client is None or ("url" in client) == ("service" in client):
        yield required(at_client, "exactly one of url or service is required when strategy is set to Webhook")
    if not versions:
        yield required(at_versions)
    elif not {"v1", "v1beta1"} & set(versions):
        yield invalid(at_versions, versions, "must include at least one of v1, v1beta1")


def _column_path(column: Object, path: str) -> Errors:
    """Kubernetes names the field as Go does."""
    given = column.get("jsonPath", "")
    if not given:
        yield required(f"{path}.JSONPath")
    elif not given.startswith("."):
        yield invalid(f"{path}.JSONPath", given, "must be a simple json path starting with .")


_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_DEFINITION = Book(
    {
        f"{_V1}DefinitionSpec": Rules(
            lacks=("versions",),
            checks={"group": _group_problems},
            values={"scope": ("Cluster", "Namespaced")},
            code=(_one_storage,),
        ),
        f"{_V1}DefinitionNames": Rules(
            needs=("singular", "listKind"),
            checks={
                **dict.fromkeys(("plural", "singular", "shortNames", "categories"), _label),
                **dict.fromkeys(("kind", "listKind"), _kind_problems),
            },
            code=(_two_kinds,),
        ),
        f"{_V1}DefinitionVersion": Rules(blank=("name",), checks={"name": _label}, code=(_deprecation,)),
        f"{_V1}Validation": Rules(closed=True),
        f"{_V1}SubresourceScale": Rules(
            checks={
                "specReplicasPath": _path_problems("spec"),
                "statusReplicasPath": _path_problems("status"),
                "labelSelectorPath": _path_problems("spec", "status"),
            }
        ),
        f"{_V1}ColumnDefinition": Rules(
            lacks=("jsonPath",),
            checks={
                "type": _among("boolean", "date", "integer", "number", "string"),
                "format": _among("", *_COLUMN_FORMATS),
            },
            code=(_column_path,),
        ),
        f"{_V1}Conversion": Rules(values={"strategy": ("None", "Webhook")}, code=(_webhook,)),
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.WebhookConversion": Rules(
            closed=True, lacks=("conversionReviewVersions",)
        ),
    }
)


def _status_errors(definition: Object) -> list[FieldError]:
    accepted = definition.get("status", {}).get("acceptedNames") or {}
    found = _DEFINITION.errors(accepted, f"{_V1}DefinitionNames", "status.acceptedNames")
    # a name that was not accepted is not there
    return [error for error in found if error.why is not Why.REQUIRED]


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
            words = f"missing from spec.versions; objects may still be stored in {name}"
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


STRATEGY = Strategy(
    default=default,
    prepare_create=prepare_create,
    validate=validate,
    prepare_update=prepare_update,
    validate_update=validate_update,
    validate_status=validate_status,
    prepare_delete=lambda definition, now: terminating(definition, now=now),
    warnings=warnings,
    has_generation=True,
    needs_version=True,
    any_finalizer=True,
    declares=True,
)
