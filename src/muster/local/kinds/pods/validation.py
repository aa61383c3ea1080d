"""What is wrong with a pod's spec, in the words and the order of Kubernetes.

spec_errors       of any spec: a pod's, or a template's
template_errors   of a template as a whole: jobs hold one
pod_errors        of a pod that is made or changed
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from muster.local.checks import metadata as metadata_rules
from muster.local.checks.fields import FieldError, forbidden, invalid, not_found, required, too_long
from muster.local.checks.metadata import label_errors, not_negative
from muster.local.codec.values import Object
from muster.local.kinds.pods import containers as pod_containers
from muster.local.kinds.pods import resources as pod_resources
from muster.local.kinds.pods import scheduling as pod_scheduling
from muster.local.kinds.pods import security as pod_security
from muster.local.kinds.pods import volumes as pod_volumes
from muster.local.kinds.pods.containers import Scope
from muster.local.kinds.pods.formats import (
    LARGEST_INT32,
    Errors,
    address,
    descending,
    each,
    label,
    one_of,
    qualified,
    search_domain,
    subdomain,
    within,
)
from muster.local.kinds.pods.spec import CONTAINER_LISTS, containers

Check = Callable[[Object, str], Iterable[FieldError]]
"""Of one field of a spec that stands at a path."""

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_MOST_NAMESERVERS, _MOST_SEARCHES, _LONGEST_SEARCHES = 3, 32, 2048
_LONGEST_HOSTNAME = 64

MIRROR = "kubernetes.io/config.mirror"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"


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
    volumes, errors = pod_volumes.check(spec.get("volumes", []), f"{path}.volumes", pod_name)
    errors += _container_errors(spec, path, volumes)
    if spec.get("hostNetwork"):
        errors += _host_ports(spec, path, is_pod=is_pod)
    for key, check in _FIELDS:
        if key in spec:
            errors += check(spec, f"{path}.{key}")
    return errors + list(_variables_from_files(spec, path))


def _container_errors(spec: Object, path: str, volumes: dict[str, Object]) -> Errors:
    claims = spec.get("resourceClaims", ())
    scope = Scope(
        volumes,
        frozenset(claim["name"] for claim in claims if claim.get("name")),
        spec.get("terminationGracePeriodSeconds"),
        spec.get("restartPolicy", ""),
        spec.get("hostUsers", True),
    )
    names = [container.get("name", "") for container in spec.get("containers") or ()]
    if claims:
        yield from pod_containers.claims(claims, f"{path}.resourceClaims")
    yield from pod_containers.containers(spec.get("containers"), f"{path}.containers", scope)
    if spec.get("initContainers"):
        listed = spec["initContainers"]
        yield from pod_containers.init_containers(listed, f"{path}.initContainers", scope, names)
        names += [container.get("name", "") for container in listed]
    if spec.get("ephemeralContainers"):
        listed = spec["ephemeralContainers"]
        yield from pod_containers.ephemeral_containers(listed, f"{path}.ephemeralContainers", scope, names)
    if "resources" in spec:
        yield from pod_resources.of_pod(spec, f"{path}.resources", scope.claims)


def _host_ports(spec: Object, path: str, *, is_pod: bool) -> Errors:
    """On the host's network a port is the same inside and outside; a template need not say so."""
    for index, container in enumerate(spec.get("containers") or ()):
        for place, port in enumerate(container.get("ports", ())):
            outside = port.get("hostPort", 0)
            if (is_pod or outside) and outside != port.get("containerPort", 0):
                at = f"{path}.containers[{index}].ports[{place}].hostPort"
                yield invalid(at, outside, "must match `containerPort` when `hostNetwork` is true")


def _choice(key: str, allowed: tuple[str, ...]) -> Check:
    return lambda spec, path: one_of(path, spec[key], allowed)


def _format(key: str, problems: Callable[[str], tuple[str, ...]]) -> Check:
    return lambda spec, path: each(path, spec[key], problems(spec[key]))


def _part(key: str, check: Callable[[Any, str], Iterable[FieldError]]) -> Check:
    return lambda spec, path: check(spec[key], path)


def _share(spec: Object, path: str) -> Errors:
    if spec["shareProcessNamespace"] and spec.get("hostPID"):
        yield invalid(path, True, "ShareProcessNamespace and HostPID cannot both be enabled")


