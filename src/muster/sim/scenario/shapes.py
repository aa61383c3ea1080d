"""Reads what a scenario file says of pods and nodes into shapes and manifests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from muster.api.kinds import KINDS
from muster.api.requests import effective_requests
from muster.api.wire import (
    Affinity,
    Amount,
    Fact,
    Node,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    PriorityClass,
    Taint,
    Toleration,
    TopologySpread,
    Wire,
    read,
)
from muster.base.errors import MusterError, ObjectError
from muster.base.quantity import amount
from muster.base.selectors import LabelSelector, NodeSelectorTerm
from muster.gangs.dialects.v1beta1 import (
    BELOW_MINIMUM_ANNOTATION,
    GRACE_ANNOTATION,
    ON_PARTIAL_ANNOTATION,
    START_TIMEOUT_ANNOTATION,
    TIMEOUT_ANNOTATION,
)
from muster.gangs.model import BelowMinimum
from muster.sim.scenario import manifests
from muster.sim.scenario.manifests import Manifest, PodShape
from muster.sim.scenario.place import Place

POD_FIELDS = (
    "priority",
    "priorityClass",
    "preemption",
    "runs",
    "exitCode",
    "stop",
    "grace",
    "labels",
    "annotations",
    "nodeSelector",
    "tolerations",
    "affinity",
    "topologySpreadConstraints",
    "gates",
    "hostPort",
    "claims",
    "devices",
    "scheduler",
    "node",
)
NODE_FIELDS = ("labels", "taints", "unschedulable", "pods")

_BETWEEN_PODS = ("podAffinity", "podAntiAffinity")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LONGEST_NAME = 253
_PLAIN_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_KINDS: dict[str, tuple[str, type[Pod | PodGroup | Node | PriorityClass | PodDisruptionBudget | Fact]]] = {
    "Pod": ("v1", Pod),
    "Node": ("v1", Node),
    "PodGroup": ("scheduling.k8s.io/v1beta1", PodGroup),
    "PriorityClass": ("scheduling.k8s.io/v1", PriorityClass),
    "PodDisruptionBudget": ("policy/v1", PodDisruptionBudget),
    **{kind.resource.kind: (kind.resource.api_version, kind.struct) for kind in KINDS.values()},
}


def is_resource(name: str) -> bool:
    """Whether a field is the name of a resource: cpu, memory, nvidia.com/gpu, ..."""
    return name in _PLAIN_RESOURCES or "/" in name or name.startswith("hugepages-")


def name_of(place: Place) -> str:
    """A name that Kubernetes takes."""
    text = place.text()
    if not _NAME.fullmatch(text) or len(text) > _LONGEST_NAME:
        raise place.error(
            f"'{text}' is no Kubernetes name", "use lower-case letters, digits, '-' and '.', as in train-1"
        )
    return text


def resources(fields: dict[str, Place]) -> dict[str, Amount]:
    """The fields that are resources, checked."""
    return {name: _quantity(name, place) for name, place in fields.items() if is_resource(name)}


def numbered(name: str, count: int, *, after: int = 0) -> list[str]:
    """name-1 to name-4, or name-01 to name-12: as many digits as it takes to sort by number."""
    digits = len(str(after + count))
    return [f"{name}-{number:0{digits}}" for number in range(after + 1, after + count + 1)]


# --- pods ---


def pod_shape(fields: dict[str, Place], *, base: PodShape, class_for: Callable[[int, bool], str]) -> PodShape:
    """The shape that `fields` describe; what they leave out is as in `base`.

    `class_for` gives the PriorityClass of a number, of pods that preempt or never do: an API server takes both only
    by class.
    """
    changes: dict[str, Any] = {}
    for name, place in fields.items():
        if name in _READERS:
            attribute, reader = _READERS[name]
            changes[attribute] = reader(place)
    for name in ("priority", "preemption"):
        if name in fields and "priorityClass" in fields:
            raise fields[name].error(f"both '{name}' and 'priorityClass' are given", "keep one of them")
    if "priority" in fields or "preemption" in fields:
        priority, preempts = changes.get("priority", base.priority), changes.get("preempts", base.preempts)
        changes["priority_class"] = class_for(priority, preempts)
    if asked := resources(fields):
        changes["resources"] = {**base.resources, **asked}
    return replace(base, **changes)


def _host_ports(place: Place) -> tuple[int, ...]:
    ports = tuple(item.count(least=1) for item in place.one_or_more())
    if any(port > 65535 for port in ports):
        raise place.error(f"{place.what} must be at most 65535")
    return ports


def _tolerations(place: Place) -> tuple[Manifest, ...]:
    return tuple(_toleration(item) for item in place.items())


def _toleration(place: Place) -> Manifest:
    if not place.is_text:
        return _checked(Toleration, place)
    try:
        return manifests.toleration(place.text())
    except ValueError as error:
        raise place.error(
            f"'{place.text()}' is no toleration",
            "write key, key:Effect or key=value:Effect, or the YAML of one",
        ) from error


def _affinity(place: Place) -> Manifest:
    fields = place.called("affinity").fields(("nodeAffinity", *_BETWEEN_PODS))
    for name in _BETWEEN_PODS:
        if name in fields:
            terms = fields[name].called(name).fields((_REQUIRED, _PREFERRED))
            for item in terms[_REQUIRED].items() if _REQUIRED in terms else ():
                _check_term(item)
            for item in terms[_PREFERRED].items() if _PREFERRED in terms else ():
                wish = ("weight", "podAffinityTerm")
                _check_term(item.called("preference").fields(wish, required=wish)["podAffinityTerm"])
    return _checked(Affinity, place)


def _check_term(place: Place) -> None:
    """Not matchLabelKeys: only an API server makes a selector of them."""
    place.called("term").fields(
        ("labelSelector", "namespaces", "namespaceSelector", "topologyKey"), required=["topologyKey"]
    )


def _spread(place: Place) -> tuple[Manifest, ...]:
    return tuple(_constraint(item.called("constraint")) for item in place.items())


def _constraint(place: Place) -> Manifest:
    required = ("maxSkew", "topologyKey", "whenUnsatisfiable")
    others = ("labelSelector", "matchLabelKeys", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy")
    fields = place.fields((*required, *others), required=required)
    fields["maxSkew"].count(least=1)
    fields["whenUnsatisfiable"].word(("DoNotSchedule", "ScheduleAnyway"))
    return _checked(TopologySpread, place)


def _names(place: Place) -> tuple[str, ...]:
    return tuple(item.text() for item in place.items())


def never_preempts(place: Place) -> bool:
    place.word(("never",))
    return False


def _whole_seconds(place: Place) -> int:
    seconds = place.seconds()
    if seconds != int(seconds):
        raise place.error(f"{place.what} must be whole seconds", "Kubernetes takes no fractions here")
    return int(seconds)


_READERS: dict[str, tuple[str, Callable[[Place], object]]] = {
    "priority": ("priority", Place.integer),
    "preemption": ("preempts", never_preempts),
    "priorityClass": ("priority_class", Place.text),
    "runs": ("run_seconds", Place.seconds),
    "exitCode": ("exit_code", Place.count),
    "stop": ("stop_seconds", Place.seconds),
    "grace": ("grace_seconds", _whole_seconds),
    "labels": ("labels", Place.words),
    "annotations": ("annotations", Place.words),
    "nodeSelector": ("node_selector", Place.words),
    "tolerations": ("tolerations", _tolerations),
    "affinity": ("affinity", _affinity),
    "topologySpreadConstraints": ("spread", _spread),
    "gates": ("gates", _names),
    "hostPort": ("host_ports", _host_ports),
    "claims": ("claims", _names),
    "devices": ("devices", _names),
    "scheduler": ("scheduler", Place.text),
    "node": ("node", Place.text),
}


# --- gangs ---

GROUP_FIELDS = (
    "min",
    "basic",
    "timeout",
    "startTimeout",
    "disruption",
    "onPartial",
    "belowMinimum",
    "belowMinimumGrace",
)
GANG_CHANGES = ("min", "timeout", "startTimeout", "onPartial", "belowMinimum", "belowMinimumGrace")


def group_annotations(fields: dict[str, Place]) -> dict[str, str]:
    """What a PodGroup has no fields for."""
    return {annotation: reader(fields[name]) for name, (annotation, reader) in _ANNOTATIONS.items() if name in fields}


def _seconds_text(place: Place) -> str:
    seconds = place.seconds()
    if not seconds:
        raise place.error(f"{place.what} must be longer than 0")
    return f"{seconds:g}"


_ANNOTATIONS: dict[str, tuple[str, Callable[[Place], str]]] = {
    "timeout": (TIMEOUT_ANNOTATION, _seconds_text),
    "startTimeout": (START_TIMEOUT_ANNOTATION, _seconds_text),
    "onPartial": (ON_PARTIAL_ANNOTATION, lambda place: place.word(("hold",))),
    "belowMinimum": (BELOW_MINIMUM_ANNOTATION, lambda place: place.word([one.value for one in BelowMinimum])),
    "belowMinimumGrace": (GRACE_ANNOTATION, _seconds_text),
}


# --- nodes ---


def node_manifests(place: Place) -> list[Manifest]:
    """One node, or `count` numbered ones."""
    fields = place.fields(("name", "count", *NODE_FIELDS), required=["name"], also=is_resource)
    name = name_of(fields["name"])
    names = numbered(name, fields["count"].count(least=1)) if "count" in fields else [name]
    room = allocatable(fields)
    labels = fields["labels"].words() if "labels" in fields else {}
    listed = taints(fields["taints"]) if "taints" in fields else []
    unschedulable = "unschedulable" in fields and fields["unschedulable"].flag()
    return [
        manifests.node(name, resources=room, labels=labels, taints=listed, unschedulable=unschedulable)
        for name in names
    ]


def allocatable(fields: dict[str, Place]) -> dict[str, Amount]:
    room = resources(fields)
    if "pods" in fields:
        room["pods"] = fields["pods"].count()
    return room


def taints(place: Place) -> list[Manifest]:
    return [_taint(item) for item in place.items()]


def _taint(place: Place) -> Manifest:
    if not place.is_text:
        return _checked(Taint, place)
    try:
        return manifests.taint(place.text())
    except ValueError as error:
        raise place.error(
            f"'{place.text()}' is no taint",
            "write key=value:NoSchedule or key:NoSchedule, or the YAML of one",
        ) from error


# --- raw objects ---


def manifest(place: Place) -> Manifest:
    """A Kubernetes object as a person wrote it, checked as far as Muster reads it."""
    entries = place.called("object").entries()
    for field in ("apiVersion", "kind", "metadata"):
        if field not in entries:
            raise place.error(f"object needs '{field}'", "write it as kubectl would take it")
    kind = entries["kind"].word(_KINDS)
    version, struct = _KINDS[kind]
    entries["apiVersion"].word((version,))
    metadata = entries["metadata"].entries()
    if "name" not in metadata:
        raise entries["metadata"].error("metadata needs 'name'")
    name_of(metadata["name"])
    return _checked(struct, place.called(kind))


def _try_out(found: Wire) -> None:
    """Reads what is read late, so that what is wrong is said now."""
    if isinstance(found, Pod):
        effective_requests(found.spec)
        if found.spec.affinity is not None:
            _try_out(found.spec.affinity)
        for constraint in found.spec.topology_spread_constraints:
            _try_out(constraint)
    elif isinstance(found, Node):
        for name, text in found.status.allocatable.items():
            amount(name, text)
    elif isinstance(found, Affinity | TopologySpread):
        for selector in _selectors(found):
            for problem in selector.problems():
                raise ObjectError(problem)


def _selectors(found: Affinity | TopologySpread) -> Iterator[NodeSelectorTerm | LabelSelector]:
    if isinstance(found, TopologySpread):
        if found.label_selector is not None:
            yield found.label_selector
        return
    if (nodes := found.node_affinity) is not None:
        yield from nodes.required.node_selector_terms if nodes.required else ()
        yield from (preferred.preference for preferred in nodes.preferred)
    for pods in (found.pod_affinity, found.pod_anti_affinity):
        if pods is not None:
            for term in (*pods.required, *(preferred.pod_affinity_term for preferred in pods.preferred)):
                chosen = (term.label_selector, term.namespace_selector)
                yield from (selector for selector in chosen if selector is not None)


def _checked(struct: type[Wire], place: Place) -> Manifest:
    """The value as plain data, once `struct` has read it."""
    data = place.plain()
    if not isinstance(data, dict):
        raise place.error(f"{place.what} must be a mapping")
    try:
        _try_out(read(struct, data))
    except MusterError as error:
        raise place.error(f"{place.what} cannot be used: {error}") from error
    return data


def _quantity(name: str, place: Place) -> Amount:
    text = place.plain()
    try:
        value = amount(name, text)
    except MusterError as error:
        raise place.error(f"{place.what} must be a quantity: {error}") from error
    if value < 0:
        raise place.error(f"{place.what} must not be negative")
    found: Amount = text
    return found
