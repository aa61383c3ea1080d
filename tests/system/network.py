"""What carries requests between processes and the API server's core: a stand-in for aiohttp's session, and its faults.

The real client runs above it as it is.  A request goes there, is done, and its answer comes back, each at its own time;
whoever stops waiting in between, or dies, changes nothing of what is on its way.  A request that left arrives within
`SLACK_SECONDS` or never: from what arrives later no lease can protect a cluster (by default it lasts 15 s, and its
holder stops writing 10 s after the last renewal).
"""

import asyncio
import errno
from collections import Counter
from contextvars import copy_context
from http import HTTPStatus
from random import Random
from urllib.parse import unquote

import aiohttp
import msgspec
from aiohttp.client_reqrep import ConnectionKey

from muster.kube.client import Client, ask_first
from muster.local.serve.wire import Answer, Request

SLACK_SECONDS = 2.5
_GATHER_SECONDS = 0.002
_LONGEST_WATCH_SECONDS = 3600.0

_encode = msgspec.json.encode
_KEY = ConnectionKey("sim", 443, True, True, None, None, None)

# (fault, the trouble it belongs to, how likely it is in a world that has this trouble)
_FATES = (
    ("refused", "refused", 0.06),
    ("reset before", "resets", 0.06),
    ("answer lost", "lost answers", 0.12),
    ("body cut", "resets", 0.02),
    ("twice", "repeats", 0.08),
    ("429", "busy", 0.12),
    ("500", "errors", 0.03),
    ("503", "errors", 0.04),
    ("504", "errors", 0.03),
    ("504 but done", "errors", 0.04),
    ("409", "conflicts", 0.08),
    ("401", "unauthorized", 0.03),
    ("403", "unauthorized", 0.01),
    ("slow connection", "slow connections", 0.08),
    ("no answer", "time-outs", 0.015),
    ("no answer but done", "time-outs", 0.015),
)
TROUBLES = {
    "refused": 0.25,
    "resets": 0.3,
    "lost answers": 0.35,
    "repeats": 0.25,
    "busy": 0.25,
    "errors": 0.25,
    "conflicts": 0.25,
    "unauthorized": 0.08,
    "time-outs": 0.15,
    "slow": 0.4,
    "slow lists": 0.25,
    "slow connections": 0.2,
    "cut watches": 0.5,
    "short watches": 0.15,
    "lagging watches": 0.35,
    "stalled watches": 0.2,
    "events": 0.1,
}
_REFUSALS = {
    "429": (429, "TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    "500": (500, "InternalError", "Internal error occurred: context canceled"),
    "503": (503, "ServiceUnavailable", "apiserver is shutting down"),
    "504": (504, "Timeout", "Timeout: request did not complete within the allotted duration"),
    "401": (401, "Unauthorized", "Unauthorized"),
    "403": (
        403,
        "Forbidden",
        'pods "x" is forbidden: User "muster" cannot create resource "pods/binding" in API group ""',
    ),
    "denied": (403, "Forbidden", 'admission webhook "policy.sim" denied the request: not now'),
    "409": (
        409,
        "Conflict",
        'Operation cannot be fulfilled on pods "x": the object has been modified; please apply your changes to the '
        "latest version and try again",
    ),
}


class Link:
    """One process' way to the server, from its start to its death."""

    def __init__(self, name, number):
        self.name = name
        self.number = number
        """How often this process was started."""
        self.alive = True
        self.cut = False
        """Nothing goes through, in either direction."""
        self.plans = {}
        """By what is sent ("bind", "delete", ...): how many more times, and what then happens to the process:
        it dies "before" or "after", has to "stop", or is "frozen" before it is sent."""
        self.frozen = None
        """While the process is stopped: what it has to do when it goes on."""
        self.tasks = {}
        self.connecting = {}
        """Calls that are not on their way yet..."""
        self.calls = {}
        """...that are..."""
        self.pipes = {}
        """...and what came of them if they are watches."""
        self.process = None

    def __str__(self):
        return f"{self.name}.{self.number}"


class Network:
    """Everything between processes and the server of one cluster."""

    def __init__(self, cluster, *, rng, mood):
        self._cluster = cluster
        self._rng = rng
        self.mood = mood
        self.up = True
        self.calm = False
        """From now on nothing fails."""
        self.observers = []
        """Told what is sent, handed to the server, and answered."""
        self.seen = Counter()
        self.links = []
        self._fates = [(fault, likely) for fault, trouble, likely in _FATES if trouble in mood]
        self._context = copy_context()
        """Of nobody: what is on its way goes on whatever happens to processes."""

    def later(self, seconds, action, *arguments):
        return asyncio.get_running_loop().call_later(seconds, action, *arguments, context=self._context)

    # --- faults ---

    def count(self, fault):
        self.seen[f"faults: {fault}"] += 1
        self.seen["faults"] += 1

    def fate(self, call):
        """What becomes of a call; "" for nothing special."""
        # one of its many questions that fails makes a discovery begin anew: the collector would have nothing to collect
        if self.calm or not self._fates or (call.kind == "discovery" and self._rng.random() < 0.9):
            return ""
        chance = self._rng.random()
        for fault, likely in self._fates:
            chance -= likely
            if chance < 0:
                if fault in ("409", "403", "twice", "504 but done") and call.request.method == "GET":
                    return ""
                if fault in ("twice", "answer lost", "no answer but done", "504 but done", "body cut") and call.watches:
                    return ""
                if fault == "403" and call.kind != "bind":
                    return ""
                self.count(fault)
                return fault
        return ""

    def delay(self):
        """How long something takes one way."""
        if self.calm or "slow" not in self.mood or self._rng.random() < 0.6:
            return 0.001 + 0.004 * self._rng.random()
        self.count("slow")
        return self._rng.choice((0.02, 0.1, 0.5, SLACK_SECONDS - 0.1))

    def long_wait(self):
        return self._rng.choice((0.2, 1.0, 4.0, 8.0))

    # --- the server's life ---

    def take_down(self, *, ends):
        """All connections are cut; if the server's process ends, another one starts with what it kept."""
        self.count("server restarts" if ends else "server out of reach")
        self.up = False
        self._cluster.server.watches.close()
        for link in self.links:
            for pipe in list(link.pipes):
                pipe.break_off()
            for call in list(link.calls):
                call.break_off()
        if ends:
            self._cluster.restart()

    def bring_up(self):
        self.up = True

    # --- processes ---

    def attach(self, link):
        self.links.append(link)

    def detach(self, link):
        """The process is dead: nothing reaches it, nothing more leaves it; what is on its way may arrive."""
        link.alive = False
        self.links.remove(link)
        for pipe in list(link.pipes):
            pipe.close()
        for call in list(link.calls):
            if self._rng.random() < 0.5:
                call.lost = True

    def partition(self, link, *, cut):
        link.cut = cut
        if cut:
            self.count("partitions")
            return
        for pipe in list(link.pipes):
            if self._rng.random() < 0.5:
                pipe.break_off()
            else:
                pipe.hear()

    def stall(self, link, seconds):
        """Nothing comes through the watches of a process."""
        for pipe in list(link.pipes):
            self.count("watches stalled")
            pipe.stall(seconds)

    def cut_watches(self):
        """Every watch that is open ends."""
        for link in self.links:
            for pipe in list(link.pipes):
                self.count("watches cut")
                pipe.break_off()

    # --- carrying ---

    def arrives(self, call):
        """The request is there: the server does it, unless something stands before it."""
        if call.lost or call.link.cut:
            return
        if not self.up:
            call.fails(aiohttp.ServerDisconnectedError())
            return
        code = call.fate[:3]
        if code in _REFUSALS and call.fate != "504 but done":
            self._answers(call, _refusal(code, self._rng))
            return
        if call.kind == "bind" and self._is_denied(call):
            self.count("denials")
            self._answers(call, _refusal("denied", self._rng))
            return
        answer = self.hand_over(call)
        if call.fate == "twice":
            # somebody in between sends it once more, before anybody has an answer
            answer = self._rng.choice((answer, self.hand_over(call)))
        if call.fate == "504 but done":
            answer = _refusal("504", self._rng)
        self._answers(call, answer)

    def _is_denied(self, call):
        """Somebody's policy denies binds of some pods, for a while or until the trouble is over."""
        if "denials" not in self.mood or self.calm:
            return False
        pod = Random(call.request.path)
        return pod.random() < 0.25 and asyncio.get_running_loop().time() < pod.choice((10.0, 30.0, 1e9))

    def hand_over(self, call):
        for observer in self.observers:
            observer.arrives(call)
        if call.kind == "event" and "events" not in self.mood:
            # nobody reads them, and they are many
            answer = Answer(code=201, body=b"{}")
        else:
            answer = self._cluster.server.handle(call.request)
        for observer in self.observers:
            observer.done(call, answer)
        if call.plan == "after":
            call.link.process.kill()
        return answer

    def _answers(self, call, answer):
        self.later(self.delay(), self._is_back, call, answer)

    def _is_back(self, call, answer):
        if call.link.cut or call.lost:
            _close(answer)
        elif call.fate.startswith("no answer"):
            pass
        elif call.fate == "answer lost":
            call.fails(aiohttp.ClientOSError(errno.ECONNRESET, "Connection reset by peer"))
        elif not call.answers(answer):
            _close(answer)


def _close(answer):
    if not isinstance(answer, Answer):
        answer.close()


def _refusal(code, rng):
    number, reason, message = _REFUSALS[code]
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message}
    status["code"] = number
    retry_after = rng.choice((1, 1, 3)) if code == "429" else None
    return Answer(code=number, body=_encode(status), retry_after=retry_after)


