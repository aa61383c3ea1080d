"""The API with the gate GenericWorkload off, and on again: what kube-apiserver 1.37.1 was seen to do."""

import copy

import pytest
import yaml

from muster.local.kinds import rows
from muster.local.kinds.switches import refused, without_workloads
from muster.local.store.log import SqliteLog
from muster.local.store.store import Store
from tests.dialects.definitions import FOLDER
from tests.local.serving import Served

CLOSED = without_workloads(rows.ROWS)
GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
WORKLOADS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/workloads"
NOT_SERVED = "the server could not find the requested resource"

GROUP = {"metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
WORKLOAD = {
    "metadata": {"name": "w"},
    "spec": {"podGroupTemplates": [{"name": "t", "schedulingPolicy": {"basic": {}}}]},
}
FIELD = {"podGroupName": "g"}
SPEC = {"schedulingGroup": FIELD, "containers": [{"name": "c", "image": "i"}]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}
ENDING = {"metadata": {"labels": {"a": "b"}}, "spec": SPEC | {"restartPolicy": "Never"}}
SELECTED = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
JOB = {"suspend": True, "scheduling": {"schedulingPolicy": {"gang": {"minCount": 1}}}, "template": ENDING}

KINDS = {
    "/api/v1/namespaces/default/pods": {"spec": SPEC},
    "/api/v1/namespaces/default/podtemplates": {"template": TEMPLATE},
    "/api/v1/namespaces/default/replicationcontrollers": {"spec": {"selector": {"a": "b"}, "template": TEMPLATE}},
    "/apis/apps/v1/namespaces/default/daemonsets": {"spec": SELECTED},
    "/apis/apps/v1/namespaces/default/deployments": {"spec": SELECTED},
    "/apis/apps/v1/namespaces/default/replicasets": {"spec": SELECTED},
    "/apis/apps/v1/namespaces/default/statefulsets": {"spec": SELECTED | {"serviceName": "s"}},
    "/apis/batch/v1/namespaces/default/jobs": {"spec": JOB},
    "/apis/batch/v1/namespaces/default/cronjobs": {"spec": {"schedule": "@daily", "jobTemplate": {"spec": JOB}}},
}
each = pytest.mark.parametrize("where", KINDS, ids=lambda where: where.rpartition("/")[2])


def document(where, name):
    return copy.deepcopy({"metadata": {"name": name}, **KINDS[where]})


def fields(found):
    """What the object says of groups."""
    if isinstance(found, dict):
        mine = {name: found[name] for name in ("schedulingGroup", "scheduling") if name in found}
        return [*mine.values(), *(said for part in found.values() for said in fields(part))]
    return [said for part in found for said in fields(part)] if isinstance(found, list) else []


def without_managers(found):
    return found | {"metadata": {key: one for key, one in found["metadata"].items() if key != "managedFields"}}


@pytest.fixture
def store():
    return Store()


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha3"])
@pytest.mark.parametrize("plural", ["podgroups", "workloads", "compositepodgroups"])
def test_the_kinds_are_not_served(store, version, plural):
    served = Served(store, kinds=CLOSED)
    where = f"/apis/scheduling.k8s.io/{version}/namespaces/default/{plural}"
    assert served.refused("GET", where, code=404) == NOT_SERVED
    assert served.refused("POST", where, GROUP, code=404) == NOT_SERVED
    assert served.refused("GET", f"{where}/g", code=404) == NOT_SERVED
    assert served.refused("GET", f"/apis/scheduling.k8s.io/{version}", code=404) == NOT_SERVED


def test_the_group_has_what_is_left_of_it(store):
    served = Served(store, kinds=CLOSED)
    assert [one["version"] for one in served.get("/apis/scheduling.k8s.io")["versions"]] == ["v1"]
    assert [one["name"] for one in served.get("/apis/scheduling.k8s.io/v1")["resources"]] == ["priorityclasses"]


@each
def test_new_objects_say_nothing_of_groups(store, where):
    assert fields(Served(store).create(where, document(where, "on")))
    served = Served(store, kinds=CLOSED)
    assert not fields(without_managers(served.create(where, document(where, "off"))))
    assert not fields(without_managers(served.get(f"{where}/off")))
    assert not fields(without_managers(served.merge(f"{where}/off", document(where, "off"))))


@each
def test_what_is_dropped_need_not_be_right(store, where):
    def spoil(found):
        if isinstance(found, dict):
            return {key: {"podGroupName": "NO GOOD"} if one == FIELD else spoil(one) for key, one in found.items()}
        return [spoil(one) for one in found] if isinstance(found, list) else found

    bad = spoil(document(where, "bad"))
    assert "NO GOOD" in Served(store).refused("POST", where, bad, code=422)
    Served(store, kinds=CLOSED).create(where, bad)


@each
def test_stored_objects_keep_what_they_say_of_groups_and_so_do_their_updates(store, where):
    made = Served(store).create(where, document(where, "old"))
    served = Served(store, kinds=CLOSED)
    assert fields(served.get(f"{where}/old")) == fields(made)
    merged = served.merge(f"{where}/old", {"metadata": {"labels": {"x": "y"}}})
    assert fields(without_managers(merged)) == fields(without_managers(made))
    made["metadata"].pop("resourceVersion")
    updated = served.ask("PUT", f"{where}/old", made)
    assert fields(without_managers(updated)) == fields(without_managers(made))
    again = Served(store).get(f"{where}/old")
    assert fields(without_managers(again)) == fields(without_managers(made))


def test_stored_groups_come_back_from_the_file_as_they_were(tmp_path):
    def opened(kinds, act):
        log = SqliteLog(tmp_path / "data.sqlite")
        try:
            return act(Served(Store(log), kinds=kinds))
        finally:
            log.close()

    def made(served):
        return served.create(GROUPS, GROUP), served.create(WORKLOADS, WORKLOAD)

    def read(served):
        return served.get(f"{GROUPS}/g"), served.get(f"{WORKLOADS}/w")

    before = opened(rows.ROWS, made)
    opened(CLOSED, lambda served: served.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}}))
    assert opened(rows.ROWS, read) == before


