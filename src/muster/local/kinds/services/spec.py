"""What is wrong with the spec of a Service, with a change of it, or with the addresses in its status."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

from muster.local.checks import names
from muster.local.checks.fields import FieldError, duplicate, forbidden, invalid, not_supported, required
from muster.local.checks.metadata import label_errors
from muster.local.codec.values import Object
from muster.local.kinds.pods import formats as pod_formats

NONE = "None"
CLUSTER_IP, NODE_PORT, LOAD_BALANCER, EXTERNAL_NAME = "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"
INTERNAL_TYPES = (NODE_PORT, LOAD_BALANCER, CLUSTER_IP)

_TYPES = (CLUSTER_IP, EXTERNAL_NAME, LOAD_BALANCER, NODE_PORT)
_PROTOCOLS = ("SCTP", "TCP", "UDP")
POLICIES = ("Cluster", "Local")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_LONGEST_AFFINITY = 86_400
_ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"
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
        *_type_errors(spec),
        *_port_errors(spec),
        *label_errors(spec.get("selector"), "spec.selector"),
        *_affinity_errors(spec),
        *address_errors(spec, before.get("clusterIPs") or []),
        *_external_address_errors(spec, before.get("externalIPs") or []),
        *_choice_errors(spec.get("type", ""), "spec.type", _TYPES),
        *_repeated_port_errors(spec),
        *_source_range_errors(service),
        *_load_balancer_errors(spec),
        *_traffic_errors(spec),
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
    """Of clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy."""
    if spec.get("type") == EXTERNAL_NAME:
        return []
    field, addresses = "spec.clusterIPs", spec.get("clusterIPs") or []
    found = []
    if spec.get("clusterIP") and not addresses:
        found.append(required(field))
    elif spec.get("clusterIP") and addresses[0] != spec["clusterIP"]:
        found.append(invalid(field, addresses, "first value must match `clusterIP`"))
    elif addresses and not spec.get("clusterIP"):
        found.append(invalid(field, addresses, "must be empty when `clusterIP` is not specified"))
    found += _family_errors(spec)
    bad = _bad_address_errors(addresses, existing)
    if len(addresses) > 2:
        bad_count = [invalid(field, addresses, "may only hold up to 2 values")]
    else:
        bad_count = []
    if bad:
        return found + bad + bad_count
    return found + bad_count + _stack_errors(spec, addresses)


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
        at, address, mode = f"{field}[{index}]", ingress.get("ip", ""), ingress.get("ipMode")
        if address and address not in existing:
            found += _problems(pod_formats.address(address), address, f"{at}.ip")
        if mode is not None and not address:
            found.append(forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set"))
        elif mode is not None and mode not in ("Proxy", "VIP"):
            found.append(not_supported(f"{at}.ipMode", mode, ("Proxy", "VIP")))
        found += _hostname_errors(ingress.get("hostname", ""), f"{at}.hostname")
    return found


# --- parts of a spec ---


def _type_errors(spec: Object) -> list[FieldError]:
    found = []
    kind = spec.get("type")
    if not spec.get("ports") and not is_headless(spec) and kind != EXTERNAL_NAME:
        found.append(required("spec.ports"))
    if kind in (LOAD_BALANCER, NODE_PORT) and is_headless(spec):
        found.append(invalid("spec.clusterIPs[0]", NONE, f"may not be set to 'None' for {kind} services"))
    if kind == EXTERNAL_NAME:
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name):
                found.append(forbidden(f"spec.{name}", "may not be set for ExternalName services"))
        name = spec.get("externalName", "").removesuffix(".")
        found += _problems(names.subdomain_problems(name), name, "spec.externalName") if name else []
        found += [] if name else [required("spec.externalName")]
    return found


def _port_errors(spec: Object) -> list[FieldError]:
    found, seen = [], set()
    ports = spec.get("ports") or []
    for index, port in enumerate(ports):
        at, name = f"spec.ports[{index}]", port.get("name", "")
        if name:
            found += _problems(names.label_problems(name), name, f"{at}.name")
        elif len(ports) > 1:
            found.append(required(f"{at}.name"))
        if name and name in seen:
            found.append(duplicate(f"{at}.name", name))
        seen.add(name)
        found += _problems(pod_formats.port_number(port.get("port", 0)), port.get("port", 0), f"{at}.port")
        found += _choice_errors(port.get("protocol", ""), f"{at}.protocol", _PROTOCOLS)
        found += _problems(pod_formats.port(port.get("targetPort", 0)), port.get("targetPort", 0), f"{at}.targetPort")
        if "appProtocol" in port:
            protocol = port["appProtocol"]
            found += _problems(names.qualified_problems(protocol), protocol, f"{at}.appProtocol")
    return found


def _affinity_errors(spec: Object) -> list[FieldError]:
    found = _choice_errors(spec.get("sessionAffinity", ""), "spec.sessionAffinity", ("ClientIP", NONE))
    if spec.get("sessionAffinity") == "ClientIP":
        seconds = ((spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get("timeoutSeconds")
        field = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        if seconds is not None and not 0 < seconds <= _LONGEST_AFFINITY:
            words = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
            found.append(invalid(field, seconds, words))
    return found


def _family_errors(spec: Object) -> list[FieldError]:
    found = []
    families = spec.get("ipFamilies") or []
    for index, family in enumerate(families):
        if family not in ("IPv4", "IPv6"):
            found.append(not_supported(f"spec.ipFamilies[{index}]", family, ("IPv4", "IPv6")))
        if family in families[:index]:
            found.append(duplicate(f"spec.ipFamilies[{index}]", family))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _FAMILY_POLICIES:
        found.append(not_supported("spec.ipFamilyPolicy", policy, _FAMILY_POLICIES))
    return found


def _bad_address_errors(addresses: list[str], existing: Sequence[str]) -> list[FieldError]:
    found = []
    for index, address in enumerate(addresses):
        if index == 0 and address == NONE:
            if len(addresses) > 1:
                words = "'None' must be the first and only value"
                found.append(invalid("spec.clusterIPs", addresses, words))
            continue
        if address not in existing:
            found += _problems(pod_formats.address(address), address, f"spec.clusterIPs[{index}]")
    return found


def _stack_errors(spec: Object, addresses: list[str]) -> list[FieldError]:
    """Of sound addresses: one of each family, as the families say."""
    found = []
    if is_headless(spec) or not addresses:
        return []
    versions = [ip_address(address).version for address in addresses]
    if len(versions) > 1 and sorted(versions) != [4, 6]:
        words = "may specify no more than one IP for each IP family"
        found.append(invalid("spec.clusterIPs", addresses, words))
    for index, (version, family) in enumerate(zip(versions, spec.get("ipFamilies") or [], strict=False)):
        if family in ("IPv4", "IPv6") and family != f"IPv{version}":
            words = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            found.append(invalid(f"spec.clusterIPs[{index}]", addresses[index], words))
    return found


def _external_address_errors(spec: Object, existing: Sequence[str]) -> list[FieldError]:
    found = []
    for index, address in enumerate(spec.get("externalIPs") or ()):
        field = f"spec.externalIPs[{index}]"
        problems = [] if address in existing else list(pod_formats.address(address))
        found += _problems(problems or _special_problems(address), address, field)
    return found


def _special_problems(address: str) -> list[str]:
    """Of an address that means something to every machine."""
    given = ip_address(address)
    found = []
    if given.is_unspecified:
        found.append(f"may not be unspecified ({address})")
    if given.is_loopback:
        found.append("may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if given.is_link_local:
        found.append("may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if given.is_multicast and address.startswith(("224.0.0.", "ff02:")):
        found.append("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
    return found


def _repeated_port_errors(spec: Object) -> list[FieldError]:
    found: list[FieldError] = []
    ports = spec.get("ports") or []
    for index, port in enumerate(ports):
        if spec.get("type") == CLUSTER_IP and port.get("nodePort"):
            words = "may not be used when `type` is 'ClusterIP'"
            found.append(forbidden(f"spec.ports[{index}].nodePort", words))
    for index, port in enumerate(ports):
        same = [one for one in ports[:index] if one.get("protocol") == port.get("protocol")]
        if port.get("nodePort") and any(one.get("nodePort") == port["nodePort"] for one in same):
            found.append(duplicate(f"spec.ports[{index}].nodePort", port["nodePort"]))
    for index, port in enumerate(ports):
        key = {"protocol": port.get("protocol"), "port": port.get("port")}
        if any({name: one.get(name) for name in key} == key for one in ports[:index]):
            found.append(duplicate(f"spec.ports[{index}]", _shown_port(key)))
    return found


def _shown_port(key: Object) -> Object:
    shown = {"Name": "", "Protocol": key["protocol"], "AppProtocol": None, "Port": key["port"]}
    return {**shown, "TargetPort": 0, "NodePort": 0}


def _source_range_errors(service: Object) -> list[FieldError]:
    spec = service["spec"]
    field, ranges = "spec.LoadBalancerSourceRanges", spec.get("loadBalancerSourceRanges") or []
    annotation: str | None = (service["metadata"].get("annotations") or {}).get(_RANGES)
    if not ranges and annotation is None:
        return []
    at = [f"{field}[{index}]" for index in range(len(ranges))]
    if not ranges and annotation is not None:
        field = f"metadata.annotations[{_RANGES}]"
        ranges = annotation.split(",") if annotation.strip() else []
        at = [field] * len(ranges)
    found = [] if spec.get("type") == LOAD_BALANCER else [forbidden(field, _ONLY_LOAD_BALANCER)]
    for where, given in zip(at, ranges, strict=True):
        found += _problems(pod_formats.network(given.strip()), given.strip(), where)
    return found


def _load_balancer_errors(spec: Object) -> list[FieldError]:
    found = []
    is_balancer = spec.get("type") == LOAD_BALANCER
    if "allocateLoadBalancerNodePorts" in spec and not is_balancer:
        found.append(forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_LOAD_BALANCER))
    if "loadBalancerClass" in spec:
        given = spec["loadBalancerClass"]
        field = "spec.loadBalancerClass"
        found += _problems(names.qualified_problems(given), given, field) if is_balancer else []
        found += [] if is_balancer else [forbidden(field, _ONLY_LOAD_BALANCER)]
    return found


def _traffic_errors(spec: Object) -> list[FieldError]:
    found = []
    policy, health = spec.get("externalTrafficPolicy", ""), spec.get("healthCheckNodePort", 0)
    if is_external(spec):
        found += _choice_errors(policy, "spec.externalTrafficPolicy", POLICIES)
    elif policy:
        words = "may only be set for externally-accessible services"
        found.append(invalid("spec.externalTrafficPolicy", policy, words))
    if needs_health_check(spec):
        found += _problems(pod_formats.given_port(health), health, "spec.healthCheckNodePort")
        found += [] if health else [required("spec.healthCheckNodePort")]
    elif health:
        words = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        found.append(invalid("spec.healthCheckNodePort", health, words))
    internal = spec.get("internalTrafficPolicy")
    if internal is not None and internal not in POLICIES:
        found.append(not_supported("spec.internalTrafficPolicy", internal, POLICIES))
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        found.append(not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS))
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


def _hostname_errors(name: str, field: str) -> list[FieldError]:
    if not name:
        return []
    found = _problems(names.subdomain_problems(name), name, field)
    if not pod_formats.address(name):
        found.append(invalid(field, name, "must be a DNS name, not an IP address"))
    return found


def _choice_errors(value: str, field: str, supported: Sequence[str]) -> list[FieldError]:
    if not value:
        return [required(field)]
    return [] if value in supported else [not_supported(field, value, supported)]


def _problems(problems: Sequence[str], value: Any, field: str) -> list[FieldError]:
    return [invalid(field, value, problem) for problem in problems]


def warnings(service: Object, _old: Object | None) -> list[str]:
    """Of fields that are ignored, or will be."""
    spec, found = service["spec"], []
    external, addresses = spec["type"] == EXTERNAL_NAME, bool(spec.get("externalIPs"))
    if is_headless(spec):
        if spec.get("loadBalancerIP"):
            found.append("spec.loadBalancerIP is ignored for headless services")
        if addresses:
            found.append("spec.externalIPs is ignored for headless services")
        if spec.get("sessionAffinity") != "None":
            found.append("spec.SessionAffinity is ignored for headless services")
    elif addresses and not external:
        found.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if addresses and external:
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if spec.get("externalName") and not external:
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found
