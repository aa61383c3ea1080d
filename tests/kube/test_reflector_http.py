"""The reader on the real client and real sockets: what the wire can do to a list and a watch."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from muster.api.resources import PODS as PODS_RESOURCE
from muster.api.wire import Pod
from muster.kube import reflector as module
from muster.kube.client import Client
from muster.kube.reflector import Gone, Reflector
from tests.kube.server import (
    PODS,
    Api,
    Cut,
    Stream,
    added,
    bookmark,
    connection,
    deleted,
    failed,
    modified,
    page,
    pod,
    refusal,
    running,
    serving,
)


class Reader:
    """Keeps what was delivered, and can wait for it."""

    def __init__(self, client):
        self.said = []
        self._more = asyncio.Event()
        self.reflector = Reflector(client, [PODS_RESOURCE], Pod, deliver=self._take)

    def _take(self, batch):
        for one in batch:
            self.said.append("-" + one.key if isinstance(one, Gone) else f"{_key(one)}@{one.metadata.resource_version}")
        self._more.set()

    async def says(self, *expected):
        async with asyncio.timeout(10):
            while len(self.said) < len(expected):
                self._more.clear()
                await self._more.wait()
        assert self.said == list(expected)


def _key(one):
    return f"{one.metadata.namespace}/{one.metadata.name}"


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch):
    """Sockets live in real time; how long to wait is tested where time is virtual."""
    monkeypatch.setattr(module, "backoff_seconds", lambda failures, **options: 0.0)


@pytest.fixture
def api():
    return Api()


@asynccontextmanager
async def reading(api):
    async with serving(api) as address, Client(connection(address), user_agent="muster/test") as client:
        reader = Reader(client)
        async with running(reader.reflector.run()) as task:
            yield reader
            assert not task.done(), task.exception()


async def opened(api, number):
    async with asyncio.timeout(10):
        while len(api.streams) < number:
            await asyncio.sleep(0)
    return api.streams[number - 1]


async def test_a_list_in_pages_and_a_watch(api):
    api.on("LIST", PODS, page(pod("a"), version=7, following="x+y/z=="), page(pod("b"), version=7))
    async with reading(api) as reader:
        watch = await opened(api, 1)
        watch.send(modified(pod("a", 8)), bookmark(9))
        watch.send(deleted(pod("b", 10)))
        await reader.says("team/a@1", "team/b@1", "team/a@8", "-team/b")
    assert [call.query.get("continue") for call in api.asked("LIST")] == [None, "x+y/z=="]


async def test_a_line_in_two_chunks(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api) as reader:
        watch = await opened(api, 1)
        watch.write(b'{"type": "ADDED", "object": {"metadata": {"name": "a", "namesp')
        watch.write(b'ace": "team", "resourceVersion": "8"}}}\n{"type"')
        await reader.says("team/a@8")
        watch.write(b': "ADDED", "object": {"metadata": {"name": "b", "namespace": "team", "resourceVersion": "9"}}}\n')
        await reader.says("team/a@8", "team/b@9")


async def test_an_object_larger_than_any_buffer(api):
    large = pod("a", 8, nodeName="n" * 1_000_000)
    api.on("LIST", PODS, page(version=7))
    async with reading(api) as reader:
        (await opened(api, 1)).send(added(large))
        await reader.says("team/a@8")


async def test_a_watch_that_ends_is_resumed_where_it_ended(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api) as reader:
        (await opened(api, 1)).send(added(pod("a", 8)), bookmark(20))
        api.streams[0].end()
        (await opened(api, 2)).send(added(pod("b", 21)))
        await reader.says("team/a@8", "team/b@21")
    assert [call.query["resourceVersion"] for call in api.asked("WATCH")] == ["7", "20"]


async def test_a_watch_that_is_cut_within_a_line_is_resumed_after_the_last_whole_event(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api) as reader:
        watch = await opened(api, 1)
        watch.send(added(pod("a", 8)))
        watch.write(b'{"type": "ADDED", "obj')
        watch.cut()
        (await opened(api, 2)).send(added(pod("b", 9)))
        await reader.says("team/a@8", "team/b@9")
    assert [call.query["resourceVersion"] for call in api.asked("WATCH")] == ["7", "8"]
    assert len(api.asked("LIST")) == 1


@pytest.mark.parametrize(
    "lost", [lambda: Stream(failed(410, reason="Expired")), lambda: refusal(410)], ids=["in the stream", "as an answer"]
)
async def test_history_that_was_lost_is_made_up_for(api, lost):
    api.on("LIST", PODS, page(pod("a"), pod("b"), version=7), page(pod("b", 20), pod("c", 21), version=30))
    api.on("WATCH", PODS, lost(), Stream())
    async with reading(api) as reader:
        await reader.says("team/a@1", "team/b@1", "team/b@20", "team/c@21", "-team/a")


async def test_a_list_that_is_cut_within_a_page_is_begun_anew(api):
    api.on("LIST", PODS, Cut(b'{"metadata": {}, "items": [{'), page(pod("a"), version=7))
    async with reading(api) as reader:
        await reader.says("team/a@1")


async def test_a_server_that_cuts_every_watch_for_a_while_is_followed_again(api):
    api.on("LIST", PODS, page(pod("a"), version=7))
    api.on("WATCH", PODS, *[Cut()] * 5, Stream(added(pod("b", 8))))
    async with reading(api) as reader:
        await reader.says("team/a@1", "team/b@8")


async def test_stopping_closes_the_watch(api):
    api.on("LIST", PODS, page(version=7))
    async with serving(api) as address, Client(connection(address), user_agent="muster/test") as client:
        async with running(Reader(client).reflector.run()):
            watch = await opened(api, 1)
        async with asyncio.timeout(10):
            await watch.closed.wait()
