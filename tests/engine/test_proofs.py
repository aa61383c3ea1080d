"""Whoever waits with a proof has no place: mixes of shapes, in random histories, against trying all there is to try."""

from random import Random

import pytest

from muster.engine import answers, waiting
from muster.engine.answers import weight_bound
from muster.engine.changes import Failure
from muster.engine.decisions import Evict, Release
from muster.engine.verdicts import Outcome
from muster.framework.profile import Fairness
from muster.plugins.defaults import default_profile
from muster.plugins.registry import ProfileParts, default_parts, make_profile
from tests.builders import cluster, node, tolerate, without_preemption


def with_holds():
    """Nodes are held for whoever was passed once."""
    return make_profile(ProfileParts(plugins=tuple(default_parts()), fairness=Fairness(passes_per_member=0.1)))


PROFILES = {"plain": without_preemption, "evicting": default_profile, "holding": with_holds}


class History:
    """Gangs of a few shapes and lone pods come, are bound, refused, denied, gated and evicted, and end."""

    def __init__(self, seed, profile):
        self.rng = Random(seed)
        self.world = cluster(profile=profile)
        self._shapes = [self._shape() for _ in range(4)]
        self._members = {}
        """Of each gang: its priority, and the shape of each member by number."""
        self._count = 0
        for number in range(self.rng.randint(1, 4)):
            self._put_node(f"n{number}")

    def step(self):
        for _ in range(self.rng.randint(1, 3)):
            self._count += 1
            often = [self._gang, self._gang, self._pod, self._pod, self._end, self._end, self._end]
            seldom = [self._node, self._node_gone, self._minimum, self._member, self._gate, self._stranger]
            change = self.rng.choice([*often, *seldom])
            change()
        for _ in range(4):
            self._carry_out(self.world.decide(after=self.rng.choice([0.0, 0.0, 1.0, 400.0])))
        self.world.decide()

    def _shape(self):
        rng = self.rng
        shape = {"cpu": rng.choice([0, 0, 1, 2, 3, 4, 5]), "memory": rng.choice([None, "1Gi", "2Gi", "3Gi", "5Gi"])}
        if rng.random() < 0.2:
            shape["gpu"] = rng.choice([1, 2])
        if rng.random() < 0.3:
            shape["tolerations"] = [tolerate("gpu")]
        if rng.random() < 0.2:
            shape["selector"] = {"zone": rng.choice("ab")}
        if rng.random() < 0.15:
            shape["requests"] = rng.choice([{"ephemeral-storage": "6Pi"}, {"ephemeral-storage": "9Pi"}, {"no/such": 1}])
        return shape

    # what happens

    def _put_node(self, name):
        rng = self.rng
        self.world.see(
            node(
                name,
                cpu=rng.randint(0, 7),
                memory=f"{rng.randint(0, 8)}Gi",
                pods=rng.choice([1, 2, 3, 5, 110]),
                gpu=rng.choice([0, 0, 1, 2]),
                taints=rng.choice([(), (), ("gpu=yes:NoSchedule",)]),
                cordoned=rng.random() < 0.1,
                labels={"zone": rng.choice("ab")},
                resources=rng.choice([{}, {"ephemeral-storage": "10Pi"}]),
            )
        )

    def _node(self):
        self._put_node(f"n{self.rng.randint(0, 4)}")

    def _node_gone(self):
        if self.rng.random() < 0.3:
            self.world.node_gone(f"n{self.rng.randint(0, 4)}")

    def _pod(self):
        priority = self.rng.choice([0, 0, 5])
        self.world.pod(
            f"p{self._count}", priority=priority, created=float(self._count), **self.rng.choice(self._shapes)
        )

    def _gang(self):
        if len(self._members) == 6:
            return
        name, size, priority = f"g{self._count}", self.rng.randint(2, 5), self.rng.choice([0, 0, 5])
        self.world.group(name, self.rng.randint(1, size), created=float(self._count), priority=priority)
        self._members[name] = priority, {}
        for number in range(size):
            self._put_member(name, number, self.rng.choice(self._shapes), gated=self.rng.random() < 0.1)

    def _put_member(self, gang, number, shape, *, gated=False):
        self._members[gang][1][number] = shape
        self.world.members(gang, number, created=1.0, gates=["x"] if gated else [], **shape)

    def _member(self):
        if self._members:
            self._put_member(self._some_gang(), 100 + self._count, self.rng.choice(self._shapes))

    def _minimum(self):
        if self._members:
            name = self._some_gang()
            self.world.group(name, self.rng.randint(1, 5), created=1.0, priority=self._members[name][0])

    def _gate(self):
        if self._members:
            name = self._some_gang()
            number, shape = self.rng.choice(sorted(self._members[name][1].items(), key=lambda item: item[0]))
            known = self.world.engine.cluster.pods.get(f"uid-{name}-{number}")
            if known is not None and known.candidate:
                self._put_member(name, number, shape, gated=self.rng.random() < 0.5)

    def _some_gang(self):
        return self.rng.choice(sorted(self._members))

    def _end(self):
        if bound := self._names("BOUND"):
            self.world.pod_gone(self.rng.choice(bound))

    def _stranger(self):
        if rows := sorted(self.world.engine.cluster.nodes.rows):
            facts = {"cpu": self.rng.randint(0, 3), "memory": f"{self.rng.randint(0, 3)}Gi"}
            self.world.pod(f"s{self._count}", scheduler="other", on=self.rng.choice(rows), **facts)

    def _names(self, stage):
        pods = self.world.engine.cluster.pods.values()
        return sorted(p.key.partition("/")[2] for p in pods if p.stage.name == stage and not p.leaving)

    def _carry_out(self, decisions):
        for decision in decisions:
            if isinstance(decision, Evict | Release):
                self.world.pod_gone(*(ref.pod.partition("/")[2] for ref in decision.pods if self.rng.random() < 0.8))
        for name in self._names("BINDING"):
            if self.world.engine.cluster.pods[f"uid-{name}"].setbacks.retries_later:
                continue
            if self.rng.random() < 0.85:
                self.world.bound(name)
            else:
                self.world.bind_failed(name, self.rng.choice([Failure.REJECTED, Failure.DENIED, Failure.TRANSIENT]))

    # what must hold

    def wronged(self):
        """Units that wait with a proof, and have a place."""
        engine = self.world.engine
        return [
            unit.name
            for unit in list(engine.units)
            if unit.is_parked
            and self.world.verdict(unit.name.partition("/")[2]).outcome in (Outcome.WAITING, Outcome.IMPOSSIBLE)
            and has_place(engine, unit)
        ]


