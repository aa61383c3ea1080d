"""Plugins are asked outside the engine, by the real engine and a scripted server: what they say, do, or fail to do."""

import asyncio
import threading
from contextlib import asynccontextmanager

import pytest

from muster.app.inbox import Inbox
from muster.app.informers import Informers
from muster.app.scheduler import Scheduler
from muster.cluster.pods import Stage
from muster.engine.changes import GroupSeen, NodeSeen, PodGone, PodSeen
from muster.engine.engine import Engine
from muster.framework.by_users import points, roles
from muster.framework.plugin import Plugin
from muster.framework.profile import Profile
from muster.kube.outbox import Outbox
from muster.plugins.defaults import default_plugins
from tests.app.stage import START, path
from tests.builders import group, node, pod
from tests.kube.server import Api, Direct, Reply, running

virtual = pytest.mark.looptime


async def until(condition):
    """Lets time pass until it is so; `running` ends what never is."""
    while not condition():
        await asyncio.sleep(0.01)


class Recording(Plugin):
    """Notes what it is asked; what it says is set by the test."""

    def __init__(self, args):
        super().__init__(args)
        self.calls = []
        self.gates = {}
        self.says = {}

    def pre_filter(self, pod):
        return pod.metadata.labels.get("door")

    async def answer(self, method, pod):
        self.calls.append((method, pod.name))
        gate = self.gates.get((method, pod.name))
        if gate is not None:
            try:
                await gate.wait()
            except asyncio.CancelledError:
                self.calls.append(("cancelled", pod.name))
                raise
        said = self.says.get((method, pod.name))
        if isinstance(said, Exception):
            raise said
        return said

    def made(self, method):
        return sorted(name for called, name in self.calls if called == method)


class Door(Recording):
    async def permit(self, pod, node):
        return await self.answer("permit", pod)

    async def pre_bind(self, pod, node):
        return await self.answer("pre_bind", pod)

    async def unreserve(self, pod, node):
        self.calls.append(("unreserve", pod.name))

    async def post_bind(self, pod, node):
        return await self.answer("post_bind", pod)


class Binder(Recording):
    wait_seconds = 0.05

    async def bind(self, pod, node, annotations):
        self.calls.append(("annotations", tuple(annotations)))
        return await self.answer("bind", pod)


class Plain(Recording):
    """Calls that block a thread."""

    def __init__(self, args):
        super().__init__(args)
        self.go, self.threads = threading.Event(), set()

    def permit(self, pod, node):
        self.threads.add(threading.current_thread())
        self.go.wait()


class Stage3:
    """A gang of three on three nodes, a scheduler with one plugin, and an API server that takes all binds."""

    def __init__(self, kind, *, nodes=3, members=3):
        self.plugin = kind({})
        made = roles(self.plugin, points(kind))
        self.engine = Engine(Profile([*default_plugins(), *((role, 1) for role in made)]))
        self.api, self.inbox, self.outbox = Api(), Inbox(), Outbox()
        for number in range(members):
            self.api.on("PATCH", path(f"g-{number}", "status"), Reply({}))
            self.api.on("POST", path(f"g-{number}", "binding"), Reply({}, 201))
        client = Direct(self.api)
        self.scheduler = Scheduler(
            client,
            self.engine,
            inbox=self.inbox,
            outbox=self.outbox,
            informers=Informers(client, self.inbox),
            clock=lambda: START + asyncio.get_running_loop().time(),
            names=("muster",),
            reporter="muster",
            instance="muster-0",
            profiles=self.engine.profiles,
        )
        self.inbox.put(NodeSeen(node(f"n{number}", cpu=4)) for number in range(nodes))
        self.inbox.put([GroupSeen(group("g", members))])
        labels = {"door": "front"}
        self.inbox.put(PodSeen(pod(f"g-{number}", gang="g", cpu=4, labels=labels)) for number in range(members))

    def binds(self):
        return sorted(call.path.split("/")[-2] for call in self.api.asked("POST") if call.path.endswith("binding"))

    def stages(self):
        return {found.stage for found in self.engine.cluster.pods.values()}

    @asynccontextmanager
    async def at_work(self):
        async with running(self.scheduler.run()):
            yield self.plugin
            await self.scheduler.close()
            await self.outbox.close()


ALL = ["g-0", "g-1", "g-2"]


@virtual
async def test_a_gang_goes_when_the_last_is_permitted_and_prepared_and_the_plugin_is_told():
    stage = Stage3(Door)
    async with stage.at_work() as plugin:
        gate = plugin.gates["permit", "g-1"] = asyncio.Event()
        await until(lambda: plugin.made("permit") == ALL)
        assert not plugin.made("pre_bind")
        assert not stage.binds()
        gate.set()
        await until(lambda: plugin.made("post_bind") == ALL)
    assert plugin.made("pre_bind") == stage.binds() == ALL
    assert not plugin.made("unreserve")
    assert stage.stages() == {Stage.BOUND}


