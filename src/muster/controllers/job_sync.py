"""One look at a Job: what its pods have come to, what is to be done about it, and the status that says so."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from muster.api.calls import Answer, Asked, Done, Lost, Patch, Refused, Say, is_fine
from muster.api.times import stamp
from muster.controllers import job_failures, job_indexes, job_pods, job_status
from muster.controllers.desk import Again
from muster.controllers.job_failures import NO_INDEX, Record, index_of, is_failed
from muster.controllers.job_objects import Job, JobCondition
from muster.controllers.job_pods import Names
from muster.controllers.job_standing import Standing
from muster.controllers.job_status import Draft
from muster.controllers.objects import Pod, PodGroup, read

Steps = Generator[Sequence[Asked], Sequence[Answer], Any]

# of one look, as upstream: the status stays below 20 KB, and a large Job leaves others their turn
MOST_UNCOUNTED = 500
MOST_PODS = 500


class Sync:
    """Used once.  `steps` yields calls and goes on with their answers; afterwards `look_again_at` is worth a look."""

    def __init__(
        self,
        job: Job,
        pods: Sequence[Pod],
        *,
        group: PodGroup | None,
        record: Record,
        remember: Callable[[Record], None],
        names: Names,
        now: Callable[[], float],
    ) -> None:
        self.look_again_at: list[float] = []
        self._job = job
        self._spec = job.spec
        self._group = group
        self._remember = remember
        self._names = names
        self._now = now
        self._draft = Draft(job)
        if self._draft.start_time is None and not self._spec.suspend:
            self._draft.start_time = stamp(now())
        self._at = Standing(self._draft, pods, record=record, now=now())

    # --- the look ---

    def steps(self) -> Steps:
        if self._at.deadline is not None:
            self.look_again_at.append(self._at.deadline)
        changed, failed = False, False
        if self._at.finished is not None:
            failed = yield from self._delete_active()
        else:
            managed = self._job.metadata.deletion_timestamp is None
            if managed:
                failed = yield from self._manage()
            if self._at.is_complete():
                words = "Reached expected number of succeeded pods"
                self._at.finished = self._condition("SuccessCriteriaMet", "CompletionsReached", words)
            elif managed:
                changed = yield from self._say_whether_suspended()
        yield from self._track(changed=changed)
        if failed:
            raise Again

    # --- suspension ---

    def _condition(self, kind: str, reason: str, message: str, *, holds: bool = True) -> JobCondition:
        return job_status.condition(kind, reason, message, now=self._now(), holds=holds)

    def _say_whether_suspended(self) -> Steps:
        """Returns whether it was otherwise before."""
        if self._spec.suspend:
            if not self._draft.ensure(self._condition("Suspended", "JobSuspended", "Job suspended")):
                return False
            self._draft.start_time = None
            yield [self._say("Suspended", "Job suspended")]
            return True
        if not self._draft.ensure(self._condition("Suspended", "JobResumed", "Job resumed", holds=False)):
            return False
        # the deadline counts from when it goes on
        self._draft.start_time = stamp(self._now())
        yield [self._say("Resumed", "Job resumed")]
        return True

    # --- pods ---

    def _manage(self) -> Steps:
        """Makes and deletes pods; returns whether any of that failed."""
        if self._spec.suspend:
            return (
                yield from self._delete_uncounted(job_pods.to_remove(self._job, self._at.active_pods, self._at.active))
            )
        wanted = self._wanted()
        removed = job_pods.to_remove(self._job, self._at.active_pods, max(0, self._at.active - wanted))[:MOST_PODS]
        if removed:
            # one or the other in one look, as upstream
            return (yield from self._delete_uncounted(removed))
        missing = wanted - self._at.active - (self._at.terminating if self._job.replaces_failed_only else 0)
        if missing <= 0:
            return False
        per_index = self._spec.backoff_limit_per_index is not None
        wait = 0.0 if per_index else self._at.record.seconds_left(self._now())
        if wait > 0:
            self.look_again_at.append(self._now() + wait)
            return False
        missing = min(missing, MOST_PODS)
        if not self._job.is_indexed:
            return (yield from self._create([NO_INDEX] * missing))
        return (yield from self._create(self._indexes_to_add(missing, per_index=per_index)))

    def _wanted(self) -> int:
        """How many pods should be active."""
        if self._spec.completions is None:
            # once one has succeeded, what runs may run on
            return self._at.active if self._at.succeeded else self._spec.parallelism
        return max(0, min(self._spec.completions - self._at.succeeded, self._spec.parallelism))

    def _indexes_to_add(self, count: int, *, per_index: bool) -> list[int]:
        taken = self._at.active_pods
        if self._job.replaces_failed_only:
            taken = [*taken, *(pod for pod in self._at.pods if job_pods.is_terminating(pod))]
        indexes = {index_of(pod) for pod in taken} - {NO_INDEX}
        occupied = job_indexes.merge(job_indexes.with_indexes(self._at.done, indexes), self._at.failed_indexes or ())
        found = job_indexes.first_missing(occupied, count=count, completions=self._spec.completions or 0)
        if not per_index:
            return found
        waits = {index: job_failures.seconds_left_of_index(self._at.delayed.get(index), self._now()) for index in found}
        ready = [index for index in found if waits[index] <= 0]
        if not ready and waits:
            self.look_again_at.append(self._now() + min(waits.values()))
        return ready

    def _create(self, indexes: list[int]) -> Steps:
        """Makes pods, one first, then twice as many each time: what refuses one is likely to refuse all."""
        maker = job_pods.Maker(self._job, self._group, names=self._names)
        size, errors = 1, 0
        while indexes and not errors:
            batch, indexes = indexes[:size], indexes[size:]
            calls = [maker.pod(index, replaced=self._at.delayed.get(index)) for index in batch]
            answers = yield calls
            said: list[Say] = []
            for call, answer in zip(calls, answers, strict=True):
                if isinstance(answer, Done):
                    said.append(self._say("SuccessfulCreate", f"Created pod: {call.body['metadata']['name']}"))
                    self._at.active += 1
                elif not (isinstance(answer, Refused) and answer.in_dying_namespace):
                    meta = call.body["metadata"]
                    # the same words for all of them, as of pods that the server would have named
                    words = answer.message.replace(meta["name"], meta["generateName"])
                    said.append(self._say("FailedCreate", f"Error creating: {words}", warning=True))
                    errors += 1
            yield said
            size *= 2
        return errors > 0

    def _delete_uncounted(self, pods: list[Pod]) -> Steps:
        """Deletes pods that shall not count as failed; returns whether any stays."""
        tracked = [pod for pod in pods if job_pods.is_tracked(pod)]
        calls = [job_pods.untrack(pod) for pod in tracked]
        answers = yield calls
        stays = {
            pod.metadata.uid
            for pod, call, answer in zip(tracked, calls, answers, strict=True)
            if not is_fine(call, answer)
        }
        deleted = yield from self._delete([pod for pod in pods if pod.metadata.uid not in stays])
        return deleted < len(pods)

    def _delete_active(self) -> Steps:
        """The Job is over: what runs is not needed; returns whether any stays."""
        pods = self._at.active_pods
        deleted = yield from self._delete(pods)
        if deleted < len(pods):
            # it is not over before all of them are on their way out
            self._at.finished = None
        return deleted < len(pods)

    def _delete(self, pods: list[Pod]) -> Steps:
        """Returns how many are on their way out now, and counts them so."""
        calls = [job_pods.delete(pod) for pod in pods]
        answers = yield calls
        said, deleted = [], 0
        for pod, call, answer in zip(pods, calls, answers, strict=True):
            if isinstance(answer, Done):
                said.append(self._say("SuccessfulDelete", f"Deleted pod: {pod.metadata.name}"))
            if is_fine(call, answer):
                deleted += 1
                self._at.ready -= pod.is_ready
            elif isinstance(answer, Refused | Lost):
                said.append(self._say("FailedDelete", f"Error deleting: {answer.message}", warning=True))
        yield said
        self._at.active -= deleted
        self._at.terminating += deleted
        return deleted

    # --- counting ---

    def _track(self, *, changed: bool) -> Steps:
        """Writes the status, takes finalizers off pods that it accounts for, and counts them."""
        draft, status = self._draft, self._job.status
        now = (self._at.active, self._at.ready, self._at.terminating)
        changed = changed or now != (status.active, status.ready, status.terminating)
        draft.active, draft.ready, draft.terminating = now
        tracked = {pod.metadata.uid for pod in self._at.pods if job_pods.is_tracked(pod)}
        changed = draft.count(tracked) or changed
        over, news, cut = self._take_stock()
        changed = news or changed
        changed = self._write_interim() or changed
        if changed:
            yield from self._flush()
        freed, refused = yield from self._untrack(over)
        changed = self._draft.count(tracked - freed)
        if refused:
            if changed:
                yield from self._flush()
            raise Again
        ended = not cut and self._enact_end()
        if changed or ended:
            yield from self._flush()
        if ended:
            yield self._last_words()

    def _take_stock(self) -> tuple[list[Pod], bool, bool]:
        """Pods that need their finalizer no longer, whether the status says something new for it, and if it is full."""
        draft, news, cut = self._draft, False, False
        over: list[Pod] = []
        new_indexes: list[int] = []
        for pod in self._at.pods:
            if not job_pods.is_tracked(pod) or not self._may_untrack(pod):
                continue
            over.append(pod)
            uid = pod.metadata.uid
            if pod.status.phase == "Succeeded" and uid not in self._at.uncounted_failed:
                if self._job.is_indexed:
                    # the index is enough: it is counted once
                    if self._at.has_place(pod) and not job_indexes.has(self._at.before, index_of(pod)):
                        new_indexes.append(index_of(pod))
                        news = True
                elif uid not in self._at.uncounted_succeeded:
                    draft.uncounted_succeeded.append(uid)
                    news = True
            elif self._counts_as_failed(pod):
                draft.uncounted_failed.append(uid)
                news = True
            if len(new_indexes) + draft.uncounted >= MOST_UNCOUNTED:
                cut = True
                break
        if self._job.is_indexed:
            news = self._write_indexes(new_indexes) or news
        return over, news, cut

    def _may_untrack(self, pod: Pod) -> bool:
        going = self._job.metadata.deletion_timestamp is not None or self._at.finished is not None
        if going or pod.status.phase == "Succeeded":
            return True
        if not is_failed(pod, self._job):
            return False
        delayed = self._at.delayed.get(index_of(pod))
        return delayed is None or delayed.metadata.uid != pod.metadata.uid

    def _counts_as_failed(self, pod: Pod) -> bool:
        # when a Job fails, whatever has not ended has failed with it
        failing = self._at.finished is not None and self._at.finished.type != "SuccessCriteriaMet"
        if not (is_failed(pod, self._job) or failing):
            return False
        if pod.metadata.uid in self._at.uncounted_failed or not self._at.has_place(pod):
            return False
        return job_failures.judge(self._spec.pod_failure_policy, pod).counts

    def _write_indexes(self, new: list[int]) -> bool:
        draft = self._draft
        self._at.done = job_indexes.with_indexes(self._at.done, new)
        done = job_indexes.show(self._at.done)
        failed = None if self._at.failed_indexes is None else job_indexes.show(self._at.failed_indexes)
        changed = (done, failed) != (draft.completed_indexes, draft.failed_indexes)
        draft.succeeded = job_indexes.total(self._at.done)
        draft.completed_indexes, draft.failed_indexes = done, failed
        return changed

    def _write_interim(self) -> bool:
        """Says how it will end before the pods that are the reason may go; returns whether that is new."""
        end = self._at.finished
        if end is None or end.type not in ("FailureTarget", "SuccessCriteriaMet"):
            return False
        new = self._draft.find(end.type) is None
        if new:
            self._draft.conditions.append(end)
        final = "Failed" if end.type == "FailureTarget" else "Complete"
        self._at.finished = self._condition(final, end.reason, end.message)
        return new

    def _enact_end(self) -> bool:
        """The last condition, once every pod is counted and none is on its way out."""
        end = self._at.finished
        if end is None or self._draft.uncounted or self._at.terminating > 0:
            return False
        end = self._condition(end.type, end.reason, end.message)
        self._draft.ensure(end)
        # one that is suspended has none, and the server takes no end without
        self._draft.start_time = self._draft.start_time or end.last_transition_time
        if end.type == "Complete":
            self._draft.completion_time = end.last_transition_time
        return True

    def _untrack(self, pods: list[Pod]) -> Steps:
        """Returns the UIDs that are free now, and whether any was refused."""
        calls: list[Patch] = [job_pods.untrack(pod) for pod in pods]
        answers = yield calls
        freed = {
            pod.metadata.uid for pod, call, answer in zip(pods, calls, answers, strict=True) if is_fine(call, answer)
        }
        return freed, len(freed) < len(pods)

    def _flush(self) -> Steps:
        [answer] = yield [self._draft.patch()]
        job = read(Job, answer.data) if isinstance(answer, Done) else None
        if job is None:
            raise Again
        self._draft = Draft(job)
        self._remember(self._at.record)

    # --- words ---

    def _last_words(self) -> list[Say]:
        end, completions = self._at.finished, self._spec.completions
        assert end is not None
        if end.type != "Complete":
            return [self._say(end.reason, end.message, warning=True)]
        said = []
        if completions is not None and self._draft.succeeded > completions:
            words = "Too many succeeded pods running after completion count reached"
            said.append(self._say("TooManySucceededPods", words, warning=True))
        return [*said, self._say("Completed", "Job completed")]

    def _say(self, reason: str, message: str, *, warning: bool = False) -> Say:
        return job_pods.say(self._job, reason, message, warning=warning)
