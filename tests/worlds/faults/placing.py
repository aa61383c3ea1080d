"""Faults in placing, binding, queueing and telling."""

import numpy as np
from msgspec.structs import replace

from muster.cluster.changelog import ChangeLog
from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.nodes import NodeTable
from muster.cluster.pods import Stage
from muster.cluster.resources import MEMORY
from muster.cluster.usage import Usage
from muster.engine import binding, intake, pod_facts, queue, requirement, status
from muster.engine.binding import Binding
from muster.engine.changes import Failure
from muster.engine.deciding import Decider
from muster.engine.decisions import Bind, Placement
from muster.engine.engine import Engine
from muster.engine.intake import Intake
from muster.engine.status import Status
from muster.engine.waiting import WaitingRoom
from muster.framework.views import Views
from muster.gangs.model import Gang
from muster.plugins.gang_scheduling import GangScheduling
from muster.plugins.node_ports import NodePorts
from muster.plugins.node_resources_fit import NodeResourcesFit
from muster.plugins.priority_sort import PrioritySort
from muster.plugins.scheduling_gates import SchedulingGates
from muster.plugins.taint_toleration import TaintToleration
from tests.worlds.faults.registry import fault

# --- room ---


@fault("over-commit")
def the_filter_lets_one_too_many_on(patch):
    copies = NodeResourcesFit.copies
    patch(NodeResourcesFit, "copies", lambda self, lines, room: copies(self, lines, room) + (room.free[MEMORY] > 0))


@fault("over-commit")
def views_are_not_repaired_after_a_placement(patch):
    refresh = Views._refresh
    patch(Views, "_refresh", lambda self, view: refresh(self, view) if view.seen < 0 else None)


@fault("over-commit", "rejected")
def a_rejected_bind_gives_its_room_back_twice(patch):
    move = Intake.move

    def twice(self, pod, stage, **more):
        row = self._cluster.nodes.rows.get(pod.node)
        if stage is Stage.PENDING and pod.stage is Stage.BINDING and row is not None:
            self._cluster.nodes.usage.remove(row, pod.pod_class)
        move(self, pod, stage, **more)

    patch(Intake, "move", twice)


@fault("ports", "ports")
def host_ports_are_not_looked_at(patch):
    patch(NodePorts, "copies", lambda self, lines, room: None)


@fault("node rules", "taints")
def taints_are_not_looked_at(patch):
    def admits(self, rules, nodes, rows):
        return np.ones(nodes.capacity if rows is None else len(rows), np.bool_)

    patch(TaintToleration, "admits", admits)


@fault("node rules", "node facts")
def a_changed_node_is_not_looked_at_again(patch):
    put = NodeTable.put

    def silent(self, node):
        known = node.metadata.name in self.rows
        log, self.described = self.described, ChangeLog() if known else self.described
        try:
            return put(self, node)
        finally:
            self.described = log

    patch(NodeTable, "put", silent)


@fault("recount")
def memory_is_not_given_back(patch):
    change = Usage._change

    def forgetful(self, row, pod_class, sign, aside):
        before = self.free[MEMORY, row]
        change(self, row, pod_class, sign, aside)
        if sign > 0:
            self.free[MEMORY, row] = before

    patch(Usage, "_change", forgetful)


# --- binds ---


@fault("bound once", "transient", first=37)
def a_bind_that_got_no_answer_is_tried_elsewhere(patch):
    failed = Binding.failed

    def elsewhere(self, pod, change, now):
        if change.failure is Failure.TRANSIENT and pod.stage is Stage.BINDING:
            pod.setbacks = replace(pod.setbacks, failures=pod.setbacks.failures + 1)
            self._intake.move(pod, Stage.PENDING)
            return True
        return failed(self, pod, change, now)

    patch(Binding, "failed", elsewhere)


@fault("bound once", "slow")
def a_bind_in_flight_is_forgotten_when_the_pod_is_seen(patch):
    def stage(pod, now):
        found = original(pod, now)
        return Stage.PENDING if found is Stage.BINDING else found

    original = pod_facts.stage
    patch(pod_facts, "stage", stage)


@fault("no pod lost", "transient", "node loss", first=1_001)
def a_bind_is_tried_again_on_a_node_that_is_gone(patch):
    def retry(self, pod):
        if not pod.leaving:
            self._decisions.append(Bind(pod.gang or pod.key, (Placement(pod.uid, pod.key, pod.node),)))

    patch(Binding, "retry", retry)


