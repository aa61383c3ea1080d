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
    spec.template.labels: Invalid value: "b c": <value>
spec.template.metadata={"annotations":{"a b":"c"}}
    spec.template.annotations: Invalid value: "a b": <key>
spec.template.metadata={"labels":{"controller-uid":"x"}}
    spec.template.metadata.labels[controller-uid]: Invalid value: {"batch.kubernetes.io/controller-uid":"<uid>","batch.kubernetes.io/job-name":"j","controller-uid":"x","job-name":"j"}: must be '<uid>'
spec.template.metadata={"labels":{"batch.kubernetes.io/job-name":"x"}}
    spec.template.metadata.labels[batch.kubernetes.io/job-name]: Invalid value: {"batch.kubernetes.io/controller-uid":"<uid>","batch.kubernetes.io/job-name":"x","controller-uid":"<uid>","job-name":"j"}: must be 'j'
spec.selector={"matchLabels":{"a":"b"}}
    spec.selector: Invalid value: {"matchLabels":{"a":"b","batch.kubernetes.io/controller-uid":"<uid>"}}: `selector` not auto-generated
    spec.template.metadata.labels: Invalid value: {"batch.kubernetes.io/controller-uid":"<uid>","batch.kubernetes.io/job-name":"j","controller-uid":"<uid>","job-name":"j"}: `selector` does not match template `labels`
spec.selector={"matchLabels":{"batch.kubernetes.io/controller-uid":"x"}}
    spec.selector: Invalid value: {"matchLabels":{"batch.kubernetes.io/controller-uid":"x"}}: `selector` not auto-generated
    spec.template.metadata.labels: Invalid value: {"batch.kubernetes.io/controller-uid":"<uid>","batch.kubernetes.io/job-name":"j","controller-uid":"<uid>","job-name":"j"}: `selector` does not match template `labels`
spec.manualSelector=true
    spec.selector: Required value
    spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`
spec.manualSelector=true; spec.selector={"matchLabels":{"a":"b"}}
    spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`
spec.manualSelector=true; spec.selector={"matchLabels":{"a":"b"}}; spec.template.metadata={"labels":{"a":"b"}}
    ...
    metadata.labels={"a": "b"}
    ~spec.manualSelector
    ~spec.selector
    ~spec.template.metadata
spec.manualSelector=true; spec.selector={"matchLabels":{"a":"b c"}}; spec.template.metadata={"labels":{"a":"b"}}
    spec.selector.matchLabels: Invalid value: "b c": <value>
spec.manualSelector=true; spec.selector={"matchExpressions":[{"key":"a","operator":"Near"}]}
    spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator
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
    spec.parallelism: Invalid value: -1: must be greater than or equal to 0
    spec.completions: Invalid value: -2: must be greater than or equal to 0
    spec.activeDeadlineSeconds: Invalid value: -3: must be greater than or equal to 0
    spec.backoffLimit: Invalid value: -4: must be greater than or equal to 0
    spec.ttlSecondsAfterFinished: Invalid value: -5: must be greater than or equal to 0
spec.completionMode="Odd"
    spec.completionMode: Unsupported value: "Odd": supported values: "NonIndexed", "Indexed"
spec.completionMode="Indexed"
    ...
    ~spec.completionMode
spec.completionMode="Indexed"; spec.parallelism=2
    spec.completions: Required value: when completion mode is Indexed
spec.backoffLimitPerIndex=1
    spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode
spec.maxFailedIndexes=1
    spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified
    spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode
spec.managedBy="me"
    spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")
spec.managedBy=""
    spec.managedBy: Required value
spec.managedBy="Acme.io/x"
    spec.managedBy: Invalid value: "Acme.io": <subdomain>
spec.managedBy="acme.io/ö"
    spec.managedBy: Invalid value: "ö": Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')
spec.managedBy="acme.io/job"
    ...
spec.managedBy="a.b/cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
    spec.managedBy: Too long: may not be more than 63 bytes
spec.podReplacementPolicy="Odd"
    spec.podReplacementPolicy: Unsupported value: "Odd": supported values: "Failed", "TerminatingOrFailed"
spec.podReplacementPolicy="Failed"
    ...
    ~spec.podReplacementPolicy
spec.suspend=true
    ...
    ~spec.suspend
spec.template.spec.restartPolicy=
    spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"
spec.template.spec.restartPolicy="Always"
    spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"
spec.template.spec.restartPolicy="Sometimes"
    spec.template.spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"
    spec.template.spec.restartPolicy: Unsupported value: "Sometimes": supported values: "OnFailure", "Never"
spec.template.spec.restartPolicy="OnFailure"
    ...
spec.template.spec.containers=
    spec.template.spec.containers: Required value
spec.template.spec={}
    spec.template.spec.containers: Required value
    spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"
spec.template.spec.containers.0.name="C"
    spec.template.spec.containers[0].name: Invalid value: "C": <label>
spec.template.spec.containers.0.image=
    spec.template.spec.containers[0].image: Required value
spec.template.spec.ephemeralContainers=[{"name":"e","image":"i"}]
    spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template
spec.template.spec.nodeSelector={"a b":"c"}; spec.parallelism=-1
    spec.parallelism: Invalid value: -1: must be greater than or equal to 0
    spec.template.spec.nodeSelector: Invalid value: "a b": <key>
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
    spec.podFailurePolicy.rules[0].action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]
spec.podFailurePolicy={"rules":[{"action":"Odd","onPodConditions":[{"type":"a b","status":"Maybe"}]}]}
    spec.podFailurePolicy.rules[0].action: Unsupported value: "Odd": supported values: "Count", "FailIndex", "FailJob", "Ignore"
    spec.podFailurePolicy.rules[0].onPodConditions[0].type: Invalid value: "a b": <key>
    spec.podFailurePolicy.rules[0].onPodConditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"
spec.podFailurePolicy={"rules":[{"action":"FailIndex","onExitCodes":{"operator":"In","values":[1]}}]}
    spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set
spec.podFailurePolicy={"rules":[{"action":"FailJob"}]}
    spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required
spec.podFailurePolicy={"rules":[{"action":"FailJob","onExitCodes":{"operator":"In","values":[1]},"onPodConditions":[{"type":"X","status":"True"}]}]}
    spec.podFailurePolicy.rules[0]: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported
