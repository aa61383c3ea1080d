"""`muster convert`: what is rewritten, what stays as it was, and what is said about it."""

import copy

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from muster.app.convert import TARGETS, convert
from muster.app.convert.declared import dialect_of, read_object
from muster.app.convert.members import read_pod, told
from muster.app.convert.pieces import Piece, pod_templates
from muster.app.manifests import Document, to_yaml
from muster.edge.groups import Groups
from muster.gangs.dialects import CUSTOM, DIALECTS, NATIVE, membership

CONTAINERS = [{"name": "main", "image": "train"}]


def run(*manifests, target=NATIVE):
    documents = [Document("old.yaml", number, copy.deepcopy(one)) for number, one in enumerate(manifests, 1)]
    return convert(documents, target=target)


def pod(name="p", *, labels=None, annotations=None, **spec):
    meta = {"name": name, "labels": labels, "annotations": annotations}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {key: part for key, part in meta.items() if part},
        "spec": spec | {"containers": CONTAINERS},
    }


def template(kind, *path, labels=None, api_version="apps/v1", **spec):
    content = {"metadata": {"labels": labels or {}}, "spec": spec | {"containers": CONTAINERS}}
    for part in reversed(path):
        content = {part: content} if isinstance(part, str) else [content]
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "w"}, **content}


def found(manifest, *path):
    for part in path:
        manifest = manifest[part]
    return manifest


def coscheduling(name="train", **rest):
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": 3} | rest,
    }


def native(name="train", **spec):
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}} | spec,
    }


def workload(*groups, **spec):
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": "w"},
        "spec": {"podGroups": [{"name": name, "policy": {"gang": {"minCount": 2}}} for name in groups]} | spec,
    }


def draft(**group):
    return {
        "apiVersion": "draft.muster.dev/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": "w"},
        "spec": {"podGroups": [{"minCount": 2} | group]},
    }


def reference(group, replica=None):
    ref = {"name": "w", "podGroup": group}
    return {"workloadRef": ref | ({"podGroupReplicaKey": replica} if replica else {})}


NAMES_TRAIN = {"scheduling.x-k8s.io/pod-group": "train"}
BY_LABELS = {"pod-group/name": "train", "pod-group/min-available": "3"}


def names(result):
    return [one["metadata"]["name"] for one in result.manifests if one["kind"] == "PodGroup"]


# --- pods and templates ---


@pytest.mark.parametrize(
    "path",
    [
        ("Job", "spec", "template"),
        ("CronJob", "spec", "jobTemplate", "spec", "template"),
        ("StatefulSet", "spec", "template"),
        ("JobSet", "spec", "replicatedJobs", 0, "template", "spec", "template"),
        ("LeaderWorkerSet", "spec", "leaderWorkerTemplate", "workerTemplate"),
        ("MPIJob", "spec", "mpiReplicaSpecs", "Worker", "template"),
        ("PyTorchJob", "spec", "pytorchReplicaSpecs", "Worker", "template"),
        ("Unheard", "spec", "of", 0, "kind"),
    ],
    ids=lambda path: path[0],
)
def test_a_pod_template_is_found_wherever_it_stands(path):
    kind, *rest = path
    (got,) = run(template(kind, *rest, labels=NAMES_TRAIN | {"app": "a"})).manifests
    inner = found(got, *rest)
    assert inner["spec"]["schedulingGroup"] == {"podGroupName": "train"}
    assert inner["metadata"] == {"labels": {"app": "a"}}


def test_what_is_no_gang_stays_as_it_was_and_where_it_was():
    others = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "c"},
            "data": {"a": "y", "b": "1e3", "c": "a\nb"},
        },
        template("Deployment", "spec", "template", labels={"app": "a"}),
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}},
    ]
    got = run(others[0], coscheduling(), others[1], pod(labels=NAMES_TRAIN), others[2])
    assert [one["kind"] for one in got.manifests] == ["ConfigMap", "PodGroup", "Deployment", "Pod", "Service"]
    assert [got.manifests[place] for place in (0, 2, 4)] == others


