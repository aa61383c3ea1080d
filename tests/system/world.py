"""What a seed makes of a world: its troubles, its nodes, the shapes of its pods, and the plan of what happens."""

from random import Random
from typing import NamedTuple

import msgspec

from muster.api.resources import NODES, PODS, PRIORITY_CLASSES
from muster.gangs.dialects.v1beta1 import (
    BELOW_MINIMUM_ANNOTATION,
    GRACE_ANNOTATION,
    ON_PARTIAL_ANNOTATION,
    TIMEOUT_ANNOTATION,
)
from muster.sim.chaos import recipe as engine_recipe
from muster.sim.objects import EXIT_CODE, RUN_SECONDS, STOP_SECONDS
from muster.sim.plain import ENDED, fits, needs_of
from tests.system import dialects
from tests.system.cluster import DEFINITIONS, GROUPS, NAMESPACE, room_left
from tests.system.dialects import MIXED, SPEECHES, asks_for_group, is_owned
from tests.system.network import TROUBLES as OF_NETWORK
from tests.system.other_scheduler import OTHER
from tests.system.stories import TOLERATES_LOSS, Stories

OURS = "muster"
BY_LABEL = "gangs by label"
"""Pods name their gang by label: Kubernetes does not protect the group from being deleted under them."""
LATE_KINDS = "late kinds"
"""Kinds of dialects are served when the first gang speaks them; else from the beginning."""
_URGENT = 20

# how often a world has each trouble
_LIKELY = {
    **OF_NETWORK,
    "one replica": 0.25,
    "kills": 0.4,
    "chosen deaths": 0.35,
    "stops": 0.2,
    "deaf standby": 0.2,
    "partitions": 0.25,
    "freezes": 0.2,
    "server restarts": 0.25,
    "short history": 0.4,
    "small pages": 0.3,
    "bookmarks": 0.6,
    "foreign": 0.2,
    "by hand": 0.15,
    "denials": 0.15,
    "node loss": 0.3,
    "node facts": 0.3,
    "resizing": 0.3,
    "gates": 0.2,
    "priorities": 0.7,
    "crowded": 0.6,
    "slow stops": 0.4,
    "modes": 0.4,
    "never": 0.1,
    "taints": 0.2,
    "affinity": 0.2,
    "ports": 0.1,
    "held parts": 0.1,
    "taken down": 0.2,
    "same names": 0.4,
}

# each by a chance of its own: what seeds stood for before stays what it was
_LATER = {
    BY_LABEL: 0.25,
    # who evicts others is deleted in the next moment, as often as not
    "brief preemptors": 0.3,
    # kubelets and controllers are processes of their own; else they are one, as `muster up` has them
    "apart": 0.5,
    "all kinds": 0.05,
    MIXED: 0.5,
    LATE_KINDS: 0.2,
    # Services come and go, and pods that they choose are spread
    "services": 0.25,
}

# half of the worlds are about pods alone, or too little would happen to them; in the others there is more, each by a
# chance of its own
_WITH_STORIES = 0.5
_STORIES = {
    "jobs": 0.6,
    "budgets": 0.4,
    "definitions": 0.5,
    "owners": 0.5,
    "appliers": 0.4,
    "dead kubelets": 0.3,
    "core kills": 0.4,
    "disk": 0.4,
}

