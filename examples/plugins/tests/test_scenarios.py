"""Every file in scenarios/ must hold with config.yaml; the scheduler is the real one, cluster and clock are made up."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]


@pytest.mark.parametrize("scenario", sorted((HERE / "scenarios").glob("*.yaml")), ids=lambda file: file.stem)
def test_the_scenario_holds(scenario):
    command = [sys.executable, "-m", "muster", "simulate", str(scenario), "--config", str(HERE / "config.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
