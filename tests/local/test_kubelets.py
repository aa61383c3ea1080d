"""Simulated kubelets: what becomes of pods that are bound to nodes, in virtual time."""

import json

import msgspec
import pytest

from muster.api.calls import Create, Delete, Done, Lost, Patch, Refused, Say
from muster.api.times import seconds, stamp
from muster.api.wire import read
from muster.local.kubelets import Kubelets, Node, Pod, admission, node_document

START = seconds("2027-01-15T08:00:00Z")


class World:
    """Kubelets with an API server of a few lines: calls are answered at once, and what comes of them is seen."""

    def __init__(self):
        self.now = START
        self.kubelets = Kubelets()
        self.nodes = {}
        self.pods = {}
        self.leases = {}
        self.events = []
        self.calls = []
        self.answer = None
        """Instead of doing what a call asks for: a function that answers it, or gives None."""
        self._version = 0

    # what users do

    def node(self, name="n", *, taints=(), annotations=None, **options):
        document = node_document(name, now=self.now, **options)
        document["metadata"] |= {"uid": f"uid-{name}", "annotations": dict(annotations or {})}
        document["spec"] = {"taints": list(taints)}
        self.nodes[name] = document
        self._show(document)
        return self

    def change_node(self, name="n", *, annotations=None, ready=None):
        document = self.nodes[name]
        if annotations is not None:
            document["metadata"]["annotations"] = annotations
        if ready is not None:
            for condition in document["status"]["conditions"]:
                if condition["type"] == "Ready":
                    condition["status"] = ready
        self._show(document)

    def remove_node(self, name="n"):
        document = self.nodes.pop(name)
        self.kubelets.gone("/api/v1/nodes", read(Node, document))

    def pod(self, name="p", *, node="n", cpu=None, restart="Never", phase="Pending", annotations=None, **spec):
        container = {"name": "main", "image": "img"}
        if cpu is not None:
            container["resources"] = {"requests": {"cpu": str(cpu)}}
        self.pods[name] = {
            "metadata": {
                "name": name,
                "namespace": "team",
                "uid": f"uid-{name}",
                "generation": 1,
                "annotations": {f"muster.dev/{key}": str(value) for key, value in (annotations or {}).items()},
            },
            "spec": {"nodeName": node, "containers": [container], "restartPolicy": restart, **spec},
            "status": {"phase": phase},
        }
        self._show(self.pods[name])
        return self

    def delete(self, name="p", *, grace=30):
        meta = self.pods[name]["metadata"]
        meta |= {"deletionTimestamp": stamp(self.now + grace), "deletionGracePeriodSeconds": grace}
        self._show(self.pods[name])
        return self

    # time

    def run(self, seconds=0.0):
        """Lets so much time pass, and everything happen that is due in it."""
        until = self.now + seconds
        while True:
            for call in self.kubelets.work(self.now):
                self._carry_out(call)
            at = self.kubelets.next_at
            if at is None or at > until:
                break
            self.now = max(self.now, at)
        self.now = until
        return self

    def restart(self):
        """New kubelets, which know only what the API has."""
        self.kubelets = Kubelets()
        for document in (*self.nodes.values(), *self.pods.values()):
            self._show(document)
        return self

    def status(self, name="p"):
        return self.pods[name]["status"]

    def conditions(self, name="p"):
        return {
            one["type"]: one["status"] + (f" {one['reason']}" if one.get("reason") else "")
            for one in self.status(name)["conditions"]
        }

    # the server

    def _carry_out(self, call):
        self.calls.append(call)
        if isinstance(call, Say):
            self.events.append((call.reason, call.message))
            return
        answer = self.answer(call) if self.answer is not None else None
        self.kubelets.answered(call, answer or self._answer(call), self.now)

    def _answer(self, call):
        json.dumps(call.body if not isinstance(call, Delete) else {})
        if "leases" in call.path:
            return self._lease(call)
        name = call.path.removesuffix("/status").rpartition("/")[2]
        kind = self.nodes if "/nodes/" in call.path else self.pods
        document = kind.get(name)
        if document is None:
            return Refused(code=404, reason="NotFound")
        if isinstance(call, Delete):
            assert call.uid == document["metadata"]["uid"]
            assert call.grace_seconds == 0
            if not document["metadata"].get("finalizers"):
                del kind[name]
                self.kubelets.gone("", read(Pod, document))
            return Done()
        assert call.strategic
        assert call.body["metadata"]["uid"] == document["metadata"]["uid"]
        _merge(document["status"], call.body["status"])
        self._show(document)
        return Done()

    def _lease(self, call):
        name = call.path.rpartition("/")[2]
        if isinstance(call, Create):
            self.leases[call.body["metadata"]["name"]] = call.body["spec"]
            return Done()
        if name not in self.leases:
            return Refused(code=404, reason="NotFound")
        self.leases[name] = call.body["spec"]
        return Done()

    def _show(self, document):
        self._version += 1
        document["metadata"]["resourceVersion"] = str(self._version)
        kind = Pod if "containers" in document["spec"] else Node
        self.kubelets.seen("", read(kind, msgspec.json.encode(document)))


