"""What people are told: conditions and events, each written only when it says something new."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from msgspec.structs import replace

from muster.api.asks import Ask
from muster.cluster.gangs import UNREAD, GangState
from muster.cluster.pods import BINDING, PENDING, PodState
from muster.engine.changes import Change, GroupSeen, NodeSeen, PodSeen
from muster.engine.cycle import Trial
from muster.engine.decisions import Decision, Event, GangCondition, PodCondition, PodRef
from muster.engine.reasons import (
    FELL,
    GATED,
    GROUP_ERROR,
    MEMBERS_LOST,
    MEMBERS_REFUSED,
    NOT_READY,
    NOTHING_RUNS,
    PREEMPTED,
    SCHEDULED,
    SCHEDULER_ERROR,
    TIMEOUT,
    UNSCHEDULABLE,
    UNSUPPORTED,
)
from muster.engine.unit import GangUnit, Unit
from muster.engine.verdicts import (
    MEMBERS_ARE_PREPARED,
    MEMBERS_GATED,
    MEMBERS_MISSING,
    NOT_STARTED,
    RESERVED,
    UNDOING,
    UNPROVEN,
    Outcome,
    Refusal,
    Verdict,
    fit_error,
    left_bound,
    left_of,
    members_gated,
    members_missing,
    passed_over,
    summary,
    unsupported,
)
from muster.gangs.model import PREPARING, Aspect

_NOT_BOUND_YET = "is not bound yet"


class Status:
    """Puts conditions and events among the decisions."""

    def __init__(self, decisions: list[Decision]) -> None:
        self._decisions = decisions

    # --- pods ---

    def bound(self, pod: PodState, node: str) -> None:
        note = f"Successfully assigned {pod.key} to {node}"
        self._decisions.append(Event(reason="Scheduled", note=note, action="Binding", pods=(PodRef(pod.uid, pod.key),)))

    def asks_passed_over(self, pod: PodState, asks: tuple[Ask, ...]) -> None:
        """The pod is bound and had preferences that nobody looked at.  A pod is bound once: so often it is told."""
        refs = (PodRef(pod.uid, pod.key),)
        self._decisions.append(Event(reason=UNSUPPORTED, note=passed_over(asks), action="Binding", pods=refs))

    def remark(self, pod: PodState) -> None:
        """The pod is bound alone, and may have been meant as a member."""
        refs = (PodRef(pod.uid, pod.key),)
        self._decisions.append(Event(reason=GROUP_ERROR, note=pod.remark, action="Binding", warning=True, pods=refs))

    def pods_gated(self, pods: Iterable[PodState]) -> None:
        """Pods that are held say why, unless the API server has said it."""
        alike: dict[tuple[str, str], dict[str, PodState]] = {}
        for pod in pods:
            if pod.gated_as and pod.gated_by is not None:
                alike.setdefault((pod.gated_as, pod.gated_by), {})[pod.uid] = pod
        for (reason, message), held in alike.items():
            self.pods_wait(held.values(), message, reason=reason)

    def binds_rejected(self, gang: GangState | None, refused: list[tuple[PodState, str]], *, waits: bool) -> None:
        """Pods that may not be where they were to go, or for which nobody answered; a unit that `waits` before it tries
        again says so.

        A group says it of one member, whichever was the first.
        """
        for pod, node in refused:
            what = "was given up" if pod.setbacks.unanswered_by == node else "was refused"
            message = f"binding to {node} {what}: {pod.setbacks.error}"
            if waits:
                self.pods_wait([pod], message, reason=SCHEDULER_ERROR)
            else:
                self._warn(message, action="Binding", pods=[pod])
        if waits:
            self._not_bound_yet(gang, min((pod for pod, _ in refused), key=lambda pod: pod.key))

    def bind_unanswered(self, gang: GangState | None, pod: PodState, node: str) -> None:
        """A bind is repeated again and again.  The pod has no word on it: any of them may have succeeded."""
        self._warn(f"binding to {node} is tried again: {pod.setbacks.error}", action="Binding", pods=[pod])
        self._not_bound_yet(gang, pod)

    def _not_bound_yet(self, gang: GangState | None, pod: PodState) -> None:
        """The group speaks of one member for as long as that one is not bound."""
        if gang is None or gang.started:
            return
        of = gang.spoken_of
        if not _tells_of_an_error(gang) or (of is not None and not _is_unbound(gang, of)):
            self.gang_says(gang, SCHEDULER_ERROR, f"{pod.key} {_NOT_BOUND_YET}: {pod.setbacks.error}")
            gang.spoken_of = pod

    def other_not_bound_yet(self, gang: GangState) -> None:
        """The member is bound, or gone, of which the group says that it is not bound: it speaks of another."""
        if gang.spoken_of is None or _is_unbound(gang, gang.spoken_of):
            return
        unbound = [pod for pod in gang.members.values() if pod.setbacks.error and _is_unbound(gang, pod)]
        if unbound and _tells_of_an_error(gang):
            self._not_bound_yet(gang, min(unbound, key=lambda pod: pod.key))
        else:
            gang.spoken_of = None

    def unreadable(self, changes: Iterable[tuple[Change, str]]) -> None:
        """Objects that cannot be read; what was known of them before stands."""
        for change, why in changes:
            if isinstance(change, PodSeen):
                meta = change.pod.metadata
                ref = PodRef(meta.uid, f"{meta.namespace}/{meta.name}")
                self._decisions.append(_warning(why, pods=(ref,)))
            elif isinstance(change, GroupSeen):
                meta = change.group.metadata
                self._decisions.append(_warning(why, gang=f"{meta.namespace}/{meta.name}"))
            elif isinstance(change, NodeSeen):
                self._decisions.append(_warning(why, node=change.node.metadata.name))

    def overruled(self, pods: Iterable[PodState]) -> None:
        """Pods that name two gangs, both of which somebody asked for: whoever wrote that is told which counts."""
        for pod in pods:
            refs = (PodRef(pod.uid, pod.key),)
            self._decisions.append(
                Event(reason=GROUP_ERROR, note=_overruled(pod), action="Scheduling", warning=True, pods=refs)
            )

    def pods_wait(self, pods: Iterable[PodState], message: str, *, reason: str = UNSCHEDULABLE) -> None:
        """The pods say why they wait, and where room is reserved for them; those that name two gangs, which counts."""
        alike: defaultdict[str, list[PodState]] = defaultdict(list)
        for pod in pods:
            alike[f" ({_overruled(pod)})" if pod.overruled else ""].append(pod)
        for overruled, some in alike.items():
            self._pods_wait(some, message + overruled, reason=reason)

    def _pods_wait(self, pods: Iterable[PodState], message: str, *, reason: str) -> None:
        said = (reason, message)
        news = [pod for pod in pods if pod.said != said or pod.nominated != pod.reserved]
        if not news:
            return
        for transition in (True, False):
            chosen = [pod for pod in news if (pod.said is None) is transition]
            if chosen:
                refs = tuple(PodRef(pod.uid, pod.key) for pod in chosen)
                nominated = tuple(pod.reserved for pod in chosen) if any(pod.reserved for pod in chosen) else ()
                self._decisions.append(PodCondition(refs, reason, message, transition, nominated))
        refs = tuple(PodRef(pod.uid, pod.key) for pod in news if pod.said != said)
        if refs:
            self._decisions.append(_warning(message, pods=refs))
        for pod in news:
            pod.said, pod.nominated, pod.preparing_since = said, pod.reserved, None

    def unnominate(self, pods: Iterable[PodState]) -> None:
        """Nothing is reserved for the pods any more; else they say what they said."""
        for pod in pods:
            if pod.nominated and pod.said is not None:
                pod.nominated = ""
                self._decisions.append(PodCondition((PodRef(pod.uid, pod.key),), *pod.said, transition=False))

    def _warn(self, note: str, *, action: str, pods: Iterable[PodState]) -> None:
        refs = tuple(PodRef(pod.uid, pod.key) for pod in pods)
        self._decisions.append(_warning(note, action=action, pods=refs))

    # --- what they bring is made ready ---

    def preparing_since(self, unit: Unit, now: float) -> float:
        """Since when what the unit's pods bring is made ready, perhaps by a scheduler before us."""
        if isinstance(unit, GangUnit):
            since = None if unit.gang.declared is None else unit.gang.declared.preparing_since
        else:
            since = next((pod.preparing_since for pod in unit.candidates), None)
        return now if since is None else since

    def prepares(self, gang: GangState | None, pods: list[PodState], message: str) -> None:
        """How far that is: of a gang the group says it.  A member that said otherwise before, or whose group cannot say
        it, says once that it has a place; any other is spared the write.
        """
        if gang is not None:
            self.gang_says(gang, PREPARING, message)
            message = MEMBERS_ARE_PREPARED
            if _tells_why_it_waits(gang):
                pods = [pod for pod in pods if pod.said is not None]
        for begins in (True, False):
            news = [pod for pod in pods if pod.said != (PREPARING, message) and _begins(pod) is begins]
            if news:
                refs = tuple(PodRef(pod.uid, pod.key) for pod in news)
                self._decisions.append(PodCondition(refs, PREPARING, message, transition=begins))
            for pod in news:
                pod.said = (PREPARING, message)

    def preparing_failed(self, pod: PodState, message: str) -> None:
        self._warn(message, action="Binding", pods=[pod])

    # --- gangs ---

    def gang_remark(self, gang: GangState) -> None:
        """Members that wait are told what is odd about how they declare their gang, when that is new: not each that
        comes later."""
        remark = "" if gang.declared is None else gang.declared.remark
        if gang.remarked == remark or not gang.candidates:
            return
        gang.remarked = remark
        if remark:
            waiting = sorted(gang.candidates.values(), key=lambda pod: pod.key)
            refs = tuple(PodRef(pod.uid, pod.key) for pod in waiting)
            self._decisions.append(Event(reason=GROUP_ERROR, note=remark, action="Scheduling", warning=True, pods=refs))

    def gang_says(self, gang: GangState, reason: str, message: str, *, started: bool = False) -> None:
        """Once started, a gang never goes back: what it waits for then is why it is below its minimum."""
        if gang.declared is None or gang.said == (started, reason, message):
            return
        if gang.once_started and not started:
            if gang.fallen:
                self.gang_is_below(gang, reason, message)
            return
        gang.said = (started, reason, message)
        self._write(gang, GangCondition(gang.key, started, reason, message))
        if not started:
            self._decisions.append(_warning(message, gang=gang.key))

    def gang_is_below(self, gang: GangState, reason: str, message: str) -> None:
        """It has started, and is below its minimum."""
        if gang.refused:
            # whatever it waits for next: else the next scheduler would think that what is left of it ran whole
            reason = MEMBERS_REFUSED
        if gang.below_said != (True, reason, message):
            gang.below_said = (True, reason, message)
            self._write(gang, GangCondition(gang.key, True, reason, message, Aspect.BELOW_MINIMUM))
            self._decisions.append(_warning(message, gang=gang.key))

    def gang_starts_again(self, gang: GangState) -> None:
        """It has fallen, and is bound anew, as soon as its object says so: should we be gone before it is whole, only
        that tells that it must be.
        """
        assert gang.declared is not None
        if gang.below_said is None or not gang.below_said[0] or gang.below_said[1] == MEMBERS_LOST:
            reason = PREEMPTED if gang.lost_to else NOTHING_RUNS
            self.gang_is_below(gang, reason, left_of(gang.bound, gang.declared.minimum, gang.lost_to))

    def gang_is_whole(self, gang: GangState) -> None:
        """It has its minimum again; nothing to say if it never said otherwise."""
        if gang.below_said is not None and gang.below_said[0]:
            gang.below_said = (False, SCHEDULED, "")
            self._write(gang, GangCondition(gang.key, False, SCHEDULED, "", Aspect.BELOW_MINIMUM))

    def gang_runs_again(self, gang: GangState) -> None:
        """It was evicted whole, and has its minimum; nothing to say if it never said so."""
        if gang.evicted_said is not None and gang.evicted_said[0]:
            gang.evicted_said = (False, SCHEDULED, "")
            self._write(gang, GangCondition(gang.key, False, SCHEDULED, "", Aspect.EVICTED))

    def _write(self, gang: GangState, condition: GangCondition) -> None:
        if gang.declared is not None and gang.declared.has_status:
            self._decisions.append(replace(condition, uid=gang.declared.uid))

    # --- refusals ---

    def sets_out(self, unit: Unit) -> None:
        """Members of the unit are being bound."""
        if isinstance(unit, GangUnit) and unit.gang.fallen:
            self.gang_starts_again(unit.gang)

    def refused(self, unit: Unit, trial: Trial, verdict: Verdict) -> None:
        if isinstance(unit, GangUnit):
            self._gang_refused(unit.gang, trial, verdict)
            return
        refusals = verdict.needs[0].refusals
        if not refusals and any(pod.reserved for pod in unit.candidates):
            # no node refuses it any more: those in its way gave their binds up at once, and others go with them
            refusals = (Refusal(nodes=1, reason=RESERVED),)
        self.pods_wait(unit.candidates, fit_error(verdict.nodes, refusals))

    def _gang_refused(self, gang: GangState, trial: Trial, verdict: Verdict) -> None:
        """The group says the summary; members that fit say that the group does not, others upstream's text."""
        message = summary(verdict)
        if not gang.on_its_way:
            self.gang_says(gang, UNSCHEDULABLE, message)
        refusals = {
            pod_class: fit_error(verdict.nodes, need.refusals)
            for pod_class, need in zip(trial.wants(), verdict.needs, strict=True)
        }
        unproven = UNPROVEN if verdict.outcome is Outcome.NOT_FOUND else ""
        reason = gang.declared.fitting_reason if gang.declared else UNSCHEDULABLE
        for batch in trial.batches:
            # room is reserved for those that must have it: beside them others may fit that need not
            fitting = batch.placed + [pod for pod in batch.unplaced if pod.reserved]
            others = [pod for pod in batch.unplaced if not pod.reserved]
            self.pods_wait(fitting, f"pod group is unschedulable, {message}", reason=reason)
            self.pods_wait(others, refusals[batch.pod_class] + unproven)

    def failed(
        self,
        gang: GangState | None,
        candidates: Iterable[PodState],
        message: str,
        reason: str = SCHEDULER_ERROR,
    ) -> None:
        """The scheduler itself, or a plugin, failed with a unit, or did not let it have its place."""
        if gang is not None:
            self.gang_says(gang, reason, message)
        # those that are gated were not tried, and say why
        tried = (pod for pod in candidates if pod.gated_by is None)
        self.pods_wait(sorted(tried, key=lambda pod: pod.key), message, reason=reason)

    def joined_waiting(self, gang: GangState, pods: list[PodState]) -> None:
        """Pods that joined a gang that waits."""
        said = gang.below_said if gang.fallen else gang.said
        if said is not None:
            self.pods_wait(pods, f"pod group is unschedulable, {said[2]}")

    def joined_in_backoff(self, pods: list[PodState], error: str) -> None:
        """Pods that joined a gang that is tried again only when its backoff is over."""
        why = f"a bind failed ({error}) and " if error else ""
        pods = [pod for pod in pods if pod.gated_by is None]
        self.pods_wait(pods, f"waiting for its pod group: {why}it is tried again later", reason=NOT_READY)

    def members_unread(self, gang: GangState) -> None:
        """Members wait for their group to be read again, and that takes long: the server may refuse it."""
        unread = sorted((pod for pod in gang.candidates.values() if pod.gated_by == UNREAD), key=lambda pod: pod.key)
        self.pods_wait(unread, "waiting for its pod group: it is being read again", reason=NOT_READY)

    def gang_assembles(self, gang: GangState, why: str | None, unhonoured: tuple[Ask, ...] = ()) -> None:
        """Why a gang is not even tried; `why` is what its rule says, `unhonoured` what its object asks for in vain."""
        if gang.declared is None:
            self._undeclared(gang)
        elif unhonoured:
            asked = unsupported(unhonoured)
            self.gang_says(gang, UNSUPPORTED, asked)
            self._not_ready(gang, asked)
        elif gang.at_odds is not None and why is not None:
            # more members, or fewer gates, would not help
            self.gang_says(gang, GROUP_ERROR, why)
            self._not_ready(gang, why)
        elif gang.missing:
            missing = members_missing(gang.declared.minimum, gang.lacking, gang.strangers)
            # that it was undone says more than that its pods are not back yet; a group without a status may be another
            # scheduler's, or one of which there are replicas only, as long as nobody names it
            if not _tells_of_its_undoing(gang) and (gang.members or gang.declared.has_status):
                self.gang_says(gang, GROUP_ERROR if gang.strangers else UNSCHEDULABLE, missing)
            self._not_ready(gang, MEMBERS_MISSING)
        elif gang.gated:
            first = min((pod for pod in gang.candidates.values() if pod.gated_by), key=lambda pod: pod.key)
            why = _why_gated(first)
            self.gang_says(gang, first.gated_as or GATED, members_gated(gang.gated, gang.present, why))
            self._not_ready(gang, f"{MEMBERS_GATED} ({why})")
        elif why is not None:
            self.gang_says(gang, UNSCHEDULABLE, why)
            self._not_ready(gang, why)

    def _not_ready(self, gang: GangState, why: str) -> None:
        """No node would help, and the pods say so; `why` has no counts, which every arrival would change."""
        # those that are held themselves say why
        pods = sorted((pod for pod in gang.candidates.values() if pod.gated_by is None), key=lambda pod: pod.key)
        self.pods_wait(pods, f"waiting for its pod group: {why}", reason=NOT_READY)

    def _undeclared(self, gang: GangState) -> None:
        """There is no object to write on: the pods say it, and those left bound below their minimum are told."""
        why = f"{_name(gang.key)} does not exist"
        self._not_ready(gang, why)
        if gang.said != (False, "", why):
            gang.said = (False, "", why)
            if left := gang.left_in_part():
                left.sort(key=lambda pod: pod.key)
                self._warn(left_bound(why, len(left)), action="Binding", pods=left)


