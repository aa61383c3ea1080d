"""In random clusters with devices what Muster gives to pods keeps the rules, pod after pod, on top of what it gave.

`tests/control_plane/test_devices_and_kube_scheduler.py` compares it with kube-scheduler itself, in the same worlds.
"""

import time
from collections import Counter

from tests.devices.checker import problems
from tests.devices.on_nodes import facts_on
from tests.plain_scheduler.configuration import configuration
from tests.plain_scheduler.device_duel import granted, has_devices
from tests.plain_scheduler.muster import Muster
from tests.plain_scheduler.random_clusters import world
from tests.plain_scheduler.random_devices import ENTRY, SPACE, equipped, equipped_surroundings

AROUND = equipped_surroundings()
WORLDS = 12


def test_what_muster_gives_keeps_the_rules():
    seen = Counter()
    for seed in range(30_000, 30_000 + WORLDS):
        _Play(seed, seen).run()

    assert seen["placed"] > 3 * WORLDS
    assert seen["refused"] > WORLDS
    assert seen["allocations"] > 2 * WORLDS


class _Play:
    def __init__(self, seed, seen):
        self.seed, self.seen = seed, seen
        made = equipped(world(seed), errors=seed % 3 == 0)
        self.nodes = {node["metadata"]["name"]: node for node in made.nodes}
        self.gear, self.coming = made.gear, [pod for pod in made.coming if not uses_a_template(pod)]
        for claim in self.gear.claims:
            name = claim["metadata"]["name"]
            claim["metadata"]["uid"] = f"claim-{name}"
            claim["status"] = {"allocation": made.held[name]} if name in made.held else {}
            if name in made.holders:
                self.reserve(claim, identified({"metadata": {"name": made.holders[name]}}))
        self.muster = Muster(configuration(), AROUND, began=time.time())
        self.muster.equip(self.gear)
        self.muster.take(made.nodes, [identified(AROUND.admitted(pod)) for pod in made.placed])

    def run(self):
        for sent in self.coming:
            pod = identified(AROUND.admitted(sent))
            said = self.muster.about(pod)
            if said.node is None:
                self.seen["refused"] += 1
                self.muster.loses(pod)
                if said.nominated or said.taken_back:
                    # it waits for what others give back, who do not here
                    return
            else:
                self.seen["placed"] += 1
                self.check(pod, said)
                self.place(pod, said.node)

    def claims_of(self, pod):
        entries = pod["spec"].get("resourceClaims", ())
        return [self.gear.claim(name) for name in dict.fromkeys(one["resourceClaimName"] for one in entries)]

    def check(self, pod, said):
        given = granted(said)
        asking = [claim for claim in self.claims_of(pod) if not has_devices(claim)]
        facts = facts_on(
            self.nodes[said.node],
            asking,
            classes=AROUND.of("deviceclasses"),
            slices=self.gear.slices,
            rules=self.gear.rules,
            allocations=[claim["status"]["allocation"] for claim in self.gear.claims if has_devices(claim)],
        )
        where = f"world {self.seed}, {pod['metadata']['name']}"
        assert (where, problems(facts, [given[claim["metadata"]["name"]] for claim in asking])) == (where, [])
        self.seen["allocations"] += len(asking)
        for claim in asking:
            claim["status"] = {"allocation": given[claim["metadata"]["name"]]}

    def reserve(self, claim, pod):
        meta = pod["metadata"]
        entry = {"resource": "pods", "name": meta["name"], "uid": meta["uid"]}
        claim["status"]["reservedFor"] = [*claim["status"].get("reservedFor", []), entry]

    def place(self, pod, node):
        for claim in self.claims_of(pod):
            self.reserve(claim, pod)
        self.muster.equip(self.gear)
        self.muster.sees({**pod, "spec": {**pod["spec"], "nodeName": node}})


def uses_a_template(pod):
    return any(entry["name"] == ENTRY for entry in pod["spec"].get("resourceClaims", ()))


def identified(pod):
    meta = {"namespace": SPACE, **pod["metadata"], "uid": f"uid-{pod['metadata']['name']}"}
    return {**pod, "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z", **meta}}
