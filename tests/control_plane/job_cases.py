"""Jobs of all sorts, what is done to them on the way, and how they end: the same for any Job controller."""

import contextlib
import json
import re
import time
from dataclasses import dataclass, field
from typing import Any

from muster.controllers.job_groups import group_name, workload_name
from muster.controllers.job_objects import Job
from muster.controllers.objects import Metadata

JOBS = "/apis/batch/v1/namespaces/{}/jobs"
PODS = "/api/v1/namespaces/{}/pods"
WORKLOADS = "/apis/scheduling.k8s.io/v1beta1/namespaces/{}/workloads"
MERGE = "application/merge-patch+json"
RUN, EXIT, STOP = "muster.dev/run-seconds", "muster.dev/exit-code", "muster.dev/stop-seconds"


class View:
    """One Job and its pods, as they are now."""

    def __init__(self, plane, namespace, name, job, pods):
        self.plane, self.namespace, self.name = plane, namespace, name
        self.job = job
        self.pods = pods

    @property
    def status(self):
        return self.job.get("status", {}) if self.job else {}

    def says(self, kind):
        return any(one["type"] == kind and one["status"] == "True" for one in self.status.get("conditions", ()))

    @property
    def is_over(self):
        return self.says("Complete") or self.says("Failed")

    def running(self, count=1):
        """Whether so many pods run, and the status knows it."""
        up = [pod for pod in self.pods if _phase(pod) == "Running" and not _is_going(pod)]
        return len(up) == count == self.status.get("ready", 0)

    def pod(self, index=None):
        """One that runs; of an Indexed Job the one with this index."""
        for pod in self.pods:
            place = pod["metadata"].get("annotations", {}).get("batch.kubernetes.io/job-completion-index")
            if _phase(pod) == "Running" and not _is_going(pod) and (index is None or place == str(index)):
                return pod["metadata"]["name"]
        raise AssertionError(f"no pod of {self.name} runs with index {index}")

    # what people do

    def patch(self, **spec):
        path = f"{JOBS.format(self.namespace)}/{self.name}"
        self.plane.request("PATCH", path, {"spec": spec}, content_type=MERGE)

    def end(self, index=None, code=0):
        """Has one pod end now."""
        path = f"{PODS.format(self.namespace)}/{self.pod(index)}"
        words = {RUN: "0", EXIT: str(code)}
        self.plane.request("PATCH", path, {"metadata": {"annotations": words}}, content_type=MERGE)

    def end_all(self, code=0):
        for pod in self.pods:
            if _phase(pod) == "Running" and not _is_going(pod):
                path = f"{PODS.format(self.namespace)}/{pod['metadata']['name']}"
                words = {RUN: "0", EXIT: str(code)}
                self.plane.request("PATCH", path, {"metadata": {"annotations": words}}, content_type=MERGE)

    def delete_pod(self, index=None):
        self.plane.request("DELETE", f"{PODS.format(self.namespace)}/{self.pod(index)}")

    def delete(self, **options):
        self.plane.request("DELETE", f"{JOBS.format(self.namespace)}/{self.name}", options)


@dataclass
class Case:
    """A Job, steps (when something holds, do something), and when it is over."""

    name: str
    spec: dict
    steps: list = field(default_factory=list)
    over: Any = lambda view: view.is_over
    pod: dict = field(default_factory=dict)
    """Fields of the pod template's spec."""
    words: dict = field(default_factory=dict)
    """Annotations of its pods."""
    metadata: dict = field(default_factory=dict)
    workload: dict = field(default_factory=dict)
    """The spec of a Workload of the same name that is there before the Job."""

    def document(self):
        container = {"name": "main", "image": "img", "resources": {"requests": {"cpu": "10m"}}}
        spec = {"restartPolicy": "Never", "nodeName": "n0", "containers": [container], **self.pod}
        template = {"metadata": {"annotations": self.words}, "spec": spec}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": self.name, **self.metadata},
            "spec": {**self.spec, "template": template},
        }


def _is_there(view):
    return view.job is not None


