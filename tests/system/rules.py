"""What must hold at any time, from what the server stores and the network sees, and when it is quiet.

leases          at most one replica leads; nothing is written but while the server's Lease names the writer
one bind        of a pod at most one binding call of a live process is under way
one node        a lone pod whose bind got no answer is not sent to another node, unless that is so again and again
uid             every binding, deletion and condition names the UID of its object
bound once      a pod that has a node keeps it
over-commit     no bind overfills a node, unless others bound there or the node changed
decided         nothing is deleted that was not decided to be, by the process that deletes it, or that it said it spared
nominated       nobody is evicted before it stands on the server for whom
priority        nobody of equal or higher priority is evicted
stale word      nobody says of a pod that it has no place after having bound it, or sent a bind that arrived
sight           nobody waits long for a watch to begin: until it does, that replica sees nothing of a kind
takeover        who begins to lead knows all that was bound before the lease was its own
half bound      a gang is not half bound for longer than its time-out, while somebody could undo it
no bugs         nothing is logged as a bug, and the server has no internal error
circles         nobody is busy for ever while no time passes
rest            once nothing fails any more, it becomes quiet
in step         when it is quiet: what the leader has read is what the server holds
agreement       ... and what its engine believes follows from that, also what was said
declared        ... and of each gang the engine knows what counts of what declares it, and of each pod whose it is
started         ... and where an object cannot say that its gang has started, all members do that run
made            ... and pods that ask for a group of their owner have one, as large as the owner is
counts          ... and objects that count members, or have a phase, say how it is
protection      ... and a group has Muster's finalizer if pods name it by label, and only then; no other is left
rebuild         ... and an engine that reads everything anew has nothing to do
(others)        ... and the rules at rest of the engine's simulation, on the server's objects
"""

import asyncio
from collections import Counter, defaultdict

import msgspec

from muster.api.times import seconds
from muster.api.wire import condition
from muster.cluster.pods import Stage
from muster.controllers.protection import FINALIZER
from muster.edge.groups import Groups
from muster.engine.changes import BudgetSeen, FactSeen, NodeSeen, Spared
from muster.engine.decisions import Bind, CallOff, Evict, Release
from muster.engine.engine import Engine
from muster.framework.profile import Fairness
from muster.gangs.dialects import declare
from muster.gangs.dialects.v1beta1 import BELOW_MINIMUM, INITIALLY_SCHEDULED
from muster.gangs.record import STARTED
from muster.local.store.store import What
from muster.sim.invariants import Invariants
from muster.sim.plain import ENDED, unit_of
from muster.sim.reading import OURS, Reading
from muster.sim.recount import recount
from muster.sim.rules.broken import BrokenRuleError
from tests.system.cluster import room_left
from tests.system.dialects import BY_NAME, RESOURCES, gang_of, is_owned, is_vague
from tests.system.processes import SETTINGS, Replica

_LEASE = ("leases.coordination.k8s.io", "kube-system", "muster")
# requests and their answers may take a while, and be repeated; one that is never answered is given up after 30 s
_SLACK_SECONDS = 20
_LONG_SLACK_SECONDS = 100
# a watch that does not begin within 10 s is given up; its process may be frozen for 15 s meanwhile
_BLIND_SECONDS = 30
# so often in a row a bind may go without an answer before another node is tried
_PATIENCE = 10
_WRITES = ("bind", "delete", "condition", "group", "event", "other")

_decode = msgspec.json.decode


