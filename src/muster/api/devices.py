"""Devices as the API has them, resource.k8s.io/v1: what claims ask for, what nodes have, what was given to whom.

Only what is read is here; an Allocation is written, too, and has all that the API wants of it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from muster.api.wire import Amount, Condition, Fact, Metadata, Wire
from muster.base.selectors import NodeSelector

EXACT_COUNT, ALL = "ExactCount", "All"
"""Modes of allocation."""
FINALIZER = "resource.kubernetes.io/delete-protection"
EXTENDED_CLAIM = "resource.kubernetes.io/extended-resource-claim"
"""Annotation of a claim that was made for the extended resources of its pod."""
IMPLICIT_RESOURCE = "deviceclass.resource.kubernetes.io/"
"""With the name of a class behind it: a resource that stands for the class, whether the class names one or not."""
MOST_RESULTS = 32
"""Devices that one claim may get."""


# --- what is asked for ------------------------------------------------------------------------


class CelSelector(Wire, frozen=True):
    expression: str = ""


class DeviceSelector(Wire, frozen=True):
    cel: CelSelector | None = None


class DeviceToleration(Wire, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class CapacityRequirements(Wire, frozen=True):
    requests: dict[str, Amount] = msgspec.field(default_factory=dict)


class DerivedAttribute(Wire, frozen=True):
    name: str = ""


class ExactRequest(Wire, frozen=True):
    """Devices of one class; the API server fills in mode and count."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = EXACT_COUNT
    count: int = 1
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DerivedAttribute, ...] = ()


class SubRequest(ExactRequest, frozen=True):
    """One of several ways to meet a request."""

    name: str = ""


class DeviceRequest(Wire, frozen=True):
    name: str = ""
    exactly: ExactRequest | None = None
    first_available: tuple[SubRequest, ...] = ()


class DeviceConstraint(Wire, frozen=True):
    requests: tuple[str, ...] = ()
    """Empty: all of the claim."""
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceConfig(Wire, frozen=True):
    """Parameters for a driver; nobody here reads them."""

    requests: tuple[str, ...] = ()
    opaque: dict[str, Any] | None = None


class DeviceClaim(Wire, frozen=True):
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceConfig, ...] = ()


class ClaimSpec(Wire, frozen=True):
    devices: DeviceClaim = DeviceClaim()


# --- what was given ---------------------------------------------------------------------------


class DeviceResult(Wire, frozen=True):
    """A device that a request got."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: dict[str, Amount] = msgspec.field(default_factory=dict)


class AllocatedConfig(Wire, frozen=True):
    source: str
    """FromClass or FromClaim."""
    requests: tuple[str, ...] = ()
    opaque: dict[str, Any] | None = None


class AllocatedDevices(Wire, frozen=True):
    results: tuple[DeviceResult, ...] = ()
    config: tuple[AllocatedConfig, ...] = ()


class Allocation(Wire, frozen=True):
    devices: AllocatedDevices = AllocatedDevices()
    node_selector: NodeSelector | None = None
    """None: usable on every node."""
    allocation_timestamp: str | None = None


class Consumer(Wire, frozen=True):
    """Who may use what a claim was given."""

    resource: str
    name: str
    uid: str
    api_group: str = msgspec.field(default="", name="apiGroup")


class DeviceStatus(Wire, frozen=True):
    """What a driver says about a device that was given."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = msgspec.field(default=None, name="shareID")
    conditions: tuple[Condition, ...] = ()


class ClaimStatus(Wire, frozen=True):
    allocation: Allocation | None = None
    reserved_for: tuple[Consumer, ...] = ()
    devices: tuple[DeviceStatus, ...] = ()


class ResourceClaim(Fact, frozen=True, tag="ResourceClaim"):
    metadata: Metadata
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


# --- what there is ----------------------------------------------------------------------------


class ResourcePool(Wire, frozen=True):
    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class Counter(Wire, frozen=True):
    value: Amount = 0


class CounterSet(Wire, frozen=True):
    name: str = ""
    counters: dict[str, Counter] = msgspec.field(default_factory=dict)


class CounterConsumption(Wire, frozen=True):
    counter_set: str = ""
    counters: dict[str, Counter] = msgspec.field(default_factory=dict)
    compatibility_groups: tuple[str, ...] = ()


class ValidRange(Wire, frozen=True):
    min: Amount | None = None
    max: Amount | None = None
    step: Amount | None = None


class RequestPolicy(Wire, frozen=True):
    default: Amount | None = None
    valid_values: tuple[Amount, ...] = ()
    valid_range: ValidRange | None = None


class DeviceCapacity(Wire, frozen=True):
    value: Amount = 0
    request_policy: RequestPolicy | None = None


class DeviceAttribute(Wire, frozen=True):
    """One of them is set; lists are an alpha feature: only selectors look into them."""

    int_value: int | None = msgspec.field(default=None, name="int")
    bool_value: bool | None = msgspec.field(default=None, name="bool")
    string_value: str | None = msgspec.field(default=None, name="string")
    version_value: str | None = msgspec.field(default=None, name="version")
    int_values: tuple[int, ...] | None = msgspec.field(default=None, name="ints")
    bool_values: tuple[bool, ...] | None = msgspec.field(default=None, name="bools")
    string_values: tuple[str, ...] | None = msgspec.field(default=None, name="strings")
    version_values: tuple[str, ...] | None = msgspec.field(default=None, name="versions")


class DeviceTaint(Wire, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class Device(Wire, frozen=True):
    name: str = ""
    attributes: dict[str, DeviceAttribute] = msgspec.field(default_factory=dict)
    capacity: dict[str, DeviceCapacity] = msgspec.field(default_factory=dict)
    consumes_counters: tuple[CounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool | None = None


class SliceSpec(Wire, frozen=True):
    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(Fact, frozen=True, tag="ResourceSlice"):
    spec: SliceSpec = SliceSpec()


class ClassSpec(Wire, frozen=True):
    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceConfig, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(Fact, frozen=True, tag="DeviceClass"):
    metadata: Metadata
    spec: ClassSpec = ClassSpec()


class TaintSelector(Wire, frozen=True):
    """What is not said is not looked at."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class TaintRuleSpec(Wire, frozen=True):
    device_selector: TaintSelector | None = None
    """None selects no device, an empty one all."""
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(Fact, frozen=True, tag="DeviceTaintRule"):
    spec: TaintRuleSpec = TaintRuleSpec()
