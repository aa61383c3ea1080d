"""Namespaces: their finalizers stand in the spec, and go by `finalize` alone."""

from __future__ import annotations

from muster.local.kinds import namespaces, status
from muster.local.serve import bodies, options
from muster.local.serve.special.call import Call, Subresource
from muster.local.serve.views import Plain
from muster.local.serve.wire import Answer


def _finalize(call: Call) -> Answer:
    wanted = options.of_write(call.request, name="UpdateOptions")
    sent, _ = bodies.read(call.request, call.served, validation=wanted.validation)
    bodies.check_name(sent, call.route.name)
    if errors := namespaces.validate_finalize(sent, {}):
        raise status.invalid(call.served.kind, call.route.name, errors)
    before = call.objects.stored(*call.place)
    namespace = call.objects.get(*call.place)
    namespace["spec"] = sent["spec"]
    stored = call.objects.rewrite(call.served, before, namespace, dry_run=wanted.dry_run)
    return Answer(code=200, body=Plain(call.served).one(stored))


SUBRESOURCES = (Subresource(name="finalize", methods=("PUT",), answer=_finalize, verbs=("update",)),)
