"""What is so with the training-operator only: it writes the group whenever it looks at the job."""

import pytest

from tests.control_plane.checks import until
from tests.control_plane.stage import pod


@pytest.mark.parametrize("operator", ["training", "training-volcano"], indirect=True)
def test_writes_of_the_operator_to_its_group_disturb_nothing(site, plane, nodes):
    nodes(plane, 3, cpu="1")
    site.leader()
    site.job("train", 4)
    site.waits("train")
    before = site.find_group("train")["metadata"]
    for number in range(5):
        site.is_written_again("train", str(number))
    after = site.find_group("train")["metadata"]
    assert after["uid"] == before["uid"]
    assert "muster.dev/podgroup-protection" in after["finalizers"]
    assert site.bound("train") == 0
    nodes(plane, 1, cpu="1", prefix="more")
    site.started("train")
    site.is_written_again("train", "while it runs")
    assert site.running("train") == 4
    assert not site.deletions()


@pytest.mark.parametrize("operator", ["training-volcano"], indirect=True)
def test_the_operator_makes_pods_once_muster_has_let_the_group_in(site, plane, nodes):
    nodes(plane, 4, cpu="1")
    site.job("train", 4)
    site.is_written_again("train", "while nobody leads")
    assert not site.history.of("train")
    site.leader()
    site.started("train")
    site.check()


@pytest.mark.parametrize("operator", ["training", "training-volcano"], indirect=True)
def test_workers_that_outlive_their_job_are_left_alone_and_keep_their_group(site, plane, nodes):
    nodes(plane, 4, cpu="1")
    site.leader()
    site.job("train", 4, runs=1, cleans="None")
    site.ends("train")
    until(lambda: "deletionTimestamp" in site.find_group("train")["metadata"], "the operator to delete the group")
    *workers, last = (life.name for life in site.history.of("train") if "worker" in life.name)
    for name in workers:
        site.succeed(name)
    # whatever is done about the end of these is done when something that came later is bound
    site.pods([pod("later")])
    site.run("later")
    assert site.life(last).phase == "Running"
    assert site.find_group("train")
    site.let_go("later")
    site.succeed(last)
    site.has_no_group("train")
    assert [life.phase for life in site.history.of("train")] == ["Succeeded"] * 4
    assert not site.deletions()
