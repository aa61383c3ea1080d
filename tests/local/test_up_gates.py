"""Gangs on `muster up`, their gate off, and on again: nothing of what ran is lost."""

import pytest

from tests.local.processes import Up, until

PODS = "/api/v1/namespaces/default/pods"
GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
SOME = ("--port", "0", "--nodes", "2", "--node-cpu", "4")


def pod(group, number):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {"schedulingGroup": {"podGroupName": group}, "containers": [container]}
    return {"metadata": {"name": f"{group}-{number}", "labels": {"of": group}}, "spec": spec}


def gang(api, name, size):
    api.request(
        "POST", GROUPS, {"metadata": {"name": name}, "spec": {"schedulingPolicy": {"gang": {"minCount": size}}}}
    )
    for number in range(size):
        api.request("POST", PODS, pod(name, number))


def bound(api, group):
    """UID and node of its pods that have one, by name."""
    pods = api.get(f"{PODS}?labelSelector=of%3D{group}")["items"]
    return {
        one["metadata"]["name"]: (one["metadata"]["uid"], one["spec"]["nodeName"])
        for one in pods
        if "nodeName" in one["spec"]
    }


def waits(api, group):
    conditions = api.get(f"{GROUPS}/{group}").get("status", {}).get("conditions", ())
    return any(one["status"] == "False" for one in conditions if one["type"] == "PodGroupInitiallyScheduled")


@pytest.mark.parametrize("gate", ["GangScheduling", "GenericWorkload"])
def test_gangs_run_go_one_by_one_and_work_again(tmp_path, gate):
    with Up(tmp_path / "a", *SOME) as up, up.api() as api:
        gang(api, "runs", 3)
        until(lambda: len(bound(api, "runs")) == 3, "the gang does not start")
        gang(api, "big", 6)
        until(lambda: waits(api, "big"), "the gang says nothing")
        assert not bound(api, "big")
        runs, groups = bound(api, "runs"), {one["metadata"]["uid"] for one in api.get(GROUPS)["items"]}
        assert up.stop() == 0
    with Up(tmp_path / "a", *SOME, "--feature-gates", f"{gate}=false") as up, up.api() as api:
        until(lambda: len(bound(api, "big")) == 5, "pods do not go one by one")
        assert bound(api, "runs") == runs
        served = gate != "GenericWorkload"
        assert api.ask("GET", GROUPS).code == (200 if served else 404)
        assert ("schedulingGroup" in api.request("POST", PODS, pod("none", 0))["spec"]) is served
        assert api.get(f"{PODS}/big-0")["spec"]["schedulingGroup"] == {"podGroupName": "big"}
        big = bound(api, "big")
        assert up.complaints == ["starting the API server ...", "registering 2 nodes ...", "starting the scheduler ..."]
        assert up.stop() == 0
    with Up(tmp_path / "a", *SOME) as up, up.api() as api:
        assert {one["metadata"]["uid"] for one in api.get(GROUPS)["items"]} == groups
        gang(api, "next", 4)
        until(lambda: waits(api, "next"), "the gang says nothing")
        assert (bound(api, "runs"), bound(api, "big"), bound(api, "next")) == (runs, big, {})
        for number in range(6):
            api.request("DELETE", f"{PODS}/big-{number}?gracePeriodSeconds=0")
        until(lambda: len(bound(api, "next")) == 4, "the gang does not start")
        assert bound(api, "runs") == runs
        assert up.stop() == 0


def test_a_gate_that_needs_another_is_refused_in_one_line(tmp_path):
    with Up(tmp_path / "a", "--feature-gates", "GenericWorkload=false,GangScheduling=true", wait=False) as up:
        assert up.wait() == 2
        assert up.complaints == [
            "muster: --feature-gates: GangScheduling is on, but needs GenericWorkload, which is off"
        ]
