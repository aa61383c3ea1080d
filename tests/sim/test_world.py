"""The simulated world carries decisions out as an API server, kubelets and the garbage collector would."""

import pytest
from msgspec.structs import replace

from muster.api.times import seconds
from muster.api.wire import BudgetSpec, BudgetStatus, Metadata, PodDisruptionBudget, PriorityClass, condition
from muster.engine.changes import BindFailed, Bound, BudgetGone, BudgetSeen, Failure, PodGone, PodSeen, Spared
from muster.engine.decisions import (
    Bind,
    CallOff,
    Evict,
    GangCondition,
    Loss,
    Lost,
    Placement,
    PodCondition,
    PodRef,
    Release,
)
from muster.engine.engine import Engine
from muster.gangs.model import Aspect
from muster.plugins.registry import ProfileParts, make_profile
from muster.sim.faults import BindFate, Faults
from muster.sim.objects import EXIT_CODE, ORPHAN_SECONDS, RUN_SECONDS, STOP_SECONDS
from muster.sim.world import World
from tests.builders import group, node, pod

START = 1_700_000_000.0


class Script:
    """A scheduler that decides what it is told to decide, and keeps what it hears."""

    next_decide_at = None

    def __init__(self):
        self.heard = []
        self.batches = []
        """The same, by turn; turns in which nothing was heard are left out."""
        self.says = []

    def apply(self, changes):
        self.heard += changes
        self.batches += [changes] if changes else []

    def decide(self, now):
        said, self.says = self.says, []
        return said


class Stage:
    """A world with a scripted scheduler, and two nodes of 4 cpu."""

    def __init__(self, faults=None):
        self.script = Script()
        self.world = World(lambda: None, start=START, faults=faults, through=lambda engine: self.script)
        for name in ("n1", "n2"):
            self.world.put_node(node(name, cpu=4))

    def decide(self, *decisions):
        self.script.says += decisions
        self.world.run(self.world.now)

    def pass_seconds(self, count):
        self.world.run(self.world.now + count)

    def running(self, name, *, on="n1", cpu=1, annotations=None, **facts):
        """The UID of a pod that runs."""
        made = pod(name, cpu=cpu, on=on, **facts)
        meta = replace(made.metadata, annotations=annotations or {})
        uid = self.world.create_pod(replace(made, metadata=meta))
        self.world.run(self.world.now)
        return uid

    def bind(self, *names, to="n1"):
        placed = tuple(Placement(f"uid-{name}", f"team/{name}", to) for name in names)
        self.decide(Bind("team/x", placed))

    def evict(self, *uids, kind=Evict, reason="PreemptionByScheduler"):
        refs = tuple(PodRef(uid, uid.replace("uid-", "team/")) for uid in uids)
        self.decide(kind("team/high", refs, reason, "make room"))

    def heard_of(self, uid):
        """What the scheduler heard of a pod: what it looked like, or that it is gone."""
        found = []
        for change in self.script.heard:
            if isinstance(change, PodSeen) and change.pod.metadata.uid == uid:
                found.append(change.pod)
            elif isinstance(change, PodGone) and change.uid == uid:
                found.append("gone")
        return found

    def was_never_leaving(self, uid):
        seen, gone = self.heard_of(uid)[:-1], self.heard_of(uid)[-1]
        return gone == "gone" and all(pod.metadata.deletion_timestamp is None for pod in seen)


@pytest.fixture
def stage():
    return Stage()


# --- evictions that wait ---


class Late(Faults):
    """Evictions wait for three seconds, and can be called off till then."""

    in_time = True

    def evict(self, decision):
        return 3.0

    def calls_off(self, decision):
        return self.in_time


def calls_off(*uids):
    return CallOff("team/high", tuple(PodRef(uid, uid.replace("uid-", "team/")) for uid in uids))


def spared(stage):
    return [change.uids for change in stage.script.heard if isinstance(change, Spared)]


def test_an_eviction_waits_until_it_is_written_for_whom():
    stage = Stage(Late())
    uid = stage.running("a")
    stage.evict(uid)
    stage.pass_seconds(2.9)
    assert uid in stage.world.pods
    stage.pass_seconds(0.1)
    assert (uid in stage.world.pods, spared(stage)) == (False, [])


def test_an_eviction_that_is_called_off_spares_the_pods():
    stage = Stage(Late())
    uids = stage.running("a"), stage.running("b")
    stage.evict(*uids)
    stage.decide(calls_off(*uids))
    stage.pass_seconds(5)
    assert (set(stage.world.pods), spared(stage)) == (set(uids), [uids])


