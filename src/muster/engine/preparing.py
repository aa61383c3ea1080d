"""From the decision where to go to the first bind, for pods that bring things: all are made ready, or none goes.

What is granted to the members of a unit is written and awaited for all of them; then all are bound together.  Until
then they count as being bound, and nothing of them is on its way.  A member for whom it fails gets another place, and
the others wait for it; if there is none, or it takes too long, all is undone.

Plugins that attend are asked whether all are permitted before anything else is done; one no, and all is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from muster.api.wire import Node
from muster.cluster.classes import PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState, Stage
from muster.engine.attending import Attending, refused
from muster.engine.decisions import Bind, Consult, Decision, Placement, Prepare, TakeBack, Withdraw
from muster.engine.intake import Intake
from muster.engine.reasons import SCHEDULER_ERROR, UNSCHEDULABLE
from muster.engine.status import Status
from muster.engine.supplies import Supplies
from muster.engine.timers import Purpose, Timers
from muster.engine.unit import Unit
from muster.engine.verdicts import prepared, preparing_failed, preparing_took_too_long
from muster.framework.contract import READY, Progress
from muster.framework.grants import Grant
from muster.framework.profile import Profiles
from muster.framework.questions import Step
from muster.gangs.model import Aspect

# not permitted, a unit would not be in a moment either: the second failure is the first for which it backs off
_REFUSED = 2


class _Preparation(msgspec.Struct, kw_only=True):
    """What is made ready for one unit."""

    name: str
    number: int
    seconds: float
    """It is given up after so long."""
    after: Aspect | None = None
    placements: dict[str, Placement] = msgspec.field(default_factory=dict)
    """By UID."""
    progress: dict[str, Progress] = msgspec.field(default_factory=dict)
    """By UID, as it was when there was last news of it: to ask of each of a thousand members whenever a volume of one
    is there took minutes."""
    set_back: dict[str, str] = msgspec.field(default_factory=dict)
    """Why, by UID: those for whom it failed, as long as they have no other place."""
    held: dict[str, Grant] = msgspec.field(default_factory=dict)
    """By subject: given, and written only when all are permitted."""


class Preparing:
    """Holds binds back until what the pods bring is ready."""

    def __init__(
        self,
        cluster: Cluster,
        intake: Intake,
        supplies: Supplies,
        attending: Attending,
        *,
        timers: Timers,
        status: Status,
        decisions: list[Decision],
        profiles: Profiles,
        failed: Callable[[str, int], None],
    ) -> None:
        """`failed` is told of units with a member that must look for another place, and how many failures that is."""
        self._cluster = cluster
        self._intake = intake
        self._supplies = supplies
        self._attending = attending
        self._timers = timers
        self._status = status
        self._decisions = decisions
        self._profiles = profiles
        self._failed = failed
        self._by_unit: dict[str, _Preparation] = {}
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._supplies) or bool(self._attending)

    def begin(self, unit: Unit, pods: list[PodState], placements: tuple[Placement, ...], now: float) -> bool:
        """Whether something must be made ready before these members, which have set out, are bound."""
        needed = unit.key in self._by_unit or any(pod.pod_class.rules.needs for pod in pods)
        if not needed and not (self._attending and any(self._attending.awaits(pod.pod_class) for pod in pods)):
            return False
        grants = self._supplies.grant((pod.uid, self._node(pod.node)) for pod in pods)
        if questions := self._attending.set_out(pods):
            self._decisions.append(Withdraw(unit.name, questions))
        under_way = self._by_unit.get(unit.key)
        if under_way is None and all(self._progress(pod.uid) == READY for pod in pods):
            return False
        if under_way is None:
            self._count += 1
            since = self._status.preparing_since(unit, now)
            seconds = max(map(self._seconds, {pod.pod_class for pod in pods}))
            under_way = self._by_unit[unit.key] = _Preparation(name=unit.name, number=self._count, seconds=seconds)
            self._timers.set(since + seconds, Purpose.PREPARING, key=unit.key, ticket=self._count)
        under_way.after = unit.binds_after
        under_way.placements.update((placement.uid, placement) for placement in placements)
        for pod in pods:
            pod.setbacks = msgspec.structs.replace(pod.setbacks, answered=True)
            under_way.set_back.pop(pod.uid, None)
        under_way.held.update((grant.subject, grant) for grant in grants)
        self._go_on(unit.key, under_way)
        self._look_at(unit.key, under_way, [pod.uid for pod in pods])
        return True

    def _seconds(self, pod_class: PodClass) -> float:
        """So long pods of the class wait at most."""
        profile = self._profiles.of(pod_class)
        return max(profile.preparing_seconds(pod_class.rules.needs), profile.answering_seconds(pod_class))

    def _progress(self, uid: str) -> Progress:
        """What plugins say goes before what the pod brings: nothing of that is written before all are permitted."""
        said = self._attending.progress(uid)
        return self._supplies.progress(uid) if said == READY else said

    def _go_on(self, key: str, under_way: _Preparation) -> None:
        """Asks and writes all for which it is time."""
        self._ask(Step.PERMIT, under_way)
        whole = not _lacks_members(self._cluster.gangs.get(key))
        if not self._attending.is_permitted(under_way.placements, whole=whole):
            return
        if under_way.held:
            self._decisions.append(Prepare(under_way.name, tuple(under_way.held.values())))
            under_way.held.clear()
        self._ask(Step.PRE_BIND, under_way)

    def _ask(self, step: Step, under_way: _Preparation) -> None:
        if questions := self._attending.ask(step, under_way.placements):
            self._decisions.append(Consult(under_way.name, questions))

    def _node(self, name: str) -> Node:
        node = self._cluster.nodes.nodes[self._cluster.nodes.rows[name]]
        assert node is not None
        return node

    def look_at(self, uids: list[str], now: float) -> None:
        """Something of what these pods were granted has changed."""
        units: dict[str, list[str]] = {}
        for uid in uids:
            if (pod := self._cluster.pods.get(uid)) is not None:
                units.setdefault(pod.gang or uid, []).append(uid)
        for key, changed in units.items():
            if (under_way := self._by_unit.get(key)) is None or not self._is_left(key, under_way):
                continue
            if not self._is_refused(key, under_way, changed):
                self._go_on(key, under_way)
                self._look_at(key, under_way, changed)

    def _is_left(self, key: str, under_way: _Preparation) -> bool:
        """Whether there is anybody still to be bound: somebody else may have done it meanwhile."""
        waiting = {pod.uid for pod in self._pods(under_way) if pod.stage is Stage.BINDING}
        for uid in [uid for uid in under_way.placements if uid not in waiting]:
            del under_way.placements[uid]
        if not under_way.placements:
            del self._by_unit[key]
        return bool(under_way.placements)

    def _is_refused(self, key: str, under_way: _Preparation, changed: list[str]) -> bool:
        """Whether the unit was undone, since a plugin did not permit a member or made a mistake with it.

        A member that the unit can do without goes alone.
        """
        for uid in changed:
            no = self._attending.refusal(uid) if uid in under_way.placements else None
            if no is None:
                continue
            pod, gang = self._cluster.pods[uid], self._cluster.gangs.get(key)
            message, reason = refused(no), SCHEDULER_ERROR if no.mistake else UNSCHEDULABLE
            self._set_back(pod, message, times=_REFUSED)
            del under_way.placements[uid]
            self._failed(key, _REFUSED)
            if not under_way.placements or _lacks_members(gang):
                pods = [pod, *self._undo(key)]
                self._status.failed(gang, [one for one in pods if one.candidate], message, reason)
                return True
            self._status.failed(None, [pod], message, reason)
        return False

    def _set_back(self, pod: PodState, why: str, *, times: int = 1) -> None:
        """The pod is not bound where it was to go."""
        pod.setbacks = msgspec.structs.replace(pod.setbacks, failures=pod.setbacks.failures + times, error=why)
        self._intake.move(pod, Stage.PENDING)
        self._intake.gates.look_at(pod)

    def _look_at(self, key: str, under_way: _Preparation, changed: Iterable[str]) -> None:
        """Binds all if all is ready, and gives those members another place for whom it failed."""
        under_way.progress.update((uid, self._progress(uid)) for uid in changed)
        progress = {uid: under_way.progress[uid] for uid in under_way.placements}
        failed = {uid: one.failed for uid, one in progress.items() if one.failed}
        for uid, why in failed.items():
            pod = self._cluster.pods[uid]
            self._status.preparing_failed(pod, preparing_failed(pod.node, why))
            self._set_back(pod, why)
        if failed:
            self._failed(key, 1)
        under_way.set_back.update(failed)
        gang = self._cluster.gangs.get(key)
        waiting = [one.waits_for for uid, one in progress.items() if one.waits_for and uid not in failed]
        if waiting or failed or _lacks_members(gang):
            lacking = [why for uid, why in under_way.set_back.items() if uid in self._cluster.pods]
            placed = [pod for pod in self._pods(under_way) if pod.stage is Stage.BINDING]
            ready, total = len(placed) - len(waiting), len(placed) + len(lacking)
            self._status.prepares(gang, placed, prepared(ready, total, sorted([*waiting, *lacking])))
        else:
            self._bind(key, under_way)

    def _pods(self, under_way: _Preparation) -> list[PodState]:
        return [pod for uid in under_way.placements if (pod := self._cluster.pods.get(uid)) is not None]

    def _bind(self, key: str, under_way: _Preparation) -> None:
        del self._by_unit[key]
        for pod in self._pods(under_way):
            pod.setbacks = msgspec.structs.replace(pod.setbacks, answered=False)
        self._decisions.append(Bind(under_way.name, tuple(under_way.placements.values()), under_way.after))

    # --- what is not bound after all ---

    def unbound(self, pods: list[PodState]) -> None:
        """These pods are not bound where they were to go: what they were granted is undone."""
        # some may have set out again by now, with what they had
        still = [pod for pod in pods if pod.stage is not Stage.BINDING or pod.uid not in self._cluster.pods]
        units = dict.fromkeys(pod.gang or pod.uid for pod in still)
        for key in units:
            lost = [pod.uid for pod in still if (pod.gang or pod.uid) == key]
            under_way = self._by_unit.get(key)
            if under_way is not None:
                for uid in lost:
                    under_way.placements.pop(uid, None)
                if not under_way.placements:
                    del self._by_unit[key]
            name = key if under_way is None else under_way.name
            if questions := self._attending.withdraw(lost):
                self._decisions.append(Withdraw(name, questions))
            if grants := self._supplies.take_back(lost):
                self._decisions.append(TakeBack(name, grants))
                if under_way is not None:
                    for grant in grants:
                        under_way.held.pop(grant.subject, None)

    def give_up(self, key: str) -> bool:
        """The unit may not be decided, or has no place for all it needs; whether anything was undone.

        What is made ready for more than its minimum goes on.
        """
        if key not in self._by_unit or not _lacks_members(self._cluster.gangs.get(key)):
            return False
        self._undo(key)
        return True

    def let_go(self, unit: Unit) -> None:
        """The unit has no place: what its members were granted by a scheduler before us is given back."""
        bringing = frozenset(pod.uid for pod in unit.candidates if pod.pod_class.rules.needs)
        if bringing and (grants := self._supplies.let_go(bringing)):
            self._decisions.append(TakeBack(unit.name, grants))

    def _undo(self, key: str, why: str = "") -> list[PodState]:
        """Nobody of the unit goes now, and what was granted is taken back; returns who was to go."""
        under_way = self._by_unit.pop(key)
        pods = [pod for pod in self._pods(under_way) if pod.stage is Stage.BINDING]
        for pod in pods:
            if why:
                pod.setbacks = msgspec.structs.replace(pod.setbacks, failures=pod.setbacks.failures + 1, error=why)
            self._intake.move(pod, Stage.PENDING)
        return pods

    def ring(self, key: str, number: int) -> bool:
        """Whether the unit's time to be made ready is over, and it was undone."""
        under_way = self._by_unit.get(key)
        if under_way is None or under_way.number != number:
            return False
        progress = (self._progress(uid) for uid in under_way.placements)
        waiting = sorted(one.waits_for for one in progress if one.waits_for)
        gang, pods = self._cluster.gangs.get(key), self._pods(under_way)
        message = preparing_took_too_long(under_way.seconds, waiting)
        self._undo(key, message)
        self._status.failed(gang, [pod for pod in pods if pod.candidate], message)
        return True


def _lacks_members(gang: GangState | None) -> bool:
    """Whether a gang would not have its minimum if all that are being bound were."""
    if gang is None:
        return False
    return gang.declared is None or not (gang.on_its_way or gang.has_started)
