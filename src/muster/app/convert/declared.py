"""Objects that declare gangs: read as the scheduler reads them, written as PodGroups of v1beta1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import inspect

from muster.api.resources import Resource
from muster.api.wire import Object, PodGroup, Wire, read
from muster.app.convert.pieces import Piece, without_nulls
from muster.app.manifests import Manifest
from muster.base.errors import ObjectError
from muster.gangs.dialects import CUSTOM, DIALECTS, DRAFT, NATIVE
from muster.gangs.dialects.dialect import Dialect
from muster.gangs.dialects.v1alpha2 import V1Alpha2
from muster.gangs.dialects.v1beta1 import SUBSETS_ANNOTATION

_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_PROTECTION = "podgroup-protection"
_METADATA = ("name", "namespace", "labels", "annotations", "ownerReferences")

_V1BETA1 = (NATIVE, CUSTOM)
# as the draft spells it, though no server serves that
_PROPOSED = {("scheduling/v1alpha1", "Workload"): DRAFT}
_SPEAKERS = {(one.api_version, one.kind): dialect for dialect in DIALECTS for one in dialect.resources} | _PROPOSED
_APIS = {(one.group, one.kind) for dialect in DIALECTS for one in dialect.resources}

_WORKLOAD = "Workload"
_TEMPLATES: dict[str, Dialect] = {
    one.api_version: dialect
    for dialect in DIALECTS
    if dialect in _V1BETA1 or isinstance(dialect, V1Alpha2)
    for one in dialect.resources
}
"""Versions whose Workloads hold templates of PodGroups, in which dialect: nobody's gangs, but the same words."""

_CARRIED = ("schedulingConstraints", "resourceClaims", "podGroupTemplateRef")
"""What dialects have in common with v1beta1 and the scheduler reads in part."""

_WHY = {
    "minResources": "pods' own requests decide whether a gang fits",
    "queue": "there are no queues",
    "subGroups": "the minimums of its parts no longer count",
}


def dialect_of(piece: Piece) -> Dialect | None:
    """The one whose object it is."""
    return _SPEAKERS.get((piece.api_version, piece.kind))


def unknown_version(piece: Piece) -> str:
    """Why an object of a known kind, however it is capitalized, cannot be read; "" for most."""
    if (piece.group, piece.kind) not in _APIS:
        meant = [kind for group, kind in _APIS if group == piece.group and kind.lower() == piece.kind.lower()]
        return f"kind: {piece.kind} is not known; {meant[0]} is" if meant else ""
    if _is_templates(piece):
        return ""
    known = sorted(
        version for version, kind in _SPEAKERS if kind == piece.kind and version.startswith(f"{piece.group}/")
    )
    return f"apiVersion: {piece.api_version} is not known; known are {', '.join(known)}"


def read_object(piece: Piece, dialect: Dialect) -> Object:
    """The object as the scheduler would read it, without what an API server adds."""
    metadata = {key: part for key, part in piece.metadata.items() if key in _METADATA}
    return read(dialect.kind, without_nulls({"metadata": metadata, "spec": piece.data.get("spec")}))


def complaint(error: ObjectError, prefix: str = "") -> str:
    """Field and what is wrong with it; `prefix` is where the object stands in another."""
    said, _, path = str(error.__cause__ or error).partition(" - at `$.")
    return f"{prefix}{path.removesuffix('`')}: {said}" if path else said


def manifest(group: PodGroup, piece: Piece, *, dialect: Dialect, target: Resource, name: str) -> Manifest:
    """A PodGroup as people write it."""
    meta = group.metadata
    metadata = {
        "name": name,
        "namespace": meta.namespace,
        "labels": meta.labels,
        "annotations": {key: text for key, text in meta.annotations.items() if key != _APPLIED},
        "ownerReferences": piece.metadata.get("ownerReferences"),
    }
    return _object(target, metadata, _spec(group, piece.data.get("spec") or {}, dialect), kind=target.kind)


def _object(target: Resource, metadata: Manifest, spec: Manifest, *, kind: str) -> Manifest:
    metadata = {key: part for key, part in metadata.items() if part and key in _METADATA}
    return {"apiVersion": target.api_version, "kind": kind, "metadata": metadata, "spec": spec}


def _spec(group: PodGroup, written: Mapping[str, Any], dialect: Dialect) -> Manifest:
    if dialect in _V1BETA1:
        return dict(written)
    spec: Manifest = msgspec.to_builtins(group.spec)
    if group.spec.scheduling_policy.gang is None:
        spec = spec | {"schedulingPolicy": {"basic": {}}}
    for field in _CARRIED:
        if field in spec:
            spec[field] = written[field]
    if reference := _reference(written.get("podGroupTemplateRef")):
        spec = {"workloadRef": reference} | spec
    return spec


