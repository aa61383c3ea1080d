"""The one way from what a client sends to an object: bytes or values, and a shape → an object, and what is wrong.

    body     read_body(body, kind, shape=...)               JSON, YAML or protobuf; BadBody: 400, with its message
    patch    decode(parse(body), ...), then decode(patched, shape, patched=True)
    value    decode(value, shape)

A body names its kind and version itself, or has none, which means those that are expected.  Unknown and repeated fields
are no errors: whoever is strict refuses them (`strict_refusal`), others warn of them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from muster.local.codec import syntax, yamltext
from muster.local.codec.forms import Malformed
from muster.local.codec.gotext import quoted
from muster.local.codec.values import Object, json_type, plain
from muster.local.schema import custom, protobuf, structs
from muster.local.schema.shapes import Shape
from muster.local.schema.structs import Decoded

PROTOBUF = "application/vnd.kubernetes.protobuf"
_YAML = frozenset({"application/yaml", "application/apply-patch+yaml"})


class BadBody(Exception):
    """400: the message says why."""


class WrongKind(BadBody):
    """Of a custom kind: 422, KIND.GROUP "name" is invalid: kind: Invalid value: KIND: must be EXPECTED."""

    def __init__(self, kind: str, expected: str, *, name: str) -> None:
        self.kind = kind
        self.name = name
        super().__init__(f"kind: Invalid value: {quoted(kind)}: must be {expected}")


class GroupVersionKind(msgspec.Struct, frozen=True):
    """What a body is to be."""

    group: str
    version: str
    kind: str
    other_versions: tuple[str, ...] = ()
    """That are taken for it: eviction takes v1beta1."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class Document(msgspec.Struct, frozen=True):
    """A text that was read: the value, and all else that the text had."""

    value: Any
    """Of keys that came twice the last."""
    tree: Any = None
    """The same with `Pairs`, if a key came twice."""
    strict: tuple[str, ...] = ()
    """What is wrong with the text itself, to those who are strict: keys that come twice in YAML."""


def parse(body: bytes, content_type: str = "application/json") -> Document:
    """Raises NoJson, or Malformed for YAML."""
    if content_type in _YAML:
        value, strict = yamltext.load(body)
        return Document(value, strict=strict)
    try:
        value = syntax.quick(body)
        tree = syntax.tree(body) if syntax.has_duplicates(body, value) else None
    except ValueError:
        tree = syntax.tree(body)
        value = plain(tree)
    return Document(value, tree=tree)


def decode(source: Any, shape: Shape, *, patched: bool = False) -> Decoded:
    """A value or a Document as its shape makes it; parts of it may live on in the result.

    What a strategic merge or an apply has made (`patched`) may have floats for integers, and nulls in custom kinds.
    """
    document = source if isinstance(source, Document) else Document(source)
    value, tree = document.value, document.tree
    if custom.is_custom(shape):
        decoded = custom.decode(value, shape, tree=tree, keeps_nulls=patched)
    else:
        decoded = structs.decode(custom.whole_numbers(value) if patched else value, shape, tree=tree)
    decoded.strict[:0] = document.strict
    return decoded


# --- bodies ---------------------------------------------------------------------------------------


def read_body(
    body: bytes, expected: GroupVersionKind, *, shape: Shape, content_type: str = "application/json"
) -> Decoded:
    """The object, without apiVersion and kind, and its unknown and repeated fields.  Raises BadBody."""
    try:
        document, api_version, kind = _opened(body, shape, content_type)
    except Malformed as malformed:
        raise BadBody(f"the object provided is unrecognized (must be of type {expected.kind}): {malformed}") from None
    if custom.is_custom(shape):
        _check_custom(document, api_version, kind, expected)
    else:
        _check(api_version, kind, expected)
    decoded = decode(document, shape)
    if decoded.error:
        raise BadBody(_refusal(expected, decoded.error))
    for name in ("apiVersion", "kind"):
        decoded.value.pop(name, None)
    return decoded


