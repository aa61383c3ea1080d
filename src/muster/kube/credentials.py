"""Who we are to a cluster: tokens, token files, client certificates and exec plugins.

Whatever can change while the scheduler runs is looked at again when it is asked for: files at most once a minute,
plugins a little before what they gave ends.  Nothing here prints a secret, in errors or in a repr.
"""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, Protocol

import msgspec

from muster.api.times import seconds, stamp
from muster.base.errors import KubeconfigError, MusterError
from muster.kube.kubeconfig import Exec

__all__ = [
    "Certificate",
    "CertificateFiles",
    "Credentials",
    "ExecPlugin",
    "Fixed",
    "Together",
    "TokenFile",
    "basic",
    "bearer",
    "certificate_end",
]

# as client-go: kubelets renew projected tokens when a fifth of their life, 12 minutes as a rule, is left
REREAD_SECONDS = 60.0
PLUGIN_SECONDS = 60.0
# A renewal that failed is not tried again for this long while the old credential holds.
RETRY_SECONDS = 10.0
# A plugin runs again this long before what it gave ends, or at a tenth of its life if that is shorter.
RENEW_SECONDS = 60.0
EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


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
        # the clock may be set back
        if not self._headers or not 0 <= self._now() - self._read_at < REREAD_SECONDS:
            # a kilobyte, in a pod from memory: not worth a thread
            try:
                self._headers = self._read()
            except KubeconfigError:
                if not self._headers:
                    raise
            self._read_at = self._now()
        return dict(self._headers)

    def refused(self, sent: Mapping[str, str] | None = None) -> None:
        if _is_ours(self._headers, sent):
            self._headers = {}

    def _read(self) -> dict[str, str]:
        return bearer(read_file(self._path, what="token file", source=self._source), source=self._source)


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
        self._looked_at: float | None = now()
        self._load()

    async def headers(self) -> dict[str, str]:
        at = self._now()
        if self._looked_at is None or not 0 <= at - self._looked_at < REREAD_SECONDS:
            self._looked_at = at
            state = self._state()
            if state != self._seen:
                # half-written files are as good as none; they change once more when they are whole
                with suppress(KubeconfigError):
                    self._load()
                    self._seen = state
        return {}

    def refused(self, sent: Mapping[str, str] | None = None) -> None:
        self._looked_at = None

    def _state(self) -> list[tuple[int, int] | None]:
        return [_state_of(path) for path in (self._certificate, self._key)]

    def _load(self) -> None:
        found = Certificate(
            chain=read_file(self._certificate, what="client certificate", source=self._source),
            key=read_file(self._key, what="client key", source=self._source),
        )
        found.load(self._context, source=self._source, now=self._now())


class _Held(msgspec.Struct, frozen=True):
    """What a plugin gave."""

    headers: dict[str, str]
    ends: float
    """Seconds since the epoch; infinity if the plugin named no end."""

    def __repr__(self) -> str:
        return "_Held(...)"


