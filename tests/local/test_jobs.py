"""Jobs: what kube-apiserver 1.37.1 said to the same objects."""

from __future__ import annotations

from copy import deepcopy

import pytest

from muster.local.kinds.jobs import jobs
from tests.local.answers import edited, rows
from tests.local.flow import Subject, check, created, status_updated, updated

KIND = Subject(jobs.STRATEGY, "api.batch.v1.Job")
POD = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
JOB = {"metadata": {"name": "j"}, "spec": {"template": {"spec": POD}}}
INDEXED = edited(JOB, 'spec.completionMode="Indexed"; spec.completions=4; spec.parallelism=2')


def stored(given, **status):
    """A job as it is after it was made."""
    job = created(KIND, given)[0]
    job["status"] = status
    return job


STORED = stored(JOB)
STORED_INDEXED = stored(edited(INDEXED, 'metadata.name="ji"; spec.backoffLimitPerIndex=1; spec.parallelism=4'))
SUSPENDED = stored(edited(JOB, 'metadata.name="js"; spec.suspend=true'))
GANG = stored(
    edited(
        JOB,
        'metadata.name="jg"; spec.parallelism=4; spec.scheduling={"schedulingPolicy":{"gang":{"minCount":3}}}',
    )
)
RUNNING = stored(edited(JOB, 'metadata.name="jr"'), startTime="2026-01-01T00:00:00Z", active=1, failed=2, succeeded=1)
DONE = stored(
    edited(JOB, 'metadata.name="jd"'),
    startTime="2026-01-01T00:00:00Z",
    completionTime="2026-01-01T00:01:00Z",
    succeeded=1,
    conditions=[
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": None}
        for kind in ("SuccessCriteriaMet", "Complete")
    ],
)

