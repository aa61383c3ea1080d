"""What is wrong with a pod: `rules` of its structs, and here what its parts have to do with each other.

spec_errors       of any spec: a pod's, or a template's
template_errors   of a template as a whole: jobs hold one
pod_errors        of a pod that is made or changed
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from muster.local.checks import metadata as metadata_rules
from muster.local.checks.fields import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_long,
)
from muster.local.checks.metadata import label_errors, not_negative
from muster.local.codec.values import Object
from muster.local.kinds.pods import resources as pod_resources
from muster.local.kinds.pods import usage
from muster.local.kinds.pods.formats import LARGEST_INT32, descending, each, objects_in
from muster.local.kinds.pods.resources import is_sidecar
from muster.local.kinds.pods.rules import POD, toleration_errors
from muster.local.kinds.pods.spec import CONTAINER_LISTS, PROBES, containers, containers_at
from muster.local.kinds.rules import Check, Errors

MIRROR = "kubernetes.io/config.mirror"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_SECCOMP = ("seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.security.alpha.kubernetes.io/")

# Kubernetes names some fields otherwise than the API does, mostly a list for its item
_OTHER_NAMES = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\.volumeMounts\[\d+\]\.(subPath|subPathExpr|mountPropagation|recursiveReadOnly)$", r".volumeMounts.\1"),
        (r"\.downwardAPI\.items\[\d+\]", ".downwardAPI"),
        (r"\.projected\.sources\[\d+\]\.serviceAccountToken\.path$", ".projected.path"),
        (r"\.httpHeaders\[\d+\]\.name$", ".httpHeaders"),
        (r"\.envFrom\[\d+\]$", ".envFrom"),
        (r"\.accessModes\[\d+\]$", ".accessModes"),
        (r"\.namespaces\[\d+\]$", ".namespace"),
        (r"\.(schedulingGates|options|claims)\[(\d+)\]\.name$", r".\1[\2]"),
    )
)


def pod_errors(pod: Object) -> list[FieldError]:
    """Of a pod, new or changed; its metadata is looked after elsewhere, but for annotations that mean something."""
    spec = pod["spec"]
    metadata = pod["metadata"]
    errors = list(annotation_errors(metadata.get("annotations"), spec, "metadata.annotations"))
    errors += spec_errors(spec, "spec", pod_name=metadata.get("name", ""), is_pod=True)
    errors += _pods_only(spec)
    return errors


def template_errors(template: Object, path: str) -> list[FieldError]:
    """Of a template of pods, as jobs hold one; `path` is where it stands: spec.template."""
    metadata, spec = template.get("metadata", {}), template["spec"]
    annotations = metadata.get("annotations")
    errors = label_errors(metadata.get("labels"), f"{path}.labels")
    errors += metadata_rules.annotation_errors(annotations, f"{path}.annotations")
    errors += annotation_errors(annotations, spec, f"{path}.annotations")
    errors += spec_errors(spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        words = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", words))
    return errors


def spec_errors(spec: Object, path: str, *, pod_name: str = "", is_pod: bool = False) -> list[FieldError]:
    """Of a spec that stands at `path`; the pod's name is known for pods alone."""
    errors = [_named_otherwise(error) for error in POD.errors(spec, "core.v1.PodSpec", path)]
    errors += label_errors(spec.get("nodeSelector"), f"{path}.nodeSelector")
    errors += usage.volume_errors(spec.get("volumes", ()), f"{path}.volumes", pod_name)
    bad = {error.field.removeprefix(f"{path}.volumes[").partition("]")[0] for error in errors}
    volumes = {one.get("name", ""): one for index, one in enumerate(spec.get("volumes", ())) if str(index) not in bad}
    for container, at in containers_at(spec, path, *CONTAINER_LISTS):
        if "volumeMounts" in container:
            errors += usage.mount_errors(container, at, volumes)
        if "volumeDevices" in container:
            errors += usage.device_errors(container, at, volumes)
        if "env" in container:
            errors += usage.variable_file_errors(container, at, spec)
        errors += _in_this_pod(container, at, spec)
    if any("ports" in container for container in spec.get("containers") or ()):
        errors += _host_ports(spec, path)
    given = spec.keys()
    for check, fields in _CHECKS:
        if not given.isdisjoint(fields):
            errors += check(spec, path)
    if spec.get("hostNetwork"):
        errors += _same_ports(spec, path, is_pod=is_pod)
    return errors