class Call:
    """One request on its way, until its answer is back or nobody waits for it."""

    def __init__(self, network, link, request):
        self.network = network
        self.link = link
        self.request = request
        self.watches = request.first("watch") == "true"
        self.kind = _kind(request)
        self.lost = False
        """It will not arrive, or its answer will not."""
        self.fate = network.fate(self)
        self.code = 0
        """Of the answer that the process got."""
        self.plan = self._planned()
        """What happens to its process."""
        if self.plan == "stop" and "errors" in network.mood:
            # the worst moment for that: it will have to be tried again
            self.fate = "503"
        self._future = None

    async def send(self, timeout):
        """The server's answer; raises as aiohttp does."""
        network, link = self.network, self.link
        if self.plan == "stop":
            link.process.stop()
        elif self.plan == "frozen":
            link.process.freeze(12.0)
        link.connecting[self] = True
        for observer in network.observers:
            observer.begins(self)
        try:
            await self._connect(timeout)
        finally:
            del link.connecting[self]
        ask_first()
        if self.plan == "before":
            link.process.kill()
            raise aiohttp.ClientOSError(errno.EPIPE, "the process is dead")
        loop = asyncio.get_running_loop()
        self._future = loop.create_future()
        link.calls[self] = True
        for observer in network.observers:
            observer.leaves(self)
        try:
            if self.fate == "reset before":
                network.later(network.delay(), self.fails, aiohttp.ServerDisconnectedError())
            elif self.fate != "no answer":
                network.later(network.delay(), network.arrives, self)
            answer = await self._future
            if self.fate != "body cut":
                self.code = getattr(answer, "code", 200)
            return answer
        finally:
            link.calls.pop(self, None)
            for observer in network.observers:
                observer.over(self)

    async def _connect(self, timeout):
        if not self.link.alive:
            raise aiohttp.ClientOSError(errno.EPIPE, "the process is dead")
        await asyncio.sleep(0)
        if self.link.cut:
            await asyncio.sleep(timeout.sock_connect or 10.0)
            raise aiohttp.ConnectionTimeoutError(f"Connection timeout to host {self.request.path}")
        if not self.network.up or self.fate == "refused":
            await asyncio.sleep(0.001)
            raise aiohttp.ClientConnectorError(_KEY, OSError(errno.ECONNREFUSED, "Connect call failed"))
        if self.fate == "slow connection":
            await asyncio.sleep(self.network.long_wait())
        if not self.link.alive:
            raise aiohttp.ClientOSError(errno.EPIPE, "the process is dead")

    def _planned(self):
        if self.kind not in self.link.plans:
            return ""
        times, plan = self.link.plans.pop(self.kind)
        if times > 1:
            self.link.plans[self.kind] = (times - 1, plan)
            return ""
        self.network.count(f"{plan} at a {self.kind}")
        return plan

    def answers(self, answer):
        """Whether anybody still waits for it."""
        if self._future is None or self._future.done():
            return False
        self._future.set_result(answer)
        return True

    def fails(self, error):
        if self._future is not None and not self._future.done():
            self._future.set_exception(error)

    def break_off(self):
        self.lost = True
        self.network.later(0.001, self.fails, aiohttp.ServerDisconnectedError())


