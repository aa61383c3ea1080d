"""A kind is a row: its names, the shape of its objects, and functions for what is particular to it.

    create   decode → default → note who owns the fields → admit → prepare_create → validate → store
    update   decode → default → note who owns the fields → admit → prepare_update → validate_update → store
    status   decode → default → note who owns the fields → prepare_status → validate_status → store

Functions get whole objects, decoded by their shape: of the right types, with all that Go would have put in and without
what Go would have left out.  Those that prepare and default change the object in their hands; those that validate
return what is wrong with it.  Metadata is looked after for all kinds alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from muster.local.checks import names
from muster.local.checks.fields import FieldError
from muster.local.codec.values import Object

Prepare = Callable[[Object], None]
PrepareUpdate = Callable[[Object, Object], None]
"""The new object, and the one that is stored."""
Validate = Callable[[Object], list[FieldError]]
ValidateUpdate = Callable[[Object, Object], list[FieldError]]


Allocate = Callable[[Object, Object | None, Iterable[Object], bool], list[FieldError]]
"""The new object, the stored one, all objects of the kind, and whether it is a dry run."""


class Cluster(Protocol):
    """What else there is, for those who admit an object and change nothing else.

    `resource` is such as priorityclasses.scheduling.k8s.io.
    """

    def get(self, resource: str, name: str, *, namespace: str = "") -> Object | None: ...

    def list(self, resource: str) -> list[Object]: ...


Admit = Callable[[Object, Object | None, Cluster], str]
"""Changes the new object, the stored one beside it if there is one, or says why it is forbidden."""


class Column(msgspec.Struct, frozen=True):
    """A column of `kubectl get`."""

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    """1: shown by -o wide only."""


class Table(msgspec.Struct, frozen=True):
    """How `kubectl get` shows a kind: cells are made of an object and the time, in seconds since the epoch."""

    columns: tuple[Column, ...]
    cells: Callable[[Object, float], Sequence[Any]]


def _nothing(_: Object) -> None:
    pass


def _nothing_new(_new: Object, _old: Object) -> None:
    pass


def _no_errors(_: Object) -> list[FieldError]:
    return []


def _no_update_errors(_new: Object, _old: Object) -> list[FieldError]:
    return []


def _no_fields(_: Object) -> dict[str, str]:
    return {}


def _no_warnings(_new: Object, _old: Object | None) -> list[str]:
    return []


def _admitted(_new: Object, _old: Object | None, _cluster: Cluster) -> str:
    return ""


def _not_held(_: Object) -> bool:
    return False


class Strategy(msgspec.Struct, frozen=True, kw_only=True):
    """What is particular to a kind."""

    prepare_create: Prepare = _nothing
    default: Prepare = _nothing
    """Sets what was left out, as Kubernetes does when it reads an object; done again changes nothing."""
    validate: Validate = _no_errors
    prepare_update: PrepareUpdate = _nothing_new
    """Takes from the stored object what a user may not change here, besides the status."""
    validate_update: ValidateUpdate | None = None
    """All that is wrong with the new object, immutable fields included; None: what would be wrong with any."""
    prepare_status: PrepareUpdate = _nothing_new
    """All but status and metadata are as they were by then."""
    validate_status: ValidateUpdate = _no_update_errors
    name_problems: Callable[[str, bool], list[str]] = names.subdomain_problems
    """What is wrong with a name; the flag says that it is a generateName, to which a suffix will be added."""
    selectable: Callable[[Object], dict[str, str]] = _no_fields
    """Fields that a field selector may ask for, besides metadata.name and metadata.namespace."""
    field_labels: Mapping[str, str] | None = None
    """By what field selectors name them, those fields; None: as they are named, of custom kinds, and none of others."""
    admit: Admit = _admitted
    """What admission plugins do, before preparation and validation."""
    has_generation: bool = False
    """metadata.generation starts at 1 and grows with each change outside metadata and status."""
    needs_version: bool = False
    """An update must name the resourceVersion that it changes."""
    allocate: Allocate | None = None
    """Gives the object what only the cluster can give; comes before preparation and validation."""
    any_finalizer: bool = False
    """Finalizers need no prefix, as those of custom kinds."""
    metadata_last: bool = False
    """What is wrong with new metadata is said only if all else is in order."""
    default_times: Callable[[Object, str], None] | None = None
    """Sets times that were left out to now, as a default; whoever sent the object owns them."""
    note_times: Callable[[Object, Object | None, str], None] | None = None
    """Notes on a prepared object, beside the stored one if there is one, what happened now."""
    grace_seconds: Callable[[Object, int | None], int] | None = None
    """How long an object may take to go, given what the request asks for; None: objects of this kind go at once."""
    prepare_delete: Callable[[Object, float], Object] | None = None
    """What becomes of an object when its deletion begins, at a time in seconds since the epoch."""
    returns_deleted: bool = False
    """A deletion is answered with the object, not with a Status."""
    creates_on_update: bool = False
    """An update of what is not there makes it."""
    warnings: Callable[[Object, Object | None], list[str]] = _no_warnings
    """What clients are warned of: the object as it is to be, and as it was if it was."""
    orphans: bool = False
    """What it owns stays when it is deleted and nobody says otherwise."""
    orphaning: str = ""
    """What is said to those who delete one and do not say what is to become of what it owns."""
    permanent: Mapping[str, str] = {}
    """By name, objects that nobody can delete, and why."""
    contains: bool = False
    """Objects of other kinds are in it, by its name: it is a namespace."""
    declares: bool = False
    """Its objects declare kinds."""
    is_held: Callable[[Object], bool] = _not_held
    """Whether something besides the finalizers in its metadata keeps an object that is being deleted."""
    terminate: Prepare = _nothing
    """Says on an object that its deletion has begun."""
    one_by_one: bool = False
    """They cannot be deleted all at once."""
    ttl_seconds: float | None = None
    """Forgotten so long after they were last written."""
    status_keeps: tuple[str, ...] = ("spec",)
    """What a write of the status cannot change."""
    home_group: str | None = None
    """The group that its refusals name, if it is another: an event is the core group's, in whichever it is sent."""

    def errors_of_update(self, new: Object, old: Object) -> list[FieldError]:
        return self.validate(new) if self.validate_update is None else self.validate_update(new, old)


