"""What the strings and numbers in a pod may look like, and what Kubernetes says of others.

Each check gives the problems of one value, in words, and keeps its answers: in a cluster the same few values come again
and again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from muster.base.caching import remembered
from muster.local.checks import names
from muster.local.checks.fields import FieldError, invalid, not_supported, required

Errors = Iterator[FieldError]
Problems = Callable[[str], tuple[str, ...]]

LARGEST_INT32 = 2**31 - 1
NOT_POSITIVE = "must be greater than zero"

# a thousand pods of a job differ in their names only; a large cluster has some thousand label values
_CACHED = 1 << 14


def each(path: str, value: Any, problems: Iterable[str]) -> Errors:
    """An error for each problem of the value."""
    for problem in problems:
        yield invalid(path, value, problem)


def named(path: str, value: str, problems: Problems) -> Errors:
    """The value must be there and have no problems."""
    if not value:
        yield required(path)
    else:
        yield from each(path, value, problems(value))


def one_of(path: str, value: str, allowed: tuple[str, ...]) -> Errors:
    """The value must be there and be one of those; they are named in this order."""
    if not value:
        yield required(path)
    elif value not in allowed:
        yield not_supported(path, value, allowed)


def between(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def within(path: str, value: int, *, low: int, high: int) -> Errors:
    if not low <= value <= high:
        yield invalid(path, value, between(low, high))


def positive(path: str, value: int) -> Errors:
    if value <= 0:
        yield invalid(path, value, NOT_POSITIVE)


def identity(path: str, value: int) -> Errors:
    """Of a user or a group."""
    return within(path, value, low=0, high=LARGEST_INT32)


def _kept(problems: Callable[[str], list[str]]) -> Problems:
    @remembered(_CACHED)
    def kept(value: str) -> tuple[str, ...]:
        return tuple(problems(value))

    return kept


label = _kept(names.label_problems)
subdomain = _kept(names.subdomain_problems)
subdomain_prefix = _kept(lambda value: names.subdomain_problems(value, True))
qualified = _kept(names.qualified_problems)
label_value = _kept(names.label_value_problems)
port_name = _kept(names.port_name_problems)
config_key = _kept(names.config_key_problems)


def port_number(path: str, value: int) -> Errors:
    return within(path, value, low=1, high=65535)


def port(path: str, value: int | str) -> Errors:
    """A number, or the name of a container's port."""
    if isinstance(value, int):
        yield from port_number(path, value)
    else:
        yield from each(path, value, port_name(value))


@_kept
def variable(value: str) -> list[str]:
    """Of the name of an environment variable."""
    if all(" " <= one <= "~" and one != "=" for one in value):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


_HEADER = re.compile(r"[-A-Za-z0-9]+")


@_kept
def header(value: str) -> list[str]:
    """Of the name of an HTTP header."""
    if _HEADER.fullmatch(value):
        return []
    words = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [names.regex_words(words, _HEADER.pattern, "X-Header-Name")]


_SEARCH_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH = re.compile(rf"{_SEARCH_LABEL}(\.{_SEARCH_LABEL})*")


@_kept
def search_domain(value: str) -> list[str]:
    problems = []
    if len(value) > names.LONGEST_SUBDOMAIN:
        problems.append(f"must be no more than {names.LONGEST_SUBDOMAIN} characters")
    if not _SEARCH.fullmatch(value):
        words = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and "
            "must start and end with an alphanumeric character"
        )
        problems.append(names.regex_words(words, _SEARCH.pattern, "example.com"))
    return problems


_LEADING_ZEROS = re.compile(r"\b0+(?=[0-9])")


@_kept
def address(value: str) -> list[str]:
    """Of an IP address."""
    found = _address(value)
    if found is None and _address(_LEADING_ZEROS.sub("", value)) is not None:
        return ["must not have leading 0s"]
    if found is None:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    if _is_mapped(found):
        return ["must not be an IPv4-mapped IPv6 address"]
    return []


@_kept
def network(value: str) -> list[str]:
    """Of a CIDR."""
    host, _, length = value.partition("/")
    plain_host, plain_length = _LEADING_ZEROS.sub("", host), _LEADING_ZEROS.sub("", length)
    found = _address(plain_host)
    if found is None or not plain_length.isdecimal() or int(plain_length) > found.max_prefixlen:
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    if _address(host) is None or plain_length != length:
        return ["must not have leading 0s in IP or prefix length"]
    if _is_mapped(found):
        return ["must not have an IPv4-mapped IPv6 address"]
    if ip_network(value, strict=False).network_address != found:
        return ["must not have bits set beyond the prefix length"]
    return []


def are_dual_stack(addresses: Iterable[str]) -> bool:
    """Whether there is one of each family, at least; CIDRs are taken too."""
    return len({":" in one for one in addresses}) == 2


def _address(value: str) -> IPv4Address | IPv6Address | None:
    try:
        return None if "%" in value else ip_address(value)
    except ValueError:
        return None


def _is_mapped(found: IPv4Address | IPv6Address) -> bool:
    return isinstance(found, IPv6Address) and found.ipv4_mapped is not None


def descending(path: str, value: str) -> Errors:
    """A path below some directory: relative, without steps up."""
    if value.startswith("/"):
        yield invalid(path, value, "must be a relative path")
    yield from without_steps_up(path, value)


def without_steps_up(path: str, value: str) -> Errors:
    if ".." in value.split("/"):
        yield invalid(path, value, "must not contain '..'")


def file_path(path: str, value: str) -> Errors:
    """Of a file in a volume that the kubelet writes; names with two dots in front are its own."""
    yield from descending(path, value)
    if value.startswith("..") and not value.startswith("../"):
        yield invalid(path, value, "must not start with '..'")
