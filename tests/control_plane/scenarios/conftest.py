"""The clusters on which scenarios are played: one with PodGroups of its own, one with Muster's."""

from pathlib import Path

import pytest

from muster.api.resources import CUSTOM_POD_GROUPS, NATIVE_POD_GROUPS
from muster.base.errors import ApiError
from tests.control_plane.checks import until
from tests.control_plane.conftest import needs_native_groups

CRDS = Path(__file__).parents[3] / "deploy" / "crds"


@pytest.fixture(scope="session", params=[pytest.param("native", marks=needs_native_groups), "custom"])
def cluster(request):
    """A kubeconfig, and the API that PodGroups are written to."""
    if request.param == "native":
        return request.getfixturevalue("plane").kubeconfig(), NATIVE_POD_GROUPS[0]
    stock = request.getfixturevalue("stock")
    stock.kubectl("apply", "-k", str(CRDS))
    stock.kubectl("wait", "--for=condition=Established", "crd/podgroups.muster.dev", "--timeout=30s")
    until(lambda: served(stock, CUSTOM_POD_GROUPS[0].path()), "its PodGroups to be served")
    return stock.kubeconfig(), CUSTOM_POD_GROUPS[0]


def served(plane, path):
    """Established is not served yet: for a moment the answer is 429, "storage is (re)initializing"."""
    try:
        plane.request("GET", path)
    except ApiError as error:
        if error.code not in (404, 429):
            raise
        return False
    return True
