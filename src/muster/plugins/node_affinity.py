"""NodeAffinity: nodeSelector, required and preferred node affinity, evaluated on label columns."""

from __future__ import annotations

import numpy as np

from muster.base.selectors import NodeSelector, NodeSelectorTerm, Requirement
from muster.base.selectors import matches as requirement_matches
from muster.cluster.classes import NodeRules
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.usage import Ints
from muster.framework.contract import Bools, RuleFilter, RuleScore

NOT_NAMED = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
CONFLICT = "pod affinity terms conflict"
_NAME = "metadata.name"


class NodeAffinity(RuleFilter, RuleScore):
    name = "NodeAffinity"
    reason = "node(s) didn't match Pod's node affinity/selector"
    reverse = False

    def admits(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Bools:
        admitted = np.ones(nodes.capacity if rows is None else len(rows), np.bool_)
        for key, value in rules.selector:
            admitted &= _has_value(nodes, key, value, rows)
        if rules.required is not None:
            some_term = np.zeros_like(admitted)
            for term in rules.required.node_selector_terms:
                some_term |= _term_matches(term, nodes, rows)
            admitted &= some_term
        return admitted

    def left_out(self, rules: NodeRules, nodes: NodeTable, rows: Rows) -> list[tuple[str, Bools]]:
        names = _names(rules.required)
        if names is None:
            return []
        named = [nodes.rows[name] for name in names if name in nodes.rows]
        return [(NOT_NAMED if names else CONFLICT, ~np.isin(rows, named))]

    def raw(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Ints | None:
        if not rules.preferred:
            return None
        total = np.zeros(nodes.capacity if rows is None else len(rows), np.int64)
        for wish in rules.preferred:
            total += wish.weight * _term_matches(wish.preference, nodes, rows)
        return total


def _names(required: NodeSelector | None) -> set[str] | None:
    """The nodes that are left where every term names some; None where one does not."""
    found: set[str] = set()
    for term in required.node_selector_terms if required is not None else ():
        listed = [set(one.values) for one in term.match_fields if one.key == _NAME and one.operator == "In"]
        if not listed:
            return None
        found |= set.intersection(*listed)
    return found if required is not None and required.node_selector_terms else None


def _term_matches(term: NodeSelectorTerm, nodes: NodeTable, rows: Rows | None) -> Bools:
    matched = np.ones(nodes.capacity if rows is None else len(rows), np.bool_)
    if not term.match_expressions and not term.match_fields:
        return ~matched
    for requirement in term.match_expressions:
        matched &= _label_matches(requirement, nodes, rows)
    for requirement in term.match_fields:
        matched &= _name_matches(requirement, nodes, rows)
    return matched


def _label_matches(requirement: Requirement, nodes: NodeTable, rows: Rows | None) -> Bools:
    """Judges each distinct value of the label once; the nodes look their value up."""
    if requirement.operator == "In" and len(requirement.values) == 1:
        return _has_value(nodes, requirement.key, requirement.values[0], rows)
    return nodes.labels.column(requirement.key).look_up(
        lambda value: requirement_matches((requirement,), {requirement.key: value}),
        rows,
        missing=np.bool_(requirement_matches((requirement,), {})),
    )


def _has_value(nodes: NodeTable, key: str, value: str, rows: Rows | None) -> Bools:
    column = nodes.labels.column(key)
    # -1 is nobody's value: no node has this one
    wanted = column.values.get(value, -1)
    matched: Bools = (column.ids if rows is None else column.ids[rows]) == wanted
    return matched


def _name_matches(requirement: Requirement, nodes: NodeTable, rows: Rows | None) -> Bools:
    """matchFields knows one field, metadata.name, In or NotIn one name; anything else matches nothing."""
    asked = np.arange(nodes.capacity) if rows is None else rows
    known = requirement.key == _NAME and requirement.operator in ("In", "NotIn")
    if not known or len(requirement.values) != 1:
        return np.zeros(len(asked), np.bool_)
    named: Bools = asked == nodes.rows.get(requirement.values[0], -1)
    return named if requirement.operator == "In" else ~named