spec.podFailurePolicy={"rules":[{"action":"Count","onExitCodes":{"operator":""}}]}
    spec.podFailurePolicy.rules[0].onExitCodes.operator: Required value: valid values: ["In" "NotIn"]
    spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: null: at least one value is required
spec.podFailurePolicy={"rules":[{"action":"Count","onExitCodes":{"operator":"Near","values":[3,2,2]}}]}
    spec.podFailurePolicy.rules[0].onExitCodes.operator: Unsupported value: "Near": supported values: "In", "NotIn"
    spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 2
    spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [3,2,2]: must be ordered
spec.podFailurePolicy={"rules":[{"action":"Count","onExitCodes":{"operator":"In","values":[0,1],"containerName":"x"}}]}
    spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer names in the pod template
    spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator
spec.podFailurePolicy={"rules":[{"action":"Count","onExitCodes":{"operator":"NotIn","values":[0,1],"containerName":"c"}}]}
    ...
    spec.podReplacementPolicy="Failed"
spec.podFailurePolicy={"rules":[]}; spec.podReplacementPolicy="TerminatingOrFailed"
    spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"
spec.podFailurePolicy={"rules":[]}; spec.template.spec.restartPolicy="OnFailure"
    spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified
spec.podFailurePolicy.rules=[{"action":"Count","onExitCodes":{"operator":"In","values":[1]}}]*21
    spec.podFailurePolicy.rules: Too many: 21: must have at most 20 items
spec.successPolicy={"rules":[{"succeededCount":1}]}
    spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode
spec.scheduling={}
    ...
spec.scheduling={"schedulingPolicy":{}}
    spec.scheduling.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`
spec.scheduling={"schedulingPolicy":{"basic":{}}}
    ...
spec.scheduling={"schedulingPolicy":{"basic":{},"gang":{}}}
    spec.scheduling.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`
spec.scheduling={"schedulingPolicy":{"gang":{}}}; spec.parallelism=3
    ...
    ~spec.completions
    ~spec.parallelism
spec.scheduling={"schedulingPolicy":{"gang":{"minCount":0}}}
    spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 0: must be greater than or equal to 1
spec.scheduling={"schedulingPolicy":{"gang":{"minCount":-1}}}
    spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1
spec.scheduling={"schedulingPolicy":{"gang":{"minCount":5}}}; spec.parallelism=4
    spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 5: must not be greater than parallelism (4)
spec.scheduling={"schedulingPolicy":{"gang":{"minCount":4}}}; spec.parallelism=4
    ...
    ~spec.completions
    ~spec.parallelism
spec.scheduling={"disruptionMode":{"all":{}}}
    spec.scheduling.disruptionMode: Invalid value: "": the disruptionMode `all` is not supported with the Basic scheduling policy
spec.scheduling={"disruptionMode":{"all":{}},"schedulingPolicy":{"basic":{}}}
    spec.scheduling.disruptionMode: Invalid value: "": the disruptionMode `all` is not supported with the Basic scheduling policy
spec.scheduling={"disruptionMode":{"all":{}},"schedulingPolicy":{"gang":{}}}
    ...
spec.scheduling={"disruptionMode":{}}
    spec.scheduling.disruptionMode: Invalid value: "": must specify one of: `single`, `all`
spec.scheduling={"disruptionMode":{"all":{},"single":{}},"schedulingPolicy":{"gang":{}}}
    spec.scheduling.disruptionMode: Invalid value: "{single, all}": must specify exactly one of: `single`, `all`
spec.scheduling={"schedulingConstraints":{"topology":[{"key":"a b"}]}}
    spec.scheduling.schedulingConstraints.topology[0].key: Invalid value: "a b": <key>
spec.scheduling={"schedulingConstraints":{"topology":[{"key":"a"},{"key":"b"}]}}
    spec.scheduling.schedulingConstraints.topology: Too many: 2: must have at most 1 item
