"""`muster demo`: what gang scheduling is, told on an embedded cluster in half a minute.

The story is a list of chapters; each makes something happen with plain API calls and waits until it can be seen.  How
it looks on a terminal is the command's affair: `View` is what it shows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from muster.api.resources import NATIVE_POD_GROUPS, NODES, PODS, PRIORITY_CLASSES, Resource
from muster.api.wire import Node, Pod, PodGroup, condition
from muster.base.errors import LocalError
from muster.base.quantity import milli
from muster.kube.client import Client
from muster.kube.reflector import Gone, Reflector

NAMESPACE = "default"
NODE_COUNT, NODE_CPU = 4, 8
_GROUPS = NATIVE_POD_GROUPS[0]
_JOBS = Resource("batch", "v1", "jobs", "Job")
_CHAPTER_SECONDS = 60.0
_ENDED = ("Succeeded", "Failed")
_encode = msgspec.json.Encoder().encode

Document = dict[str, Any]


class Gang(msgspec.Struct, frozen=True):
    """What can be seen of one gang."""

    name: str
    minimum: int
    pods: int
    """That are there, in any state."""
    bound: int
    running: int
    ended: int
    has_run: bool
    """The gang was started once, whatever is left of it."""
    says: str
    """Why it waits; "" if it does not."""

    @property
    def started(self) -> bool:
        return self.bound + self.ended >= self.minimum


class View(msgspec.Struct, frozen=True):
    """The cluster at one moment."""

    nodes: tuple[tuple[str, tuple[str, ...]], ...]
    """Each node's name, and for each of its cpus the gang that has it; "" for nobody."""
    gangs: tuple[Gang, ...]

    def gang(self, name: str) -> Gang | None:
        return next((gang for gang in self.gangs if gang.name == name or gang.name.startswith(f"{name}-")), None)


class Chapter(msgspec.Struct, frozen=True):
    """What is told, what is done, and what must be seen before the story goes on."""

    words: str
    do: Callable[[Stage], Awaitable[None]]
    until: Callable[[View], bool]
    then: str = ""
    """Told when it was seen."""
    rest_seconds: float = 1.5
    """To look at it."""


