"""What the engine wants done, as plain data.  A driver carries it out and reports bind results as changes."""

from __future__ import annotations

import msgspec


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


class Bind(_Decision, frozen=True, tag="bind"):
    """Bind all of these together; before the last of them is sent nothing else is sent for the unit.

    Every placement must be answered, by Bound or BindFailed, or by a change that shows the pod bound or gone: until
    then its room stays taken.  An answer that was lost is a transient failure.
    """

    unit: str
    """Key of the gang, or of the lone pod."""
    pods: tuple[Placement, ...]


class Release(_Decision, frozen=True, tag="release"):
    """Delete these pods by UID: they are bound, and their gang cannot start with them.

    They count for nothing from now on; a deletion that fails must be tried again until the pods are gone.
    """

    unit: str
    pods: tuple[PodRef, ...]
    reason: str
    message: str


class PodCondition(_Decision, frozen=True, tag="pod-condition"):
    """Write PodScheduled=False with this reason and message on each of the pods."""

    pods: tuple[PodRef, ...]
    reason: str
    message: str
    transition: bool = True
    """The pods did not say so before, for whatever reason: the time of transition is now."""


class GangCondition(_Decision, frozen=True, tag="gang-condition"):
    """Write on the declaring object whether the gang started; its dialect knows how that is spelled."""

    gang: str
    started: bool
    reason: str
    message: str


class Event(_Decision, frozen=True, tag="event"):
    """Tell people; may be dropped under pressure."""

    reason: str
    note: str
    action: str
    warning: bool = False
    pods: tuple[PodRef, ...] = ()
    gang: str = ""
    node: str = ""


Decision = Bind | Release | PodCondition | GangCondition | Event
