"""Groups for pods whose owner cannot make them: labels on a pod template ask for one, and the owner tells how many pods
it makes.

    muster.dev/gang: "true"     all pods that the owner makes start together
    muster.dev/min-count: "8"   at least so many of them

Which owner that is, the chain of controllers tells: a Deployment, not one of its ReplicaSets; a JobSet, not one of its
Jobs.  Owners are read as plain objects: the table below says where the numbers stand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from muster.api.resources import Resource
from muster.api.wire import Object, OwnerReference, Pod

GANG_LABEL = "muster.dev/gang"
MIN_COUNT_LABEL = "muster.dev/min-count"
MANAGED_BY = {"app.kubernetes.io/managed-by": "muster"}

LABELS = frozenset((GANG_LABEL, MIN_COUNT_LABEL))
"""By which a pod asks for a group."""
_LWS_INDEX = "leaderworkerset.sigs.k8s.io/group-index"

# names of groups are values of labels, too
_LONGEST_NAME = 63
_HASH_LENGTH = 8
# the API's own limit of a minimum
_MOST = 2**31 - 1


# --- what a pod asks for ----------------------------------------------------------------------


def asks(pod: Pod) -> int | None:
    """The minimum that the pod asks for: 0 for all that its owner makes; None if it asks for no group."""
    labels = pod.metadata.labels
    if (GANG_LABEL not in labels and MIN_COUNT_LABEL not in labels) or labels.get(GANG_LABEL) == "false":
        return None
    return None if remark(pod) else min(int(labels.get(MIN_COUNT_LABEL, "0")), _MOST)


def remark(pod: Pod) -> str:
    """Why the pod gets no group although it asks for one; "" for most."""
    labels = pod.metadata.labels
    if LABELS.isdisjoint(labels) or labels.get(GANG_LABEL) == "false":
        return ""
    gang, minimum = labels.get(GANG_LABEL), labels.get(MIN_COUNT_LABEL)
    if gang not in (None, "true"):
        what = f"label {GANG_LABEL} is {gang!r}, neither true nor false"
    elif minimum is not None and not (minimum.isascii() and minimum.isdecimal() and int(minimum)):
        what = f"label {MIN_COUNT_LABEL} is {minimum!r}, not a positive number"
    elif pod.metadata.controller is None:
        what = "no controller owns it, and groups are made for those"
    else:
        return ""
    return f"placed alone, not in a group: {what}"


# --- what an owner says -----------------------------------------------------------------------


class Role(msgspec.Struct, frozen=True):
    """Pods of an owner that are made of one template, and at one time."""

    labelled: bool
    """The template asks for a group."""
    count: int
    wave: int = 0
    """Pods of a wave are made when those of the waves before it are ready."""


class Shape(msgspec.Struct, frozen=True):
    """What pods an owner makes."""

    roles: tuple[Role, ...] = ()
    remedy: str = ""
    """How to have all of them made at once, if they are not."""

    @property
    def counted(self) -> tuple[Role, ...]:
        """Roles that ask for a group; all, if labels came otherwise than by the template."""
        return tuple(role for role in self.roles if role.labelled) or self.roles

    @property
    def pods(self) -> int:
        """How many pods of a group it makes."""
        return max(1, sum(role.count for role in self.counted))

    @property
    def at_once(self) -> int:
        """How many of them are there before any is ready."""
        first = min((role.wave for role in self.counted), default=0)
        return max(1, sum(role.count for role in self.counted if role.wave == first))


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """An owner as it is now; of what it says, only what matters for a group."""

    reference: OwnerReference
    """As its pods, or what it owns besides, name it."""
    above: OwnerReference | None
    """Its own controller."""
    shape: Shape


class Document(Object, frozen=True):
    """An object of any kind."""

    spec: dict[str, Any] = msgspec.field(default_factory=dict)


class OwnerKind(msgspec.Struct, frozen=True):
    """Where an owner's numbers stand."""

    group: str
    kind: str
    plural: str
    shape: Callable[[Mapping[str, Any]], Shape] | None
    """From its spec; None for what owns others, but is no group's owner."""
    replica_label: str = ""
    """The pods' label that tells replicas apart, each of which is a group."""

    def resource(self, api_version: str) -> Resource:
        return Resource(self.group, api_version.rpartition("/")[2], self.plural, self.kind)

    def owner(self, reference: OwnerReference, found: Document) -> Owner:
        shape = Shape() if self.shape is None else self.shape(found.spec)
        return Owner(reference=reference, above=found.metadata.controller, shape=shape)


def kind_of(reference: OwnerReference) -> OwnerKind | None:
    """None for kinds of which nobody knows here where they say how many pods they make."""
    return _BY_NAME.get((reference.api_version.rpartition("/")[0], reference.kind))


