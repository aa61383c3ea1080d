"""A gang: pods that are useful only together, whatever API declared them."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

from muster.api.asks import Ask

DEFAULT_TIMEOUT_SECONDS = 300.0
DEFAULT_GRACE_SECONDS = 60.0


class Policy(StrEnum):
    GANG = "gang"
    """Starts when every subset reaches its minimum, otherwise not at all."""
    BASIC = "basic"
    """A group without a minimum: pods start as they fit."""


class DisruptionMode(StrEnum):
    SINGLE = "single"
    """Members may be evicted one by one."""
    ALL = "all"
    """Who takes one member takes them all."""


class BelowMinimum(StrEnum):
    """What becomes of a gang that has started and fell below its minimum."""

    WAIT = "wait"
    """What is left of it runs on; replacements go first among equals."""
    RESTART = "restart"
    """After a while it is taken down, so that it starts whole again."""


PREPARING = "Preparing"
"""The reason for which a gang waits that has its place: what its members bring is being made ready."""


class Aspect(StrEnum):
    """What a gang's condition is about."""

    STARTED = "started"
    """It had its minimum bound, once; never taken back."""
    BELOW_MINIMUM = "below minimum"
    """It has started, and fewer than its minimum are bound now."""
    EVICTED = "evicted whole"
    """All that was bound of it was evicted for others, and it has not started since."""


class Subset(msgspec.Struct, frozen=True, gc=False):
    """Members that share a minimum; most gangs have one, named ""."""

    name: str = ""
    minimum: int = 1
    desired: int | None = None


class Gang(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What its object declares of a gang.  Identity is `key`; a changed object is a new Gang."""

    key: str
    """namespace/name"""
    uid: str
    created: float
    """Creation time of the declaring object, in seconds; the gang's age."""
    subsets: tuple[Subset, ...] = (Subset(),)
    names_others: bool = False
    """Members may name subsets that the object has no minimum for: they count for the one named ""."""
    policy: Policy = Policy.GANG
    priority: int | None = None
    """None: the lowest among the members."""
    one_priority: bool = False
    """Where the object says none, its members must agree on one before it can start."""
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    """How long a gang may stay bound below its minimum, from its first bound member."""
    start_timeout_seconds: float | None = None
    """How long a gang that holds nothing waits for its start, from its first member's creation, until it steps back."""
    disruption: DisruptionMode = DisruptionMode.ALL
    """Dialects without a word for it mean gangs that go whole."""
    preempts: bool = True
    """Others may be evicted for it; its members may still say otherwise."""
    holds_partial: bool = False
    """When its time is over, what is bound of it is kept, not released."""
    below_minimum: BelowMinimum = BelowMinimum.WAIT
    grace_seconds: float = DEFAULT_GRACE_SECONDS
    """How long it may be below its minimum before it is taken down."""
    fitting_reason: str = "Unschedulable"
    """What pods say that would fit, but whose gang does not."""
    parent: str | None = None
    asks: tuple[Ask, ...] = ()
    """What its object asks for beside room for the members."""
    remark: str = ""
    """What its members should know of how they declare it; "" for most."""
    made_by_controller: bool = False
    """A controller made the object, and nobody need have asked for that."""
    has_status: bool = True
    """There is an object on which the gang's state is written; else its members say that it has started."""
    started: bool = False
    """The declaring object says that the minimum was bound once."""
    started_at: float | None = None
    """Since when it says so."""
    preparing_since: float | None = None
    """Since when what its members bring is made ready, as it says."""
    said: tuple[str, str] | None = None
    """Reason and message of the condition that stands on the object."""
    below_since: float | None = None
    """Since when the object says that the gang is below its minimum; None if it does not."""
    below_said: tuple[str, str] | None = None
    """Reason and message with which it says, or took back, that the gang is below its minimum."""
    evicted_said: tuple[bool, str, str] | None = None
    """Whether the object says that the gang was evicted whole, reason and message; None if it never did."""

    @property
    def minimum(self) -> int:
        """The minimum over all subsets together."""
        return sum(subset.minimum for subset in self.subsets)

    @property
    def subset_names(self) -> tuple[str, ...]:
        return tuple(subset.name for subset in self.subsets)

    @property
    def gives_way(self) -> bool:
        """Whether pods that name another gang besides this one belong to that: nobody asked for this one."""
        return self.policy is Policy.BASIC and self.made_by_controller

    def subset_of(self, named: str) -> str:
        """The subset that members count for which name this one; of a single subset they need not name it."""
        if self.names_others and named not in self.subset_names:
            return ""
        return self.subsets[0].name if not named and len(self.subsets) == 1 else named

    def without_subset(self, named: str) -> str | None:
        """Why a member that names this subset may not be placed; None if it may."""
        counts_for = self.subset_of(named)
        for subset in self.subsets:
            if subset.name == counts_for:
                return None
        known = self.subset_names
        there = ", ".join(name or '""' for name in known) if len(known) > 1 or known[0] else "none"
        if not named:
            return f"the pod names no subset; the group has {there}"
        return f'the group has no subset "{named}"; it has {there}'

    def at_odds_with(self, priority: int) -> str | None:
        """Why a member of this priority may not be placed, in upstream's words; None if it may."""
        if self.priority is None or priority == self.priority:
            return None
        return (
            "all pods in a single pod group should have the same priority as the pod group's priority, "
            f"got {priority} and {self.priority}"
        )


class Membership(msgspec.Struct, frozen=True, gc=False):
    """How a pod names its gang."""

    gang: str
    subset: str = ""
    replica_of: str = ""
    """Key of the group that declares this gang and others like it, one for each replica; "" if the gang has its own."""
    besides: str = ""
    """Another gang that the pod names, which counts where `gang` gives way to it; "" for none."""
    besides_subset: str = ""
    """The subset of that gang that it names."""

    def settled(self, gives_way: Callable[[str], bool]) -> str:
        """Key of the gang that counts; `gives_way` says of a gang whether it does, and not while nobody knows it."""
        return self.besides if self.besides and gives_way(self.gang) else self.gang

    def subset_in(self, key: str) -> str:
        """The subset that the pod names of that one of its gangs."""
        return self.subset if key == self.gang else self.besides_subset
