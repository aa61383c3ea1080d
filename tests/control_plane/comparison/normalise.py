"""Makes the answers of two servers comparable: what must differ gets a name, all else stays.

uids, versions, times of now, generated names, tokens of pages, addresses and ports that the server chose, ages in
tables, hashes of how the server stores a kind, and who built it how.  A value that a step of the script kept is shown
by the name under which it was kept, so that two servers agree only if they show the same one in the same places.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from typing import Any

Document = Any

_UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_VERSION_SAID = re.compile(
    r"((?:current|resource version|in object meta): |ResourceVersion in (?:the precondition|record) \()\d+"
)
_VERSION_SHOWN = re.compile(r'(resourceVersion\\*":\\*")\d+')
_ADDRESS = re.compile(r"\b10\.\d+\.\d+\.\d+\b")
_ADDRESS_SAID = re.compile(r"\b10\.0\.0\.\d+\b")
_PORT_SAID = re.compile(r":3[0-2]\d{3}/")
_SUFFIX = re.compile(r"\b(made-|Bad_)[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_AGE = re.compile(r"(?:\d+[smh])+|<invalid>")
_AGES = ("Age", "Last Seen", "First Seen")
_ACCOUNT = ("serviceAccountName", "serviceAccount")
_PORTS = range(30000, 32768)
_NEAR = datetime.timedelta(days=1)
_INITIAL_END = "k8s.io/initial-events-end"

SERVED = {
    "": {
        "namespaces": ("status", "finalize"),
        "nodes": ("status",),
        "pods": ("status", "binding", "eviction", "log"),
        "events": (),
        "configmaps": (),
        "secrets": (),
        "services": ("status",),
        "serviceaccounts": (),
    },
    "batch": {"jobs": ("status",)},
    "scheduling.k8s.io": {"priorityclasses": (), "workloads": (), "podgroups": ("status",)},
    "coordination.k8s.io": {"leases": ()},
    "policy": {"poddisruptionbudgets": ("status",)},
    "events.k8s.io": {"events": ()},
    "apiextensions.k8s.io": {"customresourcedefinitions": ("status",)},
    "authorization.k8s.io": {"selfsubjectaccessreviews": (), "selfsubjectrulesreviews": ()},
    "shapes.example.com": {"circles": ("status",), "planes": ()},
}
"""Group → plural → subresources: what the documents that list kinds are compared for."""
VERSIONS = ("v1", "v1beta1")


class Normaliser:
    """Of one server's answers, in the order of the script."""

    def __init__(self, now: datetime.datetime) -> None:
        self._now = now
        self._kept: dict[str, str] = {}

    def keep(self, name: str, value: str) -> None:
        self._kept[value] = f"${{{name}}}"

    def document(self, document: Document) -> Document:
        """What a body of JSON or YAML said."""
        if isinstance(document, dict):
            document = _DOCUMENTS.get(document.get("kind", ""), _same)(document)
            document = _build(document) if "gitVersion" in document else document
        return self._value(document)

    def events(self, events: list[Document]) -> list[Document]:
        """What a watch said; how far it has come is said at times that nobody promises."""
        return [self._value(_event(event)) for event in events if not _is_reminder(event)]

    def text(self, text: str) -> str:
        text = _UID.sub(lambda found: self._kept.get(found[0], "<uid>"), text)
        text = _TIME.sub(self._time, text)
        text = _VERSION_SAID.sub(r"\1<version>", text)
        text = _VERSION_SHOWN.sub(r"\1<version>", text)
        text = _SUFFIX.sub(r"\1<suffix>", text)
        text = _PORT_SAID.sub(":<port>/", _ADDRESS_SAID.sub("<address>", text))
        for value, name in self._kept.items():
            if not value.isdigit() and value in text:
                text = text.replace(value, name)
        return text

    def _value(self, value: Document) -> Document:
        if isinstance(value, dict):
            # nobody makes accounts on the real server, and so pods need none there
            named = {key: part for key, part in value.items() if key not in _ACCOUNT or part != "default"}
            return {self.text(key): self._field(key, part, value) for key, part in named.items()}
        if isinstance(value, list):
            return [self._value(part) for part in value]
        return self.text(value) if isinstance(value, str) else value

    def _field(self, key: str, value: Document, parent: Document) -> Document:
        if key == "resourceVersion" and isinstance(value, str) and value:
            # a list's own version moves with everything that is written
            return self._kept.get(value, "<version>") if "uid" in parent or "name" in parent else "<version>"
        if key == "continue" and value:
            return "<token>"
        if key == "name" and parent.get("generateName") and value.startswith(parent["generateName"][:58]):
            return f"{value[:-5]}<suffix>"
        if key == "managedFields" and isinstance(value, list):
            return [self._value(one) for one in sorted(value, key=_owner)]
        if key in ("clusterIP", "clusterIPs"):
            return _named(_ADDRESS, value, "<address>")
        if key in ("nodePort", "healthCheckNodePort") and value in _PORTS:
            return "<port>"
        return self._value(value)

    def _time(self, found: re.Match[str]) -> str:
        try:
            time = datetime.datetime.fromisoformat(found[0][:19] + "+00:00")
        except ValueError:
            return found[0]
        if abs(time - self._now) > _NEAR:
            return found[0]
        return "<time.us>" if found[1] else "<time>"


def _same(document: Document) -> Document:
    return document


def _named(pattern: re.Pattern[str], value: Document, name: str) -> Document:
    if isinstance(value, list):
        return [_named(pattern, one, name) for one in value]
    return pattern.sub(name, value)


def _owner(entry: Document) -> tuple[str, ...]:
    """Kubernetes sorts by time, and whether two entries are of one second is chance."""
    return tuple(str(entry.get(key)) for key in ("operation", "manager", "subresource", "apiVersion", "fieldsV1"))


