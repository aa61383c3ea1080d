"""An engine that is told of objects in any dialect, and a cluster that does what it decides."""

from itertools import zip_longest

from msgspec.structs import replace

from muster.api.times import stamp
from muster.api.wire import Condition, Metadata, PriorityClass
from muster.edge.groups import Groups
from muster.engine.changes import Bound, NodeSeen
from muster.engine.decisions import Bind, Event, Evict, GangCondition, MarkStarted, PodCondition, Release, Reread
from muster.engine.engine import Engine
from muster.gangs.dialects.v1beta1 import says
from muster.gangs.record import BOUND_FOR, STARTED
from muster.plugins.defaults import default_profile
from tests.builders import node

START = 1_800_000_000.0


class Talk:
    """Remembers what was decided about pods, in words that are the same in every dialect."""

    def __init__(self, nodes, *, cpu=4, closed=()):
        self.engine = Engine(default_profile())
        self.groups = Groups(closed=closed)
        self.nodes = [node(f"n{number}", cpu=cpu) for number in range(nodes)]
        self.now = START
        self.pods = {}
        self.objects = {}
        """By dialect."""
        self.said = []
        self.why = {}
        """By name: what pods said last of why they wait."""
        self.linger = False
        """Pods that are evicted take their time."""
        self.refused = ()
        """Names of pods whose binds are never answered."""
        self.engine.apply(map(NodeSeen, self.nodes))

    def declared(self, speaker, found):
        self.objects[speaker.dialect] = found
        self.engine.apply(self.groups.seen(speaker.dialect, found))

    def undeclared(self, speaker, found):
        meta = found.metadata
        del self.objects[speaker.dialect]
        self.engine.apply(self.groups.gone(speaker.dialect, f"{meta.namespace}/{meta.name}", meta.uid))

    def prioritised(self, name, value):
        """There is a priority class of this name."""
        self.engine.apply(self.groups.class_seen(PriorityClass(metadata=Metadata(name=name), value=value)))

    def seen(self, pod):
        self.pods[pod.metadata.uid] = pod
        self.engine.apply(self.groups.pod_seen(pod))

    def gone(self, uid):
        del self.pods[uid]
        self.engine.apply(self.groups.pod_gone(uid))

    def restart(self, *, closed=()):
        self.engine, self.groups = Engine(default_profile()), Groups(closed=closed)
        self.engine.apply(map(NodeSeen, self.nodes))
        for dialect, found in self.objects.items():
            self.engine.apply(self.groups.seen(dialect, found))
        for pod in self.pods.values():
            self.engine.apply(self.groups.pod_seen(pod))

    def until_quiet(self, *, seconds=0.0):
        """Decides and carries out until nothing is left to be done, then waits as long as this."""
        until = self.now + seconds
        while True:
            while self._turn():
                pass
            at = self.engine.next_decide_at
            if at is None or at > until:
                break
            self.now = max(self.now, at)
        self.now = until
        return self

    def words(self):
        """Why each pod waits, by name, and what events tell of those who do not; said within ten seconds."""
        words = {}
        for _ in range(10):
            for decision in self._turn():
                match decision:
                    case PodCondition():
                        words |= {ref.pod.partition("/")[2]: decision.message for ref in decision.pods}
                    case Event(warning=True):
                        words |= {ref.pod.partition("/")[2]: decision.note for ref in decision.pods}
            self.now += 1
        return words

    def _turn(self):
        decisions = self.engine.decide(self.now)
        for decision in decisions:
            match decision:
                case Bind(pods=placements):
                    for placement in placements:
                        self.said.append(f"bind {placement.pod} to {placement.node}")
                        self._bind(placement)
                case Release() | Evict():
                    for ref in decision.pods:
                        self.said.append(f"{type(decision).__name__.lower()} {ref.pod}")
                        self._leave(ref.uid)
                case PodCondition():
                    for ref, nominated in zip_longest(decision.pods, decision.nominated, fillvalue=""):
                        self.said.append(f"{ref.pod} waits")
                        self.why[ref.pod.partition("/")[2]] = decision.message
                        self._nominate(ref.uid, nominated)
                case GangCondition():
                    self._say(decision)
                case MarkStarted():
                    for ref in decision.pods:
                        self._annotate(ref.uid, STARTED, decision.gang)
                case Reread():
                    self.engine.apply([self.groups.answer(decision.gang, decision.number)])
        return decisions

    def _say(self, decision):
        dialect, _ = self.groups.find(decision.gang)
        found = self.objects[dialect]
        said = says(decision.aspect, holds=decision.holds, reason=decision.reason, message=decision.message)
        kind = dialect.conditions.get(said.type, said.type)
        others = tuple(other for other in found.status.conditions if other.type != kind)
        written = replace(said, type=kind, last_transition_time=stamp(self.now))
        self.objects[dialect] = replace(found, status=replace(found.status, conditions=(*others, written)))
        self.engine.apply(self.groups.seen(dialect, self.objects[dialect]))

    def _leave(self, uid):
        if not self.linger:
            self.gone(uid)
            return
        pod = self.pods[uid]
        self.seen(replace(pod, metadata=replace(pod.metadata, deletion_timestamp=stamp(self.now + 30))))

    def _nominate(self, uid, node):
        pod = self.pods[uid]
        if pod.status.nominated_node_name != node:
            self.seen(replace(pod, status=replace(pod.status, nominated_node_name=node)))

    def _annotate(self, uid, key, value):
        pod = self.pods[uid]
        meta = replace(pod.metadata, annotations=pod.metadata.annotations | {key: value})
        self.seen(replace(pod, metadata=meta))

    def _bind(self, placement):
        if placement.pod.partition("/")[2] in self.refused:
            return
        self.engine.apply([Bound(placement.uid, placement.node, self.now)])
        pod = self.pods[placement.uid]
        record = {BOUND_FOR: placement.bound_for.text} if self.groups.records(placement.uid) else {}
        meta = replace(pod.metadata, annotations=pod.metadata.annotations | record)
        scheduled = Condition(type="PodScheduled", status="True", last_transition_time=stamp(self.now))
        status = replace(pod.status, conditions=(scheduled,))
        self.seen(replace(pod, metadata=meta, spec=replace(pod.spec, node_name=placement.node), status=status))

    @property
    def bound(self):
        return sorted(pod.metadata.name for pod in self.pods.values() if pod.spec.node_name)
