"""How a plugin by users is asked: what it raises, or answers that is no answer, becomes a PluginError with its name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from muster.base.errors import PluginError
from muster.base.text import shown
from muster.cluster.pods import PodState
from muster.cluster.traits import Trait, Traits, Unread, trait_of
from muster.cluster.usage import Ints
from muster.framework.contract import MAX_SCORE, Bools
from muster.framework.plugin import Plugin, PodInfo
from muster.framework.sight import NodeInfo, Nodes

__all__ = ["Asked", "has", "told"]

_HERE = __file__.rpartition("/framework/")[0]

# they stand in conditions, many of them in one
_LONGEST_REASON = 200
_MOST_REASONS = 20

_PAIRS = "a list of reasons, each with the rows refused for it: [(reason, rows)]"
_A_SCORE = f"a whole number from 0 to {MAX_SCORE}"


def has(kind: type[Plugin], method: str) -> bool:
    """Whether the plugin has a method of its own."""
    return getattr(kind, method) is not getattr(Plugin, method)


def told(error: BaseException) -> str:
    """What went wrong, and where in whose file."""
    what, where = f"{type(error).__name__}: {shown(error)}", ""
    frame: TracebackType | None = error.__traceback__
    while frame is not None:
        folder, _, file = frame.tb_frame.f_code.co_filename.rpartition("/")
        # neither where plugins are asked, nor where they ask of nodes: that is Muster's
        if not file.startswith("<") and not folder.startswith(_HERE):
            where = f" ({shown(file)}:{frame.tb_lineno})"
        frame = frame.tb_next
    return what + where


class Asked:
    """One plugin, and how to ask it."""

    def __init__(self, plugin: Plugin) -> None:
        self.plugin = plugin
        self.name = plugin.name or type(plugin).__name__
        self.calls = 0
        """How often it was asked about one node."""

    def ask(self, method: str, *given: object, **named: object) -> Any:
        try:
            return getattr(self.plugin, method)(*given, **named)
        except (Exception, SystemExit) as error:
            raise self.failed(method, told(error)) from error

    def _ask_each(self, method: str, trait: Trait, nodes: Sequence[NodeInfo], *more: object) -> list[Any]:
        self.calls += len(nodes)
        asked = getattr(self.plugin, method)
        try:
            return [asked(trait, node, *more) for node in nodes]
        except (Exception, SystemExit) as error:
            raise self.failed(method, told(error)) from error

    def reason(self, method: str, *given: object) -> str | None:
        """Why not, in one line, or None."""
        return self.checked(method, self.ask(method, *given))

    def checked(self, method: str, answer: object) -> str | None:
        """What it answered, as a reason in one line, or None."""
        return None if answer is None else self._checked_reason(method, answer)

    def _checked_reason(self, method: str, answer: object) -> str:
        if isinstance(answer, str) and (line := " ".join(shown(answer).split())):
            return line if len(line) <= _LONGEST_REASON else f"{line[: _LONGEST_REASON - 1]}…"
        raise self.wrong(method, answer, "a reason or None")

    def wrong(self, method: str, answer: object, wanted: str) -> PluginError:
        if isinstance(answer, np.ndarray):
            what = f"an array of {'×'.join(map(str, answer.shape))} {answer.dtype}"
        else:
            what = shown(answer, repr)[:80]
        return self.failed(method, f"gave {what}, which is not {wanted}")

    def failed(self, method: str, why: str) -> PluginError:
        return PluginError(f"plugin {self.name} failed in {method}: {why}", plugin=self.name)

    def trait(self, traits: Traits) -> Trait | None:
        """What the plugin read of pods; None if they do not concern it."""
        found = trait_of(traits, self.name)
        if isinstance(found, Unread):
            raise self.failed("pre_filter", found.error)
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
        found: dict[str, Bools] = {}
        if has(type(self.plugin), "filter_nodes"):
            for reason, refused in self._pairs(trait, nodes):
                self._refused(found, reason, len(nodes))[:] |= refused
        else:
            each = nodes.each()
            for (row, _), why in zip(each, self._ask_each("filter", trait, [node for _, node in each]), strict=True):
                if why is not None:
                    self._refused(found, self._checked_reason("filter", why), len(nodes))[row] = True
        return list(found.items())

    def _refused(self, found: dict[str, Bools], reason: str, rows: int) -> Bools:
        """The rows that are refused for the reason; where there are too many to be told apart, for one that they share.

        Who names the node in it would have thousands.
        """
        if reason not in found and len(found) >= _MOST_REASONS:
            reason = f"node(s) were refused by {self.name}"
        return found.setdefault(reason, np.zeros(rows, np.bool_))

    def _pairs(self, trait: Trait, nodes: Nodes) -> list[tuple[str, Bools]]:
        answer = self.ask("filter_nodes", trait, nodes)
        if isinstance(answer, str | bytes | np.ndarray) or not isinstance(answer, Iterable):
            raise self.wrong("filter_nodes", answer, _PAIRS)
        try:
            found = list(answer)
        except Exception as error:
            raise self.failed("filter_nodes", told(error)) from error
        return [self._checked(pair, len(nodes)) for pair in found]

    def _checked(self, pair: object, rows: int) -> tuple[str, Bools]:
        match pair:
            case (reason, np.ndarray() as refused) if refused.shape == (rows,) and refused.dtype == np.bool_:
                return self._checked_reason("filter_nodes", reason), refused
            case (_, np.ndarray() as refused):
                raise self.wrong("filter_nodes", refused, f"an array of {rows} bool")
        raise self.wrong("filter_nodes", pair, _PAIRS)

    def scores(self, trait: Trait, nodes: Nodes, takes: Bools) -> Ints:
        """0 to 100 by row, where the pod could go."""
        if has(type(self.plugin), "score_nodes"):
            seen = takes.view()
            seen.flags.writeable = False
            return self._in_bounds(self.ask("score_nodes", trait, nodes, seen), takes)
        each = [(row, node) for row, node in nodes.each() if takes[row]]
        takers = [node for _, node in each]
        prepared = self.ask("pre_score", trait, takers)
        found = np.zeros(len(nodes), np.int64)
        for (row, _), score in zip(each, self._ask_each("score", trait, takers, prepared), strict=True):
            if not isinstance(score, int | np.integer) or not 0 <= score <= MAX_SCORE:
                raise self.wrong("score", score, _A_SCORE)
            found[row] = score
        return found

    def _in_bounds(self, scores: object, takes: Bools) -> Ints:
        if not isinstance(scores, np.ndarray) or scores.shape != takes.shape or scores.dtype.kind not in "iu":
            raise self.wrong("score_nodes", scores, f"an array of {len(takes)} whole numbers from 0 to {MAX_SCORE}")
        found: Ints = np.where(takes, scores, 0).astype(np.int64)
        outside = (found < 0) | (found > MAX_SCORE)
        if outside.any():
            raise self.wrong("score_nodes", int(found[outside][0]), _A_SCORE)
        return found
