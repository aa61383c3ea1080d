"""One request for what only some kinds have below their objects, and what answers it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from muster.local.kinds.registry import Registry, Served
from muster.local.objects.objects import Objects, Source
from muster.local.schema.decoding import GroupVersionKind
from muster.local.serve.routes import Route
from muster.local.serve.special.tokens import Tokens
from muster.local.serve.wire import Answer, Request


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request for a subresource."""

    objects: Objects
    request: Request
    registry: Registry
    served: Served
    route: Route
    source: Source
    tokens: Tokens

    @property
    def place(self) -> tuple[Served, str, str]:
        return self.served, self.route.namespace, self.route.name


class Subresource(msgspec.Struct, frozen=True, kw_only=True):
    """What it is called, which methods it takes, and what answers them."""

    name: str
    methods: tuple[str, ...]
    answer: Callable[[Call], Answer]
    verbs: tuple[str, ...] = ()
    """As discovery tells them; () if it does not."""
    kind: GroupVersionKind | None = None
    """Of what is sent or answered; None if that is the object itself."""
