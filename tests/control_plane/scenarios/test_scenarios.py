"""Every file in scenarios/ holds on a real API server too, with the driver that `muster run` has.

Once with Kubernetes' own PodGroups, once on a cluster as it comes with Muster's.
"""

from pathlib import Path

import pytest

from muster.base.errors import ScenarioError
from muster.sim.scenario.file import load, loads
from muster.sim.scenario.run import run
from tests.control_plane.scenarios.playing import LEAKING, LEAKS, missed, only_simulated, played, story

FILES = sorted((Path(__file__).parents[3] / "scenarios").glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_scenario_holds_and_goes_as_it_does_in_the_simulator(cluster, file):
    scenario = load(file)
    if reason := only_simulated(scenario):
        pytest.skip(reason)
    result = played(scenario, cluster)
    assert missed(result) == []
    assert story(result) == story(run(scenario))


# --- what no file has ---

HEAD = "name: x\nnodes: [{name: n, count: 3, cpu: 4}]\n"
STORIES = {
    "a gang is deleted and another of its name comes": """
gangs: [{name: a, members: 2, cpu: 3}]
steps:
  - {at: 10s, delete: gang/a, expect: {gangs: {a: {is: absent}}}}
  - {at: 20s, gang: {name: a, members: 3, cpu: 4}, expect: {gangs: {a: {is: running, started: 20s}}}}
""",
    "a gang is deleted and made again a moment later": """
gangs: [{name: a, members: 2, cpu: 3}]
steps:
  - {at: 10s, delete: gang/a}
  - {at: 11s, pod: {name: p, cpu: 4}, gang: {name: a, members: 2, cpu: 4}}
expect: {gangs: {a: {is: running, bound: 2}}}
""",
    "a waiting gang is deleted": """
gangs: [{name: a, members: 4, cpu: 4}, {name: b, members: 4, cpu: 3}]
steps:
  - {at: 10s, delete: gang/a}
  - {at: 20s, node: {name: m, cpu: 3}, expect: {gangs: {b: {is: running, started: 20s}}}}
""",
    "a drained node": """
gangs: [{name: a, members: 3, min: 2, cpu: 3}]
steps:
  - {at: 10s, drain: n-2, expect: {gangs: {a: {is: running, bound: 2}}, nodes: {n-2: {pods: 0}}}}
  - {at: 20s, members: {of: a, cpu: 3}, expect: {gangs: {a: {pending: 1}}}}
  - {at: 30s, uncordon: n-2, expect: {gangs: {a: {bound: 3}}, nodes: {n-2: {pods: [a-4]}}}}
""",
    "a node changes": """
gangs: [{name: a, members: 2, cpu: 6, nodeSelector: {zone: b}}]
steps:
  - {at: 10s, change: {node: n-1, cpu: 12, labels: {zone: b}}, expect: {gangs: {a: {is: running, nodes: [n-1]}}}}
  - {at: 20s, change: {node: n-1, labels: {zone: null}, taints: ["x:NoSchedule"], cpu: 32}}
  - {at: 30s, members: {of: a, cpu: 6, nodeSelector: {zone: b}}, expect: {gangs: {a: {pending: 1}}}}
""",
    "gates of a whole gang go": """
gangs: [{name: a, members: 2, cpu: 2, gates: [x.io/q]}]
steps: [{at: 10s, ungate: gang/a, expect: {gangs: {a: {is: running, started: 10s}}}}]
""",
    "pods fail": """
gangs: [{name: a, members: 2, cpu: 4, runs: 5s, exitCode: 3}, {name: b, members: 3, cpu: 2, runs: 5s}]
expect: {gangs: {a: {is: ended, failed: 2}, b: {started: 5s, succeeded: 3}}}
""",
    "slow binds land at last": """
steps:
  - slowBinds: {of: gang/a, by: 3s}
  - gang: {name: a, members: 3, cpu: 4, runs: 10s}
    expect: {gangs: {a: {is: waiting, bound: 0}}}
expect: {gangs: {a: {started: 3s, ended: 13s, never: partial}}}
""",
    "a slow bind fails in the end": """
steps:
  - failBinds: {of: pod/a-2, after: 3s, times: 3}
  - gang: {name: a, members: 3, cpu: 4}
expect: {gangs: {a: {is: running, bound: 3, started: [3s, 20s]}}}
""",
    "a gang goes while its binds are on their way": """
steps:
  - slowBinds: {of: gang/a, by: 5s}
  - gang: {name: a, members: 3, cpu: 4}
  - {at: 2s, delete: gang/a, gang: {name: b, members: 3, cpu: 4}}
expect: {gangs: {a: {is: absent}, b: {is: running}}}
""",
    "a restart that loses nothing": """
gangs: [{name: a, members: 2, cpu: 3}, {name: b, members: 3, cpu: 4}]
steps:
  - {at: 5s, restart: scheduler}
  - {at: 10s, delete: gang/a, expect: {gangs: {b: {is: running, started: 10s}}}}
""",
    "a restart in the middle of a timeout": """
steps:
  - failBinds: {of: pod/a-3, how: rejected, times: always}
  - gang: {name: a, members: 3, cpu: 4, timeout: 60s}
  - {at: 30s, restart: scheduler}
expect: {gangs: {a: {is: waiting, bound: 0, reason: Timeout}}}
until: 61s
""",
    "other schedulers' pods take room": """
pods: [{name: other, cpu: 2, scheduler: default-scheduler}, {name: fixed, cpu: 2, node: n-1, runs: 30s}]
gangs: [{name: a, members: 3, cpu: 4}]
expect: {gangs: {a: {started: 30s}}, pods: {other: {is: waiting}}}
""",
    "a gang evicts another that takes its time": """
gangs: [{name: low, members: 3, cpu: 3, disruption: all, stop: 10s}]
steps:
  - at: 5s
    gang: {name: high, members: 3, cpu: 3, priority: 10}
    expect: {evicted: [gang/low], gangs: {high: {nominated: 3}, low: {is: short, stopping: 3}}}
expect: {evicted: 3, gangs: {high: {started: 15s, lost: false}, low: {is: short, members: 0}}}
""",
    "a gang evicts another that goes at once": """
gangs: [{name: low, members: 3, cpu: 3}]
steps:
  - {at: 5s, gang: {name: high, members: 2, cpu: 3, priority: 10}, expect: {gangs: {high: {is: running, started: 5s}}}}
expect: {gangs: {low: {evicted: 2, bound: 1}}}
""",
    "who never preempts waits": """
gangs: [{name: low, members: 3, cpu: 3, runs: 30s}]
steps: [{at: 5s, gang: {name: high, members: 2, cpu: 3, priority: 10, preemption: never}}]
expect: {evicted: 0, gangs: {high: {started: 30s}}}
""",
    "a pod evicts the one that no budget protects": """
pods:
  - {name: a, cpu: 4, labels: {app: a}}
  - {name: b, cpu: 4, labels: {app: b}}
  - {name: c, cpu: 4, labels: {app: c}}
budgets: [{name: x, of: {app: a}, allowed: 0}, {name: y, of: pod/b, allowed: 0}]
steps: [{at: 5s, pod: {name: high, cpu: 4, priority: 10}}]
expect: {evicted: [c], pods: {high: {is: running}, a: {is: running}}}
""",
    "a budget changes its mind": """
pods: [{name: a, cpu: 4}, {name: b, cpu: 4}, {name: c, cpu: 4}]
budgets: [{name: x, of: pod/a, allowed: 0}, {name: y, of: pod/b, allowed: 0}, {name: z, of: pod/c, allowed: 1}]
steps:
  - {at: 5s, change: {budget: z, allowed: 0}}
  - {at: 6s, change: {budget: y, allowed: 1}}
  - {at: 7s, delete: budget/x, budget: {name: w, of: pod/a, allowed: 0}}
  - {at: 10s, pod: {name: high, cpu: 4, priority: 10}}
expect: {evicted: [b]}
""",
    "a restart while victims leave": """
gangs: [{name: low, members: 3, cpu: 3, disruption: all, stop: 10s}]
steps:
  - {at: 5s, gang: {name: high, members: 3, cpu: 3, priority: 10}}
  - {at: 8s, restart: scheduler, expect: {gangs: {high: {nominated: 3}}}}
expect: {evicted: 3, gangs: {high: {started: 15s}}}
""",
    "a node goes that room was kept on": """
gangs: [{name: low, members: 3, cpu: 3, disruption: all, stop: 10s}]
steps:
  - {at: 5s, gang: {name: high, members: 3, cpu: 3, priority: 10}}
  - {at: 8s, lose: n-2}
  - {at: 60s, node: {name: m, cpu: 4}}
expect: {gangs: {high: {is: running, lost: node lost}}}
""",
    "users delete pods that take time to stop": """
gangs: [{name: a, members: 2, cpu: 3, stop: 20s, grace: 15s}]
pods: [{name: p, cpu: 3, stop: 5s}]
steps:
  - {at: 5s, delete: pod/p, pod: {name: q, cpu: 4}, expect: {pods: {p: {is: stopping}, q: {is: waiting}}}}
  - {at: 10s, expect: {pods: {p: {is: absent}, q: {is: running}}}}
  - {at: 20s, delete: gang/a, expect: {gangs: {a: {stopping: 2}}}}
  - {at: 34s, expect: {gangs: {a: {stopping: 2}}}}
expect: {gangs: {a: {is: absent}}}
""",
    "a drained node whose pods take time to stop": """
gangs: [{name: a, members: 3, cpu: 3, stop: 10s, runs: 25s}]
steps:
  - {at: 5s, drain: n-2, expect: {gangs: {a: {is: short, bound: 2, stopping: 1}}}}
  - {at: 20s, drain: n-1}
expect: {gangs: {a: {ended: true}}}
""",
    "a gang below its minimum waits for its replacements": """
gangs: [{name: a, members: 3, cpu: 3}]
steps:
  - {at: 5s, fail: {of: pod/a-2, reason: Evicted}}
  - {at: 20s, expect: {gangs: {a: {is: short, belowMinimum: true, failed: 1}}}}
  - {at: 30s, members: {of: a, cpu: 3}}
expect: {gangs: {a: {is: running, belowMinimum: false, bound: 3}}}
""",
    "a gang below its minimum is taken down and starts whole": """
gangs: [{name: a, members: 3, cpu: 3, belowMinimum: restart, belowMinimumGrace: 20s, stop: 5s}]
steps:
  - {at: 5s, fail: pod/a-2}
  - {at: 60s, members: {of: a, count: 3, cpu: 3}}
expect: {evicted: 0, gangs: {a: {is: running, bound: 3}}}
""",
    "what a gang does below its minimum is changed": """
gangs: [{name: a, members: 3, cpu: 3}]
steps:
  - {at: 5s, finish: pod/a-1}
  - {at: 6s, fail: pod/a-2}
  - {at: 30s, change: {gang: a, belowMinimum: restart, belowMinimumGrace: 10s}}
""",
    "a kubelet refuses": """
pods: [{name: first, cpu: 3, node: n-1}, {name: second, cpu: 3, node: n-1}, {name: third, cpu: 1, node: n-1}]
expect: {pods: {first: {is: running}, second: {failed: OutOfcpu}, third: {is: running}}}
""",
    "a bind lands on a node that is gone": """
steps:
  - slowBinds: {of: node/n-1, by: 5s}
  - gang: {name: a, members: 3, cpu: 4, timeout: 20s}
  - {at: 2s, lose: n-1}
expect: {gangs: {a: {bound: 0, started: false, reason: Timeout}}}
""",
    "binds are denied": """
steps:
  - failBinds: {of: gang/a, how: denied, times: 2}
  - gang: {name: a, members: 3, cpu: 4}
expect: {gangs: {a: {is: running}}}
""",
    "members of different priorities": """
gangs:
  - {name: a, members: 2, cpu: 4, priority: 5}
  - {name: b, members: 2, cpu: 4, priority: 7, runs: 10s}
  - {name: c, members: 2, cpu: 4, priority: 6, runs: 10s}
expect: {order: [b, c, a]}
""",
}


@pytest.mark.parametrize("text", STORIES.values(), ids=[name.replace(" ", "-") for name in STORIES])
def test_it_goes_as_it_does_in_the_simulator(cluster, text):
    scenario = loads(HEAD + text)
    simulated = run(scenario)
    assert missed(simulated) == []
    result = played(scenario, cluster)
    assert missed(result) == []
    assert story(result) == story(simulated)


# --- whether it would notice ---


def test_a_wrong_expectation_fails(cluster):
    text = "gangs: [{name: a, members: 4, cpu: 4}]\nexpect: {gangs: {a: {is: running, started: 0s}}}"
    first, second = missed(played(loads(HEAD + text, file="x.yaml"), cluster))
    assert first.startswith("at the end, gang a: expected is: running, saw waiting (needs 4 × 4 cpu, 3 nodes have")
    assert second.startswith("at the end, gang a: expected started: 0s, saw not yet")


def test_what_is_kept_for_nobody_is_noticed(cluster):
    assert missed(played(loads(LEAKING, file="x.yaml"), cluster)) == LEAKS


def test_what_the_server_refuses_is_a_mistake_in_the_file(cluster):
    with pytest.raises(ScenarioError) as refused:
        played(loads(HEAD + "steps: [{pod: {name: p}}, {at: 5s, pod: {name: p}}]", file="f.yaml"), cluster)
    assert str(refused.value).startswith('f.yaml:3: cannot be done: pods "p" already exists')
