"""The order, the pace and the fate of what is to be sent.  Time is virtual."""

import asyncio
from contextlib import asynccontextmanager
from itertools import pairwise

import looptime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.base.errors import ApiError, KubeError, Unreachable
from muster.kube.limits import Limit, Rate
from muster.kube.outbox import Errand, Outbox, Urgency
from tests.kube.server import in_time, settled, until

pytestmark = pytest.mark.looptime

BUSY = ApiError("too many requests", code=429, retry_after=None)
DOWN = Unreachable("down")
ERROR = ApiError("etcd is gone", code=500)
DENIED = ApiError("denied", code=403)
OVERTAKEN = ApiError("the object has been modified", code=409)


def now():
    return asyncio.get_running_loop().time()


class Desk:
    """An outbox and what became of the errands that were put into it."""

    def __init__(self, *, places=None, **options):
        if places is not None:
            options["limit"] = Limit(first=places, most=places)
        self.outbox = Outbox(**options)
        self.sent = []
        """(name, time) of each send as it began"""
        self.finished = []
        self.gates = {}

    @property
    def order(self):
        return [name for name, _ in self.sent]

    def put(self, name, urgency=Urgency.POD, *, answers=(), held=False, subject="", lasting=False):
        """An errand that is answered so, in this order, and then well; held, it waits for its gate."""
        answers = list(answers)
        if held:
            self.gates[name] = asyncio.Event()

        async def send():
            self.sent.append((name, now()))
            if held:
                await self.gates[name].wait()
            if answers:
                raise answers.pop(0)
            self.finished.append(name)

        self.outbox.put(Errand(urgency, send, subject=subject, lasting=lasting))

    def open(self, *names):
        for name in names:
            self.gates[name].set()


@asynccontextmanager
async def desk(**options):
    one = Desk(**options)
    try:
        async with in_time():
            yield one
    finally:
        await one.outbox.close()


# order


async def test_what_is_more_urgent_goes_first():
    async with desk(places=1) as it:
        for urgency in reversed(Urgency):
            it.put(urgency.name, urgency)
        await it.outbox.done()
        assert it.order == ["BIND", "NOMINATION", "RELEASE", "GROUP", "POD", "EVENT"]


async def test_of_the_same_urgency_the_first_goes_first():
    async with desk(places=1) as it:
        for name in "abc":
            it.put(name, Urgency.BIND)
        await it.outbox.done()
        assert it.order == ["a", "b", "c"]


async def test_binds_under_way_have_the_server_for_themselves():
    async with desk(places=10) as it:
        it.put("bind", Urgency.BIND, held=True)
        it.put("condition", Urgency.POD)
        await settled()
        assert it.order == ["bind"]
        it.open("bind")
        await until(lambda: it.order == ["bind", "condition"])


async def test_binds_go_out_beside_lesser_errands_that_are_under_way():
    async with desk(places=10) as it:
        it.put("condition", Urgency.POD, held=True)
        await settled()
        it.put("bind", Urgency.BIND)
        await until(lambda: "bind" in it.finished)


async def test_what_waits_too_long_for_binds_gets_one_place():
    async with desk(places=10) as it:
        it.put("bind", Urgency.BIND, held=True)
        it.put("first", Urgency.POD, held=True)
        it.put("second", Urgency.POD, held=True)
        await asyncio.sleep(1.9)
        assert it.order == ["bind"]
        await asyncio.sleep(5)
        assert it.order == ["bind", "first"]
        it.open("first")
        await settled()
        assert it.order == ["bind", "first", "second"]


async def test_a_stream_of_binds_does_not_starve_the_rest():
    async with desk(places=2) as it:
        it.put("condition", Urgency.POD)

        async def more():
            for number in range(100):
                it.put(f"bind-{number}", Urgency.BIND, held=True)
                it.put(f"other-{number}", Urgency.BIND, held=True)
                await asyncio.sleep(0.1)
                it.open(f"bind-{number}", f"other-{number}")

        await more()
        assert "condition" in it.finished


