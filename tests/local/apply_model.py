"""Server-side apply as one would explain it, to hold the server against.

An object is a set of nodes: a path leads to each scalar, each part that is whole (atomic), and each map and list on the
way.  A manager owns nodes; a field that the schema declares is owned with whatever is inside.  Applying means: what the
config names is there and is the manager's; what the manager named last time and neither the config nor anybody else
names now is gone, with all that is below it; where the config wants something else than somebody else owns, nothing
happens.  There are no sets of fields here, and no order of items.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

MAP, LIST = ("a map",), ("a list",)
Path = tuple[tuple[str, Any], ...]
Nodes = dict[Path, Any]
"""MAP, LIST, or the value of a leaf as JSON."""

_NOBODYS: set[Path] = {(), (("f", "metadata"),)}
"""Always there."""
ANYTHING: dict[str, Any] = {"x-kubernetes-preserve-unknown-fields": True}


def nodes(value: Any, schema: dict[str, Any], path: Path = ()) -> Nodes:
    """All nodes of a value, itself included."""
    if isinstance(value, dict) and schema.get("x-kubernetes-map-type") != "atomic":
        found: Nodes = {path: MAP}
        for name, inner in value.items():
            found |= nodes(inner, _inside(schema, name), (*path, ("f", name)))
        return found
    if isinstance(value, list) and schema.get("x-kubernetes-list-type", "atomic") != "atomic":
        found = {path: LIST}
        for item in value:
            found |= nodes(item, schema["items"], (*path, _step(item, schema)))
        return found
    return {path: json.dumps(value, sort_keys=True)}


def _inside(schema: dict[str, Any], name: str) -> dict[str, Any]:
    known = schema.get("properties", {}).get(name)
    return known or schema.get("additionalProperties") or ANYTHING


def _step(item: Any, schema: dict[str, Any]) -> tuple[str, Any]:
    if schema["x-kubernetes-list-type"] == "set":
        return "v", json.dumps(item)
    defaults = {name: inner.get("default") for name, inner in schema["items"]["properties"].items()}
    return "k", json.dumps({name: item.get(name, defaults[name]) for name in schema["x-kubernetes-list-map-keys"]})


def add_defaults(live: Nodes, schema: dict[str, Any], path: Path = ()) -> None:
    """What was left out and has a default."""
    if live.get(path) == MAP:
        for name, inner in schema.get("properties", {}).items():
            if "default" in inner and (*path, ("f", name)) not in live:
                live |= nodes(inner["default"], inner, (*path, ("f", name)))
    for child in [one for one in live if len(one) == len(path) + 1 and one[: len(path)] == path]:
        kind, name = child[-1]
        add_defaults(live, _inside(schema, name) if kind == "f" else schema["items"], child)


def text(path: Path) -> str:
    """As conflicts name it."""
    return "".join(_step_text(kind, value) for kind, value in path)


def _step_text(kind: str, value: Any) -> str:
    if kind == "f":
        return f".{value}"
    if kind == "v":
        return f"[={value}]"
    return "[" + ",".join(f"{name}={json.dumps(inner)}" for name, inner in json.loads(value).items()) + "]"


class Conflict(NamedTuple):
    fields: frozenset[str]


class Emptied(NamedTuple):
    """Parts that have lost all that was in them: Kubernetes makes them null, whatever the schema says.

    Not so lists that the config has: an empty one is what it asks for.
    """

    parts: frozenset[Path]


Owned = dict[tuple[str, ...], set[Path]]


class Model:
    """One object; what is there is told in nodes."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self.live: Nodes = {}
        self.owned: Owned = {}

    def apply(self, key: tuple[str, ...], config: Nodes, *, force: bool) -> Conflict | Emptied | None:
        """Does it, or says why not."""
        others = set().union(*(paths for one, paths in self.owned.items() if one != key))
        wanted = {path for path, value in config.items() if self.live.get(path, value) != value}
        if not force and wanted & others:
            return Conflict(frozenset(f"{text(path)} {one[0]}" for path in wanted for one in self._owners(path, key)))
        merged = self.live | config
        dropped = self._with_declared(self.owned.get(key, set())) - self._with_declared(others) - set(config)
        after = {path: value for path, value in merged.items() if not _is_below(path, dropped)}
        emptied = {
            path
            for path, value in after.items()
            if (value == MAP or (value == LIST and path not in config))
            and path not in _NOBODYS
            and _has_children(path, merged)
            and not _has_children(path, after)
        }
        if emptied:
            return Emptied(frozenset(emptied))
        for one in self.owned:
            if one != key:
                self.owned[one] = {path for path in self.owned[one] - wanted if path in after}
        self.owned[key] = {path for path in config if not self._is_carried(path, config)} - _NOBODYS
        self.live = after
        return None

    def _is_carried(self, path: Path, config: Nodes) -> bool:
        """Whether a field is owned with what is inside it, and so not at all if that is an empty list."""
        return _is_declared(path, self._schema) and (config[path] == LIST or _has_children(path, config))

    def _with_declared(self, paths: set[Path]) -> set[Path]:
        above = {path[:length] for path in paths for length in range(1, len(path))}
        return paths | {path for path in above if _is_declared(path, self._schema)}

    def begin(self, key: tuple[str, ...], part: Nodes) -> None:
        """Of an object whose owners nobody knows, before the first apply: all is one manager's."""
        if not any(self.owned.values()):
            self.owned[key] = set(part) - _NOBODYS

    def _owners(self, path: Path, key: tuple[str, ...]) -> list[tuple[str, ...]]:
        return [one for one, paths in self.owned.items() if one != key and path in paths]

    def write(self, key: tuple[str, ...], before: Nodes, after: Nodes) -> None:
        """A create or an update of the part `before`, which becomes `after`."""
        is_tracked = any(self.owned.values()) or not self.live
        changed = {path for path, value in after.items() if before.get(path) != value} - _NOBODYS
        gone = set(before) - set(after)
        for one in self.owned:
            self.owned[one] -= changed | gone
        if changed and is_tracked:
            self.owned[key] = self.owned.get(key, set()) | changed
        self.live = {path: value for path, value in self.live.items() if path not in before} | after


def _is_below(path: Path, tops: set[Path]) -> bool:
    return any(path[:length] in tops for length in range(len(path) + 1))


def _is_declared(path: Path, schema: dict[str, Any]) -> bool:
    """Whether it is a field that a struct is said to have, and no entry of a map or item of a list."""
    for kind, name in path[:-1]:
        schema = _inside(schema, name) if kind == "f" else schema["items"]
    return bool(path) and path[-1][1] in schema.get("properties", {})


def _has_children(path: Path, among: Nodes) -> bool:
    return any(len(one) == len(path) + 1 and one[: len(path)] == path for one in among)
