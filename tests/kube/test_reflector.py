"""A reader stays in step with a kind, whatever the server and the wire do.  Time is virtual, there are no sockets."""

import asyncio
import json
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from structlog.testing import capture_logs

from muster.api.resources import NATIVE_POD_GROUPS
from muster.api.resources import PODS as PODS_RESOURCE
from muster.api.wire import Pod
from muster.kube import reflector as module
from muster.kube.reflector import Gone, Reflector
from tests.kube.server import (
    PODS,
    Api,
    Cut,
    Direct,
    Held,
    Reply,
    Stream,
    added,
    bookmark,
    deleted,
    failed,
    modified,
    page,
    pod,
    refusal,
    running,
    settled,
    until,
)

pytestmark = pytest.mark.looptime

BETA, ALPHA = (resource.path() for resource in NATIVE_POD_GROUPS)


class Reader:
    """Keeps what was delivered: names with versions, and "-name" for what is gone."""

    def __init__(self, api, resources, lacking=(404,)):
        self.batches = []
        self.state = {}
        self.reflector = Reflector(Direct(api), resources, Pod, deliver=self._take, lacking=lacking)

    def _take(self, batch):
        assert batch
        self.batches.append(batch)
        for one in batch:
            if isinstance(one, Gone):
                assert self.state.pop(one.key).metadata.uid == one.uid
            else:
                key = f"{one.metadata.namespace}/{one.metadata.name}"
                assert key not in self.state or self.state[key].metadata.uid == one.metadata.uid
                self.state[key] = one

    @property
    def said(self):
        return [_short(one) for batch in self.batches for one in batch]

    async def says(self, *expected):
        await until(lambda: len(self.said) >= len(expected))
        await settled()
        assert self.said == list(expected)


def _short(one):
    if isinstance(one, Gone):
        return "-" + one.key.removeprefix("team/")
    return f"{one.metadata.name}@{one.metadata.resource_version}"


@pytest.fixture
def api():
    return Api()


@asynccontextmanager
async def reading(api, resources=(PODS_RESOURCE,), *, lacking=(404,)):
    reader = Reader(api, resources, lacking)
    async with running(reader.reflector.run()) as task:
        yield reader
        assert not task.done(), task.exception()


async def watched(api, number=1):
    """The watch of that number, once it is open."""
    await until(lambda: len(api.streams) >= number)
    return api.streams[number - 1]


# listing


async def test_everything_that_is_listed_is_delivered(api):
    api.on("LIST", PODS, page(pod("a", 3), pod("b", 5), version=7))
    async with reading(api) as reader:
        await reader.says("a@3", "b@5")
        assert reader.reflector.synced.is_set()
        assert reader.reflector.trouble is None


async def test_a_list_asks_for_the_latest_state(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api):
        await watched(api)
    assert api.asked("LIST")[0].query == {"limit": "500"}


async def test_an_empty_list_delivers_nothing_and_is_in_step(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api) as reader:
        await reader.reflector.synced.wait()
        assert reader.said == []


async def test_pages_are_asked_for_until_there_are_no_more(api):
    api.on(
        "LIST",
        PODS,
        page(pod("a"), version=7, following="page+2=="),
        page(pod("b"), version=7, following="page+3=="),
        page(pod("c"), version=7),
    )
    async with reading(api) as reader:
        await reader.says("a@1", "b@1", "c@1")
    assert [call.query.get("continue") for call in api.asked("LIST")] == [None, "page+2==", "page+3=="]


async def test_nothing_is_in_step_before_the_last_page(api):
    last = Held(page(pod("b"), version=7))
    api.on("LIST", PODS, page(pod("a"), version=7, following="2"), last)
    async with reading(api) as reader:
        await reader.says("a@1")
        assert not reader.reflector.synced.is_set()
        last.gate.set()
        await reader.reflector.synced.wait()


async def test_the_watch_begins_where_the_list_was_taken(api):
    api.on("LIST", PODS, page(pod("a", 3), version=7))
    async with reading(api):
        await watched(api)
    query = api.asked("WATCH")[0].query
    assert query["resourceVersion"] == "7"
    assert query["allowWatchBookmarks"] == "true"
    assert 300 <= int(query["timeoutSeconds"]) <= 600


