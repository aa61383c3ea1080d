"""Objects to send: small ones, with all that their kinds demand."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def meta(name: str, **more: object) -> Object:
    return {"name": name, **more}


def container(name: str = "main", **more: object) -> Object:
    return {"name": name, "image": "registry.example.com/main:1", **more}


def pod(name: str, *, labels: Object | None = None, containers: list[Object] | None = None, **spec: object) -> Object:
    metadata = meta(name, labels=labels) if labels else meta(name)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers or [container()], **spec},
    }


def pod_with(name: str, **metadata: object) -> Object:
    return {**pod(name), "metadata": meta(name, **metadata)}


def node(name: str, *, labels: Object | None = None, **spec: object) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta(name, labels=labels or {}), "spec": spec}


def namespace(name: str, **metadata: object) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta(name, **metadata)}


def config_map(name: str, data: Object | None = None, **metadata: object) -> Object:
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta(name, **metadata)}
    return made if data is None else {**made, "data": data}


def secret(name: str, data: Object | None = None, **more: object) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta(name), "data": data or {}, **more}


def service(name: str, *, ports: list[Object] | None = None, **spec: object) -> Object:
    ports = [{"port": 80}] if ports is None else ports
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta(name), "spec": {"ports": ports, **spec}}


def account(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(name)}


def job(name: str, *, template: Object | None = None, **spec: object) -> Object:
    template = template or {"spec": {"restartPolicy": "Never", "containers": [container()]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta(name), "spec": {"template": template, **spec}}


def priority_class(name: str, value: int, **more: object) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": meta(name),
        "value": value,
        **more,
    }


def template(name: str = "workers", **more: object) -> Object:
    return {"name": name, "schedulingPolicy": {"gang": {"minCount": 2}}, **more}


def workload(name: str, *, templates: list[Object] | None = None, **spec: object) -> Object:
    spec = {"podGroupTemplates": [template()] if templates is None else templates, **spec}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "metadata": meta(name), "spec": spec}


def group(name: str, *, minimum: int = 2, **spec: object) -> Object:
    spec = {"schedulingPolicy": {"gang": {"minCount": minimum}}, **spec}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": meta(name), "spec": spec}


def lease(name: str, **spec: object) -> Object:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta(name), "spec": spec}


def budget(name: str, *, labels: Object, **spec: object) -> Object:
    spec = {"selector": {"matchLabels": labels}, **spec}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta(name), "spec": spec}


def event(name: str, namespace: str, **more: object) -> Object:
    """Of the core group."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": meta(name, namespace=namespace),
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": "sample"},
        "reason": "Tested",
        "message": "a test said so",
        "type": "Normal",
        "source": {"component": "comparison"},
        "firstTimestamp": "2001-02-03T04:05:06Z",
        "lastTimestamp": "2001-02-03T04:05:06Z",
        "count": 1,
        **more,
    }


def new_event(name: str, namespace: str, **more: object) -> Object:
    """Of events.k8s.io."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": meta(name, namespace=namespace),
        "eventTime": "2001-02-03T04:05:06.000007Z",
        "reportingController": "example.com/comparison",
        "reportingInstance": "comparison-1",
        "action": "Test",
        "reason": "Tested",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": "sample"},
        "note": "a test said so",
        "type": "Normal",
        **more,
    }


def definition(plural: str, kind: str, *, scope: str = "Namespaced", version: Object, **spec: object) -> Object:
    """A CRD of shapes.example.com with one version, v1."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": meta(f"{plural}.shapes.example.com"),
        "spec": {
            "group": "shapes.example.com",
            "scope": scope,
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": True, "storage": True, **version}],
            **spec,
        },
    }


def binding(name: str, node_name: str, **metadata: object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": meta(name, **metadata),
        "target": {"kind": "Node", "name": node_name},
    }


def eviction(name: str, **more: object) -> Object:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta(name), **more}


def options(**fields: object) -> Object:
    return {"apiVersion": "v1", "kind": "DeleteOptions", **fields}


def applied(obj: Object, **top: object) -> Object:
    """The object with other top-level fields: for applies that say little."""
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": obj["metadata"], **top}