async def test_no_more_are_under_way_than_the_limit_allows():
    async with desk(places=4) as it:
        for number in range(10):
            it.put(number, held=True)
        await settled()
        assert (it.outbox.under_way, it.outbox.waiting) == (4, 6)
        it.open(0)
        await settled()
        assert it.order == [0, 1, 2, 3, 4]


# subjects


async def test_a_newer_errand_replaces_one_of_its_subject_that_waits():
    async with desk(places=1) as it:
        it.put("first", held=True)
        await settled()
        it.put("old", subject="pod a")
        it.put("new", subject="pod a")
        it.open("first")
        await it.outbox.done()
        assert it.order == ["first", "new"]


async def test_of_one_subject_one_errand_is_under_way_at_a_time():
    async with desk(places=10) as it:
        it.put("old", held=True, subject="pod a")
        await settled()
        it.put("new", subject="pod a")
        it.put("other", subject="pod b")
        await settled()
        assert it.order == ["old", "other"]
        it.open("old")
        await it.outbox.done()
        assert it.order == ["old", "other", "new"]


async def test_only_the_newest_follows_the_one_under_way():
    async with desk(places=10) as it:
        it.put("old", held=True, subject="pod a")
        await settled()
        for name in ("second", "third", "fourth"):
            it.put(name, subject="pod a")
        it.open("old")
        await it.outbox.done()
        assert it.order == ["old", "fourth"]


async def test_errands_without_a_subject_replace_nothing():
    async with desk(places=1) as it:
        it.put("a")
        it.put("b")
        await it.outbox.done()
        assert it.order == ["a", "b"]


@pytest.mark.parametrize("answer", [BUSY, DOWN, ERROR, DENIED, OVERTAKEN])
async def test_a_failed_errand_with_a_successor_is_not_sent_again(answer):
    async with desk(places=10) as it:
        it.put("old", held=True, subject="pod a", answers=[answer], lasting=True)
        await settled()
        it.put("new", subject="pod a")
        it.open("old")
        await it.outbox.done()
        assert it.order == ["old", "new"]


async def test_a_successor_replaces_one_that_waits_to_be_sent_again():
    async with desk() as it:
        it.put("old", subject="pod a", answers=[ERROR] * 3)
        await settled()
        it.put("new", subject="pod a")
        await asyncio.sleep(60)
        assert it.order == ["old", "new"]
        assert it.outbox.waiting == 0


async def test_a_subject_is_free_again_once_its_errand_was_given_up():
    async with desk() as it:
        it.put("old", subject="pod a", answers=[ApiError("invalid", code=422)])
        await it.outbox.done()
        it.put("new", subject="pod a")
        await it.outbox.done()
        assert it.finished == ["new"]


# servers that are busy or down


async def test_a_429_while_others_are_served_holds_back_only_what_was_pushed_back():
    """API priority and fairness asks for a second with each rejection, however many others it takes meanwhile."""
    async with desk() as it:
        it.put("served", held=True)
        it.put("a", answers=[ApiError("slow down", code=429, retry_after=7)])
        await settled()
        it.put("b")
        await settled()
        assert it.finished == ["b"]
        it.open("served")
        await it.outbox.done()
        assert it.sent == [("served", 0), ("a", 0), ("b", 0), ("a", 7)]


async def test_what_was_pushed_back_goes_before_those_that_came_meanwhile():
    async with desk(places=2) as it:
        it.put("served", held=True)
        it.put("a", answers=[ApiError("slow down", code=429, retry_after=7)])
        await asyncio.sleep(6)
        for name in "bcd":
            it.put(name)
        await asyncio.sleep(2)
        it.open("served")
        await it.outbox.done()
        assert it.order[2] == "a"


