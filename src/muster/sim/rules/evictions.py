"""Nobody is evicted in vain: who may be evicted for whom, what must be known before, and what must come of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from muster.api.wire import Pod
from muster.engine.changes import Change, GroupGone, GroupSeen, PodGone, PodSeen, Spared
from muster.engine.decisions import CallOff, Evict, Loss, PodRef
from muster.framework.profile import PreemptionSettings
from muster.sim.plain import fits, key_of, take, unit_of
from muster.sim.reading import Gang, Reading, Waiting
from muster.sim.rules.broken import BrokenRuleError
from muster.sim.rules.neighbours import Neighbour, unplaceable
from muster.sim.rules.scene import Places, Scene
from muster.sim.world import World

_RULE = "eviction"


class Condemned(NamedTuple):
    """A pod that is to be evicted, and whose deletion has not gone out."""

    unit: str
    """For whom; "" if that was called off, and nobody knows yet whether in time."""
    since: float


class Evictions:
    """Watches who is evicted, and keeps what is owed: a start, or a word why not."""

    def __init__(
        self,
        world: World,
        reading: Reading,
        preemption: PreemptionSettings,
        *,
        condemned: dict[str, Condemned],
        sound: bool,
    ) -> None:
        """Not `sound`: plugins raise, and any pod may be held for that."""
        self._world = world
        self._sound = sound
        self._condemned = condemned
        self._batch: dict[str, Condemned] = {}
        """What the batch of decisions that is looked at makes of `condemned`."""
        self._reading = reading
        self._most_rounds = preemption.rounds
        self._lapse = preemption.lapse_seconds
        self._owed: dict[str, set[str]] = {}
        """By unit: the pods that were evicted for it, and it has not started since."""
        self._rounds: Counter[str] = Counter()
        """How often each unit evicted since it was last bound..."""
        self._spent: Counter[str] = Counter()
        """...and since it last had all that it needs."""
        self._whole: set[str] = set()
        """Gangs that had all that they need when this last looked."""
        self._landed: set[str] = set()
        self._inherited: set[str] = set()
        """Units for which another scheduler evicted pods."""
        self._last: dict[str, float] = {}
        """When each unit last evicted."""
        self._objects: dict[str, str] = {}
        """UIDs of the objects that the scheduler was told of, by gang."""
        self.seen: Counter[str] = Counter()

    # --- what comes of it ---

    def bound(self, unit: str) -> None:
        self._owed.pop(unit, None)
        self._rounds.pop(unit, None)

    def told(self, change: Change) -> None:
        """Whatever others were evicted for is done when a pod has landed."""
        if isinstance(change, PodGone):
            self._condemned.pop(change.uid, None)
        elif isinstance(change, Spared):
            for uid in change.uids:
                self._condemned.pop(uid, None)
        elif isinstance(change, PodSeen) and change.pod.metadata.deletion_timestamp is not None:
            self._condemned.pop(change.pod.metadata.uid, None)
        elif isinstance(change, GroupGone):
            self._objects.pop(change.key, None)
        elif isinstance(change, GroupSeen) and self._objects.get(change.key) != change.group.metadata.uid:
            # a new object begins anew
            self._objects[change.key] = change.group.metadata.uid
            self._rounds.pop(change.key, None)
            self._spent.pop(change.key, None)
        if isinstance(change, PodSeen) and change.pod.spec.node_name and change.pod.metadata.uid not in self._landed:
            self._landed.add(change.pod.metadata.uid)
            self._rounds.pop(unit_of(change.pod), None)

    def lost(self, unit: str, why: Loss) -> None:
        if why is Loss.PRIORITY:
            self._rounds[unit] = max(0, self._rounds[unit] - 1)
            self._spent[unit] = max(0, self._spent[unit] - 1)
        if unit not in self._owed:
            # a scheduler that came later cannot know whether pods leave for the unit or for themselves
            self.seen["room that was lost without an eviction"] += 1
        self._owed.pop(unit, None)

    # --- what is called off ---

    def call_off(self, decision: CallOff) -> None:
        known = {ref.uid: self._batch.get(ref.uid) or self._condemned.get(ref.uid) for ref in decision.pods}
        # those who go with them may have been deleted by somebody else
        condemned = {uid: before for uid, before in known.items() if before is not None}
        if not condemned or not all(before.unit for before in condemned.values()):
            raise BrokenRuleError("called off", f"{decision.pods} are not to be evicted for {decision.unit}")
        self._batch.update({uid: before._replace(unit="") for uid, before in condemned.items()})
        self.seen["evictions called off"] += 1

    def goes(self, refs: Iterable[PodRef], unit: str) -> None:
        """The deletions of these pods go out for the unit: room must be kept for it, unless that was called off.

        Whom they are handed over to in the same batch may be nominated only when they are gone.
        """
        for ref in refs:
            condemned = ref.uid in self._condemned and bool(self._condemned[ref.uid].unit)
            waits = (pod for pod in self._world.pods.values() if unit_of(pod) == unit and self._reading.waits(pod))
            if condemned and not any(pod.status.nominated_node_name for pod in waits):
                raise BrokenRuleError("called off", f"{ref.pod} is evicted for {unit}, for which nothing is kept")

    def end_batch(self) -> list[str]:
        """All decisions were looked at; returns the pods that are to be evicted from now on."""
        new = [uid for uid in self._batch if uid not in self._condemned]
        self._condemned.update(self._batch)
        self._batch.clear()
        return new

    def restarted(self) -> None:
        """A new scheduler knows of those who are leaving: not of who is gone, or was to be evicted and was not."""
        self._condemned.clear()
        self._rounds.clear()
        self._spent.clear()
        self._inherited = set(self._owed)
        for unit in list(self._owed):
            self._forget_unknown(unit)

    def _forget_unknown(self, unit: str) -> None:
        """What a scheduler cannot know that came later: nobody is seen to leave for the unit."""
        if unit in self._inherited:
            known = [self._world.pods[uid] for uid in self._owed.get(unit, set()) & self._world.pods.keys()]
            leave = [pod for pod in known if pod.metadata.deletion_timestamp is not None]
            if not any(pod.spec.node_name in self._world.nodes for pod in leave):
                self._owed.pop(unit, None)

    def review(self, placing: Container[str], gangs: Mapping[str, Gang]) -> None:
        """Units that went, or have nothing to place any more, owe nothing."""
        for known in (self._owed, self._rounds):
            for unit in [unit for unit in known if unit not in placing]:
                del known[unit]
        whole = {key for key, gang in gangs.items() if gang.says_started and gang.bound >= gang.minimum}
        for unit in list(self._spent):
            # of those it evicts for members beyond its minimum it may have none to spare when it falls below
            if unit in whole - self._whole and self._last.get(unit) == self._world.now:
                self._spent[unit] = self._most_rounds  # before or after it was whole
            elif unit in whole - self._whole or (unit not in gangs and unit not in placing):
                del self._spent[unit]
        self._whole = whole

    def at_rest(self) -> None:
        for unit in list(self._owed):
            self._forget_unknown(unit)
        for unit, pods in self._owed.items():
            if pods & self._world.pods.keys():
                continue  # some have still not left
            raise BrokenRuleError(
                "evicted in vain", f"{len(pods)} pods were evicted for {unit}, which did not start, and nobody says why"
            )

    def _lapses(self, unit: str) -> None:
        if self._world.now >= self._last.get(unit, 0.0) + self._lapse:
            self._rounds.pop(unit, None)
            self._spent.pop(unit, None)

    # --- what must be known before ---

    def check(
        self,
        decision: Evict,
        unit: Waiting,
        scene: Scene,
        *,
        evicted: set[str],
        stood: bool,
        blocked: set[str],
    ) -> None:
        """Looks at an eviction, with the unit's nominations played.

        All in `evicted` go in this batch.  `stood`: what was kept for the unit before still served it.  `blocked`
        nodes perhaps could not be used.
        """
        self.seen["evictions looked at"] += 1
        before = [self._batch.get(ref.uid) or self._condemned.get(ref.uid) for ref in decision.pods]
        for ref, known in zip(decision.pods, before, strict=True):
            since = self._world.now if known is None else known.since
            self._batch[ref.uid] = Condemned(unit.key, since)
        if all(known is not None and known.unit for known in before):
            self._handed_over(decision, unit, scene)
            return
        if stood:
            raise BrokenRuleError("new victims", f"{unit.key} evicts although what is kept for it still serves it")
        if unit.key in self._owed and unit.key not in self._inherited:
            raise BrokenRuleError("new victims", f"{unit.key} evicts again, and nobody says what became of the last")
        if not self._may_evict(unit, scene):
            raise BrokenRuleError("never evicts", f"pods are evicted for {unit.key}, which says that it never evicts")
        self._lapses(unit.key)
        self._last[unit.key] = self._world.now
        self._rounds[unit.key] += 1
        self._spent[unit.key] += 1
        if self._rounds[unit.key] > self._most_rounds:
            raise BrokenRuleError(_RULE, f"{unit.key} evicts for the {self._rounds[unit.key]}th time without a start")
        victims = self._victims(decision, unit, scene)
        self._owed[unit.key] = {ref.uid for ref in decision.pods}
        self._inherited.discard(unit.key)
        self._check_proof(unit, scene, scene.leaving | evicted)
        self._check_neighbours(unit, scene, scene.leaving | {ref.uid for ref in decision.pods})
        self._check_minimal(unit, scene, victims, blocked)

    def _handed_over(self, decision: Evict, unit: Waiting, scene: Scene) -> None:
        """Pods that were to go for others go for the unit: a plan of that one counts on it already."""
        self.seen["evictions handed over"] += 1
        for ref in decision.pods:
            if scene.priority_of(self._world.pods[ref.uid]) >= unit.priority:
                raise BrokenRuleError("priority", f"{ref.pod} is to go for {unit.key}, which is not more important")
        self._owed.setdefault(unit.key, set()).update(ref.uid for ref in decision.pods)

    def _victims(self, decision: Evict, unit: Waiting, scene: Scene) -> dict[str, set[str]]:
        """UIDs by what is evicted as one; all of them may be."""
        found: dict[str, set[str]] = {}
        for ref in decision.pods:
            pod = self._world.pods.get(ref.uid)
            there = ref.uid in scene.takers or ref.uid in scene.doubtful
            if pod is None or not (there or self._stranded(pod)):
                raise BrokenRuleError(_RULE, f"{ref.pod} is evicted for {unit.key} and takes no room")
            if ref.uid in scene.leaving or self._reading.leaves(pod):
                raise BrokenRuleError(_RULE, f"{ref.pod} is evicted for {unit.key} and is leaving already")
            level = self._level(pod, scene)
            if level >= unit.priority:
                raise BrokenRuleError(
                    "priority", f"{ref.pod} (priority {level}) is evicted for {unit.key} ({unit.priority})"
                )
            gang = scene.gangs.get(unit_of(pod)) if pod.spec.scheduling_group is not None else None
            whole = gang is not None and (gang.goes_whole or self._lost_its_minimum(gang, scene))
            found.setdefault(unit_of(pod) if whole else key_of(pod), set()).add(ref.uid)
            if gang is not None and whole:
                left = [p for p in gang.members if self._stays(p, scene, decision)]
                if left:
                    raise BrokenRuleError(
                        "gang in part", f"{key_of(left[0])} stays, {ref.pod} of the same gang is evicted"
                    )
        return found

    def _level(self, pod: Pod, scene: Scene) -> int:
        """At which an evicted pod counts: the higher of its own and its gang's priority."""
        return max(pod.spec.priority or 0, scene.priority_of(pod))

    def _lost_its_minimum(self, gang: Gang, scene: Scene) -> bool:
        """Another scheduler's, which has not said that it started, and cannot any more after this batch."""
        if not gang.foreign or gang.group is None or gang.has_started:
            return False
        stayed = [pod for pod in gang.members if not self._reading.leaves(pod)]
        evicted = [pod for pod in stayed if pod.metadata.uid in scene.takers.keys() & scene.leaving]
        return gang.bound - len(evicted) < gang.minimum

    def _stranded(self, pod: Pod) -> bool:
        """Where its gang goes whole, even a pod on a lost node goes."""
        return pod.spec.scheduling_group is not None and bool(self._reading.node_of(pod))

    def _stays(self, pod: Pod, scene: Scene, decision: Evict) -> bool:
        uid = pod.metadata.uid
        if uid not in scene.takers or uid in scene.leaving or self._reading.leaves(pod):
            return False
        return all(ref.uid != uid for ref in decision.pods)

    def _check_proof(self, unit: Waiting, scene: Scene, gone: set[str]) -> None:
        """The members have places, which hold once all have left who leave; and they are as many as are needed."""
        mine = scene.kept_for(unit.key)
        need = unit.need - self._doubtful(unit, scene)
        if len(mine) < need:
            raise BrokenRuleError("proof", f"{unit.key} evicts, has places for {len(mine)} and needs {need}")
        room = scene.places(gone=gone, kept=lambda keep: keep.unit != unit.key and keep.priority >= unit.priority)
        for uid, keep in mine.items():
            pod = self._world.pods[uid]
            if not self._reading.admits(keep.node, keep.needs, pod) or not fits(keep.needs, room[keep.node]):
                raise BrokenRuleError("proof", f"{key_of(pod)} has no room on {keep.node} even with the victims gone")
            take(keep.needs, room[keep.node])

    def _check_neighbours(self, unit: Waiting, scene: Scene, gone: set[str]) -> None:
        """The places hold, too, by what pods require of each other; who is evicted further on was there till now."""
        mine = scene.kept_for(unit.key)
        around = scene.around(unit.key, mine, gone=gone)
        placed = [Neighbour(self._world.pods[uid], self._world.nodes[keep.node]) for uid, keep in mine.items()]
        if problem := unplaceable(placed, around):
            raise BrokenRuleError("proof", f"{unit.key} has no place even with the victims gone: {problem}")

    def _doubtful(self, unit: Waiting, scene: Scene) -> int:
        """Members that perhaps have a place already."""
        return sum(pod.metadata.uid in scene.doubtful for pod in unit.pods)

    def _check_minimal(self, unit: Waiting, scene: Scene, victims: dict[str, set[str]], blocked: set[str]) -> None:
        """Nobody could be spared, and nobody more precious was taken than needed.  All else counts as it was."""
        if self._doubtful(unit, scene) or len(self._reading.wanted(unit)) > 1 or self._reading.tied(unit):
            return
        need = len(scene.kept_for(unit.key))
        all_victims = set().union(*victims.values())
        for name, uids in victims.items():
            room = self._hoped(unit, scene, scene.leaving | (all_victims - uids))
            if self._holds(unit, need, room, blocked):
                raise BrokenRuleError("one victim too many", f"{name} could have been spared by {unit.key}")
        if self._world.budgets and unit.gang is None:
            return  # a lone pod's budgets are counted as the default scheduler does, who gives them to the best first
        if self._world.budgets:
            self._check_budgets(unit, scene, all_victims, blocked)
            return
        highest = max(self._level(self._world.pods[uid], scene) for uid in all_victims)
        lower = self._below(highest, unit, scene)
        if self._holds(unit, need, self._hoped(unit, scene, scene.leaving | lower), blocked):
            raise BrokenRuleError(
                "precious victim", f"{unit.key} evicts pods of priority {highest}; lower ones would have done"
            )

    def _check_budgets(self, unit: Waiting, scene: Scene, victims: set[str], blocked: set[str]) -> None:
        """Whom a budget does not let go at all is evicted only if all others would not be enough."""
        protected = {uid for uid in scene.takers if self._protected(self._world.pods[uid])}
        if not protected & victims:
            return
        # a gang that goes whole does not go without its protected members
        whole = {unit_of(self._world.pods[uid]) for uid in protected}
        others = {
            uid
            for uid in self._below(unit.priority, unit, scene) - protected
            if unit_of(self._world.pods[uid]) not in whole
        }
        room = self._hoped(unit, scene, scene.leaving | others)
        if self._holds(unit, len(scene.kept_for(unit.key)), room, blocked):
            raise BrokenRuleError("budget", f"{unit.key} evicts pods that a budget protects; others would have done")

    def _protected(self, pod: Pod) -> bool:
        budgets = self._world.budgets.values()
        return any(
            budget.status.disruptions_allowed == 0
            and budget.spec.selector is not None
            and budget.spec.selector.matches(pod.metadata.labels)
            for budget in budgets
        )

    def _below(self, priority: int, unit: Waiting, scene: Scene) -> set[str]:
        """Everybody of lower priority who could be evicted: not the unit itself, nor who is leaving anyway."""
        return {
            uid
            for uid, taker in scene.takers.items()
            if scene.level_of(taker.pod) < priority
            and unit_of(taker.pod) != unit.key
            and not self._reading.leaves(taker.pod)
        }

    def _hoped(self, unit: Waiting, scene: Scene, gone: set[str]) -> Places:
        return scene.places(gone=gone, perhaps=True, kept=lambda keep: keep.unit != unit.key)

    def _holds(self, unit: Waiting, need: int, places: Places, blocked: set[str]) -> bool:
        """Whether so many of the unit's members go on places that it may surely use."""
        usable = {name: place for name, place in places.items() if name not in blocked}
        return self._reading.fits(unit, usable, need=need)

    # --- who could have ---

    def could(self, unit: Waiting, scene: Scene, blocked: set[str]) -> bool:
        """Whether the unit would surely fit if all left who may be evicted for it."""
        self._lapses(unit.key)
        if any(pod.status.nominated_node_name for pod in unit.pods):
            return False  # it waits for those who leave, which may take long
        if self._spent[unit.key] >= self._most_rounds or not self._may_evict(unit, scene):
            return False
        lower = self._below(unit.priority, unit, scene)
        return bool(lower) and self._holds(unit, unit.need, self._hoped(unit, scene, scene.leaving | lower), blocked)

    def _may_evict(self, unit: Waiting, scene: Scene) -> bool:
        """Members that perhaps have a place already, or may be held, do not count."""
        pods = unit.pods if self._sound or unit.gang is None else []
        policies = [pod.spec.preemption_policy for pod in pods if pod.metadata.uid not in scene.doubtful]
        if unit.gang is not None and unit.gang.group is not None:
            policies.append(unit.gang.group.spec.preemption_policy)
        return "Never" not in policies
