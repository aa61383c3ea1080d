"""A mistake in a scenario file is one line that says where it is and what to do."""

import json

import pytest

from muster.base.errors import ScenarioError
from muster.framework.profile import Fairness, PreemptionSettings
from muster.plugins.registry import ProfileParts
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
        ("name: x\nbeside: muster", "f.yaml:2: muster is the first scheduler's name; give the other one another"),
        ("name: x\nbeside: 2", "f.yaml:2: beside must be text, not '2'"),
        ("name: x\npreemption: {turns: 1}", "f.yaml:2: unknown field 'turns' in preemption; known are gangs, delayed"),
        ("name: x\npreemption: {gangs: 1}", "f.yaml:2: gangs must be true or false, not '1'"),
        ("name: x\npreemption: {rounds: -1}", "f.yaml:2: rounds must be a whole number of at least 0, not '-1'"),
        ("name: x\npreemption: {patience: long}", "f.yaml:2: patience must be a time, not 'long'"),
        ("name: x\nfairness: {passesPerMember: on}", "f.yaml:2: passesPerMember must be a number of at least 0"),
        ("name: x\nfairness: {passesPerMember: -1}", "f.yaml:2: passesPerMember must be a number of at least 0"),
        ("name: x\nfairness: {failingShare: 20}", "f.yaml:2: failingShare must be between 0 and 1"),
        ("name: x\npriorityClasses: {a: {preemption: never}}", "f.yaml:2: priority class a needs 'value'"),
        ("name: x\npriorityClasses: {a: {value: 1, preemption: no}}", "f.yaml:2: preemption must be text, not 'no'"),
        ("name: x\nbudgets: [{name: b, of: pod/p}]", "f.yaml:2: budget needs 'allowed'"),
        ("name: x\nbudgets: [{name: b, of: pod/p, allowed: 1}]", "f.yaml:2: there is no pod 'p' in this file"),
        ("name: x\nbudgets: [{name: b, of: node/n, allowed: 1}]", "f.yaml:2: of cannot be 'node/n'; "),
        (
            "name: x\nbudgets: [{name: b, of: {}, allowed: -1}]",
            "f.yaml:2: allowed must be a whole number of at least 0",
        ),
        ("name: x\nbudgets: [{name: b, of: {a: 1}, allowed: 1}]", "f.yaml:2: a must be text, not '1'"),
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
        (
            "{name: a, members: 2, preemption: never, priorityClass: b}",
            "f.yaml:3: both 'preemption' and 'priorityClass'",
        ),
        ("{name: a, members: 2, preemption: always}", "f.yaml:3: preemption cannot be 'always'; known are never"),
        ("{name: a, members: 2, disruption: some}", "f.yaml:3: disruption cannot be 'some'; known are all, single"),
        ("{name: a, members: 2, stop: slow}", "f.yaml:3: stop must be a time, not 'slow'"),
        (
            "{name: a, members: 2, grace: 1500ms}",
            "f.yaml:3: grace must be whole seconds; Kubernetes takes no fractions",
        ),
        ("{name: a, members: 2, timeout: 0s}", "f.yaml:3: timeout must be longer than 0"),
        ("{name: a, members: 2, onPartial: release}", "f.yaml:3: onPartial cannot be 'release'; known are hold"),
        (
            "{name: a, members: 2, belowMinimum: stop}",
            "f.yaml:3: belowMinimum cannot be 'stop'; known are wait, restart",
        ),
        ("{name: a, members: 2, belowMinimumGrace: 0}", "f.yaml:3: belowMinimumGrace must be longer than 0"),
        ("{name: a, members: 2, tolerations: ['gpu:Never']}", "f.yaml:3: 'gpu:Never' is no toleration"),
        ("{name: a, members: 2, affinity: {podAfinity: {}}}", "f.yaml:3: unknown field 'podAfinity' in affinity; did"),
        (
            "{name: a, members: 2, affinity: {podAffinity: {required: []}}}",
            "f.yaml:3: unknown field 'required' in podAffinity; known are requiredDuringSchedulingIgnoredDuringExecut",
        ),
        (
            "{name: a, members: 2, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{}]}}}",
            "f.yaml:3: term needs 'topologyKey'",
        ),
        (
            "{name: a, members: 2, affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
            "[{podAffinityTerm: {topologyKey: zone}}]}}}",
            "f.yaml:3: preference needs 'weight'",
        ),
        (
            "{name: a, members: 2, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "[{topologyKey: zone, matchLabelKeys: [app]}]}}}",
            "f.yaml:3: unknown field 'matchLabelKeys' in term; known are labelSelector",
        ),
        (
            "{name: a, members: 2, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "[{topologyKey: zone, labelSelector: {matchExpressions: [{key: a, operator: Is}]}}]}}}",
            "f.yaml:3: affinity cannot be used: ",
        ),
        (
            "{name: a, members: 2, topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone}]}",
            "f.yaml:3: constraint needs 'whenUnsatisfiable'",
        ),
        (
            "{name: a, members: 2, "
            "topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}",
            "f.yaml:3: maxSkew must be a whole number of at least 1, not '0'",
        ),
        (
            "{name: a, members: 2, "
            "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: Never}]}",
            "f.yaml:3: whenUnsatisfiable cannot be 'Never'; known are DoNotSchedule, ScheduleAnyway",
        ),
        (
            "{name: a, members: 2, topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, "
            "whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: 'a b'}}}]}",
            "f.yaml:3: constraint cannot be used: ",
        ),
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
        ("{change: {gang: a}}", "f.yaml:6: this changes nothing; add one of min, timeout, startTimeout"),
        ("{change: {min: 1}}", "f.yaml:6: change needs 'gang', 'node' or 'budget'"),
        ("{change: {gang: a, disruption: all}}", "f.yaml:6: unknown field 'disruption' in change; known are gang, min"),
        (
            "{change: {budget: b, allowed: 1}}",
            "f.yaml:6: there is no budget 'b' in this file; no line creates a budget",
        ),
        ("{change: {budget: b}}", "f.yaml:6: change needs 'allowed'"),
        ("{delete: budget/b}", "f.yaml:6: there is no budget 'b' in this file"),
        ("{finish: a}", "f.yaml:6: finish cannot be 'a'; write gang/<name> or pod/<name>"),
        ("{finish: {of: pod/a-1}}", "f.yaml:6: finish must be text, not a mapping"),
        ("{fail: {reason: Evicted}}", "f.yaml:6: fail needs 'of'"),
        ("{fail: pod/a-9}", "f.yaml:6: there is no pod 'a-9' in this file; did you mean 'a-"),
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
        ("{gangs: {a: {belowMinimum: 1}}}", "f.yaml:4: belowMinimum must be true or false, not '1'"),
        ("{gangs: {a: {nominated: some}}}", "f.yaml:4: nominated must be a whole number of at least 0, not 'some'"),
        ("{gangs: {a: {lost: keys}}}", "f.yaml:4: lost cannot be 'keys'; known are node lost, foreign bind, preemptor"),
        ("{pods: {a-1: {evicted: 1}}}", "f.yaml:4: evicted must be true or false, not '1'"),
        ("{pods: {a-1: {failed: 1}}}", "f.yaml:4: failed must be text, not '1'"),
        ("{evicted: everybody}", "f.yaml:4: evicted must be a whole number of at least 0, not 'everybody'"),
        ("{evicted: [b-1]}", "f.yaml:4: there is no pod 'b-1' in this file"),
        ("{evicted: [gang/b]}", "f.yaml:4: there is no gang 'b' in this file"),
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


