"""Decides units: tries them, takes the room, asks for the binds, says why not.

Where a refused unit waits, and when it is tried again, is the queue's business (engine.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from muster.cluster.classes import PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.pods import PodState, Stage
from muster.engine.audit import Attempt, Audit
from muster.engine.cycle import GangCycle, in_order_of_choice
from muster.engine.decisions import Bind, Decision, Placement
from muster.engine.explain import Explainer
from muster.engine.queue import Unit
from muster.engine.status import Status
from muster.engine.stream import LARGEST_GANG, Small, Stream
from muster.engine.verdicts import Outcome, Verdict
from muster.framework.profile import Profile
from muster.framework.views import CLASSES_AT_ONCE, Views

# Work is counted in steps of about a microsecond, so that a budget bounds a call without a clock
_WORK_PER_UNIT = 15
_WORK_PER_POD = 5
_WORK_PER_REFUSAL = 600
_NODES_PER_WORK = 50


class Tried(NamedTuple):
    """What came of one unit."""

    unit: Unit
    outcome: Outcome
    work: int
    wants: dict[PodClass, int]
    """If it was refused: how many members of each class it has to place..."""
    needed: int
    """...and how many of them it needs at least."""


_NOTHING: dict[PodClass, int] = {}


class Decider:
    """Tries units on the cluster as it is, and changes it accordingly."""

    def __init__(
        self,
        cluster: Cluster,
        profile: Profile,
        views: Views,
        *,
        status: Status,
        audit: Audit,
        decisions: list[Decision],
    ) -> None:
        self._cluster = cluster
        self._rule = profile.gang_rule
        self._cycle = GangCycle(cluster.nodes, profile.gang_rule, views)
        self._stream = Stream(cluster, views)
        self._explainer = Explainer(cluster, profile, views)
        self._status = status
        self._audit = audit
        self._decisions = decisions
        self._now = 0.0

    def decide(self, first: Unit, following: Callable[[], Unit | None], now: float) -> tuple[list[Tried], list[Unit]]:
        """Tries the first unit, together with those that follow it if they are small too.

        Ends with a refusal, since room that was meant for the refused unit may wake another one first; returns
        what was tried, and the units that were taken from the queue in vain.
        """
        self._now = now
        small = self._small(first) if self._stream.window > 1 else None
        if small is None:
            return [self._try(first)], []
        run, rest = self._collect(small, following)
        tried: list[Tried] = []
        while run:
            rows = self._stream.place(run) if self._stream.window > 1 else []
            tried.extend(self._placed(*found) for found in zip(run, rows, strict=False))
            del run[: len(rows)]
            if not rows:
                tried.append(self._try(run.pop(0).unit))
                if tried[-1].outcome is not Outcome.PLACED:
                    break
        return tried, [small.unit for small in run] + ([rest] if rest is not None else [])

    # --- small units, many at once ---

    def _collect(self, first: Small, following: Callable[[], Unit | None]) -> tuple[list[Small], Unit | None]:
        """Small units for one window, and the unit that ended the run because it is none."""
        run, pods, classes = [first], len(first.pods), {first.pod_class}
        while pods < self._stream.window and len(classes) < CLASSES_AT_ONCE and (unit := following()) is not None:
            small = self._small(unit)
            if small is None:
                return run, unit
            run.append(small)
            pods += len(small.pods)
            classes.add(small.pod_class)
        return run, None

    def _small(self, unit: Unit) -> Small | None:
        """The unit as the stream takes it: a pod, or a small gang of one class, whole."""
        if unit.pod is not None:
            return Small(unit, unit.pod.pod_class, [unit.pod])
        gang = unit.gang
        assert gang is not None
        if len(gang.candidates) > LARGEST_GANG or len(gang.classes) != 1 or gang.gated:
            return None
        (pod_class,) = gang.classes
        pods = in_order_of_choice(gang.candidates.values())
        if self._rule.shortfall(gang, {pods[0].subset: len(pods)}):
            return None
        return Small(unit, pod_class, pods)

    def _placed(self, small: Small, rows: list[int]) -> Tried:
        """The stream has taken the room."""
        names = self._cluster.nodes.names
        self._bind(small.unit, [(pod, names[row]) for pod, row in zip(small.pods, rows, strict=True)])
        return self._success(small.unit, len(rows), len(rows))

    # --- one unit ---

    def _try(self, unit: Unit) -> Tried:
        self._stream.skip()
        return self._try_pod(unit, unit.pod) if unit.pod else self._try_gang(unit)

    def _try_pod(self, unit: Unit, pod: PodState) -> Tried:
        row = self._cycle.best_row(pod.pod_class)
        if row is not None:
            nodes = self._cluster.nodes
            nodes.usage.add(row, pod.pod_class)
            self._bind(unit, [(pod, nodes.names[row])])
            return self._success(unit, 1, 1)
        trial = self._cycle.try_pod(pod)
        verdict = self._explainer.verdict(pod.key, trial, again=lambda cycle: cycle.try_pod(pod))
        self._status.pod_refused(pod, verdict)
        return self._refusal(unit, verdict, trial.wants())

    def _try_gang(self, unit: Unit) -> Tried:
        """All that must be placed and as many more as fit, or nothing."""
        gang = unit.gang
        assert gang is not None
        trial = self._cycle.try_gang(gang)
        if trial.lacking:
            held = gang.bound + gang.binding
            verdict = self._explainer.verdict(gang.key, trial, held=held, again=lambda cycle: cycle.try_gang(gang))
            self._status.gang_refused(gang, trial, verdict)
            return self._refusal(unit, verdict, trial.wants())
        nodes = self._cluster.nodes
        binds: list[tuple[PodState, str]] = []
        for batch in trial.batches:
            nodes.usage.add_copies(batch.row_array, batch.pod_class)
            binds += [(pod, nodes.names[row]) for pod, row in zip(batch.pods, batch.rows, strict=False)]
        self._bind(unit, binds)
        return self._success(unit, len(binds), trial.needed)

    # --- what follows ---

    def _bind(self, unit: Unit, binds: list[tuple[PodState, str]]) -> None:
        """The pods are on their way; their room is taken already."""
        gang = unit.gang
        for pod, node in binds:
            if gang is not None:
                gang.uncount(pod)
            pod.stage = Stage.BINDING
            self._cluster.note(pod, node)
            if gang is not None:
                gang.count(pod)
        self._decisions.append(Bind(_name(unit), tuple([Placement(pod.uid, pod.key, node) for pod, node in binds])))

    def _success(self, unit: Unit, placed: int, needed: int) -> Tried:
        verdict = Verdict(unit=_name(unit), outcome=Outcome.PLACED, placed=placed, needed=needed)
        self._audit.record(Attempt(self._now, verdict))
        return Tried(unit, Outcome.PLACED, _WORK_PER_UNIT + _WORK_PER_POD * placed, _NOTHING, 0)

    def _refusal(self, unit: Unit, verdict: Verdict, wants: dict[PodClass, int]) -> Tried:
        self._audit.record(Attempt(self._now, verdict))
        work = _WORK_PER_REFUSAL + len(wants) * (self._cluster.nodes.capacity // _NODES_PER_WORK)
        return Tried(unit, verdict.outcome, work, wants, verdict.needed)


def _name(unit: Unit) -> str:
    """How people know the unit; the queue knows a lone pod by its UID."""
    return unit.pod.key if unit.pod else unit.key
