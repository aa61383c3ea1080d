"""CustomResourceDefinitions: what kube-apiserver 1.37.1 said to the same objects, and what it makes of their names."""

from __future__ import annotations

from copy import deepcopy

import pytest

from muster.local.kinds.definitions import definitions
from muster.local.kinds.definitions import status as definition_status
from tests.local.answers import edited, rows
from tests.local.flow import Subject, check, created, updated

KIND = Subject(
    definitions.STRATEGY,
    "apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
    namespaced=False,
)
SCHEMA = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}
DEFINITION = {
    "metadata": {"name": "things.others.dev"},
    "spec": {
        "group": "others.dev",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": SCHEMA}],
    },
}
STORED = created(KIND, DEFINITION)[0]
ESTABLISHED = definitions.settled(STORED, [], now=0)

NEW = r"""
-
    metadata.generation=1
    spec.conversion={"strategy": "None"}
    spec.names.listKind="ThingList"
    spec.names.singular="thing"
    status={"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}
metadata.name="other.others.dev"
    metadata.name: Invalid value: "other.others.dev": must be spec.names.plural+"."+spec.group
metadata.name="THINGS"
    metadata.name: Invalid value: "THINGS": <subdomain>
    metadata.name: Invalid value: "THINGS": must be spec.names.plural+"."+spec.group
metadata.finalizers=["x"]
    ...
metadata.labels={"a":"b c"}
    metadata.labels: Invalid value: "b c": <value>
spec.group=""
    metadata.name: Invalid value: "things.others.dev": must be spec.names.plural+"."+spec.group
    spec.group: Required value
spec.group="Others.dev"; metadata.name="things.Others.dev"
    metadata.name: Invalid value: "things.Others.dev": <subdomain>
    spec.group: Invalid value
spec.group="others"; metadata.name="things.others"
    spec.group: Invalid value
spec.scope=""
    spec.scope: Required value
spec.scope="Galaxy"
    spec.scope: Unsupported value
spec.names.plural=""
    metadata.name: Invalid value: "things.others.dev": must be spec.names.plural+"."+spec.group
    spec.names.plural: Required value
spec.names.plural="Things"; metadata.name="Things.others.dev"
    metadata.name: Invalid value: "Things.others.dev": <subdomain>
    spec.names.plural: Invalid value
spec.names.kind=""
    spec.names.singular: Required value
    spec.names.kind: Required value
    spec.names.listKind: Required value
spec.names.kind="thing kind"
    spec.names.singular: Invalid value
    spec.names.kind: Invalid value
    spec.names.listKind: Invalid value
spec.names.singular="Thing"
    spec.names.singular: Invalid value
spec.names.listKind="Thing"
    spec.names.listKind: Invalid value
spec.names.listKind="a_b"
    spec.names.listKind: Invalid value
spec.names.shortNames=["th","T H"]; spec.names.categories=["all","A"]
    spec.names.shortNames[1]: Invalid value
    spec.names.categories[1]: Invalid value
spec.versions=null
    spec.versions: Invalid value
    status.storedVersions: Invalid value
spec.versions.0.name="V1"
    spec.versions[0].name: Invalid value
    spec.version: Invalid value
spec.versions.0.name="1"
    spec.versions[0].name: Invalid value
    spec.version: Invalid value
spec.versions.0.storage=false
    spec.versions: Invalid value
    status.storedVersions: Invalid value
spec.versions.0.schema=
    spec.versions[0].schema.openAPIV3Schema: Required value
spec.versions.0.schema={}
    spec.versions[0].schema.openAPIV3Schema: Required value
spec.versions.1={"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}
    ...
spec.versions.1={"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object"}}}}}
    ...
spec.versions.1={"name":"v2","served":true,"storage":false}
    spec.versions[1].schema.openAPIV3Schema: Required value
spec.versions.1={"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object"}}}}}
    spec.versions: Invalid value
    status.storedVersions: Invalid value
spec.versions.1={"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object"}}}}}
    spec.versions: Invalid value
spec.versions.0.deprecationWarning="x"
    spec.versions[0].deprecationWarning: Invalid value
spec.versions.0.deprecationWarning=""; spec.versions.0.deprecated=true
    spec.versions[0].deprecationWarning: Invalid value
spec.versions.0.subresources={"status":{}}
    ...
spec.versions.0.subresources={"scale":{"specReplicasPath":"","statusReplicasPath":""}}
    spec.subresources.scale.specReplicasPath: Required value
    spec.subresources.scale.statusReplicasPath: Required value
spec.versions.0.subresources={"scale":{"specReplicasPath":"spec.x","statusReplicasPath":".spec.y","labelSelectorPath":".x"}}
    spec.subresources.scale.specReplicasPath: Invalid value
    spec.subresources.scale.statusReplicasPath: Invalid value
    spec.subresources.scale.labelSelectorPath: Invalid value
spec.versions.0.subresources={"scale":{"specReplicasPath":".spec.x","statusReplicasPath":".status.y"}}
    ...
spec.versions.0.additionalPrinterColumns=[{"name":"a","type":"string","jsonPath":".spec.a"}]
    ...
spec.versions.0.additionalPrinterColumns=[{"name":"","type":"","jsonPath":""},{"name":"b","type":"x","format":"y","jsonPath":"z"}]
    spec.additionalPrinterColumns[0].name: Required value
    spec.additionalPrinterColumns[0].type: Required value
    spec.additionalPrinterColumns[0].JSONPath: Required value
    spec.additionalPrinterColumns[1].type: Invalid value
    spec.additionalPrinterColumns[1].format: Invalid value
    spec.additionalPrinterColumns[1].JSONPath: Invalid value
spec.conversion={"strategy":"Magic"}
    spec.conversion.strategy: Unsupported value
spec.conversion={"strategy":"Webhook"}
    spec.conversion.webhookClientConfig: Required value
    spec.conversion.conversionReviewVersions: Required value
spec.conversion={"strategy":"None","webhook":{"clientConfig":{"url":"https://x"},"conversionReviewVersions":["v1"]}}
    spec.conversion.webhookClientConfig: Forbidden
    spec.conversion.conversionReviewVersions: Forbidden
spec.conversion={"strategy":"Webhook","webhook":{"clientConfig":{},"conversionReviewVersions":["v9"]}}
    spec.conversion.webhookClientConfig: Required value
    spec.conversion.conversionReviewVersions: Invalid value
spec.preserveUnknownFields=false
    ...
    spec.preserveUnknownFields=
status={"storedVersions":["v9"],"conditions":null,"acceptedNames":{"plural":"","kind":""}}
    ...
    status.storedVersions=["v1"]
    ~status
spec.group="x.k8s.io"; metadata.name="things.x.k8s.io"
    metadata.annotations[api-approved.kubernetes.io]: Required value
spec.group="x.k8s.io"; metadata.name="things.x.k8s.io"; metadata.annotations={"api-approved.kubernetes.io":"x"}
    metadata.annotations[api-approved.kubernetes.io]: Invalid value
spec.group="x.k8s.io"; metadata.name="things.x.k8s.io"; metadata.annotations={"api-approved.kubernetes.io":"unapproved, why"}
    ...
"""  # noqa: E501