def test_rules_between_pods_are_those_of_a_manifest():
    affinity = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "a"}}}
            ]
        },
        "podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 5, "podAffinityTerm": {"topologyKey": "zone", "namespaceSelector": {}}}
            ]
        },
    }
    spread = [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "matchLabelKeys": ["app"]}]
    gang = {"name": "a", "members": 2, "affinity": affinity, "topologySpreadConstraints": spread}
    found = created(json.dumps({"gangs": [gang]})[1:-1])
    for pod in ("Pod/a-1", "Pod/a-2"):
        assert found[pod]["spec"]["affinity"] == affinity
        assert found[pod]["spec"]["topologySpreadConstraints"] == spread


def test_what_a_group_has_no_fields_for_is_annotated():
    found = created(
        "gangs: [{name: a, members: 1, disruption: all, onPartial: hold, "
        "belowMinimum: restart, belowMinimumGrace: 30s}]"
    )
    group = found["PodGroup/a"]
    assert group["spec"]["disruptionMode"] == {"all": {}}
    assert group["metadata"]["annotations"] == {
        "muster.dev/on-partial": "hold",
        "muster.dev/below-minimum": "restart",
        "muster.dev/below-minimum-grace-seconds": "30",
    }


def test_a_pod_says_how_long_it_takes_to_stop_and_how_much_grace_it_has():
    found = created("pods: [{name: p, stop: 1m30s, grace: 2m}, {name: q, grace: 0}]")
    assert found["Pod/p"]["metadata"]["annotations"] == {"muster.dev/stop-seconds": "90"}
    assert found["Pod/p"]["spec"]["terminationGracePeriodSeconds"] == 120
    assert found["Pod/q"]["spec"]["terminationGracePeriodSeconds"] == 0


