"""What was done for a gang or a lone pod in vain, so that it is not done for ever."""

from __future__ import annotations

import msgspec


class Efforts(msgspec.Struct, gc=False, eq=False):
    """Since the unit last had its minimum, or got what others were evicted for."""

    rounds: int = 0
    """How often others were evicted for it."""
    last_round: float = 0.0
    """When they last were."""
    rests_until: float = 0.0
    """Nobody is evicted for it before that: another scheduler has just taken the room."""
    rejections: int = 0
    """How many attempts in a row to bind it were rejected."""
    rejected_at: float = 0.0
    """When the last was."""

    @property
    def unbindable(self) -> bool:
        """Attempts to bind it were rejected, and not by chance: nobody makes room for it."""
        return self.rejections > 1

    def evicts(self, now: float) -> None:
        self.rounds, self.last_round = self.rounds + 1, now

    def is_rejected(self, now: float, *, times: int = 1) -> None:
        self.rejections, self.rejected_at = self.rejections + times, now

    def succeed(self) -> None:
        """Whatever others were evicted for, it is in: what was in vain before counts no longer."""
        self.rounds = self.rejections = 0
        self.rests_until = 0.0

    def forget(self, now: float, *, after: float) -> bool:
        """What was in vain long ago does not count; whether there was anything to forget."""
        rounds = self.rounds > 0 and now >= self.last_round + after
        rejections = self.rejections > 0 and now >= self.rejected_at + after
        if rounds:
            self.rounds = 0
        if rejections:
            self.rejections = 0
        return rounds or rejections

    def forgotten_at(self, *, after: float) -> float:
        """When the first of what was in vain will not count any more; 0 if nothing was."""
        counted = ((self.rounds, self.last_round), (self.rejections, self.rejected_at))
        return min((at + after for times, at in counted if times), default=0.0)
