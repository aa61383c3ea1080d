"""The pages of docs/dialects are true: their examples start, whole or not at all, and no field is left out."""

import re
from types import SimpleNamespace

import pytest

from muster.api.wire import Pod, read
from muster.app.dialects import NAMES
from muster.gangs.dialects import DIALECTS
from muster.gangs.record import bound_for
from tests.dialects.talk import Talk
from tests.docs.dialect_pages import FOLDER, console, defined, documents, keeps_all, pods, text, told

CREATED = {"namespace": "default", "creationTimestamp": "2026-01-01T00:00:00Z"}
JOBS = [(name, job["metadata"]["name"]) for name in NAMES for job in documents(name) if job["kind"] == "Job"]


def begun(name, *, one_less=""):
    """The example on the nodes that it says it needs; of the Job of this name one pod is missing."""
    dialect = next(one for one in DIALECTS if one.name == name)
    talk = Talk(4, cpu=8)
    for document in documents(name):
        if document["kind"] == "Job":
            is_short = document["metadata"]["name"] == one_less
            for pod in list(pods(document))[is_short:]:
                talk.seen(read(Pod, _made(pod)))
        else:
            talk.declared(SimpleNamespace(dialect=dialect), read(dialect.kind, _made(document)))
    return talk.until_quiet(seconds=5)


def _made(document):
    meta = document["metadata"]
    return document | {"metadata": CREATED | {"uid": f"uid-{document.get('kind', 'Pod')}-{meta['name']}"} | meta}


def gangs(talk):
    """By the name of the pod."""
    return {pod.metadata.name: bound_for(pod).gang for pod in talk.pods.values() if pod.spec.node_name}


def test_every_dialect_has_a_page():
    assert sorted(page.stem for page in FOLDER.iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_tells_how_to_try_it_and_where_to_go_from_there(name):
    assert [command for command, _ in console(name)][:2] == [
        f"muster up --dialect {name} --nodes 4",
        f"kubectl apply -f {name}.yaml",
    ]
    assert f"# {name}: " in text(name)
    assert re.search(r"\(\.\./convert\.md#", text(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_example_starts_whole(name):
    talk = begun(name)
    assert len(talk.pods) == 4
    assert "" not in gangs(talk).values()
    assert len(gangs(talk)) == 4


@pytest.mark.parametrize(("name", "job"), JOBS)
def test_with_one_pod_missing_nothing_of_its_gang_starts(name, job):
    whole = gangs(begun(name))
    missing = whole[f"{job}-0"]
    assert gangs(begun(name, one_less=job)) == {pod: gang for pod, gang in whole.items() if gang != missing}


@pytest.mark.parametrize("name", NAMES)
def test_every_field_of_the_kind_is_told_of(name):
    assert defined(name) - told(name) == set()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("kai", "volcano")])
def test_no_field_is_told_of_that_the_kind_has_not(name):
    assert told(name) - defined(name) == set()


def test_the_other_kinds_keep_what_their_definitions_do_not_name():
    assert [name for name in NAMES if keeps_all(name)] == ["volcano", "kai"]
