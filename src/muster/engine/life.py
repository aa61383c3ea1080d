"""The life of a unit: its phases, how much of it stands, and one table of how both change.

    gone → assembling → ready → (placed: settled | refused: waiting | reserving | backing off) → ready …
    none → binding → whole → below its minimum → whole | fallen → binding …

A unit has two things to tell: what the queue does next with its members that have no node (`Phase`), and what stands
of it (`Strength`).  A gang that runs may have more members that wait, so neither follows from the other.

In shadow: `phase_of` and `strength_of` derive both from the fields that the engine decides by, and in simulated worlds
every change of them must be a way through the table (sim/transitions.py).  Nothing decides by the table yet.
docs/architecture.md prints it (`make docs`).
"""

from __future__ import annotations

from collections.abc import Set
from enum import Enum
from typing import NamedTuple

from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState, Stage
from muster.engine.queue import Unit, Where


class Phase(Enum):
    """What the queue does next with those members of a unit that have no node."""

    GONE = "gone"
    """Nothing: there is no such unit, or it is not for this scheduler to decide."""
    ASSEMBLING = "assembling"
    """Nothing before its object, enough members and the end of their gates have come; people learn what is missing."""
    READY = "ready"
    """Tries the unit in its turn: by priority, then half bound, then lost members, then age."""
    WAITING = "waiting"
    """Tries it again when room has grown that can help, when others may be evicted for it, or after a long time."""
    RESERVING = "reserving"
    """Tries it again when something changed where room is reserved for it: victims left, or the room is lost."""
    BACKING_OFF = "backing off"
    """Tries it again when its time is over, whatever changes: it was undone, or binds of it or attempts failed."""
    SETTLED = "settled"
    """Nothing: every member has a node or is getting one."""


class Strength(Enum):
    """How much of a unit stands."""

    NONE = "none"
    """Nothing of it has a node, and it has not started: it starts whole."""
    BINDING = "binding"
    """Not started; its minimum is bound or being bound, and starts it when the last bind is acknowledged."""
    PART = "part"
    """Not started; some are bound or being bound for its present object, too few: completed, or undone in time."""
    EARLIER = "earlier"
    """Not started; what runs of it was bound for no object or an earlier one, and is never released for this one."""
    WHOLE = "whole"
    """It has started, and has all that it had then: members that come join it."""
    BELOW = "below its minimum"
    """It has started and lacks members: replacements go first among equals, or it is taken down."""
    FALLEN = "fallen"
    """It had started, and nothing of it is left but members that wait: it must start whole again."""
    ENDED = "ended"
    """It had started, and nothing of it runs or waits to: its members ended or were deleted."""


class Cause(Enum):
    """What can change a unit's life."""

    MEMBER_CAME = "member came"
    """A pod was made, or joined, or its node came back."""
    MEMBER_CHANGED = "member changed"
    """Gates were lifted; its size or priority changed."""
    MEMBER_ENDED = "member ended"
    """It succeeded."""
    MEMBER_LOST = "member lost"
    """It failed, is being deleted, went, left for another gang, or lost its node."""
    MEMBER_REFUSED = "member refused"
    """Its kubelet did not let it in."""
    OBJECT_CAME = "object came"
    """Or changed: its minimum, its priority, what it says."""
    OBJECT_REMADE = "object made anew"
    """Under the same name with another UID."""
    OBJECT_WENT = "object went"
    PLACED = "tried and placed"
    REFUSED = "tried and refused"
    RESERVED = "tried, and others leave for it"
    """Room is reserved for it; after a restart, as its pods say."""
    FAILED = "tried in vain"
    """The attempt failed, or proved nothing."""
    ROOM_GREW = "room grew"
    """Or something else that it lacked; or others may be evicted for it now."""
    RESERVATION_LOST = "reservation lost"
    """The room does not serve it, went to a better one, or is needed no longer."""
    BOUND = "bind acknowledged"
    """By the answer or the watch; another scheduler's bind too."""
    BIND_REFUSED = "bind refused"
    """And not repeated there."""
    TIME_PASSED = "time passed"
    """A backoff is over; a unit that waited is tried once more."""
    DEADLINE_OVER = "deadline over"
    """It was bound in part for too long."""
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


class Life(NamedTuple):
    """Where a unit is in its life."""

    phase: Phase
    strength: Strength


UNBORN = Life(Phase.GONE, Strength.NONE)

