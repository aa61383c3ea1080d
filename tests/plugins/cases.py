"""Upstream's own cases, the tables of its plugins' unit tests, and Muster with one plugin that is given one of them.

`upstream_cases/` has a file for each plugin and a line for each case, recorded while upstream's tests ran: objects as
JSON has them, arguments as a configuration file has them, and what upstream's plugin answered.

    id                       test file/test function/name of the case
    pod                      who is to be placed
    nodes, pods              who is there
    namespaces, services...  labels by name; whole objects
    args, gates              of the plugin; feature gates that are not as 1.37 has them
    refused, final           reasons by node; nodes where no eviction helps
    left, scores             nodes that are to be rated, if not all; normalised, null where the plugin rates nothing
    event, wakes             what changes while the pod waits; whether it is tried again
    asks                     features of kubelets that the pod needs

A few have other facts: `takes`, `fits`, `scored`, `held`, `error` of args, `image` and how it is `named`.
"""

import copy
import json
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from muster.api.wire import Namespace, Node, Pod, ReplicaSet, ReplicationController, Service, StatefulSet
from muster.app.configuration import loads
from muster.cluster.room import Room
from muster.engine.changes import Change, FactSeen, NodeSeen, PodSeen
from muster.engine.decisions import Bind
from muster.engine.engine import Engine
from muster.framework.contract import Bools, Outlook, PodGate, RoomFilter, RoomScore, RuleFilter, RuleScore, Wide
from muster.framework.profile import Plugin, Profile, Unsupported
from muster.framework.views import Views, peaks_of, rule_score
from muster.plugins.registry import Part, ProfileParts, make_plugins, make_profile

Document = dict[str, Any]

_FOLDER = Path(__file__).parent / "upstream_cases"
_OWNERS = {
    "services": Service,
    "replicationControllers": ReplicationController,
    "replicaSets": ReplicaSet,
    "statefulSets": StatefulSet,
}
ROOM = {"cpu": "1000", "memory": "1000Gi", "pods": "1000"}
"""Of nodes of which a case says nothing about room."""


class Case(NamedTuple):
    plugin: str
    facts: Document

    @property
    def id(self) -> str:
        found: str = self.facts["id"]
        return found


@cache
def cases(plugin: str) -> tuple[Case, ...]:
    lines = (_FOLDER / f"{plugin}.jsonl").read_text().splitlines()
    return tuple(Case(plugin, json.loads(line)) for line in lines)


def all_cases(fact: str) -> Iterator[Case]:
    """Those of all plugins that have the fact."""
    for path in sorted(_FOLDER.glob("*.jsonl")):
        yield from (case for case in cases(path.stem) if fact in case.facts)


# --- what is there, as an API server would give it out ---


def pod_of(case: Case) -> Document:
    """The pod that is to be placed; only the plugin NodeName looks at the node that it names."""
    found = pod_document(case.facts["pod"], "new")
    if case.plugin != "NodeName":
        found["spec"].pop("nodeName", None)
    return found


def pods_of(case: Case) -> list[Document]:
    return [pod_document(pod, f"pod-{number}") for number, pod in enumerate(case.facts.get("pods", ()))]


def nodes_of(case: Case) -> list[Document]:
    found = copy.deepcopy(case.facts.get("nodes", []))
    for node in found:
        status = node.setdefault("status", {})
        status["allocatable"] = ROOM if "allocatable" not in status else {"pods": "110"} | status["allocatable"]
    return found


def objects_of(case: Case, kind: str) -> list[Document]:
    """Services, or what controls pods."""
    found = copy.deepcopy(case.facts.get(kind, []))
    for number, each in enumerate(found):
        each["metadata"] = {"name": f"{kind}-{number}", "namespace": "default"} | each["metadata"]
    return found


def pod_document(document: Document, name: str) -> Document:
    found = copy.deepcopy(document)
    metadata, spec = found.setdefault("metadata", {}), found.setdefault("spec", {})
    metadata |= {"name": name, "uid": name, "namespace": metadata.get("namespace", "default")}
    spec |= {"containers": spec.get("containers", []), "schedulerName": "muster"}
    return found


# --- Muster ---


