"""A real API server as the stage of scenarios, with the real driver, in virtual time.

Virtual time stands still while anything is under way and jumps when nothing is.  Nothing is under way when the
driver has seen all that the server has (its reflectors know the versions that a fresh, consistent list shows), has
nothing to decide now, and has sent all that it wants to send.  Kubelets are played here: pods run when they are
bound, if there is room for them, end when their time is over, and go when they were asked to and have stopped.
"""

import asyncio
import heapq
import itertools
from contextlib import AsyncExitStack
from functools import partial
from typing import Generic, TypeVar

import msgspec

from muster.api.resources import DISRUPTION_BUDGETS, NODES, PODS, PRIORITY_CLASSES
from muster.api.times import stamp
from muster.api.wire import Node, Pod, PodDisruptionBudget, PodGroup, PriorityClass
from muster.base.errors import ApiError
from muster.engine.changes import (
    FactGone,
    FactSeen,
    Failure,
    GroupGone,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
)
from muster.gangs.dialects import gang_of
from muster.gangs.record import BOUND_FOR
from muster.kube.client import MERGE_PATCH, STRATEGIC_PATCH, Client
from muster.kube.connection import load
from muster.sim.kubelets import Kubelets
from muster.sim.objects import EXIT_CODE, ORPHAN_SECONDS, RUN_SECONDS, stop_seconds
from muster.sim.scenario.perform import ScenarioFaults
from muster.sim.scenario.run import START
from muster.sim.world import Happened
from tests.control_plane.scenarios.driver import Driver, Times, Wire
from tests.control_plane.scenarios.hands import AT_ONCE, Hands, Requests
from tests.control_plane.scenarios.volumes import PlayedVolumes

NAMESPACE = "default"
_REST_SECONDS = 30
_LOOK_SECONDS = 0.003
# how long a list that the driver has not caught up with is worth waiting for before the next one
_CATCH_UP_SECONDS = 0.2

# what the server is said to answer; a conflict would be looked into
_CODES = {Failure.TRANSIENT: 503, Failure.REJECTED: 400, Failure.DENIED: 403, Failure.POD_GONE: 404}
_ENDED = ("Succeeded", "Failed")

Kind = TypeVar("Kind")


