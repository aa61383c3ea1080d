"""The example plugins as somebody has them who installed their package."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "plugins"
_SECONDS = 300.0


def install(folder):
    """The environment of processes that find the package in the folder."""
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    run(sys.executable, "-m", "pip", "install", "--quiet", *offline, "--target", str(folder), str(PACKAGE))
    return {"PYTHONPATH": str(folder)}


def run(*command, **options):
    environment = {**os.environ, **options.pop("environment", {})}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=_SECONDS, env=environment, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
