"""Pods that say they are in a gang and are in none, or not as they say: they wait and tell why, or are placed alone."""

import pytest
from msgspec.structs import replace

from muster.api.wire import Pod, PodGroup, read
from muster.engine.changes import NodeSeen
from muster.engine.decisions import Event, GangCondition, PodCondition
from muster.gangs.dialects import NATIVE
from muster.gangs.dialects.draft import DraftWorkload
from tests.builders import node
from tests.dialects.speakers import SPEAKERS
from tests.dialects.talk import Talk

DRAFT = next(speaker for speaker in SPEAKERS if speaker.name == "draft")
SUBSETS = next(speaker for speaker in SPEAKERS if speaker.name == "subsets")


def pod(name, *, created=0, **parts):
    """A pod of one cpu; `parts` of its metadata by name, all others of its spec."""
    meta = {key: parts.pop(key) for key in ("labels", "annotations") if key in parts}
    spec = {"schedulerName": "muster", "containers": [{"resources": {"requests": {"cpu": 1}}}]}
    stamp = f"2026-01-01T00:00:{created:02}Z"
    names = {"name": name, "namespace": "team", "uid": f"uid-{name}", "creationTimestamp": stamp}
    return read(Pod, {"metadata": names | meta, "spec": spec | parts})


def workload(*groups, uid="one"):
    meta = {"name": "w", "namespace": "team", "uid": uid, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return read(DraftWorkload, {"metadata": meta, "spec": {"podGroups": list(groups)}})


def said(talk, pods):
    for one in pods:
        talk.seen(one)
    return talk.words()


REPLICATED = {
    "name": "g",
    "gangMode": "Replicated",
    "minCount": 1,
    "replicatedGangKey": {"fieldPath": "metadata.labels['replica']"},
}


def test_a_pod_waits_for_a_workload_that_does_not_exist_and_goes_when_it_does():
    talk = Talk(1)
    assert said(talk, [pod("p", workload={"name": "w"})]) == {"p": "draft Workload w does not exist"}
    talk.declared(DRAFT, workload({"name": "g", "minCount": 1}))
    assert talk.until_quiet().bound == ["p"]


@pytest.mark.parametrize(
    ("groups", "parts", "why"),
    [
        ([{"name": "a"}, {"name": "b"}], {}, "Workload w has no group that selects the pod"),
        ([{"name": "a", "podGroupSelector": {"role": "x"}}], {}, "Workload w has no group that selects the pod"),
        (
            [{"name": name, "podGroupSelector": {"role": "x"}} for name in "ab"],
            {"labels": {"role": "x"}},
            "Workload w has more than one group that selects the pod",
        ),
        ([{"name": "a"}], {"workload": {"name": "w", "podGroup": "b"}}, 'Workload w has no group "b"'),
        ([REPLICATED], {}, "the pod lacks label replica, by which Workload w replicates group g"),
        (
            [REPLICATED | {"replicatedGangKey": {"fieldPath": "metadata.annotations['replica']"}}],
            {"labels": {"replica": "r"}},
            "group g of Workload w is replicated and says by no label how",
        ),
    ],
    ids=["no selectors", "none selects", "two select", "named wrongly", "no key", "an annotation"],
)
def test_a_pod_that_no_group_takes_waits_and_says_why(groups, parts, why):
    talk = Talk(1)
    talk.declared(DRAFT, workload(*groups))
    assert said(talk, [pod("p", **({"workload": {"name": "w"}} | parts))]) == {"p": why}
    assert talk.bound == []


def test_a_pod_that_names_a_workload_by_label_and_no_group_is_told_that_the_draft_alone_can_do_without():
    assert said(Talk(1), [pod("p", labels={"muster.dev/workload": "w"})]) == {
        "p": "draft Workload w does not exist, and for any other the pod lacks label muster.dev/workload-pod-group"
    }


def test_a_pod_that_has_the_field_of_v1alpha1_is_of_the_workload_that_this_names():
    talk = Talk(1)
    talk.declared(DRAFT, workload({"name": "g", "minCount": 1}))
    named = pod("p", workloadRef={"name": "other", "podGroup": "g"}, labels={"muster.dev/workload": "w"})
    assert said(talk, [named]) == {"p": "waiting for its pod group: other/g does not exist"}


def test_replicas_beyond_what_the_group_may_have_wait_until_one_is_gone():
    talk = Talk(1)
    talk.declared(DRAFT, workload(REPLICATED | {"replicas": 1}))
    ref = {"name": "w"}
    late = pod("late", created=5, workload=ref, labels={"replica": "a"})
    early = pod("early", created=1, workload=ref, labels={"replica": "b"})
    assert said(talk, [late, early]) == {"late": "the group may have 1 at once, and as many replicas came before a"}
    assert talk.bound == ["early"]
    talk.gone("uid-early")
    assert talk.until_quiet().bound == ["late"]


def test_a_replica_that_runs_is_not_displaced_by_one_that_was_made_before():
    talk = Talk(1)
    talk.declared(DRAFT, workload(REPLICATED | {"replicas": 1}))
    said(talk, [pod("runs", created=5, workload={"name": "w"}, labels={"replica": "b"})])
    said(talk, [pod("early", created=1, workload={"name": "w"}, labels={"replica": "a"})])
    assert talk.bound == ["runs"]


def test_a_workload_without_gangs_lets_pods_go_one_by_one():
    talk = Talk(1, cpu=2)
    talk.declared(DRAFT, workload({"name": "g", "gangMode": "Off", "minCount": 3}))
    said(talk, [pod(f"p{number}", workload={"name": "w"}) for number in range(3)])
    assert len(talk.bound) == 2


# --- labels alone ---


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ({}, "label pod-group/min-available is missing"),
        ({"pod-group/min-available": "0"}, "label pod-group/min-available is '0', not a positive number"),
        ({"pod-group/min-available": "few"}, "label pod-group/min-available is 'few', not a positive number"),
        ({"pod-group/min-available": "²"}, "label pod-group/min-available is '²', not a positive number"),
    ],
)
def test_a_label_without_a_minimum_makes_a_lone_pod_and_an_event(labels, why):
    talk = Talk(1)
    words = said(talk, [pod("p", labels={"pod-group/name": "train"} | labels)])
    assert words == {"p": f"placed alone, not as a member of train: {why}"}
    assert talk.bound == ["p"]


