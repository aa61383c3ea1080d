"""Security contexts of pods and containers, and what their profiles may be."""

from __future__ import annotations

import re
from typing import NamedTuple

from muster.local.checks.fields import FieldError, duplicate, forbidden, invalid, not_supported, required, too_long
from muster.local.codec.values import Object
from muster.local.kinds import internal
from muster.local.kinds.pods.formats import Errors, descending, each, identity, subdomain
from muster.local.kinds.pods.spec import CONTAINER_LISTS

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL_PART = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = re.compile(rf"({_SYSCTL_PART}[\./])*{_SYSCTL_PART}")
_LONGEST_SYSCTL = 253
_LONGEST_PROFILE = 4095
_IPC_SYSCTLS = ("kernel.sem", "kernel.shm", "kernel.msg", "fs.mqueue.")

_POD_CHOICES = (
    ("fsGroupChangePolicy", ("Always", "OnRootMismatch")),
    ("supplementalGroupsPolicy", ("Merge", "Strict")),
    ("seLinuxChangePolicy", ("MountOption", "Recursive")),
)


def of_pod(spec: Object, path: str) -> Errors:
    """Of the pod as a whole."""
    context = spec["securityContext"]
    if not context:
        return
    for key in ("fsGroup", "runAsUser", "runAsGroup"):
        if key in context:
            yield from identity(f"{path}.{key}", context[key])
    for index, one in enumerate(context.get("supplementalGroups", ())):
        yield from identity(f"{path}.supplementalGroups[{index}]", one)
    yield from _sysctls(context.get("sysctls", ()), f"{path}.sysctls", spec)
    yield from _choices(context, path, _POD_CHOICES[:1])
    yield from _profiles(context, path)
    yield from _choices(context, path, _POD_CHOICES[1:])


def of_container(context: Object, path: str, *, uses_host_users: bool) -> Errors:
    for key in ("runAsUser", "runAsGroup"):
        if key in context:
            yield from identity(f"{path}.{key}", context[key])
    if "procMount" in context:
        yield from _proc_mount(context["procMount"], f"{path}.procMount", uses_host_users)
    yield from _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        yield from _escalation(context, path)
    yield from _windows(context.get("windowsOptions"), f"{path}.windowsOptions")
    yield from _app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def for_system(spec: Object, path: str) -> Errors:
    """What the pod's operating system rules out."""
    system = spec["os"].get("name", "")
    if not system:
        yield required(f"{path}.os.name")
    elif system not in _SYSTEMS:
        yield not_supported(f"{path}.os", system, _SYSTEMS)
    else:
        yield from _ruled_out(spec, path, _SYSTEMS[system])


class _System(NamedTuple):
    """What may not be set on an operating system."""

    words: str
    in_pod: tuple[str, ...]
    in_spec: tuple[str, ...]
    in_container: tuple[str, ...]


_NOT_ON_WINDOWS = ("appArmorProfile", "seLinuxOptions", "seccompProfile")
_SYSTEMS = {
    "linux": _System(
        "windows options cannot be set for a linux pod",
        in_pod=("windowsOptions",),
        in_spec=(),
        in_container=("windowsOptions",),
    ),
    "windows": _System(
        "cannot be set for a windows pod",
        in_pod=(
            *_NOT_ON_WINDOWS,
            "fsGroup",
            "fsGroupChangePolicy",
            "sysctls",
            "runAsUser",
            "runAsGroup",
            "supplementalGroups",
            "supplementalGroupsPolicy",
            "seLinuxChangePolicy",
        ),
        in_spec=("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"),
        in_container=(
            *_NOT_ON_WINDOWS,
            "capabilities",
            "readOnlyRootFilesystem",
            "privileged",
            "allowPrivilegeEscalation",
            "procMount",
            "runAsUser",
            "runAsGroup",
        ),
    ),
}


def _ruled_out(spec: Object, path: str, system: _System) -> Errors:
    places = [
        (f"{path}.securityContext", spec["securityContext"], system.in_pod),
        (path, spec, system.in_spec),
        *(
            (f"{path}.{kind}[{index}].securityContext", container.get("securityContext", {}), system.in_container)
            for kind in CONTAINER_LISTS
            for index, container in enumerate(spec.get(kind) or ())
        ),
    ]
    for at, holder, keys in places:
        for key in keys:
            if key in holder:
                yield forbidden(f"{at}.{key}", system.words)