async def test_an_expired_continue_token_begins_the_list_anew(api):
    api.on(
        "LIST",
        PODS,
        page(pod("a"), version=7, following="2"),
        refusal(410, reason="Expired"),
        page(pod("a"), version=9, following="2"),
        page(pod("b"), version=9),
    )
    async with reading(api) as reader:
        await reader.reflector.synced.wait()
        await reader.says("a@1", "b@1")
        await watched(api)
    assert [call.query.get("continue") for call in api.asked("LIST")] == [None, "2", None, "2"]
    assert api.asked("WATCH")[0].query["resourceVersion"] == "9"


async def test_a_list_that_breaks_off_forgets_nothing(api):
    """What a broken list did not come to is not gone."""
    api.on("LIST", PODS, page(pod("a"), pod("b"), version=7))
    async with reading(api) as reader:
        watch = await watched(api)
        api.on(
            "LIST",
            PODS,
            page(pod("a"), version=8, following="2"),
            Cut(),
            page(pod("a"), version=8, following="2"),
            page(pod("b"), version=8),
        )
        watch.send(failed(410, reason="Expired"))
        await asyncio.sleep(60)
        await reader.says("a@1", "b@1")
        assert len(api.asked("LIST")) == 5


@pytest.mark.parametrize(
    "answer",
    [refusal(500), refusal(503), refusal(403), refusal(401), refusal(429), Cut(), Reply({"items": []}, 502)],
    ids=["500", "503", "403", "401", "429", "cut", "502"],
)
async def test_a_list_that_fails_is_tried_again_and_says_why(api, answer):
    good = Held(page(pod("a"), version=7))
    api.on("LIST", PODS, answer, good)
    async with reading(api) as reader:
        await until(lambda: api.calls)
        await settled()
        assert reader.reflector.trouble is not None
        assert not reader.reflector.synced.is_set()
        good.gate.set()
        await reader.reflector.synced.wait()
        await watched(api)
        assert reader.reflector.trouble is None


@pytest.mark.parametrize(
    "answer",
    [
        Reply(b"<html>log in</html>"),
        Reply(b""),
        Reply(b"[]"),
        Reply(b'{"items": 7}'),
        Reply(b'{"metadata": 7, "items": []}'),
    ],
    ids=["html", "empty", "array", "items", "metadata"],
)
async def test_a_list_that_is_none_is_trouble_and_not_the_end(api, answer):
    api.on("LIST", PODS, answer, page(pod("a"), version=7))
    async with reading(api) as reader:
        await until(lambda: api.calls)
        await settled()
        await asyncio.sleep(10)
        await reader.says("a@1")


async def test_items_that_are_null_are_none(api):
    api.on("LIST", PODS, Reply({"metadata": {"resourceVersion": "7"}, "items": None}))
    async with reading(api) as reader:
        await watched(api)
        assert reader.said == []


async def test_an_object_that_cannot_be_read_does_not_hide_the_others_of_its_page(api):
    bad = pod("bad", containers="none")
    api.on("LIST", PODS, page(pod("a"), bad, pod("b"), version=7, following="2"), page(pod("c"), version=7))
    async with reading(api) as reader:
        await reader.says("a@1", "b@1", "c@1")
        assert (await watched(api)) is not None


# watching


async def test_changes_are_delivered_in_their_order(api):
    api.on("LIST", PODS, page(pod("a", 3), version=7))
    async with reading(api) as reader:
        watch = await watched(api)
        watch.send(added(pod("b", 8)))
        watch.send(modified(pod("a", 9)))
        watch.send(deleted(pod("b", 10)))
        await reader.says("a@3", "b@8", "a@9", "-b")


async def test_several_events_in_one_piece_are_one_batch(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api) as reader:
        (await watched(api)).send(added(pod("a", 8)), modified(pod("a", 9)), deleted(pod("a", 10)))
        await reader.says("a@8", "a@9", "-a")
        assert len(reader.batches) == 1


