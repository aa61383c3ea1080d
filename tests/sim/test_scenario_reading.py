"""A mistake in a scenario file is one line that says where it is and what to do."""

import pytest

from muster.base.errors import ScenarioError
from muster.sim.scenario.actions import Create
from muster.sim.scenario.file import load, loads

HEAD = "name: x\nnodes: [{name: n, count: 2, cpu: 4}]\n"


def complaint(text):
    with pytest.raises(ScenarioError) as caught:
        loads(text, file="f.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "f.yaml: the file is empty; a scenario needs at least a name"),
        ("- a", "f.yaml:1: scenario must be a mapping, not a list"),
        ("about: x", "f.yaml:1: scenario needs 'name'; add a line 'name: ...'"),
        ("name: [", "f.yaml:1: not YAML: expected the node content, but found '<stream end>'"),
        ("name: x\nname: y", "f.yaml:2: 'name' is given twice in scenario; keep one of them"),
        ("name: x\nnode: []", "f.yaml:2: unknown field 'node' in scenario; did you mean 'nodes'?"),
        ("name: 5", "f.yaml:1: name must be text, not '5'; put it in quotes"),
        ("name: &a [*a]", "f.yaml:1: an alias refers to itself"),
        ("name: x\nscheduler: {strategy: Fast}", "f.yaml:2: strategy cannot be 'Fast'; known are "),
        ("name: x\nnodes: {name: n}", "f.yaml:2: nodes must be a list, not a mapping; begin each entry with '- '"),
        ("name: x\nnodes: [{cpu: 4}]", "f.yaml:2: node needs 'name'"),
        ("name: x\nnodes: [{name: N_1}]", "f.yaml:2: 'N_1' is no Kubernetes name"),
        ("name: x\nnodes: [{name: n, cpu: 4x}]", "f.yaml:2: cpu must be a quantity: not a quantity"),
        ("name: x\nnodes: [{name: n, cpu: -4}]", "f.yaml:2: cpu must not be negative"),
        ("name: x\nnodes: [{name: n, taints: [gpu]}]", "f.yaml:2: 'gpu' is no taint; write key=value:NoSchedule"),
        ("name: x\nuntil: soon", "f.yaml:2: until must be a time, not 'soon'; write 5s"),
        ("name: x\nuntil: -5", "f.yaml:2: until must be a time, not '-5'"),
    ],
)
def test_of_the_file(text, line):
    assert complaint(text).startswith(line)


@pytest.mark.parametrize(
    ("gang", "line"),
    [
        ("{name: a, memebers: 2}", "f.yaml:3: unknown field 'memebers' in gang; did you mean 'members'?"),
        ("{members: 2}", "f.yaml:3: gang needs 'name'"),
        ("{name: a}", "f.yaml:3: gang needs 'members' or 'shapes'; use 'group'"),
        ("{name: a, members: 0}", "f.yaml:3: members must be a whole number of at least 1, not '0'"),
        ("{name: a, members: two}", "f.yaml:3: members must be a whole number of at least 1, not 'two'"),
        ("{name: a, members: 1, shapes: []}", "f.yaml:3: a gang with shapes has its members there"),
        ("{name: a, shapes: []}", "f.yaml:3: shapes has no entries"),
        ("{name: a, members: 2, min: 1, basic: true}", "f.yaml:3: a basic group has no minimum"),
        ("{name: a, members: 2, runs: long}", "f.yaml:3: runs must be a time, not 'long'"),
        ("{name: a, members: 2, hostPort: 70000}", "f.yaml:3: hostPort must be at most 65535"),
        ("{name: a, members: 2, priority: 1, priorityClass: b}", "f.yaml:3: both 'priority' and 'priorityClass'"),
        ("{name: a, members: 2, tolerations: ['gpu:Never']}", "f.yaml:3: 'gpu:Never' is no toleration"),
        ("{name: a, members: 2, affinity: {podAffinity: {}}}", "f.yaml:3: unknown field 'podAffinity' in affinity"),
        ("{name: a, members: 2, labels: {a: 1}}", "f.yaml:3: a must be text, not '1'; put it in quotes"),
    ],
)
def test_of_a_gang(gang, line):
    assert complaint(f"{HEAD}gangs: [{gang}]").startswith(line)


