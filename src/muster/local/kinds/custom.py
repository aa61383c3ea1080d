"""Custom kinds: rows that CustomResourceDefinitions make."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from muster.local.fields import FieldError
from muster.local.kinds import tables
from muster.local.kinds.definition_status import ESTABLISHED, condition
from muster.local.kinds.kind import Kind, Strategy
from muster.local.registry import Served
from muster.local.schema import custom, rules
from muster.local.schema.gotext import quoted
from muster.local.schema.shapes import Object, Shape

_PREFER_DOMAIN = "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"


def storage(definition: Object) -> str:
    return f"{definition['spec']['names']['plural']}.{definition['spec']['group']}"


def served(definition: Object) -> tuple[Served, ...]:
    """What a definition declares, in each version that is served; nothing until it is established."""
    if condition(definition, ESTABLISHED).get("status") != "True":
        return ()
    versions = definition["spec"]["versions"]
    # of those that are not served, too: objects may have owners from when they were
    shapes = {f"{definition['spec']['group']}/{version['name']}": _shape(version) for version in versions}
    return tuple(_served(definition, version, shapes) for version in versions if version["served"])


def _shape(version: Object) -> Shape:
    return custom.shape((version.get("schema") or {}).get("openAPIV3Schema"))


def _served(definition: Object, version: Object, shapes: dict[str, Shape]) -> Served:
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    shape = shapes[f"{spec['group']}/{version['name']}"]
    has_status = "status" in (version.get("subresources") or {})
    kind = Kind(
        group=spec["group"],
        version=version["name"],
        name=names["kind"],
        plural=names["plural"],
        type_name="",
        namespaced=spec["scope"] == "Namespaced",
        singular_name=names.get("singular", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        has_status=has_status,
        strategy=_strategy(version, shape, has_status=has_status),
        table=tables.custom(version.get("additionalPrinterColumns") or ()),
    )
    return Served(kind=kind, shape=shape, storage=storage(definition), is_custom=True, shapes=shapes)


def _strategy(version: Object, shape: Shape, *, has_status: bool) -> Strategy:
    def validate_update(new: Object, old: Object) -> list[FieldError]:
        return rules.validate_update(new, old, shape)

    def validate_status(new: Object, old: Object) -> list[FieldError]:
        """Of the status alone: what else is wrong was so before."""
        field = shape.fields.get("status")
        if field is None or "status" not in new:
            return []
        if "status" in old:
            errors = rules.validate_update(new["status"], old["status"], field.shape)
        else:
            errors = rules.validate(new["status"], field.shape)
        return [_inside("status", error) for error in errors]

    return Strategy(
        prepare_create=_drop_status if has_status else _nothing,
        default=partial(custom.default, made=shape),
        validate=lambda given: rules.validate(given, shape),
        prepare_update=_keep_status if has_status else _nothing,
        validate_update=validate_update,
        prepare_status=_only_status,
        validate_status=validate_status,
        warnings=_warnings,
        selectable=_selectable([one["jsonPath"] for one in version.get("selectableFields") or ()]),
        has_generation=True,
        needs_version=True,
    )


def _inside(name: str, error: FieldError) -> FieldError:
    return msgspec.structs.replace(error, field=f"{name}.{error.field}" if error.field else name)


def _warnings(new: Object, old: Object | None) -> list[str]:
    """Finalizers of others may have the same plain name."""
    before = (old or {"metadata": {}})["metadata"].get("finalizers") or ()
    added = sorted(set(new["metadata"].get("finalizers") or ()).difference(before))
    return [f"metadata.finalizers: {quoted(name)}: {_PREFER_DOMAIN}" for name in added if "/" not in name]


def _nothing(*_: Object) -> None:
    pass


def _drop_status(given: Object) -> None:
    given.pop("status", None)


def _keep_status(new: Object, old: Object) -> None:
    new.pop("status", None)
    if "status" in old:
        new["status"] = old["status"]


def _only_status(new: Object, old: Object) -> None:
    """All but the status, and who owns its fields, is as it was."""
    status, owners = new.get("status"), new["metadata"].get("managedFields")
    new.clear()
    new.update(old)
    new["metadata"] = {name: value for name, value in old["metadata"].items() if name != "managedFields"}
    new.pop("status", None)
    if status is not None:
        new["status"] = status
    if owners is not None:
        new["metadata"]["managedFields"] = owners


def _selectable(paths: list[str]) -> Callable[[Object], dict[str, str]]:
    names = [path.removeprefix(".") for path in paths]
    return lambda given: {name: _text(_look_up(given, name)) for name in names}


def _look_up(given: Any, path: str) -> Any:
    for part in path.split("."):
        given = given.get(part) if isinstance(given, dict) else None
    return given


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
