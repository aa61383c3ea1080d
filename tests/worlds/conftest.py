"""Every life of a simulated world is counted, whichever test asks for it."""

import pytest

from muster.sim.chaos import run


@pytest.fixture(autouse=True)
def _lives(monkeypatch, record_property):
    live, lives = run._Life.live, []

    def counted(self):
        lives.append(None)
        live(self)

    monkeypatch.setattr(run._Life, "live", counted)
    yield
    if lives:
        record_property("simulation", {"runs of worlds, all told": len(lives)})
