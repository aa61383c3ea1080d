"""Budgets, leases, accounts, namespaces, config maps, secrets: what kube-apiserver 1.37.1 said to the same objects."""

from __future__ import annotations

import pytest

from muster.local.kinds import accounts, budgets, config, leases, namespaces
from tests.local.answers import edited, rows
from tests.local.flow import Subject, check, created, status_updated, updated

BUDGET = {"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "minAvailable": 1}}
STORED_BUDGET = {
    "metadata": {"name": "b", "generation": 1},
    "spec": {"selector": {"matchLabels": {"a": "b"}}, "minAvailable": 1},
    "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
}
LEASE = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}}
ACCOUNT = {"metadata": {"name": "a"}}
NAMESPACE = {"metadata": {"name": "n"}, "spec": {}}
STORED_NAMESPACE = {
    "metadata": {"name": "n", "labels": {"kubernetes.io/metadata.name": "n"}},
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}
MAP = {"metadata": {"name": "m"}, "data": {"a": "b"}}
FROZEN_MAP = {"metadata": {"name": "f"}, "data": {"a": "b"}, "binaryData": {"c": "ZA=="}, "immutable": True}
SECRET = {"metadata": {"name": "s"}, "data": {"a": "Yg=="}}
STORED_SECRET = {"metadata": {"name": "s"}, "data": {"a": "Yg=="}, "type": "Opaque"}
FROZEN_SECRET = {"metadata": {"name": "fs"}, "data": {"a": "Yg=="}, "type": "Opaque", "immutable": True}

BUDGETS = r"""
-
    metadata.generation=1
    status={"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}
spec={}
    ...
spec.minAvailable="50%"
    ...
spec.minAvailable="100%"
    ...
spec.minAvailable="101%"
    spec.minAvailable: Invalid value
spec.minAvailable=-1
    spec.minAvailable: Invalid value
spec.minAvailable="5"
    spec.minAvailable: Invalid value
spec.minAvailable="x%"
    spec.minAvailable: Invalid value
spec.minAvailable=""
    spec.minAvailable: Invalid value
spec.maxUnavailable=0
    spec: Invalid value
spec.maxUnavailable="3%"
    spec: Invalid value
spec.minAvailable=; spec.maxUnavailable=-2
    spec.maxUnavailable: Invalid value
spec.minAvailable=; spec.maxUnavailable="200%"
    spec.maxUnavailable: Invalid value
spec.selector=
    ...
spec.selector={}
    ...
spec.selector.matchLabels={"a b":"c"}
    spec.selector.matchLabels: Invalid value
spec.selector.matchLabels={"a":"b c"}
    spec.selector.matchLabels: Invalid value
spec.selector.matchExpressions=[{"key":"a","operator":"In"}]
    spec.selector.matchExpressions[0].values: Required value
spec.selector.matchExpressions=[{"key":"a","operator":"Exists","values":["b"]}]
    spec.selector.matchExpressions[0].values: Forbidden
spec.selector.matchExpressions=[{"key":"a b","operator":"NotIn","values":["c","d e"]}]
    spec.selector.matchExpressions[0].key: Invalid value
    spec.selector.matchExpressions[0].values[1]: Invalid value
spec.selector.matchExpressions=[{"key":"","operator":"Near"}]
    spec.selector.matchExpressions[0].operator: Invalid value
    spec.selector.matchExpressions[0].key: Invalid value
spec.unhealthyPodEvictionPolicy="AlwaysAllow"
    ...
spec.unhealthyPodEvictionPolicy="Never"
    spec.unhealthyPodEvictionPolicy: Unsupported value
metadata.name="B_1"
    ...
metadata.name="a%b"
    metadata.name: Invalid value: "a%b": may not contain '%'
metadata.name="a%b"; spec.minAvailable=-1
    spec.minAvailable: Invalid value
metadata.labels={"a":"b c"}
    metadata.labels: Invalid value: "b c": <value>
metadata.finalizers=["x"]
    ...
"""

CHANGED_BUDGETS = r"""
-
spec.minAvailable=-1
    spec.minAvailable: Invalid value
spec.maxUnavailable=1
    spec: Invalid value
metadata.labels={"a b":"c"}; spec.minAvailable="x"
    metadata.labels: Invalid value: "a b": <key>
    spec.minAvailable: Invalid value
spec.unhealthyPodEvictionPolicy="no"
    spec.unhealthyPodEvictionPolicy: Unsupported value
status.currentHealthy=5
    status.currentHealthy=0
"""

