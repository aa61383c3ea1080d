"""Whether every unit of an engine lives by the table of transitions (engine/life.py).

The scheduling queue knows its part of the table, and counts what it does not find there.  Strength is followed here:
what happened to a gang is taken from what the engine was told, decided and recorded, and from one look at the gang to
the next its strength must have changed along transitions for these causes, or not at all.  What is reserved for a unit
is used, or said to be lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from muster.api.wire import Pod
from muster.cluster.gangs import GangState, Strength
from muster.cluster.pods import PodState, Stage
from muster.engine.audit import Attempt
from muster.engine.changes import (
    BindFailed,
    Bound,
    Change,
    GroupGone,
    GroupRead,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Spared,
)
from muster.engine.decisions import Decision, Evict, Lost, Release
from muster.engine.engine import Engine
from muster.engine.life import Cause, Phase, reachable
from muster.engine.reasons import FELL, SCHEDULER_ERROR, TIMEOUT
from muster.engine.verdicts import Outcome
from muster.sim.kubelets import is_refusal
from muster.sim.rules.broken import BrokenRuleError

_RULE = "life"

_RELEASES = {TIMEOUT: Cause.DEADLINE_OVER, SCHEDULER_ERROR: Cause.DENIED, FELL: Cause.TAKEN_DOWN}


class Transitions:
    """Follows the units of one engine from its first change on."""

    def __init__(self, engine: Engine, seen: Counter[str]) -> None:
        self._engine = engine
        self._strengths: dict[str, tuple[GangState, Strength]] = {}
        """By gang: which it was when it was last looked at, and its strength then."""
        self._causes: dict[str, set[Cause]] = {}
        """What happened to units since they were last looked at."""
        self._binding: dict[str, tuple[str, str, int]] = {}
        """By UID: pods that were being bound when they were last looked at, of which unit, where, by which attempt."""
        self._reserving: set[str] = set()
        """Units for which somebody was surely evicted: they must not lose what is reserved for them without a word."""
        self._told: set[str] = set()
        """Units that were just said to have lost what was reserved for them."""
        self._names: dict[str, str] = {}
        """UIDs of lone pods by name, as of when they were last looked at."""
        self._last_attempt: Attempt | None = None
        self._seen = seen

    # --- what happens ---

    def tell(self, change: Change, apply: Callable[[list[Change]], None]) -> None:
        """Has the engine take in a change, and notes what that means for whom."""
        uid = _uid(change)
        before = self._engine.cluster.pods.get(uid)
        unit_before, stage_before = (_unit(before), before.stage) if before is not None else ("", None)
        self._note_objects(change)
        apply([change])
        after = self._engine.cluster.pods.get(uid)
        unit_after = _unit(after) if after is not None else ""
        if unit_before and unit_before != unit_after:
            self._note(unit_before, Cause.MEMBER_LOST)
        if not unit_after:
            return
        if unit_before != unit_after:
            self._note(unit_after, Cause.MEMBER_CAME)
        if isinstance(change, PodSeen):
            self._note(unit_after, *_meaning(change.pod, stage_before))
        elif isinstance(change, Bound):
            self._note(unit_after, Cause.BOUND)
        elif isinstance(change, BindFailed):
            # or repeated, and given up after a while
            self._note(unit_after, Cause.BIND_REJECTED)

    def _note_objects(self, change: Change) -> None:
        cluster = self._engine.cluster
        if isinstance(change, NodeGone | NodeSeen):
            name = change.name if isinstance(change, NodeGone) else change.node.metadata.name
            for there in cluster.on_node.get(name, {}).values():
                self._note(_unit(there), Cause.MEMBER_LOST if isinstance(change, NodeGone) else Cause.MEMBER_CAME)
        elif isinstance(change, Spared):
            for uid in change.uids:
                if (pod := cluster.pods.get(uid)) is not None:
                    self._note(_unit(pod), Cause.SPARED)
        elif isinstance(change, GroupSeen):
            meta = change.group.metadata
            gang = cluster.gangs.get(key := f"{meta.namespace}/{meta.name}")
            remade = gang is not None and gang.declared is not None and gang.declared.uid != meta.uid
            self._note(key, Cause.OBJECT_REMADE if remade else Cause.OBJECT_CAME)
        elif isinstance(change, GroupRead):
            self._note(change.key, Cause.OBJECT_CAME if change.group is not None else Cause.OBJECT_WENT)
        elif isinstance(change, GroupGone):
            self._note(change.key, Cause.OBJECT_WENT)

    def _note(self, unit: str, *causes: Cause) -> None:
        self._causes.setdefault(unit, set()).update(causes)

    # --- what came of it ---

    def decided(self, decisions: list[Decision]) -> None:
        """Looks at all units when the engine has decided."""
        cluster = self._engine.cluster
        if unforeseen := self._engine._queue.unforeseen:
            way = " → ".join(next(iter(unforeseen)))
            raise BrokenRuleError(_RULE, f"the queue moved a unit along a way that the table does not have: {way}")
        self._note_decided(decisions)
        for uid, (unit, *bind) in self._binding.items():
            pod = cluster.pods.get(uid)
            if pod is not None and [pod.node, pod.attempt] != bind:
                # given up without another answer; perhaps it has a place again already
                self._note(unit, Cause.BIND_REJECTED)
        binding = (pod for pod in cluster.pods.values() if pod.stage is Stage.BINDING)
        self._binding = {pod.uid: (_unit(pod), pod.node, pod.attempt) for pod in binding}
        later = self._engine._intake.noted.gangs
        gangs = {key: gang for key, gang in cluster.gangs.items() if not gang.foreign and key not in later}
        for key, gang in gangs.items():
            self._look_at(key, gang)
        self._strengths = {k: known for k, known in self._strengths.items() if k in gangs or k in later}
        self._look_at_reservations()
        self._causes = {key: self._causes.get(key, set()) for key in later}

    def _note_decided(self, decisions: list[Decision]) -> None:
        lone = {pod.key: pod.uid for pod in self._engine.cluster.pods.values() if pod.gang is None and pod.ours}
        # people know a lone pod by name: a gang may have the same one, and so may a pod that was there until now
        known, self._names = (self._names, lone), lone
        for decision in decisions:
            if isinstance(decision, Evict):
                for ref in decision.pods:
                    if (pod := self._engine.cluster.pods.get(ref.uid)) is not None:
                        self._note(_unit(pod), Cause.EVICTED)
            elif isinstance(decision, Release):
                self._note(decision.unit, _RELEASES[decision.reason])
            elif isinstance(decision, Lost):
                for key in (decision.unit, *(names.get(decision.unit, "") for names in known)):
                    self._told.add(key)
        for attempt in self._new_attempts():
            if attempt.verdict.outcome is Outcome.PLACED:
                for key in (attempt.verdict.unit, *(names.get(attempt.verdict.unit, "") for names in known)):
                    self._note(key, Cause.PLACED)

    def _new_attempts(self) -> list[Attempt]:
        """Those since this was last asked."""
        attempts: list[Attempt] = []
        for attempt in reversed(self._engine.audit):
            if attempt is self._last_attempt:
                break
            attempts.append(attempt)
        self._last_attempt = attempts[0] if attempts else self._last_attempt
        return attempts

    def _look_at(self, key: str, gang: GangState) -> None:
        unit, after = self._engine._units.get(key), gang.strength
        if gang.classes and (unit is None or unit.phase is Phase.SETTLED):
            raise BrokenRuleError(_RULE, f"{key} has members to place, and the queue does not know")
        known, before = self._strengths.get(key, (gang, after))
        # whatever stands of a gang when it is first seen was there before
        if known is gang and before is not after:
            self._seen["transitions of strength"] += 1
            causes = self._causes.get(key, set())
            if after not in reachable(before, causes):
                why = ", ".join(sorted(causes)) or "nothing"
                raise BrokenRuleError(_RULE, f"{key} went from {before} to {after} by: {why}")
        self._strengths[key] = gang, after

    def _look_at_reservations(self) -> None:
        reservations = self._engine._decider.reservations.by_unit
        for key in self._reserving - reservations.keys():
            if key not in self._told and Cause.PLACED not in self._causes.get(key, set()):
                raise BrokenRuleError(_RULE, f"{key} lost what was reserved for it, and nobody was told")
        self._told.clear()
        self._reserving = {
            key for key, reservation in reservations.items() if reservation.evicted and not reservation.restored
        }


def _uid(change: Change) -> str:
    """The pod that a change is about; "" for none."""
    if isinstance(change, PodSeen):
        return change.pod.metadata.uid
    return change.uid if isinstance(change, PodGone | Bound | BindFailed) else ""


def _unit(pod: PodState) -> str:
    return pod.gang or pod.uid


def _meaning(pod: Pod, before: Stage | None) -> Iterable[Cause]:
    """What is new with a pod as it is now, which was at that stage before."""
    if pod.status.phase == "Failed":
        yield Cause.MEMBER_LOST
        if is_refusal(pod.status.reason):
            yield Cause.MEMBER_TURNED_AWAY
    elif pod.status.phase == "Succeeded":
        yield Cause.MEMBER_ENDED
    if pod.metadata.deletion_timestamp is not None:
        yield Cause.MEMBER_LOST
    if pod.spec.node_name and before is not Stage.BOUND:
        yield Cause.BOUND
    if before is not None:
        yield Cause.MEMBER_CHANGED
