"""What the parts of a program do when it is evaluated: variables, steps, loops, fields and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from muster.base.cel.functions import Overload
from muster.base.cel.types import Type
from muster.base.cel.values import NONE, Budget, Domains, Optional, type_name
from muster.base.errors import CelCostError, CelError

NO_OVERLOAD = "no such overload"


class Frame(Budget):
    __slots__ = ("slots",)

    def __init__(self, slots: list[Any], steps: int) -> None:
        super().__init__(steps)
        self.slots = slots


Run = Callable[[Frame], Any]


class Part(NamedTuple):
    """A part of an expression: what its values are, and how one is made."""

    type: Type
    run: Run


class Loop:
    """Goes through a list or the keys of a map, with variables for what it is at."""

    def __init__(self, through: Part, items: tuple[Type, ...], *, first: int, body: Part) -> None:
        self.through = through
        self.items = items
        """The types of its variables."""
        self.first = first
        self.body = body
        self._is_double = len(items) == 2

    def turns(self, frame: Frame) -> Any:
        items = self.through.run(frame)
        if not isinstance(items, list | dict):
            raise CelError(f"got '{type_name(items).name}', expected iterable type")
        slots, first = frame.slots, self.first
        pairs: Any = items.items() if isinstance(items, dict) else enumerate(items)
        frame.spend(1)
        for key, value in pairs:
            frame.spend(2)
            if self._is_double:
                slots[first], slots[first + 1] = key, value
            else:
                slots[first] = key if isinstance(items, dict) else value
            yield


def boolean(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise CelError(NO_OVERLOAD)


def decided(runs: Iterable[Run], frame: Frame, *, by: bool) -> bool:
    """`by` if one of them gives that, else the opposite; errors count only if none does."""
    failed: CelError | None = None
    for run in runs:
        try:
            if boolean(run(frame)) is by:
                return by
        except CelCostError:
            raise
        except CelError as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return not by


def fields_of(value: Any) -> Mapping[Any, Any]:
    """None of what is no object, as upstream has it."""
    return value if isinstance(value, dict) else {}


def put(made: dict[Any, Any], key: Any, value: tuple[Any, ...]) -> None:
    if not isinstance(key, str | int | bool | float):
        raise CelError(f"unsupported key type: {key!r}")
    if value:
        [made[key]] = value


def field_in(inside: Run, field: str) -> Run:
    def run(frame: Frame) -> Any:
        frame.left -= 1
        value = inside(frame)
        if type(value) is dict and field in value:
            return value[field]
        if isinstance(value, Optional):
            return _found(value, field)
        if isinstance(value, Domains):
            return value[field]
        raise CelError(f"no such key: {field}")

    return run


def maybe_field(inside: Run, field: str) -> Run:
    def run(frame: Frame) -> Optional:
        frame.spend(1)
        value = inside(frame)
        return _found(value if isinstance(value, Optional) else Optional((value,)), field)

    return run


def _found(value: Optional, field: str) -> Optional:
    if not value.values:
        return NONE
    fields = fields_of(value.values[0])
    return Optional((fields[field],)) if field in fields or isinstance(fields, Domains) else NONE


def applied(ways: Sequence[Overload], arguments: Sequence[Run], *, is_known: bool) -> Run:
    [way, *others] = ways
    if is_known and len(arguments) == 2:
        function, (left, right) = way.run, arguments
        return lambda frame: function(frame, left(frame), right(frame))
    if is_known:
        return lambda frame: way.run(frame, *[one(frame) for one in arguments])

    def run(frame: Frame) -> Any:
        given = tuple(one(frame) for one in arguments)
        for one in (way, *others):
            if one.takes(given):
                return one.run(frame, *given)
        raise CelError(NO_OVERLOAD)

    return run
