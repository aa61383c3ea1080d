"""Server-side apply: who owns what, conflicts, what happens to fields that are no longer said."""

from __future__ import annotations

from typing import Any

from tests.control_plane.comparison import objects
from tests.control_plane.comparison.objects import applied, container
from tests.control_plane.comparison.steps import Step, at, create, delete, get, patch, titled, update

NAMESPACE = "cmp-apply"


def _apply(
    name: str,
    plural: str,
    body: Any,
    *,
    by: str = "one",
    code: int = 200,
    sub: str = "",
    at_name: str = "",
    **query: object,
) -> Step:
    """By the name that the object has; `by` is the manager."""
    named = at_name or (body["metadata"]["name"] if isinstance(body, dict) else "map")
    query = {"fieldManager": by, **query} if by else query
    namespace = "" if plural == "nodes" else NAMESPACE
    return patch(name, "apply", at(plural, namespace, named, sub, **query), body, code=code)


def _map(**data: str) -> dict[str, Any]:
    return objects.config_map("map", data)


_MAPS = (
    _apply("create", "configmaps", _map(a="1", b="2"), code=201),
    _apply("the same again", "configmaps", _map(a="1", b="2")),
    _apply("without a manager", "configmaps", _map(a="1"), by="", code=422),
    _apply("a change of one's own", "configmaps", _map(a="2", b="2")),
    _apply("a conflict", "configmaps", _map(a="3"), by="two", code=409),
    _apply("the same value: both own it", "configmaps", _map(a="2", c="1"), by="two"),
    _apply("a change of what both own", "configmaps", _map(a="5", b="2"), code=409),
    _apply("by force", "configmaps", _map(a="5", b="2"), force="true"),
    _apply("two conflicts", "configmaps", _map(a="6", b="6", c="1"), by="three", code=409),
    _apply("two takes its own away", "configmaps", _map(), by="two"),
    _apply("one takes a field away", "configmaps", _map(a="5")),
    patch(
        "another changes it",
        "merge",
        at("configmaps", NAMESPACE, "map", fieldManager="editor"),
        {"data": {"a": "7", "e": "1"}},
    ),
    _apply("a conflict with an update", "configmaps", _map(a="8"), code=409),
    _apply("the value of the update", "configmaps", _map(a="7")),
    _apply("force against an update", "configmaps", _map(a="8"), force="true"),
    _apply("dry run", "configmaps", _map(a="9"), dryRun="All"),
    _apply("dry run of a new one", "configmaps", objects.config_map("new", {"a": "1"}), code=201, dryRun="All"),
    _apply(
        "YAML",
        "configmaps",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\n  labels: {l: m}\ndata:\n  a: '8'\n",
    ),
    _apply("YAML that is none", "configmaps", "a: b: c", code=400),
    _apply("an empty body", "configmaps", "", code=400),
    _apply("a list", "configmaps", "[]", code=400),
    _apply("an empty object", "configmaps", "{}", code=400),
    _apply("of another kind", "configmaps", {**_map(a="1"), "kind": "Secret"}, code=400),
    _apply("of another version", "configmaps", {**_map(a="1"), "apiVersion": "v2"}, code=400),
    _apply("of another name", "configmaps", objects.config_map("other"), at_name="map", code=400),
    _apply("of another namespace", "configmaps", objects.config_map("map", namespace="elsewhere"), code=400),
    _apply(
        "without a name",
        "configmaps",
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "8"}},
        at_name="map",
        code=400,
    ),
    _apply(
        "with managedFields",
        "configmaps",
        {**_map(a="8"), "metadata": {"name": "map", "managedFields": [{"manager": "x"}]}},
        code=400,
    ),
    _apply(
        "with an old version",
        "configmaps",
        {**_map(a="9"), "metadata": {"name": "map", "resourceVersion": "1"}},
        code=409,
    ),
    _apply("with another uid", "configmaps", {**_map(a="9"), "metadata": {"name": "map", "uid": "other"}}, code=422),
    _apply("new, with a uid", "configmaps", objects.config_map("with-uid", uid="other"), code=409),
    _apply("an unknown field, strict", "configmaps", {**_map(a="8"), "odd": 1}, code=500, fieldValidation="Strict"),
    _apply("an unknown field, warned", "configmaps", {**_map(a="8"), "odd": 1}, code=500, fieldValidation="Warn"),
    _apply("an unknown field, ignored", "configmaps", {**_map(a="8"), "odd": 1}, code=500, fieldValidation="Ignore"),
    _apply("a wrong type", "configmaps", {**_map(), "data": {"a": 1}}, code=500),
    _apply("a list for a map", "configmaps", {**_map(), "data": ["a"]}, code=500),
    _apply("something invalid", "configmaps", _map(**{"a b": "c"}), code=422),
    _apply("a null", "configmaps", {**_map(), "data": {"a": None}}, force="true"),
    _apply("no data", "configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"}}),
    patch(
        "in a namespace that is not there",
        "apply",
        at("configmaps", "cmp-nowhere", "map", fieldManager="one"),
        _map(),
        code=404,
    ),
    _apply("force that is a word", "configmaps", _map(a="1"), force="maybe"),
    _apply("a manager too long", "configmaps", _map(a="1"), by="m" * 129, code=422),
    patch(
        "force without apply", "merge", at("configmaps", NAMESPACE, "map", force="true"), {"data": {"z": "1"}}, code=422
    ),
    get("who owns what", at("configmaps", NAMESPACE, "map")),
    patch(
        "managedFields are cleared", "merge", at("configmaps", NAMESPACE, "map"), {"metadata": {"managedFields": [{}]}}
    ),
    _apply("after they were cleared", "configmaps", _map(a="1", e="5"), code=409),
    _apply("after they were cleared, by force", "configmaps", _map(a="1", e="5"), force="true"),
    update("update keeps owners", at("configmaps", NAMESPACE, "map", fieldManager="editor"), _map(a="1", e="6")),
    update(
        "update with bad managedFields",
        at("configmaps", NAMESPACE, "map"),
        {**_map(a="1"), "metadata": {"name": "map", "managedFields": [{"manager": "x", "operation": "Odd"}]}},
    ),
    delete("the map goes", at("configmaps", NAMESPACE, "map")),
)


