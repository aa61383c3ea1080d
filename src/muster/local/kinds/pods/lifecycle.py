"""How a pod comes to a node, and how it goes: bindings and graceful deletion.

created → bound to a node (once) → asked to end, with some seconds to do so → gone
"""

from __future__ import annotations

from muster.api.times import stamp
from muster.local.checks.fields import FieldError, not_supported, required
from muster.local.codec.values import Object
from muster.local.kinds.pods.formats import each, subdomain

# Kubernetes had init containers in annotations once, and drops what is left of them
OLD_ANNOTATIONS = tuple(
    f"pod.{stage}.kubernetes.io/init-container{what}" for stage in ("beta", "alpha") for what in ("s", "-statuses")
)


def binding_errors(binding: Object) -> list[FieldError]:
    """Of a Binding itself.

    The real server answers them with 500 and their bare words ("target.name: Required value"), without a reason.
    """
    target = binding.get("target", {})
    kind, name = target.get("kind", ""), target.get("name", "")
    errors = []
    if kind not in ("", "Node"):
        errors.append(not_supported("target.kind", kind, ("Node", "<empty>")))
    if not name:
        errors.append(required("target.name"))
    elif kind in ("", "Node"):
        errors += each("target.name", name, subdomain(name))
    return errors


def not_bindable(pod: Object, name: str) -> str:
    """Why the pod of that name can be bound to no node, or "": 409 on pods/binding, with these words."""
    spec = pod["spec"]
    if "deletionTimestamp" in pod["metadata"]:
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    if spec.get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def bind(pod: Object, binding: Object, *, now: float) -> Object:
    """The pod on the Binding's node, with its labels and annotations; the pod that came in stays as it was.

    Its generation stays as well, and nobody is noted as owner of the fields.
    """
    metadata = dict(pod["metadata"])
    for key in ("annotations", "labels"):
        merged = {**metadata.get(key, {}), **binding["metadata"].get(key, {})}
        merged = {one: value for one, value in merged.items() if one not in OLD_ANNOTATIONS}
        if merged:
            metadata[key] = merged
    status = {key: value for key, value in pod.get("status", {}).items() if key != "nominatedNodeName"}
    status["conditions"] = _with_condition(status, _condition("PodScheduled", stamp(now)))
    return {
        **pod,
        "metadata": metadata,
        "spec": {**pod["spec"], "nodeName": binding["target"]["name"]},
        "status": status,
    }


def gated(at: str | None) -> Object:
    """The condition of a pod that is made with gates."""
    words = {"reason": "SchedulingGated", "message": "Scheduling is blocked due to non-empty scheduling gates"}
    return {**_condition("PodScheduled", at), "status": "False", **words}


def may_always_go(pod: Object) -> bool:
    """Whether its eviction disturbs nobody: no budget is asked."""
    phase = pod.get("status", {}).get("phase")
    return phase in ("Pending", "Succeeded", "Failed") or "deletionTimestamp" in pod["metadata"]


def marked_evicted(pod: Object, *, now: float) -> Object:
    """The pod with a condition that tells of its eviction; the pod that came in stays as it was."""
    words = {"reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}
    status = pod.get("status", {})
    conditions = _with_condition(status, {**_condition("DisruptionTarget", stamp(now)), **words})
    return {**pod, "status": {**status, "conditions": conditions}}


def grace_seconds(pod: Object, asked: int | None) -> int:
    """How long the pod has to end; on no node, or ended, it has nothing to wait for."""
    if not pod["spec"].get("nodeName") or pod.get("status", {}).get("phase") in ("Failed", "Succeeded"):
        return 0
    grace: int = pod["spec"].get("terminationGracePeriodSeconds", 0) if asked is None else asked
    return 1 if grace < 0 else grace


def log_lines(pod: Object, container: str) -> list[str]:
    """What is known of a container that nobody runs in earnest: when it began and how it ended."""
    status = pod.get("status", {})
    listed = (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))
    state: Object = next((one.get("state", {}) for one in listed if one.get("name") == container), {})
    ended = state.get("terminated", {})
    began = ended.get("startedAt") or state.get("running", {}).get("startedAt")
    lines = [f"{began} {container} started on {pod['spec'].get('nodeName', '')}"] if began else []
    if ended:
        lines.append(f"{ended.get('finishedAt')} {container} ended with exit code {ended.get('exitCode', 0)}")
    return lines


def _condition(kind: str, at: str | None) -> Object:
    return {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": at}


def _with_condition(status: Object, condition: Object) -> list[Object]:
    """In the place of the one of its type; its transition is that one's if the status was the same."""
    listed = list(status.get("conditions", ()))
    for index, one in enumerate(listed):
        if one.get("type") == condition["type"]:
            if one.get("status") == condition["status"]:
                condition = {**condition, "lastTransitionTime": one.get("lastTransitionTime")}
            listed[index] = condition
            return listed
    return [*listed, condition]
