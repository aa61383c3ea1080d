"""What a pod takes from its node, and what it counts as in scores."""

from collections.abc import Callable, Iterable, Mapping

from muster.base.quantity import amount
from tests.plain_scheduler.selectors import Document

Amounts = dict[str, int]
_Of = Callable[[Document, Document], Document | None]
"""What a pod's container has or asks for."""

UNKNOWN: Mapping[str, int] = {"cpu": 100, "memory": 200 * 1024 * 1024}
"""Scores count this for a container that asks for none."""


def requests(pod: Document) -> Amounts:
    """For filters, and for the balance; of a pod on a node that is being resized, the most that it may have."""
    return _total(pod, unknown={})


def containers_together(pod: Document) -> dict[str, str]:
    """What the containers ask for, spelled as quantities."""
    found = _together(pod, _asked, unknown={})
    return {name: f"{count}m" if name == "cpu" else str(count) for name, count in found.items()}


def scored_when_new(pod: Document) -> Amounts:
    """For the score of NodeResourcesFit, while the pod is being placed.

    That plugin's score never learnt of requests of the pod as a whole (its filter did): they are not in here.
    """
    return _sum([_together(pod, _asked, UNKNOWN), _amounts(pod["spec"].get("overhead"))])


def scored_when_placed(pod: Document) -> Amounts:
    """For the same score of later pods.

    Requests of the pod as a whole count here, and what such a pod asks for anywhere is not unknown in any container.
    """
    asked = requests(pod)
    if not _of_pods((pod["spec"].get("resources") or {}).get("requests")):
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


def _together(pod: Document, of: _Of, unknown: Mapping[str, int]) -> Amounts:
    """The larger of what runs for good and of each step of the initialisation, beside the sidecars so far."""
    spec = pod["spec"]

    def given(container: Document) -> Amounts:
        return {**unknown, **_amounts(of(pod, container))}

    total = _sum(given(each) for each in (*spec["containers"], *_sidecars(spec)))
    started: Amounts = {}
    for container in spec.get("initContainers") or []:
        step = _sum([started, given(container)])
        if container.get("restartPolicy") == "Always":
            started = step
        total = _most([total, step])
    return total


def _containers(pod: Document, unknown: Mapping[str, int]) -> Amounts:
    """What the containers ask for, what is set aside for them, what they have: the most of it."""
    status = pod.get("status") or {}
    of_the_pod = status.get("allocatedResources"), (status.get("resources") or {}).get("requests")
    if all(of_the_pod):
        # the overhead is in there, and will be added once more
        given = [_amounts(listed) for listed in of_the_pod]
    else:
        given = [_together(pod, of, unknown) for of in (_allocated, _actual)]
    return _most([*given, *([] if _is_infeasible(pod) else [_together(pod, _asked, unknown)])])


def _pod_level(pod: Document) -> Amounts:
    asked = (pod["spec"].get("resources") or {}).get("requests")
    status = pod.get("status") or {}
    if not _of_pods(asked) or "resources" not in status:
        return _of_pods(asked)
    given = [_of_pods(status["resources"].get("requests")), _of_pods(status.get("allocatedResources"))]
    return _most([*given, *([] if _is_infeasible(pod) else [_of_pods(asked)])])


def _of_pods(listed: Document | None) -> Amounts:
    """Those of the resources that a pod may ask for as a whole."""
    return {n: count for n, count in _amounts(listed).items() if n in UNKNOWN or n.startswith("hugepages-")}


# --- one container ---


def _asked(_: Document, container: Document) -> Document | None:
    return (container.get("resources") or {}).get("requests")


def _allocated(pod: Document, container: Document) -> Document | None:
    found = _status(pod, container).get("allocatedResources")
    return found or (None if _is_infeasible(pod) else _asked(pod, container))


def _actual(pod: Document, container: Document) -> Document | None:
    return (_status(pod, container).get("resources") or {}).get("requests") or _allocated(pod, container)


def _status(pod: Document, container: Document) -> Document:
    status = pod.get("status") or {}
    listed = [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]
    return next((each for each in listed if each["name"] == container["name"]), {})


def _is_infeasible(pod: Document) -> bool:
    listed = (pod.get("status") or {}).get("conditions") or []
    pending = next((each for each in listed if each["type"] == "PodResizePending"), {})
    return pending.get("reason") == "Infeasible"


# --- sums ---


def _amounts(listed: Document | None) -> Amounts:
    return {name: amount(name, text) for name, text in (listed or {}).items()}


def _sum(parts: Iterable[Mapping[str, int]]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, count in part.items():
            total[name] = total.get(name, 0) + count
    return total


def _most(parts: Iterable[Mapping[str, int]]) -> Amounts:
    most: Amounts = {}
    for part in parts:
        most = {name: max(most.get(name, 0), part.get(name, 0)) for name in (*most, *part)}
    return most
