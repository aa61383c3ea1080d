"""Faults to plant in what stands around the engine: what a tired mind might write.

`plant(name, patch)` makes one; `patch(target, attribute, value)` is monkeypatch.setattr.
"""

import asyncio
from contextlib import suppress
from typing import NamedTuple

import msgspec

from muster.app import scheduler, writer
from muster.app.inbox import Warm
from muster.app.informers import Informers
from muster.app.run import Muster
from muster.app.scheduler import Scheduler
from muster.app.writer import Writer
from muster.base.errors import ApiError, KubeError
from muster.controllers import garbage, protection
from muster.controllers.budgets import Budgets
from muster.controllers.garbage import Garbage
from muster.controllers.jobs import Jobs
from muster.controllers.made_groups import MadeGroups
from muster.controllers.namespaces import Namespaces
from muster.controllers.objects import OwnerReference
from muster.controllers.protection import NamedByLabel, Protection
from muster.edge import groups
from muster.edge.by_pods import DeclaredByPods
from muster.edge.groups import Groups
from muster.edge.owned import Owned
from muster.engine.changes import BindFailed, Bound, FactSeen, Failure, PodGone, Spared
from muster.gangs.dialects import NATIVE
from muster.gangs.dialects.dialect import Dialect
from muster.kube import reflector, writes
from muster.kube.client import Client
from muster.kube.lease import Lease
from muster.kube.outbox import Outbox, Urgency
from muster.kube.reflector import Reflector
from muster.local.objects.definitions import Definitions
from muster.local.patching import granular
from muster.local.patching.apply import _Apply
from muster.local.patching.diff import parts_of
from muster.local.patching.fields import difference
from muster.local.store import log
from muster.local.store.log import SqliteLog
from muster.local.store.store import NotWritten, Store
from tests.system.dialects import MIXED
from tests.system.world import BY_LABEL, LATE_KINDS

FAULTS = {}


class Fault(NamedTuple):
    rules: tuple
    """Rules that may catch it: one of them must."""
    needs: frozenset
    """Troubles without which a world cannot show it, or seldom does."""
    first: int
    """Worlds are tried from this seed on: one that was seen to catch it, where that took long."""
    plant: object

    @property
    def without(self):
        """Troubles that came later, by which worlds that were seen to catch it would be others."""
        return frozenset({MIXED, "services"} - self.needs)


def fault(*rules, needs=(), first=0):
    def file(plant):
        FAULTS[plant.__name__] = Fault(rules, frozenset(needs), first, plant)
        return plant

    return file


def plant(name, patch):
    FAULTS[name].plant(patch)


# --- reflector ---


@fault("in step", "recount", needs=["bookmarks"])
def a_bookmark_is_taken_for_an_update(patch):
    take = Reflector._take_events

    def careless(self, lines):
        for line in lines:
            event = self._event.decode(line)
            if event.type == "BOOKMARK" and self.known:
                # the object that changed last is said to have the bookmark's version
                key = next(reversed(self.known))
                version = self._mark.decode(event.object).metadata.resource_version
                self.known[key] = self.known[key]._replace(version=version)
        take(self, lines)

    patch(Reflector, "_take_events", careless)


@fault("in step", "recount", needs=["short history", "cut watches"], first=121)
def a_deletion_is_missed_in_a_relist(patch):
    async def list_all(self, resource):
        page = self._read_page(await self._client.request("GET", resource.path()))
        news = []
        for item in page.items or ():
            self._take(item, news)
        self._deliver(news)
        return page.metadata.resource_version

    patch(Reflector, "_list_all", list_all)


@fault("in step", "recount", needs=["short history", "cut watches", "same names"], first=1_010)
def a_pod_made_again_is_taken_for_the_one_before(patch):
    def take(self, item, news):
        meta = reflector._metadata(item)
        key = reflector._key(meta)
        self.known[key] = reflector._Known(meta.uid, meta.resource_version)
        news.append(item)
        return key

    patch(Reflector, "_take", take)


@fault("rest", needs=["short history", "cut watches"])
def a_version_that_is_gone_is_asked_for_again_and_again(patch):
    patch(reflector, "_is_useless", lambda error, refusals: False)


