"""What a scenario's step says, as requests to an API server."""

import asyncio
from functools import singledispatchmethod
from itertools import groupby

import msgspec

from muster.api.kinds import CLAIMS, KINDS, VOLUMES
from muster.api.resources import CUSTOM_POD_GROUPS, DISRUPTION_BUDGETS, NODES, PODS, PRIORITY_CLASSES
from muster.api.wire import Pod, PodGroup, read
from muster.base.errors import ApiError, ObjectError
from muster.gangs.dialects import gang_of
from muster.gangs.dialects.v1beta1 import GROUP_LABEL
from muster.kube.client import JSON, MERGE_PATCH
from muster.sim.objects import stop_seconds
from muster.sim.scenario import manifests
from muster.sim.scenario.actions import (
    ChangeBudget,
    ChangeGang,
    ChangeNode,
    Create,
    Delete,
    DisturbBinds,
    Drain,
    EndPods,
    LabelPods,
    LoseNode,
    RefKind,
    Restart,
    Ungate,
)

READ = {kind.resource.kind: kind for kind in KINDS.values()}
"""What plugins read, by the name that manifests have for it."""
AT_ONCE = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
_TOGETHER = 32
_ADMISSION_SECONDS = 10


class Requests:
    """A client with JSON in and out."""

    def __init__(self, client):
        self._client = client
        self._places = asyncio.Semaphore(_TOGETHER)

    async def __call__(self, method, path, body=None, *, content_type=JSON, **query):
        data = None if body is None else msgspec.json.encode(body)
        async with self._places:
            answer = await self._client.request(method, path, body=data, content_type=content_type, query=query)
        return msgspec.json.decode(answer)

    async def if_there(self, method, path, body=None, *, content_type=JSON):
        """The same of something that may have gone."""
        try:
            await self(method, path, body, content_type=content_type)
        except ApiError as error:
            if error.code != 404:
                raise

    async def remove(self, path):
        """Something that somebody may protect who is not there."""
        await self.if_there("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE_PATCH)
        await self.if_there("DELETE", path)


class Hands:
    """Does to a real cluster what a step says.  ApiError where the server refuses.

    `groups` is the API that PodGroups are written to.  Where it is Muster's own, pods name their group by label, as
    an API server without gangs of its own wants it.
    """

    def __init__(self, stage, requests, *, groups):
        self._stage = stage
        self._requests = requests
        self._groups = groups
        self.made = []
        """Paths of what whoever cleans up does not find by itself."""
        self.read = {}
        """Kinds of which it has made some, of those that plugins read."""

    async def perform(self, action):
        await self._do(action)

    @singledispatchmethod
    async def _do(self, action):
        raise AssertionError(f"nobody knows how to do {action}")

    # --- creating ---

    @_do.register
    async def _(self, action: Create):
        # one kind after the other, each in parallel: who is older is settled before anything is sent
        for _, same in groupby(action.manifests, key=lambda manifest: manifest["kind"]):
            await asyncio.gather(*[self._create(manifest, self._stage.next_age()) for manifest in same])

    async def _create(self, manifest, age):
        kind = manifest["kind"]
        if kind == "Pod":
            pod = read(Pod, await self._requests("POST", PODS.path(_namespace(manifest)), self._as_pod(manifest)))
            self._stage.saw_pod(pod, age)
        elif kind == "PodGroup":
            manifest = {**manifest, "apiVersion": self._groups.api_version}
            made = await self._requests("POST", self._groups.path(_namespace(manifest)), manifest)
            self._stage.saw_group(read(PodGroup, made), age)
        elif kind == "PriorityClass":
            await self._requests("POST", PRIORITY_CLASSES.path(), manifest)
            self.made.append(PRIORITY_CLASSES.path(name=manifest["metadata"]["name"]))
            await self._admitted(manifest)
        elif kind == "PodDisruptionBudget":
            await self._requests("POST", DISRUPTION_BUDGETS.path(_namespace(manifest)), manifest)
            await self._allow(manifests.key(manifest), manifest["status"]["disruptionsAllowed"])
        elif kind in READ:
            resource = READ[kind].resource
            self.read[READ[kind]] = None
            if READ[kind] is CLAIMS:
                # they get some
                self.read[VOLUMES] = None
            await self._requests("POST", resource.path(_namespace(manifest)), manifest)
            path = resource.path(_namespace(manifest), manifest["metadata"]["name"])
            self.made.append(path)
            if status := manifest.get("status"):
                await self._requests("PATCH", f"{path}/status", {"status": status}, content_type=MERGE_PATCH)
        else:
            await self._requests("POST", NODES.path(), manifest)
            self.made.append(NODES.path(name=manifest["metadata"]["name"]))

    def _as_pod(self, manifest):
        group = manifest["spec"].get("schedulingGroup")
        if not group or self._groups not in CUSTOM_POD_GROUPS:
            return manifest
        metadata, spec = dict(manifest["metadata"]), dict(manifest["spec"])
        del spec["schedulingGroup"]
        # a label that is there is the owner's: the field may be a controller's
        metadata["labels"] = {GROUP_LABEL: group["podGroupName"], **metadata.get("labels", {})}
        return {**manifest, "metadata": metadata, "spec": spec}

    async def _admitted(self, priority_class):
        """Returns when pods may name the class: admission learns of it a moment after it was made."""
        wanted = priority_class["value"]
        spec = {
            "containers": [{"name": "main", "image": "none"}],
            "priorityClassName": priority_class["metadata"]["name"],
        }
        probe = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": spec}
        async with asyncio.timeout(_ADMISSION_SECONDS):
            while await self._probed(probe) != wanted:
                await asyncio.sleep(0.02)

    async def _probed(self, probe):
        try:
            return (await self._requests("POST", PODS.path("default"), probe, dryRun="All"))["spec"]["priority"]
        except ApiError as error:
            if error.code != 403:
                raise
            return None

    # --- taking away ---

    @_do.register
    async def _(self, action: Delete):
        what = action.what
        if what.kind is RefKind.POD:
            await self._delete_pods([self._pod(what.key)])
            return
        if what.kind is RefKind.BUDGET:
            await self._requests("DELETE", _path(DISRUPTION_BUDGETS, what.key))
            return
        if what.kind is RefKind.OBJECT:
            kind, _, name = what.key.partition("/")
            await self._requests.remove(READ[kind].resource.path(manifests.NAMESPACE, name))
            return
        pods = [] if what.kind is RefKind.GROUP else self._members(what.key)
        await self._requests.if_there("DELETE", _path(self._groups, what.key))
        await self._delete_pods(pods)

    @_do.register
    async def _(self, action: LoseNode):
        await self._requests("DELETE", NODES.path(name=action.node))
        pods = self._pods_on(action.node)
        await asyncio.gather(*[self._requests("DELETE", _path(PODS, _key(pod)), AT_ONCE) for pod in pods])

    @_do.register
    async def _(self, action: Drain):
        await self._patch(NODES.path(name=action.node), {"spec": {"unschedulable": True}})
        await self._delete_pods(self._pods_on(action.node))

    async def _delete_pods(self, pods):
        """Who needs time to stop is asked to; who does not is gone before anybody looks."""

        async def delete(pod):
            await self._requests("DELETE", _path(PODS, _key(pod)), None if stop_seconds(pod) else AT_ONCE)

        await asyncio.gather(*[delete(pod) for pod in pods])

    # --- changing ---

    @_do.register
    async def _(self, action: ChangeNode):
        path = NODES.path(name=action.node)
        spec = {}
        if action.unschedulable is not None:
            spec["unschedulable"] = action.unschedulable
        if action.taints is not None:
            spec["taints"] = action.taints
        labels = dict.fromkeys(action.unlabel) | action.labels
        await self._patch(path, {"metadata": {"labels": labels}, "spec": spec})
        if action.allocatable:
            await self._patch(f"{path}/status", {"status": {"allocatable": action.allocatable}})

    @_do.register
    async def _(self, action: ChangeGang):
        policy = {"gang": {"minCount": action.minimum}}
        spec = {} if action.minimum is None else {"schedulingPolicy": policy}
        patch = {"metadata": {"annotations": action.annotations}, "spec": spec}
        await self._patch(_path(self._groups, action.gang), patch)

    @_do.register
    async def _(self, action: ChangeBudget):
        await self._allow(action.budget, action.allowed)

    async def _allow(self, budget, disruptions):
        # whoever counts disruptions is not there
        await self._patch(
            f"{_path(DISRUPTION_BUDGETS, budget)}/status", {"status": {"disruptionsAllowed": disruptions}}
        )

    @_do.register
    async def _(self, action: EndPods):
        what = action.what
        pods = [self._pod(what.key)] if what.kind is RefKind.POD else self._members(what.key)
        running = [pod for pod in pods if pod.status.phase == "Running"]
        if not running:
            raise ObjectError(f"{what} does not run")
        for pod in running:
            await self._stage.end_pod(pod, failed=action.failed, reason=action.reason)

    @_do.register
    async def _(self, action: Ungate):
        await self._patch_pods(action.what, {"spec": {"schedulingGates": None}})

    @_do.register
    async def _(self, action: LabelPods):
        await self._patch_pods(action.what, {"metadata": {"labels": action.labels}})

    async def _patch_pods(self, what, patch):
        keys = [what.key] if what.kind is RefKind.POD else [_key(pod) for pod in self._members(what.key)]
        if not keys:
            raise ObjectError(f"{what} has no pods")
        for key in keys:
            await self._patch(_path(PODS, key), patch)

    async def _patch(self, path, patch):
        await self._requests("PATCH", path, patch, content_type=MERGE_PATCH)

    # --- disturbing ---

    @_do.register
    async def _(self, action: DisturbBinds):
        self._stage.faults.order(action)

    @_do.register
    async def _(self, action: Restart):
        self._stage.faults.losing(action.lost)
        await self._stage.restart()

    # --- finding ---

    def _pod(self, key):
        for pod in self._stage.pods.values():
            if _key(pod) == key:
                return pod
        raise ObjectError(f'pods "{key}" not found')

    def _members(self, gang):
        groups = self._stage.groups
        return [pod for pod in self._stage.pods.values() if gang_of(pod, groups) == gang]

    def _pods_on(self, node):
        return [pod for pod in self._stage.pods.values() if pod.spec.node_name == node]


def _namespace(manifest):
    namespace = manifest["metadata"].get("namespace", "default")
    assert namespace == "default", "scenarios are played in the default namespace"
    return namespace


def _path(resource, key):
    namespace, _, name = key.rpartition("/")
    return resource.path(namespace, name)


def _key(pod):
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
