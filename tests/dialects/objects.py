"""Objects of the kinds in deploy/dialects, good and bad, with the words in which API servers refuse the bad ones.

Words are those of Kubernetes where it had the kind, as far as a definition can say them.
"""

from typing import NamedTuple

FIXED = "field is immutable"
LONG = "n" * 64
_NONE_SET, _SEVERAL_SET = "must specify one of: `basic`, `gang`", "but multiple fields are set"
_NOT = "must not validate the schema (not)"
_AT_LEAST_1, _ITEMS = "should be greater than or equal to 1", "should have at least 1 items"


class Good(NamedTuple):
    dialect: str
    kind: str
    spec: dict
    before: dict | None = None
    """What stood there, if this is a change."""


class Bad(NamedTuple):
    dialect: str
    kind: str
    spec: dict
    words: str
    before: dict | None = None
    name: str = ""


def _subsets(*minimums, **more):
    return {"subsets": [{"name": name, "minMember": least} for name, least in minimums], **more}


def _subset(**subset):
    return {"subsets": [{"name": "workers", "minMember": 1} | subset]}


def _workload(*groups, **more):
    return {"podGroups": list(groups), **more}


def _group(name="workers", count=4, **more):
    return {"name": name, "policy": {"gang": {"minCount": count}}, **more}


def _policy(**policy):
    return _workload({"name": "workers", "policy": policy})


def _gang(count=4, **more):
    return {"schedulingPolicy": {"gang": {"minCount": count}}, **more}


def _templates(*templates, **more):
    return {"podGroupTemplates": list(templates), **more}


def _template(name="workers", count=4, **more):
    return {"name": name, **_gang(count), **more}


def _draft(*groups, **more):
    return {"podGroups": list(groups), **more}


def _one(**group):
    return _draft({"name": "workers", **group})


def _selecting(*selectors):
    groups = [{"name": f"g{n}", "podGroupSelector": selector} for n, selector in enumerate(selectors)]
    return _draft(*groups)


def _labels(**labels):
    return {"selector": {"matchLabels": labels}}


_JOB = {"apiGroup": "batch", "kind": "Job", "name": "train"}
_REF = {"workload": {"workloadName": "train", "podGroupTemplateName": "workers"}}
_CLAIM = {"name": "gpus", "resourceClaimName": "shared"}
_KEY = {"fieldPath": "metadata.labels['leaderworkerset.sigs.k8s.io/group-index']"}

_CONDITION = {
    "type": "PodGroupScheduled",
    "status": "False",
    "observedGeneration": 1,
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "reason": "Unschedulable",
    "message": "1 of 2 members exist, 1 more must be created",
}
_COUNTS = {"name": "leader", "total": 4, "scheduledAvailable": 2, "scheduledUnavailable": 1, "running": 1}

STATUSES = {
    "subsets": {"conditions": [_CONDITION | {"lastUpdateTime": "2026-01-01T00:00:01Z"}], "subsets": [_COUNTS]},
    "v1alpha2": {"conditions": [_CONDITION], "resourceClaimStatuses": [{"name": "gpus", "resourceClaimName": "x"}]},
    "coscheduling": {
        "phase": "Scheduling",
        "occupiedBy": "default/train",
        "running": 1,
        "succeeded": 2,
        "failed": 3,
        "scheduleStartTime": "2026-01-01T00:00:00Z",
    },
    "volcano": {"phase": "Inqueue", "running": 1, "succeeded": 2, "failed": 3, "conditions": [{"type": "Scheduled"}]},
    "kai": {"phase": "Running", "running": 1, "schedulingConditions": [{"type": "UnschedulableOnNodePool"}]},
}
"""All that is said of PodGroups, by dialect."""

