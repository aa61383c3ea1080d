"""Updates and the three patches: good ones, bad ones, and ones that would make an object invalid."""

from __future__ import annotations

from tests.control_plane.comparison import objects
from tests.control_plane.comparison.objects import container
from tests.control_plane.comparison.steps import PATCHES, Step, at, create, delete, get, patch, titled, update

NAMESPACE = "cmp-patch"
_MAP = at("configmaps", NAMESPACE, "map")
_POD = at("pods", NAMESPACE, "pod")
_NODE = at("nodes", "", "cmp-patch-node")


def _json(name: str, path: str, *ops: dict[str, object], code: int = 200) -> Step:
    return patch(name, "json", path, list(ops), code=code)


def _op(op: str, path: str, *value: object) -> dict[str, object]:
    return {"op": op, "path": path, **({"value": value[0]} if value else {})}


_UPDATES = (
    create(
        "a map",
        at("configmaps", NAMESPACE),
        objects.config_map("map", {"a": "1"}),
        keep={"map.uid": "metadata.uid", "map.1": "metadata.resourceVersion"},
    ),
    update("update", _MAP, objects.config_map("map", {"a": "2"}), keep={"map.2": "metadata.resourceVersion"}),
    update("update with the same", _MAP, objects.config_map("map", {"a": "2"})),
    update("update by version", _MAP, objects.config_map("map", {"a": "3"}, resourceVersion="${map.2}")),
    update(
        "update by an old version", _MAP, objects.config_map("map", {"a": "4"}, resourceVersion="${map.1}"), code=409
    ),
    update("update by a version that is a word", _MAP, objects.config_map("map", resourceVersion="old"), code=500),
    update("update by uid", _MAP, objects.config_map("map", {"a": "5"}, uid="${map.uid}")),
    update("update, dry run", f"{_MAP}?dryRun=All", objects.config_map("map", {"a": "6"})),
    update("update, strict", f"{_MAP}?fieldValidation=Strict", {**objects.config_map("map"), "odd": 1}, code=400),
    update("update, warned", f"{_MAP}?fieldValidation=Warn", {**objects.config_map("map", {"a": "7"}), "odd": 1}),
    update("update without a namespace", _MAP, objects.config_map("map", {"a": "8"})),
    update("update in another namespace", _MAP, objects.config_map("map", namespace="elsewhere"), code=400),
    update("update to something invalid", _MAP, objects.config_map("map", {"a b": ""}), code=422),
    update(
        "update of what the server keeps",
        _MAP,
        objects.config_map("map", {"a": "9"}, creationTimestamp="2001-02-03T04:05:06Z", generation=7, selfLink="x"),
    ),
    update(
        "update of when it was deleted",
        _MAP,
        objects.config_map("map", {"a": "9"}, deletionTimestamp="2001-02-03T04:05:06Z"),
        code=422,
    ),
    update(
        "update by a manager",
        f"{_MAP}?fieldManager=third",
        objects.config_map("map", {"a": "9", "b": "1"}, labels={"x": "y"}),
    ),
    update("update that takes away", _MAP, objects.config_map("map", {"c": "1"})),
    update("update that makes it immutable", _MAP, {**objects.config_map("map", {"c": "1"}), "immutable": True}),
    update(
        "update of what is immutable", _MAP, {**objects.config_map("map", {"c": "2"}), "immutable": False}, code=422
    ),
    update(
        "update of its labels", _MAP, {**objects.config_map("map", {"c": "1"}, labels={"l": "m"}), "immutable": True}
    ),
    delete("the map goes", _MAP),
    create(
        "a pod",
        at("pods", NAMESPACE),
        objects.pod("pod", labels={"a": "b"}),
        keep={"pod.1": "metadata.resourceVersion"},
    ),
    update(
        "update of a pod's spec", _POD, objects.pod("pod", restartPolicy="Never", nodeSelector={"a": "b"}), code=422
    ),
    update("update of a pod's image", _POD, objects.pod("pod", containers=[container(image="other:2")]), code=200),
    update(
        "update of a pod's status",
        f"{_POD}/status",
        {**objects.pod("pod"), "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
    ),
    update(
        "update of a pod that says its status",
        _POD,
        {**objects.pod("pod", containers=[container(image="other:2")]), "status": {"phase": "Failed"}},
    ),
    update(
        "update of a status with an old version",
        f"{_POD}/status",
        {**objects.pod("pod"), "metadata": {"name": "pod", "resourceVersion": "${pod.1}"}},
        code=409,
    ),
    update("update of nobody's status", at("pods", NAMESPACE, "nobody", "status"), objects.pod("nobody"), code=404),
    update(
        "lease made by an update", at("leases", NAMESPACE, "new"), objects.lease("new", holderIdentity="me"), code=201
    ),
    update("service made by an update", at("services", NAMESPACE, "new"), objects.service("new"), code=201),
    update("event made by an update", at("events", NAMESPACE, "new"), objects.event("new", NAMESPACE), code=201),
    update("config map not made by an update", at("configmaps", NAMESPACE, "new"), objects.config_map("new"), code=404),
    update(
        "lease with a version made by an update",
        at("leases", NAMESPACE, "newer"),
        {**objects.lease("newer", holderIdentity="me"), "metadata": {"name": "newer", "resourceVersion": "5"}},
        code=201,
    ),
)

_JSON_PATCHES = (
    create(
        "another map",
        at("configmaps", NAMESPACE),
        objects.config_map("map", {"a": "1", "b": "2"}, annotations={"x/y": "3"}),
    ),
    _json("add", _MAP, _op("add", "/data/c", "3")),
    _json("add a label where none is", _MAP, _op("add", "/metadata/labels", {}), _op("add", "/metadata/labels/x", "y")),
    _json("replace", _MAP, _op("replace", "/data/a", "one")),
    _json("remove", _MAP, _op("remove", "/data/c")),
    _json("remove one with a slash", _MAP, _op("remove", "/metadata/annotations/x~1y")),
    _json("move", _MAP, {"op": "move", "from": "/data/b", "path": "/data/c"}),
    _json("copy", _MAP, {"op": "copy", "from": "/data/c", "path": "/data/d"}),
    _json("test that holds", _MAP, _op("test", "/data/a", "one"), _op("replace", "/data/a", "two")),
    _json("test that fails", _MAP, _op("test", "/data/a", "one"), _op("replace", "/data/a", "three"), code=422),
    _json("test of what is not there", _MAP, _op("test", "/data/zzz", "one"), code=422),
    _json("remove what is not there", _MAP, _op("remove", "/data/zzz"), code=422),
    _json("replace what is not there", _MAP, _op("replace", "/data/zzz", "x")),
    _json("add below what is not there", _MAP, _op("add", "/zzz/a", "x"), code=422),
    _json("an odd operation", _MAP, _op("twist", "/data/a", "x"), code=422),
    _json("an operation without a path", _MAP, {"op": "add", "value": 1}, code=422),
    patch("JSON patch that is an object", "json", _MAP, {"op": "add"}, code=400),
    patch("JSON patch that is none", "json", _MAP, "[{", code=400),
    _json("JSON patch of nothing", _MAP),
    _json("JSON patch to a wrong type", _MAP, _op("add", "/data/a", 5), code=422),
    _json("JSON patch to something invalid", _MAP, _op("add", "/data/a b", "5"), code=422),
    _json("JSON patch of the name", _MAP, _op("replace", "/metadata/name", "other"), code=400),
    _json("JSON patch of the uid", _MAP, _op("replace", "/metadata/uid", "other"), code=422),
    _json("JSON patch of the version", _MAP, _op("replace", "/metadata/resourceVersion", "1"), code=409),
    _json("JSON patch of the kind", _MAP, _op("replace", "/kind", "Other"), code=422),
    _json("JSON patch of a list", _POD, _op("replace", "/spec/containers/0/image", "third:3")),
    _json("JSON patch after the end of a list", _POD, _op("add", "/spec/containers/5", {}), code=422),
    _json(
        "JSON patch at the end of a list", _POD, _op("add", "/spec/tolerations/-", {"key": "k", "operator": "Exists"})
    ),
    _json("JSON patch of an unknown field", f"{_MAP}?fieldValidation=Strict", _op("add", "/odd", 1), code=422),
    _json("JSON patch of an unknown field, warned", f"{_MAP}?fieldValidation=Warn", _op("add", "/odd", 1)),
    _json("JSON patch, dry run", f"{_MAP}?dryRun=All", _op("add", "/data/dry", "x")),
    patch("too many operations", "json", _MAP, [_op("add", "/data/a", "x")] * 10001, code=413),
)


def _merge(name: str, path: str, body: object, *, code: int = 200) -> Step:
    return patch(name, "merge", path, body, code=code)


_MERGES = (
    _merge("merge", _MAP, {"data": {"m": "1"}, "metadata": {"annotations": {"n": "o"}}}),
    _merge("merge nulls", _MAP, {"data": {"m": None, "zzz": None}, "metadata": {"annotations": None}}),
    _merge("merge null for all", _MAP, {"data": None}),
    _merge("merge of nothing", _MAP, {}),
    _merge("merge to a wrong type", _MAP, {"data": ["x"]}, code=422),
    _merge("merge of a list", _MAP, [], code=400),
    _merge("merge that is no JSON", _MAP, "{", code=400),
    _merge("merge to something invalid", _MAP, {"data": {"a b": "c"}}, code=422),
    _merge("merge of an unknown field", f"{_MAP}?fieldValidation=Strict", {"odd": 1}, code=422),
    _merge("merge of an unknown field, warned", f"{_MAP}?fieldValidation=Warn", {"odd": 1, "data": {"w": "1"}}),
    _merge("merge twice a field, strict", f"{_MAP}?fieldValidation=Strict", '{"data":{"a":"1","a":"2"}}', code=422),
    _merge("merge of an old version", _MAP, {"metadata": {"resourceVersion": "1"}, "data": {"a": "1"}}, code=409),
    _merge("merge replaces a list", _POD, {"spec": {"containers": [{"name": "main", "image": "fourth:4"}]}}),
    _merge("merge that takes a container away", _POD, {"spec": {"containers": []}}, code=422),
    _merge("merge that adds a container", _POD, {"spec": {"containers": [container(), container("second")]}}, code=422),
    _merge("merge of a pod's spec", _POD, {"spec": {"nodeName": "n1"}}, code=422),
    _merge("merge of tolerations", _POD, {"spec": {"tolerations": []}}, code=422),
    _merge("merge of a deadline", _POD, {"spec": {"activeDeadlineSeconds": 50}}),
    _merge("merge of a longer deadline", _POD, {"spec": {"activeDeadlineSeconds": 500}}, code=422),
    _merge("merge of a name", _MAP, {"metadata": {"name": "other"}}, code=400),
    _merge("merge, dry run", f"{_MAP}?dryRun=All", {"data": {"dry": "x"}}),
    _merge("merge by a manager", f"{_MAP}?fieldManager=third", {"data": {"third": "x"}}),
    _merge("merge of a status", f"{_POD}/status", {"status": {"message": "hi"}, "metadata": {"labels": {"s": "t"}}}),
    _merge("merge of the status at the wrong place", _POD, {"status": {"message": "ho"}}),
    _merge(
        "merge with finalizers", _MAP, {"metadata": {"finalizers": ["example.com/a", "example.com/a", "example.com/b"]}}
    ),
    _merge("merge without finalizers", _MAP, {"metadata": {"finalizers": None}}),
)


def _strategic(name: str, path: str, body: object, *, code: int = 200) -> Step:
    return patch(name, "strategic", path, body, code=code)


def _in_spec(**fields: object) -> dict[str, object]:
    return {"spec": fields}


_TEMPLATE = {
    "spec": {
        "restartPolicy": "Never",
        "containers": [
            container(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], ports=[{"containerPort": 80}]),
            container("two"),
        ],
    }
}
_JOB = at("jobs", NAMESPACE, "job")
_SERVICE = at("services", NAMESPACE, "svc")
_STRATEGIC = (
    _strategic("strategic", _MAP, {"data": {"s": "1"}, "metadata": {"labels": {"s": "t"}}}),
    _strategic("strategic nulls", _MAP, {"data": {"s": None}}),
    _strategic("strategic merges containers", _POD, _in_spec(containers=[{"name": "main", "image": "fifth:5"}])),
    _strategic("strategic adds a container", _POD, _in_spec(containers=[{"name": "more", "image": "x"}]), code=422),
    _strategic("strategic without a key", _POD, _in_spec(containers=[{"image": "x"}]), code=500),
    _strategic("strategic to a wrong type", _POD, _in_spec(containers={"image": "x"}), code=422),
    _strategic("strategic that is a list", _POD, [], code=400),
    _strategic("strategic that is no JSON", _POD, "{", code=400),
    _strategic("strategic of an unknown field", f"{_POD}?fieldValidation=Strict", _in_spec(odd=1), code=422),
    _strategic("strategic of an unknown field, warned", f"{_POD}?fieldValidation=Warn", _in_spec(odd=1)),
    _strategic(
        "strategic adds conditions",
        f"{_POD}/status",
        {
            "status": {
                "conditions": [
                    {"type": "X", "status": "True"},
                    {"type": "Ready", "status": "False", "reason": "Because"},
                ]
            }
        },
    ),
    _strategic(
        "strategic removes a condition",
        f"{_POD}/status",
        {"status": {"conditions": [{"type": "X", "$patch": "delete"}]}},
    ),
    _strategic(
        "strategic replaces conditions",
        f"{_POD}/status",
        {"status": {"conditions": [{"$patch": "replace"}, {"type": "Y", "status": "True"}]}},
    ),
    _strategic(
        "strategic orders conditions",
        f"{_POD}/status",
        {
            "status": {
                "conditions": [{"type": "Z", "status": "True"}, {"type": "Y", "status": "False"}],
                "$setElementOrder/conditions": [{"type": "Z"}, {"type": "Y"}],
            }
        },
    ),
    _strategic("strategic with an odd directive", _POD, {"spec": {"$patch": "twist"}}, code=500),
    _strategic("strategic replaces a map", _POD, {"metadata": {"labels": {"$patch": "replace", "only": "one"}}}),
    _strategic("strategic deletes a map", _POD, {"metadata": {"labels": {"$patch": "delete"}}}),
    _strategic("strategic adds finalizers", _POD, {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}}),
    _strategic("strategic adds one finalizer", _POD, {"metadata": {"finalizers": ["example.com/c"]}}),
    _strategic(
        "strategic removes finalizers",
        _POD,
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a", "example.com/b", "example.com/c"]}},
    ),
    _strategic(
        "strategic adds owners",
        _POD,
        {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "u1"}]}},
    ),
    _strategic(
        "strategic adds another owner",
        _POD,
        {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "y", "uid": "u2"}]}},
    ),
    _strategic(
        "strategic removes an owner", _POD, {"metadata": {"ownerReferences": [{"uid": "u1", "$patch": "delete"}]}}
    ),
    _strategic("strategic of a metadata uid", _POD, {"metadata": {"uid": "other"}}, code=422),
    create("a job, suspended", at("jobs", NAMESPACE), objects.job("job", suspend=True, template=_TEMPLATE)),
    _strategic(
        "strategic of a suspended job",
        _JOB,
        {
            "spec": {
                "template": {"spec": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]}}
            }
        },
    ),
    _strategic(
        "strategic of a job's environment",
        _JOB,
        {"spec": {"template": {"spec": {"containers": [{"name": "main", "env": [{"name": "A", "value": "x"}]}]}}}},
        code=422,
    ),
    _strategic("strategic of a job's parallelism", _JOB, _in_spec(parallelism=3, suspend=False)),
    _strategic("strategic of a job's completions", _JOB, _in_spec(completions=3), code=422),
    _strategic("strategic of a job's selector", _JOB, _in_spec(selector={"matchLabels": {"a": "b"}}), code=422),
    _strategic(
        "strategic of a job's scheduling", _JOB, _in_spec(scheduling={"schedulingPolicy": {"basic": {}}}), code=422
    ),
    _strategic(
        "strategic of a job's status", f"{_JOB}/status", {"status": {"active": 1, "startTime": "2001-02-03T04:05:06Z"}}
    ),
    _strategic(
        "strategic of a job's status, bad",
        f"{_JOB}/status",
        {"status": {"active": -1, "conditions": [{"type": "Complete", "status": "True"}]}},
        code=422,
    ),
    create(
        "a gang job",
        at("jobs", NAMESPACE),
        objects.job("gang", parallelism=4, completions=4, scheduling={"schedulingPolicy": {"gang": {"minCount": 2}}}),
    ),
    _strategic(
        "strategic of a gang's minimum",
        at("jobs", NAMESPACE, "gang"),
        _in_spec(scheduling={"schedulingPolicy": {"gang": {"minCount": 3}}}),
    ),
    _merge(
        "merge that changes the policy",
        at("jobs", NAMESPACE, "gang"),
        {"spec": {"scheduling": {"schedulingPolicy": {"gang": None, "basic": {}}}}},
        code=422,
    ),
    _merge("merge without scheduling", at("jobs", NAMESPACE, "gang"), {"spec": {"scheduling": None}}, code=422),
    create("a service", at("services", NAMESPACE), objects.service("svc", ports=[{"name": "a", "port": 80}])),
    _strategic("strategic adds a port", _SERVICE, _in_spec(ports=[{"name": "b", "port": 81}])),
    _strategic("strategic removes a port", _SERVICE, _in_spec(ports=[{"port": 80, "$patch": "delete"}])),
    _strategic("strategic of a cluster address", _SERVICE, _in_spec(clusterIP="10.0.0.99"), code=422),
    create("a node", at("nodes"), objects.node("cmp-patch-node", taints=[{"key": "a", "effect": "NoSchedule"}])),
    _strategic("strategic adds a taint", _NODE, _in_spec(taints=[{"key": "b", "effect": "NoExecute"}])),
    _strategic("strategic cordons", _NODE, _in_spec(unschedulable=True)),
    _strategic("strategic uncordons", _NODE, _in_spec(unschedulable=None)),
    _strategic(
        "strategic of a node's status",
        f"{_NODE}/status",
        {"status": {"capacity": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]}},
    ),
    _strategic("strategic of a node's provider", _NODE, _in_spec(providerID="a://b")),
    _strategic("strategic of a node's other provider", _NODE, _in_spec(providerID="c://d"), code=422),
    delete("the node goes", _NODE),
    create("a group", at("podgroups", NAMESPACE), objects.group("grp")),
    _merge(
        "merge of a group's minimum",
        at("podgroups", NAMESPACE, "grp"),
        {"spec": {"schedulingPolicy": {"gang": {"minCount": 5}}}},
    ),
    _merge(
        "merge of a group's bad minimum",
        at("podgroups", NAMESPACE, "grp"),
        {"spec": {"schedulingPolicy": {"gang": {"minCount": -5}}}},
        code=422,
    ),
    _merge(
        "merge of a group's policy",
        at("podgroups", NAMESPACE, "grp"),
        {"spec": {"schedulingPolicy": {"gang": None, "basic": {}}}},
        code=422,
    ),
    _merge(
        "merge of what is fixed in a group",
        at("podgroups", NAMESPACE, "grp"),
        {
            "spec": {
                "priorityClassName": "x",
                "disruptionMode": {"single": None, "all": {}},
                "workloadRef": {"workloadName": "a", "templateName": "b"},
            }
        },
        code=422,
    ),
    _merge(
        "merge of a group's status at the wrong place",
        at("podgroups", NAMESPACE, "grp"),
        {"status": {"conditions": []}},
    ),
    _strategic(
        "strategic of a group's status",
        at("podgroups", NAMESPACE, "grp", "status"),
        {
            "status": {
                "conditions": [
                    {
                        "type": "PodGroupInitiallyScheduled",
                        "status": "True",
                        "reason": "Scheduled",
                        "message": "",
                        "lastTransitionTime": "2001-02-03T04:05:06Z",
                        "observedGeneration": 2,
                    }
                ]
            }
        },
    ),
    _strategic(
        "strategic of a group's bad status",
        at("podgroups", NAMESPACE, "grp", "status"),
        {"status": {"conditions": [{"type": "A b", "status": "Maybe"}]}},
        code=422,
    ),
    update(
        "update of a group's status without a version",
        at("podgroups", NAMESPACE, "grp", "status"),
        objects.group("grp"),
        code=422,
    ),
    create("a workload", at("workloads", NAMESPACE), objects.workload("wl")),
    _strategic(
        "strategic of a workload's minimum",
        at("workloads", NAMESPACE, "wl"),
        _in_spec(podGroupTemplates=[{"name": "workers", "schedulingPolicy": {"gang": {"minCount": 7}}}]),
    ),
    _strategic(
        "strategic adds a template",
        at("workloads", NAMESPACE, "wl"),
        _in_spec(podGroupTemplates=[objects.template("more")]),
        code=422,
    ),
    _merge("merge without templates", at("workloads", NAMESPACE, "wl"), {"spec": {"podGroupTemplates": []}}, code=422),
    _merge(
        "merge with a controller",
        at("workloads", NAMESPACE, "wl"),
        {"spec": {"controllerRef": {"kind": "Job", "name": "j"}}},
        code=422,
    ),
    get("a workload has no status", at("workloads", NAMESPACE, "wl", "status"), code=404),
    create("a secret", at("secrets", NAMESPACE), objects.secret("sec", type="Opaque", stringData={"a": "b"})),
    _merge("merge of a secret's type", at("secrets", NAMESPACE, "sec"), {"type": "other"}, code=422),
    _merge("merge of a secret's text", at("secrets", NAMESPACE, "sec"), {"stringData": {"c": "d"}}),
    create("a lease", at("leases", NAMESPACE), objects.lease("ls", holderIdentity="a", leaseTransitions=3)),
    _merge("merge of a lease", at("leases", NAMESPACE, "ls"), {"spec": {"holderIdentity": "b", "leaseTransitions": 2}}),
    _merge(
        "merge of a lease's holder",
        at("leases", NAMESPACE, "ls"),
        {"spec": {"holderIdentity": "b", "renewTime": "2001-02-03T04:05:06.000007Z"}},
    ),
    create("a budget", at("poddisruptionbudgets", NAMESPACE), objects.budget("bud", labels={"a": "b"}, minAvailable=1)),
    _merge("merge of a budget", at("poddisruptionbudgets", NAMESPACE, "bud"), {"spec": {"minAvailable": 2}}),
    _merge(
        "merge of a budget to both",
        at("poddisruptionbudgets", NAMESPACE, "bud"),
        {"spec": {"maxUnavailable": 2}},
        code=422,
    ),
    _merge(
        "merge of a budget's status",
        at("poddisruptionbudgets", NAMESPACE, "bud", "status"),
        {
            "status": {
                "disruptionsAllowed": 1,
                "currentHealthy": 2,
                "desiredHealthy": 1,
                "expectedPods": 2,
                "observedGeneration": 2,
            }
        },
    ),
    _merge("merge of an event", at("events", NAMESPACE, "new"), {"count": 2, "lastTimestamp": "2001-02-03T05:05:06Z"}),
    _merge(
        "merge of an event of the new group",
        at("events.events.k8s.io", NAMESPACE, "new"),
        {"deprecatedCount": 3},
        code=422,
    ),
    _merge("merge that takes the kind away", _POD, {"kind": None}),
    patch("strategic patch of another kind", "strategic", _POD, {"kind": "Other", "apiVersion": "other/v1"}),
    Step(
        name="patch of a binding",
        method="PATCH",
        path=f"{_POD}/binding",
        code=405,
        body={},
        content_type=PATCHES["merge"],
    ),
)

STEPS = titled(
    "patching",
    create("a namespace", at("namespaces"), objects.namespace(NAMESPACE)),
    *_UPDATES,
    *_JSON_PATCHES,
    *_MERGES,
    *_STRATEGIC,
)
