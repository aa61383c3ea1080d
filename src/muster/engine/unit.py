"""What the scheduling queue holds: pods that are decided together.  A lone pod is a gang of one.

The engine asks a unit, and does not ask what kind of unit it is, but where people are told something: a gang has an
object that speaks for it, a lone pod speaks for itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from typing import ClassVar

import msgspec

from muster.cluster.classes import PodClass
from muster.cluster.efforts import Efforts
from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState
from muster.engine.life import Cause, Phase
from muster.engine.requirement import Counts, Requirement, in_order_of_choice
from muster.framework.contract import GangRule
from muster.gangs.model import Aspect
from muster.gangs.record import LONE, BoundFor

Order = tuple[int, float, str]
"""What the profile's QueueOrder says."""


class Unit(msgspec.Struct, gc=False, eq=False, kw_only=True):
    """A gang or a lone pod, as the queue sees it: its members that have no node, and what was tried for them."""

    key: str
    order: Order
    efforts: Efforts
    phase: Phase = Phase.GONE
    woken_by: Cause = Cause.MEMBER_CAME
    """Why the unit is ready, or was when it was last tried."""
    failures: int = 0
    """Attempts in a row that failed for another reason than room, or whose binds were rejected."""
    needed: int = 1
    """How many members it needed when it was last tried."""
    changes: int = 0
    """How often something of its gang changed."""
    told_reserved: bool = False
    """It has said that it waits for others to leave."""
    had_started: bool = False
    """It had started when it was last tried."""
    was_on_its_way: bool = False
    """Its minimum was bound or being bound when it was last tried."""
    hopeful: bool = False
    """Others might have been evicted for it when it was last tried."""
    tried_at: float = 0.0
    changed_at: float = 0.0
    """When something of a held gang changed last."""
    to_be_told: bool = False
    """A timer is set to tell why it is held."""
    ticket: int = 0
    """New whenever the unit moves, and never the same twice: older heap entries and timers are void."""

    is_gang: ClassVar[bool]

    @property
    def is_parked(self) -> bool:
        """It was refused, and is not tried before something changes."""
        return self.phase is Phase.WAITING or self.phase is Phase.RESERVING

    @property
    def bind_error(self) -> str:
        """What a refused bind of its pods was answered; "" if none was."""
        return min((pod.setbacks.error for pod in self.candidates if pod.setbacks.error), default="")

    # --- who it is ---

    @property
    @abstractmethod
    def name(self) -> str:
        """How people know it."""

    @property
    @abstractmethod
    def priority(self) -> int: ...

    @property
    @abstractmethod
    def candidates(self) -> Collection[PodState]:
        """Members that have no node, gated ones too."""

    @property
    @abstractmethod
    def classes(self) -> dict[PodClass, int]:
        """How many members there are to place, by class."""

    # --- what stands of it ---

    @property
    @abstractmethod
    def has_started(self) -> bool: ...

    @property
    @abstractmethod
    def on_its_way(self) -> bool:
        """Its minimum is bound or being bound."""

    @property
    @abstractmethod
    def standing(self) -> int:
        """How many members are bound or being bound."""

    @property
    @abstractmethod
    def mends(self) -> bool:
        """It is part of a gang the rest of which runs."""

    @property
    @abstractmethod
    def belongs_to_node(self) -> bool:
        """It is no competition to others: it runs on its node as long as that is there."""

    # --- what it needs ---

    @abstractmethod
    def requirement(self, rule: GangRule) -> Requirement: ...

    @abstractmethod
    def lacking(self, rule: GangRule, placed: Counts) -> Counts:
        """How many members each subset lacks if so many had a place."""

    @abstractmethod
    def alike(self, rule: GangRule, *, most: int) -> list[PodState]:
        """Its members in the order of choice, if all are alike and enough when placed together; else nobody.

        Alike are members of one class that were denied nowhere; more than `most` of them are too many.
        """

    @abstractmethod
    def preempts(self, rule: GangRule) -> bool:
        """Whether it wants others to be evicted for it."""

    # --- what is done for it ---

    @abstractmethod
    def set_out(self, binds: list[tuple[PodState, int]]) -> tuple[dict[str, BoundFor], int]:
        """These members are bound now: what is written onto those of each subset, and which attempt that is."""

    @property
    @abstractmethod
    def binds_after(self) -> Aspect | None:
        """What must stand on its object before its members are bound."""

    @abstractmethod
    def rejected(self, attempt: int, now: float) -> None:
        """A bind of this attempt was rejected; those of one attempt count once."""


