"""What a plugin may be: it inherits the roles it plays, and answers for a whole column of nodes at once.

A question about nodes comes in two kinds.  *Rules* ask for a node's own facts (labels, taints, name): the
answer changes only with the node.  *Room* asks for what placements leave: it changes with every pod, and a
batch asks for it as if some copies were there already.

Rules are asked about `rows` (None means all).  Room comes gathered, for several pods at once: see Lines.

A third kind looks beyond the node, at pods anywhere: a placement may change what every other node, class and later
member may do.  Whom such a plugin concerns is placed one after another, and the plugin is told of each: see Outlook.

Which objects of other kinds it reads a plugin declares: api/kinds.py has those there are, cluster/facts.py keeps them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from enum import Enum

import msgspec
import numpy as np
from numpy.typing import NDArray

from muster.api.kinds import Address, Kind
from muster.api.wire import Fact, Node, Pod
from muster.cluster.census import Census
from muster.cluster.classes import Lines, Need, NodeRules, PodClass
from muster.cluster.facts import Facts
from muster.cluster.gangs import GangState
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.pods import PodState
from muster.cluster.room import Room
from muster.cluster.ties import Spread
from muster.cluster.usage import Ints, RowState, Usage
from muster.cluster.victims import Victim
from muster.framework.grants import Grant
from muster.framework.questions import Step

Bools = NDArray[np.bool_]

MAX_SCORE = 100
PLENTY = 2**31
"""More copies than any row takes."""


class Capacity(Enum):
    """What the copies that a view has are worth: how many more pods of a class each node takes."""

    EXACT = "requests on the node add up to what is free there, and nothing else counts"
    BY_NODE = "an upper bound: what else is on the node counts, too"
    BY_OTHERS = "an upper bound: where other pods are counts, too, on whatever node"


class Role(ABC):
    """What all roles share."""

    name: str
    reads: tuple[Kind[Fact], ...] = ()
    """Kinds of objects that it must know: nothing is decided by who may not read them."""
    may_read: tuple[Kind[Fact], ...] = ()
    """Kinds that it does without, as if there were no such objects, where they cannot be read."""


class RuleFilter(Role):
    """Says which nodes a pod may use at all."""

    reason: str
    """Upstream's text for a node it refuses."""
    all_count = False
    """A row may be refused for several reasons, and all of them are told."""

    @abstractmethod
    def admits(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Bools:
        """One truth per row."""

    def refusals(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> list[tuple[str, Bools]]:
        """Why rows are refused; of several reasons the first counts, unless all do."""
        return [(self.reason, ~self.admits(rules, nodes, rows))]

    def left_out(self, rules: NodeRules, nodes: NodeTable, rows: Rows) -> list[tuple[str, Bools]]:
        """The same of rows that no filter is asked about: upstream's PreFilter may leave few nodes to look at."""
        return []


class RoomFilter(Role):
    """Says how many more copies of a class each node takes."""

    adds_up = False
    """Its copies follow from requests and what is free alone, so pods of any classes can be counted together; else it
    is asked anew for every class, node and trial."""
    ignored: frozenset[str] = frozenset()
    """Resources that pods need not have though they request them; "example.com/" stands for all of that group."""

    def concerns(self, pod_class: PodClass) -> bool:
        """Whether it has anything to say on pods of the class."""
        return True

    @abstractmethod
    def copies(self, lines: Lines, room: Room) -> Ints | None:
        """Copies by line and row, 0 where not even one fits; None if the lines ask nothing of the plugin."""

    @abstractmethod
    def refusals(self, pod_class: PodClass, room: Room) -> list[tuple[str, Bools]]:
        """Upstream's reasons why a row takes no pod of the class; a row may have several."""


class RuleScore(Role):
    """Rates nodes by their own facts, relative to the best of those that can take the pod."""

    reverse: bool
    """A higher raw score is worse."""
    absolute = False
    """Raw scores are scores from 0 to 100 already, whatever other nodes have."""

    @abstractmethod
    def raw(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Ints | None:
        """Raw scores, normalised by the framework; None if the plugin has nothing to say on these rules."""


class NodesScore(Role):
    """Rates nodes from 0 to 100 by facts of all nodes: a change of one may change the score of another.

    Placements change nothing of it.
    """

    name: str

    @abstractmethod
    def concerns(self, pod_class: PodClass, nodes: NodeTable) -> bool:
        """Whether it tells nodes apart for pods of the class, with the nodes as they are."""

    @abstractmethod
    def epoch(self, nodes: NodeTable) -> tuple[int, ...]:
        """As long as this is the same its answers are."""

    @abstractmethod
    def score(self, pod_class: PodClass, nodes: NodeTable) -> Ints:
        """By row, of all rows; for a class that it concerns."""


class RoomScore(Role):
    """Rates nodes from 0 to 100 by the room on them."""

    @abstractmethod
    def score(self, lines: Lines, room: Room) -> Ints | int:
        """Scores by line and row, or one that is everybody's; rows that do not take the pod may have any."""


class RoomTieBreak(Role):
    """Tells nodes with equal scores apart by the room on them; names decide only after it.

    Upstream's choice among equals is arbitrary.  A fine measure that changes with every placement spreads (or packs)
    equal pods evenly, and lets many pods be decided at once because they seldom want the same node.
    """

    @abstractmethod
    def finer(self, lines: Lines, room: Room) -> Ints:
        """0 to 1023 by line and row, larger for the node to prefer."""


class Obstacle(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A rule that keeps the next pod from nodes with room, and sends it where there is none."""

    rule: str
    """As part of a sentence: "spread over zone (maxSkew 1)"."""
    label: str
    """Of nodes, by which the rule tells domains apart."""
    domains: tuple[str, ...] = ()
    """Values of the label where the pod could go if there was room, sorted; none if there are no such domains."""
    wants: str = ""
    """What it asks for, if there are none."""


class Outlook(ABC):
    """What a plugin makes of all nodes for the next pod of one class, while pods of the class are placed."""

    @abstractmethod
    def place(self, row: int) -> None:
        """A pod of the class was placed on the row: the next answers are for the one after it."""

    def admits(self) -> Bools | None:
        """Which rows may take the next pod; None for all.  Not to be changed."""
        return None

    def at_most(self) -> Ints | None:
        """By row: it takes no more pods of the class, whatever else of their unit is placed; None for any number."""
        return None

    def refusals(self) -> list[tuple[str, Bools]]:
        """Upstream's reasons why a row does not take the next pod; of several the first counts."""
        return []

    def score(self, takes: Bools) -> Ints | None:
        """0 to 100 by row, relative to the rows that take the pod; others may have any.  None if all are equal."""
        return None

    def obstacle(self, room: Bools) -> Obstacle | None:
        """Which of its rules, if one does, keeps the next pod from rows that have room for it."""
        return None


class Wide(Role):
    """Says where a pod may go, or had better go, by where other pods are."""

    filters = True
    """False for one that says only where it had better go."""
    by_needs = False
    """It looks at what pods bring; else at how they stand to others, and pods without ties are none of its business."""

    @abstractmethod
    def concerns(self, pod_class: PodClass, census: Census) -> bool:
        """Whether it has anything to say on pods of the class."""

    def limits(self, pod_class: PodClass, census: Census) -> bool:
        """Whether it may keep pods of the class, which it concerns, from nodes; else it only rates these."""
        return self.filters

    def gathers(self, pod_class: PodClass) -> Iterable[str]:
        """Labels of nodes by which it may want pods of the class in one domain, wherever the first of them goes."""
        return ()

    @abstractmethod
    def outlook(self, pod_class: PodClass, nodes: NodeTable, usage: Usage) -> Outlook:
        """For pods of the class, with others where the usage has them, which does not change meanwhile."""


class DefaultSpread(ABC):
    """How pods of one cluster are spread that do not say it themselves, in step with the cluster's facts."""

    def __init__(self) -> None:
        self.news: set[str] = set()
        """Namespaces whose pods may be spread otherwise than when they asked; to be emptied."""

    @abstractmethod
    def of(self, namespace: str, labels: Mapping[str, str], owner: Address | None) -> tuple[Spread, ...]:
        """Constraints for a pod; equal ones are mostly the same object.  The owner is its controller, if plugins may
        read such."""


class Spreader(Role):
    """Spreads pods that do not say themselves how they are to be spread: this belongs to their class."""

    @abstractmethod
    def by_default(self, facts: Facts) -> DefaultSpread | None:
        """For the cluster that has these facts; None if nobody is spread who does not ask for it."""


class Stateful(Role):
    """Keeps state of its own that placements change; it is copied with every trial."""

    @abstractmethod
    def concerns(self, pod_class: PodClass) -> bool:
        """Whether the state matters to pods of the class, or they to the state."""

    @abstractmethod
    def new_state(self) -> RowState:
        """The state of an empty cluster."""

    def emptied(self, state: RowState) -> RowState:
        """The state that the cluster would have if nothing ran there."""
        return self.new_state()


class PodReader(Role):
    """Reads of pods what its plugin's answers depend on; see cluster/traits.py."""

    is_shown: bool
    """The plugin judges a pod by where others are, so all pods show what was read of them."""
    source: object = None
    """Equal for those that read the same, given the same arguments."""

    @property
    def calls(self) -> int:
        """How often the plugin was asked about a single node so far: that is Python, and takes its time."""
        return 0

    @abstractmethod
    def read(self, pod: Pod) -> object:
        """A trait, or None for a pod that does not concern the plugin; never raises."""


class Reserver(Role):
    """Is asked before all that a unit binds is bound, and told of what is not bound after all.

    What it keeps for itself is no part of a trial: what counts for placements belongs into traits.
    """

    @abstractmethod
    def reserve(self, pod: PodState, node: str) -> str | None:
        """Why the pod may not be bound there, and so its unit not at all; None if it may."""

    @abstractmethod
    def unreserve(self, pod: PodState, node: str) -> None:
        """The pod is not bound there after all: another of its unit may not be, its bind failed, or it is gone."""

    def bound(self, pod: PodState) -> None:
        """The pod is bound where it was reserved: that will not be taken back."""
        return


class Attendant(Role):
    """Is asked by the driver, outside the engine, on a pod's way to its node, and may take its time.

    Nothing that places pods depends on it.
    """

    wait_seconds = 600.0
    """So long a unit waits for its answers."""
    steps: frozenset[Step]
    """Where it is asked."""

    @abstractmethod
    def concerns(self, pod_class: PodClass) -> bool:
        """Whether it is asked about pods of the class."""


class Progress(msgspec.Struct, frozen=True, gc=False):
    """How far what was granted to a pod is made ready by others."""

    waits_for: str = ""
    """Part of a sentence: "volume data is not provisioned yet"; "" if nothing is missing."""
    failed: str = ""
    """Why it will not be made ready where the pod is to go; "" if nobody said so."""


READY = Progress()


class Supply(ABC):
    """What one cluster's pods need beside room, in step with the cluster's facts; and what was granted to whom.

    A grant counts as given from the moment on that it is made, whatever the API shows yet.
    """

    def __init__(self) -> None:
        self.news: set[str] = set()
        """UIDs of pods for whom an answer may be another than it was; to be emptied."""

    @property
    def has_news(self) -> bool:
        """Whether there are such pods, or nodes with other things to give."""
        return bool(self.news)

    def take_touched(self) -> Mapping[str, bool]:
        """Nodes that have other things to give than when this was last asked, and whether they may have more."""
        return {}

    @property
    def returning_to(self) -> frozenset[str]:
        """Nodes that will have more to give, since pods are gone that had it: somebody else has to say so."""
        return frozenset()

    @abstractmethod
    def seen(self, pod: Pod) -> None:
        """A pod as it is now."""

    @abstractmethod
    def gone(self, uid: str) -> None: ...

    @abstractmethod
    def need(self, uid: str) -> Need | None:
        """What nodes are judged by for the pod, and part of its class; None if it needs nothing."""

    def holds(self, uid: str) -> str | None:
        """Why no node will do before something else happens; None if one may."""
        return None

    @abstractmethod
    def grant(self, uid: str, node: Node) -> tuple[Grant, ...]:
        """The pod is to be bound to the node: what must be written before that."""

    @abstractmethod
    def failed(self, grant: Grant, message: str) -> None:
        """A grant could not be written."""

    @abstractmethod
    def progress(self, uid: str) -> Progress:
        """Of what was granted to the pod."""

    @abstractmethod
    def take_back(self, uid: str) -> tuple[Grant, ...]:
        """The pod is not bound after all: what of its grants, as they were given, is to be undone."""

    def let_go(self, uids: frozenset[str]) -> tuple[Grant, ...]:
        """These members of a unit have no place: what is to be undone of grants that they have from before."""
        return ()

    @abstractmethod
    def bound(self, uid: str) -> None:
        """The pod is bound: what was granted is its own."""


class Supplier(Role):
    """Supplies pods with what is chosen with the node, written to the API and made ready by others before a bind."""

    wait_seconds = 600.0
    """So long a unit waits for it to be made ready."""

    @abstractmethod
    def supply(self, facts: Facts, nodes: NodeTable) -> Supply:
        """For the cluster that has these facts and nodes."""


class PodGate(Role):
    """Keeps a pod, and with it a gang that has not started, out of the queue."""

    asks_again = False
    """Its answer may change although the pod does not: it is asked every few seconds."""

    @abstractmethod
    def holds(self, pod: PodState) -> str | None:
        """Why the pod may not be decided yet; None if it may."""


class GangRule(Role):
    """Says when a gang may be decided, and whether what was placed of it is enough."""

    @abstractmethod
    def waits_for(self, gang: GangState) -> str | None:
        """Why the gang may not be decided yet; None if it may."""

    @abstractmethod
    def shortfall(self, gang: GangState, placed: dict[str, int]) -> dict[str, int]:
        """How many members each subset lacks if `placed` more were bound; empty if that is enough."""

    def usable(self, gang: GangState, placed: dict[str, int]) -> dict[str, int]:
        """How many of the members placed in each subset may be bound, where some of them would be neither back nor
        enough."""
        return placed


class VictimRule(Role):
    """Proposes victims: who may be evicted for whom, and whom to spare first.  The engine alone evicts.

    Its answers depend on what it is given alone: they are kept as long as the victim's pods and gang do not change.
    """

    @abstractmethod
    def may_evict(self, victim: Victim, *, priority: int) -> bool:
        """Whether a unit of that priority may have the victim evicted."""

    @abstractmethod
    def importance(self, victim: Victim) -> tuple[int, int, int, float]:
        """Larger for victims that are spared first."""


class QueueOrder(Role):
    """Orders units in the queue; smaller comes first."""

    @abstractmethod
    def key(self, *, priority: int, created: float, uid: str, name: str) -> tuple[int, float, str]:
        """Unique for every unit, the same in every process.  The name is namespace/name of group or lone pod."""
