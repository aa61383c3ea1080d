"""One story told to an API server in every dialect at once: what becomes of the pods is the same in all of them.

Of each dialect there are four gangs of two: of `quorum` a member comes late, of `late` the object, `big` does not fit,
and `moved` runs and is then declared in another dialect.  What they were declared by is deleted under them in the end.
"""

import asyncio
import contextlib
import json

from muster.base.errors import ApiError
from muster.controllers.protection import FINALIZER
from muster.gangs.dialects.v1beta1 import INITIALLY_SCHEDULED, TIMEOUT_ANNOTATION
from muster.kube.client import MERGE_PATCH, Client
from muster.kube.connection import load
from tests.control_plane.checks import SECONDS, until
from tests.system.dialects import BY_NAME, NATIVE, SPEECHES, definition

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_MUSTER = next(speech for speech in SPEECHES if speech.dialect == "muster")
# one of another parity would be of another replica
MEMBERS = (0, 2)
_MINIMUM = len(MEMBERS)
LATER = 4
"""Who joins once its gang is declared elsewhere, or anew."""
# more than any node has
_TOO_LARGE = "1000"
HIGH = "high"
"""The name of a priority class."""
_AT_ONCE = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}


class Scene:
    """A dialect, in a namespace of its own."""

    def __init__(self, plane, speech, namespace):
        self.speech = speech
        self.namespace = namespace
        self._plane = plane
        self._made_at = {}
        """By gang: the version in which its object began."""

    def __str__(self):
        return f"{self.speech.dialect} in {self.namespace}"

    def declare(self, gang, speech=None, *, minimum=_MINIMUM, timeout="300", annotations=None, spec=None):
        """`annotations` and fields of the `spec` are as the dialect has them."""
        speech = speech or self.speech
        native = {
            "apiVersion": NATIVE.resource.api_version,
            "kind": "PodGroup",
            "metadata": {"name": gang, "annotations": {TIMEOUT_ANNOTATION: timeout, **(annotations or {})}},
            "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}},
        }
        if (document := speech.document(native)) is not None:
            document["spec"] = {**document["spec"], **(spec or {})}
            if speech.dialect == "draft":
                for group in document["spec"]["podGroups"]:
                    group["schedulingTimeoutSeconds"] = int(timeout)
            made = self._plane.request("POST", speech.resource.path(self.namespace), document)
            self._made_at[gang] = made["metadata"]["resourceVersion"]

    def undeclare(self, gang):
        if self.speech.resource is not None:
            self._plane.request("DELETE", self.speech.resource.path(self.namespace, gang))

    def unprotect(self, gang):
        """Takes off what keeps the object that is to be deleted."""
        bare = {"metadata": {"finalizers": None}}
        self._plane.request("PATCH", self.speech.resource.path(self.namespace, gang), bare, content_type=MERGE_PATCH)

    def join(self, gang, number, *, cpu="10m", priority_class="", timeout="300", labels=None, annotations=None):
        """`labels` and `annotations` are what the pod has besides those that name its gang."""
        named, marked, fields = self.speech.marks(gang, number, minimum=_MINIMUM, timeout=timeout)
        container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}
        meta = {
            "name": f"{gang}-{number}",
            "labels": named | (labels or {}),
            "annotations": marked | (annotations or {}),
        }
        spec = {"schedulerName": "muster", "priorityClassName": priority_class, "containers": [container], **fields}
        self._plane.request("POST", self._pods(), {"metadata": meta, "spec": spec})

    def leave(self, gang, number):
        self._plane.request("DELETE", self._pods(f"{gang}-{number}"), _AT_ONCE)

    def _pods(self, name=""):
        return f"/api/v1/namespaces/{self.namespace}/pods{f'/{name}' if name else ''}"

    def pods(self):
        return self._plane.request("GET", self._pods())["items"]

    def bound(self):
        """Names of pods that have a node and stay."""
        found = self.pods()
        stays = [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]
        return sorted(pod["metadata"]["name"] for pod in stays if pod["spec"].get("nodeName"))

    def waiting(self):
        """Names of pods that say why they wait."""
        return sorted(pod["metadata"]["name"] for pod in self.pods() if _waits(pod))

    def remove_pods(self):
        self._plane.request("DELETE", self._pods(), _AT_ONCE)

    def found(self, gang):
        """The object that declares the gang; None if it is gone."""
        try:
            return self._plane.request("GET", self.speech.resource.path(self.namespace, gang))
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    def comes_to_say(self, gang, reason):
        """Whether the object says so of the gang's start, now or in an earlier version: it may do so for a moment."""
        query = {"watch": "1", "resourceVersion": self._made_at[gang], "fieldSelector": f"metadata.name={gang}"}
        versions = _versions(self._plane, self.speech.resource.path(self.namespace), query)

        async def look():
            async with asyncio.timeout(SECONDS), contextlib.aclosing(versions):
                async for found in versions:
                    if any(one["reason"] == reason for one in conditions(found, self.about_start)):
                        return True
            return False

        with contextlib.suppress(TimeoutError):
            return asyncio.run(look())
        return False

    def notes(self, gang):
        """What events say of the object that declares the gang."""
        found = self._plane.request("GET", f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")["items"]
        return [one["note"] for one in found if one["regarding"]["kind"] != "Pod" and one["regarding"]["name"] == gang]

    @property
    def about_start(self):
        """The type of the condition that tells of a gang's start."""
        return BY_NAME[self.speech.dialect].conditions.get(INITIALLY_SCHEDULED, INITIALLY_SCHEDULED)

    @property
    def has_object(self):
        return self.speech.spec is not None

    @property
    def protects(self):
        return self.has_object and BY_NAME[self.speech.dialect].protects

    @property
    def moves_to(self):
        """Another dialect in which the pods name the same gang; None for none."""
        if self.speech.moves == "group":
            return _MUSTER if self.speech.dialect == NATIVE.dialect else NATIVE
        others = [one for one in SPEECHES if one.moves == self.speech.moves and one.dialect != self.speech.dialect]
        return others[0] if self.speech.moves else None


def _waits(pod):
    return any(one["status"] == "False" for one in conditions(pod, "PodScheduled"))


def conditions(found, kind):
    return [one for one in found.get("status", {}).get("conditions") or () if one["type"] == kind]


async def _versions(plane, path, query):
    """Objects as they were and become, by a watch."""
    connection, rest = load(kubeconfig=str(plane.kubeconfig())), b""
    async with (
        Client(connection, user_agent="scene") as client,
        client.stream(path, query=query, seconds=SECONDS) as pieces,
    ):
        async for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield json.loads(line)["object"]


def make_ready(plane):
    """All kinds are served afterwards, and there is a priority class, and a place for Muster's lease."""
    plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": "muster-system"}})
    plane.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": HIGH}, "value": 1000})
    found = [one for speech in SPEECHES if (one := definition(speech.dialect)) is not None]
    for one in {one["metadata"]["name"]: one for one in found}.values():
        plane.request("POST", _DEFINITIONS, one)
    for speech in SPEECHES:
        if speech.resource is not None:
            until(lambda speech=speech: _is_served(plane, speech.resource), f"{speech.resource.name} is not served")


def _is_served(plane, resource):
    try:
        plane.request("GET", resource.path())
    except ApiError as error:
        # a kind that has just come is not there yet, or being made ready
        if error.code not in (404, 429, 503):
            raise
        return False
    return True


def scenes(plane, make_namespace):
    return [Scene(plane, speech, make_namespace()) for speech in (NATIVE, *SPEECHES)]


def tell(told):
    """The story; afterwards nothing of it is left that would hold up a namespace."""
    _assemble(told)
    _start(told)
    _move(told)
    _end(told)


def _assemble(told):
    for scene in told:
        scene.declare("quorum")
        scene.join("quorum", MEMBERS[0])
        scene.declare("big")
        scene.join("big", MEMBERS[0])
        scene.join("big", MEMBERS[1], cpu=_TOO_LARGE)
        scene.declare("moved")
        for gang in ("moved", "late") if scene.has_object else ("moved",):
            for number in MEMBERS:
                scene.join(gang, number)
    for scene in told:
        late = ["late-0", "late-2"] if scene.has_object else []
        until(lambda scene=scene: scene.bound() == ["moved-0", "moved-2"], f"{scene}: moved starts")
        words = ["big-0", "big-2", *late, "quorum-0"]
        until(lambda scene=scene, words=words: scene.waiting() == words, f"{scene}: {words} say why they wait")


def _start(told):
    for scene in told:
        scene.join("quorum", MEMBERS[1])
        if scene.has_object:
            scene.declare("late")
    for scene in told:
        whole = ["moved-0", "moved-2", "quorum-0", "quorum-2"]
        whole = ["late-0", "late-2", *whole] if scene.has_object else whole
        until(lambda scene=scene, whole=whole: scene.bound() == whole, f"{scene}: all have started that fit")
        assert scene.waiting() == ["big-0", "big-2"]


def _move(told):
    """Nothing that runs is released, wherever it is declared and whatever is deleted."""
    before = {scene.namespace: scene.bound() for scene in told}
    protected = [scene for scene in told if scene.protects and scene.speech.dialect != NATIVE.dialect]
    for scene in protected:
        until(lambda scene=scene: FINALIZER in (scene.found("moved")["metadata"].get("finalizers") or ()), f"{scene}")
    for scene in told:
        if scene.moves_to is not None:
            scene.declare("moved", scene.moves_to)
            scene.join("moved", LATER)
        for gang in ("moved", "quorum"):
            scene.undeclare(gang)
    # whoever comes after all that was decided comes after what the deletions led to
    for scene in told:
        scene.declare("after")
        for number in MEMBERS:
            scene.join("after", number)
    for scene in told:
        joined = [] if scene.moves_to is None else [f"moved-{LATER}"]
        whole = sorted([*before[scene.namespace], *joined, "after-0", "after-2"])
        until(lambda scene=scene, whole=whole: scene.bound() == whole, f"{scene}: {whole} run on")
    for scene in protected:
        assert scene.found("quorum")["metadata"]["deletionTimestamp"], scene


def _end(told):
    """What was kept for its pods goes with them."""
    for scene in told:
        scene.remove_pods()
    for scene in told:
        if scene.protects and scene.speech.dialect != NATIVE.dialect:
            until(lambda scene=scene: scene.found("quorum") is None, f"{scene}: what nobody uses is let go")
