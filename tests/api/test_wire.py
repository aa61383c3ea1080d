"""Decoding objects as a real API server sends them."""

import json

import msgspec
import pytest

from muster.api.wire import (
    Condition,
    ContainerPort,
    Node,
    Pod,
    PodGroup,
    PodSpec,
    PriorityClass,
    Taint,
    Toleration,
    condition,
    read,
)
from muster.base.errors import ObjectError
from muster.base.selectors import Requirement

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "train-0",
        "generateName": "train-",
        "namespace": "team",
        "uid": "3f0a7f2e-5b1c-4a0e-9d52-0f6f7a3b9c11",
        "resourceVersion": "1184",
        "creationTimestamp": "2026-03-01T08:00:00Z",
        "labels": {"batch.kubernetes.io/job-completion-index": "0"},
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}],
        "managedFields": [{"manager": "kube-controller-manager", "operation": "Update", "fieldsV1": {"f:spec": {}}}],
    },
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "example.com/train:1",
                "command": ["python", "train.py"],
                "resources": {
                    "requests": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"},
                    "limits": {"nvidia.com/gpu": "1"},
                },
                "ports": [
                    {"name": "nccl", "containerPort": 29500, "hostPort": 29500, "protocol": "TCP"},
                    {"containerPort": 53, "hostPort": 53, "hostIP": "10.0.0.1", "protocol": "UDP"},
                ],
                "volumeMounts": [{"name": "kube-api-access", "mountPath": "/var/run/secrets", "readOnly": True}],
                "imagePullPolicy": "IfNotPresent",
            }
        ],
        "initContainers": [{"name": "log", "image": "log:1", "resources": {}, "restartPolicy": "Always"}],
        "overhead": {"cpu": "250m"},
        "nodeSelector": {"disk": "ssd"},
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}
                    ]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 10,
                        "preference": {
                            "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]
                        },
                    }
                ],
            },
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []},
        },
        "tolerations": [
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
            {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
        ],
        "schedulerName": "muster",
        "priority": 1000,
        "priorityClassName": "high",
        "preemptionPolicy": "PreemptLowerPriority",
        "schedulingGates": [{"name": "example.com/quota"}],
        "schedulingGroup": {"podGroupName": "train"},
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 30,
    },
    "status": {
        "phase": "Pending",
        "qosClass": "Burstable",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": None,
                "lastTransitionTime": "2026-03-01T08:00:00Z",
                "observedGeneration": 1,
            }
        ],
    },
}

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "uid": "u1", "labels": {"kubernetes.io/hostname": "n1", "zone": "a"}},
    "spec": {
        "podCIDR": "10.244.0.0/24",
        "providerID": "kind://docker/kind/n1",
        "unschedulable": True,
        "taints": [
            {
                "key": "node.kubernetes.io/unschedulable",
                "effect": "NoSchedule",
                "timeAdded": "2026-03-01T08:00:00Z",
            },
            {"key": "gpu", "value": "yes", "effect": "PreferNoSchedule"},
        ],
    },
    "status": {
        "capacity": {"cpu": "8", "memory": "32900116Ki", "pods": "110"},
        "allocatable": {"cpu": "7910m", "memory": "32797716Ki", "pods": "110", "nvidia.com/gpu": "8"},
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {"kubeletVersion": "v1.37.0"},
    },
}

GROUP = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "train", "namespace": "team", "uid": "g1", "generation": 2},
    "spec": {
        "schedulingPolicy": {"gang": {"minCount": 4}},
        "disruptionMode": {"all": {}},
        "priority": 1000,
        "priorityClassName": "high",
        "workloadRef": {"name": "train"},
    },
    "status": {
        "conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled", "message": ""}]
    },
}


def bytes_of(document):
    return json.dumps(document).encode()


def test_a_pod_decodes_from_the_json_of_an_api_server():
    pod = read(Pod, bytes_of(POD))
    assert pod.metadata.name == "train-0"
    assert pod.metadata.creation_timestamp == "2026-03-01T08:00:00Z"
    assert pod.metadata.labels == {"batch.kubernetes.io/job-completion-index": "0"}
    assert pod.spec.containers[0].resources.requests["nvidia.com/gpu"] == "1"
    assert pod.spec.init_containers[0].restart_policy == "Always"
    assert pod.spec.overhead == {"cpu": "250m"}
    assert pod.spec.node_selector == {"disk": "ssd"}
    assert pod.spec.scheduler_name == "muster"
    assert pod.spec.priority == 1000
    assert pod.spec.priority_class_name == "high"
    assert pod.spec.scheduling_gates[0].name == "example.com/quota"
    assert pod.spec.scheduling_group.pod_group_name == "train"
    assert pod.status.phase == "Pending"


