"""The real kube-scheduler, asked about one pod after another in worlds that are made for it.

    with OneByOne(plane) as real:           the plane has no controllers: what is not a pod or a node only lies there
        real.make(world)                    its nodes and the pods on them
        real.about(pod)                     a node and scores, or what the PodScheduled condition says
        real.delete(victim), real.lands(pod)    where others were told to leave for it
        real.remove()

Nothing waits for time to pass.  kube-scheduler takes pods from one stream and nodes from another, each in order: pods
that were made before the one we ask about are known when it comes, and its log says when it has seen a node.
"""

import contextlib
import http.client
import json
import time
from collections import defaultdict
from urllib.parse import urlsplit

from muster.base.errors import ApiError
from tests.plain_scheduler.cluster import Cluster
from tests.plain_scheduler.configuration import configuration
from tests.plain_scheduler.random_clusters import surroundings
from tests.plain_scheduler.random_priorities import RankedWorld
from tests.plain_scheduler.standing_in import Heard

SECONDS = 30
_WATCH_SECONDS = 60
"""An API server ends watches as it likes, after an hour at the latest: asked to do it often, that is nothing special.
Longer than SECONDS, after which a change that does not come is an error."""
_LOOK_AGAIN_SECONDS = 0.002
_SAYS_SCORES = 10
"""The verbosity at which the log has the score of each plugin for each node; nodes that were seen are in it from 3."""
_AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
MERGE = "application/merge-patch+json"


_EVICTS = " preemption: found a potential placement"


class OneByOne:
    def __init__(self, plane, around=None):
        self.configuration = configuration
        self._ending = contextlib.ExitStack()
        self._api = self._ending.enter_context(_Connection(plane))
        self.around = around or surroundings()
        for path, listed in self.around.by_path.items():
            # a namespace gets its own name as a label
            self.around.by_path[path] = [self._made(path, each) for each in listed]
        plane.start_scheduler(configuration(), verbosity=_SAYS_SCORES)
        self._log = self._ending.enter_context(_Log(plane.folder / "kube-scheduler.log"))
        version = self._api.ask("GET", "/api/v1/pods")["metadata"]["resourceVersion"]
        self._changes = _changes(self._ending.enter_context(_Connection(plane)), since=version)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._changes.close()
        self._ending.close()

    def make(self, world):
        """Gives what the scheduler knows then."""
        nodes = [self._api.ask("POST", "/api/v1/nodes", node) for node in world.nodes]
        last = world.nodes[-1]["metadata"]["name"]
        self._log.wait_for(f'"Add event for node" node="{last}"')
        return self.cluster(nodes, [self._placed(pod, world) for pod in world.placed])

    def cluster(self, nodes, pods):
        around = self.around
        placed = [pod for pod in pods if pod["spec"].get("nodeName")]
        return Cluster(nodes, placed, around.namespaces, around.owners, around.of("poddisruptionbudgets"))

    def about(self, pod):
        """The pod as it came to the scheduler, its node or else the message, and scores by node and plugin."""
        made = self._sent(pod)
        for now in self._of(made):
            if node := self._node(now):
                return Heard(made, node, scores=self._scores(made, self._log.lines()))
            for condition in now["status"].get("conditions", []):
                if condition["type"] == "PodScheduled" and condition["status"] == "False":
                    message, _, evicts = condition["message"].partition(_EVICTS)
                    if evicts:
                        self._until_told_to_leave(pod, victims=int(evicts.split()[-2]))
                        return Heard(made, None, message, nominated=now["status"]["nominatedNodeName"])
                    # before anything else happens that could make the scheduler try again
                    self.delete(made)
                    return Heard(made, None, message)
        raise AssertionError("watching goes on for ever")

    def pods(self):
        """All of them as they are now."""
        return self._api.ask("GET", "/api/v1/pods")["items"]

    def delete(self, pod):
        self._api.ask("DELETE", f"{path_of(pod)}/{pod['metadata']['name']}", _AT_ONCE)

    def begins(self, pod, at):
        """The pod runs since then."""
        began = {"status": {"phase": "Running", "startTime": at}}
        return self._api.ask("PATCH", f"{path_of(pod)}/{pod['metadata']['name']}/status", began, content_type=MERGE)

    def lands(self, pod):
        """The node where a pod goes for which there is room now."""
        return next(node for now in self._of(pod) if (node := now["spec"].get("nodeName")))

    def remove(self):
        for namespace in self.around.namespaces:
            self._api.ask("DELETE", f"/api/v1/namespaces/{namespace}/pods", _AT_ONCE)
        self._api.ask("DELETE", "/api/v1/nodes", _AT_ONCE)

    # --- parts ---

    def _sent(self, pod):
        """The pod as it comes to the scheduler."""
        return self._api.ask("POST", path_of(pod), pod)

    def _node(self, pod):
        """Where the pod goes, once that is certain."""
        return pod["spec"].get("nodeName")

    def _made(self, path, thing):
        made = self._api.ask("POST", path, thing)
        if "status" in thing:
            at = f"{path}/{thing['metadata']['name']}/status"
            made = self._api.ask("PATCH", at, {"status": thing["status"]}, content_type=MERGE)
        return made

    def _until_told_to_leave(self, pod, *, victims):
        """Until all of them are leaving; nobody is told who is already."""
        leaving = 0

        def done(line):
            nonlocal leaving
            leaving += '"Victim Pod is already being deleted, skipping' in line and f'preemptor="{key_of(pod)}"' in line
            return leaving == victims or f'"Async Preemption finished completely" preemptor="{key_of(pod)}"' in line

        self._log.wait_until(done)

    def _of(self, pod):
        """What the pod has become, again and again."""
        uid = pod["metadata"]["uid"]
        return (event["object"] for event in self._changes if event["object"]["metadata"]["uid"] == uid)

    def _placed(self, pod, world):
        made = self._api.ask("POST", path_of(pod), pod)
        name = pod["metadata"]["name"]
        if isinstance(world, RankedWorld):
            made = self.begins(pod, world.started[name])
        if name in world.leaving:
            return self._api.ask("DELETE", f"{path_of(pod)}/{name}")
        if name in world.ended:
            ended = {"status": {"phase": "Succeeded"}}
            return self._api.ask("PATCH", f"{path_of(pod)}/{name}/status", ended, content_type=MERGE)
        if status := world.told.get(name):
            return self._api.ask("PATCH", f"{path_of(pod)}/{name}/status", {"status": status}, content_type=MERGE)
        return made

    def _scores(self, pod, lines):
        """With weights and without zeros, as far as the log has come: scores are in it before the pod is bound."""
        found = defaultdict(dict)
        name = f'pod="{key_of(pod)}"'
        for line in lines:
            if '"Plugin scored node for pod"' in line and name in line:
                said = dict(each.split("=", 1) for each in line.split("] ", 1)[1].split() if "=" in each)
                scores = found[said["node"].strip('"')]
                if score := int(said["score"]):
                    scores[said["plugin"].strip('"')] = score
        return dict(found)


