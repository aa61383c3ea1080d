"""Another scheduler: binds the pods that name it where there is room, without a network and without a gang in mind."""

import asyncio

from muster.local.store.store import What
from muster.sim.plain import fits, needs_of
from tests.system.cluster import room_left

OTHER = "other"


class OtherScheduler:
    """Binds each of its pods once, in its own time; one for which there is no room then stays without a node."""

    def __init__(self, cluster, *, rng, seen):
        self._cluster = cluster
        self._rng = rng
        self._seen = seen
        self.pending = 0
        """Pods that it has yet to look at."""
        cluster.watch("pods", self._pod_happened)

    def _pod_happened(self, happened):
        if happened.what is What.ADDED and happened.now.fields["spec.schedulerName"] == OTHER:
            self.pending += 1
            delay = self._rng.choice((0.0, 0.5, 3.0))
            asyncio.get_running_loop().call_later(delay, self._bind, happened.now.name, happened.now.uid)

    def _bind(self, name, uid):
        self.pending -= 1
        pod = self._cluster.find(name)
        if pod is None or pod.metadata.uid != uid or pod.spec.node_name:
            return
        possible = sorted(name for name, place in room_left(self._cluster).items() if fits(needs_of(pod), place))
        if possible:
            self._seen["events: foreign binds"] += self._cluster.bind(pod, self._rng.choice(possible))
