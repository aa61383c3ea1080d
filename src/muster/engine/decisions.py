"""What the engine wants done, as plain data.

A driver carries it out, and reports as changes what became of binds and whom it spared.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from muster.framework.grants import Grant
from muster.framework.questions import Question
from muster.gangs.model import Aspect
from muster.gangs.record import LONE, BoundFor


class _Decision(msgspec.Struct, frozen=True, gc=False, tag_field="decision", omit_defaults=True):
    pass


class PodRef(msgspec.Struct, frozen=True, gc=False, array_like=True):
    uid: str
    pod: str
    """namespace/name"""


class Placement(msgspec.Struct, frozen=True, gc=False, array_like=True):
    uid: str
    pod: str
    node: str
    bound_for: BoundFor = LONE
    """To be written onto the pod with the bind."""


class Bind(_Decision, frozen=True, tag="bind"):
    """Bind all of these together; before the last of them is sent nothing else is sent for the unit.

    Every placement must be answered, by Bound or BindFailed, or by a change that shows the pod bound or gone: until
    then its room stays taken.  An answer that was lost is a transient failure.
    """

    unit: str
    """Key of the gang, or of the lone pod."""
    pods: tuple[Placement, ...]
    after: Aspect | None = None
    """Nothing is sent before the gang's object says what it is to say of this."""


class Prepare(_Decision, frozen=True, tag="prepare"):
    """Write these grants: what they bring must be ready before members of the unit are bound.

    That one stands is seen by the objects themselves; one that cannot be written is answered by GrantFailed.
    """

    unit: str
    """Key of the gang, or of the lone pod."""
    grants: tuple[Grant, ...]


class TakeBack(_Decision, frozen=True, tag="take-back"):
    """Undo these grants, if they were written and nobody has acted on them; to be tried until that is so."""

    unit: str
    grants: tuple[Grant, ...]


class Consult(_Decision, frozen=True, tag="consult"):
    """Ask plugins these questions, each of which is to be answered (Answered), however late, unless it is withdrawn."""

    unit: str
    """Key of the gang, or of the lone pod."""
    questions: tuple[Question, ...]


class Withdraw(_Decision, frozen=True, tag="withdraw"):
    """The pods are not bound there after all: nobody waits for answers any more, and plugins undo what they did."""

    unit: str
    questions: tuple[Question, ...]
    """All that was asked about these pods, answered or not."""


class TellBound(_Decision, frozen=True, tag="tell-bound"):
    """The pod is bound: plugins that attend are told so, and nothing that they were asked is withdrawn any more."""

    uid: str
    pod: str
    """namespace/name"""
    node: str


class Release(_Decision, frozen=True, tag="release"):
    """Delete these pods by UID: they are bound, and their gang cannot start with them.

    They count for nothing from now on; a deletion that fails must be tried again until the pods are gone.
    """

    unit: str
    pods: tuple[PodRef, ...]
    reason: str
    message: str


class Evict(_Decision, frozen=True, tag="evict"):
    """Delete these pods by UID, with their own grace, and say on each why: room for a unit of higher priority.

    Only the engine asks for it, and only when the unit has a place with all of them gone.  Deletions that fail are
    repeated as a Release's are.  Until its deletion is sent an eviction can be called off (CallOff); an Evict of a pod
    that waits for an earlier one takes its place.
    """

    unit: str
    """Who gets the room: key of the gang, or of the lone pod."""
    pods: tuple[PodRef, ...]
    reason: str
    message: str
    after: tuple[str, ...] = ()
    """UIDs of pods whose nominations must stand on the API before a deletion is sent: should the scheduler die before
    that, nobody was disturbed; should it die after, the next one knows for whom."""
    note: str = ""
    """What an event on each of the pods says once its deletion is sent."""


class CallOff(_Decision, frozen=True, tag="call-off"):
    """Do not evict these pods after all: what they were to make room for is lost, or needs them gone no longer.

    They stay or go together: if a deletion of any of them was sent, all go.  Else none is sent, and the driver says so
    (Spared); until then the pods count as leaving.
    """

    unit: str
    """For whom they were to be evicted."""
    pods: tuple[PodRef, ...]


class Loss(StrEnum):
    """Why room that others were evicted for did not serve whom it was meant for."""

    NODE = "node lost"
    """A node went, or changed so that it no longer takes the members."""
    FOREIGN = "foreign bind"
    """Another scheduler put a pod there."""
    PREEMPTOR = "preemptor changed"
    """It was deleted, or is no longer what the room was made for."""
    PRIORITY = "higher priority"
    """A unit of higher priority took the room."""
    VICTIMS = "victims stay"
    """Pods that were to leave did not, within the time that a unit waits for them."""


class Lost(_Decision, frozen=True, tag="lost"):
    """Write into the log, and tell people: the unit evicted pods and does not get their room."""

    unit: str
    why: Loss
    message: str


class PodCondition(_Decision, frozen=True, tag="pod-condition"):
    """Write PodScheduled=False with this reason and message on each of the pods, and where room is reserved for it."""

    pods: tuple[PodRef, ...]
    reason: str
    message: str
    transition: bool = True
    """The pods did not say so before, for whatever reason: the time of transition is now."""
    nominated: tuple[str, ...] = ()
    """A node for each of the pods: its nominatedNodeName.  Without, they are nominated nowhere, and that is written."""


class GangCondition(_Decision, frozen=True, tag="gang-condition"):
    """Write on the declaring object how the gang is; its dialect knows how that is spelled."""

    gang: str
    holds: bool
    """Whether the aspect is true."""
    reason: str
    message: str
    aspect: Aspect = Aspect.STARTED
    uid: str = ""
    """Of the declaring object: another one of its name, made meanwhile, does not say so."""


class MarkStarted(_Decision, frozen=True, tag="mark-started"):
    """Write on each of the pods, in no hurry, that their gang has started: its declaring object has no status.

    To be tried until it stands there or the pod is gone.
    """

    gang: str
    pods: tuple[PodRef, ...]


class Reread(_Decision, frozen=True, tag="reread"):
    """Read the object that declares the gang again, from the API server itself, and tell what it says (GroupRead).

    To be tried until it is answered: members that came after the gang's start wait for it.  A newer one for the same
    gang takes its place.
    """

    gang: str
    number: int
    """Of all that were asked for: the answer names it."""


class Event(_Decision, frozen=True, tag="event"):
    """Tell people; may be dropped under pressure."""

    reason: str
    note: str
    action: str
    warning: bool = False
    pods: tuple[PodRef, ...] = ()
    gang: str = ""
    node: str = ""


Decision = (
    Bind
    | Prepare
    | TakeBack
    | Consult
    | Withdraw
    | TellBound
    | Release
    | Evict
    | CallOff
    | Lost
    | PodCondition
    | GangCondition
    | MarkStarted
    | Reread
    | Event
)
