"""The embedded server answers as the real one does, but for what the documentation says."""

import contextlib
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from controlplane.plane import ControlPlane
from tests.control_plane.comparison.compare import differences
from tests.control_plane.comparison.replay import replay
from tests.control_plane.comparison.script import SCRIPT
from tests.control_plane.conftest import needs_native_groups

DOCUMENT = Path(__file__).parents[3] / "docs" / "local.md"
_HEADING = "## Where it differs"
_MOST_DIFFERENCES = 10
_FEWEST_REQUESTS = 250

pytestmark = needs_native_groups


@contextlib.contextmanager
def embedded(folder):
    """The path of a kubeconfig for an embedded server, which ends with the block."""
    command = [sys.executable, "-m", "muster.local", str(folder), "--port", "0", "--ephemeral"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        port = process.stdout.readline().strip()
        kubeconfig = {
            "clusters": [
                {"cluster": {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(folder / "ca.crt")}}
            ],
            "users": [{"user": {"token": (folder / "token").read_text().strip()}}],
        }
        path = folder / "kubeconfig-of-test"
        path.write_text(yaml.safe_dump(kubeconfig))
        yield path
        process.stdin.close()


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the real server and the embedded one say to the script."""
    with (
        ControlPlane(gates=True, extra_apiserver_flags=["--allow-privileged"]) as plane,
        embedded(tmp_path_factory.mktemp("embedded")) as local,
        ThreadPoolExecutor(2) as pool,
    ):
        both = [pool.submit(replay, kubeconfig, SCRIPT) for kubeconfig in (plane.kubeconfig(), local)]
        return [one.result() for one in both]


def documented():
    """Names of steps that may differ, by the row of the table that gives the reason."""
    section = DOCUMENT.read_text().partition(_HEADING)[2].partition("\n## ")[0]
    # another table is for kinds that are data
    section = section.partition("\nKinds that are data")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")][2:]
    return [(set(re.findall(r"`([^`]+)`", row[0])), row[-1].strip()) for row in rows]


def test_the_script_is_long_and_its_steps_have_names_of_their_own():
    names = Counter(name for step in SCRIPT for name in (step.name, *(inner.name for inner in step.during)))
    assert sum(names.values()) >= _FEWEST_REQUESTS
    assert [name for name, count in names.items() if count > 1] == []


def test_the_differences_that_are_documented_are_few_and_have_reasons():
    rows = documented()
    assert len(rows) <= _MOST_DIFFERENCES
    assert [names for names, reason in rows if not names or not reason] == []


def test_the_real_server_answers_as_the_script_expects(answers):
    real, _ = answers
    assert [(one.step.name, one.step.code, one.code) for one in real if one.code != one.step.code] == []


def test_every_status_code_is_the_real_one(answers):
    wrong = [
        f"{one.step.name}: {one.code}, not {other.code}"
        for other, one in zip(*answers, strict=True)
        if one.code != other.code
    ]
    assert wrong == []


def test_answers_differ_only_where_the_documentation_says(answers):
    found = differences(*answers)
    expected = set().union(*(names for names, _ in documented()))
    report = "\n".join(f"{name}: {line}" for name, lines in found.items() if name not in expected for line in lines)
    assert set(found) == expected, report
