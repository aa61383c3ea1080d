"""The shapes of the built-in kinds, from package data that `make schema` reads off a real API server.

kubernetes.json has a line for each struct: {"a": 1 if atomic, "f": {field: facts}}.  Facts that say nothing are left
out:

    t   what the value is: a base, [] (list) or {} (map) before what it holds, : before the name of a struct
    g   its Go type, where that is not what `t` makes one expect
    n   number in protobuf             i   embedded struct it comes from, in Go      m   numbers of such in protobuf
    p   a pointer in Go                k   always there                             r   required
    d   default                        e   allowed values                           a   atomic (maps)
    l   list type, lk its keys         mk  merge key of strategic merge patch        s   its strategies

It has a line for each kind as well, by where it is served:

    k   kind     y   type          n   namespaced     s   singular, where it is not the kind in small letters
    a   short names                c   categories     p   subresources
    g   counts generations         v   an update must name the version               u   an update creates
    o   a deletion is answered with the object         m   labels are written with the status
    w   names may be anything that stands in a path    r   what its objects own stays when they are deleted
    t   columns of `kubectl get`: name, type, format, priority        x   what stands in them (controlplane/cells.yaml)
    f   what is frozen: field, reason and words of the refusal, what may not change, and what of that may

`defaults` are fields that a struct gets, perhaps only when others have these values (or, with a ?, are there);
`required` are fields without which a struct is refused, `values` the only texts that some take.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources as package_data
from typing import Any

import msgspec

from muster.local.codec.values import Object
from muster.local.schema.shapes import Base, Field, ListType, Shape

_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis."
_PREFIXES = {"apiextensions": _EXTENSIONS, "meta": "io.k8s.apimachinery.pkg.apis."}

SCHEMA = f"{_EXTENSIONS}apiextensions.v1.JSONSchemaProps"
SCHEMA_OR_BOOL = f"{SCHEMA}OrBool"
SCHEMA_OR_LIST = f"{SCHEMA}OrArray"
SCHEMA_OR_STRINGS = f"{SCHEMA}OrStringArray"
_CHOICES = {"schema-or-bool": SCHEMA_OR_BOOL, "schema-or-list": SCHEMA_OR_LIST, "schema-or-strings": SCHEMA_OR_STRINGS}
_GO_TYPES = {
    "boolean": "bool",
    "number": "float64",
    "bytes": "[]uint8",
    "quantity": "resource.Quantity",
    "int-or-string": "intstr.IntOrString",
    "time": "v1.Time",
    "micro-time": "v1.MicroTime",
}


class Frozen(msgspec.Struct, frozen=True):
    """What an update is refused for, in words, and what it then has changed."""

    field: str
    reason: str
    words: str
    paths: tuple[str, ...]
    but: tuple[str, ...] = ()
    """Parts of these that may change."""


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A built-in kind, as the real API server tells of it and was seen to treat it."""

    group: str
    version: str
    plural: str
    kind: str
    type_name: str
    namespaced: bool
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    subresources: tuple[str, ...]
    columns: tuple[tuple[Any, ...], ...]
    """Name, type, format and priority, as far as they say something."""
    cells: Mapping[str, str]
    """By the names of columns."""
    has_generation: bool
    needs_version: bool
    creates_on_update: bool
    returns_deleted: bool
    labels_with_status: bool
    any_name: bool
    orphans: bool
    frozen: tuple[Frozen, ...]


class Preset(msgspec.Struct, frozen=True):
    """Fields that a struct gets if they are not there."""

    set: Object
    when: Object = {}
    """Only if other fields have these values; `name?` asks whether a field was given, `^` in which field it all is."""


@cache
def shapes() -> dict[str, Shape]:
    """All structs, by the names that the OpenAPI document gives them: io.k8s.api.core.v1.Pod."""
    lines: dict[str, Object] = {_full(name): line for name, line in _document()["types"].items()}
    # all are there before any gets its fields: they refer to each other, and to themselves
    structs = {name: Shape(base=Base.STRUCT, name=name, atomic="a" in line) for name, line in lines.items()}
    for name, line in lines.items():
        structs[name].fields = {each: _field(facts, structs) for each, facts in line["f"].items()}
    return structs


