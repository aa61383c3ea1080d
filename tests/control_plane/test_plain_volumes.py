"""The plain scheduler of the tests decides about volumes as the real kube-scheduler does, and expects the same choice.

Slow, two seconds a world: MUSTER_WORLDS=60 for more worlds than usual.
"""

import os

import pytest

from controlplane.plane import ControlPlane
from tests.control_plane.conftest import VERSION
from tests.control_plane.volumes_one_by_one import VolumesOneByOne
from tests.plain_scheduler import volumes
from tests.plain_scheduler.answers import Answer, answer_of
from tests.plain_scheduler.decision import decide
from tests.plain_scheduler.random_clusters import GATES, STRATEGIES, world
from tests.plain_scheduler.random_volumes import stored

pytestmark = pytest.mark.skipif(not VERSION.startswith("1.37."), reason="messages and scores are those of 1.37")

WORLDS = int(os.environ.get("MUSTER_WORLDS", "4"))
FIRST = int(os.environ.get("MUSTER_FIRST_WORLD", "1"))


@pytest.fixture(scope="module")
def real():
    with ControlPlane(version=VERSION, gates=GATES) as plane, VolumesOneByOne(plane) as real:
        yield real


def test_it_decides_about_volumes_as_the_real_one_does(real):
    differences, answers, chosen = [], [], 0
    for seed in range(FIRST, FIRST + WORLDS):
        found, different, more = compare(real, stored(world(seed)))
        answers += found
        differences += different
        chosen += more
        print(f"world {seed}: {len(answers)} pods, {chosen} volumes chosen", *different, sep="\n", flush=True)

    assert differences == []
    assert sum(answer.node is not None for answer in answers) > 3 * WORLDS
    assert chosen > WORLDS


def compare(real, world):
    """The real one's answers, where the plain one's differ, and how many volumes were chosen."""
    answers, differences, chosen = [], [], 0
    cluster = real.make(world)
    for sent in world.coming:
        heard = real.about(sent)
        seen = heard.pod
        answer = Answer(world.seed, sent["metadata"]["name"], heard.node, heard.message, heard.scores)
        decision = decide(cluster, seen, strategy=STRATEGIES.get(seen["spec"]["schedulerName"]))
        plain = answer_of(decision, world=world.seed, pod=answer.pod)
        about = f"world {world.seed}, {answer.pod}"
        answers.append(answer)
        if not answer.agrees_with(plain):
            differences.append((about, answer, plain))
        if heard.node is not None:
            before, cluster.storage = cluster.storage, real.storage(world)
            expected, got = bindings(before, seen, cluster.machines[heard.node]), bound(cluster.storage, seen, before)
            chosen += len(got)
            if expected != got:
                differences.append((about, got, expected))
            cluster.place(seen, heard.node)
        else:
            cluster.storage = real.storage(world)
    real.remove()
    return answers, differences, chosen


def bindings(storage, pod, machine):
    """Volumes by claim that the plain one would choose there; "" for one to be made."""
    found = volumes.find(storage, pod, machine.name, machine.labels)
    there = {claim["metadata"]["name"]: volume["metadata"]["name"] for claim, volume in found.bound}
    return there | {claim["metadata"]["name"]: "" for claim, _ in found.made}


def bound(storage, pod, before):
    """The same of what there is now."""
    found = {}
    for volume in pod["spec"].get("volumes", []):
        name = volume.get("persistentVolumeClaim", {}).get("claimName")
        claim = storage.claim(pod, name) if name else None
        if claim is not None and not volumes.is_bound(before.claim(pod, name)):
            there = claim["spec"].get("volumeName", "")
            found[name] = "" if there.startswith("pvc-") else there
    return found
