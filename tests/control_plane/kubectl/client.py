"""kubectl as people use it: a command line in, what it says out."""

import contextlib
import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple

from controlplane import build
from tests.control_plane.conftest import VERSION

FILES = Path(__file__).parent / "files"
_SECONDS = 120.0


class Ran(NamedTuple):
    code: int
    said: str
    complained: str


class Kubectl:
    """One cluster, one namespace; files are named as they are in `files`."""

    def __init__(self, kubeconfig, folder, namespace="default"):
        self._kubeconfig = kubeconfig
        self._folder = folder
        self.namespace = namespace

    def within(self, namespace):
        return Kubectl(self._kubeconfig, self._folder, namespace)

    def command(self, *arguments):
        return [
            str(build.program("kubectl", VERSION)),
            f"--kubeconfig={self._kubeconfig}",
            # what one command learns of the kinds that are served must not be older than the cluster
            f"--cache-dir={self._folder}/kubectl-cache",
            f"--namespace={self.namespace}",
            *map(str, arguments),
        ]

    def run(self, *arguments, given=None, **environment):
        """`given` is its standard input."""
        ran = subprocess.run(
            self.command(*arguments),
            check=False,
            capture_output=True,
            text=True,
            input=given,
            cwd=FILES,
            timeout=_SECONDS,
            env={**os.environ, **environment},
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def line(self, line):
        """Runs a line as in a shell; it may begin with variables."""
        words, environment = shlex.split(line), {}
        while words[0].partition("=")[0].isupper():
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        return self.run(*words, **environment)

    def __call__(self, *arguments, **options):
        """What a command says that must succeed."""
        ran = self.run(*arguments, **options)
        assert ran.code == 0, (arguments, ran.said, ran.complained)
        return ran.said

    def fails(self, *arguments, **options):
        """What a command complains about that must fail."""
        ran = self.run(*arguments, **options)
        assert ran.code != 0, (arguments, ran.said)
        return ran.complained

    def json(self, *arguments):
        return json.loads(self(*arguments, "-o", "json"))

    def create(self, *documents):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
        return self("create", "-f", "-", given=text)

    @contextlib.contextmanager
    def started(self, *arguments):
        """A command that goes on; what it says is in a pipe."""
        with subprocess.Popen(
            self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=FILES
        ) as process:
            try:
                yield process
            finally:
                process.kill()


def rows(table):
    """The rows of what `get` says, each as a dictionary by its columns."""
    head, *lines = table.splitlines()
    columns = list(re.finditer(r"\S+(?: \S+)*", head))
    ends = [*(column.start() for column in columns[1:]), None]
    return [
        {column[0]: line[column.start() : end].strip() for column, end in zip(columns, ends, strict=True)}
        for line in lines
    ]