def test_what_is_added_stands_where_people_look_for_it():
    bare = {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {"schedulingGroup": {"podGroupName": "a"}, "containers": [], "tail": 1},
    }
    (labelled,) = run(bare, target=CUSTOM).manifests
    assert list(labelled) == ["apiVersion", "kind", "metadata", "spec"]
    (named,) = run(labelled).manifests
    assert list(named["spec"]) == ["schedulingGroup", "containers", "tail"]


def test_a_kind_that_only_looks_like_a_pod_is_left_alone():
    sidecars = pod(labels=NAMES_TRAIN) | {"apiVersion": "apps.kruise.io/v1alpha1", "kind": "SidecarSet"}
    assert run(sidecars).manifests == [sidecars]


def test_a_label_that_a_selector_names_stays_and_is_told():
    deployment = template("Deployment", "spec", "template", labels=NAMES_TRAIN)
    deployment["spec"]["selector"] = {"matchLabels": NAMES_TRAIN}
    got = run(coscheduling(), deployment)
    inner = found(got.manifests[1], "spec", "template")
    assert inner["metadata"]["labels"] == NAMES_TRAIN
    assert inner["spec"]["schedulingGroup"] == {"podGroupName": "train"}
    assert (
        "old.yaml: document 2: Deployment w: label scheduling.x-k8s.io/pod-group stays: a selector names it"
        in got.notes
    )


def test_a_label_that_a_selector_needs_and_that_would_count_is_an_error():
    labels = {"muster.dev/workload": "w", "muster.dev/workload-pod-group": "workers"}
    deployment = template("Deployment", "spec", "template", labels=labels)
    deployment["spec"]["selector"] = {"matchLabels": labels}
    got = run(workload("workers"), deployment, target=CUSTOM)
    assert got.manifests == []
    assert got.errors == [
        "old.yaml: document 2: Deployment w: pods would still name w/workers: a selector needs the label that says so"
    ]


HIDDEN = template(
    "Deployment", "spec", "template", labels=BY_LABELS, schedulingGroup={"podGroupName": "other"}, **reference("g", "k")
)
HIDDEN["spec"]["selector"] = {"matchLabels": BY_LABELS}
"""Its pods are replicas by a field, and so declare no gang by their labels until the field is taken away."""


def test_a_label_that_a_selector_needs_and_that_would_declare_a_gang_is_an_error():
    got = run(native("other"), HIDDEN)
    assert got.manifests == []
    assert got.errors == [
        "old.yaml: document 2: Deployment w: pods would declare train: a selector needs the label that says so"
    ]
    assert run(native("other"), native(), HIDDEN).errors == []


def test_of_two_names_the_one_that_counts_is_kept():
    got = run(pod(labels=NAMES_TRAIN, annotations={"pod-group-name": "other"}))
    assert got.manifests[0]["spec"]["schedulingGroup"] == {"podGroupName": "train"}
    assert got.manifests[0]["metadata"] == {"name": "p"}
    assert "old.yaml: document 1: Pod p: names other besides train, which counts: that is lost" in got.notes


def test_a_field_that_names_no_gang_goes_with_the_others():
    (got,) = run(pod(labels=NAMES_TRAIN, podGroup={"name": ""})).manifests
    assert got == pod(schedulingGroup={"podGroupName": "train"})


def test_subsets_become_labels_of_pods_and_an_annotation_of_the_group():
    group = {
        "apiVersion": "coscheduling.muster.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train"},
        "spec": {"subsets": [{"name": "leader", "minMember": 1}, {"name": "worker", "minMember": 3}]},
    }
    got = run(group, pod(podGroup={"name": "train", "subset": "worker"}))
    assert got.manifests[0]["metadata"]["annotations"] == {"muster.dev/subsets": "leader=1,worker=3"}
    assert got.manifests[0]["spec"]["schedulingPolicy"] == {"gang": {"minCount": 4}}
    assert got.manifests[1]["metadata"]["labels"] == {"muster.dev/subset": "worker"}


