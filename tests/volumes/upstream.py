"""Upstream's own cases about volumes, as `upstream_cases/` has them, and how they are read.

A line is a case: objects as JSON has them (pod, claims, volumes, classes, drivers, capacities, csinodes, attachments;
`everywhere`: pods on all nodes), and what upstream answered to the calls of its test, in order:

    what        prefilter, filter: `code` and what is `said`; classify: bound, immediate, delayed claims;
                find: reasons, bound (volume by claim), made (capacity object by claim); score; scorer: shape, resources
    node, here  the node asked about, and the pods on it
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from muster.api.volumes import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from muster.api.wire import Fact, Pod
from muster.volumes.needs import Need, Sharing, need_of
from muster.volumes.nodes import Site
from muster.volumes.storage import Stock, Storage, migrated_on

Document = dict[str, Any]
_FOLDER = Path(__file__).parent / "upstream_cases"

ALL_SHARED = Sharing(claim=lambda _: True, volume=lambda *_: True)


class Answer(NamedTuple):
    """One answer of upstream within a case."""

    plugin: str
    case: Document
    facts: Document

    @property
    def id(self) -> str:
        return f"{self.case['id']} {self.facts['what']} {self.facts.get('node', {}).get('metadata', {}).get('name')}"


@cache
def answers(plugin: str, *whats: str) -> list[Answer]:
    cases = map(json.loads, (_FOLDER / f"{plugin}.jsonl").read_text().splitlines())
    return [Answer(plugin, case, facts) for case in cases for facts in case["answers"] if facts["what"] in whats]


def storage_of(case: Document) -> Storage:
    return Storage(
        claims={f"{each.metadata.namespace}/{each.metadata.name}": each for each in _all(case, "claims")},
        volumes=Stock(_all(case, "volumes")),
        classes={each.metadata.name: each for each in _all(case, "classes")},
        drivers={each.metadata.name: each for each in _all(case, "drivers")},
        nodes={each.metadata.name: each for each in _all(case, "csinodes")},
        capacities={each.metadata.name: each for each in _all(case, "capacities")},
    )


def attachments_of(case: Document) -> list[VolumeAttachment]:
    return _all(case, "attachments")


def pod_of(document: Document) -> Pod:
    metadata = {"name": "new", **document.get("metadata", {})}
    return msgspec.convert({**document, "metadata": metadata}, Pod)


def need(case: Document) -> Need:
    return need_of(pod_of(case.get("pod", {})), storage_of(case), ALL_SHARED)


def site_of(answer: Answer) -> Site:
    node = answer.facts["node"]["metadata"]
    csi_node = storage_of(answer.case).nodes.get(node.get("name", ""))
    return Site(node.get("name", ""), node.get("labels", {}), migrated_on(csi_node))


def csi_node_of(answer: Answer) -> CSINode | None:
    found = answer.facts.get("csinode")
    return None if found is None else _fact(CSINode, found)


_KINDS: dict[str, type[Fact]] = {
    "claims": PersistentVolumeClaim,
    "volumes": PersistentVolume,
    "classes": StorageClass,
    "drivers": CSIDriver,
    "csinodes": CSINode,
    "capacities": CSIStorageCapacity,
    "attachments": VolumeAttachment,
}


def _all(case: Document, field: str) -> list[Any]:
    return [_fact(_KINDS[field], each) for each in case.get(field, [])]


def _fact(kind: type[Fact], document: Document) -> Any:
    return msgspec.convert({**document, "kind": kind.__name__}, kind)
