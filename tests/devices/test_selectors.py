"""Expressions over devices."""

from typing import Any

import msgspec
import pytest

from muster.api.devices import Device
from muster.devices.facts import facts_of
from muster.devices.selectors import Selector, selector_of
from tests.devices.cases import cases

_FIELDS = ("attributes", "capacity", "allowMultipleAllocations")


def device(facts: dict[str, Any]) -> Device:
    return msgspec.convert({name: facts[name] for name in _FIELDS if name in facts}, Device)


def asked(expression: str, driver: str = "dra.example.com", **facts: Any) -> bool | str:
    return Selector(expression).matches(facts_of(driver, device(facts)))


@pytest.mark.parametrize("case", cases("selectors.jsonl"), ids=lambda case: case["id"])
def test_selectors_answer_as_upstreams(case: dict[str, Any]) -> None:
    found = asked(case["expression"], case["driver"], **{name: case[name] for name in _FIELDS if name in case})
    if "error" in case:
        assert isinstance(found, str)
        assert found.startswith("CEL compile" if case["error"] == "compiling" else "CEL runtime")
    else:
        assert found is case["matches"]


def test_an_unknown_domain_is_empty_and_an_unknown_name_an_error() -> None:
    named = {"attributes": {"x.example/model": {"string": "a"}}}
    assert asked('"model" in device.attributes["x.example"]', **named) is True
    assert asked('"model" in device.attributes["y.example"]', **named) is False
    assert asked('device.attributes["y.example"].?model.orValue("") == "a"', **named) is False
    assert asked('has(device.attributes["y.example"].model)', **named) is False
    assert asked('device.attributes["y.example"].model == "a"', **named) == "CEL runtime error: no such key: model"


def test_attributes_without_a_domain_are_the_drivers() -> None:
    assert asked('device.attributes["gpu.example"].cores > 3', "gpu.example", attributes={"cores": {"int": 4}}) is True


def test_a_name_with_the_drivers_domain_counts_more_than_one_without() -> None:
    attributes = {"d.example/a": {"int": 1}, "a": {"int": 2}}
    assert asked('device.attributes["d.example"].a == 1', "d.example", attributes=attributes) is True


def test_a_version_that_is_none_is_an_error_of_the_device() -> None:
    assert "attribute d/v" in str(asked("true", "d", attributes={"v": {"version": "one"}}))


def test_an_expression_is_asked_once_of_equal_devices() -> None:
    one = facts_of("d", Device(name="a"))
    selector_of("device.driver == 'd'").matches(one)
    assert facts_of("d", Device(name="b", node_name="n")).answers[selector_of("device.driver == 'd'")] is True


def test_answers_are_forgotten_before_they_are_too_many() -> None:
    facts = facts_of("d", Device(name="many"))
    for number in range(2000):
        Selector(f"{number} == 1").matches(facts)
    assert len(facts.answers) <= 1024


def test_rules_of_other_kinds_may_not_use_what_is_for_devices() -> None:
    from muster.base.cel import compile_expression
    from muster.base.errors import CelError

    for text in ("cel.bind(a, 1, a == 1)", "dyn([1]).includes(1)"):
        with pytest.raises(CelError, match="undeclared reference"):
            compile_expression(text, {})