def group_name(kind: str, name: str, replica: str = "") -> str:
    """The same for an owner whenever it is asked for."""
    whole = "-".join(filter(None, (kind.lower(), name, replica)))
    if len(whole) <= _LONGEST_NAME:
        return whole
    ending = hashlib.sha256(whole.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{whole[: _LONGEST_NAME - _HASH_LENGTH - 1].rstrip('-.')}-{ending}"


# --- where the numbers stand ------------------------------------------------------------------

# third-party kinds are anybody's: what is not as it should be counts as not given


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _maps(value: Any) -> Sequence[Mapping[str, Any]]:
    return [_map(one) for one in value] if isinstance(value, list) else []


def _number(value: Any, default: int = 1) -> int:
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else default


def _role(template: Any, count: int, *, wave: int = 0) -> Role:
    labels = _map(_map(_map(template).get("metadata")).get("labels"))
    return Role(not LABELS.isdisjoint(labels) and labels.get(GANG_LABEL) != "false", count, wave)


def _replicas(spec: Mapping[str, Any]) -> Shape:
    return Shape((_role(spec.get("template"), _number(spec.get("replicas"))),))


def _stateful_set(spec: Mapping[str, Any]) -> Shape:
    if spec.get("podManagementPolicy") == "Parallel":
        return _replicas(spec)
    template, count = spec.get("template"), _number(spec.get("replicas"))
    roles = (_role(template, min(1, count)), _role(template, max(0, count - 1), wave=1))
    return Shape(roles, "spec.podManagementPolicy: Parallel")


def _job(spec: Mapping[str, Any]) -> Shape:
    parallelism = _number(spec.get("parallelism"))
    return Shape((_role(spec.get("template"), min(parallelism, _number(spec.get("completions"), parallelism))),))


def _job_set(spec: Mapping[str, Any]) -> Shape:
    in_order = _map(spec.get("startupPolicy")).get("startupPolicyOrder") == "InOrder"
    roles, depends = [], False
    for place, job in enumerate(_maps(spec.get("replicatedJobs"))):
        (role,) = _job(_map(_map(job.get("template")).get("spec"))).roles
        depends = depends or bool(job.get("dependsOn"))
        wave = place if in_order else int(bool(job.get("dependsOn")))
        roles.append(Role(role.labelled, role.count * _number(job.get("replicas")), wave))
    remedy = "spec.startupPolicy.startupPolicyOrder: AnyOrder" if in_order else "no dependsOn" if depends else ""
    return Shape(tuple(roles), remedy)


def _leader_worker_set(spec: Mapping[str, Any]) -> Shape:
    """One replica of it."""
    template = _map(spec.get("leaderWorkerTemplate"))
    workers, waits = template.get("workerTemplate"), spec.get("startupPolicy") == "LeaderReady"
    leader = _role(template.get("leaderTemplate") or workers, 1)
    others = _role(workers, max(0, _number(template.get("size")) - 1), wave=int(waits))
    return Shape((leader, others), "spec.startupPolicy: LeaderCreated" if waits else "")


def _roles_in(field: str) -> Callable[[Mapping[str, Any]], Shape]:
    def shape(spec: Mapping[str, Any]) -> Shape:
        specs = dict(_map(spec.get(field)))
        if spec.get("launcherCreationPolicy") == "WaitForWorkersReady":
            # it joins when the others run
            specs.pop("Launcher", None)
        found = map(_map, specs.values())
        return Shape(tuple(_role(one.get("template"), _number(one.get("replicas"))) for one in found))

    return shape


OWNER_KINDS = (
    OwnerKind("apps", "ReplicaSet", "replicasets", _replicas),
    OwnerKind("apps", "Deployment", "deployments", _replicas),
    OwnerKind("apps", "StatefulSet", "statefulsets", _stateful_set),
    OwnerKind("batch", "Job", "jobs", _job),
    OwnerKind("jobset.x-k8s.io", "JobSet", "jobsets", _job_set),
    OwnerKind(
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        "leaderworkersets",
        _leader_worker_set,
        replica_label=_LWS_INDEX,
    ),
    OwnerKind("kubeflow.org", "MPIJob", "mpijobs", _roles_in("mpiReplicaSpecs")),
    OwnerKind("kubeflow.org", "PyTorchJob", "pytorchjobs", _roles_in("pytorchReplicaSpecs")),
    # a LeaderWorkerSet's workers are owned by a StatefulSet of their leader
    OwnerKind("", "Pod", "pods", None),
)

_BY_NAME = {(kind.group, kind.kind): kind for kind in OWNER_KINDS}
