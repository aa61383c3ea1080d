"""Traits: plain data, of which equal ones are the same."""

import pytest

from muster.cluster.traits import read_traits
from tests.builders import pod


class Gives:
    name, is_shown = "Gives", False

    def __init__(self, trait):
        self._trait = trait

    def read(self, pod):
        return self._trait


@pytest.mark.parametrize(
    ("given", "kept"),
    [(True, "1"), (1.0, "1"), (0.5, "0.5"), (("a", False, (2.0,)), "('a', 0, (2,))"), (-0.0, "0"), ("1", "'1'")],
)
def test_of_equal_traits_a_plugin_is_always_shown_the_same(given, kept):
    assert repr(read_traits([Gives(given)], pod("p"))) == f"(('Gives', {kept}),)"
