"""How a pod's containers use its volumes, and what volumes have to do with each other and with the pod."""

from __future__ import annotations

from collections.abc import Iterable

from muster.local.checks.fields import forbidden, invalid, not_found
from muster.local.codec.values import Object
from muster.local.kinds.pods.formats import each, subdomain
from muster.local.kinds.rules import Errors, repeated


def volume_errors(volumes: Iterable[Object], path: str, pod_name: str) -> Errors:
    """Of names; the claims that the pod itself will make are known if its name is."""
    yield from repeated(volumes, "name", path)
    made = {f"{pod_name}-{one.get('name', '')}" for one in volumes if pod_name and "ephemeral" in one}
    for index, volume in enumerate(volumes):
        at, name = f"{path}[{index}]", volume.get("name", "")
        if pod_name and name and "ephemeral" in volume:
            yield from each(f"{at}.name", name, subdomain(f"{pod_name}-{name}"))
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        if claim in made:
            words = "must not reference a PVC that gets created for an ephemeral volume"
            yield invalid(f"{at}.persistentVolumeClaim.claimName", claim, words)


def mount_errors(container: Object, path: str, volumes: dict[str, Object]) -> Errors:
    """Of volumes as directories; `volumes` are those that may be used, by name."""
    devices = {one.get("name", ""): one.get("devicePath", "") for one in container.get("volumeDevices", ())}
    taken: set[str] = set()
    for index, mount in enumerate(container["volumeMounts"]):
        at, name, target = f"{path}.volumeMounts[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if name not in volumes:
            yield not_found(f"{at}.name", name)
        if target in taken or target in devices.values():
            yield invalid(f"{at}.mountPath", target, "must be unique")
        taken.add(target)
        if name in devices:
            yield invalid(f"{at}.name", name, "must not already exist in volumeDevices")
        if mount.get("subPath") and mount.get("subPathExpr"):
            yield invalid(f"{at}.subPathExpr", mount["subPathExpr"], "subPathExpr and subPath are mutually exclusive")
        is_privileged = container.get("securityContext", {}).get("privileged")
        if mount.get("mountPropagation") == "Bidirectional" and not is_privileged:
            words = "Bidirectional mount propagation is available only to privileged containers"
            yield forbidden(f"{path}.volumeMounts.mountPropagation", words)


def device_errors(container: Object, path: str, volumes: dict[str, Object]) -> Errors:
    """Of volumes as raw devices."""
    mounted = {one.get("name", ""): one.get("mountPath", "") for one in container.get("volumeMounts", ())}
    names: set[str] = set()
    taken: set[str] = set()
    for index, device in enumerate(container["volumeDevices"]):
        at, name, target = f"{path}.volumeDevices[{index}]", device.get("name", ""), device.get("devicePath", "")
        if name and (name in names or name in mounted):
            yield invalid(f"{at}.name", name, "must be unique")
        if name not in volumes:
            yield not_found(f"{at}.name", name)
        elif volumes[name].keys().isdisjoint({"persistentVolumeClaim", "ephemeral"}):
            words = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield invalid(f"{at}.name", name, words)
        if target in taken or target in mounted.values():
            yield invalid(f"{at}.devicePath", target, "must be unique")
        names.add(name)
        taken.add(target)


def variable_file_errors(container: Object, path: str, spec: Object) -> Errors:
    """Files with variables are in volumes that the pod's own containers write."""
    for index, one in enumerate(container["env"]):
        reference = one.get("valueFrom", {}).get("fileKeyRef")
        if reference is None:
            continue
        at, name = f"{path}.env[{index}].valueFrom.fileKeyRef.volumeName", reference.get("volumeName", "")
        volume = next((one for one in spec.get("volumes", ()) if one.get("name", "") == name), None)
        if volume is None:
            yield not_found(at, name)
        elif "emptyDir" not in volume:
            yield invalid(at, name, "referenced volume must be of type emptyDir")


def token_errors(volumes: Iterable[Object]) -> Errors:
    """Of a pod without an account: there is nobody whose token it could get."""
    for index, volume in enumerate(volumes):
        for place, source in enumerate(volume.get("projected", {}).get("sources") or ()):
            if "serviceAccountToken" in source:
                at = f"spec.volumes[{index}].projected.sources[{place}].serviceAccountToken"
                yield forbidden(at, "must not be specified when serviceAccountName is not set")
