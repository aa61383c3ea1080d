"""What is wrong with the status of a Job.  Most rules look only at what changed, as specs change under a status."""

from __future__ import annotations

from itertools import pairwise

from muster.local.checks.fields import FieldError, duplicate, invalid, required, wrong
from muster.local.checks.metadata import not_negative
from muster.local.codec.values import Object
from muster.local.kinds.jobs.policies import BadIndexes, count_indexes, interval
from muster.local.kinds.jobs.spec import INDEXED

COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
FAILURE_TARGET, CRITERIA_MET = "FailureTarget", "SuccessCriteriaMet"


def errors(new: Object, old: Object) -> list[FieldError]:
    """Of a job's new status, given the job as it is stored; both have the same spec."""
    change = _Change(new, old)
    found = _number_errors(change) + _uncounted_errors(change)
    found += _condition_errors(change) + _time_errors(change)
    found += _target_errors(change) + _finished_errors(change)
    found += _index_errors(change) + _pod_errors(change)
    found += _criteria_errors(change) + _regress_errors(change)
    return found


class _Change:
    """A job's status before and after, with what is true of each."""

    def __init__(self, new: Object, old: Object) -> None:
        self.spec: Object = new["spec"]
        self.new: Object = new.get("status", {})
        self.old: Object = old.get("status", {})

    def differs(self, *names: str) -> bool:
        return any(self.new.get(name) != self.old.get(name) for name in names)

    def has(self, kind: str) -> bool:
        return _is(self.new, kind, "True")

    def had(self, kind: str) -> bool:
        return _is(self.old, kind, "True")

    def turned(self, *kinds: str) -> bool:
        """Whether one of these conditions is not what it was."""
        return any(self.has(kind) != self.had(kind) for kind in kinds)

    @property
    def is_finished(self) -> bool:
        return self.has(COMPLETE) or self.has(FAILED)

    @property
    def finished_now(self) -> bool:
        return self.is_finished != (self.had(COMPLETE) or self.had(FAILED))

    @property
    def is_resuming(self) -> bool:
        return self.had(SUSPENDED) and _is(self.new, SUSPENDED, "False")


def _is(status: Object, kind: str, value: str) -> bool:
    conditions = status.get("conditions") or ()
    return any(one.get("type") == kind and one.get("status") == value for one in conditions)


def _number_errors(change: _Change) -> list[FieldError]:
    numbers = ("active", "succeeded", "failed", "ready", "terminating")
    return [error for name in numbers for error in not_negative(change.new.get(name), f"status.{name}")]


def _uncounted_errors(change: _Change) -> list[FieldError]:
    found, seen = [], set()
    uncounted = change.new.get("uncountedTerminatedPods") or {}
    for kind in ("succeeded", "failed"):
        for index, uid in enumerate(uncounted.get(kind) or ()):
            field = f"status.uncountedTerminatedPods.{kind}[{index}]"
            if not uid:
                found.append(invalid(field, uid, "must not be empty"))
            elif uid in seen:
                found.append(duplicate(field, uid))
            seen.add(uid)
    return found


def _condition_errors(change: _Change) -> list[FieldError]:
    found = []
    complete = change.has(COMPLETE)
    if change.turned(COMPLETE, FAILED) and complete and change.has(FAILED):
        found.append(_wrong_conditions("cannot set Complete=True and Failed=true conditions"))
    if change.turned(COMPLETE, FAILURE_TARGET) and complete and change.has(FAILURE_TARGET):
        found.append(_wrong_conditions("cannot set Complete=True and FailureTarget=true conditions"))
    return found


def _time_errors(change: _Change) -> list[FieldError]:
    found = []
    field = "status.completionTime"
    start, completion = change.new.get("startTime"), change.new.get("completionTime")
    complete = change.has(COMPLETE)
    if change.turned(COMPLETE) or change.differs("completionTime"):
        if completion and not complete:
            words = "cannot set completionTime when there is no Complete=True condition"
            found.append(invalid(field, completion, words))
        if complete and not completion:
            found.append(required(field, "completionTime is required for Complete jobs"))
    # both are UTC in one form: their order is that of their texts
    if change.differs("startTime", "completionTime") and start and completion and completion < start:
        found.append(invalid(field, completion, "must be equal to or after `startTime`"))
    return found


def _target_errors(change: _Change) -> list[FieldError]:
    found = []
    failed_changed = change.turned(FAILED) or change.differs("failedIndexes")
    if failed_changed and change.has(FAILED) and not change.has(FAILURE_TARGET):
        found.append(_wrong_conditions("cannot set Failed=True condition without the FailureTarget=true condition"))
    if change.turned(COMPLETE, CRITERIA_MET) and change.has(COMPLETE) and not change.has(CRITERIA_MET):
        words = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        found.append(_wrong_conditions(words))
    return found


