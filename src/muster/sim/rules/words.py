"""What is said on pods and groups: upstream's words, nothing twice, and nothing that is not so."""

from __future__ import annotations

import re

from muster.api.wire import Pod, condition
from muster.engine.changes import BindFailed, Change, Failure, GroupGone, GroupSeen, PodGone, PodSeen
from muster.engine.decisions import GangCondition, PodCondition
from muster.gangs.model import Aspect
from muster.sim.plain import asks_in_vain, group_asks_in_vain, held, key_of, lacks_claims, unit_of
from muster.sim.reading import MEMBERS_REFUSED, Gang, Reading, Waiting
from muster.sim.rules.broken import BrokenRuleError
from muster.sim.rules.scene import Scene
from muster.sim.world import World

UNSCHEDULABLE = "Unschedulable"
NOT_READY = "PodGroupNotReady"
ERROR = "SchedulerError"
UNSUPPORTED = "Unsupported"
GROUP_ERROR = "PodGroupError"

_TEXTS = {
    UNSCHEDULABLE: re.compile(
        r"0/(?P<nodes>\d+) nodes are available: \d+ .+\.|no nodes available to schedule pods"
        r"|pod group is unschedulable, .+"
        r'|persistentvolumeclaim ".*" not found|waiting for ephemeral volume controller to create the .+'
    ),
    NOT_READY: re.compile(r"waiting for its pod group: .+"),
    ERROR: re.compile(r"binding to \S+ was (refused|given up): .+|the scheduler failed: .+|\w+ failed: .+"),
    UNSUPPORTED: re.compile(r"no plugin of this scheduler honours spec\..+; remove (it|them), or set .+"),
    GROUP_ERROR: re.compile(
        r"all pods in a single pod group should have the same priority as the pod group's priority, got -?\d+ and -?\d+"
    ),
}


# so long after the last change somebody must say why a pod waits
_TELLING_SECONDS = 5.0


