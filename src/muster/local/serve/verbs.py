"""What a request asks to be done with objects: get, list, watch, create, update, patch, delete, subresources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from muster.local.codec.values import Object
from muster.local.kinds import status
from muster.local.kinds.registry import Registry, Served
from muster.local.kinds.tables import include_problem
from muster.local.objects.objects import Deletion, Objects, Source, Write
from muster.local.objects.owners import Applied, Noted, Owners
from muster.local.serve import bodies, options
from muster.local.serve import lists as reading
from muster.local.serve.lists import ListOptions, Lists
from muster.local.serve.options import Options
from muster.local.serve.patches import APPLY, Patch
from muster.local.serve.routes import Route
from muster.local.serve.selectors import Selection, select
from muster.local.serve.special import table
from muster.local.serve.special.call import Call, Subresource
from muster.local.serve.special.tokens import Tokens
from muster.local.serve.views import Chosen, Metadata, Plain, Rows, View, check_number, choose
from muster.local.serve.watching import Start, Watch, Watches
from muster.local.serve.wire import Answer, Request, Stream
from muster.local.store.store import Stored

_encode = msgspec.json.Encoder().encode


class RequestInfo(msgspec.Struct, frozen=True):
    """One request, and what it is about."""

    request: Request
    route: Route
    served: Served

    @property
    def place(self) -> tuple[Served, str, str]:
        return self.served, self.route.namespace, self.route.name


class Verbs:
    """Finds out what is info, has it done, and shows the outcome as the client wants to see it."""

    def __init__(
        self,
        objects: Objects,
        lists: Lists,
        watches: Watches,
        source: Source,
        *,
        registry: Registry,
        tokens: Tokens,
    ) -> None:
        self._objects = objects
        self._tokens = tokens
        self._registry = registry
        self._lists = lists
        self._watches = watches
        self._source = source
        self._one = {"GET": self._get, "PUT": self._update, "PATCH": self._patch, "DELETE": self._delete}
        self._many = {"GET": self._list, "POST": self._create, "DELETE": self._delete_all}

    def answer(self, request: Request, route: Route, served: Served) -> Answer | Stream:
        kind, info = served.kind, RequestInfo(request, route, served)
        if (route.namespace and not kind.namespaced) or (route.name and kind.namespaced and not route.namespace):
            raise status.no_such_resource()
        method = request.method
        if route.subresource:
            verb = self._of_subresource(route, served, method)
        else:
            verb = (self._one if route.name else self._many).get(method)
        everywhere = kind.namespaced and not route.namespace and not route.name
        if verb is None or (everywhere and method != "GET") or (verb == self._delete_all and kind.strategy.one_by_one):
            raise status.no_such_method()
        return verb(info)

    def _of_subresource(
        self, route: Route, served: Served, method: str
    ) -> Callable[[RequestInfo], Answer | Stream] | None:
        if route.subresource == "status" and served.kind.has_status:
            return {"GET": self._get, "PUT": self._update, "PATCH": self._patch}.get(method)
        found = table.find(served.kind, route.subresource)
        if found is None:
            raise status.no_such_resource()
        if method not in found.methods:
            return None
        return lambda info: self._special(info, found)

    # --- reading ---

    def _get(self, info: RequestInfo) -> Answer | Stream:
        if info.route.watch:
            return self._watch(info)
        chosen = choose(info.request.accept)
        version = info.request.first("resourceVersion")
        if version not in ("", "0"):
            reading.check_version(version, self._objects.store)
        stored = self._objects.stored(*info.place)
        check_number(chosen, info.served.kind, many=False)
        return self._shown(info, chosen, stored)

    def _list(self, info: RequestInfo) -> Answer | Stream:
        if info.route.watch or options.flag(info.request, "watch"):
            return self._watch(info)
        chosen = choose(info.request.accept)
        check_number(chosen, info.served.kind, many=True)
        data = self._lists.read(
            info.served, self._selection(info), _list_options(info.request), self._view(info, chosen)
        )
        return Answer(code=200, body=chosen.encoded(data), content_type=chosen.content_type)

    def _watch(self, info: RequestInfo) -> Stream:
        request, wanted = info.request, _list_options(info.request)
        chosen = choose(request.accept, stream=True)
        selection = self._selection(info)
        bookmarks = options.flag(request, "allowWatchBookmarks")
        reading.check(wanted, watch=True)
        version = None if wanted.version in ("", "0") else _watch_version(wanted.version)
        if wanted.initial_events:
            version = None
        elif wanted.initial_events is False and version is None:
            version = self._objects.store.version
        watch = Watch(
            self._objects.store,
            info.served,
            selection=selection,
            view=self._view(info, chosen),
            start=Start(
                version=version,
                mark_initial=bool(wanted.initial_events) and bookmarks,
                bookmarks=bookmarks,
            ),
            seconds=wanted.seconds,
        )
        self._watches.add(watch)
        return watch

    def _selection(self, info: RequestInfo) -> Selection:
        request, route = info.request, info.route
        return select(
            info.served.kind,
            namespace=route.namespace,
            name=route.name,
            labels=request.first("labelSelector"),
            fields=request.first("fieldSelector"),
        )

    def _view(self, info: RequestInfo, chosen: Chosen) -> View:
        if chosen.kind == "Table":
            include = info.request.first("includeObject")
            if problem := include_problem(include):
                raise status.bad_request(problem)
            return Rows(info.served, include=include, now=self._source.now, version=chosen.version)
        return Metadata(info.served, version=chosen.version) if chosen.kind else Plain(info.served)

    def _shown(
        self, info: RequestInfo, chosen: Chosen, stored: Stored, *, code: int = 200, warnings: tuple[str, ...] = ()
    ) -> Answer:
        data = chosen.encoded(self._view(info, chosen).one(stored))
        return Answer(code=code, body=data, content_type=chosen.content_type, warnings=warnings)

    # --- creating and changing ---

    def _create(self, info: RequestInfo) -> Answer:
        chosen = choose(info.request.accept)
        wanted = options.of_write(info.request, name="CreateOptions")
        new, warnings = bodies.read(info.request, info.served, validation=wanted.validation)
        write = self._write(info, wanted, *warnings)
        with _telling(write.warnings):
            bodies.check_namespace(new, info.served.kind, info.route.namespace)
            stored = self._objects.create(info.served, info.route.namespace, new, write)
        return self._shown(info, chosen, stored, code=201, warnings=tuple(write.warnings))

    def _update(self, info: RequestInfo) -> Answer:
        chosen = choose(info.request.accept)
        wanted = options.of_write(info.request, name="UpdateOptions")
        new, warnings = bodies.read(info.request, info.served, validation=wanted.validation)

        def change(old: Object) -> Object:
            uid, meant = old["metadata"]["uid"], new["metadata"].get("uid")
            if meant and meant != uid:
                why = status.other_object("UID", meant, uid)
                raise status.conflict(info.served.kind, info.route.name, why)
            return new

        write = self._write(info, wanted, *warnings)
        makes = info.served.kind.strategy.creates_on_update and self._is_missing(info)
        with _telling(write.warnings):
            bodies.check_name(new, info.route.name)
            bodies.check_namespace(new, info.served.kind, info.route.namespace)
            if makes:
                new["metadata"].pop("resourceVersion", None)
                stored = self._objects.create(info.served, info.route.namespace, new, write)
            else:
                stored = self._objects.update(*info.place, change, write)
        return self._shown(info, chosen, stored, code=201 if makes else 200, warnings=tuple(write.warnings))

    def _is_missing(self, info: RequestInfo) -> bool:
        """Whether there is nothing to change, and it is more than a part that is to be changed."""
        route = info.route
        return (
            not route.subresource and self._objects.store.get(info.served.storage, route.namespace, route.name) is None
        )

    def _patch(self, info: RequestInfo) -> Answer:
        chosen = choose(info.request.accept)
        applies = info.request.content_type == APPLY
        wanted = options.of_write(info.request, name="PatchOptions", applies=applies)
        write = self._write(info, wanted)
        patch = Patch(info.request, info.served, wanted, write, now=self._source.now())
        makes = applies and self._is_missing(info)
        with _telling(write.warnings):
            if makes:
                new = patch.create(info.route.name, info.route.namespace)
                stored = self._objects.create(info.served, info.route.namespace, new, write)
            else:
                stored = self._objects.update(*info.place, patch.change, write)
        return self._shown(info, chosen, stored, code=201 if makes else 200, warnings=tuple(write.warnings))

    def _write(self, info: RequestInfo, wanted: Options, *warnings: str) -> Write:
        subresource = info.route.subresource
        noted: Owners = Noted(info.served, manager=wanted.manager, now=self._source.now(), subresource=subresource)
        return Write(
            owners=Applied() if info.request.content_type == APPLY else noted,
            dry_run=wanted.dry_run,
            subresource=subresource,
            patched=info.request.method == "PATCH",
            warnings=list(warnings),
        )

    # --- deleting ---

    def _delete(self, info: RequestInfo) -> Answer:
        chosen = choose(info.request.accept)
        deletion = options.of_delete(info.request, bodies.read_delete_options(info.request))
        warnings = _warnings(info.served, deletion)
        with _telling(warnings):
            stored, gone = self._objects.delete(*info.place, deletion)
        if gone and not info.served.kind.strategy.returns_deleted:
            success = status.success(info.served.kind, stored.name, stored.uid)
            return Answer(code=200, body=_encode(success), warnings=warnings)
        return self._shown(info, chosen, stored, code=202 if deletion.cascades and not gone else 200, warnings=warnings)

    def _delete_all(self, info: RequestInfo) -> Answer:
        chosen = choose(info.request.accept)
        deletion, selection = (
            options.of_delete(info.request, bodies.read_delete_options(info.request)),
            self._selection(info),
        )
        served, store = info.served, self._objects.store
        doomed = [one for one in store.list(served.storage, selection.namespace) if selection.matches(one)]
        version = store.version
        for one in doomed:
            self._objects.delete(served, one.namespace, one.name, deletion)
        data = self._view(info, chosen).many(doomed, {"resourceVersion": str(version)})
        return Answer(
            code=200,
            body=chosen.encoded(data),
            content_type=chosen.content_type,
            warnings=_warnings(served, deletion),
        )

    # --- what only some kinds have ---

    def _special(self, info: RequestInfo, found: Subresource) -> Answer | Stream:
        return found.answer(
            Call(
                objects=self._objects,
                request=info.request,
                served=info.served,
                route=info.route,
                source=self._source,
                registry=self._registry,
                tokens=self._tokens,
            )
        )


@contextmanager
def _telling(warnings: Sequence[str]) -> Iterator[None]:
    """A refusal comes with what its client is warned of, too."""
    try:
        yield
    except status.Refusal as refusal:
        refusal.warnings = tuple(warnings)
        raise


def _list_options(request: Request) -> ListOptions:
    initial = options.flag(request, "sendInitialEvents") if request.every("sendInitialEvents") else None
    return ListOptions(
        limit=options.number(request, "limit") or 0,
        following=request.first("continue"),
        version=request.first("resourceVersion"),
        match=request.first("resourceVersionMatch"),
        initial_events=initial,
        seconds=options.number(request, "timeoutSeconds"),
    )


def _watch_version(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        words = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise status.Refusal(500, "", words)
    return reading.parse_version(text)


def _warnings(served: Served, deletion: Deletion) -> tuple[str, ...]:
    warning = served.kind.strategy.orphaning
    return (warning,) if warning and not deletion.policy else ()
