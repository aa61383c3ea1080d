"""Nodes: what kube-apiserver 1.37.1 said to the same objects."""

from __future__ import annotations

import pytest

from muster.local.kinds import nodes
from tests.local.answers import edited, rows
from tests.local.flow import Subject, check, created, status_updated, updated

SUBJECT = Subject(nodes.STRATEGY, "api.core.v1.Node", namespaced=False)
NODE = {"metadata": {"name": "n"}, "spec": {}}
STORED = {
    "metadata": {"name": "n"},
    "spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"], "providerID": "a"},
    "status": {"capacity": {"cpu": "8"}},
}

CREATED = r"""
metadata.name="N_1"
    metadata.name: Invalid value: "N_1": <subdomain>
metadata.name="a"*254
    metadata.name: Invalid value: "<a*254>": must be no more than 253 characters
metadata.labels={"a":"b c"}
    metadata.labels: Invalid value: "b c": <value>
spec.taints=[{}]
    metadata.taints[0].key: Invalid value
    metadata.taints[0].effect: Required value
spec.taints=[{"key":"a b","effect":"NoSchedule"}]
    metadata.taints[0].key: Invalid value
spec.taints=[{"key":"a","value":"x y","effect":"NoSchedule"}]
    metadata.taints[0].value: Invalid value
spec.taints=[{"key":"a","effect":"Never"}]
    metadata.taints[0].effect: Unsupported value
spec.taints=[{"key":"a","effect":"NoSchedule"},{"key":"a","value":"x","effect":"NoSchedule"}]
    metadata.taints[1]: Duplicate value
spec.taints=[{"key":"a","effect":"NoSchedule"},{"key":"a","effect":"NoExecute"}]
spec.taints=[{"key":"a","effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z"},{"key":"a","effect":"NoSchedule","timeAdded":"2026-01-01T02:00:00+02:00"}]
    metadata.taints[1]: Duplicate value
spec.podCIDR="x"
    spec.podCIDRs[0]: Invalid value
spec.podCIDR="10.0.0.1/24"
    spec.podCIDRs[0]: Invalid value
spec.podCIDR="010.0.0.0/24"
    spec.podCIDRs[0]: Invalid value
spec.podCIDR="10.0.0.0/33"
    spec.podCIDRs[0]: Invalid value
spec.podCIDR="::ffff:1.2.3.0/120"
    spec.podCIDRs[0]: Invalid value
spec.podCIDRs=["10.0.0.0/24","10.0.1.0/24"]
    spec.podCIDRs: Invalid value
spec.podCIDRs=["10.0.0.0/24","fd00::/64"]
    spec.podCIDR="10.0.0.0/24"
spec.podCIDRs=["10.0.0.0/24","fd00::/64","fd01::/64"]
    spec.podCIDRs: Invalid value
spec.podCIDR="10.0.0.0/24"; spec.podCIDRs=["10.0.1.0/24"]
    spec.podCIDRs.0="10.0.0.0/24"
status.capacity={"cpu":"-1"}
    status.capacity.cpu: Invalid value
    status.allocatable.cpu: Invalid value
status.capacity={"pods":"1500m"}
    status.capacity.pods: Invalid value
    status.allocatable.pods: Invalid value
status.capacity={"nvidia.com/gpu":"0.5"}
    status.capacity.nvidia.com/gpu: Invalid value
    status.allocatable.nvidia.com/gpu: Invalid value
status.capacity={"cpu":"8","memory":"32Gi","pods":"110"}
    status.allocatable={"cpu":"8","memory":"32Gi","pods":"110"}
status.capacity={"cpu":"8"}; status.allocatable={"cpu":"-7","example.com/x":"100m"}
    status.allocatable.cpu: Invalid value
    status.allocatable.example.com/x: Invalid value
status.capacity={"cpu":"1u"}
    status.allocatable={"cpu":"1m"}
    status.capacity.cpu="1m"
status.declaredFeatures=["a"]
    status.declaredFeatures[0]: Invalid value
status.declaredFeatures=["B","A","A"]
    status.declaredFeatures[1]: Invalid value
    status.declaredFeatures[2]: Duplicate value
status.nodeInfo={"swap":{"capacity":0}}
    metadata.nodeSwapStatus.capacity: Invalid value
status.addresses=[{"type":"InternalIP","address":"1.1.1.1"},{"type":"InternalIP","address":"1.1.1.1"}]
spec.configSource={"configMap":{"name":"x"}}
    spec.configSource=
metadata.annotations={"scheduler.alpha.kubernetes.io/taints":"[{\"key\":\"a\",\"effect\":\"x\"}]"}
    metadata.annotations.scheduler.alpha.kubernetes.io/taints[0].effect: Unsupported value
metadata.name="N"; spec.taints=[{"key":""}]; status.capacity={"pods":"-1"}; spec.podCIDR="1"
    metadata.name: Invalid value: "N": <subdomain>
    metadata.taints[0].key: Invalid value
    metadata.taints[0].effect: Required value
    status.capacity.pods: Invalid value
    status.allocatable.pods: Invalid value
    spec.podCIDRs[0]: Invalid value
"""

