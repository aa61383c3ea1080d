"""What controllers log goes to where this test's output goes, whatever tests before it have set up."""

import pytest
import structlog


@pytest.fixture(autouse=True)
def _log_of_its_own():
    structlog.reset_defaults()
