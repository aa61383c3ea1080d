"""Credentials that a command prints: `users[].user.exec` of a kubeconfig."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import structlog

from muster.api.times import seconds, stamp
from muster.base.errors import KubeconfigError, MusterError
from muster.kube.certificates import Certificate, certificate_end
from muster.kube.credentials import bearer, is_ours
from muster.kube.kubeconfig import Exec

__all__ = ["ExecPlugin"]

_log = structlog.get_logger()

PLUGIN_SECONDS = 60.0
# A renewal that failed is not tried again for this long while the old credential holds.
RETRY_SECONDS = 10.0
# A plugin runs again this long before what it gave ends, or at a tenth of its life if that is shorter.
RENEW_SECONDS = 60.0
EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


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
