"""What a scenario expects to see: of gangs, pods and nodes, by what the API shows of them.

    expect:
      gangs: {train: {is: running, nodes: 2}, big: {is: waiting, says: "needs 9"}}
      pods: {filler: {is: running, node: n-1}}
      nodes: {n-1: {pods: [filler]}}
      order: [train, small]          # in this order they started
      evicted: [filler, gang/low]    # they made room for others, and nobody else did

An expectation is one field of one subject; docs/scenarios.md lists the fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

import msgspec

from muster.api.wire import Condition, Pod
from muster.engine.decisions import Loss
from muster.sim.scenario.actions import short
from muster.sim.scenario.place import Place
from muster.sim.scenario.record import Record, State, Unit, pod_key, scheduled_condition
from muster.sim.scenario.times import show_seconds

# events of one instant may be told a rounding error apart
_SAME_INSTANT = 1e-6

Refer = Callable[[Place, str, str], str]
"""Checks that a name of a kind ("gang", "pod", "node") is known to the file, and returns its key."""


class Seen(NamedTuple):
    held: bool
    words: str
    """What was seen, in the words of the file: "waiting"."""


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """One field of one subject."""

    where: str
    subject: str
    """ "gang train" """
    aspect: str
    wanted: str
    check: Callable[[Record], Seen]


class _Test(NamedTuple):
    wanted: str
    holds: Callable[[Record, str], Seen]
    """Given the record and the subject's key."""


def read_expectations(place: Place, refer: Refer) -> tuple[Expectation, ...]:
    """All expectations of one `expect:` block, in the order written."""
    found: list[Expectation] = []
    for name, block in place.fields(("gangs", "pods", "nodes", "order", "evicted")).items():
        if name in ("order", "evicted"):
            found.append(_order(block, refer) if name == "order" else _evicted(block, refer))
            continue
        kind = name.removesuffix("s")
        aspects = _ASPECTS[kind]
        for subject, wanted in block.called(f"expect.{name}").entries().items():
            key = refer(wanted, kind, subject)
            for aspect, value in wanted.called(f"expectation of {kind} {subject}").fields(aspects).items():
                found.append(_expectation(value, aspects[aspect], kind=kind, subject=subject, key=key))
    return tuple(found)


def _expectation(value: Place, read: Callable[[Place], _Test], *, kind: str, subject: str, key: str) -> Expectation:
    test = read(value)
    return Expectation(
        where=value.where,
        subject=f"{kind} {subject}",
        aspect=value.what,
        wanted=test.wanted,
        check=lambda record: test.holds(record, key),
    )


# --- gangs ---


def _state(place: Place) -> _Test:
    wanted = State(place.word([state.value for state in State]))
    return _gang_test(wanted.value, lambda unit: Seen(_state_of(unit) is wanted, _described(unit)))


def _never(place: Place) -> _Test:
    words = place.one_or_more()
    wanted = [State(word.word([state.value for state in State])) for word in words]

    def see(unit: Unit | None) -> Seen:
        seen = sorted(state.value for state in (unit.seen if unit else ()) if state in wanted)
        return Seen(not seen, "it was " + " and ".join(seen) if seen else "never")

    return _gang_test(", ".join(state.value for state in wanted), see)


def _count_of(count: Callable[[Unit], int]) -> Callable[[Place], _Test]:
    def read(place: Place) -> _Test:
        wanted = place.count()

        def see(unit: Unit | None) -> Seen:
            seen = count(unit) if unit else 0
            return Seen(seen == wanted, f"{seen}")

        return _gang_test(str(wanted), see)

    return read


def _time_of(moment: Callable[[Unit], float | None]) -> Callable[[Place], _Test]:
    def read(place: Place) -> _Test:
        words, holds = _moment(place)

        def see(unit: Unit | None) -> Seen:
            at = moment(unit) if unit else None
            return Seen(holds(at), "not yet" if at is None else show_seconds(at))

        return _gang_test(words, see)

    return read


