"""Carries decisions out: what should stand on the API, for each pod and group, and how it gets there.

    decided → desired state → outbox (most urgent first, as fast as the server takes it) → written

Of a pod or group only the newest word is kept, with what an older one that was never written had to say besides.
What a decision waits for is part of the decision: a deletion goes out when the nominations that it names stand, and
until it has gone out it can be called off.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol

import structlog
from msgspec.structs import replace

from muster.api.resources import NODES, PODS, Resource
from muster.api.wire import PodGroup, condition
from muster.app.attending import Attendance
from muster.app.inbox import Sink
from muster.app.informers import Informers
from muster.base.errors import ApiError, KubeError, ObjectError
from muster.controllers.made_groups import Todo
from muster.controllers.protection import FINALIZER
from muster.edge.owned import WantedGroup
from muster.engine.changes import BindFailed, Change, Failure, GrantFailed, GroupGone, PodGone, PodSeen, Spared
from muster.engine.decisions import (
    Bind,
    CallOff,
    Consult,
    Decision,
    Event,
    Evict,
    GangCondition,
    Lost,
    MarkStarted,
    Placement,
    PodCondition,
    PodRef,
    Prepare,
    Release,
    Reread,
    TakeBack,
    TellBound,
    Withdraw,
)
from muster.engine.reasons import GROUP_ERROR
from muster.framework.grants import Grant
from muster.gangs.dialects import CUSTOM, NATIVE
from muster.gangs.dialects.dialect import Dialect
from muster.gangs.dialects.v1beta1 import says
from muster.gangs.model import Aspect
from muster.kube import granting, writes
from muster.kube.client import Client
from muster.kube.outbox import Errand, Outbox, Urgency
from muster.kube.writes import Regarding

_log = structlog.get_logger()

# so often the reason of a deletion is tried to be written before the deletion goes without
_INSISTENT_TRIES = 6


class BindMeasure(Protocol):
    """Told how long a bind took, and what came of it."""

    def bound(self, change: Change, seconds: float) -> None: ...


class _BindCall(Protocol):
    """Binds a pod, or looks whether it is bound, and returns what to tell the engine."""

    async def __call__(self, client: Client, placement: Placement, /, *, at: float, recorded: bool) -> Change: ...


class _Deletion:
    """Pods that are to be deleted for one reason."""

    __slots__ = ("after", "at", "decision", "tries")

    def __init__(self, decision: Release | Evict, at: float) -> None:
        self.decision = decision
        self.at = at
        self.after: set[str] = set()
        """UIDs of pods whose nominations do not stand yet."""
        self.tries: dict[str, int] = {}
        """By UID: how often the deletion was sent."""

    def is_open(self, uid: str) -> bool:
        """Whether the pod's deletion may still be called off, or decided anew."""
        return uid not in self.tries and isinstance(self.decision, Evict)


class _Pod:
    """What should stand on one pod.  Kept until it does; of pods that are bound or gone nothing is kept."""

    __slots__ = ("deletion", "holds_up", "node", "nominated", "ref", "said", "since")

    def __init__(self, ref: PodRef) -> None:
        self.ref = ref
        self.said: PodCondition | None = None
        """Why it waits, as decided last, while that is not written; a bind goes before it."""
        self.node = ""
        """The nomination that was decided last."""
        self.nominated = False
        """The API says, or may come to say, that the pod is nominated; then whatever is said must be written: a
        nomination, since the next leader has it from there only; its end, or room is kept for nobody."""
        self.since: float | None = None
        """Since when it has no place, while the API does not say that; whatever is written first says it."""
        self.deletion: _Deletion | None = None
        """It is to go, and is not gone."""
        self.holds_up: list[_Deletion] = []
        """Deletions of others that wait for its nomination."""

    def waits(self, said: PodCondition, node: str, since: float | None) -> None:
        """It is to say this."""
        self.said, self.node = said, node
        self.nominated = self.nominated or bool(node)
        if self.since is None:
            self.since = since

    def written(self, said: PodCondition, node: str, since: float | None) -> None:
        """It says this now; something newer may have been decided meanwhile."""
        if self.said is said:
            self.said = None
        if self.since == since:
            self.since = None
        if not node and not self.node:
            self.nominated = False

    def bound(self) -> None:
        """It has a place, or never will: nothing is to be said of that any more."""
        self.said, self.node, self.nominated, self.since = None, "", False, None
        self.holds_up.clear()

    @property
    def idle(self) -> bool:
        words = self.said is not None or self.nominated or self.since is not None
        return not words and self.deletion is None and not self.holds_up


