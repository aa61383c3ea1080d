"""What happened, until the engine acts on it."""

from __future__ import annotations

from collections import OrderedDict, deque

from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState
from muster.engine.changes import BindFailed, Change
from muster.engine.life import Cause


class Noted:
    """What happened and has not been acted on; the engine takes from it piece by piece."""

    __slots__ = (
        "asking",
        "bound",
        "failed",
        "gangs",
        "members",
        "overruled",
        "pods",
        "spared",
        "supplied",
        "troubles",
        "unbound",
        "ungranted",
        "unreadable",
    )

    def __init__(self) -> None:
        self.unreadable: list[tuple[Change, str]] = []
        """Changes with an object that cannot be read, and why; they change nothing."""
        self.bound: deque[tuple[PodState, str]] = deque()
        """Pods whose bind was acknowledged, and where."""
        self.failed: list[tuple[PodState, BindFailed]] = []
        self.asking: list[PodState] = []
        """Pods to be shown to a gate again after a while: it failed with them, or its answer may change by itself."""
        self.unbound: list[tuple[PodState, str]] = []
        """Pods that are not bound to these nodes after all; kept only for plugins that reserve."""
        self.ungranted: list[PodState] = []
        """Pods that bring things, or about whom plugins were asked, and that are not bound after all."""
        self.supplied: list[str] = []
        """UIDs of pods of which something that they bring has changed, or about whom a plugin answered."""
        self.pods: deque[tuple[PodState, Cause]] = deque()
        """Lone pods of ours that came, changed or went."""
        self.gangs: OrderedDict[str, Cause] = OrderedDict()
        """Gangs of which anything changed, and what was the last that did."""
        self.members: list[PodState] = []
        """Members of gangs that came or changed."""
        self.overruled: list[PodState] = []
        """Pods that turned out to name a gang in vain."""
        self.spared: list[str] = []
        """UIDs of pods whose evictions were called off in time."""
        self.troubles: list[tuple[str, Exception]] = []
        """Pods with which a gate failed, and how."""

    def changed(self, pod: PodState, gang: GangState | None, cause: Cause) -> None:
        """Something happened to the pod, which is in this gang or in none."""
        if gang is not None:
            self.gangs[gang.key] = cause
        elif pod.ours:
            self.pods.append((pod, cause))
