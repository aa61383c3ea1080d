"""Grants: what a pod was given with its node, as it is to be written to the API before the pod is bound."""

from __future__ import annotations

import msgspec

from muster.api.devices import Allocation, Consumer


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


class Allocate(_Grant, frozen=True, tag="allocate"):
    """Devices are the claim's, and the claim is reserved for those who are to be bound.

    To be written: the allocation, if the claim has none, and entries for all; all at once.  To be taken back: the
    entries, and with them what is allocated, if that leaves nobody.
    """

    claim: str
    """namespace/name"""
    uid: str
    """Of the claim."""
    allocation: Allocation | None
    """Without the time.  None: the claim has its devices, whoever gave them; of what is taken back, they stay."""
    reserved_for: tuple[Consumer, ...] = ()

    @property
    def subject(self) -> str:
        return f"devices {self.uid}"


Grant = SelectNode | ClaimVolume | Allocate
