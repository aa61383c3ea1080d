"""Groups that Muster makes for workloads on a real control plane, whose controllers make the pods."""

import pytest

from controlplane.kubelet import Kubelets
from tests.control_plane.conftest import needs_native_groups
from tests.control_plane.test_any_cluster import CUSTOM, NATIVE, Muster, as_installed, muster
from tests.local.owned_stories import (
    MERGE,
    STORIES,
    Story,
    a_group_that_was_orphaned_is_the_next_owners_when_the_last_pods_are_gone,
    bring_third_parties,
    until,
)


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


native = pytest.param("native", marks=needs_native_groups)


@pytest.fixture(params=[native, "custom"])
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


# the real garbage collector learns of custom kinds after half a minute, and does not orphan what it does not know
only_native = pytest.mark.parametrize("story", [native], indirect=True)


@only_native
def test_a_group_that_was_orphaned_is_the_next_owners_when_the_last_pods_are_gone(story):
    a_group_that_was_orphaned_is_the_next_owners_when_the_last_pods_are_gone(story)


@only_native
def test_a_stateful_set_that_is_made_anew_around_its_pods_takes_their_group_over(story):
    """As people change what is immutable about it."""
    story.replicas("StatefulSet", "db", 2)
    story.until_bound(2)
    runs = {pod["metadata"]["uid"] for pod in story.pods()}
    path = f"/apis/apps/v1/namespaces/{story.namespace}/statefulsets/db"
    story.api.request("DELETE", f"{path}?propagationPolicy=Orphan")
    until(lambda: story.api.exchange("GET", path)[0] == 404, "the set does not go")
    story.replicas("StatefulSet", "db", 3)
    story.until_bound(3)
    story.until_groups(statefulset_db=3)
    assert runs < {pod["metadata"]["uid"] for pod in story.bound()}