def _merge(status, patch):
    """As a strategic merge of a pod's or node's status does it."""
    for key, value in patch.items():
        if key == "conditions":
            known = {one["type"]: one for one in status.setdefault("conditions", [])}
            for one in value:
                if one["type"] not in known:
                    known[one["type"]] = {}
                    status["conditions"].append(known[one["type"]])
                _merge(known[one["type"]], one)
        elif value is None:
            status.pop(key, None)
        else:
            status[key] = value


def world():
    return World().node()


# --- running ---


def test_a_bound_pod_runs():
    place = world().pod().run()
    status = place.status()
    assert status["phase"] == "Running"
    assert status["startTime"] == "2027-01-15T08:00:00Z"
    assert status["podIP"] == "10.0.0.2"
    assert status["podIPs"] == [{"ip": "10.0.0.2"}]
    assert status["hostIP"] == place.nodes["n"]["status"]["addresses"][0]["address"]
    [container] = status["containerStatuses"]
    assert container["state"] == {"running": {"startedAt": "2027-01-15T08:00:00Z"}}
    assert (container["ready"], container["started"], container["restartCount"]) == (True, True, 0)
    assert place.conditions() == dict.fromkeys(
        ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"), "True"
    )
    assert all(one["observedGeneration"] == 1 for one in status["conditions"])


def test_a_pod_without_a_word_about_its_end_runs_until_it_is_deleted():
    assert world().pod().run(1_000_000).status()["phase"] == "Running"


def test_init_containers_have_done_their_work():
    place = (
        world()
        .pod(
            initContainers=[{"name": "setup", "image": "i"}, {"name": "side", "image": "i", "restartPolicy": "Always"}]
        )
        .run()
    )
    setup, side = place.status()["initContainerStatuses"]
    assert setup["state"]["terminated"]["exitCode"] == 0
    assert "running" in side["state"]


@pytest.mark.parametrize(
    ("annotations", "phase", "code", "reason"),
    [
        ({"run-seconds": 5}, "Succeeded", 0, "Completed"),
        ({"run-seconds": 5, "exit-code": 0}, "Succeeded", 0, "Completed"),
        ({"run-seconds": 5, "exit-code": 3}, "Failed", 3, "Error"),
        ({"run-seconds": 0}, "Succeeded", 0, "Completed"),
        ({"run-seconds": -1}, "Succeeded", 0, "Completed"),
    ],
)
def test_a_pod_ends_as_it_says(annotations, phase, code, reason):
    place = world().pod(annotations=annotations).run(5)
    assert place.status()["phase"] == phase
    state = place.status()["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"]) == (code, reason)
    assert state["startedAt"] == "2027-01-15T08:00:00Z"


@pytest.mark.parametrize("words", ["", "soon", "nan", "inf", "1e400"])
def test_a_pod_that_says_nothing_sensible_runs_on(words):
    assert world().pod(annotations={"run-seconds": words}).run(100_000).status()["phase"] == "Running"


def test_a_pod_runs_for_fractions_of_a_second():
    place = world().pod(annotations={"run-seconds": 0.25}).run(0.24)
    assert place.status()["phase"] == "Running"
    assert place.run(0.02).status()["phase"] == "Succeeded"


def test_a_pod_that_has_succeeded_says_so_in_its_conditions():
    place = world().pod(annotations={"run-seconds": 1}).run(1)
    assert place.conditions() == {
        "PodReadyToStartContainers": "False",
        "Initialized": "True PodCompleted",
        "Ready": "False PodCompleted",
        "ContainersReady": "False PodCompleted",
        "PodScheduled": "True",
    }
    changed = {one["type"]: one["lastTransitionTime"] for one in place.status()["conditions"]}
    assert changed["Ready"] == "2027-01-15T08:00:01Z"
    assert changed["Initialized"] == "2027-01-15T08:00:00Z", "it was initialised before, too"