def _moment(place: Place) -> tuple[str, Callable[[float | None], bool]]:
    """Whether at all, at a time, or between two."""
    if place.is_flag:
        wanted = place.flag()
        return str(wanted).lower(), lambda at: (at is not None) is wanted
    if place.is_list:
        times = [item.seconds() for item in place.items()]
        if len(times) != 2 or times[0] > times[1]:
            raise place.error(f"{place.what} must have two times, the earlier first", "write [5s, 10s]")
        first, last = times
    else:
        first = last = place.seconds()
    words = show_seconds(first) if first == last else f"between {show_seconds(first)} and {show_seconds(last)}"
    return words, lambda at: at is not None and first - _SAME_INSTANT <= at <= last + _SAME_INSTANT


def _gang_nodes(place: Place) -> _Test:
    wanted = _names_or_count(place)

    def see(unit: Unit | None) -> Seen:
        nodes = unit.nodes if unit else []
        return Seen(_matches(wanted, nodes), _listed(nodes))

    return _gang_test(_shown(wanted), see)


def _gang_evicted(place: Place) -> _Test:
    wanted = _names_or_count(place)

    def see(record: Record, key: str) -> Seen:
        pods = [pod.metadata.name for pod in record.evicted.values() if record.gang_of(pod) == key]
        return Seen(_matches(wanted, pods), _listed(pods))

    return _Test(_shown(wanted), see)


def _gang_nominated(place: Place) -> _Test:
    """So many pods, or pods on exactly these nodes."""
    wanted = _names_or_count(place)

    def see(unit: Unit | None) -> Seen:
        kept = unit.nominated if unit else {}
        nodes = sorted(set(kept.values()))
        held = nodes == wanted if isinstance(wanted, list) else len(kept) == wanted
        return Seen(held, f"{len(kept)} on {', '.join(nodes)}" if kept else "none")

    return _gang_test(_shown(wanted), see)


def _gang_is(says: Callable[[Unit], bool]) -> Callable[[Place], _Test]:
    """Whether a condition of its object is true."""

    def read(place: Place) -> _Test:
        wanted = place.flag()

        def see(unit: Unit | None) -> Seen:
            seen = unit is not None and says(unit)
            return Seen(seen is wanted, str(seen).lower())

        return _gang_test(str(wanted).lower(), see)

    return read


def _gang_reason(place: Place) -> _Test:
    return _gang_told(place, _exactly(place), lambda told: told.reason)


def _gang_says(place: Place) -> _Test:
    return _gang_told(place, _text(place), lambda told: told.message)


def _gang_told(place: Place, fits: Callable[[str], bool], part: Callable[[Condition], str]) -> _Test:
    def see(unit: Unit | None) -> Seen:
        told = part(unit.condition) if unit and unit.condition else ""
        return Seen(fits(told), f"'{told}'" if told else "nothing")

    return _gang_test(f"'{place.text()}'", see)


def _gang_test(wanted: str, see: Callable[[Unit | None], Seen]) -> _Test:
    return _Test(wanted, lambda record, key: see(record.gang(key)))


def _state_of(unit: Unit | None) -> State:
    return unit.state if unit else State.ABSENT


def _described(unit: Unit | None) -> str:
    """The state, with why it waits if it does."""
    state = _state_of(unit)
    message = unit.why[1] if unit else ""
    return f"{state} ({message})" if message and state is not State.RUNNING else state.value


# --- pods ---

_POD_STATES = ("absent", "waiting", "running", "stopping", "succeeded", "failed")


def _pod_state(place: Place) -> _Test:
    wanted = place.word(_POD_STATES)

    def see(record: Record, key: str) -> Seen:
        state = _state_of_pod(record.find_pod(key))
        return Seen(state == wanted, state)

    return _Test(wanted, see)


def _state_of_pod(pod: Pod | None) -> str:
    if pod is None:
        return "absent"
    if pod.status.phase in ("Succeeded", "Failed"):
        return pod.status.phase.lower()
    if not pod.spec.node_name:
        return "waiting"
    return "running" if pod.metadata.deletion_timestamp is None else "stopping"