def _named_otherwise(error: FieldError) -> FieldError:
    for pattern, name in _OTHER_NAMES:
        field, count = pattern.subn(name, error.field)
        if count:
            return msgspec.structs.replace(error, field=field)
    return error


# --- containers ---

_NOT_FOR_INIT = ("lifecycle", *PROBES)
_NOT_FOR_EPHEMERAL = ("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", *_NOT_FOR_INIT)
_ONCE = "may not be set for init containers without restartPolicy=Always"


def _in_this_pod(container: Object, path: str, spec: Object) -> Errors:
    """What depends on the pod that a container is in."""
    context, hosts_users = container.get("securityContext", {}), spec.get("hostUsers", True)
    if context.get("procMount") == "Unmasked" and hosts_users:
        yield invalid(f"{path}.securityContext.procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`")
    if container.get("volumeDevices") and not hosts_users:
        yield forbidden(f"{path}.volumeDevices", "when `hostUsers` is false")
    if "lifecycle" in container or not container.keys().isdisjoint(PROBES):
        yield from _hooks(container, path, spec.get("terminationGracePeriodSeconds"))
    if container.get("resizePolicy") and spec.get("restartPolicy") == "Never":
        for one in container["resizePolicy"]:
            if one.get("restartPolicy") != "NotRequired":
                words = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
                yield invalid(f"{path}.resizePolicy", one.get("restartPolicy", ""), words)
    if container.get("restartPolicyRules") and container.get("restartPolicy") is None:
        yield required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    yield from pod_resources.claim_errors(container, path, spec.get("resourceClaims", ()))


def _hooks(container: Object, path: str, grace: int | None) -> Errors:
    for kind in ("postStart", "preStop"):
        hook = container.get("lifecycle", {}).get(kind, {})
        if "sleep" in hook and grace is not None and not 0 <= hook["sleep"].get("seconds", 0) <= grace:
            words = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            yield invalid(f"{path}.lifecycle.{kind}.sleep", hook["sleep"].get("seconds", 0), words)
    for kind in PROBES:
        probe = container.get(kind, {})
        if kind == "readinessProbe":
            if "terminationGracePeriodSeconds" in probe:
                at, words = f"{path}.{kind}.terminationGracePeriodSeconds", "must not be set for readinessProbes"
                yield invalid(at, probe["terminationGracePeriodSeconds"], words)
        elif probe and probe.get("successThreshold") != 1:
            yield invalid(f"{path}.{kind}.successThreshold", probe.get("successThreshold", 0), "must be 1")


def _container_names(spec: Object, path: str) -> Errors:
    """No two containers have one name."""
    taken: set[str] = set()
    for container, at in containers_at(spec, path, "containers", "initContainers", "ephemeralContainers"):
        name = container.get("name", "")
        if name in taken:
            yield duplicate(f"{at}.name", name)
        taken.add(name)


def _init_containers(spec: Object, path: str) -> Errors:
    """What makes no sense for a container that ends."""
    for container, at in containers_at(spec, path, "initContainers"):
        if is_sidecar(container):
            continue
        yield from (forbidden(f"{at}.{key}", _ONCE) for key in _NOT_FOR_INIT if key in container)
        for index, one in enumerate(container.get("resizePolicy", ())):
            if one.get("restartPolicy") == "RestartContainer":
                yield invalid(f"{at}.resizePolicy[{index}].restartPolicy", "RestartContainer", _ONCE)


def _ephemeral_containers(spec: Object, path: str) -> Errors:
    """Of those that were added to look around; they may say at which container."""
    cannot = "cannot be set for an Ephemeral Container"
    others = {"", *(one.get("name", "") for one in containers(spec, "containers", "initContainers"))}
    for container, at in containers_at(spec, path, "ephemeralContainers"):
        yield from image_edges(container, at)
        if container.get("targetContainerName", "") not in others:
            yield not_found(f"{at}.targetContainerName", container["targetContainerName"])
        for key in _NOT_FOR_EPHEMERAL:
            # an empty hook is one, an empty list of resources is none
            if container.get(key) or (key in (*_NOT_FOR_INIT, "restartPolicy") and key in container):
                yield forbidden(f"{at}.{key}", cannot)
        for place, mount in enumerate(container.get("volumeMounts", ())):
            for key in ("subPath", "subPathExpr"):
                if mount.get(key):
                    yield forbidden(f"{at}.volumeMounts[{place}].{key}", cannot)


