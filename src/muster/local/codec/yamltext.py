"""YAML texts → values, as Kubernetes has them: read as YAML 1.1 by Go's rules, then made JSON.

Plain scalars have the types that go-yaml gives them (`yes` is true, `010` is 8, timestamps stay strings), keys are
strings in order, whole floats are integers.  Only the first document of a text counts.

The text is gone through event by event, which libyaml makes: some four times as fast as by its nodes, and however deep
a text is, nothing recurs.
"""

from __future__ import annotations

import base64
import math
import re
from typing import Any

import yaml

from muster.local.codec.forms import Malformed
from muster.local.codec.gotext import compact_json, quoted, shown

__all__ = ["load"]

_TAG = "tag:yaml.org,2002:"
# in binary, and more
_LONGEST_INTEGER = 256
_DEEPEST = 1_000
# an alias costs as much as what it stands for: a small text could be a huge value
_MOST_ALIASED = 100_000
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NO_KEY, _MERGE = object(), object()


def load(body: bytes) -> tuple[Any, tuple[str, ...]]:
    """The value, and what is wrong with it to those who are strict.  Raises Malformed."""
    try:
        parser = _Parser(body)
        try:
            builder = _Builder()
            while not builder.take(parser.get_event()):
                pass
        finally:
            parser.dispose()
    except yaml.reader.ReaderError as error:
        raise Malformed(f"yaml: {error.reason}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark is not None else ""
        raise Malformed(f"yaml: {where}{error.problem}") from None
    return builder.value, tuple(builder.repeated)


class _Map:
    """A mapping that is being read: key, value, key, value, ..."""

    def __init__(self) -> None:
        self.value: dict[str, Any] = {}
        self.key: Any = _NO_KEY
        self.seen: set[tuple[type, Any]] = set()


class _Builder:
    """Makes the value of a document, event by event."""

    def __init__(self) -> None:
        self.value: Any = None
        self.repeated: list[str] = []
        """Keys that come twice in a map."""
        self._open: list[tuple[_Map | list[Any], str | None]] = []
        """Collections that are being read, with their anchors, the outermost first."""
        self._anchored: dict[str, Any] = {}
        self._aliased = 0

    def take(self, event: Any) -> bool:
        """Whether that was the last event of the document."""
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._scalar(event)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            if len(self._open) >= _DEEPEST:
                raise Malformed("yaml: exceeded max depth")
            self._open.append((_Map() if kind is yaml.MappingStartEvent else [], event.anchor))
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            ended, anchor = self._open.pop()
            value = dict(sorted(ended.value.items())) if isinstance(ended, _Map) else ended
            self._put(value, anchor, event)
        elif kind is yaml.AliasEvent:
            self._put(self._alias(event.anchor), None, event)
        return kind is yaml.DocumentEndEvent or kind is yaml.StreamEndEvent

    def _scalar(self, event: Any) -> None:
        top = self._open[-1][0] if self._open else None
        if not isinstance(top, _Map) or top.key is not _NO_KEY:
            self._put(_json(_value(event)), event.anchor, event)
        elif event.value == "<<" and event.implicit[0]:
            top.key = _MERGE
        else:
            top.key = _value(event)
            if event.anchor:
                self._anchored[event.anchor] = _json(top.key)

    def _put(self, value: Any, anchor: str | None, event: Any) -> None:
        if anchor:
            self._anchored[anchor] = value
        if not self._open:
            self.value = value
            return
        top, _ = self._open[-1]
        if isinstance(top, list):
            top.append(value)
        elif top.key is _NO_KEY:
            if isinstance(value, dict | list):
                raise Malformed(f"yaml: invalid map key: {compact_json(value)}")
            top.key = value
        else:
            pairs = _merged(value) if top.key is _MERGE else [(top.key, value)]
            for key, item in pairs:
                self._set(top, key, item, event)
            top.key = _NO_KEY

    def _set(self, into: _Map, key: Any, value: Any, event: Any) -> None:
        identity = (type(key), key)
        if identity in into.seen:
            text = quoted(key) if isinstance(key, str) else shown(key)
            self.repeated.append(f"line {event.start_mark.line + 1}: key {text} already set in map")
        into.seen.add(identity)
        into.value[_key(key)] = value

    def _alias(self, anchor: str) -> Any:
        if any(anchor == name for _, name in self._open):
            raise Malformed("yaml: anchor value contains itself")
        if anchor not in self._anchored:
            raise Malformed(f"yaml: unknown anchor '{anchor}' referenced")
        return self._copied(self._anchored[anchor])

    def _copied(self, value: Any) -> Any:
        self._aliased += 1
        if self._aliased > _MOST_ALIASED:
            raise Malformed("yaml: document contains excessive aliasing")
        if isinstance(value, dict):
            return {name: self._copied(item) for name, item in value.items()}
        return [self._copied(item) for item in value] if isinstance(value, list) else value


def _merged(value: Any) -> list[tuple[str, Any]]:
    """What a merge key puts in; of several sources the earlier have precedence, so they come last."""
    sources = value[::-1] if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise Malformed("yaml: map merge requires map or sequence of maps as the value")
    return [pair for source in sources for pair in source.items()]


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


def _value(event: Any) -> Any:
    text = event.value
    if event.implicit[0]:
        return _resolved(text)
    tag = (event.tag or "").removeprefix(_TAG)
    if tag == "binary":
        try:
            return base64.b64decode(text, validate=True).decode(errors="replace")
        except ValueError:
            raise Malformed("yaml: !!binary value contains invalid base64 data") from None
    if tag not in ("bool", "int", "float", "null"):
        return text
    value = _resolved(text)
    if tag == _kind(value):
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
