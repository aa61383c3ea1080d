"""What a request sends, and what comes of every way in which an answer can fail to come."""

import asyncio
import ssl
from contextlib import asynccontextmanager

import pytest

from muster.api.resources import PODS
from muster.base.errors import ApiError, KubeError, LeaseLost, Unreachable
from muster.kube.client import MERGE_PATCH, Client
from tests.kube.server import Api, Cut, Held, Reply, Stream, added, connection, page, pod, refusal, serving
from tests.kube.test_credentials_certificates import Authority

HTML = b"<html>\n<head><title>502 Bad Gateway</title></head>\n<body>\n nginx\n</body></html>\n"


class Renewing:
    """Credentials of which each refusal makes new ones; keeps what it was told."""

    def __init__(self):
        self.number = 1
        self.told = []

    async def headers(self):
        return {"Authorization": f"Bearer token-{self.number}"}

    def refused(self, sent=None):
        self.told.append(sent)
        self.number += 1


@pytest.fixture
def api():
    return Api()


@asynccontextmanager
async def client_of(api, **options):
    async with serving(api) as address, Client(connection(address, **options), user_agent="muster/test") as client:
        yield client


async def error_of(api, **options):
    async with client_of(api) as client:
        with pytest.raises(KubeError) as caught:
            await client.request("GET", "/x", **options)
    error = caught.value
    assert "\n" not in str(error)
    return error


# what is sent


async def test_the_body_of_the_answer_is_returned_as_it_is(api):
    api.on("GET", "/x", Reply(b'{"a": 1}\n'))
    async with client_of(api) as client:
        assert await client.request("GET", "/x") == b'{"a": 1}\n'


async def test_a_request_names_the_program_and_asks_for_json(api):
    api.on("GET", "/x", Reply({}))
    async with client_of(api) as client:
        await client.request("GET", "/x")
    assert api.calls[0].headers["User-Agent"] == "muster/test"
    assert api.calls[0].headers["Accept"] == "application/json"


async def test_a_body_is_sent_with_its_type(api):
    api.on("PATCH", "/x", Reply({}))
    async with client_of(api) as client:
        await client.request("PATCH", "/x", body=b"{}", content_type=MERGE_PATCH)
    assert (api.calls[0].headers["Content-Type"], api.calls[0].body) == (MERGE_PATCH, b"{}")


async def test_credentials_are_sent_with_each_request(api):
    api.on("GET", "/x", Reply({}))
    async with client_of(api, credentials=Renewing()) as client:
        await client.request("GET", "/x")
    assert api.calls[0].headers["Authorization"] == "Bearer token-1"


@pytest.mark.parametrize(
    ("namespace", "name", "sent"),
    [
        ("team", "a", "/api/v1/namespaces/team/pods/a"),
        ("team", "a/b", "/api/v1/namespaces/team/pods/a%2Fb"),
        ("team", "../nodes", "/api/v1/namespaces/team/pods/..%2Fnodes"),
        ("te am", "a?b=c", "/api/v1/namespaces/te%20am/pods/a%3Fb%3Dc"),
        ("team", "50%", "/api/v1/namespaces/team/pods/50%25"),
    ],
)
async def test_a_name_stays_one_part_of_the_path(api, namespace, name, sent):
    api.on("GET", sent, Reply({}))
    async with client_of(api) as client:
        await client.request("GET", PODS.path(namespace, name))
    assert [call.path for call in api.calls] == [sent]


@pytest.mark.parametrize("value", ["a+b/c==", "a&b=c", "ümlaut", "a b", "100%", "%2F", "#1"])
async def test_a_value_in_a_query_arrives_as_it_was_given(api, value):
    api.on("GET", "/x", Reply({}))
    async with client_of(api) as client:
        await client.request("GET", "/x", query={"continue": value})
    assert api.calls[0].query == {"continue": value}


async def test_a_server_below_a_path_is_asked_below_it(api):
    api.on("GET", "/clusters/dev/x", Reply({}))
    async with (
        serving(api) as address,
        Client(connection(address + "/clusters/dev"), user_agent="muster/test") as client,
    ):
        await client.request("GET", "/x")
    assert [call.path for call in api.calls] == ["/clusters/dev/x"]


