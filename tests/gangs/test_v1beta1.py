"""PodGroups of Kubernetes 1.37 as gangs."""

import pytest

from muster.api.wire import Condition, Pod, PodGroup, read
from muster.gangs.dialects import V1ALPHA1, declare, membership
from muster.gangs.dialects.v1alpha1 import Workload
from muster.gangs.dialects.v1beta1 import says
from muster.gangs.model import DEFAULT_TIMEOUT_SECONDS, Aspect, DisruptionMode, Membership, Policy, Subset
from tests.builders import group, pod


def test_a_pod_names_its_gang_in_its_own_namespace():
    assert membership(pod("train-0", gang="train")) == Membership("team/train")


@pytest.mark.parametrize(
    ("label", "besides"), [("train", ""), ("", ""), ("other", "team/other")], ids=["same", "empty", "another"]
)
def test_a_label_that_names_another_group_than_the_field_is_kept_beside_it(label, besides):
    labels = {"muster.dev/pod-group": label}
    assert membership(pod("p", gang="train", labels=labels)) == Membership("team/train", besides=besides)


@pytest.mark.parametrize(
    ("declared", "gives_way"),
    [
        (group("g", None, controller="job"), True),
        (group("g", None), False),
        (group("g", 2, controller="job"), False),
    ],
    ids=["basic, a controller's", "basic, a user's", "gang, a controller's"],
)
def test_a_basic_group_that_a_controller_made_gives_way(declared, gives_way):
    assert declare(declared).gives_way is gives_way


@pytest.mark.parametrize("spec", [{}, {"schedulingGroup": {}}, {"schedulingGroup": {"podGroupName": ""}}])
def test_a_pod_that_names_no_group_is_alone(spec):
    assert membership(read(Pod, {"metadata": {"name": "p"}, "spec": spec})) is None


def test_a_gang_policy_gives_the_minimum():
    gang = declare(group("train", 4))
    assert gang.policy is Policy.GANG
    assert gang.subsets == (Subset(minimum=4),)
    assert gang.minimum == 4


def test_a_basic_policy_needs_one_pod():
    gang = declare(group("train", None))
    assert gang.policy is Policy.BASIC
    assert gang.minimum == 1


def test_how_many_are_expected_in_the_end_is_read_and_asks_for_nothing():
    policy = {"basic": {"desiredCount": 7}}
    workload = read(Workload, {"metadata": {"name": "w"}, "spec": {"podGroups": [{"name": "g", "policy": policy}]}})
    for found in (
        read(PodGroup, {"metadata": {"name": "g"}, "spec": {"schedulingPolicy": policy}}),
        *V1ALPHA1.groups(workload),
    ):
        assert declare(found).subsets == (Subset(minimum=1, desired=7),)


def test_identity_and_age_are_those_of_the_object():
    gang = declare(group("train", 4, created=60.0))
    assert (gang.key, gang.uid, gang.created) == ("team/train", "uid-train", 60.0)


def test_priority_is_none_where_the_object_says_nothing():
    assert declare(group("train", 4)).priority is None
    assert declare(group("train", 4, priority=0)).priority == 0


@pytest.mark.parametrize(
    ("text", "timeout"),
    [
        ("60", 60.0),
        ("0.5", 0.5),
        ("", DEFAULT_TIMEOUT_SECONDS),
        ("soon", DEFAULT_TIMEOUT_SECONDS),
        ("0", DEFAULT_TIMEOUT_SECONDS),
        ("-5", DEFAULT_TIMEOUT_SECONDS),
        ("inf", DEFAULT_TIMEOUT_SECONDS),
        ("nan", DEFAULT_TIMEOUT_SECONDS),
    ],
)
def test_the_time_out_is_an_annotation_or_five_minutes(text, timeout):
    annotations = {"muster.dev/schedule-timeout-seconds": text}
    found = read(PodGroup, {"metadata": {"name": "train", "annotations": annotations}})
    assert declare(found).timeout_seconds == timeout


@pytest.mark.parametrize(
    ("spec", "meaning"),
    [
        ({}, DisruptionMode.SINGLE),
        ({"disruptionMode": {"single": {}}}, DisruptionMode.SINGLE),
        ({"disruptionMode": {"all": {}}}, DisruptionMode.ALL),
    ],
)
def test_the_disruption_mode_is_single_unless_all_is_said(spec, meaning):
    found = read(PodGroup, {"metadata": {"name": "train"}, "spec": spec})
    assert declare(found).disruption is meaning


@pytest.mark.parametrize(
    ("condition", "started", "said"),
    [
        (None, False, None),
        (("True", "Scheduled", ""), True, ("Scheduled", "")),
        (("False", "Unschedulable", "no room"), False, ("Unschedulable", "no room")),
    ],
)
def test_the_condition_on_the_object_says_whether_it_started(condition, started, said):
    written = condition and Condition(
        type="PodGroupInitiallyScheduled", status=condition[0], reason=condition[1], message=condition[2]
    )
    gang = declare(group("train", 4, condition=written))
    assert (gang.started, gang.said) == (started, said)


def test_other_conditions_say_nothing_about_the_start():
    assert not declare(group("train", 4, condition=Condition(type="Ready", status="True"))).started


@pytest.mark.parametrize(("started", "status"), [(True, "True"), (False, "False")])
def test_the_condition_is_written_as_upstream_spells_it(started, status):
    assert says(Aspect.STARTED, holds=started, reason="Scheduled", message="m") == Condition(
        type="PodGroupInitiallyScheduled", status=status, reason="Scheduled", message="m"
    )


@pytest.mark.parametrize("status", ["True", "False"])
def test_whether_it_was_evicted_whole_is_read_and_written_as_upstream_spells_it(status):
    written = Condition(type="DisruptionTarget", status=status, reason="r", message="m")
    found = group("train", 4, condition=written)
    assert declare(found).evicted_said == (status == "True", "r", "m")
    holds = status == "True"
    assert says(Aspect.EVICTED, holds=holds, reason="r", message="m") == written
