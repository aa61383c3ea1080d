import numpy as np
import pytest

from muster.base.arrays import grown


@pytest.mark.parametrize(
    ("array", "more", "fill", "then"),
    [
        (np.array([3, 4]), [2], 7, [3, 4, 7, 7]),
        (np.array([[1, 2], [3, 4]]), [1, 1], 9, [[1, 2, 9], [3, 4, 9], [9, 9, 9]]),
        (np.array([[1], [2]]), [0, 2], 0, [[1, 0, 0], [2, 0, 0]]),
        (np.zeros((0, 2)), [2, 0], 5, [[5, 5], [5, 5]]),
        (np.array([True]), [1], 0, [True, False]),
        (np.array([1.5]), [1], np.inf, [1.5, np.inf]),
    ],
)
def test_columns_grow_at_their_ends_and_keep_what_they_have(array, more, fill, then):
    after = grown(array, *more, fill=fill)
    assert after.tolist() == then
    assert after.dtype == array.dtype
    assert not np.shares_memory(after, array)
