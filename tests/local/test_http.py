"""The API server's shell, over real TLS: who gets in, what is too much, and that it lives through all of it."""

import asyncio
import gzip
import http.client
import json
import os
import resource
import signal
import socket
import ssl
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import yaml

from muster.local.process.cluster import make_server
from muster.local.process.http import serve
from muster.local.process.identity import Identity
from muster.local.store.store import Store
from tests.local.processes import Api, Server, until
from tests.local.serving import Chance

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
LARGEST = 3 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("http") / "cluster", "--ephemeral") as server:
        yield server
        assert server.is_running
        # it had nothing to complain about, whatever was done to it
        assert server.complaints == []


@pytest.fixture
def api(server):
    with server.api() as api:
        yield api
        # and it lives on
        assert api.ask("GET", "/api/v1/namespaces/default").code == 200


def config_map(name, **data):
    return {"metadata": {"name": name}, "data": data}


def raw(api, data, *, close=False):
    """All that comes back for these bytes until the server ends the connection, or until it is silent."""
    with connected(api) as connection:
        # a server that has read enough may end the connection before everything is sent
        with suppress(ConnectionError, ssl.SSLEOFError):
            connection.sendall(data)
        if close:
            connection.shutdown(socket.SHUT_WR)
        return received(connection)


def connected(api):
    return api.context.wrap_socket(socket.create_connection(("127.0.0.1", api.port), 30), server_hostname="127.0.0.1")


def received(connection, *, silence_seconds=1.0):
    connection.settimeout(silence_seconds)
    data = b""
    try:
        while piece := connection.recv(65536):
            data += piece
    except (TimeoutError, ConnectionError, ssl.SSLEOFError):
        pass
    return data


def head(api, method, path, **headers):
    """The first lines of a request, by hand."""
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: x",
        *(f"{key}: {text}" for key, text in api.headers(**headers).items()),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


# --- who gets in ---


def test_nobody_gets_in_without_the_token(server):
    with server.api() as api:
        for token in ("", "nonsense", api.token[:-1], f"{api.token}x", "é"):
            connection = api.connection()
            headers = {"Authorization": f"Bearer {token}".encode()} if token else {}
            for method, path in (("GET", "/api/v1/pods"), ("POST", MAPS), ("GET", "/version"), ("GET", "/nowhere")):
                connection.request(method, path, body=b"{}" if method == "POST" else None, headers=headers)
                answer = connection.getresponse()
                document = json.loads(answer.read())
                assert (answer.status, document["reason"]) == (401, "Unauthorized")
            connection.close()
        connection = api.connection()
        connection.request("GET", "/api", headers={"Authorization": f"Basic {api.token}"})
        assert connection.getresponse().status == 401
        connection.close()


def test_a_wrong_token_is_refused_before_the_body_is_read_as_anything(api):
    connection = api.connection()
    connection.request("POST", MAPS, body=b"x" * LARGEST, headers={"Authorization": "Bearer no"})
    assert connection.getresponse().status == 401
    connection.close()


def test_a_header_of_any_bytes_is_no_token_and_no_harm(server, api):
    for _ in range(400):
        connection = api.connection()
        connection.request("GET", PODS, headers={"Authorization": b"Bearer \xff\xfe\x80"})
        assert connection.getresponse().status == 401
        connection.close()
    assert server.complaints == []


@pytest.mark.parametrize(
    ("header", "code"),
    [("Impersonate-User", 403), ("Impersonate-Group", 403), ("Host", 200), ("User-Agent", 200), ("Accept", 406)],
)
def test_headers_of_any_bytes_are_no_harm_from_those_who_have_the_token_either(api, header, code):
    path = "/api" if header == "Host" else MAPS
    assert api.ask("GET", path, **{header.replace("-", "_"): b"\xff\xfe"}).code == code


def test_health_is_told_to_everybody(api):
    connection = api.connection()
    for path in ("/healthz", "/livez", "/readyz", "/readyz?verbose"):
        connection.request("GET", path)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"ok")
    connection.close()


def test_it_speaks_nothing_but_tls(server):
    with socket.create_connection(("127.0.0.1", server.port), 10) as plain:
        plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"HTTP" not in received(plain)