NEW = r"""
-
    metadata.generation=1
    metadata.labels={"batch.kubernetes.io/controller-uid": "<uid>", "batch.kubernetes.io/job-name": "j", "controller-uid": "<uid>", "job-name": "j"}
    spec.backoffLimit=6
    spec.completionMode="NonIndexed"
    spec.completions=1
    spec.manualSelector=false
    spec.parallelism=1
    spec.podReplacementPolicy="TerminatingOrFailed"
    spec.selector={"matchLabels": {"batch.kubernetes.io/controller-uid": "<uid>"}}
    spec.suspend=false
    spec.template.metadata={"labels": {"batch.kubernetes.io/controller-uid": "<uid>", "batch.kubernetes.io/job-name": "j", "controller-uid": "<uid>", "job-name": "j"}}
    spec.template.spec.containers.0.imagePullPolicy="Always"
    spec.template.spec.containers.0.resources={}
    spec.template.spec.containers.0.terminationMessagePath="/dev/termination-log"
    spec.template.spec.containers.0.terminationMessagePolicy="File"
    spec.template.spec.dnsPolicy="ClusterFirst"
    spec.template.spec.schedulerName="default-scheduler"
    spec.template.spec.securityContext={}
    spec.template.spec.terminationGracePeriodSeconds=30
    status={}
metadata.name="J"
    metadata.name: Invalid value: "J": <subdomain>
metadata.name="a.b"
    ...
    metadata.labels={"batch.kubernetes.io/controller-uid": "<uid>", "batch.kubernetes.io/job-name": "a.b", "controller-uid": "<uid>", "job-name": "a.b"}
    spec.template.metadata={"labels": {"batch.kubernetes.io/controller-uid": "<uid>", "batch.kubernetes.io/job-name": "a.b", "controller-uid": "<uid>", "job-name": "a.b"}}
metadata.labels={"a":"b"}
    ...
    ~metadata.labels
spec.template.metadata={"labels":{"a":"b"}}
    ...
    metadata.labels={"a": "b", "batch.kubernetes.io/controller-uid": "<uid>", "batch.kubernetes.io/job-name": "j", "controller-uid": "<uid>", "job-name": "j"}
    spec.template.metadata.labels."batch.kubernetes.io/controller-uid"="<uid>"
    spec.template.metadata.labels."batch.kubernetes.io/job-name"="j"
    spec.template.metadata.labels.controller-uid="<uid>"
    spec.template.metadata.labels.job-name="j"
    ~spec.template.metadata
spec.template.metadata={"labels":{"a":"b"},"annotations":{"c":"d"}}; metadata.labels={"x":"y"}
    ...
    spec.template.metadata.labels."batch.kubernetes.io/controller-uid"="<uid>"
    spec.template.metadata.labels."batch.kubernetes.io/job-name"="j"
    spec.template.metadata.labels.controller-uid="<uid>"
    spec.template.metadata.labels.job-name="j"
    ~metadata.labels
    ~spec.template.metadata
spec.template.metadata={"labels":{"a":"b c"}}
    metadata.labels: Invalid value: "b c": <value>
    spec.template.labels: Invalid value
spec.template.metadata={"annotations":{"a b":"c"}}
    spec.template.annotations: Invalid value
spec.template.metadata={"labels":{"controller-uid":"x"}}
    spec.template.metadata.labels[controller-uid]: Invalid value
spec.template.metadata={"labels":{"batch.kubernetes.io/job-name":"x"}}
    spec.template.metadata.labels[batch.kubernetes.io/job-name]: Invalid value
spec.selector={"matchLabels":{"a":"b"}}
    spec.selector: Invalid value
    spec.template.metadata.labels: Invalid value
spec.selector={"matchLabels":{"batch.kubernetes.io/controller-uid":"x"}}
    spec.selector: Invalid value
    spec.template.metadata.labels: Invalid value
spec.manualSelector=true
    spec.selector: Required value
    spec.template.metadata.labels: Invalid value
spec.manualSelector=true; spec.selector={"matchLabels":{"a":"b"}}
    spec.template.metadata.labels: Invalid value
spec.manualSelector=true; spec.selector={"matchLabels":{"a":"b"}}; spec.template.metadata={"labels":{"a":"b"}}
    ...
    metadata.labels={"a": "b"}
    ~spec.manualSelector
    ~spec.selector
    ~spec.template.metadata
spec.manualSelector=true; spec.selector={"matchLabels":{"a":"b c"}}; spec.template.metadata={"labels":{"a":"b"}}
    spec.selector.matchLabels: Invalid value
spec.manualSelector=true; spec.selector={"matchExpressions":[{"key":"a","operator":"Near"}]}
    spec.selector.matchExpressions[0].operator: Invalid value
spec.manualSelector=true; spec.selector={}
    ...
    spec.template.metadata={}
    ~metadata.labels
    ~spec.manualSelector
    ~spec.selector
spec.parallelism=0
    ...
    ~spec.completions
    ~spec.parallelism
spec.parallelism=2
    ...
    ~spec.completions
    ~spec.parallelism
spec.completions=3
    ...
    ~spec.completions
spec.parallelism=-1; spec.completions=-2; spec.activeDeadlineSeconds=-3; spec.backoffLimit=-4; spec.ttlSecondsAfterFinished=-5
    spec.parallelism: Invalid value
    spec.completions: Invalid value
    spec.activeDeadlineSeconds: Invalid value
    spec.backoffLimit: Invalid value
    spec.ttlSecondsAfterFinished: Invalid value
spec.completionMode="Odd"
    spec.completionMode: Unsupported value
spec.completionMode="Indexed"
    ...
    ~spec.completionMode
spec.completionMode="Indexed"; spec.parallelism=2
    spec.completions: Required value
spec.backoffLimitPerIndex=1
    spec.backoffLimitPerIndex: Invalid value
spec.maxFailedIndexes=1
    spec.backoffLimitPerIndex: Required value
    spec.maxFailedIndexes: Invalid value
spec.managedBy="me"
    spec.managedBy: Invalid value
spec.managedBy=""
    spec.managedBy: Required value
spec.managedBy="Acme.io/x"
    spec.managedBy: Invalid value
spec.managedBy="acme.io/ö"
    spec.managedBy: Invalid value
spec.managedBy="acme.io/job"
    ...
spec.managedBy="a.b/cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
    spec.managedBy: Too long
spec.podReplacementPolicy="Odd"
    spec.podReplacementPolicy: Unsupported value
spec.podReplacementPolicy="Failed"
    ...
    ~spec.podReplacementPolicy
spec.suspend=true
    ...
    ~spec.suspend
spec.template.spec.restartPolicy=
    spec.template.spec.restartPolicy: Required value
spec.template.spec.restartPolicy="Always"
    spec.template.spec.restartPolicy: Required value
spec.template.spec.restartPolicy="Sometimes"
    spec.template.spec.restartPolicy: Unsupported value
spec.template.spec.restartPolicy="OnFailure"
    ...
spec.template.spec.containers=
    spec.template.spec.containers: Required value
spec.template.spec={}
    spec.template.spec.containers: Required value
    spec.template.spec.restartPolicy: Required value
spec.template.spec.containers.0.name="C"
    spec.template.spec.containers[0].name: Invalid value
spec.template.spec.containers.0.image=
    spec.template.spec.containers[0].image: Required value
spec.template.spec.ephemeralContainers=[{"name":"e","image":"i"}]
    spec.template.spec.ephemeralContainers: Forbidden
spec.template.spec.nodeSelector={"a b":"c"}; spec.parallelism=-1
    spec.parallelism: Invalid value
    spec.template.spec.nodeSelector: Invalid value
status={"active":3}
    ...
    status.active=
    ~status
spec.podFailurePolicy={"rules":[]}
    ...
    spec.podFailurePolicy.rules=null
    spec.podReplacementPolicy="Failed"
spec.podFailurePolicy={"rules":[{"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget"}]}]}
    ...
    spec.podFailurePolicy.rules.0.onPodConditions.0.status="True"
    spec.podReplacementPolicy="Failed"
spec.podFailurePolicy={"rules":[{"action":"","onPodConditions":[{"type":"DisruptionTarget","status":"True"}]}]}
    spec.podFailurePolicy.rules[0].action: Required value
spec.podFailurePolicy={"rules":[{"action":"Odd","onPodConditions":[{"type":"a b","status":"Maybe"}]}]}
    spec.podFailurePolicy.rules[0].action: Unsupported value
    spec.podFailurePolicy.rules[0].onPodConditions[0].type: Invalid value
    spec.podFailurePolicy.rules[0].onPodConditions[0].status: Unsupported value
spec.podFailurePolicy={"rules":[{"action":"FailIndex","onExitCodes":{"operator":"In","values":[1]}}]}
    spec.podFailurePolicy.rules[0].action: Invalid value
spec.podFailurePolicy={"rules":[{"action":"FailJob"}]}
    spec.podFailurePolicy.rules[0]: Invalid value
spec.podFailurePolicy={"rules":[{"action":"FailJob","onExitCodes":{"operator":"In","values":[1]},"onPodConditions":[{"type":"X","status":"True"}]}]}
    spec.podFailurePolicy.rules[0]: Invalid value
spec.podFailurePolicy={"rules":[{"action":"Count","onExitCodes":{"operator":""}}]}
    spec.podFailurePolicy.rules[0].onExitCodes.operator: Required value
    spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value
spec.podFailurePolicy={"rules":[{"action":"Count","onExitCodes":{"operator":"Near","values":[3,2,2]}}]}
    spec.podFailurePolicy.rules[0].onExitCodes.operator: Unsupported value
    spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value
    spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value
spec.podFailurePolicy={"rules":[{"action":"Count","onExitCodes":{"operator":"In","values":[0,1],"containerName":"x"}}]}
    spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value
    spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value
spec.podFailurePolicy={"rules":[{"action":"Count","onExitCodes":{"operator":"NotIn","values":[0,1],"containerName":"c"}}]}
    ...
    spec.podReplacementPolicy="Failed"
spec.podFailurePolicy={"rules":[]}; spec.podReplacementPolicy="TerminatingOrFailed"
    spec.podReplacementPolicy: Unsupported value
spec.podFailurePolicy={"rules":[]}; spec.template.spec.restartPolicy="OnFailure"
    spec.template.spec.restartPolicy: Invalid value
spec.podFailurePolicy.rules=[{"action":"Count","onExitCodes":{"operator":"In","values":[1]}}]*21
    spec.podFailurePolicy.rules: Too many
spec.successPolicy={"rules":[{"succeededCount":1}]}
    spec.successPolicy: Invalid value
spec.scheduling={}
    ...
spec.scheduling={"schedulingPolicy":{}}
    spec.scheduling.schedulingPolicy: Invalid value
spec.scheduling={"schedulingPolicy":{"basic":{}}}
    ...
spec.scheduling={"schedulingPolicy":{"basic":{},"gang":{}}}
    spec.scheduling.schedulingPolicy: Invalid value
spec.scheduling={"schedulingPolicy":{"gang":{}}}; spec.parallelism=3
    ...
    ~spec.completions
    ~spec.parallelism
spec.scheduling={"schedulingPolicy":{"gang":{"minCount":0}}}
    spec.scheduling.schedulingPolicy.gang.minCount: Invalid value
spec.scheduling={"schedulingPolicy":{"gang":{"minCount":-1}}}
    spec.scheduling.schedulingPolicy.gang.minCount: Invalid value
spec.scheduling={"schedulingPolicy":{"gang":{"minCount":5}}}; spec.parallelism=4
    spec.scheduling.schedulingPolicy.gang.minCount: Invalid value
spec.scheduling={"schedulingPolicy":{"gang":{"minCount":4}}}; spec.parallelism=4
    ...
    ~spec.completions
    ~spec.parallelism
spec.scheduling={"disruptionMode":{"all":{}}}
    spec.scheduling.disruptionMode: Invalid value
spec.scheduling={"disruptionMode":{"all":{}},"schedulingPolicy":{"basic":{}}}
    spec.scheduling.disruptionMode: Invalid value
spec.scheduling={"disruptionMode":{"all":{}},"schedulingPolicy":{"gang":{}}}
    ...
spec.scheduling={"disruptionMode":{}}
    spec.scheduling.disruptionMode: Invalid value
spec.scheduling={"disruptionMode":{"all":{},"single":{}},"schedulingPolicy":{"gang":{}}}
    spec.scheduling.disruptionMode: Invalid value
spec.scheduling={"schedulingConstraints":{"topology":[{"key":"a b"}]}}
    spec.scheduling.schedulingConstraints.topology[0].key: Invalid value
spec.scheduling={"schedulingConstraints":{"topology":[{"key":"a"},{"key":"b"}]}}
    spec.scheduling.schedulingConstraints.topology: Too many
spec.scheduling={"resourceClaims":[{"name":"A"},{"name":"b","resourceClaimName":"x","resourceClaimTemplateName":"y"}]}
    spec.scheduling.resourceClaims[0]: Invalid value
    spec.scheduling.resourceClaims[0].name: Invalid value
    spec.scheduling.resourceClaims[1]: Invalid value
spec.scheduling={"resourceClaims":[{"name":"a","resourceClaimName":"x"},{"name":"a","resourceClaimTemplateName":"y"}]}
    spec.scheduling.resourceClaims[1]: Duplicate value
spec.scheduling={"resourceClaims":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"},{"name":"e"}]}
    spec.scheduling.resourceClaims: Too many
"""  # noqa: E501

