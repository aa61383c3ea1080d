"""What a real API server does to objects of each kind, seen by showing it some: samples.yaml.

Whether a kind counts generations, wants to be told which version an update changes, answers a deletion with the object,
and so on, is one question each.  Which fields have defaults is what an object has more when it comes back; which fields
are frozen is what an update is refused for that changes this one field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from controlplane.plane import ControlPlane
from muster.base.errors import MusterError

Line = dict[str, Any]
"""A type as the schema file has it."""

_SAMPLES = Path(__file__).parent / "samples.yaml"
# what these may have inside is looked after by code, for pods themselves too
_CODED = frozenset({"core.v1.PodTemplateSpec", "meta.v1.ObjectMeta"})
_MADE_BY_CODE = frozenset(
    {
        # the priority of a group follows from its class, as admission has it
        ("scheduling.v1alpha3.CompositePodGroupSpec", "priority"),
        # how an image is pulled follows from its tag
        ("core.v1.Container", "imagePullPolicy"),
    }
)
_TIMES = ("time", "micro-time")
_FROZEN = re.compile(r"immutable|cannot (be )?change|may not be (changed|updated)|are forbidden|forbidden after")
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Place(NamedTuple):
    """Where objects of a kind are served, and what they look like."""

    path: str
    """apis/apps/v1"""
    row: Line
    """As discovery tells it."""
    type_name: str
    subresources: frozenset[str]

    def url(self, name: str = "", subresource: str = "") -> str:
        namespace = "/namespaces/default" if self.row["namespaced"] else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"/{self.path}{namespace}/{self.row['name']}{tail}"


class Seen(NamedTuple):
    traits: dict[str, Line]
    """By path and plural."""
    defaults: dict[str, list[Line]]
    """By type: {"when": siblings, "set": fields}."""
    required: dict[str, list[str]]
    """By type: fields without which it is refused."""
    values: dict[str, dict[str, list[str]]]
    """By type and field: the only texts that are taken."""


def look(plane: ControlPlane, lines: Mapping[str, Line], places: Mapping[tuple[str, str], Place]) -> Seen:
    """`places` by apiVersion and kind."""
    traits: dict[str, Line] = {}
    defaults, required, spared = _Defaults(lines), dict[str, set[str]](), set[tuple[str, str]]()
    values: dict[str, dict[str, list[str]]] = {}
    for sample in yaml.safe_load_all(_SAMPLES.read_text()):
        place = places[sample["apiVersion"], sample["kind"]]
        code, answer = plane.exchange("POST", place.url(), sample)
        if code != 201:
            raise MusterError("a sample is refused", sample=sample["kind"], answer=answer.get("message"))
        defaults.watch(place.type_name, sample, answer)
        _find_required(plane, place, sample, lines, required)
        _find_values(plane, place, sample, lines, values)
        found = _traits(_Probe(plane, place, answer), lines)
        key = f"{place.path}/{place.row['name']}"
        traits[key] = _both(traits[key], found) if key in traits else found
        _refute(sample, place.type_name, lines, spared)
    for type_name, name in spared:
        required.get(type_name, set()).discard(name)
    for place in places.values():
        columns = plane.exchange("GET", place.url(), accept=_TABLE)[1].get("columnDefinitions")
        traits.setdefault(f"{place.path}/{place.row['name']}", {})["t"] = [_column(column) for column in columns or ()]
    return Seen(
        traits, defaults.rules(), {name: sorted(fields) for name, fields in sorted(required.items()) if fields}, values
    )


def _column(column: Line) -> list[Any]:
    """Name, type, format, priority, as far as they say something."""
    found = [column["name"], column["type"], column["format"], column["priority"]]
    while found[-1] in ("string", "", 0) and len(found) > 1:
        found.pop()
    return found


# --- questions ---


class _Probe(NamedTuple):
    plane: ControlPlane
    place: Place
    found: Line
    """An object of the kind, as it is stored."""

    def put(self, change: Line, *, name: str = "", subresource: str = "") -> tuple[int, Line]:
        url = self.place.url(name or self.found["metadata"]["name"], subresource)
        return self.plane.exchange("PUT", f"{url}?dryRun=All", change)

    def changed(self, **metadata: Any) -> Line:
        return {**self.found, "metadata": {**self.found["metadata"], **metadata}}


def _traits(probe: _Probe, lines: Mapping[str, Line]) -> Line:
    """g: counts generations; v: an update must name the version; u: an update creates; m: labels may be written with
    the status; w: names may be anything that can stand in a path; o: a deletion is answered with the object; r: what
    an object owns stays when it is deleted; f: what is frozen."""
    place, found = probe.place, probe.found
    unversioned, _ = probe.put(probe.changed(resourceVersion="", labels={"a": "b"}))
    anew = {"name": "sample-new", "resourceVersion": "", "uid": "", "creationTimestamp": None}
    created, _ = probe.put(probe.changed(**anew), name="sample-new")
    labelled = {}
    if "status" in place.subresources:
        labelled = probe.put(probe.changed(labels={"a": "b"}), subresource="status")[1].get("metadata", {})
    odd = {**probe.changed(**anew), "metadata": {"name": "Not_a Name"}}
    named, _ = probe.plane.exchange("POST", f"{place.url()}?dryRun=All", odd)
    frozen = list(_frozen(probe, lines))
    _, deleted = probe.plane.exchange("DELETE", place.url(found["metadata"]["name"]))
    _, left = probe.plane.exchange("GET", place.url(found["metadata"]["name"]))
    answers = {
        "g": "generation" in found["metadata"],
        "v": unversioned == 422,
        "u": created == 201,
        "m": labelled.get("labels") == {"a": "b"},
        "w": named == 201,
        "o": deleted.get("kind") != "Status",
        "r": "orphan" in left["metadata"].get("finalizers", ()),
        "f": frozen,
    }
    return {name: 1 if answer is True else answer for name, answer in answers.items() if answer}


def _frozen(probe: _Probe, lines: Mapping[str, Line]) -> Iterator[list[Any]]:
    """[field, reason, words, what may not change, what in there may]"""
    rules: dict[tuple[str, str, str], set[str]] = {}
    free: set[str] = set()
    for path, change in _changes(probe.found, lines, probe.place.type_name):
        code, answer = probe.put(change)
        if code < 300:
            free.add(path)
        causes = (answer.get("details") or {}).get("causes") or () if code == 422 else ()
        for cause in causes:
            words = cause["message"].rpartition(": ")[2]
            if _FROZEN.search(words):
                # a refusal may name less than the field that was changed: then that is all that is frozen
                named = re.sub(r"\[.*", "", cause["field"])
                narrow = named if named.startswith(f"{path}.") else path
                rules.setdefault((cause["field"], cause["reason"], words), set()).add(narrow)
    for (field, reason, words), paths in sorted(rules.items()):
        # what is refused in the name of a whole struct is all of it but what was taken
        whole = all(path != field and path.startswith(f"{field}.") for path in paths)
        inside = sorted(path for path in free if path.startswith(f"{field}.")) if whole else []
        yield [field, reason, words, [field] if whole else sorted(paths), *([inside] if inside else [])]


def _changes(found: Line, lines: Mapping[str, Line], type_name: str) -> Iterator[tuple[str, Line]]:
    """The object with one field of its own or of its spec changed, each in turn."""
    for name, facts in lines[type_name]["f"].items():
        if name in ("apiVersion", "kind", "metadata", "status") or name not in found:
            continue
        if name == "spec":
            spec = lines[facts["t"][1:]]["f"]
            for inner in found["spec"]:
                for other in _others(found["spec"][inner], spec[inner], lines):
                    yield f"spec.{inner}", {**found, "spec": {**found["spec"], inner: other}}
        else:
            for other in _others(found[name], facts, lines):
                yield name, {**found, name: other}


def _others(value: Any, facts: Line, lines: Mapping[str, Line]) -> Iterator[Any]:
    """Other values that the field might have."""
    kind = facts["t"]
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, str):
        choices = [choice for choice in facts.get("e", ()) if choice != value]
        yield from choices or {"quantity": ["7"], "int-or-string": ["7%"]}.get(kind, [f"{value}x"])
    elif isinstance(value, list) and value:
        if kind.startswith("[]:"):
            for other in _others(value[0], {"t": kind[2:]}, lines):
                yield [other, *value[1:]]
        else:
            yield [f"{value[0]}x", *value[1:]] if isinstance(value[0], str) else [*value, *value]
    elif isinstance(value, dict) and kind.startswith("{}"):
        yield {**value, "another": "7"}
    elif isinstance(value, dict) and kind.startswith(":") and kind[1:] not in _CODED:
        fields = lines[kind[1:]]["f"]
        for name in value:
            for other in _others(value[name], fields[name], lines):
                yield {**value, name: other}
    elif isinstance(value, dict) and kind.startswith(":core.v1.PodTemplateSpec"):
        other = deepcopy(value)
        other["spec"]["containers"][0]["image"] += "x"
        yield other


def _both(one: Line, other: Line) -> Line:
    """What two samples of a kind tell: all that is frozen in either of them."""
    rules: dict[tuple[str, str, str], list[set[str]]] = {}
    for field, reason, words, paths, *inside in (*one.get("f", ()), *other.get("f", ())):
        known = rules.setdefault((field, reason, words), [set(), set()])
        known[0].update(paths)
        known[1].update(*inside)
    frozen = [[*key, sorted(paths), *([sorted(inside)] if inside else [])] for key, (paths, inside) in rules.items()]
    return {**one, **({"f": frozen} if frozen else {})}


# --- fields that must be there ---


def _find_required(
    plane: ControlPlane, place: Place, sample: Line, lines: Mapping[str, Line], found: dict[str, set[str]]
) -> None:
    """Leaves one field out at a time, and looks whether it is missed."""
    for type_name, name, lacking in _without(sample, place.type_name, lines):
        lacking["metadata"]["name"] = f"{sample['metadata']['name']}-lacking"
        code, answer = plane.exchange("POST", f"{place.url()}?dryRun=All", lacking)
        causes = (answer.get("details") or {}).get("causes") or () if code == 422 else ()
        if any(one["reason"] == "FieldValueRequired" and one["field"].rpartition(".")[2] == name for one in causes):
            found.setdefault(type_name, set()).add(name)


def _find_values(
    plane: ControlPlane,
    place: Place,
    sample: Line,
    lines: Mapping[str, Line],
    found: dict[str, dict[str, list[str]]],
) -> None:
    """Puts a text that nobody expects into one field at a time, and reads which are."""
    for struct, way in _structs(sample, place.type_name, lines):
        for name, facts in lines[struct]["f"].items():
            odd = deepcopy(sample)
            inside = _reach(odd, way)
            if (name in ("apiVersion", "kind") and not way) or "e" in facts or not inside.get(name):
                continue
            if facts["t"] not in ("string", "[]string"):
                continue
            odd["metadata"]["name"] = f"{sample['metadata']['name']}-odd"
            inside[name] = "another" if facts["t"] == "string" else ["another"]
            _, answer = plane.exchange("POST", f"{place.url()}?dryRun=All", odd)
            for cause in (answer.get("details") or {}).get("causes") or ():
                at = re.sub(r"\[\d+\]$", "", cause["field"]).rpartition(".")[2]
                if cause["reason"] == "FieldValueNotSupported" and at == name:
                    texts = re.findall(r'"([^"]*)"', cause["message"].partition("supported values:")[2])
                    known = found.setdefault(struct, {}).setdefault(name, [])
                    # a type may serve several kinds, which take different ones
                    known += [text for text in texts if text not in known]


def _refute(sample: Line, type_name: str, lines: Mapping[str, Line], spared: set[tuple[str, str]]) -> None:
    """What a sample lacks that was taken is not always required."""
    for struct, way in _structs(sample, type_name, lines):
        inside = _reach(sample, way)
        spared |= {(struct, name) for name in lines[struct]["f"] if name not in inside}


def _without(sample: Line, type_name: str, lines: Mapping[str, Line]) -> Iterator[tuple[str, str, Line]]:
    """Types, fields, and copies of the sample that lack the field, each in turn."""
    for struct, way in _structs(sample, type_name, lines):
        for name in lines[struct]["f"]:
            lacking = deepcopy(sample)
            inside = _reach(lacking, way)
            if name not in ("apiVersion", "kind", "metadata", "status") and inside.pop(name, None) is not None:
                yield struct, name, lacking


def _reach(value: Any, way: list[Any]) -> Any:
    """The struct at the end of a way."""
    for step in way:
        value = value[step]
    return value


def _structs(value: Any, type_name: str, lines: Mapping[str, Line]) -> Iterator[tuple[str, list[Any]]]:
    """Structs in a value, the value itself first, and the way to each."""
    if type_name in _CODED:
        return
    yield type_name, []
    for name, facts in lines[type_name]["f"].items():
        kind, inner = facts["t"], value.get(name)
        if kind.startswith(":") and isinstance(inner, dict):
            yield from ((struct, [name, *way]) for struct, way in _structs(inner, kind[1:], lines))
        elif kind.startswith("[]:") and inner:
            yield from ((struct, [name, 0, *way]) for struct, way in _structs(inner[0], kind[3:], lines))


# --- defaults ---

_ABSENT = object()


class _Defaults:
    """What objects had more when they came back, by the type of the struct and its field."""

    def __init__(self, lines: Mapping[str, Line]) -> None:
        self._lines = lines
        self._seen: dict[tuple[str, str], list[tuple[Any, Line]]] = {}
        """The value that was put in, and what was known then: texts of other fields, and which of them were given."""

    def watch(self, type_name: str, given: Line, answer: Line, inside: str = "") -> None:
        """`inside` is the field in which the struct is."""
        if type_name == "meta.v1.ObjectMeta":
            return
        fields = self._lines[type_name]["f"]
        known: Line = {name: value for name, value in answer.items() if isinstance(value, str)}
        known |= {f"{name}?": name in given for name in fields} | {"^": inside}
        for name, facts in fields.items():
            if name in ("apiVersion", "kind") and "metadata" in fields:
                continue
            kind, before, after = facts["t"], given.get(name, _ABSENT), answer.get(name, _ABSENT)
            made = kind.startswith(":") and "p" not in facts
            if after is _ABSENT or (before is _ABSENT and not made):
                if before is _ABSENT and not _is_zero(after, facts):
                    self._seen.setdefault((type_name, name), []).append((after, known))
                continue
            self._inside(kind, {} if before is _ABSENT else before, after, name)

    def _inside(self, kind: str, given: Any, answer: Any, name: str) -> None:
        if kind.startswith(":"):
            self.watch(kind[1:], given or {}, answer, name)
        elif kind.startswith("[]:") and isinstance(answer, list):
            for before, after in zip(given, answer, strict=False):
                self.watch(kind[3:], before, after)

    def rules(self) -> dict[str, list[Line]]:
        found: dict[str, list[Line]] = {}
        for (type_name, name), seen in sorted(self._seen.items()):
            if (type_name, name) in _MADE_BY_CODE:
                continue
            for when, value in _told_apart(seen):
                rule = next((one for one in found.setdefault(type_name, []) if one.get("when", {}) == when), None)
                if rule is None:
                    rule = {"when": when, "set": {}} if when else {"set": {}}
                    found[type_name].append(rule)
                rule["set"][name] = value
        # those that depend on nothing come first: others may depend on them
        return {name: sorted(rules, key=lambda rule: "when" in rule) for name, rules in found.items() if rules}


def _is_zero(value: Any, facts: Line) -> bool:
    """What Go writes of a field that was never set; and times, which are no defaults."""
    return facts["t"] in _TIMES or (value is not _ABSENT and not value and "k" in facts and "p" not in facts)


def _told_apart(seen: list[tuple[Any, Line]]) -> list[tuple[Line, Any]]:
    """The value by what it depends on; nothing where that cannot be told."""
    values = [value for value, _ in seen]
    if all(value is _ABSENT for value in values):
        return []
    if all(value == values[0] for value in values):
        return [({}, values[0])]
    # what other fields say tells more than where the struct is, and that more than which fields were given
    for sibling in sorted(set.intersection(*(set(known) for _, known in seen)), key=lambda one: (one[-1] in "?^", one)):
        groups: dict[Any, list[Any]] = {}
        for value, known in seen:
            groups.setdefault(known[sibling], []).append(value)
        if len(groups) > 1 and all(value == group[0] for group in groups.values() for value in group):
            return [({sibling: key}, group[0]) for key, group in groups.items() if group[0] is not _ABSENT]
    return []