def _pod(**spec: object) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec}


def _pod_meta(**metadata: object) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", **metadata}}


def _condition(kind: str, status: str = "True") -> dict[str, str]:
    return {"type": kind, "status": status}


_PODS = (
    _apply(
        "a pod",
        "pods",
        _pod(containers=[container(ports=[{"containerPort": 80}], env=[{"name": "A", "value": "1"}])]),
        code=201,
    ),
    _apply("labels by another", "pods", _pod_meta(labels={"two": "2"}), by="two"),
    _apply("labels by a third", "pods", _pod_meta(labels={"three": "3"}, annotations={"x": "y"}), by="three"),
    _apply("labels of the second change", "pods", _pod_meta(labels={"two-b": "2"}), by="two"),
    _apply("an image by another", "pods", _pod(containers=[{"name": "main", "image": "other:2"}]), by="two", code=409),
    _apply(
        "an image by another, by force",
        "pods",
        _pod(containers=[{"name": "main", "image": "other:2"}]),
        by="two",
        force="true",
    ),
    _apply("a container more", "pods", _pod(containers=[container(), container("more")]), code=422, force="true"),
    _apply("the same container twice", "pods", _pod(containers=[container(), container()]), code=500),
    _apply("a container without a name", "pods", _pod(containers=[{"image": "x"}]), code=422),
    _apply("finalizers of one", "pods", _pod_meta(finalizers=["example.com/a", "example.com/b"]), by="f1"),
    _apply("finalizers of another", "pods", _pod_meta(finalizers=["example.com/b", "example.com/c"]), by="f2"),
    _apply("finalizers of one go", "pods", _pod_meta(finalizers=["example.com/a"]), by="f1"),
    _apply("finalizers of another go", "pods", _pod_meta(), by="f2"),
    _apply("finalizers of one go all", "pods", _pod_meta(), by="f1"),
    _apply(
        "finalizers twice the same", "pods", _pod_meta(finalizers=["example.com/a", "example.com/a"]), by="f1", code=500
    ),
    _apply(
        "owners",
        "pods",
        _pod_meta(ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "u1"}]),
        by="o1",
    ),
    _apply(
        "owners of another",
        "pods",
        _pod_meta(ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "y", "uid": "u2"}]),
        by="o2",
    ),
    _apply("owners of one go", "pods", _pod_meta(), by="o1"),
    _apply("tolerations", "pods", _pod(tolerations=[{"key": "k", "operator": "Exists"}]), by="tolerant"),
    _apply(
        "a status",
        "pods",
        {**_pod_meta(), "status": {"phase": "Running", "conditions": [_condition("A")]}},
        by="kubelet",
        sub="status",
    ),
    _apply(
        "a status of another",
        "pods",
        {**_pod_meta(), "status": {"conditions": [_condition("B")]}},
        by="other",
        sub="status",
    ),
    _apply(
        "a status in conflict",
        "pods",
        {**_pod_meta(), "status": {"conditions": [_condition("A", "False")]}},
        by="other",
        sub="status",
        code=409,
    ),
    _apply("a status of another goes", "pods", {**_pod_meta(), "status": {}}, by="other", sub="status"),
    _apply(
        "a status with a spec", "pods", {**_pod(nodeName="n1"), "status": {"message": "m"}}, by="other", sub="status"
    ),
    _apply("a status at the wrong place", "pods", {**_pod_meta(), "status": {"reason": "Wrong"}}, by="wrong"),
    _apply(
        "a status of nobody",
        "pods",
        {**_pod_meta(), "metadata": {"name": "nobody"}, "status": {}},
        sub="status",
        code=404,
    ),
    get("who owns what of the pod", at("pods", NAMESPACE, "pod")),
    delete("the pod goes", at("pods", NAMESPACE, "pod")),
)


