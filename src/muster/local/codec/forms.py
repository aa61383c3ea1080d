"""Quantities, times and base64 in the one form that Kubernetes gives them.

    quantity("1024Mi") == "1Gi"     time("2026-01-01T02:00:00+02:00") == "2026-01-01T00:00:00Z"

What cannot be read raises Malformed with the words of Go.  `muster.base.quantity` has the numbers behind quantities;
this module has their spelling.
"""

from __future__ import annotations

import base64
import datetime
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


def from_base64(encoded: str) -> str:
    """In the one form of it.  Raises Malformed where Go does."""
    text = encoded.replace("\r", "").replace("\n", "")
    try:
        if len(text) % 4 == 0:
            return base64.b64encode(base64.b64decode(text, validate=True)).decode()
    except ValueError:
        pass
    raise Malformed("illegal base64 data")


# --- times ----------------------------------------------------------------------------------------

_PLAIN = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{6})?Z", re.ASCII
)
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-]\d\d):(\d\d))", re.ASCII)
_EPOCH = datetime.datetime(1970, 1, 1)
_NEVER = datetime.datetime.min
"""Go's time that was never set."""


def time(text: str) -> str:
    """In UTC and whole seconds; "" for the first second of year 1, which is none.  Raises Malformed."""
    found = _PLAIN.fullmatch(text)
    if found and not found[1] and text[:4] != "0001":
        return text
    return _shown(_read(text, "2006-01-02T15:04:05Z07:00").replace(microsecond=0), "seconds")


def micro_time(text: str) -> str:
    """In UTC and millionths of a second; "" for the first second of year 1, which is none.  Raises Malformed."""
    found = _PLAIN.fullmatch(text)
    if found and found[1] and text[:4] != "0001":
        return text
    return _shown(_read(text, "2006-01-02T15:04:05.000000Z07:00"), "microseconds")


def _read(text: str, layout: str) -> datetime.datetime:
    found = _TIME.fullmatch(text)
    try:
        if found is None or (".000000" in layout and len(found[7] or "") != 6):
            raise ValueError("cannot parse")
        year, month, day, hour, minute, second = map(int, found.groups()[:6])
        micros = int((found[7] or "0")[:6].ljust(6, "0"))
        hours = int(found[8] or 0)
        minutes = int(found[9] or 0) * (-1 if (found[8] or "").startswith("-") else 1)
        if abs(hours) > 24 or abs(minutes) > 60:
            raise ValueError("time zone offset out of range")
        local = datetime.datetime(year, month, day, hour, minute, second, micros)
        return local - datetime.timedelta(hours=hours, minutes=minutes)
    except (ValueError, OverflowError) as error:
        raise Malformed(f'parsing time "{text}" as "{layout}": {error}') from None


def shown_time(seconds: int, *, micros: int | None = None) -> str:
    """Seconds since 1970 as Kubernetes writes them, with millionths if there are to be any; "" for none."""
    try:
        moment = _EPOCH + datetime.timedelta(seconds=seconds, microseconds=micros or 0)
    except OverflowError as error:
        raise Malformed(str(error)) from None
    return _shown(moment, "seconds" if micros is None else "microseconds")


def _shown(moment: datetime.datetime, unit: str) -> str:
    return "" if moment == _NEVER else f"{moment.isoformat(timespec=unit)}Z"
