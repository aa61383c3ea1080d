"""What happened to the pods of a namespace, and what must hold of it whatever went wrong."""

import contextlib
import http.client
import json
import socket
import threading
import time
from collections import Counter, defaultdict

from muster.base.errors import ApiError, Unreachable
from muster.base.quantity import amount

SECONDS = 60.0
_AGAIN_SECONDS = 0.05
_ENDED = ("Succeeded", "Failed")


class Life:
    """One pod, by its UID, from the first to the last that was seen of it."""

    def __init__(self, pod):
        self.name = pod["metadata"]["name"]
        self.uid = pod["metadata"]["uid"]
        self.gang = _gang(pod)
        self.scheduler = pod["spec"]["schedulerName"]
        requests = [each.get("resources", {}).get("requests", {}) for each in pod["spec"]["containers"]]
        self.cpu = sum(amount("cpu", each.get("cpu", "0")) for each in requests)
        self.nodes = []
        """Where it was bound; more than one is a disaster."""
        self.pod = pod
        self.gone = False
        self.grace = None
        """The seconds it was given to stop, by whoever first asked it to."""
        self.bound_at = self.ended_at = None
        """Resource versions from which on it had a node, and took no room there any more; they grow with time."""

    @property
    def phase(self):
        return self.pod["status"]["phase"]

    @property
    def is_leaving(self):
        return "deletionTimestamp" in self.pod["metadata"]

    @property
    def takes_room(self):
        return bool(self.nodes) and not self.gone and self.phase not in _ENDED

    def condition(self, kind):
        found = [each for each in self.pod["status"].get("conditions", ()) if each["type"] == kind]
        return found[0] if found else None


class History:
    """Follows the pods of a namespace through every fault of the API server, in a thread of its own.

    `until` looks again at each change, so that a test can strike in the middle of something.
    """

    def __init__(self, plane, namespace):
        self.plane = plane
        self.namespace = namespace
        self.lives = {}
        """By UID, in the order in which they were seen first."""
        self.fullest = Counter()
        """By node: the most cpu, in milli, that pods took at any time."""
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._on_node = defaultdict(dict)
        self._changed = threading.Condition()
        self._ending = False
        self._connection = None
        self._version = ""
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ending = True
        # ends the read that the thread is in
        if (connection := self._connection) is not None and connection.sock is not None:
            with contextlib.suppress(OSError):  # the other side was faster
                connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    # --- questions ---

    def of(self, gang):
        """The pods of a gang that are there."""
        return [life for life in list(self.lives.values()) if life.gang == gang and not life.gone]

    def bound(self, gang):
        """How many of its pods have a node, and have not ended in vain."""
        return sum(bool(life.nodes) and life.phase != "Failed" and not life.is_leaving for life in self.of(gang))

    def until(self, true, what, seconds=SECONDS):
        """Waits for something that shows in the pods."""
        with self._changed:
            came = self._changed.wait_for(true, seconds)
        assert came, f"waited {seconds:g} s in vain for {what}: {self.summary()}"

    def until_bound(self, gang, count, seconds=SECONDS):
        self.until(lambda: self.bound(gang) >= count, f"{count} bound members of {gang}", seconds)

    def summary(self):
        lives = list(self.lives.values())
        names = sorted({life.gang for life in lives})
        counts = {
            name or "lone": f"{self.bound(name)} bound of {len(self.of(name))}, {_phases(self.of(name))}"
            for name in names
        }
        return f"{counts}, {sum(life.gone for life in lives)} gone"

    # --- following ---

    def _run(self):
        while not self._ending:
            try:
                if not self._version:
                    self._list()
                self._watch()
            except (OSError, http.client.HTTPException, ValueError, Unreachable, AttributeError):
                # an answer cut short; AttributeError is what http.client makes of a socket closed under its hands
                pass
            except ApiError as error:
                if error.code == 410:
                    self._version = ""
            if not self._ending:
                time.sleep(_AGAIN_SECONDS)

    def _list(self):
        answer = self.plane.request("GET", self._path)
        with self._changed:
            listed = {pod["metadata"]["uid"] for pod in answer["items"]}
            for life in self.lives.values():
                if life.uid not in listed and not life.gone:
                    self._gone(life)
            for pod in answer["items"]:
                self._seen(pod)
            self._changed.notify_all()
        self._version = answer["metadata"]["resourceVersion"]

    def _watch(self):
        port = int(self.plane.server.rsplit(":", 1)[1])
        context = self.plane.ssl_context("history", ("system:masters",))
        self._connection = connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=SECONDS, context=context)
        try:
            query = f"watch=1&allowWatchBookmarks=true&resourceVersion={self._version}"
            connection.request("GET", f"{self._path}?{query}")
            response = connection.getresponse()
            if response.status != 200:
                raise ApiError(response.read().decode(), code=response.status)
            while line := response.readline():
                self._take(json.loads(line))
        finally:
            connection.close()

    def _take(self, event):
        if event["type"] == "ERROR":
            raise ApiError(event["object"].get("message", ""), code=event["object"]["code"])
        with self._changed:
            if event["type"] in ("ADDED", "MODIFIED"):
                self._seen(event["object"])
            elif event["type"] == "DELETED":
                self._seen(event["object"])
                self._gone(self.lives[event["object"]["metadata"]["uid"]])
            self._version = event["object"]["metadata"]["resourceVersion"]
            self._changed.notify_all()

    def _seen(self, pod):
        life = self.lives.setdefault(pod["metadata"]["uid"], Life(pod))
        life.pod = pod
        if life.is_leaving and life.grace is None:
            life.grace = pod["metadata"]["deletionGracePeriodSeconds"]
        node = pod["spec"].get("nodeName")
        if node and node not in life.nodes:
            life.nodes.append(node)
            life.bound_at = int(pod["metadata"]["resourceVersion"])
        self._book(life)

    def _gone(self, life):
        life.gone = True
        self._book(life)

    def _book(self, life):
        for node in life.nodes:
            if life.takes_room:
                self._on_node[node][life.uid] = life.cpu
                self.fullest[node] = max(self.fullest[node], sum(self._on_node[node].values()))
            elif self._on_node[node].pop(life.uid, None) is not None:
                life.ended_at = int(life.pod["metadata"]["resourceVersion"])


