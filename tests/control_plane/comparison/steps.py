"""Steps of the script: requests as data, and small builders for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote, urlencode

JSON = "application/json"
YAML = "application/yaml"
PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

SHAPES = "/apis/shapes.example.com/v1"
_ROOTS = {
    "namespaces": "/api/v1",
    "nodes": "/api/v1",
    "pods": "/api/v1",
    "events": "/api/v1",
    "configmaps": "/api/v1",
    "secrets": "/api/v1",
    "services": "/api/v1",
    "serviceaccounts": "/api/v1",
    "jobs": "/apis/batch/v1",
    "priorityclasses": "/apis/scheduling.k8s.io/v1",
    "workloads": "/apis/scheduling.k8s.io/v1beta1",
    "podgroups": "/apis/scheduling.k8s.io/v1beta1",
    "leases": "/apis/coordination.k8s.io/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "events.events.k8s.io": "/apis/events.k8s.io/v1",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1",
    "circles": SHAPES,
    "planes": SHAPES,
    "knots": SHAPES,
    "clouds": SHAPES,
    "mists": SHAPES,
    "turns": SHAPES,
    "squares": SHAPES,
}


@dataclass(frozen=True, kw_only=True)
class Step:
    """One request, and the code that the real server answers.

    `${name}` in path and body stands for a value that an earlier step kept.
    """

    name: str
    method: str
    path: str
    code: int
    body: object = None
    """Sent as it is if it is bytes or text, as JSON if it is anything else."""
    content_type: str = JSON
    accept: str = JSON
    keep: Mapping[str, str] = field(default_factory=dict)
    """Name → where in the answer the value is: "metadata.uid"."""
    patient: bool = False
    """Asked again until the code is right: some of what the real server does, it does a moment later."""
    until: str = ""
    """If patient: asked again until the answer has this text."""
    token: str = ""
    """Comes as somebody with this token, not as the admin."""
    during: tuple[Step, ...] = ()
    """What is done while this one, a watch, is open."""


def at(plural: str, namespace: str = "", name: str = "", sub: str = "", **query: object) -> str:
    """The path of a kind's objects, of one of them, or of a part of it."""
    inside = ("namespaces", namespace) if namespace else ()
    path = "/".join(part for part in (_ROOTS[plural], *inside, plural.partition(".")[0], name, sub) if part)
    return f"{path}?{urlencode(query, quote_via=quote, safe='${}')}" if query else path


def get(name: str, path: str, *, code: int = 200, accept: str = JSON, keep: Mapping[str, str] = {}) -> Step:
    return Step(name=name, method="GET", path=path, code=code, accept=accept, keep=keep)


def wait(name: str, path: str, *, code: int = 200, until: str = "") -> Step:
    """Reads until the code is right and the answer has a text."""
    return Step(name=name, method="GET", path=path, code=code, patient=True, until=until)


def create(
    name: str,
    path: str,
    body: object,
    *,
    code: int = 201,
    content_type: str = JSON,
    accept: str = JSON,
    keep: Mapping[str, str] = {},
    patient: bool = False,
) -> Step:
    return Step(
        name=name,
        method="POST",
        path=path,
        body=body,
        code=code,
        content_type=content_type,
        accept=accept,
        keep=keep,
        patient=patient,
    )


def update(name: str, path: str, body: object, *, code: int = 200, keep: Mapping[str, str] = {}) -> Step:
    return Step(name=name, method="PUT", path=path, body=body, code=code, keep=keep)


def patch(
    name: str,
    how: str,
    path: str,
    body: object,
    *,
    code: int = 200,
    keep: Mapping[str, str] = {},
    patient: bool = False,
) -> Step:
    return Step(
        name=name,
        method="PATCH",
        path=path,
        body=body,
        code=code,
        content_type=PATCHES[how],
        keep=keep,
        patient=patient,
    )


def delete(name: str, path: str, body: object = None, *, code: int = 200, patient: bool = False) -> Step:
    return Step(name=name, method="DELETE", path=path, body=body, code=code, patient=patient)


def watch(name: str, path: str, *during: Step, code: int = 200, accept: str = JSON) -> Step:
    """Takes the second that the path gives it."""
    return Step(name=name, method="GET", path=path, code=code, accept=accept, during=during)


def titled(title: str, *steps: Step) -> tuple[Step, ...]:
    """The steps of a chapter, their names made unique by its title."""
    return tuple(_titled(title, step) for step in steps)


def _titled(title: str, step: Step) -> Step:
    return replace(step, name=f"{title}: {step.name}", during=titled(title, *step.during))
