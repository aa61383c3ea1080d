"""Plays a scenario: on the bare engine in virtual time, or on any other stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from muster.api.kinds import CLAIMS, RESOURCE_CLAIMS, VOLUMES
from muster.api.times import seconds
from muster.base.errors import MusterError, ScenarioError
from muster.engine.engine import Engine
from muster.engine.journal import Recorder
from muster.gangs.dialects import declare
from muster.plugins.registry import from_journal, make_profile, to_journal
from muster.sim.scenario.actions import Action
from muster.sim.scenario.expectations import Expectation
from muster.sim.scenario.file import Scenario, describe_nodes
from muster.sim.scenario.leaks import find_leaks
from muster.sim.scenario.perform import Hands, ScenarioFaults
from muster.sim.scenario.record import Record, State, Unit
from muster.sim.scenario.stage import Stage
from muster.sim.scenario.story import Line, Story
from muster.sim.scenario.times import show_seconds
from muster.sim.world import Scheduler, World

# any day will do; creation timestamps have to look like ones
START = seconds("2026-01-01T00:00:00Z")

_BROUGHT = (CLAIMS.name, VOLUMES.name, RESOURCE_CLAIMS.name)
"""Kinds that pods bring with them."""

# A scenario is over when nothing was seen to happen for so long: longer than a gang's default timeout, and
# than the scheduler leaves a unit untried
_QUIET_SECONDS = 600.0
# and in any case so long after its last step: what never comes to rest must not run for ever
_LONGEST_SECONDS = 7 * 86_400.0


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """An expectation and what was seen."""

    at: float | None
    """None for the end."""
    subject: str
    aspect: str
    wanted: str
    seen: str
    held: bool
    where: str

    @property
    def when(self) -> str:
        return "at the end" if self.at is None else f"at {show_seconds(self.at)}"

    def __str__(self) -> str:
        """One line for people."""
        return f"{self.when}, {self.subject}: expected {self.aspect}: {self.wanted}, saw {self.seen} [{self.where}]"


class UnitReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a gang, or of lone pods."""

    name: str
    gang: bool
    members: int
    min: int | None
    state: State
    waited: float
    """Seconds from its arrival to its start, or to the end if it never started."""
    started: float | None
    ended: float | None
    why: str
    """What it, or some of it, waits for at the end."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is told of a run; times in seconds since its start."""

    file: str
    name: str
    about: str
    nodes: str
    held: bool
    ended: float
    """When the last thing happened."""
    timeline: tuple[Line, ...]
    units: tuple[UnitReport, ...]
    expectations: tuple[Checked, ...]
    not_reached: int
    """Expectations for times after `until`."""


def run(scenario: Scenario, *, until: float | None = None, journal: Callable[[bytes], object] | None = None) -> Result:
    """Plays the scenario on the bare engine; with `until` no further than that many seconds.

    `journal` takes lines: of the scheduler, not of one beside it.
    """
    settings = to_journal(scenario.parts, *scenario.others)

    def through(engine: Engine) -> Scheduler:
        return engine if journal is None else Recorder(engine, journal, settings=settings)

    faults = ScenarioFaults()
    world = World(lambda: Engine(*from_journal(settings)), start=START, faults=faults, through=through)
    if scenario.beside:
        parts = msgspec.structs.replace(scenario.parts, scheduler_names=(scenario.beside,))
        world.beside(lambda: Engine(make_profile(parts)))
    return play(scenario, world, perform=Hands(world, faults).perform, until=until)


def play(scenario: Scenario, stage: Stage, *, perform: Callable[[Action], None], until: float | None = None) -> Result:
    """Plays the scenario on a stage whose time begins at START; `perform` does there what an action says."""
    return _Play(scenario, stage, perform).play(until)


