"""Allocations as they are written."""

import re

from muster.api.devices import Allocation
from muster.api.wire import read
from muster.devices.results import share_id
from tests.devices.cases import cases, solved, world, written

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def test_ids_of_shares_are_uuids_and_not_left_to_chance() -> None:
    made = {share_id(f"{number}") for number in range(1000)}
    assert len(made) == 1000
    assert all(_UUID.fullmatch(one) for one in made)
    assert share_id("uid/0/d/p/a") == share_id("uid/0/d/p/a")


def test_shares_of_one_device_have_ids_of_their_own() -> None:
    for case in cases("allocator.jsonl"):
        found = solved(world(case))
        if isinstance(found, tuple):
            ids = [one.share_id for each in found for one in each.devices.results if one.share_id is not None]
            assert len(set(ids)) == len(ids), case["id"]


def test_what_is_written_is_read_again_as_it_was() -> None:
    for case in cases("random.jsonl"):
        found = solved(world(case))
        if isinstance(found, tuple):
            assert tuple(read(Allocation, one) for one in written(found)) == found
