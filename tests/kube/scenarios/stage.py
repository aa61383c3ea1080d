"""A real API server as the stage of scenarios, with the real driver, in virtual time.

Virtual time stands still while anything is under way and jumps when nothing is.  Nothing is under way when the
driver has seen all that the server has (its reflectors know the versions that a fresh, consistent list shows), has
nothing to decide now, and has sent all that it wants to send.  Kubelets are played here: pods run when they are
bound, end when their time is over and go when they are asked to.
"""

import asyncio
import heapq
import itertools
from functools import partial

import msgspec

from muster.api.wire import Node, Pod, PodGroup, PriorityClass
from muster.base.errors import ApiError
from muster.engine.changes import Failure, GroupGone, GroupSeen, NodeGone, NodeSeen, PodGone, PodSeen
from muster.gangs.dialects import membership
from muster.kube.client import MERGE_PATCH, STRATEGIC_PATCH, Client
from muster.kube.connection import load
from muster.kube.resources import NODES, PODS, PRIORITY_CLASSES
from muster.sim.scenario.perform import ScenarioFaults
from muster.sim.scenario.run import START
from muster.sim.world import EXIT_CODE, RUN_SECONDS, Happened
from tests.kube.scenarios.driver import Driver, Times, Wire
from tests.kube.scenarios.hands import AT_ONCE, Hands, Requests

NAMESPACE = "default"
_REST_SECONDS = 60
_LOOK_SECONDS = 0.003
# how long a list that the driver has not caught up with is worth waiting for before the next one
_CATCH_UP_SECONDS = 0.2


class KubeStage:
    """One scenario's cluster; use as a context manager.  Nothing of it is left on the server afterwards."""

    def __init__(self, kubeconfig, *, groups, strategy):
        self.now = START
        self.history = []
        self.pods = {}
        """By UID; those of the scenario's namespace, as last seen."""
        self.faults = ScenarioFaults(lambda uid: self.pods.get(uid))
        self._group_resource = groups
        self._strategy = strategy
        self._connection = load(kubeconfig=str(kubeconfig))
        self._times = Times()
        self._agenda = []
        self._numbers = itertools.count()
        self._chores = []
        """What kubelets have to do in this instant."""
        self._late = {}
        """Binds on their way, by UID."""
        self._shown = START
        """What the driver takes for the time: it hears of an instant when all that it brings has been done."""
        self._seen = _Lists((), (), (), ())
        self._failures = []
        self._stirred = True

    # --- life ---

    def __enter__(self):
        self._runner = asyncio.Runner()
        self._runner.get_loop().set_exception_handler(lambda _, context: self._failures.append(context))
        self._runner.run(self._open())
        return self

    def __exit__(self, *_):
        try:
            self._runner.run(self._close())
        finally:
            self._runner.close()

    async def _open(self):
        self._client = await Client(self._connection, user_agent="scenarios").__aenter__()
        self._wire = await Wire(self._connection, on_bind=self._bind).__aenter__()
        self._requests = Requests(self._client)
        self._hands = Hands(self, self._requests, groups=self._group_resource)
        there = await self._list()
        assert not there.nodes, f"other nodes are in the way: {[node.metadata.name for node in there.nodes]}"
        await self._start_driver()

    async def _close(self):
        await self._driver.kill()
        try:
            await self._clean_up()
        finally:
            await self._wire.__aexit__(None, None, None)
            await self._client.__aexit__(None, None, None)

    async def _clean_up(self):
        there = await self._list()
        for path in self._hands.made:
            await self._requests.if_there("DELETE", path)
        await self._requests("DELETE", PODS.path(NAMESPACE), AT_ONCE)
        for group in there.groups:
            # whoever protects it is gone, or looks for pods that are
            path = self._group_resource.path(NAMESPACE, group.metadata.name)
            await self._requests.if_there(
                "PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE_PATCH
            )
            await self._requests.if_there("DELETE", path)
        async with asyncio.timeout(_REST_SECONDS):
            while (left := await self._list()).pods or left.groups or left.nodes:
                await asyncio.sleep(_LOOK_SECONDS)

    # --- the driver's life ---

    async def _start_driver(self):
        self._driver = Driver(
            self._wire,
            strategy=self._strategy,
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
            self._times.bound[placement.uid] = self.now
            namespace, _, name = placement.pod.rpartition("/")
            target = {"apiVersion": "v1", "kind": "Node", "name": placement.node}
            body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
            await self._requests("POST", PODS.path(namespace, name, "binding"), body)
        await self._start_driver()

    async def _bind(self, placement):
        """What happens to a bind on its way."""
        fate = self.faults.bind(placement, self.now)
        if fate.delay_seconds > 0:
            arrived = asyncio.get_running_loop().create_future()
            self.at(self.now + fate.delay_seconds, lambda: arrived.done() or arrived.set_result(None))
            self._late[placement.uid] = placement
            try:
                await arrived
            finally:
                del self._late[placement.uid]
        if fate.failure is Failure.TRANSIENT:
            raise ApiError("the server is busy", code=503, reason="ServiceUnavailable")
        if fate.failure is not None:
            raise ApiError(f"pods {placement.pod} is denied", code=403, reason="Forbidden")
        self._times.bound[placement.uid] = self.now

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
            raise AssertionError(f"no rest at {self.now - START:g} s") from None

    async def _show_instant(self):
        chores, self._chores = self._chores, []
        await asyncio.gather(*chores)
        if self._stirred:
            await self._until(lambda: True)
        self._shown = self.now
        self._driver.lens.release()
        self._driver.wake()

    async def _until_rest(self):
        while True:
            while not self._driver.idle:
                self._check()
                await asyncio.sleep(_LOOK_SECONDS)
            if not self._stirred and not self._driver.stirred:
                return
            lists = await self._until(lambda: self._driver.idle)
            if duties := [*self._duties(lists)]:
                await asyncio.gather(*duties)
                continue
            if lists is not None and not _leaving(lists) and self._driver.idle:
                self._note(lists)
                self._stirred = False
                self._driver.rest()
                return

    def _check(self):
        assert not self._failures, self._failures

    # --- what the server has ---

    async def _until(self, holds): ...
