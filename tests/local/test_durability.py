"""kill -9 at any moment loses no acknowledged write."""

import itertools
import os
import random
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest

from muster.local.store.log import SqliteLog
from muster.local.store.store import Store
from tests.local.processes import Server, until

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
DEATHS = 8
WRITERS = 4
_BROKEN = (OSError, ValueError, AttributeError)
"""What it looks like when the server dies in the middle of an answer; http.client's errors are ValueErrors or worse."""


class Thing:
    """One object as its writer knows it: what was acknowledged, and what may have been done besides."""

    def __init__(self):
        self.known = None
        """None: it is not there."""
        self.version = 0
        """Of the last acknowledgement."""
        self.tried = False
        """A write is on its way, and `maybe` is what it makes."""
        self.maybe = None

    def fits(self, found):
        return found in (self.known, self.maybe) if self.tried else found == self.known


class Writer(threading.Thread):
    """Makes, binds, changes and deletes objects of its own until the server is gone."""

    def __init__(self, api, name, things):
        super().__init__(daemon=True)
        self._api = api
        self._name = name
        self._things = things
        self.acknowledged = 0

    def run(self):
        try:
            for number in itertools.count(len(self._things)):
                self._one_life(f"{self._name}-{number}", is_kept=number % 3 == 0)
        except _BROKEN:
            pass
        except Exception as error:
            # an answer that was cut short: http.client has no common class for it
            if "http.client" not in type(error).__module__:
                raise
        finally:
            self._api.close()

    def _one_life(self, name, *, is_kept):
        pod, setting = self._things[f"pods/{name}"], self._things[f"maps/{name}"] = Thing(), Thing()
        self._write(pod, {"node": "", "step": "0"}, "POST", PODS, _pod(name))
        self._write(setting, {"step": "0"}, "POST", MAPS, {"metadata": {"name": name}, "data": {"step": "0"}})
        binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": f"node-of-{name}"}}
        self._write(pod, {"node": f"node-of-{name}", "step": "0"}, "POST", f"{PODS}/{name}/binding", binding)
        for step in ("1", "2"):
            labels = {"metadata": {"labels": {"step": step}}}
            self._write(pod, {**pod.known, "step": step}, "PATCH", f"{PODS}/{name}", labels)
            self._write(setting, {"step": step}, "PATCH", f"{MAPS}/{name}", {"data": {"step": step}})
        if not is_kept:
            self._write(setting, None, "DELETE", f"{MAPS}/{name}", None)
            self._write(pod, None, "DELETE", f"{PODS}/{name}?gracePeriodSeconds=0", None)

    def _write(self, thing, then, method, path, body):
        thing.maybe, thing.tried = then, True
        kind = MERGE if method == "PATCH" else "application/json"
        answer = self._api.request(method, path, body, content_type=kind)
        thing.known, thing.tried = then, False
        thing.version = max(thing.version, int(answer["metadata"].get("resourceVersion", 0)))
        self.acknowledged += 1


class Watcher(threading.Thread):
    """Sees what happens to settings until the server is gone; holds them by name."""

    def __init__(self, api):
        super().__init__(daemon=True)
        self._api = api
        listed = api.get(MAPS)
        self.version = listed["metadata"]["resourceVersion"]
        self.held = {one["metadata"]["name"]: one["data"] for one in listed["items"]}

    def run(self):
        try:
            with self._api.watch(MAPS, resourceVersion=self.version) as watch:
                for event in watch:
                    self.take(event)
        except Exception:
            # the server is dead
            pass

    def take(self, event):
        meta = event["object"]["metadata"]
        self.version = meta["resourceVersion"]
        if event["type"] == "DELETED":
            del self.held[meta["name"]]
        else:
            self.held[meta["name"]] = event["object"]["data"]


def _pod(name):
    return {
        "metadata": {"name": name, "labels": {"step": "0"}},
        "spec": {"containers": [{"name": "main", "image": "app"}]},
    }


def test_no_acknowledged_write_is_lost_when_the_server_is_killed(tmp_path):
    chance = random.Random(20261115)
    folder, things = tmp_path / "cluster", [{} for _ in range(WRITERS)]
    writers, watcher, acknowledged, highest = [], None, 0, 0
    for death in range(DEATHS + 1):
        with Server(folder) as server, server.api() as api:
            highest = _check(api, things, highest)
            if watcher is not None:
                _take_up(api, watcher)
            if death == DEATHS:
                break
            watcher = Watcher(api)
            watcher.start()
            writers = [Writer(server.api(), f"w{place}-{death}", things[place]) for place in range(WRITERS)]
            for writer in writers:
                writer.start()
            until(lambda at_work=writers: all(one.acknowledged for one in at_work), "nothing is written")
            time.sleep(chance.uniform(0.0, 0.15))
            server.kill()
            for thread in (*writers, watcher):
                thread.join()
        acknowledged += sum(writer.acknowledged for writer in writers)
        if death % 5 == 0:
            _kill_while_it_starts(folder, chance)
    assert acknowledged > DEATHS * WRITERS


