"""Faults in making room: whom to evict, for whom, and for whom the room is kept."""

from msgspec.structs import replace

from muster.cluster.budgets import Account, Ruling
from muster.cluster.cluster import Cluster
from muster.cluster.efforts import Efforts
from muster.cluster.gangs import GangState
from muster.cluster.levels import Levels
from muster.engine import intake, planning, victims
from muster.engine.answers import Budget
from muster.engine.decisions import CallOff, Loss
from muster.engine.engine import Engine
from muster.engine.eviction import Eviction
from muster.engine.intake import Intake
from muster.engine.planning import Plan, Planner
from muster.engine.preemption import Preemption
from muster.engine.queue import SchedulingQueue
from muster.engine.reservations import Reservations
from muster.engine.status import Status
from muster.engine.victims import Candidates
from muster.plugins.default_preemption import DefaultPreemption
from tests.worlds.faults.registry import fault

# --- victims ---


@fault("proof", "priorities")
def victims_go_before_there_is_a_proof(patch):
    def hopeful(self, unit, ground):
        victims = yield from self._candidates.everywhere(unit=unit.key, priority=unit.priority)
        requirement = unit.requirement(self._rule)
        answer = self._search.find(requirement, self._without(ground, victims), Budget())
        return Plan(self._required(requirement, answer.trial), victims)

    patch(Planner, "_together", hopeful)


@fault("proof", "priorities", first=10)
def one_of_the_victims_stays(patch):
    carry_out = Eviction.carry_out

    def lenient(self, unit, plan, now, **how):
        carry_out(self, unit, Plan(plan.places, plan.victims[1:] or plan.victims), now, **how)

    patch(Eviction, "carry_out", lenient)


@fault("one victim too many", "priorities")
def the_first_who_could_be_spared_goes_too(patch):
    reprieve = planning.reprieve

    def one_more(scale):
        yield from reprieve(scale)
        if True in scale.reprieved:
            scale.reprieved[scale.reprieved.index(True)] = False

    patch(planning, "reprieve", one_more)


@fault("one victim too many", "priorities", "stops", first=26)
def those_who_are_leaving_count_as_staying(patch):
    usage = Planner._when_the_leaving_have_left

    def as_it_is(self, unit, now):
        leaving, self._cluster.leaving = self._cluster.leaving, {}
        found = usage(self, unit, now)
        self._cluster.leaving = leaving
        return found

    patch(Planner, "_when_the_leaving_have_left", as_it_is)


@fault("precious victim", "crowded", "priorities", first=8)
def the_most_precious_go_first(patch):
    patch(DefaultPreemption, "importance", lambda self, victim: (-victim.priority, 0, 0, 0.0))


@fault("priority", "priorities")
def equals_are_evicted(patch):
    any_below, below = Levels.any_below, Levels.below
    patch(Levels, "any_below", lambda self, priority: any_below(self, priority + 1))
    patch(Levels, "below", lambda self, priority, free: below(self, priority + 1, free))
    patch(DefaultPreemption, "may_evict", lambda self, victim, *, priority: victim.priority <= priority)


def everybody_is_worth_a_look(patch):
    """The quick guess whether anybody could be evicted says yes."""
    below = Levels.below
    patch(Levels, "any_below", lambda self, priority: True)
    patch(Levels, "below", lambda self, priority, free: below(self, 10**10, free))


@fault("priority", "priorities", "uneven", first=56)
def a_member_is_worth_no_more_than_its_gang(patch):
    of = Candidates._of

    def blind(self, pods, gangs, priority):
        pods = list(pods)
        own = [(pod, pod.priority) for pod in pods if pod.gang is not None]
        for pod, _ in own:
            pod.priority = -(10**10)
        try:
            return of(self, pods, gangs, priority)
        finally:
            for pod, was in own:
                pod.priority = was

    patch(Candidates, "_of", blind)
    everybody_is_worth_a_look(patch)


@fault("priority", "priorities", "resizing", first=68)
def a_member_is_worth_what_it_says_itself(patch):
    victim = victims.Victim

    def alone(*, pods, priority, **facts):
        return victim(pods=pods, priority=pods[0].priority if len(pods) == 1 else priority, **facts)

    patch(victims, "Victim", alone)
    everybody_is_worth_a_look(patch)


@fault("priority", "modes", "priorities", "uneven", first=870)
def a_gang_that_goes_whole_is_worth_its_lowest_member(patch):
    patch(GangState, "level", property(lambda self: self.priority))


