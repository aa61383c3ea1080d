"""kubectl on `muster up --dialect NAME`: every kind of every dialect is made, seen, explained and deleted."""

import itertools
import json
import signal

import pytest

from muster.app.dialects import NAMES
from muster.gangs.dialects import DIALECTS
from muster.gangs.dialects.v1beta1 import INITIALLY_SCHEDULED
from tests.control_plane.conftest import needs_native_groups
from tests.control_plane.kubectl.client import Kubectl
from tests.dialects.definitions import RESOURCES
from tests.dialects.objects import GOOD
from tests.local.processes import Up, until

pytestmark = needs_native_groups

FLAGS = ("--port", "0", "--nodes", "1", *itertools.chain.from_iterable(("--dialect", name) for name in NAMES))
KINDS = {kind: next(row.spec for row in GOOD if (row.dialect, row.kind) == kind) for kind in RESOURCES}


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory):
    """A cluster that was started twice in one folder."""
    folder = tmp_path_factory.mktemp("up")
    resource = RESOURCES["draft", "Workload"]
    with Up(folder / "cluster", *FLAGS) as up:
        assert f"defining the kinds of {', '.join(NAMES)} ..." in up.complaints
        Kubectl(up.kubeconfig, folder).create(_object(resource, "kept", KINDS["draft", "Workload"]))
        assert up.stop(signal.SIGINT) == 0
    with Up(folder / "cluster", *FLAGS) as up:
        yield Kubectl(up.kubeconfig, folder)


def _object(resource, name, spec):
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}


def test_objects_outlive_a_second_start_with_the_same_dialects(kubectl):
    assert kubectl("get", "workloads.draft.muster.dev", "-o", "name") == "workload.draft.muster.dev/kept\n"


@pytest.mark.parametrize(("dialect", "kind"), KINDS)
def test_kubectl_makes_shows_explains_and_deletes_every_kind(kubectl, dialect, kind):
    resource, spec = RESOURCES[dialect, kind], KINDS[dialect, kind]
    shown = f"{resource.kind.lower()}.{resource.group}/one"
    assert kubectl.create(_object(resource, "one", spec)) == f"{shown} created\n"
    assert kubectl("get", resource.name, "one", "-o", "name") == f"{shown}\n"
    assert "one" in kubectl("get", resource.name)
    assert "one" in kubectl("describe", resource.name, "one")
    told = kubectl("explain", f"{resource.name}.spec")
    assert next(iter(spec), "minMember") in told
    assert f"GROUP:      {resource.group}" in told
    stored = kubectl.json("get", resource.name, "one")["spec"]
    assert spec.keys() <= stored.keys()
    assert (
        kubectl("delete", resource.name, "one")
        == f'{resource.kind.lower()}.{resource.group} "one" deleted from default namespace\n'
    )
    assert kubectl("get", resource.name, "one", "--ignore-not-found") == ""


_GANG = {"gang": {"minCount": 2}}
_BY_GROUP = {"labels": {"muster.dev/pod-group": "gang"}}
_BY_WORKLOAD = {"labels": {"muster.dev/workload": "gang", "muster.dev/workload-pod-group": "workers"}}
GANGS = {
    "subsets": ("PodGroup", {"subsets": [{"minMember": 2}]}, _BY_GROUP),
    "v1alpha2": ("PodGroup", {"schedulingPolicy": _GANG}, _BY_GROUP),
    "coscheduling": ("PodGroup", {"minMember": 2}, {"labels": {"scheduling.x-k8s.io/pod-group": "gang"}}),
    "volcano": ("PodGroup", {"minMember": 2}, {"annotations": {"scheduling.k8s.io/group-name": "gang"}}),
    "kai": ("PodGroup", {"minMember": 2}, {"annotations": {"pod-group-name": "gang"}}),
    "v1alpha1": ("Workload", {"podGroups": [{"name": "workers", "policy": _GANG}]}, _BY_WORKLOAD),
    "draft": ("Workload", {"podGroups": [{"name": "workers", "minCount": 2}]}, _BY_WORKLOAD),
}


@pytest.mark.parametrize("dialect", GANGS)
def test_a_gang_of_every_dialect_starts_whole(kubectl, dialect):
    kind, spec, meta = GANGS[dialect]
    kubectl("create", "namespace", dialect)
    here, resource = kubectl.within(dialect), RESOURCES[dialect, kind]
    here.create(_object(resource, "gang", spec), _pod("a", meta))
    until(lambda: "not all of its members exist" in _said(here, "a"), "it does not wait", seconds=30)
    here.create(_pod("b", meta))
    here("wait", "--for=condition=Ready", "pod/a", "pod/b", "--timeout=60s")
    speaks = next(one for one in DIALECTS if one.name == dialect)
    if speaks.has_status:
        started = speaks.conditions.get(INITIALLY_SCHEDULED, INITIALLY_SCHEDULED)
        here("wait", f"--for=condition={started}", f"{resource.name}/gang", "--timeout=60s")


def _pod(name, meta):
    spec = {"containers": [{"name": "main", "image": "app"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **meta}, "spec": spec}


def _said(kubectl, name):
    return kubectl("get", "pod", name, "-o", 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}')


def test_a_bad_object_is_refused_in_words(kubectl):
    bad = json.dumps(_object(RESOURCES["draft", "Workload"], "bad", {"podGroups": [{"name": "a", "rankedGroups": []}]}))
    assert "rankedGroups" in kubectl.fails("create", "-f", "-", given=bad)
