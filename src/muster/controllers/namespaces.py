"""Namespaces that are deleted: everything in them goes first, pods before all else; what stays, their status tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from typing import Any

import msgspec

from muster.api.calls import Answer, Asked, Delete, Document, Done, Look, Patch, Refused, Replace
from muster.api.resources import NAMESPACES, PODS, Resource
from muster.api.times import seconds, stamp
from muster.api.wire import Condition, Wire, condition
from muster.controllers.desk import Again, AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.discovery import Served, discover
from muster.controllers.objects import Metadata, Namespace, read

FINALIZER = "kubernetes"
"""In the spec of each namespace: it is not gone before somebody has looked after what is in it."""

_FIRST_AGAIN_SECONDS = 0.5
_LONGEST_AGAIN_SECONDS = 8.0
"""Upstream looks again after half the time that the slowest pod may take to stop, or 8 s for finalizers."""

_FINE = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""What each condition says when there is nothing to complain of."""

_NOT_ALL = "unable to retrieve the complete list of server APIs"

Steps = Generator[Sequence[Asked], Sequence[Answer], Any]


class _Spec(Wire, frozen=True):
    termination_grace_period_seconds: int | None = None


class _Status(Wire, frozen=True):
    phase: str = ""


class _Item(Wire, frozen=True):
    """Of anything in a namespace, what tells how long it will stay."""

    metadata: Metadata
    spec: _Spec | None = None
    status: _Status | None = None


class _List(Wire, frozen=True):
    items: tuple[_Item, ...] | None = None


class _Account:
    """What was found in a namespace."""

    def __init__(self) -> None:
        self.remaining: dict[str, int] = {}
        """How many of which kind."""
        self.finalizers: Counter[str] = Counter()
        self.errors: list[str] = []
        self.undiscovered: tuple[str, ...] = ()
        """Of which kinds nobody knows whether there are any."""


class Namespaces(AtDesks):
    """Empties namespaces that are on their way out, of all that is served, and lets them go."""

    def __init__(self) -> None:
        self._namespaces: dict[str, Namespace] = {}
        self._desk = Desk(self._look, first=_FIRST_AGAIN_SECONDS, last=_LONGEST_AGAIN_SECONDS)
        super().__init__(self._desk)

    def seen(self, where: str, namespace: Namespace) -> None:
        self._namespaces[namespace.metadata.name] = namespace
        if namespace.metadata.deletion_timestamp is not None:
            self._desk.add(namespace.metadata.name)

    def gone(self, where: str, namespace: Namespace) -> None:
        self._namespaces.pop(namespace.metadata.name, None)

    # --- one namespace ---

    def _look(self, name: str) -> Looking:
        if name not in self._namespaces:
            return
        path = NAMESPACES.path(name=name)
        [answer] = yield [Look(path=path, gone_is_fine=True)]
        namespace = read(Namespace, answer.data) if isinstance(answer, Done) else None
        if namespace is None or namespace.metadata.deletion_timestamp is None or not namespace.spec.finalizers:
            return
        if namespace.status.phase != "Terminating":
            yield [Patch(path=f"{path}/status", body={"status": {"phase": "Terminating"}}, gone_is_fine=False)]
        account = _Account()
        yield from self._empty(PODS, namespace, account)
        if account.remaining:
            # pods may need what else is there, to the end
            account.remaining, account.finalizers = {}, Counter()
            yield from self._say(namespace, account)
            raise Again
        served: Served = yield from discover()
        account.undiscovered = served.failures
        for resource in served.deletable:
            if resource.namespaced and resource != PODS:
                yield from self._empty(resource, namespace, account)
        yield from self._say(namespace, account)
        if account.remaining or account.errors or account.undiscovered:
            raise Again
        yield from _finalize(path)

    def _empty(self, resource: Resource, namespace: Namespace, account: _Account) -> Steps:
        """Deletes all objects of a kind, and takes account of what is left."""
        path = resource.path(namespace.metadata.name)
        estimate = 0.0
        if resource == PODS:
            pods = yield from _list(path, account)
            estimate = self._seconds_left(namespace, pods or ())
        [answer] = yield [Delete(path=path, propagation="Background", told=True)]
        if isinstance(answer, Refused) and answer.code in (404, 405):
            yield from self._delete_each(path, account)
        elif not isinstance(answer, Done):
            account.errors.append(answer.message)
            return
        left = yield from _list(path, account)
        if not left:
            return
        finalizers = Counter(one for item in left for one in item.metadata.finalizers)
        account.remaining[f"{resource.plural}.{resource.group}"] = len(left)
        account.finalizers += finalizers
        if not estimate and not finalizers:
            what = f"{resource.group}/{resource.version}, Resource={resource.plural}"
            name = namespace.metadata.name
            account.errors.append(f"unexpected items still remain in namespace: {name} for gvr: {what}")

    def _delete_each(self, path: str, account: _Account) -> Steps:
        """For kinds that cannot be deleted all at once."""
        found = yield from _list(path, account)
        calls = [Delete(path=f"{path}/{one.metadata.name}", propagation="Background", told=True) for one in found or ()]
        answers = yield calls
        account.errors += [
            answer.message
            for answer in answers
            if not isinstance(answer, Done) and not (isinstance(answer, Refused) and answer.code in (404, 405))
        ]

    def _seconds_left(self, namespace: Namespace, pods: Iterable[_Item]) -> float:
        """How long the slowest pod may take to stop; 0 once all must have."""
        longest = 0
        for pod in pods:
            if pod.status is None or pod.status.phase not in ("Succeeded", "Failed"):
                longest = max(longest, (pod.spec.termination_grace_period_seconds or 0) if pod.spec is not None else 0)
        since = self._desk.now - seconds(namespace.metadata.deletion_timestamp or "")
        return float(longest) if since < longest else 0.0

    # --- what is said ---

    def _say(self, namespace: Namespace, account: _Account) -> Steps:
        before = namespace.status.conditions
        wanted = [_condition(kind, account) for kind in _FINE]
        conditions = [self._dated(one, condition(before, one.type)) for one in wanted]
        others = [one for one in before if one.type not in _FINE]
        if [*others, *conditions] == list(before):
            return
        body = {"status": {"conditions": msgspec.to_builtins([*others, *conditions])}}
        # nothing depends on it
        yield [Patch(path=NAMESPACES.path(name=namespace.metadata.name, subresource="status"), body=body, told=True)]

    def _dated(self, wanted: Condition, before: Condition | None) -> Condition:
        kept = before.last_transition_time if before is not None and before.status == wanted.status else None
        return msgspec.structs.replace(wanted, last_transition_time=kept or stamp(self._desk.now))