BUDGET_STATUS = r"""
status.currentHealthy=3; status.disruptionsAllowed=2
status.currentHealthy=-3; status.disruptionsAllowed=-2; status.desiredHealthy=-1; status.expectedPods=-9
    status.disruptionsAllowed: Invalid value
    status.currentHealthy: Invalid value
    status.desiredHealthy: Invalid value
    status.expectedPods: Invalid value
status.conditions=[{"type":"DisruptionAllowed","status":"True","reason":"","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]
    status.conditions[0].reason: Required value
spec.minAvailable=9; status.expectedPods=1
    spec.minAvailable=1
"""

LEASES = r"""
-
spec={}
spec.leaseDurationSeconds=0
    spec.leaseDurationSeconds: Invalid value
spec.leaseDurationSeconds=-1
    spec.leaseDurationSeconds: Invalid value
spec.leaseTransitions=-1
    spec.leaseTransitions: Invalid value
spec.leaseTransitions=0
spec.leaseDurationSeconds=0; spec.leaseTransitions=-4; metadata.labels={"a":"b c"}
    metadata.labels: Invalid value: "b c": <value>
    spec.leaseDurationSeconds: Invalid value
    spec.leaseTransitions: Invalid value
spec.strategy="OldestEmulationVersion"; spec.preferredHolder="x"
    spec.preferredHolder=
    spec.strategy=
spec.preferredHolder="x"
    spec.preferredHolder=
spec.holderIdentity=""
metadata.name="L"
    metadata.name: Invalid value: "L": <subdomain>
metadata.name="a_b"; spec.leaseDurationSeconds=0
    metadata.name: Invalid value: "a_b": <subdomain>
    spec.leaseDurationSeconds: Invalid value
metadata.generateName="x-"
metadata.finalizers=["x"]
metadata.annotations={"a b":"c"}
    metadata.annotations: Invalid value: "a b": <key>
"""

CHANGED_LEASES = r"""
-
spec.holderIdentity="you"
spec.leaseDurationSeconds=0
    spec.leaseDurationSeconds: Invalid value
spec.leaseTransitions=-1
    spec.leaseTransitions: Invalid value
spec.strategy="x"
    spec.strategy=
metadata.labels={"a":"b c"}; spec.leaseTransitions=-1
    metadata.labels: Invalid value: "b c": <value>
    spec.leaseTransitions: Invalid value
"""

ACCOUNTS = r"""
-
metadata.name="A"
    metadata.name: Invalid value: "A": <subdomain>
metadata.name="a"*254
    metadata.name: Invalid value: "<a*254>": must be no more than 253 characters
metadata.generateName="a_"
    metadata.generateName: Invalid value: "a_": <subdomain>
metadata.labels={"a":"b c"}
    metadata.labels: Invalid value: "b c": <value>
metadata.labels={"/":"b"}
    metadata.labels: Invalid value: "/": prefix part must be non-empty
    metadata.labels: Invalid value: "/": name part must be non-empty
    metadata.labels: Invalid value: "/": <key>
metadata.annotations={"a b":"c"}
    metadata.annotations: Invalid value: "a b": <key>
metadata.annotations={"A":"c"}
metadata.annotations={"a":"b"}; metadata.finalizers=["x"]
    metadata.finalizers[0]: Invalid value
metadata.finalizers=["x/y","x y/z"]
    metadata.finalizers: Invalid value
metadata.finalizers=["orphan","foregroundDeletion"]
    metadata.finalizers: Invalid value
metadata.ownerReferences=[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]
metadata.ownerReferences=[{"apiVersion":"","kind":"","name":"","uid":""}]
    metadata.ownerReferences[0].apiVersion: Required value
    metadata.ownerReferences[0].kind: Required value
    metadata.ownerReferences[0].name: Required value
    metadata.ownerReferences[0].uid: Required value
metadata.ownerReferences=[{"apiVersion":"a/b/c","kind":"Pod","name":"p","uid":"u"}]
    metadata.ownerReferences[0].apiVersion: Invalid value
metadata.ownerReferences=[{"apiVersion":"a/","kind":"Pod","name":"p","uid":"u"}]
    metadata.ownerReferences[0].apiVersion: Invalid value
metadata.ownerReferences=[{"apiVersion":"v1","kind":"Event","name":"p","uid":"u"}]
    metadata.ownerReferences[0]: Invalid value
metadata.ownerReferences=[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true},{"apiVersion":"v1","kind":"Pod","name":"q","uid":"v","controller":true,"blockOwnerDeletion":false}]
    metadata.ownerReferences: Invalid value
metadata.ownerReferences=[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true},{"apiVersion":"v1","kind":"Pod","name":"q","uid":"v","controller":false}]
metadata.annotations={"a":"x"}; metadata.generation=-1
    metadata.generation: Invalid value
secrets=[{"name":"s","namespace":"x","kind":"Secret"},{"kind":"Secret"}]
    secrets.0.kind=
    secrets.0.namespace=
    secrets.1.kind=
imagePullSecrets=[{"name":"s"}]; automountServiceAccountToken=false
"""

