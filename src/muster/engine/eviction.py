"""Carries plans out: evicts victims, keeps the room for whom they go, and calls them off or says so when it is in vain.

condemned → (deletion seen: leaving | called off → spared, or too late: leaving)
"""

from __future__ import annotations

from msgspec.structs import replace

from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.pods import Condemned, PodState, Stage
from muster.engine.decisions import Bind, CallOff, Decision, Event, Evict, GangCondition, Loss, Lost, PodRef
from muster.engine.intake import Intake
from muster.engine.planning import Plan
from muster.engine.reasons import BY_SCHEDULER
from muster.engine.reservations import Reservation, Reservations
from muster.engine.unit import Unit
from muster.framework.profile import Profile
from muster.gangs.model import Aspect


class Eviction:
    """The only one who asks for pods of other units to be deleted."""

    def __init__(
        self,
        cluster: Cluster,
        profile: Profile,
        *,
        intake: Intake,
        reservations: Reservations,
        decisions: list[Decision],
    ) -> None:
        self._cluster = cluster
        self._scheduler = profile.scheduler_names[0]
        self._intake = intake
        self._reservations = reservations
        self._decisions = decisions
        self.gave_way = False
        """Some gave up their binds for others, and nobody has looked at who waits again since."""
        self._evictions: list[Decision] = []
        self._victims: dict[str, list[list[PodState]]] = {}
        """By unit for which room is reserved: whom it evicts, those together who stay or go together."""
        self._ended: list[tuple[Reservation, list[list[PodState]]]] = []
        """What was reserved for units that evict others, and is not any more, since this was last settled; and whom."""
        self._landed: dict[str, Reservation] = {}
        """What was reserved for units for which others were evicted, and that have landed since this was last settled,
        unless they gave that up again."""
        self._hit: dict[str, str] = {}
        """Gangs that lost members since this was last settled, and what their objects are to say if nothing is left."""

    @property
    def pending(self) -> bool:
        """Whether somebody is to be evicted who has not been told: then the unit waits, even if some of it fits."""
        return bool(self._evictions)

    def take(self) -> list[Decision]:
        """The evictions since this was last asked; to be told when the unit's pods say where room is reserved."""
        taken, self._evictions = self._evictions, []
        return taken

    def give_up_binds(self, unit: Unit, pods: list[PodState], now: float) -> bool:
        """Those of the pods that are not bound yet, or to no node, make way by waiting again; whether anybody did."""
        gave_way, taken_back = False, set[str]()
        for pod in sorted(pods, key=lambda pod: pod.key):
            if pod.stage is not Stage.BINDING:
                continue
            not_sent = self._take_back(pod)
            if not_sent:
                taken_back.add(pod.gang or pod.uid)
            if pod.setbacks.answered or not_sent or (pod.stranded and pod.setbacks.retries_later):
                self._intake.move(pod, Stage.PENDING)
                self._cluster.stirred[unit.key] = None
                gave_way = self.gave_way = True
        for key in [key for key in self._landed if key in taken_back]:
            reservation = self._landed.pop(key)
            self._count_loss(reservation, Loss.PRIORITY, now)
            self._tell_lost(reservation, Loss.PRIORITY, f"{unit.name}, of higher priority, takes its room")
        return gave_way

    def carry_out(self, unit: Unit, plan: Plan, now: float, *, gave_way: bool) -> None:
        """Evicts who must go, takes room from those for whom less precious room is reserved, and keeps the unit's.

        `gave_way` says that others gave up their binds for it.
        """
        name = unit.name
        for victim in plan.victims:
            if victim.reservation:
                self.lose(victim.reservation, Loss.PRIORITY, f"{name}, of higher priority, takes its room", now)
        together = [list(victim.pods) for victim in plan.victims if not victim.reservation]
        going = plan.pods
        if going:
            unit.efforts.evicts(now)
            self._condemn(unit.key, going, lost_to=name, now=now)
        # else nobody went for these places, and whoever is first when they are free may have them
        if plan.victims or gave_way or self._reservations.makes_way(plan.places):
            reservation = self._reservations.make(
                unit.key, plan.places, priority=unit.priority, evicted=bool(going), now=now
            )
            if going:
                self._victims[unit.key] = together
                evict = self._evict(reservation, going)
                self._evictions.append(evict)
                self._hit |= {pod.gang: f"{evict.message} {name}" for pod in going if pod.gang is not None}
            if not reservation.waits_for:
                # who must go is elsewhere: nobody's leaving will tell that there is room
                self._cluster.stirred[unit.key] = None

    def _take_back(self, pod: PodState) -> bool:
        """Whether a bind of the pod that was decided in this turn, and is surely the only one, need not be sent."""
        if pod.setbacks.repeats:
            return False
        for number, decision in enumerate(self._decisions):
            if isinstance(decision, Bind) and any(placement.uid == pod.uid for placement in decision.pods):
                left = tuple(placement for placement in decision.pods if placement.uid != pod.uid)
                self._decisions[number : number + 1] = [replace(decision, pods=left)] if left else []
                return True
        return False

    def _condemn(self, key: str, pods: list[PodState], *, lost_to: str, now: float) -> None:
        gangs = {pod.gang: gang for pod in pods if (gang := self._gang_of(pod)) is not None}
        # as each gang is before any of these goes
        before = {name: Condemned(key, gang.lost_to, gang.fallen) for name, gang in gangs.items()}
        for pod in sorted(pods, key=lambda pod: pod.key):
            # until its object says how much grace it has
            pod.leaving_until, pod.evicted = now, True
            self._intake.move(pod, pod.stage, leaving=True, condemned=before.get(pod.gang) or Condemned(key))
            gang = gangs.get(pod.gang)
            if gang is not None:
                gang.lost_to = lost_to
                if gang.below_minimum and not gang.running and not gang.binding:
                    # its other members must not start without those
                    gang.fallen = True

    def _evict(self, reservation: Reservation, pods: list[PodState]) -> Evict:
        """What the driver is asked to do: the pods go once it stands on the API for whom."""
        first, gang = reservation.pods[0], self._cluster.gangs.get(reservation.unit)
        # upstream writes a UID here, and "node cluster" for a group; people look for a name
        kind, where = ("pod", f" on node {first.reserved}") if gang is None else ("podgroup", "")
        return Evict(
            _name(reservation),
            tuple(PodRef(pod.uid, pod.key) for pod in sorted(pods, key=lambda pod: pod.key)),
            BY_SCHEDULER,
            f"{self._scheduler}: preempting to accommodate a higher priority {kind}",
            after=tuple(pod.uid for pod in reservation.pods),
            note=f"Preempted by {kind} {_name(reservation)}{where}",
        )

    # --- what is called off ---

    def lands(self, key: str, now: float) -> None:
        """The unit is bound, and needs nothing any more that is reserved for it."""
        reservation = self._ends(key, now)
        if reservation is not None and reservation.evicted:
            self._landed[key] = reservation

    def _ends(self, key: str, now: float) -> Reservation | None:
        """Nothing is reserved for the unit any more: it lands, or loses what was reserved."""
        reservation = self._reservations.end(key, now)
        if reservation is not None and (together := self._victims.pop(key, None)) is not None:
            self._ended.append((reservation, together))
        return reservation

    def settle(self) -> None:
        """Who is to be evicted for nobody any more is called off; to be asked when all that can be decided is.

        Where room is reserved for another unit, or for the same one again, the pods go for that one.
        """
        ended, self._ended = self._ended, []
        self._landed.clear()
        hit, self._hit = self._hit, {}
        for reservation, together in ended:
            for pods in together:
                known = (self._cluster.pods.get(pod.uid) for pod in pods)
                for pod in self._call_off(reservation, [pod for pod in known if pod is not None]):
                    # it may be spared, and then something of its gang is left
                    hit.pop(pod.gang or "", None)
        for key, message in hit.items():
            gang = self._cluster.gangs.get(key)
            if gang is not None and not gang.lives:
                self._evicted_whole(gang, message)

    def _call_off(self, reservation: Reservation, pods: list[PodState]) -> list[PodState]:
        """Takes the eviction of pods back that stay or go together; returns those who may be spared.

        Who was seen to go may have been deleted by somebody else: the driver knows, and spares all or none.
        """
        condemned = [pod for pod in pods if pod.condemned is not None]
        heir = self._heir(condemned) if condemned else None
        if heir is not None:
            self._hand_over(condemned, heir)
            return []
        if condemned:
            # whose gang was undone meanwhile goes for that
            evicted = sorted((pod for pod in pods if pod.evicted), key=lambda pod: pod.key)
            refs = tuple(PodRef(pod.uid, pod.key) for pod in evicted)
            self._decisions.append(CallOff(_name(reservation), refs))
        return condemned

    def _heir(self, pods: list[PodState]) -> Reservation | None:
        """Whose room the pods are in the way of, and who may evict them: the most important of such units."""
        there = (other for pod in pods for other in self._cluster.reserved_on.get(pod.node, {}).values())
        units = dict.fromkeys(other.gang or other.uid for other in there)
        level = max(pod.level for pod in pods)
        made = [found for found in map(self._reservations.of, units) if found is not None]
        may = [found for found in made if min(found.priority, self._priority(found)) > level]
        return min(may, key=lambda reservation: (-reservation.priority, reservation.unit), default=None)

    def _priority(self, reservation: Reservation) -> int:
        """Of the unit as it is: who joined it since room was reserved may have lowered it."""
        gang = self._cluster.gangs.get(reservation.unit)
        return reservation.pods[0].priority if gang is None else gang.priority

    def _hand_over(self, pods: list[PodState], heir: Reservation) -> None:
        for pod in pods:
            assert pod.condemned is not None
            pod.condemned = replace(pod.condemned, unit=heir.unit)
            if (gang := self._gang_of(pod)) is not None:
                gang.lost_to = _name(heir)
        heir.evicted = True
        self._victims.setdefault(heir.unit, []).append(pods)
        self._decisions.append(self._evict(heir, pods))

    def spared(self, pod: PodState) -> bool:
        """The driver has not deleted the pod, and will not; whether the engine counted on that."""
        before = pod.condemned
        if before is None:
            return False
        pod.evicted, pod.leaving_until = False, None
        self._intake.move(pod, pod.stage, leaving=False)
        gang = self._gang_of(pod)
        if gang is None:
            return True
        if not any(member.evicted for member in gang.members.values()):
            gang.lost_to = before.lost_to
        if gang.fallen and not before.fallen and (gang.running or gang.binding):
            gang.goes_on()
        return True

    # --- what is lost ---

    def _evicted_whole(self, gang: GangState, message: str) -> None:
        """Nothing of the gang is left; its object says for whom, unless another scheduler speaks of it."""
        said = (True, BY_SCHEDULER, message)
        if gang.declared is not None and not gang.foreign and gang.evicted_said != said:
            gang.evicted_said = said
            if gang.declared.has_status:
                self._decisions.append(GangCondition(gang.key, *said, Aspect.EVICTED, gang.declared.uid))

    def lose(self, key: str, why: Loss | None, message: str, now: float) -> Reservation | None:
        """Nothing is reserved for the unit any more, and people learn why if others were evicted for it in vain."""
        reservation = self._ends(key, now)
        if reservation is None:
            return None
        self._cluster.stirred[key] = None
        if reservation.evicted and why is not None:
            self._count_loss(reservation, why, now)
            self._tell_lost(reservation, why, message)
        return reservation

    def _count_loss(self, reservation: Reservation, why: Loss, now: float) -> None:
        key = reservation.unit
        preemptor = self._cluster.gangs.get(key) or self._cluster.pods.get(key)
        efforts = None if preemptor is None else preemptor.efforts
        if efforts is not None and why is Loss.PRIORITY:
            # what is lost to a better one is no sign that it would be lost again
            efforts.rounds = max(0, efforts.rounds - 1)
        elif efforts is not None and why is Loss.FOREIGN:
            efforts.rests_until = now + 2.0 ** (efforts.rounds - 1)

    def _tell_lost(self, reservation: Reservation, why: Loss, message: str) -> None:
        message = f"room that others were evicted for is lost: {message}"
        first, key = reservation.pods[0], reservation.unit
        lone = first.gang is None
        self._decisions.append(Lost(_name(reservation), why, message))
        refs = (PodRef(first.uid, first.key),) if lone and key in self._cluster.pods else ()
        gang = "" if lone else key
        if refs or gang:
            self._decisions.append(
                Event(reason="PreemptionLost", note=message, action="Preempting", warning=True, pods=refs, gang=gang)
            )

    def _gang_of(self, pod: PodState) -> GangState | None:
        return self._cluster.gangs.get(pod.gang) if pod.gang else None


def _name(reservation: Reservation) -> str:
    """How people know the unit that room is reserved for."""
    first = reservation.pods[0]
    return first.key if first.gang is None else reservation.unit
