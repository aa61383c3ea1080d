"""Quantities against what Go's apimachinery says about the same text (k8s.io/apimachinery v0.37.2)."""

import contextlib
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muster.base.errors import MusterError, QuantityError
from muster.base.quantity import amount, milli, nanos, show, show_bytes, show_milli, whole

MAX = 2**63 - 1
MIN = -(2**63)
INT64 = st.integers(MIN, MAX)

# text, nanos, whole, milli
READ_AS_GO_READS = [
    ("0", 0, 0, 0),
    ("1", 1000000000, 1, 1000),
    ("2", 2000000000, 2, 2000),
    ("-1", -1000000000, -1, -1000),
    ("+1", 1000000000, 1, 1000),
    ("007", 7000000000, 7, 7000),
    ("0.5", 500000000, 1, 500),
    (".5", 500000000, 1, 500),
    ("5.", 5000000000, 5, 5000),
    ("-.5", -500000000, -1, -500),
    ("+.5", 500000000, 1, 500),
    ("1.5", 1500000000, 2, 1500),
    ("-1.5", -1500000000, -2, -1500),
    ("100m", 100000000, 1, 100),
    ("1500m", 1500000000, 2, 1500),
    ("-1500m", -1500000000, -2, -1500),
    ("1m", 1000000, 1, 1),
    ("0.1m", 100000, 1, 1),
    ("1u", 1000, 1, 1),
    ("1n", 1, 1, 1),
    ("0.1n", 1, 1, 1),
    ("0.5n", 1, 1, 1),
    ("1.5n", 2, 1, 1),
    ("0.0000000001", 1, 1, 1),
    ("1.0000000001", 1000000001, 2, 1001),
    ("1.0000000015", 1000000002, 2, 1001),
    ("1k", 1000000000000, 1000, 1000000),
    ("1M", 1000000000000000, 1000000, 1000000000),
    ("1G", 1000000000000000000, 1000000000, 1000000000000),
    ("1T", 1000000000000000000000, 1000000000000, 1000000000000000),
    ("1P", 1000000000000000000000000, 1000000000000000, 1000000000000000000),
    ("1Ki", 1024000000000, 1024, 1024000),
    ("1Mi", 1048576000000000, 1048576, 1048576000),
    ("1Gi", 1073741824000000000, 1073741824, 1073741824000),
    ("1Ti", 1099511627776000000000, 1099511627776, 1099511627776000),
    ("1Pi", 1125899906842624000000000, 1125899906842624, 1125899906842624000),
    ("0.5Ki", 512000000000, 512, 512000),
    ("1.5Ki", 1536000000000, 1536, 1536000),
    ("1.5Gi", 1610612736000000000, 1610612736, 1610612736000),
    (".5Gi", 536870912000000000, 536870912, 536870912000),
    ("1.Gi", 1073741824000000000, 1073741824, 1073741824000),
    ("5.Ki", 5120000000000, 5120, 5120000),
    ("0.1Ki", 102400000000, 103, 102400),
    ("0.3Ki", 307200000000, 308, 307200),
    ("0.0001Ki", 102400000, 1, 103),
    ("1.1Mi", 1153433600000000, 1153434, 1153433600),
    ("1e3", 1000000000000, 1000, 1000000),
    ("1E3", 1000000000000, 1000, 1000000),
    ("1e+3", 1000000000000, 1000, 1000000),
    ("1e-3", 1000000, 1, 1),
    ("1E-3", 1000000, 1, 1),
    ("1e0", 1000000000, 1, 1000),
    ("1e00", 1000000000, 1, 1000),
    ("1e-9", 1, 1, 1),
    ("1e-10", 1, 1, 1),
    ("1.5e3", 1500000000000, 1500, 1500000),
    ("1.5e-1", 150000000, 1, 150),
    ("12e6", 12000000000000000, 12000000, 12000000000),
    ("1e-100", 1, 1, 1),
    ("1E+06", 1000000000000000, 1000000, 1000000000),
    ("9223372036854775807m", 9223372036854775807000000, 9223372036854776, MAX),
    (".1234567890123456789", 123456790, 1, 124),
    ("0.123456789", 123456789, 1, 124),
    ("0.1234567891", 123456790, 1, 124),
    ("100000000000000000000n", 100000000000000000000, 100000000000, 100000000000000),
    ("0e3", 0, 0, 0),
    ("0Ki", 0, 0, 0),
    ("-0", 0, 0, 0),
    ("+0", 0, 0, 0),
    ("0.0", 0, 0, 0),
    ("00", 0, 0, 0),
    ("0.", 0, 0, 0),
    ("-0.0001", -100000, -1, -1),
    ("-1.5Ki", -1536000000000, -1536, -1536000),
    ("-0.5", -500000000, -1, -500),
    ("-100m", -100000000, -1, -100),
    ("-1u", -1000, -1, -1),
    ("-1n", -1, -1, -1),
    ("3.7", 3700000000, 4, 3700),
    ("-3.7", -3700000000, -4, -3700),
    ("00000000000000000001.5Gi", 1610612736000000000, 1610612736, 1610612736000),
    ("263842948Ki", 270175178752000000000, 270175178752, 270175178752000),
    ("16777216.0005Mi", 17592186044940288000000, 17592186044941, 17592186044940288),
]

