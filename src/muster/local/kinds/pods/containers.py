"""Containers of a pod: those that run, those that run before them, those that were added to look around."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

import msgspec

from muster.local.checks.fields import duplicate, forbidden, invalid, not_found, not_supported, required, too_many
from muster.local.codec.values import Object
from muster.local.kinds import internal
from muster.local.kinds.pods import mounts as pod_mounts
from muster.local.kinds.pods import probes as pod_probes
from muster.local.kinds.pods import references as pod_references
from muster.local.kinds.pods import resources as pod_resources
from muster.local.kinds.pods import security as pod_security
from muster.local.kinds.pods.formats import Errors, each, label, named, one_of, port_name, port_number, subdomain
from muster.local.kinds.pods.resources import is_sidecar
from muster.local.kinds.pods.spec import PROBES
from muster.local.kinds.pods.volumes import PULL_POLICIES

_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RESTART_ACTIONS = ("Restart", "RestartAllContainers")
_MOST_RULES, _MOST_EXIT_CODES = 20, 255
_RESIZED = ("cpu", "memory")
_RESIZE_POLICIES = ("NotRequired", "RestartContainer")
_NOT_FOR_INIT = ("lifecycle", *PROBES)
# in Go's order
_NOT_FOR_EPHEMERAL = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)


class Scope(msgspec.Struct, frozen=True):
    """What checks of a container need to know of the pod around it."""

    volumes: dict[str, Object]
    """Those that may be mounted."""
    claims: frozenset[str]
    grace: int | None
    """Seconds that the pod has to end."""
    restart_policy: str
    uses_host_users: bool


def containers(listed: list[Object] | None, path: str, scope: Scope) -> Errors:
    """Of those that run: one at least."""
    if not listed:
        yield required(path)
        return
    names: set[str] = set()
    for index, container in enumerate(listed):
        at, name = f"{path}[{index}]", container.get("name", "")
        yield from _common(container, at, scope)
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)
        yield from _hooks(container, at, scope)
        yield from _restarts(container, at)
    yield from _host_ports(listed, path)


def init_containers(listed: list[Object], path: str, scope: Scope, names: Iterable[str]) -> Errors:
    """Of those that run before: `names` are taken."""
    taken = set(names)
    for index, container in enumerate(listed):
        at, name = f"{path}[{index}]", container.get("name", "")
        yield from _common(container, at, scope)
        # without a policy Kubernetes looks no further here, but does so in other containers
        yield from islice(_restarts(container, at), None if "restartPolicy" in container else 1)
        if name in taken:
            yield duplicate(f"{at}.name", name)
        elif name:
            taken.add(name)
        yield from _host_ports([container], path)
        if is_sidecar(container):
            yield from _hooks(container, at, scope)
        else:
            yield from _runs_once(container, at)


def ephemeral_containers(listed: list[Object], path: str, scope: Scope, names: Iterable[str]) -> Errors:
    """Of those that were added later: `names` are those of the others."""
    others = frozenset(names)
    taken = set(others)
    cannot = "cannot be set for an Ephemeral Container"
    for index, container in enumerate(listed):
        at, name = f"{path}[{index}]", container.get("name", "")
        yield from _common(container, at, scope)
        yield from image_edges(container, at)
        if name in taken:
            yield duplicate(f"{at}.name", name)
        taken.add(name)
        target = container.get("targetContainerName", "")
        if target and target not in others:
            yield not_found(f"{at}.targetContainerName", target)
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


def _common(container: Object, path: str, scope: Scope) -> Errors:
    yield from named(f"{path}.name", container.get("name", ""), label)
    if not container.get("image"):
        yield required(f"{path}.image")
    yield from one_of(
        f"{path}.terminationMessagePolicy", container.get("terminationMessagePolicy", ""), _MESSAGE_POLICIES
    )
    for key, check in _PARTS:
        if key in container:
            yield from check(container, f"{path}.{key}", scope)


def _ports(container: Object, path: str, _: Scope) -> Errors:
    names: set[str] = set()
    for index, one in enumerate(container["ports"]):
        at, name = f"{path}[{index}]", one.get("name", "")
        if name and port_name(name):
            yield from each(f"{at}.name", name, port_name(name))
        elif name in names:
            yield duplicate(f"{at}.name", name)
        elif name:
            names.add(name)
        if not one.get("containerPort"):
            yield required(f"{at}.containerPort")
        else:
            yield from port_number(f"{at}.containerPort", one["containerPort"])
        if one.get("hostPort"):
            yield from port_number(f"{at}.hostPort", one["hostPort"])
        yield from one_of(f"{at}.protocol", one.get("protocol", ""), _PROTOCOLS)


def _variables(container: Object, path: str, _: Scope) -> Errors:
    return pod_references.variables(container["env"], path)


def _sources(container: Object, path: str, _: Scope) -> Errors:
    return pod_references.sources(container["envFrom"], path)


def _mounts(container: Object, path: str, scope: Scope) -> Errors:
    return pod_mounts.mounts(container, path, scope.volumes)


def _devices(container: Object, path: str, scope: Scope) -> Errors:
    return pod_mounts.devices(container, path, scope.volumes)


def _pull_policy(container: Object, path: str, _: Scope) -> Errors:
    return one_of(path, container["imagePullPolicy"], PULL_POLICIES)


def _resources(container: Object, path: str, scope: Scope) -> Errors:
    return pod_resources.of_container(container["resources"], path, scope.claims)


def _security(container: Object, path: str, scope: Scope) -> Errors:
    return pod_security.of_container(container["securityContext"], path, uses_host_users=scope.uses_host_users)


def _resize(container: Object, path: str, scope: Scope) -> Errors:
    """How changes of resources are taken; all errors but one name the list."""
    seen: set[str] = set()
    for index, one in enumerate(container["resizePolicy"]):
        name, policy = one.get("resourceName", ""), one.get("restartPolicy", "")
        if name in seen:
            yield duplicate(f"{path}[{index}]", name)
        seen.add(name)
        yield from one_of(path, name, _RESIZED)
        yield from one_of(path, policy, _RESIZE_POLICIES)
        if scope.restart_policy == "Never" and policy != "NotRequired":
            yield invalid(path, policy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")


_PARTS: tuple[tuple[str, Callable[[Object, str, Scope], Errors]], ...] = (
    ("ports", _ports),
    ("env", _variables),
    ("envFrom", _sources),
    ("volumeMounts", _mounts),
    ("volumeDevices", _devices),
    ("imagePullPolicy", _pull_policy),
    ("resources", _resources),
    ("resizePolicy", _resize),
    ("securityContext", _security),
)


def _hooks(container: Object, path: str, scope: Scope) -> Errors:
    if "lifecycle" in container:
        yield from pod_probes.lifecycle(container["lifecycle"], f"{path}.lifecycle", scope.grace)
    for kind in PROBES:
        if kind in container:
            yield from pod_probes.probe(container[kind], f"{path}.{kind}", kind)


def _runs_once(container: Object, path: str) -> Errors:
    """What makes no sense for an init container that ends."""
    for key in _NOT_FOR_INIT:
        if key in container:
            yield forbidden(f"{path}.{key}", "may not be set for init containers without restartPolicy=Always")
    for index, one in enumerate(container.get("resizePolicy", ())):
        if one.get("restartPolicy") == "RestartContainer":
            words = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            yield invalid(f"{path}.resizePolicy[{index}].restartPolicy", "RestartContainer", words)


def _restarts(container: Object, path: str) -> Errors:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    if policy is None:
        if rules:
            yield required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif policy not in _RESTART_POLICIES:
        yield not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES)
    if len(rules) > _MOST_RULES:
        yield too_many(f"{path}.restartPolicyRules", len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        yield from _restart_rule(rule, f"{path}.restartPolicyRules[{index}]")


def _restart_rule(rule: Object, path: str) -> Errors:
    if rule.get("action") not in _RESTART_ACTIONS:
        yield not_supported(f"{path}.action", rule.get("action", ""), _RESTART_ACTIONS)
    codes = rule.get("exitCodes")
    if codes is None:
        yield required(f"{path}.exitCodes", "must be specified")
        return
    if codes.get("operator") not in ("In", "NotIn"):
        yield not_supported(f"{path}.exitCodes.operator", codes.get("operator", ""), ("In", "NotIn"))
    if len(codes.get("values", ())) > _MOST_EXIT_CODES:
        yield too_many(f"{path}.exitCodes.values", len(codes["values"]), _MOST_EXIT_CODES)


def _host_ports(listed: list[Object], path: str) -> Errors:
    """Ports of the host may be taken once."""
    taken: set[str] = set()
    for index, container in enumerate(listed):
        for place, one in enumerate(container.get("ports", ())):
            if one.get("hostPort"):
                key = f"{one.get('protocol', '')}/{one.get('hostIP', '')}/{one['hostPort']}"
                if key in taken:
                    yield duplicate(f"{path}[{index}].ports[{place}].hostPort", key)
                taken.add(key)


def claims(listed: list[Object], path: str) -> Errors:
    """Of the pod's resourceClaims."""
    seen: set[str] = set()
    for index, claim in enumerate(listed):
        at, name = f"{path}[{index}]", claim.get("name", "")
        if name and name in seen:
            yield duplicate(f"{at}.name", name)
        else:
            yield from named(f"{at}.name", name, label)
            seen.add(name)
        yield from _claim_source(claim, at)


def _claim_source(claim: Object, path: str) -> Errors:
    keys = ("resourceClaimName", "resourceClaimTemplateName")
    found = [key for key in keys if key in claim]
    words = {
        0: "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
        2: "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
    }.get(len(found))
    if words:
        yield invalid(path, internal.shown("PodResourceClaim", claim), words)
    for key in found:
        yield from each(f"{path}.{key}", claim[key], subdomain(claim[key]))
