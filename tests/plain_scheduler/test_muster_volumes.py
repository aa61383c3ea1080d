"""In random clusters with volumes Muster's columns say of every pod and node what the plain scheduler says.

One engine for all pods of a world: it is told of claims and volumes as they change, of the pods that plain puts
elsewhere, and of those that go.
"""

import time
from collections import Counter

import pytest

from tests.plain_scheduler import volumes as plain
from tests.plain_scheduler.configuration import configuration
from tests.plain_scheduler.decision import WEIGHTS, decide
from tests.plain_scheduler.duel import words_of
from tests.plain_scheduler.muster import Muster
from tests.plain_scheduler.random_clusters import STRATEGIES, surroundings, world
from tests.plain_scheduler.random_volumes import stored
from tests.plain_scheduler.storage import Storage

AROUND = surroundings()
EACH = 20


@pytest.mark.parametrize("first", range(20_000, 20_000 + 2 * EACH, EACH))
def test_muster_decides_about_volumes_as_the_plain_scheduler_does(first):
    seen = Counter()
    for seed in range(first, first + EACH):
        Play(seed, seen).run()

    assert seen["held back"] > EACH // 2
    assert seen["refused"] > EACH
    assert seen["placed"] > 2 * EACH
    assert seen["rated"] > EACH // 4
    assert seen["better"] < EACH


class Play:
    def __init__(self, seed, seen):
        self.seed, self.seen = seed, seen
        made = stored(world(seed))
        for field, things in made.stored.items():
            for thing in things:
                thing["metadata"]["uid"] = f"{field}/{thing['metadata']['name']}"
        self.coming, self.cluster = made.coming, made.cluster(AROUND)
        self.cluster.storage = Storage(**made.stored)
        self.muster = Muster(configuration(), AROUND, began=time.time())
        self.muster.tell(self.cluster.storage)
        running = [identified(each.pod) for machine in self.cluster.machines.values() for each in machine.running]
        self.muster.take(self.cluster.nodes, running)

    def run(self):
        for sent in self.coming:
            pod = identified(AROUND.admitted(sent))
            plain_one = decide(self.cluster, pod, strategy=STRATEGIES.get(pod["spec"]["schedulerName"]))
            self.compare(pod, plain_one, self.muster.about(pod))
            if plain_one.best:
                self.place(pod, min(plain_one.best))
            else:
                self.muster.loses(pod)

    def compare(self, pod, theirs, ours):
        where = f"world {self.seed}, pod {pod['metadata']['name']}"
        held = plain.holds_back(self.cluster.storage, pod)
        if held:
            self.seen["held back"] += 1
            assert (where, ours.message) == (where, held)
            return
        totals = {node: sum(WEIGHTS[each] * n for each, n in parts.items()) for node, parts in theirs.scores.items()}
        totals = totals or dict.fromkeys(theirs.best, 0)
        if better := ours.below_best.keys() - totals.keys():
            # another distribution of the volumes exists than the first that plain tries
            assert all(len(plain.find(self.cluster.storage, pod, n, self.labels(n)).reasons) for n in better), where
            self.seen["better"] += 1
            return
        best = max(totals.values(), default=0)
        assert (where, dict(ours.below_best)) == (where, {node: best - total for node, total in totals.items()})
        self.seen["placed" if totals else "refused"] += 1
        self.seen["rated"] += any(parts.get("VolumeBinding") for parts in theirs.scores.values())
        if not totals:
            assert (where, words_of(ours.message)) == (where, words_of(theirs.message))

    def labels(self, node):
        return self.cluster.machines[node].labels

    def place(self, pod, node):
        found = plain.find(self.cluster.storage, pod, node, self.labels(node))
        self.cluster.place(pod, node)
        for claim, volume in found.bound:
            meta = claim["metadata"]
            volume["spec"]["claimRef"] = {each: meta[each] for each in ("namespace", "name", "uid")}
            claim["spec"]["volumeName"] = volume["metadata"]["name"]
            meta["annotations"][plain.COMPLETED] = "yes"
        for claim, _ in found.made:
            claim["metadata"]["annotations"][plain.SELECTED] = node
        self.muster.tell(self.cluster.storage)
        self.muster.sees({**pod, "spec": {**pod["spec"], "nodeName": node}})


def identified(pod):
    meta = {**pod["metadata"], "uid": f"uid-{pod['metadata'].get('namespace')}-{pod['metadata']['name']}"}
    return {**pod, "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z", **meta}}
