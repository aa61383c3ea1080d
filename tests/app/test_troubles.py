"""What fails is in the log, once, with the plugin's name and where it failed."""

import structlog
from structlog.testing import capture_logs

from muster.app.troubles import TroubleLog
from muster.base.errors import PluginError
from muster.engine.troubles import Trouble, Troubles


def failed(message="plugin OnePerRack failed in filter: KeyError: 'rack'"):
    try:
        try:
            return {}["rack"]
        except KeyError as error:
            raise PluginError(message, plugin="OnePerRack") from error
    except PluginError as error:
        return error


def told(log, troubles, now):
    with capture_logs() as lines:
        log.tell(troubles, now)
    return lines


def test_a_plugins_failure_is_told_with_its_name_and_its_traceback():
    error = failed()
    (line,) = told(TroubleLog(), [Trouble("team/a", "OnePerRack", error)], 0.0)
    assert line == {
        "event": "a plugin failed",
        "log_level": "error",
        "plugin": "OnePerRack",
        "unit": "team/a",
        "error": str(error),
        "exc_info": error.__cause__,
    }
    text = structlog.processors.format_exc_info(None, "", dict(line))["exception"]
    assert 'return {}["rack"]' in text
    assert text.endswith("KeyError: 'rack'")


def test_a_failure_of_our_own_says_so():
    (line,) = told(TroubleLog(), [Trouble("team/a", "", RuntimeError("boom"))], 0.0)
    assert line["event"] == "a bug: an attempt failed"


def test_the_same_is_told_again_only_after_ten_minutes():
    log, same = TroubleLog(), [Trouble("team/a", "OnePerRack", failed()), Trouble("team/b", "OnePerRack", failed())]
    assert len(told(log, same, 1000.0)) == 1
    assert told(log, same, 1599.0) == []
    assert len(told(log, same, 1600.0)) == 1
    assert len(told(log, [Trouble("team/a", "OnePerRack", failed("something else"))], 1600.0)) == 1


def test_what_is_remembered_is_bounded():
    log = TroubleLog()
    many = [Trouble("team/a", "OnePerRack", failed(f"pod {number}")) for number in range(1500)]
    assert len(told(log, many, 0.0)) == 1500
    assert len(log._told) == 1000
    assert told(log, many[1000:], 1.0) == []


def test_of_one_call_only_the_first_hundred_are_kept_and_all_are_counted():
    troubles = Troubles()
    for number in range(150):
        troubles.note(f"team/{number}", failed())
    troubles.note("team/x", RuntimeError("boom"))
    assert len(troubles.told) == 100
    assert troubles.counts == {"OnePerRack": 150, "": 1}
