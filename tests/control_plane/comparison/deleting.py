"""Deletion: finalizers, grace, preconditions, owners, many at once; and the end of namespaces."""

from __future__ import annotations

from typing import Any

from tests.control_plane.comparison import objects
from tests.control_plane.comparison.objects import options
from tests.control_plane.comparison.steps import TABLE, Step, at, create, delete, get, patch, titled, update

NAMESPACE = "cmp-delete"
_GOING = "cmp-going"


def _made(name: str, **metadata: Any) -> Step:
    keep = {f"{name}.uid": "metadata.uid", f"{name}.version": "metadata.resourceVersion"}
    return create(f"map {name}", at("configmaps", NAMESPACE), objects.config_map(name, **metadata), keep=keep)


def _map(name: str, **query: object) -> str:
    return at("configmaps", NAMESPACE, name, **query)


_FINALIZERS = ["example.com/a", "example.com/b"]
_FINALIZED = (
    _made("finalized", finalizers=_FINALIZERS),
    delete("finalized: delete", _map("finalized")),
    get("finalized: still there", _map("finalized")),
    delete("finalized: delete again", _map("finalized")),
    update(
        "finalized: change its data",
        _map("finalized"),
        objects.config_map("finalized", {"a": "1"}, finalizers=_FINALIZERS),
    ),
    patch(
        "finalized: add a finalizer",
        "merge",
        _map("finalized"),
        {"metadata": {"finalizers": [*_FINALIZERS, "example.com/c"]}},
        code=422,
    ),
    patch("finalized: take one away", "merge", _map("finalized"), {"metadata": {"finalizers": _FINALIZERS[1:]}}),
    patch("finalized: take the time away", "merge", _map("finalized"), {"metadata": {"deletionTimestamp": None}}),
    patch(
        "finalized: take the last away, dry run",
        "merge",
        _map("finalized", dryRun="All"),
        {"metadata": {"finalizers": None}},
    ),
    patch("finalized: take the last away", "merge", _map("finalized"), {"metadata": {"finalizers": None}}),
    get("finalized: gone", _map("finalized"), code=404),
)

_CONDITIONS = (
    _made("kept"),
    delete(
        "another uid", _map("kept"), options(preconditions={"uid": "00000000-0000-0000-0000-000000000000"}), code=409
    ),
    delete("another version", _map("kept"), options(preconditions={"resourceVersion": "1"}), code=409),
    delete(
        "the uid and another version",
        _map("kept"),
        options(preconditions={"uid": "${kept.uid}", "resourceVersion": "1"}),
        code=409,
    ),
    delete("dry run in the body", _map("kept"), options(dryRun=["All"])),
    delete("dry run nobody knows", _map("kept"), options(dryRun=["Some"]), code=422),
    delete("policy nobody knows", _map("kept"), options(propagationPolicy="Odd"), code=422),
    delete("policy and orphans", _map("kept"), options(propagationPolicy="Orphan", orphanDependents=True), code=422),
    delete("options of a wrong type", _map("kept"), options(gracePeriodSeconds="long"), code=400),
    delete("options that are none", _map("kept"), "hello", code=400),
    delete("options of another kind", _map("kept"), objects.config_map("x"), code=400),
    delete("an unknown option", _map("kept"), options(odd=1, dryRun=["All"])),
    delete(
        "options twice",
        _map("kept", propagationPolicy="Background", dryRun="All"),
        options(propagationPolicy="Orphan", dryRun=["All"]),
    ),
    delete(
        "by uid and version",
        _map("kept"),
        options(preconditions={"uid": "${kept.uid}", "resourceVersion": "${kept.version}"}),
    ),
    delete("what is gone", _map("kept"), code=404),
    delete("what is gone, by uid", _map("kept"), options(preconditions={"uid": "${kept.uid}"}), code=404),
)

