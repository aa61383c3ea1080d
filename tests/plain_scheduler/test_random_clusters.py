"""Random clusters leave out what kube-scheduler and Muster are known to see differently."""

from itertools import combinations

import pytest

from tests.plain_scheduler.random_clusters import surroundings, world
from tests.plain_scheduler.random_priorities import ranked
from tests.plain_scheduler.requests import host_ports

SURROUNDINGS = surroundings()


def with_one_port(world):
    """Pairs of pods on one node that have the same port: (who came first, who came then)."""
    pods = [SURROUNDINGS.admitted(pod) for pod in world.placed]
    return [
        (one["metadata"]["name"], other["metadata"]["name"])
        for one, other in combinations(pods, 2)
        if one["spec"]["nodeName"] == other["spec"]["nodeName"] and set(host_ports(one)) & set(host_ports(other))
    ]


# kube-scheduler and Muster differed in these: it forgets a port with the first that goes
@pytest.mark.parametrize("seed", [10856, 15348, 20034, 29596, 38494])
def test_who_has_ended_had_no_port_that_one_before_it_still_has(seed):
    found = world(seed)
    assert not [pair for pair in with_one_port(found) if pair[1] in found.ended]


@pytest.mark.parametrize("seed", [5471, *range(1, 100, 2)])
def test_no_two_have_one_port_where_anybody_may_have_to_go(seed):
    assert with_one_port(ranked(world(seed))) == []


def test_others_may_have_one_port():
    assert any(with_one_port(world(seed)) for seed in range(0, 100, 2))
