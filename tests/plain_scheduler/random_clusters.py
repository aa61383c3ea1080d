"""Small clusters and pods by chance, from a seed: everything that pods can ask about nodes and about each other.

    surroundings()      namespaces, Services, controllers ...: the same for all worlds, so that they are made once
    world(seed)         nodes, pods on them, and pods that come one after another

Few names and labels, so that much of it meets.  What comes out is what one would send to an API server, and valid.
"""

import random
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.plain_scheduler.admission import as_admitted
from tests.plain_scheduler.cluster import Cluster, Owners
from tests.plain_scheduler.resources import Strategy
from tests.plain_scheduler.selectors import Document, Labels

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
TOPOLOGY_KEYS = (HOSTNAME, HOSTNAME, ZONE, ZONE, ZONE, "rack", "rack", "nowhere")
FEATURES = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "VolumeBindMountOptions")
GATES = FEATURES[1:]
"""Without them the API server lets no pod through that needs those features."""
EXTENDED = "example.com/widget"
LICENCES = ("example.com/licence", "licences.example/seat")
"""What few nodes have; some schedulers let pods do without."""
MEBI = 1024 * 1024

NAMESPACES = {
    "red": {"tier": "gold", "warm": "yes"},
    "green": {"tier": "silver"},
    "blue": {"tier": "gold"},
}
STRATEGIES = {
    "default-scheduler": Strategy(),
    "packing": Strategy(
        "MostAllocated",
        {"cpu": 2, "memory": 1, EXTENDED: 3, LICENCES[0]: 4},
        ignored=LICENCES[:1],
        ignored_groups=["licences.example", "example.org"],
        balanced=("cpu", "memory", LICENCES[0]),
    ),
    "ratio": Strategy(
        "RequestedToCapacityRatio",
        {"cpu": 1, EXTENDED: 5, "hugepages-2Mi": 2},
        ((8, 0), (40, 10), (70, 3), (100, 7)),
        balanced=("memory", EXTENDED, "ephemeral-storage", "cpu"),
    ),
    "storing": Strategy(
        "LeastAllocated",
        {"memory": 3, "ephemeral-storage": 2, "hugepages-2Mi": 1, "pods": 1},
        balanced=("ephemeral-storage", "hugepages-2Mi"),
    ),
}
"""By the name of the scheduler that a pod asks for; those that spread pods otherwise have the first."""

