"""What is granted to claims for devices, as an API server gets it and lets it go."""

import pytest

from muster.api.devices import AllocatedDevices, Allocation, Consumer, DeviceResult
from muster.base.errors import ApiError
from muster.base.selectors import NodeSelector, NodeSelectorTerm, Requirement
from muster.framework.grants import Allocate
from muster.kube.granting import NotGrantedError, take_back, write_grant
from tests.local.serving import Served

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
CLAIM = f"{CLAIMS}/c"
FINALIZER = "resource.kubernetes.io/delete-protection"


class Client:
    """Asks a server in memory."""

    def __init__(self, served):
        self._served = served
        self.asked = []

    async def request(self, method, path, *, body=None, content_type="application/json"):
        self.asked.append((method, path))
        answer = self._served.answer(method, path, body, content_type=content_type)
        if answer.code >= 400:
            raise ApiError(answer.body.decode(), code=answer.code)
        return answer.body


@pytest.fixture
def served():
    found = Served()
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    found.create(CLAIMS, {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request]}}})
    return found


def granted(served, *pods, device="gpu-0", allocates=True):
    result = DeviceResult(request="gpu", driver="gpu.example", pool="n", device=device)
    here = NodeSelectorTerm(match_fields=(Requirement("metadata.name", "In", ("n",)),))
    allocation = Allocation(devices=AllocatedDevices(results=(result,)), node_selector=NodeSelector((here,)))
    entries = tuple(Consumer(resource="pods", name=name, uid=f"uid-{name}") for name in pods)
    uid = served.get(CLAIM)["metadata"]["uid"]
    return Allocate("default/c", uid, allocation if allocates else None, entries)


def shown(served):
    claim = served.get(CLAIM)
    status = claim.get("status") or {}
    allocation = status.get("allocation")
    return (
        claim["metadata"].get("finalizers") or [],
        None if allocation is None else [one["device"] for one in allocation["devices"]["results"]],
        [one["name"] for one in status.get("reservedFor") or []],
    )


async def test_allocation_and_all_reservations_are_one_write(served):
    client = Client(served)
    await write_grant(client, granted(served, "p", "q"), at=1_700_000_000.0)
    assert shown(served) == ([FINALIZER], ["gpu-0"], ["p", "q"])
    assert served.get(CLAIM)["status"]["allocation"]["allocationTimestamp"] == "2023-11-14T22:13:20Z"
    assert client.asked == [("GET", CLAIM), ("PATCH", CLAIM), ("PATCH", f"{CLAIM}/status")]


async def test_what_stands_there_is_not_written_again(served):
    await write_grant(Client(served), granted(served, "p"), at=0.0)
    client = Client(served)
    await write_grant(client, granted(served, "p"), at=1.0)
    assert client.asked == [("GET", CLAIM)]
    await write_grant(client, granted(served, "p", "q"), at=1.0)
    assert shown(served) == ([FINALIZER], ["gpu-0"], ["p", "q"])
    await write_grant(client, granted(served, "r", allocates=False), at=1.0)
    assert shown(served)[2] == ["p", "q", "r"]


async def test_a_claim_that_others_were_faster_with_is_respected(served):
    await write_grant(Client(served), granted(served, "p"), at=0.0)
    with pytest.raises(NotGrantedError, match="got allocated elsewhere in the meantime"):
        await write_grant(Client(served), granted(served, "q", device="gpu-1"), at=0.0)
    assert shown(served) == ([FINALIZER], ["gpu-0"], ["p"])


async def test_a_claim_without_devices_cannot_be_reserved(served):
    with pytest.raises(NotGrantedError, match="got deallocated elsewhere in the meantime"):
        await write_grant(Client(served), granted(served, "q", allocates=False), at=0.0)


async def test_another_claim_of_the_name_is_granted_nothing(served):
    grant = granted(served, "p")
    served.ask("DELETE", CLAIM)
    with pytest.raises(NotGrantedError):
        await write_grant(Client(served), grant, at=0.0)
    await take_back(Client(served), grant)


async def test_what_is_taken_back_leaves_nothing(served):
    grant = granted(served, "p", "q")
    await write_grant(Client(served), grant, at=0.0)
    await take_back(Client(served), grant)
    assert shown(served) == ([], None, [])
    await take_back(Client(served), grant)
    await write_grant(Client(served), granted(served, "p", device="gpu-1"), at=0.0)
    assert shown(served) == ([FINALIZER], ["gpu-1"], ["p"])


async def test_what_others_use_stays_theirs(served):
    await write_grant(Client(served), granted(served, "p", "q"), at=0.0)
    await take_back(Client(served), granted(served, "p"))
    assert shown(served) == ([FINALIZER], ["gpu-0"], ["q"])


async def test_a_finalizer_alone_is_taken_back(served):
    grant = granted(served, "p")
    served.merge(CLAIM, {"metadata": {"finalizers": [FINALIZER, "example.com/mine"]}})
    await take_back(Client(served), grant)
    assert shown(served) == (["example.com/mine"], None, [])


async def test_what_somebody_else_gave_is_not_taken_back(served):
    theirs = granted(served, "p", device="gpu-1")
    await write_grant(Client(served), theirs, at=0.0)
    await take_back(Client(served), granted(served, "p", device="gpu-0"))
    assert shown(served) == ([FINALIZER], ["gpu-1"], ["p"])
