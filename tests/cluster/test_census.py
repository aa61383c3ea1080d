"""The census against a count of everything, through copies that change on their own."""

from random import Random

import numpy as np
import pytest

from muster.base.selectors import Requirement
from muster.cluster.census import Aside, Bearers, Bearing, Borne, Census, Chosen
from muster.cluster.ties import Look, Namespaces, PodRules, Selection, Term, Ties

CAPACITY = 4
APPS = ("a", "b", "c")


def selection(app, **more):
    return Selection((Requirement("app", "In", (app,)),), ("x",), **more)


TERMS = [Term(selection(app), "zone") for app in APPS]
SELECTIONS = [
    *(selection(app) for app in APPS),
    Selection((Requirement("app", "NotIn", ("a",)),), ("x", "y")),
    Selection((), ("y",)),
    Selection(None, ("x",)),
    Selection((), (), namespace_selector=(Requirement("team", "In", ("ml",)),)),
]
WITHOUT = ((), (Aside.LEAVING,), (Aside.AWAITED,), (Aside.LEAVING, Aside.AWAITED))
LINES = [
    *(Chosen((one,), without) for one in SELECTIONS for without in WITHOUT),
    Chosen((SELECTIONS[0], SELECTIONS[4])),
    *(Bearers(Borne(Bearing.APART, term), without) for term in TERMS for without in WITHOUT),
    *(Bearers(Borne(Bearing.PREFERRED, TERMS[0], 3), without) for without in WITHOUT),
]


def everybody(rng):
    """Ties of all kinds: looks with and without labels, rules that bear some of the terms, one of them twice."""
    found = []
    for namespace in ("x", "y"):
        for app in (*APPS, None):
            apart = tuple(term for term in TERMS if rng.random() < 0.3)
            preferred = ((3, TERMS[0]),) * rng.choice((0, 0, 1, 2))
            look = Look(namespace, (("app", app),) if app else ())
            found.append(Ties(look, PodRules(apart=apart, preferred=preferred)))
    return found


class Counted:
    """A census, and the pods that it has counted, one by one."""

    def __init__(self, census, pods=()):
        self.census = census
        self.pods = list(pods)
        """[row, ties, aside]"""

    def copy(self):
        return Counted(self.census.copy(), [list(pod) for pod in self.pods])

    def step(self, rng, ties):
        kind = rng.random()
        if kind < 0.5 or not self.pods:
            row, one, aside = rng.randrange(CAPACITY), rng.choice(ties), rng.choice((None, None, *Aside))
            self.census.move(row, one, aside, 1)
            self.pods.append([row, one, aside])
        elif kind < 0.8:
            row, one, aside = self.pods.pop(rng.randrange(len(self.pods)))
            self.census.move(row, one, aside, -1)
        elif kind < 0.9:
            pod = rng.choice(self.pods)
            if pod[2] is None:
                self.census.set_aside(pod[0], pod[1], Aside.LEAVING)
                pod[2] = Aside.LEAVING
        else:
            row = rng.randrange(CAPACITY)
            self.census.clear(row)
            self.pods = [pod for pod in self.pods if pod[0] != row]

    def check(self):
        namespaces = self.census.namespaces
        for line in LINES:
            wanted = np.zeros(CAPACITY, np.int64)
            for row, ties, aside in self.pods:
                if aside in line.without:
                    continue
                if isinstance(line, Bearers):
                    rules, one = ties.rules, line.term
                    wanted[row] += rules.apart.count(one.term) if one.bearing is Bearing.APART else len(rules.preferred)
                else:
                    wanted[row] += all(namespaces.selects(one, ties.look) for one in line.selections)
            assert self.census.count(line).tolist() == wanted.tolist(), line
        for app in APPS:
            look = Look("x", (("app", app),))
            there = {term for _, ties, _ in self.pods for term in ties.rules.apart}
            about = {one.term for one in self.census.about(look) if one.bearing is Bearing.APART}
            # of a copy some may be told of who are not there any more
            assert {term for term in there if namespaces.selects(term.selection, look)} <= about


@pytest.mark.parametrize("seed", range(40))
def test_lines_are_what_a_count_of_everybody_gives(seed):
    rng = Random(seed)
    ties, namespaces = everybody(rng), Namespaces()
    first = Counted(Census(namespaces, capacity=CAPACITY))
    alive = [first]
    for number in range(60):
        one = rng.choice(alive)
        one.step(rng, ties)
        if number % 7 == 0:
            # a copy is tried on, and forgotten; the first lives on
            alive = [first, rng.choice(alive).copy()]
        if number == 30 and namespaces.put("y", {"team": "ml"}):
            alive = [first]
            first.census.forget()
        for other in alive:
            other.check()


def test_copies_share_what_neither_changes():
    census = Census(Namespaces(), capacity=CAPACITY)
    one = Ties(Look("x", (("app", "a"),)), PodRules())
    census.add(0, one)
    line = Chosen((SELECTIONS[0],))
    before = census.count(line)
    assert census.copy().count(line) is before
    twin = census.copy()
    twin.add(1, one)
    assert census.count(line).tolist() == [1, 0, 0, 0]
    assert twin.count(line).tolist() == [1, 1, 0, 0]
