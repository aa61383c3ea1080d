"""What is read of a cluster and told to the engine."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from muster.api.kinds import KINDS, NAMESPACES, SERVICES
from muster.api.resources import (
    CUSTOM_POD_GROUPS,
    DISRUPTION_BUDGETS,
    NATIVE_POD_GROUPS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
)
from muster.app.inbox import Inbox
from muster.app.informers import Informers
from muster.base.errors import ApiError
from muster.engine.changes import BudgetGone, BudgetSeen, FactGone, FactSeen
from muster.gangs.dialects import NATIVE
from muster.kube.reflector import Gone
from tests.kube.server import Api, Direct, deleted, modified, page, refusal, running, until

pytestmark = pytest.mark.looptime

BUDGETS = "/apis/policy/v1/poddisruptionbudgets"
ALWAYS = (NODES, PRIORITY_CLASSES, DISRUPTION_BUDGETS, *NATIVE_POD_GROUPS, *CUSTOM_POD_GROUPS, PODS)


@pytest.fixture
def api():
    """A cluster with nothing in it."""
    api = Api()
    for resource in (*ALWAYS, *(kind.resource for kind in KINDS.values())):
        api.on("LIST", resource.path(), page())
    return api


@asynccontextmanager
async def reading(api, *, must=(), may=()):
    inbox = Inbox()
    informers = Informers(Direct(api), inbox, must=must, may=may)

    async def read():
        await asyncio.gather(*(reflector.run() for reflector in informers))

    async with running(read()):
        yield informers, inbox


async def watched(api, path):
    """The stream on which changes of these objects are told."""
    await until(lambda: any(call.path == path for call in api.asked("WATCH")))
    (stream,) = [stream for call, stream in zip(api.asked("WATCH"), api.streams, strict=True) if call.path == path]
    return stream


def budget(version=1, *, allowed=0):
    return {
        "metadata": {"name": "b", "namespace": "team", "uid": "uid-b", "resourceVersion": str(version)},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": "50%"},
        "status": {"disruptionsAllowed": allowed, "disruptedPods": {"web-1": "2027-01-15T08:00:00Z"}},
    }


async def test_disruption_budgets_are_told_as_they_come_change_and_go(api):
    api.on("LIST", BUDGETS, page(budget()))
    async with reading(api) as (informers, inbox):
        await informers.synced()
        (seen,) = inbox.take()
        assert isinstance(seen, BudgetSeen)
        assert seen.budget.spec.selector.matches({"app": "web"})
        assert seen.budget.status.disrupted_pods.keys() == {"web-1"}
        watch = await watched(api, BUDGETS)
        watch.send(modified(budget(2, allowed=3)), deleted(budget(3)))
        await until(inbox.filled.is_set)
        changed, gone = inbox.take()
        assert changed.budget.status.disruptions_allowed == 3
        assert gone == BudgetGone("team/b")


async def test_nothing_is_in_step_before_the_budgets_were_read(api):
    api.on("LIST", BUDGETS, refusal(403, "poddisruptionbudgets.policy is forbidden"))
    async with reading(api) as (informers, _):
        await until(lambda: informers.budgets.trouble is not None)
        await until(lambda: all(one.synced.is_set() for one in informers if one is not informers.budgets))
        assert not informers.budgets.synced.is_set()
        assert isinstance(informers.budgets.trouble, ApiError)


async def test_a_404_does_not_take_the_budgets_away(api):
    """Evicting as if there were none would be worse than waiting."""
    api.on("LIST", BUDGETS, page(budget()), refusal(404))
    async with reading(api) as (informers, inbox):
        await informers.synced()
        inbox.take()
        refreshing = asyncio.create_task(informers.budgets.refresh())
        await until(lambda: informers.budgets.trouble is not None)
        assert not refreshing.done()
        refreshing.cancel()
        assert inbox.take() == []


async def test_a_new_leader_reads_the_budgets_anew(api):
    api.on("LIST", BUDGETS, page(budget()), page(budget(2, allowed=3)))
    async with reading(api) as (informers, inbox):
        await informers.synced()
        inbox.take()
        await informers.refresh()
        assert [change.budget.status.disruptions_allowed for change in inbox.take()] == [3]


# --- what plugins read ---


def thing(kind, version=1, **labels):
    meta = {"name": "x", "uid": "uid-x", "resourceVersion": str(version), "labels": labels}
    return {"metadata": meta | ({"namespace": "team"} if kind.resource.namespaced else {})}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("needed", [True, False])
async def test_what_plugins_read_is_told_as_it_comes_changes_and_goes(api, kind, needed):
    path = kind.resource.path()
    api.on("LIST", path, page(thing(kind, stage="test")))
    async with reading(api, **{"must" if needed else "may": [kind]}) as (informers, inbox):
        await informers.synced()
        (seen,) = inbox.take()
        assert isinstance(seen, FactSeen)
        assert (seen.fact.metadata.name, seen.fact.metadata.labels) == ("x", {"stage": "test"})
        watch = await watched(api, path)
        watch.send(modified(thing(kind, 2, stage="live")), deleted(thing(kind, 3)))
        await until(inbox.filled.is_set)
        changed, gone = inbox.take()
        assert changed.fact.metadata.labels == {"stage": "live"}
        assert gone == FactGone(kind.name, "team/x" if kind.resource.namespaced else "x")


async def test_what_no_plugin_reads_is_not_read(api):
    async with reading(api, must=[NAMESPACES]) as (informers, _):
        await informers.synced()
        asked = {call.path for call in api.asked("LIST")}
        assert asked & {kind.resource.path() for kind in KINDS.values()} == {NAMESPACES.resource.path()}


async def test_nothing_is_in_step_before_all_was_read_that_plugins_must_know(api):
    """A pod placed without them may be where another, from a namespace with such labels, must not have it."""
    api.on("LIST", NAMESPACES.resource.path(), refusal(403, "namespaces is forbidden"))
    async with reading(api, must=[NAMESPACES]) as (informers, _):
        namespaces = informers.facts[NAMESPACES.name]
        await until(lambda: namespaces.trouble is not None)
        await until(lambda: all(one.synced.is_set() for one in informers if one is not namespaces))
        assert not namespaces.synced.is_set()


@pytest.mark.parametrize("code", [403, 404])
async def test_what_plugins_can_do_without_keeps_nobody_waiting(api, code):
    api.on("LIST", SERVICES.resource.path(), refusal(code, "services is forbidden"), page(thing(SERVICES)))
    async with reading(api, may=[SERVICES]) as (informers, inbox):
        await informers.synced()
        assert inbox.take() == []
        await asyncio.sleep(20)
        assert [type(change) for change in inbox.take()] == [FactSeen]


async def test_whether_a_label_counts_is_asked_again_when_the_group_of_the_field_is_read(api):
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-train", "controller": True}
    job = {"metadata": {"name": "job", "namespace": "team", "uid": "uid-job", "ownerReferences": [owner]}}
    labels = {"muster.dev/pod-group": "train"}
    pod = {
        "metadata": {"name": "p", "namespace": "team", "uid": "uid-p", "labels": labels},
        "spec": {"schedulingGroup": {"podGroupName": "job"}},
    }
    api.on("LIST", PODS.path(), page(pod))
    api.on("LIST", NATIVE_POD_GROUPS[0].path(), page(job))
    async with reading(api) as (informers, _):
        await informers.synced()
        assert "team/train" in informers.named_by_label
        informers._of(NATIVE)([Gone("team/job", "uid-job")])
        assert "team/train" not in informers.named_by_label