class Rules:
    def __init__(self, cluster, network, planned, *, tell):
        self._cluster = cluster
        self._network = network
        self._mood = planned.mood
        self._tell = tell
        self.replicas = self.cores = ()
        self.fail = None
        """Called with what is broken where nobody could catch it."""
        self._open = {}
        """By UID: the binding call of a live process that is under way."""
        self._bound = defaultdict(set)
        """By process: UIDs of pods of which it knows that it bound them."""
        self._unsure = {}
        """By process and UID: the node to which a bind got no answer, and how often in a row."""
        self._bound_at = {}
        """By UID: when a pod was bound, and by which process."""
        self._leads_since = {}
        """By process: when it got the lease."""
        self._has_decided = set()
        self._doomed = defaultdict(set)
        """By process: UIDs of pods that it decided to delete."""
        self._evicted = {}
        """By UID of a pod that is evicted: by which process, for which unit, and who is to be nominated before."""
        self._together = {}
        """By UID of a pod that is evicted: UIDs of all of its gang that are evicted with it: all of them go or none."""
        self._going = defaultdict(set)
        """By process: UIDs of pods whose deletion it has begun to send, or that of one they go together with."""
        self._handing = None
        """The call that the server is doing."""
        self._excused = set()
        """Nodes that changed, or that others have bound to."""
        self._late = defaultdict(int)
        """By UID of a group: for how many seconds it has been half bound too long."""
        self._slack = _LONG_SLACK_SECONDS if "time-outs" in planned.mood else _SLACK_SECONDS
        self._by_others = set()
        """UIDs of pods that others bound; before that is seen, it may be said that they have no place."""
        self._blind_since = {}
        """By call: since when a watch has been asked for whose answer has not begun."""
        self._lease = (None, None)
        self._changed = self._partial = False
        """Since gangs were last looked at something has changed; some of them were half bound then."""
        network.observers.append(self)
        cluster.watch("pods", self._pod_happened)
        cluster.watch("nodes", self._node_happened)
        for resource in RESOURCES.values():
            cluster.watch(resource.name, self._group_happened)

    def _broken(self, rule, message):
        self.fail(BrokenRuleError(rule, message))

    # --- what the network sees ---

    def begins(self, call):
        """A process sends it, as soon as there is a connection."""
        if not _schedules(call) or call.kind not in ("delete", "condition"):
            return
        body = _decode(call.request.body)
        if (call.kind == "delete" or _says(body) == "DisruptionTarget") and (uid := _named(call.kind, body)):
            self._going[call.link] |= self._together.get(uid, {uid})

    def leaves(self, call):
        if call.watches:
            self._blind_since[call] = asyncio.get_running_loop().time()
        if not _schedules(call):
            return
        if call.kind in _WRITES and not call.link.process.lease.held():
            self._broken("leases", f"{call.link} sends {call.request.path} without a lease")
        if call.kind not in ("bind", "delete", "condition", "group"):
            return
        body = _decode(call.request.body)
        uid = _named(call.kind, body)
        if not uid:
            self._broken("uid", f"{call.link} {call.request.method} {call.request.path} names no UID: {body}")
            return
        if call.kind == "bind":
            if uid in self._bound[call.link]:
                self._broken("one bind", f"{call.link} binds {call.request.path} again, which it has bound")
            other = self._open.get(uid)
            if other is not None and other.link.alive:
                self._broken("one bind", f"{call.link} binds {call.request.path}, and a bind of it is under way")
            self._open[uid] = call
            self._check_same_node(call, uid, body["target"]["name"])
        elif call.kind == "delete" and uid not in self._doomed[call.link]:
            self._broken("decided", f"{call.link} deletes {call.request.path}, which was not decided")
        elif _says(body) == "PodScheduled" and (uid in self._bound[call.link] or self._is_bound_by(call.link, uid)):
            self._broken("stale word", f"{call.link} says of {call.request.path}, which it has bound: {body}")

    def _is_bound_by(self, link, uid):
        """Whether its own bind has arrived, even if nobody has told it so."""
        return self._bound_at.get(uid, (0, None))[1] is link and uid in self._cluster.pods

    def _check_same_node(self, call, uid, node):
        before, times = self._unsure.get((call.link, uid), (node, 0))
        pod = self._cluster.pods.get(uid)
        if before == node or times >= _PATIENCE or before in self._excused or pod is None:
            return
        if pod.spec.scheduling_group is None:
            self._broken("one node", f"{call.link} binds {call.request.path} to {node}, and it may be on {before}")

    def over(self, call):
        """The caller has an answer, or does not wait for one any more."""
        if call.watches:
            waited = asyncio.get_running_loop().time() - self._blind_since.pop(call)
            if waited > _BLIND_SECONDS and call.link.alive:
                self._broken("sight", f"{call.link} waited {waited:g} s for the watch of {call.request.path} to begin")
        if call.kind != "bind" or not _schedules(call):
            return
        body = _decode(call.request.body)
        uid = _named("bind", body)
        if self._open.get(uid) is call:
            del self._open[uid]
        if 0 < call.code < 500 and call.code not in (401, 403, 408, 429):
            self._unsure.pop((call.link, uid), None)
        else:
            node, times = body["target"]["name"], self._unsure.get((call.link, uid), ("", 0))[1]
            self._unsure[call.link, uid] = (node, times + 1)
        if call.code == 201:
            self._bound[call.link].add(uid)

    def arrives(self, call):
        if not _schedules(call):
            return
        self._handing = call
        if call.kind in _WRITES and call.kind != "event":
            # an event that arrives late harms nobody
            self._check_lease(call)
        if call.kind == "delete":
            self._check_nominated(call)

    def _check_nominated(self, call):
        """The next leader must know for whom the room is."""
        link, unit, awaited = self._evicted.get(_named("delete", _decode(call.request.body)), (None, "", ()))
        if link is call.link and awaited:
            self._broken("nominated", f"{call.link} evicts {call.request.path} for {unit}; not nominated: {awaited}")

    def _settle(self, link, uid):
        """It stands on the server that the pod is nominated."""
        for evicting, _, awaited in self._evicted.values():
            if evicting is link:
                awaited.discard(uid)

    def done(self, call, answer):
        self._handing = None
        code = getattr(answer, "code", 200)
        if call.kind in ("bind", "delete", "condition", "group", "other"):
            self._tell(f"{call.link} {call.request.method} {call.request.path} → {code}")
        if not _schedules(call):
            return
        if call.kind == "condition" and code == 200 and self._evicted:
            body = _decode(call.request.body)
            if body["status"].get("nominatedNodeName"):
                self._settle(call.link, _named("condition", body))
        if call.kind == "lease" and code < 300:
            self._leads_since.setdefault(call.link, self._cluster.now)
        if call.kind == "bind" and code == 201:
            body = _decode(call.request.body)
            self._bound_at.setdefault(_named("bind", body), (self._cluster.now, call.link))
            self._check_room(body["target"]["name"], call)

    def _check_lease(self, call):
        stored = self._cluster.store.get(*_LEASE)
        if stored is not self._lease[0]:
            self._lease = (stored, _decode(stored.data)["spec"])
        spec = self._lease[1]
        holder = (spec or {}).get("holderIdentity", "")
        if holder.rpartition("_")[0] != str(call.link):
            self._broken("leases", f"{call.link} writes {call.request.path}, and {holder or 'nobody'} has the lease")
        elif seconds(spec["renewTime"]) + spec["leaseDurationSeconds"] < self._cluster.now:
            self._broken("leases", f"{call.link} writes {call.request.path}, and its lease ran out")

    def _check_room(self, name, call):
        if name in self._excused:
            return
        place = room_left(self._cluster).get(name)
        short = {} if place is None else {what: left for what, left in place.room.items() if left < 0}
        if short:
            self._broken("over-commit", f"{call.link} has bound {call.request.path} to {name}, which lacks {short}")

    # --- what the server stores ---

    def _group_happened(self, _):
        self._changed = True

    def _pod_happened(self, happened):
        self._changed = True
        before = "" if happened.before is None else happened.before.fields["spec.nodeName"]
        now = happened.now.fields["spec.nodeName"]
        if happened.what is What.DELETED:
            return
        if before and now != before and happened.before.uid == happened.now.uid:
            self._broken("bound once", f"{happened.now.name} goes from {before} to {now}")
        if now and not before and self._handing is None:
            self._excused.add(now)
            self._by_others.add(happened.now.uid)

    def _node_happened(self, happened):
        before, now = happened.before, happened.now
        if before is None or happened.what is What.DELETED or _room(before) != _room(now):
            self._excused.add(now.name)

    # --- what is decided ---

    def decided(self, replica, decisions):
        if decisions and replica.link not in self._has_decided:
            self._has_decided.add(replica.link)
            self._check_takeover(replica)
        for decision in decisions:
            if isinstance(decision, Evict | Release):
                self._doomed[replica.link].update(ref.uid for ref in decision.pods)
            if isinstance(decision, Evict):
                pods = self._cluster.pods
                # one that is gone, as the scheduler is about to hear, waits for nothing
                stand = {uid for uid in decision.after if uid not in pods or pods[uid].status.nominated_node_name}
                together = defaultdict(set)
                for ref in decision.pods:
                    together[unit_of(pods[ref.uid]) if ref.uid in pods else ref.uid].add(ref.uid)
                self._together |= {uid: uids for uids in together.values() for uid in uids}
                for ref in decision.pods:
                    if ref.uid in self._going[replica.link]:
                        continue
                    self._evicted[ref.uid] = (replica.link, decision.unit, set(decision.after) - stand)
                self._check_priority(decision)
            if isinstance(decision, Bind | Evict | CallOff | Release):
                self._network.seen[f"decisions: {type(decision).__name__}"] += 1
        if errors := replica.muster.engine.troubles.counts.total():
            self._broken("no bugs", f"{errors} attempts of the engine failed")

    def told(self, replica, changes):
        """What its engine is told by a replica's writer and readers."""
        for change in changes:
            if isinstance(change, Spared):
                self._network.seen["evictions called off in time"] += 1
                self._doomed[replica.link].difference_update(change.uids)
                for uid in change.uids:
                    self._evicted.pop(uid, None)

    def _check_takeover(self, replica):
        since, pods = self._leads_since[replica.link], self._cluster.pods
        for uid, (at, link) in self._bound_at.items():
            if at >= since or link is replica.link or uid not in pods:
                continue
            state = replica.muster.engine.cluster.pods.get(uid)
            if state is None or state.stage in (Stage.PENDING, Stage.BINDING):
                name = pods[uid].metadata.name
                self._broken("takeover", f"{replica.link} decides, and does not know that {name} was bound by {link}")

    def _check_priority(self, decision):
        pods = self._cluster.pods
        members = [pod for pod in pods.values() if unit_of(pod) == decision.unit and pod.status.phase not in ENDED]
        if not members:
            return
        group = self._cluster.groups.get(decision.unit)
        declared = None if group is None else group.spec.priority
        # those of whom somebody is told that they leave do not count, but the scheduler may not have heard of it
        priority = max(pod.spec.priority or 0 for pod in members) if declared is None else declared
        for ref in decision.pods:
            victim = pods.get(ref.uid)
            if victim is not None and (victim.spec.priority or 0) >= priority:
                self._broken("priority", f"{ref.pod} is evicted for {decision.unit}, which is not more important")

    # --- with time ---

    def look(self):
        leaders = [replica for replica in self.replicas if replica.leads]
        if len(leaders) > 1:
            self._broken("leases", f"{len(leaders)} replicas lead")
        if not self._changed and not self._partial:
            return
        self._changed = self._partial = False
        # whom nobody takes out of the way stays
        well = bool(leaders) and all(process.well for process in (leaders[0], *self.cores))
        snapshot = self._cluster.snapshot()
        for gang in _gangs(snapshot).values():
            if gang.group is None:
                continue
            uid = gang.group.metadata.uid
            if not gang.partial or gang.foreign or gang.holds_partial:
                self._late.pop(uid, None)
                continue
            self._partial = True
            kept = any(pod.status.nominated_node_name for pod in gang.candidates)
            if well and not kept and gang.deadline is not None and snapshot.now > gang.deadline:
                self._late[uid] += 1
            if self._late[uid] > self._slack:
                self._broken("half bound", f"{gang.key} has {gang.bound} of {gang.minimum} bound, for too long")

    def at_rest(self):
        leader = next(replica for replica in self.replicas if replica.leads)
        snapshot = self._cluster.snapshot()
        self._check_in_step(leader.muster._informers)
        recount(snapshot, leader.muster.engine)
        _check_declared(snapshot, leader.muster.engine.cluster)
        self._check_said(snapshot, leader.muster.engine)
        for gang in _gangs(snapshot).values():
            if gang.partial and not gang.foreign and not gang.holds_partial:
                raise BrokenRuleError("half bound", f"{gang.key} has {gang.bound} of {gang.minimum} bound at rest")
            _check_marks(gang)
        _check_protection(snapshot)
        _check_counts(snapshot)
        _check_made(snapshot, self._cluster.documents("jobs.batch"))
        self._check_rebuild(snapshot)
        Invariants(snapshot, preemption=SETTINGS.preemption, fairness=Fairness(passes_per_member=1e9)).at_rest()

    def _check_in_step(self, informers):
        for reflector in informers:
            if reflector.resource is None:
                # nothing is read of a kind that is not served
                continue
            storage = reflector.resource.name
            held = {
                f"{one.namespace}/{one.name}" if one.namespace else one.name: (one.uid, str(one.version))
                for one in self._cluster.store.list(storage)
            }
            known = {key: tuple(one) for key, one in reflector.known.items()}
            if known != held:
                differ = sorted(key for key in held.keys() | known.keys() if held.get(key) != known.get(key))
                raise BrokenRuleError(
                    "in step", f"{storage} {differ[0]}: read {known.get(differ[0])}, there is {held.get(differ[0])}"
                )

    def _check_said(self, snapshot, engine):
        for uid, pod in snapshot.pods.items():
            state = engine.cluster.pods[uid]
            if not pod.spec.node_name:
                _compare("nomination", state.key, state.nominated, pod.status.nominated_node_name)
                _compare("words on", state.key, state.said, _words(condition(pod.status.conditions, "PodScheduled")))
            elif pod.status.phase == "Running" and uid not in self._by_others:
                said = condition(pod.status.conditions, "PodScheduled")
                _compare("PodScheduled of", state.key, "True", "" if said is None else said.status)
        for key, group in snapshot.groups.items():
            gang = engine.cluster.gangs[key]
            if not BY_NAME[group.dialect].has_status:
                # nowhere but on the pods, which must say that it has started
                continue
            conditions = group.status.conditions
            _compare("words on", key, gang.said, _aspect(condition(conditions, INITIALLY_SCHEDULED)))
            _compare("words on", key, gang.below_said, _aspect(condition(conditions, BELOW_MINIMUM)))

    def _check_rebuild(self, snapshot):
        engine = Engine(*SETTINGS.make_profiles())
        engine.apply([NodeSeen(node) for node in snapshot.nodes.values()])
        engine.apply([BudgetSeen(budget) for budget in snapshot.budgets.values()])
        engine.apply([FactSeen(fact) for fact in snapshot.facts.values()])
        groups = Groups()
        for found in snapshot.classes.values():
            groups.class_seen(found)
        for dialect, objects in snapshot.declaring.items():
            for found in objects:
                engine.apply(groups.seen(BY_NAME[dialect], found))
        for pod in snapshot.raw_pods:
            engine.apply(groups.pod_seen(pod))
        for _ in range(3):
            for decision in engine.decide(snapshot.now):
                if isinstance(decision, Bind | Evict | Release):
                    raise BrokenRuleError("rebuild", f"a new leader would do something: {decision}")