def test_of_a_selector_that_kubernetes_refuses():
    text = f"""{HEAD}pods:
  - name: p
    affinity:
      nodeAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{{matchExpressions: [{{key: zone, operator: Is, values: [a]}}]}}]
"""
    assert complaint(text).startswith("f.yaml:5: affinity cannot be used: ")


@pytest.mark.parametrize(
    ("step", "line"),
    [
        ("{at: 5s}", "f.yaml:6: this step does nothing; add one of gang, group, members"),
        ("{at: 5s, wiggle: n-1}", "f.yaml:6: unknown field 'wiggle' in step; known are at, gang"),
        ("{at: 0s, lose: n-1}", "f.yaml:6: this step comes before the one above it"),
        ("{lose: n-9}", "f.yaml:6: there is no node 'n-9' in this file; did you mean 'n-2'?"),
        ("{delete: a}", "f.yaml:6: delete cannot be 'a'; write gang/<name> or group/<name> or pod/<name>"),
        ("{delete: node/n-1}", "f.yaml:6: delete cannot be 'node/n-1'; to take a node away, write lose: n-1"),
        ("{delete: pod/a-3}", "f.yaml:6: there is no pod 'a-3' in this file; did you mean 'a-2'?"),
        ("{change: {gang: b, min: 1}}", "f.yaml:6: there is no gang 'b' in this file; no line creates"),
        ("{change: {gang: a}}", "f.yaml:6: change needs 'min'"),
        ("{change: {min: 1}}", "f.yaml:6: change needs 'gang' or 'node'"),
        ("{change: {node: n-1}}", "f.yaml:6: this changes nothing; add labels, taints or resources"),
        ("{restart: now}", "f.yaml:6: restart cannot be 'now'"),
        ("{failBinds: {of: gang/a, how: badly}}", "f.yaml:6: how cannot be 'badly'"),
        ("{failBinds: {of: gang/a, times: never}}", "f.yaml:6: times cannot be 'never'"),
        ("{slowBinds: {of: gang/a}}", "f.yaml:6: slowBinds needs 'by'"),
        ("{group: {name: g}}", "f.yaml:6: group needs 'min' or 'basic'"),
        ("{members: {of: a, name: b, count: 2}}", "f.yaml:6: members with a 'name' are one"),
        ("{objects: [{kind: Pod}]}", "f.yaml:6: object needs 'apiVersion'; write it as kubectl would take it"),
        (
            "{objects: [{apiVersion: v1, kind: Job, metadata: {name: a}}]}",
            "f.yaml:6: kind cannot be 'Job'; ",
        ),
        (
            "{objects: [{apiVersion: v2, kind: Pod, metadata: {name: a}}]}",
            "f.yaml:6: apiVersion cannot be 'v2'; ",
        ),
        (
            "{objects: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: 5}}]}",
            "f.yaml:6: Pod cannot be used: Pod cannot be read: Expected `array`, got `int`",
        ),
        (
            "{objects: [{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: x}}}]}",
            "f.yaml:6: Node cannot be used: ",
        ),
    ],
)
def test_of_a_step(step, line):
    text = f"{HEAD}gangs: [{{name: a, members: 2}}]\nsteps:\n  - {{at: 1s, cordon: n-1}}\n  - {step}"
    assert complaint(text).startswith(line)


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        ("{gang: {}}", "f.yaml:4: unknown field 'gang' in expect; did you mean 'gangs'?"),
        ("{gangs: {b: {is: running}}}", "f.yaml:4: there is no gang 'b' in this file"),
        ("{gangs: {a: {is: runing}}}", "f.yaml:4: is cannot be 'runing'; did you mean 'running'?"),
        ("{gangs: {a: {bind: 2}}}", "f.yaml:4: unknown field 'bind' in expectation of gang a; did you mean"),
        ("{gangs: {a: {started: [9s, 5s]}}}", "f.yaml:4: started must have two times, the earlier first"),
        ("{gangs: {a: {says: '/(/'}}}", "f.yaml:4: says is no regular expression: "),
        ("{pods: {a-1: {is: short}}}", "f.yaml:4: is cannot be 'short'; known are absent, waiting"),
        ("{nodes: {n-1: {pods: many}}}", "f.yaml:4: pods must be a whole number of at least 0, not 'many'"),
        ("{order: [a, b]}", "f.yaml:4: there is no gang 'b' in this file"),
    ],
)
def test_of_an_expectation(expected, line):
    assert complaint(f"{HEAD}gangs: [{{name: a, members: 2}}]\nexpect: {expected}").startswith(line)


