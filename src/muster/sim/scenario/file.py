"""Scenario files: a cluster, what happens to it and when, and what is expected to be seen.

`load` reads a file into actions and expectations; docs/scenarios.md describes the format.  Nothing in a
scenario knows how it is run: actions are operations on Kubernetes objects, expectations read what the API
shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from muster.base.errors import ScenarioError
from muster.framework.profile import Fairness, PreemptionSettings, Unsupported
from muster.plugins.node_resources_fit import Strategy
from muster.plugins.registry import ProfileParts, default_parts
from muster.sim.scenario import manifests
from muster.sim.scenario.actions import Action, Create
from muster.sim.scenario.book import Book
from muster.sim.scenario.expectations import Expectation, read_expectations
from muster.sim.scenario.manifests import Manifest
from muster.sim.scenario.place import Place, parse
from muster.sim.scenario.shapes import never_preempts
from muster.sim.scenario.steps import ACTIONS, Steps

# a scenario has no words for the shape that the third needs
_STRATEGIES = [Strategy.LEAST_ALLOCATED, Strategy.MOST_ALLOCATED]
_FIELDS = (
    "name",
    "about",
    "scheduler",
    "preemption",
    "fairness",
    "beside",
    "priorityClasses",
    "nodes",
    "objects",
    "gangs",
    "pods",
    "budgets",
    "steps",
    "until",
    "expect",
)


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What happens at one time, in this order; what is expected once it has settled."""

    at: float
    """Seconds since the start."""
    actions: tuple[Action, ...] = ()
    expectations: tuple[Expectation, ...] = ()


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    file: str
    name: str
    about: str
    parts: ProfileParts
    """What the scheduler is made of."""
    others: tuple[ProfileParts, ...] = ()
    """For pods that name it otherwise."""
    beside: str
    """The name of another Muster on the same nodes; "" if there is none."""
    steps: tuple[Step, ...]
    """In order of time; the first one sets the cluster up."""
    expectations: tuple[Expectation, ...]
    """For the end."""
    until: float | None
    """When it ends; None for when nothing happens any more."""
    together: dict[str, str]
    """Lone pods that were created by one entry: the pod's key to the entry's name."""


