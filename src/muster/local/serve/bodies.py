"""Bodies of requests: bytes → objects of the kind that the path names, or the refusal that Kubernetes has for them."""

from __future__ import annotations

from muster.local.checks import fields
from muster.local.codec.values import Object
from muster.local.kinds import status
from muster.local.kinds.kind import Kind
from muster.local.kinds.registry import Served
from muster.local.schema import decoding
from muster.local.schema.decoding import BadBody, GroupVersionKind, WrongKind
from muster.local.schema.load import shapes
from muster.local.schema.shapes import Shape
from muster.local.serve.wire import JSON, PROTOBUF, YAML, Request

_ACCEPTED = (JSON, YAML, PROTOBUF)
_DELETE_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"

Read = tuple[Object, tuple[str, ...]]
"""An object without apiVersion and kind, and what its client is to be warned of."""


def read(request: Request, served: Served, *, validation: str) -> Read:
    """The object of a create or an update."""
    kind = served.kind
    expected = GroupVersionKind(kind.group, kind.version, kind.name)
    document, warnings = read_as(request, expected, served.shape, validation=validation)
    return (document if served.kept is None else served.kept(document)), warnings


def read_delete_options(request: Request) -> Object:
    if not request.body:
        return {}
    shape = shapes()[_DELETE_OPTIONS]
    try:
        return decoding.read_options(request.body, shape=shape, content_type=request.content_type or JSON)
    except BadBody as error:
        raise status.bad_request(str(error)) from error


def read_as(request: Request, expected: GroupVersionKind, shape: Shape, *, validation: str) -> Read:
    """An object of a kind that need not be kept: a Binding, an Eviction, a review."""
    content_type = request.content_type or JSON
    if content_type not in _ACCEPTED:
        raise status.unknown_format(*_ACCEPTED)
    try:
        decoded = decoding.read_body(request.body, expected, shape=shape, content_type=content_type)
    except WrongKind as error:
        wrong = fields.invalid("kind", error.kind, f"must be {expected.kind}")
        raise status.wrong_kind(expected.group, error.kind, wrong, name=error.name) from error
    except BadBody as error:
        raise status.bad_request(str(error)) from error
    if decoded.strict and validation == "Strict":
        raise status.bad_request(decoding.strict_refusal(expected, decoded.strict))
    document: Object = decoded.value
    return document, tuple(decoded.strict) if validation == "Warn" else ()


# --- what the path says, too ---


def check_name(document: Object, name: str) -> None:
    own = document["metadata"].get("name", "")
    if not own:
        words = f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        raise status.bad_request(words)
    if own != name:
        raise status.bad_request(f"the name of the object ({own}) does not match the name on the URL ({name})")


def check_namespace(document: Object, kind: Kind, namespace: str) -> None:
    if not kind.namespaced:
        document["metadata"].pop("namespace", None)
    elif document["metadata"].get("namespace", namespace) != namespace:
        words = "the namespace of the provided object does not match the namespace sent on the request"
        raise status.bad_request(words)