async def test_a_429_when_nothing_else_is_under_way_stops_everything_for_as_long_as_the_server_asks():
    async with desk() as it:
        it.put("a", answers=[ApiError("slow down", code=429, retry_after=7)])
        await settled()
        it.put("bind", Urgency.BIND)
        await asyncio.sleep(6.9)
        assert it.order == ["a"]
        await it.outbox.done()
        assert sorted(it.sent) == [("a", 0), ("a", 7), ("bind", 7)]


async def test_a_429_without_a_time_stops_for_a_moment():
    async with desk() as it:
        it.put("a", answers=[BUSY])
        await it.outbox.done()
        assert it.sent == [("a", 0), ("a", pytest.approx(0.1))]


async def test_no_429_stops_for_longer_than_half_a_minute():
    async with desk() as it:
        it.put("a", answers=[ApiError("slow down", code=429, retry_after=3_600)])
        await it.outbox.done()
        assert it.sent == [("a", 0), ("a", 30)]


async def test_a_429_is_no_failure_however_often_it_comes():
    async with desk() as it:
        it.put("a", answers=[BUSY] * 50)
        await it.outbox.done()
        assert it.finished == ["a"]


async def test_what_was_pushed_back_keeps_its_place_before_others():
    async with desk(places=1) as it:
        it.put("a", answers=[BUSY])
        it.put("b")
        await it.outbox.done()
        assert it.order == ["a", "a", "b"]


@pytest.mark.parametrize("answer", [DOWN, ERROR, ApiError("busy", code=503)])
async def test_an_errand_without_an_answer_is_sent_again_a_few_times(answer):
    async with desk() as it:
        it.put("a", answers=[answer] * 100)
        await it.outbox.done()
        assert len(it.sent) == 6
        waits = [later - earlier for (_, earlier), (_, later) in pairwise(it.sent)]
        assert 0.2 <= waits[0] <= 0.3
        assert all(later > earlier for earlier, later in pairwise(waits))


@pytest.mark.parametrize("answer", [ApiError("invalid", code=422), KubeError("no token")])
async def test_an_errand_that_is_refused_is_not_sent_again(answer):
    async with desk() as it:
        it.put("a", answers=[answer])
        await it.outbox.done()
        assert it.order == ["a"]


async def test_an_errand_that_others_overtook_is_tried_again():
    async with desk() as it:
        it.put("a", answers=[OVERTAKEN, OVERTAKEN])
        await it.outbox.done()
        assert it.order == ["a"] * 3


async def test_an_errand_without_the_right_to_it_is_sent_a_few_times():
    """A server that has just started does not know our rights yet."""
    async with desk() as it:
        it.put("a", answers=[DENIED, DENIED])
        await it.outbox.done()
        assert it.order == ["a", "a", "a"]


@pytest.mark.parametrize("answer", [DOWN, ERROR, DENIED, KubeError("no token")])
async def test_a_lasting_errand_is_sent_until_it_is_done(answer):
    async with desk() as it:
        it.put("a", answers=[answer] * 30, lasting=True)
        await it.outbox.done()
        assert it.finished == ["a"]
        assert it.sent[-1][1] - it.sent[-2][1] <= 15


async def test_others_go_on_while_one_waits_to_be_sent_again():
    async with desk() as it:
        it.put("a", answers=[DOWN])
        await settled()
        it.put("b")
        await settled()
        assert it.finished == ["b"]


async def test_the_limit_grows_with_answers_and_halves_with_push_backs():
    limit = Limit(first=4, most=64)
    async with desk(limit=limit) as it:
        for number in range(100):
            it.put(number)
        await it.outbox.done()
        grown = limit.now
        assert grown > 4
        it.put("a", answers=[BUSY])
        await it.outbox.done()
        assert limit.now == grown // 2


@pytest.mark.parametrize("answer", [DOWN, ERROR])
async def test_a_server_that_gives_no_answer_is_relieved_too(answer):
    limit = Limit(first=16)
    async with desk(limit=limit) as it:
        it.put("a", answers=[answer])
        await settled()
        assert limit.now == 8


