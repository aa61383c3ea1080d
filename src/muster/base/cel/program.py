"""An expression in CEL, checked against the types of its variables and made into functions once, to be evaluated often.

Each node of the tree becomes a part: its type, and a function from a frame (the variables, and the steps that are left)
to a value.  Errors of && and || count only if the other side does not decide, as CEL has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from muster.base import patterns
from muster.base.cel import syntax
from muster.base.cel.functions import EXTENSIONS, FUNCTIONS, MISSING, Overload
from muster.base.cel.running import (
    NO_OVERLOAD,
    Frame,
    Loop,
    Part,
    Run,
    applied,
    boolean,
    decided,
    field_in,
    fields_of,
    maybe_field,
    put,
)
from muster.base.cel.syntax import Problem, Uint, Unreadable, parse, told
from muster.base.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    TYPE,
    UINT,
    Solver,
    Type,
    list_of,
    map_of,
    optional_of,
)
from muster.base.cel.values import NONE, Budget, Optional, named_type, read_duration, read_timestamp
from muster.base.errors import CelCostError, CelError, CelUnsupported

__all__ = ["Program", "compile_expression"]

_TYPE_NAMES = {
    **{name: name for name in ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "type")},
    "null_type": "null",
    "optional_type": "optional_type",
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "duration",
    **{name: name for name in ("kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR")},
}
_LITERALS = {bool: BOOL, int: INT, Uint: UINT, float: DOUBLE, str: STRING, bytes: BYTES, type(None): NULL}
_BAD: dict[str, Callable[[str], object]] = {
    "matches": patterns.problem,
    "timestamp": lambda text: read_timestamp(text) is None,
    "duration": lambda text: read_duration(text) is None,
}
"""Functions of texts that are looked at before there is a value, and which texts are bad ones."""
_NEW_LIST, _NEW_MAP = 10, 30
"""Steps that upstream counts for a list or map that an expression writes down."""


class Program:
    """An expression that can be evaluated."""

    def __init__(self, run: Run, result: Type, *, variables: Sequence[str], uses: frozenset[str], slots: int) -> None:
        self.result = result
        self.uses = uses
        """The variables that it reads."""
        self._run = run
        self._variables = variables
        self._slots = slots

    def evaluate(self, given: Mapping[str, Any], budget: Budget) -> Any:
        """Its value for these variables; CelError if it has none, CelCostError if it takes more steps than are left."""
        slots = [given.get(name) for name in self._variables]
        frame = Frame(slots + [None] * (self._slots - len(slots)), budget.left)
        try:
            return self._run(frame)
        except RecursionError:
            raise CelCostError("operation cancelled: actual cost limit exceeded") from None
        except (TypeError, AttributeError):
            # of values that are not what their types say: null, and data that was stored under another schema
            raise CelError(NO_OVERLOAD) from None
        finally:
            budget.left = frame.left


def compile_expression(
    text: str, variables: Mapping[str, Type], *, extensions: frozenset[str] = frozenset()
) -> Program:
    """Raises CelError with all that is wrong, in upstream's words; CelUnsupported for what we do not have.

    extensions   Those of EXTENSIONS that the expression may use.
    """
    try:
        tree = parse(text)
    except Unreadable as unreadable:
        raise CelError(told(text, [unreadable.problem])) from None
    compiler = _Compiler(variables, refused=EXTENSIONS - extensions)
    part = compiler.part(tree)
    if compiler.problems:
        raise CelError(told(text, compiler.problems))
    return Program(
        part.run,
        compiler.solver.settled(part.type),
        variables=tuple(variables),
        uses=frozenset(compiler.used),
        slots=compiler.slots,
    )


def _nothing(_: Frame) -> Any:
    """Of a part that is wrong: nobody evaluates it."""


_WRONG = Part(ERROR, _nothing)


class _Compiler:
    def __init__(self, variables: Mapping[str, Type], *, refused: frozenset[str]) -> None:
        self.solver = Solver()
        self._refused = refused
        self.problems: list[Problem] = []
        self.used: set[str] = set()
        self._mixed = False
        """Lists and maps that are written down here may hold values of several types."""
        self.scope: dict[str, tuple[int, Type]] = {
            name: (slot, one) for slot, (name, one) in enumerate(variables.items())
        }
        self._globals = frozenset(variables)
        self.slots = len(variables)

    def part(self, node: syntax.Node) -> Part:
        return _PARTS[type(node)](self, node)

    def _literal(self, node: syntax.Literal) -> Part:
        value = node.value
        return Part(_LITERALS[type(value)], lambda _: value)

    def _index(self, node: syntax.Index) -> Part:
        return self._function(node.at, "_[?_]" if node.optional else "_[_]", [node.inside, node.key])

    def _unary(self, node: syntax.Unary) -> Part:
        return self._function(node.at, f"{node.sign}_", [node.inside])

    def _binary(self, node: syntax.Binary) -> Part:
        name = "@in" if node.sign == "in" else f"_{node.sign}_"
        return self._function(node.at, name, [node.left, node.right])

    def _maker(self, node: syntax.Maker) -> Part:
        if node.name.startswith("google.protobuf."):
            raise CelUnsupported(f"messages of type {node.name}")
        return self._undeclared(node.at, node.name)

    # --- problems ---

    def _wrong(self, at: int, words: str) -> Part:
        self.problems.append(Problem(at, words))
        return _WRONG

    def _undeclared(self, at: int, name: str) -> Part:
        return self._wrong(at, f"undeclared reference to '{name}' (in container '')")

    def _told(self, one: Type) -> str:
        return str(self.solver.settled(one))

    def _no_overload(self, at: int, name: str, given: Sequence[Type], *, is_member: bool) -> Part:
        shown = [self._told(one) for one in given]
        applied = f"{shown[0]}.({', '.join(shown[1:])})" if is_member else f"({', '.join(shown)})"
        return self._wrong(at, f"found no matching overload for '{name}' applied to '{applied}'")

    def _expected(self, at: int, wanted: Type, given: Type) -> None:
        if not self.solver.all_fit((given,), (wanted,)):
            self._wrong(at, f"expected type '{self._told(wanted)}' but found '{self._told(given)}'")

    # --- names and fields ---

    def _name(self, node: syntax.Name) -> Part:
        if node.name in self.scope:
            slot, kind = self.scope[node.name]
            if slot < len(self._globals):
                self.used.add(node.name)

            def run(frame: Frame) -> Any:
                # counted now, checked by the next function or turn of a loop
                frame.left -= 1
                return frame.slots[slot]

            return Part(kind, run)
        if node.name in _TYPE_NAMES:
            constant = named_type(_TYPE_NAMES[node.name])
            return Part(TYPE, lambda _: constant)
        return self._undeclared(node.at, node.name)

    def _qualified(self, node: syntax.Node | None) -> str:
        """a.b.c of names that are no variables; "" if it is something else."""
        names: list[str] = []
        while isinstance(node, syntax.Select) and not node.optional:
            names.append(node.field)
            node = node.inside
        if not isinstance(node, syntax.Name) or node.name in self.scope:
            return ""
        return ".".join([node.name, *reversed(names)])

    def _select(self, node: syntax.Select) -> Part:
        qualified = self._qualified(node)
        if qualified in _TYPE_NAMES:
            constant = named_type(_TYPE_NAMES[qualified])
            return Part(TYPE, lambda _: constant)
        inside, field = self.part(node.inside), node.field
        kind = self._field(node.at, inside.type, field)
        if node.optional and kind.name != "optional_type":
            kind = optional_of(kind)
        return Part(kind, maybe_field(inside.run, field) if node.optional else field_in(inside.run, field))

    def _field(self, at: int, inside: Type, field: str) -> Type:
        inside = self.solver.known(inside)
        if inside.name == "optional_type":
            found = self._field(at, inside.inner[0], field)
            return found if found.name == "optional_type" else optional_of(found)
        if inside.fields is not None:
            if field not in inside.fields:
                return self._wrong(at, f"undefined field '{field}'").type
            return inside.fields[field]
        if inside.name == "map":
            return inside.inner[1]
        if inside.is_parameter or inside.name in ("dyn", "!error!"):
            return DYN
        return self._wrong(at, f"type '{self._told(inside)}' does not support field selection").type

    # --- logic ---

    def _logic(self, node: syntax.Logic) -> Part:
        parts = [self.part(one) for one in node.parts]
        for one, part in zip(node.parts, parts, strict=True):
            self._expected(one.at, BOOL, part.type)
        decides, runs = node.sign == "||", [part.run for part in parts]

        def run(frame: Frame) -> bool:
            frame.spend(1)
            return decided(runs, frame, by=decides)

        return Part(BOOL, run)

    def _ternary(self, node: syntax.Ternary) -> Part:
        condition, then, other = (self.part(one) for one in (node.condition, node.then, node.other))
        return self._choice(node.at, condition, then, other)

    def _choice(self, at: int, condition: Part, then: Part, other: Part) -> Part:
        result = self.solver.fresh()
        given = (condition.type, then.type, other.type)
        if not self.solver.all_fit(given, (BOOL, result, result)):
            return self._no_overload(at, "_?_:_", given, is_member=False)

        def run(frame: Frame) -> Any:
            frame.spend(1)
            return then.run(frame) if boolean(condition.run(frame)) else other.run(frame)

        either = DYN if any(self.solver.known(one.type).name == "dyn" for one in (then, other)) else result
        return Part(either, run)

    # --- lists and maps ---

    def _joined(self, nodes: Sequence[syntax.Node], optional: frozenset[int]) -> tuple[Type, list[Run]]:
        """Of what a list or map is made: all of one type."""
        joined: Type | None = None
        runs = []
        for index, node in enumerate(nodes):
            part = self.part(node)
            kind = part.type
            if index in optional:
                inner = self.solver.fresh()
                self._expected(node.at, optional_of(inner), kind)
                kind = inner
            if joined is None:
                joined = kind
            elif not self._mixed:
                self._expected(node.at, joined, kind)
            elif not self.solver.all_fit((kind,), (joined,)):
                joined = DYN
            runs.append(part.run)
        return joined or self.solver.fresh(), runs

    def _sequence(self, node: syntax.Sequence) -> Part:
        item, runs = self._joined(node.items, node.optional)
        optional = node.optional

        def run(frame: Frame) -> list[Any]:
            frame.spend(_NEW_LIST + len(runs))
            made: list[Any] = []
            for index, one in enumerate(runs):
                value = one(frame)
                made += value.values if index in optional else (value,)
            return made

        return Part(list_of(item), run)

    def _mapping(self, node: syntax.Mapping) -> Part:
        key, keys = self._joined([one for one, _ in node.entries], frozenset())
        value, runs = self._joined([one for _, one in node.entries], node.optional)
        optional = node.optional

        def run(frame: Frame) -> dict[Any, Any]:
            frame.spend(_NEW_MAP + len(runs))
            made: dict[Any, Any] = {}
            for index, (name, one) in enumerate(zip(keys, runs, strict=True)):
                put(made, name(frame), one(frame).values if index in optional else (one(frame),))
            return made

        return Part(map_of(self._key(key) if keys else key, value), run)

    def _key(self, given: Type) -> Type:
        """What is no key says so when it is one; its type is not kept, which could be twice as long with each map."""
        return DYN if self.solver.known(given).inner or self.solver.known(given).is_parameter else given

    # --- functions ---

    def _call(self, node: syntax.Call) -> Part:
        macro = _MACROS.get((node.name, len(node.arguments), node.target is not None))
        if macro is not None:
            return macro(self, node)
        is_bind = node.name == "bind" and self._qualified(node.target) == "cel" and len(node.arguments) == 3
        if is_bind and "cel.bind" not in self._refused:
            return self.bound(node)
        qualified = f"{self._qualified(node.target)}.{node.name}" if self._qualified(node.target) else ""
        if qualified in FUNCTIONS:
            return self._function(node.at, qualified, node.arguments)
        if node.name in MISSING or qualified in MISSING:
            raise CelUnsupported(f"function {qualified or node.name}")
        nodes = (*(() if node.target is None else (node.target,)), *node.arguments)
        mixed, self._mixed = self._mixed, self._mixed or node.name == "format"
        found = self._function(node.at, node.name, nodes, is_member=node.target is not None)
        self._mixed = mixed
        return found

    def _function(self, at: int, name: str, nodes: Sequence[syntax.Node], *, is_member: bool = False) -> Part:
        parts = [self.part(one) for one in nodes]
        ways = FUNCTIONS.get(name)
        if ways is None or name in self._refused:
            return self._undeclared(at, name)
        is_bad, text = _BAD.get(name), nodes[-1].value if nodes and isinstance(nodes[-1], syntax.Literal) else None
        if is_bad is not None and isinstance(text, str) and is_bad(text):
            self._wrong(nodes[-1].at, f"invalid {name} argument")
        given = tuple(part.type for part in parts)
        chosen: list[Overload] = []
        result: Type | None = None
        for way in ways:
            names: dict[str, Type] = {}
            wanted = tuple(self.solver.renamed(one, names) for one in way.arguments)
            if way.is_member is is_member and self.solver.all_fit(given, wanted):
                chosen.append(way)
                found = self.solver.renamed(way.result, names)
                result = found if result is None or result.same(found) else DYN
        if result is None:
            return self._no_overload(at, name, given, is_member=is_member)
        is_known = len(chosen) == 1 and all(self._is_known(one) for one in given)
        return Part(result, applied(chosen, [part.run for part in parts], is_known=is_known))

    def _is_known(self, one: Type) -> bool:
        """Whether its values need not be looked at."""
        return self.solver.settled(one).name not in ("dyn", "null")

    # --- macros ---

    def has(self, node: syntax.Call) -> Part:
        [asked] = node.arguments
        if not isinstance(asked, syntax.Select) or asked.optional:
            return self._wrong(asked.at, "invalid argument to has() macro")
        inside, field = self.part(asked.inside), asked.field
        self._field(node.at, inside.type, field)

        def run(frame: Frame) -> bool:
            frame.spend(1)
            value = inside.run(frame)
            if isinstance(value, Optional):
                return bool(value.values) and field in fields_of(value.values[0])
            return field in fields_of(value)

        return Part(BOOL, run)

    def over(self, node: syntax.Call, count: int, body: Callable[[], Part]) -> Part | Loop:
        """What a macro goes through, and what it does for each; `count` of its arguments are variables."""
        assert node.target is not None
        through = self.part(node.target)
        names = []
        for argument in node.arguments[:count]:
            if not isinstance(argument, syntax.Name):
                return self._wrong(argument.at, "argument must be a simple name")
            names.append(argument.name)
        kinds = self._item_types(node.target.at, through.type, count)
        before = dict(self.scope)
        first = self.slots
        for name, kind in zip(names, kinds, strict=True):
            self.scope[name] = (self.slots, kind)
            self.slots += 1
        inner = body()
        self.scope = before
        return Loop(through, kinds, first=first, body=inner)

    def _item_types(self, at: int, through: Type, count: int) -> tuple[Type, ...]:
        through = self.solver.known(through)
        if through.name == "list":
            return (INT, through.inner[0])[2 - count :]
        if through.name == "map":
            return through.inner[:count]
        if not through.is_parameter and through.name not in ("dyn", "!error!"):
            kind = self._told(through)
            words = "cannot be range of a comprehension (must be list, map, or dynamic)"
            self._wrong(at, f"expression of type '{kind}' {words}")
        return (DYN, DYN)[:count]

    def every(self, node: syntax.Call) -> Part:
        return self._decided(node, by=False)

    def some(self, node: syntax.Call) -> Part:
        return self._decided(node, by=True)

    def _decided(self, node: syntax.Call, *, by: bool) -> Part:
        """all, which one false decides, and exists, which one true does."""
        asked = node.arguments[-1]

        def body() -> Part:
            part = self.part(asked)
            self._expected(asked.at, BOOL, part.type)
            return part

        loop = self.over(node, len(node.arguments) - 1, body)
        if isinstance(loop, Part):
            return loop

        def run(frame: Frame) -> bool:
            return decided((loop.body.run for _ in loop.turns(frame)), frame, by=by)

        return Part(BOOL, run)

    def one(self, node: syntax.Call) -> Part:
        asked = node.arguments[-1]
        loop = self.over(node, len(node.arguments) - 1, lambda: self.part(asked))
        if isinstance(loop, Part):
            return loop
        self._condition(node.at, loop.body.type, INT)
        return Part(BOOL, lambda frame: sum(boolean(loop.body.run(frame)) for _ in loop.turns(frame)) == 1)

    def _condition(self, at: int, given: Type, result: Type) -> None:
        """Of what decides whether an item counts."""
        if not self.solver.all_fit((given,), (BOOL,)):
            self._no_overload(at, "_?_:_", (given, result, result), is_member=False)

    def filtered(self, node: syntax.Call) -> Part:
        asked = node.arguments[1]
        loop = self.over(node, 1, lambda: self.part(asked))
        if isinstance(loop, Part):
            return loop
        result = list_of(loop.items[0])
        self._condition(node.at, loop.body.type, result)

        def run(frame: Frame) -> list[Any]:
            frame.spend(_NEW_LIST)
            return [frame.slots[loop.first] for _ in loop.turns(frame) if boolean(loop.body.run(frame))]

        return Part(result, run)

    def mapped(self, node: syntax.Call) -> Part:
        return self._transformed(node, 1)

    def listed(self, node: syntax.Call) -> Part:
        return self._transformed(node, 2)

    def _transformed(self, node: syntax.Call, count: int) -> Part:
        """A list of what is made of each, or of those that a condition is true for."""
        *asked, wanted = node.arguments[count:]
        conditions: list[Part] = []

        def body() -> Part:
            conditions.extend(self.part(one) for one in asked)
            return self.part(wanted)

        loop = self.over(node, count, body)
        if isinstance(loop, Part):
            return loop
        result = list_of(loop.body.type)
        for one in conditions:
            self._condition(node.at, one.type, result)
        tests = [one.run for one in conditions]

        def run(frame: Frame) -> list[Any]:
            frame.spend(_NEW_LIST)
            turns = loop.turns(frame)
            return [loop.body.run(frame) for _ in turns if all(boolean(test(frame)) for test in tests)]

        return Part(result, run)

    def transformed_map(self, node: syntax.Call) -> Part:
        """A map with the same keys, or those that a condition is true for, and new values."""
        *asked, wanted = node.arguments[2:]
        conditions: list[Part] = []

        def body() -> Part:
            conditions.extend(self.part(one) for one in asked)
            return self.part(wanted)

        loop = self.over(node, 2, body)
        if isinstance(loop, Part):
            return loop
        result = map_of(loop.items[0], loop.body.type)
        for one in conditions:
            self._condition(node.at, one.type, result)
        tests = [one.run for one in conditions]

        def run(frame: Frame) -> dict[Any, Any]:
            frame.spend(_NEW_MAP)
            made = {}
            for _ in loop.turns(frame):
                if all(boolean(test(frame)) for test in tests):
                    made[frame.slots[loop.first]] = loop.body.run(frame)
            return made

        return Part(result, run)

    def sorted_by(self, node: syntax.Call) -> Part:
        loop = self.over(node, 1, lambda: self.part(node.arguments[1]))
        if isinstance(loop, Part):
            return loop
        [way] = FUNCTIONS["@sortByAssociatedKeys"]

        def run(frame: Frame) -> list[Any]:
            keys = [loop.body.run(frame) for _ in loop.turns(frame)]
            made: list[Any] = way.run(frame, list(loop.through.run(frame)), keys)
            return made

        return Part(loop.through.type, run)

    def bound(self, node: syntax.Call) -> Part:
        """cel.bind: an expression in which a name stands for a value."""
        [name, given, wanted] = node.arguments
        if not isinstance(name, syntax.Name):
            return self._wrong(name.at, "cel.bind() variable names must be simple identifiers")
        value = self.part(given)
        before, slot = dict(self.scope), self.slots
        self.scope[name.name] = (slot, value.type)
        self.slots += 1
        body = self.part(wanted)
        self.scope = before

        def run(frame: Frame) -> Any:
            frame.spend(_NEW_LIST)
            frame.slots[slot] = value.run(frame)
            return body.run(frame)

        return Part(body.type, run)

    def optional_mapped(self, node: syntax.Call) -> Part:
        """optMap and optFlatMap: what is made of the value, if there is one."""
        assert node.target is not None
        through = self.part(node.target)
        [name, wanted] = node.arguments
        if not isinstance(name, syntax.Name):
            return self._wrong(name.at, "argument must be a simple name")
        inner = self.solver.fresh()
        self._expected(node.target.at, optional_of(inner), through.type)
        before, slot = dict(self.scope), self.slots
        self.scope[name.name] = (slot, inner)
        self.slots += 1
        body = self.part(wanted)
        self.scope = before
        is_flat = node.name == "optFlatMap"

        def run(frame: Frame) -> Any:
            frame.spend(1)
            value = through.run(frame)
            if not isinstance(value, Optional):
                raise CelError(NO_OVERLOAD)
            if not value.values:
                return NONE
            frame.slots[slot] = value.values[0]
            made = body.run(frame)
            return made if is_flat else Optional((made,))

        return Part(body.type if is_flat else optional_of(body.type), run)


_PARTS: dict[type, Callable[[_Compiler, Any], Part]] = {
    syntax.Literal: _Compiler._literal,
    syntax.Name: _Compiler._name,
    syntax.Select: _Compiler._select,
    syntax.Index: _Compiler._index,
    syntax.Call: _Compiler._call,
    syntax.Unary: _Compiler._unary,
    syntax.Binary: _Compiler._binary,
    syntax.Logic: _Compiler._logic,
    syntax.Ternary: _Compiler._ternary,
    syntax.Sequence: _Compiler._sequence,
    syntax.Mapping: _Compiler._mapping,
    syntax.Maker: _Compiler._maker,
}

_MACROS: dict[tuple[str, int, bool], Callable[[_Compiler, syntax.Call], Part]] = {
    ("has", 1, False): _Compiler.has,
    ("all", 2, True): _Compiler.every,
    ("all", 3, True): _Compiler.every,
    ("exists", 2, True): _Compiler.some,
    ("exists", 3, True): _Compiler.some,
    ("exists_one", 2, True): _Compiler.one,
    ("existsOne", 2, True): _Compiler.one,
    ("existsOne", 3, True): _Compiler.one,
    ("filter", 2, True): _Compiler.filtered,
    ("map", 2, True): _Compiler.mapped,
    ("map", 3, True): _Compiler.mapped,
    ("transformList", 3, True): _Compiler.listed,
    ("transformList", 4, True): _Compiler.listed,
    ("transformMap", 3, True): _Compiler.transformed_map,
    ("transformMap", 4, True): _Compiler.transformed_map,
    ("sortBy", 2, True): _Compiler.sorted_by,
    ("optMap", 2, True): _Compiler.optional_mapped,
    ("optFlatMap", 2, True): _Compiler.optional_mapped,
}
"""By name, number of arguments, and whether they are members."""
