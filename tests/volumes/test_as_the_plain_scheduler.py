"""In random clusters with volumes the package says of every pod and node what the plain scheduler says.

The one difference: where kube-scheduler's greedy choice fails and another distribution exists, that is found.
"""

import msgspec
import pytest

from muster.api.volumes import VolumeAttachment
from muster.api.wire import Pod
from muster.volumes import disks, limits
from muster.volumes.choice import Choice, Refused, choose, market
from muster.volumes.claims import named_claims, problem
from muster.volumes.masks import Masks, admitted
from muster.volumes.needs import need_of
from muster.volumes.nodes import Site, reach_refusal, zone_refusal
from muster.volumes.score import score
from tests.plain_scheduler import volumes as plain
from tests.plain_scheduler.decision import decide
from tests.plain_scheduler.random_clusters import surroundings, world
from tests.plain_scheduler.random_volumes import stored
from tests.plain_scheduler.storage import Storage as Documents
from tests.volumes.upstream import ALL_SHARED, storage_of

AROUND = surroundings()
EACH = 15


@pytest.mark.parametrize("first", range(0, 4 * EACH, EACH))
def test_the_same_is_said_of_every_pod_and_node(first):
    seen = {"held back": 0, "refused": 0, "admitted": 0, "scored": 0, "better": 0}
    for seed in range(first, first + EACH):
        for pod, cluster in coming(stored(world(seed))):
            compare(pod, cluster, seen)

    assert seen["held back"] > EACH
    assert seen["refused"] > 10 * EACH
    assert seen["admitted"] > 10 * EACH
    assert seen["scored"] > EACH


def coming(made):
    """Pods, each with the cluster as it is then; claims are bound as soon as their pods are placed."""
    for field, things in made.stored.items():
        for thing in things:
            thing["metadata"]["uid"] = f"{field}/{thing['metadata']['name']}"
    cluster = made.cluster(AROUND)
    cluster.storage = Documents(**made.stored)
    for sent in made.coming:
        pod = AROUND.admitted(sent)
        yield pod, cluster
        if best := decide(cluster, pod).best:
            machine = cluster.machines[min(best)]
            found = plain.find(cluster.storage, pod, machine.name, machine.labels)
            cluster.place(pod, machine.name)
            for claim, volume in found.bound:
                meta = claim["metadata"]
                volume["spec"]["claimRef"] = {each: meta[each] for each in ("namespace", "name", "uid")}
                claim["spec"]["volumeName"] = volume["metadata"]["name"]
                meta["annotations"][plain.COMPLETED] = "yes"
            for claim, _ in found.made:
                claim["metadata"]["annotations"][plain.SELECTED] = machine.name


def compare(document, cluster, seen):
    there, pod = cluster.storage, read(document)
    storage = storage_of({**vars(there), "csinodes": there.csi_nodes})
    held = problem(pod, storage)
    assert (held.text if held else "") == plain.holds_back(there, document)
    if held:
        seen["held back"] += 1
        return
    need, shop = need_of(pod, storage, ALL_SHARED), market(storage.volumes, storage.capacities)
    sites = [Site(machine.name, machine.labels) for machine in cluster.machines.values()]
    mask = admitted(need, Masks(sites), shop)
    everywhere = [other.pod for machine in cluster.machines.values() for other in machine.running]
    attachments = limits.attached((msgspec.convert(each, VolumeAttachment) for each in typed(there)), storage.volumes)
    for row, (site, machine) in enumerate(zip(sites, cluster.machines.values(), strict=True)):
        here = [other.pod for other in machine.running]
        said = words(plain.limits_refuse(there, document, site.name, here))
        there_already = {each for other in here for each in limits.attaches_of(read(other), storage)}
        node = storage.nodes.get(site.name)
        assert said == limits.refusal(
            need.attaches,
            node,
            pods=there_already,
            attachments=attachments.get(site.name, ()),
            drivers=storage.drivers,
        )
        collides = any(disks.collide(need.disks, disks.disks_of(read(other))) for other in here)
        assert collides == (plain.disks_refuse(document, here) is not None)
        used = {each.key for other in everywhere for each in named_claims(read(other))}
        assert bool(used & set(need.exclusive)) == (plain.exclusive_refuses(there, document, everywhere) is not None)
        wrong_zone = zone_refusal(need, site)
        assert wrong_zone == words(plain.zone_refuses(there, document, site.labels))
        found, chosen = plain.find(there, document, site.name, site.labels), choose(need.asks, site, shop)
        far = reach_refusal(need, site)
        mine = [*([far] if far else []), *([chosen.reason] if isinstance(chosen, Refused) else [])]
        if isinstance(chosen, Choice) and set(found.reasons) - {far}:
            seen["better"] += 1
        else:
            assert mine == found.reasons
        assert mask[row] == (not mine and not wrong_zone)
        seen["refused" if mine else "admitted"] += 1
        if not mine and not found.reasons:
            worth = score(need.asks, chosen)
            assert worth == plain.score(there, document, site.name, site.labels)
            seen["scored"] += worth > 0


def typed(there):
    return ({"kind": "VolumeAttachment", **each} for each in there.attachments)


def words(refusal):
    return "".join(refusal.reasons) if refusal else ""


def read(pod):
    return msgspec.convert({"metadata": pod["metadata"], "spec": {"volumes": pod["spec"].get("volumes", [])}}, Pod)
