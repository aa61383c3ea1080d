"""Waits grow by doubling, up to a ceiling that grows with the root of the gang's size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.base.backoff import backoff_seconds


def test_without_failures_there_is_no_wait():
    assert backoff_seconds(0) == 0


@pytest.mark.parametrize(("failures", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (1000, 10)])
def test_the_wait_doubles_up_to_the_maximum(failures, seconds):
    assert backoff_seconds(failures) == seconds


@pytest.mark.parametrize(("size", "ceiling"), [(1, 10), (4, 20), (64, 80), (10_000, 1000)])
def test_the_ceiling_grows_with_the_root_of_the_size(size, ceiling):
    assert backoff_seconds(50, size=size) == ceiling


def test_the_size_does_not_change_the_first_waits():
    assert [backoff_seconds(n, size=10_000) for n in (1, 2, 3)] == [1, 2, 4]


def test_the_first_wait_is_the_initial_one_unless_the_maximum_is_lower():
    assert backoff_seconds(1, initial=0.25) == 0.25
    assert backoff_seconds(1, initial=5, maximum=3) == 3


@pytest.mark.parametrize("failures", [0, 1, 5, 10**9])
def test_a_maximum_of_zero_turns_waiting_off(failures):
    assert backoff_seconds(failures, size=64, maximum=0) == 0


def test_an_initial_wait_of_zero_stays_zero():
    assert backoff_seconds(10**9, initial=0) == 0


@pytest.mark.parametrize("failures", [1024, 1025, 10**6, 10**30])
def test_a_huge_number_of_failures_does_not_overflow(failures):
    assert backoff_seconds(failures, maximum=300) == 300


@given(st.integers(0, 5000), st.integers(1, 10**6))
def test_one_more_failure_never_shortens_the_wait(failures, size):
    assert backoff_seconds(failures, size=size) <= backoff_seconds(failures + 1, size=size)
