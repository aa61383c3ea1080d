"""CEL as text: tokens, and the tree of an expression.

    expression = or ["?" or ":" expression]        binary operators by precedence, && and || with any number of parts
    unary      = ("!" | "-")* member               member = primary (.name | .?name | .name(args) | [index] | [?index])*

Positions are offsets in the text, where Kubernetes points when it complains: at an operator, a dot, an open bracket.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

import msgspec

from muster.base.errors import CelUnsupported

__all__ = ["Binary", "Call", "Index", "Literal", "Logic", "Maker", "Mapping", "Name", "Node", "Select", "Sequence"]
__all__ += ["Problem", "Ternary", "Uint", "Unary", "Unreadable", "parse", "told"]

_LONGEST = 100_000
"""Characters of an expression; as upstream."""
_DEEPEST = 80
"""Expressions in expressions.  Upstream goes to 250; Python's stack has room for these, and people write ten."""

_MOST_PROBLEMS, _LONGEST_LINE = 100, 16_384
"""Problems that are told, as upstream, and characters of a line that is shown with each."""


class Problem(NamedTuple):
    """What is wrong with an expression, and where."""

    at: int
    words: str


class Unreadable(Exception):
    """It is no expression."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.words)
        self.problem = problem


class Uint(int):
    """A number that was written with a u, or made by uint()."""

    __slots__ = ()


# --- the tree ---


class Node(msgspec.Struct, frozen=True):
    at: int


class Literal(Node, frozen=True):
    value: object


class Name(Node, frozen=True):
    name: str


class Select(Node, frozen=True):
    inside: Node
    field: str
    optional: bool = False


class Index(Node, frozen=True):
    inside: Node
    key: Node
    optional: bool = False


class Call(Node, frozen=True):
    """target.name(arguments), or name(arguments)."""

    name: str
    arguments: tuple[Node, ...]
    target: Node | None = None


class Unary(Node, frozen=True):
    sign: str
    inside: Node


class Binary(Node, frozen=True):
    sign: str
    left: Node
    right: Node


class Logic(Node, frozen=True):
    """Parts joined by && or ||, however many: chains of them are long, and need no depth."""

    sign: str
    parts: tuple[Node, ...]


class Ternary(Node, frozen=True):
    condition: Node
    then: Node
    other: Node


class Sequence(Node, frozen=True):
    """[a, ?b]"""

    items: tuple[Node, ...]
    optional: frozenset[int] = frozenset()


class Mapping(Node, frozen=True):
    """{a: b, ?c: d}"""

    entries: tuple[tuple[Node, Node], ...]
    optional: frozenset[int] = frozenset()


class Maker(Node, frozen=True):
    """Name{field: value}"""

    name: str


# --- tokens ---

_TOKEN = re.compile(
    r"""(?P<blank>[\t\n\f\r\ ]+|//[^\n]*)
    |(?P<number>0x[0-9a-fA-F]+u?|[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|[0-9]+u?)
    |(?P<text>(?:[rR][bB]?|[bB][rR]?)?(?:\"\"\"|'''|"|'))
    |(?P<word>[_a-zA-Z][_a-zA-Z0-9]*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%!<>?:.,()\[\]{}])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_PLAIN = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"} | {c: c for c in "\\?\"'`"}
RESERVED = frozenset(
    (
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    )
)
_VALUES = {"true": True, "false": False, "null": None}
_STRENGTH = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 1),
    **dict.fromkeys(("+", "-"), 2),
    **dict.fromkeys(("*", "/", "%"), 3),
}
_INT64 = range(-(2**63), 2**63)
_UINT64 = range(2**64)
_EXPECTED = (
    "'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"
)


class _Token(NamedTuple):
    at: int
    kind: str
    text: str
    value: object = None


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            if text[at] == "`":
                raise CelUnsupported("names in backticks")
            raise Unreadable(Problem(at, f"Syntax error: token recognition error at: '{text[at]}'"))
        kind, word = found.lastgroup or "", found.group()
        if kind == "text":
            value, end = _string(text, at, word)
            yield _Token(at, "value", text[at:end], value)
            at = end
            continue
        if kind == "number":
            yield _Token(at, "value", word, _number(at, word))
        elif kind == "word" and word in _VALUES:
            yield _Token(at, "value", word, _VALUES[word])
        elif kind == "word" and word == "in":
            yield _Token(at, "sign", word)
        elif kind != "blank":
            yield _Token(at, kind, word)
        at = found.end()
    yield _Token(len(text), "end", "<EOF>")


