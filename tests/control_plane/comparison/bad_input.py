"""Bodies and requests that no client should send, and what they are told."""

from __future__ import annotations

import json

from tests.control_plane.comparison import objects
from tests.control_plane.comparison.steps import (
    JSON,
    METADATA,
    PATCHES,
    TABLE,
    YAML,
    Step,
    at,
    create,
    get,
    patch,
    titled,
    update,
)

NAMESPACE = "cmp-bad"
_MAPS = at("configmaps", NAMESPACE)
_PODS = at("pods", NAMESPACE)
_LIMIT = 3 << 20


def _maps(**query: object) -> str:
    return at("configmaps", NAMESPACE, **query)


def _raw(name: str, body: str | bytes, *, code: int = 400, path: str = _MAPS, content_type: str = JSON) -> Step:
    return create(name, path, body, code=code, content_type=content_type)


_TWICE = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice"},"data":{"a":"1","a":"2"},"data":{"b":"3"}}'
_TWICE_YAML = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: twice\ndata:\n  a: '1'\n  a: '2'\n"
_GOOD_YAML = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: of-yaml\ndata:\n  a: 'yes'\n  # comment\n  b: |\n    c\n"
)
_ODD_POD = {
    **objects.pod("odd"),
    "spec": {
        "containers": [{**objects.container(), "imagePullPolice": "Always", "resources": {"request": {"cpu": "1"}}}],
        "nodename": "n1",
    },
}

_BODIES = (
    _raw("an empty body", b""),
    _raw("not JSON", "hello"),
    _raw("JSON that ends early", '{"apiVersion":"v1","kind":"ConfigMap"'),
    _raw("JSON with a comma too many", '{"apiVersion":"v1","kind":"ConfigMap",}'),
    _raw("a list", "[]"),
    _raw("null", "null", code=422),
    _raw("a string", '"x"'),
    _raw("an empty object", "{}", code=422),
    _raw("no kind", '{"apiVersion":"v1","metadata":{"name":"no-kind"}}', code=201),
    _raw("no apiVersion", '{"kind":"ConfigMap","metadata":{"name":"no-version"}}', code=201),
    _raw("kind is a number", '{"apiVersion":"v1","kind":7,"metadata":{"name":"a"}}'),
    _raw("metadata is a list", '{"apiVersion":"v1","kind":"ConfigMap","metadata":[]}'),
    _raw("metadata is null", '{"apiVersion":"v1","kind":"ConfigMap","metadata":null}', code=422),
    _raw("data with numbers", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":1}}'),
    _raw("binary data that is no base64", json.dumps({**objects.config_map("a"), "binaryData": {"a": "!!"}})),
    _raw(
        "bytes that are not UTF-8", b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"\xff\xfe"}}', code=422
    ),
    _raw("two documents", json.dumps(objects.config_map("one")) + json.dumps(objects.config_map("two"))),
    _raw("YAML", _GOOD_YAML, code=201, content_type=YAML),
    _raw("YAML that is none", "a: b: c\n\t- d", content_type=YAML),
    _raw("YAML of a scalar", "hello", content_type=YAML),
    _raw("YAML with a tab", "apiVersion: v1\n\tkind: ConfigMap\n", content_type=YAML),
    _raw("JSON as YAML", json.dumps(objects.config_map("json-as-yaml")), code=201, content_type=YAML),
    _raw("YAML as JSON", _GOOD_YAML),
    _raw("fields twice, Ignore", _TWICE, code=201, path=_maps(dryRun="All", fieldValidation="Ignore")),
    _raw("fields twice, Warn", _TWICE, code=201, path=_maps(dryRun="All", fieldValidation="Warn")),
    _raw("fields twice, Strict", _TWICE, path=_maps(dryRun="All", fieldValidation="Strict")),
    _raw(
        "fields twice in YAML, Warn",
        _TWICE_YAML,
        code=201,
        path=_maps(dryRun="All", fieldValidation="Warn"),
        content_type=YAML,
    ),
    _raw("fields twice in YAML, Strict", _TWICE_YAML, path=_maps(fieldValidation="Strict"), content_type=YAML),
    create("unknown fields deep down, Warn", at("pods", NAMESPACE, dryRun="All", fieldValidation="Warn"), _ODD_POD),
    create(
        "unknown fields deep down, Strict",
        at("pods", NAMESPACE, dryRun="All", fieldValidation="Strict"),
        _ODD_POD,
        code=400,
    ),
    create(
        "field in other letters, Strict",
        _maps(dryRun="All", fieldValidation="Strict"),
        {**objects.config_map("letters"), "Data": {"a": "b"}},
        code=400,
    ),
    create("fieldValidation nobody knows", _maps(fieldValidation="Maybe"), objects.config_map("a"), code=422),
    create("dryRun nobody knows", _maps(dryRun="Some"), objects.config_map("a"), code=422),
    create("fieldManager too long", _maps(fieldManager="m" * 129), objects.config_map("a"), code=422),
    create("fieldManager unprintable", _maps(fieldManager="a\u0007b"), objects.config_map("a"), code=422),
)