_OBJECT = (Cause.OBJECT_CAME, Cause.OBJECT_REMADE)
_FEWER = (Cause.MEMBER_LOST, Cause.EVICTED)
_UNDONE = (Cause.DEADLINE_OVER, Cause.DENIED, Cause.TAKEN_DOWN)

_QUEUE = (
    Transition(
        (Phase.GONE,),
        (Cause.MEMBER_CAME, *_OBJECT),
        Phase.ASSEMBLING,
        says="after two quiet seconds: what is missing (object, members, gates, what nobody honours)",
    ),
    Transition((Phase.GONE,), (Cause.MEMBER_CAME, Cause.SPARED), Phase.READY, says="nothing: a lone pod"),
    Transition((Phase.GONE,), (Cause.OBJECT_CAME, Cause.BOUND, Cause.SPARED), Phase.SETTLED),
    Transition(
        (Phase.ASSEMBLING,),
        (
            Cause.MEMBER_CAME,
            Cause.MEMBER_CHANGED,
            Cause.MEMBER_LOST,
            *_OBJECT,
            Cause.BOUND,
            Cause.BIND_REFUSED,
            Cause.SPARED,
        ),
        Phase.READY,
        sets_in_motion="its attempt, in its turn",
    ),
    Transition(
        (Phase.ASSEMBLING,),
        (Cause.MEMBER_CAME, Cause.MEMBER_CHANGED, *_OBJECT, Cause.BIND_REFUSED, Cause.SPARED),
        Phase.BACKING_OFF,
        sets_in_motion="a timer, if it failed before",
    ),
    Transition((Phase.ASSEMBLING,), (Cause.MEMBER_CAME, *_OBJECT, Cause.BOUND, Cause.SPARED, *_UNDONE), Phase.SETTLED),
    Transition(
        (Phase.READY, Phase.RESERVING),
        (Cause.PLACED,),
        Phase.SETTLED,
        says="nothing before a bind is acknowledged",
        sets_in_motion="all its binds, together; evictions for it that are not needed any more are called off",
    ),
    Transition(
        (Phase.RESERVING,), (Cause.PLACED,), Phase.READY, sets_in_motion="an attempt for members that found no place"
    ),
    Transition(
        (Phase.READY,),
        (Cause.REFUSED,),
        Phase.WAITING,
        says="on group and pods: what is needed, what there is, what would do",
        sets_in_motion="who passes it is counted; a late timer",
    ),
    Transition(
        (Phase.READY,),
        (Cause.RESERVED,),
        Phase.RESERVING,
        says="for how many it waits, and where (nominatedNodeName)",
        sets_in_motion="evictions, once its nominations stand on the API",
    ),
    Transition(
        (Phase.READY, Phase.WAITING, Phase.SETTLED),
        (Cause.FAILED, Cause.BIND_REFUSED, *_UNDONE),
        Phase.BACKING_OFF,
        says="what failed",
        sets_in_motion="a timer, later each time",
    ),
    Transition((Phase.WAITING,), (Cause.ROOM_GREW, Cause.TIME_PASSED), Phase.READY),
    Transition((Phase.WAITING,), (Cause.ROOM_GREW,), Phase.BACKING_OFF, sets_in_motion="a timer, if it failed before"),
    Transition((Phase.BACKING_OFF,), (Cause.TIME_PASSED,), Phase.READY),
    Transition(
        (Phase.RESERVING,),
        (Cause.RESERVATION_LOST,),
        Phase.READY,
        says="that others were evicted in vain, and why (PreemptionLost)",
        sets_in_motion="evictions that have not gone out are called off",
    ),
    Transition(
        (Phase.RESERVING,),
        (Cause.RESERVATION_LOST,),
        Phase.BACKING_OFF,
        says="the same",
        sets_in_motion="the same, and a timer, if it failed before",
    ),
    Transition((Phase.SETTLED,), (Cause.MEMBER_CAME, Cause.BIND_REFUSED), Phase.READY),
    Transition(
        (Phase.READY, Phase.WAITING, Phase.BACKING_OFF, Phase.SETTLED),
        (
            *_FEWER,
            Cause.MEMBER_CAME,
            Cause.MEMBER_CHANGED,
            Cause.BIND_REFUSED,
            *_OBJECT,
            Cause.OBJECT_WENT,
            *_UNDONE,
        ),
        Phase.ASSEMBLING,
        says="after two quiet seconds: what is missing, or that it was undone",
    ),
    Transition((Phase.READY, Phase.WAITING, Phase.BACKING_OFF, Phase.ASSEMBLING), _FEWER, Phase.SETTLED),
    Transition(
        tuple(phase for phase in Phase if phase not in (Phase.GONE, Phase.RESERVING)),
        (*_FEWER, Cause.MEMBER_ENDED, Cause.OBJECT_WENT),
        Phase.GONE,
    ),
)

