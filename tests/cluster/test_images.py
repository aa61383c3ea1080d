"""Which nodes have which images."""

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.api.wire import ContainerImage, Node, read
from muster.cluster.cluster import Cluster
from tests.builders import node

NAMES = ["a:1", "b:1", "b@sha256:0", "c:1"]
IMAGES = st.lists(st.tuples(st.lists(st.sampled_from(NAMES), max_size=2), st.integers(1, 3)), max_size=4)
CHANGES = st.lists(st.tuples(st.integers(0, 70), st.none() | IMAGES), max_size=30)


def table(*nodes):
    cluster = Cluster(states={})
    for found in nodes:
        cluster.put_node(found)
    return cluster


def having(cluster, name):
    """Names of the nodes, and the size."""
    found = cluster.nodes.images.having(name)
    if found is None:
        return None
    rows, size = found
    return {each for each, row in cluster.nodes.rows.items() if rows[row]}, size


@settings(derandomize=True, max_examples=150, deadline=None)
@given(CHANGES)
def test_the_columns_have_what_the_nodes_say(changes):
    cluster, told = table(), {}
    for number, images in changes:
        name = f"n{number:02}"
        if images is None:
            cluster.remove_node(name)
            told.pop(name, None)
            continue
        listed = [{"names": names, "sizeBytes": size} for names, size in images]
        cluster.put_node(read(Node, {"metadata": {"name": name}, "status": {"images": listed}}))
        told[name] = {}
        for names, size in images:
            for each in names:
                told[name].setdefault(each, size)
    for each in NAMES:
        there = {name for name, sizes in told.items() if each in sizes}
        largest = max((sizes[each] for sizes in told.values() if each in sizes), default=0)
        assert having(cluster, each) == ((there, largest) if there else None)
        assert having(twin(cluster), each) == having(cluster, each)
        assert (each in cluster.nodes.images) is bool(there)


def twin(cluster):
    copied = table()
    copied.nodes = cluster.nodes.copy()
    return copied


def test_a_copy_changes_on_its_own():
    cluster = table(node("n", images={"a:1": 1}))
    copied = twin(cluster)
    copied.put_node(node("n", images={"b:1": 1}))
    assert having(cluster, "a:1") == ({"n"}, 1 << 20)
    assert having(copied, "a:1") is None


def test_numbers_of_images_that_are_gone_are_given_again():
    cluster = table(node("n"))
    for number in range(1000):
        cluster.put_node(node("n", images={f"job:{number}": 1}))
    assert max(cluster.nodes.images._known) <= 2


def test_nothing_is_counted_anew_while_images_stay_as_they_are():
    cluster = table(node("n", images={"a:1": 1}))
    before = cluster.nodes.images.epoch
    cluster.put_node(node("n", images={"a:1": 1}, labels={"x": "y"}))
    assert cluster.nodes.images.epoch == before


def test_nodes_share_the_images_that_they_list_alike():
    text = b'{"metadata": {"name": "n"}, "status": {"images": [{"names": ["a:1"], "sizeBytes": 5}]}}'
    one, other = read(Node, text), read(Node, text)
    assert one.status.images == (ContainerImage(names=("a:1",), size_bytes=5),)
    assert one.status.images[0] is other.status.images[0]
