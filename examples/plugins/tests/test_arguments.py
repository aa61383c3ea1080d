"""What can be tested without a cluster: a plugin is a class like any other."""

import pytest
from muster_example_plugins.approval import Approval
from muster_example_plugins.rack_limit import RackLimit


@pytest.mark.parametrize("most", [0, -1, "two", 1.5])
def test_a_limit_that_is_none_is_refused(most):
    with pytest.raises(ValueError, match="most must be a whole number of at least 1"):
        RackLimit({"most": most})


def test_eight_gpus_need_no_approval():
    assert Approval({}).freely == 8
