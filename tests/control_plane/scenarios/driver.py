"""The scheduler as `muster run` puts it together, in virtual time and in the loop of whoever plays with it."""

import asyncio

import msgspec
from msgspec.structs import replace

from muster.api.times import micro_stamp, stamp
from muster.api.wire import condition
from muster.app.inbox import Inbox
from muster.app.informers import Informers
from muster.app.scheduler import Scheduler
from muster.engine.changes import GroupSeen, PodSeen
from muster.engine.decisions import Lost, Placement
from muster.engine.engine import WORK, Engine
from muster.gangs.record import BOUND_FOR, BoundFor
from muster.kube.client import JSON, Client
from muster.kube.outbox import Outbox
from muster.plugins.registry import make_profile
from muster.sim.objects import grace_seconds


class Driver:
    """One life of the scheduler: started → killed.

    `late` counts binds that virtual time holds up on their way.
    """

    def __init__(self, client, *, parts, clock, times, late):
        profile = make_profile(parts)
        self.engine = _Engine(profile)
        self.inbox = Inbox()
        self.lens = _Lens(self.inbox, times)
        self.informers = Informers(client, self.lens, must=profile.reads, may=profile.may_read)
        self._clock = clock
        self._late = late
        self._outbox = Outbox()
        self._tasks = []
        self._scheduler = Scheduler(
            client,
            self.engine,
            inbox=self.inbox,
            outbox=self._outbox,
            informers=self.informers,
            clock=clock,
            names=("muster",),
            reporter="muster",
            instance="muster-scenarios",
        )

    async def start(self):
        """Returns when everything was read; what was read is held until the lens lets it through."""
        self._tasks = [asyncio.create_task(reflector.run()) for reflector in self.informers]
        await self.informers.synced()
        self._tasks.append(asyncio.create_task(self._scheduler.run()))

    async def kill(self):
        await self._outbox.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def wake(self):
        """Time has passed, which a sleep in real seconds does not notice."""
        self.engine.undecided = True
        self.inbox.filled.set()

    @property
    def stirred(self):
        """Something came in or was decided since this was last set back."""
        return self.lens.passed or self.engine.decided

    def rest(self):
        self.lens.passed = self.engine.decided = False

    @property
    def idle(self):
        """It has looked at all it was told, and sent all it has to send but for what time holds up."""
        for task in self._tasks:
            if task.done():
                task.result()
        if self.engine.undecided or self.inbox.filled.is_set():
            return False
        due = self.engine.next_decide_at
        return (due is None or due > self._clock()) and self._nothing_to_send()

    def _nothing_to_send(self):
        outbox, late = self._outbox, self._late()
        return outbox.under_way == late and (not outbox.waiting or late >= outbox.limit.now)


class _Engine(Engine):
    """Knows whether it has something to decide about, and whether it has decided anything."""

    undecided = decided = False

    def __init__(self, profile):
        super().__init__(profile)
        self.lost = []
        """What it says of evictions in vain, until somebody takes it."""

    def apply(self, changes):
        self.undecided = True
        super().apply(changes)

    def decide(self, now, budget=WORK):
        self.undecided = False
        decisions = super().decide(now, budget)
        self.decided = self.decided or bool(decisions)
        self.lost += [decision for decision in decisions if isinstance(decision, Lost)]
        return decisions


class Times:
    """When objects were made, bound and deleted, in virtual time; the server's timestamps are real ones."""

    def __init__(self, clock):
        self._clock = clock
        self.created = {}
        """By UID."""
        self.bound = {}
        """By UID."""
        self._deleted = {}
        """By UID: when pods that are being deleted were first seen so."""
        self._made = 0

    def next_age(self, now):
        """Of things made in one instant the first is the oldest, by less than anybody can see."""
        self._made += 1
        return now + self._made * 1e-6

    def shown(self, change):
        """The change as it would be if the server's clock were ours."""
        if isinstance(change, PodSeen):
            return PodSeen(self._pod(change.pod))
        if isinstance(change, GroupSeen):
            return GroupSeen(replace(change.group, metadata=self._aged(change.group.metadata)))
        return change

    def _pod(self, pod):
        pod = replace(pod, metadata=self._leaving(pod, self._aged(pod.metadata)))
        scheduled = condition(pod.status.conditions, "PodScheduled")
        bound = self.bound.get(pod.metadata.uid)
        if scheduled is None or scheduled.status != "True" or bound is None:
            return pod
        others = [other for other in pod.status.conditions if other is not scheduled]
        scheduled = replace(scheduled, last_transition_time=micro_stamp(bound))
        return replace(pod, status=replace(pod.status, conditions=(*others, scheduled)))

    def _leaving(self, pod, metadata):
        if metadata.deletion_timestamp is None:
            return metadata
        deleted = self._deleted.setdefault(metadata.uid, self._clock())
        return replace(metadata, deletion_timestamp=stamp(deleted + grace_seconds(pod)))

    def _aged(self, metadata):
        created = self.created.get(metadata.uid)
        return metadata if created is None else replace(metadata, creation_timestamp=micro_stamp(created))


class _Lens:
    """Stands between the reflectors and the inbox: shows virtual times, and what was done together together."""

    def __init__(self, inbox, times):
        self.passed = False
        self._inbox = inbox
        self._times = times
        self._held = []

    def hold(self):
        if self._held is None:
            self._held = []

    def release(self):
        held, self._held = self._held, None
        self.put(held or [])

    def put(self, changes):
        if self._held is not None:
            self._held.extend(changes)
        elif shown := [self._times.shown(change) for change in changes]:
            self.passed = True
            self._inbox.put(shown)


class Wire(Client):
    """The scheduler's way to the server: `on_bind` may delay a bind, or raise what the server would have said."""

    def __init__(self, connection, *, on_bind):
        super().__init__(connection, user_agent="muster-scenarios")
        self._on_bind = on_bind

    async def request(self, method, path, *, body=None, content_type=JSON, **options):
        if method == "POST" and path.endswith("/binding"):
            binding = msgspec.json.decode(body)
            meta = binding["metadata"]
            key = f"{meta['namespace']}/{meta['name']}"
            record = msgspec.json.decode(meta["annotations"][BOUND_FOR], type=BoundFor)
            await self._on_bind(Placement(meta["uid"], key, binding["target"]["name"], record))
        return await super().request(method, path, body=body, content_type=content_type, **options)