# (kind of event, weight, the trouble it belongs to)
_KINDS = (
    ("gang", 10, ""),
    ("pod", 5, ""),
    ("delete_pod", 4, ""),
    ("delete_gang", 2, ""),
    ("end_pod", 3, ""),
    ("delete_group", 3, BY_LABEL),
    ("replace_members", 3, ""),
    ("same_name", 4, "same names"),
    ("urgent", 7, "priorities"),
    ("gang", 6, "crowded"),
    ("foreign_pod", 4, "foreign"),
    ("bind_by_hand", 3, "by hand"),
    ("lose_node", 3, "node loss"),
    ("return_node", 3, "node loss"),
    ("cordon", 2, "node facts"),
    ("uncordon", 2, "node facts"),
    ("resize_node", 2, "node facts"),
    ("change_minimum", 4, "resizing"),
    ("ungate", 5, "gates"),
    ("kill", 5, "kills"),
    ("dies_at", 5, "chosen deaths"),
    ("stop", 3, "stops"),
    ("stops_at", 4, "stops"),
    ("freezes_at", 4, "freezes"),
    ("blind_successor", 4, "deaf standby"),
    ("partition", 4, "partitions"),
    ("freeze", 4, "freezes"),
    ("restart_server", 3, "server restarts"),
    ("compact", 3, "short history"),
    ("cut_watches", 4, "cut watches"),
    ("job", 7, "jobs"),
    ("suspend_job", 2, "jobs"),
    ("delete_job", 2, "jobs"),
    ("budget", 3, "budgets"),
    ("evict", 4, "budgets"),
    ("define", 5, "definitions"),
    ("undefine", 1, "definitions"),
    ("family", 4, "definitions"),
    ("namespace", 3, "owners"),
    ("family", 8, "owners"),
    ("delete_owner", 5, "owners"),
    ("apply", 10, "appliers"),
    ("edit", 3, "appliers"),
    ("kubelet_dies", 4, "dead kubelets"),
    ("kubelet_returns", 2, "dead kubelets"),
    ("kill_core", 4, "core kills"),
    ("core_dies_at", 5, "core kills"),
    ("disk_fails", 5, "disk"),
    ("disk_full", 3, "disk"),
    ("dies_at_write", 4, "disk"),
    ("restart_server", 5, "disk"),
    ("gang", 6, MIXED),
    ("delete_group", 2, MIXED),
    ("move", 5, MIXED),
    ("remake", 3, MIXED),
    ("service", 4, "services"),
)
_FIRST = {"define": "definitions", "family": "owners", "apply": "appliers", "job": "jobs", "budget": "budgets"}
_DEADLY = ("bind", "bind", "delete", "lease", "condition", "group")


class Step(NamedTuple):
    number: int
    """Chance of the step depends on it, so steps can be left out without changing the others."""
    at: float
    """Seconds since the beginning."""
    kind: str


class Gang(NamedTuple):
    """A gang as those think of it who made it."""

    wanted: int
    """How many members its controller wants."""
    shape: dict
    priority: int
    speech: dialects.Speech
    """How its pods name it."""
    minimum: int
    timeout: str
    native: dict
    """Its group in v1beta1."""


class Recipe(NamedTuple):
    seed: int
    mood: frozenset
    speeches: list
    """How gangs are written."""
    nodes: list
    shapes: list
    plan: list
    history: int
    """How many changes the server remembers."""
    page: int
    bookmark_seconds: float


def recipe(seed, *, without=frozenset()):
    rng = Random(f"system/{seed}")
    mood = frozenset(trouble for trouble, likely in _LIKELY.items() if rng.random() < likely)
    later = _LATER | (_STORIES if Random(f"system/{seed}/stories").random() < _WITH_STORIES else {})
    mood |= {trouble for trouble, likely in later.items() if Random(f"system/{seed}/{trouble}").random() < likely}
    mood -= without
    names = [f"n{number}" for number in range(10)]
    rng.shuffle(names)
    return Recipe(
        seed,
        mood,
        _speeches(Random(f"system/{seed}/speeches"), mood),
        [engine_recipe.new_node(rng, name, mood) for name in names[: rng.randint(2, 3 if "crowded" in mood else 5)]],
        [_shape(rng, mood) for _ in range(rng.randint(1, 3))],
        _plan(rng, mood),
        rng.choice((5, 20, 60)) if "short history" in mood else 20_000,
        rng.choice((1, 3, 7)) if "small pages" in mood else 500,
        rng.choice((2.0, 8.0)) if "bookmarks" in mood else 60.0,
    )


def _speeches(rng, mood):
    if MIXED not in mood:
        return [dialects.BY_LABEL if BY_LABEL in mood else dialects.NATIVE]
    return [dialects.NATIVE, *rng.sample(SPEECHES, rng.randint(2, 4))]


