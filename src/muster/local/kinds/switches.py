"""The kinds as they are served with a gate off; with GenericWorkload off as the real API server was seen to do it.

Groups and workloads are not served, and stay where they are stored.  Only the scheduler of `muster up` sees the groups
still, in an API group of which no document tells: gangs that are half bound are to be finished.  What pods and
templates of pods say of groups is dropped from new objects, before anybody looks whether it is right, and stays in
those that have it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from muster.local.codec.values import Object
from muster.local.kinds.kind import Kind

_GROUP = "scheduling.k8s.io"
_SERVED_STILL = "priorityclasses"
_STORED = ("v1beta1", "podgroups")
_STORED_GROUP = "stored.muster.dev"
_SUBSETS_GROUP = "coscheduling.muster.dev"
_IS_OFF = "no new ones are taken: the feature gate {} is off"

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
    return tuple(found for kind in kinds if (found := _switched_off(kind)) is not None)


def refused(*, workloads: bool, pod_groups: bool) -> dict[str, str]:
    """API groups that take no new objects, and why, given which of the gates GenericWorkload and PodGroup are on."""
    stored = {} if workloads else {_STORED_GROUP: _IS_OFF.format("GenericWorkload")}
    return stored | ({} if pod_groups else {_SUBSETS_GROUP: _IS_OFF.format("PodGroup")})


def _switched_off(kind: Kind) -> Kind | None:
    if kind.group != _GROUP or kind.plural == _SERVED_STILL:
        return _without_fields(kind)
    if (kind.version, kind.plural) != _STORED:
        return None
    strategy = replace(kind.strategy, home_group=_GROUP)
    return replace(kind, group=_STORED_GROUP, is_hidden=True, strategy=strategy)


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
