"""Takes changes in: cheap, in batches, without deciding anything.

What a change may mean for the queue is only noted here (`Noted`); the next `decide` acts on it.  So a gang
of thousands that arrives member by member is looked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from muster.api.asks import asks_of
from muster.api.kinds import owner_of
from muster.api.times import seconds
from muster.api.wire import Pod
from muster.base.errors import MusterError
from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.pods import BINDING, BOUND, NO_SETBACKS, PENDING, Condemned, PodState, Stage
from muster.engine import pod_facts
from muster.engine.attending import Attending
from muster.engine.changes import (
    Answered,
    BindFailed,
    Bound,
    BudgetGone,
    BudgetSeen,
    Change,
    FactGone,
    FactSeen,
    GrantFailed,
    GroupGone,
    GroupRead,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Spared,
)
from muster.engine.classing import Classing
from muster.engine.decisions import Placement
from muster.engine.gates import Gates
from muster.engine.life import Cause
from muster.engine.noted import Noted
from muster.engine.reasons import MEMBERS_LOST, MEMBERS_REFUSED
from muster.engine.supplies import Supplies
from muster.framework.profile import Profiles
from muster.gangs.dialects import declare, membership, remark
from muster.gangs.model import Gang, Membership
from muster.gangs.record import BoundFor, bound_for

# every pod passes this: `Cause.MEMBER_CAME` takes 70 ns in Python 3.11, this name 5
_CAME = Cause.MEMBER_CAME


class Intake:
    """Keeps the cluster's state in step with the changes.  Objects may come in any order."""

    def __init__(self, cluster: Cluster, profiles: Profiles, supplies: Supplies, attending: Attending) -> None:
        self._cluster = cluster
        self._supplies = supplies
        self._attending = attending
        self._names = profiles.scheduler_names
        self._profiles = profiles
        self._named_twice: dict[str, dict[str, PodState]] = {}
        """Pods that name two gangs, by the one that may give way, by UID."""
        self._renamed: dict[str, Pod] = {}
        """Pods that name another gang since they were to be bound, as last seen, by UID: should a bind be refused, the
        pod joins that."""
        self.noted = Noted()
        self.gates = Gates(cluster, profiles, supplies, self.noted)
        self.classing = Classing(cluster, profiles, supplies, gates=self.gates, noted=self.noted)
        self._handlers: dict[type, Callable[..., None]] = {
            PodSeen: self._pod_seen,
            PodGone: self._pod_gone,
            NodeSeen: self._node_seen,
            NodeGone: self._node_gone,
            GroupSeen: self._group_seen,
            GroupGone: self._group_gone,
            GroupRead: self._group_read,
            Bound: self._bound,
            BindFailed: self._bind_failed,
            BudgetSeen: self._budget_seen,
            BudgetGone: self._budget_gone,
            FactSeen: self._fact_seen,
            FactGone: self._fact_gone,
            GrantFailed: self._grant_failed,
            Answered: self._answered,
            Spared: self._spared,
        }

    def take(self, changes: Iterable[Change]) -> None:
        handlers = self._handlers
        for change in changes:
            try:
                handlers[type(change)](change)
            except MusterError as error:
                # one object that cannot be read must not stop the others
                self.noted.unreadable.append((change, str(error)))
        self.classing.renew()

    # --- nodes and gangs ---

    def _node_seen(self, change: NodeSeen) -> None:
        known = len(self._cluster.resources)
        new = change.node.metadata.name not in self._cluster.nodes.rows
        self._cluster.put_node(change.node)
        if new:
            self._strand(change.node.metadata.name, stranded=False)
        if len(self._cluster.resources) > known:
            self.classing.resources_came(self._cluster.resources.names()[known:])

    def _node_gone(self, change: NodeGone) -> None:
        self._cluster.remove_node(change.name)
        self._strand(change.name, stranded=True)

    def _strand(self, node: str, *, stranded: bool) -> None:
        """Pods on a node that went or came back count accordingly."""
        gangs: dict[str, GangState] = {}
        for pod in self._cluster.on_node.get(node, {}).values():
            gang = self._cluster.gang_of(pod)
            if gang is not None:
                gang.uncount(pod)
            if stranded:
                pod.stood = pod.stage is BOUND and gang is not None and gang.stands(pod)
            pod.stranded = stranded
            if gang is not None:
                gang.count(pod)
                gangs[gang.key] = gang
                if gang.fallen and not stranded and pod.stood and not pod.leaving and gang.was_bound_for(pod):
                    # what runs of it is no part of a start to come, even if nothing was left of it meanwhile
                    gang.goes_on()
        for gang in gangs.values():
            self._cluster.relevel(gang)
            self.noted.gangs[gang.key] = Cause.MEMBER_LOST if stranded else Cause.MEMBER_CAME

    def _group_seen(self, change: GroupSeen) -> None:
        declared = declare(change.group)
        gang = self._cluster.gang(declared.key)
        new = gang.declared is None or gang.declared.uid != declared.uid
        if new:
            gang.said, gang.started_at = None, declared.started_at
            gang.efforts.succeed()
            gang.turned_away, gang.lost_to, gang.passed = False, "", None
        if new or gang.foreign or not gang.members:
            # it is not, or perhaps not, for us to speak of
            gang.below_said, gang.below_since = None, declared.below_since
            gang.fallen = gang.refused = False
            if declared.below_said is not None:
                gang.below_said = (declared.below_since is not None, *declared.below_said)
                # half of it may be bound again: only this tells that it must be whole
                gang.fallen = gang.below_said[0] and gang.below_said[1] != MEMBERS_LOST
                gang.refused = gang.below_said[0] and gang.below_said[1] == MEMBERS_REFUSED
        if new or gang.foreign or gang.evicted_said is None:
            # else it was written by us, and an older view of the object does not take it back
            gang.evicted_said = declared.evicted_said
        # whoever had its last members, another scheduler may speak of it as well
        others = gang.foreign or not (gang.members or gang.once_started)
        if declared.said is not None and (declared.started or others or gang.said is None):
            # else it was said by us, and neither an older view of the object takes it back nor whoever writes over it:
            # two who see a gang differently, each with members of it, would write without end
            gang.said = (declared.started, *declared.said)
        told = gang.declared
        gates = told is None or _gated_by(told) != _gated_by(declared)
        self._declare(gang, declared, regroups=gates)
        if told is None or (told.priority, told.disruption) != (declared.priority, declared.disruption):
            # whether it goes whole may be new, even if all levels are as before
            self._cluster.version += 1
            self._cluster.relevel(gang)
        if gates:
            self.gates.look_at_members(gang)
        self.noted.gangs[gang.key] = Cause.OBJECT_REMADE if new and told is not None else Cause.OBJECT_CAME
        self._settle_names(gang.key)

    def _declare(self, gang: GangState, declared: Gang, *, regroups: bool) -> None:
        members = gang.members.values() if regroups else ()
        moved = [pod for pod in members if declared.subset_of(pod.names_subset) != pod.subset]
        # counted one by one, here or there, they might be taken for a minimum that they never were
        for pod in moved:
            gang.uncount(pod)
        gang.declare(declared)
        for pod in moved:
            pod.subset = declared.subset_of(pod.names_subset)
            gang.count(pod)

    def _group_gone(self, change: GroupGone) -> None:
        gang = self._cluster.gangs.get(change.key)
        if gang is not None:
            gang.declare(None)
            self._cluster.version += 1
            self._cluster.relevel(gang)
            self.gates.look_at_members(gang)
            self.noted.gangs[gang.key] = Cause.OBJECT_WENT
            self._settle_names(gang.key)
            self._cluster.forget_if_empty(gang)

    def _group_read(self, change: GroupRead) -> None:
        gang = self._cluster.gangs.get(change.key)
        if gang is not None and gang.reading_number == change.number:
            # before anything that may turn out to be unreadable
            gang.reading = None
            self.noted.gangs[gang.key] = Cause.OBJECT_CAME
        if change.group is None:
            self._group_gone(GroupGone(change.key))
        else:
            self._group_seen(GroupSeen(change.group))

    def _settle_names(self, key: str) -> None:
        """What the gang declares has changed: pods that name another besides may belong to that, or no longer do."""
        if key in self._named_twice:
            for pod in list(self._named_twice[key].values()):
                self._settle_name(pod)

    def _settle_name(self, pod: PodState) -> None:
        """A pod that names two gangs goes to the one that counts; one that was bound stays in that of its record."""
        if pod.names is None or pod.record is not None:
            return
        key = pod.names.settled(self._gives_way)
        self._overrule(pod, key)
        before = self._cluster.gang_of(pod)
        if before is None or before.key == key:
            return
        before.remove(pod)
        self._cluster.lose_reservation(pod)
        self._name_gang(pod, pod.names)
        pod.gated_by, pod.gated_as = self.gates.why(pod)
        after = self._cluster.gang(key)
        after.add(pod)
        after.joins(pod)
        for gang, cause in ((before, Cause.MEMBER_LOST), (after, Cause.MEMBER_CAME)):
            self.noted.gangs[gang.key] = cause
            if pod.takes_room:
                self._cluster.relevel(gang)
        self.noted.members.append(pod)
        self._cluster.forget_if_empty(before)

    def _gives_way(self, key: str) -> bool:
        gang = self._cluster.gangs.get(key)
        return gang is not None and gang.declared is not None and gang.declared.gives_way

    def _overrule(self, pod: PodState, key: str) -> None:
        """Notes which gang a pod that belongs to this one names in vain; nobody knows before the first is declared."""
        names, gang = pod.names, self._cluster.gangs.get(key)
        known = names is not None and key == names.gang and gang is not None and gang.declared is not None
        overruled = names.besides if names is not None and known else ""
        if overruled and overruled != pod.overruled and pod.candidate:
            self.noted.overruled.append(pod)
        pod.overruled = overruled

    def _budget_seen(self, change: BudgetSeen) -> None:
        self._cluster.budgets.put(change.budget)
        self._cluster.version += 1

    def _budget_gone(self, change: BudgetGone) -> None:
        self._cluster.budgets.remove(change.key)
        self._cluster.version += 1

    def _fact_seen(self, change: FactSeen) -> None:
        self._cluster.facts.put(change.fact)

    def _fact_gone(self, change: FactGone) -> None:
        self._cluster.facts.remove(change.kind, change.key)

    # --- pods ---

    def _pod_seen(self, change: PodSeen) -> None:
        pod, known = change.pod, self._cluster.pods.get(change.pod.metadata.uid)
        if known is not None:
            # what is not the pod's own doing does not cost it what is reserved for it
            self.classing.spread_anew()
        if known is None:
            self._pod_came(self._read(pod), pod.spec.node_name)
        elif not self._names_another(known, pod):
            self._pod_changed(known, pod)
            self._renamed.pop(known.uid, None)
        elif known.takes_room and not pod.spec.node_name:
            # it is being bound, or is bound and this is an older view, for the one that it was in
            self._pod_changed(known, pod)
            self._renamed[known.uid] = pod
        else:
            self._comes_anew(known, pod)

    def _comes_anew(self, known: PodState, pod: Pod) -> None:
        """The pod is in another gang than it was."""
        # what may turn out to be unreadable is read before the pod is given up: it may run
        state = self._read(pod)
        # the object may not show yet what it is to say: else nobody would take that back
        state.said, state.nominated = state.said or known.said, known.nominated
        if known.leaving:
            # whoever is to delete the pod, and may be told not to, knows nothing of gangs
            state.leaving, state.evicted = True, known.evicted or state.evicted
            state.leaving_until = known.leaving_until if state.leaving_until is None else state.leaving_until
            if known.condemned is not None and pod.metadata.deletion_timestamp is None:
                joined = None if state.gang is None else self._cluster.gangs.get(state.gang)
                lost_to, fallen = ("", False) if joined is None else (joined.lost_to, joined.fallen)
                state.condemned = Condemned(known.condemned.unit, lost_to, fallen)
        # what it brings is known to its supplies, and stays so
        del self._cluster.pods[known.uid]
        self._give_up(known)
        self._pod_came(state, pod.spec.node_name)

    def _read(self, pod: Pod) -> PodState:
        """A pod that is new, or new to its gang; nothing changes yet."""
        meta, spec, status = pod.metadata, pod.spec, pod.status
        member, record = self._belongs(pod) if spec.node_name else (membership(pod), None)
        owner = owner_of(meta.namespace, meta.owner_references) if meta.owner_references else None
        # What few pods have is set below: up to 15 keywords are passed as they are, more of them in a dict made for the
        # call (Python 3.11), and with all of them this took 2.7 µs instead of 0.4
        state = PodState(
            uid=meta.uid,
            key=f"{meta.namespace}/{meta.name}",
            created=seconds(meta.creation_timestamp),
            priority=spec.priority or 0,
            pod_class=self.classing.of(pod, owner),
            ours=spec.scheduler_name in self._names,
            gates=tuple(gate.name for gate in spec.scheduling_gates) if spec.scheduling_gates else (),
            # the API server lets nobody change these: they are read once
            asks=asks_of(spec),
            stage=pod_facts.stage(pod, PENDING),
            labels=meta.labels,
            preempts=spec.preemption_policy != "Never",
            running=status.phase == "Running",
            nominated=status.nominated_node_name,
        )
        if member is not None:
            self._name_gang(state, member)
        if spec.node_name:
            state.record, state.marked = record, pod_facts.marked(pod)
        elif member is None or spec.scheduling_group is not None:
            # what the field names may be the basic group that the Job controller makes for every Job
            state.remark = remark(pod)
        if pod.astray:
            state.astray, state.unsettled = pod.astray, pod.unsettled
        if meta.owner_references:
            state.owner, state.controller, state.lasting = owner, pod_facts.controller(pod), pod_facts.lasting(pod)
            state.owners = "" if member is None else pod_facts.owners(meta.namespace, meta.owner_references)
        if spec.topology_spread_constraints:
            state.spreads = True
        if status.conditions:
            state.bound_at, state.said = pod_facts.bound_at(pod), pod_facts.said(pod)
            state.preparing_since = pod_facts.preparing_since(pod)
        if status.start_time:
            state.started_at = pod_facts.started_at(pod)
        if meta.deletion_timestamp is not None:
            state.leaving, state.leaving_until = True, seconds(meta.deletion_timestamp)
            state.evicted = pod_facts.evicted(pod)
        return state

    def _name_gang(self, state: PodState, member: Membership) -> None:
        """The pod is in the gang that it names, or in the one that counts of two."""
        state.gang, state.names_subset = member.gang, member.subset
        if member.besides:
            state.names, state.gang = member, member.settled(self._gives_way)
            state.names_subset = member.subset_in(state.gang)
        gang = self._cluster.gangs.get(state.gang)
        declared = None if gang is None else gang.declared
        state.subset = state.names_subset if declared is None else declared.subset_of(state.names_subset)

    def _pod_came(self, state: PodState, node: str) -> None:
        state.gated_by, state.gated_as = self.gates.why(state)
        self._cluster.pods[state.uid] = state
        self.classing.came(state)
        if state.stage is BOUND:
            self._cluster.occupy(state, node)
        if (key := state.gang) is not None:
            gang = self._cluster.gang(key)
            gang.add(state)
            gang.joins(state)
            self.noted.gangs[key] = _CAME
            self.noted.members.append(state)
            if state.names is not None:
                self._named_twice.setdefault(state.names.gang, {})[state.uid] = state
                self._overrule(state, key)
        elif state.ours:
            self.noted.pods.append((state, _CAME))

    def _pod_changed(self, state: PodState, pod: Pod) -> None:
        spec = pod.spec
        # what may turn out to be unreadable is read before anything changes
        owner = owner_of(pod.metadata.namespace, pod.metadata.owner_references)
        pod_class = self.classing.of(pod, owner, state)
        bound_at, started_at = pod_facts.bound_at(pod), pod_facts.started_at(pod)
        stage, node = pod_facts.stage(pod, state.stage), spec.node_name or state.node
        gang = self._cluster.gang_of(state)
        if gang is not None:
            gang.uncount(state)
        if state.stage is Stage.BINDING and stage is not Stage.BINDING:
            self._bind_ended(state, stage, node)
        on_node = stage is Stage.BINDING or stage is Stage.BOUND
        if state.takes_room and not (on_node and node == state.node and pod_class is state.pod_class):
            self._cluster.vacate(state)
        deleted = pod.metadata.deletion_timestamp
        if stage is not Stage.PENDING or deleted is not None or pod_class is not state.pod_class:
            self._cluster.lose_reservation(state)
        if spec.node_name:
            state.record = self._belongs(pod)[1]
            # a pod that names none of the only subset was bound for that
            state.names_subset = state.names_subset if state.record is None else state.record.names_subset
            # asked for, it may not stand there yet
            state.marked = pod_facts.marked(pod) or state.marked
        if gang is not None and stage is Stage.FAILED and state.stage is Stage.BOUND and pod_facts.turned_away(pod):
            gang.turned_away |= gang.was_bound_for(state)
        gates = tuple(gate.name for gate in spec.scheduling_gates)
        joins = pod_class is not state.pod_class or gates != state.gates
        cause = _what_became_of_it(state.stage, stage, deleted=deleted is not None)
        state.stage, state.pod_class = stage, pod_class
        if on_node and not state.node:
            # first news of a bind, another scheduler's included; or the pod was resized
            self._cluster.occupy(state, node)
        state.gates, state.astray, state.unsettled = gates, pod.astray, pod.unsettled
        if deleted is not None:
            state.leaving_until = seconds(deleted)
            state.evicted, state.condemned = state.evicted or pod_facts.evicted(pod), None
            self._cluster.leave(state)
        state.priority = spec.priority or 0
        if gang is None and stage is Stage.PENDING and pod.metadata.labels != state.labels:
            state.remark = remark(pod)
        state.labels, state.owner = pod.metadata.labels, owner
        state.started_at = started_at
        state.running = pod.status.phase == "Running"
        state.said = pod_facts.said(pod) or state.said
        if bound_at is not None and not (state.bound_at is not None and 0 <= state.bound_at - bound_at < 1):
            # the API keeps whole seconds; the time of the acknowledgement is finer
            state.bound_at = bound_at
        state.gated_by, state.gated_as = self.gates.why(state)
        self._cluster.disturb(state)
        self.noted.changed(state, gang, cause)
        if gang is not None:
            gang.count(state)
            self.noted.members.append(state)
            if joins:
                gang.joins(state)

    def _bind_ended(self, state: PodState, stage: Stage, node: str) -> None:
        """The watch was faster than the answer to the bind."""
        if stage is Stage.BOUND and node == state.node:
            self.noted.bound.append((state, node))
        else:
            self._unbind(state)

    def _belongs(self, pod: Pod) -> tuple[Membership | None, BoundFor | None]:
        """The gang that the pod is in, and for whom it was bound; a bound pod stays in the gang of its record."""
        record = bound_for(pod) if pod.spec.node_name and pod.spec.scheduler_name in self._names else None
        if record is None:
            return membership(pod), None
        return Membership(record.gang, record.names_subset) if record.gang else None, record

    def _names_another(self, state: PodState, pod: Pod) -> bool:
        """Whether the pod, whose labels may change, names or was bound for another gang than it is in."""
        member, record = self._belongs(pod)
        if member is None:
            return state.gang is not None
        if member.settled(self._gives_way) != state.gang:
            return True
        named = member.subset_in(state.gang)
        if named != state.names_subset and (record is None or named != state.subset):
            return True
        # another name that counts only if the first gives way
        return record is None and (member if member.besides else None) != state.names

    def _pod_gone(self, change: PodGone) -> None:
        state = self._cluster.pods.pop(change.uid, None)
        if state is None:
            return
        self._give_up(state)
        if state.pod_class.rules.needs:
            self._supplies.gone(state.uid)

    def _give_up(self, state: PodState) -> None:
        """The pod is not in its gang, nor on its node, any more."""
        self.classing.gone(state)
        self._renamed.pop(state.uid, None)
        gang = self._cluster.gang_of(state)
        if gang is not None:
            gang.remove(state)
            self._cluster.forget_if_empty(gang)
        if state.names is not None:
            self._forget_names(state, state.names.gang)
        self._cluster.lose_reservation(state)
        self._unbind(state)
        if state.takes_room:
            self._cluster.vacate(state)
        state.leaving = True
        self.noted.changed(state, gang, Cause.MEMBER_LOST)

    def _forget_names(self, state: PodState, gang: str) -> None:
        named = self._named_twice[gang]
        del named[state.uid]
        if not named:
            del self._named_twice[gang]

    # --- results of binds ---

    def _bound(self, change: Bound) -> None:
        state = self._cluster.pods.get(change.uid)
        if state is None or state.stage is not Stage.BINDING or state.node != change.node:
            # the watch was faster, or the pod is gone
            return
        self.move(state, Stage.BOUND, bound_at=change.at)
        self.noted.bound.append((state, change.node))

    def _bind_failed(self, change: BindFailed) -> None:
        state = self._cluster.pods.get(change.uid)
        if state is not None and state.stage is Stage.BINDING and state.node == change.node:
            self.noted.failed.append((state, change))

    def _grant_failed(self, change: GrantFailed) -> None:
        self._supplies.failed(change.grant, change.message)

    def _answered(self, change: Answered) -> None:
        if self._attending.heard(change):
            self.noted.supplied.append(change.question.uid)

    def _spared(self, change: Spared) -> None:
        self.noted.spared.extend(change.uids)

    # --- what the engine itself changes ---

    def set_out(
        self, binds: Iterable[tuple[PodState, str]], records: dict[str, BoundFor], attempt: int
    ) -> tuple[Placement, ...]:
        """Pending members of a unit are being bound, for whom the record of their subset says.

        Whoever calls has taken their room.
        """
        placements: list[Placement] = []
        pods: list[PodState] = []
        for pod, node in binds:
            record = records[pod.subset]
            if pod.names_subset and pod.names_subset != pod.subset:
                # should the group have a minimum for that later, the pod counts for it
                record = replace(record, named=pod.names_subset)
            pod.record, pod.attempt = record, attempt
            if pod.setbacks is not NO_SETBACKS:
                pod.setbacks = pod.setbacks.tried_again()
            self._cluster.note(pod, node)
            pods.append(pod)
            placements.append(Placement(pod.uid, pod.key, node, record))
        gang = self._cluster.gang_of(pods[0])
        if gang is not None:
            gang.set_out(pods)
        else:
            pods[0].stage = BINDING
        return tuple(placements)

    def move(
        self,
        pod: PodState,
        stage: Stage,
        *,
        bound_at: float | None = None,
        leaving: bool | None = None,
        condemned: Condemned | None = None,
    ) -> None:
        """A pod changes by our own doing: its stage, or whether it leaves; becoming pending it gives its room back.

        One that is pending again and named another gang meanwhile is given up, and comes anew; who is spared, or leaves
        for another reason than an eviction that may be called off, is condemned no longer.
        """
        gang = self._cluster.gang_of(pod)
        if gang is not None:
            gang.uncount(pod)
        if leaving is not None:
            pod.condemned = condemned
        if stage is Stage.PENDING and pod.takes_room:
            self._unbind(pod)
            self._cluster.vacate(pod)
            pod.record = None
        pod.stage = stage
        if leaving:
            self._cluster.leave(pod)
        elif leaving is False:
            self._cluster.stay(pod)
        if bound_at is not None:
            pod.bound_at = bound_at
            self._cluster.disturb(pod)
        if gang is not None:
            gang.count(pod)
            if stage is Stage.PENDING:
                # decided before the gang's start perhaps, and not bound then
                gang.joins(pod)
            self.noted.members.append(pod)
        self.noted.changed(pod, gang, _what_was_done(stage, leaving))
        if stage is Stage.PENDING:
            # the gangs that it names may have changed while it was being bound
            self._settle_name(pod)
            if not pod.leaving and self.names_another(pod):
                self._comes_anew(pod, self._renamed[pod.uid])

    def _unbind(self, state: PodState) -> None:
        """Plugins that reserve or supply learn of it if the pod was being bound."""
        if state.stage is BINDING and self._profiles.of(state.pod_class).reservers:
            self.noted.unbound.append((state, state.node))
        if state.stage is BINDING and (state.pod_class.rules.needs or self._attending.is_asked(state.uid)):
            self.noted.ungranted.append(state)

    def names_another(self, pod: PodState) -> bool:
        """Whether the pod is to join another gang, should it not be bound for the one that it is in."""
        renamed = self._renamed.get(pod.uid)
        return renamed is not None and self._names_another(pod, renamed)

    def mark_started(self, gang: GangState) -> list[PodState]:
        """Members that are to say that the gang has started, since it has no status; they count as saying so."""
        pods = gang.unmarked
        for pod in pods:
            gang.uncount(pod)
            pod.marked = gang.key
            gang.count(pod)
        return pods

    def started(self, gang: GangState, now: float) -> None:
        """The gang has its minimum, for the first time or again."""
        gang.started_at = now
        # it may no longer be evicted as one that has not
        self._cluster.version += 1


def _gated_by(declared: Gang) -> tuple[object, ...]:
    """What an object says that may hold members."""
    return declared.priority, declared.subset_names, declared.names_others


def _what_became_of_it(before: Stage, after: Stage, *, deleted: bool) -> Cause:
    if deleted or after is Stage.FAILED:
        return Cause.MEMBER_LOST
    if after is Stage.SUCCEEDED:
        return Cause.MEMBER_ENDED
    return Cause.BOUND if after is Stage.BOUND and before is not Stage.BOUND else Cause.MEMBER_CHANGED


def _what_was_done(stage: Stage, leaving: bool | None) -> Cause:
    if leaving is not None:
        return Cause.MEMBER_LOST if leaving else Cause.SPARED
    return Cause.BIND_REJECTED if stage is Stage.PENDING else Cause.BOUND
