"""Resources of containers and pods: which names there are, how much may be asked, what class of service that makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from muster.base.caching import remembered
from muster.base.errors import QuantityError
from muster.base.quantity import nanos
from muster.local.checks.fields import duplicate, forbidden, invalid, not_found, not_supported, required
from muster.local.checks.metadata import NOT_NEGATIVE
from muster.local.codec.forms import quantity
from muster.local.codec.values import Object
from muster.local.kinds.pods.formats import each, qualified
from muster.local.kinds.rules import Errors

_HUGE = "hugepages-"
_COMPUTE = ("cpu", "memory")
_OF_CONTAINERS = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_STANDARD = (
    _OF_CONTAINERS
    | _COUNTED
    | {"storage", "requests.storage"}
    | {f"{kind}.{name}" for kind in ("requests", "limits") for name in _OF_CONTAINERS}
)
_POD_LEVEL = ("cpu", _HUGE, "memory")
_NANO, _MILLI = 10**9, 10**6


def is_huge(name: str) -> bool:
    return name.startswith(_HUGE)


def is_native(name: str) -> bool:
    """Of Kubernetes itself, as against extended resources."""
    return "/" not in name or "kubernetes.io/" in name


def may_be_overcommitted(name: str) -> bool:
    """Whether limits may be above requests."""
    return is_native(name) and not is_huge(name)


@remembered(4096)
def is_whole(name: str) -> bool:
    """Whether it is counted in whole numbers."""
    return name in _COUNTED or is_extended(name)


def is_extended(name: str) -> bool:
    return not is_native(name) and not name.startswith("requests.") and not qualified(f"requests.{name}")


@remembered(4096)
def name_problems(name: str) -> tuple[str, ...]:
    """Of the name of any resource."""
    problems = qualified(name)
    if not problems and "/" not in name and not _is_standard(name):
        return ("must be a standard resource type or fully qualified",)
    return problems


def _is_standard(name: str) -> bool:
    return name in _STANDARD or is_huge(name) or name.startswith(f"requests.{_HUGE}")


@remembered(4096)
def container_name_problems(name: str) -> tuple[str, ...]:
    """Of the name of a resource that a container asks for."""
    problems = name_problems(name)
    if "/" not in name:
        if name not in _OF_CONTAINERS and not is_huge(name):
            problems += ("must be a standard resource for containers",)
    elif not is_native(name) and not is_extended(name):
        problems += ("doesn't follow extended resource name standard",)
    return problems


def amount_problems(name: str, amount: str) -> Iterator[str]:
    """Not negative, and whole where the resource is counted."""
    value = nanos(amount)
    if value < 0:
        yield NOT_NEGATIVE
    if value % _NANO and is_whole(name):
        yield "must be an integer"


def of_container(resources: Object, path: str) -> Errors:
    """What a container asks for, and what it may use."""
    return _requirements(resources, path, container_name_problems)


def of_pod(spec: Object, path: str) -> Errors:
    """What is asked for the pod as a whole."""
    resources = spec["resources"]
    if spec.get("os", {}).get("name") == "windows":
        yield forbidden(path, "may not be set for a windows pod")
        return
    if "claims" in resources:
        yield forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level")
    yield from _requirements(resources, path, name_problems)
    for kind in ("limits", "requests"):
        for name in resources.get(kind, ()):
            if not name_problems(name) and not _is_pod_level(name):
                yield not_supported(f"{path}.{kind}[{name}]", name, _POD_LEVEL)
    yield from _covers_containers(spec, path)


def _is_pod_level(name: str) -> bool:
    return name in _COMPUTE or is_huge(name)


def _requirements(resources: Object, path: str, problems: Callable[[str], tuple[str, ...]]) -> Errors:
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            at = f"{path}.{kind}[{name}]"
            yield from each(at, name, problems(name))
            yield from each(at, amount, amount_problems(name, amount))
            if is_huge(name) and not _is_multiple(amount, name.removeprefix(_HUGE)):
                yield invalid(at, amount, f"{amount} is not positive integer multiple of {name}")
    for name, amount in requests.items():
        yield from _under_limit(path, name, amount, limits.get(name))
    asked = limits.keys() | requests.keys()
    if asked and asked.isdisjoint(_COMPUTE) and any(map(is_huge, asked)):
        yield forbidden(path, "HugePages require cpu or memory")


def _under_limit(path: str, name: str, request: str, limit: str | None) -> Errors:
    if limit is None:
        if not may_be_overcommitted(name):
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    elif nanos(request) > nanos(limit) or (nanos(request) != nanos(limit) and not may_be_overcommitted(name)):
        most = "less than or equal to" if may_be_overcommitted(name) else "equal to"
        yield invalid(f"{path}.requests", request, f"must be {most} {name} limit of {limit}")


def _is_multiple(amount: str, page: str) -> bool:
    try:
        size = nanos(page)
    except QuantityError:
        return False
    return size > 0 and not size % _NANO and -(-nanos(amount) // _NANO) % (size // _NANO) == 0


def claim_errors(container: Object, path: str, known: Iterable[Object]) -> Errors:
    """Of the pod's claims that a container takes; one that is taken whole may not be taken in parts too."""
    names = [one.get("name") for one in known]
    taken: set[tuple[str, str]] = set()
    for index, claim in enumerate(container.get("resources", {}).get("claims", ())):
        at, name, part = f"{path}.resources.claims[{index}]", claim.get("name", ""), claim.get("request", "")
        if name and (any(one == name and "" in (part, whole) for one, whole in taken) or (name, part) in taken):
            yield duplicate(at, f"{name}/{part}" if part else name)
        taken.add((name, part))
        if name and name not in names:
            yield not_found(at, name)