def test_it_speaks_no_outdated_tls(server):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with pytest.warns(DeprecationWarning, match="TLS"):
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", server.port), 10) as plain:  # noqa: SIM117
        with pytest.raises((ssl.SSLError, ConnectionError)):
            context.wrap_socket(plain)


def test_its_certificate_is_for_this_machine_only(server, api):
    with connected(api) as connection:
        names = connection.getpeercert()["subjectAltName"]
    assert names == (("DNS", "localhost"), ("IP Address", "127.0.0.1"))
    other = ssl.create_default_context()
    with socket.create_connection(("127.0.0.1", server.port), 10) as plain, pytest.raises(ssl.SSLError):
        other.wrap_socket(plain, server_hostname="127.0.0.1")


def test_it_listens_on_loopback_only(server):
    listening = _listening(server.port)
    assert listening == {"127.0.0.1"}


def _listening(port):
    """Addresses on which this machine takes connections to a port, of those that it has."""
    addresses = {"127.0.0.1", *(info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET))}
    found = set()
    for address in addresses:
        with socket.socket() as attempt:
            attempt.settimeout(5)
            if attempt.connect_ex((address, port)) == 0:
                found.add(address)
    return found


def test_what_opens_the_cluster_is_for_its_owner_only(server):
    kubeconfig = Identity(server.folder).write_kubeconfig(server.port)
    for name in ("token", "server.key", kubeconfig.name):
        assert stat.S_IMODE((server.folder / name).stat().st_mode) == 0o600, name
    assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700
    document = yaml.safe_load(kubeconfig.read_text())
    assert document["clusters"][0]["cluster"]["server"] == f"https://127.0.0.1:{server.port}"
    with Api.of(kubeconfig) as api:
        assert api.get("/version")["major"] == "1"


def test_nobody_acts_as_somebody_else(api):
    answer = api.ask("GET", PODS, Impersonate_User="bob")
    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
    assert api.ask("GET", "/apis", Impersonate_User="bob").code == 200
    for header in ("Impersonate_Group", "Impersonate_Uid", "Impersonate_Extra_scopes"):
        assert api.ask("GET", PODS, **{header: "system:masters"}).code == 403


# --- bad input ---


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        (b"", 400, "unexpected end of JSON input"),
        (b"{", 400, "unexpected"),
        (b"nonsense", 400, "the object provided is unrecognized (must be of type ConfigMap)"),
        (b"[]", 400, "cannot unmarshal array"),
        (b'"text"', 400, "cannot unmarshal string"),
        (b'{"metadata": 7}', 400, "cannot unmarshal number"),
        (b'{"data": ["a"]}', 400, "cannot unmarshal array"),
        (b'{"data": {"a": 7}}', 400, "cannot unmarshal number into Go struct field ConfigMap.data of type string"),
        (b'{"kind": "Pod", "apiVersion": "v1"}', 400, "Pod in version"),
        (b'{"metadata": {"name": "a\\u0000b"}}', 422, "a lowercase RFC 1123 subdomain"),
        (b'{"metadata": {"name": "' + b"x" * 300 + b'"}}', 422, "must be no more than 253"),
        (b"\xff\xfe", 400, ""),
        (b"{" * 100_000, 400, ""),
        (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, 400, ""),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_body_that_cannot_be_used_is_refused(api, body, code, words):
    answer = api.ask("POST", MAPS, body)
    assert (answer.code, answer.body["kind"], answer.body["status"]) == (code, "Status", "Failure"), answer.body
    assert words in answer.body["message"]


_DEEP = 100_000
_LONG = "9" * 5_000
_YAML, _APPLY = "application/yaml", "application/apply-patch+yaml"
_MERGES = ("application/merge-patch+json", "application/strategic-merge-patch+json")


def _nested(levels=_DEEP):
    return b'{"apiVersion":"v1","kind":"ConfigMap","data":' + b'{"a":' * levels + b"1" + b"}" * levels + b"}"