_STANDS = (
    Transition((Strength.NONE, Strength.PART, Strength.EARLIER, Strength.FALLEN), (Cause.PLACED,), Strength.BINDING),
    Transition((Strength.PART,), (Cause.SPARED, Cause.MEMBER_CAME, Cause.OBJECT_CAME), Strength.BINDING),
    Transition((Strength.ENDED,), (Cause.PLACED, Cause.BOUND, Cause.SPARED), Strength.WHOLE),
    Transition((Strength.ENDED,), (Cause.BOUND, Cause.SPARED), Strength.BELOW),
    Transition(
        (Strength.NONE, Strength.BINDING, Strength.PART, Strength.EARLIER, Strength.FALLEN),
        (Cause.BOUND,),
        Strength.WHOLE,
        says="PodGroupInitiallyScheduled=True; it is no longer below its minimum, nor a disruption target",
        sets_in_motion="its deadline ends; what was in vain before is forgotten",
    ),
    Transition(
        (Strength.BINDING,),
        (Cause.BIND_REFUSED, *_FEWER, Cause.OBJECT_CAME),
        Strength.PART,
        sets_in_motion="its deadline, counted from the first bound member",
    ),
    Transition(
        (Strength.BINDING, Strength.PART),
        (Cause.BIND_REFUSED, *_FEWER, Cause.MEMBER_ENDED),
        Strength.NONE,
    ),
    Transition(
        (Strength.BINDING, Strength.PART),
        (Cause.DEADLINE_OVER, Cause.DENIED),
        Strength.NONE,
        says="that its time is over, or what was denied",
        sets_in_motion="what is bound of it is released",
    ),
    Transition(
        (Strength.BINDING, Strength.PART),
        (Cause.BIND_REFUSED, *_FEWER, Cause.MEMBER_ENDED, Cause.DEADLINE_OVER, Cause.DENIED),
        Strength.FALLEN,
        says="the same as of one that is left with nothing; it had started once",
    ),
    Transition(
        (Strength.NONE,),
        (Cause.BOUND, Cause.SPARED),
        Strength.EARLIER,
        says="nothing: whoever bound them did not do it for this object",
    ),
    Transition(
        (Strength.BINDING, Strength.PART),
        (Cause.BIND_REFUSED, *_FEWER, Cause.MEMBER_ENDED, Cause.DEADLINE_OVER, Cause.DENIED),
        Strength.EARLIER,
        says="the same; what ran before runs on",
    ),
    Transition((Strength.EARLIER,), (*_FEWER, Cause.MEMBER_ENDED, Cause.BIND_REFUSED), Strength.NONE),
    Transition((Strength.FALLEN, Strength.ENDED), (Cause.OBJECT_WENT, Cause.OBJECT_REMADE), Strength.NONE),
    Transition((Strength.EARLIER, Strength.PART), _OBJECT, Strength.WHOLE, says="PodGroupInitiallyScheduled=True"),
    Transition((Strength.PART,), (Cause.MEMBER_CAME,), Strength.WHOLE, says="PodGroupInitiallyScheduled=True"),
    Transition(
        (Strength.NONE,), _OBJECT, Strength.ENDED, says="PodGroupInitiallyScheduled=True: enough have succeeded"
    ),
    Transition((Strength.NONE, Strength.FALLEN), (Cause.SPARED,), Strength.PART, sets_in_motion="its deadline"),
    Transition(
        (Strength.WHOLE, Strength.BELOW, Strength.BINDING, Strength.PART),
        (Cause.OBJECT_WENT, Cause.OBJECT_REMADE),
        Strength.EARLIER,
        says="on the pods, if they are fewer than they were bound for",
        sets_in_motion="nothing: what runs is not released for the sake of an object that came later",
    ),
    Transition(
        (Strength.WHOLE,),
        _FEWER,
        Strength.BELOW,
        says="after two seconds PodGroupBelowMinimum=True (MembersLost)",
        sets_in_motion="its grace, if it asks to be restarted",
    ),
    Transition(
        (Strength.WHOLE,),
        (Cause.BIND_REFUSED, Cause.OBJECT_CAME, Cause.MEMBER_ENDED),
        Strength.BELOW,
        says="the same, if it lasts",
        sets_in_motion="the same: its minimum was raised, and not all who came together for that were bound",
    ),
    Transition(
        (Strength.BELOW,),
        (Cause.BOUND, *_OBJECT, Cause.SPARED, Cause.MEMBER_CAME, Cause.MEMBER_ENDED, Cause.MEMBER_LOST),
        Strength.WHOLE,
        says="PodGroupBelowMinimum=False",
    ),
    Transition(
        (Strength.BELOW,),
        (Cause.MEMBER_REFUSED,),
        Strength.PART,
        says="PodGroupBelowMinimum=True (MembersRefused)",
        sets_in_motion="its deadline: it never ran whole, and others may wait for what it has",
    ),
    Transition((Strength.BELOW,), (Cause.MEMBER_REFUSED,), Strength.BINDING, says="the same"),
    Transition(
        (Strength.BELOW,),
        (Cause.TAKEN_DOWN,),
        Strength.FALLEN,
        says="PodGroupBelowMinimum=True (PodGroupBelowMinimum)",
        sets_in_motion="what runs of it is released",
    ),
    Transition((Strength.BELOW,), (Cause.TAKEN_DOWN,), Strength.EARLIER, says="the same; what ran before runs on"),
    Transition((Strength.WHOLE, Strength.BELOW), (*_FEWER, Cause.MEMBER_ENDED, Cause.BIND_REFUSED), Strength.ENDED),
    Transition((Strength.FALLEN,), (Cause.SPARED,), Strength.BELOW, says="PodGroupBelowMinimum=True (MembersLost)"),
    Transition(
        (Strength.ENDED,),
        (Cause.MEMBER_CAME, Cause.MEMBER_ENDED, Cause.BIND_REFUSED, *_OBJECT, *_FEWER),
        Strength.FALLEN,
        says="for whom it was evicted, if it was (DisruptionTarget)",
        sets_in_motion="it waits to start whole again",
    ),
    Transition(
        (Strength.NONE, Strength.BINDING), (*_FEWER, Cause.MEMBER_ENDED), Strength.ENDED, says="nothing: a lone pod"
    ),
)

