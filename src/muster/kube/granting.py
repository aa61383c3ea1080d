"""How grants are written, and taken back: what Muster writes to objects that pods bring.

An object is read before it is changed and the change names the version that was read: whoever was faster is respected.
"""

from __future__ import annotations

from typing import Any

import msgspec

from muster.api.kinds import CLAIMS, VOLUMES, Kind
from muster.api.volumes import BOUND_BY_CONTROLLER, SELECTED_NODE
from muster.api.wire import Fact
from muster.base.errors import ApiError
from muster.framework.grants import ClaimVolume, Grant, SelectNode
from muster.kube.client import MERGE_PATCH, Client

_encode = msgspec.json.Encoder().encode


class NotGrantedError(Exception):
    """The object is not as it was when the grant was made, or somebody forbids it: trying again would not help."""


async def write_grant(client: Client, grant: Grant) -> None:
    """Raises NotGrantedError, or KubeError if it is to be tried again."""
    try:
        match grant:
            case SelectNode():
                await _select_node(client, grant)
            case ClaimVolume():
                await _claim_volume(client, grant)
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


# --- any ---


async def _read(client: Client, kind: Kind[Fact], key: str) -> dict[str, Any]:
    return msgspec.json.decode(await client.request("GET", _path(kind, key)), type=dict[str, Any])


async def _patch(
    client: Client, kind: Kind[Fact], key: str, read: dict[str, Any], patch: dict[str, dict[str, Any]]
) -> None:
    meta = read["metadata"]
    seen = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    body = {**patch, "metadata": {**patch.get("metadata", {}), **seen}}
    await client.request("PATCH", _path(kind, key), body=_encode(body), content_type=MERGE_PATCH)


def _path(kind: Kind[Fact], key: str) -> str:
    namespace, _, name = key.rpartition("/")
    return kind.resource.path(namespace, name)


def _must_be(found: dict[str, Any], uid: str, what: str) -> None:
    meta = found["metadata"]
    if meta["uid"] != uid or meta.get("deletionTimestamp"):
        raise NotGrantedError(f"{what} was deleted")


def _annotations(found: dict[str, Any]) -> dict[str, str]:
    return found["metadata"].get("annotations") or {}
