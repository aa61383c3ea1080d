"""A scheduler whose engine decides what a test tells it to, on a scripted API server."""

import asyncio
from contextlib import asynccontextmanager

from muster.app.inbox import Inbox
from muster.app.informers import Informers
from muster.app.scheduler import Scheduler
from muster.cluster.cluster import Cluster
from muster.engine.changes import NodeGone
from muster.engine.decisions import Bind, CallOff, Evict, Placement, PodCondition, PodRef
from muster.engine.troubles import Troubles
from muster.kube.limits import Limit
from muster.kube.outbox import Outbox
from tests.kube.server import Api, Direct, Reply, running, settled, until

START = 1_800_000_000.0
NOTHING = NodeGone("no-such-node")


def path(name, subresource=""):
    return f"/api/v1/namespaces/team/pods/{name}" + (f"/{subresource}" if subresource else "")


def ref(name):
    return PodRef(f"uid-{name}", f"team/{name}")


def waits(*names, message="no room", transition=True, on=()):
    return PodCondition(tuple(map(ref, names)), "Unschedulable", message, transition, tuple(on))


def binds(name, node="n1"):
    return Bind(f"team/{name}", (Placement(f"uid-{name}", f"team/{name}", node),))


def evicts(*names, unit="a", note=""):
    """The pods go once the unit's nomination stands."""
    why = ("PreemptionByScheduler", f"for {unit}")
    return Evict(f"team/{unit}", tuple(map(ref, names)), *why, after=(f"uid-{unit}",), note=note)


def calls_off(*names, unit="a"):
    return CallOff(f"team/{unit}", tuple(map(ref, names)))


class Script:
    """An engine that decides what it was told to."""

    next_decide_at = None

    def __init__(self):
        self.cluster = Cluster(states={})
        self.troubles = Troubles()
        self.coming = []
        self.turns = 0
        self.told = []

    def apply(self, changes):
        self.told += changes

    def decide(self, now, budget):
        self.turns += 1
        decisions, self.coming = self.coming, []
        return decisions


class Stage:
    def __init__(self, api, *, places, engine=None, closed=(), names=("muster",)):
        self.api = api
        self.engine = engine or Script()
        self.inbox = Inbox()
        self.outbox = Outbox(limit=Limit(first=places, most=places))
        client = Direct(api)
        self.informers = Informers(client, self.inbox, closed=closed)
        self.scheduler = Scheduler(
            client,
            self.engine,
            inbox=self.inbox,
            outbox=self.outbox,
            informers=self.informers,
            clock=lambda: START + asyncio.get_running_loop().time(),
            names=names,
            reporter="muster",
            instance="muster-0",
        )

    async def decide(self, *decisions, told=NOTHING):
        """The engine is told something and decides this; returns when it is on its way."""
        self.engine.coming = list(decisions)
        self.inbox.put([told])
        await until_decided(self)

    async def carry_out(self, *decisions):
        await self.decide(*decisions)
        await self.outbox.done()

    def sent(self):
        return [(call.method, call.path) for call in self.api.calls]

    def said(self):
        """The status of each patch, in the order in which they were sent."""
        return [call.document["status"] for call in self.api.asked("PATCH")]


async def until_decided(stage):
    # changes are gathered for a moment
    await asyncio.sleep(0.01)
    await until(lambda: not stage.engine.coming)
    await settled(5)


@asynccontextmanager
async def at_work(api, *, places=10, engine=None, closed=(), names=("muster",)):
    stage = Stage(api, places=places, engine=engine, closed=closed, names=names)
    async with running(stage.scheduler.run()):
        yield stage
        await stage.outbox.close()


def obliging():
    """A server with pods a, b and c of which anything may be written."""
    api = Api()
    for name in "abc":
        api.on("PATCH", path(name, "status"), Reply({}))
        api.on("POST", path(name, "binding"), Reply({}, 201))
        api.on("DELETE", path(name), Reply({}))
    return api
