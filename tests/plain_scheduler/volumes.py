"""VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone: what volumes allow, and which ones a pod gets."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from muster.base.quantity import whole
from tests.plain_scheduler.cluster import Cluster, Machine
from tests.plain_scheduler.node_rules import Refusal
from tests.plain_scheduler.selectors import Document, Labels, Selector, node_term_matches, requirement_matches
from tests.plain_scheduler.storage import Storage, named, space_of

NO_DISK = Refusal(("node(s) had no available disk",), is_final=False)
IN_USE = Refusal(
    (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod",
    ),
    is_final=False,
)
TOO_MANY = Refusal(("node(s) exceed max volume count",), is_final=False)
WRONG_ZONE = Refusal(("node(s) had no available volume zone",), is_final=True)
OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"
NOTHING_TO_BIND = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

SELECTED, COMPLETED = "volume.kubernetes.io/selected-node", "pv.kubernetes.io/bind-completed"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_BETA = "failure-domain.beta.kubernetes.io/"
_GENERAL = "topology.kubernetes.io/"
_ZONES = (f"{_BETA}zone", f"{_BETA}region", f"{_GENERAL}zone", f"{_GENERAL}region")
_IN_TREE = {
    "awsElasticBlockStore": ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    "gcePersistentDisk": ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    "azureDisk": ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    "cinder": ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    "portworxVolume": ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
}
_MIGRATED = dict(_IN_TREE.values())


@dataclass
class Found:
    """What the claims of a pod would get on a node."""

    reasons: list[str] = field(default_factory=list)
    bound: list[tuple[Document, Document]] = field(default_factory=list)
    """(claim, volume)"""
    made: list[tuple[Document, Document | None]] = field(default_factory=list)
    """(claim, capacity)"""


# --- before any node is looked at ---


def holds_back(storage: Storage, pod: Document) -> str:
    """Why no node will do, "" if some may."""
    return _without_claim(storage, pod) or _unusable(storage, pod) or _without_zone(storage, pod)


def _without_claim(storage: Storage, pod: Document) -> str:
    missing = [name for name, made in _names(pod) if not made and storage.claim(pod, name) is None]
    return f'persistentvolumeclaim "{missing[0]}" not found' if missing else ""


def _unusable(storage: Storage, pod: Document) -> str:
    for name, made in _names(pod):
        claim = storage.claim(pod, name)
        if claim is None:
            waits = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            return waits if made else f'persistentvolumeclaim "{name}" not found'
        if (claim.get("status") or {}).get("phase") == "Lost":
            lost = claim["spec"].get("volumeName") or ""
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{lost}"'
        if claim["metadata"].get("deletionTimestamp"):
            return f'persistentvolumeclaim "{name}" is being deleted'
        if made and not _owns(pod, claim):
            here = f"{space_of(pod)}/{pod['metadata']['name']}"
            return f"PVC {space_of(pod)}/{name} was not created for pod {here} (pod is not owner)"
    if any(not is_bound(claim) and not _waits(storage, claim) for claim in _claims(storage, pod)):
        return "pod has unbound immediate PersistentVolumeClaims"
    return ""


def _without_zone(storage: Storage, pod: Document) -> str:
    for name, made in _names(pod):
        claim = storage.claim(pod, name)
        if made or claim is None:
            continue
        if volume := claim["spec"].get("volumeName"):
            if storage.volume(volume) is None:
                return f'persistentvolume "{volume}" not found'
        elif not class_name(claim):
            return "PersistentVolumeClaim had no pv name and storageClass name"
        elif (found := storage.storage_class(class_name(claim))) is None:
            return f'storageclass.storage.k8s.io "{class_name(claim)}" not found'
        elif found.get("volumeBindingMode") != "WaitForFirstConsumer":
            return "PersistentVolume had no name"
    return ""


# --- one node ---


def refuses(cluster: Cluster, pod: Document) -> Callable[[Machine], Refusal | None]:
    storage = cluster.storage
    if not _volumes(pod):
        return lambda _: None

    def refuse(machine: Machine) -> Refusal | None:
        here = [other.pod for other in machine.running]
        everywhere = [other.pod for each in cluster.machines.values() for other in each.running]
        return (
            disks_refuse(pod, here)
            or exclusive_refuses(storage, pod, everywhere)
            or limits_refuse(storage, pod, machine.name, here)
            or binding_refuses(storage, pod, machine.name, machine.labels)
            or zone_refuses(storage, pod, machine.labels)
        )

    return refuse


def disks_refuse(pod: Document, here: Iterable[Document]) -> Refusal | None:
    theirs = [volume for other in here for volume in _volumes(other)]
    if any(_same_disk(mine, their) for mine in _volumes(pod) for their in theirs):
        return NO_DISK
    return None


def exclusive_refuses(storage: Storage, pod: Document, everywhere: Iterable[Document]) -> Refusal | None:
    """Whoever uses a claim for one pod at a time keeps others from every node."""
    used = {
        name for other in everywhere if space_of(other) == space_of(pod) for name, made in _names(other) if not made
    }
    return IN_USE if _exclusive(storage, pod) & used else None


def limits_refuse(storage: Storage, pod: Document, node: str, here: Iterable[Document]) -> Refusal | None:
    csi_node = named(storage.csi_nodes, node)
    new = set(_attached(storage, pod, csi_node))
    for driver, _ in sorted(new):
        if _is_awaited(named(storage.drivers, driver), csi_node):
            return Refusal((f"{driver} CSI driver is not installed on the node",), is_final=False)
    limits = {
        each["name"]: each["allocatable"]["count"]
        for each in (csi_node or {}).get("spec", {}).get("drivers") or []
        if (each.get("allocatable") or {}).get("count") is not None
    }
    there = {each for other in here for each in _attached(storage, other, csi_node)}
    new -= there
    there |= set(_attached_anyhow(storage, node))
    for driver in {driver for driver, _ in new}:
        count = sum(driver == other for other, _ in new) + sum(driver == other for other, _ in there)
        if driver in limits and count > limits[driver]:
            return TOO_MANY
    return None


def zone_refuses(storage: Storage, pod: Document, labels: Labels) -> Refusal | None:
    if not any(key in labels for key in _ZONES):
        return None
    for name, made in _names(pod):
        claim = None if made else storage.claim(pod, name)
        volume = storage.volume(claim["spec"].get("volumeName") or "") if claim else None
        for key, value in ((volume or {}).get("metadata", {}).get("labels") or {}).items():
            zones = [zone.strip() for zone in value.split("__")]
            here = labels.get(key, labels.get(key.replace(_BETA, _GENERAL)))
            if key in _ZONES and all(zones) and here not in zones:
                return WRONG_ZONE
    return None


def find(storage: Storage, pod: Document, name: str, labels: Labels) -> Found:
    """VolumeBinding on one node."""
    found = Found()
    claims = _claims(storage, pod)
    for claim in (each for each in claims if is_bound(each)):
        volume = storage.volume(claim["spec"]["volumeName"])
        if volume is None or not _is_within_reach(volume, labels):
            found.reasons.append(NO_VOLUME if volume is None else OUT_OF_REACH)
            break
    delayed = [claim for claim in claims if not is_bound(claim)]
    selected = [claim for claim in delayed if SELECTED in _annotations(claim)]
    if any(_annotations(claim)[SELECTED] != name for claim in selected):
        found.reasons.append(NOTHING_TO_BIND)
        return found
    to_make = list(selected)
    for claim in sorted((each for each in delayed if each not in selected), key=_asked):
        taken = [volume["metadata"]["name"] for _, volume in found.bound]
        volume = _match(storage, claim, labels, taken)
        if volume is None:
            to_make.append(claim)
        else:
            found.bound.append((claim, volume))
    for claim in to_make:
        reason, capacity = _make(storage, claim, labels)
        if reason:
            found.reasons.append(reason)
            break
        found.made.append((claim, capacity))
    return found


def binding_refuses(storage: Storage, pod: Document, name: str, labels: Labels) -> Refusal | None:
    reasons = find(storage, pod, name, labels).reasons
    return Refusal(tuple(reasons), is_final=True) if reasons else None


def score(storage: Storage, pod: Document, name: str, labels: Labels) -> int:
    """By the default shape: the less is in use the better."""
    found = find(storage, pod, name, labels)
    amounts: dict[str, list[int]] = {}
    for claim, volume in found.bound:
        amount = amounts.setdefault(volume["spec"].get("storageClassName") or "", [0, 0])
        amount[0] += _asked(claim)
        amount[1] += _capacity(volume)
    for claim, capacity in found.made if not found.bound else ():
        if capacity is not None:
            amount = amounts.setdefault(class_name(claim), [0, 0])
            amount[0] += _asked(claim)
            amount[1] = whole(capacity["capacity"])
    worth = [100 - (100 if not there or asked > there else asked * 100 // there) for asked, there in amounts.values()]
    return int(sum(worth) / len(worth) + 0.5) if worth else 0


# --- volumes and claims ---


def class_name(thing: Document) -> str:
    found: str = _annotations(thing).get(_BETA_CLASS, thing["spec"].get("storageClassName") or "")
    return found


def is_bound(claim: Document) -> bool:
    return bool(claim["spec"].get("volumeName")) and COMPLETED in _annotations(claim)


def _match(storage: Storage, claim: Document, labels: Labels, taken: Sequence[str]) -> Document | None:
    best: Document | None = None
    for volume in storage.volumes:
        spec = volume["spec"]
        is_mine = _is_for(volume, claim)
        if (
            class_name(volume) != class_name(claim)
            or volume["metadata"]["name"] in taken
            or (spec.get("claimRef") and not is_mine)
            or _capacity(volume) < _asked(claim)
            or (spec.get("volumeMode") or "Filesystem") != (claim["spec"].get("volumeMode") or "Filesystem")
            or (spec.get("volumeAttributesClassName") or "") != (claim["spec"].get("volumeAttributesClassName") or "")
            or volume["metadata"].get("deletionTimestamp")
        ):
            continue
        if is_mine:
            return volume if _is_within_reach(volume, labels) else None
        selector = claim["spec"].get("selector")
        if (
            (volume.get("status") or {}).get("phase") == "Available"
            and (selector is None or Selector(selector).matches(volume["metadata"].get("labels") or {}))
            and _is_within_reach(volume, labels)
            and set(claim["spec"].get("accessModes") or []) <= set(spec.get("accessModes") or [])
            and (best is None or _capacity(volume) < _capacity(best))
        ):
            best = volume
    return best


def _make(storage: Storage, claim: Document, labels: Labels) -> tuple[str, Document | None]:
    found = storage.storage_class(class_name(claim)) or {}
    if found.get("provisioner") in (None, "", "kubernetes.io/no-provisioner"):
        return NOTHING_TO_BIND, None
    terms = found.get("allowedTopologies") or []
    if terms and not any(_topology_holds(term, labels) for term in terms):
        return NOTHING_TO_BIND, None
    driver = named(storage.drivers, found["provisioner"])
    if not driver or not driver["spec"].get("storageCapacity") or "storage" not in _requests(claim):
        return "", None
    for capacity in storage.capacities:
        limit = capacity.get("maximumVolumeSize") or capacity.get("capacity")
        if (
            capacity["storageClassName"] == class_name(claim)
            and limit is not None
            and whole(limit) >= _asked(claim)
            and Selector(capacity.get("nodeTopology")).matches(labels)
        ):
            return "", capacity
    return NO_SPACE, None


def _topology_holds(term: Document, labels: Labels) -> bool:
    listed = term.get("matchLabelExpressions") or []
    return bool(listed) and all(requirement_matches({**each, "operator": "In"}, labels) for each in listed)


def _is_within_reach(volume: Document, labels: Labels) -> bool:
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return required is None or any(node_term_matches(term, "", labels) for term in required["nodeSelectorTerms"])


def _is_for(volume: Document, claim: Document) -> bool:
    kept, meta = volume["spec"].get("claimRef") or {}, claim["metadata"]
    same = (kept.get("namespace"), kept.get("name")) == (meta.get("namespace"), meta["name"])
    return same and (not kept.get("uid") or kept["uid"] == meta["uid"])


def _waits(storage: Storage, claim: Document) -> bool:
    found = storage.storage_class(class_name(claim)) or {}
    return found.get("volumeBindingMode") == "WaitForFirstConsumer" and not claim["spec"].get("volumeName")


def _asked(claim: Document) -> int:
    return whole(_requests(claim).get("storage", 0))


def _requests(claim: Document) -> Document:
    return (claim["spec"].get("resources") or {}).get("requests") or {}


def _capacity(volume: Document) -> int:
    return whole((volume["spec"].get("capacity") or {}).get("storage", 0))


# --- pods ---


def _volumes(pod: Document) -> list[Document]:
    return pod["spec"].get("volumes") or []


def _names(pod: Document) -> Iterator[tuple[str, bool]]:
    """Of claims, and whether they are made for the pod."""
    for volume in _volumes(pod):
        if "persistentVolumeClaim" in volume:
            yield volume["persistentVolumeClaim"]["claimName"], False
        elif "ephemeral" in volume:
            yield f"{pod['metadata']['name']}-{volume['name']}", True


def _claims(storage: Storage, pod: Document) -> list[Document]:
    found = (storage.claim(pod, name) for name, _ in _names(pod))
    return [claim for claim in found if claim is not None]


def _exclusive(storage: Storage, pod: Document) -> set[str]:
    found = {name: storage.claim(pod, name) for name, made in _names(pod) if not made}
    return {name for name, claim in found.items() if claim and "ReadWriteOncePod" in claim["spec"]["accessModes"]}


def _owns(pod: Document, claim: Document) -> bool:
    owners = claim["metadata"].get("ownerReferences") or []
    return any(each.get("controller") and each["uid"] == pod["metadata"].get("uid") for each in owners)


def _same_disk(mine: Document, their: Document) -> bool:
    keys: dict[str, Callable[[Document], object]] = {
        "gcePersistentDisk": lambda disk: disk["pdName"],
        "awsElasticBlockStore": lambda disk: disk["volumeID"],
        "iscsi": lambda disk: disk["iqn"],
        "rbd": lambda disk: (disk.get("pool"), disk["image"]),
    }
    for kind, key in keys.items():
        if kind in mine and kind in their and key(mine[kind]) == key(their[kind]):
            common = kind != "rbd" or set(mine[kind]["monitors"]) & set(their[kind]["monitors"])
            may_share = kind != "awsElasticBlockStore" and mine[kind].get("readOnly") and their[kind].get("readOnly")
            if common and not may_share:
                return True
    return False


# --- what is attached ---


def _attached(storage: Storage, pod: Document, csi_node: Document | None) -> Iterator[tuple[str, str]]:
    """(driver, handle)"""
    for name, _ in _names(pod):
        claim = storage.claim(pod, name)
        volume = storage.volume(claim["spec"].get("volumeName") or "") if claim else None
        if volume is not None and "csi" in volume["spec"]:
            yield volume["spec"]["csi"]["driver"], volume["spec"]["csi"]["volumeHandle"]
        elif volume is not None:
            yield from () if _is_of_several_zones(volume) else _in_tree(volume["spec"], csi_node)
        elif claim is not None and (found := storage.storage_class(class_name(claim))):
            driver = _MIGRATED.get(found["provisioner"], found["provisioner"])
            if driver == found["provisioner"] or csi_node is not None:
                yield driver, f"claim {space_of(pod)}/{name}"
    for inline in _volumes(pod):
        yield from _in_tree(inline, csi_node)


def _in_tree(source: Document, csi_node: Document | None) -> Iterator[tuple[str, str]]:
    for kind, (_, driver) in _IN_TREE.items():
        if kind in source and csi_node is not None:
            disk = source[kind]
            yield driver, disk.get("volumeID") or disk.get("pdName") or disk.get("diskURI")


def _is_of_several_zones(volume: Document) -> bool:
    """A Google disk of several zones must have such as us-east1-b; there are none here, and then it is not counted."""
    labels = volume["metadata"].get("labels") or {}
    zones = labels.get(f"{_BETA}zone") or labels.get(f"{_GENERAL}zone") or ""
    return "gcePersistentDisk" in volume["spec"] and "__" in zones


def _attached_anyhow(storage: Storage, node: str) -> Iterator[tuple[str, str]]:
    for each in storage.attachments:
        volume = storage.volume(each["spec"]["source"].get("persistentVolumeName") or "")
        if each["spec"]["nodeName"] == node and volume is not None and "csi" in volume["spec"]:
            yield each["spec"]["attacher"], volume["spec"]["csi"]["volumeHandle"]


def _is_awaited(driver: Document | None, csi_node: Document | None) -> bool:
    if driver is None or not driver["spec"].get("preventPodSchedulingIfMissing"):
        return False
    listed = ((csi_node or {}).get("spec") or {}).get("drivers") or []
    return all(each["name"] != driver["metadata"]["name"] for each in listed)


# --- parts ---


def _annotations(thing: Document) -> Document:
    return thing["metadata"].get("annotations") or {}
