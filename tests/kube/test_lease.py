"""Of two replicas one leads, and knows when it no longer may.  Each has a clock of its own; time is virtual."""

import asyncio
import json

import pytest

from muster.base.errors import KubeError, LeaseLost
from muster.kube.lease import Lease, Timing, since_boot
from tests.kube.server import Api, Cut, Direct, Held, Reply, refusal, running, settled

pytestmark = pytest.mark.looptime

ALL = "/apis/coordination.k8s.io/v1/namespaces/muster/leases"
ONE = f"{ALL}/muster"
TIMING = Timing(duration=15, renew_deadline=10, retry_period=2)


class Store:
    """One lease on a server that checks the resourceVersion of every write."""

    def __init__(self):
        self.api = Api()
        self.lease = None
        self.version = 0
        self.api.on("GET", ONE, self._get)
        self.api.on("POST", ALL, self._post)
        self.api.on("PUT", ONE, self._put)

    @property
    def spec(self):
        return self.lease["spec"]

    def _get(self, call):
        return refusal(404, reason="NotFound") if self.lease is None else Reply(self.lease)

    def _post(self, call):
        return refusal(409, reason="AlreadyExists") if self.lease is not None else self._keep(call)

    def _put(self, call):
        if self.lease is None:
            return refusal(404, reason="NotFound")
        if call.document["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            return refusal(409, reason="Conflict")
        return self._keep(call)

    def _keep(self, call):
        self.version += 1
        self.lease = call.document
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        # what is answered stays as it was, whatever is written later
        return Reply(json.dumps(self.lease).encode())

    def touched_by_someone(self, **spec):
        self.version += 1
        self.lease["spec"] |= spec
        self.lease["metadata"]["resourceVersion"] = str(self.version)

    def fail(self, *methods, answer=None):
        for method in methods or ("GET", "PUT", "POST"):
            self.api.on(method, ALL if method == "POST" else ONE, answer or Cut())

    def recover(self):
        self.api.on("GET", ONE, self._get)
        self.api.on("POST", ALL, self._post)
        self.api.on("PUT", ONE, self._put)


class Replica(Lease):
    """A replica whose clock may be wrong, and may jump."""

    def __init__(self, store, name, *, offset=0.0):
        self.offset = offset
        super().__init__(
            Direct(store.api),
            namespace="muster",
            name="muster",
            identity=name,
            timing=TIMING,
            clock=lambda: asyncio.get_running_loop().time() + self.offset,
            wall=lambda: 1_800_000_000.0 + asyncio.get_running_loop().time(),
        )

    def jump(self, seconds):
        """As when the process was stopped: its clock went on, it did not."""
        self.offset += seconds


@pytest.fixture
def store():
    return Store()


@pytest.fixture
def a(store):
    return Replica(store, "a", offset=1_000)


@pytest.fixture
def b(store):
    return Replica(store, "b", offset=-500)


# taking it


async def test_a_lease_that_nobody_made_is_made_and_held(store, a):
    assert await a.try_once()
    assert a.held()
    assert store.spec["holderIdentity"] == "a"
    assert store.spec["leaseDurationSeconds"] == 15
    assert store.spec["acquireTime"] == store.spec["renewTime"] == "2027-01-15T08:00:00.000000Z"
    assert store.spec["leaseTransitions"] == 0


async def test_one_of_two_has_it(a, b):
    assert await a.try_once()
    assert not await b.try_once()
    assert (a.held(), b.held()) == (True, False)
    assert b.holder == "a"


async def test_of_two_at_the_same_moment_one_has_it(a, b):
    taken = await asyncio.gather(a.try_once(), b.try_once())
    assert sorted(taken) == [False, True]
    assert a.held() != b.held()


async def test_nothing_is_held_before_it_was_taken(a):
    assert not a.held()


async def test_a_lease_that_somebody_left_empty_is_taken_at_once(store, a, b):
    await a.try_once()
    store.touched_by_someone(holderIdentity="")
    assert await b.try_once()
    assert store.spec["leaseTransitions"] == 1


async def test_a_replica_that_was_restarted_under_its_old_name_has_it_at_once(store, a):
    await a.try_once()
    again = Replica(store, "a")
    assert await again.try_once()
    assert store.spec["leaseTransitions"] == 0


async def test_standing_by_ends_when_the_leader_is_silent_for_the_duration_by_our_own_clock(store, a, b):
    await a.try_once()
    async with running(b.acquire()) as acquiring:
        await asyncio.sleep(15)
        assert not acquiring.done()
        await acquiring
        assert b.held()
    assert asyncio.get_running_loop().time() < 20
    assert store.spec["holderIdentity"] == "b"
    assert store.spec["leaseTransitions"] == 1


async def test_the_duration_runs_from_when_we_saw_the_lease_not_from_what_it_says(store, a, b):
    await a.try_once()
    store.touched_by_someone(renewTime="1999-12-31T23:59:59.000000Z")
    assert not await b.try_once()
    await asyncio.sleep(14)
    assert not await b.try_once()
    await asyncio.sleep(2)
    assert await b.try_once()


async def test_a_lease_that_is_renewed_is_never_taken(a, b):
    await a.acquire()
    async with running(a.keep()) as keeping, running(b.acquire()) as acquiring:
        await asyncio.sleep(1_000)
        assert a.held()
        assert not b.held()
        assert not keeping.done()
        assert not acquiring.done()


async def test_an_update_that_somebody_else_won_is_no_lease(store, a, b):
    await a.try_once()
    slow = Held(refusal(409, reason="Conflict"))
    store.touched_by_someone(holderIdentity="")
    store.api.on("PUT", ONE, slow)
    trying = asyncio.create_task(b.try_once())
    await settled()
    slow.gate.set()
    assert not await trying
    assert not b.held()


async def test_whoever_stands_by_asks_seldom(store, a, b):
    await a.acquire()
    async with running(a.keep()), running(b.acquire()):
        before = len(store.api.asked("GET"))
        await asyncio.sleep(600)
        asked = len(store.api.asked("GET")) - before
    # the leader every 2 seconds, the other every 2 to 4.4
    assert 300 + 130 <= asked <= 300 + 300


@pytest.mark.parametrize("code", [401, 403])
async def test_a_lease_that_we_may_not_read_is_an_error_for_a_person(store, a, code):
    store.fail("GET", answer=refusal(code, "leases are forbidden"))
    with pytest.raises(KubeError, match="leases are forbidden"):
        await a.acquire()


async def test_a_lease_that_we_may_not_make_is_an_error_for_a_person(store, a):
    store.fail("POST", answer=refusal(403, "leases are forbidden"))
    with pytest.raises(KubeError, match="leases are forbidden"):
        await a.acquire()


async def test_a_server_that_is_down_is_waited_for(store, a):
    store.fail()
    async with running(a.acquire()) as acquiring:
        await asyncio.sleep(60)
        assert not acquiring.done()
        store.recover()
        await asyncio.sleep(5)
        assert acquiring.done()
    assert a.held()


@pytest.mark.parametrize("answer", [Reply(b"<html>"), Reply(b""), Reply({"spec": 7}), Reply([])])
async def test_an_answer_that_is_no_lease_is_not_the_end(store, a, answer):
    await a.acquire()
    async with running(a.keep()) as keeping:
        store.fail("GET", answer=answer)
        await asyncio.sleep(5)
        store.recover()
        await asyncio.sleep(100)
        assert not keeping.done()
        assert a.held()


# keeping it


async def test_renewing_keeps_when_it_was_acquired_and_says_when_it_was_renewed(store, a):
    await a.acquire()
    async with running(a.keep()):
        await asyncio.sleep(7)
    assert store.spec["acquireTime"] == "2027-01-15T08:00:00.000000Z"
    assert store.spec["renewTime"] == "2027-01-15T08:00:06.000000Z"
    assert store.spec["leaseTransitions"] == 0


async def test_what_others_wrote_on_the_lease_stays(store, a):
    await a.try_once()
    store.lease["metadata"]["labels"] = {"team": "x"}
    store.lease["metadata"]["annotations"] = {"note": "y"}
    store.touched_by_someone()
    assert await a.try_once()
    assert store.lease["metadata"]["labels"] == {"team": "x"}
    assert store.lease["metadata"]["annotations"] == {"note": "y"}


async def test_a_leader_that_cannot_renew_in_time_says_so(store, a):
    await a.acquire()
    store.fail()
    async with running(a.keep()) as keeping:
        async with asyncio.timeout(30):
            with pytest.raises(LeaseLost, match="could not be renewed in time"):
                await keeping
    assert not a.held()
    assert asyncio.get_running_loop().time() <= 15


@pytest.mark.parametrize("methods", [("GET",), ("PUT",), ("GET", "PUT")])
async def test_a_leader_whose_server_is_silent_does_not_wait_past_its_time(store, a, methods):
    await a.acquire()
    for method in methods:
        store.api.on(method, ONE, *(Held(Reply({})) for _ in range(20)))
    async with running(a.keep()) as keeping:
        with pytest.raises(LeaseLost):
            await keeping
    assert asyncio.get_running_loop().time() <= 12.1


async def test_the_lease_is_not_held_any_more_before_another_may_take_it(store, a, b):
    """At every moment at most one of them believes that it leads."""
    await a.acquire()
    b_takes_at = None
    async with running(b.acquire()) as acquiring:
        await settled()
        # the last renewal succeeds, then the leader is cut off; the other sees that renewal at once
        assert await a.try_once()
        while not acquiring.done():
            await asyncio.sleep(0.05)
            assert not (a.held() and b.held())
        b_takes_at = asyncio.get_running_loop().time()
    assert b_takes_at > 15


async def test_a_renewal_counts_from_when_it_was_sent_not_from_when_it_was_answered(store, a):
    await a.acquire()
    slow = Held(Reply(store.lease))
    store.api.on("GET", ONE, slow)
    trying = asyncio.create_task(a.try_once())
    await asyncio.sleep(4)
    slow.gate.set()
    assert await trying
    await asyncio.sleep(5.9)
    assert a.held()
    await asyncio.sleep(0.2)
    assert not a.held()


async def test_a_process_that_was_stopped_does_not_believe_that_it_leads(a):
    await a.acquire()
    a.jump(10.001)
    assert not a.held()


async def test_a_process_that_was_stopped_for_too_long_says_so_even_if_nobody_took_over(a):
    """Nobody knows what happened in between."""
    await a.acquire()
    async with running(a.keep()) as keeping:
        await asyncio.sleep(1)
        a.jump(60)
        async with asyncio.timeout(5):
            with pytest.raises(LeaseLost):
                await keeping


async def test_a_process_that_was_stopped_sees_who_leads_now(store, a, b):
    await a.acquire()
    async with running(a.keep()) as keeping:
        await b.try_once()
        b.jump(16)
        assert await b.try_once()
        async with asyncio.timeout(5):
            with pytest.raises(LeaseLost, match="b holds it now"):
                await keeping
    assert not a.held()


async def test_a_conflict_while_renewing_is_tried_again(store, a):
    await a.acquire()
    async with running(a.keep()) as keeping:
        store.api.on("PUT", ONE, refusal(409, reason="Conflict"), store._put)
        await asyncio.sleep(20)
        assert not keeping.done()
        assert a.held()


async def test_a_lease_that_was_deleted_is_made_again(store, a):
    await a.acquire()
    async with running(a.keep()) as keeping:
        store.lease = None
        await asyncio.sleep(3)
        assert store.spec["holderIdentity"] == "a"
        assert not keeping.done()


async def test_a_short_outage_changes_nothing(store, a):
    await a.acquire()
    async with running(a.keep()) as keeping:
        store.fail()
        await asyncio.sleep(7)
        assert a.held()
        store.recover()
        await asyncio.sleep(60)
        assert not keeping.done()
        assert a.held()


# giving it back


async def test_a_lease_given_back_is_taken_by_the_other_at_its_next_look(store, a, b):
    await a.acquire()
    async with running(b.acquire()) as acquiring:
        await asyncio.sleep(3)
        await a.release()
        assert not a.held()
        assert store.spec["holderIdentity"] == ""
        await asyncio.sleep(4.5)
        assert acquiring.done()
    assert b.held()


async def test_giving_back_what_is_not_held_sends_nothing(store, a, b):
    await a.try_once()
    await b.try_once()
    before = len(store.api.calls)
    await b.release()
    assert len(store.api.calls) == before
    assert store.spec["holderIdentity"] == "a"


async def test_giving_it_back_never_takes_it_from_another(store, a, b):
    await a.try_once()
    store.touched_by_someone(holderIdentity="b")
    await a.release()
    assert store.spec["holderIdentity"] == "b"


async def test_a_server_that_is_down_does_not_stop_the_giving_back(store, a):
    await a.acquire()
    store.fail()
    await a.release()
    assert not a.held()


async def test_what_was_given_back_is_not_renewed_by_a_try_that_was_under_way(store, a):
    await a.acquire()
    async with running(a.keep()):
        await asyncio.sleep(1.5)
        slow = Held(None)
        store.api.on("GET", ONE, lambda call: slow)
        await asyncio.sleep(1)
        # the renewal has begun and waits for its read, which will show the lease as given back
        await a.release()
        slow.answer = Reply(store.lease)
        slow.gate.set()
        await settled()
    assert store.spec["holderIdentity"] == ""
    assert not a.held()


def test_the_clock_of_a_lease_goes_on_while_the_machine_sleeps():
    assert since_boot() >= 0
    assert since_boot() <= since_boot()