@pytest.mark.parametrize("least", [1, 4])
def test_tasks_of_volcano_whose_minimums_do_not_add_up_are_no_subsets(least):
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train"},
        "spec": {"minMember": 3, "minTaskMember": {"worker": least}},
    }
    annotations = {"scheduling.k8s.io/group-name": "train", "volcano.sh/task-spec": "worker"}
    got = run(group, pod(annotations=annotations))
    assert got.manifests[1]["metadata"] == {"name": "p"}
    why = "spec.minTaskMember is lost: its numbers do not add up to minMember, which alone counts"
    assert any(note.endswith(why) for note in got.notes)


def test_tasks_of_volcano_beside_those_that_have_a_minimum_name_none():
    group = coscheduling(minMember=1, minTaskMember={"worker": 1}) | {"apiVersion": "scheduling.volcano.sh/v1beta1"}
    marks = {"scheduling.k8s.io/group-name": "train", "volcano.sh/task-spec": "other"}
    got = run(group, pod(annotations=marks), pod("w", annotations=marks | {"volcano.sh/task-spec": "worker"}))
    assert got.manifests[0]["metadata"]["annotations"] == {"muster.dev/subsets": "worker=1,=0"}
    assert [one["metadata"].get("labels") for one in got.manifests[1:]] == [None, {"muster.dev/subset": "worker"}]


def test_pods_that_need_no_longer_agree_on_a_priority_are_told():
    group = {
        "apiVersion": "coscheduling.muster.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train"},
        "spec": {"subsets": [{"minMember": 2}]},
    }
    assert any("no longer agree on a priority" in note for note in run(group, target=CUSTOM).notes)
    assert not any("priority" in note for note in run(group).notes)


# --- groups ---


def test_a_group_keeps_who_it_is_and_loses_what_a_server_wrote():
    group = coscheduling(minResources={"cpu": 3}, scheduleTimeoutSeconds=60)
    owners = [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}]
    group["metadata"] |= {
        "namespace": "team",
        "labels": {"app": "a"},
        "annotations": {"note": "b", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
        "ownerReferences": owners,
        "uid": "1",
        "resourceVersion": "7",
        "finalizers": ["muster.dev/podgroup-protection", "example.com/mine"],
    }
    group["status"] = {"phase": "Running", "occupiedBy": "team/j"}
    got = run(group)
    assert got.manifests == [
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {
                "name": "train",
                "namespace": "team",
                "labels": {"app": "a"},
                "annotations": {"muster.dev/schedule-timeout-seconds": "60", "note": "b"},
                "ownerReferences": owners,
            },
            "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}, "disruptionMode": {"all": {}}},
        }
    ]
    who = "old.yaml: document 1: PodGroup team/train: "
    assert got.notes == [
        who + "spec.minResources is lost: pods' own requests decide whether a gang fits",
        f'{who}annotation muster.dev/schedule-timeout-seconds: "60" says what a PodGroup has no field for; '
        "only Muster reads it",
        who + "status is lost (phase, occupiedBy)",
        who + "metadata.finalizers is lost (example.com/mine)",
    ]


def test_what_is_v1beta1_already_stays_as_it_is():
    group = native() | {"status": {"conditions": []}}
    got = run(group, pod(schedulingGroup={"podGroupName": "train"}, labels={"muster.dev/subset": "a"}))
    assert got.manifests == [group, pod(schedulingGroup={"podGroupName": "train"}, labels={"muster.dev/subset": "a"})]
    assert got.notes == []


def test_between_the_two_v1beta1_only_version_and_naming_change():
    spec = {
        "schedulingConstraints": {"topology": [{"key": "zone"}]},
        "workloadRef": {"workloadName": "a", "templateName": "b"},
    }
    there = run(native(**spec), pod(schedulingGroup={"podGroupName": "train"}), target=CUSTOM).manifests
    assert there[0] == native(**spec) | {"apiVersion": "muster.dev/v1beta1"}
    assert there[1] == pod(labels={"muster.dev/pod-group": "train"})
    assert run(*there).manifests == [native(**spec), pod(schedulingGroup={"podGroupName": "train"})]


