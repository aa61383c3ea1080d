"""Where comparison with kube-apiserver 1.37.1 found a difference once: each has been mended, in its words."""

import json

import pytest

from muster.local.serve.wire import Answer
from tests.local.serving import APPLY, CONFIG, GROUPS, MERGE, PODS, Served, pod

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
SERVICES = "/api/v1/namespaces/default/services"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
OTHER = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def api():
    return Served()


def named(name, **fields):
    return {"metadata": {"name": name}, **fields}


def config(name, *, namespace="default", **metadata):
    return {"metadata": {"name": name, "namespace": namespace, **metadata}}


def managers(document):
    return [(entry["manager"], entry.get("subresource", "")) for entry in document["metadata"]["managedFields"]]


# --- lists ---


def test_all_namespaces_are_in_the_order_of_their_paths(api):
    for name in ("a", "a-b"):
        api.create("/api/v1/namespaces", named(name))
        api.create(f"/api/v1/namespaces/{name}/configmaps", named("c"))
    found = api.get("/api/v1/configmaps")["items"]
    assert [item["metadata"]["namespace"] for item in found] == ["a-b", "a"]


def test_pages_go_through_all_namespaces_in_that_order(api):
    for name in ("a", "a-b", "c"):
        api.create("/api/v1/namespaces", named(name))
        api.create(f"/api/v1/namespaces/{name}/configmaps", named("c"))
    seen, token = [], ""
    while True:
        page = api.get(f"/api/v1/configmaps?limit=1&continue={token}")
        seen += [item["metadata"]["namespace"] for item in page["items"]]
        token = page["metadata"].get("continue")
        if not token:
            break
    assert seen == ["a-b", "a", "c"]


def test_a_page_of_selected_objects_goes_on_while_some_are_not_looked_at(api):
    for name, labels in (("a", {"x": "y"}), ("b", {"x": "y"}), ("c", {})):
        api.create(CONFIG, config(name, labels=labels))
    page = api.get(f"{CONFIG}?labelSelector=x&limit=2")
    assert "remainingItemCount" not in page["metadata"]
    last = api.get(f"{CONFIG}?labelSelector=x&limit=2&continue={page['metadata']['continue']}")
    assert last["items"] == []
    assert "continue" not in last["metadata"]


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("x", ""),
        ("abc%21", ""),
        (
            "eyJ2IjoibWV0YS5rOHMuaW8vdjciLCJydiI6NSwic3RhcnQiOiJhIn0",
            "server does not recognize this encoded version meta.k8s.io/v7",
        ),
    ],
)
def test_tokens_that_are_none(api, token, why):
    message = api.refused("GET", f"{CONFIG}?limit=1&continue={token}", code=400)
    assert message.startswith(f"invalid continue token: continue key is not valid: {why}")


def test_all_that_contradicts_itself_is_said(api):
    message = api.refused("GET", f"{CONFIG}?sendInitialEvents=1&resourceVersionMatch=NotOlderThan", code=422)
    assert message == (
        'ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden '
        "unless resourceVersion is provided, sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list]"
    )


def test_metadata_of_nothing_is_null(api):
    assert api.ask("GET", CONFIG, accept=METADATA_LIST)["items"] is None


def test_one_object_is_no_list_and_a_list_is_not_one(api):
    api.create(CONFIG, config("a"))
    one = api.refused("GET", f"{CONFIG}/a", code=406, accept=METADATA_LIST)
    assert one == "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)"
    many = api.refused("GET", GROUPS, code=406, accept=METADATA_LIST.replace("List", ""))
    assert many == "you requested PartialObjectMetadata, but the requested object is a list (*scheduling.PodGroupList)"


def test_nobody_has_seen_a_version_that_is_to_come(api):
    api.create(CONFIG, config("a"))
    assert "Too large resource version: 99999" in api.refused("GET", f"{CONFIG}/a?resourceVersion=99999", code=504)