@fault("in step", "recount", "rest", needs=["short history", "cut watches"], first=70)
def what_happened_in_a_gap_is_skipped(patch):
    """Where history is lost, it goes on from now without a list."""
    recover = Reflector._recover

    async def hopeful(self, error):
        version = self._version
        await recover(self, error)
        if version and not self._version:
            data = await self._client.request("GET", self.resource.path(), query={"limit": "1"})
            self._version = self._read_page(data).metadata.resource_version

    patch(Reflector, "_recover", hopeful)


@fault("in step", "recount", "over-commit", needs=["cut watches"])
def a_broken_piece_of_a_watch_is_thrown_away(patch):
    async def lines(pieces):
        async for piece in pieces:
            yield [line for line in piece.split(b"\n") if line.startswith(b"{") and line.endswith(b"}")]

    patch(reflector, "_lines", lines)


@fault("sight", needs=["time-outs"])
def a_watch_may_begin_as_late_as_it_likes(patch):
    """As it was until a leader was blind for minutes."""
    answer = Client._answer
    patch(Client, "_answer", lambda self, request, timeout, begins_seconds=None: answer(self, request, timeout))


# --- binds and other writes ---


@fault("uid", needs=["lost answers"])
def a_bind_that_is_tried_again_names_no_uid(patch):
    request, tried = Client.request, set()

    async def forgetful(self, method, path, **more):
        if path.endswith("/binding"):
            body = msgspec.json.decode(more["body"])
            if path in tried:
                del body["metadata"]["uid"]
            tried.add(path)
            more["body"] = msgspec.json.encode(body)
        return await request(self, method, path, **more)

    patch(Client, "request", forgetful)


@fault("uid", needs=["priorities", "crowded"])
def an_eviction_names_no_uid(patch):
    encode = writes._encode

    def without(body):
        if isinstance(body, dict) and body.get("kind") == "DeleteOptions":
            body = {"apiVersion": "v1", "kind": "DeleteOptions"}
        return encode(body)

    patch(writes, "_encode", without)


@fault("one node", "over-commit", "stale word", needs=["lost answers"], first=125)
def a_lost_answer_is_taken_for_a_failure(patch):
    bind = writes.bind

    async def hasty(client, placement, **more):
        answer = await bind(client, placement, **more)
        if isinstance(answer, BindFailed) and answer.failure is Failure.TRANSIENT:
            return BindFailed(answer.uid, answer.node, Failure.REJECTED, answer.message)
        return answer

    patch(writes, "bind", hasty)


@fault("recount", "agreement", needs=["conflicts"])
def a_conflict_is_believed_to_be_our_own_bind(patch):
    async def trusting(client, placement, unbound, *, at):
        return Bound(placement.uid, placement.node, at)

    patch(writes, "_as_the_pod_says", trusting)


@fault("recount", "in step", "agreement", "told", "nobody waits who fits", needs=["conflicts"])
def a_conflict_is_believed_to_be_the_pods_end(patch):
    async def resigned(client, placement, unbound, *, at):
        return PodGone(placement.uid)

    patch(writes, "_as_the_pod_says", resigned)


@fault("told", "agreement", "half bound", "rest", needs=["conflicts"], first=93)
def a_conflict_is_taken_for_the_end_of_the_object(patch):
    """As it was until a world showed it."""
    gone = writes.is_gone
    patch(writes, "is_gone", lambda error: error.code == 409 or gone(error))


@fault("circles", needs=["stops", "errors"], first=2_107)
def who_is_to_stop_does_not_wait(patch):
    """As it was until a world showed it."""
    patch(scheduler, "_STOPPING_LOOK_SECONDS", 0.0)


@fault("stale word", needs=["errors", "crowded"], first=151)
def what_is_said_of_a_pod_does_not_wait_for_its_bind(patch):
    put = Outbox.put

    def apart(self, errand):
        if errand.urgency in (Urgency.NOMINATION, Urgency.POD):
            errand.subject = f"word {errand.subject}"
        put(self, errand)

    patch(Outbox, "put", apart)
    patch(writer._Pod, "bound", lambda self: None)


@fault("one bind", needs=["slow"])
def a_bind_without_an_answer_is_sent_once_more(patch):
    request = Client.request

    async def hedged(self, method, path, **more):
        if not path.endswith("/binding"):
            return await request(self, method, path, **more)
        first = asyncio.ensure_future(request(self, method, path, **more))
        await asyncio.wait([first], timeout=0.3)
        if first.done():
            return first.result()
        second = asyncio.ensure_future(request(self, method, path, **more))
        with suppress(KubeError, ApiError):
            await second
        return await first

    patch(Client, "request", hedged)


