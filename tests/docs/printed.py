"""What docs/architecture.md prints from the code: phases, strengths, causes, and the table of transitions."""

import ast
import inspect
from pathlib import Path

from muster.cluster.gangs import Strength
from muster.engine import life

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN = "<!-- printed from src/muster/engine/life.py by `make docs`; do not edit -->"
END = "<!-- end of what is printed -->"


def reprinted(page):
    """The page with the tables as the code has them now."""
    return between(page, BEGIN, printed())


def between(page, begin, text):
    """The page with this text from the mark on that it begins with."""
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(END)
    return f"{before}{begin}\n{text}{END}{after}"


def printed():
    phases, strengths = split(life.TRANSITIONS)
    return "\n".join(
        [
            "",
            *states("phase", "what the queue does next", life.Phase),
            *transitions(phases),
            *states("strength", "what stands of the gang", Strength),
            *transitions(strengths),
            *states("cause", "which is", life.Cause),
        ]
    )


def split(steps):
    phases = [step for step in steps if isinstance(step.target, life.Phase)]
    return phases, [step for step in steps if step not in phases]


def states(name, meaning, enum):
    said = meanings(enum)
    rows = [f"| {member.value} | {said[member.name]} |" for member in enum]
    return [f"| {name} | {meaning} |", "|---|---|", *rows, ""]


def transitions(steps):
    rows = [
        f"| {names(step.source)} | {names(step.cause)} | {step.target.value} | {step.says} | {step.sets_in_motion} |"
        for step in steps
    ]
    return ["| from | cause | to | what is said | what is set in motion |", "|---|---|---|---|---|", *rows, ""]


def names(members):
    return ", ".join(member.value for member in members)


def meanings(enum):
    """The docstrings below an enum's members, which Python does not keep; "" where there is none."""
    (body,) = (node.body for node in ast.parse(inspect.getsource(enum)).body if isinstance(node, ast.ClassDef))
    found = {}
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign):
            said = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            found[node.targets[0].id] = following.value.value if said else ""
    return found
