"""The documents by which clients learn what is served: from rows of kinds, in the forms of the real API server.

    /api                    versions                /apis/GROUP             group
    /apis                   groups                  /apis/GROUP/VERSION     resources (and /api/v1)
    /api and /apis          aggregated, for who accepts AGGREGATED_TYPE: all of it at once
    /version                VERSION
    /                       paths

Hashes of storage versions are left out: nobody but the storage migrator reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from muster.local.codec.values import Object
from muster.local.kinds.kind import Kind
from muster.local.schema.decoding import GroupVersionKind
from muster.local.serve.special import table

AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""What is asked for, and the content type of the answer; the parameters may come in any order."""

VERSION: Object = {
    "major": "1",
    "minor": "37",
    "emulationMajor": "1",
    "emulationMinor": "37",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "36",
    "gitVersion": "v1.37.1+muster",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "",
}
"""What /version says; kubectl warns if its own version is more than one minor away."""

_ALL = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_ALL_CUSTOM = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_ENDING = ("delete", "deletecollection", "get", "list", "watch")
_STATUS = ("get", "patch", "update")

# as the real server ranks them; all others follow, by name
_RANKED_GROUPS = (
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "batch",
    "policy",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
)
_KUBE_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGES = {"": 2, "beta": 1, "alpha": 0}

_OTHER_PATHS = ("/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/readyz", "/version")


# --- one level at a time ---


def versions(address: str) -> Object:
    """/api: versions of the core group; `address` is HOST:PORT, where clients find the server."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def groups(kinds: Iterable[Kind]) -> Object:
    """/apis: all groups but the core one."""
    found = [_group(name, own) for name, own in _by_group(kinds).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def group(kinds: Iterable[Kind], name: str) -> Object | None:
    """/apis/GROUP; None if there is no such group."""
    own = [kind for kind in kinds if kind.group == name]
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, own)} if own and name else None


def resources(kinds: Iterable[Kind], group: str, version: str) -> Object | None:
    """/api/v1 or /apis/GROUP/VERSION; None if there is no such version."""
    own = [kind for kind in kinds if (kind.group, kind.version) == (group, version)]
    if not own:
        return None
    # the core group's list was there before lists had versions
    head = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {})
    found = [entry for kind in sorted(own, key=_plural) for entry in (_resource(kind), *_parts_of_list(kind))]
    return {**head, "groupVersion": own[0].api_version, "resources": found}


def _group(name: str, kinds: Iterable[Kind]) -> Object:
    found = [{"groupVersion": f"{name}/{version}", "version": version} for version in _ordered_versions(kinds)]
    return {"name": name, "versions": found, "preferredVersion": found[0]}


def _resource(kind: Kind) -> Object:
    entry: Object = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.name,
        "verbs": list(_verbs(kind)),
    }
    return entry | _names(kind)


def _parts_of_list(kind: Kind) -> list[Object]:
    return [
        {
            "name": f"{kind.plural}/{name}",
            "singularName": "",
            "namespaced": kind.namespaced,
            **({"group": shown.group, "version": shown.version} if shown.group else {}),
            "kind": shown.kind,
            "verbs": list(verbs),
        }
        for name, shown, verbs in _parts(kind)
    ]


# --- all at once ---


def aggregated(kinds: Iterable[Kind], *, core: bool) -> Object:
    """/api (the core group) or /apis (all others), with all resources."""
    found = [_discovered_group(name, own) for name, own in _by_group(kinds).items() if core == (not name)]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": found,
    }


def _discovered_group(name: str, kinds: list[Kind]) -> Object:
    return {
        "metadata": {"name": name} if name else {},
        "versions": [
            {
                "version": version,
                "resources": [_discovered(kind) for kind in sorted(kinds, key=_plural) if kind.version == version],
                "freshness": "Current",
            }
            for version in _ordered_versions(kinds)
        ],
    }


def _discovered(kind: Kind) -> Object:
    entry: Object = {
        "resource": kind.plural,
        "responseKind": _response(kind, kind.name),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(_verbs(kind)),
        **_names(kind),
    }
    parts = [
        {
            "subresource": name,
            "responseKind": {"group": shown.group, "version": shown.version, "kind": shown.kind}
            if shown.group
            else _response(kind, shown.kind),
            "verbs": list(verbs),
        }
        for name, shown, verbs in _parts(kind)
    ]
    return entry | {"subresources": parts} if parts else entry


def _response(kind: Kind, name: str) -> Object:
    """Built-in kinds leave out their own group and version here."""
    custom = _is_custom(kind)
    return {"group": kind.group if custom else "", "version": kind.version if custom else "", "kind": name}


# --- the rest ---


def paths(kinds: Iterable[Kind], others: Iterable[str] = _OTHER_PATHS) -> Object:
    """/: where there is something to ask for."""
    found = {"/api", "/apis", "/apis/", *others}
    for kind in kinds:
        found |= {f"/apis/{kind.group}", f"/apis/{kind.api_version}"} if kind.group else {f"/api/{kind.version}"}
    return {"paths": sorted(found)}


def _by_group(kinds: Iterable[Kind]) -> dict[str, list[Kind]]:
    found: dict[str, list[Kind]] = {}
    for kind in sorted(kinds, key=lambda kind: _group_rank(kind.group)):
        found.setdefault(kind.group, []).append(kind)
    return found


def _group_rank(name: str) -> tuple[int, str]:
    return _RANKED_GROUPS.index(name) if name in _RANKED_GROUPS else len(_RANKED_GROUPS), name


def _ordered_versions(kinds: Iterable[Kind]) -> list[str]:
    """The most stable and newest first: v2, v1, v2beta1, v1beta2, v1alpha1, then other words."""
    return sorted({kind.version for kind in kinds}, key=_version_rank)


def _version_rank(version: str) -> tuple[int, int, int, int, str]:
    found = _KUBE_VERSION.fullmatch(version)
    if found is None:
        return 1, 0, 0, 0, version
    return 0, -_STAGES[found[2] or ""], -int(found[1]), -int(found[3] or 0), version


def _plural(kind: Kind) -> str:
    return kind.plural


def _verbs(kind: Kind) -> tuple[str, ...]:
    if kind.verbs:
        return kind.verbs
    if kind.strategy.one_by_one:
        return tuple(verb for verb in _ALL if verb != "deletecollection")
    if kind.is_ending:
        return _ENDING
    return _ALL_CUSTOM if _is_custom(kind) else _ALL


def _names(kind: Kind) -> Object:
    names: Object = {"shortNames": list(kind.short_names), "categories": list(kind.categories)}
    return {key: value for key, value in names.items() if value}


def _parts(kind: Kind) -> list[tuple[str, GroupVersionKind, tuple[str, ...]]]:
    """Subresources by name, with their kind (without a group for one of the resource's own) and verbs."""
    own = GroupVersionKind("", "", kind.name)
    parts = [(one.name, one.kind or own, one.verbs) for one in table.subresources(kind) if one.verbs]
    if kind.has_status:
        parts.append(("status", own, _STATUS))
    return sorted(parts, key=lambda part: part[0])


def _is_custom(kind: Kind) -> bool:
    return not kind.type_name
