"""NodePorts: who collides with whom."""

import pytest

from muster.api.wire import Container, ContainerPort
from muster.plugins.node_ports import NodePorts
from tests.builders import cluster, node, placements, pod
from tests.plugins.rating import Rating, takers

NODES = [node("n0"), node("n1")]


def port(number, ip="", protocol="TCP"):
    return ContainerPort(host_port=number, host_ip=ip, protocol=protocol)


# what is taken on n0, what is wanted, whether they collide
PORTS = [
    (port(80), port(80), True),
    (port(80), port(81), False),
    (port(80), port(80, protocol="UDP"), False),
    (port(80, protocol="UDP"), port(80, protocol="UDP"), True),
    (port(80, "10.0.0.1"), port(80, "10.0.0.1"), True),
    (port(80, "10.0.0.1"), port(80, "10.0.0.2"), False),
    (port(80, "10.0.0.1"), port(80), True),
    (port(80), port(80, "10.0.0.1"), True),
    (port(80, "0.0.0.0"), port(80, "10.0.0.1"), True),
    (port(80, "10.0.0.1"), port(80, "0.0.0.0"), True),
    (port(80, "10.0.0.1"), port(80, "10.0.0.1", "UDP"), False),
]


@pytest.mark.parametrize(("taken", "wanted", "collide"), PORTS)
def test_a_port_is_taken_once_per_address_and_protocol(taken, wanted, collide):
    left = takers(NodePorts(), NODES, pod("p", ports=[wanted]), n0=[pod("other", ports=[taken])])
    assert left == ({"n1"} if collide else {"n0", "n1"})


def test_a_port_inside_the_pod_alone_is_no_host_port():
    inside = ContainerPort(container_port=80)
    left = takers(NodePorts(), NODES, pod("p", ports=[inside]), n0=[pod("other", ports=[80])])
    assert left == {"n0", "n1"}


def test_a_node_takes_one_copy_of_a_pod_with_a_host_port():
    assert Rating([(NodePorts(), 0)], NODES, pod("p", ports=[80])).copies == {"n0": 1, "n1": 1}


def test_one_port_of_several_is_enough_to_collide():
    left = takers(NodePorts(), NODES, pod("p", ports=[80, 443]), n0=[pod("other", ports=[443])])
    assert left == {"n1"}


def test_sidecars_take_ports_and_plain_init_containers_do_not():
    world = cluster(2)
    sidecar = Container(ports=(port(80),), restart_policy="Always")
    plain = Container(ports=(port(81),))
    candidate = pod("p")
    found = world.engine.cluster.classes.of(
        type(candidate)(metadata=candidate.metadata, spec=type(candidate.spec)(init_containers=(sidecar, plain)))
    )
    assert [wanted.port for wanted in found.ports] == [80]


def test_a_port_is_free_again_when_its_pod_ends():
    world = cluster(1).pod("a", ports=[80]).run().pod("b", ports=[80])
    assert placements(world.decide()) == {}
    world.pod("a", ports=[80], on="n0", phase="Succeeded")
    assert placements(world.decide()) == {"b": "n0"}


def test_a_port_stays_taken_while_one_of_two_holders_is_left():
    # two pods that name their node themselves may hold the same port; both must go
    world = cluster(1).pod("a", ports=[80], on="n0").pod("b", ports=[80], on="n0").pod("c", ports=[80])
    world.decide()
    assert placements(world.pod_gone("a").decide()) == {}
    assert placements(world.pod_gone("b").decide()) == {"c": "n0"}


def test_ports_are_counted_again_when_a_node_changes():
    world = cluster(1).pod("a", ports=[80], on="n0").node("n0", labels={"new": "label"}).pod("b", ports=[80])
    assert placements(world.decide()) == {}


def test_ports_are_counted_when_a_node_comes_after_its_pod():
    world = cluster().pod("a", ports=[80], on="n0").node("n0").pod("b", ports=[80])
    assert placements(world.decide()) == {}


def test_a_gang_spreads_over_nodes_for_the_sake_of_its_port():
    world = cluster(3).gang("g", members=3, ports=[80])
    assert sorted(placements(world.decide()).values()) == ["n0", "n1", "n2"]
