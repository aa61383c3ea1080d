"""What a profile makes of every node for one pod class: how many copies it takes, and how good the next is.

Views are kept between decisions and repaired row by row from the change logs: a decision touches a few rows
of thousands, so a view that is used often costs what changed since, not what there is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from muster.cluster.classes import Lines, NodeRules, PodClass
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.room import Room
from muster.cluster.usage import Ints, Usage
from muster.framework.contract import MAX_SCORE, Bools, Capacity, Outlook, RuleScore, Wide
from muster.framework.profile import Profile, Profiles

# rating = score · 1024 + tie-break; key = rating · 2^20 + precedence: one argmax finds the best node, and names
# decide among equals
TIE_BREAK_BITS = 10
PRECEDENCE_BITS = 20

# the views of 200 classes on 5,000 nodes, of 100 on 10,000
_TABLE_BYTES = 16 * 1024 * 1024
_LINES_KEPT = 16
_NEVER = -1
_RULES_KEPT = 10_000
CLASSES_AT_ONCE = 64
"""So many views may be in use while others are asked for."""


class RulesView:
    """Which nodes a set of rules admits, and their raw rule scores; changes only with the nodes themselves."""

    __slots__ = ("admitted", "capacity", "generation", "profile", "raw", "seen")

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.admitted: Bools = np.zeros(0, np.bool_)
        self.raw: list[tuple[RuleScore, int, Ints]] = []
        """(plugin, weight, raw score by row), for plugins that tell nodes apart."""
        self.generation = 0
        """Changes when `raw` may tell all nodes apart in another way."""
        self.seen = -1
        self.capacity = -1


class ClassView:
    """One class on all nodes.  On nodes that refuse it `copies` and `key` are 0."""

    __slots__ = (
        "adds_up",
        "blocked",
        "copies",
        "epoch",
        "fixed",
        "fixed_epoch",
        "generation",
        "key",
        "peaks",
        "pod_class",
        "rules",
        "seen",
        "slot",
    )

    def __init__(self, pod_class: PodClass, rules: RulesView, *, copies: Ints, key: Ints, slot: int = -1) -> None:
        self.pod_class = pod_class
        self.rules = rules
        self.slot = slot
        """Its line in the table of views."""
        self.adds_up = False
        """Of a node only resources and its own facts matter to the class."""
        self.copies = copies
        self.key = key
        """Order of nodes for the next copy, all scores included; unique on nodes that take one."""
        self.peaks: tuple[int, ...] = ()
        """Highest raw rule score among the nodes that take a copy, for each of rules.raw."""
        self.fixed: NDArray[np.int16] | None = None
        """What scores by facts of all nodes add up to, by row; None where they do not concern the class."""
        self.fixed_epoch: tuple[tuple[int, ...], ...] | None = None
        """Of the nodes, in those scores' eyes; None for one that they do not concern."""
        self.blocked: Bools | None = None
        """Rows that may not be used, whatever room they have; on trials only."""
        self.seen = -1
        self.epoch = _NEVER
        self.generation = -1


