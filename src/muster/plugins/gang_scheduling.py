"""GangScheduling: when a gang may be decided, and when what was placed is enough."""

from __future__ import annotations

from muster.cluster.gangs import GangState
from muster.framework.contract import GangRule

_TOO_FEW = "waiting for minCount pods from a gang to appear in scheduling queue"


class GangScheduling(GangRule):
    name = "GangScheduling"

    def waits_for(self, gang: GangState) -> str | None:
        if gang.declared is None:
            return f'waiting for pods\'s pod group "{gang.key.partition("/")[2]}" to appear in scheduling queue'
        if not gang.started:
            return gang.at_odds or (_TOO_FEW if gang.missing else None)
        # of what a raised minimum asks for nobody goes alone: while some must still be created no node would help
        if gang.classes and gang.has_started and self.shortfall(gang, self.usable(gang, gang.free)):
            return _TOO_FEW
        return None

    def shortfall(self, gang: GangState, placed: dict[str, int]) -> dict[str, int]:
        declared, has_started = gang.declared, gang.has_started
        assert declared is not None
        lacking: dict[str, int] = {}
        for subset in declared.subsets:
            counts, more = gang.of(subset.name), placed.get(subset.name, 0)
            have = counts.bound + counts.binding + more
            if have < subset.minimum and not (has_started and _comes_back(have, more, gang.floor(subset))):
                lacking[subset.name] = subset.minimum - have
        if lacking and has_started and _some_come_back(gang, placed):
            # these need not wait for others who come for what another subset was raised to, or is new for
            return {name: count for name, count in lacking.items() if placed.get(name)}
        return lacking

    def usable(self, gang: GangState, placed: dict[str, int]) -> dict[str, int]:
        if not gang.has_started:
            return placed
        declared = gang.declared
        assert declared is not None
        usable, some_come_back = dict(placed), _some_come_back(gang, placed)
        for subset in declared.subsets:
            counts, more = gang.of(subset.name), placed.get(subset.name, 0)
            have, floor = counts.bound + counts.binding, gang.floor(subset)
            if floor < have + more < subset.minimum and (have < floor or some_come_back):
                usable[subset.name] = min(more, max(0, floor - have))
        return usable


def _comes_back(have: int, more: int, floor: int) -> bool:
    """Whether so many, some of them newly placed, are no more than a gang that has started had before."""
    return have < floor or (have == floor and more > 0)


def _some_come_back(gang: GangState, placed: dict[str, int]) -> bool:
    """Whether some of those placed, or if nobody is some that wait, replace what a gang that has started has lost."""
    assert gang.declared is not None
    nobody = not any(placed.values())
    for subset in gang.declared.subsets:
        counts = gang.of(subset.name)
        have = counts.bound + counts.binding
        if (counts.present > have if nobody else placed.get(subset.name)) and have < gang.floor(subset):
            return True
    return False
