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
