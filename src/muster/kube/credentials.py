"""Who we are to a cluster: what is sent with each request, fixed or from a file that someone else renews.

Client certificates are in `certificates`, commands that print credentials in `exec_plugin`.  Whatever can change while
the scheduler runs is looked at again when it is asked for.  Nothing here prints a secret, in errors or in a repr.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from muster.base.errors import KubeconfigError

__all__ = ["Credentials", "Fixed", "Together", "TokenFile", "basic", "bearer", "is_due", "is_ours", "read_file"]

# as client-go: kubelets renew projected tokens when a fifth of their life, 12 minutes as a rule, is left
_REREAD_SECONDS = 60.0


class Credentials(Protocol):
    """What is sent with each request, as of now."""

    async def headers(self) -> dict[str, str]:
        """The headers to send, renewed when due; {} for certificates only.  The dict is the caller's to change."""

    def refused(self, sent: Mapping[str, str] | None = None) -> None:
        """The server answered 401: what is cached is not served again.

        `sent` are the headers of the refused request; with them an answer that comes late, to a credential that has
        been replaced since, costs nothing.  Connections made with an old client certificate keep it: close them.
        """


class Fixed:
    """Headers that never change."""

    __slots__ = ("_headers",)

    def __init__(self, headers: Mapping[str, str] | None = None) -> None:
        self._headers = dict(headers or {})

    async def headers(self) -> dict[str, str]:
        return dict(self._headers)

    def refused(self, sent: Mapping[str, str] | None = None) -> None:
        pass


class Together:
    """Several at once, such as a client certificate and impersonation; later ones win."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[Credentials]) -> None:
        self._parts = tuple(parts)

    async def headers(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for part in self._parts:
            found |= await part.headers()
        return found

    def refused(self, sent: Mapping[str, str] | None = None) -> None:
        for part in self._parts:
            part.refused(sent)


class TokenFile:
    """A token in a file that someone else renews.

    Read at most once a minute, and at once after a refusal.  A file that cannot be read does no harm while the token
    read before was not refused.
    """

    __slots__ = ("_headers", "_now", "_path", "_read_at", "_source")

    def __init__(self, path: Path, *, source: str, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._source = source
        self._now = now
        self._headers = self._read()
        self._read_at = now()

    async def headers(self) -> dict[str, str]:
        if not self._headers or is_due(self._read_at, now=self._now()):
            # a kilobyte, in a pod from memory: not worth a thread
            try:
                self._headers = self._read()
            except KubeconfigError:
                if not self._headers:
                    raise
            self._read_at = self._now()
        return dict(self._headers)

    def refused(self, sent: Mapping[str, str] | None = None) -> None:
        if is_ours(self._headers, sent):
            self._headers = {}

    def _read(self) -> dict[str, str]:
        return bearer(read_file(self._path, what="token file", source=self._source), source=self._source)


def bearer(token: bytes, *, source: str) -> dict[str, str]:
    """The header for a token; blanks around it are dropped."""
    try:
        text = token.decode("ascii").strip()
    except UnicodeDecodeError:
        text = " "
    # a line end inside would end the header
    if not text or not text.isprintable() or " " in text:
        what = "token is empty" if not text else "token has characters that no token has"
        raise KubeconfigError(what, file=source, hint="get a new token")
    return {"Authorization": f"Bearer {text}"}


def basic(username: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()}


def read_file(path: Path, *, what: str, source: str) -> bytes:
    """The content of a file that the kubeconfig names."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise KubeconfigError(
            f"{what} {path} cannot be read: {error.strerror}", file=source, hint="it must be a file you may read"
        ) from error


def is_due(looked_at: float, *, now: float) -> bool:
    """Whether to look at a file again: after a minute, or if the clock was set back."""
    return not 0 <= now - looked_at < _REREAD_SECONDS


def is_ours(held: Mapping[str, str], sent: Mapping[str, str] | None) -> bool:
    """Whether a refusal of what was `sent` is one of what is `held`; see `Credentials.refused`."""
    return sent is None or sent.get("Authorization") == held.get("Authorization")
