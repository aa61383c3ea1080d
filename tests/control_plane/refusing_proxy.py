"""A way to the API server on which some binds are refused, as somebody's admission policy would."""

import base64
import ssl
from pathlib import Path

import aiohttp
import yaml
from aiohttp import web

from tests.control_plane.in_thread import InThread

# of the connection, not of what it carries
_HOP = {"connection", "content-length", "host", "keep-alive", "transfer-encoding"}


class RefusingProxy(InThread):
    """Listens on a port of 127.0.0.1 for as long as the `with` block lasts, in a thread of its own.

    No pod of the name `refused` can be bound through here; everything else comes through.
    """

    def __init__(self, kubeconfig, *, refused):
        super().__init__()
        self._kubeconfig = yaml.safe_load(Path(kubeconfig).read_text())
        cluster = self._kubeconfig["clusters"][0]["cluster"]
        self._server, self._authority = cluster["server"], cluster["certificate-authority-data"]
        self._ending = f"/pods/{refused}/binding"

    def kubeconfig(self, path):
        """A kubeconfig that goes through here."""
        self._kubeconfig["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{self._port}"}
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(self._kubeconfig))
        return path

    # --- in its thread ---

    async def _start(self):
        authority = base64.b64decode(self._authority).decode()
        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=authority), limit=0)
        self._session = aiohttp.ClientSession(
            connector=connector, auto_decompress=False, timeout=aiohttp.ClientTimeout()
        )
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self._pass_on)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._port = self._runner.addresses[0][1]

    async def _stop(self):
        await self._runner.cleanup()
        await self._session.close()

    async def _pass_on(self, request):
        if request.path.endswith(self._ending):
            message = "ValidatingAdmissionPolicy 'unlucky' with binding 'unlucky' denied request: unlucky"
            status = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422}
            return web.json_response({**status, "message": message}, status=422)
        url, body, headers = f"{self._server}{request.raw_path}", await request.read(), _carried(request.headers)
        async with self._session.request(request.method, url, data=body, headers=headers) as answer:
            response = web.StreamResponse(status=answer.status, headers=_carried(answer.headers))
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            await response.write_eof()
            return response


def _carried(headers):
    return {name: value for name, value in headers.items() if name.lower() not in _HOP}