NEW_INDEXED = r"""
-
    metadata.generation=1
    metadata.labels={"batch.kubernetes.io/controller-uid": "<uid>", "batch.kubernetes.io/job-name": "j", "controller-uid": "<uid>", "job-name": "j"}
    spec.backoffLimit=6
    spec.manualSelector=false
    spec.podReplacementPolicy="TerminatingOrFailed"
    spec.selector={"matchLabels": {"batch.kubernetes.io/controller-uid": "<uid>"}}
    spec.suspend=false
    spec.template.metadata={"labels": {"batch.kubernetes.io/controller-uid": "<uid>", "batch.kubernetes.io/job-name": "j", "controller-uid": "<uid>", "job-name": "j"}}
    spec.template.spec.containers.0.imagePullPolicy="Always"
    spec.template.spec.containers.0.resources={}
    spec.template.spec.containers.0.terminationMessagePath="/dev/termination-log"
    spec.template.spec.containers.0.terminationMessagePolicy="File"
    spec.template.spec.dnsPolicy="ClusterFirst"
    spec.template.spec.schedulerName="default-scheduler"
    spec.template.spec.securityContext={}
    spec.template.spec.terminationGracePeriodSeconds=30
    status={}
metadata.name="a.b"
    metadata.name: Invalid value: "a.b": will not able to create pod with invalid DNS label: a.b-3
metadata.name="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    metadata.name: Invalid value: "<a*62>": will not able to create pod with invalid DNS label: <a*62>-3
spec.completions=0; metadata.name="a.b"
    ...
    metadata.labels={"batch.kubernetes.io/controller-uid": "<uid>", "batch.kubernetes.io/job-name": "a.b", "controller-uid": "<uid>", "job-name": "a.b"}
    spec.template.metadata={"labels": {"batch.kubernetes.io/controller-uid": "<uid>", "batch.kubernetes.io/job-name": "a.b", "controller-uid": "<uid>", "job-name": "a.b"}}
spec.parallelism=100001
    spec.parallelism: Invalid value
spec.backoffLimitPerIndex=2
    ...
    spec.backoffLimit=2147483647
spec.backoffLimitPerIndex=2; spec.maxFailedIndexes=5
    spec.maxFailedIndexes: Invalid value
spec.backoffLimitPerIndex=2; spec.maxFailedIndexes=3
    ...
    spec.backoffLimit=2147483647
spec.maxFailedIndexes=3
    spec.backoffLimitPerIndex: Required value
spec.completions=100001; spec.backoffLimitPerIndex=2
    spec.maxFailedIndexes: Required value
spec.completions=100001; spec.backoffLimitPerIndex=2; spec.parallelism=10001; spec.maxFailedIndexes=10001
    spec.parallelism: Invalid value
    spec.maxFailedIndexes: Invalid value
spec.completions=200000; spec.backoffLimitPerIndex=2; spec.maxFailedIndexes=100001
    spec.maxFailedIndexes: Invalid value
spec.backoffLimitPerIndex=1; spec.podFailurePolicy={"rules":[{"action":"FailIndex","onExitCodes":{"operator":"In","values":[1]}}]}
    ...
    spec.backoffLimit=2147483647
    spec.podReplacementPolicy="Failed"
spec.successPolicy={}
    spec.successPolicy.rules: Required value
spec.successPolicy={"rules":[]}
    spec.successPolicy.rules: Required value
spec.successPolicy={"rules":[{}]}
    spec.successPolicy.rules[0]: Required value
spec.successPolicy={"rules":[{"succeededCount":5}]}
    spec.successPolicy.rules[0].succeededCount: Invalid value
spec.successPolicy={"rules":[{"succeededCount":-1}]}
    spec.successPolicy.rules[0].succeededCount: Invalid value
spec.successPolicy={"rules":[{"succeededIndexes":"0-2","succeededCount":4}]}
    spec.successPolicy.rules[0].succeededCount: Invalid value
spec.successPolicy={"rules":[{"succeededIndexes":"0-2,3","succeededCount":5}]}
    spec.successPolicy.rules[0].succeededCount: Invalid value
spec.successPolicy={"rules":[{"succeededIndexes":"0,2-3","succeededCount":3}]}
    ...
spec.successPolicy={"rules":[{"succeededIndexes":"x"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value
spec.successPolicy={"rules":[{"succeededIndexes":"2,1"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value
spec.successPolicy={"rules":[{"succeededIndexes":"2,1,x"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value
spec.successPolicy={"rules":[{"succeededIndexes":"3-1"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value
spec.successPolicy={"rules":[{"succeededIndexes":"1-2-3"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value
spec.successPolicy={"rules":[{"succeededIndexes":"4"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value
spec.successPolicy={"rules":[{"succeededIndexes":"0-4"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value
spec.successPolicy={"rules":[{"succeededIndexes":"0,"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value
spec.successPolicy={"rules":[{"succeededIndexes":""}]}
    ...
spec.successPolicy.rules=[{"succeededCount":1}]*21
    spec.successPolicy.rules: Too many
"""  # noqa: E501