def test_a_pod_that_has_failed_says_so_in_its_conditions():
    place = world().pod(annotations={"run-seconds": 1, "exit-code": 1}).run(1)
    assert place.conditions()["Ready"] == "False PodFailed"
    assert place.conditions()["Initialized"] == "True"


def test_a_pod_with_a_deadline_of_its_own_fails_when_it_is_past():
    place = world().pod(activeDeadlineSeconds=7).run(6.9)
    assert place.status()["phase"] == "Running"
    place.run(0.1)
    assert (place.status()["phase"], place.status()["reason"]) == ("Failed", "DeadlineExceeded")
    assert place.status()["message"] == "Pod was active on the node longer than the specified deadline"


# --- starting again ---


def test_a_pod_that_must_not_fail_is_started_again_with_growing_rests():
    place = world().pod(restart="OnFailure", annotations={"run-seconds": 1, "exit-code": 2}).run(1)
    [container] = place.status()["containerStatuses"]
    assert container["restartCount"] == 1, "the first time at once"
    assert "running" in container["state"]
    assert container["lastState"]["terminated"]["exitCode"] == 2
    place.run(1)
    [container] = place.status()["containerStatuses"]
    assert container["restartCount"] == 1
    assert container["state"]["waiting"] == {
        "reason": "CrashLoopBackOff",
        "message": "back-off 10s restarting failed container=main pod=p_team(uid-p)",
    }
    assert place.status()["phase"] == "Running"
    assert place.conditions()["Ready"] == "False ContainersNotReady"
    place.run(10)
    [container] = place.status()["containerStatuses"]
    assert container["restartCount"] == 2
    assert "running" in container["state"]
    assert place.conditions()["Ready"] == "True"
    assert "reason" not in place.status()["conditions"][2]
    place.run(1 + 19)
    assert place.status()["containerStatuses"][0]["state"]["waiting"]["message"].startswith("back-off 20s")
    assert place.run(1).status()["containerStatuses"][0]["restartCount"] == 3


def test_rests_end_at_five_minutes():
    place = world().pod(restart="OnFailure", annotations={"run-seconds": 1, "exit-code": 2}).run(3600)
    assert place.status()["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 2
    count = place.status()["containerStatuses"][0]["restartCount"]
    assert place.run(3010).status()["containerStatuses"][0]["restartCount"] == count + 10


def test_a_pod_with_policy_on_failure_succeeds_when_it_does():
    place = world().pod(restart="OnFailure", annotations={"run-seconds": 1}).run(1)
    assert place.status()["phase"] == "Succeeded"


def test_a_pod_with_policy_always_is_started_again_whatever_it_says():
    place = world().pod(restart="Always", annotations={"run-seconds": 1}).run(1)
    assert place.status()["phase"] == "Running"
    assert place.status()["containerStatuses"][0]["restartCount"] == 1


def test_containers_of_different_runs_have_different_ids():
    place = world().pod(restart="OnFailure", annotations={"run-seconds": 1, "exit-code": 2}).run()
    first = place.status()["containerStatuses"][0]["containerID"]
    place.run(1)
    [again] = place.status()["containerStatuses"]
    assert again["containerID"] != first
    assert again["lastState"]["terminated"]["containerID"] == first


# --- admission ---

GPU = "nvidia.com/gpu"


def _wants(**requests):
    return [{"name": "main", "resources": {"requests": {key: str(value) for key, value in requests.items()}}}]


@pytest.mark.parametrize(
    ("node", "first", "second", "reason", "message"),
    [
        (
            {"cpu": "8"},
            {"cpu": "7500m"},
            {"cpu": 2},
            "OutOfcpu",
            "Node didn't have enough resource: cpu, requested: 2000, used: 7500, capacity: 8000",
        ),
        (
            {"memory": "1Gi"},
            {"memory": "1Gi"},
            {"memory": "1Mi"},
            "OutOfmemory",
            "Node didn't have enough resource: memory, requested: 1048576, used: 1073741824, capacity: 1073741824",
        ),
        (
            {"pods": 1},
            {},
            {"cpu": 100},
            "OutOfpods",
            "Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1",
        ),
        (
            {"gpu": 4},
            {GPU: 3},
            {GPU: 2},
            "OutOfnvidia.com/gpu",
            "Node didn't have enough resource: nvidia.com/gpu, requested: 2, used: 3, capacity: 4",
        ),
        (
            {},
            {},
            {"hugepages-2Mi": "4Mi"},
            "OutOfhugepages-2Mi",
            "Node didn't have enough resource: hugepages-2Mi, requested: 4194304, used: 0, capacity: 0",
        ),
    ],
)
def test_what_does_not_fit_is_refused(node, first, second, reason, message):
    place = World().node(**node)
    place.pod("first", containers=_wants(**first)).run()
    place.pod("second", containers=_wants(**second)).run()
    assert place.status("first")["phase"] == "Running"
    assert place.status("second") == {
        "phase": "Failed",
        "reason": reason,
        "message": f"Pod was rejected: {message}",
        "startTime": "2027-01-15T08:00:00Z",
        "observedGeneration": 1,
    }
    assert place.events == [(reason, message)]


def test_devices_that_a_node_has_never_heard_of_are_not_its_business():
    place = world().pod(containers=_wants(**{"example.com/dongle": 5})).run()
    assert place.status()["phase"] == "Running"


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        (
            {"nodeSelector": {"zone": "a"}},
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        ),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
                        }
                    }
                }
            },
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        ),
        (
            {"containers": [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 8080}]}]},
            "NodePorts",
            "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
        ),
    ],
)
def test_what_does_not_belong_there_is_refused(spec, reason, message):
    place = world().pod("first", containers=[{"name": "c", "ports": [{"hostPort": 8080}]}]).run()
    place.pod(**spec).run()
    assert (place.status()["phase"], place.status()["reason"]) == ("Failed", reason)
    assert place.status()["message"] == f"Pod was rejected: {message}"


