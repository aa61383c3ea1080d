"""Gangs in every dialect: how people of a world write them, and which gang rules read of a pod.

What an object declares, the adapters of `muster.gangs.dialects` tell, which have tables of their own; which object of
several counts, who is a member of what, and what pods declare is told once more here.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from muster.api.wire import Condition, Metadata, PodGroup
from muster.app.dialects import folder
from muster.app.install import load
from muster.gangs.dialects import DIALECTS
from muster.gangs.dialects.v1beta1 import GROUP_LABEL, INITIALLY_SCHEDULED, TIMEOUT_ANNOTATION, goes_whole
from muster.gangs.record import STARTED, bound_for
from muster.sim.plain import ENDED

MIXED = "dialects"
"""The trouble of worlds whose gangs are written in several dialects."""
BY_NAME = {dialect.name: dialect for dialect in DIALECTS}
RESOURCES = {
    dialect.name: dialect.resources[0 if dialect.name == "v1beta1" else -1] for dialect in DIALECTS if dialect.resources
}
"""Where objects of each are served here: what is not Kubernetes' own has an API group to itself."""
_DEPLOY = Path(__file__).parents[2] / "deploy"

_WORKLOAD, _PART, _KEY = "muster.dev/workload", "muster.dev/workload-pod-group", "muster.dev/replica-key"
_LABEL, _AT_LEAST = "pod-group/name", "pod-group/min-available"
_REPLICA = "replica"
_OWNED = "muster.dev/gang"
_GROUP = "workers"
# in order of precedence, after the field of Kubernetes and the Workloads
_NAMES = (
    ("labels", GROUP_LABEL),
    ("labels", "scheduling.x-k8s.io/pod-group"),
    ("annotations", "scheduling.k8s.io/group-name"),
    ("annotations", "pod-group-name"),
    ("labels", _LABEL),
)


class Speech(NamedTuple):
    """One way to write a gang."""

    dialect: str
    spec: object = None
    """Makes the spec of the object from that of v1beta1 and a time-out; None where pods say everything."""
    labels: object = lambda gang, number: {}
    annotations: object = lambda gang, number: {}
    field: bool = False
    """Pods name the gang in the field of Kubernetes."""
    resize: object = None
    """Makes the change of the spec by which the minimum becomes another; None where nobody may change it."""
    moves: str = "group"
    """A gang may move to ways of the same word, since its pods name the same gang there; "" for nowhere."""

    @property
    def resource(self):
        return RESOURCES.get(self.dialect)

    def document(self, native):
        """The object that declares what a PodGroup of v1beta1 does, as far as there are words for it."""
        if self.spec is None:
            return None
        meta = native["metadata"]
        timeout = meta["annotations"][TIMEOUT_ANNOTATION]
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {"name": meta["name"], "annotations": dict(meta["annotations"])},
            "spec": self.spec(native["spec"], int(timeout)),
        }

    def marks(self, gang, number, *, minimum, timeout):
        """Labels, annotations and fields of the spec of a pod."""
        labels, annotations = self.labels(gang, number), self.annotations(gang, number)
        if self.spec is None:
            labels = labels | {_AT_LEAST: str(minimum)}
            annotations = annotations | {TIMEOUT_ANNOTATION: timeout}
        return labels, annotations, {"schedulingGroup": {"podGroupName": gang}} if self.field else {}


def _minimum(spec):
    gang = spec["schedulingPolicy"].get("gang")
    return 1 if gang is None else gang["minCount"]


def _v1alpha2(spec, timeout):
    mode = {"disruptionMode": "PodGroup"} if "disruptionMode" in spec else {}
    return {name: spec[name] for name in ("schedulingPolicy", "priorityClassName") if name in spec} | mode


def _coscheduling(spec, timeout):
    return {"minMember": _minimum(spec), "scheduleTimeoutSeconds": timeout}


def _subsets(spec, timeout):
    return {"subsets": [{"minMember": _minimum(spec)}], "scheduleTimeoutSeconds": timeout}


