"""Values printed by Go's duration.HumanDuration (apimachinery 0.37.1)."""

from __future__ import annotations

import pytest

from muster.local.kinds.tables.durations import human, since

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR
YEAR = 365 * DAY

EDGES = [
    (-3, "<invalid>"),
    (-2, "<invalid>"),
    (-1.9, "0s"),
    (-1, "0s"),
    (-0.5, "0s"),
    (0, "0s"),
    (0.9, "0s"),
    (1, "1s"),
    (60, "60s"),
    (119.9, "119s"),
    (2 * MINUTE, "2m"),
    (2 * MINUTE + 1, "2m1s"),
    (3 * MINUTE - 1, "2m59s"),
    (10 * MINUTE - 1, "9m59s"),
    (10 * MINUTE, "10m"),
    (10 * MINUTE + 59, "10m"),
    (3 * HOUR - 1, "179m"),
    (3 * HOUR, "3h"),
    (3 * HOUR + 59, "3h"),
    (3 * HOUR + 60, "3h1m"),
    (8 * HOUR - 1, "7h59m"),
    (8 * HOUR, "8h"),
    (9 * HOUR - 1, "8h"),
    (48 * HOUR - 1, "47h"),
    (2 * DAY, "2d"),
    (2 * DAY + HOUR - 1, "2d"),
    (2 * DAY + HOUR, "2d1h"),
    (8 * DAY - 1, "7d23h"),
    (8 * DAY, "8d"),
    (9 * DAY - 1, "8d"),
    (YEAR, "365d"),
    (2 * YEAR - 1, "729d"),
    (2 * YEAR, "2y"),
    (2 * YEAR + DAY - 1, "2y"),
    (2 * YEAR + DAY, "2y1d"),
    (3 * YEAR, "3y"),
    (8 * YEAR - 1, "7y364d"),
    (8 * YEAR, "8y"),
    (9 * YEAR - 1, "8y"),
    (9 * YEAR, "9y"),
    (292 * YEAR, "292y"),
    (2026 * YEAR, "292y"),  # Go's durations end there
]


@pytest.mark.parametrize(("duration", "words"), EDGES)
def test_durations_read_as_people_tell_them(duration, words):
    assert human(duration) == words


def test_the_time_since_a_stamp():
    assert since("2027-01-15T08:00:00Z", 1_800_000_000.0 + 90) == "90s"


def test_the_time_since_a_stamp_with_microseconds():
    assert since("2027-01-15T08:00:00.500000Z", 1_800_000_000.0 + 90.4) == "89s"


@pytest.mark.parametrize("stamp", [None, ""])
def test_the_time_since_no_stamp_is_unknown(stamp):
    assert since(stamp, 1.0) == "<unknown>"