GOOD = [
    Good("subsets", "PodGroup", _subsets(("", 3))),
    Good("subsets", "PodGroup", {"subsets": [{"minMember": 3}]}),
    Good("subsets", "PodGroup", _subsets(("leader", 1), ("worker", 3), scheduleTimeoutSeconds=60)),
    Good("subsets", "PodGroup", _subsets(("leader", 2), ("worker", 3)), _subsets(("leader", 1))),
    Good("coscheduling", "PodGroup", {}),
    Good("coscheduling", "PodGroup", {"minMember": 4, "scheduleTimeoutSeconds": 0}),
    Good("coscheduling", "PodGroup", {"minMember": 4, "minResources": {"cpu": 4, "memory": "1Gi", "x.y/gpu": "8"}}),
    Good("v1alpha1", "Workload", _workload(_group())),
    Good("v1alpha1", "Workload", _workload(*(_group(f"g{n}") for n in range(8)), controllerRef=_JOB)),
    Good("v1alpha1", "Workload", _policy(basic={"desiredCount": 8})),
    Good("v1alpha1", "Workload", _workload(_group(), controllerRef=_JOB), _workload(_group())),
    Good("v1alpha2", "PodGroup", _gang(podGroupTemplateRef=_REF, disruptionMode="PodGroup", priority=-5)),
    Good("v1alpha2", "PodGroup", {"policy": {"basic": {}}, "podGroupTemplateRef": _REF["workload"]}),
    Good("v1alpha2", "PodGroup", _gang(schedulingConstraints={"topology": [{"key": "rack"}]}, resourceClaims=[_CLAIM])),
    Good("v1alpha2", "Workload", _templates(_template(priority=7), _template("leader", 1), controllerRef=_JOB)),
    Good("v1alpha2", "Workload", _templates({"name": "workers", "policy": {"gang": {"minCount": 2}}})),
    Good("draft", "Workload", _one(minCount=100, schedulingTimeoutSeconds=60)),
    Good("draft", "Workload", _one(gangMode="Off")),
    Good("draft", "Workload", _one(gangMode="Replicated", replicatedGangKey=_KEY, replicas=3, minCount=4)),
    Good("draft", "Workload", {"gangGroups": [{"name": "workers", "minCount": 2}], "controllerRef": _JOB}),
    Good("draft", "Workload", _selecting({"jobset.sigs.k8s.io/name": "a"}, {"jobset.sigs.k8s.io/name": "b"})),
    Good(
        "draft", "Workload", _selecting(_labels(app="x", job="a"), _labels(app="x", job="b"), _labels(app="x", job="c"))
    ),
    Good("draft", "Workload", _one(minCount=2), _one(minCount=1)),
    Good("volcano", "PodGroup", {"minMember": 0, "minTaskMember": {"ps": 1}, "networkTopology": {"mode": "hard"}}),
    Good("kai", "PodGroup", {"minMember": 4, "queue": "team", "subGroups": [{"name": "a", "minMember": 2}]}),
]

