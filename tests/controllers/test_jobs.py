"""The Job controller alone, in virtual time: what becomes of Jobs, and that nothing is counted twice or lost.

That its outcomes are those of Kubernetes' own controller is shown by tests/control_plane/test_controllers.py.
"""

import itertools

import pytest

from muster.api.calls import Create, Delete, Lost, Patch, Refused
from muster.api.resources import NODES, PODS
from muster.controllers.job_groups import group_name, workload_name
from muster.controllers.job_objects import TRACKING, Job
from muster.controllers.job_ttl import FinishedJobs
from muster.controllers.jobs import Jobs
from muster.controllers.objects import JOBS, POD_GROUPS, WORKLOADS, Metadata, Pod, PodGroup, Workload
from muster.local import kubelets
from tests.controllers.world import World

READS = {JOBS: Job, PODS: Pod, WORKLOADS: Workload, POD_GROUPS: PodGroup}


class Place(World):
    """A node with a kubelet, and a Job controller."""

    def __init__(self, *, groups=False):
        super().__init__()
        self._groups = groups
        self._names = (f"{number:05}" for number in itertools.count())
        self.attach(kubelets.Kubelets(), {NODES: kubelets.Node, PODS: kubelets.Pod})
        self.create(NODES, kubelets.node_document("n", cpu="1000", pods=1000, now=self.now))
        self.jobs = None
        self.restart()

    def restart(self):
        """The controller's process dies, and another one begins."""
        if self.jobs is not None:
            self.forget(self.jobs)
        self.jobs = Jobs(names=self._names.__next__, groups=self._groups)
        self.attach(self.jobs, READS if self._groups else {JOBS: Job, PODS: Pod})
        return self

    def job(self, name="j", *, words=None, pod=None, metadata=None, **spec):
        """As the API server would have it."""
        label = {"batch.kubernetes.io/controller-uid": f"uid-{name}"}
        container = {"name": "main", "image": "img"}
        template = {
            "metadata": {"labels": label, "annotations": {f"muster.dev/{k}": str(v) for k, v in (words or {}).items()}},
            "spec": {"restartPolicy": "Never", "nodeName": "n", "containers": [container], **(pod or {})},
        }
        document = {
            "metadata": {"name": name, **(metadata or {})},
            "spec": {
                "parallelism": 1,
                "backoffLimit": 6,
                "completionMode": "NonIndexed",
                "suspend": False,
                "podReplacementPolicy": "TerminatingOrFailed",
                "selector": {"matchLabels": label},
                "template": template,
                **spec,
            },
            "status": {},
        }
        if "completions" not in spec and "parallelism" not in spec:
            document["spec"]["completions"] = 1
        self.create(JOBS, document, uid=f"uid-{name}")
        return self

    @property
    def pods(self):
        return sorted(self.all(PODS), key=lambda pod: pod["metadata"]["name"])

    def status(self, name="j"):
        return self.get(JOBS, name)["status"]

    def says(self, name="j"):
        """Conditions that hold, with their reasons."""
        return [
            f"{one['type']} {one['reason']}"
            for one in self.status(name).get("conditions", ())
            if one["status"] == "True"
        ]

    def change(self, name="j", **spec):
        self.patch(JOBS, name, {"spec": spec})
        return self

    def end(self, index=None, code=0):
        """Has one pod end now."""
        for pod in self.pods:
            place = pod["metadata"]["annotations"].get("batch.kubernetes.io/job-completion-index")
            if pod["status"]["phase"] == "Running" and index in (None, int(place or 0)):
                words = {"muster.dev/run-seconds": "0", "muster.dev/exit-code": str(code)}
                self.patch(PODS, pod["metadata"]["name"], {"metadata": {"annotations": words}})
                return self
        raise AssertionError("no such pod runs")

    def reasons(self):
        return [reason for reason, _ in self.events]


# --- pods ---