CHANGED = r"""
-
spec.parallelism=5
    metadata.generation=2
spec.completions=2
    spec.completions: Invalid value: 2: field is immutable
spec.completions=
    spec.completions: Invalid value: null: field is immutable
spec.suspend=true
    metadata.generation=2
spec.backoffLimit=3; spec.activeDeadlineSeconds=4; spec.ttlSecondsAfterFinished=5
    metadata.generation=2
spec.backoffLimit=-3
    spec.backoffLimit: Invalid value
spec.completionMode="Indexed"
    spec.completionMode: Invalid value: "Indexed": field is immutable
spec.manualSelector=true
    metadata.generation=2
spec.selector={"matchLabels":{"job-name":"j"}}
    spec.selector: Invalid value: {...}: field is immutable
spec.managedBy="acme.io/x"
    spec.managedBy: Invalid value: "acme.io/x": field is immutable
spec.podFailurePolicy={"rules":[{"action":"Ignore","onPodConditions":[{"type":"X"}]}]}
    spec.podReplacementPolicy: Unsupported value
    spec.podFailurePolicy: Invalid value: {...}: field is immutable
spec.successPolicy={"rules":[{"succeededCount":1}]}
    spec.successPolicy: Invalid value
    spec.successPolicy: Invalid value: {...}: field is immutable
spec.podReplacementPolicy="Failed"
    metadata.generation=2
spec.template.spec.containers.0.image="other"
    spec.template: Invalid value: {...}: field is immutable
spec.template.metadata.annotations={"a":"b"}
    spec.template: Invalid value: {...}: field is immutable
spec.template.spec.nodeSelector={"a":"b"}
    spec.template: Invalid value: {...}: field is immutable
spec.template.spec={"restartPolicy":"Never","serviceAccountName":"sa","priorityClassName":"p","containers":[{"name":"c","image":"i:1","command":["a","b<c"],"env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],"ports":[{"containerPort":80}],"resources":{"limits":{"memory":"1Gi","cpu":"1"}},"livenessProbe":{"httpGet":{"port":"http"}},"volumeMounts":[{"name":"v","mountPath":"/v"}],"securityContext":{"runAsUser":1}}],"volumes":[{"name":"v","emptyDir":{}},{"name":"w","configMap":{"name":"m"}}],"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"k","labelSelector":{"matchExpressions":[{"values":["x"],"operator":"In","key":"a"}],"matchLabels":{"z":"1","b":"2"}}}]}},"tolerations":[{"operator":"Exists"}],"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"}]}
    spec.template: Invalid value: {...}: field is immutable
spec.scheduling={"schedulingPolicy":{"basic":{}}}
    spec.scheduling: Invalid value
metadata.labels=
    metadata.labels={"batch.kubernetes.io/controller-uid": "<uid>", "batch.kubernetes.io/job-name": "j", "controller-uid": "<uid>", "job-name": "j"}
metadata.labels={"a":"b c"}; spec.parallelism=-1
    metadata.labels: Invalid value: "b c": <value>
    spec.parallelism: Invalid value
status={"active":1}
    status.active=
"""  # noqa: E501

