"""Devices on the wire."""

import msgspec

from muster.api.devices import Consumer, ResourceClaim, ResourceSlice
from muster.api.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES
from muster.api.wire import Pod, read

CLAIM = b"""{
  "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
  "metadata": {"name": "c", "namespace": "ns", "uid": "u1", "deletionTimestamp": "2026-01-01T00:00:00Z",
    "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u2", "controller": true}]},
  "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount",
    "count": 2, "capacity": {"requests": {"memory": "8Gi"}}}}]}},
  "status": {
    "allocation": {"allocationTimestamp": "2026-01-01T00:00:00Z", "devices": {"results": [{"request": "r",
      "driver": "d", "pool": "p", "device": "a", "shareID": "s", "consumedCapacity": {"memory": "8Gi"}}]}},
    "reservedFor": [{"resource": "pods", "name": "p", "uid": "u2"}],
    "devices": [{"driver": "d", "pool": "p", "device": "a", "shareID": "s",
      "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}]}}"""


def test_a_claim_is_read_with_what_it_asks_for_and_what_it_got() -> None:
    claim = read(ResourceClaim, CLAIM)
    assert claim.metadata.controller is not None
    [request] = claim.spec.devices.requests
    assert request.exactly is not None
    assert request.exactly.count == 2
    assert claim.status.allocation is not None
    assert claim.status.allocation.devices.results[0].share_id == "s"
    assert claim.status.devices[0].conditions[0].type == "Ready"
    assert claim.status.reserved_for == (Consumer(resource="pods", name="p", uid="u2"),)
    assert msgspec.json.decode(msgspec.json.encode(claim), type=ResourceClaim) == claim


def test_claims_have_a_namespace_and_what_there_is_of_devices_has_none() -> None:
    claim, found = (
        read(ResourceClaim, CLAIM),
        read(ResourceSlice, b'{"kind": "ResourceSlice", "metadata": {"name": "s"}}'),
    )
    assert RESOURCE_CLAIMS.key(claim.metadata) == "ns/c"
    assert RESOURCE_SLICES.key(found.metadata) == "s"
    assert RESOURCE_SLICES.name == "resourceslices.resource.k8s.io"


def test_a_pod_names_its_claims() -> None:
    pod = read(
        Pod,
        b"""{"metadata": {"name": "p"},
        "spec": {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]},
        "status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu-x"}],
          "extendedResourceClaimStatus": {"resourceClaimName": "p-extended-resources-x",
            "requestMappings": [
              {"containerName": "c", "resourceName": "r", "requestName": "container-0-request-0"}]}}}""",
    )
    assert pod.spec.resource_claims[0].resource_claim_template_name == "t"
    assert pod.status.resource_claim_statuses[0].resource_claim_name == "p-gpu-x"
    assert pod.status.extended_resource_claim_status is not None
    assert pod.status.extended_resource_claim_status.request_mappings[0].request_name == "container-0-request-0"
