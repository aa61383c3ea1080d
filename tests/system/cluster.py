"""One cluster: the API server's core with its store, direct ways to change it, and its objects as rules read them."""

from contextlib import closing

import msgspec
from msgspec.structs import replace

from muster.api.kinds import KINDS, address_of
from muster.api.resources import NATIVE_POD_GROUPS, NODES, PODS
from muster.api.wire import Node, Pod, PodDisruptionBudget, PriorityClass, SchedulingGroup
from muster.kube.client import MERGE_PATCH, STRATEGIC_PATCH
from muster.local.kinds import rows
from muster.local.process.cluster import make_server
from muster.local.serve.wire import Request
from muster.local.store.store import Store
from muster.sim.plain import ENDED, Place, needs_of, room_of, take
from tests.system.dialects import BY_NAME, RESOURCES, gang_of, groups_of
from tests.system.disk import Disk, DiskLog
from tests.system.processes import START, TOKEN

NAMESPACE = "sim"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
GROUPS = NATIVE_POD_GROUPS[0]

# those that somebody here reads or writes, and of the others a few: to watch all of them takes half the time of a world
_PLURALS = {
    *("configmaps", "events", "jobs", "leases", "namespaces", "nodes", "poddisruptionbudgets", "podgroups", "pods"),
    *("customresourcedefinitions", "priorityclasses", "serviceaccounts", "services", "workloads"),
    # without these nobody begins, though nobody makes any yet; those of devices need not be there
    *("persistentvolumeclaims", "persistentvolumes", "storageclasses", "csinodes", "csidrivers"),
    *("csistoragecapacities", "volumeattachments"),
}
_SOME_KINDS = tuple(kind for kind in rows.ROWS if kind.plural in _PLURALS)

_encode = msgspec.json.encode
_STORAGES = {
    "pods": Pod,
    "nodes": Node,
    "poddisruptionbudgets.policy": PodDisruptionBudget,
    "priorityclasses.scheduling.k8s.io": PriorityClass,
    **{resource.name: BY_NAME[dialect].kind for dialect, resource in RESOURCES.items()},
    **{name: kind.struct for name, kind in KINDS.items()},
}


class _Source:
    """Time and names, by the seed."""

    def __init__(self, clock, rng):
        self.now = clock
        self._rng = rng

    def uid(self):
        number = f"{self._rng.getrandbits(128):032x}"
        return "-".join((number[:8], number[8:12], number[12:16], number[16:20], number[20:]))

    def suffix(self):
        return "".join(self._rng.choices("bcdfghjklmnpqrstvwxz2456789", k=5))


class MemoryLog:
    """What a store has on disk, without one."""

    def __init__(self):
        self._rows = {}
        """The last change of each object, oldest first."""

    def append(self, storage, stored, *, deleted):
        key = (storage, *stored.key)
        self._rows.pop(key, None)
        self._rows[key] = (storage, stored, deleted)

    doubtful = frozenset()
    """Objects of which a change may have been written that nobody was told of."""

    def read(self):
        return list(self._rows.values())

    def reopened(self, *, ours=True):
        return self

    def close(self):
        pass


class _State:
    """What a server serves and holds."""

    def __init__(self, store, server, *, doubtful=frozenset()):
        self.version = store.version
        self.objects = {
            (storage, *key): one.data for storage, found in store._objects.items() for key, one in found.items()
        }
        self.definitions = {one.name: one.data for one in store.list(DEFINITIONS)}
        self.served = {served.key for served in server._registry}
        self.doubtful = doubtful


