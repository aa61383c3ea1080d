"""What a pod takes from its node, and what it counts as in scores."""

from collections.abc import Iterable, Mapping

from muster.base.quantity import amount
from tests.plain_scheduler.selectors import Document

Amounts = dict[str, int]

UNKNOWN: Mapping[str, int] = {"cpu": 100, "memory": 200 * 1024 * 1024}
"""Scores count this for a container that asks for none."""


def requests(pod: Document) -> Amounts:
    """For filters, and for the balance."""
    return _total(pod, unknown={})


def containers_together(pod: Document) -> dict[str, str]:
    """What the containers ask for, spelled as quantities."""
    found = _containers(pod, unknown={})
    return {name: f"{count}m" if name == "cpu" else str(count) for name, count in found.items()}


def scored_when_new(pod: Document) -> Amounts:
    """For the score of NodeResourcesFit, while the pod is being placed.

    That plugin's score never learnt of requests of the pod as a whole (its filter did): they are not in here.
    """
    return _sum([_containers(pod, UNKNOWN), _amounts(pod["spec"].get("overhead"))])


def scored_when_placed(pod: Document) -> Amounts:
    """For the same score of later pods.

    Requests of the pod as a whole count here, and what such a pod asks for anywhere is not unknown in any container.
    """
    asked = requests(pod)
    if not _pod_level(pod):
        return _total(pod, unknown=UNKNOWN)
    return _total(pod, unknown={name: count for name, count in UNKNOWN.items() if name not in asked})


def is_scalar(resource: str) -> bool:
    """Counted in a score only for pods that ask for it."""
    return resource not in ("cpu", "memory", "ephemeral-storage")


def host_ports(pod: Document) -> list[tuple[str, int, str]]:
    """(protocol, port, address) of containers and sidecars."""
    spec = pod["spec"]
    running = [*_sidecars(spec), *spec["containers"]]
    return [
        (port.get("protocol") or "TCP", port["hostPort"], port.get("hostIP") or "0.0.0.0")
        for container in running
        for port in container.get("ports") or []
        if port.get("hostPort")
    ]


def _sidecars(spec: Document) -> Iterable[Document]:
    return (each for each in spec.get("initContainers") or [] if each.get("restartPolicy") == "Always")


def _total(pod: Document, *, unknown: Mapping[str, int]) -> Amounts:
    return _sum([_containers(pod, unknown) | _pod_level(pod), _amounts(pod["spec"].get("overhead"))])


def _containers(pod: Document, unknown: Mapping[str, int]) -> Amounts:
    """The larger of what runs for good and of each step of the initialisation, beside the sidecars so far."""
    spec = pod["spec"]
    total = _sum(_requested(each, unknown) for each in (*spec["containers"], *_sidecars(spec)))
    started: Amounts = {}
    for container in spec.get("initContainers") or []:
        step = _sum([started, _requested(container, unknown)])
        if container.get("restartPolicy") == "Always":
            started = step
        total = {name: max(total.get(name, 0), step.get(name, 0)) for name in (*total, *step)}
    return total


def _pod_level(pod: Document) -> Amounts:
    listed = _amounts((pod["spec"].get("resources") or {}).get("requests"))
    return {name: count for name, count in listed.items() if name in UNKNOWN or name.startswith("hugepages-")}


def _requested(container: Document, unknown: Mapping[str, int]) -> Amounts:
    return {**unknown, **_amounts((container.get("resources") or {}).get("requests"))}


def _amounts(listed: Document | None) -> Amounts:
    return {name: amount(name, text) for name, text in (listed or {}).items()}


def _sum(parts: Iterable[Mapping[str, int]]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, count in part.items():
            total[name] = total.get(name, 0) + count
    return total