@pytest.mark.parametrize(
    ("effect", "tolerations", "phase"),
    [
        ("NoExecute", [], "Failed"),
        ("NoSchedule", [], "Running"),
        ("NoExecute", [{"operator": "Exists"}], "Running"),
        ("NoExecute", [{"key": "gpu", "value": "yes"}], "Running"),
        ("NoExecute", [{"key": "gpu", "value": "no"}], "Failed"),
        ("NoExecute", [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}], "Failed"),
    ],
)
def test_a_kubelet_looks_at_taints_that_drive_pods_away_only(effect, tolerations, phase):
    place = World().node(taints=[{"key": "gpu", "value": "yes", "effect": effect}])
    place.pod(tolerations=tolerations).run()
    assert place.status()["phase"] == phase
    if phase == "Failed":
        words = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
        assert place.status()["message"] == f"Pod was rejected: {words}"


def test_room_is_free_again_when_a_pod_has_ended():
    place = world().pod("first", cpu=8, annotations={"run-seconds": 1}).run(2)
    assert place.pod("second", cpu=8).run().status("second")["phase"] == "Running"


def test_room_is_free_again_when_a_pod_is_gone():
    place = world().pod("first", cpu=8).run()
    place.delete("first").run()
    assert "first" not in place.pods
    assert place.pod("second", cpu=8).run().status("second")["phase"] == "Running"


def test_pods_that_run_already_keep_their_room_when_the_kubelets_are_new():
    place = world().pod("first", cpu=6).run().restart()
    assert place.pod("second", cpu=6).run().status("second")["reason"] == "OutOfcpu"


def test_pods_have_addresses_of_their_own():
    place = world().node("m")
    for number in range(300):
        place.pod(f"p{number}", node="n" if number % 2 else "m")
    place.run()
    addresses = [place.status(name)["podIP"] for name in place.pods if place.status(name)["phase"] == "Running"]
    assert len(addresses) == len(set(addresses)) == 220


def test_an_address_is_used_again_when_its_pod_is_gone():
    place = world().pod("first").run()
    address = place.status("first")["podIP"]
    place.delete("first").run()
    assert place.pod("second").run().status("second")["podIP"] == address


def test_new_kubelets_give_no_address_twice():
    place = world().pod("first").run().restart()
    assert place.pod("second").run().status("second")["podIP"] != place.status("first")["podIP"]