def test_who_never_preempts_has_a_priority_class_that_says_so():
    found = created(
        "priorityClasses: {meek: {value: 9, preemption: never}}\n"
        "gangs: [{name: a, members: 1, priority: 7, preemption: never}, {name: c, members: 1, priorityClass: meek}]\n"
        "pods: [{name: p, preemption: never}, {name: q, priority: 7}]"
    )
    policies = {name: found[name].get("preemptionPolicy") for name in found if name.startswith("PriorityClass/")}
    assert policies == {
        "PriorityClass/meek": "Never",
        "PriorityClass/priority-7-never": "Never",
        "PriorityClass/priority-0-never": "Never",
        "PriorityClass/priority-7": None,
    }
    group = found["PodGroup/a"]["spec"]
    assert (group["priorityClassName"], group["preemptionPolicy"]) == ("priority-7-never", "Never")
    assert found["PodGroup/c"]["spec"]["preemptionPolicy"] == "Never"
    assert found["Pod/p"]["spec"]["priorityClassName"] == "priority-0-never"


def test_a_shape_that_never_preempts_has_its_gangs_priority():
    found = created("gangs: [{name: a, priority: 7, shapes: [{name: w, preemption: never}]}]")
    assert found["Pod/a-w"]["spec"]["priorityClassName"] == "priority-7-never"


def test_a_budget_selects_pods_by_their_labels():
    found = created("budgets: [{name: b, of: {app: web}, allowed: 2}]")
    assert found["PodDisruptionBudget/b"] == {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 2},
    }


def test_pods_get_the_labels_by_which_a_budget_of_their_gang_selects_them():
    found = created(
        "gangs: [{name: a, members: 1, labels: {app: x}}, {name: c, members: 1}]\n"
        "pods: [{name: p}]\n"
        "budgets: [{name: b, of: gang/a, allowed: 0}, {name: d, of: pod/p, allowed: 0}]\n"
        "steps: [{members: {of: a}}]"
    )
    labels = {name: found[name]["metadata"].get("labels", {}) for name in found if name.startswith("Pod/")}
    assert labels == {
        "Pod/a-1": {"app": "x", "gang": "a"},
        "Pod/c-1": {},
        "Pod/p": {"pod": "p"},
        "Pod/a-2": {"gang": "a"},
    }
    assert found["PodDisruptionBudget/b"]["spec"]["selector"] == {"matchLabels": {"gang": "a"}}
    assert found["PodDisruptionBudget/d"]["spec"]["selector"] == {"matchLabels": {"pod": "p"}}


def test_a_file_says_how_the_scheduler_preempts_and_how_fair_it_is():
    scenario = loads(
        "name: x\npreemption: {gangs: off, delayed: off, rounds: 1, patience: 30s}\n"
        "fairness: {passesPerMember: 0.5, failingShare: 0.1}"
    )
    assert scenario.parts.preemption == PreemptionSettings(gangs=False, delayed=False, rounds=1, patience_seconds=30)
    assert scenario.parts.fairness == Fairness(passes_per_member=0.5, failing_share=0.1)


@pytest.mark.parametrize("said", ["scheduler: {strategy: MostAllocated}", "preemption: {rounds: 1}", "fairness: {}"])
def test_what_a_configuration_says_is_not_said_again(said):
    with pytest.raises(ScenarioError, match=r"f.yaml:2: '\w+' is said by the configuration"):
        loads(f"name: x\n{said}", file="f.yaml", parts=[ProfileParts()])


def test_pods_name_muster_whatever_a_configuration_calls_it():
    packer, spreader = ProfileParts(scheduler_names=("packer",)), ProfileParts(scheduler_names=("spreader",))
    found = loads("name: x", parts=[packer, spreader])
    assert [one.scheduler_names for one in (found.parts, *found.others)] == [("muster", "packer"), ("spreader",)]
    named = loads("name: x", parts=[packer, ProfileParts()])
    assert [one.scheduler_names for one in (named.parts, *named.others)] == [("packer",), ("muster",)]
    with pytest.raises(ScenarioError, match="spreader is the first scheduler's name"):
        loads("name: x\nbeside: spreader", parts=[packer, spreader])


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("{of: pod/p, labels: {}}", "f.yaml:4: this changes nothing; add labels"),
        ("{of: pod/p}", "f.yaml:4: label needs 'labels'"),
        ("{of: node/n, labels: {a: b}}", "f.yaml:4: of cannot be 'node/n'"),
        ("{of: pod/q, labels: {a: b}}", "f.yaml:4: there is no pod 'q' in this file"),
    ],
)
def test_labels_that_cannot_be_given_are_refused(said, why):
    assert complaint(f"{HEAD}pods: [{{name: p}}]\nsteps: [{{label: {said}}}]").startswith(why)


def test_any_number_may_pass_if_fairness_says_off():
    scenario = loads("name: x\nfairness: {passesPerMember: off}")
    assert scenario.parts.fairness == Fairness(passes_per_member=None)


def test_a_file_that_says_nothing_has_the_scheduler_as_it_comes():
    scenario = loads("name: x")
    assert (scenario.parts, scenario.beside) == (ProfileParts(), "")
