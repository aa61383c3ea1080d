"""Groups that Muster makes for workloads on `muster up`, whose Job controller makes the pods."""

import itertools
import re
from pathlib import Path

import pytest
import yaml

from muster.gangs.owners import MIN_COUNT_LABEL
from tests.local.owned_stories import (
    INDEX,
    STORIES,
    Story,
    a_group_that_was_orphaned_is_the_next_owners_when_the_last_pods_are_gone,
    bring_third_parties,
    reference,
    until,
)
from tests.local.processes import Up

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    flags = ["--ephemeral", "--port", "0", "--nodes", "1", "--node-cpu", "4"]
    with Up(tmp_path_factory.mktemp("owned") / "cluster", *flags) as up, up.api() as api:
        bring_third_parties(api)
        yield api


@pytest.fixture
def story(api):
    name = f"owned-{next(_numbers)}"
    api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    yield Story(api, name, groups="/apis/scheduling.k8s.io/v1beta1", makes_pods=False)
    # the room is for the next test
    api.request("DELETE", f"/api/v1/namespaces/{name}")
    until(lambda: api.ask("GET", f"/api/v1/namespaces/{name}").code == 404, "the namespace does not go")


@pytest.mark.parametrize("tell", STORIES, ids=lambda tell: tell.__name__)
def test_a_story_on_the_embedded_cluster(story, tell):
    tell(story)


def test_a_group_that_was_orphaned_is_the_next_owners_when_the_last_pods_are_gone(story):
    a_group_that_was_orphaned_is_the_next_owners_when_the_last_pods_are_gone(story)


def test_a_deployment_is_one_group_of_all_its_replica_sets(story):
    above = story.replicas("Deployment", "web", 2)
    old = story.replicas("ReplicaSet", "web-1", 2, above=above)
    story.until_bound(2)
    story.until_groups(deployment_web=2)
    new = story.replicas("ReplicaSet", "web-2", 0, above=above)
    assert old["uid"] != new["uid"]
    story.pod("web-2-0", new)
    story.until_bound(3)


def test_a_label_that_means_nothing_is_told_in_an_event(story):
    owner = story.replicas("ReplicaSet", "odd", 0)
    story.pod("odd-0", reference({"metadata": owner}, "apps/v1", "ReplicaSet"), **{"muster.dev/min-count": "many"})
    story.until_bound(1)

    def events():
        return story.api.get(f"/apis/events.k8s.io/v1/namespaces/{story.namespace}/events")["items"]

    words = "placed alone, not in a group: label muster.dev/min-count is 'many', not a positive number"
    until(lambda: [one for one in events() if one.get("note") == words], "no event tells of it")


# --- what the documentation says ---

_PAGE = Path(__file__).parents[2] / "docs" / "gangs.md"
_MADE = re.compile(r"# makes PodGroups? ([\w-]+).* with minCount (\d+)")


def examples():
    section = _PAGE.read_text().partition("## Workloads that cannot make groups")[2].partition("\n## ")[0]
    return re.findall(r"```yaml\n(.*?)```", section, flags=re.DOTALL)


@pytest.mark.parametrize("text", examples(), ids=lambda text: yaml.safe_load(text)["kind"])
def test_the_examples_hold(story, text):
    document = yaml.safe_load(text)
    ((name, minimum),) = _MADE.findall(text)
    api_version, kind, meta = document["apiVersion"], document["kind"], document["metadata"]
    made = story.make(api_version, kind, meta["name"], document["spec"])
    count = 4
    if kind == "Deployment":
        story.replicas("ReplicaSet", "web-1", count, above=made, **{MIN_COUNT_LABEL: minimum})
    elif kind == "LeaderWorkerSet":
        story.replicas("StatefulSet", "serve", count, above=made, **{INDEX: "0"})
    story.until_bound(count)
    story.until_groups(**{name: int(minimum)})
