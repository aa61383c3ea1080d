"""The Job controller: Kubernetes' own, as a core without I/O."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from muster.api.calls import Answer, Asked, Done, Look
from muster.controllers import job_pods
from muster.controllers.desk import Again, AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.job_failures import Record
from muster.controllers.job_groups import Groups
from muster.controllers.job_objects import Job
from muster.controllers.job_pods import Names
from muster.controllers.job_sync import Sync
from muster.controllers.objects import JOBS, OwnerReference, Pod, PodGroup, Workload, read

# changes of pods come in bursts: those of so short a while are looked at together.  Upstream waits a second, for the
# load of many thousand Jobs
_GATHER_SECONDS = 0.1
_FIRST_AGAIN_SECONDS = 1.0
_LONGEST_AGAIN_SECONDS = 60.0


class Jobs(AtDesks):
    """Runs the pods of all Jobs, counts how they end, and says in each Job's status what came of it.

    `names` gives the last part of pods' names; `groups` says that Workloads and PodGroups are served.
    """

    def __init__(self, *, names: Names, groups: bool = True) -> None:
        self._names = names
        self._groups = Groups() if groups else None
        self._jobs: dict[str, Job] = {}
        self._in_namespace: dict[str, set[str]] = {}
        """Keys of Jobs."""
        self._pods: dict[str, dict[str, Pod]] = {}
        """By the UID of the Job that controls them, which need not be known, and UID."""
        self._orphans: dict[str, dict[str, Pod]] = {}
        """Pods that nobody controls, by namespace and UID."""
        self._where: dict[str, tuple[dict[str, dict[str, Pod]], str]] = {}
        """In which of the two a pod is, and under which key, by its UID."""
        self._records: dict[str, Record] = {}
        """Failures since the last success, by the key of the Job; a new process begins anew."""
        self._desk = Desk(self._look, first=_FIRST_AGAIN_SECONDS, last=_LONGEST_AGAIN_SECONDS)
        self._strays = Desk(self._free, first=_FIRST_AGAIN_SECONDS, last=_LONGEST_AGAIN_SECONDS)
        """UIDs of pods whose finalizer nobody else will take off."""
        super().__init__(self._desk, self._strays)

    # --- what is seen ---

    def seen(self, where: str, thing: Job | Pod | Workload | PodGroup) -> None:
        if isinstance(thing, Job):
            self._job_seen(thing)
        elif isinstance(thing, Pod):
            self._pod_seen(thing)
        elif self._groups is not None:
            self._groups.seen(thing)

    def gone(self, where: str, thing: Job | Pod | Workload | PodGroup) -> None:
        if isinstance(thing, Job):
            self._jobs.pop(thing.metadata.key, None)
            self._in_namespace.get(thing.metadata.namespace, set()).discard(thing.metadata.key)
            self._records.pop(thing.metadata.key, None)
            self._check_strays(thing)
        elif isinstance(thing, Pod):
            self._forget(thing.metadata.uid)
            self._wake_owner(thing)
        elif self._groups is not None:
            self._groups.gone(thing)

    def _job_seen(self, job: Job) -> None:
        key = job.metadata.key
        before = self._jobs.get(key)
        self._jobs[key] = job
        self._in_namespace.setdefault(job.metadata.namespace, set()).add(key)
        if job.is_finished:
            self._check_strays(job)
        elif before is None or before.metadata.generation != job.metadata.generation:
            self._desk.add(key)
        else:
            self._gather(key)

    def _pod_seen(self, pod: Pod) -> None:
        self._forget(pod.metadata.uid)
        owner = pod.metadata.controller
        if owner is None:
            self._keep(pod, self._orphans, pod.metadata.namespace)
            for key in sorted(self._in_namespace.get(pod.metadata.namespace, ())):
                if _selects(self._jobs[key], pod):
                    self._gather(key)
        elif owner.kind == JOBS.kind:
            self._keep(pod, self._pods, owner.uid)
            self._wake_owner(pod)
        if self._is_stray(pod):
            self._strays.add(pod.metadata.uid)

    def _keep(self, pod: Pod, shelf: dict[str, dict[str, Pod]], key: str) -> None:
        shelf.setdefault(key, {})[pod.metadata.uid] = pod
        self._where[pod.metadata.uid] = (shelf, key)

    def _forget(self, uid: str) -> None:
        shelf, key = self._where.pop(uid, ({}, ""))
        if key in shelf:
            shelf[key].pop(uid, None)
            if not shelf[key]:
                del shelf[key]

    def _wake_owner(self, pod: Pod) -> None:
        owner = pod.metadata.controller
        if owner is not None and (job := self._find(pod.metadata.namespace, owner)) is not None:
            self._gather(job.metadata.key)

    def _gather(self, key: str) -> None:
        self._desk.add(key, at=self._desk.now + _GATHER_SECONDS)

    # --- what is done ---

    def _look(self, key: str) -> Looking:
        job = self._jobs.get(key)
        if job is None or not job.is_ours:
            return
        if job.is_finished:
            self._records.pop(key, None)
            return
        if job.spec.completion_mode not in ("NonIndexed", "Indexed"):
            words = "Skipped Job sync because completion mode is unknown"
            yield [job_pods.say(job, "UnknownCompletionMode", words, warning=True)]
            return
        pods = yield from self._claim(job)
        group = (yield from self._groups.ensure(job, pods)) if self._groups is not None else None
        sync = Sync(
            job,
            pods,
            group=group,
            record=self._records.get(key, Record()),
            remember=lambda record: self._records.__setitem__(key, record),
            names=self._names,
            now=lambda: self._desk.now,
        )
        yield from sync.steps()
        for at in sync.look_again_at:
            self._desk.add(key, at=max(at, self._desk.now + _GATHER_SECONDS))

    # --- whose pods ---

    def _claim(self, job: Job) -> Generator[Sequence[Asked], Sequence[Answer], Any]:
        """The pods of a Job: those that it controls and selects, and those that it selects and nobody controls."""
        owned = list(self._pods.get(job.metadata.uid, {}).values())
        claimed = [pod for pod in owned if _selects(job, pod)]
        if job.metadata.deletion_timestamp is not None:
            return claimed
        if let_go := [pod for pod in owned if not _selects(job, pod)]:
            yield [job_pods.release(job, pod) for pod in let_go]
        orphans = self._orphans.get(job.metadata.namespace, {}).values()
        found = [pod for pod in orphans if pod.metadata.deletion_timestamp is None and _selects(job, pod)]
        if found:
            # a Job that has just been deleted must not take pods with it
            path = JOBS.path(job.metadata.namespace, job.metadata.name)
            [answer] = yield [Look(path=path)]
            fresh = read(Job, answer.data) if isinstance(answer, Done) else None
            if fresh is None or fresh.metadata.uid != job.metadata.uid or fresh.metadata.deletion_timestamp is not None:
                raise Again
            answers = yield [job_pods.adopt(job, pod) for pod in found]
            adopted = (read(Pod, answer.data) for answer in answers if isinstance(answer, Done))
            claimed += [pod for pod in adopted if pod is not None]
        return claimed

    def _find(self, namespace: str, owner: OwnerReference) -> Job | None:
        job = self._jobs.get(f"{namespace}/{owner.name}")
        return job if job is not None and owner.kind == JOBS.kind and job.metadata.uid == owner.uid else None

    # --- pods that no Job will free ---

    def _check_strays(self, job: Job) -> None:
        for pod in self._pods.get(job.metadata.uid, {}).values():
            if job_pods.is_tracked(pod):
                self._strays.add(pod.metadata.uid)

    def _is_stray(self, pod: Pod) -> bool:
        """Whether a pod may be one whose finalizer nobody else will take off."""
        if not job_pods.is_tracked(pod):
            return False
        owner = pod.metadata.controller
        if owner is None:
            return True
        job = self._find(pod.metadata.namespace, owner)
        # the Job of a pod that is not on its way out may be on its way in
        return job.is_finished if job is not None else pod.metadata.deletion_timestamp is not None

    def _free(self, uid: str) -> Looking:
        shelf, key = self._where.get(uid, ({}, ""))
        pod = shelf.get(key, {}).get(uid)
        if pod is None or not job_pods.is_tracked(pod):
            return
        owner = pod.metadata.controller
        if owner is not None:
            if (owner.api_version, owner.kind) != (JOBS.api_version, JOBS.kind):
                return
            job = self._find(pod.metadata.namespace, owner)
            if job is not None and (not job.is_ours or not job.is_finished):
                return
        [answer] = yield [job_pods.untrack(pod)]
        if not isinstance(answer, Done) and not getattr(answer, "is_gone", False):
            raise Again


def _selects(job: Job, pod: Pod) -> bool:
    return job.spec.selector is not None and job.spec.selector.matches(pod.metadata.labels)
