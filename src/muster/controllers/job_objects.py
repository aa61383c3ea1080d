"""Jobs as their controller reads them, and the words that it writes."""

from __future__ import annotations

from typing import Any

import msgspec

from muster.api.wire import Condition, Wire
from muster.base.selectors import LabelSelector
from muster.controllers.objects import Metadata

TRACKING = "batch.kubernetes.io/job-tracking"
"""The finalizer of pods that are not counted yet."""
INDEX = "batch.kubernetes.io/job-completion-index"
"""Annotation and label of a pod of an Indexed Job."""
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"
MANAGER = "kubernetes.io/job-controller"
COMPONENT = "job-controller"


class ExitCodes(Wire, frozen=True):
    container_name: str | None = None
    operator: str = "In"
    values: tuple[int, ...] = ()


class ConditionPattern(Wire, frozen=True):
    type: str = ""
    status: str = "True"


class FailureRule(Wire, frozen=True):
    action: str
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: tuple[ConditionPattern, ...] | None = None


class FailurePolicy(Wire, frozen=True):
    rules: tuple[FailureRule, ...] = ()


class SuccessRule(Wire, frozen=True):
    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(Wire, frozen=True):
    rules: tuple[SuccessRule, ...] = ()


class JobSpec(Wire, frozen=True):
    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    backoff_limit: int = 6
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    suspend: bool = False
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    pod_failure_policy: FailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    pod_replacement_policy: str = "TerminatingOrFailed"
    selector: LabelSelector | None = None
    """None selects nothing."""
    managed_by: str | None = None
    template: dict[str, Any] = msgspec.field(default_factory=dict)
    scheduling: dict[str, Any] | None = None


class Uncounted(Wire, frozen=True):
    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobCondition(Condition, frozen=True):
    last_probe_time: str | None = None


class JobStatus(Wire, frozen=True):
    active: int = 0
    ready: int | None = None
    terminating: int | None = None
    succeeded: int = 0
    failed: int = 0
    start_time: str | None = None
    completion_time: str | None = None
    conditions: tuple[JobCondition, ...] = ()
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: Uncounted | None = None


class Job(Wire, frozen=True):
    metadata: Metadata
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def is_indexed(self) -> bool:
        return self.spec.completion_mode == "Indexed"

    @property
    def is_finished(self) -> bool:
        return any(one.type in ("Complete", "Failed") and one.status == "True" for one in self.status.conditions)

    @property
    def is_ours(self) -> bool:
        """Nobody else has been asked to manage it."""
        return self.spec.managed_by in (None, MANAGER)

    @property
    def replaces_failed_only(self) -> bool:
        """A pod that is on its way out is not replaced before it is over."""
        return self.spec.pod_replacement_policy == "Failed"
