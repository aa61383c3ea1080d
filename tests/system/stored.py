"""What must hold of the objects that the server stores, whoever writes them.

writers         nobody changes what is not its own: processes by a table, appliers by the fields that they named
living owners   the garbage collector deletes nothing that has an owner which lives, or never had one
dead owners     when it is quiet: nothing is left whose owners are all gone, and nobody waits to be let go
namespaces      ... and no namespace is on its way out, and nothing is left of one that is gone
jobs            ... and a Job has as many pods as it wants, and says so; one that is over has none, and holds none
budgets         ... and a budget says how many of its pods are healthy, and how many may go
starts again    a server that starts with what another one kept serves the same kinds
kept            ... and holds the same objects: all that was acknowledged, and nothing else
"""

from collections import defaultdict
from contextlib import contextmanager

import msgspec

from muster.base.errors import MusterError
from muster.controllers.job_objects import TRACKING, Job
from muster.controllers.objects import OwnerReference
from muster.gangs.owners import MANAGED_BY
from muster.local.store.store import What
from muster.sim.plain import ENDED
from muster.sim.rules.broken import BrokenRuleError
from tests.system.applied import Applied
from tests.system.cluster import DEFINITIONS, NAMESPACE
from tests.system.dialects import RESOURCES
from tests.system.stories import WIDGETS

_GROUPS, _BUDGETS = "podgroups.scheduling.k8s.io", "poddisruptionbudgets.policy"
_WORKLOADS = "workloads.scheduling.k8s.io"
_DIALECTS = tuple(resource.name for resource in RESOURCES.values() if resource.name != _GROUPS)
_SERVERS = {"resourceVersion", "managedFields", "generation", "deletionTimestamp", "deletionGracePeriodSeconds"}
_LINKS = {"metadata.finalizers", "metadata.ownerReferences"}
_MAY = {
    "muster": {
        "pods": {"spec.nodeName", "status", "metadata.annotations"},
        _GROUPS: {"status", "metadata.finalizers"},
        **{storage: {"status", "metadata.finalizers"} for storage in _DIALECTS},
    },
    "kubelet": {"pods": {"status"}, "nodes": {"status"}},
    "kube-controller-manager": {
        "pods": {"status"} | _LINKS,
        "nodes": {"status", "spec.taints"},
        "jobs.batch": {"status"} | _LINKS,
        _GROUPS: {"spec.schedulingPolicy"} | _LINKS,
        _WORKLOADS: {"spec.podGroupTemplates"} | _LINKS,
        _BUDGETS: {"status"},
        "configmaps": _LINKS,
        WIDGETS: _LINKS,
        **dict.fromkeys(_DIALECTS, _LINKS),
    },
}
"""By process and storage: what it may change of an object that is there."""
_MADE = {"spec.schedulingPolicy", "metadata.ownerReferences"}
"""What the scheduler keeps in step of groups that it has made for owners."""
_STORAGES = ("pods", "nodes", "jobs.batch", _GROUPS, _WORKLOADS, _BUDGETS, "configmaps", WIDGETS, *_DIALECTS)
_SHARED = ("configmaps", WIDGETS)
_WAITING = ("foregroundDeletion", "orphan")

_decode = msgspec.json.decode


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    owner_references: list[OwnerReference] = []
    finalizers: list[str] = []
    deletion_timestamp: str | None = None


class _Bare(msgspec.Struct):
    metadata: _Meta


def _meta(stored):
    return _decode(stored.data, type=_Bare).metadata


