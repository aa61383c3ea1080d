"""Where a pod may go: affinity, tolerations, spreading, gates, its group.  Taints of nodes are here too."""

from __future__ import annotations

from collections.abc import Sequence

from muster.local.checks.fields import FieldError, duplicate, forbidden, invalid, not_supported, required
from muster.local.checks.metadata import selector_errors
from muster.local.codec.values import Object
from muster.local.kinds import internal
from muster.local.kinds.pods.formats import Errors, each, label, label_value, one_of, positive, qualified, subdomain

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION = ("Honor", "Ignore")


def affinity(found: Object, path: str) -> Errors:
    if "nodeAffinity" in found:
        yield from _node_affinity(found["nodeAffinity"], f"{path}.nodeAffinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        if kind in found:
            yield from _pod_affinity(found[kind], f"{path}.{kind}")


def _node_affinity(found: Object, path: str) -> Errors:
    if _REQUIRED in found:
        yield from _node_selector(found[_REQUIRED], f"{path}.{_REQUIRED}")
    for index, term in enumerate(found.get(_PREFERRED, ())):
        at = f"{path}.{_PREFERRED}[{index}]"
        yield from _weight(term, at)
        yield from _node_term(term.get("preference", {}), f"{at}.preference", check_values=False)


def _node_selector(selector: Object, path: str) -> Errors:
    """Of nodes: one term must match."""
    terms = selector.get("nodeSelectorTerms")
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms or ()):
        yield from _node_term(term, f"{path}.nodeSelectorTerms[{index}]", check_values=True)


def _node_term(term: Object, path: str, *, check_values: bool) -> Errors:
    """One term; the values of a preference are not looked at."""
    for index, one in enumerate(term.get("matchExpressions", ())):
        at = f"{path}.matchExpressions[{index}]"
        if one.get("operator") in ("Gt", "Lt"):
            if len(one.get("values", ())) != 1:
                words = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                yield required(f"{at}.values", words)
        else:
            yield from _operator(one, at)
        yield from _key_and_values(one, at, check_values=check_values)
    for index, one in enumerate(term.get("matchFields", ())):
        yield from _node_field(one, f"{path}.matchFields[{index}]")


def _operator(one: Object, path: str) -> Errors:
    operator = one.get("operator", "")
    if operator in ("In", "NotIn"):
        if not one.get("values"):
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if one.get("values"):
            words = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden(f"{path}.values", words)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")


def _key_and_values(one: Object, path: str, *, check_values: bool) -> Errors:
    yield from label_key(f"{path}.key", one.get("key", ""))
    for index, value in enumerate(one.get("values", ()) if check_values else ()):
        yield from each(f"{path}.values[{index}]", value, label_value(value))


def _node_field(one: Object, path: str) -> Errors:
    """A node can be chosen by one field, its name."""
    operator, values = one.get("operator", ""), one.get("values", ())
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        words = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", words)
    if one.get("key") != "metadata.name":
        yield invalid(f"{path}.key", one.get("key", ""), "not a valid field selector key")
    else:
        for index, value in enumerate(values):
            yield from each(f"{path}.values[{index}]", value, subdomain(value))


def _pod_affinity(found: Object, path: str) -> Errors:
    for index, term in enumerate(found.get(_REQUIRED, ())):
        yield from _pod_term(term, f"{path}.{_REQUIRED}[{index}]")
    for index, weighted in enumerate(found.get(_PREFERRED, ())):
        at = f"{path}.{_PREFERRED}[{index}]"
        yield from _weight(weighted, at)
        yield from _pod_term(weighted.get("podAffinityTerm", {}), f"{at}.podAffinityTerm")


def label_key(path: str, key: str) -> Errors:
    return each(path, key, qualified(key))


def _weight(term: Object, path: str) -> Errors:
    if not 1 <= term.get("weight", 0) <= 100:
        yield invalid(f"{path}.weight", term.get("weight", 0), "must be in the range 1-100")


def _pod_term(term: Object, path: str) -> Errors:
    for key in ("labelSelector", "namespaceSelector"):
        if key in term:
            yield from selector_errors(term[key], f"{path}.{key}")
    for name in term.get("namespaces", ()):
        yield from each(f"{path}.namespace", name, label(name))
    yield from _label_keys(term, path)
    topology = term.get("topologyKey", "")
    if not topology:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from label_key(f"{path}.topologyKey", topology)