def test_a_pod_in_its_nodes_network_has_its_nodes_address():
    place = world().pod(hostNetwork=True).run()
    assert place.status()["podIP"] == place.status()["hostIP"]


# --- deletion ---


def test_a_pod_that_is_deleted_stops_at_once_and_is_taken_out():
    place = world().pod().run()
    place.calls.clear()
    place.delete().run()
    assert place.pods == {}
    report, removal = place.calls
    assert report.body["status"]["phase"] == "Failed"
    assert report.body["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
    assert (removal.uid, removal.grace_seconds) == ("uid-p", 0)


def test_a_pod_takes_the_time_to_stop_that_it_says():
    place = world().pod(annotations={"stop-seconds": 4}).run().delete().run(3.9)
    assert place.status()["phase"] == "Running"
    assert place.run(0.2).pods == {}


def test_a_pod_that_does_not_stop_in_its_grace_is_killed():
    place = world().pod(annotations={"stop-seconds": 100}).run()
    place.delete(grace=5).run(4.9)
    place.calls.clear()
    assert place.run(0.2).pods == {}
    assert place.calls[0].body["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137


def test_a_shorter_grace_counts_from_when_it_is_asked_for():
    place = world().pod(annotations={"stop-seconds": 100}).run().delete(grace=30).run(2)
    assert place.delete(grace=1).run(1.1).pods == {}


def test_a_pod_that_has_ended_is_taken_out_at_once():
    place = world().pod(annotations={"run-seconds": 1}).run(1)
    place.calls.clear()
    assert place.delete().run().pods == {}
    assert [type(call) for call in place.calls] == [Delete]


def test_a_pod_that_never_ran_is_said_to_have_failed_before_it_goes():
    place = world().pod().delete().run()
    assert [type(call) for call in place.calls if "pods" in call.path] == [Patch, Delete]
    assert place.pods == {}


def test_a_pod_that_somebody_holds_is_asked_to_go_once():
    place = world().pod(annotations={"run-seconds": 1}).run(1)
    place.pods["p"]["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking"]
    place.delete().run()
    place.calls.clear()
    assert place.run(5).calls == [], "until it changes"


# --- nodes ---


def test_a_node_gets_a_lease_which_is_renewed_every_ten_seconds():
    place = world().run()
    assert place.leases["n"] == {
        "holderIdentity": "n",
        "leaseDurationSeconds": 40,
        "renewTime": "2027-01-15T08:00:00.000000Z",
    }
    renewals = []
    for _ in range(100):
        place.run(1)
        renewals.append(place.leases["n"]["renewTime"])
    assert 10 <= len(set(renewals)) <= 12


def test_a_lease_names_its_node_as_owner():
    place = world().run()
    [made] = [call for call in place.calls if isinstance(call, Create)]
    assert made.body["metadata"] == {
        "name": "n",
        "namespace": "kube-node-lease",
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "uid-n"}],
    }


def test_a_lease_that_was_taken_away_is_made_again():
    place = world().run()
    place.leases.clear()
    assert "n" in place.run(11).leases


def test_a_namespace_for_leases_may_come_later():
    place = world()
    place.answer = lambda call: Refused(code=404) if "leases" in call.path else None
    place.run(30)
    assert len(place.calls) < 50
    place.answer = None
    assert "n" in place.run(2).leases


def test_a_node_that_is_well_says_so_every_five_minutes():
    place = world().run(3600)
    reports = [call for call in place.calls if call.path == "/api/v1/nodes/n/status"]
    assert 11 <= len(reports) <= 13
    ready = place.nodes["n"]["status"]["conditions"][3]
    assert ready["type"] == "Ready"
    assert ready["lastTransitionTime"] == "2027-01-15T08:00:00Z"
    assert ready["lastHeartbeatTime"] > "2027-01-15T08:50:00Z"


def test_a_node_that_others_think_lost_speaks_up_at_once():
    place = world().run()
    place.change_node(ready="Unknown")
    place.run()
    ready = place.nodes["n"]["status"]["conditions"][3]
    assert (ready["status"], ready["reason"], ready["message"]) == (
        "True",
        "KubeletReady",
        "kubelet is posting ready status",
    )


def test_a_node_that_is_down_is_silent():
    place = world().pod(annotations={"run-seconds": 5}).run(1)
    place.change_node(annotations={"muster.dev/down": ""})
    place.calls.clear()
    place.pod("late").delete("late")
    assert place.run(1000).calls == []


