"""Which devices fit which request, and who shares the answer."""

import pytest

from muster.api.devices import Device, DeviceClaim, DeviceClass, ResourceSlice
from muster.api.wire import read
from muster.devices.inventory import Inventory
from muster.devices.matching import Matching, match
from muster.devices.needs import Need, Unmet, need_of
from tests.devices.worlds import Document

ANY = {"any": read(DeviceClass, {"kind": "DeviceClass", "metadata": {"name": "any"}})}


def need(*, constraints: tuple[Document, ...] = (), **ask: object) -> Need:
    request = {"name": "r", "exactly": {"deviceClassName": "any", **ask}}
    found = need_of(read(DeviceClaim, {"requests": [request], "constraints": constraints}), ANY)
    assert isinstance(found, Need)
    return found


def matching(wanted: Need, *devices: Document, node: str = "n1") -> Matching:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d", "nodeName": node, "pool": pool, "devices": devices}
    inventory = Inventory()
    inventory.put_slice(read(ResourceSlice, {"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}))
    return match((wanted,), inventory.seen(node, {}).supply)


FOO, BAR = {"key": "foo", "effect": "NoSchedule"}, {"key": "foo", "value": "bar", "effect": "NoSchedule"}
EXISTS = {"key": "foo", "operator": "Exists", "effect": "NoSchedule"}
EQUAL = {"key": "foo", "operator": "Equal", "value": "bar", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "taint", "is_tolerated"),
    [
        (EXISTS, FOO, True),
        (EXISTS, BAR, True),
        ({**EXISTS, "key": ""}, BAR, True),
        (EQUAL, BAR, True),
        ({**EQUAL, "operator": ""}, BAR, True),
        ({**EQUAL, "effect": ""}, BAR, True),
        ({**EQUAL, "value": "other"}, BAR, False),
        (EQUAL, {**BAR, "effect": "NoExecute"}, False),
        (EXISTS, {**FOO, "key": "other"}, False),
        ({**EXISTS, "operator": "Unknown"}, FOO, False),
        (EQUAL, {"key": "other", "effect": "None"}, True),
        (EQUAL, {"key": "other", "effect": "Unknown"}, True),
    ],
)
def test_taints_are_tolerated_by_key_value_and_effect(
    toleration: Document, taint: Document, is_tolerated: bool
) -> None:
    found = matching(need(tolerations=[toleration]), {"name": "a", "taints": [taint]})
    assert [len(found.fits[0][0][0])] == [1 if is_tolerated else 0]


def gpu(number: int, node: int, switch: object) -> Document:
    return {
        "name": f"gpu-{number}",
        "attributes": {"uuid": {"string": f"GPU-{node}-{number}"}, "switch": {"string": str(switch)}},
    }


def test_nodes_whose_devices_differ_in_what_nobody_asks_for_share_one() -> None:
    """Each node calls its switches otherwise: what matters is which devices are on one."""
    same = ({"matchAttribute": "d/switch"},)
    wanted = need(count=2, constraints=same)
    one = matching(wanted, *(gpu(n, 1, f"n1-{n // 2}") for n in range(4)), node="n1")
    two = matching(wanted, *(gpu(n, 2, f"n2-{n // 2}") for n in range(4)), node="n2")
    other = matching(wanted, *(gpu(n, 3, f"n3-{n % 2}") for n in range(4)), node="n3")
    assert one is two
    assert one is not other
    assert one.twins == (0, 0, 1, 1)


def test_who_asks_for_another_number_of_them_does_not_share_it() -> None:
    devices = [gpu(n, 1, 0) for n in range(4)]
    assert matching(need(count=1), *devices) is not matching(need(count=2), *devices)
    assert matching(need(count=1), *devices) is matching(need(count=1), *devices)


def test_equal_claims_are_one_need_as_long_as_their_classes_are() -> None:
    first = need(count=2)
    assert need(count=2) is first
    spec = read(DeviceClaim, {"requests": [{"name": "r", "exactly": {"deviceClassName": "any", "count": 2}}]})
    selecting = {"selectors": [{"cel": {"expression": "device.driver == 'd'"}}]}
    changed = read(DeviceClass, {"kind": "DeviceClass", "metadata": {"name": "any"}, "spec": selecting})
    assert need_of(spec, {"any": changed}) is not first
    assert need_of(spec, {}) == Unmet("request r: device class any does not exist")


def test_a_device_is_what_it_has_and_not_what_it_is_called() -> None:
    assert Device(name="a") != Device(name="b")
    [one, two] = matching(need(), {"name": "a"}, {"name": "b"}).spots
    assert one._replace(name="") == two._replace(name="")