def _plan(rng, mood):
    kinds = [(kind, weight) for kind, weight, trouble in _KINDS if not trouble or trouble in mood]
    steps = rng.randint(8, 20)
    chosen = rng.choices([kind for kind, _ in kinds], weights=[weight for _, weight in kinds], k=steps)
    # arrivals first, or there is little to go wrong
    first = steps // 4
    more = [kind for kind, trouble in _FIRST.items() if trouble in mood]
    chosen[:first] = rng.choices(("gang", "pod", *more), weights=(3, 1, *[3] * len(more)), k=first)
    at, plan = rng.choice((0.0, 0.5, 3.0)), []
    for number, kind in enumerate(chosen):
        at += rng.choices((0.0, 0.05, 0.5, 2.0, 6.0, 12.0), weights=(5, 4, 4, 3, 2, 1))[0]
        plan.append(Step(number, at, kind))
    return plan


def _shape(rng, mood):
    """The spec of a pod, as a manifest has it."""
    spec = msgspec.to_builtins(engine_recipe._shape(rng, mood - {"mixed"}))
    # which needs a RuntimeClass
    spec.pop("overhead", None)
    for number, container in enumerate((*spec.get("containers", ()), *spec.get("initContainers", ()))):
        container |= {"name": f"c{number}", "image": "x"}
        resources = container.get("resources", {})
        if (gpus := resources.get("requests", {}).get(engine_recipe.GPU)) is not None:
            resources.setdefault("limits", {})[engine_recipe.GPU] = gpus
        for port in container.get("ports", ()):
            port["containerPort"] = port["hostPort"]
    return spec