def labelled(name, minimum, group="train"):
    return pod(name, labels={"pod-group/name": group, "pod-group/min-available": str(minimum)})


@pytest.mark.parametrize("named", [False, True])
def test_a_lone_pod_is_told_what_its_labels_lack_when_it_is_bound(named):
    talk = Talk(0)
    labels = {"pod-group/name": "train"}
    said(talk, [pod("p", labels={} if named else labels)])
    talk.seen(pod("p", labels=labels if named else {}))
    talk.engine.apply([NodeSeen(node("n0"))])
    assert ("placed alone" in said(talk, []).get("p", "")) is named


def test_where_members_disagree_the_largest_minimum_counts():
    talk = Talk(1)
    bound = []
    for number, minimum in enumerate([1, 3, 2]):
        talk.seen(labelled(f"p{number}", minimum))
        bound.append(talk.until_quiet(seconds=5).bound)
    assert bound == [["p0"], ["p0"], ["p0", "p1", "p2"]]


def test_members_that_disagree_on_the_minimum_are_told_so_once():
    talk, told = Talk(0), []
    for number, minimum in enumerate([3, 4, 3, 3, 5]):
        talk.seen(labelled(f"p{number}", minimum))
        told += [
            (one.note, [ref.pod for ref in one.pods])
            for one in talk.engine.decide(talk.now)
            if isinstance(one, Event) and one.reason == "PodGroupError"
        ]
    everybody = [f"team/p{number}" for number in range(5)]
    assert told == [
        ("pods of train do not agree on the minimum (3, 4): the largest counts", everybody[:2]),
        ("pods of train do not agree on the minimum (3, 4, 5): the largest counts", everybody),
    ]


