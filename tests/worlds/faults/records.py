"""Faults in what is remembered of members: for whom they were bound, in which run, under which minimum."""

from muster.cluster.gangs import GangState
from muster.cluster.roll import Roll
from muster.engine.engine import Engine
from muster.engine.intake import Intake
from muster.plugins.gang_scheduling import GangScheduling
from tests.worlds.faults.registry import fault


@fault("record", "remade")
def what_runs_is_released_whatever_object_it_was_bound_for(patch):
    patch(Roll, "was_bound_for", lambda self, pod: True)
    patch(Roll, "has_part", lambda self: self.running > 0)


@fault("gang whole", "reused", first=77)
def members_of_an_earlier_run_count(patch):
    patch(Roll, "_succeeded", lambda self, subset, counts: sum(counts.succeeded.values()))


@fault("gang whole", "grown", first=78)
def a_raised_minimum_is_reached_one_by_one(patch):
    shortfall = GangScheduling.shortfall
    patch(
        GangScheduling,
        "shortfall",
        lambda self, gang, placed: {} if gang.has_started else shortfall(self, gang, placed),
    )
    patch(GangScheduling, "usable", lambda self, gang, placed: placed)


@fault("after the start", "slow", first=112)
def a_start_counts_only_when_somebody_looks(patch):
    patch(GangState, "notice_start", lambda self: None)
    patch(GangState, "once_started", property(lambda self: self._says_started))


@fault("recount")
def a_record_is_forgotten_when_the_pod_is_seen(patch):
    changed = Intake._pod_changed

    def forgetful(self, state, pod):
        changed(self, state, pod)
        state.record = None

    patch(Intake, "_pod_changed", forgetful)


@fault("order", "rejected", "priorities", first=261)
def what_is_half_bound_goes_before_what_is_urgent(patch):
    order = Engine._order
    patch(
        Engine, "_order", lambda self, gang: (-(10**9), *order(self, gang)[1:]) if gang.partial else order(self, gang)
    )
