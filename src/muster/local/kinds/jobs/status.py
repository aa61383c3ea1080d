"""What is wrong with the status of a Job.  Most rules look only at what changed, as specs change under a status."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise, product
from typing import Any

from muster.local.checks.fields import FieldError, duplicate, invalid, required, wrong
from muster.local.checks.metadata import not_negative
from muster.local.codec.values import Object
from muster.local.kinds.jobs.spec import INDEXED, indexes

COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
FAILURE_TARGET, CRITERIA_MET = "FailureTarget", "SuccessCriteriaMet"

_COUNTERS = ("active", "succeeded", "failed", "ready", "terminating")


def errors(new: Object, old: Object) -> list[FieldError]:
    """Of a job's new status, given the job as it is stored; both have the same spec."""
    change = _Change(new, old)
    found = [error for name in _COUNTERS for error in not_negative(change.new.get(name), f"status.{name}")]
    for field, words in chain(_conditions(change), _times(change), _counts(change)):
        found.append(_error(field, words, change.new.get(field)))
    return found + list(_uncounted(change)) + list(_indexes(change))


class _Change:
    """A job's status before and after, with what is true of each."""

    def __init__(self, new: Object, old: Object) -> None:
        self.spec: Object = new["spec"]
        self.new: Object = new.get("status", {})
        self.old: Object = old.get("status", {})

    def differs(self, *names: str) -> bool:
        return any(self.new.get(name) != self.old.get(name) for name in names)

    def has(self, *kinds: str) -> bool:
        return all(_is(self.new, kind, "True") for kind in kinds)

    def had(self, kind: str) -> bool:
        return _is(self.old, kind, "True")

    def turned(self, *kinds: str) -> bool:
        """Whether one of these conditions is not what it was."""
        return any(self.has(kind) != self.had(kind) for kind in kinds)

    def finished_with(self, name: str) -> bool:
        """Whether the job is finished, and has become so or has changed a field."""
        is_finished = self.has(COMPLETE) or self.has(FAILED)
        was_finished = self.had(COMPLETE) or self.had(FAILED)
        return is_finished and (not was_finished or self.differs(name))

    @property
    def never_ran(self) -> bool:
        return bool(self.spec.get("suspend")) and self.spec.get("completions") == 0

    @property
    def may_shrink(self) -> bool:
        spec = self.spec
        return spec.get("completionMode") == INDEXED and spec.get("completions") == spec.get("parallelism")

    @property
    def is_running_on(self) -> bool:
        resumes = self.had(SUSPENDED) and _is(self.new, SUSPENDED, "False")
        return bool(self.old.get("startTime")) and not self.spec.get("suspend") and not resumes


def _is(status: Object, kind: str, value: str) -> bool:
    conditions = status.get("conditions") or ()
    return any(one.get("type") == kind and one.get("status") == value for one in conditions)


Broken = Iterator[tuple[str, str]]
"""Fields that may not be as they are, and why."""


def _conditions(job: _Change) -> Broken:
    for one, other in product((COMPLETE, CRITERIA_MET), (FAILED, FAILURE_TARGET)):
        if job.has(one, other) and (one == CRITERIA_MET or job.turned(one, other)):
            yield "conditions", f"cannot set {one}=True and {other}=True conditions"
    for kind in (FAILED, COMPLETE, FAILURE_TARGET, CRITERIA_MET):
        if job.had(kind) and not job.has(kind):
            yield "conditions", f"cannot disable the {kind}=True condition"
    failed_now = job.turned(FAILED) or job.differs("failedIndexes")
    if failed_now and job.has(FAILED) and not job.has(FAILURE_TARGET):
        yield "conditions", "cannot set Failed=True condition without the FailureTarget=True condition"
    completed_now = job.turned(COMPLETE, CRITERIA_MET) or "successPolicy" in job.spec
    if completed_now and job.has(COMPLETE) and not job.has(CRITERIA_MET):
        yield "conditions", "cannot set Complete=True condition without the SuccessCriteriaMet=True condition"
    if job.had(COMPLETE) and not job.had(CRITERIA_MET) and job.has(CRITERIA_MET):
        yield "conditions", "cannot set SuccessCriteriaMet=True for a Job that is Complete already"


def _times(job: _Change) -> Broken:
    start, completion = job.new.get("startTime"), job.new.get("completionTime")
    if (job.turned(COMPLETE) or job.differs("completionTime")) and job.has(COMPLETE) != bool(completion):
        yield "completionTime", "must be set for Complete jobs, and only for them"
    # both are UTC in one form: their order is that of their texts
    if job.differs("startTime", "completionTime") and start and completion and completion < start:
        yield "completionTime", "must be equal to or after `startTime`"
    if completion and job.old.get("completionTime") and job.differs("completionTime"):
        yield "completionTime", "field is immutable"
    if job.is_running_on and job.differs("startTime"):
        yield "startTime", "field is immutable for unsuspended job once set"
    if job.finished_with("startTime") and not start and not job.never_ran:
        yield "startTime", "must be set for finished jobs"


def _counts(job: _Change) -> Broken:
    new = job.new
    for name in ("active", "terminating"):
        if job.finished_with(name) and new.get(name, 0) > 0:
            yield name, "must be 0 for a finished job"
    if job.finished_with("uncountedTerminatedPods") and any((new.get("uncountedTerminatedPods") or {}).values()):
        yield "uncountedTerminatedPods", "must be empty for finished job"
    if job.differs("ready", "active") and "ready" in new and new["ready"] > new.get("active", 0):
        yield "ready", "cannot set more ready pods than active"
    for name in ("failed",) if job.may_shrink else ("failed", "succeeded"):
        if new.get(name, 0) < job.old.get(name, 0):
            yield name, f"cannot decrease the {name} counter"


def _error(field: str, words: str, value: Any) -> FieldError:
    if field == "conditions":
        return wrong("status.conditions", words)
    if value is None and words.startswith("must be set"):
        return required(f"status.{field}", words)
    return invalid(f"status.{field}", value, words)


def _uncounted(change: _Change) -> Iterator[FieldError]:
    uncounted, seen = change.new.get("uncountedTerminatedPods") or {}, set()
    for kind in ("succeeded", "failed"):
        for index, uid in enumerate(uncounted.get(kind) or ()):
            field = f"status.uncountedTerminatedPods.{kind}[{index}]"
            if not uid:
                yield invalid(field, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(field, uid)
            seen.add(uid)


def _indexes(change: _Change) -> Iterator[FieldError]:
    """Of those that are done, and those that failed."""
    completions, lists = change.spec.get("completions"), {}
    for name, may_be in (
        ("completedIndexes", change.spec.get("completionMode") == INDEXED),
        ("failedIndexes", "backoffLimitPerIndex" in change.spec),
    ):
        text = change.new.get(name)
        lists[name] = indexes(text or "", completions or 0)
        if not change.differs(name) or text is None:
            continue
        if not may_be and (text or name == "failedIndexes"):
            yield invalid(f"status.{name}", text, "cannot be set for a job of this kind")
        elif completions is not None and lists[name] is None:
            yield invalid(f"status.{name}", text, f"must be increasing indexes below {completions}")
    if completions is not None and change.differs("failedIndexes", "completedIndexes"):
        runs = sorted((*run, side) for side, found in enumerate(lists.values()) for run in found or ())
        for (_, last, side), (first, _, other) in pairwise(runs):
            if side != other and first <= last:
                words = f"failedIndexes and completedIndexes overlap at index: {first}"
                yield invalid("status.failedIndexes", change.new.get("failedIndexes"), words)
                return
