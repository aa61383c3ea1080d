"""Leader election by a Lease, with client-go's rules: two replicas, one acts."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec
import structlog

from muster.api.resources import LEASES
from muster.api.times import micro_stamp
from muster.base.errors import ApiError, KubeError, LeaseLost
from muster.kube.client import Client

_log = structlog.get_logger()


def since_boot() -> float:
    """Seconds on a clock that goes on while the process is stopped or the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(clock) if clock is not None else time.monotonic()


class _Spec(msgspec.Struct, rename="camel", omit_defaults=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct, rename="camel"):
    metadata: dict[str, Any]
    """As it came: what others wrote there goes back with it."""
    spec: _Spec = msgspec.field(default_factory=_Spec)
    api_version: str = LEASES.api_version
    kind: str = LEASES.kind

    @property
    def version(self) -> str:
        return str(self.metadata.get("resourceVersion", ""))


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds.  A lease not renewed for `duration` may be taken; its holder gives up after `renew_deadline`."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


class Lease:
    """One replica's view of the lease.

        waiting → held → (lost | released)

    Another holder's time runs from when we saw the lease change, by our own clock: the clocks of two machines are
    never compared.  `held` is true only while no other replica can have taken it.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        name: str,
        identity: str,
        timing: Timing | None = None,
        clock: Callable[[], float] = since_boot,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.identity = identity
        self.holder = ""
        """Who holds it, as far as we know."""
        self._client = client
        self._namespace = namespace
        self._name = name
        self._timing = timing or Timing()
        self._clock = clock
        self._wall = wall
        self._seen: _Lease | None = None
        self._seen_at = 0.0
        self._why = ""
        """What went wrong since the last renewal that succeeded."""
        self._released = False
        self._renewed_at: float | None = None
        """When the last renewal that succeeded was sent."""

    def held(self) -> bool:
        return self._left() > 0

    def _left(self) -> float:
        """Seconds for which it is certainly ours."""
        if self._renewed_at is None:
            return 0.0
        return max(0.0, self._renewed_at + self._timing.renew_deadline - self._clock())

    async def acquire(self) -> None:
        """Waits until the lease is ours."""
        told = ""
        while not await self.try_once():
            if self.holder and self.holder != told:
                told = self.holder
                _log.info("standing by, another replica leads", leader=told)
            await asyncio.sleep(self._timing.retry_period * random.uniform(1, 2.2))

    async def keep(self) -> NoReturn:
        """Renews the lease until that fails for too long or somebody else has it; then raises LeaseLost."""
        while True:
            await asyncio.sleep(self._timing.retry_period)
            try:
                async with asyncio.timeout(self._left()):
                    renewed = await self.try_once()
            except TimeoutError:
                renewed, self._why = False, self._why or "the server did not answer"
            if not renewed and self.holder != self.identity:
                raise self._lost(f"{self.holder or 'nobody'} holds it now")
            if not self.held():
                raise self._lost(f"it could not be renewed in time: {self._why}")

    async def try_once(self) -> bool:
        """Takes or renews the lease if that is possible now."""
        began = self._clock()
        try:
            current = await self._read()
            if self._released or not self._may_take(current):
                return False
            await self._write(current)
        except ApiError as error:
            if error.code in (401, 403, 404) and self._seen is None:
                raise KubeError(
                    f"the lease {self._namespace}/{self._name} cannot be used: {error.message}",
                    hint="leaderElection names it; --no-leader-elect does without, for a single replica",
                ) from error
            if error.code != 409:
                _log.warning("the lease was refused", error=error.message)
            # 409: somebody was faster
            self._why = error.message
            return False
        except KubeError as error:
            _log.warning("the lease cannot be reached", error=str(error))
            self._why = str(error)
            return False
        self._renewed_at, self._why = began, ""
        self.holder = self.identity
        return True

    async def release(self) -> None:
        """Gives the lease back, so that the next leader need not wait for it to run out."""
        if not self.held() or self._seen is None:
            return
        self._renewed_at, self._released = None, True
        try:
            await self._give_back(self._seen)
        except ApiError as error:
            # a renewal that was cut off may have arrived all the same
            await self._give_back_again(error)
        except KubeError as error:
            _log.info("the lease was not given back", error=str(error))

    async def _give_back(self, lease: _Lease) -> None:
        spec = lease.spec
        spec.holder_identity, spec.lease_duration_seconds = "", 1
        spec.renew_time = spec.acquire_time = micro_stamp(self._wall())
        await self._put(lease)

    async def _give_back_again(self, refused: ApiError) -> None:
        try:
            current = await self._read() if refused.code == 409 else None
            if current is None or current.spec.holder_identity != self.identity:
                raise refused
            await self._give_back(current)
        except KubeError as error:
            _log.info("the lease was not given back", error=str(error))

    # --- the object ---

    def _may_take(self, current: _Lease | None) -> bool:
        if current is None:
            return True
        if self._seen is None or current.version != self._seen.version:
            self._seen, self._seen_at = current, self._clock()
        self.holder = current.spec.holder_identity or ""
        if self.holder in ("", self.identity):
            return True
        return self._seen_at + self._timing.duration < self._clock()

    async def _read(self) -> _Lease | None:
        path = LEASES.path(self._namespace, self._name)
        try:
            data = await self._client.request("GET", path, seconds=self._patience)
        except ApiError as error:
            if error.code == 404:
                return None
            raise
        return _decode(data)

    async def _write(self, current: _Lease | None) -> None:
        now = micro_stamp(self._wall())
        spec = _Spec(
            holder_identity=self.identity,
            lease_duration_seconds=round(self._timing.duration),
            acquire_time=now,
            renew_time=now,
            lease_transitions=0,
        )
        if current is None:
            lease = _Lease({"name": self._name, "namespace": self._namespace}, spec)
            body = msgspec.json.encode(lease)
            data = await self._client.request("POST", LEASES.path(self._namespace), body=body, seconds=self._patience)
            self._saw(data)
            return
        spec.lease_transitions = current.spec.lease_transitions or 0
        if current.spec.holder_identity == self.identity:
            spec.acquire_time = current.spec.acquire_time
        else:
            spec.lease_transitions += 1
        await self._put(_Lease(current.metadata, spec))

    async def _put(self, lease: _Lease) -> None:
        """The resourceVersion in it makes sure that nobody wrote in between."""
        path = LEASES.path(self._namespace, self._name)
        self._saw(await self._client.request("PUT", path, body=msgspec.json.encode(lease), seconds=self._patience))

    def _saw(self, data: bytes) -> None:
        self._seen, self._seen_at = _decode(data), self._clock()

    @property
    def _patience(self) -> float:
        return self._timing.renew_deadline / 2

    def _lost(self, why: str) -> LeaseLost:
        self._renewed_at = None
        return LeaseLost(f"the lease {self._namespace}/{self._name} is lost: {why}")


def _decode(data: bytes) -> _Lease:
    try:
        return msgspec.json.decode(data, type=_Lease)
    except msgspec.DecodeError as error:
        raise KubeError(f"the server sent something that is no lease: {error}") from error
