"""Affinity and spread in columns against the plain version, which is checked against kube-scheduler itself."""

from collections import Counter

import msgspec
import numpy as np
import pytest

from muster.api.wire import Node, Pod
from muster.cluster.cluster import Cluster
from muster.framework.views import Views
from muster.plugins.defaults import default_profile
from muster.plugins.inter_pod_affinity import FAR, NEAR, OTHERS, InterPodAffinity
from muster.plugins.pod_topology_spread import UNEVEN, UNNAMED, PodTopologySpread
from tests.plain_scheduler import affinity, spread
from tests.plain_scheduler.random_clusters import surroundings, world

AROUND = surroundings()
WORDS = {NEAR, FAR, OTHERS, UNEVEN, UNNAMED}


def read(kind, document):
    return msgspec.convert(document, type=kind, strict=False)


class Both:
    """A random cluster, as the engine has it and as the plain scheduler does."""

    def __init__(self, seed):
        self.world = world(seed)
        self.plain = self.world.cluster(AROUND)
        self.cluster = Cluster(states={p.name: p.new_state() for p in default_profile().stateful})
        self.cluster.namespaces.labels.update(AROUND.namespaces)
        for node in self.world.nodes:
            self.cluster.put_node(read(Node, node))
        self.views = Views(default_profile(), self.cluster.nodes)
        coming = [AROUND.admitted(pod) for pod in self.world.coming]
        # rules of whoever comes may read labels of those that are there
        for pod in (*(AROUND.admitted(pod) for pod in self.world.placed), *coming):
            self.cluster.classes.of(read(Pod, pod))
        for machine in self.plain.machines.values():
            for running in machine.running:
                self.place(running.pod, machine.name, leaving=running.is_leaving)
        self.coming = coming

    def place(self, pod, node, *, leaving=False):
        row, pod_class = self.cluster.nodes.rows[node], self.cluster.classes.of(read(Pod, pod))
        self.cluster.nodes.usage.add(row, pod_class)
        if leaving:
            self.cluster.nodes.usage.leave(row, pod_class)

    def named(self, by_row):
        return {name: by_row[row] for name, row in self.cluster.nodes.rows.items()}


def refused(outlook, names):
    """The reason by node."""
    found = {}
    for reason, rows in outlook.refusals():
        for name, row in names.items():
            if rows[row] and name not in found:
                found[name] = reason
    return found


SEEN = Counter()


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_columns_say_what_the_plain_version_says(first):
    for seed in range(first, first + 100):
        both = Both(seed)
        rows, capacity = both.cluster.nodes.rows, both.cluster.nodes.capacity
        for pod in both.coming:
            pod_class = both.cluster.classes.of(read(Pod, pod))
            census = both.cluster.nodes.usage.census
            for plugin, plain in ((InterPodAffinity(), affinity), (PodTopologySpread(), spread)):
                where = f"seed {seed}, {pod['metadata']['name']}, {plugin.name}"
                why = plain.refuses(both.plain, pod)
                theirs = {name: why(machine) for name, machine in both.plain.machines.items()}
                theirs = {name: one.reasons[0] for name, one in theirs.items() if one is not None}
                concerned = plugin.concerns(pod_class, census)
                outlook = plugin.outlook(pod_class, both.cluster.nodes, both.cluster.nodes.usage) if concerned else None
                assert (refused(outlook, rows) if outlook else {}) == theirs, where
                SEEN[f"{plugin.name} refuses"] += bool(theirs)
                if plugin.name == "PodTopologySpread" and not pod["spec"].get("topologySpreadConstraints"):
                    continue
                takers = [machine for name, machine in both.plain.machines.items() if name not in theirs]
                if not takers:
                    continue
                takes = np.zeros(capacity, np.bool_)
                takes[[rows[machine.name] for machine in takers]] = True
                score = outlook.score(takes) if outlook else None
                found = {m.name: 0 if score is None else int(score[rows[m.name]]) for m in takers}
                wanted = plain.score(both.plain, pod, takers)
                base = min(wanted.values(), default=0)
                least = min(found.values(), default=0)
                assert {n: s - least for n, s in found.items()} == {n: s - base for n, s in wanted.items()}, where
                SEEN[f"{plugin.name} rates"] += len(set(wanted.values())) > 1
            # wherever it is, those who come see it there
            names = sorted(both.plain.machines)
            node = names[len(pod["metadata"]["name"] + str(seed)) * seed % len(names)]
            both.plain.place(pod, node)
            both.place(pod, node)
    assert min(SEEN.values()) > 10, SEEN


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_who_is_told_of_every_pod_says_what_one_who_counts_anew_does(first):
    told_of = 0
    for seed in range(first, first + 50):
        both = Both(seed)
        nodes = both.cluster.nodes
        rows = [row for _, row in sorted(nodes.rows.items())]
        for pod in both.coming[:6]:
            pod_class, usage = both.cluster.classes.of(read(Pod, pod)), nodes.usage.copy()
            for plugin in (InterPodAffinity(), PodTopologySpread()):
                if not plugin.concerns(pod_class, usage.census):
                    continue
                outlook = plugin.outlook(pod_class, nodes, usage)
                for step in range(4):
                    row = rows[(seed + step * step) % len(rows)]
                    outlook.place(row)
                    usage.add(row, pod_class)
                    anew = plugin.outlook(pod_class, nodes, usage)
                    where = f"seed {seed}, {pod['metadata']['name']}, {plugin.name}, step {step}"
                    assert refused(outlook, nodes.rows) == refused(anew, nodes.rows), where
                    takes = nodes.precedence > 0
                    one, other = outlook.score(takes), anew.score(takes)
                    assert (one is None and other is None) or np.array_equal(one[takes], other[takes]), where
                    told_of += 1
    assert told_of > 100