spec.scheduling={"resourceClaims":[{"name":"A"},{"name":"b","resourceClaimName":"x","resourceClaimTemplateName":"y"}]}
    spec.scheduling.resourceClaims[0]: Invalid value: "": must specify one of: `resourceClaimName`, `resourceClaimTemplateName`
    spec.scheduling.resourceClaims[0].name: Invalid value: "A": <label>
    spec.scheduling.resourceClaims[1]: Invalid value: "{resourceClaimName, resourceClaimTemplateName}": must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`
spec.scheduling={"resourceClaims":[{"name":"a","resourceClaimName":"x"},{"name":"a","resourceClaimTemplateName":"y"}]}
    spec.scheduling.resourceClaims[1]: Duplicate value: {"name":"a","resourceClaimTemplateName":"y"}
spec.scheduling={"resourceClaims":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"},{"name":"e"}]}
    spec.scheduling.resourceClaims: Too many: 5: must have at most 4 items
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
    spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed
spec.backoffLimitPerIndex=2
    ...
    spec.backoffLimit=2147483647
spec.backoffLimitPerIndex=2; spec.maxFailedIndexes=5
    spec.maxFailedIndexes: Invalid value: 5: must be less than or equal to completions
spec.backoffLimitPerIndex=2; spec.maxFailedIndexes=3
    ...
    spec.backoffLimit=2147483647
spec.maxFailedIndexes=3
    spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified
spec.completions=100001; spec.backoffLimitPerIndex=2
    spec.maxFailedIndexes: Required value: must be specified when completions is above 100000
spec.completions=100001; spec.backoffLimitPerIndex=2; spec.parallelism=10001; spec.maxFailedIndexes=10001
    spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index
    spec.maxFailedIndexes: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index
spec.completions=200000; spec.backoffLimitPerIndex=2; spec.maxFailedIndexes=100001
    spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 100000
    spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index
spec.backoffLimitPerIndex=1; spec.podFailurePolicy={"rules":[{"action":"FailIndex","onExitCodes":{"operator":"In","values":[1]}}]}
    ...
    spec.backoffLimit=2147483647
    spec.podReplacementPolicy="Failed"
spec.successPolicy={}
    spec.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy is specified
spec.successPolicy={"rules":[]}
    spec.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy is specified
spec.successPolicy={"rules":[{}]}
    spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified
spec.successPolicy={"rules":[{"succeededCount":5}]}
    spec.successPolicy.rules[0].succeededCount: Invalid value: 5: must be less than or equal to 4 (the number of specified completions)
spec.successPolicy={"rules":[{"succeededCount":-1}]}
    spec.successPolicy.rules[0].succeededCount: Invalid value: -1: must be greater than or equal to 0
spec.successPolicy={"rules":[{"succeededIndexes":"0-2","succeededCount":4}]}
    spec.successPolicy.rules[0].succeededCount: Invalid value: 4: must be less than or equal to 3 (the number of indexes in the specified succeededIndexes field)
spec.successPolicy={"rules":[{"succeededIndexes":"0-2,3","succeededCount":5}]}
    spec.successPolicy.rules[0].succeededCount: Invalid value: 5: must be less than or equal to 4 (the number of specified completions)
    spec.successPolicy.rules[0].succeededCount: Invalid value: 5: must be less than or equal to 4 (the number of indexes in the specified succeededIndexes field)
spec.successPolicy={"rules":[{"succeededIndexes":"0,2-3","succeededCount":3}]}
    ...
spec.successPolicy={"rules":[{"succeededIndexes":"x"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value: "x": error parsing succeededIndexes: cannot convert string to integer for index: "x"
spec.successPolicy={"rules":[{"succeededIndexes":"2,1"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value: "2,1": error parsing succeededIndexes: non-increasing order, previous: 2, current: 1
spec.successPolicy={"rules":[{"succeededIndexes":"2,1,x"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value: "2,1,x": error parsing succeededIndexes: non-increasing order, previous: 2, current: 1
spec.successPolicy={"rules":[{"succeededIndexes":"3-1"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value: "3-1": error parsing succeededIndexes: non-increasing order, previous: 3, current: 1
spec.successPolicy={"rules":[{"succeededIndexes":"1-2-3"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value: "1-2-3": error parsing succeededIndexes: the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by '-'
spec.successPolicy={"rules":[{"succeededIndexes":"4"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value: "4": error parsing succeededIndexes: too large index: "4"
spec.successPolicy={"rules":[{"succeededIndexes":"0-4"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0-4": error parsing succeededIndexes: too large index: "4"
spec.successPolicy={"rules":[{"succeededIndexes":"0,"}]}
    spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0,": error parsing succeededIndexes: cannot convert string to integer for index: ""
spec.successPolicy={"rules":[{"succeededIndexes":""}]}
    ...
spec.successPolicy.rules=[{"succeededCount":1}]*21
    spec.successPolicy.rules: Too many: 21: must have at most 20 items
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
    spec.backoffLimit: Invalid value: -3: must be greater than or equal to 0
spec.completionMode="Indexed"
    spec.completionMode: Invalid value: "Indexed": field is immutable
spec.manualSelector=true
    metadata.generation=2
spec.selector={"matchLabels":{"job-name":"j"}}
    spec.selector: Invalid value: {"matchLabels":{"job-name":"j"}}: field is immutable
spec.managedBy="acme.io/x"
    spec.managedBy: Invalid value: "acme.io/x": field is immutable
spec.podFailurePolicy={"rules":[{"action":"Ignore","onPodConditions":[{"type":"X"}]}]}
    spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"
    spec.podFailurePolicy: Invalid value: {"Rules":[{"Action":"Ignore","OnExitCodes":null,"OnPodConditions":[{"Type":"X","Status":"True"}]}]}: field is immutable
spec.successPolicy={"rules":[{"succeededCount":1}]}
    spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode
    spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: field is immutable
spec.podReplacementPolicy="Failed"
    metadata.generation=2
spec.template.spec.containers.0.image="other"
    spec.template: Invalid value: {"labels":{"batch.kubernetes.io/controller-uid":"<uid>","batch.kubernetes.io/job-name":"j","controller-uid":"<uid>","job-name":"j"},"Spec":{"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c","Image":"other","Command":null,"Args":null,"WorkingDir":"","Ports":null,"EnvFrom":null,"Env":null,"Resources":{"Limits":null,"Requests":null,"Claims":null},"ResizePolicy":null,"RestartPolicy":null,"RestartPolicyRules":null,"VolumeMounts":null,"VolumeDevices":null,"LivenessProbe":null,"ReadinessProbe":null,"StartupProbe":null,"Lifecycle":null,"TerminationMessagePath":"/dev/termination-log","TerminationMessagePolicy":"File","ImagePullPolicy":"Always","SecurityContext":null,"Stdin":false,"StdinOnce":false,"TTY":false}],"EphemeralContainers":null,"RestartPolicy":"Never","TerminationGracePeriodSeconds":30,"ActiveDeadlineSeconds":null,"DNSPolicy":"ClusterFirst","NodeSelector":null,"ServiceAccountName":"","DeprecatedServiceAccount":"","AutomountServiceAccountToken":null,"NodeName":"","HostNetwork":false,"HostPID":false,"HostIPC":false,"ShareProcessNamespace":null,"SecurityContext":{"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"SupplementalGroups":null,"SupplementalGroupsPolicy":null,"FSGroup":null,"Sysctls":null,"FSGroupChangePolicy":null,"SeccompProfile":null,"AppArmorProfile":null,"SELinuxChangePolicy":null},"ImagePullSecrets":null,"Hostname":"","Subdomain":"","Affinity":null,"SchedulerName":"default-scheduler","Tolerations":null,"HostAliases":null,"PriorityClassName":"","Priority":null,"DNSConfig":null,"ReadinessGates":null,"RuntimeClassName":null,"EnableServiceLinks":null,"PreemptionPolicy":null,"Overhead":null,"TopologySpreadConstraints":null,"SetHostnameAsFQDN":null,"OS":null,"HostUsers":null,"SchedulingGates":null,"ResourceClaims":null,"Resources":null,"HostnameOverride":null,"SchedulingGroup":null,"EvictionResponders":null}}: field is immutable
spec.template.metadata.annotations={"a":"b"}
    spec.template: Invalid value: {"labels":{"batch.kubernetes.io/controller-uid":"<uid>","batch.kubernetes.io/job-name":"j","controller-uid":"<uid>","job-name":"j"},"annotations":{"a":"b"},"Spec":{"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c","Image":"i","Command":null,"Args":null,"WorkingDir":"","Ports":null,"EnvFrom":null,"Env":null,"Resources":{"Limits":null,"Requests":null,"Claims":null},"ResizePolicy":null,"RestartPolicy":null,"RestartPolicyRules":null,"VolumeMounts":null,"VolumeDevices":null,"LivenessProbe":null,"ReadinessProbe":null,"StartupProbe":null,"Lifecycle":null,"TerminationMessagePath":"/dev/termination-log","TerminationMessagePolicy":"File","ImagePullPolicy":"Always","SecurityContext":null,"Stdin":false,"StdinOnce":false,"TTY":false}],"EphemeralContainers":null,"RestartPolicy":"Never","TerminationGracePeriodSeconds":30,"ActiveDeadlineSeconds":null,"DNSPolicy":"ClusterFirst","NodeSelector":null,"ServiceAccountName":"","DeprecatedServiceAccount":"","AutomountServiceAccountToken":null,"NodeName":"","HostNetwork":false,"HostPID":false,"HostIPC":false,"ShareProcessNamespace":null,"SecurityContext":{"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"SupplementalGroups":null,"SupplementalGroupsPolicy":null,"FSGroup":null,"Sysctls":null,"FSGroupChangePolicy":null,"SeccompProfile":null,"AppArmorProfile":null,"SELinuxChangePolicy":null},"ImagePullSecrets":null,"Hostname":"","Subdomain":"","Affinity":null,"SchedulerName":"default-scheduler","Tolerations":null,"HostAliases":null,"PriorityClassName":"","Priority":null,"DNSConfig":null,"ReadinessGates":null,"RuntimeClassName":null,"EnableServiceLinks":null,"PreemptionPolicy":null,"Overhead":null,"TopologySpreadConstraints":null,"SetHostnameAsFQDN":null,"OS":null,"HostUsers":null,"SchedulingGates":null,"ResourceClaims":null,"Resources":null,"HostnameOverride":null,"SchedulingGroup":null,"EvictionResponders":null}}: field is immutable
spec.template.spec.nodeSelector={"a":"b"}
    spec.template: Invalid value: {"labels":{"batch.kubernetes.io/controller-uid":"<uid>","batch.kubernetes.io/job-name":"j","controller-uid":"<uid>","job-name":"j"},"Spec":{"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c","Image":"i","Command":null,"Args":null,"WorkingDir":"","Ports":null,"EnvFrom":null,"Env":null,"Resources":{"Limits":null,"Requests":null,"Claims":null},"ResizePolicy":null,"RestartPolicy":null,"RestartPolicyRules":null,"VolumeMounts":null,"VolumeDevices":null,"LivenessProbe":null,"ReadinessProbe":null,"StartupProbe":null,"Lifecycle":null,"TerminationMessagePath":"/dev/termination-log","TerminationMessagePolicy":"File","ImagePullPolicy":"Always","SecurityContext":null,"Stdin":false,"StdinOnce":false,"TTY":false}],"EphemeralContainers":null,"RestartPolicy":"Never","TerminationGracePeriodSeconds":30,"ActiveDeadlineSeconds":null,"DNSPolicy":"ClusterFirst","NodeSelector":{"a":"b"},"ServiceAccountName":"","DeprecatedServiceAccount":"","AutomountServiceAccountToken":null,"NodeName":"","HostNetwork":false,"HostPID":false,"HostIPC":false,"ShareProcessNamespace":null,"SecurityContext":{"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"SupplementalGroups":null,"SupplementalGroupsPolicy":null,"FSGroup":null,"Sysctls":null,"FSGroupChangePolicy":null,"SeccompProfile":null,"AppArmorProfile":null,"SELinuxChangePolicy":null},"ImagePullSecrets":null,"Hostname":"","Subdomain":"","Affinity":null,"SchedulerName":"default-scheduler","Tolerations":null,"HostAliases":null,"PriorityClassName":"","Priority":null,"DNSConfig":null,"ReadinessGates":null,"RuntimeClassName":null,"EnableServiceLinks":null,"PreemptionPolicy":null,"Overhead":null,"TopologySpreadConstraints":null,"SetHostnameAsFQDN":null,"OS":null,"HostUsers":null,"SchedulingGates":null,"ResourceClaims":null,"Resources":null,"HostnameOverride":null,"SchedulingGroup":null,"EvictionResponders":null}}: field is immutable
spec.template.spec={"restartPolicy":"Never","serviceAccountName":"sa","priorityClassName":"p","containers":[{"name":"c","image":"i:1","command":["a","b<c"],"env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],"ports":[{"containerPort":80}],"resources":{"limits":{"memory":"1Gi","cpu":"1"}},"livenessProbe":{"httpGet":{"port":"http"}},"volumeMounts":[{"name":"v","mountPath":"/v"}],"securityContext":{"runAsUser":1}}],"volumes":[{"name":"v","emptyDir":{}},{"name":"w","configMap":{"name":"m"}}],"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"k","labelSelector":{"matchExpressions":[{"values":["x"],"operator":"In","key":"a"}],"matchLabels":{"z":"1","b":"2"}}}]}},"tolerations":[{"operator":"Exists"}],"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"}]}
    spec.template: Invalid value: {"labels":{"batch.kubernetes.io/controller-uid":"<uid>","batch.kubernetes.io/job-name":"j","controller-uid":"<uid>","job-name":"j"},"Spec":{"Volumes":[{"Name":"v","HostPath":null,"EmptyDir":{"Medium":"","SizeLimit":null,"Mode":null},"GCEPersistentDisk":null,"AWSElasticBlockStore":null,"GitRepo":null,"Secret":null,"NFS":null,"ISCSI":null,"Glusterfs":null,"PersistentVolumeClaim":null,"RBD":null,"FlexVolume":null,"Cinder":null,"CephFS":null,"Flocker":null,"DownwardAPI":null,"FC":null,"AzureFile":null,"ConfigMap":null,"VsphereVolume":null,"Quobyte":null,"AzureDisk":null,"PhotonPersistentDisk":null,"Projected":null,"PortworxVolume":null,"ScaleIO":null,"StorageOS":null,"CSI":null,"Ephemeral":null,"Image":null},{"Name":"w","HostPath":null,"EmptyDir":null,"GCEPersistentDisk":null,"AWSElasticBlockStore":null,"GitRepo":null,"Secret":null,"NFS":null,"ISCSI":null,"Glusterfs":null,"PersistentVolumeClaim":null,"RBD":null,"FlexVolume":null,"Cinder":null,"CephFS":null,"Flocker":null,"DownwardAPI":null,"FC":null,"AzureFile":null,"ConfigMap":{"Name":"m","Items":null,"DefaultMode":420,"Optional":null,"DefaultUser":null},"VsphereVolume":null,"Quobyte":null,"AzureDisk":null,"PhotonPersistentDisk":null,"Projected":null,"PortworxVolume":null,"ScaleIO":null,"StorageOS":null,"CSI":null,"Ephemeral":null,"Image":null}],"InitContainers":null,"Containers":[{"Name":"c","Image":"i:1","Command":["a","b\u003cc"],"Args":null,"WorkingDir":"","Ports":[{"Name":"","HostPort":0,"ContainerPort":80,"Protocol":"TCP","HostIP":""}],"EnvFrom":null,"Env":[{"Name":"A","Value":"1","ValueFrom":null},{"Name":"B","Value":"","ValueFrom":{"FieldRef":{"APIVersion":"v1","FieldPath":"metadata.name"},"ResourceFieldRef":null,"ConfigMapKeyRef":null,"SecretKeyRef":null,"FileKeyRef":null}}],"Resources":{"Limits":{"cpu":"1","memory":"1Gi"},"Requests":null,"Claims":null},"ResizePolicy":null,"RestartPolicy":null,"RestartPolicyRules":null,"VolumeMounts":[{"Name":"v","ReadOnly":false,"RecursiveReadOnly":null,"MountPath":"/v","SubPath":"","MountPropagation":null,"SubPathExpr":"","BindMountOptions":null}],"VolumeDevices":null,"LivenessProbe":{"Exec":null,"HTTPGet":{"Path":"/","Port":"http","Host":"","Scheme":"HTTP","HTTPHeaders":null,"Protocol":null},"TCPSocket":null,"GRPC":null,"InitialDelaySeconds":0,"TimeoutSeconds":1,"PeriodSeconds":10,"SuccessThreshold":1,"FailureThreshold":3,"TerminationGracePeriodSeconds":null},"ReadinessProbe":null,"StartupProbe":null,"Lifecycle":null,"TerminationMessagePath":"/dev/termination-log","TerminationMessagePolicy":"File","ImagePullPolicy":"IfNotPresent","SecurityContext":{"Capabilities":null,"Privileged":null,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":1,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":null,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null},"Stdin":false,"StdinOnce":false,"TTY":false}],"EphemeralContainers":null,"RestartPolicy":"Never","TerminationGracePeriodSeconds":30,"ActiveDeadlineSeconds":null,"DNSPolicy":"ClusterFirst","NodeSelector":null,"ServiceAccountName":"sa","DeprecatedServiceAccount":"sa","AutomountServiceAccountToken":null,"NodeName":"","HostNetwork":false,"HostPID":false,"HostIPC":false,"ShareProcessNamespace":null,"SecurityContext":{"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"SupplementalGroups":null,"SupplementalGroupsPolicy":null,"FSGroup":null,"Sysctls":null,"FSGroupChangePolicy":null,"SeccompProfile":null,"AppArmorProfile":null,"SELinuxChangePolicy":null},"ImagePullSecrets":null,"Hostname":"","Subdomain":"","Affinity":{"NodeAffinity":null,"PodAffinity":null,"PodAntiAffinity":{"RequiredDuringSchedulingIgnoredDuringExecution":[{"LabelSelector":{"matchLabels":{"b":"2","z":"1"},"matchExpressions":[{"key":"a","operator":"In","values":["x"]}]},"Namespaces":null,"TopologyKey":"k","NamespaceSelector":null,"MatchLabelKeys":null,"MismatchLabelKeys":null}],"PreferredDuringSchedulingIgnoredDuringExecution":null}},"SchedulerName":"default-scheduler","Tolerations":[{"Key":"","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":null}],"HostAliases":null,"PriorityClassName":"p","Priority":null,"DNSConfig":null,"ReadinessGates":null,"RuntimeClassName":null,"EnableServiceLinks":null,"PreemptionPolicy":null,"Overhead":null,"TopologySpreadConstraints":[{"MaxSkew":1,"TopologyKey":"z","WhenUnsatisfiable":"DoNotSchedule","LabelSelector":null,"MinDomains":null,"NodeAffinityPolicy":null,"NodeTaintsPolicy":null,"MatchLabelKeys":null}],"SetHostnameAsFQDN":null,"OS":null,"HostUsers":null,"SchedulingGates":null,"ResourceClaims":null,"Resources":null,"HostnameOverride":null,"SchedulingGroup":null,"EvictionResponders":null}}: field is immutable
spec.scheduling={"schedulingPolicy":{"basic":{}}}
    spec.scheduling: Invalid value: null: field cannot be set once created
metadata.labels=
    metadata.labels={"batch.kubernetes.io/controller-uid": "<uid>", "batch.kubernetes.io/job-name": "j", "controller-uid": "<uid>", "job-name": "j"}
metadata.labels={"a":"b c"}; spec.parallelism=-1
    metadata.labels: Invalid value: "b c": <value>
    spec.parallelism: Invalid value: -1: must be greater than or equal to 0
status={"active":1}
    status.active=
"""  # noqa: E501

CHANGED_INDEXED = r"""
-
spec.completions=2; spec.parallelism=2
    metadata.generation=2
spec.completions=5
    spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism
spec.completions=
    spec.completions: Required value: when completion mode is Indexed
spec.backoffLimitPerIndex=2
    spec.backoffLimitPerIndex: Invalid value: 2: field is immutable
spec.backoffLimitPerIndex=
    spec.backoffLimitPerIndex: Invalid value: null: field is immutable
spec.maxFailedIndexes=1
    metadata.generation=2
spec.completionMode="NonIndexed"
    spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode
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
    spec.template.spec: Invalid value: {"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c","Image":"i","Command":null,"Args":null,"WorkingDir":"","Ports":null,"EnvFrom":null,"Env":null,"Resources":{"Limits":null,"Requests":null,"Claims":null},"ResizePolicy":null,"RestartPolicy":null,"RestartPolicyRules":null,"VolumeMounts":null,"VolumeDevices":null,"LivenessProbe":null,"ReadinessProbe":null,"StartupProbe":null,"Lifecycle":null,"TerminationMessagePath":"/dev/termination-log","TerminationMessagePolicy":"File","ImagePullPolicy":"Always","SecurityContext":null,"Stdin":false,"StdinOnce":false,"TTY":false}],"EphemeralContainers":null,"RestartPolicy":"Never","TerminationGracePeriodSeconds":30,"ActiveDeadlineSeconds":null,"DNSPolicy":"ClusterFirst","NodeSelector":null,"ServiceAccountName":"","DeprecatedServiceAccount":"","AutomountServiceAccountToken":null,"NodeName":"","HostNetwork":false,"HostPID":false,"HostIPC":false,"ShareProcessNamespace":null,"SecurityContext":{"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"SupplementalGroups":null,"SupplementalGroupsPolicy":null,"FSGroup":null,"Sysctls":null,"FSGroupChangePolicy":null,"SeccompProfile":null,"AppArmorProfile":null,"SELinuxChangePolicy":null},"ImagePullSecrets":null,"Hostname":"","Subdomain":"","Affinity":{"NodeAffinity":null,"PodAffinity":{"RequiredDuringSchedulingIgnoredDuringExecution":[{"LabelSelector":null,"Namespaces":null,"TopologyKey":"k","NamespaceSelector":null,"MatchLabelKeys":null,"MismatchLabelKeys":null}],"PreferredDuringSchedulingIgnoredDuringExecution":null},"PodAntiAffinity":null},"SchedulerName":"default-scheduler","Tolerations":null,"HostAliases":null,"PriorityClassName":"","Priority":null,"DNSConfig":null,"ReadinessGates":null,"RuntimeClassName":null,"EnableServiceLinks":null,"PreemptionPolicy":null,"Overhead":null,"TopologySpreadConstraints":null,"SetHostnameAsFQDN":null,"OS":null,"HostUsers":null,"SchedulingGates":null,"ResourceClaims":null,"Resources":null,"HostnameOverride":null,"SchedulingGroup":null,"EvictionResponders":null}: field is immutable
spec.template.metadata.labels.a="b"
    metadata.generation=2
spec.template.metadata.annotations={"a":"b"}
    metadata.generation=2
spec.template.spec.containers.0.resources={"requests":{"cpu":"1"}}
    metadata.generation=2
spec.template.spec.containers.0.image="other"
    spec.template.spec: Invalid value: {"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c","Image":"other","Command":null,"Args":null,"WorkingDir":"","Ports":null,"EnvFrom":null,"Env":null,"Resources":{"Limits":null,"Requests":null,"Claims":null},"ResizePolicy":null,"RestartPolicy":null,"RestartPolicyRules":null,"VolumeMounts":null,"VolumeDevices":null,"LivenessProbe":null,"ReadinessProbe":null,"StartupProbe":null,"Lifecycle":null,"TerminationMessagePath":"/dev/termination-log","TerminationMessagePolicy":"File","ImagePullPolicy":"Always","SecurityContext":null,"Stdin":false,"StdinOnce":false,"TTY":false}],"EphemeralContainers":null,"RestartPolicy":"Never","TerminationGracePeriodSeconds":30,"ActiveDeadlineSeconds":null,"DNSPolicy":"ClusterFirst","NodeSelector":null,"ServiceAccountName":"","DeprecatedServiceAccount":"","AutomountServiceAccountToken":null,"NodeName":"","HostNetwork":false,"HostPID":false,"HostIPC":false,"ShareProcessNamespace":null,"SecurityContext":{"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"SupplementalGroups":null,"SupplementalGroupsPolicy":null,"FSGroup":null,"Sysctls":null,"FSGroupChangePolicy":null,"SeccompProfile":null,"AppArmorProfile":null,"SELinuxChangePolicy":null},"ImagePullSecrets":null,"Hostname":"","Subdomain":"","Affinity":null,"SchedulerName":"default-scheduler","Tolerations":null,"HostAliases":null,"PriorityClassName":"","Priority":null,"DNSConfig":null,"ReadinessGates":null,"RuntimeClassName":null,"EnableServiceLinks":null,"PreemptionPolicy":null,"Overhead":null,"TopologySpreadConstraints":null,"SetHostnameAsFQDN":null,"OS":null,"HostUsers":null,"SchedulingGates":null,"ResourceClaims":null,"Resources":null,"HostnameOverride":null,"SchedulingGroup":null,"EvictionResponders":null}: field is immutable
spec.template.spec.containers.1={"name":"d","image":"i"}
    spec.template.spec: Invalid value: {"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c","Image":"i","Command":null,"Args":null,"WorkingDir":"","Ports":null,"EnvFrom":null,"Env":null,"Resources":{"Limits":null,"Requests":null,"Claims":null},"ResizePolicy":null,"RestartPolicy":null,"RestartPolicyRules":null,"VolumeMounts":null,"VolumeDevices":null,"LivenessProbe":null,"ReadinessProbe":null,"StartupProbe":null,"Lifecycle":null,"TerminationMessagePath":"/dev/termination-log","TerminationMessagePolicy":"File","ImagePullPolicy":"Always","SecurityContext":null,"Stdin":false,"StdinOnce":false,"TTY":false},{"Name":"d","Image":"i","Command":null,"Args":null,"WorkingDir":"","Ports":null,"EnvFrom":null,"Env":null,"Resources":{"Limits":null,"Requests":null,"Claims":null},"ResizePolicy":null,"RestartPolicy":null,"RestartPolicyRules":null,"VolumeMounts":null,"VolumeDevices":null,"LivenessProbe":null,"ReadinessProbe":null,"StartupProbe":null,"Lifecycle":null,"TerminationMessagePath":"/dev/termination-log","TerminationMessagePolicy":"File","ImagePullPolicy":"Always","SecurityContext":null,"Stdin":false,"StdinOnce":false,"TTY":false}],"EphemeralContainers":null,"RestartPolicy":"Never","TerminationGracePeriodSeconds":30,"ActiveDeadlineSeconds":null,"DNSPolicy":"ClusterFirst","NodeSelector":null,"ServiceAccountName":"","DeprecatedServiceAccount":"","AutomountServiceAccountToken":null,"NodeName":"","HostNetwork":false,"HostPID":false,"HostIPC":false,"ShareProcessNamespace":null,"SecurityContext":{"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"SupplementalGroups":null,"SupplementalGroupsPolicy":null,"FSGroup":null,"Sysctls":null,"FSGroupChangePolicy":null,"SeccompProfile":null,"AppArmorProfile":null,"SELinuxChangePolicy":null},"ImagePullSecrets":null,"Hostname":"","Subdomain":"","Affinity":null,"SchedulerName":"default-scheduler","Tolerations":null,"HostAliases":null,"PriorityClassName":"","Priority":null,"DNSConfig":null,"ReadinessGates":null,"RuntimeClassName":null,"EnableServiceLinks":null,"PreemptionPolicy":null,"Overhead":null,"TopologySpreadConstraints":null,"SetHostnameAsFQDN":null,"OS":null,"HostUsers":null,"SchedulingGates":null,"ResourceClaims":null,"Resources":null,"HostnameOverride":null,"SchedulingGroup":null,"EvictionResponders":null}: field is immutable
spec.template.spec.priorityClassName="x"
    spec.template.spec: Invalid value: {"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c","Image":"i","Command":null,"Args":null,"WorkingDir":"","Ports":null,"EnvFrom":null,"Env":null,"Resources":{"Limits":null,"Requests":null,"Claims":null},"ResizePolicy":null,"RestartPolicy":null,"RestartPolicyRules":null,"VolumeMounts":null,"VolumeDevices":null,"LivenessProbe":null,"ReadinessProbe":null,"StartupProbe":null,"Lifecycle":null,"TerminationMessagePath":"/dev/termination-log","TerminationMessagePolicy":"File","ImagePullPolicy":"Always","SecurityContext":null,"Stdin":false,"StdinOnce":false,"TTY":false}],"EphemeralContainers":null,"RestartPolicy":"Never","TerminationGracePeriodSeconds":30,"ActiveDeadlineSeconds":null,"DNSPolicy":"ClusterFirst","NodeSelector":null,"ServiceAccountName":"","DeprecatedServiceAccount":"","AutomountServiceAccountToken":null,"NodeName":"","HostNetwork":false,"HostPID":false,"HostIPC":false,"ShareProcessNamespace":null,"SecurityContext":{"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"SupplementalGroups":null,"SupplementalGroupsPolicy":null,"FSGroup":null,"Sysctls":null,"FSGroupChangePolicy":null,"SeccompProfile":null,"AppArmorProfile":null,"SELinuxChangePolicy":null},"ImagePullSecrets":null,"Hostname":"","Subdomain":"","Affinity":null,"SchedulerName":"default-scheduler","Tolerations":null,"HostAliases":null,"PriorityClassName":"x","Priority":null,"DNSConfig":null,"ReadinessGates":null,"RuntimeClassName":null,"EnableServiceLinks":null,"PreemptionPolicy":null,"Overhead":null,"TopologySpreadConstraints":null,"SetHostnameAsFQDN":null,"OS":null,"HostUsers":null,"SchedulingGates":null,"ResourceClaims":null,"Resources":null,"HostnameOverride":null,"SchedulingGroup":null,"EvictionResponders":null}: field is immutable
"""  # noqa: E501

CHANGED_GANG = r"""
-
spec.scheduling=
    spec.scheduling: Invalid value: null: field cannot be cleared once set
spec.scheduling={}
    spec.scheduling.schedulingPolicy: Invalid value: null: field cannot be cleared once set
spec.scheduling={"schedulingPolicy":{"gang":{"minCount":4}}}
    metadata.generation=2
spec.scheduling={"schedulingPolicy":{"gang":{"minCount":5}}}
    spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 5: must not be greater than parallelism (4)
spec.scheduling={"schedulingPolicy":{"gang":{"minCount":0}}}
    spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 0: must be greater than or equal to 1
spec.scheduling={"schedulingPolicy":{"gang":{}}}
    metadata.generation=2
spec.scheduling={"schedulingPolicy":{"basic":{}}}
    spec.scheduling.schedulingPolicy: Invalid value: null: the basic/gang policy variant is immutable after creation; only schedulingPolicy.gang.minCount may be updated
spec.scheduling={"schedulingPolicy":{}}
    spec.scheduling.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`
