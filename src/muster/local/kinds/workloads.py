"""Workload (scheduling.k8s.io/v1beta1): templates of pod groups, flat or as a tree of composite ones."""

from __future__ import annotations

from collections.abc import Iterator

from muster.local.checks import names
from muster.local.checks.fields import FieldError, duplicate, invalid
from muster.local.codec.values import Object
from muster.local.kinds import declared, groups
from muster.local.kinds.declared import Rule, Rules
from muster.local.kinds.kind import Strategy

MOST_TEMPLATES = 8
DEEPEST = 4

_FLAT, _COMPOSITE = "podGroupTemplates", "compositePodGroupTemplates"

_CONTROLLER = Rules(
    {
        "apiGroup": Rule(problems=names.long_name_problems),
        "kind": Rule(required=True, problems=names.path_segment_problems),
        "name": Rule(required=True, problems=names.path_segment_problems),
    }
)
_TEMPLATE = Rules(
    {
        "name": Rule(required=True, problems=names.short_name_problems),
        "schedulingPolicy": Rule(part=True, inside=groups.POLICY),
        "schedulingConstraints": Rule(pointer=True, immutable=True, inside=groups.CONSTRAINTS),
        "resourceClaims": groups.CLAIMS,
        "disruptionMode": Rule(pointer=True, immutable=True, inside=groups.DISRUPTION_MODE),
        **groups.PRIORITY,
    }
)
_TEMPLATES = Rule(most_items=MOST_TEMPLATES, fixed_items=True, key="name", inside=_TEMPLATE)
_COMPOSITE_TEMPLATES = Rule(most_items=MOST_TEMPLATES, fixed_items=True, key="name")
_COMPOSITE_TEMPLATES.inside = Rules(
    {
        "name": Rule(required=True, problems=names.short_name_problems),
        "schedulingPolicy": Rule(part=True, inside=groups.policy_rules("minGroupCount")),
        "schedulingConstraints": Rule(pointer=True, immutable=True, inside=groups.CONSTRAINTS),
        "disruptionMode": Rule(pointer=True, immutable=True, inside=groups.DISRUPTION_MODE),
        **groups.PRIORITY,
        _FLAT: _TEMPLATES,
        _COMPOSITE: _COMPOSITE_TEMPLATES,
    }
)
_SPEC = Rules(
    {
        "controllerRef": Rule(pointer=True, immutable=True, inside=_CONTROLLER),
        _FLAT: _TEMPLATES,
        _COMPOSITE: _COMPOSITE_TEMPLATES,
    },
    union=(_FLAT, _COMPOSITE),
)


def prepare_create(workload: Object) -> None:
    for _, template in _flat_templates(workload["spec"]):
        template.pop("resourceClaims", None)


def validate(workload: Object) -> list[FieldError]:
    return _tree_errors(workload["spec"]) + declared.errors(_SPEC, "spec", workload["spec"], None)


def prepare_update(new: Object, old: Object) -> None:
    kept = {name for name, template in _flat_templates(old["spec"]) if template.get("resourceClaims")}
    for name, template in _flat_templates(new["spec"]):
        if name not in kept:
            template.pop("resourceClaims", None)


def validate_update(new: Object, old: Object) -> list[FieldError]:
    return _tree_errors(new["spec"]) + declared.errors(_SPEC, "spec", new["spec"], old["spec"])


def _flat_templates(parent: Object) -> Iterator[tuple[str, Object]]:
    """The templates of pod groups anywhere below, with their names."""
    for template in parent.get(_FLAT) or ():
        yield template.get("name", ""), template
    for child in parent.get(_COMPOSITE) or ():
        yield from _flat_templates(child)


def _tree_errors(spec: Object) -> list[FieldError]:
    composites = spec.get(_COMPOSITE) or []
    errors = _name_errors(spec, "spec", {template.get("name", "") for template in spec.get(_FLAT) or ()})
    for index, composite in enumerate(composites):
        if _depth(composite) >= DEEPEST:
            words = f"maximum template hierarchy depth is {DEEPEST}"
            errors.append(invalid(f"spec.{_COMPOSITE}[{index}]", composite.get("name", ""), words))
    errors += _priority_errors(spec)
    return errors + _childless_errors(spec, "spec")


def _name_errors(parent: Object, field: str, seen: set[str]) -> list[FieldError]:
    """Of names used in more than one list; a list's own repetitions are found by the declared rules."""
    composites = parent.get(_COMPOSITE) or []
    errors = _seen_errors(composites, f"{field}.{_COMPOSITE}", seen)
    for index, composite in enumerate(composites):
        at = f"{field}.{_COMPOSITE}[{index}]"
        errors += _seen_errors(composite.get(_FLAT) or [], f"{at}.{_FLAT}", seen)
        errors += _name_errors(composite, at, seen)
    return errors


def _seen_errors(templates: list[Object], field: str, seen: set[str]) -> list[FieldError]:
    given = [template.get("name", "") for template in templates]
    errors = [duplicate(f"{field}[{index}].name", name) for index, name in enumerate(given) if name in seen]
    seen.update(given)
    return errors


def _depth(composite: Object) -> int:
    return 1 + max((_depth(child) for child in composite.get(_COMPOSITE) or ()), default=0)


def _priority_errors(spec: Object) -> list[FieldError]:
    priorities = {_priority(template) for template in spec.get(_FLAT) or ()}
    if len(priorities) > 1:
        return [invalid("spec", None, "detected multiple priority configurations")]
    for composite in spec.get(_COMPOSITE) or ():
        priorities |= _priorities(composite)
    if len(priorities) > 1:
        words = "all priority and priorityClassName values must be identical, detected multiple values"
        return [invalid("spec", None, words)]
    return []


def _priorities(composite: Object) -> set[tuple[str, int | None]]:
    found = {_priority(composite), *(_priority(template) for template in composite.get(_FLAT) or ())}
    return found.union(*(_priorities(child) for child in composite.get(_COMPOSITE) or ()))


def _priority(template: Object) -> tuple[str, int | None]:
    return template.get("priorityClassName", ""), template.get("priority")


def _childless_errors(parent: Object, field: str) -> list[FieldError]:
    errors = []
    for index, child in enumerate(parent.get(_COMPOSITE) or ()):
        at = f"{field}.{_COMPOSITE}[{index}]"
        if not child.get(_FLAT) and not child.get(_COMPOSITE):
            words = "must have at least one child PodGroupTemplate or CompositePodGroupTemplate"
            errors.append(invalid(at, child.get("name", ""), words))
        errors += _childless_errors(child, at)
    return errors


STRATEGY = Strategy(
    prepare_create=prepare_create,
    validate=validate,
    prepare_update=prepare_update,
    validate_update=validate_update,
    needs_version=True,
)
