"""Where n equal pods go: as if placed one after another, each on the best node, but in a few array operations.

The score of a node's k-th copy is not monotone in k (LeastAllocated falls, BalancedAllocation may rise), so a
sorted merge of the nodes' scores would be wrong.  A pod that goes to a node's k-th place has passed its
first k-1, so the k-th place is as attractive as the worst of the places before it: with that running
minimum, one sort by (minimum, node, copy) gives exactly the order of one-after-another placement.

Scores that are relative to the best node (preferred affinity, soft taints) hold until the last node with the highest
raw score fills up.  There the batch is cut, scores are taken anew, and it goes on.
"""

from __future__ import annotations

import numpy as np

from muster.cluster.nodes import Rows
from muster.cluster.usage import Ints, Usage
from muster.framework.views import PRECEDENCE_BITS, ClassView, Views

_COPY_BITS = 20
_COPY_MASK = (1 << _COPY_BITS) - 1
_COLUMN_BITS = PRECEDENCE_BITS
_COLUMN_MASK = (1 << _COLUMN_BITS) - 1
# so many argmaxes over 5,000 nodes cost less than one partition
_FEW = 8
_NO_ROWS: Rows = np.zeros(0, np.intp)


def choose(views: Views, view: ClassView, usage: Usage, count: int) -> Rows:
    """Rows for up to `count` pods of the view's class, in the order of choice; fewer if no more fit.

    `usage` is what the view was made from; neither is changed.
    """
    if count == 1:
        best = int(view.key.argmax()) if len(view.key) else 0
        return np.array([best], np.intp) if len(view.key) and view.key[best] > 0 else _NO_ROWS
    count = min(count, int(view.copies.sum()))
    if count <= 0:
        return _NO_ROWS
    if not view.rules.raw:
        return _batch(views, view, usage, count)
    return _batch_with_cuts(views, view, usage, count)


def _batch_with_cuts(views: Views, view: ClassView, usage: Usage, count: int) -> Rows:
    chosen: list[Rows] = []
    while count > 0:
        rows = _batch(views, view, usage, count)
        cut = _cut(view, rows)
        chosen.append(rows[:cut])
        count -= cut
        if count > 0:
            usage = usage.copy()
            usage.add_copies(rows[:cut], view.pod_class)
            view = views.on_trial(view.pod_class, usage, blocked=view.blocked)
    return np.concatenate(chosen)


def _cut(view: ClassView, rows: Rows) -> int:
    """How many of the chosen rows stand before the highest raw score changes."""
    cut = len(rows)
    for (_, _, raw), peak in zip(view.rules.raw, view.peaks, strict=True):
        holders = (raw == peak) & (view.copies > 0)
        places = int(view.copies[holders].sum())
        taken = np.flatnonzero(holders[rows])
        if peak and len(taken) == places:
            cut = min(cut, int(taken[-1]) + 1)
    return cut


def _batch(views: Views, view: ClassView, usage: Usage, count: int) -> Rows:
    rows = _contenders(view.key, views.precedence, count)
    limits = np.minimum(view.copies[rows], min(count, _COPY_MASK))
    deepest = int(limits.max())
    # nodes fill up about evenly; deeper places are looked at only if a node turns out to be filled so far
    depth = min(deepest, 2 * (-(-count // len(rows))) + 4)
    while True:
        places = _places(views, view, usage, rows=rows, limits=limits, depth=depth)
        ranked = _largest(places[places >= 0], count)
        columns = len(rows) - 1 - ((ranked >> _COPY_BITS) & _COLUMN_MASK)
        copies = _COPY_MASK - (ranked & _COPY_MASK)
        at_the_edge = (copies == depth - 1) & (limits[columns] > depth)
        if depth == deepest or (len(ranked) == count and not at_the_edge.any()):
            chosen: Rows = rows[columns]
            return chosen
        depth = min(deepest, depth * 4)


def _places(views: Views, view: ClassView, usage: Usage, *, rows: Rows, limits: Ints, depth: int) -> Ints:
    """For each copy (line) on each row (column) a unique number, larger for what is chosen sooner; -1 for none.

    From high bits to low: running minimum of the score, column (rows come in order of precedence), copy.
    """
    copies = np.arange(depth)[:, None]
    places = views.ratings(view, usage, rows=rows, depth=depth)
    np.minimum.accumulate(places, axis=0, out=places)
    places <<= _COLUMN_BITS
    places += np.arange(len(rows) - 1, -1, -1)
    places <<= _COPY_BITS
    places += _COPY_MASK - copies
    places[copies >= limits] = -1
    return places


def _largest(values: Ints, count: int) -> Ints:
    """The `count` largest, largest first; values are unique, so the order is everybody's."""
    if len(values) > 4 * count:
        values = np.partition(values, len(values) - count)[len(values) - count :]
    return np.sort(values)[::-1][:count]


def _contenders(key: Ints, precedence: Ints, count: int) -> Rows:
    """The best `count` nodes, in order of precedence: no others can be chosen, since only chosen nodes change."""
    if count <= _FEW:
        rows = _best_few(key.copy(), count)
    else:
        rows = np.flatnonzero(key)
        if len(rows) > count:
            rows = rows[np.argpartition(key[rows], len(rows) - count)[len(rows) - count :]]
    return rows[np.argsort(-precedence[rows])]


def _best_few(key: Ints, count: int) -> Rows:
    best: list[int] = []
    for _ in range(count):
        row = int(key.argmax())
        if not key[row]:
            break
        best.append(row)
        key[row] = 0
    return np.array(best, np.intp)
