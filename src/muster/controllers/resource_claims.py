"""Claims for devices: made from templates, reserved, and taken back when those who used them have ended.

a pod, or its group, names a template → a claim is made, and its name stands in the status of the pod or group
reserved for a pod that ends, or a group that goes → not reserved for it any more
reserved for nobody any more → its allocation is taken back, and its finalizer taken off
made for a pod that has ended → deleted
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from muster.api.calls import Answer, Asked, Create, Delete, Document, Done, Look, Patch, Refused, Say
from muster.api.resources import PODS, Resource
from muster.controllers.desk import Again, AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.device_objects import (
    CLAIM_TEMPLATES,
    FINALIZER,
    MADE_FOR,
    RESOURCE_CLAIMS,
    ClaimTemplate,
    ResourceClaim,
    User,
    base_name,
    change,
    document,
    group_of,
    is_done,
    is_owned,
    is_reserved,
    named,
    users_of,
)
from muster.controllers.job_pods import Names
from muster.controllers.objects import POD_GROUPS, Bare, DeviceClaim, Metadata, Pod, PodGroup, event, read

_COMPONENT = "resource_claim"
_MANY = "podgroups"

Thing = Pod | PodGroup | ResourceClaim | ClaimTemplate
Asking = Generator[Sequence[Asked], Sequence[Answer], bool]
"""A part of a look that finds something out."""


class ResourceClaims(AtDesks):
    """Looks after the claims of pods and of their groups."""

    def __init__(self, *, names: Names) -> None:
        self._names = names
        self._pods: dict[str, Pod] = {}
        self._groups: dict[str, PodGroup] = {}
        self._claims: dict[str, ResourceClaim] = {}
        self._templates: dict[str, ClaimTemplate] = {}
        self._users: dict[str, dict[str, None]] = {}
        """Keys of claims, by the UID of those for whom they are reserved or made."""
        self._waiting: dict[str, dict[str, None]] = {}
        """Keys of pods and groups that name a template or a claim, by its key."""
        self._members: dict[str, dict[str, None]] = {}
        """Keys of pods with claims, by the key of their group."""
        self._pod_desk = Desk(self._look_at_pod)
        self._group_desk = Desk(self._look_at_group)
        self._claim_desk = Desk(self._look_at_claim)
        super().__init__(self._pod_desk, self._group_desk, self._claim_desk)

    # --- what is seen ---

    def seen(self, where: str, thing: Thing) -> None:
        key = thing.metadata.key
        if isinstance(thing, Pod):
            self._pods[key] = thing
            if thing.spec.resource_claims:
                self._note(thing.metadata, thing.spec.resource_claims, key)
                if group := group_of(thing):
                    self._members.setdefault(group, {})[key] = None
                self._pod_desk.add(key)
            self._wake_claims(thing.metadata.uid)
        elif isinstance(thing, PodGroup):
            if thing.spec.resource_claims:
                self._groups[key] = thing
                self._note(thing.metadata, thing.spec.resource_claims, f"group {key}")
                self._group_desk.add(key)
                self._wake_pods(self._members.get(key, ()))
        elif isinstance(thing, ResourceClaim):
            self._forget_users(key)
            self._claims[key] = thing
            for uid in users_of(thing):
                self._users.setdefault(uid, {})[key] = None
            self._claim_desk.add(key)
            self._wake(key)
        else:
            self._templates[key] = thing
            self._wake(key)

    def gone(self, where: str, thing: Thing) -> None:
        key = thing.metadata.key
        if isinstance(thing, Pod):
            self._pods.pop(key, None)
            self._members.get(group_of(thing), {}).pop(key, None)
            self._unnote(thing.metadata, thing.spec.resource_claims, key)
            self._wake_claims(thing.metadata.uid)
        elif isinstance(thing, PodGroup):
            self._groups.pop(key, None)
            self._unnote(thing.metadata, thing.spec.resource_claims, f"group {key}")
            self._wake_claims(thing.metadata.uid)
        elif isinstance(thing, ResourceClaim):
            self._forget_users(key)
            self._claims.pop(key, None)
            self._wake(key)
            owner = thing.metadata.controller
            if owner is not None:
                self._pod_desk.add(f"{thing.metadata.namespace}/{owner.name}")
                self._group_desk.add(f"{thing.metadata.namespace}/{owner.name}")
        else:
            self._templates.pop(key, None)

    def _note(self, meta: Metadata, entries: tuple[DeviceClaim, ...], who: str) -> None:
        for one in entries:
            name = one.resource_claim_template_name or one.resource_claim_name
            self._waiting.setdefault(f"{meta.namespace}/{name}", {})[who] = None

    def _unnote(self, meta: Metadata, entries: tuple[DeviceClaim, ...], who: str) -> None:
        for one in entries:
            name = f"{meta.namespace}/{one.resource_claim_template_name or one.resource_claim_name}"
            self._waiting.get(name, {}).pop(who, None)
            if not self._waiting.get(name):
                self._waiting.pop(name, None)

    def _wake(self, key: str) -> None:
        """Those who name the template or claim."""
        for who in self._waiting.get(key, ()):
            desk = self._group_desk if who.startswith("group ") else self._pod_desk
            desk.add(who.removeprefix("group "))

    def _wake_pods(self, keys: dict[str, None] | tuple[()]) -> None:
        for key in keys:
            self._pod_desk.add(key)

    def _wake_claims(self, uid: str) -> None:
        for key in self._users.get(uid, ()):
            self._claim_desk.add(key)

    def _forget_users(self, key: str) -> None:
        known = self._claims.get(key)
        for uid in users_of(known) if known is not None else ():
            self._users.get(uid, {}).pop(key, None)
            if not self._users.get(uid):
                self._users.pop(uid, None)

    # --- claims that are made ---

    def _look_at_pod(self, key: str) -> Looking:
        pod = self._pods.get(key)
        if pod is None or pod.metadata.deletion_timestamp is not None or pod.is_over:
            return
        group = self._groups.get(group_of(pod))
        made: dict[str, str] = {}
        for entry in pod.spec.resource_claims:
            if group is not None and entry in group.spec.resource_claims:
                name = named(group.status.resource_claim_statuses, entry.name)
                if name and entry.resource_claim_template_name is not None:
                    made[entry.name] = name
            else:
                yield from self._made(pod, entry, made)
        yield from self._tell_names(PODS, pod, made)
        if pod.spec.node_name:
            yield from self._reserve(pod, group)

    def _look_at_group(self, key: str) -> Looking:
        group = self._groups.get(key)
        if group is None or group.metadata.deletion_timestamp is not None:
            return
        made: dict[str, str] = {}
        for entry in group.spec.resource_claims:
            yield from self._made(group, entry, made)
        yield from self._tell_names(POD_GROUPS, group, made)
        self._wake_pods(self._members.get(key, {}))

    def _made(self, owner: Pod | PodGroup, entry: DeviceClaim, made: dict[str, str]) -> Looking:
        """Notes in `made` the claim of an entry that names a template; makes it if there is none."""
        if entry.resource_claim_template_name is None:
            return
        meta = owner.metadata
        told = named(owner.status.resource_claim_statuses, entry.name)
        claim = self._claims.get(f"{meta.namespace}/{told}") if told else None
        if claim is None or not is_owned(claim, meta):
            claim = self._found(meta, entry)
        if claim is None:
            template = yield from self._template(meta.namespace, entry.resource_claim_template_name)
            if template is None:
                name = entry.resource_claim_template_name
                words = f'resource claim template "{name}": resourceclaimtemplate.resource.k8s.io "{name}" not found'
                yield [_failed(owner, entry, words)]
                raise Again
            body = self._body(owner, entry, template)
            [answer] = yield [Create(path=RESOURCE_CLAIMS.path(meta.namespace), body=body, told=True)]
            if not isinstance(answer, Done):
                if isinstance(answer, Refused) and answer.in_dying_namespace:
                    return
                if isinstance(answer, Refused):
                    yield [_failed(owner, entry, f"create ResourceClaim : {answer.message}")]
                raise Again
            made[entry.name] = body["metadata"]["name"]
            return
        made[entry.name] = claim.metadata.name

    def _found(self, meta: Metadata, entry: DeviceClaim) -> ResourceClaim | None:
        """The claim that was made for an entry whose name nobody has noted."""
        keys = sorted(self._users.get(meta.uid, ()))
        claims = (self._claims[key] for key in keys if key in self._claims)
        mine = (one for one in claims if one.metadata.annotations.get(MADE_FOR) == entry.name)
        return next((one for one in mine if is_owned(one, meta) and one.metadata.deletion_timestamp is None), None)

    def _template(
        self, namespace: str, name: str
    ) -> Generator[Sequence[Asked], Sequence[Answer], ClaimTemplate | None]:
        """One that was not seen is asked for: it may have come just before those who name it."""
        known = self._templates.get(f"{namespace}/{name}")
        if known is not None:
            return known
        [answer] = yield [Look(path=CLAIM_TEMPLATES.path(namespace, name), told=True)]
        found: ClaimTemplate | None = read(ClaimTemplate, answer.data) if isinstance(answer, Done) else None
        return found

    def _body(self, owner: Pod | PodGroup, entry: DeviceClaim, template: ClaimTemplate) -> Document:
        meta = owner.metadata
        kind = PODS if isinstance(owner, Pod) else POD_GROUPS
        told = template.spec.metadata
        annotations = {**_texts(told.get("annotations")), MADE_FOR: entry.name}
        by = {"apiVersion": kind.api_version, "kind": kind.kind, "name": meta.name, "uid": meta.uid, "controller": True}
        new: Document = {
            "name": f"{base_name(meta.name, entry.name)}{self._names()}",
            "annotations": annotations,
            "ownerReferences": [by],
        }
        if labels := _texts(told.get("labels")):
            new["labels"] = labels
        head = {"apiVersion": RESOURCE_CLAIMS.api_version, "kind": RESOURCE_CLAIMS.kind}
        return {**head, "metadata": new, "spec": template.spec.spec}

    def _tell_names(self, resource: Resource, owner: Pod | PodGroup, made: dict[str, str]) -> Looking:
        """Writes the names of claims into a status; those that are there stay."""
        known = {one.name: one.resource_claim_name for one in owner.status.resource_claim_statuses}
        if not made or all(known.get(entry) == name for entry, name in made.items()):
            return
        all_of_them = {entry: name for entry, name in known.items() if name is not None} | made
        statuses = [{"name": entry, "resourceClaimName": all_of_them[entry]} for entry in sorted(all_of_them)]
        meta = owner.metadata
        body = {"metadata": {"uid": meta.uid}, "status": {"resourceClaimStatuses": statuses}}
        yield [Patch(path=resource.path(meta.namespace, meta.name, "status"), body=body)]

    def _reserve(self, pod: Pod, group: PodGroup | None) -> Looking:
        """A pod that somebody bound without a reservation gets one, if its claims are allocated."""
        pod = self._pods.get(pod.metadata.key, pod)
        for entry in pod.spec.resource_claims:
            name = entry.resource_claim_name or named(pod.status.resource_claim_statuses, entry.name)
            claim = self._claims.get(f"{pod.metadata.namespace}/{name}")
            if claim is None or claim.status.allocation is None or is_reserved(claim, pod):
                continue
            if claim.metadata.deletion_timestamp is not None:
                continue
            user = {"resource": "pods", "name": pod.metadata.name, "uid": pod.metadata.uid}
            if group is not None and entry in group.spec.resource_claims:
                meta = group.metadata
                user = {"apiGroup": POD_GROUPS.group, "resource": _MANY, "name": meta.name, "uid": meta.uid}
            users = [*map(document, claim.status.reserved_for), user]
            yield [change(claim, {"status": {"reservedFor": users}}, "status")]

    # --- claims that are taken back ---

    def _look_at_claim(self, key: str) -> Looking:
        claim = self._claims.get(key)
        if claim is None:
            return
        kept = []
        for user in claim.status.reserved_for:
            stays = yield from self._stays(claim.metadata.namespace, user)
            if stays:
                kept.append(user)
        if len(kept) < len(claim.status.reserved_for):
            status: Document = {"reservedFor": [document(user) for user in kept] or None}
            if not kept and FINALIZER in claim.metadata.finalizers:
                status["allocation"] = None
            yield [change(claim, {"status": status}, "status")]
            yield from self._let_go(key)
        elif claim.metadata.deletion_timestamp is not None and not kept and FINALIZER in claim.metadata.finalizers:
            if claim.status.allocation is not None:
                yield [change(claim, {"status": {"allocation": None}}, "status")]
            yield from self._let_go(key)
        if not kept:
            yield from self._drop(key)

    def _stays(self, namespace: str, user: User) -> Asking:
        """Whether a claim is still reserved for somebody; whoever was not seen is asked after."""
        if user.api_group == "" and user.resource == "pods":
            pod = self._pods.get(f"{namespace}/{user.name}")
            if pod is not None:
                return pod.metadata.uid == user.uid and not is_done(pod)
            return (yield from _is_there(PODS, namespace, user))
        if user.api_group == POD_GROUPS.group and user.resource == _MANY:
            group = self._groups.get(f"{namespace}/{user.name}")
            if group is not None:
                return group.metadata.uid == user.uid
            return (yield from _is_there(POD_GROUPS, namespace, user))
        return True

    def _let_go(self, key: str) -> Looking:
        """Takes the finalizer off a claim that is not allocated any more."""
        claim = self._claims.get(key)
        if claim is None or claim.status.allocation is not None or FINALIZER not in claim.metadata.finalizers:
            return
        finalizers = [one for one in claim.metadata.finalizers if one != FINALIZER]
        yield [change(claim, {"metadata": {"finalizers": finalizers or None}})]

    def _drop(self, key: str) -> Looking:
        """Deletes a claim that was made for a pod that has ended."""
        claim = self._claims.get(key)
        owner = claim.metadata.controller if claim is not None else None
        if claim is None or owner is None or owner.kind != "Pod" or claim.metadata.deletion_timestamp is not None:
            return
        pod = self._pods.get(f"{claim.metadata.namespace}/{owner.name}")
        # with a pod that is gone its claims go, too
        if pod is not None and (pod.metadata.uid != owner.uid or is_done(pod)):
            path = RESOURCE_CLAIMS.path(claim.metadata.namespace, claim.metadata.name)
            yield [Delete(path=path, uid=claim.metadata.uid)]


def _is_there(resource: Resource, namespace: str, user: User) -> Asking:
    [answer] = yield [Look(path=resource.path(namespace, user.name), told=True)]
    if isinstance(answer, Done):
        found = read(Bare, answer.data)
        return found is None or found.metadata.uid == user.uid
    if isinstance(answer, Refused) and answer.code == 404:
        return False
    raise Again


def _texts(value: Any) -> dict[str, str]:
    return dict(value) if isinstance(value, dict) else {}


def _failed(owner: Pod | PodGroup, entry: DeviceClaim, words: str) -> Say:
    is_pod = isinstance(owner, Pod)
    message = f"{'PodResourceClaim' if is_pod else 'PodGroupResourceClaim'} {entry.name}: {words}"
    resource = PODS if is_pod else POD_GROUPS
    return event(
        _COMPONENT, resource, owner.metadata, reason="FailedResourceClaimCreation", message=message, warning=True
    )
