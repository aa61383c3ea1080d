"""Two Deployments of one group, whose pods are to run in one zone at the same time; otherwise none of them is started.

kube-controller-manager makes the pods.  Zone b has room for everything and is never used.
"""

import pytest

from controlplane.kubelet import Kubelets
from tests.control_plane.checks import until
from tests.control_plane.conftest import needs_native_groups
from tests.control_plane.test_any_cluster import CUSTOM, NATIVE, Muster, as_installed, muster

ZONE = "topology.kubernetes.io/zone"
MINIMUMS = {"web": 2, "cache": 2}
_SUBSETS = "/apis/coscheduling.muster.dev/v1alpha1"
_ONE_FORM = {"schedulingPolicy": {"gang": {"minCount": 4}}}
_PARTS = {"muster.dev/subsets": "web=2,cache=2"}


class Services:
    """A namespace with a group `shop` and its Deployments."""

    def __init__(self, cluster, namespace, groups):
        self.cluster = cluster
        self.namespace = namespace
        self.by_field = groups == NATIVE
        self._condition = "PodGroupScheduled" if groups == _SUBSETS else "PodGroupInitiallyScheduled"
        parts = [{"name": name, "minMember": least} for name, least in MINIMUMS.items()]
        group = {
            "apiVersion": groups.removeprefix("/apis/"),
            "kind": "PodGroup",
            "metadata": {"name": "shop", "annotations": {} if groups == _SUBSETS else _PARTS},
            "spec": {"subsets": parts} if groups == _SUBSETS else _ONE_FORM,
        }
        self._path = f"{groups}/namespaces/{namespace}/podgroups"
        cluster.request("POST", self._path, group)

    def deployment(self, name, replicas):
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
        affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        pod = {
            "schedulerName": "muster",
            "terminationGracePeriodSeconds": 0,
            "affinity": {"nodeAffinity": affinity},
            "containers": [container],
        }
        labels = {"app": name, "muster.dev/subset": name}
        if self.by_field:
            pod["schedulingGroup"] = {"podGroupName": "shop"}
        else:
            labels["muster.dev/pod-group"] = "shop"
        spec = {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        }
        body = {"metadata": {"name": name}, "spec": spec}
        self.cluster.request("POST", f"/apis/apps/v1/namespaces/{self.namespace}/deployments", body)

    def pods(self, app=None):
        selector = f"?labelSelector=app={app}" if app else ""
        return self.cluster.request("GET", f"/api/v1/namespaces/{self.namespace}/pods{selector}")["items"]

    def nodes(self, app=None):
        """Where pods are."""
        return [pod["spec"]["nodeName"] for pod in self.pods(app) if "nodeName" in pod["spec"]]

    def until_pods(self, count):
        until(lambda: len(self.pods()) == count, f"{count} pods")

    def until_bound(self, count):
        until(lambda: len(self.nodes()) == count, lambda: f"{count} bound pods: {self.nodes()}")

    def until_it_says(self, reason, words=""):
        def says():
            found = self.cluster.request("GET", f"{self._path}/shop").get("status", {}).get("conditions", ())
            mine = [each for each in found if each["type"] == self._condition]
            return any(each["reason"] == reason and words in each["message"] for each in mine)

        until(says, f"the group to say {reason}, {words}")

    def until_available(self, name):
        """As the Deployment controller has it."""
        path = f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{name}"

        def available():
            status = self.cluster.request("GET", path).get("status", {})
            return status.get("availableReplicas") == MINIMUMS[name]

        until(available, f"{name} to be available")


def _installed(cluster):
    muster("install", "--apply", "--dialect", "subsets", f"--kubeconfig={cluster.kubeconfig()}")
    with Kubelets(cluster):
        yield cluster


@pytest.fixture(scope="module")
def with_native(plane):
    yield from _installed(plane)


@pytest.fixture(scope="module")
def without_native(stock):
    yield from _installed(stock)


@pytest.fixture(params=["subsets", "muster", pytest.param("native", marks=needs_native_groups)])
def services(request, namespaces, nodes, tmp_path):
    groups = {"subsets": _SUBSETS, "muster": CUSTOM, "native": NATIVE}[request.param]
    cluster = request.getfixturevalue("with_native" if groups == NATIVE else "without_native")
    nodes(cluster, 8, cpu="1", labels={ZONE: "b"}, prefix="b")
    with Muster(tmp_path, *as_installed(cluster, tmp_path)) as process:
        process.wait_for("leading")
        yield Services(cluster, namespaces.make(cluster), groups)


def grow(services, nodes, prefix, count):
    return nodes(services.cluster, count, cpu="1", labels={ZONE: "a"}, prefix=prefix)


def test_a_zone_that_is_too_small_for_both_starts_neither_and_one_that_grows_starts_both(services, nodes):
    zone = grow(services, nodes, "a", 3)
    for name, replicas in MINIMUMS.items():
        services.deployment(name, replicas)
    services.until_pods(4)
    services.until_it_says("Unschedulable", "1 more is missing")
    assert services.nodes() == []
    zone += grow(services, nodes, "more", 1)
    services.until_it_says("Scheduled")
    services.until_bound(4)
    assert sorted(services.nodes()) == sorted(zone)
    for name in MINIMUMS:
        services.until_available(name)


def test_one_of_them_does_not_start_without_the_other_however_many_pods_it_has(services, nodes):
    grow(services, nodes, "a", 4)
    services.deployment("web", 4)
    services.until_pods(4)
    services.until_it_says("Unschedulable", "cache")
    assert services.nodes() == []
    services.deployment("cache", 2)
    services.until_it_says("Scheduled")
    services.until_bound(4)
    assert len(services.nodes("cache")) == 2
    # the rest of the first follows when the zone grows
    grow(services, nodes, "more", 2)
    services.until_bound(6)


def test_pods_that_a_deployment_makes_anew_join_those_that_run(services, nodes):
    grow(services, nodes, "a", 4)
    for name, replicas in MINIMUMS.items():
        services.deployment(name, replicas)
    services.until_bound(4)
    lost, *_ = services.pods("web")
    path = f"/api/v1/namespaces/{services.namespace}/pods/{lost['metadata']['name']}"
    services.cluster.request("DELETE", path)
    until(lambda: lost["metadata"]["uid"] not in {pod["metadata"]["uid"] for pod in services.pods()}, "its end")
    services.until_bound(4)
    services.until_available("web")
