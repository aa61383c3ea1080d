"""Watches: from now, from a version, with what is there already, through selectors that objects enter and leave."""

from __future__ import annotations

from typing import Any

from tests.control_plane.comparison import objects
from tests.control_plane.comparison.steps import (
    METADATA,
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
    watch,
)

NAMESPACE = "cmp-watch"


def _path(**query: object) -> str:
    return at("configmaps", NAMESPACE, watch="true", timeoutSeconds=1, **query)


def _map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    return objects.config_map(name, data, **metadata)


def _label(name: str, value: str | None) -> Step:
    words = f"{name} gets the label {value}" if value else f"{name} loses its label"
    return patch(words, "merge", at("configmaps", NAMESPACE, name), {"metadata": {"labels": {"in": value}}})


_HISTORY = (
    create(
        "a",
        at("configmaps", NAMESPACE),
        _map("a", labels={"in": "yes"}),
        keep={"a.version": "metadata.resourceVersion"},
    ),
    create("b", at("configmaps", NAMESPACE), _map("b"), keep={"b.version": "metadata.resourceVersion"}),
    update("a changes", at("configmaps", NAMESPACE, "a"), _map("a", {"x": "1"}, labels={"in": "yes"})),
    _label("b", "yes"),
    _label("a", None),
    patch("a changes nothing", "merge", at("configmaps", NAMESPACE, "a"), {}),
    _label("b", "no"),
    delete("b goes", at("configmaps", NAMESPACE, "b")),
    create("c", at("configmaps", NAMESPACE), _map("c", {"k": "v"}, finalizers=["example.com/a"])),
    delete("c is deleted", at("configmaps", NAMESPACE, "c")),
    patch("c is gone", "merge", at("configmaps", NAMESPACE, "c"), {"metadata": {"finalizers": None}}),
    create("d", at("configmaps", NAMESPACE), _map("d", labels={"in": "yes"})),
)

_WATCHES = (
    watch("from a version", _path(resourceVersion="${a.version}")),
    watch("from a version, by label", _path(resourceVersion="${a.version}", labelSelector="in=yes")),
    watch("from a version, without a label", _path(resourceVersion="${a.version}", labelSelector="!in")),
    watch("from a version, by name", _path(resourceVersion="${a.version}", fieldSelector="metadata.name=b")),
    watch(
        "from a version, one object",
        at("configmaps", NAMESPACE, "b").replace("/namespaces/", "/watch/namespaces/")
        + "?timeoutSeconds=1&resourceVersion=${a.version}",
    ),
    watch(
        "from a version, the old path",
        _path(resourceVersion="${b.version}").replace("/namespaces/", "/watch/namespaces/"),
    ),
    watch("from a version, as a table", _path(resourceVersion="${a.version}"), accept=TABLE),
    watch("from a version, metadata", _path(resourceVersion="${b.version}"), accept=METADATA),
    watch("from a version, with bookmarks", _path(resourceVersion="${b.version}", allowWatchBookmarks="true")),
    watch(
        "from a version, all namespaces",
        at("configmaps", watch="1", timeoutSeconds=1, resourceVersion="${a.version}", labelSelector="in"),
    ),
    watch("from now", _path()),
    watch("from any version", _path(resourceVersion="0")),
    watch("from now, by label", _path(labelSelector="in=yes"), accept=TABLE),
    watch("from now, as YAML", _path(), accept=YAML, code=406),
    watch(
        "initial events",
        _path(sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"),
    ),
    watch(
        "initial events, as a table",
        _path(sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"),
        accept=TABLE,
    ),
    watch(
        "initial events, metadata",
        _path(
            sendInitialEvents="true",
            resourceVersionMatch="NotOlderThan",
            allowWatchBookmarks="true",
            labelSelector="in=yes",
        ),
        accept=METADATA,
    ),
    watch("initial events, without bookmarks", _path(sendInitialEvents="true", resourceVersionMatch="NotOlderThan")),
    watch(
        "initial events from a version",
        _path(
            sendInitialEvents="true",
            resourceVersionMatch="NotOlderThan",
            allowWatchBookmarks="true",
            resourceVersion="${a.version}",
        ),
    ),
    watch(
        "initial events of pods",
        at(
            "pods",
            NAMESPACE,
            watch="true",
            timeoutSeconds=1,
            sendInitialEvents="true",
            resourceVersionMatch="NotOlderThan",
            allowWatchBookmarks="true",
        ),
    ),
    watch("initial events without a match", _path(sendInitialEvents="true"), code=422),
    watch(
        "initial events, exact",
        _path(sendInitialEvents="true", resourceVersionMatch="Exact", resourceVersion="5"),
        code=422,
    ),
    watch("no initial events", _path(sendInitialEvents="false", resourceVersionMatch="NotOlderThan")),
    watch("a match alone", _path(resourceVersionMatch="NotOlderThan", resourceVersion="5"), code=422),
    watch("a version that is a word", _path(resourceVersion="new"), code=500),
    watch("a bad label", _path(labelSelector="a b"), code=400),
    watch("a bad field", _path(fieldSelector="data.x=1"), code=400),
    get("a watch that is a word", at("configmaps", NAMESPACE, watch="maybe", timeoutSeconds=1)),
    watch("a time that is a word", at("configmaps", NAMESPACE, watch="true", timeoutSeconds="long"), code=400),
)

_LIVE = (
    watch(
        "live, by label",
        at("configmaps", NAMESPACE, watch="true", timeoutSeconds=3, labelSelector="in=yes"),
        create("live e", at("configmaps", NAMESPACE), _map("e", labels={"in": "yes"})),
        _label("e", "no"),
        _label("e", "yes"),
        create("live f, unlabelled", at("configmaps", NAMESPACE), _map("f")),
        delete("live e goes", at("configmaps", NAMESPACE, "e")),
        delete("live f goes", at("configmaps", NAMESPACE, "f")),
    ),
    watch(
        "live, pods by node",
        at("pods", NAMESPACE, watch="true", timeoutSeconds=3, fieldSelector="spec.nodeName=n1"),
        create("live pod", at("pods", NAMESPACE), objects.pod("p")),
        create("live pod is bound", at("pods", NAMESPACE, "p", "binding"), objects.binding("p", "n1")),
        patch("live pod runs", "merge", at("pods", NAMESPACE, "p", "status"), {"status": {"phase": "Running"}}),
        delete("live pod is deleted", at("pods", NAMESPACE, "p")),
        delete("live pod goes", at("pods", NAMESPACE, "p"), objects.options(gracePeriodSeconds=0)),
    ),
    watch(
        "live, many as a table",
        at("configmaps", NAMESPACE, watch="true", timeoutSeconds=3),
        create("live g", at("configmaps", NAMESPACE), _map("g")),
        patch("live g is applied", "apply", at("configmaps", NAMESPACE, "g", fieldManager="m"), _map("g", {"a": "b"})),
        delete("live all go", at("configmaps", NAMESPACE)),
        accept=TABLE,
    ),
)

STEPS = titled(
    "watching", create("a namespace", at("namespaces"), objects.namespace(NAMESPACE)), *_HISTORY, *_WATCHES, *_LIVE
)
