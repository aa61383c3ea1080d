"""Objects of manifests, one by one: documents, and the items of lists in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from muster.app.manifests import Document, Manifest

_LIST = "List"


class Piece(msgspec.Struct, eq=False):
    """One object, and what is to stand in its place."""

    where: str
    """File and document, and item of a list."""
    data: Manifest
    """As written; may be changed."""
    api_version: str
    kind: str
    before: list[Manifest]
    """New objects that go before it."""
    instead: list[Manifest] | None = None
    """None for itself."""
    is_object: bool = True
    """An item of a list may be anything."""

    @property
    def group(self) -> str:
        """Of its API."""
        group, slash, _ = self.api_version.rpartition("/")
        return group if slash else ""

    @property
    def metadata(self) -> Manifest:
        found = self.data.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def namespace(self) -> str:
        return str(self.metadata.get("namespace") or "")

    @property
    def who(self) -> str:
        """For people: where it stands, its kind and its name."""
        if not self.is_object:
            return self.where
        name = self.metadata.get("name") or "without a name"
        return (
            f"{self.where}: {self.kind} {self.namespace}/{name}"
            if self.namespace
            else f"{self.where}: {self.kind} {name}"
        )


class Page(msgspec.Struct, frozen=True):
    """A document and the objects in it: itself, or the items of a list."""

    data: Manifest
    pieces: tuple[Piece, ...]
    is_list: bool

    def rewritten(self) -> Iterator[Manifest]:
        """What is to stand in its place."""
        if not self.is_list:
            for piece in self.pieces:
                yield from piece.before
                yield from [piece.data] if piece.instead is None else piece.instead
            return
        if not any(piece.before or piece.instead is not None for piece in self.pieces):
            yield self.data
            return
        items: list[Manifest] = []
        for piece in self.pieces:
            # in a list of one kind that need not be said
            own = {"apiVersion": piece.api_version, "kind": piece.kind} if self.data["kind"] != _LIST else {}
            items += piece.before
            items += [own | piece.data] if piece.instead is None else piece.instead
        if items:
            yield self.data | {"apiVersion": "v1", "kind": _LIST, "items": items}


def page(document: Document) -> Page:
    data, where = document.data, document.where
    kind, items = str(data.get("kind") or ""), data.get("items")
    version = str(data.get("apiVersion") or "")
    if not isinstance(items, list) or not _is_list(kind, items):
        return Page(data, (Piece(where, data, version, kind, []),), is_list=False)
    of = kind.removesuffix(_LIST)
    pieces = []
    for number, item in enumerate(items, 1):
        found = item if isinstance(item, dict) else {}
        version_of = str(found.get("apiVersion") or (version if of else ""))
        kind_of = str(found.get("kind") or of)
        at = f"{where}, item {number}"
        pieces.append(Piece(at, found, version_of, kind_of, [], is_object=isinstance(item, dict)))
    return Page(data, tuple(pieces), is_list=True)


def _is_list(kind: str, items: list[Any]) -> bool:
    """Whether it is one of objects: others may have a name like that, and items that are something else."""
    return kind == _LIST or (kind.endswith(_LIST) and any(isinstance(item, dict) for item in items))


def pod_templates(piece: Piece) -> Iterator[tuple[str, Manifest]]:
    """Paths and contents of the pods in it, wherever they stand: mappings that have containers in their spec."""
    if piece.kind == "Pod":
        if isinstance(piece.data.get("spec"), dict):
            yield "", piece.data
        return
    for key, part in piece.data.items():
        yield from _templates(part, key)


def _templates(value: Any, path: str) -> Iterator[tuple[str, Manifest]]:
    if isinstance(value, list):
        for number, part in enumerate(value):
            yield from _templates(part, f"{path}[{number}]")
    elif isinstance(value, dict):
        spec = value.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            yield f"{path}.", value
            return
        for key, part in value.items():
            yield from _templates(part, f"{path}.{key}")


def selected_labels(pages: Iterable[Page]) -> set[str]:
    """Keys of labels that selectors name, of whatever kind: pods that lose such a label are selected no more."""
    return {key for page in pages for piece in page.pieces for key in _selected(piece.data)}


def _selected(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for part in value:
            yield from _selected(part)
    elif isinstance(value, dict):
        for key, part in value.items():
            match key, part:
                case ("matchLabels" | "selector", dict()):
                    yield from (label for label, wanted in part.items() if isinstance(wanted, str))
                case "matchExpressions", list():
                    yield from (str(rule.get("key")) for rule in part if isinstance(rule, dict))
                case (("matchLabelKeys" | "mismatchLabelKeys"), list()):
                    yield from map(str, part)
            yield from _selected(part)


def without_nulls(value: Any) -> Any:
    """A field without a value counts as not written."""
    if isinstance(value, dict):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    return [without_nulls(part) for part in value] if isinstance(value, list) else value
