"""Plugins that are asked outside the engine: all of a unit are permitted before anything is done, and ready before a
bind; one no, and nobody goes."""

import pytest

from muster.engine.changes import Answered, Failure
from muster.engine.decisions import Bind, Consult, GangCondition, PodCondition, Prepare, TellBound, Withdraw
from muster.framework.by_users import points, roles
from muster.framework.plugin import Plugin
from muster.framework.profile import Profile
from muster.plugins.defaults import default_plugins
from tests.builders import NAMESPACE, World, only, placements
from tests.engine.test_preparing import LATE, claim, mounts, prepared, provision, taken_back


class Door(Plugin):
    """Asked about pods that say so."""

    wait_seconds = 30

    def pre_filter(self, pod):
        return pod.metadata.labels.get("door")

    async def permit(self, pod, node): ...

    async def pre_bind(self, pod, node): ...


class Usher(Door):
    async def post_bind(self, pod, node): ...


def world(kind=Door, nodes="abc", cpu=4):
    found = World(Profile([*default_plugins(), *((role, 1) for role in roles(kind({}), points(kind)))]))
    for name in nodes:
        found.node(name, cpu=cpu, labels={"host": name})
    return found


def gang(world, members, **facts):
    return world.gang("g", members=members, cpu=4, labels={"door": "front"}, **facts)


def asked(decisions, step=None):
    found = [question for one in decisions if isinstance(one, Consult) for question in one.questions]
    return [question for question in found if step in (None, question.step)]


def withdrawn(decisions):
    return [question for one in decisions if isinstance(one, Withdraw) for question in one.questions]


def answer(world, questions, no="", **facts):
    return world.apply(*(Answered(question, no, **facts) for question in questions))


def says(decisions):
    return [(found.reason, found.message) for found in decisions if isinstance(found, GangCondition | PodCondition)]


def test_nobody_is_prepared_before_all_are_permitted_nor_bound_before_all_are_prepared():
    w = gang(world(), 3)
    decided = w.decide()
    permits = asked(decided)
    assert [(one.step, one.plugin, one.pod) for one in permits] == [
        ("permit", "Door", f"{NAMESPACE}/g-{n}") for n in range(3)
    ]
    assert {one.node for one in permits} == set("abc")
    assert not placements(decided)
    decided = answer(w, permits[:2]).decide()
    assert not asked(decided)
    assert says(decided)[-1] == (
        "Preparing",
        "0 of 3 members are ready to be bound: plugin Door has not permitted team/g-2 on "
        f"{permits[2].node} yet; team/g-0 waits until all are permitted; team/g-1 waits until all are permitted",
    )
    prepares = asked(answer(w, permits[2:]).decide())
    assert [one.step for one in prepares] == ["pre_bind"] * 3
    assert not placements(answer(w, prepares[:2]).decide())
    assert len(placements(answer(w, prepares[2:]).decide())) == 3
    assert w.bound().decide()


def test_one_that_is_not_permitted_undoes_its_gang_which_says_so_and_is_tried_again_later():
    w = gang(world(), 3)
    permits = asked(w.decide())
    answer(w, permits[:1])
    decided = answer(w, permits[1:2], "no licence is free").decide()
    assert set(withdrawn(decided)) == set(permits)
    assert all(pod.stage.name == "PENDING" for pod in w.engine.cluster.pods.values())
    message = f"plugin Door does not permit team/g-1 on {permits[1].node}: no licence is free"
    assert says(decided) == [("Unschedulable", message), ("Unschedulable", message)]
    assert not asked(decided), "not again at once"
    again = asked(w.decide(after=20))
    assert len(again) == 3
    assert len(asked(answer(w, again).decide())) == 3
    assert not w.engine._queue.unforeseen


def test_a_lone_pod_that_is_not_permitted_waits_before_it_is_asked_about_again():
    w = world().pod("p", labels={"door": "front"})
    permits = asked(w.decide())
    decided = answer(w, permits, "closed").decide()
    assert says(decided) == [("Unschedulable", f"plugin Door does not permit team/p on {permits[0].node}: closed")]
    assert withdrawn(decided) == permits
    assert not asked(w.decide(after=0.5))
    assert asked(w.decide(after=1))


def test_a_mistake_costs_the_unit_an_attempt_with_the_reason_for_such():
    w = gang(world(), 2)
    prepares = asked(answer(w, asked(w.decide())).decide())
    said = "plugin Door failed in pre_bind: KeyError: 'x' (door.py:3)"
    decided = answer(w, prepares[:1], said, mistake=True).decide()
    assert set(says(decided)) == {("SchedulerError", said)}
    assert len(withdrawn(decided)) == 4
    assert not asked(decided)


