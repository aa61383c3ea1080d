"""A refresh gives what a list that began after it found; and reading can be stopped at every point."""

import asyncio

import pytest

from tests.kube.server import PODS, Api, Cut, Held, Stream, page, pod, refusal, running, settled, until
from tests.kube.test_reflector import PODS_RESOURCE as RESOURCE
from tests.kube.test_reflector import Reader, reading, watched

pytestmark = pytest.mark.looptime


@pytest.fixture
def api():
    return Api()


async def test_a_refresh_while_watching_lists_at_once(api):
    api.on("LIST", PODS, page(pod("a"), version=7))
    async with reading(api) as reader:
        watch = await watched(api)
        api.on("LIST", PODS, page(pod("b"), version=9))
        began = asyncio.get_running_loop().time()
        await reader.reflector.refresh()
        assert reader.said == ["a@1", "b@1", "-a"]
        assert watch.closed.is_set()
        await watched(api, 2)
        assert api.asked("WATCH")[1].query["resourceVersion"] == "9"
        assert asyncio.get_running_loop().time() == began


async def test_a_refresh_before_the_first_list_is_served_by_it(api):
    api.on("LIST", PODS, page(pod("a"), version=7))
    async with reading(api) as reader:
        await reader.reflector.refresh()
        assert reader.said == ["a@1"]
        await watched(api)
    assert len(api.asked("LIST")) == 1


async def test_a_refresh_while_listing_waits_for_a_list_that_begins_later(api):
    first = Held(page(pod("old"), version=7))
    api.on("LIST", PODS, first, page(pod("new"), version=9))
    async with reading(api) as reader:
        await until(lambda: api.calls)
        refreshing = asyncio.create_task(reader.reflector.refresh())
        await settled()
        first.gate.set()
        async with asyncio.timeout(30):
            await refreshing
        assert reader.said == ["old@1", "new@1", "-old"]


async def test_a_refresh_between_two_pages_waits_for_a_whole_list(api):
    second = Held(page(pod("b"), version=7))
    api.on("LIST", PODS, page(pod("a"), version=7, following="2"), second, page(pod("b"), version=9))
    async with reading(api) as reader:
        await until(lambda: len(api.calls) == 2)
        refreshing = asyncio.create_task(reader.reflector.refresh())
        await settled()
        second.gate.set()
        async with asyncio.timeout(30):
            await refreshing
        assert reader.said == ["a@1", "b@1", "-a"]


async def test_a_refresh_of_a_kind_that_is_not_served_looks_for_it_at_once(api):
    async with reading(api) as reader:
        await reader.reflector.synced.wait()
        await settled()
        api.on("LIST", PODS, page(pod("a"), version=7))
        began = asyncio.get_running_loop().time()
        await reader.reflector.refresh()
        assert reader.said == ["a@1"]
        assert asyncio.get_running_loop().time() == began


async def test_a_refresh_of_a_kind_that_is_still_not_served_returns(api):
    async with reading(api) as reader:
        await reader.reflector.synced.wait()
        await settled()
        await reader.reflector.refresh()
    assert len(api.asked("LIST")) == 2


async def test_a_refresh_while_backing_off_is_served_by_the_next_list(api):
    api.on("LIST", PODS, refusal(500), page(pod("a"), version=7))
    async with reading(api) as reader:
        await until(lambda: reader.reflector.trouble is not None)
        async with asyncio.timeout(30):
            await reader.reflector.refresh()
        assert reader.said == ["a@1"]


async def test_a_refresh_outlives_lists_that_fail(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api) as reader:
        await watched(api)
        api.on("LIST", PODS, Cut(), refusal(503), refusal(410), page(pod("a"), version=9))
        async with asyncio.timeout(60):
            await reader.reflector.refresh()
        assert reader.said == ["a@1"]


async def test_a_refresh_after_a_watch_failed_does_not_resume_it(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api) as reader:
        (await watched(api)).cut()
        await until(lambda: reader.reflector.trouble is not None)
        api.on("LIST", PODS, page(pod("a"), version=9))
        async with asyncio.timeout(30):
            await reader.reflector.refresh()
        assert reader.said == ["a@1"]
        await watched(api, 2)
        assert api.asked("WATCH")[-1].query["resourceVersion"] == "9"


async def test_refreshes_at_the_same_time_share_a_list(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api) as reader:
        await watched(api)
        await asyncio.gather(*(reader.reflector.refresh() for _ in range(5)))
        await watched(api, 2)
    assert len(api.asked("LIST")) == 2


async def test_a_refresh_that_is_cancelled_harms_nobody(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api) as reader:
        await watched(api)
        slow = Held(page(pod("a"), version=9))
        api.on("LIST", PODS, slow, page(pod("a"), version=9))
        given_up = asyncio.create_task(reader.reflector.refresh())
        kept = asyncio.create_task(reader.reflector.refresh())
        await settled()
        given_up.cancel()
        slow.gate.set()
        await kept
        assert reader.said == ["a@1"]


# stopping


SITUATIONS = {
    "listing": lambda api: api.on("LIST", PODS, Held(page())),
    "on the second page": lambda api: api.on("LIST", PODS, page(following="2"), Held(page())),
    "watching": lambda api: api.on("LIST", PODS, page()),
    "asking for a watch": lambda api: (api.on("LIST", PODS, page()), api.on("WATCH", PODS, Held(Stream()))),
    "backing off": lambda api: api.on("LIST", PODS, Cut()),
    "not served": lambda api: None,
}


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("refreshing", [False, True], ids=["", "while someone waits for a refresh"])
async def test_reading_can_be_cancelled_while(api, situation, refreshing):
    SITUATIONS[situation](api)
    reader = Reader(api, [RESOURCE])
    waiting = asyncio.create_task(reader.reflector.refresh()) if refreshing else None
    async with running(reader.reflector.run()) as task:
        await settled()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(5):
                await task
    if waiting is not None:
        waiting.cancel()
        await asyncio.wait([waiting])


@pytest.mark.parametrize("turns", range(8))
async def test_reading_can_be_cancelled_just_after_a_refresh_was_asked_for(api, turns):
    api.on("LIST", PODS, page(version=7))
    reader = Reader(api, [RESOURCE])
    async with running(reader.reflector.run()) as task:
        await watched(api)
        waiting = asyncio.create_task(reader.reflector.refresh())
        await settled(turns)
        task.cancel()
        await settled(20)
        assert task.done()
        waiting.cancel()
        await asyncio.wait([waiting])


@pytest.mark.parametrize("turns", range(25))
async def test_reading_can_be_cancelled_after_any_number_of_steps(api, turns):
    api.on("LIST", PODS, page(pod("a"), version=7, following="2"), page(pod("b"), version=7))
    api.on("WATCH", PODS, Stream(), Cut(), refusal(410))
    reader = Reader(api, [RESOURCE])
    async with running(reader.reflector.run()) as task:
        await settled(turns)
        task.cancel()
        await settled(20)
        assert task.cancelled()
