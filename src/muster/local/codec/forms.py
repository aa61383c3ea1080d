"""Quantities, times and base64 in the one form that Kubernetes gives them.

    quantity("1024Mi") == "1Gi"     time("2026-01-01T02:00:00+02:00") == "2026-01-01T00:00:00Z"

What cannot be read raises Malformed with the words of Go.  `muster.base.quantity` has the numbers behind quantities;
this module has their spelling.
"""

from __future__ import annotations

import base64
import re

from muster.base.caching import remembered

__all__ = ["Malformed", "from_base64", "micro_time", "quantity", "shown_time", "time"]


class Malformed(ValueError):
    """A text that Go would not read; the message is Go's."""


# --- quantities -----------------------------------------------------------------------------------

_WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_WRONG_SUFFIX = "unable to parse quantity's suffix"
_WRONG_NUMBER = "unable to parse numeric part of quantity"

_QUANTITY = re.compile(r"(?P<number>[+-]?0*([0-9]*)(?:\.([0-9]*))?)([eEinumkKMGTP]*[-+]?[0-9]*)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIX = ("", *_BINARY)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
# Go takes exponents of 32 bits, and more than a minute for some of them
_FARTHEST = 1000
_NANO = -9
_INT64_DIGITS = 18
_INT64_MAX = 2**63 - 1


# nobody has so much of anything; Python reads no number of thousands of digits
_LONGEST_QUANTITY = 256


@remembered(1 << 14)
def quantity(text: str) -> str:
    """As `Quantity` prints what it has read.  Raises Malformed."""
    text = text.strip()
    found = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST_QUANTITY else None
    if not text or found is None:
        raise Malformed(_WRONG_FORMAT)
    number, digits, fraction, suffix = found.groups(default="")
    digits = digits or "0"
    if suffix in _BINARY:
        return _binary(text, number, digits, fraction, _BINARY[suffix])
    power = _DECIMAL.get(suffix)
    if exponent := _EXPONENT.fullmatch(suffix):
        power = int(exponent[1])
    if power is None or abs(power) > _FARTHEST:
        raise Malformed(_WRONG_SUFFIX)
    scale = power - len(fraction)
    shifted = digits + fraction
    small = len(shifted) <= _INT64_DIGITS and scale >= _NANO
    if small and scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0":
        # Go takes this for the canonical form, and keeps what was written
        return text
    size, scale = _nanos_at_most(_whole(number, shifted, small=small), scale)
    return _shown_decimal(size, scale, exponents=exponent is not None)


def _binary(text: str, number: str, digits: str, fraction: str, bits: int) -> str:
    small = not fraction and 15 - len(digits) - bits * 3 // 10 - 1 >= 0
    if small and int(digits) & 7:
        return text
    size = _whole(number, digits + fraction, small=small) << bits
    size, scale = _nanos_at_most(size, -len(fraction))
    if abs(size) > _INT64_MAX * 10**-scale:
        size = (_INT64_MAX if size > 0 else -_INT64_MAX) * 10**-scale
    unit = 10**-scale
    if abs(size) < 1024 * unit or size % unit:
        return _shown_decimal(size, scale, exponents=False)
    size //= unit
    thousands = 0
    while size % 1024 == 0:
        size //= 1024
        thousands += 1
    return f"{size}{_BINARY_SUFFIX[thousands]}"


def _whole(number: str, digits: str, *, small: bool) -> int:
    if not small and not any(map(str.isdigit, number)):
        raise Malformed(_WRONG_NUMBER)
    return -int(digits) if number.startswith("-") else int(digits)


def _nanos_at_most(size: int, scale: int) -> tuple[int, int]:
    """Without what is finer than a billionth, rounded away from zero."""
    if scale >= _NANO:
        return size, scale
    rounded = -(-abs(size) // 10 ** (_NANO - scale))
    return (rounded if size > 0 else -rounded), _NANO


def _shown_decimal(size: int, scale: int, *, exponents: bool) -> str:
    if not size:
        return "0"
    while size % 10 == 0:
        size //= 10
        scale += 1
    size *= 10 ** (scale % 3)
    scale -= scale % 3
    if exponents:
        return f"{size}e{scale}" if scale else str(size)
    # beyond exa Go knows no suffix, and shows none
    return f"{size}{_DECIMAL_SUFFIX.get(scale, '')}"


# --- base64 ---------------------------------------------------------------------------------------

_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def from_base64(given: str) -> str:
    """In the one form of it.  Raises Malformed where Go does."""
    text = given.replace("\r", "").replace("\n", "")
    try:
        if len(text) % 4 == 0:
            return base64.b64encode(base64.b64decode(text, validate=True)).decode()
    except ValueError:
        pass
    raise Malformed(f"illegal base64 data at input byte {_first_illegal(given)}")


def _first_illegal(text: str) -> int:
    """Where Go stops, in bytes."""
    data = text.encode()
    places = [index for index, each in enumerate(data) if each not in b"\r\n"]
    for count, index in enumerate(places):
        if data[index] in _BASE64:
            continue
        if data[index] != ord("=") or count % 4 < 2:
            return index
        rest = places[count + 1 :]
        if count % 4 == 2:
            if not rest:
                return len(data)
            if data[rest[0]] != ord("="):
                return rest[0] - 1
            rest = rest[1:]
        return rest[0]
    return len(data) - len(places) % 4


# --- times ----------------------------------------------------------------------------------------

_SECONDS = "2006-01-02T15:04:05Z07:00"
_MICROS = "2006-01-02T15:04:05.000000Z07:00"
_PLAIN = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{6})?Z", re.ASCII
)
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAY = 86400
# the first second of year 1: Go's time that was never set
_ZERO = -62135596800