class StoredRules:
    def __init__(self, cluster, network):
        self._cluster = cluster
        self.fail = None
        """Called with what is broken where nobody could catch it."""
        self._handing = None
        """The call that the server is doing."""
        self._applied = defaultdict(Applied)
        """Objects that are applied, by UID."""
        self._expected = None
        """While an object is applied or edited."""
        self._waited = set()
        """UIDs of those who waited once for what they own to go: whoever heard of that may still act on it."""
        network.observers.append(self)
        cluster.restarted = self._restarted
        for storage in _STORAGES:
            cluster.watch(storage, self._happened)

    def _broken(self, rule, message):
        self.fail(BrokenRuleError(rule, message))

    # --- what the network sees ---

    def begins(self, call):
        pass

    def leaves(self, call):
        pass

    def over(self, call):
        pass

    def arrives(self, call):
        self._handing = call

    def done(self, call, answer):
        self._handing = None

    # --- what the server stores ---

    def _happened(self, happened):
        call, meta = self._handing, _meta(happened.now)
        if meta.deletion_timestamp is not None and _WAITING[0] in meta.finalizers:
            self._waited.add(meta.uid)
        if call is not None:
            self._check_writer(call, happened)
            if b'"propagationPolicy"' in call.request.body:
                self._check_owners(call, happened)
        if happened.storage in _SHARED and happened.what is not What.DELETED and self._expected is None:
            self._check_applied(happened.now)

    def _check_writer(self, call, happened):
        if happened.what is not What.MODIFIED:
            return
        before, now = _decode(happened.before.data), _decode(happened.now.data)
        agent = call.link.process.user_agent
        may = _MAY[agent].get(happened.storage, ())
        if agent == "muster" and MANAGED_BY.items() <= before["metadata"].get("labels", {}).items():
            may = may | _MADE
        for path in _changed(before, now):
            if path not in may and path.partition(".")[0] not in may:
                who = f"{call.link} {call.request.method} {call.request.path}"
                self._broken("writers", f"{who} changes {path} of {happened.storage} {happened.now.name}")

    def _check_owners(self, call, happened):
        """A deletion that says what is to become of dependents is the garbage collector's, or the end of a Job."""
        meta, before = _meta(happened.now), happened.before
        goes = happened.what is What.DELETED or meta.deletion_timestamp is not None
        if not goes or before is None or _meta(before).deletion_timestamp is not None or before.namespace != NAMESPACE:
            # other namespaces go with all that is in them
            return
        known = self._metas()
        owners = _meta(before).owner_references
        alive = [known[one.uid] for one in owners if one.uid in known]
        if solid := [one.name for one in alive if one.uid not in self._waited]:
            words = f"{call.link} deletes {happened.storage} {meta.name}, whose owner {solid[0]} lives"
            self._broken("living owners", words)
        elif not owners and happened.storage != "jobs.batch":
            self._broken("living owners", f"{call.link} deletes {happened.storage} {meta.name}, which nobody owns")

    def _metas(self):
        return {stored.uid: _meta(stored) for stored in self._cluster.everything()}

    def _check_applied(self, stored):
        if stored.uid in self._applied and (words := self._applied[stored.uid].difference(stored)):
            self._broken("writers", words)

    @contextmanager
    def applying(self, resource, name, manager, config, *, force):
        """While the block lasts somebody applies; it tells the code of the answer."""
        before = self._find(resource, name)
        model = self._applied[before.uid] if before is not None else Applied()
        others = model.conflicts(manager, config)
        code = yield from self._writing()
        if code == 409:
            if force or not others:
                self._broken("writers", f"{manager} applies {name}, and gets a conflict with nobody")
        elif code in (200, 201):
            if others and not force:
                self._broken("writers", f"{manager} takes over what {others} own of {name}, and no conflict is told")
            model.apply(manager, config)
        self._settle(resource, name, model)

    @contextmanager
    def editing(self, resource, name, manager, path, value):
        """The same, of one field that is changed without an apply."""
        before = self._find(resource, name)
        model = self._applied[before.uid] if before is not None else Applied()
        if (yield from self._writing()) == 200:
            model.edit(manager, path, value)
        self._settle(resource, name, model)

    def _writing(self):
        told = []
        self._expected = True
        try:
            yield told.append
        finally:
            self._expected = None
        return told[0]

    def _settle(self, resource, name, model):
        now = self._find(resource, name)
        if now is not None:
            self._applied[now.uid] = model
            self._check_applied(now)

    def _find(self, resource, name):
        storage = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
        return self._cluster.store.get(storage, NAMESPACE, name)

    # --- the server's life ---

    def _restarted(self, before, start):
        """Another process of the server starts with what the last one kept."""
        try:
            after = start()
        except MusterError as error:
            raise BrokenRuleError("starts again", f"the server does not start again: {error}") from error
        # what the server says of a definition by itself, it may not have been able to write
        same = before.definitions == after.definitions
        if same and after.served != before.served:
            differ = sorted(map(str, before.served ^ after.served))
            raise BrokenRuleError("starts again", f"another server serves other kinds: {differ[0]}")
        if after.version < before.version:
            raise BrokenRuleError("kept", f"versions go back from {before.version} to {after.version}")
        for key in sorted(before.objects.keys() | after.objects.keys()):
            held, kept = before.objects.get(key), after.objects.get(key)
            if held == kept or (key[0] == DEFINITIONS and _spec(held) == _spec(kept)):
                continue
            if key not in before.doubtful and not _goes_with_its_kind(key, before):
                raise BrokenRuleError("kept", f"{'/'.join(key)} was {held}, and is {kept} after a restart")
            self._learn(*key)

    def _learn(self, storage, namespace, name):
        """What was refused, and is there all the same."""
        stored = self._cluster.store.get(storage, namespace, name)
        if stored is not None and storage in _SHARED:
            self._applied[stored.uid] = Applied.of(stored)

    # --- at rest ---

    def at_rest(self):
        self._check_dead_owners()
        self._check_namespaces()
        pods = [_decode(stored.data) for stored in self._cluster.store.list("pods")]
        for stored in self._cluster.store.list("jobs.batch"):
            _check_job(_decode(stored.data, type=Job), pods)
        for stored in self._cluster.store.list(_BUDGETS):
            _check_budget(_decode(stored.data), pods)
        for storage in _SHARED:
            for stored in self._cluster.store.list(storage):
                self._check_applied(stored)
        self._cluster.try_restart()

    def _is_served(self, owner):
        group = owner.api_version.rpartition("/")[0]
        kinds = {(served.kind.group, served.kind.name) for served in self._cluster.server._registry}
        return (group, owner.kind) in kinds

    def _check_namespaces(self):
        known = {stored.name for stored in self._cluster.store.list("namespaces")}
        for stored in self._cluster.everything():
            if stored.namespace and stored.namespace not in known:
                raise BrokenRuleError("namespaces", f"{stored.name} is left of namespace {stored.namespace}")
        for stored in self._cluster.store.list("namespaces"):
            if _meta(stored).deletion_timestamp:
                raise BrokenRuleError("namespaces", f"namespace {stored.name} is never let go")

    def _check_dead_owners(self):
        known = self._metas()
        for meta in known.values():
            owners = meta.owner_references
            if not all(self._is_served(one) for one in owners):
                # of what is not served nobody can say whether it is there
                continue
            if owners and not any(one.uid in known for one in owners):
                owner = owners[0]
                raise BrokenRuleError("dead owners", f"{meta.name} is left of {owner.kind} {owner.name}, which is gone")
            if meta.deletion_timestamp and any(one in _WAITING for one in meta.finalizers):
                raise BrokenRuleError("dead owners", f"{meta.name} is deleted, and never let go: {meta.finalizers}")