def _covers_containers(spec: Object, path: str) -> Errors:
    """What the pod asks for is not less than what its containers do; none of their limits is above the pod's."""
    resources = spec["resources"]
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    for name, total in totals(spec, "requests").items():
        if name in requests and nanos(total) > nanos(requests[name]):
            words = f"must be greater than or equal to aggregate container requests of {total}"
            yield invalid(f"{path}.requests[{name}]", requests[name], words)
    for name, total in totals(spec, "limits").items():
        if is_huge(name) and name in limits and nanos(total) > nanos(limits[name]):
            words = f"must be greater than or equal to aggregate container limits of {total}"
            yield invalid(f"{path}.limits[{name}]", limits[name], words)
    for index, container in enumerate(spec.get("containers") or ()):
        for name, amount in container.get("resources", {}).get("limits", {}).items():
            if name in limits and nanos(amount) > nanos(limits[name]):
                words = f"must be less than or equal to pod limits of {limits[name]}"
                yield invalid(f"{path}.containers[{index}][{name}].limits", amount, words)


def is_sidecar(container: Object) -> bool:
    """An init container that stays."""
    return bool(container.get("restartPolicy") == "Always")


def totals(spec: Object, kind: str) -> dict[str, str]:
    """Requests or limits of all containers: together, or of an init container and the sidecars before it if more."""
    total: dict[str, str] = {}
    sidecars: dict[str, str] = {}
    most: dict[str, str] = {}
    for container in spec.get("containers") or ():
        _add(total, _list(container, kind))
    for container in spec.get("initContainers") or ():
        own = dict(_list(container, kind))
        if is_sidecar(container):
            _add(total, own)
            _add(sidecars, own)
            _raise(most, sidecars)
        else:
            _add(own, sidecars)
            _raise(most, own)
    _raise(total, most)
    return total


def _list(container: Object, kind: str) -> dict[str, str]:
    found: dict[str, str] = container.get("resources", {}).get(kind, {})
    return found


def _add(total: dict[str, str], more: dict[str, str]) -> None:
    for name, amount in more.items():
        total[name] = _shown(nanos(total[name]) + nanos(amount), like=total[name]) if name in total else amount


def _raise(total: dict[str, str], least: dict[str, str]) -> None:
    for name, amount in least.items():
        if name not in total or nanos(amount) > nanos(total[name]):
            total[name] = amount


def default_pod_level(spec: Object) -> None:
    """Where something is asked for the pod as a whole, the rest follows from its containers."""
    resources = spec.get("resources")
    if not resources or not (resources.get("requests") or resources.get("limits")):
        return
    limits, requests = resources.setdefault("limits", {}), resources.setdefault("requests", {})
    of_containers = totals(spec, "limits")
    for name, total in of_containers.items():
        if is_huge(name) and name not in requests:
            limits.setdefault(name, total)
    for name, total in totals(spec, "requests").items():
        if name in _COMPUTE:
            requests.setdefault(name, total)
    for name in filter(_is_pod_level, limits):
        requests.setdefault(name, limits[name])
    for name in requests.keys() - limits.keys():
        if _is_pod_level(name) and _all_limit(spec, name):
            limits[name] = max(requests[name], of_containers[name], key=nanos)
    for kind in ("limits", "requests"):
        if not resources[kind]:
            del resources[kind]


def _all_limit(spec: Object, name: str) -> bool:
    listed = [*(spec.get("containers") or ()), *spec.get("initContainers", ()), *spec.get("ephemeralContainers", ())]
    return bool(listed) and all(name in _list(container, "limits") for container in listed)


def service_class(spec: Object) -> str:
    """Guaranteed where limits are set and equal requests, BestEffort where nothing is asked, else Burstable."""
    whole = spec.get("resources", {})
    if any(_is_pod_level(name) for kind in ("requests", "limits") for name in whole.get(kind, ())):
        return _class(whole)
    listed = (*spec.get("initContainers", ()), *(spec.get("containers") or ()))
    classes = {_class(container.get("resources", {})) for container in listed}
    return classes.pop() if len(classes) == 1 else "Burstable" if classes else "BestEffort"


def _class(resources: Object) -> str:
    limits, requests = resources.get("limits"), resources.get("requests")
    if not limits and not requests:
        return "BestEffort"
    found = {_class_by(name, limits or {}, requests or {}) for name in _COMPUTE}
    return found.pop() if len(found) == 1 else "Burstable"


def _class_by(name: str, limits: Object, requests: Object) -> str:
    request = nanos(requests.get(name, "0"))
    if request != nanos(limits.get(name, "0")):
        return "Burstable"
    return "Guaranteed" if request else "BestEffort"


def rounded(amount: str) -> str:
    """In thousandths at the finest, rounded up; an amount in its canonical form stays in it."""
    if amount[-1:] not in ("n", "u") and "e-" not in amount:
        return amount
    value = nanos(amount)
    return _shown(-(-value // _MILLI) * _MILLI, like=amount)


def _shown(value: int, *, like: str) -> str:
    """The canonical form of so many billionths, with suffixes of the kind that `like` has."""
    ones, rest = divmod(value, _NANO)
    if like.endswith("i") and not rest and ones >= 1024:
        return str(ones) if ones % 1024 else quantity(f"{ones // 1024}Ki")
    return quantity(f"{value}e-9" if "e" in like else f"{value}n")