@fault(
    "half bound",
    "rest",
    "nobody waits who fits",
    "nobody waits who may evict",
    "rebuild",
    "recount",
    "nomination",
    needs=["errors", "resets", "priorities", "crowded"],
    first=2_624,
)
def a_deletion_that_failed_is_forgotten(patch):
    put = Outbox.put

    def once(self, errand):
        if errand.urgency is Urgency.RELEASE:
            errand.lasting, errand.tries = False, 100
        put(self, errand)

    patch(Outbox, "put", once)


@fault("nominated", needs=["priorities", "crowded", "errors"], first=283)
def victims_go_before_it_is_written_for_whom(patch):
    patch(Writer, "_hold_up", lambda self, deletion: self._go_if_ready(deletion))


@fault("decided", needs=["priorities", "crowded", "brief preemptors", "slow", "errors"], first=3_144)
def who_is_said_to_be_spared_is_deleted_all_the_same(patch):
    def careless(self, decision):
        self._answer.put([Spared(tuple(ref.uid for ref in decision.pods))])

    patch(Writer, "_call_off", careless)


@fault("agreement", "told", "gang condition", needs=["errors"], first=128)
def what_a_group_is_to_say_is_tried_once(patch):
    put = Outbox.put

    def once(self, errand):
        if errand.urgency is Urgency.GROUP:
            errand.lasting, errand.tries = False, 100
        put(self, errand)

    patch(Outbox, "put", once)


@fault("protection", needs=[BY_LABEL])
def a_group_is_left_to_kubernetes_whoever_names_it(patch):
    """As it was until a group was deleted under its pods."""
    patch(NamedByLabel, "seen", lambda self, pod: None)


@fault("protection", needs=[BY_LABEL], first=38)
def what_protected_a_group_stays_when_nobody_names_it(patch):
    patch(Protection, "_take_off", lambda self, group: None)


@fault("protection", needs=[BY_LABEL], first=38)
def a_pod_that_has_ended_still_uses_its_group(patch):
    patch(protection, "_ENDED", ())


@fault("protection", needs=[BY_LABEL, "kills"], first=123)
def a_new_leader_protects_what_changes_from_now_on(patch):
    make = Scheduler.__init__

    def hasty(self, *args, informers, **more):
        informers.groups.take_touched(NATIVE)
        informers.named_by_label.take_touched()
        make(self, *args, informers=informers, **more)

    patch(Scheduler, "__init__", hasty)


# --- dialects ---


@fault("declared", needs=[MIXED])
def of_two_objects_of_one_name_the_last_to_come_counts(patch):
    patch(groups, "_first", lambda found: (last := next(reversed(found), None)) and (last, found[last]))


@fault("declared", needs=[MIXED])
def with_an_object_goes_what_others_of_its_name_declare(patch):
    def forget(self, dialect, key):
        del self._declared[key]

    patch(Groups, "_forget", forget)


@fault("declared", needs=[MIXED], first=48)
def replicas_are_not_told_that_their_workload_came_or_went(patch):
    patch(DeclaredByPods, "template_changed", lambda self, keys: [])


@fault("rest", needs=[MIXED], first=52)
def the_gang_of_a_workload_is_looked_for_among_pod_groups(patch):
    """As it was until a world showed it."""
    patch(Dialect, "group_of", lambda self, key: key)


@fault("rest", needs=[MIXED, LATE_KINDS])
def a_kind_that_is_not_served_at_first_is_never_looked_for_again(patch):
    patch(reflector, "_ABSENT_SECONDS", 1e9)


@fault("started", needs=[MIXED])
def members_do_not_say_that_a_gang_has_started_whose_object_cannot(patch):
    patch(Writer, "_mark_started", lambda self, decision: None)


@fault("started", needs=[MIXED])
def one_member_says_for_all_that_the_gang_has_started(patch):
    mark = Writer._mark_started
    patch(Writer, "_mark_started", lambda self, said: mark(self, msgspec.structs.replace(said, pods=said.pods[:1])))