def test_v1alpha2_is_spelled_anew():
    group = native(
        schedulingConstraints={"topology": [{"key": "zone"}]},
        disruptionMode="PodGroup",
        podGroupTemplateRef={"workload": {"workloadName": "w", "podGroupTemplateName": "t"}},
    ) | {"apiVersion": "scheduling.k8s.io/v1alpha2"}
    got = run(group)
    assert got.manifests[0]["spec"] == {
        "workloadRef": {"workloadName": "w", "templateName": "t"},
        "schedulingPolicy": {"gang": {"minCount": 3}},
        "schedulingConstraints": {"topology": [{"key": "zone"}]},
        "disruptionMode": {"all": {}},
    }
    assert got.notes == []


def test_a_workload_of_templates_is_spelled_anew():
    templates = [{"name": "t", "schedulingPolicy": {"basic": {}}, "disruptionMode": "Pod"}]
    controller = {"kind": "Job", "name": "j"}
    old = workload() | {"apiVersion": "scheduling.k8s.io/v1alpha2"}
    old["spec"] = {"controllerRef": controller, "podGroupTemplates": templates}
    (got,) = run(old).manifests
    assert got["apiVersion"] == "scheduling.k8s.io/v1beta1"
    assert got["spec"] == {
        "controllerRef": controller,
        "podGroupTemplates": [{"name": "t", "schedulingPolicy": {"basic": {}}, "disruptionMode": {"single": {}}}],
    }


def test_a_workload_of_groups_becomes_one_group_each():
    got = run(workload("leader", "workers", controllerRef={"kind": "Job", "name": "j"}), pod(**reference("workers")))
    assert names(got) == ["w-leader", "w-workers"]
    assert got.manifests[2]["spec"]["schedulingGroup"] == {"podGroupName": "w-workers"}
    who = "old.yaml: document 1: Workload w: "
    assert got.notes == [
        who + "no pod of this input names w-leader: replicas, if it has any, need a PodGroup each",
        who + "spec.controllerRef is lost: a PodGroup has no field for it",
    ]


def test_replicas_become_one_group_each_where_pods_name_them():
    got = run(workload("workers"), *(pod(key, **reference("workers", key)) for key in ("b", "a", "b")))
    assert names(got) == ["w-workers-b", "w-workers-a"]
    assert [one["spec"]["schedulingGroup"]["podGroupName"] for one in got.manifests[2:]] == [
        "w-workers-b",
        "w-workers-a",
        "w-workers-b",
    ]
    assert any(
        "have a PodGroup each, by the pods of this input: w-workers-b, w-workers-a" in note for note in got.notes
    )


def test_a_group_that_is_named_with_and_without_a_key_is_both():
    got = run(workload("workers"), pod("a", **reference("workers", "a")), pod("b", **reference("workers")))
    assert names(got) == ["w-workers", "w-workers-a"]


def test_two_gangs_never_get_one_name():
    got = run(workload("workers"), native("w-workers"))
    assert got.errors == [
        "old.yaml: document 2: PodGroup w-workers: two gangs would be called w-workers: w/workers and w-workers"
    ]


def test_of_two_objects_that_declare_one_gang_the_one_that_counts_is_kept():
    got = run(coscheduling(), native())
    assert got.manifests == [native()]
    assert got.notes == ["old.yaml: document 1: PodGroup train: is dropped: the v1beta1 object of that name counts"]


def test_of_an_object_that_is_declared_twice_the_last_one_counts():
    got = run(coscheduling(minMember=2), coscheduling(minMember=5))
    assert [one["spec"]["schedulingPolicy"]["gang"]["minCount"] for one in got.manifests] == [5]
    assert got.notes == [
        "old.yaml: document 1: PodGroup train: is dropped: it is written again in old.yaml: document 2"
    ]