spec.scheduling.disruptionMode={"all":{}}
    spec.scheduling.disruptionMode: Invalid value: null: field is immutable
spec.scheduling.schedulingConstraints={"topology":[{"key":"a"}]}
    spec.scheduling.schedulingConstraints: Invalid value: null: field is immutable
spec.scheduling.resourceClaims=[{"name":"a","resourceClaimName":"b"}]
    spec.scheduling.resourceClaims: Invalid value: null: field is immutable
spec.parallelism=2
    spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 3: must not be greater than parallelism (2)
spec.parallelism=2; spec.scheduling={"schedulingPolicy":{"gang":{"minCount":2}}}
    metadata.generation=2
"""  # noqa: E501

STATUS = r"""
-
status.active=2; status.ready=1
status.active=0; status.ready=1
    status.ready: Invalid value: 1: cannot set more ready pods than active
status.active=-1; status.failed=-1; status.succeeded=-1; status.ready=-1; status.terminating=-1
    status.active: Invalid value: -1: must be greater than or equal to 0
    status.succeeded: Invalid value: -1: must be greater than or equal to 0
    status.failed: Invalid value: -1: must be greater than or equal to 0
    status.ready: Invalid value: -1: must be greater than or equal to 0
    status.terminating: Invalid value: -1: must be greater than or equal to 0
    status.failed: Invalid value: -1: cannot decrease the failed counter
    status.succeeded: Invalid value: -1: cannot decrease the succeeded counter
