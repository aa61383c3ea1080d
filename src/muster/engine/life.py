"""The life of a unit: its phases, how much of it stands, and one table of how both change.

    gone → assembling → ready → trying → settled | waiting | reserving | backing off → ready …
    none → binding → whole → below its minimum → whole | fallen → binding …

A unit has two things to tell: what the queue does next with its members that have no node (`Phase`), and what stands
of it (`Strength`).  A gang that runs may have more members that wait, so neither follows from the other.

The scheduling queue moves units along `TRANSITIONS` of phases and along no other way, each time for a cause.  The
strength of a gang follows from what was bound and what is left (`GangState.strength`); that it changes along the table
only, and for a cause of its own, is asserted in simulated worlds (sim/transitions.py).  docs/architecture.md prints
the table (`make docs`).
"""

from __future__ import annotations

from collections.abc import Set
from enum import StrEnum
from typing import NamedTuple

from muster.cluster.gangs import Strength


class Phase(StrEnum):
    """What the queue does next with those members of a unit that have no node."""

    GONE = "gone"
    """Nothing: there is no such unit, it is not for this scheduler to decide, or it is a lone pod with a node."""
    ASSEMBLING = "assembling"
    """Nothing before its object, enough members and the end of their gates have come; people learn what is missing."""
    READY = "ready"
    """Tries the unit in its turn: by priority, then half bound, then lost members, then age."""
    TRYING = "trying"
    """It is the unit's turn."""
    WAITING = "waiting"
    """Tries it again when room has grown that can help, when others may be evicted for it, or after a long time."""
    RESERVING = "reserving"
    """The same, and when something changed where room is reserved for it: victims left, or the room is lost."""
    BACKING_OFF = "backing off"
    """Tries it again when its time is over, whatever changes: it was undone, or binds of it or attempts failed."""
    SETTLED = "settled"
    """Nothing: every member has a node or is getting one."""


class Cause(StrEnum):
    """What can change a unit's life."""

    MEMBER_CAME = "member came"
    """A pod was made, or joined, or its node came back."""
    MEMBER_CHANGED = "member changed"
    """Gates were lifted or asked again; its size, priority, gang's word on it or default spread changed."""
    MEMBER_ENDED = "member ended"
    """It succeeded."""
    MEMBER_LOST = "member lost"
    """It failed, is being deleted, went, left for another gang, or lost its node."""
    MEMBER_TURNED_AWAY = "member turned away"
    """Its kubelet did not let it in."""
    OBJECT_CAME = "object came"
    """Or changed: its minimum, its priority, what it says."""
    OBJECT_REMADE = "object made anew"
    """Under the same name with another UID."""
    OBJECT_WENT = "object went"
    TURN = "its turn"
    """It is the best of those that are ready."""
    PUT_BACK = "put back"
    """Its turn ended before it was tried, or before it was known whom to evict for it."""
    PLACED = "tried and placed"
    REFUSED = "tried and refused"
    RESERVED = "tried, and others leave for it"
    """Room is reserved for it; after a restart, as its pods say."""
    FAILED = "tried in vain"
    """The attempt failed, or proved nothing; or looking at it failed."""
    ROOM_GREW = "room grew"
    """So that it may help."""
    MAY_EVICT = "others may go"
    """It might have a place if others were evicted for it."""
    STARVES = "passed too often"
    """Nodes are held for it from now on."""
    RESERVED_CHANGED = "change where room is reserved"
    """Others left, came or went there; or the room was lost."""
    BOUND = "bind acknowledged"
    """By the answer or the watch; another scheduler's bind too."""
    BIND_REJECTED = "bind rejected"
    """And not repeated there."""
    TIME_PASSED = "time passed"
    """A backoff is over; a unit that waited is tried once more; something is to be looked at again."""
    DEADLINE_OVER = "deadline over"
    """It was bound in part for too long, or has waited for its start as long as it likes to."""
    DENIED = "denied for good"
    """Somebody's policy refuses members that it cannot do without."""
    TAKEN_DOWN = "taken down"
    """It was below its minimum for longer than it wants to be."""
    EVICTED = "members evicted"
    """By this scheduler, for a unit of higher priority."""
    SPARED = "members spared"
    """Their eviction was called off in time."""


