"""A soak runs worlds that nobody has seen before, goes on when one fails, and says so at the end."""

import re
import signal
import subprocess
import sys

import pytest

from muster.sim.chaos import __main__ as chaos
from tests.worlds.faults import plant


@pytest.fixture
def soak(capsys):
    """Its status, and the lines that it prints."""

    def run(*options):
        status = chaos.main(["--minutes", "5", "--jobs", "1", *options])
        return status, capsys.readouterr().out.splitlines()

    return run


def count(lines, what):
    """The number that stands before `what`, when it was last printed."""
    found = [line.split(maxsplit=1) for line in lines]
    return int([words[0] for words in found if words[1:] == [what]][-1].replace(",", ""))


def test_a_soak_ends_and_says_what_it_saw(soak):
    status, lines = soak("--first", "10", "--worlds", "4")
    assert status == 0
    assert lines[0] == "worlds from seed 10 on, for 5 minutes; Ctrl-C ends it early"
    assert count(lines, "worlds") == 4
    assert count(lines, "events") > 0
    assert count(lines, "worlds with trouble: slow") > 0
    assert count(lines, "units that waited, looked at") > 0
    assert count(lines, "worlds with a violation") == 0


def test_a_soak_goes_on_after_a_failing_world_and_ends_with_status_1(soak, monkeypatch):
    plant("priority_does_not_count", monkeypatch.setattr)
    status, lines = soak("--first", "25", "--worlds", "11")
    failed = [line for line in lines if " failed: " in line]
    assert status == 1
    # whoever is held back by what comes later breaks another rule
    assert sum(" failed: order: " in line for line in failed) > 1
    assert all(re.search(r"^seed (\d+) .*; replay: .venv/bin/python -m muster.sim.chaos \1$", line) for line in failed)
    assert count(lines, "worlds with a violation") == len(failed)
    assert count(lines, "worlds") == 11 - len(failed)


def test_a_soak_says_every_few_minutes_what_it_saw(soak, monkeypatch):
    monkeypatch.setattr("muster.sim.chaos.many._REPORT_SECONDS", 0.0)
    monkeypatch.setattr("muster.sim.chaos.many._CHUNK", 2)
    _, lines = soak("--first", "0", "--worlds", "4")
    assert lines.count("after 0 minutes:") == 2
    assert sum(line.endswith("  worlds with a violation") for line in lines) == 3


def test_no_world_begins_when_the_time_is_over(soak):
    status, lines = soak("--minutes", "0")
    assert status == 0
    assert count(lines, "worlds with a violation") == 0
    assert len(lines) == 2


def test_each_soak_sees_other_worlds(soak, monkeypatch):
    monkeypatch.setattr(chaos.time, "time", lambda: 1_700_000_000.5)
    _, lines = soak("--worlds", "0")
    assert lines[0].startswith("worlds from seed 1700000000000 on")


COMMAND = [sys.executable, "-m", "muster.sim.chaos", "--minutes", "5", "--jobs", "2", "--first", "0"]


def test_several_processes_see_what_one_does(soak):
    # a few more than one process takes at once
    several = subprocess.run([*COMMAND, "--worlds", "22"], capture_output=True, check=False, text=True)
    assert (several.returncode, several.stdout.splitlines()) == soak("--first", "0", "--worlds", "22")


def test_an_interrupt_ends_a_soak_early():
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as soak:
        assert soak.stdout.readline().startswith("worlds from seed 0 on")
        soak.send_signal(signal.SIGINT)
        told, errors = soak.communicate()
    assert told.splitlines()[0] == "ended early"
    assert told.splitlines()[-1].endswith("  worlds with a violation")
    assert errors == ""
    assert soak.returncode == 0
