"""Nothing changes that its writer does not own or send: random schemas, objects and managers, against `apply_model`."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from muster.local.serve.wire import Answer
from tests.local import apply_model
from tests.local.apply_model import LIST, MAP, Conflict, Emptied, Model, Nodes, Path, nodes
from tests.local.serving import APPLY, Served

_WORLDS = 250
_REQUESTS = 10
_PATH = "/apis/law.dev/{version}/namespaces/default/things"

# --- schemas ---

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_OPEN = {"type": "object", **apply_model.ANYTHING}
_SET = {"type": "array", "items": _TEXT, "x-kubernetes-list-type": "set"}
_KEYED = {
    "type": "object",
    "required": ["k"],
    "properties": {"k": _TEXT, "p": {"type": "integer", "default": 7}, "v": _NUMBER, "tags": _SET, "extra": _OPEN},
}
_PARTS: list[dict[str, Any]] = [
    _NUMBER,
    {"type": "boolean"},
    _TEXT,
    {"type": "integer", "default": 0},
    {"type": "string", "default": "x"},
    {"type": "string", "nullable": True},
    {"x-kubernetes-int-or-string": True},
    {"type": "array", "items": _NUMBER},
    _SET,
    {"type": "object", "additionalProperties": _TEXT, "x-kubernetes-map-type": "atomic"},
    {"type": "object", "properties": {"a": _TEXT, "b": _TEXT}, "x-kubernetes-map-type": "atomic"},
    {"type": "array", "items": _KEYED, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "p"]},
    _OPEN,
]


def _schema(random: Random, depth: int = 2) -> dict[str, Any]:
    """Of a struct, or of something of which nothing is known."""
    if depth == 2 and random.random() < 0.2:
        return _OPEN
    return {"type": "object", "properties": {name: _part(random, depth) for name in "abcde"[: 2 + depth]}}


def _part(random: Random, depth: int) -> dict[str, Any]:
    chance = random.random()
    if depth and chance < 0.2:
        return _schema(random, depth - 1)
    if depth and chance < 0.4:
        return {"type": "object", "additionalProperties": _part(random, depth - 1)}
    return random.choice(_PARTS)


# --- values ---


def _value(random: Random, schema: dict[str, Any]) -> Any:
    """Few different ones, many of them zeros and empty."""
    if "properties" in schema:
        known, required = schema["properties"], schema.get("required", ())
        return {name: _value(random, known[name]) for name in known if name in required or random.random() < 0.5}
    if "additionalProperties" in schema:
        return {name: _value(random, schema["additionalProperties"]) for name in "uv" if random.random() < 0.5}
    if schema.get("type") == "array":
        return _list(random, schema)
    if schema.get("type") == "object":
        return _unknown(random)
    if schema.get("nullable") and random.random() < 0.3:
        return None
    if schema.get("type", random.choice(["string", "integer"])) == "string":
        return random.choice(["", "x", "y"])
    return random.choice([False, True]) if schema.get("type") == "boolean" else random.choice([0, 1])


def _list(random: Random, schema: dict[str, Any]) -> list[Any]:
    items = [_value(random, schema["items"]) for _ in range(random.randint(0, 3))]
    kind = schema.get("x-kubernetes-list-type", "atomic")
    if kind == "atomic":
        return items
    name = (lambda item: (item["k"], item.get("p", 7))) if kind == "map" else (lambda item: item)
    return list({name(item): item for item in items}.values())


def _unknown(random: Random, depth: int = 2) -> dict[str, Any]:
    """A name has a type, so that no value becomes one of another type."""
    made = {"n": random.choice([0, 1]), "s": random.choice(["", "x"]), "f": random.choice([False, True]), "z": None}
    made["l"] = random.choice([[], [0, None], [{"x": 0}]])
    made |= {name: _unknown(random, depth - 1) for name in "mo"} if depth else {}
    return {name: value for name, value in made.items() if random.random() < 0.4}


# --- the server and the model, side by side ---


class Pair:
    """One object, on the server and in the model."""

    def __init__(self, spec: dict[str, Any], status: dict[str, Any]) -> None:
        self.server = Served()
        labels = {"type": "object", "properties": {"labels": {"type": "object", "additionalProperties": _TEXT}}}
        self.schema = {"properties": {"metadata": labels, "spec": spec, "status": status}}
        self.model = Model(self.schema)
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}
        version = {"served": True, "schema": schema, "subresources": {"status": {}}}
        versions = [{"name": name, "storage": name == "v1", **version} for name in ("v1", "v2")]
        names = {"plural": "things", "kind": "Thing"}
        definition = {"group": "law.dev", "scope": "Namespaced", "names": names, "versions": versions}
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        self.server.create(path, {"metadata": {"name": "things.law.dev"}, "spec": definition})

    @property
    def exists(self) -> bool:
        return bool(self.model.live)

    def apply(self, manager: str, sent: dict[str, Any], *, version: str, sub: str, force: bool) -> bool:
        """Whether the story goes on."""
        config = self._part(nodes(_told(sent), self.schema), sub)
        path = f"{_PATH}/it{sub and '/status'}?fieldManager={manager}&force={str(force).lower()}"
        before = self.document() if self.exists else None
        answer = self._ask("PATCH", path, sent, version=version, content_type=APPLY)
        owned = dict(self.model.owned)
        self.model.begin(("before-first-apply", "Update", version, sub), self._part(self.model.live, sub))
        outcome = self.model.apply((manager, "Apply", "", sub), config, force=force)
        if outcome is not None:
            self.model.owned = owned
        if isinstance(outcome, Conflict):
            assert answer.code == 409, answer.body
            causes = json.loads(answer.body)["details"]["causes"]
            assert {f"{cause['field']} {_manager(cause['message'])}" for cause in causes} == outcome.fields
        elif isinstance(outcome, Emptied):
            return self._emptied(answer, outcome, before)
        else:
            assert answer.code in (200, 201), answer.body
        self.check()
        return True

    def _emptied(self, answer: Answer, outcome: Emptied, before: Any) -> bool:
        """What has become null is refused where the schema says so, and then nothing has happened."""
        if answer.code == 422:
            assert self.document() == before
            return True
        live = nodes(_told(self.document()), self.schema)
        assert all(live.get(path, "null") == "null" for path in outcome.parts)
        return False

    def write(self, manager: str, sent: dict[str, Any], *, version: str, sub: str) -> None:
        """By a create, or an update."""
        before = self._part(self.model.live, sub)
        after = self._part(nodes(_told(sent), self.schema), sub)
        apply_model.add_defaults(after, self.schema)
        if self.exists:
            found = self.document()["metadata"]["resourceVersion"]
            body = {**sent, "metadata": {**sent["metadata"], "resourceVersion": found}}
            path = f"{_PATH}/it{sub and '/status'}?fieldManager={manager}"
            answer = self._ask("PUT", path, body, version=version)
        else:
            answer = self._ask("POST", f"{_PATH}?fieldManager={manager}", sent, version=version)
        assert answer.code in (200, 201), answer.body
        self.model.write((manager, "Update", version, sub), before, after)
        self.check()

    def _part(self, found: Nodes, sub: str) -> Nodes:
        """What a way of writing can reach."""
        reached = ("status",) if sub else ("metadata", "spec")
        return {path: value for path, value in found.items() if not path or path[0][1] in reached}

    def _ask(
        self, method: str, path: str, sent: Any, *, version: str, content_type: str = "application/json"
    ) -> Answer:
        body = {"apiVersion": f"law.dev/{version}", "kind": "Thing", **sent}
        answer = self.server.answer(method, path.format(version=version), body, content_type=content_type)
        assert isinstance(answer, Answer)
        return answer

    def document(self) -> dict[str, Any]:
        return self.server.get(f"{_PATH.format(version='v1')}/it")

    def check(self) -> None:
        """Both have the same nodes, and the same owners of their leaves."""
        if not self.exists:
            return
        apply_model.add_defaults(self.model.live, self.schema)
        document = self.document()
        live = nodes(_told(document), self.schema)
        assert live == self.model.live
        entries = document["metadata"].get("managedFields", ())
        owned = {_key(entry): _leaves(entry["fieldsV1"], live) for entry in entries}
        expected = {
            key: {path for path in paths if live.get(path) not in (MAP, LIST)}
            for key, paths in self.model.owned.items()
        }
        assert _nonempty(owned) == _nonempty(expected)


def _told(document: dict[str, Any]) -> dict[str, Any]:
    labels = document["metadata"].get("labels")
    told = {"metadata": {"labels": labels} if labels else {}}
    return told | {name: document[name] for name in ("spec", "status") if name in document}


def _manager(message: str) -> str:
    return message.split('"')[1]


def _key(entry: dict[str, Any]) -> tuple[str, ...]:
    version = entry["apiVersion"].rpartition("/")[2] if entry["operation"] == "Update" else ""
    return entry["manager"], entry["operation"], version, entry.get("subresource", "")


def _leaves(fields: dict[str, Any], live: Nodes, path: Path = ()) -> set[Path]:
    """Read off FieldsV1 without the code that wrote it."""
    found: set[Path] = set()
    for step, below in fields.items():
        if step == ".":
            continue
        kind, _, rest = step.partition(":")
        one = (*path, (kind, rest if kind == "f" else json.dumps(json.loads(rest))))
        found |= _leaves(below, live, one)
        if (not below or "." in below) and live.get(one) not in (MAP, LIST):
            found.add(one)
    return found


def _nonempty(owned: dict[Any, set[Path]]) -> dict[Any, set[Path]]:
    return {key: paths for key, paths in owned.items() if paths}


@pytest.mark.parametrize("seed", range(_WORLDS))
def test_nothing_changes_that_its_writer_does_not_own_or_send(seed: int) -> None:
    random = Random(seed)
    pair = Pair(_schema(random), _schema(random))
    for _ in range(_REQUESTS):
        meta = {"name": "it"} | ({"labels": {"l": random.choice("ab")}} if random.random() < 0.4 else {})
        parts = {name: pair.schema["properties"][name] for name in ("spec", "status") if random.random() < 0.7}
        sent = {"metadata": meta} | {name: _value(random, schema) for name, schema in parts.items()}
        version, sub = random.choice(["v1", "v2"]), random.choice(["", "", "status"]) if pair.exists else ""
        if random.random() < 0.25:
            pair.write(random.choice("uw"), sent, version=version, sub=sub)
        elif not pair.apply(random.choice("abc"), sent, version=version, sub=sub, force=random.random() < 0.5):
            return
