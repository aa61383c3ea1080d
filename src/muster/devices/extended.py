"""Extended resources that devices stand for: a pod asks for them as for any resource, and a claim is made for it.

Containers that run at the same time get devices of their own.  Those that run before the others start, one after the
other, use the devices of those that come later, and share what they need beyond these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from muster.api.devices import IMPLICIT_RESOURCE, DeviceClass, DeviceRequest, ExactRequest
from muster.api.wire import Container, PodSpec, RequestMapping
from muster.base.quantity import nanos

_ONE = 10**9


def classes_by_resource(classes: Iterable[DeviceClass]) -> dict[str, str]:
    """The class that stands for a resource, by the resource's name: of several the newest, then by name."""
    found: dict[str, str] = {}
    # the last one wins: names backwards, then times
    ordered = sorted(classes, key=lambda one: one.metadata.name, reverse=True)
    for one in sorted(ordered, key=lambda one: one.metadata.creation_timestamp):
        found[IMPLICIT_RESOURCE + one.metadata.name] = one.metadata.name
        if one.spec.extended_resource_name:
            found[one.spec.extended_resource_name] = one.metadata.name
    return found


def from_devices(asked: Iterable[str], classes: Mapping[str, str], allocatable: Mapping[str, int]) -> tuple[str, ...]:
    """Those of the resources that a node has to give as devices: what it has itself is counted as ever."""
    return tuple(sorted(name for name in asked if name in classes and not allocatable.get(name)))


class ExtendedRequests(NamedTuple):
    requests: tuple[DeviceRequest, ...]
    """Of the claim, by name."""
    mappings: tuple[RequestMapping, ...]
    """Which of them are for which container."""


def extended_requests(spec: PodSpec, resources: Sequence[str], classes: Mapping[str, str]) -> ExtendedRequests:
    """What the claim asks for that gives a pod these resources as devices."""
    requests: list[DeviceRequest] = []
    mappings: list[RequestMapping] = []
    for resource in sorted(resources):
        if resource in classes:
            made = _of_resource(spec, resource, classes[resource])
            requests += made.requests
            mappings += made.mappings
    return ExtendedRequests(tuple(sorted(requests, key=lambda one: one.name)), tuple(mappings))


def _of_resource(spec: PodSpec, resource: str, class_name: str) -> ExtendedRequests:
    containers = (*spec.init_containers, *spec.containers)
    passing = [place for place, one in enumerate(spec.init_containers) if one.restart_policy != "Always"]
    own: dict[int, DeviceRequest] = {}
    mappings: list[RequestMapping] = []
    for place, container in enumerate(containers):
        wanted = _wanted(container, resource)
        if place not in passing and wanted:
            own[place] = _request(place, container, resource, class_name, wanted)
            mappings.append(_mapping(container, resource, own[place].name))
    rests: list[DeviceRequest] = []
    used: list[tuple[Container, str]] = []
    for place in passing:
        container = containers[place]
        missing = _wanted(container, resource)
        for later, request in own.items():
            if later >= place and missing > 0:
                used.append((container, request.name))
                missing -= _count(request)
        if missing > 0:
            rests.append(_request(place, container, resource, class_name, missing))
            used.append((container, rests[-1].name))
    # they run one after the other: what the hungriest gets does for all
    largest = max(rests, key=_count, default=None)
    names = {one.name for one in rests}
    mappings += [
        _mapping(container, resource, largest.name if largest is not None and name in names else name)
        for container, name in used
    ]
    return ExtendedRequests((*(() if largest is None else (largest,)), *own.values()), tuple(mappings))


def _wanted(container: Container, resource: str) -> int:
    """Whole ones only."""
    amount, rest = divmod(nanos(container.resources.requests.get(resource, 0)), _ONE)
    return 0 if rest else amount


def _count(request: DeviceRequest) -> int:
    return 0 if request.exactly is None else request.exactly.count


def _request(place: int, container: Container, resource: str, class_name: str, count: int) -> DeviceRequest:
    number = sorted(container.resources.requests).index(resource)
    return DeviceRequest(
        name=f"container-{place}-request-{number}", exactly=ExactRequest(device_class_name=class_name, count=count)
    )


def _mapping(container: Container, resource: str, request: str) -> RequestMapping:
    return RequestMapping(container_name=container.name, resource_name=resource, request_name=request)
