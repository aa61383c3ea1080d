"""The kinds of deploy/dialects on the embedded API server: the same objects, and the same words, as on a real one."""

import json

import pytest

from muster.base.errors import ApiError
from tests.dialects.definitions import NAMES, RESOURCES, definitions, kept_status, says
from tests.dialects.objects import BAD, GOOD, STATUSES
from tests.local.serving import TABLE, Served

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Server(Served):
    """Takes requests as a control plane does."""

    def request(self, method, path, body=None, *, content_type="application/json"):
        answer = self.answer(method, path, body, content_type=content_type)
        document = json.loads(answer.body)
        if answer.code >= 400:
            raise ApiError(document["message"], code=answer.code)
        return document


@pytest.fixture(scope="module")
def server():
    server = Server()
    for name in NAMES:
        for definition in definitions(name):
            answer = server.answer("POST", DEFINITIONS, definition)
            assert (answer.code, answer.warnings) == (201, ())
    return server


@pytest.mark.parametrize("row", GOOD, ids=lambda row: f"{row.dialect}-{row.kind}")
def test_an_object_as_it_should_be_is_taken(server, row):
    assert says(server, row) == ""


@pytest.mark.parametrize("row", BAD, ids=lambda row: f"{row.dialect}-{row.words}")
def test_a_bad_object_is_refused(server, row):
    assert row.words in says(server, row)


@pytest.mark.parametrize(("dialect", "kind"), RESOURCES)
def test_every_kind_has_columns(server, dialect, kind):
    table = server.ask("GET", RESOURCES[dialect, kind].path("default"), accept=TABLE)
    assert {"name", "age"} <= {column["name"].lower() for column in table["columnDefinitions"]}


@pytest.mark.parametrize("dialect", STATUSES)
def test_nothing_of_a_status_is_lost(server, dialect):
    spec = next(row.spec for row in GOOD if (row.dialect, row.kind) == (dialect, "PodGroup"))
    assert kept_status(server, dialect, spec, STATUSES[dialect]) == STATUSES[dialect]
