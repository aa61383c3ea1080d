"""Where a Job stands: what its pods have come to, and whether and how that ends it."""

from __future__ import annotations

from collections.abc import Sequence

from muster.api.times import seconds
from muster.controllers import job_failures, job_indexes, job_pods, job_status
from muster.controllers.job_failures import NO_INDEX, Record, index_of, is_failed
from muster.controllers.job_indexes import Intervals
from muster.controllers.job_objects import JobCondition, Uncounted
from muster.controllers.job_status import Draft
from muster.controllers.objects import Pod


class Standing:
    """The counts of one moment.  Whoever acts on them changes them: a pod that is made is active from then on."""

    def __init__(self, draft: Draft, pods: Sequence[Pod], *, record: Record, now: float) -> None:
        job = draft.job
        uncounted = job.status.uncounted_terminated_pods or Uncounted()
        self.pods = sorted(pods, key=index_of) if job.is_indexed else list(pods)
        self.uncounted_succeeded = frozenset(uncounted.succeeded)
        self.uncounted_failed = frozenset(uncounted.failed)
        self.active_pods = [pod for pod in pods if job_pods.is_active(pod)]
        self.active = len(self.active_pods)
        self.ready = sum(pod.is_ready for pod in self.active_pods)
        self.terminating = sum(job_pods.is_terminating(pod) for pod in pods)
        self.before: Intervals = ()
        """Indexes that the status says have succeeded."""
        self.done: Intervals = ()
        """Those, and those of pods that are still to be counted."""
        self.failed_indexes: Intervals | None = None
        """None for a Job whose indexes do not fail on their own."""
        self.delayed: dict[int, Pod] = {}
        """Failed pods that must stay until they are replaced: the new one has to know how many there were."""
        self.deadline: float | None = None
        """When time will be up."""
        self.finished: JobCondition | None = None
        """How the Job ends."""
        self._job = job
        self._spec = job.spec
        self._now = now
        self._count(record)
        self._find_end(draft)
        if job.is_indexed:
            self._find_end_of_indexes()

    def _count(self, record: Record) -> None:
        succeeded = [pod for pod in self._valid(self.uncounted_succeeded) if pod.status.phase == "Succeeded"]
        failed = [pod for pod in self._valid(self.uncounted_failed) if is_failed(pod, self._job)]
        counted = sum(job_failures.judge(self._spec.pod_failure_policy, pod).counts for pod in failed)
        status = self._job.status
        self.succeeded = status.succeeded + len(succeeded) + len(self.uncounted_succeeded)
        self.failed = status.failed + counted + len(self.uncounted_failed)
        self.record = record.after(succeeded, failed)

    def _valid(self, uncounted: frozenset[str] = frozenset()) -> list[Pod]:
        """Pods that are not counted yet, and for an Indexed Job have an index that it wants."""
        return [
            pod
            for pod in self.pods
            if job_pods.is_tracked(pod) and pod.metadata.uid not in uncounted and self.has_place(pod)
        ]

    def has_place(self, pod: Pod) -> bool:
        if not self._job.is_indexed:
            return True
        return index_of(pod) != NO_INDEX and index_of(pod) < (self._spec.completions or 0)

    # --- how it ends ---

    def _find_end(self, draft: Draft) -> None:
        """What was decided before stands; then failures come first."""
        spec = self._spec
        self.finished = draft.find("SuccessCriteriaMet")
        if self.finished is not None:
            return
        if (target := draft.find("FailureTarget")) is not None:
            self.finished = self._condition("Failed", target.reason, target.message)
        elif (message := self._fatal_failure()) is not None:
            self.finished = self._condition("FailureTarget", "PodFailurePolicy", message)
        elif self.failed > spec.backoff_limit or self._restarted_too_often():
            words = "Job has reached the specified backoff limit"
            self.finished = self._condition("FailureTarget", "BackoffLimitExceeded", words)
        elif spec.active_deadline_seconds is not None and not spec.suspend and draft.start_time is not None:
            deadline = seconds(draft.start_time) + spec.active_deadline_seconds
            if deadline <= self._now:
                words = "Job was active longer than specified deadline"
                self.finished = self._condition("FailureTarget", "DeadlineExceeded", words)
            else:
                self.deadline = deadline

    def _fatal_failure(self) -> str | None:
        policy = self._spec.pod_failure_policy
        failed = (pod for pod in self.pods if policy is not None and is_failed(pod, self._job))
        return next((words for pod in failed if (words := job_failures.judge(policy, pod).message) is not None), None)

    def _restarted_too_often(self) -> bool:
        """Pods that are restarted in place fail without an end; their restarts count."""
        if (self._spec.template.get("spec") or {}).get("restartPolicy") != "OnFailure":
            return False
        restarts = sum(
            one.restart_count
            for pod in self.pods
            if pod.status.phase in ("Running", "Pending")
            for one in (*pod.status.init_container_statuses, *pod.status.container_statuses)
        )
        return restarts > 0 if self._spec.backoff_limit == 0 else restarts >= self._spec.backoff_limit

    def _find_end_of_indexes(self) -> None:
        job, completions = self._job, self._spec.completions or 0
        self.before = job_indexes.parse(job.status.completed_indexes, completions)
        succeeded = {index_of(pod) for pod in self._valid() if pod.status.phase == "Succeeded"}
        self.done = job_indexes.with_indexes(self.before, succeeded)
        self.succeeded = job_indexes.total(self.done)
        if self._spec.backoff_limit_per_index is not None:
            before = job_indexes.parse(job.status.failed_indexes or "", completions)
            failed = {index_of(pod) for pod in self._valid() if job_failures.is_index_failed(job, pod)}
            self.failed_indexes = job_indexes.with_indexes(before, failed)
            self._find_end_of_failed_indexes(job_indexes.total(self.failed_indexes), completions)
            self.delayed = self._find_delayed()
        if self.finished is None and (words := job_failures.success(job, self.done)) is not None:
            self.finished = self._condition("SuccessCriteriaMet", "SuccessPolicy", words)

    def _find_end_of_failed_indexes(self, failed: int, completions: int) -> None:
        if self.finished is not None:
            return
        if self._spec.max_failed_indexes is not None and failed > self._spec.max_failed_indexes:
            words = "Job has exceeded the specified maximal number of failed indexes"
            self.finished = self._condition("FailureTarget", "MaxFailedIndexesExceeded", words)
        elif failed and failed + self.succeeded >= completions:
            self.finished = self._condition("FailureTarget", "FailedIndexes", "Job has failed indexes")

    def _find_delayed(self) -> dict[int, Pod]:
        active = {index_of(pod) for pod in self.active_pods}
        over = job_indexes.merge(self.done, self.failed_indexes or ())
        found: dict[int, Pod] = {}
        for pod in self._valid():
            index = index_of(pod)
            if not is_failed(pod, self._job) or index in active or job_indexes.has(over, index):
                continue
            known = found.get(index)
            if known is None or _is_later_failure(pod, known):
                found[index] = pod
        return found

    def is_complete(self) -> bool:
        """With completions when there are so many; without when one has succeeded and the others have ended."""
        wanted = self._spec.completions if self._spec.completions is not None else 1
        return self.succeeded >= wanted and self.active == 0

    def _condition(self, kind: str, reason: str, message: str) -> JobCondition:
        return job_status.condition(kind, reason, message, now=self._now)


def _is_later_failure(pod: Pod, known: Pod) -> bool:
    more = job_failures.all_failures_of_index(known) <= job_failures.all_failures_of_index(pod)
    return more and job_failures.finished_at(pod) >= job_failures.finished_at(known)