def test_refusals_come_as_yaml_to_those_who_read_it(api):
    answer = api.answer("GET", f"{CONFIG}/nobody", accept="application/yaml")
    assert (answer.code, answer.content_type) == (404, "application/yaml")
    assert b'message: configmaps "nobody" not found' in answer.body


# --- watches ---


def test_a_deletion_shows_the_object_as_it_last_was(api):
    made = api.create(CONFIG, config("a", finalizers=["example.com/a"]))
    watch = api.watch(CONFIG, resourceVersion=made["metadata"]["resourceVersion"])
    api.ask("DELETE", f"{CONFIG}/a")
    api.merge(f"{CONFIG}/a", {"metadata": {"finalizers": None}})
    *_, last = watch.whole()
    assert last["type"] == "DELETED"
    assert last["object"]["metadata"]["finalizers"] == ["example.com/a"]


def test_the_end_of_what_was_there_is_only_marked_for_those_who_know_marks(api):
    api.create(CONFIG, config("a"))
    asked = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    assert api.watch(CONFIG, **asked).events() == [("ADDED", "a")]
    assert api.watch(CONFIG, **asked, allowWatchBookmarks="true").events()[-1][0] == "BOOKMARK"


def test_no_watch_in_yaml(api):
    answer = api.answer("GET", f"{CONFIG}?watch=1", accept="application/yaml")
    assert isinstance(answer, Answer)
    assert answer.code == 406


# --- updates ---


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (LEASES, named("new", spec={"holderIdentity": "me"})),
        (SERVICES, named("new", spec={"ports": [{"port": 80}]})),
        (
            EVENTS.replace("/apis/events.k8s.io/v1", "/api/v1"),
            config("new") | {"involvedObject": {"namespace": "default"}},
        ),
    ],
)
def test_an_update_makes_objects_of_some_kinds(api, path, body):
    body["metadata"]["resourceVersion"] = "5"
    assert api.ask("PUT", f"{path}/new", body, code=201)["metadata"]["resourceVersion"] != "5"


def test_an_update_makes_no_objects_of_others(api):
    assert api.refused("PUT", f"{CONFIG}/new", config("new"), code=404) == 'configmaps "new" not found'


def test_the_time_of_creation_cannot_be_changed(api):
    made = api.create(CONFIG, config("a"))["metadata"]["creationTimestamp"]
    changed = api.ask("PUT", f"{CONFIG}/a", config("a", creationTimestamp="2001-02-03T04:05:06Z"))
    assert changed["metadata"]["creationTimestamp"] == made


def test_a_version_is_a_number(api):
    api.create(CONFIG, config("a"))
    message = api.refused("PUT", f"{CONFIG}/a", config("a", resourceVersion="old"), code=500)
    assert message == 'strconv.ParseUint: parsing "old": invalid syntax'


@pytest.mark.parametrize(
    "query", ["limit=9223372036854775808", "limit=%201", "limit=1_0", "limit=", "timeoutSeconds=long"]
)
def test_a_number_in_a_query_is_one_of_go(api, query):
    assert api.refused("GET", f"{CONFIG}?{query}", code=400).startswith("strconv.ParseInt: parsing ")


def test_an_update_that_is_meant_for_another_object(api):
    api.create(CONFIG, config("a"))
    message = api.refused("PUT", f"{CONFIG}/a", config("a", uid=OTHER), code=409)
    assert f"Precondition failed: UID in precondition: {OTHER}" in message


# --- patches ---


def test_a_patch_that_makes_no_object_is_told_with_the_field(api):
    api.create(CONFIG, config("a", labels={"x": "y"}))
    message = api.refused("PATCH", f"{CONFIG}/a", {"data": ["x"]}, code=422, content_type=MERGE)
    words = "json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string"
    assert message.startswith(' "" is invalid: patch: Invalid value: "{')
    assert message.endswith(words)