SCHEMAS = r"""
spec.versions.0.schema.openAPIV3Schema.type=
    spec.validation.openAPIV3Schema.type: Required value
spec.versions.0.schema.openAPIV3Schema.type="string"
    spec.validation.openAPIV3Schema.type: Invalid value
spec.versions.0.schema.openAPIV3Schema.type="string"; spec.versions.0.subresources={"status":{}}
    spec.validation.openAPIV3Schema.type: Invalid value
spec.versions.0.schema.openAPIV3Schema.nullable=true
    spec.validation.openAPIV3Schema.nullable: Forbidden
spec.versions.0.schema.openAPIV3Schema.additionalProperties=true; spec.versions.0.schema.openAPIV3Schema.properties=
    spec.validation.openAPIV3Schema.additionalProperties: Forbidden
spec.versions.0.schema.openAPIV3Schema.properties={"metadata":{"type":"object","properties":{"name":{"type":"string","maxLength":5}}}}
    metadata.generation=1
    spec.conversion={"strategy": "None"}
    spec.names.listKind="ThingList"
    spec.names.singular="thing"
    status={"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}
spec.versions.0.schema.openAPIV3Schema.properties={"metadata":{"type":"object","properties":{"labels":{"type":"object"}}}}
    spec.validation.openAPIV3Schema.properties[metadata]: Forbidden
spec.versions.0.schema.openAPIV3Schema.properties={"metadata":{"type":"string"},"kind":{"type":"integer"},"apiVersion":{"type":"object"}}
    spec.validation.openAPIV3Schema.properties[apiVersion].type: Invalid value
    spec.validation.openAPIV3Schema.properties[kind].type: Invalid value
    spec.validation.openAPIV3Schema.properties[metadata].type: Invalid value
spec.versions.0.schema.openAPIV3Schema.properties.spec={}
    spec.validation.openAPIV3Schema.properties[spec].type: Required value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"thing"}
    spec.validation.openAPIV3Schema.properties[spec].type: Unsupported value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"null"}
    spec.validation.openAPIV3Schema.properties[spec].type: Unsupported value
    spec.validation.openAPIV3Schema.properties[spec].type: Forbidden
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"array"}
    spec.validation.openAPIV3Schema.properties[spec].items: Required value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"array","items":{}}
    spec.validation.openAPIV3Schema.properties[spec].items.type: Required value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"array","items":{"type":"string"},"uniqueItems":true}
    spec.validation.openAPIV3Schema.properties[spec].uniqueItems: Forbidden
spec.versions.0.schema.openAPIV3Schema.properties.spec={"x-kubernetes-preserve-unknown-fields":true}
    metadata.generation=1
    spec.conversion={"strategy": "None"}
    spec.names.listKind="ThingList"
    spec.names.singular="thing"
    status={"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"object","x-kubernetes-preserve-unknown-fields":false}
    spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-preserve-unknown-fields: Invalid value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"x-kubernetes-int-or-string":true}
    metadata.generation=1
    spec.conversion={"strategy": "None"}
    spec.names.listKind="ThingList"
    spec.names.singular="thing"
    status={"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}
spec.versions.0.schema.openAPIV3Schema.properties.spec={"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}
    metadata.generation=1
    spec.conversion={"strategy": "None"}
    spec.names.listKind="ThingList"
    spec.names.singular="thing"
    status={"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}
spec.versions.0.schema.openAPIV3Schema.properties.spec={"x-kubernetes-int-or-string":true,"x-kubernetes-preserve-unknown-fields":true}
    spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-preserve-unknown-fields: Invalid value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"object","x-kubernetes-embedded-resource":true}
    spec.validation.openAPIV3Schema.properties[spec].properties: Required value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"string","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}
    spec.validation.openAPIV3Schema.properties[spec].type: Invalid value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}}
    spec.validation.openAPIV3Schema.properties[spec].additionalProperties: Forbidden
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"object","additionalProperties":{}}
    spec.validation.openAPIV3Schema.properties[spec].additionalProperties.type: Required value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"object","anyOf":[{"type":"object"},{"description":"x"}]}
    spec.validation.openAPIV3Schema.properties[spec].anyOf[0].type: Forbidden
    spec.validation.openAPIV3Schema.properties[spec].anyOf[1].description: Forbidden
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"object","not":{"nullable":true,"default":1}}
    spec.validation.openAPIV3Schema.properties[spec].not.default: Forbidden
    spec.validation.openAPIV3Schema.properties[spec].not.nullable: Forbidden
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"}
    metadata.generation=1
    spec.conversion={"strategy": "None"}
    spec.names.listKind="ThingList"
    spec.names.singular="thing"
    status={"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"object","x-kubernetes-list-type":"set"}
    spec.validation.openAPIV3Schema.properties[spec].type: Invalid value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"array","items":{"type":"object"},"x-kubernetes-list-type":"set"}
    spec.validation.openAPIV3Schema.properties[spec].items.x-kubernetes-map-type: Invalid value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"odd"}
    spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-list-type: Unsupported value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"array","items":{"type":"string"},"x-kubernetes-list-map-keys":["a"]}
    spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-list-type: Required value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"map"}
    spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-list-map-keys: Required value
    spec.validation.openAPIV3Schema.properties[spec].items.type: Invalid value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]}
    spec.validation.openAPIV3Schema.properties[spec].items.properties[a].default: Required value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"array","items":{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]}
    metadata.generation=1
    spec.conversion={"strategy": "None"}
    spec.names.listKind="ThingList"
    spec.names.singular="thing"
    status={"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"array","items":{"type":"object","required":["a"],"properties":{"a":{"type":"object"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a","b","a"]}
    spec.validation.openAPIV3Schema.properties[spec].items.properties[a].type: Invalid value
    spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-list-map-keys: Invalid value
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"string","x-kubernetes-map-type":"odd"}
    spec.validation.openAPIV3Schema.properties[spec].type: Invalid value
    spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-map-type: Unsupported value
spec.versions.0.schema.openAPIV3Schema.properties={"kind":{"type":"string","default":"x"}}
    spec.validation.openAPIV3Schema.properties[kind].default: Forbidden
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"object","$ref":"x"}
    spec.validation.openAPIV3Schema.properties[spec].$ref: Forbidden
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"object","id":"x"}
    spec.validation.openAPIV3Schema.properties[spec].id: Forbidden
spec.versions.0.schema.openAPIV3Schema.properties.spec={"type":"object","definitions":{"a":{"type":"string"}}}
    spec.validation.openAPIV3Schema.properties[spec].definitions: Forbidden
"""

