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
from muster.local.serve.views import Chosen, Metadata, Plain, Rows, View, check_number, choose
from muster.local.serve.watching import Start, Watch, Watches
from muster.local.serve.wire import Answer, Request, Stream
from muster.local.store.store import Stored

_encode = msgspec.json.Encoder().encode
_PRESERVED = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


class Asked(msgspec.Struct, frozen=True):
    """One request, and what it is about."""

    request: Request
    route: Route
    served: Served

    @property
    def place(self) -> tuple[Served, str, str]:
        return self.served, self.route.namespace, self.route.name


class Verbs:
    """Finds out what is asked, has it done, and shows the outcome as the client wants to see it."""

    def __init__(self, objects: Objects, lists: Lists, watches: Watches, source: Source, *, registry: Registry) -> None:
        self._objects = objects
        self._registry = registry
        self._lists = lists
        self._watches = watches
        self._source = source
        self._one = {"GET": self._get, "PUT": self._update, "PATCH": self._patch, "DELETE": self._delete}
        self._many = {"GET": self._list, "POST": self._create, "DELETE": self._delete_all}

    def answer(self, request: Request, route: Route, served: Served) -> Answer | Stream:
        kind, asked = served.kind, Asked(request, route, served)
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
        return verb(asked)

    def _of_subresource(self, route: Route, served: Served, method: str) -> Callable[[Asked], Answer | Stream] | None:
        if route.subresource == "status" and served.kind.has_status:
            return {"GET": self._get, "PUT": self._update, "PATCH": self._patch}.get(method)
        found = table.find(served.kind, route.subresource)
        if found is None:
            raise status.no_such_resource()
        if method not in found.methods:
            return None
        return lambda asked: self._special(asked, found)

    # --- reading ---

    def _get(self, asked: Asked) -> Answer | Stream:
        if asked.route.watch:
            return self._watch(asked)
        chosen = choose(asked.request.accept)
        version = asked.request.first("resourceVersion")
        if version not in ("", "0"):
            reading.check_version(version, self._objects.store)
        stored = self._objects.stored(*asked.place)
        check_number(chosen, asked.served.kind, many=False)
        return self._shown(asked, chosen, stored)

    def _list(self, asked: Asked) -> Answer | Stream:
        if asked.route.watch or options.flag(asked.request, "watch"):
            return self._watch(asked)
        chosen = choose(asked.request.accept)
        check_number(chosen, asked.served.kind, many=True)
        data = self._lists.read(
            asked.served, self._selection(asked), _list_options(asked.request), self._view(asked, chosen)
        )
        return Answer(code=200, body=chosen.encoded(data), content_type=chosen.content_type)

    def _watch(self, asked: Asked) -> Stream:
        request, wanted = asked.request, _list_options(asked.request)
        chosen = choose(request.accept, stream=True)
        selection = self._selection(asked)
        bookmarks = options.flag(request, "allowWatchBookmarks")
        reading.check(wanted, watch=True)
        version = None if wanted.version in ("", "0") else _watch_version(wanted.version)
        if wanted.initial_events:
            version = None
        elif wanted.initial_events is False and version is None:
            version = self._objects.store.version
        watch = Watch(
            self._objects.store,
            asked.served,
            selection=selection,
            view=self._view(asked, chosen),
            start=Start(
                version=version,
                mark_initial=bool(wanted.initial_events) and bookmarks,
                bookmarks=bookmarks,
            ),
            seconds=options.number(request, "timeoutSeconds"),
        )
        self._watches.add(watch)
        return watch

    def _selection(self, asked: Asked) -> Selection:
        request, route = asked.request, asked.route
        return select(
            asked.served.kind,
            namespace=route.namespace,
            name=route.name,
            labels=request.first("labelSelector"),
            fields=request.first("fieldSelector"),
        )

    def _view(self, asked: Asked, chosen: Chosen) -> View:
        if chosen.kind == "Table":
            include = asked.request.first("includeObject")
            if problem := include_problem(include):
                raise status.bad_request(problem)
            return Rows(asked.served, include=include, now=self._source.now, version=chosen.version)
        return Metadata(asked.served, version=chosen.version) if chosen.kind else Plain(asked.served)

    def _shown(
        self, asked: Asked, chosen: Chosen, stored: Stored, *, code: int = 200, warnings: tuple[str, ...] = ()
    ) -> Answer:
        data = chosen.encoded(self._view(asked, chosen).one(stored))
        return Answer(code=code, body=data, content_type=chosen.content_type, warnings=warnings)

    # --- creating and changing ---

    def _create(self, asked: Asked) -> Answer:
        chosen = choose(asked.request.accept)
        wanted = options.of_write(asked.request, name="CreateOptions")
        given, warnings = bodies.read(asked.request, asked.served, validation=wanted.validation)
        write = self._write(asked, wanted, *warnings)
        with _telling(write.warnings):
            bodies.check_namespace(given, asked.served.kind, asked.route.namespace)
            stored = self._objects.create(asked.served, asked.route.namespace, given, write)
        return self._shown(asked, chosen, stored, code=201, warnings=tuple(write.warnings))

    def _update(self, asked: Asked) -> Answer:
        chosen = choose(asked.request.accept)
        wanted = options.of_write(asked.request, name="UpdateOptions")
        given, warnings = bodies.read(asked.request, asked.served, validation=wanted.validation)

        def change(old: Object) -> Object:
            uid, meant = old["metadata"]["uid"], given["metadata"].get("uid")
            if meant and meant != uid:
                why = status.other_object("UID", meant, uid)
                raise status.conflict(asked.served.kind, asked.route.name, why)
            return given

        write = self._write(asked, wanted, *warnings)
        makes = asked.served.kind.strategy.creates_on_update and self._is_missing(asked)
        with _telling(write.warnings):
            bodies.check_name(given, asked.route.name)
            bodies.check_namespace(given, asked.served.kind, asked.route.namespace)
            if makes:
                given["metadata"].pop("resourceVersion", None)
                stored = self._objects.create(asked.served, asked.route.namespace, given, write)
            else:
                stored = self._objects.update(*asked.place, change, write)
        return self._shown(asked, chosen, stored, code=201 if makes else 200, warnings=tuple(write.warnings))

    def _is_missing(self, asked: Asked) -> bool:
        """Whether there is nothing to change, and it is more than a part that is to be changed."""
        route = asked.route
        return (
            not route.subresource and self._objects.store.get(asked.served.storage, route.namespace, route.name) is None
        )

    def _patch(self, asked: Asked) -> Answer:
        chosen = choose(asked.request.accept)
        applies = asked.request.content_type == APPLY
        wanted = options.of_write(asked.request, name="PatchOptions", applies=applies)
        write = self._write(asked, wanted)
        patch = Patch(asked.request, asked.served, wanted, write, now=self._source.now())
        makes = applies and self._is_missing(asked)
        with _telling(write.warnings):
            if makes:
                made = patch.create(asked.route.name, asked.route.namespace)
                stored = self._objects.create(asked.served, asked.route.namespace, made, write)
            else:
                stored = self._objects.update(*asked.place, patch.change, write)
        return self._shown(asked, chosen, stored, code=201 if makes else 200, warnings=tuple(write.warnings))

    def _write(self, asked: Asked, wanted: Options, *warnings: str) -> Write:
        subresource = asked.route.subresource
        noted: Owners = Noted(asked.served, manager=wanted.manager, now=self._source.now(), subresource=subresource)
        return Write(
            owners=Applied() if asked.request.content_type == APPLY else noted,
            dry_run=wanted.dry_run,
            subresource=subresource,
            patched=asked.request.method == "PATCH",
            warnings=list(warnings),
        )

    # --- deleting ---

    def _delete(self, asked: Asked) -> Answer:
        chosen = choose(asked.request.accept)
        deletion = _deletion(asked.request)
        warnings = _warnings(asked.served, deletion)
        with _telling(warnings):
            stored, gone = self._objects.delete(*asked.place, deletion)
        if gone and not asked.served.kind.strategy.returns_deleted:
            success = status.success(asked.served.kind, stored.name, stored.uid)
            return Answer(code=200, body=_encode(success), warnings=warnings)
        return self._shown(
            asked, chosen, stored, code=202 if deletion.cascades and not gone else 200, warnings=warnings
        )

    def _delete_all(self, asked: Asked) -> Answer:
        chosen = choose(asked.request.accept)
        deletion, selection = _deletion(asked.request), self._selection(asked)
        served, store = asked.served, self._objects.store
        doomed = [one for one in store.list(served.storage, selection.namespace) if selection.matches(one)]
        version = store.version
        for one in doomed:
            self._objects.delete(served, one.namespace, one.name, deletion)
        data = self._view(asked, chosen).many(doomed, {"resourceVersion": str(version)})
        return Answer(
            code=200,
            body=chosen.encoded(data),
            content_type=chosen.content_type,
            warnings=_warnings(served, deletion),
        )

    # --- what only some kinds have ---

    def _special(self, asked: Asked, found: Subresource) -> Answer | Stream:
        return found.answer(
            Call(
                objects=self._objects,
                request=asked.request,
                served=asked.served,
                route=asked.route,
                source=self._source,
                registry=self._registry,
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
    )


def _watch_version(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        words = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise status.Refusal(500, "", words)
    return reading.parse_version(text)


def _deletion(request: Request) -> Deletion:
    asked: Object = options.of_delete(request, bodies.read_delete_options(request))
    conditions = asked.get("preconditions") or {}
    policy = asked.get("propagationPolicy") or ""
    if not policy and "orphanDependents" in asked:
        policy = "Orphan" if asked["orphanDependents"] else "Background"
    return Deletion(
        grace_seconds=asked.get("gracePeriodSeconds"),
        uid=conditions.get("uid") or "",
        version=conditions.get("resourceVersion") or "",
        policy=policy,
        cascades=asked.get("orphanDependents") is False,
        dry_run=bool(asked.get("dryRun")),
    )


def _warnings(served: Served, deletion: Deletion) -> tuple[str, ...]:
    return (_PRESERVED,) if served.kind.strategy.orphans and not deletion.policy else ()
