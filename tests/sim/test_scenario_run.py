"""Running a scenario: when things happen, when it ends, and what is told of it."""

import pytest

from muster.app.settings import make_engine
from muster.base.errors import ScenarioError
from muster.engine.journal import replay
from muster.sim.scenario.file import loads
from muster.sim.scenario.run import run

HEAD = "name: x\nnodes: [{name: n, count: 2, cpu: 4, memory: 8Gi}]\n"


def play(text, **options):
    return run(loads(HEAD + text, file="f.yaml"), **options)


def told(text, **options):
    return [(line.at, line.text) for line in play(text, **options).timeline]


def test_the_timeline_tells_a_gang_at_a_time():
    text = """
gangs:
  - {name: a, members: 2, cpu: 3, runs: 30s}
steps:
  - at: 10s
    gang: {name: b, members: 2, cpu: 2, exitCode: 1, runs: 10s}
"""
    lines = told(text)
    assert lines[0] == (0, "gang a (2 × 3 cpu) arrives")
    assert lines[1] == (0, "a starts: 2 pods on n-1, n-2")
    assert lines[2] == (10, "gang b (2 × 2 cpu) arrives")
    assert lines[3][1].startswith("b waits: needs 2 × 2 cpu")
    assert lines[4:] == [
        (30, "a ends"),
        (30, "b starts: 2 pods on n-1, n-2"),
        (40, "b fails: 2 of 2 pods failed"),
    ]


def test_why_a_gang_waits_is_told_again_only_when_it_is_something_else():
    text = """
pods: [{name: filler, count: 2, cpu: 4, runs: 10s}, {name: more, cpu: 1}]
gangs: [{name: a, members: 3, cpu: 4}]
"""
    waits = [line for _, line in told(text) if line.startswith("a waits")]
    assert len(waits) == 1


def test_lone_pods_that_come_together_are_told_together():
    assert told("pods: [{name: web, count: 3, cpu: 1}]") == [
        (0, "pods web (3 × 1 cpu) arrive"),
        (0, "web starts: 3 pods on n-1, n-2"),
    ]


def test_a_pod_that_comes_with_a_node_is_told_once():
    assert told("pods: [{name: web, cpu: 1, node: n-2}]") == [(0, "pod web (1 cpu) arrives on n-2")]


def test_what_happens_to_nodes_and_gangs_is_told():
    text = """
gangs: [{name: a, members: 2, min: 1, cpu: 3}]
steps:
  - {at: 1s, cordon: n-1}
  - {at: 2s, uncordon: n-1}
  - {at: 3s, change: {node: n-1, labels: {zone: b}, taints: ["x:NoSchedule"], cpu: 8}}
  - {at: 4s, drain: n-2}
  - {at: 5s, change: {gang: a, min: 2}}
  - {at: 6s, restart: scheduler}
  - {at: 7s, delete: gang/a}
"""
    assert told(text) == [
        (0, "gang a (2 × 3 cpu, min 1) arrives"),
        (0, "a starts: 2 pods on n-1, n-2"),
        (1, "node n-1 is cordoned"),
        (2, "node n-1 is uncordoned"),
        (3, "node n-1 changes: zone=b, taints x:NoSchedule, 8 cpu"),
        (4, "node n-2 is drained"),
        (4, "a loses 1 pod on n-2"),
        (5, "the minimum of a is now 2"),
        (6, "the scheduler restarts"),
        (7, "gang a is deleted"),
    ]


def test_labels_of_pods_change():
    text = """
gangs: [{name: a, members: 2, cpu: 1, labels: {team: red, old: "1"}}]
pods: [{name: p, cpu: 1}]
steps:
  - {at: 1s, label: {of: gang/a, labels: {team: blue, old: null}}}
  - {at: 2s, label: {of: pod/p, labels: {team: blue}}}
"""
    assert told(text)[-2:] == [
        (1, "pods of gang a change: team=blue, no label old"),
        (2, "pod p changes: team=blue"),
    ]