REFUSED_AS_GO_REFUSES = [
    "1e9223372036854775808",
    "Pi",
    "Ei",
    "-.Ei",
    "e",
    "",
    "1K",
    "NaN",
    "nan",
    "inf",
    "Infinity",
    " 1",
    "1 ",
    "1_000",
    "1e",
    "1E+",
    "1e+",
    "1e-",
    "1e1.5",
    "1.2.3",
    "1..2",
    "--1",
    "+-1",
    "1-",
    "1+",
    "1ki",
    "1KI",
    "1kI",
    "1mi",
    "1Mi3",
    "1KiB",
    "1B",
    "1Kb",
    "1GB",
    "1g",
    "1t",
    "1p",
    "1e3k",
    "1k3",
    "1m3",
    "1ee3",
    "1eE3",
    "1Ke3",
    "1i",
    "1Zi",
    "1Y",
    "1,000",
    "0x10",
    "1e0x3",
    "1e 3",
    "1 Ki",
    "abc",
    "1a",
    "\u0661",
    "1\n",
    "1\t",
    "1e1_0",
    "µ",
    "1µ",
    "1U",
    "1N",
    "1ni",
    "1ui",
    "1Eie",
    "1Ei3",
    "1E1E",
    "1+3",
    "1-3",
    "1e--3",
    "$1",
    "1%",
    "½",
    "∞",
    "1e³",
]

# text, nanos, (whole, milli), what Go has for (whole, milli)
GO_OVERFLOWS = [
    ("1E", 1000000000000000000000000000, (1000000000000000000, MAX), (1000000000000000000, 0)),
    ("9E", 9000000000000000000000000000, (9000000000000000000, MAX), (9000000000000000000, 0)),
    ("10E", 10000000000000000000000000000, (MAX, MAX), (0, 0)),
    ("100E", 100000000000000000000000000000, (MAX, MAX), (0, 0)),
    ("-10E", -10000000000000000000000000000, (MIN, MIN), (0, 0)),
    ("1Ei", 1152921504606846976000000000, (1152921504606846976, MAX), (1152921504606846976, MIN)),
    ("7Ei", 8070450532247928832000000000, (8070450532247928832, MAX), (8070450532247928832, MIN)),
    ("8Ei", 9223372036854775807000000000, (MAX, MAX), (MAX, -1000)),
    ("-8Ei", -9223372036854775807000000000, (-9223372036854775807, MIN), (-9223372036854775807, 1000)),
    ("100Ei", 9223372036854775807000000000, (MAX, MAX), (MAX, -1000)),
    ("1e18", 1000000000000000000000000000, (1000000000000000000, MAX), (1000000000000000000, 0)),
    ("1e19", 10000000000000000000000000000, (MAX, MAX), (0, 0)),
    ("1e21", 1000000000000000000000000000000, (MAX, MAX), (0, 0)),
    ("-1e21", -1000000000000000000000000000000, (MIN, MIN), (0, 0)),
    ("1e100", 10**109, (MAX, MAX), (0, 0)),
    ("9223372036854775807", 9223372036854775807000000000, (MAX, MAX), (MAX, -1000)),
    ("9223372036854775808", 9223372036854775808000000000, (MAX, MAX), (MIN, 0)),
    ("-9223372036854775808", -9223372036854775808000000000, (MIN, MIN), (0, 0)),
    ("-9223372036854775809", -9223372036854775809000000000, (MIN, MIN), (-1, -1000)),
    ("18446744073709551616", 18446744073709551616000000000, (MAX, MAX), (0, 0)),
    (
        "123456789012345678901234567890",
        123456789012345678901234567890000000000,
        (MAX, MAX),
        (-4362896299872285998, 8982045596877734992),
    ),
    (
        "1234567890123456789.",
        1234567890123456789000000000,
        (1234567890123456789, MAX),
        (1234567890123456789, -1363962815083169272),
    ),
    (
        "999999999999999999",
        999999999999999999000000000,
        (999999999999999999, MAX),
        (999999999999999999, 3875820019684211736),
    ),
    (
        "9999999999999999999m",
        9999999999999999999000000,
        (10000000000000000, MAX),
        (10000000000000000, -8446744073709551617),
    ),
    ("9223372036854775.807k", 9223372036854775807000000000, (MAX, MAX), (MAX, -1000)),
    ("9007199254740993Ki", 9223372036854775807000000000, (MAX, MAX), (MAX, -1000)),
    ("9223372036854775807Ki", 9223372036854775807000000000, (MAX, MAX), (MAX, -1000)),
]

