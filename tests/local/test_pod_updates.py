"""Changes of pods and of their status: what kube-apiserver 1.37.1 said to the same ones."""

from __future__ import annotations

import pytest

from muster.local.kinds.pods import pods
from tests.local import some_pods
from tests.local.answers import edited, promised, rows
from tests.local.flow import Subject, check, created, status_updated, updated

SUBJECT = Subject(pods.STRATEGY, "api.core.v1.Pod")
CHANGES = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)

PLAIN = r"""
-
    accepted generation 1
spec.containers.0.image="z"
    accepted generation 2
spec.initContainers.0.image="z:1"
    spec: Forbidden
spec.containers.0.image=
    spec.containers[0].image: Required value
    spec: Forbidden
spec.containers.0.image=" z"
    spec.containers[0].image: Invalid value
    spec: Forbidden
spec.containers.0.name="d"
    spec: Forbidden
spec.containers.1={"name":"d","image":"x"}
    spec.containers: Forbidden
spec.initContainers=
    spec.initContainers: Forbidden
spec.containers.0.command=["a","<b>"]
    spec: Forbidden
spec.containers.0.resources={"limits":{"cpu":"1"}}
    spec: Forbidden
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]
    spec: Forbidden
spec.volumes=[{"name":"v","configMap":{"name":"m"}}]
    spec: Forbidden
spec.nodeName="n"
    spec: Forbidden
spec.nodeSelector={"b":"2","a":"1"}
    spec: Forbidden
spec.restartPolicy="Never"
    spec: Forbidden
spec.restartPolicy="never"
    spec.restartPolicy: Unsupported value
    spec: Forbidden
spec.schedulerName="other"
    spec: Forbidden
spec.hostNetwork=true; spec.hostname="h"
    spec: Forbidden
spec.activeDeadlineSeconds=50
    accepted generation 2
spec.activeDeadlineSeconds=200
    spec.activeDeadlineSeconds: Invalid value
spec.activeDeadlineSeconds=
    spec.activeDeadlineSeconds: Invalid value
spec.activeDeadlineSeconds=-1
    spec.activeDeadlineSeconds: Invalid value
spec.activeDeadlineSeconds=0
    spec.activeDeadlineSeconds: Invalid value
spec.terminationGracePeriodSeconds=5
    spec: Forbidden
spec.tolerations.3={"key":"a","operator":"Exists"}
    accepted generation 2
spec.tolerations.0.tolerationSeconds=5
    accepted generation 2
spec.tolerations.2.effect="NoExecute"
    spec.tolerations: Forbidden
spec.tolerations.2.key="b"
    spec.tolerations: Forbidden
spec.tolerations.3={"key":"a b","operator":"Exists"}
    spec.tolerations[3].key: Invalid value
spec.tolerations.2=
    spec.tolerations: Forbidden
spec.schedulingGates=[{"name":"x"}]
    spec.schedulingGates[0].name: Forbidden
spec.schedulingGroup={"podGroupName":"g"}
    spec: Forbidden
spec.affinity={"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z","labelSelector":{"matchLabels":{"a":"b"}}}]}}
    spec: Forbidden
spec.topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"}]
    spec: Forbidden
spec.securityContext={"runAsUser":5}
    spec: Forbidden
spec.containers.0.livenessProbe={"httpGet":{"port":80}}
    spec: Forbidden
spec.containers.0.ports=[{"containerPort":80}]
    spec: Forbidden
spec.ephemeralContainers=[{"name":"e","image":"x"}]
    spec: Forbidden
spec.terminationGracePeriodSeconds=-1
    spec: Forbidden
spec.containers.0.image="z"; spec.containers.0.stdin=true; spec.priorityClassName=""; spec.enableServiceLinks=false
    spec: Forbidden
metadata.annotations={"kubernetes.io/config.mirror":"x"}
    metadata.annotations[kubernetes.io/config.mirror]: Invalid value
    metadata.annotations[kubernetes.io/config.mirror]: Forbidden
metadata.annotations={"container.apparmor.security.beta.kubernetes.io/c":"runtime/default"}
    metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Forbidden
metadata.annotations={"controller.kubernetes.io/pod-deletion-cost":"x"}
    metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value
metadata.annotations={"a b":"c"}
    metadata.annotations: Invalid value: "a b": <key>
metadata.labels={"a":"b"}
    accepted generation 1
"""

GATED = r"""
spec.schedulingGates=[{"name":"b"}]
    accepted generation 2
spec.schedulingGates=
    accepted generation 2
spec.schedulingGates.2={"name":"c"}
    spec.schedulingGates[2].name: Forbidden
spec.nodeSelector.x="y"
    accepted generation 2
spec.nodeSelector={"k":"w"}
    spec.nodeSelector: Invalid value
spec.nodeSelector=
    spec.nodeSelector: Invalid value
spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.0.matchExpressions.1={"key":"b","operator":"Exists"}
    accepted generation 2
spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.0.matchExpressions.0.values=["2"]
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]: Invalid value
spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.1={"matchExpressions":[{"key":"c","operator":"Exists"}]}
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value
spec.affinity=
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value
spec.affinity.podAffinity={"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z","labelSelector":{}}]}
    spec: Forbidden
spec.nodeName="n"
    spec: Forbidden
spec.schedulingGates=; spec.nodeName="n"
    spec: Forbidden
"""

FREE = r"""
spec.affinity={"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"c","operator":"Exists"}]}]}}}
    accepted generation 2
spec.affinity={"nodeAffinity":{},"podAntiAffinity":{}}
    spec: Forbidden
spec.nodeSelector={"a":"b"}; spec.hostPID=true
    spec: Forbidden
"""

