"""The plain scheduler gives the answers that kube-scheduler 1.37.1 gave once; others agree with it where they can."""

import itertools
from operator import attrgetter

import msgspec
import pytest

from muster.api.requests import effective_requests, given
from muster.api.wire import Node, Pod
from tests.plain_scheduler import affinity, node_rules, spread
from tests.plain_scheduler.answers import RECORDED_WORLDS, answer_of, recorded
from tests.plain_scheduler.decision import decide
from tests.plain_scheduler.filters import NOT_NAMED
from tests.plain_scheduler.random_clusters import STRATEGIES, surroundings, world
from tests.plain_scheduler.requests import requests, scored_when_new
from tests.plugins import upstream

LATER = (spread.UNEVEN, spread.NO_LABEL, affinity.NOT_NEAR, affinity.TOO_NEAR, affinity.UNWANTED, node_rules.FEATURES)
"""Refusals for which a node must have passed all filters that the plain one on structs has."""
SURROUNDINGS = surroundings()
ANSWERS = {seed: list(listed) for seed, listed in itertools.groupby(recorded(), key=attrgetter("world"))}


def told(seed):
    """Pods of a world as they come to a scheduler, the cluster at that moment, and the real one's answer."""
    cluster = world(seed).cluster(SURROUNDINGS)
    for pod, answer in zip(world(seed).coming, ANSWERS[seed], strict=True):
        admitted = SURROUNDINGS.admitted(pod)
        yield admitted, cluster, answer
        if answer.node is not None:
            cluster.place(admitted, answer.node)


@pytest.mark.parametrize("seed", RECORDED_WORLDS)
def test_it_decides_as_the_real_one_did(seed):
    for pod, cluster, answer in told(seed):
        decision = decide(cluster, pod, strategy=STRATEGIES.get(pod["spec"]["schedulerName"]))
        plain = answer_of(decision, world=seed, pod=pod["metadata"]["name"])

        assert answer.agrees_with(plain), plain


@pytest.mark.parametrize("seed", RECORDED_WORLDS)
def test_the_plain_one_on_structs_agrees_where_it_has_the_rule(seed):
    for pod, cluster, _ in told(seed):
        wants = upstream.Wants(msgspec.convert(pod, Pod, strict=False))
        decision = decide(cluster, pod)
        for name, machine in cluster.machines.items():
            running = [msgspec.convert(other.pod, Pod, strict=False) for other in machine.running]
            reasons = upstream.Machine(msgspec.convert(machine.node, Node, strict=False), running).refuses(wants)
            refusal = decision.refusals.get(name)

            if refusal == NOT_NAMED:
                assert reasons
            elif refusal is None or refusal in LATER:
                assert reasons == []
            else:
                assert sorted(reasons) == sorted(refusal.reasons)


def test_muster_counts_the_requests_of_a_pod_alike():
    for seed in RECORDED_WORLDS:
        for pod, _, _ in told(seed):
            found = counted(pod)

            assert dict(found.amounts) == present(requests(pod))
            scored = {**dict(found.amounts), "cpu": found.scored_cpu_milli, "memory": found.scored_memory_bytes}
            new = scored if found.scored_when_new is None else dict(found.scored_when_new)
            assert present(new) == present(scored_when_new(pod))


def test_muster_counts_pods_that_are_being_resized_alike():
    resized = 0
    for seed in range(60):
        for machine in world(seed).cluster(SURROUNDINGS).machines.values():
            for running in machine.running:
                found = counted(running.pod)

                assert dict(found.amounts) == present(running.requests)
                scored = {name: running.scored.get(name, 0) for name in ("cpu", "memory")}
                assert (found.scored_cpu_milli, found.scored_memory_bytes) == tuple(scored.values())
                resized += dict(found.amounts) != dict(counted(without_status(running.pod)).amounts)
    assert resized > 50


def counted(pod):
    read = msgspec.convert(pod, Pod, strict=False)
    return effective_requests(read.spec, given(read.spec, read.status))


def present(amounts):
    return {name: count for name, count in amounts.items() if count}


def without_status(pod):
    return {**pod, "status": {}}