def _dns(spec: Object, path: str) -> Errors:
    """The pod's own resolver settings; without any policy they must be there."""
    at, config = path.removesuffix("dnsPolicy") + "dnsConfig", spec.get("dnsConfig")
    servers = (config or {}).get("nameservers", ())
    if spec["dnsPolicy"] == "None" and config is None:
        yield required(at, "must provide `dnsConfig` when `dnsPolicy` is None")
    elif spec["dnsPolicy"] == "None" and not servers:
        words = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield required(f"{at}.nameservers", words)
    elif config:
        yield from _dns_config(config, at)


def _dns_config(config: Object, path: str) -> Errors:
    servers, searches = config.get("nameservers", ()), config.get("searches", ())
    if len(servers) > _MOST_NAMESERVERS:
        yield invalid(f"{path}.nameservers", servers, f"must not have more than {_MOST_NAMESERVERS} nameservers")
    for index, server in enumerate(servers):
        yield from each(f"{path}.nameservers[{index}]", server, address(server))
    if len(searches) > _MOST_SEARCHES:
        yield invalid(f"{path}.searches", searches, f"must not have more than {_MOST_SEARCHES} search paths")
    if len(" ".join(searches)) > _LONGEST_SEARCHES:
        words = f"must not have more than {_LONGEST_SEARCHES} characters (including spaces) in the search list"
        yield invalid(f"{path}.searches", searches, words)
    for index, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            yield from each(f"{path}.searches[{index}]", domain, search_domain(domain))
    for index, option in enumerate(config.get("options", ())):
        if not option.get("name"):
            yield required(f"{path}.options[{index}]", "must not be empty")


def _readiness_gates(listed: list[Object], path: str) -> Errors:
    for index, one in enumerate(listed):
        condition = one.get("conditionType", "")
        yield from each(f"{path}[{index}].conditionType", condition, qualified(condition))


def _host_users(spec: Object, path: str) -> Errors:
    """With users of its own a pod may not share other things with the host."""
    if spec["hostUsers"]:
        return
    base = path.removesuffix(".hostUsers")
    for key, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(key):
            yield forbidden(f"{base}.{shown}", "when `hostUsers` is false")
    for kind in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(kind) or ()):
            if container.get("volumeDevices"):
                yield forbidden(f"{base}.{kind}[{index}].volumeDevices", "when `hostUsers` is false")


def _host_name(spec: Object, path: str) -> Errors:
    for key in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(key):
            yield forbidden(path, f"may not be specified when {key} is true")
    if len(spec["hostnameOverride"]) > _LONGEST_HOSTNAME:
        yield too_long(path, _LONGEST_HOSTNAME)
    yield from each(path, spec["hostnameOverride"], subdomain(spec["hostnameOverride"]))


def _deadline(spec: Object, path: str) -> Errors:
    return within(path, spec["activeDeadlineSeconds"], low=1, high=LARGEST_INT32)


def _host_aliases(listed: list[Object], path: str) -> Errors:
    for index, alias in enumerate(listed):
        ip = alias.get("ip", "")
        yield from each(f"{path}[{index}].ip", ip, address(ip))
        for place, name in enumerate(alias.get("hostnames", ())):
            yield from each(f"{path}[{index}].hostnames[{place}]", name, subdomain(name))


def _overhead(spec: Object, path: str) -> Errors:
    return pod_resources.of_container({"limits": spec["overhead"]}, path, frozenset())


def _system(spec: Object, path: str) -> Errors:
    return pod_security.for_system(spec, path.removesuffix(".os"))


# in the order of Kubernetes: some of its errors are in lists that people read from the top
_FIELDS: tuple[tuple[str, Check], ...] = (
    ("restartPolicy", _choice("restartPolicy", _RESTART_POLICIES)),
    ("dnsPolicy", _choice("dnsPolicy", _DNS_POLICIES)),
    ("nodeSelector", _part("nodeSelector", label_errors)),
    ("securityContext", pod_security.of_pod),
    ("shareProcessNamespace", _share),
    ("affinity", _part("affinity", pod_scheduling.affinity)),
    ("dnsPolicy", _dns),
    ("readinessGates", _part("readinessGates", _readiness_gates)),
    ("schedulingGates", _part("schedulingGates", pod_scheduling.gates)),
    ("topologySpreadConstraints", _part("topologySpreadConstraints", pod_scheduling.spread)),
    ("hostUsers", _host_users),
    ("hostnameOverride", _host_name),
    ("serviceAccountName", _format("serviceAccountName", subdomain)),
    ("nodeName", _format("nodeName", subdomain)),
    ("activeDeadlineSeconds", _deadline),
    ("hostname", _format("hostname", label)),
    ("subdomain", _format("subdomain", label)),
    ("tolerations", _part("tolerations", pod_scheduling.tolerations)),
    ("hostAliases", _part("hostAliases", _host_aliases)),
    ("priorityClassName", _format("priorityClassName", subdomain)),
    ("runtimeClassName", _format("runtimeClassName", subdomain)),
    ("preemptionPolicy", _choice("preemptionPolicy", _PREEMPTION_POLICIES)),
    ("overhead", _overhead),
    ("os", _system),
    ("schedulingGroup", _part("schedulingGroup", pod_scheduling.group)),
)