EVERYTHING, SPREAD, COMPANY = "everything", "spread", "company"
_TOPICS = (EVERYTHING, SPREAD, EVERYTHING, COMPANY)
"""Of worlds, in turn."""
_LABELS = {"app": ("web", "db", "job"), "side": ("left", "right"), "rev": ("1", "2")}
_IMAGES = {
    "tiny:latest": 10 * MEBI,
    "middle:v1": 300 * MEBI,
    "registry.example/big:latest": 900 * MEBI,
    "registry.example:5000/huge:latest": 3000 * MEBI,
}
_WANTED_IMAGES = (
    "tiny",
    "middle:v1",
    "middle",
    "middle:v1@sha256:00",
    "registry.example/big",
    "registry.example:5000/huge",
    "absent:v2",
)
_TAINTS = (
    {"key": "team", "value": "a", "effect": "NoSchedule"},
    {"key": "team", "value": "b", "effect": "NoExecute"},
    {"key": "flaky", "effect": "PreferNoSchedule"},
    {"key": "slow", "value": "very", "effect": "PreferNoSchedule"},
)
_TOLERATIONS = (
    {"key": "team", "operator": "Exists"},
    {"key": "team", "value": "a"},
    {"key": "team", "operator": "Equal", "value": "b", "effect": "NoSchedule"},
    {"key": "flaky", "operator": "Exists", "effect": "PreferNoSchedule"},
    {"operator": "Exists", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
    {"operator": "Exists"},
)


@dataclass
class Surroundings:
    """Objects by the path that they are posted to."""

    by_path: dict[str, list[Document]] = field(default_factory=dict)

    def of(self, resource: str) -> list[Document]:
        return [each for path, made in self.by_path.items() if path.endswith(f"/{resource}") for each in made]

    @property
    def owners(self) -> Owners:
        kinds = ("services", "replicationcontrollers", "replicasets", "statefulsets")
        return Owners(*(self.of(kind) for kind in kinds))

    @property
    def namespaces(self) -> dict[str, Labels]:
        return {each["metadata"]["name"]: each["metadata"]["labels"] for each in self.of("namespaces")}

    def admitted(self, pod: Document) -> Document:
        classes = {"runtime_classes": self.of("runtimeclasses"), "priority_classes": self.of("priorityclasses")}
        return as_admitted(pod, **classes)


@dataclass
class World:
    seed: int
    nodes: list[Document]
    placed: list[Document]
    """Pods that are on a node from the start."""
    leaving: set[str]
    """Names of those which have been told to stop."""
    ended: set[str]
    """Names of those which have run to their end."""
    told: dict[str, Document]
    """By name, what kubelets say of others: resources that are not, or not yet, what the pod asks for."""
    coming: list[Document]

    def cluster(self, around: Surroundings) -> Cluster:
        """What a scheduler knows before the first of the coming pods."""
        pods = [around.admitted(pod) for pod in self.placed]
        for pod in pods:
            if pod["metadata"]["name"] in self.leaving:
                pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            if pod["metadata"]["name"] in self.ended:
                pod["status"] = {"phase": "Succeeded"}
            if status := self.told.get(pod["metadata"]["name"]):
                pod["status"] = status
        return Cluster(self.nodes, pods, around.namespaces, around.owners)


def surroundings() -> Surroundings:
    found = Surroundings()
    found.by_path["/api/v1/namespaces"] = [
        {"metadata": {"name": name, "labels": dict(labels)}} for name, labels in NAMESPACES.items()
    ]
    for namespace in NAMESPACES:
        core, apps = f"/api/v1/namespaces/{namespace}", f"/apis/apps/v1/namespaces/{namespace}"
        found.by_path[f"{core}/services"] = [
            _owner(namespace, "web", selector={"app": "web"}, ports=[{"port": 80}]),
            _owner(namespace, "left-web", selector={"app": "web", "side": "left"}, ports=[{"port": 80}]),
            _owner(namespace, "outside", ports=[{"port": 80}]),
        ]
        template = {"metadata": {"labels": {"app": "db", "side": "left"}}, "spec": _owned_spec()}
        chosen = {"matchLabels": {"app": "db"}, "matchExpressions": [{"key": "side", "operator": "Exists"}]}
        found.by_path[f"{core}/replicationcontrollers"] = [
            _owner(namespace, "owner", selector={"app": "db"}, replicas=0, template=template)
        ]
        found.by_path[f"{apps}/replicasets"] = [
            _owner(namespace, "owner", selector=chosen, replicas=0, template=template)
        ]
        found.by_path[f"{apps}/statefulsets"] = [
            _owner(namespace, "owner", selector=chosen, replicas=0, serviceName="web", template=template)
        ]
    fenced = {"nodeSelector": {"fenced": "yes"}, "tolerations": [{"key": "team", "operator": "Exists"}]}
    found.by_path["/apis/node.k8s.io/v1/runtimeclasses"] = [
        {"metadata": {"name": "heavy"}, "handler": "h", "overhead": {"podFixed": {"cpu": "250m", "memory": "300Mi"}}},
        {"metadata": {"name": "fenced"}, "handler": "f", "scheduling": fenced},
    ]
    found.by_path["/apis/scheduling.k8s.io/v1/priorityclasses"] = [
        {"metadata": {"name": "patient"}, "value": 0, "preemptionPolicy": "Never"}
    ]
    return found


def world(seed: int, *, coming: int = 12) -> World:
    """Every other world has one topic: pods of few kinds that ask for little else, so that they meet more often."""
    chance = Chance(seed)
    chance.topic = _TOPICS[seed % len(_TOPICS)]
    nodes = [chance.node(f"w{seed}-n{number}") for number in range(chance.randint(3, 12))]
    names = [node["metadata"]["name"] for node in nodes]
    crowd = chance.randint(0, 2 * len(nodes)) if chance.topic == EVERYTHING else 2 * len(nodes)
    placed = [chance.placed(f"old-{number}", names) for number in range(crowd)]
    leaving = {pod["metadata"]["name"] for pod in placed if chance.one_in(8)}
    ended = {pod["metadata"]["name"] for pod in placed if chance.one_in(12)} - leaving
    at_own_ports(placed, ended)
    told = {pod["metadata"]["name"]: chance.status(pod) for pod in placed if chance.one_in(3)}
    told = {name: status for name, status in told.items() if name not in leaving | ended}
    pods = [chance.coming(f"new-{number}", names) for number in range(coming)]
    return World(seed, nodes, placed, leaving, ended, told, pods)


def at_own_ports(pods: Sequence[Document], going: Container[str]) -> None:
    """Those who are going have no port that one before them on their node has: kube-scheduler would think it free when
    one of the two has gone."""
    taken: set[tuple[str, int]] = set()
    for pod in pods:
        spec = pod["spec"]
        containers = [*spec["containers"], *spec.get("initContainers", [])]
        ports = {(spec["nodeName"], port["containerPort"]) for each in containers for port in each.get("ports", [])}
        if ports & taken and pod["metadata"]["name"] in going:
            for container in containers:
                container.pop("ports", None)
        taken |= ports


class Chance(random.Random):
    """Everything by chance, one kind of thing a method."""

    topic = EVERYTHING

    def off_topic(self, many: float) -> bool:
        """One in many, and more seldom in a world that has a topic."""
        return self.one_in(many if self.topic == EVERYTHING else 4 * many)

    def one_in(self, many: float) -> bool:
        return self.random() < 1 / many

    def some(self, most: int, make: Callable[[], Any]) -> list[Any]:
        """From one to `most` of them."""
        return [make() for _ in range(self.randint(1, most))]

    def subset(self, things: Sequence[Any], most: int) -> list[Any]:
        return self.sample(things, self.randint(1, min(most, len(things))))

    # --- nodes ---

    def node(self, name: str) -> Document:
        labels = {"size": str(self.randint(1, 9))}
        if not self.one_in(12):
            # two nodes may say that they are the same host
            labels[HOSTNAME] = name if not self.one_in(12) else name[:-1] + "0"
        if not self.one_in(12):
            labels[ZONE] = self.choice(("east", "west", "north"))
        if not self.one_in(4):
            labels["rack"] = self.choice(("r1", "r2", "r3", "r4"))
        if self.one_in(3):
            labels["fenced"] = "yes"
        room = {
            "cpu": self.choice(("2", "4", "4", "7500m")),
            "memory": self.choice(("4Gi", "8Gi", "8Gi", "15000Mi")),
            "pods": str(self.choice((4, 8, 20, 110))),
        }
        if not self.one_in(4):
            room["ephemeral-storage"] = "20Gi"
        if self.one_in(2):
            room[EXTENDED] = str(self.choice((0, 2, 4)))
        if self.one_in(3):
            room["hugepages-2Mi"] = "64Mi"
        if self.one_in(6):
            room[LICENCES[0]] = str(self.choice((1, 3)))
        status: Document = {"capacity": room, "allocatable": room}
        images = [image for image in _IMAGES if self.one_in(2)]
        status["images"] = [{"names": [image, f"{image}@sha256:00"], "sizeBytes": _IMAGES[image]} for image in images]
        if features := [feature for feature in (*FEATURES, "Unheard") if self.one_in(2)]:
            status["declaredFeatures"] = sorted(features)
        spec: Document = {"taints": self.subset(_TAINTS, 2)} if self.one_in(4) else {}
        if self.off_topic(10):
            spec["unschedulable"] = True
        return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}

    # --- pods ---

    def placed(self, name: str, nodes: Sequence[str]) -> Document:
        pod = self._pod(name)
        if self.one_in(10):
            pod["spec"]["runtimeClassName"] = "heavy"
        # nobody asked whether there was room for it
        self._resources(pod, is_small=not self.off_topic(6))
        self._ports(pod)
        if self.one_in(2 if self.topic == COMPANY else 3):
            self._company(pod)
        pod["spec"]["nodeName"] = self.choice(nodes)
        return pod

    def coming(self, name: str, nodes: Sequence[str]) -> Document:
        pod = self._pod(name)
        spec = pod["spec"]
        spec["schedulerName"] = self.choice(("default-scheduler", "default-scheduler", *STRATEGIES))
        # drawn apart: without it worlds stay what they were
        apart = random.Random(str(pod))
        if apart.random() < 1 / 5:
            spec["schedulerName"] = apart.choice(("listed", "listed", "listed", "unspread"))
        self._resources(pod, is_small=not self.off_topic(4))
        self._ports(pod)
        if self.topic == COMPANY or self.off_topic(2):
            self._company(pod)
        if self.topic == SPREAD or self.off_topic(2):
            self._spread(pod)
        if self.topic == SPREAD and self.one_in(3):
            # some nodes of every zone
            spec["nodeSelector"] = {"fenced": "yes"}
        elif self.off_topic(3):
            self._nodes(pod, nodes)
        if self.one_in(3):
            spec["tolerations"] = self.subset(_TOLERATIONS, 2)
        if self.off_topic(15):
            spec["runtimeClassName"] = self.choice(("heavy", "fenced"))
        if self.off_topic(12):
            spec["priorityClassName"] = "patient"
        if self.one_in(8):
            spec["volumes"] = [{"name": "data", "image": {"reference": self.choice(_WANTED_IMAGES)}}]
        if self.off_topic(8):
            self._features(spec)
        return pod

    def _features(self, spec: Document) -> None:
        """What the kubelet must have."""
        container = self.choice((*spec["containers"], *spec.get("initContainers", [])))
        if self.one_in(2) and "restartPolicy" not in container:
            when = {"operator": "In", "values": [42]}
            container["restartPolicy"] = "Never"
            container["restartPolicyRules"] = [{"action": "RestartAllContainers", "exitCodes": when}]
        if self.one_in(2):
            spec["hostNetwork"], spec["hostUsers"] = not self.one_in(4), self.one_in(4)
        if self.one_in(2):
            spec["volumes"] = [*spec.get("volumes", []), {"name": "scratch", "emptyDir": {}}]
            options = {"bindMountOptions": ["noexec"]} if not self.one_in(4) else {}
            container["volumeMounts"] = [{"name": "scratch", "mountPath": "/scratch", **options}]

    def status(self, pod: Document) -> Document:
        """What a kubelet may say of the pod while it is being resized, or has given up on that."""
        status: Document = {}
        containers = {kind: pod["spec"].get(kind, []) for kind in ("containers", "initContainers")}
        for kind, listed in containers.items():
            if told := [self._container_status(each) for each in listed if not self.one_in(4)]:
                status["containerStatuses" if kind == "containers" else "initContainerStatuses"] = told
        if self.one_in(3):
            if not self.one_in(4):
                status["allocatedResources"] = self._some_resources()
            status["resources"] = {"requests": self._some_resources()} if not self.one_in(4) else {}
        if status and self.one_in(2):
            reason = self.choice(("Infeasible", "Deferred"))
            status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
        return status

    def _container_status(self, container: Document) -> Document:
        said = {"name": container["name"], "image": "i", "imageID": "i", "ready": True, "restartCount": 0}
        if not self.one_in(4):
            said["allocatedResources"] = self._some_resources()
        if not self.one_in(4):
            said["resources"] = {"requests": self._some_resources()} if not self.one_in(4) else {}
        return said

    def _some_resources(self) -> Document:
        some = {"cpu": ("50m", "300m", "1"), "memory": ("32Mi", "700Mi", "2Gi"), "ephemeral-storage": ("2Gi",)}
        return {name: self.choice(texts) for name, texts in some.items() if not self.one_in(3)}

    def _pod(self, name: str) -> Document:
        labels = {key: self.choice(values) for key, values in _LABELS.items() if not self.one_in(3)}
        if self.topic != EVERYTHING and not self.one_in(4):
            labels["app"] = "web"
        if self.one_in(3):
            # groups so many that some pod is the first of its own
            labels["group"] = f"g{self.randint(1, 9)}"
        spaces = ("red", "red", *NAMESPACES) if self.topic == EVERYTHING else ("red",) * 8 + tuple(NAMESPACES)
        metadata: Document = {"name": name, "namespace": self.choice(spaces), "labels": labels}
        if self.one_in(4):
            version, kind = self.choice(
                (("v1", "ReplicationController"), ("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"))
            )
            owner = {"apiVersion": version, "kind": kind, "name": self.choice(("owner", "gone")), "uid": "0"}
            metadata["ownerReferences"] = [{**owner, "controller": not self.one_in(5)}]
        containers = [self._container(f"c{number}") for number in range(self.choice((1, 1, 1, 2)))]
        return {"metadata": metadata, "spec": {"containers": containers}}

    def _container(self, name: str) -> Document:
        return {"name": name, "image": self.choice(_WANTED_IMAGES)}

    def _resources(self, pod: Document, *, is_small: bool) -> None:
        spec = pod["spec"]
        if self.one_in(5):
            spec["initContainers"] = [self._container(f"i{number}") for number in range(self.randint(1, 2))]
            for container in spec["initContainers"]:
                if self.one_in(2):
                    container["restartPolicy"] = "Always"
        for container in (*spec["containers"], *spec.get("initContainers", [])):
            asked = {}
            if not self.one_in(3):
                asked["cpu"] = self.choice(("0", "100m", "250m") if is_small else ("500m", "1", "2500m", "9"))
            if not self.one_in(3):
                asked["memory"] = self.choice(("64Mi", "100M", "500Mi") if is_small else ("1Gi", "3Gi", "7Gi"))
            if self.off_topic(8):
                asked["ephemeral-storage"] = self.choice(("1Gi", "9Gi"))
            container["resources"] = {self.choice(("requests", "requests", "limits")): asked}
            if self.off_topic(20):
                asked["cpu"] = "100m"
                container["resources"].setdefault("limits", {})["hugepages-2Mi"] = self.choice(("4Mi", "40Mi"))
            if self.off_topic(12):
                container["resources"].setdefault("limits", {})[EXTENDED] = self.choice(("1", "2", "3"))
            if self.off_topic(15):
                container["resources"].setdefault("limits", {})[self.choice(LICENCES)] = "1"
        if self.one_in(8):
            asked = {"cpu": "20", "memory": "1Ti"} if self.one_in(8) else {"cpu": "19500m"}
            asked = asked if not is_small else {}
            self._pod_level(spec, asked)

    def _pod_level(self, spec: Document, asked: Document) -> None:
        """Requests of the pod as a whole must not be below those of its containers, so these have few."""
        for container in (*spec["containers"], *spec.get("initContainers", [])):
            container["resources"] = self.choice(({}, {"requests": {"memory": "32Mi"}}, {"requests": {"cpu": "50m"}}))
        whole = asked or self.choice(
            (
                {"cpu": "400m"},
                {"memory": "256Mi"},
                {"cpu": "1", "memory": "1Gi"},
                {"cpu": "300m", "memory": "200Mi"},
                {"cpu": "200m", "hugepages-2Mi": "8Mi"},
            )
        )
        kinds = ("limits",) if "hugepages-2Mi" in whole else ("requests", "limits")
        spec["resources"] = {self.choice(kinds): whole}

    def _ports(self, pod: Document) -> None:
        if self.off_topic(5):
            port: Document = {
                "containerPort": self.choice((8080, 8081)),
                "protocol": self.choice(("TCP", "TCP", "UDP")),
            }
            if self.one_in(4):
                pod["spec"]["hostNetwork"] = True
            else:
                port["hostPort"] = port["containerPort"]
                if self.one_in(2):
                    port["hostIP"] = self.choice(("127.0.0.1", "10.0.0.1", "0.0.0.0"))
            holder = pod["spec"]["containers"][0]
            if sidecars := [each for each in pod["spec"].get("initContainers", []) if "restartPolicy" in each]:
                holder = self.choice((holder, sidecars[0]))
            holder["ports"] = [port]

    def _nodes(self, pod: Document, nodes: Sequence[str]) -> None:
        """What the pod wants of the node itself."""
        if self.one_in(4):
            pod["spec"]["nodeSelector"] = self.choice(({ZONE: "east"}, {ZONE: "west"}, {"fenced": "yes"}))
        affinity: Document = {}
        if self.one_in(2):
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
                "nodeSelectorTerms": self.some(2, lambda: self._node_term(nodes))
            }
        if self.one_in(2):
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = self.some(
                3, lambda: {"weight": self.randint(1, 100), "preference": self._node_term(nodes)}
            )
        if affinity:
            pod["spec"].setdefault("affinity", {})["nodeAffinity"] = affinity

    def _node_term(self, nodes: Sequence[str]) -> Document:
        if self.one_in(5):
            return {"matchFields": [self._name(nodes) for _ in range(2)]}
        term: Document = {}
        if not self.one_in(10):
            term["matchExpressions"] = self.some(2, self._node_expression)
        if self.one_in(4):
            term["matchFields"] = self.some(2, lambda: self._name(nodes))
        return term

    def _name(self, nodes: Sequence[str]) -> Document:
        names = [self.choice((*nodes, "elsewhere"))]
        return {"key": "metadata.name", "operator": self.choice(("In", "NotIn")), "values": names}

    def _node_expression(self) -> Document:
        if self.one_in(3):
            operator = self.choice(("Gt", "Lt"))
            return {"key": self.choice(("size", "rack")), "operator": operator, "values": [str(self.randint(2, 8))]}
        return self.requirement({ZONE: ("east", "west", "north"), "rack": ("r1", "r2", "r3"), "fenced": ("yes",)})

    # --- pods about pods ---

    def requirement(self, labels: dict[str, Sequence[str]]) -> Document:
        key = self.choice(list(labels))
        operator = self.choice(("In", "In", "NotIn", "Exists", "DoesNotExist"))
        requirement: Document = {"key": key, "operator": operator}
        if operator in ("In", "NotIn"):
            requirement["values"] = self.subset(labels[key], 2)
        return requirement

    def selector(self) -> Document | None:
        """Of pods: null, empty, labels, expressions or both."""
        if self.one_in(12):
            return None
        if self.one_in(8):
            return {}
        found: Document = {}
        if not self.one_in(3):
            key = self.choice(("app", "app", "side"))
            found["matchLabels"] = {key: self.choice(_LABELS[key])}
        if not found or self.one_in(4):
            found["matchExpressions"] = self.some(2, lambda: self.requirement({**_LABELS, "unheard": ("of",)}))
        return found

    def _selector_for(self, pod: Document) -> Document | None:
        """Often of the pod's own kind: to be with it, far from it, or spread with it."""
        labels = pod["metadata"]["labels"]
        if self.topic == SPREAD and not self.one_in(3):
            return {"matchLabels": {"app": "web"}}
        if not labels or self.one_in(2):
            return self.selector()
        key = self.choice(list(labels))
        return {"matchLabels": {key: labels[key]}}

    def _company(self, pod: Document) -> None:
        """Affinity to pods, anti-affinity, or both; required terms are rarer, or nothing would fit."""
        affinity: Document = {}
        for direction, rarity in (("podAffinity", 3), ("podAntiAffinity", 3)):
            if self.one_in(2) and not affinity.get(direction):
                side: Document = {}
                if self.one_in(rarity):
                    side["requiredDuringSchedulingIgnoredDuringExecution"] = self.some(2, lambda: self._term(pod))
                if not side or self.one_in(2):
                    side["preferredDuringSchedulingIgnoredDuringExecution"] = self.some(
                        3, lambda: {"weight": self.randint(1, 100), "podAffinityTerm": self._term(pod)}
                    )
                affinity[direction] = side
        if affinity:
            pod["spec"]["affinity"] = affinity

    def _term(self, pod: Document) -> Document:
        term: Document = {"topologyKey": self.choice(TOPOLOGY_KEYS)}
        selector = self._selector_for(pod)
        if selector is not None:
            term["labelSelector"] = selector
            free = self._keys_not_in(selector)
            for field_name in ("matchLabelKeys", "mismatchLabelKeys"):
                if free and self.one_in(8):
                    term[field_name] = [free.pop()]
        if self.one_in(4):
            term["namespaces"] = self.subset((*NAMESPACES, "unheard-of"), 2)
        if self.one_in(4):
            term["namespaceSelector"] = self.choice(
                (
                    {},
                    {"matchLabels": {"tier": "gold"}},
                    {"matchExpressions": [{"key": "warm", "operator": "DoesNotExist"}]},
                    {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["gold"]}]},
                )
            )
        return term

    def _spread(self, pod: Document) -> None:
        constraints: dict[tuple[str, str], Document] = {}
        for _ in range(self.choice((1, 1, 2, 3))):
            what = self.choice(("DoNotSchedule", "ScheduleAnyway"))
            key = self.choice(TOPOLOGY_KEYS if self.off_topic(4) else (HOSTNAME, ZONE, ZONE))
            constraint: Document = {"topologyKey": key, "whenUnsatisfiable": what, "maxSkew": self.choice((1, 1, 2, 5))}
            selector = self._selector_for(pod)
            if selector is not None:
                constraint["labelSelector"] = selector
                free = self._keys_not_in(selector)
                if free and self.one_in(4):
                    constraint["matchLabelKeys"] = free[: self.randint(1, 2)]
            if what == "DoNotSchedule" and self.one_in(2):
                constraint["minDomains"] = self.randint(1, 5)
            for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
                if self.one_in(2):
                    constraint[policy] = self.choice(("Honor", "Ignore"))
            constraints[key, what] = constraint
        pod["spec"]["topologySpreadConstraints"] = list(constraints.values())

    def _keys_not_in(self, selector: Document) -> list[str]:
        used = {*selector.get("matchLabels", {}), *(each["key"] for each in selector.get("matchExpressions", []))}
        free = [key for key in (*_LABELS, "unheard") if key not in used]
        self.shuffle(free)
        return free


def _owner(namespace: str, name: str, **spec: Any) -> Document:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _owned_spec() -> Document:
    return {"containers": [{"name": "c", "image": "tiny"}]}
