"""Client certificates: checked before they are used, loaded again when their files change, and when they end."""

from __future__ import annotations

import math
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import msgspec

from muster.api.times import seconds, stamp
from muster.base.errors import KubeconfigError, MusterError
from muster.kube.credentials import is_due, read_file

__all__ = ["Certificate", "CertificateFiles", "certificate_end"]


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """A client certificate with the ones that lead up to its authority, and its private key; both PEM."""

    chain: bytes
    key: bytes

    def __repr__(self) -> str:
        return "Certificate(...)"

    def load(self, context: ssl.SSLContext, *, source: str, now: float) -> None:
        """Makes handshakes from now on use it.  A certificate that cannot be used leaves the context as it was."""
        hint = f"correct the user in {source}"
        if b"-----BEGIN CERTIFICATE-----" not in self.chain:
            raise KubeconfigError("client certificate is not PEM", file=source, hint=hint)
        if b"PRIVATE KEY-----" not in self.key:
            raise KubeconfigError("client key is not PEM", file=source, hint=hint)
        ends = certificate_end(self.chain)
        if ends is not None and ends <= now:
            raise KubeconfigError(
                "client certificate has expired",
                file=source,
                expired=stamp(ends),
                hint="get a new one, then start again",
            )

        def password() -> NoReturn:  # without it OpenSSL asks on the terminal
            raise KubeconfigError("client key is encrypted", file=source, hint="store it decrypted, with mode 0600")

        with _as_file(self.chain) as chain, _as_file(self.key) as key:
            # OpenSSL drops what a context had before it finds that the new does not fit: try on a fresh one first
            for target in (ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), context):
                try:
                    target.load_cert_chain(chain, key, password=password)
                except ssl.SSLError as error:
                    what = "client certificate or key is broken"
                    if error.reason == "KEY_VALUES_MISMATCH":
                        what = "client key is not the one of the certificate"
                    raise KubeconfigError(what, file=source, hint=hint) from error


class CertificateFiles:
    """A client certificate in files that someone else renews; changed files are loaded into the context.

    Looked at as often as a token file.  Files that cannot be used do no harm: the certificate loaded before stays.
    """

    __slots__ = ("_certificate", "_context", "_key", "_looked_at", "_now", "_seen", "_source")

    def __init__(
        self,
        certificate: Path,
        key: Path,
        *,
        context: ssl.SSLContext,
        source: str,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._certificate = certificate
        self._key = key
        self._context = context
        self._source = source
        self._now = now
        self._seen = self._state()
        self._looked_at = now()
        self._load()

    async def headers(self) -> dict[str, str]:
        at = self._now()
        if is_due(self._looked_at, now=at):
            self._looked_at = at
            state = self._state()
            if state != self._seen:
                # half-written files are as good as none; they change once more when they are whole
                with suppress(KubeconfigError):
                    self._load()
                    self._seen = state
        return {}

    def refused(self, sent: Mapping[str, str] | None = None) -> None:
        self._looked_at = -math.inf

    def _state(self) -> list[tuple[int, int] | None]:
        return [_state_of(path) for path in (self._certificate, self._key)]

    def _load(self) -> None:
        found = Certificate(
            chain=read_file(self._certificate, what="client certificate", source=self._source),
            key=read_file(self._key, what="client key", source=self._source),
        )
        found.load(self._context, source=self._source, now=self._now())


def certificate_end(pem: bytes) -> float | None:
    """When the first certificate ends, in seconds since the epoch; None if that cannot be seen.

    Reads just as much DER as it takes, for the standard library has nothing public that tells.
    """
    try:
        text = pem.decode("ascii", "ignore")
        text = text[text.index("-----BEGIN CERTIFICATE-----") :]
        text = text[: text.index("-----END CERTIFICATE-----") + 25]
        der = ssl.PEM_cert_to_DER_cert(text)
        certificate, _ = _der(der, 0)
        position, _ = _der(der, certificate)
        if der[position] == 0xA0:  # the version, which may be left out
            position = _der(der, position)[1]
        for _field in ("serial", "algorithm", "issuer"):
            position = _der(der, position)[1]
        validity, _ = _der(der, position)
        _, ends_at = _der(der, validity)
        digits, end = _der(der, ends_at)
        when = der[digits:end].decode("ascii").removesuffix("Z")
    except (ValueError, IndexError):
        return None
    if der[ends_at] == 0x17:  # UTCTime has two digits for the year, and RFC 5280 the turn of the century
        when = ("20" if when < "50" else "19") + when
    try:
        return seconds(f"{when[:8]}T{when[8:]}Z")
    except MusterError:
        return None


def _der(data: bytes, at: int) -> tuple[int, int]:
    """Where the content of the element at `at` begins, and where it ends."""
    length, start = data[at + 1], at + 2
    if length & 0x80:
        size = length & 0x7F
        length, start = int.from_bytes(data[start : start + size]), start + size
    return start, start + length


@contextmanager
def _as_file(pem: bytes) -> Iterator[str]:
    """A file only we can read, gone at the end: OpenSSL's loader takes no bytes."""
    with tempfile.NamedTemporaryFile(prefix="muster-") as file:  # mode 0600
        file.write(pem)
        file.flush()
        yield file.name


def _state_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino
