"""A server in memory, asked without sockets; time stands still unless a test moves it."""

import itertools
import json
from urllib.parse import parse_qsl

from muster.local.kinds import rows
from muster.local.process.cluster import make_server
from muster.local.serve.wire import Answer, Request
from muster.local.store.store import Store

TOKEN = "secret"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
STRATEGIC = "application/strategic-merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Chance:
    """Time that tests move, and names in order."""

    def __init__(self):
        self.time = 1_700_000_000.0
        self._numbers = itertools.count(1)

    def now(self):
        return self.time

    def uid(self):
        return f"00000000-0000-4000-8000-{next(self._numbers):012d}"

    def suffix(self):
        return f"{next(self._numbers):05d}"


class Served:
    """`answer` is what the server says; `ask` is its body, which must have the code that is expected."""

    def __init__(self, store=None, *, kinds=rows.ROWS, refused=None):
        self.chance = Chance()
        self.store = store or Store()
        self.server = make_server(self.store, self.chance, token=TOKEN, kinds=kinds, refused=refused)

    def answer(self, method, path, body=None, *, content_type="application/json", accept="", token=TOKEN, agent="test"):
        path, _, query = path.partition("?")
        return self.server.handle(
            Request(
                method=method,
                path=path,
                query=tuple(parse_qsl(query, keep_blank_values=True)),
                body=body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode(),
                content_type=content_type if body is not None else "",
                accept=accept,
                user_agent=agent,
                token=token,
            )
        )

    def ask(self, method, path, body=None, *, code=200, **options):
        answer = self.answer(method, path, body, **options)
        assert isinstance(answer, Answer), "a stream"
        document = json.loads(answer.body) if answer.body[:1] in (b"{", b"[") else answer.body.decode()
        assert answer.code == code, document
        return document

    def refused(self, method, path, body=None, *, code, **options):
        """The message of a refusal."""
        return self.ask(method, path, body, code=code, **options)["message"]

    def get(self, path):
        return self.ask("GET", path)

    def create(self, path, body):
        return self.ask("POST", path, body, code=201)

    def merge(self, path, body):
        return self.ask("PATCH", path, body, content_type=MERGE)

    def watch(self, path, **query):
        pairs = "&".join(f"{name}={value}" for name, value in {"watch": "1", **query}.items())
        return Watched(self.answer("GET", f"{path}?{pairs}"))


class Watched:
    def __init__(self, stream):
        self.stream = stream

    def events(self):
        """(type, name) of what has come since this was last asked."""
        return [(event["type"], event["object"].get("metadata", {}).get("name", "")) for event in self.whole()]

    def whole(self):
        return [json.loads(line) for line in self.stream.take().splitlines()]


PODS = "/api/v1/namespaces/default/pods"
CONFIG = "/api/v1/namespaces/default/configmaps"
GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"


def pod(name, *, labels=None, **spec):
    meta = {"name": name, "labels": labels or {}}
    return {"metadata": meta, "spec": {"containers": [{"name": "main", "image": "x"}], **spec}}
