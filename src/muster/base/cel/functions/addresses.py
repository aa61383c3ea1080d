"""Addresses and networks: net.IP and net.CIDR of Kubernetes."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any

from muster.base.cel.functions.define import define
from muster.base.cel.values import Opaque
from muster.base.errors import CelError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Interface | ipaddress.IPv6Interface

_IP, _CIDR = "net.IP", "net.CIDR"
_LENGTH = re.compile(r"0|[1-9][0-9]{0,2}")
_EVERYONE = ipaddress.IPv4Address("255.255.255.255")


def _address(text: str) -> Address | str:
    """The address, or why there is none: Kubernetes takes neither zones nor IPv4 in IPv6."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return f'IP Address "{text}" parse error during conversion from string: unable to parse IP'
    if "%" in text:
        return f'IP address "{text}" with zone value is not allowed'
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        return f'IPv4-mapped IPv6 address "{text}" is not allowed'
    return found


def _network(text: str) -> Network | str:
    head, _, length = text.partition("/")
    found = _address(head)
    if isinstance(found, str) or not _LENGTH.fullmatch(length) or int(length) > found.max_prefixlen:
        return f'network address parse error during conversion from string: "{text}"'
    return ipaddress.ip_interface(text)


def _made(kind: str, found: Any) -> Opaque:
    if isinstance(found, str):
        raise CelError(found)
    return Opaque(kind, found)


define("ip", "(string) IP")(lambda text: _made(_IP, _address(text)))
define("isIP", "(string) bool")(lambda text: not isinstance(_address(text), str))
define("family", "IP.() int")(lambda given: given.value.version)


@define("ip.isCanonical", "(string) bool")
def _is_canonical(text: str) -> bool:
    return str(_made(_IP, _address(text)).value) == text


_TRAITS: dict[str, Callable[[Address], bool]] = {
    "isUnspecified": lambda one: one.is_unspecified,
    "isLoopback": lambda one: one.is_loopback,
    "isLinkLocalMulticast": lambda one: (
        one in ipaddress.ip_network("224.0.0.0/24") or (one.version == 6 and int(one) >> 112 & 0xFF0F == 0xFF02)
    ),
    "isLinkLocalUnicast": lambda one: one.is_link_local,
    "isGlobalUnicast": lambda one: (
        not (one.is_unspecified or one.is_loopback or one.is_multicast or one.is_link_local) and one != _EVERYONE
    ),
}
for _name, _trait in _TRAITS.items():
    define(_name, "IP.() bool")(lambda given, trait=_trait: trait(given.value))

define("cidr", "(string) CIDR")(lambda text: _made(_CIDR, _network(text)))
define("isCIDR", "(string) bool")(lambda text: not isinstance(_network(text), str))
define("ip", "CIDR.() IP")(lambda given: Opaque(_IP, given.value.ip))
define("prefixLength", "CIDR.() int")(lambda given: given.value.network.prefixlen)
define("masked", "CIDR.() CIDR")(lambda given: Opaque(_CIDR, ipaddress.ip_interface(str(given.value.network))))
define("string", "(IP) string", "(CIDR) string")(lambda given: str(given.value))


@define("containsIP", "CIDR.(IP) bool", "CIDR.(string) bool")
def _contains_ip(given: Opaque, other: Any) -> bool:
    address = other if isinstance(other, Opaque) else _made(_IP, _address(other))
    return bool(address.value in given.value.network)


@define("containsCIDR", "CIDR.(CIDR) bool", "CIDR.(string) bool")
def _contains_cidr(given: Opaque, other: Any) -> bool:
    inner = (other if isinstance(other, Opaque) else _made(_CIDR, _network(other))).value.network
    return inner.version == given.value.version and bool(inner.subnet_of(given.value.network))
