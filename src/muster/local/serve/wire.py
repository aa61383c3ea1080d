"""What goes in and out of the server: requests, answers, streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TEXT = "text/plain; charset=utf-8"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request, whole."""

    method: str
    path: str
    """Without the query, decoded."""
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    content_type: str = ""
    accept: str = ""
    user_agent: str = ""
    host: str = ""
    """By which the client reached the server."""
    token: str = ""
    """Of the Authorization header."""
    acts_as: str = ""
    """Whom the client wants to be taken for."""

    def first(self, name: str, default: str = "") -> str:
        """The first value of a parameter."""
        return next((value for key, value in self.query if key == name), default)

    def every(self, name: str) -> list[str]:
        return [value for key, value in self.query if key == name]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP answer, whole."""

    code: int
    body: bytes
    content_type: str = JSON
    warnings: tuple[str, ...] = ()
    retry_after: int | None = None


class Stream(Protocol):
    """An answer that goes on: frames are taken as they gather.

    Whoever sends sets `on_ready`, takes until there is nothing more whenever it is called, and closes the stream when
    the other side has gone or `seconds` have passed.
    """

    on_ready: Callable[[], None]
    content_type: str
    seconds: float | None
    """How long the client wants it to go on; None if it did not say."""

    def take(self) -> bytes:
        """The next piece of what is to be sent; nothing if there is no more by now."""

    @property
    def ended(self) -> bool:
        """Nothing more will come: the server has cut it, because it was too slow or too old."""

    def close(self) -> None: ...
