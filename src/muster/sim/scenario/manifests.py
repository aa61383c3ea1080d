"""Kubernetes manifests, as an API server takes them, for what scenario files say in fewer words."""

from __future__ import annotations

from typing import Any

import msgspec

from muster.api.kinds import KINDS
from muster.api.wire import Amount
from muster.base.quantity import amount, show
from muster.sim.objects import EXIT_CODE, RUN_SECONDS, STOP_SECONDS

Manifest = dict[str, Any]

NAMESPACE = "default"
SCHEDULER = "muster"
_IMAGE = "registry.k8s.io/pause:3.10"
_HOSTNAME = "kubernetes.io/hostname"
_DEFAULT_PODS = 110
_NOT_NAMESPACED = (
    "Node",
    "PriorityClass",
    *(kind.resource.kind for kind in KINDS.values() if not kind.resource.namespaced),
)


class PodShape(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a pod but its name."""

    resources: dict[str, Amount] = {}
    priority: int = 0
    preempts: bool = True
    priority_class: str = ""
    """The name of one that says so; "" if nothing of it was given."""
    run_seconds: float | None = None
    """How long it runs before it ends by itself; None for ever."""
    exit_code: int = 0
    stop_seconds: float | None = None
    """How long it takes to stop when it is told to; None for no time."""
    grace_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[Manifest, ...] = ()
    affinity: Manifest | None = None
    spread: tuple[Manifest, ...] = ()
    gates: tuple[str, ...] = ()
    host_ports: tuple[int, ...] = ()
    claims: tuple[str, ...] = ()
    """Names of claims that it mounts; {pod} stands for its own name."""
    devices: tuple[str, ...] = ()
    """Names of claims for devices, likewise."""
    scheduler: str = SCHEDULER
    node: str = ""
    """A node it is created on, past every scheduler."""

    @property
    def words(self) -> str:
        """What one of them asks for: "4 cpu, 8 nvidia.com/gpu"."""
        return words(self.resources)


def words(resources: dict[str, Amount]) -> str:
    return ", ".join(show(name, amount(name, text)) for name, text in resources.items()) or "no requests"


def pod(name: str, shape: PodShape, *, gang: str = "") -> Manifest:
    annotations = dict(shape.annotations)
    if shape.run_seconds is not None:
        annotations[RUN_SECONDS] = f"{shape.run_seconds:g}"
    if shape.exit_code:
        annotations[EXIT_CODE] = str(shape.exit_code)
    if shape.stop_seconds is not None:
        annotations[STOP_SECONDS] = f"{shape.stop_seconds:g}"
    # the API server insists that extended resources have equal limits
    limits = {key: value for key, value in shape.resources.items() if "/" in key}
    devices = {f"devices-{number}": claim.replace("{pod}", name) for number, claim in enumerate(shape.devices)}
    container = _given(
        name="main",
        image=_IMAGE,
        resources=_given(requests=dict(shape.resources), limits=limits, claims=[{"name": entry} for entry in devices]),
        ports=[{"containerPort": port, "hostPort": port} for port in shape.host_ports],
    )
    spec = _given(
        containers=[container],
        restartPolicy="Never",
        schedulerName=shape.scheduler,
        schedulingGroup={"podGroupName": gang} if gang else {},
        nodeName=shape.node,
        priorityClassName=shape.priority_class,
        nodeSelector=dict(shape.node_selector),
        tolerations=list(shape.tolerations),
        affinity=shape.affinity or {},
        topologySpreadConstraints=list(shape.spread),
        schedulingGates=[{"name": gate} for gate in shape.gates],
        volumes=[
            {"name": f"claim-{number}", "persistentVolumeClaim": {"claimName": claim.replace("{pod}", name)}}
            for number, claim in enumerate(shape.claims)
        ],
        resourceClaims=[{"name": entry, "resourceClaimName": claim} for entry, claim in devices.items()],
    )
    if shape.grace_seconds is not None:
        spec["terminationGracePeriodSeconds"] = shape.grace_seconds
    return _manifest("v1", "Pod", metadata=_metadata(name, labels=shape.labels, annotations=annotations), spec=spec)


def pod_group(
    name: str,
    *,
    minimum: int | None,
    priority_class: str = "",
    disruption: str = "",
    preempts: bool = True,
    annotations: dict[str, str],
) -> Manifest:
    """A gang of at least `minimum`; without one, a basic group.  `disruption` is "all", "single" or not said."""
    spec = _given(
        schedulingPolicy={"basic": {}} if minimum is None else {"gang": {"minCount": minimum}},
        disruptionMode={disruption: {}} if disruption else {},
        priorityClassName=priority_class,
        # what its class says already; but Kubernetes 1.37 fills in the default first, and then finds that they differ
        preemptionPolicy="" if preempts else "Never",
    )
    return _manifest(
        "scheduling.k8s.io/v1beta1",
        "PodGroup",
        metadata=_metadata(name, labels={}, annotations=annotations),
        spec=spec,
    )


def budget(name: str, *, selected: dict[str, str], allowed: int) -> Manifest:
    """A PodDisruptionBudget that allows so many disruptions of pods with these labels."""
    return _manifest(
        "policy/v1",
        "PodDisruptionBudget",
        metadata=_metadata(name, labels={}, annotations={}),
        spec={"selector": {"matchLabels": selected}},
        status={"disruptionsAllowed": allowed},
    )


def node(
    name: str,
    *,
    resources: dict[str, Amount],
    labels: dict[str, str],
    taints: list[Manifest],
    unschedulable: bool,
) -> Manifest:
    """A ready node with the kubelet's own label; it takes 110 pods unless `resources` says otherwise."""
    metadata = {"name": name, "labels": {_HOSTNAME: name, **labels}}
    spec = _given(unschedulable=unschedulable, taints=taints)
    allocatable = {"pods": _DEFAULT_PODS, **resources}
    status = {"allocatable": allocatable, "capacity": allocatable}
    return _manifest("v1", "Node", metadata=metadata, spec=spec, status=status)


def node_words(node: Manifest) -> str:
    """What sets a node apart: "8 cpu, zone=a, taint gpu=yes:NoSchedule"."""
    room = {**node.get("status", {}).get("allocatable", {})}
    if room.get("pods") == _DEFAULT_PODS:
        del room["pods"]
    labels = node["metadata"].get("labels", {}).items()
    spec = node.get("spec", {})
    parts = [words(room)] if room else []
    parts += [f"{key}={value}" for key, value in labels if key != _HOSTNAME]
    parts += [f"taint {taint_words(taint)}" for taint in spec.get("taints", ())]
    parts += ["cordoned"] if spec.get("unschedulable") else []
    return ", ".join(parts) or "nothing to allocate"


def taint_words(taint: Manifest) -> str:
    """As kubectl writes it."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint.get('effect', 'NoSchedule')}"


def priority_class(name: str, value: int, *, preempts: bool = True) -> Manifest:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "globalDefault": False,
        **({} if preempts else {"preemptionPolicy": "Never"}),
    }


def taint(text: str) -> Manifest:
    """As kubectl writes it: "key=value:Effect" or "key:Effect".  ValueError if it is not."""
    pair, colon, effect = text.partition(":")
    key, _, value = pair.partition("=")
    if not key or not colon or effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
        raise ValueError("not a taint")
    return _given(key=key, value=value, effect=effect)


def toleration(text: str) -> Manifest:
    """The toleration of that taint; without a value or an effect, of any: "gpu" tolerates all so called."""
    pair, _, effect = text.partition(":")
    key, equals, value = pair.partition("=")
    if not key or effect not in ("", "NoSchedule", "PreferNoSchedule", "NoExecute"):
        raise ValueError("not a toleration")
    return _given(key=key, operator="Equal" if equals else "Exists", value=value, effect=effect)


def key(manifest: Manifest) -> str:
    """namespace/name, or the name of what has no namespace."""
    metadata = manifest["metadata"]
    name = str(metadata["name"])
    if manifest["kind"] in _NOT_NAMESPACED:
        return name
    return f"{metadata.get('namespace', NAMESPACE)}/{name}"


def _manifest(version: str, kind: str, **parts: Manifest) -> Manifest:
    return {"apiVersion": version, "kind": kind, **parts}


def _metadata(name: str, *, labels: dict[str, str], annotations: dict[str, str]) -> Manifest:
    return _given(name=name, namespace=NAMESPACE, labels=dict(labels), annotations=annotations)


def _given(**fields: Any) -> Manifest:
    """Only what says something: manifests are read by people too."""
    return {name: value for name, value in fields.items() if value not in ({}, [], "", None, False)}