# what is refused


async def test_a_status_becomes_an_error_with_its_fields(api):
    api.on("GET", "/x", refusal(409, 'pods "a" is\nassigned', reason="Conflict"))
    error = await error_of(api)
    assert isinstance(error, ApiError)
    assert (error.code, error.reason, error.message) == (409, "Conflict", 'pods "a" is\nassigned')
    assert str(error) == "pods \"a\" is assigned (code=409, reason='Conflict')"


@pytest.mark.parametrize(
    ("answer", "wait"),
    [
        (refusal(429), None),
        (refusal(429, headers={"Retry-After": "7"}), 7.0),
        (refusal(429, retryAfterSeconds=3), 3.0),
        (refusal(429, headers={"Retry-After": "7"}, retryAfterSeconds=3), 7.0),
        (refusal(429, headers={"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, retryAfterSeconds=3), 3.0),
        (refusal(429, headers={"Retry-After": "-1"}), None),
        (refusal(503, kind="pods"), None),
        (Reply(b"busy", 429, {"Retry-After": "2"}), 2.0),
    ],
)
async def test_how_long_to_wait_is_read_from_the_header_and_else_from_the_details(api, answer, wait):
    api.on("GET", "/x", answer)
    error = await error_of(api)
    assert error.retry_after == wait


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (HTML, "<html> <head><title>502 Bad Gateway</title></head>"),
        (b"", "Bad Gateway"),
        (b"upstream is down\r\n", "upstream is down"),
        (b'"a string"', '"a string"'),
        (b"[]", "[]"),
        (b'{"message": 7}', '{"message": 7}'),
        (b"\xff\xfe broken", "broken"),
        (b"x" * 100_000, "xxx"),
    ],
)
async def test_an_answer_that_is_no_status_is_quoted_in_one_line_of_bounded_length(api, body, said):
    api.on("GET", "/x", Reply(body, 502, {"Content-Type": "text/html"}))
    error = await error_of(api)
    assert isinstance(error, ApiError)
    assert (error.code, error.reason, error.retry_after) == (502, "", None)
    assert said in str(error)
    assert len(str(error)) < 700


@pytest.mark.parametrize("code", [301, 302, 307])
async def test_a_redirect_is_a_refusal_because_api_servers_send_none(api, code):
    api.on("GET", "/x", Reply(b"<a>log in</a>", code, {"Location": "/login"}))
    assert (await error_of(api)).code == code


async def test_a_redirect_is_not_followed(api):
    api.on("GET", "/x", Reply(b"", 302, {"Location": "/login"}))
    async with client_of(api, credentials=Renewing()) as client:
        with pytest.raises(ApiError):
            await client.request("GET", "/x")
    assert [call.path for call in api.calls] == ["/x"]


# credentials that are refused


async def test_a_401_renews_the_credentials_and_sends_once_more(api):
    api.on("POST", "/x", refusal(401), Reply({"done": True}))
    credentials = Renewing()
    async with client_of(api, credentials=credentials) as client:
        assert await client.request("POST", "/x", body=b"{}") == b'{"done": true}'
    assert [call.headers["Authorization"] for call in api.calls] == ["Bearer token-1", "Bearer token-2"]
    assert [call.body for call in api.calls] == [b"{}", b"{}"]


async def test_a_second_401_is_an_error(api):
    api.on("GET", "/x", refusal(401, "Unauthorized", reason="Unauthorized"))
    credentials = Renewing()
    async with client_of(api, credentials=credentials) as client:
        with pytest.raises(ApiError) as caught:
            await client.request("GET", "/x")
    assert caught.value.code == 401
    assert len(api.calls) == 2


async def test_a_watch_that_is_refused_renews_the_credentials_too(api):
    api.on("WATCH", "/x", refusal(401), Stream().end())
    async with (
        client_of(api, credentials=Renewing()) as client,
        client.stream("/x", query={"watch": "true"}, seconds=5) as pieces,
    ):
        assert [piece async for piece in pieces] == []
    assert len(api.calls) == 2


async def test_credentials_are_told_which_of_them_were_refused(api):
    api.on("GET", "/x", refusal(401), Reply({}))
    credentials = Renewing()
    async with client_of(api, credentials=credentials) as client:
        await client.request("GET", "/x")
    assert [sent["Authorization"] for sent in credentials.told] == ["Bearer token-1"]


@pytest.mark.parametrize("code", [400, 403, 404, 409, 429, 500, 503])
async def test_nothing_else_is_sent_again(api, code):
    api.on("GET", "/x", refusal(code))
    assert (await error_of(api)).code == code
    assert len(api.calls) == 1


# no answer


async def test_a_port_where_nobody_listens_is_named(api):
    async with serving(api) as address:
        pass
    async with Client(connection(address), user_agent="muster/test") as client:
        with pytest.raises(Unreachable) as caught:
            await client.request("GET", "/x")
    assert str(caught.value) == f"cannot connect to {address}: Connection refused; is the API server running?"


@pytest.mark.parametrize(
    ("cut", "said"), [(Cut(), "broke: "), (Cut(after=b'{"items": ['), "broke in the middle of an answer")]
)
async def test_a_connection_that_is_cut_is_unreachable(api, cut, said):
    # a request that may be repeated is sent twice on a connection that was used before; this one is new
    api.on("POST", "/x", cut)
    async with client_of(api) as client:
        with pytest.raises(Unreachable, match=rf"the connection to .* {said}") as caught:
            await client.request("POST", "/x", body=b"{}")
    assert "\n" not in str(caught.value)
    assert len(api.calls) == 1


async def test_a_server_that_takes_too_long_is_unreachable(api):
    api.on("GET", "/x", Held(Reply({})))
    error = await error_of(api, seconds=0.05)
    assert isinstance(error, Unreachable)
    assert "did not answer in time" in str(error)


async def test_a_stream_that_is_silent_for_too_long_is_unreachable(api):
    api.on("WATCH", "/x", Stream(added(pod("a"))))
    got = []

    async def follow(client):
        async with client.stream("/x", query={"watch": "true"}, seconds=0.05) as pieces:
            async for piece in pieces:
                got.append(piece)

    async with client_of(api) as client:
        with pytest.raises(Unreachable, match="did not answer in time"):
            await follow(client)
    assert len(got) == 1


async def test_a_stream_whose_answer_does_not_begin_is_unreachable(api):
    api.on("WATCH", "/x", Held(Stream()))
    async with client_of(api) as client:
        with pytest.raises(Unreachable, match="did not answer in time"):
            async with (
                asyncio.timeout(10),
                client.stream("/x", query={"watch": "true"}, seconds=60, begins_seconds=0.05),
            ):
                pass


async def test_tls_to_a_server_that_speaks_none_says_so(api):
    async with serving(api) as address:
        secure = address.replace("http:", "https:")
        async with Client(connection(secure, tls=ssl.create_default_context()), user_agent="muster/test") as client:
            with pytest.raises(Unreachable) as caught:
                await client.request("GET", "/x")
    assert str(caught.value).startswith(f"no TLS connection to {secure}: ")
    assert str(caught.value).endswith("is it a Kubernetes API server, and is https right?")
    assert "\n" not in str(caught.value)


async def test_a_plain_request_to_a_server_that_speaks_tls_is_an_error_in_one_line(api, tmp_path):
    async with serving(api, tls=server_tls(Authority(), tmp_path)) as address:
        plain = address.replace("https:", "http:")
        async with Client(connection(plain), user_agent="muster/test") as client:
            with pytest.raises(Unreachable) as caught:
                await client.request("GET", "/x")
    assert "\n" not in str(caught.value)


async def test_a_certificate_of_a_stranger_is_not_trusted(api, tmp_path):
    async with serving(api, tls=server_tls(Authority(), tmp_path)) as address:
        trusting = ssl.create_default_context(cadata=Authority().pem.decode())
        async with Client(connection(address, tls=trusting), user_agent="muster/test") as client:
            with pytest.raises(Unreachable) as caught:
                await client.request("GET", "/x")
    assert f"the certificate of {address} cannot be trusted: " in str(caught.value)
    assert "certificate-authority" in str(caught.value)


# leave to write


async def test_a_client_without_leave_to_write_sends_no_change(api):
    async with client_of(api) as client:
        silent = client.writing_while(lambda: False)
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            with pytest.raises(LeaseLost):
                await silent.request(method, "/x", body=b"{}")
    assert api.calls == []


async def test_reading_needs_no_leave(api):
    api.on("GET", "/x", Reply({}))
    async with client_of(api) as client:
        await client.writing_while(lambda: False).request("GET", "/x")
    assert len(api.calls) == 1


async def test_leave_is_asked_for_after_the_credentials_came(api):
    """An exec plugin may take longer than a lease lasts."""
    leave = [True]

    class Slow(Renewing):
        async def headers(self):
            leave[0] = False
            return await super().headers()

    async with client_of(api, credentials=Slow()) as client:
        with pytest.raises(LeaseLost):
            await client.writing_while(lambda: leave[0]).request("POST", "/x", body=b"{}")
    assert api.calls == []


async def test_the_client_itself_may_go_on_writing(api):
    api.on("POST", "/x", Reply({}))
    async with client_of(api) as client:
        client.writing_while(lambda: False)
        await client.request("POST", "/x", body=b"{}")
    assert len(api.calls) == 1


# streams


async def test_a_stream_gives_what_has_come_without_waiting_for_more(api):
    stream = Stream(added(pod("a")))
    api.on("WATCH", "/x", stream)
    async with client_of(api) as client, client.stream("/x", query={"watch": "true"}, seconds=5) as pieces:
        assert b'"a"' in await anext(pieces)
        stream.send(added(pod("b")))
        assert b'"b"' in await anext(pieces)


async def test_a_stream_that_is_left_frees_its_connection(api):
    stream = Stream(added(pod("a")))
    api.on("WATCH", "/x", stream)
    async with client_of(api) as client:
        async with client.stream("/x", query={"watch": "true"}, seconds=5) as pieces:
            await anext(pieces)
        async with asyncio.timeout(5):
            await stream.closed.wait()


async def test_a_stream_that_is_refused_raises_before_it_begins(api):
    api.on("WATCH", "/x", refusal(410, reason="Expired"))
    async with client_of(api) as client:
        with pytest.raises(ApiError) as caught:
            async with client.stream("/x", query={"watch": "true"}, seconds=5):
                pytest.fail("it has begun")
    assert caught.value.code == 410


async def test_each_request_is_told_to_whoever_measures(api):
    seen = []
    api.on("GET", "/x", page(), refusal(404), Cut())
    async with serving(api) as address:
        watching = Client(connection(address), user_agent="muster/test", observe=lambda *what: seen.append(what))
        async with watching as client:
            await client.request("GET", "/x")
            with pytest.raises(ApiError):
                await client.request("GET", "/x")
            with pytest.raises(Unreachable):
                await client.request("GET", "/x")
    assert [what[:2] for what in seen] == [("GET", 200), ("GET", 404), ("GET", 0)]
    assert all(what[2] >= 0 for what in seen)


def server_tls(authority, folder):
    """For localhost, signed by an authority that only the test knows."""
    certificate, key = authority.issue("localhost")
    path = folder / "server.pem"
    path.write_bytes(certificate + key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


# connections


async def test_connections_are_opened_before_they_are_needed(api):
    gates = [Held(Reply({})) for _ in range(5)]
    api.on("GET", "/version", *gates, refusal(403))
    async with client_of(api) as client:
        opening = asyncio.create_task(client.open_ahead(6))
        while len(api.calls) < 6:
            await asyncio.sleep(0)
        opened = set(client._sockets)
        assert len(opened) == 6
        for held in gates:
            held.gate.set()
        await opening
        api.on("GET", "/x", Reply({}))
        await asyncio.gather(*(client.request("GET", "/x") for _ in range(6)))
        assert set(client._sockets) == opened


async def test_a_server_that_is_gone_is_no_reason_not_to_begin(api):
    async with client_of(api) as client:
        api.on("GET", "/version", Cut())
        await client.open_ahead(3)
