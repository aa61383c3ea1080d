"""Service (core/v1).  `addresses` hands out addresses and ports, `spec` says what is wrong."""

from __future__ import annotations

from collections.abc import Iterable

from muster.local.checks import names
from muster.local.checks.fields import FieldError
from muster.local.checks.metadata import distinct
from muster.local.codec.values import Object
from muster.local.kinds.kind import Strategy
from muster.local.kinds.services import addresses as service_addresses
from muster.local.kinds.services import spec as service_spec
from muster.local.kinds.services.spec import EXTERNAL_NAME, LOAD_BALANCER, is_external, needs_health_check

_AFFINITY_SECONDS = 10_800


def default(service: Object) -> None:
    spec = service["spec"]
    _default_affinity(spec)
    kind = spec["type"] = spec.get("type") or "ClusterIP"
    for port in spec.get("ports") or ():
        port["protocol"] = port.get("protocol") or "TCP"
        port["targetPort"] = port.get("targetPort") or port.get("port", 0)
    if is_external(spec):
        spec["externalTrafficPolicy"] = spec.get("externalTrafficPolicy") or "Cluster"
    if kind in service_spec.INTERNAL_TYPES:
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == LOAD_BALANCER:
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in service.get("status", {}).get("loadBalancer", {}).get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def allocate(new: Object, old: Object | None, every: Iterable[Object], dry_run: bool) -> list[FieldError]:
    """Gives a service its addresses and ports, of those that no service has."""
    service_addresses.adopt(new, old)
    return service_addresses.assign(new, old, service_addresses.used_by(every), dry_run=dry_run)


def prepare_create(service: Object) -> None:
    service["status"] = {"loadBalancer": {}}
    _hide_internal_policy(service["spec"])


def validate(service: Object) -> list[FieldError]:
    return distinct(service_spec.errors(service, None))


def prepare_update(new: Object, old: Object) -> None:
    """Takes out what was handed out for a type that the service no longer has, unless the user changed it too."""
    spec, before = new["spec"], old["spec"]
    if before["type"] != EXTERNAL_NAME and spec["type"] == EXTERNAL_NAME:
        if all(spec.get(name) == before.get(name) for name in ("clusterIP", "clusterIPs")):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        for name in ("ipFamilies", "ipFamilyPolicy"):
            _drop_if_same(spec, before, name)
    if _has_node_ports(before) and not _has_node_ports(spec) and _node_ports(spec) <= _node_ports(before):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if needs_health_check(before) and not needs_health_check(spec):
        _drop_if_same(spec, before, "healthCheckNodePort")
    if before["type"] == LOAD_BALANCER and spec["type"] != LOAD_BALANCER:
        _drop_if_same(spec, before, "allocateLoadBalancerNodePorts")
        _drop_if_same(spec, before, "loadBalancerClass")
    if is_external(before) and not is_external(spec):
        _drop_if_same(spec, before, "externalTrafficPolicy")
    _hide_internal_policy(spec)
    if spec["type"] != LOAD_BALANCER:
        new["status"] = {**new["status"], "loadBalancer": {}}


def validate_update(new: Object, old: Object) -> list[FieldError]:
    return distinct(service_spec.change_errors(new["spec"], old["spec"]) + service_spec.errors(new, old))


def validate_status(new: Object, old: Object) -> list[FieldError]:
    return distinct(service_spec.ingress_errors(new, old))


def selectable(service: Object) -> dict[str, str]:
    spec = service["spec"]
    return {"spec.clusterIP": spec.get("clusterIP", ""), "spec.type": spec.get("type", "")}


def _default_affinity(spec: Object) -> None:
    affinity = spec["sessionAffinity"] = spec.get("sessionAffinity") or "None"
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        given = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if given.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def _hide_internal_policy(spec: Object) -> None:
    """Kubernetes keeps it for names of other places, and never shows it."""
    if spec["type"] == EXTERNAL_NAME and spec.get("internalTrafficPolicy") in service_spec.POLICIES:
        del spec["internalTrafficPolicy"]


def _drop_if_same(spec: Object, before: Object, name: str) -> None:
    if name in spec and spec[name] == before.get(name):
        del spec[name]


def _has_node_ports(spec: Object) -> bool:
    return spec["type"] in ("NodePort", LOAD_BALANCER)


def _node_ports(spec: Object) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


STRATEGY = Strategy(
    default=default,
    allocate=allocate,
    prepare_create=prepare_create,
    validate=validate,
    prepare_update=prepare_update,
    validate_update=validate_update,
    validate_status=validate_status,
    name_problems=names.label_problems,
    selectable=selectable,
    creates_on_update=True,
    warnings=service_spec.warnings,
    returns_deleted=True,
)
