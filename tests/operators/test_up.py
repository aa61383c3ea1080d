"""Operators on `muster up`, as they are: nothing else is needed but the kinds of their jobs and groups."""

import json

import pytest

from tests.control_plane.checks import until
from tests.operators.operators import OPERATORS

PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


@pytest.mark.parametrize("operator", [f"{name} on little" for name in OPERATORS], indirect=True)
def test_a_job_starts_whole_or_not_at_all_and_leaves_nothing_behind(operator, little):
    groups, jobs = operator.groups_path("default"), operator.jobs_path("default")

    def make(name, pods):
        little.kubectl("create", "-f", "-", input=json.dumps(operator.job(name, pods - 1, cpu="1")))
        until(lambda: len(little.items(PODS)) == pods, f"{pods} pods")

    def delete(name):
        little.kubectl("delete", operator.kind, name)
        until(lambda: not any(map(little.items, (jobs, groups, PODS))), f"the end of all that {name} had")

    def says(name):
        about = [(each["regarding"]["name"], each["reason"]) for each in little.items(EVENTS)]
        return (name, "FailedScheduling") in about

    make("large", 5)
    until(lambda: says("large"), "the group to say why it waits")
    assert not any("nodeName" in pod["spec"] for pod in little.items(PODS))
    delete("large")
    make("train", 4)
    until(lambda: [pod["status"]["phase"] for pod in little.items(PODS)] == ["Running"] * 4, "all of it to run")
    delete("train")