def test_what_a_patch_goes_through_is_by_name(api):
    api.create("/api/v1/nodes", named("n", status={"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"}}))
    patch = {"status": {"capacity": {"cpu": "much"}}}
    message = api.refused("PATCH", "/api/v1/nodes/n/status", patch, code=422, content_type=MERGE)
    assert '\\"status\\":{\\"allocatable\\":{\\"cpu\\":\\"1\\"},\\"capacity\\":{\\"cpu\\":\\"much\\"}' in message


def test_a_patch_that_says_a_field_twice(api):
    api.create(CONFIG, config("a"))
    twice = b'{"data":{"a":"1","a":"2"}}'
    message = api.refused("PATCH", f"{CONFIG}/a?fieldValidation=Strict", twice, code=422, content_type=MERGE)
    assert message.endswith('strict decoding error: duplicate field "data.a"')


NO_OBJECT = (
    "failed to convert new object (/a; /v1, Kind=ConfigMap) to proper version: unable to convert unstructured object "
    "to /v1, Kind=ConfigMap: "
)
NO_UID = "uid mismatch: the provided object specified uid u, and no existing object was found"
NO_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (config("a", namespace="other"), 400, NO_NAMESPACE),
        (config("a", uid="u"), 409, f'Operation cannot be fulfilled on configmaps "a": {NO_UID}'),
        (
            named("a", binaryData={"a": "?"}),
            500,
            f"{NO_OBJECT}illegal base64 data",
        ),
    ],
)
def test_applies_that_cannot_be(api, body, code, message):
    body = {"apiVersion": "v1", "kind": "ConfigMap", **body}
    assert api.refused("PATCH", f"{CONFIG}/a?fieldManager=m", body, code=code, content_type=APPLY) == message


def test_an_apply_of_nothing(api):
    refused = api.refused("PATCH", f"{CONFIG}/a?fieldManager=m", b"", code=400, content_type=APPLY)
    assert refused == "invalid object type: /, Kind="


# --- deletions ---


NOT_MEANT = (
    "the UID in the precondition ({other}) does not match the UID in record ({uid}). The object might have been "
    "deleted and then recreated"
)
NOT_MEANT_SHORT = "Precondition failed: UID in precondition: {other}, UID in object meta: {uid}"


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        (CONFIG, named("a"), f'ConfigMap "a": {NOT_MEANT}'),
        (LEASES, named("a", spec={"holderIdentity": "x"}), f'Lease.coordination.k8s.io "a": {NOT_MEANT}'),
        ("/api/v1/namespaces", named("a"), f'namespaces "a": {NOT_MEANT_SHORT}'),
    ],
)
def test_a_deletion_that_is_meant_for_another_object(api, path, body, words):
    uid = api.create(path, body)["metadata"]["uid"]
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": OTHER}}
    message = api.refused("DELETE", f"{path}/a", options, code=409)
    assert message == "Operation cannot be fulfilled on " + words.format(other=OTHER, uid=uid)


def test_a_deletion_of_many_shows_them_as_they_were(api):
    api.create(PODS, pod("a"))
    [shown] = api.ask("DELETE", PODS)["items"]
    assert "deletionTimestamp" not in shown["metadata"]


@pytest.mark.parametrize("path", ["/api/v1/configmaps", "/api/v1/namespaces"])
def test_many_are_deleted_in_one_namespace_only(api, path):
    api.ask("DELETE", path, code=405)


def test_whoever_deletes_a_job_is_told_that_its_pods_stay(api):
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}
    api.create(JOBS, named("j", spec={"template": template}))
    [warning] = api.answer("DELETE", f"{JOBS}/j").warnings
    assert warning.startswith("child pods are preserved by default when jobs are deleted")
    assert api.answer("DELETE", f"{JOBS}/j?propagationPolicy=Background").warnings == ()


def test_the_old_words_for_background_tell_whether_the_object_is_gone(api):
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "orphanDependents": False}
    api.create(CONFIG, config("held", finalizers=["example.com/a"]))
    api.ask("DELETE", f"{CONFIG}/held", options, code=202)
    api.create(CONFIG, config("free"))
    api.ask("DELETE", f"{CONFIG}/free", options)


