"""DefaultPreemption: from which node who would have to go for a pod that no node takes."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tests.plain_scheduler.cluster import Cluster, Machine, Running, priority_of
from tests.plain_scheduler.filters import refuses
from tests.plain_scheduler.node_rules import Refusal
from tests.plain_scheduler.resources import Strategy
from tests.plain_scheduler.selectors import Document, Selector

NO_VICTIMS = Refusal(("No preemption victims found for incoming pod",), is_final=True)
HOPELESS = Refusal(("Preemption is not helpful for scheduling",), is_final=True)

_LIFT = 2**31
"""Added to every priority, so that the sum of many is more than that of few."""


class Offer(NamedTuple):
    """A node that takes the pod once these have gone."""

    node: str
    victims: frozenset[str]
    """By UID."""
    cost: tuple[float, ...]
    """How many of them budgets protect, the highest priority, their sum, how many, and when the first of the highest
    started: the later the better."""


def preempt(
    cluster: Cluster, pod: Document, refused: Mapping[str, Refusal], strategy: Strategy
) -> dict[str, Offer | Refusal]:
    """What every node has to offer.  kube-scheduler looks at all of them where they are few."""
    if never_preempts(pod):
        return {}
    return {
        name: HOPELESS if refused[name].is_final else _offer(cluster, pod, machine, strategy)
        for name, machine in cluster.machines.items()
    }


def cheapest(offers: Mapping[str, Offer | Refusal]) -> list[Offer]:
    """kube-scheduler takes one of these, which one is chance."""
    found = [offer for offer in offers.values() if isinstance(offer, Offer)]
    least = min((offer.cost for offer in found), default=())
    return [offer for offer in found if offer.cost == least]


def never_preempts(pod: Document) -> bool:
    return pod["spec"].get("preemptionPolicy") == "Never"


def _offer(cluster: Cluster, pod: Document, machine: Machine, strategy: Strategy) -> Offer | Refusal:
    """All of lower priority go; then one after another is put back if the pod fits all the same."""
    lower = [other for other in machine.running if other.priority < priority_of(pod)]
    if not lower:
        return NO_VICTIMS
    stay = [other for other in machine.running if other not in lower]
    with machine.having(stay):
        if refusal := refuses(cluster, pod, machine, strategy):
            return refusal
    lower.sort(key=lambda other: (-other.priority, other.started))
    protected = _protected(cluster, lower)
    victims = []
    for other in (*protected, *(other for other in lower if other not in protected)):
        with machine.having([*stay, other]):
            if refuses(cluster, pod, machine, strategy):
                victims.append(other)
            else:
                stay.append(other)
    return Offer(machine.name, frozenset(each.pod["metadata"]["uid"] for each in victims), _cost(victims, protected))


def _cost(victims: list[Running], protected: list[Running]) -> tuple[float, ...]:
    highest = max(each.priority for each in victims)
    total = sum(each.priority + _LIFT for each in victims)
    earliest = min(each.started for each in victims if each.priority == highest)
    return sum(each in protected for each in victims), highest, total, len(victims), -earliest


def _protected(cluster: Cluster, ordered: Iterable[Running]) -> list[Running]:
    """Of whom budgets allow no more to go; what they allow is given to the most important first."""
    found, spent = [], Counter[str]()
    for other in ordered:
        for budget in cluster.budgets:
            key = f"{budget['metadata']['namespace']}/{budget['metadata']['name']}"
            selector = Selector(budget["spec"]["selector"])
            if budget["metadata"]["namespace"] == other.namespace and selector.matches(other.labels):
                spent[key] += 1
                if spent[key] > budget["status"]["disruptionsAllowed"]:
                    found.append(other)
                    break
    return found
