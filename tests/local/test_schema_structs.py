"""The script that makes the package data: how it reads Go."""

import pytest

from controlplane.structs import Package

COMMON = """package v1

// TypeMeta `is not` a field
type TypeMeta struct {
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
}

type Time struct {
}
"""
CORE = """package v1

import (
	metav1 "example.org/meta/v1"
	"example.org/types"
)

type Colour string

type Names map[Colour]types.UID

type Empty struct{}

type Source struct {
	// HostPath is `json:"nothing"`
	HostPath *Empty `json:"hostPath,omitempty" protobuf:"bytes,1,opt,name=hostPath"`
}

type Thing struct {
	metav1.TypeMeta `json:""`
	// Old string `json:"old"`
	Source  `json:",inline" protobuf:"bytes,2,opt,name=source"`
	Colours []Colour           `json:"colours" protobuf:"bytes,3,rep,name=colours"`
	Data    map[string][]byte  `json:"data,omitempty" protobuf:"bytes,4,rep,name=data"`
	When    metav1.Time        `json:"when,omitempty,omitzero" protobuf:"bytes,5,opt,name=when"`
	Names   Names              `json:"names,omitempty"`
	Hidden  string             `json:"-"`
}
"""


@pytest.fixture
def thing(tmp_path):
    for name, source in (("meta/v1", COMMON), ("core/v1", CORE)):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "types.go").write_text(source)
    package = Package(tmp_path / "core/v1")
    facts = package.facts("Thing", {"example.org/meta/v1": Package(tmp_path / "meta/v1")})
    return package, {fact.name: fact for fact in facts}


def test_fields_come_in_order_with_those_of_embedded_structs(thing):
    _, facts = thing
    assert list(facts) == ["kind", "hostPath", "colours", "data", "when", "names"]
    assert (facts["kind"].inline, facts["kind"].number) == ("TypeMeta", 0)
    assert (facts["hostPath"].inline, facts["hostPath"].inline_numbers, facts["hostPath"].number) == ("Source", (2,), 1)


def test_types_are_named_as_go_prints_them(thing):
    package, facts = thing
    assert [facts[name].go_type for name in ("hostPath", "colours", "data", "when", "names")] == [
        "v1.Empty",
        "[]v1.Colour",
        "map[string][]uint8",
        "v1.Time",
        "v1.Names",
    ]
    assert package.under("v1.Names") == "map[v1.Colour]types.UID"


def test_tags_say_what_is_left_out(thing):
    _, facts = thing
    assert facts["hostPath"].pointer
    assert not facts["colours"].omitempty
    assert facts["data"].omitempty
    assert facts["when"].omitzero
