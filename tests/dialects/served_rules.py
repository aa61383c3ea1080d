"""What dialects say beyond a minimum, told to an API server in all of them at once, by the scenes of `served`.

Of each dialect that has words for it there is a gang whose object is made anew while it runs, one of two replicas, one
of two parts, one whose members are of another priority than it is, and one that waits for its start no longer than it
likes to.  Each of them lacks something first, and then gets it.
"""

from controlplane.nodes import make_nodes
from muster.controllers.protection import FINALIZER
from muster.gangs.dialects.v1beta1 import (
    START_TIMEOUT_ANNOTATION,
    SUBSET_LABEL,
    SUBSETS_ANNOTATION,
)
from muster.gangs.dialects.volcano import TASK_ANNOTATION
from tests.control_plane.checks import until
from tests.dialects.served import HIGH, LATER, MEMBERS, conditions
from tests.system.dialects import BY_NAME, NATIVE

_BY_ANNOTATION = ("v1beta1", "v1alpha2", "muster")
"""Where minimums of parts stand in an annotation."""
_WITH_CLASS = ("v1beta1", "v1alpha2", "muster", "volcano", "kai")
"""Where a group says how important it is."""
_WITH_ONE_PRIORITY = (*_WITH_CLASS, "subsets")
# of another parity: of another replica
_OF_SECOND = (1, 3)
_START_SECONDS = "2"
# shorter than that, so that it has passed by then
_SOON_SECONDS = "1"
# less than the five seconds after which whoever may not be bound is given up
_HALF_SECONDS = "2"
# more than a node has before there is room
_LARGE = "9"
_ROOM = "500"
REFUSED = f"half-{MEMBERS[1]}"
"""The pod that cannot be bound where there is a policy against it."""


def tell_rules(plane, told):
    """The stories; nothing of others may run in the namespaces any more."""
    kept = _make_anew([scene for scene in told if scene.has_object])
    _lack(told)
    _complete(plane, told)
    for scene, lives in kept:
        assert _lives(scene, "remade").items() >= lives.items(), f"{scene}: of what ran nothing is lost or restarted"


def tell_of_a_half(told):
    """Of a server that refuses to bind `REFUSED`: the other is released when the time of the gang is over."""
    for scene in told:
        scene.declare("half", timeout=_HALF_SECONDS)
        for number in MEMBERS:
            scene.join("half", number, timeout=_HALF_SECONDS)
    for scene in told:
        until(lambda scene=scene: _was_released(scene), f"{scene}: what is bound is released")
        assert scene.bound() == [], f"{scene}: {scene.bound()} run"
    for scene in told:
        scene.remove_pods()


def _was_released(scene):
    (bound,) = [pod for pod in scene.pods() if pod["metadata"]["name"] != REFUSED]
    said = [one["reason"] for one in conditions(bound, "DisruptionTarget")]
    return said == ["Timeout"] and "nodeName" in bound["spec"] and "deletionTimestamp" in bound["metadata"]


# --- an object is made anew ---


def _make_anew(told):
    """Who runs then, by scene.  Somebody takes off what protects the object, and asks for more than there is, and that
    soon: nobody who runs is asked to go for that."""
    for scene in told:
        scene.declare("remade")
        for number in MEMBERS:
            scene.join("remade", number)
    for scene in told:
        until(lambda scene=scene: scene.bound() == _named("remade", MEMBERS), f"{scene}: the gang starts")
        if _protects(scene):
            until(lambda scene=scene: _is_protected(scene), f"{scene}: what is in use is protected")
    kept = [(scene, _lives(scene, "remade")) for scene in told]
    for scene in told:
        scene.undeclare("remade")
        assert not _protects(scene) or scene.found("remade")["metadata"]["deletionTimestamp"], f"{scene}: it is kept"
        # nobody gives a finalizer to what is being deleted
        if scene.found("remade") is not None:
            scene.unprotect("remade")
        assert scene.found("remade") is None, f"{scene}: what nobody protects goes"
        scene.declare("remade", minimum=len(MEMBERS) + 1, timeout=_SOON_SECONDS)
    for scene in told:
        if _protects(scene):
            until(lambda scene=scene: _is_protected(scene), f"{scene}: what was made anew is protected")
    return kept


def _protects(scene):
    # Kubernetes has a controller for its own
    return scene.protects and scene.speech.dialect != NATIVE.dialect


def _is_protected(scene):
    return FINALIZER in (scene.found("remade")["metadata"].get("finalizers") or ())


def _lives(scene, gang):
    """By name: the pods of a gang that stay, and where."""
    return {
        name: (pod["metadata"]["uid"], pod["spec"].get("nodeName"))
        for pod in scene.pods()
        if (name := pod["metadata"]["name"]).startswith(f"{gang}-") and "deletionTimestamp" not in pod["metadata"]
    }


# --- what lacks something ---


def _lack(told):
    for scene in told:
        _declare(scene)
    for scene in told:
        start = [
            *(_named("remade", MEMBERS) if scene.has_object else ()),
            *(_named("replicas", MEMBERS) if _has_replicas(scene) else ()),
        ]
        until(lambda scene=scene, start=start: scene.bound() == start, f"{scene}: {start} start")
        until(lambda scene=scene: scene.waiting() == _lacking(scene), f"{scene}: {_lacking(scene)} say why they wait")
        if _has_priority(scene):
            until(lambda scene=scene: _tells_of_priorities(scene), f"{scene}: members of another priority are told of")
        if scene.has_object:
            until(lambda scene=scene: _tells_of_its_timeout(scene), f"{scene}: the gang steps back")
        assert scene.bound() == start, f"{scene}: {scene.bound()} run, not {start}"


