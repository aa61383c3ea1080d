"""What Kubernetes puts into a pod's spec where nothing was said: for pods, and for the templates that jobs hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from muster.base.caching import remembered
from muster.local.codec.values import Object
from muster.local.kinds.pods.resources import rounded

_SPEC: Object = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
}
_CONTAINER: Object = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE: Object = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_HTTP_GET: Object = {"path": "/", "scheme": "HTTP"}
_MODE: Object = {"defaultMode": 0o644}
_VOLUME_SOURCES: dict[str, Object] = {
    "hostPath": {"type": ""},
    "secret": _MODE,
    "configMap": _MODE,
    "downwardAPI": _MODE,
    "projected": _MODE,
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def default_pod_spec(spec: Object) -> None:
    """Of a pod's own spec: some defaults are for pods alone, not for templates."""
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for container in containers(spec, "containers", "initContainers"):
        _requests_from_limits(container)
        if spec.get("hostNetwork"):
            _host_ports(container)
    spec.setdefault("enableServiceLinks", True)
    default_spec(spec)


def containers(spec: Object, *kinds: str) -> Iterator[Object]:
    """All containers of these kinds, in this order."""
    for kind in kinds:
        # a list that was left out may be null: Go has no way to leave it out
        yield from spec.get(kind) or ()


def containers_at(spec: Object, path: str, *kinds: str) -> Iterator[tuple[Object, str]]:
    """The same, each with where it stands in a spec at a path."""
    for kind in kinds:
        for index, container in enumerate(spec.get(kind) or ()):
            yield container, f"{path}.{kind}[{index}]"


def default_spec(spec: Object) -> None:
    """Of any spec, a template's too."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    _fill(spec, _SPEC)
    spec.setdefault("securityContext", {})
    for volume in spec.get("volumes", ()):
        _volume(volume)
    for container in containers(spec, *CONTAINER_LISTS):
        _container(container)
    round_list(spec.get("overhead"))
    _resources(spec.get("resources"))


def default_status(status: Object) -> None:
    """The first of a pod's addresses and their list say the same; where they do not, the single one is right."""
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address:
        status["podIP"] = addresses[0].get("ip", "")


def round_list(quantities: Object | None) -> None:
    """Nothing is counted finer than in thousandths."""
    if quantities:
        quantities.update({name: rounded(quantity) for name, quantity in quantities.items()})


@remembered(4096)
def pull_policy(image: str) -> str:
    """Always for the tag "latest", given or meant; what Kubernetes cannot read has no tag."""
    return "Always" if _tag(image) == "latest" else "IfNotPresent"


_HOST = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?P<name>(?:(?:{_HOST}(?:\.{_HOST})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>[A-Za-z0-9+._-]+:[a-fA-F0-9]{32,}))?",
    re.ASCII,
)
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")
_DIGEST = re.compile(r"sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}")
_LONGEST_NAME = 255


def _tag(image: str) -> str:
    if _IDENTIFIER.fullmatch(image):
        return ""
    host, slash, _ = image.partition("/")
    is_host = slash and (set(".:") & set(host) or host == "localhost" or host != host.lower())
    found = _IMAGE.fullmatch(image if is_host else f"docker.io/{image}")
    if found is None or len(found["name"]) > _LONGEST_NAME:
        return ""
    if found["digest"] is None:
        return found["tag"] or "latest"
    return (found["tag"] or "") if _DIGEST.fullmatch(found["digest"]) else ""


def _fill(target: Object, defaults: Object) -> None:
    for key, value in defaults.items():
        target.setdefault(key, value)


def _container(container: Object) -> None:
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    _fill(container, _CONTAINER)
    for key, default in _IN_CONTAINER:
        if key in container:
            default(container[key])


def _ports(ports: list[Object]) -> None:
    for port in ports:
        port.setdefault("protocol", "TCP")


def _variables(variables: list[Object]) -> None:
    for variable in variables:
        source = variable.get("valueFrom")
        if source:
            _field_reference(source)
            if "fileKeyRef" in source:
                source["fileKeyRef"].setdefault("optional", False)


def _field_reference(holder: Object) -> None:
    if "fieldRef" in holder:
        holder["fieldRef"].setdefault("apiVersion", "v1")


def _resources(resources: Object | None) -> None:
    if resources:
        round_list(resources.get("limits"))
        round_list(resources.get("requests"))


def _probe(probe: Object) -> None:
    _fill(probe, _PROBE)
    _handler(probe)
    if "grpc" in probe and probe["grpc"].get("service") is None:
        probe["grpc"]["service"] = ""


def _handler(handler: Object) -> None:
    if "httpGet" in handler:
        _fill(handler["httpGet"], _HTTP_GET)


def _lifecycle(lifecycle: Object) -> None:
    for key in ("postStart", "preStop"):
        _handler(lifecycle.get(key, {}))


_IN_CONTAINER: tuple[tuple[str, Callable[[Any], None]], ...] = (
    ("ports", _ports),
    ("env", _variables),
    ("resources", _resources),
    *((probe, _probe) for probe in PROBES),
    ("lifecycle", _lifecycle),
)


def _requests_from_limits(container: Object) -> None:
    resources = container.get("resources")
    if resources and resources.get("limits"):
        _fill(resources.setdefault("requests", {}), resources["limits"])


def _host_ports(container: Object) -> None:
    for port in container.get("ports", ()):
        if port.get("containerPort"):
            port.setdefault("hostPort", port["containerPort"])


def _volume(volume: Object) -> None:
    if len(volume) <= ("name" in volume):
        volume["emptyDir"] = {}
    for source in volume.keys() & _VOLUME_SOURCES.keys():
        _fill(volume[source], _VOLUME_SOURCES[source])
    if "image" in volume:
        volume["image"].setdefault("pullPolicy", pull_policy(volume["image"].get("reference", "")))
    for item in volume.get("downwardAPI", {}).get("items", ()):
        _field_reference(item)
    for source in volume.get("projected", {}).get("sources") or ():
        _projection(source)
    claim = volume.get("ephemeral", {}).get("volumeClaimTemplate")
    if claim:
        claim["spec"].setdefault("volumeMode", "Filesystem")
        _resources(claim["spec"].get("resources"))


def _projection(source: Object) -> None:
    for item in source.get("downwardAPI", {}).get("items", ()):
        _field_reference(item)
    if "serviceAccountToken" in source:
        source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
