"""From the decision to bind to the last acknowledgement: retry, re-place, or release the gang; and its life after.

A gang that is bound below its minimum and has not started is either completed or, when its time is over, undone: its
bound members are released.  One that has started and falls below its minimum waits for replacements, or is taken down
after a while so that it starts whole again, as it declares.
"""

from __future__ import annotations

from msgspec.structs import replace

from muster.base.backoff import backoff_seconds
from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState, Stage
from muster.engine.changes import BindFailed, Failure
from muster.engine.decisions import Bind, Decision, MarkStarted, Placement, PodRef, Release
from muster.engine.intake import Intake
from muster.engine.reasons import FELL, MEMBERS_LOST, MEMBERS_REFUSED, PREEMPTED, SCHEDULED, SCHEDULER_ERROR, TIMEOUT
from muster.engine.status import Status
from muster.engine.timers import Purpose, Timers
from muster.engine.verdicts import evicted_for, left_of, taken_down, timed_out
from muster.gangs.model import Aspect, BelowMinimum, Subset
from muster.gangs.record import LONE

# kubelets look at a pod within a second or two; later refusals are of members that replace others
_STARTING_SECONDS = 30.0
# a member that is replaced at once is nobody's concern
_QUIET_SECONDS = 2.0

_RETRIES = 10
# these take a second or two, and nobody need be told
_QUIET_RETRIES = 4
_FIRST_RETRY_SECONDS = 0.1
_LAST_RETRY_SECONDS = 5.0
DENIED_SECONDS = 5.0
"""A denial that lasts so long is final."""
_FIRST_DENIAL_SECONDS = 0.5
_LAST_DENIAL_SECONDS = 2.0


