"""Pods of one gang in place of pods of several: a gang that loses one member is hurt as one that loses many is.

Putting back the most precious of all victims spares as many as can be, and of the most precious above all; but of
gangs that are as precious as each other it may leave a few pods each.  Where the pods of one gang would do alone, they
go instead: if nobody more precious goes for that, and no budget is broken for it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from muster.cluster.victims import Victim
from muster.engine.reprieve import Scale, reprieve

# so many gangs are looked at in full
_MOST_GANGS = 8
# microseconds, for finding out which pods are whose
_WORK_PER_VICTIM = 2

Crowds = list[list[Victim]]


def one_gang(
    ordered: list[Victim],
    chosen: list[Victim],
    broken_budgets: Callable[[list[Victim]], tuple[int, int]],
    *,
    enough: Callable[[list[Victim]], Scale],
    hopeful: Callable[[list[Victim], Crowds], list[bool]],
) -> Generator[int, None, list[Victim] | None]:
    """Victims of whom at most one is a gang's, or several of the same; None if the chosen are as good.

    `ordered` are all who may go, most precious first, and the chosen some of them.  `hopeful` tells for each of the
    crowds whether it might be enough if it went beside the first who go anyway; `enough` weighs some.  Yields work.
    """
    if len({victim.gang for victim in chosen if victim.gang}) < 2:
        return None
    beside = [victim for victim in chosen if not victim.gang]
    highest = max(victim.priority for victim in chosen)
    gangs: dict[str, list[Victim]] = {}
    for victim in reversed(ordered):
        if victim.gang and not victim.whole and victim.priority <= highest:
            gangs.setdefault(victim.gang, []).append(victim)
    # the least precious first
    crowds = list(gangs.values())
    yield _WORK_PER_VICTIM * len(ordered)
    might = [crowd for crowd, hope in zip(crowds, hopeful(beside, crowds), strict=True) if hope] if crowds else []
    yield _WORK_PER_VICTIM * sum(map(len, crowds))
    if not might:
        return None
    rank = {_identity(victim): number for number, victim in enumerate(ordered)}
    budgets, best = broken_budgets(chosen), None
    for crowd in might[:_MOST_GANGS]:
        some = sorted(crowd + beside, key=lambda victim: rank[_identity(victim)])
        scale = enough(some)
        yield scale.work * len(some)
        if not scale.enough:
            continue
        for looked in reprieve(scale):
            yield looked * scale.work
        left = [victim for victim, spared in zip(some, scale.reprieved, strict=True) if not spared]
        broken = broken_budgets(left)
        worse = any(now > before for now, before in zip(broken, budgets, strict=True))
        if not worse and _precious(left, chosen) <= _precious(chosen, chosen) and _fewer(left, best):
            best = left
    return best


def _identity(victim: Victim) -> tuple[str, str, str]:
    """Tells victims apart; the chosen may have been kept from an earlier plan."""
    return victim.gang, victim.key, victim.reservation


def _precious(victims: list[Victim], chosen: list[Victim]) -> list[int]:
    """The priorities of the pods that are more precious than the least of the chosen, highest first."""
    least = min(victim.priority for victim in chosen)
    return sorted((v.priority for v in victims for _ in v.pods if v.priority > least), reverse=True)


def _fewer(victims: list[Victim], than: list[Victim] | None) -> bool:
    return than is None or sum(len(v.pods) for v in victims) < sum(len(v.pods) for v in than)
