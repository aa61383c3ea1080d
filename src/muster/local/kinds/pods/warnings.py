"""What people are warned of when they make a pod: it is allowed, and hardly what they mean."""

from __future__ import annotations

from collections.abc import Iterator

from muster.local.codec.gotext import quoted
from muster.local.codec.values import Object
from muster.local.kinds.pods.spec import containers_at

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MATCHES_NOTHING = "a null labelSelector results in matching no pod"


def warnings(pod: Object, old: Object | None) -> list[str]:
    """Of a new pod: those that change pods are seldom people."""
    if old is not None:
        return []
    spec = pod["spec"]
    ports = _ports(spec)
    return [
        *_without_selector(spec),
        *_repeated(spec, "hostAliases", "ip"),
        *_repeated(spec, "imagePullSecrets", "name"),
        *_without_name(spec),
        *_hidden_variables(spec),
        *_repeated_ports(ports),
        *_repeated_port_names(ports),
        *_terms_without_selector(spec),
    ]


def _without_selector(spec: Object) -> Iterator[str]:
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        if "labelSelector" not in constraint:
            yield f"spec.topologySpreadConstraints[{index}].labelSelector: {_MATCHES_NOTHING}"


def _terms_without_selector(spec: Object) -> Iterator[str]:
    affinity = spec.get("affinity") or {}
    for name in ("podAffinity", "podAntiAffinity") if affinity else ():
        terms = affinity.get(name) or {}
        for kind, inside in ((_REQUIRED, ""), (_PREFERRED, ".podAffinityTerm")):
            for index, term in enumerate(terms.get(kind) or ()):
                if "labelSelector" not in (term.get("podAffinityTerm") or {} if inside else term):
                    yield f"spec.affinity.{name}.{kind}[{index}]{inside}.labelSelector: {_MATCHES_NOTHING}"


def _repeated(spec: Object, name: str, key: str) -> Iterator[str]:
    seen = set()
    for index, item in enumerate(spec.get(name) or ()):
        value = item.get(key, "")
        if value in seen:
            yield f"spec.{name}[{index}].{key}: duplicate {key} {quoted(value)}"
        seen.add(value)


def _without_name(spec: Object) -> Iterator[str]:
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            yield f'spec.imagePullSecrets[{index}].name: invalid empty name ""'


# --- containers ---


def _hidden_variables(spec: Object) -> Iterator[str]:
    for container, path in containers_at(spec, "spec", "initContainers", "containers"):
        seen = set()
        for index, variable in enumerate(container.get("env") or ()):
            name, value = variable["name"], variable.get("value", "")
            earlier = f"$({name})"
            # what builds on the earlier value is meant so
            builds_on_it = earlier in value and value != earlier and "valueFrom" not in variable
            if name in seen and not builds_on_it:
                words = "hides previous definition of"
                yield f"{path}.env[{index}]: {words} {quoted(name)}, which may be dropped when using apply"
            seen.add(name)


def _ports(spec: Object) -> list[tuple[str, Object]]:
    return [
        (f"{path}.ports[{index}]", port)
        for container, path in containers_at(spec, "spec", "initContainers", "containers")
        for index, port in enumerate(container.get("ports") or ())
    ]


def _repeated_ports(ports: list[tuple[str, Object]]) -> Iterator[str]:
    seen: dict[tuple[int, str], list[tuple[str, Object]]] = {}
    for path, port in ports:
        others = seen.setdefault((port["containerPort"], port.get("protocol", "")), [])
        for other_path, other in others:
            if how := _overlap(port, other):
                yield f"{path}: {how} port definition with {other_path}"
        others.append((path, port))


def _overlap(port: Object, other: Object) -> str:
    """How two definitions of one port get into each other's way; "" if they do not."""
    number, other_number = port.get("hostPort", 0), other.get("hostPort", 0)
    address, other_address = port.get("hostIP", ""), other.get("hostIP", "")
    if (number, address) == (other_number, other_address):
        return "duplicate"
    if not number or not other_number:
        return "overlapping"
    if number == other_number and bool(address) != bool(other_address):
        return "dangerously ambiguous"
    return ""


def _repeated_port_names(ports: list[tuple[str, Object]]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for path, port in ports:
        name = port.get("name", "")
        first = seen.setdefault(name, path)
        if name and first != path:
            words = f"services and probes that select ports by name will use {first}"
            yield f"{path}: duplicate port name {quoted(name)} with {first}, {words}"