def has_place(engine, unit):
    """Whether so many members that the unit may start, or go on, can be placed in any way at all."""
    decider = engine._decider
    requirement = unit.requirement(decider._rule)
    ground = decider._ground(unit, decider.excluded(unit))
    members = [(batch.pod_class, batch.subset) for batch in requirement.batches for _ in batch.pods]
    rows = sorted(engine.cluster.nodes.rows.values())
    blocked = ground.blocked
    allowed = {
        pod_class: [
            row
            for row in rows
            if engine._views.rules(pod_class.rules).admitted[row] and (blocked is None or not blocked[row])
        ]
        for pod_class in requirement.wants
        if not pod_class.unknown
    }
    seen = set()

    def place(number, found, free):
        if sum(requirement.usable(found).values()) and not requirement.lacking(requirement.usable(found)):
            return True
        state = number, tuple(sorted(found.items())), tuple(sorted(free.items()))
        if number == len(members) or state in seen:
            return False
        seen.add(state)
        pod_class, subset = members[number]
        for row in allowed.get(pod_class, ()):
            left = {**free, **{(resource, row): free[resource, row] - amount for resource, amount in pod_class.room}}
            more = {**found, subset: found.get(subset, 0) + 1}
            if all(left[resource, row] >= 0 for resource, _ in pod_class.room) and place(number + 1, more, left):
                return True
        return place(number + 1, found, free)

    room = ground.usage.free
    return place(0, {}, {(resource, row): int(room[resource, row]) for resource in range(len(room)) for row in rows})


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(12))
def test_whoever_waits_with_a_proof_has_no_place(seed, profile):
    history = History(seed, PROFILES[profile]())
    for _ in range(12):
        history.step()
        assert history.wronged() == []


def test_the_check_itself_finds_a_proof_that_is_wrong(monkeypatch):
    """Where not all are needed, one more is weighed than must be."""

    def too_heavy(wants, needed, copies, free):
        return weight_bound(wants, min(needed + 1, sum(wants.values())), copies, free)

    for module in (answers, waiting):
        monkeypatch.setattr(module, "weight_bound", too_heavy)

    def is_found(seed):
        history = History(seed, without_preemption())
        return any(history.step() or history.wronged() for _ in range(12))

    assert any(is_found(seed) for seed in range(100))