def test_host_ip_is_spelled_with_two_capitals():
    ports = read(Pod, bytes_of(POD)).spec.containers[0].ports
    assert ports == (
        ContainerPort(container_port=29500, host_port=29500),
        ContainerPort(container_port=53, host_port=53, host_ip="10.0.0.1", protocol="UDP"),
    )


def test_node_affinity_decodes_under_its_long_names():
    affinity = read(Pod, bytes_of(POD)).spec.affinity.node_affinity
    assert affinity.required.node_selector_terms[0].match_expressions == (Requirement("zone", "In", ("a", "b")),)
    assert affinity.preferred[0].weight == 10
    assert affinity.preferred[0].preference.match_fields == (Requirement("metadata.name", "NotIn", ("n1",)),)


def test_tolerations_decode_with_equal_as_the_default_operator():
    assert read(Pod, bytes_of(POD)).spec.tolerations == (
        Toleration(key="node.kubernetes.io/not-ready", operator="Exists", effect="NoExecute"),
        Toleration(key="gpu", operator="Equal", value="yes", effect="NoSchedule"),
    )


def test_a_condition_is_found_by_its_type():
    conditions = read(Pod, bytes_of(POD)).status.conditions
    found = condition(conditions, "PodScheduled")
    assert (found.status, found.reason, found.observed_generation) == ("False", "SchedulingGated", 1)
    assert condition(conditions, "Ready") is None


def test_a_node_decodes_from_the_json_of_an_api_server():
    node = read(Node, bytes_of(NODE))
    assert node.spec.unschedulable
    assert node.spec.taints == (
        Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule"),
        Taint(key="gpu", value="yes", effect="PreferNoSchedule"),
    )
    assert node.status.allocatable["cpu"] == "7910m"


def test_a_pod_group_decodes_from_the_json_of_an_api_server():
    group = read(PodGroup, bytes_of(GROUP))
    assert group.spec.scheduling_policy.gang.min_count == 4
    assert group.spec.disruption_mode.all is not None
    assert group.spec.disruption_mode.single is None
    assert group.spec.priority == 1000
    assert group.metadata.generation == 2
    assert group.status.conditions[0].status == "True"


def test_a_basic_pod_group_has_an_empty_policy_object():
    group = read(PodGroup, {"metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"basic": {}}}})
    assert group.spec.scheduling_policy.gang is None
    assert group.spec.scheduling_policy.basic is not None


def test_a_priority_class_decodes():
    found = read(PriorityClass, {"metadata": {"name": "high"}, "value": 1000, "globalDefault": True})
    assert (found.value, found.global_default) == (1000, True)


def test_json_and_parsed_yaml_decode_alike():
    assert read(Pod, bytes_of(POD)) == read(Pod, POD)


def test_quantities_may_come_without_quotes():
    spec = read(PodSpec, {"containers": [{"resources": {"requests": {"cpu": 1.5, "memory": 1024}}}]})
    assert spec.containers[0].resources.requests == {"cpu": 1.5, "memory": 1024}


def test_what_is_left_out_gets_its_default():
    pod = read(Pod, {"metadata": {"name": "p"}})
    assert pod.spec.scheduler_name == "default-scheduler"
    assert pod.spec.priority is None
    assert pod.status.phase == "Pending"


def test_an_object_encodes_in_camel_case_without_its_defaults():
    written = json.loads(msgspec.json.encode(Condition(type="Ready", status="True", observed_generation=3)))
    assert written == {"type": "Ready", "status": "True", "observedGeneration": 3}


def test_what_was_decoded_encodes_to_what_decodes_alike():
    pod = read(Pod, POD)
    assert read(Pod, msgspec.json.encode(pod)) == pod


UNREADABLE = [
    (Pod, b"{", "Pod is not JSON: Input data was truncated"),
    (Pod, b"[]", "Pod cannot be read: Expected `object`, got `array`"),
    (Pod, {}, "Pod cannot be read: Object missing required field `metadata`"),
    (Node, {"metadata": {}}, "Node cannot be read: Object missing required field `name` - at `$.metadata`"),
    (
        Pod,
        {"metadata": {"name": "p"}, "spec": {"priority": "high"}},
        "Pod cannot be read: Expected `int | null`, got `str` - at `$.spec.priority`",
    ),
    (
        PodGroup,
        {"metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"gang": {}}}},
        "PodGroup cannot be read: Object missing required field `minCount` - at `$.spec.schedulingPolicy.gang`",
    ),
]


@pytest.mark.parametrize(("kind", "data", "line"), UNREADABLE)
def test_an_unreadable_object_is_refused_in_one_line(kind, data, line):
    with pytest.raises(ObjectError) as caught:
        read(kind, data)
    assert str(caught.value) == line