def _pod_field(name: str, spec: object, *, code: int = 400) -> Step:
    body = {**objects.pod("typed"), "spec": spec}
    return create(name, at("pods", NAMESPACE, dryRun="All"), body, code=code)


_TYPES = (
    _pod_field("spec is a string", "x"),
    _pod_field("containers is an object", {"containers": {}}),
    _pod_field("a container is a string", {"containers": ["x"]}),
    _pod_field("a string is a number", {"containers": [{"name": 1}]}),
    _pod_field("a number is a string", {"containers": [objects.container()], "priority": "high"}),
    _pod_field("a number is too large", {"containers": [objects.container()], "priority": 99999999999}),
    _pod_field("a number has a fraction", {"containers": [objects.container()], "priority": 1.5}),
    _pod_field("a flag is a string", {"containers": [objects.container()], "hostNetwork": "true"}),
    _pod_field("a quantity is a word", {"containers": [objects.container(resources={"requests": {"cpu": "much"}})]}),
    _pod_field("a quantity is a list", {"containers": [objects.container(resources={"requests": {"cpu": []}})]}),
    _pod_field(
        "a quantity is a number",
        {"containers": [objects.container(resources={"requests": {"cpu": 0.5, "memory": 1048576}})]},
        code=201,
    ),
    _pod_field("null where a list is", {"containers": None}, code=422),
    create("a time is a word", _MAPS, objects.config_map("a", creationTimestamp="yesterday"), code=400),
    create("labels with a null", _MAPS, objects.config_map("null-label", labels={"a": None}), code=201),
    create("annotations with a number", _MAPS, objects.config_map("a", annotations={"a": 1}), code=400),
    create("job with parallelism as a word", at("jobs", NAMESPACE), objects.job("typed", parallelism="two"), code=400),
    create(
        "group with a word for a count", at("podgroups", NAMESPACE), objects.group("typed", minimum="two"), code=400
    ),
)