def _tells_of_an_error(gang: GangState) -> bool:
    said = gang.below_said if gang.fallen else gang.said
    # one that kubelets refused gives no other reason
    return said is not None and (said[1] == SCHEDULER_ERROR or (gang.refused and _NOT_BOUND_YET in said[2]))


def _tells_of_its_undoing(gang: GangState) -> bool:
    said = gang.below_said if gang.fallen else gang.said
    if said is None:
        return False
    _, reason, message = said
    # one that kubelets refused gives no other reason, and one that stepped back held nothing
    undone = reason in _UNDONE and NOT_STARTED not in message
    return undone or (reason == MEMBERS_REFUSED and any(word in message for word in UNDOING))


def _is_unbound(gang: GangState, pod: PodState) -> bool:
    return gang.members.get(pod.uid) is pod and (pod.stage is PENDING or pod.stage is BINDING) and not pod.leaving


def _why_gated(pod: PodState) -> str:
    """Gates are all alike; what a pod asks for is its own."""
    return f"{_name(pod.key)}: {pod.gated_by}" if pod.gated_as else pod.gated_by or ""


def _overruled(pod: PodState) -> str:
    return f"the pod is a member of {_name(pod.gang or '')}, not of {_name(pod.overruled)}, which it names too"


def _name(key: str) -> str:
    return key.partition("/")[2]


_UNDONE = (TIMEOUT, SCHEDULER_ERROR, PREEMPTED, FELL)


def _tells_why_it_waits(gang: GangState) -> bool:
    """Whether the group has a condition that says so: not one that has its minimum and waits for more."""
    has_status = gang.declared is not None and gang.declared.has_status
    return has_status and (gang.fallen or not gang.once_started)


def _begins(pod: PodState) -> bool:
    """Whether what the pod brings was not made ready before."""
    return pod.said is None or pod.said[0] != PREPARING


def _warning(
    note: str, *, action: str = "Scheduling", pods: tuple[PodRef, ...] = (), gang: str = "", node: str = ""
) -> Event:
    return Event(reason="FailedScheduling", note=note, action=action, warning=True, pods=pods, gang=gang, node=node)
