"""Kinds that are data: a sample of each lives as any object does.  What they are is compared with the real one."""

import copy

import pytest

from muster.local.schema import load
from tests.control_plane.comparison.data_kinds import path, samples
from tests.local.serving import MERGE, TABLE, Served

SAMPLES = [pytest.param(*each, id=f"{each[0].plural}-{each[1]['metadata']['name']}") for each in samples()]
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@pytest.fixture
def api():
    return Served()


def sample(plural, name="sample"):
    return next(
        copy.deepcopy(each) for kind, each in samples() if (kind.plural, each["metadata"]["name"]) == (plural, name)
    )


@pytest.mark.parametrize(("resource", "given"), SAMPLES)
def test_what_was_made_is_read_changed_and_deleted(api, resource, given):
    where, one = path(resource), path(resource, given["metadata"]["name"])
    made = api.ask("POST", where, given, code=201)
    assert api.ask("GET", one) == made
    assert api.ask("PUT", one, made) == made
    assert api.ask("GET", where)["items"][0]["metadata"] == made["metadata"]
    assert api.ask("GET", one, accept=TABLE)["rows"][0]["cells"][0] == given["metadata"]["name"]
    labelled = api.ask("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
    for name in made.keys() - {"metadata"}:
        assert labelled[name] == made[name]
    api.ask("DELETE", one)
    assert all(one["metadata"].get("deletionTimestamp") for one in api.ask("GET", where)["items"])


def test_every_kind_of_the_data_is_served():
    served = Served()
    found = {
        (group["metadata"].get("name", ""), version["version"], resource["resource"])
        for root in ("/api", "/apis")
        for group in served.ask(
            "GET", root, accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        )["items"]
        for version in group["versions"]
        for resource in version["resources"]
    }
    assert not {(one.group, one.version, one.plural) for one in load.resources()} - found


def test_what_lacks_is_named(api):
    given = sample("deployments")
    del given["spec"]["selector"]
    assert "spec.selector: Required value" in api.refused("POST", DEPLOYMENTS, given, code=422)


def test_a_selector_must_find_the_pods_of_its_template(api):
    given = sample("deployments")
    given["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    assert "`selector` does not match template `labels`" in api.refused("POST", DEPLOYMENTS, given, code=422)


def test_what_is_frozen_stays(api):
    made = api.ask("POST", "/apis/storage.k8s.io/v1/storageclasses", sample("storageclasses"), code=201)
    made["parameters"] = {"speed": "slow"}
    words = api.refused("PUT", "/apis/storage.k8s.io/v1/storageclasses/sample", made, code=422)
    assert "parameters: Invalid value" in words
    assert "field is immutable" in words


def test_a_text_that_nobody_knows_is_refused(api):
    given = sample("rolebindings")
    given["subjects"][0]["kind"] = "Robot"
    where = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
    assert 'subjects[0].kind: Unsupported value: "Robot"' in api.refused("POST", where, given, code=422)


def test_a_status_is_written_where_it_belongs(api):
    made = api.ask("POST", DEPLOYMENTS, {**sample("deployments"), "status": {"replicas": 7}}, code=201)
    assert made["status"] == {}
    made["status"] = {"replicas": 3}
    assert api.ask("PUT", f"{DEPLOYMENTS}/sample", made)["status"] == {}
    made["spec"]["replicas"] = 9
    written = api.ask("PUT", f"{DEPLOYMENTS}/sample/status", made)
    assert (written["status"], written["spec"]["replicas"]) == ({"replicas": 3}, 1)


def test_a_deployment_is_scaled(api):
    api.ask("POST", DEPLOYMENTS, sample("deployments"), code=201)
    scale = api.ask("PATCH", f"{DEPLOYMENTS}/sample/scale", {"spec": {"replicas": 4}}, content_type=MERGE)
    assert (scale["spec"], scale["status"]) == ({"replicas": 4}, {"replicas": 0, "selector": "app=sample"})
    found = api.ask("GET", f"{DEPLOYMENTS}/sample")
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (4, 2)


def test_a_group_is_the_same_in_both_versions(api):
    old, new = ("/apis/scheduling.k8s.io/" + version for version in ("v1alpha3", "v1beta1"))
    given = {"metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
    made = api.ask("POST", f"{old}/namespaces/default/podgroups", given, code=201)
    found = api.ask("GET", f"{new}/namespaces/default/podgroups/g")
    assert found["apiVersion"] == "scheduling.k8s.io/v1beta1"
    assert (found["metadata"]["uid"], found["spec"]) == (made["metadata"]["uid"], made["spec"])


# --- accounts ---


def test_a_pod_runs_as_the_account_that_it_names_or_as_the_default_one(api):
    pods, container = "/api/v1/namespaces/default/pods", {"name": "c", "image": "i"}
    account = {"metadata": {"name": "robot"}, "imagePullSecrets": [{"name": "pull"}]}
    api.ask("POST", "/api/v1/namespaces/default/serviceaccounts", account, code=201)
    plain = {"metadata": {"name": "a"}, "spec": {"containers": [container]}}
    spec = api.ask("POST", pods, plain, code=201)["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    named = {"metadata": {"name": "b"}, "spec": {"containers": [container], "serviceAccountName": "robot"}}
    spec = api.ask("POST", pods, named, code=201)["spec"]
    assert (spec["serviceAccountName"], spec["imagePullSecrets"]) == ("robot", [{"name": "pull"}])
    named["metadata"]["name"], named["spec"]["serviceAccountName"] = "c", "nobody"
    said = api.refused("POST", pods, named, code=403)
    assert 'error looking up service account default/nobody: serviceaccount "nobody" not found' in said
    # whoever leaves the account out does not mean to take it away
    labelled = {**plain, "metadata": {"name": "a", "labels": {"x": "y"}}}
    assert api.ask("PUT", f"{pods}/a", labelled)["spec"]["serviceAccountName"] == "default"


def test_a_mirror_pod_runs_as_no_account(api):
    meta = {"name": "m", "annotations": {"kubernetes.io/config.mirror": "x"}}
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
    pods = "/api/v1/namespaces/default/pods"
    said = api.refused("POST", pods, {"metadata": meta, "spec": {**spec, "serviceAccountName": "default"}}, code=403)
    assert "a mirror pod may not reference service accounts" in said
    assert "serviceAccountName" not in api.ask("POST", pods, {"metadata": meta, "spec": spec}, code=201)["spec"]


def test_an_apply_over_what_nobody_can_tell_apart_is_refused_and_is_no_bug(api):
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    api.ask("POST", accounts, {"metadata": {"name": "nameless"}, "secrets": [{"kind": "x"}]}, code=201)
    given = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "nameless", "labels": {"a": "b"}}}
    path = f"{accounts}/nameless?fieldManager=m"
    said = api.refused("PATCH", path, given, content_type="application/apply-patch+yaml", code=500)
    assert said.startswith("failed to create manager for existing fields: associative list with keys has an element")


# --- runtime classes ---


def test_a_pod_takes_over_what_its_runtime_class_takes(api):
    heavy = {
        "metadata": {"name": "heavy"},
        "handler": "heavy",
        "overhead": {"podFixed": {"cpu": "250m"}},
        "scheduling": {"nodeSelector": {"kind": "big"}, "tolerations": [{"key": "sandbox", "operator": "Exists"}]},
    }
    api.ask("POST", "/apis/node.k8s.io/v1/runtimeclasses", heavy, code=201)
    pod = {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "runtimeClassName": "heavy"},
    }
    spec = api.ask("POST", "/api/v1/namespaces/default/pods", pod, code=201)["spec"]
    assert (spec["overhead"], spec["nodeSelector"]) == ({"cpu": "250m"}, {"kind": "big"})
    assert {"key": "sandbox", "operator": "Exists"} in spec["tolerations"]
    pod["metadata"]["name"], pod["spec"]["overhead"] = "q", {"cpu": "1"}
    assert "doesn't match" in api.refused("POST", "/api/v1/namespaces/default/pods", pod, code=403)


def test_claims_and_ingresses_get_the_class_that_is_marked_as_default(api):
    storage, ingress = "/apis/storage.k8s.io/v1/storageclasses", "/apis/networking.k8s.io/v1/ingressclasses"
    for name, mark in (
        ("b", "storageclass.kubernetes.io"),
        ("a", "storageclass.beta.kubernetes.io"),
        ("0", "other.io"),
    ):
        annotations = {f"{mark}/is-default-class": "true"}
        given = {"metadata": {"name": name, "annotations": annotations}, "provisioner": "example.com/a"}
        api.ask("POST", storage, given, code=201)
    annotations = {"ingressclass.kubernetes.io/is-default-class": "true"}
    given = {"metadata": {"name": "chosen", "annotations": annotations}, "spec": {"controller": "example.com/a"}}
    api.ask("POST", ingress, given, code=201)

    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    claim = api.ask("POST", claims, sample("persistentvolumeclaims"), code=201)
    assert claim["spec"]["storageClassName"] == "a"
    assert api.ask("POST", ingresses, sample("ingresses"), code=201)["spec"]["ingressClassName"] == "chosen"
    without = sample("persistentvolumeclaims")
    without["metadata"]["name"], without["spec"]["storageClassName"] = "none", ""
    assert api.ask("POST", claims, without, code=201)["spec"]["storageClassName"] == ""


def test_a_deletion_that_is_held_up_is_a_new_generation_of_whatever_has_one(api):
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    given = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}, "value": 1}
    assert api.ask("POST", classes, given, code=201)["metadata"]["generation"] == 1
    assert api.ask("DELETE", f"{classes}/held")["metadata"]["generation"] == 2