def test_what_is_being_deleted_is_still_there(api):
    api.create("/api/v1/namespaces", named("a"))
    api.ask("DELETE", "/api/v1/namespaces/a")
    message = api.refused("POST", "/api/v1/namespaces", named("a"), code=409)
    assert message == 'object is being deleted: namespaces "a" already exists'


# --- what the server does by itself ---


def test_the_server_owns_what_it_says_of_a_definition(api):
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
    api.create(DEFINITIONS, named("things.example.com", spec=spec))
    assert managers(api.get(f"{DEFINITIONS}/things.example.com")) == [("kube-apiserver", "status"), ("test", "")]


def test_the_server_owns_what_an_eviction_takes_off_a_budget(api):
    labels = {"app": "x"}
    api.create(BUDGETS, named("b", spec={"minAvailable": 0, "selector": {"matchLabels": labels}}))
    api.merge(f"{BUDGETS}/b/status", {"status": {"disruptionsAllowed": 1, "observedGeneration": 1}})
    api.create(PODS, pod("a", labels=labels))
    api.merge(f"{PODS}/a/status", {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
    api.create(f"{PODS}/a/eviction", {"apiVersion": "policy/v1beta1", "kind": "Eviction", **named("a")})
    assert ("kube-apiserver", "status") in managers(api.get(f"{BUDGETS}/b"))


def test_fields_of_an_event_are_owned_by_the_names_that_its_writer_knows(api):
    event = {
        "eventTime": "2001-02-03T04:05:06.000007Z",
        "reportingController": "example.com/c",
        "reportingInstance": "c-1",
        "action": "Test",
        "reason": "Tested",
        "note": "a test said so",
        "type": "Normal",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
    }
    made = api.create(EVENTS, {**config("e"), **event})
    assert {"f:note", "f:regarding"} <= made["metadata"]["managedFields"][0]["fieldsV1"].keys()


def test_every_cluster_has_its_own_service(api):
    found = api.get(f"{SERVICES}/kubernetes")
    assert found["spec"]["clusterIPs"] == ["10.0.0.1"]
    assert found["spec"]["ports"][0]["port"] == 443


def test_a_pod_is_bound_by_those_who_do_not_name_it_in_the_path(api):
    api.create(PODS, pod("a"))
    binding = {"apiVersion": "v1", "kind": "Binding", **named("a"), "target": {"kind": "Node", "name": "n1"}}
    api.create(PODS.replace("/pods", "/bindings"), binding)
    assert api.get(f"{PODS}/a")["spec"]["nodeName"] == "n1"
    api.ask("GET", PODS.replace("/pods", "/bindings"), code=405)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"runtimeClassName": "nobody-has-it"}, 'RuntimeClass "nobody-has-it" not found'),
        ({"overhead": {"cpu": "1"}}, "Pod Overhead set without corresponding RuntimeClass defined Overhead"),
    ],
)
def test_there_are_no_runtime_classes(api, fields, why):
    made = pod("a")
    made["spec"] |= fields
    assert api.refused("POST", PODS, made, code=403) == f'pods "a" is forbidden: pod rejected: {why}'


def test_what_a_client_is_warned_of_comes_with_the_answer(api):
    made = pod("a")
    made["spec"]["imagePullSecrets"] = [{}]
    answer = api.answer("POST", PODS, made)
    assert json.loads(answer.body)["metadata"]["name"] == "a"
    assert answer.warnings == ('spec.imagePullSecrets[0].name: invalid empty name ""',)


# --- custom kinds ---


