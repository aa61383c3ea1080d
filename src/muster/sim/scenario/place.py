"""YAML values that know where they stand, so that every complaint can name the line."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from typing import Any

import yaml

from muster.base.errors import ScenarioError
from muster.sim.scenario.times import parse_seconds

# more objects than anybody simulates, and few enough to fit in memory
_MOST = 200_000

_BOOL, _INT, _FLOAT, _NULL = (f"tag:yaml.org,2002:{tag}" for tag in ("bool", "int", "float", "null"))


def parse(text: str | bytes, *, file: str) -> Place:
    """The document in `text`; `file` is what complaints call it."""
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{file}:{mark.line + 1}" if mark else file
        raise ScenarioError(f"not YAML: {error.problem or error.context}", where=where) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ScenarioError(f"not YAML: {error}", where=file) from error
    if node is None:
        raise ScenarioError("the file is empty", where=file, hint="a scenario needs at least a name")
    _refuse_cycles(node, file=file, above=[], done=set())
    return Place(node, file=file, what="scenario")


class Place:
    """One value and its line.  The readers return it as what it must be, or raise ScenarioError."""

    __slots__ = ("_file", "_node", "what")

    def __init__(self, node: yaml.Node, *, file: str, what: str) -> None:
        self._node = node
        self._file = file
        self.what = what
        """What people call this value: "gang", "members"."""

    @property
    def where(self) -> str:
        return f"{self._file}:{self._node.start_mark.line + 1}"

    def error(self, message: str, hint: str | None = None) -> ScenarioError:
        return ScenarioError(message, where=self.where, hint=hint)

    def called(self, what: str) -> Place:
        """The same value under another name."""
        return Place(self._node, file=self._file, what=what)

    # --- structure ---

    @property
    def is_list(self) -> bool:
        return isinstance(self._node, yaml.SequenceNode)

    @property
    def is_mapping(self) -> bool:
        return isinstance(self._node, yaml.MappingNode)

    @property
    def is_text(self) -> bool:
        return isinstance(self._node, yaml.ScalarNode) and self._tag not in (_BOOL, _INT, _FLOAT, _NULL)

    @property
    def is_flag(self) -> bool:
        return self._tag == _BOOL

    def entries(self) -> dict[str, Place]:
        """A mapping with whatever keys, in the order written; each value is called by its key."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self.error(f"{self.what} must be a mapping, not {self._kind}")
        entries: dict[str, Place] = {}
        for key, value in self._node.value:
            at = Place(key, file=self._file, what="key")
            if not isinstance(key, yaml.ScalarNode):
                raise at.error(f"keys of {self.what} must be plain words")
            if key.value in entries:
                raise at.error(f"'{key.value}' is given twice in {self.what}", "keep one of them")
            entries[key.value] = _Field(value, key=key, file=self._file)
        return entries

    def fields(
        self,
        known: Collection[str],
        *,
        required: Iterable[str] = (),
        also: Callable[[str], bool] = lambda name: False,
    ) -> dict[str, Place]:
        """A mapping whose keys are among `known`, or accepted by `also`."""
        entries = self.entries()
        for name, place in entries.items():
            if name not in known and not also(name):
                raise place.error(f"unknown field '{name}' in {self.what}", _advice(name, known))
        for name in required:
            if name not in entries:
                raise self.error(f"{self.what} needs '{name}'", f"add a line '{name}: ...'")
        return entries

    def items(self) -> list[Place]:
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.error(f"{self.what} must be a list, not {self._kind}", "begin each entry with '- '")
        return [Place(item, file=self._file, what=self.what) for item in self._node.value]

    def one_or_more(self) -> list[Place]:
        """A list, or a single value that stands for a list of one."""
        return self.items() if self.is_list else [self]

    # --- scalars ---

    def text(self) -> str:
        if not isinstance(self._node, yaml.ScalarNode) or not self.is_text:
            hint = "put it in quotes" if isinstance(self._node, yaml.ScalarNode) else None
            raise self.error(f"{self.what} must be text, not {self._kind}", hint)
        return str(self._node.value)

    def word(self, choices: Collection[str]) -> str:
        """One of a few words."""
        text = self.text()
        if text not in choices:
            hint = _advice(text, choices)
            raise self.error(f"{self.what} cannot be '{text}'", hint)
        return text

    def count(self, *, least: int = 0) -> int:
        value = self.plain()
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.error(f"{self.what} must be a whole number of at least {least}, not {self._shown}")
        if value > _MOST:
            raise self.error(f"{self.what} may be {_MOST:,} at most")
        return value

    def integer(self) -> int:
        value = self.plain()
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(f"{self.what} must be a whole number, not {self._shown}")
        return value

    def number(self) -> float:
        value = self.plain()
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
            raise self.error(f"{self.what} must be a number of at least 0, not {self._shown}")
        return float(value)

    def flag(self) -> bool:
        value = self.plain()
        if not isinstance(value, bool):
            raise self.error(f"{self.what} must be true or false, not {self._shown}")
        return value

    def seconds(self) -> float:
        try:
            return parse_seconds(self.plain())
        except (ValueError, TypeError) as error:
            raise self.error(
                f"{self.what} must be a time, not {self._shown}", "write 5s, 1m30s, 2h or a number of seconds"
            ) from error

    def words(self) -> dict[str, str]:
        """A mapping from text to text, as labels are."""
        return {name: place.text() for name, place in self.entries().items()}

    def plain(self) -> Any:
        """The value as YAML's own types."""
        try:
            return yaml.SafeLoader("").construct_document(self._node)
        except (yaml.MarkedYAMLError, ValueError) as error:
            raise self.error(f"{self.what} cannot be read as YAML: {error}") from error

    @property
    def _tag(self) -> str:
        return str(self._node.tag)

    @property
    def _kind(self) -> str:
        if isinstance(self._node, yaml.ScalarNode):
            return self._shown
        return "a list" if isinstance(self._node, yaml.SequenceNode) else "a mapping"

    @property
    def _shown(self) -> str:
        if not isinstance(self._node, yaml.ScalarNode):
            return self._kind
        return f"'{self._node.value}'" if self._node.value else "nothing"


class _Field(Place):
    """A value in a mapping: it stands where its key does, and is called by it."""

    __slots__ = ("_key",)

    def __init__(self, node: yaml.Node, *, key: yaml.ScalarNode, file: str) -> None:
        super().__init__(node, file=file, what=key.value)
        self._key = key

    @property
    def where(self) -> str:
        return f"{self._file}:{self._key.start_mark.line + 1}"

    def called(self, what: str) -> Place:
        twin = _Field(self._node, key=self._key, file=self._file)
        twin.what = what
        return twin


def _advice(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean '{close[0]}'?" if close else "known are " + ", ".join(known)


def _refuse_cycles(node: yaml.Node, *, file: str, above: list[yaml.Node], done: set[int]) -> None:
    """An alias inside its own anchor would have no end."""
    if id(node) in done or not isinstance(node, yaml.CollectionNode):
        return
    if any(node is other for other in above):
        raise ScenarioError("an alias refers to itself", where=f"{file}:{node.start_mark.line + 1}")
    above.append(node)
    for child in node.value:
        for part in child if isinstance(child, tuple) else (child,):
            _refuse_cycles(part, file=file, above=above, done=done)
    above.pop()
    done.add(id(node))
