"""A gang as the engine keeps it: who is in it, and what has become of it so far."""

from __future__ import annotations

from enum import StrEnum

from muster.cluster.efforts import Efforts
from muster.cluster.pods import BINDING, BOUND, SUCCEEDED, PodState
from muster.cluster.roll import Roll
from muster.gangs.model import DisruptionMode, Gang, Policy, Subset
from muster.gangs.record import BoundFor

UNREAD = "its pod group is being read again"
"""Why a member may not be decided that came after its gang's start."""

# when a pod was bound its API server says, when its gang fell we do, both in whole seconds
_CLOCKS_DIFFER_SECONDS = 5.0


class Strength(StrEnum):
    """How much of a gang stands."""

    NONE = "none"
    """Nothing of it has a node, and it has not started: it starts whole."""
    BINDING = "binding"
    """Not started; its minimum is bound or being bound, and starts it when the last bind is acknowledged."""
    PART = "part"
    """Not started; some are bound or being bound for its present object, too few: completed, or undone in time."""
    EARLIER = "earlier"
    """Not started; what runs of it was bound for no object or an earlier one, and is never released for this one."""
    WHOLE = "whole"
    """It has started, and has all that it had then: members that come join it."""
    BELOW = "below its minimum"
    """It has started and lacks members: replacements go first among equals, or it is taken down."""
    FALLEN = "fallen"
    """It had started, and nothing of it is left but members that wait: it must start whole again."""
    ENDED = "ended"
    """It had started, and nothing of it runs or waits to: its members ended or were deleted."""


