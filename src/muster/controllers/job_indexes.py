"""Completion indexes as intervals: "1,3-5,7", as the status of a Job holds them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

Intervals = tuple[tuple[int, int], ...]
"""First and last of each, in order, no two of them touching."""


def parse(text: str, completions: int) -> Intervals:
    """The intervals that a text names, below `completions`; what cannot be read is passed over."""
    found: list[tuple[int, int]] = []
    for part in text.split(",") if text else ():
        first_text, dash, last_text = part.partition("-")
        try:
            first = int(first_text)
            last = int(last_text.partition("-")[0]) if dash else first
        except ValueError:
            continue
        if first >= completions:
            break
        last = min(last, completions - 1)
        if found and found[-1][1] == first - 1:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return tuple(found)


def show(intervals: Intervals) -> str:
    """As the API has it: pairs are told one by one."""
    words = []
    for first, last in intervals:
        if last == first:
            words.append(str(first))
        else:
            words.append(f"{first}{',' if last == first + 1 else '-'}{last}")
    return ",".join(words)


def merge(left: Intervals, right: Intervals) -> Intervals:
    found: list[tuple[int, int]] = []
    for first, last in sorted(left + right):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def with_indexes(intervals: Intervals, indexes: Iterable[int]) -> Intervals:
    return merge(intervals, tuple((index, index) for index in indexes))


def total(intervals: Intervals) -> int:
    return sum(last - first + 1 for first, last in intervals)


def has(intervals: Intervals, index: int) -> bool:
    return any(first <= index <= last for first, last in intervals)


def overlap(left: Intervals, right: Intervals) -> int:
    """How many indexes are in both."""
    return total(left) + total(right) - total(merge(left, right))


def first_missing(intervals: Intervals, *, count: int, completions: int) -> list[int]:
    """The first `count` indexes below `completions` that are not there."""
    return list(islice(_missing(intervals, completions), max(0, count)))


def _missing(intervals: Intervals, completions: int) -> Iterable[int]:
    candidate = 0
    for first, last in intervals:
        yield from range(candidate, min(first, completions))
        candidate = max(candidate, last + 1)
    yield from range(candidate, completions)
