"""Who is in a gang and where its members are in their life, counted so that an arrival costs O(1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple, TypeVar

from muster.cluster.classes import PodClass
from muster.cluster.pods import BINDING, BOUND, FAILED, PENDING, SUCCEEDED, PodState
from muster.gangs.model import Gang, Policy, Subset
from muster.gangs.record import BoundFor

_Key = TypeVar("_Key")

_counted_by = attrgetter("subset", "priority", "controller", "pod_class", "record")


class Standing(NamedTuple):
    """How many members of a subset count, and where they are.

    Members that leave, failed, or lost their node count nowhere.  Those that succeeded count as bound as long as the
    run goes on in which they did.
    """

    present: int
    """All that count, wherever they are in their life."""
    binding: int
    """Decided, not acknowledged."""
    bound: int
    """Bound, whether they still run or succeeded."""


class _Count:
    """Members of one subset by where they are; zeros are not kept."""

    __slots__ = ("binding", "pending", "running", "succeeded")

    def __init__(self) -> None:
        self.pending = 0
        self.binding = 0
        self.running: dict[BoundFor | None, int] = {}
        """By what they were bound for."""
        self.succeeded: dict[tuple[str, BoundFor | None], int] = {}
        """By their controller's UID and what they were bound for."""


_NOBODY = _Count()


