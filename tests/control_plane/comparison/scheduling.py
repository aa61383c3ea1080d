"""What a scheduler and its users do: bindings, conditions, evictions with budgets, priorities, logs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.control_plane.comparison import objects
from tests.control_plane.comparison.objects import binding, eviction, options
from tests.control_plane.comparison.steps import TABLE, Step, at, create, delete, get, patch, titled, update, wait

NAMESPACE = "cmp-schedule"


def _pod(name: str, *, labels: dict[str, str] | None = None, **spec: Any) -> Step:
    keep = {f"pod-{name}.uid": "metadata.uid"}
    return create(f"pod {name}", at("pods", NAMESPACE), objects.pod(name, labels=labels, **spec), keep=keep)


def _bind(what: str, name: str, body: dict[str, Any], *, code: int = 201, **query: object) -> Step:
    return create(f"bind: {what}", at("pods", NAMESPACE, name, "binding", **query), body, code=code)


_BINDINGS = (
    _pod("a"),
    _bind("dry run", "a", binding("a", "n1"), dryRun="All"),
    _bind("to another uid", "a", binding("a", "n1", uid="00000000-0000-0000-0000-000000000000"), code=409),
    _bind("to an old version", "a", binding("a", "n1", resourceVersion="1"), code=409),
    _bind("to nowhere", "a", {**binding("a", ""), "target": {"kind": "Node"}}, code=500),
    _bind("to another kind", "a", {**binding("a", "x"), "target": {"kind": "Pod", "name": "x"}}, code=500),
    _bind("without a target", "a", {**binding("a", "x"), "target": {}}, code=500),
    _bind("another pod", "a", binding("b", "n1"), code=400),
    _bind("an unknown field", "a", {**binding("a", "n1"), "odd": 1}, code=400, fieldValidation="Strict"),
    _bind(
        "by uid, with annotations",
        "a",
        binding("a", "n1", uid="${pod-a.uid}", annotations={"x": "y"}, labels={"l": "m"}),
    ),
    get("bound", at("pods", NAMESPACE, "a")),
    _bind("again", "a", binding("a", "n1"), code=409),
    _bind("again elsewhere", "a", binding("a", "n2"), code=409),
    _bind("a pod that is not there", "nobody", binding("nobody", "n1"), code=404),
    create(
        "bind: by the collection", at("pods", NAMESPACE).replace("/pods", "/bindings"), binding("a", "n1"), code=409
    ),
    _pod("gated", schedulingGates=[{"name": "example.com/a"}]),
    _bind("a gated pod", "gated", binding("gated", "n1"), code=409),
    patch(
        "gated: selector gets narrower",
        "strategic",
        at("pods", NAMESPACE, "gated"),
        {"spec": {"nodeSelector": {"a": "b"}}},
    ),
    patch(
        "gated: another gate",
        "strategic",
        at("pods", NAMESPACE, "gated"),
        {"spec": {"schedulingGates": [{"name": "example.com/b"}]}},
        code=422,
    ),
    patch("gated: gate goes", "merge", at("pods", NAMESPACE, "gated"), {"spec": {"schedulingGates": []}}),
    _bind("a pod once gated", "gated", binding("gated", "n1")),
    _pod("doomed", nodeSelector={"x": "y"}),
    patch(
        "doomed: finalizer", "merge", at("pods", NAMESPACE, "doomed"), {"metadata": {"finalizers": ["example.com/a"]}}
    ),
    delete("doomed: delete", at("pods", NAMESPACE, "doomed")),
    _bind("a pod that goes", "doomed", binding("doomed", "n1"), code=409),
    patch("doomed: let go", "merge", at("pods", NAMESPACE, "doomed"), {"metadata": {"finalizers": None}}),
    _pod("waiting"),
    patch(
        "nominated",
        "strategic",
        at("pods", NAMESPACE, "waiting", "status"),
        {
            "status": {
                "nominatedNodeName": "n1",
                "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
                ],
            }
        },
    ),
    patch(
        "nominated when bound",
        "strategic",
        at("pods", NAMESPACE, "a", "status"),
        {"status": {"nominatedNodeName": "n1"}},
        code=422,
    ),
    update(
        "bad phase",
        at("pods", NAMESPACE, "gated", "status"),
        {**objects.pod("gated"), "status": {"phase": "Odd", "nominatedNodeName": "Bad_", "podIPs": [{"ip": "x"}]}},
        code=422,
    ),
    get("log of a pod", at("pods", NAMESPACE, "nobody", "log"), code=404),
    get("log of no container", at("pods", NAMESPACE, "a", "log", container="zzz"), code=400),
)


def _evict(what: str, name: str, body: dict[str, Any] | None = None, *, code: int = 201, **query: object) -> Step:
    return create(f"evict: {what}", at("pods", NAMESPACE, name, "eviction", **query), body or eviction(name), code=code)


def _allow(what: str, allowed: int, **more: object) -> Step:
    status = {
        "disruptionsAllowed": allowed,
        "currentHealthy": 2,
        "desiredHealthy": 1,
        "expectedPods": 2,
        "observedGeneration": 1,
        **more,
    }
    return patch(f"budget: {what}", "merge", at("poddisruptionbudgets", NAMESPACE, "few", "status"), {"status": status})


def _ready(name: str) -> Step:
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return patch(f"{name} is ready", "merge", at("pods", NAMESPACE, name, "status"), {"status": status})


_EVICTIONS = (
    _pod("free", nodeName="n1"),
    _evict("dry run", "free", dryRun="All"),
    _evict("dry run in the options", "free", eviction("free", deleteOptions={"dryRun": ["All"]})),
    _evict(
        "another uid",
        "free",
        eviction("free", deleteOptions={"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}}),
        code=409,
    ),
    _evict("another name", "free", eviction("other"), code=400),
    _evict("no name", "free", {"apiVersion": "policy/v1", "kind": "Eviction"}, code=400),
    _evict("nobody", "nobody", code=404),
    _evict("of an old version of the kind", "free", {**eviction("free"), "apiVersion": "policy/v1beta1"}, dryRun="All"),
    _evict("without a budget", "free"),
    get("evicted", at("pods", NAMESPACE, "free")),
    _evict("again", "free"),
    create("budget", at("poddisruptionbudgets", NAMESPACE), objects.budget("few", labels={"app": "x"}, minAvailable=1)),
    *(_pod(name, labels={"app": "x"}, nodeName="n1") for name in ("x1", "x2", "x3")),
    *(_ready(name) for name in ("x1", "x2")),
    _evict("budget not looked at yet", "x1", code=429),
    _allow("none allowed", 0),
    _evict("none allowed", "x1", code=429),
    _evict("one that is not ready", "x3"),
    _allow("one allowed", 1),
    _evict("one allowed", "x1"),
    get("budget after an eviction", at("poddisruptionbudgets", NAMESPACE, "few")),
    get("budget after an eviction, as a table", at("poddisruptionbudgets", NAMESPACE, "few"), accept=TABLE),
    _evict("the next one", "x2", code=429),
    _evict("the next one, now", "x2", eviction("x2", deleteOptions=options(gracePeriodSeconds=0)), code=429),
    _allow("an old look", 1, observedGeneration=0),
    _evict("an old look", "x2", code=429),
    create(
        "budget: another one",
        at("poddisruptionbudgets", NAMESPACE),
        objects.budget("other", labels={"app": "x"}, minAvailable=1),
    ),
    _evict("two budgets", "x2", code=500),
    delete("budget: another one goes", at("poddisruptionbudgets", NAMESPACE, "other")),
    patch("x2 ends", "merge", at("pods", NAMESPACE, "x2", "status"), {"status": {"phase": "Succeeded"}}),
    _evict("what has ended", "x2"),
    get("what is left", at("pods", NAMESPACE)),
    delete("all go", at("pods", NAMESPACE), options(gracePeriodSeconds=0)),
)


def _class(name: str, value: int, **more: object) -> Step:
    return create(f"class {name}", at("priorityclasses"), objects.priority_class(name, value, **more))


def _known(name: str, expected: str, **spec: Any) -> Step:
    """The real server learns of classes a moment after they are made."""
    tried = create(
        f"{name}, when the class is known", at("pods", NAMESPACE, dryRun="All"), objects.pod("p", **spec), patient=True
    )
    return replace(tried, until=expected)


_PRIORITIES = (
    _class("cmp-high", 1000, description="before others"),
    _class("cmp-low", -10, preemptionPolicy="Never"),
    _known("high", '"priority":1000', priorityClassName="cmp-high"),
    _known("low", '"priority":-10', priorityClassName="cmp-low"),
    _pod("high", priorityClassName="cmp-high"),
    _pod("low", priorityClassName="cmp-low"),
    _pod("none"),
    create(
        "its own priority, the same",
        at("pods", NAMESPACE, dryRun="All"),
        objects.pod("p", priorityClassName="cmp-high", priority=1000),
    ),
    create(
        "its own priority, another",
        at("pods", NAMESPACE),
        objects.pod("p", priorityClassName="cmp-high", priority=7),
        code=403,
    ),
    create(
        "its own policy, another",
        at("pods", NAMESPACE),
        objects.pod("p", priorityClassName="cmp-low", preemptionPolicy="PreemptLowerPriority"),
        code=403,
    ),
    create("group of a class", at("podgroups", NAMESPACE), objects.group("high", priorityClassName="cmp-high")),
    create(
        "group of a low class", at("podgroups", NAMESPACE), objects.group("low", priorityClassName="cmp-low"), code=403
    ),
    create("group of no class", at("podgroups", NAMESPACE), objects.group("none")),
    create(
        "group with a priority, another",
        at("podgroups", NAMESPACE),
        objects.group("odd", priorityClassName="cmp-high", priority=7),
        code=403,
    ),
    patch(
        "pod's class changes",
        "merge",
        at("pods", NAMESPACE, "high"),
        {"spec": {"priorityClassName": "cmp-low"}},
        code=422,
    ),
    patch("class value changes", "merge", at("priorityclasses", "", "cmp-high"), {"value": 5}, code=422),
    patch(
        "class policy changes", "merge", at("priorityclasses", "", "cmp-high"), {"preemptionPolicy": "Never"}, code=422
    ),
    patch("class description changes", "merge", at("priorityclasses", "", "cmp-high"), {"description": "new"}),
    _class("cmp-default", 55, globalDefault=True),
    _known("default", '"priority":55'),
    _pod("by-default"),
    create("group by default", at("podgroups", NAMESPACE), objects.group("by-default")),
    create(
        "another default",
        at("priorityclasses"),
        objects.priority_class("cmp-default-2", 66, globalDefault=True),
        code=403,
    ),
    patch("another becomes default", "merge", at("priorityclasses", "", "cmp-high"), {"globalDefault": True}, code=403),
    delete("the default goes", at("priorityclasses", "", "cmp-default")),
    _known("no default", '"priority":0'),
    delete("the high class goes", at("priorityclasses", "", "cmp-high")),
    delete("the low class goes", at("priorityclasses", "", "cmp-low")),
    delete("a system class", at("priorityclasses", "", "system-node-critical"), code=403),
    get("pods with priorities", at("pods", NAMESPACE)),
    get("groups with priorities", at("podgroups", NAMESPACE)),
    get("groups with priorities, as a table", at("podgroups", NAMESPACE), accept=TABLE),
    delete("pods go", at("pods", NAMESPACE)),
    delete("groups go", at("podgroups", NAMESPACE)),
    *(
        patch(f"group {name} is let go", "merge", at("podgroups", NAMESPACE, name), {"metadata": {"finalizers": None}})
        for name in ("high", "none", "by-default")
    ),
    get("no groups are left", at("podgroups", NAMESPACE)),
    wait("the class is gone", at("priorityclasses", "", "cmp-high"), code=404),
)

STEPS = titled(
    "scheduling",
    create("a namespace", at("namespaces"), objects.namespace(NAMESPACE)),
    *_BINDINGS,
    *_EVICTIONS,
    *_PRIORITIES,
)
