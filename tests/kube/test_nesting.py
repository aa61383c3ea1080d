"""What is nested too deeply is taken out of a document, and nothing else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.kube.nesting import shallow

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
)


@given(JSON)
def test_what_is_not_nested_deeply_stays_as_it_is(document):
    text = json.dumps(document).encode()
    assert shallow(text) == text


@pytest.mark.parametrize("levels", [201, 999, 100_000])
def test_what_is_below_becomes_null(levels):
    found = json.loads(shallow(b'{"a": ["]"], "b": ' + b"[" * levels + b'"[" ' + b"]" * levels + b', "c": 7}'))
    assert (found["a"], found["c"]) == (["]"], 7)
    depth, inner = 0, found["b"]
    while inner is not None:
        depth, (inner,) = depth + 1, inner
    assert depth == 199
