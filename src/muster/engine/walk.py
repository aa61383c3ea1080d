"""Where pods of one class go if it matters where others are: one after another, each on the best node for it.

A pod of such a class may change what every other node offers to the next: a domain is full, another has become the
emptiest, a first member decides where all go.  Room is looked at row by row as ever; what lies beyond it the plugins
say for all rows at once, and are told of every pod that is placed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muster.cluster.nodes import Rows
from muster.cluster.usage import Ints, Usage
from muster.framework.contract import Bools, Outlook
from muster.framework.views import PRECEDENCE_BITS, TIE_BREAK_BITS, ClassView, Views, peaks_of, rule_score

Outlooks = Sequence[tuple[Outlook, int]]


def walk(views: Views, view: ClassView, usage: Usage, count: int, outlooks: Outlooks) -> Rows:
    """Rows for up to `count` pods, in order; fewer if there is no place for the next.

    `usage` is what the view was made from; neither is changed.  The outlooks are used up.
    """
    rated, copies = views.room_ratings(view), view.copies
    chosen: list[int] = []
    while True:
        row = _best(views, view, rated, copies > 0, outlooks)
        if row is None:
            break
        chosen.append(row)
        if len(chosen) == count:
            break
        if len(chosen) == 1:
            copies, usage = copies.copy(), usage.copy()
        usage.add(row, view.pod_class)
        copies[row], rated[row] = views.next_ratings(view, usage, row)
        for outlook, _ in outlooks:
            outlook.place(row)
    return np.array(chosen, np.intp)


def admitted(outlooks: Outlooks) -> Bools | None:
    """Rows that may take the next pod; None for all."""
    found: Bools | None = None
    for outlook, _ in outlooks:
        one = outlook.admits()
        if one is not None:
            found = one if found is None else found & one
    return found


def holds_at(rows: Rows, outlooks: Outlooks) -> bool:
    """Whether pods may be placed on these rows, one after another.  The outlooks are used up."""
    for row in rows.tolist():
        allowed = admitted(outlooks)
        if allowed is not None and not allowed[row]:
            return False
        for outlook, _ in outlooks:
            outlook.place(row)
    return True


def _best(views: Views, view: ClassView, rated: Ints, takes: Bools, outlooks: Outlooks) -> int | None:
    key = keys(views, view, rated, takes, outlooks)
    return None if key is None else int(key.argmax())


def keys(views: Views, view: ClassView, rated: Ints, takes: Bools, outlooks: Outlooks) -> Ints | None:
    """Order of the rows for the next pod, as a view's key; None if it may go nowhere.

    `rated` is by room alone, on the rows that `takes` says have some.
    """
    allowed = admitted(outlooks)
    if allowed is not None:
        takes = takes & allowed
    if not takes.any():
        return None
    scores: list[Ints] = []
    if view.rules.raw:
        scores.append(rule_score(view.rules, peaks_of(view.rules, takes)))
    for outlook, weight in outlooks:
        if weight and (score := outlook.score(takes)) is not None:
            scores.append(score * weight)
    key: Ints = rated + (np.add.reduce(scores) << TIE_BREAK_BITS) if scores else rated.copy()
    key <<= PRECEDENCE_BITS
    key += views.precedence
    # ratings may be 0, a precedence is not
    key *= takes
    return key
