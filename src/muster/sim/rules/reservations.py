"""Room that is kept for units, as nominations and decisions tell.

A nomination on a pod means that room is kept for it, until its unit is bound, loses it, or somebody of higher
priority takes it.  Nobody of equal or lower priority may be bound into it.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import combinations

from muster.api.wire import Pod
from muster.engine.decisions import Bind, Decision, Evict, Lost, Placement, PodCondition
from muster.sim.plain import Place, collide, fits, take
from muster.sim.reading import Reading, Waiting
from muster.sim.rules.broken import BrokenRuleError
from muster.sim.rules.scene import Keep, Scene
from muster.sim.world import World

_LOWEST = -(2**31)


class Reservations:
    """Knows which nominations still count."""

    def __init__(self, world: World, reading: Reading) -> None:
        self._world = world
        self._reading = reading
        self.broken: set[str] = set()
        """Pods that are nominated, and nothing is kept for them."""
        self._lost: dict[str, str] = {}
        """Those of them whose unit lost what was kept for it, by unit: it may get the same again."""

    def restarted(self) -> None:
        """A new scheduler keeps what nominations say."""
        self.broken.clear()
        self._lost.clear()

    def review(self, *, aside: Container[str]) -> None:
        """Nothing more is to be said: nominations of units that lost them stand again, unless those stand `aside`."""
        for uid, unit in list(self._lost.items()):
            if unit not in aside:
                self.broken.discard(uid)
                del self._lost[uid]

    def renew(self, unit: Waiting, scene: Scene) -> None:
        """Somebody is evicted for the unit: what its pods say is kept for it, even if that was lost before."""
        for pod in unit.pods:
            uid = pod.metadata.uid
            if uid in self._lost and uid in scene.perhaps:
                self._stand(pod, scene)
        for pod in unit.pods:
            uid = pod.metadata.uid
            # the same node as before a bind that failed
            lacks = len(scene.kept_for(unit.key)) < unit.need
            if lacks and uid in scene.perhaps and uid not in scene.doubtful:
                self._stand(pod, scene)

    def _stand(self, pod: Pod, scene: Scene) -> None:
        scene.keep(pod, scene.perhaps[pod.metadata.uid].node)
        self._mend(pod.metadata.uid)

    def _mend(self, uid: str) -> None:
        self.broken.discard(uid)
        self._lost.pop(uid, None)

    def _lose(self, unit: str, scene: Scene) -> None:
        for uid in scene.drop(unit):
            self.broken.add(uid)
            self._lost[uid] = unit

    def check(self, decision: Bind, unit: Waiting, scene: Scene, *, again: set[str]) -> None:
        """Looks at a bind before it is played; pods in `again` are tried once more where they were."""
        keeps = (*scene.reserved.values(), *scene.perhaps.values())
        own = {keep.node for keep in keeps if keep.unit == unit.key}

        def before(keep: Keep) -> bool:
            """Where room is kept for both of two equals and one is lost, either may have kept it."""
            if keep.node in own:
                return keep.priority > unit.priority
            return keep.unit != unit.key and keep.priority >= unit.priority

        stands = scene.places(kept=before)
        for placement in decision.pods:
            if placement.uid in again:
                continue
            needs, place = self._reading.needs_of(self._world.pods[placement.uid]), stands[placement.node]
            if not fits(needs, place):
                raise BrokenRuleError("reservation", self._tell(placement, unit, scene))
            take(needs, place)

    def _tell(self, placement: Placement, unit: Waiting, scene: Scene) -> str:
        whose = {keep.unit for keep in scene.reserved.values() if keep.node == placement.node}
        return (
            f"{placement.pod} of {unit.key} (priority {unit.priority}) is bound to {placement.node}, where room is "
            f"kept for {', '.join(sorted(whose - {unit.key}))}"
        )

    def play(self, decision: Decision, scene: Scene, *, evicted: set[str]) -> set[str]:
        """Hears a decision after it was played; returns the units that lost what was kept for them.

        `evicted` are leaving too, as decisions further on say.
        """
        if isinstance(decision, Lost):
            self._lose(decision.unit, scene)
            return {decision.unit}
        if isinstance(decision, PodCondition):
            for ref in decision.pods:
                self._mend(ref.uid)
            return self._overflow(scene, evicted) if decision.nominated else set()
        if isinstance(decision, Bind):
            who = self._world.pods[decision.pods[0].uid]
            return self._overflow(scene, evicted, by=scene.priority_of(who))
        return set()

    def bound(self, decision: Bind, scene: Scene) -> None:
        """A unit is bound: nothing is kept for it any more, even if some of the binds will fail."""
        bound = {placement.uid for placement in decision.pods}
        self.broken.update(bound)
        self._lost.update({uid: decision.unit for uid in scene.kept_for(decision.unit) if uid not in bound})
        self.broken.update(self._lost)

    def _overflow(self, scene: Scene, evicted: set[str], by: int = _LOWEST) -> set[str]:
        """Where more is kept than there will be, those of lower priority have lost: they learn it in their turn."""
        lost: set[str] = set()
        places = scene.places(gone=scene.leaving | evicted, kept=lambda keep: True)
        for node in [node for node, place in places.items() if _too_much(place)]:
            here = [keep for keep in scene.reserved.values() if keep.node == node]
            highest = max([by, *(keep.priority for keep in here)])
            lost.update(keep.unit for keep in here if keep.priority < highest)
        for unit in lost:
            self._lose(unit, scene)
        return lost


def _too_much(place: Place) -> bool:
    return min(place.room.values()) < 0 or any(collide(*two) for two in combinations(place.ports, 2))


def evicted_by(decisions: list[Decision]) -> set[str]:
    return {ref.uid for decision in decisions if isinstance(decision, Evict) for ref in decision.pods}