status.failed=1
    status.failed: Invalid value: 1: cannot decrease the failed counter
status.succeeded=0
    status.succeeded: Invalid value: 0: cannot decrease the succeeded counter
status.startTime="2026-01-01T00:00:05Z"
    status.startTime: Invalid value: "2026-01-01T00:00:05Z": field is immutable for unsuspended job once set
status.startTime=
    status.startTime: Invalid value: null: field is immutable for unsuspended job once set
status.completionTime="2026-01-01T00:01:00Z"
    status.completionTime: Invalid value: "2026-01-01T00:01:00Z": cannot set completionTime when there is no Complete=True condition
status.completedIndexes="0"
    status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode
status.failedIndexes="0"
    status.failedIndexes: Invalid value: "0": cannot set non-null failedIndexes when backoffLimitPerIndex is null
status.uncountedTerminatedPods={"succeeded":["a","a",""],"failed":["a","b"]}
    status.uncountedTerminatedPods.succeeded[1]: Duplicate value: "a"
    status.uncountedTerminatedPods.succeeded[2]: Invalid value: "": must not be empty
    status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"
status.conditions=[{"type":"Failed","status":"True"}]; status.active=0
    status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition
status.conditions=[{"type":"Failed","status":"True"},{"type":"FailureTarget","status":"True"}]
    status.active: Invalid value: 1: active>0 is invalid for finished job