@pytest.mark.parametrize(("plural", "warned"), [("replicationcontrollers", False), ("jobs", True)])
def test_who_deletes_jobs_hears_of_their_pods(api, plural, warned):
    if plural == "jobs":
        where, given = "/apis/batch/v1/namespaces/default/jobs", sample("cronjobs")["spec"]["jobTemplate"]
        given["metadata"] = {"name": "sample"}
    else:
        where, given = f"/api/v1/namespaces/default/{plural}", sample(plural)
    api.ask("POST", where, given, code=201)
    warnings = api.answer("DELETE", f"{where}/sample").warnings
    assert any("child pods" in one for one in warnings) is warned


# --- scales ---

SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale"}
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"


@pytest.fixture
def scaled(api):
    api.ask("POST", DEPLOYMENTS, sample("deployments"), code=201)
    return api


def apply_scale(api, manager, replicas, more="", **options):
    where = f"{DEPLOYMENTS}/sample/scale?fieldManager={manager}{more}"
    return api.ask("PATCH", where, {**SCALE, "spec": {"replicas": replicas}}, content_type=APPLY, **options)


def test_a_scale_takes_a_strategic_patch(scaled):
    scaled.ask("PATCH", f"{DEPLOYMENTS}/sample/scale", {"spec": {"replicas": 7}}, content_type=STRATEGIC)
    assert scaled.ask("GET", f"{DEPLOYMENTS}/sample")["spec"]["replicas"] == 7


@pytest.mark.parametrize("content_type", [MERGE, STRATEGIC])
def test_there_are_no_fewer_replicas_than_none(scaled, content_type):
    before = scaled.ask("GET", f"{DEPLOYMENTS}/sample")
    words = scaled.refused(
        "PATCH", f"{DEPLOYMENTS}/sample/scale", {"spec": {"replicas": -1}}, code=422, content_type=content_type
    )
    assert "spec.replicas" in words
    assert scaled.ask("GET", f"{DEPLOYMENTS}/sample") == before


def test_who_applies_a_scale_owns_the_number(scaled):
    assert apply_scale(scaled, "one", 4, "&force=true")["spec"] == {"replicas": 4}
    assert apply_scale(scaled, "one", 5)["spec"] == {"replicas": 5}
    assert apply_scale(scaled, "two", 6, code=409)["reason"] == "Conflict"
    found = scaled.ask("GET", f"{DEPLOYMENTS}/sample")
    owners = [one["manager"] for one in found["metadata"]["managedFields"] if "f:replicas" in one["fieldsV1"]["f:spec"]]
    assert (found["spec"]["replicas"], owners) == (5, ["one"])