def _kind(request):
    """What a request is about, as far as deaths and rules want to know."""
    path, method = request.path, request.method
    if "/leases" in path:
        return "lease" if method != "GET" else "read"
    if method == "GET":
        return "discovery" if path == "/api/v1" or (path.startswith("/apis") and path.count("/") < 4) else "read"
    if path.endswith("/binding"):
        return "bind"
    if method == "DELETE":
        return "delete"
    if "/events" in path:
        return "event"
    if "/podgroups/" in path:
        return "group"
    return "condition" if path.endswith("/status") else "other"


# --- what the client sees ---


class SimClient(Client):
    """The real client, but for what carries its requests."""

    def __init__(self, connection, *, network, link, user_agent):
        super().__init__(connection, user_agent=user_agent)
        self._network = network
        self._link = link

    def _open_session(self):
        return _Session(self._network, self._link, self._user_agent)


class _Session:
    def __init__(self, network, link, user_agent):
        self._network = network
        self._link = link
        self._user_agent = user_agent

    def request(self, method, url, *, data, headers, timeout, proxy, server_hostname, allow_redirects):
        request = Request(
            method=method,
            path=unquote(url.raw_path),
            query=tuple(url.query.items()),
            body=data or b"",
            content_type=headers.get("Content-Type", ""),
            accept="application/json",
            user_agent=self._user_agent,
            token=headers.get("Authorization", "").removeprefix("Bearer "),
        )
        return _Exchange(self._network, self._link, request, timeout)

    async def close(self):
        pass


