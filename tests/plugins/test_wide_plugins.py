"""Affinity and spread in columns against the plain version, which is checked against kube-scheduler itself."""

from collections import Counter

import msgspec
import numpy as np
import pytest

from muster.api.kinds import KINDS, owner_of
from muster.api.wire import Node, Pod
from muster.cluster.cluster import Cluster
from muster.framework.views import Views
from muster.plugins.default_spread import DefaultConstraint
from muster.plugins.defaults import default_profile
from muster.plugins.inter_pod_affinity import FAR, NEAR, OTHERS, InterPodAffinity
from muster.plugins.pod_topology_spread import UNEVEN, UNNAMED, PodTopologySpread
from tests.plain_scheduler import affinity, spread
from tests.plain_scheduler.random_clusters import surroundings, world

AROUND = surroundings()
WORDS = {NEAR, FAR, OTHERS, UNEVEN, UNNAMED}


def read(kind, document):
    return msgspec.convert(document, type=kind, strict=False)


def constraint(document):
    return DefaultConstraint(
        topology_key=document["topologyKey"],
        max_skew=document["maxSkew"],
        hard=document["whenUnsatisfiable"] == "DoNotSchedule",
        min_domains=document.get("minDomains", 1),
        honours_affinity=document.get("nodeAffinityPolicy") != "Ignore",
        honours_taints=document.get("nodeTaintsPolicy") == "Honor",
    )


LISTED = {name: tuple(map(constraint, listed)) for name, listed in spread.LISTS.items()}


class Both:
    """A random cluster, as the engine has it and as the plain scheduler does."""

    def __init__(self, seed):
        self.world = world(seed)
        self.plain = self.world.cluster(AROUND)
        self.cluster = Cluster(states={p.name: p.new_state() for p in default_profile().stateful})
        facts = self.cluster.facts
        self.system = PodTopologySpread().by_default(facts)
        self.lists = {name: PodTopologySpread(defaults=listed).by_default(facts) for name, listed in LISTED.items()}
        for kind in KINDS.values():
            for document in AROUND.of(kind.resource.plural):
                facts.put(read(kind.struct, document))
        for node in self.world.nodes:
            self.cluster.put_node(read(Node, node))
        self.views = Views(default_profile(), self.cluster.nodes)
        coming = [AROUND.admitted(pod) for pod in self.world.coming]
        # rules of whoever comes may read labels of those that are there
        for pod in (*(AROUND.admitted(pod) for pod in self.world.placed), *coming):
            self.class_of(pod)
        for machine in self.plain.machines.values():
            for running in machine.running:
                self.place(running.pod, machine.name, leaving=running.is_leaving)
        self.coming = coming

    def class_of(self, pod):
        """Of one that is to be placed: others are not spread by default."""
        found = read(Pod, pod)
        meta = found.metadata
        by_default = self.lists.get(found.spec.scheduler_name, self.system)
        if found.spec.node_name or by_default is None:
            return self.cluster.classes.of(found)
        owner = owner_of(meta.namespace, meta.owner_references)
        return self.cluster.classes.of(found, by_default.of(meta.namespace, meta.labels, owner))

    def place(self, pod, node, *, leaving=False):
        row, pod_class = self.cluster.nodes.rows[node], self.class_of(pod)
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


@pytest.mark.parametrize("first", range(0, 200, 100))
def test_columns_say_what_the_plain_version_says(first):
    for seed in range(first, first + 100):
        both = Both(seed)
        rows, capacity = both.cluster.nodes.rows, both.cluster.nodes.capacity
        for pod in both.coming:
            pod_class = both.class_of(pod)
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
                by_default = plain is spread and not pod["spec"].get("topologySpreadConstraints")
                SEEN["refused by default"] += by_default and bool(theirs)
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
                SEEN["rated by default"] += by_default and len(set(wanted.values())) > 1
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
            pod_class, usage = both.class_of(pod), nodes.usage.copy()
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
