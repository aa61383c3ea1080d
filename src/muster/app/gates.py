"""Feature gates, spelled as Kubernetes spells them: GangScheduling=false,DelayedPreemption=true.

All are on by default.  One that nobody names is off where one is that it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from muster.app.settings import Settings
from muster.base.errors import ConfigError
from muster.gangs.dialects import DIALECTS, SUBSETS

__all__ = ["GATES", "GENERIC_WORKLOAD", "POD_GROUP", "read_gates", "with_gates"]

GENERIC_WORKLOAD = "GenericWorkload"
_GANGS = "GangScheduling"
_PREEMPTION = {"WorkloadAwarePreemption": "gangs", "DelayedPreemption": "delayed"}
"""What they switch of `framework.profile.PreemptionSettings`."""
POD_GROUP = "PodGroup"

_NEEDS = {_GANGS: GENERIC_WORKLOAD, "WorkloadAwarePreemption": _GANGS}
"""As in Kubernetes 1.35 and 1.36, which have these gates."""

# the last one has nothing to switch yet
GATES = (GENERIC_WORKLOAD, _GANGS, *_PREEMPTION, POD_GROUP, "WorkloadBasicPolicyDesiredCount")

_FLAG = "--feature-gates"
# what Go's strconv.ParseBool reads
_VALUES = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True)
_VALUES |= dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False)


def read_gates(texts: Iterable[str]) -> dict[str, bool]:
    """The gates that are named, and what for; of one that is named more than once the last word counts."""
    given = dict(_read(pair) for pair in ",".join(texts).split(",") if pair.strip())
    for name, is_on in given.items():
        if is_on and (missing := _closed_need(name, given)):
            raise ConfigError(f"{_FLAG}: {name} is on, but needs {missing}, which is off")
    return given


def with_gates(settings: Settings, given: Mapping[str, bool]) -> Settings:
    """The settings with gates opened or closed.

    Of preemption only what is named changes: gangs that are finished while they are off may still evict others.
    """
    preemption = {field: given[name] for name, field in _PREEMPTION.items() if name in given}
    closed = DIALECTS if _is_off(_GANGS, given) else (SUBSETS,) if _is_off(POD_GROUP, given) else ()
    return msgspec.structs.replace(
        settings, preemption=msgspec.structs.replace(settings.preemption, **preemption), closed=closed
    )


def _is_off(name: str, given: Mapping[str, bool]) -> bool:
    return not given.get(name, True) or _closed_need(name, given) is not None


def _closed_need(name: str, given: Mapping[str, bool]) -> str | None:
    """What is off of the gates that this one needs, directly or not."""
    need = _NEEDS.get(name)
    if need is None:
        return None
    return _closed_need(need, given) if given.get(need, True) else need


def _read(pair: str) -> tuple[str, bool]:
    name, equals, value = (part.strip() for part in pair.partition("="))
    if name not in GATES:
        raise ConfigError(f"{_FLAG}: there is no gate '{name}'", hint="known are " + ", ".join(GATES))
    if not equals:
        raise ConfigError(f"{_FLAG}: {name} needs a value", hint=f"write it like {name}=false")
    if value not in _VALUES:
        raise ConfigError(f"{_FLAG}: {name} must be true or false, not '{value}'")
    return name, _VALUES[value]