@pytest.fixture
def things(api):
    """Where Things are; they have a size and a status, which counts."""
    properties = {
        "size": {"type": "integer"},
        "status": {"type": "object", "properties": {"count": {"type": "integer"}}},
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
    api.create(DEFINITIONS, named("things.example.com", spec=spec))
    return "/apis/example.com/v1/things"


def thing(name, **fields):
    return {"apiVersion": "example.com/v1", "kind": "Thing", **named(name), **fields}


def test_a_list_of_custom_objects_says_that_it_is_whole(api, things):
    assert api.get(things)["metadata"]["continue"] == ""


def test_of_a_status_the_status_alone_is_checked(api, things):
    api.create(things, thing("a"))
    message = api.refused("PATCH", f"{things}/a/status", {"status": {"count": "x"}}, code=422, content_type=MERGE)
    words = 'status.count: Invalid value: "string": count in body must be of type integer: "string"'
    assert message == f'Thing.example.com "a" is invalid: {words}'


def test_a_finalizer_should_have_a_domain(api, things):
    made = thing("a")
    made["metadata"]["finalizers"] = ["plain", "example.com/b"]
    [warning] = api.answer("POST", things, made).warnings
    assert warning.startswith('metadata.finalizers: "plain": prefer a domain-qualified finalizer name')
    assert api.answer("PATCH", f"{things}/a", {"size": 1}, content_type=MERGE).warnings == ()


def test_an_object_of_another_kind_is_named(api, things):
    message = api.refused("POST", things, {**thing("a"), "kind": "Other"}, code=422)
    assert message == 'Other.example.com "a" is invalid: kind: Invalid value: "Other": must be Thing'


def test_custom_kinds_of_the_cluster_are_in_no_namespace(api, things):
    path = things.replace("/things", "/namespaces/default/things")
    assert api.ask("GET", path, code=404) == "404 page not found\n"


def test_a_default_must_be_what_its_schema_allows(api):
    schema = {"type": "object", "properties": {"a": {"type": "string", "default": 1}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "example.com", "scope": "Cluster", "names": {"plural": "as", "kind": "A"}, "versions": [version]}
    message = api.refused("POST", DEFINITIONS, named("as.example.com", spec=spec), code=422)
    assert message.endswith(
        "spec.validation.openAPIV3Schema.properties[a].default: "
        'Invalid value: "integer":  in body must be of type string: "integer"'
    )


def test_warnings_come_with_refusals_too(api):
    answer = api.answer("POST", CONFIG, {"metadata": {"name": "Bad_"}, "odd": 1})
    assert (answer.code, answer.warnings) == (422, ('unknown field "odd"',))


def test_the_same_owner_twice_is_one(api):
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y", "controller": True}
    answer = api.answer("POST", CONFIG, config("a", ownerReferences=[owner, owner]))
    assert json.loads(answer.body)["metadata"]["ownerReferences"] == [owner]
    assert answer.warnings == (
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may "
        "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: y",
    )


@pytest.mark.parametrize(
    ("spec", "warnings"),
    [
        ({}, ()),
        (
            {"externalIPs": ["10.2.2.2"]},
            ("spec.externalIPs is deprecated and may no longer be implemented in some clusters",),
        ),
        (
            {"trafficDistribution": "PreferClose"},
            ('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',),
        ),
        (
            {"clusterIP": "None", "sessionAffinity": "ClientIP"},
            ("spec.SessionAffinity is ignored for headless services",),
        ),
    ],
)
def test_fields_of_services_that_do_nothing_are_warned_of(api, spec, warnings):
    assert api.answer("POST", SERVICES, named("s", spec={"ports": [{"port": 80}], **spec})).warnings == warnings


def test_a_secret_without_a_certificate_is_warned_of(api):
    made = named("s", type="kubernetes.io/tls", stringData={"tls.crt": "x", "tls.key": "y"})
    answer = api.answer("POST", CONFIG.replace("configmaps", "secrets"), made)
    assert answer.warnings == ("tls: failed to find any PEM data in certificate input",)


def test_one_node_port_cannot_serve_twice(api):
    api.create(SERVICES, named("s", spec={"type": "NodePort", "ports": [{"port": 80}]}))
    ports = [{"name": name, "port": number, "nodePort": 31000} for name, number in (("a", 80), ("b", 81))]
    message = api.refused("PATCH", f"{SERVICES}/s", {"spec": {"ports": ports}}, code=500, content_type=MERGE)
    assert message == "duplicate nodePort: {TCP 31000}"
