"""Gangs on `muster up`, their gate off, and on again: nothing of what ran is lost."""

import json

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


OFF = ("--feature-gates", "GenericWorkload=false")


def half_bound(api, *, cpu, timeout="300"):
    """A gang of three of which two are bound, as a scheduler leaves it that dies; `cpu` is what the third asks."""
    group = {"metadata": {"name": "half", "annotations": {"muster.dev/schedule-timeout-seconds": timeout}}}
    made = api.request("POST", GROUPS, group | {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}})
    record = {"gang": "default/half", "uid": made["metadata"]["uid"], "minimum": 3}
    for number in range(3):
        member = pod("half", number)
        if number == 2:
            member["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
        api.request("POST", PODS, member)
    for number in range(2):
        meta = {"name": f"half-{number}", "annotations": {"muster.dev/bound-for": json.dumps(record)}}
        target = {"kind": "Node", "name": "node-1"}
        api.request("POST", f"{PODS}/half-{number}/binding", {"metadata": meta, "target": target})


def records(api, group):
    """For whom pods were bound, by name."""
    pods = api.get(f"{PODS}?labelSelector=of%3D{group}")["items"]
    return {
        one["metadata"]["name"]: json.loads(one["metadata"].get("annotations", {}).get("muster.dev/bound-for", "null"))
        for one in pods
    }


def test_a_native_gang_that_is_half_bound_is_completed_although_groups_are_not_served(tmp_path):
    with Up(tmp_path / "a", *SOME, "--no-scheduler") as up, up.api() as api:
        half_bound(api, cpu="1")
        assert up.stop() == 0
    with Up(tmp_path / "a", *SOME, *OFF) as up, up.api() as api:
        until(lambda: len(bound(api, "half")) == 3, "it is not completed")
        assert [record["minimum"] for record in records(api, "half").values()] == [3, 3, 3]
        # what comes after the start goes by itself
        api.request("POST", PODS, pod("half", 3))
        until(lambda: len(bound(api, "half")) == 4, "pods do not go one by one")
        assert records(api, "half")["half-3"] == {"gang": ""}
        assert api.ask("GET", GROUPS).code == 404
        assert up.stop() == 0
    with Up(tmp_path / "a", *SOME) as up, up.api() as api:
        [said] = api.get(f"{GROUPS}/half")["status"]["conditions"]
        assert (said["type"], said["status"]) == ("PodGroupInitiallyScheduled", "True")
        assert up.stop() == 0


def test_a_native_gang_that_is_half_bound_and_has_no_room_is_released_although_groups_are_not_served(tmp_path):
    with Up(tmp_path / "a", *SOME, "--no-scheduler") as up, up.api() as api:
        half_bound(api, cpu="5", timeout="3")
        assert up.stop() == 0
    with Up(tmp_path / "a", *SOME, *OFF) as up, up.api() as api:
        until(lambda: list(records(api, "half")) == ["half-2"], "it is not released")
        api.request("POST", PODS, pod("half", 3))
        until(lambda: list(bound(api, "half")) == ["half-3"], "pods do not go one by one")
        assert up.stop() == 0


def test_a_native_gang_whose_victims_are_leaving_lands_whole_although_groups_are_not_served(tmp_path):
    with Up(tmp_path / "a", "--port", "0", "--nodes", "1", "--node-cpu", "4") as up, up.api() as api:
        high = {"metadata": {"name": "high"}, "value": 1000}
        api.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", high)
        for number in range(2):
            low = pod("low", number)
            del low["spec"]["schedulingGroup"]
            low["metadata"]["annotations"] = {"muster.dev/stop-seconds": "8"}
            low["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2"
            api.request("POST", PODS, low)
        until(lambda: len(bound(api, "low")) == 2, "others do not run")
        policy = {"schedulingPolicy": {"gang": {"minCount": 2}}, "priorityClassName": "high"}
        api.request("POST", GROUPS, {"metadata": {"name": "high"}, "spec": policy})
        for number in range(3):
            member = pod("high", number)
            member["spec"] |= {"priorityClassName": "high"}
            member["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2"
            api.request("POST", PODS, member)
        leaving = lambda: [one for one in api.get(PODS)["items"] if "deletionTimestamp" in one["metadata"]]  # noqa: E731
        until(lambda: len(leaving()) == 2, "nobody is evicted")
        assert up.stop() == 0
    with Up(tmp_path / "a", "--port", "0", "--nodes", "1", "--node-cpu", "4", *OFF) as up, up.api() as api:
        until(lambda: len(bound(api, "high")) == 2, "it does not land")
        assert [records(api, "high")[name]["gang"] for name in bound(api, "high")] == ["default/high"] * 2
        assert up.stop() == 0


def test_no_groups_are_made_for_owners_while_gangs_are_off(tmp_path):
    template = {
        "metadata": {"labels": {"of": "job", "muster.dev/gang": "true"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    }
    with Up(tmp_path / "a", *SOME, "--feature-gates", "GangScheduling=false") as up, up.api() as api:
        job = {"metadata": {"name": "job"}, "spec": {"parallelism": 3, "completions": 3, "template": template}}
        api.request("POST", "/apis/batch/v1/namespaces/default/jobs", job)
        until(lambda: len(bound(api, "job")) == 3, "pods do not go one by one")
        assert not [one for one in api.get(GROUPS)["items"] if one["metadata"]["name"] == "job-job"]
        assert up.stop() == 0


def test_a_gate_that_needs_another_is_refused_in_one_line(tmp_path):
    with Up(tmp_path / "a", "--feature-gates", "GenericWorkload=false,GangScheduling=true", wait=False) as up:
        assert up.wait() == 2
        assert up.complaints == [
            "muster: --feature-gates: GangScheduling is on, but needs GenericWorkload, which is off"
        ]
