"""Writes as the server makes them, down to the errors: decode, default, prepare, validate."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

from muster.local.checks import metadata
from muster.local.codec.values import take
from muster.local.kinds.kind import Strategy
from muster.local.schema import decoding, load
from tests.local.answers import UID, edited, is_refusal, promised, said

Outcome = tuple[Any, list[str]]
"""The object, admission and managedFields aside, and what is wrong with it."""


class Subject(NamedTuple):
    """A kind to be tested."""

    strategy: Strategy
    type: str
    """core.v1.Secret."""
    namespaced: bool = True
    kept: Callable[[Any], Any] = lambda document: document
    """Makes an object of this version one as it is stored."""
    shown: Callable[[Any], Any] = lambda document: document
    """And the other way round."""
    begin: Callable[[Any, Any], Any] = lambda new, old: []
    """What is done before anything is prepared, and what is wrong then."""


def created(subject: Subject, given: Any) -> Outcome:
    strategy = subject.strategy
    document = _decoded(subject, given)
    _identify(subject, document)
    strategy.default(document)
    if errors := subject.begin(document, None):
        return document, said(errors)
    strategy.prepare_create(document)
    if strategy.has_generation:
        document["metadata"]["generation"] = 1
    errors = strategy.validate(document)
    if not (errors and strategy.metadata_last):
        errors = _metadata_errors(subject, document) + errors
    return _anonymous(subject, document), said(errors)


def updated(subject: Subject, given: Any, stored: Any) -> Outcome:
    strategy = subject.strategy
    new, old = _decoded(subject, given), subject.kept(deepcopy(stored))
    _identify(subject, new, old)
    strategy.default(new)
    if "generation" in old["metadata"]:
        new["metadata"]["generation"] = old["metadata"]["generation"]
    if errors := subject.begin(new, old):
        return new, said(errors)
    if "status" in load.shapes()[f"io.k8s.{subject.type}"].fields:
        take(new, old, "status")
    strategy.prepare_update(new, old)
    if strategy.has_generation and _spec(new) != _spec(old):
        new["metadata"]["generation"] += 1
    errors = _change_errors(subject, new, old) + strategy.errors_of_update(new, old)
    return _anonymous(subject, new), said(errors)


def status_updated(subject: Subject, given: Any, stored: Any) -> Outcome:
    strategy = subject.strategy
    new, old = _decoded(subject, given), subject.kept(deepcopy(stored))
    _identify(subject, new, old)
    strategy.default(new)
    take(new, old, *(part for part in {**new, **old} if part not in ("metadata", "status")))
    strategy.prepare_status(new, old)
    errors = _change_errors(subject, new, old) + strategy.validate_status(new, old)
    return _anonymous(subject, new), said(errors)


def check(outcome: Outcome, given: Any, answer: list[str], *, to_the_letter: bool = False) -> None:
    """The outcome is what kube-apiserver answered: the same refusal, or the same object."""
    document, errors = outcome
    if is_refusal(answer):
        assert errors == answer if to_the_letter else promised(errors) == promised(answer)
        return
    for change in answer:
        given = edited(given, change)
    assert errors == []
    assert document == given


def _decoded(subject: Subject, given: Any) -> Any:
    decoded = decoding.decode(deepcopy(given), load.shapes()[f"io.k8s.{subject.type}"])
    assert (decoded.error, decoded.strict) == ("", [])
    return subject.kept(decoded.value)


def _identify(subject: Subject, *documents: Any) -> None:
    for document in documents:
        document["metadata"] |= {"uid": UID, "resourceVersion": "1"}
        if subject.namespaced:
            document["metadata"]["namespace"] = "others"


def _anonymous(subject: Subject, document: Any) -> Any:
    for name in ("uid", "resourceVersion", "namespace"):
        document["metadata"].pop(name, None)
    return subject.shown(document)


def _metadata_errors(subject: Subject, document: Any) -> Any:
    return metadata.validate(
        document["metadata"],
        namespaced=subject.namespaced,
        name_problems=subject.strategy.name_problems,
        standard_finalizers=not subject.strategy.any_finalizer,
    )


def _change_errors(subject: Subject, new: Any, old: Any) -> Any:
    return metadata.validate_update(
        new["metadata"],
        old["metadata"],
        namespaced=subject.namespaced,
        standard_finalizers=not subject.strategy.any_finalizer,
    )


def _spec(document: Any) -> Any:
    return {name: value for name, value in document.items() if name not in ("metadata", "status")}