class _Exchange:
    def __init__(self, network, link, request, timeout):
        self._network = network
        self._link = link
        self._request = request
        self._timeout = timeout
        self._response = None

    async def __aenter__(self):
        timeout = self._timeout
        ends = None if timeout.total is None else asyncio.get_running_loop().time() + timeout.total
        async with asyncio.timeout_at(ends):
            call = Call(self._network, self._link, self._request)
            first = timeout.sock_read if timeout.total is None else None
            async with asyncio.timeout(first):
                answer = await call.send(timeout)
        if isinstance(answer, Answer):
            self._response = _Response(call, answer, ends)
        else:
            self._response = _Watching(call, answer, timeout.sock_read)
        return self._response

    async def __aexit__(self, *_):
        if self._response is not None:
            self._response.close()


class _Response:
    def __init__(self, call, answer, ends):
        self.status = answer.code
        self.reason = HTTPStatus(answer.code).phrase
        self.headers = {} if answer.retry_after is None else {"Retry-After": str(answer.retry_after)}
        self._call = call
        self._answer = answer
        self._ends = ends

    async def read(self):
        network = self._call.network
        async with asyncio.timeout_at(self._ends):
            if self._call.fate == "body cut":
                await asyncio.sleep(network.delay())
                raise aiohttp.ClientPayloadError("Response payload is not completed")
            if self._call.kind == "read" and not network.calm and "slow lists" in network.mood:
                network.count("slow lists")
                await asyncio.sleep(network.delay() * 3)
        return self._answer.body

    def close(self):
        pass


