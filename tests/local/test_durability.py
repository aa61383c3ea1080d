"""The server's process is killed again and again under load: what was acknowledged is there afterwards."""

import asyncio
import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from muster.base.errors import ApiError, KubeError
from muster.kube.client import MERGE_PATCH, Client
from muster.kube.connection import load
from muster.local.identity import Identity

CONFIG = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
LIVES = 20
WRITERS = 8


class Server:
    """A server process on one folder; `kill` is SIGKILL."""

    def __init__(self, folder, *options):
        command = [sys.executable, "-m", "muster.local", str(folder), "--port", "0", *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        port = int(self.process.stdout.readline())
        self.kubeconfig = Identity(Path(folder)).write_kubeconfig(port)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.close()

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


class Books:
    """What was acknowledged, and what may have been done although nobody said so."""

    def __init__(self):
        self.known = {}
        """By path: what the object must be; None if it must be gone."""
        self.doubtful = {}
        """By path: what it may be as well."""
        self.version = 0
        """The highest that was ever seen."""
        self.writes = 0

    def acknowledged(self, path, now, version):
        self.known[path] = now
        self.doubtful.pop(path, None)
        self.version = max(self.version, version)
        self.writes += 1

    def check(self, path, there):
        allowed = [self.known.get(path), *self.doubtful.get(path, [])]
        assert there in allowed, f"{path} is {there}, and was acknowledged to be {allowed[0]}"
        self.known[path] = there
        self.doubtful.pop(path, None)


async def write(client, books, number, rng):
    """Creates, changes, binds and deletes objects of its own, until the server is gone."""
    serial = 0
    while True:
        serial += 1
        names = sorted(path for path, now in books.known.items() if now is not None and f"-{number}-" in path)
        path = rng.choice(names) if names and rng.random() < 0.6 else ""
        wanted, send = _choice(client, rng, path, f"x-{number}-{rng.getrandbits(30)}-{serial}")
        path = path or send.path
        books.doubtful.setdefault(path, []).append(wanted)
        try:
            answer = json.loads(await send())
        except ApiError as error:
            raise AssertionError(f"{path}: {error}") from error
        except KubeError:
            return
        books.acknowledged(path, wanted, int(answer.get("metadata", {}).get("resourceVersion") or 0))


def _choice(client, rng, path, name):
    """What the object is to be, and the request that makes it so."""
    if not path:
        if rng.random() < 0.5:
            return "", _Send(client, "POST", f"{CONFIG}/{name}", {"metadata": {"name": name}})
        spec = {"containers": [{"name": "a", "image": "b"}]}
        return "", _Send(client, "POST", f"{PODS}/{name}", {"metadata": {"name": name}, "spec": spec})
    if rng.random() < 0.3:
        return None, _Send(client, "DELETE", path, {"gracePeriodSeconds": 0})
    mark = str(rng.getrandbits(30))
    return mark, _Send(client, "PATCH", path, {"metadata": {"labels": {"mark": mark}}}, content_type=MERGE_PATCH)


class _Send:
    def __init__(self, client, method, path, body, **options):
        self.path = path
        self._call = (method, path.rpartition("/")[0] if method == "POST" else path)
        self._client = client
        self._options = {"body": json.dumps(body).encode(), **options}

    async def __call__(self):
        return await self._client.request(*self._call, **self._options)


async def look(client, books):
    """Compares what is there with the books."""
    there = {}
    for kind in (CONFIG, PODS):
        answer = json.loads(await client.request("GET", kind))
        for item in answer["items"]:
            there[f"{kind}/{item['metadata']['name']}"] = item["metadata"].get("labels", {}).get("mark", "")
        assert int(answer["metadata"]["resourceVersion"]) >= books.version, "versions never go back"
    for path in books.known.keys() | books.doubtful.keys() | there.keys():
        books.check(path, there.get(path))


async def live(server, books, rng, *, seconds):
    """Load until the server is killed in the middle of it."""
    async with Client(load(kubeconfig=str(server.kubeconfig)), user_agent="test") as client:
        await look(client, books)
        writers = [asyncio.create_task(write(client, books, number, rng)) for number in range(WRITERS)]
        await asyncio.sleep(seconds)
        server.kill()
        await asyncio.gather(*writers)


def test_nothing_that_was_acknowledged_is_lost_when_the_server_is_killed(tmp_path):
    rng, books = random.Random(1), Books()
    for _ in range(LIVES):
        asyncio.run(live(Server(tmp_path), books, rng, seconds=rng.uniform(0.05, 0.3)))
    server = Server(tmp_path)
    asyncio.run(_look_once(server, books))
    server.close()
    print(f"{LIVES} lives, {books.writes} acknowledged writes, {len(books.known)} objects")
    assert books.writes > 20 * LIVES


async def _look_once(server, books):
    async with Client(load(kubeconfig=str(server.kubeconfig)), user_agent="test") as client:
        await look(client, books)


def test_watches_from_before_a_restart_are_told_that_they_are_too_old(tmp_path):
    server = Server(tmp_path)
    version = asyncio.run(_create(server, "a"))
    asyncio.run(_create(server, "b"))
    server.kill()
    server = Server(tmp_path)
    event = asyncio.run(_first_event(server, version))
    server.close()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_an_ephemeral_cluster_keeps_nothing(tmp_path):
    server = Server(tmp_path, "--ephemeral")
    asyncio.run(_create(server, "a"))
    server.close()
    server = Server(tmp_path, "--ephemeral")
    with pytest.raises(ApiError, match="not found"):
        asyncio.run(_get(server, f"{CONFIG}/a"))
    server.close()


async def _create(server, name):
    async with Client(load(kubeconfig=str(server.kubeconfig)), user_agent="test") as client:
        body = json.dumps({"metadata": {"name": name}}).encode()
        return json.loads(await client.request("POST", CONFIG, body=body))["metadata"]["resourceVersion"]


async def _get(server, path):
    async with Client(load(kubeconfig=str(server.kubeconfig)), user_agent="test") as client:
        return await client.request("GET", path)


async def _first_event(server, version):
    query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "5"}
    async with (
        Client(load(kubeconfig=str(server.kubeconfig)), user_agent="test") as client,
        client.stream(CONFIG, query=query, seconds=10) as pieces,
    ):
        return json.loads(await anext(pieces))
