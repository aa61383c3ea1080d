"""Groups for whoever cannot make them: told to the engine as they are found and made."""

import pytest
from msgspec.structs import replace

from muster.api.wire import PodGroup, read
from muster.gangs.dialects import CUSTOM, DIALECTS, NATIVE
from muster.gangs.record import bound_for
from tests.dialects.owned import TEMPLATE, OwnedTalk, owner_of, pod, reference

JOB = reference("batch/v1", "Job", "train")
DEPLOYMENT = reference("apps/v1", "Deployment", "web")


def job_pods(count, owner=JOB, first=0, prefix="p", **parts):
    return [pod(f"{prefix}{number}", owner, **parts) for number in range(first, first + count)]


def test_a_job_starts_whole():
    talk = OwnedTalk(1)
    talk.owner(JOB, parallelism=3, template=TEMPLATE)
    bound = []
    for one in job_pods(3):
        bound.append(talk.seen_all(one).until_quiet(seconds=5).bound)
    assert bound == [[], [], ["p0", "p1", "p2"]]
    assert talk.minimums() == {"job-train": 3}
    assert owner_of(talk.made["team/job-train"]) == JOB["uid"]


def test_a_job_that_does_not_fit_waits_whole():
    talk = OwnedTalk(1, cpu=2)
    talk.owner(JOB, parallelism=3, template=TEMPLATE)
    assert talk.seen_all(*job_pods(3)).until_quiet(seconds=60).bound == []


def test_pods_wait_until_their_owner_is_read_and_tell_nobody():
    talk = OwnedTalk(1)
    talk.owner(JOB, parallelism=1, template=TEMPLATE)
    talk.seen(pod("p", JOB))
    assert (talk.words(), talk.bound) == ({}, [])
    assert talk.settle().until_quiet(seconds=5).bound == ["p"]


def test_so_many_as_the_label_says_are_enough():
    talk = OwnedTalk(1, cpu=2)
    talk.owner(JOB, parallelism=4, template=TEMPLATE)
    pods = job_pods(4, gang=None, labels={"muster.dev/min-count": "2"})
    assert len(talk.seen_all(*pods).until_quiet(seconds=5).bound) == 2
    assert talk.minimums() == {"job-train": 2}


def test_each_owner_is_read_once_for_many_pods():
    talk = OwnedTalk(1)
    talk.owner(JOB, parallelism=9, template=TEMPLATE)
    talk.seen_all(*job_pods(9))
    # once more for those that came while it was not known
    assert talk.reads == ["Job train"]


# --- chains ---


def replica_set(talk, name):
    ref = reference("apps/v1", "ReplicaSet", name)
    return talk.owner(ref, above=DEPLOYMENT, replicas=2, template=TEMPLATE)


def test_a_deployment_is_one_group_whose_surge_pods_join_singly():
    talk = OwnedTalk(1)
    talk.owner(DEPLOYMENT, replicas=2, template=TEMPLATE)
    old = replica_set(talk, "web-1")
    talk.seen_all(*job_pods(2, old)).until_quiet(seconds=5)
    assert talk.bound == ["p0", "p1"]
    new = replica_set(talk, "web-2")
    for number in (2, 3):
        talk.seen_all(pod(f"p{number}", new, created=number)).until_quiet(seconds=5)
        assert f"p{number}" in talk.bound
        talk.gone(f"uid-p{number - 2}")
        talk.settle()
    assert talk.minimums() == {"deployment-web": 2}


def test_a_job_set_is_one_group_of_all_its_jobs():
    talk = OwnedTalk(1)
    whole = reference("jobset.x-k8s.io/v1alpha2", "JobSet", "s")
    jobs = [{"name": name, "template": {"spec": {"parallelism": 2, "template": TEMPLATE}}} for name in "ab"]
    talk.owner(whole, replicatedJobs=jobs)
    refs = [reference("batch/v1", "Job", f"s-{name}-0") for name in "ab"]
    for ref in refs:
        talk.owner(ref, above=whole, parallelism=2, template=TEMPLATE)
    assert talk.seen_all(*job_pods(2, refs[0], prefix="a")).until_quiet(seconds=5).bound == []
    assert len(talk.seen_all(*job_pods(2, refs[1], prefix="b")).until_quiet(seconds=5).bound) == 4
    assert talk.minimums() == {"jobset-s": 4}


