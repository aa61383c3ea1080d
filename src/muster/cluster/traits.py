"""Traits: what a plugin by users read of a pod, since that is what its answers depend on.

Pods of which all plugins read the same are of one class.  A trait is plain data: it can be compared, put into the
same order in every process, and written into a journal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from muster.api.wire import Pod
from muster.base.text import shown

__all__ = ["NO_TRAITS", "Trait", "TraitReader", "Traits", "Unread", "read_traits", "trait_of"]


class Unread(msgspec.Struct, frozen=True, gc=False):
    """A plugin failed to read the pod; whoever asks it about pods of this class is told so."""

    error: str


Trait = str | int | float | bool | tuple["Trait", ...] | Unread

Traits = tuple[tuple[str, Trait], ...]
"""By plugin, in the profile's order; plugins that the pod does not concern are not there."""

NO_TRAITS: Traits = ()

# no subclasses: what numpy has for text cannot be written into a journal
_PLAIN = (str, int, float, bool)


class TraitReader(Protocol):
    """Who reads pods."""

    name: str
    """The plugin's."""
    is_shown: bool
    """Other pods are judged by where pods with such traits are; else only nodes are, by a pod's own trait."""

    def read(self, pod: Pod) -> object:
        """A trait, or None for a pod that does not concern the plugin; never raises."""


def read_traits(readers: Sequence[TraitReader], pod: Pod) -> Traits:
    found = ((reader.name, reader.read(pod)) for reader in readers)
    return tuple((plugin, _checked(trait)) for plugin, trait in found if trait is not None)


def trait_of(traits: Traits, plugin: str) -> Trait | None:
    """The plugin's own; None if the pods do not concern it."""
    return next((trait for name, trait in traits if name == plugin), None)


def _checked(trait: object) -> Trait:
    if isinstance(trait, Unread):
        return trait
    try:
        if _is_plain(trait):
            # numbers of more than 64 bits and half characters cannot be
            msgspec.msgpack.encode(trait)
            return _canonical(trait)
        return Unread(f"gave {shown(trait, repr)[:80]}, which is no text, number or tuple of such")
    except Exception as error:
        return Unread(f"gave a {type(trait).__name__} that cannot be kept: {shown(error)}")


def _canonical(trait: Any) -> Trait:
    """Of what counts as equal always the same: who came first must not decide which a plugin is shown."""
    if isinstance(trait, tuple):
        return tuple(map(_canonical, trait))
    return trait if isinstance(trait, str) or trait != int(trait) else int(trait)


def _is_plain(trait: object) -> bool:
    if type(trait) is tuple:
        return all(map(_is_plain, trait))
    # what is no number, or without end, equals nothing, or others that it is not
    return type(trait) in _PLAIN and (type(trait) is not float or math.isfinite(trait))
