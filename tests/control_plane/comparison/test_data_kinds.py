"""Kinds that are data are served as the real API server serves them: code, reason, field and object; not the words."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from controlplane.plane import ControlPlane
from tests.control_plane.comparison.compare import unequal
from tests.control_plane.comparison.data_kinds import STEPS
from tests.control_plane.comparison.replay import replay
from tests.control_plane.comparison.test_equal import DOCUMENT, embedded
from tests.control_plane.conftest import needs_native_groups

pytestmark = needs_native_groups

_FEWEST_REQUESTS = 1_700

# where answers may differ: why, in which steps, and in which places of the answer
KNOWN = (
    ("a volume's reference to its claim is owned as a whole", r"^volumes: of the cluster: ", r"claimRef"),
    (
        "nobody looks whether a namespace may have claims with administrators' access",
        r"^devices: claims: an administrator's",
        r"^code 422 201",
    ),
    ("requests of a limit range are not made of its limits", r"^limitranges ", r"defaultRequest|managedFields"),
    (
        "a replication controller gets neither labels nor a selector from its template",
        r"^replicationcontrollers ",
        r"labels|managedFields|selector|^body\.causes",
    ),
    ("no annotation of old counts the templates of a daemon set", r"^daemonsets ", r"annotations|managedFields"),
    ("a change of its annotations is no new generation", r"^(deployments|endpointslices) ", r"generation"),
    ("templates of claims do not say what they are", r"^statefulsets ", r"volumeClaimTemplates|managedFields"),
    (
        "nobody looks whether a flow schema leads anywhere",
        r"^flowschemas ",
        r"conditions|cells|managedFields|resourceVersion",
    ),
    ("an address has an age that the real table does not announce", r"^ipaddresses .* table$", r"cells"),
    ("the real server refuses any patch of a controller revision", r"^controllerrevisions ", r""),
    (
        "a node may get more drivers, which is refused here",
        r"^csinodes sample: change spec\.drivers\.0\.name",
        r"^code 200 422",
    ),
    (
        "labels that a status cannot change are still noted as its writer's; annotations are kept with them",
        r": update the status$|^devices: claims: a finalizer with the status$",
        r"managedFields|annotations",
    ),
    (
        "the form of values is not looked at: addresses, paths, schedules, expressions, names",
        r": (change|without) ",
        r"^code 422 20[01]",
    ),
    (
        "what is wrong besides is not looked at, or is said of another field",
        r": (change|without|a bad name)",
        r"^body\.causes",
    ),
)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    with (
        ControlPlane(gates=True) as plane,
        embedded(tmp_path_factory.mktemp("embedded")) as local,
        ThreadPoolExecutor(2) as pool,
    ):
        both = [pool.submit(replay, kubeconfig, STEPS) for kubeconfig in (plane.kubeconfig(), local)]
        return [one.result() for one in both]


def _told(body):
    """A refusal without its words."""
    if not isinstance(body, dict) or body.get("status") != "Failure":
        return body
    causes = (body.get("details") or {}).get("causes") or ()
    return {"reason": body.get("reason"), "causes": sorted({(one.get("reason"), one.get("field")) for one in causes})}


def _differences(answers):
    for real, ours in zip(*answers, strict=True):
        if real.code != ours.code:
            yield real.step.name, f"code {real.code} {ours.code}", real.body, ours.body
        else:
            for path, left, right in unequal(_told(real.body), _told(ours.body), "body"):
                yield real.step.name, path, left, right


def test_there_are_many_requests_each_with_a_name_of_its_own():
    assert len({step.name for step in STEPS}) == len(STEPS) >= _FEWEST_REQUESTS


def test_what_the_real_server_takes_is_taken(answers):
    refused = [
        f"{real.step.name}: {ours.code} {ours.body.get('message')}"
        for real, ours in zip(*answers, strict=True)
        if real.code < 300 <= ours.code
        and not any(_is_known(known, real.step.name, f"code {real.code} {ours.code}") for known in KNOWN)
    ]
    assert refused == []


def test_answers_differ_only_where_it_is_known(answers):
    unknown = [
        f"{name}: {path}\n    real: {str(left)[:300]}\n    ours: {str(right)[:300]}"
        for name, path, left, right in _differences(answers)
        if not any(_is_known(known, name, path) for known in KNOWN)
    ]
    assert not unknown, "\n".join(unknown)


def test_every_known_difference_is_one(answers):
    found = list(_differences(answers))
    idle = [why for why, *rest in KNOWN if not any(_is_known((why, *rest), name, path) for name, path, *_ in found)]
    assert idle == []


def test_the_documentation_has_all_that_is_known():
    section = DOCUMENT.read_text().partition("Kinds that are data get")[2]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")][2:]
    assert [row[-1].strip() for row in rows] == [why for why, *_ in KNOWN]


def _is_known(known, name, path):
    _, step, place = known
    return bool(re.search(step, name) and re.search(place, path))
