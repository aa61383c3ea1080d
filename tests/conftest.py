"""What the simulated worlds saw is added up over all tests and processes, and printed at the end."""

import asyncio
import gc
import signal
from collections import Counter

import pytest
import structlog

_seen = Counter()


def pytest_configure():
    # looptime asks for the current loop around tests that have none; without this one is made and never closed
    asyncio.set_event_loop(None)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # a background job of a shell ignores interrupts, and so would all processes that tests start and interrupt
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish():
    # fourteen thousand tests stay to the end: looking for garbage among them, again and again, took a tenth of the time
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_runtest_logreport(report):
    if report.when == "teardown":
        for name, value in report.user_properties:
            if name == "simulation":
                _seen.update(value)


def pytest_terminal_summary(terminalreporter):
    if not _seen:
        return
    terminalreporter.section("simulated worlds")
    for name, count in sorted(_seen.items()):
        terminalreporter.write_line(f"{count:10,}  {name}")


@pytest.fixture(autouse=True)
def _logs_as_they_were():
    """A command that a test runs in here logs to what pytest captures for that test, and closes after it."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)
