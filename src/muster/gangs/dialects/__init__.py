"""Adapters from the APIs that name gangs to the Gang model; the engine knows none of their spelling.

A dialect reads the pods' side (`membership`) and the declaring object's side, which it brings into one form; what that
form declares, and how its status says something, is told once.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from muster.api.wire import Pod, PodGroup
from muster.gangs import owners
from muster.gangs.dialects import v1beta1
from muster.gangs.dialects.coscheduling import Coscheduling
from muster.gangs.dialects.dialect import Dialect
from muster.gangs.dialects.draft import Draft
from muster.gangs.dialects.kai import Kai
from muster.gangs.dialects.labels import Labels
from muster.gangs.dialects.subsets import Subsets
from muster.gangs.dialects.v1alpha1 import V1Alpha1
from muster.gangs.dialects.v1alpha2 import V1Alpha2
from muster.gangs.dialects.volcano import Volcano
from muster.gangs.model import Gang, Membership

NATIVE = v1beta1.Native()
CUSTOM = v1beta1.Custom()
SUBSETS = Subsets()
V1ALPHA1 = V1Alpha1()
DRAFT = Draft()
LABELS = Labels()

DIALECTS: tuple[Dialect, ...] = (
    NATIVE,
    V1Alpha2(),
    SUBSETS,
    V1ALPHA1,
    DRAFT,
    CUSTOM,
    Coscheduling(),
    Volcano(),
    Kai(),
    LABELS,
)
"""In order of precedence: of two names on one pod, and of two objects of one name, the first counts."""

_MARKS = frozenset(name for dialect in DIALECTS for name in (*dialect.marks.labels, *dialect.marks.annotations))
_REMARKED = owners.LABELS.union(*(dialect.marks.labels for dialect in DIALECTS))
_BY_NAME = {"": NATIVE} | {dialect.name: dialect for dialect in DIALECTS}


def is_plain(pod: Pod) -> bool:
    """Whether the pod names no gang but in the field that Kubernetes has for it, as most do."""
    meta, spec = pod.metadata, pod.spec
    return (
        _MARKS.isdisjoint(meta.labels)
        and (not meta.annotations or _MARKS.isdisjoint(meta.annotations))
        and spec.workload_ref is None
        and spec.pod_group is None
        and spec.workload is None
    )


def membership(pod: Pod) -> Membership | None:
    """The gang that the pod names, and another that it names besides; None for a lone pod."""
    if pod.astray or pod.alone:
        return None
    if is_plain(pod):
        return NATIVE.membership(pod)
    found: Membership | None = None
    for dialect in DIALECTS:
        named = dialect.membership(pod)
        if found is None:
            found = named
        elif named is not None and named.gang != found.gang:
            return replace(found, besides=named.gang, besides_subset=named.subset)
    return found


def remark(pod: Pod) -> str:
    """Why a lone pod is no member although it says something of that; "" for most."""
    if pod.alone or _REMARKED.isdisjoint(pod.metadata.labels):
        return ""
    return next(filter(None, (dialect.remark(pod) for dialect in DIALECTS)), "") or owners.remark(pod)


def gang_of(pod: Pod, groups: Mapping[str, PodGroup]) -> str | None:
    """Key of the gang that the pod names, where these objects declare gangs; None for a lone pod."""
    member = membership(pod)
    return None if member is None else member.settled(lambda key: key in groups and declare(groups[key]).gives_way)


def declare(group: PodGroup) -> Gang:
    """The gang that a group declares."""
    return v1beta1.declare(group, dialect=_BY_NAME[group.dialect])