def _volcano(spec, timeout):
    return {"minMember": _minimum(spec), "priorityClassName": spec.get("priorityClassName", "")}


def _kai(spec, timeout):
    return {"minMember": _minimum(spec)}


def _v1alpha1(spec, timeout):
    return {"podGroups": [{"name": _GROUP, "policy": spec["schedulingPolicy"]}]}


def _draft(spec, timeout, **more):
    # its annotation has the timeout: with the draft's own a gang that waits would step back without end, and never rest
    basic = {"gangMode": "Off"} if "basic" in spec["schedulingPolicy"] else {"minCount": _minimum(spec)}
    return {"podGroups": [{"name": _GROUP} | basic | more]}


def _selecting(spec, timeout):
    return _draft(spec, timeout, podGroupSelector={"role": "worker"})


def _replicated(spec, timeout):
    drafted = _draft(spec, timeout, replicatedGangKey={"fieldPath": f"metadata.labels['{_REPLICA}']"}, replicas=2)
    drafted["podGroups"][0] |= {"gangMode": "Replicated", "minCount": _minimum(spec)}
    return drafted


def _policy(minimum):
    return {"schedulingPolicy": {"gang": {"minCount": minimum}}}


def _member(minimum):
    return {"minMember": minimum}


def _by(label):
    return lambda gang, number: {label: gang}


def _of_workload(gang, number):
    return {_WORKLOAD: gang, _PART: _GROUP}


NATIVE = Speech("v1beta1", lambda spec, timeout: spec, field=True, resize=_policy)
BY_LABEL = NATIVE._replace(field=False, labels=_by(GROUP_LABEL))
SPEECHES = (
    BY_LABEL,
    Speech("muster", lambda spec, timeout: spec, labels=_by(GROUP_LABEL), resize=_policy),
    Speech("v1alpha2", _v1alpha2, labels=_by(GROUP_LABEL)),
    Speech("v1alpha2", _v1alpha2, field=True),
    Speech("coscheduling", _coscheduling, labels=_by("scheduling.x-k8s.io/pod-group"), resize=_member),
    Speech("subsets", _subsets, labels=_by(GROUP_LABEL), resize=lambda minimum: _subsets(_policy(minimum), 12)),
    Speech("volcano", _volcano, annotations=_by("scheduling.k8s.io/group-name"), resize=_member),
    Speech("kai", _kai, annotations=_by("pod-group-name"), resize=_member),
    Speech("labels", labels=_by(_LABEL)),
    Speech("v1alpha1", _v1alpha1, labels=_of_workload, moves="workload"),
    Speech(
        "v1alpha1",
        _v1alpha1,
        labels=lambda gang, number: _of_workload(gang, number) | {_KEY: f"r{number % 2}"},
        moves="",
    ),
    Speech("draft", _draft, labels=_of_workload, moves="workload"),
    Speech("draft", _selecting, labels=lambda gang, number: {_WORKLOAD: gang, "role": "worker"}, moves=""),
    Speech("draft", _replicated, labels=lambda gang, number: {_WORKLOAD: gang, _REPLICA: f"r{number % 2}"}, moves=""),
)


@cache
def definition(dialect):
    """The definition of the kind whose objects the dialect reads; None where there is none."""
    resource = RESOURCES.get(dialect)
    if resource is None or dialect == "v1beta1":
        return None
    found = load(_DEPLOY / folder(dialect))
    return next(one for one in found if one["metadata"]["name"] == resource.name)


ASKS_FOR_GROUP = {_OWNED: "true"}
"""What a template says whose pods are to be one gang."""


# --- what rules read ---


def gang_of(pod):
    """The name of the gang that the pod is in: of those it names the first counts, but a record before all; ""."""
    if (record := bound_for(pod)) is not None:
        return record.gang.partition("/")[2]
    field, labels = pod.spec.scheduling_group, pod.metadata.labels
    if is_owned(pod):
        # the basic group that a Job makes for itself gives way
        owner = pod.metadata.controller
        return f"{owner.kind.lower()}-{owner.name}"
    if field is not None and field.pod_group_name:
        return field.pod_group_name
    if workload := labels.get(_WORKLOAD):
        replica = labels.get(_KEY) or labels.get(_REPLICA)
        return f"{workload}/{labels.get(_PART, _GROUP)}{f'/{replica}' if replica else ''}"
    return next((name for where, mark in _NAMES if (name := getattr(pod.metadata, where).get(mark))), "")