class Asked:
    """An engine whose profile has one plugin, that of the case, beside those that no profile can do without."""

    def __init__(self, case: Case) -> None:
        self._plugin: Plugin = make_plugins(plugins_of(case))[0][0]
        profile = profile_of(case)
        self.engine = Engine(profile)
        self.engine.apply(_changes(case))
        self._nodes = self.engine.cluster.nodes
        self._views = Views(profile, self._nodes)
        self._class = self.engine.cluster.pods["new"].pod_class
        if case.plugin == "NodeName":
            # nobody who is to be placed has a name to go by
            self._give(node_name=pod_of(case)["spec"].get("nodeName", ""))
        if "asks" in case.facts:
            self._give(features=tuple(case.facts["asks"]))

    def _give(self, **rules: object) -> None:
        self._class.rules = msgspec.structs.replace(self._class.rules, **rules)

    def refusals(self) -> dict[str, list[str]]:
        """Reasons by node."""
        plugin, found = self._plugin, dict[str, list[str]]()
        if isinstance(plugin, RuleFilter):
            reasons = plugin.refusals(self._class.rules, self._nodes, None)
        elif isinstance(plugin, RoomFilter):
            reasons = plugin.refusals(self._class, self._room)
        elif isinstance(plugin, Wide) and self._outlook is not None:
            reasons = self._outlook.refusals()
        else:
            reasons = []
        for reason, rows in reasons:
            for name, row in self._nodes.rows.items():
                # of one that looks at other pods, the first counts
                if rows[row] and (name not in found or not isinstance(plugin, Wide)):
                    found.setdefault(name, []).append(reason)
        return found

    def scores(self, left: Sequence[str]) -> dict[str, int] | None:
        """By node, relative to those that are left; None where the plugin rates none."""
        takes = np.zeros(self._nodes.capacity, np.bool_)
        takes[[self._nodes.rows[name] for name in left]] = True
        scores = self._scores(takes)
        if scores is None:
            return None
        by_row = np.broadcast_to(scores, takes.shape)
        return {name: int(by_row[self._nodes.rows[name]]) for name in left}

    def _scores(self, takes: Bools) -> Any:
        plugin: Any = self._plugin
        if isinstance(plugin, RoomScore):
            return np.reshape(plugin.score(self._class.line, self._room), -1)
        if isinstance(plugin, RuleScore):
            view = self._views.rules(self._class.rules)
            return rule_score(view, peaks_of(view, takes)) if view.raw else None
        if isinstance(plugin, Wide):
            return self._outlook.score(takes) if self._outlook is not None else None
        # by all nodes together
        return plugin.score(self._class, self._nodes) if plugin.concerns(self._class, self._nodes) else None

    @property
    def _room(self) -> Room:
        return Room(self._nodes, self._nodes.usage, None)

    @cached_property
    def _outlook(self) -> Outlook | None:
        found = self._views.outlooks(self._class, self._nodes.usage)
        return found[0][0] if found else None

    def decide(self) -> str | None:
        """The node that the engine binds the pod to."""
        binds = [found for found in self.engine.decide(0.0) if isinstance(found, Bind)]
        return next((one.node for bind in binds for one in bind.pods if one.uid == "new"), None)

    @property
    def held(self) -> str | None:
        """Why the pod is not decided yet."""
        plugin = self._plugin
        assert isinstance(plugin, PodGate)
        return plugin.holds(self.engine.cluster.pods["new"])

    @property
    def reasons(self) -> dict[str, int]:
        """How many nodes were refused for which reason in the engine's last attempt."""
        verdict = self.engine.audit.story(self.engine.cluster.pods["new"].key)[-1].verdict
        return {refusal.reason: refusal.nodes for need in verdict.needs for refusal in need.refusals}


def _changes(case: Case) -> Iterator[Change]:
    for name, labels in case.facts.get("namespaces", {}).items():
        yield FactSeen(read(Namespace, {"metadata": {"name": name, "labels": labels}}))
    for field, kind in _OWNERS.items():
        yield from (FactSeen(read(kind, each)) for each in objects_of(case, field))
    yield from (NodeSeen(read(Node, node)) for node in nodes_of(case))
    yield from (PodSeen(read(Pod, pod)) for pod in pods_of(case))
    yield PodSeen(read(Pod, pod_of(case)))


def profile_of(case: Case) -> Profile:
    return make_profile(ProfileParts(plugins=plugins_of(case), unsupported=Unsupported.IGNORE))


def plugins_of(case: Case) -> tuple[Part, ...]:
    """The plugin as a configuration file makes it, and what a profile needs besides."""
    return _plugins(case.plugin, json.dumps(case.facts.get("args"), sort_keys=True))


@cache
def _plugins(name: str, args: str) -> tuple[Part, ...]:
    config = [] if args == "null" else [{"name": name, "args": json.loads(args)}]
    profile = {"schedulerName": "muster", "pluginConfig": config}
    file = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
    parts = {part.name: part for part in loads(json.dumps(file)).settings.plugins}
    first = msgspec.structs.replace(parts[name], weight=min(1, parts[name].weight))
    rest = [Part(name=other) for other in ("PrioritySort", "GangScheduling", "NodeResourcesFit") if other != name]
    return (first, *rest)


def read(kind: type, document: Document) -> Any:
    return msgspec.convert(document, type=kind, strict=False)
