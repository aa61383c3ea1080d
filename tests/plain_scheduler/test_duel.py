"""What the duel does not compare, since Muster is meant to differ from kube-scheduler there."""

from tests.plain_scheduler.duel import Duel
from tests.plain_scheduler.random_clusters import HOSTNAME
from tests.plain_scheduler.random_priorities import RankedWorld, ranked_surroundings
from tests.plain_scheduler.standing_in import PlainOne

AROUND = ranked_surroundings()
SEED = 1
"""One with which a pod waits for those who leave for it."""


def node(name, *, cpu):
    room = {"cpu": cpu, "memory": "8Gi", "pods": "20"}
    labels = {HOSTNAME: name, "room": "one"}
    return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": {"allocatable": room}}


def pod(name, *, app, priority, cpu, **spec):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    fields = {"containers": [container], "schedulerName": "default-scheduler", "priorityClassName": priority}
    return {"metadata": {"name": name, "namespace": "red", "labels": {"app": app}}, "spec": {**fields, **spec}}


def far_from(app, within=HOSTNAME):
    return {"podAntiAffinity": _required(app, within)}


def near_to(app):
    return {"podAffinity": _required(app, HOSTNAME)}


def _required(app, within):
    term = {"topologyKey": within, "labelSelector": {"matchLabels": {"app": app}}}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def seen_of(nodes, placed, *coming):
    started = {each["metadata"]["name"]: "2026-01-01T00:00:00Z" for each in placed}
    world = RankedWorld(SEED, nodes, placed, set(), set(), {}, list(coming), started)
    duel = Duel(PlainOne(AROUND), world)
    duel.run()
    assert duel.differences == []
    return duel.seen


def test_whom_the_one_that_waits_keeps_off_is_tied_to_it_where_there_is_room_for_both():
    # upstream does not ask InterPodAffinity about the last one at all: nobody who runs has terms, nor has it
    seen = seen_of(
        [node("n0", cpu="4"), node("n1", cpu="4")],
        [
            pod("old-0", app="web", priority="low", cpu="100m", nodeName="n0"),
            pod("old-1", app="web", priority="high", cpu="100m", nodeName="n1"),
        ],
        pod("new-0", app="db", priority="high", cpu="3", affinity=far_from("web")),
        pod("new-1", app="web", priority="middle", cpu="800m"),
    )
    assert seen["evicting"] == 1
    assert seen["tied to one that waits, not compared"] == 1


def test_others_are_compared_beside_the_one_that_waits():
    seen = seen_of(
        [node("n0", cpu="4")],
        [pod("old-0", app="web", priority="low", cpu="100m", nodeName="n0")],
        pod("new-0", app="db", priority="high", cpu="3", affinity=far_from("web")),
        pod("new-1", app="job", priority="middle", cpu="800m"),
    )
    assert seen["beside one that waits"] == 1
    assert seen["landed"] == 1


def test_one_that_waits_goes_where_a_friend_has_come_meanwhile():
    seen = seen_of(
        [node("n0", cpu="4"), node("n1", cpu="4")],
        [
            pod("old-0", app="web", priority="high", cpu="1", nodeName="n0"),
            pod("old-1", app="db", priority="low", cpu="3", nodeName="n0"),
        ],
        pod("new-0", app="db", priority="high", cpu="3", affinity=near_to("web")),
        pod("new-1", app="web", priority="middle", cpu="1"),
    )
    assert seen["evicting"] == 1
    assert seen["need not wait, not compared"] == 1


def test_one_that_waits_goes_where_it_may_when_the_first_of_two_has_gone():
    seen = seen_of(
        [node("n0", cpu="4"), node("n1", cpu="4")],
        [
            pod("old-0", app="web", priority="low", cpu="100m", nodeName="n0", affinity=far_from("db", within="room")),
            pod("old-1", app="web", priority="low", cpu="3", nodeName="n0"),
            pod("old-2", app="job", priority="high", cpu="100m", nodeName="n1"),
        ],
        pod("new-0", app="db", priority="high", cpu="3"),
    )
    assert seen["evicting"] == 1
    assert seen["need not wait, not compared"] == 1
