"""What only some kinds have below their objects: bindings, evictions and logs of pods, the end of namespaces."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from muster.local.kinds import namespaces, status
from muster.local.kinds.kind import Kind
from muster.local.kinds.pods import pods
from muster.local.kinds.registry import Served
from muster.local.objects.eviction import Budgets
from muster.local.objects.objects import Deletion, Objects, Source
from muster.local.serve import bodies, options
from muster.local.serve.routes import Route
from muster.local.serve.scaling import Scale
from muster.local.serve.views import Plain
from muster.local.serve.wire import TEXT, Answer, Request

_encode = msgspec.json.Encoder().encode
_BINDING = "io.k8s.api.core.v1.Binding"
_DONE = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request for a subresource."""

    objects: Objects
    request: Request
    served: Served
    route: Route
    source: Source
    budgets: Served

    @property
    def place(self) -> tuple[Served, str, str]:
        return self.served, self.route.namespace, self.route.name


class Special(msgspec.Struct, frozen=True):
    """A subresource: the methods it takes, and what answers them."""

    methods: tuple[str, ...]
    answer: Callable[[Call], Answer]


def find(kind: Kind, name: str) -> Special | None:
    if name == "scale" and kind.scale is not None:
        return Special(("GET", "PUT", "PATCH"), _scale)
    return _SPECIALS.get((kind.resource, name))


def _scale(call: Call) -> Answer:
    return Scale(call.objects, call.served, call.source, request=call.request, route=call.route).answer()


# --- pods ---


def _bind(call: Call) -> Answer:
    wanted = options.of_write(call.request, name="CreateOptions")
    binding, _ = bodies.read_as(call.request, _BINDING, validation=wanted.validation)
    if binding["metadata"].get("name") != call.route.name:
        raise status.bad_request("name in URL does not match name in Binding object")
    if errors := pods.binding_errors(binding):
        raise status.Refusal(500, "", str(errors[0]))
    before = call.objects.stored(*call.place)
    pod = call.objects.get(*call.place)
    for field, words in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        given, has = binding["metadata"].get(field), pod["metadata"][field]
        if given and given != has:
            why = status.other_object(call.served.kind, pod["metadata"], words, given, has)
            raise status.conflict(call.served.kind, call.route.name, why)
    if why := pods.not_bindable(pod, call.route.name):
        message = f'Operation cannot be fulfilled on pods/binding "{call.route.name}": {why}'
        raise status.Refusal(409, "Conflict", message, details={"name": call.route.name, "kind": "pods/binding"})
    bound = pods.bind(pod, binding, now=call.source.now())
    call.objects.rewrite(call.served, before, bound, dry_run=wanted.dry_run)
    return Answer(code=201, body=_encode(_DONE))


def binds(route: Route) -> bool:
    """Whether it is a binding that does not name its pod in the path, as some clients send them."""
    return (route.group, route.plural, route.name) == ("", "bindings", "")


def of_binding(request: Request, route: Route) -> Route:
    """Where such a binding would be sent by others."""
    if request.method != "POST" or not route.namespace:
        raise status.no_such_method()
    binding, _ = bodies.read_as(request, _BINDING, validation="Ignore")
    name = binding["metadata"].get("name", "")
    return msgspec.structs.replace(route, plural="pods", name=name, subresource="binding")


def _evict(call: Call) -> Answer:
    wanted = options.of_write(call.request, name="CreateOptions")
    eviction, _ = bodies.read_as(
        call.request, "io.k8s.api.policy.v1.Eviction", validation=wanted.validation, also=("policy/v1beta1",)
    )
    if eviction["metadata"].get("name") != call.route.name:
        raise status.bad_request("name in URL does not match name in Eviction object")
    asked = options.of_delete(call.request, eviction.get("deleteOptions") or {})
    dry_run = wanted.dry_run or bool(asked.get("dryRun"))
    conditions = asked.get("preconditions") or {}
    deletion = Deletion(
        grace_seconds=asked.get("gracePeriodSeconds"),
        uid=conditions.get("uid") or "",
        version=conditions.get("resourceVersion") or "",
        policy=asked.get("propagationPolicy") or "",
        dry_run=dry_run,
    )
    call.objects.check_preconditions(*call.place, deletion)
    pod = call.objects.get(*call.place)
    if not dry_run:
        if not pods.may_always_go(pod):
            Budgets(call.objects, call.budgets, now=call.source.now()).allow(pod)
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


# --- namespaces ---


def _finalize(call: Call) -> Answer:
    wanted = options.of_write(call.request, name="UpdateOptions")
    given, _ = bodies.read(call.request, call.served, validation=wanted.validation)
    bodies.check_name(given, call.route.name)

    if errors := namespaces.validate_finalize(given, {}):
        raise status.invalid(call.served.kind, call.route.name, errors)
    before = call.objects.stored(*call.place)
    namespace = call.objects.get(*call.place)
    namespace["spec"] = given["spec"]
    stored = call.objects.rewrite(call.served, before, namespace, dry_run=wanted.dry_run)
    return Answer(code=200, body=Plain(call.served).one(stored))


_SPECIALS = {
    ("pods", "binding"): Special(("POST",), _bind),
    ("pods", "eviction"): Special(("POST",), _evict),
    ("pods", "log"): Special(("GET",), _log),
    ("pods", "exec"): Special(("GET", "POST"), _reach),
    ("pods", "attach"): Special(("GET", "POST"), _reach),
    ("pods", "portforward"): Special(("GET", "POST"), _reach),
    ("namespaces", "finalize"): Special(("PUT",), _finalize),
}