class _Play:
    def __init__(self, scenario: Scenario, stage: Stage, perform: Callable[[Action], None]) -> None:
        self._scenario = scenario
        self._stage = stage
        self._perform = perform
        self._story = Story()
        story = self._story
        self._record = Record(start=START, together=scenario.together, on_change=story.changed, on_loss=story.lost)
        self._read = 0
        """How much of the stage's history the record has."""
        self._checked: list[Checked] = []

    def play(self, until: float | None) -> Result:
        scenario = self._scenario
        not_reached = 0
        for step in scenario.steps:
            if until is not None and step.at > until:
                not_reached += len(step.expectations)
                continue
            for action in step.actions:
                self._stage.at(START + step.at, partial(self._do, action))
            if step.expectations:
                self._run(step.at)
                self._check(step.expectations, at=step.at)
        end = until if until is not None else scenario.until
        if end is None:
            self._run_until_quiet(scenario.steps[-1].at)
        else:
            self._run(end)
        if until is None or (scenario.until is not None and until >= scenario.until):
            self._check(scenario.expectations, at=None)
            self._check_whole()
        else:
            not_reached += len(scenario.expectations)
        return self._result(end, not_reached)

    # --- time ---

    def _do(self, action: Action) -> None:
        self._catch_up()
        try:
            self._perform(action)
        except ScenarioError:
            raise
        except MusterError as error:
            raise ScenarioError(f"cannot be done: {error}", where=action.where) from error
        self._story.step(self._now, action.told)

    def _run(self, until: float) -> None:
        self._stage.run(START + until)
        self._catch_up()

    def _run_until_quiet(self, last_step: float) -> None:
        horizon = last_step + _QUIET_SECONDS
        while True:
            self._stage.run_until_quiet(START + horizon)
            self._catch_up()
            upcoming = self._stage.next_event
            busy_until = max(self._record.last_change, 0.0 if upcoming is None else upcoming - START)
            if busy_until + _QUIET_SECONDS <= horizon or busy_until > last_step + _LONGEST_SECONDS:
                return
            horizon = busy_until + _QUIET_SECONDS

    def _catch_up(self) -> None:
        history = self._stage.history
        news, self._read = history[self._read :], len(history)
        self._record.take(news)

    @property
    def _now(self) -> float:
        return self._stage.now - START

    # --- results ---

    def _check(self, expectations: Iterable[Expectation], *, at: float | None) -> None:
        for expectation in expectations:
            seen = expectation.check(self._record)
            self._checked.append(
                Checked(
                    at=at,
                    subject=expectation.subject,
                    aspect=expectation.aspect,
                    wanted=expectation.wanted,
                    seen=seen.words,
                    held=seen.held,
                    where=expectation.where,
                )
            )

    def _check_whole(self) -> None:
        """What every scenario expects, whatever it says: no gang is left half started, but those that want it so;
        and nothing of what pods bring is kept for who does not go."""
        units = [unit for unit in self._record.units.values() if unit.gang and unit.state is State.PARTIAL]
        partial = [unit for unit in units if unit.group is None or not declare(unit.group).holds_partial]
        half = [f"{unit.name} with {len(unit.bound)} of {unit.minimum} bound" for unit in partial]
        self._check_none("every gang", "whole or not started", half)
        if any(address.kind in _BROUGHT for address in self._record.facts):
            self._check_none("every claim and volume", "in use, or free", find_leaks(self._record))

    def _check_none(self, subject: str, wanted: str, others: list[str]) -> None:
        """There are no others than is wanted."""
        seen, held = ", ".join(others) or "so", not others
        where = self._scenario.file
        self._checked.append(
            Checked(at=None, subject=subject, aspect="is", wanted=wanted, seen=seen, held=held, where=where)
        )

    def _result(self, end: float | None, not_reached: int) -> Result:
        scenario = self._scenario
        ended = max(self._record.last_change, scenario.steps[-1].at) if end is None else end
        return Result(
            file=scenario.file,
            name=scenario.name,
            about=scenario.about,
            nodes=describe_nodes(scenario),
            held=all(checked.held for checked in self._checked),
            ended=ended,
            timeline=tuple(self._story.lines),
            units=tuple(_unit_report(unit, ended) for unit in self._record.units.values()),
            expectations=tuple(self._checked),
            not_reached=not_reached,
        )


def _unit_report(unit: Unit, end: float) -> UnitReport:
    return UnitReport(
        name=unit.name,
        gang=unit.gang,
        members=len(unit.pods),
        min=unit.minimum,
        state=unit.state,
        waited=(end if unit.started is None else unit.started) - unit.arrived,
        started=unit.started,
        ended=unit.ended,
        why="" if unit.state is State.ENDED else unit.why[1],
    )