def _service(*ports: dict[str, Any], **spec: object) -> dict[str, Any]:
    return objects.service("svc", ports=list(ports), **spec)


_HTTP, _DNS = {"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}
_JOB = objects.job("job", parallelism=1)
_OTHERS = (
    _apply("a service", "services", _service(_HTTP, selector={"a": "b"}), code=201),
    _apply("a port of another", "services", applied(_service(), spec={"ports": [_DNS]}), by="two"),
    _apply("a port changes its name", "services", _service({"name": "web", "port": 80}, selector={"a": "b"})),
    _apply("a port changes its number", "services", _service({"name": "web", "port": 8080}, selector={"a": "b"})),
    _apply("a selector, whole", "services", applied(_service(), spec={"selector": {"c": "d"}}), by="two", code=409),
    _apply("the ports of one go", "services", applied(_service(), spec={"selector": {"a": "b"}})),
    _apply("a job", "jobs", _JOB, code=201),
    _apply("a job's parallelism", "jobs", applied(_JOB, spec={"parallelism": 5}), by="scaler", code=409),
    _apply("a job's parallelism, by force", "jobs", applied(_JOB, spec={"parallelism": 5}), by="scaler", force="true"),
    _apply("a job without it", "jobs", {**_JOB, "spec": {"template": _JOB["spec"]["template"]}}),
    _apply(
        "a job's template", "jobs", applied(_JOB, spec={"template": {"spec": {"nodeName": "n"}}}), by="scaler", code=422
    ),
    _apply("a job's status", "jobs", applied(_JOB, status={"active": 1}), by="controller", sub="status", code=200),
    _apply(
        "a node",
        "nodes",
        objects.node("cmp-apply-node", labels={"zone": "a"}, taints=[{"key": "k", "effect": "NoSchedule"}]),
        code=201,
    ),
    _apply(
        "taints of another",
        "nodes",
        objects.node("cmp-apply-node", taints=[{"key": "l", "effect": "NoExecute"}]),
        by="two",
        code=409,
    ),
    _apply(
        "a node's status",
        "nodes",
        applied(objects.node("cmp-apply-node"), status={"capacity": {"cpu": "4"}, "conditions": [_condition("Ready")]}),
        by="kubelet",
        sub="status",
    ),
    _apply(
        "a node's status again",
        "nodes",
        applied(objects.node("cmp-apply-node"), status={"capacity": {"cpu": "4000m"}}),
        by="kubelet",
        sub="status",
    ),
    delete("the node goes", at("nodes", "", "cmp-apply-node")),
    _apply("a group", "podgroups", objects.group("grp"), code=201),
    _apply("a group's minimum", "podgroups", objects.group("grp", minimum=3), by="two", code=409),
    _apply("a group's minimum, by its owner", "podgroups", objects.group("grp", minimum=3)),
    _apply(
        "a group's status",
        "podgroups",
        applied(
            objects.group("grp"),
            status={
                "conditions": [
                    {
                        "type": "PodGroupInitiallyScheduled",
                        "status": "True",
                        "reason": "Scheduled",
                        "message": "m",
                        "lastTransitionTime": "2001-02-03T04:05:06Z",
                    }
                ]
            },
        ),
        by="scheduler",
        sub="status",
    ),
    _apply("a group without a policy", "podgroups", applied(objects.group("grp"), spec={}), code=422),
    _apply(
        "a workload",
        "workloads",
        objects.workload("wl", templates=[objects.template("a"), objects.template("b")]),
        code=201,
    ),
    _apply(
        "a workload's template",
        "workloads",
        objects.workload("wl", templates=[{"name": "b", "schedulingPolicy": {"gang": {"minCount": 4}}}]),
        by="two",
        force="true",
    ),
    _apply(
        "a workload without a template",
        "workloads",
        objects.workload("wl", templates=[objects.template("a")]),
        code=200,
    ),
    _apply(
        "a lease",
        "leases",
        objects.lease("lead", holderIdentity="me", renewTime="2001-02-03T04:05:06.000000Z"),
        code=201,
    ),
    _apply(
        "a lease, again", "leases", objects.lease("lead", holderIdentity="me", renewTime="2001-02-03T04:05:07.000000Z")
    ),
    _apply("a secret", "secrets", objects.secret("sec", {"a": "eA=="}), code=201),
    _apply("a secret's text", "secrets", applied(objects.secret("sec"), stringData={"b": "y"}), by="two"),
    _apply("a budget", "poddisruptionbudgets", objects.budget("bud", labels={"a": "b"}, minAvailable=1), code=201),
    _apply(
        "a budget, other labels",
        "poddisruptionbudgets",
        objects.budget("bud", labels={"c": "d"}, minAvailable=1),
        code=200,
    ),
    create(
        "made by create", at("configmaps", NAMESPACE, fieldManager="creator"), objects.config_map("made", {"a": "1"})
    ),
    _apply("applied over a create", "configmaps", objects.config_map("made", {"a": "2"}), code=409),
    _apply("applied over a create, other field", "configmaps", objects.config_map("made", {"b": "2"})),
    patch(
        "JSON patch of what was applied",
        "json",
        at("configmaps", NAMESPACE, "made", fieldManager="patcher"),
        [{"op": "remove", "path": "/data/b"}],
    ),
    _apply("applied again", "configmaps", objects.config_map("made", {"b": "2"})),
    get("who owns what at the end", at("configmaps", NAMESPACE, "made")),
)

STEPS = titled(
    "applying", create("a namespace", at("namespaces"), objects.namespace(NAMESPACE)), *_MAPS, *_PODS, *_OTHERS
)
