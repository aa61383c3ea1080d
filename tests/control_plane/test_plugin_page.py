"""The little cluster of docs/plugins.md, with kubectl: its commands say what the page says."""

import re
import shlex

from tests.control_plane.conftest import needs_native_groups
from tests.control_plane.kubectl.client import Kubectl
from tests.docs.plugin_page import commands, write
from tests.local.processes import Up, until

pytestmark = needs_native_groups


def test_kubectl_says_what_the_page_says(tmp_path):
    write(tmp_path)
    started, *asked = commands("3. On a little cluster")
    flags = shlex.split(started.line.partition(" muster up ")[2])
    environment = {"PYTHONPATH": "."}
    with Up(tmp_path / "up", "--port", "0", *flags, directory=tmp_path, environment=environment) as up:
        kubectl = Kubectl(up.kubeconfig, tmp_path)
        for command in asked:
            arguments = command.line.removeprefix("kubectl ")
            if arguments.startswith(("label", "run")):
                assert kubectl.line(arguments).said == command.says
            else:
                wanted = _plain(command.says)
                until(lambda line=arguments, says=wanted: _plain(kubectl.line(line).said) == says, command.line)


def _plain(table):
    """Without ages and addresses, and how wide they made a column."""
    table = re.sub(r"\b\d+s\b", "AGO", re.sub(r"\b10\.[\d.]+", "IP", table))
    return [" ".join(line.split()) for line in table.splitlines()]
