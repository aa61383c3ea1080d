"""Every served kind through the same life: made well and badly, read in all forms, changed, deleted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.control_plane.comparison import objects
from tests.control_plane.comparison.steps import (
    JSON,
    METADATA,
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
    wait,
)

NAMESPACE = "cmp-kinds"
_LABEL = "comparison.example.com/kind"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """An object of a kind, and how the kind differs from others."""

    plural: str
    obj: dict[str, Any]
    namespaced: bool = True
    too_long: int = 422
    """The code for a name of 300 characters."""
    bad_name: int = 422
    """The code for a name with a capital and a space."""
    unconditional: int = 200
    """The code for an update without a version."""
    status: int = 404
    """The code for reading the status alone."""
    gone: int = 404
    """The code for reading it after it was deleted."""
    settled: str = ""
    """What the object says when the server has done with it all that it does by itself."""

    @property
    def namespace(self) -> str:
        return NAMESPACE if self.namespaced else ""


SAMPLES = (
    Sample(plural="namespaces", obj=objects.namespace("cmp-sample"), namespaced=False, status=200, gone=200),
    Sample(plural="nodes", obj=objects.node("cmp-sample"), namespaced=False, status=200),
    Sample(plural="pods", obj=objects.pod("cmp-sample"), status=200),
    Sample(plural="events", obj=objects.event("cmp-sample", NAMESPACE), too_long=201, bad_name=201),
    Sample(plural="events.events.k8s.io", obj=objects.new_event("cmp-sample", NAMESPACE)),
    Sample(plural="configmaps", obj=objects.config_map("cmp-sample", {"key": "value"})),
    Sample(plural="secrets", obj=objects.secret("cmp-sample", {"key": "dmFsdWU="})),
    Sample(plural="services", obj=objects.service("cmp-sample"), status=200),
    Sample(plural="serviceaccounts", obj=objects.account("cmp-sample")),
    Sample(plural="jobs", obj=objects.job("cmp-sample"), unconditional=422, status=200, gone=200),
    Sample(plural="priorityclasses", obj=objects.priority_class("cmp-sample", 7), namespaced=False),
    Sample(plural="workloads", obj=objects.workload("cmp-sample"), unconditional=422),
    Sample(plural="podgroups", obj=objects.group("cmp-sample"), unconditional=422, status=200, gone=200),
    Sample(plural="leases", obj=objects.lease("cmp-sample", holderIdentity="me"), unconditional=422),
    Sample(
        plural="poddisruptionbudgets",
        obj=objects.budget("cmp-sample", labels={"a": "b"}),
        too_long=201,
        bad_name=201,
        unconditional=422,
        status=200,
    ),
    Sample(
        plural="customresourcedefinitions",
        obj={
            **objects.definition("squares", "Square", version={"schema": {"openAPIV3Schema": {"type": "object"}}}),
            "metadata": {"name": "squares.shapes.example.com"},
        },
        namespaced=False,
        unconditional=422,
        status=200,
        settled="InitialNamesAccepted",
    ),
)


def _named(obj: dict[str, Any], name: str) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "name": name}}


def _with(obj: dict[str, Any], **metadata: object) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], **metadata}}


def _life(sample: Sample) -> Iterator[Step]:
    yield from _made(sample)
    yield from _read(sample)
    yield from _changed(sample)
    yield from _deleted(sample)


def _made(sample: Sample) -> Iterator[Step]:
    plural, obj = sample.plural, sample.obj
    kept = {f"{plural}.uid": "metadata.uid", f"{plural}.version": "metadata.resourceVersion"}

    def place(**query: object) -> str:
        return at(plural, sample.namespace, **query)

    odd = {**obj, "odd": 1, "metadata": {**obj["metadata"], "odd": {"x": 1}}}
    yield create("create, dry run", place(dryRun="All"), obj)
    yield create("unknown fields, Ignore", place(dryRun="All", fieldValidation="Ignore"), odd)
    yield create("unknown fields, Warn", place(dryRun="All", fieldValidation="Warn"), odd)
    yield create("unknown fields, Strict", place(dryRun="All", fieldValidation="Strict"), odd, code=400)
    yield create("create", place(), obj, keep=kept)
    yield create("create again", place(), obj, code=409)
    yield create("labels of a wrong type", place(), _with(obj, labels=["a"]), code=400)
    yield create("of another kind", place(), {**obj, "kind": "Widget"}, code=400)
    yield create("of another version", place(), {**obj, "apiVersion": "example.com/v7"}, code=400)
    yield create("name too long", place(), _named(obj, "a" * 300), code=sample.too_long)
    yield create("bad name", place(), _named(obj, "Not_a Name"), code=sample.bad_name)
    yield create("bad labels", place(), _with(obj, labels={"a b": "c d"}), code=422)
    yield create("no name", place(), _with(obj, name=""), code=422)


def _read(sample: Sample) -> Iterator[Step]:
    plural = sample.plural
    one, by_name = at(plural, sample.namespace, "cmp-sample"), {"fieldSelector": "metadata.name=cmp-sample"}
    if plural == "customresourcedefinitions":
        name = sample.obj["metadata"]["name"]
        one, by_name = at(plural, "", name), {"fieldSelector": f"metadata.name={name}"}
    many = at(plural, sample.namespace, **by_name)
    if sample.settled:
        yield wait("wait until it is settled", one, until=sample.settled)
    yield get("get", one)
    yield get("get as YAML", one, accept=YAML)
    yield get("get as a table", one, accept=TABLE)
    yield get("get the metadata", one, accept=METADATA)
    yield get("get the status", f"{one}/status", code=sample.status)
    yield get("get one that is not there", at(plural, sample.namespace, "cmp-nobody"), code=404)
    yield get("list", many)
    yield get("list as a table", many, accept=f"{TABLE},{JSON}")
    yield get("list the metadata", many, accept=METADATA_LIST)


def _changed(sample: Sample) -> Iterator[Step]:
    plural, obj = sample.plural, sample.obj
    one = at(plural, sample.namespace, obj["metadata"]["name"])

    def asked(**query: object) -> str:
        return at(plural, sample.namespace, obj["metadata"]["name"], **query)

    label = {"metadata": {"labels": {_LABEL: "seen"}}}
    apply = {
        **{key: obj[key] for key in ("apiVersion", "kind")},
        "metadata": {**obj["metadata"], "labels": {"by": "a"}},
    }
    version = f"${{{plural}.version}}"
    yield patch("merge patch", "merge", one, label)
    yield patch("the same patch again", "merge", one, label)
    yield patch("strategic patch, dry run", "strategic", asked(dryRun="All"), {"metadata": {"labels": {_LABEL: None}}})
    yield patch("JSON patch", "json", one, [{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}])
    yield patch("apply a label", "apply", asked(fieldManager="applier"), apply, code=200)
    yield patch(
        "apply over another's label",
        "apply",
        asked(fieldManager="applier"),
        {**apply, "metadata": {**obj["metadata"], "labels": {_LABEL: "stolen"}}},
        code=409,
    )
    yield update("update an old version", one, _with(obj, resourceVersion=version), code=409)
    yield update("update without a version", asked(dryRun="All"), obj, code=sample.unconditional)
    yield update("update with another uid", one, _with(obj, uid="00000000-0000-0000-0000-000000000000"), code=409)
    yield update("update another name", one, _named(obj, "cmp-other"), code=400)


def _deleted(sample: Sample) -> Iterator[Step]:
    one = at(sample.plural, sample.namespace, sample.obj["metadata"]["name"])
    stranger = objects.options(preconditions={"uid": "00000000-0000-0000-0000-000000000000"})
    own = objects.options(preconditions={"uid": f"${{{sample.plural}.uid}}"})
    yield delete("delete what has another uid", one, stranger, code=409)
    yield delete("delete, dry run", f"{one}?dryRun=All")
    yield delete("delete", one, own)
    yield wait("get what was deleted", one, code=sample.gone)


STEPS = (
    create("every kind: a namespace for them", at("namespaces"), objects.namespace(NAMESPACE)),
    *(step for sample in SAMPLES for step in titled(sample.plural, *_life(sample))),
    patch(
        "every kind: let the group go",
        "json",
        at("podgroups", NAMESPACE, "cmp-sample"),
        [{"op": "remove", "path": "/metadata/finalizers"}],
    ),
)
