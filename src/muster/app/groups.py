"""Which object declares each gang."""

from __future__ import annotations

from enum import IntEnum

import msgspec

from muster.api.wire import PodGroup, PriorityClass
from muster.engine.changes import Change, GroupGone, GroupRead, GroupSeen
from muster.gangs.dialects import declare


class Origin(IntEnum):
    """Where a PodGroup comes from; of two with the same name the first of these counts."""

    NATIVE = 0
    CUSTOM = 1


class Groups:
    """PodGroups of all APIs.  One name is one gang, so that objects can move from one API to the other.

    Kubernetes resolves the priority class of its own PodGroups when they are created, though only the priority without
    the gate PodGroupPreemptionPolicy.  The rest is done here, whenever the group or the class appears or changes.
    """

    def __init__(self) -> None:
        self._declared: dict[str, dict[Origin, PodGroup]] = {}
        self._classes: dict[str, PriorityClass] = {}
        self._gone: dict[tuple[Origin, str], str] = {}
        """UIDs of groups that a read found gone, and of which the watch still tells."""
        self._touched: dict[Origin, set[str]] = {origin: set() for origin in Origin}
        """Keys of groups that came or changed and have not been taken."""

    def find(self, key: str) -> tuple[Origin, PodGroup] | None:
        """The object that counts for a gang."""
        found = self._declared.get(key)
        if not found:
            return None
        origin = min(found)
        return origin, found[origin]

    def gives_way(self, key: str) -> bool:
        """Whether pods that name another group besides this one belong to that."""
        found = self.find(key)
        return found is not None and declare(found[1]).gives_way

    def overruled(self, key: str) -> PodGroup | None:
        """A custom group that asks for another minimum than the native one of its name, which counts."""
        found = self._declared.get(key, {})
        if len(found) < len(Origin) or declare(found[Origin.NATIVE]).subsets == declare(found[Origin.CUSTOM]).subsets:
            return None
        return found[Origin.CUSTOM]

    def of(self, origin: Origin, key: str) -> PodGroup | None:
        """The object of one API, whether it counts for the gang or not."""
        return self._declared.get(key, {}).get(origin)

    def seen(self, origin: Origin, group: PodGroup) -> Change:
        """The group as it is now; what is older than what was read meanwhile changes nothing."""
        key = f"{group.metadata.namespace}/{group.metadata.name}"
        if not self._is_older(group, self.of(origin, key)) and self._gone.get((origin, key)) != group.metadata.uid:
            self._declared.setdefault(key, {})[origin] = group
            self._touched[origin].add(key)
        return self._now(key)

    def gone(self, origin: Origin, key: str, uid: str = "") -> Change:
        """The group of this UID is gone; one of its name that was made since, and read, is not."""
        if self._gone.get((origin, key)) == uid:
            del self._gone[origin, key]
        known = self.of(origin, key)
        if known is not None and uid in ("", known.metadata.uid):
            self._forget(origin, key)
        return self._now(key)

    def _forget(self, origin: Origin, key: str) -> None:
        groups = self._declared[key]
        del groups[origin]
        if not groups:
            del self._declared[key]
        self._touched[origin].discard(key)
        for other in groups:
            # the one that did not count does now
            self._touched[other].add(key)

    def read(self, origin: Origin, key: str, group: PodGroup | None, *, before: PodGroup | None) -> None:
        """What a read at the API server itself found, ahead of the watch perhaps; None for nothing.

        `before` is what was known when the read began: what the watch has told since may be newer.  One that it told
        to be gone does not come back, and one of which it told that it came is there.
        """
        known = self.of(origin, key)
        if group is None:
            if known is not None and before is not None and known.metadata.uid == before.metadata.uid:
                self._gone[origin, key] = known.metadata.uid
                self._forget(origin, key)
        elif known is not None or before is None or before.metadata.uid != group.metadata.uid:
            self.seen(origin, group)

    def answer(self, key: str, number: int) -> GroupRead:
        """What there is to say of the gang after a read of this number."""
        now = self._now(key)
        return GroupRead(key, number, now.group if isinstance(now, GroupSeen) else None)

    def _is_older(self, group: PodGroup, known: PodGroup | None) -> bool:
        """Whether the watch tells what was so before what a read has found.

        Versions of one kind can be compared as numbers, those of different objects too; where they are none, the
        watch is believed.
        """
        one, other = group.metadata.resource_version, "" if known is None else known.metadata.resource_version
        return one.isdecimal() and other.isdecimal() and int(one) < int(other)

    def take_touched(self, origin: Origin) -> set[str]:
        """Keys of groups of one API that came or changed since this was last asked."""
        taken, self._touched[origin] = self._touched[origin], set()
        return taken

    def class_seen(self, found: PriorityClass) -> list[Change]:
        name = found.metadata.name
        before = {key: self._now(key) for key in self._declared if self._names_class(key, name)}
        self._classes[name] = found
        return [now for key, was in before.items() if (now := self._now(key)) != was]

    def _names_class(self, key: str, name: str) -> bool:
        found = self.find(key)
        return found is not None and found[1].spec.priority_class_name == name

    def class_gone(self, name: str) -> None:
        """Groups keep the priority that they have, as Kubernetes' own do: its value is remembered."""

    def _now(self, key: str) -> GroupSeen | GroupGone:
        found = self.find(key)
        if found is None:
            return GroupGone(key)
        origin, group = found
        spec = group.spec
        named = self._classes.get(spec.priority_class_name)
        if named is not None and origin is Origin.CUSTOM and spec.priority is None:
            spec = msgspec.structs.replace(spec, priority=named.value)
        if named is not None and spec.preemption_policy is None:
            spec = msgspec.structs.replace(spec, preemption_policy=named.preemption_policy)
        return GroupSeen(group if spec is group.spec else msgspec.structs.replace(group, spec=spec))