def test_steps_of_one_time_are_seen_together_and_expectations_after_them():
    text = """
steps:
  - at: 5s
    gang: {name: low, members: 2, cpu: 4}
  - at: 5s
    gang: {name: high, members: 2, cpu: 4, priority: 10}
    expect: {gangs: {high: {is: running}, low: {is: waiting}}}
  - delete: gang/high
    expect: {gangs: {high: {is: absent}, low: {is: running, started: 5s}}}
"""
    assert play(text).held


def test_it_ends_when_nothing_happens_any_more():
    assert play("pods: [{name: p, runs: 3h}]").ended == 3 * 3600


def test_a_gang_that_waits_for_ever_does_not_keep_it_running():
    result = play("gangs: [{name: a, members: 2, cpu: 100}]\nsteps: [{at: 1m, pod: {name: p}}]")
    assert result.ended == 60
    assert result.units[0].waited == 60


def test_until_stops_it_and_counts_what_was_not_checked():
    text = """
gangs: [{name: a, members: 2, cpu: 1, runs: 1m}]
steps:
  - {at: 10s, expect: {gangs: {a: {is: running}}}}
  - {at: 90s, expect: {gangs: {a: {is: waiting}}}}
expect: {gangs: {a: {is: waiting}}}
"""
    result = play(text, until=30)
    assert result.held
    assert (len(result.expectations), result.not_reached, result.ended) == (1, 2, 30)
    assert not play(text).held


def test_the_table_has_a_row_for_every_gang_and_for_lone_pods():
    result = play("gangs: [{name: a, members: 3, min: 2, cpu: 4}]\npods: [{name: p, cpu: 9}]")
    gang, pod = result.units
    assert (gang.name, gang.members, gang.min, gang.state, gang.started) == ("a", 3, 2, "running", 0)
    assert gang.why == "0/2 nodes are available: 2 Insufficient cpu."
    assert (pod.name, pod.gang, pod.min, pod.state, pod.started) == ("p", False, None, "waiting", None)


def test_a_gang_left_half_started_fails_every_scenario():
    text = """
steps:
  - failBinds: {of: pod/a-2, times: always}
  - gang: {name: a, members: 2, cpu: 1}
until: 1s
"""
    result = play(text)
    assert [str(check) for check in result.expectations] == [
        "at the end, every gang: expected is: whole or not started, saw a with 1 of 2 bound [f.yaml]"
    ]
    assert not result.held


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        (
            "[{pod: {name: p}}, {at: 5s, pod: {name: p}}]",
            'f.yaml:3: cannot be done: pods "p" already exists',
        ),
        ("[{delete: pod/p}, {at: 5s, pod: {name: p}}]", 'f.yaml:3: cannot be done: pods "default/p" not found'),
        ("[{lose: n-1}, {cordon: n-1}]", 'f.yaml:3: cannot be done: nodes "n-1" not found'),
        ("[{node: {name: n-1}}]", 'f.yaml:3: cannot be done: nodes "n-1" already exists'),
        ("[{pod: {name: p, priorityClass: vip}}]", "f.yaml:3: cannot be done: no PriorityClass with name vip"),
    ],
)
def test_what_an_api_server_would_refuse_is_a_mistake_in_the_file(steps, line):
    with pytest.raises(ScenarioError) as caught:
        play(f"steps: {steps}")
    assert str(caught.value).startswith(line)


def test_the_journal_of_a_run_replays_the_same_across_restarts():
    text = """
steps:
  - gang: {name: a, members: 2, cpu: 3}
  - at: 5s
    restart: scheduler
    gang: {name: b, members: 2, cpu: 3}
"""
    lines = []
    play(text, journal=lines.append)
    result = replay(lines, make_engine)
    assert result.difference is None
    assert result.decisions > 0