STORED = "/apis/stored.muster.dev/v1beta1/namespaces/default/podgroups"
SAYS = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled"}


def test_the_scheduler_finds_stored_groups_and_says_how_they_are(store):
    made = Served(store).create(GROUPS, GROUP)
    served = Served(store, kinds=CLOSED)
    shown = served.get(f"{STORED}/g")
    assert (shown["metadata"], shown["spec"]) == (made["metadata"], made["spec"])
    written = {"status": {"conditions": [SAYS | {"lastTransitionTime": "2026-01-01T00:00:00Z", "message": ""}]}}
    served.merge(f"{STORED}/g/status", written)
    served.merge(f"{STORED}/g", {"metadata": {"finalizers": ["example.com/mine"]}})
    again = Served(store).get(f"{GROUPS}/g")
    assert again["status"]["conditions"][0].items() >= SAYS.items()
    assert again["metadata"]["finalizers"] == ["example.com/mine"]
    assert again["apiVersion"] == "scheduling.k8s.io/v1beta1"
    Served(store).merge(f"{GROUPS}/g", {"metadata": {"labels": {"a": "b"}}})


def test_nobody_is_told_of_stored_groups_and_nobody_makes_one(store):
    served = Served(store, kinds=CLOSED, refused=refused(workloads=False, pod_groups=True))
    assert "stored.muster.dev" not in str(served.get("/apis")) + str(served.get("/openapi/v3"))
    assert "the feature gate GenericWorkload is off" in served.refused("POST", STORED, GROUP, code=403)


def test_groups_with_subsets_are_not_made_while_their_gate_is_off_and_those_that_are_there_stay(store):
    where, definitions = (
        "/apis/coscheduling.muster.dev/v1alpha1/namespaces/default/podgroups",
        (FOLDER / "subsets" / "podgroups.yaml").read_text(),
    )
    head = {"apiVersion": "coscheduling.muster.dev/v1alpha1", "kind": "PodGroup"}
    group = head | {"metadata": {"name": "s"}, "spec": {"subsets": [{"name": "all", "minMember": 1}]}}
    on = Served(store)
    for definition in yaml.safe_load_all(definitions):
        if definition["kind"] == "CustomResourceDefinition":
            on.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    on.create(where, group)
    off = Served(store, refused=refused(workloads=True, pod_groups=False))
    assert "the feature gate PodGroup is off" in off.refused(
        "POST", where, group | {"metadata": {"name": "t"}}, code=403
    )
    assert off.merge(f"{where}/s", {"metadata": {"labels": {"a": "b"}}})["spec"]["subsets"][0]["minMember"] == 1
    off.ask("DELETE", f"{where}/s")
