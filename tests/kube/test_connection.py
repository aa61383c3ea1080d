"""Where a connection is read from, and what comes of each form that a kubeconfig may have."""

import base64
import json
import os
import ssl
import sys

import pytest
import yaml

from muster.base.errors import KubeconfigError
from muster.kube.connection import load
from tests.kube.pki import NOW, Authority, presented


def b64(data):
    return base64.b64encode(data).decode()


def config(*, name="dev", cluster=None, user=None, context=None, current="dev", **more):
    """A kubeconfig with one context, cluster and user, all of one name."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current,
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}.example:6443"} | (cluster or {})}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name} | (context or {})}],
    } | more


class Place:
    """A home folder, an environment and a pod's folder to read from."""

    def __init__(self, folder):
        self.folder = folder
        self.environ = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
        self.pod = folder / "pod"

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return str(path)

    def load(self, content=None, **options):
        if content is not None:
            options["kubeconfig"] = self.write("config", content)
        return load(environ=self.environ, service_account=self.pod, now=lambda: NOW, **options)

    def be_a_pod(self, authority):
        self.environ |= {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
        self.write("pod/token", "pod-token")
        self.write("pod/ca.crt", authority.pem.decode())
        self.write("pod/namespace", "batch\n")


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.fixture(scope="module")
def authority():
    return Authority()


# where it is read from


def test_the_kubeconfig_that_was_given_comes_before_all_others(place, authority):
    place.be_a_pod(authority)
    place.write("home/.kube/config", config(name="dev"))
    place.environ["KUBECONFIG"] = place.write("env", config(name="dev"))
    found = place.load(config(name="given", current="given"))
    assert found.server == "https://given.example:6443"
    assert found.source == f"context given of {place.folder}/config"


def test_the_environment_comes_before_the_home_folder(place):
    place.write("home/.kube/config", config(name="home", current="home"))
    place.environ["KUBECONFIG"] = place.write("env", config(name="env", current="env"))
    assert place.load().server == "https://env.example:6443"


def test_the_home_folder_comes_before_the_pod(place, authority):
    place.be_a_pod(authority)
    place.write("home/.kube/config", config())
    assert place.load().server == "https://dev.example:6443"


async def test_a_pod_uses_its_service_account(place, authority):
    place.be_a_pod(authority)
    found = place.load()
    assert (found.server, found.namespace, found.source) == (
        "https://10.0.0.1:443",
        "batch",
        "the pod's service account",
    )
    assert await found.credentials.headers() == {"Authorization": "Bearer pod-token"}
    assert presented(authority, found.ssl) is None


def test_a_pod_with_an_ipv6_cluster_gets_a_proper_address(place, authority):
    place.be_a_pod(authority)
    place.environ["KUBERNETES_SERVICE_HOST"] = "fd00::1"
    assert place.load().server == "https://[fd00::1]:443"


def test_a_pod_without_a_token_is_told_what_to_set(place, authority):
    place.be_a_pod(authority)
    (place.pod / "token").unlink()
    with pytest.raises(KubeconfigError, match=r"no service account token.*automountServiceAccountToken: true"):
        place.load()


def test_with_nothing_to_read_the_error_tells_where_it_looked(place):
    with pytest.raises(KubeconfigError, match=r"found no cluster: .*\$KUBECONFIG is not set.*; give --kubeconfig"):
        place.load()


def test_a_context_needs_a_kubeconfig(place, authority):
    place.be_a_pod(authority)
    with pytest.raises(KubeconfigError, match="no kubeconfig to find context 'dev' in"):
        place.load(context="dev")


# several files


def test_the_first_file_that_has_an_entry_has_it_whole(place):
    first = place.write("a", config(context={"namespace": "one"}))
    second = place.write("b", config(context={"namespace": "two"}, cluster={"tls-server-name": "other"}))
    place.environ["KUBECONFIG"] = f"{first}{os.pathsep}{second}"
    assert (place.load().namespace, place.load().server_name) == ("one", None)
    place.environ["KUBECONFIG"] = f"{second}{os.pathsep}{first}"
    assert (place.load().namespace, place.load().server_name) == ("two", "other")


async def test_context_cluster_and_user_may_come_from_different_files(place):
    whole = config(user={"token": "t"})
    parts = [place.write(kind, {kind: whole[kind]}) for kind in ("clusters", "users", "contexts")]
    parts.append(place.write("current", {"current-context": "dev"}))
    place.environ["KUBECONFIG"] = os.pathsep.join(parts)
    found = place.load()
    assert found.server == "https://dev.example:6443"
    assert found.source == f"context dev of {place.folder}/contexts"
    assert await found.credentials.headers() == {"Authorization": "Bearer t"}


def test_the_first_file_with_a_current_context_decides(place):
    files = [config(name="one", current=""), config(name="two", current="two"), config(name="three", current="three")]
    place.environ["KUBECONFIG"] = os.pathsep.join(place.write(str(n), file) for n, file in enumerate(files))
    assert place.load().server == "https://two.example:6443"


def test_missing_files_and_empty_names_in_the_list_are_skipped(place):
    there = place.write("there", config())
    place.environ["KUBECONFIG"] = os.pathsep.join(["", "/no/such/file", there])
    assert place.load().server == "https://dev.example:6443"


def test_a_list_of_missing_files_is_an_error_that_names_them(place):
    place.environ["KUBECONFIG"] = "/no/such/a:/no/such/b"
    with pytest.raises(KubeconfigError, match=r"no such kubeconfig.*/no/such/a:/no/such/b"):
        place.load()


def test_a_given_file_that_is_missing_is_an_error(place):
    with pytest.raises(KubeconfigError, match=r"no such kubeconfig.*/no/such/file.*; correct --kubeconfig"):
        place.load(kubeconfig="/no/such/file")


async def test_relative_paths_belong_to_the_folder_of_the_file(place, authority):
    chain, key = authority.issue("muster")
    for name, content in (("ca.pem", authority.pem), ("me.crt", chain), ("me.key", key), ("token", b"t")):
        place.write(f"home/.kube/pki/{name}", content.decode())
    user = {"client-certificate": "pki/me.crt", "client-key": "pki/me.key", "tokenFile": "pki/token"}
    place.write("home/.kube/config", config(cluster={"certificate-authority": "pki/ca.pem"}, user=user))
    found = place.load()
    assert presented(authority, found.ssl) == "muster"
    assert await found.credentials.headers() == {"Authorization": "Bearer t"}


# the server


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("https://host:6443", "https://host:6443"),
        ("https://host:6443/", "https://host:6443"),
        ("https://host/k8s/clusters/c-1/", "https://host/k8s/clusters/c-1"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("localhost:8080", "http://localhost:8080"),
        ("https://[::1]:6443", "https://[::1]:6443"),
    ],
)
def test_the_server_is_an_address_without_a_slash_at_the_end(place, written, read):
    assert place.load(config(cluster={"server": written})).server == read


