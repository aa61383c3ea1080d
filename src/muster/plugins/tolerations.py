"""Whether a toleration covers a taint; shared by the plugins that look at taints."""

from __future__ import annotations

from collections.abc import Iterable

from muster.api.wire import Taint, Toleration


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(_covers(toleration, taint) for toleration in tolerations)


def _covers(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    # an empty operator means Equal; without a key, only Exists covers anything
    return toleration.operator in ("", "Equal") and bool(toleration.key) and toleration.value == taint.value