@fault("leaving", "denials")
def nobody_hears_that_a_pod_is_being_deleted(patch):
    changed = Intake._pod_changed

    def deaf(self, state, pod):
        changed(self, state, replace(pod, metadata=replace(pod.metadata, deletion_timestamp=None)))

    patch(Intake, "_pod_changed", deaf)


@fault("gates", "gates")
def gates_are_not_looked_at(patch):
    patch(SchedulingGates, "holds", lambda self, pod: None)


@fault("asks", "asks")
def asks_of_pods_are_not_looked_at(patch):
    patch(intake, "asks_of", lambda spec: ())


@fault("asks", "asks")
def asks_of_groups_are_not_looked_at(patch):
    patch(Engine, "_unhonoured", lambda self, gang: ())


@fault("told", "asks")
def members_do_not_say_what_they_ask_for(patch):
    patch(Status, "pods_gated", lambda self, pods: None)


@fault("gates", "gates")
def a_gang_is_bound_although_a_member_has_gates(patch):
    consider = Engine._consider_gang

    def careless(self, key, cause):
        gang = self.cluster.gangs.get(key)
        gated = gang.gated if gang else 0
        if gang:
            gang.gated = 0
        consider(self, key, cause)
        if gang:
            gang.gated = gated

    patch(Engine, "_consider_gang", careless)


@fault("rest", "transient", first=345)
def a_bind_that_got_no_answer_is_never_tried_again(patch):
    patch(Binding, "retry", lambda self, pod, cluster: None)


# --- gangs ---


@fault("gang whole")
def the_last_member_is_left_behind(patch):
    bind = Decider._bind
    patch(Decider, "_bind", lambda self, unit, name, binds: bind(self, unit, name, binds[:-1] or binds))


@fault("gang whole")
def a_gang_may_lack_one(patch):
    shortfall = GangScheduling.shortfall

    def lenient(self, gang, placed):
        lacking = shortfall(self, gang, placed)
        return {name: lack - 1 for name, lack in lacking.items() if lack > 1}

    patch(GangScheduling, "shortfall", lenient)


@fault("one priority", "uneven")
def members_of_any_priority_are_bound(patch):
    patch(Gang, "at_odds_with", lambda self, priority: None)


@fault("told", "uneven")
def a_gang_of_several_priorities_says_something_else(patch):
    patch(GangState, "at_odds", None)


@fault("told", "uneven")
def a_member_of_another_priority_says_nothing(patch):
    held = Status.pods_gated
    patch(Status, "pods_gated", lambda self, pods: held(self, [pod for pod in pods if pod.gated_as != "PodGroupError"]))


@fault("after the start", "resizing", first=72)
def a_change_of_the_minimum_is_not_heard(patch):
    seen = Intake._group_seen

    def deaf(self, change):
        gang = self._cluster.gangs.get(f"{change.group.metadata.namespace}/{change.group.metadata.name}")
        known = gang.declared if gang else None
        seen(self, change)
        if known is not None and known.uid == change.group.metadata.uid:
            now = self._cluster.gangs[known.key]
            now.declared = type(known)(
                **{
                    name: getattr(known if name == "subsets" else now.declared, name)
                    for name in known.__struct_fields__
                }
            )

    patch(Intake, "_group_seen", deaf)


@fault("after the start")
def failed_members_count(patch):
    count = GangState._count

    def generous(self, pod, by):
        if pod.stage is not Stage.FAILED:
            return count(self, pod, by)
        pod.stage = Stage.SUCCEEDED
        count(self, pod, by)
        pod.stage = Stage.FAILED
        return None

    patch(GangState, "_count", generous)


@fault("after the start")
def members_that_succeeded_do_not_count(patch):
    count = GangState._count

    def strict(self, pod, by):
        if pod.stage is not Stage.SUCCEEDED:
            count(self, pod, by)

    patch(GangState, "_count", strict)


@fault("gang condition")
def a_gang_has_started_when_its_first_member_is_bound(patch):
    patch(GangState, "has_minimum", property(lambda self: self.bound > 0))


@fault("half bound", first=44)
def the_deadline_is_slept_through(patch):
    patch(Engine, "_deadline", lambda self, key: None)


