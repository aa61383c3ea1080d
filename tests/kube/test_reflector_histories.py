"""Whatever a kind goes through and however the wire fails, the reader ends with what the server has."""

import asyncio
import json
from collections import defaultdict
from contextlib import asynccontextmanager

import looptime
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.api.resources import PODS
from muster.api.wire import Pod
from muster.base.errors import ApiError, Unreachable
from muster.kube.reflector import Gone, Reflector
from tests.kube.server import added, bookmark, deleted, failed, modified, page, pod, running, settled

NAMES = "abcd"


class Store:
    """A small API server with a history: versions, pages of one snapshot, watches from any version it still has."""

    def __init__(self):
        self.version = 10
        self.objects = {}
        self.history = []
        """(version, event)"""
        self.oldest = 10
        self.snapshots = {}
        self.watches = []
        self.page_size = 2
        self.down = False
        self.uids = 0

    def put(self, name):
        self.version += 1
        known = self.objects.get(name)
        if known is None:
            self.uids += 1
        uid = f"uid-{self.uids}" if known is None else known["metadata"]["uid"]
        thing = self.objects[name] = pod(name, self.version, uid=uid)
        self._tell((added if known is None else modified)(thing))

    def delete(self, name):
        if (known := self.objects.pop(name, None)) is not None:
            self.version += 1
            self._tell(deleted(pod(name, self.version, uid=known["metadata"]["uid"])))

    def _tell(self, event):
        self.history.append((self.version, event))
        for watch in self.watches:
            watch.put_nowait(event)

    def forget(self):
        """As the store compacts its history: watches from before and lists under way cannot go on."""
        self.oldest = self.version
        self.snapshots.clear()

    def mark(self):
        for watch in self.watches:
            watch.put_nowait(bookmark(self.version))

    def break_off(self, how):
        for watch in self.watches:
            watch.put_nowait(how)

    # the client's place

    async def request(self, method, path, *, query):
        await asyncio.sleep(0.01)
        if self.down:
            raise Unreachable("down")
        version, rest = self._rest(query.get("continue"))
        items, rest = rest[: self.page_size], rest[self.page_size :]
        token = ""
        if rest:
            token = f"{version}:{len(self.snapshots)}"
            self.snapshots[token] = version, rest
        return page(*items, version=version, following=token).body

    def _rest(self, token):
        if not token:
            return self.version, list(self.objects.values())
        if token not in self.snapshots:
            raise ApiError("the continue token is too old", code=410)
        return self.snapshots[token]

    @asynccontextmanager
    async def stream(self, path, *, query, seconds):
        await asyncio.sleep(0.01)
        if self.down:
            raise Unreachable("down")
        version = int(query["resourceVersion"])
        if version < self.oldest:
            if version % 2:
                raise ApiError("too old", code=410)
            yield self._follow([failed(410)], asyncio.Queue())
            return
        news = asyncio.Queue()
        self.watches.append(news)
        try:
            yield self._follow([event for at, event in self.history if at > version], news)
        finally:
            self.watches.remove(news)

    async def _follow(self, past, news):
        yield lines(*past)
        while True:
            event = await news.get()
            if event == "end":
                return
            if event == "cut":
                yield lines(bookmark(self.version))[:-9]
                raise Unreachable("cut off")
            # now and then a line is spread over two pieces
            line = lines(event)
            yield line[:17]
            yield line[17:]


def lines(*events):
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


class Reader:
    """Checks each delivery: no object goes back, none is delivered twice, only what is known can go."""

    def __init__(self):
        self.state = {}
        self.highest = defaultdict(int)

    def take(self, batch):
        for one in batch:
            if isinstance(one, Gone):
                assert self.state.pop(one.key).metadata.uid == one.uid
                continue
            meta = one.metadata
            key = f"{meta.namespace}/{meta.name}"
            known = self.state.get(key)
            assert known is None or known.metadata.uid == meta.uid
            assert int(meta.resource_version) > self.highest[key]
            self.highest[key] = int(meta.resource_version)
            self.state[key] = one

    def equals(self, store):
        mine = {(one.metadata.name, one.metadata.uid, one.metadata.resource_version) for one in self.state.values()}
        theirs = (one["metadata"] for one in store.objects.values())
        return mine == {(meta["name"], meta["uid"], meta["resourceVersion"]) for meta in theirs}


CHANGES = st.lists(st.tuples(st.sampled_from(["put", "put", "delete"]), st.sampled_from(NAMES)), max_size=4)
FAULTS = st.sampled_from([(), ("mark",), ("break_off", "cut"), ("break_off", "end"), ("refresh",), ("down",)])
WAITS = st.sampled_from([0.0, 0.005, 0.01, 0.02, 0.5, 30.0])


@st.composite
def stories(draw):
    """Rounds of changes that are followed, something that goes wrong, and changes that nobody follows."""
    steps = []
    for _ in range(draw(st.integers(1, 6))):
        steps += draw(CHANGES)
        steps.append(("wait", draw(WAITS)))
        steps += [fault] if (fault := draw(FAULTS)) else []
        steps.append(("wait", draw(WAITS)))
        steps += draw(CHANGES)
        steps += [("forget",)] if draw(st.booleans()) else []
        steps += [("up",)] if draw(st.booleans()) else []
    return steps


async def history(steps, page_size):
    store, reader = Store(), Reader()
    store.page_size = page_size
    reflector = Reflector(store, [PODS], Pod, deliver=reader.take)
    refreshes = []
    async with running(reflector.run()) as task:
        for what, *how in steps:
            match what:
                case "wait":
                    await asyncio.sleep(how[0])
                case "refresh":
                    refreshes.append(asyncio.create_task(reflector.refresh()))
                case "down" | "up":
                    store.down = what == "down"
                    if store.down:
                        store.break_off("cut")
                case _:
                    getattr(store, what)(*how)
        store.down = False
        await asyncio.sleep(30)
        assert reader.equals(store)
        assert all(one.done() for one in refreshes)
        assert not task.done(), task.exception()
        assert reflector.trouble is None
        # and it still follows
        store.put("z")
        await settled()
        await asyncio.sleep(0.1)
        assert reader.equals(store)


@settings(max_examples=200, deadline=None)
@given(stories(), st.integers(1, 4))
def test_the_reader_ends_with_what_the_server_has_and_no_object_ever_goes_back(steps, page_size):
    loop = looptime.new_event_loop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(history(steps, page_size))
