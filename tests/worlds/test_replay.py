"""A failing world says how to replay it, and can be told, shrunk, and told again."""

import pytest

from muster.sim.chaos.__main__ import main
from muster.sim.chaos.run import run, run_worlds
from tests.worlds.faults import plant


def test_the_story_of_a_world_is_told(capsys):
    assert main(["7"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("world 7: ")
    assert "=> bind" in told
    assert told.endswith("no rule was broken\n")


def test_many_worlds_are_added_up(capsys):
    assert main(["--worlds", "4", "--first", "10", "--jobs", "1"]) == 0
    assert "  worlds\n" in capsys.readouterr().out


@pytest.fixture
def broken(monkeypatch):
    """The seed of a world that breaks a rule."""
    plant("priority_does_not_count", monkeypatch.setattr)
    return next(seed for seed in range(400) if run(seed).rule == "order")


def test_a_failing_world_says_how_to_replay_it(broken):
    _, failures = run_worlds(range(broken, broken + 1))
    assert len(failures) == 1
    assert failures[0].startswith(f"seed {broken} failed: order: ")
    assert failures[0].endswith(f"replay: .venv/bin/python -m muster.sim.chaos {broken}")


def test_a_failing_world_is_shrunk_to_what_breaks_the_rule(broken, capsys):
    assert main([str(broken)]) == 1
    whole = capsys.readouterr().out
    assert main([str(broken), "--shrink"]) == 1
    shrunk = capsys.readouterr().out
    assert "BROKEN: order: " in shrunk
    assert len(shrunk) < len(whole)
