"""What a step does, as plain data: operations on Kubernetes objects, faults, the scheduler's restart.

A driver carries them out.  `told` is the action in words, for the timeline; empty where it goes without
saying.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from muster.engine.changes import Failure
from muster.sim.scenario.manifests import Manifest


class RefKind(StrEnum):
    GANG = "gang"
    """The PodGroup and the pods that name it."""
    GROUP = "group"
    """The PodGroup alone."""
    POD = "pod"
    NODE = "node"
    BUDGET = "budget"
    OBJECT = "object"
    """Of a kind that plugins read."""


class Ref(msgspec.Struct, frozen=True):
    """Something that a step points at: "gang/train"."""

    kind: RefKind
    key: str
    """namespace/name; of a node its name, of an object of another kind kind/name."""

    def __str__(self) -> str:
        return f"{self.kind} {short(self.key)}"


class _Action(msgspec.Struct, frozen=True, kw_only=True):
    where: str
    """The line of the file."""
    told: str = ""


class Create(_Action, frozen=True):
    manifests: tuple[Manifest, ...]


class Delete(_Action, frozen=True):
    what: Ref


class LoseNode(_Action, frozen=True):
    """The Node object goes, and the pods on it with it."""

    node: str


class Drain(_Action, frozen=True):
    """Cordon, and delete the pods on it."""

    node: str


class ChangeNode(_Action, frozen=True):
    """What is given replaces what the node has; labels and resources key by key."""

    node: str
    unschedulable: bool | None = None
    labels: dict[str, str] = {}
    unlabel: tuple[str, ...] = ()
    taints: tuple[Manifest, ...] | None = None
    allocatable: dict[str, str | int | float] = {}


class ChangeGang(_Action, frozen=True):
    """What is given replaces what the PodGroup has."""

    gang: str
    minimum: int | None = None
    annotations: dict[str, str] = {}


class ChangeBudget(_Action, frozen=True):
    """So many disruptions are allowed from now on."""

    budget: str
    allowed: int


class EndPods(_Action, frozen=True):
    """The pod, or the gang's pods that run, come to their end."""

    what: Ref
    failed: bool = False
    reason: str = ""


class Ungate(_Action, frozen=True):
    """All scheduling gates of the pod, or of the gang's pods, go."""

    what: Ref


class LabelPods(_Action, frozen=True):
    """The pod, or the gang's pods, have these labels from now on; None takes one away."""

    what: Ref
    labels: dict[str, str | None]


class DisturbBinds(_Action, frozen=True):
    """From now on binds of this gang or pod, or to this node, come late or fail."""

    what: Ref
    times: int | None = None
    """How many binds; None for all that follow."""
    failure: Failure | None = None
    delay_seconds: float = 0.0


class Restart(_Action, frozen=True):
    """The scheduler dies and another one starts; binds in flight for `lost` never arrive, others have."""

    lost: tuple[Ref, ...] = ()


Action = (
    Create
    | Delete
    | LoseNode
    | Drain
    | ChangeNode
    | ChangeGang
    | ChangeBudget
    | EndPods
    | Ungate
    | LabelPods
    | DisturbBinds
    | Restart
)


def short(key: str) -> str:
    """A key without the namespace that goes without saying."""
    return key.removeprefix("default/")