def _label_keys(holder: Object, path: str) -> Errors:
    """Of labels whose values are taken from the pod itself: they are in the selector by now, once."""
    selector = holder.get("labelSelector")
    for kind in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = holder.get(kind, ())
        if keys and selector is None:
            yield forbidden(f"{path}.{kind}", "must not be specified when labelSelector is not set")
        else:
            for index, key in enumerate(keys):
                yield from label_key(f"{path}.{kind}[{index}]", key)
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


def tolerations(listed: list[Object], path: str) -> Errors:
    for index, one in enumerate(listed):
        at = f"{path}[{index}]"
        if one.get("key"):
            yield from label_key(f"{at}.key", one["key"])
        elif one.get("operator") != "Exists":
            words = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield invalid(f"{at}.operator", one.get("operator", ""), words)
        if "tolerationSeconds" in one and one.get("effect") != "NoExecute":
            words = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield invalid(f"{at}.effect", one.get("effect", ""), words)
        yield from _toleration_value(one, f"{at}.operator")
        if one.get("effect"):
            yield from one_of(f"{at}.effect", one["effect"], EFFECTS)


def _toleration_value(one: Object, path: str) -> Errors:
    operator, value = one.get("operator", "Equal"), one.get("value", "")
    if operator == "Equal":
        if label_value(value):
            yield invalid(path, value, ";".join(label_value(value)))
    elif operator == "Exists":
        if value:
            yield invalid(path, value, "value must be empty when `operator` is 'Exists'")
    elif operator in ("Lt", "Gt"):
        # the gate for these is off: Kubernetes names them and refuses them all the same
        yield not_supported(path, operator, ("Equal", "Exists", "Lt", "Gt"))
    else:
        yield not_supported(path, operator, ("Equal", "Exists"))


def taints(listed: list[Object], path: str) -> Errors:
    """Of a node."""
    seen: set[tuple[str, str]] = set()
    for index, one in enumerate(listed):
        at, key, value = f"{path}[{index}]", one.get("key", ""), one.get("value", "")
        effect = one.get("effect", "")
        yield from label_key(f"{at}.key", key)
        if label_value(value):
            yield invalid(f"{at}.value", value, ";".join(label_value(value)))
        yield from one_of(f"{at}.effect", effect, EFFECTS)
        if (key, effect) in seen:
            twice = duplicate(at, internal.shown("Taint", one))
            yield FieldError(twice.why, at, f"{twice.message}: taints must be unique by key and effect pair")
        seen.add((key, effect))


def spread(listed: list[Object], path: str) -> Errors:
    """Of topologySpreadConstraints."""
    for index, one in enumerate(listed):
        at, action = f"{path}[{index}]", one.get("whenUnsatisfiable", "")
        yield from positive(f"{at}.maxSkew", one.get("maxSkew", 0))
        if not one.get("topologyKey"):
            yield required(f"{at}.topologyKey", "can not be empty")
        if action not in _ACTIONS:
            yield not_supported(f"{at}.whenUnsatisfiable", action, _ACTIONS)
        yield from _repeated(one, listed[index + 1 :], at)
        yield from _least_domains(one, f"{at}.minDomains")
        for key in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if one.get(key, "Honor") not in _INCLUSION:
                yield not_supported(f"{at}.{key}", one[key], _INCLUSION)
        yield from _label_keys(one, at)
        if "labelSelector" in one:
            yield from selector_errors(one["labelSelector"], f"{at}.labelSelector")


def _repeated(one: Object, others: Sequence[Object], path: str) -> Errors:
    pair = (one.get("topologyKey", ""), one.get("whenUnsatisfiable", ""))
    if pair in [(other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")) for other in others]:
        yield duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", f"{{{pair[0]}, {pair[1]}}}")


def _least_domains(one: Object, path: str) -> Errors:
    least, action = one.get("minDomains"), one.get("whenUnsatisfiable", "")
    if least is None:
        return
    yield from positive(path, least)
    if action != "DoNotSchedule":
        yield invalid(path, least, f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}")


def gates(listed: list[Object], path: str) -> Errors:
    """Of schedulingGates."""
    seen: set[str] = set()
    for index, one in enumerate(listed):
        name = one.get("name", "")
        yield from each(f"{path}[{index}]", name, qualified(name))
        if name in seen:
            yield duplicate(f"{path}[{index}]", name)
        seen.add(name)


def group(found: Object, path: str) -> Errors:
    """Of schedulingGroup."""
    name = found.get("podGroupName")
    if name is None:
        yield invalid(f"{path}.podGroupName", None, "must specify one of: `podGroupName`")
    else:
        yield from each(f"{path}.podGroupName", name, subdomain(name))