def image_edges(container: Object, path: str) -> Errors:
    """Blanks around the image are for templates only, which somebody may use as marks."""
    image = container.get("image", "")
    if image != image.strip():
        yield invalid(f"{path}.image", image, "must not have leading or trailing whitespace")


def _ports(spec: Object, path: str, *kinds: str) -> Iterator[tuple[Object, str]]:
    for container, at in containers_at(spec, path, *kinds):
        for place, port in enumerate(container.get("ports", ())):
            yield port, f"{at}.ports[{place}].hostPort"


def _host_ports(spec: Object, path: str) -> Errors:
    """Ports of the host may be taken once."""
    taken: set[tuple[str, str, int]] = set()
    for port, at in _ports(spec, path, "containers"):
        key = (port.get("protocol", ""), port.get("hostIP", ""), port.get("hostPort", 0))
        if key[2] and key in taken:
            yield duplicate(at, "/".join(map(str, key)))
        taken.add(key)


def _same_ports(spec: Object, path: str, *, is_pod: bool) -> Errors:
    """On the host's network a port is the same inside and outside; a template need not say so."""
    for port, at in _ports(spec, path, "containers"):
        outside = port.get("hostPort", 0)
        if (is_pod or outside) and outside != port.get("containerPort", 0):
            yield invalid(at, outside, "must match `containerPort` when `hostNetwork` is true")


# --- the pod as a whole ---


def _shared_with_host(spec: Object, path: str) -> Errors:
    """With users of its own a pod may not share other things with the host."""
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        yield invalid(f"{path}.shareProcessNamespace", True, "ShareProcessNamespace and HostPID cannot both be enabled")
    if not spec.get("hostUsers", True):
        for key, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if spec.get(key):
                yield forbidden(f"{path}.{shown}", "when `hostUsers` is false")
    for index, one in enumerate(spec.get("securityContext", {}).get("sysctls", ())):
        plain = one.get("name", "").replace("/", ".")
        for kind, prefixes in _HOST_SYSCTLS.items():
            if spec.get(kind) and plain.startswith(prefixes):
                at = f"{path}.securityContext.sysctls[{index}].name"
                yield invalid(at, one["name"], f"may not be specified when '{kind}' is true")


_HOST_SYSCTLS = {"hostNetwork": ("net.",), "hostIPC": ("kernel.sem", "kernel.shm", "kernel.msg", "fs.mqueue.")}


def _dns(spec: Object, path: str) -> Errors:
    """The pod's own resolver settings; without any policy they must be there."""
    at, config = f"{path}.dnsConfig", spec.get("dnsConfig")
    servers, searches = (config or {}).get("nameservers", ()), (config or {}).get("searches", ())
    if spec.get("dnsPolicy") == "None" and not servers:
        words = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield required(at if config is None else f"{at}.nameservers", words)
    if len(servers) > 3:
        yield invalid(f"{at}.nameservers", servers, "must not have more than 3 nameservers")
    if len(searches) > 32 or len(" ".join(searches)) > 2048:
        yield invalid(f"{at}.searches", searches, "must not have more than 32 search paths, nor 2048 characters")


def _host_name(spec: Object, path: str) -> Errors:
    at, name = f"{path}.hostnameOverride", spec.get("hostnameOverride")
    if name is None:
        return
    for key in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(key):
            yield forbidden(at, f"may not be specified when {key} is true")
    if len(name) > 64:
        yield too_long(at, 64)


def _spread(spec: Object, path: str) -> Errors:
    listed = [
        (one.get("topologyKey", ""), one.get("whenUnsatisfiable", ""))
        for one in spec.get("topologySpreadConstraints", ())
    ]
    for index, pair in enumerate(listed):
        if pair in listed[index + 1 :]:
            at = f"{path}.topologySpreadConstraints[{index}].{{topologyKey, whenUnsatisfiable}}"
            yield duplicate(at, f"{{{pair[0]}, {pair[1]}}}")


def _amounts(spec: Object, path: str) -> Errors:
    if "overhead" in spec:
        yield from pod_resources.of_container({"limits": spec["overhead"]}, f"{path}.overhead")
    if "resources" in spec:
        yield from pod_resources.of_pod(spec, f"{path}.resources")


