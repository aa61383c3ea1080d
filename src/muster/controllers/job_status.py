"""The status of a Job while it is worked out: counters, conditions, and the pods that are about to be counted.

A pod that ended is counted exactly once, whatever is lost on the way:

    its UID is written into uncountedTerminatedPods → its finalizer is taken off → the UID becomes a count
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from muster.api.calls import Document, Patch
from muster.api.times import stamp
from muster.controllers.job_objects import Job, JobCondition, Uncounted
from muster.controllers.objects import JOBS


def condition(kind: str, reason: str, message: str, *, now: float, holds: bool = True) -> JobCondition:
    at = stamp(now)
    status = "True" if holds else "False"
    return JobCondition(
        type=kind, status=status, reason=reason, message=message, last_probe_time=at, last_transition_time=at
    )


class Draft:
    """A status that can be changed, on a Job as it is stored."""

    def __init__(self, job: Job) -> None:
        self.job = job
        status = job.status
        uncounted = status.uncounted_terminated_pods or Uncounted()
        self.active = status.active
        self.ready = status.ready
        self.terminating = status.terminating
        self.succeeded = status.succeeded
        self.failed = status.failed
        self.start_time = status.start_time
        self.completion_time = status.completion_time
        self.conditions = list(status.conditions)
        self.completed_indexes = status.completed_indexes
        self.failed_indexes = status.failed_indexes
        self.uncounted_succeeded = list(uncounted.succeeded)
        self.uncounted_failed = list(uncounted.failed)

    # --- conditions ---

    def find(self, kind: str) -> JobCondition | None:
        """The condition of this type, if it holds."""
        return next((one for one in self.conditions if one.type == kind and one.status == "True"), None)

    def ensure(self, wanted: JobCondition) -> bool:
        """Has the condition say this; whether it said something else.  What was never said need not be denied."""
        for place, one in enumerate(self.conditions):
            if one.type == wanted.type:
                if (one.status, one.reason, one.message) == (wanted.status, wanted.reason, wanted.message):
                    return False
                self.conditions[place] = wanted
                return True
        if wanted.status == "False":
            return False
        self.conditions.append(wanted)
        return True

    # --- counting ---

    @property
    def uncounted(self) -> int:
        return len(self.uncounted_succeeded) + len(self.uncounted_failed)

    def count(self, tracked: Iterable[str]) -> bool:
        """Counts the pods that are not tracked any more; whether there were any."""
        kept = set(tracked)
        succeeded = [uid for uid in self.uncounted_succeeded if uid in kept]
        failed = [uid for uid in self.uncounted_failed if uid in kept]
        counted_succeeded = len(self.uncounted_succeeded) - len(succeeded)
        counted_failed = len(self.uncounted_failed) - len(failed)
        self.succeeded += counted_succeeded
        self.failed += counted_failed
        self.uncounted_succeeded, self.uncounted_failed = succeeded, failed
        return bool(counted_succeeded or counted_failed)

    # --- writing ---

    def patch(self) -> Patch:
        """Writes it, if nobody changed the Job since it was read."""
        meta = self.job.metadata
        body = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version}, "status": self._document()}
        return Patch(path=JOBS.path(meta.namespace, meta.name, "status"), body=body, gone_is_fine=False)

    def _document(self) -> Document:
        # null takes away what is there no longer
        return {
            "active": self.active,
            "ready": self.ready,
            "terminating": self.terminating,
            "succeeded": self.succeeded,
            "failed": self.failed,
            "startTime": self.start_time,
            "completionTime": self.completion_time,
            "conditions": msgspec.to_builtins(self.conditions) or None,
            "completedIndexes": self.completed_indexes or None,
            "failedIndexes": self.failed_indexes,
            "uncountedTerminatedPods": {
                "succeeded": self.uncounted_succeeded or None,
                "failed": self.uncounted_failed or None,
            },
        }