def load(path: Path, *, parts: Sequence[ProfileParts] = ()) -> Scenario:
    """The scenario in a file; ScenarioError says what is wrong with it, and in which line.

    `parts` are the profiles of a configuration, if there is one: then the scenario has nothing to say about that.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"cannot be read: {error.strerror}", where=str(path)) from error
    return loads(text, file=str(path), parts=parts)


def loads(text: str | bytes, *, file: str = "scenario", parts: Sequence[ProfileParts] = ()) -> Scenario:
    """The scenario in `text`; `file` is what complaints call it."""
    place = parse(text, file=file)
    fields = place.fields(_FIELDS, required=["name"])
    book = Book()
    steps = Steps(book)
    setup = _setup(fields, steps)
    timed = _timed(fields["steps"], steps) if "steps" in fields else []
    at_end = read_expectations(fields["expect"], book.refer) if "expect" in fields else ()
    book.check_references()
    book.label_selected()
    classes = Create(where=place.where, manifests=tuple(book.classes.values()))
    first, *others = _configured(parts, fields) if parts else [_parts(fields)]
    return Scenario(
        file=file,
        name=fields["name"].text(),
        about=" ".join(fields["about"].text().split()) if "about" in fields else "",
        parts=first,
        others=tuple(others),
        beside=_beside(fields["beside"], (first, *others)) if "beside" in fields else "",
        steps=(Step(at=0.0, actions=(classes, *setup)), *timed),
        expectations=at_end,
        until=_until(fields["until"], timed) if "until" in fields else None,
        together=book.together,
    )


def _setup(fields: dict[str, Place], steps: Steps) -> list[Action]:
    """What is there at the start: everything that stands outside of steps."""
    actions: list[Action] = []
    if "priorityClasses" in fields:
        for name, place in fields["priorityClasses"].entries().items():
            steps.book.priority_class(_priority_class(name, place))
    if "nodes" in fields:
        # nodes that are there from the start go without saying
        found: list[Manifest] = []
        for place in fields["nodes"].items():
            found += steps.nodes(place.called("node"))
        actions.append(Create(where=fields["nodes"].where, manifests=tuple(found)))
    # in the order written: it is the order of their ages
    for name, place in fields.items():
        if name == "objects":
            actions.append(steps.read(name, place))
        elif name in ("gangs", "pods", "budgets"):
            action = name.removesuffix("s")
            actions += [steps.read(action, item.called(action)) for item in place.items()]
    return actions


def _timed(place: Place, steps: Steps) -> list[Step]:
    found: list[Step] = []
    at = 0.0
    for item in place.items():
        fields = item.called("step").fields(("at", *ACTIONS, "expect"))
        if "at" in fields:
            time = fields["at"].seconds()
            if time < at:
                raise fields["at"].error(
                    "this step comes before the one above it", "put the steps in the order of their times"
                )
            at = time
        actions = [steps.read(name, field) for name, field in fields.items() if name in ACTIONS]
        expected = read_expectations(fields["expect"], steps.book.refer) if "expect" in fields else ()
        if not actions and not expected:
            raise item.error("this step does nothing", f"add one of {', '.join(ACTIONS)}, expect")
        found.append(Step(at=at, actions=tuple(actions), expectations=expected))
    return found


def _priority_class(name: str, place: Place) -> Manifest:
    """A number, or one with what it says of preemption."""
    if not place.is_mapping:
        return manifests.priority_class(name, place.integer())
    fields = place.called(f"priority class {name}").fields(("value", "preemption"), required=["value"])
    preempts = "preemption" not in fields or never_preempts(fields["preemption"])
    return manifests.priority_class(name, fields["value"].integer(), preempts=preempts)


# --- the scheduler ---


def _parts(fields: dict[str, Place]) -> ProfileParts:
    strategy, unsupported = Strategy.LEAST_ALLOCATED, Unsupported.REFUSE
    if "scheduler" in fields:
        scheduler = fields["scheduler"].fields(("strategy", "unsupported"))
        if "strategy" in scheduler:
            strategy = Strategy(scheduler["strategy"].word(_STRATEGIES))
        if "unsupported" in scheduler:
            unsupported = Unsupported(scheduler["unsupported"].word(list(Unsupported)))
    return ProfileParts(
        plugins=default_parts(strategy),
        unsupported=unsupported,
        preemption=_preemption(fields["preemption"]) if "preemption" in fields else PreemptionSettings(),
        fairness=_fairness(fields["fairness"]) if "fairness" in fields else Fairness(),
    )


def _configured(parts: Sequence[ProfileParts], fields: dict[str, Place]) -> list[ProfileParts]:
    """What a configuration says; pods of a scenario name the scheduler muster, whatever it is called there."""
    for name in ("scheduler", "preemption", "fairness"):
        if name in fields:
            raise fields[name].error(f"'{name}' is said by the configuration", "leave it out here, or run without one")
    first, *others = parts
    if any(manifests.SCHEDULER in one.scheduler_names for one in parts):
        return [first, *others]
    return [replace(first, scheduler_names=(manifests.SCHEDULER, *first.scheduler_names)), *others]


def _preemption(place: Place) -> PreemptionSettings:
    fields = place.fields(("gangs", "delayed", "rounds", "patience"))
    wanted = PreemptionSettings()
    if "gangs" in fields:
        wanted = replace(wanted, gangs=fields["gangs"].flag())
    if "delayed" in fields:
        wanted = replace(wanted, delayed=fields["delayed"].flag())
    if "rounds" in fields:
        wanted = replace(wanted, rounds=fields["rounds"].count())
    if "patience" in fields:
        wanted = replace(wanted, patience_seconds=fields["patience"].seconds())
    return wanted


def _fairness(place: Place) -> Fairness:
    fields = place.fields(("passesPerMember", "failingShare"))
    wanted = Fairness()
    if "passesPerMember" in fields:
        passes = fields["passesPerMember"]
        off = passes.is_flag and not passes.flag()
        wanted = replace(wanted, passes_per_member=None if off else passes.number())
    if "failingShare" in fields:
        share = fields["failingShare"].number()
        if share > 1:
            raise fields["failingShare"].error("failingShare must be between 0 and 1")
        wanted = replace(wanted, failing_share=share)
    return wanted


def _beside(place: Place, parts: Sequence[ProfileParts]) -> str:
    name = place.text()
    if any(name in one.scheduler_names for one in parts):
        raise place.error(f"{name} is the first scheduler's name", "give the other one another name")
    return name


def _until(place: Place, steps: list[Step]) -> float:
    until = place.seconds()
    if steps and until < steps[-1].at:
        raise place.error("the scenario ends before its last step", "make 'until' later, or leave it out")
    return until


def describe_nodes(scenario: Scenario) -> str:
    """The cluster at the start, in one line: "4 nodes (n-1 … n-4) with 4 cpu"."""
    kinds: dict[str, list[str]] = {}
    for action in scenario.steps[0].actions:
        for manifest in action.manifests if isinstance(action, Create) else ():
            if manifest["kind"] == "Node":
                kinds.setdefault(manifests.node_words(manifest), []).append(manifest["metadata"]["name"])
    return "; ".join(f"{_nodes(names)} with {words}" for words, names in kinds.items()) or "no nodes"


def _nodes(names: list[str]) -> str:
    if len(names) == 1:
        return f"node {names[0]}"
    listed = ", ".join(names) if len(names) <= 3 else f"{names[0]} … {names[-1]}"
    return f"{len(names)} nodes ({listed})"
