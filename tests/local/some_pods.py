"""Pods that tests start from, as they are sent: with what admission would add, so that it adds nothing."""

ADMITTED = {
    "tolerations": [
        {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for what in ("not-ready", "unreachable")
    ],
    "priority": 0,
    "preemptionPolicy": "PreemptLowerPriority",
}
PLAIN = {
    "metadata": {"name": "plain"},
    "spec": {
        "containers": [{"name": "c", "image": "x"}],
        "initContainers": [{"name": "i", "image": "y"}],
        "activeDeadlineSeconds": 100,
        **ADMITTED,
        "tolerations": [*ADMITTED["tolerations"], {"key": "t", "operator": "Exists"}],
    },
}
_TERM = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}
_NODES = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_TERM]}}
GATED = {
    "metadata": {"name": "gated"},
    "spec": {
        "containers": [{"name": "c", "image": "x"}],
        "schedulingGates": [{"name": "a"}, {"name": "b"}],
        "nodeSelector": {"k": "v"},
        "affinity": {"nodeAffinity": _NODES},
        **ADMITTED,
    },
}
FREE = {
    "metadata": {"name": "free"},
    "spec": {"containers": [{"name": "c", "image": "x"}], "schedulingGates": [{"name": "a"}], **ADMITTED},
}


def _ended(name, image, code):
    """The status of a container that has ended."""
    state = {"terminated": {"exitCode": code, "startedAt": None, "finishedAt": None}}
    counts = {"ready": False, "restartCount": 0, "lastState": {}}
    return {"name": name, "image": image, "imageID": "", "state": state, **counts}


_READY = {"type": "Ready", "status": "True", "observedGeneration": 1, "lastProbeTime": None, "lastTransitionTime": None}
BOUND = {
    "metadata": {"name": "bound"},
    "spec": {
        "containers": [{"name": "c", "image": "x"}],
        "initContainers": [{"name": "i", "image": "y"}],
        "restartPolicy": "OnFailure",
        "nodeName": "n1",
        **ADMITTED,
    },
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "podIPs": [{"ip": "10.0.0.1"}],
        "hostIP": "1.2.3.4",
        "qosClass": "BestEffort",
        "observedGeneration": 1,
        "conditions": [_READY],
        "containerStatuses": [_ended("c", "x", 0)],
        "initContainerStatuses": [_ended("i", "y", 1)],
    },
}
WAITING = {
    "metadata": {"name": "waiting"},
    "spec": {"containers": [{"name": "c", "image": "x"}], **ADMITTED},
    "status": {"phase": "Pending", "nominatedNodeName": "n9", "qosClass": "BestEffort"},
}


FULL = {
    "metadata": {"name": "p", "generation": 1},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "x",
                "imagePullPolicy": "Always",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
        **ADMITTED,
    },
    "status": {"phase": "Pending", "qosClass": "BestEffort"},
}
