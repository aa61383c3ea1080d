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

_PLUGIN_SECONDS = 60.0
# A renewal that failed is not tried again for this long while the old credential holds.
_RETRY_SECONDS = 10.0
# A plugin runs again this long before what it gave ends, or at a tenth of its life if that is shorter.
_RENEW_SECONDS = 60.0
_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


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
        timeout_seconds: float = _PLUGIN_SECONDS,
    ) -> None:
        """`cluster` is told to a plugin that wants it; certificates it gives are loaded into `context`."""
        if (problem := _problem(plugin)) is not None:
            why, hint = problem
            raise KubeconfigError(f"exec plugin {why}", file=source, hint=hint)
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
        """Why the last run failed; None once one succeeds."""

    async def headers(self) -> dict[str, str]:
        at = self._now()
        if self._held is not None and at < self._held.ends:
            if at >= self._renew_at:
                self._start()
            return dict(self._held.headers)
        held = await asyncio.shield(self._start())
        return dict(held.headers)

    def refused(self, sent: Mapping[str, str] | None = None) -> None:
        if self._held is not None and is_ours(self._held.headers, sent):
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
            return
        self.failure = error if isinstance(error, MusterError) else self._error(type(error).__name__)
        self._renew_at = self._now() + _RETRY_SECONDS
        if self._held is not None:
            # with nothing held whoever asked is told
            _log.warning("a credential is not renewed", error=str(self.failure), ends=stamp(self._held.ends))

    async def _renew(self) -> _Held:
        status = self._read(await self._output())
        at = self._now()
        ends = math.inf
        if status.expiration_timestamp:
            try:
                ends = seconds(status.expiration_timestamp)
            except MusterError:
                raise self._error("printed an expirationTimestamp that is no RFC 3339 time") from None
        if status.client_certificate_data:
            ends = min(ends, self._adopt(status))
        if ends <= at:
            raise self._error(
                "gave a credential that has already ended", hint="is this machine's clock right?", ended=stamp(ends)
            )
        headers = bearer(status.token.encode(), source=self._source) if status.token else {}
        self._held = _Held(headers, ends)
        self._renew_at = ends - min(_RENEW_SECONDS, (ends - at) / 10)
        return self._held

    def _adopt(self, status: _ExecStatus) -> float:
        """Loads the certificate; gives its end, since a plugin need not say it."""
        chain, key = (status.client_certificate_data or "").encode(), (status.client_key_data or "").encode()
        if self._context is not None:
            Certificate(chain=chain, key=key).load(self._context, source=self._source, now=self._now())
        ends = certificate_end(chain)
        return math.inf if ends is None else ends

    async def _output(self) -> bytes:
        """What the command prints.  If it takes too long or we are stopped, it is killed with all it started."""
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                self._plugin.command,
                *self._plugin.args,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._environ,
                # a session of its own has no terminal to ask for a password, and can be killed as a whole
                start_new_session=True,
            )
        )
        try:
            process = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # it may run already, and have started others
            with suppress(OSError, ValueError):
                await _kill(await starting)
            raise
        except (OSError, ValueError) as error:  # ValueError: a zero byte in an argument or a variable
            why, hint = f"cannot be run: {getattr(error, 'strerror', None) or 'bad argument'}", ""
            if isinstance(error, FileNotFoundError):
                why, hint = "is not installed", self._plugin.install_hint
            # not chained: the error may quote arguments
            raise self._error(why, hint=hint or "correct users[].user.exec.command, or install it") from None
        try:
            async with asyncio.timeout(self._timeout):
                output, errors = await process.communicate()
        except TimeoutError:
            raise self._error(f"did not end within {self._timeout:g} s") from None
        finally:
            await _kill(process)
        if process.returncode:
            raise self._error("failed", status=process.returncode, said=self._last_words(errors))
        return output

    def _read(self, output: bytes) -> _ExecStatus:
        try:
            credential = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.DecodeError, UnicodeDecodeError):
            # not chained: the cause may hold what was printed
            raise self._error("did not print an ExecCredential as JSON") from None
        if credential.kind != "ExecCredential" or credential.api_version != self._plugin.api_version:
            raise self._error(
                "printed something of another kind or version",
                hint="set users[].user.exec.apiVersion to what the plugin prints",
                expected=self._plugin.api_version,
            )
        status = credential.status
        if status is None or not (status.token or status.client_certificate_data):
            raise self._error("printed neither a token nor a certificate")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._error("printed a certificate without its key, or a key alone")
        return status

    def _last_words(self, errors: bytes) -> str:
        """The last line the plugin wrote to stderr, without the values that the kubeconfig sets for it."""
        lines = errors.decode(errors="replace").strip().splitlines()
        said = lines[-1].strip() if lines else ""
        for secret in [variable.value for variable in self._plugin.env] + list(self._plugin.args):
            if len(secret) >= 8:
                said = said.replace(secret, "***")
        return said

    def _error(self, message: str, *, hint: str | None = None, **fields: object) -> KubeconfigError:
        command = self._plugin.command
        hint = hint or f"run {Path(command).name} by hand as users[].user.exec says"
        return KubeconfigError(f"exec plugin {message}", command=command, file=self._source, hint=hint, **fields)


def _problem(plugin: Exec) -> tuple[str, str] | None:
    """Why a plugin cannot work here, and what to do about it."""
    if not plugin.command:
        return "has no command", "set users[].user.exec.command"
    if plugin.api_version not in _VERSIONS:
        return "has an apiVersion that is not supported", f"use one of {', '.join(_VERSIONS)}"
    if plugin.interactive_mode not in ("", "Never", "IfAvailable", "Always"):
        return "has an unknown interactiveMode", "use Never or IfAvailable"
    if plugin.interactive_mode == "Always":
        why = "has interactiveMode Always, but a scheduler has nobody to ask"
        return why, "use another user, or IfAvailable"
    return None


async def _kill(process: asyncio.subprocess.Process) -> None:
    """Ends a process that still runs, with all it started."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
