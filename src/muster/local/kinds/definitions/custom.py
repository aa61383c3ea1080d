"""Custom kinds: rows that CustomResourceDefinitions make."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import msgspec

from muster.local.checks.fields import FieldError
from muster.local.codec.gotext import quoted
from muster.local.codec.values import Object
from muster.local.kinds import tables
from muster.local.kinds.definitions.scale import scale_errors, scaling
from muster.local.kinds.definitions.status import ESTABLISHED, TERMINATING, condition
from muster.local.kinds.kind import Kind, Scaling, Strategy
from muster.local.kinds.registry import Served
from muster.local.schema import custom, rules, validations
from muster.local.schema.shapes import Base, Shape

_NEVER = 2**63
_PREFER_DOMAIN = "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"


def storage(definition: Object) -> str:
    return f"{definition['spec']['names']['plural']}.{definition['spec']['group']}"


def served(definition: Object, *, since: int = 0) -> tuple[Served, ...]:
    """What a definition declares, in each version that is served; nothing until it is established.

    since   All that was stored after this version was stored by these schemas.
    """
    if condition(definition, ESTABLISHED).get("status") != "True":
        return ()
    versions = [version for version in definition["spec"]["versions"] if version["served"]]
    shapes = _shapes(definition["spec"])
    return tuple(_served(definition, version, shapes, since=since) for version in versions)


def _shapes(spec: Object) -> dict[str, Shape]:
    """By apiVersion."""
    shapes = {f"{spec['group']}/{version['name']}": _shape(version) for version in spec["versions"]}
    if _needs_webhook(spec):
        # of what a webhook would have made something else, nothing must be lost
        return dict.fromkeys(shapes, shapes[_kept(spec)])
    return shapes


def _shape(version: Object) -> Shape:
    return custom.shape((version.get("schema") or {}).get("openAPIV3Schema"))


def _kept(spec: Object) -> str:
    """The apiVersion in which objects are stored."""
    return next(f"{spec['group']}/{version['name']}" for version in spec["versions"] if version["storage"])


def _needs_webhook(spec: Object) -> bool:
    return bool((spec.get("conversion") or {}).get("strategy") == "Webhook")


def unserved(definition: Object) -> Served:
    """The kind as far as it takes to remove its objects, whether a version is served or not."""
    spec = definition["spec"]
    kind = Kind(
        group=spec["group"],
        version=spec["versions"][0]["name"],
        name=spec["names"]["kind"],
        plural=spec["names"]["plural"],
        type_name="",
        namespaced=spec["scope"] == "Namespaced",
        strategy=Strategy(has_generation=True),
    )
    return Served(kind=kind, shape=Shape(base=Base.ANY), storage=storage(definition), is_custom=True)


def _served(definition: Object, version: Object, shapes: dict[str, Shape], *, since: int) -> Served:
    """Objects are kept in one version, by its schema; in others they are shown as far as those know their fields."""
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    shape, kept, is_kept = shapes[f"{spec['group']}/{version['name']}"], _kept(spec), version["storage"]
    has_status = "status" in (version.get("subresources") or {})
    scale = scaling(version.get("subresources"))
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
        scale=scale,
        is_ending=condition(definition, TERMINATING).get("status") == "True",
        strategy=_strategy(
            version,
            shape,
            head={"apiVersion": f"{spec['group']}/{version['name']}", "kind": names["kind"]},
            has_status=has_status,
            scale=scale,
        ),
        table=tables.custom(version.get("additionalPrinterColumns") or ()),
    )
    return Served(
        kind=kind,
        shape=shape,
        shapes=shapes,
        storage=storage(definition),
        is_custom=True,
        fill=partial(custom.fill, stored=shapes[kept], shown=shape),
        fits_after=since if is_kept else _NEVER,
        strip=None if is_kept else partial(custom.strip, root=shapes[kept]),
        only_stored=kept if _needs_webhook(spec) and not is_kept else "",
    )


def _strategy(version: Object, shape: Shape, *, head: Object, has_status: bool, scale: Scaling | None) -> Strategy:
    """head   What rules see of the kind, which objects do not keep."""

    def of_scale(new: Object) -> list[FieldError]:
        return [] if scale is None else scale_errors(new, scale)

    # compiled when the first object comes: most kinds that are declared have none for long
    checks = cache(lambda: validations.of(shape.limits["schema"]))

    def checked(errors: list[FieldError], new: Object, *old: Object) -> list[FieldError]:
        """With what rules in CEL say, which count on all else being in order."""
        found = checks()
        if found is None:
            return errors
        return errors + (validations.unchecked(errors) or found.errors(head | new, *(head | one for one in old)))

    def validate(new: Object) -> list[FieldError]:
        return checked(rules.validate(new, shape) + of_scale(new), new)

    def validate_update(new: Object, old: Object) -> list[FieldError]:
        return checked(rules.validate_update(new, old, shape) + of_scale(new), new, old)

    def validate_status(new: Object, old: Object) -> list[FieldError]:
        """Of the status alone: what else is wrong was so before."""
        field = shape.fields.get("status")
        if field is None or "status" not in new:
            errors = []
        elif "status" in old:
            errors = rules.validate_update(new["status"], old["status"], field.shape)
        else:
            errors = rules.validate(new["status"], field.shape)
        return checked([*(_inside("status", error) for error in errors), *of_scale(new)], new, old)

    return Strategy(
        prepare_create=_drop_status if has_status else _nothing,
        default=partial(custom.default, shape=shape),
        validate=validate,
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


def _only_status(new: Object, old: Object) -> None:
    """Of the metadata, no more changes than who owns the fields of the status."""
    if new.get("status") is None:
        new.pop("status", None)
    owners = new["metadata"].get("managedFields")
    new["metadata"] = {name: value for name, value in old["metadata"].items() if name != "managedFields"}
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