@cache
def resources() -> tuple[Resource, ...]:
    """All kinds whose objects are kept."""
    return tuple(_resource(where, line) for where, line in _document()["resources"].items())


@cache
def defaults() -> dict[str, tuple[Preset, ...]]:
    """By struct, for templates of pods and for kinds without code of their own."""
    found = _document()["defaults"]
    return {_full(name): tuple(Preset(**rule) for rule in rules) for name, rules in found.items()}


@cache
def required() -> dict[str, tuple[str, ...]]:
    """By struct, for kinds without code of their own."""
    return {_full(name): tuple(fields) for name, fields in _document()["required"].items()}


@cache
def values() -> dict[str, dict[str, tuple[str, ...]]]:
    """By struct and field, for kinds without code of their own."""
    found = _document()["values"]
    return {_full(name): {each: tuple(texts) for each, texts in fields.items()} for name, fields in found.items()}


def version() -> str:
    """The Kubernetes version that all of this is from: 1.37.1."""
    return str(_document()["kubernetes"])


@cache
def _document() -> Object:
    text = package_data.files("muster.local.schema").joinpath("kubernetes.json").read_bytes()
    document: Object = json.loads(text)
    return document


def _resource(where: str, line: Object) -> Resource:
    _, *group, version, plural = where.split("/")
    return Resource(
        group="".join(group),
        version=version,
        plural=plural,
        kind=line["k"],
        type_name=_full(line["y"]),
        namespaced="n" in line,
        singular=line.get("s", ""),
        short_names=tuple(line.get("a", ())),
        categories=tuple(line.get("c", ())),
        subresources=tuple(line.get("p", ())),
        columns=tuple(map(tuple, line["t"])),
        cells=line.get("x", {}),
        has_generation="g" in line,
        needs_version="v" in line,
        creates_on_update="u" in line,
        returns_deleted="o" in line,
        labels_with_status="m" in line,
        any_name="w" in line,
        orphans="r" in line,
        frozen=tuple(
            Frozen(field, reason, words, *map(tuple, paths)) for field, reason, words, *paths in line.get("f", ())
        ),
    )


def _full(name: str) -> str:
    return _PREFIXES.get(name.partition(".")[0], "io.k8s.api.") + name


def _field(facts: Object, structs: dict[str, Shape]) -> Field:
    return Field(
        shape=_shape(facts["t"], facts, structs),
        required="r" in facts,
        default=facts.get("d", msgspec.UNSET),
        pointer="p" in facts,
        kept="k" in facts,
        merge_key=facts.get("mk", ""),
        strategies=tuple(facts.get("s", ())),
        number=facts.get("n", 0),
        go_type=facts.get("g") or _go_type(facts["t"]),
        inline=facts.get("i", ""),
        inline_numbers=_numbers(facts.get("m", ())),
    )


def _numbers(numbers: int | list[int]) -> tuple[int, ...]:
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)


def _shape(kind: str, facts: Object, structs: dict[str, Shape]) -> Shape:
    if kind.startswith(":"):
        return structs[_full(kind[1:])]
    if kind.startswith("[]"):
        return Shape(
            base=Base.LIST,
            items=_shape(kind[2:], {}, structs),
            list_type=ListType(facts.get("l", "atomic")),
            keys=tuple(facts.get("lk", ())),
        )
    if kind.startswith("{}"):
        return Shape(base=Base.MAP, items=_shape(kind[2:], {}, structs), atomic="a" in facts)
    if kind in _CHOICES:
        return Shape(base=Base.ANY, name=_CHOICES[kind], items=structs[SCHEMA])
    return Shape(base=Base(kind), enum=tuple(facts.get("e", ())))


def _go_type(kind: str) -> str:
    """The Go type that goes without saying, as Go's errors name it."""
    if kind.startswith("[]"):
        return f"[]{_go_type(kind[2:])}"
    if kind.startswith("{}"):
        return f"map[string]{_go_type(kind[2:])}"
    if kind.startswith(":"):
        return ".".join(kind.split(".")[-2:])
    return _GO_TYPES.get(kind, kind)
