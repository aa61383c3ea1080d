"""What becomes of pods and groups: ends, deletions, changes of mind."""

from __future__ import annotations

from random import Random

import msgspec
from msgspec.structs import replace

from muster.api.kinds import address_of
from muster.api.times import stamp
from muster.api.wire import (
    BudgetSpec,
    BudgetStatus,
    GangPolicy,
    Metadata,
    Pod,
    PodDisruptionBudget,
    SchedulingPolicy,
)
from muster.base.selectors import LabelSelector
from muster.gangs.dialects.v1beta1 import (
    BELOW_MINIMUM_ANNOTATION,
    GRACE_ANNOTATION,
    ON_PARTIAL_ANNOTATION,
    TIMEOUT_ANNOTATION,
)
from muster.sim.chaos.arrivals import Arrivals
from muster.sim.chaos.hand import NAMESPACE, gang_of
from muster.sim.chaos.kin import KIN, KINDS, belonging
from muster.sim.plain import ENDED, needs_of

_WISHES = (ON_PARTIAL_ANNOTATION, BELOW_MINIMUM_ANNOTATION, GRACE_ANNOTATION)


class Turns(Arrivals):
    # --- ends ---

    def delete_pod(self, rng: Random) -> str:
        pods = [pod for pod in self.world.pods.values() if pod.metadata.deletion_timestamp is None]
        if rng.random() < 0.4:
            pods = [pod for pod in pods if self.world.waits(pod)]
        pod = self.pick(rng, pods)
        if pod is None:
            return ""
        if rng.random() < 0.4:
            self.world.delete_pod(pod.metadata.uid)
            return f"{pod.metadata.name} deleted"
        self._delete_slowly(pod, rng)
        return f"{pod.metadata.name} is being deleted"

    def _delete_slowly(self, pod: Pod, rng: Random) -> None:
        marked = replace(pod, metadata=replace(pod.metadata, deletion_timestamp=stamp(self.world.now)))
        self.world.change_pod(marked)
        delay = rng.choice((0.3, 2.0, 10.0, 30.0))
        self.world.at(self.world.now + delay, lambda: self.world.delete_pod(pod.metadata.uid))

    def delete_gang(self, rng: Random) -> str:
        """Group and members go, in one instant; now and then one of the same name comes at once."""
        if not self.gangs:
            return ""
        name = rng.choice(sorted(self.gangs))
        self.world.delete_group(f"{NAMESPACE}/{name}")
        if rng.random() < 0.2:
            if rng.random() < 0.5:
                self.later(rng.choice((0.3, 6.0)), self._group(name, rng.randint(1, 4), rng))
            return f"group of {name} deleted, its members stay"
        for pod in [pod for pod in self.world.pods.values() if gang_of(pod) == name]:
            self.world.delete_pod(pod.metadata.uid)
        del self.gangs[name]
        # pods that take a while to stop still have the names
        stopping = any(gang_of(pod) == name for pod in self.world.pods.values())
        if rng.random() < 0.4 and not stopping:
            return f"gang {name} deleted, and again " + self._new_gang(name, rng)
        return f"gang {name} deleted"

    def end_pod(self, rng: Random) -> str:
        pod = self.pick(rng, (pod for pod in self.world.pods.values() if pod.status.phase == "Running"))
        if pod is None:
            return ""
        failed = rng.random() < 0.5
        self.world.end_pod(pod.metadata.uid, failed=failed)
        return f"{pod.metadata.name} {ENDED[failed].lower()}"

    def lose_members(self, rng: Random) -> str:
        """Some of a gang's running members fail or are deleted, all of them now and then."""
        running: dict[str, list[Pod]] = {}
        for pod in self.world.pods.values():
            if pod.status.phase == "Running" and gang_of(pod) in self.gangs:
                running.setdefault(gang_of(pod), []).append(pod)
        if not running:
            return ""
        name = rng.choice(sorted(running))
        members = sorted(running[name], key=lambda pod: pod.metadata.name)
        lost = rng.sample(members, rng.choice((1, len(members), rng.randint(1, len(members)))))
        fail = rng.random() < 0.5
        for pod in lost:
            if fail:
                self.world.end_pod(pod.metadata.uid, failed=True)
            else:
                self.world.delete_pod(pod.metadata.uid)
        return f"{len(lost)} of {len(members)} running members of {name} {'fail' if fail else 'are deleted'}"

    def end_gang(self, rng: Random) -> str:
        """All that runs of a gang comes to its end, mostly as it should."""
        running = [pod for pod in self.world.pods.values() if pod.status.phase == "Running" and gang_of(pod)]
        pod = self.pick(rng, running)
        if pod is None:
            return ""
        failed = rng.random() < 0.2
        members = [other for other in running if gang_of(other) == gang_of(pod)]
        for member in members:
            self.world.end_pod(member.metadata.uid, failed=failed)
        return f"{len(members)} members of {gang_of(pod)} {ENDED[failed].lower()}"

    # --- changes of mind ---

    def remake_group(self, rng: Random) -> str:
        """A group is deleted and made anew under its name, with another minimum; its members stay."""
        names = sorted(name for name in self.gangs if f"{NAMESPACE}/{name}" in self.world.groups)
        if not names:
            return ""
        name = rng.choice(names)
        key = f"{NAMESPACE}/{name}"
        before = self.world.groups[key].spec.scheduling_policy.gang
        minimum = max(1, (before.min_count if before else 1) + rng.choice((-1, 0, 0, 1, 2)))
        priority = self.world.groups[key].spec.priority
        self.world.delete_group(key)
        group = self._group(name, minimum, rng, priority=priority)
        if rng.random() < 0.5:
            self.world.create_group(group)
        else:
            self.later(rng.choice((0.3, 6.0, 30.0)), group)
        return f"group of {name} made anew, with minimum {minimum}"

    def annotate(self, rng: Random) -> str:
        """Somebody writes on pods what does not concern the scheduler, most often on those on their way."""
        flying = [pod for uid, pod in self.world.pods.items() if uid in self.world.in_flight]
        pod = self.pick(rng, flying or self.world.pods.values())
        if pod is None:
            return ""
        annotations = {**pod.metadata.annotations, "sim/note": "seen"}
        self.world.change_pod(replace(pod, metadata=replace(pod.metadata, annotations=annotations)))
        return f"{pod.metadata.name} annotated"

    def relabel_pod(self, rng: Random) -> str:
        """A pod becomes one of another kind to those who look for such."""
        pod = self.pick(rng, self.world.pods.values())
        if pod is None:
            return ""
        labels = {**pod.metadata.labels, KIN: rng.choice(KINDS)}
        self.world.change_pod(replace(pod, metadata=replace(pod.metadata, labels=labels)))
        return f"{pod.metadata.name} has labels {labels}"

    def service(self, rng: Random) -> str:
        """Pods belong together, or no longer do: a Service or an owner comes, changes or goes."""
        found = belonging(rng, NAMESPACE)
        address = address_of(found)
        if address in self.world.facts and rng.random() < 0.4:
            self.world.delete_fact(address)
            return f"{address.kind} {address.key} deleted"
        self.world.put_fact(found)
        return f"{address.kind} {address.key}: {msgspec.json.encode(found).decode()}"

    def ungate(self, rng: Random) -> str:
        pod = self.pick(rng, (pod for pod in self.world.pods.values() if pod.spec.scheduling_gates))
        if pod is None:
            return ""
        self.world.change_pod(replace(pod, spec=replace(pod.spec, scheduling_gates=())))
        return f"{pod.metadata.name} loses its gate"

    def change_minimum(self, rng: Random) -> str:
        groups = [g for g in self.world.groups.values() if g.spec.scheduling_policy.gang is not None]
        if not groups:
            return ""
        group = rng.choice(sorted(groups, key=lambda g: g.metadata.name))
        return self._change_minimum(f"{NAMESPACE}/{group.metadata.name}", rng.choice((-2, -1, -1, 1)))

    def _change_minimum(self, key: str, by: int) -> str:
        group = self.world.groups[key]
        gang = group.spec.scheduling_policy.gang
        if gang is None:
            return ""
        minimum = max(1, gang.min_count + by)
        policy = SchedulingPolicy(gang=GangPolicy(min_count=minimum))
        self.world.change_group(replace(group, spec=replace(group.spec, scheduling_policy=policy)))
        return f"{group.metadata.name} now needs {minimum}, not {gang.min_count}"

    def grow_gang(self, rng: Random) -> str:
        """The minimum of a gang is raised, and members come to meet it, now or one after another."""
        names = sorted(name for name in self.gangs if f"{NAMESPACE}/{name}" in self.world.groups)
        if not names:
            return ""
        name, more = rng.choice(names), rng.randint(1, 3)
        wanted, shape = self.gangs[name]
        # whoever is still to come for it comes to what it is now
        self.gangs[name] = (wanted + more, shape)
        happened = self._change_minimum(f"{NAMESPACE}/{name}", more)
        priority = self.world.groups[f"{NAMESPACE}/{name}"].spec.priority or 0
        scheduler = self.scheduler_of(name)
        for number in range(more):
            member_name = f"{self.name(name + '-m')}-{number}"
            member = self._pod(member_name, shape, rng, gang=name, priority=priority, scheduler=scheduler)
            self.later(rng.choice((0.0, 0.0, 1.0, 6.0)), member)
        return happened

    def change_timeout(self, rng: Random) -> str:
        group = self.any_group(rng)
        if group is None:
            return ""
        timeout = str(rng.choice((2, 5, 30)))
        annotations = {**group.metadata.annotations, TIMEOUT_ANNOTATION: timeout}
        self.world.change_group(replace(group, metadata=replace(group.metadata, annotations=annotations)))
        return f"{group.metadata.name} times out after {timeout} s"

    def change_wishes(self, rng: Random) -> str:
        """What is to happen to a gang in part, or below its minimum, is said anew."""
        group = self.any_group(rng)
        if group is None:
            return ""
        kept = {name: text for name, text in group.metadata.annotations.items() if name not in _WISHES}
        wishes = self.wishes(rng)
        self.world.change_group(replace(group, metadata=replace(group.metadata, annotations=kept | wishes)))
        return f"{group.metadata.name} wishes {wishes}"

    def change_priority(self, rng: Random) -> str:
        group = self.any_group(rng)
        if group is None:
            return ""
        priority = rng.choice((0, 5, 10, 15))
        self.world.change_group(replace(group, spec=replace(group.spec, priority=priority)))
        return f"{group.metadata.name} has priority {priority}"

    def change_whom_room_is_kept_for(self, rng: Random) -> str:
        """Of a unit that waits for its victims a member goes, the minimum rises, or the whole of it goes."""
        pod = self.pick(rng, (pod for pod in self.world.pods.values() if pod.status.nominated_node_name))
        if pod is None:
            return ""
        key = f"{NAMESPACE}/{gang_of(pod)}"
        how = rng.choice(("member", "minimum", "group")) if key in self.world.groups else "member"
        if how == "minimum":
            return self._change_minimum(key, 1)
        if how == "group":
            self.world.delete_group(key)
            return f"group of {gang_of(pod)} deleted while room is kept for it"
        self.world.delete_pod(pod.metadata.uid)
        return f"{pod.metadata.name} deleted while room is kept for it"

    def narrow_pod(self, rng: Random) -> str:
        """A pod with gates may still be told where to go."""
        pod = self.pick(rng, (pod for pod in self.world.pods.values() if pod.spec.scheduling_gates))
        if pod is None:
            return ""
        self.world.change_pod(replace(pod, spec=replace(pod.spec, node_selector={"zone": rng.choice("ab")})))
        return f"{pod.metadata.name} wants zone {self.world.pods[pod.metadata.uid].spec.node_selector}"

    def shrink_pod(self, rng: Random) -> str:
        """A running pod is resized in place, to no more than it had."""
        pod = self.pick(rng, (pod for pod in self.world.pods.values() if pod.status.phase == "Running"))
        if pod is None or not pod.spec.containers[0].resources.requests:
            return ""
        first = pod.spec.containers[0]
        requests = {**first.resources.requests, "cpu": "250m"}
        smaller = replace(first, resources=replace(first.resources, requests=requests))
        spec = replace(pod.spec, containers=(smaller, *pod.spec.containers[1:]))
        if dict(needs_of(pod).requests).get("cpu", 0) < dict(needs_of(replace(pod, spec=spec)).requests)["cpu"]:
            return ""
        self.world.change_pod(replace(pod, spec=spec))
        return f"{pod.metadata.name} shrinks to {requests}"

    def budget(self, rng: Random) -> str:
        """How many of some pods may be disrupted."""
        app, allowed = rng.choice("ab"), rng.choice((0, 0, 1, 3))
        key = f"{NAMESPACE}/{app}"
        if key in self.world.budgets and rng.random() < 0.3:
            self.world.delete_budget(key)
            return f"budget {app} deleted"
        selector = LabelSelector(match_labels={"app": app})
        self.world.put_budget(
            PodDisruptionBudget(
                metadata=Metadata(name=app, namespace=NAMESPACE),
                spec=BudgetSpec(selector=selector),
                status=BudgetStatus(disruptions_allowed=allowed),
            )
        )
        return f"{allowed} pods of {app} may be disrupted"
