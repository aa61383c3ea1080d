"""Lists: pages of a snapshot, and where the next page begins."""

from __future__ import annotations

import base64
import binascii
from collections import OrderedDict

import msgspec

from muster.local import fields, status
from muster.local.registry import Served
from muster.local.schema.shapes import Object
from muster.local.selectors import Selection
from muster.local.store import Store, Stored
from muster.local.views import View

_MOST_SNAPSHOTS = 64
_EXACT, _NOT_OLDER = "Exact", "NotOlderThan"
_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a client wants to read a list, as it says it."""

    limit: int = 0
    following: str = ""
    """The token of the page before."""
    version: str = ""
    match: str = ""
    initial_events: bool | None = None


class _Token(msgspec.Struct, omit_defaults=True):
    v: str
    rv: int
    start: str


class Lists:
    """Reads lists, and remembers what the first page of each was taken from."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._snapshots: OrderedDict[tuple[str, str, int], list[Stored]] = OrderedDict()

    def read(self, served: Served, selection: Selection, options: ListOptions, view: View) -> bytes:
        check(options)
        token = _read_token(options) if options.following else None
        version, found = self._snapshot(served, selection.namespace, token, options)
        if not selection.is_everything:
            found = [stored for stored in found if selection.matches(stored)]
        if token is not None:
            start = _key(token.start, selection.namespace)
            found = [stored for stored in found if stored.key > start]
        meta: Object = {"resourceVersion": str(version)}
        if 0 < options.limit < len(found):
            left = len(found) - options.limit
            found = found[: options.limit]
            meta["continue"] = _write_token(version, found[-1], selection.namespace)
            if selection.is_everything:
                meta["remainingItemCount"] = left
            self._remember(served.storage, selection.namespace, version)
        return view.many(found, meta)

    def _snapshot(
        self, served: Served, namespace: str, token: _Token | None, options: ListOptions
    ) -> tuple[int, list[Stored]]:
        current = self._store.version
        version = current
        if token is not None:
            # -1 goes on with whatever is there now
            version = token.rv if token.rv > 0 else current
        elif options.version not in ("", "0"):
            asked = parse_version(options.version)
            if asked > current:
                raise status.too_new(asked, current)
            if options.match == _EXACT or (options.limit and not options.match):
                version = asked
        if version == current:
            return version, self._store.list(served.storage, namespace)
        kept = self._snapshots.get((served.storage, namespace, version))
        if kept is None:
            kept = self._as_it_was(served, namespace, version)
        if kept is None:
            again = _Token("meta.k8s.io/v1", -1, token.start) if token is not None else None
            if again is not None:
                raise status.expired(_EXPIRED, token=_encode_token(again))
            raise status.expired(f"The resourceVersion for the provided list is too old: {version}.")
        return version, kept

    def _as_it_was(self, served: Served, namespace: str, version: int) -> list[Stored] | None:
        """The list at an earlier version, as far as the history goes back."""
        since = self._store.since(served.storage, version)
        if since is None:
            return None
        objects = {stored.key: stored for stored in self._store.list(served.storage, namespace)}
        for happened in reversed(list(since)):
            if namespace and happened.now.namespace != namespace:
                continue
            if happened.before is None:
                objects.pop(happened.now.key, None)
            else:
                objects[happened.before.key] = happened.before
        return [objects[key] for key in sorted(objects)]

    def _remember(self, storage: str, namespace: str, version: int) -> None:
        key = (storage, namespace, version)
        if key not in self._snapshots and version == self._store.version:
            self._snapshots[key] = self._store.list(storage, namespace)
            if len(self._snapshots) > _MOST_SNAPSHOTS:
                self._snapshots.popitem(last=False)


def check(options: ListOptions, *, watch: bool = False) -> None:
    """Refuses options that contradict each other."""
    error = _contradiction(options, watch=watch)
    if error is not None:
        raise status.invalid_options("ListOptions", error)


def _contradiction(options: ListOptions, *, watch: bool) -> fields.FieldError | None:
    match = options.match
    if options.initial_events is not None:
        if not watch:
            return fields.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
        if match != _NOT_OLDER:
            words = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            return fields.forbidden("resourceVersionMatch", words)
        return None
    if watch and match:
        words = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        return fields.forbidden("resourceVersionMatch", words)
    if match and options.following:
        words = "resourceVersionMatch is forbidden when continue is provided"
        return fields.forbidden("resourceVersionMatch", words)
    if match and not options.version:
        words = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        return fields.forbidden("resourceVersionMatch", words)
    if match not in ("", _EXACT, _NOT_OLDER):
        return fields.not_supported("resourceVersionMatch", match, (_EXACT, _NOT_OLDER, ""))
    if match == _EXACT and options.version == "0":
        words = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        return fields.forbidden("resourceVersionMatch", words)
    return None


def parse_version(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        error = fields.invalid("resourceVersion", text, f'strconv.ParseUint: parsing "{text}": invalid syntax')
        raise status.bad_request(f"invalid resource version: {error}")
    return int(text)


# --- tokens ---


def _read_token(options: ListOptions) -> _Token:
    if options.version not in ("", "0"):
        raise status.bad_request("specifying resource version is not allowed when using continue")
    text = options.following
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        token = msgspec.json.decode(data, type=_Token)
    except (binascii.Error, ValueError) as error:
        raise status.bad_request(f"invalid continue token: continue key is not valid: {error}") from error
    if token.v != "meta.k8s.io/v1":
        raise status.bad_request("continue key is not valid: server does not recognize this encoded version")
    return token


def _write_token(version: int, last: Stored, namespace: str) -> str:
    place = f"/{last.name}" if namespace or not last.namespace else f"/{last.namespace}/{last.name}"
    return _encode_token(_Token("meta.k8s.io/v1", version, f"{place}\0"))


def _encode_token(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _key(start: str, namespace: str) -> tuple[str, str]:
    """Where the page before ended."""
    before, _, name = start.rstrip("\0").lstrip("/").rpartition("/")
    return namespace or before, name