@pytest.mark.parametrize("size", [1, 7, 100])
async def test_pieces_may_end_anywhere(api, size):
    api.on("LIST", PODS, page(version=7))
    stream = Stream(added(pod("ä", 8)), added(pod("b", 9)))
    whole = stream._pieces.get_nowait()
    for first in range(0, len(whole), size):
        stream.write(whole[first : first + size])
    api.on("WATCH", PODS, stream)
    async with reading(api) as reader:
        await reader.says("ä@8", "b@9")


async def test_a_line_that_is_not_whole_yet_is_waited_for(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api) as reader:
        watch = await watched(api)
        watch.write(b'{"type": "ADDED", "object": {"metadata": {"name": "a", ')
        await settled()
        assert reader.said == []
        watch.write(b'"namespace": "team", "resourceVersion": "8"}}}\n')
        await reader.says("a@8")


async def test_a_stream_that_ends_within_a_line_goes_on_after_the_last_whole_event(api):
    api.on("LIST", PODS, page(version=7))
    first = Stream(added(pod("a", 8)))
    first.write(b'{"type": "ADDED", "object": {"metad')
    first.cut()
    api.on("WATCH", PODS, first, Stream(added(pod("b", 9))))
    async with reading(api) as reader:
        await asyncio.sleep(10)
        await reader.says("a@8", "b@9")
    assert [call.query["resourceVersion"] for call in api.asked("WATCH")] == ["7", "8"]
    assert len(api.asked("LIST")) == 1


@pytest.mark.parametrize(
    ("events", "version"),
    [
        ([added(pod("b", 8))], "8"),
        ([modified(pod("a", 9))], "9"),
        ([deleted(pod("a", 10))], "10"),
        ([bookmark(11)], "11"),
        ([added(pod("b", 8)), bookmark(20)], "20"),
        ([bookmark(20), added(pod("b", 21))], "21"),
    ],
)
async def test_a_watch_that_ended_is_resumed_after_the_last_that_it_said(api, events, version):
    api.on("LIST", PODS, page(pod("a", 3), version=7))
    api.on("WATCH", PODS, Stream(*events).end(), Stream())
    async with reading(api):
        await watched(api, 2)
    assert [call.query["resourceVersion"] for call in api.asked("WATCH")] == ["7", version]
    assert len(api.asked("LIST")) == 1


async def test_a_watch_that_ends_in_time_is_resumed_at_once(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api):
        watch = await watched(api)
        for version in range(8, 12):
            await asyncio.sleep(60)
            watch.send(bookmark(version))
        await asyncio.sleep(60)
        watch.end()
        await until(lambda: len(api.streams) == 2)
    assert api.asked("WATCH")[1].at == api.asked("WATCH")[0].at + 300


async def test_a_bookmark_delivers_nothing(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api) as reader:
        (await watched(api)).send(bookmark(8))
        await settled()
        assert reader.said == []
        assert reader.reflector.trouble is None


async def test_an_event_of_an_unknown_type_is_passed_over(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api) as reader:
        (await watched(api)).send({"type": "SURPRISE", "object": {}}, added(pod("a", 8)))
        await reader.says("a@8")


async def test_a_silent_watch_is_given_up_and_resumed(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api):
        first = await watched(api)
        await asyncio.sleep(200)
        assert first.closed.is_set()
        assert len(api.streams) == 2


async def test_a_watch_that_goes_silent_is_given_up_once_its_next_bookmark_is_overdue(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api):
        first = await watched(api)
        first.send(bookmark(8))
        await asyncio.sleep(60)
        first.send(added(pod("a", 9)))
        await asyncio.sleep(89)
        assert not first.closed.is_set()
        await asyncio.sleep(3)
        assert first.closed.is_set()
        assert api.asked("WATCH")[1].query["resourceVersion"] == "9"


async def test_a_watch_that_hears_a_bookmark_a_minute_is_kept_though_the_first_takes_two(api):
    """As kube-apiserver sends them where nothing happens."""
    api.on("LIST", PODS, page(version=7))
    async with reading(api):
        watch = await watched(api)
        await asyncio.sleep(60)
        for version in range(8, 18):
            await asyncio.sleep(62)
            watch.send(bookmark(version))
        assert len(api.streams) == 1


