"""What people and programs do every day, step by step: as kubectl, a scheduler, a kubelet or a controller would."""

from __future__ import annotations

from typing import Any

from tests.control_plane.comparison import objects
from tests.control_plane.comparison.objects import applied, container
from tests.control_plane.comparison.steps import TABLE, Step, at, create, delete, get, patch, titled, update, watch

NAMESPACE = "cmp-everyday"
_KUBECTL = {"fieldManager": "kubectl-client-side-apply", "fieldValidation": "Strict"}


def _at(plural: str, name: str = "", sub: str = "", **query: object) -> str:
    return at(plural, "" if plural == "nodes" else NAMESPACE, name, sub, **query)


# --- a node's life, by its kubelet, an admin and a drain ---

_NODE = _at("nodes", "cmp-day-node")
_HEARTBEAT = {
    "status": {
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "message": "kubelet is posting ready status",
                "lastHeartbeatTime": "2001-02-03T04:05:06Z",
                "lastTransitionTime": "2001-02-03T04:05:06Z",
            }
        ]
    }
}
_NODE_STEPS = (
    create(
        "kubelet registers its node",
        _at("nodes", fieldManager="kubelet"),
        {
            **objects.node("cmp-day-node", labels={"kubernetes.io/hostname": "cmp-day-node", "zone": "a"}),
            "status": {
                "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "4"},
                "allocatable": {"cpu": "7500m", "memory": "31Gi", "pods": "110", "nvidia.com/gpu": "4"},
                "nodeInfo": {
                    "kubeletVersion": "v1.37.1",
                    "osImage": "Linux",
                    "kernelVersion": "6.1",
                    "containerRuntimeVersion": "containerd://2",
                    "architecture": "amd64",
                    "operatingSystem": "linux",
                    "machineID": "m",
                    "systemUUID": "s",
                    "bootID": "b",
                    "kubeProxyVersion": "",
                },
            },
        },
    ),
    patch(
        "kubelet's heartbeat", "strategic", _at("nodes", "cmp-day-node", "status", fieldManager="kubelet"), _HEARTBEAT
    ),
    patch(
        "kubelet's heartbeat again",
        "strategic",
        _at("nodes", "cmp-day-node", "status", fieldManager="kubelet"),
        _HEARTBEAT,
    ),
    # where one manager alone is known, whose entries have one order at any time
    patch(
        "capacity is a word",
        "merge",
        _at("nodes", "cmp-day-node", "status"),
        {"status": {"capacity": {"cpu": "many"}}},
        code=422,
    ),
    create(
        "kubelet's lease",
        at("leases", "kube-node-lease"),
        {
            **objects.lease("cmp-day-node", holderIdentity="cmp-day-node", leaseDurationSeconds=40),
            "metadata": {
                "name": "cmp-day-node",
                "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "cmp-day-node", "uid": "u"}],
            },
        },
        keep={"lease.1": "metadata.resourceVersion"},
    ),
    update(
        "kubelet renews its lease",
        at("leases", "kube-node-lease", "cmp-day-node"),
        {
            **objects.lease(
                "cmp-day-node",
                holderIdentity="cmp-day-node",
                leaseDurationSeconds=40,
                renewTime="2001-02-03T04:05:06.123456Z",
            ),
            "metadata": {"name": "cmp-day-node", "resourceVersion": "${lease.1}"},
        },
    ),
    update(
        "somebody else renews it, too late",
        at("leases", "kube-node-lease", "cmp-day-node"),
        {
            **objects.lease("cmp-day-node", holderIdentity="x"),
            "metadata": {"name": "cmp-day-node", "resourceVersion": "${lease.1}"},
        },
        code=409,
    ),
    patch("kubectl label node", "merge", _NODE, {"metadata": {"labels": {"gpu": "h100"}}}),
    patch("kubectl label node, taken away", "merge", _NODE, {"metadata": {"labels": {"gpu": None}}}),
    patch("kubectl label node, wrong", "merge", _NODE, {"metadata": {"labels": {"gpu": "a b"}}}, code=422),
    patch(
        "kubectl taint node",
        "strategic",
        _NODE,
        {"spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}},
    ),
    patch(
        "kubectl taint node, again",
        "strategic",
        _NODE,
        {"spec": {"taints": [{"key": "gpu", "value": "no", "effect": "NoSchedule"}]}},
    ),
    patch(
        "kubectl taint node, wrong",
        "strategic",
        _NODE,
        {"spec": {"taints": [{"key": "gpu", "effect": "Never"}]}},
        code=422,
    ),
    patch("kubectl cordon", "strategic", _NODE, {"spec": {"unschedulable": True}}),
    get("cordoned, as a table", _NODE, accept=TABLE),
    create(
        "a pod to drain", _at("pods"), objects.pod("drained", nodeName="cmp-day-node", terminationGracePeriodSeconds=1)
    ),
    get("kubectl drain lists", at("pods", fieldSelector="spec.nodeName=cmp-day-node")),
    create(
        "kubectl drain evicts",
        _at("pods", "drained", "eviction"),
        objects.eviction("drained", deleteOptions={"gracePeriodSeconds": 0}),
    ),
    get("the pod is gone", _at("pods", "drained"), code=404),
    patch("kubectl uncordon", "strategic", _NODE, {"spec": {"unschedulable": False}}),
    patch(
        "node controller says it is lost",
        "strategic",
        _at("nodes", "cmp-day-node", "status"),
        {
            "status": {
                "conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}],
                "$setElementOrder/conditions": [{"type": "Ready"}],
            }
        },
    ),
    get("a lost node, as a table", _NODE, accept=TABLE),
    patch(
        "capacity shrinks",
        "merge",
        _at("nodes", "cmp-day-node", "status"),
        {"status": {"capacity": {"cpu": "0.5"}, "allocatable": {"nvidia.com/gpu": None}}},
    ),
    patch(
        "capacity is negative",
        "merge",
        _at("nodes", "cmp-day-node", "status"),
        {"status": {"capacity": {"cpu": "-1"}}},
        code=422,
    ),
    delete("kubectl delete node", _NODE),
)

# --- a gang, by its user and its scheduler ---

_GROUP = _at("podgroups", "gang")


def _member(number: int) -> dict[str, Any]:
    return objects.pod(
        f"gang-{number}",
        labels={"gang": "train"},
        containers=[
            container(resources={"requests": {"cpu": "1", "nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}})
        ],
        schedulerName="muster",
        schedulingGroup={"podGroupName": "gang"},
    )


def _condition(status: str, reason: str, message: str) -> dict[str, Any]:
    return {
        "type": "PodGroupInitiallyScheduled",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2001-02-03T04:05:06Z",
        "observedGeneration": 1,
    }


_GANG_STEPS = (
    create(
        "a workload",
        _at("workloads"),
        objects.workload("train", controllerRef={"apiGroup": "batch", "kind": "Job", "name": "train"}),
    ),
    create(
        "a group",
        _at("podgroups"),
        objects.group("gang", workloadRef={"workloadName": "train", "templateName": "workers"}),
    ),
    *(create(f"member {number}", _at("pods"), _member(number)) for number in range(2)),
    patch(
        "scheduler says no",
        "strategic",
        _at("podgroups", "gang", "status"),
        {"status": {"conditions": [_condition("False", "Unschedulable", "no room")]}},
    ),
    get("group that waits, as a table", _GROUP, accept=TABLE),
    *(
        patch(
            f"scheduler says no to member {number}",
            "strategic",
            _at("pods", f"gang-{number}", "status"),
            {
                "status": {
                    "conditions": [
                        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
                    ]
                }
            },
        )
        for number in range(2)
    ),
    create(
        "scheduler's event",
        _at("events.events.k8s.io"),
        objects.new_event(
            "gang-0.1",
            NAMESPACE,
            action="Scheduling",
            reason="FailedScheduling",
            type="Warning",
            reportingController="muster",
        ),
    ),
    patch(
        "scheduler's event, once more",
        "merge",
        _at("events.events.k8s.io", "gang-0.1"),
        {"series": {"count": 2, "lastObservedTime": "2001-02-03T05:05:06.000007Z"}},
    ),
    get("the event, in the old group", _at("events", "gang-0.1")),
    get("the event, as a table", _at("events", "gang-0.1"), accept=TABLE),
    *(
        create(
            f"bind member {number}", _at("pods", f"gang-{number}", "binding"), objects.binding(f"gang-{number}", "n1")
        )
        for number in range(2)
    ),
    patch(
        "scheduler says yes",
        "strategic",
        _at("podgroups", "gang", "status"),
        {"status": {"conditions": [_condition("True", "Scheduled", "all bound")]}},
    ),
    get("group that runs, as a table", _GROUP, accept=TABLE),
    get("members, as a table", _at("pods", labelSelector="gang=train"), accept=TABLE),
    patch(
        "kubelet runs member 0",
        "strategic",
        _at("pods", "gang-0", "status", fieldManager="kubelet"),
        {
            "metadata": {"uid": None},
            "status": {
                "phase": "Running",
                "hostIP": "10.3.2.1",
                "hostIPs": [{"ip": "10.3.2.1"}],
                "podIP": "10.4.0.1",
                "podIPs": [{"ip": "10.4.0.1"}],
                "startTime": "2001-02-03T04:05:06Z",
                "conditions": [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}],
                "containerStatuses": [
                    {
                        "name": "main",
                        "image": "i",
                        "imageID": "id",
                        "ready": True,
                        "restartCount": 0,
                        "started": True,
                        "state": {"running": {"startedAt": "2001-02-03T04:05:06Z"}},
                    }
                ],
            },
        },
    ),
    patch("kubelet loses an address", "merge", _at("pods", "gang-0", "status"), {"status": {"podIP": "10.4.0.2"}}),
    patch("a phase that goes back", "merge", _at("pods", "gang-0", "status"), {"status": {"phase": "Pending"}}),
    patch(
        "preempted",
        "strategic",
        _at("pods", "gang-1", "status"),
        {
            "status": {
                "conditions": [
                    {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "PreemptionByScheduler",
                        "message": "muster: preempting",
                    }
                ]
            }
        },
    ),
    delete("preempted, deleted", _at("pods", "gang-1"), objects.options(gracePeriodSeconds=0)),
    patch("group's minimum", "merge", _GROUP, {"spec": {"schedulingPolicy": {"gang": {"minCount": 1}}}}),
    patch(
        "group's member renamed",
        "merge",
        _at("pods", "gang-0"),
        {"spec": {"schedulingGroup": {"podGroupName": "other"}}},
        code=422,
    ),
    delete("group is deleted", _GROUP, objects.options(propagationPolicy="Foreground")),
    get("group is protected", _GROUP),
    patch(
        "group is let go",
        "json",
        _GROUP,
        [
            {"op": "test", "path": "/metadata/finalizers/0", "value": "scheduling.k8s.io/podgroup-protection"},
            {"op": "remove", "path": "/metadata/finalizers/0"},
        ],
    ),
    get("group is held by its dependents", _GROUP),
    patch("group has none", "merge", _GROUP, {"metadata": {"finalizers": None}}),
    delete("members go", _at("pods", labelSelector="gang=train"), objects.options(gracePeriodSeconds=0)),
)

# --- a job, by its user and its controller ---

_JOB = _at("jobs", "train")
_JOB_STATUS = _at("jobs", "train", "status")


def _job_condition(kind: str, **more: object) -> dict[str, Any]:
    return {"type": kind, "status": "True", "lastTransitionTime": "2001-02-03T04:05:06Z", **more}


_JOB_STEPS = (
    create(
        "a job",
        _at("jobs", **_KUBECTL),
        objects.job("train", parallelism=2, completions=4, completionMode="Indexed", backoffLimit=1),
        keep={"job.uid": "metadata.uid"},
    ),
    get("job, as a table", _JOB, accept=TABLE),
    create(
        "its pod",
        _at("pods"),
        {
            **objects.pod("train-0-abcde", restartPolicy="Never"),
            "metadata": {
                "name": "train-0-abcde",
                "labels": {"batch.kubernetes.io/job-name": "train", "batch.kubernetes.io/job-completion-index": "0"},
                "finalizers": ["batch.kubernetes.io/job-tracking"],
                "ownerReferences": [
                    {
                        "apiVersion": "batch/v1",
                        "kind": "Job",
                        "name": "train",
                        "uid": "${job.uid}",
                        "controller": True,
                        "blockOwnerDeletion": True,
                    }
                ],
            },
        },
    ),
    patch(
        "two controllers",
        "json",
        _at("pods", "train-0-abcde"),
        [
            {
                "op": "add",
                "path": "/metadata/ownerReferences/-",
                "value": {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y", "controller": True},
            }
        ],
        code=422,
    ),
    patch(
        "controller starts it",
        "merge",
        _JOB_STATUS,
        {
            "status": {
                "startTime": "2001-02-03T04:05:06Z",
                "active": 2,
                "ready": 0,
                "terminating": 0,
                "uncountedTerminatedPods": {},
            }
        },
    ),
    patch(
        "controller counts", "merge", _JOB_STATUS, {"status": {"active": 1, "succeeded": 1, "completedIndexes": "0"}}
    ),
    patch("completions that cannot be", "merge", _JOB_STATUS, {"status": {"completedIndexes": "9-x"}}, code=422),
    patch(
        "both complete and failed",
        "merge",
        _JOB_STATUS,
        {"status": {"conditions": [_job_condition("Complete"), _job_condition("Failed")]}},
        code=422,
    ),
    patch(
        "complete while pods are active",
        "merge",
        _JOB_STATUS,
        {
            "status": {
                "conditions": [_job_condition("SuccessCriteriaMet"), _job_condition("Complete")],
                "completionTime": "2001-02-03T04:06:06Z",
            }
        },
        code=422,
    ),
    patch("scaled", "strategic", _JOB, {"spec": {"parallelism": 3}}),
    patch("suspended", "strategic", _JOB, {"spec": {"suspend": True}}),
    patch(
        "suspended, its status",
        "merge",
        _JOB_STATUS,
        {
            "status": {
                "active": 0,
                "startTime": None,
                "conditions": [_job_condition("Suspended", reason="JobSuspended")],
            }
        },
    ),
    get("suspended job, as a table", _JOB, accept=TABLE),
    patch(
        "other image while suspended",
        "strategic",
        _JOB,
        {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "x"}]}}}},
        code=422,
    ),
    patch(
        "other labels while suspended",
        "strategic",
        _JOB,
        {"spec": {"template": {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}}},
        code=200,
    ),
    patch("resumed", "strategic", _JOB, {"spec": {"suspend": False}}),
    patch(
        "started again",
        "merge",
        _JOB_STATUS,
        {
            "status": {
                "startTime": "2001-02-03T04:07:06Z",
                "conditions": [],
                "active": 0,
                "succeeded": 4,
                "completedIndexes": "0-3",
            }
        },
    ),
    patch(
        "criteria met",
        "merge",
        _JOB_STATUS,
        {
            "status": {
                "conditions": [
                    _job_condition(
                        "SuccessCriteriaMet",
                        reason="CompletionsReached",
                        message="Reached expected number of succeeded pods",
                    )
                ]
            }
        },
    ),
    patch(
        "complete",
        "merge",
        _JOB_STATUS,
        {
            "status": {
                "completionTime": "2001-02-03T04:08:06Z",
                "conditions": [_job_condition("SuccessCriteriaMet"), _job_condition("Complete")],
            }
        },
    ),
    patch("complete no more", "merge", _JOB_STATUS, {"status": {"conditions": [], "completionTime": None}}, code=422),
    get("complete job, as a table", _JOB, accept=TABLE),
    patch("backoff limit of a complete job", "strategic", _JOB, {"spec": {"backoffLimit": 9}}),
    patch(
        "template of a complete job",
        "strategic",
        _JOB,
        {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}},
        code=422,
    ),
    delete("kubectl delete job", _JOB, objects.options(propagationPolicy="Background")),
    patch("its pod is let go", "merge", _at("pods", "train-0-abcde"), {"metadata": {"finalizers": None}}),
    delete("its pod goes", _at("pods", "train-0-abcde")),
)