def _reference(written: Any) -> Manifest:
    """Where the group comes from, of the released spelling and of the proposal's."""
    found = written.get("workload", written) if isinstance(written, dict) else {}
    if not isinstance(found, dict) or not found.get("workloadName"):
        return {}
    return {"workloadName": found["workloadName"], "templateName": found.get("podGroupTemplateName", "")}


def losses(groups: Sequence[PodGroup], piece: Piece, dialect: Dialect) -> Iterator[str]:
    """What PodGroups that stand for the object do not say, or say in other words."""
    for path in _unread(piece, dialect):
        why = _WHY.get(path.rpartition(".")[2], "")
        yield f"{path} is lost: {why or 'a PodGroup has no field for it'}"
    for field in dict.fromkeys(field for group in groups for field in group.asks):
        yield f"{field} is lost: a PodGroup has no field for it, and the gang starts without"
    if any(_desired(group) is not None for group in groups):
        yield "basic.desiredCount is lost: a PodGroup has no field for it"
    annotations = piece.metadata.get("annotations") or {}
    said = dict(pair for group in groups for pair in group.metadata.annotations.items())
    for key, text in said.items():
        if annotations.get(key) != text:
            yield f'annotation {key}: "{text}" says what a PodGroup has no field for; only Muster reads it'
    spec = piece.data.get("spec") or {}
    if spec.get("minTaskMember") and SUBSETS_ANNOTATION not in said:
        yield "spec.minTaskMember is lost: its numbers do not add up to minMember, which alone counts"
    for field in ("podGroups", "gangGroups"):
        for number, part in enumerate(spec.get(field) or ()):
            if dialect is DRAFT and part.get("replicas") is not None:
                yield f"spec.{field}[{number}].replicas is lost: as many replicas start as have a PodGroup"
    if status := piece.data.get("status"):
        yield f"status is lost ({', '.join(status) if isinstance(status, dict) else status})"
    if others := [name for name in piece.metadata.get("finalizers") or () if not str(name).endswith(_PROTECTION)]:
        yield f"metadata.finalizers is lost ({', '.join(others)})"


def _desired(group: PodGroup) -> int | None:
    basic = group.spec.scheduling_policy.basic
    return None if basic is None else basic.desired_count


def _unread(piece: Piece, dialect: Dialect) -> list[str]:
    """Paths of what is written and nobody reads."""
    if dialect in _V1BETA1:
        return []
    known = inspect.type_info(dialect.kind)
    assert isinstance(known, inspect.StructType)
    spec = next(field for field in known.fields if field.name == "spec")
    found = _beyond(without_nulls(piece.data.get("spec") or {}), spec.type, "spec")
    return [path for path in found if not path.startswith(tuple(f"spec.{name}" for name in _CARRIED))]


def _beyond(written: Any, known: inspect.Type, path: str) -> Iterator[str]:
    match known:
        case inspect.UnionType(types=types):
            for one in types:
                yield from _beyond(written, one, path)
        case inspect.VarTupleType(item_type=item) if isinstance(written, list):
            for number, part in enumerate(written):
                yield from _beyond(part, item, f"{path}[{number}]")
        case inspect.StructType(fields=fields) if isinstance(written, dict):
            by_name = {field.encode_name: field.type for field in fields}
            for key, part in written.items():
                if key in by_name:
                    yield from _beyond(part, by_name[key], f"{path}.{key}")
                else:
                    yield f"{path}.{key}"


# --- templates of groups ---


def _is_templates(piece: Piece) -> bool:
    return piece.kind == _WORKLOAD and piece.api_version in _TEMPLATES


def rewrite_templates(piece: Piece, *, target: Resource) -> None:
    """A Workload that holds templates is of the target's version, with templates as that spells them."""
    if not _is_templates(piece) or piece.api_version == target.api_version:
        return
    dialect = _TEMPLATES[piece.api_version]
    written = read(_Workload, without_nulls({"spec": piece.data.get("spec") or {}})).spec
    templates = []
    for template in written.pod_group_templates:
        spec = {key: part for key, part in template.items() if key != "name"}
        group = dialect.groups(read(dialect.kind, {"metadata": {"name": ""}, "spec": spec}))[0]
        templates.append({"name": template.get("name"), **_spec(group, spec, dialect)})
    spec = dict(piece.data["spec"]) | ({"podGroupTemplates": templates} if templates else {})
    piece.instead = [_object(target, piece.metadata, spec, kind=_WORKLOAD)]


class _WorkloadSpec(Wire, frozen=True):
    pod_group_templates: tuple[dict[str, Any], ...] = ()


class _Workload(Wire, frozen=True):
    spec: _WorkloadSpec
