"""`muster convert`: manifests of any dialect, rewritten to v1beta1.

What an object declares and which gang a pod names is asked of the dialects' own code, so that what is written here
means to the scheduler what was there before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from muster.api.wire import Object, PodGroup
from muster.app.convert import declared
from muster.app.convert.members import Member, by_gang, read_pod, remarks, renamed, settle, told
from muster.app.convert.pieces import Page, Piece, page, pod_templates, selected_labels
from muster.app.manifests import Document, Manifest
from muster.base.errors import ObjectError
from muster.edge.groups import Groups
from muster.gangs.dialects import CUSTOM, LABELS, NATIVE, declare
from muster.gangs.dialects.dialect import Dialect
from muster.gangs.dialects.labels import disagreement

__all__ = ["TARGETS", "Converted", "convert"]

TARGETS = {dialect.name: dialect for dialect in (NATIVE, CUSTOM)}

_GANG_KINDS = ("PodGroup", "CompositePodGroup")
_GROUPS_OF_ITS_OWN = ("batch.volcano.sh", "Job")
_PART = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
# labels may name a gang otherwise, objects not
_OBJECT_NAME = re.compile(rf"{_PART}(\.{_PART})*")
_LONGEST_NAME = 253


class Converted(msgspec.Struct, frozen=True):
    manifests: list[Manifest]
    """Empty if there are errors."""
    notes: list[str]
    """What is lost or means something else, a line each."""
    errors: list[str]
    """What cannot be converted, a line each."""


def convert(documents: Sequence[Document], *, target: Dialect = NATIVE) -> Converted:
    """The documents with every gang in them as `target` has it, in their order; all else as it was."""
    return _Conversion([page(document) for document in documents], target).run()


class _Conversion:
    """Reads everything before it writes anything: pods say of which replicas there must be groups."""

    def __init__(self, pages: Sequence[Page], target: Dialect) -> None:
        self._pages = pages
        self._pieces = [piece for page in pages for piece in page.pieces]
        self._target = target
        self._resource = target.resources[0]
        self._groups = Groups()
        self._declares: dict[Piece, tuple[Dialect, tuple[PodGroup, ...]]] = {}
        self._last: dict[tuple[Dialect, str], Piece] = {}
        """By namespace/name: of several that are one object the last one, as when they are applied."""
        self._members: list[Member] = []
        self._named: dict[tuple[str, str], str] = {}
        """Keys of gangs by namespace and the name that they have got."""
        self._notes: dict[str, None] = {}
        self._errors: dict[str, None] = {}

    def run(self) -> Converted:
        for piece in self._pieces:
            self._read(piece)
        for member in self._members:
            member.pod = told(self._groups, member.pod)
        for member in self._members:
            settle(member, self._groups)
        gangs = by_gang(self._members)
        for piece in self._declares:
            self._write(piece, gangs)
        self._write_undeclared(gangs)
        selected = selected_labels(self._pages)
        for member in self._members:
            self._rename(member, selected)
        manifests = [] if self._errors else [one for page in self._pages for one in page.rewritten()]
        return Converted(manifests, list(self._notes), list(self._errors))

    # --- reading ---

    def _read(self, piece: Piece) -> None:
        dialect = declared.dialect_of(piece)
        try:
            if not piece.is_object:
                self._error(piece, "is no object")
            elif dialect is not None:
                self._read_declaring(piece, dialect)
            elif why := declared.unknown_version(piece):
                self._error(piece, why)
            else:
                declared.rewrite_templates(piece, target=self._resource)
                self._read_pods(piece)
                self._note(piece, _foreign(piece))
        except ObjectError as error:
            self._error(piece, declared.complaint(error))

    def _read_declaring(self, piece: Piece, dialect: Dialect) -> None:
        found = declared.read_object(piece, dialect)
        self._groups.seen(dialect, found)
        if (before := self._last.get((dialect, _key(found)))) is not None:
            self._note(before, [f"is dropped: it is written again in {piece.where}"])
            before.instead = []
            del self._declares[before]
        self._last[dialect, _key(found)] = piece
        self._declares[piece] = dialect, dialect.groups(found)

    def _read_pods(self, piece: Piece) -> None:
        for path, template in pod_templates(piece):
            try:
                pod = read_pod(piece, template, uid=str(len(self._members)))
                self._members.append(Member(piece, path, template, pod))
            except ObjectError as error:
                self._error(piece, declared.complaint(error, path))

    # --- groups ---

    def _write(self, piece: Piece, gangs: dict[str, list[Member]]) -> None:
        dialect, groups = self._declares[piece]
        written = [self._group_of(piece, group, gangs) for group in groups]
        if piece.api_version == self._resource.api_version and all(written):
            return
        piece.instead = [one for several in written for one in several]
        if piece.instead:
            self._note(piece, declared.losses(groups, piece, dialect))
            if dialect.one_priority and self._target is CUSTOM:
                self._note(
                    piece, ["pods need no longer agree on a priority: a muster.dev group has the lowest of theirs"]
                )
        elif not groups:
            self._note(piece, ["is dropped: it declares no group"])

    def _group_of(self, piece: Piece, group: PodGroup, gangs: dict[str, list[Member]]) -> list[Manifest]:
        """What stands for one group of an object: itself, one for each replica, or nothing where another counts."""
        dialect, key = self._declares[piece][0], _key(group)
        found = self._groups.find(key)
        assert found is not None
        if found[0] is not dialect:
            self._note(piece, [f"is dropped: the {found[0].name} object of that name counts"])
            return []
        replicas = [one for one, members in gangs.items() if members[0].replica_of == key]
        keys = [key, *replicas] if key in gangs or not replicas else replicas
        if replicas:
            names = ", ".join(self._name(piece, one) for one in keys)
            self._note(piece, [f"replicas of {_name(key)} have a PodGroup each, by the pods of this input: {names}"])
        elif key.count("/") > 1 and key not in gangs:
            self._note(
                piece, [f"no pod of this input names {_name(key)}: replicas, if it has any, need a PodGroup each"]
            )
        return [self._group(piece, group, dialect, one, gangs.get(one, [])) for one in keys]

    def _group(self, piece: Piece, group: PodGroup, dialect: Dialect, key: str, members: list[Member]) -> Manifest:
        name = self._name(piece, key)
        manifest = declared.manifest(group, piece, dialect=dialect, target=self._resource, name=name)
        if self._target is NATIVE and dialect is not NATIVE and group.spec.priority is None:
            self._share_priority(piece, manifest, members)
        return manifest

    def _share_priority(self, piece: Piece, manifest: Manifest, members: list[Member]) -> None:
        """Kubernetes gives native groups a priority, and pods of another one are refused."""
        classes = {member.priority_class for member in members}
        name, spec = manifest["metadata"]["name"], manifest["spec"]
        if spec.get("priorityClassName") or classes <= {""}:
            return
        if len(classes) == 1:
            (found,) = classes
            spec["priorityClassName"] = found
            line = f"{name} gets priorityClassName {found}, its pods' own: a native group has a priority"
        else:
            shown = ", ".join(sorted(one or "none" for one in classes))
            line = f"pods of {name} name several priority classes ({shown}): a native group takes those of its own only"
        self._note(piece, [line])

    def _write_undeclared(self, gangs: dict[str, list[Member]]) -> None:
        """Gangs that no object declares: their pods do, or nobody here."""
        for key, members in gangs.items():
            found, first = self._groups.find(key), members[0]
            if found is None:
                if first.dialect is not self._target:
                    self._note(
                        first.piece,
                        [f"no object of this input declares {self._name(first.piece, key)}: convert that too"],
                    )
            elif found[0] is LABELS:
                group = found[1]
                name = self._name(first.piece, key)
                alone = Piece(first.piece.where, {}, "", "", [])
                manifest = declared.manifest(group, alone, dialect=LABELS, target=self._resource, name=name)
                if self._target is NATIVE:
                    self._share_priority(first.piece, manifest, members)
                first.piece.before.append(manifest)
                self._note(first.piece, _made(manifest, key, self._members))

    # --- pods ---

    def _rename(self, member: Member, selected: set[str]) -> None:
        if member.pod.astray:
            self._error(
                member.piece, f"nobody can tell which gang {member.path.rstrip('.') or 'it'} is in: {member.pod.astray}"
            )
        if member.gang:
            self._settle_subset(member)
            name = self._name(member.piece, member.gang)
            try:
                self._note(
                    member.piece,
                    renamed(member, name, target=self._target, selected=selected, is_declared=self._is_declared),
                )
            except ObjectError as error:
                self._error(member.piece, error.message)
        self._note(member.piece, remarks(member, target=self._target))

    def _is_declared(self, key: str) -> bool:
        return self._groups.find(key) is not None

    def _settle_subset(self, member: Member) -> None:
        """Pods of Volcano name their task whether or not that has a minimum; of v1beta1 only if it has."""
        found = self._groups.find(member.gang)
        if found is not None and (gang := declare(found[1])).names_others:
            member.subset = gang.subset_of(member.subset)

    # --- saying ---

    def _name(self, piece: Piece, key: str) -> str:
        """What the gang is called from now on; two must not get one name."""
        namespace, name = key.partition("/")[0], _name(key)
        if not _OBJECT_NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
            self._error(
                piece,
                f"{name} cannot be the name of a PodGroup: at most {_LONGEST_NAME} small letters, digits, - and .",
            )
        other = self._named.setdefault((namespace, name), key)
        if other != key:
            self._error(
                piece, f"two gangs would be called {name}: {other.removeprefix('/')} and {key.removeprefix('/')}"
            )
        return name

    def _note(self, piece: Piece, lines: Iterable[str]) -> None:
        for line in lines:
            self._notes.setdefault(f"{piece.who}: {line}")

    def _error(self, piece: Piece, line: str) -> None:
        self._errors.setdefault(f"{piece.who}: {line}")


def _key(found: Object) -> str:
    return f"{found.metadata.namespace}/{found.metadata.name}"


def _name(key: str) -> str:
    """Gangs of a Workload have keys of several parts, and a PodGroup a plain name."""
    return "-".join(key.split("/")[1:])


def _made(manifest: Manifest, key: str, members: list[Member]) -> Iterator[str]:
    name, least = manifest["metadata"]["name"], manifest["spec"]["schedulingPolicy"]["gang"]["minCount"]
    yield f"PodGroup {name} is made of its labels, with minCount {least}"
    if odd := disagreement(name, {minimum for member in members if (minimum := LABELS.minimum(member.pod, key))}):
        yield odd


def _foreign(piece: Piece) -> Iterator[str]:
    """What this leaves alone although it has to do with gangs."""
    if piece.kind in _GANG_KINDS:
        yield f"left as it is: nobody here knows {piece.kind} of {piece.api_version}"
    if (piece.group, piece.kind) == _GROUPS_OF_ITS_OWN:
        yield "left as it is: its controller makes Volcano's PodGroups of it"
    spec = piece.data.get("spec")
    policy = spec.get("runPolicy") if isinstance(spec, dict) else None
    if isinstance(policy, dict) and policy.get("schedulingPolicy"):
        yield "spec.runPolicy.schedulingPolicy stays: its operator makes groups of it, in a dialect of its own"