# of PLAIN
STATUS_OF_BOUND = r"""
-
status.phase="Failed"; status.message="gone"
status.conditions=[{"type":"Ready","status":"False"},{"type":"a b","status":"True"}]
    status.conditions[1].Type: Invalid value
status.conditions.0.observedGeneration=-1
    status.conditions[0].observedGeneration: Invalid value
status.conditions=[{"type":"example.com/Fine","status":"True"}]
    status.conditions.0.lastProbeTime=null
    status.conditions.0.lastTransitionTime=null
status.observedGeneration=
    status.observedGeneration=1
status.observedGeneration=-1
    status.observedGeneration: Invalid value
status.qosClass="Guaranteed"
    status.qosClass: Invalid value: "Guaranteed": field is immutable
status.qosClass=
    status.qosClass="BestEffort"
status.nominatedNodeName="n2"
    status.nominatedNodeName: Forbidden
status.nominatedNodeName="N_2"
    status.nominatedNodeName: Invalid value
    status.nominatedNodeName: Forbidden
status.containerStatuses.0.state={"running":{}}
    status.containerStatuses[0].state: Forbidden
status.containerStatuses.0.state={}
    status.containerStatuses[0].state: Forbidden
status.initContainerStatuses.0.state={"running":{}}
    status.initContainerStatuses.0.state.running.startedAt=null
status.containerStatuses=
status.podIP="x"; status.podIPs=
    status.podIPs[0]: Invalid value
status.podIP="10.0.0.2"; status.podIPs=[{"ip":"10.0.0.3"}]
    status.podIPs.0.ip="10.0.0.2"
status.podIP=; status.podIPs=[{"ip":"10.0.0.3"},{"ip":"10.0.0.4"}]
    status.podIPs: Invalid value
status.podIP=; status.podIPs=[{"ip":"10.0.0.3"},{"ip":"::1"}]
    status.podIP="10.0.0.3"
status.podIP=; status.podIPs=[{"ip":"10.0.0.3"},{"ip":"::1"},{"ip":"::2"}]
    status.podIPs: Invalid value
status.hostIPs=[{"ip":"4.4.4.4"}]
    status.hostIPs[0].ip: Invalid value
status.hostIPs=[{"ip":"1.2.3.4"},{"ip":"1.2.3.5"}]
    status.hostIPs: Invalid value
status.containerStatuses.0.user={"linux":{"uid":-1,"gid":-1,"supplementalGroups":[-5]}}
    status.containerStatuses[0].user.linux.uid: Invalid value
    status.containerStatuses[0].user.linux.gid: Invalid value
    status.containerStatuses[0].user.linux.supplementalGroups[0]: Invalid value
status.resourceClaimStatuses=[{"name":"a"},{"name":"a"}]
    status.resourceClaimStatuses[0].name: Invalid value
    status.resourceClaimStatuses[1].name: Invalid value
    status.resourceClaimStatuses[1].name: Duplicate value
metadata.annotations={"kubernetes.io/config.mirror":"x"}
    metadata.annotations[kubernetes.io/config.mirror]: Forbidden
spec.nodeName="n2"; metadata.labels={"a":"b"}
status=
    status.observedGeneration=1
    status.qosClass="BestEffort"
"""

STATUS_OF_WAITING = r"""
status.nominatedNodeName="N_2"
    status.nominatedNodeName: Invalid value
status.nominatedNodeName="n2"
status.nominatedNodeName=
"""


UPDATES = [
    (pod, *row)
    for pod, table in ((some_pods.PLAIN, PLAIN), (some_pods.GATED, GATED), (some_pods.FREE, FREE))
    for row in rows(table)
]
STATUS = [
    (pod, *row)
    for pod, table in ((some_pods.BOUND, STATUS_OF_BOUND), (some_pods.WAITING, STATUS_OF_WAITING))
    for row in rows(table)
]


@pytest.mark.parametrize(("given", "change", "answer"), UPDATES)
def test_a_pod_changes_as_far_as_kubernetes_lets_it(given, change, answer):
    stored, _ = created(SUBJECT, given)
    document, errors = updated(SUBJECT, edited(given, change), stored)
    if errors:
        assert promised(errors) == promised(answer)
    else:
        assert answer == [f"accepted generation {document['metadata']['generation']}"]


def test_a_refused_change_names_what_was_changed():
    stored, _ = created(SUBJECT, some_pods.PLAIN)
    _, errors = updated(SUBJECT, edited(some_pods.PLAIN, 'spec.hostname="h"; spec.subdomain="s"'), stored)
    assert errors == [f"spec: Forbidden: {CHANGES}; changed: hostname, subdomain"]


@pytest.mark.parametrize(("given", "change", "answer"), STATUS)
def test_a_status_changes_as_far_as_kubernetes_lets_it(given, change, answer):
    given = edited(given, "metadata.generation=1")
    stored, _ = created(SUBJECT, given)
    stored, _ = status_updated(SUBJECT, given, stored)
    given = edited(given, change)
    document, errors = status_updated(SUBJECT, given, stored)
    check(({"status": document["status"]}, list(dict.fromkeys(errors))), {"status": given.get("status", {})}, answer)
    assert document["spec"] == stored["spec"]


def test_an_update_does_not_touch_the_status():
    stored, _ = created(SUBJECT, some_pods.PLAIN)
    document, _ = updated(SUBJECT, edited(some_pods.PLAIN, 'status={"phase":"Failed"}'), stored)
    assert document["status"] == stored["status"]


def test_a_status_update_does_not_end_a_deletion_nor_change_owners():
    stored, _ = created(SUBJECT, some_pods.WAITING)
    stored["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": [{"uid": "u"}]}
    new = edited(some_pods.WAITING, "-")
    pods.STRATEGY.prepare_status(new, stored)
    assert new["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert new["metadata"]["ownerReferences"] == [{"uid": "u"}]
