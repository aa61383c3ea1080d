"""Keys are looked at when they are due, one look each at a time, and again when something went wrong."""

import pytest

from muster.api.calls import Create, Done, Lost, Patch, Refused, Say
from muster.controllers.desk import Again, Desk


def patch(name, **options):
    return Patch(path=f"/api/v1/nodes/{name}", body={}, **options)


class Room:
    """A desk whose looks are given as functions of the key."""

    def __init__(self, look, **options):
        self.begun = []
        self.desk = Desk(self._look, **options)
        self._inner = look

    def _look(self, key):
        self.begun.append(key)
        yield from self._inner(key)

    def work(self, now=0.0):
        return self.desk.work(now)


def one_call(key):
    yield [patch(key)]


def test_a_key_is_looked_at_once():
    room = Room(one_call)
    room.desk.add("a")
    room.desk.add("a")
    [call] = room.work()
    assert call.path.endswith("/a")
    room.desk.answered(call, Done())
    assert room.work() == []
    assert room.desk.next_at is None


def test_keys_are_looked_at_in_the_order_of_their_times():
    room = Room(one_call)
    for key, at in (("late", 9), ("early", 1), ("middle", 5)):
        room.desk.add(key, at=at)
    assert room.desk.next_at == 1
    assert [call.path[-5:] for call in room.work(6)] == ["early", "iddle"]
    assert room.desk.next_at == 9


def test_the_earliest_of_several_times_counts():
    room = Room(one_call)
    room.desk.add("a", at=9)
    room.desk.add("a", at=2)
    room.desk.add("a", at=5)
    assert room.desk.next_at == 2
    [call] = room.work(2)
    room.desk.answered(call, Done())
    assert room.work(100) == []


def test_a_key_that_is_added_while_it_is_looked_at_is_looked_at_again_afterwards():
    room = Room(one_call)
    room.desk.add("a")
    [call] = room.work()
    room.desk.add("a")
    assert room.work(1) == []
    assert room.desk.next_at is None, "not before the answer"
    room.desk.answered(call, Done())
    assert len(room.work(1)) == 1
    assert room.begun == ["a", "a"]


def test_a_look_goes_on_when_all_answers_of_a_batch_have_come():
    heard = []

    def look(key):
        heard.append((yield [patch("x"), patch("y")]))
        heard.append((yield [patch("z")]))

    room = Room(look)
    room.desk.add("a")
    x, y = room.work()
    room.desk.answered(y, Done(b"2"))
    assert room.work() == []
    room.desk.answered(x, Done(b"1"))
    [z] = room.work()
    room.desk.answered(z, Done(b"3"))
    room.work()
    assert heard == [[Done(b"1"), Done(b"2")], [Done(b"3")]]


def test_nobody_waits_for_what_is_only_said():
    said = Say(component="c", kind="Pod", api_version="v1", name="p", reason="R", message="m")
    heard = []

    def look(key):
        heard.append((yield [said]))
        heard.append((yield []))
        heard.append((yield [said, patch("x")]))

    room = Room(look)
    room.desk.add("a")
    *words, call = room.work()
    assert words == [said, said]
    assert heard == [[Done()], []]
    room.desk.answered(call, Done(b"x"))
    room.work()
    assert heard[2] == [Done(), Done(b"x")]


@pytest.mark.parametrize("answer", [Refused(code=409), Refused(code=500), Lost()])
def test_a_refusal_ends_the_look_and_leads_to_another(answer):
    ended = []

    def look(key):
        try:
            yield [patch("x")]
            ended.append("went on")
        finally:
            ended.append("closed")

    room = Room(look, first=1.0, last=4.0)
    room.desk.add("a")
    times = []
    for _ in range(5):
        [call] = room.work(room.desk.next_at)
        room.desk.answered(call, answer)
        now = room.desk.now
        room.work(now)
        times.append(room.desk.next_at - now)
    assert times == [1, 2, 4, 4, 4]
    assert set(ended) == {"closed"}
    [call] = room.work(room.desk.next_at)
    room.desk.answered(call, Done())
    room.work(100)
    assert room.desk.next_at is None
    room.desk.add("a", at=200)
    [call] = room.work(200)
    room.desk.answered(call, answer)
    room.work(200)
    assert room.desk.next_at == 201, "a success makes the failures before it forgotten"


@pytest.mark.parametrize(
    ("call", "answer", "goes_on"),
    [
        (patch("x"), Refused(code=404), True),
        (patch("x", gone_is_fine=False), Refused(code=404), False),
        (patch("x"), Refused(code=422, message="metadata.uid: Invalid value: 1: field is immutable"), True),
        (patch("x"), Refused(code=422, message="spec.x: Invalid value"), False),
        (patch("x"), Refused(code=409, message="... the UID in the precondition (1) does not match ..."), True),
        (Create(path="/api/v1/nodes", body={}), Refused(code=404), False),
        (patch("x", told=True), Refused(code=500), True),
    ],
)
def test_what_is_gone_needs_no_change_and_who_asked_to_be_told_is(call, answer, goes_on):
    heard = []

    def look(key):
        heard.append((yield [call]))

    room = Room(look)
    room.desk.add("a")
    [sent] = room.work()
    room.desk.answered(sent, answer)
    room.work()
    assert heard == ([[answer]] if goes_on else [])


def test_a_look_may_ask_for_another_one():
    def look(key):
        yield [patch("x")]
        raise Again

    room = Room(look, first=3.0)
    room.desk.add("a")
    [call] = room.work(10)
    room.desk.answered(call, Done())
    room.work(10)
    assert room.desk.next_at == 13


def test_a_bug_in_one_look_does_not_take_the_others_with_it():
    def look(key):
        if key == "bad":
            raise RuntimeError("bug")
        yield [patch(key)]

    room = Room(look, first=7.0)
    for key in ("one", "bad", "two"):
        room.desk.add(key)
    with pytest.raises(RuntimeError):
        room.work()
    assert [call.path.rpartition("/")[2] for call in room.work()] == ["one", "two"]
    assert room.desk.next_at == 7, "and is tried again"


def test_a_call_of_somebody_else_is_not_taken():
    assert Room(one_call).desk.answered(patch("x"), Done()) is False