_PLACES = (
    create("in another namespace", _MAPS, objects.config_map("a", namespace="elsewhere"), code=400),
    create("in a namespace that is not there", at("configmaps", "cmp-nowhere"), objects.config_map("a"), code=404),
    create("in all namespaces", at("configmaps"), objects.config_map("a"), code=405),
    create(
        "node with a namespace",
        at("nodes", dryRun="All"),
        {**objects.node("n"), "metadata": {"name": "n", "namespace": "x"}},
    ),
    create("of a kind that is not served", "/api/v1/namespaces/default/widgets", {}, code=404),
    create(
        "generated name",
        _MAPS,
        {**objects.config_map(""), "metadata": {"generateName": "made-"}},
        keep={"made": "metadata.name"},
    ),
    get("read by the generated name", at("configmaps", NAMESPACE, "${made}")),
    create("name wins over generateName", _MAPS, {**objects.config_map("named", generateName="made-")}),
    create("bad generateName", _MAPS, {**objects.config_map(""), "metadata": {"generateName": "Bad_"}}, code=422),
    create(
        "long generateName is cut",
        at("configmaps", NAMESPACE, dryRun="All"),
        {**objects.config_map(""), "metadata": {"generateName": "g" * 253}},
    ),
    create("uid is given", at("configmaps", NAMESPACE, dryRun="All"), objects.config_map("with-uid", uid="mine")),
    create("version is given", _MAPS, objects.config_map("a", resourceVersion="7"), code=500),
    # one of each: the real server looks at the entries of a map in an order of chance
    create("long label", _MAPS, objects.config_map("a", labels={"a": "v" * 64}), code=422),
    create("long name of a label", _MAPS, objects.config_map("a", labels={"k" * 64: "v"}), code=422),
    create("label with two slashes", _MAPS, objects.config_map("a", labels={"x/y/z": ""}), code=422),
    create("long annotations", _MAPS, objects.config_map("a", annotations={"a": "v" * (257 << 10)}), code=422),
    create(
        "bad owners",
        _MAPS,
        objects.config_map(
            "a",
            ownerReferences=[
                {"apiVersion": "v1", "kind": "Pod", "name": "", "uid": ""},
                {"apiVersion": "", "kind": "", "name": "x", "uid": "y", "controller": True},
                {"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "y", "controller": True},
            ],
        ),
        code=422,
    ),
    create(
        "the same owner twice",
        _maps(dryRun="All"),
        objects.config_map("a", ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y"}] * 2),
    ),
    create("bad and unknown", _maps(fieldValidation="Warn"), {**objects.config_map("Bad_"), "odd": 1}, code=422),
    create("bad finalizers", _MAPS, objects.config_map("a", finalizers=["nope", "a b/c", "x/y/z"]), code=422),
    create(
        "both finalizers of deletion",
        _MAPS,
        objects.config_map("a", finalizers=["orphan", "foregroundDeletion"]),
        code=422,
    ),
)


def _request(name: str, method: str, path: str, *, code: int, accept: str = JSON, body: object = None) -> Step:
    return Step(name=name, method=method, path=path, code=code, accept=accept, body=body)


_REQUESTS = (
    create("a body of another type", _MAPS, "x", code=415, content_type="text/plain"),
    create("a body of no type", _maps(dryRun="All"), objects.config_map("untyped"), content_type=""),
    create("a charset", _maps(dryRun="All"), objects.config_map("a"), content_type="application/json; charset=utf-8"),
    Step(name="a patch of no known type", method="PATCH", path=at("configmaps", NAMESPACE, "named"), code=415, body={}),
    get("an answer nobody can give", _MAPS, code=406, accept="text/html"),
    get("an answer of any type", at("configmaps", NAMESPACE, "named"), accept="*/*"),
    get(
        "an answer of one of two types",
        at("configmaps", NAMESPACE, "named"),
        accept="text/html, application/yaml;q=0.9",
    ),
    get(
        "a table of another version",
        at("configmaps", NAMESPACE, "named"),
        code=406,
        accept=TABLE.replace("v=v1", "v=v7"),
    ),
    get(
        "a table, or else JSON", at("configmaps", NAMESPACE, "named"), accept=f"{TABLE.replace('v=v1', 'v=v7')}, {JSON}"
    ),
    create("created, shown as a table", _MAPS, objects.config_map("as-table", {"a": "b"}), accept=TABLE),
    create("created, shown as metadata", _MAPS, objects.config_map("as-metadata"), accept=METADATA),
    create("created, shown as YAML", _MAPS, objects.config_map("as-yaml", {"a": "b"}), accept=YAML),
    _request(
        "post to an object", "POST", at("configmaps", NAMESPACE, "named"), code=405, body=objects.config_map("named")
    ),
    _request("put to a list", "PUT", _MAPS, code=405, body=objects.config_map("named")),
    _request("patch of a list", "PATCH", _MAPS, code=405, body={}),
    _request("a method nobody serves", "SEARCH", _MAPS, code=405),
    _request("delete of a status", "DELETE", at("pods", NAMESPACE, "x", "status"), code=405),
    _request("get of a binding", "GET", at("pods", NAMESPACE, "x", "binding"), code=405),
    _request("head", "HEAD", at("configmaps", NAMESPACE, "named"), code=405),
    get("a subresource nobody knows", at("configmaps", NAMESPACE, "named", "widgets"), code=404),
    get("a deeper path", f"{at('configmaps', NAMESPACE, 'named')}/a/b", code=404),
    get("an unknown path", "/hello", code=404),
    get("an unknown group", "/apis/example.com/v1/widgets", code=404),
    get("an unknown version", "/apis/batch/v7/jobs", code=404),
    get("an unknown kind of a group", "/apis/batch/v1/widgets", code=404),
    get("nodes of a namespace", "/api/v1/namespaces/default/nodes", code=404),
    get("one object of all namespaces", "/api/v1/configmaps/named", code=404),
    Step(name="a token nobody gave out", method="GET", path=_MAPS, code=401, token="wrong"),
)

_BIG = b" " * _LIMIT + json.dumps(objects.config_map("big")).encode()
_LARGE = (
    create("body over 3 MB", _MAPS, _BIG, code=413),
    Step(name="update over 3 MB", method="PUT", path=at("configmaps", NAMESPACE, "named"), code=413, body=_BIG),
    Step(
        name="patch over 3 MB",
        method="PATCH",
        path=at("configmaps", NAMESPACE, "named"),
        code=413,
        body=_BIG,
        content_type=PATCHES["merge"],
    ),
    create("config map over 1 MB", _MAPS, objects.config_map("big", {"a": "x" * (1 << 20), "b": "y"}), code=422),
    create(
        "secret over 1 MB",
        at("secrets", NAMESPACE),
        objects.secret("big", stringData={"a": "x" * (1 << 20) + "y"}),
        code=422,
    ),
    create("20 MB", _MAPS, b" " * (20 << 20), code=413),
    get("and the server lives on", at("configmaps", NAMESPACE, "named")),
)

STEPS = titled(
    "bad input",
    create("a namespace", at("namespaces"), objects.namespace(NAMESPACE)),
    *_BODIES,
    *_TYPES,
    *_PLACES,
    *_REQUESTS,
    *_LARGE,
    update(
        "a name that is not the object's", at("configmaps", NAMESPACE, "named"), objects.config_map("other"), code=400
    ),
    update("what is not there", at("configmaps", NAMESPACE, "nobody"), objects.config_map("nobody"), code=404),
    patch("patch what is not there", "merge", at("configmaps", NAMESPACE, "nobody"), {}, code=404),
)
