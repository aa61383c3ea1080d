"""Cells of custom kinds as a real kube-apiserver 1.37.1 gave them for this object."""

from __future__ import annotations

import pytest

from muster.api.times import stamp
from muster.local.kinds.kind import Column
from muster.local.kinds.tables import custom

NOW = 1_800_000_000.0

THING = {
    "metadata": {"name": "t", "creationTimestamp": stamp(NOW - 90)},
    "spec": {
        "text": "word",
        "empty": "",
        "null": None,
        "yes": True,
        "no": False,
        "n": 3,
        "i": 12345678901,
        "f": 2.5,
        "neg": -0.25,
        "small": 0.0001234,
        "smaller": 0.00001234,
        "large": 100000.5,
        "larger": 1234567.5,
        "huge": 10**19,
        "vast": 1e21,
        "floats": [1e19, 1.5e-7, 0.00001, 1e21, 0.1, -2.5, 123456789.5],
        "list": [1, "two", {"b": 1, "a": "<&>"}],
        "map": {"b": 1, "a": [1.5]},
        "nested": {"x": {"y": "deep"}},
        "dotted.key": "d",
        "one": [{"v": "only"}],
        "bools": [{"on": True, "v": "t"}, {"on": False, "v": "f"}],
        "conditions": [
            {"type": "A", "status": "True", "n": 1},
            {"type": "Ready", "status": "False", "n": 2},
            {"type": "Ready", "status": "Second", "n": 3},
        ],
        "when": "2026-03-03T00:00:00Z",
        "fraction": "2026-03-03T00:00:00.5+02:00",
        "yesterday": "yesterday",
        "day": "2026-01-01",
        "leap": "2026-02-30T00:00:00Z",
    },
}

STRINGS = [
    (".spec.text", "word"),
    (".spec.empty", ""),
    (".spec.null", "<no value>"),
    (".spec.yes", "true"),
    (".spec.no", "false"),
    (".spec.n", "3"),
    (".spec.i", "12345678901"),
    (".spec.f", "2.5"),
    (".spec.neg", "-0.25"),
    (".spec.small", "0.0001234"),
    (".spec.smaller", "1.234e-05"),
    (".spec.large", "100000.5"),
    (".spec.larger", "1.2345675e+06"),
    (".spec.huge", "1e+19"),
    (".spec.vast", "1e+21"),
    (".spec.floats", "[10000000000000000000,1.5e-7,0.00001,1e+21,0.1,-2.5,123456789.5]"),
    (".spec.list", '[1,"two",{"a":"\\u003c\\u0026\\u003e","b":1}]'),
    (".spec.map", '{"a":[1.5],"b":1}'),
    (".spec.when", "2026-03-03T00:00:00Z"),
    (".spec.missing", None),
    (".spec.missing.deeper", None),
    (".spec.text.deeper", None),
    (".spec.null.x", None),
    (".spec.nested.x.y", "deep"),
    (".spec['nested'].x['y']", "deep"),
    (".spec.dotted\\.key", "d"),
    (".spec['dotted.key']", None),
    (".spec['dotted\\.key']", "d"),
    (".spec .text", "word"),
    (".", None),
    (".metadata.name", "t"),
    ("..text", "word"),
    (".spec.conditions..type", "A"),
    (".spec..a..b", None),
    (".spec.nested.*.y", "deep"),
    (".spec.list[0]", "1"),
    (".spec.list[1]", "two"),
    (".spec.list[2].a", "<&>"),
    (".spec.list[-1]", '{"a":"\\u003c\\u0026\\u003e","b":1}'),
    (".spec.list[7]", None),
    (".spec.list[-7]", None),
    (".spec.list[0:2]", "1"),
    (".spec.list[1:]", "two"),
    (".spec.list[*]", "1"),
    (".spec.list[1,0]", "two"),
    (".spec.list[0:0]", None),
    (".spec.list[::2]", "1"),
    (".spec.list.0", None),
    (".spec.text[0]", None),
    (".spec.map[0]", None),
    (".spec.null[0]", None),
    (".spec.missing[0]", None),
    (".spec[]", None),
    (".spec.one[*].v", "only"),
    (".spec.conditions[*].type", "A"),
    ('.spec.conditions[?(@.type=="Ready")].status', "False"),
    (".spec.conditions[?(@.type=='Ready')].status", "False"),
    ('.spec.conditions[?(@.type == "Ready")].status', "False"),
    ('.spec.conditions[?(@.type=="None")].status', None),
    ('.spec.conditions[?(@.type=="Rea\\"dy")].status', None),
    ('.spec.conditions[?(@.type=="Ready")]', '{"n":2,"status":"False","type":"Ready"}'),
    ('.spec.conditions[?(@.type=="Ready")].n', "2"),
    ('.spec.conditions[?(@.type!="A")].status', "False"),
    (".spec.conditions[?(@.type<'B')].type", "A"),
    (".spec.conditions[?(@.n>1)].type", "Ready"),
    (".spec.conditions[?(@.n>=3)].status", "Second"),
    (".spec.conditions[?(@.n==1)].type", "A"),
    (".spec.conditions[?(@.n==1.0)].type", None),
    (".spec.conditions[?(@.n<'x')].type", None),
    (".spec.conditions[?(@.status)].type", "A"),
    (".spec.conditions[?(@.nope)].type", None),
    ('.spec.conditions[?(@.nope=="x")].type', None),
    (".spec.conditions[?(@.type==@.type)].type", "A"),
    (".spec.conditions[?()]", '{"n":1,"status":"True","type":"A"}'),
    (".spec.bools[?(@.on==true)].v", "t"),
    (".spec.bools[?(@.on==false)].v", "f"),
    (".spec.bools[?(@.on>false)].v", None),
    ('.spec.text[?(@.x=="y")]', None),
    ('.spec.missing[?(@.x=="y")].z', None),
]

