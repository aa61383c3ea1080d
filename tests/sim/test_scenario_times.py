"""Times as files write them and as people read them."""

import pytest

from muster.sim.scenario.times import parse_seconds, show_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5s", 5), ("1m30s", 90), ("2h", 7200), ("500ms", 0.5), ("1.5m", 90), (7, 7), (0.25, 0.25), ("0s", 0)],
)
def test_a_time_is_read(text, seconds):
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "5sec", "-5s", "1m 30s", -1, True, float("inf"), float("nan")])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="not a time"):
        parse_seconds(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (0.1, "0.1s"), (59.9999, "1m"), (60, "1m"), (90, "1m30s"), (3600, "1h"), (3661.5, "1h1m1.5s")],
)
def test_a_time_is_shown(seconds, text):
    assert show_seconds(seconds) == text
