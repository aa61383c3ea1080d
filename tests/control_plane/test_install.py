"""`muster install` on a real API server: what it makes, and what Muster's account may then do."""

import subprocess
import sys

import pytest

from controlplane.plane import PlaneError
from muster.plugins.defaults import default_profile

MUSTER = "system:serviceaccount:muster-system:muster"


@pytest.fixture(scope="module")
def installed(stock):
    """A stock cluster into which Muster was installed twice, with what the second time printed."""
    _install(stock)
    return stock, _install(stock)


def _install(cluster, *options):
    command = [sys.executable, "-c", "from muster.cli.install import install; install()", "--apply", *options]
    ran = subprocess.run([*command, "--kubeconfig", cluster.kubeconfig()], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_a_cluster_without_pod_groups_gets_the_crds(installed):
    cluster, _ = installed
    assert cluster.kubectl("api-resources", "--api-group=muster.dev", "-o", "name").split() == [
        "podgroups.muster.dev",
        "workloads.muster.dev",
    ]


def test_installing_again_changes_nothing(installed):
    _, lines = installed
    objects = [line for line in lines if "/" in line.split()[0]]
    assert len(objects) == 13
    # controllers write the status of these two, which gives them new versions at any time
    steady = [line for line in objects if not line.startswith(("deployment/", "poddisruptionbudget/"))]
    assert {line.rpartition(" ")[2] for line in steady} == {"unchanged"}


DIALECTS = ("--dialect", "coscheduling", "--dialect", "subsets", "--dialect", "draft", "--dialect", "volcano")


def test_kinds_of_dialects_come_when_they_are_asked_for(installed):
    cluster, _ = installed
    _install(cluster, *DIALECTS)
    served = cluster.kubectl("api-resources", "--categories=muster", "-o", "name").split()
    assert {"podgroups.scheduling.x-k8s.io", "podgroups.coscheduling.muster.dev", "workloads.draft.muster.dev"} <= {
        *served
    }
    lines = _install(cluster, *DIALECTS)
    assert "volcano: Volcano brings its kinds itself, and Muster reads them" in lines
    definitions = [line for line in lines if line.startswith("customresourcedefinition/")]
    assert {line.rpartition(" ")[2] for line in definitions} == {"unchanged"}


def test_a_definition_that_others_have_installed_is_left_to_them(installed):
    cluster, _ = installed
    _install(cluster, *DIALECTS)
    name = "podgroups.scheduling.x-k8s.io"
    cluster.kubectl("label", "crd", name, "app.kubernetes.io/name-")
    lines = _install(cluster, *DIALECTS)
    cluster.kubectl("label", "crd", name, "app.kubernetes.io/name=muster")
    assert f"customresourcedefinition/{name} left as it is: it was there before Muster" in lines


def test_whoever_may_edit_a_namespace_may_edit_the_groups_of_a_dialect(installed, namespaces):
    cluster, _ = installed
    _install(cluster, *DIALECTS)
    namespace = namespaces.make(cluster)
    for role in ("view", "edit"):
        binding = ("create", "rolebinding", role, "-n", namespace, f"--clusterrole=muster-subsets-{role}")
        cluster.kubectl(*binding, f"--user={role}or")
    asks = ("auth", "can-i", "-n", namespace)
    assert cluster.kubectl(*asks, "delete", "podgroups.coscheduling.muster.dev", "--as=editor").strip() == "yes"
    assert cluster.kubectl(*asks, "watch", "podgroups.coscheduling.muster.dev", "--as=viewor").strip() == "yes"
    # its exit status says no
    with pytest.raises(PlaneError, match="can-i"):
        cluster.kubectl(*asks, "delete", "podgroups.coscheduling.muster.dev", "--as=viewor")


def test_the_pods_pass_the_restricted_level_that_their_namespace_asks_for(installed):
    cluster, _ = installed
    deployment = cluster.request("GET", "/apis/apps/v1/namespaces/muster-system/deployments/muster")
    pod = {"metadata": {"name": "one"}, "spec": deployment["spec"]["template"]["spec"]}
    made = cluster.request("POST", "/api/v1/namespaces/muster-system/pods?dryRun=All", pod)
    assert made["spec"]["serviceAccountName"] == "muster"


MAY = """
list   pods
watch  nodes
create pods/binding
patch  pods/status
delete pods
list   scheduling.k8s.io/priorityclasses
list   policy/poddisruptionbudgets
watch  policy/poddisruptionbudgets
watch  scheduling.k8s.io/podgroups
patch  scheduling.k8s.io/podgroups
patch  scheduling.k8s.io/podgroups/status
watch  muster.dev/podgroups
patch  muster.dev/podgroups
patch  muster.dev/podgroups/status
watch  scheduling.x-k8s.io/podgroups
patch  scheduling.x-k8s.io/podgroups
patch  scheduling.x-k8s.io/podgroups/status
watch  scheduling.k8s.io/workloads
patch  pods
create scheduling.k8s.io/podgroups
create muster.dev/podgroups
get    batch/jobs
get    batch.volcano.sh/jobs
get    kubeflow.org/pytorchjobs
get    kubeflow.org/tfjobs
get    apps/deployments
get    leaderworkerset.x-k8s.io/leaderworkersets
create events.k8s.io/events
create coordination.k8s.io/leases        muster-system
update coordination.k8s.io/leases        muster-system muster
"""
MAY_NOT = """
get    secrets
create pods
update pods
delete nodes
create events
delete scheduling.k8s.io/podgroups
delete muster.dev/podgroups
create scheduling.x-k8s.io/podgroups
list   batch/jobs
patch  batch/jobs
patch  apps/deployments
delete apps/deployments
get    muster.dev/workloads
create coordination.k8s.io/leases
get    coordination.k8s.io/leases        kube-system   muster
update coordination.k8s.io/leases        muster-system other
delete policy/poddisruptionbudgets
patch  policy/poddisruptionbudgets
create pods/eviction
create rbac.authorization.k8s.io/clusterrolebindings
"""


PROFILE = default_profile()
READ_BY_PLUGINS = (*PROFILE.reads, *PROFILE.may_read)
READ = [
    f"{verb} {kind.resource.group}/{kind.resource.plural}" for kind in READ_BY_PLUGINS for verb in ("list", "watch")
]


@pytest.mark.parametrize("right", [*MAY.strip().splitlines(), *READ])
def test_muster_may_do_what_it_needs(installed, right):
    cluster, _ = installed
    assert _may(cluster, *right.split())


@pytest.mark.parametrize("right", MAY_NOT.strip().splitlines())
def test_muster_may_do_nothing_else(installed, right):
    cluster, _ = installed
    assert not _may(cluster, *right.split())


def _may(cluster, verb, what, namespace="", name=""):
    first, _, rest = what.partition("/")
    group, resource = (first, rest) if "." in first or first in ("policy", "batch", "apps", "") else ("", what)
    resource, _, subresource = resource.partition("/")
    asked = {"verb": verb, "group": group, "resource": resource, "subresource": subresource}
    spec = {"user": MUSTER, "resourceAttributes": asked | {"namespace": namespace, "name": name}}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    return cluster.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"]