def _build(document: Document) -> Document:
    """Which version it is, and that all is said that is said of a build."""
    said = ("major", "minor", "emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor")
    version = {"gitVersion": document["gitVersion"].partition("+")[0]}
    return {key: part if key in said else "<build>" for key, part in document.items()} | version


# --- watches ---


def _event(event: Document) -> Document:
    shown = event["object"]
    if isinstance(shown, dict) and shown.get("kind") == "Table":
        return {**event, "object": _table(shown)}
    return event


def _is_reminder(event: Document) -> bool:
    # in a table it is the row's object that has the annotation
    return event["type"] == "BOOKMARK" and _INITIAL_END not in json.dumps(event)


# --- tables ---


def _table(table: Document) -> Document:
    columns = table.get("columnDefinitions") or []
    ages = {index for index, column in enumerate(columns) if column["name"] in _AGES}
    rows = [{**row, "cells": _cells(row["cells"], ages)} for row in table.get("rows") or []]
    undescribed = [{key: part for key, part in column.items() if key != "description"} for column in columns]
    return {**table, "columnDefinitions": undescribed, "rows": rows}


def _cells(cells: list[Document], ages: set[int]) -> list[Document]:
    # events of a watch but the first come without the names of columns
    return [
        "<age>" if isinstance(cell, str) and _AGE.fullmatch(cell) and (index in ages or not ages) else cell
        for index, cell in enumerate(cells)
    ]


# --- documents that list kinds ---


def _versions(document: Document) -> Document:
    return {key: part for key, part in document.items() if key != "serverAddressByClientCIDRs"}


def _group(group: Document) -> Document:
    kept = [one for one in group["versions"] if one["version"] in VERSIONS]
    return {**group, "versions": kept}


def _groups(document: Document) -> Document:
    return {**document, "groups": [_group(one) for one in document["groups"] if one["name"] in SERVED]}


def _resources(document: Document) -> Document:
    served = SERVED.get(document["groupVersion"].rpartition("/")[0], {})
    kept = []
    for resource in document["resources"]:
        plural, _, sub = resource["name"].partition("/")
        if plural in served and (not sub or sub in served[plural]):
            kept.append(resource)
    unhashed = [{key: part for key, part in one.items() if key != "storageVersionHash"} for one in kept]
    return {**document, "resources": sorted(unhashed, key=lambda one: one["name"])}


def _discovery(document: Document) -> Document:
    items = [_group_discovery(item) for item in document["items"] if item["metadata"].get("name", "") in SERVED]
    return {**document, "items": items}


def _group_discovery(item: Document) -> Document:
    served = SERVED[item["metadata"].get("name", "")]
    versions = [_version_discovery(one, served) for one in item["versions"] if one["version"] in VERSIONS]
    return {**item, "versions": versions}


def _version_discovery(version: Document, served: Document) -> Document:
    kept = []
    for resource in version.get("resources", ()):
        subs = served.get(resource["resource"])
        if subs is not None:
            shown = [sub for sub in resource.get("subresources", ()) if sub["subresource"] in subs]
            rest = {key: part for key, part in resource.items() if key != "subresources"}
            by_name = sorted(shown, key=lambda one: one["subresource"])
            kept.append({**rest, "subresources": by_name} if by_name else rest)
    return {**version, "resources": sorted(kept, key=lambda one: one["resource"])}


# --- refusals ---

_GANGS = ("PodGroup", "Workload", "CompositePodGroup")
_IMMUTABLE = ": field is immutable"
_NAMES = ("metadata.name", "metadata.generateName", "metadata.namespace", "metadata.labels", "metadata.annotations")


def _status(status: Document) -> Document:
    """Of a refusal, what docs/local.md promises: which fields for which reasons, and the words that people read.

    The real server checks the fields of custom kinds in an order of chance, and names owners in one.
    """
    details = status.get("details") or {}
    causes = details.get("causes") or []
    if status.get("reason") == "Conflict" and causes:
        return {**status, "details": {**details, "causes": sorted(causes, key=_cause)}}
    if status.get("reason") != "Invalid" or not causes or details.get("kind") in _GANGS:
        return status
    said = [{**cause, "message": _words(cause)} for cause in causes]
    once = {json.dumps(cause, sort_keys=True): cause for cause in said}
    ordered = sorted(once.values(), key=_cause)
    listed = "; ".join(f"{cause.get('field', '')}: {cause['message']}" for cause in ordered)
    message = f"{status['message'].partition(' is invalid: ')[0]} is invalid: {listed}"
    return {**status, "message": message, "details": {**details, "causes": ordered}}


def _words(cause: Document) -> str:
    """Those that are promised: of what is missing, fixed, of the wrong type, or badly named."""
    field, message = cause.get("field", ""), cause["message"]
    if message.endswith(_IMMUTABLE) and message.startswith(("Invalid value: {", "Invalid value: [")):
        # structs are shown as users write them
        return f"Invalid value{_IMMUTABLE}"
    if message.startswith("Required value"):
        return "Required value"
    if cause["reason"] == "FieldValueTypeInvalid":
        return str(message)
    is_read = message.endswith(_IMMUTABLE) or field in _NAMES or "schedulingGroup" in field
    return message if is_read else "..."


def _cause(cause: Document) -> tuple[str, str, str]:
    return cause.get("field", ""), cause.get("reason", ""), cause["message"]


_DOCUMENTS: dict[str, Callable[[Document], Document]] = {
    "Status": _status,
    "Table": _table,
    "APIVersions": _versions,
    "APIGroup": _group,
    "APIGroupList": _groups,
    "APIResourceList": _resources,
    "APIGroupDiscoveryList": _discovery,
}
