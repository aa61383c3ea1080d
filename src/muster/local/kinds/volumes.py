"""PersistentVolume and PersistentVolumeClaim (v1): what the data do not say of them.

A claim's spec never changes, but for its volume and its class, each of which it gets once, and for its size while it
is bound.  A volume stays what and where it is; for whom it is kept may change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from muster.base.quantity import nanos
from muster.local.checks.fields import FieldError, forbidden, invalid, not_supported, required
from muster.local.checks.metadata import distinct, unchanged
from muster.local.codec.values import Object
from muster.local.kinds.kind import Strategy
from muster.local.kinds.pods.formats import absolute, driver_errors, each, subdomain
from muster.local.kinds.pods.rules import POD, access_mode_errors
from muster.local.schema import load

_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_FROZEN = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
_SOURCES_OF_CLAIMS = ("PersistentVolumeClaim", "VolumeSnapshot")
_NOT_SOURCES = (
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
)
_PLACES = tuple(
    name for name in load.shapes()["io.k8s.api.core.v1.PersistentVolumeSpec"].fields if name not in _NOT_SOURCES
)
"""The fields that say what a volume is; a volume has one of them."""


def of_claims(data: Strategy) -> Strategy:
    """What is done to claims, given what the data say."""

    def prepare_create(claim: Object) -> None:
        data.prepare_create(claim)
        _agree_on_source(claim["spec"], None)

    def prepare_update(new: Object, old: Object) -> None:
        data.prepare_update(new, old)
        _agree_on_source(new["spec"], old["spec"])

    return replace(
        data,
        prepare_create=prepare_create,
        prepare_update=prepare_update,
        validate=_claim_errors,
        validate_update=_claim_update_errors,
        validate_status=_claim_status_errors,
    )


def of_volumes(data: Strategy) -> Strategy:
    """What is done to volumes, given what the data say."""
    return replace(data, validate=_volume_errors, validate_update=_volume_update_errors, note_times=_note_phase)


# --- claims ---


def _agree_on_source(spec: Object, old: Object | None) -> None:
    """What a claim is made of stands in two fields."""
    given, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    had = old is not None and (old.get("dataSource") is not None or old.get("dataSourceRef") is not None)
    if given is not None and not had and reference is None and given.get("kind") not in _SOURCES_OF_CLAIMS:
        # other sources were ignored before there was the other field
        del spec["dataSource"]
        given = None
    if given is not None and reference is None:
        spec["dataSourceRef"] = dict(given)
    elif reference is not None and given is None and not reference.get("namespace"):
        spec["dataSource"] = {name: value for name, value in reference.items() if name != "namespace"}


def _claim_errors(claim: Object) -> list[FieldError]:
    return distinct(POD.errors(claim["spec"], "core.v1.PersistentVolumeClaimSpec", "spec"))


def _claim_update_errors(new: Object, old: Object) -> list[FieldError]:
    errors = _claim_errors(new)
    spec, before = dict(new["spec"]), dict(old["spec"])
    if not before.get("volumeName"):
        before["volumeName"] = spec.get("volumeName")
    if _may_take_class(new, old):
        spec["storageClassName"] = before.get("storageClassName")
    if (new.get("status") or {}).get("phase") == "Bound":
        spec["volumeAttributesClassName"] = before.get("volumeAttributesClassName")
        spec["resources"] = _with_size(spec.get("resources"), _size(before))
    if _given(spec) != _given(before):
        errors.append(forbidden("spec", _FROZEN))
    has = ((old.get("status") or {}).get("capacity") or {}).get("storage", "0")
    if nanos(_size(new["spec"])) < nanos(_size(old["spec"])) and nanos(_size(new["spec"])) <= nanos(has):
        errors.append(forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"))
    return errors + unchanged(spec.get("volumeMode"), before.get("volumeMode"), "volumeMode")


def _may_take_class(new: Object, old: Object) -> bool:
    """A claim without a class may get one, of the name that an old annotation has if there is one."""
    name = new["spec"].get("storageClassName")
    told = (old["metadata"].get("annotations") or {}).get(_BETA_CLASS, name)
    return name is not None and old["spec"].get("storageClassName") is None and name == told


def _size(spec: Object) -> str:
    return str(((spec.get("resources") or {}).get("requests") or {}).get("storage", "0"))


def _with_size(resources: Object | None, size: str) -> Object:
    resources = resources or {}
    return {**resources, "requests": {**(resources.get("requests") or {}), "storage": size}}


def _given(spec: Object) -> Object:
    """What is said: a class of no name is one."""
    return {name: value for name, value in spec.items() if value or (name == "storageClassName" and value is not None)}


def _claim_status_errors(new: Object, _old: Object) -> list[FieldError]:
    capacity = new["status"].get("capacity") or {}
    return [
        invalid(f"status.capacity[{name}]", amount, "must be greater than or equal to 0")
        for name, amount in capacity.items()
        if nanos(amount) < 0
    ]


# --- volumes ---


def _note_phase(new: Object, old: Object | None, now: str) -> None:
    """Since when a volume is in its phase."""
    status = new["status"]
    before = {} if old is None else old["status"]
    if status.get("phase") == before.get("phase"):
        if "lastPhaseTransitionTime" in before:
            status.setdefault("lastPhaseTransitionTime", before["lastPhaseTransitionTime"])
    elif status.get("lastPhaseTransitionTime") == before.get("lastPhaseTransitionTime"):
        status["lastPhaseTransitionTime"] = now


def _volume_errors(volume: Object) -> list[FieldError]:
    spec = volume["spec"]
    modes = spec.get("accessModes") or ()
    errors = [*access_mode_errors(modes, "spec.accessModes")] if modes else [required("spec.accessModes")]
    return distinct([*errors, *_capacity_errors(spec), *_place_errors(spec), *_use_errors(spec)])


def _capacity_errors(spec: Object) -> Iterator[FieldError]:
    capacity = spec.get("capacity") or {}
    if not capacity:
        yield required("spec.capacity")
    if list(capacity) != ["storage"]:
        yield not_supported("spec.capacity", capacity, ("storage",))
    for name, amount in capacity.items():
        if nanos(amount) <= 0:
            yield invalid(f"spec.capacity[{name}]", amount, "must be greater than zero")


def _place_errors(spec: Object) -> Iterator[FieldError]:
    given = [name for name in _PLACES if spec.get(name) is not None]
    if not given:
        yield required("spec", "must specify a volume type")
    for name in given[1:]:
        yield forbidden(f"spec.{name}", "may not specify more than 1 volume type")
    for name in given[:1]:
        yield from _source_errors(name, spec[name])
    affinity = spec.get("nodeAffinity")
    if affinity is None:
        if given[:1] == ["local"]:
            yield required("spec.nodeAffinity", "Local volume requires node affinity")
    elif affinity.get("required") is None:
        yield required("spec.nodeAffinity.required", "must specify required node constraints")
    else:
        yield from POD.errors(affinity["required"], "core.v1.NodeSelector", "spec.nodeAffinity.required")


def _source_errors(name: str, source: Object) -> Iterator[FieldError]:
    if name == "csi":
        yield from driver_errors(source.get("driver", ""), "spec.csi.driver")
        if not source.get("volumeHandle"):
            yield required("spec.csi.volumeHandle")
    elif name in ("hostPath", "local") and not source.get("path"):
        yield required(f"spec.{name}.path")
    elif name == "nfs":
        for field in ("server", "path"):
            if not source.get(field):
                yield required(f"spec.nfs.{field}")
        if source.get("path"):
            yield from each("spec.nfs.path", source["path"], absolute(source["path"]))


def _use_errors(spec: Object) -> Iterator[FieldError]:
    for field, known in (
        ("persistentVolumeReclaimPolicy", ("Delete", "Recycle", "Retain")),
        ("volumeMode", ("Block", "Filesystem")),
    ):
        if spec.get(field) and spec[field] not in known:
            yield not_supported(f"spec.{field}", spec[field], known)
    if name := spec.get("storageClassName"):
        yield from each("spec.storageClassName", name, subdomain(name))


def _volume_update_errors(new: Object, old: Object) -> list[FieldError]:
    errors = _volume_errors(new)
    spec, before = new["spec"], old["spec"]
    if _places(spec, before) != _places(before, before):
        words = "spec.persistentvolumesource is immutable after creation"
        errors.append(forbidden("spec.persistentvolumesource", words))
    errors += unchanged(spec.get("volumeMode"), before.get("volumeMode"), "volumeMode")
    if before.get("nodeAffinity") is not None and spec.get("nodeAffinity") != before["nodeAffinity"]:
        words = "field is immutable, except for updating from beta label to GA"
        errors.append(invalid("nodeAffinity", spec.get("nodeAffinity"), words))
    return errors


def _places(spec: Object, before: Object) -> dict[str, Any]:
    """What a volume is; the secret by which it grows may be named later."""
    places = {name: spec[name] for name in _PLACES if spec.get(name) is not None}
    if "csi" in places and "controllerExpandSecretRef" not in (before.get("csi") or {}):
        places["csi"] = {name: value for name, value in places["csi"].items() if name != "controllerExpandSecretRef"}
    return places
