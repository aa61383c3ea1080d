"""What some plugins make of a few nodes for one pod, by the names of the nodes.

Plugins are asked through a profile of their own and a view, as the engine asks them.
"""

from collections.abc import Iterable, Mapping, Sequence

from muster.api.wire import Node, Pod
from muster.cluster.cluster import Cluster
from muster.framework.profile import Plugin, Profile, Profiles
from muster.framework.views import PRECEDENCE_BITS, TIE_BREAK_BITS, Views
from muster.plugins.gang_scheduling import GangScheduling
from muster.plugins.node_ports import NodePorts
from muster.plugins.node_resources_fit import NodeResourcesFit
from muster.plugins.priority_sort import PrioritySort


class Rating:
    """`copies` that each node takes, and the `score` of the next, -1 where there is none."""

    def __init__(
        self,
        plugins: Sequence[tuple[Plugin, int]],
        nodes: Iterable[Node],
        candidate: Pod,
        running: Mapping[str, Sequence[Pod]] | None = None,
    ) -> None:
        listed = [*plugins, (PrioritySort(), 0), (GangScheduling(), 0)]
        if not any(isinstance(plugin, NodeResourcesFit) for plugin, _ in plugins):
            listed.append((NodeResourcesFit(), 0))
        profile = Profile(listed)
        states = {plugin.name: plugin.new_state() for plugin in profile.stateful}
        cluster = Cluster(states=states, ignores=Profiles(profile).ignores)
        for node in nodes:
            cluster.put_node(node)
        for name, pods in (running or {}).items():
            for pod in pods:
                cluster.nodes.usage.add(cluster.nodes.rows[name], cluster.classes.of(pod))
        view = Views(profile, cluster.nodes).of(cluster.classes.of(candidate))
        rows = cluster.nodes.rows
        self.copies = {name: int(view.copies[row]) for name, row in rows.items()}
        self.score = {
            name: int(view.key[row]) >> (PRECEDENCE_BITS + TIE_BREAK_BITS) if self.copies[name] else -1
            for name, row in rows.items()
        }

    @property
    def takers(self) -> set[str]:
        return {name for name, copies in self.copies.items() if copies}

    @property
    def below_best(self) -> dict[str, int]:
        """How far each taker's score is below the best: what a constant added to all does not change."""
        best = max(self.score.values(), default=0)
        return {name: best - score for name, score in self.score.items() if self.copies[name]}


def takers(plugin: Plugin, nodes: Iterable[Node], candidate: Pod, **running: Sequence[Pod]) -> set[str]:
    """Names of the nodes that the plugin leaves for the pod."""
    ports = [] if isinstance(plugin, NodePorts) else [(NodePorts(), 0)]
    return Rating([(plugin, 0), *ports], nodes, candidate, running).takers
