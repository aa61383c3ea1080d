"""Upstream's own cases: devices are found where upstream finds them, and the same ones."""

from typing import Any

import pytest

from muster.devices.allocator import Refused
from muster.devices.needs import Unmet
from tests.devices.cases import cases, plain, shown, solved, world

_CASES = cases("allocator.jsonl")

_MILLI = {"consumable-capacity-fractional-range-gate-enabled-round-up"}
"""Counts in thousandths, which is off unless a cluster asks for it: DRAFractionalCapacityRange."""
_MERELY_UNMET = {
    "partitionable-all-mode-constraint-must-error-with-reserved-counter",
    "with-constraint-not-matching-int-attribute-all-devices",
}
"""Upstream gives up where all devices are asked for and these do not keep a constraint; here that is one no of many."""


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["id"])
def test_what_upstream_finds_is_found(case: dict[str, Any]) -> None:
    found = solved(world(case))
    if case["id"] in _MILLI:
        pytest.skip("a gate that is off")
    if "results" in case:
        assert isinstance(found, tuple), found
        assert shown(found) == [plain(one) for one in case["results"]]
    else:
        assert isinstance(found, Refused | Unmet)


@pytest.mark.parametrize("case", [case for case in _CASES if case.get("error")], ids=lambda case: case["id"])
def test_what_is_an_error_upstream_is_said_to_be_a_problem_here(case: dict[str, Any]) -> None:
    found = solved(world(case))
    assert isinstance(found, Refused | Unmet)
    assert bool(found.problem) is (case["id"] not in _MERELY_UNMET)