status.conditions=[{"type":"Failed","status":"True"},{"type":"FailureTarget","status":"True"}]; status.active=0
    status.active=
    status.conditions.0.lastProbeTime=null
    status.conditions.0.lastTransitionTime=null
    status.conditions.1.lastProbeTime=null
    status.conditions.1.lastTransitionTime=null
status.conditions=[{"type":"Failed","status":"True"},{"type":"FailureTarget","status":"True"}]; status.active=0; status.terminating=1; status.uncountedTerminatedPods={"succeeded":["a"]}
    status.uncountedTerminatedPods: Invalid value: {"Succeeded":["a"],"Failed":null}: must be empty for finished job
    status.terminating: Invalid value: 1: terminating>0 is invalid for finished job
status.conditions=[{"type":"Complete","status":"True"}]; status.active=0
    status.completionTime: Required value: completionTime is required for Complete jobs
    status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition
status.conditions=[{"type":"Complete","status":"True"},{"type":"SuccessCriteriaMet","status":"True"}]; status.active=0; status.completionTime="2025-01-01T00:00:00Z"
    status.completionTime: Invalid value: "2025-01-01T00:00:00Z": must be equal to or after `startTime`
status.conditions=[{"type":"Complete","status":"True"},{"type":"SuccessCriteriaMet","status":"True"}]; status.active=0; status.completionTime="2026-01-01T00:00:00Z"
    status.active=
    status.conditions.0.lastProbeTime=null
    status.conditions.0.lastTransitionTime=null
    status.conditions.1.lastProbeTime=null
    status.conditions.1.lastTransitionTime=null
