"""Is there a Kubernetes API server, and may we work with it?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import structlog

from muster.api.kinds import Kind
from muster.api.wire import Fact
from muster.base.errors import ApiError, KubeError
from muster.gangs.dialects import CUSTOM, DIALECTS, NATIVE
from muster.gangs.owners import OWNER_KINDS
from muster.kube.client import Client
from muster.kube.connection import Connection

_log = structlog.get_logger()

_START_SECONDS = 10.0
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_MISSING_RIGHTS = "Muster needs the rights in deploy/base/rbac.yaml; `muster install --apply` grants them"


class Right(NamedTuple):
    """To do something in all namespaces."""

    verb: str
    group: str
    resource: str
    subresource: str = ""

    def __str__(self) -> str:
        kind = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {kind}/{self.subresource}" if self.subresource else f"{self.verb} {kind}"


def _of_groups() -> Iterator[Right]:
    """To read what declares gangs, to say how they are doing, and to protect groups in use."""
    for dialect in DIALECTS:
        for group, plural in sorted({(resource.group, resource.plural) for resource in dialect.resources}):
            yield Right("get", group, plural)
            yield Right("watch", group, plural)
            if dialect.protects:
                yield Right("patch", group, plural)
            if dialect.has_status or dialect.counts:
                yield Right("patch", group, plural, "status")


def _of_owners() -> Iterator[Right]:
    """To make groups for owners that cannot."""
    for dialect in (NATIVE, CUSTOM):
        yield Right("create", dialect.resources[0].group, dialect.resources[0].plural)
    for kind in OWNER_KINDS:
        yield Right("get", kind.group, kind.plural)


def to_read(kinds: Iterable[Kind[Fact]]) -> tuple[Right, ...]:
    """The rights to follow what plugins read."""
    return tuple(Right("watch", kind.resource.group, kind.resource.plural) for kind in kinds)


def to_grant(kinds: Iterable[Kind[Fact]]) -> tuple[Right, ...]:
    """The rights to write what pods are granted."""
    rights: list[Right] = []
    for kind in kinds:
        group, plural = kind.resource.group, kind.resource.plural
        if kind.granted:
            rights.append(Right("get", group, plural))
        rights += [Right("patch", group, plural, subresource) for subresource in kind.granted]
    return tuple(rights)


ASKED_FOR = (
    Right("get", "", "pods"),
    Right("create", "", "pods", "binding"),
    Right("patch", "", "pods", "status"),
    Right("delete", "", "pods"),
    Right("patch", "", "pods"),
    Right("create", "events.k8s.io", "events"),
    Right("watch", "", "pods"),
    Right("watch", "", "nodes"),
    Right("watch", "scheduling.k8s.io", "priorityclasses"),
    Right("watch", "policy", "poddisruptionbudgets"),
    *dict.fromkeys(_of_groups()),
    *(right for right in _of_owners() if right.resource != "pods"),
    # these make no pods before their group was let in
    Right("get", "batch.volcano.sh", "jobs"),
    *(Right("get", "kubeflow.org", f"{kind}jobs") for kind in ("mx", "paddle", "tf", "xgboost")),
)
"""Rights whose lack nobody would notice before it harms: a gang half bound, a group unprotected or not read again, or
decisions on what was listed long ago.  Lists need not be asked for: nothing begins before all of them were read.
Beside these, what the plugins of a profile read and have written: see `to_read` and `to_grant`."""


class _Version(msgspec.Struct, rename="camel"):
    git_version: str = ""


async def check_server(client: Client, connection: Connection) -> str:
    """The version of the server; errors say what a person can do about it."""

    strange = KubeError(
        f"{connection.server} does not answer as a Kubernetes API server does",
        hint=f"check the address in {connection.source}",
    )
    try:
        version = msgspec.json.decode(await client.request("GET", "/version", seconds=_START_SECONDS), type=_Version)
    except ApiError as error:
        if error.code == 401:
            raise without_rights(error) from error
        if error.code == 429 or error.code >= 500:
            raise KubeError(
                f"{connection.server} answers {error.code}: {error.message}", hint="is it starting up or overloaded?"
            ) from error
        if error.code != 403:
            raise strange from error
        # a cluster that tells its version to nobody; what Muster must read is asked for next
        return "unknown"
    except msgspec.DecodeError as error:
        raise strange from error
    if not version.git_version:
        raise strange
    return version.git_version


class _Allowed(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _Allowed


async def check_rights(client: Client, *, must: Iterable[Kind[Fact]] = (), may: Iterable[Kind[Fact]] = ()) -> None:
    """Raises KubeError if the server says that a right is missing; a server that does not say is taken to allow it.

    `must` is what plugins read.  Without the rights to what they `may` read it goes on, and the log says what is lost.
    """
    if missing := await _missing(client, (*ASKED_FOR, *to_read(must), *to_grant(must))):
        raise KubeError(f"the API server refuses to let us {', '.join(map(str, missing))}", hint=_MISSING_RIGHTS)
    may = tuple(may)
    missing = await _missing(client, (*to_read(may), *to_grant(may)))
    for kind in may:
        for right in (*to_read([kind]), *to_grant([kind])):
            if right in missing:
                _log.warning(
                    "a right is missing, going on without", right=str(right), cannot=kind.purpose, hint=_MISSING_RIGHTS
                )


async def _missing(client: Client, rights: Sequence[Right]) -> list[Right]:
    allowed = await asyncio.gather(*(_is_allowed(client, right) for right in rights))
    return [right for right, is_allowed in zip(rights, allowed, strict=True) if not is_allowed]


async def _is_allowed(client: Client, right: Right) -> bool:
    asked = {"verb": right.verb, "group": right.group, "resource": right.resource, "subresource": right.subresource}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    try:
        answer = await client.request("POST", _REVIEWS, body=msgspec.json.encode(review), seconds=_START_SECONDS)
        return msgspec.json.decode(answer, type=_Review).status.allowed
    except (KubeError, msgspec.DecodeError):
        # not everybody may ask, and not every server answers: what is refused later is said then
        return True


def without_rights(error: ApiError) -> KubeError:
    """What to tell a person whose credentials were not enough."""
    if error.code == 401:
        return KubeError(
            "the API server does not accept our credentials",
            hint="they may have expired: log in again, or name another kubeconfig with --kubeconfig",
        )
    return KubeError(
        f"the API server refuses: {error.message}",
        hint=_MISSING_RIGHTS,
    )
