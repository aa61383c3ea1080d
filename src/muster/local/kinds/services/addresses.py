"""Addresses and ports for Services, of a cluster that knows IPv4 alone.

    service_addresses.adopt(new, old)                       what a client left out of a change, as it was
    errors = service_addresses.assign(new, old, used)       what is missing, or why it cannot be had

Both come before all other preparation and validation of a write, as with Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, ip_address

import msgspec

from muster.local.checks.fields import FieldError, invalid
from muster.local.codec.values import Object
from muster.local.kinds import status
from muster.local.kinds.services import spec as service_spec
from muster.local.kinds.services.spec import EXTERNAL_NAME, LOAD_BALANCER, NONE, needs_health_check

NETWORK = IPv4Network("10.0.0.0/24")
FIRST_PORT, LAST_PORT = 30_000, 32_767
# what is asked for by name comes from the lower parts, if users heed the advice of Kubernetes
_OWN_ADDRESSES, _OWN_PORTS = 16, 86
_DRY_RUN_PORT = 32_769


class Used(msgspec.Struct, frozen=True):
    """What other services have."""

    addresses: frozenset[str] = frozenset()
    ports: frozenset[int] = frozenset()


def used_by(services: Iterable[Object]) -> Used:
    addresses: set[str] = set()
    ports: set[int] = set()
    for service in services:
        spec = service["spec"]
        addresses.update(one for one in spec.get("clusterIPs") or () if one != NONE)
        ports.update(port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort"))
        ports.update({spec["healthCheckNodePort"]} if spec.get("healthCheckNodePort") else ())
    return Used(frozenset(addresses), frozenset(ports))


def adopt(new: Object, old: Object | None) -> None:
    """Makes clusterIP and clusterIPs agree, and takes from the stored service what a client left out."""
    spec = new["spec"]
    if old is None:
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        return
    before = old["spec"]
    if EXTERNAL_NAME not in (spec["type"], before["type"]):
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name) and before.get(name):
                spec[name] = before[name]
    _adopt_ports(spec, before)
    if spec.get("clusterIPs") == before.get("clusterIPs") and spec.get("clusterIP") != before.get("clusterIP"):
        spec["clusterIPs"] = [spec["clusterIP"]] if spec.get("clusterIP") else []


def assign(new: Object, old: Object | None, used: Used, *, dry_run: bool = False) -> list[FieldError]:
    """Gives a service the addresses and ports that it needs and lacks; or says why it cannot have those it names.

    A dry run gets what nobody can really have, as from Kubernetes.
    """
    spec = new["spec"]
    before = old["spec"] if old is not None else {}
    if spec["type"] != EXTERNAL_NAME:
        errors = _family_errors(new, old)
        if errors:
            return errors
        errors = _assign_address(spec, before, used, dry_run=dry_run)
        if errors:
            return errors
    return _assign_ports(spec, before, used, dry_run=dry_run)


# --- families and addresses ---


def _family_errors(new: Object, old: Object | None) -> list[FieldError]:
    """Settles ipFamilyPolicy and ipFamilies."""
    spec = new["spec"]
    before = old["spec"] if old is not None else {}
    headless = spec.get("clusterIP") == NONE and not spec.get("selector")
    if "ipFamilyPolicy" not in spec:
        usual = "RequireDualStack" if headless else "SingleStack"
        spec["ipFamilyPolicy"] = before.get("ipFamilyPolicy", usual)
    errors = service_spec.address_errors(spec, before.get("clusterIPs") or [])
    errors = errors or _single_errors(spec) + _infer_families(spec)
    if errors:
        return errors
    families = spec.get("ipFamilies") or []
    policy = spec["ipFamilyPolicy"]
    if headless:
        families = families or ["IPv4"]
        if len(families) < 2 and policy != "SingleStack":
            families = [*families, "IPv6" if families[0] == "IPv4" else "IPv4"]
        spec["ipFamilies"] = families
        return []
    if policy == "RequireDualStack":
        words = "this cluster is not configured for dual-stack services"
        errors.append(invalid("spec.ipFamilyPolicy", policy, words))
    for index, family in enumerate(families):
        if family != "IPv4":
            errors.append(invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    spec["ipFamilies"] = families or ["IPv4"]
    return errors


def _single_errors(spec: Object) -> list[FieldError]:
    several = any(len(spec.get(name) or ()) == 2 for name in ("clusterIPs", "ipFamilies"))
    if spec["ipFamilyPolicy"] != "SingleStack" or not several:
        return []
    words = "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families or addresses are specified"
    return [invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], words)]


def _infer_families(spec: Object) -> list[FieldError]:
    """Each address without a family gets its own."""
    errors = []
    addresses, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    for index, address in enumerate(addresses[len(families) :] if NONE not in addresses[:1] else (), len(families)):
        if ip_address(address).version == 4:
            spec["ipFamilies"] = [*(spec.get("ipFamilies") or ()), "IPv4"]
        else:
            errors.append(invalid(f"spec.clusterIPs[{index}]", addresses, "IPv6 is not configured on this cluster"))
    return errors


def _assign_address(spec: Object, before: Object, used: Used, *, dry_run: bool) -> list[FieldError]:
    addresses = spec.get("clusterIPs") or []
    if addresses[:1] == [NONE]:
        return []
    if addresses:
        if addresses == before.get("clusterIPs"):
            return []
        problem = _address_problem(addresses[0], used, dry_run=dry_run)
        words = f"failed to allocate IP {addresses[0]}: {problem}"
        return [invalid("spec.clusterIPs", addresses, words)] if problem else []
    spec["clusterIP"] = str(NETWORK.network_address) if dry_run else _free_address(used)
    spec["clusterIPs"] = [spec["clusterIP"]]
    return []


def _address_problem(address: str, used: Used, *, dry_run: bool) -> str:
    if ip_address(address) not in NETWORK:
        words = f"the provided IP ({address}) is not in the valid range."
        return f"{words} The range of valid IPs is {NETWORK}"
    return "provided IP is already allocated" if address in used.addresses and not dry_run else ""


def _free_address(used: Used) -> str:
    hosts = [str(host) for host in NETWORK.hosts()]
    free = [host for host in (*hosts[_OWN_ADDRESSES:], *hosts[:_OWN_ADDRESSES]) if host not in used.addresses]
    return free[0] if free else ""


# --- ports ---


def _adopt_ports(spec: Object, before: Object) -> None:
    with_ports = ("NodePort", LOAD_BALANCER)
    if spec["type"] in with_ports and before["type"] in with_ports:
        old = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
        given = {port.get("nodePort", 0) for port in spec.get("ports") or ()}
        for port in spec.get("ports") or ():
            adopted = old.get(port.get("name", ""), 0)
            if not port.get("nodePort") and adopted and adopted not in given:
                port["nodePort"] = adopted
    if needs_health_check(spec) and needs_health_check(before) and before.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = spec.get("healthCheckNodePort") or before["healthCheckNodePort"]


def _assign_ports(spec: Object, before: Object, used: Used, *, dry_run: bool) -> list[FieldError]:
    taken, own, seen = set(used.ports), set[int](), set[tuple[str, int]]()
    mine = {port.get("nodePort", 0) for port in before.get("ports") or ()} | {before.get("healthCheckNodePort", 0)}
    if spec["type"] == "NodePort" or spec["type"] == LOAD_BALANCER:
        all_ports = spec["type"] == "NodePort" or spec.get("allocateLoadBalancerNodePorts", True)
        for index, port in enumerate(spec.get("ports") or ()):
            asked = port.get("nodePort", 0)
            if asked and asked not in mine and not (before and asked in own):
                problem = _port_problem(asked, taken, dry_run=dry_run)
                if problem:
                    return [invalid(f"spec.ports[{index}].nodePort", asked, problem)]
            elif not asked and all_ports:
                asked = port["nodePort"] = _dry_port(own) if dry_run else _free_port(taken)
            taken.add(asked)
            own.add(asked)
            place = (port.get("protocol", ""), asked)
            if before and asked and place in seen:
                # of a new service, its validation says it in other words
                raise status.Refusal(500, "", f"duplicate nodePort: {{{place[0]} {asked}}}")
            seen.add(place)
    if needs_health_check(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = _dry_port(own) if dry_run else _free_port(taken)
    return []


def _port_problem(port: int, taken: set[int], *, dry_run: bool) -> str:
    if not FIRST_PORT <= port <= LAST_PORT and not dry_run:
        return f"provided port is not in the valid range. The range of valid ports is {FIRST_PORT}-{LAST_PORT}"
    return "provided port is already allocated" if port in taken else ""


def _free_port(taken: set[int]) -> int:
    first = FIRST_PORT + _OWN_PORTS
    candidates: list[int] = [*range(first, LAST_PORT + 1), *range(FIRST_PORT, first)]
    return next(port for port in candidates if port not in taken)


def _dry_port(own: set[int]) -> int:
    """The next one after those that the service has, whoever has that."""
    return max(own) + 1 if own else _DRY_RUN_PORT
