"""Manifests as people keep them: files, folders and standard input, in and out as kubectl reads them."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from muster.app.document import Loader
from muster.base.errors import ConfigError

__all__ = ["STANDARD_INPUT", "Document", "Manifest", "parse", "read", "to_yaml"]

STANDARD_INPUT = "-"

Manifest = dict[str, Any]
"""One Kubernetes object, as written."""

_SUFFIXES = (".json", ".yaml", ".yml")
# anchors that refer to each other make gigabytes of a few lines
_MOST_VALUES = 2_000_000
_TAG = "tag:yaml.org,2002:"


class Document(msgspec.Struct, frozen=True):
    """One document of a file."""

    file: str
    number: int
    """Counted from 1, empty ones too."""
    data: Manifest

    @property
    def where(self) -> str:
        return f"{self.file}: document {self.number}"


def read(names: Iterable[str]) -> list[Document]:
    """The documents of these files, in this order; of a folder those that kubectl would take from it."""
    return [document for name in names for text, file in _texts(name) for document in parse(text, file=file)]


def parse(text: str, *, file: str) -> list[Document]:
    """The documents of one text; `file` is what complaints call it."""
    found = []
    for number, data in enumerate(_data(text, file), 1):
        if data is None:
            continue
        if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
            raise ConfigError(f"{file}: document {number} is no Kubernetes object")
        found.append(Document(file, number, data))
    return found


def to_yaml(objects: Sequence[Manifest]) -> str:
    return yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=sys.maxsize)


def _texts(name: str) -> Iterator[tuple[str, str]]:
    if name == STANDARD_INPUT:
        yield _decode(sys.stdin.buffer.read(), "standard input"), "standard input"
        return
    path = Path(name)
    try:
        files = [path]
        if path.is_dir():
            files = sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES and not file.is_dir())
            if not files:
                raise ConfigError(f"{name} holds no {', '.join(_SUFFIXES)} files")
        for file in files:
            yield _decode(file.read_bytes(), str(file)), str(file)
    except OSError as error:
        raise ConfigError(f"{error.filename or name}: cannot be read: {error.strerror}") from error


def _decode(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: not UTF-8 at byte {error.start}") from error


def _data(text: str, file: str) -> list[Any]:
    try:
        values = _json(text) if text.lstrip().startswith("{") else None
        values = list(yaml.load_all(text, _Loader)) if values is None else values
        return [_own(value, file) for value in values]
    except yaml.MarkedYAMLError as error:
        where = f"{file}:{error.problem_mark.line + 1}" if error.problem_mark else file
        raise ConfigError(f"{where}: not YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{file}: not YAML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{file}: too deep, or an anchor that holds itself") from error


def _json(text: str) -> list[Any] | None:
    """What stands there one after another; None if that is no JSON, but perhaps YAML."""
    values, decoder = [], json.JSONDecoder()
    while text := text.lstrip():
        try:
            value, end = decoder.raw_decode(text)
        except ValueError:
            return None
        values.append(value)
        text = text[end:]
    return values


def _own(value: Any, file: str) -> Any:
    """A copy in which nothing stands in two places, so that whoever changes one changes no other."""
    left = _MOST_VALUES

    def copy(value: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise ConfigError(f"{file}: more than {_MOST_VALUES:,} values")
        if isinstance(value, dict):
            return {key: copy(part) for key, part in value.items()}
        return [copy(part) for part in value] if isinstance(value, list) else value

    return copy(value)


_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
_FALSE = frozenset(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
_NO_NUMBERS = {".nan": math.nan, ".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_OCTAL = re.compile("[-+]?0[0-7]+")
# texts too, but people and other readers might take them for something else
_DATE_OR_TIME = re.compile(r"\d{4}-\d\d?-\d\d?.*|\d+:\d+.*")


def _kind(text: str) -> str:
    """What a scalar without quotes is to Kubernetes' own reader, which is not what PyYAML makes of it.

    1e3 and 0o17 are numbers there, y and n truths, 12:30 and dates texts.
    """
    if text in _NULLS:
        return "null"
    if text in _TRUE or text in _FALSE:
        return "bool"
    if text == "<<":
        return "merge"
    number = _number(text)
    return "str" if number is None else "int" if isinstance(number, int) else "float"


def _number(text: str) -> int | float | None:
    if text.lower() in _NO_NUMBERS:
        return _NO_NUMBERS[text.lower()]
    if not text.isascii() or text[0] not in "-+.0123456789":
        return None
    plain = text if text[0] == "." else text.replace("_", "")
    try:
        number = int(plain, 8 if _OCTAL.fullmatch(plain) else 0)
    except ValueError:
        number = None
    # beyond 64 bits it counts as a float
    if number is not None and -(2**63) <= number < 2**64:
        return number
    wide = float(plain) if _FLOAT.fullmatch(plain) else math.inf
    return None if math.isinf(wide) else wide


class _Loader(Loader):
    """Tells texts, numbers and truths apart as Kubernetes does."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> Any:
        is_plain = kind is yaml.ScalarNode and implicit[0]
        return _TAG + _kind(value) if is_plain else super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]


class _Dumper(yaml.SafeDumper):
    """Writes every text so that Kubernetes takes it for one, and no references between equal parts."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> Any:
        is_plain = kind is yaml.ScalarNode and implicit[0]
        return _TAG + _kind(value) if is_plain else super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    quoted = _kind(text) != "str" or _DATE_OR_TIME.fullmatch(text)
    return dumper.represent_scalar(_TAG + "str", text, style="|" if "\n" in text else '"' if quoted else None)


_Loader.add_constructor(_TAG + "bool", lambda loader, node: node.value in _TRUE)
_Loader.add_constructor(_TAG + "int", lambda loader, node: _number(node.value))
_Loader.add_constructor(_TAG + "float", lambda loader, node: _number(node.value))
_Dumper.add_representer(str, _text)
