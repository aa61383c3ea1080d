"""Kinds of resources, by their names, as upstream tells them apart."""

from __future__ import annotations

_EVERYWHERE = ("cpu", "memory", "ephemeral-storage")
_NATIVE = "kubernetes.io/"


def is_extended(resource: str) -> bool:
    """One that somebody else brought to Kubernetes, a device for example."""
    return "/" in resource and _NATIVE not in resource and not resource.startswith("requests.")


def is_scalar(resource: str) -> bool:
    """One that counts in scores only for pods that ask for it."""
    return is_extended(resource) or _NATIVE in resource or resource.startswith(("hugepages-", "attachable-volumes-"))


def is_counted(resource: str) -> bool:
    """Whether scores know it at all; they do not know how many pods there may be."""
    return resource in _EVERYWHERE or is_scalar(resource)
