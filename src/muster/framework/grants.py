"""Grants: what a pod was given with its node, as it is to be written to the API before the pod is bound."""

from __future__ import annotations

import msgspec


class _Grant(msgspec.Struct, frozen=True, gc=False, tag_field="grant", omit_defaults=True):
    pass


class SelectNode(_Grant, frozen=True, tag="select-node"):
    """A volume is to be provisioned for the claim where this node reaches it."""

    claim: str
    """namespace/name"""
    uid: str
    """Of the claim: another one of its name is granted nothing."""
    node: str

    @property
    def subject(self) -> str:
        return f"claim {self.uid}"


class ClaimVolume(_Grant, frozen=True, tag="claim-volume"):
    """The volume is the claim's."""

    volume: str
    volume_uid: str
    claim: str
    """namespace/name"""
    uid: str
    """Of the claim."""

    @property
    def subject(self) -> str:
        return f"volume {self.volume_uid}"


Grant = SelectNode | ClaimVolume
