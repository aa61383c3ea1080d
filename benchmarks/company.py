"""Pods that look at each other: the shapes of upstream's scheduler_perf, on the engine alone."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable

from msgspec.structs import replace

from benchmarks.calls import Calls, placements
from benchmarks.report import line, title
from benchmarks.shapes import group, nodes, pod
from muster.api.wire import Affinity, PodAffinity, PodAffinityTerm, PodSpec, PreferredPods, TopologySpread
from muster.base.selectors import LabelSelector
from muster.engine.changes import Change, PodSeen
from muster.engine.engine import Engine
from muster.plugins.defaults import default_profile

_REPEATS = 3
_HOST, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_COLOR = LabelSelector({"color": "green"})


def _term(key: str) -> PodAffinityTerm:
    return PodAffinityTerm(label_selector=_COLOR, topology_key=key)


def _required(key: str) -> PodAffinity:
    return PodAffinity(required=(_term(key),))


def _preferred(key: str) -> PodAffinity:
    return PodAffinity(preferred=(PreferredPods(weight=1, pod_affinity_term=_term(key)),))


def _spread(when: str) -> PodSpec:
    constraint = TopologySpread(max_skew=5, topology_key=_ZONE, when_unsatisfiable=when, label_selector=_COLOR)
    return PodSpec(topology_spread_constraints=(constraint,))


_SHAPES = {
    "PodAntiAffinity": (1_000, 2_000, PodSpec(affinity=Affinity(pod_anti_affinity=_required(_HOST)))),
    "PodAffinity": (5_000, 5_000, PodSpec(affinity=Affinity(pod_affinity=_required(_ZONE)))),
    "PreferredPodAffinity": (5_000, 5_000, PodSpec(affinity=Affinity(pod_affinity=_preferred(_HOST)))),
    "PreferredPodAntiAffinity": (5_000, 5_000, PodSpec(affinity=Affinity(pod_anti_affinity=_preferred(_HOST)))),
    "TopologySpreading": (5_000, 5_000, _spread("DoNotSchedule")),
    "PreferredTopologySpreading": (5_000, 5_000, _spread("ScheduleAnyway")),
}
"""Pods that are there, pods that are measured, and what all of them ask for."""


def company() -> None:
    title("lone pods of one class with rules between them, 5,000 nodes, as many pods there as upstream has")
    for name, (there, measured, rules) in _SHAPES.items():
        rates, longest = [], []
        for _ in range(_REPEATS):
            engine = _empty(5_000)
            _decide(engine, [_green(f"old-{i:05d}", i, rules) for i in range(there)], there)
            calls = _decide(engine, [_green(f"new-{i:05d}", i, rules) for i in range(measured)], measured)
            rates.append(measured / calls.spent)
            longest.append(calls.longest)
        line(name, f"{max(rates):9,.0f} pods/s", f"longest decide {min(longest) * 1000:.1f} ms")


def company_gang() -> None:
    title("one gang of 1,000 that keeps apart (hostname) and is spread over zones (maxSkew 1), 5,000 nodes")
    seconds = []
    for _ in range(_REPEATS):
        engine = _empty(5_000)
        rules = replace(
            _SHAPES["PodAntiAffinity"][2],
            topology_spread_constraints=(TopologySpread(topology_key=_ZONE, label_selector=_COLOR),),
        )
        changes: list[Change] = [group("g", 1_000)]
        changes += [_green(f"g-{i:04d}", i, rules, gang="g") for i in range(1_000)]
        seconds.append(_decide(engine, changes, 1_000).longest)
    line("decision", f"{min(seconds) * 1000:.0f} ms")


def _empty(count: int) -> Engine:
    engine = Engine(default_profile())
    engine.apply(nodes(count, random.Random(1)))
    engine.decide(0.0)
    return engine


def _green(name: str, index: int, rules: PodSpec, *, gang: str | None = None) -> PodSeen:
    made = pod(name, cpu_milli=100, memory_gib=0.5, index=index, gang=gang).pod
    labels = made.metadata.labels | {"color": "green"}
    spec = replace(made.spec, affinity=rules.affinity, topology_spread_constraints=rules.topology_spread_constraints)
    return PodSeen(replace(made, metadata=replace(made.metadata, labels=labels), spec=spec))


def _decide(engine: Engine, changes: list[Change] | list[PodSeen], pods: int) -> Calls:
    """The calls in which all of these were placed."""
    calls = Calls(engine)
    gc.collect()
    calls.apply(changes)
    placed = len(placements(calls.decide(1.0)))
    assert placed == pods, f"{placed} of {pods} placed"
    return calls


BENCHMARKS: dict[str, Callable[[], None]] = {"company": company, "company-gang": company_gang}