def test_a_member_for_whom_no_node_could_be_prepared_is_placed_anew_and_the_others_wait():
    w = gang(world(), 3)
    prepares = asked(answer(w, asked(w.decide())).decide())
    answer(w, prepares[1:])
    decided = answer(w, prepares[:1], "the disk is full").decide()
    assert not placements(decided)
    assert {one.uid for one in withdrawn(decided)} == {"uid-g-0"}
    (permit,) = asked(decided)
    assert (permit.step, permit.uid) == ("permit", "uid-g-0")
    (again,) = asked(answer(w, [permit]).decide())
    assert len(placements(answer(w, [again]).decide())) == 3


def test_a_member_that_its_gang_can_do_without_goes_back_alone():
    w = world().group("g", 2)
    w.members("g", 0, 1, 2, cpu=4, labels={"door": "front"})
    permits = asked(w.decide())
    assert len(permits) == 3
    decided = answer(w, permits[2:], "no licence is free").decide()
    assert [one.uid for one in withdrawn(decided)] == ["uid-g-2"]
    prepares = asked(answer(w, permits[:2]).decide())
    assert sorted(placements(answer(w, prepares).decide())) == ["g-0", "g-1"]


def test_who_never_answers_is_given_up_in_time():
    w = gang(world(), 2)
    permits = asked(w.decide())
    assert not withdrawn(w.decide(after=29))
    decided = w.decide(after=2)
    assert withdrawn(decided) == permits
    assert ("SchedulerError", says(decided)[0][1]) == says(decided)[0]
    assert says(decided)[0][1].startswith("not ready to be bound within 30 s: plugin Door has not permitted team/g-0")


def test_an_answer_to_what_was_withdrawn_is_nobodys():
    w = gang(world(), 2)
    first = asked(w.decide())
    w.decide(after=31)
    second = asked(w.decide(after=20))
    assert len(second) == 2
    assert not asked(answer(w, first).decide())
    assert len(asked(answer(w, second).decide())) == 2


def test_what_pods_bring_is_written_when_all_are_permitted():
    w = world(cpu=4).see(LATE, claim("c0")).group("g", 2)
    w.members("g", 0, cpu=4, volumes=mounts("c0")).members("g", 1, cpu=4, labels={"door": "front"})
    decided = w.decide()
    assert not only(Prepare, decided)
    (permit,) = asked(decided)
    decided = answer(w, [permit]).decide()
    grants = prepared(decided)
    assert list(grants) == [f"{NAMESPACE}/c0"]
    provision(w, grants)
    assert not placements(w.decide())
    assert len(placements(answer(w, asked(decided)).decide())) == 2


def test_what_was_never_written_is_not_written_later():
    w = world(cpu=4).see(LATE, claim("c0")).group("g", 2)
    w.members("g", 0, cpu=4, volumes=mounts("c0")).members("g", 1, cpu=4, labels={"door": "front"})
    (permit,) = asked(w.decide())
    decided = answer(w, [permit], "closed").decide()
    assert not prepared(decided)
    assert taken_back(decided) in ([], [f"{NAMESPACE}/c0"])
    assert not prepared(w.pod_gone("g-1").decide(after=20))


def test_pods_that_do_not_concern_the_plugin_are_bound_at_once():
    w = world(Usher).gang("g", members=2, cpu=4)
    decided = w.decide()
    assert len(placements(decided)) == 2
    assert not asked(decided)
    assert not only(TellBound, w.bound().decide())


def test_plugins_are_told_of_each_pod_that_is_bound_however_that_was_learnt():
    w = world(Usher).pod("p", labels={"door": "front"})
    (prepare,) = asked(answer(w, asked(w.decide())).decide())
    answer(w, [prepare]).decide()
    assert [(one.pod, one.node) for one in only(TellBound, w.bound().decide())] == [("team/p", prepare.node)]


@pytest.mark.parametrize("failure", [Failure.REJECTED, Failure.POD_GONE])
def test_a_bind_that_fails_withdraws_what_was_asked(failure):
    w = world().pod("p", labels={"door": "front"})
    permits = asked(w.decide())
    prepares = asked(answer(w, permits).decide())
    answer(w, prepares).decide()
    assert set(withdrawn(w.bind_failed("p", failure).decide())) >= {*permits, *prepares}


def test_a_gang_whose_node_goes_while_plugins_are_asked_is_not_bound_without_it():
    w = gang(world(nodes="ab"), 2)
    permits = asked(w.decide())
    decided = answer(w.node_gone(permits[0].node), permits).decide()
    assert not asked(decided)
    assert set(withdrawn(decided)) == set(permits)
    assert len(asked(w.node("c", cpu=4).decide(after=20))) == 2


def test_a_restart_asks_again():
    first, second = gang(world(), 2), gang(world(), 2)
    before = asked(answer(first, asked(first.decide())).decide())
    assert {one.step for one in before} == {"pre_bind"}
    assert [one.step for one in asked(second.decide())] == ["permit", "permit"]
    assert not only(Bind, second.decide())
