"""Whether every unit of an engine lives by the table of transitions (engine/life.py).

What happened to a unit is taken from what the engine was told, decided and recorded.  From one look at the unit to the
next its phase and its strength must have changed along transitions for these causes, or not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from muster.api.wire import Pod
from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState, Stage
from muster.engine.audit import Attempt
from muster.engine.changes import (
    BindFailed,
    Bound,
    Change,
    Failure,
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
from muster.engine.intake import SCHEDULER_ERROR
from muster.engine.life import UNBORN, Cause, Life, Phase, State, Strength, phase_of, reachable, strength_of
from muster.engine.status import FELL, TIMEOUT
from muster.engine.verdicts import Outcome
from muster.sim.kubelets import is_refusal
from muster.sim.rules.broken import BrokenRuleError

_RULE = "life"

_OUTCOMES = {
    Outcome.PLACED: (Cause.PLACED,),
    Outcome.WAITING: (Cause.REFUSED,),
    Outcome.IMPOSSIBLE: (Cause.REFUSED,),
    Outcome.NOT_FOUND: (Cause.REFUSED, Cause.FAILED),
    Outcome.PREEMPTING: (Cause.RESERVED,),
    Outcome.ERROR: (Cause.FAILED,),
    Outcome.TIMED_OUT: (),
}
_RELEASES = {TIMEOUT: Cause.DEADLINE_OVER, SCHEDULER_ERROR: Cause.DENIED, FELL: Cause.TAKEN_DOWN}


class Transitions:
    """Follows the units of one engine from its first change on."""

    def __init__(self, engine: Engine, seen: Counter[str]) -> None:
        self._engine = engine
        self._lives: dict[str, tuple[GangState | PodState, Life]] = {}
        """By unit: who it was when it was last looked at, and its life then; who is not in it is unborn."""
        self._causes: dict[str, set[Cause]] = {}
        """What happened to units since they were last looked at."""
        self._binding: dict[str, tuple[str, str]] = {}
        """By UID: pods that were being bound when they were last looked at, of which unit and where."""
        self._silent: set[str] = set()
        """Units that may lose what is reserved for them without a word: nobody was surely evicted for it."""
        self._last_attempt: Attempt | None = None
        self._now = 0.0
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
        elif isinstance(change, BindFailed) and change.failure is not Failure.TRANSIENT:
            self._note(unit_after, Cause.BIND_REFUSED)

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

    def decided(self, decisions: list[Decision], now: float) -> None:
        """Looks at all units when the engine has decided."""
        cluster = self._engine.cluster
        attempts = self._new_attempts()
        # whom room can help is looked into bit by bit, over several turns
        for_all = {Cause.ROOM_GREW, Cause.TIME_PASSED} if now > self._now else {Cause.ROOM_GREW}
        self._now = now
        units: dict[str, GangState | PodState] = {k: g for k, g in cluster.gangs.items() if not g.foreign}
        lone = {pod.uid: pod for pod in cluster.pods.values() if pod.gang is None and pod.ours}
        units.update(lone)
        self._note_decided(decisions, attempts, names={pod.key: pod.uid for pod in lone.values()})
        for uid, (unit, node) in self._binding.items():
            if uid in cluster.pods and cluster.pods[uid].node != node:
                # given up without another answer; perhaps it has another place already
                self._note(unit, Cause.BIND_REFUSED)
        binding = (pod for pod in cluster.pods.values() if pod.stage is Stage.BINDING)
        self._binding = {pod.uid: (_unit(pod), pod.node) for pod in binding}
        noted = self._engine._intake.noted
        later = {*noted.gangs, *(pod.uid for pod in noted.pods)}
        for key in [key for key in {**self._lives, **units} if key not in later]:
            self._look_at(key, units.get(key), for_all)
        self._causes = {key: self._causes.get(key, set()) | for_all for key in later}

    def _note_decided(self, decisions: list[Decision], attempts: list[Attempt], *, names: dict[str, str]) -> None:
        """`names`: UIDs of lone pods, whom people know by name; a gang may have the same one."""
        for decision in decisions:
            if isinstance(decision, Evict):
                for ref in decision.pods:
                    if (pod := self._engine.cluster.pods.get(ref.uid)) is not None:
                        self._note(_unit(pod), Cause.EVICTED)
            elif isinstance(decision, Release):
                self._note(decision.unit, _RELEASES[decision.reason])
            elif isinstance(decision, Lost):
                for key in (decision.unit, names.get(decision.unit, "")):
                    self._note(key, Cause.RESERVATION_LOST)
        for attempt in attempts:
            for key in (attempt.verdict.unit, names.get(attempt.verdict.unit, "")):
                self._note(key, *_OUTCOMES[attempt.verdict.outcome])

    def _new_attempts(self) -> list[Attempt]:
        """Those since this was last asked."""
        attempts: list[Attempt] = []
        for attempt in reversed(self._engine.audit):
            if attempt is self._last_attempt:
                break
            attempts.append(attempt)
        self._last_attempt = attempts[0] if attempts else self._last_attempt
        return attempts

    def _look_at(self, key: str, who: GangState | PodState | None, for_all: set[Cause]) -> None:
        known, before = self._lives.get(key, (None, UNBORN))
        if known is not who:
            before = UNBORN
        causes = self._causes.get(key, set()) | for_all
        fence = self._engine._decider.fences.of(key)
        if before.phase is Phase.RESERVING and fence is None and key in self._silent:
            causes.add(Cause.RESERVATION_LOST)
        if fence is not None and fence.restored:
            causes.add(Cause.RESERVED)
        after = Life(
            phase_of(self._engine._units.get(key), known=_is_known(who), reserved=fence is not None),
            strength_of(who),
        )
        self._check(key, who, before, after, causes)
        if fence is not None and (fence.restored or not fence.evicted):
            self._silent.add(key)
        else:
            self._silent.discard(key)
        if who is None:
            self._lives.pop(key, None)
        else:
            self._lives[key] = who, after

    def _check(self, key: str, who: GangState | PodState | None, before: Life, after: Life, causes: set[Cause]) -> None:
        if after.phase is Phase.SETTLED and who is not None and _waits(who):
            raise BrokenRuleError(_RULE, f"{key} has members to place, and the queue does not know")
        steps: list[tuple[State, State]] = [(before.phase, after.phase), (before.strength, after.strength)]
        for old, new in steps:
            # whatever stands of a unit when it is first seen was there before
            if old is new or (before.phase is Phase.GONE and isinstance(new, Strength)):
                continue
            self._seen["transitions of phase" if isinstance(new, Phase) else "transitions of strength"] += 1
            if new not in reachable(old, causes):
                why = ", ".join(sorted(cause.value for cause in causes))
                raise BrokenRuleError(_RULE, f"{key} went from {old.value} to {new.value} by: {why or 'nothing'}")


def _uid(change: Change) -> str:
    """The pod that a change is about; "" for none."""
    if isinstance(change, PodSeen):
        return change.pod.metadata.uid
    return change.uid if isinstance(change, PodGone | Bound | BindFailed) else ""


def _unit(pod: PodState) -> str:
    return pod.gang or pod.uid


def _is_known(who: GangState | PodState | None) -> bool:
    """Whether the queue has a unit, or had one until all of it was placed."""
    return isinstance(who, GangState) or (who is not None and who.takes_room and not who.leaving)


def _waits(who: GangState | PodState) -> bool:
    return bool(who.classes) if isinstance(who, GangState) else who.candidate


def _meaning(pod: Pod, before: Stage | None) -> Iterable[Cause]:
    """What is new with a pod as it is now, which was at that stage before."""
    if pod.status.phase == "Failed":
        yield Cause.MEMBER_LOST
        if is_refusal(pod.status.reason):
            yield Cause.MEMBER_REFUSED
    elif pod.status.phase == "Succeeded":
        yield Cause.MEMBER_ENDED
    if pod.metadata.deletion_timestamp is not None:
        yield Cause.MEMBER_LOST
    if pod.spec.node_name and before is not Stage.BOUND:
        yield Cause.BOUND
    if before is not None:
        yield Cause.MEMBER_CHANGED