class Hand(Stories):
    """Makes things happen in one world; whom an event hits is chosen by `rng` alone and in order of names."""

    def __init__(self, planned, cluster, *, objects, network, replicas, cores, later):
        super().__init__()
        self.mood = planned.mood
        self._shapes = planned.shapes
        self._seed = planned.seed
        self._speeches = planned.speeches
        self._cluster = cluster
        self._network = network
        self._objects = objects
        self._replicas = replicas
        self._cores = cores
        self._later = later
        """Does something so many seconds later, unless the trouble is over by then."""
        self._gangs = {}
        """By name."""
        self._classes = {}
        """Priority classes that somebody has named."""
        self._lost = {}
        self._step = 0
        self._steps = len(planned.plan)
        for node in planned.nodes:
            self._put_node(node)
        if LATE_KINDS not in self.mood:
            for speech in self._speeches:
                self._define(speech)

    def do(self, step, rng):
        """What happened, in words; "" for nothing."""
        self._step = step.number
        return getattr(self, step.kind)(rng)

    # --- who comes ---

    def gang(self, rng):
        return self._new_gang(f"g{self._step}", rng)

    def urgent(self, rng):
        if rng.random() < 0.7:
            return self._new_gang(f"u{self._step}", rng, priority=_URGENT)
        self._create_pod(f"u{self._step}", rng.choice(self._shapes), rng, priority=_URGENT)
        return f"urgent pod u{self._step}"

    def _new_gang(self, name, rng, *, priority=None):
        members = rng.choice((1, 2, 2, 3, 3, 4, 5))
        minimum = rng.choice((members, members, members, max(1, members - 1), members + 1))
        shape = rng.choice(self._shapes)
        priority = self._priority(rng) if priority is None else priority
        speech = Random(f"{self._seed}/speech/{name}").choice(self._speeches)
        basic = rng.random() < 0.1
        native = self._group(name, None if basic else minimum, rng, priority)
        timeout = native["metadata"]["annotations"][TIMEOUT_ANNOTATION]
        self._gangs[name] = Gang(
            max(members, minimum), shape, priority, speech, 1 if basic else minimum, timeout, native
        )
        declared = rng.choices(("before", "after", "late"), weights=(6, 2, 2))[0]
        if declared == "before":
            self._declare(speech, native)
        late = rng.randint(0, members) if rng.random() < 0.2 else members
        for number in range(late):
            self._create_pod(f"{name}-{number}", shape, rng, gang=name, priority=priority)
        for number in range(late, members):
            pod = self._pod(f"{name}-{number}", shape, rng, gang=name, priority=priority)
            self._later(rng.choice((0.3, 4.0)), lambda pod=pod: self._create_late(name, pod))
        if declared == "after":
            self._declare(speech, native)
        elif declared == "late":
            self._later(rng.choice((0.3, 3.0, 8.0)), lambda: self._declare_late(name, speech, native))
        wanted = "basic" if basic else f"minimum {minimum}"
        told = f"gang {name}: {late}/{members} members, {wanted}, priority {priority}, declared {declared}"
        return f"{told}, in {speech.dialect}" if MIXED in self.mood else told

    # --- what declares them ---

    def _define(self, speech):
        """The kind is served from now on, if it was not."""
        definition = dialects.definition(speech.dialect)
        if definition is not None and self._cluster.store.get(DEFINITIONS, "", definition["metadata"]["name"]) is None:
            self._cluster.create(f"/apis/apiextensions.k8s.io/v1/{DEFINITIONS.partition('.')[0]}", definition)

    def _declare(self, speech, native):
        """Whether there is an object now: of labels there is none, and of its name there may be another one."""
        document = speech.document(native)
        if document is None:
            return False
        self._define(speech)
        return self._cluster.ask("POST", speech.resource.path(NAMESPACE), document).code == 201

    def _declare_late(self, name, speech, native):
        if name in self._gangs:
            self._declare(speech, native)

    def _undeclare(self, name, *, only=None):
        """Deletes objects of that name, or the one of a dialect."""
        for dialect, resource in dialects.RESOURCES.items():
            if only in (None, dialect) and self._cluster.store.get(resource.name, NAMESPACE, name) is not None:
                self._cluster.delete(resource.path(NAMESPACE, name))

    def _declared(self):
        """Names of gangs of which something declares at least a part."""
        return sorted({key.split("/")[1] for key in self._cluster.groups})

    def move(self, rng):
        """A gang is declared in another dialect that its pods speak as well; the object before goes, or stays."""
        there = [(name, self._gangs[name]) for name in self._declared() if name in self._gangs]
        ways = [
            (name, gang, speech)
            for name, gang in there
            for speech in self._speeches
            if gang.speech.moves and speech.moves == gang.speech.moves and speech.spec is not None
        ]
        if not ways:
            return ""
        name, gang, speech = rng.choice(ways)
        native = gang.native
        if rng.random() < 0.3:
            policy = {"gang": {"minCount": max(1, gang.minimum + rng.choice((-1, 1)))}}
            native = native | {"spec": native["spec"] | {"schedulingPolicy": policy}}
        before, how = gang.speech.dialect, rng.choice(("first", "then", "later", "never"))
        if how == "first":
            self._undeclare(name, only=before)
        if not self._declare(speech, native):
            return ""
        if rng.random() < 0.5:
            # who comes from now on names it in the new way
            self._gangs[name] = gang._replace(speech=speech, native=native)
        if how == "then":
            self._undeclare(name, only=before)
        elif how == "later":
            self._later(rng.choice((0.5, 5.0)), lambda: self._undeclare(name, only=before))
        return f"gang {name} moves from {before} to {speech.dialect}, where it was goes: {how}"

    def remake(self, rng):
        """An object goes at once, whatever protects it, and another one of its name comes."""
        names = [name for name in self._declared() if name in self._gangs and self._gangs[name].speech.spec is not None]
        if not names:
            return ""
        name = rng.choice(names)
        gang = self._gangs[name]
        path = gang.speech.resource.path(NAMESPACE, name)
        self._undeclare(name, only=gang.speech.dialect)
        self._cluster.patch(path, {"metadata": {"finalizers": None}})
        return f"the object of {name} is made again" if self._declare(gang.speech, gang.native) else ""

    def _class(self, priority, *, never=False):
        name = f"p{priority}-never" if never else f"p{priority}"
        self._classes[name] = {"metadata": {"name": name}, "value": priority}
        if never:
            self._classes[name]["preemptionPolicy"] = "Never"
        self._make_classes()
        return name

    def _make_classes(self):
        """Those that are not there yet, or could not be written."""
        for name, document in self._classes.items():
            if self._cluster.store.get(PRIORITY_CLASSES.name, "", name) is None:
                self._cluster.create(PRIORITY_CLASSES.path(), document)

    def _create_late(self, gang, pod):
        if gang in self._gangs:
            # its name may have been given away meanwhile
            self._cluster.ask("POST", PODS.path(NAMESPACE), pod)

    def _group(self, name, minimum, rng, priority):
        # it has one: by default a gang waits for five minutes
        annotations = {TIMEOUT_ANNOTATION: str(rng.choice((5, 12, 20)))}
        if "held parts" in self.mood and rng.random() < 0.4:
            annotations[ON_PARTIAL_ANNOTATION] = "hold"
        if "taken down" in self.mood and rng.random() < 0.6:
            annotations |= {BELOW_MINIMUM_ANNOTATION: "restart", GRACE_ANNOTATION: rng.choice(("3", "10"))}
        policy = {"basic": {}} if minimum is None else {"gang": {"minCount": minimum}}
        spec = {"schedulingPolicy": policy}
        never = "never" in self.mood and rng.random() < 0.3
        spec["priorityClassName"] = self._class(priority, never=never)
        if never:
            spec["preemptionPolicy"] = "Never"
        if "modes" in self.mood and rng.random() < 0.5:
            spec["disruptionMode"] = {"all": {}}
        return {
            "apiVersion": GROUPS.api_version,
            "kind": "PodGroup",
            "metadata": {"name": name, "annotations": annotations},
            "spec": spec,
        }

    def _pod(self, name, shape, rng, *, gang="", priority=0, scheduler=OURS):
        annotations = {}
        if rng.random() < (0.1 if "crowded" in self.mood else 0.3):
            annotations[RUN_SECONDS] = rng.choice(("1", "7", "20"))
            if rng.random() < 0.3:
                annotations[EXIT_CODE] = "1"
        spec = {**shape, "schedulerName": scheduler, "restartPolicy": "Never"}
        if "slow stops" in self.mood:
            annotations[STOP_SECONDS] = rng.choice(("0", "0.5", "3", "8"))
            if rng.random() < 0.3:
                spec["terminationGracePeriodSeconds"] = rng.choice((0, 5))
        spec["priorityClassName"] = self._class(priority)
        labels = {}
        if "budgets" in self.mood:
            labels["app"] = rng.choice("xyz")
        elif "services" in self.mood:
            labels["app"] = Random(f"app of {name}").choice("xyz")
        if "dead kubelets" in self.mood and rng.random() < 0.7:
            spec["tolerations"] = [*spec.get("tolerations", ()), *TOLERATES_LOSS]
        if gang:
            known = self._gangs[gang]
            marks = known.speech.marks(gang, _number(name), minimum=known.minimum, timeout=known.timeout)
            labels |= marks[0]
            annotations |= marks[1]
            spec |= marks[2]
        if "gates" in self.mood and rng.random() < 0.25 and scheduler == OURS:
            spec["schedulingGates"] = [{"name": "sim/wait"}]
        return {"metadata": {"name": name, "annotations": annotations, "labels": labels}, "spec": spec}

    def _create_pod(self, name, shape, rng, **more):
        self._cluster.create(PODS.path(NAMESPACE), self._pod(name, shape, rng, **more))

    def pod(self, rng):
        priority = self._priority(rng)
        self._create_pod(f"p{self._step}", rng.choice(self._shapes), rng, priority=priority)
        return f"pod p{self._step}, priority {priority}"

    def foreign_pod(self, rng):
        self._create_pod(f"f{self._step}", rng.choice(self._shapes), rng, priority=self._priority(rng), scheduler=OTHER)
        return f"foreign pod f{self._step}"

    def _priority(self, rng):
        if "priorities" not in self.mood:
            return 0
        early = "crowded" in self.mood and self._step < self._steps // 3
        return rng.choice((0, 0, 0, 5)) if early else rng.choice((0, 0, 5, 10))

    def replace_members(self, rng):
        declared = [name for name in self._declared() if name in self._gangs]
        if not declared:
            return ""
        name = rng.choice(declared)
        gang = self._gangs[name]
        members = [pod for pod in self._cluster.pods.values() if _gang(pod) == name]
        live = sum(pod.status.phase != "Failed" for pod in members)
        for number in range(gang.wanted - live):
            self._create_pod(f"{name}-r{self._step}-{number}", gang.shape, rng, gang=name, priority=gang.priority)
        return f"{max(0, gang.wanted - live)} members of {name} replaced"

    # --- what becomes of them ---

    def _pick(self, rng, things):
        listed = sorted(things, key=lambda thing: thing.metadata.name)
        return rng.choice(listed) if listed else None

    def delete_pod(self, rng):
        pods = [pod for pod in self._cluster.pods.values() if pod.metadata.deletion_timestamp is None]
        if rng.random() < 0.4:
            pods = [pod for pod in pods if not pod.spec.node_name]
        pod = self._pick(rng, pods)
        if pod is None:
            return ""
        self._cluster.delete(self._cluster.path(pod))
        return f"{pod.metadata.name} deleted"

    def same_name(self, rng):
        """A pod goes at once, and another one of its name comes."""
        pod = self._pick(rng, (pod for pod in self._cluster.pods.values() if pod.spec.scheduler_name == OURS))
        if pod is None:
            return ""
        gang = _gang(pod)
        if gang and gang not in self._gangs:
            return ""
        shape = self._gangs[gang].shape if gang else rng.choice(self._shapes)
        self._cluster.delete(self._cluster.path(pod), gracePeriodSeconds=0, kind="DeleteOptions")
        self._create_pod(pod.metadata.name, shape, rng, gang=gang, priority=pod.spec.priority or 0)
        return f"{pod.metadata.name} deleted, and made again"

    def _groups(self):
        """Without those that a Job made for itself whose pods ask for another: they would wait for it for ever."""
        named = (pod.spec.scheduling_group for pod in self._cluster.raw_pods if is_owned(pod))
        overruled = {field.pod_group_name for field in named if field is not None}
        jobs = {job["metadata"]["uid"] for job in self._cluster.documents("jobs.batch") if asks_for_group(job)}
        return [
            group
            for group in self._cluster.groups.values()
            if group.metadata.name not in overruled
            and not any(one.uid in jobs for one in group.metadata.owner_references)
        ]

    def delete_gang(self, rng):
        group = self._pick(rng, self._groups())
        if group is None:
            return ""
        name = group.metadata.name.partition("/")[0]
        self._gangs.pop(name, None)
        for pod in sorted(self._cluster.pods.values(), key=lambda pod: pod.metadata.name):
            if _gang(pod) == name:
                self._cluster.delete(self._cluster.path(pod))
        self._undeclare(name)
        return f"gang {name} deleted"

    def delete_group(self, rng):
        """Its pods stay."""
        group = self._pick(rng, self._groups())
        if group is None:
            return ""
        self._undeclare(group.metadata.name.partition("/")[0])
        return f"group {group.metadata.name} deleted, its pods are not"

    def end_pod(self, rng):
        pod = self._pick(rng, (pod for pod in self._cluster.pods.values() if pod.status.phase == "Running"))
        if pod is None:
            return ""
        failed = rng.random() < 0.5
        said = {RUN_SECONDS: "0", EXIT_CODE: str(int(failed))}
        self._cluster.patch(self._cluster.path(pod), {"metadata": {"annotations": said}})
        return f"{pod.metadata.name} ends, failed: {failed}"

    def change_minimum(self, rng):
        resize = {speech.dialect: speech.resize for speech in self._speeches if speech.resize is not None}
        groups = [
            group
            for group in self._cluster.groups.values()
            if group.spec.scheduling_policy.gang is not None and group.dialect in resize
        ]
        group = self._pick(rng, groups)
        if group is None:
            return ""
        before = group.spec.scheduling_policy.gang.min_count
        after = max(1, before + rng.choice((-2, -1, 1)))
        path = dialects.RESOURCES[group.dialect].path(NAMESPACE, group.metadata.name)
        if not self._cluster.patch(path, {"spec": resize[group.dialect](after)}):
            return ""
        return f"minimum of {group.metadata.name} is {after}, was {before}"

    def ungate(self, rng):
        pod = self._pick(rng, (pod for pod in self._cluster.pods.values() if pod.spec.scheduling_gates))
        if pod is None:
            return ""
        self._cluster.patch(self._cluster.path(pod), {"spec": {"schedulingGates": None}})
        return f"{pod.metadata.name} has no gates any more"

    def bind_by_hand(self, rng):
        """Somebody else binds a pod that is ours, where there is room."""
        waits = (
            pod
            for pod in self._cluster.pods.values()
            if not (pod.spec.node_name or pod.spec.scheduling_gates or pod.metadata.deletion_timestamp)
            and pod.spec.scheduler_name == OURS
            and pod.status.phase not in ENDED
        )
        pod = self._pick(rng, waits)
        if pod is None:
            return ""
        possible = sorted(name for name, place in room_left(self._cluster).items() if fits(needs_of(pod), place))
        if not possible or not self._cluster.bind(pod, node := rng.choice(possible)):
            return ""
        return f"{pod.metadata.name} bound by hand to {node}"

    # --- nodes ---

    def _put_node(self, node):
        document = msgspec.to_builtins(node)
        for taint in document.get("spec", {}).get("taints", ()):
            taint.setdefault("effect", "NoSchedule")
        status = document.setdefault("status", {})
        status["allocatable"] = {name: str(amount) for name, amount in status.get("allocatable", {}).items()}
        status["capacity"] = status["allocatable"]
        for key in ("uid", "resourceVersion", "creationTimestamp"):
            document["metadata"].pop(key, None)
        self._cluster.create(NODES.path(), document)

    def lose_node(self, rng):
        node = self._pick(rng, self._cluster.nodes.values())
        if node is None:
            return ""
        self._lost[node.metadata.name] = node
        self._cluster.delete(self._cluster.path(node))
        return f"{node.metadata.name} is lost"

    def return_node(self, rng):
        if not self._lost:
            return ""
        name = rng.choice(sorted(self._lost))
        self._put_node(self._lost.pop(name))
        return f"{name} is back"

    def cordon(self, rng):
        return self._change_node(rng, "cordoned", {"unschedulable": True})

    def uncordon(self, rng):
        return self._change_node(rng, "uncordoned", {"unschedulable": None})

    def _change_node(self, rng, what, spec):
        node = self._pick(rng, self._cluster.nodes.values())
        if node is None:
            return ""
        self._cluster.patch(self._cluster.path(node), {"spec": spec})
        return f"{node.metadata.name} {what}"

    def resize_node(self, rng):
        node = self._pick(rng, self._cluster.nodes.values())
        if node is None:
            return ""
        cpu = rng.choice(("1", "2", "4", "8"))
        status = {"allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu}}
        self._cluster.patch(self._cluster.path(node, "status"), {"status": status})
        return f"{node.metadata.name} has {cpu} cpu"

    # --- processes, network, server ---

    def _leader_or_any(self, rng):
        leading = [replica for replica in self._replicas if replica.leads]
        return rng.choice(leading if leading and rng.random() < 0.7 else self._replicas)

    def kill_core(self, rng):
        core, delay = rng.choice(self._cores), rng.choice((0.0, 0.003, 0.05, 1.0))
        self._later(delay, core.kill)
        return f"{core.name} dies {delay:g} s later"

    def core_dies_at(self, rng):
        """Controllers or kubelets die at a write of theirs, of which they then know nothing."""
        core, plan, times = rng.choice(self._cores), rng.choice(("before", "after")), rng.randint(1, 4)
        kind = rng.choice(("other", "condition", "condition", "delete"))
        core.link.plans[kind] = (times, plan)
        return f"{core.link}: {plan}, when {kind} {times} is sent"

    def _any(self, rng):
        """A replica; now and then controllers or kubelets."""
        return rng.choice(self._cores) if rng.random() < 0.25 else self._leader_or_any(rng)

    def kill(self, rng):
        replica = self._leader_or_any(rng)
        delay = rng.choice((0.0, 0.003, 0.01, 0.05, 1.0))
        self._later(delay, replica.kill)
        return f"{replica.name} dies {delay:g} s later"

    def dies_at(self, rng):
        return self._plan_at(rng, rng.choice(("before", "after")))

    def stops_at(self, rng):
        return self._plan_at(rng, "stop")

    def freezes_at(self, rng):
        return self._plan_at(rng, "frozen")

    def _plan_at(self, rng, plan):
        """Something happens to a replica at the worst of moments."""
        replica = self._leader_or_any(rng)
        # who is to stop while a bind waits to be tried again has the most to do
        kind, times = rng.choice(_DEADLY if plan != "stop" else ("bind", *_DEADLY[:3])), rng.randint(1, 3)
        replica.link.plans[kind] = (times, plan)
        # so that there is something to send
        come = rng.choice((self.gang, self.gang, self.urgent, self.delete_pod))(rng)
        if plan == "stop":
            # and something that is left undecided
            name, shape = f"p{self._step}-late", rng.choice(self._shapes)
            self._later(rng.choice((0.01, 0.05, 0.2)), lambda: self._create_pod(name, shape, rng))
        return f"{replica.link}: {plan}, when {kind} {times} is sent; {come}"

    def blind_successor(self, rng):
        """The leader dies after its binds, of which the other replica has not heard."""
        leader = next((replica for replica in self._replicas if replica.leads), None)
        if leader is None:
            return ""
        come = self.gang(rng)
        for replica in self._replicas:
            if replica is not leader:
                self._later(0.0045, lambda replica=replica: self._network.stall(replica.link, 30.0))
        self._later(rng.choice((0.02, 0.2, 1.0)), lambda: leader.kill(back_in=20.0))
        return f"{leader.link} will die, and others are deaf; {come}"

    def stop(self, rng):
        replica = self._leader_or_any(rng)
        self._later(rng.choice((0.0, 0.003, 0.05)), replica.stop)
        return f"{replica.name} is to stop"

    def partition(self, rng):
        replica, seconds = self._any(rng), rng.choice((1.0, 5.0, 15.0))
        link = replica.link
        if not link.alive:
            return ""
        self._network.partition(link, cut=True)
        self._later(seconds, lambda: self._network.partition(link, cut=False), always=True)
        return f"{link} is cut off for {seconds:g} s"

    def freeze(self, rng):
        replica, seconds = self._any(rng), rng.choice((1.0, 5.0, 8.0, 15.0))
        self._later(rng.choice((0.0, 0.003, 0.01)), lambda: replica.freeze(seconds))
        return f"{replica.name} stands still for {seconds:g} s"

    def restart_server(self, rng):
        if not self._network.up:
            return ""
        seconds, ends = rng.choice((0.0, 0.5, 4.0, 12.0)), rng.random() < 0.7
        self._take_down(seconds, ends=ends)
        return f"the server is {'down' if ends else 'out of reach'} for {seconds:g} s"

    def _take_down(self, seconds, *, ends):
        self._network.take_down(ends=ends)
        self._later(seconds, self._network.bring_up, always=True)

    def dies_at_write(self, rng):
        """The server dies in the middle of a write, which may be there afterwards or not."""
        disk, number = self._cluster.disk, rng.randint(1, 8)
        seconds = rng.choice((0.0, 0.5, 4.0))
        disk.deadly = number
        # once the request is over that nobody gets an answer to
        disk.died = lambda: self._network.later(0.0, lambda: self._take_down(seconds, ends=True))
        return f"the server dies at write {number} from now, for {seconds:g} s"

    def disk_fails(self, rng):
        """The next writes fail."""
        self._network.count("writes fail")
        self._cluster.disk.fails = number = rng.choice((1, 1, 3, 20))
        return f"{number} writes fail"

    def disk_full(self, rng):
        self._network.count("disk full")
        seconds = rng.choice((0.5, 3.0, 10.0))
        self._cluster.disk.full = True
        self._later(seconds, self._empty_disk, always=True)
        return f"the disk is full for {seconds:g} s"

    def _empty_disk(self):
        self._cluster.disk.full = False

    def compact(self, rng):
        self._network.count("compactions")
        self._cluster.store.compact()
        if rng.random() < 0.5:
            self._network.cut_watches()
        return "history is compacted"

    def cut_watches(self, rng):
        self._network.cut_watches()
        return "all watches are cut"


def _gang(pod):
    """The name of what declares the gang that the pod is in; "" for none."""
    group = pod.spec.scheduling_group
    return (group.pod_group_name or "").partition("/")[0] if group else ""


def _number(name):
    """The last of a pod's name."""
    return int(name.rpartition("-")[2])
