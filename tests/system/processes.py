"""Replicas of Muster: started, killed between any two awaits, stopped politely, started again."""

import asyncio
from functools import partial

from muster.app.run import Muster
from muster.app.settings import LeaderElection, Settings
from muster.base.errors import KubeError
from muster.engine.decisions import Decision
from muster.framework.profile import Backoff, Fairness, PreemptionSettings
from muster.kube.connection import Connection
from muster.kube.credentials import Fixed
from tests.system.loop import current
from tests.system.network import Link, SimClient

TOKEN = "t"
START = 1_700_000_000.0
_NEVER = 1e9

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


class Replica:
    """One replica, in all its lives: a supervisor starts it again whenever it has ended."""

    def __init__(self, name, network, *, rng, show, hear, tell):
        self.name = name
        self.muster = None
        self.link = None
        self._network = network
        self._rng = rng
        self._show = show
        """Told of decisions: (replica, decisions)."""
        self._hear = hear
        """Told of what the engine is told: (replica, changes)."""
        self._tell = tell
        self._lives = 0
        self._running = None
        self._comes_back = True
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
        """Nothing keeps it from doing its work."""
        link = self.link
        if not self.leads or self._stopping or not link.alive or link.cut or link.frozen is not None:
            return False
        # a watch that is never answered is given up after three minutes
        stalled = any(pipe.stalled for pipe in link.pipes) or any(call.watches for call in link.calls)
        out_of_step = any(kind.trouble is not None for kind in self.muster._informers)
        return self._network.up and not stalled and not out_of_step

    def start(self):
        loop = asyncio.get_running_loop()
        self._lives += 1
        self._stopping = False
        self.link = link = Link(self.name, self._lives)
        link.replica = self
        self._network.attach(link)
        self.muster = muster = Muster(SETTINGS, clock=lambda: START + loop.time(), ticking=loop.time)
        token = current.set(link)
        try:
            self._running = asyncio.create_task(self._live(muster, link))
        finally:
            current.reset(token)
        self._tell(f"{link} starts")

    async def _live(self, muster, link):
        try:
            async with SimClient(_CONNECTION, network=self._network, link=link) as client:
                await muster.schedule(client, self)
        except KubeError as error:
            self._tell(f"{link} ends: {error}")
        finally:
            if link.alive:
                self._network.detach(link)
                self._again()

    def of(self, engine):
        """In place of a journal."""
        return Shown(engine, partial(self._show, self), partial(self._hear, self))

    def _again(self, seconds=None):
        if self._comes_back:
            self._network.later(self._rng.choice((0.1, 1.0, 4.0)) if seconds is None else seconds, self.start)

    def kill(self, *, back_in=None):
        """It is gone at once, whatever it was about to do."""
        link = self.link
        if not link.alive:
            return
        self._tell(f"{link} is killed")
        self._network.seen["events: replica killed"] += 1
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
        if self.link.alive and self.muster is not None:
            self._stopping = True
            self._tell(f"{self.link} is asked to stop")
            self.muster.stop()
