"""What is wrong with the spec of a Job, or with a change of it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy

import msgspec

from muster.base.selectors import LabelSelector
from muster.local.checks import names
from muster.local.checks.fields import FieldError, invalid, not_supported, required, too_long
from muster.local.checks.metadata import not_negative, selector_errors, unchanged
from muster.local.codec.values import Object
from muster.local.kinds import declared, groups
from muster.local.kinds.declared import Rule, Rules
from muster.local.kinds.jobs import policies as job_policies
from muster.local.kinds.pods.validation import template_errors

INDEXED, NON_INDEXED = "Indexed", "NonIndexed"

_MOST_PARALLEL = 100_000
_MOST_FAILED = 100_000
_MANY_COMPLETIONS = 100_000
_MOST_WITH_MANY = 10_000
_LONGEST_MANAGER = 63
_NUMBERS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)

_GANG = Rules({"minCount": Rule(pointer=True, least=1)})
_POLICY = Rules(
    {"basic": Rule(pointer=True, inside=groups.NOTHING), "gang": Rule(pointer=True, inside=_GANG)},
    union=("basic", "gang"),
)
_SCHEDULING = Rules(
    {
        "schedulingPolicy": Rule(pointer=True, no_set=True, inside=_POLICY),
        "schedulingConstraints": Rule(pointer=True, immutable=True, inside=groups.CONSTRAINTS),
        "disruptionMode": Rule(pointer=True, immutable=True, inside=groups.DISRUPTION_MODE),
        "resourceClaims": groups.CLAIMS,
    }
)
_DECLARED = Rules({"scheduling": Rule(pointer=True, no_set=True, inside=_SCHEDULING)})


def errors(spec: Object) -> list[FieldError]:
    """All that is wrong with a spec, but for what is declared of it."""
    found = [error for name in _NUMBERS for error in not_negative(spec.get(name), f"spec.{name}")]
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        found.append(required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    found += _manager_errors(spec.get("managedBy")) + _mode_errors(spec)
    found += job_policies.errors(spec)
    found += _scheduling_errors(spec)
    found += template_errors(spec["template"], "spec.template") + _restart_errors(spec)
    return found + _selector_errors(spec)


def declared_errors(new: Object, old: Object | None) -> list[FieldError]:
    """What is declared of spec.scheduling; these errors come last."""
    return declared.errors(_DECLARED, "spec", new, old)


def change_errors(spec: Object, old_job: Object) -> list[FieldError]:
    """What may not change; how much of the template may depends on whether the job ever ran."""
    old = old_job["spec"]
    found = _completions_errors(spec, old)
    if spec.get("selector") != old.get("selector"):
        found.append(invalid("spec.selector", spec.get("selector"), "field is immutable"))
    found += _template_errors(spec, old_job)
    found += unchanged(spec.get("completionMode"), old.get("completionMode"), "spec.completionMode")
    found += _struct_unchanged(spec, old, "podFailurePolicy", "PodFailurePolicy")
    for name in ("backoffLimitPerIndex", "managedBy"):
        found += unchanged(spec.get(name), old.get(name), f"spec.{name}")
    found += _struct_unchanged(spec, old, "successPolicy", "SuccessPolicy")
    return found + _variant_errors(spec, old)


def matches(selector: Object | None, labels: Mapping[str, str]) -> bool | None:
    """Whether a selector takes these labels; None if it makes no sense."""
    if selector is None:
        return False
    if selector_errors(selector, ""):
        return None
    return msgspec.convert(selector, LabelSelector).matches(labels)


# --- parts of a spec ---


def _manager_errors(manager: str | None) -> list[FieldError]:
    if manager is None:
        return []
    found = _path_errors(manager, "spec.managedBy")
    if len(manager.encode()) > _LONGEST_MANAGER:
        found.append(too_long("spec.managedBy", _LONGEST_MANAGER))
    return found


def _path_errors(path: str, field: str) -> list[FieldError]:
    """Of a path with a domain before it."""
    if not path:
        return [required(field)]
    host, _, rest = path.partition("/")
    if not host or not rest:
        return [invalid(field, path, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    found = [invalid(field, host, problem) for problem in names.subdomain_problems(host)]
    return found + [invalid(field, rest, problem) for problem in names.http_path_problems(rest)]


def _mode_errors(spec: Object) -> list[FieldError]:
    mode = spec.get("completionMode", NON_INDEXED)
    found = []
    if mode not in (NON_INDEXED, INDEXED):
        found.append(not_supported("spec.completionMode", mode, (NON_INDEXED, INDEXED)))
    if mode == INDEXED:
        found += _indexed_errors(spec)
    if mode == NON_INDEXED:
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if name in spec:
                found.append(invalid(f"spec.{name}", spec[name], "requires indexed completion mode"))
    return found


def _indexed_errors(spec: Object) -> list[FieldError]:
    found = []
    completions, parallelism, failed = (spec.get(one) for one in ("completions", "parallelism", "maxFailedIndexes"))
    if completions is None:
        found.append(required("spec.completions", f"when completion mode is {INDEXED}"))
    if parallelism is not None and parallelism > _MOST_PARALLEL:
        words = f"must be less than or equal to {_MOST_PARALLEL} when completion mode is {INDEXED}"
        found.append(invalid("spec.parallelism", parallelism, words))
    if completions is not None and failed is not None and failed > completions:
        found.append(invalid("spec.maxFailedIndexes", failed, "must be less than or equal to completions"))
    if failed is not None and failed > _MOST_FAILED:
        found.append(invalid("spec.maxFailedIndexes", failed, f"must be less than or equal to {_MOST_FAILED}"))
    if (completions or 0) > _MANY_COMPLETIONS and "backoffLimitPerIndex" in spec:
        found += _many_errors(parallelism, failed)
    return found


def _many_errors(parallelism: int | None, failed: int | None) -> list[FieldError]:
    """Of a job with very many completions that counts failures for each."""
    found = []
    words = (
        f"must be less than or equal to {_MOST_WITH_MANY} when completions are above {_MANY_COMPLETIONS} and used with "
        "backoff limit per index"
    )
    if failed is None:
        above = f"must be specified when completions is above {_MANY_COMPLETIONS}"
        found.append(required("spec.maxFailedIndexes", above))
    if parallelism is not None and parallelism > _MOST_WITH_MANY:
        found.append(invalid("spec.parallelism", parallelism, words))
    if failed is not None and failed > _MOST_WITH_MANY:
        found.append(invalid("spec.maxFailedIndexes", failed, words))
    return found


def _scheduling_errors(spec: Object) -> list[FieldError]:
    scheduling = spec.get("scheduling")
    if scheduling is None:
        return []
    found = []
    policy = scheduling.get("schedulingPolicy")
    least = ((policy or {}).get("gang") or {}).get("minCount")
    parallelism = spec.get("parallelism", 1)
    if least is not None and least > parallelism:
        words = f"must not be greater than parallelism ({parallelism})"
        found.append(invalid("spec.scheduling.schedulingPolicy.gang.minCount", least, words))
    if (not policy or "basic" in policy) and set(scheduling.get("disruptionMode") or ()) == {"all"}:
        words = "the disruptionMode `all` is not supported with the Basic scheduling policy"
        found.append(invalid("spec.scheduling.disruptionMode", "", words))
    return found


def _restart_errors(spec: Object) -> list[FieldError]:
    field, policy = "spec.template.spec.restartPolicy", spec["template"]["spec"].get("restartPolicy", "")
    if policy in ("", "Always"):
        return [required(field, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [not_supported(field, policy, ("OnFailure", "Never"))]
    if "podFailurePolicy" in spec and policy != "Never":
        return [invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def _selector_errors(spec: Object) -> list[FieldError]:
    selector = spec.get("selector")
    found = [required("spec.selector")] if selector is None else selector_errors(selector, "spec.selector")
    labels = spec["template"].get("metadata", {}).get("labels")
    if matches(selector, labels or {}) is False:
        shown = dict(sorted(labels.items())) if labels else None
        words = "`selector` does not match template `labels`"
        found.append(invalid("spec.template.metadata.labels", shown, words))
    return found


# --- changes ---


def _completions_errors(spec: Object, old: Object) -> list[FieldError]:
    """Only an indexed job can grow or shrink, as a whole."""
    field, completions = "spec.completions", spec.get("completions")
    if spec.get("completionMode") != INDEXED:
        return unchanged(completions, old.get("completions"), field)
    if completions is None or completions in (old.get("completions"), spec.get("parallelism")):
        return []
    return [invalid(field, completions, "can only be modified in tandem with spec.parallelism")]


def _struct_unchanged(spec: Object, old: Object, name: str, struct: str) -> list[FieldError]:
    if spec.get(name) == old.get(name):
        return []
    return [invalid(f"spec.{name}", spec.get(name), "field is immutable")]


def _variant_errors(spec: Object, old: Object) -> list[FieldError]:
    new_policy, old_policy = ((one.get("scheduling") or {}).get("schedulingPolicy") for one in (spec, old))
    if new_policy is None or old_policy is None or ("basic" in new_policy) == ("basic" in old_policy):
        return []
    words = (
        "the basic/gang policy variant is immutable after creation; only schedulingPolicy.gang.minCount may be updated"
    )
    return [invalid("spec.scheduling.schedulingPolicy", None, words)]


def _template_errors(spec: Object, old_job: Object) -> list[FieldError]:
    template, old = spec["template"], old_job["spec"]["template"]
    if not _is_idle(old_job):
        same = template == old
        return [] if same else [invalid("spec.template", template, "field is immutable")]
    if _without_directives(template, old)["spec"] == template["spec"]:
        return []
    return [invalid("spec.template.spec", template["spec"], "field is immutable")]


def _is_idle(job: Object) -> bool:
    """Suspended, without pods, and never started or known to be suspended: then its pods may be reshaped."""
    status = job.get("status", {})
    conditions = status.get("conditions") or ()
    suspended = any(one["type"] == "Suspended" and one["status"] == "True" for one in conditions)
    stopped = "startTime" not in status or suspended
    return bool(job["spec"].get("suspend")) and stopped and not status.get("active")


def _without_directives(template: Object, old: Object) -> Object:
    """The old template with all of the new one that an idle job may change: where pods go, and what they ask for."""
    result = deepcopy(old)
    new, spec = template["spec"], result["spec"]
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        spec.pop(name, None)
        if name in new:
            spec[name] = new[name]
    _take_node_affinity(new, spec)
    for kind in ("containers", "initContainers"):
        _take_resources(new.get(kind) or [], spec.get(kind) or [])
    return result


def _take_node_affinity(new: Object, spec: Object) -> None:
    affinity = spec.get("affinity", {})
    affinity.pop("nodeAffinity", None)
    if "nodeAffinity" in new.get("affinity", {}):
        affinity["nodeAffinity"] = new["affinity"]["nodeAffinity"]
    if affinity or "affinity" in new:
        spec["affinity"] = affinity
    else:
        spec.pop("affinity", None)


def _take_resources(new: list[Object], old: list[Object]) -> None:
    if len(new) != len(old):
        return
    for one, other in zip(new, old, strict=True):
        if one.get("name") == other.get("name"):
            other["resources"] = one.get("resources", {})
