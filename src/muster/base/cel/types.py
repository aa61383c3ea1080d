"""The types of CEL, and which value may stand where which is wanted.

    bool int uint double string bytes null timestamp duration type dyn      list(T)  map(K, V)  optional_type(T)
    objects       known by their names; with the type of each field
    others        kubernetes.Quantity and the like: known by their names

dyn is known only when an expression is evaluated, and may stand anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

__all__ = ["BOOL", "BYTES", "DOUBLE", "DURATION", "DYN", "ERROR", "INT", "NULL", "STRING", "TIMESTAMP", "TYPE", "UINT"]
__all__ += ["Solver", "Type", "list_of", "map_of", "object_of", "optional_of", "parameter"]


class Type(msgspec.Struct, frozen=True):
    name: str
    inner: tuple[Type, ...] = ()
    fields: Mapping[str, Type] | None = None
    """Of an object; by the names that expressions give them."""
    keys: Mapping[str, str] = {}
    """Fields that are called otherwise in the data: a__dash__b is a-b."""
    is_parameter: bool = False
    merging: str | tuple[str, ...] = ""
    """Of a list: "set", or the keys of its items; such lists are equal in any order."""

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.inner))})" if self.inner else self.name

    def same(self, other: Type) -> bool:
        alike = self.name == other.name and len(self.inner) == len(other.inner)
        return alike and all(one.same(two) for one, two in zip(self.inner, other.inner, strict=True))


BOOL, INT, UINT, DOUBLE = Type("bool"), Type("int"), Type("uint"), Type("double")
STRING, BYTES, NULL, TYPE = Type("string"), Type("bytes"), Type("null"), Type("type")
TIMESTAMP, DURATION = Type("timestamp"), Type("duration")
DYN, ERROR = Type("dyn"), Type("!error!")
_SCALARS = frozenset({"bool", "int", "uint", "double", "string", "bytes", "type", "list", "map", "optional_type"})


def list_of(item: Type, *, merging: str | tuple[str, ...] = "") -> Type:
    return Type("list", (item,), merging=merging)


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("optional_type", (value,))


def object_of(name: str, fields: Mapping[str, Type], *, keys: Mapping[str, str] | None = None) -> Type:
    return Type(name, fields=fields, keys=keys or {})


def parameter(name: str) -> Type:
    return Type(name, is_parameter=True)


class Solver:
    """What type parameters stand for, as far as is known."""

    def __init__(self) -> None:
        self._found: dict[str, Type] = {}
        self._count = 0

    def fresh(self) -> Type:
        self._count += 1
        return parameter(f"_var{self._count}")

    def known(self, wanted: Type) -> Type:
        """With what is known of its parameters, on the surface."""
        while wanted.is_parameter and wanted.name in self._found:
            wanted = self._found[wanted.name]
        return wanted

    def settled(self, wanted: Type) -> Type:
        """With what is known of its parameters; dyn for what is not."""
        wanted = self.known(wanted)
        if wanted.is_parameter:
            return DYN
        if not wanted.inner:
            return wanted
        return msgspec.structs.replace(wanted, inner=tuple(self.settled(one) for one in wanted.inner))

    def renamed(self, wanted: Type, names: dict[str, Type]) -> Type:
        """With parameters of its own: each use of a function settles them anew."""
        if wanted.is_parameter:
            return names.setdefault(wanted.name, self.fresh())
        if not wanted.inner:
            return wanted
        return msgspec.structs.replace(wanted, inner=tuple(self.renamed(one, names) for one in wanted.inner))

    def all_fit(self, given: tuple[Type, ...], wanted: tuple[Type, ...]) -> bool:
        """Whether all fit at once; if not, nothing is learned."""
        before = dict(self._found)
        if len(given) == len(wanted) and all(self._fits(one, two) for one, two in zip(given, wanted, strict=True)):
            return True
        self._found = before
        return False

    def _fits(self, given: Type, wanted: Type) -> bool:
        given, wanted = self.known(given), self.known(wanted)
        for one, other in ((wanted, given), (given, wanted)):
            if one.is_parameter:
                if one.name != other.name:
                    if self._mentions(other, one):
                        return False
                    self._found[one.name] = other
                return True
        if {given.name, wanted.name} & {"dyn", "!error!"}:
            return True
        if "null" in (given.name, wanted.name):
            other = wanted if given.name == "null" else given
            return other.name == "null" or other.name not in _SCALARS
        if given.name != wanted.name or len(given.inner) != len(wanted.inner):
            return False
        return all(self._fits(one, two) for one, two in zip(given.inner, wanted.inner, strict=True))

    def _mentions(self, where: Type, what: Type) -> bool:
        where = self.known(where)
        return where.name == what.name or any(self._mentions(one, what) for one in where.inner)
