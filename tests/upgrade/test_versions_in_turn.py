"""An older version and this one lead in turn: nothing that runs is disturbed, no gang starts twice or in part."""

import pytest

from tests.control_plane.checks import until
from tests.control_plane.stage import SHORT, denied, pod

COSCHEDULING = "scheduling.x-k8s.io/v1alpha1"
LABEL = "scheduling.x-k8s.io/pod-group"


class Turns:
    """Leads with one version after another."""

    def __init__(self, stage, old):
        self._stage = stage
        self._folders = {"old": old, "new": None}
        self._leader = None

    def __call__(self, version, *, ends="stop"):
        """`ends`: how the one before goes, in order or without a word."""
        if self._leader is not None:
            getattr(self._leader, ends)()
        self._leader = self._stage.leader(source=self._folders[version], lease=SHORT)


@pytest.fixture
def lead(stage, old):
    return Turns(stage, old)


def places(stage):
    """Where the pods are that have a node, by UID."""
    return {life.uid: life.nodes for life in stage.history.lives.values() if life.nodes and not life.gone}


@pytest.mark.parametrize("ends", ["stop", "kill"])
def test_every_change_of_versions_finds_a_gang_that_runs_one_bound_in_part_and_one_that_waits(
    stage, fragile, nodes, lead, ends
):
    nodes(fragile, 3, cpu="1", prefix="first")
    lead("old")
    stage.gang("runs", 3)
    stage.started("runs")
    stage.gang("waits", 4)
    for turn, version in enumerate(["new", "old", "new"]):
        half = f"half{turn}"
        with denied(stage, "bind", f"{half}-1"):
            stage.gang(half, 3)
            nodes(fragile, 3, cpu="1", prefix=f"turn{turn}")
            stage.history.until_bound(half, 2)
            before = places(stage)
            lead(version, ends=ends)
        stage.started(half)
        assert before.items() <= places(stage).items()
        stage.says("waits", "Unschedulable")
        assert stage.history.bound("waits") == 0
    nodes(fragile, 4, cpu="1", prefix="last")
    stage.started("waits")
    assert not stage.deletions()
    stage.check()


@pytest.mark.parametrize("versions", [("old", "new"), ("new", "old")], ids=" then ".join)
def test_room_that_one_version_made_is_taken_by_the_other_and_nobody_else_is_evicted(
    stage, fragile, nodes, lead, versions
):
    first, second = versions
    nodes(fragile, 4, cpu="1")
    lead(first)
    stage.pods([pod(f"low-{number}", priority="low", stops=20) for number in range(4)])
    stage.run(*(f"low-{number}" for number in range(4)))
    stage.gang("urgent", 3, priority="high")
    stage.history.until(lambda: len(stage.evicted) == 3, "three victims")
    until(lambda: len(stage.nominations()) >= 3, "the places that are kept")
    lead(second)
    stage.started("urgent")
    assert len(stage.evicted) == 3
    stage.check()


@pytest.mark.parametrize("versions", [("old", "new"), ("new", "old")], ids=" then ".join)
def test_a_gang_that_loses_a_member_is_completed_by_the_other_version(stage, fragile, nodes, lead, versions):
    first, second = versions
    nodes(fragile, 3, cpu="1")
    lead(first)
    stage.gang("train", 3)
    stage.started("train")
    before = places(stage)
    stage.let_go("train-1")
    stage.history.until(lambda: len(stage.history.of("train")) == 2, "the end of a member")
    lead(second)
    stage.pods([pod("train-1", gang="train")])
    stage.history.until_bound("train", 3)
    assert len(before.keys() & places(stage).keys()) == 2
    assert not stage.deletions()
    stage.check()


# --- a dialect that the older version does not know ---


@pytest.fixture
def foreign(stage, fragile):
    """The path of groups of Coscheduling; has one that is called train, of three pods."""
    path = f"/apis/{COSCHEDULING}/namespaces/{stage.namespace}/podgroups"
    group = {"apiVersion": COSCHEDULING, "kind": "PodGroup", "metadata": {"name": "train"}, "spec": {"minMember": 3}}
    fragile.request("POST", path, group)
    stage.pods([pod(f"train-{number}", labels={LABEL: "train"}) for number in range(3)])
    yield path
    # nobody is left to let it go
    free = {"metadata": {"finalizers": None}}
    for each in fragile.request("GET", path)["items"]:
        name = each["metadata"]["name"]
        fragile.request("PATCH", f"{path}/{name}", free, content_type="application/merge-patch+json")


@pytest.mark.parametrize("stage", ["native"], indirect=True)
def test_a_gang_in_a_dialect_that_the_older_version_does_not_know_runs_on_under_it(
    stage, fragile, nodes, lead, foreign
):
    def phase():
        return fragile.request("GET", f"{foreign}/train").get("status", {}).get("phase")

    nodes(fragile, 3, cpu="1")
    lead("new")
    until(lambda: phase() == "Running", "all of it to run")
    before = places(stage)
    for version in ("old", "new"):
        lead(version)
        # whatever is done about what is there is done when something that came later is bound
        nodes(fragile, 1, cpu="1", prefix=version)
        stage.pods([pod(f"after-{version}")])
        stage.run(f"after-{version}")
        assert before.items() <= places(stage).items()
    assert phase() == "Running"
    assert not stage.deletions()
    fragile.request("DELETE", f"{foreign}/train")
    stage.remove("train")
    until(lambda: not fragile.request("GET", foreign)["items"], "the end of its group")


@pytest.mark.parametrize("stage", ["native"], indirect=True)
def test_what_the_older_version_took_for_lone_pods_is_completed_and_nothing_of_it_released(
    stage, fragile, nodes, lead, foreign
):
    """It knows no gang there: its pods are bound as far as they fit."""
    nodes(fragile, 2, cpu="1")
    lead("old")
    stage.history.until_bound("train", 2)
    before = places(stage)
    lead("new")
    nodes(fragile, 1, cpu="1", prefix="more")
    stage.history.until_bound("train", 3)
    assert before.items() <= places(stage).items()
    assert not stage.deletions()
