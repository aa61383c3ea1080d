"""Upstream's configuration file, KubeSchedulerConfiguration v1, read into our settings.

What the file asks for is done, or refused by name: a scheduler that overlooks a rule is worse than one that does not
start.  Only what has no influence on decisions is overlooked, and then a note says so.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from muster.app.document import Value, parse
from muster.app.plugin_args import API_VERSION, read_args
from muster.app.plugin_sets import read_plugins
from muster.app.settings import LeaderElection, Settings
from muster.base.errors import ConfigError
from muster.framework.profile import Backoff, Profiles
from muster.plugins.registry import ProfileParts, UserArgs, entry_of, make_profile

__all__ = ["Configuration", "load", "loads"]

_KIND = "KubeSchedulerConfiguration"
_FIELDS = (
    "apiVersion",
    "kind",
    "parallelism",
    "leaderElection",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "profiles",
    "extenders",
    "delayCacheUntilActive",
)
_JSON = "application/json"
# upstream's; said when a file gives only one of the two
_DEFAULT_BURST = 100
_DEFAULT_PARALLELISM = 16

_Notes = list[str]


class Configuration(msgspec.Struct, frozen=True):
    """What a file says."""

    settings: Settings
    notes: tuple[str, ...]
    """What has no effect, one line each, for the log."""


def load(path: Path) -> Configuration:
    """The configuration in a file; ConfigError says what is wrong with it, and where."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    return loads(text, file=str(path))


def loads(text: str | bytes, *, file: str = "configuration") -> Configuration:
    """The configuration in `text`; `file` is what complaints call it."""
    document = parse(text, file=file)
    if document.empty:
        raise document.error("the file is empty", hint=f"it must be a {_KIND}")
    fields = document.fields(_FIELDS)
    _check_kind(document, fields)
    _refuse(fields)
    notes: _Notes = []
    _note_idle(fields, notes)
    settings = Settings(backoff=_backoff(fields))
    if "profiles" in fields:
        settings = _profiles(settings, fields["profiles"], notes)
    if "clientConnection" in fields:
        settings = _connection(settings, fields["clientConnection"], notes)
    if "leaderElection" in fields:
        settings = _election(settings, fields["leaderElection"], notes)
    return Configuration(settings, tuple(notes))


def _check_kind(document: Value, fields: dict[str, Value]) -> None:
    for name, wanted in (("apiVersion", API_VERSION), ("kind", _KIND)):
        if name not in fields:
            raise document.error(f"needs {name}", hint=f"add a line '{name}: {wanted}'")
        if (text := fields[name].text()) != wanted:
            raise fields[name].error(f"must be {wanted}, not '{text}'")


def _refuse(fields: dict[str, Value]) -> None:
    if "extenders" in fields and not fields["extenders"].empty:
        raise fields["extenders"].error("not supported: Muster calls no extenders", hint="leave it out")
    if "delayCacheUntilActive" in fields and fields["delayCacheUntilActive"].flag():
        raise fields["delayCacheUntilActive"].error(
            "not supported: a replica that waits keeps its view of the cluster up to date", hint="leave it out"
        )


def _note_idle(fields: dict[str, Value], notes: _Notes) -> None:
    if "parallelism" in fields and fields["parallelism"].integer(least=1) != _DEFAULT_PARALLELISM:
        notes.append("parallelism has no effect: Muster looks at all nodes at once")
    for name in ("enableProfiling", "enableContentionProfiling"):
        if name in fields and fields[name].flag():
            notes.append(f"{name} has no effect: Muster serves no profiles")
    _note_percentage(fields, notes)


def _note_percentage(fields: dict[str, Value], notes: _Notes) -> None:
    value = fields.get("percentageOfNodesToScore")
    if value is not None and value.integer(least=0, most=100) not in (0, 100):
        notes.append(f"{value.path} has no effect: Muster always scores all nodes")


def _backoff(fields: dict[str, Value]) -> Backoff:
    backoff = Backoff()
    initial, maximum = backoff.initial, backoff.maximum
    if "podInitialBackoffSeconds" in fields:
        initial = float(fields["podInitialBackoffSeconds"].integer(least=1))
    if "podMaxBackoffSeconds" in fields:
        maximum = float(fields["podMaxBackoffSeconds"].integer(least=1))
    if maximum < initial:
        raise fields.get("podMaxBackoffSeconds", fields["podInitialBackoffSeconds"]).error(
            f"podMaxBackoffSeconds ({maximum:g}) must be at least podInitialBackoffSeconds ({initial:g})"
        )
    return Backoff(initial=initial, maximum=maximum)


# --- profiles ---


def _profiles(settings: Settings, value: Value, notes: _Notes) -> Settings:
    """Profiles of the same plugins are one with several names."""
    places = value.items()
    names: dict[str, str] = {}
    found: list[ProfileParts] = []
    for place in places:
        name, parts = _profile(place, only=len(places) == 1, notes=notes)
        if name in names:
            raise place.error(f"schedulerName {name} is that of {names[name]}", hint="each profile needs its own")
        names[name] = place.path
        if found:
            _check_shared(parts, found[0], place, places[0])
            _check_args(parts, found, place)
        same = next((number for number, one in enumerate(found) if one.plugins == parts.plugins), None)
        if same is None:
            found.append(msgspec.structs.replace(parts, scheduler_names=(name,), backoff=settings.backoff))
        else:
            found[same] = msgspec.structs.replace(found[same], scheduler_names=(*found[same].scheduler_names, name))
    if not found:
        return settings
    first, *others = found
    return msgspec.structs.replace(
        settings,
        scheduler_names=tuple(names),
        plugins=first.plugins,
        others=tuple(others),
        preemption=first.preemption,
        fairness=first.fairness,
        unsupported=first.unsupported,
    )


