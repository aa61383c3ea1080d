"""What kubectl says on the embedded server is what it says on the real one, but for names, times and a few words."""

import difflib
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from controlplane.plane import ControlPlane
from muster.local.process.identity import Identity
from tests.control_plane.conftest import VERSION, needs_native_groups
from tests.control_plane.kubectl.client import Kubectl
from tests.control_plane.kubectl.commands import CHAPTERS, FIELDS
from tests.local.processes import Server

pytestmark = needs_native_groups

_SAME = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( \+0000|Z)", "TIME"),
    (r"\w{3}, \d\d \w{3} \d{4} [\d:]+ \+0000", "DATE"),
    (r"(resourceVersion|Resource Version)(\"?): +\"?\d+\"?", r"\1\2: VERSION"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"[EWI]\d{4} [\d:.]+ +\d+ ", "LOG "),
    (r"\b\d+m?s\b", "AGE"),
    (r"/tmp/[\w/-]+", "FILE"),
    (r"uid: [\w-]{36}", "uid: UID"),
    # nobody makes accounts on the real server, and so pods need none there
    (r"(?m)^\W*serviceAccount(Name)?: default\n", ""),
    (r'"serviceAccount(Name)?": *"default",?\s*', ""),
    (r"Service Account: +default\n", ""),
    (r"(?m)^@@ -0,0 \+1,\d+ @@", "@@ ALL @@"),
    # nobody reads on in these
    (r"(\(must be of type \w+\)|unable to parse requirement|patch: Invalid value): .*", r"\1: WORDS"),
    # how two pods differ is told in structs of Go by the one, in names of fields by the other
    (r"(?s)(pod updates may not change fields other than .*? previously negative\)).*(?=\nexit status)", r"\1"),
    (r" +", " "),
)


def same(text):
    """Without what differs between any two clusters."""
    for pattern, name in _SAME:
        text = re.sub(pattern, name, text)
    return text


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    with ControlPlane(version=VERSION) as plane:
        yield Kubectl(plane.kubeconfig(), tmp_path_factory.mktemp("real"))


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ours")
    with Server(folder / "cluster", "--ephemeral") as server:
        yield Kubectl(Identity(server.folder).write_kubeconfig(server.port), folder)


@pytest.fixture
def both(real, ours):
    """Runs a line on both; what each says."""
    with ThreadPoolExecutor(2) as pool:
        yield lambda line, *args: pool.map(lambda kubectl: kubectl.line(line), args or (real, ours))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_reads_the_same(chapter, both, real, ours):
    namespace = re.sub(r"\W+", "-", chapter)
    differences = []
    for line in (f"create namespace {namespace}", *CHAPTERS[chapter].strip().splitlines()):
        theirs, own = map(_told, both(line, real.within(namespace), ours.within(namespace)))
        if theirs != own:
            differences += [f"$ kubectl {line.strip()}", *_difference(theirs, own)]
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("line", FIELDS)
def test_explain_names_the_same_fields(line, both):
    theirs, own = (_fields(ran.said) for ran in both(line))
    assert own == theirs
    assert own


def _told(ran):
    return same(f"{ran.said}\n{ran.complained}\nexit status {ran.code}")


def _difference(theirs, own):
    lines = difflib.unified_diff(theirs.splitlines(), own.splitlines(), "real", "ours", lineterm="", n=0)
    return [f"    {line}" for line in lines]


def _fields(text):
    return re.findall(r"^ +(\w+\t.*)$", text, flags=re.MULTILINE)