# --- what must hold ---------------------------------------------------------------------------


def check(history, minima, *, others=False):
    """After every fault.  `minima`: the least of each gang; `others`: another scheduler took part."""
    _nothing_was_bound_twice(history)
    for gang, minimum in minima.items():
        bound = history.bound(gang)
        assert bound == 0 or bound >= minimum, f"{gang} is bound in part: {bound} of {minimum}"
    if not others:
        _no_node_was_ever_too_full(history)


def _nothing_was_bound_twice(history):
    moved = {life.name: life.nodes for life in history.lives.values() if len(life.nodes) > 1}
    assert not moved, f"pods were bound to several nodes: {moved}"


def _no_node_was_ever_too_full(history):
    nodes = history.plane.request("GET", "/api/v1/nodes")["items"]
    room = {node["metadata"]["name"]: amount("cpu", node["status"]["allocatable"]["cpu"]) for node in nodes}
    full = {name: (cpu, room[name]) for name, cpu in history.fullest.items() if name in room and cpu > room[name]}
    assert not full, f"nodes had more to carry than they can, in milli cpu: {full}"
    refused = [life.name for life in history.lives.values() if life.pod["status"].get("reason", "").startswith("OutOf")]
    assert not refused, f"kubelets refused pods: {refused}"


def group_says(plane, path, kind="PodGroupInitiallyScheduled"):
    """A condition of the PodGroup, the one about its start by default: (status, reason, message)."""
    conditions = plane.request("GET", path).get("status", {}).get("conditions", ())
    for each in conditions:
        if each["type"] == kind:
            return each["status"], each["reason"], each["message"]
    return None


def until_group_says(plane, path, *, status, reason, kind="PodGroupInitiallyScheduled"):
    """Waits for it; the message."""
    said = None

    def says():
        nonlocal said
        said = group_says(plane, path, kind)
        return said is not None and said[:2] == (status, reason)

    until(says, lambda: f"{path} to say {status}, {reason}: it says {said}")
    return said[2]


def until(find, what, seconds=SECONDS):
    """Waits for the world outside and gives what was found; says what it waited for when that does not come."""
    deadline = time.monotonic() + seconds
    while not (found := find()):
        assert time.monotonic() < deadline, f"waited {seconds:g} s in vain for {what() if callable(what) else what}"
        time.sleep(_AGAIN_SECONDS)
    return found


def _gang(pod):
    """What it names, beside its field or in it."""
    field = pod["spec"].get("schedulingGroup", {}).get("podGroupName")
    labels, annotations = (pod["metadata"].get(beside, {}) for beside in ("labels", "annotations"))
    label = labels.get("scheduling.x-k8s.io/pod-group") or labels.get("muster.dev/pod-group")
    return label or annotations.get("scheduling.k8s.io/group-name") or field or ""


def _phases(lives):
    return dict(Counter(life.phase for life in lives))
