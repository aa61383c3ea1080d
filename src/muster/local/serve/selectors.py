"""Label and field selectors of requests: parsed with the real server's words for what is wrong, and matched.

    selection = select(kind, namespace="default", labels="app=web,!old", fields="spec.nodeName=n1")
    [stored for stored in store.list(...) if selection.matches(stored)]

Labels have the grammar and the meaning of muster.base.selectors; it is gone through once more here because clients see
the words of the real server, which tell which token stood where another was expected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, NoReturn, Protocol

import msgspec

from muster.base.caching import remembered
from muster.base.selectors import Requirement
from muster.base.selectors import matches as labels_match
from muster.local.checks import fields as words
from muster.local.checks import names
from muster.local.kinds import status
from muster.local.kinds.kind import Kind

__all__ = ["Selection", "SelectorProblem", "Term", "parse_fields", "parse_labels", "select"]

_NAME, _NAMESPACE = "metadata.name", "metadata.namespace"
_CACHED = 4096


class SelectorProblem(ValueError):
    """What is wrong with a selector, in the words of the real server."""


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

_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def _same(*labels: str) -> dict[str, str]:
    return {label: label for label in labels}


# by group and kind: what may be asked for, and what it is called where objects are kept
_FIELDS: dict[tuple[str, str], dict[str, str]] = {
    ("", "Pod"): _same(
        _NAME,
        _NAMESPACE,
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    )
    | {"spec.host": "spec.nodeName"},
    ("", "Node"): _same(_NAME, "spec.unschedulable"),
    ("", "Namespace"): _same(_NAME, "status.phase"),
    ("", "Secret"): _same(_NAME, _NAMESPACE, "type"),
    ("", "Service"): _same(_NAME, _NAMESPACE, "spec.clusterIP", "spec.type"),
    ("", "Event"): _same(_NAME, _NAMESPACE, "reason", "reportingComponent", "source", "type")
    | _same(*(f"involvedObject.{part}" for part in _REFERENCE)),
    ("events.k8s.io", "Event"): _same(_NAME, _NAMESPACE, "reason", "type")
    | {"reportingController": "reportingComponent"}
    | {f"regarding.{part}": f"involvedObject.{part}" for part in _REFERENCE},
    ("batch", "Job"): _same(_NAME, _NAMESPACE, "status.successful"),
}


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
    known = _FIELDS.get((kind.group, kind.name)) if kind.type_name else _custom_fields(kind)
    if known is None:
        known = _same(_NAME, _NAMESPACE)
        refusal = f'"{term.field}" is not a known field selector: only "{_NAME}", "{_NAMESPACE}"'
    elif kind.group == "batch":
        refusal = f'field label "{term.field}" not supported for {kind.name}'
    else:
        refusal = f"field label not supported: {term.field}"
    if term.field not in known:
        raise SelectorProblem(refusal)
    return term._replace(field=known[term.field])


def _custom_fields(kind: Kind) -> dict[str, str]:
    """A definition's selectableFields: what its strategy tells of any object, even an empty one."""
    place = (_NAMESPACE,) if kind.namespaced else ()
    return _same(_NAME, *place, *kind.strategy.selectable({"metadata": {}}))


# --- labels ---

_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[()=!,<>])|([^ \t\r\n()=!,<>]+)|\Z)")
_OPERATORS = {"=": "In", "==": "In", "!=": "NotIn", "in": "In", "notin": "NotIn", ">": "Gt", "<": "Lt"}
# leading zeros stand outside the number, so that int() never sees many digits
_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})")


@remembered(_CACHED)
def parse_labels(text: str) -> tuple[Requirement, ...]:
    """The requirements of a label selector, sorted by key."""
    return tuple(sorted(_Labels(text).requirements(), key=lambda one: one.key))


class _Token(NamedTuple):
    text: str
    """"" at the end."""
    is_word: bool


class _Labels:
    """Goes through the tokens of one label selector; used once."""

    def __init__(self, text: str) -> None:
        self._tokens = [_Token(found[1] or found[2] or "", bool(found[2])) for found in _TOKEN.finditer(text)]
        self._tokens.append(_Token("", False))
        self._next = 0

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        if not self._begins():
            if self._peek().text:
                self._unexpected("found '{}', expected: !, identifier, or 'end of string'")
            return found
        while True:
            try:
                found.append(self._requirement())
            except SelectorProblem as problem:
                raise SelectorProblem(f"unable to parse requirement: {problem}") from problem
            if not self._peek().text:
                return found
            if not self._skip(","):
                self._unexpected("found '{}', expected: ',' or 'end of string'")
            if not self._begins():
                self._unexpected("found '{}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        absent = self._skip("!")
        key = self._word("found '{}', expected: identifier")
        if problems := names.qualified_problems(key):
            raise SelectorProblem(str(words.invalid("<nil>", key, "; ".join(problems))))
        if absent:
            return Requirement(key, "DoesNotExist")
        if self._peek().text in ("", ","):
            return Requirement(key, "Exists")
        operator = self._peek().text
        if operator not in _OPERATORS:
            self._unexpected("found '{}', expected: in, notin, =, ==, !=, gt, lt")
        self._next += 1
        values = self._values() if operator in ("in", "notin") else (self._value(),)
        return _checked(Requirement(key, _OPERATORS[operator], values))

    def _value(self) -> str:
        return "" if self._peek().text in ("", ",") else self._word("found '{}', expected: identifier")

    def _values(self) -> tuple[str, ...]:
        if not self._skip("("):
            self._unexpected("found '{}' expected: '('")
        if not self._peek().is_word and self._peek().text not in (",", ")"):
            self._unexpected("found '{}', expected: ',', ')' or identifier")
        values = {self._listed()}
        while not self._skip(")"):
            if not self._skip(","):
                self._unexpected("found '{}', expected: ',' or ')'")
            values.add(self._listed())
        return tuple(sorted(values))

    def _listed(self) -> str:
        """ "" between two commas, or between one and the end of the list."""
        if self._peek().text in (",", ")"):
            return ""
        return self._word("found '{}', expected: ',', or identifier")

    def _begins(self) -> bool:
        return self._peek().is_word or self._peek().text == "!"

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _skip(self, symbol: str) -> bool:
        found = self._peek() == _Token(symbol, False)
        self._next += found
        return found

    def _word(self, otherwise: str) -> str:
        token = self._peek()
        if not token.is_word:
            self._unexpected(otherwise)
        self._next += 1
        return token.text

    def _unexpected(self, sentence: str) -> NoReturn:
        raise SelectorProblem(sentence.format(self._peek().text))


def _checked(one: Requirement) -> Requirement:
    problems = []
    if one.operator in ("Gt", "Lt") and not _is_int64(one.values[0]):
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        problems.append(str(words.invalid("values[0]", one.values[0], detail)))
    for place, value in enumerate(one.values):
        if found := names.label_value_problems(value):
            problems.append(str(words.invalid(f"values[{place}][{one.key}]", value, "; ".join(found))))
    if problems:
        raise SelectorProblem(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return one


def _is_int64(text: str) -> bool:
    found = _INTEGER.fullmatch(text)
    return found is not None and -(2**63) <= int(found[1] + found[2]) < 2**63
