"""The loop between a cluster and the engine: changes in, decisions carried out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Protocol

from muster.api.wire import PodGroup
from muster.app.attending import Attendance
from muster.app.inbox import Inbox
from muster.app.informers import Informers
from muster.app.makers import Makers
from muster.app.troubles import TroubleLog
from muster.app.writer import BindMeasure, Writer
from muster.base.errors import PluginError
from muster.cluster.cluster import Cluster
from muster.cluster.pods import Stage
from muster.cluster.tally import tally
from muster.controllers.made_groups import MadeGroups
from muster.controllers.protection import FINALIZER, Protection
from muster.controllers.statuses import Statuses
from muster.engine.changes import Bound, Change, PodGone, PodSeen
from muster.engine.decisions import Decision
from muster.engine.engine import WORK
from muster.engine.troubles import Trouble, Troubles
from muster.framework.profile import Profiles
from muster.gangs.dialects import DIALECTS, NATIVE
from muster.gangs.dialects.dialect import Dialect
from muster.gangs.tally import NOBODY, Tally
from muster.kube.client import Client
from muster.kube.outbox import Outbox, Urgency

# changes come in bursts: those of so short a while are taken in together
_GATHER_SECONDS = 0.002
# so often a scheduler that is to stop looks whether binds that failed are to be tried again
_STOPPING_LOOK_SECONDS = 0.05
# about 10 ms of taking in, then others get their turn
_CHANGES_AT_ONCE = 2_000


class Deciding(Protocol):
    """An engine, or one that keeps a journal."""

    def apply(self, changes: Iterable[Change]) -> None: ...

    def decide(self, now: float, budget: int = WORK) -> list[Decision]: ...

    @property
    def next_decide_at(self) -> float | None: ...

    @property
    def cluster(self) -> Cluster: ...

    @property
    def troubles(self) -> Troubles: ...


class Measure(BindMeasure, Protocol):
    """Told what took how many seconds."""

    def decided(self, seconds: float, decisions: list[Decision]) -> None: ...


class Scheduler:
    """Feeds the engine and hands what it decides to the writer, for as long as this replica leads.

    `clock` gives seconds since the epoch and never goes back.  What became of binds and evictions comes back through
    the inbox like any other change.  `names` are those by which pods choose this scheduler.
    """

    def __init__(
        self,
        client: Client,
        engine: Deciding,
        *,
        inbox: Inbox,
        outbox: Outbox,
        informers: Informers,
        clock: Callable[[], float],
        names: Collection[str],
        reporter: str,
        instance: str,
        measure: Measure | None = None,
        profiles: Profiles | None = None,
    ) -> None:
        """`profiles` are the engine's: those of their plugins that attend binds are asked."""
        self._engine = engine
        self._inbox = inbox
        self._outbox = outbox
        self._informers = informers
        self._clock = clock
        self._measure = measure
        self._troubles = TroubleLog()
        self._attendance = None if profiles is None else self._attend(profiles)
        self._writer = Writer(
            client,
            outbox=outbox,
            informers=informers,
            answer=inbox,
            clock=clock,
            reporter=reporter,
            instance=instance,
            measure=measure,
            attendance=self._attendance,
        )
        self._protections: dict[Dialect, Protection] = {
            dialect: self._protect(dialect, wanted=partial(self._is_ours, dialect) if dialect.is_shared else _all)
            for dialect in DIALECTS
            if dialect.protects
        }
        # Kubernetes protects its own groups, but does not see that pods name them by label
        self._protections[NATIVE] = self._protect(NATIVE, wanted=informers.named_by_label.__contains__)
        self._statuses = Statuses(
            informers.groups.counting, is_ours=self._is_ours, tally=self._tally, write=self._write_status
        )
        self._makers = Makers(client, outbox=outbox, names=names, tell=self._maker_known)
        self._made = MadeGroups(
            informers.groups.group_of, wanted=informers.groups.wanted, is_free=self._is_free, write=self._write_made
        )
        self._stopping = False

    def _attend(self, profiles: Profiles) -> Attendance | None:
        if not any(profile.attendants for profile in profiles.all):
            return None
        return Attendance(
            profiles,
            pods=self._engine.cluster.pods,
            answer=self._inbox,
            may_ask=self._outbox.may_send,
            troubled=self._troubled,
        )

    def _troubled(self, pod: str, error: PluginError) -> None:
        """A plugin failed outside the engine: counted and told with those inside."""
        self._engine.troubles.counts[error.plugin] += 1
        self._troubles.tell([Trouble(pod, error.plugin, error)], self._clock())

    async def run(self) -> None:
        """Decides until `stop` is called."""
        while not self._stopping:
            await self._something_to_do()
            await self._turn()

    async def _turn(self) -> None:
        changes = self._inbox.take()
        read = [dialect for dialect in DIALECTS if self._informers.resource(dialect) is not None]
        # kinds on which it depends who their members are
        matters = any(dialect.counts or dialect.is_shared for dialect in read)
        stirred: set[str] = set()
        for first in range(0, len(changes), _CHANGES_AT_ONCE):
            chunk = changes[first : first + _CHANGES_AT_ONCE]
            # a pod may leave one gang for another
            stirred |= self._gangs_of(chunk) if matters else set()
            self._engine.apply(chunk)
            stirred |= self._gangs_of(chunk) if matters else set()
            await asyncio.sleep(0)
        if changes:
            named = self._informers.named_by_label.take_touched()
            touched = {dialect: self._informers.groups.take_touched(dialect) for dialect in DIALECTS}
            for dialect, protection in self._protections.items():
                # of a kind that other schedulers have too, one is ours from its first member of ours on
                protection.look(touched[dialect] | named | (stirred if dialect.is_shared else set()))
            self._made.look(self._informers.groups.owned.take_touched())
            self._writer.tell_overruled(set().union(*touched.values()))
            self._statuses.stir(stirred.union(*(keys for dialect, keys in touched.items() if dialect.counts)))
        if not self._stopping:
            self._statuses.look(self._clock())
        began = time.perf_counter()
        # with nothing to spend no unit is decided, but answers to binds are still acted on
        decisions = self._engine.decide(self._clock(), 0 if self._stopping else WORK)
        if self._measure is not None:
            self._measure.decided(time.perf_counter() - began, decisions)
        self._troubles.tell(self._engine.troubles.told, self._clock())
        self._writer.carry_out(decisions, told=changes)
        # sockets get their turn
        await asyncio.sleep(0)

    def stop(self) -> None:
        """No unit is decided any more."""
        self._stopping = True
        self._inbox.filled.set()

    async def finish(self) -> None:
        """Returns when all that was decided is done and what came of it is written; `run` has ended before."""
        while True:
            await self._outbox.done(up_to=Urgency.POD)
            await self._turn()
            if not self._outbox.is_done(Urgency.POD):
                continue
            if not self._binding():
                break
            # a bind that failed is still to be tried again
            await self._something_to_do()
        if self._attendance is not None:
            await self._attendance.told()

    async def close(self) -> None:
        """What plugins are being asked is of no use any more."""
        if self._attendance is not None:
            await self._attendance.close()

    def _binding(self) -> bool:
        """Whether any bind has no final answer yet; who leads next goes on with what is being made ready."""
        pods = self._engine.cluster.pods.values()
        return any(pod.stage is Stage.BINDING and not pod.setbacks.nothing_is_sent for pod in pods)

    async def _something_to_do(self) -> None:
        due = (self._engine.next_decide_at, None if self._stopping else self._statuses.next_look_at)
        at = min((at for at in due if at is not None), default=None)
        wait = None if at is None else at - self._clock()
        if self._stopping and wait is not None:
            # units that nobody decides any more are due all the time
            wait = max(wait, _STOPPING_LOOK_SECONDS)
        if wait is not None and wait <= 0:
            return
        try:
            # not wait_for: on Python 3.11 that one may swallow a cancellation
            async with asyncio.timeout(wait):
                await self._inbox.filled.wait()
        except TimeoutError:
            return
        await asyncio.sleep(_GATHER_SECONDS)

    # --- groups in use ---

    def _protect(self, dialect: Dialect, *, wanted: Callable[[str], bool]) -> Protection:
        return Protection(
            partial(self._informers.groups.of, dialect),
            wanted=wanted,
            in_use=self._in_use,
            write=partial(self._write_finalizers, dialect),
        )

    def _write_finalizers(self, dialect: Dialect, group: PodGroup, finalizers: tuple[str, ...]) -> None:
        self._writer.write_finalizers(dialect, group, finalizers, keeps=self._protections[dialect].keeps)

    def _write_made(self, key: str) -> None:
        self._writer.write_made(key, todo=self._made.todo)

    def _in_use(self, key: str) -> bool:
        """Whether a pod that has not ended names the group."""
        used = any(self._users(key)) or self._informers.groups.is_named(key)
        return used and not self._made.is_superseded(key)

    def _is_free(self, key: str, owner: str) -> bool:
        """Whether no pods are left in the group but those below the owner of this UID."""
        below = self._informers.groups.owned.below(owner)
        return all(uid in below for uid in self._users(key))

    def _users(self, key: str) -> Iterator[str]:
        """UIDs of the members that have not ended."""
        gang, over = self._engine.cluster.gangs.get(key), (Stage.SUCCEEDED, Stage.FAILED)
        return (uid for uid, pod in gang.members.items() if pod.stage not in over) if gang is not None else iter(())

    # --- how groups are doing ---

    def _gangs_of(self, changes: Iterable[Change]) -> set[str]:
        """Keys of the gangs that pods of which these tell are in."""
        pods, gangs = self._engine.cluster.pods, set()
        for change in changes:
            if isinstance(change, PodSeen):
                pod = pods.get(change.pod.metadata.uid)
            elif isinstance(change, PodGone | Bound):
                pod = pods.get(change.uid)
            else:
                continue
            if pod is not None and pod.gang is not None:
                gangs.add(pod.gang)
        return gangs

    def _is_ours(self, dialect: Dialect, key: str) -> bool:
        """Whether an object of the dialect is not for another scheduler to speak of: members of it name this one.

        While it has none: it had, or whoever makes them says so.
        """
        gang, group = self._engine.cluster.gangs.get(key), self._informers.groups.of(dialect, key)
        if gang is not None and gang.members:
            return any(pod.ours for pod in gang.members.values())
        if not dialect.is_shared or group is None:
            return True
        had_members = FINALIZER in group.metadata.finalizers
        return had_members or self._makers.names_us(group.metadata, otherwise=dialect.scheduler)

    def _maker_known(self, keys: Iterable[str]) -> None:
        self._statuses.stir(keys)
        self._inbox.filled.set()

    def _tally(self, key: str) -> Tally:
        gang = self._engine.cluster.gangs.get(key)
        return NOBODY if gang is None else tally(gang.members.values())

    def _write_status(self, dialect: Dialect, key: str) -> None:
        self._writer.write_status(dialect, key, news=partial(self._statuses.news, dialect, key))


def _all(_: str) -> bool:
    return True
