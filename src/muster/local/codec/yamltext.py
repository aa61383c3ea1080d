"""YAML texts → values, as Kubernetes has them: read as YAML 1.1 by Go's rules, then made JSON.

Plain scalars have the types that go-yaml gives them (`yes` is true, `010` is 8, timestamps stay strings), keys are
strings in order, whole floats are integers.  Only the first document of a text counts.
"""

from __future__ import annotations

import base64
import math
import re
from typing import Any

import yaml

from muster.local.codec.forms import Malformed
from muster.local.codec.gotext import compact_json, shown, syntax

__all__ = ["lines", "load"]

_HEADING = "yaml: unmarshal errors:\n"
_MERGE = "<<"
_PLAIN = ""
_TAG = "tag:yaml.org,2002:"
_DEEP = "yaml: exceeded max depth of 10000"
# in binary, and more
_LONGEST_INTEGER = 256
# nodes are composed by recursion in C, where nothing stops it: some 50,000 levels would end the process
_DEEPEST = 5_000
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(body: bytes) -> tuple[Any, tuple[str, ...]]:
    """The value, and what is wrong with it to those who are strict.  Raises Malformed, with Go's message."""
    try:
        node = _first_document(body)
        builder = _Builder()
        value = None if node is None else builder.value(node)
    except RecursionError:
        raise Malformed(_DEEP) from None
    if not builder.repeated:
        return value, ()
    return value, (_HEADING + "\n".join(f"  {line}" for line in builder.repeated),)


def lines(error: str) -> list[str]:
    """A strict error, as warnings: those of YAML are several in one."""
    if not error.startswith(_HEADING):
        return [error]
    return [line.strip() for line in error.removeprefix(_HEADING).split("\n")]


class _Loader(_Base):  # type: ignore[misc]
    """Nodes whose tags tell plain scalars from those that were quoted or tagged."""

    def resolve(self, kind: type, _value: object, implicit: object) -> str:
        if kind is yaml.ScalarNode:
            return _PLAIN if isinstance(implicit, tuple) and implicit[0] else f"{_TAG}str"
        return f"{_TAG}map" if kind is yaml.MappingNode else f"{_TAG}seq"


def _first_document(body: bytes) -> yaml.Node | None:
    try:
        _check_depth(body)
        loader = _Loader(body)
        try:
            node: yaml.Node | None = loader.get_node() if loader.check_node() else None
        finally:
            loader.dispose()
    except yaml.reader.ReaderError as error:
        raise Malformed(f"yaml: {error.reason}") from None
    except yaml.composer.ComposerError as error:
        raise Malformed(f"yaml: unknown anchor '{_alias(body, error.problem_mark)}' referenced") from None
    except yaml.MarkedYAMLError as error:
        raise Malformed(f"yaml: {_where(error)}{error.problem}") from None
    return node


