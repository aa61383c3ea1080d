"""What is so with the mpi-operator only: workers are its own, the launcher is a Job's pod and comes last."""

import pytest

from tests.control_plane.stage import denied

pytestmark = pytest.mark.parametrize("operator", ["mpi"], indirect=True)


def test_no_worker_starts_before_the_launcher_is_there(site, plane, nodes):
    nodes(plane, 4, cpu="1")
    site.leader()
    plane.controller_manager.pause()
    try:
        site.job("train", 4)
        site.has_pods("train", 3)
        assert "3 of 4 members exist" in site.waits("train")
        assert site.bound("train") == 0
    finally:
        plane.controller_manager.resume()
    site.started("train")
    site.check()


def test_a_launcher_that_is_made_when_all_workers_are_ready_follows_a_gang_of_workers(site, plane, nodes):
    nodes(plane, 4, cpu="1")
    site.leader()
    site.job("train", 4, minimum=3, launcherCreationPolicy="WaitForWorkersReady")
    site.started("train")
    site.history.until_bound("train", 4)
    site.check()


def test_a_launcher_that_waits_for_workers_which_wait_for_it_is_said_to_be_missing(site, plane, nodes):
    nodes(plane, 4, cpu="1")
    site.leader()
    site.job("train", 4, launcherCreationPolicy="WaitForWorkersReady")
    site.has_pods("train", 3)
    assert "3 of 4 members exist, 1 more must be created" in site.waits("train")
    assert site.bound("train") == 0


def test_a_timeout_of_zero_seconds_is_none(site, plane, nodes):
    """It would release the members that are bound when one cannot be, at once and again and again."""
    nodes(plane, 4, cpu="1")
    site.leader()
    with denied(site, "bind", "train-worker-1"):
        site.job("train", 4)
        site.history.until_bound("train", 3)
        site.is_refused("train-worker-1", times=3)
        assert site.find_group("train")["spec"]["scheduleTimeoutSeconds"] == 0
        assert site.bound("train") == 3
    site.started("train")
    assert not site.deletions()
    site.check()


def test_a_job_that_is_suspended_and_resumed_starts_whole_again(site, plane, nodes):
    nodes(plane, 4, cpu="1")
    site.leader()
    site.job("train", 4)
    site.started("train")
    before = set(site.places("train"))
    site.change_job("train", {"spec": {"runPolicy": {"suspend": True}}})
    site.history.until(lambda: not site.history.of("train"), "the end of its pods")
    site.change_job("train", {"spec": {"runPolicy": {"suspend": False}}})
    site.started("train")
    assert not before & set(site.places("train"))
    site.check()


def test_a_job_that_is_resumed_while_its_pods_still_leave_starts_whole_again(site, plane, nodes):
    nodes(plane, 4, cpu="1")
    site.leader()
    site.job("train", 4, stops=2)
    site.started("train")
    before = set(site.places("train"))
    site.change_job("train", {"spec": {"runPolicy": {"suspend": True}}})
    site.history.until(lambda: any(life.is_leaving for life in site.history.of("train")), "its pods to leave")
    site.change_job("train", {"spec": {"runPolicy": {"suspend": False}}})
    site.history.until(lambda: not before & set(site.places("train")), "the end of its pods")
    site.started("train")
    site.check()