CHANGED = r"""
-
spec.scope="Cluster"
    spec.scope: Invalid value: "Cluster": field is immutable
spec.group="x.dev"
    spec.group: Invalid value: "x.dev": field is immutable
spec.names.plural="stuff"
    spec.names.plural: Invalid value: "stuff": field is immutable
spec.names.kind="Stuff"; spec.names.listKind="StuffList"
    spec.names.kind: Invalid value: "Stuff": field is immutable
spec.names.shortNames=["t"]
    metadata.generation=2
spec.versions.0.name="v2"
    status.storedVersions[0]: Invalid value
spec.versions.0.storage=false; spec.versions.1={"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object"}}}}}
    metadata.generation=2
    status.storedVersions=["v1", "v2"]
spec.scope="x"
    spec.scope: Unsupported value
    spec.scope: Invalid value: "x": field is immutable
"""  # noqa: E501


@pytest.mark.parametrize(("changes", "answer"), rows(NEW) + rows(SCHEMAS))
def test_a_new_definition_is_answered_as_kubernetes_does(changes, answer):
    given = edited(DEFINITION, changes)
    check(created(KIND, given), given, answer)


@pytest.mark.parametrize(("changes", "answer"), rows(CHANGED))
def test_a_changed_definition_is_answered_as_kubernetes_does(changes, answer):
    given = edited(ESTABLISHED, changes)
    check(updated(KIND, given, ESTABLISHED), given, answer)


