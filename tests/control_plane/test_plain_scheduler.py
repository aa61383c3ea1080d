"""The plain scheduler of the tests decides as the real kube-scheduler does: same nodes, same scores, same words.

MUSTER_WORLDS=400 for more worlds than usual, MUSTER_FIRST_WORLD=1000 for others.  MUSTER_RECORD=1 writes down the
answers for the worlds that `tests/plain_scheduler` asks the plain one about without a control plane.
"""

import os

import pytest

from controlplane.plane import ControlPlane
from tests.control_plane.conftest import VERSION
from tests.control_plane.one_by_one import OneByOne
from tests.plain_scheduler.affinity import FAR, NEAR
from tests.plain_scheduler.answers import RECORDED_WORLDS, Answer, answer_of, record
from tests.plain_scheduler.decision import decide
from tests.plain_scheduler.random_clusters import GATES, STRATEGIES, world
from tests.plain_scheduler.requests import requests

pytestmark = pytest.mark.skipif(not VERSION.startswith("1.37."), reason="messages and scores are those of 1.37")

WORLDS = int(os.environ.get("MUSTER_WORLDS", "100"))
FIRST = int(os.environ.get("MUSTER_FIRST_WORLD", "1"))


@pytest.fixture(scope="module")
def real():
    # without controllers: nobody makes pods for the owners that lie there
    with ControlPlane(version=VERSION, gates=GATES) as plane, OneByOne(plane) as real:
        yield real


def test_it_decides_as_the_real_one_does(real):
    differences, answers = [], []
    for seed in range(FIRST, FIRST + WORLDS):
        found, different = compare(real, world(seed))
        answers += found
        differences += different

    assert differences == []
    assert sum(answer.node is not None for answer in answers) > 4 * WORLDS
    assert sum(bool(answer.scores) for answer in answers) > 3 * WORLDS
    assert sum(answer.node is None for answer in answers) > WORLDS


@pytest.mark.skipif(os.environ.get("MUSTER_RECORD") != "1", reason="writes a file: only when asked for")
def test_its_answers_are_written_down(real):
    record(answer for seed in RECORDED_WORLDS for answer in compare(real, world(seed))[0])


def compare(real, world):
    """The real one's answers, and where the plain one's differ: (whom it is about, real, plain)."""
    answers, differences = [], []
    cluster = real.make(world)
    for sent in world.coming:
        heard = real.about(sent)
        seen = heard.pod
        answer = Answer(world.seed, sent["metadata"]["name"], heard.node, heard.message, heard.scores)
        decision = decide(cluster, seen, strategy=STRATEGIES.get(seen["spec"]["schedulerName"]))
        answers.append(answer)
        plain = answer_of(decision, world=world.seed, pod=answer.pod)
        if not answer.agrees_with(plain):
            differences.append((f"world {world.seed}, {answer.pod}", answer, plain))
        if what_counts(seen) != what_counts(real.around.admitted(sent)):
            differences.append((f"world {world.seed}, {answer.pod}", seen["spec"], real.around.admitted(sent)["spec"]))
        if heard.node is not None:
            cluster.place(seen, heard.node)
    real.remove()
    return answers, differences


def what_counts(pod):
    """Of what an API server does to a pod."""
    spec = pod["spec"]
    company = [spec.get("affinity", {}).get(direction) for direction in (NEAR, FAR)]
    spread = spec.get("topologySpreadConstraints")
    return company, spread, requests(pod), spec.get("nodeSelector"), spec.get("preemptionPolicy") == "Never"
