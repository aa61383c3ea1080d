"""What a disruption budget allows, as far as it can be told."""

import pytest

from muster.api.calls import Done, Look, Refused
from muster.api.resources import DISRUPTION_BUDGETS, PODS, Resource
from muster.api.times import stamp
from muster.controllers.budgets import Budget, Budgets
from muster.controllers.objects import JOBS, Pod
from tests.controllers.world import World

SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
READY = [{"type": "Ready", "status": "True"}]


class Place(World):
    def __init__(self):
        super().__init__()
        self.budgets = Budgets()
        self.budgets.serve([JOBS, SETS, PODS])
        self.attach(self.budgets, {DISRUPTION_BUDGETS: Budget, PODS: Pod})

    def budget(self, name="b", *, selector=None, **spec):
        chosen = {"matchLabels": {"app": "a"}} if selector is None else selector
        self.create(
            DISRUPTION_BUDGETS, {"metadata": {"name": name}, "spec": {"selector": chosen, **spec}, "status": {}}
        )
        return self

    def pods(self, count, *, ready=None, owner=None, app="a", first=0):
        for number in range(first, first + count):
            up = number - first < (count if ready is None else ready)
            meta = {"name": f"p{number}", "labels": {"app": app}}
            if owner is not None:
                meta["ownerReferences"] = [owner]
            status = {"phase": "Running", "conditions": READY if up else []}
            self.create(PODS, {"metadata": meta, "spec": {"nodeName": "n"}, "status": status})
        return self

    def status(self, name="b"):
        return self.get(DISRUPTION_BUDGETS, name)["status"]

    def counts(self):
        status = self.status()
        return tuple(
            status[name] for name in ("currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed")
        )

    def condition(self):
        [one] = self.status()["conditions"]
        return one["status"], one["reason"], one["message"]


def owner(kind, name="o", version="apps/v1"):
    return {"apiVersion": version, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}


@pytest.mark.parametrize(
    ("pods", "ready", "least", "counts", "reason"),
    [
        (3, 3, 2, (3, 2, 3, 1), "SufficientPods"),
        (3, 2, 2, (2, 2, 3, 0), "InsufficientPods"),
        (3, 1, 2, (1, 2, 3, 0), "InsufficientPods"),
        (3, 3, 0, (3, 0, 3, 3), "SufficientPods"),
        (0, 0, 0, (0, 0, 0, 0), "InsufficientPods"),
    ],
)
def test_a_least_number_is_counted_against_the_pods_that_are_there(pods, ready, least, counts, reason):
    place = Place().pods(pods, ready=ready).budget(minAvailable=least).run()
    assert place.counts() == counts
    assert place.condition() == ("True" if reason == "SufficientPods" else "False", reason, "")
    assert place.status()["observedGeneration"] == 1
    assert place.status()["conditions"][0]["observedGeneration"] == 1


def test_a_budget_follows_its_pods():
    place = Place().pods(3).budget(minAvailable=1).run()
    assert place.status()["disruptionsAllowed"] == 2
    place.patch(PODS, "p0", {"status": {"conditions": []}}, subresource="status")
    assert place.run().status()["disruptionsAllowed"] == 1
    place.delete(PODS, "p1")
    assert place.run().status()["disruptionsAllowed"] == 0, "one that is on its way out is not healthy"
    place.patch(PODS, "p2", {"metadata": {"labels": {"app": "other"}}})
    assert place.run().status()["currentHealthy"] == 0


@pytest.mark.parametrize(
    ("selector", "expected"),
    [({}, 2), ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["a"]}]}, 1), ("none", 0)],
)
def test_an_empty_selector_means_all_and_none_means_none(selector, expected):
    place = Place().pods(1).pods(1, app="b", first=1)
    place.budget(minAvailable=0, selector={} if selector == "none" else selector)
    if selector == "none":
        place.patch(DISRUPTION_BUDGETS, "b", {"spec": {"selector": None}})
    assert place.run().status()["expectedPods"] == expected


def test_pods_of_a_kind_without_a_scale_make_a_share_unknowable():
    place = Place()
    place.create(JOBS, {"metadata": {"name": "o"}, "spec": {}}, uid="uid-o")
    place.answer = lambda call: Refused(code=404) if call.path.endswith("/scale") else None
    place.pods(2, owner=owner("Job", version="batch/v1")).budget(maxUnavailable=1).run()
    words = "jobs.batch does not implement the scale subresource"
    assert place.condition() == ("False", "SyncFailed", words)
    assert place.status()["disruptionsAllowed"] == 0
    failed = f"Failed to calculate the number of expected pods: {words}"
    assert ("CalculateExpectedPodCountFailed", failed) in place.events


