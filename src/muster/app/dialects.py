"""The kinds that dialects need of a cluster: which of them Muster brings, and who brings the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from muster.base.errors import ConfigError
from muster.gangs.dialects import CUSTOM, DIALECTS, LABELS, NATIVE

__all__ = ["NAMES", "brought_by_others", "chosen", "folder"]

NAMES: Final = tuple(dialect.name for dialect in DIALECTS)

_OTHERS = {
    NATIVE.name: "Kubernetes serves its kinds where they are switched on: API scheduling.k8s.io/v1beta1, gate "
    "GenericWorkload",
    LABELS.name: "labels of pods say everything, it has no kinds",
    "volcano": "Volcano brings its kinds itself, and Muster reads them",
    "kai": "KAI brings its kinds itself, and Muster reads them",
}


def chosen(names: Iterable[str]) -> tuple[str, ...]:
    """The same, each once; raises ConfigError if one is no dialect."""
    found = tuple(dict.fromkeys(names))
    for name in found:
        if name not in NAMES:
            raise ConfigError(f"{name!r} is no dialect", hint=f"choose from {', '.join(sorted(NAMES))}")
    return found


def folder(name: str) -> str:
    """Where in deploy/ the kinds of a dialect are defined; "" if nowhere."""
    if name == CUSTOM.name:
        return "crds"
    return "" if name in (NATIVE.name, LABELS.name) else f"dialects/{name}"


def brought_by_others(name: str) -> str:
    """Why Muster brings no kinds of the dialect to a real cluster; "" if it does."""
    return _OTHERS.get(name, "")
