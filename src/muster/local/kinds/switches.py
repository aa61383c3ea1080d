"""The kinds as they are served with the gate GenericWorkload off, as the real API server was seen to do it.

Groups and workloads are not served, and stay where they are stored.  What pods and templates of pods say of groups is
dropped from new objects, before anybody looks whether it is right, and stays in those that have it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from muster.local.codec.values import Object
from muster.local.kinds.kind import Kind

_GROUP = "scheduling.k8s.io"
_SERVED_STILL = "priorityclasses"

_SPEC = ("spec",)
_TEMPLATE = ("spec", "template", "spec")
_FIELD, _JOB_FIELD = "schedulingGroup", "scheduling"

_FIELDS: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("", "pods"): ((*_SPEC, _FIELD),),
    ("", "podtemplates"): (("template", *_SPEC, _FIELD),),
    ("", "replicationcontrollers"): ((*_TEMPLATE, _FIELD),),
    ("apps", "daemonsets"): ((*_TEMPLATE, _FIELD),),
    ("apps", "deployments"): ((*_TEMPLATE, _FIELD),),
    ("apps", "replicasets"): ((*_TEMPLATE, _FIELD),),
    ("apps", "statefulsets"): ((*_TEMPLATE, _FIELD),),
    ("batch", "cronjobs"): (
        ("spec", "jobTemplate", *_TEMPLATE, _FIELD),
        ("spec", "jobTemplate", *_SPEC, _JOB_FIELD),
    ),
    ("batch", "jobs"): ((*_TEMPLATE, _FIELD), (*_SPEC, _JOB_FIELD)),
}
"""By group and plural: where they say something of groups."""


def without_workloads(kinds: Iterable[Kind]) -> tuple[Kind, ...]:
    return tuple(_without_fields(kind) for kind in kinds if kind.group != _GROUP or kind.plural == _SERVED_STILL)


def _without_fields(kind: Kind) -> Kind:
    fields, strategy = _FIELDS.get((kind.group, kind.plural)), kind.strategy
    if fields is None:
        return kind

    def prepare_create(given: Object) -> None:
        for path in fields:
            _drop(given, path)
        strategy.prepare_create(given)

    def prepare_update(new: Object, old: Object) -> None:
        for path in fields:
            if not _has(old, path):
                _drop(new, path)
        strategy.prepare_update(new, old)

    return replace(kind, strategy=replace(strategy, prepare_create=prepare_create, prepare_update=prepare_update))


def _holder(given: Object, path: tuple[str, ...]) -> Any:
    for name in path[:-1]:
        given = given.get(name) or {}
    return given


def _has(given: Object, path: tuple[str, ...]) -> bool:
    return path[-1] in _holder(given, path)


def _drop(given: Object, path: tuple[str, ...]) -> None:
    _holder(given, path).pop(path[-1], None)
