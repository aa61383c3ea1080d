"""`muster run` as a process of its own, to be killed, stopped and read."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import yaml

_SECONDS = 60.0
_POLL_SECONDS = 0.01
_COMMAND = [sys.executable, "-c", "from muster.cli import main; main()"]


class MusterProcess:
    """One replica.  Its log is JSON lines in a file; the lines that are none are what it says in the end.

    running ⇄ paused;  running | paused → ended.  A new replica is a new MusterProcess.
    """

    def __init__(self, kubeconfig, folder, *, name="muster", lease=(15, 10, 2), rate=None, journal=None, source=None):
        """`lease`: seconds of leaseDuration, renewDeadline and retryPeriod; `rate`: requests a second at most;
        `source`: a folder with the packages of another version."""
        self.name = name
        self.log = Path(folder) / f"{name}.log"
        config = Path(folder) / f"{name}.yaml"
        config.write_text(yaml.safe_dump(_configuration(lease, rate)))
        command = [*_COMMAND, "run", f"--kubeconfig={kubeconfig}", f"--config={config}", "--listen=127.0.0.1:0"]
        command += ["--log-format=json"] + ([f"--journal={journal}"] if journal else [])
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": str(source)} if source else None,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    # --- hurting it ---

    def kill(self):
        """At once, without a chance to say goodbye; no harm if it has ended."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def pause(self):
        """Stopped in its tracks; returns when it has."""
        os.kill(self._process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def resume(self):
        os.kill(self._process.pid, signal.SIGCONT)

    def terminate(self):
        """Asks it to stop."""
        self._process.terminate()

    def stop(self):
        """Asks it to stop, waits until it has; its exit status."""
        self.terminate()
        return self.wait()

    def wait(self):
        """Its exit status, once it has ended by itself."""
        try:
            return self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end within {_SECONDS:g} s\n{self.tail()}") from None

    # --- reading it ---

    @property
    def running(self):
        return self._process.poll() is None

    def lines(self):
        """Its log, each line as a dictionary; what is no JSON under the key "text"."""
        return [_parsed(line) for line in self.log.read_text(errors="replace").splitlines()]

    def said(self, message, **fields):
        """The lines with this message and these fields."""
        wanted = {"message": message, **fields}
        return [line for line in self.lines() if all(line.get(key) == value for key, value in wanted.items())]

    def words(self):
        """What it said outside its log: one line for a person, or a traceback."""
        return [line["text"] for line in self.lines() if "text" in line]

    def wait_for(self, message, **fields):
        """The first line with this message and these fields, as soon as it is there."""
        deadline = time.monotonic() + _SECONDS
        while not (found := self.said(message, **fields)):
            # read once more after its end: the line may be its last
            ended = not self.running
            if ended and not self.said(message, **fields):
                raise AssertionError(f"{self.name} ended without saying {message!r} {fields or ''}\n{self.tail()}")
            assert time.monotonic() < deadline, f"{self.name} did not say {message!r} {fields or ''}\n{self.tail()}"
            time.sleep(_POLL_SECONDS)
        return found[0]

    def tail(self, count=25):
        return "\n".join(["", f"--- the end of what {self.name} said", *self.log.read_text().splitlines()[-count:]])


def _configuration(lease, rate):
    duration, renew, retry = lease
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {
            "leaderElect": True,
            "resourceNamespace": "muster-system",
            "resourceName": "muster",
            "leaseDuration": f"{duration}s",
            "renewDeadline": f"{renew}s",
            "retryPeriod": f"{retry}s",
        },
    }
    if rate is not None:
        document["clientConnection"] = {"qps": rate, "burst": max(1, rate // 10)}
    return document


def _parsed(line):
    try:
        found = json.loads(line)
    except ValueError:
        return {"text": line}
    return found if isinstance(found, dict) else {"text": line}
