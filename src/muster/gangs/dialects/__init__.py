"""Adapters from the APIs that name gangs to the Gang model; the engine knows none of their spelling.

A dialect reads the pods' side (`membership`) and the declaring object's side (`declare`), and knows how
a gang's state is written back (`condition`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from muster.api.wire import Condition, Pod, PodGroup
from muster.gangs.dialects.v1beta1 import V1Beta1
from muster.gangs.model import Aspect, Gang, Membership

Declaration = PodGroup
"""Objects that declare gangs, of any dialect."""


class Dialect(Protocol):
    """One API that names gangs."""

    declares: type[Declaration]

    def membership(self, pod: Pod) -> Membership | None:
        """The gang that this pod names in this dialect, if it does."""

    def declare(self, declaration: Declaration) -> Gang:
        """The gang that an object declares."""

    def condition(self, aspect: Aspect, *, holds: bool, reason: str, message: str) -> Condition:
        """How the declaring object's status says it."""


DIALECTS: tuple[Dialect, ...] = (V1Beta1(),)


def membership(pod: Pod) -> Membership | None:
    """The gang that the pod names, in the first dialect that reads one; None for a lone pod."""
    for dialect in DIALECTS:
        if (found := dialect.membership(pod)) is not None:
            return found
    return None


def gang_of(pod: Pod, groups: Mapping[str, Declaration]) -> str | None:
    """Key of the gang that the pod names, where these objects declare gangs; None for a lone pod."""
    member = membership(pod)
    return None if member is None else member.settled(lambda key: key in groups and declare(groups[key]).gives_way)


def declare(declaration: Declaration) -> Gang:
    """The gang that an object declares."""
    return dialect_of(declaration).declare(declaration)


def dialect_of(declaration: Declaration) -> Dialect:
    """The dialect whose objects are of this type."""
    return next(dialect for dialect in DIALECTS if isinstance(declaration, dialect.declares))
