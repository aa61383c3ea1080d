"""Which claims for devices a pod names, and what keeps it from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from muster.api.devices import Consumer, ResourceClaim
from muster.api.wire import OwnerReference, Pod, PodClaim

_GROUPS = "scheduling.k8s.io"

MOST_CONSUMERS = 256
"""So many may use one claim."""


class Named(NamedTuple):
    """A claim of a pod."""

    key: str
    """namespace/name; "" as long as nobody knows it."""
    is_made: bool
    """It was made for the pod, or for its group, from a template."""
    problem: str = ""


def named_claims(pod: Pod) -> Iterator[Named]:
    """In the pod's order; entries that need no claim are left out."""
    made = {one.name: one.resource_claim_name for one in pod.status.resource_claim_statuses}
    for entry in pod.spec.resource_claims:
        if entry.resource_claim_name:
            yield Named(_key(pod, entry.resource_claim_name), is_made=False)
        elif entry.name in made:
            if name := made[entry.name]:
                yield Named(_key(pod, name), is_made=True)
        else:
            yield Named("", is_made=False, problem=_unknown(pod, entry))


def _unknown(pod: Pod, entry: PodClaim) -> str:
    who = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if entry.resource_claim_template_name:
        return f'pod "{who}": ResourceClaim not created yet'
    return f'pod "{who}", spec.resourceClaim "{entry.name}": none of the supported fields are set'


def problem(pod: Pod, claims: Mapping[str, ResourceClaim]) -> str | None:
    """Why some claim of the pod cannot be met before something else happens."""
    found = (named.problem or _problem(pod, named, claims.get(named.key)) for named in named_claims(pod))
    return next((why for why in found if why), None)


def _problem(pod: Pod, named: Named, claim: ResourceClaim | None) -> str:
    if claim is None:
        return f'could not find ResourceClaim "{named.key}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'resourceclaim "{claim.metadata.name}" is being deleted'
    if named.is_made and not _is_owner(pod, claim):
        group = _group(pod)
        whose = f"neither Pod nor PodGroup {group} is the owner" if group else "Pod is not owner"
        who = f"{pod.metadata.namespace}/{pod.metadata.name}"
        return f"ResourceClaim {named.key} was not created for Pod {who} ({whose})"
    entries, uid = claim.status.reserved_for, consumer_of(pod, claim).uid
    if len(entries) >= MOST_CONSUMERS and all(one.uid != uid for one in entries):
        return f"ResourceClaim {named.key} is reserved for {len(entries)} pods, and no more may use it"
    return ""


def consumer_of(pod: Pod, claim: ResourceClaim) -> Consumer:
    """For whom the claim is reserved so that the pod may use it: what was made for its group, for all of it."""
    owner = claim.metadata.controller
    if owner is not None and _is_of_group(pod, owner):
        return Consumer(api_group=_GROUPS, resource="podgroups", name=owner.name, uid=owner.uid)
    return Consumer(resource="pods", name=pod.metadata.name, uid=pod.metadata.uid)


def _is_owner(pod: Pod, claim: ResourceClaim) -> bool:
    owner = claim.metadata.controller
    return owner is not None and (owner.uid == pod.metadata.uid or _is_of_group(pod, owner))


def _is_of_group(pod: Pod, owner: OwnerReference) -> bool:
    return owner.kind == "PodGroup" and owner.name == _group(pod) != ""


def _group(pod: Pod) -> str:
    group = pod.spec.scheduling_group
    return "" if group is None else group.pod_group_name or ""


def _key(pod: Pod, name: str) -> str:
    return f"{pod.metadata.namespace}/{name}"