def test_a_leader_worker_set_is_a_group_for_each_replica():
    """Workers are owned by a StatefulSet that their leader owns."""
    talk = OwnedTalk(2)
    lws = reference("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "serve")
    talk.owner(lws, replicas=2, leaderWorkerTemplate={"size": 2, "workerTemplate": TEMPLATE})
    leaders = talk.owner(reference("apps/v1", "StatefulSet", "serve"), above=lws, replicas=2, template=TEMPLATE)
    pods = []
    for index in (0, 1):
        labels = {"leaderworkerset.sigs.k8s.io/group-index": str(index)}
        leader = pod(f"serve-{index}", leaders, labels=labels)
        ref = talk.owner(reference("v1", "Pod", f"serve-{index}", f"uid-serve-{index}"), above=leaders)
        workers = talk.owner(reference("apps/v1", "StatefulSet", f"serve-{index}"), above=ref, replicas=1)
        pods.append([leader, pod(f"serve-{index}-1", workers, labels=labels)])
    bound = [talk.seen_all(*some).until_quiet(seconds=5).bound for some in ([pods[0][0], pods[1][0]], [pods[0][1]])]
    assert bound == [[], ["serve-0", "serve-0-1"]]
    assert talk.minimums() == {"leaderworkerset-serve-0": 2, "leaderworkerset-serve-1": 2}


def test_what_nobody_knows_above_a_job_does_not_matter():
    talk = OwnedTalk(1)
    talk.owner(JOB, above=reference("batch/v1", "CronJob", "nightly"), parallelism=1, template=TEMPLATE)
    talk.seen_all(pod("p", JOB))
    assert talk.minimums() == {"job-train": 1}


def test_an_owner_of_a_kind_that_nobody_knows_needs_a_number():
    talk = OwnedTalk(1)
    cluster = reference("ray.io/v1", "RayCluster", "ray")
    assert talk.seen_all(pod("p0", cluster)).reads == []
    why = "how many pods RayCluster ray makes is not known: label muster.dev/min-count has to say it"
    assert talk.words() == {"p0": why}
    talk.seen_all(*(pod(f"p{number}", cluster, labels={"muster.dev/min-count": "2"}) for number in (1, 2)))
    assert talk.until_quiet(seconds=5).bound == ["p1", "p2"]
    assert talk.minimums() == {"raycluster-ray": 2}


def test_owners_that_make_one_pod_after_another_are_told_what_to_do():
    talk = OwnedTalk(1)
    ref = reference("apps/v1", "StatefulSet", "db")
    talk.owner(ref, replicas=2, template=TEMPLATE)
    talk.seen_all(pod("db-0", ref))
    assert talk.words() == {
        "db-0": "StatefulSet db waits for some of its pods before it makes others: "
        "a gang needs spec.podManagementPolicy: Parallel"
    }
    talk.owner(ref, replicas=2, template=TEMPLATE, podManagementPolicy="Parallel")
    talk.groups.owned.read_all_again()
    assert talk.seen_all(pod("db-1", ref)).until_quiet(seconds=5).bound == ["db-0", "db-1"]


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ({"muster.dev/gang": "yes"}, "label muster.dev/gang is 'yes', neither true nor false"),
        ({"muster.dev/min-count": "many"}, "label muster.dev/min-count is 'many', not a positive number"),
    ],
)
def test_labels_that_mean_nothing_make_a_lone_pod_and_an_event(labels, why):
    talk = OwnedTalk(1)
    talk.owner(JOB, parallelism=3, template=TEMPLATE)
    talk.seen_all(pod("p", JOB, gang=None, labels=labels))
    assert talk.words() == {"p": f"placed alone, not in a group: {why}"}
    assert talk.bound == ["p"]


