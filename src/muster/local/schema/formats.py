"""Formats of strings in the schemas of custom kinds, by their names without hyphens.

Checked are those that are cheap to check; the others that the API server knows pass, and so does what nobody knows.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any

__all__ = ["FORMATS", "KNOWN"]

_DATE = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:.\d+)?(?:z|[+-]\d\d:\d\d)"
_UUID = r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"
_MAC = r"[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}"
_BYTE = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"


def _full(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.ASCII | re.IGNORECASE)
    return lambda value: compiled.fullmatch(value) is not None


def _parses(parse: Callable[[str], Any]) -> Callable[[str], bool]:
    def check(value: str) -> bool:
        try:
            parse(value)
        except ValueError:
            return False
        return True

    return check


def _network(value: str) -> object:
    if "/" not in value:
        raise ValueError(value)
    return ipaddress.ip_network(value, strict=False)


FORMATS: dict[str, Callable[[str], bool]] = {
    "datetime": _full(f"{_DATE}t{_TIME}"),
    "date": _full(_DATE),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": _parses(_network),
    "mac": _full(_MAC),
    "uuid": _full(_UUID),
    "byte": _full(_BYTE),
}
KNOWN = frozenset(FORMATS) | {
    *("bsonobjectid", "uri", "email", "hostname", "uuid3", "uuid4", "uuid5", "isbn", "isbn10", "isbn13"),
    *("creditcard", "ssn", "hexcolor", "rgbcolor", "password", "duration", "k8sshortname", "k8slongname"),
}
