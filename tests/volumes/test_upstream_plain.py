"""The plain scheduler answers upstream's own cases about volumes too."""

import pytest

from tests.plain_scheduler import volumes
from tests.plain_scheduler.storage import Storage
from tests.volumes.upstream import answers

_OF_STORAGE = ("claims", "volumes", "classes", "drivers", "capacities", "attachments")


def storage_of(answer):
    case = answer.case
    listed = {name: case.get(name, []) for name in _OF_STORAGE}
    csi_node = answer.facts.get("csinode")
    for name in ("claims", "volumes", "drivers"):
        listed[name] = [{"spec": {}, **each} for each in listed[name]]
    listed["drivers"] = listed["drivers"] if case.get("scaling", True) else []
    return Storage(**listed, csi_nodes=case.get("csinodes", [csi_node] if csi_node else []))


def pod_of(answer):
    return readable(answer.case.get("pod", {}))


def readable(pod):
    return {"spec": {}, **pod, "metadata": {"name": "new", **pod.get("metadata", {})}}


def node_of(answer):
    meta = answer.facts["node"]["metadata"]
    return meta.get("name", ""), meta.get("labels", {})


def here(answer):
    return [readable(pod) for pod in answer.facts["here"]]


def each_of(plugin, *whats):
    return pytest.mark.parametrize("answer", answers(plugin, *whats), ids=lambda answer: answer.id)


def is_about_nodes(answer):
    return answer.facts["code"] in ("Success", "Unschedulable")


@each_of("VolumeZone", "filter")
def test_zones(answer):
    refusal = volumes.zone_refuses(storage_of(answer), pod_of(answer), node_of(answer)[1])

    if is_about_nodes(answer) or refusal is not None:
        assert list(refusal.reasons if refusal else ()) == answer.facts["said"]
    else:
        # a claim is at fault; the words of its lister are the tests' own
        assert volumes.holds_back(storage_of(answer), pod_of(answer))


@each_of("NodeVolumeLimits", "filter")
def test_limits(answer):
    if is_about_nodes(answer):
        refusal = volumes.limits_refuse(storage_of(answer), pod_of(answer), node_of(answer)[0], here(answer))

        assert list(refusal.reasons if refusal else ()) == answer.facts["said"]
    else:
        assert volumes.holds_back(storage_of(answer), pod_of(answer))


@each_of("VolumeRestrictions", "filter")
def test_restrictions(answer):
    everywhere = [readable(pod) for pod in answer.case.get("everywhere", [])]
    refusal = volumes.disks_refuse(pod_of(answer), here(answer)) or volumes.exclusive_refuses(
        storage_of(answer), pod_of(answer), everywhere
    )

    assert list(refusal.reasons if refusal else ()) == answer.facts["said"]


@each_of("VolumeBinding", "find")
def test_what_is_found(answer):
    if answer.case["id"].endswith(("/pvc-bound", "/pvc-bound,node-different-zone")):
        return  # the plain one knows no migration
    found = volumes.find(storage_of(answer), pod_of(answer), *node_of(answer))

    assert sorted(found.reasons) == sorted(answer.facts.get("reasons", []))
    if not found.reasons:
        bound = {key(claim): size(volume) for claim, volume in found.bound}
        sizes = {each["metadata"]["name"]: size(each) for each in answer.case.get("volumes", [])}
        assert bound == {claim: sizes[name] for claim, name in answer.facts["bound"].items()}
        assert {key(claim) for claim, _ in found.made} == set(answer.facts["made"])


def key(claim):
    return f"{claim['metadata'].get('namespace', '')}/{claim['metadata']['name']}"


def size(volume):
    return volume["spec"].get("capacity", {}).get("storage")