async def test_a_watch_whose_answer_does_not_begin_is_asked_for_anew(api):
    """Until then the reader is blind."""
    api.on("LIST", PODS, page(pod("a"), version=7))
    api.on("WATCH", PODS, Held(Stream()), Stream(added(pod("b", 8))))
    async with reading(api) as reader:
        await reader.says("a@1")
        await asyncio.sleep(11)
        await reader.says("a@1", "b@8")
    assert [call.query["resourceVersion"] for call in api.asked("WATCH")] == ["7", "7"]
    assert len(api.asked("LIST")) == 1


async def test_a_server_on_which_no_watch_begins_is_asked_ever_more_seldom(api, monkeypatch):
    """Waiting for an answer is no sign that the server is well, though it takes as long as a watch that lives."""
    monkeypatch.setattr(module, "_HEALTHY_SECONDS", 9.0)
    api.on("LIST", PODS, page(version=7))
    api.on("WATCH", PODS, *(Held(Stream()) for _ in range(100)))
    async with reading(api):
        await asyncio.sleep(300)
    waits = [later.at - call.at - 10 for call, later in pairwise(api.asked("WATCH"))]
    assert 0.25 <= waits[0] <= 0.5
    assert all(10 <= wait <= 20 for wait in waits[6:])


async def test_an_object_seen_again_as_it_was_is_not_delivered_again(api):
    api.on("LIST", PODS, page(pod("a", 3), version=7))
    async with reading(api) as reader:
        (await watched(api)).send(added(pod("a", 3)), added(pod("b", 8)))
        await reader.says("a@3", "b@8")


async def test_an_object_of_another_uid_means_that_the_former_is_gone(api):
    api.on("LIST", PODS, page(pod("a", 3), version=7))
    async with reading(api) as reader:
        (await watched(api)).send(added(pod("a", 8, uid="other")))
        await reader.says("a@3", "-a", "a@8")


async def test_the_deletion_of_something_unknown_is_not_delivered(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api) as reader:
        (await watched(api)).send(deleted(pod("a", 8)), added(pod("b", 9)))
        await reader.says("b@9")


async def test_an_object_that_cannot_be_read_is_left_out_of_a_watch(api):
    api.on("LIST", PODS, page(version=7))
    async with reading(api) as reader:
        (await watched(api)).send(added(pod("a", 8)), added(pod("bad", 9, containers=7)), added(pod("b", 10)))
        await reader.says("a@8", "b@10")
        assert reader.reflector.trouble is None


async def test_an_object_that_became_unreadable_and_was_deleted_is_gone(api):
    api.on("LIST", PODS, page(pod("a", 3), version=7))
    async with reading(api) as reader:
        watch = await watched(api)
        watch.send(modified(pod("a", 8, containers=7)))
        watch.send(deleted(pod("a", 9, containers=7)))
        await reader.says("a@3", "-a")


async def test_an_object_that_became_unreadable_stays_as_it_was_read_last(api):
    api.on("LIST", PODS, page(pod("a", 3), version=7))
    async with reading(api) as reader:
        watch = await watched(api)
        bad = pod("a", 8, containers=7)
        api.on("LIST", PODS, page(bad, version=30))
        watch.send(modified(bad), failed(410))
        await asyncio.sleep(5)
        assert len(api.asked("LIST")) == 2
        await reader.says("a@3")


async def test_where_a_kind_is_served_is_known_with_the_first_of_its_objects(api):
    """Though there are more to come: whoever hears of one may have something to write on it."""
    last = Held(page(pod("b", 4), version=7))
    api.on("LIST", PODS, page(pod("a", 3), version=7, following="b"), last)
    async with reading(api) as reader:
        await reader.says("a@3")
        assert reader.reflector.resource == PODS_RESOURCE


def nested(document):
    """With 3,000 levels where it says "deep", as servers keep them in objects that are not pruned."""
    return json.dumps(document).encode().replace(b'"deep"', b'[{"a\\"]":' * 1500 + b"1" + b"}]" * 1500)


async def test_an_object_that_is_nested_too_deeply_hides_nobody(api):
    found = page(pod("a", 3, extra="deep"), pod("b", 4), version=7)
    api.on("LIST", PODS, Reply(nested(found.document)))
    async with reading(api) as reader:
        watch = await watched(api)
        for event in (added(pod("c", 8, extra="deep")), modified(pod("a", 9, extra="deep")), added(pod("d", 10))):
            watch.write(nested(event) + b"\n")
        watch.write(nested(deleted(pod("c", 11, extra="deep"))) + b"\n")
        await reader.says("a@3", "b@4", "c@8", "a@9", "d@10", "-c")
        assert reader.reflector.trouble is None