def test_a_native_group_gets_the_priority_class_of_its_pods():
    got = run(coscheduling(), pod(labels=NAMES_TRAIN, priorityClassName="high"))
    assert got.manifests[0]["spec"]["priorityClassName"] == "high"
    assert "priorityClassName" not in run(coscheduling(), pod(labels=NAMES_TRAIN), target=CUSTOM).manifests[0]["spec"]


def test_pods_of_several_priority_classes_are_told():
    pods = [pod("a", labels=NAMES_TRAIN, priorityClassName="high"), pod("b", labels=NAMES_TRAIN)]
    got = run(coscheduling(), *pods)
    assert "priorityClassName" not in got.manifests[0]["spec"]
    assert any("several priority classes (high, none)" in note for note in got.notes)


def test_a_gang_that_nobody_declares_here_is_told():
    got = run(pod(labels=NAMES_TRAIN))
    assert got.notes == ["old.yaml: document 1: Pod p: no object of this input declares train: convert that too"]
    assert run(pod(schedulingGroup={"podGroupName": "train"})).notes == []


def test_pods_of_a_draft_say_themselves_which_group_they_are_of():
    old = draft(name="pg", podGroupSelector={"role": "x"}, schedulingTimeoutSeconds=60, replicas=2)
    got = run(old | {"apiVersion": "scheduling/v1alpha1"}, pod(labels={"role": "x"}, workload={"name": "w"}))
    group, member = got.manifests
    timeouts = {f"muster.dev/{which}-timeout-seconds": "60" for which in ("schedule", "start")}
    assert group["metadata"] == {"name": "w-pg", "annotations": timeouts}
    assert member == pod(labels={"role": "x"}, schedulingGroup={"podGroupName": "w-pg"})
    assert any("spec.podGroups[0].replicas is lost" in note for note in got.notes)


def test_a_pod_that_is_in_no_gang_although_it_says_so_is_an_error():
    got = run(pod(workload={"name": "nowhere"}), draft(name="pg"), pod(workload={"name": "w", "podGroup": "other"}))
    assert got.errors == [
        "old.yaml: document 1: Pod p: nobody can tell which gang it is in: draft Workload nowhere does not exist",
        'old.yaml: document 3: Pod p: nobody can tell which gang it is in: Workload w has no group "other"',
    ]


# --- labels alone ---


