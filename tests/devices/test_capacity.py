"""Parts of devices: the amounts that requests take, in upstream's cases where they have them."""

from typing import Any

import msgspec
import pytest

from muster.api.devices import DeviceCapacity
from muster.base.quantity import nanos
from muster.devices.capacity import Unfit, amount_taken, breaks_policy, capacity_of, parts_taken, spell

_LARGEST = 2**63 - 1


def capacity(value: str, **policy: Any) -> Any:
    document = {"value": value, **({"requestPolicy": policy} if policy else {})}
    return capacity_of("memory", msgspec.convert(document, DeviceCapacity))


def between(least: str, **more: str) -> dict[str, Any]:
    return {"default": least, "validRange": {"min": least, **more}}


@pytest.mark.parametrize(
    ("asked", "value", "policy", "taken"),
    [
        pytest.param(None, "1", {}, "1", id="empty"),
        pytest.param(None, "2", between("1"), "1", id="min in range"),
        pytest.param(None, "2", {"default": "1", "validValues": ["1"]}, "1", id="default in set"),
        pytest.param("2", "2", between("1"), "2", id="more than min in range"),
        pytest.param("1", "2", {"default": "1", "validRange": {"min": "2"}}, "2", id="less than min in range"),
        pytest.param("2", "3", between("1", step="2"), "3", id="with step, round up"),
        pytest.param("2", "2", between("1", step="1"), "2", id="with step, no remaining"),
        pytest.param("2", "3", {"default": "1", "validValues": ["1", "2", "3"]}, "2", id="valid value in set"),
        pytest.param("2", "3", {"default": "1", "validValues": ["1", "3"]}, "3", id="set, round up"),
        pytest.param("3", "3", {"default": "1", "validValues": ["1", "2"]}, "3", id="larger than set"),
        pytest.param(str(2**64 + 3), str(2**64 + 3), between("0", step="3"), None, id="request above 64 bits"),
        pytest.param(str(_LARGEST), str(2**63), between("0", step="2"), None, id="rounded value above 64 bits"),
        pytest.param(
            str(_LARGEST - 1), str(_LARGEST), between("1", step="2"), str(_LARGEST), id="the largest that there is"
        ),
        pytest.param("250m", "1", between("200m", step="100m", max="1"), "1", id="whole numbers if there are steps"),
    ],
)
def test_a_request_is_raised_to_an_amount_that_may_be_had(
    asked: str | None, value: str, policy: dict[str, Any], taken: str | None
) -> None:
    found = amount_taken(None if asked is None else nanos(asked), capacity(value, **policy))
    assert found == (None if taken is None else nanos(taken))


@pytest.mark.parametrize(
    ("amount", "policy", "breaks"),
    [
        pytest.param("1", {}, False, id="no constraint"),
        pytest.param("1", between("1", max="2"), False, id="less than maximum"),
        pytest.param("2", between("1", max="1"), True, id="more than maximum"),
        pytest.param("1", {"default": "1", "validValues": ["1"]}, False, id="in set"),
        pytest.param("2", {"default": "1", "validValues": ["1"]}, True, id="not in set"),
        pytest.param("4", between("1", step="2"), True, id="between steps"),
    ],
)
def test_a_device_gives_the_amounts_that_its_policy_has(amount: str, policy: dict[str, Any], breaks: bool) -> None:
    assert breaks_policy(nanos(amount), capacity("9", **policy)) is breaks


def test_a_problem_is_told_before_a_device_is_merely_unfit() -> None:
    small, odd = capacity("1")._replace(name="a"), capacity(str(2**63), **between("0", step="2"))._replace(name="b")
    found = parts_taken({"a": nanos("2"), "b": nanos(_LARGEST)}, (small, odd))
    assert isinstance(found, Unfit)
    assert found.problem


def test_what_a_device_does_not_have_it_does_not_give() -> None:
    assert parts_taken({"cores": 1}, (capacity("1"),)) == Unfit()
    assert parts_taken({"memory": nanos("2")}, (capacity("1"),)) == Unfit()
    assert parts_taken({"memory": -1}, (capacity("1"),)) == Unfit('capacity "memory": capacity value is negative')


@pytest.mark.parametrize(
    ("amount", "like", "spelled"),
    [
        ("2Gi", "1Ki", "2Gi"),
        ("1536Mi", "1Gi", "1536Mi"),
        ("2000", "1", "2k"),
        ("0", "1Gi", "0"),
        ("300m", "1", "300m"),
        ("7u", "1", "7u"),
        ("1", "1Gi", "1"),
    ],
)
def test_amounts_are_spelled_like_others(amount: str, like: str, spelled: str) -> None:
    assert spell(nanos(amount), like) == spelled
    assert nanos(spell(nanos(amount), like)) == nanos(amount)
