"""What a pod takes, against PodRequests of k8s.io/component-helpers/resource v0.37.2.

Each row was printed by Go.  The API server's defaulting (a limit without a request becomes the request) is not
part of that library: it was written into the checking program by hand.  Scored is the same with
NonMissingContainerRequests 100m and 200Mi.
"""

import pytest

from muster.api.requests import effective_requests
from muster.api.wire import PodSpec, read

MI = 1024 * 1024
GI = 1024 * MI
GPU = "nvidia.com/gpu"


def runs(**requests):
    """A container, or an init container, with these requests."""
    return {"resources": {"requests": requests}}


def sidecar(**requests):
    return runs(**requests) | {"restartPolicy": "Always"}


# what is tried, pod spec, amounts by name, scored cpu in milli, scored memory in bytes
REQUESTS = [
    ("one container", {"containers": [runs(cpu="500m", memory="1Gi")]}, {"cpu": 500, "memory": GI}, 500, GI),
    (
        "containers add up",
        {"containers": [runs(cpu="500m", memory="1Gi"), runs(cpu=2, memory="512Mi")]},
        {"cpu": 2500, "memory": GI + 512 * MI},
        2500,
        GI + 512 * MI,
    ),
    ("no requests at all", {"containers": [{}, {}]}, {}, 200, 400 * MI),
    (
        "each container is guessed on its own",
        {"containers": [runs(cpu="1"), runs(memory="1Gi")]},
        {"cpu": 1000, "memory": GI},
        1100,
        GI + 200 * MI,
    ),
    (
        "a request of zero is a request",
        {"containers": [runs(cpu="0", memory="0")]},
        {},
        0,
        0,
    ),
    (
        "an extended resource",
        {"containers": [runs(cpu="1", memory="1Gi", **{GPU: "4"}), runs(cpu="1", memory="1Gi", **{GPU: 4})]},
        {"cpu": 2000, "memory": 2 * GI, GPU: 8},
        2000,
        2 * GI,
    ),
    (
        "limits without requests",
        {"containers": [{"resources": {"limits": {"cpu": "2", "memory": "1Gi", GPU: "1"}}}]},
        {"cpu": 2000, "memory": GI, GPU: 1},
        2000,
        GI,
    ),
    (
        "limits do not count where there are requests",
        {"containers": [{"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "4", "memory": "2Gi"}}}]},
        {"cpu": 1000, "memory": 2 * GI},
        1000,
        2 * GI,
    ),
    (
        "a small init container hides behind the containers",
        {"containers": [runs(cpu="2", memory="1Gi")], "initContainers": [runs(cpu="1", memory="1Gi")]},
        {"cpu": 2000, "memory": GI},
        2000,
        GI,
    ),
    (
        "a large init container raises one resource and not the other",
        {"containers": [runs(cpu="1", memory="2Gi")], "initContainers": [runs(cpu="3", memory="1Gi")]},
        {"cpu": 3000, "memory": 2 * GI},
        3000,
        2 * GI,
    ),
    (
        "init containers run one after another",
        {
            "containers": [runs(cpu="1", memory="1Gi")],
            "initContainers": [runs(cpu="2", memory="1Gi"), runs(cpu="3", memory="1Gi")],
        },
        {"cpu": 3000, "memory": GI},
        3000,
        GI,
    ),
    (
        "an init container without requests is guessed as well",
        {"containers": [runs(cpu="50m", memory="1Mi")], "initContainers": [{}]},
        {"cpu": 50, "memory": MI},
        100,
        200 * MI,
    ),
    (
        "a sidecar runs beside the containers",
        {"containers": [runs(cpu="1", memory="1Gi")], "initContainers": [sidecar(cpu="500m", memory="1Gi")]},
        {"cpu": 1500, "memory": 2 * GI},
        1500,
        2 * GI,
    ),
    (
        "a sidecar without requests is guessed",
        {"containers": [runs(cpu="1", memory="1Gi")], "initContainers": [{"restartPolicy": "Always"}]},
        {"cpu": 1000, "memory": GI},
        1100,
        GI + 200 * MI,
    ),
    (
        "an init container after a sidecar runs beside it",
        {
            "containers": [runs(cpu="1", memory="1Gi")],
            "initContainers": [sidecar(cpu="500m", memory="1Gi"), runs(cpu="2", memory="1Gi")],
        },
        {"cpu": 2500, "memory": 2 * GI},
        2500,
        2 * GI,
    ),
    (
        "an init container before a sidecar runs alone",
        {
            "containers": [runs(cpu="1", memory="1Gi")],
            "initContainers": [runs(cpu="2", memory="1Gi"), sidecar(cpu="500m", memory="1Gi")],
        },
        {"cpu": 2000, "memory": 2 * GI},
        2000,
        2 * GI,
    ),
    (
        "sidecars add up for what is started after them",
        {
            "containers": [runs(cpu="100m", memory="1Gi")],
            "initContainers": [
                sidecar(cpu="1", memory="1Gi"),
                runs(cpu="1", memory="1Gi"),
                sidecar(cpu="1", memory="1Gi"),
                runs(cpu="3", memory="1Gi"),
            ],
        },
        {"cpu": 5000, "memory": 3 * GI},
        5000,
        3 * GI,
    ),
    (
        "restartPolicy Never is no sidecar",
        {
            "containers": [runs(cpu="1", memory="1Gi")],
            "initContainers": [runs(cpu="500m", memory="1Gi") | {"restartPolicy": "Never"}],
        },
        {"cpu": 1000, "memory": GI},
        1000,
        GI,
    ),
    (
        "overhead comes on top",
        {
            "containers": [runs(cpu="1", memory="1Gi")],
            "initContainers": [runs(cpu="2", memory="1Gi")],
            "overhead": {"cpu": "250m", "memory": "120Mi"},
        },
        {"cpu": 2250, "memory": GI + 120 * MI},
        2250,
        GI + 120 * MI,
    ),
    (
        "overhead of a pod without requests",
        {"containers": [{}], "overhead": {"cpu": "250m", "memory": "120Mi"}},
        {"cpu": 250, "memory": 120 * MI},
        350,
        320 * MI,
    ),
    (
        "pod-level requests stand in the place of the sum",
        {
            "containers": [runs(cpu="1", memory="1Gi"), {}],
            "resources": {"requests": {"cpu": "4", "memory": "8Gi"}},
        },
        {"cpu": 4000, "memory": 8 * GI},
        4000,
        8 * GI,
    ),
    (
        "pod-level requests only for the resources they name",
        {
            "containers": [runs(cpu="1", memory="1Gi", **{GPU: "1"})],
            "resources": {"requests": {"cpu": "4"}},
        },
        {"cpu": 4000, "memory": GI, GPU: 1},
        4000,
        GI,
    ),
    (
        "pod-level requests and overhead",
        {
            "containers": [{}],
            "resources": {"requests": {"cpu": "4", "memory": "8Gi"}},
            "overhead": {"cpu": "1"},
        },
        {"cpu": 5000, "memory": 8 * GI},
        5000,
        8 * GI,
    ),
    (
        "pod-level hugepages",
        {
            "containers": [runs(cpu="1", memory="1Gi")],
            "resources": {"requests": {"hugepages-2Mi": "64Mi"}, "limits": {"hugepages-2Mi": "64Mi"}},
        },
        {"cpu": 1000, "memory": GI, "hugepages-2Mi": 64 * MI},
        1000,
        GI,
    ),
    (
        "pod-level limits without any requests",
        {"containers": [{}], "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}},
        {"cpu": 2000, "memory": GI},
        2000,
        GI,
    ),
    (
        "pod-level limits yield to the containers' requests",
        {
            "containers": [runs(cpu="1", memory="1Gi")],
            "resources": {"limits": {"cpu": "2", "memory": "4Gi"}},
        },
        {"cpu": 1000, "memory": GI},
        1000,
        GI,
    ),
    (
        "pod-level resources name no extended ones",
        {
            "containers": [runs(cpu="1", memory="1Gi", **{GPU: "1"})],
            "resources": {"requests": {"cpu": "2", GPU: "8"}},
        },
        {"cpu": 2000, "memory": GI, GPU: 1},
        2000,
        GI,
    ),
    (
        "ephemeral storage",
        {"containers": [runs(cpu="1", memory="1Gi", **{"ephemeral-storage": "10G"})]},
        {"cpu": 1000, "memory": GI, "ephemeral-storage": 10_000_000_000},
        1000,
        GI,
    ),
    (
        "fractions of the smallest unit are rounded up",
        {"containers": [runs(cpu="1.0001", memory="1500m")]},
        {"cpu": 1001, "memory": 2},
        1001,
        2,
    ),
]


@pytest.mark.parametrize(
    ("spec", "amounts", "cpu", "memory"), [row[1:] for row in REQUESTS], ids=[row[0] for row in REQUESTS]
)
def test_a_pod_takes_what_upstream_says(spec, amounts, cpu, memory):
    found = effective_requests(read(PodSpec, spec))
    assert dict(found.amounts) == amounts
    assert (found.scored_cpu_milli, found.scored_memory_bytes) == (cpu, memory)


def test_amounts_are_sorted_by_name():
    spec = read(PodSpec, {"containers": [runs(memory="1Gi", cpu="1", **{GPU: "1"})]})
    assert [name for name, _ in effective_requests(spec).amounts] == ["cpu", "memory", GPU]
