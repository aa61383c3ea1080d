"""Journals: what was told of any kind can be told again, by who knows more kinds than whoever wrote them."""

import msgspec
import pytest

from muster.api.kinds import KINDS
from muster.api.wire import Identity
from muster.engine.changes import FactGone, FactSeen
from muster.engine.engine import Engine
from muster.engine.journal import FORMAT, Applied, Header, Recorder, replay
from muster.plugins.defaults import default_profile


def replayed(lines):
    engines = []

    def make(settings):
        engines.append(Engine(default_profile()))
        return engines[-1]

    assert replay(lines, make).difference is None
    (engine,) = engines
    return engine.cluster


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_objects_of_every_kind_are_told_again_as_they_were(kind):
    lines = []
    space = "team" if kind.resource.namespaced else ""
    metas = [{"name": name, "namespace": space, "labels": {"a": "b"}} for name in ("x", "y")]
    facts = [msgspec.convert({"kind": kind.resource.kind, "metadata": meta}, kind.struct) for meta in metas]
    recorder = Recorder(Engine(default_profile()), lines.append, settings={})
    recorder.apply([*map(FactSeen, facts), FactGone(kind.name, kind.key(facts[0].metadata))])
    recorder.decide(1.0)
    assert dict(replayed(lines).facts.all(kind)) == {kind.key(facts[1].metadata): facts[1]}


def test_what_earlier_versions_wrote_of_namespaces_is_understood():
    old = b"""{"record":"apply","changes":[
        {"change":"namespace","namespace":{"metadata":{"name":"team","resourceVersion":"7","labels":{"a":"b"},
            "creationTimestamp":"2026-01-01T00:00:00Z","annotations":{"c":"d"}}}},
        {"change":"namespace","namespace":{"metadata":{"name":"gone","labels":{"a":"b"}}}},
        {"change":"namespace-gone","name":"gone"}]}"""
    cluster = replayed([msgspec.json.encode(Header(FORMAT, {})), old.replace(b"\n", b"")])
    assert cluster.namespaces.labels == {"team": {"a": "b"}}


def test_it_is_one_document_with_the_name_of_the_kind():
    (fact,) = [kind.struct(metadata=Identity(name="x", namespace="team")) for kind in [KINDS["replicasets.apps"]]]
    assert msgspec.json.decode(msgspec.json.encode(Applied((FactSeen(fact),)))) == {
        "record": "apply",
        "changes": [{"change": "fact", "fact": {"kind": "ReplicaSet", "metadata": {"name": "x", "namespace": "team"}}}],
    }
