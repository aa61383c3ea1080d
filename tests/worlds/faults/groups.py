"""Faults in what is known of groups when members join."""

from msgspec.structs import replace

from muster.engine.gates import Gates
from muster.engine.intake import Intake
from tests.worlds.faults.registry import fault


@fault("gang whole", "grown", "lagging groups")
def members_join_what_runs_of_a_gang_by_an_old_view_of_its_group(patch):
    patch(Gates, "gate_unread", lambda self, gang: 0)


@fault("nobody waits who fits", "grown", first=62)
def a_group_that_was_read_again_is_not_heard_of(patch):
    read = Intake._group_read
    patch(Intake, "_group_read", lambda self, change: read(self, replace(change, number=0)))
