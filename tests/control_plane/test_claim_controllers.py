"""Muster's controllers of volumes and devices beside Kubernetes' own: the same claims come to the same ends."""

import time

import pytest

from controlplane.nodes import make_nodes
from controlplane.plane import ControlPlane
from muster.controllers.manager import attach_all, attach_kubelets, attach_provisioner
from muster.local.kubelets import node_document
from tests.control_plane.claim_cases import CASES, play
from tests.control_plane.comparison.compare import unequal
from tests.control_plane.controlling import controlling, suffix
from tests.control_plane.embedded import embedded


def attach_ours(driver):
    attach_all(driver, names=suffix, nodes=False, groups=False)


@pytest.fixture(scope="module")
def outcomes():
    """What came of all cases: under kube-controller-manager, under ours, and under ours on the embedded server."""
    with ControlPlane(controllers=True) as plane:
        make_nodes(plane, 1, cpu="64")
        for namespace in ("theirs", "ours"):
            plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
            plane.wait_for_service_account(namespace)
        with controlling(plane, attach_kubelets, attach_provisioner):
            theirs = play(plane, "theirs")
        plane.controller_manager.kill()
        with controlling(plane, attach_kubelets, attach_ours):
            ours = play(plane, "ours")
    with embedded() as plane:
        plane.request("POST", "/api/v1/nodes", node_document("n0", cpu="64", now=time.time()))
        with controlling(plane, attach_kubelets, attach_ours):
            plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": "embedded"}})
            here = play(plane, "embedded")
    return theirs, ours, here


@pytest.mark.parametrize("name", CASES)
def test_a_claim_comes_to_the_same_end_under_both_controllers(name, outcomes):
    theirs, ours, _ = outcomes
    assert list(unequal(theirs[name], ours[name], "")) == []


@pytest.mark.parametrize("name", CASES)
def test_a_claim_comes_to_the_same_end_on_the_embedded_server(name, outcomes):
    theirs, _, here = outcomes
    assert list(unequal(theirs[name], here[name], "")) == []


def test_the_cases_are_no_empty_talk(outcomes):
    theirs, _, _ = outcomes
    reasons = {reason for one in theirs.values() for reason, _, _ in one["events"]}
    assert {
        "FailedBinding",
        "WaitForFirstConsumer",
        "ExternalProvisioning",
        "ProvisioningFailed",
        "ClaimLost",
    } <= reasons
    assert [one["status"]["phase"] for one in theirs["lost"]["claims"]] == ["Lost"]
    assert theirs["provisioned-at-once-and-deleted"]["volumes"] == []
    assert theirs["devices-by-a-template-given-back"]["device_claims"] == []
    assert len(theirs["devices-by-a-template"]["device_claims"]) == 1