TRANSITIONS: tuple[Transition, ...] = _QUEUE + _STANDS


def phase_of(unit: Unit | None, *, known: bool, reserved: bool) -> Phase:
    """What the queue does next with a unit; `known`: there is such a gang or pod of ours, `reserved`: room is."""
    if unit is None:
        return Phase.SETTLED if known else Phase.GONE
    if reserved and unit.where in (Where.READY, Where.WAITING, Where.BACKOFF):
        return Phase.RESERVING
    return _PHASES[unit.where]


_PHASES = {
    Where.NOWHERE: Phase.SETTLED,
    Where.HELD: Phase.ASSEMBLING,
    Where.READY: Phase.READY,
    Where.BACKOFF: Phase.BACKING_OFF,
    Where.WAITING: Phase.WAITING,
}


def strength_of(who: GangState | PodState | None) -> Strength:
    """How much of a gang or a lone pod stands."""
    if who is None:
        return Strength.NONE
    if isinstance(who, PodState):
        return Strength.ENDED if who.leaving else _STRENGTHS[who.stage]
    if who.declared is None:
        return Strength.EARLIER if who.lives else Strength.NONE
    if who.started:
        if not who.lives:
            return Strength.ENDED
        return Strength.BELOW if who.below_minimum else Strength.WHOLE
    if who.has_part() or any(_is_on_its_way(pod) and who.was_bound_for(pod) for pod in who.members.values()):
        return Strength.BINDING if who.on_its_way else Strength.PART
    if who.lives:
        return Strength.EARLIER
    return Strength.FALLEN if who.fallen else Strength.NONE


def _is_on_its_way(pod: PodState) -> bool:
    return pod.stage is Stage.BINDING and not pod.leaving and not pod.stranded


_STRENGTHS = {
    Stage.PENDING: Strength.NONE,
    Stage.BINDING: Strength.BINDING,
    Stage.BOUND: Strength.WHOLE,
    Stage.SUCCEEDED: Strength.ENDED,
    Stage.FAILED: Strength.ENDED,
}


def reachable(before: State, causes: Set[Cause]) -> set[State]:
    """Where a unit can have come to from `before`, if nothing but `causes` happened, in whatever order and number."""
    found: set[State] = {before}
    steps = [step for step in TRANSITIONS if not causes.isdisjoint(step.cause)]
    while new := {step.target for step in steps if not found.isdisjoint(step.source)} - found:
        found |= new
    return found
