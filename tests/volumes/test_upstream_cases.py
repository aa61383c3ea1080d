"""What upstream's unit tests expect of its four plugins about volumes (upstream_cases/README.md)."""

from collections import Counter

import pytest

from muster.volumes.choice import Bound, Choice, Offer, Refused, choose, market
from muster.volumes.claims import binding_problem, missing_claim, named_claims, problem, standing, zone_problem
from muster.volumes.disks import IN_USE, ONE_POD_ONLY, collide, disks_of
from muster.volumes.limits import attached, attaches_of, refusal
from muster.volumes.needs import Ask
from muster.volumes.nodes import reach_refusal, zone_refusal
from muster.volumes.score import score
from muster.volumes.storage import bytes_of
from tests.volumes.upstream import (
    answers,
    attachments_of,
    csi_node_of,
    need,
    pod_of,
    site_of,
    storage_of,
)

WITHOUT_FAULT = ("Success", "Skip")


def said(answer):
    """With the words of the real lister of classes; the tests' own says otherwise."""
    return [each.replace("storageclasses.storage", "storageclass.storage") for each in answer.facts["said"]]


def each_of(plugin, *whats):
    return pytest.mark.parametrize("answer", answers(plugin, *whats), ids=lambda answer: answer.id)


@each_of("VolumeZone", "prefilter")
def test_zones_hold_a_pod_back_as_upstream_has_it(answer):
    found = zone_problem(pod_of(answer.case.get("pod", {})), storage_of(answer.case))

    assert ([] if found is None else [found.text]) == ([] if answer.facts["code"] in WITHOUT_FAULT else said(answer))
    if found is None:
        assert bool(need(answer.case).zones) == (answer.facts["code"] == "Success")


@each_of("VolumeZone", "filter")
def test_zones_keep_a_pod_from_the_same_nodes(answer):
    pod, storage = pod_of(answer.case.get("pod", {})), storage_of(answer.case)
    if held := zone_problem(pod, storage):
        assert said(answer) == [held.text]
    else:
        assert zone_refusal(need(answer.case), site_of(answer)) == "".join(answer.facts["said"])


@each_of("VolumeRestrictions", "prefilter")
def test_missing_claims_hold_a_pod_back(answer):
    found = missing_claim(pod_of(answer.case.get("pod", {})), storage_of(answer.case))

    assert ([] if found is None else [found.text]) == answer.facts["said"]


@each_of("VolumeRestrictions", "filter")
def test_disks_and_claims_for_one_pod_keep_others_away(answer):
    mine = need(answer.case)
    here = [disks_of(pod_of(other)) for other in answer.facts["here"]]
    used = {named.key for other in answer.case.get("everywhere", []) for named in named_claims(pod_of(other))}
    found = [IN_USE] if any(collide(mine.disks, theirs) for theirs in here) else []
    found = found or ([ONE_POD_ONLY] if used & set(mine.exclusive) else [])

    assert found == answer.facts["said"]


@each_of("NodeVolumeLimits", "filter")
def test_nodes_take_as_many_volumes_as_upstream_lets_them(answer):
    case, storage = answer.case, storage_of(answer.case)
    pod = pod_of(case.get("pod", {}))
    if answer.facts["code"] in ("UnschedulableAndUnresolvable", "Error"):
        # what a claim is wrong with holds the pod back before nodes are looked at
        assert problem(pod, storage) is not None
        return
    node = csi_node_of(answer)
    there = attached(attachments_of(case), storage.volumes)
    found = refusal(
        attaches_of(pod, storage),
        node,
        pods={each for other in answer.facts["here"] for each in attaches_of(pod_of(other), storage)},
        attachments=there.get(answer.facts["node"]["metadata"]["name"], ()),
        drivers=storage.drivers if case.get("scaling") else {},
    )

    assert found == "".join(answer.facts["said"])