class Words:
    def __init__(self, world: World, reading: Reading, *, alone: bool) -> None:
        """`alone`: no other scheduler evicts members of the same gangs, and spares them."""
        self._world = world
        self._reading = reading
        self._alone = alone
        self._changed: dict[str, float] = {}
        """By unit: when anything of it last changed."""
        self._unanswered: set[str] = set()
        """UIDs of pods whose last bind got no answer: it may have succeeded, so they get an event and no word."""

    def told(self, change: Change) -> None:
        match change:
            case PodSeen(pod):
                self._changed[unit_of(pod)] = self._world.now
            case GroupSeen(group):
                self._changed[f"{group.metadata.namespace}/{group.metadata.name}"] = self._world.now
            case GroupGone(key):
                self._changed[key] = self._world.now
            case BindFailed(uid):
                if change.failure is Failure.TRANSIENT:
                    self._unanswered.add(uid)
                else:
                    self._unanswered.discard(uid)
                if uid in self._world.pods:
                    self._changed[unit_of(self._world.pods[uid])] = self._world.now
            case PodGone():
                # whose it was nobody knows any more: a gang that lost a member says something new
                self._changed.update(dict.fromkeys(self._changed, self._world.now))

    def restarted(self) -> None:
        self._changed.clear()
        self._unanswered.clear()

    def review(self, gangs: dict[str, Gang]) -> None:
        """Every pod that waits says why before long."""
        for pod in self._world.pods.values():
            if not self._reading.waits(pod) or condition(pod.status.conditions, "PodScheduled") is not None:
                continue
            if pod.metadata.uid in self._unanswered:
                continue
            gang = gangs.get(unit_of(pod))
            silent = self._world.now - self._changed.setdefault(unit_of(pod), self._world.now)
            if silent > _TELLING_SECONDS and (gang is None or not gang.foreign):
                raise BrokenRuleError("told", f"{key_of(pod)} has waited {silent:g} s and nobody says why")

    def check_pods(self, decision: PodCondition, scene: Scene) -> None:
        text = _TEXTS.get(decision.reason)
        told = text.fullmatch(decision.message) if text else None
        if told is None:
            raise BrokenRuleError("text", f"not upstream's text: {decision.reason}: {decision.message}")
        nodes = told.groupdict().get("nodes")
        # whoever is only nominated no longer says what it said before, of as many nodes as there were then
        known = [self._world.pods[ref.uid] for ref in decision.pods if ref.uid in self._world.pods]
        new = any((_said(pod, scene) or ("", ""))[:2] != (decision.reason, decision.message) for pod in known)
        if new and nodes is not None and int(nodes) != len(self._world.nodes):
            raise BrokenRuleError("text", f"there are {len(self._world.nodes)} nodes: {decision.message}")
        nominated = decision.nominated or ("",) * len(decision.pods)
        for ref, node in zip(decision.pods, nominated, strict=True):
            pod = self._world.pods.get(ref.uid)
            if pod is None or pod.spec.node_name or ref.uid in self._world.in_flight:
                raise BrokenRuleError("text", f"{ref.pod} does not wait: {decision.message}")
            if node and node not in self._world.nodes:
                raise BrokenRuleError("text", f"{ref.pod} is nominated to {node}, which is not there")
            if _said(pod, scene) == (decision.reason, decision.message, node):
                raise BrokenRuleError("noise", f"{ref.pod} says so already: {decision.message}")

    def check_gang(self, decision: GangCondition, gang: Gang, scene: Scene, *, reached: bool) -> None:
        """`reached`: it had its minimum bound, now or before."""
        told = {Aspect.STARTED: gang.said, Aspect.BELOW_MINIMUM: gang.below, Aspect.EVICTED: gang.disrupted}
        said = told[decision.aspect]
        if decision.aspect is Aspect.STARTED:
            if decision.holds and not reached:
                raise BrokenRuleError("gang condition", f"{gang.key} is said to have started with {gang.bound} bound")
            if gang.says_started and not decision.holds:
                raise BrokenRuleError("gang condition", f"{gang.key} goes back to not started")
        new = ("True" if decision.holds else "False", decision.reason, decision.message)
        stands = None if said is None else (said.status, said.reason, said.message)
        about = gang.key, decision.aspect
        # of two who evict a gang, and spare it, each takes back what it said
        both = gang.shared or not (self._alone or decision.aspect is Aspect.STARTED)
        if scene.gangs_said.get(about, stands) == new and not both:
            raise BrokenRuleError("noise", f"{gang.key} says so already: {decision.message}")
        scene.gangs_said[about] = new

    # --- at rest ---

    def check_waits(self, unit: Waiting) -> None:
        """Somebody says why it waits."""
        for pod in unit.pods:
            if condition(pod.status.conditions, "PodScheduled") is None:
                raise BrokenRuleError("told", f"{key_of(pod)} waits and nobody says why")
        if unit.gang is not None and unit.gang.speaks and unit.gang.said is None:
            raise BrokenRuleError("told", f"{unit.key} waits and its group does not say why")

    def check_says(self, gang: Gang) -> None:
        """The group says what is so; pods that no node can help do not ask for one."""
        if gang.foreign or not gang.members:
            # another scheduler's, or perhaps it was as long as it had members
            return
        if gang.group is None:
            self._check_asks_for_none(gang, "its group is not there")
            return
        if gang.speaks and gang.bound >= gang.minimum and not gang.says_started:
            raise BrokenRuleError("gang condition", f"{gang.key} has its minimum bound but does not say so")
        for pod in gang.candidates:
            self._check_odd(pod, gang)
        lacks = not gang.basic and gang.present < gang.minimum
        asks = bool(gang.candidates) and group_asks_in_vain(gang.group)
        quiet = self._world.now - self._changed.get(gang.key, 0.0) > _TELLING_SECONDS
        if gang.started:
            if quiet and not gang.doubtful and gang.need > len(gang.placeable):
                self._check_asks_for_none(gang, "what its minimum asks for is not all there")
            return
        if not (lacks or gang.gated or gang.at_odds or asks):
            return
        if gang.speaks:
            self._check_held(gang, asks=asks)
        if quiet and lacks:
            self._check_asks_for_none(gang, "it waits for members")
        elif quiet and gang.speaks:
            # one without a status may have started before its members were lost: who saw that goes on with the others
            self._check_asks_for_none(gang, "it is held")

    def _check_held(self, gang: Gang, *, asks: bool) -> None:
        """The group says why it is not even tried."""
        said = gang.below if gang.fallen else gang.said
        # one that kubelets refused gives no other reason
        errors = (GROUP_ERROR, MEMBERS_REFUSED)
        if gang.at_odds and not asks and not gang.shared and (said is None or said.reason not in errors):
            raise BrokenRuleError("told", f"{gang.key} has members of several priorities and does not say so")
        if gang.said is None and not gang.basic:
            raise BrokenRuleError("told", f"{gang.key} is held and does not say why")

    def _check_odd(self, pod: Pod, gang: Gang) -> None:
        """A member whose priority is not its group's says so, and with the right numbers; nobody else does."""
        said, odd = condition(pod.status.conditions, "PodScheduled"), gang.odd(pod) and not held(pod)
        if odd is not (said is not None and said.reason == GROUP_ERROR):
            raise BrokenRuleError("told", f"{key_of(pod)} is odd: {odd}, and says {said}")
        declared = None if gang.group is None else gang.group.spec.priority
        if odd and said is not None and not said.message.endswith(f" got {pod.spec.priority or 0} and {declared}"):
            raise BrokenRuleError("told", f"{key_of(pod)} says {said.message!r}, and the group declares {declared}")

    def _check_asks_for_none(self, gang: Gang, why: str) -> None:
        for pod in gang.candidates:
            said = condition(pod.status.conditions, "PodScheduled")
            # upstream has no other reason for those whose claims are not there
            if said is not None and said.reason == UNSCHEDULABLE and not lacks_claims(pod):
                raise BrokenRuleError("asks for nodes", f"{key_of(pod)} says {said.message!r}, but {why}")

    def check_asks(self) -> None:
        """Whoever waits because of what it asks for says so itself."""
        for pod in self._world.pods.values():
            if not asks_in_vain(pod) or pod.spec.scheduling_gates or not self._reading.waits(pod):
                continue
            said = condition(pod.status.conditions, "PodScheduled")
            if said is None or said.reason != UNSUPPORTED:
                raise BrokenRuleError("told", f"{key_of(pod)} asks for something in vain and does not say so")

    def check_nominations(self) -> None:
        """When nobody is leaving, nothing is kept."""
        leaving = {
            pod.spec.node_name for pod in self._world.pods.values() if pod.metadata.deletion_timestamp is not None
        }
        for pod in self._world.pods.values():
            if self._reading.waits(pod) and pod.status.nominated_node_name and not leaving:
                raise BrokenRuleError("nomination", f"{key_of(pod)} is still nominated to a node, and waits for nobody")


def _said(pod: Pod, scene: Scene) -> tuple[str, str, str] | None:
    """Reason, message and nomination that stand on the pod, or will."""
    before = condition(pod.status.conditions, "PodScheduled")
    stands = None if before is None else (before.reason, before.message, pod.status.nominated_node_name)
    return scene.said.get(pod.metadata.uid, stands)
