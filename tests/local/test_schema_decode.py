import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.local.schema import decode, exact
from muster.local.schema.decode import convert, empty, normalise, parse
from muster.local.schema.load import shapes
from muster.local.schema.shapes import Base
from tests.local import schema_answers as answers
from tests.local.schema_tables import TYPES, answered, pairs, shape_of, values

POD = shapes()["io.k8s.api.core.v1.Pod"]
QUICKLY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
ANY_TYPE = st.sampled_from(sorted(set(TYPES.values()))).flatmap(
    lambda name: st.tuples(st.just(name), values(shapes()[name]))
)
ANY_ODD = st.sampled_from(sorted(set(TYPES.values()))).flatmap(
    lambda name: st.tuples(st.just(name), values(shapes()[name], odd=True))
)


def decoded(body, shape=POD):
    return normalise(parse(body.encode()), shape)


@pytest.mark.parametrize(("body", "answer"), pairs(answers.DECODED))
def test_objects_are_taken_as_by_gos_structs(body, answer):
    error, value, strict = answered(answer)
    head = json.loads(body)
    made = decoded(body, shape_of(head["apiVersion"], head["kind"]))
    assert (made.error, made.strict) == (error, strict)
    assert error or made.value == value


@pytest.mark.parametrize(("body", "answer"), pairs(answers.CONVERTED))
def test_patched_objects_are_taken_as_gos_converter_does(body, answer):
    error, value, strict = answered(answer)
    made = convert(json.loads(body), POD)
    assert (made.error, made.strict) == (error, strict)
    assert error or made.value == value


@QUICKLY
@given(ANY_TYPE)
def test_the_quick_way_and_the_exact_one_agree(drawn):
    name, value = drawn
    quick = normalise(copy.deepcopy(value), shapes()[name])
    slow = exact.read(value, shapes()[name])
    assert (quick.value, quick.error, quick.strict) == (slow.value, "", [])


@QUICKLY
@given(ANY_ODD)
def test_what_was_normalised_stays_as_it_is(drawn):
    name, value = drawn
    once = normalise(copy.deepcopy(value), shapes()[name])
    if not once.error:
        again = normalise(copy.deepcopy(once.value), shapes()[name])
        assert (again.value, again.error, again.strict) == (once.value, "", [])


@QUICKLY
@given(ANY_ODD)
def test_whatever_comes_there_is_an_object_or_an_error(drawn):
    name, value = drawn
    for read in (normalise, convert):
        made = read(copy.deepcopy(value), shapes()[name])
        assert made.error or isinstance(made.value, dict)


@QUICKLY
@given(ANY_ODD)
def test_a_text_and_its_value_are_taken_alike(drawn):
    name, value = drawn
    body = json.dumps(value).encode()
    assert normalise(parse(body), shapes()[name]) == normalise(json.loads(body), shapes()[name])


def test_an_error_at_a_values_own_type_comes_before_all_others():
    made = decoded('{"spec":{"priority":"x"},"metadata":{"creationTimestamp":"x"}}')
    assert made.error.startswith('parsing time "x"')


def test_at_most_a_hundred_unknown_fields_are_named():
    made = decoded("{" + ",".join(f'"u{n}":1' for n in range(120)) + "}")
    assert len(made.strict) == exact.MOST_STRICT_ERRORS == 100


def test_fields_that_cannot_be_left_out_are_there():
    assert decoded("{}").value == {"metadata": {}, "spec": {"containers": None}, "status": {}} == empty(POD)


def test_what_was_given_as_zero_is_kept_where_go_has_a_pointer():
    made = decoded(
        '{"spec":{"priority":0,"hostNetwork":false,"enableServiceLinks":false,"hostname":"","containers":[]}}'
    )
    assert made.value["spec"] == {"priority": 0, "enableServiceLinks": False, "containers": None}


def test_a_pod_in_order_is_never_read_the_slow_way(monkeypatch):
    body = (
        '{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}}}]}}'
    )
    monkeypatch.setattr(exact, "read", lambda *_: pytest.fail("the slow way"))
    assert not decoded(body).error


def test_every_shape_has_a_reader():
    for shape in shapes().values():
        assert normalise({}, shape).error == ""
        assert decode._reader(shape, empty=None)({}) == empty(shape)
    assert {each.shape.base for shape in shapes().values() for each in shape.fields.values()} <= set(Base)
