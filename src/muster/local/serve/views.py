"""How a client wants to see objects: as they are, as the rows of a table, or their metadata alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import msgspec
import yaml

from muster.local.codec.values import Object
from muster.local.kinds import status
from muster.local.kinds.kind import Kind
from muster.local.kinds.registry import Served
from muster.local.kinds.tables import as_partial, as_partial_list, as_table, default_table
from muster.local.serve.wire import JSON, YAML
from muster.local.store.store import Stored

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

_AVAILABLE = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
_STREAMS = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"


class View(Protocol):
    """Makes answers of stored objects."""

    key: str
    """Events of one key look alike."""

    def one(self, stored: Stored) -> bytes: ...

    def many(self, stored: Sequence[Stored], list_meta: Object) -> bytes: ...

    def mark(self, version: int, annotations: Object | None) -> bytes:
        """The object of a bookmark."""


class Plain:
    """Objects as they are."""

    def __init__(self, served: Served) -> None:
        kind = served.kind
        self.key = f"{kind.group} {kind.version}"
        self._served = served
        self._kind = {"kind": kind.name, "apiVersion": kind.api_version}
        self._head = _encode(self._kind)[:-1] + b","

    def one(self, stored: Stored) -> bytes:
        return self._head + self._data(stored)[1:]

    def many(self, stored: Sequence[Stored], list_meta: Object) -> bytes:
        kind = self._served.kind
        if self._served.is_custom:
            list_meta = {"continue": "", **list_meta}
        head = _encode({"kind": f"{kind.name}List", "apiVersion": kind.api_version, "metadata": list_meta})
        # Kubernetes names the kind in the items of a list for custom kinds only
        items = map(self.one if self._served.is_custom else self._data, stored)
        return b'%b,"items":[%b]}' % (head[:-1], b",".join(items))

    def mark(self, version: int, annotations: Object | None) -> bytes:
        return _encode(self._kind | self._served.empty | {"metadata": _mark_meta(version, annotations)})

    def _data(self, stored: Stored) -> bytes:
        served = self._served
        if served.shown is not None:
            return _encode(served.shown(_decode(stored.data)))
        if served.fill is not None and stored.version <= served.fits_after:
            return _encode(served.filled(stored))
        return stored.data


class Metadata:
    """PartialObjectMetadata."""

    def __init__(self, served: Served, *, version: str = "v1") -> None:
        self.key = f"metadata {version}"
        self._served = served
        self._version = version

    def one(self, stored: Stored) -> bytes:
        return _encode(as_partial(_decode(stored.data), version=self._version))

    def many(self, stored: Sequence[Stored], list_meta: Object) -> bytes:
        objects = (_decode(one.data) for one in stored)
        return _encode(as_partial_list(objects, list_meta=list_meta, version=self._version))

    def mark(self, version: int, annotations: Object | None) -> bytes:
        return _encode(as_partial({"metadata": _mark_meta(version, annotations)}, version=self._version))


class Rows:
    """A table, as `kubectl get` asks for."""

    def __init__(self, served: Served, *, include: str, now: Callable[[], float], version: str = "v1") -> None:
        # ages differ from one moment to the next, definitions come with the first event only: nothing to share
        self.key = ""
        self._served = served
        self._include = include or "Metadata"
        self._now = now
        self._version = version
        self._columns_sent = False

    def one(self, stored: Stored) -> bytes:
        return self.many([stored], {"resourceVersion": str(stored.version)})

    def many(self, stored: Sequence[Stored], list_meta: Object) -> bytes:
        return self._table(map(self._shown, stored), list_meta)

    def mark(self, version: int, annotations: Object | None) -> bytes:
        empty = self._served.empty | {"metadata": _mark_meta(version, annotations)}
        return self._table([empty], {"resourceVersion": str(version)})

    def _table(self, objects: Iterable[Object], list_meta: Object) -> bytes:
        sent, self._columns_sent = self._columns_sent, True
        kind = self._served.kind
        table = as_table(
            kind.table or default_table(kind),
            objects,
            now=self._now(),
            include=self._include,
            list_meta=list_meta,
            with_definitions=not sent,
            version=self._version,
        )
        return _encode(table)

    def _shown(self, stored: Stored) -> Object:
        kind, document = self._served.kind, self._served.filled(stored)
        shown = document if self._served.shown is None else self._served.shown(document)
        return {"kind": kind.name, "apiVersion": kind.api_version, **shown}


class Chosen(msgspec.Struct, frozen=True):
    """What a client accepts, of what there is."""

    content_type: str
    kind: str = ""
    """Table, PartialObjectMetadata or PartialObjectMetadataList; "" for the object itself."""
    version: str = "v1"
    """Of that kind, in meta.k8s.io."""

    def encoded(self, data: bytes) -> bytes:
        return yaml.safe_dump(_decode(data)).encode() if self.content_type == YAML else data


def choose(accept: str, *, objects: bool = True, stream: bool = False) -> Chosen:
    """The first thing in an Accept header that the server can do; a Refusal if there is none."""
    known = False
    for choice in accept.split(",") if accept.strip() else ("*/*",):
        media, *rest = (part.strip() for part in choice.split(";"))
        parameters = dict(part.split("=", 1) for part in rest if "=" in part)
        kind = parameters.get("as", "")
        known = known or media in ("*/*", "application/*", JSON, YAML)
        if kind and (not objects or not _serves(kind, parameters)):
            continue
        version = parameters.get("v", "v1")
        if media in ("*/*", "application/*", JSON):
            return Chosen(JSON, kind, version)
        if media == YAML and not stream:
            return Chosen(YAML, kind, version)
    if known or not objects:
        raise status.not_acceptable(
            f"only the following media types are accepted: {_STREAMS if stream else _AVAILABLE}"
        )
    message = f"406: Not Acceptable\n\nAvailable representations: {_AVAILABLE}, {_STREAMS}"
    raise status.Refusal(406, "NotAcceptable", message, details={})


def refused_in(accept: str) -> Chosen:
    """The form of a refusal: the client's, if it is one that a refusal can have."""
    return Chosen(YAML if accept.partition(";")[0].strip() == YAML else JSON)


def check_number(chosen: Chosen, kind: Kind, *, many: bool) -> None:
    """Refuses to show one object as a list, and a list as one."""
    if chosen.kind == "PartialObjectMetadataList" and not many:
        words = f"you requested {chosen.kind}, but the requested object is not a list (*{kind.internal_name})"
        raise status.not_acceptable(words)
    if chosen.kind == "PartialObjectMetadata" and many:
        words = f"you requested {chosen.kind}, but the requested object is a list (*{kind.internal_name}List)"
        raise status.not_acceptable(words)


def _serves(kind: str, parameters: dict[str, str]) -> bool:
    known = kind in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
    return known and parameters.get("g") == "meta.k8s.io" and parameters.get("v") in ("v1", "v1beta1")


def _mark_meta(version: int, annotations: Object | None) -> Object:
    meta: Object = {"resourceVersion": str(version)}
    return meta | {"annotations": annotations} if annotations else meta