BAD = [
    # --- subsets ---
    Bad("subsets", "PodGroup", {}, "spec.subsets: Required value"),
    Bad("subsets", "PodGroup", _subsets(), _ITEMS),
    Bad("subsets", "PodGroup", {"subsets": [{"name": "workers"}]}, "spec.subsets[0].minMember: Required value"),
    Bad("subsets", "PodGroup", _subset(minMember=0), _AT_LEAST_1),
    Bad("subsets", "PodGroup", _subset(minMember=-1), _AT_LEAST_1),
    Bad("subsets", "PodGroup", _subset(minMember="3"), "spec.subsets[0].minMember in body must be of type integer"),
    Bad("subsets", "PodGroup", _subset(minMember=2**31), "must be of type integer with format int32"),
    Bad("subsets", "PodGroup", _subsets(("", 1), ("", 2)), "Duplicate value"),
    Bad(
        "subsets",
        "PodGroup",
        _subsets(("leader", 1), ("", 2)),
        "name is optional only if there is one subset",
    ),
    Bad("subsets", "PodGroup", _subsets(("worker", 1), ("worker", 2)), 'Duplicate value: {"name":"worker"}'),
    Bad("subsets", "PodGroup", _subset(name="Workers"), "spec.subsets[0].name: Invalid value"),
    Bad("subsets", "PodGroup", _subset(name="a.b"), "spec.subsets[0].name: Invalid value"),
    Bad("subsets", "PodGroup", _subset(name=LONG), "spec.subsets[0].name: Too long: may not be more than 63 bytes"),
    Bad("subsets", "PodGroup", _subsets(("a", 1), scheduleTimeoutSeconds=0), _AT_LEAST_1),
    Bad("subsets", "PodGroup", _subsets(("a", 1), scheduleTimeoutSeconds=-5), _AT_LEAST_1),
    Bad("subsets", "PodGroup", _subsets(("a", 1), scheduleTimeoutSeconds="60"), "must be of type integer"),
    Bad("subsets", "PodGroup", _subsets(*((f"s{n}", 1) for n in range(65))), "must have at most 64 items"),
    Bad("subsets", "PodGroup", _subsets(("a", 1), minMember=4), 'unknown field "spec.minMember"'),
    Bad("subsets", "PodGroup", {"subsets": "all"}, "spec.subsets in body must be of type array"),
    Bad("subsets", "PodGroup", _subsets(("a", 1)), "metadata.name: Too long", name=LONG),
    # --- coscheduling ---
    Bad("coscheduling", "PodGroup", {"minMember": 0}, _AT_LEAST_1),
    Bad("coscheduling", "PodGroup", {"minMember": -3}, _AT_LEAST_1),
    Bad("coscheduling", "PodGroup", {"minMember": "4"}, "spec.minMember in body must be of type integer"),
    Bad("coscheduling", "PodGroup", {"minMember": 1.5}, "spec.minMember"),
    Bad("coscheduling", "PodGroup", {"minResources": {"cpu": "much"}}, "spec.minResources.cpu in body should match"),
    Bad("coscheduling", "PodGroup", {"minResources": ["cpu"]}, "spec.minResources in body must be of type object"),
    Bad("coscheduling", "PodGroup", {"scheduleTimeoutSeconds": "60"}, "must be of type integer"),
    Bad("coscheduling", "PodGroup", {"subsets": []}, 'unknown field "spec.subsets"'),
    # --- Workload of 1.35 ---
    Bad("v1alpha1", "Workload", {}, "spec.podGroups: Required value"),
    Bad("v1alpha1", "Workload", _workload(), "spec.podGroups: Required value: must have at least one item"),
    Bad(
        "v1alpha1",
        "Workload",
        _workload(*(_group(f"g{n}") for n in range(9))),
        "spec.podGroups: Too many: 9: must have at most 8 items",
    ),
    Bad("v1alpha1", "Workload", _workload(_group(), _group()), "spec.podGroups[1]: Duplicate value"),
    Bad("v1alpha1", "Workload", _workload({"policy": {"basic": {}}}), "spec.podGroups[0].name: Required value"),
    Bad("v1alpha1", "Workload", _workload(_group("")), "spec.podGroups[0].name: Invalid value"),
    Bad("v1alpha1", "Workload", _workload(_group("a.b")), "spec.podGroups[0].name: Invalid value"),
    Bad("v1alpha1", "Workload", _workload(_group(LONG)), "spec.podGroups[0].name: Too long"),
    Bad("v1alpha1", "Workload", _workload({"name": "workers"}), "spec.podGroups[0].policy: Required value"),
    Bad("v1alpha1", "Workload", _policy(), _NONE_SET),
    Bad("v1alpha1", "Workload", _policy(basic={}, gang={"minCount": 1}), _SEVERAL_SET),
    Bad("v1alpha1", "Workload", _policy(gang={}), "spec.podGroups[0].policy.gang.minCount: Required value"),
    Bad("v1alpha1", "Workload", _policy(gang={"minCount": 0}), _AT_LEAST_1),
    Bad("v1alpha1", "Workload", _policy(gang={"minCount": -1}), _AT_LEAST_1),
    Bad("v1alpha1", "Workload", _policy(gang={"minCount": "all"}), "must be of type integer"),
    Bad("v1alpha1", "Workload", _policy(basic={"desiredCount": 0}), _AT_LEAST_1),
    Bad(
        "v1alpha1",
        "Workload",
        _policy(basic={"minCount": 2}),
        'unknown field "spec.podGroups[0].policy.basic.minCount"',
    ),
    Bad(
        "v1alpha1",
        "Workload",
        _workload(_group(), controllerRef={"name": "train"}),
        "spec.controllerRef.kind: Required value",
    ),
    Bad(
        "v1alpha1",
        "Workload",
        _workload(_group(), controllerRef={"kind": "Job"}),
        "spec.controllerRef.name: Required value",
    ),
    Bad(
        "v1alpha1",
        "Workload",
        _workload(_group(), controllerRef=_JOB | {"kind": ".."}),
        "spec.controllerRef.kind: Invalid value",
    ),
    Bad(
        "v1alpha1",
        "Workload",
        _workload(_group(), controllerRef=_JOB | {"name": "a/b"}),
        "spec.controllerRef.name: Invalid value",
    ),
    Bad(
        "v1alpha1",
        "Workload",
        _workload(_group(), controllerRef=_JOB | {"apiGroup": "Batch!"}),
        "spec.controllerRef.apiGroup: Invalid value",
    ),
    Bad("v1alpha1", "Workload", _workload(_group()), "metadata.name: Too long", name=LONG),
    Bad("v1alpha1", "Workload", _workload(_group(count=9)), FIXED, before=_workload(_group())),
    Bad("v1alpha1", "Workload", _workload(_group(), _group("leader")), FIXED, before=_workload(_group())),
    Bad("v1alpha1", "Workload", _workload(_group()), FIXED, before=_workload(_group(), _group("leader"))),
    Bad("v1alpha1", "Workload", _policy(basic={}), FIXED, before=_workload(_group())),
    Bad("v1alpha1", "Workload", _workload(_group()), FIXED, before=_workload(_group(), controllerRef=_JOB)),
    Bad(
        "v1alpha1",
        "Workload",
        _workload(_group(), controllerRef=_JOB | {"name": "other"}),
        FIXED,
        before=_workload(_group(), controllerRef=_JOB),
    ),
    # --- PodGroup of 1.36 ---
    Bad("v1alpha2", "PodGroup", {}, "spec.schedulingPolicy: Required value"),
    Bad("v1alpha2", "PodGroup", {"schedulingPolicy": {}}, _NONE_SET),
    Bad("v1alpha2", "PodGroup", {"policy": {}}, _NONE_SET),
    Bad("v1alpha2", "PodGroup", {"schedulingPolicy": {"basic": {}, "gang": {"minCount": 1}}}, _SEVERAL_SET),
    Bad(
        "v1alpha2",
        "PodGroup",
        {"schedulingPolicy": {"gang": {}}},
        "spec.schedulingPolicy.gang.minCount: Required value",
    ),
    Bad("v1alpha2", "PodGroup", _gang(0), _AT_LEAST_1),
    Bad("v1alpha2", "PodGroup", _gang(disruptionMode={"all": {}}), 'unknown field "spec.disruptionMode.all"'),
    Bad("v1alpha2", "PodGroup", _gang(disruptionMode="All"), 'supported values: "Pod", "PodGroup"'),
    Bad("v1alpha2", "PodGroup", _gang(priority=1_000_000_001), "should be less than or equal to 1000000000"),
    Bad("v1alpha2", "PodGroup", _gang(priorityClassName="High"), "spec.priorityClassName: Invalid value"),
    Bad("v1alpha2", "PodGroup", _gang(podGroupTemplateRef={}), "must specify one of: `workload`"),
    Bad(
        "v1alpha2",
        "PodGroup",
        _gang(podGroupTemplateRef={"workload": {"workloadName": "train"}}),
        "spec.podGroupTemplateRef.workload.podGroupTemplateName: Required value",
    ),
    Bad(
        "v1alpha2",
        "PodGroup",
        _gang(podGroupTemplateRef={"workload": _REF["workload"] | {"podGroupTemplateName": "a.b"}}),
        "spec.podGroupTemplateRef.workload.podGroupTemplateName: Invalid value",
    ),
    Bad("v1alpha2", "PodGroup", _gang(podGroupTemplateRef=_REF | _REF["workload"]), _NOT),
    Bad(
        "v1alpha2",
        "PodGroup",
        _gang(podGroupTemplateRef={"workloadName": "train"}),
        "must specify one of: `workload`",
    ),
    Bad(
        "v1alpha2",
        "PodGroup",
        _gang(schedulingConstraints={"topology": [{"key": "rack"}, {"key": "zone"}]}),
        "must have at most 1 item",
    ),
    Bad(
        "v1alpha2",
        "PodGroup",
        _gang(schedulingConstraints={"topology": [{"key": "a..b/rack"}]}),
        "spec.schedulingConstraints.topology[0].key: Invalid value",
    ),
    Bad(
        "v1alpha2",
        "PodGroup",
        _gang(resourceClaims=[_CLAIM | {"name": f"c{n}"} for n in range(5)]),
        "must have at most 4 items",
    ),
    Bad(
        "v1alpha2",
        "PodGroup",
        _gang(resourceClaims=[{"name": "gpus"}]),
        "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
    ),
    Bad(
        "v1alpha2",
        "PodGroup",
        _gang(resourceClaims=[_CLAIM | {"resourceClaimTemplateName": "nic"}]),
        _SEVERAL_SET,
    ),
    Bad("v1alpha2", "PodGroup", _gang(resourceClaims=[_CLAIM, _CLAIM]), "spec.resourceClaims[1]: Duplicate value"),
    Bad("v1alpha2", "PodGroup", _gang(minMember=4), 'unknown field "spec.minMember"'),
    Bad("v1alpha2", "PodGroup", _gang(), "metadata.name: Too long", name=LONG),
    Bad("v1alpha2", "PodGroup", _gang(9), f"spec.schedulingPolicy: Invalid value: {FIXED}", before=_gang()),
    Bad("v1alpha2", "PodGroup", {"schedulingPolicy": {"basic": {}}}, FIXED, before=_gang()),
    Bad("v1alpha2", "PodGroup", _gang(priority=7), f"spec.priority: Invalid value: {FIXED}", before=_gang()),
    Bad("v1alpha2", "PodGroup", _gang(disruptionMode="PodGroup"), FIXED, before=_gang()),
    Bad("v1alpha2", "PodGroup", _gang(), FIXED, before=_gang(podGroupTemplateRef=_REF)),
    Bad("v1alpha2", "PodGroup", _gang(resourceClaims=[_CLAIM]), FIXED, before=_gang()),
    # --- Workload of 1.36 ---
    Bad("v1alpha2", "Workload", {}, "spec.podGroupTemplates: Required value"),
    Bad(
        "v1alpha2",
        "Workload",
        _templates(),
        "spec.podGroupTemplates: Required value: must have at least one item",
    ),
    Bad("v1alpha2", "Workload", _templates(*(_template(f"t{n}") for n in range(9))), "must have at most 8 items"),
    Bad("v1alpha2", "Workload", _templates(_template(), _template()), "spec.podGroupTemplates[1]: Duplicate value"),
    Bad("v1alpha2", "Workload", _templates(_template("a.b")), "spec.podGroupTemplates[0].name: Invalid value"),
    Bad(
        "v1alpha2",
        "Workload",
        _templates({"name": "workers"}),
        "spec.podGroupTemplates[0].schedulingPolicy: Required value",
    ),
    Bad("v1alpha2", "Workload", _templates(_template(priority=2_000_000_000)), "should be less than or equal to"),
    Bad(
        "v1alpha2", "Workload", _templates(_template(), controllerRef=_JOB | {"kind": ".."}), "spec.controllerRef.kind"
    ),
    Bad("v1alpha2", "Workload", _templates(_template(), podGroups=[]), 'unknown field "spec.podGroups"'),
    Bad("v1alpha2", "Workload", _templates(_template(count=9)), FIXED, before=_templates(_template())),
    Bad("v1alpha2", "Workload", _templates(_template(), controllerRef=_JOB), FIXED, before=_templates(_template())),
    # --- the draft ---
    Bad("draft", "Workload", {}, "spec.podGroups: Required value"),
    Bad("draft", "Workload", _draft(), _ITEMS),
    Bad("draft", "Workload", _one() | {"gangGroups": [{"name": "a"}]}, "two names of one list"),
    Bad("draft", "Workload", _draft({"minCount": 4}), "spec.podGroups[0].name: Required value"),
    Bad("draft", "Workload", _draft({"name": "a"}, {"name": "a"}), "spec.podGroups[1]: Duplicate value"),
    Bad("draft", "Workload", _draft({"name": "Job_1"}), "spec.podGroups[0].name: Invalid value"),
    Bad("draft", "Workload", _one(gangMode="Gang"), 'supported values: "Single", "Off", "Replicated"'),
    # what YAML takes Off for
    Bad("draft", "Workload", _one(gangMode=False), "spec.podGroups[0].gangMode in body must be of type string"),
    Bad("draft", "Workload", _one(minCount=0), _AT_LEAST_1),
    Bad("draft", "Workload", _one(schedulingTimeoutSeconds=0), _AT_LEAST_1),
    Bad(
        "draft",
        "Workload",
        _one(gangMode="Replicated"),
        "replicatedGangKey must be set when gangMode is Replicated",
    ),
    Bad("draft", "Workload", _one(replicatedGangKey=_KEY), "and only then"),
    Bad("draft", "Workload", _one(gangMode="Off", replicatedGangKey=_KEY), "and only then"),
    Bad(
        "draft",
        "Workload",
        _one(gangMode="Replicated", replicatedGangKey={"fieldPath": "metadata.annotations['replica']"}),
        "spec.podGroups[0].replicatedGangKey.fieldPath: Invalid value",
    ),
    Bad(
        "draft",
        "Workload",
        _one(gangMode="Replicated", replicatedGangKey={"fieldPath": "metadata.labels"}),
        "spec.podGroups[0].replicatedGangKey.fieldPath: Invalid value",
    ),
    Bad(
        "draft",
        "Workload",
        _one(gangMode="Replicated", replicatedGangKey={}),
        "spec.podGroups[0].replicatedGangKey.fieldPath: Required value",
    ),
    Bad("draft", "Workload", _one(replicas=3), "replicas may be set only when gangMode is Replicated"),
    Bad("draft", "Workload", _one(gangMode="Replicated", replicatedGangKey=_KEY, replicas=0), _AT_LEAST_1),
    Bad("draft", "Workload", _one(gangMode="Off", minCount=4), "minCount may not be set when gangMode is Off"),
    Bad(
        "draft",
        "Workload",
        _one(gangMode="Off", schedulingTimeoutSeconds=60),
        "schedulingTimeoutSeconds may not be set when gangMode is Off",
    ),
    Bad(
        "draft",
        "Workload",
        _one(rankedGroups=[{"name": "a"}]),
        "spec.podGroups[0].rankedGroups: Forbidden: RankedGroups is not supported",
    ),
    Bad(
        "draft",
        "Workload",
        {"gangGroups": [{"name": "a", "topologyRequest": {"level": "rack"}}]},
        "spec.gangGroups[0].topologyRequest: Forbidden: TopologyRequest is not supported",
    ),
    Bad(
        "draft",
        "Workload",
        _one(podGroupSelector={"selector": {"matchExpressions": []}}),
        "only matchLabels is valid",
    ),
    Bad("draft", "Workload", _one(podGroupSelector="job1"), "podGroupSelector in body must be of type object"),
    Bad("draft", "Workload", _one(podGroupSelector=_labels(job="-a-")), "matchLabels.job in body should match"),
    Bad(
        "draft",
        "Workload",
        _selecting(_labels(job="a", rank="0"), _labels(job="b", rank="1")),
        "only one key of podGroupSelector can have a different value across all groups",
    ),
    Bad("draft", "Workload", _selecting(_labels(job="a"), _labels(other="b")), "only one key of podGroupSelector"),
    Bad(
        "draft",
        "Workload",
        _selecting(_labels(job="a"), _labels(job="b"), _labels(job="b")),
        "every group must have a distinct value for one key of podGroupSelector",
    ),
    Bad("draft", "Workload", _draft(*({"name": f"g{n}"} for n in range(65))), "must have at most 64 items"),
    Bad("draft", "Workload", _one(minMember=4), 'unknown field "spec.podGroups[0].minMember"'),
    Bad(
        "draft",
        "Workload",
        _one(podGroupSelector={"job": "b"}),
        FIXED,
        before=_one(podGroupSelector={"job": "a"}),
    ),
    Bad("draft", "Workload", _one(), FIXED, before=_one(podGroupSelector=_labels(job="a"))),
    Bad("draft", "Workload", _one(), "metadata.name: Too long", name=LONG),
    # --- of others ---
    Bad("volcano", "PodGroup", {"minMember": "4"}, "spec.minMember in body must be of type integer"),
    Bad(
        "volcano", "PodGroup", {"minTaskMember": {"ps": "one"}}, "spec.minTaskMember.ps in body must be of type integer"
    ),
    Bad("kai", "PodGroup", {"minMember": 0}, _AT_LEAST_1),
]