def test_an_eviction_that_is_called_off_too_late_goes_out():
    stage = Stage(Late())
    stage.world.faults.in_time = False
    uid = stage.running("a")
    stage.evict(uid)
    stage.decide(calls_off(uid))
    stage.pass_seconds(3)
    assert (stage.world.pods, spared(stage)) == ({}, [])


def test_an_eviction_that_was_handed_on_waits_for_the_later_one():
    stage = Stage(Late())
    uid = stage.running("a")
    stage.evict(uid)
    stage.pass_seconds(2)
    stage.evict(uid)
    stage.pass_seconds(2)
    assert uid in stage.world.pods
    stage.pass_seconds(1)
    assert uid not in stage.world.pods


def test_evictions_that_wait_die_with_their_scheduler():
    stage = Stage(Late())
    uid = stage.running("a")
    stage.evict(uid)
    stage.world.restart()
    stage.pass_seconds(5)
    assert uid in stage.world.pods


# --- going with grace ---


@pytest.mark.parametrize("kind", [Evict, Release])
def test_a_disrupted_pod_says_why_and_is_gone_at_once_if_it_needs_no_time_to_stop(stage, kind):
    uid = stage.running("a")
    stage.evict(uid, kind=kind, reason="BecauseOfThat")
    *_, marked, leaving, gone = stage.heard_of(uid)
    said = condition(marked.status.conditions, "DisruptionTarget")
    assert (said.status, said.reason, said.message) == ("True", "BecauseOfThat", "make room")
    assert condition(leaving.status.conditions, "DisruptionTarget") == said
    assert seconds(leaving.metadata.deletion_timestamp) == START + 30
    assert gone == "gone"
    assert stage.world.pods == {}


def test_a_pod_goes_when_it_has_stopped(stage):
    uid = stage.running("a", annotations={STOP_SECONDS: "10"})
    stage.evict(uid)
    stage.pass_seconds(9.9)
    assert stage.world.pods[uid].metadata.deletion_timestamp is not None
    stage.pass_seconds(0.1)
    assert uid not in stage.world.pods


def test_a_pod_stops_within_its_grace_period(stage):
    uid = stage.running("a", annotations={STOP_SECONDS: "3600"})
    stage.world.delete_pod(uid)
    stage.pass_seconds(29.9)
    assert uid in stage.world.pods
    stage.pass_seconds(0.1)
    assert uid not in stage.world.pods


def test_a_grace_period_of_nothing_is_no_grace(stage):
    made = pod("a", on="n1")
    made = replace(made, spec=replace(made.spec, termination_grace_period_seconds=0))
    uid = stage.world.create_pod(replace(made, metadata=replace(made.metadata, annotations={STOP_SECONDS: "5"})))
    stage.world.delete_pod(uid)
    stage.world.run(START)
    assert stage.was_never_leaving(uid)
    assert uid not in stage.world.pods


def test_a_deletion_repeated_changes_nothing(stage):
    uid = stage.running("a", annotations={STOP_SECONDS: "10"})
    stage.world.delete_pod(uid)
    before = stage.world.pods[uid].metadata.deletion_timestamp
    stage.pass_seconds(5)
    stage.world.delete_pod(uid)
    stage.evict(uid)
    assert stage.world.pods[uid].metadata.deletion_timestamp == before
    stage.pass_seconds(5)
    assert uid not in stage.world.pods
    assert stage.heard_of(uid).count("gone") == 1


def test_a_pod_without_a_node_goes_at_once(stage):
    uid = stage.world.create_pod(pod("a"))
    stage.world.delete_pod(uid)
    stage.world.run(START)
    assert stage.was_never_leaving(uid)
    assert uid not in stage.world.pods


def test_a_pod_that_has_ended_goes_at_once(stage):
    uid = stage.running("a", annotations={RUN_SECONDS: "1", STOP_SECONDS: "10"})
    stage.pass_seconds(1)
    stage.world.delete_pod(uid)
    assert uid not in stage.world.pods


def test_a_pod_that_ends_while_it_stops_is_gone_then(stage):
    uid = stage.running("a", annotations={RUN_SECONDS: "5", STOP_SECONDS: "10"})
    stage.world.delete_pod(uid)
    stage.pass_seconds(5)
    assert uid not in stage.world.pods


