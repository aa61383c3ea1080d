"""From the decision to bind to the last acknowledgement: retry, re-place, or release the gang.

A gang that is bound below its minimum and has not started is either completed or, when its time is over,
undone: its bound members are released.
"""

from __future__ import annotations

from muster.base.backoff import backoff_seconds
from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.nodes import NodeTable
from muster.cluster.pods import PodState, Stage
from muster.engine.changes import BindFailed, Failure
from muster.engine.decisions import Bind, Decision, Placement, PodRef, Release
from muster.engine.intake import Intake
from muster.engine.queue import Timers
from muster.engine.status import SCHEDULED, TIMEOUT, Status
from muster.engine.verdicts import timed_out

RETRY = "retry bind"
DEADLINE = "gang deadline"

_RETRIES = 10
_FIRST_RETRY_SECONDS = 0.1
_LAST_RETRY_SECONDS = 5.0


class Binding:
    """Handles what became of binds."""

    def __init__(self, intake: Intake, *, timers: Timers, status: Status, decisions: list[Decision]) -> None:
        self._intake = intake
        self._timers = timers
        self._status = status
        self._decisions = decisions
        self._deadlines: dict[str, float] = {}

    def failed(self, pod: PodState, change: BindFailed, now: float) -> bool:
        """Handles a failed bind; returns whether the pod needs another place."""
        if pod.stage is not Stage.BINDING or pod.node != change.node:
            return False
        pod.bind_failures += 1
        pod.bind_error = change.message or str(change.failure)
        if change.failure is Failure.POD_GONE:
            self._intake.move(pod, Stage.PENDING, leaving=True)
            return False
        if change.failure is Failure.TRANSIENT and pod.bind_failures <= _RETRIES:
            delay = backoff_seconds(pod.bind_failures, initial=_FIRST_RETRY_SECONDS, maximum=_LAST_RETRY_SECONDS)
            self._timers.set(now + delay, RETRY, key=pod.uid, ticket=pod.bind_failures)
            return False
        self._status.bind_refused(pod, change.node)
        self._intake.move(pod, Stage.PENDING)
        return True

    def retry(self, pod: PodState, cluster: Cluster) -> None:
        """Asks for the same bind again; if that is no longer right, the pod goes back to pending."""
        if pod.leaving:
            # the failed bind may have landed after all: its room stays taken until the pod is gone
            return
        gang = cluster.gangs.get(pod.gang) if pod.gang else None
        if not _still_fits(pod, cluster.nodes) or (gang is not None and _fell_apart(gang)):
            self._intake.move(pod, Stage.PENDING)
        else:
            self._decisions.append(Bind(pod.gang or pod.key, (Placement(pod.uid, pod.key, pod.node),)))

    def forget(self, key: str) -> None:
        """The gang is gone."""
        self._deadlines.pop(key, None)

    def look_at(self, gang: GangState, now: float) -> None:
        """Says that the gang has started, or sets its deadline if it is bound below its minimum."""
        if gang.declared is None:
            return
        if gang.started:
            self._deadlines.pop(gang.key, None)
            self._status.gang_says(gang, SCHEDULED, "", started=True)
        elif gang.partial:
            at = self.deadline(gang, now)
            if self._deadlines.get(gang.key) != at:
                self._deadlines[gang.key] = at
                self._timers.set(at, DEADLINE, key=gang.key)
        else:
            self._deadlines.pop(gang.key, None)

    def deadline(self, gang: GangState, now: float) -> float:
        """When the gang must have its minimum bound; counted from now if nobody knows since when it is bound."""
        assert gang.declared is not None
        if gang.first_bound is None:
            for pod in gang.members.values():
                if pod.stage is Stage.BOUND and pod.bound_at is None:
                    self._intake.move(pod, pod.stage, bound_at=now)
        first = gang.first_bound
        return (now if first is None else first) + gang.declared.timeout_seconds

    def release(self, gang: GangState) -> None:
        """Undoes a gang whose time is over: all members that have a node are to be deleted."""
        assert gang.declared is not None
        bound = gang.bound
        members = [pod for pod in gang.members.values() if pod.takes_room and not pod.leaving]
        members.sort(key=lambda pod: pod.key)
        errors = [pod.bind_error for pod in gang.candidates.values() if pod.bind_error]
        message = timed_out(bound, gang.declared.minimum, gang.declared.timeout_seconds)
        if errors:
            message += f"; a bind was refused: {min(errors)}"
        for pod in members:
            self._intake.move(pod, pod.stage, leaving=True)
        self._decisions.append(Release(gang.key, tuple(PodRef(pod.uid, pod.key) for pod in members), TIMEOUT, message))
        self._status.gang_says(gang, TIMEOUT, message)


def _still_fits(pod: PodState, nodes: NodeTable) -> bool:
    """Its node is there, and has not shrunk below what is on it."""
    row = nodes.rows.get(pod.node)
    return row is not None and all(nodes.usage.free[resource, row] >= 0 for resource, _ in pod.pod_class.room)


def _fell_apart(gang: GangState) -> bool:
    """Nothing of the gang is bound, and what is being bound no longer makes up its minimum."""
    if gang.declared is None or gang.started:
        return gang.declared is None
    return gang.running == 0 and gang.bound + gang.binding < gang.declared.minimum