# --- kubectl apply, both ways, edit and replace ---

_LAST = "kubectl.kubernetes.io/last-applied-configuration"
_MAP = objects.config_map("settings", {"a": "1", "b": "2"}, annotations={_LAST: "{}\n"})
_KUBECTL_STEPS = (
    create("kubectl apply, new", _at("configmaps", **_KUBECTL), _MAP),
    patch(
        "kubectl apply, changed",
        "strategic",
        _at("configmaps", "settings", **_KUBECTL),
        {"data": {"b": None, "c": "3"}, "metadata": {"annotations": {_LAST: '{"x":1}\n'}}},
    ),
    patch(
        "kubectl apply --server-side",
        "apply",
        _at("configmaps", "settings", fieldManager="kubectl", fieldValidation="Strict"),
        objects.config_map("settings", {"a": "9"}),
        code=409,
    ),
    patch(
        "kubectl apply --server-side --force-conflicts",
        "apply",
        _at("configmaps", "settings", fieldManager="kubectl", force="true"),
        objects.config_map("settings", {"a": "9"}),
    ),
    patch(
        "kubectl diff",
        "apply",
        _at("configmaps", "settings", fieldManager="kubectl", force="true", dryRun="All"),
        objects.config_map("settings", {"a": "10"}),
    ),
    get("kubectl edit reads", _at("configmaps", "settings"), keep={"settings.version": "metadata.resourceVersion"}),
    patch(
        "kubectl edit",
        "strategic",
        _at("configmaps", "settings", fieldManager="kubectl-edit", fieldValidation="Strict"),
        {"data": {"a": "11"}},
    ),
    update(
        "kubectl replace",
        _at("configmaps", "settings", fieldManager="kubectl-replace"),
        objects.config_map("settings", {"z": "1"}),
    ),
    update(
        "kubectl replace of what was",
        _at("configmaps", "settings"),
        objects.config_map("settings", {"z": "2"}, resourceVersion="${settings.version}"),
        code=409,
    ),
    patch(
        "kubectl annotate",
        "merge",
        _at("configmaps", "settings", fieldManager="kubectl-annotate"),
        {"metadata": {"annotations": {"note": "hello"}}},
    ),
    get("who did what", _at("configmaps", "settings")),
    create(
        "kubectl run",
        _at("pods", fieldManager="kubectl-run", fieldValidation="Strict"),
        objects.pod(
            "web",
            labels={"run": "web"},
            restartPolicy="Always",
            dnsPolicy="ClusterFirst",
            containers=[{"name": "web", "image": "nginx", "resources": {}}],
        ),
    ),
    create(
        "kubectl expose",
        _at("services", fieldManager="kubectl-expose"),
        {
            **objects.service(
                "web", selector={"run": "web"}, ports=[{"port": 80, "targetPort": 8080, "protocol": "TCP"}]
            ),
            "status": {"loadBalancer": {}},
        },
    ),
    patch("service becomes a node port", "strategic", _at("services", "web"), {"spec": {"type": "NodePort"}}),
    patch(
        "service gets a second port",
        "strategic",
        _at("services", "web"),
        {"spec": {"ports": [{"port": 81, "name": "more"}]}},
        code=422,
    ),
    patch(
        "service gets a second port, both named",
        "merge",
        _at("services", "web"),
        {"spec": {"ports": [{"port": 80, "name": "web"}, {"port": 81, "name": "more"}]}},
    ),
    patch(
        "service names one node port twice",
        "merge",
        _at("services", "web"),
        {
            "spec": {
                "ports": [
                    {"port": 80, "name": "web", "nodePort": 31000},
                    {"port": 81, "name": "more", "nodePort": 31000},
                ]
            }
        },
        code=500,
    ),
    patch(
        "service becomes headless",
        "merge",
        _at("services", "web"),
        {"spec": {"clusterIP": "None", "type": "ClusterIP"}},
        code=422,
    ),
    patch(
        "service becomes an external name",
        "merge",
        _at("services", "web"),
        {
            "spec": {
                "type": "ExternalName",
                "externalName": "example.com",
                "clusterIP": None,
                "clusterIPs": None,
                "ports": [],
            }
        },
    ),
    patch(
        "service comes back",
        "merge",
        _at("services", "web"),
        {"spec": {"type": "ClusterIP", "externalName": None, "ports": [{"port": 80}]}},
    ),
    patch(
        "service status",
        "merge",
        _at("services", "web", "status"),
        {"status": {"loadBalancer": {"ingress": [{"ip": "10.9.9.9"}]}}},
        code=422,
    ),
    get("service, as a table", _at("services", "web"), accept=TABLE),
    patch(
        "pod's image",
        "strategic",
        _at("pods", "web", fieldManager="kubectl-set"),
        {"spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]}},
    ),
    patch(
        "pod's resources",
        "strategic",
        _at("pods", "web"),
        {"spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": "1"}}}]}},
        code=422,
    ),
    patch("pod's grace", "strategic", _at("pods", "web"), {"spec": {"terminationGracePeriodSeconds": 1}}, code=422),
    patch(
        "pod's tolerations",
        "strategic",
        _at("pods", "web"),
        {"spec": {"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]}},
    ),
    patch("pod's scheduler", "strategic", _at("pods", "web"), {"spec": {"schedulerName": "x"}}, code=422),
    patch("pod's account", "strategic", _at("pods", "web"), {"spec": {"serviceAccountName": "x"}}, code=422),
    delete(
        "kubectl delete --force",
        _at("pods", "web"),
        objects.options(gracePeriodSeconds=0, propagationPolicy="Background"),
    ),
    create(
        "secret",
        _at("secrets"),
        objects.secret("token", type="kubernetes.io/basic-auth", stringData={"username": "me", "password": "x"}),
    ),
    get("secret, as a table", _at("secrets", "token"), accept=TABLE),
    patch("secret gets fixed", "merge", _at("secrets", "token"), {"immutable": True}),
    patch("secret is fixed", "merge", _at("secrets", "token"), {"data": {"password": "eQ=="}}, code=422),
    patch("secret is fixed for good", "merge", _at("secrets", "token"), {"immutable": None}, code=422),
    watch(
        "all that happened to maps",
        _at("configmaps", watch="1", timeoutSeconds=1, resourceVersion="${settings.version}"),
    ),
)

# --- server-side apply of richer objects ---


def _pod_with(*containers: dict[str, Any], **spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "rich"},
        "spec": {"containers": list(containers), **spec},
    }