@pytest.mark.parametrize("line", [b"<html>\n", b"[]\n", b'{"type": "ADDED"}\n', b"\n"])
async def test_a_line_that_is_no_event_is_trouble_and_the_watch_is_resumed(api, line):
    api.on("LIST", PODS, page(version=7))
    first = Stream(added(pod("a", 8)))
    first.write(line)
    api.on("WATCH", PODS, first, Stream(added(pod("b", 9))))
    async with reading(api) as reader:
        await asyncio.sleep(5)
        await reader.says("a@8", "b@9")


# history that was lost


LOST = {
    "in the stream": lambda: Stream(failed(410, "too old resource version", "Expired")),
    "as an answer": lambda: refusal(410, "too old resource version", reason="Expired"),
    "after events": lambda: Stream(added(pod("new", 8)), failed(410, reason="Gone")),
}


@pytest.mark.parametrize("how", LOST)
async def test_history_that_was_lost_is_made_up_for_by_a_list(api, how):
    api.on("LIST", PODS, page(pod("same", 1), pod("changed", 2), pod("gone", 3), pod("again", 4), version=7))
    api.on("WATCH", PODS, LOST[how](), Stream())
    async with reading(api) as reader:
        await reader.reflector.synced.wait()
        now = [pod("same", 1), pod("changed", 20), pod("again", 21, uid="other"), pod("new", 8)]
        api.on("LIST", PODS, page(*now, version=30))
        await asyncio.sleep(5)
        await settled()
        new = ["new@8"]
        first = ["same@1", "changed@2", "gone@3", "again@4"]
        between = new if how == "after events" else []
        later = [] if how == "after events" else new
        assert reader.said == [*first, *between, "changed@20", "-again", "again@21", *later, "-gone"]
    assert api.asked("WATCH")[-1].query["resourceVersion"] == "30"


async def test_a_list_after_a_gap_says_nothing_of_what_is_unchanged(api):
    api.on("LIST", PODS, page(pod("a"), pod("b"), version=7), page(pod("a"), pod("b"), version=30))
    api.on("WATCH", PODS, refusal(410), Stream())
    async with reading(api) as reader:
        await asyncio.sleep(5)
        assert len(api.asked("LIST")) == 2
        await reader.says("a@1", "b@1")


async def test_what_came_before_an_error_in_the_same_piece_is_delivered(api):
    api.on("LIST", PODS, page(version=7))
    api.on("WATCH", PODS, Stream(added(pod("a", 8)), failed(500)), Stream())
    async with reading(api) as reader:
        await reader.says("a@8")


async def test_an_error_in_the_stream_is_trouble_until_the_watch_is_resumed(api):
    api.on("LIST", PODS, page(version=7))
    api.on("WATCH", PODS, Stream(failed(500, "etcd leader changed")), Stream())
    async with reading(api) as reader:
        await watched(api)
        await until(lambda: reader.reflector.trouble is not None)
        assert reader.reflector.trouble.message == "etcd leader changed"
        await asyncio.sleep(5)
        assert reader.reflector.trouble is None


@pytest.mark.parametrize("answer", [lambda: Stream(failed(500)), lambda: refusal(400), lambda: refusal(500)])
async def test_a_version_at_which_no_watch_begins_is_given_up(api, answer):
    """As with an object that a conversion webhook cannot convert, or a store that was set back."""
    api.on("LIST", PODS, page(version=7), page(pod("a", 30), version=30))

    def only_at_30(call):
        return Stream() if call.query["resourceVersion"] == "30" else answer()

    api.on("WATCH", PODS, only_at_30)
    async with reading(api) as reader:
        await asyncio.sleep(300)
        await reader.says("a@30")


# servers that are down or strange