def test_a_job_starts_as_many_pods_as_it_may():
    place = Place().job(parallelism=3, completions=5).run(1)
    assert len(place.pods) == 3
    status = place.status()
    assert (status["active"], status["ready"], status["terminating"]) == (3, 3, 0)
    assert status["startTime"] == "2027-01-15T08:00:00Z"
    assert status["uncountedTerminatedPods"] == {}


def test_a_pod_is_named_labelled_owned_and_tracked():
    place = Place().job("train").run(1)
    [pod] = place.pods
    meta = pod["metadata"]
    assert (meta["name"], meta["generateName"]) == ("train-00000", "train-")
    assert meta["labels"] == {"batch.kubernetes.io/controller-uid": "uid-train"}
    assert meta["finalizers"] == [TRACKING]
    assert meta["ownerReferences"] == [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "train",
            "uid": "uid-train",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert place.events == [("SuccessfulCreate", "Created pod: train-00000")]


def test_pods_of_an_indexed_job_know_their_index():
    container = {"name": "main", "image": "i", "env": [{"name": "A", "value": "b"}]}
    first = {"name": "first", "image": "i", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "own"}]}
    place = Place().job(
        "train",
        parallelism=2,
        completions=2,
        completionMode="Indexed",
        pod={"containers": [container], "initContainers": [first]},
    )
    zero, one = place.run(1).pods
    assert [pod["metadata"]["generateName"] for pod in (zero, one)] == ["train-0-", "train-1-"]
    assert [pod["metadata"]["name"] for pod in (zero, one)] == ["train-0-00000", "train-1-00001"]
    assert one["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == "1"
    assert one["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] == "1"
    assert one["spec"]["hostname"] == "train-1"
    assert one["spec"]["containers"][0]["env"][1] == {
        "name": "JOB_COMPLETION_INDEX",
        "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}},
    }
    assert len(one["spec"]["initContainers"][0]["env"]) == 1, "what a container says itself stands"


def test_names_of_pods_are_cut_where_the_server_would_cut_them():
    name = "j" * 63
    place = Place().job(name, parallelism=1, completions=11, completionMode="Indexed").run(1)
    assert place.pods[0]["metadata"]["name"] == "j" * 55 + "-0-" + "00000"
    place = Place().job(name).run(1)
    assert place.pods[0]["metadata"]["name"] == "j" * 58 + "00000"


def test_pods_are_made_one_first_then_twice_as_many_each_time():
    place = Place()
    sizes = []
    work = place.jobs.work

    def counted(now):
        calls = work(now)
        if made := sum(isinstance(call, Create) for call in calls):
            sizes.append(made)
        return calls

    place.jobs.work = counted
    place.job(parallelism=20, completions=20).run(1)
    assert sizes == [1, 2, 4, 8, 5]


def test_pods_that_are_refused_are_tried_again_and_said_so():
    place = Place()
    place.answer = lambda call: Refused(code=403, message='pods "j-00000" is forbidden') if _makes_pod(call) else None
    place.job(parallelism=8, completions=8).run(10)
    assert place.pods == []
    assert place.status()["ready"] == 0
    assert place.events[0] == ("FailedCreate", 'Error creating: pods "j-" is forbidden')
    tries = len([call for call in place.calls if _makes_pod(call)])
    assert 3 <= tries <= 6, "1, 2, 4 ... seconds later"
    place.answer = None
    assert len(place.run(60).pods) == 8


def test_a_namespace_that_goes_takes_no_pods_and_nobody_complains():
    place = Place()
    place.terminating.add("team")
    place.job().run(10)
    assert place.events == []
    assert place.pods == []


def _makes_pod(call):
    return isinstance(call, Create) and call.path.endswith("/pods")


def test_a_job_that_wants_fewer_loses_those_that_are_least_advanced():
    place = Place().job(parallelism=3, completions=9).run(1)
    place.patch(PODS, "j-00001", {"spec": {"nodeName": ""}})
    place.change(parallelism=2).run(1)
    assert [pod["metadata"]["name"] for pod in place.pods] == ["j-00000", "j-00002"]
    assert place.status()["active"] == 2
    assert "failed" not in place.status() or place.status()["failed"] == 0
    assert ("SuccessfulDelete", "Deleted pod: j-00001") in place.events


def test_of_two_pods_with_one_index_one_goes():
    place = Place().job(parallelism=2, completions=2, completionMode="Indexed").run(1)
    place.patch(PODS, "j-1-00001", {"metadata": {"annotations": {"batch.kubernetes.io/job-completion-index": "0"}}})
    place.run(5)
    indexes = [pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for pod in place.pods]
    assert sorted(indexes) == ["0", "1"]


def test_pods_of_a_job_that_another_controller_manages_are_not_its_business():
    place = Place().job(managedBy="example.com/mine").run(5)
    assert place.pods == []
    assert place.status() == {}


# --- ends ---


@pytest.mark.parametrize(
    ("spec", "words", "seconds", "says", "counts"),
    [
        ({}, {"run-seconds": 1}, 5, "Complete CompletionsReached", (1, 0)),
        ({"completions": 3, "parallelism": 2}, {"run-seconds": 1}, 9, "Complete CompletionsReached", (3, 0)),
        ({"parallelism": 2}, {"run-seconds": 1}, 5, "Complete CompletionsReached", (2, 0)),
        ({"completions": 0}, {}, 5, "Complete CompletionsReached", (0, 0)),
        (
            {"completions": 3, "parallelism": 3, "completionMode": "Indexed"},
            {"run-seconds": 1},
            9,
            "Complete CompletionsReached",
            (3, 0),
        ),
        ({"backoffLimit": 0}, {"run-seconds": 1, "exit-code": 1}, 5, "Failed BackoffLimitExceeded", (0, 1)),
        ({"backoffLimit": 2}, {"run-seconds": 1, "exit-code": 1}, 60, "Failed BackoffLimitExceeded", (0, 3)),
        ({"activeDeadlineSeconds": 7}, {}, 10, "Failed DeadlineExceeded", (0, 1)),
        (
            {
                "podFailurePolicy": {
                    "rules": [{"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [9]}}]
                }
            },
            {"run-seconds": 1, "exit-code": 1},
            5,
            "Failed PodFailurePolicy",
            (0, 1),
        ),
    ],
)
def test_a_job_ends(spec, words, seconds, says, counts):
    place = Place().job(words=words, **spec).run(seconds)
    interim = "SuccessCriteriaMet" if says.startswith("Complete") else "FailureTarget"
    assert place.says() == [f"{interim} {says.split()[1]}", says]
    status = place.status()
    assert (status["succeeded"], status["failed"]) == counts
    assert (status["active"], status["ready"], status["terminating"]) == (0, 0, 0)
    assert all(TRACKING not in pod["metadata"].get("finalizers", ()) for pod in place.pods)
    assert place.events[-1][0] == ("Completed" if says.startswith("Complete") else says.split()[1])


def test_a_job_that_is_complete_says_when():
    place = Place().job(words={"run-seconds": 3}).run(10)
    assert place.status()["completionTime"] == "2027-01-15T08:00:03Z"
    assert [one["message"] for one in place.status()["conditions"]] == ["Reached expected number of succeeded pods"] * 2


def test_words_of_failures_are_those_of_kubernetes():
    policy = {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]}
    place = Place().job(podFailurePolicy=policy, words={"run-seconds": 1, "exit-code": 42}).run(5)
    words = "Container main for pod team/j-00000 failed with exit code 42 matching FailJob rule at index 0"
    assert place.events[-1] == ("PodFailurePolicy", words)
    place = Place().job(backoffLimit=0, words={"run-seconds": 1, "exit-code": 1}).run(5)
    assert place.events[-1] == ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
    place = Place().job(activeDeadlineSeconds=1).run(5)
    assert place.events[-1] == ("DeadlineExceeded", "Job was active longer than specified deadline")


@pytest.mark.parametrize(("failures", "seconds"), [(1, 10), (2, 20), (3, 40), (4, 80)])
def test_after_each_failure_the_next_pod_waits_longer(failures, seconds):
    place = Place().job(words={"run-seconds": 1, "exit-code": 1})
    for _ in range(failures):
        while not any(pod["status"]["phase"] == "Running" for pod in place.run(0.1).pods):
            pass
        while any(pod["status"]["phase"] == "Running" for pod in place.run(0.1).pods):
            pass
    ended = place.now
    while not any(pod["status"]["phase"] == "Running" for pod in place.run(0.1).pods):
        pass
    assert seconds - 1.5 < place.now - ended < seconds + 1.5


def test_a_success_makes_earlier_failures_forgotten():
    place = Place().job(parallelism=2, completions=9).run(1)
    place.end(code=1).run(2)
    place.end().run(0.5)
    assert len([pod for pod in place.pods if pod["status"]["phase"] == "Running"]) == 2, "no wait"


def test_a_job_waits_until_its_pods_have_stopped_before_it_is_over():
    place = Place().job(activeDeadlineSeconds=5, words={"stop-seconds": 10}).run(8)
    assert place.says() == ["FailureTarget DeadlineExceeded"]
    assert place.status()["terminating"] == 1
    assert place.run(10).says() == ["FailureTarget DeadlineExceeded", "Failed DeadlineExceeded"]


def test_restarts_in_place_count_as_failures():
    place = Place().job(backoffLimit=2, pod={"restartPolicy": "OnFailure"}, words={"run-seconds": 1, "exit-code": 1})
    assert place.run(30).says()[-1] == "Failed BackoffLimitExceeded"


def test_a_failure_that_is_ignored_costs_nothing():
    policy = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}
    place = Place().job(backoffLimit=0, podFailurePolicy=policy).run(1)
    said = {"status": {"conditions": [{"type": "DisruptionTarget", "status": "True"}]}}
    place.patch(PODS, "j-00000", said, subresource="status", strategic=True)
    place.delete(PODS, "j-00000")
    place.run(30)
    assert place.says() == []
    assert place.status()["failed"] == 0
    assert len(place.pods) == 1


def test_indexes_fail_on_their_own():
    place = Place().job(parallelism=3, completions=3, completionMode="Indexed", backoffLimitPerIndex=0).run(1)
    place.end(1, code=1).run(2)
    assert place.status()["failedIndexes"] == "1"
    assert place.says() == []
    place.end(0).run(1).end(2).run(2)
    assert place.says() == ["FailureTarget FailedIndexes", "Failed FailedIndexes"]
    assert place.status()["completedIndexes"] == "0,2"


def test_an_index_that_is_tried_again_remembers_its_failures():
    place = Place().job(parallelism=1, completions=1, completionMode="Indexed", backoffLimitPerIndex=2).run(1)
    place.end(0, code=1).run(5)
    assert TRACKING in place.pods[0]["metadata"]["finalizers"], "it stays until the next one knows of it"
    place.run(10)
    first, second = place.pods
    assert TRACKING not in first["metadata"].get("finalizers", ())
    assert second["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "1"
    assert place.status()["failed"] == 1


def test_a_success_policy_ends_a_job_early():
    policy = {"rules": [{"succeededIndexes": "1-2", "succeededCount": 1}]}
    place = Place().job(parallelism=3, completions=3, completionMode="Indexed", successPolicy=policy).run(1)
    place.end(0).run(2)
    assert place.says() == []
    place.end(2).run(5)
    assert place.says() == ["SuccessCriteriaMet SuccessPolicy", "Complete SuccessPolicy"]
    assert place.status()["conditions"][0]["message"] == "Matched rules at index 0"
    assert (place.status()["succeeded"], place.status()["failed"]) == (2, 0)


# --- suspension ---


def test_a_job_that_is_suspended_loses_its_pods_and_begins_anew_when_it_goes_on():
    place = Place().job(parallelism=2, completions=2).run(1)
    place.change(suspend=True).run(5)
    assert place.pods == []
    assert place.says() == ["Suspended JobSuspended"]
    assert "startTime" not in place.status()
    assert place.status()["failed"] == 0, "a pod that was taken away has not failed"
    place.run(100).change(suspend=False).run(1)
    assert len(place.pods) == 2
    assert place.says() == []
    assert place.status()["conditions"][0]["reason"] == "JobResumed"
    assert place.status()["startTime"] == "2027-01-15T08:01:46Z"
    assert place.reasons()[-3:] == ["SuccessfulCreate", "SuccessfulCreate", "Resumed"]


def test_a_job_that_is_born_suspended_makes_no_pods():
    place = Place().job(suspend=True, activeDeadlineSeconds=5).run(60)
    assert place.pods == []
    assert place.says() == ["Suspended JobSuspended"]


def test_a_job_that_fails_while_it_is_suspended_is_over():
    """The server takes no end without a start time: it would be refused for ever."""
    place = Place().job(backoffLimit=0).run(1)
    pod = PODS.path("team", place.pods[0]["metadata"]["name"])
    place.answer = lambda call: Refused(code=504, reason="Timeout") if call.path == pod else None
    place.change(suspend=True).run(0.5)
    assert place.says() == ["Suspended JobSuspended"]
    assert "startTime" not in place.status()
    place.answer = None
    # before its finalizer is off, so it counts as failed
    place.delete(PODS, place.pods[0]["metadata"]["name"])
    place.run(10)
    ends = ["FailureTarget BackoffLimitExceeded", "Failed BackoffLimitExceeded"]
    assert place.says() == ["Suspended JobSuspended", *ends]
    assert "startTime" in place.status()


# --- deletion ---


def test_a_job_that_is_being_deleted_frees_its_pods():
    place = Place().job(parallelism=2, completions=2).run(1)
    place.delete(JOBS, "j", propagation="Foreground")
    place.run(5)
    assert all(TRACKING not in pod["metadata"].get("finalizers", ()) for pod in place.pods)
    assert len(place.pods) == 2


def test_pods_of_a_job_that_is_gone_are_freed():
    place = Place().job(parallelism=2, completions=2).run(1)
    place.delete(JOBS, "j")
    place.run(5)
    assert place.get(JOBS, "j") is None
    assert all(TRACKING not in pod["metadata"].get("finalizers", ()) for pod in place.pods)


def test_a_pod_that_is_deleted_is_counted_and_replaced():
    place = Place().job().run(1)
    place.delete(PODS, "j-00000")
    place.run(15)
    assert [pod["metadata"]["name"] for pod in place.pods] == ["j-00001"]
    assert place.status()["failed"] == 1


def test_a_pod_may_be_replaced_only_when_it_is_over():
    place = Place().job(podReplacementPolicy="Failed", words={"stop-seconds": 5}).run(1)
    place.delete(PODS, "j-00000")
    place.run(4)
    assert len(place.pods) == 1
    assert (place.status()["terminating"], place.status()["failed"]) == (1, 0)
    place.run(20)
    assert [pod["metadata"]["name"] for pod in place.pods] == ["j-00001"]
    assert place.status()["failed"] == 1


def test_a_pod_that_nobody_controls_is_adopted_if_the_job_selects_it():
    place = Place()
    label = {"batch.kubernetes.io/controller-uid": "uid-j"}
    pod = {"metadata": {"name": "stray", "labels": label}, "spec": {"nodeName": "n", "containers": [{"name": "c"}]}}
    place.create(PODS, pod)
    place.job().run(1)
    [pod] = place.pods
    assert pod["metadata"]["ownerReferences"][0]["uid"] == "uid-j"
    assert pod["metadata"]["finalizers"] == [TRACKING]
    assert place.status()["active"] == 1


def test_a_pod_that_a_job_no_longer_selects_is_let_go():
    place = Place().job().run(1)
    place.patch(PODS, "j-00000", {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "other"}}})
    place.run(2)
    let_go, new = place.pods
    assert "ownerReferences" not in let_go["metadata"]
    assert "finalizers" not in let_go["metadata"]
    assert new["metadata"]["name"] == "j-00001"


def test_a_finalizer_of_a_job_on_a_pod_that_nobody_controls_is_taken_off():
    place = Place()
    place.create(PODS, {"metadata": {"name": "p", "finalizers": [TRACKING]}, "spec": {"containers": []}})
    place.run(1)
    assert "finalizers" not in place.pods[0]["metadata"]


def test_a_finalizer_on_a_pod_of_another_kind_of_controller_is_not_ours():
    place = Place()
    owner = {"apiVersion": "example.com/v1", "kind": "Job", "name": "x", "uid": "u", "controller": True}
    meta = {"name": "p", "finalizers": [TRACKING], "ownerReferences": [owner]}
    place.create(PODS, {"metadata": meta, "spec": {"nodeName": "n", "containers": [{"name": "c"}]}})
    place.run(1)
    place.delete(PODS, "p")
    assert place.run(60).pods[0]["metadata"]["finalizers"] == [TRACKING]


# --- time to live ---


def test_a_job_is_deleted_when_its_time_after_its_end_is_over():
    place = Place()
    place.attach(FinishedJobs(), {JOBS: Job})
    place.job("short", ttlSecondsAfterFinished=20, words={"run-seconds": 1})
    place.job("kept", words={"run-seconds": 1}).run(15)
    assert place.get(JOBS, "short") is not None
    place.run(10)
    assert place.get(JOBS, "short")["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert "deletionTimestamp" not in place.get(JOBS, "kept")["metadata"]


def test_a_job_may_be_given_more_time():
    place = Place()
    place.attach(FinishedJobs(), {JOBS: Job})
    place.job(ttlSecondsAfterFinished=20, words={"run-seconds": 1}).run(15)
    place.change(ttlSecondsAfterFinished=1000).run(500)
    assert "deletionTimestamp" not in place.get(JOBS, "j")["metadata"]


# --- groups ---


def test_each_job_of_its_own_has_a_workload_and_a_group():
    place = Place(groups=True).job("train", parallelism=2, completions=2, pod={"priorityClassName": "high"}).run(1)
    job = Job(metadata=Metadata(name="train", uid="uid-train"))
    [workload], [group] = place.all(WORKLOADS), place.all(POD_GROUPS)
    assert workload["metadata"]["name"] == workload_name(job)
    template = {"name": "train-pgt-0", "schedulingPolicy": {"basic": {}}, "priorityClassName": "high"}
    assert workload["spec"] == {
        "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "train"},
        "podGroupTemplates": [template],
    }
    assert group["metadata"]["name"] == group_name(workload["metadata"]["name"], "train-pgt-0")
    assert [owner["kind"] for owner in group["metadata"]["ownerReferences"]] == ["Job", "Workload"]
    assert group["spec"] == {
        "schedulingPolicy": {"basic": {}},
        "priorityClassName": "high",
        "workloadRef": {"workloadName": workload["metadata"]["name"], "templateName": "train-pgt-0"},
    }
    assert all(pod["spec"]["schedulingGroup"] == {"podGroupName": group["metadata"]["name"]} for pod in place.pods)
    assert place.reasons()[:2] == ["WorkloadCreated", "PodGroupCreated"]


def test_a_gang_is_as_large_as_its_job_and_changes_with_it():
    gang = {"schedulingPolicy": {"gang": {}}}
    place = Place(groups=True).job(parallelism=3, completions=9, scheduling=gang).run(1)

    def sizes():
        [template] = place.all(WORKLOADS)[0]["spec"]["podGroupTemplates"]
        policies = (template["schedulingPolicy"], place.all(POD_GROUPS)[0]["spec"]["schedulingPolicy"])
        return [policy["gang"]["minCount"] for policy in policies]

    assert sizes() == [3, 3]
    place.change(parallelism=5).run(2)
    assert sizes() == [5, 5]
    place.change(scheduling={"schedulingPolicy": {"gang": {"minCount": 2}}}).run(2)
    assert sizes() == [2, 2]


def test_suspension_keeps_the_group():
    place = Place(groups=True).job(suspend=True).run(1)
    [group] = place.all(POD_GROUPS)
    place.change(suspend=False).run(1)
    assert place.all(POD_GROUPS) == [group]
    assert place.pods[0]["spec"]["schedulingGroup"]["podGroupName"] == group["metadata"]["name"]


@pytest.mark.parametrize(
    "options",
    [
        {"pod": {"schedulingGroup": {"podGroupName": "mine"}}},
        {"metadata": {"ownerReferences": [{"kind": "CronJob", "uid": "u", "name": "c", "controller": True}]}},
    ],
)
def test_jobs_whose_pods_are_grouped_or_that_another_controller_owns_get_no_group(options):
    place = Place(groups=True).job(**options).run(1)
    assert place.all(WORKLOADS) == place.all(POD_GROUPS) == []
    assert len(place.pods) == 1


def a_workload_of_another_controller():
    templates = [
        {"name": "driver", "schedulingPolicy": {"basic": {}}},
        {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 4}}},
    ]
    named = {"apiGroup": "example.com", "kind": "Set", "name": "set"}
    return {"metadata": {"name": "set-workload"}, "spec": {"controllerRef": named, "podGroupTemplates": templates}}


