"""How grants are written, and taken back: what Muster writes to objects that pods bring.

An object is read before it is changed and the change names the version that was read: whoever was faster is respected.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from muster.api.devices import FINALIZER
from muster.api.kinds import CLAIMS, RESOURCE_CLAIMS, VOLUMES, Kind
from muster.api.times import stamp
from muster.api.volumes import BOUND_BY_CONTROLLER, SELECTED_NODE
from muster.api.wire import Fact
from muster.base.errors import ApiError
from muster.framework.grants import Allocate, ClaimVolume, Grant, SelectNode
from muster.kube.client import MERGE_PATCH, Client

_encode = msgspec.json.Encoder().encode


class NotGrantedError(Exception):
    """The object is not as it was when the grant was made, or somebody forbids it: trying again would not help."""


async def write_grant(client: Client, grant: Grant, *, at: float) -> None:
    """Writes it at that time.  Raises NotGrantedError, or KubeError if it is to be tried again."""
    try:
        match grant:
            case SelectNode():
                await _select_node(client, grant)
            case ClaimVolume():
                await _claim_volume(client, grant)
            case Allocate():
                await _allocate(client, grant, at)
    except ApiError as error:
        if error.code in (403, 404, 422):
            raise NotGrantedError(error.message) from error
        raise


async def take_back(client: Client, grant: Grant) -> None:
    """Undoes what was granted, unless somebody has acted on it, or it is not there."""
    try:
        match grant:
            case SelectNode():
                await _unselect_node(client, grant)
            case ClaimVolume():
                await _free_volume(client, grant)
            case Allocate():
                await _give_back(client, grant)
    except ApiError as error:
        if error.code != 404:
            raise


# --- claims ---


async def _select_node(client: Client, grant: SelectNode) -> None:
    claim = await _read(client, CLAIMS, grant.claim)
    _must_be(claim, grant.uid, f"claim {grant.claim}")
    selected = _annotations(claim).get(SELECTED_NODE)
    if claim["spec"].get("volumeName") or selected == grant.node:
        return
    if selected:
        raise NotGrantedError(f"a volume is being provisioned for claim {grant.claim} on {selected}")
    await _annotate(client, claim, grant.claim, grant.node)


async def _unselect_node(client: Client, grant: SelectNode) -> None:
    claim = await _read(client, CLAIMS, grant.claim)
    mine = claim["metadata"]["uid"] == grant.uid and _annotations(claim).get(SELECTED_NODE) == grant.node
    if mine and not claim["spec"].get("volumeName"):
        await _annotate(client, claim, grant.claim, None)


async def _annotate(client: Client, claim: dict[str, Any], key: str, node: str | None) -> None:
    await _patch(client, CLAIMS, key, claim, {"metadata": {"annotations": {SELECTED_NODE: node}}})


# --- volumes ---


async def _claim_volume(client: Client, grant: ClaimVolume) -> None:
    volume = await _read(client, VOLUMES, grant.volume)
    _must_be(volume, grant.volume_uid, f"volume {grant.volume}")
    kept = volume["spec"].get("claimRef") or {}
    namespace, _, name = grant.claim.partition("/")
    if kept.get("uid") == grant.uid:
        return
    if kept and (kept.get("uid") or (kept.get("namespace"), kept.get("name")) != (namespace, name)):
        raise NotGrantedError(f"volume {grant.volume} is another claim's by now")
    ours = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": namespace,
        "name": name,
        "uid": grant.uid,
    }
    # a volume that its user keeps for the claim is the claim's whatever becomes of us
    said = {} if kept else {"metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}}}
    await _patch(client, VOLUMES, grant.volume, volume, {"spec": {"claimRef": ours}, **said})


async def _free_volume(client: Client, grant: ClaimVolume) -> None:
    volume = await _read(client, VOLUMES, grant.volume)
    kept = volume["spec"].get("claimRef") or {}
    if volume["metadata"]["uid"] != grant.volume_uid or kept.get("uid") != grant.uid:
        return
    if volume.get("status", {}).get("phase") == "Bound":
        # the claim has it by now
        return
    if BOUND_BY_CONTROLLER in _annotations(volume):
        freed: dict[str, Any] = {"metadata": {"annotations": {BOUND_BY_CONTROLLER: None}}, "spec": {"claimRef": None}}
    else:
        freed = {"spec": {"claimRef": {"uid": None}}}
    await _patch(client, VOLUMES, grant.volume, volume, freed)


# --- devices ---


async def _allocate(client: Client, grant: Allocate, at: float) -> None:
    """The finalizer first: the API server ignores metadata in a write of the status."""
    claim = await _read(client, RESOURCE_CLAIMS, grant.claim)
    _must_be(claim, grant.uid, f"claim {grant.claim}")
    status = claim.get("status") or {}
    written = _missing(grant, status, at)
    if not written:
        return
    finalizers = claim["metadata"].get("finalizers") or []
    if FINALIZER not in finalizers:
        kept = {"metadata": {"finalizers": [*finalizers, FINALIZER]}}
        claim = await _patch(client, RESOURCE_CLAIMS, grant.claim, claim, kept)
    await _patch(client, RESOURCE_CLAIMS, grant.claim, claim, {"status": written}, subresource="status")


def _missing(grant: Allocate, status: dict[str, Any], at: float) -> dict[str, Any]:
    """What the status lacks of the grant, all in one: with it, and with entries for all, the claim is theirs."""
    there, written = status.get("allocation"), dict[str, Any]()
    if there is None:
        if grant.allocation is None:
            raise NotGrantedError(f"claim {grant.claim} got deallocated elsewhere in the meantime")
        # without the time kube-scheduler cannot reserve the claim for anybody else later
        written["allocation"] = msgspec.to_builtins(replace(grant.allocation, allocation_timestamp=stamp(at)))
    elif grant.allocation is not None and _devices(there) != _devices(msgspec.to_builtins(grant.allocation)):
        raise NotGrantedError(f"claim {grant.claim} got allocated elsewhere in the meantime")
    entries = status.get("reservedFor") or []
    known = {one["uid"] for one in entries}
    more = [msgspec.to_builtins(one) for one in grant.reserved_for if one.uid not in known]
    if more:
        written["reservedFor"] = entries + more
    return written


def _devices(allocation: dict[str, Any]) -> list[tuple[str, ...]]:
    results = (allocation.get("devices") or {}).get("results") or []
    return [(one["request"], one["driver"], one["pool"], one["device"], one.get("shareID") or "") for one in results]


async def _give_back(client: Client, grant: Allocate) -> None:
    """Takes the entries out; what is allocated goes with the last of all, and then the finalizer."""
    claim = await _read(client, RESOURCE_CLAIMS, grant.claim)
    if claim["metadata"]["uid"] != grant.uid:
        return
    status = claim.get("status") or {}
    entries, ours = status.get("reservedFor") or [], {one.uid for one in grant.reserved_for}
    others = [one for one in entries if one["uid"] not in ours]
    there = status.get("allocation")
    if there and grant.allocation and _devices(there) != _devices(msgspec.to_builtins(grant.allocation)):
        # somebody else's: nothing of ours is there
        return
    if there is None:
        # not written, or given back by now; the finalizer may be there all the same
        pass
    elif not others and grant.allocation is not None:
        freed = {"status": {"allocation": None, "reservedFor": None}}
        claim = await _patch(client, RESOURCE_CLAIMS, grant.claim, claim, freed, subresource="status")
    else:
        if len(others) < len(entries):
            left = {"status": {"reservedFor": others or None}}
            await _patch(client, RESOURCE_CLAIMS, grant.claim, claim, left, subresource="status")
        return
    finalizers = claim["metadata"].get("finalizers") or []
    if FINALIZER in finalizers:
        kept = [one for one in finalizers if one != FINALIZER]
        await _patch(client, RESOURCE_CLAIMS, grant.claim, claim, {"metadata": {"finalizers": kept}})


# --- any ---


async def _read(client: Client, kind: Kind[Fact], key: str) -> dict[str, Any]:
    return msgspec.json.decode(await client.request("GET", _path(kind, key)), type=dict[str, Any])


async def _patch(
    client: Client,
    kind: Kind[Fact],
    key: str,
    read: dict[str, Any],
    patch: dict[str, dict[str, Any]],
    *,
    subresource: str = "",
) -> dict[str, Any]:
    """The object as it is then."""
    meta = read["metadata"]
    seen = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    body = {**patch, "metadata": {**patch.get("metadata", {}), **seen}}
    path = _path(kind, key, subresource)
    answer = await client.request("PATCH", path, body=_encode(body), content_type=MERGE_PATCH)
    return msgspec.json.decode(answer, type=dict[str, Any])


def _path(kind: Kind[Fact], key: str, subresource: str = "") -> str:
    namespace, _, name = key.rpartition("/")
    return kind.resource.path(namespace, name, subresource)


def _must_be(found: dict[str, Any], uid: str, what: str) -> None:
    meta = found["metadata"]
    if meta["uid"] != uid or meta.get("deletionTimestamp"):
        raise NotGrantedError(f"{what} was deleted")


def _annotations(found: dict[str, Any]) -> dict[str, str]:
    return found["metadata"].get("annotations") or {}
