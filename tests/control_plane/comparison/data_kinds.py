"""Kinds that are data, through the life of an object: made whole and lacking, read, changed, scaled, deleted."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from muster.local.schema import load
from muster.local.schema.load import Resource
from tests.control_plane.comparison import devices, volumes
from tests.control_plane.comparison.steps import JSON, TABLE, Step, create, delete, get, patch, titled, update

NAMESPACE = "default"
_SAMPLES = Path(__file__).parents[3] / "controlplane" / "samples.yaml"
_LABEL = {"metadata": {"labels": {"comparison.example.com/kind": "seen"}}}
_NOT_CHANGED = ("apiVersion", "kind", "metadata", "status")

Sample = dict[str, Any]


def samples() -> list[tuple[Resource, Sample]]:
    kinds = {(f"{one.group}/{one.version}".removeprefix("/"), one.kind): one for one in load.resources()}
    return [(kinds[each["apiVersion"], each["kind"]], each) for each in yaml.safe_load_all(_SAMPLES.read_text())]


def path(resource: Resource, name: str = "", sub: str = "", query: str = "") -> str:
    root = f"/apis/{resource.group}" if resource.group else "/api"
    inside = f"/namespaces/{NAMESPACE}" if resource.namespaced else ""
    tail = "".join(f"/{part}" for part in (name, sub) if part)
    return f"{root}/{resource.version}{inside}/{resource.plural}{tail}{query and f'?{query}'}"


def _life(resource: Resource, sample: Sample) -> Iterator[Step]:
    name = sample["metadata"]["name"]
    one, many = path(resource, name), path(resource)
    kept = f"{resource.plural}.{name}.version"
    yield create("create, dry run", f"{many}?dryRun=All", sample)
    yield create("create", many, sample, keep={kept: "metadata.resourceVersion"})
    yield create("create again", many, sample, code=409)
    yield create("a bad name", many, {**sample, "metadata": {"name": "Not_a Name"}}, code=422)
    yield create("an unknown field", f"{many}?fieldValidation=Strict&dryRun=All", {**sample, "odd": 1}, code=400)
    yield from _lacking(resource, sample)
    yield get("get", one)
    yield get("get as a table", one, accept=TABLE)
    yield get("list", f"{many}?fieldSelector=metadata.name%3D{name}")
    yield get("list as a table", f"{many}?fieldSelector=metadata.name%3D{name}", accept=f"{TABLE},{JSON}")
    yield patch("merge patch", "merge", one, _LABEL)
    yield patch("JSON patch", "json", one, [{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}])
    yield patch("strategic patch", "strategic", one, {"metadata": {"labels": {"a": "b"}}})
    own = {key: sample[key] for key in ("apiVersion", "kind")}
    yield patch("apply a label", "apply", f"{one}?fieldManager=me", {**own, "metadata": {"labels": {"by": "me"}}})
    yield patch("apply all of it", "apply", f"{one}?fieldManager=me&force=true", sample)
    yield update("update an old version", one, _versioned(sample, f"${{{kept}}}"), code=409)
    yield update("update without a version", f"{one}?dryRun=All", sample)
    yield from _changed(resource, sample)
    if "status" in resource.subresources:
        yield get("get the status", f"{one}/status")
        labelled = {**sample, "metadata": {**sample["metadata"], "labels": {"by": "status"}}}
        yield update("update the status", f"{one}/status?dryRun=All", labelled)
    if "scale" in resource.subresources:
        yield get("get the scale", f"{one}/scale")
        yield patch("scale", "merge", f"{one}/scale", {"spec": {"replicas": 3}})
        yield get("get what was scaled", one)
    yield delete("delete what has another uid", one, _uid("00000000-0000-0000-0000-000000000000"), code=409)
    yield delete("delete, dry run", f"{one}?dryRun=All")
    yield delete("delete", one)
    yield get("get what was deleted", one, code=404)


def _versioned(sample: Sample, version: str) -> Sample:
    return {**sample, "metadata": {**sample["metadata"], "resourceVersion": version}}


def _uid(uid: str) -> Sample:
    return {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}


def _lacking(resource: Resource, sample: Sample) -> Iterator[Step]:
    """Without each field of its own, and of its spec."""
    for name in sample:
        if name in _NOT_CHANGED:
            continue
        yield create(f"without {name}", path(resource, query="dryRun=All"), _other(_without(sample, name)))
        for inner in sample[name] if name == "spec" else ():
            lacking = {**sample, "spec": _without(sample["spec"], inner)}
            yield create(f"without {name}.{inner}", path(resource, query="dryRun=All"), _other(lacking))


def _changed(resource: Resource, sample: Sample) -> Iterator[Step]:
    """With another value in each text and number of its own, and of its spec."""
    where = path(resource, sample["metadata"]["name"], query="dryRun=All")
    for way, value in _leaves({key: value for key, value in sample.items() if key not in _NOT_CHANGED}):
        changed: Any = deepcopy(sample)
        inside = changed
        for step in way[:-1]:
            inside = inside[step]
        inside[way[-1]] = value + 1 if isinstance(value, int) else "another"
        yield patch(f"change {'.'.join(map(str, way))}", "apply", f"{where}&fieldManager=me&force=true", changed)


def _leaves(value: Any) -> Iterator[tuple[list[Any], Any]]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from (([key, *way], leaf) for way, leaf in _leaves(inner))
    elif isinstance(value, str | int) and not isinstance(value, bool):
        yield [], value


def _without(struct: Sample, name: str) -> Sample:
    return {key: value for key, value in struct.items() if key != name}


def _other(sample: Sample) -> Sample:
    return {**sample, "metadata": {**sample["metadata"], "name": f"{sample['metadata']['name']}-other"}}


STEPS = tuple(
    step
    for resource, sample in samples()
    for step in titled(f"{resource.plural} {sample['metadata']['name']}", *_life(resource, sample))
)


def _pod(name: str, **spec: Any) -> Sample:
    containers = [{"name": "main", "image": "sample"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def _runtimes() -> Iterator[Step]:
    """Pods of a runtime class that takes something itself."""
    classes, pods = "/apis/node.k8s.io/v1/runtimeclasses", f"/api/v1/namespaces/{NAMESPACE}/pods"
    heavy = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "heavy"},
        "handler": "heavy",
        "overhead": {"podFixed": {"cpu": "250m", "memory": "64Mi"}},
        "scheduling": {"nodeSelector": {"kind": "big"}, "tolerations": [{"key": "sandbox", "operator": "Exists"}]},
    }
    own = {"cpu": "250m", "memory": "64Mi"}
    yield create("make the class", classes, heavy)
    yield create("a pod of it", pods, _pod("of-heavy", runtimeClassName="heavy"))
    yield create("a pod with its overhead", pods, _pod("same", runtimeClassName="heavy", overhead=own))
    yield create("another overhead", pods, _pod("other", runtimeClassName="heavy", overhead={"cpu": "1"}))
    yield create("a selector beside", pods, _pod("beside", runtimeClassName="heavy", nodeSelector={"a": "b"}))
    yield create("a selector against it", pods, _pod("against", runtimeClassName="heavy", nodeSelector={"kind": "x"}))
    yield create("a class that is not there", pods, _pod("nobody", runtimeClassName="nobody"))
    yield create("overhead without a class", pods, _pod("alone", overhead={"cpu": "1"}))
    for name in ("of-heavy", "same", "beside"):
        yield delete(f"delete {name}", f"{pods}/{name}?gracePeriodSeconds=0")
    yield delete("delete the class", f"{classes}/heavy")


STEPS += titled("runtime classes", *_runtimes())


_SCALE: Sample = {"apiVersion": "autoscaling/v1", "kind": "Scale"}


def _scales() -> Iterator[Step]:
    """The scale of a built-in kind: every patch, and who owns the number."""
    many = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
    one, scale = f"{many}/scaled", f"{many}/scaled/scale"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "sample"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    own = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "scaled"}}

    def put(replicas: int) -> Sample:
        return {**_SCALE, "metadata": {"name": "scaled", "namespace": NAMESPACE}, "spec": {"replicas": replicas}}

    def apply(name: str, manager: str, replicas: int, more: str = "") -> Iterator[Step]:
        applied = {**_SCALE, "spec": {"replicas": replicas}}
        yield patch(name, "apply", f"{scale}?fieldManager={manager}{more}", applied)
        yield get(f"{name}: the object", one)

    yield create("make it", f"{many}?fieldManager=maker", {**own, "spec": spec})
    yield patch("a strategic patch", "strategic", scale, {"spec": {"replicas": 3}})
    yield get("a strategic patch: the object", one)
    yield patch("fewer than none, by a patch", "merge", scale, {"spec": {"replicas": -1}}, code=422)
    yield update("fewer than none", scale, put(-2), code=422)
    yield patch("apply the object", "apply", f"{one}?fieldManager=all&force=true", {**own, "spec": spec})
    yield from apply("apply against somebody", "one", 6)
    yield from apply("apply the same", "one", 2)
    yield from apply("apply by force", "one", 6, "&force=true")
    yield from apply("apply again", "one", 7)
    yield from apply("apply against an applier", "two", 8)
    yield from apply("apply fewer than none", "one", -1)
    yield from apply("try to apply", "one", 9, "&dryRun=All")
    yield patch("apply nothing", "apply", f"{scale}?fieldManager=one", _SCALE)
    yield get("apply nothing: the object", one)
    yield from apply("apply what is nobody's", "one", 4, "&force=true")
    yield patch("a merge patch", "merge", scale, {"spec": {"replicas": 1}})
    yield get("a merge patch: the object", one)
    yield patch(
        "apply with labels", "apply", f"{scale}?fieldManager=one&force=true", {**put(5), "metadata": _LABEL["metadata"]}
    )
    yield get("apply with labels: the object", one)
    yield patch("apply as nobody", "apply", scale, _SCALE, code=422)
    yield patch("apply another kind", "apply", f"{scale}?fieldManager=one", own, code=400)
    yield patch("apply an unknown field", "apply", f"{scale}?fieldManager=one", {**_SCALE, "odd": 1}, code=500)
    yield patch("apply under another name", "apply", f"{scale}?fieldManager=one", {**_SCALE, "metadata": {"name": "b"}})
    yield patch("apply to what is not there", "apply", f"{many}/nobody/scale?fieldManager=one", _SCALE, code=404)
    yield delete("delete it", one)


STEPS += titled("scales", *_scales())


def _sources() -> Iterator[Step]:
    """Claims that are made of something."""
    many = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    source = {"kind": "PersistentVolumeClaim", "name": "other"}
    for name in ("dataSource", "dataSourceRef"):
        claim = {"metadata": {"name": "copy"}, "spec": {**spec, name: source}}
        yield create(f"a claim with {name}", f"{many}?dryRun=All", claim)


STEPS += titled("persistentvolumeclaims", *_sources())


def _default_classes() -> Iterator[Step]:
    """Claims and ingresses that name no class."""
    storage, ingress = "/apis/storage.k8s.io/v1/storageclasses", "/apis/networking.k8s.io/v1/ingressclasses"
    claims = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims?dryRun=All"
    ingresses = f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/ingresses?dryRun=All"
    kept = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    backend = {"defaultBackend": {"service": {"name": "sample", "port": {"number": 80}}}}

    def seen(name: str, where: str, spec: Sample, *, until: str = "", **annotations: str) -> Step:
        step = create(name, where, {"metadata": {"name": "a", "annotations": annotations}, "spec": spec})
        # the real server knows classes from a cache
        return replace(step, patient=True, until=until)

    def marked(of: str) -> Sample:
        return {"metadata": {"name": "chosen", "annotations": {f"{of}.kubernetes.io/is-default-class": "true"}}}

    yield create("a class of storage", storage, {**marked("storageclass"), "provisioner": "a.example.com"})
    yield create("a class of ingresses", ingress, {**marked("ingressclass"), "spec": {"controller": "example.com/a"}})
    yield seen("a claim", claims, kept, until="chosen")
    yield seen("an ingress", ingresses, backend, until="chosen")
    yield seen("a claim of none", claims, {**kept, "storageClassName": ""})
    yield seen("a claim as of old", claims, kept, **{"volume.beta.kubernetes.io/storage-class": "b"})
    yield seen("an ingress as of old", ingresses, backend, **{"kubernetes.io/ingress.class": "b"})
    yield delete("delete the class of storage", f"{storage}/chosen")
    yield delete("delete the class of ingresses", f"{ingress}/chosen")


STEPS += titled("default classes", *_default_classes())
STEPS += volumes.STEPS + devices.STEPS