State = Phase | Strength


class Transition(NamedTuple):
    """From any of `source`, for any of `cause`, to `target`."""

    source: tuple[State, ...]
    cause: tuple[Cause, ...]
    target: State
    says: str = ""
    """What people are told."""
    sets_in_motion: str = ""


_OBJECT = (Cause.OBJECT_CAME, Cause.OBJECT_REMADE)
_FEWER = (Cause.MEMBER_LOST, Cause.EVICTED)
_UNDONE = (Cause.DEADLINE_OVER, Cause.DENIED, Cause.TAKEN_DOWN)
_CHANGED = (
    Cause.MEMBER_CAME,
    Cause.MEMBER_CHANGED,
    Cause.MEMBER_ENDED,
    *_FEWER,
    *_OBJECT,
    Cause.OBJECT_WENT,
    Cause.BOUND,
    Cause.BIND_REJECTED,
    Cause.SPARED,
    *_UNDONE,
    Cause.TIME_PASSED,
)
"""Something of the unit is different: it is looked at as if it were new."""

_QUEUE = (
    Transition(
        (Phase.GONE, Phase.READY, Phase.WAITING, Phase.RESERVING, Phase.BACKING_OFF, Phase.SETTLED),
        _CHANGED,
        Phase.ASSEMBLING,
        says="after two quiet seconds: what is missing (object, members, gates, what nobody honours)",
        sets_in_motion="what is reserved for it is lost",
    ),
    Transition(
        (Phase.GONE, Phase.ASSEMBLING, Phase.WAITING, Phase.RESERVING, Phase.SETTLED),
        _CHANGED,
        Phase.READY,
        sets_in_motion="its attempt, in its turn",
    ),
    Transition(
        (Phase.GONE, Phase.ASSEMBLING, Phase.READY, Phase.WAITING, Phase.RESERVING, Phase.SETTLED),
        _CHANGED,
        Phase.BACKING_OFF,
        says="what failed",
        sets_in_motion="a timer: it was undone or failed, and is tried later each time",
    ),
    Transition(
        (Phase.GONE, Phase.ASSEMBLING, Phase.READY, Phase.WAITING, Phase.RESERVING, Phase.BACKING_OFF),
        _CHANGED,
        Phase.SETTLED,
        sets_in_motion="what is reserved for it is lost: nothing of it is left to place",
    ),
    Transition((Phase.READY,), (Cause.TURN,), Phase.TRYING),
    Transition((Phase.TRYING,), (Cause.PUT_BACK,), Phase.READY),
    Transition(
        (Phase.TRYING,),
        (Cause.PLACED,),
        Phase.SETTLED,
        says="nothing before a bind is acknowledged",
        sets_in_motion="all its binds, together; evictions for it that are not needed any more are called off",
    ),
    Transition((Phase.TRYING,), (Cause.PLACED,), Phase.READY, sets_in_motion="the same, and a try of those left over"),
    Transition(
        (Phase.TRYING,),
        (Cause.REFUSED,),
        Phase.WAITING,
        says="on group and pods: what is needed, what there is, what would do",
        sets_in_motion="who passes it is counted; a late timer",
    ),
    Transition(
        (Phase.TRYING,),
        (Cause.RESERVED,),
        Phase.RESERVING,
        says="for how many it waits, and where (nominatedNodeName)",
        sets_in_motion="evictions, once its nominations stand on the API",
    ),
    Transition((Phase.TRYING,), (Cause.FAILED,), Phase.BACKING_OFF, says="what failed", sets_in_motion="a timer"),
    Transition(
        (Phase.TRYING,),
        (Cause.REFUSED,),
        Phase.BACKING_OFF,
        says="the same as one that waits",
        sets_in_motion="what was made ready for others of it is given back; a timer",
    ),
    Transition(
        (Phase.WAITING, Phase.RESERVING),
        (Cause.ROOM_GREW, Cause.MAY_EVICT, Cause.STARVES, Cause.RESERVED_CHANGED),
        Phase.READY,
    ),
    Transition(
        (Phase.WAITING, Phase.RESERVING),
        (Cause.ROOM_GREW, Cause.MAY_EVICT, Cause.STARVES, Cause.RESERVED_CHANGED),
        Phase.BACKING_OFF,
        sets_in_motion="a timer, if it failed before",
    ),
    Transition((Phase.BACKING_OFF,), (Cause.TIME_PASSED, Cause.BOUND), Phase.READY),
    Transition(
        tuple(phase for phase in Phase if phase is not Phase.ASSEMBLING),
        (Cause.FAILED,),
        Phase.ASSEMBLING,
        says="what failed",
        sets_in_motion="a timer: then it is looked at as if it were new",
    ),
    Transition(
        tuple(phase for phase in Phase if phase not in (Phase.GONE, Phase.TRYING)),
        (*_CHANGED, Cause.FAILED),
        Phase.GONE,
        sets_in_motion="what is reserved for it is lost",
    ),
    Transition((Phase.TRYING,), (Cause.PLACED,), Phase.GONE, says="nothing: a lone pod", sets_in_motion="its bind"),
)

