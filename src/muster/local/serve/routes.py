"""Paths: what a request is about."""

from __future__ import annotations

from urllib.parse import unquote

import msgspec

_OF_NAMESPACES = ("status", "finalize")
"""What may follow the name of a namespace and is not a kind."""


def group_of(path: str) -> str | None:
    """The group of a path that names a version, whatever follows; None for any other path."""
    match path.strip("/").split("/"):
        case ["api", _, *_]:
            return ""
        case ["apis", group, _, *_]:
            return group
    return None


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A path under /api or /apis that names a kind."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watch: bool = False
    """The old way to ask for a watch: /api/v1/watch/..."""


def parse(path: str) -> Route | None:
    """None for a path that names no kind."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if len(parts) >= 3 and parts[:2] == ["api", "v1"]:
        group, version, rest = "", "v1", parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    watch = rest[0] == "watch" and len(rest) > 1
    if watch:
        rest = rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and (group or rest[2] not in _OF_NAMESPACES):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3 or not all(rest):
        return None
    plural, name, subresource = (*rest, "", "")[:3]
    return Route(
        group=group,
        version=version,
        plural=plural,
        namespace=namespace,
        name=name,
        subresource=subresource,
        watch=watch,
    )
