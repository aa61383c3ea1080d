"""For whom a pod was bound: written with every bind (but while gangs are off), read back by whoever comes later.

The API server copies a Binding's annotations onto the pod in the same write, so the record costs no request and no
right, and is there exactly when the pod is bound.  Labels may change afterwards, and the object that declared the gang
may be made anew: the record tells what was promised when the pod got its node.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

import msgspec

from muster.api.wire import Pod

BOUND_FOR = "muster.dev/bound-for"
STARTED = "muster.dev/started"
"""Annotation on members of a gang whose declaring object has no status: the key of the gang, which has started."""

# anybody may write annotations: the number after a made-up one must still be one that can be written
_MOST_RUNS = 2**53
# names and UIDs of the longest kind make up half of it; what is longer would fill the cache: 256 KiB may be written
_LONGEST = 2_000


class BoundFor(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The gang, the object that declared it and the minimum in force when a pod was bound."""

    gang: str = ""
    """namespace/name; "" for a lone pod."""
    uid: str = ""
    """Of the declaring object; "" where there is none."""
    subset: str = ""
    named: str = ""
    """The subset that the pod named, where the group had no minimum for that; "" if it had."""
    minimum: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Of the subset."""
    others: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Of the gang's other subsets together."""
    run: Annotated[int, msgspec.Meta(ge=0, le=_MOST_RUNS)] = 0
    """Which of the gang's runs, where several use one group after another; the first is 0."""

    @property
    def names_subset(self) -> str:
        return self.named or self.subset

    @property
    def text(self) -> str:
        """The annotation's value."""
        return _text(self)


LONE = BoundFor()
"""Bound for itself alone."""
# versions that did not know all dialects wrote {}, and took members of gangs in others for lone pods
_LONE_TEXT = '{"gang":""}'
_LONE_AS_FAR_AS_WAS_KNOWN = "{}"


def bound_for(pod: Pod) -> BoundFor | None:
    """The record of a pod that has a node; None where there is none that can be read.

    A record for a gang of another namespace was copied or made up, and counts as none.
    """
    text = pod.metadata.annotations.get(BOUND_FOR) if pod.spec.node_name else None
    record = _read(text) if text and len(text) <= _LONGEST else None
    if record is None or (record.gang and record.gang.partition("/")[0] != pod.metadata.namespace):
        return None
    return record


# equal pods of one gang have equal records
@lru_cache(maxsize=4096)
def _text(record: BoundFor) -> str:
    return _LONE_TEXT if record == LONE else msgspec.json.encode(record).decode()


@lru_cache(maxsize=4096)
def _read(text: str) -> BoundFor | None:
    if text == _LONE_AS_FAR_AS_WAS_KNOWN:
        return None
    try:
        return msgspec.json.decode(text, type=BoundFor)
    except (msgspec.DecodeError, RecursionError):
        # anybody may write annotations
        return None
