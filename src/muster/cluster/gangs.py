"""A gang as the engine keeps it: its declaration, its members, and counters that make arrivals O(1)."""

from __future__ import annotations

from collections import Counter

from muster.cluster.classes import PodClass
from muster.cluster.pods import PodState, Stage
from muster.gangs.model import DisruptionMode, Gang, Policy


class SubsetCount:
    """How many members of one subset there are.  Members that leave, failed, or lost their node count nowhere."""

    __slots__ = ("binding", "bound", "present", "succeeded")

    def __init__(self) -> None:
        self.present = 0
        """All of them, wherever they are in their life; those that succeeded included."""
        self.binding = 0
        """Decided, not acknowledged."""
        self.bound = 0
        """Bound, whether they still run or succeeded."""
        self.succeeded = 0


class GangState:
    """Members are counted when they come and uncounted before they change; nothing is ever recounted.

    `members` has every pod that names the gang, `candidates` those that may be placed (gated ones too).
    """

    __slots__ = (
        "_counts",
        "_first_bound",
        "_placed_priorities",
        "_priorities",
        "attempts",
        "below_said",
        "below_since",
        "candidates",
        "classes",
        "declared",
        "denied",
        "evicted_said",
        "fallen",
        "foreign",
        "gated",
        "key",
        "last_round",
        "lost_to",
        "members",
        "ours",
        "passed",
        "refusals",
        "refused",
        "refused_at",
        "refused_attempt",
        "rests_until",
        "rounds",
        "said",
        "started_at",
        "strangers",
        "waited",
    )

    def __init__(self, key: str) -> None:
        self.key = key
        self.declared: Gang | None = None
        self.members: dict[str, PodState] = {}
        self.candidates: dict[str, PodState] = {}
        self.classes: Counter[PodClass] = Counter()
        """How many ungated candidates there are of each class."""
        self.gated = self.ours = 0
        """Candidates that are held; and members, in any stage, that name this scheduler."""
        self.foreign = False
        """All its members are other schedulers', or were while it had any: it is theirs to start, undo and speak of."""
        self.strangers = 0
        """Pods that name the gang but another scheduler, and are not bound."""
        self.said: tuple[bool, str, str] | None = None
        """Whether it started, reason and message, as last written on its object."""
        self.fallen = False
        """It had started, and then nothing of it was left running below its minimum: it must start whole again."""
        self.below_since: float | None = None
        """Since when it is below its minimum although it has started."""
        self.below_said: tuple[bool, str, str] | None = None
        """Whether it is below its minimum, reason and message, as last written on its object."""
        # whether it says that it was evicted whole, reason and message, as last written on its object
        self.evicted_said: tuple[bool, str, str] | None = None
        self.started_at: float | None = None
        """When it last got its minimum, as far as is known."""
        self.denied = False
        """A member was denied for good, and the gang has not been undone for that."""
        self.refused = False
        """A kubelet refused a member, and nobody has looked into it."""
        self.passed: int | None = None
        """How many units that came later went before it since it last had its minimum; None if nobody has counted."""
        self.rounds = 0
        """How often others were evicted for it since it last had its minimum, or got what it evicted them for."""
        self.last_round = 0.0
        """When they last were."""
        self.rests_until = 0.0
        """Nobody is evicted for it before that: another scheduler has just taken the room."""
        self.attempts = 0
        """How often members of it were bound, together."""
        self.refused_attempt = 0
        """The last of these times of which a bind was refused; those of one time may be refused one by one."""
        self.refusals = 0
        """How many attempts in a row to bind it were refused."""
        self.refused_at = 0.0
        """When the last was."""
        self.waited = 0.0
        """For how many seconds it has waited for others to leave since it last had its minimum, or was undone."""
        self.lost_to = ""
        """For whom members were evicted since it last had its minimum; "" for nobody."""
        self._counts: dict[str, SubsetCount] = {}
        # of members that count, and of those that take room; one that nobody has any more stays, for `uneven`
        self._priorities, self._placed_priorities = Counter[int](), Counter[int]()
        self._first_bound: float | None = None

    def gets_what_it_wanted(self) -> None:
        """Whatever others were evicted for, it is in: what was in vain before counts no longer."""
        self.rounds = self.refusals = 0
        self.rests_until = 0.0

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
        self._count(pod, 1)
        if pod.candidate:
            self.candidates[pod.uid] = pod
            if pod.held is not None:
                self.gated += 1
            else:
                self.classes[pod.pod_class] += 1

    def uncount(self, pod: PodState) -> None:
        """Call before a member's stage, class, priority, `held` or `leaving` change, `count` after."""
        self._count(pod, -1)
        if self.candidates.pop(pod.uid, None) is None:
            return
        if pod.held is not None:
            self.gated -= 1
        elif self.classes[pod.pod_class] > 1:
            self.classes[pod.pod_class] -= 1
        else:
            del self.classes[pod.pod_class]

    def _count(self, pod: PodState, by: int) -> None:
        if pod.stage is Stage.PENDING and not pod.ours:
            # another scheduler's: nothing that we decide makes it a member
            self.strangers += by
            return
        if not _counts(pod):
            return
        counts = self._counts.get(pod.subset)
        if counts is None:
            counts = self._counts[pod.subset] = SubsetCount()
        counts.present += by
        self._priorities[pod.priority] += by
        if pod.takes_room:
            self._placed_priorities[pod.priority] += by
        if pod.stage is Stage.BINDING:
            counts.binding += by
        elif pod.stage is not Stage.PENDING:
            counts.bound += by
            counts.succeeded += by * (pod.stage is Stage.SUCCEEDED)
            # one that comes can only be the earliest; one that goes may have been it
            if by < 0:
                self._first_bound = None
            elif self._first_bound is not None and pod.bound_at is not None and _runs(pod):
                self._first_bound = min(self._first_bound, pod.bound_at)

    def of(self, subset: str) -> SubsetCount:
        return self._counts.get(subset) or SubsetCount()

    @property
    def bound(self) -> int:
        return sum(counts.bound for counts in self._counts.values())

    @property
    def running(self) -> int:
        """Bound and not ended."""
        return sum(counts.bound - counts.succeeded for counts in self._counts.values())

    @property
    def binding(self) -> int:
        return sum(counts.binding for counts in self._counts.values())

    @property
    def present(self) -> int:
        return sum(counts.present for counts in self._counts.values())

    @property
    def missing(self) -> int:
        """Members that must still be created before the gang can be decided; 0 for a basic group."""
        gang = self.declared
        assert gang is not None
        if gang.policy is Policy.BASIC:
            return 0
        return sum(max(0, s.minimum - self.of(s.name).present) for s in gang.subsets)

    @property
    def unbound(self) -> int:
        """Members that the minimum still lacks among the bound ones."""
        gang = self.declared
        assert gang is not None
        return sum(max(0, s.minimum - self.of(s.name).bound) for s in gang.subsets)

    @property
    def on_its_way(self) -> bool:
        """The minimum is bound or being bound."""
        gang = self.declared
        assert gang is not None
        return all(self.of(s.name).bound + self.of(s.name).binding >= s.minimum for s in gang.subsets)

    @property
    def started(self) -> bool:
        """It has its minimum bound, or had it and still runs in part."""
        return self.declared is not None and (self.has_started or self.unbound == 0)

    @property
    def once_started(self) -> bool:
        """Its object says so, or we have asked for that to be written."""
        told = self.said is not None and self.said[0]
        return told or (self.declared is not None and self.declared.started)

    @property
    def has_started(self) -> bool:
        """It started once, and has not fallen since."""
        return self.once_started and not self.fallen

    @property
    def below_minimum(self) -> bool:
        """It has started, and fewer than its minimum are bound now; never true of a basic group."""
        declared = self.declared
        return declared is not None and declared.policy is Policy.GANG and self.once_started and self.unbound > 0

    @property
    def partial(self) -> bool:
        """Some members take room, fewer are bound than the minimum, and it has not started: repair or undo it."""
        return self.running > 0 and self.declared is not None and not self.started

    @property
    def first_bound(self) -> float | None:
        """When the earliest of the members that run was bound: the time-out runs from there."""
        if self._first_bound is None:
            self._first_bound = min(
                (p.bound_at for p in self.members.values() if p.bound_at is not None and _runs(p)),
                default=None,
            )
        return self._first_bound

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
        if gang is None or all(
            not count or gang.refuses(priority) is None for priority, count in self._priorities.items()
        ):
            return None
        live = (pod for pod in self.members.values() if _counts(pod) and pod.stage is not Stage.SUCCEEDED)
        odd = min((pod for pod in live if gang.refuses(pod.priority)), key=lambda pod: pod.key, default=None)
        return None if odd is None else gang.refuses(odd.priority)

    # --- as victims ---

    @property
    def goes_whole(self) -> bool:
        """Who evicts one member evicts all: as it declares; one that has not started is of no use in parts."""
        if self.declared is None:
            return False
        return self.declared.disruption is DisruptionMode.ALL or not self.started

    @property
    def floor(self) -> int:
        """At which priority any of its members can be evicted, at least: one of higher priority counts its own.

        The gang's own; of a gang that goes whole the highest among the members that take room, if that is higher.
        """
        if not self.goes_whole:
            return self.priority
        return max([self.priority, *(priority for priority, count in self._placed_priorities.items() if count)])

    @property
    def uneven(self) -> bool:
        """Members are, or were, of different priorities: who comes or goes may change the level of others."""
        return len(self._priorities) > 1

    @property
    def empty(self) -> bool:
        return self.declared is None and not self.members


def _counts(pod: PodState) -> bool:
    """Whether a pod that names a gang counts for it."""
    return not (
        pod.leaving or pod.stranded or pod.stage is Stage.FAILED or (pod.stage is Stage.PENDING and not pod.ours)
    )


def _runs(pod: PodState) -> bool:
    return pod.stage is Stage.BOUND and not pod.leaving and not pod.stranded