def test_labels_alone_become_a_group_before_the_first_who_names_it():
    job = template("Job", "spec", "template", labels=BY_LABELS, api_version="batch/v1")
    got = run(pod("alone"), job, pod(labels=BY_LABELS))
    assert [one["kind"] for one in got.manifests] == ["Pod", "PodGroup", "Job", "Pod"]
    assert got.manifests[1]["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}
    assert got.manifests[3] == pod(schedulingGroup={"podGroupName": "train"})
    assert got.notes == ["old.yaml: document 2: Job w: PodGroup train is made of its labels, with minCount 3"]


def test_of_minimums_that_disagree_the_largest_counts_and_it_is_told():
    got = run(pod("a", labels=BY_LABELS), pod("b", labels=BY_LABELS | {"pod-group/min-available": "5"}))
    assert got.manifests[0]["spec"]["schedulingPolicy"] == {"gang": {"minCount": 5}}
    assert (
        "old.yaml: document 1: Pod a: pods of train do not agree on the minimum (3, 5): the largest counts" in got.notes
    )


def test_labels_that_make_no_gang_stay_and_are_told():
    alone = pod(labels={"pod-group/name": "train", "pod-group/min-available": "many"})
    got = run(alone)
    assert got.manifests == [alone]
    (note,) = got.notes
    assert "left as it is: placed alone, not as a member of train" in note


def test_a_name_that_no_object_can_have_is_an_error():
    got = run(pod(labels=BY_LABELS | {"pod-group/name": "Train_1"}))
    assert [error.partition("Pod p: ")[2] for error in got.errors] == [
        "Train_1 cannot be the name of a PodGroup: at most 253 small letters, digits, - and ."
    ]


# --- lists ---


def test_items_of_a_list_are_rewritten_in_it():
    items = [
        coscheduling(),
        pod(labels=NAMES_TRAIN),
        pod("q", labels={"pod-group/name": "x", "pod-group/min-available": "2"}),
    ]
    (got,) = run({"apiVersion": "v1", "kind": "List", "items": items}).manifests
    assert (got["apiVersion"], got["kind"]) == ("v1", "List")
    assert [one["kind"] for one in got["items"]] == ["PodGroup", "Pod", "PodGroup", "Pod"]


def test_a_list_of_groups_becomes_a_list_of_anything():
    item = {key: part for key, part in coscheduling().items() if key in ("metadata", "spec")}
    old = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroupList", "metadata": {}, "items": [item]}
    (got,) = run(old).manifests
    assert (got["apiVersion"], got["kind"]) == ("v1", "List")
    assert [one["apiVersion"] for one in got["items"]] == ["scheduling.k8s.io/v1beta1"]


@pytest.mark.parametrize("items", [[], [{"no": "object"}]])
def test_a_list_without_gangs_stays_as_it_is(items):
    old = {"apiVersion": "v1", "kind": "List", "items": items, "metadata": {}}
    assert run(old).manifests == [old]


def test_pods_of_a_list_that_declare_a_gang_stand_beside_it():
    item = {"metadata": {"name": "p", "labels": BY_LABELS}, "spec": {"containers": CONTAINERS}}
    (got,) = run({"apiVersion": "v1", "kind": "PodList", "items": [item]}).manifests
    assert got["kind"] == "List"
    assert [(one["apiVersion"], one["kind"]) for one in got["items"]] == [
        ("scheduling.k8s.io/v1beta1", "PodGroup"),
        ("v1", "Pod"),
    ]


def test_a_list_of_pods_stays_one():
    old = {
        "apiVersion": "v1",
        "kind": "PodList",
        "items": [{"metadata": {"name": "p"}, "spec": {"containers": CONTAINERS}}],
    }
    assert run(old).manifests == [old]


# --- what cannot be converted ---


@pytest.mark.parametrize(
    ("bad", "line"),
    [
        (
            coscheduling() | {"apiVersion": "scheduling.x-k8s.io/v1"},
            "PodGroup train: apiVersion: scheduling.x-k8s.io/v1 is not known; known are scheduling.x-k8s.io/v1alpha1",
        ),
        (coscheduling() | {"kind": "Podgroup"}, "Podgroup train: kind: Podgroup is not known; PodGroup is"),
        (coscheduling(minMember="three"), "PodGroup train: spec.minMember: Expected `int`, got `str`"),
        (coscheduling() | {"metadata": {}}, "PodGroup without a name: metadata: Object missing required field `name`"),
        (coscheduling() | {"spec": "x"}, "PodGroup train: spec: Expected `object`, got `str`"),
        (
            workload() | {"apiVersion": "scheduling.k8s.io/v1alpha2", "spec": {"podGroupTemplates": ["x"]}},
            "Workload w: spec.podGroupTemplates[0]: Expected `object`, got `str`",
        ),
        (
            template("Job", "spec", "template", labels={"pod-group/min-available": 3}),
            "Job w: spec.template.metadata.labels[...]: Expected `str`, got `int`",
        ),
        (native("x" * 64), "too long"),
    ],
)
def test_what_cannot_be_converted_is_one_line_and_nothing_is_printed(bad, line):
    got = run(pod("alone"), bad, pod(schedulingGroup={"podGroupName": "x" * 64}), target=CUSTOM)
    assert got.manifests == []
    assert any(line in error for error in got.errors)
    assert all(error.startswith("old.yaml: document ") and "\n" not in error for error in got.errors)


def test_kinds_that_nobody_knows_are_told_and_left_alone():
    strange = coscheduling() | {"apiVersion": "example.com/v1"}
    got = run(strange)
    assert got.manifests == [strange]
    assert got.notes == [
        "old.yaml: document 1: PodGroup train: left as it is: nobody here knows PodGroup of example.com/v1"
    ]


@pytest.mark.parametrize(
    ("manifest", "line"),
    [
        (
            template("JobSet", "spec", "template", labels=NAMES_TRAIN, api_version="jobset.x-k8s.io/v1alpha2"),
            "schedulingGroup is dropped by servers if the kind's schema lacks it: use --to muster then",
        ),
        (
            pod(labels=NAMES_TRAIN, schedulerName="volcano"),
            "schedulerName stays volcano: let a profile of Muster have that name, or write muster",
        ),
        (
            {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "w"}, "spec": {}},
            "left as it is: its controller makes Volcano's PodGroups of it",
        ),
        (
            {
                "apiVersion": "kubeflow.org/v1",
                "kind": "PyTorchJob",
                "metadata": {"name": "w"},
                "spec": {"runPolicy": {"schedulingPolicy": {"minAvailable": 3}}},
            },
            "spec.runPolicy.schedulingPolicy stays: its operator makes groups of it, in a dialect of its own",
        ),
        (pod(podGroup={"subset": "a"}), "left as it is: spec.podGroup names no gang"),
    ],
)
def test_what_a_person_must_see_to_is_told(manifest, line):
    assert any(note.endswith(line) for note in run(manifest).notes)


