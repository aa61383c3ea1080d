"""What is wrong with a Job's policies: on failed pods, on success, on replacement.  And with lists of indexes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from muster.local.checks import names
from muster.local.checks.fields import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
    wrong,
)
from muster.local.checks.metadata import not_negative
from muster.local.codec.gotext import quoted
from muster.local.codec.values import Object

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_REPLACEMENTS = ("Failed", "TerminatingOrFailed")
_MOST_RULES = 20
_MOST_EXIT_CODES = 255
_MOST_PATTERNS = 20
_LONGEST_INDEXES = 64 * 1024
_NUMBER = re.compile(r"[+-]?[0-9]+")
_LONGEST_INDEX = 18


class BadIndexes(ValueError):
    """Why a list of indexes cannot be read."""


def errors(spec: Object) -> list[FieldError]:
    """Of podFailurePolicy, successPolicy and podReplacementPolicy, in this order."""
    found = []
    if "podFailurePolicy" in spec:
        found += _failure_errors(spec, "spec.podFailurePolicy")
    if "successPolicy" in spec:
        found += _success_errors(spec, "spec.successPolicy")
    replacement = spec.get("podReplacementPolicy")
    supported = _REPLACEMENTS[:1] if "podFailurePolicy" in spec else _REPLACEMENTS
    if replacement is not None and replacement not in supported:
        found.append(not_supported("spec.podReplacementPolicy", replacement, supported))
    return found


# --- failed pods ---


def _failure_errors(spec: Object, field: str) -> list[FieldError]:
    rules = spec["podFailurePolicy"].get("rules") or []
    found = [too_many(f"{field}.rules", len(rules), _MOST_RULES)] if len(rules) > _MOST_RULES else []
    pod = spec["template"]["spec"]
    known = {one.get("name") for kind in ("containers", "initContainers") for one in pod.get(kind) or ()}
    for index, rule in enumerate(rules):
        found += _rule_errors(spec, rule, f"{field}.rules[{index}]", known)
    return found


def _rule_errors(spec: Object, rule: Object, field: str, known: set[str]) -> list[FieldError]:
    action = rule.get("action", "")
    found = _choice_errors(action, f"{field}.action", _ACTIONS)
    if action == "FailIndex" and "backoffLimitPerIndex" not in spec:
        found.append(invalid(f"{field}.action", action, "requires the backoffLimitPerIndex to be set"))
    codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions") or []
    if codes is not None:
        found += _exit_code_errors(codes, f"{field}.onExitCodes", known)
    found += _pattern_errors(patterns, f"{field}.onPodConditions")
    if codes is not None and patterns:
        found.append(wrong(field, "specifying both OnExitCodes and OnPodConditions is not supported"))
    if codes is None and not patterns:
        found.append(wrong(field, "specifying one of OnExitCodes and OnPodConditions is required"))
    return found


def _exit_code_errors(codes: Object, field: str, known: set[str]) -> list[FieldError]:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    found = _choice_errors(operator, f"{field}.operator", _OPERATORS)
    if "containerName" in codes and codes["containerName"] not in known:
        words = "must be one of the container or initContainer names in the pod template"
        found.append(invalid(f"{field}.containerName", codes["containerName"], words))
    if not values:
        found.append(invalid(f"{field}.values", codes.get("values"), "at least one value is required"))
    elif len(values) > _MOST_EXIT_CODES:
        found.append(too_many(f"{field}.values", len(values), _MOST_EXIT_CODES))
    for index, value in enumerate(values):
        at = f"{field}.values[{index}]"
        if operator == "In" and value == 0:
            found.append(invalid(at, value, "must not be 0 for the In operator"))
        if value in values[:index]:
            found.append(duplicate(at, value))
    if values != sorted(values):
        found.append(invalid(f"{field}.values", values, "must be ordered"))
    return found


def _pattern_errors(patterns: list[Object], field: str) -> list[FieldError]:
    found = [too_many(field, len(patterns), _MOST_PATTERNS)] if len(patterns) > _MOST_PATTERNS else []
    for index, pattern in enumerate(patterns):
        kind = pattern.get("type", "")
        found += [invalid(f"{field}[{index}].type", kind, problem) for problem in names.qualified_problems(kind)]
        found += _choice_errors(pattern.get("status", ""), f"{field}[{index}].status", _STATUSES)
    return found


def _choice_errors(value: str, field: str, supported: Iterable[str]) -> list[FieldError]:
    if not value:
        return [required(field, f"valid values: [{' '.join(json.dumps(one) for one in supported)}]")]
    return [] if value in supported else [not_supported(field, value, supported)]


# --- success ---


def _success_errors(spec: Object, field: str) -> list[FieldError]:
    policy = spec["successPolicy"]
    if spec.get("completionMode") != "Indexed":
        return [invalid(field, policy, "requires indexed completion mode")]
    rules = policy.get("rules") or []
    found = []
    if not rules:
        words = "at least one rules must be specified when the successPolicy is specified"
        found.append(required(f"{field}.rules", words))
    if len(rules) > _MOST_RULES:
        found.append(too_many(f"{field}.rules", len(rules), _MOST_RULES))
    for index, rule in enumerate(rules):
        found += _success_rule_errors(rule, f"{field}.rules[{index}]", spec.get("completions") or 0)
    return found


def _success_rule_errors(rule: Object, field: str, completions: int) -> list[FieldError]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    found = []
    if count is None and indexes is None:
        found.append(required(field, "at least one of succeededCount or succeededIndexes must be specified"))
    total = 0
    if indexes is not None:
        at = f"{field}.succeededIndexes"
        if len(indexes.encode()) > _LONGEST_INDEXES:
            found.append(too_long(at, _LONGEST_INDEXES))
        try:
            total = count_indexes(indexes, completions)
        except BadIndexes as error:
            found.append(invalid(at, indexes, f"error parsing succeededIndexes: {error}"))
    if count is not None:
        limits = [(completions, "the number of specified completions")]
        if indexes is not None:
            limits.append((total, "the number of indexes in the specified succeededIndexes field"))
        found += _count_errors(count, f"{field}.succeededCount", limits)
    return found


def _count_errors(count: int, field: str, limits: list[tuple[int, str]]) -> list[FieldError]:
    found = not_negative(count, field)
    for limit, what in limits:
        if count > limit:
            found.append(invalid(field, count, f"must be less than or equal to {limit} ({what})"))
    return found


# --- indexes: "1,3-5" ---


def count_indexes(text: str, completions: int) -> int:
    """How many there are in a list.  Raises BadIndexes for a list that is out of order or out of bounds."""
    last: int | None = None
    total = 0
    for part in text.split(",") if text else ():
        first, final = interval(part, completions)
        if last is not None and last >= first:
            raise BadIndexes(f"non-increasing order, previous: {last}, current: {first}")
        total += final - first + 1
        last = final
    return total


def interval(text: str, completions: int) -> tuple[int, int]:
    """The first and the last of a run: 3-5, or 3.  Raises BadIndexes."""
    parts = text.split("-")
    if len(parts) > 2:
        words = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise BadIndexes(f"the fragment {quoted(text)} {words}")
    first, *rest = (_index(part, completions) for part in parts)
    if not rest:
        return first, first
    if first >= rest[0]:
        raise BadIndexes(f"non-increasing order, previous: {first}, current: {rest[0]}")
    return first, rest[0]


def _index(text: str, completions: int) -> int:
    if not _NUMBER.fullmatch(text):
        raise BadIndexes(f"cannot convert string to integer for index: {quoted(text)}")
    if len(text) > _LONGEST_INDEX or int(text) >= completions:
        raise BadIndexes(f"too large index: {quoted(text)}")
    return int(text)