class _ExecStatus(msgspec.Struct, frozen=True, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None

    def __repr__(self) -> str:
        return "_ExecStatus(...)"


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _ExecStatus | None = None


class ExecPlugin:
    """Credentials that a command prints.

    nothing → running → held → (running, still held) → held …; a refusal leads back to nothing.
    One process runs at a time, whoever asks; those who can be served with what is held do not wait for it, and it goes
    on when the one who asked gives up.  It gets no terminal and no input: it cannot ask a daemon anything.
    """

    __slots__ = (
        "_context",
        "_environ",
        "_held",
        "_now",
        "_plugin",
        "_renew_at",
        "_run",
        "_source",
        "_timeout",
        "failure",
    )

    def __init__(
        self,
        plugin: Exec,
        *,
        source: str,
        cluster: Mapping[str, Any] | None = None,
        context: ssl.SSLContext | None = None,
        environ: Mapping[str, str] = os.environ,
        now: Callable[[], float] = time.time,
        timeout_seconds: float = PLUGIN_SECONDS,
    ) -> None:
        """`cluster` is told to a plugin that wants it; certificates it gives are loaded into `context`."""
        _check_plugin(plugin, source)
        self._plugin = plugin
        self._source = source
        self._context = context
        self._now = now
        self._timeout = timeout_seconds
        spec: dict[str, Any] = {"interactive": False}
        if plugin.provide_cluster_info:
            spec["cluster"] = dict(cluster or {})
        info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
        self._environ = {
            **environ,
            **{variable.name: variable.value for variable in plugin.env},
            "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode(),
        }
        self._held: _Held | None = None
        self._renew_at = 0.0
        self._run: asyncio.Task[_Held] | None = None
        self.failure: MusterError | None = None
        """Why the last renewal failed; None once one succeeds.  Shown nowhere while what is held is good."""

    async def headers(self) -> dict[str, str]:
        at = self._now()
        if self._held is not None and at < self._held.ends:
            if at >= self._renew_at:
                self._start()
            return dict(self._held.headers)
        held = await asyncio.shield(self._start())
        return dict(held.headers)

    def refused(self, sent: Mapping[str, str] | None = None) -> None:
        if self._held is not None and _is_ours(self._held.headers, sent):
            self._held = None

    def _start(self) -> asyncio.Task[_Held]:
        if self._run is None:
            self._run = asyncio.create_task(self._renew(), name="exec plugin")
            self._run.add_done_callback(self._ended)
        return self._run

    def _ended(self, run: asyncio.Task[_Held]) -> None:
        self._run = None
        if run.cancelled():
            return
        error = run.exception()  # asked for in any case: a renewal that nobody waits for may fail
        if error is None:
            self.failure = None
        else:
            self.failure = error if isinstance(error, MusterError) else self._error(type(error).__name__)
            self._renew_at = self._now() + RETRY_SECONDS

    async def _renew(self) -> _Held:
        status = self._read(await self._output())
        at = self._now()
        ends = float("inf")
        if status.expiration_timestamp:
            try:
                ends = seconds(status.expiration_timestamp)
            except MusterError:
                self._fail("printed an expirationTimestamp that is no RFC 3339 time")
        if status.client_certificate_data:
            ends = min(ends, self._adopt(status))
        if ends <= at:
            self._fail(
                "gave a credential that has already ended", hint="is this machine's clock right?", ended=stamp(ends)
            )
        headers = bearer(status.token.encode(), source=self._source) if status.token else {}
        self._held = _Held(headers, ends)
        self._renew_at = ends - min(RENEW_SECONDS, (ends - at) / 10) if ends != float("inf") else ends
        return self._held

    def _adopt(self, status: _ExecStatus) -> float:
        """Loads the certificate; gives its end, since a plugin need not say it."""
        chain, key = (status.client_certificate_data or "").encode(), (status.client_key_data or "").encode()
        if self._context is not None:
            Certificate(chain=chain, key=key).load(self._context, source=self._source, now=self._now())
        ends = certificate_end(chain)
        return float("inf") if ends is None else ends

    async def _output(self) -> bytes:
        """What the command prints.  If it takes too long or we are stopped, it is killed with all it started."""
        try:
            process = await asyncio.create_subprocess_exec(
                self._plugin.command,
                *self._plugin.args,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._environ,
                # a session of its own has no terminal to ask for a password, and can be killed as a whole
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a zero byte in an argument or a variable
            missing = isinstance(error, FileNotFoundError)
            why = (
                "is not installed"
                if missing
                else f"cannot be run: {getattr(error, 'strerror', None) or 'bad argument'}"
            )
            hint = self._plugin.install_hint if missing else ""
            # not chained: the error may quote arguments
            raise self._error(why, hint=hint or "correct users[].user.exec.command, or install it") from None
        try:
            async with asyncio.timeout(self._timeout):
                output, errors = await process.communicate()
        except TimeoutError:
            self._fail(f"did not end within {self._timeout:g} s", hint=self._by_hand())
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode:
            self._fail("failed", hint=self._by_hand(), status=process.returncode, said=self._last_words(errors))
        return output

    def _read(self, output: bytes) -> _ExecStatus:
        try:
            credential = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.DecodeError, UnicodeDecodeError):
            # not chained: the cause may hold what was printed
            raise self._error("did not print an ExecCredential as JSON", hint=self._by_hand()) from None
        if credential.kind != "ExecCredential" or credential.api_version != self._plugin.api_version:
            self._fail(
                "printed something of another kind or version",
                hint="set users[].user.exec.apiVersion to what the plugin prints",
                expected=self._plugin.api_version,
            )
        status = credential.status
        if status is None or not (status.token or status.client_certificate_data):
            self._fail("printed neither a token nor a certificate", hint=self._by_hand())
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            self._fail("printed a certificate without its key, or a key alone", hint=self._by_hand())
        return status

    def _last_words(self, errors: bytes) -> str:
        """The last line the plugin wrote to stderr, without the values that the kubeconfig sets for it."""
        lines = errors.decode(errors="replace").strip().splitlines()
        said = lines[-1].strip() if lines else ""
        for secret in [variable.value for variable in self._plugin.env] + list(self._plugin.args):
            if len(secret) >= 8:
                said = said.replace(secret, "***")
        return said

    def _by_hand(self) -> str:
        return f"run {Path(self._plugin.command).name} by hand as users[].user.exec says"

    def _error(self, message: str, *, hint: str | None = None, **fields: object) -> KubeconfigError:
        return KubeconfigError(
            f"exec plugin {message}", command=self._plugin.command, file=self._source, hint=hint, **fields
        )

    def _fail(self, message: str, *, hint: str | None = None, **fields: object) -> NoReturn:
        raise self._error(message, hint=hint, **fields)


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
                    mismatch = error.reason == "KEY_VALUES_MISMATCH"
                    what = (
                        "client key is not the one of the certificate"
                        if mismatch
                        else "client certificate or key is broken"
                    )
                    raise KubeconfigError(what, file=source, hint=hint) from error


@contextmanager
def _as_file(pem: bytes) -> Iterator[str]:
    """A file only we can read, gone at the end: OpenSSL's loader takes no bytes."""
    with tempfile.NamedTemporaryFile(prefix="muster-") as file:  # mode 0600
        file.write(pem)
        file.flush()
        yield file.name


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


def _state_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


def _is_ours(held: Mapping[str, str], sent: Mapping[str, str] | None) -> bool:
    return sent is None or sent.get("Authorization") == held.get("Authorization")


def _check_plugin(plugin: Exec, source: str) -> None:
    def fail(message: str, hint: str) -> NoReturn:
        raise KubeconfigError(f"exec plugin {message}", file=source, hint=hint)

    if not plugin.command:
        fail("has no command", "set users[].user.exec.command")
    if plugin.api_version not in EXEC_VERSIONS:
        fail("has an apiVersion that is not supported", f"use one of {', '.join(EXEC_VERSIONS)}")
    if plugin.interactive_mode not in ("", "Never", "IfAvailable", "Always"):
        fail("has an unknown interactiveMode", "use Never or IfAvailable")
    if plugin.interactive_mode == "Always":
        fail("has interactiveMode Always, but a scheduler has nobody to ask", "use another user, or IfAvailable")