CHANGED_INDEXED = r"""
-
spec.completions=2; spec.parallelism=2
    metadata.generation=2
spec.completions=5
    spec.completions: Invalid value
spec.completions=
    spec.completions: Required value
spec.backoffLimitPerIndex=2
    spec.backoffLimitPerIndex: Invalid value: 2: field is immutable
spec.backoffLimitPerIndex=
    spec.backoffLimitPerIndex: Invalid value: null: field is immutable
spec.maxFailedIndexes=1
    metadata.generation=2
spec.completionMode="NonIndexed"
    spec.backoffLimitPerIndex: Invalid value
    spec.completionMode: Invalid value: "NonIndexed": field is immutable
"""

CHANGED_SUSPENDED = r"""
-
spec.suspend=false
    metadata.generation=2
spec.template.spec.nodeSelector={"a":"b"}
    metadata.generation=2
spec.template.spec.tolerations=[{"operator":"Exists"}]
    metadata.generation=2
spec.template.spec.schedulingGates=[{"name":"a/b"}]
    metadata.generation=2
spec.template.spec.affinity={"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}}
    metadata.generation=2
spec.template.spec.affinity={"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"k"}]}}
    spec.template.spec: Invalid value: {...}: field is immutable
spec.template.metadata.labels.a="b"
    metadata.generation=2
spec.template.metadata.annotations={"a":"b"}
    metadata.generation=2
spec.template.spec.containers.0.resources={"requests":{"cpu":"1"}}
    metadata.generation=2
spec.template.spec.containers.0.image="other"
    spec.template.spec: Invalid value: {...}: field is immutable
spec.template.spec.containers.1={"name":"d","image":"i"}
    spec.template.spec: Invalid value: {...}: field is immutable
spec.template.spec.priorityClassName="x"
    spec.template.spec: Invalid value: {...}: field is immutable
"""

