"""An older version and this one on one real cluster: `make test-upgrade`.

The older one is taken out of this repository's history and runs with the packages of this one.
"""

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from controlplane.plane import PlaneError
from tests.control_plane.conftest import Namespaces, nodes
from tests.control_plane.stage import Stage, fragile_plane

__all__ = ["nodes"]

BEFORE_DIALECTS = "8f40a1e"
"""The last commit that knew groups of v1beta1 only, native and Muster's own."""
_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]


def pytest_ignore_collect(collection_path, config):
    """Only when asked for: it takes programs that take minutes to build, and the history of the repository."""
    asked = any(Path(argument.split("::")[0]).absolute().is_relative_to(_HERE) for argument in config.args)
    return None if asked else True


@pytest.fixture(scope="session")
def old(tmp_path_factory):
    """The folder with the older version's package."""
    archived = subprocess.run(["git", "archive", BEFORE_DIALECTS, "src"], cwd=_ROOT, capture_output=True, check=False)
    if archived.returncode:
        pytest.exit(f"no history of the repository: {archived.stderr.decode().strip()}", returncode=1)
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as archive:
        archive.extractall(folder, filter="data")
    where = "import muster; print(muster.__file__)"
    source = folder / "src"
    found = subprocess.run(
        [sys.executable, "-c", where], env={"PYTHONPATH": str(source)}, capture_output=True, text=True, check=True
    )
    assert Path(found.stdout.strip()).is_relative_to(source)
    return source


@pytest.fixture(scope="session")
def fragile(tmp_path_factory):
    try:
        with fragile_plane(tmp_path_factory.mktemp("record")) as plane:
            for folder in ("crds", "dialects/coscheduling"):
                plane.kubectl("apply", "-k", str(_ROOT / "deploy" / folder))
            yield plane
    except PlaneError as error:
        # one line, once: every test would fail for the same reason
        pytest.exit(str(error), returncode=1)


class CustomStage(Stage):
    """Its groups are Muster's own, which pods name by label: what both versions know besides native ones."""

    def pods(self, pods):
        for each in pods:
            if field := each["spec"].pop("schedulingGroup", None):
                each["metadata"]["labels"]["muster.dev/pod-group"] = field["podGroupName"]
        super().pods(pods)

    def group_path(self, name=""):
        return super().group_path(name).replace("scheduling.k8s.io", "muster.dev")


_STAGES = {"native": Stage, "custom": CustomStage}


@pytest.fixture(params=_STAGES)
def stage(request, fragile, nodes, tmp_path):
    namespaces = Namespaces()
    with _STAGES[request.param](fragile, namespaces.make(fragile), tmp_path) as stage:
        yield stage
    namespaces.remove_all()
