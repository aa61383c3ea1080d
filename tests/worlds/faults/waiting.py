"""Faults in who may pass whom, and in a gang's life after its start."""

from msgspec.structs import replace

from muster.cluster.pods import Stage
from muster.engine import engine, intake, pod_facts, start_timeouts, starvation
from muster.engine.binding import Binding
from muster.engine.engine import Engine
from muster.engine.eviction import Eviction
from muster.engine.intake import Intake
from muster.engine.reservations import Reservations
from muster.engine.starvation import Starvation
from muster.engine.status import Status
from tests.worlds.faults.registry import fault

# --- passing ---


def with_limit(patch, changed):
    """Gangs may be passed so often; `changed` gets the right number."""
    made = starvation.Starving

    def overtaken(*given, **more):
        entry = made(*given, **more)
        entry.limit = changed(entry.limit)
        return entry

    patch(starvation, "Starving", overtaken)


@fault("passed too often", first=320)
def one_more_may_pass(patch):
    with_limit(patch, lambda limit: limit + 1)


@fault("nobody waits who fits")
def nodes_are_held_for_whoever_was_passed_once(patch):
    with_limit(patch, lambda limit: 1)


@fault("nobody waits who fits", "stops", "stubborn", first=367)
def gangs_that_can_never_fit_hold_nodes(patch):
    patch(Starvation, "_fits", lambda self, entry: True)


# --- stepping back ---


@fault("start timeout", "start timeouts")
def gangs_step_back_in_half_the_time(patch):
    limit = start_timeouts._limit

    def half(gang):
        seconds = limit(gang)
        return None if seconds is None else seconds / 2

    patch(start_timeouts, "_limit", half)


@fault("start timeout", "start timeouts", "priorities")
def gangs_step_back_for_which_others_leave(patch):
    step_back, of = Engine._step_back, Reservations.of

    def blindly(self, key):
        patch(Reservations, "of", lambda self, key: None)
        step_back(self, key)
        patch(Reservations, "of", of)

    patch(Engine, "_step_back", blindly)


# --- after the start ---


@fault("after the start")
def nobody_says_that_a_gang_is_below_its_minimum(patch):
    patch(Binding, "still_below", lambda self, gang, now: None)


@fault("after the start", first=20)
def that_a_gang_is_below_its_minimum_is_not_taken_back(patch):
    patch(Status, "gang_is_whole", lambda self, gang: None)


@fault("after the start", "node loss")
def members_on_a_lost_node_count(patch):
    patch(Intake, "_strand", lambda self, node, *, stranded: None)


@fault("nobody waits who fits", "beside", "slow", first=189)
def pods_that_kubelets_refuse_count_as_bound(patch):
    stage = pod_facts.stage
    patch(pod_facts, "stage", lambda pod, now: Stage.BOUND if pod_facts.turned_away(pod) else stage(pod, now))


@fault("after the start", "beside", first=112)
def nobody_notices_that_kubelets_refuse_members(patch):
    patch(pod_facts, "turned_away", lambda pod: False)


@fault("order", first=7)
def replacements_have_no_right_of_return(patch):
    patch(engine, "_ALWAYS", 0.0)


@fault("gang whole", "modes")
def a_gang_of_which_nothing_is_left_starts_piece_by_piece(patch):
    look = Binding._look_at_fallen

    def blind(self, gang, now):
        look(self, gang, now)
        gang.fallen = False

    patch(Binding, "_look_at_fallen", blind)


@fault("after the start", "taken down", first=28)
def nobody_takes_a_gang_down(patch):
    patch(Binding, "take_down", lambda self, gang, now: False)


@fault("release", "taken down")
def the_grace_of_a_gang_runs_from_its_start(patch):
    look = Binding._look_at_fallen

    def early(self, gang, now):
        gang.below_since = gang.started_at
        look(self, gang, now)

    patch(Binding, "_look_at_fallen", early)


# --- evicted whole ---


@fault("disruption target", "modes", "priorities")
def a_gang_that_is_evicted_whole_does_not_say_so(patch):
    patch(Eviction, "_evicted_whole", lambda self, gang, message: None)


@fault("disruption target", "crowded", "priorities", first=18)
def a_gang_that_loses_a_member_says_that_it_was_evicted_whole(patch):
    settle = Eviction.settle

    def loud(self):
        for key, message in self._hit.items():
            self._evicted_whole(self._cluster.gangs[key], message)
        settle(self)

    patch(Eviction, "settle", loud)


@fault("disruption target", "crowded", "modes", "priorities", first=33)
def a_gang_that_runs_again_goes_on_to_say_that_it_was_evicted(patch):
    patch(Status, "gang_runs_again", lambda self, gang: None)


@fault("disruption target", "modes", "priorities", "restarts", first=642)
def a_restart_forgets_who_says_that_it_was_evicted(patch):
    declare = intake.declare
    patch(intake, "declare", lambda group: replace(declare(group), evicted_said=None))