def _finished_errors(change: _Change) -> list[FieldError]:
    if not change.is_finished:
        return []
    found = []
    active = change.new.get("active", 0)
    if (change.finished_now or change.differs("active")) and active > 0:
        found.append(invalid("status.active", active, "active>0 is invalid for finished job"))
    never_ran = change.spec.get("suspend") and change.spec.get("completions") == 0
    if (change.finished_now or change.differs("startTime")) and not never_ran and not change.new.get("startTime"):
        found.append(required("status.startTime", "startTime is required for finished job"))
    uncounted = change.new.get("uncountedTerminatedPods") or {}
    if (change.finished_now or change.differs("uncountedTerminatedPods")) and any(uncounted.values()):
        shown = {"Succeeded": uncounted.get("succeeded"), "Failed": uncounted.get("failed")}
        found.append(invalid("status.uncountedTerminatedPods", shown, "must be empty for finished job"))
    return found


def _index_errors(change: _Change) -> list[FieldError]:
    found = []
    completions = change.spec.get("completions")
    completed, failed = change.new.get("completedIndexes", ""), change.new.get("failedIndexes")
    per_index = "backoffLimitPerIndex" in change.spec
    if change.differs("completedIndexes") and completions is not None:
        found += _format_errors("completedIndexes", completed, completions)
    if change.differs("failedIndexes") and completions is not None and per_index and failed is not None:
        found += _format_errors("failedIndexes", failed, completions)
    if change.differs("completedIndexes") and completed and change.spec.get("completionMode") != INDEXED:
        words = "cannot set non-empty completedIndexes when non-indexed completion mode"
        found.append(invalid("status.completedIndexes", completed, words))
    if change.differs("failedIndexes") and failed is not None and not per_index:
        words = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        found.append(invalid("status.failedIndexes", failed, words))
    if change.differs("failedIndexes", "completedIndexes") and completions is not None and failed:
        both = _overlap(completed, failed, completions)
        if both is not None:
            words = f"failedIndexes and completedIndexes overlap at index: {both}"
            found.append(invalid("status.failedIndexes", failed, words))
    return found


def _format_errors(name: str, text: str, completions: int) -> list[FieldError]:
    try:
        count_indexes(text, completions)
    except BadIndexes as error:
        return [invalid(f"status.{name}", text, f"error parsing {name}: {error}")]
    return []


def _overlap(completed: str, failed: str, completions: int) -> int | None:
    """The first index that is in both lists, as far as these can be read."""
    runs = [(*run, side) for side, text in enumerate((completed, failed)) for run in _readable(text, completions)]
    for (_, last, side), (first, _, other) in pairwise(sorted(runs)):
        if side != other and first <= last:
            return first
    return None


def _readable(text: str, completions: int) -> list[tuple[int, int]]:
    found = []
    for part in text.split(",") if text else ():
        try:
            found.append(interval(part, completions))
        except BadIndexes:
            continue
    return found


def _pod_errors(change: _Change) -> list[FieldError]:
    found = []
    terminating, ready = change.new.get("terminating"), change.new.get("ready")
    stirred = change.finished_now or change.differs("terminating")
    if stirred and change.is_finished and (terminating or 0) > 0:
        found.append(invalid("status.terminating", terminating, "terminating>0 is invalid for finished job"))
    if change.differs("ready", "active") and ready is not None and ready > change.new.get("active", 0):
        found.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    return found


def _criteria_errors(change: _Change) -> list[FieldError]:
    found = []
    met = change.has(CRITERIA_MET)
    if met and change.has(FAILED):
        found.append(_wrong_conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions"))
    if met and change.has(FAILURE_TARGET):
        found.append(_wrong_conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"))
    if "successPolicy" in change.spec and not met and change.has(COMPLETE):
        words = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        found.append(_wrong_conditions(words))
    return found


def _regress_errors(change: _Change) -> list[FieldError]:
    """Of what may not be taken back."""
    found = []
    for kind in (FAILED, COMPLETE, FAILURE_TARGET):
        if change.had(kind) and not change.has(kind):
            found.append(_wrong_conditions(f"cannot disable the terminal {kind}=True condition"))
    shrinks = change.spec.get("completionMode") == INDEXED and change.spec.get("completions") == change.spec.get(
        "parallelism"
    )
    for name in ("failed",) if shrinks else ("failed", "succeeded"):
        if change.new.get(name, 0) < change.old.get(name, 0):
            words = f"cannot decrease the {name} counter"
            found.append(invalid(f"status.{name}", change.new.get(name, 0), words))
    completion, start = change.new.get("completionTime"), change.new.get("startTime")
    if completion and change.old.get("completionTime") and change.differs("completionTime"):
        found.append(invalid("status.completionTime", completion, "field is immutable"))
    stays = change.old.get("startTime") and not change.spec.get("suspend") and not change.is_resuming
    if stays and change.differs("startTime"):
        words = "field is immutable for unsuspended job once set"
        found.append(invalid("status.startTime", start, words))
    if change.had(CRITERIA_MET) and not change.has(CRITERIA_MET):
        found.append(_wrong_conditions("cannot disable the SuccessCriteriaMet=True condition"))
    if change.had(COMPLETE) and not change.had(CRITERIA_MET) and change.has(CRITERIA_MET):
        words = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        found.append(_wrong_conditions(words))
    return found


def _wrong_conditions(words: str) -> FieldError:
    return wrong("status.conditions", words)