def test_labels_that_mean_nothing_are_told_of_in_the_basic_group_that_the_job_controller_makes_too():
    talk = OwnedTalk(1)
    talk.owner(JOB, parallelism=3, template=TEMPLATE)
    talk.engine.apply(talk.groups.seen(NATIVE, native("basic", made_for=JOB["uid"])))
    talk.seen_all(pod("p", JOB, gang="yes", schedulingGroup={"podGroupName": "basic"}))
    assert talk.words() == {"p": "placed alone, not in a group: label muster.dev/gang is 'yes', neither true nor false"}


def test_who_is_in_a_gang_all_the_same_is_told_nothing_of_labels_that_mean_nothing():
    talk = OwnedTalk(1)
    talk.owner(JOB, parallelism=3, template=TEMPLATE)
    talk.engine.apply(talk.groups.seen(NATIVE, native("mine", gang=1)))
    talk.seen_all(pod("p", JOB, gang="yes", schedulingGroup={"podGroupName": "mine"}))
    assert talk.words() == {}
    assert talk.bound == ["p"]


def test_false_means_no():
    talk = OwnedTalk(1)
    talk.owner(JOB, parallelism=3, template=TEMPLATE)
    talk.seen_all(pod("p", JOB, gang="false"))
    assert talk.words() == {}
    assert (talk.bound, talk.made) == (["p"], {})


# --- what else names a gang ---