def test_an_address_without_a_scheme_is_https_if_there_is_an_authority(place, authority):
    found = place.load(config(cluster={"server": "host:6443", "certificate-authority-data": b64(authority.pem)}))
    assert found.server == "https://host:6443"


@pytest.mark.parametrize("server", ["", "https://", "ftp://host", "https://host:port", "https://a b", "https://h?x=1"])
def test_a_server_that_is_no_address_is_told(place, server):
    with pytest.raises(KubeconfigError, match=r"no usable server address.*write it as https://host:port"):
        place.load(config(cluster={"server": server}))


def test_a_password_in_the_address_is_refused_and_not_shown(place):
    with pytest.raises(KubeconfigError, match="has a user or password in it") as caught:
        place.load(config(cluster={"server": "https://jo:hush@host"}))
    assert "hush" not in str(caught.value)


def test_plain_http_has_no_tls(place):
    assert place.load(config(cluster={"server": "http://host"})).ssl is None


def test_the_authority_given_is_the_only_one_trusted(place, authority):
    found = place.load(config(cluster={"certificate-authority-data": b64(authority.pem)}))
    assert len(found.ssl.get_ca_certs()) == 1
    assert presented(authority, found.ssl) is None
    with pytest.raises(ssl.SSLCertVerificationError):
        presented(Authority("stranger"), found.ssl)


def test_the_servers_name_is_checked(place, authority):
    found = place.load(config(cluster={"certificate-authority-data": b64(authority.pem), "tls-server-name": "other"}))
    assert found.server_name == "other"
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        presented(authority, found.ssl, server_name=found.server_name)


def test_without_an_authority_the_systems_are_trusted(place):
    context = place.load(config()).ssl
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_skipping_the_check_of_the_server_needs_our_consent_too(place):
    with pytest.raises(KubeconfigError, match=r"insecure-skip-tls-verify.*allow it with --insecure-skip-tls-verify"):
        place.load(config(cluster={"insecure-skip-tls-verify": True}))