def _goes_with_its_kind(key, before):
    """Whether the kind was being deleted: who starts again goes on with that, and with its objects."""
    definition = key if key[0] == DEFINITIONS else (DEFINITIONS, "", key[0])
    held = before.objects.get(definition)
    return definition in before.doubtful or (held is not None and "deletionTimestamp" in _decode(held)["metadata"])


def _spec(data):
    return None if data is None else _decode(data)["spec"]


def _changed(before, now):
    """What is different: parts of an object with their first fields, the server's own aside."""
    for part in sorted(before.keys() | now.keys()):
        old, new = before.get(part), now.get(part)
        if old == new:
            continue
        if not (isinstance(old, dict) and isinstance(new, dict)):
            yield part
            continue
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name) and not (part == "metadata" and name in _SERVERS):
                yield f"{part}.{name}"


def _check_job(job, pods):
    name, spec, status = job.metadata.name, job.spec, job.status
    mine = [pod for pod in pods if _controller(pod) == job.metadata.uid]
    active = [
        pod for pod in mine if pod["status"].get("phase") not in ENDED and "deletionTimestamp" not in pod["metadata"]
    ]
    if job.is_finished:
        if active:
            raise BrokenRuleError("jobs", f"{name} is over, and has {len(active)} active pods")
        if held := [pod for pod in mine if TRACKING in pod["metadata"].get("finalizers", ())]:
            raise BrokenRuleError("jobs", f"{name} is over, and holds {held[0]['metadata']['name']}")
        return
    if job.metadata.deletion_timestamp is not None:
        return
    left = spec.parallelism if spec.completions is None else spec.completions - status.succeeded
    wanted = 0 if spec.suspend else min(spec.parallelism, left)
    if not status.active == len(active) == wanted:
        words = f"{name} says that {status.active} pods are active, has {len(active)}, and wants {wanted}"
        raise BrokenRuleError("jobs", words)


def _controller(pod):
    owners = pod["metadata"].get("ownerReferences", ())
    return next((one["uid"] for one in owners if one.get("controller")), None)


def _check_budget(budget, pods):
    name, spec, status = budget["metadata"]["name"], budget["spec"], budget.get("status", {})
    wanted = spec["selector"]["matchLabels"].items()
    mine = [pod for pod in pods if wanted <= pod["metadata"].get("labels", {}).items()]
    healthy = sum("deletionTimestamp" not in pod["metadata"] and _is_ready(pod) for pod in mine)
    if "minAvailable" not in spec:
        # of pods without a controller that has a scale nothing can be said
        return
    allowed = max(0, healthy - spec["minAvailable"]) if mine else 0
    said = (status.get("currentHealthy", 0), status.get("disruptionsAllowed", 0))
    if said != (healthy, allowed):
        words = f"{name} says {said[0]} healthy and {said[1]} to spare, and it is {healthy} and {allowed}"
        raise BrokenRuleError("budgets", words)


def _is_ready(pod):
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", ()))