def test_a_node_that_is_up_again_tells_what_became_of_its_pods():
    place = world()
    place.pod("stays").pod("ends", annotations={"run-seconds": 5}).pod("goes").run(1)
    place.change_node(annotations={"muster.dev/down": ""}, ready="Unknown")
    place.delete("goes").pod("new").run(100)
    place.change_node(annotations={})
    place.run()
    assert sorted(place.pods) == ["ends", "new", "stays"]
    assert [place.status(name)["phase"] for name in sorted(place.pods)] == ["Succeeded", "Running", "Running"]
    assert place.nodes["n"]["status"]["conditions"][3]["status"] == "True"
    assert place.leases["n"]["renewTime"] == "2027-01-15T08:01:41.000000Z"


def test_a_pod_that_others_think_lost_is_ready_again_when_its_node_is_up():
    place = world().pod().run()
    place.change_node(annotations={"muster.dev/down": ""})
    for condition in place.status()["conditions"]:
        if condition["type"] == "Ready":
            condition["status"] = "False"
    place._show(place.pods["p"])
    assert place.run(10).conditions()["Ready"] == "False"
    place.change_node(annotations={})
    assert place.run().conditions()["Ready"] == "True"
    assert place.status()["containerStatuses"][0]["restartCount"] == 0


def test_pods_of_a_node_that_is_not_there_wait_for_it():
    place = World().pod(node="elsewhere").run()
    assert place.calls == []
    place.node("elsewhere").run()
    assert place.status()["phase"] == "Running"


def test_a_node_that_is_gone_gets_no_lease():
    place = world().run()
    place.remove_node()
    place.calls.clear()
    assert place.run(100).calls == []


def test_pods_that_are_not_bound_are_nobodys_business():
    place = world().pod(node="").run()
    assert place.status() == {"phase": "Pending"}


# --- answers ---


@pytest.mark.parametrize("answer", [Lost("cut"), Refused(code=500), Refused(code=409, reason="Conflict")])
def test_a_report_that_fails_is_made_again(answer):
    place = world().pod()
    place.answer = lambda call: answer if "pods" in call.path else None
    place.run(10)
    tries = [call for call in place.calls if "pods" in call.path]
    assert 3 <= len(tries) <= 8
    place.answer = None
    assert place.run(30).status()["phase"] == "Running"


def test_a_pod_that_is_gone_is_not_asked_about_again():
    place = world().pod()
    place.answer = lambda call: Refused(code=404) if "pods" in call.path else None
    assert len([call for call in place.run(100).calls if "pods" in call.path]) == 1


def test_a_pod_that_brings_a_bug_to_light_does_not_stop_the_others(monkeypatch):
    place = world().pod("one").pod("bad").pod("two")
    refusal = admission.refusal

    def fails(pod, node, others):
        if pod.metadata.name == "bad":
            raise RuntimeError("bug")
        return refusal(pod, node, others)

    monkeypatch.setattr(admission, "refusal", fails)
    with pytest.raises(RuntimeError):
        place.run()
    place.run()
    assert [place.status(name)["phase"] for name in ("one", "bad", "two")] == ["Running", "Pending", "Running"]


def test_new_kubelets_end_a_pod_when_the_old_ones_would_have():
    place = world().pod(annotations={"run-seconds": 10}).run(4).restart().run(5.9)
    assert place.status()["phase"] == "Running"
    assert place.run(0.2).status()["phase"] == "Succeeded"


def test_a_node_document_has_what_a_kubelet_registers():
    document = node_document("n1", cpu="4", memory="16Gi", gpu=2, labels={"zone": "a"}, now=START)
    assert document["metadata"]["labels"]["kubernetes.io/hostname"] == "n1"
    assert document["metadata"]["labels"]["zone"] == "a"
    assert document["status"]["allocatable"] == {
        "cpu": "4",
        "memory": "16Gi",
        "nvidia.com/gpu": "2",
        "pods": "110",
        "ephemeral-storage": "100Gi",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
    }
    assert [one["type"] for one in document["status"]["conditions"]] == [
        "MemoryPressure",
        "DiskPressure",
        "PIDPressure",
        "Ready",
    ]
    assert [one["type"] for one in document["status"]["addresses"]] == ["InternalIP", "Hostname"]
    assert document["status"]["nodeInfo"]["kubeletVersion"] == "v1.37.1"
