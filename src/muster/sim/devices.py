"""What the API server and the controller of claims do with devices, in virtual time.

What is granted stands there at once, and what nobody uses any more is given back at once, unless annotations of the
claim say otherwise:

    muster.dev/allocate-after   so many seconds later
    muster.dev/allocate-fails   so many times
    muster.dev/release-after    so many seconds after the last pod that had it is gone
"""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from muster.api.devices import FINALIZER, Allocation, Consumer, ResourceClaim
from muster.api.kinds import RESOURCE_CLAIMS, Address
from muster.api.times import stamp
from muster.framework.grants import Allocate
from muster.sim.volumes import Keeper

AFTER = "muster.dev/allocate-after"
FAILS = "muster.dev/allocate-fails"
RELEASED_AFTER = "muster.dev/release-after"


class Devices:
    """Writes allocations and reservations, and takes them away."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._failures: Counter[str] = Counter()
        """By UID of the claim."""
        self._to_write: dict[str, Allocate] = {}
        """What is not written yet, by UID of the claim: of each the last."""

    def grant(self, grant: Allocate) -> str:
        """Writes the grant, or will; "" or why that cannot be."""
        claim = self._claim(grant.claim)
        asked = {} if claim is None else claim.metadata.annotations
        if self._failures[grant.uid] < int(asked.get(FAILS, 0)):
            self._failures[grant.uid] += 1
            return f"a policy does not allow it for claim {grant.claim}"
        if after := float(asked.get(AFTER, 0)):
            self._to_write[grant.uid] = grant
            self._keeper.at(self._keeper.now + after, lambda: self._write_late(grant))
            return ""
        return self._grant(grant)

    def _write_late(self, grant: Allocate) -> None:
        if self._to_write.get(grant.uid) is grant:
            del self._to_write[grant.uid]
            self._grant(grant)

    def _grant(self, grant: Allocate) -> str:
        claim = self._claim(grant.claim)
        if claim is None or claim.metadata.uid != grant.uid or claim.metadata.deletion_timestamp is not None:
            return f"claim {grant.claim} was deleted"
        there, given = claim.status.allocation, grant.allocation
        if there is None and given is None:
            return f"claim {grant.claim} got deallocated elsewhere in the meantime"
        if there is not None and given is not None and there.devices.results != given.devices.results:
            return f"claim {grant.claim} got allocated elsewhere in the meantime"
        if there is None and given is not None:
            there = replace(given, allocation_timestamp=stamp(self._keeper.now))
        entries = {one.uid: one for one in (*claim.status.reserved_for, *grant.reserved_for)}
        self._write(claim, there, tuple(entries.values()))
        return ""

    def take_back(self, grant: Allocate) -> None:
        self._to_write.pop(grant.uid, None)
        claim = self._claim(grant.claim)
        if claim is not None and claim.metadata.uid == grant.uid:
            self._release(claim, {one.uid for one in grant.reserved_for}, stays=grant.allocation is None)

    def pod_ended(self, uid: str) -> None:
        """The pod is gone, or will not run any more."""
        for address, claim in list(self._keeper.facts.items()):
            if isinstance(claim, ResourceClaim) and any(one.uid == uid for one in claim.status.reserved_for):
                later = self._keeper.now + float(claim.metadata.annotations.get(RELEASED_AFTER, 0))
                self._keeper.at(later, lambda key=address.key: self._let_go(key, uid))  # type: ignore[misc]

    def _let_go(self, key: str, uid: str) -> None:
        claim = self._claim(key)
        if claim is not None:
            self._release(claim, {uid}, stays=False)

    def _release(self, claim: ResourceClaim, uids: set[str], *, stays: bool) -> None:
        status = claim.status
        left = tuple(one for one in status.reserved_for if one.uid not in uids)
        if left != status.reserved_for or (status.allocation is not None and not left and not stays):
            self._write(claim, status.allocation if left or stays else None, left)

    def _claim(self, key: str) -> ResourceClaim | None:
        found = self._keeper.facts.get(Address(RESOURCE_CLAIMS.name, key))
        return found if isinstance(found, ResourceClaim) else None

    def _write(self, claim: ResourceClaim, allocation: Allocation | None, entries: tuple[Consumer, ...]) -> None:
        finalizers = () if allocation is None else (FINALIZER,)
        others = tuple(one for one in claim.metadata.finalizers if one != FINALIZER)
        meta = replace(claim.metadata, finalizers=(*others, *finalizers))
        status = replace(claim.status, allocation=allocation, reserved_for=entries)
        self._keeper.put_fact(replace(claim, metadata=meta, status=status))
