"""How users of each dialect write a gang: the object that declares it, if there is one, and what its pods say."""

from muster.api.wire import Pod, read
from muster.gangs.dialects import DIALECTS

NAMESPACE = "team"
GANG = "train"


class Speaker:
    """One dialect as its users write it."""

    def __init__(
        self,
        name,
        spec=None,
        *,
        pod=None,
        labels=None,
        annotations=None,
        marks=None,
        part=None,
        object_name=GANG,
        key=GANG,
    ):
        """`spec` makes the object's spec from a minimum and perhaps a timeout; without it there is no object.

        `pod` makes what stands in a pod's spec, `labels` and `annotations` what stands beside it, from a minimum and a
        timeout; `marks` are annotations that stand there always.  `part` makes all three for a part of the gang.
        """
        self.name = name
        self.dialect = next(dialect for dialect in DIALECTS if dialect.name == name)
        self.key = f"{NAMESPACE}/{key}"
        self._spec = spec
        self._pod = pod or (lambda: {})
        self._labels = labels or (lambda minimum: {})
        self._annotations = annotations or (lambda timeout: marks or {})
        self._part = part
        self._object_name = object_name

    def __str__(self):
        return f"{self.name}{' by label' if self._pod() == {} and self._spec else ''}"

    @property
    def has_object(self):
        return self._spec is not None

    def group(self, minimum, *, timeout=None, uid="one", created="2026-01-01T00:00:00Z", version="1"):
        meta = {
            "name": self._object_name,
            "namespace": NAMESPACE,
            "uid": uid,
            "creationTimestamp": created,
            "resourceVersion": version,
        }
        spec, annotations = self._spec(minimum, timeout)
        return read(self.dialect.kind, {"metadata": meta | {"annotations": annotations}, "spec": spec})

    def pod(self, name, minimum, *, cpu, timeout=None, priority=0, part=""):
        spec = {
            "containers": [{"resources": {"requests": {"cpu": cpu}}}],
            "schedulerName": "muster",
            "priority": priority,
        }
        parts = self._part(part) if part else {}
        return read(
            Pod,
            {
                "metadata": {
                    "name": name,
                    "namespace": NAMESPACE,
                    "uid": f"uid-{name}",
                    "creationTimestamp": "2026-01-01T00:00:00Z",
                    "labels": self._labels(minimum) | parts.get("labels", {}),
                    "annotations": self._annotations(timeout) | parts.get("annotations", {}),
                },
                "spec": spec | self._pod() | parts.get("spec", {}),
            },
        )


def _v1beta1(minimum, timeout):
    return _annotated({"schedulingPolicy": {"gang": {"minCount": minimum}}, "disruptionMode": {"all": {}}}, timeout)


def _v1alpha2(minimum, timeout):
    spec, annotations = _v1beta1(minimum, timeout)
    return spec | {"disruptionMode": "PodGroup"}, annotations


def _coscheduling(minimum, timeout):
    return {"minMember": minimum, "scheduleTimeoutSeconds": timeout or 0}, {}


def _subsets(minimum, timeout):
    return {"subsets": [{"name": "all", "minMember": minimum}], "scheduleTimeoutSeconds": timeout}, {}


def _annotated(spec, timeout):
    return spec, {"muster.dev/schedule-timeout-seconds": str(timeout)} if timeout else {}


def _volcano(minimum, timeout):
    return _annotated({"minMember": minimum, "minTaskMember": {}, "queue": "default"}, timeout)


def _tasks(minimum, timeout):
    return _annotated({"minMember": minimum, "minTaskMember": {"worker": minimum}}, timeout)


def _kai(minimum, timeout):
    return _annotated({"minMember": minimum, "queue": "default"}, timeout)


def _workload(minimum, timeout):
    return _annotated({"podGroups": [{"name": "workers", "policy": {"gang": {"minCount": minimum}}}]}, timeout)


def _draft(minimum, timeout, **more):
    group = {"name": "workers", "minCount": minimum} | more
    return {"podGroups": [group | ({"schedulingTimeoutSeconds": timeout} if timeout else {})]}, {}


def _selecting(minimum, timeout):
    spec, annotations = _draft(minimum, timeout, podGroupSelector={"role": "worker"})
    others = {"name": "others", "podGroupSelector": {"selector": {"matchLabels": {"role": "other"}}}}
    return {"gangGroups": [*spec["podGroups"], others]}, annotations


def _replicated(minimum, timeout):
    key = {"fieldPath": "metadata.labels['replica']"}
    return _draft(minimum, timeout, gangMode="Replicated", replicatedGangKey=key, replicas=2)


_FIELD = {"schedulingGroup": {"podGroupName": GANG}}
_REF = {"name": "w", "podGroup": "workers"}

