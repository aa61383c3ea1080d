"""The body of a request → an object of the kind that was asked for, or the words that refuse it with 400.

    wanted = Wanted("v1", "Pod")
    decoded = read(body, wanted, shape=shapes()["io.k8s.api.core.v1.Pod"])         BadBody: 400, with its message
    if decoded.strict: strict_refusal(wanted, decoded.strict), or warnings(decoded.strict)

A body names its kind and version itself, or has none, which means those that are wanted.  They are found first, by a
reader of its own that looks at nothing else, nor at the case of letters; the rest is read as what the body says it is,
and only then it is seen whether that is what was wanted.
"""

from __future__ import annotations

import msgspec

from muster.local.codec import syntax, yamltext
from muster.local.codec.forms import Malformed
from muster.local.codec.gotext import quoted
from muster.local.codec.values import Object
from muster.local.schema import custom, exact, load, protobuf
from muster.local.schema.decode import Decoded, Parsed, normalise, parse
from muster.local.schema.shapes import Base, Shape

__all__ = [
    "PROTOBUF",
    "BadBody",
    "Wanted",
    "WrongKind",
    "identify",
    "read",
    "read_options",
    "strict_refusal",
    "warnings",
]

PROTOBUF = "application/vnd.kubernetes.protobuf"

_FINDER = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_SCHEME = 'in scheme "pkg/runtime/scheme.go:111"'
# bytes that are shown of a body which is not understood at all
_SHOWN = 30
_APART = "apiextensions.k8s.io"
"""The group that the real API server serves by a server of its own, which knows no kinds but its own."""
_INTERNAL = {"": "core", "events.k8s.io": "core"}
"""Groups whose types have another name inside the real API server."""


class BadBody(Exception):
    """400: the message says why."""


class WrongKind(BadBody):
    """Of a custom kind: 422, KIND.GROUP "name" is invalid: kind: Invalid value: KIND: must be WANTED."""

    def __init__(self, kind: str, wanted: str, *, name: str) -> None:
        self.kind = kind
        self.name = name
        self.wanted = wanted
        super().__init__(f"kind: Invalid value: {quoted(kind)}: must be {wanted}")


class Wanted(msgspec.Struct, frozen=True):
    """What a body is to be."""

    api_version: str
    kind: str
    also: tuple[str, ...] = ()
    """Other versions that are taken for it: eviction takes policy/v1beta1."""


def read(body: bytes, wanted: Wanted, *, shape: Shape, content_type: str = "application/json") -> Decoded:
    """The object, without apiVersion and kind, and its unknown and repeated fields.  Raises BadBody."""
    try:
        given = protobuf.unwrap(body) if content_type == PROTOBUF else _parsed(body, content_type)
        found = _found_custom(given, wanted, body) if custom.is_custom(shape) else _found(given, wanted)
    except Malformed as malformed:
        shown = _summary(body)
        raise BadBody(
            f"the object provided is unrecognized (must be of type {wanted.kind}): {malformed} ({shown})"
        ) from None
    if not found.version:
        raise found.refused(f"Object 'apiVersion' is missing in '{body.decode(errors='replace')}'")
    if not found.is_known():
        version = quoted(found.api_version)
        raise found.refused(f"no kind {quoted(found.kind)} is registered for version {version} {_SCHEME}")
    decoded = _decoded(given, shape if found.is_wanted() else found.shape())
    if decoded.error:
        raise found.refused(decoded.error)
    found.check()
    for name in ("apiVersion", "kind"):
        decoded.value.pop(name, None)
    return decoded


def read_options(body: bytes, *, shape: Shape, content_type: str = "application/json") -> Object:
    """The DeleteOptions of a request: of any version, unknown fields in them are none's business.  Raises BadBody."""
    try:
        given = protobuf.unwrap(body) if content_type == PROTOBUF else _parsed(body, content_type)
        found = _found(given, _OPTIONS)
    except Malformed as malformed:
        raise BadBody(str(malformed)) from None
    if found.kind != _OPTIONS.kind:
        version = quoted(found.api_version)
        raise BadBody(f"no kind {quoted(found.kind)} is registered for version {version} {_SCHEME}")
    decoded = _decoded(given, shape)
    if decoded.error:
        raise BadBody(decoded.error)
    options: Object = decoded.value
    return options


def identify(parsed: Parsed) -> tuple[str, str]:
    """The apiVersion and kind that an object gives itself, "" where it gives none.  Raises Malformed."""
    value = parsed.value
    if value is None:
        return "", ""
    if not isinstance(value, dict):
        raise Malformed(f"json: cannot unmarshal {exact.what(value)} into Go value of type {_FINDER}")
    names = {"apiversion": "", "kind": ""}
    wrong = ""
    for key, each in value.items():
        name = key.casefold()
        if name not in names or each is None:
            continue
        if isinstance(each, str):
            names[name] = each
        elif not wrong:
            field = "kind" if name == "kind" else "apiVersion"
            wrong = f"json: cannot unmarshal {exact.what(each)} into Go struct field .{field} of type string"
    if wrong:
        raise Malformed(wrong)
    return names["apiversion"], names["kind"]