def _by(manager: str, **query: object) -> str:
    return _at("pods", "rich", fieldManager=manager, **query)


_RICH = container(
    ports=[{"containerPort": 80, "name": "http"}, {"containerPort": 53, "protocol": "UDP"}],
    env=[{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    volumeMounts=[{"name": "data", "mountPath": "/data"}],
    args=["a", "b"],
)
_APPLY_STEPS = (
    patch(
        "apply a rich pod",
        "apply",
        _by("one"),
        _pod_with(
            _RICH,
            volumes=[{"name": "data", "emptyDir": {}}],
            nodeSelector={"a": "b"},
            schedulingGates=[{"name": "example.com/wait"}],
            tolerations=[{"key": "k", "operator": "Exists"}],
            topologySpreadConstraints=[
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
            ],
        ),
        code=201,
    ),
    patch(
        "apply it again",
        "apply",
        _by("one"),
        _pod_with(
            _RICH,
            volumes=[{"name": "data", "emptyDir": {}}],
            nodeSelector={"a": "b"},
            schedulingGates=[{"name": "example.com/wait"}],
            tolerations=[{"key": "k", "operator": "Exists"}],
            topologySpreadConstraints=[
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
            ],
        ),
    ),
    patch(
        "apply a selector of another, which is whole",
        "apply",
        _by("two"),
        {**_pod_with(), "spec": {"nodeSelector": {"c": "d"}}},
        code=409,
    ),
    patch(
        "apply another selector in conflict",
        "apply",
        _by("two"),
        {**_pod_with(), "spec": {"nodeSelector": {"a": "x"}}},
        code=409,
    ),
    patch(
        "apply a gate of another",
        "apply",
        _by("two"),
        {**_pod_with(), "spec": {"schedulingGates": [{"name": "example.com/more"}]}},
        code=422,
    ),
    patch(
        "apply without the gate",
        "apply",
        _by("one"),
        _pod_with(
            _RICH,
            volumes=[{"name": "data", "emptyDir": {}}],
            nodeSelector={"a": "b"},
            tolerations=[{"key": "k", "operator": "Exists"}],
            topologySpreadConstraints=[
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
            ],
        ),
    ),
    patch(
        "apply annotations",
        "apply",
        _by("three"),
        {**applied(_pod_with()), "metadata": {"name": "rich", "annotations": {"a.b/c": "d", "e": ""}}},
    ),
    patch(
        "apply other annotations",
        "apply",
        _by("three"),
        {**applied(_pod_with()), "metadata": {"name": "rich", "annotations": {"e": "f"}}},
    ),
    patch(
        "apply a wrong list", "apply", _by("three"), {**_pod_with(), "spec": {"containers": {"name": "x"}}}, code=500
    ),
    patch("apply a wrong item", "apply", _by("three"), {**_pod_with(), "spec": {"containers": ["x"]}}, code=500),
    patch("apply an unknown field in an item", "apply", _by("three"), _pod_with({"name": "main", "odd": 1}), code=500),
    patch(
        "apply a port twice",
        "apply",
        _by("three"),
        _pod_with({"name": "main", "ports": [{"containerPort": 1}, {"containerPort": 1}]}),
        code=500,
    ),
    patch(
        "apply a bad quantity",
        "apply",
        _by("three"),
        _pod_with({"name": "main", "resources": {"requests": {"cpu": "much"}}}),
        code=500,
    ),
    patch(
        "apply an owner without a uid",
        "apply",
        _by("three"),
        {
            **applied(_pod_with()),
            "metadata": {"name": "rich", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x"}]},
        },
        code=422,
    ),
    patch(
        "update takes a field over",
        "strategic",
        _at("pods", "rich", fieldManager="hand"),
        {"metadata": {"annotations": {"e": "g"}}},
    ),
    patch(
        "apply what was taken over",
        "apply",
        _by("three"),
        {**applied(_pod_with()), "metadata": {"name": "rich", "annotations": {"e": "f"}}},
        code=409,
    ),
    patch("apply nothing", "apply", _by("three"), {**applied(_pod_with()), "metadata": {"name": "rich"}}),
    get("who owns what of the rich pod", _at("pods", "rich")),
    delete("the rich pod goes", _at("pods", "rich")),
)

STEPS: tuple[Step, ...] = titled(
    "everyday",
    create("a namespace", at("namespaces"), objects.namespace(NAMESPACE)),
    *_NODE_STEPS,
    *_GANG_STEPS,
    *_JOB_STEPS,
    *_KUBECTL_STEPS,
    *_APPLY_STEPS,
)