CHANGED_ACCOUNTS = r"""
-
secrets=[{"name":"s","uid":"x"}]
    secrets.0.uid=
metadata.labels={"a":"b c"}; metadata.finalizers=["x"]
    metadata.labels: Invalid value: "b c": <value>
    metadata.finalizers[0]: Invalid value
metadata.annotations={"a b":"c"}
    metadata.annotations: Invalid value: "a b": <key>
metadata.ownerReferences=[{"apiVersion":"v1","kind":"","name":"p","uid":"u"}]
    metadata.ownerReferences[0].kind: Required value
"""

NAMESPACES = r"""
-
    metadata.labels={"kubernetes.io/metadata.name": "n"}
    spec.finalizers=["kubernetes"]
    status={"phase": "Active"}
metadata.name="N"
    metadata.name: Invalid value: "N": <label>
metadata.name="a.b"
    metadata.name: Invalid value: "a.b": must not contain dots
metadata.name="a"*64
    metadata.name: Invalid value: "<a*64>": must be no more than 63 characters
    metadata.labels: Invalid value: "<a*64>": must be no more than 63 bytes
metadata.labels={"kubernetes.io/metadata.name":"other"}
    metadata.labels."kubernetes.io/metadata.name"="n"
    spec.finalizers=["kubernetes"]
    status={"phase": "Active"}
metadata.labels={"a":"b c"}
    metadata.labels: Invalid value: "b c": <value>
spec.finalizers=["a/b"]
    ...
    spec.finalizers=["a/b", "kubernetes"]
spec.finalizers=["kubernetes","a/b"]
    metadata.labels={"kubernetes.io/metadata.name": "n"}
    status={"phase": "Active"}
spec.finalizers=["a"]
    spec.finalizers: Invalid value
spec.finalizers=["a b"]
    spec.finalizers: Invalid value
spec.finalizers=["orphan"]
    ...
    spec.finalizers=["orphan", "kubernetes"]
metadata.finalizers=["kubernetes"]
    ...
metadata.finalizers=["a"]
    metadata.finalizers[0]: Invalid value
status={"phase":"Terminating"}
    metadata.labels={"kubernetes.io/metadata.name": "n"}
    spec.finalizers=["kubernetes"]
    status.phase="Active"
spec=
    metadata.labels={"kubernetes.io/metadata.name": "n"}
    spec={"finalizers": ["kubernetes"]}
    status={"phase": "Active"}
"""

CHANGED_NAMESPACES = r"""
-
spec.finalizers=[]
    spec.finalizers=["kubernetes"]
spec=
    spec={"finalizers": ["kubernetes"]}
spec.finalizers=["a"]
    spec.finalizers=["kubernetes"]
metadata.labels={"x":"y"}
    metadata.labels."kubernetes.io/metadata.name"="n"
metadata.labels={"x":"y z"}
    metadata.labels: Invalid value: "y z": <value>
metadata.finalizers=["a"]
    metadata.finalizers[0]: Invalid value
status.phase="Terminating"
    status.phase="Active"
"""

NAMESPACE_STATUS = r"""
-
status.phase="Terminating"
    status.Phase: Invalid value
status.phase="Odd"
    status.Phase: Invalid value
status={}
    status.phase="Active"
status.conditions=[{"type":"X","status":"True","lastTransitionTime":null}]
"""

