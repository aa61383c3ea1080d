"""The scale of kinds that have one: how many replicas an object wants and has, at the places that its definition names.

A client sees an autoscaling/v1 Scale; what is stored is the object that it is a part of.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
from msgspec.structs import replace

from muster.local.checks.fields import invalid
from muster.local.codec.values import Object
from muster.local.kinds import status
from muster.local.kinds.definitions.scale import dotted, look_up, scale_errors
from muster.local.kinds.kind import Column, Kind, Table
from muster.local.kinds.registry import Served
from muster.local.kinds.tables import as_table
from muster.local.kinds.tables.cells import NAME, age, labels, name, selector
from muster.local.objects.objects import Objects, Source, Write
from muster.local.objects.owners import Owners
from muster.local.patching import managers
from muster.local.patching.fields import Fields, difference, has, of_names
from muster.local.patching.managers import Owner
from muster.local.schema import load
from muster.local.serve import bodies, options
from muster.local.serve.options import Options
from muster.local.serve.patches import APPLY, Patch
from muster.local.serve.routes import Route
from muster.local.serve.views import choose
from muster.local.serve.wire import Answer, Request
from muster.local.store.store import Stored

_encode = msgspec.json.Encoder().encode
_VERSION = "autoscaling/v1"
_HEAD = {"kind": "Scale", "apiVersion": _VERSION}
_NUMBER = of_names("spec.replicas")


class Scale:
    """One request for the scale of one object."""

    def __init__(self, objects: Objects, served: Served, source: Source, *, request: Request, route: Route) -> None:
        assert served.kind.scale is not None
        self._objects = objects
        self._served = served
        self._source = source
        self._request = request
        self._route = route
        self._paths = served.kind.scale
        self._part = _part(served)

    def answer(self) -> Answer:
        match self._request.method:
            case "GET":
                return self._shown(self._objects.stored(*self._place))
            case "PUT":
                wanted = options.of_write(self._request, name="UpdateOptions")
                sent, warnings = bodies.read(self._request, self._part, validation=wanted.validation)
                bodies.check_name(sent, self._route.name)
                bodies.check_namespace(sent, self._served.kind, self._route.namespace)
                return self._write(sent, wanted, list(warnings))
        applies = self._request.content_type == APPLY
        if applies and self._served.is_custom:
            words = f"request to convert CR to an invalid group/version: {_HEAD['apiVersion']}"
            raise status.Refusal(500, "", f"failed to create manager for existing fields: {words}")
        wanted = options.of_write(self._request, name="PatchOptions", applies=applies)
        patching = Write(owners=self._scaler(wanted), patched=True, subresource="scale", warnings=[])
        patch = Patch(self._request, self._part, wanted, patching, now=self._source.now())
        stored = self._objects.stored(*self._place)
        scale = self._scale(stored)
        if applies:
            scale["metadata"]["managedFields"] = self._own_scalers(stored)
        sent = patch.change(scale)
        owners = _Appliers(sent, api_version=self._served.kind.api_version) if applies else None
        return self._write(sent, wanted, patching.warnings, owners)

    @property
    def _place(self) -> tuple[Served, str, str]:
        return self._served, self._route.namespace, self._route.name

    def _write(self, sent: Object, wanted: Options, warnings: list[str], owners: Owners | None = None) -> Answer:
        replicas = (sent.get("spec") or {}).get("replicas", 0)
        if replicas < 0 and not self._served.is_custom:
            # definitions have words of their own for it
            error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise status.invalid(self._part.kind, self._route.name, [error])

        def change(old: Object) -> Object:
            meta, asked = old["metadata"], sent["metadata"]
            if (uid := asked.get("uid")) and uid != meta["uid"]:
                why = status.other_object("UID", uid, meta["uid"])
                raise status.conflict(self._served.kind, self._route.name, why)
            new = deepcopy(old)
            new["metadata"]["resourceVersion"] = asked.get("resourceVersion") or meta["resourceVersion"]
            *way, last = self._paths.spec
            inside = new
            for part in way:
                inside = inside.setdefault(part, {})
            inside[last] = replicas
            return new

        write = Write(
            owners=owners or self._scaler(wanted), dry_run=wanted.dry_run, subresource="scale", warnings=warnings
        )
        return self._shown(self._objects.update(*self._place, change, write), tuple(write.warnings))

    def _scaler(self, wanted: Options) -> _Scaler:
        return _Scaler(self._paths.spec, manager=wanted.manager, api_version=self._served.kind.api_version)

    def _own_scalers(self, stored: Stored) -> list[Object]:
        """Who owns the number of a built-in kind, as owners of a scale."""
        owners = managers.decode(managers.entries(self._served.filled(stored))).values()
        found = [replace(one, api_version=_VERSION, fields=_NUMBER) for one in owners if _has_number(one)]
        return managers.encode({one.key: one for one in found})

    # --- what is seen of it ---

    def _scale(self, stored: Stored) -> Object:
        """The object's scale, without kind and version."""
        document, paths = self._served.filled(stored), self._paths
        if self._served.is_custom and (errors := scale_errors(document, paths)):
            # of before the definition named these places
            raise status.internal(str(errors[0]))
        replicas = look_up(document, paths.spec)
        if replicas is None:
            raise status.internal(f'the spec replicas field "{dotted(paths.spec)}" does not exist')
        meta = document["metadata"]
        kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        found: Object = {"replicas": look_up(document, paths.status) or 0}
        if selector := look_up(document, paths.selector):
            found["selector"] = selector if isinstance(selector, str) else _as_text(selector)
        return {
            "metadata": {name: meta[name] for name in kept if name in meta},
            "spec": {"replicas": replicas} if replicas else {},
            "status": found,
        }

    def _shown(self, stored: Stored, warnings: tuple[str, ...] = ()) -> Answer:
        chosen, scale = choose(self._request.accept), {**_HEAD, **self._scale(stored)}
        if chosen.kind == "Table":
            scale = as_table(
                _TABLE,
                [scale],
                now=self._source.now(),
                include=self._request.first("includeObject") or "Metadata",
                list_meta={"resourceVersion": str(stored.version)},
                with_definitions=True,
                version=chosen.version,
            )
        data = chosen.encoded(_encode(scale))
        return Answer(code=200, body=data, content_type=chosen.content_type, warnings=warnings)