@each_of("NodeVolumeLimits", "prefilter")
def test_pods_without_volumes_that_count_have_none(answer):
    if answer.facts["code"] == "Skip":
        assert attaches_of(pod_of(answer.case.get("pod", {})), storage_of(answer.case)) == ()


@each_of("VolumeBinding", "prefilter")
def test_claims_hold_a_pod_back_as_upstream_has_it(answer):
    found = binding_problem(pod_of(answer.case.get("pod", {})), storage_of(answer.case))

    assert ([] if found is None else [found.text]) == ([] if answer.facts["code"] == "Skip" else answer.facts["said"])
    assert found is None or found.is_error == (answer.facts["code"] == "Error")


@each_of("VolumeBinding", "classify")
def test_claims_stand_as_upstream_has_them(answer):
    pod, storage = pod_of(answer.case.get("pod", {})), storage_of(answer.case)
    if "error" in answer.facts:
        assert binding_problem(pod, storage) is not None
        return
    found = {"bound": set(), "immediate": set(), "delayed": set()}
    for named in named_claims(pod):
        found[standing(storage.claims[named.key], storage)].add(named.key)

    assert found == {how: set(answer.facts[how]) for how in found}


@each_of("VolumeBinding", "find")
def test_the_same_volumes_are_chosen_for_the_same_reasons(answer):
    pod, storage = pod_of(answer.case.get("pod", {})), storage_of(answer.case)
    wanted, site = need(answer.case), site_of(answer)
    out_of_reach = reach_refusal(wanted, site)
    choice = choose(wanted.asks, site, market(storage.volumes, storage.capacities))
    reasons = [*([out_of_reach] if out_of_reach else []), *([choice.reason] if isinstance(choice, Refused) else [])]

    assert sorted(reasons) == sorted(answer.facts.get("reasons", []))
    if isinstance(choice, Choice):
        asking = [named.key for named in named_claims(pod) if not storage.claims[named.key].spec.volume_name]
        # of volumes of one size upstream takes any
        sizes = {asking[each.ask]: each.offer.capacity_bytes for each in choice.bound}
        assert sizes == {key: size_of(storage, name) for key, name in answer.facts["bound"].items()}
        pools = {asking[each.ask]: each.pool.key if each.pool else "" for each in choice.made}
        assert pools == answer.facts["made"]


def size_of(storage, name):
    return bytes_of(storage.volumes.get(name).spec.capacity)


@each_of("VolumeBinding", "score")
def test_nodes_are_worth_as_much(answer):
    if not answer.facts["scores"]:
        assert answer.facts["score"] == 0
        return
    storage, wanted = storage_of(answer.case), need(answer.case)
    choice = choose(wanted.asks, site_of(answer), market(storage.volumes, storage.capacities))
    if isinstance(choice, Refused) or reach_refusal(wanted, site_of(answer)):
        assert answer.facts["score"] == 0
    elif choice.bound or answer.facts["capacityScoring"]:
        assert score(wanted.asks, choice, shape_of(answer)) == answer.facts["score"]


def shape_of(answer):
    return tuple((each["Utilization"], each["Score"] // 10) for each in answer.facts["shape"])


@each_of("VolumeBinding", "scorer")
def test_the_curve_is_the_same(answer):
    amounts = sorted(answer.facts.get("resources", {}).items())
    asks = [Ask(storage_class=name, request_bytes=each["Requested"]) for name, each in amounts]
    offers = [Offer("v", each["Capacity"], name) for name, each in amounts]
    choice = Choice(tuple(Bound(number, offer) for number, offer in enumerate(offers)))

    assert score(asks, choice, shape_of(answer)) == answer.facts["score"]


def test_every_case_is_asked_about():
    counts = Counter(
        (plugin, what)
        for plugin in ("VolumeZone", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding")
        for what in ("prefilter", "filter", "classify", "find", "score", "scorer")
        for _ in answers(plugin, what)
    )

    assert sum(counts.values()) == 527