def test_a_body_of_no_type_is_json(api):
    assert api.ask("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "untyped"}}, content_type="").code == 201


@pytest.mark.parametrize("content_type", ["application/json", _YAML])
def test_what_is_nested_too_deep_is_refused(api, content_type):
    assert api.ask("POST", MAPS, _nested(), content_type=content_type).code == 400


@pytest.mark.parametrize(
    "body",
    [
        _nested(),
        b"apiVersion: v1\nkind: ConfigMap\ndata: " + b"[" * _DEEP + b"]" * _DEEP,
        b"apiVersion: v1\nkind: ConfigMap\ndata:\n" + b"- " * _DEEP + b"x",
        b"apiVersion: v1\nkind: ConfigMap\ndata:\n" + b"? " * _DEEP + b"x",
        b"\n".join(b" " * level + b"a:" for level in range(2_400)),
        ("[" * _DEEP + "]" * _DEEP).encode("utf-16"),
    ],
    ids=["object", "flow", "block", "keys", "indented", "wide"],
)
def test_so_is_what_is_applied(api, body):
    assert api.ask("PATCH", f"{MAPS}/deep?fieldManager=m", body, content_type=_APPLY).code == 400


@pytest.mark.parametrize("content_type", _MERGES)
def test_so_are_patches(api, content_type):
    api.request("POST", MAPS, config_map("patched"))
    assert api.ask("PATCH", f"{MAPS}/patched", _nested(), content_type=content_type).code == 400
    api.request("DELETE", f"{MAPS}/patched")


@pytest.mark.parametrize("query", [f"resourceVersion={_LONG}", f"watch=1&resourceVersion={_LONG}", f"limit={_LONG}"])
def test_numbers_of_thousands_of_digits_are_refused_in_queries(api, query):
    assert api.ask("GET", f"{MAPS}?{query}").code == 400


@pytest.mark.parametrize("content_type", ["application/json", _YAML])
def test_so_are_they_in_bodies(api, content_type):
    for spec, code in (
        (f'"priority":{_LONG},"containers":[]', 400),
        (f'"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{_LONG}"}}}}}}]', 400),
    ):
        body = f'{{"metadata":{{"name":"long"}},"spec":{{{spec}}}}}'.encode()
        assert api.ask("POST", PODS, body, content_type=content_type).code == code, spec[:20]
    assert api.ask("DELETE", f"{MAPS}/none", f'{{"gracePeriodSeconds":{_LONG}}}'.encode()).code == 400


def test_copies_of_copies_do_not_unfold_without_end(api):
    api.request("POST", MAPS, config_map("copied", a="x" * 1_000))
    for source in ("/data", "/data/a"):
        patch = [{"op": "copy", "from": source, "path": f"/data/b{number}"} for number in range(4_000)]
        answer = api.ask("PATCH", f"{MAPS}/copied", patch, content_type="application/json-patch+json")
        assert (answer.code, answer.body["reason"]) == (413, "RequestEntityTooLarge")
    patch = [{"op": "add", "path": f"/metadata/finalizers/{_LONG}", "value": "a/b"}]
    assert api.ask("PATCH", f"{MAPS}/copied", patch, content_type="application/json-patch+json").code == 422
    api.request("DELETE", f"{MAPS}/copied")


def test_unknown_content_types_are_refused(api):
    for content_type in ("text/plain", "application/xml", "nonsense", ""):
        answer = api.ask("POST", MAPS, config_map("never"), content_type=content_type)
        assert answer.code in (415, 201), (content_type, answer.body)
        if answer.code == 201:
            api.request("DELETE", f"{MAPS}/never")


def test_warnings_are_headers_that_clients_can_read(api):
    unknown = {"metadata": {"name": "warned"}, "colour": 1, 'quo"te\\': 2, "lin\ne": 3, "ümlaut": 4}
    answer = api.ask("POST", f"{MAPS}?fieldValidation=Warn", unknown)
    assert answer.code == 201
    told = answer.headers.get_all("Warning")
    assert told[0] == '299 - "unknown field \\"colour\\""'
    assert len(told) == 4
    many = {"metadata": {"name": "many"}, **{f"field-{number:0300d}": 1 for number in range(100)}}
    told = api.ask("POST", f"{MAPS}?fieldValidation=Warn", many).headers.get_all("Warning")
    assert sum(map(len, told)) < 8_000
    for name in ("warned", "many"):
        api.request("DELETE", f"{MAPS}/{name}")


def test_a_body_of_20_megabytes_is_refused(api):
    answer = api.ask("POST", MAPS, b"x" * (20 << 20))
    assert (answer.code, answer.body["reason"]) == (413, "RequestEntityTooLarge")
    assert answer.body["message"] == f"Request entity too large: limit is {LARGEST}"


def test_so_is_one_that_does_not_say_how_long_it_is(api):
    connection = api.connection()
    connection.request(
        "POST", MAPS, body=(b"x" * (1 << 20) for _ in range(20)), headers=api.headers(), encode_chunked=True
    )
    assert connection.getresponse().status == 413
    connection.close()


def test_so_is_one_that_is_only_announced(api):
    answer = raw(api, head(api, "POST", MAPS, Content_Length=str(20 << 20)) + b"{")
    assert answer.startswith(b"HTTP/1.1 413")


def test_a_body_just_below_the_limit_is_taken(api):
    body = json.dumps(config_map("large", a="x" * 1_000_000))
    assert api.ask("POST", MAPS, (body + " " * (LARGEST - len(body))).encode()).code == 201
    assert api.ask("POST", MAPS, (body + " " * (LARGEST - len(body) + 1)).encode()).code == 413
    api.request("DELETE", f"{MAPS}/large")


def test_a_body_is_never_unpacked(api):
    """As Kubernetes; 1 MB would become 1 GB, and a server that unpacks it hears nobody meanwhile."""
    packed = {"Content_Encoding": "gzip"}
    fine = gzip.compress(json.dumps(config_map("packed")).encode())
    for body in (fine, fine[:-9], b"\x1f\x8bno", b""):
        answer = api.ask("POST", MAPS, body, **packed)
        assert (answer.code, answer.body["reason"]) == (400, "BadRequest")
    assert api.ask("POST", MAPS, config_map("packed"), **packed).code == 201
    api.request("DELETE", f"{MAPS}/packed")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-Flood-%d: x\r\n" % number for number in range(20_000)) + b"\r\n",
        b"GET / HTTP/1.1\r\nX-Long: " + b"x" * (2 << 20) + b"\r\n\r\n",
        b"GET /" + b"x" * (2 << 20) + b" HTTP/1.1\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"\x00" * 1000,
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /api HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_no_request_is_cut_off_or_refused(api, request_bytes):
    answer = raw(api, request_bytes)
    assert answer == b"" or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4", b"HTTP/1.1 5")), answer[:200]


# --- connections ---


def test_a_thousand_idle_connections_are_no_harm(api):
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < 2_000:
        pytest.skip(f"this process may open {most} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, 2_000), most))
    with ThreadPoolExecutor(32) as pool:
        idle = list(pool.map(lambda _: connected(api), range(1_000)))
    try:
        started = time.monotonic()
        assert api.ask("POST", MAPS, config_map("busy")).code == 201
        assert api.ask("DELETE", f"{MAPS}/busy").code == 200
        assert time.monotonic() - started < 5
    finally:
        for connection in idle:
            connection.close()


async def test_a_connection_on_which_nothing_is_asked_is_ended(tmp_path):
    identity = Identity(tmp_path / "cluster")
    server = make_server(Store(), Chance(), token=identity.token)
    async with serve(server, host="127.0.0.1", port=0, tls=identity.tls(), idle_seconds=0.01) as port:
        trust = ssl.create_default_context(cafile=tmp_path / "cluster" / "ca.crt")
        for sent in (b"", b"GET /version HTTP/1.1\r\nHost: "):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
            writer.write(sent)
            async with asyncio.timeout(30):
                assert await reader.read() == b""
            writer.close()


def test_one_connection_serves_many_requests(api):
    api.get("/version")
    before = api._connection.sock
    for number in range(20):
        api.request("POST", MAPS, config_map(f"kept-{number}"))
        api.request("DELETE", f"{MAPS}/kept-{number}")
    assert api.ask("GET", f"{MAPS}/nothing").code == 404
    assert api._connection.sock is before


def test_pipelined_requests_are_answered_in_order(api):
    paths = ["/version", f"{MAPS}/nothing", "/api", "/healthz"]
    answer = raw(api, b"".join(head(api, "GET", path) for path in paths))
    assert [line.split()[1] for line in answer.splitlines() if line.startswith(b"HTTP/1.1")] == [
        b"200",
        b"404",
        b"200",
        b"200",
    ]
    assert answer.index(b'"major"') < answer.index(b'"NotFound"') < answer.index(b"APIVersions")


def test_head_has_no_body(api):
    """Kubernetes refuses it; whatever is said to it, it must not bring the connection out of step."""
    answer = raw(api, head(api, "HEAD", "/version") + head(api, "GET", "/healthz"))
    assert answer.count(b"HTTP/1.1 ") == 2
    assert answer.endswith(b"ok")


def test_methods_that_nobody_knows_are_refused(api):
    for method in ("BREW", "TRACE", "OPTIONS", "CONNECT"):
        assert b" 4" in raw(api, head(api, method, PODS)).split(b"\r\n", 1)[0], method


def test_paths_may_be_encoded(api):
    api.request("POST", MAPS, config_map("with.dot-and-dash"))
    assert api.get("/api/v1/namespaces/def%61ult/configmaps/with%2Edot%2dand-dash")["metadata"]["name"]
    assert api.ask("GET", "/api/v1/namespaces/default/configmaps/a%2Fb").code == 404
    assert api.ask("GET", "/api/v1/namespaces/default/configmaps/%ff%00").code == 404
    assert api.ask("GET", "/api/v1/namespaces/default/configmaps/%zz").code in (400, 404)
    assert api.ask("GET", "/api/v1/namespaces/../nodes").code in (400, 404)
    named = api.get(f"{MAPS}?fieldSelector=metadata.name%3Dwith.dot-and-dash&labelSelector=%21nothing")["items"]
    assert [one["metadata"]["name"] for one in named] == ["with.dot-and-dash"]
    api.request("DELETE", f"{MAPS}/with.dot-and-dash")


def test_selectors_may_be_long(api):
    several = ",".join(f"name-{number}" for number in range(20_000))
    assert api.get(f"{MAPS}?labelSelector=name+in+({several})")["items"] == []


def test_clients_that_vanish_while_they_ask_are_no_harm(api):
    for _ in range(20):
        with connected(api) as connection:
            connection.sendall(head(api, "POST", MAPS, Content_Length="1000") + b'{"metadata": {"name": "half"')
    with socket.create_connection(("127.0.0.1", api.port), 10):
        pass
    assert api.ask("GET", f"{MAPS}/half").code == 404


def test_a_write_whose_client_has_gone_is_done_whole(api):
    body = json.dumps(config_map("orphan")).encode()
    connection = connected(api)
    connection.sendall(head(api, "POST", MAPS, Content_Length=str(len(body)), Content_Type="application/json") + body)
    connection.close()
    until(lambda: api.ask("GET", f"{MAPS}/orphan").code == 200, "it was not made")
    api.request("DELETE", f"{MAPS}/orphan")


# --- watches ---


def test_clients_that_vanish_while_they_watch_are_forgotten(server, api):
    before = _open_files(server)
    for _ in range(50):
        with api.watch(MAPS) as watch:
            # without a word
            watch.socket.shutdown(socket.SHUT_RDWR)
    for number in range(5):
        api.request("POST", MAPS, config_map(f"told-{number}"))
        api.request("DELETE", f"{MAPS}/told-{number}")
    until(lambda: _open_files(server) <= before + 2, lambda: f"{_open_files(server)} files are open, not {before}")


def _open_files(server):
    if not os.path.isdir(f"/proc/{server.pid}/fd"):
        pytest.skip("cannot be counted here")
    return len(os.listdir(f"/proc/{server.pid}/fd"))


def test_a_watch_ends_when_its_time_is_over(api):
    started = time.monotonic()
    with api.watch(MAPS, timeoutSeconds=1) as watch:
        assert watch.rest() == []
    assert 0.9 < time.monotonic() - started < 10


def test_a_watch_is_told_at_once(api):
    with api.watch(MAPS) as watch:
        api.request("POST", MAPS, config_map("told"))
        event = watch.next()
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "told")
        api.request("DELETE", f"{MAPS}/told")
        assert watch.next()["type"] == "DELETED"


def test_a_watch_from_before_the_beginning_is_too_old(api):
    with api.watch(MAPS, resourceVersion=1) as watch:
        (event,) = watch
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")


def test_a_watcher_that_does_not_read_is_cut_and_holds_up_nobody(tmp_path):
    with Server(tmp_path / "cluster", "--ephemeral") as server, server.api() as api:
        with api.watch(MAPS) as slow, api.watch(MAPS) as quick:
            api.request("POST", MAPS, config_map("large"))
            before = _open_files(server)
            assert quick.next()["type"] == "ADDED"
            # as much as the server keeps for one who does not read, and then some
            for number in range(90):
                patch = {"data": {"a": f"{number:03d}" + "x" * 1_000_000}}
                api.request("PATCH", f"{MAPS}/large", patch, content_type="application/merge-patch+json")
                assert quick.next()["object"]["data"]["a"].startswith(f"{number:03d}")
            until(lambda: _open_files(server) < before, "it is not cut")
            with pytest.raises((http.client.IncompleteRead, ConnectionError, ssl.SSLError)):
                slow.rest()
        assert server.is_running
        assert server.complaints == []


# --- its end ---


def _memory(server):
    """Megabytes that the process has."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not say how large a process is")
def test_watchers_that_do_not_read_cost_no_copies_of_what_is_there(tmp_path):
    with Server(tmp_path / "cluster", "--ephemeral") as server, server.api() as api, ExitStack() as stack:
        for number in range(40):
            api.request("POST", MAPS, config_map(f"large-{number}", text="x" * 1_000_000))
        before = _memory(server)
        watches = [stack.enter_context(api.watch(MAPS)) for _ in range(8)]
        assert all(watch.next()["object"]["metadata"]["name"] == "large-0" for watch in watches)
        api.get("/version")
        # 40 MB for each, if all of it were ready to be sent
        assert _memory(server) - before < 100
        # and whoever reads gets everything, and what came meanwhile
        api.request("DELETE", f"{MAPS}/large-0")
        events = iter(watches[0])
        names = [next(events)["object"]["metadata"]["name"] for _ in range(40)]
        assert names == [*sorted(f"large-{number}" for number in range(1, 40)), "large-0"]


@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "its input ends"])
def test_it_ends_at_once_and_ends_its_watches_cleanly(tmp_path, how):
    with Server(tmp_path / "cluster", "--ephemeral") as server, server.api() as api:
        api.request("POST", MAPS, config_map("one"))
        with api.watch(MAPS) as watch, api.watch(PODS) as silent:
            assert watch.next()["object"]["metadata"]["name"] == "one"
            started = time.monotonic()
            if how == "its input ends":
                server.close_input()
            else:
                server.send(getattr(signal, how))
            assert watch.rest() == []
            assert silent.rest() == []
            assert server.wait(10) == 0
            assert time.monotonic() - started < 2
        assert server.complaints == []


def test_clients_that_do_nothing_do_not_hold_up_its_end(tmp_path):
    with Server(tmp_path / "cluster", "--ephemeral") as server, server.api() as api:
        idle = [connected(api) for _ in range(50)]
        with api.watch(MAPS):
            for number in range(10):
                api.request("POST", MAPS, config_map(f"unread-{number}", a="x" * 1_000_000))
            started = time.monotonic()
            assert server.stop() == 0
            assert time.monotonic() - started < 3
        for connection in idle:
            connection.close()
        assert server.complaints == []


@pytest.mark.parametrize(("flags", "others"), [([], ["--ephemeral"]), (["--ephemeral"], [])], ids=["kept", "forgotten"])
def test_a_second_process_is_refused_the_folder(tmp_path, flags, others):
    folder = tmp_path / "folder"
    with Server(folder, *flags) as server:
        with pytest.raises(AssertionError) as refused:
            Server(folder, *others)
        (line,) = refused.value.args[0][-1:]
        assert line == f"muster: another process uses this cluster's folder (folder='{folder}')"
        assert server.is_running
    # whoever has the folder may die as he likes: it is free then
    server.kill()
    with Server(folder, *flags) as again, again.api() as api:
        assert api.get("/version")["major"] == "1"
