"""Expressions over devices.  What they answer depends on a device's facts alone, and is kept there."""

from __future__ import annotations

from functools import lru_cache

from muster.base.cel import Budget, Program, compile_expression
from muster.base.cel.functions import EXTENSIONS
from muster.base.cel.types import BOOL, DYN, STRING, Type, map_of, object_of
from muster.base.cel.values import type_name
from muster.base.errors import CelError
from muster.devices.facts import Facts

_MOST_STEPS = 1_000_000
_LONGEST = 10 * 1024
_MOST_ANSWERS = 1024
"""That are kept for one device: claims may write expressions of their own without end."""
_DEVICE = object_of(
    "kubernetes.DRADevice",
    {
        "driver": STRING,
        "attributes": map_of(STRING, map_of(STRING, DYN)),
        "capacity": map_of(STRING, map_of(STRING, Type("kubernetes.Quantity"))),
        "allowMultipleAllocations": BOOL,
    },
)


class Selector:
    """One expression; equal only to itself, and the same wherever it is written."""

    __slots__ = ("_program", "problem", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.problem = ""
        """Why it cannot be asked of any device."""
        self._program: Program | None = None
        try:
            self._program = _compiled(text)
        except CelError as error:
            self.problem = f"CEL compile error: {error}"

    def matches(self, facts: Facts) -> bool | str:
        """Whether it selects such devices, or what is wrong."""
        found = facts.answers.get(self)
        if found is None:
            if len(facts.answers) >= _MOST_ANSWERS:
                facts.answers.clear()
            found = facts.answers[self] = self._asked(facts)
        return found

    def _asked(self, facts: Facts) -> bool | str:
        if self._program is None:
            return self.problem
        if isinstance(facts.variables, str):
            return f"CEL runtime error: {facts.variables}"
        try:
            found = self._program.evaluate(facts.variables, Budget(_MOST_STEPS))
        except CelError as error:
            return f"CEL runtime error: {error}"
        if not isinstance(found, bool):
            kind = type_name(found).name
            return f"CEL runtime error: CEL result of type {kind} could not be converted to bool"
        return found


@lru_cache(maxsize=1 << 12)
def selector_of(text: str) -> Selector:
    return Selector(text)


def _compiled(text: str) -> Program:
    if len(text) > _LONGEST:
        raise CelError(f"more than {_LONGEST} characters")
    program = compile_expression(text, {"device": _DEVICE}, extensions=EXTENSIONS)
    if program.result.name not in ("bool", "dyn"):
        raise CelError(f"must evaluate to bool or the unknown type, not {program.result}")
    return program
