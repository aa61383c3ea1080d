"""What Kubernetes puts into a pod's spec where nothing was said: for pods, and for the templates that jobs hold."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muster.base.caching import remembered
from muster.local.codec.values import Object
from muster.local.kinds.defaults import Defaults
from muster.local.kinds.pods.resources import rounded

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
    DEFAULTS.fill(spec, "core.v1.PodSpec")


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


def _requests_from_limits(container: Object) -> None:
    resources = container.get("resources")
    if resources and resources.get("limits"):
        resources["requests"] = {**resources["limits"], **resources.get("requests", {})}


def _host_ports(container: Object) -> None:
    for port in container.get("ports", ()):
        if port.get("containerPort"):
            port.setdefault("hostPort", port["containerPort"])


# --- what depends on more than a struct's own fields ---


def _account(spec: Object) -> None:
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    round_list(spec.get("overhead"))


def _container(container: Object) -> None:
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))


def _ephemeral_container(container: Object) -> None:
    DEFAULTS.fill(container, "core.v1.Container")


def _volume(volume: Object) -> None:
    if len(volume) <= ("name" in volume):
        volume["emptyDir"] = {}


def _image_volume(source: Object) -> None:
    source.setdefault("pullPolicy", pull_policy(source.get("reference", "")))


def _resources(resources: Object) -> None:
    round_list(resources.get("limits"))
    round_list(resources.get("requests"))


DEFAULTS = Defaults(
    {
        "core.v1.PodTemplateSpec": lambda template: template.setdefault("spec", {}),
        "core.v1.PodSpec": _account,
        "core.v1.Container": _container,
        "core.v1.EphemeralContainer": _ephemeral_container,
        "core.v1.Volume": _volume,
        "core.v1.ImageVolumeSource": _image_volume,
        "core.v1.ResourceRequirements": _resources,
        "core.v1.VolumeResourceRequirements": _resources,
    }
)
