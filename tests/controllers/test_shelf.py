"""What is known of objects: by watch and by answers, never older after newer."""

import pytest

from muster.controllers.objects import Bare, Metadata
from muster.controllers.shelf import Shelf
from muster.kube.reflector import Gone


class Place:
    def __init__(self):
        self.told = []
        self.shelf = Shelf(
            seen=lambda thing: self.told.append(f"{thing.metadata.uid}@{thing.metadata.resource_version}"),
            gone=lambda thing: self.told.append(f"-{thing.metadata.uid}"),
        )

    def watched(self, version, uid="u", name="a"):
        self.shelf.watched(thing(version, uid, name))
        return self

    def answered(self, version, uid="u", name="a", now=0.0):
        self.shelf.answered(thing(version, uid, name), now=now)
        return self

    def gone(self, uid="u", name="a"):
        self.shelf.watched(Gone(f"team/{name}", uid))
        return self


def thing(version, uid, name):
    return Bare(metadata=Metadata(name=name, namespace="team", uid=uid, resource_version=str(version)))


@pytest.mark.parametrize(
    ("happens", "told"),
    [
        (lambda place: place.watched(1).watched(2), ["u@1", "u@2"]),
        (lambda place: place.answered(1).watched(1), ["u@1"]),
        (lambda place: place.watched(1).answered(3).watched(2).watched(3), ["u@1", "u@3"]),
        (lambda place: place.watched(9).answered(10), ["u@9", "u@10"]),
        (lambda place: place.watched(1).gone(), ["u@1", "-u"]),
        (lambda place: place.watched(1).gone().answered(2), ["u@1", "-u"]),
        (lambda place: place.answered(1).gone(), ["u@1", "-u"]),
        (lambda place: place.gone().answered(1), []),
        (lambda place: place.watched(1).watched(5, uid="v"), ["u@1", "-u", "v@5"]),
        (lambda place: place.watched(1).answered(5, uid="v").gone(), ["u@1", "-u", "v@5"]),
        (lambda place: place.answered(5, uid="v").watched(1), ["v@5"]),
        (lambda place: place.watched("x").watched("y"), ["u@x", "u@y"]),
    ],
)
def test_each_state_is_told_once_and_in_order(happens, told):
    place = Place()
    happens(place)
    assert place.told == told


def test_an_answer_that_shows_the_last_of_an_object_ends_it():
    place = Place().watched(5)
    last = Metadata(
        name="a",
        namespace="team",
        uid="u",
        resource_version="5",
        deletion_timestamp="2027-01-15T08:00:00Z",
        deletion_grace_period_seconds=0,
    )
    place.shelf.answered(Bare(metadata=last), now=0.0)
    place.watched(5).watched(4).gone()
    assert place.told == ["u@5", "-u"]


@pytest.mark.parametrize("more", [{"finalizers": ("x/y",)}, {"deletion_grace_period_seconds": 30}])
def test_an_object_on_its_way_out_is_there_while_something_holds_it(more):
    place = Place().watched(5)
    fields = {"deletion_timestamp": "2027-01-15T08:00:00Z", "deletion_grace_period_seconds": 0, **more}
    meta = Metadata(name="a", namespace="team", uid="u", resource_version="6", **fields)
    place.shelf.answered(Bare(metadata=meta), now=0.0)
    assert place.told == ["u@5", "u@6"]


def test_an_object_that_only_an_answer_told_of_is_doubted_after_a_while():
    place = Place().answered(1, now=100.0)
    assert place.shelf.doubts_at == 130.0
    assert place.shelf.doubtful(129.0) == []
    [doubted] = place.shelf.doubtful(130.0)
    assert doubted.metadata.uid == "u"
    assert place.shelf.doubts_at == 160.0, "and again"


def test_an_object_that_a_watch_confirmed_is_not_doubted():
    place = Place().answered(1).watched(1)
    assert place.shelf.doubts_at is None
    place.answered(2)
    assert place.shelf.doubts_at is None


def test_an_object_that_is_gone_is_not_doubted():
    place = Place().answered(1).gone()
    assert place.shelf.doubts_at is None