def test_the_check_of_the_server_is_skipped_with_consent(place, authority):
    found = place.load(config(cluster={"insecure-skip-tls-verify": True}), insecure=True)
    assert presented(authority, found.ssl, server_name="whoever") is None


def test_consent_alone_skips_nothing(place):
    assert place.load(config(), insecure=True).ssl.verify_mode == ssl.CERT_REQUIRED


def test_a_proxy_is_passed_on_and_its_password_not_printed(place):
    found = place.load(config(cluster={"proxy-url": "http://jo:hush@proxy:3128"}))
    assert found.proxy == "http://jo:hush@proxy:3128"
    assert "hush" not in repr(found)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("socks5://proxy:1080", "is a socks5 proxy, which is not supported"),
        ("proxy:3128", "no address of a proxy"),
        ("ftp://jo:hush@proxy", "no address of a proxy"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_told(place, url, says):
    with pytest.raises(KubeconfigError, match=says) as caught:
        place.load(config(cluster={"proxy-url": url}))
    assert "hush" not in str(caught.value)


# the user


@pytest.mark.parametrize(
    ("user", "headers"),
    [
        ({}, {}),
        ({"token": "t"}, {"Authorization": "Bearer t"}),
        ({"username": "jo", "password": "p"}, {"Authorization": "Basic am86cA=="}),
        ({"as": "ann"}, {"Impersonate-User": "ann"}),
        (
            {"token": "t", "as": "ann", "as-uid": "7", "as-groups": ["dev"], "as-user-extra": {"Org/Team": ["x"]}},
            {
                "Authorization": "Bearer t",
                "Impersonate-User": "ann",
                "Impersonate-Uid": "7",
                "Impersonate-Group": "dev",
                "Impersonate-Extra-org%2Fteam": "x",
            },
        ),
    ],
)
async def test_what_a_user_has_is_sent(place, user, headers):
    assert await place.load(config(user=user)).credentials.headers() == headers


async def test_a_context_without_a_user_is_anonymous(place):
    assert await place.load(config(context={"user": ""})).credentials.headers() == {}


async def test_a_token_file_comes_before_a_token(place):
    place.write("token", "from-file")
    found = place.load(config(user={"token": "t", "tokenFile": "token"}))
    assert await found.credentials.headers() == {"Authorization": "Bearer from-file"}


def test_a_certificate_given_as_data_is_presented(place, authority):
    chain, key = authority.issue("muster")
    user = {"client-certificate-data": b64(chain), "client-key-data": b64(key)}
    found = place.load(config(cluster={"certificate-authority-data": b64(authority.pem)}, user=user))
    assert presented(authority, found.ssl) == "muster"


async def test_an_exec_plugin_runs_from_its_folder_and_is_told_of_the_cluster(place, authority):
    text = f"#!{sys.executable} -SE\n" + (
        "import json, os\n"
        "told = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "with open(os.path.dirname(__file__) + '/told', 'w') as file: json.dump(told['spec']['cluster'], file)\n"
        "print(json.dumps({**told, 'spec': {}, 'status': {'token': 'from-plugin'}}))\n"
    )
    os.chmod(place.write("bin/plugin", text), 0o700)
    place.write("ca.pem", authority.pem.decode())
    cluster = {
        "certificate-authority": "ca.pem",
        "tls-server-name": "other",
        "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x", "none": None}}],
    }
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./bin/plugin", "args": None, "env": None}
    plugin |= {"provideClusterInfo": True, "interactiveMode": "IfAvailable"}
    found = place.load(config(cluster=cluster, user={"exec": plugin}))
    assert not (place.folder / "bin/told").exists()
    assert await found.credentials.headers() == {"Authorization": "Bearer from-plugin"}
    assert json.loads((place.folder / "bin/told").read_text()) == {
        "server": "https://dev.example:6443",
        "tls-server-name": "other",
        "certificate-authority-data": b64(authority.pem),
        "config": {"audience": "x", "none": None},
    }


