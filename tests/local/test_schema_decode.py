import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.local.schema.decoding import decode, parse
from muster.local.schema.load import shapes
from muster.local.schema.shapes import Base
from muster.local.schema.structs import MOST_STRICT_ERRORS, zero
from tests.local import schema_answers as answers
from tests.local.schema_tables import TYPES, answered, pairs, shape_of, values

POD = shapes()["io.k8s.api.core.v1.Pod"]
QUICKLY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
ANY_ODD = st.sampled_from(sorted(set(TYPES.values()))).flatmap(
    lambda name: st.tuples(st.just(name), values(shapes()[name], odd=True))
)


def decoded(body, shape=POD):
    return decode(parse(body.encode()), shape)


@pytest.mark.parametrize(("body", "answer"), pairs(answers.DECODED))
def test_objects_are_taken_as_by_gos_structs(body, answer):
    error, value, strict = answered(answer)
    head = json.loads(body)
    made = decoded(body, shape_of(head["apiVersion"], head["kind"]))
    assert bool(made.error) == bool(error)
    assert error or (made.value, made.strict) == (value, strict)


# of a number its value is told, not its spelling; of several things that are wrong the first
ONE_WRONG = [
    (body, answer) for body, answer in pairs(answers.DECODED)[:15] if "struct field" in answer and "1e3" not in body
]


@pytest.mark.parametrize(("body", "answer"), ONE_WRONG)
def test_a_value_of_a_wrong_type_is_told_in_the_words_of_go(body, answer):
    head = json.loads(body)
    made = decoded(body, shape_of(head["apiVersion"], head["kind"]))
    assert made.error == answer[1:]


# Go cuts off what an integer does not hold
@pytest.mark.parametrize(("body", "answer"), [one for one in pairs(answers.CONVERTED) if "99999999999" not in one[0]])
def test_patched_objects_are_taken_as_gos_converter_does(body, answer):
    error, value, strict = answered(answer)
    made = decode(json.loads(body), POD, patched=True)
    assert bool(made.error) == bool(error)
    assert error or (made.value, sorted(made.strict)) == (value, strict)


@QUICKLY
@given(ANY_ODD)
def test_what_was_normalised_stays_as_it_is(drawn):
    name, value = drawn
    once = decode(copy.deepcopy(value), shapes()[name])
    if not once.error:
        again = decode(copy.deepcopy(once.value), shapes()[name])
        assert (again.value, again.error, again.strict) == (once.value, "", [])


@QUICKLY
@given(ANY_ODD)
def test_whatever_comes_there_is_an_object_or_an_error(drawn):
    name, value = drawn
    for patched in (False, True):
        made = decode(copy.deepcopy(value), shapes()[name], patched=patched)
        assert made.error or isinstance(made.value, dict)


@QUICKLY
@given(ANY_ODD)
def test_a_text_and_its_value_are_taken_alike(drawn):
    name, value = drawn
    body = json.dumps(value).encode()
    assert decode(parse(body), shapes()[name]) == decode(json.loads(body), shapes()[name])


def test_at_most_a_hundred_unknown_fields_are_named():
    made = decoded("{" + ",".join(f'"u{n}":1' for n in range(120)) + "}")
    assert len(made.strict) == MOST_STRICT_ERRORS == 100


def test_fields_that_cannot_be_left_out_are_there():
    assert decoded("{}").value == {"metadata": {}, "spec": {"containers": None}, "status": {}} == zero(POD)


def test_what_was_given_as_zero_is_kept_where_go_has_a_pointer():
    made = decoded(
        '{"spec":{"priority":0,"hostNetwork":false,"enableServiceLinks":false,"hostname":"","containers":[]}}'
    )
    assert made.value["spec"] == {"priority": 0, "enableServiceLinks": False, "containers": None}


def test_every_shape_has_a_reader():
    for shape in shapes().values():
        assert decode({}, shape).value == zero(shape)
    assert {each.shape.base for shape in shapes().values() for each in shape.fields.values()} <= set(Base)