SPEAKERS = [
    Speaker("v1beta1", _v1beta1, pod=lambda: _FIELD),
    Speaker("v1alpha2", _v1alpha2, pod=lambda: _FIELD),
    Speaker("muster", _v1beta1, labels=lambda minimum: {"muster.dev/pod-group": GANG}),
    Speaker("coscheduling", _coscheduling, labels=lambda minimum: {"scheduling.x-k8s.io/pod-group": GANG}),
    Speaker("v1alpha1", _workload, pod=lambda: {"workloadRef": _REF}, object_name="w", key="w/workers"),
    Speaker(
        "v1alpha1",
        _workload,
        pod=lambda: {"workloadRef": _REF | {"podGroupReplicaKey": "r0"}},
        object_name="w",
        key="w/workers/r0",
    ),
    Speaker(
        "v1alpha1",
        _workload,
        labels=lambda minimum: {"muster.dev/workload": "w", "muster.dev/workload-pod-group": "workers"},
        object_name="w",
        key="w/workers",
    ),
    Speaker(
        "v1alpha1",
        _workload,
        labels=lambda minimum: {
            "muster.dev/workload": "w",
            "muster.dev/workload-pod-group": "workers",
            "muster.dev/replica-key": "r0",
        },
        object_name="w",
        key="w/workers/r0",
    ),
    Speaker("draft", _draft, pod=lambda: {"workload": {"name": "w"}}, object_name="w", key="w/workers"),
    Speaker("draft", _draft, labels=lambda minimum: {"muster.dev/workload": "w"}, object_name="w", key="w/workers"),
    Speaker(
        "draft",
        _selecting,
        pod=lambda: {"workload": {"name": "w"}},
        labels=lambda minimum: {"role": "worker"},
        object_name="w",
        key="w/workers",
    ),
    Speaker(
        "draft",
        _replicated,
        pod=lambda: {"workload": {"name": "w"}},
        labels=lambda minimum: {"role": "worker", "replica": "r0"},
        object_name="w",
        key="w/workers/r0",
    ),
    Speaker("subsets", _subsets, pod=lambda: {"podGroup": {"name": GANG}}),
    Speaker("subsets", _subsets, pod=lambda: {"podGroup": {"name": GANG, "subset": "all"}}),
    Speaker("subsets", _subsets, labels=lambda minimum: {"muster.dev/pod-group": GANG}),
    Speaker("volcano", _volcano, marks={"scheduling.k8s.io/group-name": GANG}),
    Speaker("volcano", _volcano, marks={"scheduling.volcano.sh/group-name": GANG}),
    Speaker("volcano", _volcano, marks={"scheduling.k8s.io/group-name": GANG, "volcano.sh/task-spec": "worker"}),
    Speaker("volcano", _tasks, marks={"scheduling.k8s.io/group-name": GANG, "volcano.sh/task-spec": "worker"}),
    Speaker("kai", _kai, marks={"pod-group-name": GANG}),
    *(
        Speaker(
            "labels",
            labels=lambda minimum, prefix=prefix: {f"{prefix}/name": GANG, f"{prefix}/min-available": str(minimum)},
            annotations=lambda timeout: {"muster.dev/schedule-timeout-seconds": str(timeout)} if timeout else {},
        )
        for prefix in ("pod-group", "pod-group.scheduling.sigs.k8s.io")
    ),
]


# --- groups of parts with minimums of their own, given as {part: minimum} ---


def _by_annotation(spec):
    def parted(minimums, timeout):
        text = ",".join(f"{name}={minimum}" for name, minimum in minimums.items())
        return spec(sum(minimums.values()), timeout)[0], {"muster.dev/subsets": text}

    return parted


def _subset_specs(minimums, timeout):
    return {"subsets": [{"name": name, "minMember": minimum} for name, minimum in minimums.items()]}, {}


def _minimums_by_task(minimums, timeout):
    return {"minMember": sum(minimums.values()), "minTaskMember": minimums}, {}


def _subset_label(name):
    return {"labels": {"muster.dev/subset": name}}


_BY_LABEL = {"muster.dev/pod-group": GANG}

PARTED = [
    Speaker("v1beta1", _by_annotation(_v1beta1), pod=lambda: _FIELD, part=_subset_label),
    Speaker("v1alpha2", _by_annotation(_v1alpha2), pod=lambda: _FIELD, part=_subset_label),
    Speaker("muster", _by_annotation(_v1beta1), labels=lambda minimum: _BY_LABEL, part=_subset_label),
    Speaker("subsets", _subset_specs, labels=lambda minimum: _BY_LABEL, part=_subset_label),
    Speaker("subsets", _subset_specs, part=lambda name: {"spec": {"podGroup": {"name": GANG, "subset": name}}}),
    Speaker(
        "volcano",
        _minimums_by_task,
        marks={"scheduling.k8s.io/group-name": GANG},
        part=lambda name: {"annotations": {"volcano.sh/task-spec": name}},
    ),
]

# --- gangs that are alike, given as their key ---

_OF_WORKLOAD = {"muster.dev/workload": "w", "muster.dev/workload-pod-group": "workers"}

REPLICATED = [
    Speaker(
        "v1alpha1",
        _workload,
        part=lambda key: {"spec": {"workloadRef": _REF | {"podGroupReplicaKey": key}}},
        object_name="w",
    ),
    Speaker(
        "v1alpha1",
        _workload,
        labels=lambda minimum: _OF_WORKLOAD,
        part=lambda key: {"labels": {"muster.dev/replica-key": key}},
        object_name="w",
    ),
    Speaker(
        "draft",
        _replicated,
        pod=lambda: {"workload": {"name": "w"}},
        part=lambda key: {"labels": {"replica": key}},
        object_name="w",
    ),
]

# --- groups that say how important they are: class `high` ---


def _high(spec, **words):
    def prioritised(minimum, timeout):
        written, annotations = spec(minimum, timeout)
        return written | {"priorityClassName": "high"} | words, annotations

    return prioritised


PRIORITISED = [
    # Kubernetes itself resolves the class of its own groups
    Speaker("v1beta1", _high(_v1beta1, priority=7), pod=lambda: _FIELD),
    Speaker("v1alpha2", _high(_v1alpha2), pod=lambda: _FIELD),
    Speaker("muster", _high(_v1beta1), labels=lambda minimum: _BY_LABEL),
    Speaker("volcano", _high(_volcano), marks={"scheduling.k8s.io/group-name": GANG}),
]
