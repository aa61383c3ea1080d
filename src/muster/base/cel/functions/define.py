"""How functions are defined.

@define("contains", "string.(string) bool")         a function of a string: text.contains(other)
@define("size", "(list(A)) int", "list(A).() int")  one that can be called in two ways
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from muster.base.cel.types import Type, list_of, map_of, optional_of, parameter
from muster.base.cel.values import (
    Meter,
    kind,
)

Function = TypeVar("Function", bound=Callable[..., Any])


class Overload(msgspec.Struct, frozen=True):
    """One way to call a function."""

    arguments: tuple[Type, ...]
    """With the target first, of a member function."""
    result: Type
    run: Callable[..., Any]
    """Gets the meter first, then the arguments."""
    is_member: bool

    def takes(self, given: tuple[Any, ...]) -> bool:
        """Whether it is meant, by the types of values."""
        return all(
            wanted.is_parameter or wanted.name in ("dyn", kind(value))
            for wanted, value in zip(self.arguments, given, strict=True)
        )


FUNCTIONS: dict[str, list[Overload]] = {}

_NAMED = (
    "dns1123Label dns1123Subdomain dns1035Label dns1123LabelPrefix dns1123SubdomainPrefix dns1035LabelPrefix "
    "qualifiedName labelValue uri uuid byte date datetime named"
)
_OF_URLS = ("url", "isURL", "getScheme", "getHost", "getHostname", "getPort", "getEscapedPath", "getQuery")
MISSING = frozenset((*_OF_URLS, "validate", *(f"format.{name}" for name in _NAMED.split())))
"""Functions of upstream's that are not here, by their names."""

EXTENSIONS = frozenset({"cel.bind", "includes"})
"""What only some expressions may use: those of device selectors, not those of rules."""


def define(name: str, *signatures: str, metered: bool = False) -> Callable[[Function], Function]:
    """metered   The function counts its steps itself; for others the sizes of what they are given count."""

    def decorate(function: Function) -> Function:
        run = function if metered else _counted(function)
        for signature in signatures:
            arguments, result, is_member = _signature(signature)
            FUNCTIONS.setdefault(name, []).append(Overload(arguments, result, run, is_member))
        return function

    return decorate


_SIZED = (str, bytes, list, dict)


def _counted(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(meter: Meter, *given: Any) -> Any:
        steps = 1
        for one in given:
            if isinstance(one, _SIZED):
                steps += len(one) // 10
        meter.spend(steps)
        return function(*given)

    return run


_OPAQUE = {"Quantity": "kubernetes.Quantity", "Semver": "kubernetes.Semver", "IP": "net.IP", "CIDR": "net.CIDR"}
_WORD = re.compile(r"[A-Za-z_.0-9]+|[(),]")


def _signature(text: str) -> tuple[tuple[Type, ...], Type, bool]:
    """Of `target.(a, b) result`."""
    target, member, rest = text.partition(".(")
    if not member:
        target, rest = "", text[1:]
    words = _WORD.findall(f"({rest}")
    arguments, words = _types(words[1:])
    result, _ = _type(words)
    before = (_type(_WORD.findall(target))[0],) if member else ()
    return (*before, *arguments), result, bool(member)


def _types(words: list[str]) -> tuple[tuple[Type, ...], list[str]]:
    found = []
    while words[0] != ")":
        if words[0] == ",":
            words = words[1:]
        one, words = _type(words)
        found.append(one)
    return tuple(found), words[1:]


def _type(words: list[str]) -> tuple[Type, list[str]]:
    name, rest = words[0], words[1:]
    if rest and rest[0] == "(":
        inner, rest = _types(rest[1:])
        makers: dict[str, Callable[..., Type]] = {"list": list_of, "map": map_of, "optional": optional_of}
        return makers[name](*inner), rest
    if len(name) == 1:
        return parameter(name), rest
    return Type(_OPAQUE.get(name, name)), rest