_POLICIES = (
    _made("owner"),
    create(
        "owned",
        at("configmaps", NAMESPACE),
        objects.config_map(
            "owned",
            ownerReferences=[
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": "owner",
                    "uid": "${owner.uid}",
                    "blockOwnerDeletion": True,
                }
            ],
        ),
    ),
    delete("in the foreground", _map("owner"), options(propagationPolicy="Foreground")),
    delete("then in the background", _map("owner"), options(propagationPolicy="Background")),
    get("foreground: is there", _map("owner"), code=404),
    _made("parent"),
    delete("orphans", _map("parent"), options(propagationPolicy="Orphan")),
    get("orphans: is there", _map("parent")),
    patch("orphans: let it go", "json", _map("parent"), [{"op": "remove", "path": "/metadata/finalizers"}]),
    _made("parent-2", finalizers=["example.com/a"]),
    delete("orphans by the old word", _map("parent-2"), options(orphanDependents=True)),
    delete("no orphans by the old word", _map("parent-2"), options(orphanDependents=False), code=202),
    patch("and let it go", "json", _map("parent-2"), [{"op": "remove", "path": "/metadata/finalizers"}]),
    create("a job", at("jobs", NAMESPACE), objects.job("job")),
    delete("a job by default", at("jobs", NAMESPACE, "job")),
    delete("a job in the background", at("jobs", NAMESPACE, "job", propagationPolicy="Background")),
    get("the job is gone", at("jobs", NAMESPACE, "job"), code=404),
)


def _pod(name: str, **spec: Any) -> Step:
    return create(f"pod {name}", at("pods", NAMESPACE), objects.pod(name, **spec))


def _at(name: str, **query: object) -> str:
    return at("pods", NAMESPACE, name, **query)


_GRACE = (
    _pod("unbound"),
    delete("grace: pod on no node goes at once", _at("unbound")),
    get("grace: pod on no node is gone", _at("unbound"), code=404),
    _pod("bound", nodeName="n1"),
    delete("grace: negative", _at("bound"), options(gracePeriodSeconds=-1, dryRun=["All"]), code=200),
    delete("grace: pod on a node", _at("bound")),
    get("grace: as a table", _at("bound"), accept=TABLE),
    delete("grace: again", _at("bound")),
    delete("grace: shorter", _at("bound"), options(gracePeriodSeconds=5)),
    delete("grace: longer", _at("bound"), options(gracePeriodSeconds=50)),
    patch("grace: change what goes", "merge", _at("bound"), {"metadata": {"labels": {"a": "b"}}}),
    delete("grace: none, by the path", _at("bound", gracePeriodSeconds=0)),
    get("grace: gone", _at("bound"), code=404),
    _pod("finished", nodeName="n1"),
    patch(
        "grace: the pod ends", "merge", at("pods", NAMESPACE, "finished", "status"), {"status": {"phase": "Succeeded"}}
    ),
    delete("grace: what has ended goes at once", _at("finished")),
    get("grace: what has ended is gone", _at("finished"), code=404),
    _pod("grace-of-its-own", nodeName="n1", terminationGracePeriodSeconds=7),
    delete("grace: of its own", _at("grace-of-its-own")),
    delete("grace: of its own, now", _at("grace-of-its-own"), options(gracePeriodSeconds=0)),
    _pod("finalized", nodeName="n1"),
    patch("grace: a finalizer", "merge", _at("finalized"), {"metadata": {"finalizers": ["example.com/a"]}}),
    delete("grace: with a finalizer", _at("finalized")),
    delete("grace: with a finalizer, now", _at("finalized"), options(gracePeriodSeconds=0)),
    patch("grace: without the finalizer", "merge", _at("finalized"), {"metadata": {"finalizers": None}}),
    get("grace: finalized and gone", _at("finalized"), code=404),
    create("a group", at("podgroups", NAMESPACE), objects.group("grp")),
    delete("a group is protected", at("podgroups", NAMESPACE, "grp")),
    update("a group is let go by nothing", at("podgroups", NAMESPACE, "grp"), {}, code=400),
    patch("a group is let go by a patch", "merge", at("podgroups", NAMESPACE, "grp"), {"metadata": {"finalizers": []}}),
    get("the group is gone", at("podgroups", NAMESPACE, "grp"), code=404),
    delete("delete a service", at("services", NAMESPACE, "nobody"), code=404),
)

