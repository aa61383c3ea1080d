"""Something asynchronous that serves in a thread of its own for as long as a `with` block lasts."""

import asyncio
import threading


class InThread:
    """`_start` and `_stop` run in its event loop."""

    def __init__(self):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=type(self).__name__, daemon=True)

    def __enter__(self):
        self._thread.start()
        self._do(self._start())
        return self

    def __exit__(self, *_):
        self._do(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)
