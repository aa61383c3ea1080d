"""The command line: what it prints, where, and with which exit status."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from muster import __version__
from muster.cli import main

DEMO = Path(__file__).parents[2] / "scenarios" / "demo.yaml"

GOOD = """
name: Good
about: It starts.
nodes: [{name: n, count: 2, cpu: 4, memory: 8Gi}]
gangs: [{name: a, members: 2, cpu: 3}]
expect: {gangs: {a: {is: running}}}
"""
PACKED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: packer
  pluginConfig:
  - {name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}
"""
BAD = GOOD.replace("is: running", "is: waiting").replace("name: Good", "name: Bad")


@pytest.fixture
def muster(tmp_path, monkeypatch):
    """Runs the command in a folder with a good, a bad and a broken scenario."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(BAD)
    (tmp_path / "small.yaml").write_text(GOOD.replace("cpu: 3", "cpu: 1"))
    (tmp_path / "packed-config.yaml").write_text(PACKED)
    (tmp_path / "broken.yaml").write_text(GOOD.replace("members", "memebers"))
    return lambda *args: CliRunner().invoke(main, args)


def test_a_scenario_that_holds_exits_0_and_says_so_last(muster):
    result = muster("simulate", "good.yaml")
    assert result.exit_code == 0
    assert (
        result.stdout
        == """\
Good
It starts.

Cluster: 2 nodes (n-1, n-2) with 4 cpu, 8Gi memory

    0s  gang a (2 × 3 cpu) arrives
        a starts: 2 pods on n-1, n-2

name  pods  min  state    waited  started  ended
a        2    2  running  0s      0s       -

✓ at the end, gang a: is running
✓ at the end, every gang: is whole or not started
All 2 expectations held.
"""
    )
    assert result.stderr == ""


def test_one_that_does_not_hold_exits_1_and_says_what_was_seen(muster):
    result = muster("simulate", "bad.yaml")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-3:] == [
        "✗ at the end, gang a: expected is: waiting, saw running [bad.yaml:6]",
        "✓ at the end, every gang: is whole or not started",
        "1 of 2 expectations did not hold.",
    ]


def test_many_scenarios_have_a_line_each(muster):
    result = muster("simulate", "good.yaml", "bad.yaml")
    assert result.exit_code == 1
    assert (
        result.stdout
        == """\
✓ good.yaml: Good
✗ bad.yaml: Bad
    at the end, gang a: expected is: waiting, saw running [bad.yaml:6]
1 of 2 scenarios failed.
"""
    )


def test_json_has_the_same_as_data(muster):
    result = muster("simulate", "good.yaml", "--output", "json")
    data = json.loads(result.stdout)
    assert data["held"] is True
    (scenario,) = data["scenarios"]
    assert scenario["name"] == "Good"
    assert scenario["timeline"][-1] == {"at": 0.0, "kind": "starts", "text": "a starts: 2 pods on n-1, n-2"}
    assert scenario["units"][0]["state"] == "running"
    assert scenario["expectations"][0] == {
        "at": None,
        "subject": "gang a",
        "aspect": "is",
        "wanted": "running",
        "seen": "running",
        "held": True,
        "where": "good.yaml:6",
    }


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["simulate", "broken.yaml"], "broken.yaml:5: unknown field 'memebers' in gang; did you mean 'members'?"),
        (["simulate", "good.yaml", "broken.yaml"], "broken.yaml:5: unknown field"),
        (["simulate", "nowhere.yaml"], "nowhere.yaml: cannot be read: No such file or directory"),
        (["simulate", "."], ".: cannot be read: Is a directory"),
        (["simulate"], "Missing argument 'FILE...' (see muster simulate --help)"),
        (["simulate", "good.yaml", "--until", "late"], "Invalid value for '--until': 'late' is not a time"),
        (["simulate", "good.yaml", "--output", "xml"], "Invalid value for '--output'"),
        (["simulate", "good.yaml", "bad.yaml", "--journal", "j"], "--journal takes one FILE"),
        (["simulate", "good.yaml", "--journal", "no/j"], "no/j cannot be written: No such file or directory"),
        (["simulate", "good.yaml", "--config", "nowhere.yaml"], "nowhere.yaml cannot be read: No such file"),
        (["simulate", "good.yaml", "--config", "good.yaml"], "good.yaml: name: unknown field"),
        (["simulate", "good.yaml", "--config", "packed-config.yaml", "--journal", "packed-config.yaml"], "--journal"),
        (["replay", "nowhere"], "nowhere cannot be read: No such file or directory"),
        (["replay", "good.yaml"], "good.yaml: "),
        (["frobnicate"], "No such command 'frobnicate' (see muster --help)"),
    ],
)
def test_bad_input_exits_2_with_one_line_on_standard_error(muster, arguments, line):
    result = muster(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"muster: {line}")
    assert len(result.stderr.splitlines()) == 1


def test_a_configuration_says_what_decides_whatever_it_calls_the_scheduler(muster):
    assert "a starts: 2 pods on n-1, n-2" in muster("simulate", "small.yaml").stdout
    result = muster("simulate", "small.yaml", "--config", "packed-config.yaml", "--journal", "run.jsonl")
    assert result.exit_code == 0
    assert "a starts: 2 pods on n-1\n" in result.stdout
    assert muster("replay", "run.jsonl").stdout.startswith("decided the same: ")


def test_what_has_no_effect_of_a_configuration_is_told(muster):
    Path("idle.yaml").write_text(PACKED.replace("profiles:", "parallelism: 3\nprofiles:"))
    result = muster("simulate", "good.yaml", "--config", "idle.yaml")
    assert result.exit_code == 0
    assert result.stderr == "muster: parallelism has no effect: Muster looks at all nodes at once\n"


def test_until_says_what_was_not_checked(muster):
    result = muster("simulate", "bad.yaml", "--until", "30s")
    assert result.exit_code == 0
    assert "1 expectation not checked: later than --until." in result.stdout
    assert result.stdout.endswith("Nothing was checked.\n")


def test_a_journal_replays(muster):
    assert muster("simulate", "good.yaml", "--journal", "run.jsonl").exit_code == 0
    result = muster("replay", "run.jsonl")
    assert result.exit_code == 0
    assert result.stdout.startswith("decided the same: ")


def test_a_journal_that_says_otherwise_exits_1_and_shows_the_difference(muster):
    muster("simulate", "good.yaml", "--journal", "run.jsonl")
    journal = Path("run.jsonl")
    journal.write_bytes(journal.read_bytes().replace(b'"default/a-1","n-1"', b'"default/a-1","n-2"'))
    result = muster("replay", "run.jsonl")
    assert result.exit_code == 1
    assert "decided otherwise in line " in result.stdout
    assert "recorded: " in result.stdout
    assert "now: " in result.stdout


def test_the_version(muster):
    assert muster("--version").stdout == f"muster {__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], [], ["-h"]])
def test_help_says_where_to_start(muster, arguments):
    result = muster(*arguments)
    assert result.exit_code == 0
    assert "muster demo" in result.stdout
    assert "simulate" in result.stdout
    assert "replay" in result.stdout


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from muster.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'rich', 'yaml', 'msgspec'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_demo_fits_on_a_screen(muster):
    result = muster("simulate", str(DEMO))
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) <= 40


def test_colour_only_for_terminals_that_want_it(muster, monkeypatch):
    assert "\x1b[" not in muster("simulate", "good.yaml").stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[32m" in muster("simulate", "good.yaml").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in muster("simulate", "good.yaml").stdout
