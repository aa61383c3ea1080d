"""Exec plugins: run when a credential is needed, renewed before it ends, told about but never shown.

The plugin is a Python script.  It appends what it was given to a log and prints what lies in a file.
"""

import asyncio
import json
import os
import ssl
import sys
import textwrap

import pytest
from structlog.testing import capture_logs

from muster.api.times import stamp
from muster.base.errors import KubeconfigError
from muster.kube.exec_plugin import ExecPlugin
from muster.kube.kubeconfig import Exec, Variable
from tests.kube.pki import NOW, Authority, presented

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"


class Plugin:
    """A plugin in a folder, what it is to answer, and a clock."""

    def __init__(self, folder):
        self.folder = folder
        self.now = NOW
        self.log = folder / "log"
        self.script(
            """
            import json, os, sys
            here = os.path.dirname(__file__)
            given = {"args": sys.argv[1:], "env": dict(os.environ), "stdin": sys.stdin.read()}
            with open(here + "/log", "a") as log:
                log.write(json.dumps(given) + "\\n")
            with open(here + "/answer") as answer:
                print(answer.read())
            """
        )

    def script(self, text):
        path = self.folder / "plugin"
        path.write_text(f"#!{sys.executable} -SE\n" + textwrap.dedent(text))
        path.chmod(0o700)

    def answers(self, *, version=V1, kind="ExecCredential", ends=None, **status):
        if ends is not None:
            status["expirationTimestamp"] = stamp(ends)
        (self.folder / "answer").write_text(json.dumps({"apiVersion": version, "kind": kind, "status": status}))

    def credentials(self, *, command=None, timeout_seconds=60.0, cluster=None, context=None, **fields):
        fields.setdefault("api_version", V1)
        return ExecPlugin(
            Exec(command=command or str(self.folder / "plugin"), **fields),
            source="/home/x/config",
            cluster=cluster,
            context=context,
            environ={"PATH": os.environ["PATH"], "FROM": "outside"},
            now=lambda: self.now,
            timeout_seconds=timeout_seconds,
        )

    @property
    def runs(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


@pytest.fixture
def plugin(tmp_path):
    made = Plugin(tmp_path)
    made.answers(token="first")
    return made


async def token(credentials):
    return (await credentials.headers())["Authorization"].removeprefix("Bearer ")


async def settled(credentials):
    """Waits for the renewal that is under way."""
    while credentials._run is not None:
        await asyncio.wait([credentials._run])
        await asyncio.sleep(0)


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_the_token_that_the_plugin_prints_is_sent(plugin, version):
    plugin.answers(version=version, token="abc")
    assert await plugin.credentials(api_version=version).headers() == {"Authorization": "Bearer abc"}


async def test_nothing_runs_before_a_credential_is_needed(plugin):
    credentials = plugin.credentials()
    assert plugin.runs == []
    await credentials.headers()
    assert len(plugin.runs) == 1


@pytest.fixture
def typed():
    """Something waits to be read on our own standard input."""
    ours = os.dup(0)
    reading, writing = os.pipe()
    os.write(writing, b"typed")
    os.close(writing)
    os.dup2(reading, 0)
    os.close(reading)
    yield
    os.dup2(ours, 0)
    os.close(ours)


async def test_the_plugin_gets_its_arguments_and_its_variables_and_ours(plugin):
    await plugin.credentials(args=("get", "--a b"), env=(Variable("REGION", "north"),)).headers()
    (run,) = plugin.runs
    assert run["args"] == ["get", "--a b"]
    assert (run["env"]["REGION"], run["env"]["FROM"]) == ("north", "outside")


@pytest.mark.usefixtures("typed")
async def test_the_plugin_gets_no_input(plugin):
    await plugin.credentials().headers()
    assert plugin.runs[0]["stdin"] == ""


async def test_the_plugin_is_told_its_version_and_that_nobody_is_there_to_answer(plugin):
    await plugin.credentials(cluster={"server": "https://x"}).headers()
    told = json.loads(plugin.runs[0]["env"]["KUBERNETES_EXEC_INFO"])
    assert told == {"apiVersion": V1, "kind": "ExecCredential", "spec": {"interactive": False}}


async def test_the_plugin_is_told_of_the_cluster_if_it_wants_to_be(plugin):
    await plugin.credentials(provide_cluster_info=True, cluster={"server": "https://x"}).headers()
    told = json.loads(plugin.runs[0]["env"]["KUBERNETES_EXEC_INFO"])
    assert told["spec"]["cluster"] == {"server": "https://x"}


async def test_a_credential_without_an_end_is_kept(plugin):
    credentials = plugin.credentials()
    await credentials.headers()
    plugin.now += 10 * 365 * 86_400
    await credentials.headers()
    assert len(plugin.runs) == 1


async def test_a_credential_is_renewed_a_minute_before_its_end_while_the_old_is_served(plugin):
    plugin.answers(token="first", ends=NOW + 3600)
    credentials = plugin.credentials()
    await credentials.headers()
    plugin.answers(token="second", ends=NOW + 7200)
    plugin.now = NOW + 3539
    assert await token(credentials) == "first"
    assert len(plugin.runs) == 1
    plugin.now = NOW + 3540
    assert await token(credentials) == "first"
    await settled(credentials)
    assert await token(credentials) == "second"
    assert len(plugin.runs) == 2


async def test_a_short_credential_is_renewed_when_a_tenth_is_left(plugin):
    plugin.answers(token="first", ends=NOW + 100)
    credentials = plugin.credentials()
    await credentials.headers()
    for plugin.now, runs in ((NOW + 89, 1), (NOW + 90, 2)):
        await credentials.headers()
        await settled(credentials)
        assert len(plugin.runs) == runs


async def test_a_credential_that_has_ended_is_waited_for(plugin):
    plugin.answers(token="first", ends=NOW + 3600)
    credentials = plugin.credentials()
    await credentials.headers()
    plugin.answers(token="second")
    plugin.now = NOW + 3600
    assert await token(credentials) == "second"


async def test_a_renewal_that_fails_does_no_harm_while_the_old_credential_holds(plugin):
    plugin.answers(token="first", ends=NOW + 3600)
    credentials = plugin.credentials()
    await credentials.headers()
    plugin.script("raise SystemExit('no network')")
    plugin.now = NOW + 3599
    for _ in range(2):
        assert await token(credentials) == "first"
        await settled(credentials)
    assert "no network" in str(credentials.failure)
    plugin.now = NOW + 3600
    with pytest.raises(KubeconfigError, match="exec plugin failed"):
        await credentials.headers()


async def test_a_renewal_that_fails_is_logged_with_the_end_of_the_old_credential(plugin):
    plugin.answers(token="first", ends=NOW + 3600)
    credentials = plugin.credentials(env=(Variable("SECRET", "hush-hush"),))
    await credentials.headers()
    plugin.script("import os; raise SystemExit('no way in with ' + os.environ['SECRET'])")
    plugin.now = NOW + 3540
    with capture_logs() as lines:
        await credentials.headers()
        await settled(credentials)
    (line,) = lines
    assert (line["log_level"], line["ends"]) == ("warning", stamp(NOW + 3600))
    assert "no way in with ***" in line["error"]
    assert "first" not in str(line)


async def test_a_failure_that_someone_is_told_of_is_not_logged(plugin):
    plugin.answers(kind="Other")
    with capture_logs() as lines, pytest.raises(KubeconfigError):
        await plugin.credentials().headers()
    assert lines == []


async def test_a_renewal_that_failed_is_tried_again_ten_seconds_later(plugin):
    plugin.answers(token="first", ends=NOW + 3600)
    credentials = plugin.credentials()
    await credentials.headers()
    plugin.answers(kind="Other")
    for plugin.now, runs in ((NOW + 3540, 2), (NOW + 3549, 2), (NOW + 3550, 3)):
        await credentials.headers()
        await settled(credentials)
        assert len(plugin.runs) == runs
    plugin.answers(token="second")
    plugin.now = NOW + 3560
    await credentials.headers()
    await settled(credentials)
    assert credentials.failure is None


async def test_a_refused_credential_is_asked_for_again(plugin):
    credentials = plugin.credentials()
    await credentials.headers()
    plugin.answers(token="second")
    credentials.refused()
    assert await token(credentials) == "second"


async def test_a_refused_credential_is_not_served_when_the_plugin_fails(plugin):
    credentials = plugin.credentials()
    await credentials.headers()
    plugin.answers(kind="Other")
    credentials.refused()
    with pytest.raises(KubeconfigError):
        await credentials.headers()


async def test_a_late_refusal_of_the_credential_before_changes_nothing(plugin):
    credentials = plugin.credentials()
    before = await credentials.headers()
    plugin.answers(token="second")
    credentials.refused(before)
    await credentials.headers()
    credentials.refused(before)
    await credentials.headers()
    assert len(plugin.runs) == 2


async def test_many_who_ask_at_once_share_one_run(plugin):
    credentials = plugin.credentials()
    assert {
        answer["Authorization"] for answer in await asyncio.gather(*(credentials.headers() for _ in range(20)))
    } == {"Bearer first"}
    assert len(plugin.runs) == 1


async def test_the_run_goes_on_when_the_one_who_asked_gives_up(plugin):
    credentials = plugin.credentials()
    asking = asyncio.create_task(credentials.headers())
    await asyncio.sleep(0)
    asking.cancel()
    assert await token(credentials) == "first"
    assert len(plugin.runs) == 1


async def test_a_certificate_is_presented_in_the_next_handshake_and_no_header_is_sent(plugin):
    authority = Authority()
    chain, key = authority.issue("from-plugin")
    plugin.answers(clientCertificateData=chain.decode(), clientKeyData=key.decode())
    context = ssl.create_default_context(cadata=authority.pem.decode())
    assert await plugin.credentials(context=context).headers() == {}
    assert presented(authority, context) == "from-plugin"


async def test_a_certificate_is_renewed_before_its_own_end_if_the_plugin_names_none(plugin):
    authority = Authority()
    context = ssl.create_default_context(cadata=authority.pem.decode())
    credentials = plugin.credentials(context=context)
    for name in ("first", "second"):
        chain, key = authority.issue(name, ends=plugin.now + 3600)
        plugin.answers(clientCertificateData=chain.decode(), clientKeyData=key.decode())
        await credentials.headers()
        await settled(credentials)
        assert presented(authority, context) == name
        plugin.now += 3550


async def test_a_plugin_that_takes_too_long_is_stopped(plugin):
    plugin.script("import signal; signal.pause()")
    with pytest.raises(KubeconfigError, match=r"exec plugin did not end within 0\.1 s"):
        await plugin.credentials(timeout_seconds=0.1).headers()


async def test_a_run_that_is_stopped_takes_all_it_started_with_it(plugin):
    os.mkfifo(plugin.folder / "alive")
    reading = os.open(plugin.folder / "alive", os.O_RDONLY | os.O_NONBLOCK)
    plugin.script(
        """
        import os, signal
        pipe = open(os.path.dirname(__file__) + "/alive", "wb", buffering=0)
        if os.fork() == 0:
            pipe.write(b"x")
        signal.pause()
        """
    )
    credentials = plugin.credentials()
    asking = asyncio.create_task(credentials.headers())
    assert await next_bytes(reading) == b"x"
    credentials._run.cancel()
    assert await next_bytes(reading) == b""  # the pipe ends with the last process that holds it
    with pytest.raises(asyncio.CancelledError):
        await asking
    os.close(reading)


async def next_bytes(file):
    ready = asyncio.Event()
    asyncio.get_running_loop().add_reader(file, ready.set)
    try:
        await asyncio.wait_for(ready.wait(), 30)
    finally:
        asyncio.get_running_loop().remove_reader(file)
    return os.read(file, 1)


async def test_a_missing_plugin_is_told_with_the_hint_how_to_install_it(plugin):
    credentials = plugin.credentials(command="no-such-plugin", install_hint="apt install\n  cloud-tools")
    with pytest.raises(KubeconfigError) as caught:
        await credentials.headers()
    assert str(caught.value) == (
        "exec plugin is not installed (command='no-such-plugin', file='/home/x/config'); apt install cloud-tools"
    )


async def test_a_plugin_that_may_not_be_run_is_told(plugin):
    (plugin.folder / "plugin").chmod(0o600)
    with pytest.raises(KubeconfigError, match="exec plugin cannot be run: Permission denied"):
        await plugin.credentials().headers()


async def test_a_plugin_that_fails_is_told_with_its_last_words(plugin):
    plugin.script("import sys; print('some trace', file=sys.stderr); sys.exit('session has ended, log in again')")
    with pytest.raises(
        KubeconfigError, match=r"status=1, said='session has ended, log in again'\); run plugin by hand"
    ):
        await plugin.credentials().headers()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("", "did not print an ExecCredential as JSON"),
        ('{"status": {"token": "hush-hush"', "did not print an ExecCredential as JSON"),
        ('{"status": {"token": ["hush-hush"]}}', "did not print an ExecCredential as JSON"),
        (f'{{"apiVersion": "{V1BETA1}", "kind": "ExecCredential"}}', "of another kind or version"),
        (f'{{"apiVersion": "{V1}", "kind": "Pod"}}', "of another kind or version"),
        (f'{{"apiVersion": "{V1}", "kind": "ExecCredential"}}', "neither a token nor a certificate"),
        (f'{{"apiVersion": "{V1}", "kind": "ExecCredential", "status": {{}}}}', "neither a token nor a certificate"),
    ],
)
async def test_an_answer_that_is_no_credential_is_told_and_not_shown(plugin, answer, says):
    (plugin.folder / "answer").write_text(answer)
    with pytest.raises(KubeconfigError, match=says) as caught:
        await plugin.credentials().headers()
    assert "hush" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ({"token": "hush", "expirationTimestamp": "tomorrow"}, "expirationTimestamp that is no RFC 3339 time"),
        ({"token": "hush", "ends": NOW}, "a credential that has already ended"),
        ({"token": "hush\nhush"}, "token has characters that no token has"),
        ({"clientCertificateData": "hush"}, "a certificate without its key"),
        ({"token": "t", "clientKeyData": "hush"}, "a certificate without its key"),
    ],
)
async def test_a_credential_that_cannot_be_used_is_told_and_not_shown(plugin, status, says):
    plugin.answers(**status)
    with pytest.raises(KubeconfigError, match=says) as caught:
        await plugin.credentials().headers()
    assert "hush" not in str(caught.value)


async def test_what_the_kubeconfig_gives_a_plugin_is_not_shown_when_it_fails(plugin):
    plugin.script("import os, sys; sys.exit('cannot log in with ' + os.environ['SECRET'] + ' or ' + sys.argv[1])")
    credentials = plugin.credentials(env=(Variable("SECRET", "hush-hush"),), args=("pass-word",))
    with pytest.raises(KubeconfigError, match=r"cannot log in with \*\*\* or \*\*\*") as caught:
        await credentials.headers()
    assert "hush" not in repr(credentials) + repr(credentials._plugin) + repr(caught.value)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"command": ""}, "has no command"),
        ({"api_version": "client.authentication.k8s.io/v1alpha1"}, "apiVersion that is not supported; use one of"),
        ({"interactive_mode": "Sometimes"}, "unknown interactiveMode"),
        ({"interactive_mode": "Always"}, "a scheduler has nobody to ask"),
    ],
)
def test_a_plugin_that_cannot_work_here_is_refused_before_it_runs(fields, says):
    with pytest.raises(KubeconfigError) as caught:
        ExecPlugin(Exec(**({"command": "x", "api_version": V1} | fields)), source="/home/x/config")
    assert says in str(caught.value).replace(" (file='/home/x/config')", "")
