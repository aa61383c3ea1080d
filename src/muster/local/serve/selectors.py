"""Label and field selectors of requests.

selection = select(kind, namespace="default", labels="app=web,!old", fields="spec.nodeName=n1")
[stored for stored in store.list(...) if selection.matches(stored)]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import msgspec

from muster.base.caching import remembered
from muster.base.errors import SelectorError
from muster.base.selectors import Requirement, parse_selector
from muster.base.selectors import matches as labels_match
from muster.local.kinds import status
from muster.local.kinds.kind import Kind

__all__ = ["Selection", "SelectorProblem", "Term", "parse_fields", "parse_labels", "select"]

_NAME, _NAMESPACE = "metadata.name", "metadata.namespace"
_CACHED = 4096


class SelectorProblem(ValueError):
    """What is wrong with a selector."""


class Selectable(Protocol):
    """What is asked of an object to know whether it is selected."""

    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, str]: ...

    @property
    def fields(self) -> Mapping[str, str]: ...


class Term(NamedTuple):
    """A field that must have a value, or must not."""

    field: str
    value: str
    equal: bool

    def holds(self, one: Selectable) -> bool:
        """A field that is not there has the value ""."""
        if self.field == _NAME:
            have = one.name
        elif self.field == _NAMESPACE:
            have = one.namespace
        else:
            have = one.fields.get(self.field, "")
        return (have == self.value) is self.equal


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects of a kind a client wants."""

    namespace: str = ""
    """"" for all."""
    labels: tuple[Requirement, ...] = ()
    terms: tuple[Term, ...] = ()

    @property
    def is_everything(self) -> bool:
        """All that is in the namespace."""
        return not self.labels and not self.terms

    def matches(self, one: Selectable) -> bool:
        if self.namespace and one.namespace != self.namespace:
            return False
        return all(term.holds(one) for term in self.terms) and labels_match(self.labels, one.labels)


def select(kind: Kind, *, namespace: str = "", name: str = "", labels: str = "", fields: str = "") -> Selection:
    """What a request selects; a Refusal if a selector cannot be understood, or asks for what the kind does not tell.

    With a `name`, from the path of a watch, it is that one object.
    """
    try:
        requirements, terms = parse_labels(labels), parse_fields(fields)
        terms = tuple(_translated(kind, term) for term in terms if term.field or term.value)
    except SelectorProblem as problem:
        raise status.bad_request(str(problem)) from problem
    if name:
        exact = next((term.value for term in terms if term.field == _NAME and term.equal), None)
        if terms and exact != name:
            raise status.bad_request("fieldSelector metadata.name doesn't match requested name")
        terms = terms or (Term(_NAME, name, True),)
    return Selection(namespace=namespace, labels=requirements, terms=terms)


# --- fields ---

_ESCAPED = re.compile(r"\\(.)|(\\\Z)|([,=])", re.DOTALL)
_TERM_END = re.compile(r"((?:\\.|[^\\,])*\\?)(,|\Z)", re.DOTALL)
_OPERATOR = re.compile(r"!=|==|=")


@remembered(_CACHED)
def parse_fields(text: str) -> tuple[Term, ...]:
    """The terms of a field selector, sorted as text: a=b, a==b, a!=b; a backslash stands before \\ , = in a value."""
    parts = [found[1] for found in _TERM_END.finditer(text)]
    return tuple(_term(text, part) for part in sorted(parts) if part)


def _term(text: str, part: str) -> Term:
    found = _OPERATOR.search(part)
    if found is None:
        raise SelectorProblem(f"invalid selector: '{text}'; can't understand '{part}'")
    value = _ESCAPED.sub(_unescaped, part[found.end() :])
    return Term(part[: found.start()], value, found[0] != "!=")


def _unescaped(found: re.Match[str]) -> str:
    if found[3]:
        raise SelectorProblem(f"invalid field selector: unescaped character in value: {ord(found[3])}")
    if found[2] or found[1] not in "\\,=":
        raise SelectorProblem(f"invalid field selector: invalid escape sequence: {found[0]}")
    return found[1]


def _translated(kind: Kind, term: Term) -> Term:
    known, labels = _field_labels(kind), kind.strategy.field_labels
    if term.field in known:
        return term._replace(field=known[term.field])
    if labels is None and kind.type_name:
        raise SelectorProblem(f'"{term.field}" is not a known field selector: only "{_NAME}", "{_NAMESPACE}"')
    raise SelectorProblem(f"field label not supported: {term.field}")


def _field_labels(kind: Kind) -> dict[str, str]:
    """What may be asked for, and what it is called where objects are kept."""
    labels, strategy = {_NAME: _NAME}, kind.strategy
    if strategy.field_labels is not None:
        labels |= strategy.field_labels
    elif not kind.type_name:
        # a definition's selectableFields: what its strategy tells of any object, even an empty one
        labels |= {name: name for name in strategy.selectable({"metadata": {}})}
    if kind.namespaced or (kind.type_name and strategy.field_labels is None):
        labels[_NAMESPACE] = _NAMESPACE
    return labels


# --- labels ---

_WORD = re.compile(r"[^ \t\r\n()=!,<>]+")
# no key is longer; what is wrong with longer ones would be remembered with them
_LONGEST_WORD = 253 + 1 + 63


@remembered(_CACHED)
def parse_labels(text: str) -> tuple[Requirement, ...]:
    """The requirements of a label selector, sorted by key."""
    if any(len(word) > _LONGEST_WORD for word in _WORD.findall(text)):
        raise SelectorProblem(f"unable to parse requirement: longer than {_LONGEST_WORD} characters")
    try:
        return parse_selector(text)
    except SelectorError as error:
        raise SelectorProblem(f"unable to parse requirement: {error}") from error
