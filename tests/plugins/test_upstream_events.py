"""The tables of upstream's queueing hints: who waits is placed after a change as if it had come after it."""

import pytest

from muster.engine.decisions import Bind
from muster.engine.engine import Engine
from tests.plugins.case_events import stages
from tests.plugins.cases import Case, all_cases, profile_of
from tests.plugins.test_upstream_cases import parameter

NOT_STAGED = {
    "plugin_test/Test_isSchedulableAfterAssignedPodChange/delete a nominated pod which matches pod's anti-affinity",
    "plugin_test/Test_isSchedulableAfterTargetPodUpdateLabel",
    "fit_test/Test_isSchedulableAfterAssignedPodDelete/queue-on-nominated-pod-deleted",
    "fit_test/Test_isSchedulableAfterNodeChange/queue-on-pod-requested-resources-increase",
    "plugin_test/Test_isSchedulableAfterNodeChange/node updates label which matches topologyKey",
    "plugin_test/Test_isSchedulableAfterNodeChange/delete node with related labels",
    "plugin_test/Test_isSchedulableAfterNodeChange/update node with related labels that match all"
    " topologySpreadConstraints",
    "plugin_test/Test_isSchedulableAfterNodeChange/update node with different taints that match all"
    " topologySpreadConstraints",
    "plugin_test/Test_isSchedulableAfterAssignedPodChange/delete nominated pod with labels that match"
    " topologySpreadConstraints selector",
    "plugin_test/Test_isSchedulableAfterAssignedPodChange/add pod's label that matches topologySpreadConstraints"
    " selector with multi topologySpreadConstraints",
    "plugin_test/Test_isSchedulableAfterTargetPodChange/the unschedulable Pod has topologySpreadConstraint with"
    " NodeTaintsPolicy:Honor and has got a new toleration",
    "plugin_test/Test_isSchedulableAfterTargetPodChange/the unschedulable Pod has topologySpreadConstraint and has got"
    " a new label matching the selector of the constraint",
}
"""Upstream tries again, and on no stage does the change help the pod: it would be placed before, or room is kept for
somebody whom Muster would place first."""

WIDE = ("InterPodAffinity", "PodTopologySpread")
"""Whom these concern is tried again when any node changed, or pods that it looks at: more often than upstream."""


class Waiting:
    """An engine with a pod that waits, or does not."""

    def __init__(self, case: Case, changes) -> None:
        self._engine = Engine(profile_of(case))
        self._engine.apply(changes)
        self.placed = self._decide(0.0)

    def tell(self, change) -> None:
        self._engine.apply([change])
        self.placed = self._decide(1.0)

    def _decide(self, now) -> bool:
        binds = [found for found in self._engine.decide(now) if isinstance(found, Bind)]
        return any(placement.uid == "new" for bind in binds for placement in bind.pods)

    @property
    def attempts(self) -> int:
        return len(self._engine.audit.story(self._engine.cluster.pods["new"].key))


def waits(case):
    """Stages on which the pod waits at first."""
    for stage in stages(case):
        waiting = Waiting(case, stage.before)
        if not waiting.placed:
            yield stage, waiting


def is_slept_through(case):
    """Upstream does not try the pod again, nor need Muster."""
    return not case.facts["wakes"] and case.facts["event"]["of"] != "itself" and case.plugin not in WIDE


@pytest.mark.parametrize("case", [parameter(case) for case in all_cases("event")])
def test_a_pod_that_waits_is_placed_as_if_it_came_after_the_change(case):
    helped = False
    for stage, waiting in waits(case):
        waiting.tell(stage.change)

        assert waiting.placed == Waiting(case, stage.after).placed, stage.name
        helped |= waiting.placed
    assert helped or not case.facts["wakes"] or case.id in NOT_STAGED


@pytest.mark.parametrize("case", [parameter(case) for case in all_cases("event") if is_slept_through(case)])
def test_a_pod_is_not_tried_again_for_a_change_that_upstream_sleeps_through(case):
    for stage, waiting in waits(case):
        before = waiting.attempts
        waiting.tell(stage.change)

        assert waiting.attempts == before, stage.name