# the same columns
GO_MISCOUNTS_BELOW_ZERO = [
    ("-0.1n", -1, (-1, -1), (1, 1)),
    ("-1.5n", -2, (-1, -1), (1, 1)),
    ("-1.0000000001", -1000000001, (-2, -1001), (0, -999)),
    ("-1.5000000001", -1500000001, (-2, -1501), (0, -1499)),
    ("-0.1Ki", -102400000000, (-103, -102400), (-101, -102400)),
    (
        "-221378Gi",
        -237702817513472000000000,
        (-237702817513472, -237702817513472000),
        (1926620350, 1926620349283),
    ),
]

GO_READS_AS_ZERO = [
    "+",
    "-",
    ".",
    "+.",
    "-.",
    "Ki",
    "Mi",
    "Gi",
    "Ti",
    "m",
    "k",
    "E",
    "e3",
    "E3",
    ".Ki",
    "+m",
    "n",
]


@pytest.mark.parametrize(("text", "in_nanos", "in_ones", "in_milli"), READ_AS_GO_READS)
def test_a_quantity_is_the_number_that_go_reads(text, in_nanos, in_ones, in_milli):
    assert (nanos(text), whole(text), milli(text)) == (in_nanos, in_ones, in_milli)


@pytest.mark.parametrize("text", REFUSED_AS_GO_REFUSES)
def test_what_go_refuses_is_refused(text):
    with pytest.raises(QuantityError):
        nanos(text)


@pytest.mark.parametrize(("text", "in_nanos", "ours", "in_go"), GO_OVERFLOWS)
def test_where_go_overflows_we_stop_at_the_end_of_64_bits(text, in_nanos, ours, in_go):
    assert nanos(text) == in_nanos
    assert (whole(text), milli(text)) == ours != in_go


@pytest.mark.parametrize(("text", "in_nanos", "ours", "in_go"), GO_MISCOUNTS_BELOW_ZERO)
def test_where_go_miscounts_a_negative_number_we_round_away_from_zero(text, in_nanos, ours, in_go):
    assert nanos(text) == in_nanos
    assert (whole(text), milli(text)) == ours != in_go


@pytest.mark.parametrize("text", GO_READS_AS_ZERO)
def test_a_quantity_without_digits_is_refused_though_go_reads_zero(text):
    with pytest.raises(QuantityError, match="no digits"):
        nanos(text)


# Go reads these as 1 nano, as what is left after a 32-bit wrap-around, or only after minutes.
@pytest.mark.parametrize("text", ["1e1001", "1e-1001", "1e4294967299", "1e-2147483648", "1" * 1001])
def test_a_number_out_of_all_proportion_is_refused_at_once(text):
    with pytest.raises(QuantityError, match=r"too long|out of range"):
        nanos(text)


def test_the_widest_numbers_allowed_are_exact():
    assert nanos("1e1000") == 10**1009
    assert nanos("1e-1000") == 1
    assert nanos("9" * 1000) == (10**1000 - 1) * 10**9


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2, "2"),
        (-3, "-3"),
        (0, "0"),
        (0.5, "0.5"),
        (1.5, "1.5"),
        (1e22, "1e22"),
        (1e-05, "1e-5"),
        (-0.0, "0"),
    ],
)
def test_a_number_without_quotes_is_read_as_json_spells_it(number, text):
    assert nanos(number) == nanos(text)


