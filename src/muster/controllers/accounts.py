"""A service account named default in each namespace: pods that name none run as it."""

from __future__ import annotations

from muster.api.calls import Create, Done, Refused
from muster.controllers.desk import Again, AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.objects import SERVICE_ACCOUNTS, Bare, Namespace

_NAME = "default"


class Accounts(AtDesks):
    """Makes the account where it is missing, and again where it was deleted."""

    def __init__(self) -> None:
        self._active: set[str] = set()
        """Namespaces that are not on their way out."""
        self._served: set[str] = set()
        """Namespaces that have the account."""
        self._desk = Desk(self._look)
        super().__init__(self._desk)

    def seen(self, where: str, thing: Namespace | Bare) -> None:
        if isinstance(thing, Namespace):
            name = thing.metadata.name
            active = thing.status.phase == "Active" and thing.metadata.deletion_timestamp is None
            (self._active.add if active else self._active.discard)(name)
            self._desk.add(name)
        elif thing.metadata.name == _NAME:
            self._served.add(thing.metadata.namespace)

    def gone(self, where: str, thing: Namespace | Bare) -> None:
        if isinstance(thing, Namespace):
            self._active.discard(thing.metadata.name)
        elif thing.metadata.name == _NAME:
            self._served.discard(thing.metadata.namespace)
            self._desk.add(thing.metadata.namespace)

    def _look(self, namespace: str) -> Looking:
        if namespace not in self._active or namespace in self._served:
            return
        body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _NAME, "namespace": namespace}}
        [answer] = yield [Create(path=SERVICE_ACCOUNTS.path(namespace), body=body, told=True)]
        if isinstance(answer, Done):
            return
        exists = isinstance(answer, Refused) and answer.reason == "AlreadyExists"
        dying = isinstance(answer, Refused) and (answer.in_dying_namespace or answer.code == 404)
        if not exists and not dying:
            raise Again