def test_nothing_is_said_of_pods_that_stay_as_they_are():
    assert run(native(), pod(schedulingGroup={"podGroupName": "train"}, schedulerName="other")).notes == []


# --- properties ---

MARKS = st.fixed_dictionaries(
    {},
    optional={
        "schedulingGroup": st.sampled_from([{"podGroupName": "a"}, {"podGroupName": "b"}]),
        "podGroup": st.sampled_from([{"name": "a"}, {"name": "a", "subset": "s"}]),
        "workloadRef": st.sampled_from([reference("a")["workloadRef"], reference("a", "k")["workloadRef"]]),
        "workload": st.sampled_from([{"name": "w"}, {"name": "w", "podGroup": "a"}, {"name": "v"}]),
    },
)
LABELS = st.fixed_dictionaries(
    {},
    optional={
        "scheduling.x-k8s.io/pod-group": st.sampled_from(["a", "b"]),
        "muster.dev/pod-group": st.sampled_from(["a", "b"]),
        "pod-group/name": st.sampled_from(["a", "c"]),
        "pod-group/min-available": st.sampled_from(["2", "3", "x"]),
        "muster.dev/subset": st.just("s"),
        "muster.dev/workload": st.just("w"),
        "muster.dev/workload-pod-group": st.just("b"),
        "app": st.just("x"),
    },
)
ANNOTATIONS = st.fixed_dictionaries(
    {},
    optional={
        "scheduling.k8s.io/group-name": st.sampled_from(["a", "b"]),
        "volcano.sh/task-spec": st.just("s"),
        "pod-group-name": st.sampled_from(["a", "b"]),
    },
)
PODS = st.builds(
    lambda marks, labels, notes: pod(labels=labels, annotations=notes, **marks), MARKS, LABELS, ANNOTATIONS
)


@st.composite
def deployments(draw):
    one = draw(PODS)
    selector = draw(st.sets(st.sampled_from(sorted(one["metadata"].get("labels", {})) or ["app"])))
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": dict.fromkeys(selector, "x")},
            "template": {"metadata": one["metadata"], "spec": one["spec"]},
        },
    }


OBJECTS = st.sampled_from(
    [
        coscheduling("a"),
        coscheduling("b", scheduleTimeoutSeconds=5),
        native("a"),
        native("b") | {"apiVersion": "muster.dev/v1beta1"},
        native("a", disruptionMode="Pod") | {"apiVersion": "scheduling.k8s.io/v1alpha2"},
        native("a") | {"apiVersion": "scheduling.k8s.io/v1alpha3"},
        coscheduling("b", minTaskMember={"s": 4}) | {"apiVersion": "scheduling.volcano.sh/v1beta1"},
        coscheduling("a") | {"apiVersion": "scheduling.run.ai/v2alpha2"},
        coscheduling("a", subsets=[{"name": "s"}]) | {"apiVersion": "coscheduling.muster.dev/v1alpha1"},
        workload("a", "b"),
        draft(name="a"),
        draft(name="b", podGroupSelector={"app": "x"}),
        draft(name="a", gangMode="Replicated", replicatedGangKey={"fieldPath": "metadata.labels['app']"}, replicas=1),
    ]
)