class Scaling(msgspec.Struct, frozen=True, kw_only=True):
    """Where in an object its number of replicas stands, field by field."""

    spec: tuple[str, ...]
    status: tuple[str, ...]
    selector: tuple[str, ...] = ()
    """Of the pods, as text."""


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind in one version, as it is served."""

    group: str
    version: str
    name: str
    """Pod."""
    plural: str
    """pods."""
    type_name: str
    """Of its shape: io.k8s.api.core.v1.Pod; "" for custom kinds."""
    namespaced: bool = True
    singular_name: str = ""
    """"" for the small letters of its name."""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    has_status: bool = False
    """There is a /status subresource."""
    scale: Scaling | None = None
    """There is a /scale subresource."""
    verbs: tuple[str, ...] = ()
    """None but these; () for all."""
    is_ending: bool = False
    """It is being taken away with all its objects: there will be no new ones."""
    is_hidden: bool = False
    """No document tells of it."""
    strategy: Strategy = Strategy()
    table: Table | None = None
    """None: its name, and when it was created."""

    @property
    def is_built_in(self) -> bool:
        """Neither a custom kind nor the one that declares them."""
        return bool(self.type_name) and not self.strategy.declares

    @property
    def home_group(self) -> str:
        """The group that refusals name."""
        return self.group if self.strategy.home_group is None else self.strategy.home_group

    @property
    def storage(self) -> str:
        """Where its objects are: jobs.batch; one place for all versions, and groups, in which they are told."""
        return f"{self.plural}.{self.home_group}" if self.home_group else self.plural

    @property
    def ends_itself(self) -> bool:
        """A deletion is only marked: what is in it goes first."""
        return self.strategy.contains or self.strategy.declares

    @property
    def internal_name(self) -> str:
        """What Go calls its objects inside the server: core.Pod."""
        if not self.type_name:
            return "unstructured.Unstructured"
        return f"{self.home_group.partition('.')[0] or 'core'}.{self.name}"

    @property
    def singular(self) -> str:
        return self.singular_name or self.name.lower()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """As messages name it: pods, jobs.batch."""
        return f"{self.plural}.{self.group}" if self.group else self.plural
