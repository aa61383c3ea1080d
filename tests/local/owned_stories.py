"""Workloads whose pods ask for a group by label, told the same to the embedded and to a real API server.

The kinds of third parties are there as plain custom objects; what their controllers would make, the story makes.
"""

import contextlib

from muster.gangs.owners import MANAGED_BY
from tests.local.processes import until

GANG = {"muster.dev/gang": "true"}
INDEX = "leaderworkerset.sigs.k8s.io/group-index"
MERGE = "application/merge-patch+json"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_THIRD_PARTIES = (
    ("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"),
    ("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"),
    ("kubeflow.org", "v2beta1", "mpijobs", "MPIJob"),
    ("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob"),
)
_PLURALS = {"StatefulSet": "statefulsets", "ReplicaSet": "replicasets", "Deployment": "deployments", "Job": "jobs"}
_PLURALS |= {kind: plural for _, _, plural, kind in _THIRD_PARTIES}


def bring_third_parties(api):
    """As custom kinds that take any spec."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything}}}
    for group, version, plural, kind in _THIRD_PARTIES:
        names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
        served = {"name": version, "served": True, "storage": True, "schema": schema}
        spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [served]}
        meta = {"name": f"{plural}.{group}"}
        body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": meta}
        api.request("POST", _CRDS, body | {"spec": spec})
    for group, version, plural, _ in _THIRD_PARTIES:
        until(lambda path=f"/apis/{group}/{version}/{plural}": _is_served(api, path), "third-party kinds to be served")


def _is_served(api, path):
    # the embedded cluster's client asserts, a real one's raises
    with contextlib.suppress(Exception):
        return api.request("GET", path) is not None
    return False


class Story:
    """A namespace; `makes_pods`: the cluster's own controllers make pods of apps' kinds, else the story does."""

    def __init__(self, api, namespace, *, groups, makes_pods, cpu="1"):
        self.api = api
        self.namespace = namespace
        self.groups_path = f"{groups}/namespaces/{namespace}/podgroups"
        self.makes_pods = makes_pods
        self.cpu = cpu

    # --- what is made ---

    def template(self, labels):
        requests = {"cpu": self.cpu}
        container = {"name": "main", "image": "busybox", "resources": {"requests": requests}}
        return {"metadata": {"labels": GANG | labels}, "spec": {"schedulerName": "muster", "containers": [container]}}

    def make(self, api_version, kind, name, spec, *, above=None):
        """Makes an object and gives a reference to it."""
        meta = {"name": name, "namespace": self.namespace, "ownerReferences": [above] if above else []}
        path = f"/apis/{api_version}/namespaces/{self.namespace}/{_PLURALS[kind]}"
        body = {"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec}
        return reference(self.api.request("POST", path, body), api_version, kind)

    def pod(self, name, owner, **labels):
        template = self.template(labels)
        meta = {"name": name, "ownerReferences": [owner]} | template["metadata"]
        body = {"metadata": meta, "spec": template["spec"]}
        return reference(self.api.request("POST", f"/api/v1/namespaces/{self.namespace}/pods", body), "v1", "Pod")

    def job(self, name, parallelism, *, above=None, **labels):
        template = self.template(labels)
        template["spec"]["restartPolicy"] = "Never"
        spec = {"parallelism": parallelism, "completions": parallelism, "template": template}
        return self.make("batch/v1", "Job", name, spec, above=above)

    def replicas(self, kind, name, count, *, above=None, **labels):
        labels = {"app": name} | labels
        template = self.template(labels)
        spec = {"replicas": count, "selector": {"matchLabels": {"app": name}}, "template": template}
        if kind == "StatefulSet":
            spec |= {"podManagementPolicy": "Parallel", "serviceName": name}
        owner = self.make("apps/v1", kind, name, spec, above=above)
        if not self.makes_pods and kind != "Deployment":
            for number in range(count):
                self.pod(f"{name}-{number}", owner, **labels)
        return owner

    # --- what is there ---

    def pods(self):
        return self.api.request("GET", f"/api/v1/namespaces/{self.namespace}/pods")["items"]

    def bound(self, prefix=""):
        named = [pod for pod in self.pods() if pod["metadata"]["name"].startswith(prefix)]
        return [pod for pod in named if pod["spec"].get("nodeName")]

    def groups(self):
        """Minimums of those that Muster made, by name."""
        items = self.api.request("GET", self.groups_path)["items"]
        ours = [one for one in items if one["metadata"].get("labels", {}).items() >= MANAGED_BY.items()]
        return {one["metadata"]["name"]: one["spec"]["schedulingPolicy"]["gang"]["minCount"] for one in ours}

    def until_groups(self, **minimums):
        wanted = {name.replace("_", "-"): minimum for name, minimum in minimums.items()}
        until(lambda: self.groups() == wanted, f"groups are not {wanted} but {self.groups()}")

    def until_bound(self, count, prefix=""):
        until(lambda: len(self.bound(prefix)) == count, f"{len(self.bound(prefix))} pods are bound, not {count}")

    def until_waiting(self, words):
        def says():
            conditions = [one for pod in self.pods() for one in pod["status"].get("conditions", ())]
            return [one for one in conditions if one["type"] == "PodScheduled" and words in one.get("message", "")]

        until(says, f"no pod says {words}")


def reference(made, api_version, kind):
    meta = made["metadata"]
    return {"apiVersion": api_version, "kind": kind, "name": meta["name"], "uid": meta["uid"], "controller": True}


# --- stories: on four cpus --------------------------------------------------------------------


def a_job_waits_whole_and_follows_its_size(story):
    """Pods of two cpus each, of which two have room."""
    story.cpu = "2"
    story.job("train", 3)
    story.until_groups(job_train=3)
    until(lambda: len(story.pods()) == 3, "no three pods")
    story.until_waiting("pod group is unschedulable")
    assert story.bound() == []
    path = f"/apis/batch/v1/namespaces/{story.namespace}/jobs/train"
    story.api.request("PATCH", path, {"spec": {"parallelism": 2, "completions": 3}}, content_type=MERGE)
    story.until_groups(job_train=2)
    story.until_bound(2)


def a_group_goes_with_its_owner_and_comes_with_the_next(story):
    path = f"/apis/batch/v1/namespaces/{story.namespace}/jobs/again"
    uids = []
    for size in (2, 3):
        story.job("again", size)
        story.until_bound(size)
        story.until_groups(job_again=size)
        uids.append(story.api.request("GET", f"{story.groups_path}/job-again")["metadata"]["uid"])
        # the next comes while the last goes
        story.api.request("DELETE", f"{path}?propagationPolicy=Background")
    assert len(set(uids)) == 2
    until(lambda: story.groups() == {}, "the group does not go")


def a_group_that_was_orphaned_is_the_next_owners_when_the_last_pods_are_gone(story):
    path = f"/apis/batch/v1/namespaces/{story.namespace}/jobs/left"
    story.job("left", 2)
    story.until_bound(2)
    old = [pod["metadata"]["name"] for pod in story.pods()]
    story.api.request("DELETE", f"{path}?propagationPolicy=Orphan")
    group = lambda: story.api.request("GET", f"{story.groups_path}/job-left")["metadata"]  # noqa: E731
    until(lambda: not group().get("ownerReferences"), "the group is not orphaned")
    until(lambda: story.api.request("GET", path.rpartition("/")[0])["items"] == [], "the job does not go")
    uid = story.job("left", 2)["uid"]
    story.until_waiting("PodGroup job-left is there, and not of the present Job left")
    for name in old:
        story.api.request("DELETE", f"/api/v1/namespaces/{story.namespace}/pods/{name}?gracePeriodSeconds=0")
    until(lambda: {pod["metadata"]["name"] for pod in story.bound()} - set(old), "the next owner's pods do not start")
    assert [owner["uid"] for owner in group()["ownerReferences"]] == [uid]


def a_group_that_is_deleted_is_made_again(story):
    story.cpu = "3"
    story.job("kept", 2)
    story.until_groups(job_kept=2)
    path = f"{story.groups_path}/job-kept"
    before = story.api.request("GET", path)["metadata"]["uid"]
    story.until_waiting("pod group is unschedulable")
    until(lambda: story.api.request("GET", path)["metadata"].get("finalizers"), "not protected")
    story.api.request("DELETE", path)
    # pods use it: somebody strips the finalizers
    story.api.request("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE)
    until(lambda: story.groups() and story.api.request("GET", path)["metadata"]["uid"] != before, "not made again")
    story.until_groups(job_kept=2)


def a_job_set_is_one_group(story):
    jobs = [
        {"name": name, "template": {"spec": {"parallelism": 2, "template": story.template({})}}} for name in ("a", "b")
    ]
    whole = story.make("jobset.x-k8s.io/v1alpha2", "JobSet", "s", {"replicatedJobs": jobs})
    story.job("s-a-0", 2, above=whole)
    story.until_groups(jobset_s=4)
    until(lambda: len(story.pods()) == 2, "no two pods")
    assert story.bound() == []
    story.job("s-b-0", 2, above=whole)
    story.until_bound(4)


def a_leader_worker_set_is_a_group_for_each_replica(story):
    template = {"size": 3, "workerTemplate": story.template({})}
    spec = {"replicas": 1, "leaderWorkerTemplate": template}
    lws = story.make("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "serve", spec)
    story.replicas("StatefulSet", "serve", 1, above=lws, **{INDEX: "0"})
    story.until_groups(leaderworkerset_serve_0=3)
    assert story.bound() == []
    (leader,) = story.pods()
    above = reference(leader, "v1", "Pod")
    story.replicas("StatefulSet", "serve-0", 2, above=above, **{INDEX: "0"})
    story.until_bound(3)


def kubeflow_jobs_are_groups_of_all_roles(story):
    worker = {"replicas": 1, "template": story.template({})}
    for api_version, kind, field, first in (
        ("kubeflow.org/v2beta1", "MPIJob", "mpiReplicaSpecs", "Launcher"),
        ("kubeflow.org/v1", "PyTorchJob", "pytorchReplicaSpecs", "Master"),
    ):
        roles = {first: {"template": story.template({})}, "Worker": worker}
        name = kind.lower()
        owner = story.make(api_version, kind, name, {field: roles})
        story.pod(f"{name}-worker-0", owner)
        until(lambda group=f"{name}-{name}": story.groups().get(group) == 2, "no group")
        assert story.bound(name) == []
        story.pod(f"{name}-{first.lower()}-0", owner)
        story.until_bound(2, name)


STORIES = (
    a_job_waits_whole_and_follows_its_size,
    a_group_goes_with_its_owner_and_comes_with_the_next,
    a_group_that_is_deleted_is_made_again,
    a_job_set_is_one_group,
    a_leader_worker_set_is_a_group_for_each_replica,
    kubeflow_jobs_are_groups_of_all_roles,
)
