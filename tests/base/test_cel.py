"""CEL: compiled once, evaluated often, and whatever is written or given, a value or a reason why there is none."""

import math
import random

import pytest

from muster.base.cel import Budget, compile_expression, typed, types
from muster.base.cel.functions import FUNCTIONS
from muster.base.errors import CelCostError, CelError, CelUnsupported

ITEM = types.object_of("item", {"name": types.STRING, "v": types.INT})
SELF = types.object_of(
    "self",
    {
        "s": types.STRING,
        "i": types.INT,
        "n": types.DOUBLE,
        "b": types.BOOL,
        "q": types.DYN,
        "t": types.TIMESTAMP,
        "d": types.DURATION,
        "bytes": types.BYTES,
        "list": types.list_of(types.STRING),
        "map": types.map_of(types.STRING, types.INT),
        "keyed": types.list_of(ITEM, merging=("name",)),
        "set": types.list_of(types.STRING, merging="set"),
        "times": types.list_of(types.TIMESTAMP),
    },
)
GIVEN = {
    "s": "a\0bé",
    "i": -(2**63),
    "n": 1e308,
    "b": True,
    "q": "x",
    "t": "0001-01-01T00:00:00Z",
    "d": "1h",
    "bytes": "YWJj",
    "list": ["a", "", "b"],
    "map": {"a": 1},
    "keyed": [{"name": "x", "v": 1}, {"name": "y"}],
    "set": ["p", "q"],
    "times": ["yesterday", None],
}


def value(text, *, steps=100_000, **given):
    program = compile_expression(text, {"self": SELF})
    return program.evaluate({"self": typed(GIVEN | given, SELF, Budget(steps))}, Budget(steps))


def test_a_program_says_what_it_reads_and_gives():
    both = {"self": types.INT, "oldSelf": types.INT}
    assert compile_expression("self > 1", both).uses == {"self"}
    assert compile_expression("[1].all(self, oldSelf > self)", both).uses == {"oldSelf"}
    assert compile_expression("[self]", both).result == types.list_of(types.INT)


def test_a_program_can_be_evaluated_again():
    program = compile_expression("[1, 2].map(x, x + self)", {"self": types.INT})
    assert [program.evaluate({"self": n}, Budget(1000)) for n in (1, 2)] == [[2, 3], [3, 4]]


def test_steps_are_taken_from_the_budget():
    budget = Budget(1000)
    compile_expression("self + self", {"self": types.INT}).evaluate({"self": 1}, budget)
    assert 990 < budget.left < 1000


def test_who_runs_out_of_steps_is_told():
    with pytest.raises(CelCostError, match="actual cost limit exceeded"):
        value("lists.range(100000).all(x, x >= 0)")


def test_what_is_wrong_in_one_part_of_an_or_does_not_matter_if_another_is_true():
    assert value("self.map['zz'] > 1 || true") is True
    assert value("true || self.map['zz'] > 1") is True
    with pytest.raises(CelError, match="no such key: zz"):
        value("self.map['zz'] > 1 || false")


def test_running_out_of_steps_is_no_error_that_another_part_can_undo():
    with pytest.raises(CelCostError):
        value("lists.range(100000).size() > 1 || true")


def test_a_function_that_is_missing_is_not_taken_for_a_mistake():
    with pytest.raises(CelUnsupported, match="function isURL"):
        compile_expression("isURL(self.s)", {"self": SELF})


def test_data_that_does_not_fit_its_type_has_no_value():
    for text in ("self.times[0].getHours() > 1", "self.times[1].getHours() > 1", "self.times.sort()"):
        with pytest.raises(CelError, match=r"no such overload|same type"):
            value(text)


def test_the_edge_of_time_has_no_hours_further_west():
    assert value("self.t.getHours('+05:00')") == 5
    with pytest.raises(CelError, match="timestamp overflow"):
        value("self.t.getHours('-05:00')")


# --- at random ---

