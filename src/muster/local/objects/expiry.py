"""What a cluster forgets with time: objects of some kinds, a while after they were last written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from muster.api.times import seconds
from muster.local.store.store import Stored


class _Owner(msgspec.Struct):
    time: str = ""


class _Metadata(msgspec.Struct, rename="camel"):
    creation_timestamp: str
    managed_fields: list[_Owner] = []


class _Dated(msgspec.Struct):
    """As much of an object as tells when it was written."""

    metadata: _Metadata


_decode = msgspec.json.Decoder(_Dated).decode


def expired(objects: Iterable[Stored], *, ttl_seconds: float, now: float) -> Iterator[Stored]:
    """Those that nobody has written for so long."""
    for stored in objects:
        meta = _decode(stored.data).metadata
        # each write is noted with its time, and so is told later than the first
        if seconds(max([meta.creation_timestamp, *(owner.time for owner in meta.managed_fields)])) + ttl_seconds < now:
            yield stored
