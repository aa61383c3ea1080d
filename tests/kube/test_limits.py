"""How many requests at once, and how many a second."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.kube.limits import Limit, Rate


def answers(limit, count):
    for _ in range(count):
        limit.kept_up(limit.now)


def test_the_limit_grows_by_one_with_every_answer_until_the_server_pushes_back():
    limit = Limit(first=16)
    answers(limit, 10)
    assert limit.now == 26


def test_after_a_push_back_the_limit_grows_by_one_when_as_many_answers_came_as_there_are_places():
    limit = Limit(first=32)
    limit.pushed_back(1)
    answers(limit, 15)
    assert limit.now == 16
    answers(limit, 1)
    assert limit.now == 17


def test_the_limit_does_not_grow_while_places_are_free():
    limit = Limit(first=16)
    for _ in range(1_000):
        limit.kept_up(15)
    assert limit.now == 16


def test_the_limit_has_an_end():
    limit = Limit(first=16, most=20)
    answers(limit, 10_000)
    assert limit.now == 20


def test_a_push_back_halves_the_limit():
    limit = Limit(first=16)
    limit.pushed_back(1)
    assert limit.now == 8


def test_one_volley_of_push_backs_halves_the_limit_once():
    limit = Limit(first=16)
    for under_way in range(16, 0, -1):
        limit.pushed_back(under_way)
    assert limit.now == 8


def test_a_push_back_after_the_volley_halves_it_again():
    limit = Limit(first=32)
    for under_way in range(32, 0, -1):
        limit.pushed_back(under_way)
    limit.pushed_back(16)
    assert limit.now == 8


def test_answers_to_requests_of_before_the_halving_count_as_part_of_the_volley():
    limit = Limit(first=32)
    limit.pushed_back(32)
    for under_way in range(31, 0, -1):
        limit.kept_up(under_way)
    limit.pushed_back(1)
    assert limit.now == 8


def test_the_limit_never_falls_below_one():
    limit = Limit(first=16)
    for _ in range(20):
        limit.pushed_back(1)
    assert limit.now == 1


@pytest.mark.parametrize("most", [1, 2, 4])
def test_a_push_back_never_makes_the_limit_larger(most):
    limit = Limit(first=most, most=most)
    limit.pushed_back(1)
    assert limit.now <= most


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 64))))
def test_the_limit_stays_within_its_bounds(answers):
    limit = Limit(first=16, most=64)
    for pushed_back, under_way in answers:
        (limit.pushed_back if pushed_back else limit.kept_up)(under_way)
        assert 1 <= limit.now <= 64


def test_a_rate_allows_a_burst_and_then_so_many_a_second():
    rate = Rate(10, burst=3)
    assert [rate.wait(100.0) for _ in range(3)] == [0, 0, 0]
    assert rate.wait(100.0) == pytest.approx(0.1)
    assert rate.wait(100.05) == pytest.approx(0.05)
    assert rate.wait(100.1) == 0
    assert rate.wait(100.1) == pytest.approx(0.1)


def test_a_rest_saves_up_no_more_than_a_burst():
    rate = Rate(10, burst=3)
    assert rate.wait(0.0) == 0
    assert [rate.wait(1_000.0) == 0 for _ in range(4)] == [True, True, True, False]


@given(st.floats(0.1, 100), st.integers(1, 20), st.lists(st.floats(0, 5), max_size=100))
def test_a_rate_is_never_exceeded(per_second, burst, pauses):
    rate, now, taken = Rate(per_second, burst), 0.0, 0
    for pause in pauses:
        now += pause
        taken += rate.wait(now) == 0
        assert taken <= burst + now * per_second + 1e-6