MAPS = r"""
-
data=; binaryData={"k":"Yg=="}
data=
data={"a b":"c"}
    data[a b]: Invalid value
data={"":"c"}
    data[]: Invalid value
data={".":"c"}
    data[.]: Invalid value
data={"..":"c"}
    data[..]: Invalid value
data={"..a":"c"}
    data[..a]: Invalid value
data.b="x"; binaryData={"a":"Yg=="}
    data[a]: Invalid value
binaryData={"a/b":"Yg=="}
    binaryData[a/b]: Invalid value
immutable=true
immutable=false
data={"a":"é"}
data.a="x"*1048577
    []: Too long
data.a="x"*1048576
data.a="x"*1048576; binaryData={"b":"Yg=="}
    []: Too long
metadata.name="M"
    metadata.name: Invalid value: "M": <subdomain>
metadata.name="M"; data={"?":""}
    metadata.name: Invalid value: "M": <subdomain>
    data[?]: Invalid value
"""

CHANGED_MAPS = r"""
-
immutable=false
    immutable: Forbidden
immutable=
    immutable: Forbidden
data.a="c"
    data: Forbidden
data=
    data: Forbidden
binaryData={"c":"ZQ=="}
    binaryData: Forbidden
immutable=; data.a="c"; binaryData=
    immutable: Forbidden
    data: Forbidden
    binaryData: Forbidden
metadata.labels={"a":"b"}
metadata.labels={"a":"b c"}; data.b="x"
    metadata.labels: Invalid value: "b c": <value>
    data: Forbidden
data={"?":"x"}
    data: Forbidden
    data[?]: Invalid value
"""

SECRETS = r"""
-
    type="Opaque"
data=
    type="Opaque"
type="Opaque"
type="mine"
stringData={"a":"x","b":"é"}
    data.a="eA=="
    data.b="w6k="
    stringData=
    type="Opaque"
stringData={"a b":"x"}
    data[a b]: Invalid value
data={"a b":""}; type="x"
    data[a b]: Invalid value
type="kubernetes.io/service-account-token"
    metadata.annotations[kubernetes.io/service-account.name]: Required value
type="kubernetes.io/service-account-token"; metadata.annotations={"kubernetes.io/service-account.name":"x"}
type="kubernetes.io/dockercfg"
    data[.dockercfg]: Required value
type="kubernetes.io/dockercfg"; stringData={".dockercfg":"{}"}
    data.".dockercfg"="e30="
    stringData=
type="kubernetes.io/dockercfg"; stringData={".dockercfg":"no"}
    data[.dockercfg]: Invalid value
type="kubernetes.io/dockerconfigjson"
    data[.dockerconfigjson]: Required value
type="kubernetes.io/dockerconfigjson"; stringData={".dockerconfigjson":""}
    data[.dockerconfigjson]: Invalid value
type="kubernetes.io/dockerconfigjson"; stringData={".dockerconfigjson":"[1]"}
    data[.dockerconfigjson]: Invalid value
type="kubernetes.io/dockerconfigjson"; stringData={".dockerconfigjson":"\"x\""}
    data[.dockerconfigjson]: Invalid value
type="kubernetes.io/dockerconfigjson"; stringData={".dockerconfigjson":"3"}
    data[.dockerconfigjson]: Invalid value
type="kubernetes.io/dockerconfigjson"; stringData={".dockerconfigjson":"true"}
    data[.dockerconfigjson]: Invalid value
type="kubernetes.io/dockerconfigjson"; stringData={".dockerconfigjson":"null"}
    data.".dockerconfigjson"="bnVsbA=="
    stringData=
type="kubernetes.io/dockerconfigjson"; stringData={".dockerconfigjson":"{\"a\": }"}
    data[.dockerconfigjson]: Invalid value
type="kubernetes.io/basic-auth"
    data[username]: Required value
    data[password]: Required value
type="kubernetes.io/basic-auth"; stringData={"password":""}
    data.password=""
    stringData=
type="kubernetes.io/ssh-auth"
    data[ssh-privatekey]: Required value
type="kubernetes.io/ssh-auth"; stringData={"ssh-privatekey":""}
    data[ssh-privatekey]: Required value
type="kubernetes.io/ssh-auth"; stringData={"ssh-privatekey":"x"}
    data.ssh-privatekey="eA=="
    stringData=
type="kubernetes.io/tls"
    data[tls.crt]: Required value
    data[tls.key]: Required value
stringData.big="x"*1048577
    data: Too long
stringData.big="x"*1048576
    data: Too long
immutable=true
    type="Opaque"
metadata.name="S"
    metadata.name: Invalid value: "S": <subdomain>
"""

