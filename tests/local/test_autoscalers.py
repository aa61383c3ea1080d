"""Autoscalers in autoscaling/v1: the same objects as in v2, told in the older words, and nothing of them is lost."""

import pytest

from tests.local.serving import APPLY, TABLE, Served

V1, V2 = (f"/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers" for version in ("v1", "v2"))
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 55}}}
MEMORY = {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}}
BEHAVIOR = {"scaleDown": {"stabilizationWindowSeconds": 5}}


@pytest.fixture
def served():
    return Served()


def old_form(name="web", **spec):
    return {"metadata": {"name": name}, "spec": {"scaleTargetRef": TARGET, "maxReplicas": 9, **spec}}


def test_what_is_made_in_the_old_version_is_there_in_the_new_one(served):
    made = served.create(V1, old_form(targetCPUUtilizationPercentage=55))
    assert made["apiVersion"] == "autoscaling/v1"
    assert made["spec"] == {
        "scaleTargetRef": TARGET,
        "minReplicas": 1,
        "maxReplicas": 9,
        "targetCPUUtilizationPercentage": 55,
    }
    assert made["status"] == {"currentReplicas": 0, "desiredReplicas": 0}
    assert served.get(f"{V2}/web")["spec"]["metrics"] == [CPU]


def test_without_a_target_there_is_the_usual_one(served):
    assert served.create(V1, old_form())["spec"]["targetCPUUtilizationPercentage"] == 80


def test_what_the_old_version_has_no_field_for_outlives_a_write_in_it(served):
    spec = {"metrics": [CPU, MEMORY], "behavior": BEHAVIOR}
    new = served.create(V2, old_form(**spec))["spec"]
    old = served.get(f"{V1}/web")
    assert old["spec"].keys() == {"scaleTargetRef", "minReplicas", "maxReplicas", "targetCPUUtilizationPercentage"}
    old["spec"]["maxReplicas"] = 10
    served.ask("PUT", f"{V1}/web", old)
    after = served.get(f"{V2}/web")
    assert after["spec"] == {**new, "maxReplicas": 10}
    assert "annotations" not in after["metadata"]
    served.merge(f"{V1}/web", {"spec": {"targetCPUUtilizationPercentage": 60}})
    [cpu, memory] = served.get(f"{V2}/web")["spec"]["metrics"]
    assert (cpu["resource"]["target"]["averageUtilization"], memory) == (60, MEMORY)


def test_of_two_metrics_of_cpu_a_write_in_the_old_version_keeps_both(served):
    other = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
    }
    served.create(V2, old_form(metrics=[CPU, other]))
    served.merge(f"{V1}/web", {"spec": {"maxReplicas": 10}})
    assert served.get(f"{V2}/web")["spec"]["metrics"] == [CPU, other]


def test_a_status_that_is_written_in_the_old_version_keeps_what_it_has_no_field_for(served):
    served.create(V2, old_form())
    condition = {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2023-11-14T22:13:20Z", "reason": "A"}
    measured = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 40}}}
    status = {"currentReplicas": 2, "desiredReplicas": 3, "conditions": [condition], "currentMetrics": [measured]}
    served.ask("PATCH", f"{V2}/web/status", {"status": status}, content_type="application/merge-patch+json")
    old = served.get(f"{V1}/web")
    assert old["status"] == {"currentReplicas": 2, "desiredReplicas": 3, "currentCPUUtilizationPercentage": 40}
    old["status"]["desiredReplicas"] = 4
    served.ask("PUT", f"{V1}/web/status", old)
    after = served.get(f"{V2}/web")["status"]
    assert after["desiredReplicas"] == 4
    assert after["conditions"] == [condition]
    assert after["currentMetrics"][0]["resource"]["current"]["averageUtilization"] == 40


def test_annotations_that_are_none_of_the_newer_form_are_refused(served):
    body = old_form()
    body["metadata"]["annotations"] = {"autoscaling.alpha.kubernetes.io/metrics": '[{"pods":{"metricName":"q"}}]'}
    words = served.refused("POST", V1, body, code=400)
    assert "autoscaling.alpha.kubernetes.io/metrics" in words


def test_an_apply_that_makes_it_in_the_old_version_loses_no_target(served):
    body = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler"}
    body |= old_form(targetCPUUtilizationPercentage=55)
    made = served.ask("PATCH", f"{V1}/web?fieldManager=me", body, code=201, content_type=APPLY)
    assert made["spec"]["targetCPUUtilizationPercentage"] == 55
    new = served.get(f"{V2}/web")
    assert new["spec"]["metrics"] == [CPU]
    assert "targetCPUUtilizationPercentage" not in new["spec"]


def test_it_can_be_applied_and_shown_in_a_table(served):
    body = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", **old_form()}
    served.ask("PATCH", f"{V1}/web?fieldManager=me", body, code=201, content_type=APPLY)
    body["spec"]["maxReplicas"] = 5
    served.ask("PATCH", f"{V1}/web?fieldManager=me", body, content_type=APPLY)
    assert served.get(f"{V2}/web")["spec"]["maxReplicas"] == 5
    for path in (V1, V2):
        [row] = served.ask("GET", path, accept=TABLE)["rows"]
        assert row["cells"][:5] == ["web", "Deployment/web", "cpu: <unknown>/80%", "1", 5]
