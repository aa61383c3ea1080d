"""What is wrong with the spec of a Service, with a change of it, or with the addresses in its status."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address

from muster.local.checks.fields import FieldError, duplicate, forbidden, invalid, not_supported, required
from muster.local.checks.metadata import label_errors
from muster.local.codec.values import Object
from muster.local.kinds.pods import formats
from muster.local.kinds.pods.formats import each
from muster.local.kinds.rules import Book, Errors, Rules

NONE = "None"
CLUSTER_IP, NODE_PORT, LOAD_BALANCER, EXTERNAL_NAME = "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"
INTERNAL_TYPES = (NODE_PORT, LOAD_BALANCER, CLUSTER_IP)
POLICIES = ("Cluster", "Local")
_FAMILIES = ("IPv4", "IPv6")
_LONGEST_AFFINITY = 86_400
_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"


def is_external(spec: Object) -> bool:
    """Whether it can be reached from outside."""
    kind = spec.get("type")
    return kind in (LOAD_BALANCER, NODE_PORT) or (kind == CLUSTER_IP and bool(spec.get("externalIPs")))


def needs_health_check(spec: Object) -> bool:
    return spec.get("type") == LOAD_BALANCER and spec.get("externalTrafficPolicy") == "Local"


def is_headless(spec: Object) -> bool:
    return (spec.get("clusterIPs") or []) == [NONE]


def errors(service: Object, old: Object | None) -> list[FieldError]:
    """All that is wrong with a service, new or changed; addresses that it had before may stay as they are."""
    spec = service["spec"]
    before: Object = old["spec"] if old is not None else {}
    return [
        *_SERVICE.errors(spec, "core.v1.ServiceSpec", "spec"),
        *label_errors(spec.get("selector"), "spec.selector"),
        *address_errors(spec, before.get("clusterIPs") or []),
        *_external_address_errors(spec, before.get("externalIPs") or []),
        *_source_range_errors(service),
    ]


def change_errors(spec: Object, old: Object) -> list[FieldError]:
    """Of what may not change."""
    found = []
    if EXTERNAL_NAME not in (spec["type"], old["type"]) and not (is_headless(spec) and is_headless(old)):
        found += _address_change_errors(spec.get("clusterIPs") or [], old.get("clusterIPs") or [])
    if spec["type"] == old["type"] == LOAD_BALANCER and spec.get("loadBalancerClass") != old.get("loadBalancerClass"):
        field, given = "spec.loadBalancerClass", spec.get("loadBalancerClass")
        found.append(invalid(field, given, "may not change once set"))
    checked = needs_health_check(spec) and needs_health_check(old)
    if checked and spec.get("healthCheckNodePort", 0) != old.get("healthCheckNodePort", 0):
        found.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
    return found


def address_errors(spec: Object, existing: Sequence[str]) -> list[FieldError]:
    """Of clusterIP, clusterIPs and ipFamilies; a cluster of both families would give two addresses."""
    if spec.get("type") == EXTERNAL_NAME:
        return []
    field, first, addresses = "spec.clusterIPs", spec.get("clusterIP"), spec.get("clusterIPs") or []
    families = spec.get("ipFamilies") or []
    found = [duplicate(f"spec.ipFamilies[{at}]", one) for at, one in enumerate(families) if one in families[:at]]
    odd = [(f"spec.ipFamilies[{at}]", one) for at, one in enumerate(families) if one not in _FAMILIES]
    found += [not_supported(where, one, _FAMILIES) for where, one in odd]
    if first and not addresses:
        found.append(required(field))
    elif addresses and addresses[0] != first:
        found.append(invalid(field, addresses, "first value must match `clusterIP`"))
    bad = [] if is_headless(spec) else _bad_addresses(addresses, existing)
    if bad or len(addresses) > 2:
        return found + (bad or [invalid(field, addresses, "may only hold up to 2 values")])
    return found if is_headless(spec) else found + _stack_errors(addresses, families)


def _bad_addresses(addresses: list[str], existing: Sequence[str]) -> list[FieldError]:
    if NONE in addresses[:1]:
        return [invalid("spec.clusterIPs", addresses, "'None' must be the first and only value")]
    return [
        error
        for index, one in enumerate(addresses)
        if one not in existing
        for error in each(f"spec.clusterIPs[{index}]", one, formats.address(one))
    ]


def _stack_errors(addresses: list[str], families: list[str]) -> list[FieldError]:
    """Of sound addresses: one of each family, as the families say."""
    found = []
    if formats.too_many_families(addresses):
        words = "may specify no more than one IP for each IP family"
        found.append(invalid("spec.clusterIPs", addresses, words))
    for index, (address, family) in enumerate(zip(addresses, families, strict=False)):
        if family in _FAMILIES and family != f"IPv{ip_address(address).version}":
            words = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            found.append(invalid(f"spec.clusterIPs[{index}]", address, words))
    return found


def ingress_errors(service: Object, old: Object) -> list[FieldError]:
    """Of the addresses of a load balancer, in the status."""
    field = "status.loadBalancer.ingress"
    ingresses, before = (
        (one.get("status", {}).get("loadBalancer") or {}).get("ingress") or [] for one in (service, old)
    )
    if service["spec"].get("type") != LOAD_BALANCER and ingresses:
        return [forbidden(field, "may only be used when `spec.type` is 'LoadBalancer'")]
    existing = {one.get("ip") for one in before}
    found = []
    for index, ingress in enumerate(ingresses):
        at, address, name = f"{field}[{index}]", ingress.get("ip", ""), ingress.get("hostname", "")
        if address and address not in existing:
            found += each(f"{at}.ip", address, formats.address(address))
        if "ipMode" in ingress and not address:
            found.append(forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set"))
        elif ingress.get("ipMode", "VIP") not in ("Proxy", "VIP"):
            found.append(not_supported(f"{at}.ipMode", ingress["ipMode"], ("Proxy", "VIP")))
        if name and (formats.subdomain(name) or not formats.address(name)):
            found.append(invalid(f"{at}.hostname", name, "must be a DNS name, not an IP address"))
    return found


# --- parts of a spec ---


def _of_its_type(spec: Object, path: str) -> Errors:
    """What a service of its type must have, and what it may not."""
    kind = spec.get("type")
    if kind == EXTERNAL_NAME:
        name = spec.get("externalName", "").removesuffix(".")
        for key in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(key):
                yield forbidden(f"{path}.{key}", "may not be set for ExternalName services")
        if not name:
            yield required(f"{path}.externalName")
        else:
            yield from each(f"{path}.externalName", name, formats.subdomain(name))
    elif not spec.get("ports") and not is_headless(spec):
        yield required(f"{path}.ports")
    if kind in (LOAD_BALANCER, NODE_PORT) and is_headless(spec):
        yield invalid(f"{path}.clusterIPs[0]", NONE, f"may not be set to 'None' for {kind} services")
    if kind != LOAD_BALANCER:
        for key in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if key in spec:
                yield forbidden(f"{path}.{key}", "may only be used when `type` is 'LoadBalancer'")


def _ports(spec: Object, path: str) -> Errors:
    """Each has a name if there are several, and is there once."""
    ports = spec.get("ports") or []
    seen: set[tuple[str, str, int]] = set()
    for index, port in enumerate(ports):
        at, protocol = f"{path}.ports[{index}]", port.get("protocol", "")
        if not port.get("name") and len(ports) > 1:
            yield required(f"{at}.name")
        if spec.get("type") == CLUSTER_IP and port.get("nodePort"):
            yield forbidden(f"{at}.nodePort", "may not be used when `type` is 'ClusterIP'")
        for key, where in (("nodePort", f"{at}.nodePort"), ("port", at)):
            place = (key, protocol, port.get(key, 0))
            if place in seen and (key == "port" or place[2]):
                yield duplicate(where, place[2])
            seen.add(place)


def _traffic(spec: Object, path: str) -> Errors:
    policy, health = spec.get("externalTrafficPolicy"), spec.get("healthCheckNodePort", 0)
    if policy and not is_external(spec):
        yield invalid(f"{path}.externalTrafficPolicy", policy, "may only be set for externally-accessible services")
    if needs_health_check(spec) and not health:
        yield required(f"{path}.healthCheckNodePort")
    elif health and not needs_health_check(spec):
        words = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid(f"{path}.healthCheckNodePort", health, words)


_SERVICE = Book(
    {
        "core.v1.ServiceSpec": Rules(
            checks={"loadBalancerClass": formats.qualified, "healthCheckNodePort": formats.given_port},
            values={"trafficDistribution": ("PreferClose", "PreferSameZone", "PreferSameNode")},
            unique={"ports": "name"},
            code=(_of_its_type, _ports, _traffic),
        ),
        "core.v1.ServicePort": Rules(
            checks={
                "name": formats.label,
                "port": formats.port_number,
                "targetPort": formats.port,
                "appProtocol": formats.qualified,
            }
        ),
        "core.v1.ClientIPConfig": Rules(checks={"timeoutSeconds": formats.within(1, _LONGEST_AFFINITY)}),
    }
)


def _external_address_errors(spec: Object, existing: Sequence[str]) -> list[FieldError]:
    found = []
    for index, address in enumerate(spec.get("externalIPs") or ()):
        problems = () if address in existing else formats.address(address)
        found += each(f"spec.externalIPs[{index}]", address, problems or _special_problems(address))
    return found


def _special_problems(address: str) -> list[str]:
    """Of an address that means something to every machine."""
    given = ip_address(address)
    is_local = given.is_unspecified or given.is_loopback or given.is_link_local
    if is_local or (given.is_multicast and address.startswith(("224.0.0.", "ff02:"))):
        return ["may not be unspecified, nor in the loopback, link-local or link-local multicast range"]
    return []


def _source_range_errors(service: Object) -> list[FieldError]:
    """Of the sources that a load balancer takes; they stood in an annotation once."""
    spec = service["spec"]
    ranges: list[str] = spec.get("loadBalancerSourceRanges") or []
    annotation: str | None = (service["metadata"].get("annotations") or {}).get(_RANGES)
    places = [(f"spec.LoadBalancerSourceRanges[{index}]", one) for index, one in enumerate(ranges)]
    field = "spec.LoadBalancerSourceRanges" if ranges else f"metadata.annotations[{_RANGES}]"
    if not ranges and annotation is None:
        return []
    if not ranges and annotation is not None:
        places = [(field, one) for one in annotation.split(",")] if annotation.strip() else []
    found = []
    if spec.get("type") != LOAD_BALANCER:
        found.append(forbidden(field, "may only be used when `type` is 'LoadBalancer'"))
    for at, one in places:
        found += each(at, one.strip(), formats.network(one.strip()))
    return found


def _address_change_errors(new: list[str], old: list[str]) -> list[FieldError]:
    if not new and old:
        return [invalid("spec.clusterIPs[0]", new, "primary clusterIP can not be unset")]
    pairs = enumerate(zip(old, new, strict=False)) if len(new) == len(old) else [(0, (old[:1], new[:1]))] if old else []
    return [
        invalid(f"spec.clusterIPs[{index}]", new, "may not change once set")
        for index, (before, after) in pairs
        if before != after
    ]


def warnings(service: Object, _old: Object | None) -> list[str]:
    """Of fields that are ignored, or will be."""
    spec = service["spec"]
    headless, external, addresses = is_headless(spec), spec["type"] == EXTERNAL_NAME, bool(spec.get("externalIPs"))
    affinity, close = spec.get("sessionAffinity") != NONE, spec.get("trafficDistribution") == "PreferClose"
    found = {
        "spec.loadBalancerIP is ignored for headless services": headless and spec.get("loadBalancerIP"),
        "spec.externalIPs is ignored for headless services": headless and addresses,
        "spec.SessionAffinity is ignored for headless services": headless and affinity,
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters": (
            addresses and not headless and not external
        ),
        'spec.externalIPs is ignored when spec.type is "ExternalName"': addresses and external,
        'spec.externalName is ignored when spec.type is not "ExternalName"': spec.get("externalName") and not external,
        'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"': close,
    }
    return [words for words, holds in found.items() if holds]