_UNSTARTED = (Strength.NONE, Strength.BINDING, Strength.PART, Strength.EARLIER, Strength.FALLEN)
_MORE = (Cause.MEMBER_CAME, Cause.BOUND, Cause.SPARED)
"""A member may stand that did not."""
_LESS = (*_FEWER, Cause.MEMBER_ENDED, Cause.BIND_REJECTED)
"""A member may stand no longer.  Those who succeeded may count for the first time then: one of them has just now, or
nobody is left with whom another run would begin."""

_STANDS = (
    Transition((Strength.NONE, Strength.PART, Strength.EARLIER, Strength.FALLEN), (Cause.PLACED,), Strength.BINDING),
    Transition(
        (Strength.NONE, Strength.PART, Strength.EARLIER, Strength.FALLEN),
        (*_MORE, Cause.MEMBER_ENDED, Cause.OBJECT_CAME),
        Strength.BINDING,
    ),
    Transition(
        (Strength.NONE, Strength.EARLIER, Strength.FALLEN),
        (*_MORE, Cause.OBJECT_CAME),
        Strength.PART,
        sets_in_motion="its deadline, counted from the first bound member",
    ),
    Transition((Strength.BINDING,), (*_LESS, Cause.OBJECT_CAME), Strength.PART, sets_in_motion="the same"),
    Transition(
        (Strength.NONE, Strength.FALLEN),
        _MORE,
        Strength.EARLIER,
        says="nothing: whoever bound them did not do it for this object",
    ),
    Transition((Strength.BINDING, Strength.PART, Strength.EARLIER), _LESS, Strength.NONE),
    Transition((Strength.BINDING, Strength.PART, Strength.EARLIER), _LESS, Strength.FALLEN, says="it had started once"),
    Transition((Strength.BINDING, Strength.PART), _LESS, Strength.EARLIER),
    Transition((Strength.BINDING, Strength.PART), (Cause.BOUND,), Strength.EARLIER, says="nothing: by somebody else"),
    Transition(
        (Strength.BINDING, Strength.PART),
        (Cause.DEADLINE_OVER, Cause.DENIED),
        Strength.NONE,
        says="that its time is over, or what was denied",
        sets_in_motion="what is bound of it is released",
    ),
    Transition(
        (Strength.BINDING, Strength.PART),
        (Cause.DEADLINE_OVER, Cause.DENIED),
        Strength.FALLEN,
        says="the same; it had started once",
        sets_in_motion="the same",
    ),
    Transition(
        (Strength.BINDING, Strength.PART),
        (Cause.DEADLINE_OVER, Cause.DENIED),
        Strength.EARLIER,
        says="the same; what ran before runs on",
        sets_in_motion="the same",
    ),
    Transition(
        _UNSTARTED,
        (*_MORE, *_LESS, *_OBJECT, Cause.PLACED),
        Strength.WHOLE,
        says="PodGroupInitiallyScheduled=True; it is no longer below its minimum, nor a disruption target",
        sets_in_motion="its deadline ends; what was in vain before is forgotten",
    ),
    Transition(
        _UNSTARTED,
        (*_MORE, Cause.MEMBER_ENDED, Cause.OBJECT_CAME),
        Strength.BELOW,
        says="PodGroupInitiallyScheduled=True, and then that it is below its minimum",
        sets_in_motion="the same as for any that is; it got what it was bound for, and had lost some by then",
    ),
    Transition(
        _UNSTARTED,
        (*_MORE, *_LESS, *_OBJECT, Cause.DEADLINE_OVER, Cause.DENIED),
        Strength.ENDED,
        says="PodGroupInitiallyScheduled=True: enough have succeeded",
    ),
    Transition(
        (Strength.WHOLE,),
        (*_LESS, *_MORE, Cause.OBJECT_CAME),
        Strength.BELOW,
        says="after two seconds PodGroupBelowMinimum=True (MembersLost)",
        sets_in_motion="its grace, if it asks to be restarted; who comes may have been promised more than is there",
    ),
    Transition(
        (Strength.BELOW,),
        (*_MORE, *_LESS, *_OBJECT),
        Strength.WHOLE,
        says="PodGroupBelowMinimum=False",
        sets_in_motion="what is left may be all that it was promised",
    ),
    Transition((Strength.WHOLE, Strength.BELOW), _LESS, Strength.ENDED),
    Transition((Strength.ENDED,), (*_MORE, Cause.PLACED), Strength.WHOLE),
    Transition((Strength.ENDED,), (*_MORE, Cause.PLACED), Strength.BELOW, says="the same as one that lost members"),
    Transition(
        (Strength.ENDED,),
        (Cause.MEMBER_CAME, Cause.SPARED, *_LESS, *_OBJECT),
        Strength.FALLEN,
        says="for whom it was evicted, if it was (DisruptionTarget)",
        sets_in_motion="it waits to start whole again",
    ),
    Transition(
        (Strength.BELOW,),
        (Cause.MEMBER_TURNED_AWAY,),
        Strength.PART,
        says="PodGroupBelowMinimum=True (MembersRefused)",
        sets_in_motion="its deadline: it never ran whole, and others may wait for what it has",
    ),
    Transition((Strength.BELOW,), (Cause.MEMBER_TURNED_AWAY,), Strength.BINDING, says="the same"),
    Transition(
        (Strength.BELOW,),
        (Cause.TAKEN_DOWN,),
        Strength.FALLEN,
        says="PodGroupBelowMinimum=True (PodGroupBelowMinimum)",
        sets_in_motion="what runs of it is released",
    ),
    Transition((Strength.BELOW,), (Cause.TAKEN_DOWN,), Strength.EARLIER, says="the same; what ran before runs on"),
    Transition((Strength.BELOW,), (Cause.TAKEN_DOWN,), Strength.ENDED, says="the same; nobody waits to start again"),
    Transition(
        (Strength.WHOLE, Strength.BELOW, Strength.BINDING, Strength.PART),
        (Cause.OBJECT_WENT, Cause.OBJECT_REMADE),
        Strength.EARLIER,
        says="on the pods, if they are fewer than they were bound for",
        sets_in_motion="nothing: what runs is not released for the sake of an object that came later",
    ),
    Transition((Strength.FALLEN, Strength.ENDED), (Cause.OBJECT_WENT, Cause.OBJECT_REMADE), Strength.NONE),
)

TRANSITIONS: tuple[Transition, ...] = _QUEUE + _STANDS

WAYS: frozenset[tuple[State, Cause, State]] = frozenset(
    (source, cause, step.target) for step in TRANSITIONS for source in step.source for cause in step.cause
)


def reachable(before: State, causes: Set[Cause]) -> set[State]:
    """Where a unit can have come to from `before`, if nothing but `causes` happened, in whatever order and number."""
    found: set[State] = {before}
    steps = [step for step in TRANSITIONS if not causes.isdisjoint(step.cause)]
    while new := {step.target for step in steps if not found.isdisjoint(step.source)} - found:
        found |= new
    return found