async def test_a_server_that_is_down_is_asked_ever_more_seldom(api):
    api.on("LIST", PODS, Cut())
    async with reading(api):
        await asyncio.sleep(600)
    waits = [later.at - call.at for call, later in pairwise(api.calls)]
    assert 0.25 <= waits[0] <= 0.5
    assert all(wait <= 20 for wait in waits)
    assert all(wait >= 10 for wait in waits[8:])
    assert len(api.calls) < 70


async def test_the_reader_is_in_step_soon_after_the_server_is_back(api):
    api.on("LIST", PODS, Cut())
    async with reading(api) as reader:
        await asyncio.sleep(600)
        api.on("LIST", PODS, page(pod("a"), version=7))
        await asyncio.sleep(20)
        await reader.says("a@1")


async def test_a_watch_that_fails_falls_back_in_rate_and_lists_no_more_than_needed(api):
    api.on("LIST", PODS, page(version=7))
    api.on("WATCH", PODS, Cut())
    async with reading(api):
        await asyncio.sleep(600)
    assert len(api.asked("WATCH")) < 70
    assert len(api.asked("LIST")) < 30


async def test_a_server_that_asks_for_patience_is_given_it(api):
    api.on("LIST", PODS, refusal(429, headers={"Retry-After": "50"}), page(version=7))
    async with reading(api):
        await asyncio.sleep(49)
        assert len(api.calls) == 1
        await asyncio.sleep(2)
        assert len(api.asked("LIST")) == 2


async def test_a_watch_that_ends_at_once_again_and_again_is_not_hammered(api):
    api.on("LIST", PODS, page(version=7))
    api.on("WATCH", PODS, lambda call: Stream().end())
    async with reading(api):
        await asyncio.sleep(600)
    assert len(api.asked("WATCH")) < 70


async def test_a_watch_that_says_one_thing_and_ends_again_and_again_is_not_hammered(api):
    api.on("LIST", PODS, page(version=7))
    api.on("WATCH", PODS, *(Stream(bookmark(8)).end() for _ in range(300)))
    async with reading(api):
        await asyncio.sleep(10)
    assert len(api.asked("WATCH")) < 100


async def test_watches_that_are_cut_after_a_while_are_resumed_without_long_gaps(api):
    """As by a proxy that closes what is silent for 50 seconds: the reader must not go blind for 20 of every 70."""
    api.on("LIST", PODS, page(version=7))
    async with reading(api):
        for number in range(1, 12):
            watch = await watched_at_last(api, number)
            await asyncio.sleep(50)
            watch.cut()
    waits = [later.at - call.at - 50 for call, later in pairwise(api.asked("WATCH"))]
    assert max(waits) < 2


async def watched_at_last(api, number):
    while len(api.streams) < number:
        await asyncio.sleep(0.1)
    return api.streams[number - 1]


async def test_failures_that_are_long_past_are_forgotten(api):
    api.on("LIST", PODS, *[Cut()] * 10, page(version=7))
    async with reading(api):
        watch = await watched_at_last(api, 1)
        await asyncio.sleep(100)
        watch.cut()
        cut_at = asyncio.get_running_loop().time()
        await watched_at_last(api, 2)
    assert api.asked("WATCH")[1].at - cut_at < 1


# kinds that are not served


async def test_a_kind_that_is_not_served_is_an_empty_one(api):
    async with reading(api) as reader:
        await reader.reflector.synced.wait()
        assert reader.said == []
        assert reader.reflector.resource is None
        assert reader.reflector.trouble is None


async def test_a_server_that_forgets_a_kind_which_every_cluster_has_is_not_believed(api):
    """As a proxy that answers 404 for a while: no pod is gone because of that."""
    api.on("LIST", PODS, page(pod("a"), version=7))
    async with reading(api, lacking=()) as reader:
        watch = await watched(api)
        api.on("LIST", PODS, refusal(404))
        api.on("WATCH", PODS, refusal(404))
        watch.cut()
        await asyncio.sleep(60)
        assert reader.reflector.trouble.code == 404
        await reader.says("a@1")


