"""Replicas of Muster, controllers and kubelets: started, killed between any two awaits, started again."""

import asyncio
from functools import partial
from random import Random

from muster.app.run import Muster
from muster.app.settings import LeaderElection, Settings
from muster.base.errors import KubeError
from muster.controllers.discovery import Discovery
from muster.controllers.driver import Driver
from muster.controllers.garbage import Garbage
from muster.controllers.manager import attach_all, attach_kubelets, suffixes
from muster.controllers.nodes import NodeLifecycle
from muster.engine.decisions import Decision
from muster.framework.profile import Backoff, Fairness, PreemptionSettings
from muster.kube.connection import Connection
from muster.kube.credentials import Fixed
from muster.local.kubelets import Kubelets
from tests.system.loop import current
from tests.system.network import Link, SimClient

TOKEN = "t"
START = 1_700_000_000.0
_NEVER = 1e9
# signs of life of nodes, and how long one may be silent: half as often as usual, for most of what the server does in a
# calm world is to write leases; or so often that a kubelet that dies is missed before the world is over
_USUAL_LIFE = (20.0, 40.0)
_SHORT_LIFE = (4.0, 12.0)

LEADER = LeaderElection(lease_seconds=9.0, renew_seconds=6.0, retry_seconds=2.0)
SETTINGS = Settings(
    leader_election=LEADER,
    # without the safety net, which would hide a wake-up that was forgotten
    backoff=Backoff(flush=_NEVER),
    # what units have passed and evicted stands in no object, so rules that look at objects cannot know it
    fairness=Fairness(passes_per_member=None),
    # longer than any pod takes to stop; the usual ten minutes would have to pass before it is quiet
    preemption=PreemptionSettings(rounds=1_000, patience_seconds=25.0, lapse_seconds=25.0),
)
_CONNECTION = Connection(
    server="https://sim",
    ssl=None,
    server_name=None,
    proxy=None,
    credentials=Fixed({"Authorization": f"Bearer {TOKEN}"}),
    namespace="default",
    source="simulation",
)


def task_factory(loop, coroutine, **options):
    """Tasks belong to the process that starts them."""
    task = asyncio.Task(coroutine, loop=loop, **options)
    link = current.get()
    if link is not None:
        link.tasks[task] = True
        task.add_done_callback(lambda task: link.tasks.pop(task, None))
    return task


class Shown:
    """An engine whose decisions somebody looks at before they are carried out, and who hears what it is told."""

    def __init__(self, engine, show, hear):
        self._engine = engine
        self._show = show
        self._hear = hear
        self.cluster = engine.cluster
        self.troubles = engine.troubles

    def apply(self, changes):
        self._hear(changes)
        self._engine.apply(changes)

    def decide(self, now, budget=None):
        decisions: list[Decision] = self._engine.decide(now) if budget is None else self._engine.decide(now, budget)
        self._show(decisions)
        return decisions

    @property
    def next_decide_at(self):
        return self._engine.next_decide_at


class Process:
    """One process, in all its lives: a supervisor starts it again whenever it has ended."""

    user_agent = ""

    def __init__(self, name, network, *, rng, tell):
        self.name = name
        self.link = None
        self._network = network
        self._rng = rng
        self._tell = tell
        self._lives = 0
        self._comes_back = True

    def start(self):
        self._lives += 1
        self.link = link = Link(self.name, self._lives)
        link.process = self
        self._network.attach(link)
        work = self._make(START + asyncio.get_running_loop().time())
        token = current.set(link)
        try:
            asyncio.get_running_loop().create_task(self._live(work, link))
        finally:
            current.reset(token)
        self._tell(f"{link} starts")

    def _make(self, now):
        """What it does with a client until it ends."""
        raise NotImplementedError

    async def _live(self, work, link):
        try:
            async with SimClient(_CONNECTION, network=self._network, link=link, user_agent=self.user_agent) as client:
                await work(client)
        except KubeError as error:
            self._tell(f"{link} ends: {error}")
        finally:
            if link.alive:
                self._network.detach(link)
                self._again()

    def _again(self, seconds=None):
        if self._comes_back:
            self._network.later(self._rng.choice((0.1, 1.0, 4.0)) if seconds is None else seconds, self.start)

    def kill(self, *, back_in=None):
        """It is gone at once, whatever it was about to do."""
        link = self.link
        if not link.alive:
            return
        self._tell(f"{link} is killed")
        self._network.seen[f"events: {self.user_agent} killed"] += 1
        self._network.detach(link)
        asyncio.get_running_loop().thaw(link)
        for task in list(link.tasks):
            task.cancel()
        self._again(back_in)

    def freeze(self, seconds):
        """It stands still, as on a machine that sleeps; the clocks go on."""
        link = self.link
        if link.alive and link.frozen is None:
            self._network.count("processes frozen")
            link.frozen = []
            self._network.later(seconds, asyncio.get_running_loop().thaw, link)

    def stop(self):
        """It is asked to end, as by a rolling update."""
        self.kill()

    @property
    def _reflectors(self):
        raise NotImplementedError

    @property
    def well(self):
        """Nothing keeps it from doing its work."""
        link = self.link
        if not link.alive or link.cut or link.frozen is not None:
            return False
        # a watch that is never answered is given up after three minutes
        stalled = any(pipe.stalled for pipe in link.pipes) or any(call.watches for call in link.calls)
        out_of_step = any(kind.trouble is not None for kind in self._reflectors)
        return self._network.up and not stalled and not out_of_step

    def unrest(self, now):
        """What of its work still goes on; "" if nothing."""
        link = self.link
        if calls := [call for call in (*link.calls, *link.connecting) if not _renews(call.request)]:
            return f"{calls[0].request.method} {calls[0].request.path} is on its way"
        if any(pipe.coming for pipe in link.pipes):
            return "watches lag"
        for kind in self._reflectors:
            if kind.trouble is not None or (kind._watching is None and kind.resource is not None):
                return f"{kind.name} is out of step: {kind.trouble}"
        return ""


