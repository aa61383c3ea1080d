"""Which labels a selector takes: label selectors of pods and namespaces, node selectors of nodes."""

from collections.abc import Callable, Mapping
from typing import Any

Document = dict[str, Any]
Labels = Mapping[str, str]

_INT64 = range(-(2**63), 2**63)


def requirement_matches(requirement: Document, labels: Labels) -> bool:
    """One requirement of either kind; Gt and Lt are for nodes only."""
    key, values = requirement["key"], requirement.get("values") or []
    match requirement["operator"]:
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case "Gt":
            return _compared(labels.get(key), values, lambda left, right: left > right)
        case "Lt":
            return _compared(labels.get(key), values, lambda left, right: left < right)
    raise ValueError(f"no such operator: {requirement['operator']}")


def _compared(label: str | None, values: list[str], holds: Callable[[int, int], bool]) -> bool:
    if label is None or len(values) != 1:
        return False
    left, right = _whole(label), _whole(values[0])
    return left is not None and right is not None and holds(left, right)


def _whole(text: str) -> int | None:
    """As Go's ParseInt reads it: a sign and digits, no blanks or underscores, 64 bits."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    return int(text) if int(text) in _INT64 else None


class Selector:
    """A LabelSelector as the scheduler has it: null takes nothing, one without requirements takes everything."""

    def __init__(self, document: Document | None) -> None:
        self._takes_nothing = document is None
        equal = (document or {}).get("matchLabels") or {}
        self._requirements: list[Document] = [
            *({"key": key, "operator": "In", "values": [value]} for key, value in equal.items()),
            *((document or {}).get("matchExpressions") or []),
        ]

    @property
    def is_empty(self) -> bool:
        """Takes everything because it asks for nothing."""
        return not self._takes_nothing and not self._requirements

    def matches(self, labels: Labels) -> bool:
        if self._takes_nothing:
            return False
        return all(requirement_matches(each, labels) for each in self._requirements)

    def also(self, equal: Labels) -> "Selector":
        """This one with more labels to be equal; one that takes nothing stays what it is."""
        if self._takes_nothing:
            return self
        more = Selector({"matchLabels": dict(equal)})
        more._requirements += self._requirements
        return more

    def both(self, other: "Selector") -> "Selector":
        """Takes what both take; one that takes nothing has no requirements to add."""
        together = Selector({})
        together._requirements = [*self._requirements, *other._requirements]
        return together


def node_term_matches(term: Document, name: str, labels: Labels) -> bool:
    """A NodeSelectorTerm; an empty one takes no node."""
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    about_name = {"metadata.name": name}
    return all(requirement_matches(each, labels) for each in expressions) and all(
        requirement_matches(each, about_name) for each in fields
    )


def node_is_required(spec: Document, name: str, labels: Labels) -> bool:
    """spec.nodeSelector and the required node affinity of a pod allow this node."""
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    required = node_affinity(spec).get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or any(node_term_matches(term, name, labels) for term in required["nodeSelectorTerms"])


def node_affinity(spec: Document) -> Document:
    return (spec.get("affinity") or {}).get("nodeAffinity") or {}
