"""The examples of docs/dialects on one `muster up`, with kubectl: they start, and one sees what the pages say."""

import itertools
import re

import pytest

from muster.app.dialects import NAMES
from tests.control_plane.conftest import needs_native_groups
from tests.control_plane.kubectl.client import Kubectl
from tests.docs.dialect_pages import console, example
from tests.local.processes import Up, until

pytestmark = needs_native_groups

# each example fills four
NODES = 4 * len(NAMES)
DIALECTS = itertools.chain.from_iterable(("--dialect", name) for name in NAMES)


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory):
    folder = tmp_path_factory.mktemp("up")
    with Up(folder / "cluster", "--ephemeral", "--port", "0", "--nodes", str(NODES), *DIALECTS) as up:
        yield Kubectl(up.kubeconfig, folder)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_starts_and_one_sees_what_the_page_says(kubectl, name):
    kubectl("create", "namespace", f"page-{name}")
    here = kubectl.within(f"page-{name}")
    here("apply", "-f", "-", given=example(name))
    until(lambda: _phases(here) == ["Running"] * 4, lambda: here("get", "pods"), seconds=30)
    for command, said in console(name)[2:]:
        until(lambda line=command, said=said: _said(here, line) == _plain(said), lambda: here("get", "all"), seconds=30)


def _phases(kubectl):
    return kubectl("get", "pods", "-o", "jsonpath={.items[*].status.phase}").split()


def _said(kubectl, command):
    return _plain(kubectl.line(command.removeprefix("kubectl ")).said)


def _plain(table):
    """Without ages and what a server makes up of names; rows in order."""
    table = re.sub(r"-[a-z0-9]{5}\b", "-xxxxx", re.sub(r"\b\d+s\b", "AGO", table))
    head, *rows = (" ".join(line.split()) for line in table.splitlines())
    return [head, *sorted(rows)]
