"""What is asked of each struct in a pod's spec: tables, and small code for what is between the fields of one struct.

What the parts of a pod have to do with each other is in `validation`.
"""

from __future__ import annotations

from collections.abc import Sequence

from muster.base.caching import remembered
from muster.base.quantity import nanos
from muster.local.checks.fields import forbidden, invalid, not_supported, required, too_long
from muster.local.checks.metadata import label_errors, operator_errors, selector_errors
from muster.local.codec.values import Object
from muster.local.kinds.pods import formats, resources
from muster.local.kinds.pods.formats import each
from muster.local.kinds.rules import Book, Check, Errors, Rules
from muster.local.schema import load

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")

# --- references: to fields of the pod, to resources of its containers ---

_IN_VARIABLES = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_IN_FILES = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_KNOWN = frozenset({*_IN_VARIABLES, *_IN_FILES, "spec.restartPolicy", "spec.schedulerName", "status.phase"})
_AMOUNTS = tuple(f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory"))
_HUGE = ("limits.hugepages-", "requests.hugepages-")
_SIZES = ("1", *(f"1{unit}{suffix}" for unit in "kMGTPE" for suffix in ("", "i")), "1Ki")


def _field(allowed: tuple[str, ...]) -> Check:
    """A field of the pod itself."""

    def check(holder: Object, path: str) -> Errors:
        reference, at = holder.get("fieldRef"), f"{path}.fieldRef"
        if reference is None:
            return
        missing = [key for key in ("apiVersion", "fieldPath") if not reference.get(key)]
        if missing:
            yield required(f"{at}.{missing[0]}")
            return
        field = reference["fieldPath"]
        base, key = _split_key(field)
        if reference["apiVersion"] != "v1" or not _is_known(base, key):
            yield invalid(f"{at}.fieldPath", field, "error converting fieldPath: field label not supported")
        elif key is not None:
            yield from each(at, key, formats.qualified(key.lower() if base == "metadata.annotations" else key))
        elif field != "spec.host" and field not in allowed:
            yield not_supported(f"{at}.fieldPath", field, allowed)

    return check


@remembered(1024)
def _split_key(field: str) -> tuple[str, str | None]:
    """metadata.labels['app'] → metadata.labels, app."""
    base, bracket, key = field.removesuffix("']").partition("['")
    return (base, key) if field.endswith("']") and base and bracket else (field, None)


def _is_known(base: str, key: str | None) -> bool:
    return base in (_KNOWN | {"spec.host"}) if key is None else base in ("metadata.annotations", "metadata.labels")


def _amount(*, in_volume: bool) -> Check:
    """An amount that a container asks for or may use."""

    def check(holder: Object, path: str) -> Errors:
        reference, at = holder.get("resourceFieldRef"), f"{path}.resourceFieldRef"
        if reference is None:
            return
        amount, divisor = reference.get("resource", ""), reference.get("divisor", "0")
        if in_volume and not reference.get("containerName"):
            yield required(f"{at}.containerName")
        elif not amount:
            yield required(f"{at}.resource")
        elif amount not in _AMOUNTS and not amount.startswith(_HUGE):
            yield not_supported(f"{at}.resource", amount, _AMOUNTS)
        units = ("1m", "1") if amount.endswith(".cpu") else _SIZES
        if (amount in _AMOUNTS or amount.startswith(_HUGE)) and nanos(divisor) and divisor not in units:
            yield invalid(f"{at}.divisor", divisor, f"must be one of {', '.join(units)}")

    return check


def _exactly_one(*names: str) -> Check:
    """Of these fields; the struct as a whole is wrong otherwise."""

    def check(value: Object, path: str) -> Errors:
        if sum(name in value for name in names) != 1:
            yield invalid(path, "", "must specify exactly one of: " + ", ".join(f"`{name}`" for name in names))

    return check


def _file_source(item: Object, path: str) -> Errors:
    if "fieldRef" not in item and "resourceFieldRef" not in item:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    elif "fieldRef" in item and "resourceFieldRef" in item:
        yield invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")


def _either_value(variable: Object, path: str) -> Errors:
    if variable.get("value") and variable.get("valueFrom"):
        yield invalid(f"{path}.valueFrom", "", "may not be specified when `value` is not empty")


# --- containers ---


def _resizes(container: Object, path: str) -> Errors:
    seen: set[str] = set()
    for index, one in enumerate(container.get("resizePolicy", ())):
        name, policy = one.get("resourceName", ""), one.get("restartPolicy", "")
        for given, known in ((name, ("cpu", "memory")), (policy, ("NotRequired", "RestartContainer"))):
            if given not in known:
                at = f"{path}.resizePolicy"
                yield not_supported(at, given, known) if given else required(at)
        if name in seen:
            yield invalid(f"{path}.resizePolicy[{index}]", name, "must be unique")
        seen.add(name)


def _asks(container: Object, path: str) -> Errors:
    return resources.of_container(container.get("resources", {}), f"{path}.resources")


def _recursive(mount: Object, path: str) -> Errors:
    is_fit = mount.get("readOnly") and mount.get("mountPropagation", "None") == "None"
    if mount.get("recursiveReadOnly") in ("Enabled", "IfPossible") and not is_fit:
        words = "may only be specified when readOnly is true and mountPropagation is None"
        yield forbidden(f"{path}.recursiveReadOnly", words)


def _profile(profile: Object, path: str) -> Errors:
    """Of seccomp or AppArmor: a file is named if it is a local one, and only then."""
    local, is_local = profile.get("localhostProfile"), profile.get("type") == "Localhost"
    if is_local and local is None:
        yield required(f"{path}.localhostProfile", "must be set when type is Localhost")
    elif local is not None and not is_local and profile.get("type"):
        yield invalid(f"{path}.localhostProfile", local, "can only be set when type is Localhost")


def _privileges(context: Object, path: str) -> Errors:
    wide = context.get("privileged") or "CAP_SYS_ADMIN" in context.get("capabilities", {}).get("add", ())
    if context.get("allowPrivilegeEscalation") is False and wide:
        words = "cannot set `allowPrivilegeEscalation` to false and `privileged` or CAP_SYS_ADMIN"
        yield invalid(path, context, words)


# --- volumes ---


def _size(source: Object, path: str) -> Errors:
    if nanos(source.get("sizeLimit", "0")) < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _driver(source: Object, path: str) -> Errors:
    driver = source.get("driver", "")
    if len(driver) > 63:
        yield too_long(f"{path}.driver", 63)
    if driver:
        yield from each(f"{path}.driver", driver, formats.subdomain(driver.lower()))


def _one_projection(source: Object, path: str) -> Errors:
    if len(source) > 1:
        yield forbidden(path, "may not specify more than 1 volume type per source")


def _bundle(projection: Object, path: str) -> Errors:
    if "name" not in projection and "signerName" not in projection:
        yield required(path, "either name or signerName must be specified")


def _written_once(source: Object, path: str) -> Errors:
    """No two projections write the same file."""
    paths: set[str] = set()
    for source_of_files in source.get("sources") or ():
        for projection in source_of_files.values():
            for item in projection.get("items", ()):
                if item.get("path") in paths:
                    yield invalid(path, item["path"], "conflicting duplicate paths")
                elif item.get("path"):
                    paths.add(item["path"])


def _claim_template(template: Object, path: str) -> Errors:
    metadata = template.get("metadata", {})
    yield from label_errors(metadata.get("labels"), f"{path}.metadata.labels")
    for key in metadata.keys() - {"annotations", "labels", "creationTimestamp"}:
        yield forbidden(f"{path}.metadata.{key}", "cannot be set")


def access_mode_errors(modes: Sequence[str], path: str) -> Errors:
    """Of a volume, or a claim for one."""
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported(path, mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(mode in _ACCESS_MODES[:3] for mode in modes):
        yield forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _claim(spec: Object, path: str) -> Errors:
    """Of a claim for a volume."""
    modes, storage = spec.get("accessModes", ()), spec.get("resources", {}).get("requests", {}).get("storage")
    yield from access_mode_errors(modes, f"{path}.accessModes")
    if storage is None:
        yield required(f"{path}.resources[storage]")
    elif nanos(storage) <= 0:
        yield invalid(f"{path}.resources[storage]", storage, "must be greater than zero")


# --- where a pod may go ---


def _node_selector(selector: Object, path: str) -> Errors:
    """Of nodes: the values of a preference are not looked at, those of a requirement are."""
    for index, term in enumerate(selector.get("nodeSelectorTerms") or ()):
        for place, one in enumerate(term.get("matchExpressions", ())):
            for position, value in enumerate(one.get("values", ())):
                at = f"{path}.nodeSelectorTerms[{index}].matchExpressions[{place}].values[{position}]"
                yield from each(at, value, formats.label_value(value))


def _node_term(term: Object, path: str) -> Errors:
    for index, one in enumerate(term.get("matchExpressions", ())):
        at, key = f"{path}.matchExpressions[{index}]", one.get("key", "")
        yield from operator_errors(one, at, others=("Gt", "Lt"))
        yield from each(f"{at}.key", key, formats.qualified(key))
    for index, one in enumerate(term.get("matchFields", ())):
        yield from _node_field(one, f"{path}.matchFields[{index}]")


def _node_field(one: Object, path: str) -> Errors:
    """A node can be chosen by one field, its name."""
    operator, values = one.get("operator", ""), one.get("values", ())
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        yield required(f"{path}.values", "must be only one value when `operator` is 'In' or 'NotIn'")
    if one.get("key") != "metadata.name":
        yield invalid(f"{path}.key", one.get("key", ""), "not a valid field selector key")
    else:
        for index, value in enumerate(values):
            yield from each(f"{path}.values[{index}]", value, formats.subdomain(value))


def _own_labels(holder: Object, path: str) -> Errors:
    """Of labels whose values are taken from the pod itself: they are in the selector by now, once."""
    selector = holder.get("labelSelector")
    for kind in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = holder.get(kind, ())
        if keys and selector is None:
            yield forbidden(f"{path}.{kind}", "must not be specified when labelSelector is not set")
        for index, key in enumerate(keys if selector is not None else ()):
            yield from each(f"{path}.{kind}[{index}]", key, formats.qualified(key))
    matching = {key: index for index, key in enumerate(holder.get("matchLabelKeys", ()))}
    seen = set((selector or {}).get("matchLabels", ()))
    for one in (selector or {}).get("matchExpressions", ()):
        key = one.get("key", "")
        if key in matching and key in seen:
            yield invalid(f"{path}[{matching[key]}]", key, "exists in both matchLabelKeys and labelSelector")
        seen.add(key)
    for key in sorted(matching.keys() & set(holder.get("mismatchLabelKeys", ())), key=matching.__getitem__):
        at = f"{path}.matchLabelKeys[{matching[key]}]"
        yield invalid(at, key, "exists in both matchLabelKeys and mismatchLabelKeys")


def _topology(term: Object, path: str) -> Errors:
    key = term.get("topologyKey", "")
    return iter(each(f"{path}.topologyKey", key, formats.qualified(key)))


def toleration_errors(one: Object, path: str) -> Errors:
    operator, value = one.get("operator", "Equal"), one.get("value", "")
    if one.get("key"):
        yield from each(f"{path}.key", one["key"], formats.qualified(one["key"]))
    elif one.get("operator") != "Exists":
        words = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", one.get("operator", ""), words)
    if "tolerationSeconds" in one and one.get("effect") != "NoExecute":
        yield invalid(f"{path}.effect", one.get("effect", ""), "must be 'NoExecute' when `tolerationSeconds` is set")
    if operator == "Equal":
        yield from each(f"{path}.operator", value, formats.label_value(value))
    elif operator == "Exists" and value:
        yield invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    elif operator != "Exists":
        # the gate for Lt and Gt is off
        yield not_supported(f"{path}.operator", operator, ("Equal", "Exists"))


def _least_domains(one: Object, path: str) -> Errors:
    if "minDomains" in one and one.get("whenUnsatisfiable") != "DoNotSchedule":
        yield invalid(f"{path}.minDomains", one["minDomains"], "needs whenUnsatisfiable=DoNotSchedule")


def _in_a_group(group: Object, path: str) -> Errors:
    if "podGroupName" not in group:
        yield invalid(f"{path}.podGroupName", None, "must specify one of: `podGroupName`")


_WEIGHT = Rules(checks={"weight": formats.within(1, 100)})
_FILES = {"defaultMode": formats.file_mode}
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_SOURCES = tuple(name for name in load.shapes()["io.k8s.api.core.v1.Volume"].fields if name not in ("name", "emptyDir"))
_ENV_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_KEY = Rules(blank=("name",), checks={"name": formats.subdomain, "key": formats.config_key})
_WHOLE_OBJECT = Rules(needs=("name",), checks={"name": formats.subdomain_prefix})
_CONTAINER = Rules(
    needs=("image",),
    checks={"name": formats.label},
    values={"restartPolicy": ("Always", "Never", "OnFailure")},
    most={"restartPolicyRules": 20},
    unique={"ports": "name"},
    code=(_asks, _resizes),
)

POD = Book(
    {
        "core.v1.PodSpec": Rules(
            checks={
                "serviceAccountName": formats.subdomain,
                "nodeName": formats.subdomain,
                "hostname": formats.label,
                "subdomain": formats.label,
                "priorityClassName": formats.subdomain,
                "runtimeClassName": formats.subdomain,
                "activeDeadlineSeconds": formats.within(1, formats.LARGEST_INT32),
                "hostnameOverride": formats.subdomain,
            },
            values={
                # the shape has them too, in another order
                "restartPolicy": ("Always", "OnFailure", "Never"),
                "dnsPolicy": ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
                "preemptionPolicy": ("PreemptLowerPriority", "Never"),
            },
            unique={"resourceClaims": "name", "schedulingGates": "name"},
        ),
        # containers
        "core.v1.Container": _CONTAINER,
        "core.v1.EphemeralContainer": _CONTAINER,
        "core.v1.ContainerPort": Rules(
            needs=("containerPort",),
            checks={"name": formats.port_name, "containerPort": formats.given_port, "hostPort": formats.given_port},
        ),
        "core.v1.ContainerResizePolicy": Rules(closed=True, lacks=("resourceName", "restartPolicy")),
        "core.v1.ContainerRestartRule": Rules(
            needs=("exitCodes",), blank=("action",), values={"action": ("Restart", "RestartAllContainers")}
        ),
        "core.v1.ContainerRestartRuleOnExitCodes": Rules(
            blank=("operator",), values={"operator": ("In", "NotIn")}, most={"values": 255}
        ),
        "core.v1.EnvVar": Rules(checks={"name": formats.variable}, code=(_either_value,)),
        "core.v1.EnvVarSource": Rules(
            code=(_field(_IN_VARIABLES), _amount(in_volume=False), _exactly_one(*_ENV_SOURCES))
        ),
        "core.v1.EnvFromSource": Rules(
            checks={"prefix": formats.variable}, code=(_exactly_one("configMapRef", "secretRef"),)
        ),
        "core.v1.ConfigMapEnvSource": _WHOLE_OBJECT,
        "core.v1.SecretEnvSource": _WHOLE_OBJECT,
        "core.v1.ConfigMapKeySelector": _KEY,
        "core.v1.SecretKeySelector": _KEY,
        "core.v1.FileKeySelector": Rules(
            checks={"key": formats.variable, "volumeName": formats.label, "path": formats.without_steps_up}
        ),
        "core.v1.ObjectFieldSelector": Rules(closed=True, lacks=("fieldPath",)),
        "core.v1.ResourceFieldSelector": Rules(closed=True, lacks=("resource",)),
        "core.v1.ResourceClaim": Rules(checks={"request": formats.label}),
        "core.v1.VolumeMount": Rules(
            checks={"subPath": formats.descending, "subPathExpr": formats.descending},
            values={"recursiveReadOnly": ("Disabled", "Enabled", "IfPossible")},
            code=(_recursive,),
        ),
        "core.v1.VolumeDevice": Rules(checks={"devicePath": formats.without_steps_up}),
        "core.v1.Probe": Rules(
            one_of=_HANDLERS,
            checks={
                "initialDelaySeconds": formats.not_negative,
                "timeoutSeconds": formats.not_negative,
                "periodSeconds": formats.not_negative,
                "successThreshold": formats.not_negative,
                "failureThreshold": formats.not_negative,
                "terminationGracePeriodSeconds": formats.positive,
            },
        ),
        "core.v1.LifecycleHandler": Rules(one_of=_HANDLERS),
        "core.v1.ExecAction": Rules(needs=("command",)),
        "core.v1.HTTPGetAction": Rules(checks={"port": formats.port}),
        "core.v1.HTTPHeader": Rules(lacks=("value",), blank=("name",), checks={"name": formats.header}),
        "core.v1.TCPSocketAction": Rules(checks={"port": formats.port}),
        "core.v1.GRPCAction": Rules(checks={"port": formats.port_number}),
        # security
        "core.v1.SecurityContext": Rules(
            checks={"runAsUser": formats.identity, "runAsGroup": formats.identity}, code=(_privileges,)
        ),
        "core.v1.PodSecurityContext": Rules(
            checks={
                "runAsUser": formats.identity,
                "runAsGroup": formats.identity,
                "fsGroup": formats.identity,
                "supplementalGroups": formats.identity,
            },
            values={"seLinuxChangePolicy": ("MountOption", "Recursive")},
            unique={"sysctls": "name"},
        ),
        "core.v1.Sysctl": Rules(lacks=("value",), checks={"name": formats.sysctl}),
        "core.v1.SeccompProfile": Rules(checks={"localhostProfile": formats.descending}, code=(_profile,)),
        "core.v1.AppArmorProfile": Rules(checks={"localhostProfile": formats.unpadded}, code=(_profile,)),
        # volumes
        "core.v1.Volume": Rules(checks={"name": formats.label}, one_of=("emptyDir", *_SOURCES)),
        "core.v1.EmptyDirVolumeSource": Rules(code=(_size,)),
        "core.v1.HostPathVolumeSource": Rules(checks={"path": formats.without_steps_up}),
        "core.v1.GitRepoVolumeSource": Rules(checks={"directory": formats.descending}),
        "core.v1.SecretVolumeSource": Rules(needs=("secretName",), checks=_FILES),
        "core.v1.ConfigMapVolumeSource": Rules(needs=("name",), checks=_FILES),
        "core.v1.DownwardAPIVolumeSource": Rules(checks=_FILES),
        "core.v1.ProjectedVolumeSource": Rules(checks=_FILES, code=(_written_once,)),
        "core.v1.VolumeProjection": Rules(code=(_one_projection,)),
        "core.v1.SecretProjection": Rules(needs=("name",)),
        "core.v1.ConfigMapProjection": Rules(needs=("name",)),
        "core.v1.ServiceAccountTokenProjection": Rules(
            checks={"expirationSeconds": formats.within(600, 1 << 32), "path": formats.file_path}
        ),
        "core.v1.ClusterTrustBundleProjection": Rules(checks={"path": formats.file_path}, code=(_bundle,)),
        "core.v1.KeyToPath": Rules(checks={"path": formats.file_path, "mode": formats.file_mode}),
        "core.v1.DownwardAPIVolumeFile": Rules(
            checks={"path": formats.file_path, "mode": formats.file_mode},
            code=(_field(_IN_FILES), _amount(in_volume=True), _file_source),
        ),
        "core.v1.NFSVolumeSource": Rules(blank=("path",), checks={"path": formats.absolute}),
        "core.v1.CSIVolumeSource": Rules(code=(_driver,)),
        "core.v1.ImageVolumeSource": Rules(needs=("reference",)),
        "core.v1.EphemeralVolumeSource": Rules(needs=("volumeClaimTemplate",)),
        "core.v1.PersistentVolumeClaimTemplate": Rules(code=(_claim_template,)),
        "core.v1.PersistentVolumeClaimSpec": Rules(
            needs=("accessModes",),
            checks={"storageClassName": formats.subdomain_or_none},
            values={"accessModes": ()},
            code=(_claim,),
        ),
        # where a pod may go
        "core.v1.NodeSelector": Rules(code=(_node_selector,)),
        "core.v1.NodeSelectorTerm": Rules(closed=True, code=(_node_term,)),
        "core.v1.PreferredSchedulingTerm": _WEIGHT,
        "core.v1.WeightedPodAffinityTerm": _WEIGHT,
        "core.v1.PodAffinityTerm": Rules(checks={"namespaces": formats.label}, code=(_topology, _own_labels)),
        "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector": Rules(closed=True, code=(selector_errors,)),
        "core.v1.Toleration": Rules(values={"operator": ()}, code=(toleration_errors,)),
        "core.v1.TopologySpreadConstraint": Rules(
            blank=("whenUnsatisfiable",),
            checks={"maxSkew": formats.positive, "minDomains": formats.positive},
            code=(_least_domains, _own_labels),
        ),
        "core.v1.PodReadinessGate": Rules(blank=("conditionType",), checks={"conditionType": formats.qualified}),
        "core.v1.PodSchedulingGate": Rules(blank=("name",), checks={"name": formats.qualified}),
        "core.v1.PodSchedulingGroup": Rules(checks={"podGroupName": formats.subdomain}, code=(_in_a_group,)),
        "core.v1.PodResourceClaim": Rules(
            checks={
                "name": formats.label,
                "resourceClaimName": formats.subdomain,
                "resourceClaimTemplateName": formats.subdomain,
            },
            code=(_exactly_one("resourceClaimName", "resourceClaimTemplateName"),),
        ),
        # names and addresses
        "core.v1.HostAlias": Rules(blank=("ip",), checks={"ip": formats.address, "hostnames": formats.subdomain}),
        "core.v1.PodDNSConfig": Rules(checks={"nameservers": formats.address, "searches": formats.search_domain}),
        "core.v1.PodDNSConfigOption": Rules(needs=("name",)),
    }
)
"""For specs of pods, and of the templates that others hold."""
