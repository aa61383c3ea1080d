"""Manifests in and out: what kubectl reads from what is printed is what it read before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.app.manifests import parse, read, to_yaml
from muster.base.errors import ConfigError

BOMB = "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 30))


def one(text):
    (document,) = parse(text, file="f.yaml")
    return document.data


@pytest.mark.parametrize(
    ("written", "value"),
    [
        # Kubernetes' reader, not PyYAML's: YAML 1.1 without base 60 and without dates
        ("1e3", 1000.0),
        ("0777", 511),
        ("0o17", 15),
        ("-0X1f", -31),
        ("0B11", 3),
        ("08", 8.0),
        ("1_000", 1000),
        ("y", True),
        ("off", False),
        ("12:30", "12:30"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("~", None),
        ("100m", "100m"),
        ("1.5Gi", "1.5Gi"),
    ],
)
def test_scalars_are_what_they_are_to_kubernetes(written, value):
    assert one(f"a: {written}") == {"a": value}


@pytest.mark.parametrize(
    "text",
    [
        "y",
        "n",
        "1e3",
        "0777",
        "0o17",
        "0O17",
        "08",
        "true",
        "null",
        "~",
        "",
        "1_000",
        ".5",
        "+1",
        "0x1F",
        "12:30",
        "2026-01-01",
    ],
)
def test_texts_that_look_like_something_else_are_quoted(text):
    assert to_yaml([{"a": text}]) == f'a: "{text}"\n'


def test_lines_are_written_as_lines():
    assert to_yaml([{"a": "one\ntwo\n"}]) == "a: |\n  one\n  two\n"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_what_is_written_is_read_as_it_was(value):
    assert one(to_yaml([{"a": value}])) == {"a": value}


def test_documents_are_counted_as_they_stand_and_empty_ones_left_out():
    found = parse("a: 1\n---\n# nothing\n---\nb: 2\n", file="f.yaml")
    assert [(document.where, document.data) for document in found] == [
        ("f.yaml: document 1", {"a": 1}),
        ("f.yaml: document 3", {"b": 2}),
    ]


def test_json_may_stand_one_after_another():
    assert [document.data for document in parse('{"a": 1}\n{"b": "y"}', file="f.json")] == [{"a": 1}, {"b": "y"}]


def test_a_mapping_in_braces_need_not_be_json():
    assert one("{a: 1}") == {"a": 1}


def test_what_an_anchor_names_stands_in_two_places_and_is_two_things():
    data = one("x: &here {l: 1}\nz: {<<: *here, m: 2}\nw: *here\n")
    assert data == {"x": {"l": 1}, "z": {"l": 1, "m": 2}, "w": {"l": 1}}
    assert data["x"] is not data["w"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [", "f.yaml:1: not YAML: "),
        ("a: 1\na: 2", "f.yaml:2: not YAML: 'a' is given twice"),
        ("text", "f.yaml: document 1 is no Kubernetes object"),
        ("a: 1\n---\n[1]", "f.yaml: document 2 is no Kubernetes object"),
        ("a: &a [*a]", "f.yaml: too deep, or an anchor that holds itself"),
        (BOMB, "f.yaml: more than 2,000,000 values"),
    ],
)
def test_what_cannot_be_read_says_where(text, line):
    with pytest.raises(ConfigError) as raised:
        parse(text, file="f.yaml")
    assert line in str(raised.value)


def test_a_folder_gives_its_manifests_by_name(tmp_path):
    for name in ("b.yaml", "a.json", "c.yml", "d.txt"):
        (tmp_path / name).write_text(f'{{"name": "{name}"}}')
    (tmp_path / "deeper.yaml").mkdir()
    assert [document.data["name"] for document in read([str(tmp_path)])] == ["a.json", "b.yaml", "c.yml"]


def test_an_empty_folder_and_a_missing_file_are_told(tmp_path):
    with pytest.raises(ConfigError, match="holds no"):
        read([str(tmp_path)])
    with pytest.raises(ConfigError, match=r"nowhere.yaml: cannot be read: No such file"):
        read([str(tmp_path / "nowhere.yaml")])