@fault("gang in part", "modes", "priorities", first=82)
def gangs_that_go_whole_are_evicted_in_part(patch):
    patch(GangState, "goes_whole", False)


@fault("budget", "budgets", "priorities", "slow", first=315)
def budgets_are_not_looked_at(patch):
    patch(Account, "disrupts", lambda self, pods: Ruling.ALLOWED)


@fault("never evicts", "never", "priorities")
def pods_evict_that_say_they_never_do(patch):
    read = Intake._read

    def deaf(self, pod):
        return read(self, replace(pod, spec=replace(pod.spec, preemption_policy=None)))

    patch(Intake, "_read", deaf)


@fault("never evicts", "never", "priorities")
def groups_evict_that_say_they_never_do(patch):
    declare = intake.declare
    patch(intake, "declare", lambda group: replace(declare(group), preempts=True))


@fault("nobody waits who may evict", "crowded", "priorities", first=33)
def gangs_never_evict(patch):
    patch(Planner, "may_evict", lambda self, gang: False)


@fault("nobody waits who may evict", "mixed", "node facts", "priorities", first=287)
def nobody_is_woken_to_evict(patch):
    patch(SchedulingQueue, "wake_preemptors", lambda self, could_help: None)


@fault("new victims", "priorities", "stops", first=119)
def a_unit_plans_anew_while_its_victims_leave(patch):
    make_room = Preemption.make_room

    def hasty(self, unit, excluded, now):
        self._reservations.end(unit.key, now)
        leaving, self._cluster.leaving = self._cluster.leaving, {}
        found = make_room(self, unit, excluded, now)
        self._cluster.leaving |= leaving
        return found

    patch(Preemption, "make_room", hasty)


@fault("eviction", "beside", "crowded", "priorities", first=383)
def nobody_counts_how_often_a_unit_evicts(patch):
    patch(Efforts, "evicts", lambda self, now: None)


# --- evictions that are called off ---


@fault("called off", "late evictions", "priorities", "crowded")
def evictions_for_nobody_go_out_all_the_same(patch):
    """As it was until evictions could be called off."""
    patch(Eviction, "settle", lambda self: self._ended.clear())


@fault("recount", "late evictions", "priorities", "crowded", first=50)
def who_is_called_off_is_believed_to_be_spared(patch):
    settle = Eviction.settle

    def trusting(self):
        first = len(self._decisions)
        settle(self)
        for decision in self._decisions[first:]:
            if isinstance(decision, CallOff):
                for ref in decision.pods:
                    self.spared(self._cluster.pods[ref.uid])

    patch(Eviction, "settle", trusting)


@fault("recount", "late evictions", "priorities", "crowded", first=175)
def those_who_were_spared_stay_on_their_way_out(patch):
    patch(Intake, "_spared", lambda self, change: None)


# --- room that is kept ---


@fault("reservation", "crowded", "priorities", "stops")
def room_that_is_kept_for_one_is_given_to_another(patch):
    give_back = Reservations.give_back

    def generous(self, unit, usage):
        for key in self.by_unit:
            give_back(self, key, usage)

    patch(Reservations, "give_back", generous)


@fault("reservation", "crashes", "hurry", "late evictions", "priorities", "stops", first=11_770)
def a_restart_forgets_for_whom_room_is_kept(patch):
    patch(Engine, "_reserve_again", lambda self, unit, pods: None)


@fault("nobody waits who fits", "priorities")
def room_that_is_kept_is_never_given_back(patch):
    patch(Cluster, "unreserve", lambda self, pod: None)


@fault("nomination", "crowded", "priorities", "stops", first=567)
def room_is_kept_for_a_unit_that_may_not_be_decided_any_more(patch):
    patch(Engine, "_lose", lambda self, unit, why: None)


@fault("reservation", "crowded", "priorities", "stops", first=215)
def a_nomination_is_not_taken_back(patch):
    patch(Status, "unnominate", lambda self, pods: None)


@fault("evicted in vain", "crowded", "priorities", "stops", first=250)
def a_loss_is_not_named(patch):
    lose = Eviction.lose

    def quiet(self, *given):
        said = len(self._decisions)
        reservation = lose(self, *given)
        del self._decisions[said:]
        return reservation

    patch(Eviction, "lose", quiet)


@fault("lost", "priorities")
def what_will_do_is_given_up(patch):
    loss = Reservations.loss
    patch(Reservations, "loss", lambda *given, **more: loss(*given, **more) or (Loss.NODE, "who knows"))
