"""What people are told: conditions and events, each written only when it says something new."""

from __future__ import annotations

from collections.abc import Iterable

from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState
from muster.engine.changes import Change, GroupSeen, NodeSeen, PodSeen
from muster.engine.cycle import Trial
from muster.engine.decisions import Decision, Event, GangCondition, PodCondition, PodRef
from muster.engine.verdicts import Verdict, fit_error, members_held, members_missing, summary

UNSCHEDULABLE = "Unschedulable"
SCHEDULED = "Scheduled"
GATED = "SchedulingGated"
TIMEOUT = "Timeout"


class Status:
    """Puts conditions and events among the decisions."""

    def __init__(self, decisions: list[Decision]) -> None:
        self._decisions = decisions

    # --- pods ---

    def bound(self, pod: PodState, node: str) -> None:
        note = f"Successfully assigned {pod.key} to {node}"
        self._decisions.append(Event(reason="Scheduled", note=note, action="Binding", pods=(PodRef(pod.uid, pod.key),)))

    def bind_refused(self, pod: PodState, node: str) -> None:
        self._warn(f"binding to {node} was refused: {pod.bind_error}", action="Binding", pods=[pod])

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

    def pods_wait(self, pods: Iterable[PodState], message: str) -> None:
        said = (UNSCHEDULABLE, message)
        news = [pod for pod in pods if pod.said != said]
        if not news:
            return
        for transition in (True, False):
            refs = tuple(PodRef(pod.uid, pod.key) for pod in news if (pod.said is None) is transition)
            if refs:
                self._decisions.append(PodCondition(refs, UNSCHEDULABLE, message, transition))
        for pod in news:
            pod.said = said
        self._decisions.append(_warning(message, pods=tuple(PodRef(pod.uid, pod.key) for pod in news)))

    def _warn(self, note: str, *, action: str, pods: Iterable[PodState]) -> None:
        refs = tuple(PodRef(pod.uid, pod.key) for pod in pods)
        self._decisions.append(_warning(note, action=action, pods=refs))

    # --- gangs ---

    def gang_says(self, gang: GangState, reason: str, message: str, *, started: bool = False) -> None:
        """Once started, a gang never goes back to not started."""
        if gang.declared is None or gang.said == (started, reason, message):
            return
        if gang.said is not None and gang.said[0] and not started:
            return
        gang.said = (started, reason, message)
        self._decisions.append(GangCondition(gang.key, started, reason, message))
        if not started:
            self._decisions.append(_warning(message, gang=gang.key))

    # --- refusals ---

    def pod_refused(self, pod: PodState, verdict: Verdict) -> None:
        self.pods_wait([pod], fit_error(verdict.nodes, verdict.needs[0].refusals))

    def gang_refused(self, gang: GangState, trial: Trial, verdict: Verdict) -> None:
        """The group says the summary; members that fit say that the group does not, others upstream's text."""
        message = summary(verdict)
        self.gang_says(gang, UNSCHEDULABLE, message)
        refusals = {
            pod_class: fit_error(verdict.nodes, need.refusals)
            for pod_class, need in zip(trial.wants(), verdict.needs, strict=True)
        }
        for batch in trial.batches:
            self.pods_wait(batch.placed, f"pod group is unschedulable, {message}")
            self.pods_wait(batch.unplaced, refusals[batch.pod_class])

    def joined_waiting(self, gang: GangState, pods: list[PodState]) -> None:
        """Pods that joined a gang that waits."""
        if gang.said is not None:
            self.pods_wait(pods, f"pod group is unschedulable, {gang.said[2]}")

    def gang_held(self, gang: GangState, why: str | None) -> None:
        """Why a gang is not even tried; `why` is what its rule says."""
        if gang.declared is None:
            self._undeclared(gang, why or "")
        elif gang.missing:
            # that it was undone says more than that its pods are not back yet
            if gang.said is None or gang.said[1] != TIMEOUT:
                self.gang_says(gang, UNSCHEDULABLE, members_missing(gang.present, gang.missing, gang.strangers))
        elif gang.gated:
            first = min((pod for pod in gang.candidates.values() if pod.held), key=lambda pod: pod.key)
            self.gang_says(gang, GATED, members_held(gang.gated, gang.present, first.held or ""))
        elif why is not None:
            self.gang_says(gang, UNSCHEDULABLE, why)

    def _undeclared(self, gang: GangState, why: str) -> None:
        """No object to write on, and no node could help: an event on the pods says it, once."""
        if gang.said != (False, "", why):
            gang.said = (False, "", why)
            pods = sorted(gang.candidates.values(), key=lambda pod: pod.key)
            self._warn(why, action="Scheduling", pods=pods)


def _warning(
    note: str, *, action: str = "Scheduling", pods: tuple[PodRef, ...] = (), gang: str = "", node: str = ""
) -> Event:
    return Event(reason="FailedScheduling", note=note, action=action, warning=True, pods=pods, gang=gang, node=node)
