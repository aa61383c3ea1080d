"""The proxy with which tests cut connections leaves none of its own behind."""

import gc
import socket
import threading
import warnings

from tests.control_plane.cutting_proxy import CuttingProxy


def test_a_proxy_that_ends_while_clients_connect_closes_every_connection():
    # nobody accepts there: all must fit, or the proxy would wait in vain to be let in
    listening = socket.create_server(("127.0.0.1", 0), backlog=4096)
    with listening as server, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ResourceWarning)
        with CuttingProxy(f"https://127.0.0.1:{server.getsockname()[1]}") as proxy:
            clients = [threading.Thread(target=connect_until_refused, args=(proxy.port,)) for _ in range(4)]
            for client in clients:
                client.start()
        for client in clients:
            client.join()
        gc.collect()
    assert [str(warning.message) for warning in said] == []


def connect_until_refused(port):
    # not without end: on a busy machine they would never let the proxy rest
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return
