"""What newer errands would lose of what older ones had to say."""

from muster.app.unsaid import Unsaid


def decided(unsaid, *, node="", since=None):
    unsaid.decided("a", node=node, since=since)
    return unsaid.must_be_said("a")


def write(unsaid, *, node=""):
    unsaid.written("a", node=node, since=unsaid.since("a"))


def test_a_time_that_was_not_written_is_kept_for_the_next():
    unsaid = Unsaid()
    decided(unsaid, since=5.0)
    decided(unsaid)
    assert unsaid.since("a") == 5.0


def test_the_first_of_two_times_is_the_true_one():
    unsaid = Unsaid()
    decided(unsaid, since=5.0)
    decided(unsaid, since=6.0)
    assert unsaid.since("a") == 5.0


def test_a_time_is_written_once():
    unsaid = Unsaid()
    decided(unsaid, since=5.0)
    write(unsaid)
    assert unsaid.since("a") is None


def test_a_time_that_came_while_something_older_was_sent_is_still_to_be_written():
    unsaid = Unsaid()
    decided(unsaid)
    before = unsaid.since("a")
    decided(unsaid, since=5.0)
    unsaid.written("a", node="", since=before)
    assert unsaid.since("a") == 5.0


def test_an_ordinary_condition_need_not_last():
    assert not decided(Unsaid(), since=5.0)


def test_a_nomination_and_its_end_must_be_written():
    unsaid = Unsaid()
    assert decided(unsaid, node="n1")
    write(unsaid, node="n1")
    assert decided(unsaid)
    write(unsaid)
    assert not decided(unsaid)


def test_a_nomination_whose_end_was_sent_before_it_was_decided_anew_must_be_ended_again():
    unsaid = Unsaid()
    decided(unsaid, node="n1")
    decided(unsaid)
    decided(unsaid, node="n2")
    unsaid.written("a", node="", since=None)
    assert decided(unsaid)


def test_nothing_is_kept_of_pods_that_said_all_or_were_forgotten():
    unsaid = Unsaid()
    decided(unsaid, node="n1", since=5.0)
    write(unsaid, node="n1")
    decided(unsaid)
    write(unsaid)
    assert not unsaid
    decided(unsaid, node="n1", since=5.0)
    unsaid.forget("a")
    assert not unsaid
    unsaid.forget("a")
