"""What Muster writes to a cluster: one function each, and what the server's answer means.

Every write names the UID of what it is about: an object of the same name that came later is never touched.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from muster.api.resources import EVENTS, PODS, Resource
from muster.api.times import micro_stamp, stamp
from muster.api.wire import Condition, Metadata, Pod, PodGroup, condition, read
from muster.base.errors import ApiError, KubeError, ObjectError
from muster.edge.owned import WantedGroup
from muster.engine.changes import BindFailed, Bound, Change, Failure, PodGone, PodSeen
from muster.engine.decisions import Placement, PodRef
from muster.gangs.dialects.dialect import Dialect
from muster.gangs.dialects.v1beta1 import keeps_its_time
from muster.gangs.owners import MANAGED_BY
from muster.gangs.record import BOUND_FOR, STARTED
from muster.kube.client import APPLY_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Client

FIELD_MANAGER = "muster"

# the API's own limits
_LONGEST_NOTE = 1024
_LONGEST_MESSAGE = 32_768

_NO_RIGHT = 'cannot create resource "pods/binding"'
"""How authorizers say it; admission, which may mean this pod or this node, has other words."""
_DENIALS = ("denied the request", "denied request")
"""How webhooks and admission policies say it, with any status: a webhook chooses its own, by default 400."""

_OTHER_UID = "UID in"
"""How the server says that a precondition names another UID than the object has."""

_encode = msgspec.json.Encoder().encode


class Regarding(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The object that an event is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""


def regarding(resource: Resource, key: str, uid: str) -> Regarding:
    namespace, name = _split(key)
    return Regarding(resource.api_version, resource.kind, name, namespace, uid)


# --- binding ---


async def bind(client: Client, placement: Placement, *, at: float, recorded: bool = True) -> Change:
    """Binds a pod and returns what to tell the engine; raises only if the server asks to come back later (429)."""
    namespace, name = _split(placement.pod)
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": placement.uid,
            "annotations": bind_annotations(placement, recorded=recorded),
        },
        "target": {"apiVersion": "v1", "kind": "Node", "name": placement.node},
    }
    try:
        await client.request("POST", PODS.path(namespace, name, "binding"), body=_encode(body))
    except ApiError as error:
        meaning = _meaning(error)
        if error.code == 429 and meaning is not Failure.DENIED:
            raise
        if error.code == 409 and meaning is not Failure.DENIED:
            # a conflict has many reasons
            return await _as_the_pod_says(client, placement, _one_line(error), at=at)
        return BindFailed(placement.uid, placement.node, meaning, _one_line(error))
    except KubeError as error:
        # it may have been done: if so, trying again ends in a conflict, and that is looked into
        return BindFailed(placement.uid, placement.node, Failure.TRANSIENT, str(error))
    return Bound(placement.uid, placement.node, at)


def bind_annotations(placement: Placement, *, recorded: bool = True) -> dict[str, str]:
    """What the bind writes onto the pod."""
    return {BOUND_FOR: placement.bound_for.text} if recorded else {}


async def bound_by(plugin: str, client: Client, placement: Placement, *, at: float, recorded: bool = True) -> Change:
    """The same of a pod that a plugin says it has bound: the pod itself tells."""
    missing = f"plugin {plugin} said that it has bound the pod, which has no node"
    return await _as_the_pod_says(client, placement, missing, at=at)


def _meaning(error: ApiError) -> Failure:
    if any(words in error.message for words in _DENIALS):
        return Failure.DENIED
    if error.code == 404:
        return Failure.POD_GONE
    if error.code >= 500 or error.code in (401, 408):
        return Failure.TRANSIENT
    if error.code == 403 and _NO_RIGHT in error.message:
        # whoever may not bind at all is told so, whatever the node; a server that has just started and has not read its
        # roles yet says it too
        return Failure.TRANSIENT
    # a quota, a namespace that goes, an admission plugin: none of them is about the node
    return Failure.DENIED if error.code in (403, 422) else Failure.REJECTED


async def _as_the_pod_says(client: Client, placement: Placement, unbound: str, *, at: float) -> Change:
    """What became of a bind, by the pod as it is now; `unbound` is why it may have no node."""
    namespace, name = _split(placement.pod)
    uid, node = placement.uid, placement.node
    try:
        pod = read(Pod, await client.request("GET", PODS.path(namespace, name)))
    except ApiError as error:
        if error.code == 429:
            raise
        gone = error.code == 404
        return PodGone(uid) if gone else BindFailed(uid, node, Failure.TRANSIENT, _one_line(error))
    except (KubeError, ObjectError) as error:
        return BindFailed(uid, node, Failure.TRANSIENT, str(error))
    if pod.metadata.uid != uid:
        return PodGone(uid)
    if pod.spec.node_name == node:
        # an earlier try, whose answer was lost, got through
        return Bound(uid, node, at)
    if pod.spec.node_name:
        return PodSeen(pod)
    gone = pod.metadata.deletion_timestamp is not None
    return BindFailed(uid, node, Failure.POD_GONE if gone else Failure.TRANSIENT, unbound)


# --- pods ---


async def delete_pod(
    client: Client, pod: PodRef, *, reason: str, message: str, at: float, insist: bool = False
) -> None:
    """Says on the pod why it goes, then deletes it with its own grace period.

    Where it cannot be said for want of rights, or since others write all the time, the pod goes all the same, unless
    the caller insists: a server that has just started does not know anybody's rights yet.
    """
    namespace, name = _split(pod.pod)
    said = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": _cut(message, _LONGEST_MESSAGE),
        "lastTransitionTime": stamp(at),
    }
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
    try:
        try:
            patch = {"metadata": {"uid": pod.uid}, "status": {"conditions": [said]}}
            await _patch_status(client, PODS, pod.pod, patch)
        except ApiError as error:
            no_right = error.code == 401 or (error.code == 403 and "cannot patch resource" in error.message)
            overtaken = error.code == 409 and not is_gone(error)
            if error.code in (404, 429) or error.code >= 500 or ((no_right or overtaken) and insist):
                raise
            # it goes all the same: the reason is a courtesy, the room that it holds is not
        await client.request("DELETE", PODS.path(namespace, name), body=_encode(options))
    except ApiError as error:
        if not is_gone(error):
            raise


async def write_pod_condition(
    client: Client, pod: PodRef, *, reason: str, message: str, nominated: str = "", since: float | None
) -> bool:
    """Writes PodScheduled=False, and the node on which room is kept for the pod; "" says that there is none.

    `since` is the time of transition; None if the pod said so before, and when.  Returns whether it stands there: the
    pod may be gone, or have got a node from somebody else.
    """
    said: dict[str, object] = {
        "type": "PodScheduled",
        "status": "False",
        "reason": reason,
        "message": _cut(message, _LONGEST_MESSAGE),
    }
    if since is not None:
        said["lastTransitionTime"] = stamp(since)
    # null takes the field away
    status = {"conditions": [said], "nominatedNodeName": nominated or None}
    patch = {"metadata": {"uid": pod.uid}, "status": status}
    try:
        await _patch_status(client, PODS, pod.pod, patch)
    except ApiError as error:
        has_a_node = error.code == 422 and "status.nominatedNodeName" in error.message
        if not (has_a_node or is_gone(error)):
            raise
        return False
    return True


async def mark_started(client: Client, pod: PodRef, gang: str) -> None:
    """Writes on the pod that its gang has started.

    This takes the right to patch pods.  deploy/ does not ask for it as long as every dialect has objects with a status.
    """
    namespace, name = _split(pod.pod)
    patch = {"metadata": {"uid": pod.uid, "annotations": {STARTED: gang}}}
    try:
        await client.request("PATCH", PODS.path(namespace, name), body=_encode(patch), content_type=MERGE_PATCH)
    except ApiError as error:
        if not is_gone(error):
            raise


async def _patch_status(client: Client, resource: Resource, key: str, patch: object) -> None:
    namespace, name = _split(key)
    path = resource.path(namespace, name, "status")
    await client.request("PATCH", path, body=_encode(patch), content_type=STRATEGIC_PATCH)


# --- pod groups ---


async def write_group_condition(
    client: Client, resource: Resource, group: PodGroup, said: Condition, *, at: float, dialect: Dialect
) -> None:
    """Server-side apply of one condition: Kubernetes' own PodGroups and custom ones take it alike."""
    meta, kind = group.metadata, dialect.conditions.get(said.type, said.type)
    before = condition(group.status.conditions, said.type)
    kept = before.last_transition_time if before is not None and keeps_its_time(before, said) else None
    document = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
        "status": {
            "conditions": [
                {
                    "type": kind,
                    "status": said.status,
                    "reason": said.reason,
                    "message": _cut(said.message, _LONGEST_MESSAGE),
                    "observedGeneration": meta.generation,
                    "lastTransitionTime": kept or stamp(at),
                }
                | ({"lastUpdateTime": stamp(at)} if dialect.dates_updates else {})
            ]
        },
    }
    try:
        await client.request(
            "PATCH",
            resource.path(meta.namespace, meta.name, "status"),
            # one manager a condition: what a manager applied before and no longer names is taken away
            query={"fieldManager": f"{FIELD_MANAGER}.{kind}", "force": "true"},
            body=_encode(document),
            content_type=APPLY_PATCH,
        )
    except ApiError as error:
        if not is_gone(error):
            raise