def pods_in(manifests):
    """As the scheduler sees them when all of it was applied."""
    groups = Groups()
    pieces = [Piece("", one, one["apiVersion"], one["kind"], []) for one in manifests]
    for piece in pieces:
        if dialect := dialect_of(piece):
            groups.seen(dialect, read_object(piece, dialect))
    found = [
        read_pod(piece, one, uid=str(place)) for place, piece in enumerate(pieces) for _, one in pod_templates(piece)
    ]
    for pod in found:
        told(groups, pod)
    return [told(groups, pod) for pod in found]


def gang(pod):
    """What it is called, and the subset."""
    found = membership(pod)
    return ("-".join(found.gang.split("/")[1:]), found.subset) if found else ("", "")


@settings(max_examples=200, deadline=None)
@given(st.lists(PODS | deployments() | OBJECTS, max_size=6), st.sampled_from([NATIVE, CUSTOM]))
@example([pod(schedulingGroup={"podGroupName": "train"}), HIDDEN], NATIVE)
def test_converting_twice_changes_nothing_and_pods_stay_in_their_gangs(manifests, target):
    once = run(*manifests, target=target)
    if once.errors:
        assert once.manifests == []
        return
    assert run(*once.manifests, target=target).manifests == once.manifests
    after = pods_in(once.manifests)
    for old, new in zip(pods_in(manifests), after, strict=True):
        # tasks of Volcano are subsets only where they have a minimum
        assert gang(new)[0] == gang(old)[0]
    versions = {one["apiVersion"] for one in once.manifests if one["kind"] == "PodGroup"}
    assert versions <= {target.resources[0].api_version}
    if not any(one["kind"] == "Deployment" for one in manifests):
        # no selector keeps a label
        others = [one for one in DIALECTS if one is not target]
        assert not any(dialect.membership(pod) for pod in after if target.membership(pod) for dialect in others)


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_printed_is_read_as_it_was_meant(target):
    got = run(coscheduling(), pod(labels=NAMES_TRAIN), target=TARGETS[target]).manifests
    assert list(yaml.safe_load_all(to_yaml(got))) == got


# --- odd input ---


def test_an_item_of_a_list_that_is_no_object_is_said_to_be_none():
    items = [document("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", {"minMember": 2}), None]
    got = run({"apiVersion": "v1", "kind": "List", "items": items})
    assert (got.manifests, got.errors) == ([], ["old.yaml: document 1, item 2: is no object"])


def test_a_kind_whose_name_ends_like_that_of_a_list_is_none():
    allowed = {"apiVersion": "example.com/v1", "kind": "AllowList", "items": ["a", "b"]}
    assert run(allowed).manifests == [allowed]


def test_a_group_that_is_off_in_the_draft_is_basic():
    groups = [{"name": "g", "gangMode": "Off"}]
    got = run(document("draft.muster.dev/v1alpha1", "Workload", "w", {"podGroups": groups}))
    assert [one["spec"]["schedulingPolicy"] for one in got.manifests] == [{"basic": {}}]


def test_a_desired_count_is_lost_and_it_is_told():
    groups = [{"name": "g", "policy": {"basic": {"desiredCount": 4}}}]
    got = run(document("scheduling.k8s.io/v1alpha1", "Workload", "w", {"podGroups": groups}))
    assert [one["spec"]["schedulingPolicy"] for one in got.manifests] == [{"basic": {}}]
    assert "old.yaml: document 1: Workload w: basic.desiredCount is lost: a PodGroup has no field for it" in got.notes


def document(api_version, kind, name, spec):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}
