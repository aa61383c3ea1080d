"""Label selectors and node selectors, evaluated as Kubernetes does.

    LabelSelector   matchLabels and matchExpressions, all of which must hold; empty matches everything
    NodeSelector    terms, one of which must hold; no terms match nothing
    parse_selector  the same requirements from text: "tier in (web,api),!legacy,cores>8"

The structs decode straight from Kubernetes JSON.  An operator is any string there, so that a word we do not
know spoils one selector and not the whole object around it.  What has problems() matches nothing: Kubernetes
refuses it, or reports an error in place of a match.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec

from muster.base.errors import SelectorError

__all__ = ["LabelSelector", "NodeSelector", "NodeSelectorTerm", "Requirement", "matches", "parse_selector"]

_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_NODE_OPERATORS = (*_LABEL_OPERATORS, "Gt", "Lt")
_NODE_NAME = "metadata.name"

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
# Leading zeros stand outside the number, so that int() never sees more than 19 digits.
_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})")
_ALLOWED = "of A-Z a-z 0-9 - _ . with a letter or digit at each end"
_LONGEST_NAME = 63
_LONGEST_PREFIX = 253

# Distinct label keys, values and requirements in a large cluster number in the thousands.
_CACHED = 1 << 14


class Requirement(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """One condition on one label: In, NotIn, Exists, DoesNotExist, Gt or Lt.

    NotIn and DoesNotExist hold where the key is missing.  Gt and Lt compare base-10 integers of 64 bits and
    do not hold where the label is something else.
    """

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels satisfy it; never, if it has problems()."""
        return self._holds(labels) and not self.problems()

    def problems(self) -> tuple[str, ...]:
        """What Kubernetes would refuse about it, in words."""
        return _requirement_problems(self)

    def _holds(self, labels: Mapping[str, str]) -> bool:
        """The condition alone.  Cheap, so it is asked before problems()."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return value is not None and self._compares(value)
            case _:
                return False

    def _compares(self, value: str) -> bool:
        have, bound = _int64(value), _int64(self.values[0]) if self.values else None
        if have is None or bound is None:
            return False
        return have > bound if self.operator == "Gt" else have < bound


class LabelSelector(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Labels to have and conditions to meet, all of them.  Not hashable, for its dict."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels satisfy all of it.  Empty: always.  With problems(): never."""
        return (
            all(labels.get(key) == value for key, value in self.match_labels.items())
            and all(requirement._holds(labels) for requirement in self.match_expressions)
            and not self.problems()
        )

    def problems(self) -> tuple[str, ...]:
        """What Kubernetes would refuse about it, in words; the API server asks the same of every selector."""
        found: list[str] = []
        for key, value in self.match_labels.items():
            found += (*_key_problems(key), *_value_problems(value))
        for requirement in self.match_expressions:
            found += requirement.problems()
            if requirement.operator in ("Gt", "Lt"):
                found.append(f"operator {requirement.operator!r} is for node selectors only")
        return tuple(found)


