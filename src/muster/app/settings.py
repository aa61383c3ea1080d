"""What a run of the scheduler needs to know, with its defaults.

A file gives settings (see configuration.py), flags override them: `override(settings, listen=..., journal=None)`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from muster.base.errors import ConfigError
from muster.engine.engine import Engine
from muster.framework.profile import Backoff, Fairness, PreemptionSettings, Profile, Unsupported
from muster.gangs.dialects.dialect import Dialect
from muster.plugins import registry
from muster.plugins.registry import Part, ProfileParts, default_parts

__all__ = [
    "LeaderElection",
    "LogFormat",
    "LogLevel",
    "Settings",
    "host_and_port",
    "make_engine",
    "override",
    "to_journal",
]

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

# client-go waits up to a fifth longer than the retry period
_JITTER = 1.2


class LeaderElection(msgspec.Struct, frozen=True, kw_only=True):
    """Which replica decides: the holder of a Lease.  Times in seconds, with client-go's defaults and rules."""

    enabled: bool = True
    name: str = "muster"
    namespace: str = "kube-system"
    lease_seconds: float = 15.0
    """A leader that has not renewed for so long may be replaced."""
    renew_seconds: float = 10.0
    """A leader that could not renew for so long stops leading."""
    retry_seconds: float = 2.0

    def __post_init__(self) -> None:
        lease, renew, retry = self.lease_seconds, self.renew_seconds, self.retry_seconds
        if retry <= 0:
            raise ConfigError(f"leaderElection: retryPeriod must be longer than 0, not {retry:g}s")
        if renew <= retry * _JITTER:
            raise ConfigError(
                f"leaderElection: renewDeadline ({renew:g}s) must be longer than {_JITTER} × retryPeriod ({retry:g}s)"
            )
        if lease <= renew:
            raise ConfigError(
                f"leaderElection: leaseDuration ({lease:g}s) must be longer than renewDeadline ({renew:g}s)"
            )
        if not self.name or not self.namespace:
            raise ConfigError("leaderElection: resourceName and resourceNamespace must not be empty")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of `muster run`."""

    kubeconfig: Path | None = None
    """None for the usual places."""
    context: str | None = None
    """None for the kubeconfig's current one."""
    insecure: bool = False
    """The server's certificate is not checked."""

    scheduler_names: tuple[str, ...] = ("muster",)
    """All of them."""
    plugins: tuple[Part, ...] = msgspec.field(default_factory=default_parts)
    others: tuple[ProfileParts, ...] = ()
    """Other plugins for some of the names, and nothing else that would differ; `plugins` are those of all the rest."""
    backoff: Backoff = Backoff()
    preemption: PreemptionSettings = PreemptionSettings()
    fairness: Fairness = Fairness()
    unsupported: Unsupported = Unsupported.REFUSE
    closed: tuple[Dialect, ...] = ()
    """Ways of naming gangs that are switched off."""
    groups_are_stored: bool = False
    """The API server is that of `muster up`, and serves no PodGroups: the scheduler finds those that are stored."""

    leader_election: LeaderElection = LeaderElection()
    qps: float | None = None
    """Requests a second; None for no limit on this side."""
    burst: int | None = None
    """Requests at once; means nothing without `qps`."""

    listen: str = "127.0.0.1:10261"
    """Where health and metrics are served."""
    journal: Path | None = None
    log_format: LogFormat = "text"
    log_level: LogLevel = "info"

    def __post_init__(self) -> None:
        if not self.scheduler_names or not all(self.scheduler_names):
            raise ConfigError("a scheduler needs a name")
        host_and_port(self.listen)

    @property
    def parts(self) -> tuple[ProfileParts, ...]:
        """Of every profile."""
        taken = {name for parts in self.others for name in parts.scheduler_names}
        first = ProfileParts(
            scheduler_names=tuple(name for name in self.scheduler_names if name not in taken),
            plugins=self.plugins,
            backoff=self.backoff,
            preemption=self.preemption,
            fairness=self.fairness,
            unsupported=self.unsupported,
        )
        return first, *(
            msgspec.structs.replace(first, scheduler_names=other.scheduler_names, plugins=other.plugins)
            for other in self.others
        )

    def make_profiles(self) -> list[Profile]:
        """All profiles, newly made; ConfigError if no scheduler can be made of the plugins."""
        return [registry.make_profile(parts) for parts in self.parts]


def override(settings: Settings, **flags: Any) -> Settings:
    """The settings with the flags that were given; None stands for one that was not."""
    return msgspec.structs.replace(settings, **{name: value for name, value in flags.items() if value is not None})


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of "127.0.0.1:10261" or "[::1]:10261"; the host is empty for all addresses, port 0 is any free one."""
    host, colon, port = address.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    # isdigit alone would take ² for a digit
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65_535 or (":" in host and not bracketed):
        raise ConfigError(f"'{address}' is no address to listen on", hint="write it like 127.0.0.1:10261")
    return host.strip("[]"), int(port)


def to_journal(settings: Settings) -> dict[str, str]:
    """What the header of a journal must name, so that `make_engine` makes an engine that decides the same."""
    return registry.to_journal(*settings.parts)


def make_engine(header: dict[str, str]) -> Engine:
    """The engine that a journal's header names, be it of a run or of a scenario."""
    return Engine(*registry.from_journal(header))