def _choices(context: Object, path: str, choices: tuple[tuple[str, tuple[str, ...]], ...]) -> Errors:
    for key, allowed in choices:
        if key in context and context[key] not in allowed:
            yield not_supported(f"{path}.{key}", context[key], allowed)


def _profiles(context: Object, path: str) -> Errors:
    yield from _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    yield from _windows(context.get("windowsOptions"), f"{path}.windowsOptions")
    yield from _app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def _sysctls(listed: list[Object], path: str, spec: Object) -> Errors:
    seen: set[str] = set()
    for index, one in enumerate(listed):
        at, name = f"{path}[{index}].name", one.get("name", "")
        if not name:
            yield required(at)
        elif len(name) > _LONGEST_SYSCTL or not _SYSCTL.fullmatch(name):
            words = f"must have at most {_LONGEST_SYSCTL} characters and match regex ^{_SYSCTL.pattern}$"
            yield invalid(at, name, words)
        elif name in seen:
            yield duplicate(at, name)
        yield from _host_sysctl(name, at, spec)
        seen.add(name)


def _host_sysctl(name: str, path: str, spec: Object) -> Errors:
    """One that would change the host: the pod shares what it is of."""
    plain = name.replace("/", ".")
    if spec.get("hostNetwork") and plain.startswith("net."):
        yield invalid(path, name, "may not be specified when 'hostNetwork' is true")
    elif spec.get("hostIPC") and plain.startswith(_IPC_SYSCTLS):
        yield invalid(path, name, "may not be specified when 'hostIPC' is true")


def _proc_mount(value: str, path: str, uses_host_users: bool) -> Errors:
    if value not in ("Default", "Unmasked"):
        yield not_supported(path, value, ("Default", "Unmasked"))
    if value == "Unmasked" and uses_host_users:
        yield invalid(path, value, "`hostUsers` must be false to use `Unmasked`")


def _escalation(context: Object, path: str) -> Errors:
    cannot = "cannot set `allowPrivilegeEscalation` to false and"
    if context.get("privileged"):
        yield _of_context(context, path, f"{cannot} `privileged` to true")
    for capability in context.get("capabilities", {}).get("add", ()):
        if capability == "CAP_SYS_ADMIN":
            yield _of_context(context, path, f"{cannot} `capabilities.Add` CAP_SYS_ADMIN")


def _of_context(context: Object, path: str, words: str) -> FieldError:
    return invalid(path, internal.shown("SecurityContext", context), words)


def _seccomp(profile: Object | None, path: str) -> Errors:
    if profile is None:
        return
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        yield required(f"{path}.type", "type is required when seccompProfile is set")
    elif kind not in _PROFILES:
        yield not_supported(f"{path}.type", kind, _PROFILES)
    if kind == "Localhost":
        if local is None:
            yield required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
        else:
            yield from descending(f"{path}.localhostProfile", local)
    elif local is not None:
        value = internal.shown("SeccompProfile", profile)
        yield invalid(f"{path}.localhostProfile", value, "can only be set when seccomp type is Localhost")


def _app_armor(profile: Object | None, path: str) -> Errors:
    if profile is None:
        return
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if kind == "Localhost":
        yield from _local_profile(local, f"{path}.localhostProfile")
    elif kind in _PROFILES:
        if local is not None:
            words = "can only be set when AppArmor type is Localhost"
            yield invalid(f"{path}.localhostProfile", local, words)
    elif not kind:
        yield required(f"{path}.type", "type is required when appArmorProfile is set")
    else:
        yield not_supported(f"{path}.type", kind, _PROFILES)


def _local_profile(local: str | None, path: str) -> Errors:
    if local is not None and local != local.strip():
        yield invalid(path, local, "must not be padded with whitespace")
    elif not local:
        yield required(path, "must be set when AppArmor type is Localhost")
    if local and len(local) > _LONGEST_PROFILE:
        yield too_long(path, _LONGEST_PROFILE)


def _windows(options: Object | None, path: str) -> Errors:
    """Of the options for Windows; accounts are not looked into further than that they are named."""
    if not options:
        return
    if "gmsaCredentialSpecName" in options:
        name = options["gmsaCredentialSpecName"]
        yield from each(f"{path}.gmsaCredentialSpecName", name, subdomain(name))
    for key in ("gmsaCredentialSpec", "runAsUserName"):
        if options.get(key) == "":
            yield invalid(f"{path}.{key}", "", f"{key} cannot be an empty string")