@pytest.mark.parametrize("value", [True, False, None, [], b"1", float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_refused(value):
    nanos(1), nanos(0)  # equal to True and False, so a cache that is not careful would answer for them
    with pytest.raises(QuantityError):
        nanos(value)


def test_true_and_false_are_refused_by_their_type():
    with pytest.raises(QuantityError, match="type='bool'"):
        nanos(True)


def test_an_error_is_one_line_that_quotes_the_text_and_says_what_to_write():
    with pytest.raises(QuantityError) as caught:
        milli("1\nK")
    line = "not a quantity (text='1\\nK'); write a number and at most one suffix, like 2, 500m, 1.5Gi or 1e3"
    assert str(caught.value) == line
    assert isinstance(caught.value, MusterError)
    assert isinstance(caught.value, ValueError)


def test_cpu_is_kept_in_thousandths_and_everything_else_in_ones():
    assert amount("cpu", "1.5") == 1500
    assert amount("memory", "1.5Gi") == 1_610_612_736
    assert amount("nvidia.com/gpu", 4) == 4
    assert amount("pods", "110") == 110


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (2000, "2"), (500, "500m"), (1500, "1500m"), (1, "1m"), (-2000, "-2"), (-1500, "-1500m")],
)
def test_thousandths_are_shown_plain_where_whole(value, text):
    assert show_milli(value) == text


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0"),
        (100, "100"),
        (1000, "1000"),
        (1023, "1023"),
        (1024, "1Ki"),
        (1025, "1025"),
        (1536, "1.5Ki"),
        (2**29, "512Mi"),
        (3 * 2**29, "1.5Gi"),
        (5 * 2**28, "1280Mi"),
        (32 * 2**30, "32Gi"),
        (270_175_178_752, "251.6Gi"),
        (1_000_000_000, "953.7Mi"),
        (1065 * 2**20, "1065Mi"),
        (1024 * 2**30, "1Ti"),
        (7 * 2**60, "7Ei"),
        (-3 * 2**29, "-1.5Gi"),
        (MAX, "8Ei"),
    ],
)
def test_bytes_are_shown_exactly_where_that_takes_few_digits(n, text):
    assert show_bytes(n) == text


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 2000, "2 cpu"),
        ("cpu", 500, "500m cpu"),
        ("memory", 32 * 2**30, "32Gi memory"),
        ("ephemeral-storage", 2**20, "1Mi ephemeral-storage"),
        ("hugepages-2Mi", 2**30, "1Gi hugepages-2Mi"),
        ("nvidia.com/gpu", 4, "4 nvidia.com/gpu"),
        ("pods", 1024, "1024 pods"),
    ],
)
def test_an_amount_is_shown_with_its_resource(resource, value, text):
    assert show(resource, value) == text


@given(INT64)
@example(MAX)
@example(MIN + 1)
def test_thousandths_shown_are_read_back_the_same(value):
    assert milli(show_milli(value)) == value


# -2**63 is -8Ei, which a binary suffix caps.
@given(st.integers(-MAX, MAX) | st.builds(lambda n, bits: n << bits, st.integers(0, 7), st.integers(0, 60)))
def test_bytes_shown_are_read_back_about_the_same(n):
    assert whole(show_bytes(n)) == pytest.approx(n, rel=0.05)


@given(st.sampled_from(["cpu", "example.com/nic"]), st.integers(-MAX, MAX))
def test_an_amount_shown_is_read_back_the_same(resource, value):
    text, name = show(resource, value).split(" ")
    assert (name, amount(resource, text)) == (resource, value)


@given(st.integers())
def test_nanos_shown_as_nanos_are_read_back_the_same(value):
    assert nanos(f"{value}n") == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=12, min_value=-(10**12), max_value=10**12))
def test_rounding_is_away_from_zero_and_by_less_than_one_unit(number):
    text = f"{number:f}"
    for read, unit in ((nanos(text), 10**9), (milli(text), 1000), (whole(text), 1)):
        assert 0 <= abs(read) - abs(number) * unit < 1
        assert read * number >= 0


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_what_its_json_text_is(number):
    assert nanos(number) == nanos(json.dumps(number))


@given(st.text(alphabet="0123456789.+-eEinumkKMGTP _x", max_size=8))
def test_any_text_is_read_or_refused_in_our_own_words(text):
    with contextlib.suppress(QuantityError):
        assert isinstance(nanos(text), int)
