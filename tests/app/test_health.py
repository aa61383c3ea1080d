"""What probes and Prometheus are answered."""

import socket

import pytest
from aiohttp import ClientSession
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.parser import text_string_to_metric_families

from muster.app.health import serve
from muster.base.errors import ConfigError


def well():
    return None


async def get(path, *, healthy=well, ready=well, registry=None):
    """Status, content type and text of one answer."""
    server = serve("127.0.0.1:0", healthy=healthy, ready=ready, registry=registry or CollectorRegistry())
    async with server as port, ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, answer.headers["Content-Type"], await answer.text()


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_a_process_that_is_well_says_ok(path):
    assert await get(path) == (200, "text/plain; charset=utf-8", "ok")


@pytest.mark.parametrize("path", ["/healthz", "/livez"])
async def test_a_process_that_is_not_well_says_what_is_wrong(path):
    status, _, text = await get(path, healthy=lambda: "stalled for 70 s")
    assert (status, text) == (503, "stalled for 70 s")


async def test_a_process_that_reads_is_alive_and_not_ready():
    assert (await get("/livez", ready=lambda: "reading pods"))[0] == 200
    status, _, text = await get("/readyz", ready=lambda: "reading pods")
    assert (status, text) == (503, "reading pods")


async def test_metrics_are_told_in_the_format_that_the_content_type_names():
    registry = CollectorRegistry()
    Counter("seen", "Things seen.", registry=registry).inc(3)
    status, kind, text = await get("/metrics", registry=registry)
    assert (status, kind) == (200, "text/plain; version=1.0.0; charset=utf-8")
    (family,) = (family for family in text_string_to_metric_families(text) if family.type == "counter")
    assert [(sample.name, sample.value) for sample in family.samples if sample.name == "seen_total"] == [
        ("seen_total", 3.0)
    ]


async def test_other_paths_are_not_found():
    assert (await get("/"))[0] == 404


async def test_a_port_in_use_is_said_in_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigError) as caught:
            async with serve(address, healthy=well, ready=well, registry=CollectorRegistry()):
                pass
    message = str(caught.value)
    assert message.startswith(f"cannot listen on {address}: ")
    assert "address already in use" in message.lower()
    assert message.endswith("; choose another with --listen")
    assert "\n" not in message


async def test_the_port_is_free_again_when_the_server_is_left():
    async with serve("127.0.0.1:0", healthy=well, ready=well, registry=CollectorRegistry()) as port:
        pass
    async with serve(f"127.0.0.1:{port}", healthy=well, ready=well, registry=CollectorRegistry()) as again:
        assert again == port


async def test_an_address_that_is_not_ours_is_said_in_one_line():
    # TEST-NET-1: no machine has it
    with pytest.raises(ConfigError, match=r"^cannot listen on 192\.0\.2\.1:0: .+; choose another with --listen$"):
        async with serve("192.0.2.1:0", healthy=well, ready=well, registry=CollectorRegistry()):
            pass
