"""Muster decides as the plain scheduler does, which is compared with kube-scheduler itself where there is one."""

from collections import Counter

import pytest

from tests.plain_scheduler.duel import Duel
from tests.plain_scheduler.random_clusters import world
from tests.plain_scheduler.random_priorities import ranked, ranked_surroundings
from tests.plain_scheduler.standing_in import PlainOne

AROUND = ranked_surroundings()
EACH = 40


@pytest.mark.parametrize("first", range(10_000, 10_000 + 2 * EACH, EACH))
def test_muster_decides_as_the_plain_scheduler_does(first):
    seen, differences = Counter(), []
    for seed in range(first, first + EACH):
        duel = Duel(PlainOne(AROUND), ranked(world(seed)) if seed % 2 else world(seed))
        duel.run()
        seen += duel.seen
        differences += duel.differences

    assert differences == []
    assert seen["placed"] > 3 * EACH
    assert seen["refused"] > EACH
    assert seen["evicting"] >= EACH // 5
    assert seen["beside one that waits"] > EACH // 10
    assert seen["landed"] > EACH // 20