class _Group:
    """What should stand on one group, and does not yet."""

    __slots__ = ("holds_up", "says")

    def __init__(self) -> None:
        self.says: dict[Aspect, tuple[GangCondition, float]] = {}
        """Of each aspect, and since when."""
        self.holds_up: list[Bind] = []
        """Binds that wait for one of these to be written.  They take no place in the outbox: a server that does not
        answer for one group would keep everybody else's binds from being sent."""


class Writer:
    """Brings what was decided to the API.  Everything that is sent goes through the outbox.

    `answer` takes what the engine is to be told: what became of binds, and who was spared.  `clock` gives seconds since
    the epoch and never goes back.
    """

    def __init__(
        self,
        client: Client,
        *,
        outbox: Outbox,
        informers: Informers,
        answer: Sink,
        clock: Callable[[], float],
        reporter: str,
        instance: str,
        measure: BindMeasure | None = None,
        attendance: Attendance | None = None,
    ) -> None:
        self._client = client
        self._outbox = outbox
        self._informers = informers
        self._answer = answer
        self._clock = clock
        self._reporter = reporter
        self._instance = instance
        self._measure = measure
        self._attendance = attendance
        self._pods: dict[str, _Pod] = {}
        """By UID."""
        self._groups: dict[str, _Group] = {}
        """By gang."""
        self._overruled: dict[str, dict[Dialect, str]] = {}
        """By key: UIDs of groups that were told that they do not count."""
        self._status_within: set[Resource] = set()
        """Kinds whose status has no path of its own, as far as is known."""
        self._evicting: list[_Deletion] = []
        """Evictions of this turn: whether their nominations stand is known when all of it is decided."""
        self._hands: dict[type[Decision], Callable[[Any], None]] = {
            Bind: self._bind,
            Prepare: self._prepare,
            TakeBack: self._take_back,
            Release: self._delete,
            Evict: self._delete,
            CallOff: self._call_off,
            Lost: _note_loss,
            PodCondition: self._pods_wait,
            GangCondition: self._gang_says,
            MarkStarted: self._mark_started,
            Reread: self._reread,
            Event: self._tell_of,
        }
        if attendance is not None:
            self._hands[Consult], self._hands[Withdraw] = attendance.consult, attendance.withdraw
            self._hands[TellBound] = attendance.tell_bound

    def carry_out(self, decisions: Iterable[Decision], told: Iterable[Change]) -> None:
        """Takes over what was decided in one turn, after the engine was `told` this."""
        bound: set[str] = set()
        for decision in decisions:
            self._hands[type(decision)](decision)
            if isinstance(decision, Bind):
                bound.update(placement.uid for placement in decision.pods)
        evicting, self._evicting = self._evicting, []
        for deletion in evicting:
            self._hold_up(deletion)
        self._hear(told, bound)

    def _hear(self, told: Iterable[Change], bound: set[str]) -> None:
        """Heard after the decisions, which may say what becomes of those who are gone or were refused."""
        if not self._pods and not self._groups and not self._overruled:
            return
        for change in told:
            if isinstance(change, PodGone):
                self._pods.pop(change.uid, None)
            elif isinstance(change, GroupGone):
                self._group_gone(change.key)
                self._overruled.pop(change.key, None)
            elif isinstance(change, BindFailed) and change.uid not in bound:
                self._not_bound(change)

    def _group_gone(self, key: str) -> None:
        """What is to stand on an object that is gone is forgotten; one of its name may be there already."""
        group, found = self._groups.get(key), self._informers.groups.find(key)
        if group is None:
            return
        uids = () if found is None else ("", found[1].metadata.uid)
        for aspect in [aspect for aspect, (said, _) in group.says.items() if said.uid not in uids]:
            del group.says[aspect]
        self._let_go(group)
        if not group.says:
            del self._groups[key]

    def _not_bound(self, change: BindFailed) -> None:
        """What a bind took the place of is said if the pod is surely not bound."""
        pod = self._pods.get(change.uid)
        if pod is not None and change.failure is not Failure.TRANSIENT:
            self._say(pod)

    def _pod(self, ref: PodRef) -> _Pod:
        found = self._pods.get(ref.uid)
        if found is None:
            found = self._pods[ref.uid] = _Pod(ref)
        return found

    def _forget_if_idle(self, pod: _Pod) -> None:
        if pod.idle and self._pods.get(pod.ref.uid) is pod:
            del self._pods[pod.ref.uid]

    # --- binds ---

    def _bind(self, decision: Bind) -> None:
        group = self._groups.get(decision.unit)
        if group is None or decision.after not in group.says:
            self._send_binds(decision)
            return
        group.holds_up.append(decision)
        send = partial(self._send_group, decision.unit, group)
        self._outbox.put(Errand(Urgency.BIND, send, subject=f"group {decision.unit}", lasting=True))

    def _send_binds(self, decision: Bind) -> None:
        _log.info("binding", unit=decision.unit, pods=len(decision.pods))
        for placement in decision.pods:
            if self._attendance is not None and self._attendance.binds(placement):
                self._have_bound(placement, self._attendance)
            else:
                self._put_bind(placement, writes.bind)

    def _put_bind(self, placement: Placement, bind: _BindCall) -> None:
        # the subject makes it follow, or replace, what is still to be said of the pod while it waited
        send = partial(self._send_bind, placement, bind)
        self._outbox.put(Errand(Urgency.BIND, send, subject=f"pod {placement.uid}"))

    def _have_bound(self, placement: Placement, attendance: Attendance) -> None:
        """A plugin binds the pod; whether it did the pod tells."""

        def failed(why: str) -> None:
            # it may have been done: if so, trying again shows it
            self._answer_bind(placement, BindFailed(placement.uid, placement.node, Failure.TRANSIENT, why))

        attendance.bind(
            placement,
            writes.bind_annotations(placement, recorded=self._informers.groups.records(placement.uid)),
            done=lambda plugin: self._put_bind(placement, partial(writes.bound_by, plugin)),
            otherwise=lambda: self._put_bind(placement, writes.bind),
            failed=failed,
        )

    async def _send_bind(self, placement: Placement, bind: _BindCall) -> None:
        began = time.perf_counter()
        try:
            recorded = self._informers.groups.records(placement.uid)
            answer = await bind(self._client, placement, at=self._clock(), recorded=recorded)
        except KubeError:
            raise
        except Exception as error:
            # whatever it is, the engine waits for an answer
            _log.exception("a bug: a bind failed in an unforeseen way", pod=placement.pod)
            answer = BindFailed(placement.uid, placement.node, Failure.TRANSIENT, str(error))
        if self._measure is not None:
            self._measure.bound(answer, time.perf_counter() - began)
        self._answer_bind(placement, answer)

    def _answer_bind(self, placement: Placement, answer: Change) -> None:
        if not isinstance(answer, BindFailed):
            if (pod := self._pods.get(placement.uid)) is not None:
                pod.bound()
                self._forget_if_idle(pod)
        else:
            _log.warning(
                "a bind failed",
                pod=placement.pod,
                node=placement.node,
                failure=answer.failure.value,
                error=answer.message,
            )
        if isinstance(answer, PodSeen):
            # others have bound the pod: it is told as the watch tells it
            self._answer.put(self._informers.groups.pod_seen(answer.pod))
        else:
            self._answer.put([answer])

    def _let_go(self, group: _Group) -> None:
        """Sends the binds that waited for what the group says by now."""
        ready = [decision for decision in group.holds_up if decision.after not in group.says]
        group.holds_up = [decision for decision in group.holds_up if decision.after in group.says]
        for decision in ready:
            self._send_binds(decision)

    def _give_up_binds(self, group: _Group, error: Exception) -> None:
        """What the group must say first could not be written: the engine decides how often that is tried."""
        held, group.holds_up = group.holds_up, []
        why = f"its pod group must be written first: {error}"
        for decision in held:
            _log.warning("binds were not sent", unit=decision.unit, pods=len(decision.pods), error=why)
            self._answer.put([BindFailed(one.uid, one.node, Failure.TRANSIENT, why) for one in decision.pods])

    # --- what pods bring ---

    def _prepare(self, decision: Prepare) -> None:
        _log.info("preparing", unit=decision.unit, grants=len(decision.grants))
        for grant in decision.grants:
            send = partial(self._send_grant, grant)
            self._outbox.put(Errand(Urgency.BIND, send, subject=grant.subject, lasting=True))

    async def _send_grant(self, grant: Grant) -> None:
        try:
            await granting.write_grant(self._client, grant, at=self._clock())
        except granting.NotGrantedError as error:
            _log.warning("not granted", claim=grant.claim, error=str(error))
            self._answer.put([GrantFailed(grant, str(error))])

    def _take_back(self, decision: TakeBack) -> None:
        """What was not written yet never is: of one subject the newer errand replaces the older."""
        _log.info("taking back", unit=decision.unit, grants=len(decision.grants))
        for grant in decision.grants:
            send = partial(granting.take_back, self._client, grant)
            self._outbox.put(Errand(Urgency.RELEASE, send, subject=grant.subject, lasting=True))

    # --- why pods wait, and where room is kept for them ---

    def _pods_wait(self, decision: PodCondition) -> None:
        since = self._clock() if decision.transition else None
        nominated = decision.nominated or ("",) * len(decision.pods)
        for ref, node in zip(decision.pods, nominated, strict=True):
            pod = self._pod(ref)
            pod.waits(decision, node, since)
            self._say(pod)

    def _say(self, pod: _Pod) -> None:
        if pod.said is None:
            return
        urgency = Urgency.NOMINATION if pod.node else Urgency.POD
        send = partial(self._send_word, pod)
        self._outbox.put(Errand(urgency, send, subject=f"pod {pod.ref.uid}", lasting=pod.nominated))

    async def _send_word(self, pod: _Pod) -> None:
        said, node, since = pod.said, pod.node, pod.since
        if said is None or self._pods.get(pod.ref.uid) is not pod:
            return
        stands = await writes.write_pod_condition(
            self._client, pod.ref, reason=said.reason, message=said.message, nominated=node, since=since
        )
        pod.written(said, node, since)
        if stands and pod.said is None and node:
            held_up, pod.holds_up = pod.holds_up, []
            for deletion in held_up:
                deletion.after.discard(pod.ref.uid)
                self._go_if_ready(deletion)
        self._forget_if_idle(pod)

    # --- deletions ---

    def _delete(self, decision: Release | Evict) -> None:
        deletion = _Deletion(decision, self._clock())
        for ref in decision.pods:
            pod = self._pod(ref)
            if pod.deletion is None or pod.deletion.is_open(ref.uid):
                pod.deletion = deletion
        if isinstance(decision, Evict):
            self._evicting.append(deletion)
        else:
            self._go_if_ready(deletion)

    def _hold_up(self, deletion: _Deletion) -> None:
        """Lets an eviction go, or wait for the nominations that it names and that do not stand."""
        assert isinstance(deletion.decision, Evict)
        for uid in deletion.decision.after:
            pod = self._pods.get(uid)
            if pod is not None and pod.said is not None:
                deletion.after.add(uid)
                pod.holds_up.append(deletion)
        self._go_if_ready(deletion)

    def _go_if_ready(self, deletion: _Deletion) -> None:
        """A nomination that is never written, since its pod is bound or gone, lets nobody go: that is called off."""
        if deletion.after:
            return
        decision = deletion.decision
        refs = [ref for ref in decision.pods if self._goes_by(deletion, ref.uid)]
        if refs:
            what = "releasing" if isinstance(decision, Release) else "evicting"
            _log.warning(what, unit=decision.unit, pods=len(refs), why=decision.message)
        for ref in refs:
            send = partial(self._send_deletion, ref, deletion)
            self._outbox.put(Errand(Urgency.RELEASE, send, subject=f"delete {ref.uid}", lasting=True))

    def _goes_by(self, deletion: _Deletion, uid: str) -> bool:
        """Whether this is why the pod goes: it is not gone, and that was neither called off nor decided anew."""
        pod = self._pods.get(uid)
        return pod is not None and pod.deletion is deletion

    async def _send_deletion(self, ref: PodRef, deletion: _Deletion) -> None:
        if not self._goes_by(deletion, ref.uid):
            return
        decision, tries = deletion.decision, deletion.tries.get(ref.uid, 0)
        deletion.tries[ref.uid] = tries + 1
        if not tries and isinstance(decision, Evict) and decision.note:
            event = Event(reason="Preempted", note=decision.note, action="Preempting")
            self._tell(event, [writes.regarding(PODS, ref.pod, ref.uid)])
        await writes.delete_pod(
            self._client,
            ref,
            reason=decision.reason,
            message=decision.message,
            at=deletion.at,
            insist=tries < _INSISTENT_TRIES,
        )

    def _call_off(self, decision: CallOff) -> None:
        """The pods are spared, unless one of them is on its way out: then all go."""
        pods = [self._pods.get(ref.uid) for ref in decision.pods]
        waiting = [pod for pod in pods if pod is not None and pod.deletion and pod.deletion.is_open(pod.ref.uid)]
        if len(waiting) < len(pods):
            for pod in waiting:
                self._let_follow(pod)
            return
        _log.info("eviction called off", unit=decision.unit, pods=len(pods))
        for pod in waiting:
            pod.deletion = None
            self._forget_if_idle(pod)
        self._answer.put([Spared(tuple(ref.uid for ref in decision.pods))])

    def _let_follow(self, pod: _Pod) -> None:
        """The pod goes with others who have gone, even if the nomination that it waits for is never written."""
        deletion = pod.deletion
        if deletion is not None and deletion.after:
            pod.deletion = _Deletion(replace(deletion.decision, pods=(pod.ref,)), deletion.at)
            self._go_if_ready(pod.deletion)

    # --- groups ---

    def _gang_says(self, decision: GangCondition) -> None:
        said = decision.aspect if decision.holds else f"not {decision.aspect}"
        _log.info("gang", gang=decision.gang, said=said, reason=decision.reason, why=decision.message)
        group = self._groups.get(decision.gang)
        if group is None:
            group = self._groups[decision.gang] = _Group()
        group.says[decision.aspect] = decision, self._clock()
        # that a gang waits it says again and again; all else once
        lasting = any(said.holds or aspect is not Aspect.STARTED for aspect, (said, _) in group.says.items())
        send = partial(self._send_group, decision.gang, group)
        urgency = Urgency.BIND if group.holds_up else Urgency.GROUP
        self._outbox.put(Errand(urgency, send, subject=f"group {decision.gang}", lasting=lasting))

    async def _send_group(self, gang: str, group: _Group) -> None:
        """Writes all that the group does not say yet.

        First that it started: without that a leader that comes later would take a gang that lost members for one that
        never was whole, and undo it.
        """
        for aspect in sorted(group.says, key=lambda aspect: aspect is not Aspect.STARTED):
            if aspect not in group.says:
                # the group is gone
                continue
            decision, at = group.says[aspect]
            try:
                await self._write_if_declared(decision, at)
            except Exception as error:
                if not (isinstance(error, ApiError) and error.code == 429):
                    self._give_up_binds(group, error)
                raise
            if aspect in group.says and group.says[aspect][0] is decision:
                del group.says[aspect]
            self._let_go(group)
        if not group.says and self._groups.get(gang) is group:
            del self._groups[gang]

    async def _write_if_declared(self, decision: GangCondition, at: float) -> None:
        found = self._informers.groups.find(decision.gang)
        if found is None:
            return
        dialect, group = found
        resource = self._informers.resource(dialect)
        if resource is None or decision.uid not in ("", group.metadata.uid):
            return
        said = says(decision.aspect, holds=decision.holds, reason=decision.reason, message=decision.message)
        await writes.write_group_condition(self._client, resource, group, said, at=at, dialect=dialect)

    def _mark_started(self, decision: MarkStarted) -> None:
        for ref in decision.pods:
            send = partial(writes.mark_started, self._client, ref, decision.gang)
            self._outbox.put(Errand(Urgency.POD, send, subject=f"started {ref.uid}", lasting=True))

    def _reread(self, decision: Reread) -> None:
        """Members wait for the answer, as they do for binds."""
        send = partial(self._send_read, decision)
        self._outbox.put(Errand(Urgency.BIND, send, subject=f"read {decision.gang}", lasting=True))

    async def _send_read(self, decision: Reread) -> None:
        """Reads the groups of that name in all APIs that are served: one may have been made beside the other."""
        groups = self._informers.groups
        for dialect, reflector in self._informers.declaring.items():
            key = dialect.group_of(decision.gang)
            if reflector.resource is None or not key:
                continue
            try:
                before = groups.of(dialect, key)
                found = await writes.read_group(self._client, reflector.resource, key, dialect=dialect)
                groups.read(dialect, key, found, before=before)
            except ObjectError as error:
                # what was known of it stands, as for the watch
                _log.warning("a group cannot be read", group=decision.gang, error=str(error))
        self._informers.named_by_label.group_changed(decision.gang)
        self._answer.put([groups.answer(decision.gang, decision.number)])

    def tell_overruled(self, touched: Iterable[str]) -> None:
        """Groups that do not count, since others of their names ask for something else, say so, or those that have no
        conditions are told so by an event: once."""
        for key in sorted(touched):
            overruled = self._informers.groups.overruled(key)
            told = self._overruled.get(key, {})
            # replicas are declared by their Workload, which is told of once
            found = ((dialect, group) for dialect, group in overruled.items() if dialect.group_of(key) == key)
            uids = {dialect: group.metadata.uid for dialect, group in found}
            for dialect, uid in uids.items():
                if told.get(dialect) != uid:
                    send = partial(self._send_overruled, dialect, key, self._clock())
                    subject = f"overruled {dialect.name} {key}"
                    self._outbox.put(Errand(Urgency.GROUP, send, subject=subject, lasting=True))
            if uids:
                self._overruled[key] = uids
            else:
                self._overruled.pop(key, None)

    async def _send_overruled(self, dialect: Dialect, key: str, at: float) -> None:
        groups, resource = self._informers.groups, self._informers.resource(dialect)
        group, counts = groups.overruled(key).get(dialect), groups.find(key)
        there = None if counts is None else self._informers.resource(counts[0])
        if group is None or resource is None or there is None:
            return
        message = f"the {there.kind} of the same name in {there.group} counts"
        if not dialect.has_status:
            event = Event(reason=GROUP_ERROR, note=message, action="Scheduling", warning=True)
            self._tell(event, [writes.regarding(resource, dialect.object_of(key), group.metadata.uid)])
            return
        said = says(Aspect.STARTED, holds=False, reason=GROUP_ERROR, message=message)
        before = condition(group.status.conditions, said.type)
        # that a gang has started under this object is never taken back
        if before is None or (before.status != "True" and before.message != said.message):
            await writes.write_group_condition(self._client, resource, group, said, at=at, dialect=dialect)

    def write_finalizers(
        self, dialect: Dialect, group: PodGroup, finalizers: tuple[str, ...], *, keeps: Callable[[str], bool]
    ) -> None:
        """`keeps` is asked once more when the errand is sent: pods may have come or gone while it waited."""
        send = partial(self._send_finalizers, dialect, group, FINALIZER in finalizers, keeps)
        self._outbox.put(Errand(Urgency.GROUP, send, subject=f"finalizers {group.metadata.uid}", lasting=True))

    async def _send_finalizers(
        self, dialect: Dialect, group: PodGroup, protected: bool, keeps: Callable[[str], bool]
    ) -> None:
        """Written on the group as it is known now: a write that was refused for an old view of it is repeated."""
        resource = self._informers.resource(dialect)
        key = f"{group.metadata.namespace}/{group.metadata.name}"
        current = self._informers.groups.of(dialect, key)
        if resource is None or current is None or current.metadata.uid != group.metadata.uid:
            return
        finalizers = current.metadata.finalizers
        if keeps(key) is not protected or (FINALIZER in finalizers) is protected:
            return
        if protected and current.metadata.deletion_timestamp is not None:
            # the server lets nobody add one any more
            return
        others = tuple(name for name in finalizers if name != FINALIZER)
        await writes.write_finalizers(self._client, resource, current, (*others, FINALIZER) if protected else others)

    def write_status(self, dialect: Dialect, key: str, *, news: Callable[[], dict[str, Any]]) -> None:
        """`news` tells what is to be written when the errand is sent; {} for nothing any more."""
        send = partial(self._send_status, dialect, key, news)
        # a Volcano group that does not say that it was let in gets no pods: it is tried until it does
        subject = f"status {dialect.name} {key}"
        self._outbox.put(Errand(Urgency.POD, send, subject=subject, lasting=True))

    async def _send_status(self, dialect: Dialect, key: str, news: Callable[[], dict[str, Any]]) -> None:
        resource, found = self._informers.resource(dialect), self._informers.groups.counting(key).get(dialect)
        if resource is None or found is None or not (fields := news()):
            return
        within = resource in self._status_within
        try:
            if await writes.write_status(self._client, resource, found.metadata, fields, apart=not within):
                return
            # the object is gone, or its definition is not as it was taken to be
            if await writes.write_status(self._client, resource, found.metadata, fields, apart=within):
                self._status_within ^= {resource}
        except ApiError as error:
            if error.code not in (400, 422):
                raise
            # it would be refused for ever; when anything changes it is tried again
            _log.warning("a status is refused", group=key, kind=resource.name, error=error.message)

    def write_made(self, key: str, *, todo: Callable[[str], Todo | None]) -> None:
        """Makes a group for an owner, or keeps it in step; `todo` is asked once more when the errand is sent."""
        self._outbox.put(Errand(Urgency.GROUP, partial(self._send_made, key, todo), subject=f"made {key}"))

    async def _send_made(self, key: str, todo: Callable[[str], Todo | None]) -> None:
        match todo(key):
            case WantedGroup() as wanted:
                resource = self._informers.resource(NATIVE) or self._informers.resource(CUSTOM)
                if resource is None:
                    _log.warning("no PodGroups are served here: none can be made", group=key)
                    return
                owner = f"{wanted.owner.kind} {wanted.owner.name}"
                _log.info("making a group", group=key, owner=owner, minimum=wanted.minimum)
                await writes.make_group(self._client, resource, wanted)
            case (PodGroup() as group, WantedGroup() as wanted):
                dialect, _ = self._informers.groups.find(key) or (NATIVE, group)
                resource = self._informers.resource(dialect)
                if resource is not None:
                    _log.info("changing a group", group=key, minimum=wanted.minimum)
                    await writes.write_wanted(self._client, resource, group, wanted)

    # --- events ---

    def _tell(self, event: Event, regarding: Iterable[Regarding]) -> None:
        at = self._clock()
        for about in regarding:
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

    def _tell_of(self, event: Event) -> None:
        self._tell(event, self._regarding(event))
        self._tell_gang(event)

    def _regarding(self, event: Event) -> Iterable[Regarding]:
        yield from (writes.regarding(PODS, pod.pod, pod.uid) for pod in event.pods)
        if event.node:
            yield writes.regarding(NODES, event.node, event.node)

    def _tell_gang(self, event: Event) -> None:
        """The event on the object that declares its gang; where that declares several, the note begins with which."""
        found = self._informers.groups.find(event.gang) if event.gang else None
        resource = None if found is None else self._informers.resource(found[0])
        if found is None or resource is None:
            return
        dialect, group = found
        declares = dialect.object_of(event.gang)
        if part := event.gang.removeprefix(declares).removeprefix("/"):
            event = replace(event, note=f"{part}: {event.note}")
        self._tell(event, [writes.regarding(resource, declares, group.metadata.uid)])


def _note_loss(decision: Lost) -> None:
    why = decision.why.value
    _log.warning("evicted in vain", unit=decision.unit, reason=why, why=decision.message)
