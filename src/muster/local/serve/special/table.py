"""Finds what only some kinds can do."""

from __future__ import annotations

from muster.local.kinds.kind import Kind
from muster.local.schema.decoding import GroupVersionKind
from muster.local.serve.routes import Route
from muster.local.serve.special import accounts, namespaces, pods
from muster.local.serve.special.call import Call, Subresource
from muster.local.serve.special.scale import Scale
from muster.local.serve.wire import Answer, Request

_BY_RESOURCE = {
    "pods": pods.SUBRESOURCES,
    "namespaces": namespaces.SUBRESOURCES,
    "serviceaccounts": accounts.SUBRESOURCES,
}
_ELSEWHERE = {("", "bindings"): pods.of_binding}
"""By group and plural, what is sent where no objects are: the one it is about is named in the body."""


def _scale(call: Call) -> Answer:
    return Scale(call.objects, call.served, call.source, request=call.request, route=call.route).answer()


_SCALE = Subresource(
    name="scale",
    methods=("GET", "PUT", "PATCH"),
    answer=_scale,
    verbs=("get", "patch", "update"),
    kind=GroupVersionKind("autoscaling", "v1", "Scale"),
)


def subresources(kind: Kind) -> tuple[Subresource, ...]:
    """Beside the status."""
    own = _BY_RESOURCE.get(kind.resource, ())
    return (*own, _SCALE) if kind.scale is not None else own


def find(kind: Kind, name: str) -> Subresource | None:
    return next((one for one in subresources(kind) if one.name == name), None)


def resolved(request: Request, route: Route) -> Route:
    """The place of the object that a request is about."""
    elsewhere = None if route.name else _ELSEWHERE.get((route.group, route.plural))
    return route if elsewhere is None else elsewhere(request, route)
