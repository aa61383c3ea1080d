"""Binds that failed for the moment, as the world hears of them; what the engine makes of them is its own affair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

from muster.engine.changes import BindFailed, Change, Failure, PodGone, PodSeen, Spared
from muster.engine.decisions import Bind, Placement
from muster.gangs.record import LONE
from muster.sim.plain import key_of, unit_of
from muster.sim.reading import Gang
from muster.sim.world import World

# transient failures after which another node may be tried
_PATIENCE = 10
# the longest wait before a bind is tried again
_RETRY_SECONDS = 6.0
# a denial that lasts so long is final
_DENIED_SECONDS = 5.0


class OpenBinds:
    """held → (in flight again | bound | refused | gone); held → doubtful → gone after the longest wait.

    A held bind must be tried again on its node.  A doubtful one need not be, since its node went or shrank, or its
    gang would not be whole: the engine may keep its room until it would have tried again, or give it up at once.
    """

    def __init__(self, world: World, *, scheduler: str, condemned: Container[str] = ()) -> None:
        self._world = world
        self._condemned = condemned
        self._scheduler = scheduler
        self.sent: dict[str, Placement] = {}
        """The last bind that was decided for each pod."""
        self.held: dict[str, Placement] = {}
        """By pod."""
        self.doubtful: dict[str, Placement] = {}
        self._since: dict[str, float] = {}
        """Since when binds are doubtful."""
        self.failures: Counter[str] = Counter()
        """By pod, as far as this scheduler has seen them."""
        self._in_a_row: dict[str, tuple[str, int]] = {}
        """By pod: the node to which its binds got no answer, and how often in a row."""
        self.refused: set[str] = set()
        """Units that may be in backoff, since binds of theirs were refused for good or given up."""
        self._denied_at: dict[str, float] = {}
        """By pod: when it was first denied."""
        self._unanswered_at: dict[str, float] = {}
        """By pod: when it was last not known whether it is bound, or denied."""

    def sends(self, decision: Bind) -> None:
        """The pods are on their way; nothing that came before is doubtful any more."""
        for placement in decision.pods:
            self.sent[placement.uid] = placement
            self.doubtful.pop(placement.uid, None)

    def told(self, change: Change) -> None:
        if isinstance(change, BindFailed):
            self._failed(change)
        elif isinstance(change, PodGone):
            self._settled(change.uid)
            self._denied_at.pop(change.uid, None)
            self._unanswered_at.pop(change.uid, None)
        elif isinstance(change, Spared):
            # tried again on its node
            self._since.update({uid: self._world.now for uid in change.uids if uid in self.doubtful})
        elif isinstance(change, PodSeen) and change.pod.spec.node_name:
            self._settled(change.pod.metadata.uid)

    def restarted(self) -> None:
        """A new scheduler knows nothing of all this."""
        for forgotten in (self.held, self.doubtful, self.failures, self._in_a_row, self.refused):
            forgotten.clear()
        self._denied_at.clear()
        self._unanswered_at.clear()

    def review(self, gangs: dict[str, Gang], *, shrunk: Container[str]) -> bool:
        """Finds out which binds have become doubtful, and which doubtful ones nobody keeps any more; whether any.

        `shrunk` are nodes with less room than what is on them.
        """
        now, before = self._world.now, (len(self.held), len(self.doubtful))
        for uid, placement in list(self.held.items()):
            if placement.node in shrunk or not self._makes_sense(placement, gangs):
                self.doubtful[uid] = self.held.pop(uid)
                self._since[uid] = now
                self.refused.add(unit_of(self._world.pods[uid]))
        for uid in list(self.doubtful):
            # a pod that is being deleted may keep its room until it is gone
            if now - self._since[uid] > _RETRY_SECONDS and not self._leaves(uid):
                del self.doubtful[uid]
        return before != (len(self.held), len(self.doubtful))

    def tried_there(self, placement: Placement) -> bool:
        """Whether this is the same bind once more."""
        before = self.held.get(placement.uid) or self.doubtful.get(placement.uid)
        return before is not None and before.node == placement.node

    def _failed(self, change: BindFailed) -> None:
        pod = self._world.pods.get(change.uid)
        if pod is not None and pod.spec.scheduler_name != self._scheduler:
            return
        self._settled(change.uid)
        self.failures[change.uid] += 1
        if pod is None or pod.spec.node_name:
            return
        record = self.sent[change.uid].bound_for if change.uid in self.sent else LONE
        placement = Placement(change.uid, key_of(pod), change.node, record)
        node, times = self._in_a_row.get(change.uid, ("", 0))
        times = times + 1 if node == change.node else 1
        if change.failure is Failure.TRANSIENT:
            self._in_a_row[change.uid] = change.node, times
        else:
            self._in_a_row.pop(change.uid, None)
        if change.failure is Failure.TRANSIENT and times <= _PATIENCE:
            self.held[change.uid] = placement
            self._unanswered_at[change.uid] = self._world.now
            return
        self.refused.add(unit_of(pod))
        if change.failure is Failure.DENIED:
            # tried again there, or elsewhere, in turns
            self._denied_at.setdefault(change.uid, self._world.now)
            self.doubtful[change.uid] = placement
            self._since[change.uid] = self._world.now

    def denied_for_good(self, gang: Gang) -> bool:
        """Whether too many members were denied for too long for the gang to reach its minimum."""
        denied = [pod for pod in gang.candidates if self._final(pod.metadata.uid)]
        return bool(denied) and gang.present - len(denied) < gang.minimum

    def _final(self, uid: str) -> bool:
        return uid in self._denied_at and self._world.now - self._denied_at[uid] >= _DENIED_SECONDS

    def denied_for(self, gang: Gang) -> float:
        """For how many seconds so many members have been denied that the gang cannot reach its minimum."""
        uids = [pod.metadata.uid for pod in gang.candidates]
        since = sorted(max(self._denied_at[uid], self._unanswered_at.get(uid, 0.0)) for uid in uids if self._final(uid))
        spare = gang.present - gang.minimum
        return self._world.now - since[spare] if 0 <= spare < len(since) else 0.0

    def unanswered(self, gang: Gang) -> bool:
        """Whether members are on their way, as far as the engine may know."""
        return bool(gang.binding) or any(self.may_have_landed(pod.metadata.uid) for pod in gang.candidates)

    def may_have_landed(self, uid: str) -> bool:
        """Whether the pod's last bind got no answer, and it may be bound."""
        return uid in self.held or (uid in self.doubtful and uid in self._in_a_row)

    def undone(self, gang: Gang) -> None:
        """The gang is released: its members are tried anew, as if for the first time."""
        for pod in gang.members:
            self._denied_at.pop(pod.metadata.uid, None)

    def _settled(self, uid: str) -> None:
        self.held.pop(uid, None)
        self.doubtful.pop(uid, None)

    def _leaves(self, uid: str) -> bool:
        return self._world.pods[uid].metadata.deletion_timestamp is not None or uid in self._condemned

    def _makes_sense(self, placement: Placement, gangs: dict[str, Gang]) -> bool:
        pod = self._world.pods[placement.uid]
        if placement.node not in self._world.nodes or self._leaves(placement.uid):
            return False
        if pod.spec.scheduling_group is None:
            return True
        gang = gangs[unit_of(pod)]
        if gang.group is None or gang.started:
            return gang.group is not None
        return gang.bound + gang.binding >= gang.minimum
