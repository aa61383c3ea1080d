"""How fast the embedded API server is, beside the real one on the same machine in the same run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack

import msgspec

from benchmarks.local.servers import Client, Serving, embedded, real, real_is_there
from benchmarks.report import line, title

_PODS = 2_000
_ROUNDS = 3
_MANY = 10_000
_WATCHERS = (50, 200)
_PODS_WATCHED = 500


Maker = Callable[[], AbstractContextManager[Serving]]


class _Rates(msgspec.Struct):
    creates: list[float] = []
    binds: list[float] = []


def server() -> None:
    title(f"API server over TLS, log on disk, one watch on all pods, {_PODS:,} pods, 32 calls in flight, medians of 3")
    makers: list[Maker] = [embedded, real] if real_is_there() else [embedded]
    rates = _rates(makers)
    for name, rate in rates.items():
        line(name, f"{_median(rate.creates):7,.0f} creates/s", f"{_median(rate.binds):7,.0f} binds/s")
    if len(rates) == 2:
        ours, theirs = rates.values()
        creates = [mine / other for mine, other in zip(ours.creates, theirs.creates, strict=True)]
        binds = [mine / other for mine, other in zip(ours.binds, theirs.binds, strict=True)]
        line("embedded against kube-apiserver", f"{_median(creates):.2f} × creates", f"{_median(binds):.2f} × binds")
    else:
        line("kube-apiserver", "not built: make control-plane")
    for maker in makers:
        _crowd(maker)


def _rates(makers: Sequence[Maker]) -> dict[str, _Rates]:
    """In turns, so that a busy moment of the machine hits both."""
    rates: dict[str, _Rates] = {}
    with ExitStack() as stack:
        servings = [stack.enter_context(maker()) for maker in makers]
        clients = {one.name: stack.enter_context(Client(one)) for one in servings}
        watchers = [stack.enter_context(Client(one)) for one in servings]
        for watcher in watchers:
            watcher.seconds("watch", 1)
        for number in range(-1, _ROUNDS):
            for name, client in clients.items():
                # the first round warms both up
                count = 200 if number < 0 else _PODS
                create = count / client.seconds("create", count, f"r{number + 1}")
                bind = count / client.seconds("bind", count, f"r{number + 1}")
                client.seconds("clear")
                if number >= 0:
                    found = rates.setdefault(name, _Rates())
                    found.creates.append(create)
                    found.binds.append(bind)
    return rates


def _crowd(maker: Maker) -> None:
    """Many pods, then many watchers."""
    with maker() as serving, Client(serving) as client, Client(serving) as watcher:
        client.seconds("create", 200, "warm")
        before = serving.memory_mb()
        client.seconds("create", _MANY, "many")
        held = serving.memory_mb()
        listed = client.seconds("list", 3) / 3
        line(
            f"{serving.name}: {_MANY:,} pods",
            f"listed in {listed * 1000:,.0f} ms",
            f"{held:,.0f} MB held, {held - before:,.0f} MB of them for the pods",
        )
        client.seconds("clear")
        for count in _WATCHERS:
            watcher.seconds("watch", count)
            rate = _PODS_WATCHED / client.seconds("create", _PODS_WATCHED, f"w{count}")
            line(f"{serving.name}: {count} watchers on all pods", f"{rate:7,.0f} creates/s")


def _median(values: list[float]) -> float:
    return statistics.median(values)


BENCHMARKS = {"server": server}
