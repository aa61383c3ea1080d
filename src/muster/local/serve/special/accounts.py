"""Service accounts: their tokens, as `kubectl create token` asks for them."""

from __future__ import annotations

import msgspec

from muster.api.times import stamp
from muster.local.checks.fields import FieldError, invalid
from muster.local.kinds import status
from muster.local.schema.decoding import GroupVersionKind
from muster.local.schema.load import shapes
from muster.local.serve import bodies, options
from muster.local.serve.special.call import Call, Subresource
from muster.local.serve.special.tokens import ISSUER
from muster.local.serve.wire import Answer

_REQUEST = GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")
_SECONDS, _SHORTEST, _LONGEST = 3600, 600, 1 << 32
_DURATION = "spec.expirationSeconds"
_encode = msgspec.json.Encoder().encode


def _create_token(call: Call) -> Answer:
    wanted = options.of_write(call.request, name="CreateOptions")
    shape = shapes()["io.k8s.api.authentication.v1.TokenRequest"]
    asked, _ = bodies.read_as(call.request, _REQUEST, shape, validation=wanted.validation)
    spec, name, now = asked["spec"], call.route.name, int(call.source.now())
    account = call.objects.get(*call.place)
    if asked["metadata"].get("name", name) != name:
        words = "must match the service account name if specified"
        raise _invalid(name, invalid("metadata.name", asked["metadata"]["name"], words))
    if spec["expirationSeconds"] is None:
        spec["expirationSeconds"] = _SECONDS
    seconds = spec["expirationSeconds"]
    if seconds < _SHORTEST:
        raise _invalid("", invalid(_DURATION, seconds, "may not specify a duration less than 10 minutes"))
    if seconds > _LONGEST:
        raise _invalid("", invalid(_DURATION, seconds, "may not specify a duration larger than 2^32 seconds"))
    if spec.get("boundObjectRef"):
        raise status.bad_request("tokens are not bound to other objects than their service account here")
    spec["audiences"] = spec.get("audiences") or [ISSUER]
    token = call.tokens.issue(account, audiences=tuple(spec["audiences"]), now=now, seconds=seconds)
    created = {"name": name, "namespace": call.route.namespace, "uid": account["metadata"]["uid"]}
    answer = {
        "kind": _REQUEST.kind,
        "apiVersion": f"{_REQUEST.group}/{_REQUEST.version}",
        "metadata": {**created, "creationTimestamp": stamp(now)},
        "spec": spec,
        "status": {"token": token, "expirationTimestamp": stamp(now + seconds)},
    }
    return Answer(code=201, body=_encode(answer))


def _invalid(name: str, error: FieldError) -> status.Refusal:
    return status.wrong_kind(_REQUEST.group, _REQUEST.kind, error, name=name)


SUBRESOURCES = (Subresource(name="token", methods=("POST",), answer=_create_token, verbs=("create",), kind=_REQUEST),)
