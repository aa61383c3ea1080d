"""Labels alone (the first Coscheduling plugin): a pod says which group it is of and how many that group needs.

No object declares such a gang: its pods do, together.  Where they do not agree on the minimum the largest counts, so
that nobody starts with fewer than somebody asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from muster.api.wire import DisruptionMode, Empty, GangPolicy, Metadata, Pod, PodGroup, PodGroupSpec, SchedulingPolicy
from muster.gangs.dialects.dialect import Dialect
from muster.gangs.dialects.v1beta1 import TIMEOUT_ANNOTATION
from muster.gangs.model import Membership
from muster.gangs.record import bound_for

_PREFIXES = ("pod-group", "pod-group.scheduling.sigs.k8s.io")
_LABELS = tuple((f"{prefix}/name", f"{prefix}/min-available") for prefix in _PREFIXES)
# the API's own limit of a minimum
_MOST = 2**31 - 1


class Labels(Dialect):
    name = "labels"
    resources = ()
    has_status = False
    marks = frozenset(name for name, _ in _LABELS)

    def membership(self, pod: Pod) -> Membership | None:
        name, minimum = _read(pod.metadata.labels)
        return Membership(f"{pod.metadata.namespace}/{name}") if name and minimum else None

    def remark(self, pod: Pod) -> str:
        labels = pod.metadata.labels
        name, minimum = _read(labels)
        if minimum or not name:
            return ""
        label, asked = next((m, labels.get(m)) for n, m in _LABELS if labels.get(n))
        what = f"label {label} is missing" if asked is None else f"label {label} is {asked!r}, not a positive number"
        return f"placed alone, not as a member of {name}: {what}"

    def declared_by(self, key: str, pods: Collection[Pod]) -> PodGroup:
        """The gang of this key as these pods declare it."""
        first = min(pods, key=lambda pod: (pod.metadata.creation_timestamp, pod.metadata.name))
        namespace, _, name = key.partition("/")
        timeouts = {pod.metadata.annotations.get(TIMEOUT_ANNOTATION, "") for pod in pods} - {""}
        return PodGroup(
            metadata=Metadata(
                name=name,
                namespace=namespace,
                creation_timestamp=first.metadata.creation_timestamp,
                annotations={TIMEOUT_ANNOTATION: max(timeouts, key=lambda text: (len(text), text))} if timeouts else {},
            ),
            spec=PodGroupSpec(
                scheduling_policy=SchedulingPolicy(gang=GangPolicy(min_count=max(map(_minimum, pods)))),
                disruption_mode=DisruptionMode(all=Empty()),
            ),
            dialect=self.name,
        )


def _minimum(pod: Pod) -> int:
    """What the pod asks for; whoever was bound stays with what was in force then."""
    record = bound_for(pod)
    return record.minimum if record is not None else _read(pod.metadata.labels)[1]


def _read(labels: Mapping[str, str]) -> tuple[str, int]:
    """Name of the group, and its minimum: 0 if that is none."""
    for name_label, minimum_label in _LABELS:
        if name := labels.get(name_label, ""):
            text = labels.get(minimum_label, "")
            return name, min(int(text), _MOST) if text.isascii() and text.isdecimal() else 0
    return "", 0
