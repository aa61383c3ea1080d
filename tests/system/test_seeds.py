"""Worlds that broke a rule once: each by a fault of production code that other tests did not see."""

import pytest

from tests.system.dialects import MIXED
from tests.system.run import run

# troubles that worlds were given since
LATELY = {"services"}

SEEDS = {
    52: "the gang of a Workload was looked for among PodGroups, again and again (app/writer)",
    1794912191068: "an object that has no conditions was to say that it does not count, again and again (app/writer)",
    1794917636042: "words on a group on the first page of a list were lost, since the list went on (reflector)",
    1794918368196: "a pod that somebody else had bound was to be nominated, again and again (kube/writes)",
    1794920048033: "(a rule) who takes away what is not there has the map in which it would be",
    1794917635747: "(a rule) the minimum of a group that the scheduler made for an owner is its own to keep in step",
    1794923307583: "(a rule) nobody deletes the group of a Job whose pods, still to come, ask for another",
    1794923309128: "what an owner owns was deleted that was told meanwhile to leave it behind (garbage)",
    1794923308749: "(a rule) who is being deleted goes, whoever is nominated for the room since",
    1794923309582: "a group was not made when its creation met a conflict that passes (kube/writes)",
    1794923309810: "a group of a shared kind was not protected whose members of ours name it by field (app/scheduler)",
    1794922179077: "(rest) a lease of a node that was gone was being deleted, which was taken for a sign of life",
    1794979058632: "(a rule) who saw a gang without a status start goes on, though nothing of it is left",
}
# from when all gangs were of Kubernetes' own kind
OLDER_SEEDS = {
    1794872545365: "(rest) pods that no watch had told of were gone, and nobody had asked after them yet (shelf)",
    1794871745243: "(a rule) nobody is nominated any more who is gone, though the scheduler has not heard of it",
    1794869096319: "an owner that was asked for, and went before any watch had told of it, kept its own (garbage)",
    1794871943428: "(a rule) a kind that is being deleted goes when the server starts again",
    1794869093527: "(a rule) objects of a kind that is being deleted go on going when the server starts again",
    1794837667009: "(a rule) of two that go together one was deleted, and the other's eviction passed to another unit",
    15: "a conflict on a status was taken for the end of the object, and never tried again (kube/writes, outbox)",
    291: "a scheduler that was to stop went in circles while a bind waited for its next try (app/scheduler)",
    2619: "what was to be said of a pod was lost when its bind took its place and was refused (app/scheduler)",
    11074: "victims went when an older word on their preemptor was written, before its nomination (app/scheduler)",
}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_world_holds(seed):
    assert run(seed, without=LATELY).violation == "", SEEDS[seed]


@pytest.mark.parametrize("seed", OLDER_SEEDS)
def test_the_world_holds_without_other_dialects(seed):
    assert run(seed, without=LATELY | {MIXED}).violation == "", OLDER_SEEDS[seed]
