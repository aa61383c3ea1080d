"""Muster's controllers beside Kubernetes' own: the same Jobs come to the same ends on a real API server."""

import time

import pytest

from controlplane.nodes import make_nodes
from controlplane.plane import ControlPlane
from muster.api.resources import PODS
from muster.controllers.driver import Kind
from muster.controllers.job_objects import Job
from muster.controllers.jobs import Jobs
from muster.controllers.manager import attach_all, attach_kubelets
from muster.controllers.objects import JOBS, POD_GROUPS, WORKLOADS, Pod, PodGroup, Workload
from muster.local.kubelets import node_document
from tests.control_plane.controlling import controlling, suffix
from tests.control_plane.embedded import embedded
from tests.control_plane.job_cases import CASES, differences, play

HIGH = {"metadata": {"name": "high"}, "value": 1000}
EVERYWHERE = [case for case in CASES if case.name != "pods-are-refused"]
"""Cases that do not depend on what an API server refuses for reasons of its own."""


def attach_jobs(driver):
    kinds = [Kind(JOBS, Job), Kind(PODS, Pod), Kind(WORKLOADS, Workload), Kind(POD_GROUPS, PodGroup)]
    driver.attach(Jobs(names=suffix), kinds)


@pytest.fixture(scope="module")
def outcomes():
    """What came of all cases: under kube-controller-manager, and under ours."""
    with ControlPlane(gates=True, controllers=True) as plane:
        make_nodes(plane, 1, cpu="64")
        plane.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", HIGH)
        for namespace in ("theirs", "ours"):
            plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
            plane.wait_for_service_account(namespace)
        with controlling(plane, attach_kubelets):
            theirs = play(plane, "theirs", CASES)
            plane.controller_manager.kill()
            with controlling(plane, attach_jobs):
                ours = play(plane, "ours", CASES)
        yield theirs, ours


@pytest.fixture(scope="module")
def embedded_outcomes():
    """What came of them on the embedded server, with all of our controllers at work."""
    with embedded() as plane:
        plane.request("POST", "/api/v1/nodes", node_document("n0", cpu="64", now=time.time()))
        plane.request(
            "POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 1000}
        )
        with controlling(plane, attach_kubelets, lambda driver: attach_all(driver, names=suffix)):
            plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": "here"}})
            # one that a controller of another cluster would have made
            root = {"metadata": {"name": "kube-root-ca.crt"}}
            plane.request("POST", "/api/v1/namespaces/here/configmaps", root)
            yield play(plane, "here", EVERYWHERE)


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_a_job_comes_to_the_same_end_under_both_controllers(name, outcomes):
    theirs, ours = outcomes
    assert differences(ours[name], theirs[name]) == []


@pytest.mark.parametrize("name", [case.name for case in EVERYWHERE])
def test_a_job_comes_to_the_same_end_on_the_embedded_server(name, outcomes, embedded_outcomes):
    theirs, _ = outcomes
    assert differences(_bare(embedded_outcomes[name]), _bare(theirs[name])) == []


def _bare(outcome):
    """Without what comes with a service account's token: the embedded server gives pods none."""
    pods = [{**pod, "spec": dict(pod["spec"])} for pod in outcome["pods"]]
    for pod in pods:
        for name in ("serviceAccount", "serviceAccountName", "volumes"):
            pod["spec"].pop(name, None)
        for kind in ("containers", "initContainers"):
            if kind in pod["spec"]:
                pod["spec"][kind] = [
                    {name: value for name, value in one.items() if name != "volumeMounts"} for one in pod["spec"][kind]
                ]
    return {**outcome, "pods": pods}


def test_the_cases_are_no_empty_talk(outcomes):
    """What is compared is there."""
    theirs, _ = outcomes
    pods = {name: len(one["pods"]) for name, one in theirs.items()}
    assert pods["many"] == 12
    assert pods["suspended"] == pods["managed-by-others"] == pods["pods-are-refused"] == 0
    assert theirs["fails-twice"]["status"]["failed"] == 2
    assert theirs["index-is-tried-again"]["status"]["completedIndexes"] == "0,1"
    reasons = {reason for one in theirs.values() for _, reason, _ in one["events"]}
    assert {"BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy", "FailedIndexes", "Resumed"} <= reasons
    assert len(theirs["gang"]["workloads"]) == len(theirs["gang"]["podgroups"]) == 1