NAMES = [name for name in FUNCTIONS if name[0] not in "_@-!"]
LEAVES = [f"self.{name}" for name in GIVEN]
LEAVES += [
    "1",
    "-1",
    "0",
    "9223372036854775807",
    "1.5",
    "0.0",
    "1e308",
    "''",
    "'a'",
    "'(a'",
    "'[a-z]+'",
    "true",
    "false",
]
LEAVES += [
    "null",
    "[]",
    "{}",
    "5u",
    "b'a'",
    "'1h'",
    "'2020-01-01T00:00:00Z'",
    "'1Gi'",
    "'1.2.3'",
    "x",
    "int",
    "'%s %d %f'",
]
SIGNS = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||"]
MACROS = ["all", "exists", "map", "filter", "exists_one", "sortBy", "optMap", "transformList", "transformMap"]


def anything(rng, depth):
    """An expression, seldom one that makes sense."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(LEAVES)

    def some():
        return anything(rng, depth - 1)

    def several():
        return ", ".join(some() for _ in range(rng.randrange(3)))

    makers = [
        lambda: f"({some()} {rng.choice(SIGNS)} {some()})",
        lambda: f"({some()} {rng.choice(SIGNS)} {some()})",
        lambda: f"({some()} ? {some()} : {some()})",
        lambda: f"[{several()}]",
        lambda: f"{{{some()}: {some()}}}",
        lambda: f"{some()}[{rng.choice(['', '?'])}{some()}]",
        lambda: f"{some()}.{rng.choice(MACROS)}({rng.choice(['x', 'x, y'])}, {some()})",
        lambda: f"{some()}.{rng.choice(['', '?'])}{rng.choice(['s', 'i', 'name', 'zz'])}",
        lambda: f"{rng.choice(NAMES)}({several()})",
        lambda: f"{some()}.{rng.choice(NAMES)}({several()})",
        lambda: f"dyn({some()})",
    ]
    return rng.choice(makers)()


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_written_has_a_value_or_a_reason(seed):
    rng = random.Random(seed)
    outcomes = {"value": 0, "reason": 0, "refused": 0}
    for _ in range(300):
        text = anything(rng, rng.randrange(1, 5))
        if rng.random() < 0.6:
            text = text.replace("self.", "dyn(self).")
        try:
            program = compile_expression(text, {"self": SELF})
        except CelError:
            outcomes["refused"] += 1
            continue
        try:
            program.evaluate({"self": typed(GIVEN, SELF, Budget(20_000))}, Budget(20_000))
            outcomes["value"] += 1
        except CelError:
            outcomes["reason"] += 1
    assert all(outcomes.values()), outcomes


# each would take minutes if a link of the chain were looked at twice, or made a type that is twice as long
CHAINS = {
    "filter": ".filter(x, x != 'a')",
    "sortBy": ".sortBy(x, x)",
    "maps as keys": ".map(x, {x: x})",
    "maps as keys of an empty list": ".filter(x, false).map(x, {x: x})",
}


@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_is_compiled_in_time_as_it_is_long(chain):
    assert compile_expression(f"self.list{CHAINS[chain] * 30}.size() > 0", {"self": SELF}).result == types.BOOL


def test_a_chain_of_maps_is_compiled_in_time_as_it_is_long():
    text = f"self.map{'.transformMap(k, v, v)' * 30}.size() > 0"
    assert compile_expression(text, {"self": SELF}).result == types.BOOL


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("[1e308, 1e308].sum()", math.inf),
        ("string([double('inf'), double('-inf')].sum())", "NaN"),
        ("[0.1, 0.2].sum() < 0.4", True),
        ("isSemver('1.0.0-' + '9'.replace('9', self.s))", False),
        ("isSemver('1.0.0-9')", True),
        ("quantity('1e400').asApproximateFloat()", math.inf),
        ("quantity('-1e400').asApproximateFloat()", -math.inf),
    ],
)
def test_numbers_that_are_too_big_for_python_have_a_value(text, result):
    assert value(text, s="9" * 5000) == result


def test_of_many_problems_the_first_hundred_are_told():
    with pytest.raises(CelError) as caught:
        compile_expression(" && ".join(["x"] * 150), {})
    lines = caught.value.message.split("\n")
    assert len([line for line in lines if line.startswith("ERROR")]) == 100
    assert lines[-1] == "50 more errors were truncated"


def test_a_line_that_is_very_long_is_not_shown_with_each_problem():
    with pytest.raises(CelError) as caught:
        compile_expression(f"x == '{'y' * 20_000}'", {})
    assert caught.value.message == "ERROR: <input>:1:1: undeclared reference to 'x' (in container '')"
