"""The kinds of deploy/dialects on a real API server: what they take, what they refuse, and with which words."""

import pytest

from tests.dialects.definitions import FOLDER, NAMES, RESOURCES, kept_status, says
from tests.dialects.objects import BAD, GOOD, STATUSES


@pytest.fixture(scope="module")
def server(stock):
    """A stock cluster that serves all of them."""
    for name in NAMES:
        stock.kubectl("apply", "-k", str(FOLDER / name))
    for resource in RESOURCES.values():
        stock.kubectl("wait", "--for=condition=Established", f"crd/{resource.name}", "--timeout=30s")
    return stock


@pytest.mark.parametrize("row", GOOD, ids=lambda row: f"{row.dialect}-{row.kind}")
def test_an_object_as_it_should_be_is_taken(server, row):
    assert says(server, row) == ""


@pytest.mark.parametrize("row", BAD, ids=lambda row: f"{row.dialect}-{row.words}")
def test_a_bad_object_is_refused(server, row):
    assert row.words in says(server, row)


@pytest.mark.parametrize("dialect", STATUSES)
def test_nothing_of_a_status_is_lost(server, dialect):
    spec = next(row.spec for row in GOOD if (row.dialect, row.kind) == (dialect, "PodGroup"))
    assert kept_status(server, dialect, spec, STATUSES[dialect]) == STATUSES[dialect]