class GangState(Roll):
    """One gang, from its first member or its object on until neither is left."""

    __slots__ = (
        "_grows_from",
        "_started_under",
        "attempts",
        "below_said",
        "below_since",
        "denied",
        "efforts",
        "evicted_said",
        "fallen",
        "lost_to",
        "passed",
        "reading",
        "reading_number",
        "refused",
        "rejected_attempt",
        "remarked",
        "said",
        "spoken_of",
        "started_at",
        "starts",
        "turned_away",
        "unread",
        "waited",
    )

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.said: tuple[bool, str, str] | None = None
        """Whether it started, reason and message, as last written on its object."""
        self.remarked = ""
        """What its members were last told of how they declare it."""
        self.spoken_of: PodState | None = None
        """The member of which the gang last said that it is not bound yet."""
        self.fallen = False
        """It had started, and then nothing of it was left running below its minimum: it must start whole again."""
        self.refused = False
        """It fell because kubelets turned members away: what is left of its last start never ran whole."""
        self.below_since: float | None = None
        """Since when it is below its minimum although it has started."""
        self.below_said: tuple[bool, str, str] | None = None
        """Whether it is below its minimum, reason and message, as last written on its object."""
        self.evicted_said: tuple[bool, str, str] | None = None
        """Whether it was evicted whole, reason and message, as last written on its object."""
        self.started_at: float | None = None
        """When it last got its minimum, as far as is known."""
        self.denied = False
        """A member was denied for good, and the gang has not been undone for that."""
        self.turned_away = False
        """A kubelet turned a member away, and nobody has looked into it."""
        self.passed: int | None = None
        """How many units that came later went before it since it last had its minimum; None if nobody has counted."""
        self.efforts = Efforts()
        self.attempts = 0
        """How often members of it were bound, together."""
        self.rejected_attempt = 0
        """The last of these times of which a bind was refused; those of one time may be refused one by one."""
        self.waited = 0.0
        """For how many seconds it has waited for others to leave since it last had its minimum, or was undone."""
        self.lost_to = ""
        """For whom members were evicted since it last had its minimum; "" for nobody."""
        self.starts = False
        """The gang has just got its minimum, and nobody has acted on that."""
        self.unread: dict[str, PodState] = {}
        """Members that came after its start, or found no place at it, and for which its object was not read again."""
        self.reading: dict[str, PodState] | None = None
        """Those of them that the object is being read for; None if it is not."""
        self.reading_number = 0
        """Which reading that is."""
        self._grows_from: dict[str, int] = {}
        """By subset: what it had to have before members were bound together up to a raised minimum."""
        self._started_under: str | None = None
        """UID of the object under which the minimum was bound, as seen here; "" where no object declares the gang."""

    def count(self, pod: PodState) -> None:
        Roll.count(self, pod)
        # as long as nothing of it ran or was being bound, some who succeeded may have counted for nothing
        stage = pod.stage
        if stage is BOUND or stage is SUCCEEDED or (stage is BINDING and self._succeeded_ever):
            self.notice_start()

    def set_out(self, pods: list[PodState]) -> None:
        super().set_out(pods)
        if self._succeeded_ever:
            self.notice_start()

    def declare(self, declared: Gang | None) -> None:
        super().declare(declared)
        self.notice_start()

    def joins(self, pod: PodState) -> None:
        """A member came, or changed so that it may be placed otherwise than before."""
        declared = self.declared
        # a basic group has no minimum to miss
        if declared is None or not self.has_started or declared.policy is Policy.BASIC:
            return
        if pod.candidate:
            self.unread[pod.uid] = pod

    def await_reading(self) -> dict[str, bool]:
        """UIDs of candidates whose gang may have changed before they came, and whether they need not wait to know.

        Those need not that replace what the gang has lost of what it started with.
        """
        if not self.unread and self.reading is None:
            return {}
        declared = self.declared
        if declared is None or not self.has_started:
            # what is being read now is of no use: should it start, or its object come back, it is read once more
            if self.reading is not None:
                self.unread, self.reading = self.reading | self.unread, None
            return {}
        for known in (self.unread, self.reading or {}):
            # whom room is reserved for was here when its victims were chosen
            for uid in [uid for uid, pod in known.items() if self.candidates.get(uid) is not pod or pod.reserved]:
                del known[uid]
        if not self.unread and not self.reading:
            return {}
        lost = {s.name: self.floor(s) - self.of(s.name).bound - self.of(s.name).binding for s in declared.subsets}
        replaces: dict[str, bool] = {}
        for pod in sorted((self.unread | (self.reading or {})).values(), key=lambda pod: (-pod.priority, pod.key)):
            if pod.gated_by is None or pod.gated_by == UNREAD:
                replaces[pod.uid] = lost.get(pod.subset, 0) > 0
                lost[pod.subset] = lost.get(pod.subset, 0) - 1
        return replaces

    # --- whether it has started ---

    def notice_start(self) -> None:
        """A start counts from the moment the minimum is bound, whatever is lost of the gang before anybody looks."""
        declared = self.declared
        if declared is None or (self._started_under == declared.uid and not self.fallen):
            return
        # where nothing lives, candidates that are still to be read may begin another run than those who succeeded
        whole = self.lives and self.has_minimum
        if whole or (not self.fallen and (self.once_started or self.start_is_recorded())):
            self.starts = not self.has_started
            self._started_under = declared.uid
            self.goes_on()

    def goes_on(self) -> None:
        """It has not fallen, or not any more; who came meanwhile joins a gang that runs."""
        self.fallen = self.refused = False
        for pod in self.candidates.values():
            self.joins(pod)

    def recall(self) -> None:
        """What a scheduler before us saw, as far as it stands on the objects.

        That nothing of the gang is left need not have come true: what was bound before that was said runs on if its
        eviction was never sent, or when its node comes back.
        """
        lost = (pod for pod in self.members.values() if (pod.stranded or self.fallen) and pod.stage is BOUND)
        ran = [pod for pod in lost if self._ran_before(pod)]
        for pod in ran:
            pod.stood = pod.stranded
        if self.fallen and any(map(self._may_undo, ran)):
            self.goes_on()

    def _ran_before(self, pod: PodState) -> bool:
        """Whether the pod was bound before the gang is said to have fallen, if it has, and may have run whole."""
        if not self.fallen:
            return self.once_started
        since, at = self.below_since, pod.bound_at
        # in doubt it was bound since: else a start that was broken off would be taken for a gang that runs
        return not self.refused and since is not None and at is not None and at < since - _CLOCKS_DIFFER_SECONDS

    @property
    def has_minimum(self) -> bool:
        """The minimum is bound; one that fell cannot have it from members that succeeded before that.

        One that fell has it too if those who were bound since are all that they were promised to be: like at a first
        start, raising the minimum meanwhile takes nothing away from that.
        """
        declared = self.declared
        assert declared is not None
        whole = True
        for subset in declared.subsets:
            whole = whole and self.bound_of(subset.name) >= subset.minimum
        if self.fallen:
            return self.running > 0 and (whole or (self.has_part() and not self.lost))
        return whole

    @property
    def started(self) -> bool:
        """It has its minimum bound, or had it and still runs in part."""
        return self.declared is not None and (self.has_started or self.has_minimum)

    @property
    def once_started(self) -> bool:
        """The present object says so, or the minimum was bound while it was there."""
        declared = self.declared
        return (declared is not None and declared.uid == self._started_under) or self._says_started

    @property
    def _says_started(self) -> bool:
        """The object says so, or where it cannot a member that runs; or we have asked for that to be written."""
        declared, told = self.declared, self.said is not None and self.said[0]
        return told or (declared is not None and (declared.started or (not declared.has_status and self._marked > 0)))

    @property
    def has_started(self) -> bool:
        """It started once, and has not fallen since."""
        return not self.fallen and self.once_started

    def stands(self, pod: PodState) -> bool:
        """Whether the member, which is bound, runs in a gang that has started; if it is to be evicted, before that."""
        return self.once_started and not (self.fallen if pod.condemned is None else pod.condemned.fallen)

    @property
    def below_minimum(self) -> bool:
        """It has started, and fewer are bound than it must have; never true of a basic group."""
        declared = self.declared
        if declared is None or declared.policy is not Policy.GANG or not self.once_started:
            return False
        # one that fell is not whole because of members that succeeded before that
        return self.lost > 0 or (self.fallen and not self.lives)

    @property
    def partial(self) -> bool:
        """Members were bound for the present object, but not enough to start: repair or undo it."""
        return self.running > 0 and self.has_part() and not self.started

    @property
    def strength(self) -> Strength:
        if self.declared is None:
            return Strength.EARLIER if self.lives else Strength.NONE
        if self.started:
            if not self.lives:
                return Strength.ENDED
            return Strength.BELOW if self.below_minimum else Strength.WHOLE
        if self.has_part() or any(_is_on_its_way(pod) and self.was_bound_for(pod) for pod in self.members.values()):
            return Strength.BINDING if self.on_its_way else Strength.PART
        if self.lives:
            return Strength.EARLIER
        return Strength.FALLEN if self.fallen else Strength.NONE

    # --- as a victim ---

    @property
    def goes_whole(self) -> bool:
        """Who evicts one member evicts all: as it declares; one that has not started is of no use in parts."""
        if self.declared is None:
            return False
        return self.declared.disruption is DisruptionMode.ALL or not self.started

    @property
    def level(self) -> int:
        """At which priority any of its members can be evicted, at least: one of higher priority counts its own.

        The gang's own; of a gang that goes whole the highest among the members that take room, if that is higher.
        """
        return self.highest_placed if self.goes_whole else self.priority

    # --- what it must have ---

    @property
    def lost(self) -> int:
        """Members that are lacking of what the gang had when it started; see `floor`."""
        gang = self.declared
        assert gang is not None
        return sum(max(0, self.floor(s) - self.bound_of(s.name)) for s in gang.subsets)

    @property
    def is_mended_soon(self) -> bool:
        """What the gang has lost of what it had when it started is being bound."""
        gang = self.declared
        assert gang is not None
        return all((count := self.of(s.name)).bound + count.binding >= self.floor(s) for s in gang.subsets)

    def floor(self, subset: Subset) -> int:
        """How many of the subset a gang that has started must have to be whole.

        The highest minimum under which a living member was bound, and no more than the minimum now: raising that
        takes nothing away from a gang that runs, nor does dividing it into other subsets.  Nor do the first of those
        who come together for it, while others of them are on their way.
        """
        grows_from = self._grows_from.get(subset.name)
        if grows_from is not None and self.of(subset.name).binding:
            return min(subset.minimum, grows_from)
        promised = [self._promised(record, subset) for record in self.records_of(subset.name)]
        if not promised:
            return subset.minimum if self.fallen else self.promised_beside(subset)
        return min(subset.minimum, max(promised))

    def _promised(self, record: BoundFor | None, subset: Subset) -> int:
        """How many of the subset were to run, by what a member of it was bound for."""
        if record is None:
            return subset.minimum if self._says_started else self.bound_of(subset.name)
        if not self._is_present(record):
            return record.minimum
        if record.subset == subset.name:
            return max(0, record.minimum - self.moved_from(subset.name))
        # nobody can tell how those who started under other subsets were to be spread over these
        return subset.minimum if self.fallen else self.bound_of(subset.name)

    def records(self, placed: list[str]) -> dict[str, BoundFor]:
        """What is written onto members of these subsets that are bound now, by subset.

        A member that comes back to a gang below a raised minimum was promised no more than those it joins.
        """
        declared, run, has_started = self.declared, self.next_run, self.has_started
        assert declared is not None
        minimums: dict[str, int] = {}
        for subset in declared.subsets:
            minimum, counts = subset.minimum, self.of(subset.name)
            if not (has_started and counts.binding):
                # those who came together before are all there, or the gang fell since
                self._grows_from.pop(subset.name, None)
            if has_started and (floor := self.floor(subset)) < minimum:
                if counts.bound + counts.binding + placed.count(subset.name) < minimum:
                    minimum = floor
                else:
                    self._grows_from.setdefault(subset.name, floor)
            minimums[subset.name] = minimum
        whole = sum(minimums.values())
        return {
            name: BoundFor(
                gang=self.key, uid=declared.uid, subset=name, minimum=minimum, others=whole - minimum, run=run
            )
            for name, minimum in minimums.items()
        }


def _is_on_its_way(pod: PodState) -> bool:
    return pod.stage is BINDING and not pod.leaving and not pod.stranded