UPDATED = r"""
-
    status.allocatable={"cpu":"8"}
spec.unschedulable=true
    status.allocatable={"cpu":"8"}
spec.taints=[{"key":"a","effect":"NoSchedule"}]
    status.allocatable={"cpu":"8"}
spec.taints=[{"key":"a","effect":"no"}]
    metadata.taints[0].effect: Unsupported value
spec.podCIDR="10.1.0.0/24"; spec.podCIDRs=["10.1.0.0/24"]
    spec.podCIDRs: Forbidden
spec.podCIDR=; spec.podCIDRs=
    spec.podCIDRs: Forbidden
spec.podCIDRs=["10.0.0.0/24","fd00::/64"]
    spec.podCIDRs: Forbidden
spec.providerID="b"
    spec.providerID: Invalid value
spec.providerID=
    spec.providerID: Invalid value
spec.externalID="e"
    spec.externalID: Forbidden
metadata.labels={"x":"y"}
    status.allocatable={"cpu":"8"}
metadata.labels={"x":"y z"}
    metadata.labels: Invalid value: "y z": <value>
status.capacity={"cpu":"-1"}
    status.allocatable={"cpu":"8"}
    status.capacity.cpu="8"
"""

STATUS_UPDATED = r"""
-
    status.allocatable={"cpu":"8"}
status.capacity={"cpu":"-1"}
    status.capacity.cpu: Invalid value
    status.allocatable.cpu: Invalid value
status.capacity={"cpu":"4"}; status.allocatable={"cpu":"3.5"}
    status.allocatable.cpu="3500m"
status.addresses=[{"type":"InternalIP","address":"1.1.1.1"},{"type":"InternalIP","address":"1.1.1.1"}]
    status.addresses[1]: Duplicate value
status.conditions=[{"type":"Ready","status":"True"}]
    status.allocatable={"cpu":"8"}
    status.conditions.0.lastHeartbeatTime=null
    status.conditions.0.lastTransitionTime=null
spec.unschedulable=true
    spec.unschedulable=
    status.allocatable={"cpu":"8"}
status.declaredFeatures=["A","A"]
    status.declaredFeatures[1]: Duplicate value
spec.taints=[{"key":"a"}]
    spec.taints=
    status.allocatable={"cpu":"8"}
"""


@pytest.mark.parametrize(("change", "answer"), rows(CREATED))
def test_a_node_is_made_or_refused_as_by_kubernetes(change, answer):
    given = edited(NODE, change)
    verify(created(SUBJECT, given), given, answer)


@pytest.mark.parametrize(("change", "answer"), rows(UPDATED))
def test_a_node_changes_as_far_as_kubernetes_lets_it(change, answer):
    given = edited(STORED, change)
    verify(updated(SUBJECT, given, created(SUBJECT, STORED)[0]), given, answer)


@pytest.mark.parametrize(("change", "answer"), rows(STATUS_UPDATED))
def test_a_node_s_status_changes_as_far_as_kubernetes_lets_it(change, answer):
    given = edited(STORED, change)
    verify(status_updated(SUBJECT, given, created(SUBJECT, STORED)[0]), given, answer)


def verify(outcome, given, answer):
    """Without what Go never leaves out of a node's status."""
    document, errors = outcome
    status = {key: value for key, value in document["status"].items() if key not in ("daemonEndpoints", "nodeInfo")}
    check(({**document, "status": status}, list(dict.fromkeys(errors))), {"status": {}, **given}, answer)


@pytest.mark.parametrize(("spec", "found"), [({}, "false"), ({"unschedulable": True}, "true")])
def test_nodes_are_selected_by_whether_pods_may_come(spec, found):
    assert nodes.STRATEGY.selectable({"spec": spec}) == {"spec.unschedulable": found}
