"""PodGroup and CompositePodGroup (scheduling.k8s.io), and what they share with templates of Workloads and with Jobs.

Served as with the gates GenericWorkload, TopologyAwareWorkloadScheduling, CompositePodGroup and
PodGroupPreemptionPolicy on and DRAWorkloadResourceClaims off: resource claims are dropped.
"""

from __future__ import annotations

from muster.local.checks import names
from muster.local.checks.fields import FieldError, invalid, required
from muster.local.checks.metadata import condition_errors, keep_for_status
from muster.local.codec.values import Object
from muster.local.kinds import declared
from muster.local.kinds.declared import Rule, Rules
from muster.local.kinds.kind import Strategy

PREEMPT = "PreemptLowerPriority"
PREEMPTION_POLICIES = (PREEMPT, "Never")
HIGHEST_PRIORITY = 1_000_000_000
MOST_CLAIMS = 4

NOTHING = Rules({})

TOPOLOGY = Rules({"key": Rule(required=True, problems=names.qualified_problems)})
CONSTRAINTS = Rules({"topology": Rule(most_items=1, inside=TOPOLOGY)})
DISRUPTION_MODE = Rules(
    {"single": Rule(pointer=True, inside=NOTHING), "all": Rule(pointer=True, inside=NOTHING)}, union=("single", "all")
)
CLAIM = Rules(
    {
        "name": Rule(required=True, problems=names.short_name_problems),
        "resourceClaimName": Rule(pointer=True, problems=names.long_name_problems),
        "resourceClaimTemplateName": Rule(pointer=True, problems=names.long_name_problems),
    },
    union=("resourceClaimName", "resourceClaimTemplateName"),
)


def policy_rules(count: str) -> Rules:
    """Of a scheduling policy: basic or gang, which stays what it is; only the gang's size may change."""
    gang = Rules({count: Rule(required=True, least=1)})
    return Rules(
        {
            "basic": Rule(pointer=True, immutable=True, inside=NOTHING),
            "gang": Rule(pointer=True, no_set=True, inside=gang),
        },
        union=("basic", "gang"),
    )


POLICY = policy_rules("minCount")
PRIORITY = {
    "priorityClassName": Rule(immutable=True, problems=names.long_name_problems),
    "priority": Rule(pointer=True, immutable=True, most=HIGHEST_PRIORITY),
    "preemptionPolicy": Rule(pointer=True, immutable=True, one_of=PREEMPTION_POLICIES),
}
CLAIMS = Rule(immutable=True, most_items=MOST_CLAIMS, key="name", inside=CLAIM)

_WORKLOAD_REF = Rules(
    {
        "workloadName": Rule(required=True, problems=names.long_name_problems),
        "templateName": Rule(required=True, problems=names.short_name_problems),
    }
)
_PARENT = Rule(pointer=True, immutable=True, problems=names.long_name_problems)
_SPEC = Rules(
    {
        "parentCompositePodGroupName": _PARENT,
        "workloadRef": Rule(pointer=True, immutable=True, inside=_WORKLOAD_REF),
        "schedulingPolicy": Rule(part=True, inside=POLICY),
        "schedulingConstraints": Rule(pointer=True, immutable=True, inside=CONSTRAINTS),
        "resourceClaims": CLAIMS,
        "disruptionMode": Rule(pointer=True, immutable=True, required=True, inside=DISRUPTION_MODE),
        **PRIORITY,
    }
)
_COMPOSITE_SPEC = Rules(
    {
        "parentCompositePodGroupName": _PARENT,
        "workloadRef": Rule(pointer=True, immutable=True, required=True, inside=_WORKLOAD_REF),
        "schedulingPolicy": Rule(part=True, immutable=True, inside=policy_rules("minGroupCount")),
        "schedulingConstraints": Rule(pointer=True, immutable=True, inside=CONSTRAINTS),
        "disruptionMode": Rule(pointer=True, immutable=True, required=True, inside=DISRUPTION_MODE),
        **PRIORITY,
    }
)
_CLAIM_STATUS = Rules({"name": Rule(), "resourceClaimName": Rule(pointer=True, problems=names.long_name_problems)})
_STATUS = Rules({"resourceClaimStatuses": Rule(most_items=MOST_CLAIMS, key="name", inside=_CLAIM_STATUS)})


def default(group: Object) -> None:
    spec = group.setdefault("spec", {})
    spec.setdefault("disruptionMode", {"single": {}})
    spec.setdefault("preemptionPolicy", PREEMPT)


def prepare_create(group: Object) -> None:
    group["status"] = {}
    group["spec"].pop("resourceClaims", None)


def validate(group: Object) -> list[FieldError]:
    errors = []
    spec = group["spec"]
    if "parentCompositePodGroupName" in spec and "workloadRef" not in spec:
        errors.append(required("spec.workloadRef", "must be set when parentCompositePodGroupName is set"))
    return errors + declared.errors(_SPEC, "spec", spec, None)


def prepare_update(new: Object, old: Object) -> None:
    if not old["spec"].get("resourceClaims"):
        new["spec"].pop("resourceClaims", None)


def validate_update(new: Object, old: Object) -> list[FieldError]:
    return declared.errors(_SPEC, "spec", new["spec"], old["spec"])


def prepare_status(new: Object, old: Object) -> None:
    keep_for_status(new["metadata"], old["metadata"])
    if not old["spec"].get("resourceClaims"):
        new.get("status", {}).pop("resourceClaimStatuses", None)


def validate_status(new: Object, old: Object) -> list[FieldError]:
    status = new.get("status", {})
    errors = condition_errors(status.get("conditions") or (), "status.conditions")
    known = {claim.get("name") for claim in new["spec"].get("resourceClaims") or ()}
    for index, claim in enumerate(status.get("resourceClaimStatuses") or ()):
        if claim.get("name", "") not in known:
            words = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid(f"status.resourceClaimStatuses[{index}].name", claim.get("name", ""), words))
    return errors + declared.errors(_STATUS, "status", status, old.get("status", {}))


STRATEGY = Strategy(
    default=default,
    prepare_create=prepare_create,
    validate=validate,
    prepare_update=prepare_update,
    validate_update=validate_update,
    prepare_status=prepare_status,
    validate_status=validate_status,
    needs_version=True,
    status_keeps=("metadata", "spec"),
)


# --- composite groups ---


def prepare_composite(group: Object) -> None:
    group["status"] = {}


def validate_composite(group: Object) -> list[FieldError]:
    return declared.errors(_COMPOSITE_SPEC, "spec", group["spec"], None)


def keep_composite_status(new: Object, old: Object) -> None:
    new["status"] = old.get("status", {})


def validate_composite_update(new: Object, old: Object) -> list[FieldError]:
    return declared.errors(_COMPOSITE_SPEC, "spec", new["spec"], old["spec"])


def prepare_composite_status(new: Object, old: Object) -> None:
    new["spec"] = old["spec"]
    keep_for_status(new["metadata"], old["metadata"])


def validate_composite_status(new: Object, _old: Object) -> list[FieldError]:
    return condition_errors(new.get("status", {}).get("conditions") or (), "status.conditions")


COMPOSITE = Strategy(
    default=default,
    prepare_create=prepare_composite,
    validate=validate_composite,
    prepare_update=keep_composite_status,
    validate_update=validate_composite_update,
    prepare_status=prepare_composite_status,
    validate_status=validate_composite_status,
    needs_version=True,
    status_keeps=("metadata", "spec"),
)