@virtual
async def test_a_denial_cancels_what_others_still_wait_for_and_tells_all_of_it():
    stage = Stage3(Door)
    async with stage.at_work() as plugin:
        plugin.gates["permit", "g-0"] = asyncio.Event()
        plugin.says["permit", "g-1"] = "no licence is free"
        await until(lambda: plugin.made("unreserve") == ALL)
        plugin.gates.clear()
        plugin.says.clear()
        await until(lambda: stage.stages() == {Stage.BOUND})

    calls = plugin.calls
    assert plugin.made("cancelled") == ["g-0"]
    assert calls.index(("cancelled", "g-0")) < calls.index(("unreserve", "g-0"))
    assert plugin.made("permit") == sorted(ALL * 2)


@virtual
async def test_a_member_whose_node_could_not_be_prepared_once_leaves_nobody_half_bound():
    stage = Stage3(Door)
    async with stage.at_work() as plugin:
        plugin.says["pre_bind", "g-1"] = "the disk is full"
        gate = plugin.gates["pre_bind", "g-1"] = asyncio.Event()
        await until(lambda: plugin.made("pre_bind") == ALL)
        gate.set()
        await until(lambda: "g-1" in plugin.made("unreserve"))
        assert not stage.binds()
        plugin.says.clear()
        await until(lambda: stage.stages() == {Stage.BOUND})
    assert stage.binds() == ALL


@virtual
async def test_what_a_plugin_raises_is_told_with_its_place_and_counted():
    stage = Stage3(Door)
    async with stage.at_work() as plugin:
        plugin.says["permit", "g-2"] = KeyError("team")
        await until(lambda: stage.engine.troubles.counts["Door"])
        plugin.says.clear()
        await until(lambda: any("SchedulerError" in str(call.document) for call in stage.api.asked("PATCH")))
        await until(lambda: stage.stages() == {Stage.BOUND})

    told = next(text for call in stage.api.asked("PATCH") if "SchedulerError" in (text := str(call.document)))
    assert "plugin Door failed in permit: KeyError: 'team' (test_attending.py:" in told


@virtual
async def test_what_is_no_answer_is_a_mistake():
    stage = Stage3(Door)
    async with stage.at_work() as plugin:
        plugin.says["permit", "g-2"] = 7
        await until(lambda: stage.engine.troubles.counts["Door"])
    assert not stage.binds()


@virtual
async def test_a_pod_that_goes_takes_its_questions_with_it():
    stage = Stage3(Door)
    async with stage.at_work() as plugin:
        for name in ALL:
            plugin.gates["permit", name] = asyncio.Event()
        await until(lambda: plugin.made("permit") == ALL)
        stage.inbox.put([PodGone("uid-g-0")])
        await until(lambda: plugin.made("cancelled") == plugin.made("unreserve") == ALL)


@virtual
async def test_a_plugin_binds_in_place_of_muster_and_what_it_says_is_looked_at():
    stage = Stage3(Binder)
    async with stage.at_work() as plugin:
        plugin.says = {("bind", name): True for name in ALL} | {("bind", "g-2"): False}
        for name in ALL[:2]:
            where = stage_node(stage, name)
            stage.api.on("GET", path(name), where)
        await until(lambda: stage.stages() == {Stage.BOUND})
    assert stage.binds() == ["g-2"], "what it left to others"
    assert ("annotations", ("muster.dev/bound-for",)) in plugin.calls


def stage_node(stage, name):
    def reply(call):
        placed = stage.engine.cluster.pods[f"uid-{name}"].node
        meta = {"name": name, "namespace": "team", "uid": f"uid-{name}"}
        return Reply({"metadata": meta, "spec": {"nodeName": placed, "containers": []}})

    return reply


@virtual
async def test_a_plugin_that_fails_to_bind_or_never_answers_is_asked_again():
    stage = Stage3(Binder, members=1)
    async with stage.at_work() as plugin:
        plugin.says["bind", "g-0"] = OSError("no route")
        await until(lambda: stage.engine.troubles.counts["Binder"] == 1)
        plugin.says.clear()
        plugin.gates["bind", "g-0"] = asyncio.Event()
        await until(lambda: stage.engine.troubles.counts["Binder"] == 2)
        plugin.gates.clear()
        plugin.says["bind", "g-0"] = False
        await until(lambda: stage.stages() == {Stage.BOUND})
    assert plugin.made("cancelled") == ["g-0"]
    assert stage.binds() == ["g-0"]


async def test_plain_functions_run_in_threads_and_stop_nothing():
    stage = Stage3(Plain)
    async with stage.at_work() as plugin:
        await until(lambda: len(plugin.threads) == 3)
        assert threading.main_thread() not in plugin.threads
        plugin.go.set()
        await until(lambda: stage.stages() == {Stage.BOUND})


async def test_a_plain_function_that_hangs_does_not_keep_a_scheduler_from_ending():
    stage = Stage3(Plain)
    try:
        async with stage.at_work() as plugin:
            await until(lambda: len(plugin.threads) == 3)
        assert not stage.binds()
    finally:
        plugin.go.set()
