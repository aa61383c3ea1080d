"""What is wrong with the spec of a Job, or with a change of it.  Pods that it makes are checked as pods are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from itertools import pairwise

import msgspec

from muster.base.selectors import LabelSelector
from muster.local.checks import names
from muster.local.checks.fields import FieldError, duplicate, invalid, not_supported, required, too_long, wrong
from muster.local.checks.metadata import selector_errors, unchanged
from muster.local.codec.values import Object, take
from muster.local.kinds import declared, groups
from muster.local.kinds.declared import Rule
from muster.local.kinds.pods.formats import not_negative, qualified
from muster.local.kinds.pods.updates import take_node_affinity
from muster.local.kinds.pods.validation import template_errors
from muster.local.kinds.rules import Book, Errors, Rules

INDEXED = "Indexed"

_MOST = 100_000
_MOST_WITH_MANY = 10_000
"""Of a job with more completions than the most, that counts failures for each."""
_LONGEST_MANAGER = 63
_LONGEST_INDEXES = 64 * 1024
_INDEXES = re.compile(r"[0-9]{1,18}(-[0-9]{1,18})?(,[0-9]{1,18}(-[0-9]{1,18})?)*|")
_NEVER_CHANGE = ("selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")

_GANG = declared.Rules({"minCount": Rule(pointer=True, least=1)})
_POLICY = declared.Rules(
    {"basic": Rule(pointer=True, inside=groups.NOTHING), "gang": Rule(pointer=True, inside=_GANG)},
    union=("basic", "gang"),
)
_SCHEDULING = declared.Rules(
    {
        "schedulingPolicy": Rule(pointer=True, no_set=True, inside=_POLICY),
        "schedulingConstraints": Rule(pointer=True, immutable=True, inside=groups.CONSTRAINTS),
        "disruptionMode": Rule(pointer=True, immutable=True, inside=groups.DISRUPTION_MODE),
        "resourceClaims": groups.CLAIMS,
    }
)
_DECLARED = declared.Rules({"scheduling": Rule(pointer=True, no_set=True, inside=_SCHEDULING)})


def errors(spec: Object) -> list[FieldError]:
    """All that is wrong with a spec, but for what is declared of it."""
    return _JOB.errors(spec, "batch.v1.JobSpec", "spec")


def declared_errors(new: Object, old: Object | None) -> list[FieldError]:
    """What is declared of spec.scheduling; these errors come last."""
    return declared.errors(_DECLARED, "spec", new, old)


def matches(selector: Object | None, labels: Mapping[str, str]) -> bool | None:
    """Whether a selector takes these labels; None if it makes no sense."""
    if selector is None:
        return False
    if selector_errors(selector, ""):
        return None
    return msgspec.convert(selector, LabelSelector).matches(labels)


def indexes(text: str, completions: int) -> list[tuple[int, int]] | None:
    """The first and the last of each run in a list such as 1,3-5; None if it is out of order or out of bounds."""
    if not _INDEXES.fullmatch(text):
        return None
    runs = [tuple(map(int, part.split("-"))) for part in text.split(",")] if text else []
    ends = [end for run in runs for end in run]
    is_sound = all(one < other for one, other in pairwise([*ends, completions]))
    return [(run[0], run[-1]) for run in runs] if is_sound else None


# --- parts of a spec ---


def _manager(spec: Object, path: str) -> Errors:
    """Of a path with a domain before it."""
    manager = spec.get("managedBy")
    if manager is None:
        return
    host, _, rest = manager.partition("/")
    if not manager:
        yield required(f"{path}.managedBy")
    elif not host or not rest or names.subdomain_problems(host) or names.http_path_problems(rest):
        yield invalid(f"{path}.managedBy", manager, 'must be a domain-prefixed path (such as "acme.io/foo")')
    if len(manager.encode()) > _LONGEST_MANAGER:
        yield too_long(f"{path}.managedBy", _LONGEST_MANAGER)


def _per_index(spec: Object, path: str) -> Errors:
    """What is counted for each index, and what only an indexed job has."""
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if spec.get("completionMode", "NonIndexed") == "NonIndexed":
        for name in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if name in spec:
                yield invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")
    elif spec["completionMode"] == INDEXED:
        yield from _limits(spec, path)


def _limits(spec: Object, path: str) -> Errors:
    completions, failed = spec.get("completions"), spec.get("maxFailedIndexes")
    is_many = (completions or 0) > _MOST and "backoffLimitPerIndex" in spec
    most = _MOST_WITH_MANY if is_many else _MOST
    if completions is None:
        yield required(f"{path}.completions", f"when completion mode is {INDEXED}")
    if is_many and failed is None:
        yield required(f"{path}.maxFailedIndexes", f"must be specified when completions is above {_MOST}")
    for name in ("parallelism", "maxFailedIndexes"):
        if spec.get(name, 0) > most:
            yield invalid(f"{path}.{name}", spec[name], f"must be less than or equal to {most}")
    if completions is not None and (failed or 0) > completions:
        yield invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions")


def _replacement(spec: Object, path: str) -> Errors:
    if "podFailurePolicy" in spec and spec.get("podReplacementPolicy") == "TerminatingOrFailed":
        yield not_supported(f"{path}.podReplacementPolicy", "TerminatingOrFailed", ("Failed",))


def _gang(spec: Object, path: str) -> Errors:
    scheduling = spec.get("scheduling") or {}
    policy, parallelism = scheduling.get("schedulingPolicy"), spec.get("parallelism", 1)
    least = ((policy or {}).get("gang") or {}).get("minCount")
    if least is not None and least > parallelism:
        words = f"must not be greater than parallelism ({parallelism})"
        yield invalid(f"{path}.scheduling.schedulingPolicy.gang.minCount", least, words)
    if (not policy or "basic" in policy) and set(scheduling.get("disruptionMode") or ()) == {"all"}:
        words = "the disruptionMode `all` is not supported with the Basic scheduling policy"
        yield invalid(f"{path}.scheduling.disruptionMode", "", words)


def _restarts(spec: Object, path: str) -> Errors:
    field, policy = f"{path}.template.spec.restartPolicy", spec["template"]["spec"].get("restartPolicy", "")
    if policy in ("", "Always"):
        yield required(field, 'valid values: "OnFailure", "Never"')
    elif policy == "OnFailure" and "podFailurePolicy" in spec:
        yield invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _selects_its_pods(spec: Object, path: str) -> Errors:
    labels = spec["template"].get("metadata", {}).get("labels")
    if matches(spec.get("selector"), labels or {}) is False:
        yield invalid(f"{path}.template.metadata.labels", labels, "`selector` does not match template `labels`")


# --- policies ---


def _rules(spec: Object, path: str) -> Errors:
    """What rules have to do with the rest of the job."""
    pod, at = spec["template"]["spec"], f"{path}.podFailurePolicy"
    known = {one.get("name") for kind in ("containers", "initContainers") for one in pod.get(kind) or ()}
    for index, rule in enumerate(spec.get("podFailurePolicy", {}).get("rules") or ()):
        name = (rule.get("onExitCodes") or {}).get("containerName")
        if rule.get("action") == "FailIndex" and "backoffLimitPerIndex" not in spec:
            words = "requires the backoffLimitPerIndex to be set"
            yield invalid(f"{at}.rules[{index}].action", "FailIndex", words)
        if name is not None and name not in known:
            words = "must be one of the container or initContainer names in the pod template"
            yield invalid(f"{at}.rules[{index}].onExitCodes.containerName", name, words)
    if spec.get("completionMode") == INDEXED:
        for index, rule in enumerate(spec.get("successPolicy", {}).get("rules") or ()):
            yield from _success(rule, f"{path}.successPolicy.rules[{index}]", spec.get("completions") or 0)


def _failure(rule: Object, path: str) -> Errors:
    if ("onExitCodes" in rule) == bool(rule.get("onPodConditions")):
        yield wrong(path, "specifying exactly one of OnExitCodes and OnPodConditions is required")


def _exit_codes(codes: Object, path: str) -> Errors:
    values = codes.get("values") or []
    if not values:
        yield invalid(f"{path}.values", values, "at least one value is required")
    for index, value in enumerate(values):
        if codes.get("operator") == "In" and value == 0:
            yield invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        if value in values[:index]:
            yield duplicate(f"{path}.values[{index}]", value)
    if values != sorted(values):
        yield invalid(f"{path}.values", values, "must be ordered")


def _success(rule: Object, path: str, completions: int) -> Errors:
    count, text = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and text is None:
        yield required(path, "at least one of succeededCount or succeededIndexes must be specified")
    runs = indexes(text or "", completions)
    if runs is None:
        yield invalid(f"{path}.succeededIndexes", text, f"must be increasing indexes below {completions}")
    if len((text or "").encode()) > _LONGEST_INDEXES:
        yield too_long(f"{path}.succeededIndexes", _LONGEST_INDEXES)
    most = completions if text is None else sum(last - first + 1 for first, last in runs or ())
    if count is not None and count > min(most, completions):
        yield invalid(f"{path}.succeededCount", count, f"must be less than or equal to {min(most, completions)}")


_COUNTS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    *("backoffLimitPerIndex", "maxFailedIndexes"),
)
_JOB = Book(
    {
        "batch.v1.JobSpec": Rules(
            needs=("selector",),
            checks=dict.fromkeys(_COUNTS, not_negative),
            code=(_manager, _per_index, _replacement, _gang, _restarts, _selects_its_pods, _rules),
        ),
        "batch.v1.PodFailurePolicy": Rules(lacks=("rules",), most={"rules": 20}),
        "batch.v1.PodFailurePolicyRule": Rules(most={"onPodConditions": 20}, code=(_failure,)),
        "batch.v1.PodFailurePolicyOnExitCodesRequirement": Rules(
            lacks=("values",), most={"values": 255}, code=(_exit_codes,)
        ),
        "batch.v1.PodFailurePolicyOnPodConditionsPattern": Rules(
            blank=("type",), checks={"type": qualified}, values={"status": ("False", "True", "Unknown")}
        ),
        "batch.v1.SuccessPolicy": Rules(most={"rules": 20}),
        "batch.v1.SuccessPolicyRule": Rules(checks={"succeededCount": not_negative}),
        "batch.v1.JobSchedulingConfiguration": Rules(closed=True),
        "core.v1.PodTemplateSpec": Rules(closed=True, code=(template_errors,)),
        "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector": Rules(closed=True, code=(selector_errors,)),
    }
)

# --- changes ---


def change_errors(spec: Object, old_job: Object) -> list[FieldError]:
    """What may not change; how much of the template may depends on whether the job ever ran."""
    old = old_job["spec"]
    found = _completions_errors(spec, old)
    for name in _NEVER_CHANGE:
        found += unchanged(spec.get(name), old.get(name), f"spec.{name}")
    return found + _template_errors(spec, old_job) + _variant_errors(spec, old)


def _completions_errors(spec: Object, old: Object) -> list[FieldError]:
    """Only an indexed job can grow or shrink, as a whole."""
    field, completions = "spec.completions", spec.get("completions")
    if spec.get("completionMode") != INDEXED:
        return unchanged(completions, old.get("completions"), field)
    if completions is None or completions in (old.get("completions"), spec.get("parallelism")):
        return []
    return [invalid(field, completions, "can only be modified in tandem with spec.parallelism")]


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
        return unchanged(template, old, "spec.template")
    return unchanged(template["spec"], _with_directives(template["spec"], old["spec"]), "spec.template.spec")


def _is_idle(job: Object) -> bool:
    """Suspended, without pods, and never started or known to be suspended: then its pods may be reshaped."""
    status = job.get("status", {})
    conditions = status.get("conditions") or ()
    suspended = any(one["type"] == "Suspended" and one["status"] == "True" for one in conditions)
    stopped = "startTime" not in status or suspended
    return bool(job["spec"].get("suspend")) and stopped and not status.get("active")


def _with_directives(new: Object, old: Object) -> Object:
    """The old spec with all of the new one that an idle job may change: where pods go, and what they ask for."""
    result = deepcopy(old)
    take(result, new, "nodeSelector", "tolerations", "schedulingGates")
    take_node_affinity(result, new)
    for kind in ("containers", "initContainers"):
        pairs = zip(new.get(kind) or (), result.get(kind) or (), strict=False)
        for one, other in pairs if len(new.get(kind) or ()) == len(result.get(kind) or ()) else ():
            if one.get("name") == other.get("name"):
                other["resources"] = one.get("resources", {})
    return result