class Stage:
    """The cluster that the story is told on."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, Pod] = {}
        self._groups: dict[str, PodGroup] = {}
        self.changed = asyncio.Event()
        self._reflectors = (
            Reflector(client, [NODES], Node, deliver=lambda news: self._take(news, self._nodes)),
            Reflector(client, [PODS], Pod, deliver=lambda news: self._take(news, self._pods)),
            Reflector(client, [_GROUPS], PodGroup, deliver=lambda news: self._take(news, self._groups)),
        )

    async def watch(self) -> None:
        await asyncio.gather(*(reflector.run() for reflector in self._reflectors))

    def _take(self, news: Sequence[Any], known: dict[str, Any]) -> None:
        for thing in news:
            if isinstance(thing, Gone):
                known.pop(thing.key, None)
            else:
                meta = thing.metadata
                known[f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name] = thing
        self.changed.set()

    async def tell(self, chapter: Chapter) -> None:
        """Does it, and returns when it can be seen."""
        await chapter.do(self)
        try:
            async with asyncio.timeout(_CHAPTER_SECONDS):
                while not chapter.until(self.view()):
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            raise LocalError(f"the demo did not come to its end: {chapter.words}") from None

    # --- what is seen ---

    def view(self) -> View:
        names = sorted(self._nodes, key=lambda name: (len(name), name))
        return View(
            nodes=tuple((name, self._cpus(name)) for name in names),
            gangs=tuple(self._gang(group) for _, group in sorted(self._groups.items(), key=_age)),
        )

    def _cpus(self, node: str) -> tuple[str, ...]:
        on_it = [pod for pod in self._pods.values() if pod.spec.node_name == node and pod.status.phase not in _ENDED]
        cpus: list[str] = []
        for pod in sorted(on_it, key=lambda pod: (group_of(pod), pod.metadata.name)):
            wanted = sum(milli(one.resources.requests.get("cpu", "0")) for one in pod.spec.containers)
            cpus += [group_of(pod) or pod.metadata.name] * max(1, wanted // 1000)
        return tuple((cpus + [""] * NODE_CPU)[:NODE_CPU])

    def _gang(self, group: PodGroup) -> Gang:
        name = group.metadata.name
        pods = [pod for pod in self._pods.values() if group_of(pod) == name]
        live = [pod for pod in pods if pod.status.phase not in _ENDED]
        policy = group.spec.scheduling_policy.gang
        said = condition(group.status.conditions, "PodGroupInitiallyScheduled")
        return Gang(
            name=name,
            minimum=policy.min_count if policy else 1,
            pods=len(pods),
            bound=sum(bool(pod.spec.node_name) for pod in live),
            running=sum(pod.status.phase == "Running" for pod in live),
            ended=len(pods) - len(live),
            has_run=said is not None and said.status == "True",
            says=said.message if said is not None and said.status == "False" else "",
        )

    # --- what is done ---

    async def gang(self, name: str, size: int, *, cpu: int, runs: float | None = None, priority: str = "") -> None:
        """A PodGroup and its pods."""
        await self.group(name, size, priority=priority)
        await self.pods(name, size, cpu=cpu, runs=runs, priority=priority)

    async def group(self, name: str, size: int, *, priority: str = "") -> None:
        """A gang that is evicted whole or not at all."""
        spec: Document = {"schedulingPolicy": {"gang": {"minCount": size}}, "disruptionMode": {"all": {}}}
        if priority:
            spec["priorityClassName"] = priority
        await self._create(_GROUPS, {"metadata": {"name": name}, "spec": spec})

    async def pods(self, group: str, size: int, *, cpu: int, runs: float | None = None, priority: str = "") -> None:
        pods = [_pod(f"{group}-{number}", group=group, cpu=cpu, runs=runs, priority=priority) for number in range(size)]
        await asyncio.gather(*(self._create(PODS, pod) for pod in pods))

    async def priority(self, name: str, value: int) -> None:
        await self._create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})

    async def job(self, name: str, size: int, *, cpu: int, runs: float) -> None:
        """A Job whose pods are a gang."""
        template = _pod("", cpu=cpu, runs=runs)
        spec = {
            "parallelism": size,
            "completions": size,
            "scheduling": {"schedulingPolicy": {"gang": {"minCount": size}}},
            "template": template,
        }
        await self._create(_JOBS, {"metadata": {"name": name}, "spec": spec})

    async def _create(self, resource: Resource, document: Document) -> None:
        body = _encode({"apiVersion": resource.api_version, "kind": resource.kind, **document})
        await self._client.request("POST", resource.path(NAMESPACE), body=body)


def group_of(pod: Pod) -> str:
    group = pod.spec.scheduling_group
    return (group.pod_group_name or "") if group is not None else ""


def _age(item: tuple[str, PodGroup]) -> tuple[str, str]:
    meta = item[1].metadata
    return meta.creation_timestamp or "", meta.uid


def _pod(name: str, *, cpu: int, group: str = "", runs: float | None = None, priority: str = "") -> Document:
    container = {"name": "main", "image": "demo", "resources": {"requests": {"cpu": str(cpu)}}}
    spec: Document = {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 1}
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    if priority:
        spec["priorityClassName"] = priority
    meta: Document = {"name": name} if name else {}
    if runs is not None:
        meta["annotations"] = {"muster.dev/run-seconds": f"{runs:g}"}
    return {"metadata": meta, "spec": spec}


# --- the story ---


def _is(name: str, test: Callable[[Gang], bool]) -> Callable[[View], bool]:
    def check(view: View) -> bool:
        gang = view.gang(name)
        return gang is not None and test(gang)

    return check


def _runs(gang: Gang) -> bool:
    return gang.running >= gang.minimum


async def _two_gangs(stage: Stage) -> None:
    await stage.group("red", 24)
    # age is kept in whole seconds: now red is the older one
    await asyncio.sleep(1)
    await stage.group("blue", 24)
    # their pods come mixed: who goes pod by pod would give each a part of the cluster
    await asyncio.gather(stage.pods("red", 24, cpu=1, runs=6), stage.pods("blue", 24, cpu=1))


async def _urgent(stage: Stage) -> None:
    await stage.priority("urgent", 1000)
    await stage.gang("urgent", 4, cpu=6, runs=5, priority="urgent")


async def _nothing(_: Stage) -> None:
    pass


STORY = (
    Chapter(
        f"Two training jobs, red and blue, are created at the same time. Each has 24 pods of 1 cpu; the cluster has "
        f"{NODE_COUNT} × {NODE_CPU}.",
        _two_gangs,
        lambda view: _is("red", _runs)(view) and _is("blue", lambda gang: bool(gang.says))(view),
        "Red runs, whole. Of blue not a single pod is bound, and it says what it waits for.",
        rest_seconds=3,
    ),
    Chapter(
        "Soon red is done.",
        _nothing,
        _is("blue", _runs),
        "At that moment blue starts, whole.",
        rest_seconds=2,
    ),
    Chapter(
        "A third one wants 40 pods of 1 cpu. That is more than the whole cluster.",
        lambda stage: stage.gang("huge", 40, cpu=1),
        _is("huge", lambda gang: bool(gang.says)),
        "It is told so in numbers, and what would let it run. It holds nothing and is in nobody's way.",
        rest_seconds=3,
    ),
    Chapter(
        "An urgent one comes: 4 pods of 6 cpu, with a higher priority.",
        _urgent,
        _is("urgent", _runs),
        "It has a place if blue leaves. Blue is evicted whole, since half of it would be worth nothing.",
        rest_seconds=3,
    ),
    Chapter(
        "Last, a plain Job that asks for gang scheduling in its spec.",
        lambda stage: stage.job("train", 8, cpu=1, runs=3),
        _is("train", lambda gang: gang.running + gang.ended >= gang.minimum),
        "Its Workload and PodGroup were made for it, and its 8 pods started together.",
        rest_seconds=2,
    ),
)
