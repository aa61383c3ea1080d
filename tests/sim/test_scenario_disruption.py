"""What scenarios tell and expect of evictions, kept room, gangs that shrink, and kubelets that refuse.

The scheduler is a script: what a real one decides, and when, is not asked here.
"""

import pytest

from muster.app.settings import make_engine
from muster.base.errors import ScenarioError
from muster.engine.decisions import (
    Bind,
    Evict,
    GangCondition,
    Loss,
    Lost,
    Placement,
    PodCondition,
    PodRef,
    Release,
)
from muster.engine.journal import replay
from muster.gangs.model import Aspect
from muster.sim.scenario.file import loads
from muster.sim.scenario.perform import Hands, ScenarioFaults
from muster.sim.scenario.run import START, play, run
from muster.sim.world import World

HEAD = "name: x\nnodes: [{name: n, count: 2, cpu: 4}]\n"
WHY = "muster: preempting to accommodate a higher priority podgroup"


class Script:
    """Decides at each of its times what is written for it."""

    world: World

    def __init__(self, plan):
        self._plan = sorted(plan.items())

    def apply(self, changes):
        pass

    def decide(self, now):
        decided = []
        while self._plan and START + self._plan[0][0] <= now:
            for part in self._plan.pop(0)[1]:
                decided.append(part(self.world))
        return decided

    @property
    def next_decide_at(self):
        return START + self._plan[0][0] if self._plan else None


def scripted(text, plan):
    scenario = loads(HEAD + text, file="f.yaml")
    script = Script(plan)
    faults = ScenarioFaults()
    script.world = World(lambda: None, start=START, faults=faults, through=lambda engine: script)
    return play(scenario, script.world, perform=Hands(script.world, faults).perform)


def told(result):
    """Lines of what came of it; the steps themselves go without saying."""
    return [(line.at, line.kind, line.text) for line in result.timeline if line.kind != "step"]


def missed(result):
    return [str(check) for check in result.expectations if not check.held]


def refs(world, *names):
    return tuple(PodRef(world.find_pod(f"default/{name}").metadata.uid, f"default/{name}") for name in names)


def evict(*names, kind=Evict, reason="PreemptionByScheduler"):
    return lambda world: kind("default/high", refs(world, *names), reason, WHY)


def bind(**places):
    def decide(world):
        names = [name.replace("_", "-") for name in places]
        uids = [ref.uid for ref in refs(world, *names)]
        rows = zip(uids, names, places.values(), strict=True)
        return Bind("default/x", tuple(Placement(uid, f"default/{name}", node) for uid, name, node in rows))

    return decide


def nominate(*names, to=()):
    return lambda world: PodCondition(refs(world, *names), "Unschedulable", "no room", True, tuple(to))


def says(gang, *, holds, message, aspect=Aspect.BELOW_MINIMUM):
    return lambda world: GangCondition(f"default/{gang}", holds, "Because", message, aspect)


RUNNING = "pods: [{name: web, count: 2, cpu: 1, node: n-1, stop: 10s}, {name: db, cpu: 1, node: n-2}]\n"


# --- evictions ---


def test_an_eviction_is_told_when_it_happens_and_when_its_victims_are_gone():
    result = scripted(RUNNING, {5: [evict("web-1", "web-2")]})
    assert told(result) == [
        (5, "evicted", f"2 pods of web on n-1 are evicted: {WHY}"),
        (15, "gone", "2 pods of web on n-1 are gone"),
    ]


def test_victims_that_go_at_once_are_told_of_once():
    assert told(scripted(RUNNING, {5: [evict("db")]})) == [(5, "evicted", f"1 pod of db on n-2 is evicted: {WHY}")]


def test_a_gang_is_short_as_soon_as_its_members_are_told_to_stop():
    text = """gangs: [{name: low, members: 2, min: 2, cpu: 1, stop: 10s}]
steps:
  - at: 5s
    expect:
      gangs: {low: {is: short, bound: 1, stopping: 1, nodes: [n-2]}}
      pods: {low-1: {is: stopping}}
      nodes: {n-1: {pods: [low-1]}}
expect: {gangs: {low: {bound: 1, stopping: 0, members: 1}}}
"""
    started = says("low", holds=True, message="go", aspect=Aspect.STARTED)
    plan = {1: [bind(low_1="n-1", low_2="n-2"), started], 5: [evict("low-1")]}
    assert missed(scripted(text, plan)) == []


