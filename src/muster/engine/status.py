"""What people are told: conditions and events, each written only when it says something new."""

from __future__ import annotations

from collections.abc import Iterable

from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState
from muster.engine.cycle import Trial
from muster.engine.decisions import Decision, Event, GangCondition, PodCondition, PodRef
from muster.engine.verdicts import Verdict, fit_error, members_gated, members_missing, summary

UNSCHEDULABLE = "Unschedulable"
SCHEDULED = "Scheduled"
GATED = "SchedulingGated"
TIMEOUT = "Timeout"


class Status:
    """Puts conditions and events among the decisions."""

    def __init__(self, decisions: list[Decision]) -> None:
        self._decisions = decisions

    # --- pods ---

    def bound(self, pod: PodState) -> None:
        note = f"Successfully assigned {pod.key} to {pod.node}"
        self._decisions.append(Event(reason="Scheduled", note=note, action="Binding", pods=(PodRef(pod.uid, pod.key),)))

    def pods_wait(self, pods: Iterable[PodState], message: str) -> None:
        said = (UNSCHEDULABLE, message)
        news = [pod for pod in pods if pod.said != said]
        if not news:
            return
        for pod in news:
            pod.said = said
        refs = tuple(PodRef(pod.uid, pod.key) for pod in news)
        self._decisions.append(PodCondition(refs, UNSCHEDULABLE, message))
        self._decisions.append(
            Event(reason="FailedScheduling", note=message, action="Scheduling", warning=True, pods=refs)
        )

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
            self._decisions.append(
                Event(reason="FailedScheduling", note=message, action="Scheduling", warning=True, gang=gang.key)
            )

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

    def gang_held(self, gang: GangState) -> None:
        """Why a gang is not even tried."""
        declared = gang.declared
        if declared is None:
            return
        if gang.missing:
            self.gang_says(gang, UNSCHEDULABLE, members_missing(gang.present, gang.missing, gang.strangers))
        elif gang.gated:
            self.gang_says(gang, GATED, members_gated(gang.gated, gang.present))
