"""The loop between a cluster and the engine: changes in, decisions carried out."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from typing import Protocol

import structlog

from muster.api.wire import PodGroup
from muster.app.evictions import Evictions
from muster.app.groups import Origin
from muster.app.inbox import Inbox
from muster.app.informers import Informers
from muster.app.unsaid import Unsaid
from muster.base.errors import KubeError
from muster.cluster.cluster import Cluster
from muster.cluster.pods import Stage
from muster.controllers.protection import FINALIZER, Protection
from muster.engine.changes import BindFailed, Change, Failure, PodGone
from muster.engine.decisions import (
    Bind,
    Decision,
    Event,
    Evict,
    GangCondition,
    Lost,
    Placement,
    PodCondition,
    PodRef,
    Release,
)
from muster.engine.engine import WORK
from muster.gangs.dialects import dialect_of
from muster.gangs.model import Aspect
from muster.kube import writes
from muster.kube.client import Client
from muster.kube.outbox import Errand, Outbox, Urgency
from muster.kube.resources import NODES, PODS
from muster.kube.writes import Regarding

_log = structlog.get_logger()

_SAID = {
    (Aspect.STARTED, True): "started",
    (Aspect.STARTED, False): "waiting",
    (Aspect.BELOW_MINIMUM, True): "below its minimum",
    (Aspect.BELOW_MINIMUM, False): "whole again",
    (Aspect.EVICTED, True): "evicted whole",
    (Aspect.EVICTED, False): "runs again",
}

# changes come in bursts: those of so short a while are taken in together
_GATHER_SECONDS = 0.002
# so often the reason of a deletion is tried to be written before the deletion goes without
_INSISTENT_TRIES = 6
# so often a scheduler that is to stop looks whether binds that failed are to be tried again
_STOPPING_LOOK_SECONDS = 0.05
# about 10 ms of taking in, then others get their turn
_CHANGES_AT_ONCE = 2_000


class Deciding(Protocol):
    """An engine, or one that keeps a journal."""

    def apply(self, changes: Iterable[Change]) -> None: ...

    def decide(self, now: float, budget: int = WORK) -> list[Decision]: ...

    @property
    def next_decide_at(self) -> float | None: ...

    @property
    def cluster(self) -> Cluster: ...


class Measure(Protocol):
    """Told what took how many seconds."""

    def decided(self, seconds: float, decisions: list[Decision]) -> None: ...

    def bound(self, change: Change, seconds: float) -> None: ...


class Scheduler:
    """Feeds the engine and carries out what it decides, for as long as this replica leads.

    `clock` gives seconds since the epoch and never goes back.  Everything that is sent goes through the outbox;
    what became of a bind comes back through the inbox like any other change.
    """

    def __init__(
        self,
        client: Client,
        engine: Deciding,
        *,
        inbox: Inbox,
        outbox: Outbox,
        informers: Informers,
        clock: Callable[[], float],
        reporter: str,
        instance: str,
        measure: Measure | None = None,
    ) -> None:
        self._client = client
        self._engine = engine
        self._inbox = inbox
        self._outbox = outbox
        self._informers = informers
        self._clock = clock
        self._reporter = reporter
        self._instance = instance
        self._protections = {
            Origin.CUSTOM: self._protect(Origin.CUSTOM, wanted=lambda key: True),
            # Kubernetes protects its own groups, but does not see that pods name them by label
            Origin.NATIVE: self._protect(Origin.NATIVE, wanted=informers.named_by_label.__contains__),
        }
        self._measure = measure
        self._unsaid = Unsaid()
        self._unwritten: dict[str, tuple[PodRef, str, PodCondition]] = {}
        """By UID: what is still to be said of a pod as decided last; a bind takes its place in the outbox."""
        self._refused: dict[str, None] = {}
        """UIDs of pods whose bind was refused, so that they surely are not bound, and the engine has not been told."""
        self._starting: dict[str, tuple[GangCondition, float]] = {}
        """By gang: that it has started and since when, while this is not written."""
        self._evictions = Evictions(self._delete)
        self._stopping = False

    async def run(self) -> None:
        """Decides until `stop` is called."""
        while not self._stopping:
            await self._something_to_do()
            await self._turn()

    async def _turn(self) -> None:
        changes = self._inbox.take()
        refused, self._refused = self._refused, {}
        if self._unsaid or self._unwritten:
            for change in changes:
                if isinstance(change, PodGone):
                    self._unsaid.forget(change.uid)
                    self._unwritten.pop(change.uid, None)
                    self._evictions.settled(change.uid)
        for first in range(0, len(changes), _CHANGES_AT_ONCE):
            self._engine.apply(changes[first : first + _CHANGES_AT_ONCE])
            await asyncio.sleep(0)
        if changes:
            named = self._informers.named_by_label.take_touched()
            for origin, protection in self._protections.items():
                protection.look(self._informers.groups.take_touched(origin) | named)
        began = time.perf_counter()
        # with nothing to spend no unit is decided, but answers to binds are still acted on
        decisions = self._engine.decide(self._clock(), 0 if self._stopping else WORK)
        if self._measure is not None:
            self._measure.decided(time.perf_counter() - began, decisions)
        self._evictions.new_turn()
        for decision in decisions:
            self._carry_out(decision)
            if isinstance(decision, Bind):
                for placement in decision.pods:
                    refused.pop(placement.uid, None)
        for uid in refused:
            # the bind took the place of what was to be said before, and that stands
            if uid in self._unwritten:
                self._say(*self._unwritten[uid])
        # sockets get their turn
        await asyncio.sleep(0)

    def stop(self) -> None:
        """No unit is decided any more."""
        self._stopping = True
        self._inbox.filled.set()

    async def finish(self) -> None:
        """Returns when all that was decided is done and what came of it is written; `run` has ended before."""
        while True:
            await self._outbox.done(up_to=Urgency.POD)
            await self._turn()
            if not self._outbox.is_done(Urgency.POD):
                continue
            if not self._binding():
                return
            # a bind that failed is still to be tried again
            await self._something_to_do()

    def _binding(self) -> bool:
        """Whether any bind has no final answer yet."""
        return any(pod.stage is Stage.BINDING for pod in self._engine.cluster.pods.values())

    async def _something_to_do(self) -> None:
        at = self._engine.next_decide_at
        wait = None if at is None else at - self._clock()
        if self._stopping and wait is not None:
            # units that nobody decides any more are due all the time
            wait = max(wait, _STOPPING_LOOK_SECONDS)
        if wait is not None and wait <= 0:
            return
        try:
            # not wait_for: on Python 3.11 that one may swallow a cancellation
            async with asyncio.timeout(wait):
                await self._inbox.filled.wait()
        except TimeoutError:
            return
        await asyncio.sleep(_GATHER_SECONDS)

    # --- decisions ---

    def _carry_out(self, decision: Decision) -> None:
        match decision:
            case Bind():
                self._bind(decision)
            case Release():
                self._delete(decision)
            case Evict():
                self._evictions.decided(decision)
            case Lost():
                self._lost(decision)
            case PodCondition():
                self._pod_condition(decision)
            case GangCondition():
                self._gang_condition(decision)
            case Event():
                self._event(decision)

    def _bind(self, decision: Bind) -> None:
        _log.info("binding", unit=decision.unit, pods=len(decision.pods))
        for placement in decision.pods:
            # the subject makes it follow, or replace, what is still to be said of the pod while it waited
            self._evictions.settled(placement.uid)
            send = partial(self._send_bind, placement)
            self._outbox.put(Errand(Urgency.BIND, send, subject=f"pod {placement.uid}"))

    async def _send_bind(self, placement: Placement) -> None:
        began = time.perf_counter()
        try:
            answer = await writes.bind(self._client, placement, at=self._clock())
        except KubeError:
            raise
        except Exception as error:
            # whatever it is, the engine waits for an answer
            _log.exception("a bug: a bind failed in an unforeseen way", pod=placement.pod)
            answer = BindFailed(placement.uid, placement.node, Failure.TRANSIENT, str(error))
        if self._measure is not None:
            self._measure.bound(answer, time.perf_counter() - began)
        if not isinstance(answer, BindFailed):
            self._unsaid.forget(placement.uid)
            self._unwritten.pop(placement.uid, None)
        else:
            _log.warning(
                "a bind failed",
                pod=placement.pod,
                node=placement.node,
                failure=answer.failure.value,
                error=answer.message,
            )
            if answer.failure is not Failure.TRANSIENT:
                self._refused[placement.uid] = None
        self._inbox.put([answer])

    def _lost(self, decision: Lost) -> None:
        _log.warning("evicted in vain", unit=decision.unit, reason=decision.why.value, why=decision.message)

    def _delete(self, decision: Release | Evict) -> None:
        what = "releasing" if isinstance(decision, Release) else "evicting"
        _log.warning(what, unit=decision.unit, pods=len(decision.pods), why=decision.message)
        for pod in decision.pods:
            send = partial(self._send_deletion, pod, decision, self._clock(), count())
            self._outbox.put(Errand(Urgency.RELEASE, send, subject=f"delete {pod.uid}", lasting=True))

    async def _send_deletion(self, pod: PodRef, decision: Release | Evict, at: float, tries: Iterator[int]) -> None:
        await writes.delete_pod(
            self._client,
            pod,
            reason=decision.reason,
            message=decision.message,
            at=at,
            insist=next(tries) < _INSISTENT_TRIES,
        )

    def _pod_condition(self, decision: PodCondition) -> None:
        since = self._clock() if decision.transition else None
        nominated = decision.nominated or ("",) * len(decision.pods)
        for pod, node in zip(decision.pods, nominated, strict=True):
            self._unsaid.decided(pod.uid, node=node, since=since)
            self._unwritten[pod.uid] = (pod, node, decision)
            if node:
                self._evictions.nominates(pod.uid)
            else:
                self._evictions.settled(pod.uid)
            self._say(pod, node, decision)

    def _say(self, pod: PodRef, node: str, decision: PodCondition) -> None:
        send = partial(self._send_pod_condition, pod, node, decision)
        urgency = Urgency.NOMINATION if node else Urgency.POD
        lasting = self._unsaid.must_be_said(pod.uid)
        self._outbox.put(Errand(urgency, send, subject=f"pod {pod.uid}", lasting=lasting))

    async def _send_pod_condition(self, pod: PodRef, node: str, decision: PodCondition) -> None:
        since = self._unsaid.since(pod.uid)
        await writes.write_pod_condition(
            self._client, pod, reason=decision.reason, message=decision.message, nominated=node, since=since
        )
        self._unsaid.written(pod.uid, node=node, since=since)
        # else it was older news, and for whom the room is may still be to be said
        if (unwritten := self._unwritten.get(pod.uid)) is not None and unwritten[2] is decision:
            del self._unwritten[pod.uid]
            self._evictions.settled(pod.uid)

    def _gang_condition(self, decision: GangCondition) -> None:
        started = decision.aspect is Aspect.STARTED
        trouble = decision.holds is not started
        details = {"reason": decision.reason, "why": decision.message} if trouble else {}
        _log.info(_SAID[decision.aspect, decision.holds], gang=decision.gang, **details)
        at = self._clock()
        if started and decision.holds:
            self._starting[decision.gang] = (decision, at)
        send = partial(self._send_gang_condition, decision, at)
        subject = f"group {decision.gang} {decision.aspect}"
        self._outbox.put(Errand(Urgency.GROUP, send, subject=subject, lasting=decision.holds or not started))

    async def _send_gang_condition(self, decision: GangCondition, at: float) -> None:
        if decision.aspect is Aspect.BELOW_MINIMUM and decision.gang in self._starting:
            # or a leader that comes after this one would take it for a gang that never was whole, and undo it
            await self._write_gang_condition(*self._starting[decision.gang])
        await self._write_gang_condition(decision, at)

    async def _write_gang_condition(self, decision: GangCondition, at: float) -> None:
        await self._write_if_declared(decision, at)
        if self._starting.get(decision.gang, (None,))[0] is decision:
            del self._starting[decision.gang]

    async def _write_if_declared(self, decision: GangCondition, at: float) -> None:
        found = self._informers.groups.find(decision.gang)
        if found is None:
            return
        origin, group = found
        resource = self._informers.resource(origin)
        if resource is None:
            return
        said = dialect_of(group).condition(
            decision.aspect, holds=decision.holds, reason=decision.reason, message=decision.message
        )
        await writes.write_group_condition(self._client, resource, group, said, at=at)

    def _event(self, event: Event) -> None:
        at = self._clock()
        for about in self._regarding(event):
            # eventTime and name make it unique; names as client-go makes them
            name = f"{about.name[:200].rstrip('-.')}.{secrets.token_hex(8)}"
            send = partial(
                writes.write_event,
                self._client,
                about,
                reason=event.reason,
                note=event.note,
                action=event.action,
                warning=event.warning,
                reporter=self._reporter,
                instance=self._instance,
                name=name,
                at=at,
            )
            self._outbox.put(Errand(Urgency.EVENT, send))

    def _regarding(self, event: Event) -> Iterable[Regarding]:
        yield from (self._pod(pod) for pod in event.pods)
        if event.node:
            yield writes.regarding(NODES, event.node, event.node)
        if event.gang and (found := self._informers.groups.find(event.gang)) is not None:
            origin, group = found
            resource = self._informers.resource(origin)
            if resource is not None:
                yield writes.regarding(resource, event.gang, group.metadata.uid)

    def _pod(self, pod: PodRef) -> Regarding:
        return writes.regarding(PODS, pod.pod, pod.uid)

    # --- groups in use ---

    def _protect(self, origin: Origin, *, wanted: Callable[[str], bool]) -> Protection:
        return Protection(
            partial(self._informers.groups.of, origin),
            wanted=wanted,
            in_use=self._in_use,
            write=partial(self._write_finalizers, origin),
        )

    def _in_use(self, key: str) -> bool:
        """Whether a pod that has not ended names the group."""
        gang = self._engine.cluster.gangs.get(key)
        over = (Stage.SUCCEEDED, Stage.FAILED)
        return gang is not None and any(pod.stage not in over for pod in gang.members.values())

    def _write_finalizers(self, origin: Origin, group: PodGroup, finalizers: tuple[str, ...]) -> None:
        send = partial(self._send_finalizers, origin, group, finalizers)
        self._outbox.put(Errand(Urgency.GROUP, send, subject=f"finalizers {group.metadata.uid}", lasting=True))

    async def _send_finalizers(self, origin: Origin, group: PodGroup, finalizers: tuple[str, ...]) -> None:
        resource = self._informers.resource(origin)
        key = f"{group.metadata.namespace}/{group.metadata.name}"
        # pods may have come or gone while the errand waited
        if resource is not None and self._protections[origin].keeps(key) is (FINALIZER in finalizers):
            await writes.write_finalizers(self._client, resource, group, finalizers)