class GangUnit(Unit, gc=False, eq=False, kw_only=True):
    gang: GangState

    is_gang = True

    @property
    def name(self) -> str:
        return self.key

    @property
    def priority(self) -> int:
        return self.gang.priority

    @property
    def candidates(self) -> Collection[PodState]:
        return self.gang.candidates.values()

    @property
    def classes(self) -> dict[PodClass, int]:
        return self.gang.classes

    @property
    def has_started(self) -> bool:
        return self.gang.has_started

    @property
    def on_its_way(self) -> bool:
        return self.gang.on_its_way

    @property
    def standing(self) -> int:
        return self.gang.bound + self.gang.binding

    @property
    def mends(self) -> bool:
        return self.gang.partial or self.gang.below_minimum

    @property
    def belongs_to_node(self) -> bool:
        return False

    def requirement(self, rule: GangRule) -> Requirement:
        return Requirement.of_gang(self.gang, rule)

    def lacking(self, rule: GangRule, placed: Counts) -> Counts:
        return rule.shortfall(self.gang, placed)

    def alike(self, rule: GangRule, *, most: int) -> list[PodState]:
        gang = self.gang
        if len(gang.candidates) > most or len(gang.classes) != 1 or gang.gated:
            return []
        pods = in_order_of_choice(gang.candidates.values())
        if any(pod.subset != pods[0].subset for pod in pods):
            return []
        if rule.shortfall(gang, {pods[0].subset: len(pods)}) or any(pod.setbacks.denied_on for pod in pods):
            return []
        return pods

    def preempts(self, rule: GangRule) -> bool:
        gang = self.gang
        if gang.declared is None or not gang.declared.preempts:
            return False
        if not gang.has_started and not rule.shortfall(gang, {}):
            # its minimum is on its way: for more than that nobody goes before it has started
            return False
        return all(pod.preempts for pod in gang.candidates.values() if pod.gated_by is None)

    def set_out(self, binds: list[tuple[PodState, int]]) -> tuple[dict[str, BoundFor], int]:
        self.gang.attempts += 1
        return self.gang.records([pod.subset for pod, _ in binds]), self.gang.attempts

    @property
    def binds_after(self) -> Aspect | None:
        return Aspect.BELOW_MINIMUM if self.gang.fallen else None

    def rejected(self, attempt: int, now: float) -> None:
        if attempt > self.gang.rejected_attempt:
            self.gang.rejected_attempt = attempt
            self.efforts.is_rejected(now)


_LONE = {"": LONE}


class PodUnit(Unit, gc=False, eq=False, kw_only=True):
    """Its key is the pod's UID."""

    pod: PodState

    is_gang = False

    @property
    def name(self) -> str:
        return self.pod.key

    @property
    def priority(self) -> int:
        return self.pod.priority

    @property
    def candidates(self) -> Collection[PodState]:
        return (self.pod,)

    @property
    def classes(self) -> dict[PodClass, int]:
        return {self.pod.pod_class: 1}

    @property
    def has_started(self) -> bool:
        return False

    @property
    def on_its_way(self) -> bool:
        return False

    @property
    def standing(self) -> int:
        return 0

    @property
    def mends(self) -> bool:
        return False

    @property
    def belongs_to_node(self) -> bool:
        return self.pod.lasting

    def requirement(self, rule: GangRule) -> Requirement:
        return Requirement.of_pod(self.pod)

    def lacking(self, rule: GangRule, placed: Counts) -> Counts:
        return {} if placed.get("") else {"": 1}

    def alike(self, rule: GangRule, *, most: int) -> list[PodState]:
        return [] if self.pod.setbacks.denied_on else [self.pod]

    def preempts(self, rule: GangRule) -> bool:
        return self.pod.preempts

    def set_out(self, binds: list[tuple[PodState, int]]) -> tuple[dict[str, BoundFor], int]:
        return _LONE, 0

    @property
    def binds_after(self) -> Aspect | None:
        return None

    def rejected(self, attempt: int, now: float) -> None:
        self.efforts.is_rejected(now)