def _pod_node(place: Place) -> _Test:
    wanted = sorted(item.text() for item in place.one_or_more())

    def see(record: Record, key: str) -> Seen:
        pod = record.find_pod(key)
        node = pod.spec.node_name if pod else ""
        return Seen(node in wanted, node or "none")

    return _Test(" or ".join(wanted), see)


def _pod_nominated(place: Place) -> _Test:
    """Whether at all, or to one of these nodes."""
    wanted = [] if place.is_flag else sorted(item.text() for item in place.one_or_more())
    somewhere = place.flag() if place.is_flag else True

    def see(record: Record, key: str) -> Seen:
        pod = record.find_pod(key)
        node = pod.status.nominated_node_name if pod else ""
        return Seen(node in wanted if wanted else bool(node) is somewhere, node or "none")

    return _Test(" or ".join(wanted) or str(somewhere).lower(), see)


def _pod_evicted(place: Place) -> _Test:
    wanted = place.flag()

    def see(record: Record, key: str) -> Seen:
        seen = any(pod_key(pod) == key for pod in record.evicted.values())
        return Seen(seen is wanted, str(seen).lower())

    return _Test(str(wanted).lower(), see)


def _pod_failed(place: Place) -> _Test:
    """Whether at all, or for exactly this reason."""
    wanted = place.flag() if place.is_flag else place.text()

    def see(record: Record, key: str) -> Seen:
        pod = record.find_pod(key)
        failed = pod is not None and pod.status.phase == "Failed"
        reason = pod.status.reason if pod and failed else ""
        held = failed is wanted if isinstance(wanted, bool) else failed and reason == wanted
        return Seen(held, f"'{reason}'" if reason else str(failed).lower())

    return _Test(f"'{wanted}'" if isinstance(wanted, str) else str(wanted).lower(), see)


def _pod_reason(place: Place) -> _Test:
    return _pod_told(place, _exactly(place), lambda told: told.reason)


def _pod_says(place: Place) -> _Test:
    return _pod_told(place, _text(place), lambda told: told.message)


def _pod_told(place: Place, fits: Callable[[str], bool], part: Callable[[Condition], str]) -> _Test:
    def see(record: Record, key: str) -> Seen:
        pod = record.find_pod(key)
        condition = scheduled_condition(pod) if pod else None
        told = part(condition) if condition else ""
        return Seen(fits(told), f"'{told}'" if told else "nothing")

    return _Test(f"'{place.text()}'", see)


# --- nodes, order ---


def _node_pods(place: Place) -> _Test:
    wanted = _names_or_count(place)

    def see(record: Record, key: str) -> Seen:
        pods = [pod.metadata.name for pod in record.pods_on(key)]
        return Seen(_matches(wanted, pods), _listed(pods))

    return _Test(_shown(wanted), see)


def _order(place: Place, refer: Refer) -> Expectation:
    names = place.items()
    keys = [refer(name, "gang", name.text()) for name in names]

    def check(record: Record) -> Seen:
        units = [record.gang(key) for key in keys]
        starts = [unit.started if unit else None for unit in units]
        known = [start for start in starts if start is not None]
        held = len(known) == len(starts) and all(a < b for a, b in pairwise(known))
        told = [
            f"{name.text()} {'not started' if start is None else 'at ' + show_seconds(start)}"
            for name, start in zip(names, starts, strict=True)
        ]
        return Seen(held, ", ".join(told))

    wanted = ", ".join(name.text() for name in names)
    return Expectation(where=place.where, subject="all gangs", aspect="order", wanted=wanted, check=check)


