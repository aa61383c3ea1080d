"""What must hold in every world, recomputed from the objects: never from what the engine keeps.

`told` hears every change, `before` sees every batch of decisions before it is carried out, `after` looks
at the world whenever the engine has nothing more to say, `at_rest` when nothing will change any more.
A rule that does not hold raises BrokenRuleError.  Families of rules have modules of their own (rules/).
"""

from __future__ import annotations

from collections import Counter

from muster.api.times import seconds
from muster.api.wire import Pod
from muster.engine.changes import BindFailed, Change, GroupRead, NodeSeen
from muster.engine.decisions import (
    Bind,
    CallOff,
    Decision,
    Event,
    Evict,
    GangCondition,
    Loss,
    Lost,
    Placement,
    PodCondition,
    PodRef,
    Release,
    Reread,
)
from muster.engine.reasons import TIMEOUT
from muster.framework.profile import Fairness, PreemptionSettings
from muster.gangs.dialects.v1beta1 import START_TIMEOUT_ANNOTATION
from muster.gangs.model import Aspect
from muster.gangs.record import bound_for
from muster.sim.open_binds import OpenBinds
from muster.sim.plain import (
    ENDED,
    Place,
    Port,
    admits,
    asks_in_vain,
    collide,
    fits,
    group_asks_in_vain,
    key_of,
    lacks_claims,
    take,
    unit_of,
)
from muster.sim.reading import MEMBERS_REFUSED, OURS, Gang, Reading, Waiting
from muster.sim.rules.broken import BrokenRuleError
from muster.sim.rules.evictions import Condemned, Evictions
from muster.sim.rules.life import Life
from muster.sim.rules.neighbours import Neighbour, has_rules, refusal
from muster.sim.rules.passes import Passes
from muster.sim.rules.reservations import Reservations, evicted_by
from muster.sim.rules.scene import Places, Scene
from muster.sim.rules.starts import Starts
from muster.sim.rules.words import ERROR, Words
from muster.sim.world import World

__all__ = ["BrokenRuleError", "Invariants"]

# stamps are whole seconds, so what the objects say of a time may be so much too early
_STAMP_SECONDS = 1.0
# so long after the last victim has left a gang must be whole, or is undone
_WAITED_SECONDS = 5.0
# a denial is final after 5 s; the try that is under way then may take long
_DENIED_SECONDS = 16.0

# what a group says when members are denied for good, not only so far
_GIVEN_UP = " may not be bound: "

_SEEN_BY_ALL = (Loss.NODE, Loss.FOREIGN, Loss.VICTIMS)
Gangs = dict[str, Gang]