CHANGED_GANG = r"""
-
spec.scheduling=
    spec.scheduling: Invalid value
spec.scheduling={}
    spec.scheduling.schedulingPolicy: Invalid value
spec.scheduling={"schedulingPolicy":{"gang":{"minCount":4}}}
    metadata.generation=2
spec.scheduling={"schedulingPolicy":{"gang":{"minCount":5}}}
    spec.scheduling.schedulingPolicy.gang.minCount: Invalid value
spec.scheduling={"schedulingPolicy":{"gang":{"minCount":0}}}
    spec.scheduling.schedulingPolicy.gang.minCount: Invalid value
spec.scheduling={"schedulingPolicy":{"gang":{}}}
    metadata.generation=2
spec.scheduling={"schedulingPolicy":{"basic":{}}}
    spec.scheduling.schedulingPolicy: Invalid value
spec.scheduling={"schedulingPolicy":{}}
    spec.scheduling.schedulingPolicy: Invalid value
spec.scheduling.disruptionMode={"all":{}}
    spec.scheduling.disruptionMode: Invalid value: null: field is immutable
spec.scheduling.schedulingConstraints={"topology":[{"key":"a"}]}
    spec.scheduling.schedulingConstraints: Invalid value: null: field is immutable
spec.scheduling.resourceClaims=[{"name":"a","resourceClaimName":"b"}]
    spec.scheduling.resourceClaims: Invalid value: null: field is immutable
spec.parallelism=2
    spec.scheduling.schedulingPolicy.gang.minCount: Invalid value
spec.parallelism=2; spec.scheduling={"schedulingPolicy":{"gang":{"minCount":2}}}
    metadata.generation=2
"""