def test_pods_on_a_lost_node_have_no_grace(stage):
    uid = stage.running("a", annotations={STOP_SECONDS: "10"})
    stage.world.remove_node("n1")
    assert uid not in stage.world.pods


# --- budgets, nominations, conditions ---


def budget(allowed):
    return PodDisruptionBudget(
        metadata=Metadata(name="b", namespace="team"),
        spec=BudgetSpec(),
        status=BudgetStatus(disruptions_allowed=allowed),
    )


def test_budgets_are_told_as_they_come_change_and_go(stage):
    key = stage.world.put_budget(budget(1))
    stage.world.put_budget(budget(0))
    stage.world.delete_budget(key)
    stage.world.run(START)
    first, second, gone = [change for change in stage.script.heard if isinstance(change, BudgetSeen | BudgetGone)]
    assert [first.budget.status.disruptions_allowed, second.budget.status.disruptions_allowed] == [1, 0]
    assert first.budget.metadata == second.budget.metadata
    assert gone == BudgetGone("team/b")


def test_a_new_scheduler_reads_the_budgets(stage):
    stage.world.put_budget(budget(1))
    stage.world.run(START)
    stage.world.restart()
    stage.script.heard.clear()
    stage.world.run(START)
    assert [type(change).__name__ for change in stage.script.heard] == ["NodeSeen", "NodeSeen", "BudgetSeen"]


def condition_of(*names, nominated=(), transition=True, message="no"):
    refs = tuple(PodRef(f"uid-{name}", f"team/{name}") for name in names)
    return PodCondition(refs, "Unschedulable", message, transition, nominated)


def nominations(stage):
    return [pod.status.nominated_node_name for pod in stage.world.pods.values()]


def test_pods_are_nominated_each_to_its_own_node_until_it_is_taken_back(stage):
    for name in "ab":
        stage.world.create_pod(pod(name))
    stage.decide(condition_of("a", "b", nominated=("n1", "n2")))
    assert nominations(stage) == ["n1", "n2"]
    stage.decide(condition_of("a", "b"))
    assert nominations(stage) == ["", ""]


def test_a_bound_pod_is_nominated_nowhere(stage):
    stage.world.create_pod(pod("a"))
    stage.decide(condition_of("a", nominated=("n1",)))
    stage.bind("a", to="n2")
    assert nominations(stage) == [""]


def test_conditions_keep_their_time_while_they_say_the_same(stage):
    stage.world.create_pod(pod("a"))
    stage.world.create_group(group("g", minimum=2))
    said = GangCondition("team/g", holds=True, reason="r", message="1 left", aspect=Aspect.BELOW_MINIMUM)
    stage.decide(condition_of("a"), said)
    stage.pass_seconds(7)
    stage.decide(condition_of("a", transition=False, message="still no"), replace(said, message="2 left"))
    (kept,) = stage.world.pods["uid-a"].status.conditions
    (below,) = stage.world.groups["team/g"].status.conditions
    assert (kept.message, seconds(kept.last_transition_time)) == ("still no", START)
    assert (below.type, below.message, seconds(below.last_transition_time)) == ("PodGroupBelowMinimum", "2 left", START)


def test_a_condition_that_says_something_new_says_since_when(stage):
    stage.world.create_pod(pod("a"))
    stage.decide(condition_of("a"))
    stage.pass_seconds(7)
    stage.decide(condition_of("a", message="still no"))
    (said,) = stage.world.pods["uid-a"].status.conditions
    assert seconds(said.last_transition_time) == START + 7


@pytest.mark.parametrize("policy", ["Never", None])
def test_pods_and_groups_preempt_as_their_class_says(stage, policy):
    named = PriorityClass(metadata=Metadata(name="c"), value=7, preemption_policy=policy)
    stage.world.put_priority_class(named)
    made, gang = pod("a"), group("g", minimum=1)
    uid = stage.world.create_pod(replace(made, spec=replace(made.spec, priority_class_name="c")))
    key = stage.world.create_group(replace(gang, spec=replace(gang.spec, priority_class_name="c")))
    for spec in (stage.world.pods[uid].spec, stage.world.groups[key].spec):
        assert (spec.priority, spec.preemption_policy) == (7, policy)


def test_a_loss_changes_nothing_but_stands_in_history(stage):
    lost = Lost("team/high", Loss.NODE, "n1 is gone")
    stage.decide(lost)
    assert stage.world.history[-1].what == lost