def _list(path: str, account: _Account) -> Steps:
    """The objects of a kind in a namespace; None if they cannot be listed."""
    [answer] = yield [Look(path=path, told=True)]
    found = read(_List, answer.data) if isinstance(answer, Done) else None
    if found is not None:
        return found.items or ()
    if not (isinstance(answer, Refused) and answer.code == 405):
        # of a kind that is not served in this version any more there may still be some
        account.errors.append(getattr(answer, "message", "") or f"no list: {path}")
    return None


def _condition(kind: str, account: _Account) -> Condition:
    reason, message = _FINE[kind]
    if kind == "NamespaceDeletionDiscoveryFailure" and account.undiscovered:
        words, count = ", ".join(account.undiscovered), len(account.undiscovered)
        message = f"Discovery failed for some groups, {count} failing: {_NOT_ALL}: {words}"
        return Condition(type=kind, status="True", reason="DiscoveryFailed", message=message)
    if kind == "NamespaceDeletionContentFailure" and account.errors:
        words = ", ".join(sorted(account.errors))
        message = f"Failed to delete all resource types, {len(account.errors)} remaining: {words}"
        return Condition(type=kind, status="True", reason="ContentDeletionFailed", message=message)
    if kind == "NamespaceContentRemaining" and account.remaining:
        words = ", ".join(sorted(f"{what} has {count} resource instances" for what, count in account.remaining.items()))
        message = f"Some resources are remaining: {words}"
        return Condition(type=kind, status="True", reason="SomeResourcesRemain", message=message)
    if kind == "NamespaceFinalizersRemaining" and account.finalizers:
        words = ", ".join(sorted(f"{what} in {count} resource instances" for what, count in account.finalizers.items()))
        message = f"Some content in the namespace has finalizers remaining: {words}"
        return Condition(type=kind, status="True", reason="SomeFinalizersRemain", message=message)
    return Condition(type=kind, status="False", reason=reason, message=message)


def _finalize(path: str) -> Steps:
    """Takes off our finalizer, and leaves others'."""
    [answer] = yield [Look(path=path, gone_is_fine=True)]
    if not isinstance(answer, Done):
        return
    document: Document = msgspec.json.decode(answer.data)
    kept = [one for one in document.get("spec", {}).get("finalizers", ()) if one != FINALIZER]
    document = {name: document[name] for name in ("apiVersion", "kind", "metadata") if name in document}
    yield [Replace(path=f"{path}/finalize", body={**document, "spec": {"finalizers": kept}})]