class _Scaler:
    """Who scales an object takes the number over from those who own it, or from nobody if another scaling did."""

    def __init__(self, path: tuple[str, ...], *, manager: str, api_version: str) -> None:
        self._path = path
        self._own = {
            "manager": manager,
            "operation": "Update",
            "apiVersion": api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": _field(path),
            "subresource": "scale",
        }

    def note(self, old: Object | None, new: Object) -> Object:
        entries = deepcopy((old or new)["metadata"].get("managedFields") or [])
        lost = [entry for entry in entries if _give_up(entry.get("fieldsV1") or {}, self._path)]
        kept = [entry for entry in entries if entry.get("fieldsV1")]
        if any("subresource" not in entry or entry["operation"] == managers.APPLY for entry in lost):
            kept.insert(sum("subresource" not in entry for entry in kept), self._own)
        new["metadata"] = {**new["metadata"], "managedFields": kept}
        if not kept:
            del new["metadata"]["managedFields"]
        return new


class _Appliers:
    """Who applies the scale of a built-in kind owns the number, and those who lost it in the scale do no longer."""

    def __init__(self, scale: Object, *, api_version: str) -> None:
        self._scalers = managers.decode(managers.entries(scale))
        self._api_version = api_version

    def note(self, old: Object | None, new: Object) -> Object:
        added = {key: one for key, one in self._scalers.items() if _has_number(one)}

        def left(owner: Owner) -> Fields:
            stays = added.pop(replace(owner, api_version=_VERSION).key, None) is not None or not _has_number(owner)
            return owner.fields if stays else difference(owner.fields, _NUMBER)

        owners = managers.changed(managers.decode(managers.entries(old or new)), left)
        for scaler in added.values():
            # of theirs Kubernetes does not note when
            own = replace(scaler, api_version=self._api_version, fields=_NUMBER, time=None)
            owners[own.key] = own
        return managers.owned(new, owners)


def _has_number(owner: Owner) -> bool:
    return has(owner.fields, ("f:spec", "f:replicas"))


def _field(path: tuple[str, ...]) -> Object:
    owned: Object = {}
    for part in reversed(path):
        owned = {f"f:{part}": owned}
    return owned


def _give_up(owned: Object, path: tuple[str, ...]) -> bool:
    """Takes a field out of those that somebody owns; whether it was among them."""
    first, *rest = path
    key = f"f:{first}"
    if key not in owned or (rest and not _give_up(owned[key], tuple(rest))):
        return False
    if not rest or not owned[key]:
        del owned[key]
    return True


def _part(of: Served) -> Served:
    """Scales, as far as it takes to read them."""
    own = Kind(
        group="autoscaling", version="v1", name="Scale", plural="scales", type_name="", namespaced=of.kind.namespaced
    )
    return Served(kind=own, shape=load.shapes()["io.k8s.api.autoscaling.v1.Scale"], is_custom=of.is_custom)


def _as_text(of: Object) -> str:
    """The selector of a built-in kind: for labels, or labels themselves."""
    return selector(of) if of.keys() & {"matchLabels", "matchExpressions"} else labels(of)


def _cells(scale: Object, now: float) -> tuple[Any, ...]:
    return name(scale), scale["spec"].get("replicas", 0), scale["status"]["replicas"], age(scale, now)


_AGE = Column("Age", "date")
_TABLE = Table(columns=(NAME, Column("Desired", "integer"), Column("Available", "integer"), _AGE), cells=_cells)
