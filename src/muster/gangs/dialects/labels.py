"""Labels alone (the first Coscheduling plugin): a pod says which group it is of and how many that group needs.

No object declares such a gang: its pods do, together.  Where they do not agree on the minimum the largest counts, so
that nobody starts with fewer than somebody asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from muster.api.wire import Metadata, Pod, PodGroup
from muster.gangs.dialects.dialect import Dialect, Marks
from muster.gangs.dialects.v1beta1 import TIMEOUT_ANNOTATION, goes_whole
from muster.gangs.model import Membership
from muster.gangs.record import bound_for

_PREFIXES = ("pod-group", "pod-group.scheduling.sigs.k8s.io")
_LABELS = tuple((f"{prefix}/name", f"{prefix}/min-available") for prefix in _PREFIXES)
# the API's own limit of a minimum
_MOST = 2**31 - 1


class Word(NamedTuple):
    """What one pod says of its gang: many say the same."""

    minimum: int
    created: str
    timeout: str


class Labels(Dialect):
    name = "labels"
    resources = ()
    marks = Marks(labels=tuple(label for pair in _LABELS for label in pair), annotations=(TIMEOUT_ANNOTATION,))
    has_status = False

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

    def minimum(self, pod: Pod, key: str) -> int:
        """What the pod asks for the gang of this key; 0 if it names another, or none."""
        named = self.membership(pod)
        return _read(pod.metadata.labels)[1] if named is not None and named.gang == key else 0

    def word(self, pod: Pod) -> Word:
        """What the pod says of its gang; whoever was bound stays with the minimum that was in force then."""
        meta, record = pod.metadata, bound_for(pod)
        minimum = record.minimum if record is not None else _read(meta.labels)[1]
        return Word(minimum, meta.creation_timestamp, meta.annotations.get(TIMEOUT_ANNOTATION, ""))

    def declared_by(self, key: str, words: Collection[Word]) -> PodGroup:
        """The gang of this key as its pods declare it."""
        namespace, _, name = key.partition("/")
        minimums = {word.minimum for word in words}
        timeout = max((word.timeout for word in words), key=lambda text: (len(text), text))
        return PodGroup(
            metadata=Metadata(
                name=name,
                namespace=namespace,
                creation_timestamp=min(word.created for word in words),
                annotations={TIMEOUT_ANNOTATION: timeout} if timeout else {},
            ),
            spec=goes_whole(max(minimums)),
            dialect=self.name,
            remark=disagreement(name, minimums),
        )


def disagreement(name: str, minimums: Collection[int]) -> str:
    """What those are told who ask for different minimums of one gang; "" if they do not."""
    if len(minimums) < 2:
        return ""
    return f"pods of {name} do not agree on the minimum ({', '.join(map(str, sorted(minimums)))}): the largest counts"


def _read(labels: Mapping[str, str]) -> tuple[str, int]:
    """Name of the group, and its minimum: 0 if that is none."""
    for name_label, minimum_label in _LABELS:
        if name := labels.get(name_label, ""):
            text = labels.get(minimum_label, "")
            return name, min(int(text), _MOST) if text.isascii() and text.isdecimal() else 0
    return "", 0
