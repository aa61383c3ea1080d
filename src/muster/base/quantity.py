"""Kubernetes resource quantities as exact integers, and back into words for people.

    [sign] digits [. digits] [suffix]      n u m k M G T P E | Ki Mi Gi Ti Pi Ei | e3 E3 e+3 e-3

Reads what `resource.ParseQuantity` of apimachinery reads and gives the numbers of `Quantity.Value()` and
`Quantity.MilliValue()`.  Anything finer than a billionth is rounded away from zero: who asks for some gets
some.  With a binary suffix the size stops at 2**63 - 1, as in Go.  We differ on purpose in four places:

- Go's Value() and MilliValue() overflow ("10E" has Value 0, "8Ei" has MilliValue -1000).  Ours stop at the
  ends of the signed 64-bit range: a request too large to count must look too large, never like nothing.
- Go miscounts some negative numbers ("-0.1n" has Value 1).  Ours are always rounded away from zero.
- Go reads a number without digits as zero ("Ki", "m", "+", "."), though not each of them ("Ei").  We refuse
  them all, as the grammar in Go's own comments does.
- More than 1000 characters, or an exponent beyond 1000 either way, is refused.  Go wraps exponents at 32 bits
  ("1e4294967299" is 1000), and some keep it busy for more than a minute ("1e-2147483648").

Go's JSON decoder trims blanks around a quantity first; here, as in ParseQuantity, they are refused.
"""

import re
from functools import lru_cache

from muster.base.errors import QuantityError

__all__ = ["amount", "milli", "nanos", "show", "show_bytes", "show_milli", "whole"]

_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    # The exponent comes first: "1E3" is an exponent, and only "E" with nothing behind it is exa.
    r"(?:[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[KMGTPE]i|[numkMGTPE]))?"
)
_POWER_OF_TEN = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_POWER_OF_TWO = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

_NANO = 10**9
_INT64_MAX = 2**63 - 1
_INT64_MIN = -(2**63)

# Python reads no integer of more than 4300 digits, and 10**n grows without end: stop well before either.
_LONGEST = 1000
_HINT = "write a number and at most one suffix, like 2, 500m, 1.5Gi or 1e3"

# Nodes of one make report memory that differs by a few Ki, so there are about as many spellings as nodes.
_CACHED = 1 << 16

_BYTES = frozenset({"memory", "ephemeral-storage", "storage"})


def nanos(text: str | int | float) -> int:
    """The quantity in billionths, exactly; anything finer is rounded away from zero.

    A number stands for its JSON spelling, as it does for Kubernetes.  Raises QuantityError.
    """
    return _nanos(_spelling(text))


def milli(text: str | int | float) -> int:
    """The quantity in thousandths, rounded away from zero; always within a signed 64-bit integer."""
    return _rounded(nanos(text), unit=_NANO // 1000)


def whole(text: str | int | float) -> int:
    """The quantity in ones, rounded away from zero; always within a signed 64-bit integer."""
    return _rounded(nanos(text), unit=_NANO)


def amount(resource: str, text: str | int | float) -> int:
    """The quantity in the unit we keep the resource in: thousandths for "cpu", ones for everything else."""
    return milli(text) if resource == "cpu" else whole(text)


def show(resource: str, amount: int) -> str:
    """An amount as `amount` gives it, for people: "2 cpu", "32Gi memory", "4 nvidia.com/gpu"."""
    if resource == "cpu":
        return f"{show_milli(amount)} {resource}"
    if resource in _BYTES or resource.startswith("hugepages-"):
        return f"{show_bytes(amount)} {resource}"
    return f"{amount} {resource}"


_MANY_TENTHS = 100_000


def show_milli(value: int) -> str:
    """Thousandths for people: whole numbers plain ("2"), all others in thousandths ("1500m")."""
    ones, rest = divmod(value, 1000)
    return f"{value}m" if rest else str(ones)


def show_bytes(n: int) -> str:
    """Bytes for people: "32Gi", "1.5Gi", "1065Mi", "100"; exact where that takes few digits, else to one decimal."""
    sign, size = ("-", -n) if n < 0 else ("", n)
    for suffix, bits in reversed(_POWER_OF_TWO.items()):
        tenths, rest = divmod(size * 10, 1 << bits)
        if 10 <= tenths < _MANY_TENTHS and not rest:
            return f"{sign}{_tenths(tenths)}{suffix}"
    for suffix, bits in reversed(_POWER_OF_TWO.items()):
        if size >> max(bits, 20):
            return f"{sign}{_tenths(round(size * 10 / (1 << bits)))}{suffix}"
    return str(n)


def _tenths(count: int) -> str:
    ones, tenth = divmod(count, 10)
    return f"{ones}.{tenth}" if tenth else str(ones)


def _spelling(text: object) -> str:
    """What JSON would say for a number that came without quotes; true and false are no numbers."""
    if isinstance(text, str):
        return text
    if isinstance(text, int | float) and not isinstance(text, bool):
        return repr(text)
    raise QuantityError("not a quantity", value=text, type=type(text).__name__, hint=_HINT)


@lru_cache(maxsize=_CACHED)
def _nanos(text: str) -> int:
    if len(text) > _LONGEST:
        raise QuantityError("quantity is too long", text=text, hint=_HINT)
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise QuantityError("not a quantity", text=text, hint=_HINT)
    sign, digits, fraction, exponent, suffix = found.groups(default="")
    if not digits and not fraction:
        raise QuantityError("quantity has no digits", text=text, hint=_HINT)
    power = int(exponent or _POWER_OF_TEN.get(suffix, 0))
    if abs(power) > _LONGEST:
        raise QuantityError("exponent of quantity is out of range", text=text, hint=_HINT)
    bits = _POWER_OF_TWO.get(suffix, 0)
    size = _scaled(int(digits + fraction) << bits, power=9 + power - len(fraction))
    if bits:
        size = min(size, _INT64_MAX * _NANO)
    return -size if sign == "-" else size


def _scaled(size: int, *, power: int) -> int:
    """size * 10**power, rounded up."""
    # int(): the type checker cannot know that 10**power is whole here
    return size * int(10**power) if power >= 0 else -(-size // int(10**-power))


def _rounded(value: int, *, unit: int) -> int:
    """value / unit, rounded away from zero and kept within a signed 64-bit integer."""
    if value < 0:
        return max(value // unit, _INT64_MIN)
    return min(-(-value // unit), _INT64_MAX)
