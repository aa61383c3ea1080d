"""What columns say of one node and one pod against the plain version, which is checked against kube-scheduler itself.

Every profile has a cluster of its own here: which resources pods need not have is settled when they are read.
"""

from collections import Counter

import msgspec
import numpy as np
import pytest

from muster.api.wire import Node, Pod
from muster.cluster.cluster import Cluster
from muster.cluster.room import Room
from muster.framework.profile import Profile, Profiles
from muster.framework.views import PRECEDENCE_BITS, TIE_BREAK_BITS, Views
from muster.plugins.gang_scheduling import GangScheduling
from muster.plugins.image_locality import ImageLocality
from muster.plugins.node_declared_features import NodeDeclaredFeatures
from muster.plugins.node_resources_balanced import NodeResourcesBalancedAllocation
from muster.plugins.node_resources_fit import NodeResourcesFit, Strategy
from muster.plugins.priority_sort import PrioritySort
from tests.plain_scheduler import node_rules, resources
from tests.plain_scheduler.random_clusters import STRATEGIES, surroundings, world

AROUND = surroundings()
SEEN = Counter()


def read(kind, document):
    return msgspec.convert(document, type=kind, strict=False)


class Columns:
    """A random cluster as the engine has it, with the plugins that one scheduler's arguments make."""

    def __init__(self, found, strategy):
        self.fit = NodeResourcesFit(
            strategy=Strategy(strategy.kind),
            weights=strategy.weights,
            shape=strategy.shape,
            ignored=strategy.ignored,
            ignored_groups=strategy.ignored_groups,
        )
        balanced = NodeResourcesBalancedAllocation(resources=strategy.balanced)
        scoring = {"fit": (self.fit, 1), "balance": (balanced, 1), "images": (ImageLocality(), 1)}
        needed = [(PrioritySort(), 0), (GangScheduling(), 0)]
        profiles = {
            name: Profiles(Profile([one, *needed, *([(self.fit, 0)] if name != "fit" else [])]))
            for name, one in scoring.items()
        }
        self._cluster = Cluster(states={}, ignores=profiles["fit"].ignores)
        for node in found.nodes:
            self._cluster.put_node(read(Node, node))
        self._views = {name: Views(each, self._cluster.nodes) for name, each in profiles.items()}

    def place(self, pod, node):
        self._cluster.nodes.usage.add(self._cluster.nodes.rows[node], self.class_of(pod))

    def class_of(self, pod):
        return self._cluster.classes.of(read(Pod, pod))

    def scores(self, pod):
        """By plugin and node, of nodes that have room."""
        return {name: self._scores(views.of(self.class_of(pod))) for name, views in self._views.items()}

    def _scores(self, view):
        rows = self._cluster.nodes.rows
        shift = PRECEDENCE_BITS + TIE_BREAK_BITS
        return {name: int(view.key[row]) >> shift for name, row in rows.items() if view.copies[row]}

    def refusals(self, pod):
        """Why nodes have no room."""
        nodes = self._cluster.nodes
        found = {}
        for reason, where in self.fit.refusals(self.class_of(pod), Room(nodes, nodes.usage, None)):
            for name, row in nodes.rows.items():
                if where[row]:
                    found.setdefault(name, []).append(reason)
        return {name: sorted(reasons) for name, reasons in found.items()}

    def without_features(self, pod):
        nodes, rules = self._cluster.nodes, self.class_of(pod).rules
        admitted = NodeDeclaredFeatures().admits(rules, nodes, None)
        assert np.array_equal(NodeDeclaredFeatures().admits(rules, nodes, np.arange(nodes.capacity)), admitted)
        return {name for name, row in nodes.rows.items() if not admitted[row]}


def compare(columns, plain, pod, strategy, where):
    short = {name: resources.room_refuses(pod, machine, strategy) for name, machine in plain.machines.items()}
    reasons = {name: sorted(refusal.reasons) for name, refusal in short.items() if refusal is not None}
    assert columns.refusals(pod) == reasons, where
    SEEN["refused"] += bool(reasons)
    lacking = {name for name, machine in plain.machines.items() if node_rules.features_refuse(pod, machine)}
    assert columns.without_features(pod) == lacking, where
    SEEN["features"] += 0 < len(lacking) < len(plain.machines)
    takers = [machine for name, machine in plain.machines.items() if name not in reasons]
    wanted = {
        "fit": {machine.name: resources.fit(pod, machine, strategy) for machine in takers},
        "balance": {machine.name: resources.balance(pod, machine, strategy) for machine in takers},
        "images": node_rules.images(plain, pod, takers),
    }
    assert columns.scores(pod) == wanted, where
    for plugin, scores in wanted.items():
        SEEN[plugin, strategy.kind] += len(set(scores.values())) > 1


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("first", range(0, 60, 30))
def test_columns_say_what_the_plain_version_says(name, first):
    strategy = STRATEGIES[name]
    for seed in range(first, first + 30):
        found = world(seed)
        plain, columns = found.cluster(AROUND), Columns(found, strategy)
        for machine in plain.machines.values():
            for running in machine.running:
                columns.place(running.pod, machine.name)
        names = sorted(plain.machines)
        for number, pod in enumerate(map(AROUND.admitted, found.coming)):
            compare(columns, plain, pod, strategy, where=f"seed {seed}, {pod['metadata']['name']}")
            # wherever it is, those who come see it there
            node = names[(seed + number * number) % len(names)]
            plain.place(pod, node)
            columns.place(pod, node)
    assert min(SEEN.values()) > 10, SEEN
