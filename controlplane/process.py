"""One process of a control plane: started, hurt on purpose, ended whatever happens to who started it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from muster.base.errors import KubeError

START_SECONDS = 90
POLL_SECONDS = 0.05
_LOG_LINES = 15


class PlaneError(KubeError):
    """The control plane, or a program of it, did not do what was asked; the log's end is in the notes."""


class PortTaken(PlaneError):
    """Another process took the port between our choice and the program's start."""


class Process:
    """One program of the plane.

    running ⇄ paused;  running | paused → ended → running.  A restart is on the same ports and the same data.
    """

    def __init__(self, command: Sequence[str], *, log: Path, ready: Callable[[], bool], guardian: Guardian) -> None:
        self.command = tuple(command)
        self.name = Path(command[0]).name
        self.log = log
        self._ready = ready
        self._guardian = guardian
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Paused counts as running, as it does for the kernel."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._running().pid

    def start(self) -> None:
        """Start it and wait until it is ready."""
        if self.running:
            raise PlaneError(f"{self.name} runs already")
        with self.log.open("ab") as log:
            begin = log.tell()
            # a session of its own: Ctrl-C in the terminal is for the tests, which then stop it in order
            self._process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._guardian.watch(self._process.pid)
        try:
            self._wait_ready(begin)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """End it at once, without a chance to say goodbye; no harm if it has ended."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._guardian.forget(self._process.pid)
        self._process = None

    def pause(self) -> None:
        """Stop it in its tracks: connections stay open, nothing is answered."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._running().send_signal(signal.SIGCONT)

    def restart(self) -> None:
        self.kill()
        self.start()

    def wait_ready(self) -> None:
        """Until it is ready again, for instance after `resume`."""
        self._wait_ready(begin=0)

    def tail(self, *, begin: int = 0) -> list[str]:
        """The last lines of its log."""
        with self.log.open("rb") as log:
            log.seek(begin)
            return log.read().decode(errors="replace").splitlines()[-_LOG_LINES:]

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            raise PlaneError(f"{self.name} is not running")
        return self._process

    def _wait_ready(self, begin: int) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._ready():
            if not self.running:
                code = self._process.returncode if self._process else None
                raise self._failure(f"{self.name} ended before it was ready", begin=begin, code=code)
            if time.monotonic() > deadline:
                raise self._failure(f"{self.name} is not ready after {START_SECONDS} s", begin=begin)
            time.sleep(POLL_SECONDS)

    def _failure(self, message: str, *, begin: int, **fields: object) -> PlaneError:
        lines = self.tail(begin=begin)
        kind = PortTaken if any("address already in use" in line for line in lines) else PlaneError
        error = kind(message, **fields, log=str(self.log), hint=f"it said last: {lines[-1] if lines else 'nothing'}")
        error.add_note("\n".join([f"the end of {self.log}:", *lines]))
        return error


class Guardian:
    """A small process that outlives this one by a moment and cleans up after it, however it ended.

    It reads which process groups run from a pipe; the pipe's end is our end.  Neither `atexit` (not run when we
    are killed) nor a parent-death signal (sent when the thread ends that started the child) would do.
    """

    _SCRIPT = """
import os, shutil, signal, sys, time
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
for folder in sys.argv[1:]:
    for _ in range(50):  # the killed may still be writing for a moment
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            break
        time.sleep(0.1)
"""

    def __init__(self, *, remove: Path | None) -> None:
        folders = [] if remove is None else [str(remove)]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", self._SCRIPT, *folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> Guardian:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def watch(self, group: int) -> None:
        self._tell(f"+{group}\n")

    def forget(self, group: int) -> None:
        self._tell(f"-{group}\n")

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode())
        self._process.stdin.flush()
