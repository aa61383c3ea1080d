"""Values as Go writes them; the right-hand sides were printed by Go 1.26."""

import pytest

from muster.local.codec.gotext import compact_json, quoted, shown


@pytest.mark.parametrize(
    ("value", "verb_v", "encoded"),
    [
        (1.0, "1", "1"),
        (1.5, "1.5", "1.5"),
        (1e20, "1e+20", "100000000000000000000"),
        (1e21, "1e+21", "1e+21"),
        (1e-5, "1e-05", "0.00001"),
        (1e-7, "1e-07", "1e-7"),
        (0.00012345, "0.00012345", "0.00012345"),
        (123456789.125, "1.23456789125e+08", "123456789.125"),
        (1e300, "1e+300", "1e+300"),
        (5e-324, "5e-324", "5e-324"),
        (2.5e-6, "2.5e-06", "0.0000025"),
        (-1.5, "-1.5", "-1.5"),
        (12345678, "12345678", "12345678"),
        (True, "true", "true"),
        (None, "<nil>", "null"),
        ("a b", "a b", '"a b"'),
        ({"b": [1, "x", None], "a": {}}, "map[a:map[] b:[1 x <nil>]]", '{"a":{},"b":[1,"x",null]}'),
    ],
)
def test_values_as_go_prints_and_encodes_them(value, verb_v, encoded):
    assert shown(value) == verb_v
    assert compact_json(value) == encoded


def test_json_is_harmless_in_a_page():
    text = '<\x7f\u2028\x01\b\f\n\t\r\\"/é😀&'
    assert compact_json({"a": text}) == '{"a":"\\u003c\x7f\\u2028\\u0001\\b\\f\\n\\t\\r\\\\\\"/é😀\\u0026"}'


@pytest.mark.parametrize(
    ("text", "shown_as"),
    [
        ("it's", '"it\'s"'),
        ('a"b\\', r'"a\"b\\"'),
        ("\x00\x1b\x7f\u00a0é\u200b😀\ufeff\a\v", r'"\x00\x1b\x7f\u00a0é\u200b😀\ufeff\a\v"'),
        ("\U000e0001", r'"\U000e0001"'),
    ],
)
def test_strings_in_quotes(text, shown_as):
    assert quoted(text) == shown_as