def _check_declared(snapshot, cluster):
    for uid, pod in snapshot.pods.items():
        state, key = cluster.pods[uid], unit_of(pod) if pod.spec.scheduling_group is not None else None
        vague = is_vague(pod) and key not in snapshot.groups
        if state.gang != key and not (vague and state.gang is None):
            raise BrokenRuleError("declared", f"{state.key} is taken for a member of {state.gang}, and is one of {key}")
    for key, group in snapshot.groups.items():
        known, there = cluster.gangs[key].declared, declare(group)
        if known is None or _declares(known) != _declares(there):
            raise BrokenRuleError("declared", f"{key} is known as {known}, and declared as {there}")
    for key, gang in cluster.gangs.items():
        if gang.declared is not None and key not in snapshot.groups:
            raise BrokenRuleError("declared", f"{key} is known as {gang.declared}, and nothing declares it")


def _declares(gang):
    """What does not depend on how something is said."""
    minimums = [(subset.name, subset.minimum) for subset in gang.subsets]
    return gang.uid, gang.policy, minimums, gang.priority, gang.timeout_seconds, gang.disruption, gang.preempts


def _check_protection(snapshot):
    living = [pod for pod in snapshot.raw_pods if pod.status.phase not in ENDED]
    used = {_gang_key(pod) for pod in living}
    by_us = {_gang_key(pod) for pod in living if pod.spec.scheduler_name == OURS}
    by_label = {_gang_key(pod) for pod in living if not _is_seen_by_kubernetes(pod)}
    for dialect, objects in snapshot.declaring.items():
        for one in objects if BY_NAME[dialect].protects else ():
            key, meta = f"{one.metadata.namespace}/{one.metadata.name}", one.metadata
            protected, leaving = FINALIZER in meta.finalizers, meta.deletion_timestamp is not None
            is_shared = BY_NAME[dialect].is_shared
            # of a kind that other schedulers have too, those are protected that had members of ours
            of_all = dialect != "v1beta1" and (not is_shared or key in by_us)
            wanted = key in used if leaving else of_all or key in by_label
            if protected and not wanted and (leaving or not is_shared):
                raise BrokenRuleError("protection", f"{key} in {dialect} is kept, and nobody names it by label")
            if wanted and not protected and not leaving:
                raise BrokenRuleError("protection", f"{key} in {dialect} may be deleted under its pods")


