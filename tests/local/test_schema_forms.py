import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.base.quantity import nanos
from muster.local.codec import forms
from muster.local.codec.forms import Malformed
from tests.local import schema_answers as answers
from tests.local.schema_tables import pairs


def written(form, text):
    try:
        return json.dumps(form(text) or None, separators=(",", ":"))
    except Malformed:
        return "!"


@pytest.mark.parametrize(("text", "answer"), pairs(answers.QUANTITIES))
def test_quantities_are_spelled_as_go_spells_them(text, answer):
    assert written(forms.quantity, json.loads(text)) == (answer if answer[0] != "!" else "!")


# no year after 9999, in which Go would show one
@pytest.mark.parametrize(("text", "answer"), [one for one in pairs(answers.TIMES) if "9999" not in one[0]])
def test_times_are_in_utc_and_whole_seconds(text, answer):
    assert written(forms.time, json.loads(text)) == (answer if answer[0] != "!" else "!")


@pytest.mark.parametrize(("text", "answer"), pairs(answers.MICRO_TIMES))
def test_micro_times_want_six_digits(text, answer):
    assert written(forms.micro_time, json.loads(text)) == (answer if answer[0] != "!" else "!")


NUMBERS = st.from_regex(r"[+-]?[0-9]{1,12}(\.[0-9]{1,6})?(m|k|M|G|Ki|Mi|Gi|e3|e-3)?", fullmatch=True)


@given(NUMBERS)
def test_a_quantity_keeps_its_size_and_its_spelling_is_final(text):
    spelled = forms.quantity(text)
    assert nanos(spelled) == nanos(text)
    assert forms.quantity(spelled) == spelled


@given(st.integers(-62135596799, 253402300799))
def test_a_time_that_is_shown_is_read_as_the_same(seconds):
    shown = forms.shown_time(seconds)
    assert forms.time(shown) == shown
    assert forms.micro_time(forms.shown_time(seconds, micros=7)) == shown.replace("Z", ".000007Z")


def test_an_offset_may_lead_into_another_year():
    assert forms.time("2025-12-31T23:30:00-01:00") == "2026-01-01T00:30:00Z"
