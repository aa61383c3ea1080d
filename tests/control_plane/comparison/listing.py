"""Lists: selectors, pages, versions, tables."""

from __future__ import annotations

import base64

from tests.control_plane.comparison import objects
from tests.control_plane.comparison.steps import (
    JSON,
    METADATA_LIST,
    TABLE,
    YAML,
    Step,
    at,
    create,
    delete,
    get,
    patch,
    titled,
    update,
)

NAMESPACE = "cmp-list"
OTHER = "cmp-list-2"
_TOKEN = base64.urlsafe_b64encode(b'{"v":"meta.k8s.io/v7","rv":5,"start":"a"}').decode().rstrip("=")


def _pods(name: str, *, code: int = 200, accept: str = JSON, **query: object) -> Step:
    return get(name, at("pods", NAMESPACE, **query), code=code, accept=accept)


def _labels(selector: str, *, code: int = 200) -> Step:
    return _pods(f"labels {selector}", code=code, accept=METADATA_LIST, labelSelector=selector)


def _fields(selector: str, *, code: int = 200) -> Step:
    return _pods(f"fields {selector}", code=code, accept=METADATA_LIST, fieldSelector=selector)


_MADE = (
    create("a namespace", at("namespaces"), objects.namespace(NAMESPACE)),
    create("a second one", at("namespaces"), objects.namespace(OTHER)),
    create("pod a", at("pods", NAMESPACE), objects.pod("a", labels={"app": "x", "tier": "front"})),
    create("pod b", at("pods", NAMESPACE), objects.pod("b", labels={"app": "x", "tier": "back"}, nodeName="n1")),
    create(
        "pod c",
        at("pods", NAMESPACE),
        objects.pod("c", labels={"app": "y"}, nodeName="n2", schedulerName="muster", restartPolicy="Never"),
        keep={"list.version": "metadata.resourceVersion"},
    ),
    create("pod d", at("pods", NAMESPACE), objects.pod("d", hostNetwork=True)),
    create("pod e elsewhere", at("pods", OTHER), objects.pod("e", labels={"app": "x"})),
    patch(
        "pod b runs",
        "merge",
        at("pods", NAMESPACE, "b", "status"),
        {"status": {"phase": "Running", "podIP": "10.9.8.7", "podIPs": [{"ip": "10.9.8.7"}]}},
    ),
)

_SELECTED = (
    _labels("app=x"),
    _labels("app==x"),
    _labels("app!=x"),
    _labels("app in (x,y)"),
    _labels("app notin (x)"),
    _labels("tier"),
    _labels("!tier"),
    _labels("app=x,tier!=front"),
    _labels("app in (x), tier"),
    _labels("app=", code=200),
    _labels("a b", code=400),
    _labels("app in x", code=400),
    _labels("app in (", code=400),
    _labels("=x", code=400),
    _labels("app=a b", code=400),
    _labels("-app=x", code=400),
    _labels("app=" + "v" * 64, code=400),
    _labels("app>5"),
    _labels("app>x", code=400),
    _fields("metadata.name=a"),
    _fields("metadata.name!=a"),
    _fields("metadata.namespace=cmp-list"),
    _fields("spec.nodeName=n1"),
    _fields("spec.nodeName="),
    _fields("status.phase=Running"),
    _fields("status.phase!=Running,spec.nodeName!="),
    _fields("spec.schedulerName=muster"),
    _fields("spec.restartPolicy=Never"),
    _fields("spec.hostNetwork=true"),
    _fields("status.podIP=10.9.8.7"),
    _fields("spec.priority=5", code=400),
    _fields("metadata.name", code=400),
    _fields("metadata.name in (a)", code=400),
    get("all namespaces", at("pods", labelSelector="app=x"), accept=METADATA_LIST),
    get("fields and labels", at("pods", fieldSelector="spec.nodeName=", labelSelector="app"), accept=METADATA_LIST),
    get("nodes by unschedulable", at("nodes", fieldSelector="spec.unschedulable=true")),
    get("namespaces by phase", at("namespaces", fieldSelector="status.phase=Active,metadata.name=cmp-list")),
    get("jobs by success", at("jobs", NAMESPACE, fieldSelector="status.successful=1")),
    get("secrets by type", at("secrets", NAMESPACE, fieldSelector="type=Opaque")),
    get("services by type", at("services", NAMESPACE, fieldSelector="spec.type=ClusterIP")),
    get("events by object", at("events", NAMESPACE, fieldSelector="involvedObject.name=a,reason=x,type=Normal")),
    get("new events by object", at("events.events.k8s.io", NAMESPACE, fieldSelector="regarding.name=a,reason=x")),
    get("leases by holder", at("leases", NAMESPACE, fieldSelector="spec.holderIdentity=a"), code=400),
    get("groups by policy", at("podgroups", NAMESPACE, fieldSelector="spec.policy=a"), code=400),
)