def test_pods_of_a_kind_with_a_scale_are_counted_by_it():
    place = Place()
    scale = b'{"metadata":{"name":"o","uid":"uid-o"},"spec":{"replicas":10}}'
    place.answer = lambda call: Done(scale) if call.path.endswith("/replicasets/o/scale") else None
    place.pods(9, owner=owner("ReplicaSet")).budget(maxUnavailable="25%").run()
    assert place.counts() == (9, 7, 10, 2), "a quarter of ten is three, rounded up"


def test_a_percentage_that_must_be_there_is_rounded_up():
    place = Place()
    scale = b'{"metadata":{"name":"o","uid":"uid-o"},"spec":{"replicas":7}}'
    place.answer = lambda call: Done(scale) if call.path.endswith("/scale") else None
    place.pods(7, owner=owner("ReplicaSet")).budget(minAvailable="50%").run()
    assert place.counts() == (7, 4, 7, 3)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("ReplicaSet", 'found no controllers for pod "p0"'),
        ("Unheard", 'no matches for kind "Unheard" in version "apps/v1"'),
    ],
)
def test_a_controller_that_cannot_be_found_is_said(kind, words):
    place = Place().pods(1, owner=owner(kind)).budget(maxUnavailable=1).run()
    assert place.condition() == ("False", "SyncFailed", words)


def test_pods_that_nobody_controls_count_for_nothing_and_somebody_is_told():
    place = Place().pods(2).budget(maxUnavailable=1).run()
    assert place.counts() == (2, 0, 0, 0)
    [words] = {message for reason, message in place.events if reason == "UnmanagedPods"}
    assert words.startswith(
        "Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]string{app: a,},"
        "MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged."
    )


def test_pods_that_were_let_go_are_not_healthy_until_it_is_clear_that_they_stay():
    place = Place().pods(3).budget(minAvailable=1).run()
    place.patch(DISRUPTION_BUDGETS, "b", {"status": {"disruptedPods": {"p0": stamp(place.now)}}}, subresource="status")
    place.run(119)
    assert place.counts() == (2, 1, 3, 1)
    assert list(place.status()["disruptedPods"]) == ["p0"]
    place.run(3)
    assert place.counts() == (3, 1, 3, 2)
    assert place.status()["disruptedPods"] == {}
    assert ("NotDeleted", "Pod was expected by PDB team/team to be deleted but it wasn't") in place.events


def test_a_pod_that_was_let_go_and_goes_is_forgotten():
    place = Place().pods(3).budget(minAvailable=1).run()
    place.patch(DISRUPTION_BUDGETS, "b", {"status": {"disruptedPods": {"p0": stamp(place.now)}}}, subresource="status")
    place.delete(PODS, "p0")
    place.run(1)
    assert place.status()["disruptedPods"] == {}
    assert place.status()["disruptionsAllowed"] == 1


def test_a_word_that_a_pod_will_go_is_taken_back_after_two_minutes():
    place = Place().pods(1)
    said = {"type": "DisruptionTarget", "status": "True", "reason": "X", "lastTransitionTime": stamp(place.now)}
    place.patch(PODS, "p0", {"status": {"conditions": [said]}}, subresource="status")
    place.run(119)
    assert place.get(PODS, "p0")["status"]["conditions"][0]["status"] == "True"
    place.run(2)
    [condition] = place.get(PODS, "p0")["status"]["conditions"]
    assert condition["status"] == "False"
    assert "reason" not in condition


def test_nothing_is_written_that_is_so_already():
    place = Place().pods(3).budget(minAvailable=1).run()
    version = place.get(DISRUPTION_BUDGETS, "b")["metadata"]["resourceVersion"]
    place.patch(PODS, "p0", {"metadata": {"annotations": {"x": "y"}}})
    place.run(600)
    assert place.get(DISRUPTION_BUDGETS, "b")["metadata"]["resourceVersion"] == version


def test_a_conflict_leads_to_a_fresh_look():
    place = Place().pods(1)
    place.answer = lambda call: None if isinstance(call, Look) else Refused(code=409, reason="Conflict")
    place.budget(minAvailable=0).run(0.1)
    assert place.status() == {}
    place.answer = None
    assert place.run(10).status()["disruptionsAllowed"] == 1