class Binding:
    """Handles what became of binds."""

    def __init__(
        self, cluster: Cluster, intake: Intake, *, timers: Timers, status: Status, decisions: list[Decision]
    ) -> None:
        self._cluster = cluster
        self._intake = intake
        self._timers = timers
        self._status = status
        self._decisions = decisions
        self._deadlines: dict[str, float] = {}
        self._falls: dict[str, tuple[float, float | None]] = {}
        """Gangs below their minimum: since when, and how long that may last; timers are set for that."""

    def failed(self, pod: PodState, change: BindFailed, now: float) -> bool:
        """Handles a failed bind; returns whether the pod needs another place."""
        if pod.stage is not Stage.BINDING or pod.node != change.node:
            return False
        transient = change.failure is Failure.TRANSIENT
        before = pod.setbacks
        retries = before.retries + 1 if transient and before.unanswered_by == change.node else 1
        pod.setbacks = replace(
            before,
            failures=before.failures + 1,
            error=change.message or str(change.failure),
            unanswered_by=change.node if transient else "",
            retries=retries,
        )
        if change.failure is Failure.POD_GONE:
            self._intake.move(pod, Stage.PENDING, leaving=True)
            return False
        if transient and retries <= _RETRIES:
            delay = backoff_seconds(retries, initial=_FIRST_RETRY_SECONDS, maximum=_LAST_RETRY_SECONDS)
            self._retry_in(delay, pod, now)
            if retries == _QUIET_RETRIES + 1:
                self._status.bind_unanswered(self._gang_of(pod), pod, change.node)
            return False
        if change.failure is Failure.DENIED and self._tries_again_there(pod, change.node, now):
            # surely not bound: where room was reserved before may be another's by now
            self._status.unnominate([pod])
            if _denied_for(_QUIET_SECONDS, pod, now):
                self._status.binds_rejected(self._gang_of(pod), [(pod, change.node)], waits=True)
            return False
        self._intake.move(pod, Stage.PENDING)
        # else it is in another gang now, of which nobody has refused it anything
        return self._cluster.pods.get(pod.uid) is pod

    def _tries_again_there(self, pod: PodState, node: str, now: float) -> bool:
        """A denial may be over in a moment, or hold for this node only: there, elsewhere, and so on in turns."""
        if pod.setbacks.denied_at is None:
            pod.setbacks = replace(pod.setbacks, denied_at=now)
            self._timers.set(now + DENIED_SECONDS, Purpose.DENIAL, key=pod.uid)
        if _denied_for(DENIED_SECONDS, pod, now):
            self._timers.set(now, Purpose.DENIAL, key=pod.uid)
            return False
        denied_on = pod.setbacks.denied_on
        if node in denied_on:
            # it was denied here before: elsewhere next
            return False
        pod.setbacks = replace(pod.setbacks, denied_on=denied_on | {node}, answered=True)
        delay = min(_LAST_DENIAL_SECONDS, _FIRST_DENIAL_SECONDS * 2 ** len(denied_on))
        self._retry_in(delay, pod, now)
        return True

    def _retry_in(self, delay: float, pod: PodState, now: float) -> None:
        pod.setbacks = replace(pod.setbacks, retries_later=True)
        self._timers.set(now + delay, Purpose.RETRY, key=pod.uid, ticket=pod.setbacks.failures)

    def _gang_of(self, pod: PodState) -> GangState | None:
        return self._cluster.gangs.get(pod.gang) if pod.gang else None

    def retry(self, pod: PodState) -> None:
        """Asks for the same bind again; if that is no longer right, the pod goes back to pending."""
        if pod.leaving:
            # the failed bind may have landed after all: its room stays taken until the pod is gone, or spared
            return
        gang = self._gang_of(pod)
        # who is surely not bound is not bound for a gang, or an object of it, that is not its own any more
        refused = pod.setbacks.answered
        left = refused and (self._intake.names_another(pod) or (gang is not None and not gang.was_bound_for(pod)))
        pod.setbacks = pod.setbacks.tried_again(repeats=bool(pod.setbacks.unanswered_by))
        if left or not _still_fits(pod, self._cluster) or (gang is not None and _fell_apart(gang)):
            self._intake.move(pod, Stage.PENDING)
        else:
            again = Placement(pod.uid, pod.key, pod.node, pod.record or LONE)
            after = Aspect.BELOW_MINIMUM if gang is not None and gang.fallen else None
            self._decisions.append(Bind(pod.gang or pod.key, (again,), after))

    def spared(self, pod: PodState, now: float) -> None:
        """The pod does not leave after all: a bind of it that failed meanwhile is tried again."""
        if pod.stage is Stage.BINDING and pod.setbacks.retries_later:
            self._timers.set(now, Purpose.RETRY, key=pod.uid, ticket=pod.setbacks.failures)

    def runs_on(self, gang: GangState) -> None:
        """Members were spared: a gang that said that nothing of it is left takes that back."""
        said = gang.below_said
        if gang.declared is None or gang.fallen or not gang.below_minimum or said is None or not said[0]:
            return
        if said[1] != MEMBERS_LOST:
            self._status.gang_is_below(gang, MEMBERS_LOST, left_of(gang.bound, gang.declared.minimum, gang.lost_to))

    def forget(self, key: str) -> None:
        """The gang is gone, or must be looked at anew."""
        self._deadlines.pop(key, None)
        self._falls.pop(key, None)

    def look_at(self, gang: GangState, now: float) -> None:
        """Says that the gang has started, or sets its deadline if it is bound below its minimum."""
        if gang.declared is None:
            return
        if gang.starts:
            gang.starts = False
            self._intake.started(gang, now)
            gang.efforts.succeed()
        self._status.other_not_bound_yet(gang)
        started = gang.started
        if started and (gang.has_minimum or not gang.lost):
            gang.passed, gang.waited = None, 0.0
            gang.fallen = gang.refused = gang.turned_away = False
            gang.below_since, gang.lost_to = None, ""
            self._falls.pop(gang.key, None)
            self._status.gang_is_whole(gang)
            if gang.running:
                # those of its members that have succeeded may be its minimum, though all others were evicted
                self._status.gang_runs_again(gang)
        elif gang.below_minimum:
            self._look_at_fallen(gang, now)
            started = gang.started
        if started:
            self._deadlines.pop(gang.key, None)
            self._status.gang_says(gang, SCHEDULED, "", started=True)
            if not gang.declared.has_status and (pods := self._intake.mark_started(gang)):
                self._decisions.append(MarkStarted(gang.key, tuple(PodRef(pod.uid, pod.key) for pod in pods)))
        elif gang.partial:
            at = self.deadline(gang, now)
            if at <= now and gang.declared.holds_partial:
                # it has been said, and nothing else follows
                self._deadlines.pop(gang.key, None)
            elif self._deadlines.get(gang.key) != at:
                self._deadlines[gang.key] = at
                self._timers.set(at, Purpose.DEADLINE, key=gang.key)
        else:
            self._deadlines.pop(gang.key, None)
            if gang.lost_to and not gang.binding:
                self._status.gang_says(gang, PREEMPTED, evicted_for(gang.lost_to))
                gang.lost_to = ""

    # --- after the start ---

    def _look_at_fallen(self, gang: GangState, now: float) -> None:
        """It has started and is below its minimum: since when, and what follows from that."""
        declared = gang.declared
        assert declared is not None
        # it may have fallen before anybody could write that it started
        self._status.gang_says(gang, SCHEDULED, "", started=True)
        if gang.below_since is None:
            gang.below_since = now
        since = gang.below_since
        grace = declared.grace_seconds if declared.below_minimum is BelowMinimum.RESTART else None
        if self._falls.get(gang.key) != (since, grace):
            self._falls[gang.key] = since, grace
            self._timers.set(max(now, since + _QUIET_SECONDS), Purpose.BELOW, key=gang.key)
            if grace is not None:
                self._timers.set(max(now, since + grace), Purpose.TAKE_DOWN, key=gang.key)
        turned_away, gang.turned_away = gang.turned_away, False
        if gang.fallen:
            # until nothing is left of it that the next scheduler could take for a gang that ran
            gang.refused = gang.refused and any(pod.takes_room for pod in gang.members.values())
            return
        if gang.below_said is not None and gang.below_said[0]:
            self.still_below(gang, now)
        if turned_away and gang.started_at is not None and now - gang.started_at < _STARTING_SECONDS:
            # it never ran whole: others had taken the room, and may wait for what it has as it does for theirs
            _falls(gang)
            gang.refused = True
            self._status.gang_is_below(gang, MEMBERS_REFUSED, left_of(gang.bound, declared.minimum, gang.lost_to))
        elif not gang.running and not gang.binding and (gang.candidates or gang.lost_to):
            gang.fallen = True
            if gang.lost_to:
                self._status.gang_is_below(gang, PREEMPTED, evicted_for(gang.lost_to))
        elif not gang.running and not gang.binding:
            # all have ended, and it is below nothing: whoever runs after that has a grace of their own
            gang.below_since = None
            self._falls.pop(gang.key, None)

    def still_below(self, gang: GangState, now: float) -> None:
        """People are told of a gang that has been below its minimum for a while."""
        since = gang.below_since
        if gang.declared is None or since is None or gang.fallen:
            return
        # one of which all have ended is below nothing
        lives = gang.running or gang.binding or gang.candidates
        if gang.below_minimum and lives and now >= since + _QUIET_SECONDS:
            self._status.gang_is_below(gang, MEMBERS_LOST, left_of(gang.bound, gang.declared.minimum, gang.lost_to))

    def take_down(self, gang: GangState, now: float) -> bool:
        """Takes a gang down that has been below its minimum for too long; whether it did."""
        declared, since = gang.declared, gang.below_since
        if declared is None or since is None or declared.below_minimum is not BelowMinimum.RESTART:
            return False
        if gang.fallen:
            # should something of it turn out to run, that has its grace, too
            self._falls.pop(gang.key, None)
        if not gang.below_minimum or gang.fallen or now < since + declared.grace_seconds:
            return False
        if gang.binding and (gang.is_mended_soon or not gang.running):
            # whole in a moment, or not
            self._timers.set(now + _QUIET_SECONDS, Purpose.TAKE_DOWN, key=gang.key)
            return False
        if not gang.has_part():
            # nothing of it may be released: what runs was bound for an earlier object, and goes on
            return False
        message = taken_down(gang.bound, declared.minimum, declared.grace_seconds, stay=_staying(gang))
        _falls(gang)
        self._release(gang, FELL, message, now)
        self._status.gang_is_below(gang, FELL, message)
        return True

    def deadline(self, gang: GangState, now: float) -> float:
        """When the gang must have its minimum bound; counted from now if nobody knows since when it is bound."""
        assert gang.declared is not None
        if gang.first_bound is None:
            for pod in gang.members.values():
                if pod.stage is Stage.BOUND and pod.bound_at is None:
                    self._intake.move(pod, pod.stage, bound_at=now)
        first = gang.first_bound
        return (now if first is None else first) + gang.declared.timeout_seconds + gang.waited

    def time_out(self, gang: GangState, now: float) -> bool:
        """The gang's time is over: what is bound of it is released, or kept if it says so; whether it was released."""
        declared = gang.declared
        assert declared is not None
        holds = declared.holds_partial
        seconds, stay = declared.timeout_seconds, _staying(gang)
        message = timed_out(gang.bound, declared.minimum, seconds, released=not holds, stay=stay)
        if error := _bind_error(gang):
            message += f"; a bind failed: {error}"
        if not holds:
            self._release(gang, TIMEOUT, message, now)
        self._status.gang_says(gang, TIMEOUT, message)
        return not holds

    # --- denials ---

    def denied(self, gang: GangState, now: float) -> bool:
        """Whether the gang cannot reach its minimum, since members are denied for good; then it is undone."""
        declared = gang.declared
        if declared is None or gang.started:
            return False
        hopeless = [pod for pod in gang.candidates.values() if _denied_for(DENIED_SECONDS, pod, now)]
        # who was on its way to a node that is gone comes back
        astray = [
            pod for pod in gang.members.values() if pod.stage is Stage.BINDING and pod.stranded and not pod.leaving
        ]
        enough = all(
            gang.of(subset.name).present + _of(subset, astray) - _of(subset, hopeless) >= subset.minimum
            for subset in declared.subsets
        )
        if not hopeless or enough:
            return False
        binding = (pod for pod in gang.members.values() if pod.stage is Stage.BINDING)
        if not gang.running and any(not pod.setbacks.answered for pod in binding):
            # whoever is bound in a moment would be left alone
            return False
        first = min(hopeless, key=lambda pod: pod.key)
        message = f"{first.key} may not be bound: {first.setbacks.error}"
        if gang.running and not declared.holds_partial:
            self._release(gang, SCHEDULER_ERROR, message, now)
        self._status.gang_says(gang, SCHEDULER_ERROR, message)
        gang.denied = False
        for pod in gang.members.values():
            # tried anew, with the patience of the first time, when the gang is
            pod.setbacks = replace(pod.setbacks, denied_at=None, denied_on=frozenset())
        return True

    def _release(self, gang: GangState, reason: str, message: str, now: float) -> None:
        """All members that have a node are to be deleted, if they got it for the present object."""
        for pod in list(gang.members.values()):
            if pod.stage is Stage.BINDING and pod.setbacks.answered:
                # surely not bound
                self._intake.move(pod, Stage.PENDING)
        gang.waited = 0.0
        # who is to be evicted might still be spared, and would be left alone
        going = [
            pod for pod in gang.members.values() if pod.takes_room and (not pod.leaving or pod.condemned is not None)
        ]
        members = [pod for pod in going if gang.was_bound_for(pod) and not _ran_before_it_fell(pod, gang)]
        members.sort(key=lambda pod: pod.key)
        for pod in members:
            # until its object says how much grace it has
            pod.leaving_until, pod.evicted = now, False
            self._intake.move(pod, pod.stage, leaving=True)
        if members:
            refs = tuple(PodRef(pod.uid, pod.key) for pod in members)
            self._decisions.append(Release(gang.key, refs, reason, message))


