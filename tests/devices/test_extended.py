"""Extended resources that devices stand for; most are upstream's cases."""

from muster.api.devices import ClassSpec, DeviceClass
from muster.api.wire import Container, Metadata, PodSpec, Resources
from muster.devices.extended import classes_by_resource, extended_requests, from_devices

GPU, INIT = "example.com/gpu", "example.com/gpuinit"
IMPLICIT = "deviceclass.resource.kubernetes.io/classInit"
CLASSES = {GPU: "class", "example.com/gpu1": "class1", INIT: "classInit", IMPLICIT: "classInit"}


def container(name: str, *, always: bool = False, **requests: int) -> Container:
    asked = {
        {"gpu": GPU, "gpu1": "example.com/gpu1", "init": INIT, "implicit": IMPLICIT}[one]: count
        for one, count in requests.items()
    }
    return Container(name=name, resources=Resources(requests=asked), restart_policy="Always" if always else None)


def pod(*containers: Container, before: tuple[Container, ...] = ()) -> PodSpec:
    return PodSpec(containers=containers, init_containers=before)


def requests(spec: PodSpec, *resources: str) -> list[tuple[str, str, int]]:
    made = extended_requests(spec, resources, CLASSES).requests
    return [(one.name, one.exactly.device_class_name, one.exactly.count) for one in made if one.exactly]


def mappings(spec: PodSpec, *resources: str) -> set[tuple[str, str, str]]:
    made = extended_requests(spec, resources, CLASSES).mappings
    return {(one.container_name, one.resource_name, one.request_name) for one in made}


ONE = pod(container("con0", gpu=1, gpu1=2))
TWO = pod(container("con0", gpu=1), container("con1", gpu1=2))
BEFORE = pod(container("con0", gpu=1), before=(container("init0", init=2),))
TWICE_BEFORE = pod(container("con0", gpu=1), before=(container("init0", init=1), container("init1", init=2)))
SIDECAR = pod(
    container("con0", gpu=1),
    before=(container("init0", init=1), container("side1", init=1, always=True), container("init2", init=2)),
)


def test_each_container_has_a_request_for_each_resource() -> None:
    assert requests(ONE) == []
    assert requests(ONE, GPU) == [("container-0-request-0", "class", 1)]
    assert requests(ONE, GPU, "example.com/other") == [("container-0-request-0", "class", 1)]
    assert requests(ONE, GPU, "example.com/gpu1") == [
        ("container-0-request-0", "class", 1),
        ("container-0-request-1", "class1", 2),
    ]
    assert requests(TWO, GPU, "example.com/gpu1") == [
        ("container-0-request-0", "class", 1),
        ("container-1-request-0", "class1", 2),
    ]


def test_of_containers_that_run_one_after_the_other_the_hungriest_asks() -> None:
    assert requests(BEFORE, GPU, INIT) == [
        ("container-0-request-0", "classInit", 2),
        ("container-1-request-0", "class", 1),
    ]
    assert requests(TWICE_BEFORE, GPU, INIT) == [
        ("container-1-request-0", "classInit", 2),
        ("container-2-request-0", "class", 1),
    ]


def test_who_runs_before_others_uses_what_these_get() -> None:
    assert requests(SIDECAR, GPU, INIT) == [
        ("container-1-request-0", "classInit", 1),
        ("container-2-request-0", "classInit", 2),
        ("container-3-request-0", "class", 1),
    ]
    assert mappings(SIDECAR, GPU, INIT) == {
        ("init0", INIT, "container-1-request-0"),
        ("side1", INIT, "container-1-request-0"),
        ("init2", INIT, "container-2-request-0"),
        ("con0", GPU, "container-3-request-0"),
    }


def test_who_needs_more_than_later_ones_get_asks_for_the_rest() -> None:
    spec = pod(container("con0", gpu=2), before=(container("init0", gpu=3),))
    assert requests(spec, GPU) == [("container-0-request-0", "class", 1), ("container-1-request-0", "class", 2)]
    assert mappings(spec, GPU) == {
        ("con0", GPU, "container-1-request-0"),
        ("init0", GPU, "container-1-request-0"),
        ("init0", GPU, "container-0-request-0"),
    }


def test_containers_are_mapped_to_the_requests_that_give_them_devices() -> None:
    assert mappings(ONE, GPU, "example.com/gpu1") == {
        ("con0", GPU, "container-0-request-0"),
        ("con0", "example.com/gpu1", "container-0-request-1"),
    }
    assert mappings(TWICE_BEFORE, GPU, INIT) == {
        ("init0", INIT, "container-1-request-0"),
        ("init1", INIT, "container-1-request-0"),
        ("con0", GPU, "container-2-request-0"),
    }
    both = pod(before=(container("init0", init=1, implicit=2),))
    assert mappings(both, INIT, IMPLICIT) == {
        ("init0", IMPLICIT, "container-0-request-0"),
        ("init0", INIT, "container-0-request-1"),
    }


def a_class(name: str, created: str, resource: str | None = None) -> DeviceClass:
    return DeviceClass(
        metadata=Metadata(name=name, creation_timestamp=created), spec=ClassSpec(extended_resource_name=resource)
    )


def test_of_classes_for_one_resource_the_newest_stands_for_it_and_then_the_first_by_name() -> None:
    old, new = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
    assert classes_by_resource([a_class("a", old, GPU), a_class("b", new, GPU)])[GPU] == "b"
    assert classes_by_resource([a_class("b", old, GPU), a_class("a", old, GPU)])[GPU] == "a"
    assert classes_by_resource([a_class("a", old)]) == {"deviceclass.resource.kubernetes.io/a": "a"}


def test_what_a_node_has_itself_is_not_taken_from_devices() -> None:
    asked = [GPU, INIT, "cpu"]
    assert from_devices(asked, CLASSES, {GPU: 8, "cpu": 4000}) == (INIT,)
    assert from_devices(asked, CLASSES, {GPU: 0}) == (GPU, INIT)
