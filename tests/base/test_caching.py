"""Short texts are remembered, long ones are not."""

import gc
import weakref

from muster.base.caching import remembered


class Found:
    """What can be told from any other, and seen to go."""


def test_what_was_found_out_is_remembered():
    one = remembered(8)(lambda text: Found())
    many = remembered(8)(lambda *texts: Found())
    assert one("a") is one("a")
    assert one("a") is not one("b")
    assert many("a", 1) is many("a", 1)
    assert many("a", 1) is not many("a", True)


def test_nothing_is_kept_of_long_texts():
    one = remembered(8)(lambda text: Found())
    many = remembered(8)(lambda *texts: Found())
    kept = [weakref.ref(one("x" * 1_000)), weakref.ref(many("a", "x" * 1_000))]
    gc.collect()
    assert [ref() for ref in kept] == [None, None]
