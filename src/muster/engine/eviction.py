"""Carries plans out: evicts victims, keeps the room for whom they go, and says so when it was in vain."""

from __future__ import annotations

from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState, Stage
from muster.engine.decisions import Bind, Decision, Event, Evict, GangCondition, Loss, Lost, PodRef
from muster.engine.fences import Fence, Fences
from muster.engine.intake import PREEMPTED, Intake
from muster.engine.planning import Plan
from muster.engine.queue import Unit
from muster.framework.profile import Profile
from muster.gangs.model import Aspect


class Eviction:
    """The only one who asks for pods of other units to be deleted."""

    def __init__(
        self, cluster: Cluster, profile: Profile, *, intake: Intake, fences: Fences, decisions: list[Decision]
    ) -> None:
        self._cluster = cluster
        self._scheduler = min(profile.scheduler_names)
        self._intake = intake
        self._fences = fences
        self._decisions = decisions
        self._evictions: list[Decision] = []

    @property
    def pending(self) -> bool:
        """Whether somebody is to be evicted who has not been told: then the unit waits, even if some of it fits."""
        return bool(self._evictions)

    def take(self) -> list[Decision]:
        """The evictions since this was last asked; to be told when the unit's pods say where room is kept for them."""
        taken, self._evictions = self._evictions, []
        return taken

    def carry_out(self, unit: Unit, plan: Plan, now: float) -> None:
        """Evicts who must go, takes room from those for whom less precious room is kept, and keeps the unit's."""
        name = unit.name
        for victim in plan.victims:
            if victim.kept:
                self.lose(victim.kept, Loss.PRIORITY, f"{name}, of higher priority, takes its room", now)
        pods = sorted(plan.pods, key=lambda pod: pod.key)
        for pod in pods:
            not_sent = pod.stage is Stage.BINDING and self._take_back(pod)
            if pod.stage is Stage.BINDING and (pod.answered or not_sent or (pod.stranded and pod.retries_later)):
                # not bound, or to no node: it waits like others of its gang, and nobody need delete it
                self._intake.move(pod, Stage.PENDING)
                self._cluster.stirred[unit.key] = None
        pods = [pod for pod in pods if pod.takes_room]
        if pods:
            unit.evicts(now)
            self._evict(unit, pods, now, where=f" on node {plan.places[0][1]}" if unit.pod else "")
        # else nobody went for these places, and whoever is first when they are free may have them
        if plan.victims or self._fences.makes_way(plan.places):
            fence = self._fences.put_up(unit.key, plan.places, priority=unit.priority, evicted=bool(pods), now=now)
            if not fence.waits_for:
                # who must go is elsewhere: nobody's leaving will tell that there is room
                self._cluster.stirred[unit.key] = None

    def _take_back(self, pod: PodState) -> bool:
        """Whether a bind of the pod that was decided in this turn, and is surely the only one, need not be sent."""
        if pod.unanswered_by:
            return False
        for number, decision in enumerate(self._decisions):
            if isinstance(decision, Bind) and any(placement.uid == pod.uid for placement in decision.pods):
                left = tuple(placement for placement in decision.pods if placement.uid != pod.uid)
                self._decisions[number : number + 1] = [Bind(decision.unit, left)] if left else []
                return True
        return False

    def _evict(self, unit: Unit, pods: list[PodState], now: float, *, where: str) -> None:
        kind = "pod" if unit.pod else "podgroup"
        hit: dict[str, GangState] = {}
        for pod in pods:
            # until its object says how much grace it has
            pod.leaving_until, pod.evicted = now, True
            self._intake.move(pod, pod.stage, leaving=True)
            gang = self._cluster.gangs.get(pod.gang) if pod.gang else None
            if gang is not None:
                hit[gang.key] = gang
                gang.lost_to = unit.name
                if gang.below_minimum and not gang.running and not gang.binding:
                    # its other members must not start without those
                    gang.fallen = True
        message = f"{self._scheduler}: preempting to accommodate a higher priority {kind}"
        refs = tuple(PodRef(pod.uid, pod.key) for pod in pods)
        self._evictions.append(Evict(unit.name, refs, PREEMPTED, message))
        for gang in hit.values():
            if not gang.running and not gang.binding:
                self._evicted_whole(gang, f"{message} {unit.name}")
        # upstream writes a UID here, and "node cluster" for a group; people look for a name
        note = f"Preempted by {kind} {unit.name}{where}"
        self._evictions.append(Event(reason="Preempted", note=note, action="Preempting", pods=refs))

    def _evicted_whole(self, gang: GangState, message: str) -> None:
        """Nothing of the gang is left; its object says for whom, unless another scheduler speaks of it."""
        said = (True, PREEMPTED, message)
        if gang.declared is not None and not gang.foreign and gang.evicted_said != said:
            gang.evicted_said = said
            self._evictions.append(GangCondition(gang.key, *said, Aspect.EVICTED))

    def lose(self, key: str, why: Loss | None, message: str, now: float) -> Fence | None:
        """Nothing is kept for the unit any more, and people learn why if others were evicted for it in vain."""
        fence = self._fences.take_down(key, now)
        if fence is None:
            return None
        self._cluster.stirred[key] = None
        preemptor = self._cluster.gangs.get(key) or self._cluster.pods.get(key)
        if preemptor is not None and fence.evicted:
            if why is Loss.PRIORITY:
                # what is lost to a better one is no sign that it would be lost again
                preemptor.rounds = max(0, preemptor.rounds - 1)
            elif why is Loss.FOREIGN:
                preemptor.rests_until = now + 2.0 ** (preemptor.rounds - 1)
        if fence.evicted and why is not None:
            message = f"room that others were evicted for is lost: {message}"
            first = fence.pods[0]
            lone = first.gang is None
            self._decisions.append(Lost(first.key if lone else key, why, message))
            refs = (PodRef(first.uid, first.key),) if lone and key in self._cluster.pods else ()
            gang = "" if lone else key
            if refs or gang:
                self._decisions.append(
                    Event(
                        reason="PreemptionLost", note=message, action="Preempting", warning=True, pods=refs, gang=gang
                    )
                )
        return fence
