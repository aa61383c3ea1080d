"""docs/dialects.md is true: its tables are the code's, and what they say of pods and servers holds."""

import re

import pytest

from muster.api.wire import Pod, read
from muster.app.dialects import NAMES
from muster.app.install import definitions
from muster.gangs.dialects import DIALECTS, draft, membership
from tests.docs.dialects import NAMINGS, PAGE, is_embedded, kinds, reprinted
from tests.local.serving import Served

NAMED = {"group": "train", "workload": "job", "subset": "leader", "replica": "r0", "minimum": "2"}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def server():
    """The embedded cluster with the kinds of every dialect."""
    server = Served()
    for definition in definitions(NAMES):
        server.create(DEFINITIONS, definition)
    return server


def test_the_printed_tables_are_the_ones_in_the_code():
    page = PAGE.read_text()
    assert reprinted(page) == page, "run: make docs"


def test_every_dialect_is_described_and_has_a_link_to_its_page():
    first = PAGE.read_text().partition("## Names")[0]
    rows = re.findall(r"^\| \[`(\w+)`\]\(dialects/(\w+)\.md\) \|", first, re.MULTILINE)
    assert sorted(rows) == [(name, name) for name in sorted(NAMES)]
    assert sorted(NAMES) == sorted(NAMINGS)


WAYS = [(name, way) for name, naming in NAMINGS.items() for way, written in naming._asdict().items() if written]


@pytest.mark.parametrize(("name", "way"), WAYS)
def test_a_pod_names_its_gang_as_the_table_says(name, way):
    written = getattr(NAMINGS[name], way)
    pod = read(Pod, document(**{way: written}))
    if name == "draft":
        assert draft.names(pod) == ("job", "train")
        return
    told = {what: NAMED[what] for _, what in written}
    member = membership(pod)
    assert member.gang == "/".join(
        ("default", *(told[part] for part in ("workload", "group", "replica") if part in told))
    )
    assert member.subset == told.get("subset", "")


def test_the_embedded_server_keeps_the_fields_that_the_page_says_it_keeps(server):
    fields = dict.fromkeys(field for naming in NAMINGS.values() for field in naming.fields)
    made = server.create(PODS, document(fields=fields))
    assert {path.partition(".")[0] for path, _ in fields} & made["spec"].keys() == {"schedulingGroup"}


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_the_embedded_server_serves_what_the_table_says(server, dialect):
    for resource in kinds(dialect):
        is_served = is_embedded(resource) or resource.group != "scheduling.k8s.io"
        server.ask("GET", resource.path("default"), code=200 if is_served else 404)


def document(*, fields=(), labels=(), annotations=()):
    spec = {"containers": [{"name": "main", "image": "app"}]}
    for path, what in fields:
        first, _, second = path.partition(".")
        spec.setdefault(first, {})[second] = NAMED[what]
    return {
        "metadata": {
            "name": "one",
            "namespace": "default",
            "labels": {name: NAMED[what] for name, what in labels},
            "annotations": {name: NAMED[what] for name, what in annotations},
        },
        "spec": spec,
    }
