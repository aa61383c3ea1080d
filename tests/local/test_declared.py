"""The machine that checks what is declared of fields."""

from __future__ import annotations

from muster.local.checks import names
from muster.local.kinds import declared
from muster.local.kinds.declared import Rule, Rules
from tests.local.answers import said

ITEM = Rules({"name": Rule(required=True, problems=names.short_name_problems), "size": Rule(pointer=True, least=1)})
RULES = Rules(
    {
        "kind": Rule(immutable=True, one_of=("b", "a")),
        "items": Rule(most_items=3, fixed_items=True, key="name", inside=ITEM),
        "either": Rule(pointer=True, no_set=True, inside=ITEM),
        "or": Rule(pointer=True),
    },
    union=("either", "or"),
)


def wrong(new, old=None):
    return said(declared.errors(RULES, "spec", new, old))


def test_what_is_in_order_is_left_alone():
    assert wrong({"or": 1, "kind": "a", "items": [{"name": "x", "size": 1}]}) == []


def test_each_value_is_checked_by_its_rule():
    given = {"or": 1, "kind": "c", "items": [{"name": "X"}, {"size": 0}]}
    assert wrong(given) == [
        'spec.kind: Unsupported value: "c": supported values: "a", "b"',
        f'spec.items[0].name: Invalid value: "X": {names.short_name_problems("X")[0]}',
        "spec.items[1].name: Required value",
        "spec.items[1].size: Invalid value: 0: must be greater than or equal to 1",
    ]


def test_exactly_one_member_of_a_union_is_set():
    assert wrong({}) == ['spec: Invalid value: "": must specify one of: `either`, `or`']
    both = {"either": {"name": "x"}, "or": 0}
    assert wrong(both) == ['spec: Invalid value: "{either, or}": must specify exactly one of: `either`, `or`']


def test_too_many_items_are_not_looked_at():
    assert wrong({"or": 1, "items": [{}] * 4}) == ["spec.items: Too many: 4: must have at most 3 items"]


def test_items_with_the_same_key_are_shown_in_order_of_their_fields():
    given = {"or": 1, "items": [{"name": "x"}, {"size": 2, "name": "x"}]}
    assert wrong(given) == ['spec.items[1]: Duplicate value: {"name":"x","size":2}']


def test_what_did_not_change_is_not_looked_at_again():
    old = {"kind": "c", "items": [{"name": "X"}], "or": 1}
    assert wrong(old, old) == []
    assert wrong({**old, "or": 2}, old) == []


def test_what_may_not_change_is_not_looked_into():
    assert wrong({"or": 1, "kind": "c"}, {"or": 1}) == ["spec.kind: Invalid value: null: field is immutable"]


def test_what_was_there_stays_and_what_was_not_does_not_come():
    with_it, without = {"either": {"name": "x"}}, {"or": 1}
    assert wrong(without, with_it) == ["spec.either: Invalid value: null: field cannot be cleared once set"]
    assert wrong(with_it, without) == ["spec.either: Invalid value: null: field cannot be set once created"]
    assert wrong({"either": {"name": "y"}}, with_it) == []


def test_items_change_but_do_not_come_or_go():
    old = {"or": 1, "items": [{"name": "x"}, {"name": "y"}]}
    assert wrong({"or": 1, "items": [{"name": "y", "size": 5}, {"name": "x"}]}, old) == []
    assert wrong({"or": 1, "items": [{"name": "x"}, {"name": "z"}]}, old) == [
        "spec.items[1]: Forbidden: item may not be added",
        "spec.items: Forbidden: item may not be removed",
    ]
    assert wrong({"or": 1}, old) == ["spec.items: Forbidden: item may not be removed"] * 2