def test_a_gated_pod_says_so_from_the_start(stage):
    uid = stage.world.create_pod(pod("a", gates=["x.io/q"]))
    (said,) = stage.world.pods[uid].status.conditions
    assert (said.type, said.status, said.reason) == ("PodScheduled", "False", "SchedulingGated")
    assert said.message == "Scheduling is blocked due to non-empty scheduling gates"


# --- kubelets ---


def test_a_pod_that_starts_says_when(stage):
    stage.world.create_pod(pod("a"))
    stage.pass_seconds(3)
    stage.bind("a")
    status = stage.world.pods["uid-a"].status
    assert (status.phase, seconds(status.start_time)) == ("Running", START + 3)


@pytest.mark.parametrize(
    ("there", "comes", "reason"),
    [
        ({"cpu": 3}, {"cpu": 2}, "OutOfcpu"),
        ({"memory": "31Gi"}, {"memory": "2Gi"}, "OutOfmemory"),
        ({"cpu": 3, "memory": "31Gi"}, {"cpu": 2, "memory": "2Gi"}, "OutOfcpu"),
        ({"ports": [80]}, {"ports": [80]}, "NodePorts"),
    ],
)
def test_a_kubelet_refuses_what_others_have_left_no_room_for(stage, there, comes, reason):
    stage.running("first", **{"cpu": 0, **there})
    uid = stage.running("second", **{"cpu": 0, **comes})
    status = stage.world.pods[uid].status
    assert (status.phase, status.reason) == ("Failed", reason)


def test_a_kubelet_refuses_one_pod_too_many_and_more_of_a_device_than_there_is(stage):
    stage.world.put_node(node("small", pods=1, gpu=1))
    stage.running("first", on="small", gpu=1)
    assert stage.world.pods[stage.running("second", on="small", gpu=1)].status.reason == "OutOfpods"
    stage.world.put_node(node("gpu", gpu=1))
    stage.running("third", on="gpu", gpu=1)
    assert stage.world.pods[stage.running("fourth", on="gpu", gpu=1)].status.reason == "OutOfnvidia.com/gpu"


def test_a_kubelet_does_not_mind_devices_that_it_has_never_heard_of(stage):
    assert stage.world.pods[stage.running("a", gpu=1)].status.phase == "Running"


class SlowBinds(Faults):
    def bind(self, placement, now):
        return BindFate(5.0)


@pytest.mark.parametrize("faults", [Faults(), SlowBinds()], ids=["at once", "late"])
def test_a_pod_is_seen_bound_before_it_is_refused(faults):
    stage = Stage(faults)
    stage.running("first", cpu=3)
    stage.world.create_pod(pod("second", cpu=3))
    stage.bind("second")
    stage.pass_seconds(5)
    phases = [
        [change.pod.status.phase for change in batch if isinstance(change, PodSeen) and change.pod.spec.node_name]
        for batch in stage.script.batches
    ]
    assert phases[-2:] == [["Pending"], ["Failed"]]


def test_who_was_refused_takes_no_room(stage):
    stage.running("first", cpu=3)
    stage.running("second", cpu=2)
    assert stage.world.pods[stage.running("third", cpu=1)].status.phase == "Running"


def test_who_stops_takes_room_until_it_is_gone(stage):
    uid = stage.running("first", cpu=4, annotations={STOP_SECONDS: "10"})
    stage.world.delete_pod(uid)
    assert stage.world.pods[stage.running("second", cpu=4)].status.reason == "OutOfcpu"
    stage.pass_seconds(10)
    assert stage.world.pods[stage.running("third", cpu=4)].status.phase == "Running"


def test_who_has_ended_or_shrunk_leaves_room(stage):
    stage.running("first", cpu=2, annotations={RUN_SECONDS: "1", EXIT_CODE: "1"})
    second = stage.world.pods[stage.running("second", cpu=2)]
    stage.pass_seconds(1)
    stage.world.change_pod(replace(second, spec=pod("second", cpu=1, on="n1").spec))
    assert stage.world.pods[stage.running("third", cpu=3)].status.phase == "Running"


def test_pods_are_taken_in_the_order_in_which_they_were_bound(stage):
    for name in "abc":
        stage.world.create_pod(pod(name, cpu=2))
    stage.bind("c", "a", "b")
    assert {uid: pod.status.phase for uid, pod in stage.world.pods.items()} == {
        "uid-a": "Running",
        "uid-b": "Failed",
        "uid-c": "Running",
    }


