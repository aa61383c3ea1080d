"""A way to the API server that can be cut, stalled and closed.  TLS goes through it untouched."""

import asyncio
import weakref
from pathlib import Path

import yaml

from tests.control_plane.in_thread import InThread

_PIECE = 65_536


class CuttingProxy(InThread):
    """Listens on a port of 127.0.0.1 for as long as the `with` block lasts, in a thread of its own.

    The server's certificate is for 127.0.0.1, whatever the port, so clients that verify it are content.
    """

    def __init__(self, server):
        super().__init__()
        self._target = int(server.rsplit(":", 1)[1])
        self._pairs = set()
        self._transports = weakref.WeakSet()
        self._tasks = set()
        self._refusing = False
        self._flowing = asyncio.Event()
        self._heard = asyncio.Event()
        self.port = 0

    def kubeconfig(self, original, path):
        """A copy of a kubeconfig that goes through here."""
        document = yaml.safe_load(Path(original).read_text())
        for cluster in document["clusters"]:
            cluster["cluster"]["server"] = f"https://127.0.0.1:{self.port}"
        path = Path(path)
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(document))
        return path

    @property
    def connections(self):
        return len(self._pairs)

    def cut(self):
        """Resets every connection that is open; how many there were."""
        return self._do(self._cut())

    def stall(self):
        """Connections stay open, and new ones are taken; nothing comes through, in no direction."""
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def flow(self):
        """What was held back comes through."""
        self._loop.call_soon_threadsafe(self._flowing.set)

    def deafen(self):
        """What clients send comes through; what the server answers does not."""
        self._loop.call_soon_threadsafe(self._heard.clear)

    def hear(self):
        self._loop.call_soon_threadsafe(self._heard.set)

    def refuse(self, refusing=True):
        """New connections are closed at once."""
        self._refusing = refusing

    # --- in its thread ---

    async def _start(self):
        self._flowing.set()
        self._heard.set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self):
        self._refusing = True
        self._flowing.set()
        self._heard.set()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await self._cut()
            await asyncio.wait(others, timeout=0.1)
        # a server that closes while a connection is being accepted would lose that one: here none is
        self._server.close()
        for transport in self._transports:
            # closed ones may still have something to send to somebody who does not read
            transport.abort()
        # aborted transports are closed in the next turn
        await asyncio.sleep(0)

    async def _cut(self):
        pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            for writer in pair:
                writer.transport.abort()
        return len(pairs)

    def _accept(self, reader, writer):
        self._transports.add(writer.transport)
        if self._refusing:
            # no task: clients that never rest would keep the end waiting
            writer.transport.abort()
            return
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._transports.add(far_writer.transport)
        pair = (writer, far_writer)
        self._pairs.add(pair)
        await asyncio.gather(
            self._pass_on(reader, far_writer, self._flowing),
            self._pass_on(far_reader, writer, self._flowing, self._heard),
        )
        self._pairs.discard(pair)

    async def _pass_on(self, reader, writer, *gates):
        try:
            while piece := await reader.read(_PIECE):
                for gate in gates:
                    await gate.wait()
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()
