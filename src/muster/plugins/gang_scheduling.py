"""GangScheduling: when a gang may be decided, and when what was placed is enough."""

from __future__ import annotations

from muster.cluster.gangs import GangState
from muster.framework.contract import GangRule


class GangScheduling(GangRule):
    name = "GangScheduling"

    def waits_for(self, gang: GangState) -> str | None:
        if gang.declared is None:
            return f'waiting for pods\'s pod group "{gang.key.partition("/")[2]}" to appear in scheduling queue'
        if not gang.started and (odds := gang.at_odds) is not None:
            return odds
        if gang.missing and not gang.started:
            return "waiting for minCount pods from a gang to appear in scheduling queue"
        return None

    def shortfall(self, gang: GangState, placed: dict[str, int]) -> dict[str, int]:
        declared = gang.declared
        assert declared is not None
        if gang.has_started:
            return {}
        lacking: dict[str, int] = {}
        for subset in declared.subsets:
            counts = gang.of(subset.name)
            lack = subset.minimum - counts.bound - counts.binding - placed.get(subset.name, 0)
            if lack > 0:
                lacking[subset.name] = lack
        return lacking
