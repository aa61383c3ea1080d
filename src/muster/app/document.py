"""A YAML or JSON document whose values know their path, so that every complaint can name it."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection
from typing import Any

import yaml

from muster.base.errors import ConfigError

__all__ = ["Loader", "Value", "advice", "closest", "parse"]

# what Go's time.ParseDuration reads
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(" + "|".join(_UNITS) + ")")
_INT32 = 2**31 - 1
# more than anybody means, and few enough to count with
_MOST = 1e9


class Loader(yaml.SafeLoader):
    """Refuses a key that is given twice; YAML would take the last one and say nothing."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        problem=f"'{key.value}' is given twice", problem_mark=key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def parse(text: str | bytes, *, file: str) -> Value:
    """The one document in `text`; `file` is what complaints call it."""
    try:
        data = yaml.load(text, Loader)
    except yaml.MarkedYAMLError as error:
        where = f"{file}:{error.problem_mark.line + 1}" if error.problem_mark else file
        raise ConfigError(f"{where}: not YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: not YAML: {error}") from error
    return Value(data, path="", file=file)


class Value:
    """One value and its path.  The readers return it as what it must be, or raise ConfigError."""

    __slots__ = ("_data", "_file", "path")

    def __init__(self, data: Any, *, path: str, file: str) -> None:
        self._data = data
        self._file = file
        self.path = path
        """Like profiles[0].plugins; empty for the whole document."""

    def error(self, message: str, *, hint: str | None = None) -> ConfigError:
        where = f"{self._file}: {self.path}" if self.path else self._file
        return ConfigError(f"{where}: {message}", hint=hint)

    # --- structure ---

    def fields(self, known: Collection[str]) -> dict[str, Value]:
        """A mapping with keys among `known`.  A key without a value counts as not written, as it does upstream."""
        if not isinstance(self._data, dict):
            raise self._wrong("a mapping")
        fields = {}
        for name, data in self._data.items():
            place = Value(data, path=f"{self.path}.{name}" if self.path else str(name), file=self._file)
            if name not in known:
                raise place.error("unknown field", hint=advice(str(name), known))
            if data is not None:
                fields[name] = place
        return fields

    def items(self) -> list[Value]:
        if not isinstance(self._data, list):
            raise self._wrong("a list")
        return [Value(item, path=f"{self.path}[{i}]", file=self._file) for i, item in enumerate(self._data)]

    @property
    def empty(self) -> bool:
        """Nothing, or a list, mapping or text with nothing in it."""
        return self._data in (None, [], {}, "")

    # --- scalars ---

    def mapping(self) -> dict[str, Any]:
        """A mapping of anything, as it is; for arguments that only their reader knows."""
        if not isinstance(self._data, dict):
            raise self._wrong("a mapping")
        return dict(self._data)

    def text(self) -> str:
        if not isinstance(self._data, str):
            raise self._wrong("text")
        return self._data

    def flag(self) -> bool:
        if not isinstance(self._data, bool):
            raise self._wrong("true or false")
        return self._data

    def integer(self, *, least: int = 0, most: int = _INT32) -> int:
        if not isinstance(self._data, int) or isinstance(self._data, bool) or not least <= self._data <= most:
            raise self._wrong(f"a whole number of at least {least}" if most == _INT32 else f"from {least} to {most}")
        return self._data

    def number(self, *, least: float = -_MOST, most: float = _MOST, else_off: bool = False) -> float:
        """`else_off` only tells people that it may also be switched off."""
        data = self._data
        is_number = isinstance(data, int | float) and not isinstance(data, bool) and abs(data) < _MOST
        if not is_number or not least <= data <= most:
            bounds = f" of at least {least:g}" if least > -_MOST else ""
            bounds = f" from {least:g} to {most:g}" if most < _MOST else bounds
            raise self._wrong(f"a number{bounds}{', or off' if else_off else ''}")
        return float(data)

    @property
    def off(self) -> bool:
        """Whether it is switched off; a bare `off` is false in YAML."""
        return self._data is False or self._data == "off"

    def seconds(self) -> float:
        """Of a duration like "15s" or "1m30s"."""
        text = self._data
        if not isinstance(text, str) or not (text == "0" or re.fullmatch(f"(?:{_PART.pattern})+", text)):
            raise self._wrong("a duration", hint="write it like 15s or 1m30s")
        seconds = math.fsum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
        if not seconds < _MOST:
            raise self._wrong("a shorter duration")
        return seconds

    def _wrong(self, wanted: str, hint: str | None = None) -> ConfigError:
        return self.error(f"must be {wanted}, not {_shown(self._data)}", hint=hint)


def advice(name: str, known: Collection[str]) -> str:
    """What to write instead of a name that nobody knows."""
    return closest(name, known) or "known are " + ", ".join(known)


def closest(name: str, known: Collection[str]) -> str:
    """The name that may be meant; "" if none is like it."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]}?" if close else ""


def _shown(data: object) -> str:
    if data is None or data == "":
        return "nothing"
    if isinstance(data, bool):
        return str(data).lower()
    if isinstance(data, str):
        return f"'{data}'" if len(data) <= 60 else f"'{data[:60]}...'"
    if isinstance(data, list | dict):
        return "a list" if isinstance(data, list) else "a mapping"
    return str(data)