TYPED = [
    ("integer", ".spec.n", 3),
    ("integer", ".spec.f", 2),
    ("integer", ".spec.vast", -(2**63)),
    ("integer", ".spec.yes", None),
    ("integer", ".spec.text", None),
    ("integer", ".spec.null", None),
    ("integer", ".spec.list", None),
    ("integer", '.spec.conditions[?(@.type=="Ready")].n', 2),
    ("number", ".spec.n", 3),
    ("number", ".spec.f", 2.5),
    ("number", ".spec.i", 12345678901),
    ("number", ".spec.vast", 1e21),
    ("number", ".spec.yes", None),
    ("number", ".spec.text", None),
    ("boolean", ".spec.yes", True),
    ("boolean", ".spec.no", False),
    ("boolean", ".spec.n", None),
    ("boolean", ".spec.text", None),
    ("date", ".spec.when", "318d"),
    ("date", ".spec.fraction", "318d"),
    ("date", ".spec.yesterday", "<invalid>"),
    ("date", ".spec.day", "<invalid>"),
    ("date", ".spec.leap", "<invalid>"),
    ("date", ".spec.empty", "<unknown>"),
    ("date", ".spec.null", None),
    ("date", ".spec.missing", None),
    ("date", ".spec.n", None),
    ("date", ".metadata.creationTimestamp", "90s"),
]

NOT_UNDERSTOOD = [
    '.spec.map["b"]',
    ".spec.list[x]",
    ".spec.list[",
    ".spec.list[?]",
    '.spec.conditions[?(@.type=="x"].y',
    ".spec.conditions[?(@.type=='x')",
    '.spec.conditions[?(@.type=~"R")].type',
]


def column(path, kind="string", name="c", **fields):
    return {"name": name, "type": kind, "jsonPath": path, **fields}


def cell(kind, path):
    return custom([column(path, kind)]).cells(THING, NOW)[1]


@pytest.mark.parametrize(("path", "text"), STRINGS)
def test_a_column_of_strings_shows_anything(path, text):
    assert cell("string", path) == text


@pytest.mark.parametrize(("kind", "path", "value"), TYPED)
def test_a_column_of_another_type_shows_what_is_of_it(kind, path, value):
    shown = cell(kind, path)
    assert shown == value
    assert type(shown) is type(value)


@pytest.mark.parametrize("path", NOT_UNDERSTOOD)
def test_columns_end_before_a_path_that_is_not_understood(path):
    table = custom([column(".spec.text"), column(path), column(".spec.n")])
    assert [one.name for one in table.columns] == ["Name", "c"]
    assert table.cells(THING, NOW) == ["t", "word"]


def test_columns_keep_format_and_priority():
    table = custom([column(".spec.n", "integer", name="N", format="int32", priority=1, description="of no use")])
    assert table.columns == (Column("Name", format="name"), Column("N", "integer", "int32", 1))


@pytest.mark.parametrize("columns", [[], ()])
def test_without_columns_there_are_name_and_age(columns):
    table = custom(columns)
    assert table.columns == (Column("Name", format="name"), Column("Age", type="date"))
    assert table.cells(THING, NOW) == ["t", "90s"]
