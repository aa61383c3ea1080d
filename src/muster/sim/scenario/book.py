"""Names that a scenario file brings up: which exist, which are referred to, which it needs on the side."""

from __future__ import annotations

import difflib

from muster.sim.scenario import manifests
from muster.sim.scenario.manifests import NAMESPACE, Manifest
from muster.sim.scenario.place import Place


class Book:
    """Names are noted while the file is read; references are checked at its end, so that order is free."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, None]] = {"gang": {}, "pod": {}, "node": {}, "budget": {}, "object": {}}
        """By kind: keys of everything that any line creates."""
        self._pods: dict[str, list[Manifest]] = {}
        """By "gang/" or "pod/" and the key: the pods."""
        self._selected: dict[str, dict[str, str]] = {}
        """The same of what budgets select: the label by which they do."""
        self._references: list[tuple[Place, str, str]] = []
        self.classes: dict[str, Manifest] = {}
        """PriorityClasses that must exist from the start."""
        self.together: dict[str, str] = {}
        """Lone pods that one entry creates: the pod's key to the entry's name."""
        self._members: dict[str, int] = {}
        """How many members of each gang have been numbered."""

    def note(self, manifest: Manifest) -> None:
        """An object that some line creates."""
        key = manifests.key(manifest)
        if manifest["kind"] == "PriorityClass":
            return
        if manifest["kind"] == "PodGroup":
            self._known["gang"][key] = None
        elif manifest["kind"] == "Node":
            self._known["node"][key] = None
        elif manifest["kind"] == "PodDisruptionBudget":
            self._known["budget"][key] = None
        elif manifest["kind"] != "Pod":
            self._known["object"][f"{manifest['kind']}/{manifest['metadata']['name']}"] = None
        else:
            self._known["pod"][key] = None
            self._pods.setdefault(f"pod/{key}", []).append(manifest)
            name = (manifest["spec"].get("schedulingGroup") or {}).get("podGroupName")
            if name:
                gang = f"{manifest['metadata'].get('namespace', NAMESPACE)}/{name}"
                self._known["gang"][gang] = None
                self._pods.setdefault(f"gang/{gang}", []).append(manifest)

    def refer(self, place: Place, kind: str, name: str) -> str:
        """The key of something that the file must create somewhere."""
        key = name if kind == "node" or "/" in name else f"{NAMESPACE}/{name}"
        self._references.append((place, kind, key))
        return key

    def check_references(self) -> None:
        for place, kind, key in self._references:
            if key not in self._known[kind]:
                name = key.removeprefix(f"{NAMESPACE}/")
                known = [known.removeprefix(f"{NAMESPACE}/") for known in self._known[kind]]
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean '{close[0]}'?" if close else f"no line creates a {kind} of that name"
                raise place.error(f"there is no {kind} '{name}' in this file", hint)

    def select(self, kind: str, key: str) -> dict[str, str]:
        """A label that all pods of that gang, or that pod, will have, and no others."""
        label = {kind: key.rpartition("/")[2]}
        self._selected[f"{kind}/{key}"] = label
        return label

    def label_selected(self) -> None:
        """Gives pods the labels by which budgets select them; at the end, when all pods are known."""
        for what, label in self._selected.items():
            for manifest in self._pods.get(what, ()):
                metadata = manifest["metadata"]
                metadata["labels"] = {**metadata.get("labels", {}), **label}

    def priority_class(self, manifest: Manifest) -> None:
        self.classes[manifest["metadata"]["name"]] = manifest

    def class_for(self, priority: int, preempts: bool) -> str:
        """The name of a PriorityClass of this value, made if need be."""
        name = f"priority-{priority}" if priority >= 0 else f"priority-minus-{-priority}"
        name += "" if preempts else "-never"
        self.classes.setdefault(name, manifests.priority_class(name, priority, preempts=preempts))
        return name

    def number_members(self, gang: str, count: int) -> int:
        """Counts new members of a gang; returns how many have been numbered before."""
        before = self._members.get(gang, 0)
        self._members[gang] = before + count
        return before