def test_of_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ScenarioError, match=r"no\.yaml: cannot be read: No such file or directory"):
        load(tmp_path / "no.yaml")


def test_an_end_before_the_last_step_is_refused():
    assert "ends before its last step" in complaint(f"{HEAD}steps: [{{at: 5s, lose: n-1}}]\nuntil: 4s")


def created(text):
    scenario = loads(f"name: x\n{text}")
    actions = [action for step in scenario.steps for action in step.actions]
    return {
        f"{manifest['kind']}/{manifest['metadata']['name']}": manifest
        for action in actions
        if isinstance(action, Create)
        for manifest in action.manifests
    }


def test_a_gang_becomes_the_manifests_that_an_api_server_takes():
    found = created(
        "gangs: [{name: a, members: 1, min: 1, cpu: 2, nvidia.com/gpu: 1, priority: 7, runs: 1m, timeout: 9s}]"
    )
    assert found == {
        "PriorityClass/priority-7": {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "priority-7"},
            "value": 7,
            "globalDefault": False,
        },
        "PodGroup/a": {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {
                "name": "a",
                "namespace": "default",
                "annotations": {"muster.dev/schedule-timeout-seconds": "9"},
            },
            "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}, "priorityClassName": "priority-7"},
        },
        "Pod/a-1": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "a-1",
                "namespace": "default",
                "annotations": {"muster.dev/run-seconds": "60"},
            },
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "image": "registry.k8s.io/pause:3.10",
                        "resources": {
                            "requests": {"cpu": 2, "nvidia.com/gpu": 1},
                            "limits": {"nvidia.com/gpu": 1},
                        },
                    }
                ],
                "restartPolicy": "Never",
                "schedulerName": "muster",
                "schedulingGroup": {"podGroupName": "a"},
                "priorityClassName": "priority-7",
            },
        },
    }


def test_numbers_have_as_many_digits_as_it_takes_to_sort():
    names = list(created("nodes: [{name: n, count: 10}]"))
    assert names[0] == "Node/n-01"
    assert names[-1] == "Node/n-10"
    assert names == sorted(names)


def test_members_are_numbered_on():
    found = created("steps: [{members: {of: a, count: 2}}, {members: {of: a}}]")
    assert list(found) == ["Pod/a-1", "Pod/a-2", "Pod/a-3"]


def test_a_shape_overrides_what_its_gang_says():
    found = created("gangs: [{name: a, cpu: 1, memory: 1Gi, shapes: [{name: head, cpu: 4}, {name: w, members: 2}]}]")
    requests = {
        name: manifest["spec"]["containers"][0]["resources"]["requests"]
        for name, manifest in found.items()
        if manifest["kind"] == "Pod"
    }
    assert requests == {
        "Pod/a-head": {"cpu": 4, "memory": "1Gi"},
        "Pod/a-w-1": {"cpu": 1, "memory": "1Gi"},
        "Pod/a-w-2": {"cpu": 1, "memory": "1Gi"},
    }


@pytest.mark.parametrize(
    ("written", "manifest"),
    [
        ("gpu", {"key": "gpu", "operator": "Exists"}),
        ("gpu:NoSchedule", {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}),
        ("gpu=a:NoExecute", {"key": "gpu", "operator": "Equal", "value": "a", "effect": "NoExecute"}),
        ("{operator: Exists}", {"operator": "Exists"}),
    ],
)
def test_tolerations(written, manifest):
    found = created(f"pods: [{{name: p, tolerations: [{written}]}}]")
    assert found["Pod/p"]["spec"]["tolerations"] == [manifest]
