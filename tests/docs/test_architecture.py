"""docs/architecture.md is true: its tables are the code's, and every link of the documentation leads somewhere."""

import re
from pathlib import Path

import pytest

from muster.cluster.gangs import Strength
from muster.engine.life import TRANSITIONS, Cause, Phase
from tests.docs.printed import PAGE, ROOT, reprinted

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += sorted((ROOT / "examples").rglob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
FOLDERS = re.compile(r"`((?:src|tests|docs|scenarios|examples|deploy|controlplane|benchmarks)/[\w./-]*)`")


def test_the_printed_tables_are_the_ones_in_the_code():
    page = PAGE.read_text()
    assert reprinted(page) == page, "run: make docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    links = LINK.findall(re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    broken = [link for link in links if "://" not in link and not leads_somewhere(page, link)]
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_folder_that_is_named_is_there(page):
    missing = [name for name in FOLDERS.findall(page.read_text()) if not (ROOT / name).exists()]
    assert missing == []


def leads_somewhere(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = page if not name else page.parent / name
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target.read_text())


def anchors(text: str) -> set[str]:
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def test_every_phase_strength_and_cause_is_in_the_table():
    named = {state for step in TRANSITIONS for state in (*step.source, *step.cause, step.target)}
    assert named == {*Phase, *Strength, *Cause}


def test_a_transition_changes_the_phase_or_the_strength_but_not_one_into_the_other():
    assert all(type(source) is type(step.target) for step in TRANSITIONS for source in step.source)


def test_no_transition_is_in_the_table_twice():
    steps = [(source, cause, step.target) for step in TRANSITIONS for source in step.source for cause in step.cause]
    assert sorted(steps, key=str) == sorted(set(steps), key=str)
