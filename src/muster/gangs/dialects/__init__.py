"""Adapters from the APIs that name gangs to the Gang model; the engine knows none of their spelling.

A dialect reads the pods' side (`membership`) and the declaring object's side, which it brings into one form; what that
form declares, and how its status says something, is told once.
"""

from __future__ import annotations

from collections.abc import Mapping

from muster.api.wire import Pod, PodGroup
from muster.gangs.dialects import v1beta1
from muster.gangs.dialects.dialect import Dialect
from muster.gangs.model import Gang, Membership

NATIVE = v1beta1.Native()
CUSTOM = v1beta1.Custom()

DIALECTS: tuple[Dialect, ...] = (NATIVE, CUSTOM)
"""In order of precedence: of two names on one pod, and of two objects of one name, the first counts."""

_BY_NAME = {"": NATIVE} | {dialect.name: dialect for dialect in DIALECTS}


def membership(pod: Pod) -> Membership | None:
    """The gang that the pod names, and another that it names besides; None for a lone pod."""
    found: Membership | None = None
    for dialect in DIALECTS:
        named = dialect.membership(pod)
        if found is None:
            found = named
        elif named is not None and named.gang != found.gang:
            return Membership(found.gang, found.subset, besides=named.gang)
    return found


def gang_of(pod: Pod, groups: Mapping[str, PodGroup]) -> str | None:
    """Key of the gang that the pod names, where these objects declare gangs; None for a lone pod."""
    member = membership(pod)
    return None if member is None else member.settled(lambda key: key in groups and declare(groups[key]).gives_way)


def declare(group: PodGroup) -> Gang:
    """The gang that a group declares."""
    return v1beta1.declare(group, dialect=_BY_NAME[group.dialect])
