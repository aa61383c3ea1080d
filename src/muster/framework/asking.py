"""How a plugin by users is asked: what it raises, or answers that is no answer, becomes a PluginError with its name."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np

from muster.base.errors import PluginError
from muster.cluster.pods import PodState
from muster.cluster.traits import Trait, Traits, Unread, trait_of
from muster.cluster.usage import Ints
from muster.framework.contract import MAX_SCORE, Bools
from muster.framework.plugin import Plugin, PodInfo
from muster.framework.sight import Nodes

__all__ = ["Asked", "has", "told"]


def has(kind: type[Plugin], method: str) -> bool:
    """Whether the plugin has a method of its own."""
    return getattr(kind, method) is not getattr(Plugin, method)


def told(error: BaseException) -> str:
    """What went wrong, and where in whose file."""
    last: TracebackType | None = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    what = f"{type(error).__name__}: {error}"
    if last is None:
        return what
    file = last.tb_frame.f_code.co_filename.rpartition("/")[2]
    return f"{what} ({file}:{last.tb_lineno})"


class Asked:
    """One plugin, and how to ask it."""

    def __init__(self, plugin: Plugin) -> None:
        self.plugin = plugin
        self.name = plugin.name or type(plugin).__name__

    def ask(self, method: str, *given: object, **named: object) -> Any:
        try:
            return getattr(self.plugin, method)(*given, **named)
        except Exception as error:
            raise self._failed(method, told(error)) from error

    def wrong(self, method: str, answer: object, wanted: str) -> PluginError:
        return self._failed(method, f"gave {answer!r:.80}, which is not {wanted}")

    def _failed(self, method: str, why: str) -> PluginError:
        return PluginError(f"plugin {self.name} failed in {method}: {why}")

    def trait(self, traits: Traits) -> Trait | None:
        """What the plugin read of pods; None if they do not concern it."""
        found = trait_of(traits, self.name)
        if isinstance(found, Unread):
            raise self._failed("pre_filter", found.error)
        return found

    def info(self, pod: PodState) -> PodInfo:
        namespace, _, name = pod.key.partition("/")
        return PodInfo(
            namespace=namespace,
            name=name,
            uid=pod.uid,
            labels=pod.labels,
            priority=pod.priority,
            gang=pod.gang or "",
            created=pod.created,
            trait=self.trait(pod.pod_class.traits),
        )

    # --- nodes ---

    def refusals(self, trait: Trait, nodes: Nodes) -> list[tuple[str, Bools]]:
        """Reasons, each with the rows that are refused for it."""
        if has(type(self.plugin), "filter_nodes"):
            return [self._checked(found, len(nodes)) for found in self.ask("filter_nodes", trait, nodes)]
        found: dict[str, Bools] = {}
        for row, node in nodes.each():
            reason = self.ask("filter", trait, node)
            if reason is None:
                continue
            if not isinstance(reason, str) or not reason:
                raise self.wrong("filter", reason, "a reason or None")
            found.setdefault(reason, np.zeros(len(nodes), np.bool_))[row] = True
        return list(found.items())

    def _checked(self, found: object, rows: int) -> tuple[str, Bools]:
        match found:
            case (str() as reason, np.ndarray() as refused) if reason and refused.shape == (rows,):
                if refused.dtype == np.bool_:
                    return reason, refused
        raise self.wrong("filter_nodes", found, f"a reason and {rows} truths")

    def scores(self, trait: Trait, nodes: Nodes, takes: Bools) -> Ints:
        """0 to 100 by row, where the pod could go."""
        if has(type(self.plugin), "score_nodes"):
            return self._in_bounds(self.ask("score_nodes", trait, nodes, takes), takes)
        takers = [(row, node) for row, node in nodes.each() if takes[row]]
        prepared = self.ask("pre_score", trait, [node for _, node in takers])
        found = np.zeros(len(nodes), np.int64)
        for row, node in takers:
            score = self.ask("score", trait, node, prepared)
            if not isinstance(score, int) or not 0 <= score <= MAX_SCORE:
                raise self.wrong("score", score, f"a whole number from 0 to {MAX_SCORE}")
            found[row] = score
        return found

    def _in_bounds(self, scores: object, takes: Bools) -> Ints:
        if isinstance(scores, np.ndarray) and scores.shape == takes.shape and np.issubdtype(scores.dtype, np.integer):
            found: Ints = np.where(takes, scores, 0).astype(np.int64)
            if not ((found < 0) | (found > MAX_SCORE)).any():
                return found
        raise self.wrong("score_nodes", scores, f"{len(takes)} whole numbers from 0 to {MAX_SCORE}")