@fault("counts", needs=[MIXED])
def members_are_counted_when_their_object_changes(patch):
    patch(Scheduler, "_gangs_of", lambda self, changes: set())


@fault("made", needs=[MIXED, "jobs"])
def nobody_makes_the_group_that_pods_ask_for(patch):
    patch(MadeGroups, "look", lambda self, touched: None)


@fault("made", "writers", needs=[MIXED, "jobs"], first=280)
def a_group_is_made_for_as_many_pods_as_there_are(patch):
    wanted, first = Owned.wanted, {}

    def hasty(self, key):
        found = wanted(self, key)
        if found is None:
            return None
        seen = first.setdefault((found.owner.uid, key), len(self._members[key]))
        return msgspec.structs.replace(found, minimum=seen)

    patch(Owned, "wanted", hasty)


@fault("protection", needs=[MIXED])
def only_groups_of_kubernetes_are_protected(patch):
    write = Scheduler._write_finalizers

    def native(self, dialect, *args):
        if dialect is NATIVE:
            write(self, dialect, *args)

    patch(Scheduler, "_write_finalizers", native)


# --- lease ---


@fault("leases", needs=["freezes"], first=25)
def nobody_asks_for_the_lease_before_a_write(patch):
    patch(Client, "writing_while", lambda self, may_write: self)
    make = Outbox.__init__

    def trusting(self, *, may_send, **more):
        make(self, **more)

    patch(Outbox, "__init__", trusting)


@fault("leases", needs=["freezes"], first=96)
def the_lease_is_asked_for_before_the_connection_is_there(patch):
    """The outbox asks, and nobody asks again."""
    patch(Client, "writing_while", lambda self, may_write: self)


@fault("leases", needs=["stops", "slow"], first=842)
def the_lease_is_given_back_while_writes_are_on_their_way(patch):
    patch(Outbox, "under_way_of", lambda self, up_to: 0)
    patch(Muster, "_finish", lambda self, working: _cancel(working))


async def _cancel(task):
    task.cancel()


@fault("leases", needs=["partitions"], first=468)
def a_lease_is_taken_before_it_has_run_out(patch):
    may_take = Lease._may_take

    def eager(self, current):
        return may_take(self, current) or self._seen_at + self._timing.duration / 3 < self._clock()

    patch(Lease, "_may_take", eager)


@fault("leases", needs=["lost answers"])
def a_lease_is_held_as_long_as_nobody_says_otherwise(patch):
    patch(Lease, "held", lambda self: self._renewed_at is not None)


# --- rebuild ---


@fault("takeover", needs=["deaf standby"], first=51)
def a_new_leader_does_not_read_again(patch):
    async def trusting(self):
        return None

    patch(Informers, "refresh", trusting)


@fault("recount", needs=["kills"])
def who_stands_by_remembers_pods_that_are_gone(patch):
    put = Warm.put
    patch(Warm, "put", lambda self, changes: put(self, [one for one in changes if not isinstance(one, PodGone)]))


@fault("recount", needs=["services", "kills"])
def what_plugins_read_is_not_kept_by_who_stands_by(patch):
    put = Warm.put
    patch(Warm, "put", lambda self, changes: put(self, [one for one in changes if not isinstance(one, FactSeen)]))


