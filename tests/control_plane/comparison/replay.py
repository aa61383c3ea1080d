"""Sends the script to a server, and notes what it answers."""

from __future__ import annotations

import base64
import contextlib
import datetime
import http.client
import json
import re
import ssl
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.control_plane.comparison.normalise import Normaliser
from tests.control_plane.comparison.steps import Step

HEADERS = ("Content-Type", "Retry-After", "Warning")
AGENT = "comparison/1.0"
_SECONDS = 20.0
_PATIENCE_SECONDS = 30.0
_PAUSE_SECONDS = 0.1
_ENOUGH = (3 << 20) + (128 << 10)
_PLACE = re.compile(r"\$\{([\w.-]+)\}")


@dataclass(frozen=True)
class Answer:
    """What a server said to a step, comparable with what another one said."""

    step: Step
    code: int
    headers: dict[str, list[str]]
    body: Any


class _Raw(NamedTuple):
    """What came over the wire; code 0 if nothing did."""

    code: int
    headers: Message
    data: bytes


def replay(kubeconfig: Path, script: Iterable[Step]) -> list[Answer]:
    """Every step in its order, also those that others do while a watch is open."""
    with contextlib.closing(_Client(kubeconfig)) as client:
        return [answer for step in script for answer in client.take(step)]


class _Client:
    """One connection, and what was kept of the answers on it."""

    def __init__(self, kubeconfig: Path) -> None:
        document = yaml.safe_load(kubeconfig.read_text())
        cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        self._host = cluster["server"].removeprefix("https://")
        self._token = user.get("token", "")
        self._trust = _context(cluster, {})
        self._context = _context(cluster, user)
        self._connection = self._connected()
        self._normaliser = Normaliser(datetime.datetime.now(datetime.UTC))
        self._kept: dict[str, str] = {}

    def close(self) -> None:
        self._connection.close()

    def take(self, step: Step) -> Iterator[Answer]:
        if step.during:
            yield from self._watch(step)
            return
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            raw = self._ask(step)
            done = raw.code == step.code and step.until.encode() in raw.data
            if done or not step.patient or time.monotonic() > deadline:
                break
            time.sleep(_PAUSE_SECONDS)
        yield self._answer(step, raw)

    def _watch(self, step: Step) -> Iterator[Answer]:
        """On a connection of its own, answered after what is done meanwhile."""
        connection = self._connected()
        try:
            self._send(connection, step)
            response = connection.getresponse()
            for inner in step.during:
                yield from self.take(inner)
            yield self._answer(step, _Raw(response.status, response.headers, response.read()))
        finally:
            connection.close()

    def _ask(self, step: Step) -> _Raw:
        if step.token:
            with contextlib.closing(http.client.HTTPSConnection(self._host, context=self._trust)) as stranger:
                return self._exchange(stranger, step)
        try:
            return self._exchange(self._connection, step)
        finally:
            if self._connection.sock is None:
                self._connection = self._connected()

    def _exchange(self, connection: http.client.HTTPSConnection, step: Step) -> _Raw:
        try:
            self._send(connection, step)
            response = connection.getresponse()
            raw = _Raw(response.status, response.headers, response.read())
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            return _Raw(0, Message(), f"no answer: {error!r}".encode())
        if response.will_close:
            connection.close()
        return raw

    def _send(self, connection: http.client.HTTPSConnection, step: Step) -> None:
        headers = {"User-Agent": AGENT, "Accept": step.accept}
        if token := step.token or self._token:
            headers["Authorization"] = f"Bearer {token}"
        body = self._body(step.body)
        if body is not None and step.content_type:
            headers["Content-Type"] = step.content_type
        if body is not None:
            # of what is too large, no more than it takes to see that: the server stops reading there
            headers["Content-Length"], body = str(len(body)), body[:_ENOUGH]
        connection.request(step.method, self._filled(step.path), body=body, headers=headers)

    def _connected(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self._host, context=self._context, timeout=_SECONDS)

    def _body(self, body: object) -> bytes | None:
        if body is None or isinstance(body, bytes):
            return body
        text = body if isinstance(body, str) else json.dumps(body)
        return self._filled(text).encode()

    def _filled(self, text: str) -> str:
        return _PLACE.sub(lambda found: self._kept[found[1]], text)

    def _answer(self, step: Step, raw: _Raw) -> Answer:
        body = _decoded(raw, is_watch="watch=" in step.path or "/watch/" in step.path)
        self._keep(step, body)
        headers = {name: [self._normaliser.text(one) for one in raw.headers.get_all(name, [])] for name in HEADERS}
        return Answer(step, raw.code, headers, self._normalised(body))

    def _normalised(self, body: Any) -> Any:
        if isinstance(body, str):
            return self._normaliser.text(body)
        return self._normaliser.events(body) if isinstance(body, list) else self._normaliser.document(body)

    def _keep(self, step: Step, body: Any) -> None:
        for name, path in step.keep.items():
            value = body
            for part in path.split("."):
                try:
                    value = value[int(part)] if isinstance(value, list) else value[part]
                except (KeyError, IndexError, TypeError):
                    # what goes wrong here shows in the answer; the steps that build on it show where they fail
                    value = f"no-{name}"
                    break
            self._kept[name] = str(value)
            self._normaliser.keep(name, str(value))


def _decoded(raw: _Raw, *, is_watch: bool) -> Any:
    """A document, a list of them for a watch, or text."""
    content_type = raw.headers.get("Content-Type", "")
    if content_type.startswith("application/json"):
        if is_watch and raw.code == 200:
            return [json.loads(line) for line in raw.data.splitlines()]
        with contextlib.suppress(ValueError):
            return json.loads(raw.data)
    if content_type.startswith("application/yaml"):
        return yaml.load(raw.data, Loader=_Plain)
    return raw.data.decode(errors="replace")


class _Plain(yaml.SafeLoader):
    """Times stay text, as they are in JSON."""


_Plain.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _context(cluster: dict[str, str], user: dict[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    with _file(cluster, "certificate-authority") as authority:
        context.load_verify_locations(authority)
    if any(key.startswith("client-certificate") for key in user):
        with _file(user, "client-certificate") as certificate, _file(user, "client-key") as key:
            context.load_cert_chain(certificate, key)
    return context


@contextlib.contextmanager
def _file(fields: dict[str, str], key: str) -> Iterator[str]:
    if key in fields:
        yield fields[key]
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(base64.b64decode(fields[f"{key}-data"]))
        file.flush()
        yield file.name
