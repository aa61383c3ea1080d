"""Jobs that ended are deleted after the time that they ask for."""

from __future__ import annotations

from muster.api.calls import Delete, Done, Look
from muster.api.times import seconds
from muster.controllers.desk import AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.job_objects import Job
from muster.controllers.objects import JOBS, read


class FinishedJobs(AtDesks):
    """Deletes each Job `ttlSecondsAfterFinished` after its end, and what it owns before it."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._desk = Desk(self._look)
        super().__init__(self._desk)

    def seen(self, where: str, job: Job) -> None:
        self._jobs[job.metadata.key] = job
        if _ends_at(job) is not None:
            self._desk.add(job.metadata.key)

    def gone(self, where: str, job: Job) -> None:
        self._jobs.pop(job.metadata.key, None)

    def _look(self, key: str) -> Looking:
        known = self._jobs.get(key)
        if known is None or not self._is_due(key, known):
            return
        path = JOBS.path(known.metadata.namespace, known.metadata.name)
        # somebody may just have given it more time
        [answer] = yield [Look(path=path, gone_is_fine=True)]
        job = read(Job, answer.data) if isinstance(answer, Done) else None
        if job is not None and self._is_due(key, job):
            yield [Delete(path=path, uid=job.metadata.uid, propagation="Foreground")]

    def _is_due(self, key: str, job: Job) -> bool:
        at = _ends_at(job)
        if at is not None and at > self._desk.now:
            self._desk.add(key, at=at)
        return at is not None and at <= self._desk.now


def _ends_at(job: Job) -> float | None:
    """When a Job is to go; None if nobody asked for it, it has not ended, or is on its way."""
    if job.spec.ttl_seconds_after_finished is None or job.metadata.deletion_timestamp is not None:
        return None
    for condition in job.status.conditions:
        if condition.type in ("Complete", "Failed") and condition.status == "True":
            return seconds(condition.last_transition_time or "") + job.spec.ttl_seconds_after_finished
    return None
