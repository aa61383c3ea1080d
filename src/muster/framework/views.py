"""What a profile makes of every node for one pod class: how many copies it takes, and how good the next is.

Views are kept between decisions and repaired row by row from the change logs: a decision touches a few rows
of thousands, so a view that is used often costs what changed since, not what there is.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from muster.cluster.classes import NodeRules, PodClass
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.usage import Ints, Usage
from muster.framework.contract import MAX_SCORE, Bools, RuleScore
from muster.framework.profile import Profile

# key = score · 2^PRECEDENCE_BITS + precedence: one argmax finds the best node and breaks ties by name
PRECEDENCE_BITS = 20

# 16 bytes a node and class: 64 MB hold 800 classes on 5,000 nodes
_VIEW_BYTES = 64 * 1024 * 1024


class RulesView:
    """Which nodes a set of rules admits, and their raw rule scores; changes only with the nodes themselves."""

    __slots__ = ("admitted", "capacity", "raw", "seen")

    def __init__(self) -> None:
        self.admitted: Bools = np.zeros(0, np.bool_)
        self.raw: list[tuple[RuleScore, int, Ints]] = []
        """(plugin, weight, raw score by row), for plugins that tell nodes apart."""
        self.seen = -1
        self.capacity = -1


class ClassView:
    """One class on all nodes.  `copies` is 0 on nodes that refuse it; `key` is -1 there."""

    __slots__ = ("copies", "epoch", "key", "peaks", "pod_class", "rules", "score", "seen")

    def __init__(self, pod_class: PodClass, rules: RulesView) -> None:
        self.pod_class = pod_class
        self.rules = rules
        self.copies: Ints = np.zeros(0, np.int64)
        self.score: Ints = self.copies
        """Weighted room scores of the next copy; rule scores are not in it."""
        self.key: Ints = self.copies
        """Order of nodes for the next copy, all scores included; unique on nodes that take one."""
        self.peaks: tuple[int, ...] = ()
        """Highest raw rule score among the nodes that take a copy, for each of rules.raw."""
        self.seen = -1
        self.epoch = -1


class Views:
    """The views of one profile on one node table."""

    def __init__(self, profile: Profile, nodes: NodeTable) -> None:
        self._profile = profile
        self._nodes = nodes
        self._rules: dict[NodeRules, RulesView] = {}
        self._classes: OrderedDict[PodClass, ClassView] = OrderedDict()

    # --- what the engine asks ---

    @property
    def precedence(self) -> Ints:
        """Order among nodes that are equal otherwise."""
        return self._nodes.precedence

    def of(self, pod_class: PodClass) -> ClassView:
        """The class's view, up to date with the nodes as they are."""
        view = self._classes.get(pod_class)
        if view is None:
            view = self._classes[pod_class] = ClassView(pod_class, self.rules(pod_class.rules))
            while len(self._classes) > max(16, _VIEW_BYTES // (16 * max(1, self._nodes.capacity))):
                self._classes.popitem(last=False)
        else:
            self._classes.move_to_end(pod_class)
        self._refresh(view)
        return view

    def on_trial(self, pod_class: PodClass, trial: Usage) -> ClassView:
        """A view of the class on a trial copy of the usage; belongs to the caller."""
        base = self.of(pod_class)
        view = ClassView(pod_class, base.rules)
        view.copies, view.score, view.key = base.copies.copy(), base.score.copy(), base.key.copy()
        view.peaks, view.epoch = base.peaks, base.epoch
        changed = trial.log.since(0)
        if changed is None:
            self._compute(view, trial)
        elif changed:
            self.repair(view, trial, np.array(changed, np.intp))
        return view

    def rules(self, rules: NodeRules) -> RulesView:
        """Up to date with the nodes as they are."""
        view = self._rules.get(rules)
        if view is None:
            view = self._rules[rules] = RulesView()
        log, nodes = self._nodes.described, self._nodes
        if view.seen == log.end:
            return view
        changed = log.since(view.seen) if view.capacity == nodes.capacity else None
        if changed is None or len(changed) * 8 > nodes.capacity:
            self._compute_rules(rules, view)
        else:
            self._repair_rules(rules, view, np.array(changed, np.intp))
        view.seen, view.capacity = log.end, nodes.capacity
        return view

    def copies_on(self, pod_class: PodClass, usage: Usage) -> Ints:
        """Copies that every node would take with another usage than the present one."""
        return self._copies(ClassView(pod_class, self.rules(pod_class.rules)), usage, None)

    def room_score(
        self, pod_class: PodClass, usage: Usage, *, rows: Rows | None, copies: Ints | int = 0
    ) -> Ints:
        """Weighted sum of the room scores of one more pod where `copies` are there already."""
        total: Ints | int = 0
        for plugin, weight in self._profile.room_scores:
            part = plugin.score(pod_class, self._nodes, usage, rows=rows, copies=copies)
            total = total + (part if weight == 1 else weight * part)
        if isinstance(total, int):
            total = np.full(self._nodes.capacity if rows is None else len(rows), total, np.int64)
        return total

    def rule_score(self, view: ClassView, rows: Rows | None) -> Ints | int:
        """Weighted sum of the normalised rule scores, by the view's present peaks."""
        total: Ints | int = 0
        for (plugin, weight, raw), peak in zip(view.rules.raw, view.peaks, strict=True):
            asked = raw if rows is None else raw[rows]
            part = asked * MAX_SCORE // peak if peak else np.zeros(len(asked), np.int64)
            total = total + weight * (MAX_SCORE - part if plugin.reverse else part)
        return total

    # --- keeping them up to date ---

    def _refresh(self, view: ClassView) -> None:
        nodes = self._nodes
        log = nodes.usage.log
        rules = self.rules(view.pod_class.rules)
        if view.epoch != nodes.order_epoch or len(view.key) != nodes.capacity:
            changed = None
        else:
            changed = log.since(view.seen)
        if changed is None or len(changed) * 2 > nodes.capacity:
            view.rules = rules
            self._compute(view, nodes.usage)
        elif changed:
            self.repair(view, nodes.usage, np.array(changed, np.intp))
        view.seen = log.end

    def _compute(self, view: ClassView, usage: Usage) -> None:
        view.copies = self._copies(view, usage, None)
        view.score = self.room_score(view.pod_class, usage, rows=None)
        view.peaks = _peaks(view)
        view.key = self._key(view, None)
        view.epoch = self._nodes.order_epoch

    def repair(self, view: ClassView, usage: Usage, rows: Rows) -> None:
        """Brings `rows` up to date; the order may repeat a row."""
        view.copies[rows] = self._copies(view, usage, rows)
        view.score[rows] = self.room_score(view.pod_class, usage, rows=rows)
        if view.rules.raw:
            peaks = _peaks(view)
            if peaks != view.peaks:
                # the last node with the highest raw score filled up, or one came: all are rated anew
                view.peaks = peaks
                view.key = self._key(view, None)
                return
        view.key[rows] = self._key(view, rows)

    def _copies(self, view: ClassView, usage: Usage, rows: Rows | None) -> Ints:
        admitted = view.rules.admitted if rows is None else view.rules.admitted[rows]
        copies: Ints | None = None
        for plugin in self._profile.room_filters:
            limit = plugin.copies(view.pod_class, self._nodes, usage, rows)
            if limit is not None:
                copies = limit if copies is None else np.minimum(copies, limit)
        assert copies is not None, "a profile needs a filter that limits copies"
        return copies * admitted

    def _key(self, view: ClassView, rows: Rows | None) -> Ints:
        score, copies, precedence = view.score, view.copies, self._nodes.precedence
        if rows is not None:
            score, copies, precedence = score[rows], copies[rows], precedence[rows]
        key = score + self.rule_score(view, rows) if view.rules.raw else score.copy()
        key <<= PRECEDENCE_BITS
        key += precedence
        key[copies <= 0] = -1
        return key

    def _compute_rules(self, rules: NodeRules, view: RulesView) -> None:
        admitted = np.ones(self._nodes.capacity, np.bool_)
        for plugin in self._profile.rule_filters:
            admitted &= plugin.admits(rules, self._nodes, None)
        view.admitted = admitted
        view.raw = []
        for scorer, weight in self._profile.rule_scores:
            raw = scorer.raw(rules, self._nodes, None)
            # where all nodes are equal the score is a constant, which no choice depends on
            if raw is not None and raw.any():
                view.raw.append((scorer, weight, raw))

    def _repair_rules(self, rules: NodeRules, view: RulesView, rows: Rows) -> None:
        admitted = np.ones(len(rows), np.bool_)
        for plugin in self._profile.rule_filters:
            admitted &= plugin.admits(rules, self._nodes, rows)
        view.admitted[rows] = admitted
        known = {scorer.name: raw for scorer, _, raw in view.raw}
        for scorer, _ in self._profile.rule_scores:
            raw = scorer.raw(rules, self._nodes, rows)
            if scorer.name in known and raw is not None:
                known[scorer.name][rows] = raw
            elif raw is not None and raw.any():
                self._compute_rules(rules, view)
                return


def _peaks(view: ClassView) -> tuple[int, ...]:
    if not view.rules.raw:
        return ()
    takes = view.copies > 0
    return tuple(int(np.max(raw, where=takes, initial=0)) for _, _, raw in view.rules.raw)