class _Waited:
    """How long a half-bound gang waited for others to leave."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.until = 0.0
        self.anew = True
        """The scheduler does not know for how long it has."""
        self._since: float | None = None

    def look(self, now: float, *, kept: bool, first_bound: float) -> None:
        if self._since is not None:
            self.seconds += now - self._since
        if kept and self.anew:
            self.seconds = max(self.seconds, now - first_bound)
        if kept:
            self.until = now
        self.anew = False
        self._since = now if kept else None


class Invariants:
    """Watches one scheduler of one world."""

    def __init__(
        self,
        world: World,
        *,
        scheduler: str = OURS,
        alone: bool = True,
        preemption: PreemptionSettings | None = None,
        fairness: Fairness | None = None,
        sound: bool = True,
    ) -> None:
        """`alone`: nobody else binds pods without knowing what this scheduler has under way.

        Not `sound`: plugins raise, and any unit may wait a while for that, passed by others.
        """
        preemption, fairness = preemption or PreemptionSettings(), fairness or Fairness()
        self._world = world
        self._scheduler = scheduler
        self._alone = alone
        self._sound = sound
        self._patience = preemption.patience_seconds
        self._condemned: dict[str, Condemned] = {}
        """By UID: pods that this scheduler decided to evict, and whose deletions have not gone out."""
        self._binds = OpenBinds(world, scheduler=scheduler, condemned=self._condemned)
        self._starts = Starts(world, scheduler=scheduler, condemned=self._condemned)
        self._life = Life(world, scheduler=scheduler, began=self._starts.began)
        self._reading = Reading(
            world,
            scheduler=scheduler,
            held=self._binds.held,
            doubtful=self._binds.doubtful,
            fallen=self._life.fallen,
            spared=self._life.spared,
            began=self._starts.began,
            condemned=self._condemned,
        )
        self._words = Words(world, self._reading, alone=alone)
        self._reservations = Reservations(world, self._reading)
        self._evictions = Evictions(world, self._reading, preemption, condemned=self._condemned, sound=sound)
        self._passes = Passes(world, self._reading, per_member=fairness.passes_per_member or float("inf"))
        self._seen: Counter[str] = Counter()
        self._mixed: set[str] = set()
        """Units of mixed shapes, or that look at others, once: not finding a place for them is no proof, so they back
        off."""
        self._missed: set[str] = set()
        """Those of them that the oracle found a place for while they waited."""
        self._started: set[str] = set()
        """UIDs of groups that had their minimum bound once."""
        self._waited: dict[str, _Waited] = {}
        """By UID: half-bound gangs that waited for others to leave, which does not count for their time-out."""
        self._held_parts: dict[str, float] = {}
        """By UID: when gangs last asked that what is bound of them be kept."""
        self._asked: dict[str, int] = {}
        """Gangs whose objects are being read again, and the number of that: members of theirs may wait for it."""
        self._excused: set[str] = set()
        """Nodes that shrank below what is on them."""

    # --- hearing and seeing ---

    def told(self, change: Change) -> None:
        self._binds.told(change)
        self._life.told(change)
        if whole := self._starts.told(change):
            self._life.is_whole(whole)
        self._words.told(change)
        self._evictions.told(change)
        self._passes.untidy |= isinstance(change, BindFailed)
        if isinstance(change, GroupRead) and self._asked.get(change.key) == change.number:
            del self._asked[change.key]
        if isinstance(change, NodeSeen):
            name = change.node.metadata.name
            if min(self.room_left()[name].room.values()) < 0:
                self._excused.add(name)

    def restarted(self) -> None:
        self._asked.clear()
        self._binds.restarted()
        self._starts.restarted()
        self._life.restarted(self._reading.gangs())
        self._words.restarted()
        self._reservations.restarted()
        self._evictions.restarted()
        self._passes.restarted(self._reading.gangs())
        self._passes.untidy = True
        for gang in self._reading.gangs().values():
            if gang.group is not None and any(pod.status.nominated_node_name for pod in gang.candidates):
                waited = self._waited.setdefault(gang.group.metadata.uid, _Waited())
                waited.anew = True
                waited.look(self._world.now, kept=True, first_bound=min(gang.bound_times, default=self._world.now))

    def before(self, decisions: list[Decision]) -> None:
        """Looks at a batch of decisions before any of them is carried out."""
        if all(isinstance(decision, Event) for decision in decisions):
            return
        # who waits for that need not go first
        self._asked |= {d.gang: d.number for d in decisions if isinstance(d, Reread)}
        scene = self._scene()
        evicted = evicted_by(decisions)
        stood = {d.unit for d in decisions if isinstance(d, Evict) and self._stands(d.unit, scene)}
        bound: set[str] = set()
        for decision in decisions:
            if isinstance(decision, Bind):
                # one whose answer got lost may be bound already: it is asked for once more whoever is evicted
                bound |= {p.uid for p in decision.pods if not self._binds.may_have_landed(p.uid)}
                self._check_bind(decision, scene)
                stood = {unit for unit in stood if unit != decision.unit and self._stands(unit, scene)}
            elif isinstance(decision, Release):
                self._check_release(decision, scene)
            elif isinstance(decision, PodCondition):
                self._words.check_pods(decision, scene)
                scene.say(decision)
                said = {unit_of(self._world.pods[ref.uid]) for ref in decision.pods}
                stood = {unit for unit in stood if unit in said or self._stands(unit, scene)}
            elif isinstance(decision, GangCondition):
                self._check_gang_condition(decision, scene, evicted=evicted)
            elif isinstance(decision, Evict):
                if not bound.isdisjoint(ref.uid for ref in decision.pods):
                    raise BrokenRuleError("order", f"pods are bound, and evicted for {decision.unit} in the same turn")
                self._check_evict(decision, scene, evicted=evicted, stood=decision.unit in stood)
            elif isinstance(decision, CallOff):
                self._evictions.call_off(decision)
            elif isinstance(decision, Lost):
                if decision.why in _SEEN_BY_ALL and self._all_stands(decision.unit, scene):
                    raise BrokenRuleError(
                        "lost", f"what is kept for {decision.unit} still serves it: {decision.message}"
                    )
                self._evictions.lost(decision.unit, decision.why)
            stood -= self._reservations.play(decision, scene, evicted=evicted)
        called_off = {ref.uid for decision in decisions if isinstance(decision, CallOff) for ref in decision.pods}
        # who is handed over to another unit was spoken of before, on an object that may have been made anew since
        first = {uid for uid in evicted if uid not in self._condemned or not self._condemned[uid].unit}
        self._life.check_evicted(first, scene, called_off=called_off)
        for uid in self._evictions.end_batch():
            self._life.condemned(uid)

    def goes(self, refs: list[PodRef], unit: str) -> None:
        """Hears that the deletions of these pods go out, for the unit."""
        self._evictions.goes(refs, unit)

    def after(self) -> None:
        """Looks at the world when the engine has nothing more to say."""
        self._reservations.review(aside=self._mixed | self._binds.refused)
        scene = self._scene()
        self._life.review(scene.gangs)
        self._passes.review(scene)
        self._evictions.review(self._candidates(scene), scene.gangs)
        self._check_room(scene)
        self._words.review(scene.gangs)
        for gang in scene.gangs.values():
            if self._undone_without_a_word(gang):
                self._binds.undone(gang)
            self._check_half_bound(gang, scene)
        for unit in scene.waiting:
            if _needs_what_nobody_knows(unit):
                continue
            if not self._reading.exact(unit):
                self._look_at_mixed(unit, scene.left_for(unit))
            elif not self._may_back_off(unit.key):
                self._check_does_not_fit(unit, scene)

    def at_rest(self) -> None:
        """Looks at the world when nothing will change any more: nobody waits who fits, everybody knows why."""
        if self._world.in_flight or self._binds.held:
            raise BrokenRuleError("rest", f"binds are open: {[*self._world.in_flight, *self._binds.held]}")
        if self._asked:
            raise BrokenRuleError("rest", f"groups are to be read again, and nobody does: {[*self._asked]}")
        if self._condemned:
            raise BrokenRuleError("rest", f"evictions neither went out nor were called off: {[*self._condemned]}")
        scene = self._scene()
        for unit in scene.waiting:
            self._check_waits(unit, scene)
            self._check_nobody_keeps_it(unit, scene)
            self._check_may_not_evict(unit, scene)
            self._words.check_waits(unit)
        for gang in scene.gangs.values():
            self._words.check_says(gang)
            self._life.at_rest(gang)
        self._words.check_nominations()
        self._words.check_asks()
        self._evictions.at_rest()

    def _scene(self) -> Scene:
        gangs = self._reading.gangs()
        if self._binds.held or self._binds.doubtful:
            # where others bind without knowing of ours, nodes need not shrink to be too small
            full = {name for name, place in self.room_left().items() if min(place.room.values()) < 0}
            # one bind that is given up may leave too few for the others of its gang
            while self._binds.review(gangs, shrunk=self._excused | full):
                gangs = self._reading.gangs()
        scene = Scene(
            self._world,
            self._reading,
            gangs,
            broken=self._reservations.broken,
            condemned={uid: known.since for uid, known in self._condemned.items()},
            patience=self._patience,
        )
        for uid, placement in self._binds.doubtful.items():
            scene.doubt(uid, placement.node)
        return scene

    # --- what others may ask ---

    @property
    def seen(self) -> Counter[str]:
        """What was looked at, and what the fast path missed."""
        return self._seen + self._evictions.seen + self._passes.seen + self._life.seen

    @property
    def troubled(self) -> bool:
        """Whether the engine may know more than the objects say: of failed binds, backoff, passes, half-bound gangs."""
        scene = self._scene()
        return (
            bool(self._binds.failures)
            or self._passes.any
            or any(gang.partial for gang in scene.gangs.values())
            or any(self._may_back_off(unit.key) for unit in scene.waiting)
        )

    def waits(self, pod: Pod) -> bool:
        """Ours, pending, and no bind of it is open."""
        return self._reading.waits(pod)

    def room_left(self) -> Places:
        """The room that nobody takes, or may still take because of a bind that failed."""
        places = self._reading.places()
        for uid, placement in self._binds.doubtful.items():
            if placement.node in places:
                take(self._reading.needs_of(self._world.pods[uid]), places[placement.node])
        return places

    def _may_back_off(self, key: str) -> bool:
        backs_off = key in self._mixed or key in self._binds.refused or key in self._asked
        return backs_off or not self._sound

    def _candidates(self, scene: Scene) -> set[str]:
        """Units that still have something to place."""
        unbound = (pod for pod in self._world.pods.values() if not pod.spec.node_name)
        lone = {key_of(pod) for pod in unbound if self._reading.waits(pod)}
        return lone | {gang.key for gang in scene.gangs.values() if gang.candidates}

    # --- binds ---

    def _check_bind(self, decision: Bind, scene: Scene) -> None:
        uids = {placement.uid for placement in decision.pods}
        if not uids or len(uids) != len(decision.pods):
            raise BrokenRuleError("bound once", f"one decision names a pod twice, or none: {decision}")
        pods = [self._check_candidate(placement, decision.unit) for placement in decision.pods]
        again = {placement.uid for placement in decision.pods if self._binds.tried_there(placement)}
        unit = scene.unit(decision.unit)
        if unit is not None and not uids <= again:
            self._check_order(unit, scene)
        room = scene.places()
        for placement, pod in zip(decision.pods, pods, strict=True):
            self._check_place(placement, pod, room)
        self._check_neighbours(decision, scene, again=again)
        whole = scene.unit_or_rest(decision.unit)
        if whole is not None:
            self._reservations.check(decision, whole, scene, again=again)
        if pods[0].spec.scheduling_group is not None:
            self._check_gang_bind(decision, scene)
        # what was kept for the unit before others were passed too often is its own
        keeps = (*scene.reserved.values(), *scene.perhaps.values())
        own = {keep.node for keep in keeps if keep.unit == decision.unit}
        self._reservations.bound(decision, scene)
        self._binds.sends(decision)
        scene.bind(decision)
        if whole is not None:
            # a basic group may be bound twice in a turn, and passes others each time
            nodes = {placement.node for placement in decision.pods}
            # whose group is being read again may not be decided before that, and has nothing held for it
            unsure = self._mixed | self._binds.refused | scene.shaken | self._asked.keys()
            # members that stay behind take nothing from anybody
            passer = whole._replace(pods=pods)
            sure = self._sound and not uids <= again
            self._passes.bound(passer, nodes, scene, own=own, unsure=unsure, sure=sure)
        self._evictions.bound(decision.unit)
        self._starts.decided(decision)

    def _check_candidate(self, placement: Placement, unit: str) -> Pod:
        pod = self._world.pods.get(placement.uid)
        if pod is None or key_of(pod) != placement.pod:
            raise BrokenRuleError("bound once", f"{placement.pod} is bound but does not exist")
        if pod.spec.node_name or placement.uid in self._world.in_flight:
            raise BrokenRuleError("bound once", f"{placement.pod} is bound again, to {placement.node}")
        if pod.spec.scheduler_name != self._scheduler or pod.status.phase in ENDED or unit_of(pod) != unit:
            raise BrokenRuleError("bound once", f"{placement.pod} is not for {unit} to bind")
        if pod.spec.scheduling_gates:
            raise BrokenRuleError("gates", f"{placement.pod} is bound with gates")
        if asks_in_vain(pod) or lacks_claims(pod):
            raise BrokenRuleError("asks", f"{placement.pod} is bound without what it asks for")
        if self._reading.leaves(pod):
            raise BrokenRuleError("leaving", f"{placement.pod} is bound while it is being deleted")
        return pod

    def _check_place(self, placement: Placement, pod: Pod, room: Places) -> None:
        node = self._world.nodes.get(placement.node)
        if node is None:
            raise BrokenRuleError("no pod lost", f"{placement.pod} is bound to {placement.node}, which is not there")
        held = self._binds.held.get(placement.uid)
        if held is not None and held.node != placement.node:
            raise BrokenRuleError(
                "bound once", f"{placement.pod} may be on {held.node} already, and goes to {placement.node}"
            )
        if held is not None:
            return  # its room is counted, and its node's facts may have changed since
        if not admits(node, pod) and not self._binds.tried_there(placement):
            raise BrokenRuleError("node rules", f"{placement.node} does not admit {placement.pod}")
        needs, place = self._reading.needs_of(pod), room[placement.node]
        # others may have taken it since; our kubelet will tell
        excused = not self._alone and self._binds.tried_there(placement)
        if any(collide(port, taken) for port in needs.ports for taken in place.ports) and not excused:
            raise BrokenRuleError("ports", f"{placement.pod} wants a port that is taken on {placement.node}")
        excused |= placement.node in self._excused and self._binds.tried_there(placement)
        if not fits(needs, place) and not excused:
            raise BrokenRuleError("over-commit", f"{placement.pod} does not fit on {placement.node}: {place.room}")
        take(needs, place)

    def _check_neighbours(self, decision: Bind, scene: Scene, *, again: set[str]) -> None:
        """Nobody breaks what pods require of each other; members go one after another, as they are listed."""
        around = scene.around(decision.unit, {placement.uid for placement in decision.pods})
        for placement in decision.pods:
            neighbour = Neighbour(self._world.pods[placement.uid], self._world.nodes[placement.node])
            # where it was sent once it may be already
            if placement.uid not in again and (broken := refusal(neighbour.pod, neighbour.node, around)):
                raise BrokenRuleError("neighbours", f"{placement.pod} goes to {placement.node}: {broken}")
            self._seen["pods bound that require something of others"] += has_rules(neighbour.pod)
            around.surely.append(neighbour)

    def _check_gang_bind(self, decision: Bind, scene: Scene) -> None:
        """All or nothing; but what is half bound already may be tried again as long as its time lasts."""
        gang = scene.gangs[decision.unit]
        if gang.group is None:
            raise BrokenRuleError("gang whole", f"{gang.key} is bound but not declared")
        for placement in decision.pods:
            if gang.odd(self._world.pods[placement.uid]) and not self._binds.tried_there(placement):
                raise BrokenRuleError("one priority", f"{placement.pod} is bound, of another priority than its group")
        if group_asks_in_vain(gang.group) and not all(
            self._binds.tried_there(placement) for placement in decision.pods
        ):
            raise BrokenRuleError("asks", f"{gang.key} is bound without what its group asks for")
        if gang.has_started or (gang.group.metadata.uid in self._started and not gang.fallen):
            self._check_join(decision, gang, scene)
            return
        again = all(self._binds.tried_there(placement) for placement in decision.pods)
        # one that has its minimum of members that succeeded has started
        if gang.gated and not again and not gang.started:
            raise BrokenRuleError("gates", f"{gang.key} is bound, and {gang.gated} members have gates")
        if gang.at_odds and not again:
            raise BrokenRuleError("one priority", f"{gang.key} starts, and members are of another priority")
        if again and gang.running:
            return
        kept = {uid for uid in self._binds.doubtful if unit_of(self._world.pods[uid]) == gang.key}
        more = kept | {placement.uid for placement in decision.pods} - self._binds.held.keys()
        more |= scene.bound.get(gang.key, set())
        have = gang.bound + gang.binding + len(more)
        if have < gang.minimum:
            raise BrokenRuleError("gang whole", f"{gang.key} is bound with {have} of {gang.minimum}: {decision.pods}")

    def _check_join(self, decision: Bind, gang: Gang, scene: Scene) -> None:
        """What a gang lost since its start comes back one by one, what it never had only together up to its minimum."""
        if all(self._binds.tried_there(placement) for placement in decision.pods):
            return
        surely = {placement.uid for placement in decision.pods} | scene.bound.get(gang.key, set())
        # those may still count as being bound, or not any more
        perhaps = {uid for uid in self._binds.doubtful if unit_of(self._world.pods[uid]) == gang.key}
        have = gang.bound + gang.binding + len(surely - self._binds.held.keys())
        if gang.doubtful and not (gang.running or gang.binding) and have >= gang.minimum:
            # if those who may be bound are not, nothing is left of it: it starts again, by what it is known to declare
            return
        if (gang.key, Aspect.STARTED) in scene.gangs_said and gang.has_unrecorded:
            # it has just been seen to have started with whom others bound: what those were promised is not known
            return
        most = have + len(perhaps - surely - self._binds.held.keys())
        minimum = self._minimum_for(decision, gang)
        if all(gang.floor < number < minimum for number in range(have, most + 1)):
            raise BrokenRuleError(
                "gang whole", f"{gang.key} has started with {gang.floor}, needs {minimum} now, and gets {have}"
            )

    def _minimum_for(self, decision: Bind, gang: Gang) -> int:
        """What the group asked for when the last of the pods came, or later if the scheduler knows more by now."""
        world = self._world
        newest = max(world.born_under[placement.uid][0] for placement in decision.pods)
        group = next(g for p in decision.pods for version, g in (world.born_under[p.uid],) if version == newest)
        policy = None if group is None else group.spec.scheduling_policy.gang
        return gang.minimum if newest <= world.versions_told[gang.key] or policy is None else policy.min_count

    def _check_order(self, mine: Waiting, scene: Scene) -> None:
        """Nobody goes first while a better one that may be decided fits."""
        for unit in scene.waiting:
            if unit.order >= mine.order:
                return
            sure = self._reading.exact(unit) and not self._may_back_off(unit.key) and unit.key not in scene.shaken
            sure = sure and not _needs_what_nobody_knows(unit)
            if sure and self._reading.fits(unit, self._surely_left(unit, scene)):
                raise BrokenRuleError(
                    "order", f"{mine.key} {mine.order} goes before {unit.key} {unit.order}, which fits"
                )

    def _surely_left(self, unit: Waiting, scene: Scene) -> Places:
        """Room that nobody else has, keeps, or holds from the unit."""
        left = scene.left_for(unit)
        for node in self._passes.held_from(unit, scene):
            del left[node]
        return left

    # --- other decisions ---

    def _stands(self, key: str, scene: Scene) -> bool:
        """Whether what is kept for the unit surely serves it, once those have left who are leaving."""
        unit, mine = scene.unit(key), scene.kept_for(key)
        if unit is None or len(mine) < unit.need or self._reading.tied(unit):
            return False
        room = scene.places(gone=scene.leaving, perhaps=True, kept=lambda keep: keep.unit != key)
        for uid, keep in mine.items():
            place = room[keep.node]
            if not self._reading.admits(keep.node, keep.needs, self._world.pods[uid]) or not fits(keep.needs, place):
                return False
            take(keep.needs, place)
        return True

    def _all_stands(self, key: str, scene: Scene) -> bool:
        """Whether nothing that was kept for the unit is lost."""
        unit = scene.unit(key)
        nominated = [pod for pod in unit.pods if pod.status.nominated_node_name] if unit is not None else []
        return all(pod.metadata.uid in scene.reserved for pod in nominated) and self._stands(key, scene)

    def _check_evict(self, decision: Evict, scene: Scene, *, evicted: set[str], stood: bool) -> None:
        unit = scene.unit_or_rest(decision.unit)
        if unit is None:
            raise BrokenRuleError("eviction", f"pods are evicted for {decision.unit}, which does not wait")
        self._reservations.renew(unit, scene)
        held = self._passes.held_from(unit, scene)
        self._evictions.check(decision, unit, scene, evicted=evicted, stood=stood, blocked=held)
        scene.leave(decision.pods)

    def _check_release(self, decision: Release, scene: Scene) -> None:
        gang, now = scene.gangs.get(decision.unit), self._world.now
        self._binds.refused.add(decision.unit)
        if gang is None or gang.group is None:
            raise BrokenRuleError("release", f"{decision.unit} is released but is not a half-bound gang")
        if not decision.pods:
            raise BrokenRuleError("release", f"nothing of {decision.unit} is released")
        said = scene.gangs_said.get((gang.key, Aspect.BELOW_MINIMUM))
        # its object does not say so yet: kubelets refused members, and it counts like one that never started
        falls = said is not None and said[:2] == ("True", MEMBERS_REFUSED)
        if gang.started and not falls:
            self._life.check_release(decision, gang)
        elif self._binds.denied_for_good(gang):
            self._binds.undone(gang)
        else:
            if not gang.bound:
                raise BrokenRuleError("release", f"{decision.unit} is released but is not a half-bound gang")
            if gang.deadline is not None and gang.deadline > now:
                raise BrokenRuleError("release", f"{decision.unit} is released {gang.deadline - now:g} s early")
            if gang.holds_partial:
                raise BrokenRuleError("release", f"{decision.unit} is released although it asks to be kept")
        sent = self._binds.doubtful.keys() | scene.bound.get(decision.unit, set())
        for ref in decision.pods:
            pod = self._world.pods.get(ref.uid)
            placed = pod is not None and bool(self._reading.node_of(pod) or ref.uid in sent)
            if pod is None or not placed or unit_of(pod) != decision.unit:
                raise BrokenRuleError("no pod lost", f"{ref.pod} is released but has no node")
            record = bound_for(pod) or (self._binds.sent[ref.uid].bound_for if not pod.spec.node_name else None)
            if record is None or (record.gang, record.uid) != (gang.key, gang.group.metadata.uid):
                raise BrokenRuleError("record", f"{ref.pod} is released for {gang.key}, but was bound for {record}")
        scene.leave(decision.pods)
        scene.departing.update(ref.uid for ref in decision.pods)

    def _check_gang_condition(self, decision: GangCondition, scene: Scene, *, evicted: set[str]) -> None:
        gang = scene.gangs.get(decision.gang)
        if gang is None or gang.group is None:
            raise BrokenRuleError("gang condition", f"{decision.gang} is not declared")
        reached = gang.group.metadata.uid in self._started or gang.once_started or gang.bound_at_most >= gang.minimum
        self._words.check_gang(decision, gang, scene, reached=reached)
        if decision.reason == ERROR and _GIVEN_UP in decision.message:
            self._binds.undone(gang)
        if decision.reason == TIMEOUT and not gang.running:
            self._check_step_back(gang, scene)
        if decision.aspect is Aspect.BELOW_MINIMUM:
            self._life.check_condition(decision, gang, evicted=evicted)
        elif decision.aspect is Aspect.EVICTED:
            self._life.check_target(decision, gang, scene)

    def _check_step_back(self, gang: Gang, scene: Scene) -> None:
        """A gang that holds nothing steps back when it has waited as long as it likes: who passes it counts anew."""
        assert gang.group is not None
        text = gang.group.metadata.annotations.get(START_TIMEOUT_ANNOTATION)
        since = min((seconds(pod.metadata.creation_timestamp) for pod in gang.candidates), default=self._world.now)
        if text is None or self._world.now < since + float(text):
            raise BrokenRuleError("start timeout", f"{gang.key} steps back, but waits only since {since:g}")
        if any(pod.metadata.uid in scene.reserved for pod in gang.candidates):
            raise BrokenRuleError("start timeout", f"{gang.key} steps back, and others leave for it")
        self._seen["gangs that stepped back"] += 1
        self._binds.refused.add(gang.key)
        self._passes.forget(gang)

    # --- the world ---

    def _check_room(self, scene: Scene) -> None:
        taken = scene.places()
        left = scene.places(perhaps=True) if scene.doubtful else taken
        for name, place in taken.items():
            short = {resource: amount for resource, amount in place.room.items() if amount < 0}
            if min(left[name].room.values()) >= 0:
                self._excused.discard(name)
            elif short and name not in self._excused and self._alone:
                raise BrokenRuleError("over-commit", f"{name} lacks {short}")
            if _collisions(place.ports) and self._alone:
                raise BrokenRuleError("ports", f"{name} has a host port twice: {sorted(place.ports)}")

    def _undone_without_a_word(self, gang: Gang) -> bool:
        """Denied for good once more: nothing of it is to be released, and what there is to say it says already."""
        told = any(said is not None and _GIVEN_UP in said.message for said in (gang.said, gang.below))
        if not told or gang.started or (gang.running and not gang.holds_partial):
            return False
        return self._binds.denied_for_good(gang) and not self._binds.unanswered(gang)

    def _check_half_bound(self, gang: Gang, scene: Scene) -> None:
        if gang.group is None:
            return
        if gang.started:
            self._started.add(gang.group.metadata.uid)
        if gang.holds_partial:
            self._held_parts[gang.group.metadata.uid] = self._world.now
        if not gang.partial or gang.foreign or gang.holds_partial:
            return
        uid, now = gang.group.metadata.uid, self._world.now
        since = max(
            min(gang.bound_times, default=now),
            self._held_parts.get(uid, 0.0),
            seconds(gang.group.metadata.creation_timestamp),
        )
        denied = min(self._binds.denied_for(gang), now - since)
        if denied > _DENIED_SECONDS:
            raise BrokenRuleError("denied for good", f"{gang.key} is half bound, and was denied {denied:g} s ago")
        kept = any(pod.status.nominated_node_name for pod in gang.candidates)
        waited = self._waited.setdefault(uid, _Waited()) if kept else self._waited.get(uid)
        if waited is not None:
            waited.look(now, kept=kept, first_bound=min(gang.bound_times, default=now))
        late = 0.0 if gang.deadline is None else now - gang.deadline
        if waited is not None:
            late = 0.0 if now <= waited.until + _WAITED_SECONDS else late - waited.seconds
        if late > _STAMP_SECONDS:
            raise BrokenRuleError(
                "half bound", f"{gang.key} has {gang.bound} of {gang.minimum} bound, {late:g} s too long"
            )

    def _check_waits(self, unit: Waiting, scene: Scene) -> None:
        if self._reading.exact(unit):
            self._check_does_not_fit(unit, scene)
        else:
            self._look_at_mixed(unit, scene.left_for(unit))

    def _check_does_not_fit(self, unit: Waiting, scene: Scene) -> None:
        self._seen["units that waited, looked at"] += 1
        if self._reading.fits(unit, self._surely_left(unit, scene)):
            raise BrokenRuleError("nobody waits who fits", f"{unit.key} waits, and {unit.need} of it fit")

    def _check_may_not_evict(self, unit: Waiting, scene: Scene) -> None:
        if not self._reading.exact(unit) or self._may_back_off(unit.key):
            return
        if self._evictions.could(unit, scene, self._passes.held_from(unit, scene)):
            raise BrokenRuleError("nobody waits who may evict", f"{unit.key} waits, and would fit if others left")

    def _check_nobody_keeps_it(self, unit: Waiting, scene: Scene) -> None:
        """One that is kept from nodes by others, and of which one is enough, goes as soon as a node takes that one."""
        around = scene.around(unit.key, ())
        if unit.need > 1 or around.perhaps or not self._reading.tied(unit) or not self._sound:
            return
        for name, place in self._surely_left(unit, scene).items():
            for pod in unit.pods:
                needs = self._reading.needs_of(pod)
                takes = fits(needs, place) and self._reading.admits(name, needs, pod)
                if takes and not refusal(pod, self._world.nodes[name], around):
                    raise BrokenRuleError("nobody waits who fits", f"{key_of(pod)} waits, and {name} takes it")

    def _look_at_mixed(self, unit: Waiting, places: dict[str, Place]) -> None:
        """Breaks no rule: the fast path does not promise to find a place for every mix, so misses are counted."""
        if self._reading.tied(unit):
            self._seen["units that waited, and may be kept from nodes by others"] += unit.key not in self._mixed
            self._mixed.add(unit.key)
            return
        self._seen["mixed gangs that waited"] += unit.key not in self._mixed
        self._mixed.add(unit.key)
        if unit.key not in self._missed and self._reading.fits(unit, places):
            self._seen["mixed gangs that waited although they fit"] += 1
            self._missed.add(unit.key)


def _needs_what_nobody_knows(unit: Waiting) -> bool:
    """What a gang needs whose minimum was raised is known when those have come who are on their way."""
    return unit.gang is not None and unit.gang.has_started and unit.gang.grows


def _collisions(ports: list[Port]) -> bool:
    return any(collide(one, other) for i, one in enumerate(ports) for other in ports[:i])