class Roll:
    """A gang's declaration and its members, who are counted when they come and uncounted before they change.

    Everything here follows from the objects; nothing is ever recounted.  `members` has every pod that names the gang,
    `candidates` those that may be placed (gated ones too).
    """

    __slots__ = (
        "_binding",
        "_controllers",
        "_counts",
        "_first_bound",
        "_marked",
        "_placed_priorities",
        "_priorities",
        "_running",
        "_runs",
        "_succeeded_ever",
        "candidates",
        "classes",
        "declared",
        "foreign",
        "gated",
        "key",
        "members",
        "ours",
        "strangers",
        "version",
    )

    def __init__(self, key: str) -> None:
        self.key = key
        self.declared: Gang | None = None
        self.members: dict[str, PodState] = {}
        self.candidates: dict[str, PodState] = {}
        self.classes: dict[PodClass, int] = {}
        """How many ungated candidates there are of each class."""
        self.gated = 0
        self.version = 0
        """Changes whenever a member does."""
        self.ours = 0
        """Members, in any stage, that name this scheduler."""
        self.foreign = False
        """All its members are other schedulers', or were while it had any: it is theirs to start, undo and speak of."""
        self.strangers = 0
        """Pods that name the gang but another scheduler, and are not bound."""
        self._counts: dict[str, _Count] = {}
        """By subset."""
        self._running = 0
        self._marked = 0
        """Of those, how many say that the gang has started."""
        self._binding = 0
        self._succeeded_ever = 0
        """Members that succeeded, in whichever run."""
        self._controllers: dict[str, int] = {}
        """Of the candidates, by UID; "" for those without one."""
        self._runs: dict[int, int] = {}
        """Of members that are bound, being bound, or succeeded."""
        self._priorities: dict[int, int] = {}
        """Of members that count; one that nobody has any more stays, for `uneven`."""
        self._placed_priorities: dict[int, int] = {}
        """Of those that take room."""
        self._first_bound: float | None = None

    def add(self, pod: PodState) -> None:
        self.members[pod.uid] = pod
        self.ours += pod.ours
        self.foreign = not self.ours
        self.count(pod)

    def remove(self, pod: PodState) -> None:
        del self.members[pod.uid]
        self.ours -= pod.ours
        if self.members:
            self.foreign = not self.ours
        self.uncount(pod)

    def count(self, pod: PodState) -> None:
        if pod.candidate:
            self.candidates[pod.uid] = pod
            self._count_candidate(pod, 1)
        else:
            self._count(pod, 1)

    def uncount(self, pod: PodState) -> None:
        """Call before a member changes in anything that is counted, `leaving` and `condemned` too, `count` after."""
        if self.candidates.pop(pod.uid, None) is not None:
            self._count_candidate(pod, -1)
        else:
            self._count(pod, -1)

    def set_out(self, pods: list[PodState]) -> None:
        """Candidates, none of them gated, are being bound: counted anew all at once, since most are alike."""
        self.version += 1
        for pod in pods:
            pod.stage = BINDING
            del self.candidates[pod.uid]
        self._binding += len(pods)
        for (subset, priority, controller, pod_class, record), alike in groupby(pods, _counted_by):
            number = len(list(alike))
            counts = self._counts[subset]
            counts.pending -= number
            counts.binding += number
            _add(self._controllers, controller, -number)
            _add(self.classes, pod_class, -number)
            _add(self._placed_priorities, priority, number)
            _add(self._runs, record.run, number)

    def _count_candidate(self, pod: PodState, by: int) -> None:
        self.version += 1
        counts = self._counts.get(pod.subset)
        if counts is None:
            counts = self._counts[pod.subset] = _Count()
        counts.pending += by
        self._priorities[pod.priority] = self._priorities.get(pod.priority, 0) + by
        _add(self._controllers, pod.controller, by)
        if pod.gated_by is not None:
            self.gated += by
        else:
            _add(self.classes, pod.pod_class, by)

    def _count(self, pod: PodState, by: int) -> None:
        """Of one that is no candidate."""
        self.version += 1
        stage = pod.stage
        if stage is PENDING and not pod.ours:
            # another scheduler's: nothing that we decide makes it a member
            self.strangers += by
            return
        if pod.leaving or pod.stranded or stage is FAILED:
            if pod.condemned is not None and pod.leaving:
                # it may be spared: till it goes its gang is no more important than with it
                self._priorities[pod.priority] = self._priorities.get(pod.priority, 0) + by
            return
        counts = self._counts.get(pod.subset)
        if counts is None:
            counts = self._counts[pod.subset] = _Count()
        self._priorities[pod.priority] = self._priorities.get(pod.priority, 0) + by
        record = pod.record
        _add(self._runs, 0 if record is None else record.run, by)
        if stage is SUCCEEDED:
            _add(counts.succeeded, (pod.controller, record), by)
            self._succeeded_ever += by
            return
        _add(self._placed_priorities, pod.priority, by)
        if stage is BINDING:
            counts.binding += by
            self._binding += by
        else:
            _add(counts.running, record, by)
            self._running += by
            self._marked += by * (pod.marked == self.key)
            # one that comes can only be the earliest; one that goes may have been it
            if by < 0:
                self._first_bound = None
            elif self._first_bound is not None and pod.bound_at is not None and self._may_undo(pod):
                self._first_bound = min(self._first_bound, pod.bound_at)

    def declare(self, declared: Gang | None) -> None:
        """What the gang's object says now; None if there is no object any more."""
        self.declared = declared
        self._first_bound = None

    # --- how many there are ---

    def of(self, subset: str) -> Standing:
        counts, bound = self._counts.get(subset, _NOBODY), self.bound_of(subset)
        return Standing(counts.pending + counts.binding + bound, counts.binding, bound)

    def bound_of(self, subset: str) -> int:
        """The same as `of(subset).bound`: most ask for nothing else, and several times for each member that comes."""
        counts = self._counts.get(subset)
        if counts is None:
            return 0
        bound = sum(counts.running.values())
        return bound + self._succeeded(subset, counts) if counts.succeeded else bound

    def _succeeded(self, subset: str, counts: _Count) -> int:
        """Members that succeeded in the run that goes on, or would go on if the candidates were bound."""
        run, by_controller, promised = self.run, Counter[str](), 0
        for (controller, record), count in counts.succeeded.items():
            if (0 if record is None else record.run) == run:
                by_controller[controller] += count
                promised = max(promised, 0 if record is None else record.minimum)
        if self.lives or not self.candidates:
            return by_controller.total()
        # nothing of that run is left but what succeeded: candidates go on with it if the same controller made them, or
        # if nobody made either and the run was not complete
        bare = by_controller.pop("", 0)
        found = sum(count for controller, count in by_controller.items() if controller in self._controllers)
        minimum = self._minimum_of(subset)
        # a minimum that was raised since does not open a run again that was complete
        complete = bare >= (min(minimum, promised) if promised else minimum)
        return found + bare if "" in self._controllers and not complete else found

    def _minimum_of(self, subset: str) -> int:
        declared = self.declared.subsets if self.declared is not None else ()
        return next((found.minimum for found in declared if found.name == subset), 0)

    @property
    def lives(self) -> bool:
        """Members run or are being bound."""
        return bool(self._running or self._binding)

    @property
    def run(self) -> int:
        """The number of the last run that anybody is left of; groups may be used by one job after another."""
        return max(self._runs, default=0)

    @property
    def next_run(self) -> int:
        """The run of a member that is bound now: a new one if those who succeeded in the last do not count."""
        over = not self.lives and self._runs and not any(self._succeeded(*item) for item in self._counts.items())
        return self.run + 1 if over else self.run

    @property
    def bound(self) -> int:
        return sum(map(self.bound_of, self._counts))

    @property
    def running(self) -> int:
        """Bound and not ended."""
        return self._running

    @property
    def unmarked(self) -> list[PodState]:
        """Members that run and do not say that the gang has started; by name."""
        if self._marked == self._running:
            return []
        return sorted((p for p in self.members.values() if _runs(p) and p.marked != self.key), key=lambda pod: pod.key)

    @property
    def binding(self) -> int:
        return self._binding

    @property
    def present(self) -> int:
        return sum(self.of(subset).present for subset in self._counts)

    @property
    def missing(self) -> int:
        """Members that must still be created before the gang can be decided; 0 for a basic group."""
        gang = self.declared
        assert gang is not None
        if gang.policy is Policy.BASIC:
            return 0
        missing = 0
        for subset in gang.subsets:
            missing += max(0, subset.minimum - self.of(subset.name).present)
        return missing

    @property
    def lacking(self) -> dict[str, int]:
        """The same by subset, of a gang that is not basic; subsets that lack nobody are left out."""
        assert self.declared is not None
        short = {subset.name: subset.minimum - self.of(subset.name).present for subset in self.declared.subsets}
        return {name: count for name, count in short.items() if count > 0}

    @property
    def free(self) -> dict[str, int]:
        """Candidates that may be placed, by subset; O(1) for a gang of one subset."""
        declared = self.declared
        if declared is not None and len(declared.subsets) == 1:
            return {declared.subsets[0].name: sum(self.classes.values())}
        return Counter(pod.subset for pod in self.candidates.values() if pod.gated_by is None)

    @property
    def on_its_way(self) -> bool:
        """The minimum is bound or being bound."""
        gang = self.declared
        assert gang is not None
        return all((count := self.of(s.name)).bound + count.binding >= s.minimum for s in gang.subsets)

    # --- for whom they were bound ---

    def start_is_recorded(self) -> bool:
        """Whether members bound for the present object reach the minimums under which they were bound.

        Of the subsets that it had then: it may have others by now.
        """
        if not self._runs:
            return False
        by_subset: dict[str, list[tuple[BoundFor, int]]] = {}
        for counts in self._counts.values():
            for record, number in _by_record(counts):
                if self._is_present(record):
                    by_subset.setdefault(record.subset, []).append((record, number))
        # some may have been bound before the minimum was raised: when the gang had not started yet, or after it had
        enough = {
            subset: [r for r, _ in found if sum(n for other, n in found if other.minimum <= r.minimum) >= r.minimum]
            for subset, found in by_subset.items()
        }
        reached = {subset: max(r.minimum for r in found) for subset, found in enough.items() if found}
        whole = sum(reached.values())
        return any(whole - reached[subset] >= r.others for subset in reached for r in enough[subset])

    def records_of(self, subset: str) -> Iterable[BoundFor | None]:
        """What members of the subset that run were bound for, each once."""
        return self._counts.get(subset, _NOBODY).running.keys()

    def regrouped(self) -> bool:
        """Whether the object has other subsets now than when members that run were bound for it."""
        declared = self.declared
        assert declared is not None
        return any(
            record is not None
            and self._is_present(record)
            and (record.subset != name or name not in declared.subset_names)
            for name, counts in self._counts.items()
            for record in counts.running
        )

    def promised_beside(self, subset: Subset) -> int:
        """How many were to run of a subset of which nobody does, by what the others were bound for; 0 for one that was
        added since.

        Where several have nobody, what was promised of them counts for the first: others are added behind those.
        """
        declared = self.declared
        assert declared is not None
        if self.regrouped():
            return 0
        there, whole, empty = 0, None, list[Subset]()
        for other in declared.subsets:
            counts = self._counts.get(other.name, _NOBODY)
            present = [record for record, _ in _by_record(counts) if self._is_present(record)]
            if present:
                if other.name == subset.name:
                    # those who succeeded had it
                    return subset.minimum
                there += max(record.minimum for record in present)
                whole = max(whole or 0, *(record.minimum + record.others for record in present))
            elif not counts.running:
                empty.append(other)
        if whole is None:
            # nobody is left who could tell
            return subset.minimum
        left = whole - there
        for other in empty:
            promised = max(0, min(other.minimum, left))
            if other.name == subset.name:
                return promised
            left -= promised
        return 0

    def moved_from(self, subset: str) -> int:
        """Members that run or succeeded, and were bound for this subset of the present object, but count for another
        now."""
        elsewhere = [counts for name, counts in self._counts.items() if name != subset]
        records = [found for counts in elsewhere for found in _by_record(counts)]
        return sum(n for record, n in records if record.subset == subset and self._is_present(record))

    def _is_present(self, record: BoundFor) -> bool:
        """Whether the record is of the object that declares the gang now."""
        return self.declared is not None and record.uid == self.declared.uid

    def left_in_part(self) -> list[PodState]:
        """Members that run, if they are fewer than they were bound for; for a gang whose object is gone."""
        left: list[PodState] = []
        for subset, counts in self._counts.items():
            promised = max((record.minimum for record in counts.running if record is not None), default=0)
            if self.bound_of(subset) < promised:
                left += [pod for pod in self.members.values() if pod.subset == subset and _runs(pod) and pod.record]
        return left

    def has_part(self) -> bool:
        """Whether a member runs that was bound for the present object."""
        declared = self.declared
        records = (record for counts in self._counts.values() for record in counts.running)
        return declared is not None and any(record is not None and record.uid == declared.uid for record in records)

    @property
    def first_bound(self) -> float | None:
        """When the earliest member that may be undone was bound: the time-out runs from there."""
        if self._first_bound is None:
            self._first_bound = min(
                (p.bound_at for p in self.members.values() if p.bound_at is not None and self._may_undo(p)),
                default=None,
            )
        return self._first_bound

    def _may_undo(self, pod: PodState) -> bool:
        return _runs(pod) and self.was_bound_for(pod)

    def was_bound_for(self, pod: PodState) -> bool:
        """Whether the member was bound, or is being bound, for the present object: only then may it be released."""
        return pod.record is not None and self._is_present(pod.record)

    @property
    def age(self) -> tuple[float, str]:
        """Creation time and UID of its object; of its first member where there is none."""
        if self.declared is not None:
            return self.declared.created, self.declared.uid
        return min(((pod.created, pod.uid) for pod in self.members.values()), default=(0.0, ""))

    @property
    def priority(self) -> int:
        """What its object says; else the lowest among its members."""
        if self.declared is not None and self.declared.priority is not None:
            return self.declared.priority
        return min((priority for priority, count in self._priorities.items() if count), default=0)

    @property
    def at_odds(self) -> str | None:
        """What is wrong with the priority of a member that has not ended: of the first, by name; None if all agree.

        O(1) as long as they do.
        """
        gang = self.declared
        if gang is not None and gang.one_priority and gang.priority is None:
            different = sorted(priority for priority, count in self._priorities.items() if count)
            if len(different) > 1 and self._succeeded_ever:
                # they may be of an earlier run
                different = sorted({pod.priority for pod in self._live})
            if len(different) < 2:
                return None
            return (
                f"all pods in a single pod group should have the same priority, got {different[0]} and {different[1]}"
            )
        if gang is None or all(
            not count or gang.at_odds_with(priority) is None for priority, count in self._priorities.items()
        ):
            return None
        odd = min((pod for pod in self._live if gang.at_odds_with(pod.priority)), key=lambda pod: pod.key, default=None)
        return None if odd is None else gang.at_odds_with(odd.priority)

    @property
    def _live(self) -> Iterator[PodState]:
        """Members that count and have not ended."""
        return (pod for pod in self.members.values() if _counts(pod) and pod.stage is not SUCCEEDED)

    @property
    def uneven(self) -> bool:
        """Members are, or were, of different priorities: who comes or goes may change the level of others."""
        return len(self._priorities) > 1

    @property
    def highest_placed(self) -> int:
        """The highest priority among the members that take room; the gang's own if it is higher."""
        return max([self.priority, *self._placed_priorities])

    @property
    def empty(self) -> bool:
        return self.declared is None and not self.members


def _add(counts: dict[_Key, int], key: _Key, by: int) -> None:
    """Counts without keeping zeros.  A Counter took three times as long to make, and a gang has seven of these."""
    count = counts.get(key, 0) + by
    if count:
        counts[key] = count
    else:
        del counts[key]


def _by_record(counts: _Count) -> list[tuple[BoundFor, int]]:
    """How many run or succeeded, by what they were bound for; a record may be there twice."""
    ended = ((record, number) for (_, record), number in counts.succeeded.items())
    return [(record, number) for record, number in (*counts.running.items(), *ended) if record is not None]


def _counts(pod: PodState) -> bool:
    """Whether a pod that names a gang counts for it."""
    return not (pod.leaving or pod.stranded or pod.stage is FAILED or (pod.stage is PENDING and not pod.ours))


def _runs(pod: PodState) -> bool:
    return pod.stage is BOUND and not pod.leaving and not pod.stranded
