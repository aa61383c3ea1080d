"""A server with everything in it: the built-in kinds, and the objects that every cluster has."""

from __future__ import annotations

from collections.abc import Iterable

from muster.local.codec.values import Object
from muster.local.kinds import priority, rows
from muster.local.kinds.kind import Kind
from muster.local.kinds.registry import Registry, Served
from muster.local.kinds.services import addresses as service_addresses
from muster.local.objects.objects import Source
from muster.local.schema import structs
from muster.local.schema.load import shapes
from muster.local.serve.server import Server
from muster.local.store.store import Store

_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


_OWN_SERVICE: Object = {
    "metadata": {
        "name": "kubernetes",
        "namespace": "default",
        "labels": {"component": "apiserver", "provider": "kubernetes"},
    },
    "spec": {
        "clusterIP": str(service_addresses.NETWORK[1]),
        "ipFamilyPolicy": "SingleStack",
        "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
    },
}
"""By which pods find the server; there is no network in which they could."""


def make_server(store: Store, source: Source, *, token: str, kinds: Iterable[Kind] = rows.ROWS) -> Server:
    registry = Registry(tuple(map(_served, kinds)))
    server = Server(store, registry, source, token=token)
    for kind, document in _first_objects():
        server.ensure(kind, document)
    return server


def _served(kind: Kind) -> Served:
    shape = shapes()[kind.type_name]
    shown, kept = rows.TOLD.get((kind.group, kind.version, kind.plural), (None, None))
    # one object of the core group, told in two ways
    storage = "events" if kind.plural == "events" else kind.resource
    return Served(kind=kind, shape=shape, storage=storage, shown=shown, kept=kept, empty=structs.zero(shape))


def _first_objects() -> list[tuple[Kind, Object]]:
    namespaces = [(rows.NAMESPACE, {"metadata": {"name": name}}) for name in _NAMESPACES]
    classes = [(rows.PRIORITY_CLASS, document) for document in priority.SYSTEM]
    return [*namespaces, *classes, (rows.SERVICE, _OWN_SERVICE)]