def _check(api, things, highest):
    """Everything is as it was acknowledged, or one step further; the highest version that was seen."""
    pods, maps = api.get(PODS), api.get(MAPS)
    found = {f"pods/{one['metadata']['name']}": one for one in pods["items"]}
    found |= {f"maps/{one['metadata']['name']}": one for one in maps["items"]}
    known = {name: thing for each in things for name, thing in each.items()}
    assert found.keys() <= known.keys()
    for name, thing in known.items():
        state, version = _state(name, found.get(name))
        assert thing.fits(state), (name, state, thing.known, thing.maybe)
        assert version is None or version >= thing.version
        if thing.tried and state == thing.maybe:
            thing.known = thing.maybe
        thing.tried = False
    now = int(pods["metadata"]["resourceVersion"])
    assert now >= max((highest, *(thing.version for thing in known.values())))
    return now


def _state(name, document):
    if document is None:
        return None, None
    version = int(document["metadata"]["resourceVersion"])
    if name.startswith("maps/"):
        return document["data"], version
    # whole: what a binding changes, it changes at once
    conditions = [one["type"] for one in document["status"].get("conditions", ())]
    assert ("PodScheduled" in conditions) == ("nodeName" in document["spec"])
    return {"node": document["spec"].get("nodeName", ""), "step": document["metadata"]["labels"]["step"]}, version


def _take_up(api, watcher):
    """A watch from before the death goes on with what happened since, or is told that it cannot."""
    marker = {"metadata": {"name": f"marker-{watcher.version}"}, "data": {"step": "0"}}
    with api.watch(MAPS, resourceVersion=watcher.version) as watch:
        api.request("POST", MAPS, marker)
        for event in watch:
            if event["type"] == "ERROR":
                assert event["object"]["code"] == 410
                break
            if event["object"]["metadata"]["name"] == marker["metadata"]["name"]:
                listed = {one["metadata"]["name"]: one["data"] for one in api.get(MAPS)["items"]}
                listed.pop(marker["metadata"]["name"])
                assert watcher.held == listed
                break
            watcher.take(event)
        else:
            pytest.fail("the watch ended")
    api.request("DELETE", f"{MAPS}/{marker['metadata']['name']}")


def _kill_while_it_starts(folder, chance):
    with Server(folder, wait=False) as server:
        time.sleep(chance.uniform(0.0, 0.5))
        server.kill()


def test_versions_never_go_back_even_if_the_last_thing_was_a_deletion(tmp_path):
    with Server(tmp_path / "cluster") as server, server.api() as api:
        api.request("POST", MAPS, {"metadata": {"name": "one"}})
        api.request("DELETE", f"{MAPS}/one")
        last = int(api.get(MAPS)["metadata"]["resourceVersion"])
        server.kill()
    with Server(tmp_path / "cluster") as server, server.api() as api:
        assert int(api.get(MAPS)["metadata"]["resourceVersion"]) >= last
        made = api.request("POST", MAPS, {"metadata": {"name": "two"}})
        assert int(made["metadata"]["resourceVersion"]) > last


def test_custom_kinds_are_there_again_at_once(tmp_path):
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "gauges", "kind": "Gauge"}
    definition = {
        "metadata": {"name": "gauges.kept.dev"},
        "spec": {"group": "kept.dev", "scope": "Cluster", "names": names, "versions": [version]},
    }
    gauge = {"apiVersion": "kept.dev/v1", "kind": "Gauge", "metadata": {"name": "oil"}}
    with Server(tmp_path / "cluster") as server, server.api() as api:
        api.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        api.request("POST", "/apis/kept.dev/v1/gauges", gauge)
        server.kill()
    with Server(tmp_path / "cluster") as server, server.api() as api:
        assert [one["metadata"]["name"] for one in api.get("/apis/kept.dev/v1/gauges")["items"]] == ["oil"]


