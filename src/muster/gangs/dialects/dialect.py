"""What an API that names gangs has to tell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from msgspec.structs import replace

from muster.api.resources import Resource
from muster.api.wire import Condition, Object, Pod, PodGroup
from muster.gangs.model import Membership


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
    has_status: ClassVar[bool] = True
    """Its objects have conditions; else members say that their gang has started."""
    protects: ClassVar[bool] = True
    """An object in use is not deleted before its pods have ended."""
    fitting_reason: ClassVar[str] = "Unschedulable"
    """What pods say that would fit, but whose gang does not."""
    marks: ClassVar[frozenset[str]] = frozenset()
    """Labels and annotations by which pods name their gangs."""
    conditions: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Conditions that it spells otherwise than v1beta1, by the type there."""

    @abstractmethod
    def membership(self, pod: Pod) -> Membership | None:
        """The gang that the pod names in this dialect, if it does."""

    def remark(self, pod: Pod) -> str:
        """Why a pod is no member although it says something of that; "" for most."""
        return ""

    def groups(self, found: Any) -> tuple[PodGroup, ...]:
        """What an object declares; most declare one group of their own name, and pods that say everything none."""
        return ()

    def read_conditions(self, written: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """Conditions under the types that v1beta1 has for them."""
        types = {spelled: kind for kind, spelled in self.conditions.items()}
        return tuple(replace(one, type=types[one.type]) if one.type in types else one for one in written)

    def object_of(self, key: str) -> str:
        """namespace/name of the object that declares the gang of this key."""
        return key