CHANGED_SECRETS = r"""
-
type="x"
    type: Invalid value: "x": field is immutable
type=
    type="Opaque"
type=""
    type="Opaque"
stringData={"a":"c"}
    data.a="Yw=="
    stringData=
data=
immutable=true
metadata.labels={"a":"b c"}; type="kubernetes.io/tls"
    metadata.labels: Invalid value: "b c": <value>
    type: Invalid value: "kubernetes.io/tls": field is immutable
    data[tls.crt]: Required value
    data[tls.key]: Required value
"""

CHANGED_FROZEN_SECRETS = r"""
-
stringData={"a":"c"}
    data: Forbidden
stringData={"a":"b"}
    stringData=
immutable=false; type="y"
    type: Invalid value: "y": field is immutable
    immutable: Forbidden
data=
    data: Forbidden
metadata.labels={"a":"b"}
"""


BUDGET_KIND = Subject(budgets.STRATEGY, "api.policy.v1.PodDisruptionBudget")
LEASE_KIND = Subject(leases.STRATEGY, "api.coordination.v1.Lease")
ACCOUNT_KIND = Subject(accounts.STRATEGY, "api.core.v1.ServiceAccount")
NAMESPACE_KIND = Subject(namespaces.STRATEGY, "api.core.v1.Namespace", namespaced=False)
MAP_KIND = Subject(config.CONFIG_MAP, "api.core.v1.ConfigMap")
SECRET_KIND = Subject(config.SECRET, "api.core.v1.Secret")

NEW = [
    (BUDGET_KIND, BUDGET, BUDGETS),
    (LEASE_KIND, LEASE, LEASES),
    (ACCOUNT_KIND, ACCOUNT, ACCOUNTS),
    (NAMESPACE_KIND, NAMESPACE, NAMESPACES),
    (MAP_KIND, MAP, MAPS),
    (SECRET_KIND, SECRET, SECRETS),
]
CHANGED = [
    (BUDGET_KIND, STORED_BUDGET, CHANGED_BUDGETS),
    (LEASE_KIND, LEASE, CHANGED_LEASES),
    (ACCOUNT_KIND, ACCOUNT, CHANGED_ACCOUNTS),
    (NAMESPACE_KIND, STORED_NAMESPACE, CHANGED_NAMESPACES),
    (MAP_KIND, FROZEN_MAP, CHANGED_MAPS),
    (SECRET_KIND, STORED_SECRET, CHANGED_SECRETS),
    (SECRET_KIND, FROZEN_SECRET, CHANGED_FROZEN_SECRETS),
]
STATUS = [
    (BUDGET_KIND, STORED_BUDGET, BUDGET_STATUS),
    (NAMESPACE_KIND, STORED_NAMESPACE, NAMESPACE_STATUS),
]


def cases(tables):
    return [
        pytest.param(subject, good, changes, answer, id=f"{subject.type}: {changes[:60]}")
        for subject, good, table in tables
        for changes, answer in rows(table)
    ]


@pytest.mark.parametrize(("subject", "good", "changes", "answer"), cases(NEW))
def test_a_new_object_is_answered_as_kubernetes_does(subject, good, changes, answer):
    given = edited(good, changes)
    check(created(subject, given), given, answer)


@pytest.mark.parametrize(("subject", "good", "changes", "answer"), cases(CHANGED))
def test_a_changed_object_is_answered_as_kubernetes_does(subject, good, changes, answer):
    given = edited(good, changes)
    check(updated(subject, given, good), given, answer)


@pytest.mark.parametrize(("subject", "good", "changes", "answer"), cases(STATUS))
def test_a_changed_status_is_answered_as_kubernetes_does(subject, good, changes, answer):
    given = edited(good, changes)
    check(status_updated(subject, given, good), given, answer)
