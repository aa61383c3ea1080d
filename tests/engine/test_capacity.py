"""A filter by room whose answer does not follow from what is free: nobody counts as if it did."""

import numpy as np
import pytest

from muster.cluster.resources import CPU
from muster.framework.contract import Capacity, RoomFilter
from muster.framework.profile import Profile
from muster.framework.views import Views
from muster.plugins.defaults import default_plugins
from tests.builders import World, evicted, placements, pod


class KeepsACpuFree(RoomFilter):
    """Whoever comes leaves one cpu free; pods without a request for cpu may go anywhere."""

    name = "KeepsACpuFree"
    reason = "node(s) had to keep a cpu free"

    def concerns(self, pod_class):
        return any(resource == CPU for resource, _ in pod_class.room)

    def copies(self, lines, room):
        if CPU not in lines.need_rows:
            return None
        need = lines.need[list(lines.need_rows).index(CPU)]
        return np.maximum(0, (room.free[CPU] - 1000) // need)

    def refusals(self, pod_class, room):
        found = self.copies(pod_class.line, room)
        return [] if found is None else [(self.reason, found[0] == 0)]


def world(nodes=1, cpu=4):
    made = World(Profile([*default_plugins(), (KeepsACpuFree(), 0)]))
    for number in range(nodes):
        made.node(f"n{number}", cpu=cpu)
    return made


def test_members_of_several_shapes_are_not_packed_by_what_is_free():
    here = world().group("g", 2)
    here.see(pod("g-0", gang="g", cpu=3), pod("g-1", gang="g", cpu=1))
    assert placements(here.decide()) == {}


def test_nobody_is_evicted_who_would_not_make_enough_room():
    here = world().see(pod("old", cpu=1, on="n0", phase="Running"))
    decisions = here.pod("big", cpu=4, priority=9).decide()
    assert (evicted(decisions), placements(decisions)) == ([], {})
    assert evicted(here.pod("fits", cpu=3, priority=9).decide()) == ["old"]


@pytest.mark.parametrize(("members", "cpu", "victims"), [(2, 4, 0), (2, 3, 2)])
def test_no_gang_evicts_in_vain(members, cpu, victims):
    here = world(nodes=2)
    for number in range(2):
        here.see(pod(f"old{number}", cpu=1, on=f"n{number}", phase="Running"))
    decisions = here.gang("g", members=members, cpu=cpu, priority=9).decide()
    assert len(evicted(decisions)) == victims


def test_who_waits_starts_when_enough_is_free():
    here = world().see(pod("old", cpu=1, on="n0", phase="Running")).gang("g", members=3, cpu=1)
    assert placements(here.decide()) == {}
    here.pod_gone("old")
    assert len(placements(here.decide())) == 3


@pytest.mark.parametrize(
    ("facts", "capacity"),
    [({"cpu": 1}, Capacity.BY_NODE), ({"memory": 1}, Capacity.EXACT), ({"ports": [80]}, Capacity.BY_NODE)],
)
def test_copies_are_exact_only_if_everybody_says_so(facts, capacity):
    here = world().see(pod("p", **facts))
    (state,) = here.engine.cluster.pods.values()
    profile = Profile([*default_plugins(), (KeepsACpuFree(), 0)])
    assert Views(profile, here.engine.cluster.nodes).capacity(state.pod_class) is capacity
