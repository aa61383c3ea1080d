"""What pods ask for that only a plugin can honour, read off their manifests; and what every pod may have."""

import json

import pytest

from muster.api.asks import asks_of
from muster.api.wire import PodSpec, read

TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
REQUIRED, PREFERRED = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred"))
TOKEN = {"name": "kube-api-access", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}


def spread(how):
    return {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": how, "labelSelector": {}}


def fields(spec, *, hard):
    asks = asks_of(read(PodSpec, json.dumps(spec).encode()))
    return [ask.field for ask in asks if ask.hard is hard]


HARD = {
    "pod affinity": (
        {"affinity": {"podAffinity": {REQUIRED: [TERM]}}},
        f"spec.affinity.podAffinity.{REQUIRED}",
    ),
    "pod anti-affinity": (
        {"affinity": {"podAntiAffinity": {REQUIRED: [TERM]}}},
        f"spec.affinity.podAntiAffinity.{REQUIRED}",
    ),
    "spread": (
        {"topologySpreadConstraints": [spread("DoNotSchedule")]},
        "spec.topologySpreadConstraints[] with whenUnsatisfiable: DoNotSchedule",
    ),
    "a volume claim": (
        {"volumes": [TOKEN, {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
        "spec.volumes[].persistentVolumeClaim",
    ),
    "an ephemeral volume": (
        {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]},
        "spec.volumes[].ephemeral",
    ),
    "a device": (
        {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]},
        "spec.resourceClaims",
    ),
}

SOFT = {
    "preferred pod affinity": (
        {"affinity": {"podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": TERM}]}}},
        f"spec.affinity.podAffinity.{PREFERRED}",
    ),
    "preferred pod anti-affinity": (
        {"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": TERM}]}}},
        f"spec.affinity.podAntiAffinity.{PREFERRED}",
    ),
    "spread if it can be": (
        {"topologySpreadConstraints": [spread("ScheduleAnyway")]},
        "spec.topologySpreadConstraints[] with whenUnsatisfiable: ScheduleAnyway",
    ),
}

NOTHING = {
    "nothing": {},
    "empty lists": {"volumes": [], "resourceClaims": [], "topologySpreadConstraints": []},
    "empty affinity": {"affinity": {"podAffinity": {}, "podAntiAffinity": {REQUIRED: [], PREFERRED: []}}},
    "volumes that are wherever the pod is": {
        "volumes": [
            TOKEN,
            {"name": "a", "emptyDir": {}},
            {"name": "b", "configMap": {"name": "b"}},
            {"name": "c", "secret": {"secretName": "c"}},
            {"name": "d", "hostPath": {"path": "/dev/fuse"}},
            {"name": "e", "csi": {"driver": "secrets-store.csi.k8s.io"}},
            {"name": "f", "nfs": {"server": "nfs", "path": "/"}},
            {"name": "g", "downwardAPI": {"items": []}},
            {"name": "h", "image": {"reference": "registry.example.com/data:1"}},
        ]
    },
    "a DaemonSet's node affinity": {
        "affinity": {
            "nodeAffinity": {
                REQUIRED: {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
                    ]
                }
            }
        }
    },
}


@pytest.mark.parametrize(("spec", "field"), HARD.values(), ids=HARD)
def test_what_must_be_honoured_is_a_hard_ask(spec, field):
    assert fields(spec, hard=True) == [field]
    assert fields(spec, hard=False) == []


@pytest.mark.parametrize(("spec", "field"), SOFT.values(), ids=SOFT)
def test_what_is_only_preferred_is_a_soft_ask(spec, field):
    assert fields(spec, hard=True) == []
    assert fields(spec, hard=False) == [field]


@pytest.mark.parametrize("spec", NOTHING.values(), ids=NOTHING)
def test_what_common_pods_carry_asks_for_nothing(spec):
    assert asks_of(read(PodSpec, json.dumps(spec).encode())) == ()


def test_each_thing_is_asked_for_once_in_a_fixed_order_and_equal_asks_are_one_object():
    claims = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in "ab"]
    scratch = {"name": "c", "ephemeral": {}}
    one = asks_of(read(PodSpec, {"volumes": [scratch, *claims]}))
    other = asks_of(read(PodSpec, {"volumes": [*claims, scratch]}))
    assert [ask.field for ask in one] == ["spec.volumes[].ephemeral", "spec.volumes[].persistentVolumeClaim"]
    assert one is other
