"""Muster's engine, asked about one pod after another, as kube-scheduler and the plain scheduler are.

    muster = Muster(configuration, around, began=time.time())
    muster.take(nodes, pods)        objects as the API server gives them out
    muster.tell(storage)            all there is about volumes, as it is now
    muster.equip(gear)              all there is about devices, but their classes
    muster.about(pod)               a node and what all were worth, or what its condition says
    muster.sees(pod)                as it is now: where somebody else has put it, say
    muster.loses(pod)

What it is told goes through JSON and `Engine.apply`, what it says comes from `Engine.decide`.
"""

import copy
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from muster.api.kinds import (
    ATTACHMENTS,
    CLAIMS,
    CSI_DRIVERS,
    CSI_NODES,
    DEVICE_TAINT_RULES,
    KINDS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    STORAGE_CAPACITIES,
    STORAGE_CLASSES,
    VOLUMES,
    Kind,
)
from muster.api.wire import Fact, Identity, Node, Pod, PodDisruptionBudget
from muster.app.configuration import loads
from muster.engine.changes import BudgetSeen, Change, FactGone, FactSeen, NodeSeen, PodGone, PodSeen
from muster.engine.decisions import Bind, Decision, Evict, PodCondition, Prepare, TakeBack
from muster.engine.engine import Engine
from muster.engine.walk import keys
from muster.framework.grants import Grant
from muster.framework.views import PRECEDENCE_BITS, TIE_BREAK_BITS
from tests.plain_scheduler.random_clusters import Surroundings
from tests.plain_scheduler.random_devices import Gear
from tests.plain_scheduler.selectors import Document
from tests.plain_scheduler.storage import Storage

_STORED = {
    "classes": STORAGE_CLASSES,
    "drivers": CSI_DRIVERS,
    "csi_nodes": CSI_NODES,
    "capacities": STORAGE_CAPACITIES,
    "claims": CLAIMS,
    "volumes": VOLUMES,
    "attachments": ATTACHMENTS,
}
"""By the field of a Storage."""
_EQUIPPED = {"slices": RESOURCE_SLICES, "rules": DEVICE_TAINT_RULES, "claims": RESOURCE_CLAIMS}
"""By the field of a Gear."""
_NODES, _PODS, _BUDGETS = (msgspec.json.Decoder(kind) for kind in (Node, Pod, PodDisruptionBudget))


@dataclass(frozen=True)
class Said:
    node: str | None
    """Where it goes, as soon as what it brings is ready."""
    message: str
    """Of the PodScheduled condition, when there is no node."""
    below_best: Mapping[str, int]
    """By node that takes the pod: how far its total score is below the best."""

    nominated: str = ""
    """The node that others leave for the pod..."""
    victims: frozenset[str] = frozenset()
    """...and who they are, by UID."""
    grants: tuple[Grant, ...] = ()
    """What is to be written before the pod is bound."""
    taken_back: tuple[Grant, ...] = ()
    """What somebody had granted before, and keeps the pod from a place."""

    @property
    def best(self) -> set[str]:
        return {node for node, below in self.below_best.items() if not below}


class Muster:
    def __init__(self, configuration: Document, around: Surroundings, *, began: float) -> None:
        """`began` is the time, by the clock that the objects' timestamps come from."""
        kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        self._engine = Engine(*loads(json.dumps(kind | configuration)).settings.make_profiles())
        self.bound: dict[str, str] = {}
        """Where it has put pods, by UID."""
        self._told: dict[tuple[str, str], Document] = {}
        self._now = began
        for kind_read in KINDS.values():
            decoder = msgspec.json.Decoder(kind_read.struct)
            self._engine.apply([FactSeen(_read(decoder, each)) for each in around.of(kind_read.resource.plural)])
        self._engine.apply([BudgetSeen(_read(_BUDGETS, each)) for each in around.of("poddisruptionbudgets")])

    def take(self, nodes: Iterable[Document], pods: Iterable[Document]) -> None:
        changes: list[Change] = [NodeSeen(_read(_NODES, node)) for node in nodes]
        self._engine.apply([*changes, *(PodSeen(_read(_PODS, pod)) for pod in pods)])
        self._decide()

    def about(self, pod: Document) -> Said:
        """Of others that it decides on the way nothing is told but `bound`."""
        self._engine.apply([PodSeen(_read(_PODS, pod))])
        uid = pod["metadata"]["uid"]
        below_best = self._below_best(uid)
        message, nominated, victims, grants, taken_back = "", "", frozenset[str](), list[Grant](), list[Grant]()
        for decision in self._decide():
            match decision:
                case PodCondition(pods=(ref,)) if ref.uid == uid:
                    message, nominated = decision.message, "".join(decision.nominated)
                case Evict():
                    victims |= {ref.uid for ref in decision.pods}
                case Prepare():
                    grants += decision.grants
                case TakeBack():
                    taken_back += decision.grants
        node = self._engine.cluster.pods[uid].node if grants else self.bound.get(uid)
        return Said(node, message, below_best, nominated, victims, tuple(grants), tuple(taken_back))

    def tell(self, storage: Storage) -> None:
        """What has changed of volumes, before anything is decided."""
        for field, kind in _STORED.items():
            self._tell(kind, vars(storage)[field])

    def equip(self, gear: Gear) -> None:
        """What has come, changed or gone of devices, before anything is decided."""
        for field, kind in _EQUIPPED.items():
            there = vars(gear)[field]
            self._tell(kind, there)
            names = {document["metadata"]["name"] for document in there}
            for at in [at for at in self._told if at[0] == kind.name and at[1] not in names]:
                gone = self._told.pop(at)["metadata"]
                key = kind.key(Identity(name=gone["name"], namespace=gone.get("namespace", "")))
                self._engine.apply([FactGone(kind.name, key)])

    def _tell(self, kind: Kind[Fact], documents: Iterable[Document]) -> None:
        decoder = msgspec.json.Decoder(kind.struct)
        for document in documents:
            at = kind.name, document["metadata"]["name"]
            if self._told.get(at) != document:
                self._told[at] = copy.deepcopy(document)
                self._engine.apply([FactSeen(_read(decoder, {**document, "kind": kind.resource.kind}))])

    def sees(self, pod: Document) -> None:
        self._engine.apply([PodSeen(_read(_PODS, pod))])
        self._decide()

    def loses(self, pod: Document) -> None:
        self._engine.apply([PodGone(pod["metadata"]["uid"])])
        self._decide()

    def _decide(self) -> list[Decision]:
        self._now += 1
        found = self._engine.decide(self._now)
        while self._engine.next_decide_at == self._now:
            found += self._engine.decide(self._now)
        for decision in found:
            if isinstance(decision, Bind):
                self.bound.update((place.uid, place.node) for place in decision.pods)
        return found

    def _below_best(self, uid: str) -> dict[str, int]:
        """What the engine goes by, before it tells equals apart."""
        engine = self._engine
        nodes, views, pod_class = engine.cluster.nodes, engine._views, engine.cluster.pods[uid].pod_class
        view = views.of(pod_class)
        found = keys(views, view, views.room_ratings(view), view.copies > 0, views.outlooks(pod_class, nodes.usage))
        if found is None:
            return {}
        worth = {name: int(found[row]) >> (PRECEDENCE_BITS + TIE_BREAK_BITS) for name, row in nodes.rows.items()}
        takers = {name: worth[name] for name, row in nodes.rows.items() if found[row]}
        return {name: max(takers.values()) - total for name, total in takers.items()}


def _read(decoder: msgspec.json.Decoder, document: Document) -> object:
    return decoder.decode(msgspec.json.encode(document))
