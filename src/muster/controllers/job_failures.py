"""What failed pods mean for their Job: which count, which end it, and how long to wait before the next try."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from muster.api.times import seconds
from muster.base.backoff import backoff_seconds
from muster.controllers import job_indexes
from muster.controllers.job_indexes import Intervals
from muster.controllers.job_objects import (
    FAILURES,
    IGNORED_FAILURES,
    INDEX,
    ExitCodes,
    FailurePolicy,
    FailureRule,
    Job,
    SuccessRule,
)
from muster.controllers.objects import ContainerStatus, Pod

NO_INDEX = -1
_FIRST_WAIT_SECONDS = 10.0
_LONGEST_WAIT_SECONDS = 600.0
_MOST = 2**31 - 1


def is_failed(pod: Pod, job: Job) -> bool:
    """Whether the pod has failed, or counts so because it is on its way out."""
    if pod.status.phase == "Failed":
        return True
    if job.replaces_failed_only:
        return False
    # of a pod whose node is gone nobody will ever say that it failed
    return pod.metadata.deletion_timestamp is not None and pod.status.phase != "Succeeded"


def index_of(pod: Pod) -> int:
    """The completion index; NO_INDEX if the pod has none that makes sense."""
    text = pod.metadata.annotations.get(INDEX, "")
    return int(text) if text.isascii() and text.isdigit() else NO_INDEX


# --- policies ---


class Verdict(NamedTuple):
    """What a failure policy says of a pod that failed."""

    counts: bool = True
    """Towards the backoff limit."""
    message: str | None = None
    """Why it is the end of the Job."""
    action: str = ""


def judge(policy: FailurePolicy | None, pod: Pod) -> Verdict:
    for number, rule in enumerate(policy.rules if policy is not None else ()):
        if (what := _match(rule, pod)) is None:
            continue
        match rule.action:
            case "Ignore":
                return Verdict(counts=False, action=rule.action)
            case "FailIndex" | "Count":
                return Verdict(action=rule.action)
            case "FailJob":
                return Verdict(message=f"{what} matching FailJob rule at index {number}", action=rule.action)
    return Verdict()


def _match(rule: FailureRule, pod: Pod) -> str | None:
    """In words what of the pod matches; None if nothing does."""
    name = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if rule.on_exit_codes is not None:
        for statuses in (pod.status.container_statuses, pod.status.init_container_statuses):
            for one in statuses:
                if (code := _matching_code(rule.on_exit_codes, one)) is not None:
                    return f"Container {one.name} for pod {name} failed with exit code {code}"
    elif rule.on_pod_conditions is not None:
        for condition in pod.status.conditions:
            if any((one.type, one.status) == (condition.type, condition.status) for one in rule.on_pod_conditions):
                return f"Pod {name} has condition {condition.type}"
    return None


def _matching_code(wanted: ExitCodes, container: ContainerStatus) -> int | None:
    ended = container.state.terminated
    if ended is None or ended.exit_code == 0 or wanted.container_name not in (None, container.name):
        return None
    listed = ended.exit_code in wanted.values
    return ended.exit_code if listed == (wanted.operator == "In") else None


def success(job: Job, succeeded: Intervals) -> str | None:
    """Which rule of the success policy is met, in words."""
    rules = job.spec.success_policy.rules if job.spec.success_policy is not None and succeeded else ()
    for number, rule in enumerate(rules):
        if _is_met(rule, succeeded, job.spec.completions or 0):
            return f"Matched rules at index {number}"
    return None


def _is_met(rule: SuccessRule, succeeded: Intervals, completions: int) -> bool:
    if rule.succeeded_indexes is None:
        return rule.succeeded_count is not None and job_indexes.total(succeeded) >= rule.succeeded_count
    wanted = job_indexes.parse(rule.succeeded_indexes, completions)
    if not wanted:
        return False
    met = job_indexes.overlap(wanted, succeeded)
    enough = rule.succeeded_count if rule.succeeded_count is not None else job_indexes.total(wanted)
    return met >= enough


# --- indexes that fail on their own ---


def failures_of_index(pod: Pod) -> int:
    return _count(pod, FAILURES)


def all_failures_of_index(pod: Pod) -> int:
    """Those that were ignored, too."""
    return _count(pod, FAILURES) + _count(pod, IGNORED_FAILURES)


def next_failures(job: Job, replaced: Pod | None) -> dict[str, str]:
    """The annotations of a pod that takes the place of another one of its index."""
    if replaced is None:
        return {FAILURES: "0"}
    counts = judge(job.spec.pod_failure_policy, replaced).counts
    failures, ignored = _count(replaced, FAILURES) + counts, _count(replaced, IGNORED_FAILURES) + (not counts)
    return {FAILURES: str(failures)} | ({IGNORED_FAILURES: str(ignored)} if ignored else {})


def is_index_failed(job: Job, pod: Pod) -> bool:
    """Whether the pod's failure is the end of its index."""
    if not is_failed(pod, job):
        return False
    verdict = judge(job.spec.pod_failure_policy, pod)
    limit = job.spec.backoff_limit_per_index or 0
    return verdict.action == "FailIndex" or (verdict.counts and failures_of_index(pod) >= limit)


def _count(pod: Pod, annotation: str) -> int:
    text = pod.metadata.annotations.get(annotation, "")
    number = int(text) if text.isascii() and text.isdigit() else 0
    return number if number <= _MOST else 0


# --- waiting ---


class Record(NamedTuple):
    """Failures since the last success, and when the last one was."""

    failures: int = 0
    last_at: float = 0.0

    def after(self, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> Record:
        """The record once these have ended, too."""
        times = sorted(finished_at(pod) for pod in failed)
        if succeeded:
            last_success = max(finished_at(pod) for pod in succeeded)
            times = [at for at in times if at > last_success]
            return Record(len(times), times[-1] if times else 0.0)
        return Record(self.failures + len(times), times[-1]) if times else self

    def seconds_left(self, now: float) -> float:
        return _seconds_left(self.failures, self.last_at, now)


def seconds_left_of_index(last_failed: Pod | None, now: float) -> float:
    if last_failed is None:
        return 0.0
    return _seconds_left(all_failures_of_index(last_failed) + 1, finished_at(last_failed), now)


def _seconds_left(failures: int, last_at: float, now: float) -> float:
    wait = backoff_seconds(failures, initial=_FIRST_WAIT_SECONDS, maximum=_LONGEST_WAIT_SECONDS)
    return max(0.0, wait - (now - last_at))


def finished_at(pod: Pod) -> float:
    """When a pod ended, by the best that is known of it."""
    ended = _containers_finished_at(pod)
    if ended is not None:
        return ended
    for condition in pod.status.conditions:
        if condition.type == "Ready" and condition.status == "False" and condition.last_transition_time:
            return seconds(condition.last_transition_time)
    if pod.metadata.deletion_timestamp is not None:
        return seconds(pod.metadata.deletion_timestamp) - (pod.metadata.deletion_grace_period_seconds or 0)
    return seconds(pod.metadata.creation_timestamp)


def _containers_finished_at(pod: Pod) -> float | None:
    """When the last container ended, if all have; sidecars end last and count, other init containers do not."""
    sidecars = {one.name for one in pod.spec.init_containers if one.restart_policy == "Always"}
    statuses = [*pod.status.container_statuses]
    statuses += [one for one in pod.status.init_container_statuses if one.name in sidecars]
    times = [one.state.terminated.finished_at if one.state.terminated else None for one in statuses]
    if not times or not all(times):
        return None
    return max(seconds(time or "") for time in times)