def delegated():
    """Metadata of a Job of that controller."""
    owner = {"apiVersion": "example.com/v1", "kind": "Set", "name": "set", "uid": "u", "controller": True}
    return {"ownerReferences": [owner], "annotations": {"scheduling.k8s.io/group-template-name": "workers"}}


def test_a_controller_may_leave_the_group_of_its_job_to_us():
    place = Place(groups=True)
    place.create(WORKLOADS, a_workload_of_another_controller())
    place.job(metadata=delegated()).run(1)
    [group] = place.all(POD_GROUPS)
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 4}}
    assert group["metadata"]["name"] == group_name("set-workload", "workers")
    assert [one["kind"] for one in group["metadata"]["ownerReferences"]] == ["Job"]
    template = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 6}}}
    place.patch(WORKLOADS, "set-workload", {"spec": {"podGroupTemplates": [template]}}, strategic=True)
    place.change(parallelism=2).run(2)
    assert place.all(POD_GROUPS)[0]["spec"]["schedulingPolicy"] == {"gang": {"minCount": 6}}


def test_a_job_may_be_seen_before_the_workload_of_its_controller():
    place = Place(groups=True)
    place.forget(place.jobs)
    place.attach(place.jobs, {where: kind for where, kind in READS.items() if where != WORKLOADS})
    place.create(WORKLOADS, a_workload_of_another_controller())
    place.job(metadata=delegated()).run(1)
    [group] = place.all(POD_GROUPS)
    [pod] = place.pods
    assert pod["spec"]["schedulingGroup"] == {"podGroupName": group["metadata"]["name"]}


