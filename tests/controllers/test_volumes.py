"""Claims and volumes find each other as kube-controller-manager lets them, and part."""

import itertools
import random

import msgspec
import pytest

from muster.api.calls import Lost, Patch, Refused
from muster.controllers import volume_choice
from muster.controllers.volume_objects import CLAIMS, STORAGE_CLASSES, VOLUMES, Claim, Volume
from tests.controllers.storage import Storage


def test_a_volume_that_nobody_claims_is_available():
    assert Storage().volume().run().volume_phase() == "Available"


def test_a_claim_gets_a_volume_and_each_knows_the_other():
    place = Storage().volume().run().claim().run()
    claim, volume = place.get(CLAIMS, "data"), place.get(VOLUMES, "v")
    assert (place.phase(), place.volume_phase(), place.has()) == ("Bound", "Bound", "v")
    assert volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
    assert volume["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
    done = ("pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller")
    assert claim["metadata"]["annotations"] == dict.fromkeys(done, "yes")
    assert claim["status"]["capacity"] == {"storage": "1Gi"}
    assert claim["status"]["accessModes"] == ["ReadWriteOnce"]


def test_a_claim_that_is_too_large_waits_and_gets_a_volume_that_comes_later():
    place = Storage().volume().run().claim(size="2Gi").run()
    assert (place.phase(), place.volume_phase()) == ("Pending", "Available")
    words = "no persistent volumes available for this claim and no storage class is set"
    assert place.events == [("FailedBinding", words)]
    assert place.volume("w", size="4Gi").run().has() == "w"


@pytest.mark.parametrize(
    "volumes",
    [
        [{"name": "small"}, {"name": "large", "size": "3Gi"}],
        [{"name": "many", "modes": ("ReadWriteOnce", "ReadWriteMany")}, {"name": "small", "size": "2Gi"}],
        [{"name": "other", "class_name": "x"}, {"name": "small"}],
        [{"name": "block", "volumeMode": "Block"}, {"name": "small"}],
    ],
    ids=["the smallest", "fewest modes first", "of its class", "of its form"],
)
def test_of_several_volumes_upstreams_choice_is_taken(volumes):
    for order in itertools.permutations(volumes):
        place = Storage()
        for one in order:
            place.volume(**one)
        assert place.run().claim().run().has() == "small"


def test_a_selector_of_labels_counts():
    place = Storage().volume("a").volume("b", labels={"disk": "ssd"}).run()
    assert place.claim(selector={"matchLabels": {"disk": "ssd"}}).run().has() == "b"


def test_a_volume_that_is_kept_for_a_claim_waits_for_it_whatever_its_class():
    ref = {"namespace": "team", "name": "data"}
    place = Storage().volume("kept", class_name="x", size="8Gi", claimRef=ref).volume("free").run()
    assert place.volume_phase("kept") == "Available"
    assert place.claim("other").run().has("other") == "free"
    assert place.claim().run().has() == "kept"


def test_what_a_scheduler_has_begun_is_finished():
    """The scheduler writes the claim's name into the volume, and no more."""
    place = Storage().storage_class(mode="WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner")
    place.volume(class_name="fast").claim(class_name="fast").run()
    assert (place.phase(), place.volume_phase()) == ("Pending", "Available")
    uid = place.get(CLAIMS, "data")["metadata"]["uid"]
    place.patch(VOLUMES, "v", {"spec": {"claimRef": {"namespace": "team", "name": "data", "uid": uid}}})
    assert place.run().has() == "v"
    assert (place.phase(), place.volume_phase()) == ("Bound", "Bound")


def test_a_claim_that_waits_for_a_pod_says_for_which():
    place = Storage().storage_class(mode="WaitForFirstConsumer").volume(class_name="fast")
    place.claim(class_name="fast").run()
    waits = ("WaitForFirstConsumer", "waiting for first consumer to be created before binding")
    assert place.events == [waits]
    place.pod().run()
    assert place.events == [waits, ("WaitForPodScheduled", "waiting for pod p to be scheduled")]
    assert place.has() is None


def test_a_claim_of_no_class_gets_the_one_that_became_the_default():
    place = Storage(provisioner=False).claim(class_name=None).run()
    assert place.phase() == "Pending"
    place.storage_class(default=True).run()
    assert place.get(CLAIMS, "data")["spec"]["storageClassName"] == "fast"
    assert place.reasons[-1] == "ExternalProvisioning"


def test_a_claim_of_an_unknown_class_says_so():
    place = Storage().claim(class_name="nothing").run()
    assert place.events == [("ProvisioningFailed", 'storageclass.storage.k8s.io "nothing" not found')]


def test_a_class_that_was_not_seen_is_not_taken_for_none():
    place = Storage().storage_class(mode="WaitForFirstConsumer").volume(class_name="fast").run()
    classes = place.objects[STORAGE_CLASSES.path()]
    kept = classes.pop("fast")
    place.begin()
    classes["fast"] = kept
    place.claim(class_name="fast").run(5)
    assert (place.has(), place.events) == (None, [])


def test_a_claim_may_name_its_volume():
    place = Storage().claim(volumeName="v").run()
    assert place.phase() == "Pending"
    assert place.volume(size="2Gi").run().phase() == "Bound"


def test_a_claim_that_names_a_volume_that_does_not_fit_is_told_why():
    place = Storage().volume().run().claim(size="2Gi", volumeName="v").run()
    assert place.events == [("VolumeMismatch", 'Cannot bind to requested volume "v": requested PV is too small')]
    assert (place.phase(), place.volume_phase()) == ("Pending", "Available")


def test_a_volume_whose_claim_goes_is_released_and_kept():
    place = Storage().volume().run().claim().run()
    place.delete(CLAIMS, "data")
    place.run()
    assert place.get(CLAIMS, "data") is None
    assert place.volume_phase() == "Released"
    assert place.claim().run().phase() == "Pending", "another claim of the same name is another claim"


def test_a_volume_that_nobody_can_recycle_or_delete_has_failed():
    for policy, reason in (("Recycle", "VolumeFailedRecycle"), ("Delete", "VolumeFailedDelete")):
        place = Storage().volume(persistentVolumeReclaimPolicy=policy).run().claim().run()
        place.delete(CLAIMS, "data")
        assert place.run().volume_phase() == "Failed"
        assert place.reasons[-1] == reason
        assert place.get(VOLUMES, "v")["status"]["message"]


def test_a_claim_whose_volume_is_gone_is_lost():
    place = Storage().volume().run().claim().run()
    place.vanish(VOLUMES, "v")
    assert place.run().phase() == "Lost"
    assert place.events[-1] == ("ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
    assert "capacity" not in place.get(CLAIMS, "data")["status"]


def test_nobody_says_that_data_are_lost_whose_volume_was_only_not_seen():
    place = Storage().volume().run().claim().run()
    volumes = place.objects[VOLUMES.path()]
    kept = volumes.pop("v")
    place.begin()
    volumes["v"] = kept
    place.run(30)
    assert place.phase() == "Bound"


def test_a_volume_is_not_released_while_its_claim_may_be_there():
    place = Storage().volume().run().claim().run()
    place.answer = lambda call: Lost() if "persistentvolumeclaims/data" in call.path else None
    place.vanish(CLAIMS, "data")
    assert place.run(10).volume_phase() == "Bound"
    place.answer = None
    assert place.run(1000).volume_phase() == "Released"


def test_a_volume_that_is_kept_for_a_claim_with_another_is_let_go():
    place = Storage().volume().run().claim().run()
    uid = place.get(CLAIMS, "data")["metadata"]["uid"]
    ref = {"namespace": "team", "name": "data", "uid": uid}
    place.volume("second", claimRef=ref).run()
    assert place.volume_phase("second") == "Available"
    assert "uid" not in place.get(VOLUMES, "second")["spec"]["claimRef"], "a user kept it: the name stays"


@pytest.mark.parametrize("failing", range(4))
def test_whoever_begins_anew_after_any_write_finishes_it(failing):
    place = Storage().volume().run()
    writes = itertools.count()

    def answer(call):
        if isinstance(call, Patch) and next(writes) >= failing:
            return Refused(code=500, message="no")
        return None

    place.answer = answer
    place.claim().run()
    place.answer = None
    assert place.begin().run().phase() == "Bound"
    assert place.volume_phase() == "Bound"


# --- against a plain oracle ---


def plain_choice(claim, volumes, delayed):
    """Upstream's loops, one after another."""
    wanted = set(claim.spec.access_modes)
    sets = sorted({tuple(sorted(one.spec.access_modes)) for one in volumes}, key=lambda modes: (len(modes), modes))
    for modes in sets:
        if not wanted <= set(modes):
            continue
        smallest = None
        for one in volumes:
            if tuple(sorted(one.spec.access_modes)) != modes or one.size < claim.size:
                continue
            if one.spec.claim_ref is not None and not one.is_for(claim):
                continue
            if one.is_for(claim):
                return one
            if delayed or one.status.phase != "Available" or one.class_name != claim.class_name:
                continue
            if smallest is None or (one.size, one.metadata.name) < (smallest.size, smallest.metadata.name):
                smallest = one
        if smallest is not None:
            return smallest
    return None


@pytest.mark.parametrize("seed", range(200))
def test_the_choice_is_that_of_upstreams_loops(seed):
    chance = random.Random(seed)
    modes = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce")

    def volume(number):
        ref = chance.choice([None, None, None, {"namespace": "team", "name": chance.choice(["data", "other"])}])
        spec = {
            "accessModes": sorted(chance.sample(modes, chance.randint(1, 3))),
            "capacity": {"storage": f"{chance.randint(1, 4)}Gi"},
            "storageClassName": chance.choice(["", "", "fast"]),
            **({"claimRef": ref} if ref else {}),
        }
        status = {"phase": chance.choice(["Available", "Available", "Released"])}
        return msgspec.convert({"metadata": {"name": f"v{number}"}, "spec": spec, "status": status}, Volume)

    volumes = [volume(number) for number in range(chance.randint(0, 8))]
    spec = {
        "accessModes": chance.sample(modes, chance.randint(1, 2)),
        "resources": {"requests": {"storage": f"{chance.randint(1, 3)}Gi"}},
        "storageClassName": chance.choice(["", "fast"]),
    }
    claim = msgspec.convert({"metadata": {"name": "data", "namespace": "team", "uid": "u"}, "spec": spec}, Claim)
    for delayed in (False, True):
        assert volume_choice.best(claim, volumes, delayed=delayed) is plain_choice(
            claim, sorted(volumes, key=lambda one: (one.size, one.metadata.name)), delayed
        )
