"""`muster run` with input that cannot be used, or a cluster that cannot: one line for a person, and soon.

Exit status 2: the input is at fault; 1: the cluster refused, or cannot be reached.
"""

import base64
import contextlib
import datetime
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from controlplane.certificates import Authority

BAD_INPUT = 2
REFUSED = 1
_SECONDS = 15.0


def refusal(*arguments):
    """Exit status, and the one line without `muster: `; nothing else may be on standard error but the log."""
    command = [sys.executable, "-m", "muster", "run", "--no-leader-elect", "--listen=127.0.0.1:0", "--log-format=json"]
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    said = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("{")]
    assert len(said) == 1 and said[0].startswith("muster: "), done.stderr
    return done.returncode, said[0].removeprefix("muster: ")


# --- kubeconfigs that cannot be used ----------------------------------------------------------


@pytest.fixture
def write(tmp_path):
    """`write("name", text or document)` gives the path of a file."""

    def write(name, content):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    return write


def kubeconfig(server, user=None, *, authority=None, **fields):
    cluster = {"server": server}
    if authority is not None:
        cluster["certificate-authority-data"] = _base64(authority)
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "there", "cluster": cluster}],
        "users": [{"name": "me", "user": user or {}}],
        "contexts": [{"name": "dev", "context": {"cluster": "there", "user": "me"}}],
        "current-context": "dev",
        **fields,
    }


def _base64(data):
    return base64.b64encode(data).decode()


def test_a_kubeconfig_that_is_not_there(tmp_path):
    missing = tmp_path / "missing"
    assert refusal(f"--kubeconfig={missing}") == (BAD_INPUT, "")


def test_a_kubeconfig_that_is_no_yaml(write):
    path = write("config", "clusters: [")
    assert refusal(f"--kubeconfig={path}") == (BAD_INPUT, "")


def test_a_kubeconfig_that_is_something_else(write):
    path = write("config", {"apiVersion": "v1", "kind": "Pod"})
    assert refusal(f"--kubeconfig={path}") == (BAD_INPUT, "")


def test_a_kubeconfig_without_a_current_context(write):
    path = write("config", kubeconfig("https://127.0.0.1:1", **{"current-context": ""}))
    assert refusal(f"--kubeconfig={path}") == (BAD_INPUT, "")


def test_a_context_that_is_not_there(write):
    path = write("config", kubeconfig("https://127.0.0.1:1"))
    assert refusal(f"--kubeconfig={path}", "--context=prod") == (BAD_INPUT, "")


def test_a_client_certificate_that_has_expired(plane, write):
    pair = plane.authority.client("admin", ("system:masters",), valid=datetime.timedelta(days=-1))
    user = {"client-certificate-data": _base64(pair.certificate), "client-key-data": _base64(pair.key)}
    path = write("config", kubeconfig(plane.server, user, authority=plane.authority.certificate))
    assert refusal(f"--kubeconfig={path}") == (BAD_INPUT, "")


# --- clusters that refuse ---------------------------------------------------------------------


def test_a_server_of_another_authority(plane, write):
    path = write("config", kubeconfig(plane.server, {"token": "t"}, authority=Authority().certificate))
    assert refusal(f"--kubeconfig={path}") == (REFUSED, "")


def test_a_token_that_nobody_gave_out(plane):
    assert refusal(f"--kubeconfig={plane.kubeconfig_for_token('invalid')}") == (REFUSED, "")


def test_an_account_without_rights(plane):
    path = plane.kubeconfig_for_token(plane.token("default", "default"))
    assert refusal(f"--kubeconfig={path}") == (REFUSED, "")


def test_an_account_that_may_not_have_the_lease(plane):
    path = plane.kubeconfig_for_token(plane.token("default", "default"))
    assert refusal(f"--kubeconfig={path}", "--leader-elect") == (REFUSED, "")


# --- servers that are none --------------------------------------------------------------------


def test_a_server_that_does_not_run(write):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        path = write("config", kubeconfig(f"https://127.0.0.1:{port}"))
        assert refusal(f"--kubeconfig={path}") == (REFUSED, "")


def test_a_host_that_has_no_address(write):
    path = write("config", kubeconfig("https://nowhere.invalid:6443"))
    assert refusal(f"--kubeconfig={path}") == (REFUSED, "")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_never_answers(write, scheme):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}"
        path = write("config", kubeconfig(server))
        assert refusal(f"--kubeconfig={path}") == (REFUSED, "")


@contextlib.contextmanager
def web_page(status=200):
    """A plain HTTP server that shows a page."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            body = b"<html><body>Welcome</body></html>"
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("status", [200, 302, 404, 503])
def test_a_server_of_web_pages(write, status):
    with web_page(status) as port:
        path = write("config", kubeconfig(f"http://127.0.0.1:{port}"))
        assert refusal(f"--kubeconfig={path}") == (REFUSED, "")


def test_https_to_a_server_that_speaks_http(write):
    with web_page() as port:
        path = write("config", kubeconfig(f"https://127.0.0.1:{port}"))
        assert refusal(f"--kubeconfig={path}") == (REFUSED, "")


def test_http_to_a_server_that_speaks_https(plane, write):
    path = write("config", kubeconfig(plane.server.replace("https", "http")))
    assert refusal(f"--kubeconfig={path}") == (REFUSED, "")


# --- settings ---------------------------------------------------------------------------------

KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def test_a_configuration_that_is_not_there(plane, tmp_path):
    assert refusal(f"--kubeconfig={plane.kubeconfig()}", f"--config={tmp_path / 'missing'}") == (BAD_INPUT, "")


CONFIGURATIONS = {
    "a field that does not exist": ({"leaderElektion": {}}, ""),
    "a lease shorter than its renewal": ({"leaderElection": {"leaseDuration": "5s", "renewDeadline": "10s"}}, ""),
    "a plugin that does not exist": ({"profiles": [{"plugins": {"filter": {"enabled": [{"name": "NodeMagic"}]}}}]}, ""),
    "an extender": ({"extenders": [{"urlPrefix": "http://x"}]}, ""),
}


@pytest.mark.parametrize("case", CONFIGURATIONS)
def test_a_configuration_with(plane, write, case):
    fields, line = CONFIGURATIONS[case]
    path = write("muster.yaml", KIND | fields)
    assert refusal(f"--kubeconfig={plane.kubeconfig()}", f"--config={path}") == (BAD_INPUT, f"{path}{line}")


def test_a_port_that_is_taken(plane):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert refusal(f"--kubeconfig={plane.kubeconfig()}", f"--listen={address}") == (BAD_INPUT, "")


def test_an_address_that_is_not_ours(plane):
    assert refusal(f"--kubeconfig={plane.kubeconfig()}", "--listen=192.0.2.1:1") == (BAD_INPUT, "")


def test_an_address_that_is_none(plane):
    assert refusal(f"--kubeconfig={plane.kubeconfig()}", "--listen=here") == (BAD_INPUT, "")


def test_a_journal_in_a_folder_that_is_not_there(plane, tmp_path):
    path = tmp_path / "missing" / "journal"
    assert refusal(f"--kubeconfig={plane.kubeconfig()}", f"--journal={path}") == (BAD_INPUT, "")


def test_an_option_that_does_not_exist():
    assert refusal("--schedule-name=x") == (BAD_INPUT, "")