_MANY = (
    *(_made(f"many-{letter}", labels={"set": letter if letter < "c" else "x"}) for letter in "abcde"),
    delete("many: dry run", at("configmaps", NAMESPACE, labelSelector="set=x", dryRun="All")),
    delete("many: by label", at("configmaps", NAMESPACE, labelSelector="set=x")),
    delete("many: by field", at("configmaps", NAMESPACE, fieldSelector="metadata.name=many-a")),
    delete("many: none left", at("configmaps", NAMESPACE, labelSelector="set=x")),
    delete("many: bad selector", at("configmaps", NAMESPACE, labelSelector="a b"), code=400),
    delete("many: bad options", at("configmaps", NAMESPACE), options(propagationPolicy="Odd"), code=422),
    get("many: who is left", at("configmaps", NAMESPACE)),
    delete("many: the rest", at("configmaps", NAMESPACE)),
    get("many: nobody is left", at("configmaps", NAMESPACE)),
    _pod("many-1", nodeName="n1"),
    _pod("many-2"),
    delete("many: pods", at("pods", NAMESPACE)),
    get("many: pods that are left", at("pods", NAMESPACE)),
    delete("many: pods, now", at("pods", NAMESPACE), options(gracePeriodSeconds=0)),
    get("many: no pods are left", at("pods", NAMESPACE)),
    delete("many: in all namespaces", at("configmaps"), code=405),
    delete("many: namespaces", at("namespaces"), code=405),
    delete("many: services", at("services", NAMESPACE)),
)

_NAMESPACES = (
    create("namespace", at("namespaces"), objects.namespace(_GOING)),
    create("namespace: something in it", at("configmaps", _GOING), objects.config_map("in-it")),
    patch("namespace: label", "merge", at("namespaces", "", _GOING), {"metadata": {"labels": {"a": "b"}}}),
    patch(
        "namespace: its own label",
        "merge",
        at("namespaces", "", _GOING),
        {"metadata": {"labels": {"kubernetes.io/metadata.name": "x"}}},
    ),
    patch(
        "namespace: finalizers are not for patches", "merge", at("namespaces", "", _GOING), {"spec": {"finalizers": []}}
    ),
    update(
        "namespace: status",
        at("namespaces", "", _GOING, "status"),
        {**objects.namespace(_GOING), "status": {"phase": "Active"}},
    ),
    update(
        "namespace: odd phase",
        at("namespaces", "", _GOING, "status"),
        {**objects.namespace(_GOING), "status": {"phase": "Odd"}},
        code=422,
    ),
    delete("namespace: delete", at("namespaces", "", _GOING)),
    get("namespace: goes", at("namespaces", "", _GOING)),
    get("namespace: goes, as a table", at("namespaces", "", _GOING), accept=TABLE),
    delete("namespace: delete again", at("namespaces", "", _GOING)),
    create("namespace: create in it", at("configmaps", _GOING), objects.config_map("new"), code=403),
    create("namespace: create a pod in it", at("pods", _GOING), objects.pod("new"), code=403),
    patch(
        "namespace: apply in it",
        "apply",
        at("configmaps", _GOING, "new", fieldManager="m"),
        objects.config_map("new"),
        code=403,
    ),
    patch("namespace: change in it", "merge", at("configmaps", _GOING, "in-it"), {"data": {"a": "1"}}),
    create("namespace: make it anew", at("namespaces"), objects.namespace(_GOING), code=409),
    delete("namespace: delete in it", at("configmaps", _GOING, "in-it")),
    update(
        "namespace: finalize",
        at("namespaces", "", _GOING, "finalize"),
        {**objects.namespace(_GOING), "spec": {"finalizers": []}},
    ),
    get("namespace: gone", at("namespaces", "", _GOING), code=404),
    update(
        "namespace: finalize what is gone",
        at("namespaces", "", _GOING, "finalize"),
        objects.namespace(_GOING),
        code=404,
    ),
    delete("namespace: default", at("namespaces", "", "default"), code=403),
    delete("namespace: kube-system", at("namespaces", "", "kube-system"), code=403),
    delete("namespace: nobody", at("namespaces", "", "cmp-nowhere"), code=404),
)

STEPS = titled(
    "deleting",
    create("a namespace", at("namespaces"), objects.namespace(NAMESPACE)),
    *_FINALIZED,
    *_CONDITIONS,
    *_POLICIES,
    *_GRACE,
    *_MANY,
    *_NAMESPACES,
)