def _number(at: int, word: str) -> object:
    if not word.startswith("0x") and any(mark in word for mark in ".eE"):
        if math.isinf(number := float(word)):
            raise Unreadable(Problem(at, "invalid double literal"))
        return number
    digits = word.removesuffix("u")
    whole = int(digits, 16 if digits.startswith("0x") else 10) if len(digits) < 30 else 2**64
    if word.endswith("u"):
        if whole not in _UINT64:
            raise Unreadable(Problem(at, "invalid uint literal"))
        return Uint(whole)
    # the lowest has one more than the highest: whether a sign comes before it is seen by who reads the sign
    if whole > 2**63:
        raise Unreadable(Problem(at, "invalid int literal"))
    return whole


def _string(text: str, at: int, opening: str) -> tuple[object, int]:
    """The value, and where what comes behind it begins."""
    marks = opening.rstrip("\"'").lower()
    quote = opening[len(marks) :]
    start = at + len(opening)
    pattern = r"(?:[^\\]|\\.)*?" if "r" not in marks else r".*?"
    found = re.compile(pattern + quote, re.DOTALL).match(text, start)
    inner = None if found is None else found.group()[: -len(quote)]
    if found is None or inner is None or (len(quote) == 1 and ("\n" in inner or "\r" in inner)):
        raise Unreadable(Problem(at, f"Syntax error: token recognition error at: '{text[at:]}'"))
    is_bytes = "b" in marks
    if "r" in marks:
        return inner.encode() if is_bytes else inner, found.end()
    try:
        if is_bytes:
            return _unescaped_bytes(inner), found.end()
        return _ESCAPE.sub(_character, inner), found.end()
    except ValueError as error:
        raise Unreadable(Problem(at, f"invalid {'bytes' if is_bytes else 'string'} literal")) from error


def _character(found: re.Match[str]) -> str:
    hexadecimal = found[1] or found[2] or found[3]
    if hexadecimal is None and found[4] is None:
        if found[5] not in _PLAIN:
            raise ValueError(found[0])
        return _PLAIN[found[5]]
    code = int(hexadecimal, 16) if hexadecimal else int(found[4], 8)
    if 0xD800 <= code < 0xE000:
        raise ValueError(found[0])
    return chr(code)


def _unescaped_bytes(inner: str) -> bytes:
    """Of bytes, \\x and octal signs are bytes, not characters."""
    result, at = b"", 0
    for found in _ESCAPE.finditer(inner):
        if found[2] or found[3]:
            raise ValueError(found[0])
        sign = _character(found)
        result += inner[at : found.start()].encode() + (sign.encode() if found[5] else bytes([ord(sign)]))
        at = found.end()
    return result + inner[at:].encode()


# --- parsing ---


