"""What was seen of the kinds that plugins read."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import muster
from muster.api import kinds
from muster.api.kinds import KINDS, NAMESPACES, REPLICA_SETS, SERVICES, Kind, address_of, owner_of
from muster.api.wire import Identity, LabelsToHave, OwnerReference, Service
from muster.cluster.facts import Facts

TABLE = list(KINDS.values())


def service(name, *, version="1", namespace="team", **selector):
    meta = Identity(name=name, namespace=namespace, uid=f"uid-{name}", resource_version=version)
    return Service(metadata=meta, spec=LabelsToHave(selector=selector))


def test_who_depends_on_a_kind_hears_of_what_came_changed_and_went():
    facts, heard = Facts(), []
    facts.tell(SERVICES, lambda *news: heard.append(news))
    first, second = service("web", app="web"), service("web", version="2", app="other")
    assert facts.put(first)
    assert facts.put(second)
    assert facts.remove("services", "team/web")
    assert heard == [("team/web", None, first), ("team/web", first, second), ("team/web", second, None)]


def test_a_change_of_what_nobody_reads_is_no_news():
    facts, heard = Facts(), []
    facts.put(service("web", app="web"))
    facts.tell(SERVICES, lambda *news: heard.append(news))
    again = service("web", version="2", app="web")
    assert not facts.put(again)
    assert not facts.remove("services", "team/other")
    assert heard == []
    assert facts.get(SERVICES, "team/web") == again


def test_who_depends_on_one_kind_hears_nothing_of_others():
    facts, heard = Facts(), []
    facts.tell(NAMESPACES, lambda *news: heard.append(news))
    facts.put(service("web"))
    assert heard == []


@given(
    st.lists(
        st.tuples(st.sampled_from(TABLE), st.sampled_from("ab"), st.sampled_from("xyz"), st.booleans()), max_size=40
    )
)
def test_they_are_found_by_key_and_by_namespace(steps):
    facts, plain = Facts(), {}
    for kind, namespace, name, comes in steps:
        meta = Identity(name=name, namespace=namespace if kind.resource.namespaced else "")
        if comes:
            plain[kind, kind.key(meta)] = kind.struct(metadata=meta)
            facts.put(plain[kind, kind.key(meta)])
        else:
            assert facts.remove(kind.name, kind.key(meta)) == (plain.pop((kind, kind.key(meta)), None) is not None)
    for kind in TABLE:
        there = {key: fact for (one, key), fact in plain.items() if one is kind}
        assert dict(facts.all(kind)) == there
        assert all(facts.get(kind, key) == fact for key, fact in there.items())
        for namespace in ("a", "b", ""):
            beside = {key: fact for key, fact in there.items() if fact.metadata.namespace == namespace}
            assert dict(facts.in_namespace(kind, namespace)) == beside


def test_every_kind_has_a_name_and_a_struct_of_its_own():
    assert len({kind.struct for kind in TABLE}) == len(KINDS) == len(TABLE)
    for kind in TABLE:
        assert kind.struct.__struct_config__.tag == kind.resource.kind
        assert address_of(kind.struct(metadata=Identity(name="x"))).kind == kind.name


def test_of_the_owners_the_controller_counts():
    owners = (
        OwnerReference(api_version="apps/v1", kind="StatefulSet", name="no"),
        OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", controller=True),
    )
    assert owner_of("team", owners) == (REPLICA_SETS.name, "team/web")
    assert owner_of("team", owners[:1]) is None
    job = OwnerReference(api_version="batch/v1", kind="Job", name="web", controller=True)
    old = OwnerReference(api_version="extensions/v1beta1", kind="ReplicaSet", name="web", controller=True)
    assert owner_of("team", (job,)) is None
    assert owner_of("team", (old,)) is None


GENERIC = (
    *("app/inbox", "app/informers", "app/preflight", "app/run", "cluster/facts", "engine/changes", "engine/classing"),
    *("engine/defaults", "engine/engine", "engine/gates", "engine/intake", "framework/contract", "framework/profile"),
    *("sim/objects", "sim/recount"),
    *("sim/scenario/book", "sim/scenario/manifests", "sim/scenario/perform", "sim/scenario/shapes", "sim/world"),
)


@pytest.mark.parametrize("module", GENERIC)
def test_what_is_done_with_every_kind_names_none(module):
    tree = ast.parse((Path(muster.__path__[0]) / f"{module}.py").read_text())
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names}
    rows = {name for name, value in vars(kinds).items() if isinstance(value, Kind)}
    assert rows
    assert imported & {*rows, *(kind.struct.__name__ for kind in TABLE)} == set()