def is_owned(pod):
    """The pod asks for a group of its owner."""
    return pod.metadata.labels.get(_OWNED) == "true" and pod.metadata.controller is not None


def asks_for_group(job):
    """Pods of the Job, which may be still to come, ask for a group of their owner."""
    return (job["spec"]["template"]["metadata"].get("labels") or {}).get(_OWNED) == "true"


def is_vague(pod):
    """The pod names a Workload of the draft and not which of its groups: only that one tells."""
    return _WORKLOAD in pod.metadata.labels and _PART not in pod.metadata.labels


def groups_of(objects, pods, classes, *, nodes):
    """By key: the groups that count.  `objects` has those of each dialect by its name, `classes` priority classes."""
    found = {}
    for dialect in reversed(DIALECTS):
        for one in objects.get(dialect.name, ()):
            for group in dialect.groups(one):
                found[_key(group)] = _resolved(replace(group, dialect=dialect.name), classes)
    living = [pod for pod in pods if pod.status.phase not in ENDED]
    found |= _replicas(found, living)
    found = _declared_by_labels(living) | found
    started = {
        pod.metadata.annotations[STARTED]
        for pod in living
        if STARTED in pod.metadata.annotations
        and pod.spec.node_name in nodes
        and pod.metadata.deletion_timestamp is None
    }
    return {key: _as_members_say(group, key in started) for key, group in found.items()}


def _key(thing):
    return f"{thing.metadata.namespace}/{thing.metadata.name}"


def _resolved(group, classes):
    """With the priority and policy of its class; Kubernetes does that for its own."""
    named, spec = classes.get(group.spec.priority_class_name), group.spec
    if named is None or group.dialect == "v1beta1":
        return group
    policy = spec.preemption_policy or named.preemption_policy
    return replace(group, spec=replace(spec, priority=named.value, preemption_policy=policy))


def _replicas(found, pods):
    """Each replica key that pods name is a gang like the group that they name."""
    keys = {key for pod in pods if (key := f"{pod.metadata.namespace}/{gang_of(pod)}").count("/") == 3}
    templates = {key: found.get(key.rpartition("/")[0]) for key in keys}
    return {
        key: replace(group, metadata=replace(group.metadata, name=key.partition("/")[2]))
        for key, group in templates.items()
        if group is not None
    }


def _declared_by_labels(pods):
    words = {}
    for pod in pods:
        meta, record = pod.metadata, bound_for(pod)
        name = meta.labels.get(_LABEL)
        if name and gang_of(pod) == name and (record is None or not record.uid):
            minimum = int(meta.labels[_AT_LEAST]) if record is None else record.minimum
            words.setdefault(f"{meta.namespace}/{name}", []).append((minimum, meta))
    return {key: _labelled(key, said) for key, said in words.items()}


def _labelled(key, said):
    namespace, _, name = key.partition("/")
    meta = Metadata(
        name=name,
        namespace=namespace,
        creation_timestamp=min(meta.creation_timestamp for _, meta in said),
        annotations={TIMEOUT_ANNOTATION: str(max(int(meta.annotations[TIMEOUT_ANNOTATION]) for _, meta in said))},
    )
    return PodGroup(metadata=meta, spec=goes_whole(max(minimum for minimum, _ in said)), dialect="labels")


def _as_members_say(group, started):
    """Where an object has no conditions, members say that their gang has started: as if it said so itself."""
    if BY_NAME[group.dialect].has_status:
        return group
    said = (Condition(type=INITIALLY_SCHEDULED, status="True"),) if started else ()
    return replace(group, status=replace(group.status, conditions=said))
