"""A gang: pods that are useful only together, whatever API declared them."""

from __future__ import annotations

from enum import StrEnum

import msgspec

DEFAULT_TIMEOUT_SECONDS = 300.0


class Policy(StrEnum):
    GANG = "gang"
    """Starts when every subset reaches its minimum, otherwise not at all."""
    BASIC = "basic"
    """A group without a minimum: pods start as they fit."""


class DisruptionMode(StrEnum):
    SINGLE = "single"
    """Members may be evicted one by one."""
    ALL = "all"
    """Who takes one member takes them all."""


class Subset(msgspec.Struct, frozen=True, gc=False):
    """Members that share a minimum; most gangs have one, named ""."""

    name: str = ""
    minimum: int = 1
    desired: int | None = None


class Gang(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What its object declares of a gang.  Identity is `key`; a changed object is a new Gang."""

    key: str
    """namespace/name"""
    uid: str
    created: float
    """Creation time of the declaring object, in seconds; the gang's age."""
    subsets: tuple[Subset, ...] = (Subset(),)
    policy: Policy = Policy.GANG
    priority: int | None = None
    """None: the lowest among the members."""
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    """How long a gang may stay bound below its minimum, from its first bound member."""
    disruption: DisruptionMode = DisruptionMode.SINGLE
    parent: str | None = None
    started: bool = False
    """The declaring object says that the minimum was bound once."""
    said: tuple[str, str] | None = None
    """Reason and message of the condition that stands on the object."""

    @property
    def minimum(self) -> int:
        """The minimum over all subsets together."""
        return sum(subset.minimum for subset in self.subsets)


class Membership(msgspec.Struct, frozen=True, gc=False):
    """How a pod names its gang."""

    gang: str
    subset: str = ""
