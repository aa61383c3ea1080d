"""What labels on pods ask for, and how many pods owners say that they make."""

import pytest

from muster.api.wire import OwnerReference, Pod, read
from muster.gangs.owners import OWNER_KINDS, Document, asks, group_name, kind_of, remark

ASKS = {"metadata": {"labels": {"muster.dev/gang": "true"}}}
PLAIN = {"metadata": {"labels": {"app": "web"}}}


def pod(owned=True, **labels):
    labels = {f"muster.dev/{name.replace('_', '-')}": value for name, value in labels.items()}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-train", "controller": True}
    meta = {"name": "p", "namespace": "team", "labels": labels, "ownerReferences": [owner] if owned else []}
    return read(Pod, {"metadata": meta})


@pytest.mark.parametrize(
    ("labels", "minimum"),
    [
        ({}, None),
        ({"gang": "true"}, 0),
        ({"gang": "false"}, None),
        ({"min_count": "3"}, 3),
        ({"gang": "true", "min_count": "3"}, 3),
        ({"gang": "false", "min_count": "3"}, None),
        ({"min_count": "99999999999"}, 2**31 - 1),
    ],
)
def test_labels_ask_for_all_pods_or_for_so_many(labels, minimum):
    assert (asks(pod(**labels)), remark(pod(**labels))) == (minimum, "")


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ({"gang": "yes"}, "label muster.dev/gang is 'yes', neither true nor false"),
        ({"gang": "True", "min_count": "3"}, "label muster.dev/gang is 'True', neither true nor false"),
        ({"gang": ""}, "label muster.dev/gang is '', neither true nor false"),
        ({"min_count": "0"}, "label muster.dev/min-count is '0', not a positive number"),
        ({"min_count": "many"}, "label muster.dev/min-count is 'many', not a positive number"),
        ({"gang": "true", "min_count": "-1"}, "label muster.dev/min-count is '-1', not a positive number"),
        ({"min_count": "²"}, "label muster.dev/min-count is '²', not a positive number"),
        ({"gang": "true", "owned": False}, "no controller owns it, and groups are made for those"),
    ],
)
def test_what_cannot_be_meant_makes_a_lone_pod_and_says_so(labels, why):
    assert (asks(pod(**labels)), remark(pod(**labels))) == (None, f"placed alone, not in a group: {why}")


def shape(api_version, kind, spec):
    reference = OwnerReference(api_version=api_version, kind=kind, name="o", uid="uid-o", controller=True)
    found = kind_of(reference)
    owner = found.owner(reference, read(Document, {"metadata": {"name": "o", "uid": "uid-o"}, "spec": spec}))
    return owner.shape.pods, owner.shape.at_once


def job(**spec):
    return {"template": {"spec": {"template": ASKS, **spec}}}


KUBEFLOW = {"Worker": {"replicas": 3, "template": ASKS}}
LWS = {"size": 4, "workerTemplate": ASKS}


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "pods"),
    [
        ("apps/v1", "ReplicaSet", {"replicas": 3, "template": ASKS}, 3),
        ("apps/v1", "Deployment", {"replicas": 3, "template": ASKS}, 3),
        ("apps/v1", "Deployment", {"template": ASKS}, 1),
        ("apps/v1", "StatefulSet", {"replicas": 3, "template": ASKS, "podManagementPolicy": "Parallel"}, 3),
        ("batch/v1", "Job", {"parallelism": 4, "completions": 8, "template": ASKS}, 4),
        ("batch/v1", "Job", {"parallelism": 8, "completions": 4, "template": ASKS}, 4),
        ("batch/v1", "Job", {"parallelism": 8, "template": ASKS}, 8),
        ("batch/v1", "Job", {"template": ASKS}, 1),
        ("batch/v1", "Job", {"parallelism": 0, "template": ASKS}, 1),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [job(), {"replicas": 2, **job(parallelism=3)}]}, 7),
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"replicas": 7, "leaderWorkerTemplate": LWS}, 4),
        ("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": {"Launcher": {"template": ASKS}, **KUBEFLOW}}, 4),
        ("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": {"Master": {"template": ASKS}, **KUBEFLOW}}, 4),
    ],
)
def test_an_owner_makes_so_many_pods(api_version, kind, spec, pods):
    assert shape(api_version, kind, spec) == (pods, pods)


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "pods"),
    [
        ("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": {"Launcher": {"template": PLAIN}, **KUBEFLOW}}, 3),
        (
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            {"leaderWorkerTemplate": {"leaderTemplate": PLAIN, **LWS}},
            3,
        ),
    ],
)
def test_of_several_templates_those_count_that_ask(api_version, kind, spec, pods):
    assert shape(api_version, kind, spec) == (pods, pods)


def test_if_no_template_asks_all_count():
    """Somebody else put the label on the pods."""
    assert shape("apps/v1", "Deployment", {"replicas": 3, "template": PLAIN}) == (3, 3)


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "pods", "at_once"),
    [
        ("apps/v1", "StatefulSet", {"replicas": 3, "template": ASKS}, 3, 1),
        (
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            {"leaderWorkerTemplate": LWS, "startupPolicy": "LeaderReady"},
            4,
            1,
        ),
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {
                "replicatedJobs": [job(parallelism=2), job(parallelism=3)],
                "startupPolicy": {"startupPolicyOrder": "InOrder"},
            },
            5,
            2,
        ),
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {"replicatedJobs": [job(parallelism=2), job(), {**job(), "dependsOn": [{"name": "a", "status": "Ready"}]}]},
            4,
            3,
        ),
    ],
)
def test_some_make_pods_only_when_others_are_ready(api_version, kind, spec, pods, at_once):
    assert shape(api_version, kind, spec) == (pods, at_once)


def test_a_launcher_that_waits_for_its_workers_does_not_count():
    specs = {"Launcher": {"template": ASKS}, **KUBEFLOW}
    spec = {"mpiReplicaSpecs": specs, "launcherCreationPolicy": "WaitForWorkersReady"}
    assert shape("kubeflow.org/v2beta1", "MPIJob", spec) == (3, 3)


@pytest.mark.parametrize("kind", [kind for kind in OWNER_KINDS if kind.shape is not None], ids=lambda kind: kind.kind)
@pytest.mark.parametrize("value", [None, "many", [None], {"a": 1}, -5, True])
def test_specs_that_are_not_as_they_should_be_count_as_not_given(kind, value):
    """Third-party kinds may have any schema, or none."""
    fields = ("replicas", "parallelism", "completions", "template", "replicatedJobs", "leaderWorkerTemplate")
    more = ("mpiReplicaSpecs", "pytorchReplicaSpecs", "startupPolicy", "podManagementPolicy")
    assert kind.shape(dict.fromkeys((*fields, *more), value)).pods == 1


# --- names ---


def test_names_are_predictable():
    assert group_name("Job", "train") == "job-train"
    assert group_name("LeaderWorkerSet", "serve", "3") == "leaderworkerset-serve-3"


def test_names_that_are_too_long_are_cut_and_still_differ():
    long = [group_name("LeaderWorkerSet", "a" * 60, replica) for replica in ("0", "1")]
    assert [len(name) for name in long] == [63, 63]
    assert len(set(long)) == 2
    assert long[0] == group_name("LeaderWorkerSet", "a" * 60, "0")


def test_a_name_is_not_cut_after_a_dot():
    name = group_name("Job", "a" * 49 + ".bbbbbbbbbbbbbbbbbbbb")
    assert ".-" not in name