def test_what_is_expected_of_evictions():
    text = (
        RUNNING
        + """
gangs: [{name: low, members: 2, cpu: 1}]
steps:
  - {at: 4s, expect: {evicted: 0, gangs: {low: {evicted: 0}}, pods: {web-1: {evicted: false}}}}
  - at: 5s
    expect:
      evicted: [web-1, gang/low]
      gangs: {low: {evicted: [low-1, low-2]}}
      pods: {web-1: {evicted: true}, web-2: {evicted: false}}
expect: {evicted: 3, gangs: {low: {evicted: 2}}}
"""
    )
    started = says("low", holds=True, message="go", aspect=Aspect.STARTED)
    plan = {1: [bind(low_1="n-1", low_2="n-2"), started], 5: [evict("web-1", "low-1", "low-2")]}
    assert missed(scripted(text, plan)) == []


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        ("{evicted: 1}", "at the end, all pods: expected evicted: 1, saw 2 (web-1, web-2)"),
        ("{evicted: []}", "at the end, all pods: expected evicted: none, saw 2 (web-1, web-2)"),
        ("{evicted: [web-1]}", "at the end, all pods: expected evicted: web-1, saw 2 (web-1, web-2)"),
        ("{evicted: [web-1, db]}", "at the end, all pods: expected evicted: web-1, db, saw 2 (web-1, web-2)"),
        (
            "{evicted: [web-1, pod/web-2, gang/low]}",
            "at the end, all pods: expected evicted: web-1, web-2, gang low, saw 2 (web-1, web-2)",
        ),
        ("{pods: {db: {evicted: true}}}", "at the end, pod db: expected evicted: true, saw false"),
        ("{gangs: {low: {evicted: 1}}}", "at the end, gang low: expected evicted: 1, saw none"),
    ],
)
def test_a_wrong_expectation_of_evictions_says_who_was_evicted(expected, line):
    text = f"{RUNNING}gangs: [{{name: low, members: 1, cpu: 9}}]\nexpect: {expected}"
    (only,) = missed(scripted(text, {5: [evict("web-1", "web-2")]}))
    assert only.startswith(line)


def test_a_release_is_no_eviction():
    text = f"{RUNNING}expect: {{evicted: 0}}"
    result = scripted(text, {5: [evict("web-1", kind=Release, reason="Timeout")]})
    assert missed(result) == []
    assert told(result) == [
        (5, "released", f"1 pod of web on n-1 is released: {WHY}"),
        (15, "loses", "web loses 1 pod on n-1"),
    ]


def test_that_a_user_deletes_is_told_by_the_step():
    result = scripted(f"{RUNNING}steps: [{{at: 5s, delete: pod/web-1}}]", {})
    assert told(result) == [(15, "loses", "web loses 1 pod on n-1")]


# --- room that is kept, and lost ---

WAITING = "gangs: [{name: high, members: 2, cpu: 4}]\npods: [{name: solo, cpu: 4}]\n"


def kept(result):
    return [line for line in told(result) if line[1] == "kept"]


def test_kept_room_is_told_when_it_changes_and_when_it_is_given_up():
    plan = {
        1: [nominate("high-1", "high-2", to=("n-1", "n-2"))],
        2: [nominate("high-1", "high-2", to=("n-1", "n-2"))],
        3: [nominate("high-1", "high-2", to=("n-1", "n-1"))],
        4: [nominate("high-1", "high-2")],
    }
    assert kept(scripted(WAITING, plan)) == [
        (1, "kept", "room is kept for 2 pods of high on n-1, n-2"),
        (3, "kept", "room is kept for 2 pods of high on n-1"),
        (4, "kept", "no room is kept for high any more"),
    ]


def test_a_pod_that_gets_its_room_gives_nothing_up():
    plan = {1: [nominate("solo", to=["n-1"])], 2: [bind(solo="n-1")]}
    assert kept(scripted(WAITING, plan)) == [(1, "kept", "room is kept for 1 pod of solo on n-1")]


def test_what_is_expected_of_nominations():
    text = (
        WAITING
        + """steps:
  - {at: 0s, expect: {gangs: {high: {nominated: 0}}, pods: {solo: {nominated: false}}}}
  - at: 1s
    expect:
      gangs: {high: {nominated: 2}}
      pods: {high-1: {nominated: n-1}, high-2: {nominated: [n-1, n-2]}, solo: {nominated: true}}
  - {at: 1s, expect: {gangs: {high: {nominated: [n-1, n-2]}}}}
  - {at: 2s, expect: {gangs: {high: {nominated: 2}}}}
  - {at: 2s, expect: {gangs: {high: {nominated: [n-1]}}}}
"""
    )
    plan = {
        1: [nominate("high-1", "high-2", "solo", to=("n-1", "n-2", "n-2"))],
        2: [nominate("high-1", "high-2", to=("n-1", "n-1"))],
    }
    assert missed(scripted(text, plan)) == []


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        ("{gangs: {high: {nominated: 1}}}", "gang high: expected nominated: 1, saw 2 on n-1, n-2"),
        ("{gangs: {high: {nominated: [n-1]}}}", "gang high: expected nominated: n-1, saw 2 on n-1, n-2"),
        ("{pods: {high-1: {nominated: n-2}}}", "pod high-1: expected nominated: n-2, saw n-1"),
        ("{pods: {high-1: {nominated: false}}}", "pod high-1: expected nominated: false, saw n-1"),
        ("{pods: {solo: {nominated: true}}}", "pod solo: expected nominated: true, saw none"),
        ("{pods: {solo: {nominated: n-1}}}", "pod solo: expected nominated: n-1, saw none"),
    ],
)
def test_a_wrong_expectation_of_nominations_says_where_room_is_kept(expected, line):
    plan = {1: [nominate("high-1", "high-2", to=("n-1", "n-2"))]}
    (only,) = missed(scripted(f"{WAITING}expect: {expected}", plan))
    assert only.startswith(f"at the end, {line}")


