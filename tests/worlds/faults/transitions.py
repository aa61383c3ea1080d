"""Faults in a unit's life: phases and strengths that no transition leads to."""

from muster.cluster.gangs import GangState
from muster.engine.decisions import Event, Lost
from muster.engine.engine import Engine
from muster.engine.eviction import Eviction
from muster.engine.life import Cause, Phase
from muster.engine.verdicts import Outcome
from tests.worlds.faults.registry import fault


@fault("life")
def members_that_found_no_place_are_forgotten(patch):
    file = Engine._file

    def forgetful(self, tried):
        work = file(self, tried)
        if tried.outcome is Outcome.PLACED:
            self._queue.rest(tried.unit, Phase.SETTLED, Cause.PLACED)
        return work

    patch(Engine, "_file", forgetful)


@fault("life", "priorities", first=8)
def a_reservation_is_lost_without_a_word(patch):
    lose = Eviction.lose

    def silent(self, *given):
        before = len(self._decisions)
        reservation = lose(self, *given)
        said = self._decisions[before:]
        self._decisions[before:] = [word for word in said if not isinstance(word, Lost | Event)]
        return reservation

    patch(Eviction, "lose", silent)


@fault("life")
def a_gang_that_loses_members_counts_as_half_bound(patch):
    patch(GangState, "has_started", property(lambda self: self.once_started and not self.fallen and not self.lost))
