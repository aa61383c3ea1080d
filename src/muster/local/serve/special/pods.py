"""Pods: bindings, evictions, logs, and the refusal to reach into a container."""

from __future__ import annotations

import msgspec

from muster.local.kinds import status
from muster.local.kinds.pods import pods
from muster.local.schema.decoding import GroupVersionKind
from muster.local.schema.load import shapes
from muster.local.serve import bodies, options
from muster.local.serve.routes import Route
from muster.local.serve.special.budgets import Budgets
from muster.local.serve.special.call import Call, Subresource
from muster.local.serve.wire import TEXT, Answer, Request

_encode = msgspec.json.Encoder().encode
_BINDING = GroupVersionKind("", "v1", "Binding")
_EVICTION = GroupVersionKind("policy", "v1", "Eviction", ("v1beta1",))
_DONE = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _read(request: Request, kind: GroupVersionKind, validation: str) -> bodies.Read:
    """An object of a kind that is only ever sent."""
    shape = shapes()[f"io.k8s.api.{kind.group or 'core'}.{kind.version}.{kind.kind}"]
    return bodies.read_as(request, kind, shape, validation=validation)


def _bind(call: Call) -> Answer:
    wanted = options.of_write(call.request, name="CreateOptions")
    binding, _ = _read(call.request, _BINDING, wanted.validation)
    if binding["metadata"].get("name") != call.route.name:
        raise status.bad_request("name in URL does not match name in Binding object")
    if errors := pods.binding_errors(binding):
        raise status.Refusal(500, "", str(errors[0]))
    before = call.objects.stored(*call.place)
    pod = call.objects.get(*call.place)
    for field, words in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        expected, has = binding["metadata"].get(field), pod["metadata"][field]
        if expected and expected != has:
            why = status.other_object(words, expected, has)
            raise status.conflict(call.served.kind, call.route.name, why)
    if why := pods.not_bindable(pod, call.route.name):
        message = f'Operation cannot be fulfilled on pods/binding "{call.route.name}": {why}'
        raise status.Refusal(409, "Conflict", message, details={"name": call.route.name, "kind": "pods/binding"})
    bound = pods.bind(pod, binding, now=call.source.now())
    call.objects.rewrite(call.served, before, bound, dry_run=wanted.dry_run)
    return Answer(code=201, body=_encode(_DONE))


def of_binding(request: Request, route: Route) -> Route:
    """Where a binding that does not name its pod in the path, as some clients send them, would be sent by others."""
    if request.method != "POST" or not route.namespace:
        raise status.no_such_method()
    binding, _ = _read(request, _BINDING, "Ignore")
    name = binding["metadata"].get("name", "")
    return msgspec.structs.replace(route, plural="pods", name=name, subresource="binding")


def _evict(call: Call) -> Answer:
    wanted = options.of_write(call.request, name="CreateOptions")
    eviction, _ = _read(call.request, _EVICTION, wanted.validation)
    if eviction["metadata"].get("name") != call.route.name:
        raise status.bad_request("name in URL does not match name in Eviction object")
    deletion = options.of_delete(call.request, eviction.get("deleteOptions") or {})
    deletion = msgspec.structs.replace(deletion, dry_run=wanted.dry_run or deletion.dry_run)
    call.objects.check_preconditions(*call.place, deletion)
    pod = call.objects.get(*call.place)
    if not deletion.dry_run:
        if not pods.may_always_go(pod):
            Budgets(call.objects, call.registry, now=call.source.now()).allow(pod)
        if "deletionTimestamp" not in pod["metadata"]:
            before = call.objects.stored(*call.place)
            call.objects.rewrite(call.served, before, pods.marked_evicted(pod, now=call.source.now()))
            deletion = msgspec.structs.replace(deletion, version="")
    call.objects.delete(*call.place, deletion)
    return Answer(code=201, body=_encode(_DONE))


def _log(call: Call) -> Answer:
    """There are no containers: the log tells what is known of them."""
    pod = call.objects.get(*call.place)
    containers = [one["name"] for one in (*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"])]
    chosen = call.request.first("container")
    if chosen and chosen not in containers:
        raise status.bad_request(f"container {chosen} is not valid for pod {call.route.name}")
    if not chosen and len(pod["spec"]["containers"]) > 1:
        names = " ".join(containers)
        words = f"a container name must be specified for pod {call.route.name}, choose one of: [{names}]"
        raise status.bad_request(words)
    lines = pods.log_lines(pod, chosen or containers[-1])
    if not lines:
        return Answer(code=204, body=b"", content_type=TEXT)
    if (tail := options.number(call.request, "tailLines")) is not None:
        lines = lines[-tail:] if tail > 0 else []
    return Answer(code=200, body="".join(f"{line}\n" for line in lines).encode(), content_type=TEXT)


def _reach(call: Call) -> Answer:
    """To run something in a container, or to connect to it."""
    pod = call.objects.get(*call.place)
    if not pod["spec"].get("nodeName"):
        raise status.bad_request(f"pod {call.route.name} does not have a host assigned")
    raise status.bad_request(f"pod {call.route.name} is simulated: there is no container to reach")


SUBRESOURCES = (
    Subresource(name="binding", methods=("POST",), answer=_bind, verbs=("create",), kind=_BINDING),
    Subresource(name="eviction", methods=("POST",), answer=_evict, verbs=("create",), kind=_EVICTION),
    Subresource(name="log", methods=("GET",), answer=_log, verbs=("get",)),
    *(Subresource(name=name, methods=("GET", "POST"), answer=_reach) for name in ("exec", "attach", "portforward")),
)