def lose(unit, why):
    return lambda world: Lost(f"default/{unit}", why, "somebody was faster")


def test_room_that_is_lost_is_told_and_can_be_expected():
    text = f"{WAITING}expect: {{gangs: {{high: {{lost: foreign bind}}}}, pods: {{solo: {{lost: false}}}}}}"
    result = scripted(text, {1: [lose("high", Loss.FOREIGN)]})
    assert missed(result) == []
    assert (1, "lost", "high: somebody was faster (foreign bind)") in told(result)


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        ("{gangs: {high: {lost: node lost}}}", "gang high: expected lost: node lost, saw foreign bind"),
        ("{gangs: {high: {lost: false}}}", "gang high: expected lost: false, saw foreign bind"),
        ("{pods: {solo: {lost: true}}}", "pod solo: expected lost: true, saw nothing lost"),
    ],
)
def test_a_wrong_expectation_of_losses_says_what_was_lost(expected, line):
    (only,) = missed(scripted(f"{WAITING}expect: {expected}", {1: [lose("high", Loss.FOREIGN)]}))
    assert only.startswith(f"at the end, {line}")


# --- below the minimum ---


def test_a_gang_below_its_minimum_is_told_and_can_be_expected():
    text = (
        WAITING
        + """steps:
  - {at: 1s, expect: {gangs: {high: {belowMinimum: true}}}}
  - {at: 9s, expect: {gangs: {high: {belowMinimum: false}}}}
"""
    )
    plan = {
        1: [says("high", holds=True, message="1 of 2 left")],
        2: [says("high", holds=True, message="0 of 2 left")],
        9: [says("high", holds=False, message="whole")],
    }
    result = scripted(text, plan)
    assert missed(result) == []
    assert told(result) == [
        (1, "below", "high is below its minimum: 1 of 2 left"),
        (9, "whole", "high is no longer below its minimum"),
    ]


def test_a_wrong_expectation_of_the_minimum_fails():
    (only,) = missed(scripted(f"{WAITING}expect: {{gangs: {{high: {{belowMinimum: true}}}}}}", {}))
    assert only.startswith("at the end, gang high: expected belowMinimum: true, saw false")


def test_a_gang_that_holds_what_it_has_may_be_left_half_started():
    text = "gangs: [{name: a, members: 2, cpu: 1, onPartial: hold}]\nexpect: {gangs: {a: {is: partial}}}"
    assert missed(scripted(text, {1: [bind(a_1="n-1")]})) == []


# --- pods that fail ---


def test_a_pod_that_the_kubelet_refuses_is_told_and_can_be_expected():
    text = """pods: [{name: a, cpu: 3, node: n-1}, {name: b, cpu: 3, node: n-1}]
expect: {pods: {a: {failed: false}, b: {is: failed, failed: OutOfcpu}}, nodes: {n-1: {pods: [a]}}}
"""
    result = scripted(text, {})
    assert missed(result) == []
    assert told(result)[0] == (0, "refused", "1 pod of b on n-1 is refused by the kubelet: OutOfcpu")


def test_a_bind_that_the_kubelet_refuses_starts_nobody():
    text = "pods: [{name: a, cpu: 3, node: n-1}, {name: b, cpu: 3}]"
    result = scripted(text, {1: [bind(b="n-1")]})
    assert [kind for _, kind, _ in told(result)] == ["refused", "fails"]


def test_a_member_that_fails_is_told_while_others_live():
    text = """pods: [{name: web, count: 2, cpu: 1, node: n-1}]
steps:
  - {at: 1s, fail: {of: pod/web-1, reason: Evicted}}
  - {at: 2s, fail: pod/web-2}
expect: {pods: {web-1: {failed: Evicted}, web-2: {failed: true}}}
"""
    result = scripted(text, {})
    assert missed(result) == []
    assert [(line.at, line.text) for line in result.timeline[1:]] == [
        (1, "pod web-1 is made to fail (Evicted)"),
        (1, "1 pod of web on n-1 has failed: Evicted"),
        (2, "pod web-2 is made to fail"),
        (2, "web fails: 2 of 2 pods failed"),
    ]


