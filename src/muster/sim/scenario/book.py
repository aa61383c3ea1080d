"""Names that a scenario file brings up: which exist, which are referred to, which it needs on the side."""

from __future__ import annotations

import difflib

from muster.sim.scenario import manifests
from muster.sim.scenario.manifests import NAMESPACE, Manifest
from muster.sim.scenario.place import Place


class Book:
    """Names are noted while the file is read; references are checked at its end, so that order is free."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, None]] = {"gang": {}, "pod": {}, "node": {}}
        """By kind: keys of everything that any line creates."""
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
        else:
            self._known["pod"][key] = None
            gang = (manifest["spec"].get("schedulingGroup") or {}).get("podGroupName")
            if gang:
                self._known["gang"][f"{manifest['metadata'].get('namespace', NAMESPACE)}/{gang}"] = None

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

    def priority_class(self, manifest: Manifest) -> None:
        self.classes[manifest["metadata"]["name"]] = manifest

    def class_for(self, priority: int) -> str:
        """The name of a PriorityClass of this value, made if need be."""
        name = f"priority-{priority}" if priority >= 0 else f"priority-minus-{-priority}"
        self.classes.setdefault(name, manifests.priority_class(name, priority))
        return name

    def number_members(self, gang: str, count: int) -> int:
        """Counts new members of a gang; returns how many have been numbered before."""
        before = self._members.get(gang, 0)
        self._members[gang] = before + count
        return before
