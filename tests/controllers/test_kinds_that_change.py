"""Custom kinds get versions, lose them and go: living owners keep what is theirs, dead ones do not."""

import asyncio
import random
from contextlib import asynccontextmanager

import pytest

from muster.controllers.manager import attach_all, suffixes
from tests.controllers.embedded import Embedded, controlled
from tests.controllers.server import running
from tests.local.serving import CONFIG

pytestmark = pytest.mark.looptime

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = f"{DEFINITIONS}/widgets.example.com"
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
LONG = 120
"""Seconds in which everything that is to happen has."""


def version(name, *, served=True, storage=False):
    return {"name": name, "served": served, "storage": storage, "schema": SCHEMA}


def definition(*versions):
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": list(versions),
        },
    }


def redefine(server, *versions):
    server.merge(DEFINITION, {"spec": {"versions": list(versions)}})


def path(number, name=""):
    where = f"/apis/example.com/{number}/namespaces/default/widgets"
    return f"{where}/{name}" if name else where


def widget(server, name, *, number="v1", owners=()):
    meta = {"name": name, "ownerReferences": list(owners)}
    made = server.create(path(number), {"apiVersion": f"example.com/{number}", "kind": "Widget", "metadata": meta})
    return {"apiVersion": f"example.com/{number}", "kind": "Widget", "name": name, "uid": made["metadata"]["uid"]}


def config(server, name, *owners):
    server.create(CONFIG, {"metadata": {"name": name, "ownerReferences": list(owners)}})


def names(server, where=CONFIG):
    return [one["metadata"]["name"] for one in server.get(where)["items"]]


@asynccontextmanager
async def widgets():
    async with controlled(rng=random.Random(0)) as (server, _):
        server.create(DEFINITIONS, definition(version("v1", storage=True)))
        await asyncio.sleep(LONG)
        yield server


async def test_children_of_a_living_owner_stay_when_its_kind_gets_a_version_that_is_preferred():
    async with widgets() as server:
        owner = widget(server, "a")
        config(server, "child", owner)
        await asyncio.sleep(LONG)
        redefine(server, version("v1", storage=True), version("v2"))
        await asyncio.sleep(LONG)
        assert names(server) == ["child"]
        assert names(server, path("v2")) == ["a"]


async def test_they_stay_when_the_version_in_which_they_name_their_owner_is_served_no_more():
    async with widgets() as server:
        owner = widget(server, "a")
        config(server, "child", owner)
        await asyncio.sleep(LONG)
        redefine(server, version("v1", storage=True, served=False), version("v2"))
        await asyncio.sleep(LONG)
        config(server, "late", owner)
        await asyncio.sleep(LONG)
        assert names(server) == ["child", "late"]


async def test_they_stay_while_no_version_of_the_owners_kind_is_served():
    async with widgets() as server:
        config(server, "child", widget(server, "a"))
        await asyncio.sleep(LONG)
        redefine(server, version("v1", storage=True, served=False))
        await asyncio.sleep(LONG)
        assert names(server) == ["child"]
        redefine(server, version("v1", storage=True))
        await asyncio.sleep(LONG)
        assert names(server) == ["child"]
        server.ask("DELETE", path("v1", "a"))
        await asyncio.sleep(LONG)
        assert names(server) == []


async def test_an_owner_that_goes_in_its_new_version_takes_its_children_with_it():
    async with widgets() as server:
        owner = widget(server, "a")
        widget(server, "grandchild", owners=[widget(server, "child", owners=[owner])])
        await asyncio.sleep(LONG)
        redefine(server, version("v1", storage=True), version("v2"))
        await asyncio.sleep(LONG)
        server.ask("DELETE", path("v2", "a"))
        await asyncio.sleep(LONG)
        assert names(server, path("v1")) == []


@pytest.mark.parametrize("number", ["v1", "v2"])
async def test_a_child_finds_its_owner_in_whichever_version_it_names_it(number):
    async with widgets() as server:
        redefine(server, version("v1", storage=True), version("v2"))
        await asyncio.sleep(LONG)
        owner = widget(server, "a", number=number)
        config(server, "child", owner)
        await asyncio.sleep(LONG)
        assert names(server) == ["child"]
        server.ask("DELETE", path("v1", "a"))
        await asyncio.sleep(LONG)
        assert names(server) == []