@fault("recount", "agreement", "told", needs=["kills"], first=19)
def a_new_leader_forgets_what_it_read_while_it_stood_by(patch):
    take = Warm.take

    def half(self):
        changes = list(take(self))
        return changes[: len(changes) // 2]

    patch(Warm, "take", half)


@fault("recount", "agreement", "told", "nobody waits who fits")
def changes_that_come_during_a_turn_are_lost(patch):
    async def something_to_do(self):
        await wait(self)
        early = self._inbox.take()
        await asyncio.sleep(0.01)
        self._inbox._changes = early

    wait = Scheduler._something_to_do
    patch(Scheduler, "_something_to_do", something_to_do)


# --- owners ---


@fault("living owners", needs=["owners", "lagging watches"], first=296)
def an_owner_that_was_not_seen_yet_is_taken_for_gone(patch):
    def ask(self, resource, meta):
        return None
        yield

    patch(Garbage, "_ask", ask)


@fault("living owners", needs=["owners", "definitions"], first=49)
def what_is_read_in_another_version_is_taken_for_gone(patch):
    """As it was until the upgrade of an operator deleted what its objects owned."""
    serve = Garbage.serve

    def hasty(self, resources):
        resources = tuple(resources)
        kinds = {(one.group, one.kind): one for one in resources}
        for uid, thing in list(self._things.items()):
            now = kinds.get((thing.resource.group, thing.resource.kind))
            if now is not None and now != thing.resource:
                del self._things[uid]
                kind, version = now.kind, thing.resource.api_version
                owner = OwnerReference(kind=kind, api_version=version, name=thing.meta.name, uid=uid)
                self._note_absent(owner, thing.meta.namespace)
                for dependent in self._dependents.get(uid, ()):
                    self._desk.add(dependent)
        serve(self, resources)

    patch(Garbage, "serve", hasty)


@fault("dead owners", needs=["owners"], first=212)
def an_owner_goes_and_nobody_asks_what_it_owned(patch):
    patch(Garbage, "_confirm_owner", lambda self, owner: iter(()))


@fault("dead owners", needs=["owners"])
def who_leaves_orphans_is_never_let_go(patch):
    patch(Garbage, "_orphan", lambda self, uid: iter(()))


# --- whose the fields are ---


@fault("writers", needs=["owners"])
def the_collector_leaves_its_mark(patch):
    with_owners = garbage._with_owners

    def marked(thing, owners):
        call = with_owners(thing, owners)
        call.body["metadata"]["annotations"] = {"collected": "yes"}
        return call

    patch(garbage, "_with_owners", marked)


@fault("writers", needs=["appliers"], first=26)
def what_others_own_is_taken_over_without_a_word(patch):
    carry_out = _Apply.carry_out
    patch(_Apply, "carry_out", lambda self, force: carry_out(self, force=True))


@fault("writers", needs=["appliers"], first=79)
def who_applies_less_takes_away_what_others_own_too(patch):
    def pruned(self, new, last, shape):
        return granular.removed(new, difference(last.fields, parts_of(self._config, shape)), shape) or new

    patch(_Apply, "_pruned", pruned)


@fault("writers", needs=["appliers"])
def what_is_applied_as_nothing_vanishes(patch):
    """As it was of custom objects: 0, false and "" were lost."""
    merged = granular._merged_maps

    def truthy(live, config, shape):
        return {name: value for name, value in merged(live, config, shape).items() if value not in (0, False, "")}

    patch(granular, "_merged_maps", truthy)


# --- the server's process ---


@fault("kept", needs=["disk"], first=14)
def a_write_that_failed_is_acknowledged(patch):
    append = SqliteLog.append

    def hopeful(self, *args, **more):
        with suppress(NotWritten):
            append(self, *args, **more)

    patch(SqliteLog, "append", hopeful)


@fault("kept", needs=["server restarts"])
def a_deletion_is_not_written(patch):
    delete = Store.delete

    def forgetful(self, storage, last):
        log, self._log = self._log, None
        try:
            return delete(self, storage, last)
        finally:
            self._log = log

    patch(Store, "delete", forgetful)


@fault("kept", needs=["disk"])
def a_tidied_log_has_lost_what_changed_once(patch):
    patch(log, "_SUPERSEDED", "DELETE FROM log WHERE version < (SELECT max(version) FROM log) - 20")


@fault("starts again", needs=["definitions"])
def custom_kinds_are_served_when_their_definition_changes(patch):
    start = Definitions.__init__

    def blind(self, store, registry, *args):
        start(self, store, registry, *args)
        for stored in store.list("customresourcedefinitions.apiextensions.k8s.io"):
            registry.define(stored.name, ())

    patch(Definitions, "__init__", blind)


# --- other controllers ---


@fault("namespaces", needs=["owners"])
def a_namespace_is_let_go_before_it_is_empty(patch):
    def empty(self, resource, namespace, account):
        return
        yield

    patch(Namespaces, "_empty", empty)


@fault("jobs", "rest", needs=["jobs"])
def a_job_is_not_looked_at_when_its_pods_change(patch):
    patch(Jobs, "_wake_owner", lambda self, pod: None)


@fault("budgets", needs=["budgets"], first=13)
def a_budget_is_not_looked_at_when_its_pods_change(patch):
    patch(Budgets, "_wake", lambda self, pod: None)