def read_options(body: bytes, *, shape: Shape, content_type: str = "application/json") -> Object:
    """The DeleteOptions of a request: of any version, unknown fields in them are none's business.  Raises BadBody."""
    try:
        document, api_version, kind = _opened(body, shape, content_type)
    except Malformed as malformed:
        raise BadBody(str(malformed)) from None
    if kind not in ("", "DeleteOptions"):
        raise BadBody(f"no kind {quoted(kind)} is registered for version {quoted(api_version)}")
    decoded = decode(document, shape)
    if decoded.error:
        raise BadBody(decoded.error)
    return {name: value for name, value in decoded.value.items() if name not in ("apiVersion", "kind")}


def strict_refusal(expected: GroupVersionKind, strict: list[str]) -> str:
    """The message of a 400 for an object with unknown or repeated fields."""
    return _refusal(expected, f"strict decoding error: {', '.join(strict)}")


def _opened(body: bytes, shape: Shape, content_type: str) -> tuple[Document, str, str]:
    """What was sent, and the apiVersion and kind that it gives itself, "" where it gives none.  Raises Malformed."""
    if content_type == PROTOBUF:
        envelope = protobuf.unwrap(body)
        return Document(protobuf.decode(envelope.data, shape)), envelope.api_version, envelope.kind
    document = parse(body, content_type)
    if document.value is None:
        # null is an object without anything
        document = Document({}, strict=document.strict)
    if not isinstance(document.value, dict):
        raise Malformed(f"json: cannot unmarshal {json_type(document.value)} into an object")
    return document, *_identified(document.value)


def _identified(value: Object) -> tuple[str, str]:
    """Found whatever the case of their letters, as Kubernetes finds them before it looks at anything else."""
    found = {"apiversion": "", "kind": ""}
    for key, each in value.items():
        name = key.casefold()
        if name not in found or each is None:
            continue
        if not isinstance(each, str):
            words = f"cannot unmarshal {json_type(each)} into Go struct field .{key} of type string"
            raise Malformed(f"couldn't get version/kind; json parse error: json: {words}")
        found[name] = each
    if found["apiversion"].count("/") > 1:
        raise Malformed(f"unexpected GroupVersion string: {found['apiversion']}")
    return found["apiversion"], found["kind"]


def _check(api_version: str, kind: str, expected: GroupVersionKind) -> None:
    """What a body does not say is what is expected."""
    group, _, version = api_version.rpartition("/")
    if kind not in ("", expected.kind):
        words = f"no kind {quoted(kind)} is registered for version {quoted(api_version or expected.api_version)}"
        raise BadBody(_refusal(expected, words, kind=kind, version=version))
    if not version and group in ("", expected.group):
        return
    if not version:
        raise BadBody(_refusal(expected, "Object 'apiVersion' is missing", version=""))
    if group != expected.group or version not in (expected.version, *expected.other_versions):
        raise _unexpected_version(api_version, expected)


def _check_custom(document: Document, api_version: str, kind: str, expected: GroupVersionKind) -> None:
    """Objects of custom kinds must say themselves what they are."""
    if not kind:
        raise BadBody(f"the object provided is unrecognized (must be of type {expected.kind}): 'Kind' is missing")
    if api_version != expected.api_version:
        raise _unexpected_version(api_version, expected)
    if kind != expected.kind:
        metadata = document.value.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else ""
        raise WrongKind(kind, expected.kind, name=name if isinstance(name, str) else "")


def _unexpected_version(api_version: str, expected: GroupVersionKind) -> BadBody:
    words = f"does not match the expected API version ({expected.api_version})"
    return BadBody(f"the API version in the data ({api_version}) {words}")


def _refusal(expected: GroupVersionKind, why: str, *, kind: str = "", version: str | None = None) -> str:
    version = quoted(expected.version if version is None else version)
    return f"{kind or expected.kind} in version {version} cannot be handled as a {expected.kind}: {why}"