def _profile(place: Value, *, only: bool, notes: _Notes) -> tuple[str, ProfileParts]:
    fields = place.fields(("schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig"))
    name = _scheduler_name(place, fields, only=only, notes=notes)
    _note_percentage(fields, notes)
    args = read_args(fields.get("pluginConfig"))
    parts = read_plugins(fields.get("plugins"), args, profile=place)
    try:
        make_profile(parts)
    except ConfigError as error:
        raise place.error(str(error)) from error
    return name, parts


def _check_shared(parts: ProfileParts, first: ProfileParts, place: Value, where: Value) -> None:
    """All pods stand in one queue for one cluster."""
    unequal = {part.name for part in parts.plugins} ^ {part.name for part in first.plugins}
    odd = {name for name in unequal if not entry_of(name).points.isdisjoint(("queueSort", "postFilter"))}
    settings = [(one.preemption, one.fairness, one.unsupported) for one in (parts, first)]
    if odd or settings[0] != settings[1]:
        raise place.error(
            f"how pods are queued, held together or evicted differs from {where.path}: they stand in one queue",
            hint="give both the same GangScheduling, DefaultPreemption and queueSort, or run a second Muster",
        )


def _check_args(parts: ProfileParts, found: list[ProfileParts], place: Value) -> None:
    """What a plugin by users reads of a pod is read once, for all profiles."""
    theirs = {part.name: part.args for one in found for part in one.plugins if isinstance(part.args, UserArgs)}
    for part in parts.plugins:
        if isinstance(part.args, UserArgs) and theirs.get(part.name, part.args).values != part.args.values:
            hint = "make them equal, or enable a subclass of another name"
            raise place.error(f"{part.name} has other arguments than in another profile", hint=hint)
    try:
        same = msgspec.structs.replace(parts, backoff=found[0].backoff)
        Profiles(make_profile(same), [make_profile(one) for one in found])
    except ConfigError as error:
        raise place.error(error.message, hint=error.hint) from error


def _scheduler_name(profile: Value, fields: dict[str, Value], *, only: bool, notes: _Notes) -> str:
    """Upstream calls an only profile default-scheduler.  Beside kube-scheduler that would be two for the same pods."""
    name = fields["schedulerName"].text() if "schedulerName" in fields else ""
    if name:
        return name
    if not only:
        raise profile.error("needs a schedulerName")
    (name,) = Settings().scheduler_names
    notes.append(f"{profile.path} has no schedulerName: Muster takes pods of scheduler {name}, not default-scheduler")
    return name


# --- the cluster ---


def _connection(settings: Settings, value: Value, notes: _Notes) -> Settings:
    fields = value.fields(("kubeconfig", "acceptContentTypes", "contentType", "qps", "burst"))
    for name in ("acceptContentTypes", "contentType"):
        if name in fields and (text := fields[name].text()):
            offered = [part.partition(";")[0].strip() for part in text.split(",")]
            if _JSON not in offered:
                raise fields[name].error(f"must be {_JSON}, not '{text}': Muster speaks JSON", hint="leave it out")
    kubeconfig = fields["kubeconfig"].text() if "kubeconfig" in fields else ""
    # client-go takes 0 for its default and less for no limit; our default is no limit
    qps = fields["qps"].number() if "qps" in fields else 0.0
    burst = fields["burst"].integer() if "burst" in fields else 0
    if qps <= 0:
        if burst:
            notes.append(f"{fields['burst'].path} has no effect: without qps there is no limit")
        return msgspec.structs.replace(settings, kubeconfig=Path(kubeconfig) if kubeconfig else None)
    return msgspec.structs.replace(
        settings, kubeconfig=Path(kubeconfig) if kubeconfig else None, qps=qps, burst=burst or _DEFAULT_BURST
    )


def _election(settings: Settings, value: Value, notes: _Notes) -> Settings:
    texts = {"resourceName": "name", "resourceNamespace": "namespace"}
    times = {"leaseDuration": "lease_seconds", "renewDeadline": "renew_seconds", "retryPeriod": "retry_seconds"}
    fields = value.fields(("leaderElect", "resourceLock", *texts, *times))
    if "resourceLock" in fields and (lock := fields["resourceLock"].text()) not in ("leases", ""):
        raise fields["resourceLock"].error(f"must be leases, not '{lock}'")
    given: dict[str, object] = {}
    if "leaderElect" in fields:
        given["enabled"] = fields["leaderElect"].flag()
    given |= {ours: fields[name].text() for name, ours in texts.items() if name in fields and not fields[name].empty}
    given |= {ours: fields[name].seconds() for name, ours in times.items() if name in fields}
    try:
        election = msgspec.structs.replace(LeaderElection(), **given)
    except ConfigError as error:
        raise value.error(error.message.removeprefix("leaderElection: ")) from error
    if election.enabled and election.name == "kube-scheduler":
        notes.append(f"{value.path}.resourceName is kube-scheduler's own: beside one, Muster would only wait")
    return msgspec.structs.replace(settings, leader_election=election)