def parse(text: str) -> Node:
    """Raises Unreadable, or CelUnsupported for what is not gone through here."""
    if len(text) > _LONGEST:
        raise Unreadable(Problem(0, f"expression code point size exceeds limit: size: {len(text)}, limit {_LONGEST}"))
    return _Parser(list(_tokens(text))).whole()


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._expression()
        if self._peek.kind != "end":
            self._wrong("<EOF>")
        return node

    @property
    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._peek
        self._next += 1
        return token

    def _taken(self, *signs: str) -> _Token | None:
        """The next token if it is one of these signs."""
        return self._take() if self._peek.kind == "sign" and self._peek.text in signs else None

    def _needed(self, sign: str) -> _Token:
        return self._taken(sign) or self._wrong(f"'{sign}'")

    def _wrong(self, expected: str) -> NoReturn:
        token = self._peek
        several = f"{{{expected}}}" if ", " in expected else expected
        raise Unreadable(Problem(token.at, f"Syntax error: mismatched input '{token.text}' expecting {several}"))

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CelUnsupported(f"expressions nested more than {_DEEPEST} levels deep")
        condition = self._logic("||")
        if (mark := self._taken("?")) is not None:
            then = self._logic("||")
            self._needed(":")
            condition = Ternary(mark.at, condition, then, self._expression())
        self._depth -= 1
        return condition

    def _logic(self, sign: str) -> Node:
        parts, at = [], -1
        while True:
            parts.append(self._logic("&&") if sign == "||" else self._binary(1))
            mark = self._taken(sign)
            if mark is None:
                return parts[0] if len(parts) == 1 else Logic(at, sign, tuple(parts))
            at = mark.at if at < 0 else at

    def _binary(self, strength: int) -> Node:
        left, length = self._unary(), 0
        while self._peek.kind == "sign" and _STRENGTH.get(self._peek.text, 0) >= strength:
            mark = self._take()
            left = Binary(mark.at, mark.text, left, self._binary(_STRENGTH[mark.text] + 1))
            length = self._longer(length)
        return left

    def _longer(self, length: int) -> int:
        """Chains of members and operators are trees as deep as the chain is long."""
        if length + self._depth > _DEEPEST:
            raise CelUnsupported(f"more than {_DEEPEST} operators or fields in a row")
        return length + 1

    def _unary(self) -> Node:
        marks: list[_Token] = []
        while (mark := self._taken(*("!-" if not marks else marks[0].text))) is not None:
            marks.append(mark)
        number = self._peek.value
        if marks and marks[0].text == "-" and type(number) in (int, float):
            token = self._take()
            assert isinstance(number, int | float)
            signed = number if len(marks) % 2 == 0 else -number
            return self._members(self._literal(marks[0].at if len(marks) % 2 else token.at, signed))
        inside = self._members(self._primary())
        return Unary(marks[0].at, marks[0].text, inside) if len(marks) % 2 else inside

    def _literal(self, at: int, value: object) -> Literal:
        if type(value) is int and value not in _INT64:
            raise Unreadable(Problem(at, "invalid int literal"))
        return Literal(at, value)

    def _primary(self) -> Node:
        token = self._peek
        if token.kind == "value":
            self._take()
            return self._literal(token.at, token.value)
        if token.kind == "word":
            self._take()
            if token.text in RESERVED:
                raise Unreadable(Problem(token.at, f"reserved identifier: {token.text}"))
            if (mark := self._taken("(")) is not None:
                return Call(mark.at, token.text, self._list(")"))
            return Name(token.at, token.text)
        if self._taken("("):
            inside = self._expression()
            self._needed(")")
            return inside
        if (mark := self._taken("[")) is not None:
            return self._sequence(mark.at)
        if (mark := self._taken("{")) is not None:
            return self._mapping(mark.at)
        if self._taken("."):
            return self._primary() if self._peek.kind == "word" else self._wrong("IDENTIFIER")
        return self._wrong(_EXPECTED)

    def _members(self, node: Node) -> Node:
        length = 0
        while (mark := self._taken(".", "[", "{")) is not None:
            length = self._longer(length)
            if mark.text == "{":
                node = self._maker(node, mark)
                continue
            optional = self._taken("?") is not None
            if mark.text == "[":
                node = Index(mark.at, node, self._expression(), optional)
                self._needed("]")
                continue
            if self._peek.kind != "word":
                self._wrong("IDENTIFIER")
            name = self._take().text
            if (opening := self._taken("(")) is not None and not optional:
                node = Call(opening.at, name, self._list(")"), node)
            else:
                node = Select(mark.at, node, name, optional)
        return node

    def _list(self, closing: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self._taken(closing):
            if items:
                self._needed(",")
            items.append(self._expression())
        return tuple(items)

    def _sequence(self, at: int) -> Node:
        items: list[Node] = []
        optional = set()
        while not self._taken("]"):
            if self._taken("?"):
                optional.add(len(items))
            items.append(self._expression())
            if not self._taken(",") and self._peek.text != "]":
                self._wrong("']', ','")
        return Sequence(at, tuple(items), frozenset(optional))

    def _mapping(self, at: int) -> Node:
        entries: list[tuple[Node, Node]] = []
        optional = set()
        while not self._taken("}"):
            if self._taken("?"):
                optional.add(len(entries))
            key = self._expression()
            self._needed(":")
            entries.append((key, self._expression()))
            if not self._taken(",") and self._peek.text != "}":
                self._wrong("'}', ','")
        return Mapping(at, tuple(entries), frozenset(optional))

    def _maker(self, node: Node, mark: _Token) -> Node:
        """No message can be made in rules; which one it was to be is all that is kept."""
        names: list[str] = []
        inner: Node = node
        while isinstance(inner, Select):
            names.append(inner.field)
            inner = inner.inside
        if not isinstance(inner, Name):
            raise Unreadable(Problem(mark.at, "Syntax error: extraneous input '{' expecting <EOF>"))
        self._mapping_of_fields()
        return Maker(mark.at, ".".join([inner.name, *reversed(names)]))

    def _mapping_of_fields(self) -> None:
        while not self._taken("}"):
            if self._peek.kind != "word":
                self._wrong("'}', IDENTIFIER")
            self._take()
            self._needed(":")
            self._expression()
            self._taken(",")


def told(text: str, problems: list[Problem]) -> str:
    """As Kubernetes tells them: each with its line and a pointer to the place."""
    found = sorted(set(problems))
    lines = []
    for problem in found[:_MOST_PROBLEMS]:
        before = text[: problem.at]
        line, column = before.count("\n"), problem.at - (before.rfind("\n") + 1)
        shown = text.split("\n")[line].replace("\t", " ")
        lines.append(f"ERROR: <input>:{line + 1}:{column + 1}: {problem.words}")
        if len(shown) <= _LONGEST_LINE:
            lines += [f" | {shown}", f" | {'.' * column}^"]
    if len(found) > _MOST_PROBLEMS:
        lines.append(f"{len(found) - _MOST_PROBLEMS} more errors were truncated")
    return "\n".join(lines)
