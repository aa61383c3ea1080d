"""What holds of a job whichever operator makes its pods: four of them, of which one leads, on nodes for one each."""

import pytest

from tests.control_plane.stage import SHORT

runs_jobs_that_end = pytest.mark.parametrize("operator", ["mpi", "training", "training-volcano"], indirect=True)
takes_a_minimum = runs_jobs_that_end


def test_a_job_that_fits_starts_whole(site, plane, nodes):
    nodes(plane, 4, cpu="1")
    site.leader()
    site.job("train", 4)
    site.started("train")
    site.check()


def test_a_job_that_does_not_fit_has_nobody_bound_and_starts_whole_when_room_comes(site, plane, nodes):
    nodes(plane, 3, cpu="1")
    site.leader()
    site.job("train", 4)
    assert "1 more is missing" in site.waits("train")
    site.has_pods("train", 4)
    assert site.bound("train") == 0
    nodes(plane, 1, cpu="1", prefix="more")
    site.started("train")
    site.check()


@takes_a_minimum
def test_a_job_with_a_minimum_starts_with_that_many_and_the_rest_follow(site, plane, nodes):
    nodes(plane, 2, cpu="1")
    site.leader()
    site.job("train", 4, minimum=3)
    site.waits("train")
    assert site.bound("train") == 0
    nodes(plane, 1, cpu="1", prefix="more")
    site.started("train")
    nodes(plane, 1, cpu="1", prefix="last")
    site.history.until_bound("train", 4)
    site.check()


def test_of_two_jobs_that_do_not_both_fit_one_runs_and_the_other_after_it(site, plane, nodes):
    nodes(plane, 6, cpu="1")
    site.leader()
    site.job("red", 4)
    site.job("blue", 4)
    site.history.until(lambda: site.bound("red") + site.bound("blue") >= 4, "one of them")
    first, second = ("red", "blue") if site.bound("red") else ("blue", "red")
    site.started(first)
    site.waits(second)
    assert site.bound(second) == 0
    site.delete_job(first)
    site.started(second)
    site.has_no_group(first)
    site.check()


def test_a_job_that_is_deleted_leaves_nothing_behind(site, plane, nodes):
    nodes(plane, 4, cpu="1")
    site.leader()
    site.job("train", 4)
    site.started("train")
    site.delete_job("train")
    site.history.until(lambda: not site.history.of("train"), "the end of its pods")
    site.has_no_group("train")


def test_a_job_that_is_deleted_while_it_waits_leaves_nothing_behind(site, plane, nodes):
    nodes(plane, 3, cpu="1")
    site.leader()
    site.job("train", 4)
    site.waits("train")
    site.delete_job("train")
    site.history.until(lambda: not site.history.of("train"), "the end of its pods")
    site.has_no_group("train")


@runs_jobs_that_end
def test_a_job_that_ends_leaves_its_finished_pods_and_no_group(site, plane, nodes):
    nodes(plane, 4, cpu="1")
    site.leader()
    site.job("train", 4, runs=1)
    site.ends("train")
    site.has_no_group("train")
    site.has_pods("train", 1)
    assert [life.phase for life in site.history.of("train")] == ["Succeeded"]
    assert not site.deletions()


@runs_jobs_that_end
def test_a_job_of_the_name_of_one_that_ended_starts_whole(site, plane, nodes):
    nodes(plane, 4, cpu="1")
    site.leader()
    site.job("train", 4, runs=1)
    site.ends("train")
    site.delete_job("train")
    site.history.until(lambda: not site.history.of("train"), "the end of its pods")
    site.job("train", 4)
    site.started("train")
    site.check()


def test_a_restart_of_muster_disturbs_no_job_that_runs_and_forgets_none_that_waits(site, plane, nodes):
    nodes(plane, 6, cpu="1")
    first = site.leader(lease=SHORT)
    site.job("red", 4)
    site.started("red")
    site.job("blue", 4)
    site.waits("blue")
    before = site.places("red")
    first.kill()
    nodes(plane, 2, cpu="1", prefix="more")
    site.leader(lease=SHORT)
    site.started("blue")
    assert site.places("red") == before
    assert not site.deletions()
    site.check()