def _check_depth(body: bytes) -> None:
    """Raises Malformed if the text is too deep; events come one after another, however deep they are."""
    openings = sum(map(body.count, (b"[", b"{", b"- ", b"-\t", b"? ", b"?\t")))
    is_wide = body[:2] in (b"\xff\xfe", b"\xfe\xff")
    if openings < _DEEPEST and b" " * (_DEEPEST // 2) not in body and not is_wide:
        return
    depth = 0
    for event in yaml.parse(body, Loader=_Base):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise Malformed(_DEEP)


def _alias(body: bytes, mark: yaml.Mark | None) -> str:
    """The name that stands after a star; not all readers tell it."""
    line = body.split(b"\n")[mark.line] if mark is not None else b""
    found = re.match(rb"[\w-]*", line[mark.column + 1 :] if mark is not None else b"")
    return found[0].decode() if found else ""


def _where(error: yaml.MarkedYAMLError) -> str:
    """Go counts lines from 0, unless its scanner complains."""
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark is not None:
        line = error.context_mark.line
    return f"line {line}: " if line else ""


class _Builder:
    """Makes the value of a document, node by node.

    An alias costs as much as what it stands for, so a small text could be a huge value: go-yaml's limits hold.
    """

    def __init__(self) -> None:
        self.repeated: list[str] = []
        """Keys that come twice in a map."""
        self._all = self._aliased = 0
        self._depth = 0
        self._seen: set[int] = set()
        self._open: set[int] = set()

    def value(self, node: yaml.Node) -> Any:
        is_alias = id(node) in self._seen
        if id(node) in self._open:
            raise Malformed("yaml: anchor value contains itself")
        self._seen.add(id(node))
        self._open.add(id(node))
        self._depth += is_alias
        try:
            self._count()
            if isinstance(node, yaml.MappingNode):
                return dict(sorted(self._mapping(node).items()))
            if isinstance(node, yaml.SequenceNode):
                return [self.value(item) for item in node.value]
            return _json(_scalar(node))
        finally:
            self._depth -= is_alias
            self._open.discard(id(node))

    def _count(self) -> None:
        self._all += 1
        self._aliased += self._depth > 0
        if self._aliased > 100 and self._all > 1000 and self._aliased / self._all > _allowed(self._all):
            raise Malformed("yaml: document contains excessive aliasing")

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        into: dict[str, Any] = {}
        seen: set[Any] = set()
        self._fill(node, into, seen)
        return into

    def _fill(self, node: yaml.MappingNode, into: dict[str, Any], seen: set[Any]) -> None:
        for key, item in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == _MERGE and key.tag in (_PLAIN, f"{_TAG}merge"):
                self._merge(item, into, seen)
                continue
            name = _scalar(key) if isinstance(key, yaml.ScalarNode) else self.value(key)
            if isinstance(name, dict | list):
                raise Malformed(f"yaml: invalid map key: {_go_syntax(name)}")
            value = self.value(item)
            identity = (type(name), name)
            if identity in seen:
                line = item.start_mark.line + 1
                self.repeated.append(f"line {line}: key {_go_syntax(name)} already set in map")
            seen.add(identity)
            into[_key(name)] = value

    def _merge(self, node: yaml.Node, into: dict[str, Any], seen: set[Any]) -> None:
        # of several, the earlier have precedence
        sources = reversed(node.value) if isinstance(node, yaml.SequenceNode) else [node]
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                raise Malformed("yaml: map merge requires map or sequence of maps as the value")
            self._count()
            self._fill(source, into, seen)


def _allowed(count: int) -> float:
    """The share of a document that may come from aliases."""
    low, high = 400_000, 4_000_000
    if count <= low:
        return 0.99
    return 0.10 if count >= high else 0.99 - 0.89 * (count - low) / (high - low)


# --- scalars --------------------------------------------------------------------------------------

_WORDS: dict[str, Any] = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"]),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], math.nan),
    **dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], math.inf),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], -math.inf),
}
_TIMESTAMP = re.compile(r"\d{4}-\d\d?-\d\d?([Tt ]\d\d?:\d\d?:\d\d?(\.\d*)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DOT_FLOAT = re.compile(r"\.[0-9]+([eE][-+]?[0-9]+)?")
_INTEGERS = (
    (re.compile(r"([-+]?)0[xX]([0-9a-fA-F]+)"), 16),
    (re.compile(r"([-+]?)0[bB]([01]+)"), 2),
    (re.compile(r"([-+]?)0[oO]?([0-7]+)"), 8),
    (re.compile(r"([-+]?)(0|[1-9][0-9]*)"), 10),
)


def _scalar(node: yaml.Node) -> Any:
    text = str(node.value)
    tag = node.tag.removeprefix(_TAG)
    if tag == "binary":
        try:
            return base64.b64decode(text, validate=True).decode(errors="replace")
        except ValueError:
            raise Malformed("yaml: !!binary value contains invalid base64 data") from None
    if tag not in (_PLAIN, "bool", "int", "float", "null"):
        return text
    value = _resolved(text)
    if tag == _PLAIN or tag == _kind(value):
        return value
    if tag == "float" and _kind(value) == "int":
        return float(value)
    raise Malformed(f"yaml: cannot decode !!{_kind(value)} `{text}` as a !!{tag}")


def _resolved(text: str) -> Any:
    """The value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text.startswith("."):
        return float(text) if _DOT_FLOAT.fullmatch(text) else text
    if text[0] not in "+-0123456789" or _TIMESTAMP.fullmatch(text):
        return text
    bare = text.replace("_", "")
    for pattern, base in _INTEGERS:
        if (found := pattern.fullmatch(bare)) and len(found[2]) <= _LONGEST_INTEGER:
            whole = int(found[2], base) * (-1 if found[1] == "-" else 1)
            if -(2**63) <= whole < 2**63 or (whole < 2**64 and not found[1]):
                return whole
    if _FLOAT.fullmatch(bare) and math.isfinite(number := float(bare)):
        return number
    return text


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return {bool: "bool", int: "int", float: "float"}.get(type(value), "str")


def _json(value: Any) -> Any:
    """As JSON has it."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        spelling = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise Malformed(f"json: unsupported value: {spelling}")
    # of its digits as many as tell it from others: 18446744073709552000
    return int(compact_json(value or 0)) if value.is_integer() and abs(value) < 1e21 else value


def _key(name: Any) -> str:
    if name is None:
        raise Malformed("unsupported map key of type: %!s(<nil>), key: <nil>, value: <nil>")
    return name if isinstance(name, str) else shown(name)


def _go_syntax(value: Any) -> str:
    return syntax(value).replace("map[string]", "map[interface {}]")
