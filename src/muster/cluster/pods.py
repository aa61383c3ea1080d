"""One pod as the engine keeps it."""

from __future__ import annotations

from enum import IntEnum

import msgspec
from msgspec.structs import replace

from muster.api.asks import Ask
from muster.api.kinds import Address
from muster.cluster.classes import PodClass
from muster.cluster.efforts import Efforts
from muster.gangs.model import Membership
from muster.gangs.record import BoundFor


class Stage(IntEnum):
    """Where a pod is in its life.

    PENDING → BINDING → BOUND → SUCCEEDED | FAILED; a refused bind leads from BINDING back to PENDING, and
    another scheduler's bind from PENDING straight to BOUND.  BINDING and BOUND pods take room on `node`.
    """

    PENDING = 0
    BINDING = 1
    BOUND = 2
    SUCCEEDED = 3
    FAILED = 4


# for paths on which a gang's thousand members are counted: `Stage.PENDING` takes 70 ns in Python 3.11, this name 5
PENDING, BINDING, BOUND, SUCCEEDED, FAILED = Stage


class Condemned(msgspec.Struct, frozen=True, gc=False):
    """An eviction that may still be called off, and how the victim's gang was before it."""

    unit: str
    """For whom: key of the gang, or UID of the lone pod."""
    lost_to: str = ""
    """The gang's `lost_to`..."""
    fallen: bool = False
    """...and whether the gang had fallen."""


class Setbacks(msgspec.Struct, frozen=True, gc=False):
    """What went wrong with a pod's binds: most pods have none, and a cluster has many pods."""

    failures: int = 0
    error: str = ""
    """What the last failed bind was answered."""
    unanswered_by: str = ""
    """The node to which the last bind got no answer."""
    retries: int = 0
    """How often in a row that was so."""
    retries_later: bool = False
    """The bind failed and is tried again when a timer rings."""
    repeats: bool = False
    """The bind was asked for once more, and the one before, which got no answer, may have succeeded."""
    answered: bool = False
    """Nothing is on its way: the bind was refused and will be tried again, or what the pod brings is not ready."""
    denied_at: float | None = None
    """When a policy first refused to let the pod be bound, of the times that it did in a row."""
    denied_on: frozenset[str] = frozenset()
    """The nodes where it did."""

    @property
    def nothing_is_sent(self) -> bool:
        """No bind is on its way, nor tried again when a timer rings: what the pod brings is being made ready."""
        return self.answered and not self.retries_later

    def await_retry(self, failures: int) -> bool:
        """Whether a bind is to be tried again after so many that failed."""
        return self.retries_later and self.failures == failures

    def tried_again(self, *, repeats: bool = False) -> Setbacks:
        """A bind is on its way, after these."""
        return replace(self, answered=False, retries_later=False, repeats=repeats)


NO_SETBACKS = Setbacks()


class PodState(msgspec.Struct, gc=False, kw_only=True, eq=False):
    """A pod's facts, and what the engine decided for it.  Equal only to itself."""

    uid: str
    key: str
    """namespace/name"""
    created: float
    priority: int
    pod_class: PodClass
    gang: str | None = None
    """Key of its gang; None for a lone pod."""
    subset: str = ""
    """Which it counts for: what `names_subset` means where its gang is declared."""
    names: Membership | None = None
    """How it names its gang, if it names two; None for all others."""
    overruled: str = ""
    """Key of the gang that it names in vain, since the other that it names is one that somebody asked for."""
    ours: bool
    """Names this scheduler; others are only counted where they run."""
    owner: Address | None = None
    """Its controller, if that is of a kind that plugins may read."""
    spreads: bool = False
    """It says itself how it is to be spread."""
    controller: str = ""
    """UID of the object that made the pod and replaces it; "" for none."""
    owners: str = ""
    """namespace/name of the owners of a member, in order, with commas; "" for none, and for a lone pod."""
    record: BoundFor | None = None
    """For whom the pod was bound, or is being bound; None while pending, and where nobody wrote it down."""
    marked: str = ""
    """Key of the gang that has started, as the pod says for a gang that has no status; "" if it does not."""
    gates: tuple[str, ...] = ()
    gated_by: str | None = None
    """Why it may not be decided yet, as the profile and its gates say; or since its priority is not its gang's."""
    leaving: bool = False
    """Being deleted, or released by us: no longer counts for its gang, takes room until it is gone."""
    stage: Stage = PENDING
    node: str = ""
    """Where it takes room; "" while pending or ended."""
    asks: tuple[Ask, ...] = ()
    """What the pod asks for beside room on a node that it admits."""
    names_subset: str = ""
    """As the pod, or the record of its bind, has it."""
    astray: str = ""
    """Why the pod waits although it is in no gang: it says that it is in one."""
    unsettled: bool = False
    """It is astray for a moment only."""
    remark: str = ""
    """Why the pod is alone, if it is, although it says something of a gang; "" for most."""
    gated_as: str = ""
    """The reason under which the pod itself says why it is held; "" where the API server says so."""
    level: int = 0
    """The priority at which it can be evicted, as of when its gang was last looked at; see `GangState.level`."""
    stranded: bool = False
    """It is bound to a node that is not there: it takes no room that anybody has, and counts for nothing."""
    stood: bool = False
    """When its node went the pod ran in a gang that had started, and has not been undone since."""
    bound_at: float | None = None
    said: tuple[str, str] | None = None
    """Reason and message of its PodScheduled condition, while that is False."""
    preparing_since: float | None = None
    """Since when what it brings is made ready, as it says itself; None if it does not."""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    preempts: bool = True
    """Others may be evicted for it."""
    started_at: float | None = None
    """When its kubelet began with it."""
    running: bool = False
    """Its phase is Running."""
    nominated: str = ""
    """Its nominatedNodeName, as last written."""
    reserved: str = ""
    """Where room is reserved for it while it waits for others to leave; "" for nowhere."""
    evicted: bool = False
    """It leaves to make room for others."""
    condemned: Condemned | None = None
    """Its eviction was decided, and its object does not show yet that it goes."""
    leaving_until: float | None = None
    """When its grace is over, if somebody deleted it."""
    lasting: bool = False
    """It belongs to its node (a daemon's, or a static pod): nobody can expect it to end."""
    efforts: Efforts | None = None
    """Of a lone pod that was to be placed."""
    attempt: int = 0
    """In which of its gang's attempts it was last bound."""
    setbacks: Setbacks = NO_SETBACKS

    @property
    def candidate(self) -> bool:
        """May be placed: ours, pending, not on its way out."""
        return self.stage is PENDING and self.ours and not self.leaving

    @property
    def takes_room(self) -> bool:
        return self.stage is BINDING or self.stage is BOUND
