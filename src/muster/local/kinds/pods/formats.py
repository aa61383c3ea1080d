"""What the strings and numbers in a pod may look like: each check gives the problems of one value, in words.

Answers about texts are kept: in a cluster the same few come again and again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from muster.base.caching import remembered
from muster.local.checks import names
from muster.local.checks.fields import FieldError, invalid, required, too_long

Problems = Callable[[Any], tuple[str, ...]]

LARGEST_INT32 = 2**31 - 1
_LONGEST_DRIVER = 63

# a thousand pods of a job differ in their names only; a large cluster has some thousand label values
_CACHED = 1 << 14


def each(path: str, value: Any, problems: Iterable[str]) -> list[FieldError]:
    """An error for each problem of the value."""
    return [invalid(path, value, problem) for problem in problems]


def driver_errors(name: str, path: str) -> Iterator[FieldError]:
    """Of the name of a driver, of volumes or of devices."""
    if not name:
        yield required(path)
    elif len(name) > _LONGEST_DRIVER:
        yield too_long(path, _LONGEST_DRIVER)
    else:
        yield from each(path, name, subdomain(name.lower()))


def within(low: int, high: int) -> Problems:
    words = (f"must be between {low} and {high}, inclusive",)
    return lambda value: () if low <= value <= high else words


def at_least(low: int) -> Problems:
    words = ("must be greater than zero" if low == 1 else f"must be greater than or equal to {low}",)
    return lambda value: () if value >= low else words


positive, not_negative = at_least(1), at_least(0)
identity = within(0, LARGEST_INT32)
"""Of a user or a group."""
port_number = within(1, 65535)
given_port = within(0, 65535)
"""Of a port that is none if it is 0."""
file_mode = within(0, 0o777)


def _kept(problems: Callable[[str], list[str]]) -> Problems:
    @remembered(_CACHED)
    def kept(value: str) -> tuple[str, ...]:
        return tuple(problems(value))

    return kept


label = _kept(names.label_problems)
subdomain = _kept(names.subdomain_problems)
subdomain_or_none = _kept(lambda value: names.subdomain_problems(value) if value else [])
subdomain_prefix = _kept(lambda value: names.subdomain_problems(value, True))
qualified = _kept(names.qualified_problems)
label_value = _kept(names.label_value_problems)
port_name = _kept(names.port_name_problems)
config_key = _kept(names.config_key_problems)


def port(value: int | str) -> tuple[str, ...]:
    """A number, or the name of a container's port."""
    return port_number(value) if isinstance(value, int) else port_name(value)


def matching(pattern: str, *, longest: int = names.LONGEST_SUBDOMAIN) -> Problems:
    compiled = re.compile(pattern)
    words = [f"must have at most {longest} characters and match regex ^{pattern}$"]
    return _kept(lambda value: [] if len(value) <= longest and compiled.fullmatch(value) else words)


variable = matching("[ -<>-~]*", longest=1 << 20)
"""The name of an environment variable: printable, without an equals sign."""
header = matching("[-A-Za-z0-9]+", longest=1 << 20)
_SEARCH_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
search_domain = matching(rf"\.|{_SEARCH_LABEL}(\.{_SEARCH_LABEL})*\.?", longest=names.LONGEST_SUBDOMAIN + 1)
_SYSCTL_PART = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
sysctl = matching(rf"({_SYSCTL_PART}[\./])*{_SYSCTL_PART}")


@_kept
def address(value: str) -> list[str]:
    """Of an IP address."""
    found = _address(value)
    if found is None or _is_mapped(found):
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    return []


@_kept
def network(value: str) -> list[str]:
    """Of a CIDR: nothing is set beyond the length of its prefix."""
    host, _, length = value.partition("/")
    found = _address(host)
    is_plain = length.isdecimal() and length == str(int(length))
    if found is None or _is_mapped(found) or not is_plain or int(length) > found.max_prefixlen:
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    if ip_network(value, strict=False).network_address != found:
        return ["must not have bits set beyond the prefix length"]
    return []


def too_many_families(addresses: list[str]) -> bool:
    """Whether there is more than one of a family; CIDRs are taken too."""
    return len(addresses) > len({":" in one for one in addresses})


def _address(value: str) -> IPv4Address | IPv6Address | None:
    try:
        return None if "%" in value else ip_address(value)
    except ValueError:
        return None


def _is_mapped(found: IPv4Address | IPv6Address) -> bool:
    return isinstance(found, IPv6Address) and found.ipv4_mapped is not None


def objects_in(text: str, *texts: str) -> list[Any] | None:
    """The list of objects that an annotation holds, these fields of which are texts; None if it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_sound = isinstance(found, list) and all(
        isinstance(one, dict) and all(isinstance(one.get(name, ""), str) for name in texts) for one in found
    )
    return found if is_sound else None


def without_steps_up(value: str) -> tuple[str, ...]:
    return ("must not contain '..'",) if ".." in value.split("/") else ()


def descending(value: str) -> tuple[str, ...]:
    """A path below some directory: relative, without steps up."""
    return (("must be a relative path",) if value.startswith("/") else ()) + without_steps_up(value)


def file_path(value: str) -> tuple[str, ...]:
    """Of a file in a volume that the kubelet writes; names with two dots in front are its own."""
    own = value.startswith("..") and not value.startswith("../")
    return descending(value) + (("must not start with '..'",) if own else ())


def absolute(value: str) -> tuple[str, ...]:
    return () if value.startswith("/") else ("must be an absolute path",)


def unpadded(value: str) -> tuple[str, ...]:
    is_fine = value and value == value.strip() and len(value) < 4096
    return () if is_fine else ("must be there, not padded with whitespace and of at most 4095 characters",)
