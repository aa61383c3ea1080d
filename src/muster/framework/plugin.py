"""What plugins by users are written against: one class, with a method for each extension point they take part in.

    class OnePerRack(Plugin):
        watches_pods = True

        def pre_filter(self, pod):
            return pod.metadata.labels.get("app")

        def filter(self, app, node):
            return "node(s) were in a rack that has one of these" if node.pods_in("rack")[app] else None

What `pre_filter` reads of a pod is its *trait*, and all that the plugin is told of it: pods of equal traits are alike.

    point       one pod, one node                 one pod, all nodes as columns
    preEnqueue  pre_enqueue(pod)
    queueSort   queue_sort(unit)
    preFilter   pre_filter(pod)
    filter      filter(trait, node)                filter_nodes(trait, nodes)
    postFilter  may_evict(victim, priority=...)
    preScore    pre_score(trait, nodes)
    score       score(trait, node, prepared)       score_nodes(trait, nodes, takes)
    reserve     reserve(pod, node), unreserve(pod, node)
    permit      permit(pod, node)
    preBind     pre_bind(pod, node)
    bind        bind(pod, node, annotations)
    postBind    post_bind(pod, node)

The form on the left is easy and slow: 5,000 nodes are 5,000 calls.  The one on the right is as fast as Muster's own.
The last four may wait, and may ask others: they are coroutines, or run in a thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from muster.api.wire import Pod
from muster.cluster.traits import Trait
from muster.cluster.usage import Ints
from muster.framework.contract import Bools
from muster.framework.sight import NodeInfo, Nodes, PodCounts

__all__ = [
    "Bools",
    "Ints",
    "NodeInfo",
    "Nodes",
    "Plugin",
    "Pod",
    "PodCounts",
    "PodInfo",
    "Trait",
    "UnitInfo",
    "VictimInfo",
]


class PodInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that waits, is being bound, or runs."""

    namespace: str
    name: str
    uid: str
    labels: Mapping[str, str]
    priority: int
    gang: str
    """namespace/name; "" for a lone pod."""
    created: float
    """Seconds since the epoch."""
    trait: Any
    """What the plugin's own `pre_filter` read of it."""


class UnitInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the queue: a gang or a lone pod."""

    name: str
    """namespace/name of the group or the pod."""
    priority: int
    created: float
    """Seconds since the epoch; far in the past for gangs that lack members of what runs or is half bound."""


class VictimInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Who may be evicted as one: a pod, or a gang that goes whole."""

    name: str
    priority: int
    gang: str
    """Whose pods they are; "" for a lone pod."""
    pods: Sequence[PodInfo]


class Plugin:
    """To be inherited from; whatever is overridden is asked.

    Answers depend on what a method is given alone, and are the same every time: they are kept, batches are placed by
    them, and another process must decide the same.  So no clock, no chance, no network, and nothing remembered on
    `self` but arguments, save what `reserve` keeps.  From `permit` on all of that is allowed.  An exception costs the
    unit one attempt, and is told with the plugin's name.
    """

    name: str = ""
    """As people and reasons call it; the name of the class if it is left out."""
    watches_pods: bool = False
    """Its answers depend on which pods are where, on free room, or on which nodes could take the pod.  Nodes then say
    that, too; pods that concern the plugin are placed one after another, and those placed before in the same attempt
    count.  Without it each node is judged by itself: its methods may be shown a few nodes, and what they answer is kept
    until a node changes."""
    gathers: tuple[str, ...] = ()
    """Labels of nodes by which it may want a gang's pods in one domain: several are then tried for the whole gang."""
    wait_seconds: float = 600.0
    """So long a unit waits for `permit` and `pre_bind`, and a pod for `bind`; what runs then is cancelled."""

    def __init__(self, args: Mapping[str, Any]) -> None:
        """`args` is what `pluginConfig` has for the plugin; raise ValueError for what is wrong with them."""
        self.args = args

    def pre_enqueue(self, pod: PodInfo) -> str | None:
        """Why the pod, and with it a gang that has not started, is not to be tried yet; asked every few seconds."""
        raise NotImplementedError

    def queue_sort(self, unit: UnitInfo) -> tuple[int, float]:
        """The unit's place in the queue; smaller comes first."""
        raise NotImplementedError

    def pre_filter(self, pod: Pod) -> Trait | None:
        """What the other answers depend on, of the pod as the API has it; None if the pod does not concern the plugin.

        Text, a number or a tuple of such.  Without this method every pod concerns the plugin, and all are alike to it.
        """
        return ""

    # what `pre_filter` gives is typed by whoever overrides these

    def filter(self, trait: Any, node: NodeInfo) -> str | None:
        """Why such a pod may not go there, as "node(s) had ..."; None if it may."""
        raise NotImplementedError

    def filter_nodes(self, trait: Any, nodes: Nodes) -> Iterable[tuple[str, Bools]]:
        """Reasons, each with the rows that are refused for it."""
        raise NotImplementedError

    def may_evict(self, victim: VictimInfo, *, priority: int) -> bool:
        """Whether these may be evicted for a unit of that priority; that it is higher DefaultPreemption asks."""
        raise NotImplementedError

    def pre_score(self, trait: Any, nodes: Sequence[NodeInfo]) -> object:
        """Anything that `score` needs to know of all the nodes that could take the pod.

        Whoever has this method is asked as if it watched pods.
        """
        return None

    def score(self, trait: Any, node: NodeInfo, prepared: Any) -> int:
        """How good the node is for such a pod, 0 to 100."""
        raise NotImplementedError

    def score_nodes(self, trait: Any, nodes: Nodes, takes: Bools) -> Ints:
        """The same by row, for those that could take the pod, or all if it does not watch pods; others may have any."""
        raise NotImplementedError

    def reserve(self, pod: PodInfo, node: str) -> str | None:
        """Why the pod may not be bound there, and its gang not at all; asked last of all, before anybody is bound.

        It is not told of pods that were bound before Muster started, nor of bound ones that end: how many run is
        better counted, with `watches_pods`.
        """
        raise NotImplementedError

    def unreserve(self, pod: PodInfo, node: str) -> Any:
        """What was reserved is not used: another member was refused, the bind failed, or the pod went before it.

        The pod is as `reserve` was given it, whatever has changed since.  As a coroutine it is called outside the
        engine, after `permit` or `pre_bind` had begun for the pod; what still ran of these was cancelled before.
        """
        raise NotImplementedError

    # coroutines, or plain functions, which run in a thread of their own

    async def permit(self, pod: PodInfo, node: str) -> str | None:
        """Why the pod, and its gang with it, may not go now; None if it may.  All of a gang are asked at once, before
        anything is done for any of them; after a restart they are asked again."""
        raise NotImplementedError

    async def pre_bind(self, pod: PodInfo, node: str) -> str | None:
        """Does what must be done before the bind; why that failed, or None.  Asked when all of a gang are permitted;
        nobody of it is bound before it is done for all.  After a restart it is done again."""
        raise NotImplementedError

    async def bind(self, pod: PodInfo, node: str, annotations: Mapping[str, str]) -> bool:
        """Binds the pod, with these annotations, or leaves that to others (False)."""
        raise NotImplementedError

    async def post_bind(self, pod: PodInfo, node: str) -> None:
        """The pod is bound."""
        raise NotImplementedError