@fault("half bound", "restarts", "stubborn", first=236)
def a_restart_forgets_since_when_members_are_bound(patch):
    patch(pod_facts, "bound_at", lambda pod: None)


@fault("release")
def half_bound_gangs_get_a_tenth_of_their_time(patch):
    deadline = Binding.deadline
    patch(
        Binding,
        "deadline",
        lambda self, gang, now: deadline(self, gang, now) - 0.9 * gang.declared.timeout_seconds,
    )


@fault("release", "held parts")
def nobody_hears_that_a_part_is_to_be_kept(patch):
    declare = intake.declare
    patch(intake, "declare", lambda group: replace(declare(group), holds_partial=False))


@fault("denied for good", "beside", "denials")
def a_denial_is_never_final(patch):
    patch(binding, "_denied_for", lambda duration, pod, now: False)


# --- the queue ---


@fault("order", "priorities")
def priority_does_not_count(patch):
    patch(PrioritySort, "key", lambda self, *, priority, created, uid, name: (0, created, uid))


@fault("order")
def age_does_not_count(patch):
    patch(PrioritySort, "key", lambda self, *, priority, created, uid, name: (-priority, 0.0, uid))


@fault("order", "restarts")
def age_counts_from_when_a_pod_was_first_seen(patch):
    came = Intake._pod_came

    def late(self, state, node):
        came(self, state, node)
        state.created = float(len(self._cluster.pods))

    patch(Intake, "_pod_came", late)


@fault("nobody waits who fits")
def nobody_is_woken(patch):
    patch(WaitingRoom, "offer", lambda self: [])


@fault("nobody waits who fits")
def pods_that_end_keep_their_room(patch):
    def vacate(self, pod):
        row = self.nodes.rows.get(pod.node)
        original(self, pod)
        if row is not None:
            self.nodes.usage.add(row, pod.pod_class)

    original = Cluster.vacate
    patch(Cluster, "vacate", vacate)


@fault("order", "resizing", first=220)
def a_lowered_minimum_wakes_nobody(patch):
    def reconsider(self, unit, *what):
        if not unit.is_parked:
            original(self, unit, *what)

    original = Engine._reconsider
    patch(Engine, "_reconsider", reconsider)


@fault("livelock", "stubborn")
def there_is_no_backoff(patch):
    patch(queue, "backoff_seconds", lambda failures, **more: 0.0)


# --- what is said ---


@fault("told")
def refused_pods_are_not_told(patch):
    patch(Status, "pods_wait", lambda self, pods, message, **more: None)


@fault("text")
def refused_pods_are_told_in_other_words(patch):
    patch(status, "fit_error", lambda nodes, refusals: f"none of {nodes} nodes will do")


@fault("noise")
def pods_are_told_the_same_again(patch):
    wait = Status.pods_wait

    def again(self, pods, message, **more):
        pods = list(pods)
        for pod in pods:
            pod.said = None
        wait(self, pods, message, **more)

    patch(Status, "pods_wait", again)


@fault("asks for nodes")
def pods_ask_for_nodes_although_none_would_help(patch):
    patch(Status, "_not_ready", lambda self, gang, why: None)


@fault("asks for nodes", "grown", "gates", first=1_108)
def members_that_a_raised_minimum_asks_for_are_tried_before_all_are_there(patch):
    rule = GangScheduling.waits_for

    def waits_for(self, gang):
        return None if gang.declared is not None and gang.started else rule(self, gang)

    patch(GangScheduling, "waits_for", waits_for)


@fault("engine error", first=8)
def that_no_node_would_do_is_not_thought_of(patch):
    summary = status.summary
    patch(status, "summary", lambda verdict: f"{summary(verdict)} ({verdict.suggestion.nodes} nodes)")


# --- the same decisions ---


@fault("order of reading", "restarts", "stubborn")
def equal_nodes_are_told_apart_by_row(patch):
    def precedence(self):
        there = np.array([node is not None for node in self.nodes], np.int64)
        return there * np.arange(1, self.capacity + 1)

    patch(NodeTable, "precedence", property(precedence))


@fault("hashes")
def members_are_placed_in_the_order_of_their_hashes(patch):
    patch(requirement, "_name", lambda pod: hash(pod.key))
    patch(requirement, "_rank", lambda pod: hash(pod.key))
