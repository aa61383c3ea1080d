"""What becomes of a gang after its start: it says when it is below its minimum, and is taken down if it wants to be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

from muster.api.times import seconds
from muster.api.wire import Pod, PodGroup
from muster.engine.changes import Change, NodeGone, NodeSeen, PodSeen, Spared
from muster.engine.decisions import GangCondition, Release
from muster.gangs.dialects import declare
from muster.gangs.model import Aspect
from muster.gangs.record import bound_for
from muster.sim.kubelets import is_refusal
from muster.sim.plain import ENDED, unit_of
from muster.sim.reading import MEMBERS_REFUSED, Gang
from muster.sim.rules.broken import BrokenRuleError
from muster.sim.rules.scene import Scene
from muster.sim.world import World

_RULE = "after the start"
_TARGET = "disruption target"
# stamps are whole seconds, and a scheduler says only after two that a gang is below its minimum: the next one
# counts from there
_SLACK_SECONDS = 3.0
# a gang that has started is whole when its kubelets have looked at all its members; stamps are whole seconds
_STARTING_SECONDS = 29.0


class Life:
    """Remembers which gangs fell below their minimum, and when."""

    def __init__(self, world: World, *, scheduler: str, began: Container[str]) -> None:
        """`began` are UIDs of groups that had their minimum bound once."""
        self._world = world
        self._scheduler = scheduler
        self._began = began
        self.fallen: set[str] = set()
        """UIDs of groups of which nothing was left after their start; they must start whole again."""
        self.spared: set[str] = set()
        """UIDs of groups that had just fallen when a member was spared, or came back with its node; they may still say
        that they fell."""
        self._least: dict[str, int] = {}
        """By UID: the least that its minimum has been."""
        self._since: dict[str, float] = {}
        """By UID: since when it is below its minimum."""
        self._binding_at: dict[str, float] = {}
        """By UID: when members were last on their way."""
        self._grew_at: dict[str, float] = {}
        """By UID: when some of those were perhaps on their way who come together for a raised minimum."""
        self._failed: set[str] = set()
        """UIDs of pods that kubelets refused."""
        self._refused: dict[str, float] = {}
        """By UID: when a kubelet first refused a member that was bound for this object, since it was last whole."""
        self._condemned: dict[str, bool] = {}
        """By UID of a pod that is to be evicted: whether its gang had fallen before."""
        self._stood: dict[str, str] = {}
        """By UID of a pod that ran when its node went: the UID of its group, which had started and not fallen."""
        self.seen: Counter[str] = Counter()

    def condemned(self, uid: str) -> None:
        """The pod is to be evicted."""
        self._condemned.setdefault(uid, self._group_uid(uid) in self.fallen)

    def _group_uid(self, uid: str) -> str:
        group = self._world.groups_told.get(unit_of(self._world.pods[uid]))
        return "" if group is None else group.metadata.uid

    def told(self, change: Change) -> None:
        if isinstance(change, Spared):
            for uid in change.uids:
                if not self._condemned.pop(uid, False) and uid in self._world.pods:
                    self.fallen.discard(self._group_uid(uid))
                    self.spared.add(self._group_uid(uid))
        if isinstance(change, NodeGone):
            self._note_who_stood(self._on(change.name))
        if isinstance(change, NodeSeen):
            for uid in self._on(change.node.metadata.name):
                if (group_uid := self._stood.pop(uid, "")) and group_uid == self._group_uid(uid):
                    self.fallen.discard(group_uid)
                    self.spared.add(group_uid)
        if isinstance(change, PodSeen) and change.pod.status.phase == "Failed" and is_refusal(change.pod.status.reason):
            self._turned_away(change.pod)

    def is_whole(self, group_uid: str) -> None:
        """The scheduler has heard that the minimum is bound: one that fell has returned, if only for a moment."""
        self.fallen.discard(group_uid)

    def _turned_away(self, pod: Pod) -> None:
        """A kubelet refused the pod; one that was bound for an earlier object, or by others, is only lost."""
        if pod.metadata.uid in self._failed:
            return
        self._failed.add(pod.metadata.uid)
        group = self._world.groups_told.get(unit_of(pod))
        record = bound_for(pod) if pod.spec.scheduler_name == self._scheduler else None
        if group is not None and record is not None and record.uid == group.metadata.uid:
            self._refused.setdefault(record.uid, self._world.now)

    def _on(self, node: str) -> list[str]:
        """UIDs of pods that run on the node."""
        pods = [pod for pod in self._world.pods.values() if pod.spec.node_name == node]
        return [p.metadata.uid for p in pods if p.metadata.deletion_timestamp is None and p.status.phase not in ENDED]

    def _note_who_stood(self, uids: list[str]) -> None:
        """The nodes of these pods are gone."""
        for uid in uids:
            group = self._world.groups_told.get(unit_of(self._world.pods[uid]))
            if group is not None and self._ran_whole(uid, group):
                self._stood[uid] = group.metadata.uid

    def _ran_whole(self, pod_uid: str, group: PodGroup) -> bool:
        """Whether the pod ran in a gang that had started; if it is to be evicted, before that was decided."""
        gang = Gang("", scheduler="")
        gang.group = group
        uid = group.metadata.uid
        if pod_uid in self._condemned:
            fell = self._condemned[pod_uid]
        elif uid in self.fallen or uid in self.spared:
            fell = uid in self.fallen
        else:
            fell = gang.says_that_it_fell and not gang.ran_before_its_fall(self._world.pods[pod_uid])
        return not fell and (uid in self._began or declare(group).started)

    def _undone(self, group_uid: str) -> None:
        """The gang must start whole again, whosever node comes back."""
        self._stood = {uid: known for uid, known in self._stood.items() if known != group_uid}

    def restarted(self, gangs: dict[str, Gang]) -> None:
        """A new scheduler knows what the objects say: the gangs as they are without what was seen before."""
        self.fallen.clear()
        self.spared.clear()
        self._since.clear()
        self._refused.clear()
        self._condemned.clear()
        self._stood.clear()
        outlived = (gang.group for gang in gangs.values() if gang.outlived_its_fall)
        self.spared.update(group.metadata.uid for group in outlived if group is not None)
        nodes = {pod.spec.node_name for pod in self._world.pods.values()} - self._world.nodes.keys() - {""}
        for node in nodes:
            self._note_who_stood(self._on(node))

    def review(self, gangs: dict[str, Gang]) -> None:
        """Looks at gangs when the scheduler has looked at them too."""
        below = (gang.group for gang in gangs.values() if gang.below_minimum and not gang.foreign)
        fell = {group.metadata.uid for group in below if group is not None}
        self._refused = {uid: at for uid, at in self._refused.items() if uid in fell}
        for gang in gangs.values():
            if gang.group is None or gang.foreign:
                continue
            uid = gang.group.metadata.uid
            self._least[uid] = min(gang.minimum, self._least.get(uid, gang.minimum))
            if not gang.says_that_it_fell or gang.nothing_left:
                self.spared.discard(uid)
            if not gang.below_minimum:
                self.fallen.discard(uid)
                self._since.pop(uid, None)
                continue
            self.seen["gangs below their minimum, looked at"] += 1
            if gang.fallen:
                self.fallen.add(uid)
            if uid not in self._since or not (gang.running or gang.binding or gang.doubtful):
                self._since[uid] = self._world.now
            self._check_taken_down(gang, self._since[uid])
            self._check_refused(gang, self._refused.get(uid))

    def _check_refused(self, gang: Gang, at: float | None) -> None:
        """A gang that never ran whole, since kubelets did not let members in, must start whole again."""
        said = gang.said
        if at is None or said is None or not said.last_transition_time or gang.fallen:
            return
        self.seen["gangs refused by kubelets, looked at"] += 1
        if at - seconds(said.last_transition_time) < _STARTING_SECONDS:
            raise BrokenRuleError(_RULE, f"{gang.key} never ran whole, since kubelets refused members, and goes on")

    def _check_taken_down(self, gang: Gang, since: float) -> None:
        grace, uid = gang.grace_seconds, gang.group.metadata.uid if gang.group is not None else ""
        if gang.binding or gang.doubtful:
            # it may be whole in a moment
            self._binding_at[uid] = self._world.now
        if gang.grows:
            self._grew_at[uid] = self._world.now
        # what was bound for an earlier object is not taken down for this one
        if grace is None or not gang.own or gang.fallen:
            return
        since = max(since, self._grew_at.get(uid, 0.0))
        late = self._world.now - max(since + grace, self._binding_at.get(uid, 0.0))
        if late > _SLACK_SECONDS:
            raise BrokenRuleError(_RULE, f"{gang.key} has been below its minimum {late:g} s too long and still runs")

    def check_release(self, decision: Release, gang: Gang) -> None:
        """A gang that has started is released only if it asks for that, and when its grace is over."""
        assert gang.group is not None
        grace = gang.grace_seconds
        since = self._since.get(gang.group.metadata.uid, self._world.now)
        if gang.says_below and gang.below is not None and gang.below.last_transition_time:
            since = min(since, seconds(gang.below.last_transition_time))
        if grace is None or not gang.below_minimum or self._world.now < since + grace:
            raise BrokenRuleError("release", f"{decision.unit} is released although it has started")
        self._undone(gang.group.metadata.uid)

    def check_condition(self, decision: GangCondition, gang: Gang, *, evicted: set[str]) -> None:
        """It says so if it has started and is below its minimum, and takes it back if it is not.

        All in `evicted` count no longer.
        """
        if decision.reason == MEMBERS_REFUSED and gang.group is not None:
            # what is left of it ran before, and does not say so for long
            self.fallen.add(gang.group.metadata.uid)
            self._undone(gang.group.metadata.uid)
        if not decision.holds and gang.group is not None:
            self.fallen.discard(gang.group.metadata.uid)
            self._refused.pop(gang.group.metadata.uid, None)
            # whole for a moment, if only in the same turn: a grace begins anew
            self._since.pop(gang.group.metadata.uid, None)
        hit = any(pod.metadata.uid in evicted for pod in gang.members)
        if decision.holds and not gang.below_minimum and not hit:
            raise BrokenRuleError(_RULE, f"{gang.key} is said to be below its minimum: {gang.bound} of {gang.minimum}")
        # members that come together for a raised minimum count from the first that is bound
        bound = gang.bound + (gang.binding if self._was_raised(gang) else 0)
        if not decision.holds and (bound < gang.floor_before or not (gang.says_below or gang.shared)):
            raise BrokenRuleError(_RULE, f"{gang.key} is said to be whole again: {gang.bound} of {gang.minimum}")

    def _was_raised(self, gang: Gang) -> bool:
        """Whether the minimum is higher than it once was."""
        return gang.group is not None and gang.minimum > self._least.get(gang.group.metadata.uid, gang.minimum)

    def check_target(self, decision: GangCondition, gang: Gang, scene: Scene) -> None:
        """It says that it was evicted whole if nothing of it stays, and takes it back when it is whole again."""
        # binds that were refused and would be tried again are given up with the rest
        sent = self._world.in_flight
        surely = [pod for pod in self._stay(gang, scene) if pod.spec.node_name or pod.metadata.uid in sent]
        if decision.holds and surely:
            raise BrokenRuleError(_TARGET, f"{gang.key} is said to be evicted whole, and some of it stays")
        if not decision.holds and (gang.bound < gang.floor_before or not (gang.says_disrupted or gang.shared)):
            raise BrokenRuleError(_TARGET, f"{gang.key} is said to run again: {gang.bound} of {gang.minimum}")

    def check_evicted(self, evicted: set[str], scene: Scene, *, called_off: set[str]) -> None:
        """Looks at a batch in which these are evicted first: gangs of which nothing stays, or may be spared, say so."""
        for gang in scene.gangs.values():
            hit = any(pod.metadata.uid in evicted for pod in gang.members)
            if not hit or gang.group is None or gang.foreign or self._stay(gang, scene):
                continue
            if any(pod.metadata.uid in called_off for pod in gang.members):
                continue
            self.seen["gangs evicted whole"] += 1
            said = scene.gangs_said.get((gang.key, Aspect.EVICTED))
            if said is None and not gang.says_disrupted:
                raise BrokenRuleError(_TARGET, f"{gang.key} is evicted whole and does not say so")

    def _stay(self, gang: Gang, scene: Scene) -> list[Pod]:
        """Members that run, are being bound or perhaps are, and do not leave, however late their evictions are."""
        live = [
            pod
            for pod in gang.members
            if pod.metadata.deletion_timestamp is None and pod.metadata.uid not in self._condemned
        ]
        there = scene.takers.keys() | scene.doubtful.keys()
        return [pod for pod in live if pod.metadata.uid in there and pod.metadata.uid not in scene.leaving]

    def at_rest(self, gang: Gang) -> None:
        if gang.foreign or not gang.speaks:
            return
        # one that was spared and has not started takes it back when it does
        if gang.says_disrupted and gang.started and gang.running and gang.bound >= gang.floor:
            raise BrokenRuleError(_TARGET, f"{gang.key} runs, and still says that it was evicted whole")
        lives = gang.running or gang.binding or gang.candidates
        since = self._since.get(gang.group.metadata.uid, self._world.now) if gang.group is not None else 0.0
        # one that has just fallen says so in a moment
        if gang.below_minimum and lives and not gang.says_below and self._world.now - since >= _SLACK_SECONDS:
            raise BrokenRuleError(_RULE, f"{gang.key} has {gang.bound} of {gang.minimum} bound and does not say so")
        # one that fell is not whole again because of members that succeeded before
        # and two schedulers read no record of each other: of a gang of both one may miss what the other does not
        if gang.says_below and not gang.below_minimum and gang.running and not gang.shared:
            raise BrokenRuleError(_RULE, f"{gang.key} has {gang.bound} of {gang.minimum} bound and says it is below")