STATUS = r"""
-
status.active=2; status.ready=1
status.active=0; status.ready=1
    status.ready: Invalid value
status.active=-1; status.failed=-1; status.succeeded=-1; status.ready=-1; status.terminating=-1
    status.active: Invalid value
    status.succeeded: Invalid value
    status.failed: Invalid value
    status.ready: Invalid value
    status.terminating: Invalid value
status.failed=1
    status.failed: Invalid value
status.succeeded=0
    status.succeeded: Invalid value
status.startTime="2026-01-01T00:00:05Z"
    status.startTime: Invalid value
status.startTime=
    status.startTime: Invalid value
status.completionTime="2026-01-01T00:01:00Z"
    status.completionTime: Invalid value
status.completedIndexes="0"
    status.completedIndexes: Invalid value
status.failedIndexes="0"
    status.failedIndexes: Invalid value
status.uncountedTerminatedPods={"succeeded":["a","a",""],"failed":["a","b"]}
    status.uncountedTerminatedPods.succeeded[1]: Duplicate value
    status.uncountedTerminatedPods.succeeded[2]: Invalid value
    status.uncountedTerminatedPods.failed[0]: Duplicate value
status.conditions=[{"type":"Failed","status":"True"}]; status.active=0
    status.conditions: Invalid value
status.conditions=[{"type":"Failed","status":"True"},{"type":"FailureTarget","status":"True"}]
    status.active: Invalid value
status.conditions=[{"type":"Failed","status":"True"},{"type":"FailureTarget","status":"True"}]; status.active=0
    status.active=
    status.conditions.0.lastProbeTime=null
    status.conditions.0.lastTransitionTime=null
    status.conditions.1.lastProbeTime=null
    status.conditions.1.lastTransitionTime=null
status.conditions=[{"type":"Failed","status":"True"},{"type":"FailureTarget","status":"True"}]; status.active=0; status.terminating=1; status.uncountedTerminatedPods={"succeeded":["a"]}
    status.uncountedTerminatedPods: Invalid value
    status.terminating: Invalid value
status.conditions=[{"type":"Complete","status":"True"}]; status.active=0
    status.completionTime: Required value
    status.conditions: Invalid value
status.conditions=[{"type":"Complete","status":"True"},{"type":"SuccessCriteriaMet","status":"True"}]; status.active=0; status.completionTime="2025-01-01T00:00:00Z"
    status.completionTime: Invalid value
status.conditions=[{"type":"Complete","status":"True"},{"type":"SuccessCriteriaMet","status":"True"}]; status.active=0; status.completionTime="2026-01-01T00:00:00Z"
    status.active=
    status.conditions.0.lastProbeTime=null
    status.conditions.0.lastTransitionTime=null
    status.conditions.1.lastProbeTime=null
    status.conditions.1.lastTransitionTime=null
status.conditions=[{"type":"Complete","status":"True"},{"type":"Failed","status":"True"},{"type":"FailureTarget","status":"True"},{"type":"SuccessCriteriaMet","status":"True"}]; status.active=0; status.startTime=
    status.conditions: Invalid value
    status.completionTime: Required value
    status.startTime: Required value
    status.startTime: Invalid value
spec.parallelism=9; status.active=3
    spec.parallelism=1
metadata.labels={"a":"b c"}; status.failed=0
    metadata.labels: Invalid value: "b c": <value>
    status.failed: Invalid value
"""  # noqa: E501

