"""Muster and kube-scheduler, asked about the same pods on the same cluster, one after another.

A pod goes where kube-scheduler puts it, whatever Muster would have done.  What is left to chance there the plain
scheduler knows: whom else it might have evicted.  Instead of the real one the plain one can be asked (`PlainOne`).

Some pods wait for others to leave, and keep their nominations while more come.  Three things are then as we want them
and not as upstream has them, and are not compared, or only whether there is a place at all:

- whom a pod evicts while others are leaving: upstream counts those among the victims, we wait for them;
- pods of higher priority: upstream takes the room that somebody waits for without need, we only if there is no other;
- pods with rules about the one that waits: for upstream it counts on its own node alone, if at all, for us in all of
  its domain.
"""

import random
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tests.plain_scheduler.affinity import UNWANTED
from tests.plain_scheduler.cluster import Cluster, priority_of
from tests.plain_scheduler.decision import Decision, decide
from tests.plain_scheduler.filters import refusals, refuses
from tests.plain_scheduler.muster import Muster, Said
from tests.plain_scheduler.random_clusters import STRATEGIES, World
from tests.plain_scheduler.random_priorities import RankedWorld
from tests.plain_scheduler.resources import Strategy
from tests.plain_scheduler.selectors import Document
from tests.plain_scheduler.standing_in import Heard

_PATIENCE = 3
"""So many pods come while one waits."""


