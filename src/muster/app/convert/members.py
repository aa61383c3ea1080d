"""Pods, and templates of pods: which gang they name, and how they name it from now on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import msgspec

from muster.api.wire import Pod, read
from muster.app.convert.pieces import Piece, without_nulls
from muster.app.manifests import Manifest
from muster.base.errors import ObjectError
from muster.edge.groups import Groups
from muster.engine.changes import PodSeen
from muster.gangs.dialects import DIALECTS, LABELS, NATIVE, membership, remark
from muster.gangs.dialects.dialect import Dialect, Marks
from muster.gangs.dialects.v1beta1 import GROUP_LABEL, SUBSET_LABEL

_FIELDS = tuple(field for dialect in DIALECTS for field in dialect.marks.fields)
_LONGEST_LABEL = 63
_OUR_SCHEDULERS = ("", "muster", "default-scheduler")
_BUILT_IN = ("", "apps", "batch")


class Member(msgspec.Struct, eq=False):
    """A pod, or what pods are made from, and the gang that it names."""

    piece: Piece
    path: str
    """Of the template in the object, with a dot at its end; "" for a pod."""
    template: Manifest
    """As written; may be changed."""
    pod: Pod
    gang: str = ""
    """Key; "" for a lone pod."""
    subset: str = ""
    replica_of: str = ""
    dialect: Dialect | None = None
    """The one in which it names that gang."""

    @property
    def priority_class(self) -> str:
        return str(self.template["spec"].get("priorityClassName") or "")


def read_pod(piece: Piece, template: Manifest, *, uid: str) -> Pod:
    """What a pod says of gangs; the rest of it is nobody's business here."""
    written, spec = template.get("metadata"), template["spec"]
    meta = written if isinstance(written, dict) else {}
    metadata = {
        "name": str(meta.get("name") or ""),
        # templates have the namespace of what is made from them
        "namespace": piece.namespace,
        "uid": uid,
        "labels": meta.get("labels"),
        "annotations": meta.get("annotations"),
    }
    fields = {field: spec[field] for field in _FIELDS if field in spec}
    return read(Pod, without_nulls({"metadata": metadata, "spec": fields}))


def told(groups: Groups, pod: Pod) -> Pod:
    """The pod as the engine is told of it."""
    for change in groups.pod_seen(pod):
        if isinstance(change, PodSeen) and change.pod.metadata.uid == pod.metadata.uid:
            pod = change.pod
    return pod


def settle(member: Member, groups: Groups) -> None:
    """Find out which gang counts, as the scheduler does."""
    named = membership(member.pod)
    if named is None:
        return
    member.gang = named.settled(groups.gives_way)
    for dialect in DIALECTS:
        found = dialect.membership(member.pod)
        if found is not None and found.gang == member.gang:
            member.dialect, member.subset, member.replica_of = dialect, found.subset, found.replica_of
            return


def renamed(
    member: Member, name: str, *, target: Dialect, selected: Collection[str], is_declared: Callable[[str], bool]
) -> Iterator[str]:
    """Let the pod name its gang as the target has it; what that changes beside, a line each.

    Labels that selectors name stay.  ObjectError if these would then mean something that they did not.  `is_declared`
    says of a gang's key whether it was declared before.
    """
    template = member.template
    if target is not NATIVE and len(name) > _LONGEST_LABEL:
        raise ObjectError(f"{name} is too long for the label {GROUP_LABEL}: more than {_LONGEST_LABEL} characters")
    for dialect in DIALECTS:
        found = dialect.membership(member.pod)
        if dialect is target:
            continue
        if found is not None and found.gang != member.gang:
            yield f"names {_plain(found.gang)} besides {_plain(member.gang)}, which counts: that is lost"
        # a field speaks of nothing but gangs, even where it names none
        marks = dialect.marks if found is not None else Marks(fields=dialect.marks.fields)
        for label in _unmarked(template, marks, keep=selected):
            yield f"label {label} stays: a selector names it"
    if not member.subset:
        # in its own dialect the label may have meant nothing
        list(_unmarked(template, Marks(labels=(SUBSET_LABEL,)), keep=selected))
    _mark(template, name, member.subset, target)
    _check(member, f"{member.piece.namespace}/{name}", is_declared=is_declared)


