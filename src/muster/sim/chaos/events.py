"""What can happen in a chaotic world, one method each; they do it and return a line for the story.

arrivals.py has who comes, turns.py what becomes of pods and groups; nodes and schedulers are here.
"""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from muster.sim.chaos.recipe import Step, new_node, node_labels, taints
from muster.sim.chaos.turns import Turns
from muster.sim.chaos.world import OTHER


class Events(Turns):
    """All that can happen."""

    def do(self, step: Step, rng: Random) -> str:
        self.step = step.number
        happened: str = getattr(self, step.kind)(rng)
        return happened

    # --- other schedulers ---

    def delete_foreign(self, rng: Random) -> str:
        pod = self.pick(rng, (pod for pod in self.world.pods.values() if pod.spec.scheduler_name == OTHER))
        if pod is None:
            return ""
        self.world.delete_pod(pod.metadata.uid)
        return f"foreign pod {pod.metadata.name} deleted"

    def bind_by_hand(self, rng: Random) -> str:
        """Somebody else binds a pod of ours."""
        pod = self.pick(rng, (pod for pod in self.world.pods.values() if self.world.waits(pod)))
        node = pod and self.node_for(pod, rng)
        if not pod or not node:
            return ""
        self.world.bind_by_hand(pod, node)
        return f"{pod.metadata.name} bound to {node} by hand"

    # --- nodes ---

    def add_node(self, rng: Random) -> str:
        name = f"n{rng.randrange(100):02d}"
        if name in self.world.nodes or name in self.lost:
            return ""
        self.world.put_node(new_node(rng, name, self.mood))
        return f"node {name} added"

    def heartbeats(self, rng: Random) -> str:
        """Every node is seen again, unchanged, as kubelets' status updates have it."""
        for _ in range(rng.choice((1, 1, 3))):
            for node in list(self.world.nodes.values()):
                self.world.put_node(node)
        return "all nodes report"

    def lose_node(self, rng: Random) -> str:
        node = self.any_node(rng)
        if node is None or len(self.world.nodes) < 2:
            return ""
        return self._lose(node.metadata.name)

    def lose_kept_node(self, rng: Random) -> str:
        """A node goes on which room is kept, or that pods are leaving."""
        pods = self.world.pods.values()
        names = {pod.status.nominated_node_name for pod in pods}
        names |= {pod.spec.node_name for pod in pods if pod.metadata.deletion_timestamp is not None}
        possible = sorted(names & self.world.nodes.keys())
        if not possible or len(self.world.nodes) < 2:
            return ""
        return self._lose(rng.choice(possible))

    def _lose(self, name: str) -> str:
        self.lost[name] = self.world.nodes[name]
        self.world.remove_node(name)
        return f"node {name} lost"

    def return_node(self, rng: Random) -> str:
        if not self.lost:
            return ""
        name = rng.choice(sorted(self.lost))
        node = self.lost.pop(name)
        changed = rng.random() < 0.3
        self.world.put_node(new_node(rng, name, self.mood) if changed else node)
        return f"node {name} is back" + (", another one" if changed else "")

    def cordon(self, rng: Random) -> str:
        return self._change_node(rng, "cordoned", unschedulable=True)

    def uncordon(self, rng: Random) -> str:
        cordoned = sorted(n for n, node in self.world.nodes.items() if node.spec.unschedulable)
        return self._change_node(rng, "uncordoned", among=cordoned, unschedulable=False) if cordoned else ""

    def relabel(self, rng: Random) -> str:
        node = self.any_node(rng)
        if node is None:
            return ""
        given = node_labels(rng, node.metadata.name, self.mood)
        node = replace(node, metadata=replace(node.metadata, labels=given))
        self.world.put_node(node)
        return f"node {node.metadata.name} has labels {node.metadata.labels}"

    def retaint(self, rng: Random) -> str:
        given = taints(rng)
        shown = ", ".join(f"{taint.key}={taint.value}:{taint.effect}" for taint in given) or "no taints"
        return self._change_node(rng, f"has {shown}", taints=given)

    def resize_node(self, rng: Random) -> str:
        node = self.any_node(rng)
        if node is None:
            return ""
        room = {**node.status.allocatable, "cpu": rng.choice((2, 4, 8, 16))}
        self.world.put_node(replace(node, status=replace(node.status, allocatable=room)))
        return f"node {node.metadata.name} has {room}"

    def _change_node(self, rng: Random, what: str, among: list[str] | None = None, **spec: object) -> str:
        if not self.world.nodes:
            return ""
        name = rng.choice(among or sorted(self.world.nodes))
        node = self.world.nodes[name]
        self.world.put_node(replace(node, spec=replace(node.spec, **spec)))
        return f"node {name} {what}"

    # --- the scheduler's life ---

    def restart(self, rng: Random) -> str:
        flying = len(self.world.in_flight)
        self.world.restart()
        return f"scheduler restarted, {flying} binds in flight"

    def crash(self, rng: Random) -> str:
        points = rng.randint(1, 12)
        self.world.crash_in = points
        return f"scheduler dies {points} points later"

    def crash_at_eviction(self, rng: Random) -> str:
        """Between the nomination and the eviction, or right after the eviction."""
        self.world.crash_at_eviction = rng.choice((0, 1))
        return "scheduler dies " + ("before", "after")[self.world.crash_at_eviction] + " its next eviction"

    # --- bad timing ---

    def at_next_eviction(self, rng: Random) -> str:
        """Something else happens while victims are leaving."""
        possible = [kind for kind, trouble in _TIMELY if trouble in self.mood or not trouble]
        kind, delay = rng.choice(possible), rng.choice((0.0, 0.2, 1.0, 3.0))
        chance, number = Random(rng.random()), 100 * self.step + 99

        def happen() -> None:
            self.step = number
            getattr(self, kind)(chance)

        self.world.after_eviction.append((delay, happen))
        return f"{kind} {delay:g} s after the next eviction"

    def cordon_kept_node(self, rng: Random) -> str:
        kept = sorted({pod.status.nominated_node_name for pod in self.world.pods.values()} & self.world.nodes.keys())
        return self._change_node(rng, "cordoned", among=kept, unschedulable=True) if kept else ""

    def victim_ends(self, rng: Random) -> str:
        """Who is to leave comes to its end by itself."""
        leaving = [pod for pod in self.world.pods.values() if pod.metadata.deletion_timestamp is not None]
        pod = self.pick(rng, (pod for pod in leaving if pod.status.phase == "Running"))
        if pod is None:
            return ""
        self.world.end_pod(pod.metadata.uid, failed=rng.random() < 0.5)
        return f"{pod.metadata.name} ends while it is leaving"


# (kind of event, the trouble it belongs to): what is worst while victims are leaving
_TIMELY = (
    ("change_whom_room_is_kept_for", ""),
    ("victim_ends", ""),
    ("urgent", ""),
    ("add_node", ""),
    ("lose_kept_node", "node loss"),
    ("cordon_kept_node", "node facts"),
    ("take_kept_room", "foreign"),
    ("restart", "restarts"),
)
