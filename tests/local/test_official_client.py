"""The official Python client on `muster up`: what programs written for Kubernetes do."""

import contextlib
import itertools
import threading

import pytest
import yaml
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.rest import ApiException
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
from kubernetes.stream import stream

from muster.local.process.identity import Identity
from tests.local.processes import PATIENCE_SECONDS, Server, Up, until

APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
GROUP, VERSION, PLURAL = "client.muster.dev", "v1", "gauges"
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("up") / "cluster"
    with Up(folder, "--ephemeral", "--port", "0", "--nodes", "2") as up, client_of(up.kubeconfig) as api:
        yield api


@contextlib.contextmanager
def client_of(kubeconfig):
    with config.new_client_from_config(str(kubeconfig)) as api:
        yield api


@pytest.fixture
def namespace(cluster):
    core, name = client.CoreV1Api(cluster), f"test-{next(_numbers)}"
    made = core.create_namespace({"metadata": {"name": name}})
    assert made.status.phase == "Active"
    yield name
    core.delete_namespace(name)


@pytest.fixture
def core(cluster):
    return client.CoreV1Api(cluster)


def pod(name, *, labels=None, annotations=None, **spec):
    containers = [{"name": "main", "image": "app", "resources": {"requests": {"cpu": "100m"}}}]
    meta = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    return {"metadata": meta, "spec": {"containers": containers, **spec}}


def settings(name, **data):
    return {"metadata": {"name": name}, "data": data}


def refused(code):
    return pytest.raises(ApiException, check=lambda error: error.status == code)


# --- pods and jobs ---


def test_a_pod_runs_and_ends(core, namespace):
    made = core.create_namespaced_pod(
        namespace, pod("web", annotations={"muster.dev/run-seconds": "0.2"}, restartPolicy="Never")
    )
    phases = []
    watching = watch.Watch()
    # from its creation on: it may run before the watch begins
    since = {"field_selector": "metadata.name=web", "resource_version": made.metadata.resource_version}
    for event in watching.stream(core.list_namespaced_pod, namespace, **since):
        phases.append(event["object"].status.phase)
        if phases[-1] == "Succeeded":
            watching.stop()
    assert list(dict.fromkeys(phases)) == ["Pending", "Running", "Succeeded"]
    read = core.read_namespaced_pod("web", namespace)
    assert read.metadata.uid == made.metadata.uid
    assert read.status.container_statuses[0].state.terminated.exit_code == 0
    assert "started on" in core.read_namespaced_pod_log("web", namespace)


def test_pods_are_listed_by_selectors_and_in_pages(core, namespace):
    for number in range(7):
        core.create_namespaced_pod(namespace, pod(f"p{number}", labels={"odd": str(number % 2)}))
    odd = core.list_namespaced_pod(namespace, label_selector="odd=1").items
    assert [one.metadata.name for one in odd] == ["p1", "p3", "p5"]
    one = core.list_namespaced_pod(namespace, field_selector="metadata.name=p4").items
    assert [each.metadata.name for each in one] == ["p4"]
    page = core.list_namespaced_pod(namespace, limit=3)
    names = _names(page)
    while page.metadata._continue:
        page = core.list_namespaced_pod(namespace, limit=3, _continue=page.metadata._continue)
        names += _names(page)
    assert names == [f"p{number}" for number in range(7)]


def test_pods_are_bound_evicted_and_deleted(core, namespace):
    core.create_namespaced_pod(namespace, pod("web", schedulerName="nobody"))
    # the client wants to read a binding in the answer, and gets a Status, as from any cluster
    target = {"metadata": {"name": "web"}, "target": {"kind": "Node", "name": "node-2"}}
    core.create_namespaced_pod_binding("web", namespace, target, _preload_content=False).release_conn()
    with refused(409):
        core.create_namespaced_pod_binding("web", namespace, target)
    until(lambda: core.read_namespaced_pod_status("web", namespace).status.phase == "Running", "it does not run")
    assert core.read_namespaced_pod("web", namespace).spec.node_name == "node-2"
    core.create_namespaced_pod_eviction("web", namespace, {"metadata": {"name": "web"}})
    until(lambda: not core.list_namespaced_pod(namespace).items, "it stays")
    with refused(404):
        core.delete_namespaced_pod("web", namespace)