class KubeStage:
    """One scenario's cluster; use as a context manager.  Nothing of it is left on the server afterwards."""

    def __init__(self, kubeconfig, *, groups, parts):
        self.now = START
        self.history = []
        self.pods = {}
        """By UID; those of the scenario's namespace, as last seen."""
        self.faults = ScenarioFaults()
        self._group_resource = groups
        self._parts = parts
        self._connection = load(kubeconfig=str(kubeconfig))
        self._times = Times(lambda: self.now)
        self._agenda = []
        self._numbers = itertools.count()
        self._chores = []
        """What kubelets have to do in this instant."""
        self._arrivals = []
        """What late binds wait for, of those whose time has come."""
        self._late = {}
        """Binds on their way, by UID."""
        self._kubelets = Kubelets()
        self._turns = {}
        """In which order pods came to nodes, by UID."""
        self._expected = set()
        """UIDs of pods that a kubelet is stopping, or the garbage collector is about to look at."""
        self._shown = START
        """What the driver takes for the time: it hears of an instant when all that it brings has been done."""
        self._seen = There()
        self._failures = []
        """What went wrong where nobody waits for it."""
        self._ending = AsyncExitStack()
        self._stirred = True

    # --- life ---

    def __enter__(self):
        self._runner = asyncio.Runner()
        self._runner.get_loop().set_exception_handler(lambda _, context: self._failures.append(context))
        try:
            self._runner.run(self._open())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            self._runner.run(self._ending.aclose())
        finally:
            self._runner.close()
        assert not self._failures, self._failures

    async def _open(self):
        self._client = await self._ending.enter_async_context(Client(self._connection, user_agent="scenarios"))
        self._wire = await self._ending.enter_async_context(Wire(self._connection, on_bind=self._bind))
        self._requests = Requests(self._client)
        self._hands = Hands(self, self._requests, groups=self._group_resource)
        self._volumes = PlayedVolumes(self, self._requests, self._hands)
        there = await self._list()
        assert not there.nodes, f"other nodes are in the way: {[node.metadata.name for node in there.nodes]}"
        self._ending.push_async_callback(self._clean_up)
        await self._start_driver()

    async def _clean_up(self):
        await self._driver.kill()
        there = await self._list()
        for path in self._hands.made:
            await self._requests.remove(path)
        await self._requests("DELETE", PODS.path(NAMESPACE), AT_ONCE)
        await self._requests("DELETE", DISRUPTION_BUDGETS.path(NAMESPACE))
        for group in there.groups:
            # whoever protects it is gone, or looks for pods that are
            path = self._group_resource.path(NAMESPACE, group.metadata.name)
            await self._requests.if_there("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE_PATCH)
            await self._requests.if_there("DELETE", path)
        async with asyncio.timeout(_REST_SECONDS):
            while (left := await self._list()).pods or left.groups or left.nodes:
                await asyncio.sleep(_LOOK_SECONDS)

    # --- the driver's life ---

    async def _start_driver(self):
        self._driver = Driver(
            self._wire,
            parts=self._parts,
            clock=lambda: self._shown,
            times=self._times,
            late=lambda: len(self._late),
        )
        await self._driver.start()

    async def restart(self):
        """The driver dies; binds that it had under way have arrived or never will, before the next one reads."""
        arrived = [placement for placement in self._late.values() if self.faults.survives_restart(placement)]
        await self._driver.kill()
        for placement in arrived:
            self._arrives(placement.uid)
            namespace, _, name = placement.pod.rpartition("/")
            target = {"apiVersion": "v1", "kind": "Node", "name": placement.node}
            meta = {"name": name, "annotations": {BOUND_FOR: placement.bound_for.text}}
            body = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
            await self._requests("POST", PODS.path(namespace, name, "binding"), body)
        await self._start_driver()

    async def _bind(self, placement):
        """What happens to a bind on its way."""
        fate = self.faults.bind(placement, self.now)
        if fate.delay_seconds > 0:
            arrived = asyncio.get_running_loop().create_future()
            self.at(self.now + fate.delay_seconds, lambda: self._arrivals.append(arrived))
            self._late[placement.uid] = placement
            try:
                await arrived
            finally:
                del self._late[placement.uid]
        if fate.failure is not None:
            raise ApiError(f"bind failed: {fate.failure}", code=_CODES[fate.failure])
        self._arrives(placement.uid)

    def _arrives(self, uid):
        """A pod is about to have a node."""
        self._times.bound[uid] = self.now
        self._turns[uid] = next(self._numbers)

    # --- time ---

    def at(self, time, action):
        heapq.heappush(self._agenda, (time, next(self._numbers), action))

    @property
    def next_event(self):
        return self._agenda[0][0] if self._agenda else None

    def run(self, until):
        while True:
            self._runner.run(self._come_to_rest())
            upcoming = self._next()
            if upcoming is None or upcoming > until:
                break
            self.now = max(self.now, upcoming)
            self._begin_instant()
        self.now = max(self.now, until)

    def run_until_quiet(self, limit):
        self._runner.run(self._come_to_rest())
        while (upcoming := self._next()) is not None and upcoming <= limit:
            self.run(upcoming)

    def do(self, chore):
        """In this instant, before the driver sees it."""
        self._chores.append(chore)

    def perform(self, action):
        self._runner.run(self._hands.perform(action))

    def _next(self):
        times = [time for time in (self.next_event, self._driver.engine.next_decide_at) if time is not None]
        return min(times, default=None)

    def _begin_instant(self):
        """Does what is due; the driver sees all of it together."""
        self._driver.lens.hold()
        while self._agenda and self._agenda[0][0] <= self.now:
            self._stirred = True
            heapq.heappop(self._agenda)[2]()

    async def _come_to_rest(self):
        try:
            async with asyncio.timeout(_REST_SECONDS):
                await self._show_instant()
                await self._until_rest()
        except TimeoutError:
            busy = "the server and the driver differ" if self._driver.idle else "the driver is not done"
            raise AssertionError(f"no rest at {self.now - START:g} s: {busy}") from None

    async def _show_instant(self):
        chores, self._chores = self._chores, []
        if self._stirred:
            await self._see_done(chores)
        self._shown = self.now
        self._driver.lens.release()
        self._driver.wake()
        # an answer is for the driver alone, which must know the time when it comes
        arrivals, self._arrivals = self._arrivals, []
        for arrived in arrivals:
            if not arrived.done():
                arrived.set_result(None)

    async def _until_rest(self):
        while True:
            while not self._driver.idle:
                assert not self._failures, self._failures
                await asyncio.sleep(_LOOK_SECONDS)
            if not self._stirred and not self._driver.stirred:
                return
            there = await self._in_step()
            if there is None or not self._driver.idle:
                continue
            if duties := [*self._duties(there), *self._volumes.duties(there)]:
                self._driver.lens.hold()
                await self._see_done(duties)
                self._driver.lens.release()
            elif there.has_leaving_groups:
                # whoever protects groups takes its time
                await asyncio.sleep(_LOOK_SECONDS)
            else:
                break
        self._note(there)
        self._stirred = False
        self._driver.rest()

    async def _see_done(self, things):
        """Does what is to be done together; returns when the driver's reflectors have seen it."""
        await asyncio.gather(*things)
        while await self._in_step() is None:
            pass

    async def _in_step(self):
        """What the server has, once the driver's reflectors have it too; None if they have something else by then."""
        kinds = tuple(self._hands.read)
        there = await self._list(kinds)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _CATCH_UP_SECONDS
        informers = self._driver.informers
        groups = next(one for one in informers.declaring.values() if one.resource == self._group_resource)
        reflectors = (informers.nodes, groups, informers.pods, informers.classes, informers.budgets)
        reflectors += tuple(informers.facts[kind.name] for kind in kinds)
        while not there.is_known_to(reflectors):
            if loop.time() > deadline:
                return None
            await asyncio.sleep(_LOOK_SECONDS)
        return there

    # --- what is seen ---

    def next_age(self):
        return self._times.next_age(self.now)

    def saw_pod(self, pod, age):
        """A pod as it was made; how it is at the end of the instant is seen then."""
        self._times.created[pod.metadata.uid] = age
        self._turns[pod.metadata.uid] = next(self._numbers)
        self.pods[pod.metadata.uid] = pod
        self._happened(PodSeen(pod))

    def saw_group(self, group, age):
        self._times.created[group.metadata.uid] = age
        self._happened(GroupSeen(group))

    def _note(self, there):
        """Writes what has become of things into history."""
        self._compare(self._seen.nodes, there.nodes, NodeSeen, lambda node: NodeGone(node.metadata.name))
        self._compare(self._seen.groups, there.groups, GroupSeen, lambda group: GroupGone(key_of(group)))
        self._compare(self._seen.pods, there.pods, PodSeen, lambda pod: PodGone(pod.metadata.uid))
        for kind in there.kinds:
            gone = partial(_fact_gone, kind)
            self._compare(self._seen.of(kind), there.of(kind), FactSeen, gone)
        lost, self._driver.engine.lost = self._driver.engine.lost, []
        for one in lost:
            self._happened(one)
        self._seen = there
        self.pods = {pod.metadata.uid: pod for pod in there.pods}

    def _compare(self, before, after, seen, gone):
        known = {one.metadata.uid: one.metadata.resource_version for one in before}
        for one in after:
            if known.pop(one.metadata.uid, None) != one.metadata.resource_version:
                self._happened(seen(one))
        for one in before:
            if one.metadata.uid in known:
                self._happened(gone(one))

    @property
    def groups(self):
        """By key."""
        return {key_of(group): group for group in self._seen.groups}

    def _happened(self, what):
        self.history.append(Happened(self.now, what))

    async def _list(self, kinds=()):
        """Without a resourceVersion in the request the server answers from its latest state."""

        async def all_of(resource, kind):
            answer = await self._client.request("GET", resource.path())
            return msgspec.json.decode(answer, type=_Page[kind]).items

        return There(
            *await asyncio.gather(
                all_of(NODES, Node),
                all_of(self._group_resource, PodGroup),
                all_of(PODS, Pod),
                all_of(PRIORITY_CLASSES, PriorityClass),
                all_of(DISRUPTION_BUDGETS, PodDisruptionBudget),
                *(all_of(kind.resource, kind.struct) for kind in kinds),
            ),
            kinds=kinds,
        )

    # --- kubelets ---

    def _duties(self, there):
        """What kubelets have to do now, each on its node in the order in which pods came there."""
        nodes = {node.metadata.name: node for node in there.nodes}
        live = {pod.metadata.uid for pod in there.pods if pod.status.phase not in _ENDED}
        for uid in self._turns.keys() - live:
            self._kubelets.let_go(uid)
        for pod in sorted(there.pods, key=lambda pod: self._turns[pod.metadata.uid]):
            uid, node = pod.metadata.uid, nodes.get(pod.spec.node_name)
            if not pod.spec.node_name or uid in self._expected:
                continue
            if pod.metadata.deletion_timestamp is not None:
                # whoever is gone at the end of the instant was never seen to go, and why
                self._happened(PodSeen(pod))
                yield from self._stop(pod)
            elif node is None:
                self._expected.add(uid)
                self.at(self.now + ORPHAN_SECONDS, lambda pod=pod: self._chores.append(self._collect(pod)))
            elif pod.status.phase == "Pending":
                yield self._start(pod, self._kubelets.take_in(pod, node))

    def _stop(self, pod):
        seconds = stop_seconds(pod)
        if seconds:
            self._expected.add(pod.metadata.uid)
            self.at(self.now + seconds, lambda: self._chores.append(self._delete(pod)))
        else:
            yield self._delete(pod)

    async def _delete(self, pod):
        await self._requests.if_there("DELETE", PODS.path(NAMESPACE, pod.metadata.name), AT_ONCE)

    async def _collect(self, pod):
        """The pod garbage collector: a node that is back in time takes its pod after all."""
        self._expected.discard(pod.metadata.uid)
        if pod.spec.node_name not in {node.metadata.name for node in (await self._list()).nodes}:
            await self._delete(pod)

    async def _start(self, pod, refusal):
        started = {"startTime": stamp(self.now)}
        if refusal:
            await self._report(pod, "Failed", reason=refusal, **started)
            return
        await self._report(pod, "Running", **started)
        if (seconds := pod.metadata.annotations.get(RUN_SECONDS)) is not None:
            failed = pod.metadata.annotations.get(EXIT_CODE, "0") != "0"
            self.at(self.now + float(seconds), lambda: self._chores.append(self.end_pod(pod, failed=failed)))

    async def end_pod(self, pod, *, failed, reason=""):
        """A pod that runs comes to its end."""
        now = self.pods.get(pod.metadata.uid)
        if now is None or now.status.phase != "Running":
            return
        if pod.metadata.uid in self._expected:
            await self._delete(pod)
        else:
            await self._report(pod, _ENDED[failed], **({"reason": reason} if reason else {}))

    async def _report(self, pod, phase, **status):
        path = PODS.path(NAMESPACE, pod.metadata.name, "status")
        body = {"metadata": {"uid": pod.metadata.uid}, "status": {"phase": phase, **status}}
        await self._requests.if_there("PATCH", path, body, content_type=STRATEGIC_PATCH)


class _Page(msgspec.Struct, Generic[Kind]):
    items: tuple[Kind, ...] = ()


class There:
    """What a server has at one time: all of it, and for scenarios what is in their namespace."""

    def __init__(self, nodes=(), groups=(), pods=(), classes=(), budgets=(), *facts, kinds=()):
        """`facts` are objects of other kinds that the scenario has had made, one list for each of the kinds."""
        self.kinds = kinds
        self._all = (nodes, groups, pods, classes, budgets, *facts)
        self._facts = dict(zip(kinds, facts, strict=True))
        self.nodes = nodes
        self.groups = _ours(groups)
        self.pods = _ours(pods)

    def of(self, kind):
        """Objects of a kind that plugins read, if the scenario has had such made."""
        return self._facts.get(kind, ())

    def is_known_to(self, reflectors):
        """Whether these, of the same kinds in the same order, have it all in these versions."""
        known = [reflector.known for reflector in reflectors]
        return known == [_versions(objects) for objects in self._all]

    @property
    def has_leaving_groups(self):
        """Groups that only wait to be let go: none of their pods is left that has not ended."""
        groups = {key_of(group): group for group in self.groups}
        used = {gang_of(pod, groups) for pod in self.pods if pod.status.phase not in _ENDED}
        return any(group.metadata.deletion_timestamp and key_of(group) not in used for group in self.groups)


def _ours(objects):
    return tuple(one for one in objects if one.metadata.namespace == NAMESPACE)


def _versions(objects):
    return {key_of(one): (one.metadata.uid, one.metadata.resource_version) for one in objects}


def _fact_gone(kind, fact):
    return FactGone(kind.name, kind.key(fact.metadata))


def key_of(one):
    meta = one.metadata
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