def test_labels_that_change_move_a_pod_that_waits():
    talk = Talk(1)
    talk.seen(labelled("p0", 2))
    talk.seen(labelled("p1", 2, group="other"))
    assert talk.until_quiet(seconds=5).bound == []
    talk.seen(labelled("p1", 2))
    assert talk.until_quiet(seconds=5).bound == ["p0", "p1"]


def test_labels_that_change_on_a_bound_pod_change_nothing():
    talk = Talk(1)
    for name in ("p0", "p1"):
        talk.seen(labelled(name, 2))
    talk.until_quiet(seconds=5)
    bound = talk.pods["uid-p1"]
    other = labelled("p1", 7, group="other").metadata.labels
    talk.seen(replace(bound, metadata=replace(bound.metadata, labels=other)))
    assert talk.until_quiet(seconds=900).bound == ["p0", "p1"]
    assert {member.gang for member in talk.engine.cluster.pods.values()} == {"team/train"}


# --- groups that nobody names ---


@pytest.mark.parametrize("name", ["v1alpha1", "draft", "coscheduling", "volcano", "kai"])
def test_nothing_is_said_of_a_group_without_a_status_that_no_pod_names(name):
    """Its members may all be of its replicas, or be another scheduler's."""
    talk = Talk(1)
    speaker = next(speaker for speaker in SPEAKERS if speaker.name == name)
    talk.declared(speaker, speaker.group(2))
    told = []
    for _ in range(10):
        told += talk.engine.decide(talk.now)
        talk.now += 1
    assert told == []


# --- subsets ---


def roles(*subsets, uid="one"):
    group = SUBSETS.group(1, uid=uid)
    parts = tuple(replace(group.spec.subsets[0], name=name, min_member=minimum) for name, minimum in subsets)
    return replace(group, spec=replace(group.spec, subsets=parts))


def member(name, subset):
    return pod(name, podGroup={"name": "train", "subset": subset} if subset else {"name": "train"})


def test_a_group_says_of_which_subsets_members_are_missing_and_counts_nobody_who_is_in_none():
    talk = Talk(1)
    talk.declared(SUBSETS, roles(("leader", 1), ("worker", 3)))
    for name in ("worker", "typo"):
        talk.seen(pod(name, podGroup={"name": "train", "subset": name}))
    told = []
    for _ in range(5):
        told += [one.message for one in talk._turn() if isinstance(one, GangCondition)]
        talk.now += 1
    assert told == ["1 of 4 members exist, 3 more must be created (1 leader, 2 worker)"]


def test_a_group_starts_when_every_subset_can():
    talk = Talk(1)
    talk.declared(SUBSETS, roles(("leader", 1), ("worker", 2)))
    for name in ("w0", "w1", "w2"):
        talk.seen(member(name, "worker"))
    assert talk.until_quiet(seconds=5).bound == []
    talk.seen(member("l0", "leader"))
    assert talk.until_quiet(seconds=5).bound == ["l0", "w0", "w1", "w2"]


def test_spare_members_of_one_subset_do_not_take_the_room_of_another():
    talk = Talk(1, cpu=3)
    talk.declared(SUBSETS, roles(("leader", 1), ("worker", 2)))
    for name in ("w0", "w1", "w2"):
        talk.seen(member(name, "worker"))
    talk.seen(member("z0", "leader"))
    assert talk.until_quiet(seconds=5).bound == ["w0", "w1", "z0"]


@pytest.mark.parametrize(
    ("subset", "why"),
    [
        ("boss", 'the group has no subset "boss"; it has leader, worker'),
        ("", "the pod names no subset; the group has leader, worker"),
    ],
)
def test_a_pod_of_an_unknown_subset_waits_and_says_why(subset, why):
    talk = Talk(1)
    talk.declared(SUBSETS, roles(("leader", 1), ("worker", 1)))
    words = said(talk, [member("p", subset)])
    assert words == {"p": why}


