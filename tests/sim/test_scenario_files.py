"""Every file in scenarios/ holds, and would not hold if it expected something else."""

from pathlib import Path

import pytest

from muster.sim.scenario.file import load, loads
from muster.sim.scenario.run import run

FOLDER = Path(__file__).parents[2] / "scenarios"
FILES = sorted(FOLDER.glob("*.yaml"))


def missed(result):
    return [str(check) for check in result.expectations if not check.held]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_scenario_holds(file):
    assert missed(run(load(file))) == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_scenario_explains_itself_and_expects_something(file):
    scenario = load(file)
    assert scenario.about
    expected = [*scenario.expectations, *(e for step in scenario.steps for e in step.expectations)]
    assert expected


@pytest.mark.parametrize(
    ("file", "right", "wrong", "line"),
    [
        (
            "demo",
            "blue: {is: waiting, bound: 0}",
            "blue: {is: running, bound: 0}",
            "at 0s, gang blue: expected is: running, saw waiting (needs 8 × 2 cpu",
        ),
        (
            "two-gangs-one-cluster",
            "first: {is: running, bound: 100, nodes: 100}",
            "first: {is: running, bound: 50, nodes: 100}",
            "at 1s, gang first: expected bound: 50, saw 100",
        ),
        (
            "freed-room-wakes-at-once",
            "started: 7m13s",
            "started: [7m14s, 8m]",
            "at the end, gang train: expected started: between 7m14s and 8m, saw 7m13s",
        ),
        (
            "older-first-among-equals",
            "order: [now, tiny, older, younger]",
            "order: [now, tiny, younger, older]",
            "at the end, all gangs: expected order: now, tiny, younger, older, "
            "saw now at 0s, tiny at 30s, younger at 2m, older at 1m",
        ),
        (
            "bind-fails-and-is-retried",
            "greedy: {is: waiting, bound: 0}",
            "greedy: {is: waiting, bound: 0}\n    train: {never: partial}",
            "at the end, gang train: expected never: partial, saw it was partial",
        ),
        (
            "mixed-shapes",
            "ray-head: {node: gpu}",
            "ray-head: {node: n-1}",
            "at 1m, pod ray-head: expected node: n-1, saw gpu",
        ),
        (
            "suggestion-is-true",
            '"2 nodes of 8 cpu',
            '"3 nodes of 8 cpu',
            "at 10s, gang train: expected says: '3 nodes of 8 cpu + 32Gi memory would do', saw '",
        ),
    ],
)
def test_a_wrong_expectation_fails_and_says_what_was_seen(file, right, wrong, line):
    text = (FOLDER / f"{file}.yaml").read_text()
    assert right in text
    if file == "bind-fails-and-is-retried":
        text = text.replace("    train: {is: running, started: [100ms, 2s], bound: 4, nodes: 4}\n", "")
    (told,) = missed(run(loads(text.replace(right, wrong), file="x.yaml")))
    assert told.startswith(line)
    assert "[x.yaml:" in told
    assert len(told.splitlines()) == 1