def test_a_job_whose_controller_has_no_workload_is_scheduled_pod_by_pod():
    place = Place(groups=True).job(metadata=delegated()).run(1)
    assert place.all(POD_GROUPS) == []
    assert len(place.pods) == 1


def test_a_job_that_has_started_goes_on_without_a_group():
    place = Place(groups=True).job()
    place.patch(JOBS, "j", {"status": {"startTime": "2027-01-15T08:00:00Z"}}, subresource="status")
    place.run(1)
    assert place.all(WORKLOADS) == []
    assert len(place.pods) == 1


def test_a_workload_that_cannot_be_made_holds_the_job_up():
    place = Place(groups=True)
    place.answer = lambda call: Refused(code=422, message="too long") if call.path.endswith("/workloads") else None
    place.job().run(5)
    assert place.pods == []
    assert place.events[0] == ("FailedWorkloadCreate", "Failed to create Workload for Job j: too long")
    place.answer = None
    assert len(place.run(60).pods) == 1


@pytest.mark.parametrize(
    ("workload", "template", "lengths"),
    [("w" * 100, "t" * 100, (100, 100)), ("w" * 250, "t" * 50, (None, 50)), ("w" * 50, "t" * 250, (50, None))],
)
def test_long_names_share_the_room(workload, template, lengths):
    name = group_name(workload, template)
    assert len(name) <= 253
    first, second, _ = name.split("-")
    assert lengths[0] in (None, len(first))
    assert lengths[1] in (None, len(second))


