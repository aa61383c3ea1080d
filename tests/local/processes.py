"""The embedded cluster as people start it: `muster up` and its API server, each in a process of its own."""

import base64
import contextlib
import http.client
import itertools
import json
import os
import selectors
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import yaml

MUSTER = [sys.executable, "-m", "muster"]
PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.02
_numbers = itertools.count(1)


class Process:
    """A process with its output in files; in a session of its own, as if started in a terminal of its own.

    full   Nothing more can be written to its standard error.
    """

    def __init__(
        self, command, folder, *, stdin=subprocess.DEVNULL, stdout=None, environment=None, directory=None, full=False
    ):
        folder.mkdir(parents=True, exist_ok=True)
        number = next(_numbers)
        self._said, self._complained = folder / f"stdout-{number}.txt", folder / f"stderr-{number}.txt"
        if full:
            self._complained = Path("/dev/full")
        with self._said.open("wb") as said, self._complained.open("wb") as complained:
            self._popen = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=said if stdout is None else stdout,
                stderr=complained,
                start_new_session=True,
                env={**os.environ, **(environment or {})},
                cwd=directory,
            )
        self.pid = self._popen.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def said(self):
        return self._said.read_text()

    @property
    def complaints(self):
        """Lines on standard error."""
        return self._complained.read_text().splitlines()

    @property
    def is_running(self):
        return self._popen.poll() is None

    def send(self, number):
        os.kill(self.pid, number)

    def wait(self, seconds=PATIENCE_SECONDS):
        """Its exit status."""
        return self._popen.wait(seconds)

    def stop(self, number=signal.SIGTERM):
        self.send(number)
        return self.wait()

    def kill(self):
        """At once; no harm if it has ended."""
        self._popen.kill()
        self._popen.wait()
        for stream in (self._popen.stdin, self._popen.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


class Up(Process):
    """`muster up`; ready when made."""

    def __init__(self, folder, *flags, wait=True, **options):
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        super().__init__(
            [*MUSTER, "up", "--dir", str(folder), *flags], folder.with_name(f"{folder.name}-out"), **options
        )
        if wait:
            try:
                until(lambda: "Muster is up" in self.said or not self.is_running, "muster up did not start")
                assert self.is_running, self.complaints
            except BaseException:
                self.kill()
                raise

    @property
    def server_pids(self):
        """Its API server's."""
        return children(self.pid)

    def api(self, **options):
        return Api.of(self.kubeconfig, **options)


class Server(Process):
    """The API server alone; unless told otherwise, it serves when made."""

    def __init__(self, folder, *flags, port=0, wait=True, environment=None, full=False):
        self.folder = folder
        command = [sys.executable, "-m", "muster.local", str(folder), "--port", str(port), *flags]
        out = folder.with_name(f"{folder.name}-out")
        pipe = subprocess.PIPE
        super().__init__(command, out, stdin=pipe, stdout=pipe, environment=environment, full=full)
        if wait:
            line = _line(self._popen.stdout)
            if not line:
                self.kill()
                raise AssertionError(self.complaints)
            self.port = int(line)

    def close_input(self):
        self._popen.stdin.close()

    def api(self, **options):
        token = (self.folder / "token").read_text()
        return Api(self.port, token=token, authority=(self.folder / "ca.crt").read_text(), **options)


def _line(stream):
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        assert selector.select(PATIENCE_SECONDS), "the API server says nothing"
    return stream.readline()


# --- talking to it ---


class Answered(NamedTuple):
    code: int
    body: object
    """Decoded if it is JSON."""
    headers: http.client.HTTPMessage


class Api:
    """Asks an API server over TLS, on one connection that is kept."""

    def __init__(self, port, *, token, authority, timeout=PATIENCE_SECONDS):
        self.port = port
        self.token = token
        self.context = ssl.create_default_context(cadata=authority)
        self._timeout = timeout
        self._connection = self.connection()

    @classmethod
    def of(cls, kubeconfig, **options):
        document = yaml.safe_load(Path(kubeconfig).read_text())
        cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        return cls(int(cluster["server"].rpartition(":")[2]), token=user["token"], authority=authority, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._connection.close()

    def connection(self, timeout=None):
        """Another one."""
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, context=self.context, timeout=timeout or self._timeout
        )

    def headers(self, **more):
        return {
            "Authorization": f"Bearer {self.token}",
            **{name.replace("_", "-"): text for name, text in more.items()},
        }

    def ask(self, method, path, body=None, *, content_type="application/json", **headers):
        """What comes back, whatever it is."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if data is not None:
            headers["Content_Type"] = content_type
        self._connection.request(method, path, body=data, headers=self.headers(**headers))
        response = self._connection.getresponse()
        raw = response.read()
        is_json = "json" in response.headers.get("Content-Type", "")
        return Answered(response.status, json.loads(raw) if is_json and raw else raw, response.headers)

    def request(self, method, path, body=None, **options):
        """The body of an answer that must be a success."""
        answer = self.ask(method, path, body, **options)
        assert answer.code < 300, (method, path, answer.code, answer.body)
        return answer.body

    def get(self, path):
        return self.request("GET", path)

    @contextlib.contextmanager
    def watch(self, path, *, timeout=None, **query):
        """A Watch, on a connection of its own."""
        pairs = "&".join(f"{name}={quote(str(value))}" for name, value in {"watch": 1, **query}.items())
        connection = self.connection(timeout)
        try:
            connection.request("GET", f"{path}?{pairs}", headers=self.headers())
            response = connection.getresponse()
            assert response.status == 200, response.read()
            yield Watch(connection, response)
        finally:
            connection.close()


class Watch:
    """Events as they come; iterating ends when the server ends it or the connection breaks."""

    def __init__(self, connection, response):
        self.socket = connection.sock
        self._response = response

    def __iter__(self):
        for line in self._response:
            yield json.loads(line)

    def next(self):
        return next(iter(self))

    def rest(self):
        """All that comes until the server ends it; raises IncompleteRead if it does not end as it should."""
        return [json.loads(line) for line in self._response.read().splitlines()]


# --- waiting and looking ---


def until(condition, complaint, *, seconds=PATIENCE_SECONDS):
    """What the condition is once it is something."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, complaint() if callable(complaint) else complaint
        time.sleep(_POLL_SECONDS)
    return found


def children(pid):
    """Processes that this one has started."""
    return [int(child) for child, parent, _ in _processes() if int(parent) == pid]


def is_alive(pid):
    return any(int(one) == pid and not state.startswith("Z") for one, _, state in _processes())


def _processes():
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True)
    return [line.split() for line in listed.stdout.splitlines()]