class _Watching:
    """A watch as the client reads it."""

    status = 200
    reason = "OK"

    def __init__(self, call, stream, silence):
        self.headers = {}
        self.content = self
        self._pipe = _Pipe(call, stream)
        self._silence = silence

    async def iter_any(self):
        while True:
            piece = await self._pipe.read(self._silence)
            if piece is None:
                return
            yield piece

    def close(self):
        self._pipe.close()


class _Pipe:
    """The bytes of one watch: gathered at the server, on their way, read."""

    def __init__(self, call, stream):
        self._network = network = call.network
        self._link = call.link
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._pieces = []
        self._filled = asyncio.Event()
        self._error = None
        self._ended = False
        self._closed = False
        self.coming = False
        self._stalled_until = 0.0
        self._link.pipes[self] = True
        stream.on_ready = self.hear
        self._timers = [self._network.later(stream.seconds or _LONGEST_WATCH_SECONDS, self._end)]
        if not network.calm:
            self._plan_trouble()
        self.hear()

    def _plan_trouble(self):
        rng, mood = self._network._rng, self._network.mood
        if "cut watches" in mood and rng.random() < 0.5:
            self._timers.append(self._network.later(rng.uniform(0, 40), self._trouble, "watches cut", self.break_off))
        if "short watches" in mood and rng.random() < 0.5:
            self._timers.append(
                self._network.later(rng.choice((0.0, 0.5, 5.0)), self._trouble, "watches ended", self._end)
            )
        if "stalled watches" in mood and rng.random() < 0.3:
            self._timers.append(self._network.later(rng.uniform(0, 30), self._trouble, "watches stalled", self._stall))

    def _trouble(self, fault, happen):
        if not self._network.calm and not self._closed:
            self._network.count(fault)
            happen()

    def _stall(self):
        self.stall(self._network._rng.choice((3.0, 15.0, 60.0)))

    def stall(self, seconds):
        self._stalled_until = self._loop.time() + seconds

    @property
    def stalled(self):
        return self._loop.time() < self._stalled_until

    def hear(self):
        """Something has gathered at the server."""
        if self.coming or self._closed:
            return
        self.coming = True
        network, wait = self._network, _GATHER_SECONDS
        if not network.calm and "lagging watches" in network.mood and network._rng.random() < 0.3:
            network.count("watches lag")
            wait += network._rng.choice((0.05, 0.5, 2.0, 6.0))
        self._network.later(wait, self._comes)

    def _comes(self):
        self.coming = False
        if self._closed or self._ended or self._link.cut:
            return
        now = self._loop.time()
        if now < self._stalled_until and not self._network.calm:
            self.coming = True
            self._network.later(min(1.0, self._stalled_until - now), self._comes)
            return
        while data := self._stream.take():
            self._put(data)
        if self._stream.ended:
            self._end()

    def _put(self, data):
        if len(data) > 1 and not self._network.calm and self._network._rng.random() < 0.2:
            # where a piece ends means nothing
            at = self._network._rng.randrange(1, len(data))
            self._pieces += [data[:at], data[at:]]
        else:
            self._pieces.append(data)
        self._filled.set()

    def _end(self):
        self._ended = True
        self._stream.close()
        self._filled.set()

    def break_off(self):
        self._error = aiohttp.ClientPayloadError("Response payload is not completed")
        self._end()

    async def read(self, silence):
        """The next piece; None at the end."""
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self._ended:
                return None
            self._filled.clear()
            try:
                async with asyncio.timeout(silence):
                    await self._filled.wait()
            except TimeoutError:
                raise aiohttp.SocketTimeoutError("Timeout on reading data from socket") from None
        return self._pieces.pop(0)

    def close(self):
        if not self._closed:
            self._closed = True
            self._stream.close()
            self._link.pipes.pop(self, None)
            for timer in self._timers:
                timer.cancel()
