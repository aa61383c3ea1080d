"""What an API that names gangs has to tell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from muster.api.resources import Resource
from muster.api.wire import Condition, Object, Pod, PodGroup
from muster.gangs.model import Membership
from muster.gangs.tally import Tally


class Marks(msgspec.Struct, frozen=True):
    """Where pods name their gang in a dialect, and their part of it."""

    fields: tuple[str, ...] = ()
    """Of their spec, as the API spells them."""
    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()


class Dialect(ABC):
    """One API that names gangs.  What its objects declare is brought into one form: PodGroups of v1beta1.

    Nobody but a dialect knows how its objects are spelled: decisions, journals and simulated worlds have the one form.
    """

    name: ClassVar[str]
    """As people choose it: `muster install --dialect NAME`."""
    resources: ClassVar[tuple[Resource, ...]]
    """Where its objects are served, best first; of several versions one is enough.  None where pods say everything."""
    kind: ClassVar[type[Object]] = PodGroup
    """What its objects look like."""
    marks: ClassVar[Marks] = Marks()
    """What `membership` reads of a pod: without these it names no gang in this dialect."""
    has_status: ClassVar[bool] = True
    """Its objects have conditions; else members say that their gang has started."""
    counts: ClassVar[bool] = False
    """Its objects have a phase, or say how many members are where: `status` tells what they are to say."""
    dates_updates: ClassVar[bool] = False
    """Its conditions say when they were last written."""
    is_shared: ClassVar[bool] = False
    """Other schedulers have objects of this kind: only those of our own pods are ours to write."""
    scheduler: ClassVar[str] = ""
    """The one that schedules its pods where nobody names another."""
    protects: ClassVar[bool] = True
    """An object in use is not deleted before its pods have ended."""
    names_others: ClassVar[bool] = False
    """Pods may name subsets of which their object says nothing."""
    one_priority: ClassVar[bool] = False
    """Members must agree on a priority before their gang can start."""
    fitting_reason: ClassVar[str] = "Unschedulable"
    """What pods say that would fit, but whose gang does not."""
    conditions: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Conditions that it spells otherwise than v1beta1, by the type there."""

    @abstractmethod
    def membership(self, pod: Pod) -> Membership | None:
        """The gang that the pod names in this dialect, if it does."""

    def remark(self, pod: Pod) -> str:
        """Why a pod is no member although labels of it say something of that; "" for most."""
        return ""

    def unsaid(self, pod: Pod) -> Pod:
        """The pod without the field that names its gang in this dialect, if that has one of its own.

        Labels stay, since others may select by them.
        """
        return pod

    def groups(self, found: Any) -> tuple[PodGroup, ...]:
        """What an object declares; most declare one group of their own name, and pods that say everything none."""
        return ()

    def read_conditions(self, written: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """Conditions under the types that v1beta1 has for them."""
        types = {spelled: kind for kind, spelled in self.conditions.items()}
        return tuple(replace(one, type=types[one.type]) if one.type in types else one for one in written)

    def status(self, found: Any, tally: Tally) -> dict[str, Any]:
        """Fields of the status of an object that are to say how its gang is doing, where they do not; {} for nothing.

        They follow from the members and from what stands there, so that a leader that comes later says the same.
        """
        return {}

    def group_of(self, key: str) -> str:
        """Key of the group that its objects declare for the gang of this key; "" if they can declare none."""
        return key if key.count("/") == 1 else ""

    def object_of(self, key: str) -> str:
        """namespace/name of the object that declares the gang of this key."""
        return key