async def test_an_owner_that_went_while_its_kind_changed_hands_takes_its_children_with_it():
    async with widgets() as server:
        config(server, "child", widget(server, "a"))
        await asyncio.sleep(LONG)
        # before anybody can have noticed the one, the other has happened
        redefine(server, version("v1", storage=True), version("v2"))
        server.ask("DELETE", path("v2", "a"))
        await asyncio.sleep(LONG)
        assert names(server) == []


async def test_an_owner_does_not_wait_for_a_child_that_went_while_its_kind_was_not_served():
    async with widgets() as server:
        redefine(server, version("v1", storage=True), version("v2", served=False))
        owner = server.create(CONFIG, {"metadata": {"name": "owner"}})
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        widget(server, "child", owners=[{**reference, "blockOwnerDeletion": True}])
        await asyncio.sleep(LONG)
        redefine(server, version("v1", storage=True, served=False), version("v2", served=False))
        await asyncio.sleep(LONG)
        redefine(server, version("v1", storage=True, served=False), version("v2"))
        server.ask("DELETE", path("v2", "child"))
        await asyncio.sleep(LONG)
        server.ask("DELETE", f"{CONFIG}/owner?propagationPolicy=Foreground")
        await asyncio.sleep(LONG)
        assert names(server) == []


async def test_children_go_with_an_owner_whose_kind_goes():
    async with widgets() as server:
        config(server, "child", widget(server, "a"))
        await asyncio.sleep(LONG)
        server.ask("DELETE", DEFINITION)
        await asyncio.sleep(LONG)
        assert names(server) == []


async def test_a_namespace_is_emptied_of_a_kind_that_changes_hands_meanwhile():
    async with widgets() as server:
        server.create("/api/v1/namespaces", {"metadata": {"name": "team"}})
        body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
        server.create("/apis/example.com/v1/namespaces/team/widgets", body)
        await asyncio.sleep(LONG)
        server.ask("DELETE", "/api/v1/namespaces/team")
        handle, seen = server.server.handle, []

        def meanwhile(request):
            # between the look at what is served and the deletion
            if request.method == "DELETE" and request.path.endswith("/v1/namespaces/team/widgets") and not seen:
                seen.append(request.path)
                redefine(server, version("v1", storage=True, served=False), version("v2"))
            return handle(request)

        server.server.handle = meanwhile
        await asyncio.sleep(LONG)
        assert seen
        assert names(server, "/apis/example.com/v2/widgets") == []
        server.refused("GET", "/api/v1/namespaces/team", code=404)


# --- a start on what an earlier process left ---


class SlowToList(Embedded):
    """One kind takes its time to be listed."""

    slow = ""

    async def request(self, method, path, **options):
        if method == "GET" and path == self.slow:
            await asyncio.sleep(10)
        return await super().request(method, path, **options)


@pytest.mark.parametrize("slow", ["/api/v1/configmaps", "/apis/example.com/v1/widgets"])
@pytest.mark.parametrize("policy", ["Orphan", "Foreground"])
async def test_what_was_asked_for_before_a_restart_is_done_whichever_kind_is_read_last(policy, slow):
    """An owner of which not all children are known yet must not go: orphans would be taken for left behind."""
    server = SlowToList()
    server.create(DEFINITIONS, definition(version("v1", storage=True)))
    owner = widget(server, "a")
    widget(server, "child", owners=[{**owner, "blockOwnerDeletion": True}])
    config(server, "child", {**owner, "blockOwnerDeletion": True})
    server.ask("DELETE", path("v1", "a"), {"propagationPolicy": policy})
    server.slow = slow
    async with running(server, attach=lambda driver: attach_all(driver, names=suffixes(random.Random(0)), nodes=False)):
        await asyncio.sleep(5)
        assert names(server, path("v1")) == ["a", "child"], "nobody is hasty"
        await asyncio.sleep(LONG)
        left = ["child"] if policy == "Orphan" else []
        assert (names(server), names(server, path("v1"))) == (left, left)