class Cluster:
    """What is there, whoever knows it.

    Looks like a World to rules of the engine's simulation: `now`, `nodes`, `pods`, `groups`, `budgets`, `in_flight`.
    """

    def __init__(self, loop, *, rng, disk_rng, planned):
        self._loop = loop
        self._source = _Source(lambda: self.now, rng)
        self._history = planned.history
        self._kinds = rows.ROWS if "all kinds" in planned.mood else _SOME_KINDS
        self.disk = Disk(disk_rng) if "disk" in planned.mood else None
        self._log = MemoryLog() if self.disk is None else DiskLog(self.disk)
        self._watchers = []
        self.restarted = None
        """Told what there was before a restart, and how to start."""
        self.in_flight = {}
        self._read = {storage: {} for storage in _STORAGES}
        """By storage, by key: the stored version, what it says, and what rules read of that."""
        self._start()
        self.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})

    @property
    def now(self):
        return START + self._loop.time()

    def _start(self):
        self.store = Store(self._log, history=self._history)
        self.server = make_server(self.store, self._source, token=TOKEN, kinds=self._kinds)
        for storage, told in self._watchers:
            self.store.watch(storage, told)

    def watch(self, storage, told):
        """Has somebody told what happens to objects, whichever process of the server stores them."""
        self._watchers.append((storage, told))
        self.store.watch(storage, told)

    def restart(self):
        """The server's process ends, and another one starts with what the log holds."""

        def start():
            self._log = self._log.reopened()
            self._start()
            return _State(self.store, self.server)

        self.restarted(self._state(), start)

    def try_restart(self):
        """The same, but this process goes on."""

        def start():
            with closing(self._log.reopened(ours=False)) as log:
                store = Store(log, history=self._history)
                return _State(store, make_server(store, self._source, token=TOKEN, kinds=self._kinds))

        self.restarted(self._state(), start)

    def close(self):
        self._log.close()

    def _state(self):
        return _State(self.store, self.server, doubtful=self._log.doubtful)

    # --- writing ---

    def ask(self, method, path, body=None, content_type="application/json", query=()):
        """What the server answers somebody whom nothing gets in the way of."""
        return self.server.handle(
            Request(
                method=method,
                path=path,
                query=query,
                body=b"" if body is None else _encode(body),
                content_type=content_type,
                accept="application/json",
                user_agent="sim",
                token=TOKEN,
            )
        )

    def create(self, path, body):
        """Whether it was made: always, unless the disk makes trouble, or left out what came before."""
        answer = self.ask("POST", path, body)
        assert answer.code == 201 or self.disk is not None, (path, body, answer.body)
        return answer.code == 201

    def patch(self, path, body, *, strategic=False):
        """Whether it was there, and took it."""
        answer = self.ask("PATCH", path, body, STRATEGIC_PATCH if strategic else MERGE_PATCH)
        assert answer.code in (200, 404, 409) or self.disk is not None, (path, body, answer.body)
        return answer.code == 200

    def delete(self, path, **options):
        self.ask("DELETE", path, options or None)

    def bind(self, pod, node):
        """Whether the server took it."""
        meta = pod.metadata
        body = {
            "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
            "target": {"kind": "Node", "name": node},
        }
        return self.ask("POST", PODS.path(meta.namespace, meta.name, "binding"), body).code == 201

    def path(self, thing, subresource=""):
        meta = thing.metadata
        return {Pod: PODS, Node: NODES}[type(thing)].path(meta.namespace, meta.name, subresource)

    # --- reading ---

    def _all(self, storage):
        """By namespace and name; an object that did not change is the same as before."""
        before, kind = self._read[storage], _STORAGES[storage]
        now = {}
        for stored in self.store.list(storage):
            known = before.get(stored.key)
            if known is None or known[0] is not stored:
                found = msgspec.json.decode(stored.data, type=kind)
                known = (stored, found, _as_rules_read(found) if kind is Pod else found)
            now[stored.key] = known
        self._read[storage] = now
        return now

    @property
    def pods(self):
        """As rules read them."""
        return {read.metadata.uid: read for _, _, read in self._all("pods").values()}

    @property
    def raw_pods(self):
        """As they are."""
        return [found for _, found, _ in self._all("pods").values()]

    @property
    def nodes(self):
        return {name: found for (_, name), (_, found, _) in self._all("nodes").items()}

    @property
    def declaring(self):
        """By the name of the dialect: objects that declare gangs."""
        return {dialect: self._list(resource.name) for dialect, resource in RESOURCES.items()}

    @property
    def classes(self):
        return {one.metadata.name: one for one in self._list("priorityclasses.scheduling.k8s.io")}

    @property
    def groups(self):
        """By key: those that count."""
        return groups_of(self.declaring, self.raw_pods, self.classes, nodes=self.nodes)

    def _list(self, storage):
        return [found for _, found, _ in self._all(storage).values()]

    @property
    def budgets(self):
        found = self._all("poddisruptionbudgets.policy")
        return {f"{namespace}/{name}": budget for (namespace, name), (_, budget, _) in found.items()}

    @property
    def facts(self):
        """What plugins read, by kind and key."""
        return {address_of(fact): fact for name in KINDS for fact in self._list(name)}

    def serves(self, resource):
        """Whether objects of a custom kind can be made."""
        return self.store.get(DEFINITIONS, "", resource.name) is not None

    def everything(self):
        """All that is stored."""
        return [stored for storage in sorted(self.store._objects) for stored in self.store.list(storage)]

    def documents(self, storage):
        """The objects of one kind, as they are stored."""
        return [msgspec.json.decode(stored.data) for stored in self.store.list(storage, NAMESPACE)]

    def find(self, name):
        """The pod of that name, if there is one."""
        stored = self.store.get("pods", NAMESPACE, name)
        return None if stored is None else _as_rules_read(msgspec.json.decode(stored.data, type=Pod))

    def snapshot(self):
        """What is there now, read once."""
        return Snapshot(self)


def room_left(cluster):
    """The room that nobody has who is bound."""
    places = {name: Place(dict(room_of(node)), []) for name, node in cluster.nodes.items()}
    for pod in cluster.pods.values():
        if pod.spec.node_name in places and pod.status.phase not in ENDED:
            take(needs_of(pod), places[pod.spec.node_name])
    return places


def _as_rules_read(pod):
    """The pod as if it named its gang in the field of Kubernetes, which is what rules look at."""
    name = gang_of(pod)
    group = SchedulingGroup(pod_group_name=name) if name else None
    return pod if pod.spec.scheduling_group == group else replace(pod, spec=replace(pod.spec, scheduling_group=group))


class Snapshot:
    def __init__(self, cluster):
        self.now = cluster.now
        self.nodes = cluster.nodes
        self.pods = cluster.pods
        self.raw_pods = cluster.raw_pods
        self.declaring = cluster.declaring
        self.classes = cluster.classes
        self.groups = self.groups_told = cluster.groups
        self.budgets = cluster.budgets
        self.facts = cluster.facts
        self.in_flight = cluster.in_flight