async def write_status(
    client: Client, resource: Resource, meta: Metadata, fields: Mapping[str, object], *, apart: bool
) -> bool:
    """Merges these fields into the status, if nobody changed the object since it was read; a conflict is an error.

    Returns whether they stand there: the object may be gone.  `apart`: at the path that is the status's own.  A server
    whose definition has no such path answers as if there were no such object; one that has it drops from the object's
    path what belongs there.
    """
    # at the path of a custom status the UID alone is not looked at: only the version keeps others of the name apart
    named = {"uid": meta.uid, "resourceVersion": meta.resource_version}
    patch = _encode({"metadata": named, "status": fields})
    path = resource.path(meta.namespace, meta.name, "status" if apart else "")
    try:
        answer = await client.request("PATCH", path, body=patch, content_type=MERGE_PATCH)
    except ApiError as error:
        if not is_gone(error):
            raise
        return False
    return apart or msgspec.json.decode(answer, type=_Written).status.items() >= fields.items()


class _Written(msgspec.Struct):
    status: dict[str, object] = {}


async def read_group(client: Client, resource: Resource, key: str, *, dialect: Dialect) -> PodGroup | None:
    """The group as it is now, whatever watches have told; None if it is not there.

    A server that does not know the kind, perhaps since it has just started, says nothing about the group.
    """
    namespace, name = _split(dialect.object_of(key))
    try:
        # without a resourceVersion: not from the server's cache, if that is not up to date
        found = read(dialect.kind, await client.request("GET", resource.path(namespace, name)))
    except ApiError as error:
        if error.code != 404 or f'"{name}"' not in error.message:
            raise
        return None
    declared = {f"{group.metadata.namespace}/{group.metadata.name}": group for group in dialect.groups(found)}
    return declared.get(key)