async def test_a_refusal_says_nothing_about_how_busy_the_server_is():
    limit = Limit(first=16)
    async with desk(limit=limit) as it:
        it.put("a", answers=[DENIED])
        await it.outbox.done()
        assert limit.now == 16


async def test_a_rate_is_kept():
    async with desk(rate=Rate(8, burst=2)) as it:
        for number in range(6):
            it.put(number)
        await it.outbox.done()
        assert [at for _, at in it.sent] == [0, 0, 0.125, 0.25, 0.375, 0.5]
        assert it.order == [0, 1, 2, 3, 4, 5]


async def test_an_error_that_nobody_expected_stops_nothing_else():
    async with desk(places=1) as it:
        it.put("a", answers=[RuntimeError("a bug")], subject="pod a", held=True)
        await settled()
        it.put("b", subject="pod a")
        it.put("c")
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: None)
        it.open("a")
        async with asyncio.timeout(5):
            await it.outbox.done()
        assert sorted(it.finished) == ["b", "c"]


# events


async def test_events_that_are_too_many_are_dropped_oldest_first():
    async with desk(places=1) as it:
        it.put("first", Urgency.BIND, held=True)
        await settled()
        for number in range(5_010):
            it.put(number, Urgency.EVENT)
        assert (it.outbox.dropped_events, it.outbox.waiting) == (10, 5_000)
        it.open("first")
        await it.outbox.done()
        assert it.order == ["first", *range(10, 5_010)]


async def test_nothing_but_events_is_dropped():
    async with desk(places=1) as it:
        it.put("first", held=True)
        await settled()
        for number in range(6_000):
            it.put(number, Urgency.POD)
        assert it.outbox.waiting == 6_000


# leave to send


async def test_without_leave_nothing_is_sent():
    async with desk(may_send=lambda: False) as it:
        for urgency in Urgency:
            it.put(urgency.name, urgency)
        await asyncio.sleep(100)
        assert it.sent == []
        assert it.outbox.waiting == len(Urgency)


async def test_leave_is_asked_for_before_each_send():
    leave = [True]
    async with desk(places=1, may_send=lambda: leave[0]) as it:
        it.put("a", held=True)
        it.put("b")
        await settled()
        leave[0] = False
        it.open("a")
        await asyncio.sleep(10)
        assert it.order == ["a"]


async def test_what_waits_for_leave_is_sent_soon_after_it_is_given():
    leave = [False]
    async with desk(may_send=lambda: leave[0]) as it:
        it.put("a")
        await asyncio.sleep(5)
        leave[0] = True
        await asyncio.sleep(2)
        assert it.finished == ["a"]


# the end


async def test_done_waits_for_what_waits_and_what_is_under_way():
    async with desk(places=1) as it:
        it.put("a", held=True)
        it.put("b", held=True)
        waiting = asyncio.create_task(it.outbox.done())
        await settled()
        it.open("a")
        await settled()
        assert not waiting.done()
        it.open("b")
        await waiting


async def test_done_waits_for_what_is_to_be_sent_again():
    async with desk() as it:
        it.put("a", answers=[DOWN])
        await it.outbox.done()
        assert it.finished == ["a"]


async def test_done_returns_at_once_when_there_is_nothing():
    async with desk() as it:
        await it.outbox.done()


async def test_done_up_to_an_urgency_does_not_wait_for_lesser_ones():
    async with desk() as it:
        it.put("bind", Urgency.BIND)
        it.put("event", Urgency.EVENT, held=True)
        await it.outbox.done(up_to=Urgency.POD)
        assert it.finished == ["bind"]


async def test_done_up_to_an_urgency_does_not_wait_for_lesser_ones_that_are_to_be_sent_again():
    async with desk() as it:
        it.put("event", Urgency.EVENT, answers=[DOWN] * 4)
        await settled()
        await it.outbox.done(up_to=Urgency.POD)
        assert now() == 0


