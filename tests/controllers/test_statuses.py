"""When the status of an object is written, and how often."""

import pytest
from msgspec.structs import replace

from muster.api.wire import read
from muster.controllers.statuses import REST_SECONDS, Statuses
from muster.gangs.dialects import DIALECTS
from muster.gangs.tally import NOBODY, Tally

COSCHEDULING, VOLCANO = (
    next(dialect for dialect in DIALECTS if dialect.name == name) for name in ("coscheduling", "volcano")
)


class World:
    """Objects, their members, and a server that writes what is asked for when it is told to."""

    def __init__(self):
        self.objects = {}
        self.tallies = {}
        self.foreign = set()
        self.asked = []
        self.now = 100.0
        self.statuses = self.restarted()

    def restarted(self):
        self.statuses = Statuses(
            lambda key: self.objects.get(key, {}),
            is_ours=lambda dialect, key: key not in self.foreign,
            tally=lambda key: self.tallies.get(key, NOBODY),
            write=lambda dialect, key: self.asked.append((dialect.name, key)),
        )
        self.statuses.stir(self.objects)
        return self.statuses

    def group(self, name="g", *, dialect=COSCHEDULING, uid="one", status=None, minimum=2):
        document = {"metadata": {"name": name, "namespace": "team", "uid": uid}, "spec": {"minMember": minimum}}
        self.objects.setdefault(f"team/{name}", {})[dialect] = read(dialect.kind, document | {"status": status or {}})
        self.statuses.stir([f"team/{name}"])
        return self

    def members(self, name="g", **counts):
        self.tallies[f"team/{name}"] = Tally(**counts)
        self.statuses.stir([f"team/{name}"])
        return self

    def look(self, *, after=0.0):
        """What was asked for, and is written at once."""
        self.now += after
        self.statuses.look(self.now)
        asked, self.asked = self.asked, []
        for name, key in asked:
            self._write(next(dialect for dialect in self.objects[key] if dialect.name == name), key)
        return asked

    def _write(self, dialect, key):
        fields = self.statuses.news(dialect, key)
        found = self.objects[key][dialect]
        status = read(type(found.status), fields)
        self.objects[key][dialect] = replace(found, status=status)
        self.statuses.stir([key])


@pytest.fixture
def world():
    return World()


ONE = [("coscheduling", "team/g")]


def test_a_group_says_how_it_is_doing_as_soon_as_it_is_seen(world):
    world.group()
    assert world.look() == ONE
    assert world.objects["team/g"][COSCHEDULING].status.phase == "Pending"


def test_what_stands_there_is_not_written_again(world):
    world.group().look()
    assert world.look(after=10.0) == []
    assert world.statuses.next_look_at is None


def test_a_group_that_nobody_stirred_is_not_looked_at(world):
    world.group().look()
    world.look(after=10.0)
    world.tallies["team/g"] = Tally(total=2)
    assert world.look(after=10.0) == []


def test_however_many_pods_change_a_group_is_written_once_a_second(world):
    world.group().members(total=2)
    writes = 0
    for moment in range(1_280):
        world.members(total=1_280, bound=moment, running=moment)
        writes += len(world.look(after=1 / 128))
    assert writes == 10
    world.look(after=REST_SECONDS)
    assert world.objects["team/g"][COSCHEDULING].status.running == 1_279


def test_the_last_change_is_written_when_the_group_has_rested(world):
    world.group().look()
    world.members(total=2, bound=2, running=2)
    assert world.look(after=0.5) == []
    assert world.statuses.next_look_at == pytest.approx(101.0)
    assert world.look(after=0.5) == ONE
    assert world.objects["team/g"][COSCHEDULING].status.phase == "Running"


def test_changes_that_take_each_other_back_are_not_written(world):
    world.group().look()
    world.members(total=2)
    world.members(total=0)
    assert world.look(after=5.0) == []


def test_groups_rest_each_for_itself(world):
    world.group("a").look()
    world.group("b")
    assert world.look(after=0.5) == [("coscheduling", "team/b")]
    world.members("a", total=2).members("b", total=2)
    assert world.look(after=0.5) == [("coscheduling", "team/a")]
    assert world.look(after=0.5) == [("coscheduling", "team/b")]


def test_objects_of_one_name_are_each_written_in_their_own_words(world):
    world.group().group(dialect=VOLCANO)
    assert world.look() == [("coscheduling", "team/g"), ("volcano", "team/g")]
    phases = [found.status.phase for found in world.objects["team/g"].values()]
    assert phases == ["Pending", "Inqueue"]


def test_pods_without_an_object_are_nobodys(world):
    world.members(total=2)
    assert world.look() == []
    assert world.statuses.news(COSCHEDULING, "team/g") == {}


def test_a_group_that_is_made_anew_says_so_from_the_beginning(world):
    world.group(status={"phase": "Finished", "succeeded": 2})
    assert world.look() == []
    world.group(uid="two")
    assert world.look() == ONE


def test_what_somebody_else_wrote_is_put_right_once_a_second(world):
    world.group().look()
    writes = 0
    for _ in range(20):
        world.group(status={"phase": "Running"})
        writes += len(world.look(after=0.25))
    assert writes == 5


def test_another_leader_finds_nothing_to_write(world):
    world.group().members(total=2, bound=2, running=2)
    assert world.look() == ONE
    world.restarted()
    assert world.look() == []


def test_another_leader_writes_what_the_last_one_did_not(world):
    world.group().look()
    world.members(total=2, bound=2, running=2)
    world.restarted()
    assert world.look() == ONE


def test_a_group_that_is_another_schedulers_is_left_to_it(world):
    world.foreign.add("team/g")
    world.group(dialect=VOLCANO, status={"phase": "Running"}).members(total=2)
    assert world.look() == []
    world.foreign.clear()
    world.members(total=3)
    assert world.look() == [("volcano", "team/g")]


def test_what_is_to_be_written_is_what_is_true_when_it_is_sent(world):
    world.group()
    world.statuses.look(world.now)
    world.members(total=2)
    assert world.statuses.news(COSCHEDULING, "team/g")["phase"] == "Scheduling"
