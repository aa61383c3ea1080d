"""What a scheduler said about a pod of a world, and what kube-scheduler 1.37.1 said once."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.plain_scheduler.decision import WEIGHTS, Decision

RECORDED_WORLDS = range(1, 31)
_FILE = Path(__file__).parent / "data" / "answers.jsonl"


@dataclass(frozen=True)
class Answer:
    world: int
    pod: str
    node: str | None
    message: str
    """Of the PodScheduled condition, when there is no node."""
    scores: dict[str, dict[str, int]]
    """By node and plugin, with weights, zeros left out.  The real one does not score where one node is left."""

    def agrees_with(self, plain: "PlainAnswer") -> bool:
        if self.node is None:
            return self.message == plain.message
        return self.node in plain.best and self.scores == (plain.scores if len(plain.scores) > 1 else {})


@dataclass(frozen=True)
class PlainAnswer:
    world: int
    pod: str
    best: set[str]
    message: str
    scores: dict[str, dict[str, int]]


def answer_of(decision: Decision, *, world: int, pod: str) -> PlainAnswer:
    scores = {
        node: {plugin: WEIGHTS[plugin] * score for plugin, score in parts.items() if score}
        for node, parts in decision.scores.items()
    }
    return PlainAnswer(world, pod, decision.best, decision.message, scores)


def record(answers: Iterable[Answer]) -> None:
    _FILE.parent.mkdir(exist_ok=True)
    _FILE.write_text("".join(json.dumps(asdict(answer), sort_keys=True) + "\n" for answer in answers))


def recorded() -> list[Answer]:
    return [Answer(**json.loads(line)) for line in _FILE.read_text().splitlines()]
