"""Bodies of requests: bytes → objects of the kind that the path names, or the refusal that Kubernetes has for them."""

from __future__ import annotations

from muster.local.codec.values import Object
from muster.local.kinds import status
from muster.local.kinds.kind import Kind
from muster.local.kinds.registry import Served
from muster.local.schema import read as schema
from muster.local.schema.load import shapes
from muster.local.schema.read import BadBody, Wanted, WrongKind
from muster.local.schema.shapes import Shape
from muster.local.serve.wire import JSON, PROTOBUF, YAML, Request

_ACCEPTED = (JSON, YAML, PROTOBUF)
_DELETE_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"

Read = tuple[Object, tuple[str, ...]]
"""An object without apiVersion and kind, and what its client is to be warned of."""


def read(request: Request, served: Served, *, validation: str) -> Read:
    """The object of a create or an update."""
    kind = served.kind
    given, warnings = _read(request, served.shape, Wanted(kind.api_version, kind.name), validation=validation)
    return (given if served.kept is None else served.kept(given)), warnings


def read_as(request: Request, type_name: str, *, validation: str, also: tuple[str, ...] = ()) -> Read:
    """An object of a kind that is only ever sent: a Binding, an Eviction, a review; `also` are other versions."""
    group, version, name = type_name.rsplit(".", 3)[-3:]
    group = _GROUPS.get(group, group)
    wanted = Wanted(f"{group}/{version}" if group else version, name, also=also)
    return _read(request, shapes()[type_name], wanted, validation=validation)


_GROUPS = {"core": "", "authorization": "authorization.k8s.io"}


def read_delete_options(request: Request) -> Object:
    if not request.body:
        return {}
    shape = shapes()[_DELETE_OPTIONS]
    try:
        options = schema.read_options(request.body, shape=shape, content_type=request.content_type or JSON)
    except BadBody as error:
        raise status.bad_request(str(error)) from error
    for name in ("apiVersion", "kind"):
        options.pop(name, None)
    return options


def _read(request: Request, shape: Shape, wanted: Wanted, *, validation: str) -> Read:
    content_type = request.content_type or JSON
    if content_type not in _ACCEPTED:
        raise status.unknown_format(*_ACCEPTED)
    try:
        decoded = schema.read(request.body, wanted, shape=shape, content_type=content_type)
    except WrongKind as error:
        group = wanted.api_version.rpartition("/")[0]
        raise status.wrong_kind(group, error.kind, wanted.kind, name=error.name) from error
    except BadBody as error:
        raise status.bad_request(str(error)) from error
    if decoded.strict and validation == "Strict":
        raise status.bad_request(schema.strict_refusal(wanted, decoded.strict))
    given: Object = decoded.value
    return given, tuple(schema.warnings(decoded.strict)) if validation == "Warn" else ()


# --- what the path says, too ---


def check_name(given: Object, name: str) -> None:
    said = given["metadata"].get("name", "")
    if not said:
        words = f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        raise status.bad_request(words)
    if said != name:
        raise status.bad_request(f"the name of the object ({said}) does not match the name on the URL ({name})")


def check_namespace(given: Object, kind: Kind, namespace: str) -> None:
    if not kind.namespaced:
        given["metadata"].pop("namespace", None)
    elif given["metadata"].get("namespace", namespace) != namespace:
        words = "the namespace of the provided object does not match the namespace sent on the request"
        raise status.bad_request(words)