def test_an_invalid_pod_is_refused_with_its_causes(core, namespace):
    with refused(422) as caught:
        core.create_namespaced_pod(namespace, pod("Bad_Name", restartPolicy="Sometimes"))
    status = yaml.safe_load(caught.value.body)
    assert status["reason"] == "Invalid"
    assert {cause["field"] for cause in status["details"]["causes"]} == {"metadata.name", "spec.restartPolicy"}


def test_exec_is_refused_clearly(core, namespace):
    core.create_namespaced_pod(namespace, pod("web"))
    until(lambda: core.read_namespaced_pod("web", namespace).status.phase == "Running", "it does not run")
    # a client of its own: `stream` changes the one it is given
    with pytest.raises(ApiException) as caught:
        stream(core.connect_get_namespaced_pod_exec, "web", namespace, command=["ls"], stdout=True)
    assert "400" in str(caught.value)


def test_a_job_completes(cluster, core, namespace):
    batch = client.BatchV1Api(cluster)
    template = {
        "metadata": {"annotations": {"muster.dev/run-seconds": "0.1"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "app"}]},
    }
    spec = {"completions": 3, "parallelism": 3, "completionMode": "Indexed", "template": template}
    made = batch.create_namespaced_job(namespace, {"metadata": {"name": "sums"}, "spec": spec})
    until(lambda: batch.read_namespaced_job("sums", namespace).status.succeeded == 3, "it does not complete")
    read = until(lambda: _complete(batch.read_namespaced_job("sums", namespace)), "it is not complete")
    assert read.status.completed_indexes == "0-2"
    pods = core.list_namespaced_pod(namespace, label_selector=f"controller-uid={made.metadata.uid}").items
    assert {one.metadata.owner_references[0].uid for one in pods} == {made.metadata.uid}
    batch.delete_namespaced_job("sums", namespace, propagation_policy="Foreground")
    until(lambda: not core.list_namespaced_pod(namespace).items, "its pods stay")


def _complete(job):
    return job if any(one.type == "Complete" and one.status == "True" for one in job.status.conditions or ()) else None


# --- changes ---


def test_the_three_patches_and_a_replacement(core, namespace):
    core.create_namespaced_config_map(namespace, settings("one", a="1", b="2"))
    patched = core.patch_namespaced_config_map("one", namespace, {"data": {"a": "7"}})
    assert patched.data == {"a": "7", "b": "2"}
    patched = core.patch_namespaced_config_map("one", namespace, {"data": {"b": None}}, _content_type=MERGE)
    assert patched.data == {"a": "7"}
    added = [{"op": "add", "path": "/data/c", "value": "3"}]
    patched = core.patch_namespaced_config_map("one", namespace, added)
    assert patched.data == {"a": "7", "c": "3"}
    stale, patched.data = core.read_namespaced_config_map("one", namespace), {"d": "4"}
    assert core.replace_namespaced_config_map("one", namespace, patched).data == {"d": "4"}
    with refused(409):
        core.replace_namespaced_config_map("one", namespace, stale)


def test_server_side_apply_knows_whose_fields_are_whose(core, namespace):
    def apply(manager, *, force=False, **data):
        body = {"apiVersion": "v1", "kind": "ConfigMap", **settings("one", **data)}
        return core.patch_namespaced_config_map(
            "one", namespace, body, field_manager=manager, force=force, _content_type=APPLY
        )

    apply("first", a="1", b="2")
    with refused(409) as caught:
        apply("second", a="9")
    assert 'conflict with "first"' in yaml.safe_load(caught.value.body)["message"]
    assert apply("second", force=True, a="9").data == {"a": "9", "b": "2"}
    assert apply("first", b="2").data == {"a": "9", "b": "2"}


