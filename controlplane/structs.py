"""What Go's struct tags say of the API's types: names, numbers, what is left out when it is empty.

Reads gofmt'd sources with regular expressions: a struct is a block from `type Name struct {` to a brace at the line's
start, and each of its fields is one line that ends with a tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

__all__ = ["Fact", "Package"]

_STRUCT = re.compile(r"^type (\w+) struct ?\{(?:\}$|\n(.*?)^\})", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"^type (\w+) (?!struct\b|interface\b|=)([^\s{]+)$", re.MULTILINE)
_FIELD = re.compile(r"^\t(?!//)(?:(\w+)\s+)?(\S+)\s+`([^`]*)`", re.MULTILINE)
_IMPORT = re.compile(r'^\t?(?:import )?(?:(\w+) )?"([^"]+)"$', re.MULTILINE)
_TAG = re.compile(r'(\w+):"([^"]*)"')
_PLAIN = {"byte": "uint8", "rune": "int32", "any": "interface {}", "interface{}": "interface {}"}
_BUILT_IN = frozenset({"bool", "string", "int", "int32", "int64", "uint8", "float32", "float64", "interface {}"})


class Fact(msgspec.Struct, kw_only=True, frozen=True):
    """One field, as its tags say."""

    name: str
    """In JSON."""
    go_type: str
    """As reflect prints it, without the pointer: []v1.Container."""
    pointer: bool
    omitempty: bool
    omitzero: bool
    number: int
    inline: str = ""
    """The embedded struct that it comes from."""
    inline_numbers: tuple[int, ...] = ()
    """Of the embedded structs in protobuf, the outermost first."""


class Package:
    """The types of one Go package."""

    def __init__(self, folder: Path) -> None:
        self._name = folder.name
        self._structs: dict[str, tuple[str, dict[str, str]]] = {}
        self._named: dict[str, str] = {}
        for path in sorted(folder.glob("*.go")):
            if path.name.startswith(("zz_", "generated")) or path.name.endswith("_test.go"):
                continue
            source = path.read_text()
            imports = {alias or where.rpartition("/")[2]: where for alias, where in _IMPORT.findall(source)}
            self._structs |= {name: (body, imports) for name, body in _STRUCT.findall(source)}
            self._named |= dict(_NAMED.findall(source))

    def has(self, name: str) -> bool:
        return name in self._structs

    def facts(self, name: str, elsewhere: dict[str, Package]) -> list[Fact]:
        """The fields of a struct in order, those of embedded structs in their place."""
        return list(self._facts(name, elsewhere))

    def under(self, go_type: str) -> str:
        """What a named type of this package is made of: v1.ResourceList → map[v1.ResourceName]resource.Quantity."""
        made_of = self._named.get(go_type.removeprefix(f"{self._name}."))
        return go_type if made_of is None else self.under(self._printed(made_of, {}))

    def _facts(self, name: str, elsewhere: dict[str, Package]) -> Iterator[Fact]:
        body, imports = self._structs[name]
        for field, written, tags in _FIELD.findall(body):
            tag = dict(_TAG.findall(tags))
            json_name, *options = tag.get("json", "").split(",")
            if json_name == "-":
                continue
            number = _number(tag.get("protobuf", ""))
            if json_name:
                yield Fact(
                    name=json_name,
                    go_type=self._printed(written.lstrip("*"), imports),
                    pointer=written.startswith("*"),
                    omitempty="omitempty" in options,
                    omitzero="omitzero" in options,
                    number=number,
                )
            else:
                assert not field, f"{self._name}.{name}.{field} has no name in JSON"
                yield from self._embedded(written, number=number, imports=imports, elsewhere=elsewhere)

    def _embedded(
        self, written: str, *, number: int, imports: dict[str, str], elsewhere: dict[str, Package]
    ) -> Iterator[Fact]:
        alias, _, name = written.rpartition(".")
        package = elsewhere[imports[alias]] if alias else self
        for fact in package.facts(name, elsewhere):
            # TypeMeta is no part of protobuf: the envelope has it
            numbers, own = ((number, *fact.inline_numbers), fact.number) if number else ((), 0)
            yield msgspec.structs.replace(fact, inline=fact.inline or name, inline_numbers=numbers, number=own)

    def _printed(self, written: str, imports: dict[str, str]) -> str:
        """A type as reflect prints it: with the name of its package, never an alias."""
        if found := re.match(r"(\*|\[\]|map\[([^\]]+)\])(.+)", written):
            whole, key, rest = found.groups()
            head = f"map[{self._printed(key, imports)}]" if key else whole
            return head + self._printed(rest, imports)
        plain = _PLAIN.get(written, written)
        if plain in _BUILT_IN:
            return plain
        alias, _, name = plain.rpartition(".")
        package = imports.get(alias, alias).rpartition("/")[2] if alias else self._name
        return f"{package}.{name}"


def _number(tag: str) -> int:
    parts = tag.split(",")
    return int(parts[1]) if len(parts) > 1 else 0
