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
    metadata.taints[0].key: Invalid value: "": name part must be non-empty
    metadata.taints[0].key: Invalid value: "": <key>
    metadata.taints[0].effect: Required value
spec.taints=[{"key":"a b","effect":"NoSchedule"}]
    metadata.taints[0].key: Invalid value: "a b": <key>
spec.taints=[{"key":"a","value":"x y","effect":"NoSchedule"}]
    metadata.taints[0].value: Invalid value: "x y": <value>
spec.taints=[{"key":"a","effect":"Never"}]
    metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"
spec.taints=[{"key":"a","effect":"NoSchedule"},{"key":"a","value":"x","effect":"NoSchedule"}]
    metadata.taints[1]: Duplicate value: {"Key":"a","Value":"x","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair
spec.taints=[{"key":"a","effect":"NoSchedule"},{"key":"a","effect":"NoExecute"}]
spec.taints=[{"key":"a","effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z"},{"key":"a","effect":"NoSchedule","timeAdded":"2026-01-01T02:00:00+02:00"}]
    metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":"2026-01-01T00:00:00Z"}: taints must be unique by key and effect pair
spec.podCIDR="x"
    spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)
spec.podCIDR="10.0.0.1/24"
    spec.podCIDRs[0]: Invalid value: "10.0.0.1/24": must not have bits set beyond the prefix length
spec.podCIDR="010.0.0.0/24"
    spec.podCIDRs[0]: Invalid value: "010.0.0.0/24": must not have leading 0s in IP or prefix length
spec.podCIDR="10.0.0.0/33"
    spec.podCIDRs[0]: Invalid value: "10.0.0.0/33": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)
spec.podCIDR="::ffff:1.2.3.0/120"
    spec.podCIDRs[0]: Invalid value: "::ffff:1.2.3.0/120": must not have an IPv4-mapped IPv6 address
spec.podCIDRs=["10.0.0.0/24","10.0.1.0/24"]
    spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each IP family
spec.podCIDRs=["10.0.0.0/24","fd00::/64"]
    spec.podCIDR="10.0.0.0/24"
spec.podCIDRs=["10.0.0.0/24","fd00::/64","fd01::/64"]
    spec.podCIDRs: Invalid value: ["10.0.0.0/24","fd00::/64","fd01::/64"]: may specify no more than one CIDR for each IP family
spec.podCIDR="10.0.0.0/24"; spec.podCIDRs=["10.0.1.0/24"]
    spec.podCIDRs.0="10.0.0.0/24"
status.capacity={"cpu":"-1"}
    status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0
    status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0
status.capacity={"pods":"1500m"}
    status.capacity.pods: Invalid value: "1500m": must be an integer
    status.allocatable.pods: Invalid value: "1500m": must be an integer
status.capacity={"nvidia.com/gpu":"0.5"}
    status.capacity.nvidia.com/gpu: Invalid value: "500m": must be an integer
    status.allocatable.nvidia.com/gpu: Invalid value: "500m": must be an integer
status.capacity={"cpu":"8","memory":"32Gi","pods":"110"}
    status.allocatable={"cpu":"8","memory":"32Gi","pods":"110"}
status.capacity={"cpu":"8"}; status.allocatable={"cpu":"-7","example.com/x":"100m"}
    status.allocatable.cpu: Invalid value: "-7": must be greater than or equal to 0
    status.allocatable.example.com/x: Invalid value: "100m": must be an integer
status.capacity={"cpu":"1u"}
    status.allocatable={"cpu":"1m"}
    status.capacity.cpu="1m"
status.declaredFeatures=["a"]
    status.declaredFeatures[0]: Invalid value: "a": invalid feature name "a": must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes
status.declaredFeatures=["B","A","A"]
    status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically
    status.declaredFeatures[2]: Duplicate value: "A"
status.nodeInfo={"swap":{"capacity":0}}
    metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero
status.addresses=[{"type":"InternalIP","address":"1.1.1.1"},{"type":"InternalIP","address":"1.1.1.1"}]
spec.configSource={"configMap":{"name":"x"}}
    spec.configSource=
metadata.annotations={"scheduler.alpha.kubernetes.io/taints":"[{\"key\":\"a\",\"effect\":\"x\"}]"}
    metadata.annotations.scheduler.alpha.kubernetes.io/taints[0].effect: Unsupported value: "x": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"
metadata.name="N"; spec.taints=[{"key":""}]; status.capacity={"pods":"-1"}; spec.podCIDR="1"
    metadata.name: Invalid value: "N": <subdomain>
    metadata.taints[0].key: Invalid value: "": name part must be non-empty
    metadata.taints[0].key: Invalid value: "": <key>
    metadata.taints[0].effect: Required value
    status.capacity.pods: Invalid value: "-1": must be greater than or equal to 0
    status.allocatable.pods: Invalid value: "-1": must be greater than or equal to 0
    spec.podCIDRs[0]: Invalid value: "1": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)
"""  # noqa: E501

UPDATED = r"""
-
    status.allocatable={"cpu":"8"}
spec.unschedulable=true
    status.allocatable={"cpu":"8"}
spec.taints=[{"key":"a","effect":"NoSchedule"}]
    status.allocatable={"cpu":"8"}
spec.taints=[{"key":"a","effect":"no"}]
    metadata.taints[0].effect: Unsupported value: "no": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"
spec.podCIDR="10.1.0.0/24"; spec.podCIDRs=["10.1.0.0/24"]
    spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid
spec.podCIDR=; spec.podCIDRs=
    spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid
spec.podCIDRs=["10.0.0.0/24","fd00::/64"]
    spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid
spec.providerID="b"
    spec.providerID: Invalid value: null: field cannot be modified once set
spec.providerID=
    spec.providerID: Invalid value: null: field cannot be cleared once set
spec.externalID="e"
    spec.externalID: Forbidden: may not be updated
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
    status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0
    status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0
status.capacity={"cpu":"4"}; status.allocatable={"cpu":"3.5"}
    status.allocatable.cpu="3500m"
status.addresses=[{"type":"InternalIP","address":"1.1.1.1"},{"type":"InternalIP","address":"1.1.1.1"}]
    status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"1.1.1.1"}
status.conditions=[{"type":"Ready","status":"True"}]
    status.allocatable={"cpu":"8"}
    status.conditions.0.lastHeartbeatTime=null
    status.conditions.0.lastTransitionTime=null
spec.unschedulable=true
    spec.unschedulable=
    status.allocatable={"cpu":"8"}
status.declaredFeatures=["A","A"]
    status.declaredFeatures[1]: Duplicate value: "A"
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
