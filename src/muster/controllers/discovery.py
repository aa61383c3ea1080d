"""Which kinds a server serves, found out by asking it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

from muster.api.calls import Answer, Asked, Done, Look
from muster.api.resources import Resource
from muster.api.wire import Wire
from muster.controllers.desk import Again, AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.objects import read

_AGAIN_SECONDS = 30.0

Steps = Generator[Sequence[Asked], Sequence[Answer], Any]


class _Version(Wire, frozen=True):
    group_version: str = ""


class _Group(Wire, frozen=True):
    name: str = ""
    versions: tuple[_Version, ...] = ()
    preferred_version: _Version = _Version()


class _Groups(Wire, frozen=True):
    groups: tuple[_Group, ...] = ()


class _Resource(Wire, frozen=True):
    name: str = ""
    kind: str = ""
    namespaced: bool = False
    verbs: tuple[str, ...] | None = None


class _Resources(Wire, frozen=True):
    resources: tuple[_Resource, ...] | None = None


class Served(NamedTuple):
    """What is served."""

    deletable: tuple[Resource, ...] = ()
    """Kinds whose objects can be deleted, each in one version."""
    watched: tuple[Resource, ...] = ()
    """Of these, those that can be watched and may own each other: events are too many, and own nothing."""
    failures: tuple[str, ...] = ()
    """What could not be found out."""


def discover() -> Steps:
    """Returns what is served; of kinds in several versions the one that the server prefers."""
    core, groups = yield [Look(path="/api/v1", told=True), Look(path="/apis", told=True)]
    found = read(_Groups, groups.data) if isinstance(groups, Done) else None
    failures = [] if found is not None else [f"apis: {getattr(groups, 'message', '')}"]
    versions = [version for group in (found.groups if found is not None else ()) for version in _versions(group)]
    answers = yield [Look(path=f"/apis/{version}", told=True) for version in versions]
    deletable: dict[tuple[str, str], Resource] = {}
    watched: set[Resource] = set()
    for version, answer in zip(["v1", *versions], [core, *answers], strict=True):
        listed = read(_Resources, answer.data) if isinstance(answer, Done) else None
        if listed is None:
            failures.append(f"{version}: {getattr(answer, 'message', '')}")
        for one in listed.resources or () if listed is not None else ():
            verbs = one.verbs or ()
            group, _, number = version.rpartition("/")
            if "delete" not in verbs or "/" in one.name or (group, one.name) in deletable:
                continue
            resource = Resource(group, number, one.name, one.kind, one.namespaced)
            deletable[group, one.name] = resource
            if {"list", "watch"} <= set(verbs) and one.kind != "Event":
                watched.add(resource)
    everything = tuple(deletable.values())
    return Served(everything, tuple(one for one in everything if one in watched), tuple(failures))


def _versions(group: _Group) -> list[str]:
    """The one that the server prefers comes first."""
    first = group.preferred_version.group_version
    others = [one.group_version for one in group.versions if one.group_version != first]
    return [first, *others] if first else others


class Discovery(AtDesks):
    """Tells of all kinds that are served, and again when that has changed."""

    def __init__(self, changed: Callable[[Served], None]) -> None:
        self._changed = changed
        self._served = Served()
        self._desk = Desk(self._look, first=1.0, last=_AGAIN_SECONDS)
        super().__init__(self._desk)
        self._desk.add("")

    def seen(self, where: str, thing: Any) -> None:
        """Something happened to the definition of a kind."""
        self._desk.add("")

    gone = seen

    def _look(self, key: str) -> Looking:
        served = yield from discover()
        if served.failures:
            # what is not known to be gone stays
            raise Again
        if served != self._served:
            self._served = served
            self._changed(served)
        self._desk.add("", at=self._desk.now + _AGAIN_SECONDS)