def test_members_of_different_priorities_wait_until_they_agree():
    talk = Talk(1)
    talk.declared(SUBSETS, roles(("", 2)))
    low, high = member("p0", ""), member("p1", "")
    words = said(talk, [low, replace(high, spec=replace(high.spec, priority=10))])
    why = "all pods in a single pod group should have the same priority, got 0 and 10"
    assert set(words.values()) == {f"waiting for its pod group: {why}"}
    assert talk.bound == []
    talk.seen(high)
    assert talk.until_quiet(seconds=5).bound == ["p0", "p1"]


def test_a_pod_goes_when_its_subset_comes():
    talk = Talk(1)
    talk.declared(SUBSETS, roles(("leader", 1), ("worker", 1)))
    said(talk, [member("l", "leader"), member("w", "worker"), member("b", "boss")])
    talk.declared(SUBSETS, roles(("leader", 1), ("worker", 1), ("boss", 1)))
    assert talk.until_quiet(seconds=5).bound == ["b", "l", "w"]


VOLCANO = next(speaker for speaker in SPEAKERS if speaker.name == "volcano")


def test_tasks_without_a_minimum_run_beside_those_that_have_one():
    talk = Talk(1)
    group = VOLCANO.group(2)
    talk.declared(VOLCANO, replace(group, spec=replace(group.spec, min_task_member={"ps": 1, "worker": 1})))

    def task(name):
        marks = {"scheduling.k8s.io/group-name": "train", "volcano.sh/task-spec": name}
        return pod(name, annotations=marks)

    talk.seen(task("worker"))
    talk.seen(task("tensorboard"))
    assert talk.until_quiet(seconds=5).bound == []
    talk.seen(task("ps"))
    assert talk.until_quiet(seconds=5).bound == ["ps", "tensorboard", "worker"]
    talk.gone("uid-tensorboard")
    talk.restart()
    assert talk.until_quiet(seconds=900).bound == ["ps", "worker"]


@pytest.mark.parametrize("field_first", [True, False])
def test_a_task_counts_where_the_job_controller_named_a_group_of_its_own_in_the_field(field_first):
    talk = Talk(1)
    group = VOLCANO.group(2)
    talk.declared(VOLCANO, replace(group, spec=replace(group.spec, min_task_member={"ps": 1, "worker": 1})))
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-job", "controller": True}
    meta = {"name": "train-abc", "namespace": "team", "uid": "uid-abc", "ownerReferences": [owner]}
    basic = read(PodGroup, {"metadata": meta, "spec": {"schedulingPolicy": {"basic": {}}}})

    def task(name):
        marks = {"scheduling.k8s.io/group-name": "train", "volcano.sh/task-spec": name}
        return pod(name, annotations=marks, schedulingGroup={"podGroupName": "train-abc"})

    if field_first:
        talk.engine.apply(talk.groups.seen(NATIVE, basic))
    talk.seen(task("worker"))
    talk.engine.apply(talk.groups.seen(NATIVE, basic))
    assert talk.until_quiet(seconds=5).bound == []
    talk.seen(task("ps"))
    assert talk.until_quiet(seconds=5).bound == ["ps", "worker"]


def test_members_that_fit_have_a_reason_of_their_own():
    talk = Talk(1, cpu=1)
    talk.declared(SUBSETS, roles(("", 2)))
    reasons = {}
    for name in ("p0", "p1"):
        talk.seen(member(name, ""))
    for decision in talk.engine.decide(talk.now):
        if isinstance(decision, PodCondition):
            reasons |= {ref.pod: decision.reason for ref in decision.pods}
    assert reasons == {"team/p0": "CoschedulingNotMeetMinMember", "team/p1": "Unschedulable"}