status.conditions=[{"type":"Complete","status":"True"},{"type":"Failed","status":"True"},{"type":"FailureTarget","status":"True"},{"type":"SuccessCriteriaMet","status":"True"}]; status.active=0; status.startTime=
    status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions
    status.conditions: Invalid value: cannot set Complete=True and FailureTarget=true conditions
    status.completionTime: Required value: completionTime is required for Complete jobs
    status.startTime: Required value: startTime is required for finished job
    status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and Failed=true conditions
    status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions
    status.startTime: Invalid value: null: field is immutable for unsuspended job once set
spec.parallelism=9; status.active=3
    spec.parallelism=1
metadata.labels={"a":"b c"}; status.failed=0
    metadata.labels: Invalid value: "b c": <value>
    status.failed: Invalid value: 0: cannot decrease the failed counter
"""  # noqa: E501

STATUS_DONE = r"""
-
status.conditions=
    status.completionTime: Invalid value: "2026-01-01T00:01:00Z": cannot set completionTime when there is no Complete=True condition
    status.conditions: Invalid value: cannot disable the terminal Complete=True condition
    status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition
status.conditions=; status.completionTime=
    status.conditions: Invalid value: cannot disable the terminal Complete=True condition
    status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition
status.completionTime=
    status.completionTime: Required value: completionTime is required for Complete jobs
