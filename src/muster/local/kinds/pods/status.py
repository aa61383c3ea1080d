"""The status of a pod: what a kubelet or a scheduler may write into it."""

from __future__ import annotations

from collections.abc import Iterable

from muster.local.checks.fields import FieldError, forbidden, invalid
from muster.local.checks.metadata import not_negative, unchanged
from muster.local.codec.values import Object
from muster.local.kinds.pods.formats import address, each, identity, qualified, subdomain, too_many_families, within
from muster.local.kinds.pods.spec import containers
from muster.local.kinds.pods.updates import annotation_changes
from muster.local.kinds.rules import Errors, repeated

_OWN_CONDITIONS = frozenset({"PodScheduled", "Ready", "Initialized"})
_UID = within(0, 2**32 - 1)
_STATUS_LISTS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
# a client that does not know these leaves them out; it does not mean to clear them
_KEPT = ("resourceClaimStatuses", "extendedResourceClaimStatus", "observedGeneration")


def keep_old(new: Object, old: Object) -> None:
    """What a status update leaves out and does not mean to clear stays."""
    if not new.get("qosClass") and "qosClass" in old:
        new["qosClass"] = old["qosClass"]
    for key in _KEPT:
        if key not in new and key in old:
            new[key] = old[key]
    _keep_generations(new.get("conditions", ()), old.get("conditions", ()))


def _keep_generations(new: Iterable[Object], old: Iterable[Object]) -> None:
    """Conditions of one type may be there several times: they are matched in their order."""
    before: dict[str, list[int]] = {}
    for one in old:
        before.setdefault(one.get("type", ""), []).append(one.get("observedGeneration", 0))
    for one in new:
        known = before.get(one.get("type", ""))
        generation = known.pop(0) if known else 0
        if generation and not one.get("observedGeneration"):
            one["observedGeneration"] = generation


def status_errors(new: Object, old: Object) -> list[FieldError]:
    """Of a pod whose status changes, its metadata aside."""
    status, before, spec = new.get("status", {}), old.get("status", {}), old["spec"]
    errors = list(annotation_changes(new, old))
    errors += _conditions(status.get("conditions", ()))
    errors += _nomination(status.get("nominatedNodeName", ""), before.get("nominatedNodeName", ""), spec)
    errors += not_negative(status.get("observedGeneration"), "status.observedGeneration")
    errors += unchanged(status.get("qosClass", ""), before.get("qosClass", ""), "status.qosClass")
    errors += _transitions(status, before, spec)
    errors += _claims(status.get("resourceClaimStatuses", ()), spec.get("resourceClaims", ()))
    # the single address of a pod and the list agree by now: both are filled in from each other
    errors += _addresses(status, before, "podIPs")
    errors += _addresses(status, before, "hostIPs")
    if status.get("hostIPs") and status.get("hostIP", "") != status["hostIPs"][0].get("ip", ""):
        errors.append(invalid("status.hostIPs[0].ip", status["hostIPs"][0].get("ip", ""), "must be equal to `hostIP`"))
    for kind in _STATUS_LISTS:
        errors += _users(status.get(kind, ()), f"status.{kind}", spec.get("os", {}).get("name", "linux"))
    return errors


def _conditions(listed: Iterable[Object]) -> Errors:
    for index, one in enumerate(listed):
        at = f"status.conditions[{index}]"
        yield from not_negative(one.get("observedGeneration"), f"{at}.observedGeneration")
        if one.get("type", "") not in _OWN_CONDITIONS:
            yield from each(f"{at}.Type", one.get("type", ""), qualified(one.get("type", "")))


def _nomination(node: str, before: str, spec: Object) -> Errors:
    if not node or node == before:
        return
    yield from each("status.nominatedNodeName", node, subdomain(node))
    if spec.get("nodeName"):
        yield forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node")


def _transitions(status: Object, before: Object, spec: Object) -> Errors:
    """What has ended begins again only if the pod's policy restarts it."""
    restarts_all = any(
        rule.get("action") == "RestartAllContainers"
        for container in containers(spec, "initContainers", "containers")
        for rule in container.get("restartPolicyRules", ())
    )
    for kind, of_spec in zip(_STATUS_LISTS, ("containers", "initContainers", ""), strict=True):
        if restarts_all and of_spec:
            continue
        running = {one.get("name") for one in status.get(kind, ()) if "terminated" not in one.get("state", {})}
        known = {one.get("name"): one for one in spec.get(of_spec) or ()}
        for index, one in enumerate(before.get(kind, ())):
            ended = one.get("state", {}).get("terminated")
            if ended is None or one.get("name") not in running:
                continue
            container = known.get(one.get("name"))
            if container is None or not _restarts(container, spec, ended.get("exitCode", 0)):
                yield forbidden(f"status.{kind}[{index}].state", "may not be transitioned to non-terminated state")


def _restarts(container: Object, spec: Object, code: int) -> bool:
    policy = container.get("restartPolicy")
    if policy is not None and any(_applies(rule, code) for rule in container.get("restartPolicyRules", ())):
        return True
    policy = str(policy or spec.get("restartPolicy", "Always"))
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _applies(rule: Object, code: int) -> bool:
    codes = rule.get("exitCodes", {})
    return bool((code in codes.get("values", ())) == (codes.get("operator") == "In"))


def _claims(listed: Iterable[Object], claims: Iterable[Object]) -> Errors:
    known = {one.get("name", "") for one in claims}
    yield from repeated(listed, "name", "status.resourceClaimStatuses")
    for index, one in enumerate(listed):
        at, name = f"status.resourceClaimStatuses[{index}]", one.get("name", "")
        if name not in known:
            yield invalid(f"{at}.name", name, "must match the name of an entry in `spec.resourceClaims`")
        claim = one.get("resourceClaimName")
        if claim is not None:
            yield from each(f"{at}.resourceClaimName", claim, subdomain(claim))


def _addresses(status: Object, before: Object, key: str) -> Errors:
    listed = status.get(key, [])
    known = {one.get("ip", "") for one in before.get(key, ())}
    found = [one.get("ip", "") for one in listed]
    for index, one in enumerate(found):
        if one not in known:
            yield from each(f"status.{key}[{index}]", one, address(one))
    if too_many_families(found):
        yield invalid(f"status.{key}", listed, "may specify no more than one IP for each IP family")


def _users(listed: Iterable[Object], path: str, system: str) -> Errors:
    for index, one in enumerate(listed):
        user = one.get("user", {}).get("linux")
        if user is None:
            continue
        at = f"{path}[{index}].user.linux"
        if system == "windows":
            yield forbidden(at, "cannot be set for a windows pod")
            continue
        yield from each(f"{at}.uid", user.get("uid", 0), _UID(user.get("uid", 0)))
        yield from each(f"{at}.gid", user.get("gid", 0), identity(user.get("gid", 0)))
        for place, group in enumerate(user.get("supplementalGroups", ())):
            yield from each(f"{at}.supplementalGroups[{place}]", group, identity(group))
