"""What the engine is told: an object appeared, changed or went; a bind succeeded or failed; a victim was spared; a
plugin answered."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from muster.api.kinds import AnyFact
from muster.api.wire import Node, Pod, PodDisruptionBudget, PodGroup
from muster.framework.grants import Grant
from muster.framework.questions import Question


class _Change(msgspec.Struct, frozen=True, gc=False, tag_field="change", omit_defaults=True):
    pass


class PodSeen(_Change, frozen=True, tag="pod"):
    """A pod as it is now, new or changed."""

    pod: Pod


class PodGone(_Change, frozen=True, tag="pod-gone"):
    uid: str


class NodeSeen(_Change, frozen=True, tag="node"):
    node: Node


class NodeGone(_Change, frozen=True, tag="node-gone"):
    name: str


class GroupSeen(_Change, frozen=True, tag="group"):
    """An object that declares a gang, as it is now."""

    group: PodGroup

    @property
    def key(self) -> str:
        """namespace/name"""
        return f"{self.group.metadata.namespace}/{self.group.metadata.name}"


class GroupGone(_Change, frozen=True, tag="group-gone"):
    key: str
    """namespace/name"""


class GroupRead(_Change, frozen=True, tag="group-read"):
    """The answer to a Reread: the object that declares a gang, as it was after that was asked; None if there is none.

    What is told of a group never goes back: after this, no older view of the object is seen.
    """

    key: str
    """namespace/name"""
    number: int
    """Of the Reread."""
    group: PodGroup | None = None


class BudgetSeen(_Change, frozen=True, tag="budget"):
    """A disruption budget as it is now."""

    budget: PodDisruptionBudget


class BudgetGone(_Change, frozen=True, tag="budget-gone"):
    key: str
    """namespace/name"""


class FactSeen(_Change, frozen=True, tag="fact"):
    """An object of a kind that plugins read (api/kinds.py), as it is now."""

    fact: AnyFact


class FactGone(_Change, frozen=True, tag="fact-gone"):
    kind: str
    """Its name in the table of kinds."""
    key: str


class Bound(_Change, frozen=True, tag="bound"):
    """A bind was acknowledged at `at`."""

    uid: str
    node: str
    at: float


class Failure(StrEnum):
    """Why a bind failed, by what there is to do about it."""

    TRANSIENT = "transient"
    """The server did not answer or was busy: the same bind may succeed later."""
    REJECTED = "rejected"
    """Not on this node (node gone, room taken): another place is needed."""
    DENIED = "denied"
    """Somebody's policy says no (403, 422): perhaps not for long, perhaps not elsewhere."""
    POD_GONE = "pod-gone"
    """The pod was deleted, or replaced by one with another UID."""


class BindFailed(_Change, frozen=True, tag="bind-failed"):
    uid: str
    node: str
    failure: Failure
    message: str = ""


class GrantFailed(_Change, frozen=True, tag="grant-failed"):
    """A grant was not written, and will not be: the object is not as it was, or somebody forbids it."""

    grant: Grant
    message: str


class Answered(_Change, frozen=True, tag="answered"):
    """What a plugin said that was to be asked."""

    question: Question
    no: str = ""
    """Why not; "" for yes."""
    mistake: bool = False
    """It raised, or gave what is no answer: the message says so, with its name."""


class Spared(_Change, frozen=True, tag="spared"):
    """Evictions that were called off in time: no deletion of these pods was sent, and none will be."""

    uids: tuple[str, ...]


Change = (
    PodSeen
    | PodGone
    | NodeSeen
    | NodeGone
    | GroupSeen
    | GroupGone
    | GroupRead
    | BudgetSeen
    | BudgetGone
    | FactSeen
    | FactGone
    | Bound
    | BindFailed
    | GrantFailed
    | Answered
    | Spared
)