def _ran_before_it_fell(pod: PodState, gang: GangState) -> bool:
    """Whether the gang goes on with the pod when its node is back, or its eviction is called off."""
    return (pod.stranded and pod.stood) or (pod.condemned is not None and gang.stands(pod))


def _falls(gang: GangState) -> None:
    """The gang must start whole again, whoever of it is spared that is to be evicted, or whose node comes back."""
    gang.fallen = True
    for pod in gang.members.values():
        pod.stood = False
        if pod.condemned is not None:
            pod.condemned = replace(pod.condemned, fallen=True)


def _staying(gang: GangState) -> int:
    """How many bound members run on if the gang is undone."""
    bound = [pod for pod in gang.members.values() if pod.stage is Stage.BOUND and not pod.leaving and not pod.stranded]
    return sum(not gang.was_bound_for(pod) for pod in bound)


def _of(subset: Subset, pods: list[PodState]) -> int:
    return sum(pod.subset == subset.name for pod in pods)


def _denied_for(duration: float, pod: PodState, now: float) -> bool:
    """Whether a policy has refused to let the pod be bound for so many seconds."""
    since = pod.setbacks.denied_at
    return since is not None and now - since >= duration


def _bind_error(gang: GangState) -> str:
    unbound = (pod for pod in gang.members.values() if pod.stage in (Stage.PENDING, Stage.BINDING))
    return min((pod.setbacks.error for pod in unbound if pod.setbacks.error), default="")


def _still_fits(pod: PodState, cluster: Cluster) -> bool:
    """Its node is there, and has not shrunk below what is on it; what is reserved there comes on top of that."""
    row = cluster.nodes.rows.get(pod.node)
    if row is None:
        return False
    free = {resource: int(cluster.nodes.usage.free[resource, row]) for resource, _ in pod.pod_class.room}
    for reserved in cluster.reserved_on.get(pod.node, {}).values():
        for resource, amount in reserved.pod_class.takes:
            free[resource] = free.get(resource, 0) + amount
    return all(free[resource] >= 0 for resource, _ in pod.pod_class.room)


def _fell_apart(gang: GangState) -> bool:
    """Nothing of the gang is bound, and what is being bound no longer makes up its minimum."""
    if gang.declared is None or gang.started:
        return gang.declared is None
    return gang.running == 0 and not gang.on_its_way