status.completionTime="2026-01-01T00:02:00Z"
    status.completionTime: Invalid value: "2026-01-01T00:02:00Z": field is immutable
status.startTime="2026-01-01T00:00:01Z"
    status.startTime: Invalid value: "2026-01-01T00:00:01Z": field is immutable for unsuspended job once set
status.active=1
    status.active: Invalid value: 1: active>0 is invalid for finished job
status.conditions.1.type="Failed"
    status.completionTime: Invalid value: "2026-01-01T00:01:00Z": cannot set completionTime when there is no Complete=True condition
    status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition
    status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and Failed=true conditions
    status.conditions: Invalid value: cannot disable the terminal Complete=True condition
status.uncountedTerminatedPods={"failed":["x"]}
    status.uncountedTerminatedPods: Invalid value: {"Succeeded":null,"Failed":["x"]}: must be empty for finished job
"""  # noqa: E501

STATUS_INDEXED = r"""
status.completedIndexes="0,2"; status.failedIndexes="1"
status.completedIndexes="0-2"; status.failedIndexes="2-3"
    status.failedIndexes: Invalid value: "2-3": failedIndexes and completedIndexes overlap at index: 2
status.completedIndexes="1-3"; status.failedIndexes="0,2"
    status.failedIndexes: Invalid value: "0,2": failedIndexes and completedIndexes overlap at index: 2
status.completedIndexes="9"
    status.completedIndexes: Invalid value: "9": error parsing completedIndexes: too large index: "9"
status.completedIndexes="x"; status.failedIndexes="y"
    status.completedIndexes: Invalid value: "x": error parsing completedIndexes: cannot convert string to integer for index: "x"
    status.failedIndexes: Invalid value: "y": error parsing failedIndexes: cannot convert string to integer for index: "y"
status.failedIndexes="2,1"
    status.failedIndexes: Invalid value: "2,1": error parsing failedIndexes: non-increasing order, previous: 2, current: 1
status.failedIndexes=""
"""  # noqa: E501


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
