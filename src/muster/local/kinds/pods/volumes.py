"""Volumes of a pod: each has one source.  `mounts` of containers name them (see pod_mounts)."""

from __future__ import annotations

from collections.abc import Callable

from muster.base.quantity import nanos
from muster.local.checks.fields import FieldError, duplicate, forbidden, invalid, not_supported, required, too_long
from muster.local.checks.metadata import label_errors, selector_errors
from muster.local.codec.values import Object
from muster.local.kinds.pods.formats import (
    NOT_POSITIVE,
    Errors,
    descending,
    each,
    file_path,
    label,
    named,
    one_of,
    subdomain,
    without_steps_up,
)
from muster.local.kinds.pods.references import FILE_FIELDS, container_resource, pod_field

Source = Callable[[Object, str], Errors]

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_SHORTEST_TOKEN, _LONGEST_TOKEN = 600, 1 << 32
_MODE_WORDS = "must be a number between 0 and 0777 (octal), both inclusive"


def check(volumes: list[Object], path: str, pod_name: str) -> tuple[dict[str, Object], list[FieldError]]:
    """The volumes that may be mounted, by name, and what is wrong with the others.

    `pod_name` is "" where it is not known: claims are then not compared with those that the pod will make.
    """
    good: dict[str, Object] = {}
    errors: list[FieldError] = []
    made = {f"{pod_name}-{one.get('name', '')}" for one in volumes if pod_name and "ephemeral" in one}
    for index, volume in enumerate(volumes):
        at = f"{path}[{index}]"
        found = list(_volume(volume, at, pod_name))
        name = volume.get("name", "")
        if name in good:
            found.append(duplicate(f"{at}.name", name))
        if not found:
            good[name] = volume
        errors += found
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        if claim and claim in made:
            words = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(f"{at}.persistentVolumeClaim.claimName", claim, words))
    return good, errors


def _volume(volume: Object, path: str, pod_name: str) -> Errors:
    name = volume.get("name", "")
    yield from _one_source(volume, path)
    if pod_name and name and next((source for source in _SOURCES if source in volume), "") == "ephemeral":
        claim = f"{pod_name}-{name}"
        yield from each(f"{path}.name", name, (f'PVC name "{claim}": {one}' for one in subdomain(claim)))
    yield from named(f"{path}.name", name, label)


def _one_source(volume: Object, path: str) -> Errors:
    found = [source for source in _SOURCES if source in volume]
    if not found:
        yield required(path, "must specify a volume type")
        return
    first, *others = found
    yield from _SOURCES[first](volume[first], f"{path}.{_PATHS.get(first, first)}")
    for source in others:
        yield forbidden(f"{path}.{_OTHER_PATHS.get(source, source)}", "may not specify more than 1 volume type")


def _empty_dir(source: Object, path: str) -> Errors:
    if nanos(source.get("sizeLimit", "0")) < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _host_path(source: Object, path: str) -> Errors:
    if not source.get("path"):
        yield required(f"{path}.path")
        return
    yield from without_steps_up(f"{path}.path", source["path"])
    if source.get("type", "") not in _HOST_PATH_TYPES:
        yield not_supported(f"{path}.type", source["type"], _HOST_PATH_TYPES)


def _git_repo(source: Object, path: str) -> Errors:
    if not source.get("repository"):
        yield required(f"{path}.repository")
    yield from descending(f"{path}.directory", source.get("directory", ""))


def _mode(holder: Object, path: str, key: str = "mode") -> Errors:
    mode = holder.get(key)
    if mode is not None and not 0 <= mode <= 0o777:
        yield invalid(f"{path}.{key}", mode, _MODE_WORDS)


def _from_object(name_key: str) -> Source:
    """Files made of the keys of a secret or a config map."""

    def source(found: Object, path: str) -> Errors:
        if not found.get(name_key):
            yield required(f"{path}.{name_key}")
        yield from _mode(found, path, "defaultMode")
        for index, item in enumerate(found.get("items", ())):
            yield from _item(item, f"{path}.items[{index}]")

    return source


def _item(item: Object, path: str) -> Errors:
    if not item.get("key"):
        yield required(f"{path}.key")
    yield from _path(item, path)
    yield from _mode(item, path)


def _path(holder: Object, path: str) -> Errors:
    if not holder.get("path"):
        yield required(f"{path}.path")
    yield from file_path(f"{path}.path", holder.get("path", ""))


def _downward(source: Object, path: str) -> Errors:
    yield from _mode(source, path, "defaultMode")
    for item in source.get("items", ()):
        yield from _downward_file(item, path)


def _downward_file(item: Object, path: str) -> Errors:
    """Kubernetes names the list here, not the item."""
    yield from _path(item, path)
    if "fieldRef" in item:
        yield from pod_field(item["fieldRef"], f"{path}.fieldRef", FILE_FIELDS)
        if "resourceFieldRef" in item:
            words = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid(path, "resource", words)
    elif "resourceFieldRef" in item:
        yield from container_resource(item["resourceFieldRef"], f"{path}.resourceFieldRef", in_volume=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _mode(item, path)


def _projected(source: Object, path: str) -> Errors:
    yield from _mode(source, path, "defaultMode")
    paths: set[str] = set()
    for index, one in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{index}]"
        for kind, project in _PROJECTIONS.items():
            if kind in one:
                yield from project(one[kind], path, f"{at}.{kind}")
                yield from _conflicts(one[kind], paths, path)
        if len(one) > 1:
            yield forbidden(at, "may not specify more than 1 volume type per source")


