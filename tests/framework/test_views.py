"""Views that are kept and repaired row by row equal views computed from scratch."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from muster.cluster.room import Room
from muster.framework.views import Views
from muster.plugins.defaults import default_profile
from muster.plugins.registry import FitArgs, Part, ProfileParts, default_parts, make_profile
from tests.builders import World, node, pod, tolerate

PROFILE = default_profile()
FIT = "NodeResourcesFit"
# one row more and the table grows
FULL_TABLE = 64

CANDIDATES = [
    pod("plain", cpu=1, memory="1Gi"),
    pod("bare"),
    pod("picky", cpu=1, selector={"zone": "a"}),
    pod("wishful", cpu=2, preferred={"zone=a": 10, "zone=b": 5, "disk": 1}),
    pod("tolerant", memory="2Gi", tolerations=[tolerate("soft"), tolerate("hard")]),
    pod("served", cpu=1, ports=[80]),
    pod("accelerated", cpu=1, gpu=1),
    pod("odd", cpu=1, requests={"example.com/odd": 1}),
    pod("stored", cpu=1, image="huge:1"),
    pod("stored and wishful", cpu=1, image="huge:1", preferred={"zone=a": 1}),
    pod("new", cpu=1, image="nowhere:1"),
    pod("demanding", cpu=1, restarts_all=True),
]
RUNNERS = [
    {"cpu": 2},
    {"cpu": 1, "memory": "4Gi"},
    {},
    {"cpu": 1, "ports": [80]},
    {"gpu": 1},
    {"cpu": 1, "requests": {"example.com/rare": 1}},
]
FACTS = [
    {},
    {"labels": {"zone": "a"}},
    {"labels": {"zone": "b", "disk": "ssd"}},
    {"taints": ["soft:PreferNoSchedule"]},
    {"taints": ["soft:PreferNoSchedule", "more:PreferNoSchedule"]},
    {"taints": ["hard:NoSchedule"], "labels": {"zone": "a"}},
    {"cordoned": True},
    {"cpu": 3, "memory": "4Gi", "gpu": 2},
    {"cpu": 0},
    {"resources": {"example.com/odd": 3}},
    {"images": {"huge:1": 4000}},
    {"images": {"huge:1": 5000, "other:1": 10}, "labels": {"zone": "a"}},
    {"features": ["RestartAllContainersOnContainerExits"]},
    {"images": {"huge:1": 4000}, "cordoned": True},
]
SOME_NODES = st.integers(0, 11)
CHANGES = st.one_of(
    st.tuples(st.just("run"), SOME_NODES, st.integers(0, len(RUNNERS) - 1)),
    st.tuples(st.just("end"), st.integers(0, 100), st.just(0)),
    st.tuples(st.just("describe"), SOME_NODES, st.integers(0, len(FACTS) - 1)),
    st.tuples(st.just("describe many"), SOME_NODES, st.integers(0, len(FACTS) - 1)),
    st.tuples(st.just("remove"), SOME_NODES, st.just(0)),
    st.tuples(st.just("look"), st.integers(0, len(CANDIDATES) - 1), st.just(0)),
)


class Kept:
    """A cluster that changes, and views of it that are kept."""

    def __init__(self, nodes):
        self.world = World().see(*(node(f"n{number:02}") for number in range(nodes)))
        self.cluster = self.world.engine.cluster
        self.views = Views(PROFILE, self.cluster.nodes)
        self._runs = []
        self._count = 0

    def change(self, what, number, choice):
        name = f"n{number:02}"
        match what:
            case "run":
                self._count += 1
                self._runs.append(f"r{self._count}")
                self.world.pod(self._runs[-1], on=name, **RUNNERS[choice])
            case "end" if self._runs:
                self.world.pod_gone(self._runs.pop(number % len(self._runs)))
            case "describe":
                self.world.node(name, **FACTS[choice])
            case "describe many":
                # more than an eighth of a small table
                self.world.see(*(node(f"n{n:02}", **FACTS[choice]) for n in range(number, number + 10)))
            case "remove":
                self.world.node_gone(name)
            case "look":
                self.assert_right(CANDIDATES[number])

    def assert_right(self, candidate):
        pod_class = self.cluster.classes.of(candidate)
        assert self.answer(self.views.of(pod_class)) == self.from_scratch(pod_class)

    def from_scratch(self, pod_class):
        return self.answer(Views(PROFILE, self.cluster.nodes).of(pod_class))

    def answer(self, view):
        """Copies by node, and the nodes from best to worst: all that anybody reads from a view."""
        rows = self.cluster.nodes.rows
        copies = {name: int(view.copies[row]) for name, row in rows.items()}
        takers = [name for name in rows if copies[name]]
        assert all(bool(view.key[row]) == (copies[name] > 0) for name, row in rows.items())
        return copies, sorted(takers, key=lambda name: -view.key[rows[name]])


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.sampled_from([3, 12, FULL_TABLE - 2]), st.lists(CHANGES, max_size=40))
# the last soft taint goes while many nodes change: the others lose its weight as well
@example(60, [("describe", 0, 3), ("look", 0, 0), ("describe many", 0, 0), ("look", 0, 0)])
@example(60, [("describe", 0, 3), ("look", 3, 0), ("describe many", 0, 2), ("look", 3, 0)])
# an image spreads, and is worth more on every node that had it
@example(12, [("describe", 0, 10), ("look", 8, 0), *(("describe", n, 10) for n in (3, 4, 5)), ("look", 8, 0)])
def test_views_repaired_row_by_row_equal_views_from_scratch(nodes, changes):
    kept = Kept(nodes)
    for change in changes:
        kept.change(*change)
    for candidate in CANDIDATES:
        kept.assert_right(candidate)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(CHANGES, max_size=12), st.lists(st.tuples(SOME_NODES, st.sampled_from(RUNNERS)), max_size=8))
def test_views_of_a_trial_equal_views_from_scratch(changes, tried):
    kept = Kept(12)
    for change in changes:
        kept.change(*change)
    nodes = kept.cluster.nodes
    # classes may bring new resources, so they are all known before there is a trial
    tried_classes = [(number, kept.cluster.classes.of(pod("t", **facts))) for number, facts in tried]
    classes = [kept.cluster.classes.of(candidate) for candidate in CANDIDATES]
    trial = nodes.usage.copy()
    for number, pod_class in tried_classes:
        row = nodes.rows.get(f"n{number:02}")
        if row is not None:
            trial.add(row, pod_class)
    seen = [kept.answer(kept.views.on_trial(pod_class, trial)) for pod_class in classes]
    nodes.usage = trial
    assert seen == [kept.from_scratch(pod_class) for pod_class in classes]


def test_a_trial_changes_nothing_but_itself():
    kept = Kept(3)
    served = kept.cluster.classes.of(pod("served", cpu=1, ports=[80]))
    before = kept.answer(kept.views.of(served))
    trial = kept.cluster.nodes.usage.copy()
    trial.add(kept.cluster.nodes.rows["n00"], served)
    assert kept.answer(kept.views.on_trial(served, trial)) != before
    assert kept.answer(kept.views.of(served)) == before


def test_a_trial_of_a_trial_knows_what_both_placed():
    kept = Kept(3)
    rows = kept.cluster.nodes.rows
    big = kept.cluster.classes.of(pod("big", cpu=8))
    first = kept.cluster.nodes.usage.copy()
    first.add(rows["n00"], big)
    second = first.copy()
    second.add(rows["n01"], big)
    assert kept.answer(kept.views.on_trial(big, second)) == ({"n00": 0, "n01": 0, "n02": 1}, ["n02"])


def test_the_table_and_the_views_grow_together():
    kept = Kept(FULL_TABLE)
    kept.assert_right(CANDIDATES[0])
    kept.world.node("n99", cpu=100)
    kept.assert_right(CANDIDATES[0])
    assert kept.answer(kept.views.of(kept.cluster.classes.of(CANDIDATES[0])))[1][0] == "n99"


def test_resources_that_come_later_are_lacking_on_nodes_that_were_there():
    kept = Kept(2)
    kept.assert_right(CANDIDATES[0])
    odd = pod("odd", requests={"example.com/late": 1})
    kept.assert_right(odd)
    kept.world.node("n00", resources={"example.com/late": 2})
    assert kept.answer(kept.views.of(kept.cluster.classes.of(odd)))[0] == {"n00": 2, "n01": 0}


def test_a_row_that_was_another_nodes_keeps_nothing_of_it():
    kept = Kept(2)
    wishful = CANDIDATES[3]
    kept.change("describe", 0, 1)
    kept.change("run", 0, 0)
    kept.assert_right(wishful)
    kept.world.node_gone("n00").node("n77")
    kept.assert_right(wishful)


def test_views_that_were_forgotten_are_computed_again(monkeypatch):
    monkeypatch.setattr("muster.framework.views._TABLE_BYTES", 0)
    monkeypatch.setattr("muster.framework.views.CLASSES_AT_ONCE", 4)
    monkeypatch.setattr("muster.framework.views._RULES_KEPT", 3)
    kept = Kept(12)
    # more than are kept at least
    candidates = [pod(f"c{number}", cpu=f"{number}00m", preferred={"zone=a": number}) for number in range(1, 25)]
    for turn in range(3):
        kept.change("run", turn, 0)
        kept.change("describe", turn, 1)
        for candidate in candidates:
            kept.assert_right(candidate)


def test_a_log_that_reaches_back_no_further_means_starting_over():
    kept = Kept(3)
    kept.assert_right(CANDIDATES[0])
    for _ in range(5000):
        kept.world.node("n00")
    kept.world.pod("r", cpu=2, on="n01")
    kept.assert_right(CANDIDATES[0])


def test_a_view_that_a_plugin_has_failed_with_is_made_anew(monkeypatch):
    world = World().see(node("n0", cpu=4, labels={"zone": "a"}), node("n1", labels={"zone": "b"}), node("n2"))
    world.see(*(node(f"more-{number}") for number in range(6)))
    cluster = world.engine.cluster
    wishful = cluster.classes.of(pod("wishful", cpu=2, preferred={"zone=a": 10, "zone=b": 5}))
    views, key = Views(PROFILE, cluster.nodes), Views._key
    views.of(wishful)

    def fails(self, view, lines, room, copies):
        if room.rows is None:
            raise RuntimeError("by chance")
        return key(self, view, lines, room, copies)

    # the last node with the highest score fills up, so that all others are rated anew
    world.pod("filler", cpu=4, on="n0")
    monkeypatch.setattr(Views, "_key", fails)
    with pytest.raises(RuntimeError):
        views.of(wishful)
    monkeypatch.undo()
    assert views.of(wishful).key.tolist() == Views(PROFILE, cluster.nodes).of(wishful).key.tolist()


# --- scores by facts of all nodes ---


def test_an_image_is_worth_less_everywhere_when_nodes_come_that_do_not_have_it():
    kept = Kept(3)
    stored = kept.cluster.classes.of(pod("stored", cpu=1, image="huge:1"))
    kept.world.node("n00", images={"huge:1": 1500})
    alone = kept.views.of(stored).fixed.copy()
    kept.world.see(*(node(f"n{number:02}") for number in range(3, 9)))
    row = kept.cluster.nodes.rows["n00"]
    assert kept.views.of(stored).fixed[row] < alone[row]
    assert kept.views.of(stored).key.tolist() == Views(PROFILE, kept.cluster.nodes).of(stored).key.tolist()


def test_classes_share_a_view_as_long_as_no_node_has_their_images():
    kept = Kept(3)
    one, other = (kept.cluster.classes.of(pod(image, cpu=1, image=image)) for image in ("a:1", "b:1"))
    assert one is not other
    assert kept.views.of(one) is kept.views.of(other)
    kept.world.node("n00", images={"a:1": 3000})
    assert kept.views.of(one) is not kept.views.of(other)
    assert kept.answer(kept.views.of(one))[1][0] == "n00"
    kept.world.node("n00")
    assert kept.views.of(one) is kept.views.of(other)


def test_classes_that_are_rated_together_are_rated_as_each_alone():
    pages = {"hugepages-2Mi": "4Mi"}
    weights = {"cpu": 1, "memory": 1, "hugepages-2Mi": 5}
    parts = [
        Part(name=part.name, weight=part.weight, args=FitArgs(weights=weights) if part.name == FIT else None)
        for part in default_parts()
    ]
    world = World(profile := make_profile(ProfileParts(plugins=tuple(parts))))
    world.see(*(node(f"n{n}", resources={"hugepages-2Mi": f"{8 * n}Mi"}, images={"huge:1": 900}) for n in range(1, 5)))
    cluster = world.engine.cluster
    classes = [
        cluster.classes.of(one)
        for one in (
            pod("asks", cpu=1, memory="1Gi", requests=pages),
            # what it asks for as a whole does not count while it is being placed
            pod("asks as a whole", cpu=1, memory="1Gi", whole=pages),
            pod("stored", cpu=1, memory="1Gi", requests=pages, image="huge:1"),
            pod("larger", cpu=2, memory="1Gi", requests=pages),
        )
    ]
    views = Views(profile, cluster.nodes)
    together = [views.of(each) for each in classes]
    rows = np.array(sorted(cluster.nodes.rows.values()))
    room = Room(cluster.nodes, cluster.nodes.usage, rows)
    copies, keys = views.evaluate(together, room)
    for view, copies_of_one, keys_of_one in zip(together, copies, keys, strict=True):
        assert copies_of_one.tolist() == view.copies[rows].tolist()
        assert keys_of_one.tolist() == view.key[rows].tolist()
    assert len({tuple(line) for line in keys.tolist()}) == len(classes)
