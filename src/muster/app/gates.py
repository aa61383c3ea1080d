"""Feature gates, spelled as kube-scheduler spells them: DelayedPreemption=false,WorkloadAwarePreemption=true."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from muster.app.settings import Settings
from muster.base.errors import ConfigError

__all__ = ["GATES", "with_gates"]

GATES = {"WorkloadAwarePreemption": "gangs", "DelayedPreemption": "delayed"}
"""What each switches of `framework.profile.Preemption`; all are on by default."""

_FLAG = "--feature-gates"
# what Go's strconv.ParseBool reads
_VALUES = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True)
_VALUES |= dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False)


def with_gates(settings: Settings, texts: Iterable[str]) -> Settings:
    """The settings with gates opened or closed; of a gate that is named more than once the last word counts."""
    given = {}
    for pair in ",".join(texts).split(","):
        if pair.strip():
            name, value = _read(pair)
            given[GATES[name]] = value
    return msgspec.structs.replace(settings, preemption=msgspec.structs.replace(settings.preemption, **given))


def _read(pair: str) -> tuple[str, bool]:
    name, equals, value = (part.strip() for part in pair.partition("="))
    if name not in GATES:
        raise ConfigError(f"{_FLAG}: there is no gate '{name}'", hint="known are " + ", ".join(GATES))
    if not equals:
        raise ConfigError(f"{_FLAG}: {name} needs a value", hint=f"write it like {name}=false")
    if value not in _VALUES:
        raise ConfigError(f"{_FLAG}: {name} must be true or false, not '{value}'")
    return name, _VALUES[value]