def test_dry_runs_change_nothing(core, namespace):
    core.create_namespaced_config_map(namespace, settings("one"), dry_run="All")
    assert [one.metadata.name for one in core.list_namespaced_config_map(namespace).items] == []


def test_a_namespace_goes_with_what_is_in_it(core):
    core.create_namespace({"metadata": {"name": "short-lived"}})
    core.create_namespaced_secret("short-lived", {"metadata": {"name": "hush"}, "stringData": {"key": "value"}})
    assert core.read_namespaced_secret("hush", "short-lived").data == {"key": "dmFsdWU="}
    core.delete_namespace("short-lived")
    until(lambda: "short-lived" not in _names(core.list_namespace()), "it stays")
    with refused(404):
        core.read_namespaced_secret("hush", "short-lived")


def _names(listed):
    return [one.metadata.name for one in listed.items]


# --- kinds of one's own ---


@pytest.fixture(scope="module")
def gauges(cluster):
    """A custom kind with a schema and a status."""
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {
                    "size": {"type": "integer", "minimum": 1},
                    "colour": {"type": "string", "default": "red"},
                },
            },
            "status": {"type": "object", "properties": {"size": {"type": "integer"}}},
        },
    }
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": PLURAL, "singular": "gauge", "kind": "Gauge"}
    definition = {
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    extensions = client.ApiextensionsV1Api(cluster)
    extensions.create_custom_resource_definition(definition)
    until(lambda: _is_established(extensions, f"{PLURAL}.{GROUP}"), "it is not established")
    yield client.CustomObjectsApi(cluster)
    extensions.delete_custom_resource_definition(f"{PLURAL}.{GROUP}")


def _is_established(extensions, name):
    conditions = extensions.read_custom_resource_definition(name).status.conditions or ()
    return any(one.type == "Established" and one.status == "True" for one in conditions)


def gauge(name, **spec):
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Gauge", "metadata": {"name": name}, "spec": spec}


def test_custom_objects_are_checked_defaulted_and_changed(gauges, namespace):
    place = (GROUP, VERSION, namespace, PLURAL)
    made = gauges.create_namespaced_custom_object(*place, gauge("oil", size=3))
    assert made["spec"] == {"size": 3, "colour": "red"}
    with refused(422):
        gauges.create_namespaced_custom_object(*place, gauge("none", colour="blue"))
    patched = gauges.patch_namespaced_custom_object(*place, "oil", {"spec": {"size": 4}})
    assert patched["spec"]["size"] == 4
    with refused(422):
        gauges.patch_namespaced_custom_object(*place, "oil", {"spec": {"size": 0}})
    told = gauges.patch_namespaced_custom_object_status(*place, "oil", {"status": {"size": 4}, "spec": {"size": 9}})
    assert (told["status"], told["spec"]["size"]) == ({"size": 4}, 4)
    told["spec"]["size"] = 5
    assert gauges.replace_namespaced_custom_object(*place, "oil", told)["metadata"]["generation"] == 3
    assert [one["metadata"]["name"] for one in gauges.list_cluster_custom_object(GROUP, VERSION, PLURAL)["items"]] == [
        "oil"
    ]
    gauges.delete_namespaced_custom_object(*place, "oil")
    assert gauges.list_namespaced_custom_object(*place)["items"] == []


def test_custom_objects_are_watched(gauges, namespace):
    place = (GROUP, VERSION, namespace, PLURAL)
    gauges.create_namespaced_custom_object(*place, gauge("oil", size=3))
    gauges.delete_namespaced_custom_object(*place, "oil")
    gauges.create_namespaced_custom_object(*place, gauge("gas", size=3))
    events = watch.Watch().stream(gauges.list_namespaced_custom_object, *place, timeout_seconds=1)
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [("ADDED", "gas")]


# --- watches ---


def test_a_watch_goes_on_where_it_was_cut(core, namespace):
    core.create_namespaced_config_map(namespace, settings("one"))
    watching = watch.Watch()
    told = _told(watching.stream(core.list_namespaced_config_map, namespace, timeout_seconds=1))
    assert told == [("ADDED", "one")]
    core.create_namespaced_config_map(namespace, settings("two"))
    core.patch_namespaced_config_map("one", namespace, {"data": {"a": "1"}})
    core.delete_namespaced_config_map("two", namespace)
    again = watch.Watch()
    last = watching.resource_version
    told = _told(again.stream(core.list_namespaced_config_map, namespace, resource_version=last, timeout_seconds=1))
    assert told == [("ADDED", "two"), ("MODIFIED", "one"), ("DELETED", "two")]


def test_a_watch_is_taken_up_by_the_client_itself(core, namespace):
    """Without a time-out the client asks again, from where it was, whenever the server ends a watch."""
    core.create_namespaced_config_map(namespace, settings("one"))
    watching, asked = watch.Watch(return_type="V1ConfigMap"), []

    def brief(*args, **options):
        """Each watch lasts a second."""
        asked.append(options.get("resource_version"))
        if len(asked) == 2:
            core.create_namespaced_config_map(namespace, settings("two"))
        return core.list_namespaced_config_map(*args, timeout_seconds=1, **options)

    told = []
    for event in watching.stream(brief, namespace):
        told.append((event["type"], event["object"].metadata.name))
        if len(told) == 2:
            watching.stop()
    assert told == [("ADDED", "one"), ("ADDED", "two")]
    assert asked[0] is None
    assert int(asked[1]) > 0


def test_a_watch_from_a_forgotten_version_is_told_so_and_begins_anew(tmp_path):
    folder = tmp_path / "cluster"
    with Server(folder) as server, client_of(Identity(folder).write_kubeconfig(server.port)) as api:
        core = client.CoreV1Api(api)
        old = core.create_namespaced_config_map("default", settings("one")).metadata.resource_version
        core.create_namespaced_config_map("default", settings("two"))
        server.kill()
    with Server(folder) as server, client_of(Identity(folder).write_kubeconfig(server.port)) as api:
        core = client.CoreV1Api(api)
        with refused(410) as caught:
            list(watch.Watch().stream(core.list_namespaced_config_map, "default", resource_version=old))
        assert "Expired: too old resource version" in str(caught.value)
        listed = core.list_namespaced_config_map("default")
        assert _names(listed) == ["one", "two"]
        core.create_namespaced_config_map("default", settings("three"))
        events = watch.Watch().stream(
            core.list_namespaced_config_map,
            "default",
            resource_version=listed.metadata.resource_version,
            timeout_seconds=1,
        )
        assert _told(events) == [("ADDED", "three")]


def test_bookmarks_are_understood(core, namespace):
    """What a list with initial events ends with."""
    core.create_namespaced_config_map(namespace, settings("one"))
    response = core.list_namespaced_config_map(
        namespace,
        watch=True,
        send_initial_events=True,
        resource_version_match="NotOlderThan",
        allow_watch_bookmarks=True,
        timeout_seconds=1,
        _preload_content=False,
    )
    events = [yaml.safe_load(line) for line in response.data.decode().splitlines()]
    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK"]
    assert events[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def _told(events):
    return [(event["type"], event["object"].metadata.name) for event in events]


def test_an_informer_keeps_up(core, namespace):
    informer = SharedInformer(core.list_namespaced_config_map, namespace=namespace)
    informer.start()
    try:
        core.create_namespaced_config_map(namespace, settings("one"))
        core.create_namespaced_config_map(namespace, settings("two"))
        core.delete_namespaced_config_map("one", namespace)
        until(lambda: informer.cache.list_keys() == [f"{namespace}/two"], informer.cache.list_keys)
    finally:
        informer.stop()


# --- what comes with the client ---


def test_objects_are_made_from_yaml(cluster, core, namespace, tmp_path):
    documents = [
        {"apiVersion": "v1", "kind": "ConfigMap", **settings("one", a="1")},
        {"apiVersion": "v1", "kind": "Pod", **pod("web")},
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "train"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
        },
    ]
    file = tmp_path / "all.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    utils.create_from_yaml(cluster, str(file), namespace=namespace)
    assert core.read_namespaced_config_map("one", namespace).data == {"a": "1"}
    assert client.SchedulingV1beta1Api(cluster).read_namespaced_pod_group("train", namespace).metadata.uid
    with pytest.raises(utils.FailToCreateError) as caught:
        utils.create_from_yaml(cluster, str(file), namespace=namespace)
    assert [error.status for error in caught.value.api_exceptions] == [409] * 3


def test_the_dynamic_client_finds_kinds_by_itself(cluster, gauges, namespace, tmp_path):
    finder = dynamic.DynamicClient(cluster, cache_file=str(tmp_path / "kinds"))
    maps = finder.resources.get(api_version="v1", kind="ConfigMap")
    maps.create(body=settings("one", a="1"), namespace=namespace)
    applied = maps.server_side_apply(
        body={"apiVersion": "v1", "kind": "ConfigMap", **settings("one", b="2")},
        name="one",
        namespace=namespace,
        field_manager="test",
    )
    assert applied.data.to_dict() == {"a": "1", "b": "2"}
    assert [one.metadata.name for one in maps.get(namespace=namespace).items] == ["one"]
    own = finder.resources.get(api_version=f"{GROUP}/{VERSION}", kind="Gauge")
    own.create(body=gauge("oil", size=2), namespace=namespace)
    events = own.watch(namespace=namespace, timeout=1)
    assert [(event["type"], event["object"].spec.size) for event in events] == [("ADDED", 2)]
    own.delete(name="oil", namespace=namespace)


def test_a_leader_is_elected_by_a_lease(cluster, namespace, monkeypatch):
    monkeypatch.setattr(client.Configuration, "_default", cluster.configuration)
    led, stopped = [], threading.Event()

    def lead():
        led.append("first")
        raise RuntimeError("enough")

    lock = LeaseLock("leader", namespace, "first")
    wanted = electionconfig.Config(
        lock, lease_duration=5, renew_deadline=3, retry_period=1, onstarted_leading=lead, onstopped_leading=stopped.set
    )
    leaderelection.LeaderElection(wanted).run()
    assert led == ["first"]
    assert stopped.wait(PATIENCE_SECONDS)
    found, record = LeaseLock("leader", namespace, "second").get("leader", namespace)
    assert found
    assert record.holder_identity == "first"
    lock.api_instance.api_client.close()


def test_a_wrong_token_is_refused(cluster):
    wrong = client.Configuration.get_default_copy()
    for name in ("host", "ssl_ca_cert"):
        setattr(wrong, name, getattr(cluster.configuration, name))
    wrong.api_key = {"authorization": "Bearer nonsense"}
    with client.ApiClient(wrong) as api, refused(401):
        client.CoreV1Api(api).list_namespace()


def test_the_certificate_is_checked(cluster):
    untrusting = client.Configuration.get_default_copy()
    untrusting.host, untrusting.retries = cluster.configuration.host, False
    with client.ApiClient(untrusting) as api, pytest.raises(ApiException, match="CERTIFICATE_VERIFY_FAILED"):
        client.CoreV1Api(api).list_namespace()


def test_versions_and_rights_are_told(cluster):
    assert client.VersionApi(cluster).get_code().git_version == "v1.37.1+muster"
    assert "scheduling.k8s.io" in [group.name for group in client.ApisApi(cluster).get_api_versions().groups]
    review = {"spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}}}
    assert client.AuthorizationV1Api(cluster).create_self_subject_access_review(review).status.allowed
    who = client.AuthenticationV1Api(cluster).create_self_subject_review({})
    assert who.status.user_info.username == "admin"
