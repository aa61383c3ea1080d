"""Reads the owners of pods that ask for a group: each when it is needed, and again when its pods come or go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from muster.api.wire import read
from muster.base.backoff import backoff_seconds
from muster.base.errors import ApiError, KubeError, ObjectError
from muster.edge.groups import Groups, Told
from muster.edge.owned import OwnerToRead
from muster.gangs.owners import Document, kind_of
from muster.kube.client import Client

_log = structlog.get_logger()

_AT_ONCE = 8
_REQUEST_SECONDS = 10.0
# a thousand pods of one Job come one after another
_APART_SECONDS = 1.0
_FIRST_BACKOFF_SECONDS = 0.5
_LAST_BACKOFF_SECONDS = 30.0
# an owner that changed in size has pods made or deleted, and is read then: this is for those that may not make any
_ALL_AGAIN_SECONDS = 120.0


class Owners:
    """Reads what `groups` asks for; `tell` takes what follows from it."""

    def __init__(self, client: Client, groups: Groups, *, tell: Callable[[list[Told]], None]) -> None:
        self._client = client
        self._groups = groups
        self._tell = tell
        self._asked = asyncio.Event()
        self._waiting: dict[str, tuple[float, OwnerToRead]] = {}
        """By UID: when each is to be read."""
        self._read_at: dict[str, float] = {}
        """By UID: when those were read that were read just now."""
        self._failures: dict[str, int] = {}
        """By UID: how often it failed in a row."""

    def look(self) -> None:
        """Something may be to be read."""
        if self._groups.owned.unread:
            self._asked.set()

    async def run(self) -> None:
        """Works until it is cancelled."""
        all_again = _now() + _ALL_AGAIN_SECONDS
        while True:
            if _now() >= all_again:
                self._groups.owned.read_all_again()
                all_again = _now() + _ALL_AGAIN_SECONDS
            self._take()
            due = [uid for uid, (at, _) in self._waiting.items() if at <= _now()][:_AT_ONCE]
            if due:
                await asyncio.gather(*(self._read(uid, self._waiting.pop(uid)[1]) for uid in due))
                continue
            await self._rest(min([all_again, *(at for at, _ in self._waiting.values())]))

    def _take(self) -> None:
        self._asked.clear()
        now = _now()
        self._read_at = {uid: at for uid, at in self._read_at.items() if at + _APART_SECONDS > now}
        for uid, owner in self._groups.owned.take_unread().items():
            if uid not in self._waiting:
                self._waiting[uid] = self._read_at.get(uid, now - _APART_SECONDS) + _APART_SECONDS, owner

    async def _rest(self, until: float) -> None:
        try:
            async with asyncio.timeout_at(until):
                await self._asked.wait()
        except TimeoutError:
            return

    async def _read(self, uid: str, owner: OwnerToRead) -> None:
        reference = owner.reference
        kind, words = kind_of(reference), f"{reference.kind} {reference.name}"
        assert kind is not None
        path = kind.resource(reference.api_version).path(owner.namespace, reference.name)
        self._read_at[uid] = _now()
        try:
            found = read(Document, await self._client.request("GET", path, seconds=_REQUEST_SECONDS))
        except (KubeError, ObjectError) as error:
            if isinstance(error, ApiError) and error.code == 404:
                self._told(uid, self._groups.owner_read(uid, f"{words}, which owns the pod, is gone"))
                return
            _log.warning("an owner cannot be read", owner=f"{owner.namespace}/{reference.name}", error=str(error))
            self._again(uid, owner)
            self._tell(self._groups.owner_not_read(uid, f"{words}, which owns the pod, cannot be read: {error}"))
            return
        if found.metadata.uid != reference.uid:
            self._told(uid, self._groups.owner_read(uid, f"{words}, which owns the pod, is gone; there is another one"))
        else:
            self._told(uid, self._groups.owner_read(uid, kind.owner(reference, found)))

    def _told(self, uid: str, told: list[Told]) -> None:
        self._failures.pop(uid, None)
        self._tell(told)

    def _again(self, uid: str, owner: OwnerToRead) -> None:
        if not self._groups.owned.needs(uid):
            self._failures.pop(uid, None)
            return
        failures = self._failures[uid] = self._failures.get(uid, 0) + 1
        wait = backoff_seconds(failures, initial=_FIRST_BACKOFF_SECONDS, maximum=_LAST_BACKOFF_SECONDS)
        self._waiting[uid] = _now() + wait, owner


def _now() -> float:
    return asyncio.get_running_loop().time()
