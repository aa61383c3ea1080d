"""Groups that Muster makes for workloads on a real control plane, whose controllers make the pods."""

import pytest

from controlplane.kubelet import Kubelets
from tests.control_plane.conftest import needs_native_groups
from tests.control_plane.test_any_cluster import CUSTOM, NATIVE, Muster, as_installed, muster
from tests.local.owned_stories import MERGE, STORIES, Story, bring_third_parties, until


def stage(plane):
    muster("install", "--apply", f"--kubeconfig={plane.kubeconfig()}")
    bring_third_parties(plane)
    with Kubelets(plane):
        yield plane


@pytest.fixture(scope="module")
def with_native(plane):
    yield from stage(plane)


@pytest.fixture(scope="module")
def with_custom(stock):
    yield from stage(stock)


@pytest.fixture(params=[pytest.param("native", marks=needs_native_groups), "custom"])
def story(request, namespaces, nodes, tmp_path):
    plane = request.getfixturevalue(f"with_{request.param}")
    nodes(plane, 1, cpu="4")
    with Muster(tmp_path, *as_installed(plane, tmp_path)) as process:
        process.wait_for("leading")
        groups = NATIVE if request.param == "native" else CUSTOM
        yield Story(plane, namespaces.make(plane), groups=groups, makes_pods=True)


@pytest.mark.parametrize("tell", STORIES, ids=lambda tell: tell.__name__)
def test_a_story_on_a_real_control_plane(story, tell):
    tell(story)


def test_a_deployment_starts_whole_and_is_rolled_pod_by_pod(story):
    """Four pods of one cpu fill the node: of the new ones each starts when an old one has gone."""
    story.replicas("Deployment", "web", 4)
    story.until_bound(4)
    story.until_groups(deployment_web=4)

    def group():
        return story.api.request("GET", f"{story.groups_path}/deployment-web")["metadata"]["uid"]

    first = group()
    old = {pod["metadata"]["name"] for pod in story.pods()}
    path = f"/apis/apps/v1/namespaces/{story.namespace}/deployments/web"
    change = {"spec": {"template": {"metadata": {"annotations": {"version": "2"}}}}}
    story.api.request("PATCH", path, change, content_type=MERGE)

    def is_new():
        bound = {pod["metadata"]["name"] for pod in story.bound()}
        return len(bound) == 4 and not bound & old

    until(is_new, "the new pods are not bound")
    assert group() == first
    story.api.request("PATCH", path, {"spec": {"replicas": 2}}, content_type=MERGE)
    story.until_groups(deployment_web=2)


def test_a_stateful_set_that_makes_one_pod_after_another_is_told_what_to_do(story):
    spec = {"replicas": 2, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}}}
    story.make("apps/v1", "StatefulSet", "db", spec | {"template": story.template({"app": "db"})})
    story.until_waiting("a gang needs spec.podManagementPolicy: Parallel")
    assert story.groups() == {}