@pytest.mark.parametrize(
    ("user", "says"),
    [
        ({"auth-provider": {"name": "gcp"}}, "auth-provider gcp is not supported.*1.26: use an exec plugin"),
        ({"token": "hush", "username": "jo"}, "both a token and a password"),
        ({"token": "hush hush"}, "token has characters that no token has"),
        ({"tokenFile": "gone"}, "token file .*/gone cannot be read: No such file or directory"),
        ({"client-certificate-data": b64(b"hush")}, "the user has no client-key"),
        ({"client-key-data": b64(b"hush")}, "the user has no client-certificate"),
        ({"client-certificate-data": "hush!", "client-key-data": "hush"}, "client-certificate-data is not base64"),
        ({"client-certificate-data": b64(b"hush"), "client-key-data": b64(b"h")}, "client certificate is not PEM"),
        (
            {"client-certificate": "gone.crt", "client-key": "gone.key"},
            r"client certificate .*/gone.crt cannot be read",
        ),
        ({"exec": {"command": "x"}}, "exec plugin has an apiVersion that is not supported"),
        ({"as-groups": ["dev"]}, "impersonation without a user"),
        ({"as": "ann", "as-groups": ["a", "b"]}, "impersonation with more than one group"),
        ({"as": "ann\nX-Hush: 1"}, "characters that no header may have"),
        ({"token": 12345678}, r"Expected `str`, got `int` - at `\$.users\[0\].user.token`.*in quotes"),
    ],
)
def test_a_user_that_cannot_be_used_is_told_in_one_line_without_secrets(place, user, says):
    with pytest.raises(KubeconfigError, match=says) as caught:
        place.load(config(user=user))
    line = str(caught.value)
    assert f"{place.folder}/config" in line
    assert caught.value.hint
    assert "\n" not in line
    assert not any(secret in line.lower() for secret in ("hush", "ahvza", "12345678"))


def test_an_expired_client_certificate_is_told_before_it_is_used(place, authority):
    chain, key = authority.issue("muster", ends=NOW - 1)
    with pytest.raises(KubeconfigError, match="client certificate has expired"):
        place.load(config(user={"client-certificate-data": b64(chain), "client-key-data": b64(key)}))


@pytest.mark.parametrize("data", ["AAAA", "no base64!"])
def test_an_authority_that_cannot_be_read_is_told(place, data):
    with pytest.raises(KubeconfigError, match=r"certificate-authority(-data is not base64| is not a PEM certificate)"):
        place.load(config(cluster={"certificate-authority-data": data}))


# the file


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (config(current=""), r"no current-context \(file='.*/config'\); choose one with --context \(there are: dev\)"),
        (config(current="prod"), r"there is no context 'prod'.*\(there are: dev\)"),
        (
            config(context={"cluster": "gone"}),
            r"context 'dev' names cluster 'gone', which is not there.*there are: dev",
        ),
        (config(context={"user": "gone"}), r"context 'dev' names user 'gone', who is not there.*there are: dev"),
        (config(users=[{"name": "dev"}, {"name": "dev"}]), "user 'dev' is there twice"),
        ({"clusters": None, "users": None, "contexts": None}, r"no current-context.*\(there are: none\)"),
        ("", "no current-context"),
        ({"apiVersion": "v1", "kind": "Pod"}, "not a kubeconfig: its kind is not Config"),
        ("just text", "Expected `object`, got `str`"),
        ({"users": "dev"}, r"Expected `array`, got `str` - at `\$.users`"),
        ({"users": [{"user": {}}]}, r"missing required field `name` - at `\$.users\[0\]`"),
        ("a: [b\nc: d", r"not valid YAML \(file='.*/config', line=2, column=\d+\)"),
        ("token: !hush hush", r"not valid YAML \(file='.*/config', line=1"),
        ("token: *hush", r"not valid YAML \(file='.*/config', line=1"),
        ("token: 2026-13-45", "not valid YAML"),
        ("users: &a [*a]", "cannot be read: it contains itself"),
        ("\x00", "not valid YAML"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_in_one_line(place, content, says):
    with pytest.raises(KubeconfigError, match=says) as caught:
        place.load(content)
    assert f"{place.folder}/config" in str(caught.value)
    assert caught.value.hint
    assert "hush" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_folder_is_no_kubeconfig(place):
    with pytest.raises(KubeconfigError, match="kubeconfig cannot be read: Is a directory"):
        place.load(kubeconfig=str(place.folder))


def test_fields_that_nobody_here_knows_are_ignored(place):
    assert place.load(config(preferences={"colors": True}, cluster={"new-field": [1]})).namespace == "default"


def test_another_context_may_be_asked_for(place):
    found = place.load(config(name="prod", current="dev"), context="prod")
    assert found.server == "https://prod.example:6443"


def test_a_connection_prints_as_where_it_was_read_from(place):
    found = place.load(config(user={"token": "hush"}))
    assert repr(found) == (f"Connection('https://dev.example:6443', source='context dev of {place.folder}/config')")
