"""Questions about oneself and one's rights.  Whoever got in may do everything, and is told so."""

from __future__ import annotations

import msgspec

from muster.api.times import stamp
from muster.local.checks import fields
from muster.local.codec.values import Object
from muster.local.kinds import status
from muster.local.kinds.kind import Kind
from muster.local.patching import apply
from muster.local.schema import structs
from muster.local.schema.decoding import GroupVersionKind
from muster.local.schema.load import shapes
from muster.local.serve import bodies, options
from muster.local.serve.routes import Route
from muster.local.serve.wire import Answer, Request

_encode = msgspec.json.Encoder().encode
_IDENTITY, _RIGHTS, _VERSION = "authentication.k8s.io", "authorization.k8s.io", "v1"
KINDS = tuple(
    Kind(
        group=group,
        version=_VERSION,
        name=name,
        plural=f"{name.lower()}s",
        type_name=f"io.k8s.api.{group.partition('.')[0]}.{_VERSION}.{name}",
        namespaced=False,
        verbs=("create",),
    )
    for group, name in (
        (_IDENTITY, "SelfSubjectReview"),
        (_RIGHTS, "SelfSubjectAccessReview"),
        (_RIGHTS, "SelfSubjectRulesReview"),
    )
)
"""Questions that are answered and not kept."""
_ALL_RULES = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}
ADMIN: Object = {"username": "admin", "groups": ["system:masters", "system:authenticated"]}


def find(route: Route) -> Kind | None:
    """What is asked there, if it is a review."""
    where = (route.group, route.version, route.plural)
    return next((kind for kind in KINDS if (kind.group, kind.version, kind.plural) == where), None)


def answer(request: Request, route: Route, kind: Kind, *, user: Object, now: float) -> Answer:
    if request.method != "POST" or route.name:
        raise status.no_such_method()
    if kind.group == _IDENTITY:
        # nothing in the question matters
        return _answered(kind, {"metadata": {}, "status": {"userInfo": user}})
    shape = shapes()[kind.type_name]
    expected = GroupVersionKind(kind.group, kind.version, kind.name)
    review, _ = bodies.read_as(request, expected, shape, validation="Ignore")
    if kind.name == "SelfSubjectAccessReview":
        _check(review["spec"])
        target = apply.Target(api_version=kind.api_version, shape=shape, empty=structs.zero(shape))
        manager = options.of_write(request, name="CreateOptions").manager
        review = apply.update(None, review, target=target, manager=manager, now=stamp(now))
        review["status"] = {"allowed": True}
    else:
        review["spec"] = {}
        review["status"] = _ALL_RULES
    return _answered(kind, review)


def _answered(kind: Kind, review: Object) -> Answer:
    return Answer(code=201, body=_encode({"kind": kind.name, "apiVersion": kind.api_version, **review}))


def _check(spec: Object) -> None:
    path = spec.get("nonResourceAttributes")
    if ("resourceAttributes" in spec) == (path is not None):
        words = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        shown = path and {"Path": path.get("path", ""), "Verb": path.get("verb", "")}
        raise status.nameless(_RIGHTS, fields.invalid("spec", shown, words))