def test_an_ephemeral_cluster_keeps_nothing(tmp_path):
    folder = tmp_path / "cluster"
    with Server(folder, "--ephemeral") as server, server.api() as api:
        made = api.request("POST", MAPS, {"metadata": {"name": "one"}})
        server.stop()
    assert not list(folder.glob("data*"))
    with Server(folder, "--ephemeral") as server, server.api() as api:
        assert api.get(MAPS)["items"] == []
        # a client that has lived on must not take this cluster for the one before
        with api.watch(MAPS, resourceVersion=made["metadata"]["resourceVersion"]) as watch:
            assert watch.next()["object"]["code"] == 410


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_memory_of_large_objects_is_given_back(tmp_path):
    with Server(tmp_path / "cluster", "--ephemeral") as server, server.api() as api:
        text = "x" * 1_000_000
        api.request("POST", MAPS, {"metadata": {"name": "first"}, "data": {"x": text}})
        before = _held_mb(server.pid)
        for number in range(200):
            api.request("PATCH", f"{MAPS}/first", {"data": {"n": str(number)}}, content_type=MERGE)
        assert _held_mb(server.pid) < before + 40, "of patches the history is kept, and that is 24 MiB"
        for number in range(60):
            api.request("POST", MAPS, {"metadata": {"name": f"m{number}"}, "data": {"x": text}})
        assert _held_mb(server.pid) < before + 40 + 70
        for number in range(60):
            api.request("DELETE", f"{MAPS}/m{number}")
        assert _held_mb(server.pid) < before + 40


def _held_mb(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def test_a_log_that_is_cut_short_is_read_as_far_as_it_goes(tmp_path):
    """What the death of the machine may leave."""
    folder = tmp_path / "cluster"
    with Server(folder) as server, server.api() as api:
        for number in range(50):
            api.request("POST", MAPS, {"metadata": {"name": f"m{number:02d}"}})
        server.kill()
    whole = (folder / "data.sqlite-wal").read_bytes()
    for share in (0.0, 0.3, 0.6, 0.9, 0.99):
        copy = tmp_path / f"cut-{share}"
        shutil.copytree(folder, copy)
        (copy / "data.sqlite-wal").write_bytes(whole[: int(len(whole) * share)])
        log = SqliteLog(copy / "data.sqlite")
        names = [stored.name for stored in Store(log).list("configmaps", "default")]
        log.close()
        assert names == [f"m{number:02d}" for number in range(len(names))]


def test_data_that_cannot_be_read_is_refused_with_one_line(tmp_path):
    folder = tmp_path / "cluster"
    with Server(folder) as server:
        server.stop()
    (folder / "data.sqlite").write_bytes(b"this is no database at all" * 1000)
    with pytest.raises(AssertionError) as refused:
        Server(folder)
    (line,) = refused.value.args[0]
    assert line.startswith("muster: the cluster's data cannot be read: file is not a database (file=")
    assert line.endswith("move it away to start afresh")


def test_selectors_find_after_a_restart_what_they_found_before_it(tmp_path):
    folder = tmp_path / "cluster"
    with Server(folder) as server, server.api() as api:
        for name in ("one", "two"):
            spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": name}
            api.request("POST", PODS, {"metadata": {"name": name, "labels": {"app": name}}, "spec": spec})
        server.kill()
    with Server(folder) as server, server.api() as api:
        for query in ("fieldSelector=spec.nodeName%3Dtwo", "labelSelector=app%3Dtwo"):
            assert [one["metadata"]["name"] for one in api.get(f"{PODS}?{query}")["items"]] == ["two"]


def test_what_goes_wrong_is_in_the_log_and_not_where_the_port_was_told(tmp_path):
    """Nobody reads on there: a pipe that is full would stop the server."""
    with Server(tmp_path / "cluster", environment={"PYTHONPATH": _broken(tmp_path)}) as server, server.api() as api:
        for _ in range(300):
            assert api.ask("GET", "/api/v1/nodes").code == 500
        assert server.stop() == 0
        assert server.complaints.count("ValueError: broken on purpose") == 300


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_what_the_log_cannot_take_fails_no_request(tmp_path):
    with Server(tmp_path / "cluster", environment={"PYTHONPATH": _broken(tmp_path)}, full=True) as server:
        with server.api() as api:
            answer = api.ask("GET", "/api/v1/nodes")
            assert (answer.code, answer.body["kind"]) == (500, "Status")
            assert api.ask("GET", MAPS).code == 200
        assert server.stop() == 0


def _broken(folder):
    """What makes the server fail with every list of nodes."""
    (folder / "sitecustomize.py").write_text(
        "import muster.local.serve.lists as lists\n"
        "real = lists.Lists.read\n"
        "def read(self, served, *rest):\n"
        "    if served.kind.plural == 'nodes':\n"
        "        raise ValueError('broken on purpose')\n"
        "    return real(self, served, *rest)\n"
        "lists.Lists.read = read\n"
    )
    return os.pathsep.join([str(folder), *sys.path])
