"""What groups of other schedulers must have and nobody honours yet: the gang waits, and names the field."""

import pytest

from muster.api.wire import read
from muster.gangs.dialects import DIALECTS, declare
from muster.plugins.defaults import default_profile

TIER = {"highestTierAllowed": 1}
RACK = {"topology": "net", "requiredTopologyLevel": "rack"}

ASKING = [
    ("kai", {"minMember": 2, "topologyConstraint": RACK}, "spec.topologyConstraint.requiredTopologyLevel"),
    (
        "kai",
        {"minMember": 2, "subGroups": [{"name": "a"}, {"name": "b", "topologyConstraint": RACK}]},
        "spec.subGroups[].topologyConstraint.requiredTopologyLevel",
    ),
    ("kai", {"minSubGroup": 2, "subGroups": [{"name": "a"}]}, "spec.minSubGroup without spec.minMember"),
    ("volcano", {"minMember": 2, "networkTopology": {"mode": "hard"} | TIER}, "spec.networkTopology with mode: hard"),
    ("volcano", {"minMember": 2, "networkTopology": TIER}, "spec.networkTopology with mode: hard"),
    (
        "volcano",
        {"minMember": 2, "subGroupPolicy": [{"name": "a", "networkTopology": TIER}]},
        "spec.subGroupPolicy[].networkTopology with mode: hard",
    ),
]
SATISFIED = [
    ("kai", {"minMember": 2, "topologyConstraint": {"topology": "net", "preferredTopologyLevel": "rack"}}),
    ("kai", {"minMember": 2, "minSubGroup": 1, "subGroups": [{"name": "a"}]}),
    ("volcano", {"minMember": 2, "networkTopology": {"mode": "soft"} | TIER}),
    ("volcano", {"minMember": 2, "subGroupPolicy": [{"name": "a"}]}),
]


def unhonoured(name, spec):
    dialect = next(dialect for dialect in DIALECTS if dialect.name == name)
    found = read(dialect.kind, {"metadata": {"name": "g", "namespace": "team", "uid": "1"}, "spec": spec})
    (group,) = dialect.groups(found)
    return [ask.field for ask in default_profile().unhonoured(declare(group).asks)]


@pytest.mark.parametrize(("dialect", "spec", "field"), ASKING)
def test_what_a_gang_must_have_is_named(dialect, spec, field):
    assert unhonoured(dialect, spec) == [field]


@pytest.mark.parametrize(("dialect", "spec"), SATISFIED)
def test_what_a_gang_would_like_does_not_stop_it(dialect, spec):
    assert unhonoured(dialect, spec) == []