def _page(name: str, token: str, *, code: int = 200, keep: str = "", **query: object) -> Step:
    path = at("pods", NAMESPACE, **query) + (f"&continue={token}" if token else "")
    return get(name, path, code=code, accept=METADATA_LIST, keep={keep: "metadata.continue"} if keep else {})


_PAGES = (
    _page("first page", "", limit=2, keep="page.2"),
    create("meanwhile a pod comes", at("pods", NAMESPACE), objects.pod("bb")),
    _page("second page", "${page.2}", limit=2),
    _page("second page of one", "${page.2}", limit=1, keep="page.3"),
    _page("last page", "${page.3}", limit=500),
    _page("first page of some", "", limit=1, labelSelector="app=x", keep="page.x"),
    _page("second page of some", "${page.x}", limit=1, labelSelector="app=x"),
    _page("a page of all", "", limit=500),
    _page("a page of nothing", "", limit=0),
    _page("a negative page", "", limit=-1),
    _page("a page of a word", "", limit="many", code=400),
    _page("a page of too many", "", limit=2**63, code=400),
    _page("a page of a number with a space", "", limit=" 1", code=400),
    _page("a page of a number as Python writes it", "", limit="1_0", code=400),
    _page("a list that may take a word", "", timeoutSeconds="long", code=400),
    _page("a token that is none", "x", limit=2, code=400),
    _page("a token that is no base64", "%21%21", limit=2, code=400),
    _page("a token of another version", _TOKEN, limit=2, code=400),
    _page("a token with a version", "${page.2}", limit=2, resourceVersion="5", code=400),
    get(
        "first page of all namespaces",
        at("pods", labelSelector="app", limit=3),
        accept=METADATA_LIST,
        keep={"page.all": "metadata.continue"},
    ),
    get(
        "second page of all namespaces",
        at("pods", labelSelector="app", limit=3) + "&continue=${page.all}",
        accept=METADATA_LIST,
    ),
    _pods("at a version", accept=METADATA_LIST, resourceVersion="${list.version}", resourceVersionMatch="Exact"),
    _pods(
        "not older than a version",
        accept=METADATA_LIST,
        resourceVersion="${list.version}",
        resourceVersionMatch="NotOlderThan",
    ),
    _pods("at any version", accept=METADATA_LIST, resourceVersion="0"),
    _pods("from a version", accept=METADATA_LIST, resourceVersion="${list.version}"),
    _pods("first page at a version", accept=METADATA_LIST, resourceVersion="${list.version}", limit=1),
    _pods("a match without a version", code=422, resourceVersionMatch="Exact"),
    _pods("a match nobody knows", code=422, resourceVersionMatch="Odd", resourceVersion="5"),
    _pods("exactly any version", code=422, resourceVersionMatch="Exact", resourceVersion="0"),
    _pods("a version that is a word", code=400, resourceVersion="new"),
    _pods("a version that is to come", code=504, resourceVersion="900000000000000000"),
    _pods("initial events without a watch", code=422, sendInitialEvents="true", resourceVersionMatch="NotOlderThan"),
    get("one at a version to come", at("pods", NAMESPACE, "a", resourceVersion="900000000000000000"), code=504),
    get("one at any version", at("pods", NAMESPACE, "a", resourceVersion="0")),
)

_FORMS = (
    _pods("as they are"),
    _pods("as YAML", accept=YAML, limit=1),
    _pods("as a table", accept=TABLE),
    _pods("as a table with objects", accept=TABLE, includeObject="Object", labelSelector="app"),
    _pods("as a table without objects", accept=TABLE, includeObject="None"),
    _pods("as a table with something", code=400, accept=TABLE, includeObject="Odd"),
    _pods("as a table, a page", accept=TABLE, limit=1),
    _pods("nothing, as a table", accept=TABLE, labelSelector="app=nobody"),
    _pods("nothing", labelSelector="app=nobody"),
    get("in a namespace that is not there", at("pods", "cmp-nowhere")),
    get("one, as a list", at("pods", NAMESPACE, "a"), code=406, accept=METADATA_LIST),
    get(
        "a list, as one",
        at("pods", NAMESPACE),
        code=406,
        accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    ),
    get("services, as a table", at("services", "default"), accept=TABLE),
    get("namespaces, as a table", at("namespaces", labelSelector="kubernetes.io/metadata.name=cmp-list"), accept=TABLE),
    get("classes, as a table", at("priorityclasses"), accept=TABLE),
    get("classes", at("priorityclasses")),
    get("the namespace default", at("namespaces", "", "default")),
)