def _variables_from_files(spec: Object, path: str) -> Errors:
    """Files with variables are in volumes that the pod's own containers write."""
    sources: dict[str, Object] = {one.get("name", ""): one for one in spec.get("volumes", ())}
    for kind in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(kind) or ()):
            for place, one in enumerate(container.get("env", ())):
                reference = one.get("valueFrom", {}).get("fileKeyRef")
                if reference is not None:
                    at = f"{path}.{kind}[{index}].env[{place}].valueFrom.fileKeyRef.volumeName"
                    yield from _file_volume(reference.get("volumeName", ""), at, sources)


def _file_volume(name: str, path: str, volumes: dict[str, Object]) -> Errors:
    if name not in volumes:
        yield not_found(path, name)
    elif "emptyDir" not in volumes[name]:
        yield invalid(path, name, "referenced volume must be of type emptyDir")


def _pods_only(spec: Object) -> Errors:
    """What is asked of pods, but not of templates."""
    if not spec.get("serviceAccountName"):
        yield from _tokens(spec.get("volumes", ()))
    yield from not_negative(spec.get("terminationGracePeriodSeconds"), "spec.terminationGracePeriodSeconds")
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield from pod_containers.image_edges(container, f"spec.{kind}[{index}]")


def _tokens(volumes: list[Object]) -> Errors:
    for index, volume in enumerate(volumes):
        for place, source in enumerate(volume.get("projected", {}).get("sources") or ()):
            if "serviceAccountToken" in source:
                at = f"spec.volumes[{index}].projected.sources[{place}].serviceAccountToken"
                yield forbidden(at, "must not be specified when serviceAccountName is not set")


def annotation_errors(annotations: dict[str, str] | None, spec: Object, path: str) -> Errors:
    """Of annotations that Kubernetes reads."""
    if not annotations:
        return
    if MIRROR in annotations and not spec.get("nodeName"):
        words = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{path}[{MIRROR}]", annotations[MIRROR], words)
    if annotations.get(_TOLERATIONS):
        yield from _annotated_tolerations(annotations[_TOLERATIONS], path)
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not _is_int32(cost):
        yield invalid(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer")
    for key, value in annotations.items():
        if key == _SECCOMP or key.startswith(_SECCOMP_CONTAINER):
            yield from _seccomp(value, f"{path}.{key}")
        if key.startswith(APP_ARMOR):
            yield from _app_armor(key.removeprefix(APP_ARMOR), value, f"{path}[{key}]", spec)


def _annotated_tolerations(text: str, path: str) -> Errors:
    try:
        listed = json.loads(text)
    except ValueError as error:
        yield invalid(path, _TOLERATIONS, str(error))
        return
    if isinstance(listed, list):
        yield from pod_scheduling.tolerations(listed, f"{path}.{_TOLERATIONS}")


def _is_int32(text: str) -> bool:
    """Without a plus or zeros in front."""
    plain = text.removeprefix("-")
    if not plain.isdecimal() or not plain.isascii() or (text[0] == "0" and text != "0"):
        return False
    return len(plain) <= len(str(LARGEST_INT32)) and -LARGEST_INT32 - 1 <= int(text) <= LARGEST_INT32


def _seccomp(profile: str, path: str) -> Errors:
    if profile.startswith("localhost/"):
        yield from descending(path, profile.removeprefix("localhost/"))
    elif profile not in ("runtime/default", "docker/default", "unconfined"):
        yield invalid(path, profile, "must be a valid seccomp profile")


def _app_armor(name: str, profile: str, path: str, spec: Object) -> Errors:
    if name not in (container.get("name") for container in containers(spec, *CONTAINER_LISTS)):
        yield invalid(path, name, "container not found")
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith("localhost/"):
        yield invalid(path, profile, f'invalid AppArmor profile name: "{profile}"')