# --- whatever happens ---


class Dying(Exception):
    pass


def _fair(place):
    """What must be true at the end, however often the controller died on the way."""
    status, pods = place.status(), place.pods
    ends = [pod["status"]["phase"] for pod in pods]
    assert status["succeeded"] == ends.count("Succeeded")
    assert status["failed"] == ends.count("Failed")
    assert status["uncountedTerminatedPods"] == {}
    assert all(TRACKING not in pod["metadata"].get("finalizers", ()) for pod in pods)


JOBS_TO_SURVIVE = {
    "plain": {"parallelism": 2, "completions": 4, "words": {"run-seconds": 1}},
    "indexed": {"parallelism": 2, "completions": 4, "completionMode": "Indexed", "words": {"run-seconds": 1}},
    "failing": {"parallelism": 2, "completions": 2, "backoffLimit": 3, "words": {"run-seconds": 1, "exit-code": 1}},
}


@pytest.mark.parametrize("name", JOBS_TO_SURVIVE)
@pytest.mark.parametrize("done", [True, False], ids=["after the call was done", "before it was"])
def test_every_pod_is_counted_once_whenever_the_controller_dies(name, done):
    number = 0
    while True:
        place = Place()
        calls = itertools.count()

        def dies(call, place=place, calls=calls, last=number):
            if _is_the_controllers(call) and next(calls) == last:
                if done:
                    place._do(call)
                raise Dying

        place.answer = dies
        place.job(**JOBS_TO_SURVIVE[name])
        died = False
        try:
            place.run(300)
        except Dying:
            died = True
            place.answer = None
            place.restart().run(300)
        _fair(place)
        assert place.says()[-1].startswith(("Complete", "Failed"))
        if not died:
            break
        number += 1
    assert number > 10