def _gang_key(pod):
    return f"{pod.metadata.namespace}/{gang_of(pod)}"


def _is_seen_by_kubernetes(pod):
    field = pod.spec.scheduling_group
    return field is not None and field.pod_group_name == gang_of(pod)


def _check_marks(gang):
    """Where the object cannot say it, all members that run do: one of them may be all that is left."""
    if gang.group is None or gang.speaks or gang.foreign or not gang.started:
        return
    silent = [pod.metadata.name for pod in gang.running if pod.metadata.annotations.get(STARTED) != gang.key]
    if silent:
        raise BrokenRuleError("started", f"{gang.key} has started, and {silent} do not say so")


def _says(body):
    """The condition that is written onto a pod, if any."""
    return body.get("status", {}).get("conditions", [{}])[0].get("type")


def _check_made(snapshot, jobs):
    jobs = {job["metadata"]["uid"]: job["spec"] for job in jobs}
    for pod in snapshot.raw_pods:
        key, meta = _gang_key(pod), pod.metadata
        over = pod.status.phase in ENDED or meta.deletion_timestamp is not None
        if over or not is_owned(pod) or key == f"{meta.namespace}/":
            continue
        group, owner = snapshot.groups.get(key), meta.controller
        if group is None or group.metadata.controller is None or group.metadata.controller.uid != owner.uid:
            raise BrokenRuleError("made", f"{meta.name} asks for a group of {owner.kind} {owner.name}: {group}")
        spec, there = jobs[owner.uid], group.spec.scheduling_policy.gang.min_count
        if there != min(spec["parallelism"], spec["completions"]):
            raise BrokenRuleError("made", f"{key} has a minimum of {there}: {spec}")


