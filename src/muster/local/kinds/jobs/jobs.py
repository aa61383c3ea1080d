"""Job (batch/v1).  `spec` has what is wrong with a spec or its change, `status` what is wrong with a status."""

from __future__ import annotations

from muster.local.checks import names
from muster.local.checks.fields import FieldError, invalid, required
from muster.local.checks.metadata import distinct
from muster.local.codec.values import Object
from muster.local.kinds.jobs import spec as job_spec
from muster.local.kinds.jobs import status as job_status
from muster.local.kinds.jobs.spec import INDEXED
from muster.local.kinds.kind import Strategy
from muster.local.kinds.pods import pods
from muster.local.kinds.pods import spec as pod_spec

CONTROLLER_UID, OLD_CONTROLLER_UID = "batch.kubernetes.io/controller-uid", "controller-uid"
JOB_NAME, OLD_JOB_NAME = "batch.kubernetes.io/job-name", "job-name"

_BACKOFF_LIMIT = 6
_NO_BACKOFF_LIMIT = 2**31 - 1


def default(job: Object) -> None:
    spec, metadata = job["spec"], job["metadata"]
    if "parallelism" not in spec:
        spec.setdefault("completions", 1)
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _NO_BACKOFF_LIMIT if "backoffLimitPerIndex" in spec else _BACKOFF_LIMIT)
    labels = spec["template"].get("metadata", {}).get("labels")
    if labels and not metadata.get("labels"):
        # the same map, as with Go: labels that are generated for the pods are the job's too then
        metadata["labels"] = labels
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)
    for rule in spec.get("podFailurePolicy", {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"
    pod_spec.default_spec(spec["template"].setdefault("spec", {}))


def prepare_create(job: Object) -> None:
    if not job["spec"].get("manualSelector"):
        _generate_selector(job)
    job["status"] = {}
    pods.drop_disabled_spec(job["spec"]["template"]["spec"])
    labels = job["spec"]["template"].get("metadata", {}).get("labels")
    if labels and not job["metadata"].get("labels") and not names.label_value_problems(job["metadata"].get("name", "")):
        # Go sets defaults again when it reads the object back, which it does not if the labels are refused
        job["metadata"]["labels"] = labels


def validate(job: Object) -> list[FieldError]:
    errors = _selector_errors(job) + job_spec.errors(job["spec"]) + _name_errors(job)
    return distinct(errors) + job_spec.declared_errors(job["spec"], None)


def prepare_update(new: Object, _old: Object) -> None:
    pods.drop_disabled_spec(new["spec"]["template"]["spec"])


def validate_update(new: Object, old: Object) -> list[FieldError]:
    errors = job_spec.errors(new["spec"]) + job_spec.change_errors(new["spec"], old) + _name_errors(new)
    return distinct(errors) + job_spec.declared_errors(new["spec"], old["spec"])


def validate_status(new: Object, old: Object) -> list[FieldError]:
    return distinct(job_status.errors(new, old))


def selectable(job: Object) -> dict[str, str]:
    return {"status.successful": str(job.get("status", {}).get("succeeded", 0))}


def _generate_selector(job: Object) -> None:
    """Labels that only this job's pods have, unless the user set them, which validation then refuses."""
    spec, metadata = job["spec"], job["metadata"]
    labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
    for key in (OLD_JOB_NAME, JOB_NAME):
        labels.setdefault(key, metadata.get("name", ""))
    for key in (OLD_CONTROLLER_UID, CONTROLLER_UID):
        labels.setdefault(key, metadata["uid"])
    wanted = spec.setdefault("selector", {}).setdefault("matchLabels", {})
    wanted.setdefault(CONTROLLER_UID, metadata["uid"])


def _selector_errors(job: Object) -> list[FieldError]:
    """Of labels and a selector that should have been generated."""
    spec, metadata = job["spec"], job["metadata"]
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return []
    uid, name = metadata["uid"], metadata.get("name", "")
    expected = {OLD_CONTROLLER_UID: uid, OLD_JOB_NAME: name, CONTROLLER_UID: uid, JOB_NAME: name}
    labels = spec["template"].get("metadata", {}).get("labels", {})
    errors = []
    for key, value in expected.items():
        field = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            errors.append(required(field, f"must be '{value}'"))
        elif labels[key] != value:
            errors.append(invalid(field, dict(sorted(labels.items())), f"must be '{value}'"))
    if job_spec.matches(selector, expected) is False:
        shown = selector
        errors.append(invalid("spec.selector", shown, "`selector` not auto-generated"))
    return errors


def _name_errors(job: Object) -> list[FieldError]:
    """Pods of an indexed job have their index in their host names."""
    spec, name = job["spec"], job["metadata"].get("name", "")
    completions = spec.get("completions")
    if spec.get("completionMode") != INDEXED or not completions or completions < 0:
        return []
    longest = f"{name}-{completions - 1}"
    if not names.label_problems(longest):
        return []
    return [invalid("metadata.name", name, f"will not able to create pod with invalid DNS label: {longest}")]


STRATEGY = Strategy(
    default=default,
    prepare_create=prepare_create,
    validate=validate,
    prepare_update=prepare_update,
    validate_update=validate_update,
    validate_status=validate_status,
    selectable=selectable,
    has_generation=True,
    orphans=True,
    orphaning=(
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them "
        "or set propagationPolicy=Orphan to suppress this warning"
    ),
)
