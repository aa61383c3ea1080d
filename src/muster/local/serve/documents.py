"""What the server says of itself: discovery, OpenAPI, its version."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from muster.local.codec.values import Object
from muster.local.kinds import status
from muster.local.kinds.kind import Kind
from muster.local.kinds.registry import Registry, Served
from muster.local.serve import discovery, openapi
from muster.local.serve.special import reviews
from muster.local.serve.views import choose
from muster.local.serve.wire import Answer, Request

_encode = msgspec.json.Encoder().encode
_OLD_OPENAPI = "/openapi/v2"
_OLD_INFO = {"swagger": "2.0", "info": {"title": "Kubernetes", "version": "1.37"}, "paths": {}, "definitions": {}}
# the same as a gnostic.openapi.v2.Document
_OLD_PROTOBUF = b"\n\x032.0\x12\x12\n\nKubernetes\x12\x041.37"
_OLD_PROTOBUF_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


class Documents:
    """Finds the document of a path."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def find(self, request: Request) -> Answer | None:
        """None if there is none."""
        path = request.path.rstrip("/") or "/"
        if path == _OLD_OPENAPI and "protobuf" in request.accept:
            # kubectl asks for it when it has not found a kind; all that is served is in the new documents
            return Answer(code=200, body=_OLD_PROTOBUF, content_type=_OLD_PROTOBUF_TYPE)
        aggregated = path in ("/api", "/apis") and _wants_aggregated(request.accept)
        document = self._aggregated(path) if aggregated else self._find(path, request.host)
        if document is None:
            return None
        if request.method not in ("GET", "HEAD"):
            raise status.no_such_method()
        if aggregated:
            return Answer(code=200, body=_encode(document), content_type=discovery.AGGREGATED_TYPE)
        chosen = choose(request.accept, objects=False)
        return Answer(code=200, body=chosen.encoded(_encode(document)), content_type=chosen.content_type)

    def _aggregated(self, path: str) -> Object:
        return discovery.aggregated(self._kinds, core=path == "/api")

    def _find(self, path: str, host: str) -> Object | None:
        match path.strip("/").split("/"):
            case [""]:
                return discovery.paths(self._kinds)
            case ["version"]:
                return discovery.VERSION
            case ["api"]:
                return discovery.versions(host)
            case ["apis"]:
                return discovery.groups(self._kinds)
            case ["api", version]:
                return discovery.resources(self._kinds, "", version)
            case ["apis", group]:
                return discovery.group(self._kinds, group)
            case ["apis", group, version]:
                return discovery.resources(self._kinds, group, version)
            case ["openapi", "v2"]:
                return _OLD_INFO
            case ["openapi", "v3"]:
                return openapi.index(self._served)
            case ["openapi", "v3", "api", version]:
                return openapi.document(self._served, "", version)
            case ["openapi", "v3", "apis", group, version]:
                return openapi.document(self._served, group, version)
        return None

    def _told(self) -> Iterator[Served]:
        return (served for served in self._registry if not served.kind.is_hidden)

    @property
    def _kinds(self) -> list[Kind]:
        return [*(served.kind for served in self._told()), *reviews.KINDS]

    @property
    def _served(self) -> list[openapi.Described]:
        return [openapi.Described(served.kind, served.shape) for served in self._told()]


def _wants_aggregated(accept: str) -> bool:
    """Whether that comes before plain JSON in what a client accepts."""
    for choice in accept.split(","):
        media, *parameters = (part.strip() for part in choice.split(";"))
        if media == "application/json":
            return "as=APIGroupDiscoveryList" in parameters and "v=v2" in parameters
    return False
