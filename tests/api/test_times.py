"""Kubernetes timestamps."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.api.times import seconds, stamp
from muster.base.errors import ObjectError

TIMES = [
    ("1970-01-01T00:00:00Z", 0.0),
    ("1970-01-01T00:01:00Z", 60.0),
    ("2026-03-01T08:00:00Z", 1772352000.0),
    ("2026-03-01T09:00:00+01:00", 1772352000.0),
    ("2026-03-01T08:00:00.250000Z", 1772352000.25),
    ("2026-03-01T08:00:00.123456789Z", 1772352000.123456),
    ("", 0.0),
]


@pytest.mark.parametrize(("text", "at"), TIMES)
def test_a_stamp_is_read_as_seconds_since_the_epoch(text, at):
    assert seconds(text) == at


@pytest.mark.parametrize("text", ["now", "2026-13-01T00:00:00Z", "12"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ObjectError, match="not an RFC 3339 time"):
        seconds(text)


def test_a_stamp_is_written_to_the_second():
    assert stamp(1772352000.9) == "2026-03-01T08:00:00Z"


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.integers(0, 2**32))
def test_whole_seconds_survive_writing_and_reading(at):
    assert seconds(stamp(at)) == at