class Duel:
    """All pods of one world."""

    def __init__(self, real: Any, world: World) -> None:
        self.seen: Counter[str] = Counter()
        self.differences: list[tuple[str, object, object]] = []
        """(whom it is about, kube-scheduler's, Muster's)"""
        self._real = real
        self._world = world
        self._chance = random.Random(f"duel {world.seed}")
        self._waiting: Document | None = None
        """A pod that others were told to leave for..."""
        self._patience = 0
        """...and how many may still come before they are gone."""
        self._cluster: Cluster = real.make(world)
        running = (each.pod for machine in self._cluster.machines.values() for each in machine.running)
        self._muster = self._restarted(running)

    def run(self) -> None:
        for number, sent in enumerate(self._world.coming):
            self._next(number, sent)
            if self._waiting is not None and self._is_bound(self._waiting):
                self._need_not_wait(self._waiting)
            elif self._waiting is not None and not self._patience:
                self._others_leave(number)
            self._patience -= 1
        if self._waiting is not None:
            self._others_leave(len(self._world.coming))

    # --- one pod ---

    def _next(self, number: int, sent: Document) -> None:
        heard = self._real.about(sent)
        self._pod = heard.pod
        self.seen["pods"] += 1
        said, is_level = self._muster.about(heard.pod), True
        if self._waiting is not None:
            is_level = self._beside_one_that_waits(heard, said)
        elif heard.nominated:
            self._compare_victims(heard, said, self._plain(heard.pod))
        else:
            self._compare(heard, said)
        if heard.node is not None:
            self._placed(number, heard.pod, heard.node)
            if not is_level:
                # the room of the one that waits may be gone
                self._give_up()
        elif heard.nominated:
            self._evicts(heard)
        else:
            self._muster.loses(heard.pod)

    def _compare(self, heard: Heard, said: Said) -> None:
        if heard.node is None:
            self.seen["refused"] += 1
            if self._waiting is None:
                self._equal("all that kube-scheduler says", heard.message, self._plain(heard.pod).message)
            self._equal("message", words_of(heard.message), words_of(said.message))
            self._equal("evicts nobody", "", said.nominated)
            return
        self.seen["placed"] += 1
        totals = {node: sum(parts.values()) for node, parts in heard.scores.items()} or {heard.node: 0}
        best = max(totals.values())
        self._equal("below the best", {node: best - total for node, total in totals.items()}, dict(said.below_best))
        self._equal("its node is one of the best", (True, True), (heard.node in said.best, said.node in said.best))

    def _compare_victims(self, heard: Heard, said: Said, plain: Decision) -> None:
        self.seen["evicting"] += 1
        self._equal("message", words_of(heard.message), words_of(said.message))
        allowed = [(offer.node, offer.victims) for offer in plain.evicting]
        went = frozenset(pod["metadata"]["uid"] for pod in self._real.pods() if _is_leaving(pod)) - self._leaving
        self._equal("kube-scheduler's victims", True, (heard.nominated, went) in allowed)
        self._equal("victims", True, (said.nominated, said.victims) in allowed)

    def _beside_one_that_waits(self, heard: Heard, said: Said) -> bool:
        """Whether all was compared."""
        assert self._waiting is not None
        if heard.nominated or said.nominated:
            self.seen["evicting, not compared"] += 1
            return False
        if self._is_tied(heard.pod):
            self.seen["tied to one that waits, not compared"] += 1
            return False
        if priority_of(heard.pod) > priority_of(self._waiting):
            self.seen["above one that waits"] += 1
            self._equal("has a place", heard.node is not None, said.node is not None)
            return False
        self.seen["beside one that waits"] += 1
        self._compare(heard, said)
        return True

    def _is_tied(self, pod: Document) -> bool:
        """Whether nodes take the pod that would not if the one that waits were on its node, or the other way round."""
        (machine,) = (machine for machine in self._cluster.machines.values() if machine.awaited)
        machine.awaited, awaited = [], machine.awaited
        with machine.having([*machine.running, *awaited]):
            beside = refusals(self._cluster, pod, _strategy(pod))
        without = refusals(self._cluster, pod, _strategy(pod))
        machine.awaited = awaited
        # upstream does not even ask InterPodAffinity about pods without terms where nobody who runs keeps them off
        is_overlooked = beside.get(machine.name) == UNWANTED and UNWANTED not in without.values()
        return is_overlooked or {**beside, machine.name: None} != {**without, machine.name: None}

    def _plain(self, pod: Document) -> Decision:
        return decide(self._cluster, pod, strategy=_strategy(pod))

    # --- what follows ---

    def _placed(self, number: int, pod: Document, node: str) -> None:
        now = {**pod, "spec": {**pod["spec"], "nodeName": node}}
        if isinstance(self._world, RankedWorld):
            now = self._real.begins(pod, self._world.started_later(number))
        self._cluster.place(now, node)
        self._muster.sees(now)

    def _evicts(self, heard: Heard) -> None:
        """Some wait until those have left who were told to; others give up, and these go all the same."""
        if self._waiting is None and self._chance.random() < 0.7:
            self._waiting, self._patience = heard.pod, _PATIENCE
            self._reread()
        else:
            self._real.delete(heard.pod)
            self._give_up()

    def _need_not_wait(self, pod: Document) -> None:
        """Tried again it has a node, here or elsewhere, before all have left: spread does not count those who leave,
        affinity may be to one who has come since.  When kube-scheduler tries again is not known."""
        self.seen["need not wait, not compared"] += 1
        self._pod, uid = pod, pod["metadata"]["uid"]
        others = [other for other in self._real.pods() if other["metadata"]["uid"] != uid]
        cluster = self._real.cluster(self._cluster.nodes, others)
        refusal = refuses(cluster, pod, cluster.machines[self._muster.bound[uid]], _strategy(pod))
        self._equal("need not wait", None, refusal)
        self._give_up()

    def _give_up(self) -> None:
        """Nobody waits any more, and those have gone who were told to leave."""
        waiting, self._waiting = self._waiting, None
        for pod in self._real.pods():
            if _is_leaving(pod) or (waiting is not None and pod["metadata"]["uid"] == waiting["metadata"]["uid"]):
                self._real.delete(pod)
        self._reread()

    def _others_leave(self, number: int) -> None:
        assert self._waiting is not None
        if not self._finds_its_place(self._waiting):
            self.seen["lost its place"] += 1
            self._give_up()
            return
        for pod in [pod for pod in self._real.pods() if _is_leaving(pod)]:
            if self._is_bound(self._waiting):
                self._need_not_wait(self._waiting)
                return
            self._real.delete(pod)
            self._muster.loses(pod)
        self._pod, self._waiting = self._waiting, None
        node = self._real.lands(self._pod)
        self.seen["landed"] += 1
        self._equal("lands", node, self._muster.bound.get(self._pod["metadata"]["uid"]))
        self._placed(number, self._pod, node)
        self._reread()

    def _finds_its_place(self, pod: Document) -> bool:
        """Others who came since may be where its rules do not want them."""
        (machine,) = (machine for machine in self._cluster.machines.values() if machine.awaited)
        with machine.having([other for other in machine.running if not other.is_leaving]):
            machine.awaited, awaited = [], machine.awaited
            refusal = refuses(self._cluster, pod, machine, _strategy(pod))
            machine.awaited = awaited
        return refusal is None

    def _is_bound(self, pod: Document) -> bool:
        return pod["metadata"]["uid"] in self._muster.bound

    def _reread(self) -> None:
        """Muster begins anew with what the API server has, and so does the plain scheduler."""
        pods = self._real.pods()
        self._cluster = self._real.cluster(self._cluster.nodes, pods)
        for pod in pods:
            node = pod.get("status", {}).get("nominatedNodeName")
            if node and not pod["spec"].get("nodeName"):
                self._cluster.nominate(pod, node)
        self._muster = self._restarted(pods)

    def _restarted(self, pods: Iterable[Document]) -> Muster:
        pods, around = list(pods), self._real.around
        self._leaving = {pod["metadata"]["uid"] for pod in pods if _is_leaving(pod)}
        muster = Muster(self._real.configuration(), around, began=time.time())
        muster.take(self._cluster.nodes, pods)
        return muster

    def _equal(self, what: str, theirs: object, ours: object) -> None:
        if theirs != ours:
            name = self._pod["metadata"]["name"]
            self.differences.append((f"world {self._world.seed}, {name}, {what}", theirs, ours))


def _strategy(pod: Document) -> Strategy:
    return STRATEGIES.get(pod["spec"]["schedulerName"], Strategy())


def _is_leaving(pod: Document) -> bool:
    return pod["metadata"].get("deletionTimestamp") is not None


def words_of(message: str) -> str:
    """What is said of the nodes.  DynamicResources adds that it did not find what it had no chance to write down, and
    of a conflict we say how many nodes it is about."""
    said = message.partition(" preemption: ")[0]
    return "conflict" if "pod affinity terms conflict" in said else said