def _conflicts(projection: Object, paths: set[str], path: str) -> Errors:
    """Of two sources that write the same file."""
    for item in projection.get("items", ()):
        file = item.get("path")
        if file and file in paths:
            yield invalid(path, projection.get("name", file), "conflicting duplicate paths")
        elif file:
            paths.add(file)


def _projected_object(projection: Object, _: str, path: str) -> Errors:
    if not projection.get("name"):
        yield required(f"{path}.name")
    for index, item in enumerate(projection.get("items", ())):
        yield from _item(item, f"{path}.items[{index}]")


def _projected_downward(projection: Object, _: str, path: str) -> Errors:
    for item in projection.get("items", ()):
        yield from _downward_file(item, path)


def _projected_token(projection: Object, volume_path: str, path: str) -> Errors:
    seconds = projection["expirationSeconds"]
    if seconds < _SHORTEST_TOKEN:
        yield invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST_TOKEN:
        yield invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
    yield from _path(projection, volume_path)


def _projected_bundle(projection: Object, _: str, path: str) -> Errors:
    if "name" not in projection and "signerName" not in projection:
        yield required(path, "either name or signerName must be specified")
    yield from _path(projection, path)


_PROJECTIONS: dict[str, Callable[[Object, str, str], Errors]] = {
    "secret": _projected_object,
    "configMap": _projected_object,
    "downwardAPI": _projected_downward,
    "serviceAccountToken": _projected_token,
    "clusterTrustBundle": _projected_bundle,
}


def _nfs(source: Object, path: str) -> Errors:
    yield from _needs("server", "path")(source, path)
    if not source.get("path", "").startswith("/"):
        yield invalid(f"{path}.path", source.get("path", ""), "must be an absolute path")


def _csi(source: Object, path: str) -> Errors:
    driver = source.get("driver", "")
    if len(driver) > 63:
        yield too_long(f"{path}.driver", 63)
    yield from named(f"{path}.driver", driver, lambda name: subdomain(name.lower()))
    if "nodePublishSecretRef" in source:
        yield from _secret_name(source["nodePublishSecretRef"].get("name", ""), path)


def _secret_name(name: str, path: str) -> Errors:
    if not name:
        yield required(f"{path}.nodePublishSecretRef.name")
    else:
        yield from each(f"{path}.name", name, subdomain(name))


def _image(source: Object, path: str) -> Errors:
    if not source.get("reference"):
        yield required(f"{path}.reference")
    yield from one_of(f"{path}.pullPolicy", source.get("pullPolicy", ""), PULL_POLICIES)


def _ephemeral(source: Object, path: str) -> Errors:
    template = source.get("volumeClaimTemplate")
    if template is None:
        yield required(f"{path}.volumeClaimTemplate")
        return
    at = f"{path}.volumeClaimTemplate"
    metadata = template.get("metadata", {})
    yield from label_errors(metadata.get("labels"), f"{at}.metadata.labels")
    for key in metadata.keys() - {"annotations", "labels", "creationTimestamp"}:
        yield forbidden(f"{at}.metadata.{key}", "cannot be set")
    yield from _claim(template["spec"], f"{at}.spec")


def _claim(spec: Object, path: str) -> Errors:
    """Of a claim for a volume."""
    modes = spec.get("accessModes", ())
    if not modes:
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    if "selector" in spec:
        yield from selector_errors(spec["selector"], f"{path}.selector")
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported(f"{path}.accessModes", mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(set(modes) & set(_ACCESS_MODES)) > 1:
        yield forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes")
    storage = spec.get("resources", {}).get("requests", {}).get("storage")
    if storage is None:
        yield required(f"{path}.resources[storage]")
    elif nanos(storage) <= 0:
        yield invalid(f"{path}.resources[storage]", storage, NOT_POSITIVE)
    if spec.get("storageClassName"):
        yield from each(f"{path}.storageClassName", spec["storageClassName"], subdomain(spec["storageClassName"]))
    if spec.get("volumeMode", "Block") not in ("Block", "Filesystem"):
        yield not_supported(f"{path}.volumeMode", spec["volumeMode"], ("Block", "Filesystem"))


def _needs(*keys: str) -> Source:
    """Nothing but that these are there."""

    def source(found: Object, path: str) -> Errors:
        for key in keys:
            if not found.get(key):
                yield required(f"{path}.{key}")

    return source


# In the order in which Kubernetes looks for them: the first is checked, the others are too many.
_SOURCES: dict[str, Source] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "gitRepo": _git_repo,
    "gcePersistentDisk": _needs("pdName"),
    "awsElasticBlockStore": _needs("volumeID"),
    "secret": _from_object("secretName"),
    "nfs": _nfs,
    "iscsi": _needs("targetPortal", "iqn"),
    "glusterfs": _needs("endpoints", "path"),
    "flocker": _needs(),
    "persistentVolumeClaim": _needs("claimName"),
    "rbd": _needs("monitors", "image"),
    "cinder": _needs("volumeID"),
    "cephfs": _needs("monitors"),
    "quobyte": _needs("volume"),
    "downwardAPI": _downward,
    "fc": _needs(),
    "flexVolume": _needs("driver"),
    "configMap": _from_object("name"),
    "azureFile": _needs("secretName", "shareName"),
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _needs("diskName", "diskURI"),
    "storageos": _needs("volumeName"),
    "projected": _projected,
    "scaleIO": _needs("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
# Kubernetes names some fields otherwise than the API does.
_PATHS = {"gcePersistentDisk": "persistentDisk"}
_OTHER_PATHS = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