class NodeSelectorTerm(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Conditions on a node's labels and on its name, all of which must hold.  Empty matches nothing.

    The one field is metadata.name, with In or NotIn and exactly one value.  The scheduler in Go reads any
    other field as ""; the API server refuses it, and so do we.
    """

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether a node with these labels and this name satisfies all of it; never, if it has problems()."""
        if not self.match_expressions and not self.match_fields:
            return False
        fields = {_NODE_NAME: name}
        return (
            all(requirement._holds(labels) for requirement in self.match_expressions)
            and all(requirement._holds(fields) for requirement in self.match_fields)
            and not self.problems()
        )

    def problems(self) -> tuple[str, ...]:
        """What Kubernetes would refuse about it, in words."""
        found: list[str] = []
        for requirement in self.match_expressions:
            found += requirement.problems()
        for requirement in self.match_fields:
            found += _field_problems(requirement)
        return tuple(found)


class NodeSelector(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether any term matches the node.  A term with problems() stands in nobody's way but its own."""
        return any(term.matches(labels, name) for term in self.node_selector_terms)

    def problems(self) -> tuple[str, ...]:
        """What Kubernetes would refuse about it, in words, with the number of the term."""
        if not self.node_selector_terms:
            return ("there are no terms, so no node matches",)
        return tuple(
            f"term {number}: {problem}"
            for number, term in enumerate(self.node_selector_terms)
            for problem in term.problems()
        )


def matches(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    """Whether the labels satisfy all the requirements; without any, always."""
    return all(requirement.matches(labels) for requirement in requirements)


def parse_selector(text: str) -> tuple[Requirement, ...]:
    """The requirements that a selector in Kubernetes' text form stands for, sorted by key.

        a=b  a==b  a!=b  a in (x,y)  a notin (x)  a  !a  a>1  a<2       joined by commas

    "=" and "==" become In, "!=" becomes NotIn; values are sorted and without repeats; a value may be empty,
    as in "a=" or "a in (,x)".  Blank text has no requirements.  Raises SelectorError with the position.
    """
    return tuple(sorted(_Parser(text).requirements(), key=lambda requirement: requirement.key))


class _Token(NamedTuple):
    kind: str  # a symbol stands for itself; else "word", or "end" once at the end
    text: str
    position: int


# "in" and "notin" are words: only their place makes them operators ("in in (in)" is well formed).
_TOKEN = re.compile(r"(?P<blank>[ \t\r\n]+)|(?P<symbol>==|!=|[()=!,<>])|(?P<word>[^ \t\r\n()=!,<>]+)")
_EXACT = {"=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}
_SET = {"in": "In", "notin": "NotIn"}


def _tokens(text: str) -> list[_Token]:
    tokens = []
    for found in _TOKEN.finditer(text):
        if found.lastgroup != "blank":
            kind = found.group() if found.lastgroup == "symbol" else "word"
            tokens.append(_Token(kind, found.group(), found.start()))
    tokens.append(_Token("end", "", len(text)))
    return tokens


class _Parser:
    """Recursive descent over the tokens of one selector; used once.

    The end token is looked at but never passed, so looking ahead is always safe.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._next = 0

    def requirements(self) -> list[Requirement]:
        if self._kind() == "end":
            return []
        found = [self._requirement()]
        while self._kind() != "end":
            self._take(",", expected="',' or the end")
            found.append(self._requirement())
        return found

    def _requirement(self) -> Requirement:
        absent = self._skip("!")
        key = self._take("word", expected="a label key")
        if absent:
            return self._checked(key, Requirement(key.text, "DoesNotExist"))
        if self._kind() in ("end", ","):
            return self._checked(key, Requirement(key.text, "Exists"))
        operator = self._tokens[self._next]
        if operator.kind in _EXACT:
            self._next += 1
            return self._checked(key, Requirement(key.text, _EXACT[operator.kind], (self._exact_value(),)))
        if operator.text in _SET:
            self._next += 1
            return self._checked(key, Requirement(key.text, _SET[operator.text], self._value_set()))
        raise self._unexpected("an operator")

    def _exact_value(self) -> str:
        if self._kind() in ("end", ","):
            return ""
        return self._take("word", expected="a value").text

    def _value_set(self) -> tuple[str, ...]:
        self._take("(", expected="'('")
        values = {self._listed_value()}
        while not self._skip(")"):
            self._take(",", expected="',' or ')'")
            values.add(self._listed_value())
        return tuple(sorted(values))

    def _listed_value(self) -> str:
        return self._take("word", expected="a value").text if self._kind() == "word" else ""

    def _kind(self) -> str:
        return self._tokens[self._next].kind

    def _skip(self, kind: str) -> bool:
        found = self._kind() == kind
        self._next += found
        return found

    def _take(self, kind: str, *, expected: str) -> _Token:
        token = self._tokens[self._next]
        if token.kind != kind:
            raise self._unexpected(expected)
        self._next += 1
        return token

    def _unexpected(self, expected: str) -> SelectorError:
        token = self._tokens[self._next]
        found = "the end" if token.kind == "end" else repr(token.text)
        return SelectorError(f"expected {expected}, found {found}", text=self._text, position=token.position)

    def _checked(self, key: _Token, requirement: Requirement) -> Requirement:
        problems = requirement.problems()
        if problems:
            raise SelectorError("; ".join(problems), text=self._text, position=key.position)
        return requirement


@lru_cache(maxsize=_CACHED)
def _requirement_problems(requirement: Requirement) -> tuple[str, ...]:
    """The rules of apimachinery's labels.NewRequirement."""
    operator, values = requirement.operator, requirement.values
    found = list(_key_problems(requirement.key))
    if operator not in _NODE_OPERATORS:
        found.append(f"operator {operator!r} is not one of {', '.join(_NODE_OPERATORS)}")
    elif operator in ("In", "NotIn") and not values:
        found.append(f"operator {operator!r} needs at least one value")
    elif operator in ("Exists", "DoesNotExist") and values:
        found.append(f"operator {operator!r} takes no values")
    elif operator in ("Gt", "Lt") and (len(values) != 1 or _int64(values[0]) is None):
        found.append(f"operator {operator!r} needs exactly one value, an integer")
    for value in values:
        found += _value_problems(value)
    return tuple(found)


def _field_problems(requirement: Requirement) -> tuple[str, ...]:
    found = []
    if requirement.key != _NODE_NAME:
        found.append(f"field {requirement.key!r} is not {_NODE_NAME!r}")
    if requirement.operator not in ("In", "NotIn"):
        found.append(f"operator {requirement.operator!r} on a field is not one of In, NotIn")
    elif len(requirement.values) != 1:
        found.append(f"operator {requirement.operator!r} on a field needs exactly one value")
    return tuple(found)


@lru_cache(maxsize=_CACHED)
def _key_problems(key: str) -> tuple[str, ...]:
    """The rules for a qualified name: [DNS subdomain "/"] name."""
    prefix, slash, name = key.rpartition("/")
    found = []
    if slash and not (len(prefix) <= _LONGEST_PREFIX and _SUBDOMAIN.fullmatch(prefix)):
        found.append(f"label key {key!r}: the part before '/' is not a DNS subdomain of at most 253 characters")
    if not (len(name) <= _LONGEST_NAME and _NAME.fullmatch(name)):
        found.append(f"label key {key!r}: the name is not 1 to 63 {_ALLOWED}")
    return tuple(found)


@lru_cache(maxsize=_CACHED)
def _value_problems(value: str) -> tuple[str, ...]:
    if not value or (len(value) <= _LONGEST_NAME and _NAME.fullmatch(value)):
        return ()
    return (f"label value {value!r} is not 0 to 63 {_ALLOWED}",)


def _int64(text: str) -> int | None:
    found = _INTEGER.fullmatch(text)
    value = int(found[1] + found[2]) if found else None
    return value if value is not None and -(2**63) <= value < 2**63 else None
