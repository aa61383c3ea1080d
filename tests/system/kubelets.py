"""What happens to pods on the server's side: kubelets, the garbage collector, PodGroup protection, another scheduler.

They act on what the server holds, without a network: what Muster makes of a bad network is the question here.
"""

import asyncio

import msgspec

from muster.api.times import stamp
from muster.api.wire import Pod, condition
from muster.gangs.dialects.v1beta1 import GROUP_LABEL
from muster.local.kinds.admission import GROUP_FINALIZER
from muster.local.store.store import What
from muster.sim.kubelets import Kubelets as Admission
from muster.sim.objects import EXIT_CODE, RUN_SECONDS, stop_seconds
from muster.sim.plain import ENDED, Place, fits, needs_of, room_of, take

OTHER = "other"
_GROUPS = "podgroups.scheduling.k8s.io"


class Kubelets:
    """Those of all nodes; `rng` says how long each thing takes."""

    def __init__(self, cluster, *, rng, seen):
        self._cluster = cluster
        self._rng = rng
        self._seen = seen
        self._admission = Admission()
        self._known = set()
        """UIDs of pods that were bound and are being taken in, or were."""
        self._leaving = set()
        self.pending = 0
        """What is still to be done."""
        cluster.store.watch("pods", self._pod_happened)
        cluster.store.watch("nodes", self._node_happened)
        cluster.store.watch(_GROUPS, self._group_happened)

    def _later(self, seconds, action, *arguments):
        def act():
            self.pending -= 1
            action(*arguments)

        self.pending += 1
        asyncio.get_running_loop().call_later(seconds, act)

    # --- what they hear ---

    def _pod_happened(self, happened):
        stored = happened.now
        if happened.what is What.DELETED:
            self._admission.let_go(stored.uid)
            self._leaving.discard(stored.uid)
            self._later(0.2, self._protect)
            return
        phase, node = stored.fields["status.phase"], stored.fields["spec.nodeName"]
        if phase in ENDED:
            self._admission.let_go(stored.uid)
            self._later(0.2, self._protect)
            return
        if not node:
            if stored.fields["spec.schedulerName"] == OTHER and happened.what is What.ADDED:
                self._later(self._rng.choice((0.0, 0.5, 3.0)), self._bind_other, stored.name, stored.uid)
            return
        if stored.uid not in self._known:
            self._known.add(stored.uid)
            self._later(self._rng.choice((0.01, 0.2, 1.0)), self._arrive, stored.name, stored.uid)
        elif phase == "Running" and b'"status":"False"' in stored.data and stored.uid not in self._leaving:
            # somebody who does not know yet that it runs says that it has no place
            self._later(1.0, self._say_again, stored.name, stored.uid)
        if stored.uid not in self._leaving and b'"deletionTimestamp"' in stored.data:
            self._leaving.add(stored.uid)
            pod = msgspec.json.decode(stored.data, type=Pod)
            self._later(stop_seconds(pod) + 0.01, self._remove, stored.name, stored.uid)

    def _node_happened(self, happened):
        if happened.what is What.DELETED:
            self._later(self._rng.choice((0.05, 1.0, 3.0)), self._collect, happened.now.name)

    def _group_happened(self, happened):
        self._later(0.2, self._protect)

    # --- what they do ---

    def _find(self, name, uid):
        pod = self._cluster.find(name)
        return pod if pod is not None and pod.metadata.uid == uid else None

    def _arrive(self, name, uid):
        pod = self._find(name, uid)
        if pod is None or pod.metadata.deletion_timestamp is not None or pod.status.phase in ENDED:
            return
        node = self._cluster.nodes.get(pod.spec.node_name)
        if node is None:
            self._later(1.0, self._collect, pod.spec.node_name)
            return
        refusal = self._admission.take_in(pod, node)
        if refusal:
            self._seen["events: refused by a kubelet"] += 1
            self._report(pod, phase="Failed", reason=refusal)
            return
        self._report(pod, phase="Running")
        if (seconds := pod.metadata.annotations.get(RUN_SECONDS)) is not None:
            self._later(float(seconds), self.end, name, uid)

    def _report(self, pod, **status):
        now = stamp(self._cluster.now)
        scheduled = {"type": "PodScheduled", "status": "True"}
        status |= {"startTime": now, "conditions": [scheduled]}
        self._cluster.patch(
            self._cluster.path(pod, "status"), {"metadata": {"uid": pod.metadata.uid}, "status": status}, strategic=True
        )

    def _say_again(self, name, uid):
        pod = self._find(name, uid)
        if pod is None or pod.status.phase != "Running" or pod.metadata.deletion_timestamp is not None:
            return
        said = condition(pod.status.conditions, "PodScheduled")
        if said is not None and said.status == "False":
            self._seen["events: a kubelet says again that a pod has its place"] += 1
            self._report(pod, phase="Running")

    def end(self, name, uid, *, failed=None):
        """A pod that runs comes to its end."""
        pod = self._find(name, uid)
        if pod is None or pod.status.phase != "Running" or pod.metadata.deletion_timestamp is not None:
            return
        if failed is None:
            failed = pod.metadata.annotations.get(EXIT_CODE, "0") != "0"
        self._cluster.patch(self._cluster.path(pod, "status"), {"status": {"phase": ENDED[failed]}})

    def _remove(self, name, uid):
        pod = self._find(name, uid)
        if pod is not None:
            self._cluster.delete(
                self._cluster.path(pod), gracePeriodSeconds=0, preconditions={"uid": uid}, kind="DeleteOptions"
            )

    def _collect(self, node):
        """Pods on a node that is not there go."""
        if node in self._cluster.nodes:
            for uid, pod in self._cluster.pods.items():
                if pod.spec.node_name == node and pod.status.phase == "Pending":
                    self._later(0.01, self._arrive, pod.metadata.name, uid)
            return
        for uid, pod in self._cluster.pods.items():
            if pod.spec.node_name == node:
                self._remove(pod.metadata.name, uid)

    def _protect(self):
        """A group that is being deleted goes when no pod uses it any more; labels mean nothing to Kubernetes."""
        groups = [group for group in self._cluster.groups.values() if group.metadata.deletion_timestamp is not None]
        if not groups:
            return
        used = {
            pod.spec.scheduling_group.pod_group_name
            for pod in self._cluster.pods.values()
            if pod.spec.scheduling_group is not None
            and GROUP_LABEL not in pod.metadata.labels
            and pod.status.phase not in ENDED
        }
        for group in groups:
            held = group.metadata.finalizers
            if group.metadata.name not in used and GROUP_FINALIZER in held:
                kept = [name for name in held if name != GROUP_FINALIZER]
                self._cluster.patch(self._cluster.path(group), {"metadata": {"finalizers": kept or None}})

    def _bind_other(self, name, uid):
        """The other scheduler binds where there is room, as the server says."""
        pod = self._find(name, uid)
        if pod is None or pod.spec.node_name:
            return
        places = room_left(self._cluster)
        possible = sorted(name for name, place in places.items() if fits(needs_of(pod), place))
        if possible:
            self._seen["events: foreign binds"] += self._cluster.bind(pod, self._rng.choice(possible))


def room_left(cluster):
    """The room that nobody has who is bound."""
    places = {name: Place(dict(room_of(node)), []) for name, node in cluster.nodes.items()}
    for pod in cluster.pods.values():
        if pod.spec.node_name in places and pod.status.phase not in ENDED:
            take(needs_of(pod), places[pod.spec.node_name])
    return places