def time(text: str) -> str:
    """In UTC and whole seconds; "" for the first second of year 1, which is none.  Raises Malformed."""
    found = _PLAIN.fullmatch(text)
    if found and not found[1] and text[:4] != "0001":
        return text
    seconds, _ = _parsed(text, _SECONDS)
    return shown_time(seconds)


def micro_time(text: str) -> str:
    """In UTC and millionths of a second; "" for the first second of year 1, which is none.  Raises Malformed."""
    found = _PLAIN.fullmatch(text)
    if found and found[1] and text[:4] != "0001":
        return text
    seconds, micros = _parsed(text, _MICROS)
    return shown_time(seconds, micros=micros)


def _parsed(text: str, layout: str) -> tuple[int, int]:
    """Seconds since 1970 and millionths, by one of the two layouts, as lenient as Go's `time.Parse`."""
    return _Reader(text, layout).read()


class _Reader:
    """Reads a time part by part; the first part that does not fit is named in the error."""

    def __init__(self, text: str, layout: str) -> None:
        self.text = self.rest = text
        self.layout = layout

    def read(self) -> tuple[int, int]:
        year = self._year()
        month = self._number("-", "01", first=1, last=12, what="month")
        day = self._number("-", "02")
        hour = self._number("T", "15", last=23, what="hour", one_digit=True)
        minute = self._number(":", "04", last=59, what="minute")
        second = self._number(":", "05", last=59, what="second")
        micros = self._fraction()
        offset = self._zone()
        if self.rest:
            raise self._range_error(f"extra text: {_quoted_bytes(self.rest)}")
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        if not 1 <= day <= _DAYS[month - 1] + (leap and month == 2):
            raise self._range_error("day out of range")
        return _days(year, month, day) * _DAY + hour * 3600 + minute * 60 + second - offset, micros

    def _year(self) -> int:
        if not re.match(r"[0-9]{4}", self.rest):
            raise self._error(self.rest, "2006")
        year, self.rest = int(self.rest[:4]), self.rest[4:]
        return year

    def _number(
        self, before: str, part: str, *, first: int = 0, last: int = 99, what: str = "", one_digit: bool = False
    ) -> int:
        if not self.rest.startswith(before):
            raise self._error(self.rest, before)
        self.rest = self.rest[len(before) :]
        found = re.match(r"[0-9]{1,2}" if one_digit else r"[0-9]{2}", self.rest)
        if found is None:
            raise self._error(self.rest, part)
        self.rest = self.rest[found.end() :]
        if not first <= int(found[0]) <= last:
            raise self._range_error(f"{what} out of range")
        return int(found[0])

    def _fraction(self) -> int:
        if self.layout == _MICROS:
            found = re.match(r"[.,][0-9]{6}", self.rest)
            if found is None:
                raise self._error(self.rest, ".000000")
        else:
            found = re.match(r"[.,][0-9]+", self.rest)
        if found is None:
            return 0
        self.rest = self.rest[found.end() :]
        return int(found[0][1:7].ljust(6, "0"))

    def _zone(self) -> int:
        """Seconds east of Greenwich."""
        if self.rest.startswith("Z"):
            self.rest = self.rest[1:]
            return 0
        before = self.rest
        found = re.match(r"(.)(..):(..)", self.rest, re.DOTALL)
        if found is None:
            raise self._error(before, "Z07:00")
        self.rest = self.rest[6:]
        sign, hours, minutes = found.groups()
        numbers = [int(each) if re.fullmatch("[0-9]{2}", each) else None for each in (hours, minutes)]
        if numbers[0] is not None and numbers[0] > 24:
            raise self._range_error("time zone offset hour out of range")
        if None not in numbers and (numbers[1] or 0) > 60:
            raise self._range_error("time zone offset minute out of range")
        if sign not in "+-" or None in numbers:
            raise self._error(before, "Z07:00")
        offset = (int(hours) * 60 + int(minutes)) * 60
        return -offset if sign == "-" else offset

    def _error(self, rest: str, part: str) -> Malformed:
        return Malformed(
            f"parsing time {_quoted_bytes(self.text)} as {_quoted_bytes(self.layout)}: "
            f"cannot parse {_quoted_bytes(rest)} as {_quoted_bytes(part)}"
        )

    def _range_error(self, what: str) -> Malformed:
        return Malformed(f"parsing time {_quoted_bytes(self.text)}: {what}")


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01, for any year; datetime has none before 1."""
    # years begin in March here, so that a leap day is a year's last
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def shown_time(seconds: int, *, micros: int | None = None) -> str:
    """Seconds since 1970 as Kubernetes writes them, with millionths if there are to be any; "" for none."""
    if seconds == _ZERO and not micros:
        return ""
    days, rest = divmod(seconds, _DAY)
    era, day = divmod(days + 719468, 146097)
    of_era = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= of_era * 365 + of_era // 4 - of_era // 100
    march_month = (5 * day + 2) // 153
    month = (march_month + 2) % 12 + 1
    day -= (153 * march_month + 2) // 5 - 1
    year = era * 400 + of_era + (month <= 2)
    fraction = "" if micros is None else f".{micros:06}"
    return f"{year:04}-{month:02}-{day:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}{fraction}Z"


def _quoted_bytes(text: str) -> str:
    """As Go's package time quotes: whatever is no plain ASCII byte by byte."""
    shown = (f"\\{each}" if each in '"\\' else each if " " <= each < "\x80" else _hexadecimal(each) for each in text)
    return '"' + "".join(shown) + '"'


def _hexadecimal(character: str) -> str:
    return "".join(f"\\x{each:02x}" for each in character.encode(errors="replace"))