class _Log:
    """What a process has written since we took it last, in whole lines."""

    def __init__(self, path):
        self._file = path.open()
        self._begun = ""
        self._seen = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def lines(self):
        """Takes them."""
        self._read()
        found, self._seen = self._seen, []
        return found

    def wait_for(self, words):
        self.wait_until(lambda line: words in line)

    def wait_until(self, true):
        """Until that is true of a line that nobody has looked at."""
        deadline = time.monotonic() + SECONDS
        while not any(true(line) for line in self._read()):
            assert time.monotonic() < deadline, "the log does not say what it should"
            time.sleep(_LOOK_AGAIN_SECONDS)

    def _read(self):
        *whole, self._begun = (self._begun + self._file.read()).split("\n")
        self._seen += whole
        return whole


class _Connection:
    """One connection, kept open: a new one for each request would take most of the time."""

    def __init__(self, plane):
        where = urlsplit(plane.server)
        self._connection = http.client.HTTPSConnection(
            where.hostname, where.port, timeout=SECONDS, context=plane.ssl_context()
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    def ask(self, method, path, body=None, *, content_type="application/json"):
        # as kubectl spells it: the API server keeps the bytes of opaque parameters, and refuses a patch by JSON that
        # spells them in another way as a change of them
        payload = None if body is None else json.dumps(body, separators=(",", ":"), sort_keys=True)
        self._connection.request(method, path, body=payload, headers={"Content-Type": content_type})
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        if response.status >= 400:
            raise ApiError(f"{answer['message']}: {payload}", code=response.status, reason=str(answer.get("reason")))
        return answer

    def stream(self, path):
        self._connection.request("GET", path)
        with self._connection.getresponse() as response:
            while line := response.readline():
                yield json.loads(line)


def _changes(connection, *, since):
    """Of all pods, in order."""
    while True:
        for event in connection.stream(f"/api/v1/pods?watch=1&timeoutSeconds={_WATCH_SECONDS}&resourceVersion={since}"):
            since = event["object"]["metadata"]["resourceVersion"]
            yield event


def path_of(pod):
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"


def key_of(pod):
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