_NOT_ON_WINDOWS = ("appArmorProfile", "seLinuxOptions", "seccompProfile", "runAsUser", "runAsGroup")
_NOT_ON = {
    "linux": (("windowsOptions",), (), ("windowsOptions",)),
    "windows": (
        (
            *_NOT_ON_WINDOWS,
            *("fsGroup", "fsGroupChangePolicy", "sysctls", "supplementalGroups"),
            *("supplementalGroupsPolicy", "seLinuxChangePolicy"),
        ),
        ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"),
        (
            *_NOT_ON_WINDOWS,
            *("capabilities", "readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation", "procMount"),
        ),
    ),
}
"""By operating system: what may not be set in the pod's security context, in its spec, in those of containers."""


def _system(spec: Object, path: str) -> Errors:
    """What the pod's operating system rules out."""
    system = spec.get("os", {}).get("name", "")
    if system and system not in _NOT_ON:
        yield not_supported(f"{path}.os", system, _NOT_ON)
    if system not in _NOT_ON:
        return
    in_pod, in_spec, in_container = _NOT_ON[system]
    places = [(f"{path}.securityContext", spec["securityContext"], in_pod), (path, spec, in_spec)]
    for container, at in containers_at(spec, path, *CONTAINER_LISTS):
        places.append((f"{at}.securityContext", container.get("securityContext", {}), in_container))
    for at, holder, keys in places:
        yield from (forbidden(f"{at}.{key}", f"cannot be set for a {system} pod") for key in keys if key in holder)


_CHECKS: tuple[tuple[Check, frozenset[str]], ...] = tuple(
    (check, frozenset(fields))
    for check, fields in (
        (_container_names, ("initContainers", "ephemeralContainers", "containers")),
        (_init_containers, ("initContainers",)),
        (_ephemeral_containers, ("ephemeralContainers",)),
        (_amounts, ("overhead", "resources")),
        (_shared_with_host, ("hostNetwork", "hostPID", "hostIPC", "hostUsers")),
        (_dns, ("dnsPolicy",)),
        (_host_name, ("hostnameOverride",)),
        (_spread, ("topologySpreadConstraints",)),
        (_system, ("os",)),
    )
)
"""What is looked at only if one of some fields is there."""


def _pods_only(spec: Object) -> Errors:
    """What is asked of pods, but not of templates."""
    if not spec.get("serviceAccountName"):
        yield from usage.token_errors(spec.get("volumes", ()))
    yield from not_negative(spec.get("terminationGracePeriodSeconds"), "spec.terminationGracePeriodSeconds")
    for container, at in containers_at(spec, "spec", "containers", "initContainers"):
        yield from image_edges(container, at)


# --- annotations ---


def annotation_errors(annotations: dict[str, str] | None, spec: Object, path: str) -> Errors:
    """Of annotations that Kubernetes reads."""
    for key, value in (annotations or {}).items():
        at = f"{path}[{key}]"
        if key == MIRROR and not spec.get("nodeName"):
            yield invalid(at, value, "must set spec.nodeName if mirror pod annotation is set")
        elif key == _TOLERATIONS and value:
            found = objects_in(value, "key", "operator", "value", "effect")
            if found is None:
                yield invalid(path, _TOLERATIONS, "must be a list of tolerations")
            for index, one in enumerate(found or ()):
                yield from toleration_errors(one, f"{path}.{_TOLERATIONS}[{index}]")
        elif key == _DELETION_COST and not _is_int32(value):
            yield invalid(at, value, "must be a 32bit integer")
        elif key.startswith(_SECCOMP):
            yield from _seccomp(value, f"{path}.{key}")
        elif key.startswith(APP_ARMOR):
            if key.removeprefix(APP_ARMOR) not in [one.get("name") for one in containers(spec, *CONTAINER_LISTS)]:
                yield invalid(at, key.removeprefix(APP_ARMOR), "container not found")
            if value not in ("", "runtime/default", "unconfined") and not value.startswith("localhost/"):
                yield invalid(at, value, f'invalid AppArmor profile name: "{value}"')


def _is_int32(text: str) -> bool:
    """Without a plus or zeros in front."""
    if not re.fullmatch(r"0|-?[1-9][0-9]{0,9}|-0[0-9]{0,9}", text, re.ASCII):
        return False
    return -LARGEST_INT32 - 1 <= int(text) <= LARGEST_INT32


def _seccomp(profile: str, path: str) -> Errors:
    if profile.startswith("localhost/"):
        yield from each(path, profile, descending(profile.removeprefix("localhost/")))
    elif profile not in ("runtime/default", "docker/default", "unconfined"):
        yield invalid(path, profile, "must be a valid seccomp profile")
