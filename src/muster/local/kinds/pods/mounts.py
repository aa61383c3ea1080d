"""How a container uses the pod's volumes: mounted as directories, or as raw devices."""

from __future__ import annotations

from muster.local.checks.fields import forbidden, invalid, not_found, not_supported, required
from muster.local.codec.values import Object
from muster.local.kinds.pods.formats import Errors, descending

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def mounts(container: Object, path: str, volumes: dict[str, Object]) -> Errors:
    """Of volumes as directories; some errors name the list, as they do in Kubernetes."""
    devices = {one.get("name", ""): one.get("devicePath", "") for one in container.get("volumeDevices", ())}
    taken: set[str] = set()
    for index, mount in enumerate(container["volumeMounts"]):
        at, name, target = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{at}.name")
        if name not in volumes:
            yield not_found(f"{at}.name", name)
        if not target:
            yield required(f"{at}.mountPath")
        if target in taken:
            yield invalid(f"{at}.mountPath", target, "must be unique")
        taken.add(target)
        if name in devices:
            yield invalid(f"{at}.name", name, "must not already exist in volumeDevices")
        if target in devices.values():
            yield invalid(f"{at}.mountPath", target, "must not already exist as a path in volumeDevices")
        yield from _sub_paths(mount, path, at)
        yield from _propagation(mount, f"{path}.mountPropagation", container)
        yield from _recursive(mount, f"{path}.recursiveReadOnly")


def _sub_paths(mount: Object, path: str, at: str) -> Errors:
    plain, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    yield from descending(f"{path}.subPath", plain)
    if plain and expression:
        yield invalid(f"{at}.subPathExpr", expression, "subPathExpr and subPath are mutually exclusive")
    yield from descending(f"{path}.subPathExpr", expression)


def _propagation(mount: Object, path: str, container: Object) -> Errors:
    mode = mount.get("mountPropagation")
    if mode is None:
        return
    if mode not in _PROPAGATIONS:
        yield not_supported(path, mode, _PROPAGATIONS)
    if mode == "Bidirectional" and not container.get("securityContext", {}).get("privileged"):
        yield forbidden(path, "Bidirectional mount propagation is available only to privileged containers")


def _recursive(mount: Object, path: str) -> Errors:
    mode = mount.get("recursiveReadOnly", "Disabled")
    if mode not in _RECURSIVE:
        yield not_supported(path, mode, _RECURSIVE)
    elif mode != "Disabled":
        if not mount.get("readOnly"):
            yield forbidden(path, "may only be specified when readOnly is true")
        if mount.get("mountPropagation", "None") != "None":
            yield forbidden(path, "may only be specified when mountPropagation is None or not specified")


def devices(container: Object, path: str, volumes: dict[str, Object]) -> Errors:
    """Of volumes as raw devices."""
    mounted = {one.get("name", ""): one.get("mountPath", "") for one in container.get("volumeMounts", ())}
    names: set[str] = set()
    taken: set[str] = set()
    for index, device in enumerate(container["volumeDevices"]):
        at, name, target = f"{path}[{index}]", device.get("name", ""), device.get("devicePath", "")
        yield from _device_name(name, f"{at}.name", names, volumes)
        if not target:
            yield required(f"{at}.devicePath")
        if target in taken:
            yield invalid(f"{at}.devicePath", target, "must be unique")
        if ".." in target.split("/"):
            yield invalid(f"{at}.devicePath", target, "can not contain backsteps ('..')")
        else:
            taken.add(target)
        if name in mounted:
            yield invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if target in mounted.values():
            yield invalid(f"{at}.devicePath", target, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)


def _device_name(name: str, path: str, taken: set[str], volumes: dict[str, Object]) -> Errors:
    if not name:
        yield required(path)
    if name in taken:
        yield invalid(path, name, "must be unique")
    if name not in volumes:
        yield not_found(path, name)
    elif volumes[name].keys().isdisjoint({"persistentVolumeClaim", "ephemeral"}):
        words = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        yield invalid(path, name, words)