class _Table:
    """The views' numbers, a line for each view, so that many can be read and written at once."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        # 16 bytes a node and class; at least as many as somebody may use at once
        most = max(2 * CLASSES_AT_ONCE, _TABLE_BYTES // (16 * max(64, capacity)))
        # touched only when used: a view is computed before it is read, and clearing all took 5 ms
        self.keys: Ints = np.empty((most, capacity), np.int64)
        self.copies: Ints = np.empty((most, capacity), np.int64)
        self.views: OrderedDict[PodClass, ClassView] = OrderedDict()
        """Least recently used first."""
        self._vacant = iter(range(most))

    def add(self, pod_class: PodClass, rules: RulesView) -> ClassView:
        slot = next(self._vacant, None)
        if slot is None:
            slot = self.views.popitem(last=False)[1].slot
        view = ClassView(pod_class, rules, copies=self.copies[slot], key=self.keys[slot], slot=slot)
        self.views[pod_class] = view
        return view


class Views:
    """What profiles make of one node table."""

    def __init__(self, profiles: Profiles | Profile, nodes: NodeTable) -> None:
        self._profiles = profiles if isinstance(profiles, Profiles) else Profiles(profiles)
        self._nodes = nodes
        self._rules: dict[NodeRules, RulesView] = {}
        self._table = _Table(nodes.capacity)
        self._lines: OrderedDict[tuple[PodClass, ...], Lines] = OrderedDict()

    # --- what the engine asks ---

    @property
    def precedence(self) -> Ints:
        """Order among nodes that are equal otherwise."""
        return self._nodes.precedence

    def of(self, pod_class: PodClass) -> ClassView:
        """The class's view, up to date with the nodes as they are."""
        if self._table.capacity != self._nodes.capacity:
            self._table = _Table(self._nodes.capacity)
        base = self.alike(pod_class)
        view = self._table.views.get(base)
        if view is None:
            view = self._table.add(base, self.rules(base.rules))
            view.adds_up = self._adds_up(base)
        else:
            self._table.views.move_to_end(base)
        self._refresh(view)
        return view

    def alike(self, pod_class: PodClass) -> PodClass:
        """The class whose view serves: where others are is no part of it, nor are images that no node has."""
        base, bare = pod_class.base, pod_class.bare
        if base is bare:
            return base
        scores = self._profiles.of(base).nodes_scores
        return base if any(plugin.concerns(base, self._nodes) for plugin, _ in scores) else bare

    def capacity(self, pod_class: PodClass) -> Capacity:
        """What copies of the class are worth to whoever counts them."""
        if self._is_limited(pod_class):
            return Capacity.BY_OTHERS
        return Capacity.EXACT if self._adds_up(pod_class) else Capacity.BY_NODE

    def _adds_up(self, pod_class: PodClass) -> bool:
        return not any(plugin.concerns(pod_class) for plugin in self._profiles.of(pod_class).inexact)

    def is_wide(self, pod_class: PodClass) -> bool:
        """Whether it matters to the class where other pods are."""
        if pod_class.ties is None and not pod_class.rules.needs:
            return False
        return any(True for _ in self._wide(pod_class, self._nodes.usage))

    def _is_limited(self, pod_class: PodClass) -> bool:
        """Whether pods of the class may be kept from nodes by where others are."""
        if pod_class.ties is None and not pod_class.rules.needs:
            return False
        usage = self._nodes.usage
        return any(plugin.limits(pod_class, usage.census) for plugin, _ in self._wide(pod_class, usage))

    def _wide(self, pod_class: PodClass, usage: Usage) -> Iterator[tuple[Wide, int]]:
        """Plugins that look beyond the node for pods of the class."""
        ties, needs = pod_class.ties, pod_class.rules.needs
        if ties is None and not needs:
            return
        for plugin, weight in self._profiles.of(pod_class).wide:
            if (needs if plugin.by_needs else ties is not None) and plugin.concerns(pod_class, usage.census):
                yield plugin, weight

    def outlooks(self, pod_class: PodClass, usage: Usage) -> list[tuple[Outlook, int]]:
        """What plugins that look beyond the node make of the class, and what their scores weigh."""
        wide = self._wide(pod_class, usage)
        return [(plugin.outlook(pod_class, self._nodes, usage), weight) for plugin, weight in wide]

    def outlook(self, plugin: Wide, pod_class: PodClass, usage: Usage) -> list[Outlook]:
        """What one of them makes of it; none if it has nothing to say."""
        concerned = any(found is plugin for found, _ in self._wide(pod_class, usage))
        return [plugin.outlook(pod_class, self._nodes, usage)] if concerned else []

    def gathering(self, classes: Iterable[PodClass]) -> list[str]:
        """Labels of nodes by which pods of these classes may have to be in one domain."""
        asked = ((plugin, c) for c in classes for plugin, _ in self._wide(c, self._nodes.usage))
        return sorted({key for plugin, c in asked for key in plugin.gathers(c)})

    def with_others(self, views: Iterable[ClassView], limit: int) -> list[ClassView]:
        """These views, which are up to date, and others that are and were used lately; in a steady order."""
        end = self._nodes.usage.log.end
        recent = islice(reversed(self._table.views.values()), limit)
        chosen = {view.slot: view for view in recent if view.seen == end}
        chosen.update((view.slot, view) for view in views)
        return [chosen[slot] for slot in sorted(chosen)]

    def keys(self, views: Sequence[ClassView]) -> Ints:
        """The views' keys, (views × nodes), as a copy."""
        found: Ints = self._table.keys[np.array([view.slot for view in views], np.intp)]
        return found

    def foresee(self, views: Sequence[ClassView], rows: Rows, *, copies: Ints, keys: Ints) -> None:
        """The views are now up to date with these values on the rows that changed since they last were."""
        where = np.ix_(np.array([view.slot for view in views], np.intp), rows)
        self._table.copies[where] = copies
        self._table.keys[where] = keys
        for view in views:
            view.seen = self._nodes.usage.log.end

    def on_trial(self, pod_class: PodClass, usage: Usage, *, blocked: Bools | None = None) -> ClassView:
        """A view of the class on a trial copy of the usage, or without some rows; belongs to the caller."""
        base = self.of(pod_class)
        view = ClassView(base.pod_class, base.rules, copies=base.copies.copy(), key=base.key.copy())
        view.peaks, view.fixed = base.peaks, base.fixed
        view.blocked = blocked
        changed = usage.log.since(0) if usage.is_trial else []
        if changed is None or (blocked is not None and base.rules.raw):
            self._compute(view, usage)
            return view
        if blocked is not None:
            view.copies[blocked] = 0
            view.key[blocked] = 0
        if changed:
            self._repair(view, usage, _distinct(changed))
        return view

    def evaluate(self, views: Sequence[ClassView], room: Room) -> tuple[Ints, Ints]:
        """Copies and keys of several classes on the gathered rows, a line each.

        The classes must be of one shape, have the same rules, and no raw rule scores if they are several.
        """
        view = views[0]
        lines = view.pod_class.line if len(views) == 1 else self._lines_of(views)
        copies = self._copies(lines, view.rules, room)
        return copies, self._key(views, lines, room, copies)

    def rules(self, rules: NodeRules) -> RulesView:
        """Up to date with the nodes as they are."""
        view = self._rules.get(rules)
        if view is None:
            if len(self._rules) >= _RULES_KEPT:
                self._rules.clear()
            view = self._rules[rules] = RulesView(self._profiles.all[rules.profile])
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

    def copies_on(self, pod_class: PodClass, usage: Usage, rows: Rows | None = None) -> Ints:
        """Copies that every node, or each of some rows, would take; of a usage or of rows that no view is kept of."""
        room = Room(self._nodes, usage, rows)
        copies: Ints = self._copies(pod_class.line, self.rules(pod_class.rules), room)[0]
        return copies

    def ratings(self, view: ClassView, usage: Usage, *, rows: Rows, depth: int) -> Ints:
        """Ratings of the first to the `depth`-th copy on each of `rows`: (copies × rows)."""
        lines = Lines.of_copies(view.pod_class, depth)
        return self._ratings([view], lines, Room(self._nodes, usage, rows))

    def room_ratings(self, view: ClassView) -> Ints:
        """Ratings of the next copy without rule scores, by row; on rows that take none they may be anything."""
        ratings = view.key >> PRECEDENCE_BITS
        if view.rules.raw:
            ratings -= self._rule_score(view, None) << TIE_BREAK_BITS
        return ratings

    def next_ratings(self, view: ClassView, usage: Usage, row: int) -> tuple[int, int]:
        """How many more copies the row takes as it is in `usage`, and how the next is rated without rule scores."""
        room, line = Room(self._nodes, usage, np.array([row], np.intp)), view.pod_class.line
        copies = self._copies(line, view.rules, room)
        return int(copies[0, 0]), int(_room_ratings([view], line, room)[0, 0])

    # --- keeping them up to date ---

    def _refresh(self, view: ClassView) -> None:
        nodes, rules = self._nodes, self.rules(view.pod_class.rules)
        log = nodes.usage.log
        if view.seen == log.end and view.epoch == nodes.order_epoch:
            return
        if view.pod_class.bare is not view.pod_class:
            self._refresh_from(self.of(view.pod_class.bare), view)
            return
        changed = log.since(view.seen)
        current = view.epoch == nodes.order_epoch and view.rules is rules and view.generation == rules.generation
        view.rules = rules
        current &= not self._rate_by_all_nodes(view)
        if not current or changed is None or len(changed) * 2 > nodes.capacity:
            self._compute(view, nodes.usage)
            view.epoch, view.generation = nodes.order_epoch, rules.generation
        elif changed:
            self._repair(view, nodes.usage, _distinct(changed))
        view.seen = log.end

    def _refresh_from(self, bare: ClassView, view: ClassView) -> None:
        """The view of a class with images from that without: of 5,000 nodes 15 µs, and repairing them takes 100."""
        self._rate_by_all_nodes(view)
        view.rules, view.peaks = bare.rules, bare.peaks
        view.copies[:], view.key[:] = bare.copies, bare.key
        if view.fixed is not None:
            points = view.fixed.astype(np.int64)
            points <<= PRECEDENCE_BITS + TIE_BREAK_BITS
            points *= bare.copies > 0
            view.key += points
        view.seen, view.epoch, view.generation = bare.seen, bare.epoch, bare.generation

    def _compute(self, view: ClassView, usage: Usage) -> None:
        # should a plugin raise half-way, nothing of the view is up to date
        epoch, view.epoch = view.epoch, _NEVER
        room, line = Room(self._nodes, usage, None), view.pod_class.line
        copies = self._copies(line, view.rules, room)
        if view.blocked is not None:
            copies[:, view.blocked] = 0
        view.copies[:] = copies[0]
        view.peaks = _peaks(view)
        view.key[:] = self._key([view], line, room, copies)[0]
        view.epoch = epoch

    def _repair(self, view: ClassView, usage: Usage, rows: Rows) -> None:
        if view.blocked is not None:
            rows = rows[~view.blocked[rows]]
        copies, key = self.evaluate([view], Room(self._nodes, usage, rows))
        view.copies[rows] = copies[0]
        view.key[rows] = key[0]
        if view.rules.raw and _peaks(view) != view.peaks:
            # the last node with the highest raw score filled up, or one came: all are rated anew
            self._compute(view, usage)

    def _lines_of(self, views: Sequence[ClassView]) -> Lines:
        classes = tuple([view.pod_class.bare for view in views])
        lines = self._lines.get(classes)
        if lines is None:
            lines = self._lines[classes] = Lines.of_classes(classes)
            if len(self._lines) > _LINES_KEPT:
                self._lines.popitem(last=False)
        return lines

    def _copies(self, lines: Lines, rules: RulesView, room: Room) -> Ints:
        copies: Ints | None = None
        for plugin in rules.profile.room_filters:
            limit = plugin.copies(lines, room)
            if limit is not None:
                copies = limit if copies is None else np.minimum(copies, limit)
        assert copies is not None, "a profile needs a filter that limits copies"
        copies *= rules.admitted if room.rows is None else rules.admitted.take(room.rows)
        return copies

    def _rate_by_all_nodes(self, view: ClassView) -> bool:
        """Brings `fixed` up to date; whether it has changed."""
        nodes, before = self._nodes, view.fixed
        scores = [each for each in view.rules.profile.nodes_scores if each[0].concerns(view.pod_class, nodes)]
        epoch = tuple([plugin.epoch(nodes) for plugin, _ in scores]) or None
        if epoch == view.fixed_epoch:
            return False
        fixed: NDArray[np.int16] | None = None
        if scores:
            parts = [weight * plugin.score(view.pod_class, nodes) for plugin, weight in scores]
            fixed = np.add.reduce(parts).astype(np.int16)
        view.fixed, view.fixed_epoch = fixed, epoch
        if fixed is None or before is None:
            return fixed is not before
        # one node more or less that has an image seldom makes a point of difference
        return not np.array_equal(fixed, before)

    def _key(self, views: Sequence[ClassView], lines: Lines, room: Room, copies: Ints) -> Ints:
        key = self._ratings(views, lines, room)
        key <<= PRECEDENCE_BITS
        key += self._nodes.precedence if room.rows is None else self._nodes.precedence.take(room.rows)
        key *= copies > 0
        return key

    def _ratings(self, views: Sequence[ClassView], lines: Lines, room: Room) -> Ints:
        ratings = _room_ratings(views, lines, room)
        if views[0].rules.raw:
            ratings += self._rule_score(views[0], room.rows) << TIE_BREAK_BITS
        return ratings

    def _rule_score(self, view: ClassView, rows: Rows | None) -> Ints:
        """Weighted sum of the normalised rule scores, by the view's present peaks."""
        return rule_score(view.rules, view.peaks, rows)

    def _compute_rules(self, rules: NodeRules, view: RulesView) -> None:
        admitted = np.ones(self._nodes.capacity, np.bool_)
        for plugin in view.profile.rule_filters:
            admitted &= plugin.admits(rules, self._nodes, None)
        view.admitted = admitted
        view.generation += 1
        view.raw = []
        for scorer, weight in view.profile.rule_scores:
            raw = scorer.raw(rules, self._nodes, None)
            # where all nodes are equal the score is a constant, which no choice depends on
            if raw is not None and raw.any():
                view.raw.append((scorer, weight, raw))

    def _repair_rules(self, rules: NodeRules, view: RulesView, rows: Rows) -> None:
        admitted = np.ones(len(rows), np.bool_)
        for plugin in view.profile.rule_filters:
            admitted &= plugin.admits(rules, self._nodes, rows)
        view.admitted[rows] = admitted
        known = {scorer.name: raw for scorer, _, raw in view.raw}
        for scorer, _ in view.profile.rule_scores:
            raw = scorer.raw(rules, self._nodes, rows)
            if scorer.name in known and raw is not None:
                known[scorer.name][rows] = raw
            elif raw is not None and raw.any():
                self._compute_rules(rules, view)
                return