def _owned(template=None):
    """By a controller, which has Kubernetes make the group of this template."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "kube-root-ca.crt", "uid": "$OWNER", "controller": True}
    words = {} if template is None else {"scheduling.k8s.io/group-template-name": template}
    return {"ownerReferences": [owner], "annotations": words}


def _templates(controller, *names):
    gang = {"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": {"all": {}}}
    return {"controllerRef": controller, "podGroupTemplates": [{"name": name, **gang} for name in names]}


def _phase(pod):
    return pod["status"].get("phase")


def _is_going(pod):
    return "deletionTimestamp" in pod["metadata"]


def _runs(count=1):
    return lambda view: view.running(count)


def _failed(count=1, then=1):
    """So many have failed, and so many run beside them."""
    return lambda view: view.status.get("failed", 0) + _uncounted(view) == count and view.running(then)


def _uncounted(view):
    return len(view.status.get("uncountedTerminatedPods", {}).get("failed", ()))


def _quick(seconds=1, code=0):
    return {RUN: str(seconds), EXIT: str(code)}


def _rule(action, codes):
    return {"action": action, "onExitCodes": {"operator": "In", "values": codes}}


_CONDITION_RULE = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}

CASES = [
    Case("plain", {"completions": 3, "parallelism": 2}, words=_quick()),
    Case("one", {}, words=_quick()),
    Case("indexed", {"completions": 4, "parallelism": 2, "completionMode": "Indexed"}, words=_quick()),
    Case("work-queue", {"parallelism": 2}, words=_quick()),
    Case(
        "work-queue-first-ends",
        {"parallelism": 3},
        [
            (_runs(3), lambda view: view.end()),
            (lambda view: view.status.get("succeeded") == 1 and view.running(2), lambda view: view.end_all()),
        ],
    ),
    Case("many", {"completions": 12, "parallelism": 12}, words=_quick(2)),
    Case("no-completions-needed", {"completions": 0}),
    Case("no-parallelism", {"parallelism": 0}, over=lambda view: view.status.get("ready") == 0),
    Case("fails-at-once", {"backoffLimit": 0}, words=_quick(code=3)),
    Case("fails-twice", {"backoffLimit": 1}, words=_quick(code=3)),
    Case(
        "one-of-three-fails",
        {"backoffLimit": 0, "completions": 3, "parallelism": 3, "completionMode": "Indexed"},
        [(_runs(3), lambda view: view.end(1, code=1))],
    ),
    Case(
        "fails-once-then-succeeds",
        {"completions": 1},
        [(_runs(1), lambda view: view.end(code=1)), (_failed(1, 1), lambda view: view.end())],
    ),
    Case(
        "restarted-in-place-too-often",
        {"backoffLimit": 2},
        pod={"restartPolicy": "OnFailure"},
        words=_quick(code=1),
    ),
    Case("deadline", {"activeDeadlineSeconds": 3, "parallelism": 2}),
    Case("deadline-slow-to-stop", {"activeDeadlineSeconds": 2}, words={STOP: "3"}),
    Case("born-suspended", {"suspend": True, "parallelism": 2}, over=lambda view: view.says("Suspended")),
    Case(
        "suspended",
        {"parallelism": 2, "completions": 4},
        [(_runs(2), lambda view: view.patch(suspend=True))],
        over=lambda view: view.says("Suspended") and not view.pods,
    ),
    Case(
        "resumed",
        {"parallelism": 2, "completions": 2},
        [
            (_runs(2), lambda view: view.patch(suspend=True)),
            (lambda view: view.says("Suspended") and not view.pods, lambda view: view.patch(suspend=False)),
            (_runs(2), lambda view: view.end_all()),
        ],
    ),
    Case(
        "suspended-slow-to-stop",
        {"parallelism": 2, "completions": 2},
        [(_runs(2), lambda view: view.patch(suspend=True))],
        over=lambda view: view.says("Suspended") and not view.pods and view.status.get("terminating") == 0,
        words={STOP: "2"},
    ),
    Case(
        "shrinks",
        {"parallelism": 3, "completions": 9},
        [(_runs(3), lambda view: view.patch(parallelism=1))],
        over=lambda view: view.running(1) and len(view.pods) == 1,
    ),
    Case(
        "grows",
        {"parallelism": 1, "completions": 9},
        [(_runs(1), lambda view: view.patch(parallelism=3))],
        over=_runs(3),
    ),
    Case(
        "elastic-indexed",
        {"parallelism": 3, "completions": 3, "completionMode": "Indexed"},
        [
            (_runs(3), lambda view: view.end(2)),
            (lambda view: view.status.get("succeeded") == 1, lambda view: view.patch(parallelism=2, completions=2)),
            (lambda view: view.running(2) and "completedIndexes" not in view.status, lambda view: view.end_all()),
        ],
    ),
    Case(
        "policy-fails-job",
        {"backoffLimit": 6, "parallelism": 2, "podFailurePolicy": {"rules": [_rule("FailJob", [42])]}},
        [(_runs(2), lambda view: view.end(code=42))],
    ),
    Case(
        "policy-ignores",
        {"backoffLimit": 0, "podFailurePolicy": {"rules": [_rule("Ignore", [5])]}},
        [
            (_runs(1), lambda view: view.end(code=5)),
            (lambda view: len(view.pods) == 2 and view.running(1), lambda view: view.end()),
        ],
    ),
    Case(
        "policy-counts",
        {"backoffLimit": 0, "podFailurePolicy": {"rules": [_rule("Count", [5]), _rule("FailJob", [5])]}},
        [(_runs(1), lambda view: view.end(code=5))],
    ),
    Case(
        "policy-of-conditions",
        {"backoffLimit": 0, "podFailurePolicy": {"rules": [_CONDITION_RULE]}},
        [(_runs(1), lambda view: view.end(code=5))],
    ),
    Case(
        "indexes-fail-alone",
        {"completions": 3, "parallelism": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 0},
        [(_runs(3), lambda view: view.end(1, code=1)), (_runs(2), lambda view: view.end_all())],
    ),
    Case(
        "too-many-indexes-fail",
        {
            "completions": 4,
            "parallelism": 4,
            "completionMode": "Indexed",
            "backoffLimitPerIndex": 0,
            "maxFailedIndexes": 1,
        },
        [(_runs(4), lambda view: view.end(0, code=1)), (_runs(3), lambda view: view.end(3, code=1))],
    ),
    Case(
        "index-is-tried-again",
        {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1},
        [
            (_runs(2), lambda view: view.end(0, code=1)),
            (_failed(1, 2), lambda view: view.end_all()),
        ],
    ),
    Case(
        "policy-fails-index",
        {
            "completions": 2,
            "parallelism": 2,
            "completionMode": "Indexed",
            "backoffLimitPerIndex": 3,
            "podFailurePolicy": {"rules": [_rule("FailIndex", [9])]},
        },
        [(_runs(2), lambda view: view.end(0, code=9)), (_runs(1), lambda view: view.end_all())],
    ),
    Case(
        "success-policy",
        {
            "completions": 3,
            "parallelism": 3,
            "completionMode": "Indexed",
            "successPolicy": {"rules": [{"succeededIndexes": "0"}]},
        },
        [(_runs(3), lambda view: view.end(0))],
    ),
    Case(
        "success-policy-count",
        {
            "completions": 4,
            "parallelism": 4,
            "completionMode": "Indexed",
            "successPolicy": {"rules": [{"succeededIndexes": "1-3", "succeededCount": 2}]},
        },
        [
            (_runs(4), lambda view: view.end(1)),
            (_runs(3), lambda view: view.end(3)),
        ],
    ),
    Case(
        "pod-deleted",
        {"completions": 1},
        [(_runs(1), lambda view: view.delete_pod())],
        over=lambda view: view.status.get("failed") == 1 and view.running(1),
    ),
    Case(
        "pod-deleted-indexed",
        {"completions": 2, "parallelism": 2, "completionMode": "Indexed"},
        [(_runs(2), lambda view: view.delete_pod(1))],
        over=lambda view: view.status.get("failed") == 1 and view.running(2),
    ),
    Case(
        "replaced-when-failed",
        {"completions": 1, "podReplacementPolicy": "Failed"},
        [(_runs(1), lambda view: view.delete_pod())],
        over=lambda view: view.status.get("failed") == 1 and view.running(1),
        words={STOP: "2"},
    ),
    Case(
        "gang",
        {"completions": 2, "parallelism": 2, "scheduling": {"schedulingPolicy": {"gang": {}}}},
        words=_quick(),
    ),
    Case(
        "gang-of-all",
        {
            "completions": 3,
            "parallelism": 3,
            "scheduling": {
                "schedulingPolicy": {"gang": {"minCount": 2}},
                "disruptionMode": {"all": {}},
                "schedulingConstraints": {"topology": [{"key": "rack"}]},
            },
        },
        words=_quick(),
    ),
    Case(
        "gang-grows",
        {"parallelism": 1, "completions": 9, "scheduling": {"schedulingPolicy": {"gang": {}}}},
        [(_runs(1), lambda view: view.patch(parallelism=3))],
        over=_runs(3),
    ),
    Case("grouped-already", {}, words=_quick(), pod={"schedulingGroup": {"podGroupName": "mine"}}),
    Case(
        "gang-suspended",
        {"parallelism": 2, "completions": 2, "suspend": True, "scheduling": {"schedulingPolicy": {"gang": {}}}},
        [(lambda view: view.says("Suspended"), lambda view: view.patch(suspend=False))],
        words=_quick(),
    ),
    Case("gang-without-pods", {"parallelism": 0, "scheduling": {"schedulingPolicy": {"gang": {}}}}, over=_is_there),
    Case("a-name-" + 51 * "n", {}, over=_is_there),
    Case(
        "own-workload",
        {"parallelism": 1},
        words=_quick(),
        workload=_templates({"apiGroup": "batch", "kind": "Job", "name": "own-workload"}, "mine"),
    ),
    Case("of-another-controller", {}, words=_quick(), metadata=_owned()),
    Case(
        "delegated",
        {"parallelism": 2, "completions": 2},
        words=_quick(),
        metadata=_owned("workers"),
        workload=_templates({"kind": "ConfigMap", "name": "kube-root-ca.crt"}, "leader", "workers"),
    ),
    Case("delegated-in-vain", {}, words=_quick(), metadata=_owned("nobody")),
    Case("managed-by-others", {"managedBy": "example.com/mine"}, over=_is_there),
    Case(
        "pods-are-refused",
        {},
        over=lambda view: "startTime" in view.status,
        pod={"hostNetwork": False, "serviceAccountName": "nobody"},
    ),
    Case(
        "own-labels-and-finalizers",
        {"completions": 1, "completionMode": "Indexed"},
        words=_quick(),
        pod={
            "initContainers": [{"name": "first", "image": "i", "env": [{"name": "A", "value": "b"}]}],
            "priorityClassName": "high",
        },
        metadata={"labels": {"team": "a"}},
    ),
]


def play(plane, namespace, cases, *, seconds=150):
    """Runs the cases side by side in a namespace; gives what is there at the end, by name, free of chance."""
    owner = plane.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt")["metadata"]["uid"]
    # first: kube-controller-manager starts a Job without the Workload of its parent if it sees the Job before
    for case in cases:
        if case.workload:
            body = {"metadata": {"name": case.name}, "spec": case.workload}
            plane.request("POST", WORKLOADS.format(namespace), body)
    for case in cases:
        text = json.dumps(case.document()).replace("$OWNER", owner)
        plane.request("POST", JOBS.format(namespace), json.loads(text))
    waiting = {case.name: list(case.steps) for case in cases}
    calm: dict[str, tuple[str, float]] = {}
    deadline = time.monotonic() + seconds
    while waiting:
        assert time.monotonic() < deadline, {
            name: plane.kubectl("get", "job", name, "-n", namespace, "-o", "yaml") for name in waiting
        }
        time.sleep(0.3)
        views = look(plane, namespace, cases)
        for case in cases:
            if case.name not in waiting:
                continue
            view, steps = views[case.name], waiting[case.name]
            if steps:
                if steps[0][0](view):
                    with contextlib.suppress(AssertionError):
                        steps[0][1](view)
                        steps.pop(0)
                continue
            # what is over stays as it is for a while
            now = json.dumps([view.job, view.pods], sort_keys=True)
            before, since = calm.get(case.name, ("", 0.0))
            if not case.over(view) or now != before:
                calm[case.name] = (now, time.monotonic())
            elif time.monotonic() - since > 3.0:
                del waiting[case.name]
    return outcome(plane, namespace, cases)


def look(plane, namespace, cases):
    jobs = {one["metadata"]["name"]: one for one in plane.request("GET", JOBS.format(namespace))["items"]}
    pods: dict[str, list] = {}
    for pod in plane.request("GET", PODS.format(namespace))["items"]:
        for owner in pod["metadata"].get("ownerReferences", ()):
            if owner["kind"] == "Job":
                pods.setdefault(owner["name"], []).append(pod)
    return {
        case.name: View(plane, namespace, case.name, jobs.get(case.name), pods.get(case.name, [])) for case in cases
    }


def outcome(plane, namespace, cases):
    """Everything about each Job, without what differs from run to run."""
    found = look(plane, namespace, cases)
    groups = "/apis/scheduling.k8s.io/v1beta1/namespaces/{}/{}"
    related = {
        kind: plane.request("GET", groups.format(namespace, kind))["items"] for kind in ("workloads", "podgroups")
    }
    events = plane.request("GET", f"/api/v1/namespaces/{namespace}/events?limit=5000")["items"]
    result = {}
    for case in cases:
        view = found[case.name]
        uid = view.job["metadata"]["uid"] if view.job else ""
        clean = Cleaner(namespace, case.name, uid)
        said = sorted(
            {
                (one["type"], one["reason"], clean.text(one["message"]))
                for one in events
                if one["involvedObject"].get("uid") == uid and one["involvedObject"]["kind"] == "Job"
            }
        )
        result[case.name] = {
            "status": clean.tree(view.status),
            "pods": sorted((clean.tree(pod) for pod in view.pods), key=lambda pod: json.dumps(pod, sort_keys=True)),
            "events": said,
            **{kind: [clean.tree(one) for one in items if _owned_by(one, uid)] for kind, items in related.items()},
        }
    return result


def _owned_by(thing, uid):
    return any(owner["uid"] == uid for owner in thing["metadata"].get("ownerReferences", ()))


_DROPPED = {"managedFields", "resourceVersion", "podIP", "podIPs", "hostIP", "hostIPs", "containerID", "generation"}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Cleaner:
    """Takes out of objects of one Job what differs from run to run: times, UIDs, what is made by chance."""

    def __init__(self, namespace, name, uid):
        job = Job(metadata=Metadata(name=name, uid=uid))
        workload = workload_name(job)
        self._known = {
            group_name(workload, f"{name}-pgt-0"): "GROUP",
            workload: "WORKLOAD",
            f"{namespace}/": "NAMESPACE/",
            f"namespaces {namespace}": "namespaces NAMESPACE",
        }
        self._namespace = namespace
        # of a pod: the Job's name, an index, and five characters
        self._pod = re.compile(rf"\b({re.escape(name)}(-\d+)?)-[bcdfghjklmnpqrstvwxz2456789]{{5}}\b")

    def tree(self, thing):
        if isinstance(thing, dict):
            return {key: self._field(key, value) for key, value in sorted(thing.items()) if key not in _DROPPED}
        if isinstance(thing, list):
            return [self.tree(one) for one in thing]
        return self.text(thing) if isinstance(thing, str) else thing

    def _field(self, key, value):
        if key in ("volumes", "volumeMounts"):
            return len(value)
        return "NAMESPACE" if value == self._namespace else self.tree(value)

    def text(self, text):
        for known, word in self._known.items():
            text = text.replace(known, word)
        return self._pod.sub(r"\1-SUFFIX", _UID.sub("UID", _TIME.sub("TIME", text)))


def differences(left, right, path=""):
    """Where two trees differ, one line each."""
    if type(left) is not type(right):
        return [f"{path}: {left!r} != {right!r}"]
    if isinstance(left, dict):
        found = []
        for key in sorted(left.keys() | right.keys()):
            if key not in left or key not in right:
                found.append(f"{path}.{key}: {left.get(key)!r} != {right.get(key)!r}")
            else:
                found += differences(left[key], right[key], f"{path}.{key}")
        return found
    if isinstance(left, list):
        if len(left) != len(right):
            return [f"{path}: {left!r} != {right!r}"]
        return [
            line for n, (a, b) in enumerate(zip(left, right, strict=True)) for line in differences(a, b, f"{path}[{n}]")
        ]
    return [] if left == right else [f"{path}: {left!r} != {right!r}"]
