import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.local.codec import syntax, values, yamltext
from muster.local.codec.forms import Malformed
from muster.local.schema.decoding import BadBody, GroupVersionKind, decode, parse, read_body
from tests.local import schema_answers as answers
from tests.local.schema_tables import answered, pairs, shape_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab:"\\\\é'), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(("text", "_"), pairs(answers.MALFORMED))
def test_what_is_no_json_is_refused(text, _):
    with pytest.raises(syntax.NoJson):
        parse(json.loads(text).encode())


@given(VALUES, st.sampled_from([(",", ":"), (", ", ": "), (" ,", " : ")]))
def test_quick_and_exact_readers_agree_and_see_no_repeated_keys(value, separators):
    body = json.dumps(value, separators=separators, ensure_ascii=False).encode()
    assert values.plain(syntax.tree(body)) == syntax.quick(body) == value
    assert not syntax.has_duplicates(body, value)


@pytest.mark.parametrize(
    "body",
    [
        '{"a":1,"a":2}',
        '{"a":{"b":1,"b":1}}',
        '[{"a":1,"a":[]}]',
        '{"a":"\\u003a","b":":","b":""}',
        '{"\\u0061":1,"a":2}',
    ],
)
def test_repeated_keys_are_seen(body):
    assert syntax.has_duplicates(body.encode(), json.loads(body))


def test_bytes_that_are_no_utf8_are_replaced_one_by_one():
    tree = syntax.tree(b'{"a":"x\xff\xfe","b":"\\ud800","c":"\\ud83d\\ude00"}')
    assert values.plain(tree) == {"a": "x\ufffd\ufffd", "b": "\ufffd", "c": "😀"}


def test_numbers_are_integers_or_floats():
    assert syntax.tree(b"[1.0,1e3,-0,9223372036854775808]") == [1.0, 1000.0, 0, 9223372036854775808]
    with pytest.raises(syntax.NoJson):
        parse(b"[1e999]")
    with pytest.raises(syntax.NoJson):
        parse(b"[" + b"9" * 5000 + b"]")


def test_what_is_too_deep_is_refused():
    with pytest.raises(syntax.NoJson, match="exceeded max depth"):
        parse(b"[" * 20_000 + b"]" * 20_000)
    with pytest.raises(Malformed, match="exceeded max depth"):
        parse(b"[" * 3_000 + b"]" * 3_000, "application/yaml")


@pytest.mark.parametrize(("text", "answer"), pairs(answers.YAML_SCALARS))
def test_scalars_of_yaml_have_the_types_that_go_gives_them(text, answer):
    body = json.loads(text).encode()
    if answer.startswith("!"):
        with pytest.raises(Malformed):
            parse(body, "application/yaml")
        return
    decoded = decode(parse(body, "application/yaml"), shape_of("v1", "Pod"))
    assert decoded.value["metadata"]["managedFields"][0].get("fieldsV1") == json.loads(answer)


@pytest.mark.parametrize(("text", "answer"), pairs(answers.YAML))
def test_yaml_is_read_as_the_real_server_reads_it(text, answer):
    error, value, strict = answered(answer)
    if error:
        with pytest.raises(BadBody):
            as_config_map(json.loads(text))
        return
    decoded = as_config_map(json.loads(text))
    # Go puts a heading over what is wrong with YAML
    told = [line.removeprefix("yaml: unmarshal errors:\n  ") for line in strict]
    assert (decoded.value, decoded.strict) == (value, told)


def as_config_map(text):
    shape = shape_of("v1", "ConfigMap")
    return read_body(
        text.encode(), GroupVersionKind("", "v1", "ConfigMap"), shape=shape, content_type="application/yaml"
    )


def test_a_text_of_aliases_does_not_grow_without_end():
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(Malformed, match="excessive aliasing"):
        yamltext.load("\n".join(lines).encode())


def test_repeated_keys_of_yaml_are_told_one_by_one():
    _, strict = yamltext.load(b"a: 1\na: 2\nb: 3\nb: 4\n")
    assert strict == ('line 2: key "a" already set in map', 'line 4: key "b" already set in map')
