"""Scenarios that nobody wrote: whatever happens, the driver on a real API server does as the simulator foretells.

A failing one is printed whole; kept as a file it plays again.
"""

import random

import pytest

from muster.sim.scenario.file import loads
from muster.sim.scenario.run import run
from tests.control_plane.scenarios.playing import played, story

SEEDS = range(8)


class Script:
    """Writes a scenario, a step at a time."""

    def __init__(self, seed):
        self._chance = random.Random(seed)
        self._nodes = [f"n-{number}" for number in range(1, self._chance.randint(3, 6))]
        self._gangs = []
        self._names = 0
        self._at = 0
        self._lines = ["name: random", f"nodes: [{{name: n, count: {len(self._nodes)}, cpu: 6}}]", "steps:"]

    def write(self):
        for _ in range(self._chance.randint(6, 12)):
            self._at += self._chance.choice((1, 3, 7, 20, 45))
            once = (self._pods, self._restart, self._node, self._delete, self._lose, self._drain)
            once += (self._member, self._budget, self._stranger)
            step = self._chance.choice((self._gang,) * 5 + (self._disturbed,) * 2 + once)
            step()
        return "\n".join([*self._lines, f"until: {self._at + 200}s"])

    def _step(self, action):
        self._lines.append(f"  - {{at: {self._at}s, {action}}}")

    def _name(self, kind):
        self._names += 1
        return f"{kind}{self._names}"

    def _gang(self):
        chance, name = self._chance, self._name("g")
        members = chance.randint(1, 5)
        fields = [f"name: {name}, members: {members}, cpu: {chance.randint(1, 5)}"]
        fields += [f"runs: {chance.randint(5, 90)}s"] * (chance.random() < 0.6)
        fields += ["exitCode: 1"] * (chance.random() < 0.1)
        fields += [f"min: {chance.randint(1, members)}"] * (chance.random() < 0.3)
        fields += [f"priority: {chance.randint(0, 3)}"] * (chance.random() < 0.4)
        fields += ["preemption: never"] * (chance.random() < 0.1)
        fields += [f"stop: {chance.choice((1, 8, 40))}s"] * (chance.random() < 0.3)
        fields += [f"disruption: {chance.choice(('all', 'single'))}"] * (chance.random() < 0.5)
        fields += ["belowMinimum: restart, belowMinimumGrace: 15s"] * (chance.random() < 0.3)
        fields += ["onPartial: hold"] * (chance.random() < 0.1)
        fields += [f"timeout: {chance.randint(10, 60)}s"] * (chance.random() < 0.3)
        self._gangs.append(name)
        self._step(f"gang: {{{', '.join(fields)}}}")

    def _disturbed(self):
        name = f"g{self._names + 1}"
        how = self._chance.choice(("how: transient", "how: rejected", "how: denied", "after: 3s"))
        self._step(f"failBinds: {{of: gang/{name}, times: {self._chance.randint(1, 6)}, {how}}}")
        self._gang()

    def _pods(self):
        count, cpu, runs = self._chance.randint(1, 4), self._chance.randint(1, 4), self._chance.randint(5, 60)
        priority, stop = self._chance.randint(0, 4), self._chance.choice((0, 0, 5, 20))
        fields = f"count: {count}, cpu: {cpu}, runs: {runs}s, priority: {priority}, stop: {stop}s"
        self._step(f"pod: {{name: {self._name('p')}, {fields}}}")

    def _node(self):
        self._nodes.append(self._name("m"))
        self._step(f"node: {{name: {self._nodes[-1]}, cpu: {self._chance.choice((2, 4, 8))}}}")

    def _restart(self):
        self._step("restart: scheduler")

    def _delete(self):
        if self._gangs:
            self._step(f"delete: gang/{self._gangs.pop(self._chance.randrange(len(self._gangs)))}")

    def _member(self):
        if self._gangs:
            self._step(f"members: {{of: {self._chance.choice(self._gangs)}, cpu: 2}}")

    def _budget(self):
        if self._gangs:
            gang, allowed = self._chance.choice(self._gangs), self._chance.randint(0, 2)
            self._step(f"budget: {{name: {self._name('b')}, of: gang/{gang}, allowed: {allowed}}}")

    def _stranger(self):
        """Somebody else's pod, on a node that may be full."""
        if self._nodes:
            node, cpu = self._chance.choice(self._nodes), self._chance.randint(1, 3)
            self._step(f"pod: {{name: {self._name('s')}, cpu: {cpu}, node: {node}, runs: 60s, scheduler: other}}")

    def _lose(self):
        if self._nodes:
            self._step(f"lose: {self._nodes.pop(self._chance.randrange(len(self._nodes)))}")

    def _drain(self):
        if self._nodes:
            node = self._chance.choice(self._nodes)
            self._step(f"drain: {node}")
            self._at += 2
            self._step(f"uncordon: {node}")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_scenario_goes_as_it_does_in_the_simulator(cluster, seed):
    text = Script(seed).write()
    print(text)
    scenario = loads(text)
    assert story(played(scenario, cluster)) == story(run(scenario))
