"""Makes src/muster/local/schema/kubernetes.json: what objects of the built-in kinds look like.

    python -m controlplane.schema           from an API server of its own, for a few seconds

Which kinds there are, with their names, subresources and columns, is what the API server tells its clients; what it
does to objects of a kind is seen by showing it some (traits.py).  Types, list types, merge keys and the defaults that
are declared come from the OpenAPI documents that it publishes; what those do not tell (pointers, omitempty, protobuf
numbers, Go's names of types) from the struct tags of the Go modules of the same version.  None of their prose is kept.
`muster.local.schema.load` reads the file and says what its short keys mean.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from controlplane import build, traits
from controlplane.plane import ControlPlane
from controlplane.structs import Fact, Package
from controlplane.traits import Place
from muster.base.errors import MusterError

OUTPUT = Path(__file__).parent.parent / "src/muster/local/schema/kubernetes.json"

_CELLS = Path(__file__).parent / "cells.yaml"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EVERYWHERE = ("APIResourceList", "DeleteOptions", "Status", "WatchEvent")
_SUBRESOURCES = ("authentication.v1.TokenRequest", "autoscaling.v1.Scale", "core.v1.Binding", "policy.v1.Eviction")
# what is read live from other processes, and what would need another server behind this one
_NOT_SERVED = ("componentstatuses", "apiservices")

_PREFIXES = ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.apiextensions-apiserver.pkg.apis.")
_MODULES = {
    "io.k8s.api.": "k8s.io/api",
    "io.k8s.apimachinery.": "k8s.io/apimachinery",
    "io.k8s.apiextensions-apiserver.": "k8s.io/apiextensions-apiserver",
}
# types that read and write themselves
_SELF_MADE = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
    f"{_META}Time": "time",
    f"{_META}MicroTime": "micro-time",
    f"{_META}FieldsV1": "any",
}
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_SELF_MADE |= {
    f"{_EXTENSIONS}JSON": "any",
    f"{_EXTENSIONS}JSONSchemaPropsOrBool": "schema-or-bool",
    f"{_EXTENSIONS}JSONSchemaPropsOrArray": "schema-or-list",
    f"{_EXTENSIONS}JSONSchemaPropsOrStringArray": "schema-or-strings",
}
# Go's structs, which omitempty never leaves out
_STRUCTS = frozenset({"quantity", "int-or-string", "time", "micro-time"})
_REFERENCE = "#/components/schemas/"

Schema = dict[str, Any]
Fetch = Callable[[str], Schema]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m controlplane.schema", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="default: %(default)s")
    options = parser.parse_args(arguments)
    try:
        with ControlPlane(gates=True) as plane:
            text = document(plane)
    except (MusterError, build.BuildError) as error:
        print(f"schema: {error}", file=sys.stderr)
        return 1
    options.output.write_text(text)
    print(f"{options.output}: {len(text) / 1000:.0f} KB")
    return 0


def document(plane: ControlPlane) -> str:
    """The file: a line for each type and for each kind, in order of their names."""

    def fetch(path: str) -> Schema:
        return dict(plane.request("GET", path))

    version = fetch("/version")["gitVersion"].removeprefix("v")
    schemas: dict[str, Schema] = {}
    served: dict[str, list[Schema]] = {}
    for path in _versions(fetch):
        schemas |= fetch(f"/openapi/v3/{path}")["components"]["schemas"]
        rows = fetch(f"/{path}")["resources"]
        served[path] = [row for row in rows if row["name"].partition("/")[0] not in _NOT_SERVED]
    roots = [f"{_META}{name}" for name in _EVERYWHERE] + [f"io.k8s.api.{name}" for name in _SUBRESOURCES]
    roots += [name for name, schema in schemas.items() if _is_served(schema, served)]
    types = _Types(schemas, version)
    lines = {_short(name): types.line(name) for name in sorted(types.reachable(roots))}
    places = dict(_places(served, schemas))
    seen = traits.look(plane, lines, places)
    parts: dict[str, Mapping[str, Any]] = {
        "types": lines,
        "resources": {
            f"{place.path}/{place.row['name']}": _resource(place, seen.traits[f"{place.path}/{place.row['name']}"])
            for place in places.values()
        },
        "defaults": seen.defaults,
        "required": seen.required,
        "values": seen.values,
    }
    body = ",\n".join(
        f'"{name}":{{\n' + ",\n".join(f'"{key}":{_compact(line)}' for key, line in lines.items()) + "\n}"
        for name, lines in parts.items()
    )
    return f'{{"kubernetes":"{version}",\n{body}}}\n'


def _versions(fetch: Fetch) -> list[str]:
    """Where kinds are served: api/v1, apis/apps/v1."""
    return [path for path in fetch("/openapi/v3")["paths"] if re.fullmatch(r"api/v1|apis/[^/]+/[^/]+", path)]


def _gvk(schema: Schema) -> list[tuple[str, str]]:
    """apiVersion and kind, of a type whose objects are sent on their own."""
    named = schema.get("x-kubernetes-group-version-kind", ())
    return [("/".join(filter(None, (one["group"], one["version"]))), one["kind"]) for one in named]


def _is_served(schema: Schema, served: dict[str, list[Schema]]) -> bool:
    kinds = {(path.partition("/")[2], row["kind"]) for path, rows in served.items() for row in rows}
    return any((version, kind.removesuffix("List")) in kinds for version, kind in _gvk(schema))


def _places(served: dict[str, list[Schema]], schemas: dict[str, Schema]) -> Iterator[tuple[tuple[str, str], Place]]:
    """Kinds of which objects are kept."""
    types = {kind: name for name, schema in schemas.items() for kind in _gvk(schema)}
    for path, rows in served.items():
        for row in rows:
            if "/" in row["name"] or "list" not in row["verbs"]:
                continue
            head = f"{row['name']}/"
            parts = frozenset(one["name"].removeprefix(head) for one in rows if one["name"].startswith(head))
            key = path.partition("/")[2], row["kind"]
            yield key, Place(path, row, _short(types[key]), parts)


def _resource(place: Place, seen: Schema) -> Schema:
    row = place.row
    return seen | _if(
        k=row["kind"],
        y=place.type_name,
        n=row["namespaced"],
        s=row["singularName"] if row["singularName"] != row["kind"].lower() else None,
        a=row.get("shortNames"),
        c=row.get("categories"),
        p=sorted(place.subresources),
        x=_cells().get(row["name"] + (f".{group}" if (group := place.path.split("/")[1]) != "v1" else "")),
    )


@cache
def _cells() -> dict[str, Schema]:
    found: dict[str, Schema] = yaml.safe_load(_CELLS.read_text())
    return found


class _Types:
    """The OpenAPI documents and the Go sources side by side."""

    def __init__(self, schemas: dict[str, Schema], version: str) -> None:
        self._schemas = schemas
        self._packages: dict[str, Package] = {}
        """By import path."""
        self._folders = {module: _folder(module, version) for module in _MODULES.values()}
        self._package(_META + "TypeMeta")

    def reachable(self, roots: Sequence[str]) -> set[str]:
        found: set[str] = set()
        waiting = list(roots)
        while waiting:
            name = waiting.pop()
            if name in found or name in _SELF_MADE:
                continue
            found.add(name)
            waiting += _references(self._schemas[name])
        if any(name.startswith(_EXTENSIONS) for name in found):
            found.add(f"{_EXTENSIONS}JSONSchemaProps")
        return found

    def line(self, name: str) -> Schema:
        """One struct: {"a": atomic, "f": {field: facts}}."""
        schema = self._schemas[name]
        package = self._package(name)
        facts = {fact.name: fact for fact in package.facts(name.rpartition(".")[2], self._packages)}
        properties = schema.get("properties", {})
        if missing := set(properties) - set(facts):
            raise MusterError("the Go sources are of another version", type=name, missing=sorted(missing))
        required = schema.get("required", [])
        fields = {
            each: self._field(properties[each], fact, package=package, required=each in required)
            for each, fact in facts.items()
            if each in properties
        }
        return {**_if(a=schema.get("x-kubernetes-map-type") == "atomic"), "f": fields}

    def _field(self, schema: Schema, fact: Fact, *, package: Package, required: bool) -> Schema:
        kind = _kind(schema)
        made_by_struct = kind in _STRUCTS or kind.startswith(":")
        line: Schema = {"t": _number_kind(kind, package.under(fact.go_type))}
        if fact.go_type != _usual(kind):
            line["g"] = fact.go_type
        kept = not fact.omitempty or (made_by_struct and not fact.pointer and not fact.omitzero)
        line |= _if(
            n=fact.number, i=fact.inline, m=_one_or_all(fact.inline_numbers), p=fact.pointer, k=kept, r=required
        )
        if "default" in schema:
            line["d"] = schema["default"]
        return line | _merging(schema) | _if(e=schema.get("enum"))

    def _package(self, name: str) -> Package:
        [(prefix, module)] = [(prefix, module) for prefix, module in _MODULES.items() if name.startswith(prefix)]
        folder = "/".join(name.removeprefix(prefix).split(".")[:-1])
        where = f"{module}/{folder}"
        if where not in self._packages:
            self._packages[where] = Package(self._folders[module] / folder)
        return self._packages[where]


def _kind(schema: Schema) -> str:
    """What a value is: a base, [] or {} before what it holds, or a colon and the name of a struct."""
    if reference := _reference(schema):
        return _SELF_MADE.get(reference) or f":{_short(reference)}"
    if schema["type"] == "array":
        return "[]" + _kind(schema["items"])
    if schema["type"] == "object":
        return "{}" + _kind(schema["additionalProperties"])
    if schema["type"] in ("integer", "string") and "format" in schema:
        return "bytes" if schema["format"] == "byte" else str(schema["format"])
    return str(schema["type"])


def _number_kind(kind: str, go_type: str) -> str:
    return f"int{go_type[3:]}" if kind == "integer" else kind


def _usual(kind: str) -> str:
    """The Go type that goes without saying; `load` has the same rule."""
    if kind.startswith("[]"):
        return f"[]{_usual(kind[2:])}"
    if kind.startswith("{}"):
        return f"map[string]{_usual(kind[2:])}"
    if kind.startswith(":"):
        return ".".join(kind[1:].split(".")[-2:])
    named = {
        "boolean": "bool",
        "number": "float64",
        "bytes": "[]uint8",
        "quantity": "resource.Quantity",
        "int-or-string": "intstr.IntOrString",
        "time": "v1.Time",
        "micro-time": "v1.MicroTime",
    }
    return named.get(kind, kind)


def _merging(schema: Schema) -> Schema:
    """How lists and maps are merged, by server-side apply and by strategic merge patch."""
    extension = {name.removeprefix("x-kubernetes-"): value for name, value in schema.items()}
    strategies = extension.get("patch-strategy", "")
    return _if(
        l=extension.get("list-type"),
        lk=extension.get("list-map-keys"),
        a=extension.get("map-type") == "atomic",
        mk=extension.get("patch-merge-key"),
        s=strategies.split(",") if strategies else None,
    )


def _if(**facts: Any) -> Schema:
    """Those that say something; true is 1."""
    return {name: int(value) if value is True else value for name, value in facts.items() if value}


def _one_or_all(numbers: tuple[int, ...]) -> int | list[int]:
    return numbers[0] if len(numbers) == 1 else list(numbers)


def _reference(schema: Schema) -> str:
    [whole] = schema.get("allOf") or [schema]
    return str(whole.get("$ref", "")).removeprefix(_REFERENCE)


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        # a schema of schemas has a property of this name, too
        if isinstance(reference := schema.get("$ref"), str):
            yield reference.removeprefix(_REFERENCE)
        for each in schema.values():
            yield from _references(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _references(each)


def _short(name: str) -> str:
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    raise MusterError("a type from a package that is not known here", type=name)


def _folder(module: str, version: str) -> Path:
    """Where Go keeps the module of this Kubernetes version: 1.37.1 is 0.37.1 there."""
    wanted = f"{module}@v0.{version.partition('.')[2]}"
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run(
            ["go", "mod", "download", "-json", wanted], cwd=work, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise build.BuildError(f"go mod download {wanted} failed: {(done.stderr or done.stdout).strip()[-600:]}")
    return Path(json.loads(done.stdout)["Dir"])


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
