"""Upstream's cases of what wakes a pod that waits: a change, and a small cluster in which the pod waits for it.

Upstream asks its plugins about the change alone.  Muster has no such question: a pod waits, and after the change it is
placed or is not.  So a cluster is put around the change, on several stages, since none suits all:

    as it is      the node of the change alone, with room
    elsewhere     another node as well, full: an empty domain, or one with company of the kind that the pod looks for
    full          the node of the change is full, and the other one has room
"""

import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from muster.api.wire import Node, Pod
from muster.base.quantity import amount
from muster.engine.changes import Change, NodeGone, NodeSeen, PodGone, PodSeen
from tests.plugins.cases import ROOM, Case, Document, pod_document, pod_of, read

_FULL = {"pods": "0"}
_BORNE: dict[str, Document] = {
    "NodeUnschedulable": {"unschedulable": True},
    "TaintToleration": {"taints": [{"key": "foo", "effect": "NoSchedule"}]},
}


class Stage(NamedTuple):
    name: str
    before: list[Change]
    """The cluster in which the pod is to wait, the pod last."""
    change: Change
    after: list[Change]
    """The cluster as somebody finds it who comes after the change."""


def stages(case: Case) -> Iterator[Stage]:
    yield _stage(case, "as it is", [], room={})
    yield _stage(case, "elsewhere", [_other(case, "elsewhere", room=_FULL)], room={})
    for domain in ("zone1", "zone2"):
        yield _stage(case, f"company in {domain}", _company(case, domain, room=_FULL), room={})
    yield _stage(case, "full", _company(case, "elsewhere", room={}), room=_FULL)


def _stage(case: Case, name: str, others: list[Document], *, room: dict[str, str]) -> Stage:
    event, pod = case.facts["event"], pod_of(case)
    if event["of"] == "node":
        old, new = (None if node is None else _node(case, node, room=room) for node in (event["old"], event["new"]))
        gone: Change = NodeGone(old["metadata"]["name"] if old else "")
    else:
        others = [*others, _place(case, room=room)]
        old, new = (None if one is None else _neighbour(one) for one in (event["old"], event["new"]))
        gone = PodGone("other")
    if event["of"] == "itself":
        changed = _changed(pod, event["new"])
        return Stage(name, _all_seen(*others, pod), _seen(changed), _all_seen(*others, changed))
    return Stage(name, _all_seen(*others, old, pod), _seen(new) if new else gone, _all_seen(*others, new, pod))


def _all_seen(*documents: Document | None) -> list[Change]:
    return [_seen(document) for document in documents if document is not None]


def _seen(document: Document) -> Change:
    return PodSeen(read(Pod, document)) if "containers" in document.get("spec", {}) else NodeSeen(read(Node, document))


def _changed(pod: Document, new: Document) -> Document:
    """The pod that waits, with what the change says of it."""
    found = copy.deepcopy(pod)
    found["metadata"]["labels"] = new.get("metadata", {}).get("labels", {})
    for field in ("tolerations", "schedulingGates"):
        found["spec"].pop(field, None)
        found["spec"] |= {field: new["spec"][field]} if field in new.get("spec", {}) else {}
    return found


def _neighbour(document: Document) -> Document:
    """The pod of the change; whoever has no node is another scheduler's to place."""
    found = pod_document(document, "other")
    found["spec"]["schedulerName"] = "somebody"
    return found


# --- nodes ---


def _node(case: Case, document: Document, *, room: dict[str, str]) -> Document:
    given = document.get("status", {}).get("allocatable") if case.plugin == "NodeResourcesFit" else None
    return document | {"status": {"allocatable": (given or ROOM) | room}}


def _place(case: Case, *, room: dict[str, str]) -> Document:
    """The node that the pods of the change are on, in a domain of its own."""
    pods = [pod.get("spec", {}) for pod in (case.facts["event"]["old"], case.facts["event"]["new"]) if pod]
    name = next((spec["nodeName"] for spec in pods if "nodeName" in spec), "fake-node")
    return {
        "metadata": {"name": name, "labels": dict.fromkeys(_keys(case.facts), name)},
        # what the pod that changes learns to bear
        "spec": _BORNE.get(case.plugin, {}) if case.facts["event"]["of"] == "itself" else {},
        "status": {"allocatable": (_tight(case) if case.plugin == "NodeResourcesFit" else ROOM) | room},
    }


def _tight(case: Case) -> dict[str, str]:
    """A little less than what the pod and its neighbour request together."""
    together: Counter[str] = Counter()
    for pod in (case.facts["pod"], case.facts["event"]["old"] or {}):
        spec = pod.get("spec", {})
        for holder in (*spec.get("containers", ()), spec):
            asked = holder.get("resources", {}).get("requests", {})
            together.update({resource: amount(resource, text) for resource, text in asked.items()})
    return {"pods": "9"} | {name: f"{n - 1}m" if name == "cpu" else str(n - 1) for name, n in together.items()}


def _other(case: Case, domain: str, *, room: dict[str, str]) -> Document:
    labels = dict.fromkeys(_keys(case.facts), domain)
    return {"metadata": {"name": "elsewhere", "labels": labels}, "status": {"allocatable": ROOM | room}}


def _company(case: Case, domain: str, *, room: dict[str, str]) -> list[Document]:
    """A node with a pod that all selectors of the waiting pod choose."""
    labels: dict[str, str] = {}
    for selector in _found("labelSelector", case.facts["pod"]):
        labels |= selector.get("matchLabels", {})
        labels |= {one["key"]: one.get("values", [""])[0] for one in selector.get("matchExpressions", ())}
    namespace = case.facts["pod"].get("metadata", {}).get("namespace", "default")
    pod = {"metadata": {"labels": labels, "namespace": namespace}, "spec": {"nodeName": "elsewhere"}}
    return [_other(case, domain, room=room), pod_document(pod, "company")]


def _keys(document: Any) -> set[str]:
    return set(_found("topologyKey", document))


def _found(field: str, document: Any) -> Iterator[Any]:
    if isinstance(document, dict):
        for name, value in document.items():
            yield from [value] if name == field else _found(field, value)
    elif isinstance(document, list):
        for value in document:
            yield from _found(field, value)