def _room_ratings(views: Sequence[ClassView], lines: Lines, room: Room) -> Ints:
    """Without rule scores; the views have the same rules."""
    profile = views[0].rules.profile
    total: Ints | int = _fixed(views, room.rows)
    for plugin, weight in profile.room_scores:
        part = plugin.score(lines, room)
        total = total + (part if weight == 1 else weight * part)
    ratings: Ints = (total << TIE_BREAK_BITS) + profile.tie_break.finer(lines, room)
    return ratings


def rule_score(rules: RulesView, peaks: tuple[int, ...], rows: Rows | None = None) -> Ints:
    """Weighted sum of the rule scores, of which there are some, relative to these peaks."""
    parts = []
    for (plugin, weight, raw), peak in zip(rules.raw, peaks, strict=True):
        asked = raw if rows is None else raw[rows]
        if plugin.absolute:
            parts.append(weight * asked)
            continue
        part = asked * MAX_SCORE // peak if peak else np.zeros(len(asked), np.int64)
        parts.append(weight * (MAX_SCORE - part if plugin.reverse else part))
    total: Ints = np.add.reduce(parts)
    return total


def peaks_of(rules: RulesView, takes: Bools) -> tuple[int, ...]:
    """The highest raw rule scores among rows that take a pod; 0 for those that no other node's depends on."""
    return tuple(0 if p.absolute else int(np.max(raw, where=takes, initial=0)) for p, _, raw in rules.raw)


def _fixed(views: Sequence[ClassView], rows: Rows | None) -> Ints | int:
    """What is fixed of their scores, (views × rows), or everybody's."""
    there = [view.fixed for view in views]
    if not any(fixed is not None for fixed in there):
        return 0
    nothing = np.zeros(len(views[0].key), np.int16)
    lines = [nothing if fixed is None else fixed for fixed in there]
    return np.array(lines if rows is None else [line.take(rows) for line in lines], np.int64)


def _distinct(changed: list[int]) -> Rows:
    return np.array(list(dict.fromkeys(changed)), np.intp)


def _peaks(view: ClassView) -> tuple[int, ...]:
    return peaks_of(view.rules, view.copies > 0) if view.rules.raw else ()