class Replica(Process):
    """One replica of Muster."""

    user_agent = "muster"

    def __init__(self, name, network, *, rng, show, hear, tell):
        super().__init__(name, network, rng=rng, tell=tell)
        self.muster = None
        self._show = show
        """Told of decisions: (replica, decisions)."""
        self._hear = hear
        """Told of what the engine is told: (replica, changes)."""
        self._stopping = False

    @property
    def lease(self):
        return None if self.muster is None else self.muster._lease

    @property
    def leads(self):
        """It decides, and may write."""
        lease = self.lease
        return lease is not None and self.muster._scheduler is not None and self.link.alive and lease.held()

    @property
    def well(self):
        return self.leads and not self._stopping and super().well

    @property
    def _reflectors(self):
        return self.muster._informers

    def _make(self, now):
        loop = asyncio.get_running_loop()
        self._stopping = False
        self.muster = muster = Muster(SETTINGS, clock=lambda: START + loop.time(), ticking=loop.time)
        return lambda client: muster.schedule(client, self)

    def of(self, engine):
        """In place of a journal."""
        return Shown(engine, partial(self._show, self), partial(self._hear, self))

    def stop(self):
        if self.link.alive and self.muster is not None:
            self._stopping = True
            self._tell(f"{self.link} is asked to stop")
            self.muster.stop()

    def unrest(self, now):
        muster = self.muster
        if found := super().unrest(now):
            return found
        if muster._scheduler._inbox._changes:
            return "changes wait"
        if muster._outbox.waiting or muster._outbox.under_way:
            return f"{muster._outbox.waiting} errands wait, {muster._outbox.under_way} are under way"
        if muster._scheduler._statuses.next_look_at is not None:
            return "a status is to be looked at again"
        if muster._informers.owners._waiting or muster._informers.groups.owned.unread:
            return "owners are to be read"
        due = muster.engine.next_decide_at
        if due is not None and due < now + _NEVER / 2:
            return f"something is to be decided in {due - now:g} s"
        return ""


class Cores(Process):
    """Controllers, kubelets, or both, as `muster up` has them: on one driver."""

    def __init__(self, name, network, *, rng, tell, controllers, kubelets):
        super().__init__(name, network, rng=rng, tell=tell)
        self.user_agent = "kube-controller-manager" if controllers else "kubelet"
        self._controllers = controllers
        self._kubelets = kubelets
        self.driver = None

    def _make(self, now):
        loop, chance = asyncio.get_running_loop(), Random(self._rng.random())
        lease, grace = _SHORT_LIFE if "dead kubelets" in self._network.mood else _USUAL_LIFE

        async def run(client):
            self.driver = driver = Driver(client, clock=lambda: START + loop.time())
            if self._controllers:
                attach_all(driver, names=suffixes(chance), grace_seconds=grace)
            if self._kubelets:
                attach_kubelets(driver, lease_seconds=lease)
            await driver.run()

        self.driver = None
        return run

    @property
    def _reflectors(self):
        return [feed.reflector for feed in self.driver._feeds.values()]

    @property
    def well(self):
        return self.driver is not None and self.driver.ready.is_set() and super().well

    def unrest(self, now):
        driver = self.driver
        if driver is None or not driver.ready.is_set():
            return f"{self.link} is not at work"
        if found := super().unrest(now):
            return f"{self.link}: {found}"
        if driver._calls.qsize():
            return f"{self.link}: calls wait"
        for feed in driver._feeds.values():
            if feed.shelf.doubts_at is not None:
                return f"{self.link}: what only an answer told of is asked after in {feed.shelf.doubts_at - now:g} s"
        for core in driver._cores:
            if (at := _next(core)) is not None and not _is_routine(core, at, now):
                return f"{self.link}: {type(core).__name__} has something to do in {at - now:g} s"
        return ""


def _renews(request):
    """Whether it is a sign of life, of which there is no end."""
    return "/leases" in request.path and request.method not in ("POST", "DELETE")


def _is_routine(core, at, now):
    """Whether what a core has to do comes again and again, and changes nothing if nothing happens."""
    if isinstance(core, Discovery):
        return at > now and not core._desk._failures
    if isinstance(core, Garbage):
        # who names an owner of a kind that is not served is looked at again and again
        asks = core._asking.next_at is not None or core._orphaning.next_at is not None
        return at > now and not asks and all(_names_unknown(core, uid) for uid in core._desk._times)
    return isinstance(core, NodeLifecycle) and at > now


def _names_unknown(core, uid):
    """Whether an object names an owner of a kind of which the collector knows nothing."""
    thing = core._things.get(uid)
    owners = () if thing is None else thing.meta.owner_references
    return any((one.api_version.rpartition("/")[0], one.kind) not in core._kinds for one in owners)


def _next(core):
    """When a core has something to do, signs of life aside, which never end."""
    if not isinstance(core, Kubelets):
        return core.next_at
    return 0.0 if core._due or core._wanted or core._calls else core._timers[0][0] if core._timers else None
