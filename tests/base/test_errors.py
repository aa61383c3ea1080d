"""Errors carry fields for programs and print one line for people."""

import copy
import pickle

import pytest

from muster.base.errors import (
    ConfigError,
    JournalError,
    MusterError,
    ObjectError,
    QuantityError,
    ScenarioError,
    SelectorError,
)

SUBCLASSES = (ConfigError, JournalError, ObjectError, QuantityError, ScenarioError, SelectorError)


def test_the_line_is_the_message_then_the_fields_then_the_hint():
    error = ConfigError("unknown key", key="binpack", line=3, hint="did you mean 'packing'?")
    assert str(error) == "unknown key (key='binpack', line=3); did you mean 'packing'?"


def test_a_message_alone_is_the_whole_line():
    assert str(JournalError("journal is cut short")) == "journal is cut short"


def test_fields_and_hint_are_kept_for_programs():
    error = ObjectError("no name", kind="Pod", hint="set metadata.name")
    assert (error.message, error.fields, error.hint) == ("no name", {"kind": "Pod"}, "set metadata.name")


@pytest.mark.parametrize(
    "error",
    [
        MusterError("two\nlines"),
        MusterError("a", text="two\nlines"),
        MusterError("a", value=["two\n", "lines\r\n"]),
        MusterError("a", hint="two\nlines"),
        ScenarioError("two\nlines", where="burst.yaml:3"),
    ],
)
def test_the_line_is_one_line_whatever_is_in_it(error):
    assert len(str(error).splitlines()) == 1


def test_a_field_as_long_as_a_document_is_cut():
    error = MusterError("too long", text="x" * 100_000)
    assert len(str(error)) < 200
    assert len(error.fields["text"]) == 100_000


def test_a_scenario_error_says_where_first():
    error = ScenarioError("unknown event", where="burst.yaml:12", event="nodeGone")
    assert error.where == "burst.yaml:12"
    assert str(error) == "burst.yaml:12: unknown event (event='nodeGone')"


@pytest.mark.parametrize("kind", SUBCLASSES)
def test_one_clause_catches_them_all(kind):
    with pytest.raises(MusterError):
        raise kind("no")


@pytest.mark.parametrize("kind", [QuantityError, SelectorError])
def test_unreadable_text_is_a_value_error_too(kind):
    assert issubclass(kind, ValueError)


@pytest.mark.parametrize("kind", SUBCLASSES)
def test_an_error_survives_copying_and_pickling(kind):
    error = kind("no", text="x", hint="try y")
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(twin), str(twin), twin.fields) == (kind, str(error), error.fields)


def test_a_scenario_error_keeps_its_place_when_pickled():
    error = ScenarioError("no", where="burst.yaml:12")
    assert pickle.loads(pickle.dumps(error)).where == "burst.yaml:12"