def _check_counts(snapshot):
    members = defaultdict(list)
    for pod in snapshot.raw_pods:
        members[_gang_key(pod)].append(pod)
    for dialect in ("coscheduling", "volcano"):
        for one in snapshot.declaring[dialect]:
            key, status = f"{one.metadata.namespace}/{one.metadata.name}", one.status
            # what is over is not looked at again, and what is another scheduler's is not spoken of
            over = status.phase in ("Finished", "Failed") or (status.phase == "Completed" and not members[key])
            unheard_of = not members[key] and not status.phase
            if over or unheard_of or (members[key] and all(pod.spec.scheduler_name != OURS for pod in members[key])):
                continue
            phases = Counter(pod.status.phase for pod in members[key])
            there = (phases["Running"], phases["Succeeded"], phases["Failed"])
            said = (status.running, status.succeeded, status.failed)
            if not status.phase or said != there:
                raise BrokenRuleError("counts", f"{key} in {dialect} says {status.phase!r}, {said}, and it is {there}")


def _schedules(call):
    """Whether a replica of Muster sends it, not a controller or kubelet."""
    return isinstance(call.link.process, Replica)


def _named(kind, body):
    """The UID that a request names."""
    if kind == "delete":
        return body.get("preconditions", {}).get("uid", "")
    return body.get("metadata", {}).get("uid", "")


def _room(stored):
    return _decode(stored.data).get("status", {}).get("allocatable")


def _gangs(snapshot):
    return Reading(snapshot, scheduler="muster", held={}, doubtful={}, fallen=()).gangs()


def _words(said):
    return None if said is None or said.status != "False" else (said.reason, said.message)


def _aspect(said):
    return None if said is None else (said.status == "True", said.reason, said.message)


def _compare(what, of, believed, there):
    if believed != there:
        raise BrokenRuleError("agreement", f"{what} {of}: the engine believes {believed!r}, the server holds {there!r}")