def _declare(scene):
    # the first, since its time is counted from now; meanwhile that of what was made anew passes too
    if scene.has_object:
        scene.declare("impatient", **_impatience(scene))
        for number in MEMBERS:
            scene.join("impatient", number, cpu=_LARGE)
    if _has_replicas(scene):
        scene.declare("replicas")
        for number in (*MEMBERS, _OF_SECOND[0]):
            scene.join("replicas", number)
    if _has_parts(scene):
        scene.declare("parts", **_parts(scene))
        for number in MEMBERS:
            scene.join("parts", number, **_part(scene, "worker"))
    if _has_priority(scene):
        scene.declare("unlike", spec={"priorityClassName": HIGH} if scene.speech.dialect in _WITH_CLASS else {})
        scene.join("unlike", MEMBERS[0], priority_class=HIGH)
        scene.join("unlike", MEMBERS[1])


def _lacking(scene):
    return sorted(
        [
            *(_named("impatient", MEMBERS) if scene.has_object else ()),
            *(_named("parts", MEMBERS) if _has_parts(scene) else ()),
            *(_named("replicas", _OF_SECOND[:1]) if _has_replicas(scene) else ()),
            *(_named("unlike", MEMBERS) if _has_priority(scene) else ()),
        ]
    )


def _tells_of_priorities(scene):
    """The group says it where it has conditions; so does who is of another priority than the group."""
    dialect = BY_NAME[scene.speech.dialect]
    speak = []
    if dialect.has_status:
        speak.append(conditions(scene.found("unlike"), scene.about_start))
    if dialect.name in _WITH_CLASS:
        (odd,) = [pod for pod in scene.pods() if pod["metadata"]["name"] == f"unlike-{MEMBERS[1]}"]
        speak.append(conditions(odd, "PodScheduled"))
    return all([one["reason"] for one in said] == ["PodGroupError"] for said in speak)


def _tells_of_its_timeout(scene):
    """By its condition if it has one, and by an event."""
    notes = scene.notes("impatient")
    if not any(f"has not started within {_START_SECONDS} s" in note for note in notes):
        return False
    return not BY_NAME[scene.speech.dialect].has_status or scene.comes_to_say("impatient", "Timeout")


# --- what was lacking comes ---


def _complete(plane, told):
    for scene in told:
        if scene.has_object:
            scene.join("remade", LATER)
        if _has_replicas(scene):
            scene.join("replicas", _OF_SECOND[1])
        if _has_parts(scene):
            scene.join("parts", LATER, **_part(scene, "leader"))
        if _has_priority(scene):
            scene.leave("unlike", MEMBERS[1])
            scene.join("unlike", LATER, priority_class=HIGH)
    make_nodes(plane, 1, cpu=_ROOM, prefix="room")
    for scene in told:
        until(lambda scene=scene: scene.bound() == _whole(scene), f"{scene}: {_whole(scene)} run")


def _whole(scene):
    return sorted(
        [
            *(_named("impatient", MEMBERS) if scene.has_object else ()),
            *(_named("remade", (*MEMBERS, LATER)) if scene.has_object else ()),
            *(_named("parts", (*MEMBERS, LATER)) if _has_parts(scene) else ()),
            *(_named("replicas", (*MEMBERS, *_OF_SECOND)) if _has_replicas(scene) else ()),
            *(_named("unlike", (MEMBERS[0], LATER)) if _has_priority(scene) else ()),
        ]
    )


# --- words that only some have ---


def _impatience(scene):
    """How an object says how long its gang waits for its start."""
    if scene.speech.dialect == "draft":
        return {"timeout": _START_SECONDS}
    return {"annotations": {START_TIMEOUT_ANNOTATION: _START_SECONDS}}


def _has_replicas(scene):
    return scene.speech.labels("", _OF_SECOND[0]) != scene.speech.labels("", MEMBERS[0])


def _has_parts(scene):
    return scene.speech.dialect in (*_BY_ANNOTATION, "subsets", "volcano")


def _parts(scene):
    """How an object says that its gang is of a leader and a worker."""
    minimums = {"leader": 1, "worker": 1}
    if scene.speech.dialect == "subsets":
        return {"spec": {"subsets": [{"name": name, "minMember": least} for name, least in minimums.items()]}}
    if scene.speech.dialect == "volcano":
        return {"spec": {"minTaskMember": minimums}}
    return {"annotations": {SUBSETS_ANNOTATION: ",".join(f"{name}={least}" for name, least in minimums.items())}}


def _part(scene, name):
    """How a pod says which part it is of."""
    if scene.speech.dialect == "volcano":
        return {"annotations": {TASK_ANNOTATION: name}}
    return {"labels": {SUBSET_LABEL: name}}


def _has_priority(scene):
    return scene.speech.dialect in _WITH_ONE_PRIORITY


def _named(gang, numbers):
    return [f"{gang}-{number}" for number in numbers]