# --- names and conditions ---

NOW, STAMP = 1_767_225_600.0, "2026-01-01T00:00:00Z"


def conditions(definition):
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in definition["status"]["conditions"]}


def test_a_definition_whose_names_are_free_is_established():
    settled = definitions.settled(STORED, [], now=NOW)
    assert settled["status"] == {
        "conditions": [
            {
                "type": "NamesAccepted",
                "status": "True",
                "lastTransitionTime": STAMP,
                "reason": "NoConflicts",
                "message": "no conflicts found",
            },
            {
                "type": "Established",
                "status": "True",
                "lastTransitionTime": STAMP,
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
            },
        ],
        "acceptedNames": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "storedVersions": ["v1"],
    }


def test_a_settled_definition_stays_as_it_is():
    settled = definitions.settled(STORED, [], now=NOW)
    assert definitions.settled(settled, [], now=NOW + 60) == settled


def test_names_that_another_has_are_not_accepted():
    first = definitions.settled(STORED, [], now=NOW)
    given = edited(DEFINITION, 'metadata.name="stuffs.others.dev"; spec.names.plural="stuffs"')
    given = edited(given, 'spec.names.singular="thing"; spec.names.shortNames=["things","x"]')
    second = definitions.settled(created(KIND, given)[0], [first], now=NOW)
    assert second["status"]["acceptedNames"] == {"plural": "stuffs", "kind": ""}
    assert conditions(second) == {
        "NamesAccepted": ("False", "ListKindConflict", '"ThingList" is already in use'),
        "Established": ("False", "NotAccepted", "not all names are accepted"),
    }


def test_several_short_names_that_others_have_are_all_named():
    first = definitions.settled(edited(STORED, 'spec.names.shortNames=["t","u"]'), [], now=NOW)
    second = edited(STORED, 'spec.names={"plural":"xs","kind":"X","listKind":"XList","shortNames":["t","u","v"]}')
    found = conditions(definitions.settled(second, [first], now=NOW))
    words = '["t" is already in use, "u" is already in use]'
    assert found["NamesAccepted"] == ("False", "ShortNamesConflict", words)


def test_names_are_free_again_when_the_other_is_gone():
    first = definitions.settled(STORED, [], now=NOW)
    second = definitions.settled(STORED, [first], now=NOW)
    assert conditions(second)["Established"][0] == "False"
    third = definitions.settled(second, [], now=NOW + 60)
    assert [one["lastTransitionTime"] for one in third["status"]["conditions"]] == ["2026-01-01T00:01:00Z"] * 2
    assert conditions(third)["Established"] == (
        "True",
        "InitialNamesAccepted",
        "the initial names have been accepted",
    )


def test_names_of_other_groups_do_not_matter():
    other = definitions.settled(edited(STORED, 'spec.group="x.dev"'), [], now=NOW)
    assert conditions(definitions.settled(STORED, [other], now=NOW))["NamesAccepted"][0] == "True"


@pytest.mark.parametrize(
    ("annotation", "condition"),
    [
        ("https://github.com/a/b/pull/1", ("True", "ApprovedAnnotation", "approved in https://github.com/a/b/pull/1")),
        ("unapproved, x", ("False", "UnapprovedAnnotation", 'not approved: "unapproved, x"')),
    ],
)
def test_a_definition_in_a_group_of_kubernetes_says_whether_it_was_approved(annotation, condition):
    given = edited(
        STORED, f'spec.group="x.k8s.io"; metadata.annotations={{"{definition_status.APPROVED}":"{annotation}"}}'
    )
    assert conditions(definitions.settled(given, [], now=NOW))["KubernetesAPIApprovalPolicyConformant"] == condition


def test_a_definition_that_is_deleted_waits_for_its_objects():
    before = definitions.settled(STORED, [], now=NOW)
    untouched = deepcopy(before)
    after = definitions.terminating(before, now=NOW)
    assert after["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert conditions(after)["Terminating"] == (
        "True",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    )
    assert before == untouched