async def test_what_is_not_for_us_is_done_without_and_said_once(api):
    api.on("LIST", PODS, refusal(403, "pods is forbidden"))
    with capture_logs() as logs:
        async with reading(api, lacking=(403, 404)) as reader:
            await reader.reflector.synced.wait()
            await asyncio.sleep(60)
            assert reader.reflector.trouble is None
            api.on("LIST", PODS, page(pod("a"), version=7))
            await asyncio.sleep(15)
            await reader.says("a@1")
    assert [(log["kind"], log["because"]) for log in logs if log["log_level"] == "warning"] == [
        ("pods", "pods is forbidden")
    ]


async def test_of_what_is_no_longer_for_us_what_was_known_stands(api):
    """An API server that starts refuses much before it knows all roles."""
    api.on("LIST", PODS, page(pod("a"), pod("b"), version=7), refusal(403), page(pod("b"), version=9))
    api.on("WATCH", PODS, refusal(410), Stream())
    async with reading(api, lacking=(403, 404)) as reader:
        await until(lambda: len(api.asked("LIST")) == 2)
        await settled()
        await reader.says("a@1", "b@1")
        await asyncio.sleep(60)
        await reader.says("a@1", "b@1", "-a")


async def test_a_list_without_a_version_is_no_list(api):
    api.on("LIST", PODS, page(pod("a"), version=7), Reply({"status": "ok"}), page(pod("a"), version=9))
    api.on("WATCH", PODS, refusal(410), Stream())
    async with reading(api) as reader:
        await asyncio.sleep(60)
        await reader.says("a@1")


async def test_a_kind_that_comes_later_is_found(api):
    async with reading(api) as reader:
        await asyncio.sleep(60)
        api.on("LIST", PODS, page(pod("a"), version=7))
        await asyncio.sleep(15)
        await reader.says("a@1")
        assert reader.reflector.resource == PODS_RESOURCE


async def test_a_kind_that_is_not_served_is_looked_for_now_and_then(api):
    async with reading(api):
        await asyncio.sleep(600)
    assert 30 < len(api.calls) < 70


async def test_the_first_version_that_is_served_is_read(api):
    api.on("LIST", ALPHA, page(pod("a"), version=7))
    async with reading(api, NATIVE_POD_GROUPS) as reader:
        await reader.says("a@1")
        await watched(api)
        assert reader.reflector.resource == NATIVE_POD_GROUPS[1]
    assert [call.path for call in api.calls] == [BETA, ALPHA, ALPHA]


async def test_a_version_that_is_served_is_not_looked_past(api):
    api.on("LIST", BETA, page(version=7))
    api.on("LIST", ALPHA, page(pod("a"), version=7))
    async with reading(api, NATIVE_POD_GROUPS) as reader:
        await watched(api)
        assert reader.reflector.resource == NATIVE_POD_GROUPS[0]
    assert [call.path for call in api.calls] == [BETA, BETA]


@pytest.mark.parametrize("how", ["cut", "end"])
async def test_a_kind_that_is_no_longer_served_is_all_gone(api, how):
    api.on("LIST", PODS, page(pod("a"), pod("b"), version=7))
    async with reading(api) as reader:
        watch = await watched(api)
        api.on("LIST", PODS, refusal(404))
        api.on("WATCH", PODS, refusal(404))
        getattr(watch, how)()
        await asyncio.sleep(30)
        await reader.says("a@1", "b@1", "-a", "-b")
        assert reader.reflector.resource is None


async def test_a_kind_that_moves_to_another_version_is_followed_there(api):
    api.on("LIST", ALPHA, page(pod("a", 3), version=7))
    async with reading(api, NATIVE_POD_GROUPS) as reader:
        watch = await watched(api)
        api.on("LIST", ALPHA, refusal(404))
        api.on("WATCH", ALPHA, refusal(404))
        api.on("LIST", BETA, page(pod("a", 3), pod("b", 9), version=9))
        watch.end()
        await asyncio.sleep(30)
        await reader.says("a@3", "b@9")
        assert reader.reflector.resource == NATIVE_POD_GROUPS[0]


async def test_a_list_that_is_refused_for_another_reason_does_not_make_a_kind_empty(api):
    api.on("LIST", PODS, page(pod("a"), version=7))
    async with reading(api) as reader:
        watch = await watched(api)
        api.on("LIST", PODS, refusal(403))
        watch.send(failed(410))
        await asyncio.sleep(60)
        await reader.says("a@1")
        assert reader.reflector.trouble.code == 403