def test_a_pod_can_be_ended_by_hand_with_a_reason(stage):
    uid = stage.running("a")
    stage.world.end_pod(uid, failed=True, reason="Evicted")
    stage.world.end_pod(uid, failed=False)
    status = stage.world.pods[uid].status
    assert (status.phase, status.reason) == ("Failed", "Evicted")


# --- nodes that are not there ---


def orphan(stage):
    stage.world.create_pod(pod("a"))
    stage.world.run(START)
    stage.world.remove_node("n1")
    stage.bind("a")
    return "uid-a"


def test_a_pod_bound_to_a_node_that_is_gone_is_seen_bound_before_it_goes(stage):
    uid = orphan(stage)
    assert stage.heard_of(uid)[-1].spec.node_name == "n1"
    assert stage.world.pods[uid].status.phase == "Pending"
    stage.pass_seconds(ORPHAN_SECONDS)
    assert stage.heard_of(uid)[-1] == "gone"


def test_a_pod_starts_if_its_node_is_back_in_time(stage):
    uid = orphan(stage)
    stage.world.put_node(node("n1"))
    stage.pass_seconds(ORPHAN_SECONDS)
    assert stage.world.pods[uid].status.phase == "Running"


# --- two schedulers ---


def engine(name):
    return Engine(make_profile(ProfileParts(scheduler_names=(name,))))


def two_schedulers(faults=None):
    world = World(lambda: engine("muster"), start=START, faults=faults)
    world.beside(lambda: engine("other"))
    world.put_node(node("n1", cpu=4))
    return world


def places(world):
    return {p.metadata.name: (p.spec.node_name, p.status.phase) for p in world.pods.values()}


def test_each_scheduler_binds_its_own_pods_and_sees_the_others():
    world = two_schedulers()
    world.create_pod(pod("ours", cpu=3, scheduler="muster"))
    world.create_pod(pod("theirs", cpu=3, scheduler="other"))
    world.run(START)
    assert places(world) == {"ours": ("n1", "Running"), "theirs": ("", "Pending")}
    world.delete_pod("uid-ours")
    world.run(START + 60)
    assert places(world) == {"theirs": ("n1", "Running")}
    binds = [happened.what for happened in world.history if isinstance(happened.what, Bind)]
    assert [bind.unit for bind in binds] == ["team/ours", "team/theirs"]


def test_what_both_schedulers_are_told_happened_once():
    world = two_schedulers()
    world.create_pod(pod("theirs", cpu=3, scheduler="other"))
    world.run(START)
    seen = [what.pod.status.phase for _, what in world.history if isinstance(what, PodSeen)]
    assert seen == ["Pending", "Pending", "Running"]
    assert [type(what) for _, what in world.history if isinstance(what, Bound | BindFailed)] == [Bound]


def test_who_lands_second_is_refused_by_the_kubelet():
    world = two_schedulers(SlowBinds())
    world.create_pod(pod("ours", cpu=3, scheduler="muster"))
    world.create_pod(pod("theirs", cpu=3, scheduler="other"))
    world.run(START + 5)
    assert places(world) == {"ours": ("n1", "Running"), "theirs": ("n1", "Failed")}


def test_a_restart_leaves_the_other_scheduler_alone():
    class LoseAll(SlowBinds):
        def survives_restart(self, placement):
            return False

    world = two_schedulers(LoseAll())
    world.create_pod(pod("ours", cpu=1, scheduler="muster"))
    world.create_pod(pod("theirs", cpu=1, scheduler="other"))
    world.run(START)
    world.restart()
    assert set(world.in_flight) == {"uid-theirs"}
    world.run(START + 5)
    assert places(world)["theirs"] == ("n1", "Running")


def test_a_scheduler_that_comes_later_reads_what_is_there():
    world = World(lambda: engine("muster"), start=START)
    world.put_node(node("n1"))
    world.create_pod(pod("theirs", scheduler="other"))
    world.run(START)
    world.beside(lambda: engine("other"))
    world.run(START + 1)
    assert places(world) == {"theirs": ("n1", "Running")}


def test_a_failed_bind_is_told_to_who_asked():
    class Deny(Faults):
        def bind(self, placement, now):
            return BindFate(failure=Failure.DENIED)

    stage = Stage(Deny())
    stage.world.create_pod(pod("a"))
    stage.bind("a")
    assert stage.script.heard[-1] == BindFailed("uid-a", "n1", Failure.DENIED, "bind failed: denied")
