"""What pods bring and nobody goes with: looked for when a scenario is over, by what the API shows.

Volumes that claims have are kept, whoever uses them: a volume that was made for a node nobody goes to is the claim's
all the same.  So is whatever is kept for those who are just being made ready, of which their condition tells.
"""

from __future__ import annotations

from collections.abc import Iterator

from muster.api.devices import Consumer, ResourceClaim
from muster.api.kinds import CLAIMS, Address
from muster.api.volumes import SELECTED_NODE, PersistentVolume, PersistentVolumeClaim
from muster.api.wire import Condition, Pod
from muster.gangs.model import PREPARING
from muster.sim.scenario.record import Record, Unit, scheduled_condition
from muster.volumes.claims import named_claims

# of a volume whose claim had it: what becomes of it is its owner's affair
_HAD = ("Bound", "Released", "Failed")


def find_leaks(record: Record) -> list[str]:
    """One text for each thing that is kept for nobody who goes."""
    seen = _Seen(record)
    found: list[str] = []
    for address, fact in sorted(record.facts.items()):
        name = fact.metadata.name
        if isinstance(fact, ResourceClaim):
            found += [f"claim {name} is {what}" for what in seen.devices(fact)]
        elif isinstance(fact, PersistentVolumeClaim):
            node = fact.metadata.annotations.get(SELECTED_NODE)
            if node and not fact.spec.volume_name and not seen.is_awaited(address.key):
                found.append(f"claim {name} waits for a volume on {node}")
        elif isinstance(fact, PersistentVolume) and (claim := seen.kept_for(fact)):
            found.append(f"volume {name} is kept for claim {claim}")
    return found


class _Seen:
    """What pods and claims there are, and who of the pods goes or may."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._going = {pod.metadata.uid for unit in record.units.values() for pod in unit.live if _goes(unit, pod)}
        self._awaited = {
            named.key
            for uid in self._going
            for named in named_claims(record.pods[uid])
            if not record.pods[uid].spec.node_name
        }

    def is_awaited(self, claim: str) -> bool:
        """Whether somebody who is made ready waits for the claim's volume."""
        return claim in self._awaited

    def devices(self, claim: ResourceClaim) -> Iterator[str]:
        entries = claim.status.reserved_for
        if claim.status.allocation is not None and not entries:
            yield "allocated, and reserved for nobody"
        for one in entries:
            if not self._goes(one):
                yield f"reserved for {one.name}"

    def _goes(self, consumer: Consumer) -> bool:
        if consumer.resource == "pods":
            return consumer.uid in self._going
        for unit in self._record.units.values():
            if unit.group is not None and unit.group.metadata.uid == consumer.uid:
                return bool(self._going & unit.pods.keys())
        return False

    def kept_for(self, volume: PersistentVolume) -> str:
        """The claim that it is kept for though that one will not have it; "" if there is none."""
        kept = volume.spec.claim_ref
        if kept is None or not kept.uid:
            # kept by its user for a claim of that name
            return ""
        key = f"{kept.namespace}/{kept.name}"
        claim = self._record.facts.get(Address(CLAIMS.name, key))
        if not isinstance(claim, PersistentVolumeClaim) or claim.metadata.uid != kept.uid:
            return "" if volume.status.phase in _HAD else kept.name
        if claim.spec.volume_name:
            return "" if claim.spec.volume_name == volume.metadata.name else kept.name
        return "" if self.is_awaited(key) else kept.name


def _goes(unit: Unit, pod: Pod) -> bool:
    """Whether a pod that has not ended is bound, or is just being made ready."""
    if pod.spec.node_name:
        return True
    said = (unit.condition, unit.below) if unit.gang else (scheduled_condition(pod),)
    return any(_prepares(one) for one in said)


def _prepares(said: Condition | None) -> bool:
    return said is not None and said.reason == PREPARING
