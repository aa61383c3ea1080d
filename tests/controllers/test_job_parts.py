"""Indexes as intervals, and what failures mean: the parts of the Job controller that are sums and rules."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.controllers import job_indexes
from muster.controllers.job_failures import NO_INDEX, Record, finished_at, index_of, judge, next_failures, success
from muster.controllers.job_objects import INDEX, FailurePolicy, Job, JobSpec, SuccessPolicy
from muster.controllers.objects import Metadata, Pod, read

SETS = st.sets(st.integers(0, 40))


def intervals(indexes):
    return job_indexes.with_indexes((), sorted(indexes))


def members(found):
    return {index for first, last in found for index in range(first, last + 1)}


# --- intervals ---


@given(SETS)
def test_indexes_survive_a_trip_through_text(indexes):
    found = intervals(indexes)
    assert members(found) == indexes
    assert job_indexes.parse(job_indexes.show(found), 100) == found
    assert job_indexes.total(found) == len(indexes)


@given(SETS, SETS)
def test_merging_is_the_union_and_overlap_the_common_part(left, right):
    assert members(job_indexes.merge(intervals(left), intervals(right))) == left | right
    assert job_indexes.overlap(intervals(left), intervals(right)) == len(left & right)


@given(SETS, st.integers(0, 10), st.integers(0, 45))
def test_the_first_that_are_missing_are_found(indexes, count, completions):
    wanted = [index for index in range(completions) if index not in indexes][:count]
    assert job_indexes.first_missing(intervals(indexes), count=count, completions=completions) == wanted


@given(SETS, st.integers(0, 40))
def test_an_index_is_there_or_not(indexes, index):
    assert job_indexes.has(intervals(indexes), index) == (index in indexes)


@pytest.mark.parametrize(
    ("indexes", "text"),
    [
        (set(), ""),
        ({0}, "0"),
        ({0, 1}, "0,1"),
        ({0, 1, 2}, "0-2"),
        ({1, 3, 4, 5, 7}, "1,3-5,7"),
        ({0, 1, 5, 6}, "0,1,5,6"),
    ],
)
def test_intervals_are_written_as_kubernetes_writes_them(indexes, text):
    assert job_indexes.show(intervals(indexes)) == text


@pytest.mark.parametrize(
    ("text", "completions", "expected"),
    [
        ("0-9", 5, {0, 1, 2, 3, 4}),
        ("0,7", 5, {0}),
        ("5-9", 5, set()),
        ("x,2", 5, {2}),
        ("1-x,3", 5, {3}),
        ("0,1,2", 5, {0, 1, 2}),
        ("", 5, set()),
    ],
)
def test_what_cannot_be_read_or_is_not_wanted_is_passed_over(text, completions, expected):
    assert members(job_indexes.parse(text, completions)) == expected


# --- pods ---


def pod(*, phase="Failed", code=None, conditions=(), annotations=None, finished=None, **metadata):
    status = {"phase": phase, "conditions": list(conditions)}
    if code is not None:
        status["containerStatuses"] = [
            {"name": "main", "state": {"terminated": {"exitCode": code, "finishedAt": finished}}}
        ]
    meta = {"name": "p", "namespace": "team", "annotations": annotations or {}, **metadata}

    return read(Pod, msgspec.json.encode({"metadata": meta, "status": status}))


@pytest.mark.parametrize(
    ("text", "index"), [("3", 3), ("0", 0), ("-1", NO_INDEX), ("x", NO_INDEX), ("", NO_INDEX), ("²", NO_INDEX)]
)
def test_an_index_is_a_number_or_none(text, index):
    assert index_of(pod(annotations={INDEX: text})) == index


def rule(action, **matches):
    return {"action": action, **matches}


CODES = {"onExitCodes": {"operator": "In", "values": [1, 42]}}
OTHERS = {"onExitCodes": {"operator": "NotIn", "values": [1, 42]}}
SIDE = {"onExitCodes": {"containerName": "side", "operator": "In", "values": [1]}}
LOST = {"onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
SAID = {"type": "DisruptionTarget", "status": "True"}


@pytest.mark.parametrize(
    ("rules", "failed", "counts", "action", "message"),
    [
        ([], pod(code=1), True, "", None),
        ([rule("Ignore", **CODES)], pod(code=42), False, "Ignore", None),
        ([rule("Ignore", **CODES)], pod(code=2), True, "", None),
        ([rule("Ignore", **OTHERS)], pod(code=2), False, "Ignore", None),
        ([rule("Ignore", **OTHERS)], pod(code=0), True, "", None),
        ([rule("Ignore", **SIDE)], pod(code=1), True, "", None),
        ([rule("Count", **CODES), rule("FailJob", **CODES)], pod(code=1), True, "Count", None),
        ([rule("FailIndex", **CODES)], pod(code=1), True, "FailIndex", None),
        (
            [rule("Ignore", **LOST), rule("FailJob", **CODES)],
            pod(code=1),
            True,
            "FailJob",
            "Container main for pod team/p failed with exit code 1 matching FailJob rule at index 1",
        ),
        (
            [rule("FailJob", **LOST)],
            pod(conditions=[SAID]),
            True,
            "FailJob",
            "Pod team/p has condition DisruptionTarget matching FailJob rule at index 0",
        ),
        ([rule("Ignore", **LOST)], pod(conditions=[{**SAID, "status": "False"}]), True, "", None),
    ],
)
def test_the_first_rule_that_matches_decides(rules, failed, counts, action, message):

    policy = read(FailurePolicy, msgspec.json.encode({"rules": rules}))
    assert judge(policy, failed) == (counts, message, action)


@pytest.mark.parametrize(
    ("rules", "done", "met"),
    [
        ([{"succeededCount": 2}], {0}, None),
        ([{"succeededCount": 2}], {0, 5}, "Matched rules at index 0"),
        ([{"succeededIndexes": "0-2"}], {0, 1}, None),
        ([{"succeededIndexes": "0-2"}], {0, 1, 2}, "Matched rules at index 0"),
        ([{"succeededIndexes": "0-2", "succeededCount": 1}], {2, 7}, "Matched rules at index 0"),
        ([{"succeededIndexes": "9"}, {"succeededIndexes": "1"}], {1}, "Matched rules at index 1"),
        ([{"succeededIndexes": "nonsense"}], {1}, None),
        ([{"succeededCount": 0}], set(), None),
    ],
)
def test_a_success_policy_is_met_by_one_of_its_rules(rules, done, met):

    policy = read(SuccessPolicy, msgspec.json.encode({"rules": rules}))
    job = Job(metadata=Metadata(name="j"), spec=JobSpec(completions=10, success_policy=policy))
    assert success(job, intervals(done)) == met


# --- waiting ---


def at(second, **options):
    return pod(code=1, finished=f"2027-01-15T08:00:{second:02}Z", **options)


def test_failures_add_up_until_a_success():
    record = Record().after([], [at(1), at(3)])
    assert record.failures == 2
    assert record.after([], []) == record
    assert record.after([], [at(9)]).failures == 3
    assert record.after([at(9)], []).failures == 0
    assert record.after([at(5)], [at(4), at(6), at(7)]).failures == 2, "only those after the success"


@pytest.mark.parametrize(("failures", "wait"), [(0, 0), (1, 10), (2, 20), (3, 40), (6, 320), (7, 600), (50, 600)])
def test_waits_double_up_to_ten_minutes(failures, wait):
    assert Record(failures, last_at=100.0).seconds_left(100.0) == wait
    assert Record(failures, last_at=100.0).seconds_left(100.0 + wait) == 0


@pytest.mark.parametrize(
    ("ended", "second"),
    [
        (at(7), 7),
        (
            pod(conditions=[{"type": "Ready", "status": "False", "lastTransitionTime": "2027-01-15T08:00:08Z"}]),
            8,
        ),
        (pod(deletionTimestamp="2027-01-15T08:00:40Z", deletionGracePeriodSeconds=30), 10),
        (pod(creationTimestamp="2027-01-15T08:00:02Z"), 2),
    ],
)
def test_the_end_of_a_pod_is_told_by_the_best_that_is_known(ended, second):
    assert finished_at(ended) == finished_at(at(second))


def test_a_pod_that_takes_the_place_of_another_knows_its_failures():
    job = Job(metadata=Metadata(name="j"))
    count = "batch.kubernetes.io/job-index-failure-count"
    assert next_failures(job, None) == {count: "0"}
    assert next_failures(job, pod(annotations={count: "2"})) == {count: "3"}
    assert next_failures(job, pod(annotations={count: "nonsense"})) == {count: "1"}
    assert next_failures(job, pod(annotations={count: "99999999999"})) == {count: "1"}
