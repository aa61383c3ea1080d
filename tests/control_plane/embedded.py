"""The embedded API server in the place of a control plane, for tests that are written for one."""

import contextlib
import tempfile
from pathlib import Path

from muster.base.errors import ApiError
from muster.local.process.identity import Identity
from tests.local.processes import Server


class Embedded:
    """Takes requests as a ControlPlane does."""

    def __init__(self, server):
        self._api = server.api()
        self._kubeconfig = Identity(server.folder).write_kubeconfig(server.port)

    def kubeconfig(self, *_):
        return self._kubeconfig

    def request(self, method, path, body=None, *, content_type="application/json"):
        answer = self._api.ask(method, path, body, content_type=content_type)
        if answer.code >= 400:
            raise ApiError(str(answer.body.get("message")), code=answer.code, reason=str(answer.body.get("reason")))
        return answer.body

    def close(self):
        self._api.close()

    def kubectl(self, *words):
        """Only to say what went wrong."""
        return " ".join(words)


@contextlib.contextmanager
def embedded():
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(Path(folder) / "data", "--ephemeral") as server,
        contextlib.closing(Embedded(server)) as plane,
    ):
        yield plane