def _is_the_controllers(call):
    """Kubelets renew leases, report into the status of pods, and take out those that go."""
    if "/leases" in call.path or "/nodes" in call.path:
        return False
    reports = isinstance(call, Patch) and "/pods/" in call.path and call.path.endswith("/status")
    removes = isinstance(call, Delete) and call.grace_seconds == 0
    return not reports and not removes


@pytest.mark.parametrize("name", JOBS_TO_SURVIVE)
@pytest.mark.parametrize(
    "answer", [Lost("cut"), Refused(code=500, message="oops"), Refused(code=409, reason="Conflict")]
)
def test_every_pod_is_counted_once_whatever_is_refused(name, answer):
    place = Place()
    numbers = itertools.count()

    def refuses(call):
        if not _is_the_controllers(call) or next(numbers) % 3:
            return None
        if isinstance(answer, Lost) and not isinstance(call, Create):
            place._do(call)
        return answer

    place.answer = refuses
    place.job(**JOBS_TO_SURVIVE[name]).run(900)
    _fair(place)
    assert place.says()[-1].startswith(("Complete", "Failed"))


def test_a_large_job_is_counted_in_pieces():
    place = Place().job(parallelism=700, completions=700, words={"run-seconds": 5})
    most = 0
    for _ in range(120):
        place.run(0.25)
        uncounted = place.status().get("uncountedTerminatedPods", {})
        most = max(most, len(uncounted.get("succeeded", ())))
    assert most <= 500
    assert place.says()[-1] == "Complete CompletionsReached"
    _fair(place)


def test_a_job_costs_few_writes():
    place = Place().job(words={"run-seconds": 1}).run(60)
    writes = [call.path for call in place.calls if isinstance(call, Patch) and "/jobs/" in call.path]
    assert len(writes) == 4, "active, ready, uncounted and how it will end, counted and over"