async def write_finalizers(client: Client, resource: Resource, group: PodGroup, finalizers: tuple[str, ...]) -> None:
    """Replaces the finalizers, if nobody changed the object since it was read; a conflict is an error."""
    meta = group.metadata
    patch = {
        "metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version, "finalizers": list(finalizers)},
    }
    path = resource.path(meta.namespace, meta.name)
    try:
        await client.request("PATCH", path, body=_encode(patch), content_type=MERGE_PATCH)
    except ApiError as error:
        if not is_gone(error):
            raise


async def make_group(client: Client, resource: Resource, wanted: WantedGroup) -> None:
    """Makes a group for an owner; one of its name that is there already stays as it is."""
    namespace, name = _split(wanted.key)
    spec: dict[str, object] = {
        "schedulingPolicy": {"gang": {"minCount": wanted.minimum}},
        # who asks for no more than a gang means one that goes whole
        "disruptionMode": {"all": {}},
    }
    if wanted.priority_class:
        spec["priorityClassName"] = wanted.priority_class
    document = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": MANAGED_BY,
            "annotations": wanted.annotations,
            "ownerReferences": [_owned_by(wanted)],
        },
        "spec": spec,
    }
    try:
        await client.request("POST", resource.path(namespace), body=_encode(document))
    except ApiError as error:
        if not _need_not_be_made(error):
            raise


def _owned_by(wanted: WantedGroup) -> dict[str, object]:
    owner = wanted.owner
    named = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
    return named | {"controller": True}


async def write_wanted(client: Client, resource: Resource, group: PodGroup, wanted: WantedGroup) -> None:
    """Gives a group the minimum that is wanted, and if it has no owner that too."""
    meta = group.metadata
    named: dict[str, object] = {"uid": meta.uid}
    if not meta.owner_references:
        named |= {"resourceVersion": meta.resource_version, "ownerReferences": [_owned_by(wanted)]}
    patch = {"metadata": named, "spec": {"schedulingPolicy": {"gang": {"minCount": wanted.minimum}}}}
    path = resource.path(meta.namespace, meta.name)
    try:
        await client.request("PATCH", path, body=_encode(patch), content_type=MERGE_PATCH)
    except ApiError as error:
        if not is_gone(error):
            raise


# --- events ---


async def write_event(
    client: Client,
    about: Regarding,
    *,
    reason: str,
    note: str,
    action: str,
    warning: bool,
    reporter: str,
    instance: str,
    name: str,
    at: float,
) -> None:
    namespace = about.namespace or "default"
    document = {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": name, "namespace": namespace},
        "eventTime": micro_stamp(at),
        "reportingController": reporter,
        "reportingInstance": instance,
        "action": action,
        "reason": reason,
        "regarding": about,
        "note": _cut(note, _LONGEST_NOTE),
        "type": "Warning" if warning else "Normal",
    }
    try:
        await client.request("POST", EVENTS.path(namespace), body=_encode(document))
    except ApiError as error:
        if not _need_not_be_made(error):
            raise


def _need_not_be_made(error: ApiError) -> bool:
    """It is there, perhaps since an answer to that got lost; or it cannot be, since its namespace goes.

    Another conflict, at a quota that others use at the same time, say, passes.
    """
    going = error.code == 404 or "because it is being terminated" in error.message
    return going or (error.code == 409 and error.reason == "AlreadyExists")


def is_gone(error: ApiError) -> bool:
    """Not there any more, or another one of the same name: what was to be written no longer matters."""
    if error.code == 409:
        # else others wrote at the same time, so often that the server gave up: the same write may succeed later
        return _OTHER_UID in error.message
    # a patch with another UID is refused as a change of the UID
    return error.code == 404 or (error.code == 422 and "metadata.uid" in error.message)


def _cut(text: str, longest: int) -> str:
    """The API counts bytes."""
    data = text.encode()
    return text if len(data) <= longest else data[: longest - 3].decode(errors="ignore") + "..."


def _one_line(error: ApiError) -> str:
    return " ".join(error.message.split())


def _split(key: str) -> tuple[str, str]:
    namespace, _, name = key.rpartition("/")
    return namespace, name