_PHASES = {
    "waits": {
        "containerStatuses": [
            {
                "name": "main",
                "ready": False,
                "restartCount": 0,
                "image": "i",
                "imageID": "",
                "state": {"waiting": {"reason": "ContainerCreating"}},
            }
        ]
    },
    "runs": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
        "podIP": "10.1.2.3",
        "containerStatuses": [
            {
                "name": "main",
                "ready": True,
                "restartCount": 2,
                "image": "i",
                "imageID": "",
                "state": {"running": {"startedAt": "2001-02-03T04:05:06Z"}},
                "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2001-02-03T04:05:05Z"}},
            }
        ],
    },
    "failed": {"phase": "Failed", "reason": "OutOfcpu", "message": "Node didn't have enough resource: cpu"},
    "ended": {
        "phase": "Succeeded",
        "containerStatuses": [
            {
                "name": "main",
                "ready": False,
                "restartCount": 0,
                "image": "i",
                "imageID": "",
                "state": {"terminated": {"exitCode": 0, "reason": "Completed"}},
            }
        ],
    },
    "gated": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
}
_TABLES = (
    *(
        step
        for name, status in _PHASES.items()
        for step in (
            create(f"pod that {name}", at("pods", OTHER), objects.pod(name, nodeName="n1", labels={"shown": "yes"})),
            patch(f"pod that {name}, its status", "strategic", at("pods", OTHER, name, "status"), {"status": status}),
        )
    ),
    get("pods in all states, as a table", at("pods", OTHER, labelSelector="shown"), accept=TABLE),
    create(
        "a node",
        at("nodes"),
        objects.node("cmp-list-node", labels={"node-role.kubernetes.io/gpu": "", "shown": "yes"}, unschedulable=True),
    ),
    patch(
        "the node's status",
        "merge",
        at("nodes", "", "cmp-list-node", "status"),
        {
            "status": {
                "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
                "addresses": [{"type": "InternalIP", "address": "10.3.2.1"}],
                "nodeInfo": {
                    "kubeletVersion": "v1.37.1",
                    "osImage": "Linux",
                    "kernelVersion": "6",
                    "containerRuntimeVersion": "c://1",
                    "machineID": "",
                    "systemUUID": "",
                    "bootID": "",
                    "kubeProxyVersion": "",
                    "operatingSystem": "linux",
                    "architecture": "amd64",
                },
            }
        },
    ),
    get("nodes, as a table", at("nodes", labelSelector="shown"), accept=TABLE),
    get("nodes", at("nodes", labelSelector="shown")),
    create(
        "a service",
        at("services", OTHER),
        objects.service(
            "web",
            type="NodePort",
            selector={"a": "b"},
            ports=[{"port": 80, "nodePort": 30080, "name": "http"}, {"port": 53, "protocol": "UDP", "name": "dns"}],
        ),
    ),
    get("services with ports, as a table", at("services", OTHER), accept=TABLE),
    create("a job", at("jobs", OTHER), objects.job("work", completions=3, parallelism=2)),
    patch(
        "the job's status",
        "merge",
        at("jobs", OTHER, "work", "status"),
        {"status": {"succeeded": 1, "active": 2, "startTime": "2001-02-03T04:05:06Z"}},
        code=200,
    ),
    get("jobs, as a table", at("jobs", OTHER), accept=TABLE),
    create("a lease", at("leases", OTHER), objects.lease("lead", holderIdentity="me")),
    get("leases, as a table", at("leases", OTHER), accept=TABLE),
    create(
        "a budget", at("poddisruptionbudgets", OTHER), objects.budget("few", labels={"a": "b"}, maxUnavailable="25%")
    ),
    get("budgets, as a table", at("poddisruptionbudgets", OTHER), accept=TABLE),
    create(
        "a group",
        at("podgroups", OTHER),
        objects.group("train", workloadRef={"workloadName": "w", "templateName": "t"}),
    ),
    patch(
        "the group's status",
        "merge",
        at("podgroups", OTHER, "train", "status"),
        {
            "status": {
                "conditions": [
                    {
                        "type": "PodGroupInitiallyScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "no room",
                        "lastTransitionTime": "2001-02-03T04:05:06Z",
                    }
                ]
            }
        },
    ),
    get("groups, as a table", at("podgroups", OTHER), accept=TABLE),
    create("an event", at("events", OTHER), objects.event("said", OTHER)),
    create("a new event", at("events.events.k8s.io", OTHER), objects.new_event("said-too", OTHER)),
    get("events, as a table", at("events", OTHER), accept=TABLE),
    get("events", at("events", OTHER)),
    get("new events", at("events.events.k8s.io", OTHER)),
    get("new events, as a table", at("events.events.k8s.io", OTHER), accept=TABLE),
    get("old event in the new group", at("events.events.k8s.io", OTHER, "said")),
    get("new event in the old group", at("events", OTHER, "said-too")),
    get(
        "classes of one name, as a table",
        at("priorityclasses", fieldSelector="metadata.name=system-node-critical"),
        accept=TABLE,
    ),
    delete("the node goes", at("nodes", "", "cmp-list-node")),
    update(
        "a status that is no list",
        at("pods", OTHER, "runs", "status"),
        {**objects.pod("runs"), "status": {"conditions": {}}},
        code=400,
    ),
)

STEPS = titled("listing", *_MADE, *_SELECTED, *_PAGES, *_FORMS, *_TABLES)
