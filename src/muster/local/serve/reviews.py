"""Questions about oneself and one's rights.  Whoever got in may do everything, and is told so."""

from __future__ import annotations

import msgspec

from muster.api.times import stamp
from muster.local.checks import fields
from muster.local.codec.values import Object
from muster.local.kinds import status
from muster.local.patching import apply
from muster.local.schema import decode
from muster.local.schema.load import shapes
from muster.local.serve import bodies, options
from muster.local.serve.routes import Route
from muster.local.serve.wire import Answer, Request

_encode = msgspec.json.Encoder().encode
_GROUP, _VERSION = "authorization.k8s.io", "v1"
_TYPES = "io.k8s.api.authorization.v1"
_KINDS = {
    "selfsubjectaccessreviews": "SelfSubjectAccessReview",
    "selfsubjectrulesreviews": "SelfSubjectRulesReview",
}
_ALL_RULES = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}
_WHO = ("authentication.k8s.io", "v1", "selfsubjectreviews")
_USER = {"username": "admin", "groups": ["system:masters", "system:authenticated"]}


def concerns(route: Route) -> bool:
    if (route.group, route.version) == (_GROUP, _VERSION):
        return route.plural in _KINDS
    return _asks_who(route)


def answer(request: Request, route: Route, *, now: float) -> Answer:
    if request.method != "POST" or route.name:
        raise status.no_such_method()
    if _asks_who(route):
        # nothing in the question matters
        told = {"metadata": {}, "status": {"userInfo": _USER}}
        return _told("SelfSubjectReview", _WHO[0], told)
    kind = _KINDS[route.plural]
    review, _ = bodies.read_as(request, f"{_TYPES}.{kind}", validation="Ignore")
    if kind == "SelfSubjectAccessReview":
        _check(review["spec"])
        shape = shapes()[f"{_TYPES}.{kind}"]
        target = apply.Target(api_version=f"{_GROUP}/{_VERSION}", shape=shape, empty=decode.empty(shape))
        manager = options.of_write(request, name="CreateOptions").manager
        review = apply.update(None, review, target=target, manager=manager, now=stamp(now))
        review["status"] = {"allowed": True}
    else:
        review["spec"] = {}
        review["status"] = _ALL_RULES
    return _told(kind, _GROUP, review)


def _asks_who(route: Route) -> bool:
    return (route.group, route.version, route.plural) == _WHO


def _told(kind: str, group: str, review: Object) -> Answer:
    return Answer(code=201, body=_encode({"kind": kind, "apiVersion": f"{group}/{_VERSION}", **review}))


def _check(spec: Object) -> None:
    path = spec.get("nonResourceAttributes")
    if ("resourceAttributes" in spec) == (path is not None):
        words = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        shown = path and {"Path": path.get("path", ""), "Verb": path.get("verb", "")}
        raise status.nameless(_GROUP, fields.invalid("spec", shown, words))
