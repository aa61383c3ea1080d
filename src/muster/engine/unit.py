"""What the scheduling queue holds."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from muster.cluster.classes import PodClass
from muster.cluster.efforts import Efforts
from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState
from muster.engine.life import Cause, Phase

Order = tuple[int, float, str]
"""What the profile's QueueOrder says."""


class Unit(msgspec.Struct, gc=False, eq=False):
    """A gang or a lone pod, as the queue sees it."""

    key: str
    gang: GangState | None
    pod: PodState | None
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

    @property
    def name(self) -> str:
        """How people know it; the queue knows a lone pod by its UID."""
        return self.pod.key if self.pod else self.key

    @property
    def is_parked(self) -> bool:
        """It was refused, and is not tried before something changes."""
        return self.phase is Phase.WAITING or self.phase is Phase.RESERVING

    @property
    def mends(self) -> bool:
        """It is part of a gang the rest of which runs."""
        gang = self.gang
        return gang is not None and (gang.partial or gang.below_minimum)

    @property
    def candidates(self) -> Collection[PodState]:
        """Members that have no node, gated ones too."""
        return self.gang.candidates.values() if self.gang is not None else (self._the_pod,)

    @property
    def classes(self) -> dict[PodClass, int]:
        """How many members there are to place, by class."""
        return self.gang.classes if self.gang is not None else {self._the_pod.pod_class: 1}

    @property
    def bind_error(self) -> str:
        """What a refused bind of its pods was answered; "" if none was."""
        return min((pod.bind_error for pod in self.candidates if pod.bind_error), default="")

    @property
    def _the_pod(self) -> PodState:
        assert self.pod is not None
        return self.pod

    @property
    def priority(self) -> int:
        if self.pod is not None:
            return self.pod.priority
        assert self.gang is not None
        return self.gang.priority
