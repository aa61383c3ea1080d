"""Asks whoever makes the pods of a group, while there are none, for which scheduler it will make them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any

import structlog

from muster.api.resources import Resource
from muster.api.wire import Metadata, OwnerReference, read
from muster.base.errors import ApiError, ObjectError
from muster.gangs.owners import Document
from muster.kube.client import Client
from muster.kube.outbox import Errand, Outbox, Urgency

_log = structlog.get_logger()

_REQUEST_SECONDS = 10.0
# of those that made the groups of which there is something to ask; the oldest are asked again
_MOST_KNOWN = 10_000


class Makers:
    """Volcano's Jobs and the training-operator's make no pods before their group was let in: they are asked who is to
    let it in.  `tell` takes the keys of groups of which that is known now.
    """

    def __init__(
        self, client: Client, *, outbox: Outbox, names: Collection[str], tell: Callable[[Iterable[str]], None]
    ) -> None:
        self._client = client
        self._outbox = outbox
        self._names = names
        self._tell = tell
        self._known: dict[str, bool] = {}
        """By the maker's UID: whether it makes pods for us."""

    def names_us(self, group: Metadata, *, otherwise: str) -> bool:
        """Whether the group's controller makes pods that name this scheduler; False while that is being asked.

        `otherwise` is the scheduler of its pods if nobody names one.
        """
        maker = group.controller
        if maker is None:
            return otherwise in self._names
        if (known := self._known.get(maker.uid)) is not None:
            return known
        send = partial(self._ask, maker, group.namespace, f"{group.namespace}/{group.name}", otherwise)
        self._outbox.put(Errand(Urgency.GROUP, send, subject=f"maker {maker.uid}", lasting=True))
        return False

    async def _ask(self, maker: OwnerReference, namespace: str, key: str, otherwise: str) -> None:
        if maker.uid in self._known:
            return
        group, _, version = maker.api_version.rpartition("/")
        resource = Resource(group, version, f"{maker.kind.lower()}s", maker.kind)
        path = resource.path(namespace, maker.name)
        names_us = False
        try:
            found = read(Document, await self._client.request("GET", path, seconds=_REQUEST_SECONDS))
            named = set(_schedulers(found.spec)) or {otherwise}
            names_us = found.metadata.uid == maker.uid and not named.isdisjoint(self._names)
        except ApiError as error:
            # whoever writes the reference may write anything: what no server knows is not asked for again
            if error.code in (401, 409, 429) or error.code >= 500:
                raise
            _log.info("a group is left to others until it has pods", group=key, maker=maker.kind, error=error.message)
        except ObjectError as error:
            _log.warning("an owner cannot be read", owner=f"{namespace}/{maker.name}", error=str(error))
        self._known[maker.uid] = names_us
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._tell([key])


def _schedulers(given: Any) -> Iterator[str]:
    """Names of schedulers wherever they stand in there, in pod templates say; however deep that is."""
    waiting = [given]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            waiting += (inner for key, inner in one.items() if key != "schedulerName")
            if isinstance(name := one.get("schedulerName"), str) and name:
                yield name
