"""Lists: pages of a snapshot, and where the next page begins."""

from __future__ import annotations

import base64
from collections import OrderedDict

import msgspec

from muster.local.checks import fields
from muster.local.codec.values import Object
from muster.local.kinds import status
from muster.local.kinds.registry import Served
from muster.local.serve.selectors import Selection
from muster.local.serve.views import View
from muster.local.store.store import Store, Stored, order

_TOKEN_VERSION = "meta.k8s.io/v1"
_MOST_SNAPSHOTS = 64
_UINT64_DIGITS = 20
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
    seconds: int | None = None
    """How long a watch may take."""


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
        if token is not None:
            start = order(_key(token.start, selection.namespace))
            found = [stored for stored in found if order(stored.key) > start]
        found, left = _page(found, selection, options.limit)
        meta: Object = {"resourceVersion": str(version)}
        if left:
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
            if version > current:
                # of another cluster, in this folder before: what it names is not what is here
                raise status.too_new(version, current)
        elif options.version not in ("", "0"):
            asked = check_version(options.version, self._store)
            if options.match == _EXACT or (options.limit and not options.match):
                version = asked
        if version == current:
            return version, self._store.list(served.storage, namespace)
        kept = self._snapshots.get((served.storage, namespace, version))
        if kept is None:
            kept = self._as_it_was(served, namespace, version)
        if kept is None:
            if token is not None:
                raise status.expired(_EXPIRED, token=_encode_token(_Token(_TOKEN_VERSION, -1, token.start)))
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
        return [objects[key] for key in sorted(objects, key=order)]

    def _remember(self, storage: str, namespace: str, version: int) -> None:
        key = (storage, namespace, version)
        if key not in self._snapshots and version == self._store.version:
            self._snapshots[key] = self._store.list(storage, namespace)
            if len(self._snapshots) > _MOST_SNAPSHOTS:
                self._snapshots.popitem(last=False)
        self.forget()

    def forget(self) -> None:
        """Snapshots from before the history: they would keep superseded objects in memory that nothing else does."""
        for key in [key for key in self._snapshots if key[2] < self._store.oldest]:
            del self._snapshots[key]


def _page(found: list[Stored], selection: Selection, limit: int) -> tuple[list[Stored], int]:
    """What is selected, as far as the limit goes, and how many were not looked at."""
    if selection.is_everything:
        return (found[:limit], max(len(found) - limit, 0)) if limit > 0 else (found, 0)
    page: list[Stored] = []
    for index, stored in enumerate(found):
        if selection.matches(stored):
            page.append(stored)
            if len(page) == limit:
                return page, len(found) - index - 1
    return page, 0


def check(options: ListOptions, *, watch: bool = False) -> None:
    """Refuses options that contradict each other."""
    errors = _watch_contradictions(options) if watch else _list_contradictions(options)
    if errors:
        raise status.invalid_options("ListOptions", *errors)


def _list_contradictions(options: ListOptions) -> list[fields.FieldError]:
    match, errors = options.match, []
    if match and not options.version:
        errors.append(_no_match("resourceVersionMatch is forbidden unless resourceVersion is provided"))
    if match and options.following:
        errors.append(_no_match("resourceVersionMatch is forbidden when continue is provided"))
    if match not in ("", _EXACT, _NOT_OLDER):
        errors.append(fields.not_supported("resourceVersionMatch", match, (_EXACT, _NOT_OLDER, "")))
    if match == _EXACT and options.version == "0":
        errors.append(_no_match('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if options.initial_events is not None:
        errors.append(fields.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch_contradictions(options: ListOptions) -> list[fields.FieldError]:
    match, errors = options.match, []
    if options.initial_events is not None and match != _NOT_OLDER:
        errors.append(_no_match("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if match and options.initial_events is None:
        errors.append(_no_match("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"))
    if match not in ("", _NOT_OLDER):
        errors.append(fields.not_supported("resourceVersionMatch", match, (_NOT_OLDER,)))
    if match and options.following:
        errors.append(_no_match("resourceVersionMatch is forbidden when continue is provided"))
    return errors


def _no_match(words: str) -> fields.FieldError:
    return fields.forbidden("resourceVersionMatch", words)


def check_version(text: str, store: Store) -> int:
    """The version that a client has seen somewhere; a Refusal if nobody can have."""
    asked = parse_version(text)
    if asked > store.version:
        raise status.too_new(asked, store.version)
    return asked


def parse_version(text: str) -> int:
    digits = text.lstrip("0") or "0"
    if not (text.isascii() and text.isdigit()) or len(digits) > _UINT64_DIGITS or int(digits) >= 2**64:
        error = fields.invalid("resourceVersion", text, f'strconv.ParseUint: parsing "{text}"')
        raise status.bad_request(f"invalid resource version: {error}")
    return int(digits)


# --- tokens ---


def _read_token(options: ListOptions) -> _Token:
    if options.version not in ("", "0"):
        raise status.bad_request("specifying resource version is not allowed when using continue")
    text = options.following
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        token = msgspec.json.decode(data, type=_Token)
    except ValueError as error:
        raise status.bad_request(f"invalid continue token: continue key is not valid: {error}") from error
    words = ""
    if token.v != _TOKEN_VERSION:
        words = f"server does not recognize this encoded version {token.v}"
    elif token.rv == 0:
        words = f"incorrect encoded start resourceVersion (version {token.v})"
    if words:
        raise status.bad_request(f"invalid continue token: continue key is not valid: {words}")
    return token


def _write_token(version: int, last: Stored, namespace: str) -> str:
    place = f"/{last.name}" if namespace or not last.namespace else f"/{last.namespace}/{last.name}"
    return _encode_token(_Token(_TOKEN_VERSION, version, f"{place}\0"))


def _encode_token(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _key(start: str, namespace: str) -> tuple[str, str]:
    """Where the page before ended."""
    before, _, name = start.rstrip("\0").lstrip("/").rpartition("/")
    return namespace or before, name