def _check(member: Member, key: str, *, is_declared: Callable[[str], bool]) -> None:
    """The pod as written is of this gang and subset, and declares no gang that nobody had declared."""
    # Workloads that say more of pods than these do are none afterwards
    pod = told(Groups(), read_pod(member.piece, member.template, uid=""))
    after, by_labels = membership(pod), LABELS.membership(pod)
    if after is None or after.gang != key:
        what = f"pods would still name {'none' if after is None else _plain(after.gang)}"
    elif after.subset != member.subset:
        what = f"pods would be of subset {after.subset}"
    elif by_labels is not None and not is_declared(by_labels.gang):
        what = f"pods would declare {_plain(by_labels.gang)}"
    else:
        return
    raise ObjectError(f"{what}: a selector needs the label that says so")


def _plain(key: str) -> str:
    return key.removeprefix("/")


def _unmarked(template: Manifest, marks: Marks, *, keep: Collection[str]) -> Iterator[str]:
    """Take away what names a gang; the labels that stay."""
    for field in marks.fields:
        template["spec"].pop(field, None)
    for part, keys in (("labels", marks.labels), ("annotations", marks.annotations)):
        metadata = template.get("metadata") or {}
        written: dict[str, Any] = metadata.get(part) or {}
        for key in keys:
            if part == "labels" and key in keep and key in written:
                yield key
            elif written.pop(key, None) is not None and not written:
                del metadata[part]
    if template.get("metadata") == {}:
        del template["metadata"]


def _mark(template: Manifest, name: str, subset: str, target: Dialect) -> None:
    if target is NATIVE:
        _put(template["spec"], "schedulingGroup", {"podGroupName": name}, before="containers")
    else:
        _label(template, GROUP_LABEL, name)
    if subset:
        _label(template, SUBSET_LABEL, subset)


def _label(template: Manifest, key: str, text: str) -> None:
    if not isinstance(template.get("metadata"), dict):
        _put(template, "metadata", {}, before="spec")
    metadata = template["metadata"]
    if not isinstance(metadata.get("labels"), dict):
        metadata["labels"] = {}
    metadata["labels"][key] = text


def _put(mapping: Manifest, key: str, value: Manifest, *, before: str) -> None:
    """Where people look for it; if it is there already, in its place."""
    later = {}
    if key not in mapping and before in mapping:
        names = list(mapping)
        later = {name: mapping.pop(name) for name in names[names.index(before) :]}
    mapping[key] = value
    mapping.update(later)


def remarks(member: Member, *, target: Dialect) -> Iterator[str]:
    """What a person should know of a pod that is left alone, is another scheduler's, or whose kind is a stranger's."""
    spec = member.template["spec"]
    if not member.gang:
        field = next((field for field in _FIELDS if spec.get(field)), "")
        if said := remark(member.pod) or (field and f"spec.{field} names no gang"):
            yield f"left as it is: {said}"
    elif member.dialect is not target:
        if target is NATIVE and member.piece.group not in _BUILT_IN:
            field = f"{member.path}spec.schedulingGroup"
            yield f"{field} is dropped by servers if the kind's schema lacks it: use --to muster then"
        if (scheduler := spec.get("schedulerName") or "") not in _OUR_SCHEDULERS:
            yield f"schedulerName stays {scheduler}: let a profile of Muster have that name, or write muster"


def by_gang(members: list[Member]) -> dict[str, list[Member]]:
    """Members of each gang, in the order in which gangs are named."""
    found: dict[str, list[Member]] = {}
    for member in members:
        if member.gang:
            found.setdefault(member.gang, []).append(member)
    return found
