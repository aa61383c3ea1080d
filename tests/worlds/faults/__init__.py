"""Faults to plant in the engine, one for each rule (some rules get several): what a tired mind might write.

`plant(name, patch)` makes one; `patch(target, attribute, value)` is monkeypatch.setattr, or setattr in a process of
its own.

placing      room, binds, gangs, the queue, what is said
evicting     victims, room that is kept, losses
groups       what is known of groups when members join
neighbours   what pods ask of each other
records      for whom members were bound, runs, minima
transitions  a unit's life
waiting      who passes whom, what becomes of a gang after its start
"""

from tests.worlds.faults import evicting, groups, neighbours, placing, records, transitions, waiting
from tests.worlds.faults.registry import FAULTS

__all__ = ["FAULTS", "evicting", "groups", "neighbours", "placing", "plant", "records", "transitions", "waiting"]


def plant(name, patch):
    FAULTS[name].plant(patch)
