"""What plugins by users are asked on a pod's way from its place to its node, by the driver and not by the engine."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Step(StrEnum):
    """Where they are asked, in this order; each is called as the plugin's method is."""

    PERMIT = "permit"
    """Before anything is done for the unit."""
    PRE_BIND = "pre_bind"
    """When all of the unit is permitted."""
    BIND = "bind"
    """When all of the unit is ready."""
    POST_BIND = "post_bind"
    """When the pod is bound."""


AWAITED = (Step.PERMIT, Step.PRE_BIND)
"""Where all of a unit wait for the answers."""


class Question(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One plugin is asked about one pod that has a place; all of the unit wait for the answer."""

    number: int
    """Of all that are asked: who is asked the same once more is asked another question."""
    step: Step
    """One of those that are awaited."""
    plugin: str
    uid: str
    pod: str
    """namespace/name"""
    node: str