def strict_refusal(wanted: Wanted, strict: list[str]) -> str:
    """The message of a 400 for an object with unknown or repeated fields."""
    version = wanted.api_version.rpartition("/")[2]
    why = f"strict decoding error: {', '.join(strict)}"
    return f"{wanted.kind} in version {quoted(version)} cannot be handled as a {wanted.kind}: {why}"


def warnings(strict: list[str]) -> list[str]:
    """The texts of Warning headers for the same."""
    return [line for error in strict for line in yamltext.lines(error)]


_OPTIONS = Wanted("meta.k8s.io/v1", "DeleteOptions")


class _Found(msgspec.Struct, frozen=True):
    """What a body says that it is."""

    group: str
    version: str
    kind: str
    wanted: Wanted

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def is_wanted(self) -> bool:
        return self.kind == self.wanted.kind and self.api_version in (self.wanted.api_version, *self.wanted.also)

    def is_known(self) -> bool:
        if self.is_wanted():
            return True
        apart = {self.group == _APART, _group(self.wanted.api_version) == _APART}
        known = load.known_kinds().get(self.api_version, frozenset())
        return len(apart) == 1 and (self.kind in known or (self.api_version, self.kind) == ("v1", "List"))

    def shape(self) -> Shape:
        """Of a kind that is not wanted; one without fields if it is not served here at all."""
        group = self.group.partition(".")[0] or "core"
        name = f"io.k8s.api.{group}.{self.version}.{self.kind}"
        return load.shapes().get(name) or _UNKNOWN

    def check(self) -> None:
        """Raises BadBody for what is understood, and not what was wanted."""
        if self.is_wanted():
            return
        wanted = self.wanted
        if self.kind == wanted.kind and _internal(self.group) == _internal(_group(wanted.api_version)):
            raise _unexpected_version(self.api_version, wanted)
        target = f"{_internal(_group(wanted.api_version))}.{wanted.kind}"
        raise self.refused(f"converting ({self.version}.{self.kind}) to ({target}): unknown conversion")

    def refused(self, why: str) -> BadBody:
        return BadBody(
            f"{self.kind} in version {quoted(self.version)} cannot be handled as a {self.wanted.kind}: {why}"
        )


_UNKNOWN = Shape(base=Base.MAP, items=Shape(base=Base.ANY))


def _parsed(body: bytes, content_type: str) -> Parsed:
    try:
        return parse(body, content_type)
    except syntax.NoJson as error:
        raise Malformed(f"couldn't get version/kind; json parse error: {error}") from None


def _found(given: Parsed | protobuf.Envelope, wanted: Wanted) -> _Found:
    """With what is wanted for what is not said."""
    if isinstance(given, protobuf.Envelope):
        api_version, kind = given.api_version, given.kind
    else:
        api_version, kind = _identified(given)
    if api_version.count("/") > 1:
        raise Malformed(f"unexpected GroupVersion string: {api_version}")
    group, version = _group(api_version), api_version.rpartition("/")[2]
    if not version and group in ("", _group(wanted.api_version)):
        group, version = _group(wanted.api_version), wanted.api_version.rpartition("/")[2]
    return _Found(group, version, kind or wanted.kind, wanted)


def _found_custom(given: Parsed | protobuf.Envelope, wanted: Wanted, body: bytes) -> _Found:
    """Objects of custom kinds must say themselves what they are."""
    if isinstance(given, protobuf.Envelope):
        raise Malformed("objects of custom kinds are not sent in protobuf")
    api_version, kind = _identified(given)
    if api_version.count("/") > 1:
        raise Malformed(f"unexpected GroupVersion string: {api_version}")
    if not kind:
        raise Malformed(f"Object 'Kind' is missing in '{body.decode(errors='replace')}'")
    if api_version != wanted.api_version:
        raise _unexpected_version(api_version, wanted)
    if kind != wanted.kind:
        metadata = given.value.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else ""
        raise WrongKind(kind, wanted.kind, name=name if isinstance(name, str) else "")
    return _Found(_group(api_version), api_version.rpartition("/")[2], kind, wanted)


def _identified(given: Parsed) -> tuple[str, str]:
    try:
        return identify(given)
    except Malformed as malformed:
        raise Malformed(f"couldn't get version/kind; json parse error: {malformed}") from None


def _unexpected_version(api_version: str, wanted: Wanted) -> BadBody:
    return BadBody(
        f"the API version in the data ({api_version}) does not match the expected API version ({wanted.api_version})"
    )


def _decoded(given: Parsed | protobuf.Envelope, shape: Shape) -> Decoded:
    if isinstance(given, Parsed):
        # null is an object without anything
        return normalise(given if given.value is not None else {}, shape)
    try:
        return Decoded(protobuf.decode(given.data, shape))
    except Malformed as malformed:
        return Decoded(None, error=str(malformed))


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _internal(group: str) -> str:
    return _INTERNAL.get(group) or group.partition(".")[0]


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    shown = body[:_SHOWN].decode(errors="replace") if body.startswith(b"{") else body[:_SHOWN].hex()
    return shown if len(body) <= _SHOWN else f"{shown} ..."
