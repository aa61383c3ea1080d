"""Tolerations against TolerationsTolerateTaint of component-helpers v0.37.2: each row was printed by Go."""

import pytest

from muster.api.wire import Toleration
from muster.plugins.tolerations import tolerated
from tests.builders import taint


def toleration(key="", operator="Equal", value="", effect=""):
    return Toleration(key=key, operator=operator, value=value, effect=effect)


TOLERATIONS = [
    # same key, value and effect
    (toleration("gpu", "Equal", "yes", "NoSchedule"), "gpu=yes:NoSchedule", True),
    (toleration("gpu", "Equal", "no", "NoSchedule"), "gpu=yes:NoSchedule", False),
    (toleration("cpu", "Equal", "yes", "NoSchedule"), "gpu=yes:NoSchedule", False),
    (toleration("gpu", "Equal", "yes", "NoExecute"), "gpu=yes:NoSchedule", False),
    # no effect covers every effect
    (toleration("gpu", "Equal", "yes"), "gpu=yes:NoSchedule", True),
    (toleration("gpu", "Equal", "yes"), "gpu=yes:NoExecute", True),
    (toleration("gpu", "Equal", "yes"), "gpu=yes:PreferNoSchedule", True),
    # no operator means Equal
    (toleration("gpu", "", "yes"), "gpu=yes:NoSchedule", True),
    (toleration("gpu", "", "no"), "gpu=yes:NoSchedule", False),
    # an empty value is a value
    (toleration("gpu", "Equal", ""), "gpu:NoSchedule", True),
    (toleration("gpu", "Equal", ""), "gpu=yes:NoSchedule", False),
    # Exists covers every value
    (toleration("gpu", "Exists"), "gpu=yes:NoSchedule", True),
    (toleration("gpu", "Exists", "", "NoSchedule"), "gpu=yes:NoSchedule", True),
    (toleration("gpu", "Exists", "", "NoExecute"), "gpu=yes:NoSchedule", False),
    (toleration("cpu", "Exists"), "gpu=yes:NoSchedule", False),
    # without a key, every key
    (toleration("", "Exists"), "gpu=yes:NoSchedule", True),
    (toleration("", "Exists", "", "NoExecute"), "gpu=yes:NoExecute", True),
    (toleration("", "Exists", "", "NoExecute"), "gpu=yes:NoSchedule", False),
    # comparisons are off, as upstream has them by default
    (toleration("slots", "Gt", "5"), "slots=4:NoSchedule", False),
    (toleration("slots", "Lt", "3"), "slots=4:NoSchedule", False),
    (toleration("gpu", "In", "yes"), "gpu=yes:NoSchedule", False),
]


@pytest.mark.parametrize(("toleration", "text", "covered"), TOLERATIONS)
def test_a_toleration_covers_what_upstream_says(toleration, text, covered):
    assert tolerated(taint(text), [toleration]) is covered


def test_one_of_several_tolerations_is_enough():
    assert tolerated(taint("gpu=yes:NoSchedule"), [toleration("cpu", "Exists"), toleration("gpu", "Exists")])


def test_without_tolerations_nothing_is_covered():
    assert not tolerated(taint("gpu=yes:NoSchedule"), [])
