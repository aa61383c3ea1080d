"""A server with everything in it: the built-in kinds, and the objects that every cluster has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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

_LASTING: tuple[tuple[Kind, Object], ...] = (
    *((rows.NAMESPACE, {"metadata": {"name": name}}) for name in _NAMESPACES),
    (rows.SERVICE, _OWN_SERVICE),
)
"""What Kubernetes makes again if somebody deletes it."""


def make_server(
    store: Store,
    source: Source,
    *,
    token: str,
    kinds: Iterable[Kind] = rows.ROWS,
    refused: Mapping[str, str] | None = None,
) -> Server:
    """`refused` names API groups that take no new objects, and why."""
    registry = Registry(tuple(map(_served, kinds)), refused=refused)
    server = Server(store, registry, source, token=token)
    server.lasting = _LASTING
    server.ensure_lasting()
    for document in priority.SYSTEM:
        server.ensure(rows.PRIORITY_CLASS, document)
    return server


def _served(kind: Kind) -> Served:
    shape = shapes()[kind.type_name]
    # one object may be told in two ways
    shown, kept = rows.TOLD.get((kind.group, kind.version, kind.plural), (None, None))
    return Served(kind=kind, shape=shape, storage=kind.storage, shown=shown, kept=kept, empty=structs.zero(shape))
