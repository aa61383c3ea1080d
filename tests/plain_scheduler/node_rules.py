"""NodeName, NodeUnschedulable, TaintToleration, NodeAffinity, NodePorts, NodeDeclaredFeatures, ImageLocality:

rules about one pod and one node, whatever other pods want.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tests.plain_scheduler.cluster import Cluster, Machine
from tests.plain_scheduler.requests import host_ports
from tests.plain_scheduler.selectors import Document, node_affinity, node_is_required, node_term_matches

MEBI = 1024 * 1024


class Refusal(NamedTuple):
    """Why a node does not take a pod."""

    reasons: tuple[str, ...]
    is_final: bool
    """No pod's leaving would help: preemption does not look at the node."""


NAME = Refusal(("node(s) didn't match the requested node name",), is_final=True)
CORDONED = Refusal(("node(s) were unschedulable",), is_final=True)
TAINTED = Refusal(("node(s) had untolerated taint(s)",), is_final=True)
AFFINITY = Refusal(("node(s) didn't match Pod's node affinity/selector",), is_final=True)
PORTS = Refusal(("node(s) didn't have free ports for the requested pod ports",), is_final=False)
FEATURES = Refusal(("node(s) didn't match Pod's required features",), is_final=True)

_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_HARD = ("NoSchedule", "NoExecute")
_SOFT = "PreferNoSchedule"


# --- filters ---


def name_refuses(pod: Document, machine: Machine) -> Refusal | None:
    return NAME if pod["spec"].get("nodeName") not in (None, "", machine.name) else None


def cordon_refuses(pod: Document, machine: Machine) -> Refusal | None:
    tolerated = _tolerated(_CORDON, pod["spec"].get("tolerations") or [])
    return CORDONED if machine.spec.get("unschedulable") and not tolerated else None


def taints_refuse(pod: Document, machine: Machine) -> Refusal | None:
    return None if tolerates_hard_taints(pod, machine) else TAINTED


def affinity_refuses(pod: Document, machine: Machine) -> Refusal | None:
    return None if node_is_required(pod["spec"], machine.name, machine.labels) else AFFINITY


def ports_refuse(pod: Document, machine: Machine) -> Refusal | None:
    taken = [port for other in machine.running for port in other.ports]
    return PORTS if any(_collide(one, other) for one in host_ports(pod) for other in taken) else None


def features_refuse(pod: Document, machine: Machine) -> Refusal | None:
    return None if needed_features(pod) <= set(machine.status.get("declaredFeatures") or []) else FEATURES


def tolerates_hard_taints(pod: Document, machine: Machine) -> bool:
    tolerations = pod["spec"].get("tolerations") or []
    return all(_tolerated(t, tolerations) for t in machine.spec.get("taints") or [] if t["effect"] in _HARD)


def only_named_nodes(pod: Document) -> set[str] | None:
    """Nodes that the required affinity leaves, where every term of it says names; None where one does not."""
    required = node_affinity(pod["spec"]).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    names: set[str] = set()
    for term in required.get("nodeSelectorTerms") or []:
        listed = [set(f["values"]) for f in term.get("matchFields") or [] if f["operator"] == "In"]
        if not listed:
            return None
        names |= set.intersection(*listed)
    return names if required.get("nodeSelectorTerms") else None


def needed_features(pod: Document) -> set[str]:
    """What the kubelet must say that it has.  By default the API server of 1.37 lets only the first one through."""
    spec = pod["spec"]
    containers = [*spec["containers"], *(spec.get("initContainers") or [])]
    rules = [rule for each in containers for rule in each.get("restartPolicyRules") or []]
    mounts = [mount for each in containers for mount in each.get("volumeMounts") or []]
    needed = {
        "RestartAllContainersOnContainerExits": any(rule["action"] == "RestartAllContainers" for rule in rules),
        "UserNamespacesHostNetworkSupport": bool(spec.get("hostNetwork")) and spec.get("hostUsers") is False,
        "VolumeBindMountOptions": any(mount.get("bindMountOptions") for mount in mounts),
    }
    return {name for name, is_needed in needed.items() if is_needed}


# --- scores ---


def soft_taints(pod: Document, takers: Iterable[Machine]) -> dict[str, int]:
    """Fewer untolerated taints are better."""
    tolerations = [t for t in pod["spec"].get("tolerations") or [] if t.get("effect") in (None, "", _SOFT)]
    raw = {
        machine.name: sum(t["effect"] == _SOFT and not _tolerated(t, tolerations) for t in _taints(machine))
        for machine in takers
    }
    return {name: 100 - part for name, part in _of_highest(raw).items()}


def node_preferences(pod: Document, takers: Iterable[Machine]) -> dict[str, int]:
    terms = node_affinity(pod["spec"]).get("preferredDuringSchedulingIgnoredDuringExecution") or []
    raw = {
        machine.name: sum(
            t["weight"] for t in terms if node_term_matches(t["preference"], machine.name, machine.labels)
        )
        for machine in takers
    }
    return _of_highest(raw)


def images(cluster: Cluster, pod: Document, takers: Iterable[Machine]) -> dict[str, int]:
    """Bytes of the pod's images that the node has, each scaled down by the share of nodes that have it."""
    spec = pod["spec"]
    wanted = [each.get("image") or "" for each in (*(spec.get("initContainers") or []), *spec["containers"])]
    wanted += [volume["image"].get("reference") or "" for volume in spec.get("volumes") or [] if volume.get("image")]
    lowest, highest = 23 * MEBI, 1000 * MEBI * len(wanted)
    having = {name: _sizes(machine) for name, machine in cluster.machines.items()}
    scores = {}
    for machine in takers:
        total = 0
        for image in map(_with_tag, wanted):
            if image in having[machine.name]:
                share = float(sum(image in sizes for sizes in having.values())) / float(len(having))
                total += int(float(having[machine.name][image]) * share)
        scores[machine.name] = 100 * (min(max(total, lowest), highest) - lowest) // (highest - lowest)
    return scores


def _sizes(machine: Machine) -> dict[str, int]:
    """Upstream keeps one size for all nodes, that of the first node seen with the image; nodes agree here."""
    listed = machine.status.get("images") or []
    return {name: image.get("sizeBytes") or 0 for image in listed for name in image.get("names") or []}


def _with_tag(image: str) -> str:
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def _of_highest(raw: Mapping[str, int]) -> dict[str, int]:
    highest = max(raw.values(), default=0)
    return {name: value * 100 // highest if highest else 0 for name, value in raw.items()}


# --- parts ---


def _taints(machine: Machine) -> list[Document]:
    return machine.spec.get("taints") or []


def _tolerated(taint: Document, tolerations: Iterable[Document]) -> bool:
    return any(_covers(toleration, taint) for toleration in tolerations)


def _covers(toleration: Document, taint: Document) -> bool:
    effect, key, operator = (toleration.get(field) or "" for field in ("effect", "key", "operator"))
    if effect not in ("", taint["effect"]) or key not in ("", taint["key"]):
        return False
    same_value = (toleration.get("value") or "") == (taint.get("value") or "")
    return operator == "Exists" or (operator in ("", "Equal") and same_value)


def _collide(one: tuple[str, int, str], other: tuple[str, int, str]) -> bool:
    same_address = one[2] == other[2] or "0.0.0.0" in (one[2], other[2])
    return one[:2] == other[:2] and same_address