STATUS_DONE = r"""
-
status.conditions=
    status.completionTime: Invalid value
    status.conditions: Invalid value
status.conditions=; status.completionTime=
    status.conditions: Invalid value
status.completionTime=
    status.completionTime: Required value
status.completionTime="2026-01-01T00:02:00Z"
    status.completionTime: Invalid value: "2026-01-01T00:02:00Z": field is immutable
status.startTime="2026-01-01T00:00:01Z"
    status.startTime: Invalid value
status.active=1
    status.active: Invalid value
status.conditions.1.type="Failed"
    status.completionTime: Invalid value
    status.conditions: Invalid value
status.uncountedTerminatedPods={"failed":["x"]}
    status.uncountedTerminatedPods: Invalid value
"""

STATUS_INDEXED = r"""
status.completedIndexes="0,2"; status.failedIndexes="1"
status.completedIndexes="0-2"; status.failedIndexes="2-3"
    status.failedIndexes: Invalid value
status.completedIndexes="1-3"; status.failedIndexes="0,2"
    status.failedIndexes: Invalid value
status.completedIndexes="9"
    status.completedIndexes: Invalid value
status.completedIndexes="x"; status.failedIndexes="y"
    status.completedIndexes: Invalid value
    status.failedIndexes: Invalid value
status.failedIndexes="2,1"
    status.failedIndexes: Invalid value
status.failedIndexes=""
"""


@pytest.mark.parametrize(("changes", "answer"), rows(NEW))
def test_a_new_job_is_answered_as_kubernetes_does(changes, answer):
    given = edited(JOB, changes)
    check(created(KIND, given), given, answer)


@pytest.mark.parametrize(("changes", "answer"), rows(NEW_INDEXED))
def test_a_new_indexed_job_is_answered_as_kubernetes_does(changes, answer):
    given = edited(INDEXED, changes)
    check(created(KIND, given), given, answer)


@pytest.mark.parametrize(
    ("good", "changes", "answer"),
    [
        (good, *row)
        for good, table in (
            (STORED, CHANGED),
            (STORED_INDEXED, CHANGED_INDEXED),
            (SUSPENDED, CHANGED_SUSPENDED),
            (GANG, CHANGED_GANG),
        )
        for row in rows(table)
    ],
)
def test_a_changed_job_is_answered_as_kubernetes_does(good, changes, answer):
    given = edited(good, changes)
    check(updated(KIND, given, good), given, answer)


@pytest.mark.parametrize(
    ("good", "changes", "answer"),
    [
        (good, *row)
        for good, table in ((RUNNING, STATUS), (DONE, STATUS_DONE), (STORED_INDEXED, STATUS_INDEXED))
        for row in rows(table)
    ],
)
def test_a_changed_status_is_answered_as_kubernetes_does(good, changes, answer):
    given = edited(good, changes)
    check(status_updated(KIND, given, good), given, answer)


def test_defaults_set_again_change_nothing():
    once = created(KIND, JOB)[0]
    twice = deepcopy(once)
    jobs.default(twice)
    assert twice == once


def test_jobs_are_selected_by_how_many_pods_succeeded():
    assert jobs.selectable(STORED) == {"status.successful": "0"}
    assert jobs.selectable(DONE) == {"status.successful": "1"}