def _evicted(place: Place, refer: Refer) -> Expectation:
    """So many pods; or exactly these, and of these gangs at least one each."""
    if not place.is_list:
        count = place.count()

        def check_count(record: Record) -> Seen:
            return Seen(len(record.evicted) == count, _listed(_names_of(record)))

        return Expectation(
            where=place.where, subject="all pods", aspect="evicted", wanted=str(count), check=check_count
        )
    pods: list[str] = []
    gangs: list[str] = []
    for item in place.items():
        kind, slash, name = item.text().partition("/")
        if slash and kind == "gang":
            gangs.append(refer(item, "gang", name))
        else:
            pods.append(refer(item, "pod", item.text().removeprefix("pod/")))

    def check(record: Record) -> Seen:
        others = [pod for pod in record.evicted.values() if record.gang_of(pod) not in gangs]
        hit = {record.gang_of(pod) for pod in record.evicted.values()} >= set(gangs)
        return Seen(hit and sorted(map(pod_key, others)) == sorted(pods), _listed(_names_of(record)))

    wanted = ", ".join([*map(short, pods), *(f"gang {short(gang)}" for gang in gangs)]) or "none"
    return Expectation(where=place.where, subject="all pods", aspect="evicted", wanted=wanted, check=check)


def _names_of(record: Record) -> list[str]:
    return sorted(short(pod_key(pod)) for pod in record.evicted.values())


def _lost(place: Place) -> _Test:
    """Whether room was ever lost that others were evicted for, or that it was for this reason."""
    wanted = place.flag() if place.is_flag else Loss(place.word([loss.value for loss in Loss]))

    def see(record: Record, key: str) -> Seen:
        losses = record.losses.get(key, [])
        held = bool(losses) is wanted if isinstance(wanted, bool) else wanted in losses
        return Seen(held, ", ".join(losses) or "nothing lost")

    return _Test(str(wanted).lower(), see)


_ASPECTS: Mapping[str, Mapping[str, Callable[[Place], _Test]]] = {
    "gang": {
        "is": _state,
        "never": _never,
        "started": _time_of(lambda unit: unit.started),
        "ended": _time_of(lambda unit: unit.ended),
        "members": _count_of(lambda unit: len(unit.pods)),
        "bound": _count_of(lambda unit: len(unit.bound)),
        "stopping": _count_of(lambda unit: len(unit.stopping)),
        "pending": _count_of(lambda unit: len(unit.pending)),
        "succeeded": _count_of(lambda unit: len(unit.phase("Succeeded"))),
        "failed": _count_of(lambda unit: len(unit.phase("Failed"))),
        "nodes": _gang_nodes,
        "nominated": _gang_nominated,
        "evicted": _gang_evicted,
        "lost": _lost,
        "belowMinimum": _gang_is(lambda unit: unit.is_below),
        "disrupted": _gang_is(lambda unit: unit.is_disrupted),
        "reason": _gang_reason,
        "says": _gang_says,
    },
    "pod": {
        "is": _pod_state,
        "node": _pod_node,
        "nominated": _pod_nominated,
        "evicted": _pod_evicted,
        "lost": _lost,
        "failed": _pod_failed,
        "reason": _pod_reason,
        "says": _pod_says,
    },
    "node": {"pods": _node_pods},
}


# --- shared ---


def _text(place: Place) -> Callable[[str], bool]:
    """A part of the text, or with slashes around it a regular expression."""
    wanted = place.text()
    if len(wanted) > 2 and wanted.startswith("/") and wanted.endswith("/"):
        try:
            pattern = re.compile(wanted[1:-1])
        except re.error as error:
            raise place.error(f"{place.what} is no regular expression: {error}") from error
        return lambda text: pattern.search(text) is not None
    return lambda text: wanted in text


def _exactly(place: Place) -> Callable[[str], bool]:
    wanted = place.text()
    return lambda text: text == wanted


def _names_or_count(place: Place) -> int | list[str]:
    return sorted(item.text() for item in place.items()) if place.is_list else place.count()


def _matches(wanted: int | list[str], seen: list[str]) -> bool:
    return len(seen) == wanted if isinstance(wanted, int) else sorted(seen) == wanted


def _shown(wanted: int | list[str]) -> str:
    return str(wanted) if isinstance(wanted, int) else ", ".join(wanted) or "none"


def _listed(names: list[str]) -> str:
    return f"{len(names)} ({', '.join(names)})" if names else "none"
