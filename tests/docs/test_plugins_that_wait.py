"""The plugin that waits of docs/plugins.md, on the embedded cluster: what the page says of it comes true."""

import re

import pytest

from tests.docs.plugin_page import TEXT, write
from tests.local.processes import Up, until

PODS = "/api/v1/namespaces/default/pods"
GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
FLAGS = ("--port", "0", "--config", "approving.yaml")
NAMES = ["train-0", "train-1", "train-2"]


@pytest.fixture
def folder(tmp_path):
    write(tmp_path)
    return tmp_path


def started(folder, *flags):
    return Up(folder / "up", *FLAGS, *flags, directory=folder, environment={"PYTHONPATH": "."})


def make_gang(api):
    spec = {"schedulingPolicy": {"gang": {"minCount": 3}}}
    api.request("POST", GROUPS, {"metadata": {"name": "train"}, "spec": spec})
    for name in NAMES:
        meta = {"name": name, "annotations": {"example.com/approval": "train"}}
        spec = {
            "schedulingGroup": {"podGroupName": "train"},
            "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "5"}}}],
        }
        api.request("POST", PODS, {"metadata": meta, "spec": spec})


def said(api):
    conditions = api.get(f"{GROUPS}/train").get("status", {}).get("conditions", ())
    return next(((one["reason"], one["message"]) for one in conditions), ("", ""))


def nodes(api):
    return [pod["spec"].get("nodeName") for pod in api.get(PODS)["items"]]


def until_asked(api):
    until(lambda: said(api)[0] == "Preparing", lambda: said(api))
    sentence = re.search(r"\*(0 of 3 members.*?) default/train-0", TEXT)[1]
    assert said(api)[1].startswith(sentence)
    assert nodes(api) == [None] * 3


def until_bound(api, folder):
    until(lambda: all(nodes(api)), lambda: said(api))
    assert len(set(nodes(api))) == 3
    until(lambda: told(folder) == NAMES, lambda: told(folder))


def told(folder):
    log = folder / "log"
    return sorted(line.split()[0] for line in log.read_text().splitlines()) if log.exists() else []


def test_a_gang_waits_with_its_place_until_it_is_approved(folder):
    with started(folder, "--ephemeral") as up, up.api() as api:
        make_gang(api)
        until_asked(api)
        pod = {"metadata": {"name": "other"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
        api.request("POST", PODS, pod)
        until(lambda: "nodeName" in api.get(f"{PODS}/other")["spec"], "whom it does not concern waits")
        api.request("DELETE", f"{PODS}/other")
        until(lambda: len(nodes(api)) == 3, "the pod is still there")
        (folder / "train").write_text("yes\n")
        until_bound(api, folder)


def test_a_denial_undoes_the_gang_and_is_said_until_it_is_another(folder):
    with started(folder, "--ephemeral") as up, up.api() as api:
        (folder / "train").write_text("too expensive\n")
        make_gang(api)
        until(lambda: said(api)[0] == "Unschedulable", lambda: said(api))
        sentence = re.search(r"\*(plugin Approved\s+does not permit) default/train-0 on node-1(: .*?)\*", TEXT)
        assert said(api)[1].startswith(" ".join(sentence[1].split()))
        assert said(api)[1].endswith(sentence[2])
        assert nodes(api) == [None] * 3
        (folder / "train").write_text("yes\n")
        until_bound(api, folder)


def test_a_restart_in_the_middle_asks_again(folder):
    with started(folder) as up, up.api() as api:
        make_gang(api)
        until_asked(api)
    with started(folder) as up, up.api() as api:
        assert nodes(api) == [None] * 3
        (folder / "train").write_text("yes\n")
        until_bound(api, folder)


HANGS = "import time\n\nfrom muster.framework.plugin import Plugin\n\n\nclass Approved(Plugin):\n    wait_seconds = 1\n"


@pytest.mark.parametrize("method", ["    async def permit", "    def permit"])
def test_a_plugin_that_hangs_or_raises_stops_nobody_and_ends_with_muster(folder, method):
    wait = "await __import__('asyncio').sleep(1e6)" if "async" in method else "time.sleep(1e6)"
    reads = '    def pre_filter(self, pod):\n        return pod.metadata.annotations.get("example.com/approval")\n\n'
    body = f"{method}(self, pod, node):\n        if pod.name == 'train-1':\n            {wait}\n"
    (folder / "approved.py").write_text(f"{HANGS}\n{reads}{body}")
    with started(folder, "--ephemeral") as up, up.api() as api:
        make_gang(api)
        until(lambda: "not ready to be bound within 1 s" in said(api)[1], lambda: said(api))
        assert nodes(api) == [None] * 3