def test_a_gang_comes_to_its_end_when_a_step_says_so():
    text = """gangs: [{name: a, members: 2, cpu: 1}]
steps: [{at: 3s, finish: gang/a}]
expect: {gangs: {a: {is: ended, ended: 3s, succeeded: 2}}}
"""
    started = says("a", holds=True, message="go", aspect=Aspect.STARTED)
    assert missed(scripted(text, {1: [bind(a_1="n-1", a_2="n-2"), started]})) == []


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        ("a: {failed: true}", "pod a: expected failed: true, saw false"),
        ("b: {failed: OutOfmemory}", "pod b: expected failed: 'OutOfmemory', saw 'OutOfcpu'"),
        ("b: {failed: false}", "pod b: expected failed: false, saw 'OutOfcpu'"),
        ("b: {is: stopping}", "pod b: expected is: stopping, saw failed"),
    ],
)
def test_a_wrong_expectation_of_failures_says_why_it_failed(expected, line):
    text = f"pods: [{{name: a, cpu: 3, node: n-1}}, {{name: b, cpu: 3, node: n-1}}]\nexpect: {{pods: {{{expected}}}}}"
    (only,) = missed(scripted(text, {}))
    assert only.startswith(f"at the end, {line}")


# --- steps ---


def test_a_denied_bind_is_told_so():
    text = """gangs: [{name: a, members: 1, cpu: 1}]
steps: [{at: 1s, failBinds: {of: gang/a, how: denied, times: 2}}]
"""
    assert scripted(text, {}).timeline[-1].text == "from now on the next 2 binds of gang a are denied"


def test_budgets_come_change_and_go():
    text = """pods: [{name: web, cpu: 1, node: n-1}]
budgets: [{name: b, of: pod/web, allowed: 1}, {name: c, of: {app: web}, allowed: 0}]
steps:
  - {at: 1s, change: {budget: b, allowed: 0}}
  - {at: 2s, delete: budget/b}
"""
    assert [line.text for line in scripted(text, {}).timeline[1:]] == [
        "budget b arrives: 1 disruption of pod web",
        "budget c arrives: no disruptions of pods with app=web",
        "budget b changes: no disruptions",
        "budget b is deleted",
    ]


def test_what_a_gang_wants_can_be_changed():
    text = """gangs: [{name: a, members: 2, cpu: 1}]
steps: [{at: 1s, change: {gang: a, min: 1, belowMinimum: restart, belowMinimumGrace: 9s}}]
"""
    told = "the minimum of a is now 1, belowMinimum of a is now restart, belowMinimumGrace of a is now 9s"
    assert scripted(text, {}).timeline[-1].text == told


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ("[{finish: pod/p}]", "f.yaml:4: cannot be done: pod p does not run"),
        ("[{fail: gang/g}]", "f.yaml:4: cannot be done: gang g does not run"),
        (
            "[{budget: {name: b, of: pod/p, allowed: 1}}, {budget: {name: b, of: pod/p, allowed: 1}}]",
            'f.yaml:4: cannot be done: poddisruptionbudgets "b" already exists',
        ),
        (
            "[{delete: budget/b}, {budget: {name: b, of: pod/p, allowed: 1}}]",
            'f.yaml:4: cannot be done: poddisruptionbudgets "default/b" not found',
        ),
    ],
)
def test_what_an_api_server_would_refuse_is_a_mistake_in_the_file(steps, line):
    text = f"pods: [{{name: p, cpu: 1}}]\nsteps: {steps}\ngangs: [{{name: g, members: 1, cpu: 1}}]"
    with pytest.raises(ScenarioError) as caught:
        scripted(text, {})
    assert str(caught.value).startswith(line)


# --- settings and a second scheduler, with real ones ---


def test_a_second_muster_schedules_its_own_gangs_on_the_same_nodes():
    text = (
        HEAD
        + """beside: other
gangs:
  - {name: ours, members: 2, cpu: 2}
  - {name: theirs, members: 2, cpu: 2, scheduler: other}
  - {name: nobodys, members: 1, cpu: 1, scheduler: third}
expect: {gangs: {ours: {is: running, bound: 2}, theirs: {is: running, bound: 2}, nobodys: {is: waiting}}}
"""
    )
    assert missed(run(loads(text))) == []


def test_a_journal_of_other_settings_replays_the_same():
    text = (
        f"{HEAD}scheduler: {{strategy: MostAllocated}}\npreemption: {{rounds: 1}}\nfairness: {{passesPerMember: off}}\n"
    )
    lines = []
    run(loads(text + "gangs: [{name: a, members: 2, cpu: 3}]"), journal=lines.append)
    result = replay(lines, make_engine)
    assert result.difference is None
    assert result.decisions > 0