async def test_done_up_to_an_urgency_sees_what_waits_behind_a_lesser_one():
    async with desk() as it:
        it.put("condition", Urgency.POD, held=True, subject="pod a")
        await settled()
        it.put("bind", Urgency.BIND, subject="pod a")
        waiting = asyncio.create_task(it.outbox.done(up_to=Urgency.BIND))
        await settled()
        assert not waiting.done()
        it.open("condition")
        await waiting
        assert it.finished == ["condition", "bind"]


async def test_close_cuts_off_what_is_under_way_and_forgets_the_rest():
    it = Desk(places=1)
    it.put("a", held=True)
    it.put("b")
    it.put("c", subject="pod a", held=True)
    await settled()
    it.put("d", subject="pod a")
    await it.outbox.close()
    await asyncio.sleep(10)
    assert (it.order, it.finished) == (["a"], [])
    assert it.outbox.under_way == 0


async def test_close_forgets_what_was_to_be_sent_again():
    it = Desk()
    it.put("a", answers=[DOWN])
    await settled()
    await it.outbox.close()
    await asyncio.sleep(10)
    assert it.order == ["a"]
    assert it.outbox.waiting == 0


async def test_nothing_is_taken_after_close():
    it = Desk()
    await it.outbox.close()
    it.put("a")
    await asyncio.sleep(10)
    assert it.order == []
    assert it.outbox.waiting == 0


async def test_close_twice_is_as_good_as_once():
    it = Desk()
    it.put("a", held=True)
    await settled()
    await it.outbox.close()
    await it.outbox.close()


async def test_whoever_waits_for_done_is_let_go_by_close():
    it = Desk()
    it.put("a", held=True, subject="pod a")
    await settled()
    it.put("b", subject="pod a")
    waiting = asyncio.create_task(it.outbox.done())
    await settled()
    await it.outbox.close()
    async with asyncio.timeout(5):
        await waiting


# nothing is lost


ERRANDS = st.tuples(
    st.sampled_from(list(Urgency)[:-1]),
    st.sampled_from(["", "a", "b", "c"]),
    st.lists(st.sampled_from([BUSY, DOWN, ERROR]), max_size=3),
    st.sampled_from([0.0, 0.05, 0.5]),
    st.sampled_from([0.0, 0.0, 0.01, 0.1, 3.0]),
)
"""Urgency, subject, answers before it succeeds, seconds that a send takes, seconds until the next is put."""


@settings(max_examples=200, deadline=None)
@given(st.lists(ERRANDS, max_size=30), st.integers(1, 8))
def test_the_newest_of_every_subject_is_done_and_no_two_of_one_are_sent_at_once(errands, places):
    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        runner.run(_no_errand_is_lost(errands, places))


async def _no_errand_is_lost(errands, places):
    outbox = Outbox(limit=Limit(first=places, most=max(4, places)))
    under_way, finished, newest = set(), [], {}
    faults = []

    def errand(number, urgency, subject, answers, seconds):
        answers = list(answers)

        async def send():
            if number in finished:
                faults.append(f"{number} is sent again")
            if subject in under_way:
                faults.append(f"two of {subject} are sent at once")
            if subject and any(done > number for done in finished if errands[done][1] == subject):
                faults.append(f"{number} follows a newer one")
            under_way.update([subject] if subject else [])
            try:
                await asyncio.sleep(seconds)
                if answers:
                    raise answers.pop(0)
                finished.append(number)
            finally:
                under_way.discard(subject)

        return Errand(urgency, send, subject=subject)

    for number, (urgency, subject, answers, seconds, pause) in enumerate(errands):
        outbox.put(errand(number, urgency, subject, answers, seconds))
        newest[subject or number] = number
        await asyncio.sleep(pause)
    async with in_time():
        await outbox.done()
    assert not faults
    assert set(newest.values()) <= set(finished)
    # what was replaced while it waited to be sent again comes up once more, to be thrown away
    await asyncio.sleep(60)
    assert (outbox.waiting, outbox.under_way) == (0, 0)
    await outbox.close()
