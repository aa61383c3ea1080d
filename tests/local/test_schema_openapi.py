import json
import re
from pathlib import Path

import pytest
import yaml

from muster.local.kinds.kind import Kind
from muster.local.schema import custom, load
from muster.local.schema.load import shapes
from muster.local.schema.shapes import Base, ListType
from muster.local.serve import openapi
from muster.local.serve.openapi import Described

CRDS = Path(__file__).parents[2] / "deploy" / "crds"


def built_in(name, plural, *, group="", version="v1", package="core", **others):
    kind = Kind(
        group=group,
        version=version,
        name=name,
        plural=plural,
        type_name=f"io.k8s.api.{package}.{version}.{name}",
        **others,
    )
    return Described(kind, shapes()[kind.type_name])


POD = built_in("Pod", "pods", has_status=True)
NODE = built_in("Node", "nodes", namespaced=False)
JOB = built_in("Job", "jobs", group="batch", package="batch")
GANG = yaml.safe_load((CRDS / "podgroups.yaml").read_text())
GANG_SCHEMA = GANG["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def gang(schema=GANG_SCHEMA):
    kind = Kind(group="muster.dev", version="v1beta1", name="PodGroup", plural="podgroups", type_name="")
    return Described(kind, custom.shape(schema))


def references(value):
    return set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(value)))


@pytest.mark.parametrize("described", [POD, NODE, JOB, gang()])
def test_all_that_a_document_refers_to_is_in_it(described):
    made = openapi.document([described], described.kind.group, described.kind.version)
    assert references(made) <= set(made["components"]["schemas"])


def test_kubectl_finds_that_a_patch_is_validated():
    made = openapi.document([POD], "", "v1")
    patch = made["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "Pod"}
    assert {"name": "fieldValidation", "in": "query"}.items() <= patch["parameters"][2].items()


@pytest.mark.parametrize(("described", "is_offered"), [(POD, True), (gang(), False)])
def test_kubectl_finds_that_a_strategic_merge_patch_is_for_built_in_kinds_only(described, is_offered):
    made = openapi.document([described], described.kind.group, described.kind.version)
    patches = [path["patch"] for path in made["paths"].values() if "patch" in path]
    assert patches
    for patch in patches:
        offered = patch["requestBody"]["content"]
        assert {"application/apply-patch+yaml", "application/merge-patch+json"} <= set(offered)
        assert ("application/strategic-merge-patch+json" in offered) is is_offered


def test_kubectl_finds_the_schema_of_a_resource():
    made = openapi.document([POD, NODE], "", "v1")
    assert made["paths"]["/api/v1/nodes"]["get"]["x-kubernetes-group-version-kind"]["kind"] == "Node"
    pod = made["components"]["schemas"]["io.k8s.api.core.v1.Pod"]
    assert pod["x-kubernetes-group-version-kind"] == [{"group": "", "kind": "Pod", "version": "v1"}]
    assert "/api/v1/namespaces/{namespace}/pods/{name}/status" in made["paths"]
    assert "/api/v1/nodes/{name}/status" not in made["paths"]


def test_a_field_is_described_as_the_real_server_does():
    schemas = openapi.document([POD], "", "v1")["components"]["schemas"]
    assert schemas["io.k8s.api.core.v1.ContainerPort"] == {
        "type": "object",
        "required": ["containerPort"],
        "properties": {
            "containerPort": {"type": "integer", "format": "int32", "default": 0},
            "hostIP": {"type": "string"},
            "hostPort": {"type": "integer", "format": "int32"},
            "name": {"type": "string"},
            "protocol": {"type": "string", "default": "TCP", "enum": ["SCTP", "TCP", "UDP"]},
        },
    }
    assert schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["volumes"] == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/io.k8s.api.core.v1.Volume"},
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-patch-merge-key": "name",
        "x-kubernetes-patch-strategy": "merge,retainKeys",
    }


def test_what_is_not_served_has_no_document():
    assert openapi.document([POD], "batch", "v1") is None
    assert list(openapi.index([JOB, POD, gang()])["paths"]) == ["api/v1", "apis/batch/v1", "apis/muster.dev/v1beta1"]


def test_the_address_of_a_document_changes_with_it():
    address = openapi.index([gang()])["paths"]["apis/muster.dev/v1beta1"]["serverRelativeURL"]
    assert re.fullmatch(r"/openapi/v3/apis/muster\.dev/v1beta1\?hash=[0-9A-F]{128}", address)
    assert openapi.index([gang()])["paths"]["apis/muster.dev/v1beta1"]["serverRelativeURL"] == address
    other = gang({"type": "object", "properties": {"spec": {"type": "string"}}})
    assert openapi.index([other])["paths"]["apis/muster.dev/v1beta1"]["serverRelativeURL"] != address


def test_a_custom_kind_is_described_by_its_own_schema():
    schemas = openapi.document([gang()], "muster.dev", "v1beta1")["components"]["schemas"]
    made = schemas["dev.muster.v1beta1.PodGroup"]
    assert made["properties"]["spec"] == GANG_SCHEMA["properties"]["spec"]
    assert made["description"] == GANG_SCHEMA["description"]
    assert references(made["properties"]["metadata"]) == {custom.METADATA}


# --- the data ---


def test_shapes_know_what_only_gos_tags_say():
    fields = shapes()["io.k8s.api.core.v1.PodSpec"].fields
    assert (fields["priority"].pointer, fields["priority"].number, fields["priority"].go_type) == (True, 25, "int32")
    assert fields["restartPolicy"].go_type == "v1.RestartPolicy"
    assert fields["containers"].go_type == "[]v1.Container"
    assert fields["containers"].kept
    host_path = shapes()["io.k8s.api.core.v1.Volume"].fields["hostPath"]
    assert (host_path.inline, host_path.inline_numbers, host_path.number) == ("VolumeSource", (2,), 1)
    assert not shapes()["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"].fields["creationTimestamp"].kept
    assert shapes()["io.k8s.api.core.v1.Pod"].fields["kind"].number == 0


def test_shapes_know_how_lists_are_merged():
    ports = shapes()["io.k8s.api.core.v1.Container"].fields["ports"]
    assert (ports.shape.list_type, ports.shape.keys) == (ListType.MAP, ("containerPort", "protocol"))
    assert (ports.merge_key, ports.strategies) == ("containerPort", ("merge",))
    assert shapes()["io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"].atomic


def test_types_may_contain_themselves():
    schema = shapes()[load.SCHEMA]
    assert schema.fields["not"].shape is schema
    assert schema.fields["properties"].shape.items is schema
    either = schema.fields["additionalProperties"].shape
    assert (either.base, either.name, either.items) == (Base.ANY, load.SCHEMA_OR_BOOL, schema)
