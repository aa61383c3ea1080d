"""Warnings to those who make pods: what kube-apiserver 1.37.1 said to the same pods."""

import pytest

from muster.local.kinds.pods.warnings import warnings

NOTHING = "a null labelSelector results in matching no pod"
REQUIRED, PREFERRED = (f"{words}DuringSchedulingIgnoredDuringExecution" for words in ("required", "preferred"))


def container(**fields):
    return {"name": "main", "image": "i", **fields}


def pod(**spec):
    return {"metadata": {"name": "p"}, "spec": {"containers": [container()], **spec}}


def port(number, **fields):
    return {"containerPort": number, "protocol": "TCP", **fields}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"imagePullSecrets": [{"name": "a"}, {"name": "b"}]}, []),
        (
            {"imagePullSecrets": [{"name": "a"}, {"name": "a"}]},
            ['spec.imagePullSecrets[1].name: duplicate name "a"'],
        ),
        ({"imagePullSecrets": [{}]}, ['spec.imagePullSecrets[0].name: invalid empty name ""']),
        (
            {"hostAliases": [{"ip": "10.1.2.3"}, {"ip": "10.1.2.3"}]},
            ['spec.hostAliases[1].ip: duplicate ip "10.1.2.3"'],
        ),
        (
            {"topologySpreadConstraints": [{"labelSelector": {}}, {"topologyKey": "zone"}]},
            [f"spec.topologySpreadConstraints[1].labelSelector: {NOTHING}"],
        ),
        (
            {"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}},
            [f"spec.affinity.podAffinity.{REQUIRED}[0].labelSelector: {NOTHING}"],
        ),
        (
            {"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": {}}]}}},
            [f"spec.affinity.podAntiAffinity.{PREFERRED}[0].podAffinityTerm.labelSelector: {NOTHING}"],
        ),
        ({"affinity": {"podAffinity": {REQUIRED: [{"labelSelector": {}}]}}}, []),
    ],
)
def test_of_a_pod(spec, expected):
    assert warnings(pod(**spec), None) == expected


@pytest.mark.parametrize(
    ("second", "is_warned_of"),
    [
        ({"value": "2"}, True),
        ({"value": "$(A)"}, True),
        ({"value": "$(A)2"}, False),
        ({"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, True),
    ],
)
def test_of_a_variable_that_hides_another(second, is_warned_of):
    made = pod(containers=[container(env=[{"name": "A", "value": "1"}, {"name": "A", **second}])])
    words = 'hides previous definition of "A", which may be dropped when using apply'
    assert warnings(made, None) == [f"spec.containers[0].env[1]: {words}"] * is_warned_of


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (port(80), port(81), ""),
        (port(80), port(80, protocol="UDP"), ""),
        (port(80), port(80), "duplicate"),
        (port(80), port(80, hostPort=8080), "overlapping"),
        (port(80, hostPort=1), port(80, hostPort=2), ""),
        (port(80, hostPort=1), port(80, hostPort=1, hostIP="10.0.0.1"), "dangerously ambiguous"),
    ],
)
def test_of_two_definitions_of_a_port(first, second, expected):
    made = pod(initContainers=[container(ports=[first])], containers=[container(ports=[second])])
    words = f"spec.containers[0].ports[0]: {expected} port definition with spec.initContainers[0].ports[0]"
    assert warnings(made, None) == [words] * bool(expected)


def test_of_two_ports_of_one_name():
    first = "spec.containers[0].ports[0]"
    made = pod(containers=[container(ports=[port(80, name="web"), port(81, name="web")])])
    assert warnings(made, None) == [
        f'spec.containers[0].ports[1]: duplicate port name "web" with {first}, '
        f"services and probes that select ports by name will use {first}"
    ]


def test_a_change_is_no_news():
    assert warnings(pod(imagePullSecrets=[{}]), pod()) == []
