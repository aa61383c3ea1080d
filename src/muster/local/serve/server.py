"""The API server without I/O: a request in, an answer or a stream out."""

from __future__ import annotations

import hmac
import traceback
from collections.abc import Iterable
from copy import deepcopy

import msgspec
import structlog

from muster.local.codec.values import Object
from muster.local.kinds import status
from muster.local.kinds.kind import Kind
from muster.local.kinds.registry import Registry, Served
from muster.local.objects.definitions import Definitions
from muster.local.objects.expiry import expired
from muster.local.objects.objects import Deletion, Objects, Source, Write
from muster.local.objects.owners import SERVER, Noted
from muster.local.serve import routes
from muster.local.serve.documents import Documents
from muster.local.serve.lists import Lists
from muster.local.serve.routes import Route
from muster.local.serve.special import reviews, table
from muster.local.serve.special.tokens import Tokens
from muster.local.serve.verbs import Verbs
from muster.local.serve.views import refused_in
from muster.local.serve.watching import Watches
from muster.local.serve.wire import TEXT, Answer, Request, Stream
from muster.local.store.store import NotWritten, Store

_log = structlog.get_logger()
_encode = msgspec.json.Encoder().encode

LARGEST_BODY = 3 << 20
"""Kubernetes' own limit."""
_HEALTH = ("/healthz", "/livez", "/readyz")


class Server:
    """Serves one store.  Whoever has the token may do everything, all others nothing but ask for its health."""

    def __init__(self, store: Store, registry: Registry, source: Source, *, token: str) -> None:
        self._token = token.encode()
        self._source = source
        self._registry = registry
        self.watches = Watches()
        self.lasting: Iterable[tuple[Kind, Object]] = ()
        """Objects that are made again now and then if they are gone."""
        self._changes = 0
        """Of the registry, when watches were last looked through."""
        self._objects = Objects(store, registry, source)
        self._lists = Lists(store)
        self._tokens = Tokens(self._token, store)
        self._verbs = Verbs(self._objects, self._lists, self.watches, source, registry=registry, tokens=self._tokens)
        self._documents = Documents(registry)
        self._definitions = Definitions(store, registry, self._objects, source)
        for served in registry:
            store.derive(served.storage, served.selectable)

    def knows(self, token: str) -> bool:
        return self._user(token) is not None

    def _user(self, token: str) -> Object | None:
        """Who comes with a token; None if nobody may."""
        # a header may be any bytes; whoever has no token has not the right one, whatever that is
        if token != "" and hmac.compare_digest(token.encode(errors="surrogateescape"), self._token):
            return reviews.ADMIN
        return self._tokens.user(token, now=self._source.now())

    def handle(self, request: Request) -> Answer | Stream:
        """Never raises: what goes wrong in here is the server's fault, and is answered and logged as such."""
        try:
            return self._handle(request)
        except status.Refusal as refusal:
            return _refused(refusal, request)
        except RecursionError:
            # nothing was stored: that comes last, and is not deep
            return _refused(status.bad_request("the request is nested too deeply"), request)
        except NotWritten as error:
            # no bug, and a trace would take more room on a disk that has none
            _log.warning("a request failed", method=request.method, path=request.path, error=f"NotWritten: {error}")
            return _refused(status.internal(str(error)), request)
        except Exception as error:
            # not with exc_info: the schema of all kinds would be shown as somebody's local variable
            trace = "".join(traceback.format_exception(error))
            _log.error("a request failed", method=request.method, path=request.path, exception=trace)
            return _refused(status.internal(f"{type(error).__name__}: {error}"), request)

    def _handle(self, request: Request) -> Answer | Stream:
        if request.path in _HEALTH:
            return Answer(code=200, body=b"ok", content_type=TEXT)
        if not self.knows(request.token):
            raise status.unauthorized()
        if len(request.body) > LARGEST_BODY:
            raise status.too_large(LARGEST_BODY)
        route = routes.parse(request.path)
        found = self._about_objects(request, route) if route is not None else self._documents.find(request)
        if found is not None:
            return found
        group = routes.group_of(request.path)
        if group is not None and self._registry.is_built_in(group):
            raise status.no_such_resource()
        return Answer(code=404, body=b"404 page not found\n", content_type=TEXT)

    def _about_objects(self, request: Request, route: Route) -> Answer | Stream | None:
        if request.acts_as:
            # as the one user who may do everything it would have rights that it wants to be without
            raise status.nobody_else(request.acts_as)
        if (review := reviews.find(route)) is not None:
            user = self._user(request.token) or {}
            return reviews.answer(request, route, review, user=user, now=self._source.now())
        route = table.resolved(request, route)
        served = self._registry.find(route.group, route.version, route.plural)
        if served is None or (served.is_custom and route.namespace and not served.kind.namespaced):
            return None
        answer = self._verbs.answer(request, route, served)
        self._definitions.settle()
        if self._registry.changes != self._changes:
            self._changes = self._registry.changes
            self.watches.end(self._registry)
        return answer

    def pass_time(self) -> None:
        """What happens although nobody asks: to be called now and then."""
        for served in self._registry:
            if (ttl := served.kind.strategy.ttl_seconds) is not None:
                objects = self._objects.store.list(served.storage)
                for stored in list(expired(objects, ttl_seconds=ttl, now=self._source.now())):
                    self._objects.delete(served, stored.namespace, stored.name, Deletion())
        self._lists.forget()
        self.watches.bookmark()
        self.ensure_lasting()

    def ensure_lasting(self) -> None:
        for kind, document in self.lasting:
            try:
                self.ensure(kind, document)
            except (NotWritten, status.Refusal) as error:
                # the disk is full, or somebody has its address: later it may succeed
                _log.warning("what every cluster has is missing", name=document["metadata"]["name"], error=str(error))

    def ensure(self, kind: Kind, document: Object) -> None:
        """Makes an object that every cluster has, if it is not there."""
        served, meta = _find(self._registry, kind), document["metadata"]
        namespace = meta.get("namespace", "")
        if self._objects.store.get(served.storage, namespace, meta["name"]) is None:
            owners = Noted(served, manager=SERVER, now=self._source.now(), subresource="")
            self._objects.create(served, namespace, deepcopy(document), Write(owners=owners))


def _find(registry: Registry, kind: Kind) -> Served:
    found = registry.find(kind.group, kind.version, kind.plural)
    assert found is not None, kind.resource
    return found


def _refused(refusal: status.Refusal, request: Request) -> Answer:
    shown = refused_in(request.accept)
    return Answer(
        code=refusal.code,
        body=shown.encoded(_encode(refusal.status)),
        content_type=shown.content_type,
        warnings=refusal.warnings,
        retry_after=refusal.retry_after,
    )