def native(name, *, gang=None, made_for=None):
    policy = {"gang": {"minCount": gang}} if gang else {"basic": {}}
    owners = [{"kind": "Job", "uid": made_for, "controller": True}] if made_for else []
    meta = {"name": name, "namespace": "team", "uid": f"uid-{name}", "ownerReferences": owners}
    meta["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return read(PodGroup, {"metadata": meta, "spec": {"schedulingPolicy": policy}})


@pytest.mark.parametrize("group_first", [True, False])
def test_a_basic_group_that_the_job_controller_made_gives_way(group_first):
    talk = OwnedTalk(1)
    talk.owner(JOB, parallelism=2, template=TEMPLATE)
    basic = native("train-abc", made_for=JOB["uid"])
    pods = job_pods(2, schedulingGroup={"podGroupName": "train-abc"})
    if group_first:
        talk.engine.apply(talk.groups.seen(NATIVE, basic))
    talk.seen_all(pods[0])
    if not group_first:
        talk.engine.apply(talk.groups.seen(NATIVE, basic))
        talk.settle()
    assert talk.until_quiet(seconds=5).bound == []
    assert talk.seen_all(pods[1]).until_quiet(seconds=5).bound == ["p0", "p1"]
    assert {member.gang for member in talk.engine.cluster.pods.values()} == {"team/job-train"}


def test_a_gang_that_somebody_named_counts():
    talk = OwnedTalk(1)
    talk.owner(JOB, parallelism=2, template=TEMPLATE)
    talk.engine.apply(talk.groups.seen(NATIVE, native("mine", gang=1)))
    talk.seen_all(pod("p", JOB, schedulingGroup={"podGroupName": "mine"}))
    assert talk.until_quiet(seconds=5).bound == ["p"]
    assert (talk.made, talk.reads) == ({}, [])


def test_a_label_that_names_a_group_counts():
    talk = OwnedTalk(1)
    talk.seen_all(pod("p", JOB, labels={"muster.dev/pod-group": "mine"}))
    assert (talk.made, talk.reads) == ({}, [])
    assert talk.engine.cluster.pods["uid-p"].gang == "team/mine"


# --- what changes ---


@pytest.mark.parametrize("size", [2, 4])
def test_the_minimum_follows_the_owner(size):
    talk = OwnedTalk(1, cpu=1)
    talk.owner(JOB, parallelism=3, template=TEMPLATE)
    talk.seen_all(*job_pods(3))
    talk.owner(JOB, parallelism=size, template=TEMPLATE)
    if size > 3:
        talk.seen(pod("p3", JOB))
    else:
        talk.gone("uid-p2")
    talk.settle()
    assert talk.minimums() == {"job-train": size}


def test_a_group_that_somebody_deletes_is_made_again():
    talk = OwnedTalk(1)
    talk.owner(JOB, parallelism=2, template=TEMPLATE)
    talk.seen_all(pod("p0", JOB))
    talk.delete_group("job-train")
    assert talk.settle().minimums() == {"job-train": 2}
    assert talk.seen_all(pod("p1", JOB)).until_quiet(seconds=5).bound == ["p0", "p1"]


def test_a_group_of_which_all_pods_have_ended_is_not_made_again():
    talk = OwnedTalk(1)
    talk.owner(JOB, parallelism=1, template=TEMPLATE)
    talk.seen_all(pod("p0", JOB)).until_quiet(seconds=5)
    over = talk.pods["uid-p0"]
    talk.seen_all(replace(over, status=replace(over.status, phase="Succeeded")))
    talk.delete_group("job-train")
    assert talk.settle().made == {}


def test_what_was_set_by_hand_is_put_right():
    talk = OwnedTalk(1)
    talk.owner(JOB, parallelism=2, template=TEMPLATE)
    talk.seen_all(pod("p0", JOB))
    group = talk.made["team/job-train"]
    other = replace(group.spec.scheduling_policy, gang=replace(group.spec.scheduling_policy.gang, min_count=1))
    talk._store(replace(group, spec=replace(group.spec, scheduling_policy=other)))
    assert talk.settle().minimums() == {"job-train": 2}


def test_an_owner_that_is_made_again_gets_a_group_of_its_own():
    talk = OwnedTalk(1)
    talk.owner(JOB, parallelism=1, template=TEMPLATE)
    talk.seen_all(pod("p0", JOB)).until_quiet(seconds=5)
    again = reference("batch/v1", "Job", "train", "another")
    talk.owner(again, parallelism=2, template=TEMPLATE)
    talk.seen_all(*job_pods(2, again, first=1, created=30))
    why = "PodGroup job-train is there, and not of the present Job train"
    assert talk.words() == {"p1": why, "p2": why}
    talk.gone("uid-p0")
    talk.delete_group("job-train")
    talk.settle()
    assert owner_of(talk.made["team/job-train"]) == "another"
    assert talk.until_quiet(seconds=5).bound == ["p1", "p2"]


SET = reference("apps/v1", "StatefulSet", "db")
NEXT_SET = reference("apps/v1", "StatefulSet", "db", "another")
AT_ONCE = {"podManagementPolicy": "Parallel", "template": TEMPLATE}


def test_a_group_that_was_orphaned_is_the_next_owners_who_takes_over_the_pods():
    """As people do who change what is immutable about a StatefulSet."""
    talk = OwnedTalk(2)
    talk.owner(SET, replicas=2, **AT_ONCE)
    talk.seen_all(pod("p0", SET), pod("p1", SET)).until_quiet(seconds=5)
    talk.orphan(SET)
    talk.owner(NEXT_SET, replicas=3, **AT_ONCE)
    for name in ("p0", "p1"):
        found = talk.pods[f"uid-{name}"]
        owners = pod(name, NEXT_SET).metadata.owner_references
        talk.seen(replace(found, metadata=replace(found.metadata, owner_references=owners)))
    talk.seen_all(pod("p2", NEXT_SET))
    assert owner_of(talk.made["team/statefulset-db"]) == "another"
    assert talk.minimums() == {"statefulset-db": 3}
    assert talk.until_quiet(seconds=5).bound == ["p0", "p1", "p2"]


def test_a_group_that_was_orphaned_is_the_next_owners_once_the_pods_of_the_last_have_ended():
    talk = OwnedTalk(2)
    talk.owner(JOB, parallelism=1, template=TEMPLATE)
    talk.seen_all(pod("p0", JOB)).until_quiet(seconds=5)
    talk.orphan(JOB)
    again = reference("batch/v1", "Job", "train", "another")
    talk.owner(again, parallelism=2, template=TEMPLATE)
    talk.seen_all(*job_pods(2, again, first=1, created=30))
    why = "PodGroup job-train is there, and not of the present Job train"
    assert talk.words() == {"p1": why, "p2": why}
    talk.gone("uid-p0")
    assert talk.settle().until_quiet(seconds=5).bound == ["p1", "p2"]
    assert owner_of(talk.made["team/job-train"]) == "another"


def test_a_group_of_that_name_that_somebody_made_is_left_alone():
    talk = OwnedTalk(1)
    talk.owner(JOB, parallelism=2, template=TEMPLATE)
    mine = native("job-train", gang=7)
    talk.engine.apply(talk.groups.seen(CUSTOM, mine))
    talk.seen_all(pod("p", JOB))
    assert talk.words() == {"p": "PodGroup job-train is there, and not of the present Job train"}
    assert talk.made == {}


def test_pods_whose_owner_is_gone_wait():
    talk = OwnedTalk(1)
    talk.seen_all(pod("p", JOB))
    assert talk.words() == {"p": "Job train is gone"}
    assert talk.made == {}


def test_a_restart_changes_nothing():
    talk = OwnedTalk(8)
    talk.owner(JOB, parallelism=2, template=TEMPLATE)
    talk.seen_all(*job_pods(2)).until_quiet(seconds=5)
    group = talk.made["team/job-train"]
    talk.restart()
    assert talk.settle().until_quiet(seconds=600).bound == ["p0", "p1"]
    assert talk.made["team/job-train"] == group


def test_what_a_template_says_for_groups_stands_on_the_group():
    talk = OwnedTalk(1)
    talk.owner(JOB, parallelism=1, template=TEMPLATE)
    annotations = {"muster.dev/schedule-timeout-seconds": "30", "other": "x"}
    talk.seen_all(pod("p", JOB, annotations=annotations, priorityClassName="high"))
    group = talk.made["team/job-train"]
    assert group.metadata.annotations == {"muster.dev/schedule-timeout-seconds": "30"}
    assert group.spec.priority_class_name == "high"


def test_nothing_is_kept_of_pods_that_are_gone():
    talk = OwnedTalk(1)
    talk.owner(DEPLOYMENT, replicas=2, template=TEMPLATE)
    talk.seen_all(*job_pods(2, replica_set(talk, "web-1"))).until_quiet(seconds=5)
    for number in (0, 1):
        talk.gone(f"uid-p{number}")
    talk.settle()
    talk.delete_group("deployment-web")
    owned = talk.groups.owned
    kept = {name: value for name, value in vars(owned).items() if isinstance(value, dict | set)}
    assert not any(kept.values()), kept


def test_a_deployment_that_was_scaled_to_nothing_starts_whole_again():
    talk = OwnedTalk(1)
    talk.owner(DEPLOYMENT, replicas=2, template=TEMPLATE)
    pods = replica_set(talk, "web-1")
    talk.seen_all(*job_pods(2, pods)).until_quiet(seconds=5)
    for number in (0, 1):
        talk.gone(f"uid-p{number}")
    talk.settle().until_quiet(seconds=60)
    talk.seen_all(pod("p2", pods, created=20))
    assert talk.until_quiet(seconds=60).bound == []
    assert talk.seen_all(pod("p3", pods, created=21)).until_quiet(seconds=60).bound == ["p2", "p3"]


# --- gangs are switched off ---


def test_while_gangs_are_off_no_groups_are_made_and_afterwards_pods_that_went_alone_count():
    talk = OwnedTalk(1, cpu=2)
    talk.restart(closed=DIALECTS)
    talk.owner(JOB, parallelism=3, template=TEMPLATE)
    assert talk.seen_all(*job_pods(3)).until_quiet(seconds=5).bound == ["p0", "p1"]
    assert talk.made == {}
    talk.restart()
    assert talk.settle().until_quiet(seconds=600).bound == ["p0", "p1"]
    assert talk.minimums() == {"job-train": 3}


def test_what_was_begun_for_an_owner_is_finished_as_a_gang_while_gangs_are_off():
    talk = OwnedTalk(2)
    talk.owner(JOB, parallelism=3, template=TEMPLATE)
    talk.refused = ("p2",)
    assert talk.seen_all(*job_pods(3)).until_quiet(seconds=1).bound == ["p0", "p1"]
    talk.refused = ()
    talk.restart(closed=DIALECTS)
    talk.settle().until_quiet(seconds=5)
    assert [bound_for(one).minimum for one in talk.pods.values()] == [3, 3, 3]
