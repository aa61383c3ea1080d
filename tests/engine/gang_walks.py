"""Random walks of one gang: whatever the API can tell of it happens to it, one change at a time."""

from collections import Counter
from collections.abc import Callable
from random import Random

from msgspec.structs import replace

from muster.api.times import stamp
from muster.api.wire import Pod, PodGroup
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
from muster.engine.decisions import Bind, CallOff, Decision, Evict, GangCondition, Placement, Release, Reread
from muster.engine.engine import Engine
from muster.gangs.dialects.v1beta1 import says
from muster.plugins.defaults import default_profile
from muster.sim.transitions import Transitions
from tests.builders import bound_for, group, node, pod

G = "team/g"
NODES = ("n0", "n1", "n2", "n3")


class Walk:
    """An engine, an API of one gang and whoever evicts it, and chance."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.engine = Engine(default_profile())
        self.transitions = Transitions(self.engine, Counter())
        self.now = 1000.0
        self.story: list[str] = []
        self.pods: dict[str, Pod] = {}
        self.group: PodGroup | None = None
        self.nodes: set[str] = set()
        self.sent: dict[str, Placement] = {}
        """Binds without an answer, by UID."""
        self.going: dict[str, None] = {}
        """UIDs of pods whose deletion has not been sent."""
        self.asked: Reread | None = None
        self._made = 0
        for name in NODES:
            self._tell(NodeSeen(node(name, cpu=1)))
            self.nodes.add(name)
        self.decide()

    def step(self) -> None:
        """Something happens, and is decided on; now and then several things happen before that."""
        while True:
            happens: Callable[[], bool] = self.rng.choice(_EVENTS).__get__(self)
            if happens() and self.rng.random() < 0.9:
                break
        self.decide()

    # --- the engine ---

    def _tell(self, *changes: Change) -> bool:
        for change in changes:
            self.story.append(f"{self.now:g} {change}")
            self.transitions.tell(change, self.engine.apply)
        return True

    def decide(self) -> None:
        while True:
            decisions = self.engine.decide(self.now)
            self.story += [f"{self.now:g} => {decision}" for decision in decisions]
            self.transitions.decided(decisions)
            for decision in decisions:
                self._carry_out(decision)
            due = self.engine.next_decide_at
            if due is None or due > self.now:
                return

    def _carry_out(self, decision: Decision) -> None:
        match decision:
            case Bind(_, placements):
                self.sent |= {placement.uid: placement for placement in placements}
            case Release(_, refs):
                for ref in refs:
                    self._leave(ref.uid)
            case Evict(_, refs):
                self.going |= dict.fromkeys(ref.uid for ref in refs)
            case CallOff(_, refs):
                uids = tuple(ref.uid for ref in refs)
                if all(uid in self.going for uid in uids) and self.rng.random() < 0.8:
                    for uid in uids:
                        del self.going[uid]
                    self._tell(Spared(uids))
            case GangCondition() if self.group is not None and self.group.metadata.uid == decision.uid:
                self._write(decision, self.group)
            case Reread():
                self.asked = decision

    # --- the API ---

    def _write(self, decision: GangCondition, on: PodGroup) -> None:
        written = says(decision.aspect, holds=decision.holds, reason=decision.reason, message=decision.message)
        kept = tuple(found for found in on.status.conditions if found.type != written.type)
        conditions = (*kept, replace(written, last_transition_time=stamp(self.now)))
        self.group = replace(on, status=replace(on.status, conditions=conditions))
        self._tell(GroupSeen(self.group))

    def _put(self, found: Pod) -> bool:
        self.pods[found.metadata.uid] = found
        return self._tell(PodSeen(found))

    def _leave(self, uid: str) -> bool:
        found = self.pods.get(uid)
        if found is None or found.metadata.deletion_timestamp is not None:
            return False
        return self._put(replace(found, metadata=replace(found.metadata, deletion_timestamp=stamp(self.now))))

    def _pick(self, fits: Callable[[Pod], bool]) -> Pod | None:
        found = [one for one in self.pods.values() if fits(one)]
        return self.rng.choice(found) if found else None

    def _name(self) -> str:
        self._made += 1
        return f"g-{self._made}"

    # --- what happens ---

    def member_comes(self) -> bool:
        if len(self.pods) > 5:
            return False
        return self._put(
            pod(self._name(), cpu=1, gang="g", created=self.now, controller=self.rng.choice(("", "", "j")))
        )

    def member_is_found_bound(self) -> bool:
        """Another scheduler bound it, or this one did for some object of that name."""
        taken = {one.spec.node_name for one in self.pods.values()} | {p.node for p in self.sent.values()}
        free = sorted(self.nodes - taken)
        if not free or self.rng.random() < 0.5:
            return False
        uid = None if self.group is None else self.group.metadata.uid
        record = self.rng.choice((None, bound_for("g", self.rng.randint(1, 3), uid=self.rng.choice((uid, "other")))))
        phase = self.rng.choice(("Running", "Running", "Succeeded"))
        return self._put(pod(self._name(), cpu=1, gang="g", on=free[0], bound_at=self.now, phase=phase, record=record))

    def member_is_bound_by_hand(self) -> bool:
        """On its way or not, and without a record."""
        found = self._pick(lambda one: not one.spec.node_name and one.metadata.deletion_timestamp is None)
        if found is None or not self.nodes or self.rng.random() < 0.5:
            return False
        return self._put(replace(found, spec=replace(found.spec, node_name=self.rng.choice(sorted(self.nodes)))))

    def bind_is_answered(self) -> bool:
        if not self.sent:
            return False
        uid = self.rng.choice(sorted(self.sent))
        placement = self.sent.pop(uid)
        known = self.pods.get(uid)
        if known is None or known.metadata.deletion_timestamp is not None:
            return self._tell(BindFailed(uid, placement.node, Failure.POD_GONE))
        if known.spec.node_name:
            return self._tell(BindFailed(uid, placement.node, Failure.REJECTED))
        if placement.node not in self.nodes:
            return self._tell(BindFailed(uid, placement.node, Failure.REJECTED))
        failure = self.rng.choice((None, None, None, None, *Failure))
        if failure is Failure.POD_GONE:
            failure = None
        if failure is not None:
            return self._tell(BindFailed(uid, placement.node, failure, "no"))
        annotations = {"muster.dev/bound-for": placement.bound_for.text}
        bound = replace(
            known,
            metadata=replace(known.metadata, annotations=annotations),
            spec=replace(known.spec, node_name=placement.node),
        )
        self.pods[uid] = bound
        first, then = Bound(uid, placement.node, self.now), PodSeen(bound)
        return self._tell(*((first, then) if self.rng.random() < 0.5 else (then, first)))

    def member_ends(self) -> bool:
        found = self._pick(lambda one: bool(one.spec.node_name) and one.status.phase in ("Pending", "Running"))
        if found is None:
            return False
        phase = self.rng.choice(("Succeeded", "Failed"))
        reason = "OutOfcpu" if phase == "Failed" and self.rng.random() < 0.4 else ""
        return self._put(replace(found, status=replace(found.status, phase=phase, reason=reason)))

    def member_leaves(self) -> bool:
        found = self._pick(lambda one: one.metadata.deletion_timestamp is None)
        return found is not None and self._leave(found.metadata.uid)

    def member_goes(self) -> bool:
        found = self._pick(lambda one: one.metadata.deletion_timestamp is not None or self.rng.random() < 0.3)
        return found is not None and self._goes(found.metadata.uid)

    def _goes(self, uid: str) -> bool:
        del self.pods[uid]
        self.going.pop(uid, None)
        return self._tell(PodGone(uid))

    def eviction_is_sent(self) -> bool:
        if not self.going:
            return False
        uid = next(iter(self.going))
        del self.going[uid]
        return self._leave(uid)

    def node_goes(self) -> bool:
        if not self.nodes:
            return False
        name = self.rng.choice(sorted(self.nodes))
        self.nodes.remove(name)
        return self._tell(NodeGone(name))

    def node_comes(self) -> bool:
        gone = sorted(set(NODES) - self.nodes)
        if not gone:
            return False
        self.nodes.add(gone[0])
        return self._tell(NodeSeen(node(gone[0], cpu=1)))

    def group_comes(self) -> bool:
        """Or is made anew under its name."""
        if self.group is not None and self.rng.random() < 0.7:
            return False
        self._made += 1
        minimum = self.rng.choice((1, 2, 2, 3, 3, None))
        wishes = self.rng.choice(({}, {}, {"muster.dev/below-minimum": "restart", _GRACE: "3"}))
        facts = {"timeout": self.rng.choice((None, 5.0)), "disruption": self.rng.choice((None, "all"))}
        self.group = group("g", minimum, created=self.now, uid=f"group-{self._made}", annotations=wishes, **facts)
        return self._tell(GroupSeen(self.group))

    def minimum_changes(self) -> bool:
        if self.group is None or self.group.spec.scheduling_policy.gang is None:
            return False
        changed = group("g", self.rng.randint(1, 4)).spec.scheduling_policy
        self.group = replace(self.group, spec=replace(self.group.spec, scheduling_policy=changed))
        return self._tell(GroupSeen(self.group))

    def group_goes(self) -> bool:
        if self.group is None or self.rng.random() < 0.6:
            return False
        self.group = None
        return self._tell(GroupGone(G))

    def group_is_read(self) -> bool:
        if self.asked is None:
            return False
        asked, self.asked = self.asked, None
        return self._tell(GroupRead(G, asked.number, self.group))

    def urgent_pod_comes(self) -> bool:
        if any(name.startswith("uid-u") for name in self.pods) or self.rng.random() < 0.5:
            return False
        self._made += 1
        return self._put(pod(f"u-{self._made}", cpu=1, priority=1000, created=self.now))

    def urgent_pod_goes(self) -> bool:
        found = self._pick(lambda one: one.metadata.name.startswith("u-"))
        return found is not None and self._goes(found.metadata.uid)

    def time_passes(self) -> bool:
        self.now += self.rng.choice((0.5, 2.0, 6.0, 40.0))
        return True


_GRACE = "muster.dev/below-minimum-grace-seconds"
_EVENTS = [
    Walk.member_comes,
    Walk.member_comes,
    Walk.member_comes,
    Walk.member_is_found_bound,
    Walk.member_is_bound_by_hand,
    Walk.bind_is_answered,
    Walk.bind_is_answered,
    Walk.bind_is_answered,
    Walk.bind_is_answered,
    Walk.member_ends,
    Walk.member_leaves,
    Walk.member_goes,
    Walk.eviction_is_sent,
    Walk.node_goes,
    Walk.node_comes,
    Walk.node_comes,
    Walk.group_comes,
    Walk.minimum_changes,
    Walk.group_goes,
    Walk.group_is_read,
    Walk.group_is_read,
    Walk.urgent_pod_comes,
    Walk.urgent_pod_goes,
    Walk.time_passes,
    Walk.time_passes,
]
